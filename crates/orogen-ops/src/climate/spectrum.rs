//! Linear filters of a map by their effect on its waves.
//!
//! ```text
//! map = Σ ĥ(k, l) exp(i(kx + ly))        filtered = Σ T(k, l) ĥ(k, l) exp(i(kx + ly))
//! ```
//!
//! A map that loops is transformed as it is. Any other is padded to twice its sides, where what lies beyond one edge passes
//! smoothly into what lies before the opposite one: no cliff at an edge makes waves of its own, and what a filter sends
//! out of the map does not come in on the other side, or hardly.

use orogen_core::{Cancelled, Ctx, Raster};
use rayon::prelude::*;

use super::fft::{Batch, Fft, LANES, Lane};
use crate::simd::{Level, dispatch};

/// What a filter does to waves.
pub trait Transfer: Sync {
    /// Multiplies amplitudes of waves by the filter; `k` are their radians a metre to the east, `l` to the north.
    /// The opposite wave must get the conjugate, so that a map stays real.
    fn apply(&self, k: &Lane, l: f64, re: &mut Lane, im: &mut Lane);
}

/// A map as the sum of its waves along rows; those along columns are found when it is filtered.
pub struct Spectrum {
    cols: usize,
    rows: usize,
    spacing_m: [f64; 2],
    x: Fft,
    y: Fft,
    /// By rows of the map and waves along them, from the mean to the shortest, a multiple of [`LANES`].
    re: Raster<f64>,
    im: Raster<f64>,
}

/// Rows that one batch transforms: two real rows are one complex sequence.
const ROWS: usize = 2 * LANES;

/// Samples a side that a side of a map is transformed with.
pub fn padded(count: usize, loops: bool) -> usize {
    if loops { count } else { (2 * count.saturating_sub(1)).max(2) }.next_power_of_two()
}

/// How far the way from the last sample of a map to the first is gone at a padded one: 0 to 1, level at both ends.
fn way_round(at: usize, count: usize, padded: usize) -> f64 {
    let t = (at + 1 - count) as f64 / (padded + 1 - count) as f64;
    t * t * (3.0 - 2.0 * t)
}

impl Spectrum {
    /// Of a map without holes. One that loops must have a power of two of samples along each side.
    ///
    /// # Errors
    /// When cancelled.
    pub fn of(map: &Raster<f32>, spacing_m: [f64; 2], loops: bool, ctx: &Ctx<'_>) -> Result<Self, Cancelled> {
        let (cols, rows) = (map.cols(), map.rows());
        let (x, y) = (Fft::for_at_least(padded(cols, loops)), Fft::for_at_least(padded(rows, loops)));
        let n = x.len();
        let width = (n / 2 + 1).next_multiple_of(LANES);
        let (mut re, mut im) = (Raster::filled(width, rows, 0.0), Raster::filled(width, rows, 0.0));
        let parts = re
            .as_mut_slice()
            .par_chunks_mut(width * ROWS)
            .zip(im.as_mut_slice().par_chunks_mut(width * ROWS));
        parts.enumerate().try_for_each_init(
            || (Batch::zeros(n), Batch::zeros(n)),
            |(data, scratch), (part, (re, im))| {
                ctx.stop_if_asked()?;
                let count = re.len() / width;
                for i in 0..ROWS {
                    let to = if i % 2 == 0 { &mut data.re } else { &mut data.im };
                    let row = map.row((part * ROWS + i.min(count - 1)).min(rows - 1));
                    for (to, value) in to.iter_mut().zip(row) {
                        to[i / 2] = f64::from(*value);
                    }
                    let (first, last) = (f64::from(row[0]), f64::from(row[cols - 1]));
                    for (at, to) in to.iter_mut().enumerate().skip(cols) {
                        to[i / 2] = last + way_round(at, cols, n) * (first - last);
                    }
                }
                x.forward(data, scratch);
                for k in 0..=n / 2 {
                    let other = (n - k) % n;
                    let (a, b, c, d) = (&data.re[k], &data.im[k], &data.re[other], &data.im[other]);
                    for i in 0..count {
                        let l = i / 2;
                        let at = i * width + k;
                        (re[at], im[at]) = if i % 2 == 0 {
                            (0.5 * (a[l] + c[l]), 0.5 * (b[l] - d[l]))
                        } else {
                            (0.5 * (b[l] + d[l]), 0.5 * (c[l] - a[l]))
                        };
                    }
                }
                Ok(())
            },
        )?;
        Ok(Self { cols, rows, spacing_m, x, y, re, im })
    }

