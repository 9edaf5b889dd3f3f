//! Operators that make land.

pub mod dem;
pub mod island;

pub use dem::Dem;
pub use island::Island;
