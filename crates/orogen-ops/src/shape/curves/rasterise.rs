//! Curves on a grid: what they ask of each cell (E, G, alpha, beta, gamma), and the equations that follow.
//!
//! The unknown is what is added to the land. Between two neighbours `i`, `j` a distance `d` apart the equations weigh
//! by `k` how far `H(i) - H(j)` is from the difference asked for: that of the slope where both lie on one, that of the
//! land (`relative`) or none (`bounded`) elsewhere. A cell on a held plateau is fixed; a held line between two cells
//! is a wall at its true place between them.

use orogen_core::{Frame, Raster, math};
use rayon::prelude::*;

use super::solve::System;
use super::spline::{Bounds, Line, STRETCH, Values};
use super::{Mode, STIFF};

/// Rows and columns for which the nearest places of a curve are looked up together.
const BLOCK: usize = 16;
/// Closest a cell comes to a held line, in cells: closer is as good as on it.
const CLOSEST: f64 = 0.02;

/// What is called level.
const LEAST_RELIEF: f32 = 1e-2;

/// A group of curves whose envelopes overlap, and how they act.
pub(super) struct Group<'a> {
    pub lines: Vec<&'a Line>,
    pub mode: Mode,
    /// Outer share of the envelope over which the change eases out.
    pub blend: f64,
    /// How far elevations are held.
    pub stiffness: f64,
    /// Longest wave of the noise, where there is noise.
    pub wavelength_m: Option<f64>,
}

/// What the curves ask for on a grid.
pub(super) struct Asked {
    /// Equations for what is added to the land.
    pub system: System,
    /// What is added where it is known at once, in a grid with a border as all of the system's.
    pub fixed: Vec<f32>,
    /// Which cells change.
    pub touched: Vec<bool>,
    /// Amplitude and roughness of the noise; empty without noise.
    pub noise: Vec<[f32; 2]>,
    /// How much the land and what is asked differ in height.
    pub relief: f32,
}

/// What all curves together ask of one cell.
#[derive(Clone, Copy)]
struct Spot {
    touched: bool,
    /// Held elevation, times weight, and weight.
    held: [f64; 2],
    /// Elevation held softly, times strength (per m2), and strength.
    soft: [f64; 2],
    /// Asked slope to the east and north, times weight; how far the land's own slope along the curve is asked for, as
    /// products of the direction; and weight.
    slope: [f64; 2],
    along: [f64; 3],
    slope_weight: f64,
    /// How far outside all slopes it lies, negative on one, in metres: tells where between two cells a slope ends.
    beyond: f64,
    /// Pull back to the land, per m2.
    pull: f64,
    /// Links that a held line cuts: west, east, north, south.
    cut: u8,
    noise: f64,
    rough: [f64; 2],
}

impl Spot {
    const NONE: Self = Self {
        touched: false,
        held: [0.0; 2],
        soft: [0.0; 2],
        slope: [0.0; 2],
        along: [0.0; 3],
        slope_weight: 0.0,
        beyond: f64::INFINITY,
        pull: f64::INFINITY,
        cut: 0,
        noise: 0.0,
        rough: [0.0; 2],
    };

    fn is_fixed(&self) -> bool {
        self.held[1] > 0.0
    }
}

/// A cell beside a held line: a link to a neighbour meets it.
struct Tie {
    /// Cell of the block.
    cell: usize,
    /// Which neighbour, as the bits of [`Spot::cut`] are numbered.
    side: usize,
    /// Share of the link up to the line.
    share: f64,
    /// Elevation of the line there.
    z: f64,
    /// How strongly the line is held, per metre of it; infinite where it is held wholly.
    strength: f64,
}

/// Neighbours as steps in columns and rows: west, east, north, south; the opposite of `s` is `s ^ 1`.
const SIDES: [(isize, isize); 4] = [(-1, 0), (1, 0), (0, -1), (0, 1)];

