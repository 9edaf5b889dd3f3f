//! Pictures of plants, drawn without a graphics card.

use orogen_flora::{LeafMaps, Seen, View, levels, surface};
use orogen_texture::color::{from_srgb, to_srgb};

use super::{Fineness, Plant};
use crate::png8::Picture;

/// Pixels that are drawn for one of the picture, along each side.
const FINER: usize = 3;
/// Samples of the pictures on leaves and bark.
const SURFACE: usize = 256;
/// Towards the sun: from the left, behind the viewer, above.
const SUN: [f32; 3] = [-0.55, -0.5, 0.67];
const SUNLIGHT: [f32; 3] = [2.3, 2.15, 1.9];
const SKYLIGHT: [f32; 3] = [0.5, 0.58, 0.72];
/// Behind the plant: above and below.
const BACK: [[f32; 3]; 2] = [[0.62, 0.72, 0.84], [0.86, 0.89, 0.90]];
const GROUND: [f32; 3] = [0.42, 0.40, 0.34];

/// A plant from the side, `size` pixels along each edge, as large as it fits.
#[must_use]
pub fn portrait(plant: &Plant, size: usize) -> Picture {
    let mesh = plant.mesh(Fineness::Level(0));
    let pictures = surface(&plant.species, plant.growth.season, SURFACE);
    let (mut low, mut high) = ([f32::MAX; 3], [f32::MIN; 3]);
    for at in mesh.bark.positions.iter().chain(&mesh.leaves.positions) {
        low = [0, 1, 2].map(|k| low[k].min(at[k]));
        high = [0, 1, 2].map(|k| high[k].max(at[k]));
    }
    if low[0] > high[0] {
        (low, high) = ([-0.5, -0.5, 0.0], [0.5, 0.5, 1.0]);
    }
    let tilt = 0.08f32;
    // What lies near the viewer is seen below the foot.
    let before = mesh.bark.positions.iter().map(|at| -at[2] - tilt * (0.25 * at[0] + at[1]));
    let below = before.fold(0.0, f32::max).min(0.5 * (high[1] - low[1]).max(high[2]));
    let tall = high[2] + tilt * high[1].max(0.0) + below;
    let wide = (high[0] - low[0]).max(high[1] - low[1]).max(1.06 * tall).max(1e-3);
    let width_m = f64::from(1.06 * wide);
    let middle_m = (0.455 * width_m).min(0.48 * width_m - f64::from(below));
    let foot = (middle_m / width_m) as f32;
    let pixels = size * FINER;
    let view = View {
        middle: [
            f64::from(0.5 * (low[0] + high[0])),
            f64::from(0.5 * (low[1] + high[1])),
            // The foot a little above the lower edge, or as far as what lies before it needs.
            middle_m,
        ],
        toward: [0.25, 1.0, -f64::from(tilt)],
        width_m,
        size: [pixels, pixels],
    };
    let mut seen = Seen::new(view.size);
    let bark = &pictures.bark;
    let gained = |c: [f32; 3]| [0, 1, 2].map(|k| c[k] * pictures.bark_gain[k]);
    let bark_light: Vec<[f32; 3]> = bark.albedo.iter().map(|&c| gained(from_srgb(c))).collect();
    let wrapped = |x: f32, size: usize| ((x - x.floor()) * size as f32) as usize % size;
    seen.draw(&mesh.bark, &view, false, |[u, v]| {
        Some(bark_light[wrapped(v, bark.size) * bark.size + wrapped(u, bark.size)])
    });
    if let Some(leaves) = &pictures.leaves {
        // The level whose samples are about as large as pixels.
        let sample_m = 2.0 * plant.species.leaves.length_m / leaves.size as f64;
        let finer = (view.width_m / pixels as f64 / sample_m).max(1.0);
        let all = levels(leaves);
        let level = (orogen_core::math::log2(finer).round() as usize).min(all.len().saturating_sub(3));
        let maps: &LeafMaps = &all[level];
        let light: Vec<[f32; 3]> = maps.albedo.iter().map(|&[r, g, b, _]| from_srgb([r, g, b])).collect();
        seen.draw(&mesh.leaves, &view, true, |[u, v]| {
            let i = wrapped(v, maps.size) * maps.size + wrapped(u, maps.size);
            (maps.albedo[i][3] >= 128).then(|| light[i])
        });
    }
    let shaded = |pixel: usize| -> [f32; 3] {
        if seen.depth[pixel].is_infinite() {
            let up = 1.0 - (pixel / pixels) as f32 / pixels as f32;
            let from_foot = (up - 0.5) + foot;
            return if from_foot < 0.0 {
                GROUND
            } else {
                [0, 1, 2].map(|k| BACK[1][k] + (BACK[0][k] - BACK[1][k]) * up)
            };
        }
        let normal = seen.normal[pixel];
        let facing: f32 = (0..3).map(|k| normal[k] * SUN[k]).sum();
        let light = seen.light[pixel];
        // Nearly half of what comes from behind goes through.
        let sun = (facing.max(0.0) + 0.45 * (-facing).max(0.0)) * (0.2 + 0.8 * light);
        let above = 0.55 + 0.45 * normal[2];
        [0, 1, 2]
            .map(|k| seen.color[pixel][k] * (SUNLIGHT[k] * sun + SKYLIGHT[k] * above * (0.25 + 0.75 * light)))
    };
    let share = 1.0 / (FINER * FINER) as f32;
    let rgb = (0..size * size).map(|i| {
        let first = i / size * FINER * pixels + i % size * FINER;
        let mut sum = [0.0; 3];
        for k in 0..FINER * FINER {
            let color = shaded(first + k / FINER * pixels + k % FINER);
            sum = [0, 1, 2].map(|axis| sum[axis] + share * color[axis].min(1.0));
        }
        to_srgb(sum)
    });
    Picture::from_vec(size, size, rgb.collect()).unwrap_or_else(|| Picture::filled(size, size, [0; 3]))
}
