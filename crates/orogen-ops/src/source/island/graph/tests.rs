use super::locator::squared;
use super::*;

fn hash01(i: u64) -> f64 {
    let mut z = i.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
}

fn random(n: usize, seed: u64, rect: Rect) -> Vec<[f64; 2]> {
    let coordinate = |i: u64, k: usize| {
        let along = hash01(seed * 1_000_003 + 2 * i + k as u64 + 1);
        (rect.min[k] + along * (rect.max[k] - rect.min[k])).min(rect.max[k])
    };
    (0..n as u64).map(|i| [coordinate(i, 0), coordinate(i, 1)]).collect()
}

const OBLONG: Rect = Rect { min: [300.0, -70.0], max: [1000.0, 110.0] };

/// Every awkward set of points we could think of, and some easy ones.
fn fixtures() -> Vec<(&'static str, Vec<[f64; 2]>, Rect)> {
    let unit = Rect::UNIT;
    let grid = |n: i32, f: &dyn Fn(f64, f64) -> [f64; 2]| -> Vec<[f64; 2]> {
        let step = 2.0 / n as f64;
        let at = |i: i32| (i as f64 + 0.5) * step - 1.0;
        (0..n * n).map(|i| f(at(i % n), at(i / n))).collect()
    };
    let circle = |n: usize, r: f64| -> Vec<[f64; 2]> {
        // Rational points of the circle need no sine.
        let on = |t: f64| [r * (1.0 - t * t) / (1.0 + t * t), r * 2.0 * t / (1.0 + t * t)];
        (0..n).map(|i| on(4.0 * i as f64 / n as f64 - 2.0)).collect()
    };
    let line = |f: &dyn Fn(f64) -> [f64; 2]| -> Vec<[f64; 2]> {
        (0..100).map(|i| f((i as f64 + 0.5) / 50.0 - 1.0)).collect()
    };
    let mut with_hub = circle(64, 0.5);
    with_hub.push([0.0, 0.0]);
    let mut crowded = random(500, 9, unit);
    crowded.extend(random(500, 10, Rect { min: [0.99, 0.99], max: [1.0, 1.0] }));
    crowded.extend(random(500, 11, Rect { min: [-1e-4, -1e-4], max: [1e-4, 1e-4] }));
    let border = line(&|t| [t, -1.0]).into_iter().chain(line(&|t| [1.0, t])).chain(line(&|t| [-1.0, t]));
    vec![
        ("one", vec![[0.25, -0.5]], unit),
        ("one in the corner", vec![[-1.0, 1.0]], unit),
        ("two", random(2, 1, unit), unit),
        ("two, symmetric", vec![[-0.5, 0.0], [0.5, 0.0]], unit),
        ("two, diagonal", vec![[-0.5, -0.5], [0.5, 0.5]], unit),
        ("three", random(3, 2, unit), unit),
        ("three in a row", vec![[0.0, 0.0], [0.5, 0.0], [-0.25, 0.0]], unit),
        ("three meeting on a side", vec![[-0.5, -0.75], [0.5, -0.75], [0.0, 0.11803398874989485]], unit),
        ("four cocircular", grid(2, &|x, y| [x, y]), unit),
        ("rectangle's corners", vec![[-1.0, -1.0], [1.0, -1.0], [1.0, 1.0], [-1.0, 1.0]], unit),
        ("corners and middle", vec![[-1.0, -1.0], [1.0, -1.0], [1.0, 1.0], [-1.0, 1.0], [0.0, 0.0]], unit),
        ("diamond", vec![[0.0, -1.0], [1.0, 0.0], [0.0, 1.0], [-1.0, 0.0]], unit),
        ("binary grid", grid(16, &|x, y| [x, y]), unit),
        ("decimal grid", grid(50, &|x, y| [x, y]), unit),
        ("rotated grid", grid(100, &|x, y| [0.7 * (0.8 * x - 0.6 * y), 0.7 * (0.6 * x + 0.8 * y)]), unit),
        ("diagonal grid", grid(30, &|x, y| [0.5 * (x - y), 0.5 * (x + y)]), unit),
        ("sheared grid", grid(40, &|x, y| [0.6 * x + 0.3 * y, y]), unit),
        (
            "hexagons",
            grid(31, &|x, y| [x + if (y * 15.5).abs() as i32 % 2 == 0 { 0.0 } else { 1.0 / 31.0 }, y]),
            unit,
        ),
        ("circle", circle(1000, 0.9), unit),
        ("circle with hub", with_hub, unit),
        ("half circle", circle(401, 0.99).into_iter().take(200).collect(), unit),
        ("level line", line(&|t| [t, 0.25]), unit),
        ("upright line", line(&|t| [0.1, t]), unit),
        ("slanted line", line(&|t| [0.9 * t, 0.3 * t + 0.1]), unit),
        ("diagonal", line(&|t| [t, t]), unit),
        ("wavering line", line(&|t| [t, 0.25 + 1e-12 * (t * 50.0 % 3.0)]), unit),
        ("border", border.collect(), unit),
        ("crowded", crowded, unit),
        ("random", random(3000, 3, unit), unit),
        ("random oblong", random(2000, 4, OBLONG), OBLONG),
        (
            "oblong grid",
            (0..70 * 18).map(|i| [305.0 + 10.0 * (i % 70) as f64, -65.0 + 10.0 * (i / 70) as f64]).collect(),
            OBLONG,
        ),
        (
            "tiny rectangle",
            random(500, 5, Rect { min: [0.0; 2], max: [1e-12, 2e-12] }),
            Rect { min: [0.0; 2], max: [1e-12, 2e-12] },
        ),
        (
            "thin rectangle",
            random(500, 6, Rect { min: [0.0; 2], max: [1.0, 1e-3] }),
            Rect { min: [0.0; 2], max: [1.0, 1e-3] },
        ),
    ]
}

