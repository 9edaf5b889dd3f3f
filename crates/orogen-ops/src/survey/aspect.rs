//! Aspect: which way the ground faces.

use orogen_core::{Cancelled, Ctx, Raster};

use super::gradient::{self, Method};
use super::slope::arc_tangent;

/// The bearing that the ground faces, downhill, in degrees clockwise from north: 0 up to 360.
///
/// ```text
/// aspect = atan2(−p, −q)        p, q: rise per metre to the east and to the north
/// ```
///
/// **Guarantees** (1) a plane has its own aspect at every sample, edges and corners included; (2) cells need not be
/// square; (3) on square cells, the only ones it knows, results agree with `gdaldem aspect -compute_edges` to 1e-3 degrees
/// away from holes and the four corners, which it carries on otherwise.
///
/// **Limits** Level ground faces nowhere: it is a hole, as holes are. 8 bytes a cell.
///
/// # Errors
/// When cancelled.
pub fn aspect(
    height: &Raster<f32>,
    spacing_m: [f64; 2],
    method: Method,
    ctx: &Ctx<'_>,
) -> Result<Raster<f32>, Cancelled> {
    gradient::measure(height, spacing_m, method, ctx, bearing)
}

/// The bearing of the way down a gradient; NaN where it is level.
#[inline]
fn bearing(p: f32, q: f32) -> f32 {
    let (east, north) = (p.abs(), q.abs());
    let (least, most) = if east < north { (east, north) } else { (north, east) };
    // 0 / 0 is NaN: what is level faces nowhere.
    let eighth = arc_tangent(least / most).to_degrees();
    let quarter = if east < north { eighth } else { 90.0 - eighth };
    // The way down lies opposite the gradient.
    let half = if q <= 0.0 { quarter } else { 180.0 - quarter };
    let full = if p <= 0.0 { half } else { 360.0 - half };
    if full >= 360.0 { 0.0 } else { full }
}

#[cfg(test)]
mod tests {
    use super::*;
    use orogen_core::math;
    use orogen_core::testkit::assert_close;

    #[test]
    fn the_bearing_follows_the_arc_tangent_all_round() {
        for i in 0..3600 {
            let turn = f64::from(i) / 10.0;
            // A slope that falls towards `turn`.
            let (p, q) = (-math::sin(turn.to_radians()), -math::cos(turn.to_radians()));
            let found = f64::from(bearing(p as f32 * 0.7, q as f32 * 0.7));
            let apart = (found - turn + 540.0).rem_euclid(360.0) - 180.0;
            assert_close!(apart, 0.0, abs = 1e-3);
            assert!((0.0..360.0).contains(&found));
        }
        assert!(bearing(0.0, 0.0).is_nan());
    }

    #[test]
    fn a_plane_faces_one_way_up_to_its_corners() {
        // Falls to the north-east over cells of 10 by 20 m.
        let plane = Raster::from_fn(5, 4, |c, r| -10.0 * c as f32 + 20.0 * r as f32);
        for value in aspect(&plane, [10.0, 20.0], Method::Horn, &Ctx::silent()).unwrap().as_slice() {
            assert_close!(*value, 45.0, abs = 1e-3);
        }
    }

    #[test]
    fn level_ground_and_single_samples_face_nowhere() {
        for (cols, rows) in [(1, 1), (2, 2), (5, 1), (4, 4)] {
            let level = Raster::filled(cols, rows, 3.0);
            let found = aspect(&level, [1.0, 1.0], Method::Horn, &Ctx::silent()).unwrap();
            assert!(found.as_slice().iter().all(|v| v.is_nan()));
        }
    }
}
