//! From a layer to the bytes of a GeoTIFF.

use std::fmt::Write as _;
use std::io::{self, Cursor, Seek, Write};

use orogen_core::{Frame, Kind, LayerData, Raster, Sample, each_kind};
use rayon::prelude::*;

use super::cog::{self, Samples};
use super::container::{self, Field};
use super::place::Place;
use super::tag;
use crate::about::{About, SOFTWARE, nodata_value};

/// Bytes of samples in a strip of a file that is not packed.
const STRIP_BYTES: usize = 1 << 17;

/// How samples are packed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Compression {
    /// Not at all, in strips: large files, as quick to write as the disk is, for results on the way to others.
    None,
    /// By deflate, floats with the predictor that is made for them, as a cloud-optimised GeoTIFF: every program reads it, and
    /// those that know the layout read a part or an overview without the rest.
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
    in_memory(|out| write_whole_at(out, raster, place, nodata, about, Compression::default()))
}

fn in_memory(write: impl FnOnce(&mut Cursor<Vec<u8>>) -> io::Result<()>) -> Vec<u8> {
    let mut out = Cursor::new(Vec::new());
    let written = write(&mut out);
    debug_assert!(written.is_ok(), "writing to memory cannot fail: {written:?}");
    out.into_inner()
}

/// Writes what [`encode_f32_at`] gives, in large pieces and without holding the whole of it; `range` is that of the raster.
///
/// # Errors
/// When `out` takes no more.
pub fn write_f32_at(
    out: &mut (impl Write + Seek),
    raster: &Raster<f32>,
    range: Option<(f32, f32)>,
    place: &Place,
    about: &About<'_>,
    compression: Compression,
) -> io::Result<()> {
    let nodata = nodata_value(raster.as_slice(), range);
    let range = range.map(|(low, high)| (f64::from(low), f64::from(high)));
    let hole = Some(nodata.to_string());
    let image = Image { bits: 32, format: 3, predictor: 3, nodata: hole, range };
    match compression {
        Compression::None => {
            write_plain_head(out, raster, place, about, &image)?;
            write_floats(out, raster.as_slice(), nodata)
        }
        // A layer of ids that a user keeps as floats has no mean.
        Compression::Deflate => {
            write_packed(out, raster, Some(nodata), about.unit != "id", place, about, &image)
        }
    }
}

/// Writes a layer of any kind; whole numbers are all valid.
///
/// # Errors
/// When `out` takes no more.
pub fn write_layer_at(
    out: &mut (impl Write + Seek),
    data: &LayerData,
    place: &Place,
    about: &About<'_>,
    compression: Compression,
) -> io::Result<()> {
    match data {
        LayerData::F32(raster) => write_f32_at(out, raster, raster.range(), place, about, compression),
        ids => each_kind!(ids, raster => write_whole_at(out, raster, place, None, about, compression)),
    }
}

/// Writes whole numbers of any size, for ids and weights; `nodata` is the value that stands for a hole.
///
/// # Errors
/// When `out` takes no more.
pub fn write_whole_at<T: Sample>(
    out: &mut (impl Write + Seek),
    raster: &Raster<T>,
    place: &Place,
    nodata: Option<T>,
    about: &About<'_>,
    compression: Compression,
) -> io::Result<()> {
    let size = size_of::<T>();
    let range = range_of_whole(raster.as_slice(), nodata);
    let hole = nodata.map(|hole| hole.into().to_string());
    let image = Image { bits: 8 * size as u16, format: 1, predictor: 1, nodata: hole, range };
    match compression {
        Compression::None => {
            write_plain_head(out, raster, place, about, &image)?;
            let mut buffer = vec![0; raster.cols() * size];
            raster.as_slice().chunks(raster.cols()).try_for_each(|row| {
                cog::lay_out(row, &mut buffer);
                out.write_all(&buffer)
            })
        }
        Compression::Deflate => {
            let measured = T::KIND == Kind::Weight;
            write_packed(out, raster, nodata, measured, place, about, &image)
        }
    }
}

/// Smallest and largest number that is not a hole.
fn range_of_whole<T: Sample>(values: &[T], nodata: Option<T>) -> Option<(f64, f64)> {
    let wider = |a: (T, T), b: (T, T)| (if b.0 < a.0 { b.0 } else { a.0 }, if b.1 > a.1 { b.1 } else { a.1 });
    let part = |values: &[T]| {
        let first = *values.iter().find(|v| Some(**v) != nodata)?;
        // Holes count as a value that is there anyway, which leaves a loop of vector code.
        let value = |v: T| if Some(v) == nodata { first } else { v };
        Some(values.iter().fold((first, first), |range, &v| wider(range, (value(v), value(v)))))
    };
    let parts = values.par_chunks(1 << 16).filter_map(part);
    parts.reduce_with(wider).map(|(low, high)| (low.into(), high.into()))
}

