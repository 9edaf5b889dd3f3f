//! Elevation models of any format as terrains.

use std::path::PathBuf;

use orogen::core::{Frame, layer};
use orogen::io::geotiff::Place;
use orogen::io::{Limits, elevation};
use pyo3::prelude::*;

use crate::errors;
use crate::terrain::Terrain;

/// Reads an elevation model. One in metres keeps its coordinates; one in degrees or feet lies in metres from its south-west
/// sample, and its own coordinates come back when it is saved.
#[pyfunction]
#[pyo3(signature = (path, *, spacing_m, window, crs, seed, memory))]
pub fn read(
    py: Python<'_>,
    path: PathBuf,
    spacing_m: Option<[f64; 2]>,
    window: Option<[f64; 4]>,
    crs: Option<u16>,
    seed: String,
    memory: Option<u64>,
) -> PyResult<Terrain> {
    let limits = match memory {
        // Four bytes a sample, and four more where a window is cut out of it.
        Some(bytes) => Limits { max_samples: bytes / 8, ..Limits::default() },
        None => Limits::default(),
    };
    let (model, place) =
        py.detach(|| elevation::read_placed(&path, &limits)).map_err(|e| errors::file(&path, &e))?;
    let (cols, rows) = (model.height.cols(), model.height.rows());
    let south = |spacing_m: [f64; 2]| (rows - 1) as f64 * spacing_m[1];
    let place = match (place, spacing_m) {
        (_, Some(m)) => Place::local([0.0, south(m)], m),
        (Some(place), None) => place,
        (None, None) => {
            let text = "the file has no sample spacing; give it in metres with spacing_m=";
            return Err(errors::value(format!("{}: {text}", path.display())));
        }
    };
    let in_metres = !place.is_geographic() && place.unit_m().iter().all(|unit| (unit - 1.0).abs() < 1e-12);
    let spacing_m = place.spacing_m();
    let first = if in_metres { place.at([0.0, 0.0]) } else { [0.0, south(spacing_m)] };
    let wrong = |e| errors::value(format!("{}: {e}", path.display()));
    let size_m = [(cols - 1) as f64 * spacing_m[0], south(spacing_m)];
    let frame = Frame::new([first[0], first[1] - size_m[1]], size_m, [cols, rows]).map_err(wrong)?;
    let mut land = orogen::core::Terrain::new(frame);
    land.set(layer::HEIGHT, crate::terrain::checked("height", model.height)?);
    let mut place = if place.epsg().is_some() || place.is_geographic() { Some(place) } else { None };
    if let Some(window) = window {
        let rect = crate::rectangle(window)?;
        let all = frame.extent();
        let inside = (0..2).all(|axis| rect.min[axis] >= all.min[axis] && rect.max[axis] <= all.max[axis]);
        let part = frame.clipped(&rect).filter(|_| inside);
        let part = part.and_then(|part| Some((land.crop(&part)?, frame.offset_of(&part)?)));
        let (cut, (col, row)) = part.ok_or_else(|| {
            let text =
                |r: orogen::core::Rect| format!("({}, {}, {}, {})", r.min[0], r.min[1], r.max[0], r.max[1]);
            errors::value(format!("window: {} does not lie inside the model, {}", text(rect), text(all)))
        })?;
        place = place.map(|place| place.part(col, row));
        land = cut;
    }
    let terrain = Terrain::placed(land, seed, place);
    if crs.is_some() { terrain.in_system(crs) } else { Ok(terrain) }
}
