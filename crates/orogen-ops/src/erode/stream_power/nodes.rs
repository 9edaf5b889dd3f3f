//! The lattices that the land grows up on: a coarse one first, each next one twice as fine, the frame's own last.
//!
//! Nodes of the coarse lattices are moved off their places at random. On an even lattice the first valleys would run
//! along its lines, and every finer lattice would inherit them.

use orogen_core::{Ctx, D8, Frame, Raster, Seed};

use super::bend::Bend;
use crate::drainage::ways::Spans;

/// Cells along the longer side of the coarsest lattice.
const COARSE: f64 = 128.0;
/// Lattices with more cells along the longer side are even: by then valleys have their places.
const JITTERED: f64 = 300.0;
/// Cells along the longer side of the base: the lattice that decides where valleys run, whatever the frame's own.
const BASE: f64 = 512.0;
/// How far a node may be moved, in cells.
const JITTER: f64 = 0.45;

/// A lattice over the extent of a frame.
pub struct Nodes {
    pub cols: usize,
    pub rows: usize,
    pub spacing_m: [f64; 2],
    /// Whether it is finer than the base, so that it may add only detail.
    pub detail: bool,
    /// Where each node lies, in cells from the north-west corner; none on an even lattice.
    moved: Option<Vec<[f32; 2]>>,
}

/// The lattices for a frame, coarse to fine; the last is that of the frame.
#[must_use]
pub fn lattices(frame: &Frame, seed: Seed) -> Vec<Nodes> {
    let [dx, dy] = frame.spacing_m();
    let size = [dx * (frame.cols() - 1) as f64, dy * (frame.rows() - 1) as f64];
    let most = (frame.cols().max(frame.rows()) - 1) as f64;
    let mut lattices = Vec::new();
    let mut cells = COARSE;
    // The step from the last of these to the frame is to be more than a hair.
    while cells < 0.75 * most {
        let side_m = size[0].max(size[1]) / cells;
        let [cols, rows] = size.map(|size| (size / side_m).round().max(1.0) as usize + 1);
        let spacing_m = [size[0] / (cols - 1) as f64, size[1] / (rows - 1) as f64];
        let moved = (cells < JITTERED).then(|| moved(cols, rows, Seed(seed.bits(cells as u64))));
        lattices.push(Nodes { cols, rows, spacing_m, detail: cells > BASE, moved });
        cells *= 2.0;
    }
    let detail = cells > BASE;
    lattices.push(Nodes { cols: frame.cols(), rows: frame.rows(), spacing_m: [dx, dy], detail, moved: None });
    lattices
}

/// The lattice that decides where valleys run, where a frame is finer than that.
#[must_use]
pub fn base(frame: &Frame) -> Option<Nodes> {
    let lattices = lattices(frame, Seed(0));
    let is_finer = lattices.last().is_some_and(|last| last.detail);
    is_finer.then(|| lattices.into_iter().rfind(|nodes| !nodes.detail)).flatten()
}

/// Nodes moved at random; those at the edge stay on it.
fn moved(cols: usize, rows: usize, seed: Seed) -> Vec<[f32; 2]> {
    let off = |at: usize, count: usize, draw: f64| {
        let free = at > 0 && at + 1 < count;
        at as f64 + if free { JITTER * (2.0 * draw - 1.0) } else { 0.0 }
    };
    (0..cols * rows)
        .map(|cell| {
            let (col, row) = (cell % cols, cell / cols);
            let own_seed = Seed(seed.bits2(col as i64, row as i64));
            [off(col, cols, own_seed.unit(0)) as f32, off(row, rows, own_seed.unit(1)) as f32]
        })
        .collect()
}

