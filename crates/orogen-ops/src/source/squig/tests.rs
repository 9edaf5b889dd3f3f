//! What the operator promises, on whole landscapes.

use orogen_core::{Raster, Seed};

use super::mesh::{NEUTRAL, signed};
use super::*;

const SIDE_M: f64 = 4096.0;

fn build(op: &Squig, samples: usize, seed: u64) -> Terrain {
    op.apply(Terrain::new(Frame::square(SIDE_M, samples).unwrap()), &Ctx::new(Seed(seed))).unwrap()
}

fn rect() -> Rect {
    Frame::square(SIDE_M, 9).unwrap().extent()
}

fn mesh(op: &Squig, seed: u64) -> Mesh {
    triangles(op, &rect(), &Ctx::new(Seed(seed))).unwrap()
}

fn country(op: &Squig, seed: u64) -> Country {
    Country::new(op, &mesh(op, seed), &rect(), &Ctx::new(Seed(seed))).unwrap()
}

/// Squigs of every kind.
fn all() -> impl Iterator<Item = (Squig, u64)> {
    let sides = [Side::North, Side::East, Side::South, Side::West];
    let pairs = sides.into_iter().flat_map(move |a| sides.into_iter().map(move |b| (a, b)));
    pairs.filter(|(a, b)| a != b).enumerate().map(|(i, (inlet, outlet))| {
        let wander = [0.0, 0.5, 1.0][i % 3];
        (Squig { inlet, outlet, wander, ..Squig::default() }, i as u64)
    })
}

/// The lines of the rivers, as vertices.
fn lines(terrain: &Terrain) -> Vec<Vec<[f64; 3]>> {
    let rivers = terrain.vector("rivers").unwrap();
    (0..rivers.len())
        .flat_map(|i| rivers.parts(i).map(|part| rivers.vertices()[part].to_vec()).collect::<Vec<_>>())
        .collect()
}

fn crosses(a: [[f64; 2]; 2], b: [[f64; 2]; 2]) -> bool {
    let side = |s: [[f64; 2]; 2], p: [f64; 2]| signed([s[0], s[1], p]);
    side(a, b[0]) * side(a, b[1]) < 0.0 && side(b, a[0]) * side(b, a[1]) < 0.0
}

fn on(side: Side, p: [f64; 2]) -> bool {
    match side {
        Side::North => p[1] >= SIDE_M,
        Side::East => p[0] >= SIDE_M,
        Side::South => p[1] <= 0.0,
        Side::West => p[0] <= 0.0,
    }
}

#[test]
fn triangles_cover_the_frame_once() {
    for (op, seed) in all() {
        let mesh = mesh(&op, seed);
        let areas: Vec<f64> = mesh.triangles.iter().map(|t| 0.5 * signed(mesh.corners(t))).collect();
        let sum: f64 = areas.iter().sum();
        assert!((sum.abs() / (SIDE_M * SIDE_M) - 1.0).abs() < 1e-9, "{sum}");
        assert!(areas.iter().all(|a| a * sum > 0.0), "a triangle is turned over");
    }
}

#[test]
fn every_triangle_has_one_exit_and_drains_to_the_outlet() {
    for (op, seed) in all() {
        let mesh = mesh(&op, seed);
        let mut leaves = vec![0; mesh.edges.len()];
        let mut enters = vec![0; mesh.edges.len()];
        for triangle in &mesh.triangles {
            leaves[triangle.edges[usize::from(triangle.exit)] as usize] += 1;
            mesh.entries(triangle).for_each(|k| enters[triangle.edges[k] as usize] += 1);
        }
        for (e, edge) in mesh.edges.iter().enumerate() {
            let expected = match e as u32 {
                e if e == mesh.inlet => (0, 1),
                e if e == mesh.outlet => (1, 0),
                _ if edge.rank == NEUTRAL => (0, 0),
                _ => (1, 1),
            };
            assert_eq!((leaves[e], enters[e]), expected, "edge {e}");
        }
        // All land arrives.
        let streams = Streams::draw(&mesh, 5e6, Seed(1));
        assert!((streams.nodes[0].area / (SIDE_M * SIDE_M + 5e6) - 1.0).abs() < 1e-9);
    }
}

#[test]
fn the_river_enters_once_leaves_once_and_never_crosses_itself() {
    for (op, seed) in all() {
        let line: Vec<[f64; 2]> = lines(&build(&op, 9, seed))[0].iter().map(|p| [p[0], p[1]]).collect();
        assert!(on(op.inlet, line[0]) && on(op.outlet, line[line.len() - 1]), "{op:?}");
        let inside = |p: &[f64; 2]| p.iter().all(|&v| v > 0.0 && v < SIDE_M);
        assert!(line[1..line.len() - 1].iter().all(inside), "{op:?} touches the border on its way");
        let pieces: Vec<[[f64; 2]; 2]> = line.windows(2).map(|w| [w[0], w[1]]).collect();
        for (i, a) in pieces.iter().enumerate() {
            for b in &pieces[i + 1..] {
                assert!(!crosses(*a, *b), "{op:?}: {a:?} crosses {b:?}");
            }
        }
    }
}