/// What the curves of a group ask for on a frame with land.
pub(super) fn rasterise(group: &Group<'_>, frame: &Frame, land: &Raster<f32>) -> Asked {
    let (cols, rows) = (frame.cols(), frame.rows());
    let mut system = System::empty(cols, rows);
    let stride = cols + 2;
    let size = stride * (rows + 2);
    let mut fixed = vec![0.0f32; size];
    let mut touched = vec![false; size];
    let mut noise = vec![[0.0f32; 2]; if group.wavelength_m.is_some() { size } else { 0 }];
    let inner = stride..stride * (rows + 1);
    let chunk = BLOCK * stride;
    let noise_chunks: Vec<&mut [[f32; 2]]> = if noise.is_empty() {
        (0..rows.div_ceil(BLOCK)).map(|_| Default::default()).collect()
    } else {
        noise[inner.clone()].chunks_mut(chunk).collect()
    };
    let range = system.slack[inner.clone()]
        .par_chunks_mut(chunk)
        .zip(system.east[inner.clone()].par_chunks_mut(chunk))
        .zip(system.south[inner.clone()].par_chunks_mut(chunk))
        .zip(system.right[inner.clone()].par_chunks_mut(chunk))
        .zip(fixed[inner.clone()].par_chunks_mut(chunk))
        .zip(touched[inner.clone()].par_chunks_mut(chunk))
        .zip(noise_chunks)
        .enumerate()
        .map(|(block, ((((((slack, east), south), right), fixed), touched), noise))| {
            let out = Out { slack, east, south, right, fixed, touched, noise };
            one_block(group, frame, land, block * BLOCK, out)
        })
        .reduce(|| (f32::INFINITY, f32::NEG_INFINITY), |a, b| (a.0.min(b.0), a.1.max(b.1)));
    let rises = group.lines.iter().flat_map(|line| &line.samples).flat_map(|sample| {
        let v = &sample.values;
        [v.slope[0] * v.grade[0], v.slope[1] * v.grade[1]]
    });
    let steepest = rises.fold(0.0, |most: f64, rise| most.max(rise.abs())) as f32;
    Asked { system, fixed, touched, noise, relief: (range.1 - range.0).max(steepest).max(LEAST_RELIEF) }
}

/// Rows of all that is written.
struct Out<'a> {
    slack: &'a mut [f32],
    east: &'a mut [f32],
    south: &'a mut [f32],
    right: &'a mut [f32],
    fixed: &'a mut [f32],
    touched: &'a mut [bool],
    noise: &'a mut [[f32; 2]],
}

/// The equations of up to [`BLOCK`] rows; returns the lowest and highest elevation met.
fn one_block(group: &Group<'_>, frame: &Frame, land: &Raster<f32>, first: usize, out: Out<'_>) -> (f32, f32) {
    let (cols, rows) = (frame.cols(), frame.rows());
    let last = (first + BLOCK).min(rows);
    // A row more on each side, as links have two ends.
    let (above, below) = (first.saturating_sub(1), (last + 1).min(rows));
    let mut spots = vec![Spot::NONE; cols * (below - above)];
    let mut ties = Vec::new();
    let mut touch =
        Touching { group, frame, first: above, rows: below - above, spots: &mut spots, ties: &mut ties };
    for line in &group.lines {
        touch.line(line);
    }
    let mut block = Block { land, spacing_m: frame.spacing_m(), above, spots, natures: Vec::new() };
    block.natures = block.natures(group.mode);
    let mut met = Met::default();
    let mut rights = vec![[0.0f64; 2]; cols * (last - first)];
    for row in first..last {
        for col in 0..cols {
            let spot = &block.spots[(row - above) * cols + col];
            let here = block.height(col, row);
            if !spot.touched || here.is_nan() {
                continue;
            }
            let to = (row - first) * (cols + 2) + col + 1;
            out.touched[to] = true;
            met.add(here);
            if !out.noise.is_empty() && spot.noise > 0.0 {
                out.noise[to] = [spot.noise as f32, (spot.rough[0] / spot.rough[1].max(1e-12)) as f32];
            }
            if spot.is_fixed() {
                let held = spot.held[0] / spot.held[1];
                met.add(held);
                out.fixed[to] = (held - here) as f32;
                continue;
            }
            let mut equation = block.links(col, row, [&mut out.east[to], &mut out.south[to]]);
            block.pull(spot, here, &mut equation, &mut met);
            rights[(row - first) * cols + col] = equation;
        }
    }
    for tie in ties.iter().filter(|tie| (first..last).contains(&(above + tie.cell / cols))) {
        let equation = &mut rights[(above + tie.cell / cols - first) * cols + tie.cell % cols];
        block.tie(tie, equation, &mut met);
    }
    for row in first..last {
        for col in 0..cols {
            let [slack, right] = rights[(row - first) * cols + col];
            let to = (row - first) * (cols + 2) + col + 1;
            out.slack[to] = slack as f32;
            out.right[to] = right as f32;
        }
    }
    (met.low, met.high)
}

