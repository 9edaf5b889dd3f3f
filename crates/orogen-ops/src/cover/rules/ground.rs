//! Slope and curvature of the ground over a length, along parts of rows.

use std::ops::Range;

use orogen_core::{Cancelled, Ctx, Frame, Raster};

use crate::mask::curvature::{Steps, opposite};
use crate::simd::{Level, dispatch};
use crate::survey::slope::degrees;

/// What is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Measure {
    /// Slope in degrees.
    Slope,
    /// Slope as a rise a metre.
    Rise,
    /// Mean curvature a metre, convex positive.
    Curvature,
}

/// Differences of heights half a length to each side: a sample at least, as less would measure the same cells.
///
/// Slope takes them twice along the own row and column and once along those half the length away; curvature along the own.
/// What is beyond the land or a hole is mirrored.
pub(super) struct Ground<'a> {
    measure: Measure,
    height: &'a Raster<f32>,
    x: Steps,
    y: Steps,
    /// What differences are multiplied by.
    per: f32,
    level: Level,
}

/// Lengths in samples, from which a part of a row looks much further than it is long.
const FAR: usize = 64;

fn half_m(frame: &Frame, over_m: f64) -> f64 {
    let [dx, dy] = frame.spacing_m();
    (over_m / 2.0).max(dx.max(dy))
}

/// Whether short parts of rows cost no more than whole ones.
pub(super) fn is_near(frame: &Frame, over_m: f64) -> bool {
    Steps::new(half_m(frame, over_m), frame.spacing_m()[0]).whole < FAR
}

impl<'a> Ground<'a> {
    pub fn new(measure: Measure, height: &'a Raster<f32>, frame: &Frame, over_m: f64) -> Self {
        let [dx, dy] = frame.spacing_m();
        let half = half_m(frame, over_m);
        let [mut x, y] = [dx, dy].map(|spacing| Steps::new(half, spacing));
        // Beyond the land is beyond, however far.
        x.whole = x.whole.min(height.cols());
        let per = match measure {
            Measure::Slope | Measure::Rise => 1.0 / (8.0 * half),
            Measure::Curvature => -0.5 / (half * half),
        };
        Self { measure, height, x, y, per: per as f32, level: Level::new() }
    }

    /// All over the land.
    pub fn raster(&self, ctx: &Ctx<'_>) -> Result<Raster<f32>, Cancelled> {
        let cols = self.height.cols();
        let mut out = Raster::filled(cols, self.height.rows(), 0.0);
        out.try_par_rows(|row, values| {
            self.block(row, 0..cols, &mut Default::default(), values);
            if row % 16 == 0 { ctx.stop_if_asked() } else { Ok(()) }
        })?;
        Ok(out)
    }

    /// The nearest place on the land, in columns and rows.
    pub fn within(&self, col: f64, row: f64) -> [f64; 2] {
        let last = |count: usize| (count - 1) as f64;
        [col.clamp(0.0, last(self.height.cols())), row.clamp(0.0, last(self.height.rows()))]
    }

    /// At a sample; beyond the last ones at those.
    pub fn at(&self, col: usize, row: usize, lines: &mut [Vec<f32>; 3]) -> f32 {
        let [col, row] = [col.min(self.height.cols() - 1), row.min(self.height.rows() - 1)];
        let mut value = [0.0];
        self.block(row, col..col + 1, lines, &mut value);
        value[0]
    }

