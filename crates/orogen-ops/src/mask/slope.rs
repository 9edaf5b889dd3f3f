//! Mask by slope: the ground between two steepnesses.

use orogen_core::param::Fault;
use orogen_core::{
    Cancelled, Ctx, Frame, LayerData, LayerName, Layers, Op, OpError, Raster, Reach, Terrain, layer,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::band::{Band, order_fault};
use crate::survey::gradient::{self, Method};
use crate::survey::slope::degrees;

/// Marks the ground between two steepnesses: 1 inside, 0 outside, with soft edges.
///
/// ```text
/// mask = s((a − min + f) / f) · s((max + f − a) / f)        a: slope;  s(t) = t²(3 − 2t), t clamped to 0..1
/// ```
///
/// The slope is measured from the height as `survey.slope` does, whether or not there is a layer `slope`.
///
/// **Guarantees** (1) every result lies in 0 to 1; (2) ground from `min_deg` to `max_deg`, both included, has exactly
/// 1, and ground further than `falloff_deg` outside has exactly 0; (3) without falloff the mask is 0 or 1.
///
/// **Limits** A hole in the height has 0, inverted or not. Slope belongs to a resolution, and a mask turns a small
/// change of slope near its edges into a large one: a wide falloff keeps previews faithful, hence the promise of 8 %.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Slope {
    /// Gentlest ground that is fully inside.
    #[schemars(range(min = 0.0, max = 90.0), extend("x-unit" = "deg"))]
    pub min_deg: f64,
    /// Steepest ground that is fully inside.
    #[schemars(range(min = 0.0, max = 90.0), extend("x-unit" = "deg"))]
    pub max_deg: f64,
    /// Slope over which the mask fades from 1 to 0 outside the range.
    #[schemars(range(min = 0.0, max = 90.0), extend("x-unit" = "deg", "x-slider" = [0.0, 20.0]))]
    pub falloff_deg: f64,
    /// Marks everything but the range.
    pub invert: bool,
    /// Layer that receives the mask.
    pub to: LayerName,
    /// How the gradient is estimated.
    pub method: Method,
}

impl Default for Slope {
    fn default() -> Self {
        Self {
            min_deg: 30.0,
            max_deg: 90.0,
            falloff_deg: 10.0,
            invert: false,
            to: layer::MASK.name(),
            method: Method::Horn,
        }
    }
}

impl Op for Slope {
    const ID: &'static str = "mask.slope";
    const VERSION: u32 = 1;
    const PREVIEW_RMSE: f64 = 0.08;

    fn layers(&self) -> Layers {
        Layers::none().reading([layer::HEIGHT.name()]).writing([self.to.clone()])
    }

    fn reach(&self, frame: &Frame) -> Reach {
        gradient::reach(frame)
    }

    fn faults(&self) -> Vec<Fault> {
        order_fault(("min_deg", self.min_deg), ("max_deg", self.max_deg))
    }

    fn run(&self, mut terrain: Terrain, ctx: &Ctx<'_>) -> Result<Terrain, OpError> {
        let mask = mask(terrain.get(layer::HEIGHT)?, terrain.frame().spacing_m(), self, ctx)?;
        terrain.set_named(self.to.clone(), LayerData::F32(mask.into()));
        Ok(terrain)
    }
}

/// The algorithm alone: 8 bytes a cell.
///
/// # Errors
/// When cancelled.
pub fn mask(
    height: &Raster<f32>,
    spacing_m: [f64; 2],
    params: &Slope,
    ctx: &Ctx<'_>,
) -> Result<Raster<f32>, Cancelled> {
    let band = Band {
        min: params.min_deg as f32,
        max: params.max_deg as f32,
        falloff: params.falloff_deg as f32,
        invert: params.invert,
    };
    let mut mask = gradient::measure(height, spacing_m, params.method, ctx, |p, q| band.at(degrees(p, q)))?;
    mask.par_rows(|_, values| {
        for value in values {
            *value = if value.is_nan() { 0.0 } else { *value }; // a hole is not part of a mask
        }
    });
    Ok(mask)
}

#[cfg(test)]
mod tests {
    use super::*;
    use orogen_core::Cell;
    use orogen_core::testkit::ramp;

    #[test]
    fn steep_ground_is_inside_and_holes_are_not() {
        let mut height = ramp(9, 10.0, 1.0);
        height[Cell { col: 4, row: 4 }] = f32::NAN;
        for (min_deg, inside) in [(40.0, 1.0), (60.0, 0.0)] {
            let mask =
                mask(&height, [10.0, 10.0], &Slope { min_deg, ..Slope::default() }, &Ctx::silent()).unwrap();
            assert_eq!(mask[Cell { col: 2, row: 2 }], inside);
            assert_eq!(mask[Cell { col: 4, row: 4 }], 0.0);
        }
    }

    #[test]
    fn a_range_that_ends_before_it_starts_is_refused() {
        let faults = Slope { min_deg: 80.0, max_deg: 20.0, ..Slope::default() }.faults();
        assert_eq!(faults[0].to_string(), "min_deg: 80 is above max_deg (20)");
    }
}
