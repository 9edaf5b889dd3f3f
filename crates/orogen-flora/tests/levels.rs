//! Levels of detail of every species: as many triangles as they may have, and the same crowns.

#![allow(clippy::unwrap_used, reason = "a failing test may stop")]

use std::collections::BTreeSet;

use orogen_core::Seed;
use orogen_flora::{
    BUDGETS, CATALOG, Detail, Growth, LeafMaps, Mesh, PlantMesh, Season, Seen, Skeleton, Species, View, grow,
    leaf_maps, lod, mesh,
};

/// Every level of every species: budgets, areas, silhouettes. One in four species, so that tests run beside each other.
fn hold(part: usize) {
    let mut wrong = Vec::new();
    for entry in CATALOG.iter().skip(part).step_by(4) {
        let name = entry.name;
        let species = Species::from_toml(entry.text).unwrap().at(&Growth::MATURE).unwrap();
        let plant = grow(&species, Seed(3)).unwrap();
        let full = mesh(&species, &plant, &Detail::FULL);
        let levels = [0, 1, 2, 3].map(|level| lod(&species, &plant, level));
        // Herbs are small: stalks have three sides, shoots under their blades go, leaves bend in as many pieces as there is room for.
        let is_open = species.leaves.droop_deg != 0.0 || !plant.flowers.is_empty();
        for (level, made) in levels.iter().enumerate() {
            sound(made, name);
            // What has fewer triangles altogether is drawn whole, but without crossed cards.
            // Stones are smooth enough with a quarter.
            let budget = if plant.stones.is_empty() { BUDGETS[level] } else { (BUDGETS[level] / 4).max(400) };
            let share = made.triangles() as f64 / budget.min(full.triangles()) as f64;
            let is_whole = made.bark.triangles() as f64 > 0.95 * full.bark.triangles() as f64
                && made.leaves.triangles() >= 2 * plant.leaves.len();
            if share > 1.2 || (share < 0.78 && !is_whole && !is_open) {
                wrong.push(format!("{name}, level {level}: {} triangles", made.triangles()));
            }
        }
        leaf_sizes(name, &species, &plant, &full, &levels);
        let highest = |mesh: &Mesh| mesh.positions.iter().map(|at| f64::from(at[2])).fold(0.0, f64::max);
        let height = highest(&full.bark).max(highest(&full.leaves));
        let pictures = pictures(&species);
        let fine = silhouettes(&levels[0], &pictures[0], height);
        for level in 1..4 {
            let coarse = silhouettes(&levels[level], &pictures[level], height);
            let [sides, above] = [0, 1].map(|k| coarse[k] / fine[k]);
            let bounds = if is_open { [0.055, 0.05, 0.16] } else { [0.055, 0.05, 0.08] }[level - 1];
            if (sides - 1.0).abs() > bounds || (above - 1.0).abs() > 3.2 * bounds {
                wrong
                    .push(format!("{name}, level {level}: {sides:.3} from the sides, {above:.3} from above"));
            }
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn levels_of_species_1() {
    hold(0);
}

#[test]
fn levels_of_species_2() {
    hold(1);
}

#[test]
fn levels_of_species_3() {
    hold(2);
}

#[test]
fn levels_of_species_4() {
    hold(3);
}

/// Whether what stands in a mesh can be drawn.
fn sound(made: &PlantMesh, name: &str) {
    for part in [&made.bark, &made.leaves] {
        let corners = part.positions.len();
        for count in [part.normals.len(), part.uvs.len(), part.sway.len(), part.branches.len()] {
            assert_eq!(count, corners, "{name}");
        }
        assert!(part.indices.iter().all(|id| (*id as usize) < corners), "{name}");
        assert!(part.positions.iter().chain(&part.normals).flatten().all(|v| v.is_finite()), "{name}");
        assert!(part.uvs.iter().flatten().all(|v| v.is_finite()), "{name}");
        for normal in &part.normals {
            let length = normal.iter().map(|v| v * v).sum::<f32>().sqrt();
            assert!((length - 1.0).abs() < 1e-4, "{name}: {normal:?}");
        }
        let flat = (0..part.triangles()).filter(|triangle| area(part, *triangle) < 1e-12).count();
        assert_eq!(flat, 0, "{name}: flat triangles of {}", part.triangles());
    }
}

fn area(mesh: &Mesh, triangle: usize) -> f64 {
    let [a, b, c] = [0, 1, 2].map(|k| mesh.positions[mesh.indices[3 * triangle + k] as usize].map(f64::from));
    let [p, q] = [b, c].map(|v| [v[0] - a[0], v[1] - a[1], v[2] - a[2]]);
    let cross = [p[1] * q[2] - p[2] * q[1], p[2] * q[0] - p[0] * q[2], p[0] * q[1] - p[1] * q[0]];
    0.5 * cross.iter().map(|v| v * v).sum::<f64>().sqrt()
}

/// The pictures of leaves as the levels have them: each half as large as the one before. Stones have none.
fn pictures(species: &Species) -> Vec<LeafMaps> {
    let season = species.flowers.seasons.first().copied().unwrap_or_default();
    let seed = Seed::from_text(&species.name).child("leaves");
    orogen_flora::levels(&leaf_maps(species, season, 512, seed)).into_iter().take(4).collect()
}

/// Pixels that a plant covers from eight sides, and from above, with the pictures of leaves that its files have.
fn silhouettes(made: &PlantMesh, leaves: &LeafMaps, height: f64) -> [f64; 2] {
    let seen_from = |toward: [f64; 3]| {
        let view = View { middle: [0.0, 0.0, 0.5 * height], toward, width_m: 1.5 * height, size: [256, 256] };
        let mut seen = Seen::new(view.size);
        seen.draw(&made.bark, &view, false, |_| Some([0.0; 3]));
        seen.draw(&made.leaves, &view, true, |uv| {
            let [col, row] = uv.map(|v| (v.rem_euclid(1.0) * leaves.size as f32) as usize % leaves.size);
            (leaves.albedo[row * leaves.size + col][3] >= 128).then_some([0.0; 3])
        });
        seen.depth.iter().filter(|depth| depth.is_finite()).count() as f64
    };
    let sides = [
        [1.0, 0.0],
        [0.7, 0.7],
        [0.0, 1.0],
        [-0.7, 0.7],
        [-1.0, 0.0],
        [-0.7, -0.7],
        [0.0, -1.0],
        [0.7, -0.7],
    ];
    [sides.map(|[x, y]| seen_from([x, y, 0.0])).iter().sum::<f64>() / 8.0, seen_from([0.0, 0.0, -1.0])]
}

/// Near levels keep the area of the leaves, and none makes single leaves large.
fn leaf_sizes(name: &str, species: &Species, plant: &Skeleton, full: &PlantMesh, levels: &[PlantMesh]) {
    if plant.leaves.is_empty() {
        return;
    }
    let areas = |made: &PlantMesh| -> f64 {
        (0..made.leaves.triangles()).map(|triangle| area(&made.leaves, triangle)).sum()
    };
    let bends = species.leaves.droop_deg != 0.0;
    let has_flowers = !plant.flowers.is_empty();
    // Crossed cards show each leaf twice.
    let crossed = if bends || has_flowers {
        1.0
    } else {
        (2 * plant.leaves.len()) as f64 / full.leaves.triangles() as f64
    };
    let all = areas(full) * crossed;
    let leaf_m = species.leaves.length_m / species.leaves.quality.sqrt();
    for (level, made) in levels.iter().enumerate() {
        let share = areas(made) / all;
        // Leaves that nobody sees within a dense crown are spared, and those of a light one get a little more.
        let least = [0.75, 0.45, 0.2, 0.08][level];
        assert!(share > least && share < 3.05, "{name}, level {level}: {share:.2} of the area");
        if bends || has_flowers {
            continue;
        }
        // How long the picture of one leaf is, from how the corners lie on the atlas: a cell is half of it.
        for (at, uv) in made.leaves.positions.chunks_exact(4).zip(made.leaves.uvs.chunks_exact(4)) {
            let away =
                (0..3).map(|axis| f64::from(at[2][axis] - at[0][axis])).map(|d| d * d).sum::<f64>().sqrt();
            let [du, dv] = [0, 1].map(|axis| 2.0 * f64::from(uv[2][axis] - uv[0][axis]));
            let wide = du * species.leaves.width_share;
            let length = away / (dv * dv + wide * wide).sqrt();
            assert!(length < 2.02 * leaf_m, "{name}, level {level}: {length} m, not {leaf_m}");
        }
    }
}

#[test]
fn leaves_of_a_level_are_among_those_of_the_finer_one() {
    let species = Species::from_toml(CATALOG[0].text).unwrap();
    let plant = grow(&species, Seed(1)).unwrap();
    // A card's phase and branch come from its leaf alone; cards of few leaves also stand where it does.
    let leaves = |level: u8| -> BTreeSet<[u32; 4]> {
        let made = lod(&species, &plant, level).leaves;
        made.sway
            .chunks_exact(4)
            .zip(made.branches.chunks_exact(4))
            .map(|(sway, branch)| [u32::from(sway[0][1]), u32::from(branch[0]), u32::from(sway[0][0]), 0])
            .collect()
    };
    for level in 1..4 {
        assert!(leaves(level).is_subset(&leaves(level - 1)), "level {level}");
    }
}

#[test]
fn the_same_on_every_thread() {
    let species = Species::from_toml(CATALOG[1].text).unwrap();
    let plant = grow(&species, Seed(1)).unwrap();
    let here = lod(&species, &plant, 2);
    let there: Vec<PlantMesh> = std::thread::scope(|scope| {
        let started: Vec<_> = (0..3).map(|_| scope.spawn(|| lod(&species, &plant, 2))).collect();
        started.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert!(there.iter().all(|made| *made == here));
}

#[test]
fn bare_saplings_and_dead_trees_have_levels_too() {
    for growth in
        [Growth::SAPLING, Growth::DEAD, Growth { season: Season::Winter, ..Growth::MATURE }, Growth::OLD]
    {
        for name in ["oak", "pine", "fan_palm", "heather", "column_cactus"] {
            let species = orogen_flora::species(name).unwrap().unwrap().at(&growth).unwrap();
            let plant = grow(&species, Seed(5)).unwrap();
            let mut last = usize::MAX / 2;
            for level in 0..4 {
                let made = lod(&species, &plant, level);
                sound(&made, name);
                // Thin ends that are drawn wider are flat, not pointed.
                let fits = made.triangles() <= (last + last / 50).max(800);
                assert!(
                    made.bark.triangles() > 0 && fits,
                    "{name} {growth:?}: {} after {last}",
                    made.triangles()
                );
                last = made.triangles();
            }
        }
    }
}
