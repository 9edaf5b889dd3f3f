//! Beaches: sand of the cliffs, where the waves are weak.

use orogen_core::{Raster, math};
use rayon::prelude::*;

use super::front::Front;
use super::waves::FULL;
use super::{CALM, Coast, UNIT};

/// The farthest that a beach grows out to sea, in metres.
const WIDEST_M: f32 = 120.0;
/// Depth below which a beach falls off steeply, and how steeply.
const TOE_M: f32 = 1.0;
const TOE_GRADE: f32 = 0.4;
/// How far behind the shore sand lies, in metres.
const BEHIND_M: [f32; 2] = [15.0, 45.0];
/// Exposure from which waves begin to take sand away, and from which they leave none: by itself, and as a share of that
/// of the shores around.
const QUIET: [f32; 2] = [0.1, 0.3];
const QUIETER: [f32; 2] = [0.6, 0.95];
/// Shore around a place over which exposure counts, and the water before it that does, in metres.
const AROUND_M: f64 = 60.0;
const SURF_M: f32 = 40.0;
/// Mean depth of cut around at which half of the sand comes that there could be, in metres.
const HALF_CUT_M: f64 = 0.05;

/// A place that may get sand.
struct Place {
    cell: usize,
    /// How much of the widest beach it may have, 0 to 1.
    may: f32,
    inland_m: f32,
    ground_m: f32,
}

/// Depths of sand, in whole units, that take `beach_share` of what was cut, or less where there is no room.
pub(super) fn lay(
    ground: &Raster<f32>,
    cut: &Raster<i32>,
    front: &Front,
    held: Option<&Raster<bool>>,
    spacing_m: [f64; 2],
    params: &Coast,
    total: i64,
) -> Raster<i32> {
    let wanted = (total as f64 * params.beach_share) as i64;
    let mut places = if wanted > 0 { places(ground, cut, front, spacing_m, params) } else { Vec::new() };
    if let Some(held) = held {
        places.retain(|place| !held.as_slice()[place.cell]);
    }
    let slope = math::tan(params.beach_deg.to_radians()) as f32;
    let berm = params.berm_m as f32;
    let depth = |place: &Place, widest: f32| {
        let reach = place.may * widest;
        if reach <= 0.0 {
            return 0;
        }
        let out = place.inland_m.min(0.0) + reach;
        let toe = out * slope + TOE_M;
        let rise = if toe < 0.0 { toe / slope * TOE_GRADE - TOE_M } else { out * slope };
        let top = berm * (1.0 - math::smoothstep(BEHIND_M[0], BEHIND_M[1], place.inland_m));
        let surface = if rise < top { rise } else { top };
        // No farther out than twice where it comes up to the sea: a steep shore would swallow all sand in the deep.
        let near = math::smoothstep(-2.0 * reach, -reach, place.inland_m);
        (f64::from((surface - place.ground_m).max(0.0) * near) * UNIT) as i32
    };
    let sum = |widest: f32| places.par_iter().map(|place| i64::from(depth(place, widest))).sum::<i64>();
    let widest = if sum(WIDEST_M) <= wanted {
        WIDEST_M
    } else {
        let (mut low, mut high) = (0.0f32, WIDEST_M);
        for _ in 0..24 {
            let mid = 0.5 * (low + high);
            if sum(mid) <= wanted { low = mid } else { high = mid }
        }
        low
    };
    let mut laid = Raster::filled(ground.cols(), ground.rows(), 0i32);
    for place in &places {
        laid.as_mut_slice()[place.cell] = depth(place, widest);
    }
    laid
}

