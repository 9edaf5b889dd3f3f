//! Wind: sand that is blown into dunes, which lean, shelter each other and wander.

mod blow;
mod lattice;
mod repose;
mod slide;
mod stress;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use orogen_core::{
    Cancelled, Coef, Ctx, Frame, Layers, Moment, Op, OpError, Progress, Raster, Reach, Simulated, Started,
    Stepped, Terrain, layer, math, stepped, work,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use self::blow::{Blow, Gale};
use self::lattice::Lattice;
use self::slide::Slide;
use self::stress::Stress;
use crate::held_lines;
use crate::noise::Noise;
use crate::rock::beds::{Places, STRATA, Strata};

/// Blows sand into dunes: the wind lifts it where it is fast, drops it in the lee, and what is too steep slides down a
/// slip face. Dunes grow from a sheet of sand, meet, and wander with the wind over the rock.
///
/// ```text
/// ∂d/∂t = −∂q/∂s + 0.3 flux ∇²h        ∂q/∂s = (Q − q) / saturation_m          s: metres along the wind
/// Q = flux · √τ (τ − 0.3) / 0.7,   0 in the shadow of a crest
/// τ = 1 + 3.4 |∇| h + 1.9 ∂ₛ h                                  the wind is fastest a little before a crest
/// ```
///
/// `d` is the depth of sand, `q` what is blown along, `Q` what the wind can carry and `τ` its drag on the ground. Behind a
/// crest the wind leaves the ground and comes back to it along a line that falls by `shadow_deg`; there all sand drops.
/// Sand steeper than `repose_deg` slides. From a sheet, dunes first rise about 17 times `saturation_m` apart, then grow
/// and merge. One steady wind makes dunes across it, little sand makes crescents (barchans), and two winds more than a
/// right angle apart make long ridges between their directions.
///
/// Sand is the loose part of the height, given by `sand_m`; rock below stays, unless `abrasion_mm_per_yr` lets passing
/// sand wear it. The layer `sand` holds the depth afterwards. Where land has strata (`rock.strata`), bare rock is worn by its bed,
/// `(1 − hardness) / hardness` times as fast as middling rock; what is blown and laid is loose and asks no bed.
///
/// **Guarantees** (1) sand is conserved: exactly while it is blown, in whole units of 1/65536 m, and to rounding in
/// the layers; with `edge = "open"` what leaves the map is reported; (2) where there is no sand nothing changes, to the bit;
/// (3) a dune wanders with the wind, slower the higher it is, with its slip face at the angle of repose in its lee;
/// (4) crests follow the wind and not the grid; (5) neither threads nor the number of samples decide where dunes are: the
/// wind blows over a lattice of its own, `saturation_m` wide; (6) what is held keeps its height to the bit: sand passes over
/// it; (7) between any two neighbouring samples, also on a slant, sand rests no steeper than its angle, at the edge too,
/// across it with `edge = "loop"`, and across the seam of a frame that loops; except where the rock below is steeper.
///
/// **Limits** Ground finer than the lattice rises from the sand but does not steer the wind. The lattice has at most
/// four million nodes; dunes too small for it come out larger, with a warning. The time grows with the duration times
/// `flux_m2_per_yr` and with the fourth power of 1/`saturation_m`. A hole takes no sand:
/// it passes over.
///
/// **After** Sauermann, Kroy & Herrmann, Phys. Rev. E 64 (2001), for the flux; Jackson & Hunt, Q. J. R. Meteorol. Soc.
/// 101 (1975), for the wind over hills; Werner, Geology 23 (1995), for slabs and shadows. We differ in that the wind over the
/// hills is a sum over scales instead of a Fourier transform, so that land need not repeat, and sand moves in whole units.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Wind {
    /// Direction that the wind blows to, clockwise from north.
    #[schemars(range(min = 0.0, max = 360.0), extend("x-unit" = "deg"))]
    pub wind_deg: f64,
    /// How far every wind veers to either side by turns; more makes crests softer.
    #[schemars(range(min = 0.0, max = 60.0), extend("x-unit" = "deg", "x-slider" = [0.0, 40.0]))]
    pub spread_deg: f64,
    /// Other winds that blow by turns with the first.
    #[schemars(length(max = 8))]
    pub others: Vec<OtherWind>,
    /// Depth of sand at the start, which is part of the height: a number (a sheet, a little uneven), or a layer.
    #[schemars(extend("minimum" = 0.0, "maximum" = 1e4, "x-unit" = "m", "x-slider" = [0.0, 40.0]))]
    pub sand_m: Coef,
    /// How long the wind blows.
    #[schemars(range(min = 0.0, max = 1e6), extend("x-unit" = "yr", "x-slider" = [0.0, 2000.0]))]
    pub duration_yr: f64,
    /// Sand that the wind carries over level ground: bulk volume a year and metre of width.
    #[schemars(range(min = 0.0, max = 1e4), extend("x-unit" = "m2/yr", "x-slider" = [5.0, 100.0]))]
    pub flux_m2_per_yr: f64,
    /// Distance over which the wind takes up its load: the size of dunes follows from it.
    #[schemars(range(min = 0.1, max = 1e4), extend("x-unit" = "m", "x-slider" = [2.0, 40.0]))]
    pub saturation_m: f64,
    /// Steepest slope at which sand rests.
    #[schemars(range(min = 5.0, max = 60.0), extend("x-unit" = "deg", "x-slider" = [28.0, 36.0]))]
    pub repose_deg: f64,
    /// How steeply the wind comes back to the ground behind a crest.
    #[schemars(range(min = 1.0, max = 45.0), extend("x-unit" = "deg", "x-slider" = [8.0, 20.0]))]
    pub shadow_deg: f64,
    /// Rock that the sand of a full wind wears off where it lies bare; it becomes sand.
    #[schemars(range(min = 0.0, max = 100.0), extend("x-unit" = "mm/yr", "x-slider" = [0.0, 5.0]))]
    pub abrasion_mm_per_yr: f64,
    /// What happens at the edge of the map.
    pub edge: Edge,
}

