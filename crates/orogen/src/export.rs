//! From a terrain to files on disk.

use std::path::Path;
use std::sync::Mutex;

use orogen_core::param::nearest;
use orogen_core::{Cancel, LayerData, LayerName, Terrain, layer};
use orogen_io::{OutputFolder, Sidecar, ascii_grid, geojson, geotiff, png16, raw, relief};
use orogen_recipe::{Fault, Faults, Recipe};
use rayon::prelude::*;
use sha2::{Digest as _, Sha256};

use crate::error::BuildError;
use crate::manifest::{FileReport, Manifest};

/// A way to write a terrain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ExportKind {
    /// Every layer as `<layer>.tif`.
    Geotiff,
    /// `height.png`, 16 bits, with its sidecar.
    Png16,
    /// `height.r16` with its sidecar.
    Raw16,
    /// `height.r32` with its sidecar.
    Raw32,
    /// `height.asc`.
    Ascii,
    /// `relief.png`, a picture of the land.
    Relief,
    /// Every vector layer as `<name>.geojson`.
    Geojson,
}

/// A file to make: its name, and how.
struct Job<'a> {
    name: String,
    kind: ExportKind,
    layer: Option<&'a LayerName>,
    vectors: Option<&'a str>,
}

impl ExportKind {
    /// All kinds, with their names in recipes.
    pub const ALL: [(&'static str, Self); 7] = [
        ("geotiff", Self::Geotiff),
        ("png16", Self::Png16),
        ("r16", Self::Raw16),
        ("r32", Self::Raw32),
        ("ascii", Self::Ascii),
        ("relief", Self::Relief),
        ("geojson", Self::Geojson),
    ];

    /// What a recipe without `[[export]]` gives.
    pub const DEFAULT: [Self; 4] = [Self::Geotiff, Self::Png16, Self::Relief, Self::Geojson];

    /// Its name in recipes.
    #[must_use]
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(_, kind)| *kind == self).map_or("", |(name, _)| name)
    }

    /// A kind by its name.
    ///
    /// # Errors
    /// A sentence with the names there are.
    pub fn parse(name: &str) -> Result<Self, String> {
        Self::ALL.iter().find(|(n, _)| *n == name).map(|(_, kind)| *kind).ok_or_else(|| {
            let names = Self::ALL.map(|(n, _)| n);
            let hint = nearest(name, names).map_or(String::new(), |n| format!(" (did you mean {n:?}?)"));
            format!("found the export kind {name:?}, allowed is one of {}{hint}", names.join(", "))
        })
    }

    /// The kinds a recipe asks for.
    ///
    /// # Errors
    /// Every unknown kind, with its place in the recipe.
    pub fn of_recipe(recipe: &Recipe) -> Result<Vec<Self>, Faults> {
        let mut kinds = Vec::new();
        let mut faults: Vec<Fault> = Vec::new();
        for export in recipe.exports() {
            match Self::parse(export.kind()) {
                Ok(kind) if kinds.contains(&kind) => {}
                Ok(kind) => kinds.push(kind),
                Err(message) => faults.push(export.fault(message)),
            }
        }
        if !faults.is_empty() {
            return Err(recipe.faults(faults));
        }
        if kinds.is_empty() {
            kinds.extend(Self::DEFAULT);
        }
        Ok(kinds)
    }
}
