use super::*;
use crate::held_lines::held;
use crate::test_support::{self, place, world};
use orogen_core::testkit::{assert_close, hills};

const SIZE_M: f64 = 4000.0;

fn flat(samples: usize, h: f32) -> Raster<f32> {
    Raster::filled(samples, samples, h)
}

fn run(features: Vec<Feature>, height: Raster<f32>) -> Terrain {
    let mut terrain = Terrain::new(Frame::square(SIZE_M, height.cols()).unwrap());
    terrain.set(layer::HEIGHT, height);
    Features::new(features).apply(terrain, &Ctx::new(Seed(3))).unwrap()
}

fn land(features: Vec<Feature>, height: Raster<f32>) -> Raster<f32> {
    run(features, height).get(layer::HEIGHT).unwrap().clone()
}

/// The height at a place that is a sample.
fn at(height: &Raster<f32>, x: f64, y: f64) -> f32 {
    let cell = SIZE_M / (height.cols() - 1) as f64;
    height.row(((SIZE_M - y) / cell).round() as usize)[(x / cell).round() as usize]
}

const MIDDLE: [f64; 2] = [2000.0, 2000.0];

/// One of every kind around a point, without noise, with the height in its middle on land of 100 m.
fn round_ones() -> Vec<(Feature, f32)> {
    vec![
        (Mountain { roughness: 0.0, ..Mountain::new(MIDDLE, 900.0, 700.0) }.into(), 800.0),
        (Mountain { roughness: 0.0, peakiness: 1.0, ..Mountain::new(MIDDLE, 900.0, 700.0) }.into(), 800.0),
        (Hill { roughness: 0.0, ..Hill::new(MIDDLE, 600.0, 80.0) }.into(), 180.0),
        (Hill { roughness: 0.0, strength: 0.25, ..Hill::new(MIDDLE, 600.0, 80.0) }.into(), 120.0),
        (DuneField { wander: 0.0, ..DuneField::new(MIDDLE, 1000.0, 30.0) }.into(), 130.0),
        (Lake { roughness: 0.0, ..Lake::new(MIDDLE, 500.0, 90.0) }.into(), 80.0),
        (Lake { roughness: 0.0, depth_m: 0.0, ..Lake::new(MIDDLE, 500.0, 90.0) }.into(), 90.0),
        (Plateau { roughness: 0.0, ..Plateau::new(MIDDLE, 800.0, 400.0) }.into(), 400.0),
        (Plateau { roughness: 0.0, strength: 0.5, ..Plateau::new(MIDDLE, 800.0, 400.0) }.into(), 250.0),
        (Crater { roughness: 0.0, ..Crater::new(MIDDLE, 700.0, 60.0) }.into(), 40.0),
        (Crater { roughness: 0.0, peak_m: 25.0, ..Crater::new(MIDDLE, 700.0, 60.0) }.into(), 65.0),
        (Volcano { roughness: 0.0, ..Volcano::new(MIDDLE, 1200.0, 800.0) }.into(), 800.0),
    ]
}

fn line() -> Vec<[f64; 2]> {
    vec![[800.0, 2000.0], [1600.0, 2400.0], [2400.0, 1600.0], [3200.0, 2000.0]]
}

fn river(width: [f64; 4], depth: [f64; 4]) -> River {
    let z = [300.0, 280.0, 260.0, 200.0];
    let point = |i: usize| RiverPoint::new(line()[i], width[i], depth[i]).at_height(z[i]);
    River { roughness: 0.0, ..River::new((0..4).map(point).collect()) }
}

#[test]
fn an_empty_list_changes_nothing() {
    let before = hills(65, 300.0);
    assert_eq!(land(Vec::new(), before.clone()), before);
    let mut terrain = Terrain::new(Frame::square(SIZE_M, 65).unwrap());
    terrain.set(layer::HEIGHT, before);
    let mut rivers = VectorLayer::new(Shape::Lines);
    rivers.push([[0.0, 0.0, 5.0], [10.0, 0.0, 4.0]]);
    terrain.set_vector(RIVERS, rivers.clone());
    let after = Features::default().apply(terrain, &Ctx::silent()).unwrap();
    assert_eq!(after.vector(RIVERS), Some(&rivers));
}

#[test]
fn the_middle_has_what_was_asked_for() {
    for (feature, wanted) in round_ones() {
        let height = land(vec![feature.clone()], flat(201, 100.0));
        assert!(
            (at(&height, 2000.0, 2000.0) - wanted).abs() < 0.01,
            "{feature:?}: {}",
            at(&height, 2000.0, 2000.0)
        );
    }
}

#[test]
fn noise_leaves_the_middle_alone() {
    for (feature, wanted) in [
        (Feature::from(Mountain { roughness: 1.0, ..Mountain::new(MIDDLE, 900.0, 700.0) }), 800.0),
        (Hill { roughness: 1.0, ..Hill::new(MIDDLE, 600.0, 80.0) }.into(), 180.0),
        (Volcano { roughness: 1.0, ..Volcano::new(MIDDLE, 1200.0, 800.0) }.into(), 800.0),
        (Crater { roughness: 1.0, ..Crater::new(MIDDLE, 700.0, 60.0) }.into(), 40.0),
        (DuneField { wander: 2.0, ..DuneField::new(MIDDLE, 1000.0, 30.0) }.into(), 130.0),
        (Lake { roughness: 1.0, ..Lake::new(MIDDLE, 500.0, 90.0) }.into(), 80.0),
        (Plateau { roughness: 1.0, ..Plateau::new(MIDDLE, 800.0, 400.0) }.into(), 400.0),
    ] {
        let height = land(vec![feature.clone()], flat(201, 100.0));
        assert!(
            (at(&height, 2000.0, 2000.0) - wanted).abs() < 0.01,
            "{feature:?}: {}",
            at(&height, 2000.0, 2000.0)
        );
    }
}

