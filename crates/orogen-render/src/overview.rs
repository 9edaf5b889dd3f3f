//! The whole land at a glance: what far tiles, shade and the search for a view are made from.

use orogen_core::{Cancel, Frame, LayerName, Raster, Terrain, Weight, layer};

use crate::error::RenderError;
use crate::land::Land;
use crate::quadtree::{Known, Node, Root};

/// Samples along the longer side, at most.
const MOST: usize = 1025;

/// The land as a whole, on at most `MOST` samples a side.
pub struct Overview {
    /// Its samples.
    pub frame: Frame,
    /// Heights without holes.
    pub height: Raster<f32>,
    /// All layers that pictures use.
    pub land: Terrain,
    /// The materials, by their layers.
    pub materials: Vec<LayerName>,
    /// The layers that fine tiles ask for.
    pub layers: Vec<LayerName>,
    /// Where the sea is: below its level and joined to the edge of the land by such ground.
    pub sea: Raster<u8>,
    /// Lowest and highest land.
    pub range: [f64; 2],
    /// The square that tiles split.
    pub root: Root,
}

impl Overview {
    /// Looks at the land.
    ///
    /// # Errors
    /// When the work fails, is cancelled, or there is no land.
    pub fn of(land: &dyn Land, cancel: &Cancel) -> Result<Self, RenderError> {
        let own = land.frame();
        let known = land.layers();
        let height = layer::HEIGHT.name();
        if !known.contains(&height) {
            return Err(RenderError::Call(String::from("there is nothing to see: the land has no heights")));
        }
        let (materials, own_materials) = crate::materials::among(&known);
        let moved = [layer::DISPLACE_X, layer::DISPLACE_Y, layer::DISPLACE_Z].map(layer::Layer::name);
        let extra = [layer::WATER.name(), layer::SNOW.name()].into_iter().chain(moved);
        let mut layers = vec![height];
        layers.extend(extra.filter(|name| known.contains(name)));
        if own_materials {
            layers.extend(materials.iter().cloned());
        }
        let canopy = layer::CANOPY_COLOR.map(layer::Layer::name);
        let canopy = canopy.into_iter().chain([layer::CANOPY_COVER.name(), layer::CANOPY_HEIGHT.name()]);
        let mut all = layers.clone();
        all.extend(canopy.filter(|name| known.contains(name)));
        let step = own.cols().max(own.rows()).saturating_sub(1).div_ceil(MOST - 1).max(1) as f64;
        let frame = if step > 1.0 {
            let [dx, dy] = own.spacing_m();
            let part = own.part(&own.extent(), [dx * step, dy * step]).ok().flatten();
            part.filter(|part| part.cols() > 1 && part.rows() > 1).unwrap_or(own)
        } else {
            own
        };
        let land = land.window(frame, &all, cancel)?;
        let raw = land.get(layer::HEIGHT)?;
        let (low, high) = raw.range().ok_or_else(|| {
            RenderError::Call(String::from("there is nothing to see: the land is one hole"))
        })?;
        let height = raw.map(|h| if h.is_finite() { h } else { low });
        let root = Root { origin_m: frame.extent().min, size_m: frame.size_m()[0].max(frame.size_m()[1]) };
        let sea = sea(&height);
        Ok(Self { frame, height, land, materials, layers, sea, range: [low.into(), high.into()], root })
    }

    /// A layer, if the land has it.
    #[must_use]
    pub fn layer(&self, layer: layer::Layer<f32>) -> Option<&Raster<f32>> {
        self.land.get(layer).ok()
    }

    /// The weights of a material.
    #[must_use]
    pub fn weights(&self, name: &LayerName) -> Option<&Raster<Weight>> {
        self.land.get_named(name).ok()
    }

    /// The height at a place; beyond the edge that of the edge.
    #[must_use]
    pub fn height_at(&self, x_m: f64, y_m: f64) -> f64 {
        let [col, row] = self.frame.locate(x_m, y_m);
        let col = col.clamp(0.0, (self.frame.cols() - 1) as f64);
        let row = row.clamp(0.0, (self.frame.rows() - 1) as f64);
        self.height.bilinear(col, row).into()
    }

    /// Whether the sea is at a place; beyond the edge as at the edge.
    #[must_use]
    pub fn is_sea(&self, x_m: f64, y_m: f64) -> bool {
        let [col, row] = self.frame.locate(x_m, y_m);
        self.sea.clamped(col.round() as isize, row.round() as isize) != 0
    }

    /// The share of the edge at which there is sea.
    #[must_use]
    pub fn sea_at_edge(&self) -> f64 {
        let (cols, rows) = (self.sea.cols(), self.sea.rows());
        let edge = (0..cols).flat_map(|c| [(c, 0), (c, rows - 1)]);
        let edge = edge.chain((0..rows).flat_map(|r| [(0, r), (cols - 1, r)]));
        let (mut wet, mut all) = (0.0, 0.0);
        for (c, r) in edge {
            wet += f64::from(self.sea.row(r)[c]);
            all += 1.0;
        }
        wet / all
    }

