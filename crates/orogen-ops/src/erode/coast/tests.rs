use orogen_core::param::Field;
use orogen_core::testkit::assert_close;
use orogen_core::{Ctx, Op, Terrain};

use super::*;

const CELL_M: f64 = 8.0;

/// Waves from the west on even rock.
fn plain() -> Coast {
    Coast { wind_deg: 90.0, variety: 0.0, ..Coast::default() }
}

fn run(height: &Raster<f32>, params: &Coast) -> Worked {
    let frame = Frame::square(64.0 * CELL_M, 65).unwrap().window(0, 0, height.cols(), height.rows());
    let Coef::Const(hardness) = params.hardness else { panic!() };
    coast(height, Field::Const(hardness as f32), None, &frame, params, &Ctx::new(Seed(2))).unwrap()
}

/// Land in the east with a shore that swings out to capes and back to bays, and a round lagoon far inland.
fn land(n: usize) -> Raster<f32> {
    Raster::from_fn(n, n, |c, r| {
        let (x, y) = (c as f64, r as f64);
        let shore = 0.35 * n as f64 + 0.12 * n as f64 * math::cos(std::f64::consts::TAU * 2.0 * y / n as f64);
        let lagoon = math::hypot(x - 0.85 * n as f64, y - 0.5 * n as f64) - 0.06 * n as f64;
        let rise = (0.25 * (x - shore)).min(0.6 * lagoon);
        (if rise > 0.0 { rise.min(30.0) } else { rise }) as f32
    })
}

/// The first column of land along a row.
fn shore(height: &Raster<f32>, row: usize) -> usize {
    height.row(row).iter().position(|h| *h > 0.0).unwrap()
}

#[test]
fn capes_retreat_more_than_bays_and_a_lagoon_keeps_its_shore() {
    let before = land(161);
    let after = run(&before, &Coast { beach_share: 0.0, ..plain() });
    // Bays lie where the cosine is 1, capes where it is -1; the bay at the edge is open to waves from beyond it.
    let (bay, cape) = (80, 40);
    let retreat = |row: usize| (shore(&after.height, row) as f64 - shore(&before, row) as f64) * CELL_M;
    assert!(retreat(cape) > 24.0, "the cape retreats by {} m", retreat(cape));
    assert!(retreat(cape) >= 1.3 * retreat(bay), "{} m and {} m", retreat(cape), retreat(bay));
    let lagoon = |h: &Raster<f32>| h.crop(110, 55, 50, 50);
    assert_eq!(lagoon(&after.height), lagoon(&before));
}

#[test]
fn a_cliff_stands_over_a_platform() {
    let n = 121;
    // A coastal plain that rises slowly from the sea.
    let before = Raster::from_fn(n, n, |c, _| (c as f32 - 40.0) * 0.5);
    let after = run(&before, &Coast { beach_share: 0.0, duration_yr: 5000.0, ..plain() });
    let row = after.height.row(60);
    let foot = shore(&after.height, 60);
    assert!(foot > 45, "the shore lies at {foot}");
    // The cliff: at least a third of its height in one cell, where the plain has half a metre.
    let steps: Vec<f32> = (foot - 1..foot + 3).map(|c| row[c + 1] - row[c]).collect();
    let most = steps.iter().fold(0.0f32, |a, &b| a.max(b));
    assert!(most > 0.3 * (0.5 * (foot as f32 - 40.0)), "{steps:?}");
    // The platform: just below the sea, and no deeper than it falls by.
    for c in foot - 4..foot {
        let most = (foot - c) as f32 * CELL_M as f32 * math::tan(1.5f64.to_radians()) as f32;
        assert!((-most - 0.1..=0.0).contains(&row[c]), "{} m at {c}", row[c]);
    }
}

#[test]
fn a_straight_shore_retreats_as_fast_as_the_equation_says() {
    // Full exposure and low land that is no harder anywhere: 80 mm a year, half of it for the rock.
    for samples in [41, 81, 161] {
        let frame = Frame::square(960.0, samples).unwrap();
        let low = Raster::from_fn(samples, samples, |c, _| (0.01 * (frame.x_m(c) - 300.0)) as f32);
        let params = Coast { beach_share: 0.0, steadiness: 1.0, ..plain() };
        let after = coast(&low, Field::Const(0.5), None, &frame, &params, &Ctx::new(Seed(2))).unwrap();
        let row = after.height.row(samples / 2);
        let foot = row.iter().position(|h| *h > 0.0).unwrap();
        // Somewhere between the last sample of sea and the first of land.
        let retreat = frame.x_m(foot) - 300.0;
        let cell = frame.spacing_m()[0];
        assert!((56.0..64.0 + cell).contains(&retreat), "{retreat} m at cells of {cell} m");
    }
}