/// One more wind.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OtherWind {
    /// Direction that it blows to, clockwise from north.
    #[schemars(range(min = 0.0, max = 360.0), extend("x-unit" = "deg"))]
    pub wind_deg: f64,
    /// Time that it blows, as a share of the time of the first wind.
    #[serde(default = "as_long")]
    #[schemars(range(min = 0.0, max = 10.0), extend("x-slider" = [0.0, 1.0]))]
    pub share: f64,
}

fn as_long() -> f64 {
    1.0
}

/// What happens to sand at the edge of the map.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Edge {
    /// The desert goes on: as much sand blows in as out, at the opposite side.
    #[default]
    Loop,
    /// Sand blows out and none blows in.
    Open,
}

impl Default for Wind {
    fn default() -> Self {
        Self {
            wind_deg: 110.0,
            spread_deg: 12.0,
            others: Vec::new(),
            sand_m: Coef::Const(8.0),
            duration_yr: 120.0,
            flux_m2_per_yr: 40.0,
            saturation_m: 12.0,
            repose_deg: 33.0,
            shadow_deg: 14.0,
            abrasion_mm_per_yr: 0.0,
            edge: Edge::Loop,
        }
    }
}

impl Op for Wind {
    const ID: &'static str = "erode.wind";
    const VERSION: u32 = 5;

    fn layers(&self) -> Layers {
        Layers::none()
            .updating([layer::HEIGHT.name()])
            .using_vectors([held_lines::HOLD, STRATA])
            .reading(self.sand_m.layer())
            .writing([layer::SAND.name()])
    }

    fn wears(&self) -> bool {
        true
    }

    fn reach(&self, _: &Frame) -> Reach {
        Reach::World
    }

    fn bytes_a_sample(&self, _: &Frame) -> f64 {
        56.0
    }

    fn run(&self, terrain: Terrain, ctx: &Ctx<'_>) -> Result<Terrain, OpError> {
        stepped::run_through(self, terrain, ctx)
    }

    fn start(&self, terrain: Terrain, ctx: &Ctx<'_>) -> Result<Started, OpError> {
        let height = terrain.shared(layer::HEIGHT)?;
        let field = self.sand_m.on(&terrain)?;
        let sand = Raster::from_fn(height.cols(), height.rows(), |c, r| match field.at(c, r) {
            depth if depth > 0.0 && !height.row(r)[c].is_nan() => depth,
            _ => 0.0,
        });
        let held = held_lines::held_samples(&terrain);
        // Sand that covers rock saves it; only wear asks what lies below.
        let strata = if self.abrasion_mm_per_yr > 0.0 { Strata::of(&terrain).map(Arc::new) } else { None };
        let mut blowing = Blowing { params: self.clone(), terrain, height, sand, held, strata, desert: None };
        blowing.desert = Desert::new(&blowing.given(), ctx)?;
        Ok(Started::Stepped(Box::new(blowing)))
    }

