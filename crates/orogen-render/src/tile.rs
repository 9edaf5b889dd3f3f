//! The ground of a tile: what its vertices and its pixels need.

use orogen_core::math::smoothstep;
use orogen_core::{Cancel, Frame, LayerName, Raster, Rect, Terrain, Weight, layer};

use crate::error::RenderError;
use crate::gpu::{full, half};
use crate::land::Land;
use crate::overview::Overview;
use crate::plants::Spot;
use crate::quadtree::{Node, QUADS};
use crate::rim::Vertex;

/// Vertices along a side.
pub const VERTICES: usize = QUADS + 1;
/// Samples of slope, material and cover along a side: twice as fine as the vertices.
pub const TEXELS: usize = 2 * QUADS + 1;
/// Materials that a tile shows, at most.
pub const PALETTE: usize = 8;
/// The place of a material in a palette that has fewer.
pub const NO_MATERIAL: u8 = 255;

/// Where no water is.
const DRY: f32 = -1e6;
/// How far below dry ground the surface of water is kept.
const UNDER_M: f32 = 30.0;

/// A tile, ready for the device. Rows run from the north.
#[derive(Clone, Debug)]
pub struct Tile {
    /// Which it is.
    pub node: Node,
    /// Vertices: how far shifted east and north, the height, and the level of the water above, also a little way up the
    /// shore; below the ground elsewhere.
    pub vertices: Vec<Vertex>,
    /// Slopes to the east and to the north, the share under rivers and the height of crowns, in half precision.
    pub slopes: Vec<[u16; 4]>,
    /// Weights of the first four materials of the palette.
    pub weights: [Vec<[u8; 4]>; 2],
    /// Colour and share of crowns.
    pub cover: Vec<[u8; 4]>,
    /// The materials there are, by their number among those of the land.
    pub palette: [u8; PALETTE],
    /// Whether there is a lake or a river.
    pub has_water: bool,
}

/// What the texels of a tile say of its ground.
pub struct Texels {
    pub slopes: Vec<[u16; 4]>,
    pub weights: [Vec<[u8; 4]>; 2],
    pub cover: Vec<[u8; 4]>,
    pub palette: [u8; PALETTE],
}

impl Texels {
    /// What the ground is like at a place, 0 to 1 from the north-west corner: as at the nearest texel.
    pub fn spot(&self, at: [f64; 2]) -> Spot {
        let [col, row] = at.map(|v| ((v * (TEXELS - 1) as f64).round().max(0.0) as usize).min(TEXELS - 1));
        let i = row * TEXELS + col;
        let [east, north, wet, _] = self.slopes[i].map(full);
        let mut materials = [(NO_MATERIAL, 0.0); PALETTE];
        for (slot, to) in materials.iter_mut().enumerate() {
            *to = (self.palette[slot], f32::from(self.weights[slot / 4][i][slot % 4]) / 255.0);
        }
        Spot {
            wet: wet > 0.2,
            steep: (east * east + north * north).sqrt(),
            cover: f32::from(self.cover[i][3]) / 255.0,
            materials,
        }
    }
}

/// A grid of samples around a tile, one more on each side than its texels.
const GRID: usize = TEXELS + 2;

impl Tile {
    /// Fills a tile, from the overview where that has all its samples.
    ///
    /// # Errors
    /// When the land cannot be made.
    pub fn fill(
        node: Node,
        land: &dyn Land,
        overview: &Overview,
        rivers: &Rivers,
        cancel: &Cancel,
    ) -> Result<Self, RenderError> {
        let rect = overview.root.rect(node);
        let step = overview.root.side_m(node.level) / (TEXELS - 1) as f64;
        let own = overview.frame.spacing_m();
        // A fifth more than a sample apart does not make it worth working out anew.
        if step >= 0.8 * own[0].min(own[1]) {
            return Ok(Self::of(node, &rect, step, &overview.land, &overview.land, overview, rivers));
        }
        let around = rect.grown([step * 1.001, step * 1.001]);
        let inside = around.intersection(&overview.frame.extent()).unwrap_or(around);
        let frame = land.frame().part(&inside, [step, step]).ok().flatten();
        let Some(frame) = frame.filter(|frame| frame.cols() > 1 && frame.rows() > 1) else {
            return Ok(Self::of(node, &rect, step, &overview.land, &overview.land, overview, rivers));
        };
        // Ground is seen at every sample; what covers it is known well enough from every other one.
        let (shape, cover): (Vec<_>, Vec<_>) = overview.layers.iter().cloned().partition(is_shape);
        let fine = land.window(frame, &shape, cancel)?;
        if cover.is_empty() {
            return Ok(Self::of(node, &rect, step, &fine, &fine, overview, rivers));
        }
        let wide = 2.0 * step;
        let around = rect.grown([wide * 1.001, wide * 1.001]);
        let inside = around.intersection(&overview.frame.extent()).unwrap_or(around);
        let frame = land.frame().part(&inside, [wide, wide]).ok().flatten();
        match frame.filter(|frame| frame.cols() > 1 && frame.rows() > 1) {
            Some(frame) if wide < 0.8 * own[0].min(own[1]) => {
                let cover = land.window(frame, &overview.layers, cancel)?;
                Ok(Self::of(node, &rect, step, &fine, &cover, overview, rivers))
            }
            _ => Ok(Self::of(node, &rect, step, &fine, &overview.land, overview, rivers)),
        }
    }

