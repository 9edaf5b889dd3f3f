//! From a layer to the bytes of a GeoTIFF.

use std::fmt::Write;

use orogen_core::{Frame, Raster};
use rayon::prelude::*;

use super::container::{self, Field};
use super::place::Place;
use super::tag;
use crate::about::{About, SOFTWARE, nodata_value};

/// Bytes of samples in a strip: few enough to share strips out among threads, enough to pack well.
const STRIP_BYTES: usize = 1 << 17;

/// Deflate level: most of what higher levels gain on terrain is the predictor's doing already.
const LEVEL: u32 = 1;

const DEFLATE: u16 = 8;

/// A float GeoTIFF; holes (NaN) become the file's nodata value, -9999 unless a sample has that value.
///
/// # Panics
/// When the raster has not the shape of the frame.
#[must_use]
pub fn encode_f32(raster: &Raster<f32>, frame: &Frame, about: &About<'_>) -> Vec<u8> {
    encode_f32_at(raster, &place_of(raster, frame), about)
}

/// As [`encode_f32`], at a place in other coordinates.
#[must_use]
pub fn encode_f32_at(raster: &Raster<f32>, place: &Place, about: &About<'_>) -> Vec<u8> {
    let nodata = nodata_value(raster.as_slice());
    let strips = pack(raster, 4, |row, out| {
        // Byte planes, most significant first, each byte as the difference from the one before.
        let (cols, mut last) = (row.len(), 0u8);
        for plane in 0..4 {
            for (out, &value) in out[plane * cols..][..cols].iter_mut().zip(row) {
                let value = if value.is_nan() { nodata } else { value };
                let byte = value.to_be_bytes()[plane];
                *out = byte.wrapping_sub(last);
                last = byte;
            }
        }
    });
    let samples = Samples { bits: 32, format: 3, predictor: 3, nodata: Some(nodata) };
    let range = raster.range().map(|(low, high)| (f64::from(low), f64::from(high)));
    write(raster, place, about, &samples, range, strips)
}

/// A byte GeoTIFF, for ids; every value is valid.
///
/// # Panics
/// When the raster has not the shape of the frame.
#[must_use]
pub fn encode_u8(raster: &Raster<u8>, frame: &Frame, about: &About<'_>) -> Vec<u8> {
    encode_u8_at(raster, &place_of(raster, frame), None, about)
}

/// As [`encode_u8`], at a place in other coordinates; `nodata` is the value that stands for a hole.
#[must_use]
pub fn encode_u8_at(raster: &Raster<u8>, place: &Place, nodata: Option<u8>, about: &About<'_>) -> Vec<u8> {
    let strips = pack(raster, 1, |row, out| out.copy_from_slice(row));
    let samples = Samples { bits: 8, format: 1, predictor: 1, nodata: nodata.map(f32::from) };
    let valid = || raster.as_slice().iter().filter(|&&value| Some(value) != nodata);
    let range = valid().min().zip(valid().max()).map(|(&low, &high)| (f64::from(low), f64::from(high)));
    write(raster, place, about, &samples, range, strips)
}

/// The place of a raster on its frame.
fn place_of<T>(raster: &Raster<T>, frame: &Frame) -> Place {
    assert_eq!(
        (raster.cols(), raster.rows()),
        (frame.cols(), frame.rows()),
        "the layer does not fit the frame"
    );
    Place::local([frame.x_m(0), frame.y_m(0)], frame.spacing_m())
}

struct Samples {
    bits: u16,
    format: u16,
    predictor: u16,
    nodata: Option<f32>,
}

struct Strips {
    rows_each: usize,
    packed: Vec<Vec<u8>>,
}

/// Packs strips of rows, each row as `fill` lays it out.
fn pack<T: Copy + Send + Sync>(
    raster: &Raster<T>,
    size: usize,
    fill: impl Fn(&[T], &mut [u8]) + Sync,
) -> Strips {
    let row_bytes = raster.cols() * size;
    let rows_each = (STRIP_BYTES / row_bytes).max(1);
    let packed = raster
        .as_slice()
        .par_chunks(raster.cols() * rows_each)
        .map(|strip| {
            let mut raw = vec![0; strip.len() * size];
            for (row, out) in strip.chunks(raster.cols()).zip(raw.chunks_mut(row_bytes)) {
                fill(row, out);
            }
            crate::deflate::zlib(&raw, LEVEL)
        })
        .collect();
    Strips { rows_each, packed }
}

fn write<T>(
    raster: &Raster<T>,
    place: &Place,
    about: &About<'_>,
    samples: &Samples,
    range: Option<(f64, f64)>,
    strips: Strips,
) -> Vec<u8> {
    let lengths = strips.packed.iter().map(|strip| strip.len() as u64).collect();
    let mut fields = vec![
        (tag::WIDTH, Field::Words(vec![raster.cols() as u64])),
        (tag::HEIGHT, Field::Words(vec![raster.rows() as u64])),
        (tag::BITS, Field::Shorts(vec![samples.bits])),
        (tag::COMPRESSION, Field::Shorts(vec![DEFLATE])),
        (tag::PHOTOMETRIC, Field::Shorts(vec![1])),
        (tag::STRIP_OFFSETS, Field::ChunkOffsets),
        (tag::SAMPLES_PER_PIXEL, Field::Shorts(vec![1])),
        (tag::ROWS_PER_STRIP, Field::Words(vec![strips.rows_each as u64])),
        (tag::STRIP_BYTES, Field::Words(lengths)),
        (tag::PLANAR, Field::Shorts(vec![1])),
        (tag::SOFTWARE, Field::Text(SOFTWARE.to_owned())),
        (tag::PREDICTOR, Field::Shorts(vec![samples.predictor])),
        (tag::SAMPLE_FORMAT, Field::Shorts(vec![samples.format])),
    ];
    fields.extend(place.fields());
    fields.push((tag::GDAL_METADATA, Field::Text(metadata(about, range))));
    if let Some(nodata) = samples.nodata {
        fields.push((tag::GDAL_NODATA, Field::Text(format!("{nodata}"))));
    }
    container::write(&fields, &strips.packed)
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