    /// Two deserts that fade into each other are steeper in places than either.
    fn mend_loop(&self, mut terrain: Terrain, ctx: &Ctx<'_>) -> Result<Terrain, OpError> {
        let frame = *terrain.frame();
        let (cols, rows) = (frame.cols(), frame.rows());
        if frame != ctx.world(&terrain) || cols < 3 || rows < 3 || self.is_still() {
            return Ok(terrain);
        }
        let held = held_lines::held_samples(&terrain).map(|held| held.crop(0, 0, cols - 1, rows - 1));
        let mut height = terrain.get(layer::HEIGHT)?.crop(0, 0, cols - 1, rows - 1);
        let mut sand = terrain.get(layer::SAND)?.crop(0, 0, cols - 1, rows - 1);
        repose::bring_to_rest(
            &mut height,
            &mut sand,
            held.as_ref(),
            frame.spacing_m(),
            self.repose_deg,
            true,
            ctx,
        )?;
        let whole =
            |of: &Raster<f32>| Raster::from_fn(cols, rows, |c, r| of.row(r % (rows - 1))[c % (cols - 1)]);
        terrain.set(layer::HEIGHT, whole(&height));
        terrain.set(layer::SAND, whole(&sand));
        Ok(terrain)
    }
}

/// The wind on its way.
struct Blowing {
    params: Wind,
    /// The land before, its heights, and the depth of its sand.
    terrain: Terrain,
    height: Arc<Raster<f32>>,
    sand: Raster<f32>,
    held: Option<Raster<bool>>,
    strata: Option<Arc<Strata>>,
    /// None where no sand is moved.
    desert: Option<Desert>,
}

impl Blowing {
    fn given(&self) -> Given<'_> {
        Given {
            height: &self.height,
            sand: &self.sand,
            held: self.held.as_ref(),
            strata: self.strata.as_ref(),
            frame: self.terrain.frame(),
            params: &self.params,
        }
    }

    /// The land with what was blown.
    fn land(&self, blown: Blown) -> Terrain {
        let mut terrain = self.terrain.clone();
        let sand = Raster::from_fn(blown.sand.cols(), blown.sand.rows(), |c, r| {
            if self.height.row(r)[c].is_nan() { f32::NAN } else { blown.sand.row(r)[c] }
        });
        terrain.set(layer::HEIGHT, blown.height);
        terrain.set(layer::SAND, sand);
        terrain
    }
}

impl Stepped for Blowing {
    fn advance(&mut self, ctx: &Ctx<'_>) -> Result<Progress, OpError> {
        match &mut self.desert {
            Some(desert) => Ok(desert.gusts.advance(&self.params, ctx)?),
            None => Ok(Progress::Done),
        }
    }

    fn moment(&self) -> Moment {
        match &self.desert {
            None => Moment { share: 1.0, time: Some(Simulated::Years(self.params.duration_yr)) },
            Some(desert) => desert.gusts.moment(&self.params),
        }
    }

    fn view(&self) -> Result<Terrain, OpError> {
        let given = self.given();
        let blown = match &self.desert {
            None => given.still(),
            Some(desert) => desert.blown(&given, &desert.gusts.set_down(), &Ctx::silent())?,
        };
        Ok(self.land(blown))
    }

    fn finish(self: Box<Self>, ctx: &Ctx<'_>) -> Result<Terrain, OpError> {
        let given = self.given();
        let blown = match &self.desert {
            None => given.still(),
            Some(desert) => desert.blown(&given, &desert.gusts.land, ctx)?,
        };
        let [dx, dy] = self.terrain.frame().spacing_m();
        let mut moved = Raster::filled(self.height.cols(), self.height.rows(), 0.0f32);
        moved.par_rows(|row, out| {
            for ((out, a), b) in out.iter_mut().zip(blown.height.row(row)).zip(self.height.row(row)) {
                *out = if a.is_nan() { 0.0 } else { (a - b).abs() };
            }
        });
        ctx.report("moved", moved.sum_f64() / 2.0 * dx * dy, "m3");
        for (name, volume) in blown.figures {
            ctx.report(name, volume, "m3");
        }
        Ok(self.land(blown))
    }
}

