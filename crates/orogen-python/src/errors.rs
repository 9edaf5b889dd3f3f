//! Errors as Python sees them; the classes are in `python/orogen/_errors.py`.

use std::path::Path;

use orogen::BuildError;
use orogen::core::OpError;
use orogen::recipe::{FaultKind, PlanError};
use orogen_render::RenderError;
use pyo3::prelude::*;

pyo3::import_exception!(orogen._errors, OrogenError);
pyo3::import_exception!(orogen._errors, OrogenValueError);
pyo3::import_exception!(orogen._errors, OrogenKeyError);
pyo3::import_exception!(orogen._errors, OrogenFileError);
pyo3::import_exception!(orogen._errors, OrogenFileNotFoundError);
pyo3::import_exception!(orogen._errors, OrogenMemoryError);
pyo3::import_exception!(orogen._errors, OrogenBusyError);

/// Any error, in a sentence.
pub fn error(error: impl std::fmt::Display) -> PyErr {
    OrogenError::new_err(error.to_string())
}

/// The call is wrong.
pub fn value(error: impl std::fmt::Display) -> PyErr {
    OrogenValueError::new_err(error.to_string())
}

/// It would need more memory than the call allows.
pub fn memory(error: impl std::fmt::Display) -> PyErr {
    OrogenMemoryError::new_err(error.to_string())
}

/// A file cannot be used. The error has the `filename` and, where the system refuses it, the `errno` that Python's own have.
pub fn file(path: &Path, error: impl std::fmt::Display) -> PyErr {
    const ENOENT: i32 = 2; // on every system
    let (text, name) = (error.to_string(), path.as_os_str().to_owned());
    match std::fs::metadata(path) {
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => {
            OrogenFileNotFoundError::new_err((ENOENT, text, name))
        }
        other => {
            let errno = other.err().filter(|_| cfg!(unix)).and_then(|e| e.raw_os_error());
            OrogenFileError::new_err((errno, text, name))
        }
    }
}

/// Why a build or an export gave nothing.
pub fn build(error: BuildError) -> PyErr {
    match &error {
        BuildError::Cancelled => self::error("cancelled"),
        BuildError::Read { path, .. } => file(path, &error),
        BuildError::Folder(_) => OrogenFileError::new_err(error.to_string()),
        _ if needs_only_memory(&error) => memory(format!("{error}; memory_bytes= raises the limit")),
        _ if error.is_callers_fault() => value(error),
        _ => self::error(error),
    }
}

/// Why there is no picture.
pub fn render(error: RenderError) -> PyErr {
    if error.is_callers_fault() { value(error) } else { self::error(error) }
}

/// Whether nothing is wrong but that it needs more memory.
fn needs_only_memory(error: &BuildError) -> bool {
    match error {
        BuildError::Recipe(faults) => faults.list.iter().all(|fault| fault.kind == FaultKind::Memory),
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
