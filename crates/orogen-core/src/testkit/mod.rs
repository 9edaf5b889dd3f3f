//! Small terrains and assertions for tests, and the promises that every operator is held to.

pub mod bits;
mod data;
pub mod promises;
mod schema;
pub mod standard;

pub use data::surveyed_model;

use crate::raster::Raster;

/// Asserts that two numbers agree within a relative (`rel =`) or absolute (`abs =`) bound.
#[macro_export]
macro_rules! assert_close {
    ($a:expr, $b:expr, rel = $tolerance:expr) => {{
        let (a, b) = (f64::from($a), f64::from($b));
        assert!(
            (a - b).abs() <= $tolerance * a.abs().max(b.abs()),
            "{a} and {b} differ by more than {} of their size",
            $tolerance
        );
    }};
    ($a:expr, $b:expr, abs = $tolerance:expr) => {{
        let (a, b) = (f64::from($a), f64::from($b));
        assert!((a - b).abs() <= $tolerance, "{a} and {b} differ by more than {}", $tolerance);
    }};
}
pub use assert_close;

/// Ground that rises to the east by `grade` metres a metre.
#[must_use]
pub fn ramp(samples: usize, cell_m: f32, grade: f32) -> Raster<f32> {
    Raster::from_fn(samples, samples, |col, _| col as f32 * cell_m * grade)
}

/// Flat ground with a step of `height_m` in the middle.
#[must_use]
pub fn cliff(samples: usize, height_m: f32) -> Raster<f32> {
    Raster::from_fn(samples, samples, |col, _| if col * 2 > samples { height_m } else { 0.0 })
}

/// Gentle hills from 0 to about 2 `relief_m`, smooth enough to be the same at any sampling.
#[must_use]
pub fn hills(samples: usize, relief_m: f32) -> Raster<f32> {
    let scale = std::f32::consts::TAU / (samples - 1) as f32;
    Raster::from_fn(samples, samples, |col, row| {
        let (x, y) = (col as f32 * scale, row as f32 * scale);
        relief_m * (1.0 + crate::math::f32::sin(1.5 * x + 0.3) * crate::math::f32::cos(y - 0.2))
    })
}

/// Steepest grade between 8-neighbours.
#[must_use]
pub fn max_slope(height: &Raster<f32>, cell_m: f32) -> f32 {
    let mut steepest = 0.0f32;
    for row in 0..height.rows() {
        for col in 0..height.cols() {
            let cell = crate::raster::Cell { col, row };
            for n in height.neighbors8(cell) {
                steepest = steepest.max((height[cell] - height[n.cell]).abs() / (n.dist * cell_m));
            }
        }
    }
    steepest
}
