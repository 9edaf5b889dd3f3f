//! Erosion finer than the recipe's samples: gullies, spurs, fans and scree in windows of a finer spacing.

mod block;
mod flow;
mod levels;
mod ribs;
mod square;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use orogen_core::{
    Coef, Ctx, Frame, Layers, Op, OpError, Raster, Reach, Refiner, Solved, Spline, Terrain, layer, math,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use self::levels::{Coarse, Levels};
use crate::drainage::area::PARTS;
use crate::drainage::drainage;
use crate::drainage::spread::{self, Sharing};
use crate::held_lines;
use crate::rock::beds::{STRATA, Strata};

/// Erodes finer windows at the scale that the recipe's own samples could not hold: gullies that join and lead to the streams,
/// spurs between them, fans where gullies meet flat ground, scree below cliffs. On the recipe's own samples the land stays
/// as it is.
///
/// Each level halves the spacing, from the recipe's own down to that of the window. A level is solved in blocks of 128 cells
/// that overlap and fade into each other, each from the level above alone. First slopes get hollows and spurs, 6 to 13 cells from one
/// to the next, that run down the fall of the land whichever way it faces: patches of waves along the contour, each of its own length and
/// phase, so that hollows begin, join and end. Where they are no wider than `channel_m2` allows gullies to be, they fade. Then water cuts, in two rounds:
///
/// ```text
/// ∂h/∂t = lift − k √A (1 − √(A₁ / A)) S + deposition + ∇ · D ∇h / (1 − (S / Sc)²)        A₁ = max(A₀ / S², 0.7 Ā)
/// ```
///
/// `A` is the area drained (through the edge of a block, that of the level above), `Ā` what places around drain, `A₀` is `channel_m2`,
/// `S` the slope and `Sc` 1.25 times the talus slope. So a long even slope, which has much water everywhere, is not combed by
/// parallel gullies: those go on where water has come together, and draw in what is beside them. `A₁` differs from patch to patch by a factor
/// of about two either way: some slopes have many gullies, others few. Water is shared out by the fourth power of slope, over ground made uneven by
/// chance, in waves of up to ten cells, which guides the water only. Little runs off on scree, in the hollow below walls of more than 40 degrees: it
/// stays an even apron. What is cut comes down with the water and is laid where the slope is too gentle to carry it. Of the
/// change at a level only what is shorter than some four cells of the level above stays, and no steeper than 0.7 of the land.
/// Last, ground steeper than `talus_deg` (and than the coarse land there) slides.
///
/// Where land has strata (`rock.strata`), every sample of a level asks the bed that it has come down to: `k` is
/// `(1 − hardness) / hardness` times as large, up to four times, and ground slides beyond the bed's own `talus_deg`. So beds thinner
/// than the recipe's samples show as ledges.
///
/// What finer samples show of the land before is worn away, as far as `keep` does not keep it: gullies take its place.
/// Nothing changes in water, beside it, in holes, on what is held and, if `sea` is set, below 0 m; less on `sediment`, and nothing
/// where that is 20 m deep.
///
/// **Guarantees** (1) a window equals the same part of the whole at its spacing, to the bit, whatever was asked before and on
/// however many threads; (2) level ground keeps its height within a millimetre; (3) the mean height over four by four cells of the recipe's frame changes by less than
/// 3 % of what the land falls over one cell, on average over land with valleys and ridges; (4) where the coarse land is gentler than
/// `talus_deg`, so are 99.9 % of the finer samples on land without cliffs, within a tenth; (5) streams run
/// down: pits hold at most one sample in a hundred and a centimetre in the mean more than in the smooth interpolation;
/// (6) held lines keep their height.
///
/// **Limits** Beside sharp breaks it does less well: along a V-shaped valley means change by some 3 %, beside a cliff of 300 m by 14 %,
/// and there up to 1.1 % of the samples are steeper than the limit. A window takes the level whose cells are at most 1.25 of its own; windows coarser than the recipe's frame stay as they are.
/// The first window of a place solves all levels above it: some 10 ms for each block of 128 cells. Blocks are kept up to 96 MB. Steps after it that wear the
/// land hold gullies as they hold all unevenness, so it belongs after them. The chance of finer levels differs between
/// recipes of another spacing, so two resolutions have other gullies.
///
/// **After** the multi-scale erosion of Schott et al., "Terrain Amplification using Multi-scale Erosion", SIGGRAPH 2024, as an idea; theirs
/// works on the whole map at once. Creep after Roering, Kirchner & Dietrich 1999; the least area of a channel, which falls with
/// slope squared, after Montgomery & Dietrich 1992.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Detail {
    /// How deep gullies are cut, where 1 is usual and 0 leaves the land as it is: a number, or a layer such as one of soft rock.
    #[schemars(extend("minimum" = 0.0, "maximum" = 4.0, "x-slider" = [0.0, 2.0]))]
    pub strength: Coef,
    /// Area that has to drain through a place for a gully to begin there, on a slope of 45 degrees; more on gentler slopes.
    #[schemars(range(min = 1.0, max = 1e6), extend("x-unit" = "m2", "x-slider" = [20.0, 2000.0]))]
    pub channel_m2: f64,
    /// Steepest slope at which loose ground stays put.
    #[schemars(range(min = 1.0, max = 80.0), extend("x-unit" = "deg", "x-slider" = [20.0, 50.0]))]
    pub talus_deg: f64,
    /// Length over which creeping soil rounds crests and gullies.
    #[schemars(range(min = 0.0, max = 1000.0), extend("x-unit" = "m", "x-slider" = [0.0, 20.0]))]
    pub creep_m: f64,
    /// Share of what finer samples show of the land before that stays; the rest is worn away.
    #[schemars(range(min = 0.0, max = 1.0), extend("x-slider" = [0.0, 1.0]))]
    pub keep: f64,
    /// Spacing below which nothing more is added.
    #[schemars(range(min = 0.1, max = 1e4), extend("x-unit" = "m", "x-slider" = [0.5, 10.0]))]
    pub finest_m: f64,
    /// Whether land at or below 0 m is sea, where nothing is added.
    pub sea: bool,
}

