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

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::ctx::Ctx;
use crate::error::OpError;
use crate::frame::Frame;
use crate::layer::{self, LayerName};
use crate::op::{Layers, Op, Reach};
use crate::terrain::{LayerData, Terrain};
use crate::vector::VectorLayer;

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
pub(crate) fn run<T: Op>(op: &T, terrain: Terrain, ctx: &Ctx<'_>) -> Result<Terrain, OpError> {
    let (world, frame, layers) = (ctx.world(&terrain), *terrain.frame(), Op::layers(op));
    let turns = Turns::of(&frame, &world);
    // Sources make their own land: only they can make it repeat.
    let source = layers.reads.is_empty() && layers.reads_second.is_empty();
    let reach = op.reach(&frame);
    if !turns.any() {
        return op.run(terrain, ctx);
    }
    if source || reach == Reach::Point || op.loops() == Loops::AsIs && reach == Reach::World {
        return as_it_is(op, terrain, &layers, &turns, ctx);
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
    let result = op.run(turns.unrolled(&terrain, &layers.reads, &on, fades), &inner)?;
    // Amounts were measured on all of the unrolled land.
    inner.hand_on(ctx, if fades { frame.len() as f64 / on.len() as f64 } else { 1.0 });

    let written = layers.writes.iter().filter_map(|name| Some((name, result.layers().get(name)?)));
    let written: BTreeMap<LayerName, LayerData> =
        written.map(|(name, data)| (name.clone(), turns.rolled(name, data, &on, &frame, fades))).collect();
    let (mut all, own) = terrain.into_parts();
    all.retain(|name, _| !written.keys().any(|from| layer::is_derived(name, from)));
    all.extend(written);
    let vector = |(name, found): (&String, &Arc<VectorLayer>)| {
        let made = !fades || layers.writes_vectors.contains(&name.as_str());
        let data = match own.get(name) {
            Some(own) if !made => own.clone(),
            _ if fades => Arc::new(vectors::clipped(found, &frame.extent())),
            _ => found.clone(),
        };
        (name.clone(), data)
    };
    let vectors = result.vectors().iter().map(vector).collect();
    Terrain::from_parts(frame, all, vectors)
        .ok_or_else(|| OpError::Failed(String::from("a layer of a loop does not match the frame")))
}

/// Runs an operator on the land as it is, and says so when it made land that does not meet itself of land that did.
fn as_it_is<T: Op>(
    op: &T,
    terrain: Terrain,
    layers: &Layers,
    turns: &Turns,
    ctx: &Ctx<'_>,
) -> Result<Terrain, OpError> {
    // What it replaces unread is its own land.
    let updated = layers.writes.iter().filter(|name| layers.reads.contains(name));
    let known: Vec<LayerName> =
        updated.filter(|name| seam_of(&terrain, name, turns).is_some()).cloned().collect();
    let made = op.run(terrain, ctx)?;
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
