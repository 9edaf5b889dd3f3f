//! Lakes: depressions that hold water.

use orogen_core::{Coef, Ctx, Frame, Layers, Op, OpError, Raster, Reach, Refiner, Solved, Terrain, layer};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::breach::report;
use super::sea_level;
use crate::drainage::breach::{Breached, Breaching, breach};
use crate::drainage::{drainage, neighbours_of};

mod balance;
mod find;
mod finer;
mod outline;
#[cfg(test)]
mod tests;

use find::Found;

/// Fills depressions with water: large ones become lakes, small ones are drained, and no other pit is left.
///
/// A depression that is not deep and wide enough for a lake is cut open where the least rock has to go, or filled with
/// rock. Lakes stand at the level at which they spill. With `balance` they stand where a year's water is lost again,
///
/// ```text
/// runoff · rain · (catchment − lake) + rain · lake + overflow of lakes upstream = evaporation · lake
/// ```
///
/// so that lakes of dry country keep below their brim, have no outlet, and leave the rest of their basin dry.
///
/// The depth of the water is the layer `water` (lakes, and the sea); shores are the vectors `lakes`: polygons at the height of the
/// water, with `lake`, `level_m`, `area_m2`, `depth_m`, `volume_m3`, `overflows`, and as `outlet_x_m`, `outlet_y_m` the outlet, or the lowest
/// place of a lake that has none. A lake in several pieces, as where its samples meet at a corner only, has a polygon for each of
/// them; all have the numbers of the whole lake.
///
/// **Guarantees** (1) every lake is level: bed and depth add up to one height, within rounding; (2) from every sample outside the
/// lakes a way that never rises leads to a lake or off the map, and from every lake that overflows over its outlet; (3) the beds of lakes
/// are not touched, and no shore is cut below its lake; (4) without `balance` all lakes overflow; with it, a lake that does
/// not loses as much as it gets, within the water of one more ring of samples.
///
/// **Limits** Lakes and shores belong to a resolution: a pass that is one sample wide may be missed, and whole lakes with
/// it. With `balance` a lake has at least its lowest samples, however dry the land. The sea keeps its own level of 0 m.
///
/// **After** the drainage of `water.flow` and the cuts of `water.breach`; the balance is the usual one of closed lakes (Street-Perrott
/// & Harrison 1985).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Lakes {
    /// Depth from which a depression is a lake.
    #[schemars(range(min = 0.0, max = 1e5), extend("x-unit" = "m", "x-slider" = [0.0, 50.0]))]
    pub min_depth_m: f64,
    /// Area from which a depression is a lake.
    #[schemars(range(min = 0.0, max = 1e15), extend("x-unit" = "m2", "x-slider" = [0.0, 1e6]))]
    pub min_area_m2: f64,
    /// What becomes of depressions that do not become lakes.
    pub rest: Rest,
    /// With `rest = "breach"`: deepest cut; what would need a deeper one is filled.
    #[schemars(range(min = 0.0, max = 1e5), extend("x-unit" = "m", "x-slider" = [0.0, 100.0]))]
    pub max_cut_m: f64,
    /// Whether lakes stand where rain and evaporation balance instead of at the brim.
    pub balance: bool,
    /// With `balance`: rain, a number or a layer.
    #[schemars(extend("minimum" = 0.0, "maximum" = 20_000.0, "x-unit" = "mm/yr"))]
    pub rain_mm_per_yr: Coef,
    /// With `balance`: evaporation of open water, a number or a layer.
    #[schemars(extend("minimum" = 0.0, "maximum" = 20_000.0, "x-unit" = "mm/yr"))]
    pub evaporation_mm_per_yr: Coef,
    /// With `balance`: the share of the rain on land that reaches a lake.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub runoff: f64,
    /// Whether land at or below sea level (0 m) is sea, where water leaves.
    pub sea: bool,
    /// Whether water of earlier steps stays where it is deeper.
    pub keep: bool,
}

/// What becomes of depressions that do not become lakes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Rest {
    /// They are cut open.
    #[default]
    Breach,
    /// They are filled with rock.
    Fill,
}

impl Default for Lakes {
    fn default() -> Self {
        Self {
            min_depth_m: 2.0,
            min_area_m2: 20_000.0,
            rest: Rest::Breach,
            max_cut_m: 50.0,
            balance: false,
            rain_mm_per_yr: Coef::Const(300.0),
            evaporation_mm_per_yr: Coef::Const(1500.0),
            runoff: 0.2,
            sea: true,
            keep: false,
        }
    }
}

/// The vectors that hold the shores.
pub const LAKES: &str = "lakes";

impl Op for Lakes {
    const ID: &'static str = "water.lakes";
    const VERSION: u32 = 3;
    const PREVIEW_RMSE: f64 = 0.08;

    fn layers(&self) -> Layers {
        let climate = [&self.rain_mm_per_yr, &self.evaporation_mm_per_yr];
        let climate = climate.into_iter().filter(|_| self.balance).filter_map(Coef::layer);
        let layers = Layers::none()
            .updating([layer::HEIGHT.name()])
            .reading(climate)
            .deriving_vectors([LAKES], [layer::HEIGHT.name()]);
        let water = [layer::WATER.name()];
        if self.keep { layers.updating(water) } else { layers.writing(water) }
    }

    fn reach(&self, _: &Frame) -> Reach {
        Reach::World
    }

