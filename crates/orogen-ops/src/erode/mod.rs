//! Erosion: what gravity, water and wind do to land.

mod thermal;

pub use thermal::{Thermal, thermal};
