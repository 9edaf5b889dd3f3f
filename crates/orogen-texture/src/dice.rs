//! Random numbers: a quick hash for points of a lattice, and a stream for scattered things.

use orogen_core::Seed;
use orogen_core::math::f32::{cos, sin};
use orogen_core::rng::Stream;

/// 32 random bits for a point of a lattice.
#[inline]
#[must_use]
pub fn hash(seed: u32, x: u32, y: u32) -> u32 {
    let mut h = seed ^ x.wrapping_mul(0x9e37_79b1) ^ y.wrapping_mul(0x85eb_ca77).rotate_left(16);
    h = (h ^ (h >> 16)).wrapping_mul(0x7feb_352d);
    h = (h ^ (h >> 15)).wrapping_mul(0x846c_a68b);
    h ^ (h >> 16)
}

/// A number in 0..1 (1 excluded) from random bits.
#[inline]
#[must_use]
pub fn unit(bits: u32) -> f32 {
    (bits >> 8) as f32 * (1.0 / 16_777_216.0)
}

/// The seed of a part of a texture, as the lattice hash takes it.
#[must_use]
pub fn lattice_seed(seed: Seed, name: &str) -> u32 {
    (seed.child(name).0 >> 32) as u32
}

/// Draws one number after the other, for things that are scattered.
#[derive(Clone, Debug)]
pub struct Dice(Stream);

impl Dice {
    /// The numbers of a named part.
    #[must_use]
    pub fn new(seed: Seed, name: &str) -> Self {
        Self(seed.child(name).stream())
    }

    /// A number in 0..1.
    pub fn unit(&mut self) -> f32 {
        unit((self.0.bits() >> 32) as u32)
    }

    /// A number between two others.
    pub fn between(&mut self, low: f32, high: f32) -> f32 {
        low + (high - low) * self.unit()
    }

    /// A number near 0 with deviation 1, never beyond 3.5: the sum of twelve.
    pub fn normal(&mut self) -> f32 {
        let sum: f32 = (0..12).map(|_| self.unit()).sum();
        (sum - 6.0).clamp(-3.5, 3.5)
    }

    /// Whether something of this chance happens.
    pub fn chance(&mut self, chance: f32) -> bool {
        self.unit() < chance
    }

    /// A unit vector.
    pub fn direction(&mut self) -> [f32; 2] {
        let angle = self.between(0.0, std::f32::consts::TAU);
        [cos(angle), sin(angle)]
    }

    /// A place in a square of this side.
    pub fn place(&mut self, side: f32) -> [f32; 2] {
        [self.between(0.0, side), self.between(0.0, side)]
    }

    /// 32 random bits.
    pub fn bits(&mut self) -> u32 {
        (self.0.bits() >> 32) as u32
    }
}

/// A vector turned by an angle in radians.
#[must_use]
pub fn turned([x, y]: [f32; 2], angle: f32) -> [f32; 2] {
    let (s, c) = (sin(angle), cos(angle));
    [x * c - y * s, x * s + y * c]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_is_even_and_pinned() {
        assert_eq!(hash(1, 2, 3), hash(1, 2, 3));
        assert_ne!(hash(1, 2, 3), hash(1, 3, 2));
        let n = 256u32;
        let mean: f64 =
            (0..n * n).map(|i| f64::from(unit(hash(7, i % n, i / n)))).sum::<f64>() / f64::from(n * n);
        assert!((mean - 0.5).abs() < 0.005, "mean {mean}");
        // Neighbours have nothing in common.
        let product: f64 = (0..n * n)
            .map(|i| {
                let (x, y) = (i % n, i / n);
                (f64::from(unit(hash(7, x, y))) - 0.5) * (f64::from(unit(hash(7, x + 1, y))) - 0.5)
            })
            .sum::<f64>()
            / f64::from(n * n);
        assert!(product.abs() < 0.002, "covariance {product}");
    }

    #[test]
    fn dice_are_fair() {
        let mut dice = Dice::new(Seed(3), "test");
        let n = 20_000;
        let numbers: Vec<f32> = (0..n).map(|_| dice.normal()).collect();
        let mean = numbers.iter().sum::<f32>() / n as f32;
        let variance = numbers.iter().map(|x| (x - mean) * (x - mean)).sum::<f32>() / n as f32;
        assert!(mean.abs() < 0.03 && (variance - 1.0).abs() < 0.05, "{mean} {variance}");
        let [x, y] = dice.direction();
        assert!((x * x + y * y - 1.0).abs() < 1e-6);
    }
}
