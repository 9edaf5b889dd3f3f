use orogen_core::testkit::assert_close;
use orogen_core::{Ctx, Frame, LayerName, Op, Raster, Seed, Terrain, layer, math};

use super::*;

const CELL_M: f64 = 10.0;

/// The usual wind over a lattice of ten metres, that of the samples.
fn tens() -> Wind {
    Wind { saturation_m: CELL_M, ..Wind::default() }
}

/// A wind that blows to the east, steady, over given sand.
fn steady() -> Wind {
    Wind { wind_deg: 90.0, spread_deg: 0.0, sand_m: Coef::Layer(LayerName::fixed("sand")), ..tens() }
}

fn frame(cols: usize, rows: usize) -> Frame {
    Frame::new([0.0, 0.0], [(cols - 1) as f64 * CELL_M, (rows - 1) as f64 * CELL_M], [cols, rows]).unwrap()
}

fn run(height: &Raster<f32>, sand: &Raster<f32>, params: &Wind) -> Blown {
    let frame = frame(height.cols(), height.rows());
    wind(height, sand.clone(), None, None, &frame, params, &Ctx::new(Seed(5))).unwrap()
}

/// A heap of sand in the west of flat rock.
fn heap(high: f64) -> Raster<f32> {
    // Five times as wide as high.
    Raster::from_fn(161, 81, |c, r| {
        let (x, y) = ((c as f64 - 45.0) * CELL_M, (r as f64 - 40.0) * CELL_M);
        (high * math::exp(-(x * x + y * y) / (40.0 * high * high))) as f32
    })
    .map(|d| if d < 0.05 { 0.0 } else { d })
}

/// Mean column, in metres, of the sand.
fn centre(sand: &Raster<f32>) -> f64 {
    let (mut sum, mut weights) = (0.0, 0.0);
    for row in 0..sand.rows() {
        for (col, &d) in sand.row(row).iter().enumerate() {
            sum += f64::from(d) * col as f64 * CELL_M;
            weights += f64::from(d);
        }
    }
    sum / weights
}

#[test]
fn sand_is_conserved() {
    let height = Raster::from_fn(97, 75, |c, r| {
        (40.0 * math::sin(c as f64 * 0.12) * math::cos(r as f64 * 0.17) + 3.0 * math::sin((c * r) as f64))
            as f32
    });
    let sand = Raster::from_fn(97, 75, |c, r| 4.0 + 3.0 * math::sin((c + 2 * r) as f64 * 0.3) as f32);
    for (edge, wind_deg) in [(Edge::Loop, 90.0), (Edge::Loop, 203.0), (Edge::Open, 340.0)] {
        let params = Wind { wind_deg, edge, duration_yr: 30.0, spread_deg: 10.0, ..steady() };
        let blown = run(&height, &sand, &params);
        let figure = |name: &str| blown.figures.iter().find(|f| f.0 == name).unwrap().1;
        let cell = CELL_M * CELL_M;
        assert_close!(figure("sand_before"), sand.sum_f64() * cell, rel = 1e-12);
        assert_close!(figure("sand_after"), blown.sand.sum_f64() * cell, rel = 1e-12);
        assert_close!(figure("sand_after") + figure("blown_out"), figure("sand_before"), rel = 1e-6);
        assert_eq!(figure("blown_out") > 0.0, edge == Edge::Open);
        // Land gains where sand gains.
        let gain = (blown.height.sum_f64() - height.sum_f64()) * cell;
        assert!((gain + figure("blown_out")).abs() < 1e-6 * figure("sand_before"), "{gain}");
        assert!(blown.sand.range().unwrap().0 >= 0.0);
    }
}

#[test]
fn worn_rock_becomes_sand() {
    let height = heap(12.0);
    let params = Wind { abrasion_mm_per_yr: 5.0, duration_yr: 20.0, ..steady() };
    let blown = run(&height, &height, &params);
    let [(_, before), (_, after), (_, out), (_, worn)] = blown.figures;
    assert!(worn > 0.0);
    assert_eq!(out, 0.0);
    assert_close!(after, before + worn, rel = 1e-6);
    let gain = (blown.height.sum_f64() - height.sum_f64()) * CELL_M * CELL_M;
    assert!(gain.abs() < 1e-6 * before, "{gain}");
    // Rock is worn, and nowhere raised.
    let low = Raster::from_fn(161, 81, |c, r| blown.height.row(r)[c] - blown.sand.row(r)[c]);
    let (least, most) = low.range().unwrap();
    assert!(least < -1e-4 && most < 1e-4, "{least} to {most}");
}

