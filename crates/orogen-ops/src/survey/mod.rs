//! Operators that measure land without changing it.

pub mod gradient;
pub mod hillshade;
pub mod slope;
pub mod stats;

pub use hillshade::Hillshade;
pub use slope::Slope;
