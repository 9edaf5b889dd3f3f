//! Operators that make land.

pub mod island;
