//! Images from above, band by band: GeoTIFF and PNG.

use std::path::Path;

use orogen_core::{Elevation, Raster};

use crate::elevation;
use crate::error::{FormatError, ReadError};
use crate::guard::guarded;
use crate::limits::Limits;
use crate::plain_file::read_bytes;
use crate::png_input::{self, FORMAT};

/// Reads a band, counted from 1, as the numbers that the file holds; what it marks as no data is NaN.
///
/// # Errors
/// When the file is missing, unreadable, larger than allowed, of another kind, or has no such band; the sentence says which.
pub fn read_band(path: &Path, band: u32, limits: &Limits) -> Result<Elevation, ReadError> {
    let fail = |reason: String| ReadError::new(path, reason);
    let ending = path.extension().map(|e| e.to_string_lossy().to_ascii_lowercase()).unwrap_or_default();
    match ending.as_str() {
        "tif" | "tiff" => elevation::read_band(path, Some(band), limits).map(|(read, _)| read),
        "png" => {
            let bytes = read_bytes(path, limits.max_bytes_file).map_err(fail)?;
            guarded(FORMAT, || decode_png(&bytes, band, limits)).map_err(|e| ReadError::format(path, &e))
        }
        _ => Err(fail(format!("unknown file type {ending:?}; images end in tif, tiff or png"))),
    }
}

/// Reads a picture in colours, with alpha: a PNG, or a GeoTIFF of one band (grey) or three. What a GeoTIFF marks as no data is
/// clear, and one of more than 8 bits is taken from 0 to its greatest value.
///
/// # Errors
/// As [`read_band`].
pub fn read_colors(path: &Path, limits: &Limits) -> Result<Raster<[u8; 4]>, ReadError> {
    let fail = |reason: String| ReadError::new(path, reason);
    if path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("png")) {
        let bytes = read_bytes(path, limits.max_bytes_file).map_err(fail)?;
        return guarded(FORMAT, || decode_colors(&bytes, limits)).map_err(|e| ReadError::format(path, &e));
    }
    let bands = match read_band(path, 2, limits) {
        Ok(green) => vec![read_band(path, 1, limits)?, green, read_band(path, 3, limits)?],
        // One band only, or something that the first says better.
        Err(_) => vec![read_band(path, 1, limits)?],
    };
    let most =
        bands.iter().filter_map(|band| band.height.range()).map(|(_, high)| high).fold(255.0, f32::max);
    let (cols, rows) = (bands[0].height.cols(), bands[0].height.rows());
    Ok(Raster::from_fn(cols, rows, |c, r| {
        let at = |i: usize| bands[i.min(bands.len() - 1)].height.clamped(c as isize, r as isize);
        let color = [0, 1, 2].map(at);
        let alpha = if color.iter().any(|x| x.is_nan()) { 0 } else { 255 };
        let [red, green, blue] = color.map(|x| (x * 255.0 / most).round().clamp(0.0, 255.0) as u8);
        [red, green, blue, alpha]
    }))
}

/// The colours of a PNG, with alpha.
///
/// # Errors
/// When the bytes are not a PNG or it is beyond the limits.
pub fn decode_colors(bytes: &[u8], limits: &Limits) -> Result<Raster<[u8; 4]>, FormatError> {
    let pixels = png_input::pixels(bytes, limits, png::Transformations::EXPAND)?;
    // Of two bytes the higher one comes first.
    let width = if pixels.is_wide { 2 } else { 1 };
    let samples =
        pixels.raw.chunks_exact(pixels.line).flat_map(|row| row.chunks_exact(pixels.channels * width));
    let color = |pixel: &[u8]| {
        let at = |i: usize| pixel.get(i * width).copied().unwrap_or(255);
        match pixels.channels {
            1 => [at(0), at(0), at(0), 255],
            2 => [at(0), at(0), at(0), at(1)],
            3 => [at(0), at(1), at(2), 255],
            _ => [at(0), at(1), at(2), at(3)],
        }
    };
    Raster::from_vec(pixels.cols, pixels.rows, samples.map(color).collect())
        .ok_or_else(|| FormatError::broken(FORMAT, "its pixels do not fill its grid"))
}

