//! Soil on hillslopes: how it creeps and slides, and how deep it gets. What `erode.creep` and `erode.stream_power` share.

use orogen_core::{Cancelled, Ctx, Raster};
use rayon::prelude::*;

use crate::simd::{Level, dispatch};

/// How fast soil moves on a slope, told in shares of the critical slope and as a multiple of what linear creep would move.
///
/// ```text
/// q = −D S / (1 − (S/Sc)²)                     below the slope s* Sc at which dq/dS has grown to M times D
/// q = −D (q* + M (S/Sc − s*) Sc)               above: small landslides carry M times as much for every bit of slope
/// ```
///
/// The flux grows with slope everywhere and its derivative is at most `M D`, so that explicit stages are stable whatever the
/// land: slopes beyond the critical one come back within a hundredth of the time that creep would take.
///
/// After Roering, Kirchner & Dietrich, Water Resour. Res. 35 (1999), whose flux has no end at the critical slope.
#[derive(Clone, Copy, Debug)]
pub struct Law {
    /// Square of the share of the critical slope from which the flux grows evenly.
    bend: f32,
    /// `M`.
    most: f32,
    /// What keeps the flux together at the bend: `M s* − s* / (1 − s*²)`.
    less: f32,
}

impl Law {
    /// The law whose flux grows at most `most` times as fast with slope as that of linear creep.
    #[must_use]
    pub fn new(most: f64) -> Self {
        let most = most.max(1.0);
        // (1 + x) / (1 − x)² = M
        let bend = ((2.0 * most + 1.0) - (8.0 * most + 1.0).sqrt()) / (2.0 * most);
        let share = bend.max(0.0).sqrt();
        Self {
            bend: bend as f32,
            most: most as f32,
            less: (most * share - share / (1.0 - bend)) as f32,
        }
    }

    /// Flux over that of linear creep, where the square of the slope is `x` times that of the critical one.
    #[inline(always)]
    fn times(self, x: f32) -> f32 {
        let gentle = x < self.bend;
        let root = x.sqrt();
        let (over, under, base) =
            if gentle { (1.0, 1.0 - x, 0.0) } else { (-self.less, root, self.most) };
        base + over / under
    }

    /// How fast the flux grows with slope at most, on land whose steepest slope squared is `x` times that of the critical one.
    fn growth(self, x: f32) -> f64 {
        let x = f64::from(x.min(self.bend));
        ((1.0 + x) / ((1.0 - x) * (1.0 - x))).min(f64::from(self.most))
    }
}

/// Ground that creeps.
pub struct Creep<'a> {
    pub spacing_m: [f64; 2],
    pub law: Law,
    /// One over the square of the critical slope.
    pub per_grade2: &'a Raster<f32>,
    /// Diffusivity as a share of that which `metres2` is told in; everywhere the same where there is none.
    pub share: Option<&'a Raster<f32>>,
    /// Share of what comes together at a place that stays there; streams carry off the rest. All of it where there is none.
    pub stays: Option<&'a Raster<f32>>,
    /// Ground at or below this stays.
    pub sea_m: f32,
}

/// Rows that one task works through.
const ROWS: usize = 32;