fn polygon(graph: &Graph, c: CenterIx) -> Vec<[f64; 2]> {
    graph.center_corners(c).iter().map(|&q| graph.corner(q)).collect()
}

fn cross(o: [f64; 2], a: [f64; 2], b: [f64; 2]) -> f64 {
    (a[0] - o[0]) * (b[1] - o[1]) - (a[1] - o[1]) * (b[0] - o[0])
}

fn area(polygon: &[[f64; 2]]) -> f64 {
    polygon.windows(2).map(|w| 0.5 * cross(polygon[0], w[0], w[1])).sum()
}

/// All that the module promises of any graph.
fn check(name: &str, graph: &Graph, points: &[[f64; 2]]) {
    let rect = graph.rect();
    let size = (rect.max[0] - rect.min[0]).max(rect.max[1] - rect.min[1]);
    let tol = 1e-8 * size;
    assert_eq!(graph.centers(), points, "{name}");
    let [v, e, f] = [graph.corners().len(), graph.edges().len(), graph.centers().len()];
    assert_eq!(v + f, e + 1, "{name}: Euler, with {v} corners, {e} edges, {f} polygons");

    for ix in graph.edge_ixs() {
        let edge = graph.edge(ix);
        assert_ne!(edge.v0, edge.v1, "{name}: {ix:?}");
        assert_ne!(Some(edge.d0), edge.d1, "{name}: {ix:?}");
        let (a, b) = (graph.corner(edge.v0), graph.corner(edge.v1));
        assert!(squared(a, b).sqrt() > 0.4e-10 * size, "{name}: {ix:?} is too short");
        let on_side = |k: usize| a[k] == b[k] && (a[k] == rect.min[k] || a[k] == rect.max[k]);
        assert_eq!(graph.is_border_edge(ix), on_side(0) || on_side(1), "{name}: {ix:?} {a:?} {b:?}");
        let m = graph.edge_midpoint(ix);
        assert_eq!(m, [0.5 * (a[0] + b[0]), 0.5 * (a[1] + b[1])]);
        if let Some(d1) = edge.d1 {
            let [m0, m1] = [edge.d0, d1].map(|c| squared(graph.center(c), m).sqrt());
            assert!((m0 - m1).abs() <= tol, "{name}: {ix:?} is not a bisector: {m0} {m1}");
        }
    }
    for x in [rect.min[0], rect.max[0]] {
        for y in [rect.min[1], rect.max[1]] {
            let found = graph.corners().iter().filter(|&&q| q == [x, y]).count();
            assert_eq!(found, 1, "{name}: corner {x} {y}");
        }
    }

    let mut whole = 0.0;
    for c in graph.center_ixs() {
        let (corners, edges) = (graph.center_corners(c), graph.center_edges(c));
        let polygon = polygon(graph, c);
        let n = polygon.len();
        assert!(n >= 3 && edges.len() == n, "{name}: {c:?} has {n} corners");
        for k in 0..n {
            let [a, b, after] = [polygon[k], polygon[(k + 1) % n], polygon[(k + 2) % n]];
            let length = squared(a, b).sqrt();
            assert!(
                cross(a, b, after) >= -tol * squared(a, after).sqrt(),
                "{name}: {c:?} is not convex at {b:?}"
            );
            assert!(cross(a, b, graph.center(c)) >= -tol * length, "{name}: {c:?} is not in its polygon");
            let edge = graph.edge(edges[k]);
            let (v0, v1) = (corners[k], corners[(k + 1) % n]);
            let forward = (edge.d0, edge.v0, edge.v1) == (c, v0, v1);
            let backward = (edge.d1, edge.v1, edge.v0) == (Some(c), v0, v1);
            assert!(forward || backward, "{name}: {c:?} side {k}");
            assert!(graph.corner_touches(v0).any(|d| d == c), "{name}: {v0:?} does not touch {c:?}");
        }
        assert_eq!(graph.is_border_center(c), corners.iter().any(|&q| graph.is_border_corner(q)));
        for d in graph.center_neighbors(c) {
            assert!(graph.center_neighbors(d).any(|back| back == c), "{name}: {c:?} {d:?}");
        }
        let own = area(&polygon);
        assert!(own > 0.0, "{name}: {c:?} has area {own}");
        whole += own;
    }
    assert!((whole / rect.area() - 1.0).abs() < 1e-9, "{name}: areas add up to {whole}");

    for q in graph.corner_ixs() {
        let p = graph.corner(q);
        assert!(rect.contains(p), "{name}: {q:?} at {p:?}");
        let on_side = (0..2).any(|k| p[k] == rect.min[k] || p[k] == rect.max[k]);
        assert_eq!(graph.is_border_corner(q), on_side, "{name}: {q:?} at {p:?}");
        let edges = graph.corner_edges(q);
        let touches: Vec<_> = graph.corner_touches(q).collect();
        assert_eq!(touches.len() + usize::from(on_side), edges.len(), "{name}: {q:?}");
        assert!(edges.len() >= if on_side { 2 } else { 3 }, "{name}: {q:?} has degree {}", edges.len());
        for (k, &c) in touches.iter().enumerate() {
            assert!(!touches[..k].contains(&c), "{name}: {q:?} lists {c:?} twice");
            assert!(graph.center_corners(c).contains(&q), "{name}: {c:?} lacks {q:?}");
            let next = graph.edge(edges[(k + 1) % edges.len()]);
            assert_eq!(next.right_of(q), Some(c), "{name}: edges round {q:?} are out of order");
        }
        for (&e, far) in edges.iter().zip(graph.corner_adjacent(q)) {
            let edge = graph.edge(e);
            assert!((edge.v0, edge.v1) == (q, far) || (edge.v1, edge.v0) == (q, far), "{name}: {q:?}");
        }
    }
}

