//! Plants as arrays.

use numpy::{Element, PyArray1};
use orogen::flora::{self, Fineness, Growth, LEVELS, PlantFile, Season};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use crate::errors;

/// A grown plant.
#[pyclass(frozen)]
pub struct Plant {
    plant: flora::Plant,
    name: String,
}

/// Grows a plant.
#[pyfunction]
#[pyo3(signature = (name, *, seed, age, vigour, season))]
pub fn plant(
    py: Python<'_>,
    name: String,
    seed: &str,
    age: f64,
    vigour: f64,
    season: &str,
) -> PyResult<Plant> {
    let season = match season {
        "spring" => Season::Spring,
        "summer" => Season::Summer,
        "autumn" => Season::Autumn,
        "winter" => Season::Winter,
        other => {
            return Err(errors::value(format!(
                "season: {other:?} is not \"spring\", \"summer\", \"autumn\" or \"winter\""
            )));
        }
    };
    let growth = Growth { age, vigour, season };
    let plant = py.detach(|| flora::plant(&name, seed, growth)).map_err(errors::build)?;
    Ok(Plant { plant, name: flora::plant_name(&name) })
}

/// Names of all species.
#[pyfunction]
pub fn plant_names() -> Vec<&'static str> {
    flora::names().collect()
}

/// A level of detail as Python gives it; `None` for everything.
fn fineness(lod: Option<i64>) -> PyResult<Fineness> {
    let Some(lod) = lod else { return Ok(Fineness::Full) };
    let level = u8::try_from(lod).ok().filter(|level| *level < LEVELS);
    level
        .map(Fineness::Level)
        .ok_or_else(|| errors::value(format!("lod: {lod} is outside 0 to {}", LEVELS - 1)))
}

/// Numbers as an array with rows of so many.
fn rows<'py, T: Element>(py: Python<'py>, values: Vec<T>, width: usize) -> PyResult<Bound<'py, PyAny>> {
    PyArray1::from_vec(py, values).call_method1("reshape", ((-1, width),))
}

#[pymethods]
impl Plant {
    /// Bark and leaves, each a dictionary of arrays.
    fn mesh<'py>(
        &self,
        py: Python<'py>,
        lod: Option<i64>,
    ) -> PyResult<(Bound<'py, PyDict>, Bound<'py, PyDict>)> {
        let fineness = fineness(lod)?;
        let made = py.detach(|| self.plant.mesh(fineness));
        let part = |mesh: flora::Mesh| -> PyResult<Bound<'py, PyDict>> {
            let dict = PyDict::new(py);
            dict.set_item("vertices", rows(py, mesh.positions.into_flattened(), 3)?)?;
            dict.set_item("normals", rows(py, mesh.normals.into_flattened(), 3)?)?;
            dict.set_item("uvs", rows(py, mesh.uvs.into_flattened(), 2)?)?;
            dict.set_item("indices", rows(py, mesh.indices, 3)?)?;
            Ok(dict)
        };
        Ok((part(made.bark)?, part(made.leaves)?))
    }

    /// Nodes and stems as arrays.
    fn skeleton<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let skeleton = &self.plant.skeleton;
        let dict = PyDict::new(py);
        let nodes: Vec<f32> = skeleton.nodes.iter().flat_map(|node| node.at).collect();
        dict.set_item("nodes", rows(py, nodes, 3)?)?;
        let radii = skeleton.nodes.iter().map(|node| node.radius_m).collect();
        dict.set_item("radii_m", PyArray1::from_vec(py, radii))?;
        let stems: Vec<u32> = skeleton.stems.iter().flat_map(|stem| [stem.first, stem.count]).collect();
        dict.set_item("stems", rows(py, stems, 2)?)?;
        let parents = skeleton.stems.iter().map(|stem| stem.parent.map_or(-1, i64::from)).collect();
        dict.set_item("parents", PyArray1::from_vec(py, parents))?;
        let levels = skeleton.stems.iter().map(|stem| stem.level).collect();
        dict.set_item("levels", PyArray1::from_vec(py, levels))?;
        let leaves: Vec<f32> = skeleton.leaves.iter().flat_map(|leaf| leaf.at).collect();
        dict.set_item("leaves", rows(py, leaves, 3)?)?;
        Ok(dict)
    }

    /// The bytes of a glb file; all levels of detail without one.
    #[pyo3(signature = (lod, levels))]
    fn glb<'py>(&self, py: Python<'py>, lod: Option<i64>, levels: bool) -> PyResult<Bound<'py, PyBytes>> {
        let what = if levels { PlantFile::Levels } else { PlantFile::One(fineness(lod)?) };
        let bytes = py.detach(|| flora::plant_glb(&self.plant, &self.name, what)).map_err(errors::build)?;
        Ok(PyBytes::new(py, &bytes))
    }

    fn height_m(&self) -> f32 {
        self.plant.skeleton.height_m()
    }
}
