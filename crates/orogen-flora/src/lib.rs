//! Plants as geometry. A [`Species`] is a few numbers, a seed makes a tree of them: [`grow`] gives its [`Skeleton`].
//!
//! This crate reads no files, opens no windows and looks at no clock: it takes text and gives numbers.

mod arbaro;
mod atlas;
mod catalog;
mod frame;
mod grow;
mod growth;
mod impostor;
mod kinds;
mod lod;
mod mesh;
mod picture;
mod shape;
mod skeleton;
mod species;
mod surface;

pub use arbaro::from_arbaro;
pub use atlas::leaf_cell;
pub use catalog::{CATALOG, Entry, names, species};
pub use grow::{GrowError, grow, grow_on, grow_within};
pub use growth::{Growth, Season};
pub use impostor::{
    Fade, Form, FrameView, IMPOSTOR_LEVEL, IMPOSTOR_SAMPLES, Impostor, ImpostorError, Light, Relief, Rgba,
    Surfel, impostor, mesh_pictures,
};
pub use lod::{BUDGETS, lod};
pub use mesh::{BARK_M, Detail, Mesh, PlantMesh, mesh};
pub use picture::{Seen, View};
pub use skeleton::{Boulder, Leaf, Node, Skeleton, Stem};
pub use species::{
    Climb, Colors, DeadWood, Flowers, Leaves, Level, Life, Prune, Shape, Species, SpeciesError, Stone,
    StoneForm,
};
pub use surface::{
    BarkKind, BarkMaps, LeafLevel, LeafMaps, Outline, SURFACE_SIZES, Surface, leaf_maps, levels, surface,
};
