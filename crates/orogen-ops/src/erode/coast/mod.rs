//! Coast: waves cut cliffs and platforms, and lay what they cut as beaches in sheltered coves.

mod beach;
mod front;
#[cfg(test)]
mod tests;
mod waves;

use std::sync::Arc;

use orogen_core::{
    Cancelled, Coef, Ctx, Frame, Layers, Moment, Op, OpError, Progress, Raster, Reach, Seed, Simulated,
    Started, Stepped, Terrain, layer, math, stepped,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use self::front::{Front, Retreat};
use crate::held_lines;
use crate::noise::Noise;
use crate::rock::beds::{Hardness, STRATA, Strata};

/// Lets waves work at the shore: exposed capes retreat as cliffs over a platform just below the sea, hard rock is left
/// standing, and part of what was cut lies as beaches in the coves nearby.
///
/// ```text
/// E = Σ w(direction) · min(1, fetch / fetch_m)          1 on a straight shore that faces the wind and the open sea
/// v = retreat · (1 − hardness) · 2^(variety·noise) · max(0, E − 0.05) / 0.95 / (1 + h / 80 m)
/// ∂φ/∂t + v |∇φ| = 0                                    φ: distance inland of the cliff
/// ```
///
/// The sea is what lies at or below 0 m, and it goes on beyond the edge of the map. Waves come from sixteen directions,
/// those with the wind more (`steadiness`). The shore moves inland at speed `v`, high cliffs slower. What lies above a face of
/// `cliff_deg` is cut; seaward of the cliff foot the ground is planed down to a platform that falls by `platform_deg`.
/// Of the rock cut, `beach_share` is laid along sheltered shores within about `drift_m`: surfaces of `beach_deg` up to
/// a berm of `berm_m`, as far out to sea as the sand lasts. The layer `sand` holds its depth; the rest goes offshore.
///
/// **Guarantees** (1) the volume cut equals the beach and what goes offshore, and the manifest has all three; (2) land
/// that the cliffs and beaches do not reach keeps its bits; (3) water that waves do not reach keeps its shore; (4)
/// capes retreat more than bays; (5) neither the number of threads nor the visiting order changes a bit, and land
/// turned by 90 degrees with its wind gives the turned result (without `variety`, whose noise does not turn); (6) what
/// is held keeps its height to the bit.
///
/// Where land has strata (`rock.strata`), the hardness is that of the bed at sea level, where waves work: a middling bed is as hard
/// as `hardness` says.
///
/// **Limits** The sea keeps its level, and tides, currents, spits and scree are not modelled (`erode.thermal` lays scree). A
/// hole is land that stays. The volume cut changes by about 4 % when cells of 12 m are halved. Cliffs
/// retreat a cell at a time or less, so time grows with the cube of the resolution.
///
/// **After** Sunamura, "Geomorphology of Rocky Coasts", 1992, for retreat by wave force against rock strength; Osher &
/// Sethian, J. Comput. Phys. 79 (1988), for the moving front.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Coast {
    /// Direction that the prevailing wind blows to, clockwise from north.
    #[schemars(range(min = 0.0, max = 360.0), extend("x-unit" = "deg"))]
    pub wind_deg: f64,
    /// How steady that wind is: at 0 waves come from all sides alike, at 1 with the wind only.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub steadiness: f64,
    /// Open water over which waves grow to their full size.
    #[schemars(range(min = 1.0, max = 1e6), extend("x-unit" = "m", "x-slider" = [500.0, 50000.0]))]
    pub fetch_m: f64,
    /// How long waves work.
    #[schemars(range(min = 0.0, max = 1e6), extend("x-unit" = "yr", "x-slider" = [0.0, 10000.0]))]
    pub duration_yr: f64,
    /// How fast a low cliff of the softest rock retreats where it is fully exposed.
    #[schemars(range(min = 0.0, max = 1e4), extend("x-unit" = "mm/yr", "x-slider" = [1.0, 200.0]))]
    pub retreat_mm_per_yr: f64,
    /// How hard the rock is, from 0 to 1 (waves do nothing): a number, or a layer.
    #[schemars(extend("minimum" = 0.0, "maximum" = 1.0))]
    pub hardness: Coef,
    /// How much rock differs from place to place, 0 not at all; 1 by a factor of about four either way: coves and stacks.
    #[schemars(range(min = 0.0, max = 3.0), extend("x-slider" = [0.0, 2.0]))]
    pub variety: f64,
    /// Size of patches of like rock.
    #[schemars(range(min = 1.0, max = 1e6), extend("x-unit" = "m", "x-slider" = [50.0, 2000.0]))]
    pub variety_wavelength_m: f64,
    /// Steepness of cliffs.
    #[schemars(range(min = 10.0, max = 88.0), extend("x-unit" = "deg", "x-slider" = [35.0, 80.0]))]
    pub cliff_deg: f64,
    /// How the platform falls from the foot of the cliff.
    #[schemars(range(min = 0.0, max = 10.0), extend("x-unit" = "deg", "x-slider" = [0.2, 3.0]))]
    pub platform_deg: f64,
    /// Share of the rock cut that ends as beach sand, where there is room for it.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub beach_share: f64,
    /// How far along the shore sand drifts.
    #[schemars(range(min = 1.0, max = 1e5), extend("x-unit" = "m", "x-slider" = [100.0, 2000.0]))]
    pub drift_m: f64,
    /// Slope of beaches.
    #[schemars(range(min = 0.5, max = 20.0), extend("x-unit" = "deg", "x-slider" = [2.0, 10.0]))]
    pub beach_deg: f64,
    /// Height of the top of beaches over the sea.
    #[schemars(range(min = 0.1, max = 20.0), extend("x-unit" = "m", "x-slider" = [0.5, 5.0]))]
    pub berm_m: f64,
}

