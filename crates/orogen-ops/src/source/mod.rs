//! Operators that make land.

pub mod contours;
pub mod cracks;
pub mod dem;
pub mod deposition;
pub mod diamond_square;
pub mod dunes;
pub mod faults;
mod given;
pub mod island;
mod lattice;
mod made_up;
pub mod midpoint;
pub mod noise;
pub mod planet;
pub mod points;
mod pyramid;
pub mod random;
pub mod squig;
pub mod subdivision;

pub use contours::Contours;
pub use cracks::Cracks;
pub use dem::Dem;
pub use deposition::Deposition;
pub use diamond_square::DiamondSquare;
pub use dunes::Dunes;
pub use faults::Faults;
pub use given::Placement;
pub(crate) use given::{Map, covered};
pub use island::Island;
pub use midpoint::Midpoint;
pub use noise::Noise;
pub use planet::Planet;
pub use points::Points;
pub use random::Random;
pub use squig::Squig;
pub use subdivision::Subdivision;