/// The lowest and highest elevation met.
struct Met {
    low: f32,
    high: f32,
}

impl Default for Met {
    fn default() -> Self {
        Self { low: f32::INFINITY, high: f32::NEG_INFINITY }
    }
}

impl Met {
    fn add(&mut self, value: f64) {
        if value.is_finite() {
            self.low = self.low.min(value as f32);
            self.high = self.high.max(value as f32);
        }
    }
}

/// How a cell conducts: conductance, asked slope, and how far the land's own differences are kept.
type Nature = (f64, [f64; 2], f64);

/// The cells of some rows, what curves ask of them, and the land below.
struct Block<'a> {
    land: &'a Raster<f32>,
    spacing_m: [f64; 2],
    /// The first row.
    above: usize,
    spots: Vec<Spot>,
    natures: Vec<Nature>,
}

impl Block<'_> {
    #[inline]
    fn height(&self, col: usize, row: usize) -> f64 {
        f64::from(self.land.row(row)[col])
    }

    /// Conductance of a square's side against that of a square cell, along x and along y.
    #[inline]
    fn ratio(&self) -> [f64; 2] {
        let [dx, dy] = self.spacing_m;
        [dy / dx, dx / dy]
    }

    /// Slope of the land, east and north.
    fn gradient(&self, col: usize, row: usize) -> [f64; 2] {
        let ([dx, dy], cols, rows) = (self.spacing_m, self.land.cols(), self.land.rows());
        let slope = |a: (usize, usize), b: (usize, usize), d: f64| {
            let rise = (self.height(b.0, b.1) - self.height(a.0, a.1)) / d;
            if rise.is_finite() { rise } else { 0.0 }
        };
        let (w, e) = (col.saturating_sub(1), (col + 1).min(cols - 1));
        let (n, s) = (row.saturating_sub(1), (row + 1).min(rows - 1));
        [
            if e > w { slope((w, row), (e, row), (e - w) as f64 * dx) } else { 0.0 },
            if s > n { slope((col, s), (col, n), (s - n) as f64 * dy) } else { 0.0 },
        ]
    }

    fn natures(&self, mode: Mode) -> Vec<Nature> {
        let cols = self.land.cols();
        let keeps = match mode {
            Mode::Relative => 1.0,
            Mode::Bounded => 0.0,
        };
        let nature = |(cell, spot): (usize, &Spot)| -> Nature {
            if spot.slope_weight <= 0.0 {
                return (1.0, [0.0, 0.0], keeps);
            }
            let w = 1.0 / spot.slope_weight;
            let mut asked = spot.slope.map(|s| s * w);
            if spot.along != [0.0; 3] {
                let ([gx, gy], [xx, xy, yy]) =
                    (self.gradient(cell % cols, self.above + cell / cols), spot.along);
                asked[0] += w * (xx * gx + xy * gy);
                asked[1] += w * (xy * gx + yy * gy);
            }
            (STIFF, asked, 0.0)
        };
        self.spots.iter().enumerate().map(nature).collect()
    }

    /// Slack and right side of a cell that follow from its neighbours, and its links to the east and south.
    #[inline]
    fn links(&self, col: usize, row: usize, [east, south]: [&mut f32; 2]) -> [f64; 2] {
        let ([dx, dy], cols, rows) = (self.spacing_m, self.land.cols(), self.land.rows());
        let ratio = self.ratio();
        let at = (row - self.above) * cols + col;
        let (spot, here) = (&self.spots[at], self.height(col, row));
        let (k, asked, keep) = self.natures[at];
        let (mut slack, mut right) = (0.0f64, 0.0f64);
        for (side, (sx, sy)) in SIDES.into_iter().enumerate() {
            let (Some(c), Some(r)) = (col.checked_add_signed(sx), row.checked_add_signed(sy)) else {
                continue;
            };
            if c >= cols || r >= rows {
                continue;
            }
            let beside = (r - self.above) * cols + c;
            let other = &self.spots[beside];
            let there = self.height(c, r);
            let is_cut = spot.cut & (1 << side) != 0 || other.cut & (1 << (side ^ 1)) != 0;
            if there.is_nan() || (is_cut && !(other.is_fixed() && spot.cut & (1 << side) == 0)) {
                continue;
            }
            let axis = side / 2;
            // From the neighbour to here, in metres east and north.
            let way = [-(sx as f64) * dx, sy as f64 * dy];
            if other.is_fixed() {
                let link = k * ratio[axis];
                let ask = asked[axis] * way[axis] - (1.0 - keep) * (here - there);
                slack += link;
                right += link * (other.held[0] / other.held[1] - there + ask);
                continue;
            }
            let (k2, asked2, keep2) = self.natures[beside];
            // Each has its share of the way between them; where a slope ends on it, up to there. Halves would let the
            // foot of a slope follow the cells.
            let mine = share_of(spot, other);
            let link = k * k2 / (mine * k2 + (1.0 - mine) * k) * ratio[axis];
            let ask = (mine * asked[axis] + (1.0 - mine) * asked2[axis]) * way[axis]
                - (1.0 - mine * keep - (1.0 - mine) * keep2) * (here - there);
            right += link * ask;
            match side {
                _ if !other.touched => slack += link,
                1 => *east = link as f32,
                3 => *south = link as f32,
                _ => {}
            }
        }
        [slack, right]
    }

    /// What pulls a cell to its own height and to those of soft curves.
    #[inline]
    fn pull(&self, spot: &Spot, here: f64, [slack, right]: &mut [f64; 2], met: &mut Met) {
        let [dx, dy] = self.spacing_m;
        *slack += spot.pull.min(1e9) * dx * dy;
        if spot.soft[1] > 0.0 {
            let soft = spot.soft[1] * dx * dy;
            let z = spot.soft[0] / spot.soft[1];
            met.add(z);
            *slack += soft;
            *right += soft * (z - here);
        }
    }

    /// What a curve that passes between a cell and its neighbour asks of the cell.
    fn tie(&self, tie: &Tie, [slack, right]: &mut [f64; 2], met: &mut Met) {
        let ([dx, dy], cols, rows) = (self.spacing_m, self.land.cols(), self.land.rows());
        let (col, row) = (tie.cell % cols, self.above + tie.cell / cols);
        let here = self.height(col, row);
        if self.spots[tie.cell].is_fixed() || here.is_nan() {
            return;
        }
        let (k, asked, keep) = self.natures[tie.cell];
        let axis = tie.side / 2;
        let (sx, sy) = SIDES[tie.side];
        let beyond = match (col.checked_add_signed(sx), row.checked_add_signed(sy)) {
            (Some(c), Some(r)) if c < cols && r < rows && !self.height(c, r).is_nan() => self.height(c, r),
            _ => here,
        };
        let ground = here + tie.share * (beyond - here);
        let way = tie.share * [-(sx as f64) * dx, sy as f64 * dy][axis];
        let target = tie.z + asked[axis] * way - here + keep * (here - ground);
        let resistance = tie.share / (k * self.ratio()[axis]) + 1.0 / (tie.strength * [dy, dx][axis]);
        *slack += 1.0 / resistance;
        *right += target / resistance;
        met.add(tie.z);
    }
}

