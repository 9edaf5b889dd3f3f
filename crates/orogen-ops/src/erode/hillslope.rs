//! Soil on hillslopes: how it creeps and slides, and how deep it gets. What `erode.creep` and `erode.stream_power` share.
//!
//! Samples lie at the corners of cells; the flux over a face between two samples depends on the whole slope there, along and
//! across, so that slopes are limited alike in all directions. What one sample loses the other gains.

use orogen_core::{Cancelled, Ctx, Raster, math};
use rayon::prelude::*;

use crate::simd::{Level, dispatch};

/// How fast soil moves on a slope, in shares of the critical slope and as a multiple of what linear creep would move.
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
        Self { bend: bend as f32, most: most as f32, less: (most * share - share / (1.0 - bend)) as f32 }
    }

    /// Flux over that of linear creep, where the square of the slope is `x` times that of the critical one.
    #[inline(always)]
    fn times(self, x: f32) -> f32 {
        let gentle = x < self.bend;
        let root = x.sqrt();
        let (over, under, base) = if gentle { (1.0, 1.0 - x, 0.0) } else { (-self.less, root, self.most) };
        base + over / under
    }

    /// The same for bare rock, which stands up to the critical slope and breaks beyond: `q = M D (S − Sc)`.
    #[inline(always)]
    fn breaks(self, x: f32) -> f32 {
        let x = if x > 1.0 { x } else { 1.0 };
        self.most - self.most / x.sqrt()
    }

    /// How fast the flux grows with slope at most, on land whose steepest slope squared is `x` times that of the critical one.
    fn growth(self, x: f32) -> f64 {
        let x = f64::from(x.min(self.bend));
        ((1.0 + x) / ((1.0 - x) * (1.0 - x))).min(f64::from(self.most))
    }
}

/// How much faster the flux of soil grows with slope near the critical one, at most, than on gentle ground.
pub const GROWTH: f64 = 120.0;

/// Ground that creeps.
#[derive(Clone, Copy)]
pub struct Ground<'a> {
    pub spacing_m: [f64; 2],
    pub law: Law,
    /// One over the square of the critical slope.
    pub per_grade2: &'a Raster<f32>,
    /// The same for bare rock, where it differs; what breaks between two samples is up to the higher one.
    pub rock_per_grade2: Option<&'a Raster<f32>>,
    /// How much of the ground at a sample moves as soil does and how much as rock, in shares of the diffusivity that `metres2` is
    /// given in; all of it as soil where there is none. What moves between two samples is up to the higher one.
    pub shares: Option<[&'a Raster<f32>; 2]>,
    /// Share of what comes together at a place that stays there; streams carry off the rest. All of it where there is none.
    pub stays: Option<&'a Raster<f32>>,
    /// Ground at or below this is sea: it stays, and counts as level with its surface.
    pub sea_m: f32,
}

/// Stages in one go at most; a longer time is solved in several, up to `MOST_PARTS`.
const MOST_STAGES: f64 = 61.0;
const MOST_PARTS: f64 = 64.0;

/// Nanoseconds that a sample takes in a stage, about.
pub const NS_A_STAGE: f64 = 6.0;

/// Depth of soil, in metres, over which the rock below turns to soil `e` times more slowly (Heimsath et al. 1997).
pub const PRODUCTION_DEPTH_M: f64 = 0.5;

/// Depth of soil, in metres, where it is made as fast as ground is lowered, `P exp(−H/h) = E`: none where ground is lowered faster
/// than soil is made, and nowhere more than eight times `h`.
#[must_use]
pub fn balanced(production: f64, lowering: f64, depth_m: f64) -> f64 {
    if production <= 0.0 || lowering >= production {
        return 0.0;
    }
    let ratio = (production / lowering.max(production * 1e-6)).max(1.0);
    depth_m * math::ln(ratio).min(8.0)
}

/// Rows that one task works through.
const ROWS: usize = 32;

