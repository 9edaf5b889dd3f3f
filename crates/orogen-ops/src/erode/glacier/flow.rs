//! How ice flows: the shallow-ice approximation with sliding, in flux form.
//!
//! ```text
//! ∂H/∂t = ∇·((Γ H⁵ + Σ H⁴) |∇s|² ∇s)        s = b + H
//! ```
//!
//! `Γ` is the deformation and `Σ` the sliding. The thickness at a face comes from upstream with a limited slope (van Leer), so
//! that ice neither leaves bare ground nor piles up above a step (after Jarosch, Schoof & Anslow 2013). Time is explicit, in `s`
//! stages whose stable step grows with s² (Meyer, Balsara & Aslam 2014, RKL1); every stage works out its own fluxes.

use std::ops::Range;

use orogen_core::{Cancelled, Ctx, Raster};
use rayon::prelude::*;

use crate::simd::{Level, dispatch};

/// Density of ice times gravity, in Pa/m.
pub const WEIGHT: f64 = 917.0 * 9.81;
/// Softness of temperate ice, in Pa⁻³/yr (Cuffey & Paterson 2010: 2.4e-24 Pa⁻³/s).
pub const SOFTNESS: f64 = 2.4e-24 * 3.156e7;
/// Stages of a step, at most; ice that would need more flows as fast as these allow.
const MOST_STAGES: u32 = 49;
/// Rows that a thread works on at a time, and columns that are worked on or passed over together.
const BAND: usize = 16;

/// Cells from which on threads share a stage; fewer are done before the threads have met.
const SHARED: usize = 1 << 15;

/// The law of flow on a lattice.
#[derive(Clone, Copy, Debug)]
pub struct Law {
    /// `Γ`, in 1/(m³ yr).
    pub deformation: f64,
    /// `Σ`, in 1/(m² yr).
    pub sliding: f64,
    pub spacing_m: [f64; 2],
    /// Surface of the sea, or minus infinity where there is none.
    pub sea_m: f32,
}

impl Law {
    /// Ice `softness` times as soft as temperate ice, that slides at `sliding_m_per_yr` under a drag of 100 kPa.
    pub fn new(softness: f64, sliding_m_per_yr: f64, spacing_m: [f64; 2], sea_m: f32) -> Self {
        let cubed = WEIGHT * WEIGHT * WEIGHT;
        Self {
            deformation: 0.4 * softness * SOFTNESS * cubed,
            sliding: sliding_m_per_yr * 1e-15 * cubed,
            spacing_m,
            sea_m,
        }
    }

    /// The longest step that one explicit stage of a diffusivity bears.
    fn stable_yr(&self, diffusivity: f64) -> f64 {
        let [dx, dy] = self.spacing_m;
        1.0 / (4.0 * diffusivity * (1.0 / (dx * dx) + 1.0 / (dy * dy)))
    }
}

/// Ice on its way.
#[derive(Clone, Debug)]
pub struct Flow {
    pub law: Law,
    /// Largest diffusivity of the step before, in m²/yr.
    stiffest: f64,
    older: Raster<f32>,
    next: Raster<f32>,
}

/// What became of the ice in a step, in cubic metres.
#[derive(Clone, Copy, Debug, Default)]
pub struct Left {
    pub over_edge_m3: f64,
}

impl Flow {
    pub fn new(law: Law, cols: usize, rows: usize) -> Self {
        let none = || Raster::filled(cols, rows, 0.0);
        Self { law, stiffest: f64::INFINITY, older: none(), next: none() }
    }

