//! A drawing from a picture: how much of each pixel is drawn.
//!
//! Layers of painting programs are transparent where nothing is drawn; masks are black there. So where a picture has any
//! transparency its opacity counts, else its brightness.

use std::path::Path;

use orogen_core::Raster;

use crate::error::{FormatError, ReadError};
use crate::guard::guarded;
use crate::limits::Limits;
use crate::plain_file::read_bytes;
use crate::png_input::{self, FORMAT, Pixels};

/// Largest number of pixels: 8192 x 8192, which take up to 256 MiB while being read.
const MOST_PIXELS: u64 = 1 << 26;

/// Reads a drawing from a PNG of any colours.
///
/// # Errors
/// When the file is missing, unreadable, empty, larger than allowed, or no PNG; the sentence says which.
pub fn read(path: &Path, limits: &Limits) -> Result<Raster<u8>, ReadError> {
    let fail = |reason: String| ReadError::new(path, reason);
    let ending = path.extension().map(|e| e.to_string_lossy().to_ascii_lowercase()).unwrap_or_default();
    if ending != "png" {
        return Err(fail(format!("unknown file type {ending:?}; drawings end in png")));
    }
    let bytes = read_bytes(path, limits.max_bytes_file).map_err(fail)?;
    guarded(FORMAT, || decode(&bytes, limits)).map_err(|e| fail(e.to_string()))
}

/// A drawing from the bytes of a PNG.
///
/// # Errors
/// When the bytes are not a PNG or it is beyond the limits.
pub fn decode(bytes: &[u8], limits: &Limits) -> Result<Raster<u8>, FormatError> {
    let limits = Limits { max_samples: limits.max_samples.min(MOST_PIXELS), ..*limits };
    let Pixels { cols, rows, channels, line, raw, .. } =
        png_input::pixels(bytes, &limits, png::Transformations::normalize_to_color8())?;
    let pixels = raw.chunks_exact(line).flat_map(|row| row.chunks_exact(channels));
    let drawn: Vec<u8> = match channels {
        2 | 4 => {
            let clear = raw.chunks_exact(channels).any(|pixel| pixel[channels - 1] < u8::MAX);
            pixels.map(|p| if clear { p[channels - 1] } else { bright(&p[..channels - 1]) }).collect()
        }
        _ => pixels.map(bright).collect(),
    };
    Raster::from_vec(cols, rows, drawn)
        .ok_or_else(|| FormatError::broken(FORMAT, "its pixels do not fill its grid"))
}

/// How bright a pixel is.
fn bright(pixel: &[u8]) -> u8 {
    match *pixel {
        [r, g, b] => ((u32::from(r) * 54 + u32::from(g) * 183 + u32::from(b) * 19) >> 8) as u8,
        [grey, ..] => grey,
        [] => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn png(color: png::ColorType, depth: png::BitDepth, raw: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        let mut encoder = png::Encoder::new(&mut out, 4, 2);
        encoder.set_color(color);
        encoder.set_depth(depth);
        encoder.write_header().unwrap().write_image_data(raw).unwrap();
        out
    }

    fn drawn(bytes: &[u8]) -> Vec<u8> {
        decode(bytes, &Limits::default()).unwrap().into_vec()
    }

    #[test]
    fn opacity_counts_where_there_is_any_and_brightness_elsewhere() {
        let grey = [0, 255, 10, 200, 0, 0, 128, 255];
        assert_eq!(drawn(&png(png::ColorType::Grayscale, png::BitDepth::Eight, &grey)), grey);
        // Black strokes on nothing.
        let clear: Vec<u8> = grey.iter().flat_map(|a| [0, 0, 0, *a]).collect();
        assert_eq!(drawn(&png(png::ColorType::Rgba, png::BitDepth::Eight, &clear)), grey);
        // All opaque: the colours count.
        let opaque: Vec<u8> = grey.iter().flat_map(|v| [*v, *v, *v, 255]).collect();
        let found = drawn(&png(png::ColorType::Rgba, png::BitDepth::Eight, &opaque));
        assert!(found.iter().zip(grey).all(|(a, b)| a.abs_diff(b) <= 1), "{found:?}");
        let bits = drawn(&png(png::ColorType::Grayscale, png::BitDepth::One, &[0b0101_0000, 0b1000_0000]));
        assert_eq!(bits, [0, 255, 0, 255, 255, 0, 0, 0]);
    }

    #[test]
    fn a_palette_of_odd_length_gets_a_sentence() {
        for bytes in [0usize, 1, 2, 3, 4, 5, 6, 767, 768, 769, 771, 3000] {
            let mut file = Vec::new();
            {
                let mut encoder = png::Encoder::new(&mut file, 4, 2);
                encoder.set_color(png::ColorType::Indexed);
                encoder.set_depth(png::BitDepth::Eight);
                encoder.set_palette(vec![200; bytes]);
                encoder.set_trns(vec![255]);
                let Ok(mut writer) = encoder.write_header() else { continue };
                writer.write_image_data(&[0, 1, 2, 3, 250, 251, 254, 255]).unwrap();
            }
            let read = decode(&file, &Limits::default());
            match read {
                Ok(_) => assert!(bytes > 0 && bytes <= 768 && bytes % 3 == 0, "{bytes}"),
                Err(e) => {
                    assert!(!(bytes > 0 && bytes <= 768 && bytes % 3 == 0), "{bytes}: {e}");
                    assert!(e.to_string().contains("PNG"), "{e}");
                }
            }
        }
    }

    #[test]
    fn what_is_no_drawing_gets_a_sentence() {
        let message = decode(b"no picture", &Limits::default()).unwrap_err().to_string();
        assert!(message.starts_with("not a valid PNG"), "{message}");
        let whole = png(png::ColorType::Rgb, png::BitDepth::Eight, &[7; 24]);
        for cut in 1..whole.len() {
            let _ = decode(&whole[..cut], &Limits::default());
        }
        let small = Limits { max_samples: 7, ..Limits::default() };
        let message = decode(&whole, &small).unwrap_err().to_string();
        assert_eq!(message, "the grid of 4 x 2 samples is too large; at most 7 samples are allowed");
        // A header that promises more than the file can hold.
        let mut huge = whole.clone();
        huge[16..24].copy_from_slice(&[0, 0, 0x1f, 0xff, 0, 0, 0x1f, 0xff]);
        assert!(decode(&huge, &Limits::default()).is_err());
    }
}
