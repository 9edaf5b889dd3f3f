//! Sea: where it is, how deep, and how far from the shore.

use orogen_core::{
    Ctx, Frame, LayerData, LayerName, Layers, Op, OpError, Raster, Reach, Refiner, Solved, Terrain, distance,
    layer,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::former::Former;
use super::shores::{Shores, replaced};
use crate::drainage::neighbours_of;
use crate::survey::contours::{Contours, contours};

/// Floods the land with a sea of one level, from the edge of the map inwards.
///
/// ```text
/// sea    = samples at or below the level that are joined to the edge of the map, or to a hole, by such samples
/// water  = level − height at sea, 0 on land            mask.sea = 1 at sea, 0 on land
/// shore  = distance to the nearest shore: positive on land, negative at sea
/// ```
///
/// The shore crosses the line between a wet and a dry sample where the straight line between their heights is at the level. It
/// is kept as the vectors `coast` too: lines at the height of the sea with the land on their left, each with `level_m` and `closed`.
///
/// **Guarantees** (1) land below the level that the sea cannot reach stays dry, unless `everywhere` is set; (2) `shore` is the
/// Euclidean distance to the nearest crossing, to single precision, and where there is no shore the length of the map's
/// diagonal; (3) a higher level never leaves less sea; (4) the land is not changed.
///
/// **Limits** Crossings are points about a cell apart, so distances are a little long: by at most a cell's diagonal at the
/// shore, and far less away from it. A strait narrower than a sample is closed, and what it led to dry: that belongs to the resolution. In
/// windows finer than the recipe's frame the sea keeps within two of its samples of where it was found: beside rough ground that lies below the level
/// farther off it may stand as a wall, since the land is not the sea's to change; `everywhere` floods that ground too.
///
/// **After** Felzenszwalb & Huttenlocher, Theory Comput. 8 (2012) for distances in linear time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Sea {
    /// Height of the sea.
    #[schemars(range(min = -1e5, max = 1e5), extend("x-unit" = "m", "x-slider" = [-100.0, 500.0]))]
    pub level_m: f64,
    /// Whether all land at or below the level is sea, reached or not.
    pub everywhere: bool,
    /// Whether water of earlier steps (lakes, say) stays where it is deeper.
    pub keep: bool,
}

impl Default for Sea {
    fn default() -> Self {
        Self { level_m: 0.0, everywhere: false, keep: false }
    }
}

/// The vectors that hold the shore.
pub const COAST: &str = "coast";
const MASK_SEA: LayerName = LayerName::fixed("mask.sea");

impl Op for Sea {
    const ID: &'static str = "water.sea";
    const VERSION: u32 = 2;

    fn layers(&self) -> Layers {
        let layers = Layers::none()
            .reading([layer::HEIGHT.name()])
            .deriving([layer::SHORE.name()], [layer::HEIGHT.name()])
            .writing([MASK_SEA])
            .deriving_vectors([COAST], [layer::HEIGHT.name()]);
        let water = [layer::WATER.name()];
        if self.keep { layers.updating(water) } else { layers.writing(water) }
    }

    fn reach(&self, _: &Frame) -> Reach {
        Reach::World
    }

    fn bytes_a_sample(&self, _: &Frame) -> f64 {
        33.0
    }

    fn refiner(&self, solved: Solved<'_>, _: &Ctx<'_>) -> Result<Option<Box<dyn Refiner>>, OpError> {
        Ok(Some(Box::new(Finer::new(self, solved)?)))
    }