fn brute(points: &[[f64; 2]], p: [f64; 2]) -> CenterIx {
    let mut best = 0;
    for c in 1..points.len() {
        if squared(p, points[c]) < squared(p, points[best]) {
            best = c;
        }
    }
    CenterIx(best as u32)
}

#[test]
fn promises_hold_on_every_fixture() {
    for (name, points, rect) in fixtures() {
        let graph = Graph::voronoi(&points, rect).unwrap_or_else(|e| panic!("{name}: {e}"));
        check(name, &graph, &points);
    }
}

#[test]
fn promises_hold_after_relaxing_every_fixture() {
    for (name, points, rect) in fixtures() {
        let relaxed = relax(&points, rect, 3).unwrap_or_else(|e| panic!("{name}: {e}"));
        let graph = Graph::voronoi(&relaxed, rect).unwrap_or_else(|e| panic!("{name}: {e}"));
        check(name, &graph, &relaxed);
    }
}

#[test]
fn promises_hold_on_many_small_sets() {
    for seed in 0..3000 {
        // Coordinates on a coarse lattice: duplicates, lines and circles abound.
        let lattice = 3 + seed % 7;
        let mut points: Vec<[f64; 2]> = random(2 + (seed % 23) as usize, 77 + seed, Rect::UNIT)
            .into_iter()
            .map(|p| p.map(|x| (x * lattice as f64).round() / lattice as f64 + 0.0)) // no negative zero
            .collect();
        points.sort_by(|a, b| a[0].total_cmp(&b[0]).then(a[1].total_cmp(&b[1])));
        points.dedup();
        let name = format!("set {seed}");
        let graph = Graph::voronoi(&points, Rect::UNIT).unwrap_or_else(|e| panic!("{name}: {e}"));
        check(&name, &graph, &points);
    }
}

