//! Glaciers: ice that gathers, flows, wears its bed and leaves troughs, cirques and moraines.

mod climate;
mod flow;
mod land;
#[cfg(test)]
mod tests;
mod wear;

use orogen_core::{
    Coef, Ctx, Frame, Layers, Moment, Op, OpError, Progress, Reach, Simulated, Started, Stepped, Terrain,
    layer, stepped, work,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use self::land::{Land, Lattice};
use crate::held_lines;
use crate::rock::beds::STRATA;

/// Lets snow gather above an equilibrium line, become ice, flow down and melt, over one or several ice ages. The ice wears its
/// bed: V-shaped valleys become troughs with flat floors and steep walls, small side valleys are left hanging, hollows become
/// cirques with sharp crests between them, and basins below the outlet of a valley are left for lakes, or for the sea.
///
/// ```text
/// ∂H/∂t = m + ∇·((Γ H⁵ + Σ H⁴) |∇s|² ∇s)               H: ice, s: its surface, m: snow less melt
/// u     = sliding · (ρ g H |∇s| / 100 kPa)³              speed of sliding, from the mean flux over a thickness of ice
/// ∂b/∂t = − wear · (u / 100 m/yr)^0.65 · rock · f       the bed; f falls to 0 where the bed rises along the flow, or the
///                                                        surface is steep, and is larger for humps and walls
/// ```
///
/// Above the line the year's balance grows evenly to `snow_m_per_yr`, below it to `melt_m_per_yr`. Snow does not stay on
/// steep faces: it falls to their foot. Frost drives back faces of rock that rise out of ice, and what then stands steeper than
/// `talus_deg`, or than it stood before, falls on the ice. Rubble goes with the ice and is laid down where ice melts, up to a depth
/// of `till_m` (layer `sediment`); the rest leaves with meltwater. With `sea`, ice that floats breaks off.
///
/// Where land has strata (`rock.strata`), ice and frost wear the bed that they have come down to `(1 − hardness) / hardness` times as
/// fast as middling rock, and walls stand at its own `talus_deg` instead.
///
/// Ice is solved on a lattice of 256 cells along the longer side of the world, whatever the frame's own spacing, but
/// of no less than 60 m. It grows, and works for the first quarter of the time, on one four times as coarse, and until 85 % of the time on one twice as coarse. It comes into balance with its bed within some
/// hundred years, so in a long run it is followed for 20 years in each of the `steps`, and rock is worn for the whole of the step. What the ice wore away is taken from the land of the frame,
/// and what was rough there is ground off. `height` is the ground without ice; the layer `ice` is the thickness that is left.
///
/// **Guarantees** (1) ice is conserved: what is there is what fell, less what melted, broke off or left over the edge of the
/// map, to what single precision rounds (3 parts in 10,000); (2) rock is conserved on the lattice of the ice: what is worn is laid down or leaves;
/// (3) ice sheets have the profile of Vialov, and domes spread as Halfar's solution; (4) land that no ice reaches and that
/// does not rest on worn land keeps its height; (5) the result does not depend on the number of threads; (6) holes and what is held stay
/// as they are; (7) frames of 513 samples and of four times as many differ by less than 3 % of the relief.
///
/// **Limits** Ice that would need more than 49 stages in a step (800 metres on cells of 100 m), and ice on steep slopes (where its waves would cross two cells in a year), flow slower than the
/// law says. There is no water under the ice, no isostasy, and no drag from the walls other than the mean over a thickness. Ice leaves over the edge
/// of the map freely where it falls outwards, and nowhere else: on a level plain wholly above the line it has no way out and grows for as
/// long as snow falls. A hole is a wall.
///
/// **After** Hutter, "Theoretical Glaciology", 1983; Jarosch, Schoof & Anslow, The Cryosphere 7 (2013), for fluxes that neither
/// create ice nor pile it up; Meyer, Balsara & Aslam, J. Comput. Phys. 257 (2014), for the stages; Harbor, Hallet & Raymond, Nature 333
/// (1988), and MacGregor, Anderson & Waddington, Geomorphology 103 (2009), for wear by sliding and retreat of headwalls.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Glacier {
    /// How long the ice works.
    #[schemars(range(min = 0.0, max = 1e7), extend("x-unit" = "yr", "x-slider" = [1e3, 2e5]))]
    pub duration_yr: f64,
    /// Height of the equilibrium line in the coldest time: above it more snow falls than melts.
    #[schemars(range(min = -1e4, max = 1e4), extend("x-unit" = "m", "x-slider" = [0.0, 4000.0]))]
    pub equilibrium_m: f64,
    /// Whether the line follows the layer `temperature` instead, where it is there: it lies where the yearly mean is `equilibrium_c`.
    pub by_temperature: bool,
    /// Yearly mean temperature (of today, if the layer is of today) at the equilibrium line in the coldest time.
    #[schemars(range(min = -60.0, max = 60.0), extend("x-unit" = "degC", "x-slider" = [-10.0, 15.0]))]
    pub equilibrium_c: f64,
    /// How much higher the line lies at the beginning, between ice ages and at the end.
    #[schemars(range(min = 0.0, max = 1e4), extend("x-unit" = "m", "x-slider" = [0.0, 2000.0]))]
    pub warm_rise_m: f64,
    /// How many times the line comes down.
    #[schemars(range(min = 1, max = 100), extend("x-slider" = [1, 5]))]
    pub ice_ages: u32,
    /// Ice that a year brings at most, high above the line.
    #[schemars(range(min = 0.0, max = 50.0), extend("x-unit" = "m/yr", "x-slider" = [0.1, 4.0]))]
    pub snow_m_per_yr: f64,
    /// Height above the line from which on a year brings that much.
    #[schemars(range(min = 1.0, max = 1e4), extend("x-unit" = "m", "x-slider" = [50.0, 1000.0]))]
    pub full_snow_m: f64,
    /// Ice that a year takes at most, far below the line.
    #[schemars(range(min = 0.0, max = 100.0), extend("x-unit" = "m/yr", "x-slider" = [1.0, 15.0]))]
    pub melt_m_per_yr: f64,
    /// Depth below the line from which on a year takes that much.
    #[schemars(range(min = 1.0, max = 1e4), extend("x-unit" = "m", "x-slider" = [200.0, 3000.0]))]
    pub full_melt_m: f64,
    /// How soft the ice is: 1 as at the melting point, 0.1 as at -15 degrees. Softer ice is thinner.
    #[schemars(range(min = 0.001, max = 100.0), extend("x-slider" = [0.1, 3.0]))]
    pub softness: f64,
    /// How fast ice slides over its bed under a drag of 100 kPa (125 m of ice on a slope of 5 degrees).
    #[schemars(range(min = 0.0, max = 1e3), extend("x-unit" = "m/yr", "x-slider" = [0.0, 100.0]))]
    pub sliding_m_per_yr: f64,
    /// How fast ice that slides 100 m a year wears rock of middling hardness: a number, or a layer.
    #[schemars(extend("minimum" = 0.0, "maximum" = 1000.0, "x-unit" = "mm/yr"))]
    pub wear_mm_per_yr: Coef,
    /// How fast frost drives back faces of rock above the ice.
    #[schemars(range(min = 0.0, max = 100.0), extend("x-unit" = "mm/yr", "x-slider" = [0.0, 5.0]))]
    pub frost_mm_per_yr: f64,
    /// Steepest slope that worn walls stand at in rock of middling hardness; at 90 any slope stands.
    #[schemars(range(min = 1.0, max = 90.0), extend("x-unit" = "deg", "x-slider" = [30.0, 70.0]))]
    pub talus_deg: f64,
    /// How much rock differs from place to place, 0 not at all; 1 by a factor of about three either way in `wear_mm_per_yr`: steps
    /// and basins along valleys.
    #[schemars(range(min = 0.0, max = 2.0))]
    pub variety: f64,
    /// Size of the largest patches of like rock.
    #[schemars(range(min = 1.0, max = 1e7), extend("x-unit" = "m", "x-slider" = [100.0, 20000.0]))]
    pub variety_wavelength_m: f64,
    /// Depth of till that is laid down at a place, at most.
    #[schemars(range(min = 0.0, max = 1e3), extend("x-unit" = "m", "x-slider" = [0.0, 100.0]))]
    pub till_m: f64,
    /// Whether land at or below sea level (0 m) is under water, where ice that floats breaks off.
    pub sea: bool,
    /// Whether the ice melts away at the end, so that the layer `ice` is 0.
    pub melts: bool,
    /// Steps in time in which rock is worn; more follow the ice better.
    #[schemars(range(min = 1, max = 10_000))]
    pub steps: u32,
}

