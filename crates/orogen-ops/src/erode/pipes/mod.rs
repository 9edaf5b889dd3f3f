//! Hydraulic erosion: rain gathers to streams that carry ground from the slopes into the valleys.

mod banks;
mod delta;
mod laws;
mod storm;
mod tiles;
mod weather;

#[cfg(test)]
mod scalar;
#[cfg(test)]
mod tests;

use orogen_core::param::Fault;
use orogen_core::{
    Coef, Ctx, Frame, LayerData, LayerName, Layers, Moment, Op, OpError, Progress, Reach, Simulated, Started,
    Stepped, Terrain, layer, stepped, work,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use self::storm::{Outcome, Storm};
use crate::rock::beds::STRATA;

/// What lies beyond the edge of the world.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Edge {
    /// The land goes on as it falls: water and what it carries leave.
    #[default]
    Open,
    /// A wall: nothing leaves.
    Closed,
}

/// How ground travels with the water.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Transport {
    /// With the water through every pipe: no ground is lost or made.
    #[default]
    Flux,
    /// Traced back along the speed, as published: smoother, but it does not conserve ground.
    Advect,
}

/// A place where water rises.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Spring {
    /// Easting.
    #[schemars(range(min = -1e9, max = 1e9), extend("x-unit" = "m"))]
    pub x_m: f64,
    /// Northing.
    #[schemars(range(min = -1e9, max = 1e9), extend("x-unit" = "m"))]
    pub y_m: f64,
    /// Water that rises.
    #[schemars(range(min = 0.0, max = 1e6), extend("x-unit" = "m3/s", "x-slider" = [0.0, 100.0]))]
    pub discharge_m3_per_s: f64,
    /// Radius of the place.
    #[schemars(range(min = 0.0, max = 1e4), extend("x-unit" = "m", "x-slider" = [0.0, 100.0]))]
    pub radius_m: f64,
}

