//! What an operator that reaches the whole world has to say about windows of other spacings.

use crate::ctx::Ctx;
use crate::error::OpError;
use crate::terrain::Terrain;

/// A step that reaches the whole world, solved on the recipe's own frame.
#[derive(Clone, Copy, Debug)]
pub struct Solved<'a> {
    /// The land before the step; `None` where it makes land from nothing.
    pub before: Option<&'a Terrain>,
    /// The land after it, without the step's mask.
    pub after: &'a Terrain,
}

/// Brings what a solved step made to windows of another spacing, in the operator's own way (see [`crate::Op::refiner`]).
pub trait Refiner: Send + Sync {
    /// Finishes a window: `window` holds the step's result as interpolation alone gives it, on samples of another spacing.
    /// Only layers and vectors that the operator writes may change. A window must come out as if cut from the whole, to
    /// the bit.
    ///
    /// # Errors
    /// As [`crate::Op::run`].
    fn refine(&self, window: Terrain, ctx: &Ctx<'_>) -> Result<Terrain, OpError>;

    /// Bytes that it keeps in memory.
    fn size_bytes(&self) -> usize;
}
