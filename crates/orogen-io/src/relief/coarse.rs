//! A coarse copy of a raster, on which wide effects cost the same at every resolution and look the same too.

use orogen_core::Raster;

/// How a coarse grid of block means lies over the fine one.
#[derive(Clone)]
pub(super) struct Coarse {
    /// Fine samples along the side of a block.
    pub factor: usize,
    pub cols: usize,
    pub rows: usize,
    /// For each fine column: the coarse column to its left and how far past it.
    places: Vec<(usize, f32)>,
}

impl Coarse {
    /// A grid whose longer side has at most `longest` blocks.
    pub fn new(cols: usize, rows: usize, longest: usize) -> Self {
        let factor = cols.max(rows).div_ceil(longest).max(1);
        let coarse_cols = cols.div_ceil(factor);
        let places = (0..cols).map(|col| place(col, factor, coarse_cols)).collect();
        Self { factor, cols: coarse_cols, rows: rows.div_ceil(factor), places }
    }

    /// Block means of `f(col, row)`; what is not finite does not count, and a block without any is NaN.
    pub fn means(
        &self,
        fine_cols: usize,
        fine_rows: usize,
        f: impl Fn(usize, usize) -> f32 + Sync,
    ) -> Raster<f32> {
        Raster::from_fn(self.cols, self.rows, |col, row| {
            let (mut sum, mut count) = (0.0, 0);
            for r in row * self.factor..((row + 1) * self.factor).min(fine_rows) {
                for c in col * self.factor..((col + 1) * self.factor).min(fine_cols) {
                    let value = f(c, r);
                    if value.is_finite() {
                        sum += value;
                        count += 1;
                    }
                }
            }
            if count > 0 { sum / count as f32 } else { f32::NAN }
        })
    }

    /// Writes one fine row of a coarse raster, straight in between; `blend` is room for a coarse row.
    pub fn fine_row(&self, raster: &Raster<f32>, row: usize, blend: &mut Vec<f32>, out: &mut [f32]) {
        let (r, share) = place(row, self.factor, self.rows);
        let (north, south) = (raster.row(r), raster.row((r + 1).min(self.rows - 1)));
        blend.clear();
        blend.extend(north.iter().zip(south).map(|(&n, &s)| n + (s - n) * share));
        // Past the last block the value stays: one more entry saves a comparison per sample.
        blend.push(blend[self.cols - 1]);
        for (out, &(c, share)) in out.iter_mut().zip(&self.places) {
            *out = blend[c] + (blend[c + 1] - blend[c]) * share;
        }
    }
}

/// The block before a fine sample and how far past its middle the sample lies.
fn place(fine: usize, factor: usize, count: usize) -> (usize, f32) {
    let at = (fine as f32 - (factor - 1) as f32 * 0.5) / factor as f32;
    let at = at.clamp(0.0, (count - 1) as f32);
    let whole = at.floor();
    (whole as usize, at - whole)
}

/// The raster with each value blended with its neighbours (1 2 1 both ways), edges repeated.
pub(super) fn soften(raster: &Raster<f32>) -> Raster<f32> {
    let blend = |a: f32, b: f32, c: f32| (a + 2.0 * b + c) * 0.25;
    let across = Raster::from_fn(raster.cols(), raster.rows(), |col, row| {
        let line = raster.row(row);
        blend(line[col.saturating_sub(1)], line[col], line[(col + 1).min(raster.cols() - 1)])
    });
    Raster::from_fn(raster.cols(), raster.rows(), |col, row| {
        let at = |row: usize| across.row(row)[col];
        blend(at(row.saturating_sub(1)), at(row), at((row + 1).min(raster.rows() - 1)))
    })
}
