//! From the bytes of a GeoTIFF to an elevation model.

use std::fs::File;

use orogen_core::{Elevation, Raster};
use rayon::prelude::*;

use super::container::Directory;
use super::georef::Georef;
use super::place::Place;
use super::source::{Source, sized};
use super::{FORMAT, tag};
use crate::error::FormatError;
use crate::limits::Limits;

/// No compression read here packs more bytes into one: a byte of LZW can stand for some 2,600, one of deflate for 1,032.
/// A chunk that claims more is refused before its memory is reserved.
const MOST_BYTES_PER_PACKED_BYTE: usize = 4096;

/// Bytes of samples that a thread reads at a time, where the file leaves the choice: they stay in its cache until they
/// are heights.
const PIECE_BYTES: usize = 1 << 18;

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
    decode_from(Source::Memory(bytes), limits)
}

/// As [`decode_placed`], from a file that is open: threads read their own parts of it, and samples that are not packed
/// go straight into the raster.
///
/// # Errors
/// As [`decode`], and when the disk fails.
pub fn decode_file(file: &File, limits: &Limits) -> Result<(Elevation, Option<Place>), FormatError> {
    decode_from(Source::disk(file)?, limits)
}

fn decode_from(source: Source<'_>, limits: &Limits) -> Result<(Elevation, Option<Place>), FormatError> {
    let directory = Directory::read(source)?;
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
    source: &'a Source<'a>,
    little_endian: bool,
    cols: usize,
    rows: usize,
    kind: SampleKind,
    packing: Packing,
    predictor: Predictor,
    /// Single precision is enough to tell the hole: files often write its value with fewer digits. NaN where there is none.
    nodata: f32,
    /// Tiles that are missing are holes where the file has a value for holes, else level ground.
    missing: f32,
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
    fn read(directory: &'a Directory<'a>, limits: &Limits) -> Result<Self, FormatError> {
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

        let offsets = directory.first_whole_numbers(offsets, chunks)?.unwrap_or_default();
        let lengths = directory.first_whole_numbers(lengths, chunks)?.unwrap_or_default();
        if offsets.len() < chunks || lengths.len() < chunks {
            return Err(broken(format!(
                "a grid of {cols} x {rows} samples needs {chunks} strips or tiles, and it lists {}",
                offsets.len().min(lengths.len())
            )));
        }
        let nodata: Option<f64> = directory.text(tag::GDAL_NODATA)?.and_then(|text| text.trim().parse().ok());
        let mut image = Self {
            source: &directory.source,
            little_endian: directory.little_endian,
            cols,
            rows,
            kind,
            packing,
            predictor,
            nodata: nodata.map_or(f32::NAN, |nodata| nodata as f32),
            missing: if nodata.is_some() { f32::NAN } else { 0.0 },
            stride,
            chunk_cols,
            chunk_rows,
            chunks_across,
            tiled,
            offsets,
            lengths,
        };
        image.cut_anew();
        Ok(image)
    }

    /// Strips of samples that are not packed and follow one another in the file are one long strip, which is cut anew: not so
    /// short that each costs a call, not so long that there are too few to share out.
    fn cut_anew(&mut self) {
        if self.tiled || self.packing != Packing::None {
            return;
        }
        let row_bytes = self.row_bytes();
        let strip_bytes = (row_bytes * self.chunk_rows) as u64;
        let Some(&first) = self.offsets.first() else { return };
        let mut strips = self.offsets.iter().zip(&self.lengths).enumerate();
        let follow = strips.all(|(i, (&at, &length))| {
            let rows = self.chunk_rows.min(self.rows - i * self.chunk_rows);
            first.checked_add(i as u64 * strip_bytes) == Some(at) && length >= (row_bytes * rows) as u64
        });
        let end = first.checked_add((row_bytes * self.rows) as u64);
        if !follow || end.is_none_or(|end| end > self.source.len() as u64) {
            return;
        }
        self.chunk_rows = (PIECE_BYTES / row_bytes).clamp(1, self.rows);
        let starts = (0..self.rows).step_by(self.chunk_rows);
        self.lengths =
            starts.clone().map(|row| (row_bytes * self.chunk_rows.min(self.rows - row)) as u64).collect();
        self.offsets = starts.map(|row| first + (row_bytes * row) as u64).collect();
    }

    /// Bytes of a row of a chunk, all bands included.
    fn row_bytes(&self) -> usize {
        self.chunk_cols * self.stride * self.kind.bytes()
    }

    /// Heights row by row, as the file orders them; holes are NaN.
    fn heights(&self) -> Result<Vec<f32>, FormatError> {
        self.check_room()?;
        let mut heights = vec![0f32; self.cols * self.rows];
        heights.par_chunks_mut(self.cols * self.chunk_rows).enumerate().try_for_each_init(
            Bench::default,
            |bench, (down, band)| {
                (0..self.chunks_across).try_for_each(|across| self.read_chunk(down, across, band, bench))
            },
        )?;
        Ok(heights)
    }

    /// Whether the file can hold what it claims, before memory is reserved for it.
    fn check_room(&self) -> Result<(), FormatError> {
        let sparse = self.lengths.contains(&0);
        let most = if self.packing == Packing::None && !sparse { 1 } else { MOST_BYTES_PER_PACKED_BYTE };
        if self.source.len().saturating_mul(most) < self.cols * self.rows * self.kind.bytes() {
            return Err(broken(format!(
                "a file of {} bytes cannot hold {} x {} samples",
                self.source.len(),
                self.cols,
                self.rows
            )));
        }
        Ok(())
    }

    /// Unpacks one chunk into its place in a band of rows.
    fn read_chunk(
        &self,
        down: usize,
        across: usize,
        band: &mut [f32],
        bench: &mut Bench,
    ) -> Result<(), FormatError> {
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
            (0..rows).for_each(|row| band[row * self.cols + left..][..cols].fill(self.missing));
            return Ok(());
        }
        if !self.source.holds(at, length) {
            return Err(broken(format!(
                "strip or tile {index} should end at byte {}, and the file has {}",
                at.saturating_add(length),
                self.source.len()
            )));
        }
        let wanted = self.row_bytes() * if self.tiled { self.chunk_rows } else { rows };
        let unpacked = if self.is_as_in_memory() && self.packing == Packing::None && !self.tiled {
            let whole = length >= wanted && self.source.fill(at, bytemuck::cast_slice_mut(band))?;
            whole.then(|| self.settle(band))
        } else {
            bench.unpack(self.source, self.packing, at, length, wanted)?.map(|raw| {
                for (row, raw) in raw.chunks_exact_mut(self.row_bytes()).take(rows).enumerate() {
                    self.read_row(raw, &mut band[row * self.cols + left..][..cols]);
                }
            })
        };
        unpacked.ok_or_else(|| {
            broken(format!("strip or tile {index} does not unpack to the {wanted} bytes it should hold"))
        })
    }

    /// Whether unpacked rows are parts of the raster byte for byte, but for the order of the bytes and for holes.
    fn is_as_in_memory(&self) -> bool {
        self.predictor == Predictor::None && self.kind == SampleKind::F32 && self.stride == 1
    }

    /// Makes heights of what was read into their place.
    fn settle(&self, heights: &mut [f32]) {
        if self.little_endian {
            for height in heights {
                *height = self.height(f32::from_bits(u32::from_le(height.to_bits())));
            }
        } else {
            for height in heights {
                *height = self.height(f32::from_bits(u32::from_be(height.to_bits())));
            }
        }
    }

    /// The first band of one unpacked row; `raw` is left in disorder.
    fn read_row(&self, raw: &mut [u8], out: &mut [f32]) {
        if self.is_as_in_memory() {
            let bytes: &mut [u8] = bytemuck::cast_slice_mut(out);
            bytes.copy_from_slice(&raw[..bytes.len()]);
            return self.settle(out);
        }
        match self.kind {
            SampleKind::U8 => self.read_samples::<1>(raw, out, |bits| f32::from(bits as u8)),
            SampleKind::I8 => self.read_samples::<1>(raw, out, |bits| f32::from(bits as u8 as i8)),
            SampleKind::U16 => self.read_samples::<2>(raw, out, |bits| f32::from(bits as u16)),
            SampleKind::I16 => self.read_samples::<2>(raw, out, |bits| f32::from(bits as u16 as i16)),
            SampleKind::U32 => self.read_samples::<4>(raw, out, |bits| bits as u32 as f32),
            SampleKind::I32 => self.read_samples::<4>(raw, out, |bits| bits as u32 as i32 as f32),
            SampleKind::F32 => self.read_samples::<4>(raw, out, |bits| f32::from_bits(bits as u32)),
            SampleKind::F64 => self.read_samples::<8>(raw, out, |bits| f64::from_bits(bits) as f32),
        }
    }

    /// As [`Image::read_row`], for samples of `N` bytes whose bits mean what `value` says.
    #[inline(always)]
    fn read_samples<const N: usize>(
        &self,
        raw: &mut [u8],
        out: &mut [f32],
        value: impl Fn(u64) -> f32 + Copy,
    ) {
        let bits = |bytes: &[u8; N]| {
            let mut wide = [0; 8];
            if self.little_endian {
                wide[..N].copy_from_slice(bytes);
                u64::from_le_bytes(wide)
            } else {
                wide[8 - N..].copy_from_slice(bytes);
                u64::from_be_bytes(wide)
            }
        };
        match self.predictor {
            // Most files have one band, and that loop becomes vector code.
            Predictor::None if self.stride == 1 => {
                for (out, bytes) in out.iter_mut().zip(raw.as_chunks::<N>().0) {
                    *out = self.height(value(bits(bytes)));
                }
            }
            Predictor::None => {
                for (out, bytes) in out.iter_mut().zip(raw.as_chunks::<N>().0.iter().step_by(self.stride)) {
                    *out = self.height(value(bits(bytes)));
                }
            }
            Predictor::Horizontal => {
                let mut sum = 0u64;
                for (out, bytes) in out.iter_mut().zip(raw.as_chunks::<N>().0.iter().step_by(self.stride)) {
                    sum = sum.wrapping_add(bits(bytes));
                    *out = self.height(value(sum));
                }
            }
            Predictor::Float => {
                add_up(raw, self.stride);
                // The bytes of all samples lie in planes, the most significant first.
                let samples = raw.len() / N;
                let planes: [&[u8]; N] = std::array::from_fn(|plane| &raw[plane * samples..][..samples]);
                if let ([a, b, c, d], 1) = (&planes[..], self.stride) {
                    for ((((out, a), b), c), d) in out.iter_mut().zip(*a).zip(*b).zip(*c).zip(*d) {
                        *out = self.height(value(u64::from(u32::from_be_bytes([*a, *b, *c, *d]))));
                    }
                    return;
                }
                for (i, out) in out.iter_mut().enumerate() {
                    let mut bits = 0;
                    for plane in planes {
                        bits = bits << 8 | u64::from(plane[i * self.stride]);
                    }
                    *out = self.height(value(bits));
                }
            }
        }
    }

    /// The height that a value stands for.
    #[inline(always)]
    fn height(&self, value: f32) -> f32 {
        if value.is_finite() && value != self.nodata { value } else { f32::NAN }
    }
}

