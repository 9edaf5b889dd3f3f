//! What becomes of ground that water carries into the sea: it drifts, settles, and builds land where it fills the sea.

use orogen_core::Raster;
use rayon::prelude::*;

/// How high above the sea floods build the plain of a delta, in metres.
pub(super) const PLAIN_M: f32 = 0.5;
/// Each round spreads what floats in so many strokes: the more, the rounder fans are.
const STROKES: usize = 4;
/// Rounds after which what still floats is carried off.
const ROUNDS: usize = 100;
/// How much stronger each round spreads than the one before, so that what comes in behind a wide delta gets past it.
const STRONGER: f64 = 1.1;
/// Share of all that may be left afloat.
const AFLOAT: f64 = 1e-4;

/// Depths laid down of what floats over each sample of a sea.
///
/// `room`: how deep each sample may be buried; NaN on land, which nothing crosses. `drift`: columns and rows that ground
/// travels on average before it settles. What finds no room goes on from there, so that a delta grows out into the sea.
///
/// A stroke is a step of diffusion, solved along rows and then along columns: it keeps the sum, whatever its length.
pub(super) fn lay(mut floats: Raster<f64>, room: &Raster<f32>, drift: [f64; 2]) -> Raster<f32> {
    let (cols, rows) = (room.cols(), room.rows());
    let mut laid = Raster::filled(cols, rows, 0.0f32);
    let total = sum(&floats);
    if total <= 0.0 {
        return laid;
    }
    let sea = room.map(|room| !room.is_nan());
    let turned = sea.transposed();
    // The mean distance from the middle of a round bell is √(π/2) times its width along an axis.
    let mut strength = drift.map(|cells| cells * cells / std::f64::consts::PI / STROKES as f64);
    let mut sideways = Raster::filled(rows, cols, 0.0f64);
    let mut last = total;
    for _ in 0..ROUNDS {
        for _ in 0..STROKES {
            spread(&mut floats, &sea, strength[0]);
            floats.transpose_into(&mut sideways);
            spread(&mut sideways, &turned, strength[1]);
            sideways.transpose_into(&mut floats);
        }
        let lines = floats.as_mut_slice().par_chunks_mut(cols);
        lines.zip(laid.as_mut_slice().par_chunks_mut(cols)).enumerate().for_each(|(row, (floats, laid))| {
            for ((floats, laid), &room) in floats.iter_mut().zip(laid).zip(room.row(row)) {
                // On land nothing floats; a comparison with its room is false.
                let left = f64::from(room) - f64::from(*laid);
                let settles = if *floats < left { *floats } else { left.max(0.0) };
                if settles > 0.0 {
                    let before = *laid;
                    *laid += settles as f32;
                    // What rounding adds or takes stays afloat.
                    *floats -= f64::from(*laid) - f64::from(before);
                }
            }
        });
        let afloat = sum(&floats);
        if afloat < AFLOAT * total || afloat > last * (1.0 - 1e-6) {
            break;
        }
        last = afloat;
        strength = strength.map(|strength| strength * STRONGER);
    }
    laid
}

/// One implicit step of diffusion along every row, `strength` in cells²; stretches of sea are closed at both ends.
fn spread(values: &mut Raster<f64>, sea: &Raster<bool>, strength: f64) {
    if strength <= 0.0 {
        return;
    }
    let cols = values.cols();
    values.as_mut_slice().par_chunks_mut(cols).enumerate().for_each_init(
        || vec![0.0; cols],
        |above, (row, line)| {
            let sea = sea.row(row);
            let mut start = 0;
            while start < cols {
                let end = start + sea[start..].iter().take_while(|sea| **sea).count();
                if end > start + 1 && line[start..end].iter().any(|v| *v != 0.0) {
                    solve(&mut line[start..end], above, strength);
                }
                start = end + 1;
            }
        },
    );
}

/// Solves `(1 + a·degree) u(i) − a u(i−1) − a u(i+1) = f(i)` in place, by elimination from one end to the other.
fn solve(line: &mut [f64], above: &mut [f64], a: f64) {
    let last = line.len() - 1;
    let mut before = (0.0, 0.0);
    for (i, (value, above)) in line.iter_mut().zip(above.iter_mut()).enumerate() {
        let degree = if i == 0 || i == last { 1.0 } else { 2.0 };
        let pivot = 1.0 / (1.0 + a * degree - a * before.0);
        *above = a * pivot;
        *value = (*value + a * before.1) * pivot;
        before = (*above, *value);
    }
    for i in (0..last).rev() {
        line[i] += above[i] * line[i + 1];
    }
}

/// Row by row in a fixed order.
fn sum(values: &Raster<f64>) -> f64 {
    let rows: Vec<f64> =
        values.as_slice().par_chunks(values.cols()).map(|row| row.iter().sum::<f64>()).collect();
    rows.iter().sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use orogen_core::{math, testkit::assert_close};

    fn one_mouth(n: usize, volume: f64) -> Raster<f64> {
        let mut floats = Raster::filled(n, n, 0.0);
        floats.as_mut_slice()[n / 2 * n + n / 2] = volume;
        floats
    }

    #[test]
    fn in_deep_water_a_round_fan_is_laid_down_as_far_out_as_asked() {
        let n = 161;
        for drift in [6.0, 12.0] {
            let laid = lay(one_mouth(n, 500.0), &Raster::filled(n, n, 1e3), [drift, drift]);
            assert_close!(laid.sum_f64(), 500.0, rel = 1e-3);
            let far = |c: usize, r: usize| math::hypot(c as f64 - 80.0, r as f64 - 80.0);
            let moment: f64 =
                (0..n * n).map(|i| far(i % n, i / n) * f64::from(laid.as_slice()[i])).sum::<f64>() / 500.0;
            assert_close!(moment, drift, rel = 0.05);
            // As deep along the diagonal as along the axes.
            let d = drift.round();
            let diagonal = 80.0 + d * std::f64::consts::FRAC_1_SQRT_2;
            assert_close!(laid.bilinear(80.0 + d, 80.0), laid.bilinear(diagonal, diagonal), rel = 0.1);
        }
    }

    #[test]
    fn what_finds_no_room_goes_on_and_nothing_crosses_land() {
        let n = 81;
        // A shallow shelf, and a sea beyond a spit of land.
        let room = Raster::from_fn(n, n, |col, _| if col == 60 { f32::NAN } else { 0.5 });
        let laid = lay(one_mouth(n, 900.0), &room, [4.0, 4.0]);
        assert_close!(laid.sum_f64(), 900.0, rel = 1e-3);
        assert!(laid.as_slice().iter().all(|&depth| depth <= 0.5));
        assert!(laid.as_slice().iter().filter(|&&depth| depth == 0.5).count() > 800);
        assert!((0..n).all(|row| laid.row(row)[60..].iter().all(|&depth| depth == 0.0)));
        // Without drift only what finds room where it is stays.
        assert_eq!(lay(one_mouth(n, 900.0), &room, [0.0, 0.0]).sum_f64(), 0.5);
    }
}