#[test]
fn a_summit_is_where_and_as_high_as_asked_however_rough() {
    for seed in 0..12 {
        for (feature, wanted) in [
            (Feature::from(Mountain { roughness: 1.0, ..Mountain::new(MIDDLE, 1500.0, 1000.0) }), 1000.0),
            (
                Mountain { roughness: 1.0, peakiness: 0.0, ..Mountain::new(MIDDLE, 1500.0, 1000.0) }.into(),
                1000.0,
            ),
            (
                Mountain { roughness: 0.5, peakiness: 1.0, ..Mountain::new(MIDDLE, 1500.0, 1000.0) }.into(),
                1000.0,
            ),
            (Hill { roughness: 1.0, ..Hill::new(MIDDLE, 900.0, 50.0) }.into(), 50.0),
        ] {
            let height = land(vec![feature.named(&format!("of seed {seed}"))], flat(201, 100.0));
            let top = height.range().unwrap().1;
            assert_close!(top, 100.0 + wanted, abs = 0.01);
            assert_eq!(at(&height, 2000.0, 2000.0), top, "the summit lies elsewhere");
        }
        let ring = vec![vec![[-1.0, -1.0], [1.0, -1.0], [1.0, 1.0], [-1.0, 1.0]]];
        for (feature, wanted) in [
            (Feature::from(Massif { roughness: 1.0, ..Massif::new(MIDDLE, 1500.0, 600.0, ring) }), 600.0),
            (Volcano { roughness: 1.0, ..Volcano::new(MIDDLE, 1500.0, 800.0) }.into(), 800.0),
        ] {
            let height = land(vec![feature.named(&format!("of seed {seed}"))], flat(201, 100.0));
            let top = height.range().unwrap().1 - 100.0;
            assert!((top / wanted - 1.0).abs() < 0.05, "{top} in place of {wanted}");
        }
    }
}

#[test]
fn the_crater_of_a_volcano_never_cuts_below_the_land_it_stands_on() {
    for (height_m, crater_depth_m) in [(50.0, 400.0), (100.0, 100.0), (5.0, 20_000.0)] {
        for roughness in [0.0, 1.0] {
            let volcano =
                Volcano { crater_depth_m, roughness, crater: 0.4, ..Volcano::new(MIDDLE, 1200.0, height_m) };
            let low = land(vec![volcano.into()], flat(201, 100.0)).range().unwrap().0;
            assert!(low >= 100.0, "{low} below land of 100 m");
        }
    }
}

#[test]
fn rivers_that_meet_do_not_dam_each_other() {
    let main: Vec<RiverPoint> = [(2000.0, 3600.0, 150.0), (2000.0, 2000.0, 120.0), (2000.0, 400.0, 90.0)]
        .map(|(x, y, z)| RiverPoint::new([x, y], 60.0, 5.0).at_height(z))
        .into();
    let side: Vec<RiverPoint> = [(500.0, 3000.0, 160.0), (2000.0, 2000.0, 120.0)]
        .map(|(x, y, z)| RiverPoint::new([x, y], 40.0, 4.0).at_height(z))
        .into();
    let rivers = [main, side].map(|points| Feature::from(River { roughness: 0.0, ..River::new(points) }));
    let [main, side] = rivers;
    for list in [vec![main.clone(), side.clone()], vec![side, main]] {
        let terrain = run(list, flat(801, 170.0));
        let height = terrain.get(layer::HEIGHT).unwrap();
        let rivers = terrain.vector(RIVERS).unwrap();
        for line in 0..2 {
            let mut lowest = f32::INFINITY;
            for part in rivers.parts(line) {
                let pairs = rivers.vertices()[part].windows(2).map(|pair| (pair[0], pair[1]));
                // Every few metres, as a straight course has few points.
                for (a, b) in pairs {
                    for i in 0..400 {
                        let t = f64::from(i) / 400.0;
                        let [x, y] = [0, 1].map(|k| a[k] + t * (b[k] - a[k]));
                        let ground = height.bilinear(x / 5.0, (4000.0 - y) / 5.0);
                        assert!(
                            ground < lowest + 0.3,
                            "river {line} is dammed: {lowest} to {ground} at {x}, {y}"
                        );
                        lowest = lowest.min(ground);
                    }
                }
            }
        }
    }
}

