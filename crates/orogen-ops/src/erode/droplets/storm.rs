//! Rain in rounds: in each the land stands still while drops run, and then takes in what they did.

use std::sync::atomic::{AtomicI64, Ordering};

use orogen_core::param::Field;
use orogen_core::{Cancelled, Ctx, Frame, Progress, Raster, Seed, math};
use rayon::prelude::*;

use super::Droplets;
use super::flight::{Bed, DRIPS, Droplet, Ground, Law, Tally, UNITS, Window};
use super::spread::Spread;
use crate::drainage::basins::NO_CELL;
use crate::drainage::ways::step;
use crate::drainage::{Basins, Edge, NOWHERE, Ways};
use crate::rock::beds::Hardness;
use crate::simd::Level;

/// Samples along a side of the tiles that drops are shared out by, and beyond it until a drop changes tiles.
pub(super) const TILE: usize = 128;
pub(super) const MARGIN: usize = 64;
/// Loose ground thinner than this lets the rock show through.
const THIN_M: f32 = 0.2;
/// Rounds without rain at the end, in which what waits comes to rest.
pub(super) const AFTER: usize = 16;
/// Samples below the brim of a lake where drops that ran over go on.
const OVER_BRIM: usize = 3;
/// The most sweeps of a round that even out loose ground.
const MOST_SWEEPS: f64 = 16.0;
/// How much steeper a round may make the ground, about.
const STEEPEN: f64 = 0.08;
/// Share of what the last round saw in the memory of where water runs.
const FRESH: f32 = 0.25;

/// What rain left.
#[derive(Debug)]
pub struct Rained {
    /// How far the ground rose, in metres.
    pub change: Raster<f32>,
    /// Depth of loose ground, in metres.
    pub loose: Raster<f32>,
    /// Water that fell, in cubic metres.
    pub fallen_m3: f64,
    /// Ground carried off the map, in cubic metres.
    pub carried_off_m3: f64,
}

/// The land that it rains on.
pub struct Land<'a> {
    /// Heights; a hole is NaN.
    pub height: &'a Raster<f32>,
    /// Where it lies.
    pub frame: Frame,
    /// How much of the rain falls, 0 to 1.
    pub moisture: Field<'a>,
    /// How hard the rock is, 0 to 1.
    pub hardness: Hardness<'a>,
    /// Loose ground at the start, in metres.
    pub loose_m: Field<'a>,
    /// Samples that keep their height.
    pub held: Option<&'a Raster<bool>>,
}

/// The algorithm alone.
///
/// # Errors
/// When cancelled.
pub fn droplets(land: &Land<'_>, params: &Droplets, ctx: &Ctx<'_>) -> Result<Rained, Cancelled> {
    droplets_by(land, params, Tiles::of(land.height), ctx)
}

/// [`droplets`] shared out by given tiles, which change no bit of the result.
pub(super) fn droplets_by(
    land: &Land<'_>,
    params: &Droplets,
    tiles: Tiles,
    ctx: &Ctx<'_>,
) -> Result<Rained, Cancelled> {
    let mut storm = Storm::new(land, params, tiles, ctx)?;
    while storm.round(land, params, ctx)? == Progress::More {}
    Ok(storm.rained(land, params))
}

/// Rain on its way, round by round. It is given the same land and parameters every time.
pub(super) struct Storm {
    tiles: Tiles,
    hard: Raster<f32>,
    spread: Spread,
    pace: Pace,
    state: State,
    tally: Vec<[AtomicI64; 2]>,
    parts: [Raster<f32>; 2],
    steep: Raster<f32>,
    carried_off: i64,
    drops: f64,
    /// Rounds done, and in all at most.
    round: usize,
    all: usize,
}

