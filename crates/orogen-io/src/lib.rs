//! File formats of Orogen, one in each file: bytes to rasters and back, and nothing else.
//!
//! Readers face strangers' files: they never panic, never reserve more memory than the file itself can account
//! for, and every failure is a sentence that says what was found and what is allowed. Writers give the same bytes
//! for every thread count.

mod about;
pub mod ascii_grid;
pub mod caption;
mod color;
mod deflate;
pub mod drawing;
pub mod elevation;
mod error;
pub mod exr;
pub mod features;
mod files;
mod folder;
pub mod geojson;
pub mod geotiff;
pub mod glb;
pub mod ground;
mod guard;
pub mod image;
pub mod instances_csv;
mod levels;
mod limits;
pub mod mesh;
pub mod model;
pub mod obj;
pub mod oblique;
mod plain_file;
pub mod plan;
pub mod plant;
pub mod plot;
pub mod png16;
pub mod png8;
mod png_input;
pub mod preview;
pub mod raw;
pub mod relief;
mod same_file;
pub mod sheet;
mod sidecar;
mod strokes;
pub mod svg;
pub mod triangles;
mod watched;
pub mod xyz;

pub use about::About;
pub use error::{FormatError, ReadError};
pub use files::FolderFiles;
pub use folder::{Existing, FolderError, Hashed, MANIFEST, OutputFolder, Written, refuse_replacing};
pub use levels::Levels;
pub use limits::Limits;
pub use plain_file::{plain_file, read_bytes};
pub use same_file::same_file;
pub use sidecar::{Sidecar, WithSidecar};
pub use watched::Watched;
