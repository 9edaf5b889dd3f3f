//! An operator made ready: checked, and everything done that does not depend on where it is applied.

use std::fmt;
use std::sync::Arc;

use crate::ctx::Ctx;
use crate::error::OpError;
use crate::frame::Frame;
use crate::layer::LayerName;
use crate::looped::Looping;
use crate::op::{AnyOp, Layers};
use crate::place::Place;
use crate::provenance::Provenance;
use crate::stepped::{Moment, Progress, Started, Stepped};
use crate::terrain::Terrain;
use crate::weights;

/// What an operator worked out ahead of its windows (see [`crate::Op::prepare`]).
pub trait Prepared: Send + Sync {
    /// The rest of the work, on one window of the world that this was prepared for.
    ///
    /// # Errors
    /// As [`crate::Op::run`].
    fn run(&self, terrain: Terrain, ctx: &Ctx<'_>) -> Result<Terrain, OpError>;
}

/// An operator for one world and seed, to be applied to many windows, from any thread.
pub struct Ready {
    op: Arc<dyn AnyOp>,
    layers: Layers,
    prepared: Option<Box<dyn Prepared>>,
}

impl Ready {
    /// Checks the parameters and does the work that all windows of a world share. `ctx` has the seed and the files.
    ///
    /// # Errors
    /// When a parameter is wrong, a file cannot be read or the work is cancelled.
    pub fn new(op: Arc<dyn AnyOp>, world: &Frame, ctx: &Ctx<'_>) -> Result<Self, OpError> {
        op.check()?;
        let prepared = op.prepare(world, ctx)?;
        Ok(Self { layers: op.layers(), op, prepared })
    }

    /// The operator.
    #[must_use]
    pub fn op(&self) -> &dyn AnyOp {
        self.op.as_ref()
    }

    fn applied(&self) -> Applied<'_> {
        Applied { op: self.op.as_ref(), layers: &self.layers, prepared: self.prepared.as_deref() }
    }

    /// Applies it, with the checks of [`crate::Op::apply`] but that of the parameters.
    ///
    /// # Errors
    /// As [`crate::Op::apply`].
    pub fn apply(&self, terrain: Terrain, ctx: &Ctx<'_>) -> Result<Terrain, OpError> {
        self.applied().run(terrain, ctx)
    }

    /// Begins to apply it piece by piece, with the same checks.
    ///
    /// # Errors
    /// As [`crate::Op::apply`].
    pub fn start(self: &Arc<Self>, terrain: Terrain, ctx: &Ctx<'_>) -> Result<Applying, OpError> {
        let pieces = self.applied().start(terrain, ctx)?;
        Ok(Applying { ready: self.clone(), pieces })
    }
}

impl fmt::Debug for Ready {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Ready({:?})", self.op)
    }
}

/// An operator on its way through one terrain. The context must be of the same seed, world, files and second terrain at
/// every call.
pub struct Applying {
    ready: Arc<Ready>,
    pieces: Pieces,
}

impl Applying {
    /// Does the next piece. Not to be called again once it is done, or after an error.
    ///
    /// # Errors
    /// As [`crate::Op::apply`].
    pub fn advance(&mut self, ctx: &Ctx<'_>) -> Result<Progress, OpError> {
        self.pieces.advance(&self.ready.applied(), ctx)
    }

    /// How far it has come.
    #[must_use]
    pub fn moment(&self) -> Moment {
        match &self.pieces.now {
            Now::Whole(_) | Now::Failed => Moment::START,
            Now::Stepped(work, _) => work.moment(),
            Now::Done(_) => Moment::END,
        }
    }

    /// Whether the land can be looked at on its way: the operator works in pieces.
    #[must_use]
    pub fn is_stepped(&self) -> bool {
        matches!(self.pieces.now, Now::Stepped(..))
    }

