//! Detail maps: what keeps a repeated texture from looking repeated, after the thesis's chapter 5.5.
//!
//! Loose ground takes itself once more, turned and larger, and both are averaged. Rock and plant cover are multiplied by a
//! pattern much larger than the tile.

use orogen_core::Seed;
use orogen_core::math::smoothstep;

use crate::color::Color;
use crate::dice::{hash, lattice_seed, unit};
use crate::field::Field;
use crate::noise::{Cells, Noise, Octaves, Warp};

/// What is laid over a texture against visible repetition.
#[derive(Clone, Debug, PartialEq)]
pub enum Detail {
    /// The texture's own albedo again, turned by an angle and larger by a factor, averaged with the first.
    Turned {
        /// Counter-clockwise, in degrees.
        turn_deg: f32,
        /// How many times larger.
        scale: f32,
    },
    /// A larger pattern, multiplied.
    Pattern(Pattern),
}

/// A seamless pattern much larger than the tile.
#[derive(Clone, Debug, PartialEq)]
pub struct Pattern {
    /// Its side, in metres; not a multiple of the texture's.
    pub size_m: f32,
    /// Samples along a side.
    pub size: usize,
    /// What to multiply the albedo by, row by row; 1 on average, 0 to 2.
    pub factor: Vec<Color>,
}

/// How a detail map will be made.
#[derive(Clone, Debug)]
pub(crate) enum Plan {
    Turned,
    Pattern {
        size_m: f32,
        /// Patches across the pattern, from left to right and from top to bottom.
        period: [u32; 2],
        /// How far the brightness goes, as a deviation.
        tone: f32,
        /// How far each colour goes along a second pattern, as a deviation: dry or damp patches, stains.
        tint: Color,
        /// Large joints: how many blocks across, and how much darker than the rest.
        joints: Option<([u32; 2], f32)>,
    },
}

/// Samples along a side of a pattern.
const PATTERN: usize = 512;

impl Plan {
    pub(crate) fn make(&self, seed: Seed) -> Detail {
        match *self {
            // A turn whose tangent is not a ratio of small numbers, and a factor that no multiple of comes near a whole one.
            Self::Turned => Detail::Turned { turn_deg: 37.0, scale: 2.618 },
            Self::Pattern { size_m, period, tone, tint, joints } => {
                let octaves = |name| Octaves::directional(lattice_seed(seed, name), period, 6, 0.66);
                let (tones, tints) = (octaves("detail tone"), octaves("detail tint"));
                let warp = Warp::new(lattice_seed(seed, "detail warp"), 3, 3, 0.05);
                let ragged = Warp::new(lattice_seed(seed, "detail joints"), 9, 5, 0.02);
                let lines = Field::from_fn(PATTERN, |u, v| {
                    let Some((period, dark)) = joints else { return 1.0 };
                    let blocks = Cells { period, ..Cells::new(lattice_seed(seed, "detail blocks"), 1) };
                    let (u, v) = ragged.at(u, v);
                    let block = blocks.nearest(u, v);
                    let open = unit(hash(block.id ^ block.neighbor, 1, 0));
                    let width = 0.03 + 0.05 * open;
                    let line = open * (1.0 - smoothstep(0.2 * width, width, block.edge));
                    (1.0 - dark * line) * (1.0 + 0.12 * (unit(block.id) - 0.5))
                });
                // The deviation of octaves is about a third.
                let warped = |noise: &Octaves| {
                    Field::from_fn(PATTERN, |u, v| {
                        let (u, v) = warp.at(u, v);
                        3.0 * noise.at(u, v)
                    })
                };
                let (tones, tints) = (warped(&tones), warped(&tints));
                let channel = |channel: usize| {
                    let field = Field::from_cells(PATTERN, |col, row| {
                        let broad = 1.0 + tone * tones.row(row)[col] + tint[channel] * tints.row(row)[col];
                        broad * lines.row(row)[col]
                    });
                    let mean = field.mean() as f32;
                    field.map(|f| (f / mean).clamp(0.3, 1.9))
                };
                let channels = [channel(0), channel(1), channel(2)];
                let factor = (0..PATTERN * PATTERN).map(|i| [0, 1, 2].map(|c| channels[c].as_slice()[i]));
                Detail::Pattern(Pattern { size_m, size: PATTERN, factor: factor.collect() })
            }
        }
    }
}

impl Pattern {
    /// The factor at a place in metres, straight between samples.
    #[must_use]
    pub fn at(&self, x_m: f32, y_m: f32) -> Color {
        let n = self.size as f32;
        let (x, y) = (x_m / self.size_m * n - 0.5, y_m / self.size_m * n - 0.5);
        let (x0, y0) = (x.floor(), y.floor());
        let (tx, ty) = (x - x0, y - y0);
        let at = |i: f32, j: f32| {
            let index = |a: f32| (a as i64).rem_euclid(self.size as i64) as usize;
            self.factor[index(j) * self.size + index(i)]
        };
        let corners = [at(x0, y0), at(x0 + 1.0, y0), at(x0, y0 + 1.0), at(x0 + 1.0, y0 + 1.0)];
        let weights = [(1.0 - tx) * (1.0 - ty), tx * (1.0 - ty), (1.0 - tx) * ty, tx * ty];
        [0, 1, 2].map(|c| corners.iter().zip(weights).map(|(corner, w)| corner[c] * w).sum())
    }
}

/// The average of a texture with itself turned: the contrast that averaging takes (two independent patterns have √½ of it) is
/// given back about the mean colour.
#[must_use]
pub fn averaged(first: Color, turned: Color, mean: Color) -> Color {
    [0, 1, 2].map(|c| {
        let average = (first[c] + turned[c]) * 0.5;
        (mean[c] + (average - mean[c]) * std::f32::consts::SQRT_2).max(0.0)
    })
}
