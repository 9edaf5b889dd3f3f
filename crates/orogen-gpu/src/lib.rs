//! Heights and normals of tiles of land, made by a graphics device: twins of noise and features, for land that is looked at.
//!
//! ```text
//! Checked ──▶ Plan::of ──▶ Generator::run ──▶ Batch: heights and normals on the device ──▶ Batch::heights
//!             or why not    many tiles at once                                               read back
//! ```
//!
//! The processor is the reference and makes all that is kept: what comes from here is [`orogen_core::Backend::Gpu`]'s, equal to
//! the reference within [`TOLERANCE`] and not to the bit, so that no cache and no file may hold it.
//!
//! A shader never sees metres of the world. The processor finds for every column and row of a tile the cell of a lattice,
//! as a whole number, and the share of the way across it, in double precision; the device does the rest. So land far
//! from the origin is as good as land at it, and samples that two tiles share are equal to the bit. Nothing is asked of the
//! device that a browser with WebGL2 lacks: heights are drawn into a texture of floats, tables come as textures of whole numbers.
//!
//! This crate reads no files and prints nothing.

mod change;
mod device;
mod error;
mod features;
mod generator;
mod noise;
mod numbers;
mod passes;
mod plan;

pub use device::Device;
pub use error::GpuError;
pub use generator::{Batch, Generator};
pub use plan::{Plan, Unsupported};

/// How far heights may differ from those of the processor, as a share of how high the land is ([`Plan::relief_m`]). It is a matter
/// of single precision: about 2⁻²⁴ of the land for each operation on its sum. Noise and features on Mesa's driver are within
/// a third of this (`tests/agree.rs`); drivers that fuse or divide differently stay within it.
pub const TOLERANCE: f64 = 1e-5;
