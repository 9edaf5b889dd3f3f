//! Cubic splines through the samples of a raster: smooth to the second derivative, so that no lattice shows in the light.

use rayon::prelude::*;

use crate::raster::{Raster, b_spline};

/// How much straighter land must be along one diagonal of a cell than along the other for it to follow that one, from not at
/// all to wholly; shares of the squared bends.
const STRAIGHTER: [f32; 2] = [0.55, 0.9];

/// The natural cubic spline through all samples of a raster, as coefficients with one more row and column at each edge.
///
/// Exact at the samples; bends nowhere at the edges. Holes are bridged by what lies beside them.
///
/// A valley or a crest one sample wide that runs diagonally over the lattice comes out of a spline as a row of beads, as in the middle of each
/// of its cells the two samples beside it count as much as the two on it. [`Spline::along_lines`] follows the line instead.
#[derive(Clone, Debug, PartialEq)]
pub struct Spline {
    coefficients: Raster<f32>,
    /// What is added in the middle of each cell, and less around it.
    lines: Option<Raster<f32>>,
}

impl Spline {
    /// The spline through a raster. 4 bytes a sample.
    #[must_use]
    pub fn through(samples: &Raster<f32>) -> Self {
        let filled = bridged(samples);
        let along_rows = solved(filled.as_ref().unwrap_or(samples));
        let both = solved(&along_rows.transposed()).transposed();
        Self { coefficients: edged(&both), lines: None }
    }

    /// The spline through a raster, which follows valleys and crests that run diagonally from sample to sample. 8 bytes a sample.
    ///
    /// Where land bends far less along one diagonal of a cell than along the other, the middle of the cell takes its height from
    /// that diagonal, between those of its two samples. Exact at the samples; slopes are continuous.
    #[must_use]
    pub fn along_lines(samples: &Raster<f32>) -> Self {
        let mut spline = Self::through(samples);
        spline.lines = lines_of(samples, &spline.coefficients);
        spline
    }

    /// What is to be added to [`Spline::along_lines`] of land as it was, to become that of land as it is.
    #[must_use]
    pub fn of_change(before: &Raster<f32>, after: &Raster<f32>) -> Self {
        let of = |raster: &Raster<f32>| Self::along_lines(raster).lines;
        let change = minus(after, before);
        let mut spline = Self::through(&change);
        spline.lines = match (of(after), of(before)) {
            (Some(after), Some(before)) => Some(minus(&after, &before)),
            _ => None,
        };
        spline
    }

    /// Values at all crossings of given columns and rows, in samples from the first.
    #[must_use]
    pub fn grid(&self, cols: &[f64], rows: &[f64]) -> Raster<f32> {
        let inner = |at: &[f64]| -> Vec<f64> { at.iter().map(|at| at + 1.0).collect() };
        let mut grid = self.coefficients.cubic_grid(&inner(cols), &inner(rows), b_spline);
        if let Some(lines) = &self.lines {
            add_lines(&mut grid, lines, cols, rows);
        }
        grid
    }

    /// Bytes that it takes.
    #[must_use]
    pub fn size_bytes(&self) -> usize {
        let lines = self.lines.as_ref().map_or(0, |lines| size_of_val(lines.as_slice()));
        size_of_val(self.coefficients.as_slice()) + lines
    }
}

fn minus(a: &Raster<f32>, b: &Raster<f32>) -> Raster<f32> {
    let mut out = a.clone();
    out.par_rows(|row, out| out.iter_mut().zip(b.row(row)).for_each(|(a, b)| *a -= b));
    out
}

