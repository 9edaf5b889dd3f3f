//! Glue between Orogen and Python; `python/orogen` is the typed face over it.

mod convert;
mod errors;
mod picture;
mod plants;
mod read;
mod render;
mod session;
mod terrain;
mod work;

use std::path::{Path, PathBuf};

use orogen::core::Rect;
use orogen::recipe::{Limits, Overrides};
use orogen::{BuildOptions, Window};
use orogen_memory::Memory;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::terrain::Terrain;

/// Arrays handed to NumPy are freed through it too.
#[global_allocator]
static MEMORY: Memory = Memory;

/// A number of samples as Python gives it.
fn count(samples: i64) -> PyResult<usize> {
    usize::try_from(samples)
        .map_err(|_| errors::value(format!("samples: {samples} is not a whole number of at least 2")))
}

/// The bounds of a call; `None` for the usual ones.
fn limits(memory: Option<u64>) -> Limits {
    memory.map_or_else(Limits::default, |memory_bytes| Limits { memory_bytes })
}

/// Raises a `MemoryError` where a grid of so many columns and rows needs more memory than a call allows or the machine has:
/// an allocation that fails later would end the interpreter.
fn hold(py: Python<'_>, shape: [f64; 2], bytes_per_sample: f64, allowed: Option<u64>) -> PyResult<()> {
    let [cols, rows] = shape;
    py.import("orogen._memory")?.call_method1("hold", (cols, rows, bytes_per_sample, allowed)).map(|_| ())
}

/// West, south, east and north in metres as a rectangle.
fn rectangle([west, south, east, north]: [f64; 4]) -> PyResult<Rect> {
    let given = [west, south, east, north];
    if given.iter().all(|x| x.is_finite()) && west < east && south < north {
        return Ok(Rect { min: [west, south], max: [east, north] });
    }
    Err(errors::value(format!(
        "window: ({west}, {south}, {east}, {north}) is not a west, south, east and north edge in metres"
    )))
}

/// The operator catalogue as a JSON text.
#[pyfunction]
fn operators_json() -> String {
    orogen::catalog_json().to_string()
}

/// What an operator does and takes, in words.
#[pyfunction]
fn describe(op: &str) -> PyResult<String> {
    let catalog = orogen::catalog();
    catalog.get(op).map(orogen::operator_text).ok_or_else(|| terrain::no_operator(&catalog, op))
}

/// Every operator with its parameters, a few lines each.
#[pyfunction]
fn operators_text() -> String {
    let mut text = String::new();
    for operator in orogen::catalog().operators() {
        text.push_str(&format!("{}\n    {}\n", operator.id, orogen::summary(operator)));
        for p in orogen::parameters(operator) {
            let default = p.default.map_or(String::from("unset"), |d| d.replace('\n', " "));
            let range = if p.range.is_empty() { p.kind } else { p.range };
            text.push_str(&format!("    - {} = {default} ({range}): {}\n", p.name, p.about));
        }
        text.push('\n');
    }
    text
}

/// What a step of a recipe did: (id, operator, seconds, cached, warnings, figures as (name, value, unit)).
pub(crate) type StepTuple = (String, String, f64, bool, Vec<String>, Vec<(String, f64, String)>);

/// Figures as Python gets them.
pub(crate) fn figures(figures: &[orogen::core::Figure]) -> Vec<(String, f64, String)> {
    figures.iter().map(|f| (f.name.clone(), f.value, f.unit.clone())).collect()
}

