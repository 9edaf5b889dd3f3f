//! `exr`: `height.exr` and, where the land is displaced, `displacement_xyz.exr`, with their sidecars.

use orogen_core::{LayerName, Raster, layer};
use orogen_io::{About, exr};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Export, Facts, Land, Output, PartNames, with_sidecar};
use crate::error::BuildError;

const HEIGHT: &str = "height.exr";
const DISPLACEMENT: &str = "displacement_xyz.exr";
const MOVED: [orogen_core::Layer<f32>; 3] = [layer::DISPLACE_X, layer::DISPLACE_Y, layer::DISPLACE_Z];

/// `height.exr` and, where the land is displaced, `displacement_xyz.exr`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Exr {
    /// Whether the floor of the sea is there; without it, heights below sea level are written as sea level, 0 m.
    pub sea_floor: bool,
}

impl Default for Exr {
    fn default() -> Self {
        Self { sea_floor: true }
    }
}

impl Export for Exr {
    const NAME: &'static str = "exr";

    fn leave_out_sea_floor(&mut self) {
        self.sea_floor = false;
    }

    fn file_names(&self, parts: &PartNames<'_>) -> Vec<String> {
        let grounded = parts.has_layer(&layer::HEIGHT.name());
        let moved = MOVED.iter().all(|layer| parts.has_layer(&layer.name()));
        let files = [(HEIGHT, grounded), (DISPLACEMENT, moved)];
        files.iter().filter(|(_, there)| *there).flat_map(|(file, _)| with_sidecar(file)).collect()
    }

    fn write(&self, land: &Land<'_>, out: &Output<'_>) -> Result<(), BuildError> {
        if let Some(height) = land.heights(self.sea_floor) {
            write_channels(land, HEIGHT, &layer::HEIGHT.name(), [height; 3], out)?;
        }
        if let [Some(x), Some(y), Some(z)] = MOVED.map(|layer| land.terrain().get(layer).ok()) {
            write_channels(land, DISPLACEMENT, &LayerName::fixed("displace"), [x, y, z], out)?;
        }
        Ok(())
    }
}

/// Red, green and blue.
fn write_channels(
    land: &Land<'_>,
    file: &str,
    name: &LayerName,
    channels: [&Raster<f32>; 3],
    out: &Output<'_>,
) -> Result<(), BuildError> {
    let about = About { layer: name.as_str(), unit: layer::unit(name), seed: land.seed() };
    let ranges = channels.iter().filter_map(|raster| raster.range());
    let range = ranges
        .map(|(low, high)| (f64::from(low), f64::from(high)))
        .reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)));
    // Programs that read heights take a hole for one in the world, or for infinitely deep.
    let heights = *name == layer::HEIGHT.name();
    let hole = if heights { range.map_or(0.0, |(low, _)| low as f32) } else { 0.0 };
    let facts = Facts::of_layer(name, range);
    let written = out.write(file, &facts, |out| exr::write(channels, hole, &about, out))?;
    let mut sidecar = exr::sidecar(land.frame(), &about, range, &written).at(&land.terrain().place());
    let holes = channels[0].as_slice().iter().filter(|v| !v.is_finite()).count();
    if holes > 0 {
        sidecar.warning = Some(format!("{holes} samples without a value are written as {hole}"));
    }
    out.write_sidecar(file, &sidecar)
}
