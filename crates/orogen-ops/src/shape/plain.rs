//! Plain: low ground filled up.

use orogen_core::{Coef, Ctx, Frame, LayerName, Layers, Op, OpError, Reach, Terrain, layer};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::combine::pair::{change, line, smooth_max, zip};

/// Flattens ground below a level into a plain, running smoothly into the slopes, with as much of the old relief as
/// wanted.
///
/// ```text
/// out = smax(h, f + r·(h − f), k)        f: floor_m, r: relief, k: smooth_m
/// smax(a, b, k) = max(a, b) + k/4 · max(0, 1 − |a − b|/k)²
/// ```
///
/// **Guarantees** (1) no ground sinks; (2) without smoothing, ground from `floor_m` up is kept bit for bit; (3) with
/// `relief` 0 nothing lies below `floor_m`; (4) with `smooth_m` over 0 the foot of the slopes has no crease.
///
/// **Limits** Where `floor_m` is a layer with a hole, the ground stays. Smoothing also raises ground within `smooth_m`
/// above the plain, by at most a quarter of it.
///
/// **After** the plains by a maximum function of Musgrave's terrain controls (Ebert et al., *Texturing and Modeling*,
/// 2003).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Plain {
    /// Layer that is changed.
    pub layer: LayerName,
    /// Level of the plain: a number, or a layer.
    #[schemars(extend("minimum" = -1e5, "maximum" = 1e5, "x-unit" = "m", "x-slider" = [-200.0, 1000.0]))]
    pub floor_m: Coef,
    /// Share of the relief below the level that stays; 0 is a flat plain.
    #[schemars(range(min = 0.0, max = 1.0), extend("x-slider" = [0.0, 0.3]))]
    pub relief: f64,
    /// Height over which the foot of the slopes is rounded; 0 keeps a sharp edge.
    #[schemars(range(min = 0.0, max = 1e5), extend("x-unit" = "m", "x-slider" = [0.0, 200.0]))]
    pub smooth_m: f64,
}

impl Default for Plain {
    fn default() -> Self {
        Self { layer: layer::HEIGHT.name(), floor_m: Coef::Const(100.0), relief: 0.05, smooth_m: 40.0 }
    }
}

impl Op for Plain {
    const ID: &'static str = "shape.plain";
    const VERSION: u32 = 1;

    fn layers(&self) -> Layers {
        Layers::none().updating([self.layer.clone()]).reading(self.floor_m.layer())
    }

    fn reach(&self, _: &Frame) -> Reach {
        Reach::Point
    }

    fn endless(&self) -> bool {
        true
    }

    fn run(&self, mut terrain: Terrain, ctx: &Ctx<'_>) -> Result<Terrain, OpError> {
        let (relief, band) = (self.relief as f32, self.smooth_m as f32);
        let floor = self.floor_m.on(&terrain)?;
        let changed = change(&terrain, &self.layer, ctx, |row, out, before| {
            zip(out, before, line(floor, row), |h, floor| smooth_max(h, floor + relief * (h - floor), band));
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
    fn fills_what_is_lower_and_leaves_what_is_higher() {
        let flat = Plain { floor_m: Coef::Const(20.0), relief: 0.0, smooth_m: 0.0, ..Plain::default() };
        assert_eq!(apply(&flat, [-50.0, 19.5, 20.0, 90.0], None), [20.0, 20.0, 20.0, 90.0]);
        let rolling = Plain { relief: 0.5, ..flat };
        assert_eq!(apply(&rolling, [-50.0, 19.0, 20.0, 90.0], None), [-15.0, 19.5, 20.0, 90.0]);
    }

    #[test]
    fn a_rounded_foot_sinks_nowhere() {
        let op = Plain { floor_m: Coef::Const(20.0), relief: 0.0, smooth_m: 16.0, ..Plain::default() };
        assert_eq!(apply(&op, [4.0, 20.0, 28.0, 36.0], None), [20.0, 24.0, 29.0, 36.0]);
    }
}
