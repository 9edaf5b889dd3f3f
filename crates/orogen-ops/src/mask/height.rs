//! Mask by height: the ground between two elevations.

use orogen_core::param::Fault;
use orogen_core::{
    Cancelled, Ctx, Frame, LayerData, LayerName, Layers, Op, OpError, Raster, Reach, Terrain, layer,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::band::{Band, order_fault};

/// Marks the ground between two elevations: 1 inside, 0 outside, with soft edges.
///
/// ```text
/// mask = s((h − min + f) / f) · s((max + f − h) / f)        s(t) = t²(3 − 2t), t clamped to 0..1
/// ```
///
/// **Guarantees** (1) every result lies in 0 to 1; (2) ground from `min_m` to `max_m`, both included, has exactly 1,
/// and ground further than `falloff_m` outside has exactly 0; (3) without falloff the mask is 0 or 1.
///
/// **Limits** A hole in the height has 0, inverted or not: no step acts there.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Height {
    /// Lowest ground that is fully inside.
    #[schemars(range(min = -1e5, max = 1e5), extend("x-unit" = "m", "x-slider" = [-500.0, 3000.0]))]
    pub min_m: f64,
    /// Highest ground that is fully inside.
    #[schemars(range(min = -1e5, max = 1e5), extend("x-unit" = "m", "x-slider" = [-500.0, 3000.0]))]
    pub max_m: f64,
    /// Height over which the mask fades from 1 to 0 outside the range.
    #[schemars(range(min = 0.0, max = 1e5), extend("x-unit" = "m", "x-slider" = [0.0, 200.0]))]
    pub falloff_m: f64,
    /// Marks everything but the range.
    pub invert: bool,
    /// Layer that receives the mask.
    pub to: LayerName,
}

impl Default for Height {
    fn default() -> Self {
        Self { min_m: 0.0, max_m: 1e5, falloff_m: 20.0, invert: false, to: layer::MASK.name() }
    }
}

impl Op for Height {
    const ID: &'static str = "mask.height";
    const VERSION: u32 = 1;

    fn layers(&self) -> Layers {
        Layers::none().reading([layer::HEIGHT.name()]).writing([self.to.clone()])
    }

    fn reach(&self, _: &Frame) -> Reach {
        Reach::Point
    }

    fn endless(&self) -> bool {
        true
    }

    fn faults(&self) -> Vec<Fault> {
        order_fault(("min_m", self.min_m), ("max_m", self.max_m))
    }

    fn run(&self, mut terrain: Terrain, ctx: &Ctx<'_>) -> Result<Terrain, OpError> {
        let mask = mask(terrain.get(layer::HEIGHT)?, self, ctx)?;
        terrain.set_named(self.to.clone(), LayerData::F32(mask.into()));
        Ok(terrain)
    }
}

/// The algorithm alone: 8 bytes a cell.
///
/// # Errors
/// When cancelled.
pub fn mask(height: &Raster<f32>, params: &Height, ctx: &Ctx<'_>) -> Result<Raster<f32>, Cancelled> {
    let band = Band {
        min: params.min_m as f32,
        max: params.max_m as f32,
        falloff: params.falloff_m as f32,
        invert: params.invert,
    };
    let counter = ctx.counter(height.rows());
    let mut out = Raster::filled(height.cols(), height.rows(), 0.0);
    out.try_par_rows(|row, values| {
        for (value, &h) in values.iter_mut().zip(height.row(row)) {
            *value = band.at(h);
        }
        counter.done()
    })?;
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use orogen_core::testkit::ramp;

    #[test]
    fn marks_the_range_and_fades_outside_it() {
        let params = Height { min_m: 30.0, max_m: 50.0, falloff_m: 20.0, ..Height::default() };
        let mask = mask(&ramp(9, 10.0, 1.0), &params, &Ctx::silent()).unwrap();
        assert_eq!(mask.row(4), [0.0, 0.0, 0.5, 1.0, 1.0, 1.0, 0.5, 0.0, 0.0]);
    }

    #[test]
    fn a_range_that_ends_before_it_starts_is_refused() {
        let faults = Height { min_m: 80.0, max_m: 20.0, ..Height::default() }.faults();
        assert_eq!(faults[0].to_string(), "min_m: 80 is above max_m (20)");
    }
}
