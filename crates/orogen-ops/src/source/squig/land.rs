//! The land between streams: it rises from all of them, and the lowest rise counts.

use std::ops::Range;

use orogen_core::{Cancelled, Ctx, Frame, Raster, Rect, Seed};
use rayon::prelude::*;

use super::Squig;
use super::streams::Streams;
use crate::noise::Noise;
use crate::octaves::{OctaveBuffers, Octaves};

/// The gentlest that unevenness makes hillsides, as a share of `slope_deg`.
const GENTLEST: f32 = 1.0 - SPURS.1 - BUMP.1;
/// Spurs and gullies: how far they make hillsides steeper or gentler at roughness 1, and at most.
const SPURS: (f32, f32) = (0.6, 0.3);
/// The lengths of spurs along a stream, in spacings of streams, and how strong each is.
const SPUR_LENGTHS: [(f64, f32); 2] = [(0.4, 1.0), (0.16, 0.6)];
/// Bumps: their octaves, and how strong each is against the one before.
const BUMPS: (u32, f64) = (5, 0.5);
/// Length of the longest bumps, in spacings of streams.
const BUMP_LENGTH: f64 = 0.3;
/// How far bumps make hillsides steeper or gentler at roughness 1, and at most.
const BUMP: (f32, f32) = (0.17, 0.15);
/// Height of hillside, in spacings, over which bumps grow.
const BUMP_REACH: f64 = 0.12;
/// Half the narrowest valley floor, in spacings: gullies are not quite sharp.
const LEAST_FLOOR: f64 = 0.012;
/// Bins across the spacing of streams.
const BINS: f64 = 16.0;

/// A piece of a stream: all in metres from the south-west corner of the world.
#[derive(Clone, Copy, Debug)]
struct Segment {
    at: [f32; 2],
    along: [f32; 2],
    per_length2: f32,
    /// Height at the start, and how much higher the end is.
    z: [f32; 2],
    /// Half width of the valley floor.
    floor: [f32; 2],
    /// How much steeper or gentler hillsides are, on the left and on the right.
    spurs: [[f32; 2]; 2],
}

pub(super) struct Land {
    segments: Vec<Segment>,
    origin_m: [f64; 2],
    bin_m: f64,
    /// Steepness of hillsides, and how far from its stream a hillside ends, at most.
    rise: Rise,
    /// Segments in squares of a quarter of the reach, for finding candidates.
    coarse: Coarse,
    /// How far from a place the start of a segment may lie that it rises from.
    search_m: f64,
    /// Length of the longest segment, and half the widest valley floor.
    longest_m: f64,
    widest_m: f32,
    noise: Octaves,
    strength: f32,
    level_m: f32,
}

/// How land rises with the distance from a stream.
#[derive(Clone, Copy)]
struct Rise {
    slope: f32,
    per_reach2: f32,
    /// Distance over which bumps grow.
    bump_m: f32,
}

impl Rise {
    /// Height above the stream. Steeper towards the end of its reach, where it grows past all bounds, so that no
    /// sample notices which segments were left out.
    #[inline(always)]
    fn at(self, distance2: f32, uneven: f32, bumps: f32, floor: f32) -> f32 {
        let q = (1.0 - distance2 * self.per_reach2).max(1e-6);
        let far = (distance2 + floor * floor).sqrt() - floor;
        self.slope * far * (uneven + bumps * self.bump_m / (far + self.bump_m)) / q
    }
}

struct Coarse {
    cell_m: f64,
    cols: usize,
    rows: usize,
    lists: Vec<Vec<u32>>,
    /// Height of the lowest segment in each.
    least: Vec<f32>,
}

impl Coarse {
    fn range(&self, from: f64, to: f64, count: usize) -> Range<usize> {
        let index = |v: f64| (v / self.cell_m).floor().clamp(0.0, (count - 1) as f64) as usize;
        index(from)..index(to) + 1
    }

    /// The cell of a place; one outside belongs to the nearest cell at the border.
    fn cell(&self, [x, y]: [f64; 2]) -> usize {
        self.range(y, y, self.rows).start * self.cols + self.range(x, x, self.cols).start
    }

    /// How far a place is from all that a cell holds, at least. Those at the border hold what lies beyond, too.
    fn distance(&self, at: [f64; 2], cell: usize) -> f64 {
        let off = |at: f64, index: usize, count: usize| {
            let low = if index == 0 { f64::NEG_INFINITY } else { index as f64 * self.cell_m };
            let high = if index + 1 == count { f64::INFINITY } else { (index + 1) as f64 * self.cell_m };
            (low - at).max(at - high).max(0.0)
        };
        let (x, y) = (off(at[0], cell % self.cols, self.cols), off(at[1], cell / self.cols, self.rows));
        (x * x + y * y).sqrt()
    }
}