impl Wind {
    /// Whether no sand is moved at all.
    fn is_still(&self) -> bool {
        self.duration_yr <= 0.0 || self.flux_m2_per_yr <= 0.0
    }
}

/// What the wind leaves.
#[derive(Clone, Debug)]
pub struct Blown {
    /// Heights.
    pub height: Raster<f32>,
    /// Depth of sand; 0 in holes.
    pub sand: Raster<f32>,
    /// Volumes in cubic metres: sand before and after, what left the map, rock worn.
    pub figures: [(&'static str, f64); 4],
}

/// A node without a height.
const HOLE: i32 = i32::MIN;
/// The largest change of a sand surface in one blow, as a share of the rise over a cell at the angle of repose.
const MOST_CHANGE: f32 = 0.3;
/// The longest blow, in units of `cell² / flux`: longer ones would raise waves that the wind levels.
const LONGEST: f64 = 0.1;
/// How far grains in the wind roll down slopes, as a share of the flux.
const CREEP: f64 = 0.3;
/// Nanoseconds that a node takes in a blow, about.
const NS_A_BLOW: f64 = 60.0;
/// Sweeps of sliding at the end, at most.
const LAST_SLIDES: usize = 400;
/// Sweeps of sliding done at once.
const SLIDES_A_PIECE: usize = 16;

/// The algorithm alone. `sand` is the depth at the start, part of the height and 0 in holes; `held` marks the samples
/// that must stay.
///
/// # Errors
/// When cancelled, and when it would take too long.
pub fn wind(
    height: &Raster<f32>,
    sand: Raster<f32>,
    held: Option<&Raster<bool>>,
    strata: Option<&Arc<Strata>>,
    frame: &Frame,
    params: &Wind,
    ctx: &Ctx<'_>,
) -> Result<Blown, OpError> {
    let given = Given { height, sand: &sand, held, strata, frame, params };
    let Some(mut desert) = Desert::new(&given, ctx)? else { return Ok(given.still()) };
    while desert.gusts.advance(params, ctx)? == Progress::More {}
    desert.blown(&given, &desert.gusts.land, ctx)
}

/// What the wind finds: `sand` is the depth at the start, part of the height and 0 in holes; `held` marks the samples
/// that must stay.
struct Given<'a> {
    height: &'a Raster<f32>,
    sand: &'a Raster<f32>,
    held: Option<&'a Raster<bool>>,
    /// Beds below, where they are asked.
    strata: Option<&'a Arc<Strata>>,
    frame: &'a Frame,
    params: &'a Wind,
}

impl Given<'_> {
    /// Cubic metres of a depth.
    fn volume(&self, depth: &Raster<f32>) -> f64 {
        let [dx, dy] = self.frame.spacing_m();
        depth.sum_f64() * dx * dy
    }

    /// Land over which no sand is moved.
    fn still(&self) -> Blown {
        let before = self.volume(self.sand);
        let figures = [("sand_before", before), ("sand_after", before), ("blown_out", 0.0), ("abraded", 0.0)];
        Blown { height: self.height.clone(), sand: self.sand.clone(), figures }
    }
}

/// The lattice that the wind blows over, and what lay there at the start.
struct Desert {
    lattice: Lattice,
    ground: Raster<f32>,
    rock: Vec<i32>,
    total: i64,
    before: f64,
    gusts: Gusts,
}

impl Desert {
    /// Before the wind; `None` where no sand is moved.
    fn new(given: &Given<'_>, ctx: &Ctx<'_>) -> Result<Option<Self>, OpError> {
        let Given { height, sand, held, strata, frame, params } = *given;
        let before = given.volume(sand);
        if before <= 0.0 || params.is_still() {
            return Ok(None);
        }
        let lattice = Lattice::over(height.cols(), height.rows(), frame.spacing_m(), params.saturation_m);
        if lattice.cell_m() > 1.5 * params.saturation_m {
            ctx.warn(format!(
                "saturation_m is {}, but a map this large is worked out in steps of {:.1} m, so dunes come out larger",
                params.saturation_m,
                lattice.cell_m()
            ));
        }
        check_work(params, &lattice, height.as_slice().len())?;
        let ground = lattice.sample(height);
        let given = lattice.sample(sand);
        let mut depth = given.clone();
        if matches!(params.sand_m, Coef::Const(_)) {
            roughen(&mut depth, &lattice, frame, params, ctx);
        }
        let closed = held.map(|held| lattice.touched(held));
        if let Some(closed) = &closed {
            for (i, depth) in
                depth.as_mut_slice().iter_mut().enumerate().filter(|(i, _)| closed.as_slice()[*i])
            {
                *depth = given.as_slice()[i];
            }
        }
        let mut land = Land::new(&ground, &given, &depth, closed, &lattice);
        ctx.stop_if_asked()?;
        if let Some(strata) = strata {
            let [dx, dy] = lattice.spacing_m;
            let (west, north) = (frame.x_m(0), frame.y_m(0));
            let at = |c: usize, r: usize| [west + c as f64 * dx, north - r as f64 * dy];
            land.beds = Some(Arc::new(strata.places_of_many(ground.cols(), ground.rows(), at, ctx)?));
        }
        let (rock, total) = (land.bed(), land.total());
        Ok(Some(Self { gusts: Gusts::new(land, params), lattice, ground, rock, total, before }))
    }