impl Default for Glacier {
    fn default() -> Self {
        Self {
            duration_yr: 80_000.0,
            equilibrium_m: 1500.0,
            by_temperature: false,
            equilibrium_c: 5.0,
            warm_rise_m: 0.0,
            ice_ages: 1,
            snow_m_per_yr: 0.6,
            full_snow_m: 300.0,
            melt_m_per_yr: 8.0,
            full_melt_m: 1200.0,
            softness: 1.0,
            sliding_m_per_yr: 20.0,
            wear_mm_per_yr: Coef::Const(6.0),
            frost_mm_per_yr: 2.0,
            talus_deg: 50.0,
            variety: 0.4,
            variety_wavelength_m: 3000.0,
            till_m: 25.0,
            sea: true,
            melts: true,
            steps: 30,
        }
    }
}

impl Op for Glacier {
    const ID: &'static str = "erode.glacier";
    const VERSION: u32 = 3;

    fn layers(&self) -> Layers {
        let temperature = self.by_temperature.then(|| layer::TEMPERATURE.name());
        Layers::none()
            .updating([layer::HEIGHT.name()])
            .using_vectors([held_lines::HOLD, STRATA])
            .using(temperature)
            .reading(self.wear_mm_per_yr.layer())
            .writing([layer::SEDIMENT.name(), layer::ICE.name()])
    }