#[test]
fn promises_hold_on_lattices_blurred_by_rounding() {
    for seed in 0..500 {
        // Rows and circles that are straight and round to within 1e-6 … 1e-17, at any angle.
        let pick = |k: u64| hash01(seed * 8 + k + 1);
        let (cols, rows) = (1 + (pick(0) * 12.0) as usize, 2 + (pick(1) * 12.0) as usize);
        let blur = (0..6 + (pick(2) * 12.0) as u32).fold(1.0, |blur, _| blur * 0.1);
        let (x, y) = (0.1 + pick(3), pick(4));
        let r = 0.6 / (x * x + y * y).sqrt();
        let (c, s, squeeze) = (r * x, r * y, if seed % 2 == 0 { 1.0 } else { pick(5) });
        let noise = random(cols * rows, 500 + seed, Rect::UNIT);
        let points: Vec<[f64; 2]> = (0..cols * rows)
            .map(|i| {
                let u = 2.0 * ((i % cols) as f64 + 0.5) / cols as f64 - 1.0;
                let v = squeeze * (2.0 * ((i / cols) as f64 + 0.5) / rows as f64 - 1.0);
                [c * u - s * v + blur * noise[i][0], s * u + c * v + blur * noise[i][1]]
            })
            .collect();
        let name = format!("lattice {seed}: {cols} × {rows}, blur {blur:e}");
        let graph = Graph::voronoi(&points, Rect::UNIT).unwrap_or_else(|e| panic!("{name}: {e}"));
        check(&name, &graph, &points);
    }
}

#[test]
fn a_square_grid_has_square_polygons_and_corners_of_degree_four() {
    let points: Vec<_> =
        (0..64).map(|i| [(i % 8) as f64 / 4.0 - 0.875, (i / 8) as f64 / 4.0 - 0.875]).collect();
    let graph = Graph::voronoi(&points, Rect::UNIT).unwrap();
    assert_eq!(graph.corners().len(), 81);
    assert!(graph.corner_ixs().all(|q| graph.is_border_corner(q) || graph.corner_edges(q).len() == 4));
    // Squares are already as even as can be.
    assert_eq!(relax(&points, Rect::UNIT, 2).unwrap(), points);
}

