//! Particle erosion: drops of rain that run with momentum, take ground up where they are fast and lay it down where they
//! are slow.

mod flight;
mod spread;
mod storm;
#[cfg(test)]
mod tests;

use orogen_core::{
    Coef, Ctx, Frame, Layers, Moment, Op, OpError, Progress, Raster, Reach, Started, Stepped, Terrain, layer,
    stepped, work,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use self::storm::{Land, Rained, droplets};
use self::storm::{Storm, Tiles};
use crate::held_lines;
use crate::rock::beds::{Hardness, Places, STRATA, Strata};

/// Lets drops of rain run over the land: they wear gullies that join to valleys, and lay fans and floors below them.
///
/// A drop of water `w` that runs a way of length `s` and carries ground `c` obeys
///
/// ```text
/// dm/ds = −(∇h + m) / momentum_m             it heads along m, the fall of the ground it came over
/// C     = capacity w S √(1 + a/gather_m)     what it can carry; S is the fall along its way
/// dc/ds = (C − c) / L                        L = erode_m, or settle_m where c > C; times 1 + a/erode_m
/// w     = 1 − s / travel_m                   it dries up
/// ```
///
/// `a` is the area that drains through a metre of width, as the drops of the rounds before found it: where many drops meet,
/// each carries more and feels its bed over a longer way, so streams cut with the root of the area and gullies grow together to
/// branching valleys. What a drop takes and leaves is spread over `radius_m`.
///
/// Drops fall in rounds. In a round the land stands still, so none feels another; then it takes in what all of them
/// did. In standing water a drop goes straight on and lays down what it carries; where a lake has no room for more, or
/// a drop has nothing left to lay down, it goes on below the outlet. Running water evens out what lies loose under it,
/// and what is steeper than `talus_deg` slides, as with `erode.thermal`.
///
/// Where land has strata (`rock.strata`), rock is as hard as the bed that it has come down to: a middling bed is as hard as
/// `hardness` says.
///
/// **Guarantees** (1) neither the order of drops nor the number of threads changes a bit: what they do is counted in whole
/// numbers; (2) ground is conserved: what is worn away is laid down or carried off (over the edge, into a hole, by a sea
/// without room, or over held ground), and the manifest has the volumes; (3) level land stays level; (4) at another sampling
/// the same drops fall in the same places; (5) what is held keeps its height to the bit; (6) banks are as steep in all
/// directions: `talus_deg` is held against the gradient, not against single neighbours.
///
/// **Limits** Drops find their way by single cells, so at another resolution large valleys agree and small gullies need not.
/// Streams are at least about a cell wide, a cell gets at most sixteen drops a round, and a round changes the land by no
/// more than 0.08 `radius_m`: what goes beyond that waits and spreads. With `sea`, land at or below 0 m is sea, where no drop
/// starts. A step is as long as a cell, so the time is drops × `travel_m` / cell.
///
/// **After** the particles of H. T. Beyer, *Implementation of a method for hydraulic erosion*, TU München 2015, which change
/// the land one after the other, and the length over which streams trade with their beds of P. Davy & D. Lague, *Journal of
/// Geophysical Research* 114, 2009. Rounds, lakes, and water that remembers where it ran are ours.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Droplets {
    /// Total depth of rain where the moisture is 1: how much is worn away.
    #[schemars(range(min = 0.0, max = 1e4), extend("x-unit" = "m", "x-slider" = [0.0, 100.0]))]
    pub rain_m: f64,
    /// How much of the rain falls, from 0 to 1: a number, or a layer such as `moisture`.
    #[schemars(extend("minimum" = 0.0, "maximum" = 1.0))]
    pub moisture: Coef,
    /// Drops that share the rain; more make smoother land.
    #[schemars(range(min = 1.0, max = 1e7), extend("x-unit" = "1/km2", "x-slider" = [1e3, 1e5]))]
    pub drops_per_km2: f64,
    /// How many times the land takes in what drops did; more let it react sooner.
    #[schemars(range(min = 1, max = 10_000), extend("x-slider" = [10, 200]))]
    pub rounds: u32,
    /// How far a drop runs until it has dried up.
    #[schemars(range(min = 1.0, max = 1e5), extend("x-unit" = "m", "x-slider" = [100.0, 5000.0]))]
    pub travel_m: f64,
    /// Distance over which a drop forgets where it was heading.
    #[schemars(range(min = 0.1, max = 1e4), extend("x-unit" = "m", "x-slider" = [1.0, 100.0]))]
    pub momentum_m: f64,
    /// Ground that water can carry at slope 1 on open ground, as a share of its volume.
    #[schemars(range(min = 0.0, max = 10.0), extend("x-slider" = [0.0, 0.5]))]
    pub capacity: f64,
    /// Area that drains through a metre of width where a stream begins: three times as much, and each drop carries twice as much.
    #[schemars(range(min = 1.0, max = 1e6), extend("x-unit" = "m", "x-slider" = [10.0, 1000.0]))]
    pub gather_m: f64,
    /// Distance over which a drop takes up two thirds of what it can still carry.
    #[schemars(range(min = 1.0, max = 1e6), extend("x-unit" = "m", "x-slider" = [10.0, 1000.0]))]
    pub erode_m: f64,
    /// Distance over which a drop lays down two thirds of its excess load.
    #[schemars(range(min = 1.0, max = 1e6), extend("x-unit" = "m", "x-slider" = [10.0, 1000.0]))]
    pub settle_m: f64,
    /// How far to either side a drop works.
    #[schemars(range(min = 0.0, max = 500.0), extend("x-unit" = "m", "x-slider" = [2.0, 50.0]))]
    pub radius_m: f64,
    /// Steepest slope that stands beside a stream.
    #[schemars(range(min = 1.0, max = 89.0), extend("x-unit" = "deg", "x-slider" = [25.0, 70.0]))]
    pub talus_deg: f64,
    /// How hard the rock is, from 0 (as loose ground) to 1 (nothing wears it): a number, or a layer.
    #[schemars(extend("minimum" = 0.0, "maximum" = 1.0))]
    pub hardness: Coef,
    /// Depth of loose ground at the start: a number, or a layer such as `sediment`.
    #[schemars(extend("minimum" = 0.0, "maximum" = 1e4, "x-unit" = "m", "x-slider" = [0.0, 50.0]))]
    pub loose_m: Coef,
    /// Whether land at or below sea level (0 m) is sea.
    pub sea: bool,
}

