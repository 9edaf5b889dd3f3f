//! Surfaces of plants: closed, sound and where the skeleton is.

#![allow(clippy::unwrap_used, reason = "a failing test may stop")]

use std::collections::BTreeMap;

use orogen_core::{Seed, math};
use orogen_flora::{Detail, Leaves, Level, Seen, Species, View, grow, lod, mesh};

fn tree() -> Species {
    Species {
        leaves: Leaves { count: 12, ..Leaves::default() },
        levels: vec![
            Level {
                branches: 1,
                length: 1.0,
                pieces: 8,
                curve_vary_deg: 30.0,
                down_deg: 0.0,
                ..Level::default()
            },
            Level { branches: 20, length: 0.4, pieces: 6, splits: 0.2, split_deg: 25.0, ..Level::default() },
            Level { branches: 12, length: 0.3, ..Level::default() },
        ],
        ..Species::default()
    }
}

#[test]
fn every_stem_is_closed() {
    let species = tree();
    let plant = grow(&species, Seed(5)).unwrap();
    let bark = mesh(&species, &plant, &Detail::FULL).bark;
    // By place, as corners of the texture's ends are there twice: every edge is passed once each way.
    let key = |id: u32| bark.positions[id as usize].map(f32::to_bits);
    let mut edges = BTreeMap::new();
    for corners in bark.indices.chunks_exact(3) {
        for (from, to) in [(0, 1), (1, 2), (2, 0)] {
            *edges.entry((key(corners[from]), key(corners[to]))).or_insert(0i32) += 1;
        }
    }
    let open = edges.iter().filter(|((from, to), count)| edges.get(&(*to, *from)) != Some(count)).count();
    assert_eq!(open, 0, "of {} edges", edges.len());
}

#[test]
fn normals_have_length_1_and_no_triangle_is_flat() {
    let species = tree();
    let plant = grow(&species, Seed(5)).unwrap();
    let made = mesh(&species, &plant, &Detail::FULL);
    for part in [&made.bark, &made.leaves] {
        assert_eq!((part.normals.len(), part.uvs.len()), (part.positions.len(), part.positions.len()));
        for normal in &part.normals {
            let length = normal.iter().map(|v| v * v).sum::<f32>().sqrt();
            assert!((length - 1.0).abs() < 1e-4, "{normal:?}");
        }
        for corners in part.indices.chunks_exact(3) {
            let [a, b, c] = [0, 1, 2].map(|k| part.positions[corners[k] as usize].map(f64::from));
            let [p, q] = [b, c].map(|v| [v[0] - a[0], v[1] - a[1], v[2] - a[2]]);
            let cross = [p[1] * q[2] - p[2] * q[1], p[2] * q[0] - p[0] * q[2], p[0] * q[1] - p[1] * q[0]];
            let area = cross.iter().map(|v| v * v).sum::<f64>().sqrt();
            assert!(area > 1e-12, "{a:?} {b:?} {c:?}");
        }
    }
    assert!(plant.leaves.len() > 1000 && made.leaves.indices.len() == 6 * plant.leaves.len());
}

#[test]
fn the_texture_runs_on_along_stems() {
    // A thin trunk, whose texture goes to its far side and back, and a thick one with a seam.
    for trunk_scale in [1.0, 5.0] {
        let species = Species { trunk_scale, ..tree() };
        let plant = grow(&species, Seed(5)).unwrap();
        for made in [mesh(&species, &plant, &Detail::FULL).bark, lod(&species, &plant, 1).bark] {
            for corners in made.indices.chunks_exact(3) {
                for (from, to) in [(0, 1), (1, 2), (2, 0)] {
                    let [a, b] = [corners[from] as usize, corners[to] as usize];
                    let apart = (0..3)
                        .map(|k| made.positions[a][k] - made.positions[b][k])
                        .map(|d| d * d)
                        .sum::<f32>()
                        .sqrt();
                    let run = (made.uvs[a][1] - made.uvs[b][1]).abs();
                    // The grain of thin wood is 2.5 times as fine at most.
                    assert!(run < 2.6 * apart + 0.01, "{run} over {apart} m");
                }
            }
            // Corners at the same place, on the two sides of a seam, show the same part of the texture: whole repeats apart.
            let mut places = BTreeMap::new();
            let mut seams = 0;
            for (at, normal, uv) in corners_of(&made) {
                let key = (at.map(f32::to_bits), normal.map(f32::to_bits));
                if let Some(other) = places.insert(key, uv) {
                    let turns: f32 = uv[0] - other[0];
                    assert!((turns - turns.round()).abs() < 1e-3 && turns.round() > 0.0, "{turns}");
                    assert!((uv[1] - other[1]).abs() < 1e-5);
                    seams += 1;
                }
            }
            assert_eq!(seams > 0, trunk_scale > 1.0, "{seams}");
        }
    }
}

