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
mod fault;
mod mask;
mod node;
mod overrides;
mod plan;
mod recipe;
mod refine;
mod run;
mod session;
pub mod vectors;

pub use cache::{Cache, DEFAULT_MAX_BYTES};
pub use check::{Checked, Limits, Step};
pub use fault::{Fault, FaultKind, Faults, Place};
pub use mask::limit_to_mask;
pub use overrides::{Overrides, Set};
pub use plan::{Plan, PlanError, Task, Use, Work, dirty};
pub use recipe::{Export, MAX_BYTES, MAX_STEPS, Recipe};
pub use run::{Meter, Observer, Run, RunError, RunOptions, StepReport, Unobserved, run};
pub use session::{Session, SessionOptions, TileError};
