//! Which plants are drawn, and how finely.

use bytemuck::{Pod, Zeroable};
use orogen_core::math;
use rayon::prelude::*;

use super::cells::{Cells, Standing};
use super::model::{Key, LEVELS, VARIANTS};
use super::{Footing, Sight};
use crate::camera::curve_m;
use crate::vec3::dot;

/// Pixels of height below which a plant goes over to the next level: from the finest mesh to the impostor.
const PIXELS: [f64; LEVELS - 1] = [1300.0, 560.0, 250.0, 120.0];
/// How much farther a fade ends than it begins.
const FADE: f64 = 1.25;
/// Plants of fewer pixels are not drawn.
const LEAST_PX: f64 = 2.5;

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

/// What is drawn: the plants of each model at each level, nearest first.
pub type Chosen = std::collections::BTreeMap<(Key, usize), Vec<Instance>>;

/// Chooses the level of every plant in view.
pub fn choose(cells: &Cells, sight: &Sight<'_>, ground: &dyn Footing) -> Chosen {
    let focal = sight.focal_px();
    let eye = sight.camera.eye;
    let sides = sight.camera.sides(sight.aspect);
    let parts: Vec<Vec<(f32, Key, usize, Instance)>> = cells
        .shown()
        .par_iter()
        .map(|(plants, most)| {
            let mut out = Vec::new();
            for plant in *plants {
                let [height, radius] =
                    cells.species[usize::from(plant.species)].size_m.map(|v| v * f64::from(plant.scale));
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
                if sides.iter().any(|side| dot(*side, middle) < -reach) {
                    continue;
                }
                let distance = dot(middle, middle).sqrt();
                let leaves = 1.0 - fade(distance, 0.8 * end, end);
                if leaves <= 0.0 {
                    continue;
                }
                let key = Key { species: plant.species, variant: (plant.bits as usize % VARIANTS) as u8 };
                let mut from = 0.0;
                for level in 0..LEVELS {
                    // The share of this level and all finer ones.
                    let next = PIXELS.get(level).map_or(1.0, |pixels| {
                        let begin = height * focal / pixels;
                        1.0 - fade(distance, begin, FADE * begin)
                    });
                    let to = next.min(leaves);
                    if to > from {
                        out.push((
                            distance as f32,
                            key,
                            level,
                            instance(plant, [flat[0], flat[1], foot], height, [from, to]),
                        ));
                    }
                    from = from.max(next);
                    if from >= 1.0 {
                        break;
                    }
                }
            }
            out.sort_by(|a, b| a.0.total_cmp(&b.0));
            out
        })
        .collect();
    let mut chosen = Chosen::new();
    for (_, key, level, instance) in parts.into_iter().flatten() {
        chosen.entry((key, level)).or_default().push(instance);
    }
    chosen
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
