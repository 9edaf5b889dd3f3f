//! Operators that wear land down and lay it elsewhere.

pub mod alluvium;
pub mod coast;
pub mod creep;
pub mod detail;
pub mod droplets;
pub mod glacier;
mod hillslope;
pub mod musgrave;
pub mod pipes;
mod soil;
pub mod stream_power;
pub mod thermal;
pub mod wind;

pub use alluvium::Alluvium;
pub use coast::Coast;
pub use creep::Creep;
pub use detail::Detail;
pub use droplets::Droplets;
pub use glacier::Glacier;
pub use musgrave::Musgrave;
pub use pipes::Pipes;
pub use stream_power::StreamPower;
pub use thermal::Thermal;
pub use wind::Wind;