fn corners_of(mesh: &orogen_flora::Mesh) -> impl Iterator<Item = ([f32; 3], [f32; 3], [f32; 2])> {
    let pairs = mesh.positions.iter().zip(&mesh.normals).zip(&mesh.uvs);
    pairs.map(|((at, normal), uv)| (*at, *normal, *uv))
}

#[test]
fn a_thicker_trunk_has_more_bark_not_larger_bark() {
    let grain = |trunk_scale: f64| {
        let species = Species { trunk_scale, flare: 0.0, lobes: 0, ..tree() };
        let plant = grow(&species, Seed(5)).unwrap();
        let bark = mesh(&species, &plant, &Detail::FULL).bark;
        // The largest triangles are those of the trunk: metres for each repeat.
        let mut sizes: Vec<(f64, f64)> = bark
            .indices
            .chunks_exact(3)
            .map(|corners| {
                let [a, b, c] = [0, 1, 2].map(|k| corners[k] as usize);
                let part = |from: usize, to: usize| {
                    [0, 1, 2].map(|k| f64::from(bark.positions[to][k] - bark.positions[from][k]))
                };
                let [p, q] = [part(a, b), part(a, c)];
                let cross = [p[1] * q[2] - p[2] * q[1], p[2] * q[0] - p[0] * q[2], p[0] * q[1] - p[1] * q[0]];
                let [s, t] = [b, c].map(|to| [0, 1].map(|k| f64::from(bark.uvs[to][k] - bark.uvs[a][k])));
                (cross.iter().map(|v| v * v).sum::<f64>().sqrt(), (s[0] * t[1] - s[1] * t[0]).abs())
            })
            .collect();
        // Not the lid in the ground.
        sizes.retain(|size| size.1 > 1e-6);
        sizes.sort_by(|a, b| b.0.total_cmp(&a.0));
        let (space, texture) = sizes[..10].iter().fold((0.0, 0.0), |(s, t), size| (s + size.0, t + size.1));
        (space / texture).sqrt()
    };
    let [thin, thick] = [grain(2.0), grain(6.0)];
    assert!((thick / thin - 1.0).abs() < 0.25, "{thin} and {thick} m");
}

#[test]
fn branches_begin_within_their_parents() {
    let species = Species { broken_share: 0.0, ..tree() };
    let plant = grow(&species, Seed(5)).unwrap();
    let whole = mesh(&species, &plant, &Detail::FULL).bark;
    // Without the branches: what is left is the trunk's surface, and that of all it split into.
    let trunk = mesh(&species, &plant, &Detail { levels: 1, ..Detail::FULL }).bark;
    assert_eq!(trunk.positions, whole.positions[..trunk.positions.len()], "the trunk is drawn first");
    let limbs = mesh(&species, &plant, &Detail { levels: 2, ..Detail::FULL }).bark;
    let mut outside = 0;
    let mut feet = 0;
    let mut seen = trunk.positions.len();
    while seen < limbs.positions.len() {
        // Corners of one tube: all that its triangles reach.
        let end = limbs.indices.chunks_exact(3).fold(seen, |end, corners| {
            if corners.iter().any(|id| (*id as usize) >= seen && (*id as usize) <= end) {
                end.max(corners.iter().map(|id| *id as usize).max().unwrap())
            } else {
                end
            }
        });
        feet += 1;
        outside += usize::from(!inside(&trunk, limbs.positions[seen]));
        seen = end + 1;
    }
    assert!(feet >= 20, "{feet}");
    // What limbs split into begins within a limb, not within the trunk.
    let clones = plant.stems.iter().filter(|stem| stem.level == 1 && stem.is_clone).count();
    assert!(outside <= clones, "{outside} of {feet}, {clones} of which split off");
}

