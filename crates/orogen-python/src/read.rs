//! Elevation models of any format as terrains.

use std::path::PathBuf;

use orogen::core::{Frame, layer, values};
use orogen::io::geotiff::Place;
use orogen::io::{Limits, ReadError, elevation};
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
    let usual = Limits { advice: "; memory_bytes= raises the limit", ..Limits::default() };
    let limits = match memory {
        // Four bytes a sample, and four more where a window is cut out of it.
        Some(bytes) => Limits { max_samples: bytes / 8, ..usual },
        None => usual,
    };
    let refused = |e: ReadError| if e.too_large { errors::memory(&e) } else { errors::file(&e.path, &e) };
    let (model, place) = py.detach(|| elevation::read_placed(&path, &limits)).map_err(refused)?;
    let (cols, rows) = (model.height.cols(), model.height.rows());
    let south = |spacing_m: [f64; 2]| (rows - 1) as f64 * spacing_m[1];
    let wrong = |text: &dyn std::fmt::Display| errors::value(format!("{}: {text}", path.display()));
    let place = match (place, spacing_m) {
        (Some(place), given) => {
            if let Some(contradiction) = contradicts(&place, given, crs) {
                return Err(wrong(&contradiction));
            }
            place
        }
        (None, Some(m)) => Place::local([0.0, south(m)], m),
        (None, None) => {
            return Err(wrong(&"the file has no sample spacing; give it in metres with spacing_m="));
        }
    };
    let spacing_m = place.spacing_m();
    let first = if in_metres(&place) { place.at([0.0, 0.0]) } else { [0.0, south(spacing_m)] };
    let size_m = [(cols - 1) as f64 * spacing_m[0], south(spacing_m)];
    let frame = Frame::new([first[0], first[1] - size_m[1]], size_m, [cols, rows]).map_err(|e| wrong(&e))?;
    let mut land = orogen::core::Terrain::new(frame);
    values::check(&layer::HEIGHT.name(), &model.height).map_err(|e| wrong(&e))?;
    land.set(layer::HEIGHT, model.height);
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
    // A system of the file's own, which `crs` repeats at most, stays as the file describes it.
    if crs.is_some() && terrain.epsg_of_files().is_none() { terrain.in_system(crs) } else { Ok(terrain) }
}

/// Whether the coordinates of a file are those of the terrain; others are replaced by metres from the south-west sample.
pub fn in_metres(place: &Place) -> bool {
    !place.is_geographic() && place.unit_m().iter().all(|unit| (unit - 1.0).abs() < 1e-12)
}

/// What a call says of a file that says otherwise itself.
fn contradicts(place: &Place, spacing_m: Option<[f64; 2]>, crs: Option<u16>) -> Option<String> {
    let own = place.spacing_m();
    let same = |m: [f64; 2]| (0..2).all(|axis| (m[axis] - own[axis]).abs() <= 1e-6 * own[axis]);
    if spacing_m.is_some_and(|m| !same(m)) {
        let [x, y] = own;
        return Some(format!("the file has its own sample spacing, {x} x {y} m; leave out spacing_m="));
    }
    match (place.epsg(), crs?) {
        (Some(own), given) if own == given => None,
        (Some(own), _) => {
            Some(format!("the file names its own coordinate system, EPSG:{own}; leave out crs="))
        }
        (None, _) if in_metres(place) => None,
        (None, given) => {
            Some(format!("the coordinates of the file are not in metres, those of EPSG:{given} are"))
        }
    }
}