impl Land {
    /// The land of given streams, whose hillsides end `reach_m` from them.
    pub fn new(
        params: &Squig,
        streams: &Streams,
        rect: &Rect,
        reach_m: f64,
        spacing_m: f64,
        ctx: &Ctx<'_>,
    ) -> Self {
        let least = LEAST_FLOOR * spacing_m;
        let floor = |area: f64| params.floor(area / streams.nodes[0].area).max(least) as f32;
        let slope = params.hillside(spacing_m) as f32;
        let waves: Vec<Noise> = (0..4).map(|k| Noise::new(Seed(ctx.seed().child("spurs").bits(k)))).collect();
        let spur = |at: [f64; 2], side: usize| {
            let wave = |(k, (length, weight)): (usize, &(f64, f32))| {
                let per_m = 1.0 / (length * spacing_m);
                weight * waves[2 * k + side].at(at[0] * per_m + 0.31, at[1] * per_m + 0.77)
            };
            let sum: f32 = SPUR_LENGTHS.iter().enumerate().map(wave).sum();
            (2.0 * SPURS.0 * params.roughness as f32 * sum).clamp(-SPURS.1, SPURS.1)
        };
        let local = |at: [f64; 2]| [(at[0] - rect.min[0]) as f32, (at[1] - rect.min[1]) as f32];
        let segments: Vec<Segment> = streams
            .nodes
            .iter()
            .skip(1)
            .map(|node| {
                let down = &streams.nodes[node.down];
                let (a, b) = (local(node.at), local(down.at));
                let along = [b[0] - a[0], b[1] - a[1]];
                let length2 = along[0] * along[0] + along[1] * along[1];
                Segment {
                    at: a,
                    along,
                    per_length2: if length2 > 0.0 { 1.0 / length2 } else { 0.0 },
                    z: [node.z as f32, (down.z - node.z) as f32],
                    floor: [floor(node.area), floor(down.area) - floor(node.area)],
                    spurs: [0, 1].map(|side| {
                        let here = spur(node.at, side);
                        [1.0 + here, spur(down.at, side) - here]
                    }),
                }
            })
            .collect();
        let size = rect.size();
        let cell_m = 0.25 * reach_m;
        let count = |side: f64| (side / cell_m).floor() as usize + 1;
        let (cols, rows) = (count(size[0]), count(size[1]));
        let mut coarse = Coarse {
            cell_m,
            cols,
            rows,
            lists: vec![Vec::new(); cols * rows],
            least: vec![0.0; cols * rows],
        };
        for (i, s) in segments.iter().enumerate() {
            // By its start: the search allows for the longest segment.
            let cell = coarse.cell(s.at.map(f64::from));
            coarse.lists[cell].push(i as u32);
        }
        let longest = streams.nodes.iter().map(|n| n.length).fold(0.0, f64::max);
        let widest = |s: &Segment| s.floor[0].max(s.floor[0] + s.floor[1]);
        let widest_m = segments.iter().map(widest).fold(0.0, f32::max);
        let noise = Octaves::new(ctx.seed().child("hillsides"), BUMP_LENGTH * spacing_m, BUMPS.0, BUMPS.1);
        let strength = params.roughness as f32 / noise.rms();
        Self {
            segments,
            origin_m: rect.min,
            bin_m: spacing_m / BINS,
            rise: Rise {
                slope,
                per_reach2: (1.0 / (reach_m * reach_m)) as f32,
                bump_m: (BUMP_REACH * spacing_m) as f32,
            },
            coarse,
            search_m: 1.001 * (reach_m + longest),
            longest_m: 1.001 * longest,
            widest_m,
            noise,
            strength: BUMP.0 * strength,
            level_m: params.level_m as f32,
        }
    }

