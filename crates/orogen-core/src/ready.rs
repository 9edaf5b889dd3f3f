//! An operator made ready: checked, and everything done that does not depend on where it is applied.

use std::fmt;
use std::sync::Arc;

use crate::ctx::Ctx;
use crate::error::OpError;
use crate::frame::Frame;
use crate::layer::LayerName;
use crate::looped;
use crate::op::{AnyOp, Layers};
use crate::terrain::Terrain;

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

    /// Applies it, with the checks of [`crate::Op::apply`] but that of the parameters.
    ///
    /// # Errors
    /// As [`crate::Op::apply`].
    pub fn apply(&self, terrain: Terrain, ctx: &Ctx<'_>) -> Result<Terrain, OpError> {
        apply(self.op.as_ref(), &self.layers, self.prepared.as_deref(), terrain, ctx)
    }
}

impl fmt::Debug for Ready {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Ready({:?})", self.op)
    }
}

/// Applies an operator whose parameters are right: looks at what goes in and what comes out, and notes what the outputs
/// follow from.
pub(crate) fn apply(
    op: &dyn AnyOp,
    layers: &Layers,
    prepared: Option<&dyn Prepared>,
    mut terrain: Terrain,
    ctx: &Ctx<'_>,
) -> Result<Terrain, OpError> {
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
    let mut provenance = terrain.provenance().clone();
    let run = |terrain: Terrain, ctx: &Ctx<'_>| match prepared {
        Some(prepared) => prepared.run(terrain, ctx),
        None => op.run(terrain, ctx),
    };
    let mut made = looped::run(op, layers, &run, terrain, ctx)?;
    let written = made.check_values(&layers.writes).map_err(overflow)?;
    if written.holes && !holes && !op.makes_holes() {
        return Err(made_hole(&made, &layers.writes));
    }
    layers.provenance(&mut provenance);
    made.set_provenance(provenance);
    Ok(made)
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