impl Default for Droplets {
    fn default() -> Self {
        Self {
            rain_m: 20.0,
            moisture: Coef::Const(1.0),
            drops_per_km2: 40_000.0,
            rounds: 50,
            travel_m: 2500.0,
            momentum_m: 12.0,
            capacity: 0.5,
            gather_m: 100.0,
            erode_m: 150.0,
            settle_m: 40.0,
            radius_m: 22.0,
            talus_deg: 38.0,
            hardness: Coef::Const(0.0),
            loose_m: Coef::Const(0.0),
            sea: true,
        }
    }
}

impl Op for Droplets {
    const ID: &'static str = "erode.droplets";
    const VERSION: u32 = 2;
    const PREVIEW_RMSE: f64 = 0.06;

    fn layers(&self) -> Layers {
        Layers::none()
            .updating([layer::HEIGHT.name()])
            .using_vectors([held_lines::HOLD, STRATA])
            .reading(self.moisture.layer())
            .reading(self.hardness.layer())
            .reading(self.loose_m.layer())
            .writing([layer::SEDIMENT.name()])
    }

    fn wears(&self) -> bool {
        true
    }

    fn reach(&self, _: &Frame) -> Reach {
        Reach::World
    }

    fn bytes_a_sample(&self, _: &Frame) -> f64 {
        84.0
    }

    fn run(&self, terrain: Terrain, ctx: &Ctx<'_>) -> Result<Terrain, OpError> {
        stepped::run_through(self, terrain, ctx)
    }

    fn start(&self, terrain: Terrain, ctx: &Ctx<'_>) -> Result<Started, OpError> {
        self.check_work(terrain.frame())?;
        let held = held_lines::held_samples(&terrain);
        let places = Strata::under(&terrain, ctx)?;
        let land = self.land(&terrain, held.as_ref(), places.as_ref())?;
        let storm = Storm::new(&land, self, Tiles::of(land.height), ctx)?;
        Ok(Started::Stepped(Box::new(Raining { params: self.clone(), terrain, held, places, storm })))
    }
}

/// Rain on its way.
struct Raining {
    params: Droplets,
    /// The land before.
    terrain: Terrain,
    held: Option<Raster<bool>>,
    /// The beds under the samples, if the land has any.
    places: Option<Places>,
    storm: Storm,
}

impl Stepped for Raining {
    fn advance(&mut self, ctx: &Ctx<'_>) -> Result<Progress, OpError> {
        let land = self.params.land(&self.terrain, self.held.as_ref(), self.places.as_ref())?;
        Ok(self.storm.round(&land, &self.params, ctx)?)
    }

    fn moment(&self) -> Moment {
        Moment { share: self.storm.share(), time: None }
    }