    /// The segments that can be the lowest anywhere in a bin.
    fn candidates(&self, col: i64, row: i64, found: &mut Vec<(f32, u32)>) -> Vec<u32> {
        let half = 0.5 * self.bin_m;
        let middle = [(col as f64 + 0.5) * self.bin_m, (row as f64 + 0.5) * self.bin_m];
        let (mx, my) = (middle[0] as f32, middle[1] as f32);
        let radius = (half * std::f64::consts::SQRT_2 * 1.001) as f32;
        let wide = half + self.search_m;
        found.clear();
        let mut bound = f32::INFINITY;
        for r in self.coarse.range(middle[1] - wide, middle[1] + wide, self.coarse.rows) {
            for c in self.coarse.range(middle[0] - wide, middle[0] + wide, self.coarse.cols) {
                for &i in &self.coarse.lists[r * self.coarse.cols + c] {
                    let s = &self.segments[i as usize];
                    let (distance2, ..) = s.nearest(mx, my);
                    let distance = distance2.sqrt();
                    let (near, far) = ((distance - radius).max(0.0), distance + radius);
                    let (low_z, high_z) = (s.z[0].min(s.z[0] + s.z[1]), s.z[0].max(s.z[0] + s.z[1]));
                    let wide = s.floor[0].max(s.floor[0] + s.floor[1]);
                    let narrow = s.floor[0].min(s.floor[0] + s.floor[1]);
                    if near * near * self.rise.per_reach2 >= 1.0 {
                        continue;
                    }
                    let [gentle, steep] = s.steepness();
                    let least = low_z + self.rise.at(near * near, gentle, 0.0, wide);
                    if far * far * self.rise.per_reach2 < 0.9 {
                        bound = bound.min(high_z + self.rise.at(far * far, steep, 0.0, narrow));
                    }
                    found.push((least, i));
                }
            }
        }
        let mut list: Vec<u32> = found.iter().filter(|f| f.0 <= bound).map(|f| f.1).collect();
        list.sort_unstable();
        list
    }

    fn bin(&self, at: f64, axis: usize) -> i64 {
        ((at - self.origin_m[axis]) / self.bin_m).floor() as i64
    }

    /// Gives the streams new heights.
    pub fn lay(&mut self, streams: &Streams) {
        for (segment, node) in self.segments.iter_mut().zip(&streams.nodes[1..]) {
            segment.z = [node.z as f32, (streams.nodes[node.down].z - node.z) as f32];
        }
        for (least, list) in self.coarse.least.iter_mut().zip(&self.coarse.lists) {
            let lowest =
                |&i: &u32| self.segments[i as usize].z[0].min(self.segments[i as usize].z.iter().sum());
            *least = list.iter().map(lowest).fold(f32::INFINITY, f32::min);
        }
    }

    /// The least height of the land at one place, which it has on the bed of a stream: where hillsides are gentlest.
    pub fn height(&self, at: [f64; 2]) -> f32 {
        self.level_m + self.lowest(at, GENTLEST, f32::INFINITY)
    }

    /// Height above the outlet at one place, where all hillsides are `uneven` times as steep as asked for; `most` where
    /// that is lower.
    pub fn lowest(&self, at: [f64; 2], uneven: f32, most: f32) -> f32 {
        let [x, y] = [at[0] - self.origin_m[0], at[1] - self.origin_m[1]];
        let mut lowest = most;
        // The lowest is close by, as a rule, and leaves little to look at further off.
        let own = self.coarse.cell([x, y]);
        for cell in std::iter::once(own).chain(self.cells_near([x, y]).filter(|&cell| cell != own)) {
            // A hillside rises with the distance: what comes from so far off is at least as high as this.
            let far = (self.coarse.distance([x, y], cell) - self.longest_m).max(0.0) as f32;
            let rise = 0.999 * self.rise.at(far * far, uneven, 0.0, self.widest_m);
            if self.coarse.least[cell] + rise >= lowest {
                continue;
            }
            for &i in &self.coarse.lists[cell] {
                let s = &self.segments[i as usize];
                if s.z[0].min(s.z[0] + s.z[1]) >= lowest {
                    continue;
                }
                let (distance2, t, _) = s.nearest(x as f32, y as f32);
                let floor = s.floor[0] + t * s.floor[1];
                lowest = lowest.min(s.z[0] + t * s.z[1] + self.rise.at(distance2, uneven, 0.0, floor));
            }
        }
        lowest
    }

    /// Cells of the coarse grid whose segments may matter to a place.
    fn cells_near(&self, [x, y]: [f64; 2]) -> impl Iterator<Item = usize> + use<> {
        let wide = self.search_m;
        let cols = self.coarse.range(x - wide, x + wide, self.coarse.cols);
        let count = self.coarse.cols;
        self.coarse
            .range(y - wide, y + wide, self.coarse.rows)
            .flat_map(move |r| cols.clone().map(move |c| r * count + c))
    }