/// Lets rain erode the land: water runs together, cuts gullies and valleys, and lays down fans and floors of sediment.
///
/// Water flows through virtual pipes to all eight neighbours. In a pipe of direction e and length l between two cells
///
/// ```text
/// ∂v/∂t = g ΔE / l − c v|u| / d          E = ground + d + |u|²/2g,  the energy head
/// ∂d/∂t = rain − Σ w v d / l − evaporation        Σ w e eᵀ = 1: together the pipes prefer no axis
/// capacity C = min(capacity · |u| · slope, thickest) · d      slope of the steepest way down, within slope_min and slope_max
/// C > s: (C − s) / erode_s is taken up, in rock times (1 − hardness) · 2^(−depth cut / harden_m)
/// never more than a quarter of the drop to the lowest ground around, so that no pit is dug
/// C < s: (s − C) / settle_s settles, times 2^(−depth laid down / fill_m)
/// ```
///
/// The ground has layers, each of its own hardness: loose sediment on top, which goes first; soil; and rock, harder the
/// deeper, as `harden_m` says. Drops fall at random, as often as the moisture says; undercut banks slide. At the end
/// all that is still carried settles. Below sea level water disappears; the ground it brought drifts `delta_m` on
/// average and settles on the sea bed as a fan. What finds no room drifts on, so that deltas grow out: their plain lies
/// half a metre above the sea, and what was sea becomes land. `snapshots` keeps water, sediment and change of height on
/// the way, as layers `film.water_1` and so on; the relief export draws each as a picture, `film_1.png` and so on.
///
/// Where land has strata (`rock.strata`), rock is as hard as the bed that it has come down to: a middling bed is as hard as
/// `hardness` says.
///
/// **Guarantees** (1) the time step follows from depth and speed, so that the solution stays stable; (2) water and
/// ground are conserved to rounding (`flux`), and the manifest says where they went: what was eroded lies on land or in
/// the sea, or was carried off over an open edge of the map; (3) a lake at rest stays at rest; (4) a breaking dam
/// follows the shallow-water solution: at most 5 % of the water lies elsewhere, and over standing water half as deep
/// the bore is within 5 % of its place; (5) no axis is preferred: land turned by 90 degrees gives the turned result to
/// the bit (except for random drops), by 45 degrees within a tenth of the change; (6) neither the number of threads nor
/// tiles change a bit: the result is that of a plain loop; (7) a hole is a wall and stays a hole; (8) what is held
/// keeps its height to the bit: what water carries passes over it.
///
/// **Limits** Fans and gullies are as fine as the cells: a build at twice the resolution agrees at large scale, and
/// differs in where single gullies run. The number of steps grows with the resolution. Real water carries a few
/// hundredths of its volume; a higher `capacity` makes a storm do the work of ages. Water that is left at the end is in
/// the layer `water`, the sea included. Deltas are laid down when the storm is over, so rivers do not run on over them.
/// 45 bytes a cell, beside the layers; 8 steps a pass, so that each moves 9 bytes a cell through memory.
///
/// **After** Mei, Decaudin & Hu, Pacific Graphics 2007, as extended by Weiss, "Procedural Terrain", 2015, chapter VI (rain
/// by moisture, evaporation by temperature, constants by depth); layers after Beneš & Forsbach, SCCG 2001. New: eight pipes,
/// the energy head, friction, upwind fluxes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Pipes {
    /// How long it rains.
    #[schemars(range(min = 0.0, max = 1e7), extend("x-unit" = "s", "x-slider" = [60.0, 7200.0]))]
    pub duration_s: f64,
    /// How long the water runs off after the rain.
    #[schemars(range(min = 0.0, max = 1e7), extend("x-unit" = "s", "x-slider" = [0.0, 3600.0]))]
    pub runoff_s: f64,
    /// Rain where it is wettest.
    #[schemars(range(min = 0.0, max = 1e5), extend("x-unit" = "mm/h", "x-slider" = [0.0, 6000.0]))]
    pub rain_mm_per_h: f64,
    /// How often rain falls: a number from 0 to 1, or a layer such as `moisture`, or `rain` with its `wettest`.
    #[schemars(extend("minimum" = 0.0, "maximum" = 1.0))]
    pub moisture: Coef,
    /// The value of a layer for `moisture` that counts as 1: millimetres a year for the layer `rain`.
    #[schemars(range(min = 0.001, max = 20000.0), extend("x-slider" = [1.0, 4000.0]))]
    pub wettest: f64,
    /// Share of the rain that falls in single drops at random places; the rest falls evenly.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub patter: f64,
    /// Places where water rises all the time.
    #[schemars(length(max = 1000))]
    pub springs: Vec<Spring>,
    /// Depth of water at the start: a number, or a layer such as `water`.
    #[schemars(extend("minimum" = 0.0, "maximum" = 1e4, "x-unit" = "m", "x-slider" = [0.0, 10.0]))]
    pub water_m: Coef,
    /// Time in which water dries or seeps away to a third at 35 °C and more; at -5 °C and less none does. Short times dry up
    /// rivers on their way: a flow of 2 m/s takes 500 s for a kilometre.
    #[schemars(range(min = 1.0, max = 1e9), extend("x-unit" = "s", "x-slider" = [30.0, 3600.0]))]
    pub evaporate_s: f64,
    /// Temperature: a number, or a layer such as `temperature`.
    #[schemars(extend("minimum" = -100.0, "maximum" = 100.0, "x-unit" = "degC", "x-slider" = [-20.0, 40.0]))]
    pub temperature_c: Coef,
    /// Friction of the ground: 0.003 smooth rock, 0.05 rubble and brush.
    #[schemars(range(min = 0.0, max = 10.0), extend("x-slider" = [0.0, 0.2]))]
    pub roughness: f64,
    /// Ground that water carries, as a share of its volume, at 1 m/s on a slope of 1 in 1.
    #[schemars(range(min = 0.0, max = 1e4), extend("x-slider" = [0.0, 20.0]))]
    pub capacity: f64,
    /// The most ground that water carries, as a multiple of its volume: mud below 0.1, flows of debris at 1; with more, a
    /// storm does the work of ages.
    #[schemars(range(min = 0.0, max = 1000.0), extend("x-slider" = [0.0, 50.0]))]
    pub thickest: f64,
    /// Time in which water takes up two thirds of what it could carry.
    #[schemars(range(min = 0.01, max = 1e7), extend("x-unit" = "s", "x-slider" = [1.0, 300.0]))]
    pub erode_s: f64,
    /// Time in which two thirds of the excess load settle.
    #[schemars(range(min = 0.01, max = 1e7), extend("x-unit" = "s", "x-slider" = [1.0, 300.0]))]
    pub settle_s: f64,
    /// Slopes gentler than this count as this steep.
    #[schemars(range(min = 0.0, max = 10.0), extend("x-slider" = [0.0, 0.05]))]
    pub slope_min: f64,
    /// Slopes steeper than this count as this steep.
    #[schemars(range(min = 0.0, max = 10.0), extend("x-slider" = [0.1, 1.0]))]
    pub slope_max: f64,
    /// How hard the rock is, from 0 (as soft as sediment) to 1 (never cut): a number, or a layer.
    #[schemars(extend("minimum" = 0.0, "maximum" = 1.0))]
    pub hardness: Coef,
    /// Depth of soil on the rock at the start: a number, or a layer.
    #[schemars(extend("minimum" = 0.0, "maximum" = 1e4, "x-unit" = "m", "x-slider" = [0.0, 20.0]))]
    pub soil_m: Coef,
    /// How hard the soil is, from 0 (as soft as sediment) to 1 (never cut).
    #[schemars(range(min = 0.0, max = 1.0))]
    pub soil_hardness: f64,
    /// Depth of loose ground at the start: a number, or a layer such as `sediment`.
    #[schemars(extend("minimum" = 0.0, "maximum" = 1e4, "x-unit" = "m", "x-slider" = [0.0, 20.0]))]
    pub loose_m: Coef,
    /// Depth cut into the rock at which it is twice as hard.
    #[schemars(range(min = 0.01, max = 1e6), extend("x-unit" = "m", "x-slider" = [1.0, 100.0]))]
    pub harden_m: f64,
    /// Depth laid down on the rock at which half as much settles.
    #[schemars(range(min = 0.01, max = 1e6), extend("x-unit" = "m", "x-slider" = [1.0, 100.0]))]
    pub fill_m: f64,
    /// Steepest bank that stands: steeper ones slide into what the water has cut. At 90 all stand.
    #[schemars(range(min = 5.0, max = 90.0), extend("x-unit" = "deg", "x-slider" = [20.0, 60.0]))]
    pub bank_deg: f64,
    /// Deepest cut into the rock.
    #[schemars(range(min = 0.0, max = 1e4), extend("x-unit" = "m", "x-slider" = [0.0, 200.0]))]
    pub max_erosion_m: f64,
    /// Deepest sediment on the rock.
    #[schemars(range(min = 0.0, max = 1e4), extend("x-unit" = "m", "x-slider" = [0.0, 100.0]))]
    pub max_deposit_m: f64,
    /// Whether there is a sea that takes the water.
    pub sea: bool,
    /// Level of the sea.
    #[schemars(range(min = -2e4, max = 2e4), extend("x-unit" = "m", "x-slider" = [-500.0, 500.0]))]
    pub sea_level_m: f64,
    /// Mean distance over which ground that reaches the sea drifts before it settles; at 0 it stays where it came in, and
    /// what finds no room there is lost.
    #[schemars(range(min = 0.0, max = 1e5), extend("x-unit" = "m", "x-slider" = [0.0, 1000.0]))]
    pub delta_m: f64,
    /// What lies beyond the edge of the world.
    pub edge: Edge,
    /// How ground travels with the water.
    pub transport: Transport,
    /// How many times on the way, evenly spaced, water, sediment and change of height are kept as layers of their own.
    #[schemars(range(min = 0, max = 100), extend("x-slider" = [0, 24]))]
    pub snapshots: u32,
}

