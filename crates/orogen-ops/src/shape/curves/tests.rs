use super::solve::{System, jacobi, solve};
use super::*;
use crate::held_lines::held;
use crate::test_support::{self, place, whole};
use orogen_core::Operator;
use orogen_core::testkit::{assert_close, hills};

const SIDE_M: f64 = 2000.0;

fn point(x_m: f64, y_m: f64) -> ControlPoint {
    ControlPoint { x_m, y_m, ..ControlPoint::default() }
}

fn high(x_m: f64, y_m: f64, z_m: f64) -> ControlPoint {
    ControlPoint { z_m: Some(z_m), ..point(x_m, y_m) }
}

/// A point with a plateau, slopes and envelopes.
fn full(x_m: f64, y_m: f64, z_m: f64) -> ControlPoint {
    ControlPoint {
        plateau_m: Some(80.0),
        slope_left_m: Some(160.0),
        slope_left_deg: Some(30.0),
        slope_right_m: Some(200.0),
        slope_right_deg: Some(-20.0),
        envelope_left_m: Some(250.0),
        envelope_right_m: Some(200.0),
        ..high(x_m, y_m, z_m)
    }
}

fn curve(points: Vec<ControlPoint>) -> Curve {
    Curve { points, ..Curve::default() }
}

fn with(curves: Vec<Curve>) -> Curves {
    Curves { curves, ..Curves::default() }
}

fn on(height: &Raster<f32>) -> Terrain {
    let mut terrain = Terrain::new(Frame::square(SIDE_M, height.cols()).unwrap());
    terrain.set(layer::HEIGHT, height.clone());
    terrain
}

fn shape(op: &Curves, height: &Raster<f32>) -> Raster<f32> {
    op.apply(on(height), &Ctx::silent()).unwrap().get(layer::HEIGHT).unwrap().clone()
}

fn both() -> [Mode; 2] {
    [Mode::Relative, Mode::Bounded]
}

/// Each cell with its place.
fn places(raster: &Raster<f32>) -> impl Iterator<Item = (usize, usize, [f64; 2])> {
    let frame = Frame::square(SIDE_M, raster.cols()).unwrap();
    let (cols, rows) = (raster.cols(), raster.rows());
    (0..cols * rows).map(move |i| (i % cols, i / cols, [frame.x_m(i % cols), frame.y_m(i / cols)]))
}

/// Slope to the east and north, where all four neighbours are there.
fn slope(height: &Raster<f32>, col: usize, row: usize) -> [f64; 2] {
    let cell = SIDE_M / (height.cols() - 1) as f64;
    let at = |c: usize, r: usize| f64::from(height.row(r)[c]);
    [
        (at(col + 1, row) - at(col - 1, row)) / (2.0 * cell),
        (at(col, row - 1) - at(col, row + 1)) / (2.0 * cell),
    ]
}

// What the land does.

#[test]
fn a_held_plateau_lies_at_its_elevation() {
    let land = hills(201, 120.0);
    for mode in both() {
        // A straight curve that climbs, askew to the grid.
        let (from, to) = ([400.0, 500.0], [1500.0, 1300.0]);
        let op = Curves {
            mode,
            ..with(vec![curve(vec![full(from[0], from[1], 200.0), full(to[0], to[1], 420.0)])])
        };
        let after = shape(&op, &land);
        let (ux, uy) = (to[0] - from[0], to[1] - from[1]);
        let mut seen = 0;
        for (col, row, [x, y]) in places(&after) {
            let t = ((x - from[0]) * ux + (y - from[1]) * uy) / (ux * ux + uy * uy);
            let d = math::hypot(x - from[0] - t * ux, y - from[1] - t * uy);
            if (0.0..=1.0).contains(&t) && d <= 39.9 {
                assert_close!(after.row(row)[col], 200.0 + 220.0 * t, abs = 0.01);
                seen += 1;
            }
        }
        assert!(seen > 900, "{seen}");
    }
}

#[test]
fn a_line_without_a_plateau_is_met_between_the_samples() {
    let land = Raster::filled(201, 201, 0.0);
    let op = with(vec![curve(vec![high(400.0, 503.7, 150.0), high(1600.0, 1296.1, 150.0)])]);
    let after = shape(&op, &land);
    let frame = Frame::square(SIDE_M, 201).unwrap();
    for i in 10..90 {
        let t = f64::from(i) / 100.0;
        let [col, row] = frame.locate(400.0 + 1200.0 * t, 503.7 + 792.4 * t);
        // The crest is sharp, so that what lies a part of a cell beside it is a little lower.
        let crest = f64::from(after.bilinear(col, row));
        assert!((140.0..=150.001).contains(&crest), "{crest}");
    }
}

