//! Stream power: ranges and valleys from uplift and rivers over geological time.

mod bend;
mod cut;
pub(super) mod nodes;
pub(super) mod rock;
pub(super) mod slopes;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use orogen_core::{
    Cancelled, Coef, Ctx, Frame, Layers, Moment, Op, OpError, Progress, Raster, Reach, Seed, Simulated,
    Started, Stepped, Terrain, layer, math, stepped, work,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use self::bend::Bend;
use self::cut::{Cut, Drained};
use self::nodes::Nodes;
use self::rock::Rock;
use super::hillslope::{self, GROWTH, Ground, Law, NS_A_STAGE, PRODUCTION_DEPTH_M};
use crate::drainage::ways::{Spans, Wander, Ways};
use crate::drainage::{Basins, Edge, area, check_size};
use crate::held_lines::{self, Held};
use crate::rock::beds::{Places, STRATA, Strata};
use crate::rock::variety::Variety;
use crate::water::sea_level;

/// What uplift may be, as a number and in a layer.
pub const UPLIFT_MM_PER_YR: [f64; 2] = [-100.0, 100.0];
/// The same for incision.
pub const INCISION_MM_PER_YR: [f64; 2] = [0.0, 1000.0];
/// The same for rain.
const RAIN_MM_PER_YR: [f64; 2] = [0.0, 20_000.0];

/// Lets land rise while rivers cut it down, over millions of years: branching valleys, sharp divides, slopes that fit
/// each other.
///
/// ```text
/// ∂h/∂t = U − k (A / 1 km²)^m S^n − ∇ · q        q = −D ∇h / (1 − (|∇h| / tan talus)²)
/// ```
///
/// `U` is the uplift, `A` the area drained (never less than `hollow_m2`: slopes above the heads of streams are as steep as
/// the heads), `S` the slope down the stream and `k` how fast a stream that drains 1 km² cuts at slope 1. Where uplift and
/// cutting balance, a stream's slope is `(U/k)^(1/n) (A / 1 km²)^(-m/n)`: concave profiles, steep at the top. Where more or
/// less than 1000 mm of rain fall in a year (`rain_mm_per_yr`), `A` is the area that would bring as much water.
///
/// Soil creeps by `q`: in proportion to the slope on gentle ground, ever faster near the talus angle, where small landslides
/// move it. Crests get round and slopes straight; streams carry off what comes into their beds, the more the larger
/// they are beside `hollow_m2`, and stay sharp. What is steeper than 1.15 times the talus slope gives way at once. Without creep
/// that happens at the talus slope itself. With `soil_mm_per_yr` the layer `soil` tells how deep soil lies in the end: as
/// deep as makes it as fast as ground is lowered, less on steep slopes, none at their limit.
///
/// Time is implicit along the streams, so that steps may be long. Land grows on a coarse lattice first, whose nodes lie
/// at random so that valleys favour no direction; half of the time is spent there, half of what is left on a lattice
/// twice as fine, and so on to the base, which has 512 cells along the longer side of the world whatever the frame's
/// own spacing. Up to there the land is known only at the nodes of the base, so that valleys lie at the same places for
/// every frame. Finer lattices take over the beds of its rivers and have the last thirty-second of the time, in which
/// gullies form; rivers bend a little on the way from one to the next, and on smooth slopes water wanders at first, so that
/// valleys do not follow the eight directions of the lattice. Rivers leave the map at its edge and go on for `beyond_m` to the base level, so land at the edge does
/// not fall off; with `sea`, land at or below 0 m is sea and stays, and streams and
/// slopes come down to its level whatever the depth of its floor.
///
/// Where land has strata (`rock.strata`), k and the steepest slope are those of the bed that a place has come down to: a bed of
/// hardness h is cut `(1 − h)/h` times as fast as `incision_mm_per_yr` says, and stands as steep as its own `talus_deg`. Beds
/// rise with the land and come to lie at the end as they are described. The cut is implicit bed by bed, so thin beds hold
/// streams up however long the steps are.
///
/// Streams start from a hair of unevenness: up to a hundredth of a lattice's spacing, and of that a share in times shorter than
/// 10,000 years. No time changes nothing.
///
/// What curves and features `hold` keeps its height: streams work down to held rivers, and slopes lean on
/// held crests no steeper than `talus_deg`.
///
/// **Guarantees** (1) after a long time uplift and incision balance: the slope of streams follows the equation within
/// 2 % at nineteen of twenty places; (2) what is held keeps its height within 1 m; (3) without uplift no land rises
/// except under held ground and where ground creeps; (4) the result does not depend on the number of threads; (5) sea
/// and holes stay as they are; (6) frames of 513 samples and of four times as many have their valleys at the same
/// places: heights differ by less than 3 % of the relief.
///
/// **Limits** What is worn away leaves with the rivers: nothing is laid down in valleys. The manifest gives the volumes that
/// rose, stayed and left. Slopes finer than the frame are not resolved, and frames of fewer samples than the base are coarser
/// in resolution than what decides where valleys run: previews of 257 samples and less have other side valleys.
///
/// **After** Braun & Willett, Geomorphology 180 (2013); Cordonnier, Bovy & Braun, Earth Surf. Dyn. 7 (2019), for
/// depressions; Montgomery & Foufoula-Georgiou, Water Resour. Res. 29 (1993), for slopes above stream heads; Roering, Kirchner &
/// Dietrich, Water Resour. Res. 35 (1999), for creep; Fairfield & Leymarie, Water Resour. Res. 27 (1991), for water that
/// wanders; Heimsath et al., Nature 388 (1997), for soil. We differ in the lattices, coarse to fine, and in rivers that go on beyond the
/// map.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct StreamPower {
    /// How long the land rises and is worn.
    #[schemars(range(min = 0.0, max = 1e9), extend("x-unit" = "yr", "x-slider" = [1e5, 2e7]))]
    pub duration_yr: f64,
    /// How fast the land rises: a number, or a layer, whose values count as the nearest that a number may have, here and below.
    #[schemars(extend("minimum" = UPLIFT_MM_PER_YR[0], "maximum" = UPLIFT_MM_PER_YR[1], "x-unit" = "mm/yr"))]
    pub uplift_mm_per_yr: Coef,
    /// How fast a stream that drains 1 km² cuts down at slope 1, soft rock more: a number, or a layer.
    #[schemars(extend("minimum" = INCISION_MM_PER_YR[0], "maximum" = INCISION_MM_PER_YR[1], "x-unit" = "mm/yr"))]
    pub incision_mm_per_yr: Coef,
    /// Rain: a number, or a layer such as the one that `climate.rain` makes. A hole in the layer has none.
    #[schemars(extend("minimum" = RAIN_MM_PER_YR[0], "maximum" = RAIN_MM_PER_YR[1], "x-unit" = "mm/yr", "x-slider" = [0.0, 4000.0]))]
    pub rain_mm_per_yr: Coef,
    /// Exponent of the area: how much stronger large rivers are.
    #[schemars(range(min = 0.1, max = 1.0))]
    pub area_exponent: f64,
    /// Exponent of the slope.
    #[schemars(range(min = 0.5, max = 3.0))]
    pub slope_exponent: f64,
    /// Area at which streams begin; slopes above are as steep as their heads.
    #[schemars(range(min = 0.0, max = 1e9), extend("x-unit" = "m2", "x-slider" = [1e3, 1e6]))]
    pub hollow_m2: f64,
    /// Steepest slope that stands in rock of middling hardness (with `variety`, soft rock stands less steep and hard rock steeper); at 90 any slope stands.
    #[schemars(range(min = 1.0, max = 90.0), extend("x-unit" = "deg", "x-slider" = [20.0, 60.0]))]
    pub talus_deg: f64,
    /// How fast ground creeps down slopes and rounds them.
    #[schemars(range(min = 0.0, max = 1e3), extend("x-unit" = "m2/yr", "x-slider" = [0.0, 0.1]))]
    pub creep_m2_per_yr: f64,
    /// How fast bare rock turns to soil; at 0 no layer `soil` is left.
    #[schemars(range(min = 0.0, max = 100.0), extend("x-unit" = "mm/yr", "x-slider" = [0.0, 2.0]))]
    pub soil_mm_per_yr: f64,
    /// How much rock differs from place to place, 0 not at all; 1 by a factor of about three either way in `incision_mm_per_yr`.
    #[schemars(range(min = 0.0, max = 2.0))]
    pub variety: f64,
    /// Size of the largest patches of like rock.
    #[schemars(range(min = 1.0, max = 1e7), extend("x-unit" = "m", "x-slider" = [100.0, 20000.0]))]
    pub variety_wavelength_m: f64,
    /// Whether land at or below sea level (0 m) is sea.
    pub sea: bool,
    /// Where rivers leave the map.
    pub outlets: Outlets,
    /// Height that rivers come down to beyond the map.
    #[schemars(range(min = -1e4, max = 1e4), extend("x-unit" = "m"))]
    pub base_m: f64,
    /// How far rivers go on beyond the map until they are at their base; at 0 the edge keeps its height.
    #[schemars(range(min = 0.0, max = 1e7), extend("x-unit" = "m", "x-slider" = [0.0, 100000.0]))]
    pub beyond_m: f64,
    /// Whether land grows on coarser lattices first. If not, all steps run on the frame's own lattice: for land that
    /// already has its valleys.
    pub coarse_first: bool,
    /// Steps in time, all lattices together; more follow fast changes better.
    #[schemars(range(min = 4, max = 100_000))]
    pub steps: u32,
}

