//! Levels of detail of every species: as many triangles as they may have, and the same crowns.

#![allow(clippy::unwrap_used, reason = "a failing test may stop")]

use std::collections::BTreeSet;

use orogen_core::Seed;
use orogen_flora::{
    BUDGETS, CATALOG, Detail, Growth, Mesh, PlantMesh, Season, Seen, Skeleton, Species, View, grow, lod, mesh,
};

/// A plant of each species that comes with the program.
fn plants() -> impl Iterator<Item = (&'static str, Species, Skeleton)> {
    CATALOG.iter().map(|entry| {
        let species = Species::from_toml(entry.text).unwrap().at(&Growth::MATURE).unwrap();
        let plant = grow(&species, Seed(3)).unwrap();
        (entry.name, species, plant)
    })
}

#[test]
fn levels_keep_to_their_budgets() {
    let mut wrong = Vec::new();
    for (name, species, plant) in plants() {
        let full = mesh(&species, &plant, &Detail::FULL).triangles();
        for (level, budget) in BUDGETS.into_iter().enumerate() {
            let made = lod(&species, &plant, level as u8);
            sound(&made, name);
            // What has fewer triangles altogether is drawn whole.
            let wanted = budget.min(full) as f64;
            let share = made.triangles() as f64 / wanted;
            let is_whole = made.triangles() as f64 > 0.8 * full as f64;
            if share > 1.2 || (share < 0.8 && !is_whole) {
                wrong.push(format!("{name}, level {level}: {} triangles, not {wanted}", made.triangles()));
            }
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
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

/// Pixels that a plant covers from eight sides, and from above. Leaves are ovals in their cells.
fn silhouettes(made: &PlantMesh, height: f64) -> [f64; 2] {
    let seen_from = |toward: [f64; 3]| {
        let view = View { middle: [0.0, 0.0, 0.5 * height], toward, width_m: 1.5 * height, size: [300, 300] };
        let mut seen = Seen::new(view.size);
        seen.draw(&made.bark, &view, false, |_| Some([0.0; 3]));
        seen.draw(&made.leaves, &view, true, |uv| {
            let [x, y] = uv.map(|v| 2.0 * (2.0 * v).rem_euclid(1.0) - 1.0);
            (x * x + y * y < 1.0).then_some([0.0; 3])
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

#[test]
fn crowns_cover_as_much_at_every_level() {
    let mut wrong = Vec::new();
    for (name, species, plant) in plants() {
        let height = f64::from(plant.height_m());
        let fine = silhouettes(&lod(&species, &plant, 0), height);
        for level in 1..4u8 {
            let coarse = silhouettes(&lod(&species, &plant, level), height);
            let [sides, above] = [0, 1].map(|k| coarse[k] / fine[k]);
            let bounds = [0.06, 0.08, 0.12][usize::from(level) - 1];
            if (sides - 1.0).abs() > bounds || (above - 1.0).abs() > 2.0 * bounds {
                wrong
                    .push(format!("{name}, level {level}: {sides:.3} from the sides, {above:.3} from above"));
            }
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn near_levels_keep_the_area_of_leaves_and_no_level_makes_them_large() {
    for (name, species, plant) in plants().filter(|(_, _, plant)| !plant.leaves.is_empty()) {
        let areas = |made: &PlantMesh| -> f64 {
            (0..made.leaves.triangles()).map(|triangle| area(&made.leaves, triangle)).sum()
        };
        let all = areas(&mesh(&species, &plant, &Detail::FULL));
        let leaf_m = species.leaves.length_m / species.leaves.quality.sqrt();
        for level in 0..4u8 {
            let made = lod(&species, &plant, level);
            let share = areas(&made) / all;
            // Leaves that nobody sees within a dense crown are spared, and a light one gets a little more.
            assert!(share < 1.55, "{name}, level {level}: {share:.2} of the area");
            if level == 0 {
                assert!(share > 0.4, "{name}, level {level}: {share:.2} of the area");
            }
            // How long the picture of one leaf is, from how the corners lie on the atlas: a cell is half of it.
            for corners in made.leaves.positions.chunks_exact(4).zip(made.leaves.uvs.chunks_exact(4)) {
                let (at, uv) = corners;
                let away = |k: usize| {
                    (0..3).map(|axis| f64::from(at[k][axis] - at[0][axis]).powi(2)).sum::<f64>().sqrt()
                };
                let [du, dv] = [0, 1].map(|axis| 2.0 * f64::from(uv[2][axis] - uv[0][axis]).abs());
                let length = away(2) / (dv * dv + du * du * species.leaves.width_share.powi(2)).sqrt();
                assert!(length < 2.02 * leaf_m, "{name}, level {level}: {length} m, not {leaf_m}");
            }
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
            let mut last = usize::MAX;
            for level in 0..4 {
                let made = lod(&species, &plant, level);
                sound(&made, name);
                assert!(made.bark.triangles() > 0 && made.triangles() <= last.max(700), "{name}");
                last = made.triangles();
            }
        }
    }
}
