//! What the land is covered with.

mod biomes;
pub mod poisson;

pub use biomes::Biomes;
