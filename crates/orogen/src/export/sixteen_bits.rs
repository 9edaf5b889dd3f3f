//! What `png16` and `r16` share: layers as 16-bit whole numbers over a range.

use std::io;

use orogen_core::param::Fault;
use orogen_core::{LayerData, LayerName, Raster, each_kind, layer};
use orogen_io::{About, Levels, Sidecar};
use rayon::prelude::*;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Facts, Land, Out, Output, PartNames, with_sidecar};
use crate::error::BuildError;

/// Layers as 16-bit whole numbers.
///
/// Without a range each file has that of its own values. With one, 0 is its lower end and 65535 its upper end in every file,
/// so that tiles and seeds can be compared; values outside are written as its ends, and a warning says how many. Ids and
/// weights are written as they are; ids above 65535 need a range.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(inline)]
pub struct SixteenBits {
    /// The layers to write.
    #[schemars(length(min = 1, max = 64))]
    pub layers: Vec<LayerName>,
    /// The height or depth that is written as 0, for layers in metres; needs `max_m`.
    #[schemars(range(min = -1e9, max = 1e9), extend("x-unit" = "m"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_m: Option<f64>,
    /// The height or depth that is written as 65535; needs `min_m`.
    #[schemars(range(min = -1e9, max = 1e9), extend("x-unit" = "m"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_m: Option<f64>,
    /// The value that is written as 0, in the unit of the layers; needs `max`.
    #[schemars(range(min = -1e30, max = 1e30))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min: Option<f64>,
    /// The value that is written as 65535, in the unit of the layers; needs `min`.
    #[schemars(range(min = -1e30, max = 1e30))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max: Option<f64>,
    /// Whether the floor of the sea is there; without it, heights below sea level are written as sea level, 0 m.
    pub sea_floor: bool,
}

impl Default for SixteenBits {
    fn default() -> Self {
        let layers = vec![layer::HEIGHT.name()];
        Self { layers, min_m: None, max_m: None, min: None, max: None, sea_floor: true }
    }
}

/// How a format writes rows and what stands beside them.
pub(super) trait Format: Sync {
    const ENDING: &'static str;
    fn write<T: Copy + Into<f64> + Sync>(
        raster: &Raster<T>,
        levels: &Levels,
        out: &mut Out<'_, '_>,
    ) -> io::Result<()>;
    fn sidecar(land: &Land<'_>, about: &About<'_>, levels: &Levels, sha256: &[u8; 32]) -> Sidecar;
}

impl SixteenBits {
    /// The range that was asked for.
    fn range(&self) -> Option<(f64, f64)> {
        self.min.zip(self.max).or(self.min_m.zip(self.max_m))
    }

    pub(super) fn faults(&self) -> Vec<Fault> {
        let mut faults = Vec::new();
        for [(low, min), (high, max)] in
            [[("min_m", self.min_m), ("max_m", self.max_m)], [("min", self.min), ("max", self.max)]]
        {
            match (min, max) {
                (Some(_), None) => faults.push(Fault::of(low, format!("needs {high} beside it"))),
                (None, Some(_)) => faults.push(Fault::of(high, format!("needs {low} beside it"))),
                (Some(min), Some(max)) if min >= max => {
                    faults.push(Fault::of(low, format!("{min} is not below {high} = {max}")));
                }
                _ => {}
            }
        }
        if self.min_m.is_some() && self.min.is_some() {
            faults.push(Fault::of("min", "the range is given twice; use min_m and max_m or min and max"));
        }
        if self.min_m.is_some()
            && let Some(other) = self.layers.iter().find(|name| layer::unit(name) != "m")
        {
            let unit = match layer::unit(other) {
                "" => String::from("a plain number"),
                unit => format!("in {unit}"),
            };
            let text = format!("is for layers in metres, and {other:?} is {unit}; use min and max");
            faults.push(Fault::of("min_m", text));
        }
        for (i, name) in self.layers.iter().enumerate() {
            if self.layers[..i].contains(name) {
                faults.push(Fault::of("layers", format!("{name:?} is listed twice")));
            }
        }
        faults
    }

    pub(super) fn file_names(&self, ending: &str, parts: &PartNames<'_>) -> Vec<String> {
        let there = self.layers.iter().filter(|name| parts.has_layer(name));
        there.flat_map(|name| with_sidecar(&format!("{name}.{ending}"))).collect()
    }

    pub(super) fn write<F: Format>(&self, land: &Land<'_>, out: &Output<'_>) -> Result<(), BuildError> {
        self.layers.par_iter().try_for_each(|name| {
            let shown = land.shown(self.sea_floor || *name != layer::HEIGHT.name());
            match shown.layers().get(name) {
                None => Ok(()),
                Some(LayerData::F32(raster)) => {
                    let levels = match self.range() {
                        Some((min, max)) => Levels::between(min, max, raster),
                        None => Levels::of(raster),
                    };
                    let range = raster.range().map(|(low, high)| (low.into(), high.into()));
                    write_layer::<F, f32>(land, out, name, raster, &levels, range)
                }
                // The end of the range is another id.
                Some(ids)
                    if self.range().is_none()
                        && let Some((_, most)) = ids.range()
                        && most > f64::from(u16::MAX) =>
                {
                    out.warn(format!(
                        "{name}.{} is not there: {name:?} goes up to {most}, and 16 bits up to {}; use GeoTIFF, or give min and max",
                        F::ENDING,
                        u16::MAX
                    ));
                    Ok(())
                }
                Some(ids) => each_kind!(ids, raster => {
                    let levels = match self.range() {
                        Some((min, max)) => Levels::between(min, max, raster),
                        None => Levels::ids(raster),
                    };
                    write_layer::<F, _>(land, out, name, raster, &levels, ids.range())
                }),
            }
        })
    }
}

fn write_layer<F: Format, T: Copy + Into<f64> + Sync>(
    land: &Land<'_>,
    out: &Output<'_>,
    name: &LayerName,
    raster: &Raster<T>,
    levels: &Levels,
    range: Option<(f64, f64)>,
) -> Result<(), BuildError> {
    let about = About { layer: name.as_str(), unit: layer::unit(name), seed: land.seed() };
    let (file, facts) = (format!("{name}.{}", F::ENDING), Facts::of_layer(name, range));
    let written = out.write(&file, &facts, |out| F::write(raster, levels, out))?;
    let sidecar = F::sidecar(land, &about, levels, &written.sha256).at(&land.terrain().place());
    out.write_sidecar(&file, &sidecar)
}
