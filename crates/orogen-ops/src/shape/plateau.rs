//! Plateau: high ground cut off.

use orogen_core::{Coef, Ctx, Frame, LayerName, Layers, Op, OpError, Reach, Terrain, layer};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::combine::pair::{change, line, smooth_min, zip};

/// Flattens ground above a level into a plateau, with a rounded rim and as much of the old relief on top as wanted.
///
/// ```text
/// out = smin(h, t + r·(h − t), k)        t: top_m, r: relief, k: smooth_m
/// smin(a, b, k) = min(a, b) − k/4 · max(0, 1 − |a − b|/k)²
/// ```
///
/// **Guarantees** (1) no ground rises; (2) without smoothing, ground up to `top_m` is kept bit for bit; (3) with
/// `relief` 0 nothing lies above `top_m`; (4) higher ground stays at least as high as lower ground at one level; (5)
/// with `smooth_m` over 0 the rim has no crease.
///
/// **Limits** Where `top_m` is a layer with a hole, the ground stays. Smoothing also lowers ground within `smooth_m`
/// under the rim, by at most a quarter of it.
///
/// **After** the plateaus by a minimum function of Musgrave's terrain controls (Ebert et al., *Texturing and
/// Modeling*, 2003).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Plateau {
    /// Layer that is changed.
    pub layer: LayerName,
    /// Level of the plateau: a number, or a layer.
    #[schemars(extend("minimum" = -1e5, "maximum" = 1e5, "x-unit" = "m", "x-slider" = [0.0, 3000.0]))]
    pub top_m: Coef,
    /// Share of the relief above the level that stays; 0 is a flat top.
    #[schemars(range(min = 0.0, max = 1.0), extend("x-slider" = [0.0, 0.3]))]
    pub relief: f64,
    /// Height over which the rim is rounded; 0 keeps a sharp edge.
    #[schemars(range(min = 0.0, max = 1e5), extend("x-unit" = "m", "x-slider" = [0.0, 200.0]))]
    pub smooth_m: f64,
}

impl Default for Plateau {
    fn default() -> Self {
        Self { layer: layer::HEIGHT.name(), top_m: Coef::Const(300.0), relief: 0.05, smooth_m: 40.0 }
    }
}

impl Op for Plateau {
    const ID: &'static str = "shape.plateau";
    const VERSION: u32 = 1;

    fn layers(&self) -> Layers {
        Layers::none().updating([self.layer.clone()]).reading(self.top_m.layer())
    }

    fn reach(&self, _: &Frame) -> Reach {
        Reach::Point
    }

    fn endless(&self) -> bool {
        true
    }

    fn run(&self, mut terrain: Terrain, ctx: &Ctx<'_>) -> Result<Terrain, OpError> {
        let (relief, band) = (self.relief as f32, self.smooth_m as f32);
        let top = self.top_m.on(&terrain)?;
        let changed = change(&terrain, &self.layer, ctx, |row, out, before| {
            zip(out, before, line(top, row), |h, top| smooth_min(h, top + relief * (h - top), band));
        })?;
        terrain.set_named(self.layer.clone(), changed);
        Ok(terrain)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::combine::pair::tests::apply;

    #[test]
    fn cuts_what_is_higher_and_leaves_what_is_lower() {
        let flat = Plateau { top_m: Coef::Const(20.0), relief: 0.0, smooth_m: 0.0, ..Plateau::default() };
        assert_eq!(apply(&flat, [-5.0, 19.5, 20.0, 90.0], None), [-5.0, 19.5, 20.0, 20.0]);
        let rolling = Plateau { relief: 0.1, ..flat };
        assert_eq!(apply(&rolling, [-5.0, 19.5, 20.0, 90.0], None), [-5.0, 19.5, 20.0, 27.0]);
    }

    #[test]
    fn a_rounded_rim_rises_nowhere_and_keeps_the_order_of_heights() {
        let op = Plateau { top_m: Coef::Const(20.0), relief: 0.0, smooth_m: 16.0, ..Plateau::default() };
        let out = apply(&op, [4.0, 12.0, 20.0, 36.0], None);
        assert_eq!(out, [4.0, 11.0, 16.0, 20.0]);
        assert!(apply(&op, [f32::NAN; 4], None)[0].is_nan());
    }
}
