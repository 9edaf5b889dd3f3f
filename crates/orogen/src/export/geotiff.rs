//! `geotiff`: every layer as `<layer>.tif`, a cloud-optimised GeoTIFF.

use orogen_core::{LayerData, LayerName, layer};
use orogen_io::{About, geotiff};
use rayon::prelude::*;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Export, Facts, Land, Output, PartNames};
use crate::error::BuildError;

/// Every layer as `<layer>.tif`, a cloud-optimised GeoTIFF.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Geotiff {
    /// Whether the floor of the sea is there; without it, heights below sea level are written as sea level, 0 m.
    pub sea_floor: bool,
}

impl Default for Geotiff {
    fn default() -> Self {
        Self { sea_floor: true }
    }
}

impl Export for Geotiff {
    const NAME: &'static str = "geotiff";
    const UNASKED: bool = true;

    fn leave_out_sea_floor(&mut self) {
        self.sea_floor = false;
    }

    fn file_names(&self, parts: &PartNames<'_>) -> Vec<String> {
        parts.layers.iter().map(|name| format!("{name}.tif")).collect()
    }

    fn write(&self, land: &Land<'_>, out: &Output<'_>) -> Result<(), BuildError> {
        let heights = layer::HEIGHT.name();
        let layers: Vec<_> = land.terrain().layers().iter().collect();
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