impl Default for Coast {
    fn default() -> Self {
        Self {
            wind_deg: 70.0,
            steadiness: 0.6,
            fetch_m: 4000.0,
            duration_yr: 1500.0,
            retreat_mm_per_yr: 80.0,
            hardness: Coef::Const(0.5),
            variety: 0.6,
            variety_wavelength_m: 300.0,
            cliff_deg: 65.0,
            platform_deg: 1.5,
            beach_share: 0.6,
            drift_m: 500.0,
            beach_deg: 4.0,
            berm_m: 2.5,
        }
    }
}

impl Op for Coast {
    const ID: &'static str = "erode.coast";
    const VERSION: u32 = 2;

    fn layers(&self) -> Layers {
        Layers::none()
            .updating([layer::HEIGHT.name()])
            .using_vectors([held_lines::HOLD, STRATA])
            .reading(self.hardness.layer())
            .writing([layer::SAND.name()])
    }

    fn wears(&self) -> bool {
        true
    }

    fn reach(&self, _: &Frame) -> Reach {
        Reach::World
    }

    fn bytes_a_sample(&self, _: &Frame) -> f64 {
        87.0
    }

    fn run(&self, terrain: Terrain, ctx: &Ctx<'_>) -> Result<Terrain, OpError> {
        stepped::run_through(self, terrain, ctx)
    }

    fn start(&self, terrain: Terrain, ctx: &Ctx<'_>) -> Result<Started, OpError> {
        let hardness = self.hardness.on(&terrain)?;
        let held = held_lines::held_samples(&terrain);
        let height = terrain.shared(layer::HEIGHT)?;
        let places = Strata::under(&terrain, ctx)?;
        let hardness = Hardness::new(hardness, places.as_ref());
        let retreat = retreat(&height, hardness, held.as_ref(), terrain.frame(), self, ctx)?;
        Ok(Started::Stepped(Box::new(Working { params: self.clone(), terrain, height, held, retreat })))
    }
}

/// Waves at work.
struct Working {
    params: Coast,
    /// The land before, and its heights.
    terrain: Terrain,
    height: Arc<Raster<f32>>,
    held: Option<Raster<bool>>,
    /// The shore on its way; none where no waves reach any land.
    retreat: Option<Retreat>,
}

impl Stepped for Working {
    fn advance(&mut self, ctx: &Ctx<'_>) -> Result<Progress, OpError> {
        match &mut self.retreat {
            Some(retreat) => Ok(retreat.advance(ctx)?),
            None => Ok(Progress::Done),
        }
    }

    fn moment(&self) -> Moment {
        let share = self.retreat.as_ref().map_or(1.0, Retreat::share);
        Moment { share, time: Some(Simulated::Years(share * self.params.duration_yr)) }
    }

