//! Steps that the making of a model left: seams between tiles, and heights in whole steps.

use orogen_core::Raster;
use rayon::prelude::*;

use super::{Fault, Faults, Kind};

/// Samples of a piece of a line that is judged at once.
const PIECE: usize = 64;
/// How many lines to either side a line is compared with.
const BESIDE: usize = 4;
/// How many times as far as the samples beside it a seam jumps. On eleven surveyed models, three times with nineteen of twenty
/// samples to one side never happens by itself; four times over 32 samples does, on ridges that follow a row.
const TIMES: f32 = 3.0;
/// Share of the samples along a seam that jump to the same side.
const ONE_SIDED: f64 = 0.95;
/// Share of neighbouring samples of one height, on ground that is not level, from which heights in whole steps show.
const LEVEL_SHARE: f64 = 0.2;

/// Seams, and terraces where the whole model has them.
pub fn find(height: &Raster<f32>, spacing_m: [f64; 2], params: &Faults) -> Vec<Fault> {
    let (cols, rows) = (height.cols(), height.rows());
    let [dx, dy] = spacing_m;
    let is_sea = |h: f32| h <= params.sea_m;
    let at = |line: isize, along: usize| {
        let h = height.clamped(line, along as isize);
        if is_sea(h) { f32::NAN } else { h }
    };
    let mut steps = seams(cols, rows, params.least_m, at);
    for step in &mut steps {
        step.length_m = (step.to[1] - step.at[1]).abs() * dy;
    }
    let across = |line: isize, along: usize| {
        let h = height.clamped(along as isize, line);
        if is_sea(h) { f32::NAN } else { h }
    };
    steps.extend(seams(rows, cols, params.least_m, across).into_iter().map(|step| Fault {
        at: [step.at[1], step.at[0]],
        to: [step.to[1], step.to[0]],
        length_m: (step.to[1] - step.at[1]).abs() * dx,
        ..step
    }));
    steps.extend(terraces(height, spacing_m, params));
    steps
}

/// Seams between line `i` and line `i + 1` of a model of so many lines and samples along each; `at` gives heights.
fn seams(lines: usize, length: usize, least_m: f64, at: impl Fn(isize, usize) -> f32 + Sync) -> Vec<Fault> {
    if lines < 2 * BESIDE + 4 || length < PIECE {
        return Vec::new();
    }
    // A rest of less than half a piece goes with the piece before it.
    let pieces = (length + PIECE / 2) / PIECE;
    let end_of = |piece: usize| if piece + 1 == pieces { length } else { (piece + 1) * PIECE };
    let jumps: Vec<Vec<Jump>> = (1..lines - 2)
        .into_par_iter()
        .map(|line| {
            let line = line as isize;
            // How far the step from this line to the next lies off the mean of the steps before and after it.
            let jump = |along: usize| {
                let [a, b, c, d] = [-1, 0, 1, 2].map(|step| at(line + step, along));
                (c - b) - 0.5 * ((b - a) + (d - c))
            };
            (0..pieces).map(|piece| Jump::of((piece * PIECE..end_of(piece)).map(jump))).collect()
        })
        .collect();
    let is_seam = |line: usize, piece: usize| {
        let jump = &jumps[line][piece];
        let beside = (line.saturating_sub(BESIDE)..(line + BESIDE + 1).min(jumps.len()))
            // A jump also shows, at half its size, in the steps beside it.
            .filter(|&other| other.abs_diff(line) > 1)
            .map(|other| jumps[other][piece].size);
        let beside = median(beside.collect());
        // There it must not be taken for a seam of its own.
        let next =
            [line.wrapping_sub(1), line + 1].map(|next| jumps.get(next).map(|next| next[piece].middle.abs()));
        let is_echo = next.iter().flatten().any(|&size| size > jump.middle.abs());
        // False where either is unknown.
        f64::from(jump.middle.abs()) >= least_m
            && jump.middle.abs() >= TIMES * beside
            && jump.one_sided >= ONE_SIDED
            && !is_echo
    };
    let mut seams = Vec::new();
    for line in 0..jumps.len() {
        let mut piece = 0;
        while piece < pieces {
            let start = piece;
            while piece < pieces && is_seam(line, piece) {
                piece += 1;
            }
            if piece > start {
                let size_m = median(jumps[line][start..piece].iter().map(|jump| jump.middle.abs()).collect());
                let end = end_of(piece - 1);
                let x = line as f64 + 1.5;
                seams.push(Fault {
                    kind: Kind::Seam,
                    at: [x, (start * PIECE) as f64],
                    to: [x, (end - 1) as f64],
                    size_m: f64::from(size_m),
                    length_m: 0.0,
                    area_m2: 0.0,
                });
            }
            piece += 1;
        }
    }
    seams
}