    /// The land as it is now: before the operator, where it works in one piece. On land that loops, what an operator
    /// [mends](crate::Op::mend_loop) in the end is not mended yet.
    ///
    /// # Errors
    /// As [`crate::Op::apply`].
    pub fn view(&self) -> Result<Terrain, OpError> {
        self.pieces.view(&self.ready.applied())
    }

    /// The result, once it is done.
    ///
    /// # Errors
    /// When it is not done yet.
    pub fn into_result(self) -> Result<Terrain, OpError> {
        self.pieces.into_result()
    }
}

/// An operator whose parameters are right: looks at what goes in and what comes out, and notes what the outputs follow from.
pub(crate) struct Applied<'a> {
    pub op: &'a dyn AnyOp,
    pub layers: &'a Layers,
    pub prepared: Option<&'a dyn Prepared>,
}

/// What an operator has done so far.
struct Pieces {
    looping: Looping,
    /// Of the input.
    provenance: Provenance,
    place: Place,
    holes: bool,
    now: Now,
}

enum Now {
    /// The land before an operator that works in one piece.
    Whole(Terrain),
    /// Its pieces, and whether there are more or only the end is left.
    Stepped(Box<dyn Stepped>, Progress),
    Done(Terrain),
    Failed,
}

impl Applied<'_> {
    /// All pieces, one after the other.
    pub fn run(&self, terrain: Terrain, ctx: &Ctx<'_>) -> Result<Terrain, OpError> {
        let mut pieces = self.start(terrain, ctx)?;
        while pieces.advance(self, ctx)? == Progress::More {}
        pieces.into_result()
    }

    fn start(&self, mut terrain: Terrain, ctx: &Ctx<'_>) -> Result<Pieces, OpError> {
        let Self { op, layers, prepared } = *self;
        require(&terrain, layers)?;
        let mut holes = terrain.check_values(&layers.reads)?.holes;
        if !layers.reads_second.is_empty() {
            let second = ctx.need_second(op.id())?;
            require_layers(second, &layers.reads_second)?;
            for name in &layers.reads_second {
                holes |= second.values(name)?.holes;
            }
        }
        ctx.tick(0, 1)?;
        let (provenance, place) = (terrain.provenance().clone(), terrain.place());
        let (looping, terrain) = Looping::start(op, layers, terrain, ctx);
        let now = match prepared {
            Some(_) => Now::Whole(terrain),
            None => match looping.within(ctx, |ctx| op.start(terrain, ctx))? {
                Started::Whole(terrain) => Now::Whole(terrain),
                Started::Stepped(work) => Now::Stepped(work, Progress::More),
            },
        };
        Ok(Pieces { looping, provenance, place, holes, now })
    }
}

impl Pieces {
    fn advance(&mut self, applied: &Applied<'_>, ctx: &Ctx<'_>) -> Result<Progress, OpError> {
        let made = match std::mem::replace(&mut self.now, Now::Failed) {
            Now::Whole(terrain) => self.looping.within(ctx, |ctx| match applied.prepared {
                Some(prepared) => prepared.run(terrain, ctx),
                None => applied.op.run(terrain, ctx),
            })?,
            Now::Stepped(mut work, Progress::More) => {
                let left = self.looping.within(ctx, |ctx| work.advance(ctx))?;
                self.now = Now::Stepped(work, left);
                return Ok(Progress::More);
            }
            Now::Stepped(work, Progress::Done) => self.looping.within(ctx, |ctx| work.finish(ctx))?,
            Now::Done(terrain) => {
                self.now = Now::Done(terrain);
                return Ok(Progress::Done);
            }
            Now::Failed => return Err(OpError::Internal(String::from("work went on after it had failed"))),
        };
        let mut made = self.looping.finish(applied.op, applied.layers, made, ctx)?;
        let written = made.check_values(&applied.layers.writes).map_err(overflow)?;
        if written.holes && !self.holes && !applied.op.makes_holes() {
            return Err(made_hole(&made, &applied.layers.writes));
        }
        keep_families_whole(&mut made, &applied.layers.writes)?;
        self.now = Now::Done(self.described(applied, made));
        Ok(Progress::Done)
    }

