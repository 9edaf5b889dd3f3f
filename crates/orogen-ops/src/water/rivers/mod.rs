//! Rivers: a network with discharge, order, width and depth, cut into the land so that it runs downhill.

mod carve;
mod course;
mod enforce_fall;
mod finer;
mod grid;
mod lakes;
mod network;
mod profile;
mod stems;
#[cfg(test)]
mod tests;
mod validate;

use orogen_core::param::{Fault, Segment};
use orogen_core::{
    CellIx, Coef, Ctx, Frame, Layers, Op, OpError, Raster, Reach, Refiner, Solved, Terrain, layer, math,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use self::course::Courses;
use self::grid::Grid;
use self::lakes::Lakes;
pub use self::network::{Network, Reach as RiverReach, Vertex};
use self::stems::Drained;
use super::{keep_holes, sea_level};
use crate::drainage::{RasterPool, area, drainage, drainage_in};

/// Seconds of a year.
const YEAR_S: f64 = 365.25 * 86400.0;
/// Parts of a millimetre a year that water is counted in: whole numbers add up the same in any order.
const PARTS: f64 = 1024.0;

/// Lays rivers on the land: where enough water gathers, a smooth line runs down the valley, as wide and deep as its
/// discharge requires, and is cut into the ground so that no river rises on its way.
///
/// ```text
/// Q = runoff · Σ rain · area        w = width_m · Q^width_exponent        d = depth_m · Q^depth_exponent        (Q in m³/s)
/// ```
///
/// Water follows the steepest ways of `water.flow`. Courses are smoothed until nothing is left of the lattice's eight directions,
/// kept on the floor of the valley, and swing more the flatter the country. The water lies `cut` depths below the ground; banks
/// lead up to the land over `bank_m`. Where a river is narrower than a sample the height is that of its water; where it
/// is wider its bed is shown and the layer `water` has its depth.
///
/// Depressions at least `lake_depth_m` deep and `lake_m2` large stay as lakes, full to the brim (layer `water`); rivers
/// cut through the others on their way, and what no river reaches is filled with a slight slope. The layer `flow` is that of the
/// new land.
///
/// Windows of another spacing cut beds of their own: the lines are smoothed between samples and settle on the floors of valleys, banks
/// are as wide as a river and its cut need (`bank_m` at most), and lakes keep their levels. Their lines have all vertices of that.
///
/// The vectors `rivers` have a line for each reach from spring or junction to the next junction: `id`, `into` (the id of the
/// reach downstream, -1 for sea or edge), `river` (the same from spring to mouth), Strahler `order`, and, at the lower end
/// and at each vertex, `discharge_m3s`, `width_m`, `depth_m`. Their z is that of the water.
///
/// **Guarantees** (1) along every line z falls from vertex to vertex, level on lakes only, and so does the ground under
/// the vertices outside lakes; (2) what flows in at a junction flows out of it; (3) every sample outside lakes and sea
/// has a lower neighbour or lies at the edge or a hole, and lakes are level; (4) the result does not depend on the
/// number of threads.
///
/// **Limits** Water leaves at the edge, at holes and into the sea, so what comes in from beyond is missing. Where two ways down are
/// equally good the first clockwise from north is taken, of equally low passes the first in the raster; else a turned map gives the
/// turned result. Between its vertices a line may cut the corner of a sample that a neighbouring river has, where brooks crowd
/// together, or of the shore where it ends on another river's lake. Rivers belong to a resolution: a preview has their larger bends, but beds a sample wide do not match
/// sample by sample.
///
/// **After** O'Callaghan & Mark 1984 for the network, Strahler 1957 for the order, Leopold & Maddock, USGS Prof. Paper 252
/// (1953), for width and depth. Courses, profiles and banks are ours.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Rivers {
    /// Rain (and melting snow): a number, or a layer.
    #[schemars(extend("minimum" = 0.0, "maximum" = 20000.0, "x-unit" = "mm/yr", "x-slider" = [100.0, 4000.0]))]
    pub rain_mm_per_yr: Coef,
    /// Share of the rain that runs off; the rest evaporates.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub runoff: f64,
    /// Least discharge of a river: where it begins.
    #[schemars(range(min = 0.0, max = 1e6), extend("x-unit" = "m3/s", "x-slider" = [0.001, 1.0]))]
    pub spring_m3_per_s: f64,
    /// Least area that a river drains, whatever the rain.
    #[schemars(range(min = 0.0, max = 1e12), extend("x-unit" = "m2", "x-slider" = [0.0, 1e6]))]
    pub spring_m2: f64,
    /// Rivers shorter than this that no other joins are left out.
    #[schemars(range(min = 0.0, max = 1e6), extend("x-unit" = "m", "x-slider" = [0.0, 1000.0]))]
    pub shortest_m: f64,
    /// Width of a river that carries 1 m³/s.
    #[schemars(range(min = 0.0, max = 1e3), extend("x-unit" = "m", "x-slider" = [1.0, 20.0]))]
    pub width_m: f64,
    /// How width grows with discharge.
    #[schemars(range(min = 0.0, max = 2.0))]
    pub width_exponent: f64,
    /// Depth of a river that carries 1 m³/s.
    #[schemars(range(min = 0.0, max = 100.0), extend("x-unit" = "m", "x-slider" = [0.1, 2.0]))]
    pub depth_m: f64,
    /// How depth grows with discharge.
    #[schemars(range(min = 0.0, max = 2.0))]
    pub depth_exponent: f64,
    /// How far the water lies below the land beside it, in depths of the river.
    #[schemars(range(min = 0.0, max = 100.0), extend("x-slider" = [0.0, 5.0]))]
    pub cut: f64,
    /// Width over which banks lead up to the land.
    #[schemars(range(min = 0.01, max = 1e5), extend("x-unit" = "m", "x-slider" = [5.0, 200.0]))]
    pub bank_m: f64,
    /// How far courses swing from side to side: 0 not at all, 1 as usual.
    #[schemars(range(min = 0.0, max = 3.0))]
    pub meander: f64,
    /// Whether deep depressions stay as lakes; otherwise rivers cut through all of them.
    pub lakes: bool,
    /// Depth from which a depression is a lake.
    #[schemars(range(min = 0.0, max = 1e4), extend("x-unit" = "m", "x-slider" = [0.0, 50.0]))]
    pub lake_depth_m: f64,
    /// Area from which a depression is a lake.
    #[schemars(range(min = 0.0, max = 1e12), extend("x-unit" = "m2", "x-slider" = [0.0, 1e6]))]
    pub lake_m2: f64,
    /// Whether land at or below sea level (0 m) is sea, where rivers end.
    pub sea: bool,
}

