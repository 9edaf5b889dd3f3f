//! What operators may ask of the outside world: decoded files, never paths to open themselves.

use std::sync::Arc;

use crate::error::OpError;
use crate::features::Features;
use crate::place::Georeference;
use crate::raster::Raster;

/// An elevation model as a file gave it.
#[derive(Clone, Debug, PartialEq)]
pub struct Elevation {
    /// Heights in metres; holes are NaN.
    pub height: Raster<f32>,
    /// Distance between samples, (x, y), in metres; `None` when the file does not say.
    pub spacing_m: Option<[f64; 2]>,
    /// World position of the first (north-west) sample in the file's own coordinates; `None` when it does not say.
    pub north_west_m: Option<[f64; 2]>,
}

/// Gives operators the files their parameters name. The engine itself does no input.
pub trait Files: Sync {
    /// A hash of a file's content, so that cached results follow the file. What is decoded after it has this content, or
    /// is an error.
    ///
    /// # Errors
    /// When the file cannot be read.
    fn fingerprint(&self, path: &str) -> Result<[u8; 32], OpError>;

    /// A file as an elevation model.
    ///
    /// # Errors
    /// When the file cannot be read or is not an elevation model.
    fn elevation(&self, path: &str) -> Result<Arc<Elevation>, OpError>;

    /// As [`Files::elevation`], from one of several bands, counted from 1; `None` is the first.
    ///
    /// # Errors
    /// As [`Files::elevation`], and when there is no such band.
    fn elevation_band(&self, path: &str, band: Option<u32>) -> Result<Arc<Elevation>, OpError> {
        match band {
            None | Some(1) => self.elevation(path),
            Some(band) => {
                let reason = format!("there is no band {band}; this reader supports one band");
                Err(OpError::File { path: path.to_owned(), reason })
            }
        }
    }

    /// One band of an image, counted from 1, as its numbers are; holes are NaN.
    ///
    /// # Errors
    /// When the file cannot be read, is not an image, or has no such band.
    fn image_band(&self, path: &str, band: u32) -> Result<Arc<Elevation>, OpError> {
        NoFiles.image_band(path, band)
    }

    /// Where on Earth an elevation model or image lies, without reading its heights; `None` where it does not say.
    ///
    /// # Errors
    /// When the file cannot be read.
    fn georeference(&self, path: &str) -> Result<Option<Georeference>, OpError> {
        let _ = path;
        Ok(None)
    }

    /// A file as points, lines and polygons.
    ///
    /// # Errors
    /// When the file cannot be read or holds no features.
    fn features(&self, path: &str) -> Result<Arc<Features>, OpError> {
        NoFiles.features(path)
    }

    /// A picture as how much is drawn in each pixel, from 0 (nothing) to 255; row 0 in the north.
    ///
    /// # Errors
    /// When the file cannot be read or is not a picture.
    fn drawing(&self, path: &str) -> Result<Arc<Raster<u8>>, OpError> {
        NoFiles.drawing(path)
    }
}

/// No files at all: for tests and for recipes from memory.
#[derive(Clone, Copy, Debug)]
pub struct NoFiles;

impl NoFiles {
    fn refuse<T>(path: &str) -> Result<T, OpError> {
        Err(OpError::File { path: path.to_owned(), reason: String::from("files cannot be read here") })
    }
}

impl Files for NoFiles {
    fn fingerprint(&self, path: &str) -> Result<[u8; 32], OpError> {
        Self::refuse(path)
    }

    fn elevation(&self, path: &str) -> Result<Arc<Elevation>, OpError> {
        Self::refuse(path)
    }

    fn image_band(&self, path: &str, _: u32) -> Result<Arc<Elevation>, OpError> {
        Self::refuse(path)
    }

    fn features(&self, path: &str) -> Result<Arc<Features>, OpError> {
        Self::refuse(path)
    }

    fn drawing(&self, path: &str) -> Result<Arc<Raster<u8>>, OpError> {
        Self::refuse(path)
    }
}
