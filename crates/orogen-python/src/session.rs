//! `Session` as Python holds it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use orogen::core::LayerName;
use orogen::io::{FolderFiles, Limits};
use orogen::recipe::{Overrides, Recipe};
use orogen::{BuildError, BuildOptions, Window};
use orogen_render::{Land, PlantsOf, RecipeLand, RenderError};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::terrain::{self, Terrain};
use crate::{convert, count, errors, hold, limits, rectangle, render, work};

/// A recipe made ready to answer for any window.
#[pyclass(frozen, module = "orogen._orogen")]
pub struct Session {
    session: Arc<orogen::recipe::Session>,
    recipe: Recipe,
    /// Where its files are.
    base: PathBuf,
    memory_bytes: u64,
    crs: Option<u16>,
}

impl Session {
    /// The land as pictures show it.
    fn land(&self) -> Arc<dyn Land> {
        let files = FolderFiles::new(self.base.clone(), Limits::of_memory(self.memory_bytes, 8));
        let checked = self.session.checked();
        let plants = orogen::has_plants(checked).then(|| -> Box<PlantsOf> {
            let (session, recipe) = (self.session.clone(), self.recipe.clone());
            Box::new(move |rect, cancel| {
                orogen::plants(&session, &recipe, rect, cancel).map_err(|e| match e {
                    BuildError::Cancelled => RenderError::Cancelled,
                    other => RenderError::Plants(other.to_string()),
                })
            })
        });
        Arc::new(RecipeLand { session: self.session.clone(), place: checked.place(&files), plants })
    }
}

#[pymethods]
impl Session {
    #[new]
    #[pyo3(signature = (path, *, samples, seed, set, crs, cache, memory))]
    fn new(
        py: Python<'_>,
        path: PathBuf,
        samples: Option<i64>,
        seed: Option<String>,
        set: &Bound<'_, PyDict>,
        crs: Option<u16>,
        cache: bool,
        memory: Option<u64>,
    ) -> PyResult<Self> {
        let recipe = orogen::read_recipe(&path).map_err(errors::build)?;
        let options = BuildOptions {
            overrides: Overrides {
                seed,
                samples: samples.map(count).transpose()?,
                set: convert::settings(set)?,
            },
            limits: limits(memory),
            base: path.parent().map(Path::to_path_buf),
            ..BuildOptions::default()
        };
        let cache = if cache { orogen::open_cache().ok().map(Arc::new) } else { None };
        let session = orogen::session(&recipe, &options, cache).map_err(errors::build)?;
        session.checked().warnings().iter().try_for_each(|warning| work::warn(py, warning))?;
        let base = options.base.unwrap_or_default();
        Ok(Self { session: Arc::new(session), recipe, base, memory_bytes: limits(memory).memory_bytes, crs })
    }

    /// Some layers of a window; all there are, vectors included, for none.
    fn tile(
        &self,
        py: Python<'_>,
        window: Option<[f64; 4]>,
        spacing_m: Option<f64>,
        layers: Vec<String>,
        progress: Option<Bound<'_, PyAny>>,
    ) -> PyResult<Terrain> {
        let rect = window.map(rectangle).transpose()?;
        if let Some(m) = spacing_m.filter(|m| !(*m > 0.0 && m.is_finite())) {
            return Err(errors::value(format!("spacing_m: {m} is not a valid length in metres")));
        }
        let part = (rect.is_some() || spacing_m.is_some()).then_some(Window { rect, spacing_m });
        let name = |name: &String| {
            LayerName::parse(name)
                .ok_or_else(|| errors::value(format!("layers: {name:?} is not the name of a layer")))
        };
        let layers: Vec<LayerName> = layers.iter().map(name).collect::<PyResult<_>>()?;
        let size = rect.unwrap_or_else(|| self.session.checked().frame().extent()).size();
        let [dx, dy] = spacing_m.map_or(self.session.checked().frame().spacing_m(), |m| [m, m]);
        hold(py, [size[0] / dx + 1.0, size[1] / dy + 1.0], terrain::WORK_BYTES, None)?;
        let frame = orogen::tile_frame(&self.session, part).map_err(errors::build)?;
        let land = work::run(py, progress.as_ref(), |progress| {
            progress.name("tile");
            orogen::tile(&self.session, &self.recipe, frame, &layers, progress.cancel())
        })?
        .map_err(errors::build)?;
        Terrain::new(land, self.session.checked().seed().to_owned()).in_system(self.crs)
    }

    /// Names of species and records (`orogen._instances.INSTANCE`) of the plants of a window; of all the land for none.
    fn plants<'py>(
        &self,
        py: Python<'py>,
        window: Option<[f64; 4]>,
        progress: Option<Bound<'py, PyAny>>,
    ) -> PyResult<(Vec<String>, Bound<'py, PyAny>)> {
        let extent = self.session.checked().frame().extent();
        let rect = window.map(rectangle).transpose()?.unwrap_or(extent);
        if rect.intersection(&extent).is_none() {
            return Err(errors::value(format!(
                "window: it lies outside the land, which reaches from {},{} to {},{} (metres east, metres north)",
                extent.min[0], extent.min[1], extent.max[0], extent.max[1]
            )));
        }
        let made = work::run(py, progress.as_ref(), |progress| {
            progress.name("plants");
            let made = orogen::plants(&self.session, &self.recipe, &rect, progress.cancel())?;
            Ok((made.species().to_vec(), made.records()))
        })?;
        let (species, records) = made.map_err(errors::build)?;
        Ok((species, numpy::PyArray1::from_vec(py, records).into_any()))
    }

    /// A picture, as an array [rows, columns, 3].
    fn render<'py>(
        &self,
        py: Python<'py>,
        look: render::Look,
        progress: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let taken = work::run(py, progress.as_ref(), |progress| {
            let (gpu, options) = look.open()?;
            self.session.solve(progress, progress.cancel())?;
            render::take(&gpu, self.land(), &options, progress)
        })?;
        render::array(py, &taken.map_err(errors::render)?)
    }

    /// Names of the layers that the recipe makes.
    fn layer_names(&self) -> Vec<String> {
        self.session.checked().layers().iter().map(ToString::to_string).collect()
    }

    /// Bytes of solved steps that are kept.
    fn kept_bytes(&self) -> u64 {
        self.session.kept_bytes()
    }
}
