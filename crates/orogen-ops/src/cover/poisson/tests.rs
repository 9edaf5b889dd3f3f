use super::*;

fn square(min: [f64; 2], side: f64) -> Rect {
    Rect { min, max: [min[0] + side, min[1] + side] }
}

fn plan(distance_m: f64) -> Plan {
    Plan { spacing: Spacing::new(distance_m), seed: Seed::from_text("disks"), darts: 4, maximal: true }
}

fn made(rect: &Rect, plan: &Plan) -> Vec<Point> {
    let inside = |p: [f64; 2]| (0..2).all(|axis| p[axis] >= rect.min[axis] && p[axis] < rect.max[axis]);
    disks(rect, rect, plan, &[], inside, &Ctx::silent()).unwrap().points(rect)
}

fn distance(a: [f64; 2], b: [f64; 2]) -> f64 {
    ((a[0] - b[0]) * (a[0] - b[0]) + (a[1] - b[1]) * (a[1] - b[1])).sqrt()
}

/// The distance from a place to the nearest of some points, by looking at all of them.
fn nearest(place: [f64; 2], points: &[Point]) -> f64 {
    points.iter().map(|point| distance(place, point.place)).fold(f64::INFINITY, f64::min)
}

#[test]
fn no_two_are_nearer_than_the_distance() {
    let points = made(&square([-20.0, 30.0], 60.0), &plan(1.3));
    assert!(points.len() > 1200, "{}", points.len());
    for (i, point) in points.iter().enumerate() {
        let least = nearest(point.place, &points[..i]);
        assert!(least >= 1.3 * (1.0 - 1e-6), "{least}");
    }
}

#[test]
fn no_further_point_fits() {
    let rect = square([0.0; 2], 20.0);
    let points = made(&rect, &plan(1.0));
    let seed = Seed(5);
    for i in 0..40_000 {
        let place = [seed.unit(2 * i) * 20.0, seed.unit(2 * i + 1) * 20.0];
        let room = nearest(place, &points);
        assert!(room < 1.0 + 1e-3, "{room} m of room at {place:?}");
    }
    let thrown = made(&rect, &Plan { maximal: false, ..plan(1.0) });
    assert!(thrown.len() < points.len(), "darts alone leave room");
}

/// Power of a frequency, in waves a metre; 1 where points lie anywhere.
fn power(points: &[Point], [fx, fy]: [f64; 2]) -> f64 {
    let (mut re, mut im) = (0.0, 0.0);
    for point in points {
        let phase = std::f64::consts::TAU * (fx * point.place[0] + fy * point.place[1]);
        re += orogen_core::math::cos(phase);
        im += orogen_core::math::sin(phase);
    }
    (re * re + im * im) / points.len() as f64
}

#[test]
fn the_spectrum_is_blue() {
    let points = made(&square([0.0; 2], 64.0), &plan(1.0));
    let ring = |radius: f64| {
        let all = (0..64).map(|i| {
            let turn = std::f64::consts::PI * (f64::from(i) + 0.5) / 64.0;
            // Whole waves over the square, or its edges would show.
            let wave = |x: f64| (x * radius * 64.0).round() / 64.0;
            power(&points, [wave(orogen_core::math::cos(turn)), wave(orogen_core::math::sin(turn))])
        });
        all.sum::<f64>() / 64.0
    };
    assert!(ring(0.2) < 0.15, "few long waves: {}", ring(0.2));
    assert!(ring(0.4) < 0.3, "few long waves: {}", ring(0.4));
    assert!(ring(0.95) > 1.5, "a ring at the distance: {}", ring(0.95));
    assert!((0.6..1.4).contains(&ring(3.0)), "noise beyond: {}", ring(3.0));
}

#[test]
fn the_lattice_of_colours_does_not_show() {
    let points = made(&square([0.0; 2], 64.0), &plan(1.0));
    let lattice = std::f64::consts::SQRT_2 / 3.0;
    for (x, y) in [(1.0, 0.0), (0.0, 1.0), (1.0, 1.0), (2.0, 0.0), (0.0, 2.0), (2.0, 1.0), (1.0, 2.0)] {
        // 155 were every cell to throw in every round; some 2 are noise.
        let found = power(&points, [x * lattice, y * lattice]);
        assert!(found < 25.0, "{found} at {x}, {y}");
    }
}

