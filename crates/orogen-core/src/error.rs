//! Why an operator stopped.

use thiserror::Error;

use crate::kinds::Kind;
use crate::layer::LayerName;
use crate::param::Fault;
use crate::values;

/// The work was cancelled.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[error("cancelled")]
pub struct Cancelled;

/// Why an operator gave no terrain.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum OpError {
    /// The work was cancelled.
    #[error("cancelled")]
    Cancelled,
    /// A layer the operator reads is missing.
    #[error("no layer {name:?} here{}", have(.available))]
    MissingLayer {
        /// The requested layer.
        name: LayerName,
        /// The layers available.
        available: Vec<LayerName>,
    },
    /// Vectors that the operator reads are not there.
    #[error("no vectors {name:?} here{}", have(.available))]
    MissingVectors {
        /// The vectors asked for.
        name: LayerName,
        /// What there is.
        available: Vec<LayerName>,
    },
    /// Things on the ground that the operator reads are missing.
    #[error("no instances {name:?} here{}", have(.available))]
    MissingInstances {
        /// The requested things.
        name: LayerName,
        /// What is available.
        available: Vec<LayerName>,
    },
    /// A layer holds another kind of number than requested.
    #[error("layer {name:?} holds {found}, not {wanted}")]
    LayerKind {
        /// The requested layer.
        name: LayerName,
        /// What it holds.
        found: Kind,
        /// What was requested.
        wanted: Kind,
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
    /// A layer holds a value outside what land can have.
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
    /// An invariant of Orogen does not hold: a bug, never caused by the input.
    #[error("internal error in Orogen, please report it: {0}")]
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
        return String::from("; the terrain has no layers, so start with a `source` step");
    }
    let names: Vec<&str> = available.iter().map(LayerName::as_str).collect();
    format!("; available: {}", names.join(", "))
}