impl Default for Detail {
    fn default() -> Self {
        Self {
            strength: Coef::Const(1.0),
            channel_m2: 120.0,
            talus_deg: 50.0,
            creep_m: 2.0,
            keep: 0.0,
            finest_m: 1.0,
            sea: true,
        }
    }
}

impl Op for Detail {
    const ID: &'static str = "erode.detail";
    const VERSION: u32 = 4;

    fn layers(&self) -> Layers {
        Layers::none()
            .updating([layer::HEIGHT.name()])
            .reading(self.strength.layer())
            .using([layer::WATER.name(), layer::SEDIMENT.name()])
            .using_vectors([held_lines::HOLD, STRATA])
    }

    fn reach(&self, _: &Frame) -> Reach {
        Reach::World
    }

    fn run(&self, mut terrain: Terrain, ctx: &Ctx<'_>) -> Result<Terrain, OpError> {
        // On these samples nothing changes; what finer ones get is worked out when they are asked for.
        ctx.tick(1, 2)?;
        let height = terrain.get(layer::HEIGHT)?.clone();
        terrain.set(layer::HEIGHT, height);
        ctx.tick(2, 2)?;
        Ok(terrain)
    }

    fn refiner(&self, solved: Solved<'_>, ctx: &Ctx<'_>) -> Result<Option<Box<dyn Refiner>>, OpError> {
        let terrain = solved.after;
        let base = *terrain.frame();
        let height = terrain.get(layer::HEIGHT)?;
        let (give, worn) = self.fields(terrain)?;
        Ok(Some(Box::new(Levels::new(Coarse {
            base,
            height: Spline::along_lines(height),
            area: areas(height, base.spacing_m(), self.sea, ctx)?,
            give,
            worn,
            strata: Strata::of(terrain).map(Arc::new),
            channel_m2: self.channel_m2 as f32,
            talus: math::tan(self.talus_deg.to_radians()) as f32,
            creep_m: self.creep_m as f32,
            finest_m: self.finest_m,
            seed: ctx.seed(),
        }))))
    }
}

/// Sediment so deep hides what lies below, in metres.
const BURIED_M: f32 = 20.0;

impl Detail {
    /// How much is cut at each sample, and the share of finer unevenness that is worn.
    fn fields(&self, terrain: &Terrain) -> Result<(Raster<f32>, Raster<f32>), OpError> {
        let height = terrain.get(layer::HEIGHT)?;
        let strength = self.strength.on(terrain)?;
        let water: Option<&Raster<f32>> = terrain.get(layer::WATER).ok();
        let sediment: Option<&Raster<f32>> = terrain.get(layer::SEDIMENT).ok();
        let held = held_lines::held_samples(terrain);
        let is_open = |col: usize, row: usize| {
            let here = height.row(row)[col];
            let sea = self.sea && here <= 0.0;
            !(here.is_nan() || sea)
                && water.is_none_or(|water| water.row(row)[col] <= 0.0)
                && held.as_ref().is_none_or(|held| !held.row(row)[col])
        };
        let (cols, rows) = (height.cols(), height.rows());
        let open = Raster::from_fn(cols, rows, |col, row| if is_open(col, row) { 1.0 } else { 0.0 });
        // Water keeps its shores: the samples around it are left alone as well.
        let open = Raster::from_fn(cols, rows, |col, row| {
            let near = (-1..=1).flat_map(|dr| (-1..=1).map(move |dc| (dc, dr)));
            near.map(|(dc, dr)| open.clamped(col as isize + dc, row as isize + dr)).fold(1.0f32, f32::min)
        });
        let give = Raster::from_fn(cols, rows, |col, row| {
            // A hole in the layer, as where the land has one, hides nothing.
            let depth = sediment.map(|depth| depth.row(row)[col]).filter(|depth| !depth.is_nan());
            let buried = depth.map_or(0.0, |depth| (depth / BURIED_M).clamp(0.0, 1.0));
            let strength = strength.at(col, row);
            let strength = if strength.is_nan() { 0.0 } else { strength.clamp(0.0, 4.0) };
            strength * (1.0 - buried) * open.row(row)[col]
        });
        let gone = (1.0 - self.keep) as f32;
        let worn = Raster::from_fn(cols, rows, |col, row| gone * give.row(row)[col].min(1.0));
        Ok((give, worn))
    }
}

/// The area that drains through each sample, in square metres.
fn areas(height: &Raster<f32>, [dx, dy]: [f64; 2], sea: bool, ctx: &Ctx<'_>) -> Result<Raster<f32>, OpError> {
    let sea_m = if sea { 0.0 } else { f32::NEG_INFINITY };
    let drained = drainage(height, [dx, dy], sea_m, &ctx.unwatched())?;
    let cells = spread::cells(height, &drained, [dx, dy], Sharing::Slopes(4.0), |_| PARTS, &ctx.unwatched())?;
    Ok(cells.map(|cells| cells.max(1.0) * (dx * dy) as f32))
}
