//! What happens on slopes: ground creeps, and gives way where it is too steep.

use orogen_core::{Cancelled, Ctx, Raster};
use rayon::prelude::*;

use crate::simd::{Level, dispatch};

/// Creep: diffusion of the height by `metres2 = D dt`. Holes take no part, and the sea counts as level with its surface; nothing
/// crosses the edge of the map.
///
/// Explicit, in `s` stages whose stable step grows with s² (Meyer, Balsara & Aslam 2014, RKL1), so that a fine
/// grid does not need hundreds of steps. 12 bytes a cell and stage.
///
/// # Errors
/// When cancelled.
pub fn creep(
    height: &mut Raster<f32>,
    spacing_m: [f64; 2],
    metres2: f64,
    sea_m: f32,
    ctx: &Ctx<'_>,
) -> Result<(), Cancelled> {
    let [wx, wy] = spacing_m.map(|d| 1.0 / (d * d));
    if metres2 <= 0.0 {
        return Ok(());
    }
    let stages = stages(spacing_m, metres2);
    let weight = 2.0 / (stages * stages + stages);
    let weights = [wx, wy].map(|w| (w * metres2 * weight) as f32);
    let start = height.clone();
    let mut older = height.clone();
    stage(height, &start, &start, &start, [1.0, 0.0, 1.0], weights, sea_m);
    let mut next = if stages > 1.0 { height.clone() } else { Raster::filled(1, 1, 0.0) };
    for j in 2..=stages as u64 {
        ctx.stop_if_asked()?;
        let j = j as f64;
        let mu = ((2.0 * j - 1.0) / j) as f32;
        let nu = ((1.0 - j) / j) as f32;
        stage(&mut next, height, &older, &start, [mu, nu, mu], weights, sea_m);
        std::mem::swap(height, &mut next);
        std::mem::swap(&mut older, &mut next);
    }
    Ok(())
}

/// Stages that creep by `metres2` takes: (s² + s) / 2 stable steps in one; an odd number damps the shortest waves.
pub fn stages(spacing_m: [f64; 2], metres2: f64) -> f64 {
    let [wx, wy] = spacing_m.map(|d| 1.0 / (d * d));
    let stable = 1.0 / (2.0 * (wx + wy));
    let enough = |stages: f64| stable * (stages * stages + stages) / 2.0 >= metres2;
    let about = ((2.0 * metres2 / stable).max(0.0).sqrt() / 2.0).floor() * 2.0 + 1.0;
    let least = [about - 2.0, about].into_iter().find(|&stages| stages >= 1.0 && enough(stages));
    least.unwrap_or(about + 2.0)
}

/// `out = mu · last + nu · older + c · w · L(last)`; cells that were sea or holes at the start stay.
fn stage(
    out: &mut Raster<f32>,
    last: &Raster<f32>,
    older: &Raster<f32>,
    start: &Raster<f32>,
    [mu, nu, c]: [f32; 3],
    [wx, wy]: [f32; 2],
    sea_m: f32,
) {
    let (cols, rows) = (last.cols(), last.rows());
    // A neighbour that is a hole or beyond the map counts as level.
    let to = |here: f32, there: f32| if there.is_nan() { 0.0 } else { there.max(sea_m) - here };
    out.par_rows(|row, out| {
        let here = last.row(row);
        let north = last.row(row.saturating_sub(1));
        let south = last.row((row + 1).min(rows - 1));
        for col in 0..cols {
            let at = here[col];
            let first = start.row(row)[col];
            if first <= sea_m || first.is_nan() {
                out[col] = first;
                continue;
            }
            let x = to(at, here[col.saturating_sub(1)]) + to(at, here[(col + 1).min(cols - 1)]);
            let y = to(at, north[col]) + to(at, south[col]);
            out[col] = mu * at + nu * older.row(row)[col] + c * (wx * x + wy * y);
        }
    });
}