    /// Lets ice flow over a bed for a while. Ice flows out over the edge of the map where its surface falls outwards.
    ///
    /// # Errors
    /// When cancelled.
    pub fn step(
        &mut self,
        ice: &mut Raster<f32>,
        bed: &Raster<f32>,
        dt_yr: f64,
        ctx: &Ctx<'_>,
    ) -> Result<Left, Cancelled> {
        // Diffusivity may grow during the step.
        let stages = stages(dt_yr / self.law.stable_yr(1.4 * self.stiffest));
        let share = 2.0 / f64::from(stages * stages + stages);
        // The diffusivity that these stages bear, however thick the ice.
        let cap = self.law.stable_yr(1.25) / (dt_yr * share);
        let runs = with_ice(ice);
        let mut out = [0.0; 2];
        let (older, next) = (&mut self.older, &mut self.next);
        for j in 1..=stages {
            ctx.stop_if_asked()?;
            let jf = f64::from(j);
            let [mu, nu] = if j == 1 { [1.0, 0.0] } else { [(2.0 * jf - 1.0) / jf, (1.0 - jf) / jf] };
            let stage = Stage {
                law: &self.law,
                bed,
                ice,
                older,
                runs: &runs,
                cap: cap as f32,
                drift: drift(&self.law, dt_yr),
                weights: [-nu as f32, (mu * share * dt_yr) as f32],
            };
            let (stiffest, edge_m3) = stage.run(next, j == 1);
            if j == 1 {
                self.stiffest = stiffest.max(1.0);
            }
            out = [mu * out[0] + nu * out[1] + mu * share * dt_yr * edge_m3, out[0]];
            std::mem::swap(older, ice);
            std::mem::swap(ice, next);
        }
        settle(ice);
        Ok(Left { over_edge_m3: out[0] })
    }

    /// What flows through the eastern and southern face of every cell in steps of `dt_yr`, in m²/yr; nothing through those of the edge.
    pub fn fluxes(&self, ice: &Raster<f32>, bed: &Raster<f32>, dt_yr: f64) -> [Raster<f32>; 2] {
        let (cols, rows) = (ice.cols(), ice.rows());
        let stage = Stage {
            law: &self.law,
            bed,
            ice,
            older: ice,
            runs: &[],
            cap: f32::INFINITY,
            drift: drift(&self.law, dt_yr),
            weights: [0.0, 0.0],
        };
        let mut all = [Raster::filled(cols, rows, 0.0), Raster::filled(cols, rows, 0.0)];
        let mut lines = Lines::new(cols);
        for row in 0..rows {
            stage.load(&mut lines, row as isize);
            let (mut east, mut south) = (vec![0.0; cols + 1], vec![0.0; cols]);
            stage.east(&lines, 0..cols + 1, &mut east);
            if row + 1 < rows {
                stage.south(&lines, 0..cols, &mut south);
            }
            all[0].as_mut_slice()[row * cols..(row + 1) * cols - 1].copy_from_slice(&east[1..cols]);
            all[1].as_mut_slice()[row * cols..(row + 1) * cols].copy_from_slice(&south);
        }
        all
    }
}

/// The columns of each band of rows that have ice in their block or in one beside it. In a step ice comes no farther.
fn with_ice(ice: &Raster<f32>) -> Vec<Vec<Range<usize>>> {
    let cols = ice.cols();
    let blocks = cols.div_ceil(BAND);
    let here: Vec<Vec<bool>> = (ice.as_slice().chunks(cols * BAND))
        .map(|band| {
            let mut here = vec![false; blocks];
            for row in band.chunks(cols) {
                for (here, block) in here.iter_mut().zip(row.chunks(BAND)) {
                    *here |= block.iter().any(|&h| h > 0.0);
                }
            }
            here
        })
        .collect();
    let near = |band: usize, block: usize| {
        let around = here[band.saturating_sub(1)..(band + 2).min(here.len())].iter();
        around.flat_map(|band| &band[block.saturating_sub(1)..(block + 2).min(blocks)]).any(|&here| here)
    };
    (0..here.len())
        .map(|band| {
            let mut runs: Vec<Range<usize>> = Vec::new();
            for block in (0..blocks).filter(|&block| near(band, block)) {
                let (start, end) = (block * BAND, ((block + 1) * BAND).min(cols));
                match runs.last_mut() {
                    Some(run) if run.end == start => run.end = end,
                    _ => runs.push(start..end),
                }
            }
            runs
        })
        .collect()
}

/// Stages for so many stable steps in one; an odd number damps the shortest waves.
fn stages(steps: f64) -> u32 {
    let mut stages = 3;
    while stages < MOST_STAGES && f64::from(stages * stages + stages) / 2.0 < steps {
        stages += 2;
    }
    stages
}

/// Stages may overshoot at margins: less than nothing becomes nothing, and all other ice gives a hair for it.
fn settle(ice: &mut Raster<f32>) {
    let (mut have, mut owed) = (0.0, 0.0);
    for &h in ice.as_slice() {
        have += f64::from(h.max(0.0));
        owed += f64::from((-h).max(0.0));
    }
    let keep = if have > 0.0 { (1.0 - owed / have).max(0.0) as f32 } else { 0.0 };
    ice.as_mut_slice().iter_mut().for_each(|h| *h = if *h > 0.0 { *h * keep } else { 0.0 });
}