#[test]
fn no_stream_crosses_another() {
    let op = Squig { spacing_m: 800.0, river_km2: 0.0, wander: 1.0, ..Squig::default() };
    let pieces: Vec<[[f64; 2]; 2]> = lines(&build(&op, 9, 3))
        .iter()
        .flat_map(|line| {
            line.windows(2).map(|w| [[w[0][0], w[0][1]], [w[1][0], w[1][1]]]).collect::<Vec<_>>()
        })
        .collect();
    assert!(pieces.len() > 500);
    for (i, a) in pieces.iter().enumerate() {
        for b in &pieces[i + 1..] {
            assert!(!crosses(*a, *b), "{a:?} crosses {b:?}");
        }
    }
}

#[test]
fn all_rivers_fall_and_grow_downstream() {
    let terrain = build(&Squig::default(), 9, 4);
    let rivers = terrain.vector("rivers").unwrap();
    let [width, discharge] = ["width_m", "discharge_m3s"].map(|name| rivers.vertex_numbers(name).unwrap());
    assert!(rivers.len() > 3);
    for i in 0..rivers.len() {
        for part in rivers.parts(i) {
            for k in part.clone().skip(1) {
                assert!(rivers.vertices()[k][2] < rivers.vertices()[k - 1][2], "line {i}");
                assert!(width[k] >= width[k - 1] && discharge[k] >= discharge[k - 1], "line {i}");
            }
        }
    }
    let Some(Column::Integer(into)) = rivers.feature_attributes().get("into") else { panic!() };
    for (i, &next) in into.iter().enumerate() {
        let end = rivers.vertices()[rivers.parts(i).next().unwrap().end - 1];
        if i == 0 {
            assert_eq!(next, -1);
        } else {
            // Ends on a vertex of the line that it runs into.
            let other = rivers.parts(next as usize).next().unwrap();
            assert!(rivers.vertices()[other].contains(&end), "line {i} into {next}");
        }
    }
}

/// Cells of 4 m: what a raster shows of a bed between its samples is a cell of hillside higher at most.
fn raster(terrain: &Terrain) -> (&Raster<f32>, Frame) {
    (terrain.get(layer::HEIGHT).unwrap(), *terrain.frame())
}

#[test]
fn the_land_has_the_river_at_the_bottom_of_a_valley() {
    let op = Squig { roughness: 1.5, ..Squig::default() };
    let terrain = build(&op, 1025, 4);
    let (height, frame) = raster(&terrain);
    let at = |p: [f64; 2]| {
        let [c, r] = frame.locate(p[0], p[1]);
        f64::from(height.bilinear(c, r))
    };
    let mut checked = 0;
    let line = &lines(&terrain)[0];
    let mut before = f64::INFINITY;
    for w in line.windows(2).step_by(8) {
        let (p, q) = (w[0], w[1]);
        let bed = at([p[0], p[1]]);
        // The raster has the bed of the river, and the bed falls.
        assert!((-1.0..3.0).contains(&(bed - p[2])), "land {bed}, river {}", p[2]);
        assert!(bed < before + 2.5, "the land rises from {before} to {bed} along the river");
        before = before.min(bed);
        // Across the river land is higher on both sides, farther off higher still.
        let length = math::hypot(q[0] - p[0], q[1] - p[1]);
        let normal = [-(q[1] - p[1]) / length, (q[0] - p[0]) / length];
        for side in [-1.0, 1.0] {
            let place = |d: f64| [p[0] + side * d * normal[0], p[1] + side * d * normal[1]];
            let far = place(60.0);
            if far.iter().any(|v| !(0.0..=SIDE_M).contains(v)) {
                continue;
            }
            // Not across a bend, where the river itself is nearer than 60 m again.
            let near = |q: &&[f64; 3]| math::hypot(q[0] - far[0], q[1] - far[1]) < 45.0;
            if lines(&terrain).iter().flatten().find(near).is_none() {
                assert!(at(place(30.0)) > p[2], "30 m off");
                assert!(at(far) > p[2] + 5.0, "60 m off: {} over {}", at(far), p[2]);
                checked += 1;
            }
        }
    }
    assert!(checked > 20, "{checked}");
}