/// For the middle of each cell, what has to be added to a spline there so that it follows the straighter diagonal; none for a raster
/// without cells.
fn lines_of(samples: &Raster<f32>, coefficients: &Raster<f32>) -> Option<Raster<f32>> {
    if samples.cols() < 2 || samples.rows() < 2 {
        return None;
    }
    // Never outside the two samples, so that no bed rises between them.
    let middle = |v: [f32; 4]| {
        let height = (9.0 * (v[1] + v[2]) - v[0] - v[3]) / 16.0;
        height.max(v[1].min(v[2])).min(v[1].max(v[2]))
    };
    let half = b_spline(0.5);
    let mut lines = Raster::filled(samples.cols() - 1, samples.rows() - 1, 0.0);
    lines.par_rows(|row, out| {
        for (col, out) in out.iter_mut().enumerate() {
            let at = |c: isize, r: isize| samples.clamped(col as isize + c, row as isize + r);
            let falling = [at(-1, -1), at(0, 0), at(1, 1), at(2, 2)];
            let rising = [at(-1, 2), at(0, 1), at(1, 0), at(2, -1)];
            // Of all four samples: those of one diagonal alone do not see a narrow bed that lies on the other.
            let bend = |a: f32, b: f32, c: f32| (a - 2.0 * b + c).abs();
            let on = |v: [f32; 4]| bend(v[0], v[1], v[2]) + bend(v[1], v[2], v[3]);
            let along_falling =
                on(falling) + bend(at(0, -1), at(1, 0), at(2, 1)) + bend(at(-1, 0), at(0, 1), at(1, 2));
            let along_rising =
                on(rising) + bend(at(-1, 1), at(0, 0), at(1, -1)) + bend(at(0, 2), at(1, 1), at(2, 0));
            let [a, b] = [along_falling * along_falling, along_rising * along_rising];
            // Also where a hole is near.
            if !(a + b > 0.0 && a + b < f32::INFINITY) {
                continue;
            }
            let share = (b - a) / (a + b);
            let line = if share > 0.0 { falling } else { rising };
            let follow = ((share.abs() - STRAIGHTER[0]) / (STRAIGHTER[1] - STRAIGHTER[0])).clamp(0.0, 1.0);
            if follow <= 0.0 {
                continue;
            }
            let mut spline = 0.0;
            for (k, down) in half.iter().enumerate() {
                for (across, value) in half.iter().zip(&coefficients.row(row + k)[col..]) {
                    spline += down * across * value;
                }
            }
            *out = follow * follow * (3.0 - 2.0 * follow) * (middle(line) - spline);
        }
    });
    Some(lines)
}

/// Adds what belongs to the middles of cells.
///
/// Around the middle it falls off along both diagonals, to nothing at the corners of the cell, so that it adds up along a line and
/// samples stay as they are: over a square that stands on its corner there, and reaches into the four cells beside.
fn add_lines(grid: &mut Raster<f32>, lines: &Raster<f32>, cols: &[f64], rows: &[f64]) {
    let bell = |x: f32| {
        let x = x.abs().min(1.0);
        1.0 - x * x * (3.0 - 2.0 * x)
    };
    let (last_col, last_row) = (lines.cols() as isize - 1, lines.rows() as isize - 1);
    // The cell of a place and how far from its middle it is.
    let cell = |at: f64, last: isize| {
        let at = at.clamp(0.0, (last + 1) as f64);
        let cell = (at.floor() as isize).min(last);
        (cell, (at - cell as f64 - 0.5) as f32)
    };
    let across: Vec<(isize, f32)> = cols.iter().map(|&at| cell(at, last_col)).collect();
    grid.par_rows(|row, out| {
        let Some(&at) = rows.get(row) else { return };
        let (r, v) = cell(at, last_row);
        let line = |r: isize| (0..=last_row).contains(&r).then(|| lines.row(r as usize));
        let (north, here, south) = (line(r - 1), lines.row(r as usize), line(r + 1));
        for (out, &(c, u)) in out.iter_mut().zip(&across) {
            let c = c as usize;
            let beside = [
                (here[c], u, v),
                (if c > 0 { here[c - 1] } else { 0.0 }, u + 1.0, v),
                (here.get(c + 1).copied().unwrap_or(0.0), u - 1.0, v),
                (north.map_or(0.0, |line| line[c]), u, v + 1.0),
                (south.map_or(0.0, |line| line[c]), u, v - 1.0),
            ];
            for (line, u, v) in beside {
                if line != 0.0 {
                    *out += line * bell(u + v) * bell(u - v);
                }
            }
        }
    });
}