/// One stage of a step: `next = ice + κ (ice − older) + w · flow(ice)`.
struct Stage<'a> {
    law: &'a Law,
    bed: &'a Raster<f32>,
    ice: &'a Raster<f32>,
    older: &'a Raster<f32>,
    /// Columns of each band where there is ice near.
    runs: &'a [Vec<Range<usize>>],
    cap: f32,
    drift: [f32; 2],
    weights: [f32; 2],
}

/// Five rows of thickness and of surface round a row, each with two cells beyond either end.
struct Lines {
    ice: [Vec<f32>; 5],
    surface: [Vec<f32>; 5],
}

impl Lines {
    fn new(cols: usize) -> Self {
        let lines = || std::array::from_fn(|_| vec![0.0; cols + 4]);
        Self { ice: lines(), surface: lines() }
    }
}

/// Buffers of a band.
struct Faces {
    east: Vec<f32>,
    north: Vec<f32>,
    south: Vec<f32>,
}

impl Stage<'_> {
    fn limited(&self) -> Limited {
        Limited {
            deformation: self.law.deformation as f32,
            sliding: self.law.sliding as f32,
            cap: self.cap,
            drift: self.drift,
        }
    }

    /// Works out `next`; gives the largest diffusivity where that is asked for, and what leaves over the edge in a year, in m³.
    fn run(&self, next: &mut Raster<f32>, measure: bool) -> (f64, f64) {
        let (cols, rows) = (self.ice.cols(), self.ice.rows());
        let level = Level::new();
        let band = |(number, out): (usize, &mut [f32])| {
            let (first, runs) = (number * BAND, &self.runs[number]);
            let (mut stiffest, mut edge) = (0.0f32, 0.0f64);
            out.fill(0.0);
            if runs.is_empty() {
                return (stiffest, edge);
            }
            let mut lines = Lines::new(cols);
            let mut faces =
                Faces { east: vec![0.0; cols + 1], north: vec![0.0; cols], south: vec![0.0; cols] };
            for (i, line) in out.chunks_mut(cols).enumerate() {
                let row = first + i;
                if i == 0 {
                    self.load(&mut lines, row as isize - 1);
                    for run in runs {
                        dispatch!(level, _simd => self.south(&lines, run.clone(), &mut faces.north));
                    }
                    self.load(&mut lines, row as isize);
                } else {
                    self.next_line(&mut lines, row);
                    std::mem::swap(&mut faces.north, &mut faces.south);
                }
                for run in runs {
                    let east = run.start..run.end + 1;
                    dispatch!(level, _simd => self.south(&lines, run.clone(), &mut faces.south));
                    dispatch!(level, _simd => self.east(&lines, east, &mut faces.east));
                    dispatch!(level, _simd => self.gather(&faces, row, run.clone(), line));
                    if measure {
                        let found = dispatch!(level, _simd => self.stiffness(&lines, run.clone(), &faces));
                        stiffest = stiffest.max(found);
                    }
                }
                edge += self.over_edge(&faces, row, rows);
            }
            (stiffest, edge)
        };
        let bands: Vec<(f32, f64)> = if cols * rows < SHARED {
            next.as_mut_slice().chunks_mut(cols * BAND).enumerate().map(band).collect()
        } else {
            next.as_mut_slice().par_chunks_mut(cols * BAND).enumerate().map(band).collect()
        };
        bands.iter().fold((0.0, 0.0), |sum, band| (f64::from(band.0).max(sum.0), sum.1 + band.1))
    }

    /// Thickness and surface of the five rows round `row`.
    fn load(&self, lines: &mut Lines, row: isize) {
        for (i, (ice, surface)) in lines.ice.iter_mut().zip(&mut lines.surface).enumerate() {
            self.line(row + i as isize - 2, ice, surface);
        }
    }

    /// Goes on to the row after the one loaded.
    fn next_line(&self, lines: &mut Lines, row: usize) {
        lines.ice.rotate_left(1);
        lines.surface.rotate_left(1);
        self.line(row as isize + 2, &mut lines.ice[4], &mut lines.surface[4]);
    }

    /// Thickness and surface along a row.
    fn line(&self, row: isize, ice: &mut [f32], surface: &mut [f32]) {
        dispatch!(Level::new(), _simd => self.line_of(row, ice, surface));
    }

    /// Beyond the edge the surface goes on falling if it falls, and is level otherwise.
    #[inline(always)]
    fn line_of(&self, row: isize, ice: &mut [f32], surface: &mut [f32]) {
        let (cols, rows) = (self.ice.cols(), self.ice.rows());
        let inside = row.clamp(0, rows as isize - 1);
        let (h, b) = (self.ice.row(inside as usize), self.bed.row(inside as usize));
        let sea_m = self.law.sea_m;
        // Comparisons, not `max`, which minds what is not a number.
        let thick = |h: f32| if h > 0.0 { h } else { 0.0 };
        let of = |h: f32, b: f32| {
            let top = b + thick(h);
            if top > sea_m { top } else { sea_m }
        };
        let (inner_ice, inner_surface) = (&mut ice[2..cols + 2], &mut surface[2..cols + 2]);
        for i in 0..cols {
            inner_ice[i] = thick(h[i]);
            inner_surface[i] = of(h[i], b[i]);
        }
        if row != inside && rows > 1 {
            let inner = (if row < 0 { 1 } else { rows as isize - 2 }) as usize;
            let (h, b) = (self.ice.row(inner), self.bed.row(inner));
            for ((surface, &h), &b) in surface[2..cols + 2].iter_mut().zip(h).zip(b) {
                *surface = surface.min(2.0 * *surface - of(h, b));
            }
        }
        let beyond = |edge: f32, inner: f32| edge.min(2.0 * edge - inner);
        let (west, east) = (2, cols + 1);
        let (inner_west, inner_east) = (3.min(east), cols.max(west));
        let ends = [ice[west], ice[east]];
        ice[..2].fill(ends[0]);
        ice[cols + 2..].fill(ends[1]);
        let outer = [beyond(surface[west], surface[inner_west]), beyond(surface[east], surface[inner_east])];
        surface[..2].fill(outer[0]);
        surface[cols + 2..].fill(outer[1]);
    }

    /// Flow through the eastern faces of the middle row, m²/yr, from that of the cell beyond the western edge on.
    #[inline(always)]
    fn east(&self, lines: &Lines, run: Range<usize>, out: &mut [f32]) {
        let count = run.len();
        let out = &mut out[run.clone()];
        let [dx, dy] = self.law.spacing_m;
        let (per_x, per_4y) = ((1.0 / dx) as f32, (0.25 / dy) as f32);
        let law = self.limited();
        let h = &lines.ice[2][run.start..run.end + 3];
        let [n, m, s] = [1, 2, 3].map(|line: usize| &lines.surface[line][run.start..run.end + 3]);
        for i in 0..count {
            let along = (m[i + 2] - m[i + 1]) * per_x;
            let across = (n[i + 1] + n[i + 2] - s[i + 1] - s[i + 2]) * per_4y;
            let d = diffusivity([h[i], h[i + 1], h[i + 2], h[i + 3]], along, across, law);
            out[i] = -d * along;
        }
    }

    /// Flow through the southern faces of the middle row, m²/yr.
    #[inline(always)]
    fn south(&self, lines: &Lines, run: Range<usize>, out: &mut [f32]) {
        let count = run.len();
        let out = &mut out[run.clone()];
        let [dx, dy] = self.law.spacing_m;
        let (per_y, per_4x) = ((1.0 / dy) as f32, (0.25 / dx) as f32);
        let law = self.limited();
        let [a, b, c, d] = [1, 2, 3, 4].map(|line: usize| &lines.ice[line][run.start + 2..run.end + 2]);
        let [m, s] = [2, 3].map(|line: usize| &lines.surface[line][run.start + 1..run.end + 3]);
        for i in 0..count {
            let along = (s[i + 1] - m[i + 1]) * per_y;
            let across = (m[i + 2] + s[i + 2] - m[i] - s[i]) * per_4x;
            let d = diffusivity([a[i], b[i], c[i], d[i]], along, across, law);
            out[i] = -d * along;
        }
    }

    /// What a row becomes.
    #[inline(always)]
    fn gather(&self, faces: &Faces, row: usize, run: Range<usize>, out: &mut [f32]) {
        let count = run.len();
        let out = &mut out[run.clone()];
        let [per_x, per_y] = self.law.spacing_m.map(|d| (1.0 / d) as f32);
        let [more, w] = self.weights;
        let (h, older) = (&self.ice.row(row)[run.clone()], &self.older.row(row)[run.clone()]);
        let (north, south) = (&faces.north[run.clone()], &faces.south[run.clone()]);
        let east = &faces.east[run.start..run.end + 1];
        for i in 0..count {
            let gain = (east[i] - east[i + 1]) * per_x + (north[i] - south[i]) * per_y;
            out[i] = h[i] + more * (h[i] - older[i]) + w * gain;
        }
    }

    /// What leaves the map from a row in a year, in m³.
    fn over_edge(&self, faces: &Faces, row: usize, rows: usize) -> f64 {
        let [dx, dy] = self.law.spacing_m;
        let sum = |line: &[f32]| line.iter().map(|&q| f64::from(q)).sum::<f64>();
        let (west, east) = (faces.east[0], faces.east[faces.east.len() - 1]);
        let mut out = (f64::from(east) - f64::from(west)) * dy;
        if row == 0 {
            out -= sum(&faces.north) * dx;
        }
        if row + 1 == rows {
            out += sum(&faces.south) * dx;
        }
        out
    }

    /// The largest diffusivity of a row, with what its speed adds: fluxes over slopes, and half a cell of drift.
    #[inline(always)]
    fn stiffness(&self, lines: &Lines, run: Range<usize>, faces: &Faces) -> f32 {
        let count = run.len();
        let [dx, dy] = self.law.spacing_m.map(|d| d as f32);
        let [m, s] = [2, 3].map(|line: usize| &lines.surface[line][run.start + 1..run.end + 3]);
        let [h, below] = [2, 3].map(|line: usize| &lines.ice[line][run.start + 1..run.end + 3]);
        let (through_east, through_south) = (&faces.east[run.start + 1..run.end + 1], &faces.south[run]);
        let mut most = 0.0f32;
        for i in 0..count {
            let east = stiff(through_east[i], m[i + 2] - m[i + 1], h[i + 1].max(h[i + 2]), dx);
            let south = stiff(through_south[i], s[i + 1] - m[i + 1], h[i + 1].max(below[i + 1]), dy);
            let more = if east > south { east } else { south };
            most = if more > most { more } else { most };
        }
        most
    }
}

