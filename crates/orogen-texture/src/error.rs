//! Why a texture was not made.

use thiserror::Error;

/// Why a texture was not made.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum TextureError {
    /// The number of samples does not suit.
    #[error("{0} samples: a texture has a power of two from 64 to 2048 samples along a side")]
    Size(usize),
    /// There is no texture of that name.
    #[error("no such texture {name:?}{}", nearest.map(|n| format!("; did you mean {n:?}?")).unwrap_or_default())]
    Unknown {
        /// What was asked for.
        name: String,
        /// The name most like it.
        nearest: Option<&'static str>,
    },
}