/// A straight ridge of 160 m on level land, at an angle to the rows, with its ends and direction.
fn turned_ridge(deg: f64, [left, right]: [f64; 2]) -> (Raster<f32>, [f64; 2], [f64; 2]) {
    let (c, s) = (math::cos(deg.to_radians()), math::sin(deg.to_radians()));
    let end = |by: f64| ControlPoint {
        plateau_m: Some(20.0),
        slope_left_m: Some(150.0),
        slope_right_m: Some(150.0),
        slope_left_deg: Some(left),
        slope_right_deg: Some(right),
        ..high(1000.0 + by * c, 1000.0 + by * s, 260.0)
    };
    let op = with(vec![curve(vec![end(-400.0), end(400.0)])]);
    (shape(&op, &Raster::filled(401, 401, 100.0)), [1000.0 - 400.0 * c, 1000.0 - 400.0 * s], [c, s])
}

#[test]
fn the_foot_of_a_slope_has_no_steps_at_any_angle_to_the_lattice() {
    // Steep enough to end 50 m below the land, which rises from the foot at once.
    let sides = [54.0, 54.0];
    // Along the rows the foot lies on samples: heights by distance, every 5 m.
    let (level, ..) = turned_ridge(0.0, sides);
    let by_distance: Vec<f64> = (0..80).map(|k| f64::from(level.row(200 - k)[200])).collect();
    for deg in [15.0, 30.0, 45.0, 72.0] {
        let (after, from, [c, s]) = turned_ridge(deg, sides);
        let mut worst = 0.0f64;
        for (col, row, [x, y]) in places(&after) {
            let (u, v) = ((x - from[0]) * c + (y - from[1]) * s, (y - from[1]) * c - (x - from[0]) * s);
            // Round the foot, away from the ends.
            if (300.0..500.0).contains(&u) && (130.0..190.0).contains(&v.abs()) {
                let k = v.abs() / 5.0;
                let (a, b) = (by_distance[k as usize], by_distance[k as usize + 1]);
                let wanted = a + (b - a) * k.fract();
                worst = worst.max((f64::from(after.row(row)[col]) - wanted).abs());
            }
        }
        println!("{deg} degrees: {worst:.3} m off");
        assert!(worst < 0.05, "{deg} degrees: steps of {worst} m along the foot");
    }
}

#[test]
fn slopes_run_round_the_end_of_a_curve_without_a_wedge() {
    let frame = Frame::square(SIDE_M, 401).unwrap();
    for sides in [[30.0, 30.0], [38.0, 20.0], [25.0, -10.0]] {
        for deg in [0.0, 30.0] {
            let (after, from, [c, s]) = turned_ridge(deg, sides);
            let grade = sides.map(|side: f64| math::tan(side.to_radians()));
            for turn in -9..=9 {
                // From the right side round the first end to the left, half way down the slope.
                let turn = f64::from(turn) * 10.0;
                let (u, v) = (-math::cos(turn.to_radians()), math::sin(turn.to_radians()));
                let left = 0.5 + 0.5 * v;
                let asked = grade[1] + (grade[0] - grade[1]) * left;
                for far in [50.0, 100.0, 140.0] {
                    let [col, row] =
                        frame.locate(from[0] + far * (u * c - v * s), from[1] + far * (u * s + v * c));
                    let (found, wanted) = (f64::from(after.bilinear(col, row)), 260.0 - asked * (far - 10.0));
                    assert!(
                        (found - wanted).abs() < 1.0,
                        "{sides:?} at {deg} degrees: {found} in place of {wanted}, {far} m from the end, {turn} round it"
                    );
                }
            }
        }
    }
}

#[test]
fn straight_slopes_have_their_angle() {
    let land = hills(201, 120.0);
    for mode in both() {
        let (from, to) = ([300.0, 700.0], [1700.0, 1250.0]);
        let op = Curves {
            mode,
            ..with(vec![curve(vec![full(from[0], from[1], 380.0), full(to[0], to[1], 380.0)])])
        };
        let after = shape(&op, &land);
        let length = math::hypot(to[0] - from[0], to[1] - from[1]);
        let (ux, uy) = ((to[0] - from[0]) / length, (to[1] - from[1]) / length);
        let mut seen = [0, 0];
        for (col, row, [x, y]) in places(&after) {
            let s = (x - from[0]) * ux + (y - from[1]) * uy;
            let d = (y - from[1]) * ux - (x - from[0]) * uy;
            let (angle, long) = if d > 0.0 { (30.0, 160.0) } else { (-20.0, 200.0) };
            if s < 100.0 || s > length - 100.0 || d.abs() < 55.0 || d.abs() > 40.0 + long - 15.0 {
                continue;
            }
            let [gx, gy] = slope(&after, col, row);
            let falls = -(gy * ux - gx * uy) * d.signum();
            assert_close!(math::atan(falls).to_degrees(), angle, abs = 1.0);
            seen[usize::from(d > 0.0)] += 1;
        }
        assert!(seen[0] > 1000 && seen[1] > 1000, "{seen:?}");
    }
}