impl Creep<'_> {
    /// Stages that take the land on by `metres2 = D dt`, if its flux grows with slope at most `growth` times as fast as that of
    /// linear creep.
    ///
    /// Explicit, in `s` stages whose stable step grows with (s² + s) / 2 (Meyer, Balsara & Aslam 2014, RKL1); an odd
    /// number damps the shortest waves.
    #[must_use]
    pub fn stages(spacing_m: [f64; 2], metres2: f64, growth: f64) -> f64 {
        super::stream_power::slopes::stages(spacing_m, 1.1 * growth * metres2)
    }

    /// How fast the flux grows with slope at most on this land.
    #[must_use]
    pub fn growth(&self, height: &Raster<f32>) -> f64 {
        let (cols, rows) = (height.cols(), height.rows());
        let [px, py] = self.spacing_m.map(|d| (1.0 / (d * d)) as f32);
        let level = Level::new();
        let most = (0..rows)
            .into_par_iter()
            .with_min_len(ROWS)
            .map(|row| {
                let (here, south) = (height.row(row), height.row((row + 1).min(rows - 1)));
                dispatch!(level, _simd => steepest(here, south, self.per_grade2.row(row), [px, py], cols))
            })
            .reduce(|| 0.0, f32::max);
        self.law.growth(1.2 * most)
    }

    /// Takes the land on by `metres2 = D dt` in `stages`.
    ///
    /// # Errors
    /// When cancelled.
    pub fn run(
        &self,
        height: &mut Raster<f32>,
        metres2: f64,
        stages: f64,
        ctx: &Ctx<'_>,
    ) -> Result<(), Cancelled> {
        if metres2 <= 0.0 {
            return Ok(());
        }
        let by = metres2 * 2.0 / (stages * stages + stages);
        // Stages are told as changes since the start: sums of whole heights would lose the small ones.
        let start = height.clone();
        let mut next = height.clone();
        let [mut change, mut older] = [(); 2].map(|()| Raster::filled(height.cols(), height.rows(), 0.0));
        for j in 1..=stages as u64 {
            ctx.stop_if_asked()?;
            let j = j as f64;
            let mu = (2.0 * j - 1.0) / j;
            let nu = (1.0 - j) / j;
            self.stage([&start, height, &change], &mut older, &mut next, [mu, nu, mu * by]);
            std::mem::swap(height, &mut next);
            std::mem::swap(&mut change, &mut older);
        }
        Ok(())
    }

    /// `older = mu · change + nu · older + by · ∇·(k ∇ last)` and `next = start + older`; what was sea or hole at the start stays.
    fn stage(
        &self,
        [start, last, change]: [&Raster<f32>; 3],
        older: &mut Raster<f32>,
        next: &mut Raster<f32>,
        [mu, nu, by]: [f64; 3],
    ) {
        let (cols, rows) = (last.cols(), last.rows());
        let level = Level::new();
        let weights = self.spacing_m.map(|d| (by / (d * d)) as f32);
        let mix = [mu as f32, nu as f32];
        let older = older.as_mut_slice().par_chunks_mut(cols * ROWS);
        let next = next.as_mut_slice().par_chunks_mut(cols * ROWS);
        older.zip(next).enumerate().for_each(|(chunk, (older, next))| {
            let first = chunk * ROWS;
            let mut faces = Faces::new(cols);
            if first > 0 {
                dispatch!(level, _simd => self.southward(last, first - 1, &mut faces.north));
            }
            for (i, (older, next)) in older.chunks_mut(cols).zip(next.chunks_mut(cols)).enumerate() {
                let row = first + i;
                if row + 1 < rows {
                    dispatch!(level, _simd => self.southward(last, row, &mut faces.south));
                } else {
                    faces.south.fill(0.0);
                }
                dispatch!(level, _simd => self.eastward(last, row, &mut faces.east));
                let (start, change) = (start.row(row), change.row(row));
                let stays = self.stays.map(|stays| stays.row(row));
                dispatch!(level, _simd => faces.gather(weights, stays));
                dispatch!(level, _simd => advance(older, next, [start, change], &faces.gain, mix, self.sea_m));
                std::mem::swap(&mut faces.north, &mut faces.south);
            }
        });
    }

    /// What moves over the faces between each sample of a row and the next to the east: the difference of their heights, times
    /// what the slope there makes of it. The last is 0.
    #[inline(always)]
    fn eastward(&self, height: &Raster<f32>, row: usize, out: &mut [f32]) {
        let (cols, rows) = (height.cols(), height.rows());
        let here = &height.row(row)[..cols];
        let north = &height.row(row.saturating_sub(1))[..cols];
        let south = &height.row((row + 1).min(rows - 1))[..cols];
        let per_grade2 = &self.per_grade2.row(row)[..cols];
        let out = &mut out[..cols];
        let along = (1.0 / (self.spacing_m[0] * self.spacing_m[0])) as f32;
        let span = if row == 0 || row + 1 == rows { 2.0 } else { 4.0 };
        let across = 1.0 / (span * self.spacing_m[1]) as f32;
        let law = self.law;
        for i in 0..cols - 1 {
            let d = known(here[i + 1] - here[i]);
            let t = across * (known(south[i] - north[i]) + known(south[i + 1] - north[i + 1]));
            let x = (along * (d * d) + t * t) * (0.5 * (per_grade2[i] + per_grade2[i + 1]));
            out[i] = d * law.times(x);
        }
        out[cols - 1] = 0.0;
        if let Some(share) = self.share {
            let share = &share.row(row)[..cols];
            for i in 0..cols - 1 {
                out[i] *= 0.5 * (share[i] + share[i + 1]);
            }
        }
    }

    /// The same for the faces between each sample of a row and the next to the south.
    #[inline(always)]
    fn southward(&self, height: &Raster<f32>, row: usize, out: &mut [f32]) {
        let cols = height.cols();
        let (here, south) = (&height.row(row)[..cols], &height.row(row + 1)[..cols]);
        let grades = (&self.per_grade2.row(row)[..cols], &self.per_grade2.row(row + 1)[..cols]);
        let out = &mut out[..cols];
        let along = (1.0 / (self.spacing_m[1] * self.spacing_m[1])) as f32;
        let across = 1.0 / (4.0 * self.spacing_m[0]) as f32;
        let law = self.law;
        let face = |i: usize, west: usize, east: usize, across: f32| {
            let d = known(south[i] - here[i]);
            let t = across * (known(here[east] - here[west]) + known(south[east] - south[west]));
            let x = (along * (d * d) + t * t) * (0.5 * (grades.0[i] + grades.1[i]));
            d * law.times(x)
        };
        for i in 1..cols.max(2) - 1 {
            out[i] = face(i, i - 1, i + 1, across);
        }
        out[0] = face(0, 0, 1.min(cols - 1), 2.0 * across);
        out[cols - 1] = face(cols - 1, cols.max(2) - 2, cols - 1, 2.0 * across);
        if let Some(share) = self.share {
            let (here, south) = (&share.row(row)[..cols], &share.row(row + 1)[..cols]);
            for i in 0..cols {
                out[i] *= 0.5 * (here[i] + south[i]);
            }
        }
    }
}