#[test]
fn no_stream_captures_another() {
    for (op, seed) in all() {
        let country = country(&op, seed);
        let mut worst = 0.0f64;
        let mut places = 0;
        for node in &country.streams.nodes {
            let land = f64::from(country.land.height(node.at)) - op.level_m;
            worst = worst.max(node.z - land);
            places += usize::from(node.z - land > 0.1);
        }
        assert!(worst < 1.0, "land is {worst} m lower than a stream at worst, {op:?}");
        let count = country.streams.nodes.len();
        assert!(1000 * places <= count, "land is lower than streams in {places} places of {count}, {op:?}");
    }
}

/// Samples that are lower than all around them: how many, and how many of those lie off all streams.
fn pits(op: &Squig, seed: u64) -> (usize, usize) {
    let terrain = build(op, 513, seed);
    let (height, frame) = raster(&terrain);
    let country = country(op, seed);
    let (mut pits, mut strays) = (0, 0);
    for row in 1..512 {
        for col in 1..512 {
            let cell = orogen_core::Cell { col, row };
            if height.neighbors8(cell).all(|n| height[n.cell] >= height[cell]) {
                pits += 1;
                let (x, y) = (frame.x_m(col), frame.y_m(row));
                let near = |n: &streams::Node| math::hypot(n.at[0] - x, n.at[1] - y) < 2.0 * n.length + 12.0;
                strays += usize::from(!country.streams.nodes.iter().any(near));
            }
        }
    }
    (pits, strays)
}

#[test]
fn water_runs_down_from_everywhere() {
    // Even hillsides have no hollow; in beds there are some, as samples do not resolve them.
    let even = Squig { roughness: 0.0, ..Squig::default() };
    assert_eq!(pits(&even, 6).1, 0);
    // Nor have those as uneven as they are from the start.
    for seed in 0..3 {
        let (all, strays) = pits(&Squig::default(), seed);
        assert!(strays == 0 && 500 * all < 513 * 513, "{strays} of {all} pits lie off all streams");
    }
}

#[test]
fn the_relief_is_the_one_asked_for() {
    for relief_m in [300.0, 800.0] {
        let op = Squig { relief_m, level_m: 100.0, ..Squig::default() };
        let (low, high) = build(&op, 257, 1).get(layer::HEIGHT).unwrap().range().unwrap();
        assert!((100.0..110.0).contains(&low), "{low}");
        assert!((f64::from(high) - 100.0) / relief_m > 0.75, "{high}");
        assert!((f64::from(high) - 100.0) / relief_m < 1.25, "{high}");
    }
}

#[test]
fn long_frames_and_tiny_ones_work() {
    for size in [[9000.0, 800.0], [700.0, 20_000.0], [3.0, 2.0]] {
        for inlet in [Side::North, Side::West] {
            let op = Squig { inlet, outlet: Side::East, ..Squig::default() };
            let frame = Frame::new([-1e5, 2e5], size, [33, 17]).unwrap();
            let terrain = op.apply(Terrain::new(frame), &Ctx::new(Seed(2))).unwrap();
            assert!(terrain.get(layer::HEIGHT).unwrap().as_slice().iter().all(|h| h.is_finite()));
        }
    }
}

#[test]
fn bad_parameters_get_a_sentence() {
    let same = Squig { inlet: Side::West, outlet: Side::West, ..Squig::default() };
    assert_eq!(same.faults().len(), 1);
    let fine = Squig { spacing_m: 1.0, ..Squig::default() };
    let frame = Frame::square(SIDE_M, 9).unwrap();
    let message = fine.apply(Terrain::new(frame), &Ctx::silent()).unwrap_err().to_string();
    let allowed: f64 = message.split("use ").nth(1).unwrap().split(' ').next().unwrap().parse().unwrap();
    let op = Squig { spacing_m: allowed, ..Squig::default() };
    assert!(triangles(&op, &rect(), &Ctx::silent()).is_ok(), "{message}");
}

#[test]
fn streams_out_of_proportion_to_the_samples_are_refused_before_the_work() {
    let frame = Frame::square(SIDE_M, 129).unwrap();
    let fine = Squig { spacing_m: SIDE_M / 300.0, ..Squig::default() };
    let message = fine.apply(Terrain::new(frame), &Ctx::silent()).unwrap_err().to_string();
    assert!(message.starts_with("spacing_m: ") && message.contains("times the work"), "{message}");
    let enough: f64 = message.split("use ").nth(1).unwrap().split(' ').next().unwrap().parse().unwrap();
    let op = Squig { spacing_m: enough, ..Squig::default() };
    let triangles = mesh(&op, 1).triangles.len();
    assert_eq!(op.check_work(triangles, 129 * 129), Ok(()), "{triangles} triangles, {message}");
    // The usual distance is fine for the smallest preview.
    assert_eq!(Squig::default().check_work(mesh(&Squig::default(), 1).triangles.len(), 81), Ok(()));
}