    /// Notes what the outputs follow from, and where on Earth the land lies.
    fn described(&self, applied: &Applied<'_>, mut made: Terrain) -> Terrain {
        let mut provenance = self.provenance.clone();
        applied.layers.provenance(&mut provenance);
        made.set_provenance(provenance);
        made.set_place(self.place);
        made
    }

    fn view(&self, applied: &Applied<'_>) -> Result<Terrain, OpError> {
        match &self.now {
            Now::Whole(terrain) => Ok(self.looping.before(terrain)),
            Now::Stepped(work, _) => {
                let made = self.looping.rolled(applied.layers, work.view()?);
                Ok(self.described(applied, made))
            }
            Now::Done(terrain) => Ok(terrain.clone()),
            Now::Failed => Err(OpError::Internal(String::from("work that failed has nothing to show"))),
        }
    }

    fn into_result(self) -> Result<Terrain, OpError> {
        match self.now {
            Now::Done(terrain) => Ok(terrain),
            _ => Err(OpError::Internal(String::from("work that is not done has no result"))),
        }
    }
}

/// A family of weights is written as a whole: what an operator left of an earlier one does not belong to its own.
fn keep_families_whole(made: &mut Terrain, writes: &[LayerName]) -> Result<(), OpError> {
    let written = |name: &LayerName| writes.contains(name);
    let families = weights::families(made.layers());
    let touched = families.values().filter(|members| members.iter().any(|(name, _)| written(name)));
    let mut left = Vec::new();
    for members in touched {
        let (own, others): (Vec<_>, Vec<_>) = members.iter().copied().partition(|(name, _)| written(name));
        if let Some((at, sum)) = weights::unsound(&own) {
            let cols = made.frame().cols();
            return Err(OpError::Internal(format!(
                "the weights of {:?} sum to {sum} instead of {} at column {}, row {}",
                own[0].0.family(),
                weights::WHOLE,
                at % cols,
                at / cols
            )));
        }
        left.extend(others.into_iter().map(|(name, _)| name.clone()));
    }
    left.iter().for_each(|name| drop(made.remove(name)));
    Ok(())
}

/// A value that no land has, which the operator made itself.
fn overflow(error: OpError) -> OpError {
    match error {
        OpError::Value { name, value, col, row } => OpError::Overflow { name, value, col, row },
        other => other,
    }
}

/// The first hole in what an operator wrote.
fn made_hole(made: &Terrain, writes: &[LayerName]) -> OpError {
    let found = writes.iter().find_map(|name| {
        let raster = made.get_named::<f32>(name).ok()?;
        let at = raster.as_slice().iter().position(|v| v.is_nan())?;
        Some(OpError::Overflow {
            name: name.clone(),
            value: f32::NAN,
            col: at % raster.cols(),
            row: at / raster.cols(),
        })
    });
    found.unwrap_or_else(|| OpError::Internal(String::from("a counted hole does not exist")))
}

fn require(terrain: &Terrain, layers: &Layers) -> Result<(), OpError> {
    require_layers(terrain, &layers.reads)?;
    if let Some(name) = layers.reads_vectors.iter().find(|name| !terrain.vectors().contains_key(*name)) {
        let available = terrain.vectors().keys().cloned().collect();
        return Err(OpError::MissingVectors { name: name.clone(), available });
    }
    match layers.reads_instances.iter().find(|name| !terrain.instances().contains_key(*name)) {
        None => Ok(()),
        Some(name) => Err(OpError::MissingInstances {
            name: name.clone(),
            available: terrain.instances().keys().cloned().collect(),
        }),
    }
}

fn require_layers(terrain: &Terrain, names: &[LayerName]) -> Result<(), OpError> {
    match names.iter().find(|name| !terrain.layers().contains_key(*name)) {
        None => Ok(()),
        Some(name) => Err(OpError::MissingLayer {
            name: name.clone(),
            available: terrain.layers().keys().cloned().collect(),
        }),
    }
}
