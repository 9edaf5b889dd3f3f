//! Pictures of textures: tiled and lit by a sun, from near and from far.

use rayon::prelude::*;

use crate::color::{Color, from_srgb, mix, to_srgb};
use crate::detail::{Detail, averaged};
use crate::dice::turned;
use crate::maps::Maps;
use crate::mips::Level;
use crate::normal::unit;

/// Towards the sun: from the upper left, 40 degrees high.
const SUN: [f32; 3] = [-0.542, 0.542, 0.643];
/// What sun and sky give to white level ground; together a little below 1.
const SUNLIGHT: f32 = 1.0;
const SKYLIGHT: f32 = 0.28;

/// A square picture: `pixels` along a side, sRGB, row by row from the top.
#[derive(Clone, Debug, PartialEq)]
pub struct Picture {
    /// Pixels along a side.
    pub pixels: usize,
    /// Their colours.
    pub rgb: Vec<[u8; 3]>,
}

/// `tiles` x `tiles` of a texture on `pixels` x `pixels`, lit by sun and sky, and laid over with its detail map if asked for.
#[must_use]
pub fn lit(maps: &Maps, tiles: f32, pixels: usize, detail: bool) -> Picture {
    let levels: Vec<Unpacked> = maps.levels().iter().map(Unpacked::new).collect();
    let mean = maps.texture.mean_color();
    // Samples of the texture to a pixel, as a level.
    let per_pixel = (tiles * maps.size as f32 / pixels.max(1) as f32).max(1.0);
    let level = orogen_core::math::f32::log2(per_pixel).min(levels.len() as f32 - 1.0);
    let rgb = (0..pixels * pixels)
        .into_par_iter()
        .map(|i| {
            let place = |k: usize| (k as f32 + 0.5) / pixels as f32 * tiles;
            let (u, v) = (place(i % pixels), place(i / pixels));
            let (mut color, normal, occlusion) = at(&levels, level, u, v);
            match &maps.detail {
                Detail::Turned { turn_deg, scale } if detail => {
                    let [tu, tv] = turned([u, v], turn_deg.to_radians()).map(|x| x / scale);
                    let finer = (level - orogen_core::math::f32::log2(*scale)).max(0.0);
                    color = averaged(color, at(&levels, finer, tu, tv).0, mean);
                }
                Detail::Pattern(pattern) if detail => {
                    let factor = pattern.at(u * maps.size_m, v * maps.size_m);
                    color = [0, 1, 2].map(|c| color[c] * factor[c]);
                }
                _ => {}
            }
            let sun = (normal[0] * SUN[0] + normal[1] * SUN[1] + normal[2] * SUN[2]).max(0.0);
            let light = SUNLIGHT * sun + SKYLIGHT * occlusion;
            to_srgb(color.map(|c| c * light))
        })
        .collect();
    Picture { pixels, rgb }
}

/// A level with its colours as light.
struct Unpacked {
    size: usize,
    color: Vec<Color>,
    normal: Vec<[f32; 3]>,
    occlusion: Vec<f32>,
}

impl Unpacked {
    fn new(level: &Level) -> Self {
        let normal = level.surface.iter().map(|&[x, y, ..]| {
            let [x, y] = [x, y].map(|b| (f32::from(b) - 128.0) / 127.0);
            [x, y, (1.0 - x * x - y * y).max(0.0).sqrt()]
        });
        Self {
            size: level.size,
            color: level.albedo_height.iter().map(|&[r, g, b, _]| from_srgb([r, g, b])).collect(),
            normal: normal.collect(),
            occlusion: level.surface.iter().map(|s| f32::from(s[3]) / 255.0).collect(),
        }
    }

    /// Colour, normal and occlusion at a place in tiles, straight between samples.
    fn at(&self, u: f32, v: f32) -> (Color, [f32; 3], f32) {
        let n = self.size as f32;
        let (x, y) = (u * n - 0.5, v * n - 0.5);
        let (x0, y0) = (x.floor(), y.floor());
        let (tx, ty) = (x - x0, y - y0);
        let index = |i: f32, j: f32| {
            let wrapped = |a: f32| (a as i64).rem_euclid(self.size as i64) as usize;
            wrapped(j) * self.size + wrapped(i)
        };
        let corners = [index(x0, y0), index(x0 + 1.0, y0), index(x0, y0 + 1.0), index(x0 + 1.0, y0 + 1.0)];
        let weights = [(1.0 - tx) * (1.0 - ty), tx * (1.0 - ty), (1.0 - tx) * ty, tx * ty];
        let sum =
            |f: &dyn Fn(usize) -> f32| -> f32 { corners.iter().zip(weights).map(|(&i, w)| f(i) * w).sum() };
        (
            [0, 1, 2].map(|c| sum(&|i| self.color[i][c])),
            [0, 1, 2].map(|c| sum(&|i| self.normal[i][c])),
            sum(&|i| self.occlusion[i]),
        )
    }
}

/// As [`Unpacked::at`], between two levels.
fn at(levels: &[Unpacked], level: f32, u: f32, v: f32) -> (Color, [f32; 3], f32) {
    let first = (level as usize).min(levels.len() - 1);
    let (a, b) = (levels[first].at(u, v), levels[(first + 1).min(levels.len() - 1)].at(u, v));
    let t = level - first as f32;
    (mix(a.0, b.0, t), unit(mix(a.1, b.1, t)), a.2 + (b.2 - a.2) * t)
}
