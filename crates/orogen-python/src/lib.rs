//! Glue between Orogen and Python; `python/orogen` is the typed face over it.

mod convert;
mod terrain;
mod work;

use std::path::{Path, PathBuf};

use orogen::recipe::{Limits, Overrides, Set};
use orogen::{BuildError, BuildOptions};
use orogen_memory::Memory;
use pyo3::exceptions::PyException;
use pyo3::prelude::*;

use crate::terrain::Terrain;

/// Rasters on huge pages; arrays handed to NumPy are freed through it too.
#[global_allocator]
static MEMORY: Memory = Memory::new();

pyo3::create_exception!(
    _orogen,
    OrogenError,
    PyException,
    "What went wrong, in the sentence the command line prints."
);

/// An error as Python sees it.
fn error(error: impl std::fmt::Display) -> PyErr {
    OrogenError::new_err(error.to_string())
}

/// A number of samples as Python gives it.
fn count(samples: i64) -> PyResult<usize> {
    usize::try_from(samples)
        .map_err(|_| error(format!("samples: found {samples}, expected a whole number of at least 2")))
}

/// The bounds of a call; `None` for the usual ones.
fn limits(memory: Option<u64>) -> Limits {
    memory.map_or_else(Limits::default, |memory_bytes| Limits { memory_bytes })
}

/// The operator catalogue as a JSON text.
#[pyfunction]
fn operators_json() -> String {
    orogen::catalog_json().to_string()
}

/// Evaluates a recipe file.
#[pyfunction]
#[pyo3(signature = (path, *, samples, seed, threads, set, cache, memory, progress))]
fn build(
    py: Python<'_>,
    path: PathBuf,
    samples: Option<i64>,
    seed: Option<String>,
    threads: Option<usize>,
    set: Vec<String>,
    cache: bool,
    memory: Option<u64>,
    progress: Option<Bound<'_, PyAny>>,
) -> PyResult<Terrain> {
    let recipe = orogen::read_recipe(&path).map_err(error)?;
    let set = set.iter().map(|text| Set::parse(text)).collect::<Result<_, _>>().map_err(error)?;
    let overrides = Overrides { seed, samples: samples.map(count).transpose()?, set };
    let cache = if cache { orogen::open_cache().ok() } else { None };
    let built = work::run(py, progress.as_ref(), |progress| {
        let options = BuildOptions {
            overrides,
            limits: limits(memory),
            threads,
            cache: cache.as_ref(),
            base: path.parent().map(Path::to_path_buf),
            cancel: Some(progress.cancel()),
            ..BuildOptions::default()
        };
        orogen::build(&recipe, &options, progress)
    })?;
    match built {
        Ok(built) => {
            built.warnings.iter().try_for_each(|warning| work::warn(py, warning))?;
            for step in &built.steps {
                for warning in &step.warnings {
                    work::warn(py, &format!("step {:?}: {warning}", step.id))?;
                }
            }
            Ok(Terrain::new(built.terrain, built.seed))
        }
        Err(BuildError::Cancelled) => Err(error("cancelled")),
        Err(other) => Err(error(other)),
    }
}

#[pymodule]
fn _orogen(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("OrogenError", module.py().get_type::<OrogenError>())?;
    module.add("__version__", orogen::VERSION)?;
    module.add_class::<Terrain>()?;
    module.add_function(wrap_pyfunction!(operators_json, module)?)?;
    module.add_function(wrap_pyfunction!(build, module)?)
}
