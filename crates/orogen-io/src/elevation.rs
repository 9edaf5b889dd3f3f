//! An elevation model from a path, whatever its format.

use std::path::Path;

use orogen_core::{Elevation, Georeference};

use crate::error::{FormatError, ReadError};
use crate::geotiff::Place;
use crate::guard::guarded;
use crate::limits::Limits;
use crate::plain_file::{open, plain_file, read_bytes};
use crate::sidecar::{MAX_SIDECAR_BYTES, Sidecar};
use crate::{ascii_grid, geotiff, png16, raw};

/// Reads an elevation model; the format follows from the ending of the name: `.tif`, `.tiff`, `.asc`, `.png`, `.r16`,
/// `.r32`, `.raw`. The last four take what they lack from a sidecar (see [`Sidecar::path_of`]).
///
/// # Errors
/// When the file is missing, unreadable, empty, larger than allowed, or no elevation model; the sentence says which.
pub fn read(path: &Path, limits: &Limits) -> Result<Elevation, ReadError> {
    read_placed(path, limits).map(|(elevation, _)| elevation)
}

/// As [`read`], with the place in the file's own coordinates; `None` when the file does not say how far apart its
/// samples are.
///
/// # Errors
/// As [`read`].
pub fn read_placed(path: &Path, limits: &Limits) -> Result<(Elevation, Option<Place>), ReadError> {
    read_band(path, None, limits)
}

/// As [`read_placed`], from one of several bands, counted from 1; `None` is the first.
///
/// # Errors
/// As [`read`], and when there is no such band.
pub fn read_band(
    path: &Path,
    band: Option<u32>,
    limits: &Limits,
) -> Result<(Elevation, Option<Place>), ReadError> {
    let fail = |reason: String| ReadError::new(path, reason);
    // First of all: the name of a folder or a device has no ending to complain about.
    plain_file(path).map_err(fail)?;
    let format = Format::of(path).map_err(fail)?;
    if format == Format::GeoTiff {
        // Its parts are read where they are wanted: what counts is the size of the grid.
        let (file, _) = open(path, u64::MAX).map_err(fail)?;
        return guarded(format.name(), || geotiff::decode_file_band(&file, band, limits))
            .map_err(|e| ReadError::format(path, &e));
    }
    let bytes = read_bytes(path, limits.max_bytes_file).map_err(fail)?;
    let sidecar = if format.has_sidecar() { read_sidecar(path)? } else { None };
    guarded(format.name(), || format.decode(&bytes, band, sidecar.as_ref(), limits))
        .map_err(|e| ReadError::format(path, &e))
}

/// As [`read_band`], from bytes that have no name: the format follows from how they begin. A PNG has no sidecar here, and
/// bare samples (`r16`, `r32`, `raw`), which mean nothing without one, are refused.
///
/// # Errors
/// When the bytes are not an elevation model.
pub fn decode(
    bytes: &[u8],
    band: Option<u32>,
    limits: &Limits,
) -> Result<(Elevation, Option<Place>), FormatError> {
    let format = Format::of_bytes(bytes)?;
    guarded(format.name(), || format.decode(bytes, band, None, limits))
}

/// Where on Earth a model lies, from its head alone; `None` for formats and files that do not say.
///
/// # Errors
/// When the file cannot be read or is damaged.
pub fn georeference(path: &Path, limits: &Limits) -> Result<Option<Georeference>, ReadError> {
    if Format::of(path) != Ok(Format::GeoTiff) {
        return Ok(None);
    }
    let (file, _) = open(path, limits.max_bytes_file).map_err(|reason| ReadError::new(path, reason))?;
    guarded("GeoTIFF", || geotiff::georeference_of_file(&file)).map_err(|e| ReadError::format(path, &e))
}

/// Bytes that may come before the first word of an ASCII grid: more are not a model.
const MOST_SPACES: usize = 4096;