    fn run(&self, mut terrain: Terrain, ctx: &Ctx<'_>) -> Result<Terrain, OpError> {
        let frame = *terrain.frame();
        let [dx, dy] = frame.spacing_m();
        let height = terrain.get(layer::HEIGHT)?;
        let level_m = self.level_m as f32;
        let wet = flooded(height, level_m, self.everywhere);
        ctx.tick(1, 4)?;
        let above = above(height, &wet, level_m);
        let shore = shore(&above, [dx, dy]);
        ctx.tick(2, 4)?;
        // One level: all others lie beyond any ground.
        let only = Contours { interval_m: 1e6, base_m: 0.0, smooth: false };
        let (west, north) = (frame.x_m(0), frame.y_m(0));
        let place = |[col, row]: [f64; 2], _| [west + col * dx, north - row * dy, self.level_m];
        let mut lines = contours(&above, &only, place, &ctx.unwatched())?;
        lines.levels_m.fill(self.level_m);
        let coast = lines.into_vectors();
        ctx.tick(3, 4)?;

        let former: Option<&Raster<f32>> = if self.keep { Some(terrain.get(layer::WATER)?) } else { None };
        let water = Raster::from_fn(frame.cols(), frame.rows(), |col, row| {
            let here = height.row(row)[col];
            let depth = match wet.row(row)[col] {
                _ if here.is_nan() => f32::NAN,
                true => level_m - here,
                false => 0.0,
            };
            let old = former.map_or(0.0, |former| former.row(row)[col]);
            if old > depth { old } else { depth }
        });
        let mask =
            Raster::from_fn(frame.cols(), frame.rows(), |col, row| f32::from(u8::from(wet.row(row)[col])));
        let count = wet.as_slice().iter().filter(|wet| **wet).count();
        ctx.report("sea_area", count as f64 * dx * dy, "m2");
        terrain.set(layer::SHORE, shore);
        terrain.set_named(MASK_SEA, LayerData::F32(mask.into()));
        terrain.set(layer::WATER, water);
        terrain.set_vector(COAST, coast);
        Ok(terrain)
    }
}

/// The sea on samples of another spacing: where the finer ground lies at or below its level, within two samples of where
/// it was found.
struct Finer {
    shores: Shores,
    level_m: f32,
    everywhere: bool,
    /// With `keep`: the water of earlier steps.
    former: Option<Former>,
}

impl Finer {
    fn new(params: &Sea, solved: Solved<'_>) -> Result<Self, OpError> {
        let base = *solved.after.frame();
        let height = solved.after.get(layer::HEIGHT)?;
        let wet: &Raster<f32> = solved.after.get_named(&MASK_SEA)?;
        let wet = wet.as_slice();
        let level_m = params.level_m as f32;
        let shores = Shores::on(base, height.clone()).with_sea(level_m, |cell| wet[cell] > 0.5);
        let former = match solved.before {
            Some(before) if params.keep => {
                Some(Former::new(base, before.get(layer::WATER)?, solved.after.get(layer::WATER)?))
            }
            _ => None,
        };
        Ok(Self { shores, level_m, everywhere: params.everywhere, former })
    }
}

impl Refiner for Finer {
    fn refine(&self, window: Terrain, _: &Ctx<'_>) -> Result<Terrain, OpError> {
        let frame = *window.frame();
        let height = window.get(layer::HEIGHT)?;
        // The land itself is not the sea's to change.
        let (levels, _) = self.shores.levels_on(&frame, height);
        let is_wet = |col: usize, row: usize| {
            let reached = self.everywhere || levels.row(row)[col] > f32::NEG_INFINITY;
            reached && height.row(row)[col] <= self.level_m
        };
        let mut water = Raster::from_fn(frame.cols(), frame.rows(), |col, row| match height.row(row)[col] {
            here if here.is_nan() => f32::NAN,
            here if is_wet(col, row) => self.level_m - here,
            _ => 0.0,
        });
        if let Some(former) = &self.former {
            former.keep(&window, &mut water)?;
        }
        let mask =
            Raster::from_fn(frame.cols(), frame.rows(), |col, row| f32::from(u8::from(is_wet(col, row))));
        // Distances are interpolated; the sign is that of the ground.
        let far: &Raster<f32> = window.get(layer::SHORE)?;
        let shore = Raster::from_fn(frame.cols(), frame.rows(), |col, row| {
            let far = far.row(row)[col];
            match is_wet(col, row) {
                _ if far.is_nan() => far,
                true => far.min(-0.0),
                false => far.max(0.0),
            }
        });
        replaced(window, [(layer::WATER.name(), water), (MASK_SEA, mask), (layer::SHORE.name(), shore)])
    }

    fn size_bytes(&self) -> usize {
        self.shores.size_bytes() + self.former.as_ref().map_or(0, Former::size_bytes)
    }
}

