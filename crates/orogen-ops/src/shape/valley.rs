//! Valley: broad, gently rolling floors between the mountains.

use orogen_core::{Coef, Ctx, Frame, LayerName, Layers, Op, OpError, Reach, Terrain, layer};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::combine::pair::{Line, change, smooth_max, smooth_min, zip};
use crate::octaves::{OctaveBuffers, Octaves};

/// Which of the land and the smooth surface is kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Keep {
    /// The higher: valley floors between mountains that stay.
    #[default]
    Higher,
    /// The lower: a rolling tableland cut by the valleys that stay.
    Lower,
}

/// Lays broad valley floors between mountains: the higher of the land and a second, low and smooth land made of noise.
///
/// ```text
/// out = smax(h, l + a·N(x/w, y/w), k)      l: level_m, a: amplitude_m, w: wavelength_m, k: smooth_m
/// ```
///
/// `N` is noise of three octaves, within -1 to 1. With `keep = "lower"` the minimum is taken instead, which turns the
/// heights into a rolling tableland.
///
/// **Guarantees** (1) keeping the higher, no ground sinks, and none ends below `level_m - amplitude_m`; keeping the
/// lower, no ground rises, and none ends above `level_m + amplitude_m`; (2) ground further than `smooth_m` beyond the
/// floor is kept bit for bit; (3) with `smooth_m` over 0 there is no crease along the foot of the slopes.
///
/// **Limits** The floor does not drain by itself: it has hollows of its own, which lakes fill. Where `level_m` is a
/// layer with a hole, the ground stays.
///
/// **After** Musgrave's terrain controls: a smoother land of low amplitude as the operand of a maximum (Ebert et al.,
/// *Texturing and Modeling*, 2003).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Valley {
    /// Layer that is changed.
    pub layer: LayerName,
    /// Mean level of the floor: a number, or a layer.
    #[schemars(extend("minimum" = -1e5, "maximum" = 1e5, "x-unit" = "m", "x-slider" = [-200.0, 2000.0]))]
    pub level_m: Coef,
    /// How far the floor rises and falls about its level.
    #[schemars(range(min = 0.0, max = 1e5), extend("x-unit" = "m", "x-slider" = [0.0, 200.0]))]
    pub amplitude_m: f64,
    /// Length of the floor's longest waves.
    #[schemars(range(min = 1.0, max = 1e7), extend("x-unit" = "m", "x-slider" = [200.0, 10_000.0]))]
    pub wavelength_m: f64,
    /// Height over which floor and slopes run into each other; 0 keeps a sharp edge.
    #[schemars(range(min = 0.0, max = 1e5), extend("x-unit" = "m", "x-slider" = [0.0, 300.0]))]
    pub smooth_m: f64,
    /// Which of the land and the floor is kept.
    pub keep: Keep,
}

impl Default for Valley {
    fn default() -> Self {
        Self {
            layer: layer::HEIGHT.name(),
            level_m: Coef::Const(120.0),
            amplitude_m: 60.0,
            wavelength_m: 2500.0,
            smooth_m: 80.0,
            keep: Keep::Higher,
        }
    }
}

impl Op for Valley {
    const ID: &'static str = "shape.valley";
    const VERSION: u32 = 1;

    fn layers(&self) -> Layers {
        Layers::none().updating([self.layer.clone()]).reading(self.level_m.layer())
    }

    fn reach(&self, _: &Frame) -> Reach {
        Reach::Point
    }

    fn endless(&self) -> bool {
        true
    }

    fn run(&self, mut terrain: Terrain, ctx: &Ctx<'_>) -> Result<Terrain, OpError> {
        let (amplitude, band, keep) = (self.amplitude_m as f32, self.smooth_m as f32, self.keep);
        let noise = Octaves::over(&ctx.world(&terrain), ctx.seed(), self.wavelength_m, 3, 0.4);
        let level = self.level_m.on(&terrain)?;
        let frame = *terrain.frame();
        let changed = change(&terrain, &self.layer, ctx, |row, out, before| {
            let mut floor = vec![0.0; before.len()];
            noise.row(&frame, row, 0..before.len(), &mut OctaveBuffers::default(), &mut floor);
            for (col, floor) in floor.iter_mut().enumerate() {
                *floor = level.at(col, row) + amplitude * *floor;
            }
            match keep {
                Keep::Higher => zip(out, before, Line::Values(&floor), |h, f| smooth_max(h, f, band)),
                Keep::Lower => zip(out, before, Line::Values(&floor), |h, f| smooth_min(h, f, band)),
            }
        })?;
        terrain.set_named(self.layer.clone(), changed);
        Ok(terrain)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use orogen_core::Raster;
    use orogen_core::testkit::hills;

    fn apply(op: &Valley, height: &Raster<f32>) -> Raster<f32> {
        let mut terrain = Terrain::new(Frame::square(8000.0, height.cols()).unwrap());
        terrain.set(layer::HEIGHT, height.clone());
        op.apply(terrain, &Ctx::silent()).unwrap().get(layer::HEIGHT).unwrap().clone()
    }

    #[test]
    fn floors_roll_about_their_level_and_mountains_stay() {
        let before = hills(129, 400.0);
        let op = Valley::default();
        let after = apply(&op, &before);
        let mut kept = 0;
        for (old, new) in before.as_slice().iter().zip(after.as_slice()) {
            assert!(new >= old && *new >= 60.0, "{old} became {new}");
            kept += usize::from(old == new);
            if *old > 180.0 + 80.0 {
                assert_eq!(old, new);
            }
        }
        assert!(kept > 3000, "{kept} samples are untouched");
        let low: Vec<f32> = after.as_slice().iter().copied().filter(|h| *h < 180.0).collect();
        assert!(low.iter().any(|h| *h > 130.0) && low.iter().any(|h| *h < 110.0), "the floor does not roll");
    }

    #[test]
    fn keeping_the_lower_cuts_a_tableland() {
        let before = hills(65, 400.0);
        let after = apply(&Valley { keep: Keep::Lower, ..Valley::default() }, &before);
        assert!(before.as_slice().iter().zip(after.as_slice()).all(|(old, new)| new <= old && *new <= 180.0));
    }
}
