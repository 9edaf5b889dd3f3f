use orogen_core::param::Field;
use orogen_core::testkit::hills;
use orogen_core::{Ctx, Frame, Op, Raster, Seed, Terrain, layer, math};

use super::storm::{Tiles, droplets_by};
use super::*;
use crate::held_lines::{Held, hold};

fn land(height: &Raster<f32>) -> Land<'_> {
    let (cols, rows) = (height.cols(), height.rows());
    let whole = Frame::new([5000.0, -3000.0], [1000.0, 1000.0], [101, 101]).unwrap();
    Land {
        height,
        frame: whole.window(0, 0, cols, rows),
        moisture: Field::Const(1.0),
        hardness: Field::Const(0.0).into(),
        loose_m: Field::Const(0.0),
        held: None,
    }
}

fn quick() -> Droplets {
    Droplets { talus_deg: 80.0, rounds: 8, travel_m: 600.0, rain_m: 4.0, sea: false, ..Droplets::default() }
}

fn run(height: &Raster<f32>, params: &Droplets) -> Rained {
    droplets(&land(height), params, &Ctx::new(Seed(5))).unwrap()
}

fn same_bits(a: &Rained, b: &Rained) -> bool {
    let bits = |r: &Raster<f32>| r.as_slice().iter().map(|v| v.to_bits()).collect::<Vec<_>>();
    bits(&a.change) == bits(&b.change)
        && bits(&a.loose) == bits(&b.loose)
        && a.carried_off_m3.to_bits() == b.carried_off_m3.to_bits()
}

#[test]
fn neither_tiles_nor_threads_nor_lanes_change_a_bit() {
    let height = hills(150, 300.0);
    let usual = run(&height, &quick());
    assert!(usual.change.range().unwrap().0 < -0.1, "nothing was worn away");
    for (tile, margin) in [(32, 2), (47, 9), (1000, 1)] {
        let tiles = Tiles { cols: 150, rows: 150, tile, margin };
        let other = droplets_by(&land(&height), &quick(), tiles, &Ctx::new(Seed(5))).unwrap();
        assert!(same_bits(&usual, &other), "tiles of {tile} with a margin of {margin}");
    }
    for threads in [1, 4] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let other = pool.install(|| run(&height, &quick()));
        assert!(same_bits(&usual, &other), "{threads} threads");
    }
}

#[test]
fn what_is_worn_away_is_laid_down_or_carried_off() {
    for (sea, dent) in [(false, 0.0), (true, 150.0)] {
        let mut height = hills(101, 300.0).map(|h| h - dent);
        height.as_mut_slice()[40 * 101 + 50] = f32::NAN;
        let rained = run(&height, &Droplets { sea, ..quick() });
        let [dx, dy] = land(&height).frame.spacing_m();
        let gained = rained.change.sum_f64() * dx * dy;
        let eroded = -rained.change.map(|v| v.min(0.0)).sum_f64() * dx * dy;
        assert!(eroded > 1000.0 && rained.carried_off_m3 > 0.0);
        assert!(
            (gained + rained.carried_off_m3).abs() < 1e-5 * eroded,
            "{gained} gained, {} carried off, {eroded} eroded",
            rained.carried_off_m3
        );
        // As much rain as asked for, but for chance where sea begins.
        if !sea {
            assert!((rained.fallen_m3 / (4.0 * 1e6) - 1.0).abs() < 0.02, "{}", rained.fallen_m3);
        }
    }
}

#[test]
fn level_land_stays_level_and_odd_land_does_no_harm() {
    for (cols, rows) in [(1, 1), (2, 2), (30, 1), (1, 30), (2, 30), (60, 60)] {
        let flat = Raster::filled(cols, rows, 7.0);
        let rained = run(&flat, &quick());
        assert!(rained.change.as_slice().iter().all(|&v| v == 0.0), "{cols} by {rows}");
        let none = Raster::filled(cols, rows, f32::NAN);
        let rained = run(&none, &quick());
        assert!(rained.change.as_slice().iter().all(|&v| v == 0.0));
        assert!(rained.loose.as_slice().iter().all(|v| v.is_nan()));
        let steps =
            Raster::from_fn(cols, rows, |c, r| if (c + r) % 3 == 0 { f32::NAN } else { (c * 9) as f32 });
        assert!(run(&steps, &quick()).change.as_slice().iter().all(|v| v.is_finite()));
    }
}

#[test]
fn a_slope_is_cut_by_gullies_and_no_sample_stands_alone() {
    let rough = Seed(3);
    let before = Raster::from_fn(101, 101, |c, r| {
        (3.0 * r as f64 + 2.0 * rough.unit2(c as i64 / 7, r as i64 / 7)) as f32
    });
    let rained = run(&before, &Droplets { radius_m: 30.0, rounds: 20, rain_m: 10.0, ..quick() });
    // Far down the slope some places are cut and most are not: water has gathered.
    let line: Vec<f32> = (10..91).map(|c| -rained.change.row(25)[c]).collect();
    let mean = line.iter().sum::<f32>() / line.len() as f32;
    let most = line.iter().fold(0.0f32, |a, &b| a.max(b));
    assert!(most > 0.1 && mean < most / 3.0, "mean {mean}, most {most}");
    // What was done is as smooth as a stream is wide: no sample is far from the mean of its neighbours.
    let change = &rained.change;
    let (low, high) = change.range().unwrap();
    for row in 1..100 {
        for col in 1..100 {
            let beside = (change.row(row)[col - 1] + change.row(row)[col + 1]) / 4.0
                + (change.row(row - 1)[col] + change.row(row + 1)[col]) / 4.0;
            assert!((change.row(row)[col] - beside).abs() < 0.3 * (high - low), "at {col}, {row}");
        }
    }
}

