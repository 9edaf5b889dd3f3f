//! Mask by curvature: ridges and hollows.

use orogen_core::param::Fault;
use orogen_core::{
    Cancelled, Ctx, Frame, LayerData, LayerName, Layers, Op, OpError, Raster, Reach, Terrain, layer,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::band::{Band, order_fault};
use crate::simd::{Level, dispatch};

/// Which curvature.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// The mean of two directions: ridges and peaks are positive, valleys and pits negative.
    #[default]
    Mean,
    /// Down the slope: shoulders, where water speeds up, are positive; feet of slopes negative.
    Profile,
    /// Across the slope: spurs, where water parts, are positive; gullies, where it meets, negative.
    Plan,
}

/// Marks ridges, hollows, spurs or gullies: the ground whose curvature, measured over a distance, lies in a range.
///
/// ```text
///  NW  N  NE        p = (E − W)/2d    r = (E − 2Z + W)/d²    s = (NE − NW − SE + SW)/4d²
///  W   Z  E         q = (N − S)/2d    t = (N − 2Z + S)/d²
///  SW  S  SE        mean    −(r + t)/2                       d: distance_m, between samples too
///                   profile −(p²r + 2pqs + q²t) / ((p² + q²)(1 + p² + q²)^1.5)
///                   plan    −(q²r − 2pqs + p²t) / (p² + q²)^1.5
/// ```
///
/// Convex ground is positive: 0.01 per metre bends like a circle of 100 m radius.
///
/// **Guarantees** (1) every result lies in 0 to 1; (2) curvature from `min_per_m` to `max_per_m`, both included, has
/// exactly 1, and curvature further than `falloff_per_m` outside exactly 0; (3) a plane has curvature 0; (4) a bowl
/// `h = (x² + y²)/2R` has mean curvature `-1/R` at its bottom and everywhere else; (5) the distance is in metres, so
/// the same features are marked at any number of samples.
///
/// **Limits** A hole has 0, inverted or not; a missing neighbour, also beyond the edge of the world, is mirrored through
/// the middle, or level where its opposite is missing too. Level ground has neither profile nor plan curvature: 0. Values
/// between samples are straight, which makes a distance of few cells look up to a quarter more curved, so resolution
/// matters where cells are not much smaller than the distance: hence 8 %.
///
/// **After** Zevenbergen & Thorne, Earth Surf. Process. Landf. 12 (1987).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Curvature {
    /// Which curvature.
    pub kind: Kind,
    /// Distance over which it is measured: the size of the ridges and hollows that are found.
    #[schemars(range(min = 1e-2, max = 1e5), extend("x-unit" = "m", "x-slider" = [5.0, 500.0]))]
    pub distance_m: f64,
    /// Smallest curvature that is fully inside.
    #[schemars(range(min = -1e3, max = 1e3), extend("x-unit" = "1/m", "x-slider" = [-0.02, 0.02]))]
    pub min_per_m: f64,
    /// Largest curvature that is fully inside.
    #[schemars(range(min = -1e3, max = 1e3), extend("x-unit" = "1/m", "x-slider" = [-0.02, 0.02]))]
    pub max_per_m: f64,
    /// Curvature over which the mask fades from 1 to 0 outside the range.
    #[schemars(range(min = 0.0, max = 1e3), extend("x-unit" = "1/m", "x-slider" = [0.0, 0.01]))]
    pub falloff_per_m: f64,
    /// Marks everything but the range.
    pub invert: bool,
    /// Layer that receives the mask.
    pub to: LayerName,
}

impl Default for Curvature {
    fn default() -> Self {
        Self {
            kind: Kind::Mean,
            distance_m: 60.0,
            min_per_m: 0.003,
            max_per_m: 1e3,
            falloff_per_m: 0.003,
            invert: false,
            to: layer::MASK.name(),
        }
    }
}

impl Op for Curvature {
    const ID: &'static str = "mask.curvature";
    const VERSION: u32 = 1;
    const PREVIEW_RMSE: f64 = 0.08;

    fn layers(&self) -> Layers {
        Layers::none().reading([layer::HEIGHT.name()]).writing([self.to.clone()])
    }

    fn reach(&self, frame: &Frame) -> Reach {
        let [dx, dy] = frame.spacing_m();
        let cells = |spacing: f64| Steps::new(self.distance_m, spacing).whole + 1;
        Reach::Within((cells(dx) as f64 * dx).max(cells(dy) as f64 * dy))
    }

    fn faults(&self) -> Vec<Fault> {
        order_fault(("min_per_m", self.min_per_m), ("max_per_m", self.max_per_m))
    }

    fn run(&self, mut terrain: Terrain, ctx: &Ctx<'_>) -> Result<Terrain, OpError> {
        let mask = mask(terrain.get(layer::HEIGHT)?, terrain.frame().spacing_m(), self, ctx)?;
        terrain.set_named(self.to.clone(), LayerData::F32(mask.into()));
        Ok(terrain)
    }
}

