//! Where a piece of a stem is and which way it goes.

use orogen_core::math;

/// A vector or a place, in metres; z is up.
pub type Vec3 = [f64; 3];

pub fn add(a: Vec3, b: Vec3) -> Vec3 {
    [a[0] + b[0], a[1] + b[1], a[2] + b[2]]
}

pub fn sub(a: Vec3, b: Vec3) -> Vec3 {
    [a[0] - b[0], a[1] - b[1], a[2] - b[2]]
}

/// A place on the way from one to another.
pub fn between(a: Vec3, b: Vec3, t: f64) -> Vec3 {
    [0, 1, 2].map(|k| a[k] + t * (b[k] - a[k]))
}

pub fn scaled(a: Vec3, by: f64) -> Vec3 {
    a.map(|v| v * by)
}

pub fn dot(a: Vec3, b: Vec3) -> f64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

pub fn cross(a: Vec3, b: Vec3) -> Vec3 {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}

/// The vector with length 1; up where it has none.
pub fn unit(a: Vec3) -> Vec3 {
    let length = dot(a, a).sqrt();
    if length > 1e-12 { scaled(a, 1.0 / length) } else { [0.0, 0.0, 1.0] }
}

/// A place and three axes at right angles: a stem goes along z, and x is what it bends about.
#[derive(Clone, Copy, Debug)]
pub struct Frame {
    pub at: Vec3,
    pub x: Vec3,
    pub y: Vec3,
    pub z: Vec3,
}

impl Frame {
    /// At the origin, going up.
    pub const UPRIGHT: Self =
        Self { at: [0.0; 3], x: [1.0, 0.0, 0.0], y: [0.0, 1.0, 0.0], z: [0.0, 0.0, 1.0] };

    /// Moved along itself.
    pub fn forward(self, by: f64) -> Self {
        Self { at: add(self.at, scaled(self.z, by)), ..self }
    }

    /// Turned about its own x.
    pub fn bent(self, deg: f64) -> Self {
        let (sin, cos) = sin_cos(deg);
        let mix = |a: Vec3, by: f64, b: Vec3, and: f64| add(scaled(a, by), scaled(b, and));
        Self { y: mix(self.y, cos, self.z, sin), z: mix(self.z, cos, self.y, -sin), ..self }
    }

    /// Turned about its own z.
    pub fn rolled(self, deg: f64) -> Self {
        let (sin, cos) = sin_cos(deg);
        let mix = |a: Vec3, by: f64, b: Vec3, and: f64| add(scaled(a, by), scaled(b, and));
        Self { x: mix(self.x, cos, self.y, sin), y: mix(self.y, cos, self.x, -sin), ..self }
    }

    /// Bent towards a side: about an axis that lies across it, turned by `side_deg` from x.
    pub fn bent_to(self, deg: f64, side_deg: f64) -> Self {
        let (sin, cos) = sin_cos(side_deg);
        let axis = add(scaled(self.x, cos), scaled(self.y, sin));
        self.about(axis, deg)
    }

    /// Turned about an axis of length 1, in place.
    pub fn about(self, axis: Vec3, deg: f64) -> Self {
        let (sin, cos) = sin_cos(deg);
        let turn = |v: Vec3| {
            let along = scaled(axis, dot(axis, v) * (1.0 - cos));
            add(add(scaled(v, cos), scaled(cross(axis, v), sin)), along)
        };
        Self { at: self.at, x: turn(self.x), y: turn(self.y), z: turn(self.z) }
    }

    /// How far it leans from upright, in degrees.
    pub fn lean_deg(self) -> f64 {
        math::acos(self.z[2].clamp(-1.0, 1.0)).to_degrees()
    }
}

fn sin_cos(deg: f64) -> (f64, f64) {
    let angle = deg.to_radians();
    (math::sin(angle), math::cos(angle))
}
