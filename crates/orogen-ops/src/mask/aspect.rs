//! Mask by aspect: the ground that faces a direction.

use orogen_core::math::{self, smoothstep};
use orogen_core::{
    Cancelled, Ctx, Frame, LayerData, LayerName, Layers, Op, OpError, Raster, Reach, Terrain, layer,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::band::Band;
use crate::survey::gradient::{self, Method};
use crate::survey::slope::degrees;

/// Marks the ground that faces a direction: shady north slopes, sunny vineyards, the weather side.
///
/// ```text
/// mask = s((w + f − |a − t|) / f) · s(slope / m)        s(x) = x²(3 − 2x), x clamped to 0..1
/// ```
///
/// `a` is the direction in which the ground falls, `t` the given direction, `w` the width to either side, `f` the
/// falloff, and `m` the slope from which ground counts fully as facing anywhere.
///
/// **Guarantees** (1) every result lies in 0 to 1; (2) ground at least as steep as `min_slope_deg` that falls within
/// `width_deg` of the direction has exactly 1, and ground further than `falloff_deg` outside has exactly 0; (3) level
/// ground faces nowhere and has 0; (4) bearings that differ by whole turns are the same.
///
/// **Limits** A hole in the height has 0, inverted or not; inverted, level ground has 1. Aspect belongs to a
/// resolution, as slope does, and a mask turns a small change near its edges into a large one: hence the promise
/// of 8 %.
///
/// **After** the gradient of Horn, Proc. IEEE 69 (1981).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Aspect {
    /// Direction that the ground faces, clockwise from north: 90 is east.
    #[schemars(range(min = -360.0, max = 360.0), extend("x-unit" = "deg", "x-slider" = [0.0, 360.0]))]
    pub toward_deg: f64,
    /// How far from it ground may face and be fully inside.
    #[schemars(range(min = 0.0, max = 180.0), extend("x-unit" = "deg", "x-slider" = [0.0, 120.0]))]
    pub width_deg: f64,
    /// Angle over which the mask fades from 1 to 0 outside.
    #[schemars(range(min = 0.0, max = 180.0), extend("x-unit" = "deg", "x-slider" = [0.0, 60.0]))]
    pub falloff_deg: f64,
    /// Slope from which ground counts fully; gentler ground counts less, level ground not at all.
    #[schemars(range(min = 0.01, max = 90.0), extend("x-unit" = "deg", "x-slider" = [0.5, 15.0]))]
    pub min_slope_deg: f64,
    /// Marks everything else.
    pub invert: bool,
    /// Layer that receives the mask.
    pub to: LayerName,
    /// How the gradient is estimated.
    pub method: Method,
}

impl Default for Aspect {
    fn default() -> Self {
        Self {
            toward_deg: 0.0,
            width_deg: 30.0,
            falloff_deg: 60.0,
            min_slope_deg: 5.0,
            invert: false,
            to: layer::MASK.name(),
            method: Method::Horn,
        }
    }
}

impl Op for Aspect {
    const ID: &'static str = "mask.aspect";
    const VERSION: u32 = 1;
    const PREVIEW_RMSE: f64 = 0.08;

    fn layers(&self) -> Layers {
        Layers::none().reading([layer::HEIGHT.name()]).writing([self.to.clone()])
    }

    fn reach(&self, frame: &Frame) -> Reach {
        gradient::reach(frame)
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
    params: &Aspect,
    ctx: &Ctx<'_>,
) -> Result<Raster<f32>, Cancelled> {
    let bearing = params.toward_deg.to_radians();
    let (east, north) = (math::sin(bearing) as f32, math::cos(bearing) as f32);
    let band =
        Band { min: -1.0, max: params.width_deg as f32, falloff: params.falloff_deg as f32, invert: false };
    let (steep, invert) = (params.min_slope_deg as f32, params.invert);
    let mut mask = gradient::measure(height, spacing_m, params.method, ctx, |p, q| {
        // Along and across the direction, of the way that the ground falls.
        let (along, across) = (-p * east - q * north, p * north - q * east);
        // Beside zero the quotient is as good as vertical, and level ground is recognised by its slope.
        let angle = degrees(across / along.abs().max(1e-30), 0.0);
        let angle = if along >= 0.0 { angle } else { 180.0 - angle };
        let inside = band.at(angle) * smoothstep(0.0, steep, degrees(p, q));
        if invert { 1.0 - inside } else { inside }
    })?;
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

    /// Ground that falls towards a bearing with a grade of 0.5.
    fn facing(bearing_deg: f64) -> Raster<f32> {
        let bearing = bearing_deg.to_radians();
        let (east, north) = (math::sin(bearing), math::cos(bearing));
        Raster::from_fn(9, 9, |c, r| (-0.5 * (east * 10.0 * c as f64 - north * 10.0 * r as f64)) as f32)
    }

    fn at(ground_deg: f64, params: &Aspect) -> f32 {
        mask(&facing(ground_deg), [10.0, 10.0], params, &Ctx::silent()).unwrap()[Cell { col: 4, row: 4 }]
    }

    #[test]
    fn ground_is_inside_when_it_faces_there_whatever_turn_the_bearing_takes() {
        for toward_deg in [-270.0, 90.0] {
            let params = Aspect { toward_deg, width_deg: 30.0, falloff_deg: 40.0, ..Aspect::default() };
            for ground in 0..72 {
                let ground = f64::from(ground) * 5.0;
                let apart = (ground - 90.0).abs().min(360.0 - (ground - 90.0).abs());
                let expected = if apart < 29.9 {
                    1.0
                } else if apart > 70.1 {
                    0.0
                } else {
                    continue;
                };
                assert_eq!(at(ground, &params), expected, "{ground}");
            }
            assert!((at(140.0, &params) - 0.5).abs() < 1e-2, "{}", at(140.0, &params));
        }
    }

    #[test]
    fn level_ground_faces_nowhere_and_holes_are_outside() {
        let mut height = Raster::filled(5, 5, 3.0);
        height[Cell { col: 2, row: 2 }] = f32::NAN;
        for (invert, level) in [(false, 0.0), (true, 1.0)] {
            let params = Aspect { invert, ..Aspect::default() };
            let mask = mask(&height, [10.0, 10.0], &params, &Ctx::silent()).unwrap();
            assert_eq!((mask[Cell { col: 0, row: 0 }], mask[Cell { col: 2, row: 2 }]), (level, 0.0));
        }
    }
}
