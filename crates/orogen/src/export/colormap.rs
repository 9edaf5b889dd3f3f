//! `colormap`: `colormap.png`, the colour of the ground without light.

use orogen_io::{ground, png8};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Export, Facts, Land, Output, PartNames};
use crate::error::BuildError;

const FILE: &str = "colormap.png";

/// `colormap.png`: the mean colours of ground materials by their weights, darker where it is steep or wet and brighter where it is dry, without
/// light or shadow.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Colormap {}

impl Export for Colormap {
    const NAME: &'static str = "colormap";

    fn file_names(&self, parts: &PartNames<'_>) -> Vec<String> {
        let any = parts.layers.iter().any(|name| name.family() == "material");
        any.then(|| FILE.to_owned()).into_iter().collect()
    }

    fn write(&self, land: &Land<'_>, out: &Output<'_>) -> Result<(), BuildError> {
        let Some(picture) = ground::color_map(land.terrain()) else {
            out.warn(String::from("colormap: the land has no materials; add a step cover.materials"));
            return Ok(());
        };
        out.write(FILE, &Facts::default(), |out| png8::write_picture(&picture, out))?;
        Ok(())
    }
}