#[test]
fn slopes_round_a_ring_and_beside_a_winding_crest_have_their_angle() {
    // A ring with twelve points, as near a circle as a spline comes.
    let land = hills(257, 100.0);
    let ring = (0..12)
        .map(|i| {
            let angle = std::f64::consts::TAU * f64::from(i) / 12.0;
            ControlPoint {
                slope_left_deg: Some(-15.0),
                slope_right_deg: Some(35.0),
                ..full(1000.0 + 500.0 * math::cos(angle), 1000.0 + 500.0 * math::sin(angle), 300.0)
            }
        })
        .collect();
    let op = with(vec![Curve { closed: true, ..curve(ring) }]);
    let after = shape(&op, &land);
    let mut seen = 0;
    for (col, row, [x, y]) in places(&after) {
        let (x, y) = (x - 1000.0, y - 1000.0);
        let r = math::hypot(x, y);
        let d = r - 500.0;
        // Counter-clockwise: the left lies inside.
        let (angle, long) = if d < 0.0 { (-15.0, 160.0) } else { (35.0, 200.0) };
        if d.abs() < 55.0 || d.abs() > 40.0 + long - 15.0 {
            continue;
        }
        let [gx, gy] = slope(&after, col, row);
        let falls = -(gx * x + gy * y) / r * d.signum();
        assert_close!(math::atan(falls).to_degrees(), angle, abs = 1.0);
        seen += 1;
    }
    assert!(seen > 5000, "{seen}");

    // A straight crest that rises and falls.
    let crest = vec![
        ControlPoint { slope_right_deg: Some(30.0), ..full(200.0, 1000.0, 250.0) },
        high(800.0, 1000.0, 420.0),
        high(1300.0, 1000.0, 330.0),
        high(1800.0, 1000.0, 380.0),
    ];
    let after = shape(&with(vec![curve(crest)]), &land);
    for (col, row, [x, y]) in places(&after) {
        let d = (y - 1000.0).abs();
        if (250.0..1750.0).contains(&x) && d > 55.0 && d < 185.0 {
            let falls = -slope(&after, col, row)[1] * (y - 1000.0).signum();
            assert_close!(math::atan(falls).to_degrees(), 30.0, abs = 1.0);
        }
    }
}

#[test]
fn land_outside_every_envelope_keeps_its_bits() {
    // Values with a negative zero, which adding nothing would change.
    let land = Raster::from_fn(151, 151, |c, r| if (c + r) % 5 == 0 { -0.0 } else { (c * 7 % 31) as f32 });
    for mode in both() {
        for blend in [0.0, 1.0] {
            let mut op = Curves { mode, blend, ..with(vec![curve(vec![full(600.0, 900.0, 90.0)])]) };
            op.curves[0].points.push(ControlPoint { noise_m: Some(30.0), ..full(1400.0, 900.0, 90.0) });
            let after = shape(&op, &land);
            let mut changed = 0;
            for (col, row, [x, y]) in places(&after) {
                let d = math::hypot(x - x.clamp(600.0, 1400.0), y - 900.0);
                let reach = 40.0 + if y >= 900.0 { 160.0 + 250.0 } else { 200.0 + 200.0 };
                let (old, new) = (land.row(row)[col], after.row(row)[col]);
                assert!(old.to_bits() == new.to_bits() || d < reach + 10.0, "at {x}, {y}");
                changed += usize::from(old.to_bits() != new.to_bits());
            }
            assert!(changed > 3000, "{changed}");
        }
    }
}

