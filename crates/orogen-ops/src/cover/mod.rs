//! What the land is covered with.

mod biomes;

pub use biomes::Biomes;
