//! Points, lines and polygons from a path, whatever its format.

use std::path::Path;

use orogen_core::Features;

use crate::error::ReadError;
use crate::guard::guarded;
use crate::limits::Limits;
use crate::plain_file::read_bytes;
use crate::{geojson, xyz};

/// Reads features; the format follows from the ending of the name: `.geojson` and `.json` are GeoJSON, `.csv`, `.xyz`
/// and `.txt` points as lines of numbers.
///
/// # Errors
/// When the file is missing, unreadable, empty, larger than allowed, or holds no features; the sentence says which.
pub fn read(path: &Path, limits: &Limits) -> Result<Features, ReadError> {
    let fail = |reason: String| ReadError::new(path, reason);
    let ending = path.extension().map(|e| e.to_string_lossy().to_ascii_lowercase()).unwrap_or_default();
    let (format, decode): (_, fn(&[u8], &Limits) -> _) = match ending.as_str() {
        "geojson" | "json" => ("GeoJSON", geojson::decode),
        "csv" | "xyz" | "txt" => ("table of points", xyz::decode),
        _ => {
            let allowed = "geojson, json, csv, xyz or txt";
            return Err(fail(format!("unknown file type {ending:?}; files of features end in {allowed}")));
        }
    };
    let bytes = read_bytes(path, limits.max_bytes_file).map_err(fail)?;
    guarded(format, || decode(&bytes, limits)).map_err(|e| fail(e.to_string()))
}
