//! What the operator promises, on whole landscapes.

use orogen_core::Seed;

use super::*;

const SIDE_M: f64 = 4096.0;

fn rect() -> Rect {
    Frame::square(SIDE_M, 9).unwrap().extent()
}

fn build(op: &Ridges, samples: usize, seed: u64) -> Terrain {
    op.apply(Terrain::new(Frame::square(SIDE_M, samples).unwrap()), &Ctx::new(Seed(seed))).unwrap()
}

fn country(op: &Ridges, seed: u64) -> Country {
    Country::new(&op.on(&rect()).unwrap(), &rect(), &Ctx::new(Seed(seed))).unwrap()
}

#[test]
fn ridge_particles_leave_in_pairs_and_fall_as_a_bell_does() {
    let op = Ridges { wander: 0.0, ridges: 3, ridge_m: 600.0, ..Ridges::default() };
    let ridges = ridges(&op.on(&rect()).unwrap(), &rect(), Seed(5));
    assert_eq!(ridges.len(), 6);
    for pair in ridges.chunks(2) {
        let (a, b) = (&pair[0], &pair[1]);
        // Without wander both are straight, and opposite.
        let (start, there, back) = (a[0].at, a[10].at, b[9].at);
        let sum = [0, 1].map(|k| there[k] + back[k] - 2.0 * start[k]);
        assert!(sum.iter().all(|v| v.abs() < 1e-6), "{sum:?}");
        assert!((math::hypot(there[0] - start[0], there[1] - start[1]) - 160.0).abs() < 1e-6);
        assert!(a[0].z <= op.peak_m + 1e-9 && a[0].z >= 0.5 * op.peak_m);
        if let Some(far) = a.get(60) {
            assert!(far.z < 0.75 * a[0].z, "{} of {}", far.z, a[0].z);
        }
    }
}

#[test]
fn every_river_falls_to_its_end_and_mass_is_conserved() {
    for seed in 0..6 {
        let op = Ridges::default();
        let country = country(&op, seed);
        let nodes = &country.nodes;
        let springs = {
            let mut fed = vec![false; nodes.len()];
            nodes.iter().enumerate().filter(|(i, n)| n.down != *i).for_each(|(_, n)| fed[n.down] = true);
            fed.iter().filter(|f| !**f).count()
        };
        let mut ends = 0.0;
        for (i, node) in nodes.iter().enumerate() {
            if node.down == i {
                ends += node.mass;
            } else {
                assert!(node.down < i && nodes[node.down].z < node.z);
                assert!(nodes[node.down].mass >= node.mass);
            }
        }
        let particles = {
            let mut lines: Vec<usize> = nodes.iter().map(|n| n.line).collect();
            lines.sort_unstable();
            lines.dedup();
            lines.len()
        };
        assert_eq!(ends, particles as f64, "all particles arrive");
        assert!(springs <= particles && particles > 50, "{springs} springs, {particles} particles");
    }
}

#[test]
fn most_rivers_leave_the_land_and_many_merge() {
    for seed in 0..6 {
        let country = country(&Ridges::default(), seed);
        let on_border = |p: [f64; 2]| p.iter().any(|&v| v <= 0.0 || v >= SIDE_M);
        let ends: Vec<&Node> =
            country.nodes.iter().enumerate().filter(|(i, n)| n.down == *i).map(|(_, n)| n).collect();
        let out: f64 = ends.iter().filter(|n| on_border(n.at)).map(|n| n.mass).sum();
        let all: f64 = ends.iter().map(|n| n.mass).sum();
        assert!(out > 0.9 * all, "{out} of {all} leave, seed {seed}");
        assert!((ends.len() as f64) < 0.6 * all, "{} ends of {all} particles", ends.len());
    }
}

/// How many ridges and rivers, and with how many seeds, promises about rivers are held to.
const COUNTRIES: [(u32, u32, u64); 3] = [(7, 200, 4), (12, 600, 3), (30, 1500, 4)];

/// How many pieces of rivers cross each other.
fn crossings(nodes: &[Node]) -> usize {
    let side = |s: [[f64; 2]; 2], p: [f64; 2]| {
        (s[1][0] - s[0][0]) * (p[1] - s[0][1]) - (s[1][1] - s[0][1]) * (p[0] - s[0][0])
    };
    let pieces: Vec<[[f64; 2]; 2]> = nodes.iter().map(|n| [n.at, nodes[n.down].at]).collect();
    let mut crossings = 0;
    for (i, a) in pieces.iter().enumerate() {
        for b in &pieces[i + 1..] {
            let apart = (0..2).any(|k| (a[0][k] - b[0][k]).abs() > 64.0);
            if !apart && side(*a, b[0]) * side(*a, b[1]) < 0.0 && side(*b, a[0]) * side(*b, a[1]) < 0.0 {
                crossings += 1;
            }
        }
    }
    crossings
}