    /// A tile whose ground comes from one land and what covers it from another, which has heights too.
    fn of(
        node: Node,
        rect: &Rect,
        step: f64,
        land: &Terrain,
        over: &Terrain,
        overview: &Overview,
        rivers: &Rivers,
    ) -> Self {
        let frame = *land.frame();
        let places =
            |at: &dyn Fn(f64) -> f64| -> Vec<f64> { (0..GRID).map(|i| at(i as f64 - 1.0)).collect() };
        let cols = places(&|i| frame.locate(rect.min[0] + i * step, 0.0)[0]);
        let rows = places(&|i| frame.locate(0.0, rect.max[1] - i * step)[1]);
        let base = &overview.frame;
        let base_cols = places(&|i| base.locate(rect.min[0] + i * step, 0.0)[0]);
        let base_rows = places(&|i| base.locate(0.0, rect.max[1] - i * step)[1]);
        let floor = overview.range[0] as f32;
        let sampled = |raster: &Raster<f32>| grid(raster, &frame, &cols, &rows);
        let whole = |heights: Vec<f32>| -> Vec<f32> {
            heights.into_iter().map(|h| if h.is_finite() { h } else { floor }).collect()
        };
        let mut heights =
            land.get(layer::HEIGHT).map_or_else(|_| vec![floor; GRID * GRID], |h| whole(sampled(h)));
        // Overhangs: where each point of the ground is moved to.
        let moved = [layer::DISPLACE_X, layer::DISPLACE_Y, layer::DISPLACE_Z]
            .map(|layer| land.get(layer).ok().map(|raster| grid(raster, &frame, &cols, &rows)));
        if let Some(up) = &moved[2] {
            heights.iter_mut().zip(up).filter(|(_, up)| up.is_finite()).for_each(|(h, up)| *h += up);
        }
        let over_frame = *over.frame();
        let over_cols = places(&|i| over_frame.locate(rect.min[0] + i * step, 0.0)[0]);
        let over_rows = places(&|i| over_frame.locate(0.0, rect.max[1] - i * step)[1]);
        let sampled_over = |raster: &Raster<f32>| grid(raster, &over_frame, &over_cols, &over_rows);
        let water = over.get(layer::WATER).ok().map(sampled_over);
        // Water is level: its surface comes from where it is known.
        let under_water =
            water.as_ref().and_then(|_| over.get(layer::HEIGHT).ok()).map(|h| whole(sampled_over(h)));
        let of_base = |wanted: layer::Layer<f32>| {
            overview.layer(wanted).map(|raster| grid(raster, base, &base_cols, &base_rows))
        };
        let canopy = of_base(layer::CANOPY_COVER);
        let crowns = of_base(layer::CANOPY_HEIGHT);
        let color = layer::CANOPY_COLOR.map(of_base);
        let at = |col: usize, row: usize| (row + 1) * GRID + col + 1;
        let texels = || (0..TEXELS * TEXELS).map(|i| (i % TEXELS, i / TEXELS));
        let wet = rivers.shares(rect, step);
        let slopes = texels()
            .map(|(c, r)| {
                let i = at(c, r);
                let east = (heights[i + 1] - heights[i - 1]) / (2.0 * step as f32);
                let north = (heights[i - GRID] - heights[i + GRID]) / (2.0 * step as f32);
                let crown = crowns.as_ref().map_or(0.0, |crowns| crowns[i]);
                [half(east), half(north), half(wet[r * TEXELS + c]), half(crown)]
            })
            .collect();
        let cover = texels()
            .map(|(c, r)| {
                let i = at(c, r);
                let byte = |x: f32| (x * 255.0).round().clamp(0.0, 255.0) as u8;
                let share = canopy.as_ref().map_or(0.0, |cover| cover[i]);
                let [red, green, blue] =
                    [0, 1, 2].map(|k| color[k].as_ref().map_or(0, |color| byte(color[i])));
                [red, green, blue, byte(if share.is_finite() { share } else { 0.0 })]
            })
            .collect();
        let (palette, weights) =
            materials(over, overview, &over_frame, &over_cols, &over_rows, &heights, step);
        let mut levels = levels(under_water.as_ref().unwrap_or(&heights), water.as_deref());
        let has_water = levels.iter().any(|level| *level > DRY);
        // Where it is dry the surface runs below the ground.
        levels
            .iter_mut()
            .zip(&heights)
            .filter(|(level, _)| **level <= DRY)
            .for_each(|(level, h)| *level = h - UNDER_M);
        let vertices = || (0..VERTICES * VERTICES).map(|i| at(2 * (i % VERTICES), 2 * (i / VERTICES)));
        Self {
            node,
            vertices: vertices()
                .map(|i| {
                    let [east, north] = [0, 1].map(|axis| {
                        moved[axis]
                            .as_ref()
                            .map_or(0.0, |moved| if moved[i].is_finite() { moved[i] } else { 0.0 })
                    });
                    [east, north, heights[i], levels[i]]
                })
                .collect(),
            has_water,
            slopes,
            weights,
            cover,
            palette,
        }
    }
}