#[test]
fn dunes_begin_and_end_inside_their_outline() {
    let ring = vec![vec![[-1.0, -0.6], [1.0, -0.6], [1.0, 0.6], [-1.0, 0.6]]];
    let field = |breaks| DuneField {
        breaks,
        spacing_m: 120.0,
        outline: ring.clone(),
        edge_m: 200.0,
        ..DuneField::new(MIDDLE, 1500.0, 30.0)
    };
    // Share of the inner field on which a dune's length has next to no dune.
    let bare = |height: &Raster<f32>| {
        let mut count = [0.0; 2];
        for row in (60..140).step_by(8) {
            for col in (40..160).step_by(8) {
                let near = (row..row + 8).flat_map(|r| height.row(r)[col..col + 8].iter());
                count[0] += 1.0;
                count[1] += f64::from(u8::from(near.fold(0.0f32, |a, b| a.max(*b)) < 6.0));
            }
        }
        count[1] / count[0]
    };
    let whole = land(vec![field(0.0).into()], flat(201, 0.0));
    let broken = land(vec![field(1.0).into()], flat(201, 0.0));
    assert_eq!(bare(&whole), 0.0);
    assert!((0.1..0.7).contains(&bare(&broken)), "{}", bare(&broken));
    for height in [whole, broken] {
        assert_close!(at(&height, 2000.0, 2000.0), 30.0, abs = 0.01);
        assert_eq!((at(&height, 2000.0, 2920.0), at(&height, 480.0, 2000.0)), (0.0, 0.0));
    }
    test_support::assert_windows(&Features::new(vec![
        DuneField { outline: ring, edge_m: 90.0, ..DuneField::new(place(0.4, 0.5), 400.0, 30.0) }.into(),
    ]));
}

#[test]
fn the_rim_of_a_volcano_and_the_shore_of_a_lake_are_where_they_should_be() {
    let volcano = Volcano { roughness: 0.0, crater: 0.25, ..Volcano::new(MIDDLE, 1200.0, 800.0) };
    let height = land(vec![volcano.into()], flat(201, 100.0));
    assert_close!(at(&height, 2300.0, 2000.0), 900.0, abs = 0.01);
    let lake = Lake { roughness: 0.0, ..Lake::new(MIDDLE, 500.0, 90.0) };
    let terrain = run(vec![lake.into()], hills(201, 150.0));
    let (height, water) = (terrain.get(layer::HEIGHT).unwrap(), terrain.get(layer::WATER).unwrap());
    assert_close!(at(height, 2500.0, 2000.0), 90.0, abs = 0.01);
    // The water is level, and so deep in the middle as asked; the rim holds it.
    for (h, w) in height.as_slice().iter().zip(water.as_slice()) {
        assert!(*w == 0.0 || (h + w - 90.0).abs() < 1e-3, "{h} and {w}");
    }
    assert_close!(at(water, 2000.0, 2000.0), 10.0, abs = 0.01);
    assert_eq!(at(water, 2600.0, 2000.0), 0.0);
    assert!(at(height, 2520.0, 2000.0) >= 90.0);
}

#[test]
fn outside_its_radius_a_feature_changes_no_bit() {
    let before = hills(161, 200.0);
    let mut every: Vec<(Feature, f64)> = vec![
        (Mountain::new(MIDDLE, 900.0, 700.0).into(), 900.0),
        (Hill::new(MIDDLE, 600.0, 80.0).into(), 600.0),
        (DuneField::new(MIDDLE, 1000.0, 30.0).into(), 1000.0),
        (Lake::new(MIDDLE, 500.0, 90.0).into(), 600.0),
        (Plateau::new(MIDDLE, 800.0, 400.0).into(), 800.0),
        (Crater::new(MIDDLE, 700.0, 60.0).into(), 700.0),
        (Volcano::new(MIDDLE, 1200.0, 800.0).into(), 1200.0),
    ];
    every.extend(round_ones().into_iter().map(|(feature, _)| (feature, 1300.0)));
    for (feature, radius) in every {
        let after = land(vec![feature.clone()], before.clone());
        let mut changed = 0;
        for row in 0..161 {
            for col in 0..161 {
                let (x, y) = (col as f64 * 25.0 - 2000.0, 2000.0 - row as f64 * 25.0);
                let same = before.row(row)[col].to_bits() == after.row(row)[col].to_bits();
                assert!(same || x.hypot_of(y) < radius, "{feature:?} at {x}, {y}");
                changed += usize::from(!same);
            }
        }
        assert!(changed > 400, "{feature:?} changes {changed} samples");
    }
}

trait HypotOf {
    fn hypot_of(self, other: f64) -> f64;
}

impl HypotOf for f64 {
    fn hypot_of(self, other: f64) -> f64 {
        orogen_core::math::hypot(self, other)
    }
}

#[test]
fn outside_its_reach_a_line_changes_no_bit() {
    let before = hills(161, 200.0);
    let features: Vec<(Feature, f64)> = vec![
        (Ridge::new(&line(), 300.0, 200.0).into(), 300.0),
        (Canyon::new(&line(), 250.0, 100.0).into(), 250.0),
        (River { roughness: 1.0, ..river([40.0; 4], [4.0; 4]) }.into(), 120.0),
    ];
    let spline = spline::Spline::new(&line(), 0.1);
    for (feature, reach) in features {
        let after = land(vec![feature.clone()], before.clone());
        let mut changed = 0;
        for row in 0..161 {
            for col in 0..161 {
                let place = [col as f64 * 25.0, 4000.0 - row as f64 * 25.0];
                let same = before.row(row)[col].to_bits() == after.row(row)[col].to_bits();
                assert!(same || spline.closest(place).0 < reach, "{} at {place:?}", feature.kind());
                changed += usize::from(!same);
            }
        }
        assert!(changed > 400, "{} changes {changed} samples", feature.kind());
    }
}

