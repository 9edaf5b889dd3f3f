//! A storm over some land: its state, its clock, and what comes of it.

use std::sync::Arc;

use orogen_core::param::Field;
use orogen_core::{Ctx, OpError, Raster, Seed, Terrain, layer};
use rayon::prelude::*;

use super::banks::Banks;
use super::delta::{self, PLAIN_M};
use super::laws::{GRAVITY, Laws, WALL};
use super::tiles::{self, Buffers, Cut, Fixed, Found, STEPS, State};
use super::weather::{Source, Weather};
use super::{Edge, Pipes, Transport};
use crate::held_lines;
use crate::rock::beds::{Hardness, Places, Strata};

/// Water is taken to travel at least this fast when the time step is chosen, in m/s: what falls on dry land speeds up.
const SLOWEST: f64 = 2.0;
/// Share of a cell that anything may cross within a step.
pub(super) const COURANT: f64 = 0.45;

/// Passes after which banks slide, and after which it is asked which beds the rock has come down to.
const SLIDE: u64 = 4;
const LOOK: u64 = 4;

/// The beds under the samples, and the hardness of those that the rock has come down to.
struct Beds {
    places: Places,
    hardness: Raster<f32>,
}

/// A storm over some land.
pub(super) struct Storm {
    pub params: Pipes,
    /// The land at the start.
    pub terrain: Terrain,
    height: Arc<Raster<f32>>,
    pub spacing_m: [f64; 2],
    pub fixed: Fixed,
    pub now: State,
    /// If the land has any.
    beds: Option<Beds>,
    /// Room for rock and loose ground that slide.
    spare: [Vec<f32>; 2],
    springs: Vec<Source>,
    buffers: Buffers,
    seed: Seed,
    passes: u64,
    pub steps: u64,
    pub time_s: f64,
    /// Fastest that anything travels, in m/s.
    speed: f64,
    /// Depth of water in all cells at the start, and that of all rain and springs since.
    start: f64,
    rained: f64,
}

/// Heights, depth of water and depth of loose ground.
pub(super) struct Outcome {
    pub height: Raster<f32>,
    pub water: Raster<f32>,
    pub sediment: Raster<f32>,
}

/// A depth from a layer; a hole in it counts as none.
fn depth(field: Field<'_>, col: usize, row: usize) -> f32 {
    let v = field.at(col, row);
    if v > 0.0 { v } else { 0.0 }
}

impl Storm {
    pub fn new(params: &Pipes, terrain: Terrain, ctx: &Ctx<'_>) -> Result<Self, OpError> {
        let seed = ctx.seed();
        let height = terrain.shared(layer::HEIGHT)?;
        let (loose, water) = (params.loose_m.on(&terrain)?, params.water_m.on(&terrain)?);
        for coef in [&params.moisture, &params.temperature_c, &params.hardness, &params.soil_m] {
            coef.on(&terrain)?;
        }
        let (cols, rows) = (height.cols() + 2, height.rows() + 2);
        let sea = if params.sea { params.sea_level_m as f32 } else { f32::NEG_INFINITY };
        let mut fixed = Fixed { base: vec![WALL; cols * rows], live: vec![0; cols * rows], held: Vec::new() };
        let held = held_lines::held_samples(&terrain);
        let mut now = State::new(cols, rows);
        let (mut start, mut deepest) = (0.0, 0.0f32);
        for row in 0..rows {
            for col in 0..cols {
                let i = row * cols + col;
                let (c, r) = (col.clamp(1, cols - 2) - 1, row.clamp(1, rows - 2) - 1);
                let ground = height.row(r)[c];
                let ring = (col, row) != (c + 1, r + 1);
                if ground.is_nan() || (ring && params.edge == Edge::Closed) {
                    continue;
                }
                if !ring && held.as_ref().is_some_and(|held| held.row(r)[c]) {
                    fixed.held.push(i);
                }
                if ground < sea {
                    fixed.base[i] = sea;
                    continue;
                }
                if ring {
                    fixed.base[i] = beyond(&height, [col, row], [c, r]).max(sea);
                    continue;
                }
                // On held ground even what lies loose is a part of the rock.
                let sand = if fixed.is_held(i) { 0.0 } else { depth(loose, c, r) };
                let deep = depth(water, c, r);
                fixed.base[i] = ground - sand;
                fixed.live[i] = 1;
                now.planes[1][i] = sand;
                now.planes[2][i] = deep;
                start += f64::from(deep);
                deepest = deepest.max(deep);
            }
        }
        let springs = Source::all(&params.springs, terrain.frame(), &height);
        let spare = std::array::from_fn(|_| vec![0.0; if params.bank_deg < 90.0 { cols * rows } else { 0 }]);
        let speed = (GRAVITY * f64::from(deepest)).sqrt();
        Ok(Self {
            params: params.clone(),
            spacing_m: terrain.frame().spacing_m(),
            beds: Strata::under(&terrain, ctx)?.map(|places| Beds { hardness: height.map(|_| 0.0), places }),
            terrain,
            height,
            fixed,
            now,
            spare,
            springs,
            buffers: Buffers::default(),
            seed,
            passes: 0,
            steps: 0,
            time_s: 0.0,
            speed,
            start,
            rained: 0.0,
        })
    }

