//! The exponential of the Gaussian bell, as straight-line arithmetic that becomes vector code.

use orogen_core::math;

/// `e^-x` for `x` from 0 up, within 3e-7; exactly 1 at 0, and 0 from 87 on.
#[inline]
pub(super) fn exp_neg(x: f32) -> f32 {
    const LOG2_E: f32 = std::f32::consts::LOG2_E;
    let x = if x < 87.0 { x } else { 87.0 };
    let y = -x * LOG2_E;
    let whole = (y - 0.5) as i32;
    let f = y - whole as f32;
    let scaled = math::exp2_of_fraction(f) * f32::from_bits(((whole + 127) as u32) << 23);
    if x < 87.0 { scaled } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_follows_the_exponential() {
        assert_eq!(exp_neg(0.0), 1.0);
        assert_eq!(exp_neg(1e9), 0.0);
        for i in 0..86_000 {
            let x = i as f32 * 1e-3;
            let exact = math::exp(-f64::from(x));
            assert!((f64::from(exp_neg(x)) / exact - 1.0).abs() < 1e-5, "at {x}");
            assert!((f64::from(exp_neg(x)) - exact).abs() < 3e-7, "at {x}");
        }
    }
}
