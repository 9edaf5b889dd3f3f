//! What happens on slopes: ground creeps, and gives way where it is too steep.

use orogen_core::Raster;
use rayon::prelude::*;

/// Creep: diffusion of the height by `metres2 = D dt`. Sea and holes take no part; nothing crosses the edge of the map.
///
/// Explicit, in `s` stages whose stable step grows with s² (Meyer, Balsara & Aslam 2014, RKL1), so that a fine
/// grid does not need hundreds of steps. 12 bytes a cell and stage.
pub fn creep(height: &mut Raster<f32>, spacing_m: [f64; 2], metres2: f64, sea_m: f32) {
    let [wx, wy] = spacing_m.map(|d| 1.0 / (d * d));
    let stable = 1.0 / (2.0 * (wx + wy));
    if metres2 <= 0.0 {
        return;
    }
    // (s² + s) / 2 steps in one; an odd number of stages damps the shortest waves.
    let mut stages = 1;
    while stable * f64::from(stages * stages + stages) / 2.0 < metres2 {
        stages += 2;
    }
    let weight = 2.0 / f64::from(stages * stages + stages);
    let weights = [wx, wy].map(|w| (w * metres2 * weight) as f32);
    let start = height.clone();
    let mut older = height.clone();
    stage(height, &start, &start, &start, [1.0, 0.0, 1.0], weights, sea_m);
    let mut next = if stages > 1 { height.clone() } else { Raster::filled(1, 1, 0.0) };
    for j in 2..=stages {
        let mu = (f64::from(2 * j - 1) / f64::from(j)) as f32;
        let nu = (f64::from(1 - j) / f64::from(j)) as f32;
        stage(&mut next, height, &older, &start, [mu, nu, mu], weights, sea_m);
        std::mem::swap(height, &mut next);
        std::mem::swap(&mut older, &mut next);
    }
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
    let to = |here: f32, there: f32| if there.is_nan() { 0.0 } else { there - here };
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

/// Steps of a chessboard king and knight, half of them: those to rows above, and to the west.
const BACK: [(i32, i32); 8] = [(-1, 0), (-1, -1), (0, -1), (1, -1), (-2, -1), (-1, -2), (1, -2), (2, -1)];

/// Takes away what stands steeper than its own `grade` (rise over distance) above anything near, and props up what lies
/// steeper than `prop` below ground that is pinned.
///
/// Afterwards `h(p) ≤ h(q) + grade(p) |p − q|` for the sixteen directions of king and knight, so the steepest slope is the
/// same in all directions within 3 %. Two sweeps over the raster, as for a distance map.
pub fn give_way(
    height: &mut Raster<f32>,
    spacing_m: [f64; 2],
    grade: &Raster<f32>,
    prop: f64,
    sea_m: f32,
    pins: Option<&Raster<f32>>,
) {
    sweep(
        height,
        spacing_m,
        |cell| grade.as_slice()[cell],
        |here, there| if here > there { there } else { here },
        |cell, here| here <= sea_m || pins.is_some_and(|pins| !pins.as_slice()[cell].is_nan()),
    );
    if let Some(pins) = pins {
        // Cones under what is pinned, then the higher of cone and land.
        let mut cones = pins.map(|pin| if pin.is_nan() { f32::NEG_INFINITY } else { pin });
        sweep(
            &mut cones,
            spacing_m,
            |_| -prop as f32,
            |here, there| if here < there { there } else { here },
            |_, _| false,
        );
        let land = height.as_mut_slice().par_iter_mut().with_min_len(1 << 14);
        land.zip(cones.as_slice()).for_each(|(h, &cone)| {
            if *h < cone {
                *h = cone;
            }
        });
    }
}

/// Two sweeps of `h = pick(h, neighbour + grade · distance)`; cells for which `fixed` holds keep their height.
fn sweep(
    height: &mut Raster<f32>,
    [dx, dy]: [f64; 2],
    grade: impl Fn(usize) -> f32,
    pick: impl Fn(f32, f32) -> f32,
    fixed: impl Fn(usize, f32) -> bool,
) {
    let (cols, rows) = (height.cols() as isize, height.rows() as isize);
    let distances = BACK.map(|(dc, dr)| {
        let (x, y) = (f64::from(dc) * dx, f64::from(dr) * dy);
        (x * x + y * y).sqrt() as f32
    });
    let height = height.as_mut_slice();
    for sign in [1isize, -1] {
        for r in 0..rows {
            let row = if sign == 1 { r } else { rows - 1 - r };
            for c in 0..cols {
                let col = if sign == 1 { c } else { cols - 1 - c };
                let cell = (row * cols + col) as usize;
                let mut here = height[cell];
                if fixed(cell, here) {
                    continue;
                }
                let grade = grade(cell);
                for (k, &(dc, dr)) in BACK.iter().enumerate() {
                    let (c, r) = (col + sign * dc as isize, row + sign * dr as isize);
                    if c >= 0 && r >= 0 && c < cols && r < rows {
                        // A hole fails every comparison.
                        here = pick(here, height[(r * cols + c) as usize] + grade * distances[k]);
                    }
                }
                height[cell] = here;
            }
        }
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
            creep(&mut height, [10.0, 10.0], metres2, f32::NEG_INFINITY);
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
        give_way(&mut height, [10.0, 10.0], &Raster::filled(n, n, 0.8), 0.8, f32::NEG_INFINITY, None);
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
        give_way(&mut height, [10.0, 10.0], &grade, 0.5, f32::NEG_INFINITY, Some(&pins));
        assert_eq!(height.row(30)[30], 100.0);
        assert_close!(height.row(30)[35], 75.0, abs = 1e-3);
        assert_eq!(height.row(30)[55], 0.0);
    }
}
