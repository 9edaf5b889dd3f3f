//! The ground Orogen stands on: where a grid lies ([`Frame`]), what it holds ([`Raster`], [`Terrain`]),
//! and what an operator promises ([`Op`]).
//!
//! This crate never reads a file, prints, looks at a clock or starts a thread pool of its own.

pub mod biome;
mod cell_ix;
mod ctx;
pub mod distance;
pub mod edits;
mod error;
mod explain;
mod features;
mod files;
mod frame;
pub mod instances;
mod kinds;
mod land_class;
pub mod layer;
pub mod looped;
pub mod material;
pub mod math;
mod neighbors;
mod op;
pub mod param;
mod place;
mod provenance;
mod raster;
mod ready;
mod refiner;
pub mod rng;
pub mod species;
mod spline;
pub mod stepped;
mod terrain;
#[cfg(any(test, feature = "testkit"))]
pub mod testkit;
pub mod values;
pub mod vector;
pub mod weights;
pub mod work;

pub use cell_ix::CellIx;
pub use ctx::{Backend, Cancel, Ctx, Figure, Silent, Watch};
pub use error::{Cancelled, OpError};
pub use explain::{Cause, Reason};
pub use features::{FeatureSet, Features, Property};
pub use files::{Elevation, Files, NoFiles};
pub use frame::{Frame, FrameError, Rect};
pub use kinds::{Kind, LayerData, Sample, Weight};
pub use land_class::LandClass;
pub use layer::{Layer, LayerName};
pub use looped::Loops;
pub use neighbors::{D8, Neighbor};
pub use op::{AnyOp, Catalog, Footprint, Layers, Op, Operator, Reach};
pub use param::Coef;
pub use place::{Crs, Georeference, Place};
pub use provenance::{Part, Provenance};
pub use raster::{Cell, Raster};
pub use ready::{Applying, Prepared, Ready};
pub use refiner::{Refiner, Solved};
pub use rng::Seed;
pub use spline::Spline;
pub use stepped::{Moment, Progress, Simulated, Started, Stepped};
pub use terrain::{Parts, Terrain};
