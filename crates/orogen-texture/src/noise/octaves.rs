//! Noise upon finer noise.

use super::{Gradient, Noise};

/// A sum of gradient noises, each twice as fine as the one before and weaker by `gain`; about -1 to 1.
#[derive(Clone, Debug, PartialEq)]
pub struct Octaves {
    layers: Vec<(Gradient, f32)>,
}

impl Octaves {
    /// Octaves alike in all directions, from `period` cells across.
    #[must_use]
    pub fn new(seed: u32, period: u32, octaves: u32, gain: f32) -> Self {
        Self::directional(seed, [period; 2], octaves, gain)
    }

    /// Octaves drawn out along the side with the smaller period.
    #[must_use]
    pub fn directional(seed: u32, period: [u32; 2], octaves: u32, gain: f32) -> Self {
        let octaves = octaves.clamp(1, 12);
        let mut weights: Vec<f32> = Vec::new();
        for _ in 0..octaves {
            weights.push(weights.last().map_or(1.0, |w| w * gain));
        }
        // Gradient noise has a deviation of about a third; the sum is brought to the same.
        let scale = 1.0 / weights.iter().map(|w| w * w).sum::<f32>().sqrt();
        let layers = (0..octaves).zip(weights).map(|(i, weight)| {
            let noise = Gradient::directional(
                seed.wrapping_add(i.wrapping_mul(0x632b_e5ab)),
                period.map(|p| p.max(1) << i),
            );
            (noise, weight * scale)
        });
        Self { layers: layers.collect() }
    }

    /// The sum of `f` of each octave.
    #[inline]
    fn sum(&self, u: f32, v: f32, f: impl Fn(f32) -> f32) -> f32 {
        self.layers.iter().map(|(noise, weight)| f(noise.at(u, v)) * weight).sum()
    }

    /// Rounded heaps with sharp creases between them, about 0 to 1.
    #[inline]
    #[must_use]
    pub fn billow(&self, u: f32, v: f32) -> f32 {
        self.sum(u, v, f32::abs)
    }
}

impl Noise for Octaves {
    #[inline]
    fn at(&self, u: f32, v: f32) -> f32 {
        self.sum(u, v, |x| x)
    }
}