#[test]
fn a_bowl_is_filled_by_what_runs_into_it() {
    // A floor of 150 m across with slopes around it, and a way out to the east one metre above the floor.
    let bowl = Raster::from_fn(101, 101, |c, r| {
        let d = math::hypot(c as f64 - 50.0, r as f64 - 50.0);
        let slope = 100.0 + 2.0 * (d - 15.0).max(0.0);
        let way_out = if c > 60 && r.abs_diff(50) < 3 { 101.0 } else { f64::INFINITY };
        slope.min(way_out) as f32
    });
    let rained = run(&bowl, &Droplets { rounds: 20, rain_m: 10.0, ..quick() });
    let floor = rained.change.row(50)[50 - 12];
    assert!(floor > 0.05, "{floor} m on the floor");
    assert!(rained.loose.row(50)[50 - 12] > 0.05);
    assert!(floor < 20.0, "{floor} m on the floor, and the brim is one");
}

#[test]
fn rock_of_hardness_one_and_held_ground_keep_their_heights() {
    let height = hills(101, 300.0);
    let mut hard = land(&height);
    hard.hardness = Field::Const(1.0).into();
    let rained = droplets(&hard, &quick(), &Ctx::new(Seed(5))).unwrap();
    assert!(rained.change.as_slice().iter().all(|&v| v == 0.0));

    let frame = Frame::square(1000.0, 101).unwrap();
    let mut terrain = Terrain::new(frame);
    terrain.set(layer::HEIGHT, height.clone());
    let line = vec![[100.0, 500.0, 0.0], [900.0, 480.0, 0.0]];
    hold(&mut terrain, vec![Held { kind: String::from("river"), points: line, radius_m: 20.0 }]);
    let samples = held_lines::held_samples(&terrain).unwrap();
    let after = quick().apply(terrain, &Ctx::new(Seed(5))).unwrap();
    let after = after.get(layer::HEIGHT).unwrap();
    let mut changed = 0;
    for (i, &held) in samples.as_slice().iter().enumerate() {
        let same = after.as_slice()[i].to_bits() == height.as_slice()[i].to_bits();
        assert!(same || !held, "sample {i} is held");
        changed += usize::from(!same);
    }
    assert!(changed > 1000);
}

#[test]
fn dry_places_get_no_drops() {
    let height = Raster::from_fn(101, 101, |c, _| 5.0 * c as f32);
    let moisture = Raster::from_fn(101, 101, |_, r| if r < 40 { 1.0 } else { 0.0 });
    let mut half = land(&height);
    half.moisture = Field::Raster(&moisture);
    let rained = droplets(&half, &quick(), &Ctx::new(Seed(5))).unwrap();
    assert!(rained.change.row(20).iter().any(|&v| v < -0.01));
    assert!(rained.change.row(80).iter().all(|&v| v == 0.0));
}

#[test]
fn banks_are_as_steep_in_all_directions() {
    let heap = Raster::from_fn(97, 97, |c, r| {
        (500.0 - 14.0 * math::hypot(c as f64 - 48.0, r as f64 - 48.0)).max(0.0) as f32
    });
    // No rain: all that happens is that what is too steep slides.
    let dry =
        Droplets { rain_m: 0.0, drops_per_km2: 1.0, radius_m: 50.0, rounds: 400, talus_deg: 38.0, ..quick() };
    let slid = changed(&heap, &run(&heap, &dry).change);
    let grade = |angle: f64| {
        let at = |d: f64| {
            let (x, y) = (d * math::cos(angle.to_radians()), d * math::sin(angle.to_radians()));
            f64::from(slid.bilinear(48.0 + x, 48.0 + y))
        };
        (at(15.0) - at(35.0)) / 200.0
    };
    for angle in [22.5, 45.0, 67.5, 101.0] {
        assert!((grade(angle) / grade(0.0) - 1.0).abs() < 0.01, "{} and {}", grade(angle), grade(0.0));
    }
    let rest = math::tan(f64::to_radians(38.0));
    assert!((grade(0.0) / rest - 1.0).abs() < 0.05, "{} for {rest}", grade(0.0));
}

#[test]
fn wide_streams_count_as_work() {
    let frame = Frame::square(2560.0, 129).unwrap();
    let refused =
        |params: Droplets| params.check_work(&frame).err().map(|e| e.to_string()).unwrap_or_default();
    // On a map of 129 samples this took more than 30 seconds before it was refused.
    let drops = Droplets { drops_per_km2: 1e7, radius_m: 500.0, ..Droplets::default() };
    let text = refused(drops.clone());
    assert!(text.starts_with("drops_per_km2: 10000000 asks for about 1.6 times"), "{text}");
    assert_eq!(refused(Droplets { drops_per_km2: 1e6, ..drops.clone() }), "");
    let rounds = Droplets { drops_per_km2: 1.0, rounds: 5000, ..drops };
    let text = refused(rounds.clone());
    assert!(text.starts_with("rounds: 5000 asks for about "), "{text}");
    assert_eq!(refused(Droplets { radius_m: 22.0, ..rounds }), "");
    assert_eq!(refused(Droplets::default()), "");
}
