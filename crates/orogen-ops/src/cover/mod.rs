//! What the land is covered with.

mod biomes;
pub mod poisson;
pub mod rules;
pub mod scatter;
pub mod species;
pub mod survival;

pub use biomes::Biomes;
pub use scatter::Scatter;
pub use survival::Survival;
