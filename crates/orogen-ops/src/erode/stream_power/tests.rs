use super::*;
use crate::drainage::drainage;
use crate::octaves::{OctaveBuffers, Octaves};
use orogen_core::D8;

/// Bare stream power: no rock variety, no creep, no talus, no hollows.
fn bare() -> StreamPower {
    StreamPower {
        duration_yr: 2e7,
        hollow_m2: 0.0,
        talus_deg: 89.0,
        creep_m2_per_yr: 0.0,
        variety: 0.0,
        sea: false,
        beyond_m: 0.0,
        ..StreamPower::default()
    }
}

fn run(op: &StreamPower, frame: Frame, height: Raster<f32>, held: Vec<Held>) -> Raster<f32> {
    let mut terrain = Terrain::new(frame);
    terrain.set(layer::HEIGHT, height);
    held_lines::hold(&mut terrain, held);
    let terrain = op.apply(terrain, &Ctx::silent()).unwrap();
    terrain.get(layer::HEIGHT).unwrap().clone()
}

fn plain(frame: &Frame) -> Raster<f32> {
    Raster::from_fn(frame.cols(), frame.rows(), |col, row| (Seed(3).unit2(col as i64, row as i64)) as f32)
}

#[test]
fn in_balance_slopes_follow_the_area_drained() {
    for (m, n) in [(0.5, 1.0), (0.4, 1.0), (0.6, 1.5)] {
        let frame = Frame::square(10_000.0, 101).unwrap();
        let op = StreamPower { area_exponent: m, slope_exponent: n, duration_yr: 8e7, steps: 800, ..bare() };
        let height = run(&op, frame, plain(&frame), Vec::new());
        let drained = drainage(&height, [100.0, 100.0], f32::NEG_INFINITY, &Ctx::silent()).unwrap();
        let area = area::cells(&drained.ways, &drained.ways.donors());
        let mut off = Vec::new();
        for cell in 0..101 * 101 {
            let Some(next) = drained.ways.next(cell) else { continue };
            let (dc, dr) = D8[drained.ways.0.as_slice()[cell] as usize];
            let length = 100.0 * math::hypot(f64::from(dc), f64::from(dr));
            let slope = f64::from(height.as_slice()[cell] - height.as_slice()[next]) / length;
            let km2 = f64::from(area.as_slice()[cell]) * 0.01;
            let balanced = math::pow(0.5 / 3.0 * math::pow(km2, -m), 1.0 / n);
            // Divides never quite come to rest, and at their heads streams change hands.
            if km2 > 0.1 {
                off.push((slope / balanced - 1.0).abs());
            }
        }
        off.sort_by(f64::total_cmp);
        let most = off[off.len() * 19 / 20];
        assert!(most < 0.02, "m {m}, n {n}: {most}");
    }
}

/// Heights at the places of every fourth sample of a finer frame against those of a coarser one, as a share of the relief.
fn preview_error(coarse: &Raster<f32>, fine: &Raster<f32>) -> f64 {
    let step = (fine.cols() - 1) / (coarse.cols() - 1);
    let mut squares = 0.0;
    for row in 0..coarse.rows() {
        for col in 0..coarse.cols() {
            let off = f64::from(coarse.row(row)[col] - fine.row(row * step)[col * step]);
            squares += off * off;
        }
    }
    let (low, high) = fine.range().unwrap();
    (squares / coarse.as_slice().len() as f64).sqrt() / f64::from(high - low)
}