    /// What the wind did to the lattice is done to the samples.
    fn blown(&self, given: &Given<'_>, land: &Land, ctx: &Ctx<'_>) -> Result<Blown, OpError> {
        let Given { height, sand, held, frame, params, .. } = *given;
        let Self { lattice, ground, rock, total, before, gusts } = self;
        let [dx, dy] = frame.spacing_m();
        let volume = |raster: &Raster<f32>| given.volume(raster);
        let (after, worn) =
            (land.total(), rock.iter().zip(land.bed()).map(|(a, b)| i64::from(a - b)).sum::<i64>());

        // The sums of both are made to agree.
        let per_unit = before / (*total).max(1) as f64;
        let depth_after = land.depth();
        ctx.stop_if_asked()?;
        let drop = land.drop_of(rock);
        let mut fine = lattice.lay(height, ground, &depth_after);
        ctx.stop_if_asked()?;
        let mut fine_drop = lattice.spread(&drop, height);
        ctx.stop_if_asked()?;
        let stays = |i: usize| held.is_some_and(|held| held.as_slice()[i]);
        // What lies on held ground is none of the sand that was blown.
        let mut kept = 0.0;
        for i in (0..sand.as_slice().len()).filter(|&i| stays(i)) {
            kept += f64::from(sand.as_slice()[i]) * dx * dy;
            (fine.as_mut_slice()[i], fine_drop.as_mut_slice()[i]) = (0.0, 0.0);
        }
        let share = (per_unit * after as f64 - kept).max(0.0) / volume(&fine).max(f64::MIN_POSITIVE);
        let drop_share = per_unit * worn as f64 / volume(&fine_drop).max(f64::MIN_POSITIVE);
        let mut height_after = height.clone();
        let mut sand_after = fine;
        let cols = height.cols();
        sand_after.par_rows(|row, out| {
            for (col, (d, &was)) in out.iter_mut().zip(sand.row(row)).enumerate() {
                *d = if stays(row * cols + col) { was } else { (f64::from(*d) * share) as f32 };
            }
        });
        height_after.par_rows(|row, out| {
            let depths = sand.row(row).iter().zip(sand_after.row(row));
            for ((h, (&was, &is)), &drop) in out.iter_mut().zip(depths).zip(fine_drop.row(row)) {
                if was != is || drop > 0.0 {
                    let change = f64::from(is) - f64::from(was) - f64::from(drop) * drop_share;
                    *h = (f64::from(*h) + change) as f32;
                }
            }
        });
        // Between nodes, and across an edge where samples lie closer than nodes, slopes are steeper than the lattice knows.
        let round = params.edge == Edge::Loop;
        repose::bring_to_rest(
            &mut height_after,
            &mut sand_after,
            held,
            [dx, dy],
            params.repose_deg,
            round,
            ctx,
        )?;
        let figures = [
            ("sand_before", *before),
            ("sand_after", volume(&sand_after)),
            ("blown_out", per_unit * gusts.out as f64),
            ("abraded", per_unit * worn as f64),
        ];
        Ok(Blown { height: height_after, sand: sand_after, figures })
    }
}