/// The share of the way to a neighbour that is of a cell's own nature: half of it, unless just one of them lies on a slope.
fn share_of(here: &Spot, there: &Spot) -> f64 {
    let (a, b) = (here.beyond, there.beyond);
    let ends = (here.slope_weight > 0.0) != (there.slope_weight > 0.0) && (a <= 0.0) != (b <= 0.0);
    if ends && (a - b).is_finite() { (a / (a - b)).clamp(0.0, 1.0) } else { 0.5 }
}

/// Brings curves to the spots of a few rows.
struct Touching<'a, 'b> {
    group: &'a Group<'a>,
    frame: &'a Frame,
    first: usize,
    rows: usize,
    spots: &'b mut [Spot],
    ties: &'b mut Vec<Tie>,
}

impl Touching<'_, '_> {
    fn line(&mut self, line: &Line) {
        let frame = self.frame;
        let cols = frame.cols();
        let [dx, dy] = frame.spacing_m();
        let [west, _] = frame.locate(line.bounds[0][0], line.bounds[0][1]);
        let [east, _] = frame.locate(line.bounds[1][0], line.bounds[1][1]);
        let (south, north) = (frame.y_m(self.first + self.rows - 1), frame.y_m(self.first));
        if line.bounds[0][1] > north || line.bounds[1][1] < south || east < 0.0 || west > cols as f64 {
            return;
        }
        let from = west.max(0.0) as usize / BLOCK * BLOCK;
        let to = (east.max(0.0) as usize + 1).min(cols);
        let mut near = Vec::new();
        for start in (from..to).step_by(BLOCK) {
            let end = (start + BLOCK).min(cols);
            let (x0, x1) = (frame.x_m(start), frame.x_m(end - 1));
            let middle = [0.5 * (x0 + x1), 0.5 * (south + north)];
            let half = math::hypot(0.5 * (x1 - x0) + dx, 0.5 * (north - south) + dy);
            candidates(line, middle, half, &mut near);
            if near.is_empty() {
                continue;
            }
            for row in 0..self.rows {
                let y = frame.y_m(self.first + row);
                for col in start..end {
                    let place = [frame.x_m(col), y];
                    if let Some(touch) = Touch::new(line, place, &near) {
                        self.cell(row * cols + col, &touch);
                    }
                }
            }
        }
    }