impl Storm {
    pub fn new(land: &Land<'_>, params: &Droplets, tiles: Tiles, ctx: &Ctx<'_>) -> Result<Self, Cancelled> {
        let (cols, rows) = (land.height.cols(), land.height.rows());
        let [dx, dy] = land.frame.spacing_m();
        let rain = Rain::new(params, land);
        let unit = |v: f32| if v.is_nan() { 0.0 } else { v.clamp(0.0, 1.0) };
        let hard = Raster::from_fn(cols, rows, |c, r| unit(land.hardness.at(c, r, land.height.row(r)[c])));
        let held = |c: usize, r: usize| land.held.is_some_and(|held| held.row(r)[c]);
        let may_change = Raster::from_fn(cols, rows, |c, r| land.height.row(r)[c].is_finite() && !held(c, r));
        ctx.stop_if_asked()?;
        let spread = Spread::new(&may_change, params.radius_m, [dx, dy]);
        drop(may_change);

        let mut state = State {
            change: Raster::filled(cols, rows, 0.0),
            loose: Raster::from_fn(cols, rows, |c, r| {
                let depth = land.loose_m.at(c, r);
                if depth.is_nan() { 0.0 } else { depth.max(0.0) }
            }),
            flow: Raster::filled(cols, rows, 0.0),
            waiting: Raster::filled(cols, rows, 0.0),
            ground: Ground {
                height: land.height.map(|h| if h.is_finite() { h } else { f32::NAN }),
                bed: Raster::filled(cols, rows, Bed::default()),
                spills: vec![NO_CELL],
            },
            sea_m: rain.sea_m,
        };
        let pace = Pace::new(params, &rain, [dx, dy]);
        state.settle(land, &hard, &spread, &pace, None);
        Ok(Self {
            tiles,
            hard,
            spread,
            pace,
            state,
            tally: (0..cols * rows).map(|_| [AtomicI64::new(0), AtomicI64::new(0)]).collect(),
            parts: [Raster::filled(cols, rows, 0.0), Raster::filled(cols, rows, 0.0)],
            steep: Raster::filled(cols, rows, 0.0),
            carried_off: 0,
            drops: 0.0,
            round: 0,
            all: params.rounds as usize + AFTER,
        })
    }

    /// Share of the rounds that are done.
    pub fn share(&self) -> f64 {
        self.round as f64 / self.all as f64
    }

    /// Lets the drops of a round run, and the land take in what they did.
    pub fn round(
        &mut self,
        land: &Land<'_>,
        params: &Droplets,
        ctx: &Ctx<'_>,
    ) -> Result<Progress, Cancelled> {
        let Self { tiles, hard, spread, pace, state, tally, parts, steep, .. } = self;
        let (round, all, rounds) = (self.round, self.all, params.rounds as usize);
        let [dx, dy] = land.frame.spacing_m();
        let rain = Rain::new(params, land);
        ctx.tick(round, all)?;
        let seed = Seed(ctx.seed().child("drops").bits(round as u64));
        if round < rounds {
            state.find_lakes([dx, dy], ctx)?;
            let law = rain.law(params, [dx, dy]);
            let flown = tiles.fly(&law, &state.ground, &rain, seed, tally, &|| ctx.tick(round, all))?;
            self.carried_off += flown.carried_off;
            self.drops += flown.water;
        }
        // From units at samples to metres of ground and of slope that drains through a metre of width.
        let (metres, drained) =
            (rain.unit_m3 / (dx * dy), rain.drop_m2 * rain.step_m / (dx * dy * f64::from(DRIPS)));
        let (metres, drained) = (metres as f32, drained as f32);
        let waiting = &state.waiting;
        spread.along_rows(tally, parts, |row, tally, share, ground, water| {
            let waiting = waiting.row(row);
            for (i, [g, w]) in tally.iter_mut().enumerate() {
                ground[i] = (std::mem::take(g.get_mut()) as f32 * metres + waiting[i]) * share[i];
                water[i] = std::mem::take(w.get_mut()) as f32 * (drained * share[i]);
            }
        });
        ctx.stop_if_asked()?;
        let last = round + 1 == all || (round + 1 > rounds && state.rests(pace.most_m));
        let news = News { parts, fresh: if round == 0 { 1.0 } else { FRESH }, last };
        state.settle(land, hard, spread, pace, Some(&news));
        ctx.stop_if_asked()?;
        let [change, moves] = parts;
        state.mobility(&spread.share, pace, moves);
        for _ in 0..pace.sweeps {
            ctx.stop_if_asked()?;
            state.steepness(pace, steep);
            state.level_out(land, pace, moves, steep, change);
        }
        self.round = if last { all } else { round + 1 };
        Ok(if last { Progress::Done } else { Progress::More })
    }

    /// How far the ground has risen, and the depth of loose ground.
    pub fn so_far(&self, land: &Land<'_>) -> (&Raster<f32>, Raster<f32>) {
        (&self.state.change, with_holes(self.state.loose.clone(), land))
    }

