//! What stands on the ground in so great numbers that no land keeps it: grass, flowers, ferns, stones, dead wood. It is drawn from
//! the place alone, by the materials of the ground there, in cells around the eye.

use orogen_core::{Seed, math};
use rayon::prelude::*;

use super::Spot;
use super::cells::Standing;
use crate::vec3::Vec3;

/// A kind of thing, and where it stands.
struct Growth {
    species: &'static str,
    /// What it is, as `Kind` counts: a shrub, a herb, litter.
    kind: u16,
    /// One may stand in each square of so many metres.
    every_m: f64,
    /// It is drawn up to here, ever less densely.
    far_m: f64,
    /// The share of squares in which one stands, by material of the ground.
    on: &'static [(&'static str, f32)],
    /// From 0 (evenly) to 1 (in patches).
    patches: f32,
    /// Scale of the smallest and of the largest.
    scale: [f32; 2],
    /// The share of crowns above that it wants at least and bears at most.
    shade: [f32; 2],
    /// Steepest ground, as a tangent.
    steep: f32,
}

const GROWTHS: &[Growth] = &[
    Growth {
        species: "grass",
        kind: 2,
        every_m: 0.36,
        far_m: 110.0,
        on: &[("grass", 0.95), ("forest_floor", 0.16), ("moss", 0.25), ("soil", 0.12)],
        patches: 0.45,
        scale: [0.55, 1.35],
        shade: [0.0, 1.0],
        steep: 1.0,
    },
    Growth {
        species: "tussock",
        kind: 2,
        every_m: 0.8,
        far_m: 140.0,
        on: &[("dry_grass", 0.9), ("grass", 0.05), ("lichen", 0.12), ("sand", 0.03)],
        patches: 0.5,
        scale: [0.45, 1.1],
        shade: [0.0, 0.6],
        steep: 1.1,
    },
    Growth {
        species: "trisetum_flavescens",
        kind: 2,
        every_m: 0.9,
        far_m: 70.0,
        on: &[("grass", 0.22), ("dry_grass", 0.35)],
        patches: 0.8,
        scale: [0.7, 1.2],
        shade: [0.0, 0.4],
        steep: 0.8,
    },
    Growth {
        species: "flowers",
        kind: 2,
        every_m: 0.8,
        far_m: 60.0,
        on: &[("grass", 0.30), ("dry_grass", 0.08)],
        patches: 1.0,
        scale: [0.7, 1.3],
        shade: [0.0, 0.5],
        steep: 0.9,
    },
    Growth {
        species: "fern",
        kind: 2,
        every_m: 1.3,
        far_m: 120.0,
        on: &[("forest_floor", 0.35), ("moss", 0.5), ("grass", 0.10)],
        patches: 0.8,
        scale: [0.6, 1.3],
        shade: [0.3, 1.0],
        steep: 1.2,
    },
    Growth {
        species: "stone",
        kind: 3,
        every_m: 1.6,
        far_m: 110.0,
        on: &[
            ("scree", 0.55),
            ("gravel", 0.35),
            ("granite", 0.18),
            ("limestone", 0.20),
            ("basalt", 0.18),
            ("soil", 0.05),
            ("lichen", 0.12),
            ("sand", 0.02),
        ],
        patches: 0.8,
        scale: [0.3, 1.6],
        shade: [0.0, 1.0],
        steep: 0.75,
    },
    Growth {
        species: "boulder",
        kind: 3,
        every_m: 9.0,
        far_m: 500.0,
        on: &[
            ("scree", 0.30),
            ("gravel", 0.04),
            ("granite", 0.06),
            ("limestone", 0.06),
            ("basalt", 0.06),
            ("lichen", 0.08),
            ("grass", 0.004),
        ],
        patches: 0.8,
        scale: [0.35, 1.3],
        shade: [0.0, 1.0],
        steep: 0.7,
    },
    Growth {
        species: "dead_wood",
        kind: 3,
        every_m: 9.0,
        far_m: 150.0,
        on: &[("forest_floor", 0.14)],
        patches: 0.3,
        scale: [0.5, 1.3],
        shade: [0.35, 1.0],
        steep: 0.7,
    },
];

/// Everything that stands around an eye at a height above the ground; `number` gives the number of a species.
pub fn around(
    eye: Vec3,
    high_m: f64,
    materials: &[String],
    spot: &(dyn Fn([f64; 2]) -> Option<Spot> + Sync),
    number: &mut dyn FnMut(&str, u16) -> u16,
) -> Vec<Standing> {
    let mut all = Vec::new();
    for (which, growth) in GROWTHS.iter().enumerate() {
        let on: Vec<f32> = materials
            .iter()
            .map(|name| growth.on.iter().find(|(known, _)| known == name).map_or(0.0, |(_, share)| *share))
            .collect();
        if high_m >= growth.far_m || on.iter().all(|share| *share == 0.0) {
            continue;
        }
        let species = number(growth.species, growth.kind);
        let found = one(growth, species, which as u64, eye, high_m, &on, spot);
        all.extend(found);
    }
    all
}

/// Metres over which patches change.
const PATCH_M: f64 = 7.0;

