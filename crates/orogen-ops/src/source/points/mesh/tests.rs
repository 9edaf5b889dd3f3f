use super::*;
use orogen_core::Seed;

fn cloud(n: u64, seed: u64) -> Vec<[f64; 3]> {
    let own_seed = Seed(seed);
    (0..n)
        .map(|i| {
            [
                own_seed.unit(3 * i) * 1000.0,
                own_seed.unit(3 * i + 1) * 700.0,
                own_seed.unit(3 * i + 2) * 100.0,
            ]
        })
        .collect()
}

/// The Sibson weights by brute force: counts places of a fine grid that are nearer to `p` than to any site.
fn slow_natural(points: &[[f64; 3]], p: [f64; 2]) -> f64 {
    let (mut sum, mut count) = (0.0, 0.0);
    // The polygon of a place among these points lies within 250 m.
    for j in -1000..=1000 {
        for i in -1000..=1000 {
            let q = [p[0] + 0.25 * f64::from(i), p[1] + 0.25 * f64::from(j)];
            let own = squared(minus(q, p));
            let nearest = points
                .iter()
                .map(|s| (squared([q[0] - s[0], q[1] - s[1]]), s[2]))
                .min_by(|a, b| a.0.total_cmp(&b.0))
                .unwrap();
            if own < nearest.0 {
                sum += nearest.1;
                count += 1.0;
            }
        }
    }
    sum / count
}

#[test]
fn natural_weights_are_the_areas_taken() {
    let points = cloud(60, 5);
    let mesh = Mesh::new(&points).unwrap();
    let mut query = Query::default();
    for p in [[500.0, 350.0], [412.5, 287.25], [650.0, 400.0]] {
        let fast = mesh.read(p, true, &mut query).height;
        let slow = slow_natural(&points, p);
        assert!((fast - slow).abs() < 0.3, "at {p:?}: {fast} and {slow}");
    }
}

#[test]
fn planes_come_back_and_points_are_exact() {
    let mut points = cloud(400, 1);
    // A regular part as well: many points on one circle.
    for i in 0..20 {
        points.extend((0..20).map(|j| [1200.0 + f64::from(i) * 10.0, f64::from(j) * 10.0, 0.0]));
    }
    for slopes in [false, true] {
        let plane = |x: f64, y: f64| 50.0 + 0.3 * x - 0.2 * y;
        let flat: Vec<_> = points.iter().map(|p| [p[0], p[1], plane(p[0], p[1])]).collect();
        let mut mesh = Mesh::new(&flat).unwrap();
        if slopes {
            mesh.find_slopes();
        }
        let mut query = Query::default();
        let mut inside = 0;
        for i in 0..60 {
            for j in 0..50 {
                let p = [f64::from(i) * 23.5, f64::from(j) * 14.0];
                for natural in [false, true] {
                    let reading = mesh.read(p, natural, &mut query);
                    if reading.outside_m == 0.0 {
                        inside += 1;
                        assert!((reading.height - plane(p[0], p[1])).abs() < 1e-3, "{p:?} {reading:?}");
                    }
                }
            }
        }
        assert!(inside > 2000);
        let rough = Mesh::new(&points).unwrap();
        for p in &points {
            assert_eq!(rough.read([p[0], p[1]], true, &mut query).height, p[2]);
            // Just beside it, nearly the same.
            let near = rough.read([p[0] + 1e-5, p[1] + 1e-5], true, &mut query).height;
            assert!((near - p[2]).abs() < 0.05, "{near} beside {p:?}");
        }
    }
}

#[test]
fn the_start_of_the_walk_does_not_matter() {
    let mut points: Vec<[f64; 3]> = (0..30)
        .flat_map(|i| (0..30).map(move |j| [f64::from(i) * 8.0, f64::from(j) * 8.0, f64::from(i * j % 17)]))
        .collect();
    points.extend(cloud(100, 3).iter().map(|p| [p[0] * 0.25, p[1] * 0.3, p[2]]));
    let mesh = Mesh::new(&points).unwrap();
    // Places on corners, sides, diagonals and beyond.
    for i in -4..70 {
        for j in -4..70 {
            let p = [f64::from(i) * 4.0, f64::from(j) * 4.0];
            let from = |near: u32| {
                let mut query = Query { near, ..Query::default() };
                let Reading { height, outside_m } = mesh.read(p, true, &mut query);
                (height.to_bits(), outside_m.to_bits())
            };
            let first = from(0);
            for near in [17, 400, 901, u32::MAX] {
                assert_eq!(first, from(near), "at {p:?}");
            }
        }
    }
}