/// Diffusivity that a flux over a drop of the surface shows, and what its speed adds.
#[inline(always)]
fn stiff(flux: f32, drop: f32, ice: f32, d: f32) -> f32 {
    let q = flux.abs();
    q * d / drop.abs().max(1e-3) + 0.625 * q / ice.max(1.0) * d
}

/// The law with its limits.
#[derive(Clone, Copy)]
struct Limited {
    deformation: f32,
    sliding: f32,
    cap: f32,
    drift: [f32; 2],
}

/// How far steep ice may drift in a step: waves of thickness travel five times as fast as ice, and the stages bear them as long as
/// the square of their way stays below four times what diffusion spreads, or their way below two cells.
fn drift(law: &Law, dt_yr: f64) -> [f32; 2] {
    let [dx, dy] = law.spacing_m;
    [(0.16 / dt_yr) as f32, (0.4 * dx.min(dy) / dt_yr) as f32]
}

/// Square of a slope so small that nothing drifts on it.
const LEVEL2: f32 = 1e-12;

/// Diffusivity at the face between the two middle cells of four, for a slope of the surface along and across the row.
#[inline(always)]
fn diffusivity(h: [f32; 4], along: f32, across: f32, law: Limited) -> f32 {
    // Ice comes from the higher side.
    let forward = along < 0.0;
    let beyond = if forward { h[0] } else { h[3] };
    let from = if forward { h[1] } else { h[2] };
    let to = if forward { h[2] } else { h[1] };
    let (d1, d2) = (from - beyond, to - from);
    let both = d1 * d2;
    let sum = if both > 0.0 { d1 + d2 } else { 1.0 };
    let slope2 = along * along + across * across;
    // One division for both quotients below, as divisions are what a stage waits for.
    let steep2 = slope2 + LEVEL2;
    let per_both = 1.0 / (sum * steep2);
    let face = from + if both > 0.0 { both * steep2 * per_both } else { 0.0 };
    // Rounding may leave a hair less than nothing.
    let face = if face > 0.0 { face } else { 0.0 };
    let face2 = face * face;
    let d = (law.deformation * face + law.sliding) * face2 * face2 * slope2;
    let drifts = face * (law.drift[0] * face + law.drift[1] * slope2.sqrt()) * (sum * per_both);
    let d = if drifts < d { drifts } else { d };
    if d < law.cap { d } else { law.cap }
}