/// Takes away what stands steeper than so many times its own `grade` (rise over distance) above anything near, and props up what lies
/// steeper than `prop` below ground that is pinned.
///
/// Afterwards `h(p) ≤ h(q) + times · grade(p) |p − q|` for every `q` on the ring through the eight samples around `p`, with heights
/// between two of them on the straight line: the slope is limited alike in all directions, and what gave way is round where a limit
/// along single neighbours would leave facets. Four sweeps over the raster, each row forth and back, as for a travel time. Beside
/// the sea slopes lean on its surface.
pub fn give_way(
    height: &mut Raster<f32>,
    spacing_m: [f64; 2],
    (grade, times): (&Raster<f32>, f32),
    prop: f64,
    sea_m: f32,
    pins: Option<&Raster<f32>>,
) {
    sweep(height, spacing_m, (|row| grade.row(row), times), sea_m, |row, col, here| {
        here <= sea_m || pins.is_some_and(|pins| !pins.row(row)[col].is_nan())
    });
    if let Some(pins) = pins {
        // Cones under what is pinned, upside down; then the higher of cone and land.
        let mut cones = pins.map(|pin| if pin.is_nan() { f32::INFINITY } else { -pin });
        let props = vec![prop as f32; cones.cols()];
        sweep(&mut cones, spacing_m, (|_| &props[..], 1.0), f32::NEG_INFINITY, |_, _, _| false);
        let land = height.as_mut_slice().par_iter_mut().with_min_len(1 << 14);
        land.zip(cones.as_slice()).for_each(|(h, &cone)| {
            if *h < -cone {
                *h = -cone;
            }
        });
    }
}

/// Two sweeps down and two up of `h = min(h, ring + grade · distance)`; cells for which `kept` holds keep their height, and what
/// lies below `floor_m` counts as that high.
///
/// What leads to the row swept before takes vector code; along the row it is one cell after the other, forth and back.
fn sweep<'g>(
    height: &mut Raster<f32>,
    [dx, dy]: [f64; 2],
    (grades, times): (impl Fn(usize) -> &'g [f32], f32),
    floor_m: f32,
    kept: impl Fn(usize, usize, f32) -> bool,
) {
    let (cols, rows) = (height.cols(), height.rows());
    let (dx, dy) = (times * dx as f32, times * dy as f32);
    let reach = Reach { beside: dx, near: dy, slant: (dx * dx + dy * dy).sqrt() };
    let level = Level::new();
    // The last row as it came out, with a cell beyond either end.
    let (mut near, mut out) = (vec![f32::INFINITY; cols + 2], vec![0.0; cols]);
    // Where slopes from two sides meet, a second round settles what the order of the first left open.
    for up in [false, true, false, true] {
        near.fill(f32::INFINITY);
        for r in 0..rows {
            let row = if up { rows - 1 - r } else { r };
            let (grades, here) = (grades(row), &mut height.as_mut_slice()[row * cols..(row + 1) * cols]);
            dispatch!(level, _simd => reach.lower(here, &near, grades, &mut out));
            let mut last = f32::INFINITY;
            for col in 0..cols {
                if !kept(row, col, here[col]) {
                    here[col] = reach.along([out[col], last, near[col]], grades[col]);
                }
                last = raised(here[col], floor_m);
            }
            last = f32::INFINITY;
            for col in (0..cols).rev() {
                if !kept(row, col, here[col]) {
                    here[col] = reach.along([here[col], last, near[col + 2]], grades[col]);
                }
                last = raised(here[col], floor_m);
            }
            near[1..=cols].iter_mut().zip(&*here).for_each(|(near, &h)| *near = raised(h, floor_m));
        }
    }
}

/// A height, no less than a floor; a hole stays one.
#[inline(always)]
fn raised(height: f32, floor_m: f32) -> f32 {
    if height < floor_m { floor_m } else { height }
}

/// Lengths of steps: along the row, to the next row, and on the slant.
struct Reach {
    beside: f32,
    near: f32,
    slant: f32,
}

