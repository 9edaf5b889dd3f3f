use super::*;
use crate::survey::sample::{Between, sample};
use orogen_core::testkit::{assert_close, hills};
use orogen_core::{Cell, math};

fn draw(height: &Raster<f32>, interval_m: f64, smooth: bool) -> Lines<[f64; 2]> {
    let params = Contours { interval_m, base_m: 0.0, smooth };
    contours(height, &params, |at, _| at, &Ctx::silent()).unwrap()
}

/// Rough ground from a hash, for crossings of every kind.
fn rough(cols: usize, rows: usize) -> Raster<f32> {
    Raster::from_fn(cols, rows, |c, r| {
        let hash = (c as u32).wrapping_mul(0x9e37_79b9) ^ (r as u32).wrapping_mul(0x85eb_ca6b);
        let hash = (hash ^ hash >> 15).wrapping_mul(0xc2b2_ae35);
        (hash >> 8) as f32 / 160_000.0 + 0.013 // on no level
    })
}

/// Twice the area on the left of a closed line, rows taken southwards.
fn area(line: &[[f64; 2]]) -> f64 {
    line.windows(2).map(|p| p[1][0] * p[0][1] - p[0][0] * p[1][1]).sum()
}

#[test]
fn a_cone_has_round_closed_lines_with_the_summit_on_their_left() {
    let cone = Raster::from_fn(201, 201, |c, r| {
        let (x, y) = (c as f64 - 100.0, r as f64 - 100.0);
        (100.5 - math::hypot(x, y)) as f32
    });
    let lines = draw(&cone, 10.0, false);
    // From below 0 at the corners to above 100 at the summit; 0 and below leave through the edges.
    let closed: Vec<usize> = (0..lines.len()).filter(|&i| lines.closed[i]).collect();
    assert_eq!(closed.len(), 10);
    for i in closed {
        let line = lines.line(i);
        assert_eq!(line.first(), line.last());
        let radius = 100.5 - lines.levels_m[i];
        assert!(area(line) > 0.0, "runs clockwise at {}", lines.levels_m[i]);
        for [col, row] in line {
            assert_close!(math::hypot(col - 100.0, row - 100.0), radius, abs = 0.13);
        }
    }
    let levels: Vec<f64> = lines.levels_m.clone();
    assert!(levels.is_sorted());
    assert!((0..lines.len()).all(|i| lines.closed[i] == (lines.levels_m[i] > 0.0)));
}

/// Every vertex lies on an edge at its level, every open end at the border or a hole, and each crossing is used once.
#[test]
fn lines_are_whole_across_bands_and_saddles() {
    let mut ground = rough(90, 150);
    for (col, row) in [(20, 64), (21, 64), (60, 100), (89, 0)] {
        ground[Cell { col, row }] = f32::NAN;
    }
    let lines = draw(&ground, 7.0, false);
    let hole_near = |[col, row]: [f64; 2]| {
        (-1..=1).any(|dr| {
            (-1..=1).any(|dc| ground.clamped(col.round() as isize + dc, row.round() as isize + dr).is_nan())
        })
    };
    let mut seen = std::collections::BTreeMap::new();
    for i in 0..lines.len() {
        let (line, level) = (lines.line(i), lines.levels_m[i]);
        assert!(line.len() >= 2);
        for &[col, row] in line {
            assert!(col.fract() == 0.0 || row.fract() == 0.0, "{col}, {row} lies on no edge");
            assert_close!(sample(&ground, [col, row], Between::Bilinear), level, abs = 1e-3);
        }
        let open = if lines.closed[i] { line.len() - 1 } else { line.len() };
        for at in &line[..open] {
            *seen.entry((at.map(f64::to_bits), level.to_bits())).or_insert(0) += 1;
        }
        if lines.closed[i] {
            assert_eq!(line.first(), line.last());
        } else {
            for &[col, row] in [line[0], line[line.len() - 1]].iter() {
                let border = col == 0.0 || row == 0.0 || col == 89.0 || row == 149.0;
                assert!(border || hole_near([col, row]), "{level} ends at {col}, {row}");
            }
        }
    }
    assert!(seen.values().all(|&n| n == 1));
    // All crossings of edges that belong to a whole cell are there.
    let mut crossings = 0;
    let whole = |c: usize, r: usize| {
        c < 89
            && r < 149
            && [(0, 0), (1, 0), (0, 1), (1, 1)]
                .iter()
                .all(|(i, j)| !ground[Cell { col: c + i, row: r + j }].is_nan())
    };
    for row in 0..150 {
        for col in 0..90 {
            for (dc, dr) in [(1, 0), (0, 1)] {
                if col + dc > 89 || row + dr > 149 {
                    continue;
                }
                let beside = whole(col, row)
                    || (dc == 1 && row > 0 && whole(col, row - 1))
                    || (dr == 1 && col > 0 && whole(col - 1, row));
                let (a, b) = (ground[Cell { col, row }], ground[Cell { col: col + dc, row: row + dr }]);
                if beside && !a.is_nan() && !b.is_nan() {
                    crossings += (0..20).filter(|k| (a > 7.0 * *k as f32) != (b > 7.0 * *k as f32)).count();
                }
            }
        }
    }
    assert_eq!(seen.len(), crossings);
}