#[test]
fn valleys_lie_where_they_do_on_a_finer_frame() {
    // A narrow strip, so that the base lattice has few cells.
    let land = |samples: usize| {
        let frame = Frame::new([0.0, 0.0], [40_000.0, 5000.0], [samples, (samples - 1) / 8 + 1]).unwrap();
        let noise = Octaves::new(Seed(8), 6000.0, 8, 0.6);
        let mut height = Raster::filled(frame.cols(), frame.rows(), 0.0);
        height.par_rows(|row, out| {
            noise.row(&frame, row, 0..frame.cols(), &mut OctaveBuffers::default(), out);
            out.iter_mut().for_each(|h| *h = 500.0 + 150.0 * *h);
        });
        (frame, height)
    };
    let grown = |samples: usize, op: &StreamPower| {
        let (frame, height) = land(samples);
        run(op, frame, height, Vec::new())
    };
    // Land in balance, and land that rivers are still cutting up from one outlet.
    let rising = StreamPower { sea: false, base_m: 300.0, ..StreamPower::default() };
    let cut_up = StreamPower {
        uplift_mm_per_yr: Coef::Const(0.0),
        outlets: Outlets::Lowest,
        duration_yr: 5e5,
        ..rising.clone()
    };
    for op in [rising, cut_up] {
        let off = preview_error(&grown(513, &op), &grown(2049, &op));
        assert!(off < 0.03, "{off} of the relief");
    }
}

#[test]
fn without_uplift_nothing_rises() {
    let frame = Frame::square(20_000.0, 200).unwrap();
    let start = Raster::from_fn(200, 200, |col, row| {
        (300.0 + 200.0 * math::sin(col as f64 / 20.0) * math::cos(row as f64 / 31.0)) as f32
    });
    let op = StreamPower {
        uplift_mm_per_yr: Coef::Const(0.0),
        duration_yr: 1e5,
        creep_m2_per_yr: 0.0,
        ..StreamPower::default()
    };
    let worn = run(&op, frame, start.clone(), Vec::new());
    let mut lowered = 0.0;
    for (new, old) in worn.as_slice().iter().zip(start.as_slice()) {
        // Coarse lattices know heights as means: what that rounds off, and the hair of unevenness, may show.
        assert!(new - old < 3.0, "{old} rose to {new}");
        lowered += f64::from(old - new);
    }
    assert!(lowered / 40_000.0 > 1.0, "hardly anything was worn: {lowered}");
}

#[test]
fn sea_and_holes_stay() {
    let frame = Frame::square(20_000.0, 180).unwrap();
    let mut start = Raster::from_fn(180, 180, |col, _| col as f32 - 60.0);
    for cell in [5000, 5001, 20_000] {
        start.as_mut_slice()[cell] = f32::NAN;
    }
    let grown = run(&StreamPower::default(), frame, start.clone(), Vec::new());
    for (new, old) in grown.as_slice().iter().zip(start.as_slice()) {
        assert_eq!(new.is_nan(), old.is_nan());
        if *old <= 0.0 {
            // The coast may move inland on coarse lattices, never out to sea.
            assert!(new.to_bits() == old.to_bits(), "sea {old} became {new}");
        }
    }
    assert!(grown.range().unwrap().1 > 500.0);
}

#[test]
fn no_time_changes_nothing() {
    let frame = Frame::square(12_800.0, 65).unwrap();
    let start = Raster::from_fn(65, 65, |col, row| if col < 30 { 900.0 } else { 100.0 + row as f32 });
    let op = StreamPower { duration_yr: 0.0, soil_mm_per_yr: 0.1, ..StreamPower::default() };
    assert_eq!(run(&op, frame, start.clone(), Vec::new()), start);
}

#[test]
fn land_comes_down_to_the_sea_and_not_to_its_floor() {
    // A low plain beside an abyss. Rivers, slides and creep, each alone and all together.
    let frame = Frame::square(12_800.0, 129).unwrap();
    let seed = Seed::from_text("plain");
    let start = Raster::from_fn(129, 129, |col, row| match col {
        0..40 => -3000.0,
        _ => 20.0 + 3.0 * seed.unit2(col as i64, row as i64) as f32,
    });
    let slow = StreamPower { duration_yr: 1e6, uplift_mm_per_yr: Coef::Const(0.0), ..StreamPower::default() };
    let ops = [
        slow.clone(),
        StreamPower { talus_deg: 90.0, creep_m2_per_yr: 0.0, ..slow.clone() },
        StreamPower { talus_deg: 90.0, incision_mm_per_yr: Coef::Const(0.0), ..slow.clone() },
        StreamPower { incision_mm_per_yr: Coef::Const(0.0), soil_mm_per_yr: 0.1, ..slow },
    ];
    for op in ops {
        let worn = run(&op, frame, start.clone(), Vec::new());
        for (new, old) in worn.as_slice().iter().zip(start.as_slice()) {
            assert!(
                if *old > 0.0 { *new > 0.0 } else { new.to_bits() == old.to_bits() },
                "{old} became {new}"
            );
        }
    }
}