impl Reach {
    /// Lowers a row to what the row before it bears: from its three nearest samples, and from between them.
    #[inline(always)]
    fn lower(&self, here: &[f32], near: &[f32], grades: &[f32], out: &mut [f32]) {
        let cols = out.len();
        let (here, grades, near) = (&here[..cols], &grades[..cols], &near[..cols + 2]);
        let widest = self.beside / self.slant;
        for i in 0..cols {
            let (grade, west, north, east) = (grades[i], near[i], near[i + 1], near[i + 2]);
            // The lowest way crosses the row before between its middle sample and the lower one beside that, where it falls by
            // this share of the limit; a hole fails every comparison.
            let fall = if north - west > north - east { north - west } else { north - east };
            let share = fall / (grade * self.beside);
            let share = if share > 0.0 { share } else { 0.0 };
            let share = if share < widest { share } else { widest };
            let mut low = here[i];
            for over in [
                north + grade * self.near * (1.0 - share * share).sqrt(),
                west + grade * self.slant,
                east + grade * self.slant,
            ] {
                low = if low > over { over } else { low };
            }
            out[i] = low;
        }
    }

    /// Lowers a sample to what the one beside it bears, and the way between that and the one on the slant.
    #[inline(always)]
    fn along(&self, [here, beside, slant]: [f32; 3], grade: f32) -> f32 {
        let nearest = grade * self.beside;
        // No way is shorter, and none starts lower; most ground stands. False for holes too.
        let falls = here > beside + nearest || here > slant + nearest;
        if !falls {
            return here;
        }
        let share = ((beside - slant) / (grade * self.near)).max(0.0).min(self.near / self.slant);
        let over = beside + nearest * (1.0 - share * share).sqrt();
        if here > over { over } else { here }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use orogen_core::testkit::assert_close;

    #[test]
    fn creep_keeps_its_mass_and_flattens_waves_at_the_rate_of_the_heat_equation() {
        let n = 129;
        let wave = |col: usize| orogen_core::math::cos(std::f64::consts::PI * col as f64 / (n - 1) as f64);
        let start = Raster::from_fn(n, n, |col, _| (100.0 * wave(col)) as f32);
        for metres2 in [2.0, 2000.0] {
            let mut height = start.clone();
            creep(&mut height, [10.0, 10.0], metres2, f32::NEG_INFINITY, &Ctx::silent()).unwrap();
            assert_close!(height.sum_f64() / (n * n) as f64, start.sum_f64() / (n * n) as f64, abs = 1e-3);
            // The edges lie half a cell beyond the outer samples.
            let k = std::f64::consts::PI / (10.0 * n as f64);
            let left = orogen_core::math::exp(-k * k * metres2);
            assert_close!(f64::from(height.row(60)[20]) / f64::from(start.row(60)[20]), left, abs = 2e-3);
        }
    }

    #[test]
    fn a_tower_gives_way_to_a_round_cone() {
        let n = 101;
        let mut height = Raster::filled(n, n, 0.0);
        for row in 40..61 {
            for col in 40..61 {
                height.as_mut_slice()[row * n + col] = 500.0;
            }
        }
        give_way(&mut height, [10.0, 10.0], (&Raster::filled(n, n, 0.8), 1.0), 0.8, f32::NEG_INFINITY, None);
        assert_close!(height.row(50)[40], 8.0, abs = 1e-3);
        for row in 1..n - 1 {
            for col in 1..n - 1 {
                let h = |dc: isize, dr: isize| {
                    height.row(row.wrapping_add_signed(dr))[col.wrapping_add_signed(dc)]
                };
                assert!((h(0, 0) - h(1, 0)).abs() <= 8.0 + 1e-3 && (h(0, 0) - h(0, 1)).abs() <= 8.0 + 1e-3);
            }
        }
    }

    /// Steepness along and across the way from the middle, as shares of the limit, at samples between two distances in cells.
    fn around(height: &Raster<f32>, cell_m: f64, limit: f64, between: [f64; 2]) -> Vec<[f64; 2]> {
        let n = height.rows();
        let mut out = Vec::new();
        for row in 1..n - 1 {
            for col in 1..n - 1 {
                let (x, y) = (col as f64 - (n / 2) as f64, row as f64 - (n / 2) as f64);
                let far = orogen_core::math::hypot(x, y);
                if far < between[0] || far > between[1] {
                    continue;
                }
                let gx = f64::from(height.row(row)[col + 1] - height.row(row)[col - 1]) / (2.0 * cell_m);
                let gy = f64::from(height.row(row + 1)[col] - height.row(row - 1)[col]) / (2.0 * cell_m);
                out.push([(gx * x + gy * y) / far / limit, (gy * x - gx * y) / far / limit]);
            }
        }
        out
    }

    #[test]
    fn a_pit_and_a_round_mesa_give_way_to_round_slopes() {
        let n = 121;
        let far = |col: usize, row: usize| orogen_core::math::hypot(col as f64 - 60.0, row as f64 - 60.0);
        let pit = Raster::from_fn(n, n, |c, r| if far(c, r) < 0.5 { 0.0 } else { 5000.0 });
        let mesa = Raster::from_fn(n, n, |c, r| if far(c, r) < 50.0 { 200.0 } else { 0.0 });
        let (grade, limit) = (Raster::filled(n, n, 0.4), 0.8);
        // The foot of the mesa is a staircase of samples; the pit is one sample.
        let cases = [(pit, [8.0, 46.0], [0.1, 0.03]), (mesa, [30.0, 46.0], [0.22, 0.07])];
        for (start, between, [worst, usual]) in cases {
            let mut height = start.clone();
            give_way(&mut height, [10.0, 10.0], (&grade, 2.0), 0.8, f32::NEG_INFINITY, None);
            let slopes = around(&height, 10.0, limit, between);
            let along = slopes.iter().map(|[along, _]| along.abs());
            let (least, most) = along.fold((f64::MAX, 0.0f64), |(a, b), s| (a.min(s), b.max(s)));
            assert!(least > 0.94 && most < 1.03, "{least} to {most} of the limit");
            let across = slopes.iter().map(|[_, across]| across.abs()).fold(0.0, f64::max);
            assert!(across < worst, "{across} across");
            let mean = slopes.iter().map(|[_, across]| across.abs()).sum::<f64>() / slopes.len() as f64;
            assert!(mean < usual, "{mean} across in the mean");
            // Nothing rises, and what stands goes on standing.
            assert!(height.as_slice().iter().zip(start.as_slice()).all(|(now, before)| now <= before));
            let mut again = height.clone();
            give_way(&mut again, [10.0, 10.0], (&grade, 2.0), 0.8, f32::NEG_INFINITY, None);
            assert!(again.as_slice().iter().zip(height.as_slice()).all(|(a, b)| (a - b).abs() < 0.01));
        }
    }

    #[test]
    fn slopes_give_way_alike_under_a_quarter_turn_and_beside_holes() {
        let seed = orogen_core::Seed(3);
        let mut start = Raster::from_fn(40, 40, |c, r| 90.0 * seed.unit2(c as i64, r as i64) as f32);
        start.as_mut_slice()[500] = f32::NAN;
        let mut turned = Raster::from_fn(40, 40, |c, r| start.row(c)[39 - r]);
        let grade = Raster::filled(40, 40, 0.7);
        let mut height = start.clone();
        for height in [&mut height, &mut turned] {
            give_way(height, [10.0, 10.0], (&grade, 1.0), 0.7, f32::NEG_INFINITY, None);
        }
        for row in 0..40 {
            for col in 0..40 {
                let (a, b) = (turned.row(row)[col], height.row(col)[39 - row]);
                // Where slopes from two sides meet, the order of the sweeps decides by millimetres.
                assert!((a - b).abs() < 0.02 || (a.is_nan() && b.is_nan()), "{a} {b} at {col}, {row}");
            }
        }
    }

    #[test]
    fn pinned_ground_stays_and_holds_up_its_slopes() {
        let mut pins = Raster::filled(61, 61, f32::NAN);
        pins.as_mut_slice()[30 * 61 + 30] = 100.0;
        let mut height = Raster::filled(61, 61, 0.0);
        height.as_mut_slice()[30 * 61 + 30] = 100.0;
        let grade = Raster::filled(61, 61, 0.5);
        give_way(&mut height, [10.0, 10.0], (&grade, 1.0), 0.5, f32::NEG_INFINITY, Some(&pins));
        assert_eq!(height.row(30)[30], 100.0);
        assert_close!(height.row(30)[35], 75.0, abs = 1e-3);
        assert_eq!(height.row(30)[55], 0.0);
    }
}
