//! Hillshade: the light of a far sun on the ground, as on printed maps.

use orogen_core::{Cancelled, Ctx, Frame, Layers, Op, OpError, Raster, Reach, Terrain, layer, math};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::gradient::{self, Method};

/// Lights the ground from one side, or softly from four, and keeps the brightness as the layer `hillshade`.
///
/// ```text
/// shade = max(0, n · s)      n = (−p, −q, 1) / √(1 + p² + q²)      s: unit vector to the sun
/// ```
///
/// With `multidirectional`, suns stand at −90, −45, 0 and +45 degrees from the azimuth; each counts by the squared
/// cosine between its bearing and the way the ground faces, so ridges along the light keep their form.
///
/// **Guarantees** (1) every result lies in 0 to 1, and level ground has the sine of the altitude; (2) cells need not
/// be square; (3) results agree with `gdaldem hillshade -compute_edges`, whose bytes are `1 + 254 shade`, away from
/// holes.
///
/// **Limits** No ground throws a shadow on other ground. A hole stays a hole. As slope does, shade belongs to a
/// resolution: land rough at the size of a cell looks rougher on a finer grid, hence the promise of 8 %.
///
/// **After** Horn, Proc. IEEE 69 (1981); Mark, USGS Open-File Report 92-422 (1992), for the four suns.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Hillshade {
    /// Bearing of the sun, clockwise from north; 315 is the north-west of map tradition.
    #[schemars(range(min = 0.0, max = 360.0), extend("x-unit" = "deg"))]
    pub azimuth_deg: f64,
    /// Height of the sun above the horizon.
    #[schemars(range(min = 0.0, max = 90.0), extend("x-unit" = "deg", "x-slider" = [20.0, 70.0]))]
    pub altitude_deg: f64,
    /// How many times higher the ground is taken than it is; more shows gentle land.
    #[schemars(range(min = 0.0, max = 1000.0), extend("x-slider" = [0.5, 5.0]))]
    pub exaggeration: f64,
    /// Whether four suns light the ground instead of one.
    pub multidirectional: bool,
    /// How the gradient is estimated.
    pub method: Method,
}

impl Default for Hillshade {
    fn default() -> Self {
        Self {
            azimuth_deg: 315.0,
            altitude_deg: 45.0,
            exaggeration: 1.0,
            multidirectional: false,
            method: Method::Horn,
        }
    }
}

impl Op for Hillshade {
    const ID: &'static str = "survey.hillshade";
    const VERSION: u32 = 1;
    const PREVIEW_RMSE: f64 = 0.08;

    fn layers(&self) -> Layers {
        Layers::none()
            .reading([layer::HEIGHT.name()])
            .deriving([layer::HILLSHADE.name()], [layer::HEIGHT.name()])
    }

    fn reach(&self, frame: &Frame) -> Reach {
        gradient::reach(frame)
    }

    fn run(&self, mut terrain: Terrain, ctx: &Ctx<'_>) -> Result<Terrain, OpError> {
        let shade = hillshade(terrain.get(layer::HEIGHT)?, terrain.frame().spacing_m(), self, ctx)?;
        terrain.set(layer::HILLSHADE, shade);
        Ok(terrain)
    }
}

/// The algorithm alone: brightness from 0 to 1 of a raster of heights. 8 bytes a cell.
///
/// # Errors
/// When cancelled.
pub fn hillshade(
    height: &Raster<f32>,
    spacing_m: [f64; 2],
    params: &Hillshade,
    ctx: &Ctx<'_>,
) -> Result<Raster<f32>, Cancelled> {
    lit(height, spacing_m, params, ctx, f32::NAN, |shade| shade)
}