/// Samples at or below a level, all or only those that the edge of the map and holes reach.
#[must_use]
pub fn flooded(height: &Raster<f32>, level_m: f32, everywhere: bool) -> Raster<bool> {
    let (cols, rows) = (height.cols(), height.rows());
    let low = |cell: usize| height.as_slice()[cell] <= level_m;
    if everywhere {
        return Raster::from_fn(cols, rows, |col, row| low(row * cols + col));
    }
    let mut wet = Raster::filled(cols, rows, false);
    let mut stack: Vec<usize> = Vec::new();
    for cell in 0..cols * rows {
        let (col, row) = (cell % cols, cell / cols);
        let edge = col == 0 || row == 0 || col + 1 == cols || row + 1 == rows;
        let starts = edge || neighbours_of(cell, cols, rows).any(|other| height.as_slice()[other].is_nan());
        if low(cell) && !wet.as_slice()[cell] && starts {
            wet.as_mut_slice()[cell] = true;
            stack.push(cell);
        }
        while let Some(cell) = stack.pop() {
            for other in neighbours_of(cell, cols, rows) {
                if low(other) && !wet.as_slice()[other] {
                    wet.as_mut_slice()[other] = true;
                    stack.push(other);
                }
            }
        }
    }
    wet
}

/// Height above the sea: 0 or less at sea, more on land, dry hollows included.
fn above(height: &Raster<f32>, wet: &Raster<bool>, level_m: f32) -> Raster<f32> {
    const DRY_M: f32 = 1e-3;
    Raster::from_fn(height.cols(), height.rows(), |col, row| {
        let up = height.row(row)[col] - level_m;
        match wet.row(row)[col] {
            // `max` would turn a hole into land.
            _ if up.is_nan() => up,
            true => up,
            false => up.max(DRY_M),
        }
    })
}

/// Distance to the nearest crossing between samples above 0 and others; negative for the others.
fn shore(above: &Raster<f32>, [dx, dy]: [f64; 2]) -> Raster<f32> {
    let (cols, rows) = (above.cols(), above.rows());
    let (width, depth) = ((cols - 1) as f64 * dx, (rows - 1) as f64 * dy);
    let far = (width * width + depth * depth).sqrt();
    // Crossings in rows, then the best of all rows; crossings in columns, then the best of all columns.
    let in_rows = |above: &Raster<f32>, spacing: f64| {
        let mut squares = Raster::filled(above.cols(), above.rows(), 0.0);
        squares.par_rows(|row, out| along(above.row(row), spacing, far, out));
        squares.transposed()
    };
    let by_row = envelopes(&in_rows(above, dx), dy).transposed();
    let by_col = envelopes(&in_rows(&above.transposed(), dy), dx);
    Raster::from_fn(cols, rows, |col, row| {
        let nearest = by_row.row(row)[col].min(by_col.row(row)[col]).sqrt().min(far) as f32;
        match above.row(row)[col] {
            up if up.is_nan() => f32::NAN,
            up if up > 0.0 => nearest,
            _ => -nearest,
        }
    })
}

/// Where between two samples the shore crosses, as a share of the way.
fn crossing(a: f32, b: f32) -> Option<f64> {
    let (a, b) = (f64::from(a), f64::from(b));
    (!a.is_nan() && !b.is_nan() && (a > 0.0) != (b > 0.0)).then(|| a / (a - b))
}

/// Squared distance along a line to the nearest crossing of it.
fn along(line: &[f32], spacing: f64, far: f64, out: &mut [f64]) {
    let crossing = |i: usize| crossing(line[i], line[i + 1]);
    let mut last = f64::NEG_INFINITY;
    for (i, out) in out.iter_mut().enumerate() {
        if let Some(share) = i.checked_sub(1).and_then(&crossing) {
            last = (i - 1) as f64 + share;
        }
        *out = (i as f64 - last) * spacing;
    }
    let mut next = f64::INFINITY;
    for i in (0..line.len()).rev() {
        if i + 1 < line.len()
            && let Some(share) = crossing(i)
        {
            next = i as f64 + share;
        }
        let nearest = out[i].min((next - i as f64) * spacing).min(far);
        out[i] = nearest * nearest;
    }
}