/// Refuses so many blows over so many nodes that they would take far too long.
fn check_work(params: &Wind, lattice: &Lattice, samples: usize) -> Result<(), OpError> {
    let (nodes, cell) = (lattice.len() as f64, lattice.cell_m());
    // As long as a blow may be, and as a strong wind lets it be.
    let rise = math::tan(params.repose_deg.to_radians()) * cell;
    let by_change =
        f64::from(MOST_CHANGE) * rise * params.saturation_m.max(cell) / params.flux_m2_per_yr / 2.0;
    let dt_yr = (LONGEST * cell * cell / params.flux_m2_per_yr).min(by_change);
    let blows = params.duration_yr / dt_yr;
    // Small land may take as long as land of 129 samples a side.
    let ns_a_sample = NS_A_BLOW * nodes * blows / samples.max(129 * 129) as f64;
    let most = params.duration_yr * work::MOST_NS_A_SAMPLE / ns_a_sample;
    let advice = format!("with this flux_m2_per_yr and saturation_m the maximum is {}", work::at_most(most));
    work::check("duration_yr", params.duration_yr, ns_a_sample, &advice)
}

/// A sheet of sand is never quite even: dunes need something to begin with.
fn roughen(depth: &mut Raster<f32>, lattice: &Lattice, frame: &Frame, params: &Wind, ctx: &Ctx<'_>) {
    let waves = [1u64, 2].map(|n| Noise::new(orogen_core::Seed(ctx.seed().child("sheet").bits(n))));
    let [dx, dy] = lattice.spacing_m;
    let (west, north) = (frame.x_m(0), frame.y_m(0));
    let per_m = 1.0 / (18.0 * params.saturation_m);
    depth.par_rows(|row, out| {
        let y = (north - row as f64 * dy) * per_m;
        for (col, depth) in out.iter_mut().enumerate() {
            let x = (west + col as f64 * dx) * per_m;
            let n = waves[0].at(x, y) + 0.5 * waves[1].at(2.0 * x + 0.37, 2.0 * y + 0.71);
            *depth *= (1.0 + 0.3 * n).max(0.0);
        }
    });
}

/// All winds that blow by turns, on their way.
struct Gusts {
    land: Land,
    gales: Vec<Gale>,
    blows: Vec<Blow>,
    slide: Slide,
    stress: Stress,
    /// How long the wind that blows longest blows in a round, in years.
    dt_yr: f64,
    /// The length of the round at work, how many of its winds have blown, and the fastest change of depth in it.
    round_yr: f64,
    blown: usize,
    fastest: f32,
    /// Time beyond the round at work.
    left_yr: f64,
    /// Sweeps of sliding after the last wind; none while winds blow.
    slides: Option<usize>,
    /// Sand that left the map, in units.
    out: i64,
}

impl Gusts {
    fn new(mut land: Land, params: &Wind) -> Self {
        let gales: Vec<Gale> =
            turns(params).map(|(deg, share)| Gale::new(deg, share, land.spacing_m)).collect();
        let (cols, rows) = (land.height.cols(), land.height.rows());
        if params.abrasion_mm_per_yr > 0.0 {
            land.wear = Some(Raster::filled(cols, rows, 0.0));
            land.ask_beds();
        }
        Self {
            dt_yr: land.longest_yr(params),
            blows: gales.iter().map(|_| Blow::default()).collect(),
            gales,
            slide: Slide::new(),
            stress: Stress::new(cols, rows),
            land,
            round_yr: 0.0,
            blown: 0,
            fastest: 0.0,
            left_yr: params.duration_yr,
            slides: None,
            out: 0,
        }
    }

    fn moment(&self, params: &Wind) -> Moment {
        let ahead = if self.blown > 0 { 1.0 - self.blown as f64 / self.gales.len() as f64 } else { 0.0 };
        let time_yr = params.duration_yr - self.left_yr - ahead * self.round_yr;
        let most = if self.slides == Some(LAST_SLIDES) { 1.0 } else { 0.999 };
        let share = (time_yr / params.duration_yr).min(most);
        Moment { share, time: Some(Simulated::Years(time_yr)) }
    }

