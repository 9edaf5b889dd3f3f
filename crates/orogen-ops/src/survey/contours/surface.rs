//! The surface that contours lie on, row by row: the samples as they are, or their B-spline at four times the number.

use orogen_core::Raster;

const FINER: usize = 4;

/// Rows of heights.
pub(super) struct Surface<'a> {
    height: &'a Raster<f32>,
    finer: usize,
}

impl<'a> Surface<'a> {
    pub fn new(height: &'a Raster<f32>, smooth: bool) -> Self {
        Self { height, finer: if smooth { FINER } else { 1 } }
    }

    /// Rows and columns of the surface for each of the samples.
    pub fn refinement(&self) -> usize {
        self.finer
    }

    pub fn cols(&self) -> usize {
        (self.height.cols() - 1) * self.finer + 1
    }

    pub fn rows(&self) -> usize {
        (self.height.rows() - 1) * self.finer + 1
    }

    /// Heights of a row.
    pub fn fill(&self, row: usize, out: &mut [f32]) {
        if self.finer == 1 {
            out.copy_from_slice(self.height.row(row));
            return;
        }
        let (at, part) = (row / self.finer, row % self.finer);
        let down = weights(part);
        let lines = [-1, 0, 1, 2].map(|step| at as isize + step);
        // The four rows as one, then along it; a hole takes sixteen samples with it, so those beside it are straight.
        let one: Vec<f32> = (0..self.height.cols())
            .map(|col| (0..4).map(|i| down[i] * self.carried(col, lines[i])).sum())
            .collect();
        let last = one.len() - 1;
        let value = |col: isize| match col {
            -1 => 2.0 * one[0] - one[1.min(last)],
            col if col as usize > last => 2.0 * one[last] - one[last.saturating_sub(1)],
            col => one[col as usize],
        };
        for (col, out) in out.iter_mut().enumerate() {
            let (at, across) = ((col / self.finer) as isize, weights(col % self.finer));
            let smooth: f32 = (0..4).map(|i| across[i] * value(at + i as isize - 1)).sum();
            *out = if smooth.is_nan() {
                self.height.bilinear(col as f64 / self.finer as f64, row as f64 / self.finer as f64)
            } else {
                smooth
            };
        }
    }

    /// A sample; beyond the first and last row carried on straight.
    fn carried(&self, col: usize, row: isize) -> f32 {
        let last = self.height.rows() as isize - 1;
        let at = |row: isize| self.height.clamped(col as isize, row);
        if row < 0 {
            2.0 * at(0) - at(1)
        } else if row > last {
            2.0 * at(last) - at(last - 1)
        } else {
            at(row)
        }
    }
}

/// Weights of four samples of a uniform cubic B-spline, `part` of [`FINER`] past the second.
fn weights(part: usize) -> [f32; 4] {
    let t = part as f32 / FINER as f32;
    let (s, t2, t3) = (1.0 - t, t * t, t * t * t);
    [
        s * s * s / 6.0,
        (3.0 * t3 - 6.0 * t2 + 4.0) / 6.0,
        (3.0 * t + 3.0 * t2 - 3.0 * t3 + 1.0) / 6.0,
        t3 / 6.0,
    ]
}