#[test]
fn heights_stay_between_the_neighbours_and_are_continuous() {
    let points = cloud(300, 8);
    let mesh = Mesh::new(&points).unwrap();
    let mut query = Query::default();
    let mut before: Option<f64> = None;
    for i in 0..40_000 {
        let p = [f64::from(i) * 0.02 + 100.0, 351.7];
        let Reading { height, .. } = mesh.read(p, true, &mut query);
        assert!((0.0..=100.0).contains(&height));
        // 2 cm on: no step.
        if let Some(before) = before {
            assert!((height - before).abs() < 0.5, "{before} to {height} at {p:?}");
        }
        before = Some(height);
    }
}

#[test]
fn the_outline_is_found_from_anywhere() {
    let points = cloud(500, 2);
    let mesh = Mesh::new(&points).unwrap();
    let mut query = Query::default();
    for k in 0..720 {
        let way = f64::from(k) * std::f64::consts::TAU / 720.0;
        for far in [500.0, 900.0, 5000.0] {
            let p = [500.0 + far * orogen_core::math::cos(way), 350.0 + far * orogen_core::math::sin(way)];
            let Reading { outside_m, .. } = mesh.read(p, true, &mut query);
            if outside_m == 0.0 {
                continue;
            }
            // By brute force over all sides.
            let slow = (0..mesh.hull.len())
                .map(|i| {
                    let world = |i: usize| {
                        let s = mesh.sites[mesh.hull[i % mesh.hull.len()] as usize];
                        [s[0] * mesh.scale + mesh.middle[0], s[1] * mesh.scale + mesh.middle[1]]
                    };
                    let (a, b) = (world(i), world(i + 1));
                    let (u, v) = (minus(b, a), minus(p, a));
                    let t = ((u[0] * v[0] + u[1] * v[1]) / squared(u)).clamp(0.0, 1.0);
                    squared([v[0] - t * u[0], v[1] - t * u[1]]).sqrt()
                })
                .fold(f64::INFINITY, f64::min);
            assert!((slow - outside_m).abs() < 1e-6 * slow, "{slow} and {outside_m} at {p:?}");
        }
    }
}

#[test]
fn points_in_one_place_on_one_line_or_alone_are_taken() {
    let mut query = Query::default();
    let one = Mesh::new(&[[5.0, 5.0, 7.0], [5.0, 5.0, 9.0]]).unwrap();
    assert!(one.is_line());
    assert_eq!(one.read([5.0, 5.0], true, &mut query), Reading { height: 8.0, outside_m: 0.0 });
    assert_eq!(one.read([8.0, 9.0], true, &mut query), Reading { height: 8.0, outside_m: 5.0 });
    let line = Mesh::new(&[[0.0, 0.0, 0.0], [30.0, 0.0, 30.0], [10.0, 0.0, 0.0]]).unwrap();
    assert!(line.is_line());
    let reading = line.read([20.0, 7.0], true, &mut query);
    assert!((reading.height - 15.0).abs() < 1e-9 && (reading.outside_m - 7.0).abs() < 1e-9, "{reading:?}");
    assert_eq!(line.read([-9.0, 0.0], true, &mut query).height, 0.0);
    // All but on a line, where the triangulator's own arithmetic fails.
    for bend in [1e-7, 1e-9, 1e-11, 1e-13] {
        let bent: Vec<_> =
            (0..200u64).map(|i| [i as f64 * 5.0, bend * 1000.0 * Seed(9).unit(i), i as f64]).collect();
        let mesh = Mesh::new(&bent).unwrap();
        let reading = mesh.read([502.5, 0.0], true, &mut query);
        assert!((reading.height - 100.5).abs() < 1.0, "{bend}: {reading:?}");
    }
    assert!(Mesh::new(&[]).is_err());
}

#[test]
fn the_order_of_points_changes_nothing() {
    let mut points = cloud(200, 4);
    points.extend(cloud(50, 4).iter().map(|p| [p[0], p[1], p[2] + 3.0]));
    let mut turned = points.clone();
    turned.reverse();
    turned.rotate_left(77);
    let (a, b) = (Mesh::new(&points).unwrap(), Mesh::new(&turned).unwrap());
    let mut query = Query::default();
    for i in 0..500 {
        let p = [f64::from(i) * 2.0, f64::from(i * 13 % 700)];
        assert_eq!(a.read(p, true, &mut query), b.read(p, true, &mut Query::default()));
    }
    let mean = a.read([points[0][0], points[0][1]], true, &mut query).height;
    assert!((mean - (points[0][2] + 1.5)).abs() < 1e-9);
}
