//! Blur: filters that soften a layer, or sharpen it.

use orogen_core::param::Fault;
use orogen_core::{
    Cancelled, Coef, Ctx, Frame, LayerData, LayerName, Layers, Op, OpError, Raster, Reach, Terrain, layer,
    math,
};
use rayon::prelude::*;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Which filter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// A bell of standard deviation `radius_m / 3`, cut off at the radius: even in all directions.
    #[default]
    Gaussian,
    /// The mean over a square of half side `radius_m`.
    Box,
    /// The median over a disc: removes specks, keeps edges.
    Median,
    /// A kernel of your own along x, then along y: `kernel`, a weight every `tap_m`; the radius is not used.
    Fir,
}

/// Softens a layer: the mean or median of what lies around each sample, or any kernel of your own.
///
/// ```text
/// out = h + t·(f − h)      f = Σ w(i) w(j) h(x + i, y + j) / Σ w(i) w(j)
/// gaussian  w(d) = exp(−½ (3d/r)²),  |d| ≤ r
/// box       w(d) = 1,  |d| ≤ r;  a cell that lies partly inside counts in part
/// fir       w(d): straight lines between the taps of the kernel, whose middle lies at 0
/// ```
///
/// **Guarantees** (1) a level layer stays level; (2) box, Gaussian and median give nothing outside the range of the
/// layer around; (3) away from edges and holes a plane stays a plane; (4) a window has the same bits as the whole, as
/// every sum has one order, counted from its own sample; (5) a speck smaller than half the disc is gone after a median.
///
/// **Limits** At the edge of the world the outermost samples are carried on (a median takes fewer samples instead). A
/// hole stays a hole and counts for nothing around it. Cells must be smaller than the radius (or `tap_m`) for anything
/// to happen. Time grows with the radius until that is as large as the land: `4 r/cell` multiplications a cell, a median
/// about ten times that.
///
/// **After** the FIR low-pass filters of classic terrain generation; the median slides its window as Huang, Yang & Tang,
/// IEEE Trans. ASSP 27 (1979), over ranks instead of grey levels.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Blur {
    /// Layer that is changed.
    pub layer: LayerName,
    /// Which filter.
    pub kind: Kind,
    /// How far the filter reaches.
    #[schemars(range(min = 0.0, max = 1e5), extend("x-unit" = "m", "x-slider" = [0.0, 500.0]))]
    pub radius_m: f64,
    /// Weights of a `fir` kernel from west to east and from south to north; an odd number, the middle one at the sample.
    #[schemars(length(min = 1, max = 255), inner(range(min = -1e6, max = 1e6)))]
    pub kernel: Vec<f64>,
    /// Distance between the weights of a `fir` kernel.
    #[schemars(range(min = 1e-3, max = 1e5), extend("x-unit" = "m", "x-slider" = [1.0, 100.0]))]
    pub tap_m: f64,
    /// How much of the result is taken, from 0 to 1: a number, or a layer.
    #[schemars(extend("minimum" = 0.0, "maximum" = 1.0))]
    pub strength: Coef,
}

impl Default for Blur {
    fn default() -> Self {
        Self {
            layer: layer::HEIGHT.name(),
            kind: Kind::Gaussian,
            radius_m: 60.0,
            kernel: vec![1.0, 2.0, 1.0],
            tap_m: 30.0,
            strength: Coef::Const(1.0),
        }
    }
}

impl Op for Blur {
    const ID: &'static str = "shape.blur";
    const VERSION: u32 = 2;

    fn layers(&self) -> Layers {
        Layers::none().updating([self.layer.clone()]).reading(self.strength.layer())
    }

    fn reach(&self, frame: &Frame) -> Reach {
        let [dx, dy] = frame.spacing_m();
        let far = |spacing: f64| reach_cells(self, spacing) as f64 * spacing;
        Reach::Within(far(dx).max(far(dy)))
    }

    fn bytes_a_sample(&self, _: &Frame) -> f64 {
        8.0
    }