#[test]
fn no_river_crosses_another() {
    for (ridges, rivers, seeds) in COUNTRIES {
        for seed in 0..seeds {
            let country = country(&Ridges { ridges, rivers, ..Ridges::default() }, seed);
            assert_eq!(crossings(&country.nodes), 0, "{ridges} ridges, {rivers} rivers, seed {seed}");
        }
    }
}

#[test]
fn no_rivers_cross_before_a_confluence() {
    // Many particles that meet often: rivers are cut back and run again, with all that ran into them.
    let wild = Ridges { ridges: 100, rivers: 1500, wander: 2.0, ..Ridges::default() };
    let slow = Ridges { ridges: 5, rivers: 3000, friction_s: 50.0, ..Ridges::default() };
    for (params, seeds) in [(wild, ["a", "c"]), (slow, ["b", "a"])] {
        for seed in seeds {
            let frame = Frame::square(8000.0, 129).unwrap();
            let seed_of = Seed::from_text(seed);
            let world = frame.extent();
            let ctx = Ctx::new(seed_of).in_world(frame);
            let country = Country::new(&params.on(&world).unwrap(), &world, &ctx).unwrap();
            let found = crossings(&country.nodes);
            assert_eq!(found, 0, "{} ridges, {} rivers, seed {seed}", params.ridges, params.rivers);
        }
    }
}

#[test]
fn large_cells_give_land() {
    for cell_m in [500.0, 1e3, 5e3, 1e5] {
        for (side_m, seed) in [(40.0, 1), (4096.0, 1), (4096.0, 2), (1e5, 1)] {
            let op = Ridges { cell_m, ..Ridges::default() };
            let frame = Frame::square(side_m, 33).unwrap();
            let terrain = op.apply(Terrain::new(frame), &Ctx::new(Seed(seed))).unwrap();
            let height = terrain.get(layer::HEIGHT).unwrap();
            assert!(height.as_slice().iter().all(|h| h.is_finite()), "cells of {cell_m} m, side {side_m} m");
            let vertices = terrain.vector("rivers").unwrap().vertices();
            assert!(vertices.iter().flatten().all(|v| v.is_finite()), "cells of {cell_m} m, side {side_m} m");
        }
    }
}

#[test]
fn the_land_has_its_rivers_at_the_bottom() {
    for ((ridges, rivers, _), seed) in COUNTRIES.into_iter().zip([2, 3, 1]) {
        let terrain = build(&Ridges { ridges, rivers, ..Ridges::default() }, 513, seed);
        for off_m in [32.0, 48.0] {
            let (higher, sides) = banks(&terrain, off_m);
            assert!(sides > 1000);
            assert!(
                higher * 100 > 97 * sides,
                "{ridges} ridges, {rivers} rivers: {higher} of {sides} banks {off_m} m off are higher than the river"
            );
        }
    }
}

/// How many places so far to the side of a river are higher than it, and how many there are.
fn banks(terrain: &Terrain, off_m: f64) -> (usize, usize) {
    let (height, frame) = (terrain.get(layer::HEIGHT).unwrap(), terrain.frame());
    let rivers = terrain.vector("rivers").unwrap();
    let at = |x: f64, y: f64| {
        let [c, r] = frame.locate(x, y);
        f64::from(height.bilinear(c, r))
    };
    let (mut higher, mut sides) = (0, 0);
    for line in 0..rivers.len() {
        for part in rivers.parts(line) {
            let line = &rivers.vertices()[part];
            for w in line.windows(2) {
                let (p, q) = (w[0], w[1]);
                assert!(q[2] < p[2], "rises from {p:?} to {q:?}");
                let length = math::hypot(q[0] - p[0], q[1] - p[1]);
                if length < 1.0 {
                    continue;
                }
                let off = [-(q[1] - p[1]) / length * off_m, (q[0] - p[0]) / length * off_m];
                for side in [-1.0, 1.0] {
                    let place = [p[0] + side * off[0], p[1] + side * off[1]];
                    // Where rivers meet, a bank of one is the bed of another.
                    let near = |v: &[f64; 3]| math::hypot(v[0] - place[0], v[1] - place[1]) < 0.66 * off_m;
                    if place.iter().all(|v| (0.0..=SIDE_M).contains(v)) && !rivers.vertices().iter().any(near)
                    {
                        sides += 1;
                        higher += usize::from(at(place[0], place[1]) > p[2]);
                    }
                }
            }
        }
    }
    (higher, sides)
}

