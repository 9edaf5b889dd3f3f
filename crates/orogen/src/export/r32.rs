//! `r32`: layers as `<layer>.r32`, bare 32-bit floats, with their sidecars.

use orogen_core::param::Fault;
use orogen_core::{LayerName, layer};
use orogen_io::{About, Levels, raw};
use rayon::prelude::*;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Export, Facts, Land, Output, PartNames, with_sidecar};
use crate::error::BuildError;

/// Layers of floats as `<layer>.r32`, bare 32-bit floats, with their sidecars.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct R32 {
    /// The layers to write.
    #[schemars(length(min = 1, max = 64))]
    pub layers: Vec<LayerName>,
    /// Whether the floor of the sea is there; without it, heights below sea level are written as sea level, 0 m.
    pub sea_floor: bool,
}

impl Default for R32 {
    fn default() -> Self {
        Self { layers: vec![layer::HEIGHT.name()], sea_floor: true }
    }
}

impl Export for R32 {
    const NAME: &'static str = "r32";

    fn layers(&self) -> &[LayerName] {
        &self.layers
    }

    fn faults(&self) -> Vec<Fault> {
        let twice = |(i, name): (usize, &LayerName)| {
            let again = self.layers[..i].contains(name);
            again.then(|| Fault::of("layers", format!("{name:?} is listed twice")))
        };
        self.layers.iter().enumerate().filter_map(twice).collect()
    }

    fn leave_out_sea_floor(&mut self) {
        self.sea_floor = false;
    }

    fn file_names(&self, parts: &PartNames<'_>) -> Vec<String> {
        let there = self.layers.iter().filter(|name| parts.has_layer(name));
        there.flat_map(|name| with_sidecar(&format!("{name}.r32"))).collect()
    }

    fn write(&self, land: &Land<'_>, out: &Output<'_>) -> Result<(), BuildError> {
        self.layers.par_iter().try_for_each(|name| {
            let shown = land.shown(self.sea_floor || *name != layer::HEIGHT.name());
            if !shown.layers().contains_key(name) {
                return Ok(());
            }
            let Ok(raster) = shown.get_named::<f32>(name) else {
                out.warn(format!(
                    "{name}.r32 is not there: {name:?} holds whole numbers; use GeoTIFF or r16"
                ));
                return Ok(());
            };
            let about = About { layer: name.as_str(), unit: layer::unit(name), seed: land.seed() };
            let (levels, file) = (Levels::of(raster), format!("{name}.r32"));
            let range = raster.range().map(|(low, high)| (low.into(), high.into()));
            let written =
                out.write(&file, &Facts::of_layer(name, range), |out| raw::write_r32(raster, out))?;
            let sidecar = raw::sidecar(land.frame(), &about, raw::Depth::R32, &levels, &written.sha256);
            out.write_sidecar(&file, &sidecar.at(&land.terrain().place()))
        })
    }
}
