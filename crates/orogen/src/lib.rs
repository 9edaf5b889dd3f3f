//! Orogen makes whole natural environments: land shaped, eroded and drained, its climate and its cover.
//!
//! This is the library that programs depend on: it joins the engine (`orogen-core`, `orogen-ops`), recipes
//! (`orogen-recipe`) and file formats (`orogen-io`) behind a few calls.
//!
//! ```
//! use orogen::prelude::*;
//!
//! let recipe = Recipe::parse("hill.toml", br#"
//!     frame = { size_m = 4096.0, samples = 129 }
//!     [[step]]
//!     id = "island"
//!     op = "source.island"
//!     params = { polygons = 500 }
//! "#)?;
//! let built = orogen::build(&recipe, &BuildOptions::default(), &Unobserved)?;
//! let (low, high) = built.terrain.get(layer::HEIGHT)?.range().ok_or("no land")?;
//! assert!(low < 0.0 && high > 100.0);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod build;
mod catalog;
mod describe;
mod error;
mod explain;
pub mod export;
pub mod flora;
mod folder;
mod manifest;
mod plants;
pub mod presets;
mod session;
mod textures;

#[cfg(feature = "native")]
pub use build::open_cache;
pub use build::{
    BuildOptions, Built, TakesView, Window, build, build_to_folder, check, read_recipe, save, save_over,
    with_threads,
};
pub use catalog::catalog;
pub use describe::{
    Entry, Parameter, bytes_a_sample, catalog_json, entries, long_defaults, operator_json, operator_text,
    parameters, reach_text, recipe_schema, short_default, summary,
};
pub use error::BuildError;
pub use explain::{Explanation, explain};
pub use export::{ExportChanges, ExportKind, ExportOptions, Exported, Exports, export};
pub use folder::read_folder;
pub use manifest::{FileReport, FrameReport, Manifest, StepEntry, realism};
pub use orogen_core as core;
pub use orogen_io as io;
pub use orogen_ops as ops;
pub use orogen_recipe as recipe;
pub use orogen_texture as texture;
pub use plants::{has_plants, plants};
pub use session::{session, tile, tile_frame};
pub use textures::{TextureOptions, save_textures};

/// The version of this build of Orogen.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// What most programs need.
pub mod prelude {
    pub use crate::{BuildOptions, Built, build, catalog};
    pub use orogen_core::{
        Cancel, Catalog, Coef, Ctx, Frame, Op, Raster, Rect, Seed, Terrain, layer, vector,
    };
    pub use orogen_recipe::{Observer, Recipe, Unobserved};
}