    /// What all of it left.
    pub fn rained(self, land: &Land<'_>, params: &Droplets) -> Rained {
        let rain = Rain::new(params, land);
        Rained {
            change: self.state.change,
            loose: with_holes(self.state.loose, land),
            fallen_m3: self.drops * rain.drop_m3,
            carried_off_m3: self.carried_off as f64 * rain.unit_m3,
        }
    }
}

/// A layer that has the holes of the land.
fn with_holes(mut layer: Raster<f32>, land: &Land<'_>) -> Raster<f32> {
    layer.par_rows(|row, out| {
        for (out, h) in out.iter_mut().zip(land.height.row(row)) {
            if h.is_nan() {
                *out = f32::NAN;
            }
        }
    });
    layer
}

/// What changes from round to round.
struct State {
    change: Raster<f32>,
    loose: Raster<f32>,
    /// Area drained through a metre of width, in metres: the mean of the last rounds.
    flow: Raster<f32>,
    /// What was laid down or taken away beyond what a round may change: it waits, and spreads, in metres.
    waiting: Raster<f32>,
    ground: Ground,
    sea_m: f32,
}

/// What the drops of a round did: ground and water, spread along rows so far.
struct News<'a> {
    parts: &'a [Raster<f32>; 2],
    /// How much the water counts beside that of earlier rounds.
    fresh: f32,
    /// Whether nothing may wait any longer.
    last: bool,
}

impl State {
    /// Takes in what drops did (ground and water, spread along rows so far, and how much the water counts), and gets the ground
    /// ready for the next.
    fn settle(
        &mut self,
        land: &Land<'_>,
        hard: &Raster<f32>,
        spread: &Spread,
        pace: &Pace,
        news: Option<&News<'_>>,
    ) {
        let cols = land.height.cols();
        let rows = self.change.as_mut_slice().par_chunks_mut(cols);
        let rows = rows.zip(self.loose.as_mut_slice().par_chunks_mut(cols));
        let rows = rows.zip(self.flow.as_mut_slice().par_chunks_mut(cols));
        let rows = rows.zip(self.waiting.as_mut_slice().par_chunks_mut(cols));
        let rows = rows.zip(self.ground.height.as_mut_slice().par_chunks_mut(cols));
        let rows = rows.zip(self.ground.bed.as_mut_slice().par_chunks_mut(cols));
        let room = || (vec![0.0; cols], vec![0.0; cols]);
        rows.enumerate().for_each_init(room, |(risen, water), (row, parts)| {
            let (((((change, loose), flow), waiting), height), bed) = parts;
            let share = spread.share.row(row);
            if let Some(&News { parts, fresh, last }) = news {
                spread.across_rows(&parts[0], row, risen);
                spread.across_rows(&parts[1], row, water);
                let most = if last { f32::INFINITY } else { pace.most_m };
                for i in 0..cols {
                    let all = if share[i] > 0.0 { risen[i] } else { 0.0 };
                    let rise = all.clamp(-most, most);
                    waiting[i] = all - rise;
                    change[i] += rise;
                    loose[i] = (loose[i] + rise).max(0.0);
                    flow[i] += fresh * (water[i] - flow[i]);
                }
            }
            let (before, hard, beds) = (land.height.row(row), hard.row(row), land.hardness.has_beds());
            for i in 0..cols {
                if !height[i].is_nan() {
                    height[i] = before[i] + change[i];
                }
                let bare = (1.0 - loose[i] / THIN_M).max(0.0);
                // Beds are asked anew as the surface falls.
                let hard = if beds && bare > 0.0 {
                    land.hardness.at(i, row, height[i] - loose[i]).clamp(0.0, 1.0)
                } else {
                    hard[i]
                };
                let soft = if share[i] > 0.0 { 1.0 - bare * hard } else { -1.0 };
                bed[i] = pace.bed(flow[i], soft, waiting[i], bed[i].lake);
            }
        });
    }
}

impl State {
    /// Whether hardly anything waits any more.
    fn rests(&self, most_m: f32) -> bool {
        let most = self.waiting.range().map_or(0.0, |(low, high)| high.max(-low));
        most < 0.1 * most_m
    }

