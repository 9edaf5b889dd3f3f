//! Rivers run downhill on all kinds of land.

use orogen_core::{CellIx, Coef, Ctx, Frame, Op, Raster, Terrain, layer, math};

use super::{Made, Rivers, rivers};
use crate::test_support;

const CELL_M: [f64; 2] = [20.0, 20.0];
const NO_SEA: f32 = f32::NEG_INFINITY;

/// Parameters that give even small maps many rivers.
fn many() -> Rivers {
    Rivers {
        spring_m3_per_s: 0.0,
        spring_m2: 60.0 * 400.0,
        shortest_m: 60.0,
        lake_m2: 3000.0,
        ..Rivers::default()
    }
}

fn made(height: &Raster<f32>, params: &Rivers, sea_m: f32) -> Made {
    let rain = match params.rain_mm_per_yr {
        Coef::Const(rain) => rain as f32,
        Coef::Layer(_) => 1000.0,
    };
    rivers(height, CELL_M, params, |_, _| rain, sea_m, &Ctx::silent()).unwrap()
}

fn sound(height: &Raster<f32>, params: &Rivers, sea_m: f32) -> Made {
    let made = made(height, params, sea_m);
    assert_eq!(made.violation(sea_m), None);
    made
}

/// Hills with waves of many sizes on ground that falls to the south: pits, passes, valleys.
fn country(cols: usize, rows: usize, steep: f64) -> Raster<f32> {
    Raster::from_fn(cols, rows, |col, row| {
        let (x, y) = (col as f64, row as f64);
        let mut h = 400.0 - steep * y;
        for (k, size) in [3.1, 5.3, 9.7, 17.3, 31.1, 57.7].into_iter().enumerate() {
            let way = 2.4 * k as f64;
            let (u, v) = (x * math::cos(way) - y * math::sin(way), x * math::sin(way) + y * math::cos(way));
            h += size * 0.9 * math::sin(u / size + k as f64) * math::cos(v / (1.3 * size));
        }
        h as f32
    })
}

#[test]
fn water_obeys_gravity_on_all_kinds_of_land() {
    let mut holed = country(150, 131, 0.6);
    for (col, row) in [(40, 40), (41, 40), (41, 41), (90, 70), (0, 20), (149, 130)] {
        holed.as_mut_slice()[row * 150 + col] = f32::NAN;
    }
    let stepped = country(140, 150, 0.4).map(|h| (h / 5.0).floor() * 5.0);
    let lands =
        [test_support::rough(130, 171), country(160, 141, 0.5), country(161, 150, 2.0), holed, stepped];
    for (i, land) in lands.iter().enumerate() {
        for lakes in [true, false] {
            for sea_m in [NO_SEA, 40.0, 330.0] {
                for width_m in [6.0, 900.0] {
                    let params = Rivers { lakes, width_m, ..many() };
                    let made = made(land, &params, sea_m);
                    assert_eq!(
                        made.violation(sea_m),
                        None,
                        "land {i}, lakes {lakes}, sea {sea_m}, width {width_m}"
                    );
                    assert!(lakes || made.lakes.is_empty());
                }
            }
        }
    }
    assert!(made(&lands[1], &many(), NO_SEA).network.len() > 20);
}

#[test]
fn the_ground_between_vertices_falls_too() {
    // Every eighth of a piece: the nearest sample is never higher than one before, but where many brooks crowd together.
    for land in [country(160, 141, 0.5), country(161, 150, 2.0)] {
        let made = sound(&land, &many(), NO_SEA);
        let lakes: Vec<CellIx> = made.lakes.iter().flat_map(|lake| lake.cells.clone()).collect();
        let (mut samples, mut rises) = (0u32, 0u32);
        for reach in &made.network.reaches {
            let mut low = f32::INFINITY;
            for pair in reach.vertices.windows(2) {
                for k in 0..8 {
                    let at =
                        [0, 1].map(|i| pair[0].at[i] + (pair[1].at[i] - pair[0].at[i]) * f64::from(k) / 8.0);
                    let cell = at[1].round() as usize * land.cols() + at[0].round() as usize;
                    if lakes.contains(&CellIx::new(cell)) {
                        low = f32::INFINITY;
                        continue;
                    }
                    let h = made.height.as_slice()[cell];
                    samples += 1;
                    rises += u32::from(h > low + 0.01);
                    low = low.min(h);
                }
            }
        }
        assert!(samples > 5000 && rises * 200 < samples, "{rises} of {samples}");
    }
}

