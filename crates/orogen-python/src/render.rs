//! Pictures of a terrain.

use std::sync::Arc;

use numpy::ndarray::Array3;
use numpy::{PyArray3, PyReadonlyArray3, PyUntypedArrayMethods};
use orogen::core::{LayerName, Raster};
use orogen::io::png8;
use orogen_render::{
    Aim, Gpu, Height, Land, Legend, Materials, Moment, Options, Overlay, RenderError, Rendered,
    render as picture,
};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::terrain::Terrain;
use crate::{errors, work};

/// Camera (eye and target), hour, the sun's azimuth and altitude, and what colours mean.
type Facts = ([f64; 3], [f64; 3], f64, [f64; 2], Vec<String>);

fn refused(error: RenderError) -> PyErr {
    match error {
        RenderError::Call(text) => errors::value(text),
        other => errors::error(other),
    }
}

/// A picture of the land as an array of rows, columns and colours: four where the sky is left out, else three.
#[pyfunction]
#[pyo3(signature = (terrain, *, size, samples, camera, target, azimuth, distance_m, height_m, altitude_m, parallel, across_m, hour, date, view_deg, haze, exposure_ev, quality, soft_sun, clear_sky, overlay, opacity, device, progress))]
pub fn render<'py>(
    py: Python<'py>,
    terrain: &Terrain,
    size: [u32; 2],
    samples: u32,
    camera: Option<[f64; 2]>,
    target: Option<[f64; 2]>,
    azimuth: Option<f64>,
    distance_m: Option<f64>,
    height_m: Option<f64>,
    altitude_m: Option<f64>,
    parallel: Option<f64>,
    across_m: Option<f64>,
    hour: Option<f64>,
    date: &str,
    view_deg: f64,
    haze: f64,
    exposure_ev: f64,
    quality: f64,
    soft_sun: bool,
    clear_sky: bool,
    overlay: Vec<String>,
    opacity: f64,
    device: Option<String>,
    progress: Option<Bound<'_, PyAny>>,
) -> PyResult<(Bound<'py, PyArray3<u8>>, Facts)> {
    let (year, month, day) = Moment::parse_date(date).map_err(errors::value)?;
    let height = altitude_m.map(Height::Sea).or(height_m.map(Height::Ground));
    let aim = if let Some(altitude_deg) = parallel {
        Aim::Parallel { target, azimuth_deg: azimuth.unwrap_or(0.0), altitude_deg, wide_m: across_m }
    } else if let Some(eye) = camera {
        Aim::Place { eye, height: height.unwrap_or(Height::Ground(60.0)), target }
    } else if azimuth.is_some() || distance_m.is_some() || target.is_some() || height.is_some() {
        Aim::From { target, azimuth_deg: azimuth.unwrap_or(0.0), distance_m, height }
    } else {
        Aim::Found
    };
    let mut painted = Overlay { share: opacity, ..Overlay::default() };
    for word in &overlay {
        painted.add(word).map_err(|e| errors::value(format!("overlay: {e}")))?;
    }
    let options = Options {
        size,
        samples,
        aim,
        view_deg,
        moment: Moment { year, month, day, hour: hour.unwrap_or(17.0) },
        any_hour: hour.is_none(),
        quality,
        haze,
        exposure_ev,
        soft_sun,
        clear_sky,
        overlay: painted,
        ..Options::default()
    };
    let land = terrain.land()?;
    let made = work::run(py, progress.as_ref(), |progress| {
        progress.name("picture");
        let gpu = Gpu::open(device.as_deref())?;
        gpu.check_size(options.size)?;
        let layers: Vec<LayerName> = land.layers().keys().cloned().collect();
        let materials = Arc::new(Materials::of_layers(&layers));
        let land: Arc<dyn Land> = Arc::new(land);
        picture(&gpu, &land, &materials, &options, progress.cancel(), &|_| {})
    })?;
    let Rendered { picture, cover, camera, moment, sun, legend, .. } = made.map_err(refused)?;
    let channels = if cover.is_some() { 4 } else { 3 };
    let (cols, rows) = (picture.cols(), picture.rows());
    let array = Array3::from_shape_fn((rows, cols, channels), |(row, col, channel)| match &cover {
        Some(cover) if channel == 3 => cover.row(row)[col],
        _ => picture.row(row)[col][channel],
    });
    let notes = legend.iter().map(sentence).collect();
    let facts = (camera.eye, camera.target, moment.hour, [sun.azimuth_deg, sun.altitude_deg], notes);
    Ok((PyArray3::from_owned_array(py, array), facts))
}

/// What colours mean, in a sentence.
fn sentence(legend: &Legend) -> String {
    match legend {
        Legend::Note(text) => text.clone(),
        Legend::Ramp { title, unit, scale, .. } => {
            format!("{title}: {:.4} to {:.4} {unit}", scale.low, scale.high)
        }
        Legend::Keys { title, keys } => {
            let names: Vec<&str> = keys.iter().map(|(_, name)| name.as_str()).collect();
            format!("{title}: {}", names.join(", "))
        }
    }
}

/// An array of rows, columns and three or four colours as a PNG.
#[pyfunction]
pub fn png<'py>(py: Python<'py>, colors: PyReadonlyArray3<'py, u8>) -> PyResult<Bound<'py, PyBytes>> {
    let view = colors.as_array();
    let (rows, cols) = (colors.shape()[0], colors.shape()[1]);
    if rows == 0 || cols == 0 {
        return Err(errors::value("a picture without pixels cannot be a PNG"));
    }
    let at = |col: usize, row: usize, channel: usize| view[[row, col, channel]];
    let bytes = match colors.shape()[2] {
        3 => png8::encode(&Raster::from_fn(cols, rows, |c, r| [0, 1, 2].map(|i| at(c, r, i)))),
        4 => {
            let mut bytes = Vec::new();
            let four = Raster::from_fn(cols, rows, |c, r| [0, 1, 2, 3].map(|i| at(c, r, i)));
            png8::write_four(&four, &mut bytes).map_err(errors::error)?;
            bytes
        }
        other => return Err(errors::value(format!("a picture has three or four colours, not {other}"))),
    };
    Ok(PyBytes::new(py, &bytes))
}
