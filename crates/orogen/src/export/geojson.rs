//! `geojson`: vector layers as `<name>.geojson`.

use orogen_core::vector::VectorLayer;
use orogen_core::{Frame, LayerName};
use orogen_io::{geojson, geotiff};
use rayon::prelude::*;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Export, Facts, Land, Output, PartNames, no_such};
use crate::error::BuildError;

/// Vertices of the largest layer that is written without being named: text of some 100 MB.
const MOST_UNASKED: usize = 1 << 20;

/// Vector layers as `<name>.geojson`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Geojson {
    /// The vector layers to write, however large; without any, all of up to a million vertices.
    #[schemars(length(max = 64))]
    pub vectors: Vec<LayerName>,
}

impl Geojson {
    fn writes(&self, name: &LayerName) -> bool {
        self.vectors.is_empty() || self.vectors.contains(name)
    }
}

impl Export for Geojson {
    const NAME: &'static str = "geojson";
    const UNASKED: bool = true;

    fn refuses(&self, _: &Frame, parts: &PartNames<'_>) -> Option<String> {
        no_such(parts.vectors, self.vectors.iter(), "vectors")
    }

    fn file_names(&self, parts: &PartNames<'_>) -> Vec<String> {
        let wanted = parts.vectors.iter().filter(|name| self.writes(name));
        wanted.map(|name| format!("{name}.geojson")).collect()
    }

    fn write(&self, land: &Land<'_>, out: &Output<'_>) -> Result<(), BuildError> {
        let system = land.real_place().map_or_else(geojson::System::local, geojson::System::of);
        let vectors: Vec<_> = land.terrain().vectors().iter().filter(|(name, _)| self.writes(name)).collect();
        vectors.into_par_iter().try_for_each(|(name, layer)| {
            let count = layer.vertices().len();
            if count > MOST_UNASKED && self.vectors.is_empty() {
                out.warn(format!(
                    "{name}.geojson is not written: {count} vertices are more than {MOST_UNASKED}; \
                     name the layer in `vectors` of the export to have it"
                ));
                return Ok(());
            }
            let moved = land.real_place().map(|place| placed(layer, land.frame(), place));
            let shown = moved.as_ref().unwrap_or(layer);
            out.write(&format!("{name}.geojson"), &Facts::named(name.as_str()), |out| {
                geojson::write_in(shown, name.as_str(), &system, out)
            })?;
            Ok(())
        })
    }
}

/// Features in the coordinates of a place, which need not be the metres of the frame.
fn placed(layer: &VectorLayer, frame: &Frame, place: &geotiff::Place) -> VectorLayer {
    let mut moved = VectorLayer::new(layer.shape());
    for feature in 0..layer.len() {
        moved.push_parts(layer.parts(feature).map(|part| {
            layer.vertices()[part].iter().map(|&[x, y, z]| {
                let [x, y] = place.at(frame.locate(x, y));
                [x, y, z]
            })
        }));
    }
    // As many features and vertices as before, so every column fits.
    for (name, column) in layer.feature_attributes() {
        let _fits = moved.set_feature_attribute(name, column.clone());
    }
    for (name, column) in layer.vertex_attributes() {
        let _fits = moved.set_vertex_attribute(name, column.clone());
    }
    moved
}
