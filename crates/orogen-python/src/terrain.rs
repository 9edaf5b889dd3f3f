//! `Terrain` as Python holds it.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use numpy::ndarray::ArrayView2;
use numpy::{Element, PyArray2, PyReadonlyArray2, PyUntypedArrayMethods};
use orogen::core::edits::{self, Edit};
use orogen::core::instances::Instances;
use orogen::core::{
    AnyOp, Catalog, Ctx, Frame, Kind, LayerData, LayerName, Part, Raster, Sample, Seed, each_kind, values,
};
use orogen::io::geotiff::Place;
use orogen::ops::drainage::drainage;
use orogen::ops::survey::{tin, viewshed};
use orogen::ops::water;
use orogen::recipe::vectors;
use orogen::{ExportKind, ExportOptions, Exports};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyTuple};

use crate::errors::{self, error};
use crate::read::in_metres;
use crate::{StepTuple, convert, count, hold, limits, picture, render, work};

/// (x, y), which Python sees as a tuple.
type Pair = (f64, f64);

/// The least that an operator needs for each sample besides what is there: its result and a raster to work on.
pub const WORK_BYTES: f64 = 8.0;

/// What land and work on it take for each sample, as recipes count it.
const LAND_BYTES: f64 = 64.0;

/// A terrain and the seed of what is done to it.
///
/// Long work runs on a copy of the layers (which are shared, not copied) without the lock; `changed_by` says meanwhile
/// who will write the result.
#[pyclass(frozen, module = "orogen._orogen")]
pub struct Terrain {
    state: Mutex<State>,
    seed: String,
    /// Where the land lies in the real world, if it does.
    place: Option<Place>,
}

struct State {
    land: orogen::core::Terrain,
    changed_by: Option<String>,
}

/// Keeps the values of a layer alive while an array shows them.
#[pyclass(frozen)]
struct LayerBuffer {
    _data: LayerData,
}

impl Terrain {
    /// Land in a world of its own.
    pub fn new(land: orogen::core::Terrain, seed: String) -> Self {
        Self::placed(land, seed, None)
    }

    /// Land at a place of the real world.
    pub fn placed(mut land: orogen::core::Terrain, seed: String, place: Option<Place>) -> Self {
        if let Some(place) = &place {
            // The middle of the world is known to its recipe; the coordinate system is that of the files.
            let found = place.on_earth(land.frame());
            let known = land.place();
            land.set_place(orogen::core::Place { crs: found.crs.or(known.crs), ..known.or(found) });
        }
        Self { state: Mutex::new(State { land, changed_by: None }), seed, place }
    }

    /// The same in a coordinate system of the EPSG register, whose metres are those of the frame; in a world of its own for
    /// `None`.
    pub fn in_system(self, epsg: Option<u16>) -> PyResult<Self> {
        let land = self.land()?;
        let frame = land.frame();
        let place = epsg.map(|epsg| Place::projected(epsg, [frame.x_m(0), frame.y_m(0)], frame.spacing_m()));
        Ok(Self::placed(land, self.seed, place))
    }

    /// Number of the coordinate system that saved files are in.
    pub fn epsg_of_files(&self) -> Option<u16> {
        let known = || self.state().land.place().crs.map(|crs| crs.epsg);
        self.place.as_ref().map_or_else(known, Place::epsg)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Nothing under the lock can fail half-way.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The layers as they are, unless another thread is changing them.
    fn land(&self) -> PyResult<orogen::core::Terrain> {
        let state = self.state();
        match &state.changed_by {
            Some(op) => Err(busy(op)),
            None => Ok(state.land.clone()),
        }
    }

    fn frame_of(&self) -> Frame {
        *self.state().land.frame()
    }

    /// The sample nearest to a place that a tool was given.
    fn nearest(&self, tool: &str, at_m: [f64; 2]) -> PyResult<[usize; 2]> {
        let frame = self.frame_of();
        let [col, row] = frame.locate(at_m[0], at_m[1]).map(f64::round);
        if (0.0..frame.cols() as f64).contains(&col) && (0.0..frame.rows() as f64).contains(&row) {
            return Ok([col as usize, row as usize]);
        }
        let (low, high) = (frame.extent().min, frame.extent().max);
        Err(errors::value(format!(
            "{tool}: ({}, {}) lies outside the land, which reaches from ({}, {}) to ({}, {})",
            at_m[0], at_m[1], low[0], low[1], high[0], high[1]
        )))
    }
}

fn busy(op: &str) -> PyErr {
    let text = format!(
        "this terrain is being changed by {op:?} in another thread; wait for it, or work on a copy()"
    );
    errors::OrogenBusyError::new_err(text)
}

/// Marks a terrain as being changed until it is dropped.
struct Change<'a>(&'a Terrain);

