//! Sand at rest at the samples of a map: no two neighbours differ by more than the angle of repose lets them.
//!
//! ```text
//! L(p) = min over q of h(q) + tan θ |p − q|        the highest land below h that is nowhere steeper
//! U(p) = max over q of h(q) − tan θ |p − q|        the lowest land above h that is nowhere steeper
//! h'   = L + λ (U − L)
//! ```
//!
//! Distances go from sample to sample, eight ways, past steps of rock and not across them. A mixture of two lands that
//! are nowhere too steep is not too steep either, and `λ` is such that each heap keeps its sand. Where nothing is too
//! steep both are `h`, to the bit. So one pass is enough, whatever the spacing.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use orogen_core::{Cancelled, Ctx, Raster, math};

/// What is too steep by less than this share of a step is rounding.
const ROUNDING: f64 = 1e-4;

/// Which samples are neighbours, how far apart they are, and what lies on them.
struct Ground<'a> {
    rock: Vec<f32>,
    /// Samples that neither give nor take.
    fixed: Vec<bool>,
    cols: usize,
    rows: usize,
    /// Whether the first column and row lie beyond the last.
    round: bool,
    /// The steps to the eight neighbours, with the largest difference of heights.
    steps: [(isize, isize, f64); 8],
    ctx: &'a Ctx<'a>,
}

impl Ground<'_> {
    /// The neighbours that sand can slide to and from, with the largest difference of heights.
    fn neighbours_of(&self, at: usize) -> impl Iterator<Item = (usize, f64)> + '_ {
        let (col, row) = ((at % self.cols) as isize, (at / self.cols) as isize);
        let (cols, rows) = (self.cols as isize, self.rows as isize);
        self.steps.iter().filter_map(move |&(right, down, most)| {
            let (mut c, mut r) = (col + right, row + down);
            if self.round {
                (c, r) = (c.rem_euclid(cols), r.rem_euclid(rows));
            }
            if !(0..cols).contains(&c) || !(0..rows).contains(&r) {
                return None;
            }
            let other = (r * cols + c) as usize;
            // Beside a hole, whose rock is NaN, the comparison is false.
            let smooth = f64::from((self.rock[at] - self.rock[other]).abs()) <= most;
            (other != at && smooth && !self.fixed[other]).then_some((other, most))
        })
    }

    /// The land that `h` becomes when steep places are brought down to what lies below them; with `up`, when what lies
    /// below is brought up.
    fn envelope(&self, h: &[f32], up: bool) -> Result<Vec<f32>, Cancelled> {
        let sign = if up { -1.0 } else { 1.0 };
        let mut land: Vec<f32> = h.iter().map(|h| sign * h).collect();
        let mut heap: BinaryHeap<Reverse<(u32, usize)>> = BinaryHeap::new();
        for at in 0..h.len() {
            if at % (1 << 16) == 0 {
                self.ctx.stop_if_asked()?;
            }
            if self.fixed[at] || land[at].is_nan() {
                continue;
            }
            let (here, low) = (f64::from(land[at]), &land);
            let below = |(other, most): (usize, f64)| f64::from(low[other]) - here > most * (1.0 + ROUNDING);
            if self.neighbours_of(at).any(below) {
                heap.push(Reverse((ordered(land[at]), at)));
            }
        }
        let mut count = 0usize;
        while let Some(Reverse((key, at))) = heap.pop() {
            count += 1;
            if count.is_multiple_of(1 << 14) {
                self.ctx.stop_if_asked()?;
            }
            if key != ordered(land[at]) {
                continue;
            }
            for (other, most) in self.neighbours_of(at) {
                let limit = f64::from(land[at]) + most;
                // At heights beyond the digits of an f32, what is set may be what was.
                if f64::from(land[other]) > limit + ROUNDING * most && land[other] > limit as f32 {
                    land[other] = limit as f32;
                    heap.push(Reverse((ordered(land[other]), other)));
                }
            }
        }
        land.iter_mut().for_each(|h| *h *= sign);
        Ok(land)
    }
}

/// Heights as whole numbers that sort like them.
fn ordered(h: f32) -> u32 {
    let bits = h.to_bits();
    if bits >> 31 == 1 { !bits } else { bits | 1 << 31 }
}

/// Brings sand to rest. `held` marks the samples that must stay; with `round`, the first column and row lie one spacing
/// beyond the last.
///
/// # Errors
/// When cancelled.
pub(super) fn bring_to_rest(
    height: &mut Raster<f32>,
    sand: &mut Raster<f32>,
    held: Option<&Raster<bool>>,
    spacing_m: [f64; 2],
    repose_deg: f64,
    round: bool,
    ctx: &Ctx<'_>,
) -> Result<(), Cancelled> {
    let tan_repose = math::tan(repose_deg.to_radians());
    let [dx, dy] = spacing_m;
    let slant = math::hypot(dx, dy);
    let ways = [(-1, 0, dx), (1, 0, dx), (0, -1, dy), (0, 1, dy)];
    let slants = [(-1, -1, slant), (1, -1, slant), (-1, 1, slant), (1, 1, slant)];
    let mut steps = [(0, 0, 0.0); 8];
    for (step, (right, down, far)) in steps.iter_mut().zip(ways.into_iter().chain(slants)) {
        *step = (right, down, tan_repose * far);
    }
    let ground = Ground {
        rock: height.as_slice().iter().zip(sand.as_slice()).map(|(h, d)| h - d).collect(),
        fixed: held.map_or_else(|| vec![false; height.as_slice().len()], |held| held.as_slice().to_vec()),
        cols: height.cols(),
        rows: height.rows(),
        round,
        steps,
        ctx,
    };
    let low = ground.envelope(height.as_slice(), false)?;
    let high = ground.envelope(height.as_slice(), true)?;
    let moves = |at: usize| low[at] < high[at];
    let mut seen = vec![false; low.len()];
    for start in 0..low.len() {
        if seen[start] || !moves(start) {
            continue;
        }
        ctx.stop_if_asked()?;
        // All that hangs together with it.
        seen[start] = true;
        let (mut heap, mut next) = (vec![start], 0);
        while let Some(&at) = heap.get(next) {
            next += 1;
            for (other, _) in ground.neighbours_of(at) {
                if !seen[other] && moves(other) {
                    seen[other] = true;
                    heap.push(other);
                }
            }
        }
        let (mut less, mut more) = (0.0, 0.0);
        for &at in &heap {
            let h = f64::from(height.as_slice()[at]);
            less += h - f64::from(low[at]);
            more += f64::from(high[at]) - h;
        }
        let share = less / (less + more);
        for &at in &heap {
            let (h, low, high) = (&mut height.as_mut_slice()[at], f64::from(low[at]), f64::from(high[at]));
            let rests = low + share * (high - low);
            let depth = &mut sand.as_mut_slice()[at];
            *depth = ((f64::from(*depth) + rests - f64::from(*h)) as f32).max(0.0);
            *h = rests as f32;
        }
    }
    Ok(())
}