/// Whether a layer says where the ground is.
fn is_shape(name: &LayerName) -> bool {
    [layer::HEIGHT, layer::DISPLACE_X, layer::DISPLACE_Y, layer::DISPLACE_Z].iter().any(|l| l.name() == *name)
}

/// A raster at places, without going beyond its edge; samples that are there are taken as they are.
fn grid(raster: &Raster<f32>, frame: &Frame, cols: &[f64], rows: &[f64]) -> Vec<f32> {
    let inside = |x: f64, most: usize| {
        let x = x.clamp(0.0, (most - 1) as f64);
        if (x - x.round()).abs() < 1e-3 { x.round() } else { x }
    };
    let cols: Vec<f64> = cols.iter().map(|&c| inside(c, frame.cols())).collect();
    let mut out = Vec::with_capacity(cols.len() * rows.len());
    for &row in rows {
        let row = inside(row, frame.rows());
        for &col in &cols {
            out.push(if col.fract() == 0.0 && row.fract() == 0.0 {
                raster.row(row as usize)[col as usize]
            } else {
                raster.bilinear(col, row)
            });
        }
    }
    out
}

/// The level of the water, brought a little way up the shore so that its surface meets the ground.
fn levels(heights: &[f32], water: Option<&[f32]>) -> Vec<f32> {
    const UP_THE_SHORE: usize = 5;
    /// Less is damp ground.
    const LEAST_M: f32 = 0.02;
    let Some(water) = water else { return vec![DRY; heights.len()] };
    let mut levels: Vec<f32> =
        heights.iter().zip(water).map(|(h, w)| if *w > LEAST_M { h + w } else { DRY }).collect();
    if levels.iter().all(|level| *level <= DRY) {
        return levels;
    }
    for _ in 0..UP_THE_SHORE {
        let before = levels.clone();
        for row in 0..GRID {
            for col in 0..GRID {
                let i = row * GRID + col;
                if before[i] > DRY {
                    continue;
                }
                // Of two waters the lower one: the higher one would stand above its shore.
                let mut lowest = f32::INFINITY;
                for (r, c) in
                    [(row.wrapping_sub(1), col), (row + 1, col), (row, col.wrapping_sub(1)), (row, col + 1)]
                {
                    if r < GRID && c < GRID && before[r * GRID + c] > DRY {
                        lowest = lowest.min(before[r * GRID + c]);
                    }
                }
                if lowest < f32::INFINITY {
                    levels[i] = lowest;
                }
            }
        }
    }
    levels
}

/// A place between two samples.
struct Between {
    first: usize,
    second: usize,
    share: f32,
}

impl Between {
    fn of(at: f64, samples: usize) -> Self {
        let last = samples - 1;
        let at = at.clamp(0.0, last as f64);
        let first = (at as usize).min(last);
        Self { first, second: (first + 1).min(last), share: (at - first as f64) as f32 }
    }

    fn mix(&self, a: f32, b: f32) -> f32 {
        a + (b - a) * self.share
    }
}

