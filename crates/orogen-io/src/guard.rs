//! A wall around decoders: what a damaged file makes them do stays a sentence.

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::error::FormatError;

/// Runs a decoder; its panic, or that of a library it calls, says that the file is broken.
///
/// Only what reads files by their path is guarded. The decoders themselves check what they hand to libraries, and fuzzing
/// calls them bare, so that a panic is found there and mended rather than hidden here.
pub(crate) fn guarded<T>(
    format: &'static str,
    decode: impl FnOnce() -> Result<T, FormatError>,
) -> Result<T, FormatError> {
    // What a decoder was building is dropped with it: nobody sees it half-made.
    catch_unwind(AssertUnwindSafe(decode))
        .unwrap_or_else(|_| Err(FormatError::broken(format, "its content makes the decoder fail")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[allow(clippy::panic, reason = "a panic is what this is about")]
    fn a_panic_in_a_decoder_is_a_sentence() {
        let found: Result<(), _> = guarded("PNG", || panic!("index out of bounds"));
        assert_eq!(
            found.unwrap_err().to_string(),
            FormatError::broken("PNG", "its content makes the decoder fail").to_string()
        );
    }
}
