//! Pictures of a land, as arrays.

use std::sync::Arc;

use numpy::{PyArray1, PyReadonlyArray3, PyUntypedArrayMethods};
use orogen::core::Raster;
use orogen::io::png8;
use orogen_render::{
    Aim, Gpu, Height, Land, Materials, Moment, Options, Overlay, RenderError, Rendered, render,
};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::errors;
use crate::work::Progress;

/// How a picture is taken, as `orogen._render` says it.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Look {
    size: [u32; 2],
    samples: u32,
    camera: Option<[f64; 2]>,
    height_m: Option<f64>,
    altitude_m: Option<f64>,
    target: Option<[f64; 2]>,
    azimuth_deg: Option<f64>,
    distance_m: Option<f64>,
    /// How steeply parallel looks go down; perspective without.
    steep_deg: Option<f64>,
    across_m: Option<f64>,
    view_deg: f64,
    time: Option<String>,
    date: String,
    haze: f64,
    clouds: f64,
    fog: Option<f64>,
    exposure_ev: f64,
    quality: f64,
    soft_sun: bool,
    plain: bool,
    plants: bool,
    overlay: Vec<String>,
    opacity: f64,
    device: Option<String>,
}

impl Look {
    fn aim(&self) -> Aim {
        let height = match (self.altitude_m, self.height_m) {
            (Some(altitude), _) => Some(Height::Sea(altitude)),
            (None, height) => height.map(Height::Ground),
        };
        let Self { target, azimuth_deg, distance_m, .. } = *self;
        if let Some(altitude_deg) = self.steep_deg {
            let azimuth_deg = azimuth_deg.unwrap_or(0.0);
            return Aim::Parallel { target, azimuth_deg, altitude_deg, wide_m: self.across_m };
        }
        if let Some(eye) = self.camera {
            return Aim::Place { eye, height: height.unwrap_or(Height::Ground(60.0)), target };
        }
        if azimuth_deg.is_none() && distance_m.is_none() && target.is_none() && height.is_none() {
            return Aim::Found;
        }
        Aim::From { target, azimuth_deg: azimuth_deg.unwrap_or(0.0), distance_m, height }
    }

    fn options(&self) -> Result<Options, String> {
        let hour = self.time.as_deref().map(Moment::parse_hour).transpose()?;
        let (year, month, day) = Moment::parse_date(&self.date)?;
        let mut overlay = Overlay { share: self.opacity, ..Overlay::default() };
        for word in &self.overlay {
            overlay.add(word.trim()).map_err(|e| format!("overlay: {e}"))?;
        }
        Ok(Options {
            size: self.size,
            samples: self.samples,
            aim: self.aim(),
            view_deg: self.view_deg,
            moment: Moment { year, month, day, hour: hour.unwrap_or(17.0) },
            any_hour: hour.is_none(),
            quality: self.quality,
            haze: self.haze,
            clouds: self.clouds,
            fog: self.fog,
            plain: self.plain,
            exposure_ev: self.exposure_ev,
            plants: self.plants,
            soft_sun: self.soft_sun,
            overlay,
            ..Options::default()
        })
    }

    /// The device to draw with, before land is worked out for nothing.
    pub fn open(&self) -> Result<(Gpu, Options), RenderError> {
        let options = self.options().map_err(RenderError::Call)?;
        let gpu = Gpu::open(self.device.as_deref())?;
        gpu.check_size(options.size)?;
        Ok((gpu, options))
    }
}

/// Takes the picture of a land.
pub fn take(
    gpu: &Gpu,
    land: Arc<dyn Land>,
    options: &Options,
    progress: &Progress,
) -> Result<Raster<[u8; 3]>, RenderError> {
    progress.name("textures");
    let materials = Arc::new(Materials::of_layers(&land.layers()));
    progress.name("picture");
    let Rendered { picture, .. } =
        render(gpu, &land, &materials, options, progress.cancel(), &|share| progress.share(share))?;
    Ok(picture)
}

/// A picture as an array [rows, columns, 3].
pub fn array<'py>(py: Python<'py>, picture: &Raster<[u8; 3]>) -> PyResult<Bound<'py, PyAny>> {
    let bytes = PyArray1::from_slice(py, picture.as_slice().as_flattened());
    bytes.call_method1("reshape", ((picture.rows(), picture.cols(), 3),))
}

/// The bytes of a PNG file.
#[pyfunction]
pub fn png<'py>(py: Python<'py>, picture: PyReadonlyArray3<'py, u8>) -> PyResult<Bound<'py, PyBytes>> {
    let &[rows, cols, 3] = picture.shape() else {
        return Err(errors::value("a picture is an array [rows, columns, 3]"));
    };
    let bytes = picture.as_slice().map_err(errors::value)?;
    let picture = Raster::from_fn(cols, rows, |c, r| {
        let at = 3 * (r * cols + c);
        [bytes[at], bytes[at + 1], bytes[at + 2]]
    });
    Ok(PyBytes::new(py, &png8::encode(&picture)))
}
