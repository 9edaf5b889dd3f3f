//! Recipes: read from TOML, checked before anything runs, planned for any window, run with a cache.
//!
//! ```text
//! bytes ──▶ Recipe::parse ──▶ Recipe::apply ──▶ Recipe::check ──▶ Plan::new ──▶ run ──▶ Terrain
//!            syntax faults     set, seed         all other faults   any window    cached, cancellable
//! ```
//!
//! This crate reads and writes nothing but the cache folder it is given, and prints nothing.

mod cache;
mod check;
mod clock;
mod edit;
mod fault;
#[cfg(feature = "native")]
mod folder;
mod mask;
mod node;
mod overrides;
mod plan;
mod recipe;
mod refine;
mod run;
mod session;
mod stepped;
mod store;
pub mod vectors;
mod windows;

pub use cache::{Cache, DEFAULT_MAX_BYTES};
pub use check::{Checked, Limits, Step};
pub use clock::Stopwatch;
pub use edit::{Answer, Pending};
pub use fault::{Fault, FaultKind, Faults, Place};
#[cfg(feature = "native")]
pub use folder::Folder;
pub use mask::limit_to_mask;
pub use overrides::{Overrides, Set};
pub use plan::{Plan, PlanError, Task, Use, Work, dirty};
pub use recipe::{Export, MAX_BYTES, MAX_STEPS, Recipe};
pub use run::{Finished, Meter, Observer, RunError, RunOptions, StepReport, Unobserved, run};
pub use session::{Session, SessionOptions, TileError};
pub use stepped::{Run, RunMoment, Snapshot, StartOptions};
pub use store::{InMemory, Name, Seen, Shelf, Store, Unread};