    fn view(&self) -> Result<Terrain, OpError> {
        let land = self.params.land(&self.terrain, self.held.as_ref(), self.places.as_ref())?;
        let (change, loose) = self.storm.so_far(&land);
        let mut terrain = self.terrain.clone();
        terrain.set(layer::HEIGHT, changed(land.height, change));
        terrain.set(layer::SEDIMENT, loose);
        Ok(terrain)
    }

    fn finish(self: Box<Self>, ctx: &Ctx<'_>) -> Result<Terrain, OpError> {
        let Self { params, mut terrain, held, places, storm } = *self;
        let land = params.land(&terrain, held.as_ref(), places.as_ref())?;
        let rained = storm.rained(&land, &params);
        let [dx, dy] = terrain.frame().spacing_m();
        let volume = |f: fn(f32) -> f32| rained.change.map(f).sum_f64() * dx * dy;
        let (eroded, deposited) = (volume(|v| (-v).max(0.0)), volume(|v| v.max(0.0)));
        ctx.report("rain", rained.fallen_m3, "m3");
        ctx.report("eroded", eroded, "m3");
        ctx.report("deposited", deposited, "m3");
        ctx.report("carried_off", rained.carried_off_m3, "m3");
        ctx.report("unaccounted", eroded - deposited - rained.carried_off_m3, "m3");
        let after = changed(land.height, &rained.change);
        terrain.set(layer::HEIGHT, after);
        terrain.set(layer::SEDIMENT, rained.loose);
        Ok(terrain)
    }
}

/// Nanoseconds of one processor that a drop takes to cross a cell, about: 5 in a release build, 13 in a test build.
/// Where streams are wide, the ground is smooth and drops run further: there a drop takes so much more.
const NS_A_CELL: f64 = 10.0;
const WIDE: f64 = 0.6;
/// Nanoseconds that a sample takes to take in what a round did, and more for each sweep and for each cell of the bell.
const NS_A_ROUND: f64 = 110.0;
const NS_A_SWEEP: f64 = 25.0;
const NS_A_TAP: f64 = 1.0;

impl Droplets {
    /// The land that it rains on.
    fn land<'a>(
        &self,
        terrain: &'a Terrain,
        held: Option<&'a Raster<bool>>,
        places: Option<&'a Places>,
    ) -> Result<Land<'a>, OpError> {
        Ok(Land {
            height: terrain.get(layer::HEIGHT)?,
            frame: *terrain.frame(),
            moisture: self.moisture.on(terrain)?,
            hardness: Hardness::new(self.hardness.on(terrain)?, places),
            loose_m: self.loose_m.on(terrain)?,
            held,
        })
    }

    /// Refuses so many drops, or rounds, that they would take far too long.
    fn check_work(&self, frame: &Frame) -> Result<(), OpError> {
        let [in_drops, in_rounds] = self.work_ns(frame);
        let all = in_drops + in_rounds;
        let times = work::MOST_NS_A_SAMPLE / all;
        if in_drops > in_rounds {
            let most = self.drops_per_km2 * times;
            let advice = format!(
                "with this travel_m, radius_m and rounds the maximum is about {}",
                work::at_most(most)
            );
            work::check("drops_per_km2", self.drops_per_km2, all, &advice)
        } else {
            let rounds = f64::from(self.rounds);
            let most = (rounds * times).floor();
            let advice =
                format!("with this radius_m and drops_per_km2 the maximum is about {}", work::at_most(most));
            work::check("rounds", rounds, all, &advice)
        }
    }

    /// What drops, and the rounds they fall in, take of each sample, in nanoseconds.
    fn work_ns(&self, frame: &Frame) -> [f64; 2] {
        let [dx, dy] = frame.spacing_m();
        let rounds = f64::from(self.rounds);
        let apart_m = storm::drops_apart_m(self, [dx, dy]);
        let drops = rounds * dx * dy / (apart_m * apart_m);
        let cells = (self.travel_m / dx.min(dy)).min((frame.cols() + frame.rows()) as f64).max(1.0);
        let wide = (0.25 * (self.radius_m / dx.min(dy) - 1.0)).clamp(0.0, 1.0);
        let round = NS_A_ROUND
            + NS_A_SWEEP * storm::sweeps(self.radius_m, [dx, dy]).1
            + NS_A_TAP * (self.radius_m / dx + self.radius_m / dy);
        [drops * cells * NS_A_CELL * (1.0 + WIDE * wide), (rounds + storm::AFTER as f64) * round]
    }
}

/// Heights with what was laid down and taken away.
fn changed(height: &Raster<f32>, change: &Raster<f32>) -> Raster<f32> {
    let mut after = height.clone();
    after.par_rows(|row, out| {
        for (out, change) in out.iter_mut().zip(change.row(row)) {
            *out += change;
        }
    });
    after
}
