//! The land of an earlier build, from the folder that it was written to.

use std::path::Path;

use orogen_core::vector::Column;
use orogen_core::{Frame, Kind, LayerData, LayerName, Place, Raster, Rect, Terrain, Weight, layer};
use orogen_io::{Limits, MANIFEST, elevation, features, image, read_bytes};
use serde::Deserialize;

use crate::error::BuildError;

/// What is needed of a manifest.
#[derive(Deserialize)]
struct Facts {
    frame: FrameFacts,
    #[serde(default)]
    place: Place,
    files: Vec<FileFacts>,
}

#[derive(Deserialize)]
struct FrameFacts {
    samples: [usize; 2],
    extent_m: Rect,
}

#[derive(Deserialize)]
struct FileFacts {
    name: String,
    kind: String,
    layer: Option<String>,
}

/// What `splat.json` says.
#[derive(Deserialize)]
struct Splat {
    files: Vec<Channels>,
}

#[derive(Deserialize)]
struct Channels {
    file: String,
    red: Option<String>,
    green: Option<String>,
    blue: Option<String>,
    alpha: Option<String>,
}

/// More than any manifest has.
const MOST_BYTES: u64 = 64 << 20;

/// Reads the land that an earlier build or save wrote into a folder: its heights, every layer that there is a GeoTIFF of, the
/// weights of its materials and its rivers. Heights may also come from `png16`, `r16` or `r32`.
///
/// # Errors
/// When there is no `manifest.json`, it is none, or a file that it names cannot be read.
pub fn read_folder(folder: &Path, limits: &Limits) -> Result<Terrain, BuildError> {
    let wrong = |what: String| BuildError::Call(format!("{}: {what}", folder.display()));
    let text = read_bytes(&folder.join(MANIFEST), MOST_BYTES)
        .map_err(|e| wrong(format!("this folder is not one that `build` wrote: {MANIFEST}: {e}")))?;
    let facts: Facts = serde_json::from_slice(&text).map_err(|e| wrong(format!("{MANIFEST}: {e}")))?;
    let FrameFacts { samples, extent_m } = facts.frame;
    let frame =
        Frame::new(extent_m.min, extent_m.size(), samples).map_err(|e| wrong(format!("{MANIFEST}: {e}")))?;
    let mut land = Terrain::new(frame);
    land.set_place(facts.place);
    let is_plain = |name: &str| !name.contains(['/', '\\']) && name != "..";
    if let Some(odd) = facts.files.iter().find(|file| !is_plain(&file.name)) {
        return Err(wrong(format!("{MANIFEST}: {:?} is not the name of a file in this folder", odd.name)));
    }
    let raster = |name: &str| -> Result<Raster<f32>, BuildError> {
        let read =
            elevation::read(&folder.join(name), limits).map_err(|e| BuildError::Call(e.to_string()))?.height;
        if [read.cols(), read.rows()] == samples {
            return Ok(read);
        }
        Err(wrong(format!(
            "{name} has {} x {} samples, but {MANIFEST} says {} x {}",
            read.cols(),
            read.rows(),
            samples[0],
            samples[1]
        )))
    };
    for file in facts.files.iter().filter(|file| file.kind == "geotiff") {
        let Some(name) = file.layer.as_deref().and_then(LayerName::parse) else { continue };
        let made = of_kind(&name, raster(&file.name)?);
        land.accept(name, made).map_err(|e| wrong(e.to_string()))?;
    }
    let height = layer::HEIGHT.name();
    if !land.layers().contains_key(&height) {
        let other = |file: &&FileFacts| {
            ["png16", "r16", "r32"].contains(&file.kind.as_str())
                && file.layer.as_deref() == Some(height.as_str())
                && !file.name.ends_with(".json")
        };
        let file = facts.files.iter().find(other).ok_or_else(|| {
            wrong(String::from(
                "there are no heights in it: no geotiff, png16, r16 or r32 of the layer height",
            ))
        })?;
        let made = raster(&file.name)?.into();
        land.accept(height, made).map_err(|e| wrong(e.to_string()))?;
    }
    let named = |wanted: &str| facts.files.iter().any(|file| file.name == wanted);
    if named("splat.json") {
        materials(&mut land, folder, limits)?;
    }
    if named("rivers.geojson") {
        rivers(&mut land, folder, limits)?;
    }
    Ok(land)
}

/// A layer in the kind of number that it has in a build.
fn of_kind(name: &LayerName, read: Raster<f32>) -> LayerData {
    let whole = |x: f32, most: f32| if x.is_finite() { x.round().clamp(0.0, most) } else { 0.0 };
    match layer::info(name).map_or(Kind::F32, |info| info.kind) {
        Kind::U8 => read.map(|x| whole(x, 255.0) as u8).into(),
        Kind::U16 => read.map(|x| whole(x, 65535.0) as u16).into(),
        Kind::U32 => read.map(|x| whole(x, u32::MAX as f32) as u32).into(),
        Kind::Weight => read.map(|x| Weight(whole(x, 255.0) as u8)).into(),
        _ => read.into(),
    }
}

fn materials(land: &mut Terrain, folder: &Path, limits: &Limits) -> Result<(), BuildError> {
    let path = folder.join("splat.json");
    let wrong = |what: String| BuildError::Call(format!("{}: {what}", path.display()));
    let text = read_bytes(&path, MOST_BYTES).map_err(&wrong)?;
    let splat: Splat = serde_json::from_slice(&text).map_err(|e| wrong(e.to_string()))?;
    let size = (land.frame().cols(), land.frame().rows());
    for Channels { file, red, green, blue, alpha } in splat.files {
        if file.contains(['/', '\\']) {
            return Err(wrong(format!("{file:?} is not the name of a file in this folder")));
        }
        let read =
            image::read_colors(&folder.join(&file), limits).map_err(|e| BuildError::Call(e.to_string()))?;
        if (read.cols(), read.rows()) != size {
            return Err(wrong(format!("{file} has another number of samples than the heights")));
        }
        for (channel, name) in [red, green, blue, alpha].into_iter().enumerate() {
            let Some(name) = name.and_then(|name| LayerName::parse(&format!("material.{name}"))) else {
                continue;
            };
            land.set_named(name, read.map(|bytes| Weight(bytes[channel])).into());
        }
    }
    Ok(())
}

fn rivers(land: &mut Terrain, folder: &Path, limits: &Limits) -> Result<(), BuildError> {
    const WIDTH: &str = "width_m";
    let read = features::read(&folder.join("rivers.geojson"), limits)
        .map_err(|e| BuildError::Call(e.to_string()))?;
    let mut rivers = read.lines.vectors().clone();
    // A river of a file has one width, that of its end.
    let mut widths = vec![3.0; rivers.vertices().len()];
    for feature in 0..rivers.len() {
        if let Some(width) = read.lines.property(feature, WIDTH).and_then(orogen_core::Property::number) {
            for part in rivers.parts(feature) {
                widths[part].fill(width);
            }
        }
    }
    // There are as many widths as vertices; without them rivers would be 3 m wide.
    let _is_set = rivers.set_vertex_attribute(WIDTH, Column::Number(widths));
    land.set_vector("rivers", rivers);
    Ok(())
}
