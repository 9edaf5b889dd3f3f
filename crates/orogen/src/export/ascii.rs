//! `ascii`: `height.asc`.

use orogen_core::layer;
use orogen_io::ascii_grid;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Export, Facts, Land, Output, PartNames};
use crate::error::BuildError;

const FILE: &str = "height.asc";

/// `height.asc`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Ascii {
    /// Whether the floor of the sea is there; without it, heights below sea level are written as sea level, 0 m.
    pub sea_floor: bool,
}

impl Default for Ascii {
    fn default() -> Self {
        Self { sea_floor: true }
    }
}

impl Export for Ascii {
    const NAME: &'static str = "ascii";

    fn leave_out_sea_floor(&mut self) {
        self.sea_floor = false;
    }

    fn file_names(&self, parts: &PartNames<'_>) -> Vec<String> {
        parts.has_layer(&layer::HEIGHT.name()).then(|| FILE.to_owned()).into_iter().collect()
    }

    fn write(&self, land: &Land<'_>, out: &Output<'_>) -> Result<(), BuildError> {
        let Some(height) = land.heights(self.sea_floor) else { return Ok(()) };
        let (name, range) = (layer::HEIGHT.name(), height.range());
        let facts = Facts::of_layer(&name, range.map(|(low, high)| (low.into(), high.into())));
        out.write(FILE, &facts, |out| ascii_grid::write(height, land.frame(), out))?;
        Ok(())
    }
}