    /// Numbers of the springs that lie where there is no land.
    pub fn dry_springs(&self) -> Vec<usize> {
        (0..self.springs.len()).filter(|&i| self.springs[i].is_dry()).collect()
    }

    /// One pass towards a time; `stop` says whether to give up in the middle of it, after which the land is of no use.
    pub fn pass_to(&mut self, end_s: f64, stop: &(dyn Fn() -> bool + Sync)) {
        let (dt, steps) = self.stride(end_s - self.time_s);
        if self.passes.is_multiple_of(LOOK) {
            self.look_at_beds();
        }
        let time = self.time_s + steps as f64 * dt;
        let found = self.advance(dt, steps, Cut::of(self.now.cols, self.now.rows), stop);
        self.rained += found.rain;
        if self.passes.is_multiple_of(SLIDE) && self.params.bank_deg < 90.0 {
            self.slide();
        }
        // The last pass ends on the dot; rounding must not add another one.
        self.time_s = if time >= end_s - 1e-9 * end_s { end_s } else { time };
    }

    /// Length and number of the steps of the next pass, not beyond `left_s`.
    pub fn stride(&self, left_s: f64) -> (f64, usize) {
        let [dx, dy] = self.spacing_m;
        let longest = COURANT * dx.min(dy) / self.speed.max(SLOWEST);
        let steps = (left_s / longest).ceil().clamp(1.0, STEPS as f64);
        (longest.min(left_s / steps), steps as usize)
    }

    /// What the sky gives in the next pass.
    pub fn weather(&self, dt: f64) -> Weather<'_> {
        let falls = self.time_s < self.params.duration_s;
        let own_seed = self.seed.bits(self.passes) as u32;
        let mut weather =
            Weather::new(&self.params, &self.terrain, &self.springs, &self.fixed, own_seed, falls, dt);
        if let Some(beds) = &self.beds {
            weather.hardness = Field::Raster(&beds.hardness);
        }
        weather
    }

    /// Asks which beds the rock has come down to.
    fn look_at_beds(&mut self) {
        let Some(beds) = &mut self.beds else { return };
        // The fields were there when the storm began.
        let middling = self.params.hardness.on(&self.terrain).unwrap_or(Field::Const(0.0));
        let hardness = Hardness::new(middling, Some(&beds.places));
        let (stride, base, rock) = (self.now.cols, &self.fixed.base, &self.now.planes[0]);
        beds.hardness.par_rows(|row, out| {
            for (col, out) in out.iter_mut().enumerate() {
                let i = (row + 1) * stride + col + 1;
                *out = hardness.at(col, row, base[i] + rock[i]);
            }
        });
    }

    /// One pass.
    pub fn advance(&mut self, dt: f64, steps: usize, cut: Cut, stop: &(dyn Fn() -> bool + Sync)) -> Found {
        let laws = Laws::new(&self.params, self.spacing_m, dt);
        let advect = self.params.transport == Transport::Advect;
        // The pass changes the state while the weather looks at the rest of the storm.
        let mut now = std::mem::replace(&mut self.now, State::new(0, 0));
        let weather = self.weather(dt);
        let (fixed, buffers) = (&self.fixed, &self.buffers);
        let found = tiles::pass(&laws, fixed, &weather, advect, steps, cut, buffers, stop, &mut now);
        self.now = now;
        // Water that dries up drops all; where the ground is held, the next water takes that along.
        let [_, loose, _, load, ..] = &mut self.now.planes;
        for &i in &self.fixed.held {
            load[i] += std::mem::take(&mut loose[i]);
        }
        self.speed = found.speed();
        self.passes += 1;
        self.steps += steps as u64;
        found
    }

    /// Lets banks slide that the water has undercut.
    pub fn slide(&mut self) {
        let banks = Banks::new(self.params.bank_deg, self.spacing_m);
        let [rock, loose] = &mut self.spare;
        banks.slide(&self.fixed, &self.now, rock, loose);
        for (now, slid) in self.now.planes.iter_mut().zip(&mut self.spare) {
            std::mem::swap(now, slid);
        }
    }

    /// The land if all water stood still now.
    pub fn still(&self) -> Still<'_> {
        Still { storm: self, laid: self.delta() }
    }

    /// What has reached the sea so far, where it settles.
    fn delta(&self) -> Raster<f32> {
        let (stride, load) = (self.now.cols, &self.now.planes[3]);
        let (most, level) = (self.params.max_deposit_m as f32, self.params.sea_level_m as f32);
        let (cols, rows) = (self.height.cols(), self.height.rows());
        let cell = |c: usize, r: usize| (r + 1) * stride + c + 1;
        let room = Raster::from_fn(cols, rows, |c, r| {
            let ground = self.height.row(r)[c];
            match self.fixed.live[cell(c, r)] {
                0 if self.fixed.is_held(cell(c, r)) => 0.0,
                0 if !ground.is_nan() => (level + PLAIN_M - ground).min(most),
                _ => f32::NAN,
            }
        });
        let floats = Raster::from_fn(cols, rows, |c, r| {
            if room.row(r)[c].is_nan() { 0.0 } else { f64::from(load[cell(c, r)]) }
        });
        let drift = self.spacing_m.map(|spacing| self.params.delta_m / spacing);
        delta::lay(floats, &room, drift)
    }

    /// What came of it; reports where water and ground went.
    pub fn finish(mut self, ctx: &Ctx<'_>) -> Result<Outcome, OpError> {
        self.spare = Default::default();
        self.still().outcome(Some(ctx))
    }
}

