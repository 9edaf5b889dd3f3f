//! Operators that say where other steps act.

pub mod aspect;
mod band;
pub mod curvature;
pub mod height;
pub mod slope;

pub use aspect::Aspect;
pub use curvature::Curvature;
pub use height::Height;
pub use slope::Slope;