impl<'a> Change<'a> {
    /// The mark, and the land to start from.
    fn begin(terrain: &'a Terrain, op: &str) -> PyResult<(Self, orogen::core::Terrain)> {
        let mut state = terrain.state();
        if let Some(op) = &state.changed_by {
            return Err(busy(op));
        }
        state.changed_by = Some(op.to_owned());
        Ok((Self(terrain), state.land.clone()))
    }

    fn finish(self, land: orogen::core::Terrain) {
        self.0.state().land = land;
    }
}

impl Drop for Change<'_> {
    fn drop(&mut self) {
        self.0.state().changed_by = None;
    }
}

/// The sentence for an operator that there is not.
pub fn no_operator(catalog: &Catalog, op: &str) -> PyErr {
    let hint = catalog.nearest(op).map_or(String::new(), |n| format!("; did you mean {n:?}?"));
    errors::value(format!("no such operator {op:?}{hint}"))
}

fn layer_name(name: &str) -> PyResult<LayerName> {
    LayerName::parse(name).ok_or_else(|| {
        errors::value(format!(
            "{name:?} is not a valid layer name; use words of a-z, 0-9 and _ joined by dots"
        ))
    })
}

/// Parts as bytes, by name.
type Encoded<'py> = BTreeMap<String, Bound<'py, PyBytes>>;

/// Frame, place, seed, vectors, provenance, instances, the kind of number of every layer, and where on Earth that is.
type Parts<'py> = (String, Option<String>, String, Encoded<'py>, String, Encoded<'py>, String, String);

/// A frame as Python describes it.
fn frame(origin_m: [f64; 2], size_m: [f64; 2], samples: [usize; 2], loops: bool) -> PyResult<Frame> {
    let frame = Frame::new(origin_m, size_m, samples).map_err(errors::value)?;
    Ok(if loops { frame.looped() } else { frame })
}

