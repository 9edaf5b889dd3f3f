//! What the land is covered with.

mod biomes;
pub mod poisson;
pub mod rules;

pub use biomes::Biomes;
