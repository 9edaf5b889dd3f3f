//! `geotiff`: layers as `<layer>.tif`, a cloud-optimised GeoTIFF.

use orogen_core::{Frame, LayerData, LayerName, layer};
use orogen_io::{About, geotiff};
use rayon::prelude::*;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Export, Facts, Land, Output, PartNames};
use crate::error::BuildError;

/// Layers as `<layer>.tif`, cloud-optimised GeoTIFFs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Geotiff {
    /// Whether the floor of the sea is there; without it, heights below sea level are written as sea level, 0 m.
    pub sea_floor: bool,
    /// The layers, or families of them such as `material`; when left out, every layer but the shares of materials, which `splat` writes, and
    /// the densities of plants.
    #[schemars(length(max = 1000))]
    pub layers: Vec<LayerName>,
}

/// Families of many layers that are written only where they are asked for.
const ASKED_FOR: [&str; 2] = ["material", "density"];

impl Geotiff {
    fn writes(&self, name: &LayerName) -> bool {
        if self.layers.is_empty() {
            return !ASKED_FOR.contains(&name.family());
        }
        self.layers.iter().any(|wanted| wanted == name || wanted.as_str() == name.family())
    }
}

impl Default for Geotiff {
    fn default() -> Self {
        Self { sea_floor: true, layers: Vec::new() }
    }
}

impl Export for Geotiff {
    const NAME: &'static str = "geotiff";
    const UNASKED: bool = true;

    fn leave_out_sea_floor(&mut self) {
        self.sea_floor = false;
    }

    fn refuses(&self, _: &Frame, parts: &PartNames<'_>) -> Option<String> {
        let is_there = |wanted: &&LayerName| {
            parts.layers.iter().any(|name| name == *wanted || name.family() == wanted.as_str())
        };
        let missing = self.layers.iter().find(|wanted| !is_there(wanted))?;
        Some(format!("there is no layer {missing:?} to write", missing = missing.as_str()))
    }

    fn file_names(&self, parts: &PartNames<'_>) -> Vec<String> {
        parts.layers.iter().filter(|name| self.writes(name)).map(|name| format!("{name}.tif")).collect()
    }

    fn write(&self, land: &Land<'_>, out: &Output<'_>) -> Result<(), BuildError> {
        let heights = layer::HEIGHT.name();
        let layers: Vec<_> = land.terrain().layers().iter().filter(|(name, _)| self.writes(name)).collect();
        layers.into_par_iter().try_for_each(|(name, data)| {
            let shown = if *name == heights { land.shown(self.sea_floor).layers().get(name) } else { None };
            write_layer(land, out, name, shown.unwrap_or(data))
        })
    }
}

fn write_layer(
    land: &Land<'_>,
    out: &Output<'_>,
    name: &LayerName,
    data: &LayerData,
) -> Result<(), BuildError> {
    let about = About { layer: name.as_str(), unit: layer::unit(name), seed: land.seed() };
    let place = land.place();
    let (file, packed) = (format!("{name}.tif"), geotiff::Compression::default());
    let facts = Facts::of_layer(name, data.range());
    out.write(&file, &facts, |out| geotiff::write_layer_at(out, data, place, &about, packed))?;
    Ok(())
}