impl Ground<'_> {
    /// Stages that take the land on by `metres2 = D dt`, if its flux grows with slope at most `growth` times as fast as that of
    /// linear creep.
    ///
    /// Explicit, in `s` stages whose stable step grows with (s² + s) / 2 (Meyer, Balsara & Aslam 2014, RKL1); an odd
    /// number damps the shortest waves.
    #[must_use]
    pub fn stages(spacing_m: [f64; 2], metres2: f64, growth: f64) -> f64 {
        super::stream_power::slopes::stages(spacing_m, 1.1 * growth * metres2)
    }

    /// As [`Ground::stages`], all parts together of a time that is too long for one.
    #[must_use]
    pub fn stages_of_all_parts(spacing_m: [f64; 2], metres2: f64, growth: f64) -> f64 {
        let stages = Self::stages(spacing_m, metres2, growth);
        // A part reaches as far as the square of its stages.
        stages * (stages / MOST_STAGES).clamp(1.0, MOST_PARTS.sqrt())
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
                let per_grade2 = self.per_grade2.row(row);
                dispatch!(level, _simd => steepest([here, south, per_grade2], [px, py], self.sea_m, cols))
            })
            .reduce(|| 0.0, f32::max);
        self.law.growth(1.2 * most)
    }

    /// What deep soil moves over the faces east and south of each sample, as differences in height. Sea counts as its surface, as
    /// it does when soil moves.
    pub fn faces(&self, height: &Raster<f32>, east: &mut Raster<f32>, south: &mut Raster<f32>) {
        let level = Level::new();
        let deep = Ground { shares: None, ..*self };
        let rows = height.rows();
        let above = height.map(|h| raised(h, self.sea_m));
        let height = &above;
        east.par_rows(|row, out| dispatch!(level, _simd => deep.eastward(height, row, out)));
        south.par_rows(|row, out| {
            if row + 1 < rows {
                dispatch!(level, _simd => deep.southward(height, row, out));
            }
        });
    }

    /// Takes the land on by `metres2 = D dt` in `stages`. About 36 bytes a sample and stage.
    ///
    /// What is rough at the scale of the lattice is left at about `stages^-0.5` of what it was where the ground is steep: a few
    /// goes with fewer stages leave a smoother land than one.
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
        self.in_parts(height, metres2, stages, ctx, |_| ())
    }

    /// Takes the land on by `metres2 = D dt` in as many stages as its slopes need, and says by how much each sample has changed.
    ///
    /// # Errors
    /// When cancelled.
    pub fn pass(
        &self,
        height: &mut Raster<f32>,
        metres2: f64,
        ctx: &Ctx<'_>,
    ) -> Result<Raster<f32>, Cancelled> {
        let stages = Self::stages(self.spacing_m, metres2, self.growth(height));
        self.change(height, metres2, stages, ctx)
    }

    /// The same where soil has come to rest: in one go, however many stages it takes.
    ///
    /// # Errors
    /// When cancelled.
    pub fn pass_at_once(
        &self,
        height: &mut Raster<f32>,
        metres2: f64,
        ctx: &Ctx<'_>,
    ) -> Result<Raster<f32>, Cancelled> {
        let stages = Self::stages(self.spacing_m, metres2, self.growth(height));
        self.go(height, metres2, stages, ctx)
    }

    /// The same as [`Ground::run`], and by how much each sample has changed.
    ///
    /// # Errors
    /// When cancelled.
    pub fn change(
        &self,
        height: &mut Raster<f32>,
        metres2: f64,
        stages: f64,
        ctx: &Ctx<'_>,
    ) -> Result<Raster<f32>, Cancelled> {
        let mut change: Option<Raster<f32>> = None;
        self.in_parts(height, metres2, stages, ctx, |part| match &mut change {
            None => change = Some(part),
            Some(sum) => {
                sum.par_rows(|row, out| out.iter_mut().zip(part.row(row)).for_each(|(a, b)| *a += b))
            }
        })?;
        Ok(change.unwrap_or_else(|| Raster::filled(height.cols(), height.rows(), 0.0)))
    }

    /// Takes the land on by `metres2`, in several goes where one would take too many stages; `each` is given what each changed.
    ///
    /// The stages of a go suit ground whose flux grows with slope as it did at its start. In a long go steep ground becomes gentle,
    /// and what was rough then swings up again instead of fading.
    fn in_parts(
        &self,
        height: &mut Raster<f32>,
        metres2: f64,
        stages: f64,
        ctx: &Ctx<'_>,
        mut each: impl FnMut(Raster<f32>),
    ) -> Result<(), Cancelled> {
        if stages <= MOST_STAGES {
            each(self.go(height, metres2, stages, ctx)?);
            return Ok(());
        }
        let stable = 1.0 / self.spacing_m.iter().map(|d| 2.0 / (d * d)).sum::<f64>();
        let mut left = metres2;
        while left > 0.0 {
            let growth = self.growth(height);
            // As far as so many stages reach, and somewhat less for what rounding may make of it.
            let most = 0.99 * stable * (MOST_STAGES * MOST_STAGES + MOST_STAGES) / (2.0 * 1.1 * growth);
            let part = left.min(most.max(metres2 / MOST_PARTS));
            each(self.go(height, part, Self::stages(self.spacing_m, part, growth), ctx)?);
            left -= part;
        }
        Ok(())
    }

    /// Takes the land on by `metres2` in one go of `stages`, and says by how much each sample has changed.
    fn go(
        &self,
        height: &mut Raster<f32>,
        metres2: f64,
        stages: f64,
        ctx: &Ctx<'_>,
    ) -> Result<Raster<f32>, Cancelled> {
        // Stages are kept as changes since the start: sums of whole heights would lose the small ones.
        let [mut change, mut older] = [(); 2].map(|()| Raster::filled(height.cols(), height.rows(), 0.0));
        if metres2 <= 0.0 {
            return Ok(change);
        }
        let by = metres2 * 2.0 / (stages * stages + stages);
        let start = height.clone();
        height.par_rows(|_, out| out.iter_mut().for_each(|h| *h = raised(*h, self.sea_m)));
        let mut next = height.clone();
        for j in 1..=stages as u64 {
            ctx.stop_if_asked()?;
            let j = j as f64;
            let mu = (2.0 * j - 1.0) / j;
            let nu = (1.0 - j) / j;
            self.stage([&start, height, &change], &mut older, &mut next, [mu, nu, mu * by]);
            std::mem::swap(height, &mut next);
            std::mem::swap(&mut change, &mut older);
        }
        height.par_rows(|row, out| {
            for (h, &start) in out.iter_mut().zip(start.row(row)) {
                *h = if start <= self.sea_m { start } else { *h };
            }
        });
        Ok(change)
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
        if let Some(shares) = self.shares {
            let [soil, rock] = shares.map(|share| &share.row(row)[..cols]);
            let breaks = self.rock_per_grade2.map(|breaks| &breaks.row(row)[..cols]);
            for i in 0..cols - 1 {
                let d = known(here[i + 1] - here[i]);
                let t = across * (known(south[i] - north[i]) + known(south[i + 1] - north[i + 1]));
                let per_grade2 = match breaks {
                    None => 0.5 * (per_grade2[i] + per_grade2[i + 1]),
                    Some(breaks) => {
                        if d > 0.0 {
                            breaks[i + 1]
                        } else {
                            breaks[i]
                        }
                    }
                };
                let x = (along * (d * d) + t * t) * per_grade2;
                let soil = if d > 0.0 { soil[i + 1] } else { soil[i] };
                let rock = if d > 0.0 { rock[i + 1] } else { rock[i] };
                out[i] = soil * out[i] + rock * (d * law.breaks(x));
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
        for i in 1..cols.max(2) - 1 {
            let d = known(south[i] - here[i]);
            let t = across * (known(here[i + 1] - here[i - 1]) + known(south[i + 1] - south[i - 1]));
            let x = (along * (d * d) + t * t) * (0.5 * (grades.0[i] + grades.1[i]));
            out[i] = d * law.times(x);
        }
        // At either end of the row, from one side only.
        for i in [0, cols - 1] {
            let (west, east) = (i.saturating_sub(1), (i + 1).min(cols - 1));
            let d = known(south[i] - here[i]);
            let t = 2.0 * across * (known(here[east] - here[west]) + known(south[east] - south[west]));
            let x = (along * (d * d) + t * t) * (0.5 * (grades.0[i] + grades.1[i]));
            out[i] = d * law.times(x);
        }
        if let Some(shares) = self.shares {
            let [soil, rock] = shares.map(|share| (&share.row(row)[..cols], &share.row(row + 1)[..cols]));
            let breaks = self.rock_per_grade2;
            let breaks = breaks.map(|breaks| (&breaks.row(row)[..cols], &breaks.row(row + 1)[..cols]));
            for i in 0..cols {
                let (west, east) = (i.saturating_sub(1), (i + 1).min(cols - 1));
                let d = known(south[i] - here[i]);
                let across = if i == 0 || i + 1 == cols { 2.0 * across } else { across };
                let t = across * (known(here[east] - here[west]) + known(south[east] - south[west]));
                let per_grade2 = match breaks {
                    None => 0.5 * (grades.0[i] + grades.1[i]),
                    Some(breaks) => {
                        if d > 0.0 {
                            breaks.1[i]
                        } else {
                            breaks.0[i]
                        }
                    }
                };
                let x = (along * (d * d) + t * t) * per_grade2;
                let soil = if d > 0.0 { soil.1[i] } else { soil.0[i] };
                let rock = if d > 0.0 { rock.1[i] } else { rock.0[i] };
                out[i] = soil * out[i] + rock * (d * law.breaks(x));
            }
        }
    }
}

/// The height of ground, or of the sea above it; a hole stays one.
#[inline(always)]
fn raised(height: f32, sea_m: f32) -> f32 {
    if height < sea_m { sea_m } else { height }
}

/// A difference, and 0 to and from a hole.
#[inline(always)]
fn known(difference: f32) -> f32 {
    if difference.is_nan() { 0.0 } else { difference }
}

/// The largest square of a slope over that of the critical one, along a row.
#[inline(always)]
fn steepest(rows: [&[f32]; 3], [px, py]: [f32; 2], sea_m: f32, cols: usize) -> f32 {
    let [here, south, per_grade2] = rows.map(|row| &row[..cols]);
    let fall = |a: f32, b: f32| known(raised(a, sea_m) - raised(b, sea_m));
    let mut most = [0.0f32; 8];
    for i in 0..cols - 1 {
        let (x, y) = (fall(here[i + 1], here[i]), fall(south[i], here[i]));
        let slope = (px * (x * x) + py * (y * y)) * per_grade2[i];
        let most = &mut most[i % 8];
        *most = if slope > *most { slope } else { *most };
    }
    let y = fall(south[cols - 1], here[cols - 1]);
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
        next[i] = if moves { start[i] + new } else { raised(start[i], sea_m) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use orogen_core::testkit::assert_close;

    /// Creep on even ground of one critical slope.
    fn creep(
        height: &mut Raster<f32>,
        spacing_m: [f64; 2],
        critical: f32,
        metres2: f64,
        passes: u32,
        sea_m: f32,
    ) {
        let per_grade2 = Raster::filled(height.cols(), height.rows(), 1.0 / (critical * critical));
        let ground = Ground {
            spacing_m,
            law: Law::new(GROWTH),
            per_grade2: &per_grade2,
            rock_per_grade2: None,
            shares: None,
            stays: None,
            sea_m,
        };
        let metres2 = metres2 / f64::from(passes);
        for _ in 0..passes {
            let stages = Ground::stages(spacing_m, metres2, ground.growth(height));
            ground.run(height, metres2, stages, &Ctx::silent()).unwrap();
        }
    }

    fn rough(cols: usize, rows: usize) -> Raster<f32> {
        let seed = orogen_core::Seed::from_text("soil");
        Raster::from_fn(cols, rows, |c, r| 400.0 + 9.0 * seed.unit2(c as i64, r as i64) as f32)
    }

    #[test]
    fn the_flux_is_roerings_up_to_the_bend_and_smooth_there() {
        let law = Law::new(GROWTH);
        for share in [0.0f32, 0.3, 0.6, 0.9] {
            let x = share * share;
            assert_close!(law.times(x), 1.0 / (1.0 - x), rel = 1e-6);
        }
        let (below, above) = (law.times(law.bend * 0.9999), law.times(law.bend * 1.0001));
        assert_close!(below, above, rel = 2e-3);
        // Beyond it the flux goes on growing, by M for every bit of slope.
        let flux = |share: f32| share * law.times(share * share);
        assert_close!(flux(2.0) - flux(1.5), 0.5 * GROWTH as f32, rel = 1e-4);
    }

    #[test]
    fn a_hillslope_comes_to_the_closed_form_of_roering() {
        // Half a ridge 200 m long above a base that stays; lowered by 0.1 mm a year.
        let (d, critical, rate, cell) = (0.005, 0.8, 1e-4, 4.0);
        let n = 51;
        let mut height = Raster::filled(n, 3, 1.0);
        for row in 0..3 {
            height.as_mut_slice()[row * n + n - 1] = 0.0;
        }
        let dt = 2000.0;
        for _ in 0..1500 {
            height.par_rows(|_, out| out[..n - 1].iter_mut().for_each(|h| *h += (rate * dt) as f32));
            creep(&mut height, [cell, cell], critical as f32, d * dt, 1, 0.0);
        }
        // The divide lies half a cell before the first sample.
        let form = |x: f64| {
            let a = (1.0 + math::pow(2.0 * rate * x / (d * critical), 2.0)).sqrt();
            d * critical * critical / (2.0 * rate) * (math::ln(0.5 * (a + 1.0)) - a + 1.0)
        };
        let base = form((n as f64 - 0.5) * cell);
        let relief = form(0.5 * cell) - base;
        for col in 0..n {
            let exact = form((col as f64 + 0.5) * cell) - base;
            assert_close!(f64::from(height.row(1)[col]), exact, abs = 0.01 * relief);
        }
        // Straight and near the limit below, round at the crest.
        let grade = |col: usize| f64::from(height.row(1)[col] - height.row(1)[col + 1]) / cell;
        assert!(grade(48) > 0.85 * critical && grade(48) < critical && grade(1) < 0.25 * grade(48));
    }

    #[test]
    fn mass_is_conserved_and_heights_keep_to_their_range() {
        for (spacing, passes) in [([5.0, 5.0], 4), ([5.0, 8.0], 1)] {
            let before = rough(70, 65);
            let mut after = before.clone();
            creep(&mut after, spacing, 0.7, 40.0, passes, f32::NEG_INFINITY);
            assert_close!(after.sum_f64() / before.sum_f64(), 1.0, abs = 1e-6);
            let (a, b) = (before.range().unwrap(), after.range().unwrap());
            assert!(b.0 >= a.0 && b.1 <= a.1, "{a:?} {b:?}");
            assert!(b.1 - b.0 < 0.9 * (a.1 - a.0));
        }
    }

    #[test]
    fn turned_land_gives_the_turned_result() {
        let n = 48;
        let turned = |r: &Raster<f32>| Raster::from_fn(n, n, |col, row| r.row(col)[n - 1 - row]);
        let mut after = rough(n, n);
        let mut other = turned(&after);
        creep(&mut after, [5.0, 5.0], 0.7, 20.0, 2, f32::NEG_INFINITY);
        creep(&mut other, [5.0, 5.0], 0.7, 20.0, 2, f32::NEG_INFINITY);
        let after = turned(&after);
        for (a, b) in after.as_slice().iter().zip(other.as_slice()) {
            assert_close!(*a, *b, abs = 1e-3);
        }
    }

    #[test]
    fn a_cliff_comes_to_rest_near_the_limit() {
        let mut height = Raster::from_fn(81, 33, |col, _| if col < 40 { 60.0 } else { 0.0 });
        // Too little for gentle ground to move: a diffusion length of 4 m.
        creep(&mut height, [5.0, 5.0], 0.8, 16.0, 8, f32::NEG_INFINITY);
        let row = height.row(16);
        let steepest = row.windows(2).map(|w| (w[0] - w[1]) / 5.0).fold(0.0, f32::max) / 0.8;
        assert!((0.8..1.05).contains(&steepest), "{steepest} of the limit");
        assert!(row.windows(2).all(|w| w[1] <= w[0] + 1e-3));
        assert_eq!(row[0], 60.0);
    }

    #[test]
    fn a_cone_stays_as_steep_in_all_directions() {
        let n = 97;
        let mut height = Raster::from_fn(n, n, |c, r| {
            (300.0 - 9.0 * math::hypot(c as f64 - 48.0, r as f64 - 48.0)).max(0.0) as f32
        });
        creep(&mut height, [10.0, 10.0], 0.75, 600.0, 4, f32::NEG_INFINITY);
        let at = |angle: f64, far: f64| {
            let (x, y) = (far * math::cos(angle.to_radians()), far * math::sin(angle.to_radians()));
            f64::from(height.bilinear(48.0 + x, 48.0 + y))
        };
        for angle in [22.5, 45.0, 67.5, 90.0, 180.0, 225.0] {
            for far in [3.0, 12.0, 22.0, 32.0] {
                assert_close!(at(angle, far), at(0.0, far), abs = 2.0);
            }
        }
    }

    #[test]
    fn holes_and_the_smallest_grids_do_no_harm() {
        let mut height = rough(33, 33);
        for cell in [0, 500, 501, 534, 33 * 33 - 1] {
            height.as_mut_slice()[cell] = f32::NAN;
        }
        let sum = |r: &Raster<f32>| r.map(|v| if v.is_nan() { 0.0 } else { v }).sum_f64();
        let before = sum(&height);
        creep(&mut height, [3.0, 3.0], 0.6, 30.0, 2, f32::NEG_INFINITY);
        assert_eq!(height.as_slice().iter().filter(|h| h.is_nan()).count(), 5);
        assert_close!(sum(&height) / before, 1.0, abs = 1e-6);
        for (cols, rows) in [(1, 1), (2, 2), (9, 1), (1, 9)] {
            let mut flat = Raster::filled(cols, rows, 7.0);
            creep(&mut flat, [3.0, 3.0], 0.6, 30.0, 1, f32::NEG_INFINITY);
            assert!(flat.as_slice().iter().all(|&h| h == 7.0));
        }
    }

    #[test]
    fn what_the_faces_move_does_not_depend_on_how_deep_the_sea_is() {
        let land = rough(24, 20);
        let coast = |floor: f32| {
            Raster::from_fn(24, 20, |c, r| if (c + r) % 5 < 2 { floor } else { land.row(r)[c] - 395.0 })
        };
        let per_grade2 = Raster::filled(24, 20, 2.0);
        let ground = Ground {
            spacing_m: [5.0, 8.0],
            law: Law::new(GROWTH),
            per_grade2: &per_grade2,
            rock_per_grade2: None,
            shares: None,
            stays: None,
            sea_m: 0.0,
        };
        let faces = |floor: f32| {
            let mut faces = [(); 2].map(|()| Raster::filled(24, 20, 0.0));
            let [east, south] = &mut faces;
            ground.faces(&coast(floor), east, south);
            faces
        };
        assert_eq!(faces(0.0), faces(-4000.0));
        assert!(faces(0.0)[0].range().unwrap().1 > 0.0);
    }

    #[test]
    fn soil_is_as_deep_as_makes_it_as_fast_as_ground_is_lowered() {
        assert_close!(balanced(2e-4, 1e-4, 0.5), 0.5 * math::ln(2.0), rel = 1e-12);
        assert_eq!(balanced(2e-4, 3e-4, 0.5), 0.0);
        assert_eq!(balanced(2e-4, -1.0, 0.5), 4.0);
    }
}
