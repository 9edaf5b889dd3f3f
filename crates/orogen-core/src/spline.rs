//! Cubic splines through the samples of a raster: smooth to the second derivative, so that no lattice shows in the light.

use rayon::prelude::*;

use crate::raster::{Raster, b_spline};

/// The natural cubic spline through all samples of a raster, as coefficients with one more row and column at each edge.
///
/// Exact at the samples; bends nowhere at the edges. Holes are bridged by what lies beside them.
#[derive(Clone, Debug, PartialEq)]
pub struct Spline {
    coefficients: Raster<f32>,
}

impl Spline {
    /// The spline through a raster. 4 bytes a sample.
    #[must_use]
    pub fn through(samples: &Raster<f32>) -> Self {
        let filled = bridged(samples);
        let along_rows = solved(filled.as_ref().unwrap_or(samples));
        let both = solved(&along_rows.transposed()).transposed();
        Self { coefficients: edged(&both) }
    }

    /// Values at all crossings of given columns and rows, in samples from the first.
    #[must_use]
    pub fn grid(&self, cols: &[f64], rows: &[f64]) -> Raster<f32> {
        let inner = |at: &[f64]| -> Vec<f64> { at.iter().map(|at| at + 1.0).collect() };
        self.coefficients.cubic_grid(&inner(cols), &inner(rows), b_spline)
    }

    /// Bytes that it takes.
    #[must_use]
    pub fn size_bytes(&self) -> usize {
        size_of_val(self.coefficients.as_slice())
    }
}

/// Coefficients along each row: `(c[i-1] + 4 c[i] + c[i+1]) / 6 = s[i]`, with the ends as they are.
fn solved(samples: &Raster<f32>) -> Raster<f32> {
    let cols = samples.cols();
    let mut out = samples.clone();
    if cols < 3 {
        return out;
    }
    // Elimination downwards; the factors are the same for all rows and soon stay the same.
    let mut factors = vec![0.0f32; cols];
    for i in 1..cols - 1 {
        factors[i] = 1.0 / (4.0 - factors[i - 1]);
    }
    out.as_mut_slice().par_chunks_mut(cols).with_min_len(16).for_each(|row| {
        let mut last = row[0];
        for i in 1..cols - 1 {
            last = (6.0 * row[i] - last) * factors[i];
            row[i] = last;
        }
        // The first is known, so nothing of it is left in the way back.
        for i in (1..cols - 1).rev() {
            row[i] -= factors[i] * row[i + 1];
        }
    });
    out
}

/// One more row and column at each edge, in line with the two before it.
fn edged(inner: &Raster<f32>) -> Raster<f32> {
    let (cols, rows) = (inner.cols(), inner.rows());
    let line = |at: usize, count: usize| -> [(usize, f32); 2] {
        let next = |from: usize, to: usize| [(from, 2.0), (to.min(count - 1), -1.0)];
        match at {
            0 if count > 1 => next(0, 1),
            _ if at == count + 1 && count > 1 => next(count - 1, count - 2),
            _ => [((at.max(1) - 1).min(count - 1), 1.0), (0, 0.0)],
        }
    };
    Raster::from_fn(cols + 2, rows + 2, |col, row| {
        let mut sum = 0.0;
        for (r, wr) in line(row, rows) {
            for (c, wc) in line(col, cols) {
                let weight = wr * wc;
                if weight != 0.0 {
                    sum += weight * inner.row(r)[c];
                }
            }
        }
        sum
    })
}

/// Holes filled with the mean of what lies beside them, from their rims inwards; 0 where nothing is near. None if there are none.
fn bridged(samples: &Raster<f32>) -> Option<Raster<f32>> {
    /// Further from its rim a hole's filling does not matter: nothing is shown there.
    const ROUNDS: usize = 8;
    if samples.as_slice().par_iter().with_min_len(1 << 14).all(|v| !v.is_nan()) {
        return None;
    }
    let mut filled = samples.clone();
    for _ in 0..ROUNDS {
        let last = filled.clone();
        filled.par_rows(|row, out| {
            for (col, value) in out.iter_mut().enumerate().filter(|(_, value)| value.is_nan()) {
                let (mut sum, mut count) = (0.0, 0.0);
                for (dc, dr) in [(0, -1), (-1, 0), (1, 0), (0, 1)] {
                    let beside = last.clamped(col as isize + dc, row as isize + dr);
                    if !beside.is_nan() {
                        sum += beside;
                        count += 1.0;
                    }
                }
                if count > 0.0 {
                    *value = sum / count;
                }
            }
        });
    }
    filled.as_mut_slice().iter_mut().filter(|v| v.is_nan()).for_each(|v| *v = 0.0);
    Some(filled)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math;

    fn places(count: usize, parts: usize) -> Vec<f64> {
        (0..=(count - 1) * parts).map(|i| i as f64 / parts as f64).collect()
    }

    #[test]
    fn it_goes_through_the_samples() {
        for (cols, rows) in [(1, 1), (2, 2), (2, 9), (3, 3), (17, 12)] {
            let raster = Raster::from_fn(cols, rows, |c, r| ((c * 7 + r * r * 3) % 11) as f32);
            let grid = Spline::through(&raster).grid(&places(cols, 1), &places(rows, 1));
            for (a, b) in grid.as_slice().iter().zip(raster.as_slice()) {
                assert!((a - b).abs() < 2e-5, "{cols} x {rows}: {a} for {b}");
            }
        }
    }

    #[test]
    fn a_plane_stays_plane() {
        let plane = Raster::from_fn(9, 7, |c, r| 2.0 * c as f32 - 3.0 * r as f32);
        let grid = Spline::through(&plane).grid(&places(9, 4), &places(7, 4));
        for row in 0..grid.rows() {
            for col in 0..grid.cols() {
                let expected = 0.5 * col as f32 - 0.75 * row as f32;
                assert!((grid.row(row)[col] - expected).abs() < 1e-4);
            }
        }
    }

    #[test]
    fn no_lattice_shows_in_the_second_difference() {
        let wave = |x: f64| (10.0 * math::sin(x * 0.7)) as f32;
        let raster = Raster::from_fn(33, 9, |c, _| wave(c as f64));
        let grid = Spline::through(&raster).grid(&places(33, 16), &[4.0]);
        let row = grid.row(0);
        // Second differences change from place to place by what the wave's own do, on the samples and between them.
        let second = |i: usize| f64::from(row[i - 1]) - 2.0 * f64::from(row[i]) + f64::from(row[i + 1]);
        for i in 64..32 * 16 - 64 {
            assert!((second(i + 1) - second(i)).abs() < 2.5e-3, "{i}: {}", second(i + 1) - second(i));
        }
    }

    #[test]
    fn a_hole_is_bridged() {
        let mut raster = Raster::filled(9, 9, 5.0);
        raster.as_mut_slice()[40] = f32::NAN;
        let grid = Spline::through(&raster).grid(&places(9, 2), &places(9, 2));
        assert!(grid.as_slice().iter().all(|v| (v - 5.0).abs() < 1e-5));
    }
}
