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

/// An eye with perspective.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Camera {
    /// Where it is, in metres of the map and above the sea.
    pub eye: Vec3,
    /// What it looks at.
    pub target: Vec3,
    /// The angle from the left to the right edge of the picture.
    pub view_deg: f64,
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

    /// Half the width and half the height of the picture at distance 1.
    #[must_use]
    pub fn half(&self, aspect: f64) -> [f64; 2] {
        let x = math::tan(self.view_deg.to_radians() * 0.5);
        [x, x / aspect]
    }

    /// The matrix, by columns, from places relative to the eye to clip space: far away is depth 0, at `NEAR_M` it is 1.
    /// `shift` moves the picture, in shares of its half width and height.
    #[must_use]
    pub fn clip(&self, aspect: f64, shift: [f64; 2]) -> [[f32; 4]; 4] {
        let [right, up, forward] = self.axes();
        let [half_x, half_y] = self.half(aspect);
        let rows = [
            add(scale(right, 1.0 / half_x), scale(forward, shift[0])),
            add(scale(up, 1.0 / half_y), scale(forward, shift[1])),
            [0.0; 3],
            forward,
        ];
        let column = |i: usize| [rows[0][i], rows[1][i], 0.0, rows[3][i]].map(|x| x as f32);
        [column(0), column(1), column(2), [0.0, 0.0, NEAR_M as f32, 0.0]]
    }

    /// The four planes of what is seen, as normals that point inward through the eye.
    #[must_use]
    pub fn sides(&self, aspect: f64) -> [Vec3; 4] {
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

    /// Rays through the picture: right and up to its edges, and forward.
    #[must_use]
    pub fn rays(&self, aspect: f64) -> [[f32; 3]; 3] {
        let [right, up, forward] = self.axes();
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
        Camera { eye: [10.0, 20.0, 300.0], target: [500.0, 900.0, 100.0], view_deg: 60.0 }
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
