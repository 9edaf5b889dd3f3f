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
/// Afterwards `h(p) ≤ h(q) + times · grade(p) |p − q|` for the sixteen steps of a chessboard's king and knight, so the steepest slope is the
/// same in all directions within 3 %. Two sweeps over the raster, as for a distance map. Beside the sea slopes lean on its surface.
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

/// One sweep down and one up of `h = min(h, neighbour + grade · distance)`; cells for which `kept` holds keep their height, and
/// neighbours below `floor_m` count as that high.
///
/// Of the sixteen steps all but one lead to rows swept before, which takes vector code; along the row it is one cell after the other.
fn sweep<'g>(
    height: &mut Raster<f32>,
    [dx, dy]: [f64; 2],
    (grades, times): (impl Fn(usize) -> &'g [f32], f32),
    floor_m: f32,
    kept: impl Fn(usize, usize, f32) -> bool,
) {
    let (cols, rows) = (height.cols(), height.rows());
    let long = |c: f64, r: f64| times * (c * c * dx * dx + r * r * dy * dy).sqrt() as f32;
    let reach =
        Reach { beside: long(1.0, 0.0), near: [0.0, 1.0, 2.0].map(|c| long(c, 1.0)), far: long(1.0, 2.0) };
    let level = Level::new();
    let beyond = vec![f32::INFINITY; cols + 4];
    // The last two rows as they came out, with two cells beyond either end.
    let (mut near, mut far, mut out) = (beyond.clone(), beyond.clone(), vec![0.0; cols]);
    for up in [false, true] {
        near.copy_from_slice(&beyond);
        far.copy_from_slice(&beyond);
        for r in 0..rows {
            let row = if up { rows - 1 - r } else { r };
            let (grades, here) = (grades(row), &mut height.as_mut_slice()[row * cols..(row + 1) * cols]);
            dispatch!(level, _simd => lower(here, &near, &far, grades, &reach, &mut out));
            let mut last = f32::INFINITY;
            for c in 0..cols {
                let col = if up { cols - 1 - c } else { c };
                if !kept(row, col, here[col]) {
                    // A hole fails every comparison.
                    let over = last + grades[col] * reach.beside;
                    here[col] = if out[col] > over { over } else { out[col] };
                }
                last = raised(here[col], floor_m);
            }
            std::mem::swap(&mut near, &mut far);
            near[2..cols + 2].iter_mut().zip(&*here).for_each(|(near, &h)| *near = raised(h, floor_m));
        }
    }
}

/// A height, no less than a floor; a hole stays one.
#[inline(always)]
fn raised(height: f32, floor_m: f32) -> f32 {
    if height < floor_m { floor_m } else { height }
}

/// Lengths of steps: along the row, to the next row by so many columns, and a knight's to the row after that.
struct Reach {
    beside: f32,
    near: [f32; 3],
    far: f32,
}

/// Lowers a row to what the two rows before it bear.
#[inline(always)]
fn lower(here: &[f32], near: &[f32], far: &[f32], grades: &[f32], reach: &Reach, out: &mut [f32]) {
    let cols = out.len();
    let (here, grades, near, far) = (&here[..cols], &grades[..cols], &near[..cols + 4], &far[..cols + 4]);
    for i in 0..cols {
        let grade = grades[i];
        let mut low = here[i];
        for (there, long) in [
            (near[i], reach.near[2]),
            (near[i + 1], reach.near[1]),
            (near[i + 2], reach.near[0]),
            (near[i + 3], reach.near[1]),
            (near[i + 4], reach.near[2]),
            (far[i + 1], reach.far),
            (far[i + 3], reach.far),
        ] {
            let over = there + grade * long;
            low = if low > over { over } else { low };
        }
        out[i] = low;
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
