//! Textures of noise: what makes no two places of the ground alike, and the slopes of waves.

use orogen_core::{Seed, math};
use orogen_texture::noise::{Noise as _, Octaves};
use rayon::prelude::*;

use crate::gpu::{Gpu, Shape, half};
use crate::materials::halved;

const SIZE: usize = 256;

/// Sides of the noise of the ground, in metres: for clumps, for patches, for whole slopes.
pub const NOISE_M: [f64; 3] = [67.0, 431.0, 3170.0];
/// Sides of the waves, in metres, and how much of their slope counts.
pub const WAVES_M: [(f64, f32); 2] = [(83.0, 0.7), (11.3, 0.75)];

/// Four noises that repeat, from -1 to 1 as bytes, level by level.
pub(crate) fn noises(gpu: &Gpu) -> wgpu::TextureView {
    let basis: Vec<Octaves> = [(1, 5, 6), (2, 4, 6), (3, 6, 6), (4, 9, 4)]
        .map(|(seed, period, octaves)| Octaves::new(seed * 77, period, octaves, 0.6))
        .into();
    let level: Vec<[f32; 4]> =
        texels(|u, v| [0, 1, 2, 3].map(|i| 0.5 + 0.5 * (basis[i].at(u, v) * 1.3).clamp(-1.0, 1.0)));
    let levels = levels(level);
    let bytes: Vec<Vec<u8>> = levels
        .iter()
        .map(|level| level.iter().flatten().map(|x| (x * 255.0).round() as u8).collect())
        .collect();
    upload(gpu, "noise", wgpu::TextureFormat::Rgba8Unorm, &bytes)
}

/// Slopes of waves that run mostly along x, and the sum of their squares, level by level.
pub(crate) fn waves(gpu: &Gpu) -> wgpu::TextureView {
    const WAVES: u64 = 90;
    /// The mean square of the slopes.
    const SQUARE: f32 = 0.022;
    let seed = Seed::from_text("waves");
    // Whole waves across the tile, so that it repeats; the longer the fewer.
    let waves: Vec<([f32; 2], f32, f32)> = (0..WAVES)
        .map(|i| {
            let random = |j: u64| seed.unit(i * 4 + j);
            let count = math::exp(math::ln(3.0) + random(0) * math::ln(14.0));
            // About the wind, less and less to the sides.
            let turn = (random(1) + random(2) - 1.0) * 1.5;
            let wave = [count * math::cos(turn), count * math::sin(turn)].map(|x| x.round() as f32);
            let phase = (random(3) * std::f64::consts::TAU) as f32;
            (wave, phase, math::pow(count, -0.25) as f32)
        })
        .collect();
    let raw = texels(|u, v| {
        let mut slope = [0f32; 2];
        for (wave, phase, strength) in &waves {
            let length = (wave[0] * wave[0] + wave[1] * wave[1]).sqrt().max(1.0);
            let at = math::f32::cos(std::f32::consts::TAU * (wave[0] * u + wave[1] * v) + phase) * strength
                / length;
            slope[0] += at * wave[0];
            slope[1] += at * wave[1];
        }
        [slope[0], slope[1], slope[0] * slope[0] + slope[1] * slope[1], 0.0]
    });
    let mean = raw.iter().map(|texel| texel[2]).sum::<f32>() / raw.len() as f32;
    let by = (SQUARE / mean.max(1e-9)).sqrt();
    let scaled = raw.iter().map(|[x, y, square, _]| [x * by, y * by, square * by * by, 0.0]).collect();
    let bytes: Vec<Vec<u8>> = levels(scaled)
        .iter()
        .map(|level| level.iter().flatten().flat_map(|&x| half(x).to_le_bytes()).collect())
        .collect();
    upload(gpu, "waves", wgpu::TextureFormat::Rgba16Float, &bytes)
}

fn texels(f: impl Fn(f32, f32) -> [f32; 4] + Sync) -> Vec<[f32; 4]> {
    let share = |i: usize| (i as f32 + 0.5) / SIZE as f32;
    (0..SIZE * SIZE).into_par_iter().map(|i| f(share(i % SIZE), share(i / SIZE))).collect()
}

fn levels(level: Vec<[f32; 4]>) -> Vec<Vec<[f32; 4]>> {
    let mut out = vec![level];
    let mut size = SIZE;
    while size > 1 {
        out.push(halved(size, &out[out.len() - 1]));
        size /= 2;
    }
    out
}

fn upload(gpu: &Gpu, label: &str, format: wgpu::TextureFormat, levels: &[Vec<u8>]) -> wgpu::TextureView {
    let size = SIZE as u32;
    let shape = Shape { size: [size, size, 1], format, view: wgpu::TextureViewDimension::D2 };
    gpu.texture(label, &shape, &[levels.iter().map(Vec::as_slice).collect()])
}
