//! Pictures: 8-bit PNG, RGB or grey.

use std::io::{self, Write};

use orogen_core::Raster;
use rayon::prelude::*;

/// A picture: red, green and blue in sRGB.
pub type Picture = Raster<[u8; 3]>;

/// The bytes of a PNG.
#[must_use]
pub fn encode(picture: &Picture) -> Vec<u8> {
    in_memory(|out| write_picture(picture, out))
}

/// Writes what [`encode`] gives, a few rows at a time.
///
/// # Errors
/// When `out` takes no more.
pub fn write_picture(picture: &Picture, out: &mut impl Write) -> io::Result<()> {
    let (color, depth) = (png::ColorType::Rgb, png::BitDepth::Eight);
    write(picture, color, depth, |row, bytes| bytes.copy_from_slice(row.as_flattened()), out)
}

/// Writes four bytes a sample as they are: red, green, blue, and as alpha whatever the fourth is.
///
/// # Errors
/// When `out` takes no more.
pub fn write_four(samples: &Raster<[u8; 4]>, out: &mut impl Write) -> io::Result<()> {
    let (color, depth) = (png::ColorType::Rgba, png::BitDepth::Eight);
    write(samples, color, depth, |row, bytes| bytes.copy_from_slice(row.as_flattened()), out)
}

/// The bytes of a grey PNG.
#[must_use]
pub fn encode_grey(picture: &Raster<u8>) -> Vec<u8> {
    let (color, depth) = (png::ColorType::Grayscale, png::BitDepth::Eight);
    in_memory(|out| write(picture, color, depth, |row, bytes| bytes.copy_from_slice(row), out))
}

/// The bytes of a PNG that is as small as PNGs get: grey, grey with alpha, RGB or RGBA by `N`; other numbers of bytes give
/// nothing.
#[must_use]
pub fn encode_small<const N: usize>(samples: &Raster<[u8; N]>) -> Vec<u8> {
    let color = match N {
        1 => png::ColorType::Grayscale,
        2 => png::ColorType::GrayscaleAlpha,
        3 => png::ColorType::Rgb,
        4 => png::ColorType::Rgba,
        _ => return Vec::new(),
    };
    in_memory(|out| {
        // Rasters that fit memory fit a PNG.
        let mut encoder = png::Encoder::new(out, samples.cols() as u32, samples.rows() as u32);
        encoder.set_color(color);
        encoder.set_depth(png::BitDepth::Eight);
        encoder.set_compression(png::Compression::High);
        encoder.set_filter(png::Filter::Adaptive);
        let mut file = encoder.write_header()?;
        file.write_image_data(samples.as_slice().as_flattened())?;
        Ok(file.finish()?)
    })
}

/// The bytes of what is written to memory, which cannot fail but for a wrong size, and that comes from the raster.
pub(crate) fn in_memory(write: impl FnOnce(&mut Vec<u8>) -> io::Result<()>) -> Vec<u8> {
    let mut out = Vec::new();
    let written = write(&mut out);
    debug_assert!(written.is_ok(), "{written:?}");
    out
}

/// Bytes of compressed samples in a chunk of the file.
const CHUNK_BYTES: usize = 1 << 16;

/// Writes a PNG row by row; `fill` makes the bytes of a row (big-endian where samples have two).
pub(crate) fn write<T: Copy + Sync>(
    raster: &Raster<T>,
    color: png::ColorType,
    depth: png::BitDepth,
    fill: impl Fn(&[T], &mut [u8]) + Sync,
    out: &mut impl Write,
) -> io::Result<()> {
    let size = |n: usize| {
        u32::try_from(n).map_err(|_| io::Error::other(format!("{n} samples are too many for a PNG")))
    };
    let mut encoder = png::Encoder::new(out, size(raster.cols())?, size(raster.rows())?);
    encoder.set_color(color);
    encoder.set_depth(depth);
    encoder.set_compression(png::Compression::Fast);
    let bytes = color.samples() * if depth == png::BitDepth::Sixteen { 2 } else { 1 };
    let mut file = encoder.write_header()?;
    let mut rows = file.stream_writer_with_size(CHUNK_BYTES)?;
    by_rows(raster, bytes, fill, |piece| rows.write_all(piece))?;
    rows.finish()?;
    Ok(file.finish()?)
}