#[test]
fn ridge_and_canyon_have_their_height_on_the_line_and_at_its_points() {
    // 201 samples of 20 m: the points of the line are samples.
    let mut ridge = Ridge { roughness: 1.0, ..Ridge::new(&line(), 300.0, 200.0) };
    ridge.points[1].height_m = Some(350.0);
    let height = land(vec![ridge.into()], flat(201, 100.0));
    for (point, wanted) in line().iter().zip([300.0, 450.0, 300.0, 300.0]) {
        assert_close!(at(&height, point[0], point[1]), wanted, abs = 0.01);
    }
    let mut canyon = Canyon { roughness: 1.0, ..Canyon::new(&line(), 300.0, 80.0) };
    canyon.points[2].depth_m = Some(95.0);
    let height = land(vec![canyon.into()], flat(201, 100.0));
    for (point, wanted) in line().iter().zip([20.0, 20.0, 5.0, 20.0]) {
        assert_close!(at(&height, point[0], point[1]), wanted, abs = 0.01);
    }
}

#[test]
fn a_river_is_as_wide_and_deep_as_asked_at_its_points() {
    let (widths, depths) = ([40.0, 60.0, 90.0, 120.0], [4.0, 5.0, 9.0, 8.0]);
    let river = river(widths, depths);
    let z = [300.0, 280.0, 260.0, 200.0];
    // Any land, finely sampled: 2.5 m.
    let height = land(vec![river.clone().into()], hills(1601, 200.0));
    for i in 0..4 {
        assert_close!(at(&height, line()[i][0], line()[i][1]), z[i] - depths[i], abs = 0.01);
    }
    // Across the line at its inner points, the ground is at the banks' level at half the width and below it inside.
    let course: Vec<[f64; 3]> =
        run(vec![river.into()], flat(65, 0.0)).vector(RIVERS).unwrap().vertices().to_vec();
    for i in 1..3 {
        let k = course
            .iter()
            .position(|p| (p[0] - line()[i][0]).abs() < 1e-6 && (p[1] - line()[i][1]).abs() < 1e-6)
            .unwrap();
        let way = [course[k + 1][0] - course[k - 1][0], course[k + 1][1] - course[k - 1][1]];
        let length = way[0].hypot_of(way[1]);
        let across = [-way[1] / length, way[0] / length];
        let height_at = |d: f64| {
            let place = [line()[i][0] + d * across[0], line()[i][1] + d * across[1]];
            height.bilinear(place[0] / 2.5, (4000.0 - place[1]) / 2.5)
        };
        for side in [-1.0, 1.0] {
            assert_close!(height_at(side * (0.5 * widths[i] + 5.0)), z[i], abs = 1.0);
            assert!(f64::from(height_at(side * (0.5 * widths[i] - 8.0))) < z[i] - 0.01 * depths[i]);
            assert!(f64::from(height_at(side * 0.25 * widths[i])) < z[i] - 0.4 * depths[i]);
        }
    }
}

#[test]
fn the_bed_of_a_river_falls_on_any_land() {
    let points: Vec<RiverPoint> =
        [[300.0, 3500.0], [900.0, 2600.0], [2600.0, 3000.0], [2200.0, 1200.0], [3800.0, 300.0]]
            .iter()
            .enumerate()
            .map(|(i, p)| RiverPoint {
                z_m: [Some(250.0), None, None, Some(90.0), None][i],
                ..RiverPoint::new(*p, 60.0, 5.0)
            })
            .collect();
    let terrain = run(vec![River::new(points).into()], hills(801, 400.0));
    let height = terrain.get(layer::HEIGHT).unwrap();
    let rivers = terrain.vector(RIVERS).unwrap();
    assert_eq!(rivers.len(), 1);
    let vertices = rivers.vertices();
    assert!(vertices.windows(2).all(|pair| pair[1][2] <= pair[0][2]), "the line rises");
    assert!(vertices[0][2] - vertices[vertices.len() - 1][2] > 150.0);
    assert!(rivers.vertex_numbers("width_m").unwrap().iter().all(|w| (*w - 60.0).abs() < 1e-6));
    // The ground has the height of the line, and falls along it.
    let mut last = f32::INFINITY;
    for [x, y, z] in vertices {
        let ground = height.bilinear(x / 5.0, (4000.0 - y) / 5.0);
        assert!((f64::from(ground) - z).abs() < 0.35, "{ground} and {z} at {x}, {y}");
        assert!(ground < last + 0.25, "the bed rises from {last} to {ground} at {x}, {y}");
        last = ground;
    }
}

/// The steepest step between neighbours, in metres a metre.
fn steepest(height: &Raster<f32>, cell: f32) -> f32 {
    let mut most = 0.0f32;
    for row in 1..height.rows() {
        for col in 1..height.cols() {
            let h = height.row(row)[col];
            most = most.max((h - height.row(row)[col - 1]).abs()).max((h - height.row(row - 1)[col]).abs());
        }
    }
    most / cell
}

