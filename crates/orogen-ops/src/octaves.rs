//! A few octaves of gradient noise at a wavelength in metres: the unevenness that shapes and masks borrow.

use std::ops::Range;

use orogen_core::{Frame, Seed};

use crate::noise::{Noise, WaveParts};

/// Octaves of noise, each twice as fine as the one before, that add up to values within -1 to 1.
#[derive(Clone, Debug)]
pub(crate) struct Octaves {
    waves: Vec<Wave>,
}

#[derive(Clone, Debug)]
struct Wave {
    noise: Noise,
    per_m: [f64; 2],
    /// Moves the lattice, whose points are zeros of the noise, so that octaves do not share them.
    shift: [f64; 2],
    weight: f32,
}

/// Buffers of one thread.
#[derive(Default)]
pub(crate) struct OctaveBuffers {
    xs: Vec<f64>,
    lines: Vec<[f32; 2]>,
    wave: Vec<f32>,
}

impl Octaves {
    /// Noise whose longest waves are `wavelength_m` long; each octave is `gain` times as strong as the one before.
    pub fn new(seed: Seed, wavelength_m: f64, octaves: u32, gain: f64) -> Self {
        Self::repeating(None, seed, wavelength_m, octaves, gain)
    }

    /// The same over a world: over one that loops the noise does too, and its waves become as long as divides the world.
    pub fn over(world: &Frame, seed: Seed, wavelength_m: f64, octaves: u32, gain: f64) -> Self {
        Self::repeating(world.loops().then(|| world.size_m()), seed, wavelength_m, octaves, gain)
    }

    fn repeating(size_m: Option<[f64; 2]>, seed: Seed, wavelength_m: f64, octaves: u32, gain: f64) -> Self {
        let mut weights = vec![1.0];
        for _ in 1..octaves {
            weights.push(weights[weights.len() - 1] * gain);
        }
        let whole: f64 = weights.iter().sum();
        let waves = weights.iter().enumerate().map(|(octave, weight)| {
            let own_seed = Seed(seed.bits(octave as u64));
            let waves = (1u64 << octave) as f64 / wavelength_m;
            // Whole waves over what repeats, and no more than can be numbered.
            let count = |size: f64| (size * waves).round().clamp(1.0, 4e9);
            let counts = size_m.map(|size_m| size_m.map(count));
            let per_m = |axis: usize| size_m.zip(counts).map_or(waves, |(size, n)| n[axis] / size[axis]);
            Wave {
                noise: Noise::repeating(own_seed, counts.map_or([0; 2], |n| n.map(|n| n as u32))),
                per_m: [per_m(0), per_m(1)],
                shift: [own_seed.unit(1), own_seed.unit(2)],
                weight: (weight / whole) as f32,
            }
        });
        Self { waves: waves.collect() }
    }

    /// Without the octaves after the first `count`.
    pub fn truncated(mut self, count: usize) -> Self {
        self.waves.truncate(count);
        self
    }

    /// Its octaves in plain numbers.
    pub fn parts(&self) -> Vec<WaveParts> {
        let part = |wave: &Wave| WaveParts {
            noise: wave.noise,
            per_m: wave.per_m,
            shift: wave.shift,
            weight: wave.weight,
        };
        self.waves.iter().map(part).collect()
    }

    /// The noise along a row of a frame. Moves 16 bytes a sample and octave, all in the cache.
    pub fn row(
        &self,
        frame: &Frame,
        row: usize,
        cols: Range<usize>,
        buffers: &mut OctaveBuffers,
        out: &mut [f32],
    ) {
        self.row_at(cols.map(|col| frame.x_m(col)), frame.y_m(row), |noise| noise, buffers, out);
    }

    /// The sum of what `shape` makes of every octave, at places along a row, in metres.
    #[inline]
    pub fn row_at(
        &self,
        xs: impl Iterator<Item = f64> + Clone,
        y: f64,
        shape: impl Fn(f32) -> f32,
        buffers: &mut OctaveBuffers,
        out: &mut [f32],
    ) {
        out.fill(0.0);
        buffers.wave.resize(out.len(), 0.0);
        for wave in &self.waves {
            buffers.xs.clear();
            buffers.xs.extend(xs.clone().map(|x| x * wave.per_m[0] + wave.shift[0]));
            let y = y * wave.per_m[1] + wave.shift[1];
            wave.noise.row(&buffers.xs, y, &mut buffers.lines, &mut buffers.wave);
            for (sum, value) in out.iter_mut().zip(&buffers.wave) {
                *sum += wave.weight * shape(*value);
            }
        }
    }

    /// Root mean square of the sum over much ground: that of one octave is `Octaves::RMS`.
    pub fn rms(&self) -> f32 {
        Self::RMS * self.waves.iter().map(|wave| wave.weight * wave.weight).sum::<f32>().sqrt()
    }

    /// Root mean square of one octave, measured.
    pub const RMS: f32 = 0.3;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_stay_within_one_and_have_the_stated_strength() {
        let frame = Frame::square(20_000.0, 401).unwrap();
        for octaves in [1, 4] {
            let noise = Octaves::new(Seed(5), 300.0, octaves, 0.5);
            let (mut buffers, mut out, mut squares) = (OctaveBuffers::default(), vec![0.0; 401], 0.0);
            for row in 0..401 {
                noise.row(&frame, row, 0..401, &mut buffers, &mut out);
                assert!(out.iter().all(|v| v.abs() <= 1.0));
                squares += out.iter().map(|v| f64::from(v * v)).sum::<f64>();
            }
            let rms = (squares / (401.0 * 401.0)).sqrt();
            assert!((rms / f64::from(noise.rms()) - 1.0).abs() < 0.1, "{rms} and {}", noise.rms());
        }
    }

    #[test]
    fn over_a_world_that_loops_the_noise_does_too() {
        let world = Frame::new([-300.0, 77.0], [10_000.0, 4000.0], [201, 81]).unwrap().looped();
        let noise = Octaves::over(&world, Seed(5), 700.0, 4, 0.5);
        let row = |row: usize| {
            let mut out = vec![0.0; 201];
            noise.row(&world, row, 0..201, &mut OctaveBuffers::default(), &mut out);
            out
        };
        let (north, south) = (row(0), row(80));
        assert!(north.iter().zip(&south).all(|(a, b)| (a - b).abs() < 1e-4));
        assert!((0..81).map(row).all(|line| (line[0] - line[200]).abs() < 1e-4));
        assert!(north.iter().any(|v| v.abs() > 0.1));
    }
}