    /// Finds where water stands, and where it runs over.
    fn find_lakes(&mut self, spacing_m: [f64; 2], ctx: &Ctx<'_>) -> Result<(), Cancelled> {
        let height = &self.ground.height;
        let ways = Ways::steepest(height, spacing_m, self.sea_m);
        let basins = Basins::find(height, &ways, self.sea_m, Edge::Open, &ctx.unwatched())?;
        // A few samples below the brim, so that what comes over it does not fall back.
        let below = |basin: usize| {
            let mut at = basins.beyond(basin as u32);
            for _ in 0..OVER_BRIM {
                if at == NO_CELL || ways.0.as_slice()[at as usize] == NOWHERE {
                    break;
                }
                at = step(at as usize, ways.0.as_slice()[at as usize], height.cols()) as u32;
            }
            at
        };
        self.ground.spills = (0..basins.pits.len()).map(below).collect();
        self.ground.bed.par_rows(|row, out| {
            let lines = height.row(row).iter().zip(basins.labels.row(row));
            for (bed, (&h, &basin)) in out.iter_mut().zip(lines) {
                bed.lake = if h < basins.levels[basin as usize] { basin } else { 0 };
            }
        });
        Ok(())
    }
}

impl State {
    /// How much loose ground each sample gives away, from how much water runs over it; nothing where nothing may change.
    fn mobility(&self, share: &Raster<f32>, pace: &Pace, out: &mut Raster<f32>) {
        out.par_rows(|row, out| {
            let (flow, share) = (self.flow.row(row), share.row(row));
            for i in 0..out.len() {
                let moves = pace.evens * (flow[i] / (flow[i] + pace.gather_m));
                out[i] = if share[i] > 0.0 { moves.max(1e-9) } else { 0.0 };
            }
        });
    }

    /// How much of the slope at each sample is too steep to stand, as a share of it. It is the gradient that counts, as with
    /// `erode.thermal`, so that banks are as steep in all directions.
    fn steepness(&self, pace: &Pace, out: &mut Raster<f32>) {
        let height = &self.ground.height;
        let (cols, rows) = (height.cols(), height.rows());
        out.par_rows(|row, out| {
            let here = height.row(row);
            let (north, south) = (height.row(row.saturating_sub(1)), height.row((row + 1).min(rows - 1)));
            if cols > 2 {
                pace.too_steep(
                    [&here[1..], &here[..cols - 2], &here[2..], &north[1..], &south[1..]],
                    &mut out[1..cols - 1],
                );
            }
            for col in [0, cols - 1] {
                let (west, east) = (col.saturating_sub(1), (col + 1).min(cols - 1));
                pace.too_steep(
                    [&here[col..], &here[west..], &here[east..], &north[col..], &south[col..]],
                    &mut out[col..=col],
                );
            }
        });
    }

    /// Water that runs over loose ground evens it out, and what is too steep slides: a share of each difference goes from the
    /// higher sample to the lower one. Pairs see the same numbers from both sides, so nothing is lost.
    fn level_out(
        &mut self,
        land: &Land<'_>,
        pace: &Pace,
        moves: &Raster<f32>,
        steep: &Raster<f32>,
        change: &mut Raster<f32>,
    ) {
        let (cols, rows) = (moves.cols(), moves.rows());
        let (height, loose) = (&self.ground.height, &self.loose);
        change.par_rows(|row, out| {
            out.fill(0.0);
            let here = [height.row(row), loose.row(row), moves.row(row), steep.row(row)];
            for other in [row.checked_sub(1), Some(row + 1).filter(|&r| r < rows)].into_iter().flatten() {
                let there = [height.row(other), loose.row(other), moves.row(other), steep.row(other)];
                pace.gain(here, there, pace.slides[1], out);
            }
            let (west, east) = (here.map(|r| &r[..cols - 1]), here.map(|r| &r[1..]));
            pace.gain(east, west, pace.slides[0], &mut out[1..]);
            pace.gain(west, east, pace.slides[0], &mut out[..cols - 1]);
        });
        let parts = self.change.as_mut_slice().par_chunks_mut(cols);
        let parts = parts.zip(self.loose.as_mut_slice().par_chunks_mut(cols));
        let parts = parts.zip(self.ground.height.as_mut_slice().par_chunks_mut(cols));
        parts.enumerate().for_each(|(row, ((total, loose), height))| {
            let before = land.height.row(row);
            for (i, &rise) in change.row(row).iter().enumerate() {
                total[i] += rise;
                loose[i] = (loose[i] + rise).max(0.0);
                height[i] = if height[i].is_nan() { f32::NAN } else { before[i] + total[i] };
            }
        });
    }
}