#[test]
fn sand_wears_soft_beds_and_leaves_hard_ones() {
    use crate::rock::{Strata as Column, strata::At, strata::Bed, strata::Fault};
    // Level rock, hard in the north and soft in the south, and the heap in the west in the middle of both.
    let bed = |hardness: f64| Bed { thickness_m: 1000.0, hardness, ..Bed::default() };
    let at = |x_m: f64| At { x_m, y_m: 400.0 };
    let strata = |beds: Vec<Bed>| Column {
        beds,
        top_m: 500.0,
        repeats: false,
        uneven_m: 0.0,
        faults: vec![Fault { points: vec![at(0.0), at(1600.0)], throw_m: -1000.0, reach_m: 0.0 }],
        ..Column::default()
    };
    let params = Wind { abrasion_mm_per_yr: 5.0, duration_yr: 20.0, ..steady() };
    let frame = frame(161, 81);
    let height = heap(12.0);
    let blown = |beds: Vec<Bed>| {
        let mut terrain = Terrain::new(frame);
        terrain.set(layer::HEIGHT, height.clone());
        terrain.set(layer::SAND, height.clone());
        if !beds.is_empty() {
            terrain = strata(beds).apply(terrain, &Ctx::silent()).unwrap();
        }
        params.apply(terrain, &Ctx::new(Seed(5))).unwrap()
    };
    let worn = |after: &Terrain, rows: std::ops::Range<usize>| -> f64 {
        let (h, sand) = (after.get(layer::HEIGHT).unwrap(), after.get(layer::SAND).unwrap());
        rows.map(|r| h.row(r).iter().zip(sand.row(r)).map(|(h, s)| f64::from(s - h)).sum::<f64>()).sum()
    };
    let bedded = blown(vec![bed(0.95), bed(0.2)]);
    let sides = [worn(&bedded, 0..39), worn(&bedded, 42..81)];
    let (hard, soft) = (sides[0].min(sides[1]), sides[0].max(sides[1]));
    assert!(soft > 8.0 * hard && hard > 0.0, "{sides:?}");
    // Middling beds wear as rock does without any, to the bit.
    let (plain, middling) = (blown(Vec::new()), blown(vec![bed(0.5), bed(0.5)]));
    assert_eq!(plain.get(layer::HEIGHT).unwrap(), middling.get(layer::HEIGHT).unwrap());
}

#[test]
fn no_sand_no_change() {
    let height = Raster::from_fn(65, 65, |c, r| ((c * 7 + r * 13) % 29) as f32);
    let none = Raster::filled(65, 65, 0.0);
    assert_eq!(run(&height, &none, &steady()).height, height);
    // Nor where sand never comes: north of a heap that an east wind blows along.
    let sand = heap(10.0);
    let ground = Raster::from_fn(161, 81, |c, r| sand.row(r)[c] + ((c * 7 + r * 13) % 5) as f32 * 0.1);
    let blown = run(&ground, &sand, &Wind { duration_yr: 20.0, ..steady() });
    for row in 0..10 {
        assert_eq!(blown.height.row(row), ground.row(row));
    }
}

#[test]
fn a_dune_wanders_downwind_and_a_high_one_slower() {
    let rate = |high: f64| {
        let start = heap(high);
        let early = run(&start, &start, &Wind { duration_yr: 10.0, ..steady() });
        let late = run(&early.height, &early.sand, &Wind { duration_yr: 10.0, ..steady() });
        let mean = f64::from(late.sand.range().unwrap().1);
        ((centre(&late.sand) - centre(&early.sand)) / 10.0, mean)
    };
    let ((small, low), (large, high)) = (rate(9.0), rate(20.0));
    assert!(low < high, "{low} and {high} m high");
    assert!(small > 1.0 && large > 0.3, "{small} and {large} m a year");
    assert!(small > 1.4 * large, "{small} m a year for the small, {large} for the large");
}

#[test]
fn the_lee_is_a_slip_face_at_the_angle_of_repose() {
    let start = heap(20.0);
    let blown = run(&start, &start, &Wind { duration_yr: 100.0, ..steady() });
    let row = blown.height.row(40);
    let crest = (0..161).max_by(|&a, &b| row[a].total_cmp(&row[b])).unwrap();
    // Over two cells, as everywhere where angles are held.
    let grade = |c: usize| f64::from(row[c] - row[c + 2]) / (2.0 * CELL_M);
    let steepest = (crest..159).map(grade).fold(0.0, f64::max);
    let windward = (crest - 12..crest).map(|c| -grade(c)).fold(0.0, f64::max);
    let repose = math::tan(33f64.to_radians());
    assert!((0.9 * repose..1.1 * repose).contains(&steepest), "lee at {steepest}, repose is {repose}");
    assert!(windward < 0.6 * repose, "windward at {windward}");
}

