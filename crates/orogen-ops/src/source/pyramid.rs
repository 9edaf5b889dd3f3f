//! A lattice that is halved again and again, on any window: what the subdivision sources share.
//!
//! A level is a lattice of points; the next has twice as many along each axis. Random numbers depend on the level and
//! the point, and a window of a level needs the same window of the level above it and at most one ring more. So a
//! window is worked out from the top with small margins, and shared edges of two windows are equal to the bit.

use orogen_core::{Cancelled, Ctx, Frame, Raster, Seed, math};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::lattice::{Axis, Blend, Share, interpolate};

/// What lies beyond the land.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Edges {
    /// More land: squares go on without end from the origin of the world, and tiles fit together.
    #[default]
    Endless,
    /// Nothing: whole squares are laid over the recipe's frame, and points on its border have fewer neighbours.
    Closed,
    /// The opposite side: whole squares are laid over the recipe's frame, and its land loops.
    Wrap,
}

/// Where the points of every level lie.
pub(super) struct Pyramid {
    /// The north-west point (0, 0) of every level.
    origin_m: [f64; 2],
    /// Sides of a square of level 0.
    cell_m: [f64; 2],
    /// Squares of level 0 over the frame, when there is an end to them.
    count: Option<[i64; 2]>,
    edges: Edges,
    /// Points of the full lattice from one point of level 0 to the next: more than 1 where it is thinned.
    stride: i64,
}

/// No level is finer: a lattice index must stay a whole number that `f64` holds.
const MOST_LEVELS: u32 = 40;

/// One level of a pyramid, as the rules of subdivision see it.
pub(super) struct Level {
    /// 0 is the coarsest.
    pub number: u32,
    /// Seed of this level.
    pub seed: Seed,
    /// Last point along each axis, when the land ends there.
    pub last: Option<[i64; 2]>,
    /// Points along each axis after which the random numbers repeat, when the land loops.
    pub period: Option<[i64; 2]>,
    /// Points of the full lattice from one point to the next, so that a thinned one has the random numbers of its places.
    pub stride: i64,
}

impl Level {
    /// The seed of a row of points.
    #[inline]
    pub fn row_seed(&self, j: i64) -> Seed {
        Seed(self.seed.bits((self.stride * self.period.map_or(j, |[_, n]| j.rem_euclid(n))) as u64))
    }

    /// Random bits for every `step`-th point of a row from `first` on, into `out` by `draw`.
    #[inline]
    pub fn draw(&self, j: i64, first: i64, step: i64, out: &mut [f32], draw: impl Fn(u64) -> f32) {
        let row = self.row_seed(j);
        match self.period {
            None => {
                let (first, step) = (first * self.stride, step * self.stride);
                for (k, v) in out.iter_mut().enumerate() {
                    *v = draw(row.bits((first + step * k as i64) as u64));
                }
            }
            Some([n, _]) => {
                for (k, v) in out.iter_mut().enumerate() {
                    let i = (first + step * k as i64).rem_euclid(n) * self.stride;
                    *v = draw(row.bits(i as u64));
                }
            }
        }
    }
}

/// Points of a level on a window: value (c, r) is that of point (first + c, first + r).
pub(super) struct Grid {
    /// Indices of the first point.
    pub first: [i64; 2],
    /// The heights.
    pub raster: Raster<f32>,
}

impl Grid {
    /// The value of a point of the window.
    #[inline]
    pub fn row(&self, j: i64) -> &[f32] {
        self.raster.row((j - self.first[1]) as usize)
    }
}

/// How a level follows from the one above it.
pub(super) trait Rule: Sync {
    /// Points further than a window that it needs of its own level.
    const MARGIN: i64;
    /// The points of level 0.
    fn base(&self, level: &Level, grid: &mut Grid);
    /// The points of a finer level.
    fn refine(&self, level: &Level, from: &Grid, to: &mut Grid);
}

impl Pyramid {
    /// Squares of about `wavelength_m`, from the origin of the world or over its frame.
    pub fn new(edges: Edges, wavelength_m: f64, world: &Frame) -> Self {
        if edges == Edges::Endless {
            return Self { origin_m: [0.0; 2], cell_m: [wavelength_m; 2], count: None, edges, stride: 1 };
        }
        let extent = world.extent();
        let size = extent.size().map(|side| side.max(1e-3));
        // A power of two, so that 2^n + 1 samples meet points of the lattice.
        let count = size.map(|side| 1i64 << math::log2(side / wavelength_m).round().clamp(0.0, 20.0) as u32);
        let cell_m = [size[0] / count[0] as f64, size[1] / count[1] as f64];
        Self { origin_m: [extent.min[0], extent.max[1]], cell_m, count: Some(count), edges, stride: 1 }
    }

