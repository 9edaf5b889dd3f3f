//! Operators and tools that measure land without changing it.
//!
//! Operators are in the catalogue; the others are functions over rasters, for `orogen dem` and for programs.

pub mod aspect;
pub mod contours;
pub mod curvature;
pub mod cutfill;
pub mod faults;
#[cfg(test)]
mod gdaldem;
pub mod gradient;
pub mod hillshade;
pub mod ruggedness;
pub mod sample;
pub mod slope;
pub mod stats;
pub mod tin;
pub mod viewshed;

pub use contours::Contours;
pub use hillshade::Hillshade;
pub use slope::Slope;
