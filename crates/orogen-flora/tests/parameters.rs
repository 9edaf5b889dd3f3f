//! Each parameter of Weber & Penn does what the paper says, one test each. Numbers of equations are the paper's.

#![allow(clippy::unwrap_used, reason = "a failing test may stop")]

use orogen_core::Seed;
use orogen_core::math::{acos, atan2, hypot, pow};
use orogen_flora::{Detail, Leaf, Leaves, Level, Node, Prune, Shape, Skeleton, Species, Stem, grow, mesh};

/// A plant of straight stems of which nothing varies: a trunk of 10 m with level branches.
fn plain() -> Species {
    Species {
        height_m: 10.0,
        height_vary_m: 0.0,
        bare_share: 0.2,
        ratio: 0.02,
        ratio_power: 1.2,
        flare: 0.0,
        lobes: 0,
        shape: Shape::Cylindrical,
        levels: vec![
            Level {
                branches: 1,
                branch_spread: 0.0,
                down_deg: 0.0,
                rotate_deg: 0.0,
                length: 1.0,
                pieces: 10,
                ..Level::default()
            },
            Level { branches: 30, down_deg: 90.0, length: 0.3, pieces: 6, ..Level::default() },
        ],
        ..Species::default()
    }
}

fn grown(species: &Species) -> Skeleton {
    grow(species, Seed(7)).unwrap()
}

fn of_level(plant: &Skeleton, level: u8) -> Vec<&Stem> {
    plant.stems.iter().filter(|stem| stem.level == level).collect()
}

fn at(node: &Node) -> [f64; 3] {
    node.at.map(f64::from)
}

/// Angle from upright of the way a stem begins, in degrees.
fn lean(plant: &Skeleton, stem: &Stem) -> f64 {
    lean_of(&plant.nodes_of(stem)[0])
}

fn lean_of(node: &Node) -> f64 {
    acos(f64::from(node.along[2].clamp(-1.0, 1.0))).to_degrees()
}

/// Which way round the trunk a level stem goes, in degrees.
fn round(along: [f32; 3]) -> f64 {
    atan2(f64::from(along[1]), f64::from(along[0])).to_degrees()
}

/// The smaller angle between two turns.
fn apart(a: f64, b: f64) -> f64 {
    let d = (a - b).rem_euclid(360.0);
    d.min(360.0 - d)
}

fn last(plant: &Skeleton, stem: &Stem) -> Node {
    *plant.nodes_of(stem).last().unwrap()
}

fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let all: Vec<f64> = values.collect();
    all.iter().sum::<f64>() / all.len() as f64
}

#[test]
fn height_and_its_variation() {
    let plant = grown(&plain());
    assert!((f64::from(plant.height_m()) - 10.0).abs() < 1e-3);
    let species = Species { height_vary_m: 3.0, ..plain() };
    let heights: Vec<f64> = (0..60).map(|seed| grow(&species, Seed(seed)).unwrap().scale_m).collect();
    assert!(heights.iter().all(|h| (7.0..=13.0).contains(h)));
    assert!(heights.iter().any(|h| *h < 8.0) && heights.iter().any(|h| *h > 12.0));
}

#[test]
fn no_branch_stands_on_the_bare_part() {
    let plant = grown(&Species { bare_share: 0.45, ..plain() });
    let offsets: Vec<f32> = of_level(&plant, 1).iter().map(|stem| stem.offset_m).collect();
    assert!(offsets.iter().all(|o| *o >= 4.5), "{offsets:?}");
    assert!(offsets.iter().any(|o| *o < 5.0));
}

#[test]
fn the_shape_says_how_long_branches_are() {
    // length = length of the trunk * length of the level * shape ratio (4.2), here of a cone.
    let plant = grown(&Species { shape: Shape::Conical, ..plain() });
    for stem in of_level(&plant, 1) {
        let ratio = (10.0 - f64::from(stem.offset_m)) / 8.0;
        assert!((f64::from(stem.length_m) - 10.0 * 0.3 * ratio).abs() < 1e-3, "{stem:?}");
    }
}