impl Default for Pipes {
    fn default() -> Self {
        Self {
            duration_s: 300.0,
            runoff_s: 500.0,
            rain_mm_per_h: 3000.0,
            moisture: Coef::Const(1.0),
            wettest: 1.0,
            patter: 1.0,
            springs: Vec::new(),
            water_m: Coef::Const(0.0),
            evaporate_s: 3000.0,
            temperature_c: Coef::Const(15.0),
            roughness: 0.05,
            capacity: 8.0,
            thickest: 20.0,
            erode_s: 10.0,
            settle_s: 10.0,
            slope_min: 0.01,
            slope_max: 0.6,
            hardness: Coef::Const(0.3),
            soil_m: Coef::Const(2.0),
            soil_hardness: 0.1,
            loose_m: Coef::Const(0.0),
            harden_m: 12.0,
            fill_m: 50.0,
            bank_deg: 33.0,
            max_erosion_m: 100.0,
            max_deposit_m: 100.0,
            sea: true,
            sea_level_m: 0.0,
            delta_m: 150.0,
            edge: Edge::Open,
            transport: Transport::Flux,
            snapshots: 0,
        }
    }
}

impl Op for Pipes {
    const ID: &'static str = "erode.pipes";
    const VERSION: u32 = 4;

    fn layers(&self) -> Layers {
        let coefs =
            [&self.moisture, &self.water_m, &self.temperature_c, &self.hardness, &self.soil_m, &self.loose_m];
        Layers::none()
            .updating([layer::HEIGHT.name()])
            .using_vectors([crate::held_lines::HOLD, STRATA])
            .reading(coefs.into_iter().filter_map(Coef::layer))
            .writing([layer::WATER.name(), layer::SEDIMENT.name()])
            .writing((1..=self.snapshots).flat_map(film))
    }

    fn wears(&self) -> bool {
        true
    }

    fn reach(&self, _: &Frame) -> Reach {
        Reach::World
    }

    fn bytes_a_sample(&self, _: &Frame) -> f64 {
        45.0 + 4.0 * Op::layers(self).writes.len() as f64
    }

    fn faults(&self) -> Vec<Fault> {
        if self.slope_max < self.slope_min {
            let (max, min) = (self.slope_max, self.slope_min);
            return vec![Fault::of("slope_max", format!("{max} is below slope_min ({min})"))];
        }
        Vec::new()
    }