    fn faults(&self) -> Vec<Fault> {
        if self.kind != Kind::Fir {
            return Vec::new();
        }
        if self.kernel.len().is_multiple_of(2) {
            let count = self.kernel.len();
            return vec![Fault::of("kernel", format!("expected an odd number of weights, found {count}"))];
        }
        let reach_m = (self.kernel.len() / 2) as f64 * self.tap_m;
        if reach_m > 1e5 {
            return vec![Fault::of(
                "tap_m",
                format!("the kernel reaches {reach_m} m; the maximum is 100000 m"),
            )];
        }
        let (sum, size) = (self.kernel.iter().sum::<f64>(), self.kernel.iter().map(|w| w.abs()).sum::<f64>());
        if sum.abs() <= 1e-3 * size {
            return vec![Fault::of(
                "kernel",
                format!("the weights add up to {sum}; their sum must not be 0"),
            )];
        }
        Vec::new()
    }

    fn run(&self, mut terrain: Terrain, ctx: &Ctx<'_>) -> Result<Terrain, OpError> {
        let before: &Raster<f32> = terrain.get_named(&self.layer)?;
        let mut after = blur(before, terrain.frame().spacing_m(), self, ctx)?;
        let strength = self.strength.on(&terrain)?;
        after.par_rows(|row, values| {
            for (col, (value, &h)) in values.iter_mut().zip(before.row(row)).enumerate() {
                let share = strength.at(col, row);
                let mixed = if share == 1.0 { *value } else { h + share.clamp(0.0, 1.0) * (*value - h) };
                *value = if share.is_nan() | h.is_nan() { h } else { mixed };
            }
        });
        terrain.set_named(self.layer.clone(), LayerData::F32(after.into()));
        Ok(terrain)
    }
}

/// The filter alone, at full strength.
///
/// # Errors
/// When cancelled.
pub fn blur(
    values: &Raster<f32>,
    spacing_m: [f64; 2],
    params: &Blur,
    ctx: &Ctx<'_>,
) -> Result<Raster<f32>, Cancelled> {
    if params.kind == Kind::Median {
        return median(values, spacing_m, params.radius_m, ctx);
    }
    let [x, y] = [(spacing_m[0], values.cols()), (spacing_m[1], values.rows())]
        .map(|(spacing, count)| taps(params, spacing, count));
    convolve(values, &x, &y, ctx)
}

/// Weights of a filter on a line of `count` cells of one size, an odd number.
fn taps(params: &Blur, spacing: f64, count: usize) -> Vec<f32> {
    let middle = (params.kernel.len() / 2) as f64;
    let radius_m = params.radius_m;
    folded(reach_cells(params, spacing), count, |i| {
        let d = i * spacing;
        match params.kind {
            Kind::Gaussian if radius_m > 0.0 => math::exp(-4.5 * (d / radius_m) * (d / radius_m)),
            Kind::Box => ((radius_m - d.abs()) / spacing + 0.5).clamp(0.0, 1.0),
            Kind::Fir => {
                let at = d / params.tap_m + middle;
                let whole = at.floor();
                let tap = |i: f64| params.kernel.get(i as usize).copied().filter(|_| i >= 0.0).unwrap_or(0.0);
                tap(whole) + (at - whole) * (tap(whole + 1.0) - tap(whole))
            }
            _ => 1.0,
        }
    })
}

/// How many cells a filter reaches: to the furthest sample inside; for the box, the furthest whose cell lies partly
/// inside.
fn reach_cells(params: &Blur, spacing: f64) -> i64 {
    let middle = (params.kernel.len() / 2) as f64;
    let radius_m = if params.kind == Kind::Fir { (middle + 1.0) * params.tap_m } else { params.radius_m };
    let reach = match params.kind {
        Kind::Box => (radius_m / spacing + 0.5 - 1e-9).ceil() as i64 - 1,
        _ => (radius_m / spacing + 1e-9).floor() as i64,
    };
    reach.max(0)
}