/// The algorithm alone: 8 bytes a cell.
///
/// # Errors
/// When cancelled.
pub fn mask(
    height: &Raster<f32>,
    spacing_m: [f64; 2],
    params: &Curvature,
    ctx: &Ctx<'_>,
) -> Result<Raster<f32>, Cancelled> {
    let band = Band {
        min: params.min_per_m as f32,
        max: params.max_per_m as f32,
        falloff: params.falloff_per_m as f32,
        invert: params.invert,
    };
    let mut mask = curvature(height, spacing_m, params.kind, params.distance_m, ctx)?;
    mask.par_rows(|_, values| values.iter_mut().for_each(|value| *value = band.at(*value)));
    Ok(mask)
}

/// A distance in whole cells and a share of one.
pub(crate) struct Steps {
    pub whole: usize,
    pub share: f32,
}

impl Steps {
    pub fn new(distance_m: f64, spacing: f64) -> Self {
        let cells = distance_m / spacing;
        Self { whole: cells.floor() as usize, share: (cells - cells.floor()) as f32 }
    }
}

/// Curvature per metre, convex positive, from places `distance_m` away; a hole stays a hole.
///
/// # Errors
/// When cancelled.
pub fn curvature(
    height: &Raster<f32>,
    spacing_m: [f64; 2],
    kind: Kind,
    distance_m: f64,
    ctx: &Ctx<'_>,
) -> Result<Raster<f32>, Cancelled> {
    let (cols, rows) = (height.cols(), height.rows());
    let [x, y] = spacing_m.map(|spacing| Steps::new(distance_m, spacing));
    let (d, level) = (distance_m as f32, Level::new());
    let counter = ctx.counter(rows);
    let mut out = Raster::filled(cols, rows, 0.0);
    out.try_par_rows(|row, values| {
        let row = row as isize;
        let here = height.row(row as usize);
        let whole = y.whole as isize;
        let north = between_rows(height, row - whole, row - whole - 1, y.share);
        let south = between_rows(height, row + whole, row + whole + 1, y.share);
        if kind == Kind::Mean {
            // The corners do not count, and this is what most ask for.
            let (w, e) = (west(here, &x), east(here, &x));
            dispatch!(level, _simd => mean(here, [&w, &e, &south, &north], d, values));
            return counter.done();
        }
        // West and east of the three lines.
        let [nw, w, sw] = [&north[..], here, &south[..]].map(|line| west(line, &x));
        let [ne, e, se] = [&north[..], here, &south[..]].map(|line| east(line, &x));
        for i in 0..cols {
            let z = here[i];
            let (w, e) = opposite(z, w[i], e[i]);
            let (s, n) = opposite(z, south[i], north[i]);
            let (nw, se) = opposite(z, nw[i], se[i]);
            let (ne, sw) = opposite(z, ne[i], sw[i]);
            let (p, q) = ((e - w) / (2.0 * d), (n - s) / (2.0 * d));
            let (r, t) = ((e - 2.0 * z + w) / (d * d), (n - 2.0 * z + s) / (d * d));
            let twist = (ne - nw - se + sw) / (4.0 * d * d);
            let (pp, qq, pq) = (p * p, q * q, 2.0 * p * q * twist);
            let steep = pp + qq;
            let safe = steep.max(1e-12);
            let flat = steep < 1e-12;
            values[i] = match kind {
                _ if flat => 0.0,
                Kind::Mean => -0.5 * (r + t),
                Kind::Profile => {
                    let one = 1.0 + steep;
                    -(pp * r + pq + qq * t) / (safe * one * one.sqrt())
                }
                Kind::Plan => -(qq * r - pq + pp * t) / (safe * safe.sqrt()),
            };
            values[i] = if z.is_nan() { z } else { values[i] };
        }
        counter.done()
    })?;
    Ok(out)
}

/// Mean curvature along a row, from the lines west, east, south and north of it.
#[inline(always)]
fn mean(here: &[f32], around: [&[f32]; 4], d: f32, values: &mut [f32]) {
    let count = values.len();
    let here = &here[..count];
    let [west, east, south, north] = around.map(|line| &line[..count]);
    for i in 0..count {
        let z = here[i];
        let (w, e) = opposite(z, west[i], east[i]);
        let (s, n) = opposite(z, south[i], north[i]);
        let (r, t) = ((e - 2.0 * z + w) / (d * d), (n - 2.0 * z + s) / (d * d));
        values[i] = if z.is_nan() { z } else { -0.5 * (r + t) };
    }
}

/// Two opposite values, a missing one mirrored through the middle.
#[inline(always)]
pub(crate) fn opposite(z: f32, a: f32, b: f32) -> (f32, f32) {
    let (no_a, no_b) = (a.is_nan(), b.is_nan());
    let a_or = if no_a { if no_b { z } else { 2.0 * z - b } } else { a };
    let b_or = if no_b { if no_a { z } else { 2.0 * z - a } } else { b };
    (a_or, b_or)
}