#[test]
fn a_brook_that_meets_its_neighbour_early_cuts_no_trench() {
    // Hills, and below them an even slope down which brooks run side by side to a valley across. Lines that are smoothed
    // and bent meet far above the place where the drainage joins them.
    let (cols, rows) = (150, 150);
    let hills = country(cols, rows, 0.0);
    let is_slope = |cell: usize| (95..195).contains(&(cell % cols + cell / cols));
    let land = Raster::from_fn(cols, rows, |col, row| {
        let down = (col + row) as f64;
        let rough = 0.8 * (1.0 - down / 90.0).max(0.0) * f64::from(hills.row(row)[col]);
        let valley = 2000.0 - 2.0 * col as f64 + 10.0 * (down - 205.0).max(0.0);
        (4000.0 - 10.0 * down + rough).max(valley) as f32
    });
    let params = Rivers { spring_m2: 25.0 * 400.0, ..many() };
    let made = sound(&land, &params, NO_SEA);
    let cut = |cell: usize| land.as_slice()[cell] - made.height.as_slice()[cell];
    let deepest = (0..cols * rows).filter(|&cell| is_slope(cell)).map(cut).fold(0.0, f32::max);
    assert!((0.1..40.0).contains(&deepest), "cut {deepest} m deep into an even slope");
}

#[test]
fn the_check_finds_what_is_wrong() {
    let land = country(160, 141, 0.5);
    let broken = |harm: &dyn Fn(&mut Made)| {
        let mut made = made(&land, &many(), NO_SEA);
        harm(&mut made);
        made.violation(NO_SEA).unwrap_or_default()
    };
    assert!(
        broken(&|made| made.height.as_mut_slice()[70 * 160 + 80] = -900.0).contains("pit")
            || broken(&|made| made.height.as_mut_slice()[70 * 160 + 80] = -900.0).contains("ground")
    );
    assert!(broken(&|made| made.network.reaches[0].vertices[3].z_m += 500.0).contains("goes from"));
    assert!(
        broken(&|made| {
            let reach = made.network.reaches.iter_mut().find(|reach| reach.into.is_some()).unwrap();
            reach.vertices.last_mut().unwrap().discharge_m3s *= 2.0;
        })
        .contains("m³/s")
    );
}

#[test]
fn odd_lands_are_survived() {
    for land in [
        Raster::filled(1, 1, 5.0),
        Raster::filled(2, 2, 5.0),
        Raster::filled(60, 1, 5.0),
        Raster::filled(1, 60, 5.0),
        Raster::from_fn(1, 60, |_, row| row as f32),
        Raster::filled(40, 40, 5.0),
        Raster::filled(40, 40, -5.0),
        Raster::filled(40, 40, f32::NAN),
    ] {
        for sea_m in [0.0, NO_SEA] {
            let params = Rivers { spring_m2: 1200.0, shortest_m: 0.0, ..many() };
            let made = made(&land, &params, sea_m);
            let thin = land.cols() < 3 || land.rows() < 3;
            assert!(thin || made.violation(sea_m).is_none(), "{:?}", made.violation(sea_m));
            assert_eq!(made.height.as_slice()[0].is_nan(), land.as_slice()[0].is_nan());
        }
    }
}

/// Valleys along straight lines, each falling to its end: ground rises away from the nearest line and ends 9 cells off.
fn valleys(cols: usize, rows: usize, lines: &[[[f64; 2]; 2]]) -> Raster<f32> {
    Raster::from_fn(cols, rows, |col, row| {
        let p = [col as f64, row as f64];
        let mut lowest = f64::INFINITY;
        for [a, b] in lines {
            let along = [b[0] - a[0], b[1] - a[1]];
            let length2 = along[0] * along[0] + along[1] * along[1];
            let t = (((p[0] - a[0]) * along[0] + (p[1] - a[1]) * along[1]) / length2).clamp(0.0, 1.0);
            let q = [a[0] + t * along[0], a[1] + t * along[1]];
            let off = math::hypot(p[0] - q[0], p[1] - q[1]);
            if off < 9.0 {
                lowest = lowest.min(500.0 - 2.0 * q[1] + 3.0 * off);
            }
        }
        if lowest.is_finite() { lowest as f32 } else { f32::NAN }
    })
}

