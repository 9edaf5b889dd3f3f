//! What the land is covered with.

mod biomes;
mod satellite;

pub use biomes::Biomes;
pub use satellite::Satellite;