#[test]
fn hairpins_loops_and_cusps_have_no_jump() {
    let courses: [&[[f64; 2]]; 5] = [
        &[[400.0, 2100.0], [3000.0, 2100.0], [3100.0, 2000.0], [3000.0, 1900.0], [400.0, 1900.0]],
        &[[400.0, 2000.0], [2800.0, 2000.0], [2800.0, 3000.0], [1800.0, 3000.0], [1800.0, 400.0]],
        &[[600.0, 2000.0], [3000.0, 2300.0], [600.0, 2010.0]],
        &[
            [600.0, 2000.0],
            [2000.0, 2050.0],
            [800.0, 2100.0],
            [2200.0, 2150.0],
            [900.0, 2200.0],
            [3400.0, 2250.0],
        ],
        &[
            [2000.0, 2000.0],
            [2200.0, 2000.0],
            [2200.0, 2300.0],
            [1800.0, 2300.0],
            [1800.0, 1700.0],
            [2600.0, 1700.0],
            [2600.0, 2900.0],
        ],
    ];
    for (number, course) in courses.iter().enumerate() {
        let first = RiverPoint::new(course[0], 40.0, 4.0).at_height(140.0);
        let last = RiverPoint::new(course[course.len() - 1], 40.0, 4.0).at_height(if number == 2 {
            130.0
        } else {
            100.0
        });
        let inner = course[1..course.len() - 1].iter().map(|p| RiverPoint::new(*p, 40.0, 4.0));
        let points: Vec<RiverPoint> = std::iter::once(first).chain(inner).chain([last]).collect();
        let river = River { roughness: 0.0, bank_m: 180.0, ..River::new(points) };
        let ridge = Ridge { roughness: 0.0, ..Ridge::new(course, 200.0, 60.0) };
        let canyon = Canyon { roughness: 0.0, ledges: 0, ..Canyon::new(course, 200.0, 60.0) };
        // The sides' own steepness; where a river crosses itself, from one height to the other within a quarter of its width.
        let crossing = if number == 1 { 4.6 } else { 1.9 };
        for (feature, most) in [(Feature::from(river), crossing), (ridge.into(), 0.7), (canyon.into(), 0.95)]
        {
            let kind = feature.kind();
            let coarse = land(vec![feature.clone()], flat(401, 120.0));
            let fine = land(vec![feature], flat(1601, 120.0));
            let (a, b) = (steepest(&coarse, 10.0), steepest(&fine, 2.5));
            println!("course {number}: {kind} has steps of {a:.2} and {b:.2}");
            assert!(a < most && b < most, "course {number}: {kind} has a step of {a} and {b}");
        }
    }
}

#[test]
fn the_middle_of_a_hairpin_has_no_crease() {
    let course = [[400.0, 2100.0], [3000.0, 2100.0], [3100.0, 2000.0], [3000.0, 1900.0], [400.0, 1900.0]];
    let canyon = Canyon { roughness: 0.0, ledges: 0, ..Canyon::new(&course, 300.0, 60.0) };
    let height = land(vec![canyon.into()], flat(1601, 120.0));
    // Down a column through both branches, 2.5 m a sample: slopes change by little from sample to sample.
    for col in [200, 400, 700, 1000] {
        let down: Vec<f32> = (700..900).map(|row| height.row(row)[col]).collect();
        for (i, three) in down.windows(3).enumerate() {
            let bend = (three[0] - 2.0 * three[1] + three[2]).abs() / 2.5;
            assert!(bend < 0.05, "a bend of {bend} at {i} in column {col}");
        }
    }
}

#[test]
fn later_features_act_on_what_earlier_ones_left() {
    let mountain: Feature = Mountain { roughness: 0.0, ..Mountain::new(MIDDLE, 900.0, 700.0) }.into();
    let plateau: Feature = Plateau { roughness: 0.0, ..Plateau::new(MIDDLE, 800.0, 400.0) }.into();
    let cut = land(vec![mountain.clone(), plateau.clone()], flat(101, 0.0));
    let on_top = land(vec![plateau, mountain], flat(101, 0.0));
    assert_eq!((at(&cut, 2000.0, 2000.0), at(&on_top, 2000.0, 2000.0)), (400.0, 1100.0));
}

#[test]
fn mirrored_features_make_mirrored_land() {
    let mirror = |p: [f64; 2]| [SIZE_M - p[0], p[1]];
    let mut here: Vec<Feature> = Vec::new();
    let mut there: Vec<Feature> = Vec::new();
    for at in [[900.0, 1200.0], [2500.0, 3100.0]] {
        here.push(Mountain { roughness: 0.0, ..Mountain::new(at, 800.0, 500.0) }.into());
        there.push(Mountain { roughness: 0.0, ..Mountain::new(mirror(at), 800.0, 500.0) }.into());
        here.push(Crater { roughness: 0.0, ..Crater::new(at, 400.0, 50.0) }.into());
        there.push(Crater { roughness: 0.0, ..Crater::new(mirror(at), 400.0, 50.0) }.into());
    }
    let river = river([40.0, 60.0, 90.0, 120.0], [4.0, 5.0, 9.0, 8.0]);
    let mut turned = river.clone();
    turned.points.iter_mut().for_each(|p| p.x_m = SIZE_M - p.x_m);
    here.push(river.into());
    there.push(turned.into());
    let mirrored: Vec<[f64; 2]> = line().into_iter().map(mirror).collect();
    here.push(Canyon { roughness: 0.0, ..Canyon::new(&line(), 200.0, 50.0) }.into());
    there.push(Canyon { roughness: 0.0, ..Canyon::new(&mirrored, 200.0, 50.0) }.into());
    let (a, b) = (land(here, flat(257, 100.0)), land(there, flat(257, 100.0)));
    for row in 0..257 {
        for col in 0..257 {
            assert_close!(a.row(row)[col], b.row(row)[256 - col], abs = 5e-3);
        }
    }
}