impl Nodes {
    /// An even lattice of about so many cells along the longer side of a frame; along a side where the frame has no more, that of the frame.
    #[must_use]
    pub fn even(frame: &Frame, cells: f64) -> Self {
        let [dx, dy] = frame.spacing_m();
        let most = (frame.cols().max(frame.rows()) - 1) as f64;
        let (mut cols, mut rows, mut spacing_m) = (frame.cols(), frame.rows(), [dx, dy]);
        if cells < most {
            let size = [dx * (cols - 1) as f64, dy * (rows - 1) as f64];
            let side_m = size[0].max(size[1]) / cells;
            let nodes = size.map(|size| (size / side_m).round().max(1.0) as usize + 1);
            // Never finer than the frame, along either side.
            (cols, rows) = (nodes[0].min(cols), nodes[1].min(rows));
            spacing_m = [size[0] / (cols - 1) as f64, size[1] / (rows - 1) as f64];
        }
        Self { cols, rows, spacing_m, detail: false, moved: None }
    }

    /// Where a node lies, in cells.
    #[inline]
    fn place(&self, col: usize, row: usize) -> [f32; 2] {
        match &self.moved {
            None => [col as f32, row as f32],
            Some(moved) => moved[row * self.cols + col],
        }
    }

    /// Whether no node is moved off its place.
    #[must_use]
    pub fn is_even(&self) -> bool {
        self.moved.is_none()
    }

    /// Where a node lies, in metres from the north-west corner.
    #[must_use]
    pub fn place_m(&self, col: usize, row: usize) -> [f64; 2] {
        let [c, r] = self.place(col, row);
        [f64::from(c) * self.spacing_m[0], f64::from(r) * self.spacing_m[1]]
    }

    /// The node of the even lattice nearest to a place in metres.
    #[must_use]
    pub fn nearest(&self, place_m: [f64; 2]) -> usize {
        let at = |axis: usize, count: usize| {
            (place_m[axis] / self.spacing_m[axis]).round().clamp(0.0, (count - 1) as f64) as usize
        };
        at(1, self.rows) * self.cols + at(0, self.cols)
    }

    /// The nodes on the straight way between two, both ends left out, each with its share of the way.
    pub fn between(&self, from: usize, to: usize) -> impl Iterator<Item = (usize, f32)> + use<> {
        let cols = self.cols;
        let at = |node: usize| [(node % cols) as f32, (node / cols) as f32];
        let (a, b) = (at(from), at(to));
        let steps = (b[0] - a[0]).abs().max((b[1] - a[1]).abs()) as usize;
        (1..steps).map(move |i| {
            let share = i as f32 / steps as f32;
            let [col, row] = [0, 1].map(|k| (a[k] + share * (b[k] - a[k])).round() as usize);
            (row * cols + col, share)
        })
    }

    /// One over the distances between neighbours.
    #[must_use]
    pub fn spans(&self) -> Spans {
        if self.moved.is_none() {
            return Spans::even(self.spacing_m);
        }
        let each = (0..self.cols * self.rows).map(|cell| {
            let (col, row) = (cell % self.cols, cell / self.cols);
            let here = self.place_m(col, row);
            D8.map(|(dc, dr)| {
                let (col, row) = (col.wrapping_add_signed(dc as isize), row.wrapping_add_signed(dr as isize));
                if col >= self.cols || row >= self.rows {
                    return 0.0;
                }
                let there = self.place_m(col, row);
                let (x, y) = (there[0] - here[0], there[1] - here[1]);
                (1.0 / (x * x + y * y).sqrt()) as f32
            })
        });
        Spans::Each(each.collect())
    }

    /// Values of a raster over the same extent at the nodes, without regard to what lies between; a finer raster is thinned.
    #[must_use]
    pub fn thin(&self, raster: &Raster<f32>) -> Raster<f32> {
        if (self.cols, self.rows) == (raster.cols(), raster.rows()) && self.moved.is_none() {
            return raster.clone();
        }
        let per_col = (raster.cols() - 1) as f64 / (self.cols - 1) as f64;
        let per_row = (raster.rows() - 1) as f64 / (self.rows - 1) as f64;
        Raster::from_fn(self.cols, self.rows, |col, row| {
            let [c, r] = self.place(col, row).map(f64::from);
            let (c, r) = (c * per_col, r * per_row);
            // On a sample a hole beside it does not count.
            if c.fract() == 0.0 && r.fract() == 0.0 {
                raster.row(r as usize)[c as usize]
            } else {
                raster.bilinear(c, r)
            }
        })
    }