    fn wears(&self) -> bool {
        true
    }

    fn reach(&self, _: &Frame) -> Reach {
        Reach::World
    }

    fn bytes_a_sample(&self, frame: &Frame) -> f64 {
        let lattice = Lattice::over(frame, 1.0);
        // The layers and what they are made of, and the work on the lattice.
        let layers = if self.melts { 12.0 } else { 20.0 };
        layers + 124.0 * lattice.len() as f64 / frame.len() as f64
    }

    fn run(&self, terrain: Terrain, ctx: &Ctx<'_>) -> Result<Terrain, OpError> {
        stepped::run_through(self, terrain, ctx)
    }

    fn start(&self, terrain: Terrain, ctx: &Ctx<'_>) -> Result<Started, OpError> {
        Ok(Started::Stepped(Box::new(Working::new(self, terrain, ctx)?)))
    }
}

/// Years that ice is followed in a step of the rock, at most: long enough for it to come into balance again.
const FOLLOWED_YR: f64 = 20.0;
/// Years in which ice grows first, where it is not followed all the time.
const GROWS_YR: f64 = 300.0;
/// Years between two looks at where snow stays.
const SEASON_YR: f64 = 20.0;
/// A step of the ice, at most, in years.
const ICE_STEP_YR: f64 = 1.0;
/// Share of the steps that ice works on a coarser lattice, and how much coarser it is.
const COARSE_SHARE: f64 = 0.85;
const COARSER: f64 = 2.0;
/// The same for the first steps, in which ice grows.
const GROWS_SHARE: f64 = 0.25;
const GROWS_ON: f64 = 4.0;
/// Nanoseconds that a node takes in a year of ice, about.
const NS_A_YEAR: f64 = 300.0;

impl Glacier {
    /// Years that a step of the rock lasts, and that ice is followed in it.
    fn step_yr(&self) -> [f64; 2] {
        let step = self.duration_yr / f64::from(self.steps);
        [step, step.min(FOLLOWED_YR)]
    }

    /// Years that ice grows before the first step.
    fn growing_yr(&self) -> f64 {
        let [step, followed] = self.step_yr();
        if step > followed { GROWS_YR.min(self.duration_yr) } else { 0.0 }
    }

    /// Steps of the rock that are done on a coarser lattice first.
    fn coarse_steps(&self) -> u32 {
        (f64::from(self.steps) * COARSE_SHARE) as u32
    }

    /// How much coarser the lattice of a step is than the last one.
    fn coarser(&self, step: u32) -> f64 {
        match step {
            _ if step >= self.coarse_steps() => 1.0,
            _ if self.growing_yr() > 0.0 && f64::from(step) < f64::from(self.steps) * GROWS_SHARE => GROWS_ON,
            _ => COARSER,
        }
    }