    fn run(&self, terrain: Terrain, ctx: &Ctx<'_>) -> Result<Terrain, OpError> {
        stepped::run_through(self, terrain, ctx)
    }

    fn start(&self, terrain: Terrain, ctx: &Ctx<'_>) -> Result<Started, OpError> {
        let total_s = self.duration_s + self.runoff_s;
        let [dx, dy] = terrain.frame().spacing_m();
        let ns_a_second = NS_A_STEP * BRISK / (storm::COURANT * dx.min(dy));
        let advice = format!(
            "at this spacing the maximum is {}, including runoff_s",
            work::at_most(work::MOST_NS_A_SAMPLE / ns_a_second)
        );
        work::check("duration_s", total_s, total_s * ns_a_second, &advice)?;
        let storm = Storm::new(self, terrain, ctx)?;
        for spring in storm.dry_springs() {
            let Spring { x_m, y_m, .. } = self.springs[spring];
            ctx.warn(format!(
                "springs[{spring}] at x_m = {x_m}, y_m = {y_m} is outside the land and gives no water"
            ));
        }
        Ok(Started::Stepped(Box::new(Raining { storm, total_s, shots: 0, film: Vec::new() })))
    }
}

/// A storm on its way, with the snapshots taken so far.
struct Raining {
    storm: Storm,
    total_s: f64,
    shots: u32,
    film: Vec<(LayerName, LayerData)>,
}

impl Raining {
    /// Keeps what there is, where a snapshot is due.
    fn take_shots(&mut self) -> Result<(), OpError> {
        while self.shots < self.storm.params.snapshots && self.storm.time_s >= self.next_shot_s() {
            self.shots += 1;
            let still = self.storm.still();
            let layers = [still.water(), still.sediment()?, still.risen()?];
            let layers = layers.map(|raster| LayerData::F32(raster.into()));
            self.film.extend(film(self.shots).into_iter().zip(layers));
        }
        Ok(())
    }

    fn next_shot_s(&self) -> f64 {
        self.total_s * f64::from(self.shots + 1) / f64::from(self.storm.params.snapshots)
    }

    /// The next time that a pass must end at: that of a snapshot, of the end of the rain, or of the end.
    fn stop_s(&self) -> f64 {
        let Pipes { snapshots, duration_s, .. } = self.storm.params;
        let shot_s = if self.shots < snapshots { self.next_shot_s() } else { self.total_s };
        if self.storm.time_s < duration_s { shot_s.min(duration_s) } else { shot_s }
    }
}

impl Outcome {
    /// The land that it leaves of some other.
    fn land(self, mut terrain: Terrain) -> Terrain {
        terrain.set(layer::HEIGHT, self.height);
        terrain.set(layer::WATER, self.water);
        terrain.set(layer::SEDIMENT, self.sediment);
        terrain
    }
}

impl Stepped for Raining {
    fn advance(&mut self, ctx: &Ctx<'_>) -> Result<Progress, OpError> {
        if self.storm.time_s < self.total_s {
            ctx.tick((self.storm.time_s / self.total_s * 1000.0) as usize, 1000)?;
            self.storm.pass_to(self.stop_s(), &|| ctx.stop_if_asked().is_err());
            ctx.stop_if_asked()?;
        }
        self.take_shots()?;
        Ok(if self.storm.time_s < self.total_s { Progress::More } else { Progress::Done })
    }

    fn moment(&self) -> Moment {
        let share = if self.total_s > 0.0 { self.storm.time_s / self.total_s } else { 1.0 };
        Moment { share, time: Some(Simulated::Seconds(self.storm.time_s)) }
    }

    fn view(&self) -> Result<Terrain, OpError> {
        Ok(self.storm.still().outcome(None)?.land(self.storm.terrain.clone()))
    }

    fn finish(self: Box<Self>, ctx: &Ctx<'_>) -> Result<Terrain, OpError> {
        let Self { storm, film, .. } = *self;
        let before = storm.terrain.clone();
        let mut terrain = storm.finish(ctx)?.land(before);
        for (name, data) in film {
            terrain.set_named(name, data);
        }
        Ok(terrain)
    }
}

/// Nanoseconds that a cell takes in a step, about.
const NS_A_STEP: f64 = 12.0;
/// Speed of water on steep land, in metres a second; steps are shorter the faster it runs.
const BRISK: f64 = 8.0;

/// Layers of a snapshot: depth of water, depth of loose ground, and how much higher the ground is than at the start.
fn film(shot: u32) -> Vec<LayerName> {
    let name = |what: &str| LayerName::parse(&format!("film.{what}_{shot}"));
    ["water", "sediment", "change"].into_iter().filter_map(name).collect()
}