/// Places near the shore, quiet and not far from where rock was cut.
fn places(
    ground: &Raster<f32>,
    cut: &Raster<i32>,
    front: &Front,
    spacing_m: [f64; 2],
    params: &Coast,
) -> Vec<Place> {
    let reach = |metres: f64| spacing_m.map(|d| (0.5 * metres / d).round() as usize);
    let drift = reach(params.drift_m);
    // How much of the sand that there could be comes; none where nothing was cut nearby.
    let comes = windowed_ratio(
        |c, r| i64::from(cut.row(r)[c]),
        |c, r| i64::from(!ground.row(r)[c].is_nan()),
        [ground.cols(), ground.rows()],
        drift,
        |cut, room| {
            let mean = cut as f64 / room.max(1) as f64 / UNIT;
            (mean / (mean + HALF_CUT_M)) as f32
        },
    );
    let is_surf = |c: usize, r: usize| (-SURF_M..=0.0).contains(&front.inland_m.row(r)[c]);
    let exposure = |reach: [usize; 2]| {
        windowed_ratio(
            |c, r| if is_surf(c, r) { i64::from(front.exposure.row(r)[c]) } else { 0 },
            |c, r| i64::from(is_surf(c, r)),
            [ground.cols(), ground.rows()],
            reach,
            |sum, count| if count == 0 { f32::NAN } else { (sum as f64 / count as f64) as f32 / FULL },
        )
    };
    let (near, far) = (exposure(reach(AROUND_M)), exposure(drift));
    let place = |cell: usize| {
        let (inland_m, ground_m) = (front.inland_m.as_slice()[cell], ground.as_slice()[cell]);
        let (comes, exposure) = (comes.as_slice()[cell], near.as_slice()[cell]);
        if comes == 0.0
            || exposure.is_nan()
            || ground_m.is_nan()
            || !(-2.0 * WIDEST_M..BEHIND_M[1]).contains(&inland_m)
        {
            return None;
        }
        // Where waves do not come, no sand comes either.
        let carried = math::smoothstep(CALM, 2.0 * CALM, exposure);
        let quiet = 1.0 - math::smoothstep(QUIET[0], QUIET[1], exposure);
        let quieter =
            1.0 - math::smoothstep(QUIETER[0], QUIETER[1], exposure / far.as_slice()[cell].max(1e-6));
        let may = comes * carried * quiet.max(quieter);
        (may > 0.02).then_some(Place { cell, may, inland_m, ground_m })
    };
    (0..ground.as_slice().len()).into_par_iter().filter_map(place).collect()
}

/// What two sums over the surroundings of every cell give together.
fn windowed_ratio(
    of: impl Fn(usize, usize) -> i64 + Sync,
    per: impl Fn(usize, usize) -> i64 + Sync,
    [cols, rows]: [usize; 2],
    reach: [usize; 2],
    mean: impl Fn(i64, i64) -> f32 + Sync,
) -> Raster<f32> {
    let of = twice(Raster::from_fn(cols, rows, of), reach);
    let per = twice(Raster::from_fn(cols, rows, per), reach);
    Raster::from_fn(cols, rows, |c, r| mean(of.row(r)[c], per.row(r)[c]))
}

/// The sum over a window, twice over, so that it is a bell: whole numbers, so that neither order nor axis matter.
fn twice(values: Raster<i64>, [x, y]: [usize; 2]) -> Raster<i64> {
    along_rows_and_turned(along_rows_and_turned(values, x), y)
}

fn along_rows_and_turned(mut values: Raster<i64>, radius: usize) -> Raster<i64> {
    let cols = values.cols();
    values.as_mut_slice().par_chunks_mut(cols).for_each_init(
        || vec![0; cols],
        |once, row| {
            window(row, radius, once);
            window(once, radius, row);
        },
    );
    values.transposed()
}

fn window(values: &[i64], radius: usize, out: &mut [i64]) {
    let mut sum: i64 = values.iter().take(radius).sum();
    for (i, out) in out.iter_mut().enumerate() {
        sum += values.get(i + radius).unwrap_or(&0);
        *out = sum;
        sum -= i.checked_sub(radius).map_or(0, |first| values[first]);
    }
}