#[test]
fn what_is_held_keeps_its_height_and_held_rivers_descend() {
    let frame = Frame::square(20_000.0, 257).unwrap();
    let river = Held {
        kind: String::from("river"),
        points: vec![[3000.0, 15_000.0, 400.0], [9000.0, 11_000.0, 250.0], [17_000.0, 9500.0, 90.0]],
        radius_m: 40.0,
    };
    let crest = Held {
        kind: String::from("curve"),
        points: vec![[4000.0, 4000.0, 1500.0], [12_000.0, 5000.0, 1700.0]],
        radius_m: 0.0,
    };
    let peak =
        Held { kind: String::from("mountain"), points: vec![[15_000.0, 15_000.0, 2200.0]], radius_m: 0.0 };
    let held = vec![river, crest, peak];
    let grown = run(&StreamPower::default(), frame, Raster::filled(257, 257, 200.0), held.clone());
    let spacing = 20_000.0 / 256.0;
    for mark in &held {
        let mut last = f32::INFINITY;
        let parts = mark.points.len().max(2) - 1;
        for i in 0..=100 * parts {
            let (k, t) = ((i / 100).min(mark.points.len().saturating_sub(2)), i as f64 / 100.0);
            let (a, b) = (mark.points[k], mark.points[(k + 1).min(mark.points.len() - 1)]);
            let at = |axis: usize| a[axis] + (t - k as f64) * (b[axis] - a[axis]);
            let found = grown.bilinear(at(0) / spacing, (20_000.0 - at(1)) / spacing);
            assert!((f64::from(found) - at(2)).abs() < 1.0, "{}: {found} for {}", mark.kind, at(2));
            if mark.kind == "river" {
                assert!(found <= last + 1e-3, "the river rises from {last} to {found}");
                last = found;
            }
        }
    }
}

#[test]
fn a_few_samples_do_not_matter() {
    for (cols, rows) in [(2, 2), (2, 40), (40, 2), (3, 3)] {
        let frame = Frame::new([0.0, 0.0], [1000.0, 1000.0], [cols, rows]).unwrap();
        let grown = run(&StreamPower::default(), frame, Raster::filled(cols, rows, 50.0), Vec::new());
        assert!(grown.as_slice().iter().all(|h| h.is_finite()));
    }
}

#[test]
fn a_cliff_stands_where_any_slope_does_and_its_foot_stays_in_place() {
    let frame = Frame::square(1000.0, 101).unwrap();
    let cliff = Raster::from_fn(101, 101, |col, _| if col < 40 { 0.0 } else { 100.0 });
    let still = StreamPower {
        uplift_mm_per_yr: Coef::Const(0.0),
        incision_mm_per_yr: Coef::Const(0.0),
        coarse_first: false,
        talus_deg: 90.0,
        ..bare()
    };
    let stands = run(&still, frame, cliff.clone(), Vec::new());
    let off = stands.as_slice().iter().zip(cliff.as_slice()).map(|(a, b)| (a - b).abs());
    // No more than the hair of unevenness that streams start from.
    assert!(off.fold(0.0, f32::max) <= 0.1);
    let falls = run(&StreamPower { talus_deg: 40.0, ..still }, frame, cliff, Vec::new());
    assert!(falls.row(50)[40] < 10.0);
}

