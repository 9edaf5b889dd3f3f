//! Value noise: soft blotches; with as many cells as samples, a speckle.

use orogen_core::math::lerp;

use super::{Noise, cell, fade, next, shifts};
use crate::dice::{hash, unit};

/// A random number at each point of a lattice, mixed smoothly between them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Value {
    /// Which noise of this kind.
    pub seed: u32,
    /// Cells across the tile, from left to right and from top to bottom.
    pub period: [u32; 2],
}

impl Value {
    /// Noise alike in all directions.
    #[must_use]
    pub fn new(seed: u32, period: u32) -> Self {
        Self { seed, period: [period.max(1); 2] }
    }
}

impl Noise for Value {
    #[inline]
    fn at(&self, u: f32, v: f32) -> f32 {
        let [px, py] = self.period.map(|p| p.max(1));
        let [sx, sy] = shifts(self.seed);
        let ((x0, tx), (y0, ty)) = (cell(u, px, sx), cell(v, py, sy));
        let (x1, y1) = (next(x0, px), next(y0, py));
        let value = |x, y| unit(hash(self.seed, x, y)) * 2.0 - 1.0;
        let (sx, sy) = (fade(tx), fade(ty));
        let (top, bottom) = (lerp(value(x0, y0), value(x1, y0), sx), lerp(value(x0, y1), value(x1, y1), sx));
        lerp(top, bottom, sy)
    }
}
