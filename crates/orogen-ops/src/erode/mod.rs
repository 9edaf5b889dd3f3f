//! Operators that wear land down and lay it elsewhere.

pub mod pipes;
pub mod stream_power;
pub mod thermal;

pub use pipes::Pipes;
pub use stream_power::StreamPower;
pub use thermal::Thermal;
