//! Refuses work out of all proportion to the land before it starts.
//!
//! How long an operator takes may grow with a power of a parameter, and a slip of a digit would keep a machine busy for
//! days. Where that is so, the operator estimates its work from parameters and frame and asks here first.

use crate::error::OpError;

/// The most work for one sample, in nanoseconds of one processor: land of 129 samples a side then takes some 17 seconds,
/// and 1025 samples a side 17 minutes.
pub const MOST_NS_A_SAMPLE: f64 = 1e6;

/// Refuses a parameter that asks for more than [`MOST_NS_A_SAMPLE`] of every sample. `advice` says what would be right.
///
/// # Errors
/// [`OpError::TooMuchWork`], in a sentence.
pub fn check(parameter: &str, value: f64, ns_a_sample: f64, advice: &str) -> Result<(), OpError> {
    if ns_a_sample <= MOST_NS_A_SAMPLE {
        return Ok(());
    }
    let times = ns_a_sample / MOST_NS_A_SAMPLE;
    let times = if times < 10.0 { format!("{times:.1}") } else { format!("{times:.0}") };
    Err(OpError::TooMuchWork(format!(
        "{parameter}: {value} asks for about {times} times the work that a sample of this land may take; {advice}"
    )))
}

/// A largest value for a sentence: two digits of it, rounded down so that it is accepted when it is taken at its word, however small.
#[must_use]
pub fn at_most(most: f64) -> String {
    if !(most.is_normal() && most > 0.0) {
        return String::from("0");
    }
    // Two digits before the point, by whole tens: no logarithms.
    let (mut digits, mut tens) = (most, 0i32);
    while digits >= 100.0 {
        digits /= 10.0;
        tens += 1;
    }
    while digits < 10.0 {
        digits *= 10.0;
        tens -= 1;
    }
    // A value such as 0.3 may lie a rounding below its digits; one less is as good.
    let text = format!("{}e{tens}", digits.floor());
    text.parse::<f64>().map_or(text, |value| value.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_largest_value_is_never_rounded_up_nor_to_nothing() {
        assert_eq!(at_most(834.9), "830");
        assert_eq!(at_most(0.000_017_53), "0.000017");
        assert_eq!(at_most(12.0), "12");
        assert_eq!(at_most(1.999), "1.9");
        assert_eq!(at_most(0.0), "0");
        assert_eq!(at_most(f64::NAN), "0");
        assert_eq!(at_most(f64::INFINITY), "0");
        for value in [3e-12, 0.07, 0.31, 9.99, 10.0, 1234.5, 7.7e9] {
            let said: f64 = at_most(value).parse().unwrap();
            assert!(said <= value && said > 0.85 * value, "{said} for {value}");
        }
    }

    #[test]
    fn too_much_work_is_a_sentence_with_a_way_out() {
        assert_eq!(check("reach_m", 30.0, 1e6, "take less"), Ok(()));
        let text = check("reach_m", 5000.0, 2.5e7, "up to 1000 is possible").unwrap_err().to_string();
        assert_eq!(
            text,
            "reach_m: 5000 asks for about 25 times the work that a sample of this land may take; up to 1000 is possible"
        );
        assert!(check("reach_m", 1.0, f64::NAN, "").is_err(), "an estimate that failed allows nothing");
    }
}
