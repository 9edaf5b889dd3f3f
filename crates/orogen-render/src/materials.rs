//! The textures of the ground as the device takes them.

use orogen_core::{LayerName, Seed, material};
use orogen_texture::color::from_srgb;
use orogen_texture::{Detail, Maps, Texture};
use rayon::prelude::*;

use crate::gpu::{Gpu, Shape};
use crate::overview::Overview;

/// Materials that a land may have.
pub const MOST: usize = 24;

/// The textures of the materials of a land, in the order of its layers.
pub struct Materials {
    list: Vec<(material::Info, Option<Maps>)>,
}

/// Textures are seen again up to so many times larger from afar.
const REPEATS: f64 = 256.0;

/// How much of a material's texture is seen again, larger, from afar, from 0 to 0.9; eights more for how clearly it shows beds.
fn character(name: &str) -> f32 {
    let (far, beds) = match name {
        "sandstone" => (0.6, 8.0),
        "limestone" => (0.75, 4.0),
        "granite" => (0.85, 0.0),
        "basalt" => (0.8, 2.0),
        "scree" | "lichen" => (0.55, 0.0),
        "gravel" | "soil" | "ash" => (0.4, 0.0),
        "ice" | "snow" => (0.25, 0.0),
        "sand" | "mud" => (0.12, 0.0),
        _ => (0.45, 0.0),
    };
    far + beds
}

/// Samples along a side of a texture.
const SIZE: usize = 512;

/// What land is taken to be made of that says nothing: steep ground, then other ground.
const BARE: [&str; 2] = ["material.granite", "material.grass"];

/// The materials among the layers of a land, and whether it has any of its own.
#[must_use]
pub(crate) fn among(layers: &[LayerName]) -> (Vec<LayerName>, bool) {
    let found: Vec<LayerName> =
        layers.iter().filter(|name| name.as_str().starts_with("material.")).take(MOST).cloned().collect();
    if found.is_empty() { (BARE.map(LayerName::fixed).to_vec(), false) } else { (found, true) }
}

impl Materials {
    /// Those of a land with some layers. Making them takes a while; those of which there is no texture have their colour only.
    #[must_use]
    pub fn of_layers(layers: &[LayerName]) -> Self {
        let names = among(layers).0;
        let one = |name: &LayerName| {
            let short = name.as_str().strip_prefix("material.").unwrap_or(name.as_str());
            let unknown = material::Info { name: "", color: material::UNKNOWN, roughness: 0.9 };
            let info = material::named(short).copied().unwrap_or(unknown);
            let maps = Texture::named(short)
                .ok()
                .and_then(|texture| texture.make(SIZE, Seed::from_text("orogen")).ok());
            (info, maps)
        };
        Self { list: names.par_iter().map(one).collect() }
    }

    /// The mean colour of a material, linear.
    #[must_use]
    pub fn mean(&self, number: usize) -> [f32; 3] {
        self.list.get(number).map_or([0.2; 3], |(info, maps)| match maps {
            Some(maps) => maps.texture.mean_color(),
            None => from_srgb(info.color),
        })
    }

    /// The mean colour of the ground of a land.
    pub(crate) fn ground(&self, overview: &Overview) -> [f32; 3] {
        let mut sum = [0f64; 3];
        let mut all = 0.0;
        for (i, name) in overview.materials.iter().enumerate() {
            let Some(weights) = overview.weights(name) else { continue };
            let weight: u64 = weights.as_slice().iter().step_by(7).map(|w| u64::from(w.0)).sum();
            let mean = self.mean(i);
            (0..3).for_each(|c| sum[c] += weight as f64 * f64::from(mean[c]));
            all += weight as f64;
        }
        if all > 0.0 { sum.map(|c| (c / all) as f32) } else { [0.18, 0.17, 0.12] }
    }