#[test]
fn a_short_time_changes_little_and_no_time_nothing() {
    let frame = Frame::square(10_000.0, 129).unwrap();
    let flat = Raster::filled(129, 129, 200.0);
    let moved = |duration_yr: f64, coarse_first: bool| {
        let op = StreamPower { duration_yr, coarse_first, ..StreamPower::default() };
        let after = run(&op, frame, flat.clone(), Vec::new());
        let off = after.as_slice().iter().zip(flat.as_slice()).map(|(a, b)| (a - b).abs());
        off.fold(0.0, f32::max)
    };
    for coarse_first in [false, true] {
        assert_eq!(moved(0.0, coarse_first), 0.0);
        // Half a millimetre a year of uplift, and no more than about that again of unevenness.
        for years in [1.0, 10.0, 100.0] {
            let most = 0.001 * years as f32;
            let off = moved(years, coarse_first);
            assert!(off <= most, "{off} m in {years} years");
        }
    }
}

#[test]
fn values_of_layers_count_as_the_nearest_that_a_number_may_have() {
    let frame = Frame::square(4000.0, 65).unwrap();
    let given = |name: orogen_core::Layer<f32>| Coef::Layer(name.name());
    let grown = |uplift: f32, incision: f32, rain: f32| {
        let op = StreamPower {
            duration_yr: 1e5,
            uplift_mm_per_yr: given(layer::UPLIFT),
            incision_mm_per_yr: given(layer::INCISION),
            rain_mm_per_yr: given(layer::RAIN),
            ..StreamPower::default()
        };
        let mut terrain = Terrain::new(frame);
        terrain.set(layer::HEIGHT, plain(&frame));
        terrain.set(layer::UPLIFT, Raster::filled(65, 65, uplift));
        terrain.set(layer::INCISION, Raster::filled(65, 65, incision));
        terrain.set(layer::RAIN, Raster::filled(65, 65, rain));
        op.apply(terrain, &Ctx::silent()).unwrap().get(layer::HEIGHT).unwrap().clone()
    };
    assert_eq!(grown(1167.0, 57_728.0, 1e6), grown(100.0, 1000.0, 20_000.0));
    assert_eq!(grown(1e30, 3.0, 1000.0), grown(100.0, 3.0, 1000.0));
    assert_ne!(grown(99.0, 3.0, 1000.0), grown(100.0, 3.0, 1000.0));
}

/// Land with beds under it.
fn bedded(frame: Frame, height: Raster<f32>, strata: &crate::rock::Strata) -> Terrain {
    let mut terrain = Terrain::new(frame);
    terrain.set(layer::HEIGHT, height);
    strata.apply(terrain, &Ctx::silent()).unwrap()
}

fn column(beds: &[(f64, f64)], top_m: f64) -> crate::rock::Strata {
    let bed = |&(thickness_m, hardness): &(f64, f64)| crate::rock::strata::Bed {
        thickness_m,
        hardness,
        talus_deg: 89.0,
        ..crate::rock::strata::Bed::default()
    };
    crate::rock::Strata {
        beds: beds.iter().map(bed).collect(),
        top_m,
        repeats: false,
        uneven_m: 0.0,
        ..crate::rock::Strata::default()
    }
}

/// A strip of land that drains to its western end, as heights along its stream.
fn strip(op: &StreamPower, strata: &crate::rock::Strata, start: impl Fn(usize) -> f32 + Sync) -> Vec<f32> {
    let frame = Frame::new([0.0, 0.0], [6000.0, 60.0], [201, 3]).unwrap();
    let terrain = bedded(frame, Raster::from_fn(201, 3, |col, _| start(col)), strata);
    let after = op.apply(terrain, &Ctx::silent()).unwrap();
    let height = after.get(layer::HEIGHT).unwrap();
    // The stream may run along any of the three rows.
    (0..201).map(|col| (0..3).map(|row| height.row(row)[col]).fold(f32::INFINITY, f32::min)).collect()
}