/// Where rivers leave the map, besides into the sea.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Outlets {
    /// Anywhere along the edge: the land goes on like this beyond it.
    #[default]
    Edge,
    /// At the lowest place of the edge only: one river drains the whole map.
    Lowest,
}

impl Default for StreamPower {
    fn default() -> Self {
        Self {
            duration_yr: 5e6,
            uplift_mm_per_yr: Coef::Const(0.5),
            incision_mm_per_yr: Coef::Const(3.0),
            rain_mm_per_yr: Coef::Const(area::USUAL_MM_PER_YR),
            area_exponent: 0.5,
            slope_exponent: 1.0,
            hollow_m2: 3e4,
            talus_deg: 40.0,
            creep_m2_per_yr: 0.01,
            soil_mm_per_yr: 0.0,
            variety: 0.5,
            variety_wavelength_m: 2500.0,
            sea: true,
            outlets: Outlets::Edge,
            base_m: 0.0,
            beyond_m: 20_000.0,
            coarse_first: true,
            steps: 100,
        }
    }
}

impl Op for StreamPower {
    const ID: &'static str = "erode.stream_power";
    const VERSION: u32 = 6;

    fn layers(&self) -> Layers {
        let layers = Layers::none()
            .updating([layer::HEIGHT.name()])
            .using_vectors([held_lines::HOLD, STRATA])
            .reading(self.uplift_mm_per_yr.layer())
            .reading(self.incision_mm_per_yr.layer())
            .reading(self.rain_mm_per_yr.layer());
        if self.soil_mm_per_yr > 0.0 {
            layers.deriving([layer::SOIL.name()], [layer::HEIGHT.name()])
        } else {
            layers
        }
    }