#[test]
fn the_order_of_curves_does_not_matter_to_a_bit() {
    let land = hills(129, 100.0);
    let curves = vec![
        curve(vec![full(300.0, 300.0, 200.0), full(1600.0, 1500.0, 300.0)]),
        curve(vec![full(300.0, 1500.0, 100.0), full(1000.0, 900.0, 250.0), full(1700.0, 500.0, 150.0)]),
        curve(vec![high(900.0, 100.0, 20.0), point(1000.0, 1000.0), high(900.0, 1900.0, 40.0)]),
    ];
    let first = shape(&with(curves.clone()), &land);
    for order in [[0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
        assert_eq!(shape(&with(order.map(|i| curves[i].clone()).to_vec()), &land), first);
    }
}

#[test]
fn mirrored_drawings_give_mirrored_land() {
    let land = hills(160, 100.0);
    let mirror = |height: &Raster<f32>| {
        Raster::from_fn(height.cols(), height.rows(), |c, r| height.row(r)[height.cols() - 1 - c])
    };
    let points = vec![full(300.0, 400.0, 200.0), full(900.0, 1200.0, 330.0), full(1600.0, 1000.0, 260.0)];
    let mirrored = points
        .iter()
        .map(|p| ControlPoint {
            x_m: SIDE_M - p.x_m,
            slope_left_m: p.slope_right_m,
            slope_left_deg: p.slope_right_deg,
            envelope_left_m: p.envelope_right_m,
            slope_right_m: p.slope_left_m,
            slope_right_deg: p.slope_left_deg,
            envelope_right_m: p.envelope_left_m,
            ..p.clone()
        })
        .collect();
    let tolerance = 1e-5;
    let one = shape(&Curves { tolerance, ..with(vec![curve(points)]) }, &land);
    let two = mirror(&shape(&Curves { tolerance, ..with(vec![curve(mirrored)]) }, &mirror(&land)));
    for (a, b) in one.as_slice().iter().zip(two.as_slice()) {
        assert_close!(*a, *b, abs = 4.0 * 1e-5 * 400.0);
    }
}

#[test]
fn a_free_curve_rises_by_its_slopes_and_keeps_to_the_land_along_it() {
    let side = |p: ControlPoint| ControlPoint {
        slope_left_m: Some(200.0),
        slope_right_m: Some(200.0),
        slope_left_deg: Some(20.0),
        slope_right_deg: Some(20.0),
        ..p
    };
    let land = Raster::from_fn(201, 201, |c, _| c as f32);
    let op = with(vec![curve(vec![side(point(300.0, 1000.0)), side(point(1700.0, 1000.0))])]);
    let after = shape(&op, &land);
    let rise = 200.0 * math::tan(20f64.to_radians());
    for col in [80, 100, 120] {
        assert_close!(after.row(100)[col] - col as f32, rise, rel = 0.1);
    }
}

#[test]
fn a_relative_change_keeps_the_relief_and_a_bounded_one_smooths_it() {
    let land = Raster::from_fn(201, 201, |c, r| if (c / 4 + r / 4) % 2 == 0 { 10.0 } else { 0.0 });
    let bumps = |height: &Raster<f32>| {
        // Far enough from the line, and from the edge.
        (60..140)
            .map(|col| height.row(78)[col])
            .fold((f32::INFINITY, f32::NEG_INFINITY), |(a, b), v| (a.min(v), b.max(v)))
    };
    let line = vec![curve(vec![
        ControlPoint { envelope_left_m: Some(500.0), ..high(200.0, 1000.0, 5.0) },
        high(1800.0, 1000.0, 5.0),
    ])];
    let (low, high) = bumps(&shape(&with(line.clone()), &land));
    assert_close!(high - low, 10.0, abs = 0.5);
    let bounded = Curves { mode: Mode::Bounded, blend: 0.3, ..with(line) };
    let (low, high) = bumps(&shape(&bounded, &land));
    assert!(high - low < 0.5, "{low} to {high}");
}

#[test]
fn away_from_what_is_held_there_is_no_new_peak_or_pit() {
    let land = Raster::filled(161, 161, 0.0);
    for blend in [0.0, 1.0] {
        let op = Curves {
            blend,
            ..with(vec![
                curve(vec![high(500.0, 600.0, 100.0), high(1500.0, 900.0, 140.0)]),
                curve(vec![high(600.0, 1300.0, -80.0), high(1300.0, 1100.0, -30.0)]),
            ])
        };
        let tolerance = (op.tolerance * 220.0) as f32;
        let lines = op.lines();
        let after = shape(&op, &land);
        for (col, row, at) in places(&after) {
            let beside = lines.iter().any(|line| {
                line.samples.windows(2).any(|bit| {
                    let (a, b) = (bit[0].at, bit[1].at);
                    let (ux, uy) = (b[0] - a[0], b[1] - a[1]);
                    let t =
                        (((at[0] - a[0]) * ux + (at[1] - a[1]) * uy) / (ux * ux + uy * uy)).clamp(0.0, 1.0);
                    math::hypot(at[0] - a[0] - t * ux, at[1] - a[1] - t * uy) < 2.0 * 12.5
                })
            });
            let here = after.row(row)[col];
            assert!((-80.01..=140.01).contains(&here));
            if beside || here.abs() < 3.0 * tolerance || !(1..160).contains(&col) || !(1..160).contains(&row)
            {
                continue;
            }
            let round = [
                after.row(row)[col - 1],
                after.row(row)[col + 1],
                after.row(row - 1)[col],
                after.row(row + 1)[col],
            ];
            let (low, high) =
                round.iter().fold((f32::INFINITY, f32::NEG_INFINITY), |(a, b), v| (a.min(*v), b.max(*v)));
            // With a pull to the land the change may only be nearer to it than its neighbours are.
            let allowed = if blend > 0.0 { (low.min(0.0), high.max(0.0)) } else { (low, high) };
            assert!(
                here >= allowed.0 - tolerance && here <= allowed.1 + tolerance,
                "{here} among {round:?} at {col}, {row}"
            );
        }
    }
}

#[test]
fn noise_stays_off_what_is_held_and_within_its_amplitude() {
    let land = Raster::filled(201, 201, 0.0);
    let rough = |noise_m: f64| {
        let p =
            |x: f64| ControlPoint { noise_m: Some(noise_m), roughness: Some(0.8), ..full(x, 1000.0, 200.0) };
        shape(&with(vec![curve(vec![p(400.0), p(1600.0)])]), &land)
    };
    let (calm, wild) = (rough(0.0), rough(25.0));
    let mut most = 0.0f32;
    for (col, row, [x, y]) in places(&calm) {
        let differ = (calm.row(row)[col] - wild.row(row)[col]).abs();
        most = most.max(differ);
        assert!(differ <= 25.0);
        if (400.0..=1600.0).contains(&x) && (y - 1000.0).abs() <= 40.0 {
            assert_eq!(differ, 0.0);
        }
    }
    assert!(most > 8.0, "{most}");
}

#[test]
fn marks_of_held_curves_travel_with_the_terrain() {
    let mut op = with(vec![
        curve(vec![full(300.0, 300.0, 200.0), full(1600.0, 1500.0, 300.0), point(1900.0, 1900.0)]),
        curve(vec![full(300.0, 1500.0, 100.0), full(1000.0, 900.0, 250.0)]),
    ]);
    assert!(op.layers().writes_vectors.is_empty());
    op.curves[0].hold = true;
    assert_eq!(op.layers().writes_vectors, [HOLD.into()]);
    let after = op.apply(on(&hills(65, 50.0)), &Ctx::silent()).unwrap();
    let marks = held(&after);
    assert_eq!(marks.len(), 1);
    assert_eq!((marks[0].kind.as_str(), marks[0].radius_m), ("curve", 40.0));
    let (first, last) = (marks[0].points[0], marks[0].points[marks[0].points.len() - 1]);
    assert_eq!((first, last), ([300.0, 300.0, 200.0], [1600.0, 1500.0, 300.0]));
}

#[test]
fn two_resolutions_agree() {
    let op = |mode| Curves {
        mode,
        ..with(vec![
            curve(vec![full(300.0, 300.0, 300.0), full(800.0, 1200.0, 420.0), full(1700.0, 1500.0, 330.0)]),
            curve(vec![high(200.0, 1700.0, 20.0), high(900.0, 1500.0, 60.0), point(1500.0, 1900.0)]),
        ])
    };
    for mode in both() {
        let (coarse, fine) = (shape(&op(mode), &hills(129, 100.0)), shape(&op(mode), &hills(257, 100.0)));
        let squares: f64 = places(&coarse)
            .map(|(c, r, _)| f64::from(coarse.row(r)[c] - fine.row(2 * r)[2 * c]))
            .map(|d| d * d)
            .sum();
        let rmse = (squares / coarse.as_slice().len() as f64).sqrt();
        assert!(rmse < 0.01 * 420.0, "{mode:?}: {rmse} m");
    }
}

#[test]
fn a_tighter_tolerance_changes_no_more_than_the_looser_one_allows() {
    let op = |tolerance| Curves {
        tolerance,
        ..with(vec![curve(vec![
            full(300.0, 300.0, 300.0),
            point(800.0, 1200.0),
            full(1700.0, 1500.0, 330.0),
        ])])
    };
    let land = hills(257, 100.0);
    let exact = shape(&op(1e-6), &land);
    for tolerance in [1e-4, 1e-3, 1e-2] {
        let rough = shape(&op(tolerance), &land);
        let differ = exact.as_slice().iter().zip(rough.as_slice()).map(|(a, b)| (a - b).abs());
        let most = differ.fold(0.0, f32::max);
        assert!(f64::from(most) <= tolerance * 400.0, "{tolerance}: {most}");
    }
}

// Windows, threads, and strange input.

fn anywhere(x: f64, y: f64, z: f64) -> ControlPoint {
    let [x, y] = place(x, y);
    ControlPoint {
        plateau_m: Some(30.0),
        slope_left_m: Some(60.0),
        slope_right_m: Some(40.0),
        envelope_left_m: Some(70.0),
        envelope_right_m: Some(90.0),
        noise_m: Some(12.0),
        ..high(x, y, z)
    }
}

fn several() -> Vec<Curve> {
    vec![
        curve(vec![anywhere(0.2, 0.3, 500.0), anywhere(0.3, 0.4, 600.0), anywhere(0.25, 0.5, 400.0)]),
        // Over the edge of the map.
        curve(vec![anywhere(0.8, 0.9, 100.0), anywhere(1.2, 1.3, 300.0)]),
        Curve {
            closed: true,
            hold: true,
            ..curve(vec![anywhere(0.6, 0.2, 0.0), anywhere(0.75, 0.25, 20.0), anywhere(0.68, 0.4, -30.0)])
        },
        curve(vec![ControlPoint { z_m: None, ..anywhere(0.15, 0.8, 0.0) }, anywhere(0.4, 0.85, 300.0)]),
    ]
}

#[test]
fn windows_equal_the_whole() {
    for mode in both() {
        let all = Curves { mode, ..with(several()) };
        test_support::assert_windows(&all);
        assert_ne!(whole(&all), whole(&Curves { mode, ..with(several()[..3].to_vec()) }));
        for one in several() {
            test_support::assert_windows(&Curves { mode, ..with(vec![one]) });
        }
    }
}

#[test]
fn curves_far_apart_do_not_widen_the_reach() {
    let frame = Frame::square(SIDE_M, 201).unwrap();
    let near = vec![curve(vec![full(300.0, 300.0, 1.0), full(600.0, 300.0, 1.0)])];
    let Reach::Within(alone) = with(near.clone()).reach(&frame) else { panic!("reaches nowhere") };
    assert_close!(alone, 300.0 + 2.0 * (40.0 + 160.0 + 250.0) + 40.0, abs = 1e-6);
    let mut far = near;
    far.push(curve(vec![full(90_000.0, 300.0, 1.0), full(90_100.0, 300.0, 1.0)]));
    assert_eq!(with(far).reach(&frame), Reach::Within(alone));
}

#[test]
fn one_thread_and_three_give_the_same_bits() {
    let run = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| whole(&with(several())))
    };
    assert_eq!(format!("{:?}", run(1)), format!("{:?}", run(3)));
}