    /// Along some columns of a row.
    pub fn block(&self, row: usize, cols: Range<usize>, lines: &mut [Vec<f32>; 3], out: &mut [f32]) {
        let far = self.x.whole + 1;
        let wide = cols.len() + 2 * far;
        let (whole, first, last) = (self.y.whole, cols.start as isize - far as isize, self.height.rows());
        let away = |row: Option<usize>| row.filter(|row| *row < last).map(|row| self.height.row(row));
        let north = [row.checked_sub(whole), row.checked_sub(whole + 1)].map(away);
        let south = [row.checked_add(whole), row.checked_add(whole + 1)].map(away);
        let here = [Some(self.height.row(row)); 2];
        for (line, (rows, share)) in
            lines.iter_mut().zip([(north, self.y.share), (here, 0.0), (south, self.y.share)])
        {
            line.resize(wide, 0.0);
            between(rows, share, first, line);
        }
        let [north, here, south] = &*lines;
        let lines = [&north[..], here, south];
        let Self { per, level, .. } = *self;
        macro_rules! run {
            ($kernel:ident, $f:expr) => {
                if self.x.share == 0.0 {
                    dispatch!(level, _simd => $kernel::<true>(lines, &self.x, per, $f, out))
                } else {
                    dispatch!(level, _simd => $kernel::<false>(lines, &self.x, per, $f, out))
                }
            };
        }
        match self.measure {
            Measure::Slope => run!(rises, degrees),
            Measure::Rise => run!(rises, |p, q| (p * p + q * q).sqrt()),
            Measure::Curvature => run!(bends, |r, t| r + t),
        }
    }
}

/// A line a share of the way from one row to another, from a column that may lie beyond the land; missing there.
fn between([near, far]: [Option<&[f32]>; 2], share: f32, first: isize, out: &mut [f32]) {
    let far = if share == 0.0 { near } else { far };
    let (Some(near), Some(far)) = (near, far) else { return out.fill(f32::NAN) };
    let (before, start) = ((-first).max(0) as usize, first.max(0) as usize);
    let before = before.min(out.len());
    let (missing, rest) = out.split_at_mut(before);
    missing.fill(f32::NAN);
    let count = rest.len().min(near.len().saturating_sub(start));
    let (inside, missing) = rest.split_at_mut(count);
    missing.fill(f32::NAN);
    let (near, far) = (&near[start..][..count], &far[start..][..count]);
    if share == 0.0 {
        inside.copy_from_slice(near);
    } else {
        let pairs = near.iter().zip(far);
        inside.iter_mut().zip(pairs).for_each(|(out, (near, far))| *out = near + (far - near) * share);
    }
}

/// The values to the west and to the east of each sample of a line.
macro_rules! sides {
    ($line:expr, $x:expr, $count:expr) => {{
        let (whole, count) = ($x.whole, $count);
        // The line starts one sample further west than the whole steps go.
        [1, 0, 2 * whole + 1, 2 * whole + 2].map(|at| &$line[at..][..count])
    }};
}

#[inline(always)]
fn mix<const EVEN: bool>(near: f32, far: f32, share: f32) -> f32 {
    if EVEN { near } else { near + (far - near) * share }
}

/// What `f` makes of the rises to the east and to the north.
#[inline(always)]
fn rises<const EVEN: bool>(
    [north, here, south]: [&[f32]; 3],
    x: &Steps,
    per: f32,
    f: impl Fn(f32, f32) -> f32,
    out: &mut [f32],
) {
    let (count, far, share) = (out.len(), x.whole + 1, x.share);
    // Of one length all, so that the loop has no checks and becomes vector code.
    let [nw, nw_far, ne, ne_far] = sides!(north, x, count);
    let [w, w_far, e, e_far] = sides!(here, x, count);
    let [sw, sw_far, se, se_far] = sides!(south, x, count);
    let [north, here, south] = [north, here, south].map(|line| &line[far..][..count]);
    for i in 0..count {
        let z = here[i];
        let side = |near: &[f32], far: &[f32]| mix::<EVEN>(near[i], far[i], share);
        let (w, e) = opposite(z, side(w, w_far), side(e, e_far));
        let (s, n) = opposite(z, south[i], north[i]);
        let (nw, se) = opposite(z, side(nw, nw_far), side(se, se_far));
        let (ne, sw) = opposite(z, side(ne, ne_far), side(sw, sw_far));
        let p = ((ne - nw) + 2.0 * (e - w) + (se - sw)) * per;
        let q = ((nw - sw) + 2.0 * (n - s) + (ne - se)) * per;
        let value = f(p, q);
        out[i] = if z.is_nan() { z } else { value };
    }
}