/// Samples that are laid out before they are written.
const BATCH_SAMPLES: usize = 1 << 18;

/// Hands out the rows of a raster as the bytes that `fill` makes of them, `bytes` for each sample, many rows at a time.
pub(crate) fn by_rows<T: Copy + Sync>(
    raster: &Raster<T>,
    bytes: usize,
    fill: impl Fn(&[T], &mut [u8]) + Sync,
    mut write: impl FnMut(&[u8]) -> io::Result<()>,
) -> io::Result<()> {
    let cols = raster.cols();
    let batch = (BATCH_SAMPLES / cols).max(1) * cols;
    let mut room = vec![0; batch.min(raster.as_slice().len()) * bytes];
    for rows in raster.as_slice().chunks(batch) {
        let room = &mut room[..rows.len() * bytes];
        let pairs = rows.par_chunks(cols).zip(room.par_chunks_mut(cols * bytes));
        pairs.for_each(|(row, out)| fill(row, out));
        write(room)?;
    }
    Ok(())
}

/// Blocks along each side of a picture when two are compared.
const BLOCKS: usize = 64;
/// How far the colours of blocks may differ, out of 255: on average, and the worst block.
const MEAN_ALLOWED: f64 = 0.3;
const WORST_ALLOWED: f64 = 4.0;

/// Whether two PNGs look alike: same size, and nearly the same colours seen from afar. For golden pictures, which come
/// out of floating-point work whose last bits no picture needs to show.
#[must_use]
pub fn looks_the_same(a: &[u8], b: &[u8]) -> bool {
    match (blocks(a), blocks(b)) {
        (Some((size_a, a)), Some((size_b, b))) => {
            let differences: Vec<f64> = a.iter().zip(&b).map(|(x, y)| (x - y).abs()).collect();
            let mean = differences.iter().sum::<f64>() / differences.len() as f64;
            size_a == size_b
                && a.len() == b.len()
                && mean <= MEAN_ALLOWED
                && differences.iter().all(|&d| d <= WORST_ALLOWED)
        }
        _ => false,
    }
}

/// The size of a PNG and the mean of each channel in each of `BLOCKS` × `BLOCKS` blocks.
fn blocks(png: &[u8]) -> Option<((u32, u32), Vec<f64>)> {
    let mut decoder = png::Decoder::new(std::io::Cursor::new(png));
    decoder.set_transformations(png::Transformations::normalize_to_color8());
    let mut reader = decoder.read_info().ok()?;
    let mut pixels = vec![0; reader.output_buffer_size()?];
    let info = reader.next_frame(&mut pixels).ok()?;
    let (width, height, channels) = (info.width as usize, info.height as usize, info.color_type.samples());
    let mut sums = vec![(0.0, 0.0); BLOCKS * BLOCKS * channels];
    for row in 0..height {
        for col in 0..width {
            let block = (row * BLOCKS / height) * BLOCKS + col * BLOCKS / width;
            for channel in 0..channels {
                let (sum, count) = &mut sums[block * channels + channel];
                *sum += f64::from(pixels[row * info.line_size + col * channels + channel]);
                *count += 1.0;
            }
        }
    }
    Some((
        (info.width, info.height),
        sums.into_iter().map(|(sum, count): (f64, f64)| sum / count.max(1.0)).collect(),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use orogen_core::Raster;

    fn picture(f: impl Fn(usize, usize) -> [u8; 3] + Sync) -> Vec<u8> {
        encode(&Raster::from_fn(100, 80, f))
    }

    fn land(col: usize, row: usize) -> [u8; 3] {
        [(col * 2) as u8, (row * 3) as u8, 90]
    }

    #[test]
    fn pictures_that_differ_in_their_last_bits_look_the_same() {
        let noisy = picture(|c, r| land(c, r).map(|v| v ^ u8::from((c + r) % 4 == 0)));
        assert!(looks_the_same(&picture(land), &noisy));
    }

    #[test]
    fn a_changed_corner_another_size_and_no_picture_do_not() {
        let corner = picture(|c, r| if c < 4 && r < 4 { [99; 3] } else { land(c, r) });
        assert!(!looks_the_same(&picture(land), &corner));
        let wider = encode(&Raster::from_fn(101, 80, land));
        assert!(!looks_the_same(&picture(land), &wider));
        assert!(!looks_the_same(&picture(land), b"no picture"));
    }
}