#[test]
fn ratio_is_the_radius_of_the_trunk_against_its_length() {
    let plant = grown(&Species { ratio: 0.033, ..plain() });
    assert!((plant.stems[0].radius_m - 0.33).abs() < 1e-4);
}

#[test]
fn ratio_power_thins_branches_by_their_length() {
    // radius = radius of the parent * (length / length of the parent) ^ ratio power (4.3).
    let plant = grown(&Species { ratio_power: 1.7, shape: Shape::Conical, ..plain() });
    for stem in of_level(&plant, 1).into_iter().filter(|stem| stem.length_m > 0.1) {
        let expected = 0.2 * pow(f64::from(stem.length_m) / 10.0, 1.7);
        // No thicker than the trunk is where it stands.
        let there = 0.2 * (1.0 - f64::from(stem.offset_m) / 10.0);
        assert!((f64::from(stem.radius_m) / expected.min(there) - 1.0).abs() < 1e-3, "{stem:?}");
    }
}

#[test]
fn flare_widens_the_foot() {
    // (100^(1 - 8 z) - 1) / 100 * flare + 1 (4.3).
    let mut species = Species { flare: 0.8, ..plain() };
    species.levels[0].pieces = 40;
    let plant = grown(&species);
    for node in plant.nodes_of(&plant.stems[0]) {
        let z = f64::from(node.from_foot_m) / 10.0;
        let flare = 0.8 * (pow(100.0, (1.0 - 8.0 * z).max(0.0)) - 1.0) / 100.0 + 1.0;
        let expected = 0.2 * (1.0 - z) * flare;
        assert!((f64::from(node.radius_m) - expected).abs() < 1e-4, "{z}: {} {expected}", node.radius_m);
    }
}

#[test]
fn lobes_and_their_depth_shape_the_section() {
    let mut species = Species { lobes: 5, lobe_depth: 0.2, ..plain() };
    species.levels.truncate(1);
    species.levels[0].taper = 0.0;
    let made = mesh(&species, &grown(&species), &Detail::FULL).bark;
    let mut ring: Vec<(f64, f64)> = made
        .positions
        .iter()
        .filter(|at| (3.5..8.5).contains(&at[2]))
        .map(|at| (atan2(f64::from(at[1]), f64::from(at[0])), hypot(f64::from(at[0]), f64::from(at[1]))))
        .collect();
    let [low, high] =
        ring.iter().fold([f64::MAX, f64::MIN], |[low, high], (_, r)| [low.min(*r), high.max(*r)]);
    assert!((low / 0.2 - 0.8).abs() < 0.03 && (high / 0.2 - 1.2).abs() < 0.03, "{low} to {high}");
    // Five times round from inside to outside and back.
    ring.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut sides: Vec<bool> =
        ring.iter().filter(|(_, r)| (r - 0.2).abs() > 0.01).map(|(_, r)| *r > 0.2).collect();
    sides.dedup();
    assert!((9..=11).contains(&sides.len()), "{sides:?}");
}

#[test]
fn attraction_up_turns_thin_branches() {
    let with = |attraction_up: f64| {
        let mut species = Species { attraction_up, ..plain() };
        species.levels.push(Level {
            branches: 8,
            down_deg: 60.0,
            length: 0.5,
            pieces: 6,
            ..Level::default()
        });
        let plant = grown(&species);
        let rise = of_level(&plant, 2).into_iter().map(|stem| {
            let nodes = plant.nodes_of(stem);
            lean_of(&nodes[0]) - lean_of(&nodes[nodes.len() - 1])
        });
        // Branches themselves do not turn.
        assert!(of_level(&plant, 1).iter().all(|stem| lean_of(&last(&plant, stem)) > 89.9));
        mean(rise)
    };
    let [down, none, up] = [-2.0, 0.0, 2.0].map(with);
    assert!(none.abs() < 0.1 && up > 20.0 && down < -20.0, "{down} {none} {up}");
}

