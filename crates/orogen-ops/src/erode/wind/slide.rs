//! Slip faces: sand steeper than it can rest slides down.

use orogen_core::Raster;
use rayon::prelude::*;

use super::{Edge, HOLE, Land};
use crate::simd::{Level, dispatch};

/// How much of the slope is too steep at a node that neither gives nor takes: so far below 0 that the mean with any other is.
const CLOSED: f32 = -4.0;

/// Room for a sweep.
pub(super) struct Slide {
    /// How much of the slope at each node is too steep.
    slides: Raster<f32>,
    /// The share of its drops that each node has sand for.
    there: Raster<f32>,
    /// What each node gains.
    gain: Raster<i32>,
    /// Rows where something is too steep.
    steep: Vec<bool>,
}

impl Slide {
    pub fn new() -> Self {
        Self {
            slides: Raster::filled(1, 1, 0.0),
            there: Raster::filled(1, 1, 0.0),
            gain: Raster::filled(1, 1, 0),
            steep: Vec::new(),
        }
    }

    /// One sweep: between every two neighbours sand slides by what is too steep. What one loses the other gains, and none
    /// gives more than it has. Tells whether anything moved.
    /// With `creep_m2`, ground also evens out as by so much of diffusion times time. Where the desert goes on at the
    /// opposite side, sand slides across the edge as well, unless rock makes a step there that sand could not lie on.
    pub fn sweep(&mut self, land: &mut Land, tan_repose: f64, creep_m2: f64, edge: Edge) -> bool {
        let (cols, rows) = (land.height.cols(), land.height.rows());
        if (self.gain.cols(), self.gain.rows()) != (cols, rows) {
            self.slides = Raster::filled(cols, rows, 0.0);
            self.there = self.slides.clone();
            self.gain = Raster::filled(cols, rows, 0);
            self.steep = vec![false; rows];
        }
        let [dx, dy] = land.spacing_m;
        let (wx, wy) = (1.0 / (dx * dx), 1.0 / (dy * dy));
        // Half of what makes no new crest, so that odd and even nodes do not part.
        let all = 4.0 * (wx + wy);
        let law = Law {
            weight: [(wx / all) as f32, (wy / all) as f32],
            grade: [(1.0 / (dx * land.unit)) as f32, (1.0 / (dy * land.unit)) as f32],
            repose: tan_repose as f32,
            creep: (creep_m2 * all).min(1.0) as f32,
        };
        let level = Level::new();
        let beyond = Beyond::new(land, tan_repose, edge);
        let Self { slides, there, gain, steep } = self;
        let rows_of =
            slides.as_mut_slice().par_chunks_mut(cols).zip(there.as_mut_slice().par_chunks_mut(cols));
        rows_of.zip(steep.par_iter_mut()).enumerate().with_min_len(16).for_each(
            |(row, ((slides, there), steep))| {
                let up = if row > 0 { land.height.row(row - 1) } else { &beyond.north };
                let down = if row + 1 < rows { land.height.row(row + 1) } else { &beyond.south };
                let (lines, sides) = ([up, land.height.row(row), down], beyond.sides(row));
                let sand = land.sand.row(row);
                *steep = dispatch!(level, _simd => law.parts(lines, sides, sand, slides, there));
                if let Some(closed) = &land.closed {
                    for col in (0..cols).filter(|&col| closed.row(row)[col]) {
                        slides[col] = CLOSED;
                    }
                }
            },
        );
        if !steep.contains(&true) {
            return false;
        }
        let near = |row: usize| {
            let round = row == 0 && steep[rows - 1] || row + 1 == rows && steep[0];
            round || steep[row.saturating_sub(1)..(row + 2).min(rows)].contains(&true)
        };
        gain.as_mut_slice()
            .par_chunks_mut(cols)
            .enumerate()
            .with_min_len(16)
            .filter(|(row, _)| near(*row))
            .for_each(|(row, gain)| {
                gain.fill(0);
                let mut flux = vec![0; cols];
                let at = |r: usize| Line {
                    height: land.height.row(r),
                    slides: slides.row(r),
                    there: there.row(r),
                };
                let here = at(row);
                dispatch!(level, _simd => law.along(&here, gain, &mut flux));
                law.round(&here, beyond.sides(row), gain);
                let other =
                    if row > 0 { at(row - 1) } else { Line { height: &beyond.north, ..at(rows - 1) } };
                dispatch!(level, _simd => law.across(&here, &other, gain));
                let other =
                    if row + 1 < rows { at(row + 1) } else { Line { height: &beyond.south, ..at(0) } };
                dispatch!(level, _simd => law.across(&here, &other, gain));
            });
        let mut moved = 0;
        for row in (0..rows).filter(|&row| near(row)) {
            let at = row * cols..(row + 1) * cols;
            let heights = land.height.as_mut_slice()[at.clone()].iter_mut();
            let depths = land.sand.as_mut_slice()[at].iter_mut();
            for ((h, d), &gain) in heights.zip(depths).zip(gain.row(row)) {
                *h = h.wrapping_add(gain);
                *d += gain;
                moved |= gain;
            }
        }
        moved != 0
    }
}

