//! Things that are laid on the ground by the thousand: stones, blades and twigs, leaves.

mod leaf;
mod scatter;
mod stone;
mod stroke;

pub use leaf::Leaf;
pub use scatter::{jittered, power_sizes};
pub use stone::{Grain, Stone, StoneKind, heap};
pub use stroke::{Blade, Stroke, strokes};

/// A coverage of 0 to 1 for an edge `inside` metres away (negative outside), smooth over one sample.
#[inline]
#[must_use]
pub fn coverage(inside: f32, sample_m: f32) -> f32 {
    (0.5 + inside / sample_m).clamp(0.0, 1.0)
}