    fn wears(&self) -> bool {
        true
    }

    fn reach(&self, _: &Frame) -> Reach {
        Reach::World
    }

    fn bytes_a_sample(&self, frame: &Frame) -> f64 {
        let soil = if self.soil_mm_per_yr > 0.0 { 4.0 } else { 0.0 };
        let rain = if area::is_usual(&self.rain_mm_per_yr) { 0.0 } else { 16.0 };
        rain + soil + if nodes::base(frame).is_some() { 55.0 } else { 71.5 }
    }

    fn run(&self, mut terrain: Terrain, ctx: &Ctx<'_>) -> Result<Terrain, OpError> {
        if self.duration_yr > 0.0 {
            return stepped::run_through(self, terrain, ctx);
        }
        // No time, no change: not even the unevenness that streams start from, and bare rock.
        if self.soil_mm_per_yr > 0.0 {
            let soil = terrain.get(layer::HEIGHT)?.map(|h| if h.is_nan() { h } else { 0.0 });
            terrain.set(layer::SOIL, soil);
        }
        Ok(terrain)
    }

    fn start(&self, terrain: Terrain, ctx: &Ctx<'_>) -> Result<Started, OpError> {
        if self.duration_yr <= 0.0 {
            return Ok(Started::Whole(terrain));
        }
        Ok(Started::Stepped(Box::new(Growing::new(self, terrain, ctx)?)))
    }
}

/// Share of the time that lattices finer than the base have together: enough for gullies to form, too little for valleys to
/// change places.
const DETAIL_SHARE: f64 = 1.0 / 32.0;

/// Cells of a coarser lattice that a river drains at least whose bed is handed over to the finer one.
const RIVER_CELLS: u32 = 30;

/// What the land is made of before time goes by.
struct Land {
    height: Arc<Raster<f32>>,
    /// Metres a year.
    uplift: Raster<f32>,
    incision: Raster<f32>,
    /// Steepest slope that stands, rise over distance.
    grade: Raster<f32>,
    /// Millimetres a year; none where it is the usual everywhere.
    rain: Option<Raster<f32>>,
    held: Arc<[Held]>,
    strata: Option<Arc<Strata>>,
}

impl Land {
    /// What a terrain gives for an operator.
    fn of(params: &StreamPower, terrain: &Terrain, ctx: &Ctx<'_>) -> Result<Self, OpError> {
        let frame = *terrain.frame();
        let height = terrain.shared(layer::HEIGHT)?;
        check_size(&height)?;
        let uplift = params.uplift_mm_per_yr.on(terrain)?;
        let incision = params.incision_mm_per_yr.on(terrain)?;
        let rain = params.rain_mm_per_yr.on(terrain)?;
        let softness = params.rock_variety().softness(&frame, &ctx.world(terrain), ctx.seed());
        ctx.stop_if_asked()?;
        Ok(Self {
            height,
            uplift: Raster::from_fn(frame.cols(), frame.rows(), |c, r| {
                held_to(UPLIFT_MM_PER_YR, uplift.at(c, r)) * 1e-3
            }),
            incision: Raster::from_fn(frame.cols(), frame.rows(), |c, r| {
                held_to(INCISION_MM_PER_YR, incision.at(c, r)) * 1e-3 * softness.row(r)[c]
            }),
            grade: params.grade(&softness),
            rain: (!area::is_usual(&params.rain_mm_per_yr)).then(|| {
                Raster::from_fn(frame.cols(), frame.rows(), |c, r| held_to(RAIN_MM_PER_YR, rain.at(c, r)))
            }),
            held: held_lines::held(terrain).into(),
            strata: Strata::of(terrain).map(Arc::new),
        })
    }

    /// The land as it is at the nodes of a lattice.
    /// Gives up at once when asked to stop: the caller asks too before it uses the land.
    fn thinned(&self, nodes: &Nodes, ctx: &Ctx<'_>) -> Self {
        self.each(|raster| match ctx.stop_if_asked() {
            Ok(()) => nodes.thin(raster),
            Err(_) => Raster::filled(nodes.cols, nodes.rows, 0.0),
        })
    }

    /// The land as it is in the mean round the nodes of a coarser lattice.
    /// Gives up at once when asked to stop: the caller asks too before it uses the land.
    fn averaged(&self, nodes: &Nodes, ctx: &Ctx<'_>) -> Self {
        self.each(|raster| match ctx.stop_if_asked() {
            Ok(()) => nodes.sample(raster),
            Err(_) => Raster::filled(nodes.cols, nodes.rows, 0.0),
        })
    }

