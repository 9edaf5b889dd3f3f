//! Operators that say where other steps act.

mod band;
pub mod height;
pub mod slope;

pub use height::Height;
pub use slope::Slope;
