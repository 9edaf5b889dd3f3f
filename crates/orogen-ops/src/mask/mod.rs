//! Operators that say where other steps act.

pub mod aspect;
mod band;
pub mod brush;
pub mod curvature;
pub mod distance;
pub mod height;
pub mod layer;
pub mod noise;
pub mod polygon;
pub mod slope;

pub use aspect::Aspect;
pub use brush::Brush;
pub use curvature::Curvature;
pub use distance::Distance;
pub use height::Height;
pub use layer::Layer;
pub use noise::Noise;
pub use polygon::Polygon;
pub use slope::Slope;