/// The same as bytes: 1 is dark, 255 fully lit, 0 a hole, as `gdaldem` writes them. 5 bytes a cell.
///
/// # Errors
/// When cancelled.
pub fn hillshade_bytes(
    height: &Raster<f32>,
    spacing_m: [f64; 2],
    params: &Hillshade,
    ctx: &Ctx<'_>,
) -> Result<Raster<u8>, Cancelled> {
    // Half of one more and cut off is rounded; the way over i32 becomes vector code.
    lit(height, spacing_m, params, ctx, 0, |shade| ((1.0 + 254.0 * shade) + 0.5) as i32 as u8)
}

/// Brightness as whatever `value` makes of it.
fn lit<T: Copy + Default + Send + Sync>(
    height: &Raster<f32>,
    spacing_m: [f64; 2],
    params: &Hillshade,
    ctx: &Ctx<'_>,
    hole: T,
    value: impl Fn(f32) -> T + Sync,
) -> Result<Raster<T>, Cancelled> {
    let z = params.exaggeration as f32;
    let sun = |turn_deg: f64| Sun::new(params.azimuth_deg + turn_deg, params.altitude_deg);
    if params.multidirectional {
        let suns = [sun(-90.0), sun(-45.0), sun(0.0), sun(45.0)];
        let light = |p: f32, q: f32| value(four_suns(&suns, z * p, z * q));
        gradient::measure_as(height, spacing_m, params.method, ctx, hole, light)
    } else {
        let sun = sun(0.0);
        gradient::measure_as(height, spacing_m, params.method, ctx, hole, |p, q| {
            let (p, q) = (z * p, z * q);
            value((sun.facing(p, q) / (1.0 + p * p + q * q).sqrt()).min(1.0))
        })
    }
}

/// Where the light comes from: a unit vector to the east, north and up.
struct Sun {
    /// Its bearing on the ground, of length 1.
    bearing: [f32; 2],
    level: f32,
    up: f32,
}

impl Sun {
    fn new(azimuth_deg: f64, altitude_deg: f64) -> Self {
        let (azimuth, altitude) = (azimuth_deg.to_radians(), altitude_deg.to_radians());
        Self {
            bearing: [math::sin(azimuth) as f32, math::cos(azimuth) as f32],
            level: math::cos(altitude) as f32,
            up: math::sin(altitude) as f32,
        }
    }

    /// The light on ground of a gradient, before its normal is brought to length 1.
    #[inline]
    fn facing(&self, p: f32, q: f32) -> f32 {
        let light = self.up - self.level * (p * self.bearing[0] + q * self.bearing[1]);
        if light > 0.0 { light } else { 0.0 }
    }
}