/// How fast ground and water trade.
struct Pace {
    gather_m: f32,
    step_m: f32,
    erode_m: f32,
    settle_m: f32,
    /// Share of a difference that loose ground under water gives away in a sweep, and the sweeps of a round.
    evens: f32,
    sweeps: usize,
    /// The steepest grade that stands, and grades per metre of difference along x and y.
    stands: f32,
    grade: [f32; 2],
    /// Shares of a difference that slide along x and y in a sweep where nothing can stand.
    slides: [f32; 2],
    /// The most that a round may change a sample.
    most_m: f32,
    /// Distance over which a stream that drains a metre of slope a metre of width adapts.
    adapt: f32,
}

impl Pace {
    fn new(params: &Droplets, rain: &Rain<'_>, [dx, dy]: [f64; 2]) -> Self {
        let width_m = stream_width_m(params.radius_m, [dx, dy]);
        let (shares, sweeps) = sweeps(params.radius_m, [dx, dy]);
        Self {
            evens: (shares / sweeps).min(0.15) as f32,
            sweeps: sweeps as usize,
            stands: math::tan(params.talus_deg.to_radians()) as f32,
            grade: [dx, dy].map(|d| (1.0 / d) as f32),
            // Half of what makes no new crest, so that odd and even samples do not part.
            slides: [dx, dy].map(|d| (0.25 / (d * d) / (1.0 / (dx * dx) + 1.0 / (dy * dy))) as f32),
            gather_m: params.gather_m as f32,
            step_m: rain.step_m as f32,
            erode_m: params.erode_m as f32,
            settle_m: params.settle_m as f32,
            most_m: (STEEPEN * width_m) as f32,
            // Steps in a stream's bed then move less than half its width in a round, or they would grow to pools.
            adapt: (2.0 * params.capacity * params.rain_m / f64::from(params.rounds) / width_m) as f32,
        }
    }

    /// The share of each slope that is too steep; heights of samples and of those to the west, east, north and south are
    /// given. A hole is as high as what lies beside it.
    fn too_steep(&self, heights: [&[f32]; 5], out: &mut [f32]) {
        let n = out.len();
        let [here, west, east, north, south] = heights.map(|row| &row[..n]);
        for i in 0..n {
            let square = |other: f32, grade: f32| {
                let rise = (other - here[i]) * grade;
                if rise.is_nan() { 0.0 } else { rise * rise }
            };
            // The mean square of both sides, which sees a slot of one sample as well as a plane.
            let x = square(west[i], self.grade[0]) + square(east[i], self.grade[0]);
            let y = square(north[i], self.grade[1]) + square(south[i], self.grade[1]);
            let steep = (0.5 * (x + y)).sqrt();
            out[i] = if steep > self.stands { 1.0 - self.stands / steep } else { 0.0 };
        }
    }

    /// Adds what samples gain from others beside them; heights, loose ground, mobility and steepness of both are given.
    fn gain(&self, here: [&[f32]; 4], there: [&[f32]; 4], slides: f32, out: &mut [f32]) {
        let n = out.len();
        let [h, mine, own, steep] = here.map(|row| &row[..n]);
        let [h2, theirs, other, steep2] = there.map(|row| &row[..n]);
        for i in 0..n {
            let rise = h2[i] - h[i];
            let moves = if own[i] < other[i] { own[i] } else { other[i] };
            let evens = moves * rise;
            let (most, least) = (0.2 * theirs[i], -0.2 * mine[i]);
            let evens = if evens > most { most } else { evens };
            let evens = if evens < least { least } else { evens };
            let slips = slides * (0.5 * (steep[i] + steep2[i])) * rise;
            out[i] += if moves > 0.0 { evens + slips } else { 0.0 };
        }
    }

    /// A sample through which so much flows; under 0 `soft` means that nothing may change there.
    fn bed(&self, flow: f32, soft: f32, waiting: f32, lake: u32) -> Bed {
        let power = (1.0 + flow / self.gather_m).sqrt();
        let adapt_m = self.adapt * flow * power;
        let share = |length_m: f32| self.step_m / (self.step_m + length_m);
        // Where more waits than a round may change, less is added.
        let eager = |waiting: f32| self.most_m / (self.most_m + 4.0 * waiting.max(0.0));
        // A deep stream feels its bed over a longer way; standing water does not.
        let deep = 1.0 + flow / self.erode_m;
        let settle_m = if lake == 0 { self.settle_m * deep } else { self.settle_m };
        Bed {
            power,
            takes: if soft > 0.0 {
                soft * eager(-waiting) * share((self.erode_m * deep).max(adapt_m))
            } else {
                0.0
            },
            settles: if soft >= 0.0 { eager(waiting) * share(settle_m.max(adapt_m)) } else { 0.0 },
            lake,
        }
    }
}

