//! What grows or lies beside the trees: climbers, dead wood, stones, and cards for leaves that bend and for flowers.

pub(crate) mod cards;
pub(crate) mod climb;
pub(crate) mod dead_wood;
pub(crate) mod stone;

use orogen_core::Seed;

/// A number from `low` to `high` that a seed gives for a purpose.
fn between(seed: Seed, purpose: &str, [low, high]: [f64; 2]) -> f64 {
    low + (high - low) * seed.child(purpose).unit(0)
}

/// Smooth noise from -1 to 1 along a line, with a wave of about two.
fn wander(seed: Seed, at: f64) -> f64 {
    let cell = at.floor();
    let part = at - cell;
    let value = |k: f64| 2.0 * seed.unit((k as i64).cast_unsigned()) - 1.0;
    let ease = part * part * (3.0 - 2.0 * part);
    value(cell) + (value(cell + 1.0) - value(cell)) * ease
}