#[test]
fn the_center_of_a_polygon_is_the_nearest_to_points_in_it() {
    let points = random(400, 21, OBLONG);
    let graph = Graph::voronoi(&points, OBLONG).unwrap();
    for c in graph.center_ixs() {
        let polygon = polygon(&graph, c);
        for sample in 0..20 {
            let weights: Vec<f64> = (0..polygon.len())
                .map(|k| 1e-3 + hash01((c.0 as u64 * 20 + sample) * 64 + k as u64))
                .collect();
            let total: f64 = weights.iter().sum();
            let at = |k: usize| polygon.iter().zip(&weights).map(|(p, w)| p[k] * w).sum::<f64>() / total;
            assert_eq!(brute(&points, [at(0), at(1)]), c);
        }
    }
}

#[test]
fn relaxing_is_averaging_the_corners() {
    for (name, points, rect) in fixtures() {
        let graph = Graph::voronoi(&points, rect).unwrap();
        let relaxed = relax(&points, rect, 1).unwrap();
        let size = (rect.max[0] - rect.min[0]).max(rect.max[1] - rect.min[1]);
        for c in graph.center_ixs() {
            let polygon = polygon(&graph, c);
            for k in 0..2 {
                let average = polygon.iter().map(|p| p[k]).sum::<f64>() / polygon.len() as f64;
                assert!(
                    (average - relaxed[c.at()][k]).abs() <= 1e-13 * size.max(average.abs()),
                    "{name}: {c:?}"
                );
            }
        }
    }
}

#[test]
fn relaxing_evens_out_the_areas() {
    let variance = |points: &[[f64; 2]]| {
        let graph = Graph::voronoi(points, Rect::UNIT).unwrap();
        let mean = 4.0 / points.len() as f64;
        graph.center_ixs().map(|c| area(&polygon(&graph, c)) / mean - 1.0).map(|d| d * d).sum::<f64>()
            / points.len() as f64
    };
    let points = random(2000, 31, Rect::UNIT);
    let steps: Vec<f64> = (0..4).map(|k| variance(&relax(&points, Rect::UNIT, k).unwrap())).collect();
    assert!(steps.windows(2).all(|w| w[1] < w[0]) && steps[2] < 0.5 * steps[0], "{steps:?}");
}

#[test]
fn bad_input_is_refused_with_a_sentence() {
    let refuse = |points: &[[f64; 2]], rect: Rect| {
        let error = Graph::voronoi(points, rect).unwrap_err();
        assert_eq!(relax(points, rect, 1).unwrap_err().to_string(), error.to_string());
        error
    };
    assert_eq!(refuse(&[], Rect::UNIT), GraphError::NoPoints);
    assert_eq!(
        refuse(&[[0.0, 0.0], [0.5, 1.5]], Rect::UNIT).to_string(),
        "point 1 at [0.5, 1.5] is not inside the rectangle Rect { min: [-1.0, -1.0], max: [1.0, 1.0] }"
    );
    assert!(matches!(refuse(&[[f64::NAN, 0.0]], Rect::UNIT), GraphError::Outside { index: 0, .. }));
    for (min, max) in [
        ([0.0, 0.0], [0.0, 1.0]),
        ([0.0, 0.0], [f64::NAN, 1.0]),
        ([0.0, 0.0], [f64::INFINITY, 1.0]),
        ([1.0, 1.0], [0.0, 0.0]),
        ([0.0, 0.0], [1e5, 1.0]),
        ([1e6, 0.0], [1e6 + 1.0, 1.0]),
    ] {
        assert!(matches!(refuse(&[[0.0, 0.0]], Rect { min, max }), GraphError::BadRect(_)));
    }
}