#[test]
fn trunk_scale_thickens_the_trunk_only() {
    let [thin, thick] = [1.0, 1.5].map(|trunk_scale| grown(&Species { trunk_scale, ..plain() }));
    assert!((thick.stems[0].radius_m / thin.stems[0].radius_m - 1.5).abs() < 1e-4);
    assert_eq!(thick.stems[1].length_m, thin.stems[1].length_m);
    let species = Species { trunk_scale_vary: 0.4, ..plain() };
    let radii: Vec<f32> = (0..40).map(|seed| grow(&species, Seed(seed)).unwrap().stems[0].radius_m).collect();
    assert!(radii.iter().all(|r| (0.1199..=0.2801).contains(r)), "{radii:?}");
    assert!(radii.iter().any(|r| *r < 0.15) && radii.iter().any(|r| *r > 0.25));
}

#[test]
fn base_splits_make_more_trunks() {
    let mut species = Species { base_splits: 3, ..plain() };
    species.levels[0].split_deg = 20.0;
    let plant = grown(&species);
    assert_eq!(of_level(&plant, 0).len(), 4);
    for stem in of_level(&plant, 0).into_iter().filter(|stem| stem.is_clone) {
        assert!((plant.nodes_of(stem)[0].from_foot_m - 1.0).abs() < 1e-4, "after the first piece");
    }
}

#[test]
fn broken_share_breaks_stems_off() {
    let plant = grown(&Species { broken_share: 0.5, ..plain() });
    let branches = of_level(&plant, 1);
    let broken = branches.iter().filter(|stem| stem.count < 7).count() as f64 / branches.len() as f64;
    assert!((0.25..0.75).contains(&broken), "{broken}");
}

#[test]
fn pruning_keeps_branches_within_the_outline() {
    let mut species = plain();
    species.levels[1].length = 0.8;
    species.prune = Prune { ratio: 1.0, width: 0.25, peak: 0.5, power_low: 0.5, power_high: 0.5 };
    let outline = |prune: &Prune, z: f64| {
        // From the foot of the crown, 0, to the top, 1 (4.6).
        let up = ((z - 2.0) / 8.0).clamp(0.0, 1.0);
        let share = if up < prune.peak {
            pow(up / prune.peak, prune.power_low)
        } else {
            pow((1.0 - up) / (1.0 - prune.peak), prune.power_high)
        };
        10.0 * prune.width * share
    };
    let far = |species: &Species| {
        let plant = grown(species);
        of_level(&plant, 1)
            .into_iter()
            .map(|stem| {
                let [x, y, z] = at(&last(&plant, stem));
                (hypot(x, y), outline(&species.prune, z))
            })
            .collect::<Vec<_>>()
    };
    let cut = far(&species);
    assert!(cut.iter().all(|(far, most)| *far <= most + 0.05), "{cut:?}");
    // Narrower, lower and hollow outlines hold as well.
    for prune in [
        Prune { width: 0.15, ..species.prune },
        Prune { peak: 0.2, ..species.prune },
        Prune { power_low: 2.0, power_high: 3.0, ..species.prune },
    ] {
        let cut = far(&Species { prune, ..species.clone() });
        assert!(cut.iter().all(|(far, most)| *far <= most + 0.05), "{prune:?}: {cut:?}");
    }
    // Half the ratio takes half as much away.
    let half = far(&Species { prune: Prune { ratio: 0.5, ..species.prune }, ..species.clone() });
    let [whole, half] = [cut, half].map(|all| mean(all.iter().map(|(far, _)| 8.0 - far)));
    assert!((half / whole - 0.5).abs() < 0.08, "{half} of {whole}");
}

#[test]
fn branches_says_how_many() {
    let mut species = plain();
    for branches in [12, 48] {
        species.levels[1].branches = branches;
        assert_eq!(of_level(&grown(&species), 1).len(), branches as usize);
    }
}

#[test]
fn branch_spread_gathers_branches_in_tufts() {
    let gaps = |branch_spread: f64| {
        let mut species = plain();
        species.levels[1].branch_spread = branch_spread;
        let plant = grown(&species);
        let mut at: Vec<f32> = of_level(&plant, 1).iter().map(|stem| stem.offset_m).collect();
        at.sort_by(f32::total_cmp);
        at.windows(2).map(|pair| pair[1] - pair[0]).fold(0.0, f32::max)
    };
    assert!(gaps(0.1) > 1.5 * gaps(1.0), "{} {}", gaps(0.1), gaps(1.0));
}

