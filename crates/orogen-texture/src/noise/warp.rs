//! Places pushed about by noise, so that straight patterns become grown ones.

use super::{Noise, Octaves};

/// Moves places by up to about `reach` (of the tile's side) in each direction.
#[derive(Clone, Debug, PartialEq)]
pub struct Warp {
    x: Octaves,
    y: Octaves,
    reach: f32,
}

impl Warp {
    /// A warp whose coarsest waves are a `period`-th of the tile.
    #[must_use]
    pub fn new(seed: u32, period: u32, octaves: u32, reach: f32) -> Self {
        let noise = |seed| Octaves::new(seed, period, octaves, 0.5);
        Self { x: noise(seed), y: noise(seed ^ 0x5bd1_e995), reach }
    }

    /// Where a place is moved to.
    #[inline]
    #[must_use]
    pub fn at(&self, u: f32, v: f32) -> (f32, f32) {
        (u + self.reach * self.x.at(u, v), v + self.reach * self.y.at(u, v))
    }
}