#[test]
fn a_known_tree_has_its_strahler_orders() {
    // Two pairs of springs meet, then the pairs; a single brook comes in below.
    let lines = [
        [[13.0, 4.0], [31.0, 50.0]],
        [[49.0, 4.0], [31.0, 50.0]],
        [[93.0, 4.0], [111.0, 50.0]],
        [[129.0, 4.0], [111.0, 50.0]],
        [[31.0, 50.0], [71.0, 100.0]],
        [[111.0, 50.0], [71.0, 100.0]],
        [[71.0, 100.0], [73.0, 179.0]],
        [[131.0, 90.0], [72.0, 150.0]],
    ];
    let params = Rivers { spring_m2: 150.0 * 400.0, shortest_m: 300.0, ..many() };
    let made = sound(&valleys(143, 180, &lines), &params, NO_SEA);
    let mut orders: Vec<u8> = made.network.reaches.iter().map(|reach| reach.order).collect();
    orders.sort_unstable();
    assert_eq!(orders, [1, 1, 1, 1, 1, 2, 2, 3, 3]);
    let springs = made
        .network
        .reaches
        .iter()
        .enumerate()
        .filter(|(i, _)| !made.network.reaches.iter().any(|reach| reach.into == Some(*i)));
    assert!(springs.clone().all(|(_, reach)| reach.order == 1));
    assert_eq!(springs.count(), 5);
    // One river from a spring to the edge; the others end in it.
    let trunk = made.network.reaches.iter().filter(|reach| reach.river == 0).count();
    assert_eq!(trunk, 4);
    assert_eq!(made.network.reaches.iter().filter(|reach| reach.into.is_none()).count(), 1);
}

#[test]
fn discharge_is_the_rain_that_runs_off() {
    let land = country(160, 141, 2.0);
    let made = sound(&land, &Rivers { rain_mm_per_yr: Coef::Const(2000.0), runoff: 0.25, ..many() }, NO_SEA);
    for reach in &made.network.reaches {
        for vertex in &reach.vertices {
            assert!((vertex.width_m - 6.0 * vertex.discharge_m3s.sqrt()).abs() < 1e-9);
            assert!((vertex.depth_m - 0.4 * math::pow(vertex.discharge_m3s, 0.4)).abs() < 1e-9);
        }
        let discharge: Vec<f64> = reach.vertices.iter().map(|vertex| vertex.discharge_m3s).collect();
        assert!(discharge.windows(2).all(|pair| pair[1] >= pair[0] * (1.0 - 1e-12)));
    }
    // At mouths: half a metre a year from all land drained, which the flow at the end tells within what joins last.
    let largest = made.network.largest_m3s();
    let drained = made.flow.range().unwrap().1;
    let expected = f64::from(drained) * 0.5 / super::YEAR_S;
    assert!((largest - expected).abs() < 0.1 * expected, "{largest} and {expected}");
}

#[test]
fn rain_of_a_layer_counts_where_it_falls() {
    let frame = Frame::new([0.0, 0.0], [159.0 * 20.0, 140.0 * 20.0], [160, 141]).unwrap();
    let mut terrain = Terrain::new(frame);
    terrain.set(layer::HEIGHT, country(160, 141, 2.0));
    terrain.set(layer::MASK, Raster::filled(160, 141, 1000.0));
    let number = many();
    let of_layer = Rivers { rain_mm_per_yr: Coef::Layer(layer::MASK.name()), ..many() };
    let (a, b) =
        (number.apply(terrain.clone(), &Ctx::silent()), of_layer.apply(terrain.clone(), &Ctx::silent()));
    assert_eq!(a.unwrap().vector("rivers"), b.unwrap().vector("rivers"));
    // Rain in the west only leaves rivers in the east dry.
    terrain.set(layer::MASK, Raster::from_fn(160, 141, |col, _| if col < 80 { 1000.0 } else { 0.0 }));
    let west = Rivers { spring_m3_per_s: 1e-6, ..of_layer }.apply(terrain, &Ctx::silent()).unwrap();
    let rivers = west.vector("rivers").unwrap();
    let starts = (0..rivers.len()).map(|i| rivers.vertices()[rivers.parts(i).next().unwrap().start]);
    assert!(rivers.len() > 5);
    assert!(starts.filter(|p| p[0] > 120.0 * 20.0).count() * 4 < rivers.len());
}