#[test]
fn down_angle_and_its_variation() {
    let mut species = plain();
    species.levels[1].down_deg = 50.0;
    let plant = grown(&species);
    assert!(of_level(&plant, 1).iter().all(|stem| (lean(&plant, stem) - 50.0).abs() < 0.1));
    species.levels[1].down_vary_deg = 20.0;
    let plant = grown(&species);
    let leans: Vec<f64> = of_level(&plant, 1).iter().map(|stem| lean(&plant, stem)).collect();
    assert!(leans.iter().all(|l| (29.9..=70.1).contains(l)), "{leans:?}");
    assert!(leans.iter().any(|l| *l < 40.0) && leans.iter().any(|l| *l > 60.0));
    // Below 0 it changes from the foot of the crown to the top (4.3).
    species.levels[1].down_vary_deg = -30.0;
    let plant = grown(&species);
    for stem in of_level(&plant, 1) {
        let up = (f64::from(stem.offset_m) - 2.0) / 8.0;
        let expected = 50.0 - 30.0 * (1.0 - 2.0 * (1.0 - up));
        assert!((lean(&plant, stem) - expected).abs() < 0.2, "{up}: {} {expected}", lean(&plant, stem));
    }
}

#[test]
fn rotation_turns_from_one_branch_to_the_next() {
    let mut species = plain();
    species.levels[1].rotate_deg = 77.0;
    let plant = grown(&species);
    let turns: Vec<f64> =
        of_level(&plant, 1).iter().map(|stem| round(plant.nodes_of(stem)[0].along)).collect();
    assert!(turns.windows(2).all(|pair| (apart(pair[0], pair[1]) - 77.0).abs() < 0.1), "{turns:?}");
    species.levels[1].rotate_vary_deg = 25.0;
    let plant = grown(&species);
    let turns: Vec<f64> =
        of_level(&plant, 1).iter().map(|stem| round(plant.nodes_of(stem)[0].along)).collect();
    assert!(turns.windows(2).all(|pair| (apart(pair[0], pair[1]) - 77.0).abs() < 25.1), "{turns:?}");
    assert!(turns.windows(2).any(|pair| (apart(pair[0], pair[1]) - 77.0).abs() > 8.0));
    // Below 0 they stand to both sides in turn, that far from the back.
    species.levels[1] = Level { rotate_deg: -90.0, rotate_vary_deg: 0.0, ..species.levels[1] };
    let plant = grown(&species);
    let turns: Vec<f64> =
        of_level(&plant, 1).iter().map(|stem| round(plant.nodes_of(stem)[0].along)).collect();
    assert!(turns.windows(2).all(|pair| (apart(pair[0], pair[1]) - 180.0).abs() < 0.1), "{turns:?}");
}

#[test]
fn length_and_its_variation() {
    let mut species = plain();
    species.levels[1].length = 0.4;
    let plant = grown(&species);
    assert!(of_level(&plant, 1).iter().all(|stem| (stem.length_m - 4.0).abs() < 1e-3));
    species.levels[1].length_vary = 0.1;
    let lengths: Vec<f32> = (0..40)
        .flat_map(|seed| grow(&species, Seed(seed)).unwrap().stems)
        .filter(|s| s.level == 1)
        .map(|s| s.length_m)
        .collect();
    assert!(lengths.iter().all(|l| (2.999..=5.001).contains(l)));
    assert!(lengths.iter().any(|l| *l < 3.3) && lengths.iter().any(|l| *l > 4.7));
    // On branches: the level's length times what the offset leaves (4.2).
    species.levels[1].length_vary = 0.0;
    species.levels.push(Level { branches: 10, length: 0.5, ..Level::default() });
    let plant = grown(&species);
    for stem in of_level(&plant, 2) {
        let expected = 0.5 * (4.0 - 0.6 * stem.offset_m);
        assert!((stem.length_m - expected).abs() < 1e-3, "{stem:?}");
    }
}

