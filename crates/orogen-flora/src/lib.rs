//! Plants as geometry. A [`Species`] is a few numbers, a seed makes a tree of them: [`grow`] gives its [`Skeleton`].
//!
//! This crate reads no files, opens no windows and looks at no clock: it takes text and gives numbers.

mod arbaro;
mod catalog;
mod frame;
mod grow;
mod growth;
mod kinds;
mod mesh;
mod picture;
mod shape;
mod skeleton;
mod species;

pub use arbaro::from_arbaro;
pub use catalog::{CATALOG, Entry, names, species};
pub use grow::{GrowError, grow, grow_on};
pub use growth::{Growth, Season};
pub use mesh::{BARK_M, Detail, Mesh, PlantMesh, mesh};
pub use picture::{Seen, View};
pub use skeleton::{Boulder, Leaf, Node, Skeleton, Stem};
pub use kinds::stone_mesh;
pub use species::{
    Climb, Colors, DeadWood, Flowers, Leaves, Level, Life, Prune, Shape, Species, SpeciesError, Stone, StoneForm,
};
