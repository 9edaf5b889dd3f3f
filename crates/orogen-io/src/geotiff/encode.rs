//! From a layer to the bytes of a GeoTIFF.

use std::fmt::Write as _;
use std::io::{self, Write};

use orogen_core::{Frame, Raster};
use rayon::prelude::*;

use super::container::{self, Field};
use super::place::Place;
use super::tag;
use crate::about::{About, SOFTWARE, nodata_value};
use crate::deflate::Packer;
use crate::watched::check;

/// Bytes of samples in a strip: few enough to share strips out among threads, enough to pack well.
const STRIP_BYTES: usize = 1 << 17;

/// Strips that are packed before the writer is asked whether to go on.
const STRIPS: usize = 256;

/// Deflate level: most of what higher levels gain on terrain is the predictor's doing already.
const LEVEL: u32 = 1;

/// How samples are packed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Compression {
    /// Not at all: large files, as quick to write as the disk is.
    None,
    /// By deflate, floats with the predictor that is made for them: every program reads it.
    #[default]
    Deflate,
}

/// A float GeoTIFF; holes (NaN) become the file's nodata value, -9999 unless a sample has that value.
///
/// # Panics
/// When the raster does not match the shape of the frame.
#[must_use]
pub fn encode_f32(raster: &Raster<f32>, frame: &Frame, about: &About<'_>) -> Vec<u8> {
    encode_f32_at(raster, &place_of(raster, frame), about)
}

/// As [`encode_f32`], at a place in other coordinates.
#[must_use]
pub fn encode_f32_at(raster: &Raster<f32>, place: &Place, about: &About<'_>) -> Vec<u8> {
    in_memory(|out| write_f32_at(out, raster, raster.range(), place, about, Compression::default()))
}

/// A byte GeoTIFF, for ids; every value is valid.
///
/// # Panics
/// When the raster does not match the shape of the frame.
#[must_use]
pub fn encode_u8(raster: &Raster<u8>, frame: &Frame, about: &About<'_>) -> Vec<u8> {
    encode_u8_at(raster, &place_of(raster, frame), None, about)
}

/// As [`encode_u8`], at a place in other coordinates; `nodata` is the value that stands for a hole.
#[must_use]
pub fn encode_u8_at(raster: &Raster<u8>, place: &Place, nodata: Option<u8>, about: &About<'_>) -> Vec<u8> {
    in_memory(|out| write_u8_at(out, raster, place, nodata, about, Compression::default()))
}

fn in_memory(write: impl FnOnce(&mut Vec<u8>) -> io::Result<()>) -> Vec<u8> {
    let mut out = Vec::new();
    let written = write(&mut out);
    debug_assert!(written.is_ok(), "writing to memory cannot fail: {written:?}");
    out
}

/// Writes what [`encode_f32_at`] gives, in large pieces and without holding the whole of it; `range` is that of the raster.
///
/// # Errors
/// When `out` takes no more.
pub fn write_f32_at(
    out: &mut dyn Write,
    raster: &Raster<f32>,
    range: Option<(f32, f32)>,
    place: &Place,
    about: &About<'_>,
    compression: Compression,
) -> io::Result<()> {
    let nodata = nodata_value(raster.as_slice(), range);
    let range = range.map(|(low, high)| (f64::from(low), f64::from(high)));
    let mut image = Image { bits: 32, format: 3, predictor: 1, nodata: Some(nodata), range, compression };
    match compression {
        Compression::None => {
            write_head(out, raster, place, about, &image, &plain_strips(raster, 4))?;
            write_floats(out, raster.as_slice(), nodata)
        }
        Compression::Deflate => {
            image.predictor = 3;
            let strips = pack(out, raster, 4, |row, out| predict(row, nodata, out))?;
            write_packed(out, raster, place, about, &image, &strips)
        }
    }
}

/// Writes what [`encode_u8_at`] gives.
///
/// # Errors
/// When `out` takes no more.
pub fn write_u8_at(
    out: &mut dyn Write,
    raster: &Raster<u8>,
    place: &Place,
    nodata: Option<u8>,
    about: &About<'_>,
    compression: Compression,
) -> io::Result<()> {
    let range = range_of_bytes(raster.as_slice(), nodata);
    let nodata = nodata.map(f32::from);
    let image = Image { bits: 8, format: 1, predictor: 1, nodata, range, compression };
    match compression {
        Compression::None => {
            write_head(out, raster, place, about, &image, &plain_strips(raster, 1))?;
            out.write_all(raster.as_slice())
        }
        Compression::Deflate => {
            let strips = pack(out, raster, 1, |row, out| out.copy_from_slice(row))?;
            write_packed(out, raster, place, about, &image, &strips)
        }
    }
}

