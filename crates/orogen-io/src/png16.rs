//! A layer as a 16-bit grey PNG, with its range in a sidecar.
//!
//! Without a sidecar the darkest number is 0 m and the brightest 1 m per step (65535 m for 16 bits): the shape is
//! there, the scale is for the recipe to set.

use std::io::{self, Cursor, Write};

use orogen_core::{Elevation, Frame, Raster};
use sha2::{Digest as _, Sha256};

use crate::about::About;
use crate::error::FormatError;
use crate::levels::Levels;
use crate::limits::Limits;
use crate::png8::in_memory;
use crate::sidecar::{Sidecar, WithSidecar};

const FORMAT: &str = "PNG";

/// A height map from the bytes of an 8 or 16-bit grey PNG.
///
/// # Errors
/// When the bytes are not a PNG, it is not grey, it is beyond the limits, or the sidecar does not fit it.
pub fn decode(bytes: &[u8], sidecar: Option<&Sidecar>, limits: &Limits) -> Result<Elevation, FormatError> {
    let broken = |e: png::DecodingError| FormatError::broken(FORMAT, e.to_string());
    let room = usize::try_from(limits.max_samples.saturating_mul(2)).unwrap_or(usize::MAX);
    let mut decoder = png::Decoder::new_with_limits(Cursor::new(bytes), png::Limits { bytes: room });
    decoder.set_ignore_text_chunk(true);
    decoder.set_ignore_iccp_chunk(true);
    let info = decoder.read_header_info().map_err(broken)?;
    let (cols, rows) = (u64::from(info.width), u64::from(info.height));
    let samples = limits.samples(FORMAT, cols, rows)?;
    let depth = match (info.color_type, info.bit_depth) {
        (png::ColorType::Grayscale, png::BitDepth::Eight) => 1,
        (png::ColorType::Grayscale, png::BitDepth::Sixteen) => 2,
        (color, depth) => {
            return Err(FormatError::Unsupported {
                format: FORMAT,
                found: format!("{color:?} pixels of {} bits", depth as u8),
                allowed: "grey pixels of 8 or 16 bits",
            });
        }
    };
    // Deflate never packs better than 1032 to 1; a header that claims more is refused before memory is reserved.
    if samples * depth / 1040 > bytes.len() {
        return Err(FormatError::broken(
            FORMAT,
            format!("a file of {} bytes cannot hold {cols} x {rows} samples", bytes.len()),
        ));
    }
    limits.memory(samples, (samples * depth + bytes.len()) as u64)?;
    let top = if depth == 1 { 255 } else { u16::MAX };
    let sidecar = checked(sidecar, cols, rows, top)?;
    let mut reader = decoder.read_info().map_err(broken)?;
    let mut raw = vec![0; samples * depth];
    reader.next_frame(&mut raw).map_err(broken)?;
    let heights = if depth == 1 {
        raw.iter().map(|&v| sidecar.value(u16::from(v), top)).collect()
    } else {
        raw.chunks_exact(2).map(|v| sidecar.value(u16::from_be_bytes([v[0], v[1]]), top)).collect()
    };
    let height = Raster::from_vec(cols as usize, rows as usize, heights)
        .ok_or_else(|| FormatError::broken(FORMAT, "its grid is empty"))?;
    Ok(Elevation { height, spacing_m: sidecar.spacing_m, north_west_m: sidecar.north_west_m })
}

/// The sidecar, checked against the picture, or what holds without one.
fn checked(sidecar: Option<&Sidecar>, cols: u64, rows: u64, top: u16) -> Result<Sidecar, FormatError> {
    let Some(sidecar) = sidecar else {
        return Ok(Sidecar { min: Some(0.0), max: Some(f64::from(top)), ..Sidecar::default() });
    };
    sidecar.range()?;
    let (said_cols, said_rows) = (sidecar.cols.unwrap_or(cols), sidecar.rows.unwrap_or(rows));
    if (said_cols, said_rows) != (cols, rows) {
        return Err(FormatError::Sidecar(format!(
            "it declares {said_cols} x {said_rows} samples, but the picture has {cols} x {rows}"
        )));
    }
    Ok(sidecar.clone())
}

/// A 16-bit grey PNG over the range of the values. Holes become 0, and everything else then starts at 1.
#[must_use]
pub fn encode(raster: &Raster<f32>, frame: &Frame, about: &About<'_>) -> WithSidecar {
    let levels = Levels::of(raster);
    let bytes = in_memory(|out| write(raster, &levels, out));
    let sidecar = sidecar(frame, about, &levels, &Sha256::digest(&bytes).into());
    WithSidecar { bytes, sidecar }
}

/// Writes a 16-bit grey PNG, a few rows at a time.
///
/// # Errors
/// When `out` takes no more.
pub fn write<T: Copy + Into<f64> + Sync>(
    raster: &Raster<T>,
    levels: &Levels,
    out: &mut impl Write,
) -> io::Result<()> {
    let (color, depth) = (png::ColorType::Grayscale, png::BitDepth::Sixteen);
    let fill = |row: &[T], bytes: &mut [u8]| {
        for (out, &value) in bytes.as_chunks_mut::<2>().0.iter_mut().zip(row) {
            *out = levels.level(value.into()).to_be_bytes();
        }
    };
    crate::png8::write(raster, color, depth, fill, out)
}

/// What stands beside a picture that was written so.
#[must_use]
pub fn sidecar(frame: &Frame, about: &About<'_>, levels: &Levels, sha256: &[u8; 32]) -> Sidecar {
    let mut sidecar = Sidecar::about(frame, about, 16, sha256);
    levels.describe(&mut sidecar);
    sidecar.warning = levels.warning(about);
    sidecar
}

/// The same picture alone, and the number that stands for the lowest value: 1 beside holes, else 0.
#[must_use]
pub fn picture(raster: &Raster<f32>) -> (Vec<u8>, u16) {
    let levels = Levels::of(raster);
    (in_memory(|out| write(raster, &levels, out)), levels.lowest())
}