/// Undoes differences between bytes `stride` apart.
fn add_up(raw: &mut [u8], stride: usize) {
    if stride == 1 {
        let mut sum = 0u8;
        for byte in raw {
            sum = sum.wrapping_add(*byte);
            *byte = sum;
        }
    } else {
        for i in stride..raw.len() {
            raw[i] = raw[i].wrapping_add(raw[i - stride]);
        }
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

/// What a thread unpacks chunks with, one after the other.
#[derive(Default)]
struct Bench {
    packed: Vec<u8>,
    raw: Vec<u8>,
    inflate: Option<flate2::Decompress>,
    lzw: Option<weezl::decode::Decoder>,
}

impl Bench {
    /// Exactly `wanted` bytes from a packed chunk, `None` when it holds fewer or is damaged.
    fn unpack(
        &mut self,
        source: &Source<'_>,
        packing: Packing,
        at: usize,
        length: usize,
        wanted: usize,
    ) -> Result<Option<&mut [u8]>, FormatError> {
        if packing == Packing::None {
            if length < wanted {
                return Ok(None);
            }
            let raw = sized(&mut self.raw, wanted);
            return Ok(source.fill(at, raw)?.then_some(raw));
        }
        if wanted / MOST_BYTES_PER_PACKED_BYTE > length {
            return Ok(None);
        }
        // No packer makes twice as much of its input. Many chunks that each claim the whole file would cost long reading.
        let length = length.min(2 * wanted + 4096);
        let Some(packed) = source.view(at, length, &mut self.packed)? else { return Ok(None) };
        let raw = sized(&mut self.raw, wanted);
        let done = match packing {
            Packing::None => true,
            Packing::Deflate => inflate(&mut self.inflate, packed, raw),
            Packing::Lzw => unpack_lzw(&mut self.lzw, packed, raw),
            Packing::PackBits => unpack_bits(packed, raw).is_some(),
        };
        Ok(done.then_some(raw))
    }
}

fn inflate(decoder: &mut Option<flate2::Decompress>, packed: &[u8], raw: &mut [u8]) -> bool {
    let decoder = decoder.get_or_insert_with(|| flate2::Decompress::new(true));
    decoder.reset(true);
    let done = decoder.decompress(packed, raw, flate2::FlushDecompress::Finish);
    done.is_ok() && decoder.total_out() == raw.len() as u64
}

fn unpack_lzw(decoder: &mut Option<weezl::decode::Decoder>, packed: &[u8], raw: &mut [u8]) -> bool {
    let decoder =
        decoder.get_or_insert_with(|| weezl::decode::Decoder::with_tiff_size_switch(weezl::BitOrder::Msb, 8));
    decoder.reset();
    let (mut read, mut written) = (0, 0);
    while written < raw.len() {
        let step = decoder.decode_bytes(&packed[read..], &mut raw[written..]);
        let idle = step.consumed_in == 0 && step.consumed_out == 0;
        (read, written) = (read + step.consumed_in, written + step.consumed_out);
        if written < raw.len() && (idle || matches!(step.status, Ok(weezl::LzwStatus::Done) | Err(_))) {
            return false;
        }
    }
    true
}

fn unpack_bits(packed: &[u8], raw: &mut [u8]) -> Option<()> {
    let (mut read, mut written) = (0, 0);
    while written < raw.len() {
        let head = *packed.get(read)? as i8;
        read += 1;
        if head >= 0 {
            let run = head as usize + 1;
            let run_fits = run.min(raw.len() - written);
            raw[written..][..run_fits].copy_from_slice(packed.get(read..read + run)?.get(..run_fits)?);
            (read, written) = (read + run, written + run_fits);
        } else if head != -128 {
            let run = (1 - isize::from(head)) as usize;
            let run_fits = run.min(raw.len() - written);
            raw[written..][..run_fits].fill(*packed.get(read)?);
            (read, written) = (read + 1, written + run_fits);
        }
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::super::container::{Field, head};
    use super::*;

    /// A file of 3 x 5 floats that count up, in strips of two rows, which lie in the file in this order.
    fn strips(order: [usize; 3]) -> Vec<u8> {
        let value = |i: usize| (i as f32).to_le_bytes();
        let strip = |i: usize| -> Vec<u8> { (i * 6..15.min(i * 6 + 6)).flat_map(value).collect() };
        let lengths = [24, 24, 12];
        let with = |offsets: Vec<u64>| {
            let fields = [
                (tag::WIDTH, Field::Words(vec![3])),
                (tag::HEIGHT, Field::Words(vec![5])),
                (tag::BITS, Field::Shorts(vec![32])),
                (tag::STRIP_OFFSETS, Field::Words(offsets)),
                (tag::ROWS_PER_STRIP, Field::Words(vec![2])),
                (tag::STRIP_BYTES, Field::Words(lengths.to_vec())),
                (tag::SAMPLE_FORMAT, Field::Shorts(vec![3])),
            ];
            head(&fields, &[])
        };
        let mut offsets = vec![0; 3];
        let mut at = with(offsets.clone()).len() as u64;
        for i in order {
            offsets[i] = at;
            at += lengths[i];
        }
        [with(offsets), order.map(strip).concat()].concat()
    }

    #[test]
    fn strips_that_follow_one_another_are_cut_anew_and_others_are_read_as_they_lie() {
        for (order, long) in [([0, 1, 2], true), ([2, 0, 1], false), ([1, 0, 2], false)] {
            let file = strips(order);
            let directory = Directory::read(Source::Memory(&file)).unwrap();
            let image = Image::read(&directory, &Limits::default()).unwrap();
            assert_eq!(image.offsets.len(), if long { 1 } else { 3 }, "{order:?}");
            let counted: Vec<f32> = (0..15).map(|i| i as f32).collect();
            assert_eq!(image.heights().unwrap(), counted, "{order:?}");
        }
    }

    #[test]
    fn a_strip_that_is_cut_off_is_named() {
        let file = strips([0, 1, 2]);
        let message = decode(&file[..file.len() - 1], &Limits::default()).unwrap_err().to_string();
        assert!(message.contains("strip or tile 2 should end at byte"), "{message}");
    }
}
