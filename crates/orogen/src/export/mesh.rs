//! `mesh`: `terrain.glb` or `terrain.obj`, triangles, displaced where the land is.

use std::io;

use orogen_core::{Frame, OpError, layer};
use orogen_io::mesh::Surface;
use orogen_io::{glb, obj};
use rayon::prelude::*;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Export, Facts, Land, Out, Output, PartNames};
use crate::error::BuildError;

/// A file for a mesh.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MeshFormat {
    /// `terrain.glb`, binary glTF.
    Glb,
    /// `terrain.obj`, Wavefront text.
    Obj,
}

impl MeshFormat {
    fn file(self) -> &'static str {
        match self {
            Self::Glb => "terrain.glb",
            Self::Obj => "terrain.obj",
        }
    }

    fn write(self, surface: &Surface<'_>, seed: &str, out: &mut Out<'_, '_>) -> io::Result<()> {
        match self {
            Self::Glb => glb::write(surface, "terrain", seed, out),
            Self::Obj => obj::write(surface, "terrain", seed, out),
        }
    }
}

/// How a mesh is written.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Mesh {
    /// The files to make.
    #[schemars(length(min = 1, max = 2))]
    pub formats: Vec<MeshFormat>,
    /// Whether the floor of the sea is there; without it, what lies below sea level lies at sea level.
    pub sea_floor: bool,
}

impl Default for Mesh {
    fn default() -> Self {
        Self { formats: vec![MeshFormat::Glb], sea_floor: true }
    }
}

impl Mesh {
    /// Each format once.
    fn wanted(&self) -> Vec<MeshFormat> {
        [MeshFormat::Glb, MeshFormat::Obj].into_iter().filter(|f| self.formats.contains(f)).collect()
    }
}

impl Export for Mesh {
    const NAME: &'static str = "mesh";

    fn leave_out_sea_floor(&mut self) {
        self.sea_floor = false;
    }

    fn refuses(&self, frame: &Frame, _: &PartNames<'_>) -> Option<String> {
        let [cols, rows] = [frame.cols() as u64, frame.rows() as u64];
        if cols < 2 || rows < 2 {
            return Some(format!("a mesh needs at least 2 samples per side, found {cols} x {rows}"));
        }
        let too_large = glb::too_large(cols * rows, 2 * (cols - 1) * (rows - 1));
        too_large.filter(|_| self.formats.contains(&MeshFormat::Glb))
    }

    fn file_names(&self, parts: &PartNames<'_>) -> Vec<String> {
        if !parts.has_layer(&layer::HEIGHT.name()) {
            return Vec::new();
        }
        self.wanted().into_iter().map(|format| format.file().to_owned()).collect()
    }

    fn write(&self, land: &Land<'_>, out: &Output<'_>) -> Result<(), BuildError> {
        if land.heights(self.sea_floor).is_none() {
            return Ok(());
        }
        let (terrain, formats) = (land.shown(self.sea_floor), self.wanted());
        let surface = Surface::unless_cancelled(terrain, out.cancel()).map_err(|e| match e {
            OpError::Cancelled => BuildError::Cancelled,
            e => BuildError::Write(format!("{}: {e}", formats.first().map_or("mesh", |f| f.file()))),
        })?;
        let [low, high] = surface.bounds();
        let range = Some((low[1].into(), high[1].into()));
        let facts = Facts { layer: Some("height"), unit: Some("m"), range };
        let holes = terrain.frame().len() - surface.vertices();
        formats.into_par_iter().try_for_each(|format| {
            let file = format.file();
            out.write(file, &facts, |out| format.write(&surface, land.seed(), out))?;
            if holes > 0 {
                out.warn(format!("{file}: {holes} samples without a height are holes in the mesh"));
            }
            Ok(())
        })
    }
}