/// Most weights that are added up one by one behind the ends of a line.
const MOST_ADDED: i64 = 1 << 16;

/// Weights `weight(−reach) … weight(reach)` for [`convolve`] along lines of `count` cells.
///
/// The ends of a line are carried on, so whatever lies `count − 1` cells away or further is one of its ends, seen from
/// any cell. Those weights are added up: there are never more than `2·count − 1`, however large the reach. A window that
/// shows all that a filter sees is either longer than the reach, or as long as the whole land; both fold alike.
pub(super) fn folded(reach: i64, count: usize, weight: impl Fn(f64) -> f64) -> Vec<f32> {
    let most = reach.min(count.max(2) as i64 - 1);
    let beyond = |sign: f64| {
        let behind = reach - most + 1;
        let added = behind.min(MOST_ADDED);
        // Weights change slowly where there are so many: each of those added stands for as many.
        let each = behind as f64 / added as f64;
        let at = |i: i64| most as f64 - 0.5 + (i as f64 + 0.5) * each;
        (0..added).map(|i| weight(sign * at(i))).sum::<f64>() * each
    };
    (-most..=most)
        .map(|i| {
            let end = most < reach && i.abs() == most;
            (if end { beyond(if i < 0 { -1.0 } else { 1.0 }) } else { weight(i as f64) }) as f32
        })
        .collect()
}

/// Weighted mean along x, then along y. The taps are an odd number each; edges are carried on; holes count for nothing.
///
/// # Errors
/// When cancelled.
pub(super) fn convolve(
    values: &Raster<f32>,
    x: &[f32],
    y: &[f32],
    ctx: &Ctx<'_>,
) -> Result<Raster<f32>, Cancelled> {
    let holes = values.as_slice().par_iter().any(|v| v.is_nan());
    let counter = ctx.counter(values.rows() * if holes { 4 } else { 2 });
    let pass = |f: &(dyn Fn(f32) -> f32 + Sync)| -> Result<Raster<f32>, Cancelled> {
        let mut across = Raster::filled(values.cols(), values.rows(), 0.0);
        across.try_par_rows(|row, out| {
            along(values.row(row), x, f, out);
            counter.done()
        })?;
        let mut both = Raster::filled(values.cols(), values.rows(), 0.0);
        let (last, middle) = (values.rows() as isize - 1, (y.len() / 2) as isize);
        both.try_par_rows(|row, out| {
            for (k, &weight) in y.iter().enumerate() {
                let source = (row as isize + k as isize - middle).clamp(0, last) as usize;
                for (sum, value) in out.iter_mut().zip(across.row(source)) {
                    *sum += weight * value;
                }
            }
            counter.done()
        })?;
        Ok(both)
    };
    let mut sums = pass(&|v| if v.is_nan() { 0.0 } else { v })?;
    // The weights in the order in which a pass adds them, so that both ways below give the same bits without holes.
    let row_weight = x.iter().fold(0.0, |sum, w| sum + w);
    let full = y.iter().fold(0.0, |sum, w| sum + w * row_weight);
    if !holes {
        sums.par_rows(|_, out| out.iter_mut().for_each(|sum| *sum /= full));
        return Ok(sums);
    }
    let weights = pass(&|v| if v.is_nan() { 0.0 } else { 1.0 })?;
    sums.par_rows(|row, out| {
        for ((sum, &weight), &value) in out.iter_mut().zip(weights.row(row)).zip(values.row(row)) {
            // A kernel with negative weights may have next to nothing left between holes.
            let enough = weight / full > 1e-3;
            *sum = if value.is_nan() || !enough { value } else { *sum / weight };
        }
    });
    Ok(sums)
}

