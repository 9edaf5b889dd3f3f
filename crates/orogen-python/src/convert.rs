//! Python values as parameters, and vectors as Python values.

use orogen::core::vector::{Column, VectorLayer};
use orogen::recipe::Set;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyDict, PyFloat, PyInt, PyMapping, PySequence, PyString, PyTuple};
use toml::Value;

use crate::errors::value as value_error;

/// Deeper nesting than any operator has.
const MAX_DEPTH: usize = 16;

/// Keyword arguments as a parameter table. `None` leaves a parameter at its default.
pub fn table(params: &Bound<'_, PyDict>) -> PyResult<toml::Table> {
    nested_table(params.as_mapping(), 0)
}

/// `{"step.parameter": value}` as changes to a recipe.
pub fn settings(set: &Bound<'_, PyDict>) -> PyResult<Vec<Set>> {
    set.iter()
        .map(|(key, value)| {
            let key: String = key.extract().map_err(|_| value_error("set: names must be strings"))?;
            let value = to_value(&value, 0).map_err(|e| under(&key, &value, &e))?.to_string();
            match key.split_once('.') {
                Some((step, path)) if !step.is_empty() && !path.is_empty() => {
                    Ok(Set { step: step.to_owned(), path: path.to_owned(), value })
                }
                _ => Err(value_error(format!(
                    "set: {key:?} does not name a step and a parameter, as \"rain.talus_deg\" does"
                ))),
            }
        })
        .collect()
}

/// An error inside a parameter, after the parameter's name.
fn under(key: &str, value: &Bound<'_, PyAny>, error: &PyErr) -> PyErr {
    // The value of the error alone: its own text starts with the name of its type.
    value_error(format!("{key}: {}", error.value(value.py())))
}

fn nested_table(mapping: &Bound<'_, PyMapping>, depth: usize) -> PyResult<toml::Table> {
    let mut table = toml::Table::new();
    for item in mapping.items()? {
        let (key, value): (Bound<'_, PyAny>, Bound<'_, PyAny>) = item.extract()?;
        if !value.is_none() {
            let key: String = key.extract().map_err(|_| value_error("parameter names must be strings"))?;
            let value = to_value(&value, depth).map_err(|e| under(&key, &value, &e))?;
            table.insert(key, value);
        }
    }
    Ok(table)
}

fn to_value(object: &Bound<'_, PyAny>, depth: usize) -> PyResult<Value> {
    if depth > MAX_DEPTH {
        return Err(value_error("nested too deeply"));
    }
    if object.is_instance_of::<PyBool>() {
        return Ok(Value::Boolean(object.extract()?));
    }
    if object.is_instance_of::<PyInt>() {
        return object
            .extract()
            .map(Value::Integer)
            // It may have more digits than Python prints.
            .map_err(|_| value_error("the whole number is too large"));
    }
    if object.is_instance_of::<PyFloat>() {
        return Ok(Value::Float(object.extract()?));
    }
    if object.is_instance_of::<PyString>() {
        return Ok(Value::String(object.extract()?));
    }
    // NumPy scalars and arrays of any dimension, and anything else that turns itself into plain Python.
    if let Ok(plain) = object.call_method0("tolist") {
        return to_value(&plain, depth + 1);
    }
    if let Ok(mapping) = object.cast::<PyMapping>() {
        return nested_table(mapping, depth + 1).map(Value::Table);
    }
    if object.cast::<PySequence>().is_ok() && !object.is_instance_of::<PyBytes>() {
        return object
            .try_iter()?
            .map(|item| to_value(&item?, depth + 1))
            .collect::<PyResult<_>>()
            .map(Value::Array);
    }
    if let Ok(path) = object.call_method0("__fspath__") {
        return to_value(&path, depth + 1);
    }
    // Numbers of other libraries: fractions, decimals.
    if let Ok(whole) = object.call_method0("__index__") {
        return to_value(&whole, depth + 1);
    }
    if let Ok(number) = object.call_method0("__float__") {
        return to_value(&number, depth + 1);
    }
    Err(value_error(format!(
        "a value of type {} is not a number, a text, a list or a table",
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
                Column::F32(v) => dict.set_item(name, numpy::PyArray1::from_slice(py, v))?,
                Column::U8(v) => dict.set_item(name, numpy::PyArray1::from_slice(py, v))?,
                Column::U16(v) => dict.set_item(name, numpy::PyArray1::from_slice(py, v))?,
                Column::Category(v) => {
                    let names: Vec<&str> = (0..v.numbers().len()).map(|i| v.name(i)).collect();
                    dict.set_item(name, names)?;
                }
            }
        }
        Ok(dict)
    };
    (shape, vertices, parts, columns(layer.feature_attributes())?, columns(layer.vertex_attributes())?)
        .into_pyobject(py)
}
