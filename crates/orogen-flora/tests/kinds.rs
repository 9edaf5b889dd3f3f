//! What grows or lies beside the trees: that it is there, where it should be and as it should be.

#![allow(clippy::unwrap_used, reason = "a failing test may stop")]

use std::collections::{BTreeMap, BTreeSet};

use orogen_core::biome::BIOMES;
use orogen_core::{Seed, math, species as known};
use orogen_flora::{
    Detail, Growth, Leaf, Life, Mesh, Season, Skeleton, Species, grow, grow_on, lod, mesh, names, species,
};

fn named(name: &str) -> Species {
    species(name).unwrap().unwrap()
}

fn at(name: &str, growth: &Growth) -> Skeleton {
    grow(&named(name).at(growth).unwrap(), Seed(3)).unwrap()
}

/// Edges, by place, that are not passed once each way.
fn open_edges(mesh: &Mesh) -> usize {
    let key = |id: u32| mesh.positions[id as usize].map(|v| (v + 0.0).to_bits());
    let mut edges = BTreeMap::new();
    for corners in mesh.indices.chunks_exact(3) {
        for (from, to) in [(0, 1), (1, 2), (2, 0)] {
            *edges.entry((key(corners[from]), key(corners[to]))).or_insert(0i32) += 1;
        }
    }
    edges.iter().filter(|((from, to), count)| edges.get(&(*to, *from)) != Some(count)).count()
}

#[test]
fn every_name_that_recipes_may_use_has_a_shape_and_the_other_way_round() {
    let shapes: BTreeSet<&str> = names().collect();
    let rows: BTreeSet<&str> = known::all().map(|info| info.name).collect();
    assert_eq!(shapes.difference(&rows).collect::<Vec<_>>(), Vec::<&&str>::new(), "shapes without a row");
    assert_eq!(rows.difference(&shapes).collect::<Vec<_>>(), Vec::<&&str>::new(), "rows without a shape");
    for biome in BIOMES {
        let plants = known::all().filter(|info| info.biomes.contains(&biome.biome)).count();
        assert!(plants > 0, "nothing stands in {}", biome.name);
    }
}