#[test]
fn strange_curves_are_refused_in_a_sentence_or_work() {
    let parse = |text: &str| {
        let table: toml::Table = toml::from_str(text).unwrap();
        match Operator::of::<Curves>().parse(&table) {
            Ok(_) => String::new(),
            Err(faults) => faults[0].to_string(),
        }
    };
    for (text, said) in [
        ("curves = [{ points = [{ x_m = 1, y_m = 2 }] }]", "curves[0].points: "),
        (
            "curves = [{ points = [{ x_m = 1, y_m = 2 }, { x_m = 5, y_m = 2 }, { x_m = 5, y_m = 2 }] }]",
            "curves[0].points[1]: is less than 1 mm away from point 2",
        ),
        (
            "curves = [{ points = [{ x_m = 1, y_m = 2 }, { x_m = 1, y_m = 2 }] }]",
            "curves[0].points[0]: is less than 1 mm",
        ),
        (
            "curves = [{ closed = true, points = [{ x_m = 1, y_m = 2 }, { x_m = 1, y_m = 3 }] }]",
            "curves[0]: a closed curve needs at least 3 points, found 2",
        ),
        (
            "curves = [{ closed = true, points = [{ x_m = 1, y_m = 2 }, { x_m = 1, y_m = 3 }, { x_m = 1, y_m = 2 }] }]",
            "curves[0].points[2]: repeats the first point",
        ),
        (
            "curves = [{ points = [{ x_m = nan, y_m = 2 }, { x_m = 1, y_m = 3 }] }]",
            "curves[0].points[0].x_m: ",
        ),
        ("curves = [{ points = [{ x_m = 0, y_m = 2, z = 3 }, { x_m = 1, y_m = 3 }] }]", "no such parameter"),
        ("curves = [{ points = [{ x_m = 0, y_m = 2 }, { x_m = 1, y_m = 3 }] }]", ""),
    ] {
        let found = parse(text);
        assert!(found.contains(said) && found.is_empty() == said.is_empty(), "{text}: {found:?}");
    }
    let many = |n: usize| curve((0..n).map(|i| high(i as f64, (i % 7) as f64, 1.0)).collect());
    let message =
        with(vec![many(1_000_000)]).apply(on(&hills(9, 1.0)), &Ctx::silent()).unwrap_err().to_string();
    assert!(message.contains("2 to 10000"), "{message}");
    let message = with(vec![many(9000); 30]).faults()[0].to_string();
    assert!(message.contains("points in all curves, found 270000"), "{message}");
    // There and back again, a curve that crosses itself, one off the map, and one that reaches nowhere.
    let land = hills(65, 50.0);
    for points in [
        vec![full(500.0, 500.0, 90.0), full(1500.0, 500.0, 90.0), full(500.0, 500.0, 90.0)],
        vec![
            full(500.0, 500.0, 9.0),
            full(1500.0, 1500.0, 9.0),
            full(1500.0, 500.0, 99.0),
            full(500.0, 1500.0, 9.0),
        ],
        vec![full(-9e8, 500.0, 90.0), full(-8e8, 500.0, 90.0)],
        vec![
            ControlPoint {
                envelope_left_m: Some(0.0),
                envelope_right_m: Some(0.0),
                ..high(500.0, 500.0, 90.0)
            },
            high(900.0, 500.0, 90.0),
        ],
    ] {
        for closed in [false, true] {
            let op = with(vec![Curve { closed, points: points.clone(), ..Curve::default() }]);
            if op.faults().is_empty() {
                let after = shape(&op, &land);
                assert!(after.as_slice().iter().all(|h| h.is_finite() && h.abs() < 1000.0));
            }
        }
    }
}

