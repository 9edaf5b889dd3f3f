//! Which plants are drawn, and how finely.

use std::collections::{BTreeMap, BTreeSet};

use bytemuck::{Pod, Zeroable};
use orogen_core::math;
use rayon::prelude::*;

use super::cells::{Cells, Standing};
use super::model::{Key, LEVELS, VARIANTS};
use super::{Footing, Sight};
use crate::camera::curve_m;
use crate::cascades::{CASCADES, Cascade, SHADOW_SIDE};
use crate::vec3::{Vec3, dot};

/// Pixels of height below which a plant goes over to the next level: from the finest mesh to the impostor.
pub const PIXELS: [f64; LEVELS - 1] = [1300.0, 560.0, 250.0, 120.0];
/// How much farther a fade ends than it begins.
const FADE: f64 = 1.25;
/// Plants of fewer pixels are not drawn.
const LEAST_PX: f64 = 2.5;
/// Plants lower than this all have one shape.
const PLAIN_M: f64 = 1.0;
/// In its shadow a plant need not be as fine as in the picture: its samples count for so many pixels.
const IN_SHADOW: f64 = 0.42;
/// Plants of fewer samples throw no shadow.
const LEAST_SHADOW: f64 = 3.0;

/// A plant as the device takes it.
#[repr(C)]
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
pub struct Instance {
    /// Its foot relative to the eye, and its scale.
    pub place: [f32; 4],
    /// Cosine and sine of its turn, and where its top leans to.
    pub turn: [i16; 4],
    /// Between which thresholds its pixels are drawn; the share of crowns around it and how high they are against it.
    pub shares: [u8; 4],
    /// Health, hue, phase of the wind, age.
    pub state: [u8; 4],
}

/// The plants of each model at each level, nearest first.
pub type Batches = BTreeMap<(Key, usize), Vec<Instance>>;

/// What is drawn.
#[derive(Default)]
pub struct Chosen {
    /// In the picture.
    pub seen: Batches,
    /// Into each square of shadows, each plant once.
    pub cast: [Batches; CASCADES],
}

impl Chosen {
    /// The models and levels that are needed.
    pub fn models(&self) -> BTreeSet<(Key, usize)> {
        self.cast.iter().chain([&self.seen]).flat_map(BTreeMap::keys).copied().collect()
    }
}

/// A plant that was chosen.
struct Pick {
    distance: f32,
    /// The square of shadows that it is drawn into; none for the picture.
    square: Option<usize>,
    key: Key,
    level: usize,
    instance: Instance,
}

/// Chooses the level of every plant in view, and of every one that throws a shadow near the eye.
pub fn choose(cells: &Cells, sight: &Sight<'_>, ground: &dyn Footing) -> Chosen {
    let focal = sight.focal_px();
    let eye = sight.camera.eye;
    let sides = sight.camera.sides(sight.aspect);
    let parts: Vec<Vec<Pick>> = cells
        .shown()
        .par_iter()
        .map(|(plants, most)| {
            let mut out = Vec::new();
            for plant in *plants {
                let [grown, radius] = cells.species[usize::from(plant.species)].size_m;
                let [height, radius] = [grown, radius].map(|v| v * f64::from(plant.scale));
                let flat = [plant.at[0] - eye[0], plant.at[1] - eye[1]];
                let far = (flat[0] * flat[0] + flat[1] * flat[1]).sqrt();
                // Trees are gone where the cover of the ground has taken over, small plants before.
                let end = most.min(height * focal / LEAST_PX);
                if far > end {
                    continue;
                }
                let foot = ground.height_at(plant.at) - eye[2];
                let middle = [flat[0], flat[1], foot - curve_m(far) + 0.5 * height];
                let reach = 0.5 * height + radius;
                // Of what is small nobody tells two shapes apart.
                let shapes = if grown < PLAIN_M { 1 } else { VARIANTS };
                let key = Key { species: plant.species, variant: (plant.bits as usize % shapes) as u8 };
                let distance = dot(middle, middle).sqrt();
                let leaves = 1.0 - fade(distance, 0.8 * end, end);
                if let Some(squares) = sight.near.as_ref().filter(|_| leaves > 0.0) {
                    out.extend(shadows(squares, middle, reach, height).map(|(square, level)| Pick {
                        distance: distance as f32,
                        square: Some(square),
                        key,
                        level,
                        instance: instance(plant, [flat[0], flat[1], foot], height, [0.0, 1.0]),
                    }));
                }
                if sides.iter().any(|side| dot(*side, middle) < -reach) {
                    continue;
                }
                if leaves <= 0.0 {
                    continue;
                }
                let mut from = 0.0;
                for level in 0..LEVELS {
                    // The share of this level and all finer ones.
                    let next = PIXELS.get(level).map_or(1.0, |pixels| {
                        let begin = height * focal / pixels;
                        1.0 - fade(distance, begin, FADE * begin)
                    });
                    let to = next.min(leaves);
                    if to > from {
                        out.push(Pick {
                            distance: distance as f32,
                            square: None,
                            key,
                            level,
                            instance: instance(plant, [flat[0], flat[1], foot], height, [from, to]),
                        });
                    }
                    from = from.max(next);
                    if from >= 1.0 {
                        break;
                    }
                }
            }
            out.sort_by(|a, b| a.distance.total_cmp(&b.distance));
            out
        })
        .collect();
    let mut chosen = Chosen::default();
    for pick in parts.into_iter().flatten() {
        let batches = match pick.square {
            Some(square) => &mut chosen.cast[square],
            None => &mut chosen.seen,
        };
        batches.entry((pick.key, pick.level)).or_default().push(pick.instance);
    }
    chosen
}

/// The squares that a plant throws its shadow into, and at which level.
fn shadows(
    squares: &[Cascade; CASCADES],
    middle: Vec3,
    reach: f64,
    height: f64,
) -> impl Iterator<Item = (usize, usize)> + '_ {
    let alone = squares.iter().position(|square| square.holds(middle, reach));
    // Wider squares are not asked about places that a narrower one knows alone.
    let last = alone.unwrap_or(CASCADES - 1);
    (0..=last).filter_map(move |i| {
        let samples = height * f64::from(SHADOW_SIDE) / (2.0 * squares[i].radius_m);
        if samples < LEAST_SHADOW || !squares[i].may_see(middle, reach) {
            return None;
        }
        let level = PIXELS.iter().position(|pixels| samples * IN_SHADOW >= *pixels);
        Some((i, level.unwrap_or(LEVELS - 1)))
    })
}

/// From 0 to 1 between two distances.
fn fade(distance: f64, from: f64, to: f64) -> f64 {
    math::smoothstep(from as f32, to as f32, distance as f32).into()
}

fn instance(plant: &Standing, foot: [f64; 3], height: f64, [from, to]: [f64; 2]) -> Instance {
    let snorm = |x: f32| (x * 32767.0).round().clamp(-32767.0, 32767.0) as i16;
    let byte = |x: f64| (x * 255.0).round().clamp(0.0, 255.0) as u8;
    let [x, y, z] = foot.map(|v| v as f32);
    Instance {
        place: [x, y, z, plant.scale],
        turn: [math::f32::cos(plant.yaw), math::f32::sin(plant.yaw), plant.lean[0], plant.lean[1]].map(snorm),
        shares: [
            byte(from),
            byte(to),
            byte(plant.cover.into()),
            byte(0.5 * f64::from(plant.top_m) / height.max(0.01)),
        ],
        state: [plant.health, (plant.bits >> 8) as u8, (plant.bits >> 16) as u8, plant.age],
    }
}
