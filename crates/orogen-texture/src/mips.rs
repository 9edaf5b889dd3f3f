//! The same maps at half the samples, and half again, for what is far away.

use crate::color::{from_srgb, to_srgb};
use crate::maps::Maps;
use crate::normal::unit;

/// One level, packed as renderers take it: two pictures of four bytes a sample.
#[derive(Clone, Debug, PartialEq)]
pub struct Level {
    /// Samples along a side.
    pub size: usize,
    /// Albedo (sRGB) and height.
    pub albedo_height: Vec<[u8; 4]>,
    /// Normal x and y (128 is 0), roughness, occlusion.
    pub surface: Vec<[u8; 4]>,
}

/// One sample before it is packed.
#[derive(Clone, Copy)]
struct Sample {
    color: [f32; 3],
    height: f32,
    normal: [f32; 3],
    roughness: f32,
    occlusion: f32,
}

impl Maps {
    /// All levels, from the full size down to one sample. Light is averaged, not bytes. Where normals of different directions
    /// are averaged, the surface gets rougher by as much as they spread (after Toksvig), so that a glint stays as bright
    /// from afar.
    #[must_use]
    pub fn levels(&self) -> Vec<Level> {
        let mut samples: Vec<Sample> = (0..self.size * self.size)
            .map(|i| Sample {
                color: from_srgb(self.albedo[i]),
                height: self.height.as_slice()[i],
                normal: self.normal[i],
                roughness: self.roughness.as_slice()[i],
                occlusion: self.occlusion.as_slice()[i],
            })
            .collect();
        let mut size = self.size;
        let mut levels = vec![packed(size, &samples)];
        while size > 1 {
            samples = halved(size, &samples);
            size /= 2;
            levels.push(packed(size, &samples));
        }
        levels
    }
}

/// Means of two by two samples. Normals keep the length that averaging leaves them: it says how far they spread.
fn halved(size: usize, samples: &[Sample]) -> Vec<Sample> {
    let half = size / 2;
    let mut out = Vec::with_capacity(half * half);
    for row in 0..half {
        for col in 0..half {
            let i = 2 * row * size + 2 * col;
            let four = [samples[i], samples[i + 1], samples[i + size], samples[i + size + 1]];
            let mean = |f: &dyn Fn(&Sample) -> f32| four.iter().map(f).sum::<f32>() * 0.25;
            out.push(Sample {
                color: [0, 1, 2].map(|c| mean(&|s| s.color[c])),
                height: mean(&|s| s.height),
                normal: [0, 1, 2].map(|c| mean(&|s| s.normal[c])),
                roughness: mean(&|s| s.roughness),
                occlusion: mean(&|s| s.occlusion),
            });
        }
    }
    out
}

fn packed(size: usize, samples: &[Sample]) -> Level {
    let byte = |x: f32| (x * 255.0).round().clamp(0.0, 255.0) as u8;
    let albedo_height = samples.iter().map(|s| {
        let [r, g, b] = to_srgb(s.color);
        [r, g, b, byte(s.height)]
    });
    let surface = samples.iter().map(|s| {
        let [x, y, z] = s.normal;
        let length = (x * x + y * y + z * z).sqrt().clamp(1e-3, 1.0);
        // The variance of slopes that the shortened normal stands for, added to the roughness squared twice over.
        let spread = (1.0 - length) / length;
        let square = s.roughness * s.roughness;
        let roughness = (square * square + 2.0 * spread).min(1.0).sqrt().sqrt();
        let [nx, ny, _] = crate::normal::bytes(unit(s.normal));
        [nx, ny, byte(roughness), byte(s.occlusion)]
    });
    Level { size, albedo_height: albedo_height.collect(), surface: surface.collect() }
}