/// Every kind, with noise and names, on [`world`].
fn crowd() -> Vec<Feature> {
    let points: Vec<[f64; 2]> =
        [(0.1, 0.2), (0.5, 0.7), (0.6, 0.2), (1.1, 0.4)].map(|(x, y)| place(x, y)).into();
    let mut course: Vec<RiverPoint> = points.iter().map(|p| RiverPoint::new(*p, 50.0, 4.0)).collect();
    course[0].z_m = Some(300.0);
    vec![
        Mountain { roughness: 1.0, hold: true, ..Mountain::new(place(0.3, 0.3), 500.0, 300.0) }.into(),
        Feature::from(Hill::new(place(0.8, 0.9), 300.0, 60.0)).named("knoll"),
        DuneField::new(place(0.7, 0.3), 400.0, 20.0).into(),
        Plateau { hold: true, ..Plateau::new(place(0.2, 0.8), 250.0, 350.0) }.into(),
        Ridge::new(&[place(0.0, 0.9), place(0.4, 0.5), place(0.45, 0.55), place(0.0, 1.0)], 200.0, 150.0)
            .into(),
        Canyon::new(&points, 150.0, 80.0).into(),
        Crater::new(place(0.5, 0.1), 220.0, 40.0).into(),
        Volcano::new(place(0.9, 0.6), 350.0, 300.0).into(),
        River { hold: true, ..River::new(course) }.into(),
        Lake::new(place(0.95, 0.35), 120.0, 250.0).into(),
    ]
}

#[test]
fn windows_have_the_bits_of_the_whole() {
    test_support::assert_windows(&Features::new(crowd()));
    for feature in crowd() {
        test_support::assert_windows(&Features::new(vec![feature]));
    }
}

#[test]
fn holes_stay_holes_and_nothing_else_becomes_one() {
    let after = test_support::whole(&Features::new(crowd()));
    let before = test_support::whole(&Features::default());
    let holes =
        |t: &Terrain| t.get(layer::HEIGHT).unwrap().as_slice().iter().map(|h| h.is_nan()).collect::<Vec<_>>();
    assert_eq!(holes(&after), holes(&before));
    assert!(holes(&after).iter().any(|hole| *hole));
}

#[test]
fn names_keep_a_shape_when_others_come_and_when_it_moves() {
    let hill =
        |at: [f64; 2]| Feature::from(Hill { roughness: 1.0, ..Hill::new(at, 500.0, 100.0) }).named("knoll");
    let alone = land(vec![hill([1000.0, 1000.0])], flat(161, 0.0));
    let other = Feature::from(Mountain::new([3200.0, 3200.0], 500.0, 400.0));
    let second = land(vec![other, hill([1000.0, 1000.0])], flat(161, 0.0));
    let moved = land(vec![hill([2000.0, 1500.0])], flat(161, 0.0));
    for row in 90..150 {
        for col in 10..70 {
            assert_eq!(alone.row(row)[col], second.row(row)[col]);
            assert_close!(alone.row(row)[col], moved.row(row - 20)[col + 40], abs = 1e-3);
        }
    }
}

#[test]
fn held_features_are_marked_and_rivers_kept_where_untouched() {
    let frame = world();
    let mut terrain = Terrain::new(frame);
    terrain.set(layer::HEIGHT, Raster::filled(frame.cols(), frame.rows(), 200.0));
    let mut former = VectorLayer::new(Shape::Lines);
    let far = [place(0.98, 0.02), place(0.97, 0.1)].map(|[x, y]| [x, y, 12.0]);
    former.push(far);
    former.push([place(0.9, 0.6), place(0.9, 0.9)].map(|[x, y]| [x, y, 30.0]));
    terrain.set_vector(RIVERS, former);
    let after = Features::new(crowd()).apply(terrain.clone(), &Ctx::silent()).unwrap();
    let kinds: Vec<String> = held(&after).into_iter().map(|mark| mark.kind).collect();
    assert_eq!(kinds, ["mountain", "plateau", "river"]);
    assert_eq!(held(&after)[1].points[0][2], 350.0);
    let summit = held(&after)[0].points[0][2];
    println!("held at {summit}");
    assert!((summit - 500.0).abs() < 5.0, "{summit}");
    let rivers = after.vector(RIVERS).unwrap();
    // The first former river lies apart from everything; the second runs over the volcano.
    let first: Vec<[f64; 3]> = rivers.vertices()[rivers.parts(0).next().unwrap()].to_vec();
    assert_eq!((rivers.len(), first), (2, far.to_vec()));
    // Without rivers of its own, a list drops the former rivers whose ground it moves and keeps the others.
    let hill = |x, y| Features::new(vec![Hill::new(place(x, y), 60.0, 10.0).into()]);
    let left = |hill: Features| {
        hill.apply(terrain.clone(), &Ctx::silent()).unwrap().vector(RIVERS).map(VectorLayer::len)
    };
    assert_eq!(left(hill(0.9, 0.7)), Some(1));
    assert_eq!(left(hill(0.5, 0.5)), Some(2));
}

fn message(text: &str) -> String {
    let table: toml::Table = toml::from_str(text).unwrap();
    match orogen_core::Operator::of::<Features>().parse(&table) {
        Ok(op) => format!("accepted: {op:?}"),
        Err(faults) => faults.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "),
    }
}