#[test]
fn a_river_at_every_sample_is_refused() {
    let all = Rivers { spring_m3_per_s: 0.0, spring_m2: 0.0, ..Rivers::default() };
    assert_eq!(all.faults().len(), 1);
    assert!(Rivers::default().faults().is_empty() && many().faults().is_empty());
}

/// The map turned by a right angle, clockwise.
fn turned<T: Copy + Default + Send + Sync>(raster: &Raster<T>) -> Raster<T> {
    Raster::from_fn(raster.rows(), raster.cols(), |col, row| raster.row(raster.rows() - 1 - col)[row])
}

#[test]
fn a_turned_map_has_the_turned_rivers() {
    for (cols, rows) in [(151, 121), (150, 122)] {
        // Steep enough to have no depressions, whose passes tie.
        let land = country(cols, rows, 2.5);
        let params = Rivers { width_m: 300.0, ..many() };
        let (straight, around) = (sound(&land, &params, NO_SEA), sound(&turned(&land), &params, NO_SEA));
        assert!(straight.network.len() > 10);
        assert_eq!(turned(&straight.height), around.height);
        assert_eq!(turned(&straight.water), around.water);
        assert_eq!(turned(&straight.flow), around.flow);
        for (a, b) in straight.network.reaches.iter().zip(&around.network.reaches) {
            assert_eq!((a.into, a.order, a.vertices.len()), (b.into, b.order, b.vertices.len()));
            for (a, b) in a.vertices.iter().zip(&b.vertices) {
                assert_eq!([(rows - 1) as f64 - a.at[1], a.at[0]], b.at);
                assert_eq!((a.z_m, a.width_m), (b.z_m, b.width_m));
            }
        }
    }
}

#[test]
fn courses_keep_to_their_valleys_and_not_to_the_lattice() {
    // A valley that bends like no lattice does.
    let middle = |row: f64| 75.0 + 30.0 * math::sin(row / 23.0) + 6.0 * math::sin(row / 7.0);
    let land = Raster::from_fn(151, 220, |col, row| {
        let off = col as f64 - middle(row as f64);
        (300.0 - 0.5 * row as f64 + 0.05 * off * off) as f32
    });
    let params = Rivers { spring_m2: 3000.0 * 400.0, ..many() };
    let made = sound(&land, &params, NO_SEA);
    let reach = made.network.reaches.iter().max_by_key(|reach| reach.vertices.len()).unwrap();
    assert!(reach.vertices.len() > 80, "{}", reach.vertices.len());
    let inner = &reach.vertices[5..reach.vertices.len() - 5];
    for vertex in inner {
        let off = (vertex.at[0] - middle(vertex.at[1])).abs();
        assert!(off < 4.5, "{off} cells from the middle at {:?}", vertex.at);
    }
    // Directions of pieces: on the lattice all are multiples of 45 degrees.
    let near = inner.windows(2).filter(|pair| {
        let turn = math::atan2(pair[1].at[1] - pair[0].at[1], pair[1].at[0] - pair[0].at[0]).to_degrees();
        let off = (turn / 45.0 - (turn / 45.0).round()).abs() * 45.0;
        off < 1.0
    });
    // A line of any direction has a share of 2 in 45.
    assert!((near.count() as f64) < 0.15 * inner.len() as f64);
    // No sharp corners either.
    let sharpest = inner.windows(3).map(|p| {
        let way = |a: usize, b: usize| math::atan2(p[b].at[1] - p[a].at[1], p[b].at[0] - p[a].at[0]);
        let turn = (way(1, 2) - way(0, 1)).to_degrees().rem_euclid(360.0);
        turn.min(360.0 - turn)
    });
    assert!(sharpest.fold(0.0, f64::max) < 50.0);
}

