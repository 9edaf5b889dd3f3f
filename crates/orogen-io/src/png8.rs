//! Pictures: 8-bit PNG, RGB or grey.

use orogen_core::Raster;

/// A picture: red, green and blue in sRGB.
pub type Picture = Raster<[u8; 3]>;

/// The bytes of a PNG.
#[must_use]
pub fn encode(picture: &Picture) -> Vec<u8> {
    let raw = bytemuck::cast_slice(picture.as_slice());
    write(picture.cols(), picture.rows(), raw, png::ColorType::Rgb, png::BitDepth::Eight)
}

/// The bytes of a grey PNG.
#[must_use]
pub fn encode_grey(picture: &Raster<u8>) -> Vec<u8> {
    let (color, depth) = (png::ColorType::Grayscale, png::BitDepth::Eight);
    write(picture.cols(), picture.rows(), picture.as_slice(), color, depth)
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