#[test]
fn bad_features_get_a_sentence_with_their_place() {
    let hill = "{ kind = \"hill\", at_m = [0, 0], radius_m = 10, height_m = 5 }";
    for (text, wanted) in [
        (
            format!("features = [{hill}, {{ kind = \"hill\", at_m = [0, 0], radius_m = 0, height_m = 5 }}]"),
            "features[1].radius_m: ",
        ),
        (
            String::from("features = [{ kind = \"hill\", at_m = [0, nan], radius_m = 1, height_m = 5 }]"),
            "features[0].at_m[1]: ",
        ),
        (
            String::from("features = [{ kind = \"hill\", at_m = [0, 0], radius_m = 1 }]"),
            "\"height_m\" is missing",
        ),
        (
            String::from("features = [{ kind = \"hil\", at_m = [0, 0], radius_m = 1 }]"),
            "did you mean \"hill\"?",
        ),
        (
            String::from("features = [{ kind = \"hill\", at_m = [0, 0], radius = 1, height_m = 1 }]"),
            "did you mean \"radius_m\"?",
        ),
        (String::from("features = [{ at_m = [0, 0] }]"), "\"kind\" is missing"),
        (
            String::from("features = [{ kind = \"river\", points = [{ x_m = 0, y_m = 0, z_m = 1 }] }]"),
            "features[0].points: ",
        ),
        (
            String::from(
                "features = [{ kind = \"river\", points = [{ x_m = 0, y_m = 0 }, { x_m = 9, y_m = 0 }] }]",
            ),
            "features[0].points: at least one point of a river needs",
        ),
        (
            String::from(
                "features = [{ kind = \"river\", points = [{ x_m = 0, y_m = 0, z_m = 5 }, { x_m = 9, y_m = 0, z_m = 6 }] }]",
            ),
            "features[0].points[1].z_m: 6.0 is above the 5.0 m of the point before",
        ),
        (
            String::from(
                "features = [{ kind = \"river\", points = [{ x_m = 0, y_m = 0, z_m = 5, depth_m = 4 }, { x_m = 9, y_m = 0, z_m = 4, depth_m = 2 }] }]",
            ),
            "features[0].points[1].depth_m: with 2.0 the bed would rise downstream; give 3.000 m or more",
        ),
        (
            format!("features = [{0}, {0}]", hill.replace("}", ", name = \"a\" }")),
            "features[1].name: features[0] is also named \"a\"",
        ),
    ] {
        let found = message(&text);
        assert!(found.contains(wanted), "{text} gives {found:?}, not {wanted:?}");
    }
    assert!(message(&format!("features = [{hill}]")).starts_with("accepted"));
}

#[test]
fn the_former_name_of_the_seed_still_works() {
    let op = orogen_core::Operator::of::<Features>();
    let height = |name: &str| {
        let text = format!(
            "{name} = \"0123\"\nfeatures = [{{ kind = \"hill\", at_m = [2000, 2000], radius_m = 900, height_m = 80 }}]"
        );
        let op = op.parse(&toml::from_str(&text).unwrap()).unwrap();
        let mut terrain = Terrain::new(Frame::square(SIZE_M, 65).unwrap());
        terrain.set(layer::HEIGHT, flat(65, 0.0));
        let made = op.apply(terrain, &Ctx::new(Seed(1))).unwrap();
        (made.get(layer::HEIGHT).unwrap().clone(), op.params().unwrap())
    };
    let former = "luck"; // formerly
    assert_eq!(height("seed"), height(former));
    let properties = op.schema()["properties"].clone();
    assert!(properties.get("seed").is_some() && properties.get(former).is_none());
    // Not both, and never anything longer than the schema allows.
    assert!(message(&format!("seed = \"a\"\n{former} = \"b\"")).contains("seed"));
    assert!(message(&format!("{former} = \"{}\"", "a".repeat(101))).starts_with(former));
}

#[test]
fn features_survive_being_written_down() {
    for feature in crowd() {
        let op = Features::new(vec![feature]);
        let text = toml::to_string(&op).unwrap();
        assert_eq!(toml::from_str::<Features>(&text).unwrap(), op, "{text}");
    }
}

#[test]
fn coincident_points_and_tiny_and_huge_sizes_are_handled() {
    let dot = vec![[2000.0, 2000.0]; 3];
    let river = dot.iter().map(|p| RiverPoint::new(*p, 60.0, 5.0).at_height(80.0)).collect();
    let height = land(vec![River { roughness: 0.0, ..River::new(river) }.into()], flat(201, 100.0));
    assert_close!(at(&height, 2000.0, 2000.0), 75.0, abs = 0.01);
    let height = land(vec![Ridge::new(&dot, 300.0, 50.0).into()], flat(201, 100.0));
    assert_close!(at(&height, 2000.0, 2000.0), 150.0, abs = 0.01);
    let features = vec![
        Mountain::new([2010.0, 2010.0], 1e-3, 100.0).into(),
        Hill::new(MIDDLE, 1e6, 50.0).into(),
        Plateau { edge: 0.001, ..Plateau::new([500.0, 500.0], 300.0, 20.0) }.into(),
        Hill::new([1e9, -1e9], 1e6, 50.0).into(),
        DuneField { spacing_m: 1e-3, ..DuneField::new(MIDDLE, 500.0, 5.0) }.into(),
        Ridge::new(&[[-1e9, 0.0], [1e9, 0.0]], 1e-3, 1.0).into(),
    ];
    let height = land(features, flat(101, 100.0));
    assert!(height.as_slice().iter().all(|h| h.is_finite()));
}

