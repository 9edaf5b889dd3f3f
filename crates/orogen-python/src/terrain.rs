//! `Terrain` as Python holds it.

use std::path::PathBuf;
use std::sync::Arc;

use numpy::ndarray::ArrayView2;
use numpy::{Element, PyArray2, PyReadonlyArray2, PyUntypedArrayMethods};
use orogen::core::{AnyOp, Ctx, Frame, LayerData, LayerName, Raster, Seed};
use orogen::ops::drainage::drainage;
use orogen::ops::survey::{tin, viewshed};
use orogen::ops::water;
use orogen::{ExportKind, ExportOptions, Exports};
use pyo3::exceptions::PyKeyError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use crate::{convert, count, error, limits, work};

/// (x, y), which Python sees as a tuple.
type Pair = (f64, f64);

/// A terrain and the seed of what is done to it.
#[pyclass(module = "orogen._orogen")]
pub struct Terrain {
    inner: orogen::core::Terrain,
    seed: String,
}

/// Keeps the values of a layer alive while an array shows them.
#[pyclass(frozen)]
struct LayerBuffer {
    _data: LayerData,
}

impl Terrain {
    /// The sample nearest to a place that a tool was given.
    fn nearest(&self, tool: &str, at_m: [f64; 2]) -> PyResult<[usize; 2]> {
        let frame = self.inner.frame();
        let [col, row] = frame.locate(at_m[0], at_m[1]).map(f64::round);
        if (0.0..frame.cols() as f64).contains(&col) && (0.0..frame.rows() as f64).contains(&row) {
            return Ok([col as usize, row as usize]);
        }
        let (low, high) = (frame.extent().min, frame.extent().max);
        Err(error(format!(
            "{tool}: ({}, {}) lies outside the land, which reaches from ({}, {}) to ({}, {})",
            at_m[0], at_m[1], low[0], low[1], high[0], high[1]
        )))
    }

    pub fn new(inner: orogen::core::Terrain, seed: String) -> Self {
        Self { inner, seed }
    }
}

#[pymethods]
impl Terrain {
    /// Flat ground at sea level.
    #[staticmethod]
    fn flat(
        samples: [i64; 2],
        size_m: [f64; 2],
        origin_m: [f64; 2],
        seed: String,
        memory: Option<u64>,
    ) -> PyResult<Self> {
        let [cols, rows] = [count(samples[0])?, count(samples[1])?];
        // Before the allocation: one that fails takes the interpreter with it.
        if let Some(refusal) = limits(memory).refuse(cols as f64 * rows as f64, 1) {
            return Err(error(format!("{cols} x {rows} samples {refusal}")));
        }
        let frame = Frame::new(origin_m, size_m, [cols, rows]).map_err(error)?;
        let mut inner = orogen::core::Terrain::new(frame);
        inner.set(orogen::core::layer::HEIGHT, Raster::filled(frame.cols(), frame.rows(), 0.0));
        Ok(Self { inner, seed })
    }

    /// Heights from an array, row 0 in the north.
    #[staticmethod]
    fn from_array(
        z: PyReadonlyArray2<'_, f32>,
        spacing_m: [f64; 2],
        origin_m: [f64; 2],
        seed: String,
    ) -> PyResult<Self> {
        let [rows, cols] = [z.shape()[0], z.shape()[1]];
        let size_m =
            [spacing_m[0] * cols.saturating_sub(1) as f64, spacing_m[1] * rows.saturating_sub(1) as f64];
        let frame = Frame::new(origin_m, size_m, [cols, rows]).map_err(error)?;
        let mut inner = orogen::core::Terrain::new(frame);
        inner.set(orogen::core::layer::HEIGHT, raster(&z)?);
        Ok(Self { inner, seed })
    }

    /// Applies an operator in place; on an error the terrain stays as it was.
    #[pyo3(signature = (op, id, second, mask, threads, progress, params))]
    fn apply(
        &mut self,
        py: Python<'_>,
        op: &str,
        id: Option<&str>,
        second: Option<PyRef<'_, Self>>,
        mask: Option<&str>,
        threads: Option<i64>,
        progress: Option<Bound<'_, PyAny>>,
        params: &Bound<'_, PyDict>,
    ) -> PyResult<()> {
        let catalog = orogen::catalog();
        let entry = catalog.get(op).ok_or_else(|| {
            let hint = catalog.nearest(op).map_or(String::new(), |n| format!("; did you mean {n:?}?"));
            error(format!("there is no operator {op:?}{hint}"))
        })?;
        let parsed: Box<dyn AnyOp> = entry.parse(&convert::table(params)?).map_err(|faults| {
            let faults: Vec<String> = faults.iter().map(ToString::to_string).collect();
            error(format!("{op}: {}", faults.join("; ")))
        })?;
        let mask = mask
            .map(|name| LayerName::parse(name).ok_or_else(|| error(format!("{name:?} is no layer name"))))
            .transpose()?;
        let threads = threads.map(thread_count).transpose()?;
        let seed = Seed::from_text(&self.seed).child(id.unwrap_or(op));
        let (before, second) = (self.inner.clone(), second.map(|s| s.inner.clone()));
        let files = orogen::io::FolderFiles::new(PathBuf::new(), orogen::io::Limits::default());
        let (result, warnings) = work::run(py, progress.as_ref(), |progress| {
            let ctx = Ctx::new(seed).with_second(second.as_ref()).with_files(&files).watched_by(progress);
            let result = orogen::with_threads(threads, || {
                parsed.apply(before.clone(), &ctx).and_then(|after| match &mask {
                    Some(mask) => {
                        orogen::recipe::limit_to_mask(&before, after, mask, &parsed.layers().writes)
                    }
                    None => Ok(after),
                })
            });
            (result, ctx.take_warnings())
        })?;
        self.inner = result.map_err(error)?.map_err(|e| error(format!("{op}: {e}")))?;
        warnings.iter().try_for_each(|w| work::warn(py, &format!("{op}: {w}")))
    }

