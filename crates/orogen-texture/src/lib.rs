//! Surface textures made by the program: rock, loose stones, soil, plants seen from above, snow and ice.
//!
//! Each [`Texture`] gives [`Maps`]: albedo, height, normals, roughness and ambient occlusion of a square of ground that
//! repeats without a seam, with its size in metres, and a [`Detail`] map against visible repetition (seed of the idea: a
//! thesis on endless terrain, chapter 5.5). What they are made from is public too: [`noise`] that repeats, [`shapes`] that
//! are laid on a [`Canvas`] by the thousand, [`filter`], [`normal`], [`occlusion`], [`color`].
//!
//! This crate never reads a file, prints or looks at a clock. The same texture, size and seed give the same bits on every
//! machine and with any number of threads.
//!
//! ```
//! use orogen_core::Seed;
//! use orogen_texture::Texture;
//!
//! let gravel = Texture::named("gravel")?.make(64, Seed::from_text("brook"))?;
//! assert_eq!(gravel.albedo.len(), 64 * 64);
//! # Ok::<(), orogen_texture::TextureError>(())
//! ```

mod canvas;
pub mod color;
mod detail;
pub mod dice;
mod error;
mod field;
pub mod filter;
mod maps;
mod materials;
mod mips;
pub mod noise;
pub mod normal;
pub mod occlusion;
pub mod preview;
pub mod shapes;
mod texture;

pub use canvas::{Bounds, Canvas, Shape, Spot, Texel};
pub use detail::{Detail, Pattern, averaged};
pub use error::TextureError;
pub use field::Field;
pub use maps::Maps;
pub use mips::Level;
pub use texture::{SIZES, Texture};
