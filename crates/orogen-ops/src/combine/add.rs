//! Add: one layer plus another.

use orogen_core::{Coef, Ctx, Frame, LayerName, Layers, Op, OpError, Reach, Terrain, layer};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::pair::{self, zip};

/// Adds an operand, times a factor, to a layer; a factor of −1 subtracts it.
///
/// ```text
/// out = a + factor · b
/// ```
///
/// The operand is a number, or a layer of the step named by `with`.
///
/// **Guarantees** A factor of 0 leaves the layer as it is, whatever the operand.
///
/// **Limits** Where the operand is a hole the layer stays; a hole in the layer stays a hole.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Add {
    /// Layer that is changed.
    pub layer: LayerName,
    /// What is added: a number in the unit of the layer, or a layer of the step named by `with`.
    #[schemars(extend("minimum" = -1e9, "maximum" = 1e9))]
    pub operand: Coef,
    /// How many times the operand is added.
    #[schemars(range(min = -1e6, max = 1e6), extend("x-slider" = [-2.0, 2.0]))]
    pub factor: f64,
}

impl Default for Add {
    fn default() -> Self {
        Self { layer: layer::HEIGHT.name(), operand: Coef::Layer(layer::HEIGHT.name()), factor: 1.0 }
    }
}

impl Op for Add {
    const ID: &'static str = "combine.add";
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
        let factor = self.factor as f32;
        let changed = pair::combine(Self::ID, &terrain, &self.layer, &self.operand, ctx, |_, out, a, b| {
            zip(out, a, b, |a, b| a + factor * b);
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
    fn adds_and_subtracts() {
        let (a, b) = ([1.0, 2.0, 3.0, 4.0], [10.0, 20.0, f32::NAN, 40.0]);
        assert_eq!(apply(&Add::default(), a, Some(b)), [11.0, 22.0, 3.0, 44.0]);
        let less = Add { factor: -0.5, ..Add::default() };
        assert_eq!(apply(&less, a, Some(b)), [-4.0, -8.0, 3.0, -16.0]);
    }
}
