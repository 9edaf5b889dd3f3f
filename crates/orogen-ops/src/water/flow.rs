//! Flow: the area that drains through each sample.

use orogen_core::param::Field;
use orogen_core::{Coef, Ctx, Frame, Layers, Op, OpError, Raster, Reach, Terrain, layer};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{keep_holes, sea_level};
use crate::drainage::spread::{self, Sharing};
use crate::drainage::{Drainage, RasterPool, area, drainage};

/// Measures how much land drains through each sample, in square metres, and keeps it as the layer `flow`.
///
/// ```text
/// flow(c) = area of a cell · rain / 1000 mm + Σ share(d → c) · flow(d)        over the neighbours d
/// ```
///
/// With other rain than 1000 mm a year (`rain_mm_per_yr`, a number or the layer that `climate.rain` makes) flow is the area
/// that would bring as much water with it.
///
/// Depressions are drained over their lowest passes without changing the land: the way out of a pit is followed back to
/// where it spills. Of two equally steep ways the first clockwise from north is taken.
///
/// **Guarantees** (1) the flow of all outlets adds up to the rain on the whole map less its holes, which stay holes; (2) flow never
/// falls downstream with `d8`; (3) on a cone `dinf` and `mfd` drain evenly in all directions, within 10 %; (4) rounding
/// does not depend on the number of threads.
///
/// **Limits** Water leaves at the edge of the map, so that what flows in from beyond is missing. Flow belongs to a
/// resolution: a river is one sample wide, so previews differ along its banks.
///
/// **After** O'Callaghan & Mark 1984 (`d8`), Tarboton 1997 (`dinf`), Freeman 1991 and Quinn et al. 1991 (`mfd`);
/// depressions after Cordonnier, Bovy & Braun 2019.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Flow {
    /// How water is shared out among lower neighbours.
    pub method: Method,
    /// With `mfd`: how strongly the steepest neighbours are preferred.
    #[schemars(range(min = 0.1, max = 20.0))]
    pub concentration: f64,
    /// Rain: a number, or a layer. A hole in the layer has none.
    #[schemars(extend("minimum" = 0.0, "maximum" = 20000.0, "x-unit" = "mm/yr", "x-slider" = [0.0, 4000.0]))]
    pub rain_mm_per_yr: Coef,
    /// Whether land at or below sea level (0 m) is sea, where water leaves.
    pub sea: bool,
    /// Whether depressions are also filled to the brim, as by `water.fill` but without a second pass.
    pub fill: bool,
}

/// How water is shared out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Method {
    /// All to the steepest of eight neighbours: rivers as lines.
    #[default]
    D8,
    /// To the two neighbours on either side of the steepest direction: little bias, little spreading.
    Dinf,
    /// To all lower neighbours by their slopes: smooth on hills.
    Mfd,
}

impl Default for Flow {
    fn default() -> Self {
        Self {
            method: Method::D8,
            concentration: 1.1,
            rain_mm_per_yr: Coef::Const(area::USUAL_MM_PER_YR),
            sea: true,
            fill: false,
        }
    }
}

impl Op for Flow {
    const ID: &'static str = "water.flow";
    const VERSION: u32 = 2;
    const PREVIEW_RMSE: f64 = 0.08;

    fn layers(&self) -> Layers {
        let height = [layer::HEIGHT.name()];
        let layers = if self.fill { Layers::none().updating(height) } else { Layers::none().reading(height) };
        let rain = self.rain_mm_per_yr.layer();
        let from = rain.clone().into_iter().chain([layer::HEIGHT.name()]);
        layers.reading(rain).deriving([layer::FLOW.name()], from)
    }

    fn reach(&self, _: &Frame) -> Reach {
        Reach::World
    }

    fn bytes_a_sample(&self, _: &Frame) -> f64 {
        if area::is_usual(&self.rain_mm_per_yr) { 7.0 } else { 15.0 }
    }

    fn run(&self, mut terrain: Terrain, ctx: &Ctx<'_>) -> Result<Terrain, OpError> {
        let spacing_m = terrain.frame().spacing_m();
        let height = terrain.get(layer::HEIGHT)?;
        let found = drainage(height, spacing_m, sea_level(self.sea), ctx)?;
        let spread = self.spread(height, &found, spacing_m, self.rain_mm_per_yr.on(&terrain)?, ctx)?;
        if self.fill {
            terrain.update(&layer::HEIGHT.name(), |height| found.basins.fill(height))?;
        }
        let mut flow = spread.unwrap_or_else(|| steepest(found, spacing_m));
        keep_holes(&mut flow, terrain.get(layer::HEIGHT)?);
        terrain.set(layer::FLOW, flow);
        Ok(terrain)
    }
}

impl Flow {
    /// Flow that parts on its way or comes of uneven rain; none with `d8` and the usual rain.
    fn spread(
        &self,
        height: &Raster<f32>,
        found: &Drainage,
        spacing_m: [f64; 2],
        rain: Field<'_>,
        ctx: &Ctx<'_>,
    ) -> Result<Option<Raster<f32>>, OpError> {
        let sharing = match self.method {
            Method::D8 if area::is_usual(&self.rain_mm_per_yr) => return Ok(None),
            Method::D8 => None,
            Method::Dinf => Some(Sharing::Facet),
            Method::Mfd => Some(Sharing::Slopes(self.concentration)),
        };
        let cols = height.cols();
        let parts = |cell: usize| area::parts(rain.at(cell % cols, cell / cols));
        let cells = match sharing {
            Some(sharing) => spread::cells(height, found, spacing_m, sharing, parts, ctx)?,
            None => area::water(&found.ways, &found.ways.donors(), parts),
        };
        let cell_m2 = spacing_m[0] * spacing_m[1];
        Ok(Some(cells.map(|cells| (f64::from(cells) * cell_m2) as f32)))
    }
}