#[test]
fn the_raster_has_the_heights_of_the_rivers() {
    let terrain = build(&Ridges::default(), 513, 2);
    let (height, frame) = (terrain.get(layer::HEIGHT).unwrap(), terrain.frame());
    let rivers = terrain.vector("rivers").unwrap();
    let mut off: Vec<f64> = rivers
        .vertices()
        .iter()
        .map(|p| {
            let [c, r] = frame.locate(p[0], p[1]);
            f64::from(height.bilinear(c, r)) - p[2]
        })
        .collect();
    off.sort_by(f64::total_cmp);
    assert!(off[0] > -2.0, "{}", off[0]);
    assert!(off[off.len() * 95 / 100] < 4.0, "{}", off[off.len() * 95 / 100]);
}

#[test]
fn without_ridges_or_rivers_there_is_still_land() {
    for (ridges, rivers) in [(0, 0), (0, 50), (4, 0)] {
        let op = Ridges { ridges, rivers, ..Ridges::default() };
        let terrain = build(&op, 33, 1);
        assert!(terrain.get(layer::HEIGHT).unwrap().as_slice().iter().all(|h| h.is_finite()));
        assert!(terrain.vector("rivers").unwrap().is_empty());
    }
    let frame = Frame::new([5e6, -3e6], [40.0, 900.0], [9, 33]).unwrap();
    let terrain = Ridges::default().apply(Terrain::new(frame), &Ctx::new(Seed(1))).unwrap();
    assert!(terrain.get(layer::HEIGHT).unwrap().as_slice().iter().all(|h| h.is_finite()));
}

#[test]
fn too_fine_a_grid_gets_a_sentence() {
    for (side_m, cell_m) in [(1e5, 16.0), (5e3, 1e-3), (1.0, 1e-30)] {
        let frame = Frame::square(side_m, 9).unwrap();
        let op = Ridges { cell_m, ..Ridges::default() };
        let message = op.apply(Terrain::new(frame), &Ctx::silent()).unwrap_err().to_string();
        let allowed = message.split("use ").nth(1).unwrap().split(' ').next().unwrap();
        let op = Ridges { cell_m: allowed.parse().unwrap(), ..op };
        assert_eq!(op.on(&frame.extent()).unwrap(), op, "{message}");
    }
}

#[test]
fn the_grid_follows_the_frame() {
    let op = Ridges::default();
    let cell_m = |size_m: f64| op.on(&Frame::square(size_m, 9).unwrap().extent()).unwrap().cell_m;
    // The defaults draw in cells of 16 m wherever the frame has no more of them than are allowed.
    assert_eq!([100.0, 5e3, 3e4].map(cell_m), [16.0; 3]);
    assert_eq!([4e4, 1e5, 4e5].map(cell_m), [32.0, 64.0, 256.0]);
    let long = Frame::new([0.0, 0.0], [8e6, 1.0], [9, 2]).unwrap();
    assert_eq!(op.on(&long.extent()).unwrap().cell_m, 64.0);

    let build = |op: &Ridges, size_m: f64| {
        op.apply(Terrain::new(Frame::square(size_m, 129).unwrap()), &Ctx::new(Seed(3))).unwrap()
    };
    let given = Ridges { cell_m: 16.0, ..Ridges::default() };
    let (small, same) = (build(&op, 5e3), build(&given, 5e3));
    assert_eq!(small.get(layer::HEIGHT).unwrap(), same.get(layer::HEIGHT).unwrap());
    // A whole range: ridges and rivers, which still fall and end at the border or in each other.
    let range = Ridges {
        ridges: 12,
        ridge_m: 2e4,
        width_m: 5e3,
        bend_m: 2e4,
        peak_m: 3e3,
        depth_m: 1e3,
        valley_m: 800.0,
        ..op
    };
    for (land, least_m) in [(small, 600.0), (build(&range, 1e5), 1800.0)] {
        let (low, high) = land.get(layer::HEIGHT).unwrap().range().unwrap();
        assert!(high - low > least_m, "relief of {} m", high - low);
        let rivers = land.vector("rivers").unwrap();
        assert!(rivers.len() > 50, "{} rivers", rivers.len());
        for line in (0..rivers.len()).flat_map(|i| rivers.parts(i)) {
            let falls = rivers.vertices()[line].windows(2).all(|w| w[1][2] < w[0][2]);
            assert!(falls, "a river rises");
        }
    }
}