/// The materials that a tile has most of, in the order of the land's, and their weights.
fn materials(
    land: &Terrain,
    overview: &Overview,
    frame: &Frame,
    cols: &[f64],
    rows: &[f64],
    heights: &[f32],
    step: f64,
) -> ([u8; PALETTE], [Vec<[u8; 4]>; 2]) {
    let texels = TEXELS * TEXELS;
    let mut weights = [vec![[0u8; 4]; texels], vec![[0u8; 4]; texels]];
    let mut palette = [NO_MATERIAL; PALETTE];
    let cols: Vec<Between> = (0..TEXELS).map(|i| Between::of(cols[i + 1], frame.cols())).collect();
    let rows: Vec<Between> = (0..TEXELS).map(|i| Between::of(rows[i + 1], frame.rows())).collect();
    let rasters: Vec<(u8, &Raster<Weight>)> = (0..NO_MATERIAL)
        .zip(&overview.materials)
        .filter_map(|(number, name)| Some((number, land.get_named(name).ok()?)))
        .collect();
    let sum = |raster: &Raster<Weight>| -> u64 {
        rows.iter().map(|r| cols.iter().map(|c| u64::from(raster.row(r.first)[c.first].0)).sum::<u64>()).sum()
    };
    let mut sums: Vec<(u64, u8, &Raster<Weight>)> = rasters
        .iter()
        .map(|&(number, raster)| (sum(raster), number, raster))
        .filter(|(sum, ..)| *sum > 0)
        .collect();
    sums.sort_by_key(|(sum, number, _)| (std::cmp::Reverse(*sum), *number));
    sums.truncate(PALETTE);
    sums.sort_by_key(|(_, number, _)| *number);
    for (slot, (_, number, raster)) in sums.iter().enumerate() {
        palette[slot] = *number;
        for (r, row) in rows.iter().enumerate() {
            let [above, below] = [raster.row(row.first), raster.row(row.second)];
            for (c, col) in cols.iter().enumerate() {
                let along = |row: &[Weight]| col.mix(row[col.first].0.into(), row[col.second].0.into());
                weights[slot / 4][r * TEXELS + c][slot % 4] =
                    row.mix(along(above), along(below)).round() as u8;
            }
        }
    }
    if sums.is_empty() {
        // Land that says nothing of its ground: rock where it is steep, grass elsewhere, the two that the overview names.
        palette[..2].copy_from_slice(&[0, 1]);
        for (i, weights) in weights[0].iter_mut().enumerate() {
            let at = (i / TEXELS + 1) * GRID + i % TEXELS + 1;
            let [east, north] = [1, GRID].map(|d| (heights[at + d] - heights[at - d]) / (2.0 * step as f32));
            let rock = smoothstep(0.6, 0.9, (east * east + north * north).sqrt());
            let rock = (255.0 * rock).round() as u8;
            *weights = [rock, 255 - rock, 0, 0];
        }
    }
    (palette, weights)
}

/// Rivers as lines, for land whose samples are farther apart than they are wide.
pub struct Rivers {
    /// Ends and widths in metres.
    pieces: Vec<([f64; 2], [f64; 2], f64)>,
}

impl Rivers {
    /// Those of a land.
    #[must_use]
    pub fn of(lines: Option<&orogen_core::vector::VectorLayer>) -> Self {
        let mut pieces = Vec::new();
        if let Some(lines) = lines {
            let widths = lines.vertex_numbers("width_m");
            for feature in 0..lines.len() {
                for part in lines.parts(feature) {
                    for i in part.start + 1..part.end {
                        let [a, b] = [lines.vertices()[i - 1], lines.vertices()[i]];
                        let width = widths.map_or(3.0, |widths| widths[i]);
                        pieces.push(([a[0], a[1]], [b[0], b[1]], width));
                    }
                }
            }
        }
        Self { pieces }
    }

