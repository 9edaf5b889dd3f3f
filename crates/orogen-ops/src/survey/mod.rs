//! Operators and tools that measure land without changing it.
//!
//! Operators are in the catalogue; the others are functions over rasters, for `orogen dem` and for programs.

pub mod aspect;
pub mod curvature;
#[cfg(test)]
mod gdaldem;
pub mod gradient;
pub mod hillshade;
pub mod ruggedness;
pub mod slope;

pub use hillshade::Hillshade;
pub use slope::Slope;