/// `out[i] = Σ taps[k] · f(line[i + k − middle])`, the ends of the line carried on.
fn along(line: &[f32], taps: &[f32], f: &(dyn Fn(f32) -> f32 + Sync), out: &mut [f32]) {
    let middle = taps.len() / 2;
    let mut padded = Vec::with_capacity(line.len() + 2 * middle);
    padded.resize(middle, f(line[0]));
    padded.extend(line.iter().map(|v| f(*v)));
    padded.resize(line.len() + 2 * middle, f(line[line.len() - 1]));
    for (k, &weight) in taps.iter().enumerate() {
        for (sum, value) in out.iter_mut().zip(&padded[k..]) {
            *sum += weight * value;
        }
    }
}

/// The median over a disc; where holes or edges leave an even number of samples, the lower of the middle two.
///
/// A block of rows replaces its values by their ranks, then slides the disc along each row and keeps count of the ranks
/// inside, in two levels.
fn median(
    values: &Raster<f32>,
    [dx, dy]: [f64; 2],
    radius_m: f64,
    ctx: &Ctx<'_>,
) -> Result<Raster<f32>, Cancelled> {
    let (cols, rows) = (values.cols(), values.rows());
    // Rows further away than the land is high do not exist.
    let reach = ((radius_m / dy + 1e-9).floor() as isize).min(rows as isize);
    // Half the width of the disc, in columns, at each row of it.
    let spans: Vec<isize> = (-reach..=reach)
        .map(|j| {
            let up = j as f64 * dy;
            ((radius_m * radius_m - up * up).max(0.0).sqrt() / dx + 1e-9).floor() as isize
        })
        .collect();
    let counter = ctx.counter(rows);
    let block = 32.max(reach as usize);
    let mut out = Raster::filled(cols, rows, 0.0);
    out.as_mut_slice().par_chunks_mut(cols * block).enumerate().try_for_each(|(number, part)| {
        let first = number * block;
        let top = first.saturating_sub(reach as usize);
        let bottom = (first + part.len() / cols + reach as usize).min(rows);
        let (ranks, sorted) = ranked(values, top, bottom);
        for (i, line) in part.chunks_mut(cols).enumerate() {
            median_row(values.row(first + i), &ranks, &sorted, first + i - top, &spans, line);
            counter.done()?;
        }
        Ok(())
    })?;
    Ok(out)
}

/// Rank of a hole.
const HOLE: u32 = u32::MAX;

/// The ranks of some rows (equal values share one) and the value of each rank.
fn ranked(values: &Raster<f32>, top: usize, bottom: usize) -> (Raster<u32>, Vec<f32>) {
    let mut sorted: Vec<f32> =
        (top..bottom).flat_map(|row| values.row(row).iter().copied().filter(|v| !v.is_nan())).collect();
    sorted.sort_unstable_by(f32::total_cmp);
    sorted.dedup();
    let ranks = Raster::from_fn(values.cols(), bottom - top, |col, row| {
        let value = values.row(top + row)[col];
        if value.is_nan() { HOLE } else { sorted.partition_point(|v| *v < value) as u32 }
    });
    (ranks, sorted)
}

/// Ranks counted together before they are counted one by one.
const BIN: usize = 256;

/// How many samples of each rank lie in the disc.
struct Counts {
    fine: Vec<u32>,
    coarse: Vec<u32>,
    total: u32,
}

impl Counts {
    #[inline]
    fn add(&mut self, rank: u32) {
        if rank != HOLE {
            self.fine[rank as usize] += 1;
            self.coarse[rank as usize / BIN] += 1;
            self.total += 1;
        }
    }

    #[inline]
    fn remove(&mut self, rank: u32) {
        if rank != HOLE {
            self.fine[rank as usize] -= 1;
            self.coarse[rank as usize / BIN] -= 1;
            self.total -= 1;
        }
    }

    /// The middle rank; there is at least one sample.
    fn middle(&self) -> usize {
        let mut left = (self.total - 1) / 2;
        let mut bin = 0;
        while self.coarse[bin] <= left {
            left -= self.coarse[bin];
            bin += 1;
        }
        let mut rank = bin * BIN;
        while self.fine[rank] <= left {
            left -= self.fine[rank];
            rank += 1;
        }
        rank
    }
}

