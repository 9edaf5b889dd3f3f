//! Flow: the area that drains through each sample.

use orogen_core::{Ctx, Frame, Layers, Op, OpError, Raster, Reach, Terrain, layer};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{keep_holes, sea_level};
use crate::drainage::spread::{self, Sharing};
use crate::drainage::{Drainage, RasterPool, area, drainage};

/// Measures how much land drains through each sample, in square metres, and keeps it as the layer `flow`.
///
/// ```text
/// flow(c) = area of a cell + Σ share(d → c) · flow(d)        over the neighbours d
/// ```
///
/// Depressions are drained over their lowest passes without changing the land: the way out of a pit is followed back to
/// where it spills. Of two equally steep ways the first clockwise from north is taken.
///
/// **Guarantees** (1) the flow of all outlets adds up to the whole map less its holes, which stay holes; (2) flow never
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
        Self { method: Method::D8, concentration: 1.1, sea: true, fill: false }
    }
}

impl Op for Flow {
    const ID: &'static str = "water.flow";
    const VERSION: u32 = 2;
    const PREVIEW_RMSE: f64 = 0.08;

    fn layers(&self) -> Layers {
        let height = [layer::HEIGHT.name()];
        let layers = if self.fill { Layers::none().updating(height) } else { Layers::none().reading(height) };
        layers.deriving([layer::FLOW.name()], [layer::HEIGHT.name()])
    }

    fn reach(&self, _: &Frame) -> Reach {
        Reach::World
    }

    fn bytes_a_sample(&self, _: &Frame) -> f64 {
        7.0
    }

    fn run(&self, mut terrain: Terrain, ctx: &Ctx<'_>) -> Result<Terrain, OpError> {
        let spacing_m = terrain.frame().spacing_m();
        let height = terrain.get(layer::HEIGHT)?;
        let found = drainage(height, spacing_m, sea_level(self.sea), ctx)?;
        let spread = self.spread(height, &found, spacing_m, ctx)?;
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
    /// Flow that parts on its way; none with `d8`.
    fn spread(
        &self,
        height: &Raster<f32>,
        found: &Drainage,
        spacing_m: [f64; 2],
        ctx: &Ctx<'_>,
    ) -> Result<Option<Raster<f32>>, OpError> {
        let sharing = match self.method {
            Method::D8 => return Ok(None),
            Method::Dinf => Sharing::Facet,
            Method::Mfd => Sharing::Slopes(self.concentration),
        };
        let cell_m2 = spacing_m[0] * spacing_m[1];
        let cells = spread::cells(height, found, spacing_m, sharing, ctx)?;
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

/// The algorithm alone, with the sea at any level.
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
    let spread = params.spread(height, &found, spacing_m, ctx)?;
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