#[test]
fn taper_goes_from_a_cylinder_to_spheres() {
    let radii = |taper: f64| {
        let mut species = plain();
        (species.levels[0].taper, species.levels[0].pieces) = (taper, 200);
        let plant = grown(&species);
        plant.nodes_of(&plant.stems[0]).iter().map(|node| f64::from(node.radius_m)).collect::<Vec<_>>()
    };
    assert!(radii(0.0).iter().all(|r| (r - 0.2).abs() < 1e-6), "a cylinder");
    let half = radii(0.5);
    assert!((half[200] - 0.1).abs() < 1e-6 && (half[100] - 0.15).abs() < 1e-6, "half a cone");
    let cone = radii(1.0);
    assert!(cone[200].abs() < 1e-6 && (cone[100] - 0.1).abs() < 1e-6, "a cone");
    // A cylinder whose end is round: the radius of a sphere over its last radius.
    let round = radii(2.0);
    assert!((round[100] - 0.2).abs() < 1e-6 && round[200] < 1e-6);
    let expected = (0.2_f64 * 0.2 - 0.1 * 0.1).sqrt();
    assert!((round[198] - expected).abs() < 1e-6, "{} {expected}", round[198]);
    // Spheres in a row: as wide as the trunk in their middles, nothing between them.
    let spheres = radii(2.99999);
    let [low, high] =
        spheres[..190].iter().fold([f64::MAX, f64::MIN], |[low, high], r| [low.min(*r), high.max(*r)]);
    assert!(low < 0.02 && high > 0.19, "{low} {high}");
}

#[test]
fn pieces_says_how_many_a_stem_has() {
    let mut species = plain();
    (species.levels[0].pieces, species.levels[1].pieces) = (13, 4);
    let plant = grown(&species);
    assert_eq!(plant.stems[0].count, 14);
    assert!(of_level(&plant, 1).iter().all(|stem| stem.count == 5));
}

#[test]
fn curve_bends_stems_in_all_pieces_together() {
    let mut species = plain();
    (species.levels[1].down_deg, species.levels[1].curve_deg) = (40.0, 60.0);
    let plant = grown(&species);
    for stem in of_level(&plant, 1) {
        let nodes = plant.nodes_of(stem);
        // The last of six pieces has turned five times by a sixth.
        let bent = lean_of(&nodes[5]) - lean_of(&nodes[0]);
        assert!((bent - 50.0).abs() < 0.2, "{bent}");
    }
}

#[test]
fn curve_back_bends_the_outer_half_back() {
    let mut species = plain();
    let level = &mut species.levels[1];
    (level.down_deg, level.curve_deg, level.curve_back_deg) = (40.0, 60.0, -60.0);
    let plant = grown(&species);
    for stem in of_level(&plant, 1) {
        let leans: Vec<f64> = plant.nodes_of(stem).iter().map(lean_of).collect();
        // Pieces 1 and 2 turn out by a third of the curve each, those after them back.
        assert!((leans[2] - leans[0] - 40.0).abs() < 0.2, "{leans:?}");
        assert!((leans[5] - leans[2] + 60.0).abs() < 0.2, "{leans:?}");
    }
}

#[test]
fn curve_variation_makes_stems_crooked_or_a_helix() {
    let mut species = plain();
    species.levels[0].curve_vary_deg = 90.0;
    let plant = grown(&species);
    let nodes = plant.nodes_of(&plant.stems[0]);
    let turns: Vec<f64> = nodes
        .windows(2)
        .map(|pair| {
            let dot: f64 = (0..3).map(|k| f64::from(pair[0].along[k]) * f64::from(pair[1].along[k])).sum();
            acos(dot.min(1.0)).to_degrees()
        })
        .collect();
    assert!(turns.iter().all(|turn| *turn <= 9.1), "{turns:?}");
    assert!(turns.iter().any(|turn| *turn > 3.0));
    // Below 0 the stem winds round an axis: all pieces turn alike, and all lean alike against it.
    species.levels[0].curve_vary_deg = -200.0;
    species.levels[0].pieces = 40;
    let plant = grown(&species);
    let nodes = plant.nodes_of(&plant.stems[0]);
    let turns: Vec<f64> = nodes[..40]
        .windows(2)
        .map(|pair| {
            let dot: f64 = (0..3).map(|k| f64::from(pair[0].along[k]) * f64::from(pair[1].along[k])).sum();
            acos(dot.min(1.0)).to_degrees()
        })
        .collect();
    assert!(turns.iter().all(|turn| (turn - 5.0).abs() < 0.2), "{turns:?}");
}