    /// Lets the next wind of a round blow; when all time is over, lets sand slide.
    fn advance(&mut self, params: &Wind, ctx: &Ctx<'_>) -> Result<Progress, Cancelled> {
        if let Some(done) = self.slides {
            return self.slide_down(done, params, ctx);
        }
        if self.blown == 0 {
            if self.left_yr <= 0.0 {
                self.land = self.set_down();
                self.slides = Some(0);
                return Ok(Progress::More);
            }
            // The wind that blows longest blows for `dt_yr`.
            let widest = self.gales.iter().map(|gale| gale.share).fold(0.0, f64::max);
            let shares: f64 = self.gales.iter().map(|gale| gale.share).sum();
            self.round_yr = (self.dt_yr * shares / widest).min(self.left_yr);
            self.left_yr = if self.round_yr < self.left_yr { self.left_yr - self.round_yr } else { 0.0 };
            self.fastest = 0.0;
        }
        let done = 1.0 - self.left_yr / params.duration_yr;
        ctx.tick((done * 1e6) as usize, 1_000_001)?;
        self.blow(params);
        self.blown += 1;
        if self.blown == self.gales.len() {
            self.blown = 0;
            self.land.wear_down();
            // As long as the ground lets it; never many times longer than the last.
            let cell = self.land.cell_m();
            let most = (f64::from(MOST_CHANGE) * cell * tan_repose(params) * self.land.unit) as f32;
            let longest = self.land.longest_yr(params);
            self.dt_yr = f64::from(most / self.fastest.max(f32::MIN_POSITIVE))
                .min(2.0 * self.dt_yr)
                .min(longest)
                .max(1e-3 * longest);
        }
        Ok(Progress::More)
    }

    /// One wind of the round.
    fn blow(&mut self, params: &Wind) {
        let Self { land, gales, blows, slide, stress, .. } = self;
        let shares: f64 = gales.iter().map(|gale| gale.share).sum();
        let (gale, blow) = (&gales[self.blown], &mut blows[self.blown]);
        let dt = self.round_yr * gale.share / shares;
        if dt <= 0.0 {
            return;
        }
        land.turn(gale.swapped);
        stress.turn(gale.swapped);
        let change = blow.step(land, gale, dt, stress, params);
        self.out += blow.take_out();
        self.fastest = self.fastest.max(change / dt as f32);
        slide.sweep(land, tan_repose(params), CREEP * params.flux_m2_per_yr * dt, params.edge);
        slide.sweep(land, tan_repose(params), 0.0, params.edge);
    }

    /// The land when the winds set down what they carry.
    fn set_down(&self) -> Land {
        let mut land = self.land.clone();
        if self.slides.is_none() {
            for (gale, blow) in self.gales.iter().zip(&self.blows) {
                land.turn(gale.swapped);
                blow.clone().set_down(&mut land, gale);
            }
        }
        land.turn(false);
        land
    }

    /// A few of the last sweeps of sliding.
    fn slide_down(&mut self, done: usize, params: &Wind, ctx: &Ctx<'_>) -> Result<Progress, Cancelled> {
        ctx.tick(1_000_000, 1_000_001)?;
        let until = (done + SLIDES_A_PIECE).min(LAST_SLIDES);
        for _ in done..until {
            ctx.stop_if_asked()?;
            if !self.slide.sweep(&mut self.land, tan_repose(params), 0.0, params.edge) {
                self.slides = Some(LAST_SLIDES);
                return Ok(Progress::Done);
            }
        }
        self.slides = Some(until);
        Ok(if until < LAST_SLIDES { Progress::More } else { Progress::Done })
    }
}

fn tan_repose(params: &Wind) -> f64 {
    math::tan(params.repose_deg.to_radians())
}

/// Sand on rock at the nodes of the lattice, in whole units; rows and columns may be swapped while a wind blows.
#[derive(Clone)]
struct Land {
    height: Raster<i32>,
    sand: Raster<i32>,
    /// Units a metre.
    unit: f64,
    /// Nodes that neither give nor take.
    closed: Option<Raster<bool>>,
    spacing_m: [f64; 2],
    swapped: bool,
    /// Rock worn but not yet taken away, in units.
    wear: Option<Raster<f32>>,
    /// Beds under the nodes, in the order of the lattice, and how much faster than middling rock the one at the surface is worn.
    beds: Option<Arc<Places>>,
    soft: Option<Raster<f32>>,
}

