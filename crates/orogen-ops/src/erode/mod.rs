//! Operators that wear land down and lay it elsewhere.

pub mod stream_power;

pub use stream_power::StreamPower;
