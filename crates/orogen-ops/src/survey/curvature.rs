//! Curvature: where the ground bulges and where it is hollow.

use orogen_core::{Cancelled, Ctx, Raster};

pub use crate::mask::curvature::Kind;

use super::gradient;

/// Curvature in 1/m from the quadratic surface that fits a 3 × 3 neighbourhood best; convex ground is positive.
///
/// ```text
/// p, q: first derivatives to the east and north      r, s, t: second ones (xx, xy, yy)      g = p² + q²
///
/// profile  −(p²r + 2pqs + q²t) / (g (1 + g)^1.5)     down the slope: shoulders > 0, feet of slopes < 0
/// plan     −(q²r − 2pqs + p²t) / g^1.5               along the contour: spurs > 0, gullies < 0
/// mean     −((1 + q²)r − 2pqs + (1 + p²)t) / (2 (1 + g)^1.5)
/// ```
///
/// **Guarantees** (1) a plane has none; (2) a dome of radius R has mean and profile curvature 1/R, and the plan curvature
/// of its round contours; (3) cells need not be square.
///
/// **Limits** Level ground has neither profile nor plan curvature: 0. A hole stays a hole; neighbours beyond edges are
/// carried on straight, so an edge bends only along itself. 8 bytes a cell.
///
/// **After** Evans, Z. Geomorphol. Suppl. 36 (1980).
///
/// # Errors
/// When cancelled.
pub fn curvature(
    height: &Raster<f32>,
    spacing_m: [f64; 2],
    kind: Kind,
    ctx: &Ctx<'_>,
) -> Result<Raster<f32>, Cancelled> {
    let fit = Fit::new(spacing_m);
    match kind {
        Kind::Mean => gradient::measure_windows(height, ctx, |z| mean(fit.at(z))),
        Kind::Profile => gradient::measure_windows(height, ctx, |z| profile(fit.at(z))),
        Kind::Plan => gradient::measure_windows(height, ctx, |z| plan(fit.at(z))),
    }
}

/// Derivatives of the surface: to x, y, xx, xy, yy.
type Derivatives = [f32; 5];

/// Weights of the least-squares fit on cells of one size.
struct Fit {
    per: Derivatives,
}

impl Fit {
    fn new([dx, dy]: [f64; 2]) -> Self {
        let per = [6.0 * dx, 6.0 * dy, 3.0 * dx * dx, 4.0 * dx * dy, 3.0 * dy * dy];
        Self { per: per.map(|denominator| (1.0 / denominator) as f32) }
    }

    #[inline]
    fn at(&self, z: [[f32; 3]; 3]) -> Derivatives {
        // Taken from the middle: differences of heights stay exact far above sea level.
        let m = z[1][1];
        let [[nw, n, ne], [w, _, e], [sw, s, se]] = z;
        let [nw, n, ne, w, e, sw, s, se] = [nw - m, n - m, ne - m, w - m, e - m, sw - m, s - m, se - m];
        let (west, east) = (nw + w + sw, ne + e + se);
        let (north, south) = (nw + n + ne, sw + s + se);
        let [px, py, pxx, pxy, pyy] = self.per;
        [
            (east - west) * px,
            (north - south) * py,
            (east + west - 2.0 * (n + s)) * pxx,
            (ne + sw - nw - se) * pxy,
            (north + south - 2.0 * (w + e)) * pyy,
        ]
    }
}

#[inline]
fn mean([p, q, r, s, t]: Derivatives) -> f32 {
    let long = 1.0 + p * p + q * q;
    -((1.0 + q * q) * r - 2.0 * p * q * s + (1.0 + p * p) * t) / (2.0 * long * long.sqrt())
}

#[inline]
fn profile([p, q, r, s, t]: Derivatives) -> f32 {
    let g = p * p + q * q;
    let long = 1.0 + g;
    let value = -(p * p * r + 2.0 * p * q * s + q * q * t) / (g * long * long.sqrt());
    if g > 0.0 { value } else { 0.0 }
}

#[inline]
fn plan([p, q, r, s, t]: Derivatives) -> f32 {
    let g = p * p + q * q;
    let value = -(q * q * r - 2.0 * p * q * s + p * p * t) / (g * g.sqrt());
    if g > 0.0 { value } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use orogen_core::Cell;
    use orogen_core::testkit::assert_close;

    const SPACING_M: [f64; 2] = [1.0, 2.0];

    fn survey(height: &Raster<f32>, kind: Kind) -> Raster<f32> {
        curvature(height, SPACING_M, kind, &Ctx::silent()).unwrap()
    }

    #[test]
    fn a_plane_has_none_even_beside_a_hole() {
        let mut plane = Raster::from_fn(9, 9, |c, r| 3.0 * c as f32 - 5.0 * r as f32);
        plane[Cell { col: 4, row: 4 }] = f32::NAN;
        for kind in [Kind::Mean, Kind::Profile, Kind::Plan] {
            for (value, z) in survey(&plane, kind).as_slice().iter().zip(plane.as_slice()) {
                assert_eq!(value.is_nan(), z.is_nan());
                assert!(value.is_nan() || value.abs() < 1e-5, "{value}");
            }
        }
    }

    #[test]
    fn a_dome_bends_like_its_radius_and_its_contours() {
        const RADIUS_M: f64 = 500.0;
        let (cols, rows) = (201, 101);
        let from_top = |c: usize, r: usize| (c as f64 - 100.0, 2.0 * (r as f64 - 50.0));
        let dome = Raster::from_fn(cols, rows, |c, r| {
            let (x, y) = from_top(c, r);
            (RADIUS_M * RADIUS_M - x * x - y * y).sqrt() as f32
        });
        let [mean, profile, plan] = [Kind::Mean, Kind::Profile, Kind::Plan].map(|kind| survey(&dome, kind));
        for (col, row) in [(20, 50), (100, 10), (60, 30), (150, 70)] {
            let (x, y) = from_top(col, row);
            let cell = Cell { col, row };
            assert_close!(mean[cell], 1.0 / RADIUS_M, rel = 0.02);
            assert_close!(profile[cell], 1.0 / RADIUS_M, rel = 0.02);
            assert_close!(plan[cell], 1.0 / (x * x + y * y).sqrt(), rel = 0.02);
        }
    }

    #[test]
    fn the_smallest_grids_and_level_ground_are_not_curved() {
        for (cols, rows) in [(1, 1), (2, 2), (1, 5), (5, 1), (6, 6)] {
            for kind in [Kind::Mean, Kind::Profile, Kind::Plan] {
                let level = Raster::filled(cols, rows, 7.0);
                assert!(survey(&level, kind).as_slice().iter().all(|&v| v == 0.0));
            }
        }
    }
}