/// Smallest and largest byte that is not a hole.
fn range_of_bytes(values: &[u8], nodata: Option<u8>) -> Option<(f64, f64)> {
    // Holes count as whatever changes nothing; without any, 0 counts as itself.
    let (hole, as_low, as_high) = nodata.map_or((0, 0, 0), |hole| (hole, u8::MAX, 0));
    let part = |values: &[u8]| {
        // Ranges side by side become vector code.
        let (mut low, mut high) = ([u8::MAX; 64], [0; 64]);
        let (groups, rest) = values.as_chunks::<64>();
        for group in groups {
            for i in 0..64 {
                low[i] = low[i].min(if group[i] == hole { as_low } else { group[i] });
                high[i] = high[i].max(if group[i] == hole { as_high } else { group[i] });
            }
        }
        for &v in rest {
            low[0] = low[0].min(if v == hole { as_low } else { v });
            high[0] = high[0].max(if v == hole { as_high } else { v });
        }
        (low.into_iter().fold(u8::MAX, u8::min), high.into_iter().fold(0, u8::max))
    };
    let parts = values.par_chunks(1 << 16).map(part);
    let (low, high) = parts.reduce(|| (u8::MAX, 0), |a, b| (a.0.min(b.0), a.1.max(b.1)));
    (low <= high).then(|| (f64::from(low), f64::from(high)))
}

/// The bytes of floats in the order of the file, holes as their value.
fn write_floats(out: &mut dyn Write, values: &[f32], nodata: f32) -> io::Result<()> {
    let mut buffer = Vec::new();
    for piece in values.chunks(STRIP_BYTES / 2) {
        let holes = piece.iter().fold(false, |holes, v| holes | v.is_nan());
        if cfg!(target_endian = "little") && !holes {
            out.write_all(bytemuck::cast_slice(piece))?;
            continue;
        }
        buffer.clear();
        let filled = piece.iter().map(|v| if v.is_nan() { nodata } else { *v });
        buffer.extend(filled.flat_map(f32::to_le_bytes));
        out.write_all(&buffer)?;
    }
    Ok(())
}

/// A row in the form that packs best: byte planes, most significant first, each byte as the difference from the one before.
fn predict(row: &[f32], nodata: f32, out: &mut [u8]) {
    let (cols, mut last) = (row.len(), 0u8);
    for plane in 0..4 {
        for (out, &value) in out[plane * cols..][..cols].iter_mut().zip(row) {
            let value = if value.is_nan() { nodata } else { value };
            let byte = value.to_be_bytes()[plane];
            *out = byte.wrapping_sub(last);
            last = byte;
        }
    }
}

/// The place of a raster on its frame.
fn place_of<T>(raster: &Raster<T>, frame: &Frame) -> Place {
    assert_eq!(
        (raster.cols(), raster.rows()),
        (frame.cols(), frame.rows()),
        "the layer does not match the frame"
    );
    Place::local([frame.x_m(0), frame.y_m(0)], frame.spacing_m())
}

/// What the tags say of the samples.
struct Image {
    bits: u16,
    format: u16,
    predictor: u16,
    nodata: Option<f32>,
    range: Option<(f64, f64)>,
    compression: Compression,
}

/// Rows of a strip.
fn rows_each<T>(raster: &Raster<T>, size: usize) -> usize {
    (STRIP_BYTES / (raster.cols() * size)).max(1)
}

/// The lengths of strips of samples that are not packed.
fn plain_strips<T>(raster: &Raster<T>, size: usize) -> Vec<u64> {
    let each = rows_each(raster, size);
    let rows = (0..raster.rows()).step_by(each).map(|row| each.min(raster.rows() - row));
    rows.map(|rows| (rows * raster.cols() * size) as u64).collect()
}

