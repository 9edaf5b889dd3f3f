//! Minimum: the lower of two.

use orogen_core::{Coef, Ctx, Frame, LayerName, Layers, Op, OpError, Reach, Terrain, layer};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::pair::{self, smooth_min, zip};

/// Keeps the lower of a layer and an operand: carves the operand's valleys, or cuts tops off at a number.
///
/// ```text
/// out = min(a, b) − k/4 · max(0, 1 − |a − b|/k)²        k: smooth_m
/// ```
///
/// The operand is a number, or a layer of the step named by `with`.
///
/// **Guarantees** (1) the result is never above either of the two, and at most `smooth_m / 4` below the lower one; (2)
/// with `smooth_m` over 0 its first derivative has no jump where the two cross; (3) further apart than `smooth_m`, the
/// lower one is kept bit for bit.
///
/// **Limits** Where the operand is a hole the layer stays; a hole in the layer stays a hole.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Min {
    /// Layer that is changed.
    pub layer: LayerName,
    /// What it is compared with: a number in the unit of the layer, or a layer of the step named by `with`.
    #[schemars(extend("minimum" = -1e9, "maximum" = 1e9))]
    pub operand: Coef,
    /// Difference below which the two run smoothly into each other (in the layer's own unit); 0 keeps the crease.
    #[schemars(range(min = 0.0, max = 1e5), extend("x-unit" = "m", "x-slider" = [0.0, 200.0]))]
    pub smooth_m: f64,
}

impl Default for Min {
    fn default() -> Self {
        Self { layer: layer::HEIGHT.name(), operand: Coef::Layer(layer::HEIGHT.name()), smooth_m: 0.0 }
    }
}

impl Op for Min {
    const ID: &'static str = "combine.min";
    const VERSION: u32 = 1;

    fn layers(&self) -> Layers {
        pair::layers(&self.layer, &self.operand)
    }

    fn reach(&self, _: &Frame) -> Reach {
        Reach::Point
    }

    fn endless(&self) -> bool {
        true
    }

    fn run(&self, mut terrain: Terrain, ctx: &Ctx<'_>) -> Result<Terrain, OpError> {
        let band = self.smooth_m as f32;
        let changed = pair::combine(Self::ID, &terrain, &self.layer, &self.operand, ctx, |_, out, a, b| {
            zip(out, a, b, |a, b| smooth_min(a, b, band));
        })?;
        terrain.set_named(self.layer.clone(), changed);
        Ok(terrain)
    }
}

#[cfg(test)]
mod tests {
    use super::super::pair::tests::apply;
    use super::*;

    #[test]
    fn keeps_the_lower_and_rounds_off_where_they_meet() {
        let (a, b) = ([0.0, 10.0, 20.0, 30.0], [20.0, 20.0, 20.0, f32::NAN]);
        assert_eq!(apply(&Min::default(), a, Some(b)), [0.0, 10.0, 20.0, 30.0]);
        let smooth = Min { smooth_m: 20.0, ..Min::default() };
        assert_eq!(apply(&smooth, a, Some(b)), [0.0, 8.75, 15.0, 30.0]);
    }
}