/// A line a share of the way from one row to another; missing beyond the grid.
pub(crate) fn between_rows(height: &Raster<f32>, near: isize, far: isize, share: f32) -> Vec<f32> {
    let line =
        |row: isize| usize::try_from(row).ok().filter(|row| *row < height.rows()).map(|row| height.row(row));
    match (line(near), line(far)) {
        (Some(a), Some(b)) => a.iter().zip(b).map(|(a, b)| mix(*a, *b, share)).collect(),
        (Some(a), None) if share == 0.0 => a.to_vec(),
        _ => vec![f32::NAN; height.cols()],
    }
}

/// The values to the west of each sample of a line; missing beyond its end.
pub(crate) fn west(line: &[f32], steps: &Steps) -> Vec<f32> {
    let mut out = vec![f32::NAN; line.len()];
    let far = steps.whole + 1;
    for (out, pair) in out.iter_mut().skip(far).zip(line.windows(2)) {
        *out = mix(pair[1], pair[0], steps.share);
    }
    if steps.share == 0.0 && steps.whole < line.len() {
        out[steps.whole] = line[0];
    }
    out
}

/// The values to the east of each sample of a line; missing beyond its end.
pub(crate) fn east(line: &[f32], steps: &Steps) -> Vec<f32> {
    let mut out = vec![f32::NAN; line.len()];
    for (out, pair) in out.iter_mut().zip(line.windows(2).skip(steps.whole)) {
        *out = mix(pair[0], pair[1], steps.share);
    }
    if steps.share == 0.0 && steps.whole < line.len() {
        out[line.len() - 1 - steps.whole] = line[line.len() - 1];
    }
    out
}

/// Between two values; a hole further out does not matter where nothing of it is taken.
#[inline]
fn mix(near: f32, far: f32, share: f32) -> f32 {
    if share == 0.0 { near } else { near + (far - near) * share }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_support::assert_windows;
    use orogen_core::testkit::assert_close;

    const KINDS: [Kind; 3] = [Kind::Mean, Kind::Profile, Kind::Plan];
    const SPACING_M: [f64; 2] = [10.0, 8.0];

    fn measure(height: &Raster<f32>, kind: Kind, distance_m: f64) -> Raster<f32> {
        curvature(height, SPACING_M, kind, distance_m, &Ctx::silent()).unwrap()
    }

    /// Heights of a function of metres from the middle of a 41 × 41 grid.
    fn ground(f: impl Fn(f64, f64) -> f64 + Sync) -> Raster<f32> {
        Raster::from_fn(41, 41, |c, r| f((c as f64 - 20.0) * 10.0, (20.0 - r as f64) * 8.0) as f32)
    }

    #[test]
    fn a_plane_is_not_curved() {
        let plane = ground(|x, y| 0.3 * x - 0.7 * y);
        for kind in KINDS {
            for distance_m in [10.0, 25.0] {
                let worst =
                    measure(&plane, kind, distance_m).as_slice().iter().fold(0.0f32, |m, v| m.max(v.abs()));
                assert!(worst < 1e-5, "{kind:?} at {distance_m}: {worst}");
            }
        }
    }

    #[test]
    fn a_bowl_of_radius_r_has_curvature_one_over_r() {
        let bowl = ground(|x, y| (x * x + y * y) / 400.0);
        let mean = measure(&bowl, Kind::Mean, 40.0);
        for (col, row) in [(20, 20), (10, 30), (30, 12)] {
            assert_close!(mean.row(row)[col], -1.0 / 200.0, rel = 1e-3);
        }
    }

    #[test]
    fn a_cone_is_curved_across_its_slope_and_straight_down_it() {
        let cone = ground(|x, y| -0.5 * (x * x + y * y).sqrt());
        // 100 m east of the tip contours bend with a radius of 100 m.
        assert_close!(measure(&cone, Kind::Plan, 40.0).row(20)[30], 0.01, rel = 0.05);
        assert_close!(measure(&cone, Kind::Profile, 40.0).row(20)[30], 0.0, abs = 1e-4);
    }

    #[test]
    fn ridges_are_marked_and_valleys_are_not() {
        let waves = ground(|x, _| 20.0 * orogen_core::math::cos(x / 50.0));
        let params =
            Curvature { distance_m: 20.0, min_per_m: 0.002, falloff_per_m: 0.0, ..Curvature::default() };
        let mask = mask(&waves, SPACING_M, &params, &Ctx::silent()).unwrap();
        assert_eq!((mask.row(20)[20], mask.row(20)[4]), (1.0, 0.0));
    }

    #[test]
    fn windows_equal_the_whole() {
        for kind in KINDS {
            for distance_m in [3.0, 60.0, 100.0] {
                assert_windows(&Curvature { kind, distance_m, ..Curvature::default() });
            }
        }
    }
}