/// Half the width of a stream: at least about a cell.
fn stream_width_m(radius_m: f64, [dx, dy]: [f64; 2]) -> f64 {
    radius_m.max(1.2 * dx.max(dy))
}

/// Shares of a difference that a round evens out, over a third of a stream's width, and the sweeps that this takes.
pub(super) fn sweeps(radius_m: f64, [dx, dy]: [f64; 2]) -> (f64, f64) {
    let width = stream_width_m(radius_m, [dx, dy]) / dx.min(dy);
    let shares = 0.1 * width * width;
    (shares, (shares / 0.15).ceil().min(MOST_SWEEPS))
}

/// Distance between drops of a round. At most sixteen fall on a cell: on coarse land each stands for more rain.
pub(super) fn drops_apart_m(params: &Droplets, [dx, dy]: [f64; 2]) -> f64 {
    (1000.0 * (f64::from(params.rounds) / params.drops_per_km2).sqrt()).max(0.25 * dx.min(dy))
}

/// Where drops fall, and how much each stands for.
pub(super) struct Rain<'a> {
    land: &'a Land<'a>,
    /// Distance between drops of a round, and between two steps of one.
    apart_m: f64,
    step_m: f64,
    steps: f32,
    /// Most that standing water turns a drop in a step.
    bend: f32,
    /// Area, water and unit of load of a drop.
    drop_m2: f64,
    drop_m3: f64,
    unit_m3: f64,
    sea_m: f32,
}

impl<'a> Rain<'a> {
    fn new(params: &Droplets, land: &'a Land<'a>) -> Self {
        let [dx, dy] = land.frame.spacing_m();
        let rounds = f64::from(params.rounds);
        let apart_m = drops_apart_m(params, [dx, dy]);
        let drop_m2 = apart_m * apart_m;
        let drop_m3 = params.rain_m / rounds * drop_m2;
        let step_m = dx.min(dy);
        Self {
            land,
            apart_m,
            step_m,
            steps: (params.travel_m / step_m).ceil().max(1.0) as f32,
            bend: (step_m / (2.0 * params.settle_m)).min(1.0) as f32,
            drop_m2,
            drop_m3,
            unit_m3: params.capacity * drop_m3 / f64::from(UNITS),
            sea_m: crate::water::sea_level(params.sea),
        }
    }

    fn law(&self, params: &Droplets, [dx, dy]: [f64; 2]) -> Law {
        Law {
            per_m: [(1.0 / dx) as f32, (1.0 / dy) as f32],
            stride: [(self.step_m / dx) as f32, (self.step_m / dy) as f32],
            keep: math::exp(-self.step_m / params.momentum_m) as f32,
            steps: self.steps,
            full: (0.25 * self.step_m / (self.step_m + params.settle_m)) as f32,
            sea_m: self.sea_m,
            level: Level::new(),
        }
    }

    /// Adds the drops of a round that fall on some cells: one at a random place of each square of a lattice that covers
    /// the world.
    fn fall(
        &self,
        seed: Seed,
        cols: std::ops::Range<usize>,
        rows: std::ops::Range<usize>,
        out: &mut Vec<Droplet>,
    ) {
        let frame = &self.land.frame;
        let span = |a: f64, b: f64| (a / self.apart_m).floor() as i64..=(b / self.apart_m).floor() as i64;
        for j in span(frame.y_m(rows.end), frame.y_m(rows.start)) {
            for i in span(frame.x_m(cols.start), frame.x_m(cols.end)) {
                let bits = seed.bits2(i, j);
                let part = |bits: u64| (bits & 0xffff_ffff) as f64 / 4_294_967_296.0;
                let x_m = (i as f64 + part(bits)) * self.apart_m;
                let y_m = (j as f64 + part(bits >> 32)) * self.apart_m;
                let [col, row] = frame.locate(x_m, y_m);
                let at = [col.floor(), row.floor()];
                let (c, r) = (at[0] as usize, at[1] as usize);
                if at[0] < 0.0 || at[1] < 0.0 || !cols.contains(&c) || !rows.contains(&r) {
                    continue;
                }
                let height = self.land.height.row(r)[c];
                let water = self.land.moisture.at(c, r);
                if height > self.sea_m && water > 0.0 {
                    out.push(Droplet {
                        at: [c as i32, r as i32],
                        past: [(col - at[0]) as f32, (row - at[1]) as f32],
                        pace: [0.0; 2],
                        water: water.min(1.0),
                        load: 0.0,
                        left: self.steps,
                        bend: self.bend * (2.0 * part(bits >> 16) - 1.0) as f32,
                    });
                }
            }
        }
    }
}