    fn each(&self, on_nodes: impl Fn(&Raster<f32>) -> Raster<f32>) -> Self {
        let on_nodes = &on_nodes;
        Self {
            height: Arc::new(on_nodes(&self.height)),
            uplift: on_nodes(&self.uplift),
            incision: on_nodes(&self.incision),
            grade: on_nodes(&self.grade),
            rain: self.rain.as_ref().map(on_nodes),
            held: self.held.clone(),
            strata: self.strata.clone(),
        }
    }
}

/// What a finer lattice takes over from a coarser one.
struct Coarser {
    nodes: Arc<Nodes>,
    /// Height gained.
    change: Raster<f32>,
    /// How it bends on the way to the finer lattice; not at all on the way to the base and up to there.
    bend: Option<Bend>,
    /// Rivers: the nodes at the upper and lower end of each piece.
    rivers: Vec<[u32; 2]>,
}

impl Coarser {
    /// Brings the land on a finer lattice up to the time of the coarser one.
    fn hand_over(&self, nodes: &Nodes, height: &mut Raster<f32>, sea_m: f32, ctx: &Ctx<'_>) {
        let bend = self.bend.as_ref();
        let change = nodes.refine(&self.nodes, &self.change, bend, ctx);
        height.par_rows(|row, out| {
            for (h, change) in out.iter_mut().zip(change.row(row)) {
                // Sea stays sea, and land stays land.
                if *h > sea_m {
                    *h = (*h + change).max(h.min(sea_m + 0.01));
                }
            }
        });
        // Beds fall evenly from node to node: what is rough between them may not turn rivers aside.
        let cell = |node: u32| {
            let (col, row) = (node as usize % self.nodes.cols, node as usize / self.nodes.cols);
            let place = [col as f64, row as f64];
            let [dx, dy] = self.nodes.spacing_m;
            match bend {
                None => nodes.nearest(self.nodes.place_m(col, row)),
                Some(bend) => {
                    let [c, r] = bend.to(place);
                    nodes.nearest([c * dx, r * dy])
                }
            }
        };
        for piece in &self.rivers {
            let [from, to] = piece.map(cell);
            // A mouth lies at sea level, not on the sea's bed.
            let [upper, lower] = [from, to].map(|cell| height.as_slice()[cell].max(sea_m));
            for (at, share) in nodes.between(from, to) {
                let h = &mut height.as_mut_slice()[at];
                let bed = (upper + share * (lower - upper)).max(sea_m + 0.01);
                if *h > bed {
                    *h = bed;
                }
            }
        }
    }
}

/// A layer's value within a range; its hole neither rises nor wears.
fn held_to([least, most]: [f64; 2], value: f32) -> f32 {
    if value.is_nan() { 0.0 } else { value.clamp(least as f32, most as f32) }
}

impl StreamPower {
    /// Reports where the rock went: what rose and is no longer there was worn away.
    fn account(&self, land: &Land, height: &Raster<f32>, frame: &Frame, ctx: &Ctx<'_>) {
        let sea_m = sea_level(self.sea);
        let [dx, dy] = frame.spacing_m();
        let (mut risen, mut gained) = (0.0, 0.0);
        let cells = land.height.as_slice().iter().zip(height.as_slice()).zip(land.uplift.as_slice());
        for ((&before, &after), &uplift) in cells {
            if before > sea_m {
                risen += f64::from(uplift) * self.duration_yr;
                gained += f64::from(after) - f64::from(before);
            }
        }
        ctx.report("risen", risen * dx * dy, "m3");
        ctx.report("gained", gained * dx * dy, "m3");
        ctx.report("worn", (risen - gained) * dx * dy, "m3");
    }

    /// How rock differs from place to place.
    fn rock_variety(&self) -> Variety {
        Variety { strength: self.variety, wavelength_m: self.variety_wavelength_m, octaves: 6 }
    }

    /// How steep rock stands: the softer, the less.
    fn grade(&self, softness: &Raster<f32>) -> Raster<f32> {
        let middle = math::tan(self.talus_deg.to_radians());
        softness.map(|soft| (middle * math::pow(f64::from(soft), -0.6)) as f32)
    }

    /// Refuses so many steps, and so much creep in each, that they would take far too long.
    fn check_work(&self, plan: &[Stretch], lattices: &[Arc<Nodes>], frame: &Frame) -> Result<(), OpError> {
        let (mut steps_ns, mut creep_ns) = (0.0, 0.0);
        for (stretch, nodes) in plan.iter().zip(lattices) {
            let visits = f64::from(stretch.steps) * (nodes.cols * nodes.rows) as f64 / frame.len() as f64;
            let creep_m2 = self.creep_m2_per_yr * stretch.dt_yr;
            steps_ns += NS_A_STEP * visits;
            let goes = f64::from(PASSES);
            let stages = goes * Ground::stages(nodes.spacing_m, creep_m2 / goes, GROWTH);
            creep_ns += NS_A_STAGE * visits * stages;
        }
        let most = f64::from(self.steps) * work::MOST_NS_A_SAMPLE / steps_ns;
        let advice = format!("the maximum is {}", work::at_most(most.floor()));
        work::check("steps", f64::from(self.steps), steps_ns, &advice)?;
        // Stages grow with the root of creep.
        let share = ((work::MOST_NS_A_SAMPLE - steps_ns) / creep_ns.max(f64::MIN_POSITIVE)).max(0.0);
        let advice = format!(
            "at this spacing and duration_yr the maximum is {}",
            work::at_most(self.creep_m2_per_yr * share * share)
        );
        work::check("creep_m2_per_yr", self.creep_m2_per_yr, steps_ns + creep_ns, &advice)
    }

