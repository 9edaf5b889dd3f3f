//! Places on the map, counted in cells from its middle.
//!
//! Turning the map by a right angle swaps and negates such numbers, which loses no bit: so courses turn with the land.

use orogen_core::{Raster, math};

/// East and south of the middle of the map, in cells.
pub(super) type Place = [f64; 2];

/// The lattice of a map.
#[derive(Clone, Copy, Debug)]
pub(super) struct Grid {
    pub cols: usize,
    pub rows: usize,
    pub spacing_m: [f64; 2],
}

/// Parts of a cell that places are rounded to, so that sums and differences of them are exact.
const PARTS: f64 = 65536.0;

fn half(count: usize) -> f64 {
    (count - 1) as f64 * 0.5
}

/// The nearest of `count` samples; of two equally near the one farther from the middle.
fn nearest(at: f64, count: usize) -> usize {
    let whole = if count % 2 == 1 { at.round() } else { (at.abs().floor() + 0.5).copysign(at) };
    (whole + half(count)).clamp(0.0, (count - 1) as f64) as usize
}

impl Grid {
    pub fn of(height: &Raster<f32>, spacing_m: [f64; 2]) -> Self {
        Self { cols: height.cols(), rows: height.rows(), spacing_m }
    }

    /// The mean side of a cell, in metres.
    pub fn cell_m(&self) -> f64 {
        (self.spacing_m[0] * self.spacing_m[1]).sqrt()
    }

    pub fn place(&self, cell: usize) -> Place {
        [(cell % self.cols) as f64 - half(self.cols), (cell / self.cols) as f64 - half(self.rows)]
    }

    /// The cell that a place lies in.
    pub fn cell(&self, at: Place) -> usize {
        nearest(at[1], self.rows) * self.cols + nearest(at[0], self.cols)
    }

    /// Columns and rows from the first sample.
    pub fn column_row(&self, at: Place) -> [f64; 2] {
        [at[0] + half(self.cols), at[1] + half(self.rows)]
    }

    /// The other way round.
    pub fn place_at(&self, at: [f64; 2]) -> Place {
        [at[0] - half(self.cols), at[1] - half(self.rows)]
    }

    /// Whether two cells are the same or touch.
    pub fn touch(&self, a: usize, b: usize) -> bool {
        (a % self.cols).abs_diff(b % self.cols) <= 1 && (a / self.cols).abs_diff(b / self.cols) <= 1
    }

    /// The cell beside both that a straight line crosses on its way from one cell to another that touches it at a corner only.
    pub fn corner(&self, from: Place, to: Place) -> Option<usize> {
        let [a, b] = [self.cell(from), self.cell(to)].map(|cell| (cell % self.cols, cell / self.cols));
        if a.0.abs_diff(b.0) != 1 || a.1.abs_diff(b.1) != 1 {
            return None;
        }
        // Where the line leaves the column and the row of the first cell.
        let middle = self.place(a.1 * self.cols + a.0);
        let leaves = |k: usize, there: usize, here: usize| {
            let border = middle[k] + if there > here { 0.5 } else { -0.5 };
            (border - from[k]) / (to[k] - from[k])
        };
        let (x, y) = (leaves(0, b.0, a.0), leaves(1, b.1, a.1));
        match x.total_cmp(&y) {
            std::cmp::Ordering::Less => Some(a.1 * self.cols + b.0),
            std::cmp::Ordering::Greater => Some(b.1 * self.cols + a.0),
            std::cmp::Ordering::Equal => None,
        }
    }

    /// A vector in cells as metres.
    pub fn metres(&self, by: Place) -> Place {
        [by[0] * self.spacing_m[0], by[1] * self.spacing_m[1]]
    }

    /// Metres between two places.
    pub fn distance_m(&self, a: Place, b: Place) -> f64 {
        let [x, y] = self.metres([b[0] - a[0], b[1] - a[1]]);
        math::hypot(x, y)
    }

    /// A place rounded so that arithmetic with it is exact.
    pub fn rounded(at: Place) -> Place {
        at.map(|v| (v * PARTS).round() / PARTS)
    }

    /// The ground between samples; NaN beside a hole.
    pub fn ground(&self, height: &Raster<f32>, at: Place) -> f64 {
        let split = |at: f64, count: usize| {
            let at = (at + half(count)).clamp(0.0, (count - 1) as f64);
            let low = at.floor().min(count.saturating_sub(2) as f64);
            (low as usize, (low as usize + 1).min(count - 1), at - low)
        };
        let (west, east, x) = split(at[0], self.cols);
        let (north, south, y) = split(at[1], self.rows);
        let (above, below) = (height.row(north), height.row(south));
        let at = |h: f32, weight: f64| f64::from(h) * weight;
        // Corners across from each other first: a turn of the map only swaps summands.
        (at(above[west], (1.0 - x) * (1.0 - y)) + at(below[east], x * y))
            + (at(above[east], x * (1.0 - y)) + at(below[west], (1.0 - x) * y))
    }
}
