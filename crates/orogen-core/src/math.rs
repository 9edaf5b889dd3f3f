//! Transcendental functions with the same bits on every platform.
//!
//! `std` calls the platform's libm, whose last bits differ between systems; these go through one portable
//! implementation. `sqrt`, `abs`, `floor` and friends are exact everywhere, so use the methods for those.

macro_rules! forward {
    ($($(#[$doc:meta])* $name:ident => $f64:ident, $f32:ident;)*) => {
        $($(#[$doc])* #[inline] #[must_use] pub fn $name(x: f64) -> f64 { libm::$f64(x) })*
        /// The same functions in single precision.
        pub mod f32 {
            $($(#[$doc])* #[inline] #[must_use] pub fn $name(x: f32) -> f32 { libm::$f32(x) })*
        }
    };
}

forward! {
    /// Sine of an angle in radians.
    sin => sin, sinf;
    /// Cosine of an angle in radians.
    cos => cos, cosf;
    /// Tangent of an angle in radians.
    tan => tan, tanf;
    /// Arc tangent, in radians.
    atan => atan, atanf;
    /// Arc sine, in radians.
    asin => asin, asinf;
    /// Arc cosine, in radians.
    acos => acos, acosf;
    /// e to the power x.
    exp => exp, expf;
    /// 2 to the power x.
    exp2 => exp2, exp2f;
    /// Natural logarithm.
    ln => log, logf;
    /// Logarithm to base 2.
    log2 => log2, log2f;
    /// Logarithm to base 10.
    log10 => log10, log10f;
}

/// `x` to the power `y`.
#[inline]
#[must_use]
pub fn pow(x: f64, y: f64) -> f64 {
    libm::pow(x, y)
}

/// Angle of the vector (x, y), in radians, counter-clockwise from the x axis.
#[inline]
#[must_use]
pub fn atan2(y: f64, x: f64) -> f64 {
    libm::atan2(y, x)
}

/// Length of the vector (x, y). `sqrt` is exact, so this has the same bits everywhere; it may overflow
/// where `libm::hypot` would not, which no length in metres comes near.
#[inline]
#[must_use]
pub fn hypot(x: f64, y: f64) -> f64 {
    (x * x + y * y).sqrt()
}

/// `a` at `t = 0`, `b` at `t = 1`, straight in between.
#[inline]
#[must_use]
pub fn lerp(a: f32, b: f32, t: f32) -> f32 {
    a + (b - a) * t
}

/// 0 below `from`, 1 above `to`, with a smooth cubic in between; a hard step where the two are equal.
#[inline]
#[must_use]
pub fn smoothstep(from: f32, to: f32, x: f32) -> f32 {
    if to <= from {
        return if x >= to { 1.0 } else { 0.0 };
    }
    let t = ((x - from) / (to - from)).clamp(0.0, 1.0);
    t * t * (3.0 - 2.0 * t)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_bits() {
        // Pinned so that a change of implementation is noticed: it would change every landscape.
        assert_eq!(sin(1.0).to_bits(), 0x3fea_ed54_8f09_0cee);
        assert_eq!(exp2(0.5).to_bits(), 2f64.sqrt().to_bits());
    }

    #[test]
    fn smoothstep_has_flat_ends_and_survives_an_empty_interval() {
        assert_eq!(smoothstep(1.0, 3.0, 0.0), 0.0);
        assert_eq!(smoothstep(1.0, 3.0, 2.0), 0.5);
        assert_eq!(smoothstep(2.0, 2.0, 1.9), 0.0);
        assert_eq!(smoothstep(2.0, 2.0, 2.0), 1.0);
    }
}
