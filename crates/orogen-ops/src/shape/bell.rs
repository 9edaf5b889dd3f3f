//! The exponential of the Gaussian bell, as straight-line arithmetic that becomes vector code.

/// `e^-x` for `x` from 0 up, within 3e-7; exactly 1 at 0, and 0 from 87 on.
#[inline]
pub(super) fn exp_neg(x: f32) -> f32 {
    const LOG2_E: f32 = std::f32::consts::LOG2_E;
    // Powers of ln 2 over factorials: the series of 2^f, which six terms settle for |f| up to a half.
    const C: [f32; 7] = [
        1.0,
        std::f32::consts::LN_2,
        0.240_226_5,
        0.055_504_11,
        0.009_618_129,
        0.001_333_355_8,
        0.000_154_035_3,
    ];
    let x = if x < 87.0 { x } else { 87.0 };
    let y = -x * LOG2_E;
    let whole = (y - 0.5) as i32;
    let f = y - whole as f32;
    let mut sum = C[6];
    for i in (0..6).rev() {
        sum = sum * f + C[i];
    }
    let scaled = sum * f32::from_bits(((whole + 127) as u32) << 23);
    if x < 87.0 { scaled } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use orogen_core::math;

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