/// Whether bytes that are still coming in can become an elevation model, for [`decode`]: `false` while there are too few to say.
///
/// # Errors
/// When they cannot, however many follow.
pub fn can_begin_with(bytes: &[u8]) -> Result<bool, FormatError> {
    /// The longest beginning that is looked at: `ncols`.
    const ENOUGH: usize = 5;
    match Format::of_bytes(bytes) {
        Ok(_) => Ok(true),
        Err(_) if bytes.trim_ascii_start().len() < ENOUGH && bytes.len() <= MOST_SPACES => Ok(false),
        Err(e) => Err(e),
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Format {
    GeoTiff,
    AsciiGrid,
    Png,
    R16,
    R32,
    Raw,
}

impl Format {
    fn of(path: &Path) -> Result<Self, String> {
        let ending = path.extension().map(|e| e.to_string_lossy().to_ascii_lowercase()).unwrap_or_default();
        Ok(match ending.as_str() {
            "tif" | "tiff" => Self::GeoTiff,
            "asc" => Self::AsciiGrid,
            "png" => Self::Png,
            "r16" => Self::R16,
            "r32" => Self::R32,
            "raw" => Self::Raw,
            _ => {
                return Err(format!(
                    "unknown file type {ending:?}; elevation models end in tif, tiff, asc, png, r16, r32 or raw"
                ));
            }
        })
    }

    fn of_bytes(bytes: &[u8]) -> Result<Self, FormatError> {
        let letters = bytes.trim_ascii_start();
        Ok(match bytes {
            [b'I', b'I', 42 | 43, 0, ..] | [b'M', b'M', 0, 42 | 43, ..] => Self::GeoTiff,
            [0x89, b'P', b'N', b'G', ..] => Self::Png,
            _ if letters.get(..5).is_some_and(|word| word.eq_ignore_ascii_case(b"ncols")) => Self::AsciiGrid,
            _ if letters.get(..5).is_some_and(|word| word.eq_ignore_ascii_case(b"nrows")) => Self::AsciiGrid,
            [] => return Err(FormatError::broken("elevation model", "it is empty")),
            _ => {
                let reason = "it does not start like a GeoTIFF, an ASCII grid or a PNG";
                return Err(FormatError::broken("elevation model", reason));
            }
        })
    }

    fn name(self) -> &'static str {
        match self {
            Self::GeoTiff => "GeoTIFF",
            Self::AsciiGrid => "ESRI ASCII grid",
            Self::Png => "PNG",
            Self::R16 | Self::R32 | Self::Raw => "raw height file",
        }
    }

    fn has_sidecar(self) -> bool {
        !matches!(self, Self::GeoTiff | Self::AsciiGrid)
    }

    fn decode(
        self,
        bytes: &[u8],
        band: Option<u32>,
        sidecar: Option<&Sidecar>,
        limits: &Limits,
    ) -> Result<(Elevation, Option<Place>), FormatError> {
        if let Some(band) = band.filter(|&band| band != 1 && self != Self::GeoTiff) {
            return Err(FormatError::NoBand { band, bands: 1 });
        }
        let needed = || {
            sidecar.ok_or_else(|| {
                let text = "raw samples need one beside them, named like the file with .json appended, with cols, rows, min and max";
                FormatError::Sidecar(text.to_owned())
            })
        };
        let elevation = match self {
            Self::GeoTiff => return geotiff::decode_band(bytes, band, limits),
            Self::AsciiGrid => ascii_grid::decode(bytes, limits)?,
            Self::Png => png16::decode(bytes, sidecar, limits)?,
            Self::R16 => raw::decode(bytes, raw::Depth::R16, needed()?, limits)?,
            Self::R32 => raw::decode(bytes, raw::Depth::R32, needed()?, limits)?,
            Self::Raw => raw::decode(bytes, raw::Depth::of(needed()?)?, needed()?, limits)?,
        };
        let place = elevation.spacing_m.map(|spacing_m| {
            let south = (elevation.height.rows() - 1) as f64 * spacing_m[1];
            Place::local(elevation.north_west_m.unwrap_or([0.0, south]), spacing_m)
        });
        Ok((elevation, place))
    }
}

/// The sidecar of a file, `None` when there is none.
fn read_sidecar(path: &Path) -> Result<Option<Sidecar>, ReadError> {
    let beside = Sidecar::path_of(path);
    if !beside.exists() {
        return Ok(None);
    }
    let parsed = read_bytes(&beside, MAX_SIDECAR_BYTES)
        .and_then(|bytes| Sidecar::parse(&bytes).map_err(|e| e.to_string()));
    parsed.map(Some).map_err(|reason| ReadError::new(beside, reason))
}