    /// A layer as a read-only array that shares the terrain's memory.
    fn layer<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        let data = LayerName::parse(name).and_then(|n| self.inner.layers().get(&n)).ok_or_else(|| {
            let have: Vec<&str> = self.inner.layers().keys().map(LayerName::as_str).collect();
            PyKeyError::new_err(format!("there is no layer {name:?} here; there are {}", have.join(", ")))
        })?;
        match data {
            LayerData::F32(raster) => view(py, data, raster),
            LayerData::U8(raster) => view(py, data, raster),
        }
    }

    /// Sets a layer from an array of floats.
    fn set_layer(&mut self, name: &str, values: PyReadonlyArray2<'_, f32>) -> PyResult<()> {
        let name = LayerName::parse(name).ok_or_else(|| {
            error(format!("{name:?} is no layer name: words of a-z, 0-9 and _ joined by dots"))
        })?;
        let raster = raster(&values)?;
        let frame = self.inner.frame();
        if (raster.cols(), raster.rows()) != (frame.cols(), frame.rows()) {
            return Err(error(format!(
                "layer {name:?}: found an array of {} x {}, the terrain has {} rows and {} columns",
                raster.rows(),
                raster.cols(),
                frame.rows(),
                frame.cols()
            )));
        }
        self.inner.set_named(name, LayerData::F32(Arc::new(raster)));
        Ok(())
    }

    /// Names of all layers.
    fn layer_names(&self) -> Vec<String> {
        self.inner.layers().keys().map(ToString::to_string).collect()
    }

    /// Names of all vector layers.
    fn vector_names(&self) -> Vec<String> {
        self.inner.vectors().keys().cloned().collect()
    }

    /// A vector layer in columns, `None` when there is none of that name.
    fn vectors<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Option<Bound<'py, PyTuple>>> {
        self.inner.vector(name).map(|layer| convert::vectors(py, layer)).transpose()
    }

    /// The land as few triangles: (vertices [n, 3] in metres, triangles [m, 3]).
    fn tin<'py>(
        &self,
        py: Python<'py>,
        max_error_m: f64,
        hierarchy: bool,
        progress: Option<Bound<'_, PyAny>>,
    ) -> PyResult<Bound<'py, PyTuple>> {
        let frame = *self.inner.frame();
        let height = self.inner.get(orogen::core::layer::HEIGHT).map_err(error)?;
        let found = work::run(py, progress.as_ref(), |progress| {
            let ctx = Ctx::silent().watched_by(progress);
            if hierarchy {
                tin::hierarchy(height, max_error_m, &ctx)
            } else {
                tin::greedy(height, max_error_m, &ctx)
            }
        })?;
        let found = found.map_err(|e| error(format!("tin: {e}")))?;
        let place = |&[col, row]: &[u32; 2]| {
            let (col, row) = (col as usize, row as usize);
            [frame.x_m(col), frame.y_m(row), f64::from(height.row(row)[col])]
        };
        let vertices = found.vertices.iter().map(place).collect::<Vec<_>>().into_flattened();
        let triangles = found.triangles.into_flattened();
        let vertices = numpy::PyArray1::from_vec(py, vertices).call_method1("reshape", ((-1, 3),))?;
        let triangles = numpy::PyArray1::from_vec(py, triangles).call_method1("reshape", ((-1, 3),))?;
        (vertices, triangles).into_pyobject(py)
    }

    /// What is seen from a place: bytes, 1 seen, 0 hidden, 255 a hole.
    fn viewshed<'py>(
        &self,
        py: Python<'py>,
        at_m: [f64; 2],
        heights_m: [f64; 2],
        curvature: f64,
        range_m: f64,
        exact: bool,
        progress: Option<Bound<'_, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let frame = *self.inner.frame();
        let height = self.inner.get(orogen::core::layer::HEIGHT).map_err(error)?;
        let eye = self.nearest("viewshed", at_m)?;
        let sight = viewshed::Sight { observer_m: heights_m[0], target_m: heights_m[1], curvature, range_m };
        let found = work::run(py, progress.as_ref(), |progress| {
            let ctx = Ctx::silent().watched_by(progress);
            let look = if exact { viewshed::exact } else { viewshed::viewshed };
            look(height, frame.spacing_m(), eye, &sight, &ctx)
        })?;
        let found = found.map_err(|e| error(format!("viewshed: {e}")))?;
        let rows = found.rows();
        numpy::PyArray1::from_vec(py, found.into_vec()).call_method1("reshape", ((rows, -1),))
    }

    /// What drains through a place: bytes, 1 does, 0 does not, 255 a hole.
    fn watershed<'py>(
        &self,
        py: Python<'py>,
        at_m: [f64; 2],
        snap_m: f64,
        sea: bool,
        progress: Option<Bound<'_, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let spacing_m = self.inner.frame().spacing_m();
        let height = self.inner.get(orogen::core::layer::HEIGHT).map_err(error)?;
        let place = self.nearest("watershed", at_m)?;
        let sea_m = water::sea_level(sea);
        let found = work::run(py, progress.as_ref(), |progress| {
            let ctx = Ctx::silent().watched_by(progress);
            let found = drainage(height, spacing_m, sea_m, &ctx)?;
            Ok(water::basins::of_places(height, &found, sea_m, spacing_m, &[place], snap_m))
        })?;
        let found = found.map_err(|e: orogen::core::OpError| error(format!("watershed: {e}")))?;
        let byte = |(&label, &z): (&u32, &f32)| if z.is_nan() { viewshed::HOLE } else { label as u8 };
        let mask: Vec<u8> = found.labels.as_slice().iter().zip(height.as_slice()).map(byte).collect();
        numpy::PyArray1::from_vec(py, mask).call_method1("reshape", ((height.rows(), -1),))
    }

    /// (samples, spacing in metres, south-west corner, north-east corner), each (x, y).
    fn frame(&self) -> ((usize, usize), Pair, Pair, Pair) {
        let frame = self.inner.frame();
        let extent = frame.extent();
        ((frame.cols(), frame.rows()), frame.spacing_m().into(), extent.min.into(), extent.max.into())
    }

    /// The seed of what is done to this terrain.
    #[getter]
    fn seed(&self) -> &str {
        &self.seed
    }

    /// A copy that shares the layers until one of the two writes.
    fn copy(&self) -> Self {
        Self { inner: self.inner.clone(), seed: self.seed.clone() }
    }

    /// Writes files, and tells their names.
    fn save(&self, py: Python<'_>, folder: PathBuf, kinds: Option<Vec<String>>) -> PyResult<Vec<PathBuf>> {
        let exports = match kinds {
            None => Exports::default(),
            Some(names) => {
                let kinds = names.iter().map(|name| ExportKind::parse(name)).collect::<Result<_, _>>();
                Exports::of(kinds.map_err(error)?)
            }
        };
        let (terrain, seed) = (&self.inner, &self.seed);
        let written = work::run(py, None, |progress| {
            let options =
                ExportOptions { exports: &exports, seed, cancel: progress.cancel(), progress: &|_| () };
            orogen::save(terrain, &options, &folder)
        })?;
        written.map_err(error)
    }
}

