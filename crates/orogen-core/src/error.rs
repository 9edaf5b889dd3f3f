//! Why an operator stopped.

use thiserror::Error;

use crate::layer::LayerName;
use crate::param::Fault;
use crate::values;

/// Somebody asked for the work to stop.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[error("cancelled")]
pub struct Cancelled;

/// Why an operator gave no terrain.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum OpError {
    /// Somebody asked for the work to stop.
    #[error("cancelled")]
    Cancelled,
    /// A layer the operator reads is not there.
    #[error("there is no layer {name:?} here{}", have(.available))]
    MissingLayer {
        /// The layer asked for.
        name: LayerName,
        /// What there is.
        available: Vec<LayerName>,
    },
    /// Vectors that the operator reads are not there.
    #[error("there are no vectors {name:?} here{}", have(.available))]
    MissingVectors {
        /// The vectors asked for.
        name: LayerName,
        /// What there is.
        available: Vec<LayerName>,
    },
    /// A layer holds another kind of number than asked for.
    #[error("layer {name:?} holds {found}, not {wanted}")]
    LayerKind {
        /// The layer asked for.
        name: LayerName,
        /// What it holds.
        found: &'static str,
        /// What was asked for.
        wanted: &'static str,
    },
    /// Parameters are outside what is allowed.
    #[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
    Params(Vec<Fault>),
    /// The operator combines two terrains and got one.
    #[error("{0} combines two terrains: name the second step with `with`")]
    NoSecond(&'static str),
    /// A file could not be used.
    #[error("file {path:?}: {reason}")]
    File {
        /// As the recipe names it.
        path: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A layer holds a value that no land has.
    #[error("layer {name:?} holds {value:e} at column {col}, row {row}; {}", values::allowed(.name))]
    Value {
        /// The layer.
        name: LayerName,
        /// The first such value.
        value: f32,
        /// Its column, from the west.
        col: usize,
        /// Its row, from the north.
        row: usize,
    },
    /// The operator made a value that no land has from land without such values.
    #[error(
        "these parameters are too extreme for this land: layer {name:?} would hold {value:e} at column {col}, row {row}{}",
        if value.is_nan() { String::new() } else { format!("; {}", values::allowed(.name)) }
    )]
    Overflow {
        /// The layer.
        name: LayerName,
        /// The first such value.
        value: f32,
        /// Its column, from the west.
        col: usize,
        /// Its row, from the north.
        row: usize,
    },
    /// The parameters ask for more work than a run may take; nothing has been done yet.
    #[error("{0}")]
    TooMuchWork(String),
    /// Something that Orogen relies on does not hold: never the fault of the input.
    #[error("stopped by a fault of Orogen itself, please report it: {0}")]
    Internal(String),
    /// Anything else, in a sentence.
    #[error("{0}")]
    Failed(String),
}

impl From<Cancelled> for OpError {
    fn from(_: Cancelled) -> Self {
        Self::Cancelled
    }
}

fn have(available: &[LayerName]) -> String {
    if available.is_empty() {
        return String::from(" (nor any other: does a `source` step come first?)");
    }
    let names: Vec<&str> = available.iter().map(LayerName::as_str).collect();
    format!("; there are {}", names.join(", "))
}