#[test]
fn a_hard_bed_over_a_soft_one_stands_as_a_step_that_retreats() {
    // 80 m of hard rock over soft rock; the stream at the western end lies in the soft.
    let strata = column(&[(80.0, 0.95), (1000.0, 0.3)], 400.0);
    let start = |col: usize| if col == 0 { 0.0 } else { 400.0 + 0.01 * col as f32 };
    let after = |duration_yr: f64| {
        let op = StreamPower {
            uplift_mm_per_yr: Coef::Const(0.0),
            incision_mm_per_yr: Coef::Const(30.0),
            duration_yr,
            coarse_first: false,
            steps: 200,
            ..bare()
        };
        let op = StreamPower { outlets: Outlets::Lowest, ..op };
        strip(&op, &strata, start)
    };
    let (early, late) = (after(1e5), after(3e5));
    // The brink: where the land comes up to the bottom of the hard bed.
    let brink = |land: &[f32]| land.iter().position(|&h| h > 325.0).unwrap();
    assert!(brink(&late) > brink(&early) + 5, "from {} to {}", brink(&early), brink(&late));
    for land in [&early, &late] {
        let at = brink(land);
        let steepest =
            land.windows(2).map(|w| w[1] - w[0]).enumerate().max_by(|a, b| a.1.total_cmp(&b.1)).unwrap();
        assert!(
            steepest.0.abs_diff(at) <= 4 || steepest.0 == 0,
            "steepest at {} and the brink at {at}",
            steepest.0
        );
        // The cap is hardly worn behind the brink.
        assert!(land[195] > 390.0, "{}", land[195]);
    }
}

#[test]
fn a_thin_hard_bed_holds_a_stream_up_however_long_the_steps_are() {
    let strata = column(&[(100.0, 0.3), (5.0, 0.99), (1000.0, 0.3)], 200.0);
    let start = |col: usize| if col == 0 { 0.0 } else { 199.0 + 0.02 * col as f32 };
    let after = |steps: u32, strata: &crate::rock::Strata| {
        let op = StreamPower {
            uplift_mm_per_yr: Coef::Const(0.0),
            incision_mm_per_yr: Coef::Const(30.0),
            duration_yr: 2e5,
            coarse_first: false,
            steps,
            outlets: Outlets::Lowest,
            ..bare()
        };
        strip(&op, strata, start)
    };
    let benches = |land: &[f32]| land.iter().filter(|h| (95.0..=101.0).contains(*h)).count();
    let (few, many) = (after(8, &strata), after(800, &strata));
    assert!(benches(&many) > 10, "{} samples of bench", benches(&many));
    assert!(benches(&few) > 10, "{} samples of bench with long steps", benches(&few));
    // Without the thin bed the same land has no bench there.
    let plain = after(800, &column(&[(1000.0, 0.3)], 200.0));
    assert!(benches(&plain) < 8, "{}", benches(&plain));
}

#[test]
fn beds_rise_with_the_land_and_lie_as_described_at_the_end() {
    // Rock that nothing wears has its top at 500 m at the end; the land begins at 100 m and rises by 600 m, so that the rock
    // comes up from -100 m.
    let strata = column(&[(400.0, 0.2), (100.0, 1.0), (1000.0, 0.4)], 900.0);
    let op = StreamPower {
        uplift_mm_per_yr: Coef::Const(0.6),
        duration_yr: 1e6,
        incision_mm_per_yr: Coef::Const(30.0),
        coarse_first: false,
        steps: 100,
        outlets: Outlets::Lowest,
        ..bare()
    };
    let land = strip(&op, &strata, |col| if col == 0 { 0.0 } else { 100.0 });
    assert!(
        land[1..].iter().all(|&h| h > 499.0),
        "the bed that nothing wears holds all land up: {:?}",
        &land[..5]
    );
    assert!(land[5] < 560.0, "{}", land[5]);
}

