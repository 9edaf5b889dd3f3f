//! Operators that wear land down and lay it elsewhere.

pub mod droplets;
pub mod stream_power;
pub mod thermal;

pub use droplets::Droplets;
pub use stream_power::StreamPower;
pub use thermal::Thermal;