impl Default for Rivers {
    fn default() -> Self {
        Self {
            rain_mm_per_yr: Coef::Const(1000.0),
            runoff: 0.5,
            spring_m3_per_s: 0.005,
            spring_m2: 0.0,
            shortest_m: 250.0,
            width_m: 6.0,
            width_exponent: 0.5,
            depth_m: 0.4,
            depth_exponent: 0.4,
            cut: 1.0,
            bank_m: 40.0,
            meander: 1.0,
            lakes: true,
            lake_depth_m: 4.0,
            lake_m2: 10000.0,
            sea: true,
        }
    }
}

impl Rivers {
    /// Width of a river, in metres.
    #[must_use]
    pub fn width_of(&self, discharge_m3s: f64) -> f64 {
        self.width_m * math::pow(discharge_m3s, self.width_exponent)
    }

    /// Depth of a river, in metres.
    #[must_use]
    pub fn depth_of(&self, discharge_m3s: f64) -> f64 {
        self.depth_m * math::pow(discharge_m3s, self.depth_exponent)
    }

    /// Height of the water of a river on given ground: below it, but never as low as the sea.
    fn surface(&self, ground_m: f64, depth_m: f64, sea_m: f32) -> f64 {
        (ground_m - self.cut * depth_m).max(0.5 * (ground_m + f64::from(sea_m)))
    }
}