#[test]
fn what_is_cut_is_beach_or_offshore() {
    let before = land(161);
    let after = run(&before, &plain());
    let cell = CELL_M * CELL_M;
    assert!(after.cut_m3 > 0.0 && after.beach_m3 > 0.0);
    assert!(after.beach_m3 <= 0.6 * after.cut_m3);
    assert_close!(after.sand.sum_f64() * cell, after.beach_m3, rel = 1e-6);
    let lost = (before.sum_f64() - after.height.sum_f64()) * cell;
    assert_close!(lost, after.cut_m3 - after.beach_m3, rel = 1e-4);
    // Sand lies in the bays, not on the capes.
    let at = |row: usize| after.sand.row(row).iter().map(|&d| f64::from(d)).sum::<f64>();
    let (bays, capes) = (at(0) + at(80), at(40) + at(120));
    assert!(bays > 3.0 * capes, "{bays} and {capes}");
}

#[test]
fn land_inland_keeps_its_bits_and_harder_rock_retreats_less() {
    let before = land(161);
    let after = run(&before, &plain());
    for row in 0..161 {
        assert_eq!(after.height.row(row)[110..], before.row(row)[110..], "row {row}");
    }
    let hard = run(&before, &Coast { hardness: Coef::Const(0.8), ..plain() });
    assert!(hard.cut_m3 < 0.6 * after.cut_m3, "{} and {}", hard.cut_m3, after.cut_m3);
    let none = run(&before, &Coast { hardness: Coef::Const(1.0), ..plain() });
    assert_eq!((none.height, none.cut_m3), (before, 0.0));
}

#[test]
fn turned_land_in_a_turned_wind_gives_the_turned_result_to_the_bit() {
    let n = 90;
    let seed = Seed(8);
    let before = Raster::from_fn(n, n, |c, r| {
        let bump = Noise::new(seed).at(c as f64 / 17.0, r as f64 / 13.0);
        (0.2 * (c as f64 - 40.0) + 25.0 * f64::from(bump)) as f32
    });
    // A quarter turn to the left: what lay east lies north.
    let turned = |r: &Raster<f32>| Raster::from_fn(n, n, |col, row| r.row(col)[n - 1 - row]);
    let straight = Coast { wind_deg: 110.0, ..plain() };
    let other = Coast { wind_deg: 20.0, ..plain() };
    let (a, b) = (run(&before, &straight), run(&turned(&before), &other));
    assert!(a.cut_m3 > 0.0 && a.beach_m3 > 0.0);
    assert_eq!(turned(&a.height), b.height);
    assert_eq!(turned(&a.sand), b.sand);
    assert_eq!((a.cut_m3, a.beach_m3), (b.cut_m3, b.beach_m3));
}

#[test]
fn a_finer_map_has_the_same_coast() {
    let run = |samples: usize| {
        let frame = Frame::square(1600.0, samples).unwrap();
        let height = Raster::from_fn(samples, samples, |c, r| {
            let (x, y) = (frame.x_m(c) - 800.0, frame.y_m(r) - 800.0);
            let bays = 90.0 * math::sin(5.0 * math::atan2(y, x));
            (0.12 * (500.0 + bays - math::hypot(x, y))) as f32
        });
        coast(&height, Field::Const(0.5), None, &frame, &Coast::default(), &Ctx::new(Seed(2))).unwrap()
    };
    let (coarse, fine) = (run(129), run(257));
    let differ = |a: &Raster<f32>, b: &Raster<f32>| {
        let (low, high) = b.range().unwrap();
        let squares: f64 = (0..129 * 129)
            .map(|i| f64::from(a.row(i / 129)[i % 129] - b.row(2 * (i / 129))[2 * (i % 129)]))
            .map(|d| d * d)
            .sum();
        (squares / (129.0 * 129.0)).sqrt() / f64::from(high - low)
    };
    let (height, sand) = (differ(&coarse.height, &fine.height), differ(&coarse.sand, &fine.sand));
    assert!(height < 0.02 && sand < 0.04, "{height} of the heights, {sand} of the sand");
    assert!((coarse.cut_m3 / fine.cut_m3 - 1.0).abs() < 0.1, "{} and {}", coarse.cut_m3, fine.cut_m3);
}

#[test]
fn odd_land_does_no_harm() {
    for level in [20.0, -20.0, 0.0, f32::NAN] {
        for (cols, rows) in [(1, 1), (2, 2), (9, 1), (1, 9), (33, 33)] {
            let flat = Raster::filled(cols, rows, level);
            let mut terrain = Terrain::new(Frame::square(640.0, 65).unwrap().window(3, 3, cols, rows));
            terrain.set(layer::HEIGHT, flat.clone());
            let after = Coast::default().apply(terrain, &Ctx::silent()).unwrap();
            let height = after.get(layer::HEIGHT).unwrap();
            let same = height.as_slice().iter().zip(flat.as_slice()).all(|(a, b)| a.to_bits() == b.to_bits());
            assert!(same, "{level} m, {cols} × {rows}");
        }
    }
    // A shore of one row, and a hole on the shore.
    let row = Raster::from_fn(40, 1, |c, _| c as f32 - 10.0);
    assert!(run(&row, &plain()).height.as_slice().iter().all(|h| h.is_finite()));
    let mut holed = land(81);
    let at = 81 * 20 + shore(&holed, 20);
    holed.as_mut_slice()[at] = f32::NAN;
    let after = run(&holed, &plain());
    assert_eq!(after.height.as_slice().iter().filter(|h| h.is_nan()).count(), 1);
    assert!(after.cut_m3 > 0.0);
}
