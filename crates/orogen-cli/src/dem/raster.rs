//! Results that are rasters: a GeoTIFF that lies where its source does, or a grey picture to look at.

use std::fs::File;
use std::path::Path;

use anyhow::Result;
use clap::ValueEnum;
use orogen::core::Raster;
use orogen::io::{About, Watched, geotiff, png8, png16};
use serde_json::{Value, json};

use super::job::{Job, Model};

/// How the names of such results end.
pub const ENDINGS: &[&str] = &["tif", "tiff", "png"];

/// How a GeoTIFF is written.
#[derive(Clone, Copy, Debug, clap::Args)]
pub struct Packing {
    /// How a GeoTIFF is packed.
    #[arg(long, value_name = "HOW", default_value = "none")]
    pub compress: Compress,
}

/// How samples are packed.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum Compress {
    /// Not at all: quickest, and as large as what gdaldem writes.
    None,
    /// By deflate: smaller, takes longer.
    Deflate,
}

impl From<Packing> for geotiff::Compression {
    fn from(packing: Packing) -> Self {
        match packing.compress {
            Compress::None => Self::None,
            Compress::Deflate => Self::Deflate,
        }
    }
}

/// What a raster of bytes means.
pub struct Meaning {
    pub layer: &'static str,
    pub hole: u8,
    /// The grey of a byte in a picture.
    pub grey: fn(u8) -> u8,
}

/// The grey of a mask: white where it is 1, black where it is 0, half in holes.
pub fn mask_grey(byte: u8) -> u8 {
    match byte {
        0 => 0,
        1 => 255,
        _ => 128,
    }
}

impl Job {
    /// Writes a float raster and tells its range.
    pub fn write_raster(
        &self,
        out: Option<&Path>,
        packing: Packing,
        model: &Model,
        raster: &Raster<f32>,
        unit: &str,
        layer: &str,
    ) -> Result<()> {
        let mut facts =
            vec![("cols", json!(raster.cols())), ("rows", json!(raster.rows())), ("unit", json!(unit))];
        let range = raster.range();
        if let Some((low, high)) = range {
            facts.extend([("min", json!(low)), ("max", json!(high))]);
        }
        self.write_floats(out, packing, model, raster, range, &About { layer, unit, seed: "" }, facts, None)
    }

    /// Writes a float raster of known range and says `said`, or its range.
    pub fn write_floats(
        &self,
        out: Option<&Path>,
        packing: Packing,
        model: &Model,
        raster: &Raster<f32>,
        range: Option<(f32, f32)>,
        about: &About<'_>,
        mut facts: Vec<(&'static str, Value)>,
        said: Option<String>,
    ) -> Result<()> {
        let spread = range.map(|(low, high)| format!("{low} to {high} {}", about.unit).trim_end().to_owned());
        if self.ending(out, ENDINGS)? == "png" {
            let (bytes, lowest) = png16::picture(raster);
            facts.push(("grey", json!([lowest, u16::MAX])));
            let holes = if lowest > 0 { ", holes black" } else { "" };
            let drawn = spread.map_or(String::from("all holes"), |spread| {
                format!("{spread} as grey {lowest} to {}{holes}", u16::MAX)
            });
            let said = said.map_or(drawn.clone(), |said| format!("{said}, {drawn}"));
            return self.write(out, "png", &bytes, facts, &said);
        }
        let said = said.or(spread).unwrap_or(String::from("all holes"));
        let write = |file: &mut Watched<'_, &File>| {
            geotiff::write_f32_at(file, raster, range, &model.place, about, packing.into())
        };
        self.write_pieces(out, "tif", write, facts, &said)
    }

    /// Writes numbers from 1, 0 being a hole.
    pub fn write_ids(
        &self,
        out: Option<&Path>,
        packing: Packing,
        model: &Model,
        ids: &Raster<u32>,
        layer: &str,
        facts: Vec<(&'static str, Value)>,
        said: &str,
    ) -> Result<()> {
        let about = About { layer, unit: "", seed: "" };
        if self.ending(out, ENDINGS)? == "png" {
            let grey = ids.map(|id| if id == 0 { f32::NAN } else { id as f32 });
            let said = Some(said.to_owned());
            return self.write_floats(out, packing, model, &grey, grey.range(), &about, facts, said);
        }
        let write = |file: &mut Watched<'_, &File>| {
            geotiff::write_whole_at(file, ids, &model.place, Some(0), &about, packing.into())
        };
        self.write_pieces(out, "tif", write, facts, said)
    }

    /// Writes a raster of bytes.
    pub fn write_bytes(
        &self,
        out: Option<&Path>,
        packing: Packing,
        model: &Model,
        raster: &Raster<u8>,
        meaning: &Meaning,
        facts: Vec<(&'static str, Value)>,
        said: &str,
    ) -> Result<()> {
        if self.ending(out, ENDINGS)? == "png" {
            return self.write(out, "png", &png8::encode_grey(&raster.map(meaning.grey)), facts, said);
        }
        let about = About { layer: meaning.layer, unit: "", seed: "" };
        let write = |file: &mut Watched<'_, &File>| {
            geotiff::write_whole_at(file, raster, &model.place, Some(meaning.hole), &about, packing.into())
        };
        self.write_pieces(out, "tif", write, facts, said)
    }
}