impl Op for Rivers {
    const ID: &'static str = "water.rivers";
    const VERSION: u32 = 5;

    fn layers(&self) -> Layers {
        Layers::none()
            .updating([layer::HEIGHT.name()])
            .reading(self.rain_mm_per_yr.layer())
            .writing([layer::WATER.name()])
            .deriving([layer::FLOW.name()], [layer::HEIGHT.name()])
            .deriving_vectors(["rivers"], [layer::HEIGHT.name()])
    }

    fn reach(&self, _: &Frame) -> Reach {
        Reach::World
    }

    fn bytes_a_sample(&self, _: &Frame) -> f64 {
        25.0
    }

    fn faults(&self) -> Vec<Fault> {
        if self.spring_m3_per_s > 0.0 || self.spring_m2 > 0.0 {
            return Vec::new();
        }
        let message = "is 0, and so is spring_m2; set one of them, otherwise every sample would be a river";
        vec![Fault { path: vec![Segment::Key(String::from("spring_m3_per_s"))], message: message.to_owned() }]
    }

    fn refiner(&self, solved: Solved<'_>, ctx: &Ctx<'_>) -> Result<Option<Box<dyn Refiner>>, OpError> {
        Ok(finer::Finer::new(self, solved, ctx)?.map(|finer| Box::new(finer) as Box<dyn Refiner>))
    }

    fn run(&self, mut terrain: Terrain, ctx: &Ctx<'_>) -> Result<Terrain, OpError> {
        let frame = *terrain.frame();
        let rain = self.rain_mm_per_yr.on(&terrain)?;
        let height = terrain.get(layer::HEIGHT)?;
        let made =
            rivers(height, frame.spacing_m(), self, |col, row| rain.at(col, row), sea_level(self.sea), ctx)?;
        let cell_m2 = frame.spacing_m()[0] * frame.spacing_m()[1];
        let cut = height.sum_f64() - made.height.sum_f64();
        if cut.is_finite() {
            ctx.report("land_lowered", cut * cell_m2, "m3");
        }
        let network = &made.network;
        ctx.report("reaches", network.len() as f64, "");
        ctx.report("river_length", network.length_m(frame.spacing_m()), "m");
        ctx.report("largest_discharge", network.largest_m3s(), "m3/s");
        ctx.report("lakes", made.lakes.len() as f64, "");
        let [dx, dy] = frame.spacing_m();
        let (west, north) = (frame.x_m(0), frame.y_m(0));
        let lines = network.vectors(|[col, row]| [west + col * dx, north - row * dy]);
        terrain.set(layer::HEIGHT, made.height);
        terrain.set(layer::WATER, made.water);
        terrain.set(layer::FLOW, made.flow);
        terrain.set_vector("rivers", lines);
        Ok(terrain)
    }
}

/// What rivers make of a map.
#[derive(Debug)]
pub struct Made {
    /// The land with rivers cut into it.
    pub height: Raster<f32>,
    /// Depth of water in lakes and in rivers wider than a sample.
    pub water: Raster<f32>,
    /// Area drained, in square metres; holes stay holes.
    pub flow: Raster<f32>,
    /// The rivers.
    pub network: Network,
    /// The depressions that stay.
    pub lakes: Vec<Lake>,
}

/// A lake.
#[derive(Clone, Debug, PartialEq)]
pub struct Lake {
    /// Height of its water.
    pub level_m: f32,
    /// Its cells.
    pub cells: Vec<CellIx>,
}

/// The map that rivers are laid on.
struct Land<'a> {
    height: &'a Raster<f32>,
    grid: Grid,
    sea_m: f32,
}