    fn view(&self) -> Result<Terrain, OpError> {
        let Self { params, terrain, height, held, retreat } = self;
        let frame = terrain.frame();
        let worked = match retreat {
            None => Worked::untouched(height),
            Some(retreat) => worked(height, retreat.so_far(), held.as_ref(), frame, params, &Ctx::silent())?,
        };
        Ok(worked.land(terrain.clone()))
    }

    fn finish(self: Box<Self>, ctx: &Ctx<'_>) -> Result<Terrain, OpError> {
        let Self { params, terrain, height, held, retreat } = *self;
        let worked = match retreat {
            None => Worked::untouched(&height),
            Some(retreat) => {
                let front = retreat.into_front(ctx)?;
                worked(&height, front, held.as_ref(), terrain.frame(), &params, ctx)?
            }
        };
        ctx.report("cut", worked.cut_m3, "m3");
        ctx.report("beach", worked.beach_m3, "m3");
        ctx.report("offshore", worked.cut_m3 - worked.beach_m3, "m3");
        Ok(worked.land(terrain))
    }
}

/// What waves leave.
#[derive(Clone, Debug)]
pub struct Worked {
    /// Heights.
    pub height: Raster<f32>,
    /// Depth of beach sand; holes stay holes.
    pub sand: Raster<f32>,
    /// Rock cut, in cubic metres.
    pub cut_m3: f64,
    /// Sand laid, in cubic metres.
    pub beach_m3: f64,
}

impl Worked {
    /// Land that no waves reach.
    fn untouched(height: &Raster<f32>) -> Self {
        let sand = height.map(|h| if h.is_nan() { f32::NAN } else { 0.0 });
        Self { height: height.clone(), sand, cut_m3: 0.0, beach_m3: 0.0 }
    }

    /// The land that they leave of some other.
    fn land(self, mut terrain: Terrain) -> Terrain {
        terrain.set(layer::HEIGHT, self.height);
        terrain.set(layer::SAND, self.sand);
        terrain
    }
}

/// Volumes are counted in whole units a cell, so that their sums do not depend on the order.
const UNIT: f64 = 65_536.0;
/// Exposure under which waves only lap at the shore.
const CALM: f32 = 0.05;
/// The fall of sea cliffs slows retreat by half at this height, in metres.
const HALF_M: f32 = 80.0;
/// Retreat at a place after which its cliff is as steep and its platform as deep as it gets, in metres.
const SHAPED_M: f32 = 4.0;

/// The algorithm alone. `held` marks the samples that must stay.
///
/// # Errors
/// When cancelled.
pub fn coast<'h>(
    height: &Raster<f32>,
    hardness: impl Into<Hardness<'h>>,
    held: Option<&Raster<bool>>,
    frame: &Frame,
    params: &Coast,
    ctx: &Ctx<'_>,
) -> Result<Worked, Cancelled> {
    let Some(mut retreat) = retreat(height, hardness.into(), held, frame, params, ctx)? else {
        return Ok(Worked::untouched(height));
    };
    while retreat.advance(ctx)? == Progress::More {}
    worked(height, retreat.into_front(ctx)?, held, frame, params, ctx)
}

/// The shore before it moves; `None` where no waves reach any land.
fn retreat(
    height: &Raster<f32>,
    hardness: Hardness<'_>,
    held: Option<&Raster<bool>>,
    frame: &Frame,
    params: &Coast,
    ctx: &Ctx<'_>,
) -> Result<Option<Retreat>, Cancelled> {
    let any_sea = height.as_slice().iter().any(|h| *h <= 0.0);
    let any_land = height.as_slice().iter().any(|h| *h > 0.0);
    if !any_sea || !any_land || params.duration_yr <= 0.0 {
        return Ok(None);
    }
    let mut softness = softness(height, hardness, frame, params, ctx)?;
    softness.par_rows(|row, out| {
        let stays = |col: usize| held.is_some_and(|held| held.row(row)[col]);
        out.iter_mut().enumerate().filter(|(col, _)| stays(*col)).for_each(|(_, soft)| *soft = 0.0);
    });
    ctx.stop_if_asked()?;
    Retreat::new(height, softness, frame.spacing_m(), params, ctx).map(Some)
}

