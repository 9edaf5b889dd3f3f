//! Gradient noise: smooth hills without a grain, the basis of most patterns. Other periods along the two sides make it
//! directional.

use std::f32::consts::SQRT_2;

use orogen_core::math::lerp;

use super::{Noise, cell, fade, next, shifts};
use crate::dice::hash;

/// Sixteen directions, an even star; of length √2, which brings the noise to about -1 to 1.
const DIRECTIONS: [[f32; 2]; 16] = [
    [SQRT_2, 0.0],
    [1.306_563, 0.541_196_1],
    [1.0, 1.0],
    [0.541_196_1, 1.306_563],
    [0.0, SQRT_2],
    [-0.541_196_1, 1.306_563],
    [-1.0, 1.0],
    [-1.306_563, 0.541_196_1],
    [-SQRT_2, 0.0],
    [-1.306_563, -0.541_196_1],
    [-1.0, -1.0],
    [-0.541_196_1, -1.306_563],
    [0.0, -SQRT_2],
    [0.541_196_1, -1.306_563],
    [1.0, -1.0],
    [1.306_563, -0.541_196_1],
];

/// After Perlin: a random slope at each point of a lattice, mixed smoothly between them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gradient {
    /// Which noise of this kind.
    pub seed: u32,
    /// Cells across the tile, from left to right and from top to bottom.
    pub period: [u32; 2],
}

impl Gradient {
    /// Noise alike in all directions.
    #[must_use]
    pub fn new(seed: u32, period: u32) -> Self {
        Self::directional(seed, [period; 2])
    }

    /// Noise drawn out along the side with the smaller period.
    #[must_use]
    pub fn directional(seed: u32, period: [u32; 2]) -> Self {
        Self { seed, period: period.map(|p| p.max(1)) }
    }
}

impl Noise for Gradient {
    #[inline]
    fn at(&self, u: f32, v: f32) -> f32 {
        let [px, py] = self.period;
        let [sx, sy] = shifts(self.seed);
        let ((x0, tx), (y0, ty)) = (cell(u, px, sx), cell(v, py, sy));
        let (x1, y1) = (next(x0, px), next(y0, py));
        let slope = |x: u32, y: u32, dx: f32, dy: f32| {
            let [gx, gy] = DIRECTIONS[(hash(self.seed, x, y) >> 28) as usize];
            gx * dx + gy * dy
        };
        let (sx, sy) = (fade(tx), fade(ty));
        let top = lerp(slope(x0, y0, tx, ty), slope(x1, y0, tx - 1.0, ty), sx);
        let bottom = lerp(slope(x0, y1, tx, ty - 1.0), slope(x1, y1, tx - 1.0, ty - 1.0), sx);
        lerp(top, bottom, sy)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_repeats_and_stays_in_range() {
        let noise = Gradient::directional(5, [7, 3]);
        for i in 0..2000 {
            let (u, v) = ((i % 50) as f32 / 50.0, (i / 50) as f32 / 40.0);
            let here = noise.at(u, v);
            assert!((-1.0..=1.0).contains(&here));
            assert!((here - noise.at(u + 1.0, v - 2.0)).abs() < 1e-4, "at {u} {v}");
        }
    }
}
