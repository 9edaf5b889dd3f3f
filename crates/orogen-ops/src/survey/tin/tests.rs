use super::*;
use orogen_core::Cell;
use orogen_core::testkit::hills;

type Method = fn(&Raster<f32>, f64, &Ctx<'_>) -> Result<Tin, OpError>;
const METHODS: [Method; 2] = [greedy, hierarchy];

/// Checks that triangles cover the ground once, run one way, fit without cracks and stay within the error; their number.
#[track_caller]
fn sound(height: &Raster<f32>, tin: &Tin, max_error_m: f64) -> usize {
    let (cols, rows) = (height.cols(), height.rows());
    let (mut twice, mut worst) = (0i64, 0.0f64);
    let mut edges = std::collections::BTreeMap::new();
    let mut covered = Raster::filled(cols, rows, false);
    for corners in &tin.triangles {
        let [a, b, c] = corners.map(|corner| tin.vertices[corner as usize].map(i64::from));
        let area = |a: [i64; 2], b: [i64; 2], p: [i64; 2]| {
            (b[1] - a[1]) * (p[0] - a[0]) - (b[0] - a[0]) * (p[1] - a[1])
        };
        let whole = area(a, b, c);
        assert!(whole > 0, "a triangle runs clockwise or has no area");
        twice += whole;
        for (from, to) in [(0, 1), (1, 2), (2, 0)] {
            assert!(
                edges.insert((corners[from], corners[to]), ()).is_none(),
                "an edge belongs to two triangles"
            );
        }
        let z = |v: [i64; 2]| f64::from(height[Cell { col: v[0] as usize, row: v[1] as usize }]);
        for row in a[1].min(b[1]).min(c[1])..=a[1].max(b[1]).max(c[1]) {
            for col in a[0].min(b[0]).min(c[0])..=a[0].max(b[0]).max(c[0]) {
                let w = [area(b, c, [col, row]), area(c, a, [col, row]), area(a, b, [col, row])];
                if w.iter().all(|w| *w >= 0) {
                    let plane = (w[0] as f64 * z(a) + w[1] as f64 * z(b) + w[2] as f64 * z(c)) / whole as f64;
                    worst = worst.max((plane - z([col, row])).abs());
                    covered[Cell { col: col as usize, row: row as usize }] = true;
                }
            }
        }
    }
    assert!(worst <= max_error_m * 1.000_01, "a sample is {worst} m off");
    if height.as_slice().iter().all(|z| z.is_finite()) {
        assert_eq!(twice, 2 * (cols as i64 - 1) * (rows as i64 - 1));
        // Every edge inside has a twin, so there are no cracks.
        for (from, to) in edges.keys() {
            let [a, b] = [from, to].map(|v| tin.vertices[*v as usize]);
            let on_border = (0..2).any(|axis| {
                let last = [cols, rows][axis] as u32 - 1;
                a[axis] == b[axis] && (a[axis] == 0 || a[axis] == last)
            });
            assert!(on_border || edges.contains_key(&(*to, *from)));
        }
        assert!(covered.as_slice().iter().all(|c| *c));
    }
    tin.triangles.len()
}

/// Rough ground from a hash.
fn rough(cols: usize, rows: usize) -> Raster<f32> {
    Raster::from_fn(cols, rows, |c, r| {
        let hash = (c as u32).wrapping_mul(0x9e37_79b9) ^ (r as u32).wrapping_mul(0x85eb_ca6b);
        let hash = (hash ^ hash >> 15).wrapping_mul(0xc2b2_ae35);
        (hash >> 8) as f32 / 1_600_000.0
    })
}

#[test]
fn errors_are_kept_and_the_ground_is_covered() {
    for (ground, errors) in
        [(hills(129, 300.0), [0.5, 10.0]), (rough(65, 65), [1.0, 4.0]), (rough(70, 41), [0.01, 3.0])]
    {
        for error in errors {
            let counts =
                METHODS.map(|method| sound(&ground, &method(&ground, error, &Ctx::silent()).unwrap(), error));
            assert!(
                counts[0] <= counts[1],
                "greedy has {} triangles, the hierarchy {}",
                counts[0],
                counts[1]
            );
        }
    }
}

#[test]
fn a_plane_needs_two_triangles() {
    let plane = Raster::from_fn(33, 33, |c, r| 2.5 * c as f32 - 7.0 * r as f32);
    for method in METHODS {
        assert_eq!(sound(&plane, &method(&plane, 0.01, &Ctx::silent()).unwrap(), 0.01), 2);
    }
    let wide = Raster::from_fn(50, 20, |c, r| 0.5 * c as f32 + r as f32);
    assert_eq!(sound(&wide, &greedy(&wide, 0.01, &Ctx::silent()).unwrap(), 0.01), 2);
    for (cols, rows) in [(2, 2), (2, 9), (3, 3)] {
        for method in METHODS {
            let ground = rough(cols, rows);
            sound(&ground, &method(&ground, 1e-3, &Ctx::silent()).unwrap(), 1e-3);
        }
    }
}

#[test]
fn holes_are_cut_out_and_all_other_cells_kept() {
    let mut ground = hills(60, 100.0);
    let hole = |col: usize, row: usize| (20..31).contains(&col) && (10..16).contains(&row) || col + row < 12;
    for row in 0..60 {
        for col in 0..60 {
            if hole(col, row) {
                ground[Cell { col, row }] = f32::NAN;
            }
        }
    }
    for method in METHODS {
        let tin = method(&ground, 1.0, &Ctx::silent()).unwrap();
        sound(&ground, &tin, 1.0);
        assert!(tin.vertices.iter().all(|v| !hole(v[0] as usize, v[1] as usize)));
        // Cells whose four corners are ground are covered: twice their area is in the triangles.
        let whole =
            |c: usize, r: usize| [(0, 0), (1, 0), (0, 1), (1, 1)].iter().all(|(i, j)| !hole(c + i, r + j));
        let cells =
            (0..59).flat_map(|r| (0..59).map(move |c| (c, r))).filter(|&(c, r)| whole(c, r)).count() as i64;
        let twice: i64 = tin
            .triangles
            .iter()
            .map(|t| {
                let [a, b, c] = t.map(|v| tin.vertices[v as usize].map(i64::from));
                (b[1] - a[1]) * (c[0] - a[0]) - (b[0] - a[0]) * (c[1] - a[1])
            })
            .sum();
        assert!((2 * cells..2 * cells + 60).contains(&twice), "{twice} of {}", 2 * cells);
    }
    for method in METHODS {
        let none = method(&Raster::filled(5, 5, f32::NAN), 1.0, &Ctx::silent()).unwrap();
        assert_eq!(none, Tin::default());
    }
}

#[test]
fn bad_calls_are_refused() {
    for method in METHODS {
        assert!(method(&hills(9, 1.0), 0.0, &Ctx::silent()).is_err());
        assert!(method(&hills(9, 1.0), f64::NAN, &Ctx::silent()).is_err());
        assert!(method(&Raster::filled(1, 1, 0.0), 1.0, &Ctx::silent()).is_err());
        assert!(method(&Raster::filled(9, 1, 0.0), 1.0, &Ctx::silent()).is_err());
        assert!(method(&Raster::filled(30_000, 2, 0.0), 1.0, &Ctx::silent()).is_err());
    }
}
