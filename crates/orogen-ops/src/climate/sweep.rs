//! Sweeps: what travels over a map in one direction, line by line.
//!
//! Lines run side by side across the map in the direction of travel, one sample of the major axis at a time:
//!
//! ```text
//!  ┌─────────────┐
//!  │╲  ╲  ╲  ╲  ╲│     row of line n at step i = n + slope · i,  |slope| ≤ 1
//!  │  ╲  ╲  ╲  ╲ │
//!  └─────────────┘
//! ```
//!
//! On the way to the lines and back, values are interpolated between two samples, or two lines, of one column.

use orogen_core::{Cancelled, Ctx, Raster, math};
use rayon::prelude::*;

/// Lines across a map in one direction.
#[derive(Clone, Copy, Debug)]
pub struct Lines {
    /// Samples along and across the lines.
    long: usize,
    wide: usize,
    /// Whether lines run along columns, and the map must be turned.
    turned: bool,
    /// Whether they start at the last sample.
    back: bool,
    /// Samples across for each along.
    slope: f64,
    /// The first line.
    first: i64,
    count: usize,
    /// Metres from one sample of a line to the next.
    pub step_m: f64,
}

impl Lines {
    /// Lines on which one travels toward a direction, clockwise from the y axis of a map of so many samples.
    pub fn toward(toward_deg: f64, [cols, rows]: [usize; 2], spacing_m: [f64; 2]) -> Self {
        let toward = toward_deg.to_radians();
        // In samples: columns go east, rows go south. Exact where a direction follows an axis.
        let exact = |v: f64| if v.abs() < 1e-12 { 0.0 } else { v };
        let (east, south) =
            (exact(math::sin(toward)) / spacing_m[0], exact(-math::cos(toward)) / spacing_m[1]);
        let turned = south.abs() > east.abs();
        let (along, across) = if turned { (south, east) } else { (east, south) };
        let (long, wide) = if turned { (rows, cols) } else { (cols, rows) };
        let (dl, dw) = if turned { (spacing_m[1], spacing_m[0]) } else { (spacing_m[0], spacing_m[1]) };
        let slope = across / along.abs();
        let drift = slope * (long - 1) as f64;
        let first = if drift > 0.0 { -(drift.ceil() as i64) } else { 0 };
        Self {
            long,
            wide,
            turned,
            back: along < 0.0,
            slope,
            first,
            count: wide + drift.abs().ceil() as usize + 1,
            step_m: math::hypot(dl, slope * dw),
        }
    }

    /// Sweeps `N` maps at once: `f` is given what lies along a line, in the order of travel, and says what becomes of it.
    /// What was found is brought back to the samples of the map.
    ///
    /// # Errors
    /// When cancelled.
    pub fn sweep<const N: usize>(
        &self,
        maps: [&Raster<f32>; N],
        ctx: &Ctx<'_>,
        f: impl Fn([&[f32]; N], &mut [f32]) + Sync,
    ) -> Result<Raster<f32>, Cancelled> {
        let turned: Vec<Raster<f32>> =
            if self.turned { maps.iter().map(|map| map.transposed()).collect() } else { Vec::new() };
        let map = |i: usize| turned.get(i).unwrap_or(maps[i]);
        let maps: [&Raster<f32>; N] = std::array::from_fn(map);
        let mut lines = Raster::filled(self.long, self.count, 0.0f32);
        lines.as_mut_slice().par_chunks_mut(self.long).enumerate().try_for_each_init(
            || std::array::from_fn::<Vec<f32>, N, _>(|_| Vec::with_capacity(self.long)),
            |values, (line, out)| {
                if line % 64 == 0 {
                    ctx.stop_if_asked()?;
                }
                let (from, to) = self.inside(line);
                if from >= to {
                    return Ok(());
                }
                for (values, map) in values.iter_mut().zip(maps) {
                    values.clear();
                    values.extend((from..to).map(|i| self.between(map, line, i)));
                }
                f(values.each_ref().map(Vec::as_slice), &mut out[from..to]);
                Ok(())
            },
        )?;
        let mut out = Raster::filled(self.long, self.wide, 0.0f32);
        out.try_par_rows(|row, out| {
            for (col, out) in out.iter_mut().enumerate() {
                let i = if self.back { self.long - 1 - col } else { col };
                let at = row as f64 - self.slope * i as f64 - self.first as f64;
                // Never below 0, so cutting off is rounding down.
                let line = at as usize;
                let t = (at - line as f64) as f32;
                let here = lines.row(line)[i];
                *out = if t > 0.0 { here + t * (lines.row(line + 1)[i] - here) } else { here };
            }
            if row % 64 == 0 { ctx.stop_if_asked() } else { Ok(()) }
        })?;
        Ok(if self.turned { out.transposed() } else { out })
    }

