//! From the bytes of a GeoTIFF to an elevation model.

use std::fs::File;

use orogen_core::{Elevation, Georeference, Raster};
use rayon::prelude::*;

use super::container::Directory;
use super::earth::georeference;
use super::georef::Georef;
use super::mask;
use super::meaning::Meaning;
use super::place::Place;
use super::source::Source;
use super::unpack::{Bench, Chunk, Packing};
use super::{FORMAT, tag};
use crate::error::FormatError;
use crate::limits::Limits;

/// A missing tile costs some bytes of the lists of tiles, and stands for at most so many bytes of samples for each of them:
/// 512 x 512 doubles for 8 bytes.
const MOST_BYTES_PER_LISTED_BYTE: usize = 1 << 18;

/// Values of [`tag::PHOTOMETRIC`].
const GREY: u64 = 1;
const RGB: u64 = 2;

/// What [`tag::SAMPLES_PER_PIXEL`] can say.
const MOST_BANDS: u64 = 65535;

/// Bytes of samples that a thread reads at a time, where the file leaves the choice: they stay in its cache until they
/// are heights.
const PIECE_BYTES: usize = 1 << 18;

/// An elevation model from the bytes of a GeoTIFF; the [module](super) says what is read.
///
/// # Errors
/// When the bytes are not a TIFF, use something that is not read here, or declare a grid beyond the limits.
pub fn decode(bytes: &[u8], limits: &Limits) -> Result<Elevation, FormatError> {
    decode_placed(bytes, limits).map(|(elevation, _)| elevation)
}

/// As [`decode`], with the place in the file's own coordinates; `None` when the file does not say.
///
/// # Errors
/// As [`decode`].
pub fn decode_placed(bytes: &[u8], limits: &Limits) -> Result<(Elevation, Option<Place>), FormatError> {
    decode_band(bytes, None, limits)
}

/// As [`decode_placed`], from one of several bands, counted from 1; `None` is the first one of an image without colours.
///
/// # Errors
/// As [`decode`], and when there is no such band.
pub fn decode_band(
    bytes: &[u8],
    band: Option<u32>,
    limits: &Limits,
) -> Result<(Elevation, Option<Place>), FormatError> {
    decode_from(Source::Memory(bytes), band, limits)
}

/// As [`decode_placed`], from a file that is open: threads read their own parts of it, and samples that are not packed
/// go straight into the raster.
///
/// # Errors
/// As [`decode`], and when the disk fails.
pub fn decode_file(file: &File, limits: &Limits) -> Result<(Elevation, Option<Place>), FormatError> {
    decode_file_band(file, None, limits)
}

/// As [`decode_file`], from one of several bands as [`decode_band`] takes them.
///
/// # Errors
/// As [`decode_file`], and when there is no such band.
pub fn decode_file_band(
    file: &File,
    band: Option<u32>,
    limits: &Limits,
) -> Result<(Elevation, Option<Place>), FormatError> {
    decode_from(Source::disk(file)?, band, limits)
}

/// Where a file lies on Earth, from its tags alone; `None` where it does not say where its samples are.
///
/// # Errors
/// As [`decode_file`].
pub fn georeference_of_file(file: &File) -> Result<Option<Georeference>, FormatError> {
    let directory = Directory::read(Source::disk(file)?)?;
    let side = |tag| -> Result<usize, FormatError> {
        Ok(usize::try_from(directory.whole_number(tag, None)?).unwrap_or(usize::MAX).max(1))
    };
    let shape = [side(tag::WIDTH)?, side(tag::HEIGHT)?];
    let georef = Georef::read(&directory, shape[1], None)?;
    Ok(georef.place.map(|place| georeference(&place, shape)))
}