/// A layer of the same kind as `_like`, from an array.
fn layer_of<T: Sample>(_like: &Raster<T>, array: &Bound<'_, PyAny>) -> PyResult<LayerData>
where
    T::Plain: Element,
{
    Ok(raster::<T>(&array.extract::<PyReadonlyArray2<'_, T::Plain>>()?)?.into())
}

#[pymethods]
impl Terrain {
    /// Flat ground at sea level.
    #[staticmethod]
    fn flat(
        py: Python<'_>,
        samples: [i64; 2],
        size_m: [f64; 2],
        origin_m: [f64; 2],
        loops: bool,
        crs: Option<u16>,
        seed: String,
        memory: Option<u64>,
    ) -> PyResult<Self> {
        let [cols, rows] = [count(samples[0])?, count(samples[1])?];
        hold(py, [cols as f64, rows as f64], LAND_BYTES, Some(limits(memory).memory_bytes))?;
        let frame = frame(origin_m, size_m, [cols, rows], loops)?;
        let mut land = orogen::core::Terrain::new(frame);
        land.set(orogen::core::layer::HEIGHT, Raster::filled(frame.cols(), frame.rows(), 0.0));
        Self::new(land, seed).in_system(crs)
    }

    /// Heights from an array, row 0 in the north.
    #[staticmethod]
    fn from_array(
        z: PyReadonlyArray2<'_, f32>,
        spacing_m: [f64; 2],
        origin_m: [f64; 2],
        loops: bool,
        crs: Option<u16>,
        seed: String,
    ) -> PyResult<Self> {
        let [rows, cols] = [z.shape()[0], z.shape()[1]];
        let size_m =
            [spacing_m[0] * cols.saturating_sub(1) as f64, spacing_m[1] * rows.saturating_sub(1) as f64];
        let frame = frame(origin_m, size_m, [cols, rows], loops)?;
        let mut land = orogen::core::Terrain::new(frame);
        land.set(orogen::core::layer::HEIGHT, checked("height", raster(&z)?)?);
        Self::new(land, seed).in_system(crs)
    }

    /// Applies an operator in place; on an error the terrain stays as it was. Gives what the step did.
    #[pyo3(signature = (op, id, second, mask, threads, progress, params))]
    fn apply(
        &self,
        py: Python<'_>,
        op: &str,
        id: Option<&str>,
        second: Option<&Bound<'_, Self>>,
        mask: Option<&str>,
        threads: Option<i64>,
        progress: Option<Bound<'_, PyAny>>,
        params: &Bound<'_, PyDict>,
    ) -> PyResult<StepTuple> {
        let catalog = orogen::catalog();
        let entry = catalog.get(op).ok_or_else(|| no_operator(&catalog, op))?;
        let parsed: Box<dyn AnyOp> = entry.parse(&convert::table(params)?).map_err(|faults| {
            let faults: Vec<String> = faults.iter().map(ToString::to_string).collect();
            errors::value(format!("{op}: {}", faults.join("; ")))
        })?;
        let combines = !parsed.layers().reads_second.is_empty();
        match second {
            None if combines => {
                return Err(errors::value(format!("{op} combines two terrains; give the second as with_=")));
            }
            Some(_) if !combines => {
                return Err(errors::value(format!("{op} takes no second terrain; leave out with_=")));
            }
            _ => {}
        }
        let mask = mask.map(layer_name).transpose()?;
        let threads = threads.map(thread_count).transpose()?;
        let seed = Seed::from_text(&self.seed).child(id.unwrap_or(op));
        let second = second.map(|second| second.get().land()).transpose()?;
        let (change, before) = Change::begin(self, op)?;
        hold(py, [before.frame().cols() as f64, before.frame().rows() as f64], WORK_BYTES, None)?;
        let files = orogen::io::FolderFiles::new(PathBuf::new(), orogen::io::Limits::default());
        let start = Instant::now();
        let (result, warnings, figures) = work::run(py, progress.as_ref(), |progress| {
            progress.name(op);
            let ctx = Ctx::new(seed).with_second(second.as_ref()).with_files(&files).watched_by(progress);
            let result = orogen::with_threads(threads, || {
                parsed.apply(before.clone(), &ctx).and_then(|after| match &mask {
                    Some(mask) => {
                        orogen::recipe::limit_to_mask(&before, after, mask, &parsed.layers().writes)
                    }
                    None => Ok(after),
                })
            });
            (result, ctx.take_warnings(), ctx.take_figures())
        })?;
        change.finish(result.map_err(errors::build)?.map_err(|e| errors::operator(op, e))?);
        warnings.iter().try_for_each(|w| work::warn(py, &format!("{op}: {w}")))?;
        let seconds = start.elapsed().as_secs_f64();
        Ok((id.unwrap_or(op).to_owned(), op.to_owned(), seconds, false, warnings, crate::figures(&figures)))
    }

    /// A layer as a read-only array that shares the terrain's memory.
    fn layer<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        let land = self.land()?;
        let data = LayerName::parse(name)
            .and_then(|n| land.layers().get(&n))
            .ok_or_else(|| no_layer(&land, name))?;
        each_kind!(data, raster => view(py, data, raster))
    }

    /// Sets a layer from an array of floats.
    fn set_layer(&self, name: &str, values: PyReadonlyArray2<'_, f32>) -> PyResult<()> {
        let layer = layer_name(name)?;
        let frame = self.frame_of();
        let [rows, cols] = [values.shape()[0], values.shape()[1]];
        if (cols, rows) != (frame.cols(), frame.rows()) {
            return Err(errors::value(format!(
                "layer {name:?}: an array of {rows} x {cols} does not match the terrain, which has {} rows and {} columns",
                frame.rows(),
                frame.cols()
            )));
        }
        let raster = checked(name, raster(&values)?)?;
        let (change, mut land) = Change::begin(self, name)?;
        land.set_named(layer, raster.into());
        change.finish(land);
        Ok(())
    }

    /// Sets a layer of ids from an array of unsigned whole numbers of 8, 16 or 32 bits.
    fn set_ids(&self, name: &str, values: &Bound<'_, PyAny>) -> PyResult<()> {
        let layer = layer_name(name)?;
        let data: LayerData = if let Ok(ids) = values.extract::<PyReadonlyArray2<'_, u8>>() {
            raster::<u8>(&ids)?.into()
        } else if let Ok(ids) = values.extract::<PyReadonlyArray2<'_, u16>>() {
            raster::<u16>(&ids)?.into()
        } else {
            raster::<u32>(&values.extract::<PyReadonlyArray2<'_, u32>>()?)?.into()
        };
        let (change, mut land) = Change::begin(self, name)?;
        land.accept(layer, data).map_err(errors::value)?;
        change.finish(land);
        Ok(())
    }

    /// Sets all weights of a family from shares of any size.
    fn set_weights(&self, family: &str, shares: BTreeMap<String, PyReadonlyArray2<'_, f32>>) -> PyResult<()> {
        let mut rasters = BTreeMap::new();
        for (name, values) in &shares {
            rasters.insert(layer_name(name)?, raster::<f32>(values)?);
        }
        let (change, mut land) = Change::begin(self, family)?;
        let shares = rasters.iter().map(|(name, raster)| (name.clone(), raster)).collect();
        land.set_weights(family, &shares).map_err(errors::value)?;
        change.finish(land);
        Ok(())
    }

    /// The kind of number that a layer of a well-known name holds, as NumPy names it, or `weight`.
    #[staticmethod]
    fn known_kind(name: &str) -> &'static str {
        let info = LayerName::parse(name).and_then(|name| orogen::core::layer::info(&name));
        match info.map_or(Kind::F32, |info| info.kind) {
            Kind::F32 => "float32",
            Kind::U8 => "uint8",
            Kind::U16 => "uint16",
            Kind::U32 => "uint32",
            Kind::Weight => "weight",
        }
    }

    /// Names of all layers of things that stand on the ground.
    fn instance_names(&self) -> PyResult<Vec<String>> {
        Ok(self.land()?.instances().keys().map(ToString::to_string).collect())
    }

    /// Names of species and records (`orogen._instances.INSTANCE`) of things, `None` when there are none of that name.
    fn instances<'py>(
        &self,
        py: Python<'py>,
        name: &str,
    ) -> PyResult<Option<(Vec<String>, Bound<'py, PyAny>)>> {
        let land = self.land()?;
        let Some(things) = land.instances().get(name) else { return Ok(None) };
        let records = py.detach(|| things.records());
        Ok(Some((things.species().to_vec(), numpy::PyArray1::from_vec(py, records).into_any())))
    }

    /// Sets things that stand on the ground; they are stood on the heights.
    fn set_instances(
        &self,
        name: &str,
        species: Vec<String>,
        records: numpy::PyReadonlyArray1<'_, u8>,
    ) -> PyResult<()> {
        let layer = layer_name(name)?;
        let bytes = records.as_slice().map_err(errors::value)?;
        let things = Instances::from_records(species, bytes).map_err(errors::value)?;
        let (change, mut land) = Change::begin(self, name)?;
        land.set_instances(layer, things);
        change.finish(land);
        Ok(())
    }

    /// Makes edits by hand, given as JSON; gives a sentence for each that could not be made.
    fn edit_instances(&self, name: &str, edits: &str) -> PyResult<Vec<String>> {
        let edits: Vec<Edit> =
            serde_json::from_str(edits).map_err(|e| errors::value(format!("edits: {e}")))?;
        let (change, mut land) = Change::begin(self, name)?;
        let Some((layer, things)) = land.instances().get_key_value(name) else {
            return Err(no_instances(&land, name));
        };
        let (layer, (made, unmade)) = (layer.clone(), edits::apply(things, &edits).map_err(errors::value)?);
        land.set_instances(layer, made);
        change.finish(land);
        Ok(unmade.iter().map(ToString::to_string).collect())
    }

    /// Removes things that stand on the ground.
    fn remove_instances(&self, name: &str) -> PyResult<()> {
        let (change, mut land) = Change::begin(self, name)?;
        if !land.instances().contains_key(name) {
            return Err(no_instances(&land, name));
        }
        land.retain(|part| !matches!(part, Part::Instances(other) if other.as_str() == name));
        change.finish(land);
        Ok(())
    }

    /// Removes a layer.
    fn remove_layer(&self, name: &str) -> PyResult<()> {
        let (change, mut land) = Change::begin(self, name)?;
        if LayerName::parse(name).and_then(|name| land.remove(&name)).is_none() {
            return Err(no_layer(&land, name));
        }
        change.finish(land);
        Ok(())
    }

    /// Names of all layers.
    fn layer_names(&self) -> PyResult<Vec<String>> {
        Ok(self.land()?.layers().keys().map(ToString::to_string).collect())
    }

    /// The unit of a layer; empty for plain numbers.
    #[staticmethod]
    fn unit(name: &str) -> &'static str {
        LayerName::parse(name).map_or("", |name| orogen::core::layer::unit(&name))
    }

    /// Names of all vector layers.
    fn vector_names(&self) -> PyResult<Vec<String>> {
        Ok(self.land()?.vectors().keys().map(ToString::to_string).collect())
    }

    /// A vector layer in columns, `None` when there is none of that name.
    fn vectors<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Option<Bound<'py, PyTuple>>> {
        self.land()?.vector(name).map(|layer| convert::vectors(py, layer)).transpose()
    }

    /// The land as few triangles: (vertices [n, 3] in metres, triangles [m, 3]).
    fn tin<'py>(
        &self,
        py: Python<'py>,
        max_error_m: f64,
        hierarchy: bool,
        progress: Option<Bound<'_, PyAny>>,
    ) -> PyResult<Bound<'py, PyTuple>> {
        let land = self.land()?;
        let frame = *land.frame();
        let height = land.get(orogen::core::layer::HEIGHT).map_err(errors::value)?;
        let found = work::run(py, progress.as_ref(), |progress| {
            progress.name("tin");
            let ctx = Ctx::silent().watched_by(progress);
            if hierarchy {
                tin::hierarchy(height, max_error_m, &ctx)
            } else {
                tin::greedy(height, max_error_m, &ctx)
            }
        })?;
        let found = found.map_err(|e| errors::operator("tin", e))?;
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
        let land = self.land()?;
        let frame = *land.frame();
        let height = land.get(orogen::core::layer::HEIGHT).map_err(errors::value)?;
        let eye = self.nearest("viewshed", at_m)?;
        let sight = viewshed::Sight { observer_m: heights_m[0], target_m: heights_m[1], curvature, range_m };
        let found = work::run(py, progress.as_ref(), |progress| {
            progress.name("viewshed");
            let ctx = Ctx::silent().watched_by(progress);
            let look = if exact { viewshed::exact } else { viewshed::viewshed };
            look(height, frame.spacing_m(), eye, &sight, &ctx)
        })?;
        let found = found.map_err(|e| errors::operator("viewshed", e))?;
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
        let land = self.land()?;
        let spacing_m = land.frame().spacing_m();
        let height = land.get(orogen::core::layer::HEIGHT).map_err(errors::value)?;
        let place = self.nearest("watershed", at_m)?;
        let sea_m = water::sea_level(sea);
        let found = work::run(py, progress.as_ref(), |progress| {
            progress.name("watershed");
            let ctx = Ctx::silent().watched_by(progress);
            let found = drainage(height, spacing_m, sea_m, &ctx)?;
            Ok(water::basins::of_places(height, &found, sea_m, spacing_m, &[place], snap_m))
        })?;
        let found = found.map_err(|e| errors::operator("watershed", e))?;
        let byte = |(&label, &z): (&u32, &f32)| if z.is_nan() { viewshed::HOLE } else { label as u8 };
        let mask: Vec<u8> = found.labels.as_slice().iter().zip(height.as_slice()).map(byte).collect();
        numpy::PyArray1::from_vec(py, mask).call_method1("reshape", ((height.rows(), -1),))
    }

    /// (samples, spacing in metres, south-west corner, north-east corner), each (x, y).
    fn frame(&self) -> ((usize, usize), Pair, Pair, Pair, bool) {
        let frame = self.frame_of();
        let extent = frame.extent();
        let shape = (frame.cols(), frame.rows());
        (shape, frame.spacing_m().into(), extent.min.into(), extent.max.into(), frame.loops())
    }

    /// Easting of every column and northing of every row, in metres.
    fn coordinates(&self) -> (Vec<f64>, Vec<f64>) {
        let frame = self.frame_of();
        ((0..frame.cols()).map(|c| frame.x_m(c)).collect(), (0..frame.rows()).map(|r| frame.y_m(r)).collect())
    }

    /// The seed of what is done to this terrain.
    #[getter]
    fn seed(&self) -> &str {
        &self.seed
    }

    /// Number in the register of EPSG of the coordinate system that the coordinates of the frame are in, if there is one.
    #[getter]
    fn epsg(&self) -> Option<u16> {
        let crs = self.state().land.place().crs;
        let known = || crs.filter(|crs| crs.offset_m == [0.0; 2]).map(|crs| crs.epsg);
        let of_place = |place: &Place| if in_metres(place) { place.epsg() } else { None };
        self.place.as_ref().map_or_else(known, of_place)
    }

    /// Where on Earth the land lies: latitude, longitude, number of the coordinate system, direction of north.
    #[getter]
    fn earth(&self) -> (Option<f64>, Option<f64>, Option<u16>, Option<f64>) {
        let place = self.state().land.place();
        (place.latitude_deg, place.longitude_deg, place.crs.map(|crs| crs.epsg), place.north_deg)
    }

    /// Number of the coordinate system that saved files are in, if there is one.
    #[getter]
    fn file_epsg(&self) -> Option<u16> {
        self.epsg_of_files()
    }

    /// A copy that shares the layers until one of the two writes.
    fn copy(&self) -> PyResult<Self> {
        Ok(Self::placed(self.land()?, self.seed.clone(), self.place.clone()))
    }

    /// A picture, as an array [rows, columns, 3].
    fn render<'py>(
        &self,
        py: Python<'py>,
        look: render::Look,
        progress: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let land = self.land()?;
        let taken = work::run(py, progress.as_ref(), |progress| {
            let (gpu, options) = look.open()?;
            render::take(&gpu, Arc::new(land), &options, progress)
        })?;
        render::array(py, &taken.map_err(errors::render)?)
    }

    /// A map as a PNG of at most so many pixels a side, `None` without heights.
    fn picture<'py>(&self, py: Python<'py>, most: usize) -> PyResult<Option<Bound<'py, PyBytes>>> {
        let land = self.land()?;
        let png = py.detach(|| picture::png(&land, most));
        Ok(png.map(|png| PyBytes::new(py, &png)))
    }

    /// All but the layers, for pickling: (frame, place, seed, vectors, what follows from what, instances, kinds of layers,
    /// where on Earth).
    fn parts<'py>(&self, py: Python<'py>) -> PyResult<Parts<'py>> {
        // TOML keeps every bit of a number.
        let text = |e: toml::ser::Error| error(e);
        let land = self.land()?;
        let frame = toml::to_string(land.frame()).map_err(text)?;
        let place = self.place.as_ref().map(toml::to_string).transpose().map_err(text)?;
        let bytes = |(name, layer): (&LayerName, &Arc<_>)| {
            (name.to_string(), PyBytes::new(py, &vectors::encode(layer)))
        };
        let provenance = serde_json::to_string(land.provenance()).map_err(error)?;
        let vectors = land.vectors().iter().map(bytes).collect();
        let things = |(name, all): (&LayerName, &Arc<Instances>)| {
            (name.to_string(), PyBytes::new(py, &all.to_bytes()))
        };
        let instances = land.instances().iter().map(things).collect();
        let kinds: BTreeMap<&str, Kind> =
            land.layers().iter().map(|(name, data)| (name.as_str(), data.kind())).collect();
        let kinds = serde_json::to_string(&kinds).map_err(error)?;
        let earth = toml::to_string(&land.place()).map_err(text)?;
        Ok((frame, place, self.seed.clone(), vectors, provenance, instances, kinds, earth))
    }

    /// What [`Terrain::parts`] and the layers came from.
    #[staticmethod]
    fn from_parts(
        frame: &str,
        place: Option<&str>,
        seed: String,
        vectors: BTreeMap<String, Vec<u8>>,
        provenance: &str,
        instances: BTreeMap<String, Vec<u8>>,
        kinds: &str,
        earth: &str,
        layers: BTreeMap<String, Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let wrong = || errors::value("not the parts of a terrain");
        let frame: Frame = toml::from_str(frame).map_err(|_| wrong())?;
        let place = place.map(toml::from_str).transpose().map_err(|_| wrong())?;
        let vectors = vectors
            .into_iter()
            .map(|(name, bytes)| Some((LayerName::parse(&name)?, Arc::new(vectors::decode(&bytes)?))))
            .collect::<Option<_>>()
            .ok_or_else(wrong)?;
        let kinds: BTreeMap<String, Kind> = serde_json::from_str(kinds).map_err(|_| wrong())?;
        let mut data = BTreeMap::new();
        for (name, array) in layers {
            let kind = kinds.get(&name).ok_or_else(wrong)?;
            // One of that kind, to be replaced by what the array holds.
            let layer = each_kind!(&kind.zeros(1, 1), like => layer_of(like, &array)?);
            data.insert(layer_name(&name)?, layer);
        }
        let provenance = serde_json::from_str(provenance).map_err(|_| wrong())?;
        let instances = instances
            .into_iter()
            .map(|(name, bytes)| {
                Some((LayerName::parse(&name)?, Arc::new(Instances::from_bytes(&bytes).ok()?)))
            })
            .collect::<Option<_>>()
            .ok_or_else(wrong)?;
        let parts = orogen::core::Parts { layers: data, vectors, instances, provenance };
        let mut land = orogen::core::Terrain::from_parts(frame, parts).ok_or_else(wrong)?;
        land.set_place(toml::from_str(earth).map_err(|_| wrong())?);
        Ok(Self::placed(land, seed, place))
    }

    /// Writes files, and gives their names.
    fn save(
        &self,
        py: Python<'_>,
        folder: PathBuf,
        kinds: Option<Vec<String>>,
        progress: Option<Bound<'_, PyAny>>,
    ) -> PyResult<Vec<PathBuf>> {
        let exports = match kinds {
            None => Exports::default(),
            Some(names) => {
                let kinds = names.iter().map(|name| ExportKind::parse(name)).collect::<Result<_, _>>();
                Exports::of(kinds.map_err(errors::value)?)
            }
        };
        let land = self.land()?;
        let written = work::run(py, progress.as_ref(), |progress| {
            progress.name("files");
            let options = ExportOptions {
                exports: &exports,
                seed: &self.seed,
                place: self.place.as_ref(),
                windows: None,
                cancel: progress.cancel(),
                progress: &|share| orogen::core::Watch::progress(progress, share),
            };
            orogen::save(&land, &options, &folder)
        })?;
        written.map_err(errors::build)
    }
}