impl Land {
    /// Sand as deep as `depth` on the rock that lies below the `given` sand.
    fn new(
        ground: &Raster<f32>,
        given: &Raster<f32>,
        depth: &Raster<f32>,
        closed: Option<Raster<bool>>,
        lattice: &Lattice,
    ) -> Self {
        let (low, high) = ground.range().unwrap_or((0.0, 0.0));
        let deepest = depth.range().map_or(0.0, |(_, d)| d);
        // Differences must fit as well, so heights keep below 2^30 of these units.
        let largest = 2.0 * f64::from(low.abs().max(high.abs()).max(1.0)) + 2.0 * f64::from(deepest);
        let unit = math::exp2((30.0 - math::log2(largest)).floor().clamp(-100.0, 16.0));
        let whole = |v: f32| (f64::from(v) * unit).round() as i32;
        let (cols, rows) = (ground.cols(), ground.rows());
        let there = |of: &Raster<f32>, c: usize, r: usize| {
            if ground.row(r)[c].is_nan() || of.row(r)[c].is_nan() { 0 } else { whole(of.row(r)[c]).max(0) }
        };
        let sand = Raster::from_fn(cols, rows, |c, r| there(depth, c, r));
        let height = Raster::from_fn(cols, rows, |c, r| match ground.row(r)[c] {
            h if h.is_nan() => HOLE,
            h => whole(h) - there(given, c, r) + there(depth, c, r),
        });
        Self {
            height,
            sand,
            unit,
            closed,
            spacing_m: lattice.spacing_m,
            swapped: false,
            wear: None,
            beds: None,
            soft: None,
        }
    }

    fn cell_m(&self) -> f64 {
        self.spacing_m[0].min(self.spacing_m[1])
    }

    /// The longest that a wind may blow at once.
    fn longest_yr(&self, params: &Wind) -> f64 {
        LONGEST * self.cell_m() * self.cell_m() / params.flux_m2_per_yr
    }

    fn total(&self) -> i64 {
        self.sand.as_slice().iter().map(|&d| i64::from(d)).sum()
    }

    /// Heights of the rock, in the order of the lattice.
    fn bed(&self) -> Vec<i32> {
        debug_assert!(!self.swapped);
        let beds = self.height.as_slice().iter().zip(self.sand.as_slice());
        beds.map(|(&h, &d)| if h == HOLE { 0 } else { h - d }).collect()
    }

    fn depth(&self) -> Raster<f32> {
        self.sand.map(|d| (f64::from(d) / self.unit) as f32)
    }

    /// How far the rock was worn down, in metres.
    fn drop_of(&self, rock: &[i32]) -> Raster<f32> {
        let bed = self.bed();
        let cols = self.height.cols();
        Raster::from_fn(cols, self.height.rows(), |c, r| {
            (f64::from(rock[r * cols + c] - bed[r * cols + c]) / self.unit) as f32
        })
    }

    /// Puts rows and columns as a wind needs them.
    fn turn(&mut self, swapped: bool) {
        if self.swapped != swapped {
            self.height = self.height.transposed();
            self.sand = self.sand.transposed();
            self.closed = self.closed.as_ref().map(Raster::transposed);
            self.wear = self.wear.as_ref().map(Raster::transposed);
            self.soft = self.soft.as_ref().map(Raster::transposed);
            self.spacing_m.reverse();
            self.swapped = swapped;
        }
    }

    /// Turns worn rock into sand, by whole units.
    fn wear_down(&mut self) {
        let Some(wear) = &mut self.wear else { return };
        let worn = wear.as_mut_slice().iter_mut().zip(self.sand.as_mut_slice());
        for (wear, sand) in worn {
            let whole = *wear as i32;
            *wear -= whole as f32;
            *sand += whole;
        }
        self.ask_beds();
    }

    /// Asks which beds the rock has come down to.
    fn ask_beds(&mut self) {
        let Some(beds) = &self.beds else { return };
        let (cols, rows) = (self.height.cols(), self.height.rows());
        self.soft = Some(Raster::from_fn(cols, rows, |c, r| {
            let cell = if self.swapped { c * rows + r } else { r * cols + c };
            let (h, d) = (self.height.row(r)[c], self.sand.row(r)[c]);
            if h == HOLE { 0.0 } else { beds.rock(cell, (f64::from(h - d) / self.unit) as f32).softness() }
        }));
    }
}

/// The winds that blow in turn, by bearing and share of the time: each veers to both sides of its direction.
fn turns(params: &Wind) -> impl Iterator<Item = (f64, f64)> {
    let main = std::iter::once((params.wind_deg, 1.0));
    let all = main.chain(params.others.iter().map(|other| (other.wind_deg, other.share)));
    let spread = params.spread_deg;
    all.flat_map(move |(deg, share)| {
        let veers = if spread > 0.0 { vec![0.0, spread, 0.0, -spread] } else { vec![0.0] };
        let part = share / veers.len() as f64;
        veers.into_iter().map(move |veer| (deg + veer, part))
    })
}