#[test]
fn shapes_are_about_as_large_as_scattering_takes_them_for() {
    let mut wrong = Vec::new();
    for info in known::all() {
        let species = named(info.name);
        // What climbs is as high as its host.
        if species.climb.is_some() {
            continue;
        }
        let seeds = 6;
        let (mut high, mut wide) = (0.0, 0.0);
        for seed in 0..seeds {
            let plant = grow(&species, Seed(seed)).unwrap();
            let long = species.leaves.length_m as f32;
            let tip = |leaf: &orogen_flora::Leaf| {
                [0, 1, 2].map(|k| leaf.at[k] + 0.8 * long * leaf.size * leaf.along[k])
            };
            let mut places: Vec<[f32; 3]> = plant.nodes.iter().map(|node| node.at).collect();
            places.extend(plant.leaves.iter().map(tip));
            if !plant.stones.is_empty() {
                places.extend(lod(&species, &plant, 3).bark.positions);
            }
            high += places.iter().map(|at| f64::from(at[2])).fold(0.0, f64::max) / f64::from(seeds as u32);
            let reach = |axis: usize| {
                let along = || places.iter().map(move |at| f64::from(at[axis]));
                0.5 * (along().fold(f64::MIN, f64::max) - along().fold(f64::MAX, f64::min))
            };
            wide += 0.5 * (reach(0) + reach(1)) / f64::from(seeds as u32);
        }
        let mut hold = |what: &str, found: f64, expected: f64, bound: f64| {
            if found > bound * expected || found < expected / bound {
                wrong.push(format!("{}: {what} {found:.2} m, expected about {expected} m", info.name));
            }
        };
        hold("height", high, info.height_m, 1.5);
        hold("radius", wide, info.radius_m, 2.1);
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn plants_grow_up_and_die() {
    for name in names() {
        let species = named(name);
        if species.stone.is_some() || species.dead_wood.is_some() || species.climb.is_some() {
            continue;
        }
        let [young, grown, old, dead] = [Growth::SAPLING, Growth::MATURE, Growth::OLD, Growth::DEAD]
            .map(|growth| (at(name, &growth), species.at(&growth).unwrap()));
        assert!(young.1.height_m < 0.5 * grown.1.height_m, "{name}: a sapling is low");
        assert!(old.1.height_m > 0.9 * grown.1.height_m, "{name}: an old one has not shrunk");
        assert!(!young.0.stems.is_empty() && !old.0.stems.is_empty(), "{name}");
        // What dries up where it stands is straw.
        let is_straw = species.life.withers && dead.1.colors.summer == dead.1.colors.autumn;
        assert!(dead.0.leaves.is_empty() || is_straw, "{name}: what is dead has no green leaves");
        assert!(dead.0.flowers.is_empty(), "{name}: what is dead has no flowers");
        assert!(!dead.0.stems.is_empty(), "{name}: a dead one stands");
        if species.leaves.count != 0 {
            assert!(
                !young.0.leaves.is_empty() && !grown.0.leaves.is_empty(),
                "{name}: leaves from the first"
            );
        }
    }
}

#[test]
fn seasons_do_what_they_do_to_each_kind() {
    for name in names() {
        let species = named(name);
        let Life { evergreen, withers, .. } = species.life;
        let leaves = |season: Season| at(name, &Growth { season, ..Growth::MATURE }).leaves.len();
        if species.leaves.count == 0 {
            continue;
        }
        let [spring, summer, autumn, winter] =
            [Season::Spring, Season::Summer, Season::Autumn, Season::Winter].map(leaves);
        if evergreen || withers {
            assert_eq!([spring, autumn], [summer; 2], "{name} keeps its leaves");
            let flowers_end =
                species.flowers.share > 0.0 && !species.flowers.seasons.contains(&Season::Winter);
            let is_stalks = withers && flowers_end && species.leaves.count > 3;
            assert!(if is_stalks { winter < summer } else { winter == summer }, "{name} in winter: {winter}");
        } else {
            assert!(spring > 0 && autumn > 0 && autumn < summer && winter == 0, "{name} sheds its leaves");
        }
        let colors = species.colors;
        let far = |a: [u8; 3], b: [u8; 3]| (0..3).map(|k| a[k].abs_diff(b[k])).max().unwrap();
        if evergreen {
            assert!(far(colors.autumn, colors.summer) <= 30, "{name} stays green");
        } else {
            assert!(far(colors.autumn, colors.summer) > 30, "{name} turns");
            assert_eq!(
                species.leaf_color(Season::Winter),
                if withers { colors.autumn } else { colors.summer },
                "{name}"
            );
        }
    }
}

#[test]
fn flowers_stand_at_ends_of_stems_in_their_season() {
    for name in names() {
        let species = named(name);
        if species.flowers.share == 0.0 {
            continue;
        }
        for season in [Season::Spring, Season::Summer, Season::Autumn, Season::Winter] {
            let plant = at(name, &Growth { season, ..Growth::MATURE });
            assert_eq!(
                !plant.flowers.is_empty(),
                species.flowers.seasons.contains(&season),
                "{name} {season:?}"
            );
            for flower in &plant.flowers {
                let stem = &plant.stems[flower.stem as usize];
                assert!(stem.level >= species.flowers.level, "{name}");
                let end = plant.nodes_of(stem).last().unwrap().at;
                assert!(
                    (0..3).all(|k| (end[k] - flower.at[k]).abs() < 1e-4),
                    "{name}: {end:?} {:?}",
                    flower.at
                );
            }
        }
    }
    // Their cards show the last picture of the atlas, and leaves the others.
    let daisy = named("flowers");
    let mut plant = grow(&daisy, Seed(1)).unwrap();
    plant.leaves.clear();
    let cell = |uv: &[f32; 2]| uv[0] >= 0.5 && uv[1] >= 0.5;
    assert!(mesh(&daisy, &plant, &Detail::FULL).leaves.uvs.iter().all(cell));
    let mut plant = grow(&daisy, Seed(1)).unwrap();
    plant.flowers.clear();
    let made = mesh(&daisy, &plant, &Detail::FULL).leaves;
    assert!(!made.uvs.chunks_exact(4).any(|card| card.iter().all(|uv| uv[0] > 0.5 && uv[1] > 0.5)));
}

#[test]
fn climbers_touch_their_host_and_wind_round_it() {
    let host = grow(&named("kapok"), Seed(1)).unwrap();
    let liana = named("liana");
    let plant = grow_on(&liana, Seed(2), &host).unwrap();
    let trunk = host.nodes_of(&host.stems[0]);
    let mut round = 0;
    for stem in plant.stems.iter().filter(|stem| stem.level == 0) {
        let nodes = plant.nodes_of(stem);
        // The others hang.
        if nodes[0].at[2] > 0.1 {
            continue;
        }
        round += 1;
        let mut turned = 0.0_f64;
        let mut last: Option<f64> = None;
        for node in &nodes[4..] {
            // The nearest part of the trunk's axis.
            let (away, radius, out) = trunk
                .windows(2)
                .map(|pair| {
                    let way = [0, 1, 2].map(|k| pair[1].at[k] - pair[0].at[k]);
                    let from = [0, 1, 2].map(|k| node.at[k] - pair[0].at[k]);
                    let dot = |a: [f32; 3], b: [f32; 3]| a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
                    let t = (dot(from, way) / dot(way, way)).clamp(0.0, 1.0);
                    let off = [0, 1, 2].map(|k| from[k] - t * way[k]);
                    let radius = pair[0].radius_m + t * (pair[1].radius_m - pair[0].radius_m);
                    (dot(off, off).sqrt(), radius, off)
                })
                .min_by(|a, b| a.0.total_cmp(&b.0))
                .unwrap();
            let gap = away - radius - node.radius_m;
            assert!(gap.abs() < 0.1 + 0.15 * radius, "{gap} m from the bark at {:?}", node.at);
            let turn = math::atan2(f64::from(out[1]), f64::from(out[0]));
            if let Some(last) = last {
                let step: f64 = turn - last;
                turned += math::atan2(math::sin(step), math::cos(step));
            }
            last = Some(turn);
        }
        assert!(turned.abs() > 3.0, "turned by {turned}");
    }
    assert_eq!(round, liana.levels[0].branches as usize);
    let hanging = plant.stems.iter().filter(|s| s.level == 0 && plant.nodes_of(s)[0].at[2] > 1.0).count();
    assert!(hanging >= 10, "{hanging} hang");
    assert!(plant.nodes.iter().all(|node| node.at[2] > -0.05 && node.at.iter().all(|v| v.is_finite())));
    assert!(!plant.leaves.is_empty());
    // Other plants do not care for a host.
    let fern = named("fern");
    assert!(grow_on(&fern, Seed(1), &host).unwrap() == grow(&fern, Seed(1)).unwrap());
}

#[test]
fn dead_wood_lies_on_the_ground_and_is_closed() {
    let species = named("dead_wood");
    let (mut logs, mut stumps) = (0, 0);
    for seed in 0..24 {
        let plant = grow(&species, Seed(seed)).unwrap();
        let nodes = plant.nodes_of(&plant.stems[0]);
        assert!(plant.leaves.is_empty() && nodes.iter().all(|node| node.at[2] > -0.6), "{seed}");
        let lies = nodes.iter().all(|node| node.along[2].abs() < 0.5);
        if lies {
            logs += 1;
            let length = plant.stems[0].length_m;
            assert!((1.8..6.5).contains(&length), "{seed}: {length} m long");
            // On the ground along its length, neither above nor below it.
            let clear = nodes.iter().map(|node| node.at[2] - node.radius_m).fold(f32::MAX, f32::min);
            assert!((-0.35..0.05).contains(&clear), "{seed}: {clear} m above the ground");
        } else {
            stumps += 1;
            assert!(plant.stems.len() > 4, "{seed}: a stump has roots");
        }
        let made = mesh(&species, &plant, &Detail::FULL);
        assert!(made.leaves.indices.is_empty() && !made.bark.indices.is_empty());
    }
    assert!(logs > 10 && stumps > 2, "{logs} logs, {stumps} stumps");
    let mut wrong = species;
    wrong.dead_wood.as_mut().unwrap().of = vec![String::from("dead_wood")];
    let said = grow(&wrong, Seed(1)).unwrap_err().to_string();
    assert_eq!(said, "dead_wood.of is \"dead_wood\"; it must name trees that come with the program");
}

#[test]
fn stones_are_closed_at_every_level_and_have_sound_normals() {
    for name in ["stone", "boulder"] {
        let species = named(name);
        for seed in 0..9 {
            let plant = grow(&species, Seed(seed)).unwrap();
            let levels: Vec<Mesh> = (0..4).map(|level| lod(&species, &plant, level).bark).collect();
            for (level, made) in levels.iter().enumerate() {
                assert_eq!(open_edges(made), 0, "{name} {seed}, level {level}");
                let triangles = made.indices.len() / 3;
                assert!(
                    triangles >= 48 && triangles <= orogen_flora::BUDGETS[level],
                    "{triangles} at {level}"
                );
                let mut volume = 0.0;
                for corners in made.indices.chunks_exact(3) {
                    let [a, b, c] = [0, 1, 2].map(|k| made.positions[corners[k] as usize].map(f64::from));
                    let [p, q] = [b, c].map(|v| [v[0] - a[0], v[1] - a[1], v[2] - a[2]]);
                    let cross =
                        [p[1] * q[2] - p[2] * q[1], p[2] * q[0] - p[0] * q[2], p[0] * q[1] - p[1] * q[0]];
                    volume += (0..3).map(|k| a[k] * cross[k]).sum::<f64>() / 6.0;
                }
                assert!(volume > 0.0, "{name} {seed}, level {level} is inside out: {volume}");
                for normal in &made.normals {
                    let length = normal.iter().map(|v| v * v).sum::<f32>().sqrt();
                    assert!((length - 1.0).abs() < 1e-4, "{normal:?}");
                }
            }
            // The coarsest is as large as the finest.
            let top = |made: &Mesh| made.positions.iter().map(|at| at[2]).fold(0.0, f32::max);
            assert!((top(&levels[3]) / top(&levels[0]) - 1.0).abs() < 0.2, "{name} {seed}");
        }
    }
}

#[test]
fn blades_bend_over_and_levels_of_detail_hold() {
    let grass = named("tussock");
    let plant = grow(&grass, Seed(4)).unwrap();
    let full = mesh(&grass, &plant, &Detail::FULL).leaves;
    let rows = grass.leaves.pieces as usize + 1;
    // Every blade is a strip; its tip leans away from where it began, and its length is kept.
    let blades: Vec<_> = full.positions.chunks_exact(2 * rows).collect();
    assert_eq!(blades.len(), plant.leaves.len());
    for (blade, leaf) in blades.iter().zip(&plant.leaves) {
        let middle = |row: usize| {
            let [a, b] = [blade[2 * row], blade[2 * row + 1]].map(|v| v.map(f64::from));
            [0, 1, 2].map(|k| 0.5 * (a[k] + b[k]))
        };
        let far =
            |a: [f64; 3], b: [f64; 3]| (0..3).map(|k| (a[k] - b[k]) * (a[k] - b[k])).sum::<f64>().sqrt();
        let length: f64 = (0..rows - 1).map(|row| far(middle(row), middle(row + 1))).sum();
        let wanted = grass.leaves.length_m * f64::from(leaf.size);
        assert!((length / wanted - 1.0).abs() < 1e-3, "{length} of {wanted}");
        assert!(far(middle(0), middle(rows - 1)) < 0.97 * length, "it bends");
    }
    let sizes: Vec<usize> = (0..4).map(|level| lod(&grass, &plant, level).triangles()).collect();
    assert!(sizes.windows(2).all(|pair| pair[1] <= pair[0]), "{sizes:?}");
    assert!(sizes[3] <= 960, "{sizes:?}");
}

#[test]
fn crowns_are_about_as_wide_as_the_table_says() {
    let mut wrong = Vec::new();
    for info in known::all() {
        let Some(species) = orogen_flora::species(info.name) else { continue };
        let species = species.unwrap().at(&Growth::MATURE).unwrap();
        // Of herbs most is leaves that bend over, and cacti have few arms.
        if info.kind == known::Kind::Herb || species.leaves.count == 0 || species.climb.is_some() {
            continue;
        }
        let radius = (0..3).map(|seed| {
            let plant = grow(&species, Seed(seed)).unwrap();
            // From the middle of the crown: palms lean.
            let count = plant.leaves.len() as f32;
            let middle = [0, 1].map(|k| plant.leaves.iter().map(|leaf| leaf.at[k]).sum::<f32>() / count);
            let away = |leaf: &Leaf| {
                let [x, y] = [0, 1].map(|k| f64::from(leaf.at[k] - middle[k]));
                math::hypot(x, y)
            };
            let mut far: Vec<f64> = plant.leaves.iter().map(away).collect();
            far.sort_by(f64::total_cmp);
            far[far.len() * 19 / 20] / 3.0
        });
        let radius = radius.sum::<f64>();
        if !(0.6..1.6).contains(&(radius / info.radius_m)) {
            wrong.push(format!("{}: {radius:.2} m, not {}", info.name, info.radius_m));
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}