    /// The share of each texel of a tile that lies under a river narrower than it.
    fn shares(&self, rect: &Rect, step: f64) -> Vec<f32> {
        let mut out = vec![0f32; TEXELS * TEXELS];
        for (a, b, width) in &self.pieces {
            if *width > 1.5 * step || *width < 0.05 * step {
                continue;
            }
            let low = [0, 1].map(|i| a[i].min(b[i]) - 2.0 * step);
            let high = [0, 1].map(|i| a[i].max(b[i]) + 2.0 * step);
            if low[0] > rect.max[0] || high[0] < rect.min[0] || low[1] > rect.max[1] || high[1] < rect.min[1]
            {
                continue;
            }
            let last = (TEXELS - 1) as f64;
            let col = |x: f64| ((x - rect.min[0]) / step).clamp(0.0, last);
            let row = |y: f64| ((rect.max[1] - y) / step).clamp(0.0, last);
            let along = [b[0] - a[0], b[1] - a[1]];
            let square = (along[0] * along[0] + along[1] * along[1]).max(1e-9);
            for r in row(high[1]).floor() as usize..=row(low[1]).ceil() as usize {
                for c in col(low[0]).floor() as usize..=col(high[0]).ceil() as usize {
                    let p = [rect.min[0] + c as f64 * step - a[0], rect.max[1] - r as f64 * step - a[1]];
                    let t = ((p[0] * along[0] + p[1] * along[1]) / square).clamp(0.0, 1.0);
                    let off = [p[0] - t * along[0], p[1] - t * along[1]];
                    let distance = (off[0] * off[0] + off[1] * off[1]).sqrt();
                    // A line of the river's width, blurred over a texel to each side.
                    let blurred = (1.0 - distance / (0.5 * width + step)).clamp(0.0, 1.0);
                    let share = (blurred * width / step * 1.2).min(1.0) as f32;
                    let texel = &mut out[r * TEXELS + c];
                    *texel = texel.max(share);
                }
            }
        }
        out
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use orogen_core::{LayerName, Place, vector::VectorLayer};

    use super::*;

    /// Hills of which every spacing shows a little more, so that tiles of two levels never agree by themselves.
    pub(crate) struct Hills;

    impl Land for Hills {
        fn frame(&self) -> Frame {
            Frame::new([300.0, -700.0], [8192.0, 8192.0], [129, 129]).unwrap()
        }

        fn place(&self) -> Place {
            Place::default()
        }

        fn layers(&self) -> Vec<LayerName> {
            vec![layer::HEIGHT.name(), layer::WATER.name()]
        }

        fn window(&self, frame: Frame, layers: &[LayerName], _: &Cancel) -> Result<Terrain, RenderError> {
            let mut land = Terrain::new(frame);
            let step = frame.spacing_m()[0];
            for name in layers {
                let raster = Raster::from_fn(frame.cols(), frame.rows(), |c, r| {
                    let (x, y) = (frame.x_m(c), frame.y_m(r));
                    let hill = 200.0 * orogen_core::math::sin(x / 900.0) * orogen_core::math::cos(y / 700.0);
                    let height = hill + 3.0 * step * orogen_core::math::sin(x * 0.1 + y * 0.13);
                    if *name == layer::WATER.name() { (50.0 - height).max(0.0) as f32 } else { height as f32 }
                });
                land.set_named(name.clone(), raster.into());
            }
            Ok(land)
        }

        fn rivers(&self, _: &Cancel) -> Result<Option<VectorLayer>, RenderError> {
            Ok(None)
        }

        fn finest_m(&self) -> f64 {
            0.5
        }
    }

    #[test]
    fn land_that_names_no_materials_is_rock_where_it_is_steep() {
        let overview = Overview::of(&Hills, &Cancel::new()).unwrap();
        let node = Node { level: 0, x: 0, y: 0 };
        let tile = Tile::fill(node, &Hills, &overview, &Rivers::of(None), &Cancel::new()).unwrap();
        assert_eq!(tile.palette[..3], [0, 1, NO_MATERIAL]);
        assert!(tile.weights[0].iter().all(|w| u32::from(w[0]) + u32::from(w[1]) == 255));
        assert!(tile.has_water);
    }

    #[test]
    fn a_narrow_river_covers_its_share_and_a_wide_one_is_left_to_the_water() {
        let mut lines = VectorLayer::new(orogen_core::vector::Shape::Lines);
        lines.push([[0.0, 500.0, 0.0], [1000.0, 500.0, 0.0]]);
        let rect = Rect { min: [0.0, 0.0], max: [1280.0, 1280.0] };
        let shares = |width: f64| {
            let mut lines = lines.clone();
            assert!(
                lines.set_vertex_attribute("width_m", orogen_core::vector::Column::Number(vec![width; 2]))
            );
            Rivers::of(Some(&lines)).shares(&rect, 10.0)
        };
        let column = |shares: &[f32]| -> f32 { (0..TEXELS).map(|r| shares[r * TEXELS + 50]).sum() };
        let narrow = column(&shares(4.0));
        assert!((0.3..0.7).contains(&narrow), "{narrow}");
        assert_eq!(column(&shares(40.0)), 0.0);
    }
}
