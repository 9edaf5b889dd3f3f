//! Operators that make land.

pub mod dem;
pub mod diamond_square;
pub mod faults;
pub mod island;
mod lattice;
mod pyramid;

pub use dem::Dem;
pub use diamond_square::DiamondSquare;
pub use faults::Faults;
pub use island::Island;
