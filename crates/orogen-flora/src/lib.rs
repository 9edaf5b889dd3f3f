//! Plants as geometry. A [`Species`] is a few numbers, a seed makes a tree of them: [`grow`] gives its [`Skeleton`].
//!
//! This crate reads no files, opens no windows and looks at no clock: it takes text and gives numbers.

mod arbaro;
mod frame;
mod grow;
mod mesh;
mod picture;
mod shape;
mod skeleton;
mod species;

pub use arbaro::from_arbaro;
pub use grow::{GrowError, grow};
pub use mesh::{BARK_M, Detail, Mesh, PlantMesh, mesh};
pub use picture::{Seen, View};
pub use skeleton::{Leaf, Node, Skeleton, Stem};
pub use species::{Leaves, Level, Prune, Shape, Species, SpeciesError};