fn decode_from(
    source: Source<'_>,
    band: Option<u32>,
    limits: &Limits,
) -> Result<(Elevation, Option<Place>), FormatError> {
    let directory = Directory::read(source)?;
    let mut image = Image::read(&directory, band, limits)?;
    let georef = Georef::read(&directory, image.rows, image.meaning.unit_m)?;
    image.meaning.unit_m = Some(georef.height_unit_m);
    let mut heights = image.heights()?;
    mask::apply(&directory, [image.cols, image.rows], limits, &mut heights)?;
    if georef.south_up {
        let (mut top, mut bottom) = (0, image.rows - 1);
        while top < bottom {
            let (north, south) = heights.split_at_mut(bottom * image.cols);
            north[top * image.cols..][..image.cols].swap_with_slice(&mut south[..image.cols]);
            (top, bottom) = (top + 1, bottom - 1);
        }
    }
    let height = Raster::from_vec(image.cols, image.rows, heights)
        .ok_or_else(|| FormatError::broken(FORMAT, "its grid is empty"))?;
    let elevation = Elevation { height, spacing_m: georef.spacing_m, north_west_m: georef.north_west_m };
    Ok((elevation, georef.place))
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum SampleKind {
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
    pub fn bytes(self) -> usize {
        match self {
            Self::U8 | Self::I8 => 1,
            Self::U16 | Self::I16 => 2,
            Self::U32 | Self::I32 | Self::F32 => 4,
            Self::F64 => 8,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Predictor {
    None,
    Horizontal,
    Float,
}

/// How the samples of an image lie in its file.
pub(super) struct Image<'a> {
    source: &'a Source<'a>,
    little_endian: bool,
    cols: usize,
    rows: usize,
    kind: SampleKind,
    packing: Packing,
    predictor: Predictor,
    /// The number that stands for a hole, NaN where there is none.
    nodata: f64,
    meaning: Meaning,
    /// Tiles that are missing are holes where the file has a value for holes, else level ground.
    missing: f32,
    /// Samples from one pixel to the next within a chunk: the number of bands when they are interleaved.
    stride: usize,
    /// Which of them is the height, counted from 0.
    band: usize,
    /// Columns and rows of a chunk (a strip or a tile).
    chunk_cols: usize,
    chunk_rows: usize,
    chunks_across: usize,
    /// Tiles are padded to their full height, strips are not.
    tiled: bool,
    offsets: Vec<u64>,
    lengths: Vec<u64>,
    limits: Limits,
}

pub(super) fn unsupported(found: String, allowed: &'static str) -> FormatError {
    FormatError::Unsupported { format: FORMAT, found, allowed }
}

fn broken(reason: impl Into<String>) -> FormatError {
    FormatError::broken(FORMAT, reason)
}

/// What the samples of an image are, wherever they lie in the file.
pub(super) struct Samples {
    kind: SampleKind,
    predictor: Predictor,
    nodata: Option<f64>,
    meaning: Meaning,
    bands: usize,
    /// The band to read, counted from 0.
    band: usize,
    /// Bands lie one after the other instead of sample by sample.
    planar: bool,
    /// Samples that share a byte, which is then read as one sample.
    per_byte: u64,
}

impl Samples {
    /// The first band of a mask.
    pub fn of_mask(bands: usize, planar: bool, per_byte: usize) -> Self {
        Self {
            kind: SampleKind::U8,
            predictor: Predictor::None,
            nodata: None,
            meaning: Meaning { unit_m: Some(1.0), ..Meaning::PLAIN },
            bands,
            band: 0,
            planar,
            per_byte: per_byte as u64,
        }
    }
}

impl<'a> Image<'a> {
    fn read(directory: &'a Directory<'a>, band: Option<u32>, limits: &Limits) -> Result<Self, FormatError> {
        let (width, height) =
            (directory.whole_number(tag::WIDTH, None)?, directory.whole_number(tag::HEIGHT, None)?);
        limits.samples(FORMAT, width, height)?;

        let bands = directory.whole_number(tag::SAMPLES_PER_PIXEL, Some(1))?;
        if !(1..=MOST_BANDS).contains(&bands) {
            return Err(unsupported(format!("{bands} bands"), "1 to 65535"));
        }
        let photometric = directory.whole_number(tag::PHOTOMETRIC, Some(GREY))?;
        let numbers = photometric == GREY || photometric == RGB && band.is_some();
        if !numbers {
            return Err(unsupported(
                format!("{bands} bands of colour model {photometric}"),
                "a grey image (colour model 1), or one band of an RGB image (2) that is named",
            ));
        }
        let band = band.unwrap_or(1);
        if !(1..=bands).contains(&u64::from(band)) {
            return Err(FormatError::NoBand { band, bands });
        }
        let band = band as usize - 1;
        let meaning = Meaning::read(directory, band)?;
        let planar = directory.whole_number(tag::PLANAR, Some(1))? == 2;
        let kind = sample_kind(directory)?;
        let predictor = match directory.whole_number(tag::PREDICTOR, Some(1))? {
            1 => Predictor::None,
            2 => Predictor::Horizontal,
            3 if matches!(kind, SampleKind::F32 | SampleKind::F64) => Predictor::Float,
            other => return Err(unsupported(format!("predictor {other}"), "1, 2, or 3 with floats")),
        };
        let nodata = directory.text(tag::GDAL_NODATA)?.and_then(|text| text.trim().parse().ok());
        let bands = bands as usize;
        let samples = Samples { kind, predictor, nodata, meaning, bands, band, planar, per_byte: 1 };
        Self::lay_out(directory, &samples, limits)
    }

    /// How samples lie in the file, as the directory says.
    pub fn lay_out(
        directory: &'a Directory<'a>,
        samples: &Samples,
        limits: &Limits,
    ) -> Result<Self, FormatError> {
        let &Samples { kind, predictor, nodata, meaning, bands, band, planar, per_byte } = samples;
        let width = directory.whole_number(tag::WIDTH, None)?.div_ceil(per_byte);
        let height = directory.whole_number(tag::HEIGHT, None)?;
        limits.samples(FORMAT, width, height)?;
        let (cols, rows) = (width as usize, height as usize);
        let packing = Packing::read(directory)?;
        // Bands that lie one after the other in planes have their own strips or tiles.
        let (stride, band, plane) = if planar { (1, 0, band) } else { (bands, band, 0) };

        let tiled = directory.count(tag::TILE_OFFSETS) > 0;
        let (chunk_width, chunk_height, offsets, lengths) = if tiled {
            let tile = [tag::TILE_WIDTH, tag::TILE_HEIGHT].map(|tag| directory.whole_number(tag, None));
            let [tile_width, tile_height] = tile;
            (tile_width?.div_ceil(per_byte), tile_height?, tag::TILE_OFFSETS, tag::TILE_BYTES)
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
        // Tiles are multiples of 16 samples, so that little beyond the grid is nobody's fault.
        let rounded = |size: u64| size + size / 16 + 16;
        let max_samples = limits.max_samples.max(rounded(width).saturating_mul(rounded(height)));
        Limits { max_samples, ..*limits }.samples(FORMAT, padded_width, padded_height)?;
        let (chunk_cols, chunk_rows) = (chunk_width as usize, chunk_height as usize);
        let chunks_across = cols.div_ceil(chunk_cols);
        let chunks = chunks_across * rows.div_ceil(chunk_rows);

        let listed = |tag: u16| -> Result<Vec<u64>, FormatError> {
            let most = chunks.saturating_mul(plane + 1);
            let mut list = directory.first_whole_numbers(tag, most)?.unwrap_or_default();
            list.drain(..(chunks * plane).min(list.len()));
            Ok(list)
        };
        let (offsets, lengths) = (listed(offsets)?, listed(lengths)?);
        if offsets.len() < chunks || lengths.len() < chunks {
            return Err(broken(format!(
                "a grid of {cols} x {rows} samples needs {chunks} strips or tiles, but it lists {}",
                offsets.len().min(lengths.len())
            )));
        }
        let mut image = Self {
            source: &directory.source,
            little_endian: directory.little_endian,
            cols,
            rows,
            kind,
            packing,
            predictor,
            nodata: nodata.unwrap_or(f64::NAN),
            meaning,
            missing: if nodata.is_some() { f32::NAN } else { 0.0 },
            stride,
            band,
            chunk_cols,
            chunk_rows,
            chunks_across,
            tiled,
            offsets,
            lengths,
            limits: *limits,
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
    pub fn heights(&self) -> Result<Vec<f32>, FormatError> {
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
        let listed = if sparse { MOST_BYTES_PER_LISTED_BYTE } else { 1 };
        let most = self.packing.most_bytes_per_packed_byte().max(listed);
        if self.source.len().saturating_mul(most) < self.cols * self.rows * self.kind.bytes() {
            return Err(self.cannot_hold());
        }
        self.check_first_chunk()?;
        self.limits.memory(self.cols * self.rows, self.unpacking_bytes())
    }

    /// A few bytes of LERC can stand for any number of samples, but say for how many: the first chunk speaks for all.
    fn check_first_chunk(&self) -> Result<(), FormatError> {
        let Packing::Lerc(_) = self.packing else { return Ok(()) };
        let Some(first) = self.lengths.iter().position(|&length| length > 0) else { return Ok(()) };
        let (Ok(at), Ok(length)) =
            (usize::try_from(self.offsets[first]), usize::try_from(self.lengths[first]))
        else {
            return Ok(());
        };
        let top = first / self.chunks_across * self.chunk_rows;
        let chunk = self.chunk(self.chunk_rows.min(self.rows - top));
        // What it is wrapped in is unpacked for that.
        let unwrapped =
            length.saturating_mul(Packing::Zstd.most_bytes_per_packed_byte()).min(chunk.most_packed());
        self.limits.memory(self.cols * self.rows, unwrapped as u64)?;
        if Bench::default().fits(self.source, self.packing, at, length, &chunk)? {
            Ok(())
        } else {
            Err(self.cannot_hold())
        }
    }

    /// Bytes that all threads take to unpack chunks in.
    fn unpacking_bytes(&self) -> u64 {
        let chunk = self.chunk(self.chunk_rows.min(self.rows)).bytes() as u64;
        let longest = self.lengths.iter().max().copied().unwrap_or(0).min(2 * chunk + 4096);
        let unpacked = match self.packing {
            Packing::None if self.is_as_in_memory() && !self.tiled => 0,
            // Its library gives doubles, or the numbers themselves, in a list of its own.
            Packing::Lerc(_) => 3 * chunk,
            _ => chunk,
        };
        let threads = rayon::current_num_threads().min(self.rows.div_ceil(self.chunk_rows));
        (threads as u64).saturating_mul(unpacked.saturating_add(longest))
    }

    fn cannot_hold(&self) -> FormatError {
        let (bytes, cols, rows) = (self.source.len(), self.cols, self.rows);
        broken(format!("a file of {bytes} bytes cannot hold {cols} x {rows} samples"))
    }

    /// What a chunk holds that covers so many rows of the image.
    fn chunk(&self, rows: usize) -> Chunk {
        let rows = if self.tiled { self.chunk_rows } else { rows };
        Chunk { kind: self.kind, cols: self.chunk_cols, rows, stride: self.stride }
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
                "strip or tile {index} should end at byte {}, but the file has {} bytes",
                at.saturating_add(length),
                self.source.len()
            )));
        }
        let chunk = self.chunk(rows);
        let wanted = chunk.bytes();
        let unpacked = if self.is_as_in_memory() && self.packing == Packing::None && !self.tiled {
            let whole = length >= wanted && self.source.fill(at, bytemuck::cast_slice_mut(band))?;
            whole.then(|| self.settle(band))
        } else {
            bench.unpack(self.source, self.packing, at, length, &chunk)?.map(|raw| {
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
        let native = |height: f32| {
            let bits = height.to_bits();
            f32::from_bits(if self.little_endian { u32::from_le(bits) } else { u32::from_be(bits) })
        };
        if self.is_plain() {
            let nodata = self.nodata as f32;
            heights.iter_mut().for_each(|height| *height = plain(native(*height), nodata));
        } else {
            heights.iter_mut().for_each(|height| *height = self.height(f64::from(native(*height))));
        }
    }

    /// The band of one unpacked row that is the height; `raw` is left in disorder.
    fn read_row(&self, raw: &mut [u8], out: &mut [f32]) {
        if self.is_as_in_memory() {
            let bytes: &mut [u8] = bytemuck::cast_slice_mut(out);
            bytes.copy_from_slice(&raw[..bytes.len()]);
            return self.settle(out);
        }
        match self.kind {
            SampleKind::U8 => self.read_numbers::<1>(raw, out, |b| b as u8 as f32, |b| f64::from(b as u8)),
            SampleKind::I8 => self.read_numbers::<1>(raw, out, |b| b as i8 as f32, |b| f64::from(b as i8)),
            SampleKind::U16 => self.read_numbers::<2>(raw, out, |b| b as u16 as f32, |b| f64::from(b as u16)),
            SampleKind::I16 => self.read_numbers::<2>(raw, out, |b| b as i16 as f32, |b| f64::from(b as i16)),
            // Numbers of 32 bits and doubles are compared with the hole in full.
            SampleKind::U32 => self.read_samples::<4>(raw, out, |b| self.height(f64::from(b as u32))),
            SampleKind::I32 => self.read_samples::<4>(raw, out, |b| self.height(f64::from(b as i32))),
            SampleKind::F64 => self.read_samples::<8>(raw, out, |b| self.height(f64::from_bits(b))),
            SampleKind::F32 => {
                let wide = |b: u64| f64::from(f32::from_bits(b as u32));
                self.read_numbers::<4>(raw, out, |b| f32::from_bits(b as u32), wide);
            }
        }
    }

    /// As [`Image::read_samples`], for numbers that single precision holds: quick where they are heights as they stand.
    #[inline(always)]
    fn read_numbers<const N: usize>(
        &self,
        raw: &mut [u8],
        out: &mut [f32],
        single: impl Fn(u64) -> f32 + Copy,
        double: impl Fn(u64) -> f64 + Copy,
    ) {
        if self.is_plain() {
            let nodata = self.nodata as f32;
            self.read_samples::<N>(raw, out, |bits| plain(single(bits), nodata));
        } else {
            self.read_samples::<N>(raw, out, |bits| self.height(double(bits)));
        }
    }

    /// As [`Image::read_row`], for samples of `N` bytes whose bits mean the height that `height` gives.
    #[inline(always)]
    fn read_samples<const N: usize>(
        &self,
        raw: &mut [u8],
        out: &mut [f32],
        height: impl Fn(u64) -> f32 + Copy,
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
                    *out = height(bits(bytes));
                }
            }
            Predictor::None => {
                let samples = raw.as_chunks::<N>().0.iter().skip(self.band).step_by(self.stride);
                for (out, bytes) in out.iter_mut().zip(samples) {
                    *out = height(bits(bytes));
                }
            }
            Predictor::Horizontal => {
                let mut sum = 0u64;
                let samples = raw.as_chunks::<N>().0.iter().skip(self.band).step_by(self.stride);
                for (out, bytes) in out.iter_mut().zip(samples) {
                    sum = sum.wrapping_add(bits(bytes));
                    *out = height(sum);
                }
            }
            Predictor::Float => {
                add_up(raw, self.stride);
                // The bytes of all samples lie in planes, the most significant first.
                let samples = raw.len() / N;
                let planes: [&[u8]; N] = std::array::from_fn(|plane| &raw[plane * samples..][..samples]);
                if let ([a, b, c, d], 1) = (&planes[..], self.stride) {
                    for ((((out, a), b), c), d) in out.iter_mut().zip(*a).zip(*b).zip(*c).zip(*d) {
                        *out = height(u64::from(u32::from_be_bytes([*a, *b, *c, *d])));
                    }
                    return;
                }
                for (i, out) in out.iter_mut().enumerate() {
                    let mut bits = 0;
                    for plane in planes {
                        bits = bits << 8 | u64::from(plane[i * self.stride + self.band]);
                    }
                    *out = height(bits);
                }
            }
        }
    }

    /// Whether numbers are heights as they stand.
    fn is_plain(&self) -> bool {
        self.meaning.scale == 1.0 && self.meaning.offset == 0.0 && self.meaning.unit_m.unwrap_or(1.0) == 1.0
    }

    /// The height in metres that a number stands for.
    #[inline(always)]
    fn height(&self, number: f64) -> f32 {
        // Files often write the value of a hole with fewer digits than they keep of it.
        let hole = match self.kind {
            SampleKind::F32 => number as f32 == self.nodata as f32,
            SampleKind::F64 => (number - self.nodata).abs() <= 1e-12 * self.nodata.abs(),
            _ => number == self.nodata,
        };
        let Meaning { scale, offset, unit_m } = self.meaning;
        let height = ((number * scale + offset) * unit_m.unwrap_or(1.0)) as f32;
        if height.is_finite() && !hole { height } else { f32::NAN }
    }
}

/// A height as it stands, or a hole.
#[inline(always)]
fn plain(value: f32, nodata: f32) -> f32 {
    if value.is_finite() && value != nodata { value } else { f32::NAN }
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

#[cfg(test)]
mod tests {
    use super::super::container::{Field, head_of_one};
    use super::*;

    /// A file of 3 x 5 floats that count up, in strips of two rows, which lie in the file in this order.
    fn strips(order: [usize; 3]) -> Vec<u8> {
        let value = |i: usize| (i as f32).to_le_bytes();
        let strip = |i: usize| -> Vec<u8> { (i * 6..15.min(i * 6 + 6)).flat_map(value).collect() };
        let lengths = [24, 24, 12];
        let with = |offsets: Vec<u64>| {
            let fields = vec![
                (tag::WIDTH, Field::Words(vec![3])),
                (tag::HEIGHT, Field::Words(vec![5])),
                (tag::BITS, Field::Shorts(vec![32])),
                (tag::STRIP_OFFSETS, Field::Words(offsets)),
                (tag::ROWS_PER_STRIP, Field::Words(vec![2])),
                (tag::STRIP_BYTES, Field::Words(lengths.to_vec())),
                (tag::SAMPLE_FORMAT, Field::Shorts(vec![3])),
            ];
            head_of_one(fields, &[])
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
            let image = Image::read(&directory, None, &Limits::default()).unwrap();
            assert_eq!(image.offsets.len(), if long { 1 } else { 3 }, "{order:?}");
            let counted: Vec<f32> = (0..15).map(|i| i as f32).collect();
            assert_eq!(image.heights().unwrap(), counted, "{order:?}");
        }
    }

    #[test]
    fn a_large_file_whose_tiles_are_all_missing_is_read_as_holes() {
        let fields = vec![
            (tag::WIDTH, Field::Words(vec![4096])),
            (tag::HEIGHT, Field::Words(vec![4096])),
            (tag::BITS, Field::Shorts(vec![32])),
            (tag::TILE_WIDTH, Field::Words(vec![512])),
            (tag::TILE_HEIGHT, Field::Words(vec![512])),
            (tag::TILE_OFFSETS, Field::Words(vec![0; 64])),
            (tag::TILE_BYTES, Field::Words(vec![0; 64])),
            (tag::SAMPLE_FORMAT, Field::Shorts(vec![3])),
            (tag::GDAL_NODATA, Field::Text(String::from("-9999"))),
        ];
        let model = decode(&head_of_one(fields, &[]), &Limits::default()).unwrap();
        assert_eq!((model.height.cols(), model.height.range()), (4096, None));
    }

    #[test]
    fn a_number_near_the_hole_is_no_hole() {
        let values = [-9999.0f64, -9999.0001, 1e-50, 5.0];
        let file = |nodata: &str| {
            let fields = vec![
                (tag::WIDTH, Field::Words(vec![4])),
                (tag::HEIGHT, Field::Words(vec![1])),
                (tag::BITS, Field::Shorts(vec![64])),
                (tag::STRIP_OFFSETS, Field::ChunkOffsets),
                (tag::STRIP_BYTES, Field::ChunkLengths),
                (tag::SAMPLE_FORMAT, Field::Shorts(vec![3])),
                (tag::GDAL_NODATA, Field::Text(nodata.to_owned())),
            ];
            [head_of_one(fields, &[32]), values.map(f64::to_le_bytes).concat()].concat()
        };
        let holes = |nodata: &str| {
            let model = decode(&file(nodata), &Limits::default()).unwrap();
            model.height.as_slice().iter().map(|h| h.is_nan()).collect::<Vec<_>>()
        };
        assert_eq!(holes("-9999"), [true, false, false, false]);
        assert_eq!(holes("0"), [false; 4]);
    }

    #[test]
    fn a_strip_that_is_cut_off_is_named() {
        let file = strips([0, 1, 2]);
        let message = decode(&file[..file.len() - 1], &Limits::default()).unwrap_err().to_string();
        assert!(message.contains("strip or tile 2 should end at byte"), "{message}");
    }
}
