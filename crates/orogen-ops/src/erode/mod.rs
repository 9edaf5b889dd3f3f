//! Operators that wear land down and lay it elsewhere.

pub mod alluvium;
pub mod stream_power;
pub mod thermal;

pub use alluvium::Alluvium;
pub use stream_power::StreamPower;
pub use thermal::Thermal;
