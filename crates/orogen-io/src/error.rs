//! Why a file could not be understood.

use std::path::PathBuf;

use thiserror::Error;

/// What is wrong with the content of a file.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum FormatError {
    /// The bytes do not follow the format.
    #[error("not a valid {format}: {reason}")]
    Broken {
        /// The format that was expected.
        format: &'static str,
        /// What was found, and what was expected.
        reason: String,
    },
    /// The file is valid, but uses something that is not read here.
    #[error("this {format} has {found}; supported: {allowed}")]
    Unsupported {
        /// The format.
        format: &'static str,
        /// What it uses.
        found: String,
        /// What it may use.
        allowed: &'static str,
    },
    /// The file has no band of this number.
    #[error("no band {band}; the file has {}", if *.bands == 1 { String::from("one band") } else { format!("bands 1 to {bands}") })]
    NoBand {
        /// The band that was asked for.
        band: u32,
        /// How many there are.
        bands: u64,
    },
    /// The grid is larger than the limit.
    #[error(
        "the grid of {cols} x {rows} samples is too large; at most {allowed} samples are allowed{advice}"
    )]
    TooLarge {
        /// Columns the file declares.
        cols: u64,
        /// Rows the file declares.
        rows: u64,
        /// Samples allowed.
        allowed: u64,
        /// What can be done about it, with its punctuation.
        advice: &'static str,
    },
    /// Reading the file takes more memory than the limit.
    #[error("reading it takes {} of memory, more than the {} allowed{advice}", size(*.needed), size(*.allowed))]
    TooMuchMemory {
        /// Bytes it takes.
        needed: u64,
        /// Bytes allowed.
        allowed: u64,
        /// What can be done about it, with its punctuation.
        advice: &'static str,
    },
    /// The disk does not give the bytes.
    #[error("cannot read it: {0}")]
    Unreadable(String),
    /// What the file lacks stands in its sidecar, and there is none or it does not fit.
    #[error("sidecar: {0}")]
    Sidecar(String),
}

/// A number of bytes as people say it.
fn size(bytes: u64) -> String {
    match bytes {
        0..10_000_000 => format!("{} kB", bytes.div_ceil(1000)),
        10_000_000..1_000_000_000 => format!("{} MB", bytes / 1_000_000),
        _ => format!("{:.1} GB", bytes as f64 / 1e9),
    }
}

impl FormatError {
    pub(crate) fn broken(format: &'static str, reason: impl Into<String>) -> Self {
        Self::Broken { format, reason: reason.into() }
    }
}

/// Why a path gave no elevation model or features.
#[derive(Clone, Debug, Error, PartialEq)]
#[error("{}: {reason}", .path.display())]
pub struct ReadError {
    /// The file.
    pub path: PathBuf,
    /// What is wrong with it, in a sentence without the path.
    pub reason: String,
    /// Whether it is a grid of more samples, or takes more memory, than the limits allow.
    pub too_large: bool,
}

impl ReadError {
    pub(crate) fn new(path: impl Into<PathBuf>, reason: impl Into<String>) -> Self {
        Self { path: path.into(), reason: reason.into(), too_large: false }
    }

    pub(crate) fn format(path: impl Into<PathBuf>, error: &FormatError) -> Self {
        let too_large = matches!(error, FormatError::TooLarge { .. } | FormatError::TooMuchMemory { .. });
        Self { too_large, ..Self::new(path, error.to_string()) }
    }
}