    /// Flags of a finer raster at the nodes.
    #[must_use]
    pub fn thin_flags(&self, raster: &Raster<bool>) -> Raster<bool> {
        let at = |node: usize, nodes: usize, samples: usize| {
            (node as f64 * (samples - 1) as f64 / (nodes - 1) as f64).round() as usize
        };
        Raster::from_fn(self.cols, self.rows, |col, row| {
            raster.row(at(row, self.rows, raster.rows()))[at(col, self.cols, raster.cols())]
        })
    }

    /// Values of a raster at the nodes, each the mean of what lies round it; a node in a hole is a hole.
    #[must_use]
    pub fn sample(&self, raster: &Raster<f32>) -> Raster<f32> {
        if (self.cols, self.rows) == (raster.cols(), raster.rows()) && self.moved.is_none() {
            return raster.clone();
        }
        const TAPS: [f64; 5] = [1.0, 4.0, 6.0, 4.0, 1.0];
        let per_col = (raster.cols() - 1) as f64 / (self.cols - 1) as f64;
        let per_row = (raster.rows() - 1) as f64 / (self.rows - 1) as f64;
        Raster::from_fn(self.cols, self.rows, |col, row| {
            let [c, r] = self.place(col, row).map(f64::from);
            let middle = raster.bilinear(c * per_col, r * per_row);
            if middle.is_nan() {
                return middle;
            }
            let (mut sum, mut weights) = (0.0, 0.0);
            for (j, wr) in TAPS.iter().enumerate() {
                for (i, wc) in TAPS.iter().enumerate() {
                    let at = raster.bilinear(
                        (c + (i as f64 - 2.0) / 4.0) * per_col,
                        (r + (j as f64 - 2.0) / 4.0) * per_row,
                    );
                    if !at.is_nan() {
                        sum += wc * wr * f64::from(at);
                        weights += wc * wr;
                    }
                }
            }
            (sum / weights) as f32
        })
    }

    /// Values at the nodes of a coarser lattice, brought to these along a bend; 0 where there is none near.
    #[must_use]
    pub fn refine(
        &self,
        coarse: &Self,
        values: &Raster<f32>,
        bend: Option<&Bend>,
        ctx: &Ctx<'_>,
    ) -> Raster<f32> {
        let per_col = (coarse.cols - 1) as f64 / (self.cols - 1) as f64;
        let per_row = (coarse.rows - 1) as f64 / (self.rows - 1) as f64;
        let mut fine = Raster::filled(self.cols, self.rows, 0.0);
        fine.par_rows(|row, out| {
            // The caller asks too before it uses this.
            if ctx.stop_if_asked().is_err() {
                return;
            }
            for (col, value) in out.iter_mut().enumerate() {
                let [c, r] = self.place(col, row).map(f64::from);
                let place = [c * per_col, r * per_row];
                let [c, r] = bend.map_or(place, |bend| bend.from(place));
                *value = match &coarse.moved {
                    None => values.bicubic(c, r),
                    Some(_) => coarse.near(values, c, r),
                };
            }
        });
        fine
    }

    /// The mean of the nodes round a place, the nearest counting by far the most.
    fn near(&self, values: &Raster<f32>, c: f64, r: f64) -> f32 {
        let (middle_col, middle_row) = (c.round() as isize, r.round() as isize);
        let (mut sum, mut weights) = (0.0, 0.0);
        for row in middle_row - 2..=middle_row + 2 {
            for col in middle_col - 2..=middle_col + 2 {
                if col < 0 || row < 0 || col as usize >= self.cols || row as usize >= self.rows {
                    continue;
                }
                let [nc, nr] = self.place(col as usize, row as usize).map(f64::from);
                let d2 = (nc - c) * (nc - c) + (nr - r) * (nr - r);
                let fade = (1.0 - d2 / 2.2).max(0.0);
                let weight = fade * fade * fade / (d2 + 0.05);
                let value = f64::from(values.row(row as usize)[col as usize]);
                if !value.is_nan() {
                    sum += weight * value;
                    weights += weight;
                }
            }
        }
        if weights > 0.0 { (sum / weights) as f32 } else { 0.0 }
    }
}
