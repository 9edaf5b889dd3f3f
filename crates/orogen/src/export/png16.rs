//! `png16`: layers as `<layer>.png`, 16-bit grey pictures, with their sidecars.

use std::io;

use orogen_core::param::Fault;
use orogen_core::{LayerName, Raster};
use orogen_io::{About, Levels, Sidecar, png16};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::sixteen_bits::{Format, SixteenBits};
use super::{Export, Land, Out, Output, PartNames};
use crate::error::BuildError;

/// Layers as `<layer>.png`, 16-bit grey pictures, with their sidecars.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Png16(
    /// Which layers, over which range.
    pub SixteenBits,
);

impl Export for Png16 {
    const NAME: &'static str = "png16";
    const UNASKED: bool = true;

    fn layers(&self) -> &[LayerName] {
        &self.0.layers
    }

    fn faults(&self) -> Vec<Fault> {
        self.0.faults()
    }

    fn leave_out_sea_floor(&mut self) {
        self.0.sea_floor = false;
    }

    fn file_names(&self, parts: &PartNames<'_>) -> Vec<String> {
        self.0.file_names(Self::ENDING, parts)
    }

    fn write(&self, land: &Land<'_>, out: &Output<'_>) -> Result<(), BuildError> {
        self.0.write::<Self>(land, out)
    }
}

impl Format for Png16 {
    const ENDING: &'static str = "png";

    fn write<T: Copy + Into<f64> + Sync>(
        raster: &Raster<T>,
        levels: &Levels,
        out: &mut Out<'_, '_>,
    ) -> io::Result<()> {
        png16::write(raster, levels, out)
    }

    fn sidecar(land: &Land<'_>, about: &About<'_>, levels: &Levels, sha256: &[u8; 32]) -> Sidecar {
        png16::sidecar(land.frame(), about, levels, sha256)
    }
}
