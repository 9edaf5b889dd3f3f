//! The pixels of a stranger's PNG.

use std::io::Cursor;

use crate::error::FormatError;
use crate::limits::Limits;

/// What messages call it.
pub const FORMAT: &str = "PNG";

/// Pixels as they were stored, row by row.
pub struct Pixels {
    pub cols: usize,
    pub rows: usize,
    /// Numbers a pixel.
    pub channels: usize,
    /// Whether a number has two bytes, the higher first.
    pub is_wide: bool,
    /// Bytes a row.
    pub line: usize,
    pub raw: Vec<u8>,
}

/// Decodes a PNG; colours of palettes and numbers of less than a byte become bytes.
///
/// # Errors
/// When the bytes are not a PNG or it is beyond the limits.
pub fn pixels(bytes: &[u8], limits: &Limits, wanted: png::Transformations) -> Result<Pixels, FormatError> {
    let broken = |e: png::DecodingError| FormatError::broken(FORMAT, e.to_string());
    let room = usize::try_from(limits.max_samples.saturating_mul(8)).unwrap_or(usize::MAX);
    let mut decoder = png::Decoder::new_with_limits(Cursor::new(bytes), png::Limits { bytes: room });
    decoder.set_ignore_text_chunk(true);
    decoder.set_ignore_iccp_chunk(true);
    decoder.set_transformations(wanted);
    let info = decoder.read_header_info().map_err(broken)?;
    let (cols, rows) = (u64::from(info.width), u64::from(info.height));
    let samples = limits.samples(FORMAT, cols, rows)?;
    // Deflate never packs better than 1032 to 1, and eight pixels may share a byte.
    if samples / 8 / 1040 > bytes.len() {
        return Err(FormatError::broken(
            FORMAT,
            format!("a file of {} bytes cannot hold {cols} x {rows} pixels", bytes.len()),
        ));
    }
    let mut reader = decoder.read_info().map_err(broken)?;
    // The library takes the length of a palette on trust.
    if let Some(palette) = &reader.info().palette
        && (palette.is_empty() || palette.len() > 3 * 256 || palette.len() % 3 != 0)
    {
        let reason = format!(
            "its palette has {} bytes; it must have three for each of 1 to 256 colours",
            palette.len()
        );
        return Err(FormatError::broken(FORMAT, reason));
    }
    let size = reader.output_buffer_size().ok_or_else(|| FormatError::broken(FORMAT, "it has no size"))?;
    limits.memory(samples, size as u64)?;
    let mut raw = vec![0; size];
    let info = reader.next_frame(&mut raw).map_err(broken)?;
    Ok(Pixels {
        cols: cols as usize,
        rows: rows as usize,
        channels: info.color_type.samples(),
        is_wide: info.bit_depth == png::BitDepth::Sixteen,
        line: info.line_size.max(1),
        raw,
    })
}