    fn cell(&mut self, cell: usize, touch: &Touch) {
        let Touch { values: v, d, out, along, slope: length, grade, envelope, lean, turn } = *touch;
        let beyond = d - v.plateau - length;
        let left = envelope - beyond;
        if left <= 0.0 {
            return;
        }
        let spot = &mut self.spots[cell];
        spot.touched = true;
        if length > 0.0 {
            spot.beyond = spot.beyond.min(beyond);
        }
        let width = self.group.blend * envelope;
        let pull = if beyond > 0.0 && left < width {
            // Under this pull the change dies out with the square of the distance to the edge: without a crease.
            2.0 / (left * left) - 2.0 / (width * width)
        } else {
            0.0
        };
        spot.pull = spot.pull.min(pull);

        let pin = v.pin * self.group.stiffness;
        // How strongly a metre of the curve is held; a fading hold gives way over the curve's own reach.
        let strength = if pin >= 1.0 {
            f64::INFINITY
        } else {
            4.0 * pin / (1.0 - pin) / (v.plateau + length + envelope).max(1e-3)
        };
        let [dx, dy] = self.frame.spacing_m();
        let flat = v.plateau > 0.0 && d <= v.plateau;
        if flat && pin >= 1.0 {
            let weight = 1.0 / (d * d + v.plateau * v.plateau / 64.0 + 1e-9);
            spot.held[0] += weight * v.z;
            spot.held[1] += weight;
        } else if flat || (length > 0.0 && beyond <= 0.0) {
            let weight = if flat { 1.0 } else { 1.0 - (d - v.plateau) / length + 0.01 };
            let fall = if flat { 0.0 } else { grade };
            // Along the curve the slopes follow its elevation; where that is free, the land.
            let lean = v.pin * lean;
            let free = 1.0 - v.pin;
            // Round an end, where one side passes into the other, the slopes fall sidewards too.
            let turn = if flat { 0.0 } else { turn };
            let aside = [-out[1], out[0]];
            for axis in 0..2 {
                spot.slope[axis] += weight * (lean * along[axis] - fall * out[axis] + turn * aside[axis]);
            }
            if free > 0.0 {
                let [x, y] = along;
                for (sum, product) in spot.along.iter_mut().zip([x * x, x * y, y * y]) {
                    *sum += weight * free * product;
                }
            }
            spot.slope_weight += weight;
        }
        if flat && pin > 0.0 && pin < 1.0 {
            let soft = strength / (2.0 * v.plateau.max(0.5 * dx.min(dy)));
            spot.soft[0] += soft * v.z;
            spot.soft[1] += soft;
        }
        let gap = d - v.plateau;
        if pin > 0.0 && !flat && gap < dx.max(dy) {
            for (axis, spacing) in [dx, dy].into_iter().enumerate() {
                let share = (gap / spacing).max(CLOSEST) / out[axis].abs().max(1e-9);
                if share < 1.0 {
                    // Away to the east means that the line lies to the west, away to the north to the south.
                    let side = match (axis, out[axis] > 0.0) {
                        (0, true) => 0,
                        (0, false) => 1,
                        (_, true) => 3,
                        (_, false) => 2,
                    };
                    let step = -share * spacing * out[axis].signum();
                    let z = v.z + v.rise * along[axis] * step;
                    self.ties.push(Tie { cell, side, share, z, strength });
                    if pin >= 1.0 {
                        spot.cut |= 1 << side;
                    }
                }
            }
        }
        if let Some(wavelength_m) = self.group.wavelength_m {
            let mut noise = v.noise;
            if beyond > 0.0 {
                noise *= f64::from(math::smoothstep(0.0, 1.0, (left / envelope) as f32));
            }
            // What is held stays as it is.
            let near = f64::from(math::smoothstep(0.0, 1.0, (gap / (0.25 * wavelength_m)) as f32));
            noise *= 1.0 - v.pin * (1.0 - near);
            spot.noise = spot.noise.max(noise);
            spot.rough[0] += noise * v.roughness;
            spot.rough[1] += noise;
        }
    }
}

