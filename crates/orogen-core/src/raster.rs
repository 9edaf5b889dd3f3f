//! A grid of values in one allocation, row 0 in the north.

use std::ops::{Index, IndexMut};

use rayon::prelude::*;

use crate::math::catmull_rom;
use crate::neighbors::{Neighbor, neighbors8};

/// A cell of a raster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cell {
    /// From the west.
    pub col: usize,
    /// From the north.
    pub row: usize,
}

/// Values on a grid, row-major.
#[derive(Clone, Debug, PartialEq)]
pub struct Raster<T> {
    cols: usize,
    rows: usize,
    data: Vec<T>,
}

/// Rows a thread takes at a time: few enough to share work out, many enough to be worth the handing over.
const ROWS_PER_BLOCK: usize = 8;

/// Values of a grid that is not worth sharing out.
const SMALL_GRID: usize = 1 << 15;

/// Ranges found side by side in a part of a raster.
const RANGES: usize = 16;

/// What is done with each row, by its number.
type TryRow<'f, T, E> = dyn Fn(usize, &mut [T]) -> Result<(), E> + Sync + 'f;

impl<T> Raster<T> {
    /// A raster over given values, `None` when their number is not `cols * rows` or the grid is empty.
    #[must_use]
    pub fn from_vec(cols: usize, rows: usize, data: Vec<T>) -> Option<Self> {
        (cols > 0 && rows > 0 && cols.checked_mul(rows) == Some(data.len())).then_some(Self {
            cols,
            rows,
            data,
        })
    }

    /// Columns.
    #[inline]
    #[must_use]
    pub fn cols(&self) -> usize {
        self.cols
    }

    /// Rows.
    #[inline]
    #[must_use]
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// All values, row by row from the north.
    #[inline]
    #[must_use]
    pub fn as_slice(&self) -> &[T] {
        &self.data
    }

    /// All values for writing.
    #[inline]
    #[must_use]
    pub fn as_mut_slice(&mut self) -> &mut [T] {
        &mut self.data
    }

    /// The values, leaving the grid behind.
    #[must_use]
    pub fn into_vec(self) -> Vec<T> {
        self.data
    }

    /// One row.
    #[inline]
    #[must_use]
    pub fn row(&self, row: usize) -> &[T] {
        &self.data[row * self.cols..][..self.cols]
    }

    /// The neighbours of a cell that lie inside, clockwise from north.
    pub fn neighbors8(&self, cell: Cell) -> impl Iterator<Item = Neighbor> + use<T> {
        neighbors8(cell, self.cols, self.rows)
    }
}

impl<T: Copy + Send + Sync> Raster<T> {
    /// A raster of one value.
    #[must_use]
    pub fn filled(cols: usize, rows: usize, value: T) -> Self {
        let (cols, rows) = (cols.max(1), rows.max(1));
        Self { cols, rows, data: vec![value; cols * rows] }
    }

    /// A raster of zeros. Memory that nobody has used yet is all zeros: it is first touched by the thread that writes it.
    #[must_use]
    pub fn zeroed(cols: usize, rows: usize) -> Self
    where
        T: bytemuck::Zeroable,
    {
        let (cols, rows) = (cols.max(1), rows.max(1));
        Self { cols, rows, data: bytemuck::zeroed_vec(cols * rows) }
    }

    /// A raster whose value at (column, row) is `f(col, row)`; `f` runs in any order on any thread.
    pub fn from_fn(cols: usize, rows: usize, f: impl Fn(usize, usize) -> T + Sync) -> Self
    where
        T: Default,
    {
        let mut raster = Self::filled(cols, rows, T::default());
        raster.par_rows(|row, out| {
            for (col, value) in out.iter_mut().enumerate() {
                *value = f(col, row);
            }
        });
        raster
    }

    /// Gives every row to `f(row number, values)`, in any order on any thread.
    pub fn par_rows(&mut self, f: impl Fn(usize, &mut [T]) + Sync) {
        self.par_rows_by(&f);
    }

    /// As [`Raster::par_rows`], compiled once for all functions: rayon's part is large beside most of them.
    fn par_rows_by(&mut self, f: &(dyn Fn(usize, &mut [T]) + Sync)) {
        let cols = self.cols;
        self.data.par_chunks_mut(cols * ROWS_PER_BLOCK).enumerate().for_each(|(block, rows)| {
            for (i, row) in rows.chunks_mut(cols).enumerate() {
                f(block * ROWS_PER_BLOCK + i, row);
            }
        });
    }

