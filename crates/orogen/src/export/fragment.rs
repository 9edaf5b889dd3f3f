//! `fragment`: `features.toml`, what a sketch has become, as a piece of a recipe.

use std::io::Write as _;

use orogen_ops::shape::sketch;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Export, Facts, Land, Output, PartNames};
use crate::error::BuildError;

const FILE: &str = "features.toml";

/// `features.toml`: what a sketch has become, as a piece of a recipe.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Fragment {}

impl Export for Fragment {
    const NAME: &'static str = "fragment";
    const UNASKED: bool = true;

    fn file_names(&self, parts: &PartNames<'_>) -> Vec<String> {
        let sketched = parts.vectors.iter().any(|name| name.as_str() == sketch::FEATURES);
        sketched.then(|| FILE.to_owned()).into_iter().collect()
    }

    fn write(&self, land: &Land<'_>, out: &Output<'_>) -> Result<(), BuildError> {
        let Some(text) = land.terrain().vector(sketch::FEATURES).and_then(sketch::fragment) else {
            return Ok(());
        };
        out.write(FILE, &Facts::named(sketch::FEATURES), |out| out.write_all(text.as_bytes()))?;
        Ok(())
    }
}