#[test]
fn nothing_drawn_changes_nothing() {
    let land = hills(33, 50.0);
    assert_eq!(shape(&Curves::default(), &land), land);
    assert_eq!(Curves::default().reach(&Frame::square(1.0, 2).unwrap()), Reach::Point);
}

// The curve.

#[test]
fn a_curve_passes_through_its_points_and_ends_quadratically() {
    let points =
        vec![high(0.0, 0.0, 1.0), high(100.0, 50.0, 9.0), high(130.0, 200.0, 4.0), high(300.0, 220.0, 7.0)];
    let line = Line::new(&curve(points.clone()));
    for p in &points {
        let hit = line.samples.iter().any(|s| {
            math::hypot(s.at[0] - p.x_m, s.at[1] - p.y_m) < 1e-9
                && (s.values.z - p.z_m.unwrap_or_default()).abs() < 1e-9
        });
        assert!(hit, "{p:?}");
    }
    // Three points lie on one parabola, which both quadratic ends follow.
    let three = Line::new(&curve(points[..3].to_vec()));
    let (h0, h1) = (math::hypot(100.0, 50.0).sqrt(), math::hypot(30.0, 150.0).sqrt());
    let middle = |s: &[f64; 2]| -> f64 {
        // Where the parabola x(u) through (0, 0), (h0, 100), (h0 + h1, 130) is at the y of a sample.
        let parabola = |v: [f64; 3], u: f64| {
            let d = (v[1] - v[0]) / h0;
            let e = ((v[2] - v[1]) / h1 - d) / (h0 + h1);
            v[0] + d * u + e * u * (u - h0)
        };
        (0..=20_000)
            .map(|i| (h0 + h1) * f64::from(i) / 20_000.0)
            .map(|u| {
                math::hypot(parabola([0.0, 100.0, 130.0], u) - s[0], parabola([0.0, 50.0, 200.0], u) - s[1])
            })
            .fold(f64::INFINITY, f64::min)
    };
    for sample in &three.samples {
        assert!(middle(&sample.at) < 0.02, "{:?}", sample.at);
    }
    // Two make a straight line.
    let two = Line::new(&curve(points[..2].to_vec()));
    for sample in &two.samples {
        assert_close!(sample.at[1], sample.at[0] / 2.0, abs = 1e-9);
    }
}