    /// The map after a filter.
    ///
    /// # Errors
    /// When cancelled.
    pub fn filtered(&self, transfer: &impl Transfer, ctx: &Ctx<'_>) -> Result<Raster<f32>, Cancelled> {
        let columns = self.columns(transfer, ctx)?;
        let n = self.x.len();
        let mut out = Raster::filled(self.cols, self.rows, 0.0f32);
        let cols = self.cols;
        out.as_mut_slice().par_chunks_mut(cols * ROWS).enumerate().try_for_each_init(
            || (Batch::zeros(n), Batch::zeros(n)),
            |(data, scratch), (part, out)| {
                ctx.stop_if_asked()?;
                let count = out.len() / cols;
                for (block, Batch { re, im }) in columns.iter().enumerate() {
                    for l in 0..LANES {
                        let first = part * ROWS + (2 * l).min(count - 1);
                        let second = part * ROWS + (2 * l + 1).min(count - 1);
                        let [(ar, ai), (br, bi)] = [first, second].map(|row| (&re[row], &im[row]));
                        for i in 0..LANES.min((n / 2 + 1).saturating_sub(block * LANES)) {
                            let k = block * LANES + i;
                            let other = (n - k) % n;
                            data.re[k][l] = ar[i] - bi[i];
                            data.im[k][l] = ai[i] + br[i];
                            data.re[other][l] = ar[i] + bi[i];
                            data.im[other][l] = br[i] - ai[i];
                        }
                    }
                }
                self.x.backward(data, scratch);
                for (i, out) in out.chunks_mut(cols).enumerate() {
                    let from = if i % 2 == 0 { &data.re } else { &data.im };
                    for (out, from) in out.iter_mut().zip(from) {
                        *out = from[i / 2] as f32;
                    }
                }
                Ok(())
            },
        )?;
        Ok(out)
    }

    /// Filtered waves along rows at the rows of the map, [`LANES`] waves together.
    fn columns(&self, transfer: &impl Transfer, ctx: &Ctx<'_>) -> Result<Vec<Batch>, Cancelled> {
        let (n, tall, level) = (self.x.len(), self.y.len(), Level::new());
        let share = 1.0 / (n as f64 * tall as f64);
        let step = |count: usize, spacing_m: f64| std::f64::consts::TAU / (count as f64 * spacing_m);
        let (dk, dl) = (step(n, self.spacing_m[0]), step(tall, self.spacing_m[1]));
        let blocks = self.re.cols() / LANES;
        (0..blocks)
            .into_par_iter()
            .map_init(
                || (Batch::zeros(tall), Batch::zeros(tall)),
                |(data, scratch), block| {
                    ctx.stop_if_asked()?;
                    for (to, from) in [(&mut data.re, &self.re), (&mut data.im, &self.im)] {
                        let lane = |row: usize| -> &Lane {
                            from.row(row)[block * LANES..].first_chunk().expect("a multiple of lanes")
                        };
                        for (row, to) in to.iter_mut().enumerate().take(self.rows) {
                            *to = *lane(row);
                        }
                        let (first, last) = (lane(0), lane(self.rows - 1));
                        for (row, to) in to.iter_mut().enumerate().skip(self.rows) {
                            let t = way_round(row, self.rows, tall);
                            for i in 0..LANES {
                                to[i] = last[i] + t * (first[i] - last[i]);
                            }
                        }
                    }
                    self.y.forward(data, scratch);
                    let waves = |i: usize| block * LANES + i;
                    let k: Lane = std::array::from_fn(|i| waves(i) as f64 * dk);
                    // The shortest wave has no direction: it goes, and so do those beyond, which only fill the lanes.
                    let keep: Lane =
                        std::array::from_fn(|i| if waves(i) < n.div_ceil(2) { share } else { 0.0 });
                    dispatch!(level, _simd => multiply(transfer, &k, &keep, dl, data));
                    self.y.backward(data, scratch);
                    Ok(Batch { re: data.re[..self.rows].to_vec(), im: data.im[..self.rows].to_vec() })
                },
            )
            .collect()
    }
}

