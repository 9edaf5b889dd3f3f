//! Land that loops stays a loop: how an operator runs on a frame whose last column and row are its first again.
//!
//! Operators know edges, not loops. So the land is unrolled before an operator sees it: what lies beyond an edge is what
//! lies inside the opposite one. Afterwards the result is rolled up again:
//!
//! - `Point`: nothing to do.
//! - `Within(m)`: unrolled by `m` metres, as far as any sample looks; the result is that of an endless row of copies.
//! - `World`: unrolled by half the land to all sides. Near a seam the result is known twice, once from either end of the
//!   unrolled land; one fades into the other over a quarter of the land, so that the seam is a place like any other.
//!
//! An operator may also keep loops [by itself](Loops::Itself), without the price of a larger map.

mod turns;
mod vectors;

use std::sync::Arc;

use crate::ctx::Ctx;
use crate::error::OpError;
use crate::frame::Frame;
use crate::kinds::LayerData;
use crate::layer::LayerName;
use crate::op::{Layers, Reach};
use crate::provenance::Part;
use crate::terrain::Terrain;

use self::turns::Turns;

/// How an operator of [`Reach::World`] keeps land that loops a loop.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Loops {
    /// It sees the land unrolled, twice as long along either side, and both ends of its result fade into each other.
    #[default]
    Unrolled,
    /// It knows of loops: it sees the land without the last column and row, and takes the first to lie beyond the last.
    Itself,
    /// It acts at places that the user named, or reads what is there: it sees the land as it is.
    AsIs,
}

/// The frame on which an operator that reaches the whole world works: larger than the world where that loops.
#[must_use]
pub fn unrolled(world: &Frame) -> Frame {
    Turns::of(world, world).widened(world)
}

/// Land without the column and the row that repeat the first, as an operator that keeps loops [by itself](Loops::Itself) sees it,
/// on a frame that reaches so many metres further on every side, as if copies of it lay side by side.
#[must_use]
pub fn repeated(once: &Terrain, world: &Frame, far_m: f64) -> Terrain {
    let turns = Turns::of(world, world);
    let names: Vec<LayerName> = once.layers().keys().cloned().collect();
    turns.unrolled(once, &names, &turns.expanded(world, far_m), true)
}

/// How an operator runs on the land: on a world that loops, what it makes of land that loops does too.
pub(crate) enum Looping {
    /// On land that does not loop.
    No,
    /// On land that loops, as it is; with the layers that do not meet themselves before it runs.
    AsItIs { turns: Turns, known: Vec<LayerName> },
    /// On land unrolled.
    Unrolled(Box<Unrolled>),
}

pub(crate) struct Unrolled {
    turns: Turns,
    world: Frame,
    /// The land before, to be changed.
    terrain: Terrain,
    second: Option<Terrain>,
    /// Where the operator works.
    on: Frame,
    /// Whether both ends of the result fade into each other.
    fades: bool,
}

impl Looping {
    /// How an operator will run, and the land that it will see.
    pub fn start(
        op: &dyn crate::op::AnyOp,
        layers: &Layers,
        terrain: Terrain,
        ctx: &Ctx<'_>,
    ) -> (Self, Terrain) {
        let (world, frame) = (ctx.world(&terrain), *terrain.frame());
        let turns = Turns::of(&frame, &world);
        if !turns.any() {
            return (Self::No, terrain);
        }
        // Sources make their own land: only they can make it repeat.
        let source = layers.reads.is_empty() && layers.reads_second.is_empty();
        let reach = op.reach(&frame);
        if source || reach == Reach::Point || op.loops() == Loops::AsIs && reach == Reach::World {
            // What it replaces unread is its own land.
            let updated = layers.writes.iter().filter(|name| layers.reads.contains(name));
            let known = updated.filter(|name| seam_of(&terrain, name, &turns).is_some()).cloned().collect();
            return (Self::AsItIs { turns, known }, terrain);
        }
        warn_of_seams(&terrain, &layers.reads, &[], &turns, ctx);
        let fades = reach == Reach::World && op.loops() == Loops::Unrolled;
        let on = match reach {
            Reach::Point => frame,
            Reach::Within(far_m) => turns.expanded(&frame, far_m),
            Reach::World if fades => turns.widened(&frame),
            Reach::World => turns.once(&frame),
        };
        let second = ctx.second().map(|second| turns.unrolled(second, &layers.reads_second, &on, fades));
        let seen: Vec<LayerName> = layers.inputs().filter_map(Part::into_layer).collect();
        let unrolled = turns.unrolled(&terrain, &seen, &on, fades);
        (Self::Unrolled(Box::new(Unrolled { turns, world, terrain, second, on, fades })), unrolled)
    }

