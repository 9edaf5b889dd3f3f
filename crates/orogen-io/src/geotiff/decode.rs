//! From the bytes of a GeoTIFF to an elevation model.

use std::io::Read;

use orogen_core::{Elevation, Raster};
use rayon::prelude::*;

use super::container::Directory;
use super::georef::Georef;
use super::place::Place;
use super::{FORMAT, tag};
use crate::error::FormatError;
use crate::limits::Limits;

/// No compression read here packs more bytes into one: a byte of LZW can stand for some 2,600, one of deflate for 1,032.
/// A chunk that claims more is refused before its memory is reserved.
const MOST_BYTES_PER_PACKED_BYTE: usize = 4096;

/// An elevation model from the bytes of a GeoTIFF; the [module](super) says what is read.
///
/// # Errors
/// When the bytes are no TIFF, use something that is not read here, or declare a grid beyond the limits.
pub fn decode(bytes: &[u8], limits: &Limits) -> Result<Elevation, FormatError> {
    decode_placed(bytes, limits).map(|(elevation, _)| elevation)
}

/// As [`decode`], with the place in the file's own coordinates; `None` when the file does not say.
///
/// # Errors
/// As [`decode`].
pub fn decode_placed(bytes: &[u8], limits: &Limits) -> Result<(Elevation, Option<Place>), FormatError> {
    let directory = Directory::read(bytes)?;
    let image = Image::read(&directory, limits)?;
    let georef = Georef::read(&directory, image.rows)?;
    let mut heights = image.heights()?;
    if georef.south_up {
        let (mut top, mut bottom) = (0, image.rows - 1);
        while top < bottom {
            let (north, south) = heights.split_at_mut(bottom * image.cols);
            north[top * image.cols..][..image.cols].swap_with_slice(&mut south[..image.cols]);
            (top, bottom) = (top + 1, bottom - 1);
        }
    }
    if georef.height_unit_m != 1.0 {
        heights.par_iter_mut().for_each(|h| *h = (f64::from(*h) * georef.height_unit_m) as f32);
    }
    let height = Raster::from_vec(image.cols, image.rows, heights)
        .ok_or_else(|| FormatError::broken(FORMAT, "its grid is empty"))?;
    let elevation = Elevation { height, spacing_m: georef.spacing_m, north_west_m: georef.north_west_m };
    Ok((elevation, georef.place))
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum SampleKind {
    U8,
    I8,
    U16,
    I16,
    U32,
    I32,
    F32,
    F64,
}

impl SampleKind {
    fn bytes(self) -> usize {
        match self {
            Self::U8 | Self::I8 => 1,
            Self::U16 | Self::I16 => 2,
            Self::U32 | Self::I32 | Self::F32 => 4,
            Self::F64 => 8,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Packing {
    None,
    Deflate,
    Lzw,
    PackBits,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Predictor {
    None,
    Horizontal,
    Float,
}

/// How the samples of an image lie in its file.
struct Image<'a> {
    bytes: &'a [u8],
    little_endian: bool,
    cols: usize,
    rows: usize,
    kind: SampleKind,
    packing: Packing,
    predictor: Predictor,
    nodata: Option<f64>,
    /// Samples from one pixel to the next within a chunk: the number of bands when they are interleaved.
    stride: usize,
    /// Columns and rows of a chunk (a strip or a tile).
    chunk_cols: usize,
    chunk_rows: usize,
    chunks_across: usize,
    /// Tiles are padded to their full height, strips are not.
    tiled: bool,
    offsets: Vec<u64>,
    lengths: Vec<u64>,
}

fn unsupported(found: String, allowed: &'static str) -> FormatError {
    FormatError::Unsupported { format: FORMAT, found, allowed }
}

fn broken(reason: impl Into<String>) -> FormatError {
    FormatError::broken(FORMAT, reason)
}

impl<'a> Image<'a> {
    fn read(directory: &Directory<'a>, limits: &Limits) -> Result<Self, FormatError> {
        let (width, height) =
            (directory.whole_number(tag::WIDTH, None)?, directory.whole_number(tag::HEIGHT, None)?);
        limits.samples(FORMAT, width, height)?;
        let (cols, rows) = (width as usize, height as usize);

        let bands = directory.whole_number(tag::SAMPLES_PER_PIXEL, Some(1))?;
        let photometric = directory.whole_number(tag::PHOTOMETRIC, Some(1))?;
        if photometric != 1 || !(1..=1024).contains(&bands) {
            return Err(unsupported(
                format!("{bands} bands of colour model {photometric}"),
                "a grey image (colour model 1), whose first band is the height",
            ));
        }
        let planar = directory.whole_number(tag::PLANAR, Some(1))?;
        let stride = if planar == 2 { 1 } else { bands as usize };

        let kind = sample_kind(directory)?;
        let packing = match directory.whole_number(tag::COMPRESSION, Some(1))? {
            1 => Packing::None,
            5 => Packing::Lzw,
            8 | 32946 => Packing::Deflate,
            32773 => Packing::PackBits,
            other => {
                return Err(unsupported(
                    format!("compression {other}"),
                    "none (1), LZW (5), deflate (8) or PackBits (32773)",
                ));
            }
        };
        let predictor = match directory.whole_number(tag::PREDICTOR, Some(1))? {
            1 => Predictor::None,
            2 => Predictor::Horizontal,
            3 if matches!(kind, SampleKind::F32 | SampleKind::F64) => Predictor::Float,
            other => return Err(unsupported(format!("predictor {other}"), "1, 2, or 3 with floats")),
        };

        let tiled = directory.count(tag::TILE_OFFSETS) > 0;
        let (chunk_width, chunk_height, offsets, lengths) = if tiled {
            let tile = [tag::TILE_WIDTH, tag::TILE_HEIGHT].map(|tag| directory.whole_number(tag, None));
            let [tile_width, tile_height] = tile;
            (tile_width?, tile_height?, tag::TILE_OFFSETS, tag::TILE_BYTES)
        } else {
            let rows = directory.whole_number(tag::ROWS_PER_STRIP, Some(height))?.min(height);
            (width, rows, tag::STRIP_OFFSETS, tag::STRIP_BYTES)
        };
        if chunk_width == 0 || chunk_height == 0 {
            return Err(broken(format!(
                "its strips or tiles measure {chunk_width} x {chunk_height} samples"
            )));
        }
        // What the chunks cover in all, padding and bands included, is bounded too: each of them is unpacked.
        let padded = |size: u64, chunk: u64| size.checked_next_multiple_of(chunk).unwrap_or(u64::MAX);
        let padded_width = padded(width, chunk_width).saturating_mul(stride as u64);
        let padded_height = if tiled { padded(height, chunk_height) } else { height };
        limits.samples(FORMAT, padded_width, padded_height)?;
        let (chunk_cols, chunk_rows) = (chunk_width as usize, chunk_height as usize);
        let chunks_across = cols.div_ceil(chunk_cols);
        let chunks = chunks_across * rows.div_ceil(chunk_rows);

        let offsets = directory.whole_numbers(offsets)?.unwrap_or_default();
        let lengths = directory.whole_numbers(lengths)?.unwrap_or_default();
        if offsets.len() < chunks || lengths.len() < chunks {
            return Err(broken(format!(
                "a grid of {cols} x {rows} samples needs {chunks} strips or tiles, and it lists {}",
                offsets.len().min(lengths.len())
            )));
        }
        let nodata = directory.text(tag::GDAL_NODATA).and_then(|text| text.trim().parse().ok());
        let (bytes, little_endian) = (directory.bytes, directory.little_endian);
        Ok(Self {
            bytes,
            little_endian,
            cols,
            rows,
            kind,
            packing,
            predictor,
            nodata,
            stride,
            chunk_cols,
            chunk_rows,
            chunks_across,
            tiled,
            offsets,
            lengths,
        })
    }

    /// Heights row by row, as the file orders them; holes are NaN.
    fn heights(&self) -> Result<Vec<f32>, FormatError> {
        self.check_room()?;
        let mut heights = vec![0f32; self.cols * self.rows];
        heights.par_chunks_mut(self.cols * self.chunk_rows).enumerate().try_for_each(|(down, band)| {
            (0..self.chunks_across).try_for_each(|across| self.read_chunk(down, across, band))
        })?;
        Ok(heights)
    }

    /// Whether the file can hold what it claims, before memory is reserved for it.
    fn check_room(&self) -> Result<(), FormatError> {
        let sparse = self.lengths.contains(&0);
        let most = if self.packing == Packing::None && !sparse { 1 } else { MOST_BYTES_PER_PACKED_BYTE };
        if self.bytes.len().saturating_mul(most) < self.cols * self.rows * self.kind.bytes() {
            return Err(broken(format!(
                "a file of {} bytes cannot hold {} x {} samples",
                self.bytes.len(),
                self.cols,
                self.rows
            )));
        }
        Ok(())
    }

    /// Unpacks one chunk into its place in a band of rows.
    fn read_chunk(&self, down: usize, across: usize, band: &mut [f32]) -> Result<(), FormatError> {
        let index = down * self.chunks_across + across;
        let left = across * self.chunk_cols;
        let cols = self.chunk_cols.min(self.cols - left);
        let rows = band.len() / self.cols;
        let (Ok(at), Ok(length)) =
            (usize::try_from(self.offsets[index]), usize::try_from(self.lengths[index]))
        else {
            return Err(broken(format!("strip or tile {index} lies past the end of the file")));
        };
        if length == 0 {
            let value = if self.nodata.is_some() { f32::NAN } else { 0.0 };
            (0..rows).for_each(|row| band[row * self.cols + left..][..cols].fill(value));
            return Ok(());
        }
        let packed = at.checked_add(length).and_then(|end| self.bytes.get(at..end)).ok_or_else(|| {
            broken(format!(
                "strip or tile {index} should end at byte {}, and the file has {}",
                at.saturating_add(length),
                self.bytes.len()
            ))
        })?;
        let row_bytes = self.chunk_cols * self.stride * self.kind.bytes();
        let wanted = row_bytes * if self.tiled { self.chunk_rows } else { rows };
        let mut raw = unpack(self.packing, packed, wanted).ok_or_else(|| {
            broken(format!("strip or tile {index} does not unpack to the {wanted} bytes it should hold"))
        })?;
        for (row, raw) in raw.chunks_exact_mut(row_bytes).take(rows).enumerate() {
            self.read_row(raw, &mut band[row * self.cols + left..][..cols]);
        }
        Ok(())
    }

    /// The first band of one unpacked row; `raw` is left in disorder.
    fn read_row(&self, raw: &mut [u8], out: &mut [f32]) {
        let size = self.kind.bytes();
        let samples = raw.len() / size;
        if self.predictor == Predictor::Float {
            for i in self.stride..raw.len() {
                raw[i] = raw[i].wrapping_add(raw[i - self.stride]);
            }
        }
        let mut sum = 0u64;
        for (i, out) in out.iter_mut().enumerate() {
            let sample = i * self.stride;
            let bits = match self.predictor {
                // The bytes of all samples lie in planes, the most significant first.
                Predictor::Float => {
                    (0..size).fold(0, |bits, plane| bits << 8 | u64::from(raw[plane * samples + sample]))
                }
                Predictor::None => self.bits(&raw[sample * size..][..size]),
                Predictor::Horizontal => {
                    sum = sum.wrapping_add(self.bits(&raw[sample * size..][..size]));
                    sum
                }
            };
            let value = match self.kind {
                SampleKind::U8 => f64::from(bits as u8),
                SampleKind::I8 => f64::from(bits as u8 as i8),
                SampleKind::U16 => f64::from(bits as u16),
                SampleKind::I16 => f64::from(bits as u16 as i16),
                SampleKind::U32 => f64::from(bits as u32),
                SampleKind::I32 => f64::from(bits as u32 as i32),
                SampleKind::F32 => f64::from(f32::from_bits(bits as u32)),
                SampleKind::F64 => f64::from_bits(bits),
            };
            *out = self.height(value);
        }
    }

    /// The height that a value stands for.
    fn height(&self, value: f64) -> f32 {
        let height = value as f32;
        // Single precision is enough to tell the hole: files often write its value with fewer digits.
        let hole = !height.is_finite()
            || self.nodata.is_some_and(|nodata| nodata == value || nodata as f32 == height);
        if hole { f32::NAN } else { height }
    }

    #[inline]
    fn bits(&self, raw: &[u8]) -> u64 {
        let fold = |bits: u64, &byte: &u8| bits << 8 | u64::from(byte);
        if self.little_endian { raw.iter().rev().fold(0, fold) } else { raw.iter().fold(0, fold) }
    }
}

fn sample_kind(directory: &Directory<'_>) -> Result<SampleKind, FormatError> {
    let bits = directory.whole_numbers(tag::BITS)?.unwrap_or_else(|| vec![1]);
    let formats = directory.whole_numbers(tag::SAMPLE_FORMAT)?.unwrap_or_else(|| vec![1]);
    let same = |values: &[u64]| values.iter().all(|v| Some(v) == values.first());
    let allowed = "8, 16 or 32-bit integers, or 32 or 64-bit floats, alike in all bands";
    if !same(&bits) || !same(&formats) {
        return Err(unsupported(format!("bands of {bits:?} bits and formats {formats:?}"), allowed));
    }
    let (bits, format) = (bits.first().copied().unwrap_or(1), formats.first().copied().unwrap_or(1));
    Ok(match (format, bits) {
        (1 | 4, 8) => SampleKind::U8,
        (1 | 4, 16) => SampleKind::U16,
        (1 | 4, 32) => SampleKind::U32,
        (2, 8) => SampleKind::I8,
        (2, 16) => SampleKind::I16,
        (2, 32) => SampleKind::I32,
        (3, 32) => SampleKind::F32,
        (3, 64) => SampleKind::F64,
        _ => return Err(unsupported(format!("samples of {bits} bits in format {format}"), allowed)),
    })
}

/// Exactly `wanted` bytes from a packed chunk, `None` when it holds fewer or is damaged.
fn unpack(packing: Packing, packed: &[u8], wanted: usize) -> Option<Vec<u8>> {
    if packing == Packing::None {
        return packed.get(..wanted).map(<[u8]>::to_vec);
    }
    if wanted / MOST_BYTES_PER_PACKED_BYTE > packed.len() {
        return None;
    }
    let mut raw = vec![0; wanted];
    match packing {
        Packing::None => {}
        Packing::Deflate => flate2::read::ZlibDecoder::new(packed).read_exact(&mut raw).ok()?,
        Packing::Lzw => {
            let mut decoder = weezl::decode::Decoder::with_tiff_size_switch(weezl::BitOrder::Msb, 8);
            let (mut read, mut written) = (0, 0);
            while written < wanted {
                let step = decoder.decode_bytes(&packed[read..], &mut raw[written..]);
                let idle = step.consumed_in == 0 && step.consumed_out == 0;
                (read, written) = (read + step.consumed_in, written + step.consumed_out);
                if written < wanted && (idle || matches!(step.status, Ok(weezl::LzwStatus::Done) | Err(_))) {
                    return None;
                }
            }
        }
        Packing::PackBits => {
            let (mut read, mut written) = (0, 0);
            while written < wanted {
                let head = *packed.get(read)? as i8;
                read += 1;
                if head >= 0 {
                    let run = head as usize + 1;
                    let run_fits = run.min(wanted - written);
                    raw[written..][..run_fits]
                        .copy_from_slice(packed.get(read..read + run)?.get(..run_fits)?);
                    (read, written) = (read + run, written + run_fits);
                } else if head != -128 {
                    let run = (1 - isize::from(head)) as usize;
                    let run_fits = run.min(wanted - written);
                    raw[written..][..run_fits].fill(*packed.get(read)?);
                    (read, written) = (read + 1, written + run_fits);
                }
            }
        }
    }
    Some(raw)
}