#[test]
fn beds_of_any_kind_give_sound_land() {
    let frame = Frame::square(4000.0, 65).unwrap();
    let many: Vec<(f64, f64)> = (0..10_000).map(|i| (0.01, f64::from(i % 3) / 2.0)).collect();
    for beds in [&many[..], &[(20_000.0, 0.0)], &[(1.0, 1.0)], &[(3.0, 0.0), (3.0, 1.0)]] {
        for repeats in [false, true] {
            let strata = crate::rock::Strata { repeats, dip_deg: 80.0, ..column(beds, 300.0) };
            let op = StreamPower { uplift_mm_per_yr: Coef::Const(100.0), ..StreamPower::default() };
            let mut height = plain(&frame);
            height.as_mut_slice()[700] = f32::NAN;
            let after = op.apply(bedded(frame, height, &strata), &Ctx::silent()).unwrap();
            let holes =
                after.get(layer::HEIGHT).unwrap().as_slice().iter().filter(|h| !h.is_finite()).count();
            assert_eq!(holes, 1);
        }
    }
}

#[test]
fn level_beds_give_benches_at_their_own_heights() {
    // Canyons cut into a plateau of hard and soft beds in turn.
    let frame = Frame::square(20_000.0, 257).unwrap();
    let strata = column(
        &[(40.0, 0.93), (110.0, 0.25), (40.0, 0.93), (110.0, 0.25), (40.0, 0.93), (700.0, 0.3)],
        1000.0,
    );
    let start =
        Raster::from_fn(257, 257, |col, row| 1000.0 + 5.0 * Seed(3).unit2(col as i64, row as i64) as f32);
    let op = StreamPower {
        uplift_mm_per_yr: Coef::Const(0.0),
        incision_mm_per_yr: Coef::Const(8.0),
        duration_yr: 1.5e6,
        base_m: 300.0,
        beyond_m: 2000.0,
        outlets: Outlets::Lowest,
        variety: 0.0,
        sea: false,
        talus_deg: 40.0,
        ..StreamPower::default()
    };
    let after = op.apply(bedded(frame, start, &strata), &Ctx::silent()).unwrap();
    let height = after.get(layer::HEIGHT).unwrap();
    // More of the land lies on a hard bed than its share of the height it lies between.
    let lies =
        |low: f32, high: f32| height.as_slice().iter().filter(|h| (low..high).contains(*h)).count() as f64;
    for top in [850.0f32, 700.0] {
        let on = lies(top - 40.0, top + 15.0) / 55.0;
        let off = lies(top + 15.0, top + 100.0) / 85.0;
        assert!(on > 1.3 * off, "{on} samples a metre on the bed at {top} m, {off} above it");
    }
}

/// Half of the slopes are steeper than this, as rise over distance.
fn median_slope(height: &Raster<f32>, spacing_m: f64) -> f64 {
    let inner = (1..height.rows() - 1).flat_map(|row| (1..height.cols() - 1).map(move |col| (col, row)));
    let mut slopes: Vec<f64> = inner
        .map(|(col, row)| {
            f64::from(slope2(height, [spacing_m, spacing_m], f32::NEG_INFINITY, col, row)).sqrt()
        })
        .collect();
    slopes.sort_by(f64::total_cmp);
    slopes[slopes.len() / 2]
}

#[test]
fn slopes_hardly_grow_on_a_finer_frame() {
    let grown = |samples: usize| {
        // A narrow strip, so that there are few cells.
        let frame = Frame::new([0.0, 0.0], [20_000.0, 2500.0], [samples, (samples - 1) / 8 + 1]).unwrap();
        let op = StreamPower { hollow_m2: 5000.0, sea: false, ..StreamPower::default() };
        let height = run(&op, frame, Raster::filled(frame.cols(), frame.rows(), 100.0), Vec::new());
        math::atan(median_slope(&height, 20_000.0 / (samples - 1) as f64)).to_degrees()
    };
    let (coarse, fine) = (grown(385), grown(1153));
    assert!(fine < 1.15 * coarse, "{coarse} and {fine} degrees");
}