    fn bytes_a_sample(&self, _: &Frame) -> f64 {
        36.0
    }

    fn refiner(&self, solved: Solved<'_>, _: &Ctx<'_>) -> Result<Option<Box<dyn Refiner>>, OpError> {
        Ok(Some(Box::new(finer::Finer::new(self, solved)?)))
    }

    fn run(&self, mut terrain: Terrain, ctx: &Ctx<'_>) -> Result<Terrain, OpError> {
        let frame = *terrain.frame();
        let [dx, dy] = frame.spacing_m();
        let cell_m2 = dx * dy;
        let height = terrain.get(layer::HEIGHT)?;
        let sea_m = sea_level(self.sea);
        let drained = drainage(height, [dx, dy], sea_m, &ctx.unwatched())?;
        ctx.tick(1, 4)?;
        let mut found = Found::of(height, &drained, self.min_depth_m as f32, self.min_area_m2 / cell_m2);
        if self.balance {
            let rain = self.rain_mm_per_yr.on(&terrain)?;
            let loss = self.evaporation_mm_per_yr.on(&terrain)?;
            balance::settle(
                &mut found,
                height,
                &drained,
                &balance::Climate { rain, loss, runoff: self.runoff },
            );
        }
        drop(drained);
        ctx.tick(2, 4)?;
        let (land, done) = self.drain_rest(height, &found, [dx, dy], ctx)?;
        ctx.tick(3, 4)?;
        let depth = |col: usize, row: usize| {
            let (cell, bed) = (row * frame.cols() + col, land.row(row)[col]);
            match found.lake_at(cell) {
                Some(lake) => lake.surface - bed,
                None if bed <= sea_m => -bed,
                None if bed.is_nan() => f32::NAN,
                None => 0.0,
            }
        };
        let mut water = Raster::from_fn(frame.cols(), frame.rows(), depth);
        if self.keep {
            let former: &Raster<f32> = terrain.get(layer::WATER)?;
            water.par_rows(|row, out| {
                let old = former.row(row).iter();
                out.iter_mut().zip(old).for_each(|(out, old)| *out = if *old > *out { *old } else { *out });
            });
        }
        let shores = outline::shores(&found, &land, &frame, ctx)?;
        let lakes = found.lakes.iter();
        ctx.report("lakes", found.lakes.len() as f64, "");
        ctx.report("lakes_without_outlet", lakes.clone().filter(|lake| !lake.overflows).count() as f64, "");
        ctx.report("lake_area", lakes.clone().map(|lake| lake.cells as f64 * cell_m2).sum(), "m2");
        ctx.report("lake_volume", lakes.map(|lake| lake.volume_m * cell_m2).sum(), "m3");
        report(&done, [dx, dy], ctx);
        terrain.set(layer::HEIGHT, land);
        terrain.set(layer::WATER, water);
        terrain.set_vector(LAKES, shores);
        Ok(terrain)
    }
}

impl Lakes {
    /// The land with all other depressions cut open or filled.
    fn drain_rest(
        &self,
        height: &Raster<f32>,
        found: &Found,
        spacing_m: [f64; 2],
        ctx: &Ctx<'_>,
    ) -> Result<(Raster<f32>, Breached), OpError> {
        let (cols, rows) = (height.cols(), height.rows());
        let sea_m = sea_level(self.sea);
        // Lakes are level ground; those without an outlet are where water ends, which a hole is too.
        let mut land = height.clone();
        land.par_rows(|row, out| {
            for (col, out) in out.iter_mut().enumerate() {
                if let Some(lake) = found.lake_at(row * cols + col) {
                    *out = if lake.overflows { lake.surface } else { f32::NAN };
                }
            }
        });
        let done = match self.rest {
            Rest::Breach => {
                let floors = floors(found, cols, rows);
                let how = Breaching {
                    spacing_m,
                    sea_m,
                    depth_m: self.max_cut_m as f32,
                    length_m: f64::INFINITY,
                    fill: true,
                    floors: Some(&floors),
                };
                breach(&mut land, &how, &ctx.unwatched())?
            }
            Rest::Fill => {
                let mut filled = land.clone();
                let drained = drainage(&land, spacing_m, sea_m, &ctx.unwatched())?;
                drained.basins.fill(&mut filled);
                let raised = filled.as_slice().iter().zip(land.as_slice()).filter(|(a, b)| a > b);
                let filled_m = raised.map(|(a, b)| f64::from(*a) - f64::from(*b)).sum();
                land = filled;
                Breached { filled_m, ..Breached::default() }
            }
        };
        land.par_rows(|row, out| {
            for (col, out) in out.iter_mut().enumerate() {
                if found.labels.row(row)[col] > 0 {
                    *out = height.row(row)[col];
                }
            }
        });
        Ok((land, done))
    }
}

/// How low each cell may be cut: at and beside a lake no lower than its water.
fn floors(found: &Found, cols: usize, rows: usize) -> Raster<f32> {
    Raster::from_fn(cols, rows, |col, row| {
        let own = found.lake_at(row * cols + col).map(|lake| lake.surface);
        let beside = neighbours_of(row * cols + col, cols, rows).filter_map(|cell| found.lake_at(cell));
        let beside = beside.map(|lake| lake.surface);
        own.into_iter().chain(beside).fold(f32::NEG_INFINITY, f32::max)
    })
}