    /// The same lattice without points that are closer together than samples: every second, fourth or further one, at
    /// the height it has on the full lattice.
    fn thinned(&self, frame: &Frame) -> Self {
        let spacing = frame.spacing_m();
        let least = (self.cell_m[0] / spacing[0]).min(self.cell_m[1] / spacing[1]);
        let most = self.count.map_or(MOST_LEVELS, |n| n[0].min(n[1]).max(1).ilog2());
        let by = (math::log2(1.0 / least) - 1e-9).ceil().clamp(0.0, f64::from(most)) as u32;
        let (cell_m, count) =
            (self.cell_m.map(|m| m * (1i64 << by) as f64), self.count.map(|n| n.map(|n| n >> by)));
        Self { cell_m, count, stride: 1i64 << by, ..*self }
    }

    fn places(&self, frame: &Frame, level: u32) -> [Vec<f64>; 2] {
        let scale = math::exp2(f64::from(level));
        let last = |axis: usize| match (self.edges, self.count) {
            (Edges::Closed, Some(count)) => count[axis] as f64 * scale,
            _ => f64::INFINITY,
        };
        let low = if self.edges == Edges::Closed { 0.0 } else { f64::NEG_INFINITY };
        let x = |col| ((frame.x_m(col) - self.origin_m[0]) / self.cell_m[0] * scale).clamp(low, last(0));
        let y = |row| ((self.origin_m[1] - frame.y_m(row)) / self.cell_m[1] * scale).clamp(low, last(1));
        [(0..frame.cols()).map(x).collect(), (0..frame.rows()).map(y).collect()]
    }

    /// The finest level that samples can show, and whether its points are the samples.
    fn finest(&self, frame: &Frame, detail_m: f64) -> (u32, bool) {
        let spacing = frame.spacing_m();
        let ratio = [self.cell_m[0] / spacing[0], self.cell_m[1] / spacing[1]];
        let least = ratio[0].min(ratio[1]);
        let cell = self.cell_m[0].min(self.cell_m[1]);
        let limit =
            if detail_m > 0.0 { math::log2(cell / detail_m + 1e-9).max(0.0) as u32 } else { MOST_LEVELS };
        // Between the points of a thinned lattice lie points of the full one, not those of a finer level.
        let limit = if self.stride > 1 { 0 } else { limit };
        let exact = math::log2(least).round().clamp(0.0, f64::from(MOST_LEVELS)) as u32;
        let scale = math::exp2(f64::from(exact));
        let even = ratio.iter().all(|r| (r / scale - 1.0).abs() < 1e-9);
        if even && exact <= limit {
            let whole = |axis: &[f64]| {
                let ends = [axis.first(), axis.last()];
                ends.into_iter().flatten().all(|u| (u - u.round()).abs() < 1e-4)
                    && axis
                        .last()
                        .zip(axis.first())
                        .is_some_and(|(b, a)| (b.round() - a.round()) as usize + 1 == axis.len())
            };
            let places = self.places(frame, exact);
            if places.iter().all(|axis| whole(axis)) {
                return (exact, true);
            }
        }
        // A lattice a fifth coarser than the samples: with all levels above it, it is smaller than the land.
        let finest = math::log2(least / 1.2).floor().clamp(0.0, f64::from(MOST_LEVELS)) as u32;
        (finest.min(limit), false)
    }

    fn level(&self, number: u32, seed: Seed) -> Level {
        let points = self.count.map(|count| count.map(|n| n << number));
        Level {
            number,
            seed: Seed(seed.bits(u64::from(number))),
            last: points.filter(|_| self.edges == Edges::Closed),
            period: points.filter(|_| self.edges == Edges::Wrap),
            stride: self.stride,
        }
    }

    /// The heights on a frame: all levels by a rule, then the samples. Moves about 11 bytes a sample.
    ///
    /// # Errors
    /// When cancelled.
    pub fn heights<R: Rule>(
        &self,
        rule: &R,
        frame: &Frame,
        detail_m: f64,
        seed: Seed,
        ctx: &Ctx<'_>,
    ) -> Result<Raster<f32>, Cancelled> {
        self.thinned(frame).thick_heights(rule, frame, detail_m, seed, ctx)
    }

