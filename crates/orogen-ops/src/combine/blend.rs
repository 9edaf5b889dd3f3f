//! Blend: from one layer to another, by an amount.

use orogen_core::{Coef, Ctx, Frame, LayerName, Layers, Op, OpError, Reach, Terrain, layer, math};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::pair::{self, Line, zip};

/// Mixes a layer with an operand: amount 0 keeps the layer, 1 takes the operand.
///
/// ```text
/// out = a + (b − a) · amount
/// ```
///
/// The operand is a number, or a layer of the step named by `with`. The amount is a number, or a layer of the step's
/// own input, so that a mask can lead from one landscape to the other.
///
/// **Guarantees** (1) amount 0 keeps the layer bit for bit; (2) otherwise the result lies between the two, up to
/// rounding.
///
/// **Limits** Where the operand or the amount is a hole the layer stays; a hole in the layer stays a hole.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Blend {
    /// Layer that is changed.
    pub layer: LayerName,
    /// What it is mixed with: a number in the unit of the layer, or a layer of the step named by `with`.
    #[schemars(extend("minimum" = -1e9, "maximum" = 1e9))]
    pub operand: Coef,
    /// How much of the operand: from 0 (none) to 1 (nothing else), or a layer that says so.
    #[schemars(extend("minimum" = 0.0, "maximum" = 1.0))]
    pub amount: Coef,
}

impl Default for Blend {
    fn default() -> Self {
        Self {
            layer: layer::HEIGHT.name(),
            operand: Coef::Layer(layer::HEIGHT.name()),
            amount: Coef::Const(0.5),
        }
    }
}

impl Op for Blend {
    const ID: &'static str = "combine.blend";
    const VERSION: u32 = 1;

    fn layers(&self) -> Layers {
        pair::layers(&self.layer, &self.operand).reading(self.amount.layer())
    }

    fn reach(&self, _: &Frame) -> Reach {
        Reach::Point
    }

    fn endless(&self) -> bool {
        true
    }

    fn run(&self, mut terrain: Terrain, ctx: &Ctx<'_>) -> Result<Terrain, OpError> {
        let amount = self.amount.on(&terrain)?;
        let changed =
            pair::combine(Self::ID, &terrain, &self.layer, &self.operand, ctx, |row, out, a, b| {
                match pair::line(amount, row) {
                    Line::Const(t) => zip(out, a, b, |a, b| math::lerp(a, b, t)),
                    Line::Values(t) => mix(out, a, b, t),
                }
            })?;
        terrain.set_named(self.layer.clone(), changed);
        Ok(terrain)
    }
}

/// Mixes a row by an amount per sample, which is clamped to 0..1.
fn mix(out: &mut [f32], a: &[f32], b: Line<'_>, t: &[f32]) {
    zip(out, a, b, |_, b| b);
    for ((out, &a), &t) in out.iter_mut().zip(a).zip(t) {
        *out = if t.is_nan() { a } else { math::lerp(a, *out, t.clamp(0.0, 1.0)) };
    }
}

#[cfg(test)]
mod tests {
    use super::super::pair::tests::{apply, terrain};
    use super::*;
    use orogen_core::Raster;

    #[test]
    fn amounts_lead_from_the_layer_to_the_operand() {
        let (a, b) = ([0.0, 10.0, 20.0, f32::NAN], [100.0, 100.0, f32::NAN, 5.0]);
        for (amount, expected) in
            [(0.0, [0.0, 10.0, 20.0]), (0.25, [25.0, 32.5, 20.0]), (1.0, [100.0, 100.0, 20.0])]
        {
            let blend = Blend { amount: Coef::Const(amount), ..Blend::default() };
            let out = apply(&blend, a, Some(b));
            assert_eq!(out[..3], expected);
            assert!(out[3].is_nan());
        }
    }

    #[test]
    fn a_mask_says_where() {
        let mut first = terrain([0.0; 4]);
        first.set(layer::MASK, Raster::from_fn(4, 2, |c, _| [0.0, 0.5, 2.0, f32::NAN][c]));
        let blend =
            Blend { operand: Coef::Const(8.0), amount: Coef::Layer(layer::MASK.name()), ..Blend::default() };
        let out = blend.apply(first, &Ctx::silent()).unwrap();
        assert_eq!(out.get(layer::HEIGHT).unwrap().row(1), [0.0, 4.0, 8.0, 0.0]);
    }
}