#[test]
fn soil_is_as_deep_as_balances_what_is_lowered_and_steep_ground_is_bare() {
    let frame = Frame::square(10_000.0, 129).unwrap();
    let op = StreamPower {
        uplift_mm_per_yr: Coef::Const(0.1),
        soil_mm_per_yr: 0.4,
        duration_yr: 2e7,
        steps: 400,
        sea: false,
        ..StreamPower::default()
    };
    let mut terrain = Terrain::new(frame);
    let mut start = plain(&frame);
    start.as_mut_slice()[700] = f32::NAN;
    terrain.set(layer::HEIGHT, start);
    let terrain = op.apply(terrain, &Ctx::silent()).unwrap();
    let (height, soil) = (terrain.get(layer::HEIGHT).unwrap(), terrain.get(layer::SOIL).unwrap());
    let (mut gentle, mut count) = (0.0, 0.0);
    for row in 2..127 {
        for col in 2..127 {
            let (depth, slope) = (soil.row(row)[col], slope2(height, [78.125, 78.125], 0.0, col, row).sqrt());
            assert_eq!(depth.is_nan(), height.row(row)[col].is_nan());
            assert!(depth.is_nan() || (0.0..=4.0).contains(&depth), "{depth}");
            if slope < 0.1 {
                (gentle, count) = (gentle + f64::from(depth), count + 1.0);
            }
        }
    }
    // In balance 0.1 mm a year are lowered: h ln 4.
    orogen_core::testkit::assert_close!(gentle / count, 0.5 * math::ln(4.0), rel = 0.15);
    let steep = StreamPower { uplift_mm_per_yr: Coef::Const(1.0), ..op };
    let mut terrain = Terrain::new(frame);
    terrain.set(layer::HEIGHT, plain(&frame));
    let terrain = steep.apply(terrain, &Ctx::silent()).unwrap();
    let bare = terrain.get(layer::SOIL).unwrap().as_slice().iter().filter(|&&depth| depth == 0.0).count();
    assert!(bare > 129 * 129 / 2, "{bare} samples are bare");
}

#[test]
fn four_times_the_rain_is_twice_the_cutting_of_streams_that_begin_as_low_down() {
    let frame = Frame::square(10_000.0, 129).unwrap();
    let usual = StreamPower { duration_yr: 1e6, steps: 40, ..StreamPower::default() };
    let cuts_more = StreamPower { incision_mm_per_yr: Coef::Const(6.0), ..usual.clone() };
    let rains_more = StreamPower {
        rain_mm_per_yr: Coef::Const(4000.0),
        hollow_m2: 4.0 * usual.hollow_m2,
        ..usual.clone()
    };
    let by_rain = run(&rains_more, frame, plain(&frame), Vec::new());
    assert!(by_rain == run(&cuts_more, frame, plain(&frame), Vec::new()));
    assert!(by_rain != run(&usual, frame, plain(&frame), Vec::new()));
}

#[test]
fn land_in_the_rain_shadow_stands_higher() {
    let frame = Frame::square(20_000.0, 129).unwrap();
    let mut terrain = Terrain::new(frame);
    terrain.set(layer::HEIGHT, plain(&frame));
    terrain.set(layer::RAIN, Raster::from_fn(129, 129, |col, _| if col < 64 { 3000.0 } else { 300.0 }));
    let op = StreamPower { rain_mm_per_yr: Coef::Layer(layer::RAIN.name()), ..StreamPower::default() };
    let terrain = op.apply(terrain, &Ctx::silent()).unwrap();
    let height = terrain.get(layer::HEIGHT).unwrap();
    let mean = |cols: std::ops::Range<usize>| {
        let sum = |row: usize| height.row(row)[cols.clone()].iter().map(|h| f64::from(*h)).sum::<f64>();
        (0..129).map(sum).sum::<f64>() / (129 * cols.len()) as f64
    };
    let (wet, dry) = (mean(0..60), mean(69..129));
    assert!(dry > 1.5 * wet, "{wet} m in the rain, {dry} m behind");
    assert!(terrain.get(layer::RAIN).is_ok(), "the rain stays");
}