/// The algorithm alone, with the sea at any level and the rain in millimetres a year at a column and row.
///
/// # Errors
/// When cancelled, or when the map has too many samples.
pub fn rivers(
    height: &Raster<f32>,
    spacing_m: [f64; 2],
    params: &Rivers,
    rain_mm_per_yr: impl Fn(usize, usize) -> f32 + Sync,
    sea_m: f32,
    ctx: &Ctx<'_>,
) -> Result<Made, OpError> {
    let grid = Grid::of(height, spacing_m);
    let land = Land { height, grid, sea_m };
    let cell_m2 = spacing_m[0] * spacing_m[1];
    ctx.tick(0, 10)?;
    let found = drainage(height, spacing_m, sea_m, &ctx.unwatched())?;
    ctx.tick(3, 10)?;
    let donors = found.ways.donors();
    let mut pool = RasterPool::default();
    let cells = area::cells_in(&found.ways, &donors, &mut pool);
    // Water in whole parts; rain of no number counts as none.
    let parts = |cell: usize| {
        let rain = f64::from(rain_mm_per_yr(cell % grid.cols, cell / grid.cols));
        (rain.clamp(0.0, 1e6) * params.runoff * PARTS).round() as u64
    };
    let per_part = cell_m2 / (PARTS * 1000.0 * YEAR_S);
    let sums = match &params.rain_mm_per_yr {
        Coef::Const(_) => None,
        Coef::Layer(_) => Some(area::sums(&found.ways, &donors, parts)),
    };
    let each = parts(0);
    let water = |cell: usize| match &sums {
        None => u64::from(cells.as_slice()[cell]) * each,
        Some(sums) => sums.as_slice()[cell],
    };
    ctx.tick(4, 10)?;
    let is_enough = |cell: usize| {
        water(cell) as f64 * per_part >= params.spring_m3_per_s
            && f64::from(cells.as_slice()[cell]) * cell_m2 >= params.spring_m2
    };
    let drained = Drained { ways: &found.ways, donors: &donors, cells: &cells, water: &water };
    let stems = stems::stems(&land, &drained, is_enough, params.shortest_m);
    let least_depth_m = if params.lakes { params.lake_depth_m } else { f64::INFINITY };
    let mut lakes = Lakes::find(&land, &found.basins, least_depth_m, params.lake_m2 / cell_m2);
    ctx.tick(5, 10)?;
    let discharge = |cell: CellIx| water(cell.at()) as f64 * per_part;
    let courses = Courses::draw(&land, &stems, &lakes, params, ctx.seed().child("meanders"), &discharge);
    ctx.tick(6, 10)?;
    let profiles = profile::profiles(&land, &stems, &courses, &mut lakes, &water, params, per_part);
    pool.take(found);
    pool.take_bytes(donors);
    let (mut cut, mut depth) = carve::carve(&land, &courses, &profiles, &lakes, params, per_part);
    ctx.tick(7, 10)?;
    drop(sums);
    pool.take_words(cells);

    let found = drainage_in(&cut, spacing_m, sea_m, &ctx.unwatched(), &mut pool)?;
    let mut ways = found.ways;
    pool.take_words(found.basins.labels);
    ctx.tick(9, 10)?;
    courses.lead(&grid, &mut ways);
    let donors = ways.donors_in(&mut pool);
    let is_river = |cell: usize| courses.owner.contains_key(&CellIx::new(cell));
    enforce_fall::enforce_fall(&land, &ways, &donors, &is_river, &mut lakes, &mut cut);
    for (lake, cells) in lakes.cells.iter().enumerate() {
        for &cell in cells {
            depth.as_mut_slice()[cell.at()] = (lakes.levels[lake] - cut.as_slice()[cell.at()]).max(0.0);
        }
    }
    let mut flow = area::areas(area::cells_in(&ways, &donors, &mut pool), cell_m2);
    keep_holes(&mut flow, height);
    let network = Network::new(&grid, &courses, &profiles, params, per_part);
    let lakes = lakes.levels.into_iter().zip(lakes.cells).filter(|(_, cells)| !cells.is_empty());
    let lakes = lakes.map(|(level_m, cells)| Lake { level_m, cells }).collect();
    Ok(Made { height: cut, water: depth, flow, network, lakes })
}