/// A storm if all water stood still: what is carried settles.
pub(super) struct Still<'a> {
    storm: &'a Storm,
    /// Depth that lies in each sample of the sea.
    laid: Raster<f32>,
}

impl Still<'_> {
    /// A layer of what is now in the cells: `f` of the cell in the grid with its ring, and of its place in the land.
    fn map(&self, f: impl Fn(usize, usize, usize) -> f32 + Sync) -> Raster<f32> {
        let stride = self.storm.now.cols;
        Raster::from_fn(self.storm.height.cols(), self.storm.height.rows(), |c, r| {
            f((r + 1) * stride + c + 1, c, r)
        })
    }

    /// How the ground of a cell has changed, what is carried in it included.
    fn change(&self, i: usize, c: usize, r: usize, loose: Field<'_>) -> f32 {
        if self.storm.fixed.is_held(i) {
            return 0.0;
        }
        let [rock, sand, ..] = &self.storm.now.planes;
        let settled = self.settled(i, c, r);
        if self.storm.fixed.live[i] == 1 {
            rock[i] + (sand[i] - depth(loose, c, r)) + settled
        } else {
            settled
        }
    }

    /// What settles of the load of a cell when all water stands still: as much as finds room; in the sea, what drifts there.
    /// 0 in a hole and on held ground.
    fn settled(&self, i: usize, c: usize, r: usize) -> f32 {
        if self.storm.fixed.is_held(i) {
            return 0.0;
        }
        if self.storm.fixed.live[i] == 0 {
            return self.laid.row(r)[c];
        }
        let [rock, sand, _, load, ..] = &self.storm.now.planes;
        let room = self.storm.params.max_deposit_m as f32 - (rock[i] + sand[i]);
        if room > 0.0 { load[i].min(room) } else { 0.0 }
    }

    /// Depth of water now; the sea included, holes stay holes.
    pub fn water(&self) -> Raster<f32> {
        let sea = self.storm.params.sea_level_m as f32;
        self.map(|i, c, r| match self.storm.fixed.live[i] {
            1 => self.storm.now.planes[2][i],
            _ if self.storm.height.row(r)[c].is_nan() => f32::NAN,
            _ => (sea - (self.storm.height.row(r)[c] + self.settled(i, c, r))).max(0.0),
        })
    }

    /// Depth of loose ground now, what is carried included.
    pub fn sediment(&self) -> Result<Raster<f32>, OpError> {
        let loose = self.storm.params.loose_m.on(&self.storm.terrain)?;
        Ok(self.map(|i, c, r| match self.storm.fixed.live[i] {
            1 if self.storm.fixed.is_held(i) => depth(loose, c, r),
            1 => self.storm.now.planes[1][i] + self.settled(i, c, r),
            _ if self.storm.height.row(r)[c].is_nan() => f32::NAN,
            _ => self.settled(i, c, r),
        }))
    }

    /// How much higher the ground is than at the start.
    pub fn risen(&self) -> Result<Raster<f32>, OpError> {
        let loose = self.storm.params.loose_m.on(&self.storm.terrain)?;
        Ok(self.map(|i, c, r| {
            if self.storm.height.row(r)[c].is_nan() { f32::NAN } else { self.change(i, c, r, loose) }
        }))
    }

    /// Reports where water and ground went.
    fn account(&self, risen: &Raster<f32>, ctx: &Ctx<'_>) {
        let (cols, rows) = (self.storm.height.cols(), self.storm.height.rows());
        let stride = self.storm.now.cols;
        let [_, _, water, load, ..] = &self.storm.now.planes;
        // Eroded, deposited, carried off, standing, run off, laid down in the sea, and samples of sea that became land, row
        // by row in a fixed order.
        let sea = self.storm.params.sea_level_m as f32;
        let sums = |row: usize| {
            let mut sums = [0.0f64; 7];
            for col in 0..stride {
                let i = row * stride + col;
                let inside = (1..=cols).contains(&col) && (1..=rows).contains(&row);
                let (deep, carried) = (f64::from(water[i]), f64::from(load[i]));
                if inside {
                    let change = f64::from(risen.row(row - 1)[col - 1]);
                    // A comparison with the change of a hole is false.
                    sums[0] += if change < 0.0 { -change } else { 0.0 };
                    sums[1] += if change > 0.0 { change } else { 0.0 };
                }
                let settled = if inside { self.settled(i, col - 1, row - 1) } else { 0.0 };
                sums[2] += carried - f64::from(settled);
                if inside && self.storm.fixed.live[i] == 0 {
                    sums[5] += f64::from(settled);
                    let rises = settled > 0.0 && self.storm.height.row(row - 1)[col - 1] + settled > sea;
                    sums[6] += if rises { 1.0 } else { 0.0 };
                }
                sums[if inside && self.storm.fixed.live[i] == 1 { 3 } else { 4 }] += deep;
            }
            sums
        };
        let lines: Vec<[f64; 7]> = (0..self.storm.now.rows).into_par_iter().map(sums).collect();
        let [eroded, deposited, carried_off, standing, left, in_sea, won] =
            std::array::from_fn(|k| lines.iter().map(|line| line[k]).sum::<f64>());
        let area = self.storm.spacing_m[0] * self.storm.spacing_m[1];
        ctx.report("steps", self.storm.steps as f64, "");
        ctx.report("water_at_start", self.storm.start * area, "m3");
        ctx.report("water_fallen", self.storm.rained * area, "m3");
        ctx.report("water_standing", standing * area, "m3");
        ctx.report("water_run_off", left * area, "m3");
        ctx.report("water_evaporated", (self.storm.start + self.storm.rained - standing - left) * area, "m3");
        ctx.report("ground_eroded", eroded * area, "m3");
        ctx.report("ground_deposited", deposited * area, "m3");
        ctx.report("ground_in_sea", in_sea * area, "m3");
        ctx.report("land_won", won * area, "m2");
        ctx.report("ground_carried_off", carried_off * area, "m3");
        ctx.report("ground_imbalance", (eroded - deposited - carried_off) * area, "m3");
    }

    /// Heights, water and loose ground. Where water and ground went is reported to `ctx`, if there is one.
    pub fn outcome(&self, ctx: Option<&Ctx<'_>>) -> Result<Outcome, OpError> {
        let risen = self.risen()?;
        if let Some(ctx) = ctx {
            self.account(&risen, ctx);
        }
        let (water, sediment) = (self.water(), self.sediment()?);
        let mut height = risen;
        height.par_rows(|r, line| {
            for (change, ground) in line.iter_mut().zip(self.storm.height.row(r)) {
                *change += ground;
            }
        });
        Ok(Outcome { height, water, sediment })
    }
}

/// Ground of the ring: the land goes on as it falls towards the edge, and never rises.
fn beyond(height: &Raster<f32>, [col, row]: [usize; 2], [c, r]: [usize; 2]) -> f32 {
    let inner = |at: usize, ring: usize, n: usize| match ring {
        0 => (at + 1).min(n - 1),
        ring if ring == n + 1 => at.saturating_sub(1),
        _ => at,
    };
    let ground = height.row(r)[c];
    let inside = height.row(inner(r, row, height.rows()))[inner(c, col, height.cols())];
    if inside > ground { ground - (inside - ground) } else { ground }
}
