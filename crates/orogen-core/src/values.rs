//! Which values a layer may hold: finite numbers, NaN for a hole, and heights that some land could have.
//!
//! Operators rely on it: an infinite height has no slope, and rounding leaves nothing of a hill at 1e30 m. So
//! [`crate::AnyOp::apply`] looks at every layer once: at those it reads before the work, at those it wrote after it.

use rayon::prelude::*;

use crate::error::OpError;
use crate::layer::{self, LayerName};
use crate::raster::Raster;

/// The farthest that a height may lie from zero, in metres; farther than the Earth's centre from its surface.
pub const MOST_HEIGHT_M: f32 = 1e7;

/// Values looked at between two looks at what was found.
const PART: usize = 1 << 14;

/// What is known of the values of a layer that was looked at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Values {
    /// Whether some are NaN.
    pub holes: bool,
}

/// Looks at all values of a layer.
///
/// # Errors
/// When one of them is infinite, or a height beyond [`MOST_HEIGHT_M`].
pub fn check(name: &LayerName, raster: &Raster<f32>) -> Result<Values, OpError> {
    let most = if *name == layer::HEIGHT.name() { MOST_HEIGHT_M } else { f32::MAX };
    let part = |values: &[f32]| {
        // No early way out: both questions become a few vector instructions a line of the cache.
        values
            .iter()
            .fold((false, false), |(beyond, holes), v| (beyond | (v.abs() > most), holes | v.is_nan()))
    };
    let both = |a: (bool, bool), b: (bool, bool)| (a.0 | b.0, a.1 | b.1);
    let (beyond, holes) = raster.as_slice().par_chunks(PART).map(part).reduce(|| (false, false), both);
    if !beyond {
        return Ok(Values { holes });
    }
    let at = raster.as_slice().iter().position(|v| v.abs() > most).unwrap_or_default();
    Err(OpError::Value {
        name: name.clone(),
        value: raster.as_slice()[at],
        col: at % raster.cols(),
        row: at / raster.cols(),
    })
}

/// What a layer may hold, for the sentence about one that holds something else.
pub(crate) fn allowed(name: &LayerName) -> String {
    if *name == layer::HEIGHT.name() {
        format!("heights must lie within {MOST_HEIGHT_M:e} m of zero, or be NaN for a hole")
    } else {
        String::from("values must be finite, or NaN for a hole")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layer::{FLOW, HEIGHT};

    fn with(name: &LayerName, value: f32) -> Result<Values, OpError> {
        let mut raster = Raster::filled(300, 200, 1.0);
        raster.as_mut_slice()[177 * 300 + 41] = value;
        check(name, &raster)
    }

    #[test]
    fn infinite_values_are_refused_in_every_layer_and_huge_ones_as_heights() {
        for name in [HEIGHT.name(), FLOW.name()] {
            for value in [f32::INFINITY, f32::NEG_INFINITY, 1e300_f64 as f32] {
                let error = with(&name, value).unwrap_err();
                assert_eq!(error, OpError::Value { name: name.clone(), value, col: 41, row: 177 });
            }
            assert_eq!(with(&name, f32::NAN), Ok(Values { holes: true }));
            assert_eq!(with(&name, -1e7), Ok(Values { holes: false }));
        }
        assert!(with(&HEIGHT.name(), 1.001e7).is_err());
        assert!(with(&HEIGHT.name(), -1e30).is_err());
        assert!(with(&FLOW.name(), 1e30).is_ok());
    }

    #[test]
    fn the_sentence_says_where_and_what_would_be_right() {
        let text = with(&HEIGHT.name(), -1e30).unwrap_err().to_string();
        assert_eq!(
            text,
            "layer \"height\" holds -1e30 at column 41, row 177; heights must lie within 1e7 m of zero, or be NaN for a hole"
        );
        let text = with(&FLOW.name(), f32::INFINITY).unwrap_err().to_string();
        assert_eq!(
            text,
            "layer \"flow\" holds inf at column 41, row 177; values must be finite, or NaN for a hole"
        );
    }
}
