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

/// Weights of the four samples round a place a share `t` past the second, by the cubic of Catmull and Rom.
#[inline]
#[must_use]
pub fn catmull_rom(t: f32) -> [f32; 4] {
    let (t2, t3) = (t * t, t * t * t);
    [
        0.5 * (2.0 * t2 - t - t3),
        0.5 * (3.0 * t3 - 5.0 * t2 + 2.0),
        0.5 * (4.0 * t2 - 3.0 * t3 + t),
        0.5 * (t3 - t2),
    ]
}

/// Hermite's cubic at `t`: `a` with slope `start` at 0, `b` with slope `end` at 1.
#[inline]
#[must_use]
pub fn hermite([a, b]: [f64; 2], [start, end]: [f64; 2], t: f64) -> f64 {
    let rise = b - a;
    a + t * (start + t * (3.0 * rise - 2.0 * start - end + t * (start + end - 2.0 * rise)))
}

/// 2 to the power `f`, -0.5 to 0.5, within 3e-7: the arithmetic of which kernels make vector code, while they reckon the
/// whole part of an exponent in the way that suits them.
#[inline(always)]
#[must_use]
pub fn exp2_of_fraction(f: f32) -> f32 {
    // Powers of ln 2 over factorials.
    const SERIES: [f32; 7] = [
        1.0,
        std::f32::consts::LN_2,
        0.240_226_5,
        0.055_504_11,
        0.009_618_129,
        0.001_333_355_8,
        0.000_154_035_3,
    ];
    let mut sum = SERIES[6];
    for i in (0..6).rev() {
        sum = sum * f + SERIES[i];
    }
    sum
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

    #[test]
    fn cubics_meet_their_ends_and_straight_lines() {
        assert_eq!(catmull_rom(0.0), [0.0, 1.0, 0.0, 0.0]);
        assert_eq!(catmull_rom(1.0), [0.0, 0.0, 1.0, 0.0]);
        let along: f32 = catmull_rom(0.3).iter().zip([4.0, 6.0, 8.0, 10.0]).map(|(w, v)| w * v).sum();
        assert!((along - 6.6).abs() < 1e-5);
        assert_eq!([0.0, 1.0].map(|t| hermite([3.0, 5.0], [9.0, -4.0], t)), [3.0, 5.0]);
        assert!((hermite([3.0, 5.0], [2.0, 2.0], 0.3) - 3.6).abs() < 1e-12);
    }

    #[test]
    fn the_series_of_exp2_is_as_exact_as_it_says() {
        for i in -500..=500 {
            let f = f64::from(i) * 1e-3;
            assert!((f64::from(exp2_of_fraction(f as f32)) / exp2(f) - 1.0).abs() < 3e-7, "at {f}");
        }
    }
}