    /// Half of the time left for each lattice up to the base, all but a little of it for the base; half of that little for
    /// each finer one.
    fn plan(&self, lattices: &[Arc<Nodes>]) -> Vec<Stretch> {
        let mut left = self.duration_yr;
        let detail_yr = self.duration_yr * DETAIL_SHARE;
        (0..lattices.len())
            .map(|number| {
                let time = match lattices.get(number + 1) {
                    None => left,
                    Some(next) if next.detail && !lattices[number].detail => left - detail_yr,
                    Some(_) => left / 2.0,
                };
                left -= time;
                let share = f64::from(self.steps) * time / self.duration_yr.max(1e-300);
                let steps = share.ceil().clamp(2.0, 1e6) as u32;
                Stretch { steps, dt_yr: time / f64::from(steps) }
            })
            .collect()
    }
}

/// Nanoseconds that a node takes in a step, about.
const NS_A_STEP: f64 = 150.0;

/// Steps on one lattice.
struct Stretch {
    steps: u32,
    dt_yr: f64,
}

/// Land on its way through all lattices, coarse to fine.
struct Growing {
    params: Arc<StreamPower>,
    terrain: Terrain,
    land: Land,
    lattices: Vec<Arc<Nodes>>,
    plan: Vec<Stretch>,
    /// Which lattice is the base.
    base: usize,
    /// The land at the nodes of the base: the base and all that is coarser know it only there, so that they are the same for
    /// every frame.
    thinned: Land,
    outlet: Option<[f64; 2]>,
    /// Which lattice is worked on, once it has begun, and the steps done there.
    number: usize,
    level: Option<Level>,
    steps: u32,
    /// What the lattice before leaves.
    coarser: Option<Coarser>,
    height: Raster<f32>,
    /// Depth of soil in the end, where it is asked for.
    soil: Option<Raster<f32>>,
    /// Visits of nodes, done and in all.
    done: f64,
    total: f64,
    time_yr: f64,
}

impl Growing {
    fn new(params: &StreamPower, terrain: Terrain, ctx: &Ctx<'_>) -> Result<Self, OpError> {
        let frame = *terrain.frame();
        let land = Land::of(params, &terrain, ctx)?;
        ctx.stop_if_asked()?;
        let mut lattices: Vec<Arc<Nodes>> =
            nodes::lattices(&frame, ctx.seed().child("nodes")).into_iter().map(Arc::new).collect();
        if !params.coarse_first {
            lattices.drain(..lattices.len() - 1);
        }
        let plan = params.plan(&lattices);
        params.check_work(&plan, &lattices, &frame)?;
        let total =
            plan.iter().zip(&lattices).map(|(p, l)| f64::from(p.steps) * (l.cols * l.rows) as f64).sum();
        let base = lattices.iter().rposition(|nodes| !nodes.detail).unwrap_or(0);
        ctx.stop_if_asked()?;
        let thinned = land.thinned(&lattices[base], ctx);
        ctx.stop_if_asked()?;
        let outlet =
            (params.outlets == Outlets::Lowest).then(|| lowest_at_edge(&lattices[0], &thinned.height));
        Ok(Self {
            params: Arc::new(params.clone()),
            terrain,
            land,
            lattices,
            plan,
            base,
            thinned,
            outlet,
            number: 0,
            level: None,
            steps: 0,
            coarser: None,
            height: Raster::filled(1, 1, 0.0),
            soil: None,
            done: 0.0,
            total,
            time_yr: 0.0,
        })
    }

    /// Begins the next lattice.
    fn begin(&mut self, ctx: &Ctx<'_>) -> Result<Level, OpError> {
        let nodes = &self.lattices[self.number];
        let land = if self.number > self.base {
            self.land.thinned(nodes, ctx)
        } else {
            self.thinned.averaged(nodes, ctx)
        };
        ctx.stop_if_asked()?;
        let frame = self.terrain.frame();
        let level = Level::new(&self.params, land, frame, nodes, self.outlet, self.number, ctx)?;
        ctx.stop_if_asked()?;
        self.height = Raster::clone(&level.before);
        if let Some(coarser) = self.coarser.take() {
            coarser.hand_over(nodes, &mut self.height, level.sea_m, ctx);
        }
        ctx.stop_if_asked()?;
        level.roughen(&mut self.height, Seed(ctx.seed().child("rough").bits(self.number as u64)));
        Ok(level)
    }
}