/// What `f` makes of the bends along the row and across it.
#[inline(always)]
fn bends<const EVEN: bool>(
    [north, here, south]: [&[f32]; 3],
    x: &Steps,
    per: f32,
    f: impl Fn(f32, f32) -> f32,
    out: &mut [f32],
) {
    let (count, far, share) = (out.len(), x.whole + 1, x.share);
    let [w, w_far, e, e_far] = sides!(here, x, count);
    let [north, here, south] = [north, here, south].map(|line| &line[far..][..count]);
    for i in 0..count {
        let z = here[i];
        let side = |near: &[f32], far: &[f32]| mix::<EVEN>(near[i], far[i], share);
        let (w, e) = opposite(z, side(w, w_far), side(e, e_far));
        let (s, n) = opposite(z, south[i], north[i]);
        let value = f(e - 2.0 * z + w, n - 2.0 * z + s) * per;
        out[i] = if z.is_nan() { z } else { value };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mask::curvature::{Kind, curvature};
    use crate::survey::gradient::Method;
    use crate::survey::slope;
    use orogen_core::{Seed, math};

    /// Land with a share of holes.
    fn land(cols: usize, rows: usize, holes: f64) -> Raster<f32> {
        Raster::from_fn(cols, rows, |col, row| {
            let wave = 40.0 * math::sin(col as f64 / 3.0) * math::cos(row as f64 / 4.0);
            let hole = Seed(3).unit2(col as i64, row as i64) < holes;
            if hole { f32::NAN } else { (wave + 0.8 * col as f64) as f32 }
        })
    }

    #[test]
    fn parts_of_rows_have_the_bits_of_the_whole_on_every_instruction_set() {
        let frame = Frame::new([0.0; 2], [290.0, 240.0], [30, 25]).unwrap();
        let height = land(30, 25, 0.02);
        for measure in [Measure::Slope, Measure::Rise, Measure::Curvature] {
            for over_m in [1.0, 20.0, 33.0, 80.0, 900.0] {
                let ground = Ground::new(measure, &height, &frame, over_m);
                let plain =
                    Ground { level: Level::baseline(), ..Ground::new(measure, &height, &frame, over_m) };
                let all = ground.raster(&Ctx::silent()).unwrap();
                let mut lines = Default::default();
                for row in 0..25 {
                    for (from, to) in [(0, 7), (7, 19), (19, 30)] {
                        let mut out = vec![0.0; to - from];
                        plain.block(row, from..to, &mut lines, &mut out);
                        let bits = |values: &[f32]| values.iter().map(|v| v.to_bits()).collect::<Vec<_>>();
                        assert_eq!(bits(&out), bits(&all.row(row)[from..to]), "{measure:?} {over_m} {row}");
                    }
                }
            }
        }
    }

    #[test]
    fn it_measures_what_the_survey_and_the_mask_do() {
        let frame = Frame::new([0.0; 2], [290.0, 240.0], [30, 25]).unwrap();
        let height = land(30, 25, 0.0);
        let spacing = frame.spacing_m();
        let slope_here = Ground::new(Measure::Slope, &height, &frame, 1.0).raster(&Ctx::silent()).unwrap();
        let surveyed = slope::slope(&height, spacing, Method::Horn, &Ctx::silent()).unwrap();
        let bend = Ground::new(Measure::Curvature, &height, &frame, 50.0).raster(&Ctx::silent()).unwrap();
        let masked = curvature(&height, spacing, Kind::Mean, 25.0, &Ctx::silent()).unwrap();
        for (name, a, b, off) in
            [("slope", &slope_here, &surveyed, 1e-3), ("curvature", &bend, &masked, 1e-5)]
        {
            // At the edges the survey mirrors in another way.
            let inside = |raster: &Raster<f32>| raster.crop(2, 2, 26, 21);
            for (a, b) in inside(a).as_slice().iter().zip(inside(b).as_slice()) {
                assert!((a - b).abs() < off || (a.is_nan() && b.is_nan()), "{name}: {a} and {b}");
            }
        }
    }
}