    /// Refuses so many steps that they would take far too long.
    fn check_work(&self, lattice: &Lattice, frame: &Frame) -> Result<(), OpError> {
        let nodes = lattice.len() as f64 / frame.len() as f64;
        let steps = f64::from(self.steps);
        // A season of any length takes one step of the ice at least.
        let years = self.growing_yr() + steps * self.step_yr()[1].max(1.0);
        let ns = NS_A_YEAR * years * nodes;
        let most = steps * work::MOST_NS_A_SAMPLE / ns;
        work::check("steps", steps, ns, &format!("the maximum is {}", work::at_most(most.floor())))
    }
}

/// Ice at work.
struct Working {
    params: Glacier,
    terrain: Terrain,
    /// Always there, except while it goes to a finer lattice.
    land: Option<Land>,
    /// Steps of the rock done, seasons of the one under way done, and seasons in it.
    step: u32,
    season: u32,
    seasons: u32,
}

impl Working {
    fn new(params: &Glacier, terrain: Terrain, ctx: &Ctx<'_>) -> Result<Self, OpError> {
        params.check_work(&Lattice::over(terrain.frame(), 1.0), terrain.frame())?;
        let land = Land::new(params, Lattice::over(terrain.frame(), params.coarser(0)), &terrain, ctx)?;
        let land = Some(land);
        let mut work = Self { params: params.clone(), terrain, land, step: 0, season: 0, seasons: 0 };
        work.seasons = work.seasons_of(0);
        Ok(work)
    }

    /// Years that ice is followed in a step of the rock.
    fn ice_yr(&self, step: u32) -> f64 {
        self.params.step_yr()[1] + if step == 0 { self.params.growing_yr() } else { 0.0 }
    }

    fn seasons_of(&self, step: u32) -> u32 {
        (self.ice_yr(step) / SEASON_YR).ceil().max(1.0) as u32
    }

    /// Years that went by.
    fn time_yr(&self) -> f64 {
        let of_step = f64::from(self.season) / f64::from(self.seasons);
        self.params.step_yr()[0] * (f64::from(self.step) + of_step)
    }

    fn share(&self) -> f64 {
        (self.time_yr() / self.params.duration_yr.max(f64::MIN_POSITIVE)).clamp(0.0, 1.0)
    }
}

impl Stepped for Working {
    fn advance(&mut self, ctx: &Ctx<'_>) -> Result<Progress, OpError> {
        if self.params.duration_yr <= 0.0 {
            return Ok(Progress::Done);
        }
        ctx.tick((1e6 * self.share()) as usize, 1_000_000)?;
        let middle = (f64::from(self.step) + 0.5) / f64::from(self.params.steps);
        let season_yr = self.ice_yr(self.step) / f64::from(self.seasons);
        if let Some(land) = &mut self.land {
            land.season(middle, season_yr, ctx)?;
        }
        self.season += 1;
        if self.season < self.seasons {
            return Ok(Progress::More);
        }
        if let Some(land) = &mut self.land {
            land.wear(self.params.step_yr()[0]);
        }
        self.step += 1;
        let coarser = self.params.coarser(self.step);
        if coarser != self.params.coarser(self.step - 1)
            && let Some(land) = self.land.take()
        {
            let lattice = Lattice::over(self.terrain.frame(), coarser);
            self.land = Some(land.on_finer(lattice, &self.terrain, ctx)?);
        }
        self.season = 0;
        self.seasons = self.seasons_of(self.step);
        Ok(if self.step < self.params.steps { Progress::More } else { Progress::Done })
    }

    fn moment(&self) -> Moment {
        Moment { share: self.share(), time: Some(Simulated::Years(self.time_yr())) }
    }

    fn view(&self) -> Result<Terrain, OpError> {
        match &self.land {
            Some(land) => land.on(self.terrain.clone(), false, &Ctx::silent()),
            None => Ok(self.terrain.clone()),
        }
    }

    fn finish(self: Box<Self>, ctx: &Ctx<'_>) -> Result<Terrain, OpError> {
        let Self { params, terrain, land, .. } = *self;
        let Some(land) = land else { return Err(OpError::Internal(String::from("the ice was lost"))) };
        land.report(params.melts, ctx);
        land.on(terrain, params.melts, ctx)
    }
}