impl Stepped for Growing {
    fn advance(&mut self, ctx: &Ctx<'_>) -> Result<Progress, OpError> {
        let Some(level) = self.level.take() else {
            self.level = Some(self.begin(ctx)?);
            return Ok(Progress::More);
        };
        let Stretch { steps, dt_yr } = self.plan[self.number];
        ctx.tick((1e6 * self.done / self.total) as usize, 1_000_000)?;
        let left = 1.0 - f64::from(self.steps + 1) / f64::from(steps);
        let is_last = self.steps + 1 == steps && self.number + 1 == self.lattices.len();
        let before = (is_last && self.params.soil_mm_per_yr > 0.0).then(|| self.height.clone());
        let left_yr = (self.params.duration_yr - self.time_yr - dt_yr).max(0.0);
        level.step(&mut self.height, Step { dt_yr, left, left_yr }, ctx)?;
        if let Some(before) = before {
            self.soil = Some(level.soil(&self.height, before, dt_yr));
        }
        self.done += (level.nodes.cols * level.nodes.rows) as f64;
        self.time_yr += dt_yr;
        self.steps += 1;
        if self.steps < steps {
            self.level = Some(level);
            return Ok(Progress::More);
        }
        ctx.stop_if_asked()?;
        if self.number + 1 == self.lattices.len() {
            return Ok(Progress::Done);
        }
        self.coarser = Some(level.coarser(&self.height, self.number >= self.base, ctx)?);
        self.number += 1;
        self.steps = 0;
        Ok(Progress::More)
    }

    fn moment(&self) -> Moment {
        Moment { share: self.done / self.total, time: Some(Simulated::Years(self.time_yr)) }
    }

    fn view(&self) -> Result<Terrain, OpError> {
        let mut terrain = self.terrain.clone();
        if self.number + 1 == self.lattices.len() && self.steps > 0 {
            terrain.set(layer::HEIGHT, self.height.clone());
            return Ok(terrain);
        }
        // What has become of a coarser lattice, on top of the finer land.
        let of_level = self.level.as_ref().map(|level| level.so_far(&self.height));
        if let (Some(change), Some(finest)) =
            (of_level.as_ref().or(self.coarser.as_ref()), self.lattices.last())
        {
            let mut height = Raster::clone(&self.land.height);
            change.hand_over(finest, &mut height, sea_level(self.params.sea), &Ctx::silent());
            terrain.set(layer::HEIGHT, height);
        }
        Ok(terrain)
    }

    fn finish(self: Box<Self>, ctx: &Ctx<'_>) -> Result<Terrain, OpError> {
        let Self { params, mut terrain, land, height, soil, .. } = *self;
        params.account(&land, &height, terrain.frame(), ctx);
        terrain.set(layer::HEIGHT, height);
        if let Some(soil) = soil {
            terrain.set(layer::SOIL, soil);
        }
        Ok(terrain)
    }
}

/// A step in time.
#[derive(Clone, Copy)]
struct Step {
    dt_yr: f64,
    /// Share of the lattice's time that is left, from 1 down to 0.
    left: f64,
    /// Years that are still to come on all lattices.
    left_yr: f64,
}

/// One lattice with everything that stays the same while time goes by.
struct Level {
    params: Arc<StreamPower>,
    nodes: Arc<Nodes>,
    spans: Spans,
    before: Arc<Raster<f32>>,
    uplift: Raster<f32>,
    incision: Raster<f32>,
    grade: Raster<f32>,
    rain: Option<Raster<f32>>,
    /// What makes water wander here.
    seed: Seed,
    pins: Option<Raster<f32>>,
    /// The beds under the nodes, if the land has any.
    places: Option<Places>,
    sea_m: f32,
    edge: Edge,
}

impl Level {
    /// A lattice with the land at its nodes.
    fn new(
        params: &Arc<StreamPower>,
        land: Land,
        frame: &Frame,
        nodes: &Arc<Nodes>,
        outlet: Option<[f64; 2]>,
        number: usize,
        ctx: &Ctx<'_>,
    ) -> Result<Self, Cancelled> {
        let seed = Seed(ctx.seed().child("ways").bits(number as u64));
        let spans = nodes.spans();
        ctx.stop_if_asked()?;
        let pins = pins(&land.held, frame, nodes);
        ctx.stop_if_asked()?;
        let places = match &land.strata {
            Some(strata) => Some(rock::under(strata, frame, nodes, ctx)?),
            None => None,
        };
        Ok(Self {
            params: params.clone(),
            nodes: nodes.clone(),
            spans,
            pins,
            places,
            before: land.height,
            uplift: land.uplift,
            incision: land.incision,
            seed,
            grade: land.grade,
            rain: land.rain,
            sea_m: sea_level(params.sea),
            edge: outlet.map_or(Edge::Open, |place| Edge::Only(nodes.nearest(place) as u32)),
        })
    }

    /// What the next lattice takes over.
    fn coarser(&self, height: &Raster<f32>, with_rivers: bool, ctx: &Ctx<'_>) -> Result<Coarser, OpError> {
        let mut coarser = self.so_far(height);
        if with_rivers {
            coarser.bend = Some(Bend::new(self.seed, self.nodes.cols, self.nodes.rows));
            let (ways, _, area) = self.flow(height, None, ctx)?;
            let next = |node: usize| Some([node as u32, ways.next(node)? as u32]);
            coarser.rivers.extend(
                (0..area.as_slice().len())
                    .filter(|&node| area.as_slice()[node] >= RIVER_CELLS)
                    .filter_map(next),
            );
        }
        Ok(coarser)
    }