/// A band from the bytes of a PNG. Pixels that cannot be seen at all are holes.
///
/// # Errors
/// When the bytes are not a PNG, it is beyond the limits, or it has no such band.
pub fn decode_png(bytes: &[u8], band: u32, limits: &Limits) -> Result<Elevation, FormatError> {
    let pixels = png_input::pixels(bytes, limits, png::Transformations::EXPAND)?;
    let (channels, width) = (pixels.channels, if pixels.is_wide { 2 } else { 1 });
    let is_clear = |pixel: &[u8]| {
        channels.is_multiple_of(2) && pixel[(channels - 1) * width..].iter().all(|byte| *byte == 0)
    };
    let colours = if channels.is_multiple_of(2) { channels - 1 } else { channels };
    let at = (band as usize).checked_sub(1).filter(|at| *at < colours).ok_or_else(|| {
        let bands = if colours == 1 { "1 band" } else { "3 bands" };
        FormatError::broken(FORMAT, format!("there is no band {band}; it has {bands}"))
    })?;
    let values = pixels
        .raw
        .chunks_exact(pixels.line)
        .flat_map(|row| row.chunks_exact(channels * width))
        .map(|pixel| match &pixel[at * width..][..width] {
            _ if is_clear(pixel) => f32::NAN,
            [high, low] => f32::from(u16::from_be_bytes([*high, *low])),
            [byte, ..] => f32::from(*byte),
            [] => f32::NAN,
        })
        .collect();
    let height = Raster::from_vec(pixels.cols, pixels.rows, values)
        .ok_or_else(|| FormatError::broken(FORMAT, "its pixels do not fill its grid"))?;
    Ok(Elevation { height, spacing_m: None, north_west_m: None })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn png(color: png::ColorType, depth: png::BitDepth, raw: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        let mut encoder = png::Encoder::new(&mut out, 2, 1);
        encoder.set_color(color);
        encoder.set_depth(depth);
        encoder.write_header().unwrap().write_image_data(raw).unwrap();
        out
    }

    fn band(bytes: &[u8], band: u32) -> Vec<f32> {
        decode_png(bytes, band, &Limits::default()).unwrap().height.into_vec()
    }

    #[test]
    fn bands_come_as_they_are_in_eight_and_sixteen_bits() {
        let eight = png(png::ColorType::Rgb, png::BitDepth::Eight, &[1, 2, 3, 40, 50, 60]);
        assert_eq!((band(&eight, 1), band(&eight, 3)), (vec![1.0, 40.0], vec![3.0, 60.0]));
        let raw: Vec<u8> = [1000u16, 2, 65535, 40, 50, 60].iter().flat_map(|v| v.to_be_bytes()).collect();
        let sixteen = png(png::ColorType::Rgb, png::BitDepth::Sixteen, &raw);
        assert_eq!((band(&sixteen, 1), band(&sixteen, 3)), (vec![1000.0, 40.0], vec![65535.0, 60.0]));
        let seen = png(png::ColorType::Rgba, png::BitDepth::Eight, &[1, 2, 3, 0, 40, 50, 60, 9]);
        let red = band(&seen, 1);
        assert!(red[0].is_nan() && red[1] == 40.0, "{red:?}");
    }

    #[test]
    fn what_is_no_image_gets_a_sentence() {
        let eight = png(png::ColorType::Rgb, png::BitDepth::Eight, &[1, 2, 3, 40, 50, 60]);
        let sentence =
            |bytes: &[u8], band: u32| decode_png(bytes, band, &Limits::default()).unwrap_err().to_string();
        assert!(sentence(&eight, 4).contains("there is no band 4; it has 3 bands"));
        assert!(sentence(&eight, 0).contains("there is no band 0"));
        assert!(sentence(b"no image at all", 1).starts_with("not a valid PNG"));
        for cut in 1..eight.len() {
            let _ = decode_png(&eight[..cut], 1, &Limits::default());
        }
    }

    #[test]
    fn colours_come_with_their_alpha() {
        let wanted =
            Raster::from_fn(3, 2, |c, r| [c as u8 * 40, r as u8 * 90, 7, if c == 2 { 0 } else { 200 }]);
        let bytes = crate::png8::encode_small(&wanted);
        let limits = Limits::default();
        assert_eq!(decode_colors(&bytes, &limits).unwrap(), wanted);
        let grey = crate::png8::encode_grey(&Raster::filled(2, 2, 90u8));
        assert_eq!(decode_colors(&grey, &limits).unwrap().as_slice(), [[90, 90, 90, 255]; 4]);
        assert!(decode_colors(b"nothing", &limits).is_err());
    }
}
