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
use crate::layer::LayerName;
use crate::op::{Layers, Reach};
use crate::provenance::Part;
use crate::terrain::{LayerData, Terrain};

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

/// Runs an operator; on a world that loops, what it makes of land that loops does too.
pub(crate) fn run(
    op: &dyn crate::op::AnyOp,
    layers: &Layers,
    work: &dyn Fn(Terrain, &Ctx<'_>) -> Result<Terrain, OpError>,
    mut terrain: Terrain,
    ctx: &Ctx<'_>,
) -> Result<Terrain, OpError> {
    let (world, frame) = (ctx.world(&terrain), *terrain.frame());
    let turns = Turns::of(&frame, &world);
    // Sources make their own land: only they can make it repeat.
    let source = layers.reads.is_empty() && layers.reads_second.is_empty();
    let reach = op.reach(&frame);
    if !turns.any() {
        return work(terrain, ctx);
    }
    if source || reach == Reach::Point || op.loops() == Loops::AsIs && reach == Reach::World {
        return as_it_is(work, terrain, layers, &turns, ctx);
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
    let inner = ctx.on_loop(world, second.as_ref());
    let seen: Vec<LayerName> = layers.inputs().filter_map(Part::into_layer).collect();
    let result = work(turns.unrolled(&terrain, &seen, &on, fades), &inner)?;
    // Amounts were measured on all of the unrolled land.
    inner.hand_on(ctx, if fades { frame.len() as f64 / on.len() as f64 } else { 1.0 });

    let written = layers.writes.iter().filter_map(|name| Some((name, result.layers().get(name)?)));
    let written: Vec<(LayerName, LayerData)> =
        written.map(|(name, data)| (name.clone(), turns.rolled(name, data, &on, &frame, fades))).collect();
    for (name, data) in written {
        terrain.set_named(name, data);
    }
    for name in &layers.writes_instances {
        let Some(made) = result.instances().get(name) else { continue };
        terrain.set_instances(name.clone(), made.crop(&frame.extent()));
    }
    let kept = layers.keeps.iter().cloned().filter_map(Part::into_vectors);
    for name in layers.writes_vectors.iter().cloned().chain(kept) {
        let Some(made) = result.vectors().get(&name) else { continue };
        let made = if fades { Arc::new(vectors::clipped(made, &frame.extent())) } else { made.clone() };
        terrain.set_vector(name, made);
    }
    if fades { op.mend_loop(terrain, ctx) } else { Ok(terrain) }
}

/// Runs an operator on the land as it is, and says so when it made land that does not meet itself of land that did.
fn as_it_is(
    work: &dyn Fn(Terrain, &Ctx<'_>) -> Result<Terrain, OpError>,
    terrain: Terrain,
    layers: &Layers,
    turns: &Turns,
    ctx: &Ctx<'_>,
) -> Result<Terrain, OpError> {
    // What it replaces unread is its own land.
    let updated = layers.writes.iter().filter(|name| layers.reads.contains(name));
    let known: Vec<LayerName> =
        updated.filter(|name| seam_of(&terrain, name, turns).is_some()).cloned().collect();
    let made = work(terrain, ctx)?;
    warn_of_seams(&made, &layers.writes, &known, turns, ctx);
    Ok(made)
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