/// The bytes of floats in the order of the file, holes as their value.
fn write_floats(out: &mut impl Write, values: &[f32], nodata: f32) -> io::Result<()> {
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

/// The place of a raster on its frame.
fn place_of<T>(raster: &Raster<T>, frame: &Frame) -> Place {
    assert_eq!(
        (raster.cols(), raster.rows()),
        (frame.cols(), frame.rows()),
        "the layer does not match the frame"
    );
    Place::of_frame(frame, &orogen_core::Place::default())
}

/// What the tags say of the samples.
struct Image {
    bits: u16,
    format: u16,
    /// Of samples that are packed.
    predictor: u16,
    /// As text, as the file says it.
    nodata: Option<String>,
    range: Option<(f64, f64)>,
}

impl Image {
    /// What holds for samples wherever they lie.
    fn fields(&self, packed: bool) -> Vec<(u16, Field)> {
        let mut fields = vec![
            (tag::BITS, Field::Shorts(vec![self.bits])),
            (tag::COMPRESSION, Field::Shorts(vec![if packed { 8 } else { 1 }])),
            (tag::PHOTOMETRIC, Field::Shorts(vec![1])),
            (tag::SAMPLES_PER_PIXEL, Field::Shorts(vec![1])),
            (tag::PLANAR, Field::Shorts(vec![1])),
            (tag::PREDICTOR, Field::Shorts(vec![if packed { self.predictor } else { 1 }])),
            (tag::SAMPLE_FORMAT, Field::Shorts(vec![self.format])),
        ];
        if let Some(nodata) = &self.nodata {
            fields.push((tag::GDAL_NODATA, Field::Text(nodata.clone())));
        }
        fields
    }

    /// The same, and what the file says about itself.
    fn fields_of_file(&self, packed: bool, place: &Place, about: &About<'_>) -> Vec<(u16, Field)> {
        let mut fields = self.fields(packed);
        fields.push((tag::SOFTWARE, Field::Text(SOFTWARE.to_owned())));
        fields.extend(place.fields());
        fields.push((tag::GDAL_METADATA, Field::Text(metadata(about, self.range, place))));
        fields
    }
}

fn write_packed<T: Sample>(
    out: &mut (impl Write + Seek),
    raster: &Raster<T>,
    hole: Option<T>,
    measured: bool,
    place: &Place,
    about: &About<'_>,
    image: &Image,
) -> io::Result<()> {
    let of_image = || image.fields_of_file(true, place, about);
    let of_copies = || image.fields(true);
    cog::write(out, raster, &Samples { hole, measured, of_image: &of_image, of_copies: &of_copies })
}

/// All but the strips of a file that is not packed.
fn write_plain_head<T>(
    out: &mut impl Write,
    raster: &Raster<T>,
    place: &Place,
    about: &About<'_>,
    image: &Image,
) -> io::Result<()> {
    let (cols, rows, size) = (raster.cols(), raster.rows(), usize::from(image.bits) / 8);
    let each = (STRIP_BYTES / (cols * size)).max(1);
    let strips = (0..rows).step_by(each).map(|row| (each.min(rows - row) * cols * size) as u64);
    let mut fields = image.fields_of_file(false, place, about);
    fields.extend([
        (tag::WIDTH, Field::Words(vec![cols as u64])),
        (tag::HEIGHT, Field::Words(vec![rows as u64])),
        (tag::STRIP_OFFSETS, Field::ChunkOffsets),
        (tag::ROWS_PER_STRIP, Field::Words(vec![each as u64])),
        (tag::STRIP_BYTES, Field::ChunkLengths),
    ]);
    fields.sort_by_key(|(tag, _)| *tag);
    out.write_all(&container::head_of_one(fields, &strips.collect::<Vec<_>>()))
}

/// Name, unit, seed and range in the form that GDAL and QGIS show.
fn metadata(about: &About<'_>, range: Option<(f64, f64)>, place: &Place) -> String {
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
    for (name, value) in &place.notes {
        item(&format!("name=\"{name}\""), value);
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