#[test]
fn samples_on_a_level_count_as_below_and_leave_no_stubs() {
    let steps = Raster::from_fn(40, 40, |c, r| ((c / 8 + r / 8) * 10) as f32);
    let lines = draw(&steps, 10.0, false);
    for i in 0..lines.len() {
        let line = lines.line(i);
        assert!(line.windows(2).all(|pair| pair[0] != pair[1]));
        assert!(!lines.closed[i] || line.len() >= 4);
    }
    let level = Raster::filled(20, 20, 100.0);
    assert!(draw(&level, 50.0, false).is_empty());
}

#[test]
fn smooth_lines_have_no_corners_and_stay_between_their_neighbours() {
    let ground = hills(41, 100.0);
    let [plain, smooth] = [false, true].map(|smooth| draw(&ground, 20.0, smooth));
    // All but the sharpest hundredth of the turns: a line may have a corner where it nearly meets another.
    let turn = |lines: &Lines<[f64; 2]>| {
        let mut turns = Vec::new();
        for i in 0..lines.len() {
            for three in lines.line(i).windows(3) {
                let [a, b] = [0, 1].map(|k: usize| {
                    let [x, y] = [0, 1].map(|axis: usize| three[k + 1][axis] - three[k][axis]);
                    (math::atan2(y, x), math::hypot(x, y))
                });
                // Short pieces turn by rounding alone.
                if a.1 > 0.02 && b.1 > 0.02 {
                    let turn = a.0 - b.0 + 3.0 * std::f64::consts::PI;
                    turns.push((turn.rem_euclid(std::f64::consts::TAU) - std::f64::consts::PI).abs());
                }
            }
        }
        turns.sort_by(f64::total_cmp);
        turns[turns.len() * 99 / 100]
    };
    assert!(turn(&smooth) < 0.5 * turn(&plain), "{} and {}", turn(&smooth), turn(&plain));
    for i in 0..smooth.len() {
        for &[col, row] in smooth.line(i) {
            assert_close!(ground.bilinear(col, row), smooth.levels_m[i], abs = 2.0);
        }
    }
}

#[test]
fn the_smallest_models_have_no_lines_and_a_slope_of_two_columns_has() {
    for (cols, rows) in [(1, 1), (7, 1), (1, 7)] {
        for smooth in [false, true] {
            assert!(draw(&rough(cols, rows), 1.0, smooth).is_empty());
        }
    }
    assert!(draw(&Raster::filled(5, 5, f32::NAN), 1.0, true).is_empty());
    let slope = Raster::from_vec(2, 2, vec![0.0, 10.0, 0.0, 10.0]).unwrap();
    let lines = draw(&slope, 5.0, false);
    assert_eq!(lines.levels_m, [0.0, 5.0]);
    // High ground, in the east, lies to the left of the way from north to south.
    assert_eq!(lines.line(1), [[0.5, 0.0], [0.5, 1.0]]);
}

#[test]
fn too_many_levels_or_vertices_are_refused() {
    let params = Contours { interval_m: 1e-3, ..Contours::default() };
    let error = contours(&hills(9, 1000.0), &params, |at, _| at, &Ctx::silent()).unwrap_err();
    assert!(error.to_string().contains("larger interval"), "{error}");
    let params = Contours { interval_m: 2e-3, ..Contours::default() };
    let error = contours(&rough(1000, 1000), &params, |at, _| at, &Ctx::silent()).unwrap_err();
    assert!(error.to_string().contains("larger interval"), "{error}");
}

#[test]
fn too_many_vertices_are_refused_before_the_work_starts() {
    // 65 rows of steps from one end to the other: 2^27 vertices are passed in the first band already.
    let height = Raster::from_fn(65, 65, |col, row| if (col + row) % 2 == 0 { 1e7 } else { -1e7 });
    let params = Contours { interval_m: 200.0, ..Contours::default() };
    let error = contours(&height, &params, |at, _| at, &Ctx::silent()).unwrap_err();
    assert!(error.to_string().contains("larger interval"), "{error}");
    let expected = variation_m(&height, &Ctx::silent()).unwrap() / params.interval_m;
    assert!(expected > 5.0 * MOST_VERTICES as f64, "{expected} would not have been refused");
    // What the estimate counts is what is drawn, within a few percent where lines are many.
    let params = Contours { interval_m: 0.5, ..Contours::default() };
    let height = rough(200, 150);
    let expected = variation_m(&height, &Ctx::silent()).unwrap() / params.interval_m;
    let drawn = contours(&height, &params, |at, _| at, &Ctx::silent()).unwrap().vertices.len() as f64;
    assert!((0.9..1.2).contains(&(drawn / expected)), "{drawn} drawn, {expected} expected");
}

#[test]
fn memory_that_is_not_there_is_a_sentence() {
    let error = room_for(&mut Vec::<[f64; 3]>::new(), usize::MAX / 64).unwrap_err();
    assert!(error.to_string().contains("not enough memory"), "{error}");
}

#[test]
fn the_same_lines_on_any_number_of_threads() {
    let ground = rough(70, 400);
    let [one, three] = [1, 3].map(|threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| draw(&ground, 9.0, true))
    });
    assert_eq!(one, three);
}
