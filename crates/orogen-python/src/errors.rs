//! Errors as Python sees them; the classes are in `python/orogen/_errors.py`.

use std::path::Path;

use orogen::BuildError;
use orogen::core::OpError;
use orogen::recipe::{FaultKind, PlanError};
use pyo3::prelude::*;

pyo3::import_exception!(orogen._errors, OrogenError);
pyo3::import_exception!(orogen._errors, OrogenValueError);
pyo3::import_exception!(orogen._errors, OrogenKeyError);
pyo3::import_exception!(orogen._errors, OrogenFileError);
pyo3::import_exception!(orogen._errors, OrogenFileNotFoundError);
pyo3::import_exception!(orogen._errors, OrogenBusyError);

/// Any error, in a sentence.
pub fn error(error: impl std::fmt::Display) -> PyErr {
    OrogenError::new_err(error.to_string())
}

/// The call is wrong.
pub fn value(error: impl std::fmt::Display) -> PyErr {
    OrogenValueError::new_err(error.to_string())
}

/// A file cannot be used.
pub fn file(path: &Path, error: impl std::fmt::Display) -> PyErr {
    let text = error.to_string();
    match std::fs::metadata(path) {
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => OrogenFileNotFoundError::new_err(text),
        _ => OrogenFileError::new_err(text),
    }
}

/// Why a build or an export gave nothing.
pub fn build(error: BuildError) -> PyErr {
    match &error {
        BuildError::Cancelled => self::error("cancelled"),
        BuildError::Read { path, .. } => file(path, &error),
        BuildError::Folder(_) => OrogenFileError::new_err(error.to_string()),
        _ if needs_memory(&error) => value(format!("{error}; memory_bytes= raises the limit")),
        _ if error.is_callers_fault() => value(error),
        _ => self::error(error),
    }
}

/// Whether more memory would help.
fn needs_memory(error: &BuildError) -> bool {
    match error {
        BuildError::Recipe(faults) => faults.list.iter().any(|fault| fault.kind == FaultKind::Memory),
        BuildError::Plan(error) => matches!(error, PlanError::Memory { .. }),
        _ => false,
    }
}

/// Why an operator or a tool of this name gave nothing.
pub fn operator(name: &str, error: OpError) -> PyErr {
    let text = format!("{name}: {error}");
    match error {
        OpError::File { path, .. } => file(Path::new(&path), text),
        OpError::Cancelled => self::error(text),
        _ => value(text),
    }
}