/// Flow down the steepest ways, in the memory of the basins.
fn steepest(found: Drainage, spacing_m: [f64; 2]) -> Raster<f32> {
    let mut pool = RasterPool::default();
    pool.take_words(found.basins.labels);
    let cells = area::cells_in(&found.ways, &found.ways.donors(), &mut pool);
    area::areas(cells, spacing_m[0] * spacing_m[1])
}

/// The algorithm alone, with the sea at any level. Rain that is a layer counts as the usual one.
///
/// # Errors
/// When cancelled, or when the map has too many samples.
pub fn flow(
    height: &Raster<f32>,
    spacing_m: [f64; 2],
    params: &Flow,
    sea_m: f32,
    ctx: &Ctx<'_>,
) -> Result<Raster<f32>, OpError> {
    let found = drainage(height, spacing_m, sea_m, ctx)?;
    let rain = match params.rain_mm_per_yr {
        Coef::Const(rain) => rain,
        Coef::Layer(_) => area::USUAL_MM_PER_YR,
    };
    let spread = params.spread(height, &found, spacing_m, Field::Const(rain as f32), ctx)?;
    let mut flow = spread.unwrap_or_else(|| steepest(found, spacing_m));
    keep_holes(&mut flow, height);
    Ok(flow)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_support;
    use crate::water::{Fill, Rivers};

    #[test]
    fn a_hole_stays_a_hole_and_all_other_ground_drains() {
        let mut height = test_support::rough(90, 61);
        for cell in [0, 700, 2005, 2006, 2095, 2096, 5400] {
            height.as_mut_slice()[cell] = f32::NAN;
        }
        for method in [Method::D8, Method::Dinf, Method::Mfd] {
            let op = Flow { method, sea: false, ..Flow::default() };
            let found = flow(&height, [10.0, 10.0], &op, f32::NEG_INFINITY, &Ctx::silent()).unwrap();
            let mut terrain = Terrain::new(Frame::new([0.0, 0.0], [890.0, 600.0], [90, 61]).unwrap());
            terrain.set(layer::HEIGHT, height.clone());
            let applied = op.apply(terrain.clone(), &Ctx::silent()).unwrap();
            let rivers = Rivers { sea: false, ..Rivers::default() }.apply(terrain, &Ctx::silent()).unwrap();
            for flow in [&found, applied.get(layer::FLOW).unwrap(), rivers.get(layer::FLOW).unwrap()] {
                for (flow, height) in flow.as_slice().iter().zip(height.as_slice()) {
                    assert_eq!(flow.is_nan(), height.is_nan(), "{method:?}");
                    assert!(flow.is_nan() || *flow >= 100.0, "{method:?}: {flow}");
                }
            }
            if method == Method::D8 {
                let ways = drainage(&height, [10.0, 10.0], f32::NEG_INFINITY, &Ctx::silent()).unwrap().ways;
                let outlets = (0..height.as_slice().len()).filter(|&cell| ways.next(cell).is_none());
                let sum: f64 =
                    outlets.map(|cell| f64::from(found.as_slice()[cell])).filter(|flow| !flow.is_nan()).sum();
                assert_eq!(sum, (90.0 * 61.0 - 7.0) * 100.0);
            }
        }
    }

    #[test]
    fn rain_counts_where_it_falls() {
        let (cols, rows) = (90, 61);
        let mut terrain = Terrain::new(Frame::new([0.0, 0.0], [890.0, 600.0], [cols, rows]).unwrap());
        terrain.set(layer::HEIGHT, test_support::rough(cols, rows));
        terrain.set(layer::RAIN, Raster::from_fn(cols, rows, |col, _| if col < 45 { 2000.0 } else { 500.0 }));
        for method in [Method::D8, Method::Dinf, Method::Mfd] {
            let op = Flow { method, ..Flow::default() };
            let flow = |rain| {
                let op = Flow { rain_mm_per_yr: rain, ..op.clone() };
                op.apply(terrain.clone(), &Ctx::silent()).unwrap().get(layer::FLOW).unwrap().clone()
            };
            let plain = flow(Coef::Const(1000.0));
            let twice = flow(Coef::Const(2000.0));
            let uneven = flow(Coef::Layer(layer::RAIN.name()));
            for cell in 0..cols * rows {
                let [plain, twice, uneven] = [&plain, &twice, &uneven].map(|flow| flow.as_slice()[cell]);
                assert!((twice - 2.0 * plain).abs() <= 1e-5 * twice, "{method:?}: {twice} of {plain}");
                assert!(
                    uneven >= 0.499 * plain && uneven <= 2.001 * plain,
                    "{method:?}: {uneven} of {plain}"
                );
            }
        }
    }

    #[test]
    fn filling_on_the_way_is_filling_alone() {
        let mut terrain = Terrain::new(Frame::new([0.0, 0.0], [890.0, 600.0], [90, 61]).unwrap());
        terrain.set(layer::HEIGHT, test_support::rough(90, 61));
        for method in [Method::D8, Method::Mfd] {
            let op = Flow { method, ..Flow::default() };
            let plain = op.apply(terrain.clone(), &Ctx::silent()).unwrap();
            let both = Flow { fill: true, ..op }.apply(terrain.clone(), &Ctx::silent()).unwrap();
            let filled = Fill::default().apply(terrain.clone(), &Ctx::silent()).unwrap();
            assert!(both.get(layer::FLOW).unwrap() == plain.get(layer::FLOW).unwrap());
            assert!(both.get(layer::HEIGHT).unwrap() == filled.get(layer::HEIGHT).unwrap());
            assert!(plain.get(layer::HEIGHT).unwrap() == terrain.get(layer::HEIGHT).unwrap());
        }
    }
}
