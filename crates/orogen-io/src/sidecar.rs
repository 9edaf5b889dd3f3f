//! Sidecars: what a file of bare samples cannot say about itself, in JSON beside it.
//!
//! The sidecar of `height.png` is `height.png.json`: the whole name with `.json` after it, so that two files of one
//! layer (`height.png`, `height.r16`) never share one.

use std::path::{Path, PathBuf};

use orogen_core::{Crs, Frame, Place};
use serde::{Deserialize, Serialize};

use crate::about::{About, LOCAL_CRS, SOFTWARE};
use crate::error::FormatError;

/// The content of a sidecar. Reading needs what the format lacks; unknown fields are passed over.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Sidecar {
    /// Name of the layer.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub layer: String,
    /// Columns, west to east.
    #[serde(alias = "width", skip_serializing_if = "Option::is_none")]
    pub cols: Option<u64>,
    /// Rows, north to south.
    #[serde(alias = "height", skip_serializing_if = "Option::is_none")]
    pub rows: Option<u64>,
    /// Bits of a sample: 8 or 16 (whole numbers) or 32 (floats).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bits: Option<u32>,
    /// Value of the lowest number a sample can hold (of the lowest sample, for floats).
    #[serde(alias = "min_m", skip_serializing_if = "Option::is_none")]
    pub min: Option<f64>,
    /// Value of the highest number a sample can hold (of the highest sample, for floats).
    #[serde(alias = "max_m", skip_serializing_if = "Option::is_none")]
    pub max: Option<f64>,
    /// The whole number that stands for a hole; values then run from `min` at 1 to `max` at the highest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hole: Option<u64>,
    /// The whole number that stands for sea level, 0 m; for heights whose range holds it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sea_level_grey: Option<u64>,
    /// Unit of the values.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub unit: String,
    /// Distance between samples, (x, y) in metres.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spacing_m: Option<[f64; 2]>,
    /// Position of the first (north-west) sample, (x, y) in metres.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub north_west_m: Option<[f64; 2]>,
    /// Name of the coordinate system.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub crs: String,
    /// Latitude of the middle of the world that the file is a part of, in degrees north.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub latitude_deg: Option<f64>,
    /// Longitude of the same, in degrees east.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub longitude_deg: Option<f64>,
    /// Direction of true north, in degrees clockwise from the y axis.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub north_deg: Option<f64>,
    /// Which way the axes and rows run.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub axes: String,
    /// Order of the bytes of a sample.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub byte_order: String,
    /// World seed.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub seed: String,
    /// Program and version that wrote the file.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub software: String,
    /// SHA-256 of the file beside it, in hexadecimal.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub sha256: String,
    /// What the format could not keep, as a sentence for the user.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warning: Option<String>,
}

/// Largest sidecar that is read; real ones have some hundred bytes.
pub(crate) const MAX_SIDECAR_BYTES: u64 = 1 << 20;

impl Sidecar {
    /// Where the sidecar of a file lies.
    #[must_use]
    pub fn path_of(file: &Path) -> PathBuf {
        let mut name = file.as_os_str().to_owned();
        name.push(".json");
        PathBuf::from(name)
    }

    /// Reads a sidecar.
    ///
    /// # Errors
    /// When the bytes are not a JSON object of that kind.
    pub fn parse(bytes: &[u8]) -> Result<Self, FormatError> {
        let sidecar: Self = serde_json::from_slice(bytes).map_err(|e| FormatError::Sidecar(e.to_string()))?;
        let finite = |value: &Option<f64>| value.is_none_or(f64::is_finite);
        let pair = |values: &Option<[f64; 2]>| values.is_none_or(|v| v.iter().all(|v| v.is_finite()));
        if !finite(&sidecar.min) || !finite(&sidecar.max) || !pair(&sidecar.north_west_m) {
            return Err(FormatError::Sidecar(String::from("its numbers must be finite")));
        }
        if sidecar.spacing_m.is_some_and(|v| !v.iter().all(|v| (1e-9..=1e9).contains(v))) {
            return Err(FormatError::Sidecar(String::from(
                "spacing_m must hold two positive numbers in metres",
            )));
        }
        Ok(sidecar)
    }

    /// The JSON text of the sidecar.
    #[must_use]
    pub fn to_json(&self) -> Vec<u8> {
        // A struct of text and finite numbers always has a JSON form.
        let mut json = serde_json::to_vec_pretty(self).unwrap_or_default();
        json.push(b'\n');
        json
    }

    /// What there is to say about a file of all samples of a frame.
    pub(crate) fn about(frame: &Frame, about: &About<'_>, bits: u32, sha256: &[u8; 32]) -> Self {
        Self {
            layer: about.layer.to_owned(),
            cols: Some(frame.cols() as u64),
            rows: Some(frame.rows() as u64),
            bits: Some(bits),
            unit: about.unit.to_owned(),
            spacing_m: Some(frame.spacing_m()),
            north_west_m: Some([frame.x_m(0), frame.y_m(0)]),
            crs: LOCAL_CRS.to_owned(),
            axes: String::from("x east, y north, row 0 north, samples are vertices"),
            seed: about.seed.to_owned(),
            software: SOFTWARE.to_owned(),
            sha256: hex(sha256),
            ..Self::default()
        }
    }

    /// The same for a file whose world lies so on Earth: its coordinates are those of the coordinate system, where one is known.
    #[must_use]
    pub fn at(mut self, place: &Place) -> Self {
        (self.latitude_deg, self.longitude_deg) = (place.latitude_deg, place.longitude_deg);
        self.north_deg = place.north_deg;
        if let Some(Crs { epsg, offset_m: [x, y] }) = place.crs {
            self.crs = format!("EPSG:{epsg}");
            self.north_west_m = self.north_west_m.map(|[west, north]| [west + x, north + y]);
        }
        self
    }

    /// The value of a whole number between 0 and `top`; NaN for the one that stands for holes.
    pub(crate) fn value(&self, sample: u16, top: u16) -> f32 {
        let lowest = match self.hole {
            Some(hole) if hole == u64::from(sample) => return f32::NAN,
            Some(0) => 1.0,
            _ => 0.0,
        };
        let (min, max) = (self.min.unwrap_or(0.0), self.max.unwrap_or(1.0));
        (min + (max - min) * (f64::from(sample) - lowest) / (f64::from(top) - lowest)) as f32
    }

    /// The range of the values, when the sidecar gives one that makes sense.
    pub(crate) fn range(&self) -> Result<(f64, f64), FormatError> {
        match (self.min, self.max) {
            (Some(min), Some(max)) if min <= max => Ok((min, max)),
            (Some(min), Some(max)) => Err(FormatError::Sidecar(format!("min {min} is above max {max}"))),
            _ => Err(FormatError::Sidecar(String::from(
                "min and max are missing: the heights in metres of the lowest and the highest value",
            ))),
        }
    }
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes
        .iter()
        .flat_map(|b| [b >> 4, b & 15])
        .filter_map(|digit| char::from_digit(u32::from(digit), 16))
        .collect()
}

/// A file of samples together with what stands beside it.
#[derive(Clone, Debug, PartialEq)]
pub struct WithSidecar {
    /// The bytes of the file.
    pub bytes: Vec<u8>,
    /// What they mean; written to [`Sidecar::path_of`].
    pub sidecar: Sidecar,
}