/// Along every row the least of `value(q) + (distance from q)²`.
fn envelopes(values: &Raster<f64>, spacing: f64) -> Raster<f64> {
    let mut out = Raster::filled(values.cols(), values.rows(), 0.0);
    out.par_rows(|row, out| distance::lower_envelope(values.row(row), spacing, out));
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_support;

    fn made(op: &Sea, height: Raster<f32>) -> Terrain {
        let frame = Frame::new([0.0, 0.0], [990.0, 1188.0], [100, 100]).unwrap();
        let mut terrain = Terrain::new(frame.window(0, 0, height.cols(), height.rows()));
        terrain.set(layer::HEIGHT, height);
        op.apply(terrain, &Ctx::silent()).unwrap()
    }

    fn sea(terrain: &Terrain) -> &[f32] {
        terrain.get_named::<f32>(&MASK_SEA).unwrap().as_slice()
    }

    /// A cone of 100 m that stands in the sea, with a crater whose floor is below it.
    fn crater() -> Raster<f32> {
        Raster::from_fn(100, 100, |col, row| {
            let (x, y) = (col as f32 - 50.0, row as f32 - 50.0);
            let r = (x * x + y * y).sqrt();
            if r < 8.0 { 10.0 * (r - 4.0) } else { 5.0 * (40.0 - r) }
        })
    }

    #[test]
    fn the_sea_does_not_get_into_a_crater_unless_asked() {
        let terrain = made(&Sea::default(), crater());
        assert_eq!(sea(&terrain)[50 * 100 + 50], 0.0);
        assert_eq!(sea(&terrain)[50], 1.0);
        assert_eq!(terrain.vector(COAST).unwrap().len(), 1);
        let water = terrain.get(layer::WATER).unwrap();
        assert_eq!(water.row(50)[50], 0.0);
        assert_eq!(water.row(50)[0], 50.0);
        let all = made(&Sea { everywhere: true, ..Sea::default() }, crater());
        assert_eq!(sea(&all)[50 * 100 + 50], 1.0);
        assert_eq!(all.vector(COAST).unwrap().len(), 2);
        let higher = made(&Sea { level_m: 20.0, ..Sea::default() }, crater());
        assert!(sea(&higher).iter().zip(sea(&terrain)).all(|(more, less)| more >= less));
        assert!(higher.vector(COAST).unwrap().vertices().iter().all(|vertex| vertex[2] == 20.0));
    }

    #[test]
    fn distances_are_those_to_the_nearest_of_all_crossings() {
        let mut height = test_support::rough(60, 50).map(|h| h - 45.0);
        height.as_mut_slice()[1000] = f32::NAN;
        let op = Sea { everywhere: true, ..Sea::default() };
        let terrain = made(&op, height.clone());
        let (dx, dy) = (10.0, 12.0);
        let mut crossings = Vec::new();
        for row in 0..50 {
            for col in 0..60 {
                let here = height.row(row)[col];
                if col + 1 < 60
                    && let Some(share) = crossing(here, height.row(row)[col + 1])
                {
                    crossings.push([(col as f64 + share) * dx, row as f64 * dy]);
                }
                if row + 1 < 50
                    && let Some(share) = crossing(here, height.row(row + 1)[col])
                {
                    crossings.push([col as f64 * dx, (row as f64 + share) * dy]);
                }
            }
        }
        let shore = terrain.get(layer::SHORE).unwrap();
        for row in 0..50 {
            for col in 0..60 {
                let (found, here) = (shore.row(row)[col], height.row(row)[col]);
                if here.is_nan() {
                    assert!(found.is_nan());
                    continue;
                }
                let apart = |[x, y]: &[f64; 2]| {
                    let (x, y) = (x - col as f64 * dx, y - row as f64 * dy);
                    (x * x + y * y).sqrt()
                };
                let nearest = crossings.iter().map(apart).fold(f64::MAX, f64::min);
                assert!((f64::from(found.abs()) - nearest).abs() < 1e-3, "{col}, {row}: {found}, {nearest}");
                assert_eq!(found > 0.0 || nearest == 0.0, here > 0.0, "{col}, {row}");
            }
        }
    }

    #[test]
    fn lakes_are_kept_on_request_and_odd_land_works() {
        let mut terrain = made(&Sea::default(), crater());
        terrain.set(layer::WATER, Raster::filled(100, 100, 7.0));
        let kept = Sea { keep: true, ..Sea::default() }.apply(terrain, &Ctx::silent()).unwrap();
        assert_eq!(kept.get(layer::WATER).unwrap().row(50)[50], 7.0);
        for (cols, rows) in [(1, 1), (2, 2), (1, 9), (9, 1)] {
            for (value, mask) in [(5.0, 0.0), (-5.0, 1.0), (f32::NAN, 0.0)] {
                let terrain = made(&Sea::default(), Raster::filled(cols, rows, value));
                assert!(sea(&terrain).iter().all(|m| *m == mask));
                let shore = terrain.get(layer::SHORE).unwrap();
                assert!(shore.as_slice().iter().all(|d| d.is_nan() == value.is_nan()));
                assert!(terrain.vector(COAST).unwrap().is_empty());
            }
        }
    }
}
