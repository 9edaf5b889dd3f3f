//! The operators of Orogen: one file each, in the order that land is made.
//!
//! Nothing here reads a file, prints or looks at a clock; see [`orogen_core::Op`] for what every operator promises.

mod brush;
pub mod climate;
pub mod combine;
pub mod cover;
pub mod drainage;
pub mod erode;
pub mod held_lines;
pub mod mask;
pub mod noise;
mod octaves;
pub mod reference;
pub mod rock;
pub mod shape;
mod simd;
pub mod source;
pub mod survey;
#[cfg(test)]
mod test_support;
pub mod water;
