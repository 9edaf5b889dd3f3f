//! Packing bytes with deflate.

use std::io::Write;

/// A zlib stream; the same bytes for the same input.
pub(crate) fn zlib(raw: &[u8], level: u32) -> Vec<u8> {
    let mut packer =
        flate2::write::ZlibEncoder::new(Vec::with_capacity(raw.len() / 2), flate2::Compression::new(level));
    // Writing to memory cannot fail.
    let _ = packer.write_all(raw);
    packer.finish().unwrap_or_default()
}
