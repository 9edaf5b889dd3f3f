//! Pictures: 8-bit RGB PNG.

use orogen_core::Raster;

/// A picture: red, green and blue in sRGB.
pub type Picture = Raster<[u8; 3]>;

/// The bytes of a PNG.
#[must_use]
pub fn encode(picture: &Picture) -> Vec<u8> {
    let raw = bytemuck::cast_slice(picture.as_slice());
    write(picture.cols(), picture.rows(), raw, png::ColorType::Rgb, png::BitDepth::Eight)
}

/// A PNG of raw samples (big-endian where they have two bytes).
pub(crate) fn write(
    cols: usize,
    rows: usize,
    raw: &[u8],
    color: png::ColorType,
    depth: png::BitDepth,
) -> Vec<u8> {
    let mut out = Vec::with_capacity(raw.len() / 2 + 1024);
    let size = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
    let mut encoder = png::Encoder::new(&mut out, size(cols), size(rows));
    encoder.set_color(color);
    encoder.set_depth(depth);
    encoder.set_compression(png::Compression::Fast);
    // Writing to memory fails only for sizes that do not fit the samples, and both come from one raster.
    let written = encoder.write_header().and_then(|mut writer| {
        writer.write_image_data(raw)?;
        writer.finish()
    });
    debug_assert!(written.is_ok(), "{written:?}");
    out
}
