//! A square of numbers that repeats in both directions.

use rayon::prelude::*;

/// Numbers on a square grid, row 0 at the top, whose opposite edges meet. Its side is a power of two, so that wrapping an
/// index is a mask, and places are exact in single precision.
#[derive(Clone, Debug, PartialEq)]
pub struct Field {
    size: usize,
    data: Vec<f32>,
}

impl Field {
    /// A field whose value at the place (u, v) of each sample is `f(u, v)`; places run from 0 to 1 and lie in the middle of
    /// samples, so that a field of another size has the same pattern. `size` is rounded up to a power of two.
    pub fn from_fn(size: usize, f: impl Fn(f32, f32) -> f32 + Sync) -> Self {
        let size = size.max(1).next_power_of_two();
        let mut data = vec![0.0; size * size];
        data.par_chunks_mut(size).enumerate().for_each(|(row, out)| {
            let v = place(row, size);
            for (col, value) in out.iter_mut().enumerate() {
                *value = f(place(col, size), v);
            }
        });
        Self { size, data }
    }

    /// A field whose value at (column, row) is `f(col, row)`.
    pub fn from_cells(size: usize, f: impl Fn(usize, usize) -> f32 + Sync) -> Self {
        let size = size.max(1).next_power_of_two();
        let mut data = vec![0.0; size * size];
        data.par_chunks_mut(size).enumerate().for_each(|(row, out)| {
            for (col, value) in out.iter_mut().enumerate() {
                *value = f(col, row);
            }
        });
        Self { size, data }
    }

    /// A field whose rows `f(row, values)` fills; they are 0 before.
    pub fn from_rows(size: usize, f: impl Fn(usize, &mut [f32]) + Sync) -> Self {
        let size = size.max(1).next_power_of_two();
        let mut data = vec![0.0; size * size];
        data.par_chunks_mut(size).enumerate().for_each(|(row, out)| f(row, out));
        Self { size, data }
    }

    /// The means of blocks, `size` of them along a side; the field itself where it has no more samples.
    #[must_use]
    pub fn means(&self, size: usize) -> Self {
        let step = self.size / size.max(1);
        if step < 2 {
            return self.clone();
        }
        let share = 1.0 / (step * step) as f32;
        Self::from_cells(size, |col, row| {
            let rows = (row * step..(row + 1) * step).map(|r| &self.row(r)[col * step..(col + 1) * step]);
            rows.map(|row| row.iter().sum::<f32>()).sum::<f32>() * share
        })
    }

    /// Samples along a side.
    #[inline]
    #[must_use]
    pub fn size(&self) -> usize {
        self.size
    }

    /// All values, row by row from the top.
    #[inline]
    #[must_use]
    pub fn as_slice(&self) -> &[f32] {
        &self.data
    }

    /// One row.
    #[inline]
    #[must_use]
    pub fn row(&self, row: usize) -> &[f32] {
        &self.data[row * self.size..][..self.size]
    }

    /// The value at an index that may lie beyond the edges.
    #[inline]
    #[must_use]
    pub fn at(&self, col: isize, row: isize) -> f32 {
        let mask = self.size - 1;
        self.data[(row as usize & mask) * self.size + (col as usize & mask)]
    }

    /// The value at a place, straight between samples; 0 to 1 is once across.
    #[must_use]
    pub fn sample(&self, u: f32, v: f32) -> f32 {
        let (x, y) = (u * self.size as f32 - 0.5, v * self.size as f32 - 0.5);
        let (x0, y0) = (x.floor(), y.floor());
        let (tx, ty) = (x - x0, y - y0);
        let (col, row) = (x0 as isize, y0 as isize);
        let top = self.at(col, row) + (self.at(col + 1, row) - self.at(col, row)) * tx;
        let bottom = self.at(col, row + 1) + (self.at(col + 1, row + 1) - self.at(col, row + 1)) * tx;
        top + (bottom - top) * ty
    }

    /// Changes every value by itself.
    #[must_use]
    pub fn map(mut self, f: impl Fn(f32) -> f32 + Sync) -> Self {
        self.data.par_chunks_mut(self.size).for_each(|row| row.iter_mut().for_each(|v| *v = f(*v)));
        self
    }

    /// The mean, summed row by row so that threads do not change it.
    #[must_use]
    pub fn mean(&self) -> f64 {
        self.sum(f64::from) / self.data.len() as f64
    }

    /// The standard deviation.
    #[must_use]
    pub fn deviation(&self) -> f64 {
        let mean = self.mean();
        let squares = self.sum(|v| {
            let d = f64::from(v) - mean;
            d * d
        });
        (squares / self.data.len() as f64).sqrt()
    }

    fn sum(&self, f: impl Fn(f32) -> f64 + Sync) -> f64 {
        let rows: Vec<f64> =
            self.data.par_chunks(self.size).map(|row| row.iter().map(|&v| f(v)).sum()).collect();
        rows.iter().sum()
    }

    /// The lowest and the highest value.
    #[must_use]
    pub fn range(&self) -> (f32, f32) {
        self.data.iter().fold((f32::MAX, f32::MIN), |(low, high), &v| (low.min(v), high.max(v)))
    }
}

/// Where the middle of a sample lies, 0 to 1.
#[inline]
#[must_use]
pub(crate) fn place(index: usize, size: usize) -> f32 {
    (index as f32 + 0.5) / size as f32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edges_meet_and_places_lie_between_samples() {
        let field = Field::from_cells(4, |col, row| (col + 10 * row) as f32);
        assert_eq!(field.at(-1, 0), 3.0);
        assert_eq!(field.at(4, 5), 10.0);
        assert_eq!(field.sample(0.125, 0.125), 0.0);
        assert_eq!(field.sample(0.25, 0.125), 0.5);
        // Half-way between the last column and the first.
        assert_eq!(field.sample(0.0, 0.125), 1.5);
        assert_eq!(field.sample(1.0, 1.125), 1.5);
    }

    #[test]
    fn mean_deviation_and_range() {
        let field = Field::from_cells(2, |col, _| if col == 0 { 1.0 } else { 3.0 });
        assert_eq!((field.mean(), field.deviation(), field.range()), (2.0, 1.0, (1.0, 3.0)));
    }
}