    /// What the ground shader knows of each material, for an eye at a place.
    pub(crate) fn numbers(&self, eye: [f64; 3]) -> Vec<[f32; 4]> {
        let mut out = vec![[0f32; 4]; 4 * MOST];
        let (mut layer, mut patterns) = (0.0, 0.0);
        for (i, (info, maps)) in self.list.iter().enumerate() {
            let size = maps.as_ref().map_or(1.0, |maps| f64::from(maps.size_m));
            // Where the eye is in the texture: in doubles, as places may be far from zero.
            let in_texture = eye.map(|x| (x / size).rem_euclid(REPEATS) as f32);
            out[4 * i] = [in_texture[0], in_texture[1], in_texture[2], (1.0 / size) as f32];
            let [r, g, b] = self.mean(i);
            out[4 * i + 1] = [r, g, b, info.roughness];
            out[4 * i + 2] = [1.0, 1.0, 0.0, -1.0];
            let Some(maps) = maps else {
                // No texture: far away from the first metre on.
                out[4 * i][3] = 1e6;
                continue;
            };
            match &maps.detail {
                Detail::Turned { turn_deg, scale } => {
                    let (turn, by) = (f64::from(*turn_deg).to_radians(), 1.0 / f64::from(*scale));
                    let (c, s) = (orogen_core::math::cos(turn), orogen_core::math::sin(turn));
                    out[4 * i + 2] = [by as f32, c as f32, s as f32, -1.0];
                    out[4 * i + 3] = [0.37, 0.71, layer, character(info.name)];
                }
                Detail::Pattern(pattern) => {
                    let side = f64::from(pattern.size_m);
                    let at = [eye[0], -eye[1]].map(|x| (x / side).rem_euclid(1.0) as f32);
                    out[4 * i + 2] = [(1.0 / side) as f32, 1.0, 0.0, patterns];
                    out[4 * i + 3] = [at[0], at[1], layer, character(info.name)];
                    patterns += 1.0;
                }
            }
            layer += 1.0;
        }
        out
    }

    /// Albedo with height, normals with roughness and occlusion, and the patterns against repetition.
    pub(crate) fn upload(&self, gpu: &Gpu) -> [wgpu::TextureView; 3] {
        let maps: Vec<&Maps> = self.list.iter().filter_map(|(_, maps)| maps.as_ref()).collect();
        let levels: Vec<_> = maps.par_iter().map(|maps| maps.levels()).collect();
        let array = |label: &str, size: usize, format, layers: Vec<Vec<&[u8]>>| {
            let empty = [0u8; 4];
            let (size, layers) =
                if layers.is_empty() { (1, vec![vec![&empty[..]]]) } else { (size as u32, layers) };
            let shape = Shape {
                size: [size, size, layers.len() as u32],
                format,
                view: wgpu::TextureViewDimension::D2Array,
            };
            gpu.texture(label, &shape, &layers)
        };
        let color =
            levels.iter().map(|levels| levels.iter().map(|l| l.albedo_height.as_flattened()).collect());
        let surface = levels.iter().map(|levels| levels.iter().map(|l| l.surface.as_flattened()).collect());
        let patterns: Vec<Vec<Vec<[u8; 4]>>> = maps
            .par_iter()
            .filter_map(|maps| match &maps.detail {
                Detail::Pattern(pattern) => Some(pattern_levels(pattern)),
                Detail::Turned { .. } => None,
            })
            .collect();
        let side = patterns.first().map_or(1, |levels| levels[0].len().isqrt());
        let bytes = patterns.iter().map(|levels| levels.iter().map(|level| level.as_flattened()).collect());
        [
            array("albedo", SIZE, wgpu::TextureFormat::Rgba8UnormSrgb, color.collect()),
            array("surface", SIZE, wgpu::TextureFormat::Rgba8Unorm, surface.collect()),
            array("patterns", side, wgpu::TextureFormat::Rgba8Unorm, bytes.collect()),
        ]
    }
}

/// The factors of a pattern, 128 for one, level by level.
fn pattern_levels(pattern: &orogen_texture::Pattern) -> Vec<Vec<[u8; 4]>> {
    let mut size = pattern.size;
    let mut level: Vec<[f32; 4]> = pattern.factor.iter().map(|&[r, g, b]| [r, g, b, 1.0]).collect();
    let bytes = |level: &[[f32; 4]]| -> Vec<[u8; 4]> {
        level.iter().map(|texel| texel.map(|c| (c * 128.0).round().clamp(0.0, 255.0) as u8)).collect()
    };
    let mut out = vec![bytes(&level)];
    while size > 1 {
        level = halved(size, &level);
        size /= 2;
        out.push(bytes(&level));
    }
    out
}

/// Means of two by two texels.
pub(crate) fn halved(size: usize, level: &[[f32; 4]]) -> Vec<[f32; 4]> {
    let half = size / 2;
    (0..half * half)
        .map(|i| {
            let at = 2 * (i / half) * size + 2 * (i % half);
            let four = [at, at + 1, at + size, at + size + 1].map(|at| level[at]);
            [0, 1, 2, 3].map(|c| four.iter().map(|texel| texel[c]).sum::<f32>() * 0.25)
        })
        .collect()
}