fn one(
    growth: &Growth,
    species: u16,
    which: u64,
    eye: Vec3,
    high_m: f64,
    on: &[f32],
    spot: &(dyn Fn([f64; 2]) -> Option<Spot> + Sync),
) -> Vec<Standing> {
    let seed = Seed::from_text("undergrowth").child(&which.to_string());
    let reach = (growth.far_m * growth.far_m - high_m * high_m).max(0.0).sqrt();
    let index = |m: f64| (m / growth.every_m).floor();
    let [first, last] = [-1.0, 1.0].map(|sign| [0, 1].map(|k| index(eye[k] + sign * reach)));
    if first.iter().chain(&last).any(|v| v.abs() > 1e15) {
        return Vec::new();
    }
    let rows: Vec<i64> = (first[1] as i64..=last[1] as i64).collect();
    rows.into_par_iter()
        .flat_map_iter(|row| {
            (first[0] as i64..=last[0] as i64).filter_map(move |col| {
                let bits = seed.bits2(col, row);
                let part = |shift: u32| f64::from((bits >> shift) as u32 & 0xffff) / 65536.0;
                let at = [(col as f64 + part(0)) * growth.every_m, (row as f64 + part(16)) * growth.every_m];
                let flat = [at[0] - eye[0], at[1] - eye[1]];
                let far = (flat[0] * flat[0] + flat[1] * flat[1] + high_m * high_m).sqrt() / growth.far_m;
                // The farther the fewer: they hide each other, and a picture has room for so many only.
                let rank = part(32);
                let kept = 1.0 / (1.0 + 28.0 * far * far);
                if far >= 1.0 || rank > kept {
                    return None;
                }
                let spot = spot(at)?;
                if spot.wet
                    || spot.steep > growth.steep
                    || !(growth.shade[0]..=growth.shade[1]).contains(&spot.cover)
                {
                    return None;
                }
                let share: f32 = spot
                    .materials
                    .iter()
                    .map(|(number, weight)| on.get(usize::from(*number)).unwrap_or(&0.0) * weight)
                    .sum();
                let patch = patches(seed, at);
                let wanted = share * (1.0 + growth.patches * (2.2 * patch - 1.0)).max(0.0);
                let drawn = part(48) as f32;
                if drawn >= wanted {
                    return None;
                }
                let more = Seed(bits).bits(1);
                let unit = |shift: u32| ((more >> shift) & 0xffff) as f32 / 65536.0;
                let [small, large] = growth.scale;
                // Those that stay far away are larger by what went, but not much.
                let grown = (1.0 / kept.sqrt()).min(1.9) as f32;
                let fading = math::smoothstep(1.0, 0.75, (rank / kept) as f32).max(0.25)
                    * math::smoothstep(1.0, 0.85, far as f32);
                let [r, t] = [unit(16), unit(32)];
                let rise = 0.25 + 0.75 * patch;
                Some(Standing {
                    at,
                    scale: (small + (large - small) * r * rise) * grown * fading.max(0.05),
                    yaw: std::f32::consts::TAU * unit(0),
                    lean: [0.12 * (t - 0.5), 0.12 * (unit(48) - 0.5)],
                    species,
                    bits: (more >> 13) as u32,
                    age: 128,
                    health: 255,
                    cover: spot.cover,
                    top_m: 40.0 * spot.cover,
                })
            })
        })
        .collect()
}

/// A smooth noise from 0 to 1.
fn patches(seed: Seed, at: [f64; 2]) -> f32 {
    let place = at.map(|m| m / PATCH_M);
    let cell = place.map(|v| v.floor() as i64);
    let [s, t] = [0, 1].map(|k| {
        let f = (place[k] - cell[k] as f64) as f32;
        f * f * (3.0 - 2.0 * f)
    });
    let value = |dx: i64, dy: i64| seed.child("patches").unit2(cell[0] + dx, cell[1] + dy) as f32;
    let south = value(0, 0) * (1.0 - s) + value(1, 0) * s;
    let north = value(0, 1) * (1.0 - s) + value(1, 1) * s;
    south * (1.0 - t) + north * t
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spot(_: [f64; 2]) -> Option<Spot> {
        let mut materials = [(255, 0.0); 8];
        materials[0] = (0, 1.0);
        Some(Spot { wet: false, steep: 0.1, cover: 0.0, materials })
    }

    fn places(eye: Vec3, high_m: f64) -> Vec<Standing> {
        let mut names: Vec<String> = Vec::new();
        around(eye, high_m, &[String::from("grass")], &spot, &mut |name, _| {
            names.push(name.to_owned());
            names.len() as u16 - 1
        })
    }

    #[test]
    fn grass_is_dense_near_and_sparse_far_and_stays_where_it_is() {
        let all = places([500.0, 500.0, 2.0], 2.0);
        let within = |low: f64, high: f64| {
            let hit = all.iter().filter(|thing| {
                let far = math::hypot(thing.at[0] - 500.0, thing.at[1] - 500.0);
                (low..high).contains(&far)
            });
            hit.count() as f64 / (std::f64::consts::PI * (high * high - low * low))
        };
        assert!(within(0.0, 10.0) > 3.0, "{}", within(0.0, 10.0));
        assert!(within(0.0, 10.0) > 4.0 * within(60.0, 100.0) && within(60.0, 100.0) > 0.02);
        // Steps of the eye move nothing that is near.
        let moved = places([501.0, 500.0, 2.0], 2.0);
        let near = |list: &[Standing]| -> Vec<[f64; 2]> {
            list.iter()
                .map(|thing| thing.at)
                .filter(|at| math::hypot(at[0] - 500.5, at[1] - 500.0) < 3.0)
                .collect()
        };
        let (before, after) = (near(&all), near(&moved));
        let both = before.iter().filter(|at| after.contains(at)).count();
        assert!(both as f64 > 0.95 * before.len() as f64, "{both} of {}", before.len());
    }

    #[test]
    fn nothing_is_made_from_high_above_or_where_all_is_wet() {
        assert!(places([0.0; 3], 2000.0).is_empty());
        let wet = |_: [f64; 2]| Some(Spot { wet: true, ..spot([0.0; 2]).unwrap() });
        assert!(around([0.0; 3], 1.0, &[String::from("grass")], &wet, &mut |_, _| 0).is_empty());
    }
}