/// What the drops of a round did besides what was counted in samples.
struct Flown {
    carried_off: i64,
    /// Water that fell, in full drops.
    water: f64,
}

/// Squares that share a map out: drops of one run together, so that they meet in the cache, and count in room of their own.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tiles {
    pub cols: usize,
    pub rows: usize,
    pub tile: usize,
    pub margin: usize,
}

impl Tiles {
    /// The usual ones for a map.
    pub fn of(map: &Raster<f32>) -> Self {
        Self { cols: map.cols(), rows: map.rows(), tile: TILE, margin: MARGIN }
    }

    /// Lets the drops of a round run to their ends.
    fn fly(
        &self,
        law: &Law,
        ground: &Ground,
        rain: &Rain<'_>,
        seed: Seed,
        tally: &[[AtomicI64; 2]],
        go_on: &(dyn Fn() -> Result<(), Cancelled> + Sync),
    ) -> Result<Flown, Cancelled> {
        let (across, down) = (self.cols.div_ceil(self.tile), self.rows.div_ceil(self.tile));
        let mut waiting: Vec<Vec<Droplet>> = (0..across * down).map(|_| Vec::new()).collect();
        let mut flown = Flown { carried_off: 0, water: 0.0 };
        if self.cols < 2 || self.rows < 2 {
            return Ok(flown);
        }
        let mut first = true;
        while first || waiting.iter().any(|drops| !drops.is_empty()) {
            let done: Vec<(Vec<Droplet>, i64, f64)> = waiting
                .par_iter_mut()
                .enumerate()
                .map_init(Vec::new, |room, (number, drops)| {
                    go_on()?;
                    let (col, row) = (number % across * self.tile, number / across * self.tile);
                    if first {
                        // The last row and column of samples begin no cell.
                        let cols = col..(col + self.tile).min(self.cols - 1);
                        let rows = row..(row + self.tile).min(self.rows - 1);
                        rain.fall(seed, cols, rows, drops);
                    }
                    let water = if first { drops.iter().map(|d| f64::from(d.water)).sum() } else { 0.0 };
                    let window = self.window(col, row);
                    let mut on = Vec::new();
                    let carried_off = if drops.is_empty() {
                        0
                    } else {
                        room.resize(window.cols * window.rows, Tally::default());
                        let carried_off = law.fly(ground, drops, &window, room, &mut on);
                        self.count(room, &window, tally);
                        carried_off
                    };
                    drops.clear();
                    Ok((on, carried_off, water))
                })
                .collect::<Result<_, Cancelled>>()?;
            first = false;
            for (on, carried_off, water) in done {
                flown.carried_off += carried_off;
                flown.water += water;
                for drop in on {
                    let [col, row] = drop.at.map(|at| at as usize / self.tile);
                    waiting[row * across + col].push(drop);
                }
            }
        }
        Ok(flown)
    }

    fn window(&self, col: usize, row: usize) -> Window {
        let part = |at: usize, all: usize| {
            let first = at.saturating_sub(self.margin);
            (first, (at + self.tile + self.margin).min(all) - first)
        };
        let ((col, cols), (row, rows)) = (part(col, self.cols), part(row, self.rows));
        Window { col, row, cols, rows }
    }

    /// Adds what was counted in a window to the whole and leaves the room empty. Whole numbers: in any order the sum is the same.
    fn count(&self, room: &mut [Tally], window: &Window, tally: &[[AtomicI64; 2]]) {
        for (row, line) in room.chunks_mut(window.cols).enumerate() {
            let at = (window.row + row) * self.cols + window.col;
            for (sample, [ground, water]) in line.iter_mut().zip(&tally[at..at + window.cols]) {
                if *sample != Tally::default() {
                    ground.fetch_add(sample.ground, Ordering::Relaxed);
                    water.fetch_add(sample.water, Ordering::Relaxed);
                    *sample = Tally::default();
                }
            }
        }
    }
}
