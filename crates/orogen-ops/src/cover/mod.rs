//! What the land is covered with.

mod biomes;
pub mod materials;
pub mod poisson;
pub mod rules;
mod satellite;
pub mod scatter;
pub mod species;
pub mod survival;

pub use biomes::{Biomes, OwnBiome, Painted};
pub use materials::{Material, Materials};
pub use satellite::Satellite;
pub use scatter::Scatter;
pub use survival::Survival;
