//! Python values as parameters, and vectors as Python values.

use orogen::core::vector::{Column, VectorLayer};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};
use toml::Value;

/// Deeper nesting than any operator has.
const MAX_DEPTH: usize = 16;

/// Keyword arguments as a parameter table. `None` leaves a parameter at its default.
pub fn table(params: &Bound<'_, PyDict>) -> PyResult<toml::Table> {
    nested_table(params, 0)
}

fn nested_table(dict: &Bound<'_, PyDict>, depth: usize) -> PyResult<toml::Table> {
    let mut table = toml::Table::new();
    for (key, value) in dict {
        if !value.is_none() {
            let key: String = key.extract().map_err(|_| crate::error("parameter names are texts"))?;
            let value = to_value(&value, depth).map_err(|e| {
                // The value of the error alone: its own text starts with the name of its type.
                crate::error(format!("{key}: {}", e.value(value.py())))
            })?;
            table.insert(key, value);
        }
    }
    Ok(table)
}

fn to_value(object: &Bound<'_, PyAny>, depth: usize) -> PyResult<Value> {
    if depth > MAX_DEPTH {
        return Err(crate::error("nested too deeply"));
    }
    if object.is_instance_of::<PyBool>() {
        return Ok(Value::Boolean(object.extract()?));
    }
    if object.is_instance_of::<PyInt>() {
        return object
            .extract()
            .map(Value::Integer)
            .map_err(|_| crate::error(format!("{object} is too large")));
    }
    if object.is_instance_of::<PyFloat>() {
        return Ok(Value::Float(object.extract()?));
    }
    if object.is_instance_of::<PyString>() {
        return Ok(Value::String(object.extract()?));
    }
    if let Ok(dict) = object.cast::<PyDict>() {
        return nested_table(dict, depth + 1).map(Value::Table);
    }
    if object.is_instance_of::<PyList>() || object.is_instance_of::<PyTuple>() {
        return object
            .try_iter()?
            .map(|item| to_value(&item?, depth + 1))
            .collect::<PyResult<_>>()
            .map(Value::Array);
    }
    // NumPy scalars and arrays, and anything else that turns itself into plain Python.
    if let Ok(plain) = object.call_method0("tolist") {
        return to_value(&plain, depth + 1);
    }
    if let Ok(path) = object.call_method0("__fspath__") {
        return to_value(&path, depth + 1);
    }
    Err(crate::error(format!(
        "found a value of type {}, allowed are numbers, texts, lists and tables",
        object.get_type().name()?
    )))
}

/// A vector layer as `(shape, vertices, parts, feature attributes, vertex attributes)` for the typed face.
pub fn vectors<'py>(py: Python<'py>, layer: &VectorLayer) -> PyResult<Bound<'py, PyTuple>> {
    let shape = match layer.shape() {
        orogen::core::vector::Shape::Points => "points",
        orogen::core::vector::Shape::Lines => "lines",
        orogen::core::vector::Shape::Polygons => "polygons",
    };
    let vertices: Vec<f64> = layer.vertices().iter().flatten().copied().collect();
    let vertices = numpy::PyArray1::from_vec(py, vertices).call_method1("reshape", ((-1, 3),))?;
    let parts: Vec<Vec<(usize, usize)>> =
        (0..layer.len()).map(|f| layer.parts(f).map(|range| (range.start, range.end)).collect()).collect();
    let columns = |map: &std::collections::BTreeMap<String, Column>| -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        for (name, column) in map {
            match column {
                Column::Number(v) => dict.set_item(name, numpy::PyArray1::from_slice(py, v))?,
                Column::Integer(v) => dict.set_item(name, numpy::PyArray1::from_slice(py, v))?,
                Column::Flag(v) => dict.set_item(name, numpy::PyArray1::from_slice(py, v))?,
                Column::Text(v) => dict.set_item(name, v)?,
            }
        }
        Ok(dict)
    };
    (shape, vertices, parts, columns(layer.feature_attributes())?, columns(layer.vertex_attributes())?)
        .into_pyobject(py)
}