/// A number of threads as Python gives it.
fn thread_count(threads: i64) -> PyResult<usize> {
    const MOST: i64 = 1024;
    (1..=MOST)
        .contains(&threads)
        .then_some(threads as usize)
        .ok_or_else(|| error(format!("threads: found {threads}, allowed is 1 to {MOST}")))
}

fn raster(values: &PyReadonlyArray2<'_, f32>) -> PyResult<Raster<f32>> {
    let array = values.as_array();
    let (rows, cols) = array.dim();
    Raster::from_vec(cols, rows, array.iter().copied().collect()).ok_or_else(|| error("the array is empty"))
}

#[allow(unsafe_code, reason = "the array borrows from a buffer object that it keeps alive itself")]
fn view<'py, T: Element>(
    py: Python<'py>,
    data: &LayerData,
    raster: &Raster<T>,
) -> PyResult<Bound<'py, PyAny>> {
    let array = ArrayView2::from_shape((raster.rows(), raster.cols()), raster.as_slice()).map_err(error)?;
    let owner = Bound::new(py, LayerBuffer { _data: data.clone() })?.into_any();
    // SAFETY: the buffer object holds the shared raster, nobody writes to it while it is shared, and the array is
    // made read-only before Python sees it.
    let array = unsafe { PyArray2::borrow_from_array(&array, owner) };
    array.call_method("setflags", (false,), None)?;
    Ok(array.into_any())
}