/// The jumps along a piece of a line.
struct Jump {
    /// The middle one, with its sign: a seam lifts one side.
    middle: f32,
    /// The middle of their sizes.
    size: f32,
    /// The larger share of those to either side.
    one_sided: f64,
}

impl Jump {
    fn of(jumps: impl Iterator<Item = f32>) -> Self {
        let jumps: Vec<f32> = jumps.collect();
        let share = |is: fn(&f32) -> bool| {
            jumps.iter().filter(|jump| is(jump)).count() as f64 / jumps.len().max(1) as f64
        };
        let one_sided = share(|jump| *jump > 0.0).max(share(|jump| *jump < 0.0));
        let sizes = jumps.iter().map(|jump| jump.abs()).collect();
        Self { one_sided, size: median(sizes), middle: median(jumps) }
    }
}

/// The middle of the values that are numbers; NaN where fewer than half are.
fn median(values: Vec<f32>) -> f32 {
    let all = values.len();
    let mut known = values;
    known.retain(|value| !value.is_nan());
    if known.is_empty() || 2 * known.len() < all {
        return f32::NAN;
    }
    let middle = known.len() / 2;
    *known.select_nth_unstable_by(middle, f32::total_cmp).1
}

/// The whole model, where its heights come in steps that show.
fn terraces(height: &Raster<f32>, [dx, dy]: [f64; 2], params: &Faults) -> Option<Fault> {
    let (cols, rows) = (height.cols(), height.rows());
    // Water is level without being a terrace: only ground that is not level from end to end of four samples counts.
    let differences = |row: usize| {
        let fours = height.row(row).windows(4);
        let fours = fours.filter(|four| four[0] != four[3] && four.iter().all(|h| *h > params.sea_m));
        fours.map(|four| (four[2] - four[1]).abs())
    };
    // The least difference that is one; small ones of whole steps are exact.
    let least = (0..rows)
        .into_par_iter()
        .filter_map(|row| differences(row).filter(|d| *d > 0.0).min_by(f32::total_cmp))
        .min_by(f32::total_cmp)?;
    let [pairs, level, whole] = (0..rows)
        .into_par_iter()
        .map(|row| {
            differences(row).fold([0usize; 3], |[pairs, level, whole], d| {
                let steps = d / least;
                let is_whole = (steps - steps.round()).abs() <= 0.01 * steps.max(1.0).sqrt();
                [pairs + 1, level + usize::from(d == 0.0), whole + usize::from(is_whole)]
            })
        })
        .reduce(|| [0; 3], |a, b| std::array::from_fn(|i| a[i] + b[i]));
    let shows = level as f64 >= LEVEL_SHARE * pairs as f64 && whole as f64 >= 0.99 * pairs as f64;
    (shows && f64::from(least) >= params.least_m).then(|| Fault {
        kind: Kind::Terraces,
        at: [0.0, 0.0],
        to: [(cols - 1) as f64, (rows - 1) as f64],
        size_m: f64::from(least),
        length_m: 0.0,
        area_m2: (cols * rows) as f64 * dx * dy,
    })
}