    /// Does a part of the work in the surrounding of the land that the operator sees.
    pub fn within<T>(
        &self,
        ctx: &Ctx<'_>,
        work: impl FnOnce(&Ctx<'_>) -> Result<T, OpError>,
    ) -> Result<T, OpError> {
        let Self::Unrolled(unrolled) = self else { return work(ctx) };
        let Unrolled { world, terrain, second, on, fades, .. } = &**unrolled;
        let inner = ctx.on_loop(*world, second.as_ref());
        let done = work(&inner)?;
        // Amounts were measured on all of the unrolled land.
        inner.hand_on(ctx, if *fades { terrain.frame().len() as f64 / on.len() as f64 } else { 1.0 });
        Ok(done)
    }

    /// The land before the operator; `seen` is what the operator sees of it.
    pub fn before(&self, seen: &Terrain) -> Terrain {
        match self {
            Self::No | Self::AsItIs { .. } => seen.clone(),
            Self::Unrolled(unrolled) => unrolled.terrain.clone(),
        }
    }

    /// What the operator made, rolled up again.
    pub fn rolled(&self, layers: &Layers, made: Terrain) -> Terrain {
        match self {
            Self::No | Self::AsItIs { .. } => made,
            Self::Unrolled(unrolled) => unrolled.rolled(layers, &made),
        }
    }

    /// The result, from what the operator made: rolled up, and mended where that is needed. Says so when land that met
    /// itself does not any more.
    pub fn finish(
        &self,
        op: &dyn crate::op::AnyOp,
        layers: &Layers,
        made: Terrain,
        ctx: &Ctx<'_>,
    ) -> Result<Terrain, OpError> {
        if let Self::AsItIs { turns, known } = self {
            warn_of_seams(&made, &layers.writes, known, turns, ctx);
        }
        let rolled = self.rolled(layers, made);
        match self {
            Self::Unrolled(unrolled) if unrolled.fades => op.mend_loop(rolled, ctx),
            _ => Ok(rolled),
        }
    }
}

impl Unrolled {
    fn rolled(&self, layers: &Layers, made: &Terrain) -> Terrain {
        let Self { turns, on, fades, .. } = *self;
        let mut terrain = self.terrain.clone();
        let frame = *terrain.frame();
        let written = layers.writes.iter().filter_map(|name| Some((name, made.layers().get(name)?)));
        let written: Vec<(LayerName, LayerData)> =
            written.map(|(name, data)| (name.clone(), turns.rolled(data, &on, &frame, fades))).collect();
        for (name, data) in written {
            terrain.set_named(name, data);
        }
        for name in &layers.writes_instances {
            let Some(made) = made.instances().get(name) else { continue };
            terrain.set_instances(name.clone(), made.crop(&frame.extent()));
        }
        let kept = layers.keeps.iter().cloned().filter_map(Part::into_vectors);
        for name in layers.writes_vectors.iter().cloned().chain(kept) {
            let Some(made) = made.vectors().get(&name) else { continue };
            let made = if fades { Arc::new(vectors::clipped(made, &frame.extent())) } else { made.clone() };
            terrain.set_vector(name, made);
        }
        terrain
    }
}

/// Says so when layers on a frame that loops do not meet themselves, but for those `known` not to.
fn warn_of_seams(terrain: &Terrain, names: &[LayerName], known: &[LayerName], turns: &Turns, ctx: &Ctx<'_>) {
    for name in names.iter().filter(|name| !known.contains(name)) {
        if let Some(seam) = seam_of(terrain, name, turns) {
            ctx.warn(format!(
                "the frame loops but {name} does not: opposite edges differ by up to {seam:.3}; \
                 use a source that repeats over the frame"
            ));
        }
    }
}

/// By how much opposite edges of a layer differ, where they do.
fn seam_of(terrain: &Terrain, name: &LayerName, turns: &Turns) -> Option<f32> {
    let LayerData::F32(raster) = terrain.layers().get(name)? else { return None };
    Some(turns.seam(raster)).filter(|seam| *seam > 0.0)
}

#[cfg(test)]
mod tests;