#[test]
fn a_window_is_the_same_part_of_the_whole() {
    let bounds = square([-50.0; 2], 300.0);
    let coarse = Seed(3);
    let land = |p: [f64; 2]| coarse.unit2((p[0] / 9.0).floor() as i64, (p[1] / 9.0).floor() as i64) < 0.8;
    let run = |rect: &Rect, bounds: &Rect| {
        let land = |p: [f64; 2]| {
            (0..2).all(|axis| p[axis] >= bounds.min[axis] && p[axis] < bounds.max[axis]) && land(p)
        };
        let large = disks(rect, bounds, &plan(2.0), &[], land, &Ctx::silent()).unwrap();
        large.points(rect)
    };
    let whole = run(&bounds, &bounds);
    let window = square([33.0, 71.0], 40.0);
    let reach = plan(2.0).spacing.reach_m(4);
    let part = run(&window, &window.grown([reach; 2]));
    let inside =
        |p: &&Point| (0..2).all(|axis| p.place[axis] >= window.min[axis] && p.place[axis] < window.max[axis]);
    let cut: Vec<Point> = whole.iter().filter(inside).copied().collect();
    assert!(!part.is_empty());
    assert_eq!(part, cut);
}

#[test]
fn threads_change_nothing() {
    let run = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| made(&square([0.0; 2], 50.0), &plan(0.9)))
    };
    assert_eq!(run(1), run(5));
}

#[test]
fn smaller_classes_keep_the_mean_of_both_distances() {
    let rect = square([0.0; 2], 60.0);
    let inside = |p: [f64; 2]| (0..2).all(|axis| p[axis] >= 0.0 && p[axis] < 60.0);
    let mut classes: Vec<Disks> = Vec::new();
    for (i, distance_m) in [6.0, 3.0, 1.0].into_iter().enumerate() {
        let plan = Plan { seed: Seed(i as u64), ..plan(distance_m) };
        let mut class = disks(&rect, &rect, &plan, &classes, inside, &Ctx::silent()).unwrap();
        class.retain(|point| Seed(9).unit2(point.cell[0], point.cell[1]) < 0.6);
        classes.push(class);
    }
    let points: Vec<Vec<Point>> = classes.iter().map(|class| class.points(&rect)).collect();
    assert!(points.iter().all(|class| !class.is_empty()));
    for (a, b, least) in [(0, 1, 4.5), (0, 2, 3.5), (1, 2, 2.0)] {
        for point in &points[b] {
            let found = nearest(point.place, &points[a]);
            assert!(found >= least * (1.0 - 1e-6), "{found} m between classes {a} and {b}");
        }
    }
}

#[test]
fn a_loop_repeats() {
    let world = square([10.0, 20.0], 47.0);
    let spacing = Spacing::looped(1.0, &world);
    let plan = Plan { spacing, ..plan(1.0) };
    let wide = world.grown([47.0; 2]);
    let points = disks(&wide, &wide.grown([47.0; 2]), &plan, &[], |_| true, &Ctx::silent()).unwrap();
    let here = points.points(&world);
    let east = points.points(&square([57.0, 20.0], 47.0));
    assert_eq!(here.len(), east.len());
    for (a, b) in here.iter().zip(&east) {
        assert_eq!(a.cell, b.cell);
        assert!((a.place[0] + 47.0 - b.place[0]).abs() < 1e-9 && (a.place[1] - b.place[1]).abs() < 1e-9);
    }
    for (i, point) in here.iter().enumerate() {
        assert!(nearest(point.place, &here[..i]) >= 1.0 - 1e-6);
    }
}

#[test]
fn the_reach_is_that_of_the_turns() {
    // How far back an effect can come in each of four directions, turn by turn.
    let rounds = 6;
    let mut farthest = 0;
    for (axis, sign) in [(0, 1), (0, -1), (1, 1), (1, -1)] {
        let mut longest = [None::<i64>; 3];
        for turn in 0..9 * rounds {
            let colour = TURNS[turn % 9] as i64;
            let own = if axis == 0 { colour % 3 } else { colour / 3 };
            let from = |other: i64| (sign * (other - own)).rem_euclid(3);
            let here =
                (0..3).filter_map(|other| Some(longest[other as usize]? + from(other))).max().unwrap_or(0);
            let before = &mut longest[own as usize];
            *before = Some(before.unwrap_or(0).max(here));
            farthest = farthest.max(here + 2);
        }
    }
    assert!(farthest <= CELLS_A_ROUND * rounds as i64, "{farthest}");
}

#[test]
fn too_many_cells_get_a_sentence() {
    let rect = square([0.0; 2], 1e6);
    let error = disks(&rect, &rect, &plan(0.01), &[], |_| true, &Ctx::silent()).unwrap_err();
    assert!(error.to_string().contains("smaller window"), "{error}");
}