/// Heights beyond the four edges: those of the opposite edge where sand can slide there, holes where it cannot.
struct Beyond {
    west: Vec<i32>,
    east: Vec<i32>,
    north: Vec<i32>,
    south: Vec<i32>,
}

impl Beyond {
    fn new(land: &Land, tan_repose: f64, edge: Edge) -> Self {
        let (cols, rows) = (land.height.cols(), land.height.rows());
        let most = land.spacing_m.map(|spacing| (tan_repose * spacing * land.unit) as i64);
        let (heights, depths) = (land.height.as_slice(), land.sand.as_slice());
        // What lies at `there` as seen from `here`.
        let seen = |here: usize, there: usize, most: i64| {
            let bed = |at: usize| i64::from(heights[at]) - i64::from(depths[at]);
            let holes = heights[here] == HOLE || heights[there] == HOLE;
            let step = (bed(here) - bed(there)).abs() > most;
            if edge == Edge::Open || holes || step || here == there { HOLE } else { heights[there] }
        };
        let last = (rows - 1) * cols;
        Self {
            west: (0..rows).map(|r| seen(r * cols, r * cols + cols - 1, most[0])).collect(),
            east: (0..rows).map(|r| seen(r * cols + cols - 1, r * cols, most[0])).collect(),
            north: (0..cols).map(|c| seen(c, last + c, most[1])).collect(),
            south: (0..cols).map(|c| seen(last + c, c, most[1])).collect(),
        }
    }

    fn sides(&self, row: usize) -> [i32; 2] {
        [self.west[row], self.east[row]]
    }
}

/// One row of nodes.
struct Line<'a> {
    height: &'a [i32],
    slides: &'a [f32],
    there: &'a [f32],
}

struct Law {
    /// Shares of a drop that a sweep moves along columns and rows at most.
    weight: [f32; 2],
    /// Grade per unit of drop.
    grade: [f32; 2],
    repose: f32,
    /// Share of what could move that creeps, steep or not.
    creep: f32,
}

/// How far it is down from a node to another; 0 to and from a hole.
#[inline(always)]
fn fall(here: i32, there: i32) -> i32 {
    if here == HOLE || there == HOLE { 0 } else { here.wrapping_sub(there) }
}

/// `drop`, or 0 where it is less.
#[inline(always)]
fn lower(drop: f32) -> f32 {
    if drop > 0.0 { drop } else { 0.0 }
}

impl Law {
    #[inline(always)]
    fn parts(
        &self,
        [up, here, down]: [&[i32]; 3],
        sides: [i32; 2],
        sand: &[i32],
        slides: &mut [f32],
        there: &mut [f32],
    ) -> bool {
        let n = slides.len();
        let (up, here, down, sand) = (&up[..n], &here[..n], &down[..n], &sand[..n]);
        let there = &mut there[..n];
        let mut any = 0.0f32;
        if n > 2 {
            let m = n - 2;
            let (west, mid, east) = (&here[..m], &here[1..=m], &here[2..]);
            let (up, down, sand) = (&up[1..=m], &down[1..=m], &sand[1..=m]);
            let (slides, there) = (&mut slides[1..=m], &mut there[1..=m]);
            for i in 0..m {
                let (steep, has) = self.part(mid[i], [west[i], east[i], up[i], down[i]], sand[i]);
                slides[i] = steep;
                there[i] = has;
                any = if steep > any { steep } else { any };
            }
        }
        for i in [0, n - 1] {
            let west = if i > 0 { here[i - 1] } else { sides[0] };
            let east = if i + 1 < n { here[i + 1] } else { sides[1] };
            (slides[i], there[i]) = self.part(here[i], [west, east, up[i], down[i]], sand[i]);
            any = if slides[i] > any { slides[i] } else { any };
        }
        any > 0.0
    }

