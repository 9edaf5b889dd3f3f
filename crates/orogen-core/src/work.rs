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

#[cfg(test)]
mod tests {
    use super::*;

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