/// Direction across the crests, in degrees from north, and how clearly there is one (0 to 1): by the structure tensor.
fn across(height: &Raster<f32>) -> (f64, f64) {
    let (mut xx, mut yy, mut xy) = (0.0, 0.0, 0.0);
    for row in 10..height.rows() - 10 {
        for col in 10..height.cols() - 10 {
            let x = f64::from(height.row(row)[col + 1] - height.row(row)[col - 1]);
            let y = f64::from(height.row(row - 1)[col] - height.row(row + 1)[col]);
            xx += x * x;
            yy += y * y;
            xy += x * y;
        }
    }
    let angle = 0.5 * math::atan2(2.0 * xy, yy - xx).to_degrees();
    (angle, math::hypot(yy - xx, 2.0 * xy) / (xx + yy))
}

#[test]
fn dunes_of_an_oblique_wind_lie_across_the_wind() {
    let n = 151;
    let flat = Raster::filled(n, n, 50.0f32);
    for wind_deg in [30.0, 63.0, 112.0] {
        let params = Wind { wind_deg, sand_m: Coef::Const(8.0), duration_yr: 100.0, ..tens() };
        let blown = run(&flat, &Raster::filled(n, n, 8.0), &params);
        let relief = blown.height.range().unwrap();
        assert!(relief.1 - relief.0 > 5.0, "{relief:?}");
        let (angle, clear) = across(&blown.height);
        let off = (angle - wind_deg + 270.0).rem_euclid(180.0) - 90.0;
        assert!(
            off.abs() < 9.0 && clear > 0.3,
            "wind to {wind_deg}: across the crests is {angle}, clear {clear}"
        );
    }
}

#[test]
fn a_finer_map_has_the_same_dunes() {
    let params = Wind { duration_yr: 60.0, sand_m: Coef::Const(6.0), ..tens() };
    let run = |samples: usize| {
        let frame = Frame::square(1500.0, samples).unwrap();
        let height = Raster::from_fn(samples, samples, |c, r| {
            (30.0 * math::sin(frame.x_m(c) / 150.0) * math::cos(frame.y_m(r) / 190.0)) as f32
        });
        wind(&height, Raster::filled(samples, samples, 6.0), None, None, &frame, &params, &Ctx::new(Seed(3)))
            .unwrap()
            .sand
    };
    let (coarse, fine) = (run(129), run(257));
    let (low, high) = fine.range().unwrap();
    let squares: f64 = (0..129 * 129)
        .map(|i| f64::from(coarse.row(i / 129)[i % 129] - fine.row(2 * (i / 129))[2 * (i % 129)]))
        .map(|d| d * d)
        .sum();
    let rmse = (squares / (129.0 * 129.0)).sqrt() / f64::from(high - low);
    assert!(rmse < 0.02, "{rmse} of {}", high - low);
}

#[test]
fn odd_land_does_no_harm() {
    for (cols, rows) in [(1, 1), (2, 2), (9, 1), (1, 9), (2, 30)] {
        let window = Frame::square(640.0, 65).unwrap().window(3, 3, cols, rows);
        for value in [7.0, f32::NAN] {
            let mut terrain = Terrain::new(window);
            terrain.set(layer::HEIGHT, Raster::filled(cols, rows, value));
            let params = Wind { duration_yr: 5.0, ..tens() };
            let after = params.apply(terrain, &Ctx::silent()).unwrap();
            let height = after.get(layer::HEIGHT).unwrap();
            assert!(height.as_slice().iter().all(|h| h.is_nan() == value.is_nan()), "{cols} × {rows}");
            assert!(value.is_nan() || (height.sum_f64() / (cols * rows) as f64 - 7.0).abs() < 1e-3);
        }
    }
    let mut land = heap(15.0);
    let sand = land.clone();
    land.as_mut_slice()[161 * 40 + 50] = f32::NAN;
    let blown = run(&land, &sand, &Wind { duration_yr: 20.0, ..steady() });
    assert_eq!(blown.height.as_slice().iter().filter(|h| h.is_nan()).count(), 1);
}