/// A difference, and 0 to and from a hole.
#[inline(always)]
fn known(difference: f32) -> f32 {
    if difference.is_nan() { 0.0 } else { difference }
}

/// The largest square of a slope over that of the critical one, along a row.
#[inline(always)]
fn steepest(here: &[f32], south: &[f32], per_grade2: &[f32], [px, py]: [f32; 2], cols: usize) -> f32 {
    let (here, south, per_grade2) = (&here[..cols], &south[..cols], &per_grade2[..cols]);
    let mut most = [0.0f32; 8];
    for i in 0..cols - 1 {
        let (x, y) = (known(here[i + 1] - here[i]), known(south[i] - here[i]));
        let slope = (px * (x * x) + py * (y * y)) * per_grade2[i];
        let most = &mut most[i % 8];
        *most = if slope > *most { slope } else { *most };
    }
    let y = known(south[cols - 1] - here[cols - 1]);
    most.into_iter().fold(py * (y * y) * per_grade2[cols - 1], f32::max)
}

/// What moves over the faces east, north and south of each sample of a row, and what that comes to.
struct Faces {
    east: Vec<f32>,
    north: Vec<f32>,
    south: Vec<f32>,
    gain: Vec<f32>,
}

impl Faces {
    fn new(cols: usize) -> Self {
        let [east, north, south, gain] = [(); 4].map(|()| vec![0.0; cols]);
        Self { east, north, south, gain }
    }

    #[inline(always)]
    fn gather(&mut self, [wx, wy]: [f32; 2], stays: Option<&[f32]>) {
        let cols = self.gain.len();
        let (east, north, south) = (&self.east[..cols], &self.north[..cols], &self.south[..cols]);
        let gain = &mut self.gain[..cols];
        gain[0] = wx * east[0] + wy * (south[0] - north[0]);
        for i in 1..cols {
            gain[i] = wx * (east[i] - east[i - 1]) + wy * (south[i] - north[i]);
        }
        if let Some(stays) = stays {
            gain.iter_mut().zip(stays).for_each(|(gain, stays)| *gain *= stays);
        }
    }
}

#[inline(always)]
fn advance(
    older: &mut [f32],
    next: &mut [f32],
    [start, change]: [&[f32]; 2],
    gain: &[f32],
    [mu, nu]: [f32; 2],
    sea_m: f32,
) {
    let cols = older.len();
    let (next, start, change, gain) = (&mut next[..cols], &start[..cols], &change[..cols], &gain[..cols]);
    for i in 0..cols {
        let new = (mu * change[i] + nu * older[i]) + gain[i];
        // False for holes too.
        let moves = start[i] > sea_m;
        older[i] = if moves { new } else { 0.0 };
        next[i] = if moves { start[i] + new } else { start[i] };
    }
}