    /// What has become of the land here, without its rivers.
    fn so_far(&self, height: &Raster<f32>) -> Coarser {
        let mut change = height.clone();
        change.par_rows(|row, out| {
            out.iter_mut().zip(self.before.row(row)).for_each(|(h, before)| *h -= before);
        });
        Coarser { nodes: self.nodes.clone(), change, bend: None, rivers: Vec::new() }
    }

    /// Where water runs: the ways, the donors and the cells drained.
    fn flow(
        &self,
        height: &Raster<f32>,
        wander: Option<Wander>,
        ctx: &Ctx<'_>,
    ) -> Result<(Ways, Raster<u8>, Raster<u32>), OpError> {
        let mut ways = match wander {
            Some(wander) => Ways::wandering(height, &self.spans, self.sea_m, wander),
            None => Ways::along(height, &self.spans, self.sea_m),
        };
        ctx.stop_if_asked()?;
        Basins::find(height, &ways, self.sea_m, self.edge, &ctx.unwatched())?.drain(&mut ways);
        ctx.stop_if_asked()?;
        let donors = ways.donors();
        ctx.stop_if_asked()?;
        let area = area::cells(&ways, &donors);
        ctx.stop_if_asked()?;
        Ok((ways, donors, area))
    }

    /// A hair of unevenness, a hundredth of the spacing, so that streams find places to start on level ground. Sea and holes stay.
    /// In a short time there is less of it, so that it never hides what the time has done.
    fn roughen(&self, height: &mut Raster<f32>, seed: Seed) {
        let [dx, dy] = self.nodes.spacing_m;
        let by = 0.01 * dx.min(dy) * (self.params.duration_yr / UNEVEN_YR).min(1.0);
        height.par_rows(|row, out| {
            for (col, h) in out.iter_mut().enumerate() {
                if *h > self.sea_m {
                    *h += (by * seed.unit2(col as i64, row as i64)) as f32;
                }
            }
        });
    }

    /// Takes the land on by a step.
    fn step(&self, height: &mut Raster<f32>, step: Step, ctx: &Ctx<'_>) -> Result<(), OpError> {
        let Step { dt_yr, left, left_yr } = step;
        let params = &self.params;
        let rock = self.places.as_ref().map(|places| Rock { places, uplift: &self.uplift, left_yr });
        let [dx, dy] = self.nodes.spacing_m;
        let creep_m2 = params.creep_m2_per_yr * dt_yr;
        let is_soil = creep_m2 > 0.0 && params.talus_deg < 90.0 && self.nodes.is_even();
        if !is_soil {
            // Creep first: rivers then clear away what crept into their beds, and end graded.
            slopes::creep(height, [dx, dy], creep_m2, self.sea_m, ctx)?;
        }
        let wander = (left > 1.0 / 3.0).then(|| Wander::new(self.seed, WANDER * (1.5 * left - 0.5).sqrt()));
        let (ways, donors, area) = self.flow(height, wander, ctx)?;
        let water = self
            .rain
            .as_ref()
            .map(|rain| area::water(&ways, &donors, |cell| area::parts(rain.as_slice()[cell])));
        ctx.stop_if_asked()?;
        let drained = Drained { cells: &area, water: water.as_ref() };
        let cut = Cut {
            ways: &ways,
            donors: &donors,
            drained,
            spans: &self.spans,
            cell_m2: dx * dy,
            dt_yr,
            uplift: &self.uplift,
            incision: &self.incision,
            pins: self.pins.as_ref(),
            area_exponent: params.area_exponent,
            slope_exponent: params.slope_exponent,
            hollow_m2: params.hollow_m2,
            sea_m: self.sea_m,
            base_m: params.base_m as f32,
            beyond_m: params.beyond_m,
            rock,
        };
        cut.run(height);
        ctx.stop_if_asked()?;
        if params.talus_deg < 90.0 {
            let prop = math::tan(params.talus_deg.to_radians());
            let variety = |cell: usize| self.grade.as_slice()[cell] / prop as f32;
            let of_beds = rock.map(|rock| rock.grade(height, dx.min(dy), variety));
            let grade = of_beds.as_ref().unwrap_or(&self.grade);
            let limit = (grade, if is_soil { LIMIT } else { 1.0 });
            slopes::give_way(height, [dx, dy], limit, prop, self.sea_m, self.pins.as_ref());
            if is_soil {
                drop((ways, donors));
                let stays = self.stays(drained);
                drop((area, water));
                self.creep(height, creep_m2, &stays, grade, ctx)?;
            }
        }
        Ok(())
    }

    /// How deep soil lies, given the land before the last step.
    ///
    /// As deep as makes soil as fast as the ground is lowered, and less on slopes near their limit, from which it slides now and
    /// then: none is left at the limit. Sea has none.
    fn soil(&self, height: &Raster<f32>, before: Raster<f32>, dt_yr: f64) -> Raster<f32> {
        let production = 1e-3 * self.params.soil_mm_per_yr;
        let mut soil = before;
        soil.par_rows(|row, out| {
            for (col, soil) in out.iter_mut().enumerate() {
                let (before, after) = (*soil, height.row(row)[col]);
                if after.is_nan() {
                    continue;
                }
                let lowered =
                    f64::from(self.uplift.row(row)[col]) + f64::from(before - after) / dt_yr.max(1e-9);
                let deep = hillslope::balanced(production, lowered, PRODUCTION_DEPTH_M) as f32;
                let grade = self.grade.row(row)[col];
                let left = 1.0 - slope2(height, self.nodes.spacing_m, self.sea_m, col, row) / (grade * grade);
                *soil = if after <= self.sea_m { 0.0 } else { deep * left.clamp(0.0, 1.0) };
            }
        });
        soil
    }