/// A number of threads as Python gives it.
pub fn thread_count(threads: i64) -> PyResult<usize> {
    const MOST: i64 = 1024;
    (1..=MOST)
        .contains(&threads)
        .then_some(threads as usize)
        .ok_or_else(|| errors::value(format!("threads: {threads} is outside 1 to {MOST}")))
}

fn no_layer(land: &orogen::core::Terrain, name: &str) -> PyErr {
    let have: Vec<&str> = land.layers().keys().map(LayerName::as_str).collect();
    let text = format!("no layer {name:?} here; available: {}", have.join(", "));
    errors::OrogenKeyError::new_err(text)
}

fn no_instances(land: &orogen::core::Terrain, name: &str) -> PyErr {
    let have: Vec<&str> = land.instances().keys().map(LayerName::as_str).collect();
    errors::OrogenKeyError::new_err(format!("no instances {name:?} here; available: {}", have.join(", ")))
}

fn raster<T: Sample>(values: &PyReadonlyArray2<'_, T::Plain>) -> PyResult<Raster<T>>
where
    T::Plain: Element,
{
    let array = values.as_array();
    let (rows, cols) = array.dim();
    let mut data = Vec::new();
    // One that fails is an error, not the end of the interpreter.
    data.try_reserve_exact(array.len())
        .map_err(|_| errors::memory(format!("{cols} x {rows} samples do not fit into memory")))?;
    data.extend(array.iter().copied().map(T::from_plain));
    Raster::from_vec(cols, rows, data).ok_or_else(|| errors::value("the array is empty"))
}

/// Refuses values that no operator can work with: infinite ones, and heights that no land could have.
fn checked(name: &str, raster: Raster<f32>) -> PyResult<Raster<f32>> {
    let name =
        LayerName::parse(name).ok_or_else(|| errors::value(format!("{name:?} is not a valid layer name")))?;
    values::check(&name, &raster).map_err(|e| errors::value(e.to_string()))?;
    Ok(raster)
}

#[allow(unsafe_code, reason = "the array borrows from a buffer object that it keeps alive itself")]
fn view<'py, T: Sample>(py: Python<'py>, data: &LayerData, raster: &Raster<T>) -> PyResult<Bound<'py, PyAny>>
where
    T::Plain: Element,
{
    let shape = (raster.rows(), raster.cols());
    let array = ArrayView2::from_shape(shape, T::plain(raster.as_slice())).map_err(error)?;
    let owner = Bound::new(py, LayerBuffer { _data: data.clone() })?.into_any();
    // SAFETY: the buffer object holds the shared raster, nobody writes to it while it is shared, and the array is
    // made read-only before Python sees it.
    let array = unsafe { PyArray2::borrow_from_array(&array, owner) };
    array.call_method("setflags", (false,), None)?;
    Ok(array.into_any())
}
