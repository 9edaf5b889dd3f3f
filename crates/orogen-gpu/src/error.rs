//! Why the device gave nothing.

use thiserror::Error;

/// Why the device gave nothing, in a sentence.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum GpuError {
    /// No graphics processor, and no driver that does its work in software.
    #[error(
        "no graphics adapter: install a Vulkan driver; Mesa's works without a graphics card (on Debian and Ubuntu: apt install mesa-vulkan-drivers libvulkan1)"
    )]
    NoAdapter,
    /// The device asked for is not there.
    #[error("no graphics adapter is called {wanted:?}; available: {found}")]
    NoSuchAdapter {
        /// What was asked for.
        wanted: String,
        /// What there is.
        found: String,
    },
    /// The adapter cannot do it.
    #[error("the graphics adapter {adapter} does not suit: {reason}")]
    Adapter {
        /// Its name.
        adapter: String,
        /// What it lacks.
        reason: String,
    },
    /// It failed on the way.
    #[error("the graphics adapter failed: {0}")]
    Device(String),
    /// The tiles do not fit.
    #[error("{0}")]
    Tiles(String),
}