#[test]
fn splits_make_clones_evenly_and_part_by_their_angle() {
    let mut species = plain();
    let level = &mut species.levels[0];
    (level.splits, level.split_deg, level.pieces) = (1.0, 24.0, 3);
    let plant = grown(&species);
    // One at each of the two joints, on every stem: four ends.
    assert_eq!(of_level(&plant, 0).len(), 4);
    let clone = of_level(&plant, 0).into_iter().find(|stem| stem.is_clone).unwrap();
    // It goes out by the angle, and back by as much over the pieces that are left: two here (4.2).
    assert!((lean(&plant, clone) - 12.0).abs() < 0.1, "{}", lean(&plant, clone));
    // A share of one splits as often, on average.
    species.levels[1].splits = 0.2;
    species.levels[1].split_deg = 20.0;
    species.levels[0].splits = 0.0;
    let plant = grown(&species);
    let branches = of_level(&plant, 1);
    let clones = branches.iter().filter(|stem| stem.is_clone).count() as f64;
    // A joint lies between two pieces; what is left over at one is carried on to the next.
    let joints: f64 = branches.iter().map(|stem| f64::from(stem.count) - 2.0).sum();
    assert!(clones > 10.0 && (clones - 0.2 * joints).abs() <= 1.0, "{clones} at {joints} joints");
}

#[test]
fn split_angles_vary() {
    let mut species = plain();
    let level = &mut species.levels[0];
    (level.splits, level.split_deg, level.split_vary_deg, level.pieces) = (0.1, 30.0, 12.0, 10);
    let leans: Vec<f64> = (0..60)
        .filter_map(|seed| {
            let plant = grow(&species, Seed(seed)).unwrap();
            let clone = plant.stems.iter().find(|stem| stem.is_clone)?;
            // Without what the first piece has turned back already.
            let left = f64::from(clone.count - 1);
            Some(lean(&plant, clone) * left / (left - 1.0))
        })
        .collect();
    assert!(leans.len() > 20 && leans.iter().all(|l| (17.9..=42.1).contains(l)), "{leans:?}");
    assert!(leans.iter().any(|l| *l < 24.0) && leans.iter().any(|l| *l > 36.0), "{leans:?}");
}

/// The plain plant with leaves on its branches.
fn leafy(leaves: Leaves) -> Species {
    Species { leaves: Leaves { bend: 0.0, down_vary_deg: 0.0, ..leaves }, ..plain() }
}

fn lean_on(plant: &Skeleton, leaf: &Leaf) -> f64 {
    let stem = plant.nodes_of(&plant.stems[leaf.stem as usize])[0];
    let dot: f32 = (0..3).map(|k| stem.along[k] * leaf.along[k]).sum();
    acos(f64::from(dot.clamp(-1.0, 1.0))).to_degrees()
}

#[test]
fn leaves_are_as_many_as_said_and_spread_over_the_crown() {
    let species = leafy(Leaves { count: 20, spread: Shape::Cylindrical, ..Leaves::default() });
    let plant = grown(&species);
    let each = plant.leaves.len() as f64 / of_level(&plant, 1).len() as f64;
    assert!((each - 20.0).abs() < 0.5, "{each}");
    // By the place of the branch on its parent: more where the outline is wide (4.9).
    let species = leafy(Leaves { count: 20, spread: Shape::Conical, ..Leaves::default() });
    let plant = grown(&species);
    let on = |stem: u32| plant.leaves.iter().filter(|leaf| leaf.stem == stem).count() as f64;
    let [low, high] = [0.35, 0.9].map(|share| {
        let near = |stem: &&(u32, f32)| (f64::from(stem.1) / 10.0 - share).abs() < 0.1;
        let stems: Vec<(u32, f32)> =
            plant.stems.iter().enumerate().skip(1).map(|(i, s)| (i as u32, s.offset_m)).collect();
        mean(stems.iter().filter(near).map(|(stem, _)| on(*stem)))
    });
    assert!((high / low - 0.9 / 0.35).abs() < 0.4, "{low} {high}");
}