    /// As [`Raster::par_rows`], until `f` fails; which failure is reported when several rows fail is not fixed.
    ///
    /// # Errors
    /// The failure of a row.
    pub fn try_par_rows<E: Send>(
        &mut self,
        f: impl Fn(usize, &mut [T]) -> Result<(), E> + Sync,
    ) -> Result<(), E> {
        self.try_par_rows_by(&f)
    }

    fn try_par_rows_by<E: Send>(&mut self, f: &TryRow<'_, T, E>) -> Result<(), E> {
        let cols = self.cols;
        self.data.par_chunks_mut(cols * ROWS_PER_BLOCK).enumerate().try_for_each(|(block, rows)| {
            rows.chunks_mut(cols).enumerate().try_for_each(|(i, row)| f(block * ROWS_PER_BLOCK + i, row))
        })
    }

    /// Sets every cell to `f(cell)`, in any order on any thread.
    pub fn par_fill(&mut self, f: impl Fn(Cell) -> T + Sync) {
        self.par_rows(|row, out| {
            for (col, value) in out.iter_mut().enumerate() {
                *value = f(Cell { col, row });
            }
        });
    }

    /// A raster of the same shape, each value mapped.
    #[must_use]
    pub fn map<U: Copy + Default + Send + Sync>(&self, f: impl Fn(T) -> U + Sync) -> Raster<U> {
        let mut out = Raster::filled(self.cols, self.rows, U::default());
        out.par_rows(|row, values| {
            for (value, &source) in values.iter_mut().zip(self.row(row)) {
                *value = f(source);
            }
        });
        out
    }

    /// Rows as columns.
    #[must_use]
    pub fn transposed(&self) -> Self
    where
        T: Default,
    {
        let mut out = Self::filled(self.rows, self.cols, T::default());
        self.transpose_into(&mut out);
        out
    }

    /// Rows as columns of another raster, which has as many of them.
    pub fn transpose_into(&self, out: &mut Self)
    where
        T: Default,
    {
        // By squares, so that a line of the cache is read once, whatever the length of a row.
        const SIDE: usize = 32;
        assert_eq!((out.cols, out.rows), (self.rows, self.cols), "columns of rows, and rows of columns");
        out.data.par_chunks_mut(self.rows * SIDE).enumerate().for_each(|(block, lines)| {
            let (first_col, wide) = (block * SIDE, lines.len() / self.rows);
            let mut square = [[T::default(); SIDE]; SIDE];
            for first_row in (0..self.rows).step_by(SIDE) {
                let tall = SIDE.min(self.rows - first_row);
                for (i, from) in square[..tall].iter_mut().enumerate() {
                    from[..wide].copy_from_slice(&self.row(first_row + i)[first_col..][..wide]);
                }
                for (col, line) in lines.chunks_mut(self.rows).enumerate() {
                    for (to, from) in line[first_row..][..tall].iter_mut().zip(&square) {
                        *to = from[col];
                    }
                }
            }
        });
    }

    /// The part of `cols` by `rows` that starts at a column and row; the part must lie inside.
    #[must_use]
    pub fn crop(&self, col: usize, row: usize, cols: usize, rows: usize) -> Self {
        let mut data = Vec::with_capacity(cols * rows);
        for r in row..row + rows {
            data.extend_from_slice(&self.row(r)[col..col + cols]);
        }
        Self { cols, rows, data }
    }

    /// The value at a cell, the cell clamped to the grid.
    #[inline]
    #[must_use]
    pub fn clamped(&self, col: isize, row: isize) -> T {
        let col = col.clamp(0, self.cols as isize - 1) as usize;
        let row = row.clamp(0, self.rows as isize - 1) as usize;
        self.data[row * self.cols + col]
    }
}

impl Raster<f32> {
    /// Smallest and largest value; holes (NaN) are passed over, and a raster of holes has no range.
    #[must_use]
    pub fn range(&self) -> Option<(f32, f32)> {
        const NONE: (f32, f32) = (f32::INFINITY, f32::NEG_INFINITY);
        let wider = |a: (f32, f32), b: (f32, f32)| {
            // A comparison with NaN is false, so a hole changes nothing.
            (if b.0 < a.0 { b.0 } else { a.0 }, if b.1 > a.1 { b.1 } else { a.1 })
        };
        let part = |values: &[f32]| {
            // Several ranges side by side become vector code; one would wait for itself at every sample.
            let (low, high) = (&mut [NONE.0; RANGES], &mut [NONE.1; RANGES]);
            let (groups, rest) = values.as_chunks::<RANGES>();
            for group in groups {
                for i in 0..RANGES {
                    (low[i], high[i]) = wider((low[i], high[i]), (group[i], group[i]));
                }
            }
            let sides = low.iter().copied().zip(high.iter().copied());
            rest.iter().map(|&v| (v, v)).chain(sides).fold(NONE, wider)
        };
        let (low, high) = self.data.par_chunks(1 << 16).map(part).reduce(|| NONE, wider);
        // Zero has two signs that compare alike: which of them was met first must not show.
        (low <= high).then_some((low + 0.0, high + 0.0))
    }