/// Heaps of sand against two edges of flat rock: they come to rest there as anywhere else.
#[test]
fn sand_keeps_its_repose_at_the_edge() {
    let (n, flat) = (61, Raster::filled(61, 61, 0.0));
    let sand = Raster::from_fn(n, n, |c, r| if c < 3 || r > 57 { 40.0 } else { 0.0 });
    for edge in [Edge::Open, Edge::Loop] {
        let height = Raster::from_fn(n, n, |c, r| flat.row(r)[c] + sand.row(r)[c]);
        let blown = run(&height, &sand, &Wind { edge, duration_yr: 0.5, ..steady() });
        let grade = |a: (usize, usize), b: (usize, usize)| {
            f64::from((blown.height.row(a.1)[a.0] - blown.height.row(b.1)[b.0]).abs()) / CELL_M
        };
        let repose = math::tan(33f64.to_radians());
        for i in 0..n {
            for step in [grade((0, i), (1, i)), grade((i, n - 1), (i, n - 2))] {
                assert!(step < 1.06 * repose, "{edge:?}: {step} at {i} of the edge");
            }
            if edge == Edge::Loop {
                let round = grade((0, i), (n - 1, i)).max(grade((i, 0), (i, n - 1)));
                assert!(round < 1.06 * repose, "{round} across the edge at {i}");
            }
        }
    }
}

/// Where rock ends in a step at the edge, sand does not slide down to the opposite side.
#[test]
fn sand_stays_above_a_step_of_rock_at_the_edge() {
    let ramp = Raster::from_fn(61, 41, |c, _| 2.0 * c as f32);
    let sand = Raster::from_fn(61, 41, |c, _| if c > 55 { 3.0 } else { 0.0 });
    let height = Raster::from_fn(61, 41, |c, r| ramp.row(r)[c] + sand.row(r)[c]);
    let blown = run(&height, &sand, &Wind { wind_deg: 270.0, duration_yr: 0.01, ..steady() });
    assert!(blown.sand.row(20)[..10].iter().all(|&d| d < 0.05), "{:?}", &blown.sand.row(20)[..10]);
}

/// The steepest grade between neighbours, slants included: inside, and across the edge.
fn steepest(height: &Raster<f32>, spacing_m: f64) -> [f64; 2] {
    let (cols, rows) = (height.cols(), height.rows());
    let mut most = [0.0f64; 2];
    for row in 0..rows {
        for col in 0..cols {
            for (right, down) in [(1, 0), (0, 1), (1, 1), (1, cols * rows - 1)] {
                let (c, r) = ((col + right) % cols, (row + down) % rows);
                let across = c + 1 == right || (down == 1 && r == 0) || (down > 1 && row == 0);
                let far = spacing_m * if down > 0 && right > 0 { 2f64.sqrt() } else { 1.0 };
                let grade = f64::from((height.row(r)[c] - height.row(row)[col]).abs()) / far;
                let found = &mut most[usize::from(across)];
                *found = found.max(grade);
            }
        }
    }
    most
}

#[test]
fn sand_keeps_its_repose_at_the_spacing_of_the_samples() {
    // Samples as far apart as nodes, closer and much closer.
    for (samples, size_m) in [(54, 636.0), (65, 640.0), (257, 640.0)] {
        for (repose_deg, sand_m, wind_deg) in [(33.0, 8.0, 110.0), (20.0, 8.0, 110.0), (33.0, 20.0, 45.0)] {
            for looped in [false, true] {
                let frame = Frame::square(size_m, samples).unwrap();
                let mut terrain = Terrain::new(if looped { frame.looped() } else { frame });
                terrain.set(layer::HEIGHT, Raster::filled(samples, samples, 50.0));
                let sand_m = Coef::Const(sand_m);
                let params = Wind { repose_deg, sand_m, wind_deg, duration_yr: 300.0, ..Wind::default() };
                let after = params.apply(terrain, &Ctx::new(Seed(5))).unwrap();
                let height = after.get(layer::HEIGHT).unwrap();
                let [inside, across] = steepest(height, size_m / (samples - 1) as f64)
                    .map(|grade| math::atan2(grade, 1.0).to_degrees());
                println!("{samples} samples, loop {looped}: {inside:.1} and {across:.1} of {repose_deg} deg");
                let most = repose_deg + 0.1;
                assert!(inside < most && across < most, "{inside} inside, {across} across the edge");
            }
        }
    }
}
