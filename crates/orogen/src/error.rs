//! Why a build gave nothing.

use std::path::PathBuf;

use orogen_core::{FrameError, OpError};
use orogen_io::FolderError;
use orogen_recipe::{Faults, PlanError, Recipe, RunError};
use thiserror::Error;

/// Why a build gave nothing, as one or more sentences.
#[derive(Debug, Error)]
pub enum BuildError {
    /// The recipe is wrong: every fault, each on a line of its own.
    #[error("{0}")]
    Recipe(#[from] Faults),
    /// A file the caller named cannot be read.
    #[error("{}: {reason}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// The call itself is wrong.
    #[error("{0}")]
    Call(String),
    /// The requested window is not a valid frame.
    #[error("window: {0}")]
    Window(#[from] FrameError),
    /// The requested window cannot be built.
    #[error("{0}")]
    Plan(#[from] PlanError),
    /// A step failed; the sentence says where it is in the recipe.
    #[error("{0}")]
    Run(String),
    /// A file that a step reads is not what it should be; the sentence names both.
    #[error("{0}")]
    Input(String),
    /// An invariant of Orogen does not hold: a bug, never caused by the call.
    #[error("internal error in Orogen, please report it: {0}")]
    Internal(String),
    /// The work was cancelled; nothing was written.
    #[error("cancelled; nothing was written")]
    Cancelled,
    /// An output could not be written.
    #[error("{0}")]
    Folder(FolderError),
    /// An output could not be made.
    #[error("{0}")]
    Write(String),
}

impl BuildError {
    /// Why a run of a recipe gave nothing.
    pub(crate) fn of_run(error: RunError, recipe: &Recipe) -> Self {
        match error {
            RunError::Cancelled => Self::Cancelled,
            RunError::Internal(what) => Self::Internal(what),
            RunError::Step { id, op, error } => {
                let fault = recipe.step_fault(&id, format!("{op}: {error}"));
                let text = fault.text(recipe.name());
                if matches!(error, OpError::File { .. }) { Self::Input(text) } else { Self::Run(text) }
            }
        }
    }

    /// Whether the call or the recipe is wrong, rather than the work having failed.
    #[must_use]
    pub fn is_callers_fault(&self) -> bool {
        match self {
            Self::Recipe(_)
            | Self::Read { .. }
            | Self::Call(_)
            | Self::Window(_)
            | Self::Plan(_)
            | Self::Input(_) => true,
            Self::Folder(error) => error.is_callers_fault(),
            Self::Run(_) | Self::Internal(_) | Self::Cancelled | Self::Write(_) => false,
        }
    }
}

impl From<FolderError> for BuildError {
    fn from(error: FolderError) -> Self {
        if matches!(error, FolderError::Cancelled) { Self::Cancelled } else { Self::Folder(error) }
    }
}

impl From<OpError> for BuildError {
    fn from(error: OpError) -> Self {
        match error {
            OpError::Cancelled => Self::Cancelled,
            OpError::Internal(what) => Self::Internal(what),
            OpError::File { path, reason } => Self::Read { path: path.into(), reason },
            other => Self::Call(other.to_string()),
        }
    }
}
