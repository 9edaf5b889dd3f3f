//! Work in pieces: how an operator gives control back in the middle.
//!
//! No thread and no clock takes part: the caller calls [`Stepped::advance`] until the work is done, and may look at the land,
//! do something else or give up between two calls. The pieces are the operator's own, so however many of them
//! are done at a time, the result has the same bits.

use crate::ctx::Ctx;
use crate::error::OpError;
use crate::op::Op;
use crate::terrain::Terrain;

/// Whether there is more to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// Another piece is left.
    More,
    /// All pieces are done.
    Done,
}

/// Time that went by in the simulated world.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Simulated {
    /// In years.
    Years(f64),
    /// In seconds.
    Seconds(f64),
}

/// How far work has come.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Moment {
    /// Share of the work that is done, 0 to 1.
    pub share: f64,
    /// Time that went by in the simulated world, where the operator knows of time.
    pub time: Option<Simulated>,
}

impl Moment {
    /// Before anything is done.
    pub const START: Self = Self { share: 0.0, time: None };
    /// When everything is done.
    pub const END: Self = Self { share: 1.0, time: None };
}

/// An operator at work on one terrain. It owns all it needs.
pub trait Stepped: Send {
    /// Does the next piece: about one pass over the land, at most. Not to be called again once it is done, or after an
    /// error.
    ///
    /// # Errors
    /// As [`Op::run`].
    fn advance(&mut self, ctx: &Ctx<'_>) -> Result<Progress, OpError>;

    /// How far it has come.
    fn moment(&self) -> Moment;

    /// The land as it is now, as if the work ended here: finite where the input is, on the input's frame.
    ///
    /// # Errors
    /// As [`Op::run`].
    fn view(&self) -> Result<Terrain, OpError>;

    /// The result, once all pieces are done.
    ///
    /// # Errors
    /// As [`Op::run`].
    fn finish(self: Box<Self>, ctx: &Ctx<'_>) -> Result<Terrain, OpError>;
}

/// How an operator begins (see [`Op::start`]).
pub enum Started {
    /// It works in one piece, [`Op::run`], on this land.
    Whole(Terrain),
    /// It works in pieces.
    Stepped(Box<dyn Stepped>),
}

/// [`Op::run`] of an operator that works in pieces: all of them, one after the other.
///
/// # Errors
/// As [`Op::run`].
pub fn run_through<T: Op>(op: &T, terrain: Terrain, ctx: &Ctx<'_>) -> Result<Terrain, OpError> {
    match op.start(terrain, ctx)? {
        Started::Whole(_) => Err(OpError::Internal(format!("{} does not work in pieces", T::ID))),
        Started::Stepped(mut work) => {
            while work.advance(ctx)? == Progress::More {}
            work.finish(ctx)
        }
    }
}