#[test]
fn deep_depressions_are_level_lakes_with_outlets_or_none() {
    // A valley to the south with a bowl in its way.
    let land = Raster::from_fn(101, 140, |col, row| {
        let (x, y) = (col as f64 - 50.0, row as f64 - 70.0);
        let bowl = 40.0 * math::exp(-(x * x + y * y) / 150.0);
        (300.0 - 0.3 * y + 0.02 * x * x - bowl) as f32
    });
    let with = sound(&land, &many(), NO_SEA);
    assert_eq!(with.lakes.len(), 1);
    let lake = &with.lakes[0];
    assert!(lake.cells.len() > 100);
    for &cell in &lake.cells {
        let (h, w) = (with.height.as_slice()[cell.at()], with.water.as_slice()[cell.at()]);
        assert!((h + w - lake.level_m).abs() < 1e-3);
    }
    let deepest = with.water.range().unwrap().1;
    assert!((20.0..45.0).contains(&deepest), "{deepest}");
    let without = sound(&land, &Rivers { lakes: false, ..many() }, NO_SEA);
    assert!(without.lakes.is_empty());
    // The outlet is cut as deep as the bowl instead.
    let lowest = |made: &Made| made.height.row(100).iter().fold(f32::INFINITY, |a, &b| a.min(b));
    assert!(lowest(&without) < lowest(&with) - 10.0);
}

#[test]
fn rivers_end_at_the_coast() {
    let land = country(160, 141, 2.5);
    let made = sound(&land, &many(), 250.0);
    let mut mouths = 0;
    for reach in made.network.reaches.iter().filter(|reach| reach.into.is_none()) {
        let end = reach.vertices.last().unwrap();
        let [col, row] = end.at.map(|at| at.round() as usize);
        if land.row(row)[col] <= 250.0 {
            assert_eq!(end.z_m, 250.0);
            mouths += 1;
        }
        assert!(reach.vertices.iter().all(|vertex| vertex.z_m >= 250.0));
    }
    assert!(mouths > 3, "{mouths}");
    // The sea stays.
    for (before, after) in land.as_slice().iter().zip(made.height.as_slice()) {
        assert!((*before <= 250.0) == (*after <= 250.0) && (*before > 250.0 || before == after));
    }
}

#[test]
fn a_finer_map_has_the_same_rivers() {
    // The same hills at two samplings: what leaves the map where, and how much.
    let land = |samples: usize| {
        let per = 8.0 * 128.0 / (samples - 1) as f64;
        Raster::from_fn(samples, samples, |col, row| {
            let (x, y) = (col as f64 * per / 8.0, row as f64 * per / 8.0);
            let waves = math::sin(x / 11.0 + 0.4 * math::sin(y / 17.0)) + 0.5 * math::sin(x / 5.3 - y / 9.0);
            (400.0 - 1.5 * y + 12.0 * waves) as f32
        })
    };
    let params = Rivers { spring_m2: 3e5, shortest_m: 400.0, meander: 0.0, ..many() };
    let mouths = |samples: usize| {
        let cell_m = 8.0 * 20.0 * 128.0 / (8.0 * (samples - 1) as f64);
        let made =
            rivers(&land(samples), [cell_m; 2], &params, |_, _| 1000.0, NO_SEA, &Ctx::silent()).unwrap();
        assert_eq!(made.violation(NO_SEA), None);
        let ends = made.network.reaches.iter().filter(|reach| reach.into.is_none());
        let mut ends: Vec<[f64; 2]> = ends
            .map(|reach| reach.vertices[reach.vertices.len() - 1])
            .map(|end| [end.discharge_m3s, end.at[0] * cell_m])
            .collect();
        ends.sort_by(|a, b| b[0].total_cmp(&a[0]));
        ends
    };
    let (coarse, fine) = (mouths(129), mouths(257));
    assert!(coarse.len() >= 3);
    for (a, b) in coarse.iter().zip(&fine).take(3) {
        assert!((a[0] - b[0]).abs() < 0.1 * a[0], "{coarse:?} and {fine:?}");
        assert!((a[1] - b[1]).abs() < 100.0, "{coarse:?} and {fine:?}");
    }
}