/// Evaluates a recipe file; gives the land and what each step did.
#[pyfunction]
#[pyo3(signature = (path, *, samples, seed, threads, set, window, spacing_m, crs, cache, memory, progress))]
fn build(
    py: Python<'_>,
    path: PathBuf,
    samples: Option<i64>,
    seed: Option<String>,
    threads: Option<i64>,
    set: &Bound<'_, PyDict>,
    window: Option<[f64; 4]>,
    spacing_m: Option<f64>,
    crs: Option<u16>,
    cache: bool,
    memory: Option<u64>,
    progress: Option<Bound<'_, PyAny>>,
) -> PyResult<(Terrain, Vec<StepTuple>)> {
    let recipe = orogen::read_recipe(&path).map_err(errors::build)?;
    let set = convert::settings(set)?;
    let overrides = Overrides { seed, samples: samples.map(count).transpose()?, set };
    let rect = window.map(rectangle).transpose()?;
    if let Some(m) = spacing_m.filter(|m| !(*m > 0.0 && m.is_finite())) {
        return Err(errors::value(format!("spacing_m: {m} is not a valid length in metres")));
    }
    let window = (rect.is_some() || spacing_m.is_some()).then_some(Window { rect, spacing_m });
    let cache = if cache { orogen::open_cache().ok() } else { None };
    let options = || BuildOptions {
        overrides: Overrides::clone(&overrides),
        limits: limits(memory),
        window,
        cache: cache.as_ref(),
        base: path.parent().map(Path::to_path_buf),
        ..BuildOptions::default()
    };
    let threads = threads.map(terrain::thread_count).transpose()?;
    let (checked, _) = orogen::check(&recipe, &options()).map_err(errors::build)?;
    let size = rect.unwrap_or_else(|| checked.frame().extent()).size();
    let [dx, dy] = spacing_m.map_or(checked.frame().spacing_m(), |m| [m, m]);
    hold(py, [size[0] / dx + 1.0, size[1] / dy + 1.0], terrain::WORK_BYTES, None)?;
    let built = work::run(py, progress.as_ref(), |progress| {
        let options = BuildOptions { threads, cancel: Some(progress.cancel()), ..options() };
        orogen::build(&recipe, &options, progress)
    })?
    .map_err(errors::build)?;
    built.warnings.iter().try_for_each(|warning| work::warn(py, warning))?;
    for step in &built.steps {
        for warning in &step.warnings {
            work::warn(py, &format!("step {:?}: {warning}", step.id))?;
        }
    }
    let steps = built
        .steps
        .iter()
        .map(|s| {
            (s.id.clone(), s.op.to_owned(), s.seconds, s.cached, s.warnings.clone(), figures(&s.figures))
        })
        .collect();
    Ok((Terrain::new(built.terrain, built.seed).in_system(crs)?, steps))
}

/// Why a place is as it is, as JSON and as text.
#[pyfunction]
#[pyo3(signature = (path, place, *, samples, seed, set, cache, memory, progress))]
fn explain(
    py: Python<'_>,
    path: PathBuf,
    place: [f64; 2],
    samples: Option<i64>,
    seed: Option<String>,
    set: &Bound<'_, PyDict>,
    cache: bool,
    memory: Option<u64>,
    progress: Option<Bound<'_, PyAny>>,
) -> PyResult<(String, String)> {
    let recipe = orogen::read_recipe(&path).map_err(errors::build)?;
    let overrides =
        Overrides { seed, samples: samples.map(count).transpose()?, set: convert::settings(set)? };
    let cache = if cache { orogen::open_cache().ok() } else { None };
    let found = work::run(py, progress.as_ref(), |progress| {
        let options = BuildOptions {
            overrides: Overrides::clone(&overrides),
            limits: limits(memory),
            cache: cache.as_ref(),
            base: path.parent().map(Path::to_path_buf),
            cancel: Some(progress.cancel()),
            ..BuildOptions::default()
        };
        let found = orogen::explain(&recipe, &options, place, progress)?;
        Ok((found.json(), found.text()))
    })?;
    found.map_err(errors::build)
}

#[pymodule]
fn _orogen(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", orogen::VERSION)?;
    module.add_class::<Terrain>()?;
    module.add_class::<session::Session>()?;
    module.add_function(wrap_pyfunction!(operators_json, module)?)?;
    module.add_function(wrap_pyfunction!(operators_text, module)?)?;
    module.add_function(wrap_pyfunction!(describe, module)?)?;
    module.add_class::<plants::Plant>()?;
    module.add_function(wrap_pyfunction!(plants::plant, module)?)?;
    module.add_function(wrap_pyfunction!(plants::plant_names, module)?)?;
    module.add_function(wrap_pyfunction!(read::read, module)?)?;
    module.add_function(wrap_pyfunction!(render::png, module)?)?;
    module.add_function(wrap_pyfunction!(explain, module)?)?;
    module.add_function(wrap_pyfunction!(build, module)?)
}