    /// The sum in double precision: each row by itself, then the rows in order, whatever the thread count.
    #[must_use]
    pub fn sum_f64(&self) -> f64 {
        let rows: Vec<f64> =
            self.data.par_chunks(self.cols).map(|row| row.iter().map(|&v| f64::from(v)).sum()).collect();
        rows.iter().sum()
    }

    /// The value between samples, bilinear; places outside are clamped to the edge.
    #[inline]
    #[must_use]
    pub fn bilinear(&self, col: f64, row: f64) -> f32 {
        let col = col.clamp(0.0, (self.cols - 1) as f64);
        let row = row.clamp(0.0, (self.rows - 1) as f64);
        // Neither is below 0, so a cast rounds down; `floor` is a call on plain x86-64.
        let (c0, r0) = (col as usize, row as usize);
        let (fc, fr) = ((col - c0 as f64) as f32, (row - r0 as f64) as f32);
        let (c1, r1) = ((c0 + 1).min(self.cols - 1), (r0 + 1).min(self.rows - 1));
        let (north, south) = (self.row(r0), self.row(r1));
        let a = north[c0] + (north[c1] - north[c0]) * fc;
        let b = south[c0] + (south[c1] - south[c0]) * fc;
        a + (b - a) * fr
    }

    /// The value between samples by the Catmull-Rom cubic: smooth in slope, and exact at the samples.
    #[must_use]
    pub fn bicubic(&self, col: f64, row: f64) -> f32 {
        let col = col.clamp(0.0, (self.cols - 1) as f64);
        let row = row.clamp(0.0, (self.rows - 1) as f64);
        let (c, r) = (col.floor(), row.floor());
        let (wc, wr) = (catmull_rom((col - c) as f32), catmull_rom((row - r) as f32));
        let mut sum = 0.0;
        for (j, wr) in wr.iter().enumerate() {
            let mut line = 0.0;
            for (i, wc) in wc.iter().enumerate() {
                line += wc * self.clamped(c as isize + i as isize - 1, r as isize + j as isize - 1);
            }
            sum += wr * line;
        }
        sum
    }

    /// [`Raster::bicubic`] at all crossings of given columns and rows, to the bit: each line of samples is interpolated
    /// along the columns once for all rows of the result that need it.
    #[must_use]
    pub fn bicubic_grid(&self, cols: &[f64], rows: &[f64]) -> Raster<f32> {
        self.cubic_grid(cols, rows, catmull_rom)
    }

    /// Blends of four by four samples at all crossings of given columns and rows, each weighed as by a cubic B-spline: smooth, and
    /// never outside what the samples span.
    #[must_use]
    pub fn smooth_grid(&self, cols: &[f64], rows: &[f64]) -> Raster<f32> {
        self.cubic_grid(cols, rows, b_spline)
    }

    pub(crate) fn cubic_grid(
        &self,
        cols: &[f64],
        rows: &[f64],
        weights: impl Fn(f32) -> [f32; 4] + Sync,
    ) -> Raster<f32> {
        let split = |at: f64, count: usize| {
            let at = at.clamp(0.0, (count - 1) as f64);
            (at.floor() as isize, weights((at - at.floor()) as f32))
        };
        let last = self.cols as isize - 1;
        let taps: Vec<([u32; 4], [f32; 4])> = (cols.iter())
            .map(|&col| {
                let (c, weights) = split(col, self.cols);
                ([-1, 0, 1, 2].map(|i| (c + i).clamp(0, last) as u32), weights)
            })
            .collect();
        let line = |row: isize, out: &mut [f32]| {
            let samples = self.row(row.clamp(0, self.rows as isize - 1) as usize);
            for (out, ([a, b, c, d], w)) in out.iter_mut().zip(&taps) {
                let [a, b, c, d] = [a, b, c, d].map(|&at| samples[at as usize]);
                *out = 0.0 + w[0] * a + w[1] * b + w[2] * c + w[3] * d;
            }
        };
        let mut made = Raster::filled(cols.len().max(1), rows.len().max(1), 0.0);
        let width = made.cols;
        // A small grid is done by one thread, so that no line is made twice.
        let height = if made.data.len() <= SMALL_GRID { made.rows } else { ROWS_PER_BLOCK };
        made.data.par_chunks_mut(width * height).enumerate().for_each(|(block, out)| {
            // Four lines round the last row, by their number.
            let mut lines = [const { (isize::MIN, Vec::new()) }; 4];
            for (i, out) in out.chunks_mut(width).enumerate() {
                let Some(&row) = rows.get(block * height + i) else { return };
                let (r, weights) = split(row, self.rows);
                for number in r - 1..=r + 2 {
                    let slot = &mut lines[number.rem_euclid(4) as usize];
                    if slot.0 != number {
                        slot.0 = number;
                        slot.1.resize(width, 0.0);
                        line(number, &mut slot.1);
                    }
                }
                let [a, b, c, d] = [-1, 0, 1, 2].map(|j| lines[(r + j).rem_euclid(4) as usize].1.as_slice());
                for (i, out) in out.iter_mut().enumerate() {
                    *out =
                        0.0 + weights[0] * a[i] + weights[1] * b[i] + weights[2] * c[i] + weights[3] * d[i];
                }
            }
        });
        made
    }
}