#[test]
fn duplicates_are_refused_wherever_they_are() {
    for near in [0.0, 1e-16, 1e-13, 1e-11, 0.9e-8] {
        for (name, points, rect) in fixtures().into_iter().filter(|f| f.1.len() >= 2 && f.2 == Rect::UNIT) {
            let mut points = points;
            let [x, y] = points[points.len() / 3];
            points.push([if x > 0.0 { x - near } else { x + near }, y]);
            let expected = GraphError::TooClose { first: points.len() / 3, second: points.len() - 1 };
            assert!(
                matches!(Graph::voronoi(&points, rect), Err(GraphError::TooClose { .. })),
                "{name} {near}"
            );
            if name == "random" {
                assert_eq!(Graph::voronoi(&points, rect), Err(expected));
            }
        }
    }
    assert_eq!(
        Graph::voronoi(&[[0.5, 0.5]; 9], Rect::UNIT).unwrap_err(),
        GraphError::TooClose { first: 0, second: 1 }
    );
}

#[test]
fn the_same_points_give_the_same_bits() {
    for (_, points, rect) in fixtures() {
        let make = || Graph::voronoi(&relax(&points, rect, 2).unwrap(), rect).unwrap();
        let (a, b) = (make(), make());
        let bits = |g: &Graph| g.corners().iter().flatten().map(|x| x.to_bits()).collect::<Vec<_>>();
        assert_eq!(bits(&a), bits(&b));
        assert_eq!(a, b);
    }
}

#[test]
fn sorting_in_rows_loses_nothing() {
    let points = random(1000, 41, OBLONG);
    let mut sorted = points.clone();
    sort_in_rows(&mut sorted, OBLONG);
    let ordered = |mut p: Vec<[f64; 2]>| {
        p.sort_by(|a, b| a[0].total_cmp(&b[0]).then(a[1].total_cmp(&b[1])));
        p
    };
    assert_ne!(sorted, points);
    assert_eq!(ordered(sorted), ordered(points));
}

#[test]
fn the_locator_agrees_with_brute_force() {
    for (name, points, rect) in fixtures() {
        let locator = Locator::new(&Graph::voronoi(&points, rect).unwrap());
        let mut last = CenterIx(0);
        for p in random(500, 51, rect) {
            let expected = brute(&points, p);
            assert_eq!(locator.locate(p), expected, "{name} {p:?}");
            last = locator.locate_from(p, last);
            assert_eq!(last, expected, "{name} {p:?}");
        }
        assert_eq!(locator.locate_from(points[0], CenterIx(u32::MAX)), brute(&points, points[0]));
    }
}

#[test]
fn ties_go_to_the_lowest_index_from_any_hint() {
    // 8 × 8 squares, numbered at random; the samples lie on their sides and corners.
    let mut points: Vec<_> =
        (0..64).map(|i| [(i % 8) as f64 / 4.0 - 0.875, (i / 8) as f64 / 4.0 - 0.875]).collect();
    for i in (1..64).rev() {
        points.swap(i, (hash01(i as u64) * (i + 1) as f64) as usize);
    }
    let locator = Locator::new(&Graph::voronoi(&points, Rect::UNIT).unwrap());
    for sample in 0..17 * 17 {
        let p = [(sample % 17) as f64 / 8.0 - 1.0, (sample / 17) as f64 / 8.0 - 1.0];
        for hint in 0..64 {
            assert_eq!(locator.locate_from(p, CenterIx(hint)), brute(&points, p), "{p:?} from {hint}");
        }
    }
}

#[test]
fn points_outside_are_looked_up_at_the_border() {
    let points = random(300, 61, Rect::UNIT);
    let locator = Locator::new(&Graph::voronoi(&points, Rect::UNIT).unwrap());
    assert_eq!(locator.locate([5.0, 0.3]), brute(&points, [1.0, 0.3]));
    assert_eq!(locator.locate([f64::NEG_INFINITY, 9.0]), brute(&points, [-1.0, 1.0]));
    assert!(locator.locate([f64::NAN, 0.0]).at() < 300, "NaN finds some polygon, it does not matter which");
}
