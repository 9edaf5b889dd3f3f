//! Slope: how steep the ground is.

use orogen_core::{Cancelled, Ctx, Frame, Layers, Op, OpError, Raster, Reach, Terrain, layer};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::gradient::{self, Method};

/// Measures how steep the ground is, in degrees from level, and keeps it as the layer `slope`.
///
/// ```text
/// slope = atan √(p² + q²)        p, q: rise per metre to the east and to the north
/// ```
///
/// **Guarantees** (1) every result lies in 0 to 90 degrees; (2) a plane has its own slope at every sample, edges and
/// corners included; (3) cells need not be square; (4) results agree with `gdaldem slope -compute_edges` to
/// 1e-4 degrees away from holes.
///
/// **Limits** A hole stays a hole. Slope belongs to a resolution: it is measured over two cells, so land rough at the
/// size of a cell looks steeper on a finer grid. On land whose smallest features span ten cells the two agree within
/// 1 %; for rougher land the promise is 8 % of the range.
///
/// **After** Horn, Proc. IEEE 69 (1981); Zevenbergen & Thorne, Earth Surf. Process. Landf. 12 (1987).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Slope {
    /// How the gradient is estimated.
    pub method: Method,
}

impl Op for Slope {
    const ID: &'static str = "survey.slope";
    const VERSION: u32 = 1;
    const PREVIEW_RMSE: f64 = 0.08;

    fn layers(&self) -> Layers {
        Layers::none().reading([layer::HEIGHT.name()]).deriving([layer::SLOPE.name()], [layer::HEIGHT.name()])
    }

    fn reach(&self, frame: &Frame) -> Reach {
        gradient::reach(frame)
    }

    fn run(&self, mut terrain: Terrain, ctx: &Ctx<'_>) -> Result<Terrain, OpError> {
        let slope = slope(terrain.get(layer::HEIGHT)?, terrain.frame().spacing_m(), self.method, ctx)?;
        terrain.set(layer::SLOPE, slope);
        Ok(terrain)
    }
}

/// The algorithm alone: degrees of slope of a raster of heights. 8 bytes a cell.
///
/// # Errors
/// When cancelled.
pub fn slope(
    height: &Raster<f32>,
    spacing_m: [f64; 2],
    method: Method,
    ctx: &Ctx<'_>,
) -> Result<Raster<f32>, Cancelled> {
    gradient::measure(height, spacing_m, method, ctx, degrees)
}

/// The steepness of a gradient in degrees, within 1e-4 of the exact arc tangent.
///
/// Straight-line arithmetic, so that it becomes vector code: halving the angle, `tan(a/2) = g / (1 + √(1 + g²))`,
/// brings every gradient into 0..1, where a polynomial does.
#[inline(always)]
#[must_use]
pub fn degrees(p: f32, q: f32) -> f32 {
    const TWICE_IN_DEGREES: f32 = 114.591_56;
    let length = (p * p + q * q).sqrt();
    let g = if length > 1e9 { 1e9 } else { length }; // vertical to the last bit, and its square stays finite
    let t = g / (1.0 + (1.0 + g * g).sqrt());
    (TWICE_IN_DEGREES * arc_tangent(t)).min(90.0)
}

/// The arc tangent of a number from 0 to 1, in radians, by a polynomial in `t²` (Chebyshev, degree 8).
#[inline(always)]
pub(super) fn arc_tangent(t: f32) -> f32 {
    const P: [f32; 9] = [
        0.999_999_98,
        -0.333_330_67,
        0.199_924_84,
        -0.142_025_71,
        0.106_367_54,
        -0.074_954_46,
        0.042_587_607,
        -0.016_005_03,
        0.002_834_064_3,
    ];
    let u = t * t;
    let mut sum = P[8];
    for i in (0..8).rev() {
        sum = sum * u + P[i];
    }
    t * sum
}

#[cfg(test)]
mod tests {
    use super::*;
    use orogen_core::math;
    use orogen_core::testkit::{assert_close, ramp};

    fn survey(height: &Raster<f32>, spacing_m: [f64; 2]) -> Raster<f32> {
        slope(height, spacing_m, Method::Horn, &Ctx::silent()).unwrap()
    }

    #[test]
    fn a_ramp_of_grade_one_lies_at_45_degrees_everywhere() {
        for value in survey(&ramp(33, 10.0, 1.0), [10.0, 20.0]).as_slice() {
            assert_close!(*value, 45.0, abs = 1e-4);
        }
    }

    #[test]
    fn the_polynomial_follows_the_arc_tangent() {
        for i in 0..200_000 {
            let p = math::exp2(f64::from(i) / 5000.0 - 20.0) as f32;
            let exact = math::atan(f64::from(p)).to_degrees();
            assert_close!(degrees(p, 0.0), exact, abs = 1e-4);
        }
        assert_eq!(degrees(0.0, 0.0), 0.0);
        assert_eq!(degrees(1e30, -1e30), 90.0);
    }

    #[test]
    fn a_published_example_comes_out() {
        // A worked example known from the ArcGIS manual, which uses the same formula: cells of 5 m.
        let height =
            Raster::from_vec(3, 3, vec![50.0, 45.0, 50.0, 30.0, 30.0, 30.0, 8.0, 10.0, 10.0]).unwrap();
        assert_close!(survey(&height, [5.0, 5.0]).as_slice()[4], 75.257_62, abs = 1e-4);
    }
}
