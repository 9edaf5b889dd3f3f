//! The eye: where it is, where it looks, how wide.

use orogen_core::math;

use crate::error::RenderError;
use crate::vec3::{Vec3, add, as_f32, cross, direction, dot, scale, sub};

/// The radius of the Earth, in metres: far land sinks below the horizon.
pub const EARTH_M: f64 = 6_371_000.0;

/// Nothing nearer than this is seen, in metres.
pub const NEAR_M: f64 = 0.25;

/// Farther out, positions of samples no longer differ, in metres.
const FARTHEST_M: f64 = 1e8;

/// How far in front of and behind the eye a parallel view sees, in metres.
pub const PARALLEL_M: f64 = 200_000.0;

/// An eye, with perspective or with parallel looks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Camera {
    /// Where it is, in metres of the map and above the sea.
    pub eye: Vec3,
    /// What it looks at.
    pub target: Vec3,
    /// The angle from the left to the right edge of the picture.
    pub view_deg: f64,
    /// For parallel looks: metres across the picture, instead of an angle.
    pub wide_m: Option<f64>,
}

impl Camera {
    /// Whether it can see anything.
    ///
    /// # Errors
    /// When it is too far away, looks at itself, or sees too little or too much.
    pub fn check(&self) -> Result<(), RenderError> {
        for (what, place) in [("the camera", self.eye), ("its target", self.target)] {
            if let Some(far) = place.iter().find(|x| !(-FARTHEST_M..=FARTHEST_M).contains(*x)) {
                return Err(RenderError::Call(format!(
                    "{what} is at {far} m, outside -{FARTHEST_M:e} to {FARTHEST_M:e} m"
                )));
            }
        }
        if self.eye == self.target {
            return Err(RenderError::Call(String::from(
                "the camera looks at its own place; move its target",
            )));
        }
        if !(1.0..=150.0).contains(&self.view_deg) {
            return Err(RenderError::Call(format!("a view of {}° is outside 1° to 150°", self.view_deg)));
        }
        if let Some(wide) = self.wide_m.filter(|wide| !(1.0..=1e6).contains(wide)) {
            return Err(RenderError::Call(format!("a picture of {wide} m across is outside 1 to 1e6 m")));
        }
        Ok(())
    }

    /// The axes of the picture in the world: right, up, forward.
    #[must_use]
    pub fn axes(&self) -> [Vec3; 3] {
        let forward = direction(sub(self.target, self.eye), [0.0, 1.0, 0.0]);
        // Straight down, north is up.
        let right = cross(forward, [0.0, 0.0, 1.0]);
        let right =
            if dot(right, right) > 1e-12 { direction(right, [1.0, 0.0, 0.0]) } else { [1.0, 0.0, 0.0] };
        [right, cross(right, forward), forward]
    }

    /// Half the width and half the height of the picture at distance 1; with parallel looks at any distance.
    #[must_use]
    pub fn half(&self, aspect: f64) -> [f64; 2] {
        let x = match self.wide_m {
            Some(wide) => 0.5 * wide,
            None => math::tan(self.view_deg.to_radians() * 0.5),
        };
        [x, x / aspect]
    }

    /// The matrix, by columns, from places relative to the eye to clip space: far away is depth 0, at `NEAR_M` it is 1. With
    /// parallel looks depth falls evenly, from 1 at `PARALLEL_M` behind the eye to 0 as far in front of it.
    /// `shift` moves the picture, in shares of its half width and height.
    #[must_use]
    pub fn clip(&self, aspect: f64, shift: [f64; 2]) -> [[f32; 4]; 4] {
        let [right, up, forward] = self.axes();
        let [half_x, half_y] = self.half(aspect);
        if self.wide_m.is_some() {
            let rows =
                [scale(right, 1.0 / half_x), scale(up, 1.0 / half_y), scale(forward, -0.5 / PARALLEL_M)];
            let column = |i: usize| [rows[0][i] as f32, rows[1][i] as f32, rows[2][i] as f32, 0.0];
            return [column(0), column(1), column(2), [shift[0] as f32, shift[1] as f32, 0.5, 1.0]];
        }
        let rows = [
            add(scale(right, 1.0 / half_x), scale(forward, shift[0])),
            add(scale(up, 1.0 / half_y), scale(forward, shift[1])),
            [0.0; 3],
            forward,
        ];
        let column = |i: usize| [rows[0][i], rows[1][i], 0.0, rows[3][i]].map(|x| x as f32);
        [column(0), column(1), column(2), [0.0, 0.0, NEAR_M as f32, 0.0]]
    }

    /// Whether a box is seen, or may be; its corners are relative to the eye.
    #[must_use]
    pub fn sees(&self, aspect: f64, min: Vec3, max: Vec3) -> bool {
        let [right, up, _] = self.axes();
        let farthest = |side: Vec3| dot(side, [0, 1, 2].map(|i| if side[i] > 0.0 { max[i] } else { min[i] }));
        if self.wide_m.is_some() {
            let half = self.half(aspect);
            return [right, up]
                .into_iter()
                .zip(half)
                .all(|(axis, half)| farthest(axis) >= -half && farthest(scale(axis, -1.0)) >= -half);
        }
        self.sides(aspect).into_iter().all(|side| farthest(side) >= 0.0)
    }