#[test]
fn what_a_point_leaves_out_is_taken_from_those_that_state_it() {
    let mut points: Vec<_> = (0..5).map(|i| high(100.0 * f64::from(i), 0.0, 0.0)).collect();
    points[1].plateau_m = Some(20.0);
    points[3].plateau_m = Some(60.0);
    let line = Line::new(&curve(points));
    for sample in &line.samples {
        let expected = 0.5 * (20.0 + 40.0 * ((sample.at[0] - 100.0) / 200.0).clamp(0.0, 1.0));
        assert_close!(sample.values.plateau, expected, abs = 1e-6);
    }
}

// The solver.

/// Random conductances over three powers of ten, random holes, and a few fixed values.
fn random(cols: usize, rows: usize, seed: Seed, fixed_share: f64) -> System {
    let mut stream = seed.stream();
    let mut system = System::empty(cols, rows);
    let alive: Vec<bool> = (0..cols * rows).map(|_| stream.unit() > 0.15).collect();
    for row in 0..rows {
        for col in 0..cols {
            if !alive[row * cols + col] {
                continue;
            }
            let i = system.at(col, row);
            let mut link = || math::pow(10.0, 3.0 * stream.unit()) as f32;
            if col + 1 < cols && alive[row * cols + col + 1] {
                system.east[i] = link();
            }
            if row + 1 < rows && alive[(row + 1) * cols + col] {
                system.south[i] = link();
            }
            if stream.unit() < fixed_share || (col, row) == (0, 0) {
                let strength = math::pow(10.0, 2.0 * stream.unit() - 1.0) as f32;
                system.slack[i] += strength;
                system.right[i] += strength * (200.0 * stream.unit() - 100.0) as f32;
            }
        }
    }
    system
}

/// The diagonal of a cell.
fn center(system: &System, i: usize) -> f64 {
    let stride = system.cols + 2;
    if i <= stride || i + stride >= system.slack.len() {
        return 0.0;
    }
    let all =
        [system.slack[i], system.east[i], system.east[i - 1], system.south[i], system.south[i - stride]];
    all.into_iter().map(f64::from).sum()
}

/// By elimination, in double precision.
fn directly(system: &System) -> Vec<f64> {
    let cells: Vec<usize> = (0..system.slack.len()).filter(|&i| center(system, i) > 0.0).collect();
    let n = cells.len();
    let stride = system.cols + 2;
    let mut rows: Vec<Vec<f64>> = cells
        .iter()
        .map(|&i| {
            let mut row = vec![0.0; n + 1];
            let couplings = [
                (i + 1, f64::from(system.east[i])),
                (i - 1, f64::from(system.east[i - 1])),
                (i + stride, f64::from(system.south[i])),
                (i - stride, f64::from(system.south[i - stride])),
                (i, -center(system, i)),
            ];
            for (j, coupling) in couplings {
                if let Ok(at) = cells.binary_search(&j) {
                    row[at] -= coupling;
                }
            }
            row[n] = f64::from(system.right[i]);
            row
        })
        .collect();
    for k in 0..n {
        let pivot = (k..n).max_by(|a, b| rows[*a][k].abs().total_cmp(&rows[*b][k].abs())).unwrap();
        rows.swap(k, pivot);
        let top = rows[k].clone();
        for row in rows.iter_mut().skip(k + 1) {
            let times = row[k] / top[k];
            if times != 0.0 {
                for (value, top) in row.iter_mut().zip(&top).skip(k) {
                    *value -= times * top;
                }
            }
        }
    }
    let mut x = vec![0.0; n];
    for k in (0..n).rev() {
        let sum: f64 = (k + 1..n).map(|j| rows[k][j] * x[j]).sum();
        x[k] = (rows[k][n] - sum) / rows[k][k];
    }
    let mut all = vec![0.0; system.slack.len()];
    for (value, i) in x.into_iter().zip(cells) {
        all[i] = value;
    }
    all
}

