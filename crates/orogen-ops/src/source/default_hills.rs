//! Hills for operators that turn points and lines into land, when the recipe gives none.

use orogen_core::{Rect, Seed};

use crate::noise::Field;
use crate::source::Noise;

/// Smooth hills that suit a world of a size: a few of them from side to side, in height a tenth of their width.
pub(super) fn land(seed: Seed, world: &Rect) -> Field {
    let [width, depth] = world.size();
    let side_m = width.max(depth);
    let amplitude_m = 0.035 * side_m;
    let look = Noise {
        octaves: 4,
        hurst: 0.95,
        wavelength_m: 0.5 * side_m,
        amplitude_m: amplitude_m.into(),
        offset_m: 1.2 * amplitude_m,
        ..Noise::default()
    };
    // The name is part of the seed, so it stays what it was.
    Field::new(&look.look(), seed.child("made up")) // formerly
}