/// Packs strips of rows, each row as `fill` lays it out. Nothing is written before all are packed, but `out` says whether to
/// go on.
fn pack<T: Copy + Send + Sync>(
    out: &mut dyn Write,
    raster: &Raster<T>,
    size: usize,
    fill: impl Fn(&[T], &mut [u8]) + Sync,
) -> io::Result<Vec<Vec<u8>>> {
    let row_bytes = raster.cols() * size;
    let strip = raster.cols() * rows_each(raster, size);
    let mut packed = Vec::new();
    for batch in raster.as_slice().chunks(strip * STRIPS) {
        check(out)?;
        packed.par_extend(batch.par_chunks(strip).map_init(
            || (Packer::new(LEVEL), vec![0; strip.min(batch.len()) * size]),
            |(packer, raw), strip| {
                let raw = &mut raw[..strip.len() * size];
                for (row, out) in strip.chunks(raster.cols()).zip(raw.chunks_mut(row_bytes)) {
                    fill(row, out);
                }
                packer.zlib(raw)
            },
        ));
    }
    Ok(packed)
}

fn write_packed<T>(
    out: &mut dyn Write,
    raster: &Raster<T>,
    place: &Place,
    about: &About<'_>,
    image: &Image,
    strips: &[Vec<u8>],
) -> io::Result<()> {
    let lengths: Vec<u64> = strips.iter().map(|strip| strip.len() as u64).collect();
    write_head(out, raster, place, about, image, &lengths)?;
    strips.iter().try_for_each(|strip| out.write_all(strip))
}

/// All but the strips, which are so long.
fn write_head<T>(
    out: &mut dyn Write,
    raster: &Raster<T>,
    place: &Place,
    about: &About<'_>,
    image: &Image,
    strips: &[u64],
) -> io::Result<()> {
    let compression = match image.compression {
        Compression::None => 1,
        Compression::Deflate => 8,
    };
    let rows_each = rows_each(raster, usize::from(image.bits) / 8);
    let mut fields = vec![
        (tag::WIDTH, Field::Words(vec![raster.cols() as u64])),
        (tag::HEIGHT, Field::Words(vec![raster.rows() as u64])),
        (tag::BITS, Field::Shorts(vec![image.bits])),
        (tag::COMPRESSION, Field::Shorts(vec![compression])),
        (tag::PHOTOMETRIC, Field::Shorts(vec![1])),
        (tag::STRIP_OFFSETS, Field::ChunkOffsets),
        (tag::SAMPLES_PER_PIXEL, Field::Shorts(vec![1])),
        (tag::ROWS_PER_STRIP, Field::Words(vec![rows_each as u64])),
        (tag::STRIP_BYTES, Field::ChunkLengths),
        (tag::PLANAR, Field::Shorts(vec![1])),
        (tag::SOFTWARE, Field::Text(SOFTWARE.to_owned())),
        (tag::PREDICTOR, Field::Shorts(vec![image.predictor])),
        (tag::SAMPLE_FORMAT, Field::Shorts(vec![image.format])),
    ];
    fields.extend(place.fields());
    fields.push((tag::GDAL_METADATA, Field::Text(metadata(about, image.range))));
    if let Some(nodata) = image.nodata {
        fields.push((tag::GDAL_NODATA, Field::Text(format!("{nodata}"))));
    }
    out.write_all(&container::head(&fields, strips))
}

/// Name, unit, seed and range in the form that GDAL and QGIS show.
fn metadata(about: &About<'_>, range: Option<(f64, f64)>) -> String {
    let mut xml = String::from("<GDALMetadata>\n");
    let mut item = |attributes: &str, text: &str| {
        // GDAL escapes values before it makes XML of them, so they are escaped twice. Writing to a string cannot fail.
        let _ = writeln!(xml, "  <Item {attributes}>{}</Item>", escaped(&escaped(text)));
    };
    item("name=\"DESCRIPTION\" sample=\"0\" role=\"description\"", about.layer);
    if !about.unit.is_empty() {
        item("name=\"UNITTYPE\" sample=\"0\" role=\"unittype\"", about.unit);
    }
    if let Some((low, high)) = range {
        item("name=\"STATISTICS_MINIMUM\" sample=\"0\"", &low.to_string());
        item("name=\"STATISTICS_MAXIMUM\" sample=\"0\"", &high.to_string());
    }
    if !about.seed.is_empty() {
        item("name=\"OROGEN_SEED\"", about.seed);
    }
    xml.push_str("</GDALMetadata>\n");
    xml
}

/// Text for XML; what XML cannot hold at all becomes a question mark.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '\t' | '\n' => out.push(' '),
            c if c.is_control() => out.push('?'),
            c => out.push(c),
        }
    }
    out
}