/// Whether a place lies within a closed surface: a ray from it passes more fronts than backs.
fn inside(mesh: &orogen_flora::Mesh, from: [f32; 3]) -> bool {
    let way = [0.5377, 0.2113, 0.8162];
    let mut passed = 0i32;
    for corners in mesh.indices.chunks_exact(3) {
        let [a, b, c] = [0, 1, 2]
            .map(|k| mesh.positions[corners[k] as usize])
            .map(|at| [0, 1, 2].map(|axis| f64::from(at[axis] - from[axis])));
        let cross = |p: [f64; 3], q: [f64; 3]| {
            [p[1] * q[2] - p[2] * q[1], p[2] * q[0] - p[0] * q[2], p[0] * q[1] - p[1] * q[0]]
        };
        let dot = |p: [f64; 3], q: [f64; 3]| p[0] * q[0] + p[1] * q[1] + p[2] * q[2];
        let sides = [(a, b), (b, c), (c, a)].map(|(p, q)| dot(way, cross(p, q)));
        let is_out = sides.iter().all(|side| *side > 0.0);
        let is_in = sides.iter().all(|side| *side < 0.0);
        if !is_out && !is_in {
            continue;
        }
        let [p, q] = [b, c].map(|v| [0, 1, 2].map(|k| v[k] - a[k]));
        let normal = cross(p, q);
        if dot(a, normal) / dot(way, normal) > 0.0 {
            passed += if is_out { 1 } else { -1 };
        }
    }
    passed > 0
}

#[test]
fn wind_takes_ends_more_than_feet_and_leaves_are_darker_inside() {
    let mut species = tree();
    species.leaves.count = 80;
    let plant = grow(&species, Seed(5)).unwrap();
    let made = mesh(&species, &plant, &Detail::FULL);
    let height = plant.height_m();
    for (at, sway) in made.bark.positions.iter().zip(&made.bark.sway) {
        assert!(
            at[2] > 0.1 * height
                || math::hypot(f64::from(at[0]), f64::from(at[1])) > 0.1 * f64::from(height)
                || sway[0] > 230,
            "{at:?}: {sway:?}"
        );
        assert_eq!(sway[2], 0, "bark does not flutter");
    }
    assert!(made.bark.sway.iter().any(|sway| sway[0] < 120), "thin ends give way");
    let branches: std::collections::BTreeSet<u16> = made.leaves.branches.iter().copied().collect();
    let limbs = plant.stems.iter().filter(|stem| stem.level == 1 && !stem.is_clone).count();
    assert!(branches.len() * 10 >= limbs * 9 && branches.iter().all(|id| usize::from(*id) <= limbs));
    for card in made.leaves.sway.chunks_exact(4) {
        assert_eq!([card[0][2], card[2][2]], [0, 255]);
    }
    // By their distance from the middle of the crown.
    let count = made.leaves.positions.len() as f64;
    let middle =
        [0, 1, 2].map(|k| made.leaves.positions.iter().map(|at| f64::from(at[k])).sum::<f64>() / count);
    let mut by_place: Vec<(f64, f64)> = made
        .leaves
        .positions
        .iter()
        .zip(&made.leaves.sway)
        .map(|(at, sway)| {
            let away = (0..3).map(|k| f64::from(at[k]) - middle[k]).map(|d| d * d).sum::<f64>();
            (away, f64::from(sway[3]))
        })
        .collect();
    by_place.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mean = |part: &[(f64, f64)]| part.iter().map(|(_, light)| light).sum::<f64>() / part.len() as f64;
    let fifth = by_place.len() / 5;
    let [inner, outer] = [mean(&by_place[..fifth]), mean(&by_place[4 * fifth..])];
    assert!(inner < 0.85 * outer && outer > 100.0, "{inner} and {outer}");
}