    /// The steps of a line between the outermost rows of the map, or less than a row beyond.
    fn inside(&self, line: usize) -> (usize, usize) {
        let start = (line as i64 + self.first) as f64;
        if self.slope == 0.0 {
            return if (0.0..self.wide as f64).contains(&start) { (0, self.long) } else { (0, 0) };
        }
        let (low, high) = (-1.0, self.wide as f64);
        let ends = [(low - start) / self.slope, (high - start) / self.slope];
        let (enters, leaves) = (ends[0].min(ends[1]), ends[0].max(ends[1]));
        let from = (enters.floor() + 1.0).clamp(0.0, self.long as f64) as usize;
        let to = leaves.ceil().clamp(0.0, self.long as f64) as usize;
        (from, to)
    }

    /// The value of a map at a step of a line.
    #[inline]
    fn between(&self, map: &Raster<f32>, line: usize, i: usize) -> f32 {
        let col = if self.back { self.long - 1 - i } else { i };
        let at = (line as i64 + self.first) as f64 + self.slope * i as f64;
        // Above -1, so cutting off one more is rounding down.
        let next = (at + 1.0) as usize;
        let t = (at - (next as f64 - 1.0)) as f32;
        let here = map.row(next.saturating_sub(1).min(self.wide - 1))[col];
        if t > 0.0 { here + t * (map.row(next.min(self.wide - 1))[col] - here) } else { here }
    }

    /// Sweeps along lines of whole samples, each sample on exactly one of them: nothing is interpolated, so that what a
    /// line keeps the map keeps. `f` is given the samples of a line in the order of travel, as numbers of a map row by row.
    pub fn samples(&self, mut f: impl FnMut(&[usize])) {
        let mut line_samples = Vec::with_capacity(self.long);
        for line in 0..self.count {
            line_samples.clear();
            for i in 0..self.long {
                let row = line as i64 + self.first + (self.slope * i as f64).round() as i64;
                if (0..self.wide as i64).contains(&row) {
                    let col = if self.back { self.long - 1 - i } else { i };
                    let (col, row) = if self.turned { (row as usize, col) } else { (col, row as usize) };
                    let cols = if self.turned { self.wide } else { self.long };
                    line_samples.push(row * cols + col);
                }
            }
            if !line_samples.is_empty() {
                f(&line_samples);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_handed_on_unchanged_is_the_map() {
        let map = Raster::from_fn(40, 30, |c, r| (2 * c + 3 * r) as f32);
        for toward_deg in (0..360).step_by(15) {
            let lines = Lines::toward(f64::from(toward_deg), [40, 30], [10.0, 12.0]);
            let made = lines.sweep([&map], &Ctx::silent(), |[line], out| out.copy_from_slice(line)).unwrap();
            for (i, (a, b)) in map.as_slice().iter().zip(made.as_slice()).enumerate() {
                let edge = [i % 40 == 0, i % 40 == 39, i / 40 == 0, i / 40 == 29].contains(&true);
                assert!((a - b).abs() < 1e-3 || edge && (a - b).abs() < 3.0, "{toward_deg}: {i}: {a} {b}");
            }
        }
    }

    #[test]
    fn distance_along_a_line_is_distance_in_that_direction() {
        let flat = Raster::filled(60, 50, 1.0);
        for toward_deg in [0.0, 30.0, 45.0, 90.0, 200.0, 290.0] {
            let lines = Lines::toward(toward_deg, [60, 50], [10.0, 10.0]);
            let made = lines
                .sweep([&flat], &Ctx::silent(), |_, out| {
                    out.iter_mut().enumerate().for_each(|(i, out)| *out = (i as f64 * lines.step_m) as f32);
                })
                .unwrap();
            // From the edge behind to the middle.
            let toward = f64::to_radians(toward_deg);
            let far = |to_edge: f64, part: f64| {
                if part.abs() < 1e-9 { f64::INFINITY } else { to_edge / part.abs() }
            };
            let expected = far(300.0, math::sin(toward)).min(far(250.0, math::cos(toward)));
            let found = f64::from(made.row(25)[30]);
            assert!((found - expected).abs() < 25.0, "{toward_deg}: {found} of {expected}");
        }
    }

    #[test]
    fn no_rounding_leads_off_the_map() {
        // At 1025 samples of a frame of 2048 a line once ended one row beyond the last.
        let flat = Raster::filled(129, 129, 1.0);
        for spacing_m in [58.536_585_365_853_66, 10.0, 29.3, 1.0 / 3.0] {
            for sixteenth in 0..160 {
                let toward_deg = f64::from(sixteenth) * 2.25;
                let lines = Lines::toward(toward_deg, [129, 129], [spacing_m, spacing_m]);
                let made =
                    lines.sweep([&flat], &Ctx::silent(), |[line], out| out.copy_from_slice(line)).unwrap();
                assert!(made.as_slice().iter().all(|v| *v == 1.0), "{toward_deg}");
            }
        }
    }

    #[test]
    fn every_sample_lies_on_one_line() {
        for toward_deg in (0..360).step_by(10) {
            let lines = Lines::toward(f64::from(toward_deg), [31, 22], [10.0, 9.0]);
            let mut seen = vec![0; 31 * 22];
            lines.samples(|line| line.iter().for_each(|&sample| seen[sample] += 1));
            assert!(seen.iter().all(|count| *count == 1), "{toward_deg}");
        }
    }
}