#[test]
fn leaves_below_zero_stand_in_a_fan_at_the_end() {
    let species = leafy(Leaves { count: -9, rotate_deg: 120.0, down_deg: 0.0, ..Leaves::default() });
    let plant = grown(&species);
    let ends: Vec<[f32; 3]> = of_level(&plant, 1).iter().map(|stem| last(&plant, stem).at).collect();
    assert!(
        plant
            .leaves
            .iter()
            .all(|leaf| { ends.iter().any(|end| (0..3).all(|k| (end[k] - leaf.at[k]).abs() < 1e-3)) })
    );
    // The outermost of a fan of 120 degrees look 60 to either side.
    let widest = plant.leaves.iter().map(|leaf| lean_on(&plant, leaf)).fold(0.0, f64::max);
    assert!((widest - 60.0).abs() < 0.2, "{widest}");
}

#[test]
fn leaves_lean_and_turn_as_stems_do() {
    let species = leafy(Leaves { count: 20, down_deg: 35.0, rotate_deg: 90.0, ..Leaves::default() });
    let plant = grown(&species);
    assert!(plant.leaves.iter().all(|leaf| (lean_on(&plant, leaf) - 35.0).abs() < 0.1));
    let mut vary = leafy(Leaves { count: 20, down_deg: 35.0, ..Leaves::default() });
    vary.leaves.down_vary_deg = 15.0;
    let plant = grown(&vary);
    let leans: Vec<f64> = plant.leaves.iter().map(|leaf| lean_on(&plant, leaf)).collect();
    assert!(leans.iter().all(|l| (19.9..=50.1).contains(l)));
    assert!(leans.iter().any(|l| *l < 25.0) && leans.iter().any(|l| *l > 45.0));
}

#[test]
fn leaf_size_stalk_and_quality_make_the_card() {
    let species =
        leafy(Leaves { count: 3, length_m: 0.3, width_share: 0.5, stalk_share: 0.4, ..Leaves::default() });
    let plant = grown(&species);
    let made = mesh(&species, &plant, &Detail::FULL).leaves;
    let far = |a: [f32; 3], b: [f32; 3]| (0..3).map(|k| (a[k] - b[k]) * (a[k] - b[k])).sum::<f32>().sqrt();
    for (card, leaf) in made.positions.chunks_exact(4).zip(&plant.leaves) {
        assert!((far(card[0], card[3]) - 0.3).abs() < 1e-3 && (far(card[0], card[1]) - 0.15).abs() < 1e-3);
        let foot = [0, 1, 2].map(|k| 0.5 * (card[0][k] + card[1][k]));
        assert!((far(foot, leaf.at) - 0.12).abs() < 1e-3, "the stalk is 0.4 of the length");
    }
    // A quarter of the leaves, each of four times the area.
    let coarse = leafy(Leaves { count: 12, quality: 0.25, length_m: 0.3, ..species.leaves.clone() });
    let plant_coarse = grown(&coarse);
    let whole = grown(&leafy(Leaves { count: 12, ..species.leaves.clone() }));
    let share = plant_coarse.leaves.len() as f64 / whole.leaves.len() as f64;
    assert!((share - 0.25).abs() < 0.03, "{share}");
    let card = mesh(&coarse, &plant_coarse, &Detail::FULL).leaves.positions;
    assert!((far(card[0], card[3]) - 0.6).abs() < 1e-3);
}

#[test]
fn bend_turns_leaves_to_the_light() {
    let up = |bend: f64| {
        let mut species = leafy(Leaves { count: 20, ..Leaves::default() });
        species.leaves.bend = bend;
        mean(grown(&species).leaves.iter().map(|leaf| f64::from(leaf.up[2])))
    };
    let [none, half, whole] = [0.0, 0.5, 1.0].map(up);
    assert!(none < half && half < whole && whole > 0.9, "{none} {half} {whole}");
}