#[test]
fn a_million_corners_are_made() {
    let mut species = tree();
    species.leaves.count = 250;
    species.levels[1].branches = 60;
    species.levels[2].branches = 60;
    let plant = grow(&species, Seed(5)).unwrap();
    let made = mesh(&species, &plant, &Detail::FULL);
    let corners = made.bark.positions.len() + made.leaves.positions.len();
    assert!(corners > 1_000_000, "{corners}");
    assert!(lod(&species, &plant, 3).triangles() < 960);
}

#[test]
fn a_tree_is_seen_as_high_as_it_is() {
    let species = tree();
    let plant = grow(&species, Seed(9)).unwrap();
    let made = mesh(&species, &plant, &Detail::FULL);
    let height = f64::from(plant.height_m());
    let view = View {
        middle: [0.0, 0.0, 0.5 * height],
        toward: [0.0, 1.0, 0.0],
        width_m: 2.0 * height,
        size: [400, 400],
    };
    let mut seen = Seen::new(view.size);
    seen.draw(&made.bark, &view, false, |_| Some([0.5; 3]));
    seen.draw(&made.leaves, &view, true, |_| Some([0.5; 3]));
    let rows: Vec<usize> =
        (0..400).filter(|row| seen.depth[row * 400..][..400].iter().any(|d| d.is_finite())).collect();
    // Two hundred rows from foot to top, and what leaves reach beyond.
    assert!((rows.len() as f64 - 200.0).abs() <= 8.0, "{} rows", rows.len());
    let (mut sum, mut count) = (0.0, 0.0);
    for (normal, _) in seen.normal.iter().zip(&seen.depth).filter(|(_, depth)| depth.is_finite()) {
        sum += normal[1];
        count += 1.0;
    }
    assert!(sum / count < -0.3, "what is seen looks this way: {}", sum / count);
}

#[test]
fn seeds_give_other_trees_and_the_same_seed_the_same() {
    let species = tree();
    assert!(grow(&species, Seed(1)).unwrap() == grow(&species, Seed(1)).unwrap());
    assert!(grow(&species, Seed(1)).unwrap() != grow(&species, Seed(2)).unwrap());
    // Turning one parameter changes nothing else: the trunk stays where it was.
    let mut other = tree();
    other.levels[1].down_deg = 80.0;
    let [a, b] = [&species, &other].map(|species| grow(species, Seed(1)).unwrap());
    assert_eq!(a.nodes_of(&a.stems[0]), b.nodes_of(&b.stems[0]));
}

#[test]
fn absurd_species_get_a_sentence() {
    let mut species = tree();
    species.levels[1].branches = 1_000_000_000;
    assert_eq!(
        grow(&species, Seed(1)).unwrap_err().to_string(),
        "levels[1].branches is 1000000000; it must lie between 0 and 1000"
    );
    species.levels[1].branches = 1000;
    species.levels[2].branches = 1000;
    species.leaves.count = 10_000;
    assert!(grow(&species, Seed(1)).unwrap_err().to_string().contains("more than 4000000"));
    species.height_m = f64::NAN;
    assert!(grow(&species, Seed(1)).unwrap_err().to_string().starts_with("height_m is NaN"));
    assert!(orogen_flora::from_arbaro("<!DOCTYPE a [<!ENTITY b 'c'>]><arbaro><species/></arbaro>").is_err());
    assert!(orogen_flora::from_arbaro("<arbaro/>").unwrap_err().to_string().contains("no <species>"));
    assert!(Species::from_toml("height = 3").unwrap_err().to_string().contains("unknown field"));
}
