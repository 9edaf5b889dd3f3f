//! Places and directions: x to the east, y to the north, z up.

use orogen_core::math;

/// A place or a direction.
pub type Vec3 = [f64; 3];

pub fn add(a: Vec3, b: Vec3) -> Vec3 {
    [a[0] + b[0], a[1] + b[1], a[2] + b[2]]
}

pub fn sub(a: Vec3, b: Vec3) -> Vec3 {
    [a[0] - b[0], a[1] - b[1], a[2] - b[2]]
}

pub fn scale(a: Vec3, by: f64) -> Vec3 {
    a.map(|x| x * by)
}

pub fn dot(a: Vec3, b: Vec3) -> f64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

pub fn cross(a: Vec3, b: Vec3) -> Vec3 {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}

pub fn length(a: Vec3) -> f64 {
    dot(a, a).sqrt()
}

/// The direction of a vector; `otherwise` where it has none.
pub fn direction(a: Vec3, otherwise: Vec3) -> Vec3 {
    let length = length(a);
    if length > 0.0 && length.is_finite() { scale(a, 1.0 / length) } else { otherwise }
}

/// The direction of a compass bearing, clockwise from north, and a height above the horizon.
pub fn toward(azimuth_deg: f64, altitude_deg: f64) -> Vec3 {
    let (az, alt) = (azimuth_deg.to_radians(), altitude_deg.to_radians());
    [math::sin(az) * math::cos(alt), math::cos(az) * math::cos(alt), math::sin(alt)]
}

pub fn as_f32(a: Vec3) -> [f32; 3] {
    a.map(|x| x as f32)
}