    /// For places that have changed: all cells of the coarse grid that hold any.
    pub fn cells_of<'a>(&self, places: impl Iterator<Item = &'a [f64; 2]>) -> Vec<bool> {
        let mut cells = vec![false; self.coarse.lists.len()];
        for at in places {
            cells[self.coarse.cell([at[0] - self.origin_m[0], at[1] - self.origin_m[1]])] = true;
        }
        cells
    }

    /// Whether any of these cells may matter to a place.
    pub fn touched(&self, at: [f64; 2], cells: &[bool]) -> bool {
        self.cells_near([at[0] - self.origin_m[0], at[1] - self.origin_m[1]]).any(|cell| cells[cell])
    }

    /// The land on a frame. Writes 4 bytes a sample; the streams stay in the cache.
    ///
    /// # Errors
    /// When cancelled.
    pub fn raster(&self, frame: &Frame, ctx: &Ctx<'_>) -> Result<Raster<f32>, Cancelled> {
        let cols = frame.cols();
        let mut out = Raster::filled(cols, frame.rows(), 0.0f32);
        let xs: Vec<f32> = (0..cols).map(|c| (frame.x_m(c) - self.origin_m[0]) as f32).collect();
        // Runs of columns in one bin.
        let mut runs: Vec<(i64, Range<usize>)> = Vec::new();
        for col in 0..cols {
            let bin = self.bin(frame.x_m(col), 0);
            match runs.last_mut() {
                Some((last, range)) if *last == bin => range.end = col + 1,
                _ => runs.push((bin, col..col + 1)),
            }
        }
        let mut tall: Vec<(i64, Range<usize>)> = Vec::new();
        for row in 0..frame.rows() {
            let bin = self.bin(frame.y_m(row), 1);
            match tall.last_mut() {
                Some((last, range)) if *last == bin => range.end = row + 1,
                _ => tall.push((bin, row..row + 1)),
            }
        }
        let mut strips: Vec<(i64, Range<usize>, &mut [f32])> = Vec::with_capacity(tall.len());
        let mut rest = out.as_mut_slice();
        for (bin, rows) in tall {
            let (strip, after) = rest.split_at_mut(rows.len() * cols);
            strips.push((bin, rows, strip));
            rest = after;
        }
        let counter = ctx.counter(strips.len());
        strips.into_par_iter().try_for_each_init(
            || (OctaveBuffers::default(), Vec::new(), Vec::new()),
            |(buffers, found, uneven), (bin_row, rows, strip)| {
                strip.fill(f32::INFINITY);
                uneven.resize(strip.len(), 0.0f32);
                for (i, line) in uneven.chunks_mut(cols).enumerate() {
                    self.noise.row(frame, rows.start + i, 0..cols, buffers, line);
                    line.iter_mut().for_each(|v| *v = self.bump(*v));
                }
                for (bin_col, run) in &runs {
                    for s in self.candidates(*bin_col, bin_row, found) {
                        let s = &self.segments[s as usize];
                        for (i, line) in strip.chunks_mut(cols).enumerate() {
                            let y = (frame.y_m(rows.start + i) - self.origin_m[1]) as f32;
                            let uneven = &uneven[i * cols..][run.clone()];
                            s.lower(self.rise, &xs[run.clone()], y, uneven, &mut line[run.clone()]);
                        }
                    }
                }
                strip.iter_mut().for_each(|v| *v += self.level_m);
                counter.done()
            },
        )?;
        Ok(out)
    }

    fn bump(&self, noise: f32) -> f32 {
        (self.strength * noise).clamp(-BUMP.1, BUMP.1)
    }
}

impl Segment {
    /// The gentlest and the steepest that its hillsides are anywhere, bumps included.
    fn steepness(&self) -> [f32; 2] {
        let [[a, b], [c, d]] = self.spurs;
        let (low, high) = (a.min(a + b).min(c).min(c + d), a.max(a + b).max(c).max(c + d));
        [low - BUMP.1, high + BUMP.1]
    }

    /// Square of the distance, the share of the segment nearest to a place, and the side it lies on: 1 on the right, -1
    /// on the left, and between beyond its ends.
    #[inline(always)]
    fn nearest(&self, x: f32, y: f32) -> (f32, f32, f32) {
        let (dx, dy) = (x - self.at[0], y - self.at[1]);
        let t = ((dx * self.along[0] + dy * self.along[1]) * self.per_length2).clamp(0.0, 1.0);
        let (ex, ey) = (dx - t * self.along[0], dy - t * self.along[1]);
        let distance2 = ex * ex + ey * ey;
        let across = dx * self.along[1] - dy * self.along[0];
        (distance2, t, across * (self.per_length2 / distance2.max(1e-6)).sqrt())
    }

    /// Lowers what is higher than the hillsides of this segment.
    #[inline(always)]
    fn lower(&self, rise: Rise, xs: &[f32], y: f32, bumps: &[f32], lowest: &mut [f32]) {
        for ((&x, &bumps), lowest) in xs.iter().zip(bumps).zip(lowest) {
            let (distance2, t, side) = self.nearest(x, y);
            let [left, right] = self.spurs.map(|spur| spur[0] + t * spur[1]);
            let spur = left + (0.5 + 0.5 * side).clamp(0.0, 1.0) * (right - left);
            let floor = self.floor[0] + t * self.floor[1];
            *lowest = lowest.min(self.z[0] + t * self.z[1] + rise.at(distance2, spur, bumps, floor));
        }
    }
}
