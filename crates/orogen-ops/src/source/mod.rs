//! Operators that make land.

pub mod dem;
pub mod island;
pub mod noise;

pub use dem::Dem;
pub use island::Island;
pub use noise::Noise;