/// The bits of a line that may be nearest to a place of a block, or none where the line does not reach it.
fn candidates(line: &Line, middle: [f64; 2], half: f64, near: &mut Vec<u32>) {
    near.clear();
    let mut best = line.reach + half;
    let mut found: Vec<(f64, u32)> = Vec::new();
    for (stretch, bounds) in line.stretches.iter().enumerate() {
        // A stretch that does not reach here may still be nearer than one that does: that tells sides of bends apart.
        if outside(bounds, middle) > half + line.reach {
            continue;
        }
        let from = stretch * STRETCH;
        for bit in from..(from + STRETCH).min(line.samples.len() - 1) {
            let (d, ..) = nearest(line, bit, middle);
            if d <= best + 2.0 * half {
                found.push((d, bit as u32));
                best = best.min(d);
            }
        }
    }
    if found.iter().any(|(d, _)| *d <= line.reach + half) {
        near.extend(found.iter().filter(|(d, _)| *d <= best + 2.0 * half).map(|(_, bit)| *bit));
    }
}

/// How far a place lies outside of bounds.
fn outside(bounds: &Bounds, [x, y]: [f64; 2]) -> f64 {
    let dx = (bounds[0][0] - x).max(x - bounds[1][0]).max(0.0);
    let dy = (bounds[0][1] - y).max(y - bounds[1][1]).max(0.0);
    math::hypot(dx, dy)
}

