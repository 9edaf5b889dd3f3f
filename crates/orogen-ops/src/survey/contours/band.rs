//! Contours of a band of rows: crossings on the edges of cells, linked cell by cell, then followed.
//!
//! Bands are of a fixed number of rows and independent, so they share out among threads. A line that leaves a band is joined to its other half afterwards.

use std::sync::atomic::{AtomicU64, Ordering};

use orogen_core::{Cancelled, Ctx, OpError};
use rayon::prelude::*;

use super::surface::Surface;
use super::{Levels, MOST_VERTICES, room_for, too_many};

/// Rows of cells in a band.
const ROWS: usize = 64;
/// Stands for the number of levels below a hole.
const HOLE: i32 = i32::MIN;
/// Crossings between two looks whether to go on.
const BETWEEN_LOOKS: usize = 1 << 16;
/// No crossing.
const NONE: u32 = u32::MAX;

/// Where the end of a chain lies.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum End {
    /// At the edge of the land or at a hole.
    Free,
    /// On the first row of the band, on so manieth crossing of it; the chain goes on in the band before.
    North(u32),
    /// On the last row.
    South(u32),
    /// Nowhere: the chain is a ring.
    Ring,
}

/// A piece of a contour inside a band.
pub(super) struct Chain {
    pub level: i32,
    pub start: End,
    pub end: End,
    /// Where its points end in the band's; they start where those of the chain before end.
    pub points_end: usize,
}

/// The contours of a band.
pub(super) struct Band {
    pub chains: Vec<Chain>,
    pub points: Vec<[f64; 2]>,
    /// Crossings on the first and on the last row.
    pub rims: [usize; 2],
}

/// All bands, from the north.
pub(super) fn all(surface: &Surface<'_>, levels: &Levels, ctx: &Ctx<'_>) -> Result<Vec<Band>, OpError> {
    let cells = surface.rows() - 1;
    let count = cells.div_ceil(ROWS);
    let (counter, vertices) = (ctx.counter(count), AtomicU64::new(0));
    let tracer = || Tracer { surface, levels, vertices: &vertices, crossings: Vec::new(), ctx };
    (0..count)
        .into_par_iter()
        .map_init(tracer, |tracer, band| {
            let traced = tracer.band(band * ROWS, cells.min((band + 1) * ROWS))?;
            counter.done()?;
            Ok(traced)
        })
        .collect()
}

/// A place where a level crosses an edge.
#[derive(Clone, Copy)]
struct Crossing {
    at: [f64; 2],
    level: i32,
    next: u32,
    has_last: bool,
}

struct Tracer<'a> {
    surface: &'a Surface<'a>,
    levels: &'a Levels,
    vertices: &'a AtomicU64,
    /// Those of the band; kept for their memory.
    crossings: Vec<Crossing>,
    ctx: &'a Ctx<'a>,
}

/// A row of samples: heights, how many levels lie below each, and the first crossing of each edge to the east.
#[derive(Clone)]
struct Line {
    z: Vec<f32>,
    below: Vec<i32>,
    east: Vec<u32>,
}