/// What waves leave that moved the shore to a place, and would have moved one that stayed so far.
fn worked(
    height: &Raster<f32>,
    (front, worn_m): (Front, Raster<f32>),
    held: Option<&Raster<bool>>,
    frame: &Frame,
    params: &Coast,
    ctx: &Ctx<'_>,
) -> Result<Worked, Cancelled> {
    let (cols, rows) = (height.cols(), height.rows());
    let spacing_m = frame.spacing_m();
    let stays = |col: usize, row: usize| held.is_some_and(|held| held.row(row)[col]);
    ctx.tick(90, 100)?;

    // Above the cliff's face, and above the platform seaward of its foot, rock goes.
    let cliff = math::tan(params.cliff_deg.to_radians()) as f32;
    let platform = math::tan(params.platform_deg.to_radians()) as f32;
    let cut = Raster::from_fn(cols, rows, |col, row| {
        let (h, inland, worn) = (height.row(row)[col], front.inland_m.row(row)[col], worn_m.row(row)[col]);
        if h.is_nan() || worn <= 0.0 || stays(col, row) {
            return 0;
        }
        let above = h - inland * if inland > 0.0 { cliff } else { platform };
        if above <= 0.0 {
            return 0;
        }
        // Far out the waves have not worked for long enough.
        let near = if inland > 0.0 { 1.0 } else { 1.0 - math::smoothstep(worn, 2.0 * worn, -inland) };
        (f64::from(above * near * (worn / SHAPED_M).min(1.0)) * UNIT) as i32
    });
    drop(worn_m);
    let total: i64 = cut.as_slice().iter().map(|&c| i64::from(c)).sum();
    let ground = Raster::from_fn(cols, rows, |col, row| {
        let (h, cut) = (height.row(row)[col], cut.row(row)[col]);
        if cut == 0 { h } else { (f64::from(h) - f64::from(cut) / UNIT) as f32 }
    });
    ctx.tick(93, 100)?;
    let laid = beach::lay(&ground, &cut, &front, held, spacing_m, params, total);
    drop((ground, front));
    ctx.stop_if_asked()?;
    let beach: i64 = laid.as_slice().iter().map(|&d| i64::from(d)).sum();
    let after = Raster::from_fn(cols, rows, |col, row| {
        let (h, cut, laid) = (height.row(row)[col], cut.row(row)[col], laid.row(row)[col]);
        if cut == 0 && laid == 0 {
            h
        } else {
            (f64::from(h) + (f64::from(laid) - f64::from(cut)) / UNIT) as f32
        }
    });
    let sand = Raster::from_fn(cols, rows, |col, row| {
        if height.row(row)[col].is_nan() { f32::NAN } else { (f64::from(laid.row(row)[col]) / UNIT) as f32 }
    });
    let cell = spacing_m[0] * spacing_m[1] / UNIT;
    Ok(Worked { height: after, sand, cut_m3: total as f64 * cell, beach_m3: beach as f64 * cell })
}

/// How fast full waves would move the shore at every place, in metres a year.
fn softness(
    height: &Raster<f32>,
    hardness: Hardness<'_>,
    frame: &Frame,
    params: &Coast,
    ctx: &Ctx<'_>,
) -> Result<Raster<f32>, Cancelled> {
    let waves = [1u64, 2].map(|n| Noise::new(Seed(ctx.seed().child("rock").bits(n))));
    let per_m = 1.0 / params.variety_wavelength_m;
    let soft = |col: usize, row: usize| {
        let h = height.row(row)[col];
        if h.is_nan() {
            return 0.0;
        }
        // Waves work at the level of the sea, whatever stands above.
        let hard = hardness.at(col, row, 0.0);
        let soft = if hard.is_nan() { 1.0 } else { 1.0 - hard.clamp(0.0, 1.0) };
        let variety = if params.variety > 0.0 {
            let (x, y) = (frame.x_m(col) * per_m, frame.y_m(row) * per_m);
            let n = waves[0].at(x, y) + 0.6 * waves[1].at(2.7 * x + 0.37, 2.7 * y + 0.71);
            math::exp2(params.variety * 3.0 * f64::from(n)) as f32
        } else {
            1.0
        };
        let speed = (params.retreat_mm_per_yr / 1000.0) as f32;
        speed * soft * variety / (1.0 + h.max(0.0) / HALF_M)
    };
    let mut out = Raster::filled(height.cols(), height.rows(), 0.0f32);
    out.try_par_rows(|row, values| {
        values.iter_mut().enumerate().for_each(|(col, value)| *value = soft(col, row));
        if row % 16 == 0 { ctx.stop_if_asked() } else { Ok(()) }
    })?;
    Ok(out)
}