    fn thick_heights<R: Rule>(
        &self,
        rule: &R,
        frame: &Frame,
        detail_m: f64,
        seed: Seed,
        ctx: &Ctx<'_>,
    ) -> Result<Raster<f32>, Cancelled> {
        let (finest, exact) = self.finest(frame, detail_m);
        let [xs, ys] = self.places(frame, finest);
        if exact {
            let first = [xs[0].round() as i64, ys[0].round() as i64];
            return self.grid(rule, finest, first, [xs.len(), ys.len()], seed, (0, 100), ctx);
        }
        let cols = Axis::new(xs.into_iter(), Blend::Through);
        let rows = Axis::new(ys.into_iter(), Blend::Through);
        let part =
            self.grid(rule, finest, [cols.first, rows.first], [cols.count, rows.count], seed, (0, 60), ctx)?;
        interpolate(&part, &cols, &rows, (60, 100), ctx)
    }

    /// One level on a window. Points beyond closed edges repeat the edge.
    fn grid<R: Rule>(
        &self,
        rule: &R,
        finest: u32,
        first: [i64; 2],
        size: [usize; 2],
        seed: Seed,
        (start, end): (usize, usize),
        ctx: &Ctx<'_>,
    ) -> Result<Raster<f32>, Cancelled> {
        let clip = |mut w: [[i64; 2]; 2], level: u32| {
            if let Some(last) = self.level(level, seed).last {
                for axis in 0..2 {
                    w[axis] = w[axis].map(|i| i.clamp(0, last[axis]));
                }
            }
            w
        };
        let wanted = [0, 1].map(|axis| [first[axis], first[axis] + size[axis] as i64 - 1]);
        let mut windows = vec![clip(wanted, finest)];
        for level in (0..finest).rev() {
            let below = windows[windows.len() - 1];
            let above = below.map(|[a, b]| {
                [(a - R::MARGIN).div_euclid(2), (b + R::MARGIN).div_euclid(2) + (b + R::MARGIN).rem_euclid(2)]
            });
            windows.push(clip(above, level));
        }
        windows.reverse();
        let blank = |[[a, b], [c, d]]: [[i64; 2]; 2]| Grid {
            first: [a, c],
            raster: Raster::filled((b - a + 1) as usize, (d - c + 1) as usize, 0.0),
        };
        let total: usize =
            windows.iter().map(|[x, y]| ((x[1] - x[0] + 1) * (y[1] - y[0] + 1)) as usize).sum();
        let mut done = 0;
        let mut grid = blank(windows[0]);
        rule.base(&self.level(0, seed), &mut grid);
        for (level, window) in windows.iter().enumerate().skip(1) {
            done += grid.raster.as_slice().len();
            let share = start as f64 + (end - start) as f64 * done as f64 / total as f64;
            ctx.tick((share * 100.0) as usize, 10_000)?;
            let mut finer = blank(*window);
            rule.refine(&self.level(level as u32, seed), &grid, &mut finer);
            grid = finer;
        }
        if (grid.raster.cols(), grid.raster.rows()) == (size[0], size[1]) {
            return Ok(grid.raster);
        }
        let mut padded = Raster::filled(size[0], size[1], 0.0);
        let shift = [first[0] - grid.first[0], first[1] - grid.first[1]].map(|s| s as isize);
        let progress = Share::new(padded.rows(), end, end);
        padded.try_par_rows(|row, values| {
            for (col, v) in values.iter_mut().enumerate() {
                *v = grid.raster.clamped(col as isize + shift[0], row as isize + shift[1]);
            }
            progress.done(ctx)
        })?;
        Ok(padded)
    }
}

/// The points of a finer level as smooth means of the one above, each with what `out` holds already added: the cubic
/// B-spline, whose subdivision leaves no creases. Needs a margin of 2.
pub(super) fn smooth(from: &Grid, west: i64, j: i64, out: &mut [f32]) {
    let line = |k: usize, j: i64| from.row(j)[k];
    let (c, even) = (j.div_euclid(2), j.rem_euclid(2) == 0);
    // Down the columns first: one smooth row of the level above.
    let first = (west - 2).div_euclid(2);
    let last = (west + out.len() as i64 + 1).div_euclid(2) + 1;
    let start = (first - from.first[0]).max(0);
    let end = (last - from.first[0] + 1).min(from.raster.cols() as i64);
    let column: Vec<f32> = (start..end)
        .map(|k| {
            let k = k as usize;
            if even {
                0.75 * line(k, c) + 0.125 * (line(k, c - 1) + line(k, c + 1))
            } else {
                0.5 * (line(k, c) + line(k, c + 1))
            }
        })
        .collect();
    for (n, v) in out.iter_mut().enumerate() {
        let i = west + n as i64;
        let k = (i.div_euclid(2) - from.first[0] - start) as usize;
        *v += if i.rem_euclid(2) == 0 {
            0.75 * column[k] + 0.125 * (column[k - 1] + column[k + 1])
        } else {
            0.5 * (column[k] + column[k + 1])
        };
    }
}