    /// The lowest and the highest land of a node, and how rough it is: the mean change of slope from sample to sample.
    #[must_use]
    pub fn bounds(&self) -> Bounds {
        const LEVELS: u8 = 6;
        let side = 1usize << LEVELS;
        let mut cells = vec![Cell::default(); side * side];
        let [x0, y0] = self.root.origin_m;
        let size = self.root.size_m / side as f64;
        let (cols, rows) = (self.frame.cols(), self.frame.rows());
        for row in 0..rows {
            let at = |m: f64| ((m / size) as usize).min(side - 1);
            let y = at(self.frame.y_m(row) - y0);
            for col in 0..cols {
                let x = at(self.frame.x_m(col) - x0);
                let here = self.height.row(row)[col];
                let (c, r) = (col as isize, row as isize);
                let around = self.height.clamped(c - 1, r)
                    + self.height.clamped(c + 1, r)
                    + self.height.clamped(c, r - 1)
                    + self.height.clamped(c, r + 1);
                let bend = (around - 4.0 * here).abs() / self.frame.spacing_m()[0] as f32;
                let cell = &mut cells[y * side + x];
                cell.low = cell.low.min(here);
                cell.high = cell.high.max(here);
                cell.bend += f64::from(bend.min(4.0));
                cell.count += 1.0;
            }
        }
        let mut levels = vec![cells];
        for level in (0..LEVELS).rev() {
            let (side, finer) = (1usize << level, &levels[levels.len() - 1]);
            let merged = (0..side * side).map(|i| {
                let (x, y) = (i % side, i / side);
                let four = [(0, 0), (1, 0), (0, 1), (1, 1)];
                let of = |(dx, dy): &(usize, usize)| &finer[(2 * y + dy) * 2 * side + 2 * x + dx];
                four.iter().map(of).fold(Cell::default(), |a, b| Cell {
                    low: a.low.min(b.low),
                    high: a.high.max(b.high),
                    bend: a.bend + b.bend,
                    count: a.count + b.count,
                })
            });
            let merged = merged.collect();
            levels.push(merged);
        }
        levels.reverse();
        let farthest = |layer: layer::Layer<f32>| {
            let range = self.layer(layer).and_then(Raster::range);
            range.map_or(0.0, |(low, high)| f64::from(low.abs().max(high.abs())))
        };
        let moved = [layer::DISPLACE_X, layer::DISPLACE_Y, layer::DISPLACE_Z].map(farthest);
        // Finer samples may show somewhat more.
        Bounds { levels, range: self.range, moved: 1.25 * moved.into_iter().fold(0.0, f64::max) }
    }
}

#[derive(Clone, Copy)]
struct Cell {
    low: f32,
    high: f32,
    bend: f64,
    count: f64,
}

impl Default for Cell {
    fn default() -> Self {
        Self { low: f32::INFINITY, high: f32::NEG_INFINITY, bend: 0.0, count: 0.0 }
    }
}

/// What is known of the land of every node.
pub struct Bounds {
    levels: Vec<Vec<Cell>>,
    range: [f64; 2],
    moved: f64,
}

impl Bounds {
    fn cell(&self, node: Node) -> &Cell {
        let level = usize::from(node.level).min(self.levels.len() - 1);
        let by = usize::from(node.level) - level;
        &self.levels[level][((node.y >> by) as usize) * (1 << level) + (node.x >> by) as usize]
    }
}

impl Known for Bounds {
    fn moved(&self) -> f64 {
        self.moved
    }

    fn floor(&self) -> f64 {
        self.range[0].min(0.0)
    }

    /// The lowest and highest land; finer samples may show somewhat more.
    fn heights(&self, node: Node) -> [f64; 2] {
        let cell = self.cell(node);
        if cell.low > cell.high {
            return self.range;
        }
        let (low, high) = (f64::from(cell.low), f64::from(cell.high));
        let slack = 5.0 + 0.05 * (high - low);
        [low - slack, high + slack]
    }

    /// How finely it must be split: `F`. Level ground and the floor of the sea need less than crags.
    fn detail(&self, node: Node) -> f64 {
        let cell = self.cell(node);
        if cell.low > cell.high || cell.high < -3.0 {
            return 0.35;
        }
        let bend = cell.bend / cell.count.max(1.0);
        (0.75 + bend).clamp(0.75, 1.4)
    }
}

/// Ground below sea level that is joined to the edge by such ground.
fn sea(height: &Raster<f32>) -> Raster<u8> {
    let (cols, rows) = (height.cols(), height.rows());
    let mut sea = Raster::filled(cols, rows, 0u8);
    let mut open: Vec<(usize, usize)> = (0..cols).flat_map(|c| [(c, 0), (c, rows - 1)]).collect();
    open.extend((0..rows).flat_map(|r| [(0, r), (cols - 1, r)]));
    while let Some((col, row)) = open.pop() {
        let at = row * cols + col;
        if sea.as_slice()[at] != 0 || height.as_slice()[at] >= 0.0 {
            continue;
        }
        sea.as_mut_slice()[at] = 1;
        open.extend(
            [(col.wrapping_sub(1), row), (col + 1, row), (col, row.wrapping_sub(1)), (col, row + 1)]
                .into_iter()
                .filter(|&(c, r)| c < cols && r < rows),
        );
    }
    sea
}