    #[inline(always)]
    fn part(&self, here: i32, [west, east, north, south]: [i32; 4], sand: i32) -> (f32, f32) {
        // Beside a hole and at an edge where nothing goes on only one side tells how steep it is.
        let mean = |a: i32, b: i32| if a == HOLE || b == HOLE { 1.0 } else { 0.5 };
        let (along, down) = (mean(west, east), mean(north, south));
        let (west, east) = (fall(here, west) as f32, fall(here, east) as f32);
        let (north, south) = (fall(here, north) as f32, fall(here, south) as f32);
        // The mean square of both sides, which sees a ridge of one node as well as a plane.
        let x = along * (west * west + east * east) * (self.grade[0] * self.grade[0]);
        let y = down * (north * north + south * south) * (self.grade[1] * self.grade[1]);
        let steep = (x + y).sqrt();
        let all =
            self.weight[0] * (lower(west) + lower(east)) + self.weight[1] * (lower(north) + lower(south));
        let slides = if steep > self.repose { 1.0 - self.repose / steep } else { 0.0 };
        let slides = if slides > self.creep { slides } else { self.creep };
        // A hair less than all, so that rounding takes no more than there is.
        (slides, if all > 0.0 { 0.9999 * sand as f32 / all } else { 0.0 })
    }

    /// What slides down a drop. Both sides of a pair work out the same number.
    #[inline(always)]
    fn flux(&self, drop: i32, [own, their]: [f32; 2], [has, they_have]: [f32; 2], weight: f32) -> i32 {
        let there = if drop > 0 { has } else { they_have };
        let mean = lower(0.5 * (own + their));
        let share = if mean < there { mean } else { there };
        (share * (weight * drop as f32)) as i32
    }

    #[inline(always)]
    fn along(&self, line: &Line<'_>, gain: &mut [i32], flux: &mut [i32]) {
        let n = gain.len();
        let (height, slides, there) = (&line.height[..n], &line.slides[..n], &line.there[..n]);
        let weight = self.weight[0];
        let m = n - 1;
        let (a, b) = (&height[..m], &height[1..]);
        let (slide_a, slide_b) = (&slides[..m], &slides[1..]);
        let (has_a, has_b) = (&there[..m], &there[1..]);
        let flux = &mut flux[..m];
        for i in 0..m {
            flux[i] = self.flux(fall(a[i], b[i]), [slide_a[i], slide_b[i]], [has_a[i], has_b[i]], weight);
        }
        gain[1..].iter_mut().zip(&*flux).for_each(|(gain, flux)| *gain += flux);
        gain.iter_mut().zip(&*flux).for_each(|(gain, flux)| *gain -= flux);
    }

    /// What slides between the ends of a row, each of which lies beyond the other.
    fn round(&self, line: &Line<'_>, [west, _]: [i32; 2], gain: &mut [i32]) {
        let last = gain.len() - 1;
        let (slides, there) = (line.slides, line.there);
        let drop = fall(line.height[0], west);
        let flux = self.flux(drop, [slides[0], slides[last]], [there[0], there[last]], self.weight[0]);
        gain[0] -= flux;
        gain[last] += flux;
    }

    #[inline(always)]
    fn across(&self, here: &Line<'_>, other: &Line<'_>, gain: &mut [i32]) {
        let n = gain.len();
        let (height, slides, there) = (&here.height[..n], &here.slides[..n], &here.there[..n]);
        let (heights, slide, them) = (&other.height[..n], &other.slides[..n], &other.there[..n]);
        for i in 0..n {
            let drop = fall(height[i], heights[i]);
            gain[i] -= self.flux(drop, [slides[i], slide[i]], [there[i], them[i]], self.weight[1]);
        }
    }
}