#[inline(always)]
fn multiply(transfer: &impl Transfer, k: &Lane, keep: &Lane, dl: f64, data: &mut Batch) {
    let tall = data.re.len();
    for (row, (re, im)) in data.re.iter_mut().zip(&mut data.im).enumerate() {
        let wave = if row < tall.div_ceil(2) { row as f64 } else { row as f64 - tall as f64 };
        let alive = if 2 * row == tall { 0.0 } else { 1.0 };
        // Rows go south.
        transfer.apply(k, -wave * dl, re, im);
        for i in 0..LANES {
            re[i] *= keep[i] * alive;
            im[i] *= keep[i] * alive;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use orogen_core::math;

    struct All;
    impl Transfer for All {
        #[inline(always)]
        fn apply(&self, _: &Lane, _: f64, _: &mut Lane, _: &mut Lane) {}
    }

    struct Rise([f64; 2]);
    impl Transfer for Rise {
        #[inline(always)]
        fn apply(&self, k: &Lane, l: f64, re: &mut Lane, im: &mut Lane) {
            for i in 0..LANES {
                let by = self.0[0] * k[i] + self.0[1] * l;
                (re[i], im[i]) = (-by * im[i], by * re[i]);
            }
        }
    }

    fn bell(cols: usize, rows: usize) -> Raster<f32> {
        Raster::from_fn(cols, rows, |c, r| {
            let (x, y) = (c as f64 / cols as f64 - 0.4, r as f64 / rows as f64 - 0.6);
            (100.0 * math::exp(-40.0 * (x * x + y * y))) as f32
        })
    }

    #[test]
    fn a_filter_that_does_nothing_gives_the_map() {
        for (cols, rows, loops) in [(64, 32, true), (97, 70, false), (33, 129, false), (2, 2, false)] {
            let map = bell(cols, rows);
            let made = Spectrum::of(&map, [10.0, 10.0], loops, &Ctx::silent()).unwrap();
            let made = made.filtered(&All, &Ctx::silent()).unwrap();
            for (a, b) in map.as_slice().iter().zip(made.as_slice()) {
                // The shortest wave alone is missing.
                assert!((a - b).abs() < 0.02 || cols == 2, "{cols} x {rows}: {a} became {b}");
            }
        }
    }

    #[test]
    fn a_derivative_points_east_and_north() {
        let (map, spacing_m) = (bell(128, 128), [20.0, 10.0]);
        let waves = Spectrum::of(&map, spacing_m, false, &Ctx::silent()).unwrap();
        for (way, by) in [([1.0, 0.0], (1isize, 0isize)), ([0.0, 1.0], (0, -1))] {
            let made = waves.filtered(&Rise(way), &Ctx::silent()).unwrap();
            let length = if by.0 == 0 { spacing_m[1] } else { spacing_m[0] };
            for (col, row) in [(40, 70), (60, 80), (51, 60)] {
                let at = |sign: isize| f64::from(map.clamped(col + sign * by.0, row + sign * by.1));
                let expected = (at(1) - at(-1)) / (2.0 * length);
                let found = f64::from(made.clamped(col, row));
                assert!((found - expected).abs() < 0.005, "{way:?} at {col}, {row}: {found}, {expected}");
            }
        }
    }
}