    /// How much of what creeps into a place stays there: streams carry off what comes into their beds, and what is held keeps
    /// its height.
    fn stays(&self, drained: Drained<'_>) -> Raster<f32> {
        let [dx, dy] = self.nodes.spacing_m;
        let hollow = (self.params.hollow_m2 / (dx * dy)) as f32;
        let cols = drained.cells.cols();
        let mut stays = Raster::filled(cols, drained.cells.rows(), 1.0);
        stays.par_rows(|row, out| {
            for (col, stays) in out.iter_mut().enumerate() {
                let cells = drained.water(row * cols + col);
                let is_pinned = self.pins.as_ref().is_some_and(|pins| !pins.row(row)[col].is_nan());
                *stays = if is_pinned { 0.0 } else { hollow * hollow / (hollow * hollow + cells * cells) };
            }
        });
        stays
    }

    /// Lets soil creep and slide by `metres2 = D dt`.
    fn creep(
        &self,
        height: &mut Raster<f32>,
        metres2: f64,
        stays: &Raster<f32>,
        grade: &Raster<f32>,
        ctx: &Ctx<'_>,
    ) -> Result<(), OpError> {
        let [dx, dy] = self.nodes.spacing_m;
        let per_grade2 = grade.map(|grade| 1.0 / (grade * grade));
        let ground = Ground {
            spacing_m: [dx, dy],
            law: Law::new(GROWTH),
            per_grade2: &per_grade2,
            rock_per_grade2: None,
            shares: None,
            stays: Some(stays),
            sea_m: self.sea_m,
        };
        let metres2 = metres2 / f64::from(PASSES);
        for _ in 0..PASSES {
            let stages = Ground::stages(ground.spacing_m, metres2, ground.growth(height));
            ground.run(height, metres2, stages, ctx)?;
        }
        Ok(())
    }
}

/// The square of the slope at a sample, rise over distance; a hole beside it counts as level, and the sea as its surface.
fn slope2(height: &Raster<f32>, [dx, dy]: [f64; 2], sea_m: f32, col: usize, row: usize) -> f32 {
    let (c, r) = (col as isize, row as isize);
    let fall = |a: f32, b: f32, far: f64| {
        let above = |h: f32| if h < sea_m { sea_m } else { h };
        let fall = (above(a) - above(b)) / far as f32;
        if fall.is_nan() { 0.0 } else { fall * fall }
    };
    let x = fall(height.clamped(c + 1, r), height.clamped(c - 1, r), 2.0 * dx);
    let y = fall(height.clamped(c, r + 1), height.clamped(c, r - 1), 2.0 * dy);
    x + y
}

/// Slopes give way at once where they are steeper than this many times the critical slope.
const LIMIT: f32 = 1.15;

/// Time from which on streams start from all the unevenness there is.
const UNEVEN_YR: f64 = 10_000.0;

/// In how many goes soil creeps in a step: each damps what is rough at the scale of the lattice by about five times.
const PASSES: u32 = 3;

/// How far water strays from the steepest way at first (see [`Wander`]).
const WANDER: f64 = 0.8;

/// Where the edge is lowest on a lattice, in metres from the north-west corner.
fn lowest_at_edge(nodes: &Nodes, height: &Raster<f32>) -> [f64; 2] {
    let height = nodes.sample(height);
    let (cols, rows) = (nodes.cols, nodes.rows);
    let edge = (0..cols * rows).filter(|cell| {
        let (col, row) = (cell % cols, cell / cols);
        col == 0 || row == 0 || col + 1 == cols || row + 1 == rows
    });
    // A hole is never lower.
    let lowest = edge.fold(0, |lowest, cell| {
        let (here, low) = (height.as_slice()[cell], height.as_slice()[lowest]);
        if here < low || low.is_nan() { cell } else { lowest }
    });
    nodes.place_m(lowest % cols, lowest / cols)
}

/// The heights that are held, at the nodes beside each line; holes elsewhere.
fn pins(held: &[Held], frame: &Frame, nodes: &Nodes) -> Option<Raster<f32>> {
    if held.is_empty() {
        return None;
    }
    let mut pins = Raster::filled(nodes.cols, nodes.rows, f32::NAN);
    let mut nearest = vec![f64::INFINITY; nodes.cols * nodes.rows];
    let place_m = |col: usize, row: usize| nodes.place_m(col, row);
    held_lines::beside(
        held,
        frame,
        nodes.spacing_m,
        [nodes.cols, nodes.rows],
        place_m,
        |cell, far_m, height| {
            if far_m < nearest[cell] {
                nearest[cell] = far_m;
                pins.as_mut_slice()[cell] = height as f32;
            }
        },
    );
    Some(pins)
}