#[test]
fn a_hundred_thousand_features_are_laid() {
    let seed = Seed(5);
    let one = |i: u64| -> Feature {
        let at = [SIZE_M * seed.unit(2 * i), SIZE_M * seed.unit(2 * i + 1)];
        Hill::new(at, 30.0, 2.0).into()
    };
    let height = land((0..100_000).map(one).collect(), flat(257, 0.0));
    let (low, high) = height.range().unwrap();
    assert!(low >= 0.0 && high > 20.0, "{low} to {high}");
}

#[test]
fn a_second_step_keeps_the_water_of_the_first_when_asked() {
    let first = Lake { roughness: 0.0, ..Lake::new([1000.0, 1000.0], 300.0, 90.0) };
    let second = Lake { roughness: 0.0, ..Lake::new([3000.0, 3000.0], 300.0, 90.0) };
    let one = run(vec![first.into()], flat(201, 100.0));
    let again = |keep_water| {
        let op = Features { keep_water, ..Features::new(vec![second.clone().into()]) };
        let made = op.apply(one.clone(), &Ctx::new(Seed(3))).unwrap();
        let water = made.get(layer::WATER).unwrap();
        (at(water, 1000.0, 1000.0), at(water, 3000.0, 3000.0))
    };
    assert_eq!(again(true), (10.0, 10.0));
    assert_eq!(again(false), (0.0, 10.0));
}

#[test]
fn outlines_take_the_place_of_circles() {
    let ring = vec![[-1.0, -0.5], [1.0, -0.5], [1.0, 0.5], [0.0, 0.2], [-1.0, 0.5]];
    let hole = vec![[-0.8, -0.2], [-0.5, -0.2], [-0.5, 0.1], [-0.8, 0.1]];
    let outline = vec![ring, hole];
    let lake = Lake { outline: outline.clone(), ..Lake::new(MIDDLE, 1000.0, 90.0) };
    let terrain = run(vec![lake.clone().into()], hills(201, 150.0));
    let (height, water) = (terrain.get(layer::HEIGHT).unwrap(), terrain.get(layer::WATER).unwrap());
    // Inside, in the notch, and on the island.
    assert!(at(water, 2500.0, 2000.0) > 1.0);
    assert_eq!((at(water, 2000.0, 2400.0), at(water, 1360.0, 1940.0)), (0.0, 0.0));
    for (h, w) in height.as_slice().iter().zip(water.as_slice()) {
        assert!(*w == 0.0 || (h + w - 90.0).abs() < 1e-3, "{h} and {w}");
    }
    let massif =
        Massif { edge_m: 200.0, roughness: 0.0, ..Massif::new(MIDDLE, 1000.0, 500.0, outline.clone()) };
    let made = land(vec![massif.clone().into()], flat(201, 100.0));
    assert_close!(at(&made, 2500.0, 1860.0), 600.0, abs = 1.0);
    // A tenth of its height on the outline, nothing beyond its foot.
    assert_close!(at(&made, 2400.0, 1500.0), 100.0 + 500.0 * 0.104, abs = 2.0);
    assert_eq!(at(&made, 2400.0, 1440.0), 100.0);
    let plateau = Plateau { edge: 0.1, outline, ..Plateau::new(MIDDLE, 1000.0, 300.0) };
    let made = land(vec![plateau.clone().into()], flat(201, 100.0));
    assert_eq!((at(&made, 2500.0, 2000.0), at(&made, 2000.0, 2400.0)), (300.0, 100.0));
    // In windows too, rough and turned away from the axes.
    let ring = |by: f64| vec![[-1.0 + by, -0.6], [0.9, -0.8 - by], [1.1, 0.5], [0.1, 0.1 + by], [-0.7, 0.9]];
    let small = vec![ring(0.07)];
    test_support::assert_windows(&Features::new(vec![
        Massif { outline: small.clone(), ..Massif::new(place(0.4, 0.5), 400.0, 300.0, Vec::new()) }.into(),
        Lake { outline: small.clone(), ..Lake::new(place(0.6, 0.4), 200.0, 90.0) }.into(),
        Plateau { outline: small, ..Plateau::new(place(0.3, 0.7), 200.0, 90.0) }.into(),
    ]));
    let line = Lake { outline: vec![vec![[0.0, 0.0], [1.0, 1.0]]], ..Lake::new(MIDDLE, 10.0, 9.0) };
    let faults = Features::new(vec![line.into()]).faults();
    assert_eq!(faults[0].to_string(), "features[0].outline[0]: an outline needs at least 3 corners, found 2");
}

#[test]
fn an_edit_changes_nothing_outside_its_footprint() {
    let all = Features::new(crowd());
    for i in 0..crowd().len() {
        let mut fewer = crowd();
        fewer.remove(i);
        let fewer = Features::new(fewer);
        // Footprints tell of edits that touch the same layers, not of the last lake or river that goes.
        if Op::layers(&fewer) == Op::layers(&all) {
            test_support::assert_footprint(&all, &fewer, 1.1);
        }
    }
    let hill = |x: f64| Features::new(vec![Hill::new(place(x, 0.5), 100.0, 60.0).into(), crowd()[0].clone()]);
    test_support::assert_footprint(&hill(0.4), &hill(0.5), 0.2);
}