impl Tracer<'_> {
    fn band(&mut self, from: usize, to: usize) -> Result<Band, OpError> {
        self.crossings.clear();
        let cols = self.surface.cols();
        let line = Line { z: vec![0.0; cols], below: vec![0; cols], east: vec![0; cols] };
        let (mut north, mut south) = (line.clone(), line);
        let mut down = vec![0; cols];
        self.fill(from, &mut north)?;
        let first_rim = self.crossings.len();
        let mut last_rim = 0..first_rim;
        for row in from..to {
            self.ctx.stop_if_asked()?;
            self.crossings_down(row, &north, row + 1, &mut south, &mut down)?;
            let start = self.crossings.len();
            self.crossings_east(row + 1, &mut south)?;
            last_rim = start..self.crossings.len();
            self.link(&north, &south, &down);
            std::mem::swap(&mut north, &mut south);
        }
        self.follow(first_rim, last_rim)
    }

    fn fill(&mut self, row: usize, line: &mut Line) -> Result<(), OpError> {
        self.heights(row, line);
        self.crossings_east(row, line)
    }

    /// Heights of a row and the number of levels below each: of those levels a sample lies above.
    fn heights(&self, row: usize, line: &mut Line) {
        self.surface.fill(row, &mut line.z);
        let Levels { base_m, interval_m, first } = *self.levels;
        let per_m = 1.0 / interval_m;
        for (below, &z) in line.below.iter_mut().zip(&line.z) {
            let z = f64::from(z);
            // Levels are numbered from below all ground, so the cast cuts off towards the level beneath. Rounding may
            // have crossed one; the comparisons with the levels themselves put that right.
            let number = ((z - base_m) * per_m - first) as i32;
            let above = |number: i32| i32::from(z > base_m + (first + f64::from(number)) * interval_m);
            let number = number + above(number) - (1 - above(number - 1));
            *below = if z.is_nan() { HOLE } else { number };
        }
    }

    fn crossings_down(
        &mut self,
        row: usize,
        north: &Line,
        next: usize,
        south: &mut Line,
        down: &mut [u32],
    ) -> Result<(), OpError> {
        self.heights(next, south);
        self.reserve(north.below.iter().zip(&south.below))?;
        for col in 0..down.len() {
            down[col] = self.crossings.len() as u32;
            let (a, b) = (north.below[col], south.below[col]);
            if a != b && a != HOLE && b != HOLE {
                let (za, zb) = (f64::from(north.z[col]), f64::from(south.z[col]));
                for level in a.min(b)..a.max(b) {
                    let t = (self.levels.height_m(level) - za) / (zb - za);
                    self.push([col as f64, row as f64 + t], level);
                }
            }
        }
        Ok(())
    }

    fn crossings_east(&mut self, row: usize, line: &mut Line) -> Result<(), OpError> {
        self.reserve(line.below.iter().zip(&line.below[1..]))?;
        for col in 0..line.z.len() - 1 {
            line.east[col] = self.crossings.len() as u32;
            let (a, b) = (line.below[col], line.below[col + 1]);
            if a != b && a != HOLE && b != HOLE {
                let (za, zb) = (f64::from(line.z[col]), f64::from(line.z[col + 1]));
                for level in a.min(b)..a.max(b) {
                    let t = (self.levels.height_m(level) - za) / (zb - za);
                    self.push([col as f64 + t, row as f64], level);
                }
            }
        }
        Ok(())
    }

    /// Memory for the crossings of some edges; refuses more than may be before there is memory for them.
    fn reserve<'b>(&mut self, edges: impl Iterator<Item = (&'b i32, &'b i32)>) -> Result<(), OpError> {
        let count: u64 =
            edges.map(|(&a, &b)| if a == HOLE || b == HOLE { 0 } else { u64::from(a.abs_diff(b)) }).sum();
        let total = self.vertices.fetch_add(count, Ordering::Relaxed) + count;
        if total > MOST_VERTICES {
            return Err(too_many(self.levels.interval_m));
        }
        room_for(&mut self.crossings, count as usize)
    }

    #[inline]
    fn push(&mut self, at: [f64; 2], level: i32) {
        self.crossings.push(Crossing { at, level, next: NONE, has_last: false });
    }

    /// Links the crossings of every cell between two rows: from where a line enters to where it leaves.
    fn link(&mut self, north: &Line, south: &Line, down: &[u32]) {
        for col in 0..down.len() - 1 {
            let (nw, ne) = (north.below[col], north.below[col + 1]);
            let (sw, se) = (south.below[col], south.below[col + 1]);
            let low = nw.min(ne).min(sw.min(se));
            let high = nw.max(ne).max(sw.max(se));
            if low == high || low == HOLE {
                continue;
            }
            // An edge's crossings start with its lower end.
            let n = north.east[col].wrapping_sub(nw.min(ne) as u32);
            let s = south.east[col].wrapping_sub(sw.min(se) as u32);
            let w = down[col].wrapping_sub(nw.min(sw) as u32);
            let e = down[col + 1].wrapping_sub(ne.min(se) as u32);
            for level in low..high {
                let above = |corner: i32| usize::from(corner > level);
                let case = above(nw) | above(ne) << 1 | above(se) << 2 | above(sw) << 3;
                let k = level as u32;
                let mut join = |from: u32, to: u32| {
                    let (from, to) = (from.wrapping_add(k), to.wrapping_add(k));
                    self.crossings[from as usize].next = to;
                    self.crossings[to as usize].has_last = true;
                };
                match case {
                    1 => join(w, n),
                    2 => join(n, e),
                    3 => join(w, e),
                    4 => join(e, s),
                    6 => join(n, s),
                    7 => join(w, s),
                    8 => join(s, w),
                    9 => join(s, n),
                    11 => join(s, e),
                    12 => join(e, w),
                    13 => join(e, n),
                    14 => join(n, w),
                    5 | 10 => {
                        let corners = [north.z[col], north.z[col + 1], south.z[col], south.z[col + 1]];
                        let mean = 0.25 * corners.iter().map(|&z| f64::from(z)).sum::<f64>();
                        let joined = mean > self.levels.height_m(level);
                        let pairs = match (case, joined) {
                            (5, true) => [(e, n), (w, s)],
                            (5, false) => [(w, n), (e, s)],
                            (_, true) => [(n, w), (s, e)],
                            (_, false) => [(n, e), (s, w)],
                        };
                        pairs.into_iter().for_each(|(from, to)| join(from, to));
                    }
                    _ => {}
                }
            }
        }
    }

    /// Follows the links: first lines with a start, then rings.
    fn follow(&mut self, first_rim: usize, last_rim: std::ops::Range<usize>) -> Result<Band, OpError> {
        let rims = [first_rim, last_rim.len()];
        let mut band = Band { chains: Vec::new(), points: Vec::new(), rims };
        // Lines that are closed repeat their first point. Each has at least three others.
        room_for(&mut band.points, self.crossings.len() + self.crossings.len() / 3)?;
        let end = |id: usize| {
            if id < first_rim {
                End::North(id as u32)
            } else if last_rim.contains(&id) {
                End::South((id - last_rim.start) as u32)
            } else {
                End::Free
            }
        };
        for start in 0..self.crossings.len() {
            self.look(start)?;
            let crossing = self.crossings[start];
            if !crossing.has_last && crossing.next != NONE {
                let last = self.walk(start, &mut band.points);
                let chain = Chain {
                    level: crossing.level,
                    start: end(start),
                    end: end(last),
                    points_end: band.points.len(),
                };
                band.chains.push(chain);
            }
        }
        for start in 0..self.crossings.len() {
            self.look(start)?;
            let crossing = self.crossings[start];
            if crossing.next != NONE {
                let first = band.points.len();
                self.walk(start, &mut band.points);
                if band.points.len() - first < 4 {
                    band.points.truncate(first); // nothing but a sample exactly on the level
                    continue;
                }
                let points_end = band.points.len();
                band.chains.push(Chain {
                    level: crossing.level,
                    start: End::Ring,
                    end: End::Ring,
                    points_end,
                });
            }
        }
        band.points.shrink_to_fit();
        Ok(band)
    }

    /// Looks now and then whether to go on.
    fn look(&self, count: usize) -> Result<(), Cancelled> {
        if count.is_multiple_of(BETWEEN_LOOKS) { self.ctx.stop_if_asked() } else { Ok(()) }
    }

    /// Takes the points from a crossing on, each once, and unlinks them; the last crossing.
    fn walk(&mut self, start: usize, points: &mut Vec<[f64; 2]>) -> usize {
        let mut id = start;
        points.push(self.crossings[id].at);
        loop {
            let next = std::mem::replace(&mut self.crossings[id].next, NONE);
            if next == NONE {
                return id;
            }
            id = next as usize;
            let at = self.crossings[id].at;
            // Crossings at a sample that lies exactly on the level fall together.
            if points.last() != Some(&at) {
                points.push(at);
            }
        }
    }
}
