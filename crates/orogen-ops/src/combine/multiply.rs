//! Multiply: one layer scaled by another.

use orogen_core::{Coef, Ctx, Frame, LayerName, Layers, Op, OpError, Reach, Terrain, layer};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::pair::{self, zip};

/// Multiplies a layer by an operand: a number scales it, a mask fades it out.
///
/// ```text
/// out = a · b
/// ```
///
/// The operand is a number, or a layer of the step named by `with`.
///
/// **Guarantees** An operand of 1 keeps the layer bit for bit.
///
/// **Limits** Where the operand is a hole the layer stays; a hole in the layer stays a hole. Heights grow and shrink
/// from sea level (0).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Multiply {
    /// Layer that is changed.
    pub layer: LayerName,
    /// What it is multiplied by: a number, or a layer of the step named by `with`.
    #[schemars(extend("minimum" = -1e6, "maximum" = 1e6))]
    pub operand: Coef,
}

impl Default for Multiply {
    fn default() -> Self {
        Self { layer: layer::HEIGHT.name(), operand: Coef::Layer(layer::HEIGHT.name()) }
    }
}

impl Op for Multiply {
    const ID: &'static str = "combine.multiply";
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
        let changed = pair::combine(Self::ID, &terrain, &self.layer, &self.operand, ctx, |_, out, a, b| {
            zip(out, a, b, |a, b| a * b);
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
    fn scales_by_a_layer_or_a_number() {
        let a = [1.0, -2.0, 3.0, 4.0];
        assert_eq!(apply(&Multiply::default(), a, Some([0.5, 2.0, f32::NAN, 0.0])), [0.5, -4.0, 3.0, 0.0]);
        let twice = Multiply { operand: Coef::Const(2.0), ..Multiply::default() };
        assert_eq!(apply(&twice, a, None), [2.0, -4.0, 6.0, 8.0]);
    }
}