/// Distance from a place to a bit of a line, the share of the bit where it is nearest, and the way from there.
#[inline]
fn nearest(line: &Line, bit: usize, [x, y]: [f64; 2]) -> (f64, f64, [f64; 2]) {
    let (a, b) = (line.samples[bit].at, line.samples[bit + 1].at);
    let (ux, uy) = (b[0] - a[0], b[1] - a[1]);
    let (px, py) = (x - a[0], y - a[1]);
    let length2 = ux * ux + uy * uy;
    let t = if length2 > 0.0 { ((px * ux + py * uy) / length2).clamp(0.0, 1.0) } else { 0.0 };
    let way = [px - t * ux, py - t * uy];
    (math::hypot(way[0], way[1]), t, way)
}

/// What a curve says at a place.
struct Touch {
    values: Values,
    /// Distance from the curve.
    d: f64,
    /// Direction away from the curve.
    out: [f64; 2],
    /// Direction along the curve.
    along: [f64; 2],
    /// The side's own values.
    slope: f64,
    grade: f64,
    envelope: f64,
    /// Rise along the curve at this distance from it, with the curve's elevation and slopes.
    lean: f64,
    /// Round an end of the curve, where one side passes into the other: rise to the left of the way out.
    turn: f64,
}

impl Touch {
    /// `None` where the curve does not reach.
    fn new(line: &Line, place: [f64; 2], near: &[u32]) -> Option<Self> {
        let mut best = (f64::INFINITY, 0.0, [0.0; 2], 0);
        for &bit in near {
            let (d, t, way) = nearest(line, bit as usize, place);
            if d < best.0 {
                best = (d, t, way, bit as usize);
            }
        }
        let (d, t, way, bit) = best;
        if d >= line.reach {
            return None;
        }
        let (a, b) = (&line.samples[bit], &line.samples[bit + 1]);
        let values = a.values.mix(&b.values, t);
        let mut along =
            [a.along[0] + (b.along[0] - a.along[0]) * t, a.along[1] + (b.along[1] - a.along[1]) * t];
        let length = math::hypot(along[0], along[1]);
        let (bx, by) = (b.at[0] - a.at[0], b.at[1] - a.at[1]);
        let bit_length = math::hypot(bx, by).max(1e-9);
        along = if length > 1e-6 {
            [along[0] / length, along[1] / length]
        } else {
            [bx / bit_length, by / bit_length]
        };
        // 1 on the left, -1 on the right.
        let mut side = if along[0] * way[1] - along[1] * way[0] >= 0.0 { 1.0 } else { -1.0 };
        let mut out = [-along[1] * side, along[0] * side];
        let ends = !line.closed && ((bit == 0 && t == 0.0) || (bit + 2 == line.samples.len() && t == 1.0));
        if ends && d > 1e-9 {
            // Round the end one side passes into the other.
            out = [way[0] / d, way[1] / d];
            side = (along[0] * out[1] - along[1] * out[0]).clamp(-1.0, 1.0);
        }
        let left = 0.5 + 0.5 * side;
        let pick = |[l, r]: [f64; 2]| r + (l - r) * left;
        let (slope, grade, envelope) = (pick(values.slope), pick(values.grade), pick(values.envelope));
        if d >= values.plateau + slope + envelope {
            return None;
        }
        let change = |f: &dyn Fn(&Values) -> f64| (f(&b.values) - f(&a.values)) / bit_length;
        let gap = (d - values.plateau).max(0.0);
        let steeper = change(&|v| pick(v.grade));
        let wider = change(&|v| v.plateau);
        let lean = values.rise - steeper * gap + grade * wider * f64::from(u8::from(gap > 0.0));
        // Inside a bend a step along the curve is shorter than on it, outside longer.
        let lean = if ends { 0.0 } else { lean / (1.0 - values.bend * d * side).max(0.5) };
        // Round an end the land is z - grade(angle)·gap: this is its slope across the way out.
        let ahead = along[0] * out[0] + along[1] * out[1];
        let turn =
            if ends && d > 1e-9 { -0.5 * (values.grade[0] - values.grade[1]) * ahead * gap / d } else { 0.0 };
        Some(Self { values, d, out, along, slope, grade, envelope, lean, turn })
    }
}
