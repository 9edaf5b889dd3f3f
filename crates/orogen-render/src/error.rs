//! Why there is no picture.

use orogen_core::OpError;
use orogen_recipe::TileError;
use thiserror::Error;

/// Why there is no picture, in a sentence.
#[derive(Debug, Error)]
pub enum RenderError {
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
    /// What was asked for makes no picture.
    #[error("{0}")]
    Call(String),
    /// The land could not be made on the device.
    #[error(transparent)]
    Gpu(#[from] orogen_gpu::GpuError),
    /// The land could not be made.
    #[error(transparent)]
    Tile(#[from] TileError),
    /// The land lacks something.
    #[error(transparent)]
    Land(#[from] OpError),
    /// What stands on the land could not be made.
    #[error("{0}")]
    Plants(String),
    /// Somebody stopped it.
    #[error("cancelled")]
    Cancelled,
}

impl From<orogen_core::Cancelled> for RenderError {
    fn from(_: orogen_core::Cancelled) -> Self {
        Self::Cancelled
    }
}

impl RenderError {
    /// Whether the caller asked for what cannot be, or the machine lacks what it takes.
    #[must_use]
    pub fn is_callers_fault(&self) -> bool {
        matches!(self, Self::NoAdapter | Self::NoSuchAdapter { .. } | Self::Adapter { .. } | Self::Call(_))
    }
}
