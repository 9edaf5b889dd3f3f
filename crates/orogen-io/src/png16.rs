//! Height as a 16-bit grey PNG, with its range in a sidecar.
//!
//! Without a sidecar the darkest number is 0 m and the brightest 1 m per step (65535 m for 16 bits): the shape is
//! there, the scale is for the recipe to set.

use std::io::Cursor;

use orogen_core::{Elevation, Frame, Raster};

use crate::about::About;
use crate::error::FormatError;
use crate::limits::Limits;
use crate::sidecar::{Levels, Sidecar, WithSidecar};

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
///
/// # Panics
/// When the raster has more than 2^32 - 1 columns or rows, which no frame has.
#[must_use]
pub fn encode(raster: &Raster<f32>, frame: &Frame, about: &About<'_>) -> WithSidecar {
    let levels = Levels::of(raster);
    let bytes = drawn(raster, &levels);
    let mut sidecar = Sidecar::about(raster, frame, about, 16, &bytes);
    levels.describe(&mut sidecar);
    sidecar.warning = levels.warning(about);
    WithSidecar { bytes, sidecar }
}

/// The same picture alone, and the number that stands for the lowest value: 1 beside holes, else 0.
#[must_use]
pub fn picture(raster: &Raster<f32>) -> (Vec<u8>, u16) {
    let levels = Levels::of(raster);
    (drawn(raster, &levels), u16::from(levels.holes))
}

fn drawn(raster: &Raster<f32>, levels: &Levels) -> Vec<u8> {
    let samples = raster.map(|v| levels.level(v).to_be_bytes());
    let raw = bytemuck::cast_slice(samples.as_slice());
    let (color, depth) = (png::ColorType::Grayscale, png::BitDepth::Sixteen);
    crate::png8::write(raster.cols(), raster.rows(), raw, color, depth)
}
