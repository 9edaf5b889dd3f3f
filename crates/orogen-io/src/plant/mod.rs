//! Plants as files and pictures.

mod files;
mod impostor;
mod portrait;

use orogen_flora::{Detail, Growth, PlantMesh, Skeleton, Species, lod, mesh};

pub use files::{LEVELS, PlantFile, model_names, plant_glb, plant_models};
pub use impostor::{impostor_files, impostor_names};
pub use portrait::portrait;

/// A plant that has grown.
#[derive(Clone, Debug)]
pub struct Plant {
    /// The species as it is at this age and in this season.
    pub species: Species,
    /// How far it has come.
    pub growth: Growth,
    /// Its stems and leaves.
    pub skeleton: Skeleton,
}

/// How fine the mesh of a plant is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fineness {
    /// Every stem and leaf.
    Full,
    /// A level of detail, 0 the finest and 3 the coarsest.
    Level(u8),
}

impl Plant {
    /// Its surface.
    #[must_use]
    pub fn mesh(&self, fineness: Fineness) -> PlantMesh {
        match fineness {
            Fineness::Full => mesh(&self.species, &self.skeleton, &Detail::FULL),
            Fineness::Level(level) => lod(&self.species, &self.skeleton, level),
        }
    }
}