impl Raster<f32> {
    /// Holes filled with the mean of what lies beside them, so that interpolation does not widen them; none if there are none.
    #[must_use]
    pub fn bridged(&self) -> Option<Self> {
        bridged(self)
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

    /// Heights along the bed of a valley that runs diagonally over the lattice and falls by 1 a sample, one sample wide.
    fn bed(of: fn(&Raster<f32>) -> Spline) -> Vec<f32> {
        let valley = Raster::from_fn(24, 24, |c, r| {
            12.0 * (c as f32 - r as f32).abs().min(1.0) - (c + r) as f32 / 2.0
        });
        let at = places(24, 8);
        let grid = of(&valley).grid(&at, &at);
        (32..at.len() - 32).map(|i| grid.row(i)[i]).collect()
    }

    #[test]
    fn a_diagonal_valley_one_sample_wide_falls_without_beads() {
        let steepest_rise =
            |bed: Vec<f32>| bed.windows(2).map(|pair| pair[1] - pair[0]).fold(f32::MIN, f32::max);
        assert!(steepest_rise(bed(Spline::through)) > 0.5, "what it is held against has beads");
        let rise = steepest_rise(bed(Spline::along_lines));
        assert!(rise < 0.0, "the bed rises by {rise}");
    }

    #[test]
    fn lines_turn_with_the_land() {
        let land =
            Raster::from_fn(14, 14, |c, r| ((c * 7 + r * r * 3 + c * r) % 11 * ((c + 2 * r) % 7)) as f32);
        let turned = Raster::from_fn(14, 14, |c, r| land.row(c)[13 - r]);
        let at = places(14, 4);
        let (a, b) = (Spline::along_lines(&land).grid(&at, &at), Spline::along_lines(&turned).grid(&at, &at));
        for row in 0..b.rows() {
            for col in 0..b.cols() {
                let expected = a.row(col)[b.rows() - 1 - row];
                assert!(
                    (b.row(row)[col] - expected).abs() < 1e-3,
                    "{row} {col}: {} for {expected}",
                    b.row(row)[col]
                );
            }
        }
    }

    #[test]
    fn lines_go_through_the_samples_and_a_change_leads_from_one_to_the_other() {
        let rough = |k: usize| Raster::from_fn(15, 11, |c, r| ((c * 7 + r * r * 3 + k * c * r) % 11) as f32);
        let (before, after) = (rough(0), rough(1));
        let [old, new] = [&before, &after].map(Spline::along_lines);
        let change = Spline::of_change(&before, &after);
        let grid = |spline: &Spline, parts| spline.grid(&places(15, parts), &places(11, parts));
        for (a, b) in grid(&new, 1).as_slice().iter().zip(after.as_slice()) {
            assert!((a - b).abs() < 2e-5);
        }
        let sums = grid(&old, 5);
        let sums =
            sums.as_slice().iter().zip(grid(&change, 5).as_slice()).map(|(a, b)| a + b).collect::<Vec<_>>();
        for (sum, new) in sums.iter().zip(grid(&new, 5).as_slice()) {
            assert!((sum - new).abs() < 1e-4, "{sum} for {new}");
        }
    }

    #[test]
    fn lines_end_at_holes_and_small_rasters_have_none() {
        let mut raster = Raster::from_fn(9, 9, |c, r| 9.0 * (c as f32 - r as f32).abs());
        raster.as_mut_slice()[40] = f32::NAN;
        let grid = Spline::along_lines(&raster).grid(&places(9, 3), &places(9, 3));
        assert!(grid.as_slice().iter().all(|v| v.is_finite()));
        for (cols, rows) in [(1, 1), (1, 5), (2, 2)] {
            let small = Raster::from_fn(cols, rows, |c, r| (c + 2 * r) as f32);
            let grid = Spline::along_lines(&small).grid(&[0.0, 0.5], &[0.0, 0.5]);
            assert!(grid.as_slice().iter().all(|v| v.is_finite()));
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