/// The light of four suns a quarter circle apart in pairs, whose squared cosines sum to 2.
#[inline]
fn four_suns(suns: &[Sun; 4], p: f32, q: f32) -> f32 {
    let steep = p * p + q * q;
    let mut sum = 0.0;
    for sun in suns {
        let along = p * sun.bearing[0] + q * sun.bearing[1];
        sum += along * along * sun.facing(p, q);
    }
    let mean = if steep > 0.0 { 0.5 * sum / steep } else { suns[0].up };
    (mean / (1.0 + steep).sqrt()).min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use orogen_core::testkit::{assert_close, hills, ramp};

    const CELL_M: f64 = 10.0;

    fn shade(height: &Raster<f32>, params: &Hillshade) -> Raster<f32> {
        hillshade(height, [CELL_M, CELL_M], params, &Ctx::silent()).unwrap()
    }

    #[test]
    fn level_ground_has_the_sine_of_the_altitude() {
        for multidirectional in [false, true] {
            let params = Hillshade { altitude_deg: 30.0, multidirectional, ..Hillshade::default() };
            for value in shade(&Raster::filled(5, 5, 7.0), &params).as_slice() {
                assert_close!(*value, 0.5, abs = 1e-6);
            }
        }
    }

    #[test]
    fn a_slope_square_to_the_sun_is_fully_lit_and_its_back_is_dark() {
        let rising_east = ramp(5, CELL_M as f32, 1.0);
        let lit_from = |azimuth_deg| {
            shade(&rising_east, &Hillshade { azimuth_deg, ..Hillshade::default() }).as_slice()[12]
        };
        assert_close!(lit_from(270.0), 1.0, abs = 1e-6);
        assert_close!(lit_from(90.0), 0.0, abs = 1e-6);
        assert_close!(lit_from(0.0), 0.5, abs = 1e-6);
    }

    #[test]
    fn bytes_are_the_brightness_rounded_and_holes_are_nothing() {
        let mut height = hills(70, 300.0);
        height[orogen_core::Cell { col: 66, row: 3 }] = f32::NAN;
        for multidirectional in [false, true] {
            let params = Hillshade { multidirectional, ..Hillshade::default() };
            let bytes = hillshade_bytes(&height, [CELL_M, CELL_M], &params, &Ctx::silent()).unwrap();
            for (&byte, &light) in bytes.as_slice().iter().zip(shade(&height, &params).as_slice()) {
                let expected = if light.is_nan() { 0 } else { (1.0 + 254.0 * light).round() as u8 };
                assert_eq!(byte, expected);
            }
        }
    }

    /// The published formula of gdaldem in its own terms (slope and aspect angles), one cell at a time.
    fn by_angles(height: &Raster<f32>, col: isize, row: isize, azimuth_deg: f64, altitude_deg: f64) -> f64 {
        let z = |dc: isize, dr: isize| f64::from(height.clamped(col + dc, row + dr));
        let x = (z(1, -1) + 2.0 * z(1, 0) + z(1, 1) - z(-1, -1) - 2.0 * z(-1, 0) - z(-1, 1)) / (8.0 * CELL_M);
        let y = (z(-1, -1) + 2.0 * z(0, -1) + z(1, -1) - z(-1, 1) - 2.0 * z(0, 1) - z(1, 1)) / (8.0 * CELL_M);
        let slope = math::atan(math::hypot(x, y));
        let faces = math::atan2(-x, -y); // clockwise from north
        let (azimuth, altitude) = (azimuth_deg.to_radians(), altitude_deg.to_radians());
        let light = math::sin(altitude) * math::cos(slope)
            + math::cos(altitude) * math::sin(slope) * math::cos(azimuth - faces);
        light.max(0.0)
    }

    #[test]
    fn one_sun_agrees_with_the_formula_in_angles() {
        let height = hills(33, 80.0);
        let shaded = shade(&height, &Hillshade::default());
        for row in 1..32 {
            for col in 1..32 {
                let expected = by_angles(&height, col, row, 315.0, 45.0);
                assert_close!(shaded.clamped(col, row), expected, abs = 2e-5);
            }
        }
    }

    #[test]
    fn four_suns_agree_with_the_formula_in_angles() {
        let height = hills(33, 80.0);
        let shaded = shade(&height, &Hillshade { multidirectional: true, ..Hillshade::default() });
        for row in 1..32 {
            for col in 1..32 {
                let z = |dc: isize, dr: isize| f64::from(height.clamped(col + dc, row + dr));
                let x = z(1, -1) + 2.0 * z(1, 0) + z(1, 1) - z(-1, -1) - 2.0 * z(-1, 0) - z(-1, 1);
                let y = z(-1, -1) + 2.0 * z(0, -1) + z(1, -1) - z(-1, 1) - 2.0 * z(0, 1) - z(1, 1);
                let faces = math::atan2(-x, -y);
                let expected: f64 = [225.0, 270.0, 315.0, 360.0]
                    .iter()
                    .map(|&azimuth: &f64| {
                        let weight = math::cos(faces - azimuth.to_radians());
                        0.5 * weight * weight * by_angles(&height, col, row, azimuth, 45.0)
                    })
                    .sum();
                assert_close!(shaded.clamped(col, row), expected, abs = 2e-5);
            }
        }
    }
}
