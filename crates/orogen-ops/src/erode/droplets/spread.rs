//! Spreads what was taken and left at single samples over the width of a stream.

use orogen_core::{Raster, math};
use rayon::prelude::*;

/// A bell about as wide as a stream, cut off at the edges of what may change, whose parts add up to one everywhere.
pub(super) struct Spread {
    /// Weights along x and along y, each symmetric.
    taps: [Vec<f32>; 2],
    /// What an amount is multiplied by before it is spread; 0 where nothing may change.
    pub share: Raster<f32>,
}

impl Spread {
    /// A bell that ends at the radius, 2.5 standard deviations out; at least 0.6 of a cell is one, so that no sample stands alone.
    pub fn new(may_change: &Raster<bool>, radius_m: f64, spacing_m: [f64; 2]) -> Self {
        let taps = spacing_m.map(|d| {
            let sigma = (0.4 * radius_m / d).max(0.6);
            let half = (2.5 * sigma).ceil() as i64;
            let bell: Vec<f64> =
                (-half..=half).map(|k| math::exp(-((k * k) as f64) / (2.0 * sigma * sigma))).collect();
            let all: f64 = bell.iter().sum();
            bell.iter().map(|w| (w / all) as f32).collect::<Vec<f32>>()
        });
        let (cols, rows) = (may_change.cols(), may_change.rows());
        let mut spread = Self { taps, share: Raster::filled(cols, rows, 0.0) };
        let mut part = Raster::filled(cols, rows, 0.0);
        part.par_rows(|row, out| {
            let ones: Vec<f32> = may_change.row(row).iter().map(|&m| f32::from(u8::from(m))).collect();
            spread.along_row(&ones, &mut Vec::new(), out);
        });
        let mut share = Raster::filled(cols, rows, 0.0);
        share.par_rows(|row, out| {
            spread.across_rows(&part, row, out);
            for (out, &may) in out.iter_mut().zip(may_change.row(row)) {
                *out = if may { 1.0 / *out } else { 0.0 };
            }
        });
        spread.share = share;
        spread
    }

    /// Spreads a row along itself.
    pub fn along_row(&self, from: &[f32], room: &mut Vec<f32>, out: &mut [f32]) {
        let half = self.taps[0].len() / 2;
        room.clear();
        room.resize(from.len() + 2 * half, 0.0);
        room[half..half + from.len()].copy_from_slice(from);
        out.fill(0.0);
        for (k, &weight) in self.taps[0].iter().enumerate() {
            for (out, &value) in out.iter_mut().zip(&room[k..]) {
                *out += weight * value;
            }
        }
    }

    /// Spreads rows across: what arrives in one of them.
    pub fn across_rows(&self, from: &Raster<f32>, row: usize, out: &mut [f32]) {
        let half = self.taps[1].len() / 2;
        out.fill(0.0);
        for (k, &weight) in self.taps[1].iter().enumerate() {
            let Some(other) = (row + k).checked_sub(half).filter(|&r| r < from.rows()) else { continue };
            for (out, &value) in out.iter_mut().zip(from.row(other)) {
                *out += weight * value;
            }
        }
    }

    /// Spreads every row along itself, both rasters from one list; `amounts(row, ..)` writes a row of each.
    pub fn along_rows<T: Send>(
        &self,
        source: &mut [T],
        out: &mut [Raster<f32>; 2],
        amounts: impl Fn(usize, &mut [T], &[f32], &mut [f32], &mut [f32]) + Sync,
    ) {
        let cols = self.share.cols();
        let [first, second] = out.each_mut().map(|raster| raster.as_mut_slice().par_chunks_mut(cols));
        source.par_chunks_mut(cols).zip(first).zip(second).enumerate().for_each_init(
            || (vec![0.0; cols], vec![0.0; cols], Vec::new()),
            |(a, b, room), (row, ((source, first), second))| {
                amounts(row, source, self.share.row(row), a, b);
                self.along_row(a, room, first);
                self.along_row(b, room, second);
            },
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_lost_at_edges_and_holes() {
        let may = Raster::from_fn(23, 17, |c, r| !(r == 5 && (3..9).contains(&c)) && (c, r) != (22, 16));
        let spread = Spread::new(&may, 9.0, [3.0, 4.0]);
        for place in [0, 22, 16 * 23, 4 * 23 + 5, 6 * 23 + 3, 8 * 23 + 11] {
            let mut amounts = vec![0.0f32; 23 * 17];
            amounts[place] = 1.0;
            let mut parts = [Raster::filled(23, 17, 0.0), Raster::filled(23, 17, 0.0)];
            spread.along_rows(&mut amounts, &mut parts, |_, source, share, a, b| {
                for i in 0..source.len() {
                    (a[i], b[i]) = (source[i] * share[i], 0.0);
                }
            });
            let mut all = 0.0;
            for row in 0..17 {
                let mut out = vec![0.0; 23];
                spread.across_rows(&parts[0], row, &mut out);
                all += out.iter().zip(may.row(row)).filter(|(_, may)| **may).map(|(v, _)| v).sum::<f32>();
            }
            assert!((all - 1.0).abs() < 1e-5, "{all} of 1 is left at {place}");
        }
    }
}