impl<T> Index<Cell> for Raster<T> {
    type Output = T;

    #[inline]
    fn index(&self, cell: Cell) -> &T {
        &self.data[cell.row * self.cols + cell.col]
    }
}

impl<T> IndexMut<Cell> for Raster<T> {
    #[inline]
    fn index_mut(&mut self, cell: Cell) -> &mut T {
        &mut self.data[cell.row * self.cols + cell.col]
    }
}

/// Weights of four samples in a row for a place between the second and third, of the cubic B-spline.
pub(crate) fn b_spline(t: f32) -> [f32; 4] {
    let u = 1.0 - t;
    let (t2, t3) = (t * t, t * t * t);
    [
        u * u * u / 6.0,
        (3.0 * t3 - 6.0 * t2 + 4.0) / 6.0,
        (-3.0 * t3 + 3.0 * t2 + 3.0 * t + 1.0) / 6.0,
        t3 / 6.0,
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_grid_of_places_is_each_place_by_itself() {
        let raster =
            Raster::from_fn(9, 7, |col, row| (col * col + 3 * row) as f32 * 0.7 - (col * row) as f32);
        let cols: Vec<f64> = (0..40).map(|i| -1.0 + 0.27 * f64::from(i)).collect();
        let rows: Vec<f64> = (0..50).map(|i| 7.5 - 0.17 * f64::from(i)).collect();
        let grid = raster.bicubic_grid(&cols, &rows);
        for (row, &y) in rows.iter().enumerate() {
            for (col, &x) in cols.iter().enumerate() {
                assert_eq!(grid.row(row)[col].to_bits(), raster.bicubic(x, y).to_bits(), "{col} {row}");
            }
        }
    }

    #[test]
    fn a_plane_is_interpolated_exactly() {
        let plane = Raster::from_fn(9, 7, |c, r| 2.0 * c as f32 - 3.0 * r as f32);
        assert_eq!(plane.bilinear(2.5, 3.25), 5.0 - 9.75);
        assert!((plane.bicubic(2.5, 3.25) - (5.0 - 9.75)).abs() < 1e-5);
        assert_eq!(plane.bicubic(4.0, 2.0), 2.0);
    }

    #[test]
    fn range_passes_over_holes() {
        let mut raster = Raster::filled(3, 3, 5.0);
        raster[Cell { col: 1, row: 1 }] = f32::NAN;
        raster[Cell { col: 2, row: 1 }] = -1.0;
        assert_eq!(raster.range(), Some((-1.0, 5.0)));
        assert_eq!(Raster::filled(2, 2, f32::NAN).range(), None);
    }

    #[test]
    fn rows_become_columns() {
        for (cols, rows) in [(1, 1), (1, 70), (33, 64), (100, 31)] {
            let raster = Raster::from_fn(cols, rows, |c, r| (1000 * r + c) as i32);
            assert_eq!(raster.transposed(), Raster::from_fn(rows, cols, |c, r| (1000 * c + r) as i32));
        }
    }

    #[test]
    fn crop_takes_the_named_part() {
        let raster = Raster::from_fn(5, 4, |c, r| (10 * r + c) as f32);
        assert_eq!(raster.crop(1, 2, 2, 2).as_slice(), &[21.0, 22.0, 31.0, 32.0]);
    }

    #[test]
    fn wrong_lengths_make_no_raster() {
        assert!(Raster::from_vec(2, 2, vec![0.0; 3]).is_none());
        assert!(Raster::<f32>::from_vec(0, 2, vec![]).is_none());
    }
}