#[test]
fn the_solver_agrees_with_elimination() {
    for (trial, (cols, rows)) in
        [(17, 13), (16, 16), (40, 5), (3, 60), (1, 90), (120, 1), (9, 8)].into_iter().enumerate()
    {
        for share in [0.02, 0.3] {
            // Every part of the grid is fixed somewhere, else elimination has no answer.
            let mut system = random(cols, rows, Seed(trial as u64), share);
            let alive: Vec<bool> = (0..system.slack.len()).map(|i| center(&system, i) > 0.0).collect();
            system.slack.iter_mut().zip(&alive).filter(|(_, a)| **a).for_each(|(s, _)| *s += 1e-2);
            let exact = directly(&system);
            let found = solve(system.clone(), 1e-3, || Ok(())).unwrap();
            assert!(found.steps < 40, "{} steps on {cols} × {rows}", found.steps);
            for (a, b) in found.values.iter().zip(&exact) {
                assert_close!(*a, *b, abs = 5e-3);
            }
        }
    }
}

#[test]
fn the_solver_converges_on_random_constraints() {
    for trial in 0..12u64 {
        let seed = Seed(1000 + trial);
        let side = |i: u64| 3 + (seed.unit(i) * 250.0) as usize;
        let system = random(side(1), side(2), seed, [0.001, 0.05, 0.5][trial as usize % 3]);
        let found = solve(system.clone(), 1e-3, || Ok(())).unwrap();
        assert!(
            found.error <= 1e-3 && found.steps < 120,
            "trial {trial}: {} steps, {}",
            found.steps,
            found.error
        );
        let left = system.residual(&found.values);
        assert!(left < 2e-3, "trial {trial}: {left}");
    }
}

#[test]
fn a_plain_membrane_takes_few_steps_at_any_size() {
    // A square held at its edge with a pole of 100 m: no more than the pole, no less than nothing.
    let mut steps = Vec::new();
    for side in [33usize, 129, 513] {
        let mut system = System::empty(side, side);
        for row in 0..side {
            for col in 0..side {
                let i = system.at(col, row);
                let mut links = 0.0;
                for (there, link) in [(col + 1 < side, &mut system.east), (row + 1 < side, &mut system.south)]
                {
                    link[i] = f32::from(u8::from(there));
                }
                links += f32::from(u8::from(col > 0)) + f32::from(u8::from(row > 0));
                system.slack[i] = 4.0 - links - system.east[i] - system.south[i];
            }
        }
        let pole = system.at(side / 3, side / 2);
        system.slack[pole] += 1e4;
        system.right[pole] += 1e6;
        let found = solve(system, 1e-2, || Ok(())).unwrap();
        assert!(found.values.iter().all(|v| (-0.05..=100.05).contains(v)));
        steps.push(found.steps);
    }
    assert!(steps.iter().all(|s| *s <= 10), "{steps:?}");
}

#[test]
fn the_plain_iteration_comes_to_the_same_answer() {
    let op = with(vec![curve(vec![full(300.0, 300.0, 300.0), full(1700.0, 1500.0, 330.0)])]);
    let (system, relief) = equations(&op, &on(&hills(41, 50.0))).unwrap().remove(0);
    let found = solve(system.clone(), 1e-5 * relief, || Ok(())).unwrap();
    let (slow, steps) = jacobi(&system, 1e-4, 1_000_000);
    assert!(steps > 50 * found.steps, "{steps} and {}", found.steps);
    for (a, b) in found.values.iter().zip(&slow) {
        assert_close!(*a, *b, abs = 0.5);
    }
}

#[test]
fn what_nothing_fixes_stays_and_cancelling_stops() {
    let mut system = System::empty(30, 30);
    for row in 0..30 {
        for col in 0..29 {
            let i = system.at(col, row);
            system.east[i] = 1.0;
        }
    }
    let found = solve(system.clone(), 1e-3, || Ok(())).unwrap();
    assert!(found.values.iter().all(|v| *v == 0.0));
    assert_eq!(solve(system, 1e-3, || Err(Cancelled)).unwrap_err(), Cancelled);
}

#[test]
fn an_edit_changes_nothing_outside_the_envelopes_that_it_meets() {
    for mode in both() {
        let curves = |edit: fn(&mut Vec<Curve>)| {
            let mut curves = several();
            edit(&mut curves);
            Curves { mode, ..with(curves) }
        };
        let before = curves(|_| {});
        for edit in [
            (|curves| curves[0].points[1].z_m = Some(700.0)) as fn(&mut Vec<Curve>),
            |curves| drop(curves.remove(0)),
            |curves| curves[0].points[2].x_m += 30.0,
        ] {
            test_support::assert_footprint(&before, &curves(edit), 0.4);
        }
    }
}
