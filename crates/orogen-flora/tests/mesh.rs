//! Surfaces of plants: closed, sound and where the skeleton is.

#![allow(clippy::unwrap_used, reason = "a failing test may stop")]

use std::collections::BTreeMap;

use orogen_core::Seed;
use orogen_flora::{Detail, Leaves, Level, Seen, Species, View, grow, mesh};

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