    /// The longest side of a quad that looks smooth at a distance: `sqrt(d) / (T F)`; with parallel looks it follows from the
    /// width of the picture.
    #[must_use]
    pub fn longest_quad_m(&self, distance_m: f64, detail: f64) -> f64 {
        // So many quads across a picture, times `T F`, look as fine as a near one with perspective.
        const ACROSS: f64 = 60.0;
        match self.wide_m {
            Some(wide) => wide / (ACROSS * detail),
            None => distance_m.sqrt() / detail,
        }
    }

    /// The four planes of what is seen, as normals that point inward through the eye; parallel looks have none, see
    /// [`Camera::sees`].
    #[must_use]
    pub fn sides(&self, aspect: f64) -> [Vec3; 4] {
        if self.wide_m.is_some() {
            return [[0.0; 3]; 4];
        }
        let [right, up, forward] = self.axes();
        let [x, y] = self.half(aspect);
        [
            add(right, scale(forward, x)),
            add(scale(right, -1.0), scale(forward, x)),
            add(up, scale(forward, y)),
            add(scale(up, -1.0), scale(forward, y)),
        ]
        .map(|n| direction(n, forward))
    }

    /// Rays through the picture: right and up to its edges, and forward. Parallel ones all run forward.
    #[must_use]
    pub fn rays(&self, aspect: f64) -> [[f32; 3]; 3] {
        let [right, up, forward] = self.axes();
        if self.wide_m.is_some() {
            return [[0.0; 3], [0.0; 3], as_f32(forward)];
        }
        let [x, y] = self.half(aspect);
        [as_f32(scale(right, x)), as_f32(scale(up, y)), as_f32(forward)]
    }
}

/// How far land at a distance lies below the plane that touches the Earth under the eye.
#[must_use]
pub fn curve_m(distance_m: f64) -> f64 {
    distance_m * distance_m / (2.0 * EARTH_M)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn camera() -> Camera {
        Camera { eye: [10.0, 20.0, 300.0], target: [500.0, 900.0, 100.0], view_deg: 60.0, wide_m: None }
    }

    #[test]
    fn the_target_is_in_the_middle_and_near_is_deeper_than_far() {
        let clip = camera().clip(16.0 / 9.0, [0.0, 0.0]);
        let through = |p: Vec3| {
            let p = [p[0], p[1], p[2], 1.0];
            let row = |r: usize| (0..4).map(|c| f64::from(clip[c][r]) * p[c]).sum::<f64>();
            [row(0) / row(3), row(1) / row(3), row(2) / row(3)]
        };
        let to_target = sub(camera().target, camera().eye);
        let [x, y, depth] = through(to_target);
        assert!(x.abs() < 1e-6 && y.abs() < 1e-6, "{x} {y}");
        let farther = through(scale(to_target, 2.0));
        assert!(depth > farther[2] && farther[2] > 0.0);
        assert!((through(scale(camera().axes()[2], NEAR_M))[2] - 1.0).abs() < 1e-6);
    }

    #[test]
    fn sides_hold_what_is_seen() {
        let [right, up, forward] = camera().axes();
        let [x, y] = camera().half(1.5);
        for (u, v, inside) in
            [(0.99, 0.99, true), (-0.99, 0.5, true), (1.01, 0.0, false), (0.0, -1.01, false)]
        {
            let ray = add(forward, add(scale(right, u * x), scale(up, v * y)));
            let seen = camera().sides(1.5).iter().all(|side| dot(*side, ray) >= 0.0);
            assert_eq!(seen, inside, "{u} {v}");
        }
    }

    #[test]
    fn parallel_looks_keep_sizes_and_order_depths() {
        let camera = Camera { wide_m: Some(2000.0), ..camera() };
        let clip = camera.clip(2.0, [0.0, 0.0]);
        let through = |p: Vec3| {
            let p = [p[0], p[1], p[2], 1.0];
            [0, 1, 2].map(|r| (0..4).map(|c| f64::from(clip[c][r]) * p[c]).sum::<f64>())
        };
        let [right, up, forward] = camera.axes();
        for far in [-1000.0, 0.0, 30_000.0] {
            let [x, y, depth] =
                through(add(scale(forward, far), add(scale(right, 500.0), scale(up, -125.0))));
            assert!((x - 0.5).abs() < 1e-5 && (y + 0.25).abs() < 1e-5, "{x} {y} at {far}");
            assert!((depth - (0.5 - 0.5 * far / PARALLEL_M)).abs() < 1e-6, "{depth}");
        }
        let seen = |at: Vec3| camera.sees(2.0, at.map(|x| x - 1.0), at.map(|x| x + 1.0));
        assert!(seen(scale(forward, -50_000.0)) && seen(scale(right, 990.0)) && !seen(scale(up, 520.0)));
        assert!(Camera { wide_m: Some(0.0), ..camera }.check().is_err());
    }

    #[test]
    fn cameras_that_see_nothing_are_refused() {
        let far = Camera { eye: [0.0, 0.0, 1e9], ..camera() };
        assert!(far.check().is_err_and(|e| e.to_string().contains("outside")));
        assert!(Camera { eye: [f64::NAN, 0.0, 0.0], ..camera() }.check().is_err());
        assert!(Camera { eye: camera().target, ..camera() }.check().is_err());
        assert!(Camera { view_deg: 0.0, ..camera() }.check().is_err());
        assert!(camera().check().is_ok());
        // Straight down has axes too.
        let down = Camera { target: [10.0, 20.0, 0.0], ..camera() };
        assert_eq!(down.axes(), [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, -1.0]]);
    }
}