/// The medians of a row, whose ranks are row `row` of `ranks`.
fn median_row(
    before: &[f32],
    ranks: &Raster<u32>,
    sorted: &[f32],
    row: usize,
    spans: &[isize],
    out: &mut [f32],
) {
    let (cols, reach) = (before.len() as isize, (spans.len() / 2) as isize);
    let mut counts =
        Counts { fine: vec![0; sorted.len()], coarse: vec![0; sorted.len() / BIN + 1], total: 0 };
    let lines: Vec<(&[u32], isize)> = (-reach..=reach)
        .zip(spans)
        .filter_map(|(j, span)| {
            let line = usize::try_from(row as isize + j).ok()?;
            (line < ranks.rows()).then(|| (ranks.row(line), *span))
        })
        .collect();
    for (line, span) in &lines {
        for &rank in &line[..(*span).min(cols) as usize] {
            counts.add(rank);
        }
    }
    for (col, out) in out.iter_mut().enumerate() {
        for (line, span) in &lines {
            let (enters, leaves) = (col as isize + span, col as isize - span - 1);
            if enters < cols {
                counts.add(line[enters as usize]);
            }
            if leaves >= 0 {
                counts.remove(line[leaves as usize]);
            }
        }
        *out = if before[col].is_nan() { before[col] } else { sorted[counts.middle()] };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_support;
    use orogen_core::Cell;
    use orogen_core::testkit::{assert_close, cliff, hills};

    const KINDS: [Kind; 4] = [Kind::Gaussian, Kind::Box, Kind::Median, Kind::Fir];

    fn apply(op: &Blur, height: &Raster<f32>) -> Raster<f32> {
        blur(height, [10.0, 12.0], op, &Ctx::silent()).unwrap()
    }

    #[test]
    fn level_ground_stays_level_and_a_plane_a_plane() {
        let plane = Raster::from_fn(60, 50, |c, r| 3.0 * c as f32 - 2.0 * r as f32);
        for kind in KINDS {
            let op = Blur { kind, ..Blur::default() };
            let flat = apply(&op, &Raster::filled(40, 30, 17.0));
            assert!(flat.as_slice().iter().all(|v| (v - 17.0).abs() < 1e-4), "{kind:?}");
            let after = apply(&op, &plane);
            for cell in [Cell { col: 20, row: 20 }, Cell { col: 33, row: 25 }] {
                assert_close!(after[cell], plane[cell], abs = 1e-3);
            }
        }
    }

    #[test]
    fn nothing_leaves_the_range() {
        let height = Raster::from_fn(70, 70, |c, r| if (c * 7 + r * 13) % 11 == 0 { 100.0 } else { 0.0 });
        for kind in [Kind::Gaussian, Kind::Box, Kind::Median] {
            let after = apply(&Blur { kind, ..Blur::default() }, &height);
            assert!(after.as_slice().iter().all(|v| (-1e-4..=100.001).contains(v)), "{kind:?}");
        }
    }

    #[test]
    fn a_box_weighs_cells_that_lie_partly_inside() {
        // A radius of 25 m on cells of 10 m: whole cells at 0, 10, 20; the one at 30 starts at 25 and counts no more.
        let op = Blur { kind: Kind::Box, radius_m: 25.0, ..Blur::default() };
        assert_eq!(taps(&op, 10.0, 50), [1.0; 5]);
        assert_eq!(taps(&Blur { radius_m: 20.0, ..op }, 10.0, 50), [0.5, 1.0, 1.0, 1.0, 0.5]);
    }

    #[test]
    fn a_radius_far_larger_than_the_land_costs_no_more_than_the_land() {
        let height = Raster::from_fn(33, 29, |c, r| ((c * 7919 + r * 104_729) % 1009) as f32);
        for kind in KINDS {
            // A kernel as long as the land and one a little longer agree with what all weights would give.
            let op = Blur { kind, radius_m: 480.0, tap_m: 240.0, ..Blur::default() };
            if kind != Kind::Median {
                let all = [10.0, 12.0].map(|spacing| taps(&op, spacing, 1000));
                assert!(all.iter().all(|taps| taps.len() > 2 * 33), "{kind:?}");
                let wanted = convolve(&height, &all[0], &all[1], &Ctx::silent()).unwrap();
                let found = apply(&op, &height);
                for (found, wanted) in found.as_slice().iter().zip(wanted.as_slice()) {
                    assert_close!(*found, *wanted, abs = 0.02);
                }
            }
            // A hundred million cells of radius: all of the land alike, in no time.
            let op = Blur { kind, radius_m: 1e5, tap_m: 5e4, ..Blur::default() };
            let far = blur(&height, [1e-3, 1e-3], &op, &Ctx::silent()).unwrap();
            let (low, high) = far.range().unwrap();
            assert!(high - low < 0.1 && low > 0.0, "{kind:?}: {low} to {high}");
            assert!(matches!(op.reach(&Frame::square(0.032, 33).unwrap()), Reach::Within(far) if far > 9e4));
        }
    }

    #[test]
    fn a_median_is_the_middle_value_of_the_disc() {
        let height = Raster::from_fn(41, 37, |c, r| ((c * 7919 + r * 104_729) % 1009) as f32);
        let op = Blur { kind: Kind::Median, radius_m: 31.0, ..Blur::default() };
        let after = apply(&op, &height);
        for (col, row) in [(0, 0), (20, 18), (40, 36), (3, 30)] {
            let mut disc = Vec::new();
            for r in 0..37 {
                for c in 0..41 {
                    let (x, y) = ((c as f64 - col as f64) * 10.0, (r as f64 - row as f64) * 12.0);
                    if x * x + y * y <= 31.0 * 31.0 {
                        disc.push(height.row(r)[c]);
                    }
                }
            }
            disc.sort_by(f32::total_cmp);
            assert_eq!(after.row(row)[col], disc[(disc.len() - 1) / 2], "at {col}, {row}");
        }
    }

    #[test]
    fn a_median_removes_a_speck_and_keeps_a_cliff() {
        let mut height = cliff(41, 60.0);
        height[Cell { col: 9, row: 9 }] = 500.0;
        assert_eq!(apply(&Blur { kind: Kind::Median, ..Blur::default() }, &height), cliff(41, 60.0));
    }

    #[test]
    fn holes_stay_and_do_not_spread() {
        let mut height = Raster::filled(41, 41, 5.0);
        height[Cell { col: 20, row: 20 }] = f32::NAN;
        for kind in KINDS {
            let after = apply(&Blur { kind, ..Blur::default() }, &height);
            for (i, value) in after.as_slice().iter().enumerate() {
                assert_eq!(value.is_nan(), i == 20 * 41 + 20);
                assert!(value.is_nan() || (value - 5.0).abs() < 1e-4, "{kind:?}: {value}");
            }
        }
    }

    #[test]
    fn windows_equal_the_whole() {
        for kind in KINDS {
            for radius_m in [0.0, 47.0, 170.0] {
                test_support::assert_windows(&Blur { kind, radius_m, tap_m: 33.0, ..Blur::default() });
            }
        }
    }

    #[test]
    fn a_kernel_may_sharpen_but_must_have_a_middle_and_a_sum() {
        let height = hills(65, 100.0);
        let sharp = Blur { kind: Kind::Fir, kernel: vec![-1.0, 4.0, -1.0], tap_m: 20.0, ..Blur::default() };
        let after = apply(&sharp, &height);
        let peak = |r: &Raster<f32>| r.range().unwrap().1;
        assert!(peak(&after) > peak(&height));
        let fault =
            |kernel: &[f64]| Blur { kernel: kernel.to_vec(), ..sharp.clone() }.faults()[0].to_string();
        assert_eq!(fault(&[1.0, 1.0]), "kernel: expected an odd number of weights, found 2");
        assert_eq!(fault(&[-1.0, 2.0, -1.0]), "kernel: the weights add up to 0; their sum must not be 0");
    }
}
