//! Physics of finer windows.

use orogen_core::layer::{HEIGHT, SEDIMENT, WATER};
use orogen_core::{Coef, Ctx, Frame, Op, Raster, Rect, Refiner, Seed, Solved, Terrain, math};

use super::Detail;
use crate::held_lines::{Held, hold};

const CELL_M: f64 = 40.0;

fn frame(samples: usize) -> Frame {
    Frame::square(CELL_M * (samples - 1) as f64, samples).unwrap()
}

fn land(frame: &Frame, height: impl Fn(f64, f64) -> f64 + Sync) -> Terrain {
    let mut terrain = Terrain::new(*frame);
    terrain.set(
        HEIGHT,
        Raster::from_fn(frame.cols(), frame.rows(), |c, r| height(frame.x_m(c), frame.y_m(r)) as f32),
    );
    terrain
}

/// Valleys and crests without any detail of their own.
fn hills(x: f64, y: f64) -> f64 {
    let wave = |x: f64, y: f64, a: f64, b: f64| math::sin(x / a + 0.7 * math::sin(y / b));
    600.0
        + 0.05 * x
        + 150.0 * wave(x, y, 300.0, 410.0)
        + 120.0 * wave(y, x, 370.0, 290.0)
        + 40.0 * wave(x + y, x - y, 170.0, 230.0)
}

fn refiner(solved: &Terrain, params: &Detail) -> Box<dyn Refiner> {
    let ctx = Ctx::new(Seed::from_text("gullies")).in_world(*solved.frame());
    params.refiner(Solved { before: Some(solved), after: solved }, &ctx).unwrap().unwrap()
}

/// The smooth land on a window of another spacing, as interpolation gives it.
fn smooth(solved: &Terrain, window: Frame) -> Terrain {
    let base = solved.frame();
    let cols: Vec<f64> = (0..window.cols()).map(|c| base.locate(window.x_m(c), 0.0)[0]).collect();
    let rows: Vec<f64> = (0..window.rows()).map(|r| base.locate(0.0, window.y_m(r))[1]).collect();
    let mut terrain = Terrain::new(window);
    terrain.set(HEIGHT, orogen_core::Spline::along_lines(solved.get(HEIGHT).unwrap()).grid(&cols, &rows));
    terrain
}

fn whole(base: &Frame, spacing_m: f64) -> Frame {
    base.part(&base.extent(), [spacing_m, spacing_m]).unwrap().unwrap()
}

fn fine(solved: &Terrain, refiner: &dyn Refiner, window: Frame) -> Raster<f32> {
    let terrain = refiner.refine(smooth(solved, window), &Ctx::silent()).unwrap();
    terrain.get(HEIGHT).unwrap().clone()
}

fn slopes(height: &Raster<f32>, cell_m: f64) -> Vec<f64> {
    let mut out = Vec::new();
    for row in 1..height.rows() - 1 {
        for col in 1..height.cols() - 1 {
            let x = f64::from(height.row(row)[col + 1] - height.row(row)[col - 1]);
            let y = f64::from(height.row(row + 1)[col] - height.row(row - 1)[col]);
            out.push(math::hypot(x, y) / (2.0 * cell_m));
        }
    }
    out.sort_by(f64::total_cmp);
    out
}

fn median(sorted: &[f64]) -> f64 {
    sorted[sorted.len() / 2]
}

#[test]
fn windows_equal_the_whole_to_the_bit() {
    let solved = land(&frame(41), hills);
    let params = Detail::default();
    let all = refiner(&solved, &params);
    for spacing_m in [20.0, 13.0, 7.5, 4.0] {
        let extent = whole(solved.frame(), spacing_m);
        let expected = fine(&solved, all.as_ref(), extent);
        let (n, m) = (extent.cols(), extent.rows());
        for (col, row, cols, rows) in
            [(0, 0, n / 3, m / 2), (n / 2, m / 3, n / 2, 5), (n - 7, m - 9, 7, 9), (n / 2, m / 2, 1, 1)]
        {
            // A refiner that knows nothing yet, and the one that has solved all of it.
            for refiner in [refiner(&solved, &params).as_ref(), all.as_ref()] {
                let window = extent.window(col as i64, row as i64, cols, rows);
                let part = fine(&solved, refiner, window);
                for r in 0..rows {
                    for c in 0..cols {
                        let (a, b) = (part.row(r)[c], expected.row(row + r)[col + c]);
                        assert_eq!(
                            a.to_bits(),
                            b.to_bits(),
                            "{spacing_m} m at {c}, {r} of {window:?}: {a} {b}"
                        );
                    }
                }
            }
        }
    }
}

#[test]
fn many_threads_at_once_and_few_kept_blocks_change_no_bit() {
    let solved = land(&frame(33), hills);
    let refiner = refiner(&solved, &Detail::default());
    let extent = whole(solved.frame(), 5.0);
    let expected = fine(&solved, refiner.as_ref(), extent);
    let fresh = self::refiner(&solved, &Detail::default());
    std::thread::scope(|scope| {
        for start in [0, 60, 100, 130, 150, 190] {
            let (fresh, solved, expected) = (fresh.as_ref(), &solved, &expected);
            scope.spawn(move || {
                let part = fine(solved, fresh, extent.window(start, start, 60, 60));
                let start = start as usize;
                assert_eq!(part.as_slice(), expected.crop(start, start, 60, 60).as_slice());
            });
        }
    });
}

#[test]
fn land_gets_hardly_steeper_from_40_m_to_3_m() {
    let solved = land(&frame(65), hills);
    let refiner = refiner(&solved, &Detail::default());
    let mut last = median(&slopes(solved.get(HEIGHT).unwrap(), CELL_M));
    for spacing_m in [40.0 / 3.0, 40.0 / 9.0] {
        let rect = Rect { min: [600.0, 600.0], max: [1900.0, 1900.0] };
        let window = solved.frame().part(&rect, [spacing_m, spacing_m]).unwrap().unwrap();
        let now = median(&slopes(&fine(&solved, refiner.as_ref(), window), spacing_m));
        assert!(now < 1.15 * last, "{spacing_m} m: {now} after {last}");
        last = now;
    }
}

#[test]
fn there_are_gullies() {
    let solved = land(&frame(65), hills);
    let refiner = refiner(&solved, &Detail::default());
    let window = whole(solved.frame(), 5.0);
    let (before, after) =
        (smooth(&solved, window).get(HEIGHT).unwrap().clone(), fine(&solved, refiner.as_ref(), window));
    let change: Vec<f64> =
        before.as_slice().iter().zip(after.as_slice()).map(|(a, b)| f64::from(b - a)).collect();
    let mean2 = change.iter().map(|d| d * d).sum::<f64>() / change.len() as f64;
    assert!(mean2.sqrt() > 0.5, "root mean square of the change is {}", mean2.sqrt());
    // Beds are sharper than crests: what curves most is hollow.
    let mut curves = Vec::new();
    for row in 2..after.rows() - 2 {
        let [n, h, s] = [row - 1, row, row + 1].map(|row| after.row(row));
        for col in 2..after.cols() - 2 {
            curves.push(f64::from(n[col] + s[col] + h[col - 1] + h[col + 1] - 4.0 * h[col]));
        }
    }
    curves.sort_by(f64::total_cmp);
    let (crest, bed) = (-curves[curves.len() / 100], curves[curves.len() - curves.len() / 100]);
    assert!(bed > 1.3 * crest, "{bed} against {crest}");
}

#[test]
fn level_ground_keeps_its_bits_and_a_gentle_plane_has_no_ripple() {
    let level = land(&frame(33), |_, _| 25.0);
    let window = whole(level.frame(), 5.0);
    let refined = refiner(&level, &Detail::default());
    assert_eq!(fine(&level, refined.as_ref(), window), *smooth(&level, window).get(HEIGHT).unwrap());
    let plane = land(&frame(33), |x, y| 50.0 + 0.03 * x + 0.02 * y);
    let refined = refiner(&plane, &Detail::default());
    let (after, before) = (fine(&plane, refined.as_ref(), window), smooth(&plane, window));
    let most = after.as_slice().iter().zip(before.get(HEIGHT).unwrap().as_slice());
    let most = most.map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
    // The plane falls 1.4 m over a cell of the recipe's frame.
    assert!(most < 0.15, "{most}");
}

#[test]
fn no_wavelength_of_a_lattice_or_of_blocks_stands_out_on_a_plane() {
    let plane = land(&frame(97), |x, y| 50.0 + 0.5 * x + 0.31 * y);
    let refiner = refiner(&plane, &Detail::default());
    let window = whole(plane.frame(), 5.0);
    let (after, before) = (fine(&plane, refiner.as_ref(), window), smooth(&plane, window));
    let before = before.get(HEIGHT).unwrap();
    let n = 256;
    let mut power = vec![0.0f64; n / 2];
    for row in 20..after.rows() - 20 {
        for turned in [false, true] {
            let at = |i: usize| {
                let (c, r) = if turned { (row, 60 + i) } else { (60 + i, row) };
                f64::from(after.row(r)[c] - before.row(r)[c])
            };
            let values: Vec<f64> = (0..n)
                .map(|i| at(i) * (0.5 - 0.5 * math::cos(std::f64::consts::TAU * i as f64 / n as f64)))
                .collect();
            for (k, power) in power.iter_mut().enumerate().skip(1) {
                let (mut re, mut im) = (0.0, 0.0);
                for (i, v) in values.iter().enumerate() {
                    let angle = std::f64::consts::TAU * ((i * k) % n) as f64 / n as f64;
                    re += v * math::cos(angle);
                    im += v * math::sin(angle);
                }
                *power += re * re + im * im;
            }
        }
    }
    // The recipe's cells are 8 samples wide; blocks of this level 128, of the level above 256.
    for (k, name) in
        [(32, "a cell"), (64, "half a cell"), (96, "a third"), (2, "a block"), (4, "half a block")]
    {
        let near: Vec<f64> = (1usize..=6)
            .flat_map(|d| [k as isize - d as isize, (k + d) as isize])
            .filter(|&k| k > 0 && k < (n / 2) as isize)
            .map(|k| power[k as usize])
            .collect();
        let mean = near.iter().sum::<f64>() / near.len() as f64;
        assert!(power[k] < 1.1 * mean, "{name}: {} among {near:?}", power[k]);
        // Power falls steeply towards short waves, where only the geometric mean of both sides tells what lies between them.
        if k >= 32 {
            let between =
                math::exp(near.iter().map(|&power| math::ln(power)).sum::<f64>() / near.len() as f64);
            let share = power[k] / between;
            assert!((0.9..1.1).contains(&share), "{name}: {share} of its neighbours");
        }
    }
}

#[test]
fn the_mean_height_stays() {
    let solved = land(&frame(65), hills);
    let refiner = refiner(&solved, &Detail::default());
    let window = whole(solved.frame(), 5.0);
    let (after, before) = (fine(&solved, refiner.as_ref(), window), smooth(&solved, window));
    let before = before.get(HEIGHT).unwrap();
    let (mut sum, mut fall, mut all) = (0.0, 0.0, 0.0);
    // Four by four cells, of eight by eight samples each.
    for (row, col) in (0..16).flat_map(|row| (0..16).map(move |col| (32 * row, 32 * col))) {
        let mut mean = 0.0;
        for (r, c) in (0..32).flat_map(|r| (0..32).map(move |c| (row + r, col + c))) {
            mean += f64::from(after.row(r)[c] - before.row(r)[c]) / 1024.0;
        }
        let at = |c: usize, r: usize| f64::from(before.row(row + r)[col + c]);
        fall += math::hypot(at(8, 0) - at(0, 0), at(0, 8) - at(0, 0));
        sum += mean.abs();
        all += mean;
    }
    assert!(sum < 0.03 * fall, "{} of what land falls over a cell", sum / fall);
    assert!(all.abs() < 0.01 * fall, "{}", all / fall);
}

#[test]
fn no_slope_over_the_limit() {
    let params = Detail { talus_deg: 35.0, strength: Coef::Const(2.0), ..Detail::default() };
    let limit = math::tan(35f64.to_radians());
    // A cone of 31 degrees, a valley with walls of 27, and hills below the limit.
    let lands: [&(dyn Fn(f64, f64) -> f64 + Sync); 3] = [
        &|x, y| 2000.0 - 0.6 * math::hypot(x - 1280.0, y - 1280.0),
        &|x, y| 100.0 + 0.1 * x + 0.5 * (y - 1280.0).abs(),
        &|x, y| 0.5 * hills(x, y),
    ];
    for (i, height) in lands.into_iter().enumerate() {
        let solved = land(&frame(65), height);
        let refiner = refiner(&solved, &params);
        for spacing_m in [20.0, 10.0, 5.0] {
            let rect = Rect { min: [500.0, 500.0], max: [2000.0, 2000.0] };
            let window = solved.frame().part(&rect, [spacing_m, spacing_m]).unwrap().unwrap();
            let slopes = slopes(&fine(&solved, refiner.as_ref(), window), spacing_m);
            let steep = slopes[slopes.len() - 1 - slopes.len() / 1000];
            assert!(steep < 1.1 * limit, "land {i} at {spacing_m} m: {steep}, allowed {limit}");
        }
    }
}

#[test]
fn a_cliff_keeps_its_slope_and_gets_no_steeper() {
    let cliff = |x: f64, y: f64| 100.0 + 0.05 * y + 300.0 / (1.0 + math::exp(-(x - 1280.0) / 60.0));
    let solved = land(&frame(65), cliff);
    let refiner = refiner(&solved, &Detail::default());
    let window = whole(solved.frame(), 5.0);
    let after = slopes(&fine(&solved, refiner.as_ref(), window), 5.0);
    let before = slopes(smooth(&solved, window).get(HEIGHT).unwrap(), 5.0);
    let at = |slopes: &[f64]| slopes[slopes.len() - slopes.len() / 200];
    assert!(at(&after) < 1.15 * at(&before), "{} after {}", at(&after), at(&before));
    assert!(at(&after) > 0.9 * at(&before), "{} after {}", at(&after), at(&before));
}

#[test]
fn a_cone_is_cut_alike_on_all_sides() {
    let cone = |x: f64, y: f64| 2000.0 - 0.6 * math::hypot(x - 1280.0, y - 1280.0);
    let solved = land(&frame(65), cone);
    let refiner = refiner(&solved, &Detail::default());
    let window = whole(solved.frame(), 10.0);
    let (after, before) = (fine(&solved, refiner.as_ref(), window), smooth(&solved, window));
    let before = before.get(HEIGHT).unwrap();
    let mut sums = [(0.0f64, 0.0f64); 8];
    for row in 0..window.rows() {
        for col in 0..window.cols() {
            let (x, y) = (window.x_m(col) - 1280.0, window.y_m(row) - 1280.0);
            if (300.0..1000.0).contains(&math::hypot(x, y)) {
                let sector = (math::atan2(y, x) / std::f64::consts::TAU + 0.5) * 7.9999;
                let change = f64::from(after.row(row)[col] - before.row(row)[col]);
                let sum = &mut sums[sector as usize];
                *sum = (sum.0 + change * change, sum.1 + 1.0);
            }
        }
    }
    let sizes = sums.map(|(sum, count)| (sum / count).sqrt());
    let (low, high) = sizes.iter().fold((f64::MAX, 0.0f64), |(a, b), &v| (a.min(v), b.max(v)));
    assert!(high < 1.3 * low, "{sizes:?}");
}

/// Share of samples that lie in pits, and their mean depth.
fn pits(height: &Raster<f32>, cell_m: f64) -> (f64, f64) {
    let found =
        crate::drainage::drainage(height, [cell_m, cell_m], f32::NEG_INFINITY, &Ctx::silent()).unwrap();
    let mut filled = height.clone();
    found.basins.fill(&mut filled);
    let depths = filled.as_slice().iter().zip(height.as_slice()).map(|(f, h)| f64::from(f - h));
    let (mut count, mut sum) = (0.0, 0.0);
    for depth in depths {
        count += f64::from(u8::from(depth > 0.05));
        sum += depth;
    }
    (count / height.as_slice().len() as f64, sum / height.as_slice().len() as f64)
}

#[test]
fn streams_still_run_down() {
    // A winding valley whose bed falls by 4 %.
    let valley = |x: f64, y: f64| {
        let away = (y - 1280.0 - 200.0 * math::sin(x / 350.0)).abs();
        200.0 + 0.04 * x + 0.45 * away
    };
    let solved = land(&frame(65), valley);
    let refiner = refiner(&solved, &Detail::default());
    for spacing_m in [20.0, 10.0, 5.0] {
        let window = whole(solved.frame(), spacing_m);
        let before = pits(smooth(&solved, window).get(HEIGHT).unwrap(), spacing_m);
        let after = pits(&fine(&solved, refiner.as_ref(), window), spacing_m);
        assert!(
            after.0 < before.0 + 0.01 && after.1 < before.1 + 0.01,
            "{spacing_m} m: {after:?}, {before:?}"
        );
    }
}

#[test]
fn water_holes_and_deep_sediment_are_left_alone() {
    let mut solved = land(&frame(65), hills);
    let (cols, rows) = (65, 65);
    solved.set(WATER, Raster::from_fn(cols, rows, |c, _| if c < 20 { 3.0 } else { 0.0 }));
    solved.set(SEDIMENT, Raster::from_fn(cols, rows, |_, r| if r < 20 { 30.0 } else { 0.0 }));
    let mut height = solved.get(HEIGHT).unwrap().clone();
    height.as_mut_slice()[45 * 65 + 45] = f32::NAN;
    solved.set(HEIGHT, height);
    let refiner = refiner(&solved, &Detail::default());
    let window = whole(solved.frame(), 10.0);
    let mut input = smooth(&solved, window);
    let mut height = input.get(HEIGHT).unwrap().clone();
    height.as_mut_slice()[180 * window.cols() + 180] = f32::NAN;
    input.set(HEIGHT, height.clone());
    let after = refiner.refine(input, &Ctx::silent()).unwrap();
    let after = after.get(HEIGHT).unwrap();
    assert_eq!(after.as_slice().iter().filter(|v| v.is_nan()).count(), 1);
    let mut changed = 0;
    for row in 0..window.rows() {
        for col in 0..window.cols() {
            let (a, b) = (after.row(row)[col], height.row(row)[col]);
            // Up to the shore; on sediment, which grows deep from one sample to the next, a little further away.
            if col <= 4 * 19 || row <= 4 * 17 {
                assert!((a - b).abs() < 0.02, "{a} for {b} at {col}, {row}");
            }
            changed += usize::from((a - b).abs() > 0.1);
        }
    }
    assert!(changed > 1000, "{changed}");
}

#[test]
fn held_lines_keep_their_height() {
    let mut solved = land(&frame(65), hills);
    let points: Vec<[f64; 3]> =
        (0..=100).map(|i| 800.0 + 10.0 * f64::from(i)).map(|x| [x, 1285.0, hills(x, 1285.0)]).collect();
    let line = Held { kind: String::from("river"), points: points.clone(), radius_m: 20.0 };
    hold(&mut solved, vec![line]);
    let window = whole(solved.frame(), 5.0);
    let off = |solved: &Terrain| {
        let refiner = refiner(solved, &Detail::default());
        let (after, before) = (fine(solved, refiner.as_ref(), window), smooth(solved, window));
        let before = before.get(HEIGHT).unwrap();
        let change = |[x, y, _]: [f64; 3]| {
            let [col, row] = window.locate(x, y);
            (after.bilinear(col, row) - before.bilinear(col, row)).abs()
        };
        points.iter().map(|&point| change(point)).fold(0.0, f32::max)
    };
    assert!(off(&land(&frame(65), hills)) > 1.0, "without the constraint this shows nothing");
    assert!(off(&solved) < 0.1, "{}", off(&solved));
}

#[test]
fn finer_unevenness_of_the_input_gives_way_as_far_as_asked() {
    let solved = land(&frame(33), hills);
    let window = whole(solved.frame(), 10.0);
    let bumpy = |keep: f64| {
        let refiner = refiner(&solved, &Detail { keep, ..Detail::default() });
        let mut input = smooth(&solved, window);
        let seed = Seed::from_text("bumps");
        let mut height = input.get(HEIGHT).unwrap().clone();
        height
            .as_mut_slice()
            .iter_mut()
            .enumerate()
            .for_each(|(i, h)| *h += 10.0 * seed.unit(i as u64) as f32);
        let plain = fine(&solved, refiner.as_ref(), window);
        input.set(HEIGHT, height);
        let after = refiner.refine(input, &Ctx::silent()).unwrap();
        let after = after.get(HEIGHT).unwrap();
        let differences =
            after.as_slice().iter().zip(plain.as_slice()).map(|(a, b)| f64::from((a - b).abs()));
        differences.sum::<f64>() / plain.as_slice().len() as f64
    };
    assert!(bumpy(0.0) < 0.01, "{}", bumpy(0.0));
    assert!((bumpy(1.0) - 5.0).abs() < 0.5, "{}", bumpy(1.0));
}

#[test]
fn absurd_land_and_parameters_give_sound_land() {
    let seed = Seed::from_text("absurd");
    let spikes = |x: f64, y: f64| 1e4 * seed.unit2(x as i64, y as i64) - 3e3;
    let lands: [Terrain; 3] =
        [land(&frame(9), spikes), land(&frame(2), |x, y| 1e6 * (x + y)), land(&frame(33), |_, _| f64::NAN)];
    for solved in &lands {
        for params in [
            Detail {
                strength: Coef::Const(4.0),
                channel_m2: 1.0,
                talus_deg: 80.0,
                creep_m: 0.0,
                ..Detail::default()
            },
            Detail {
                channel_m2: 1e6,
                talus_deg: 1.0,
                creep_m: 1000.0,
                finest_m: 0.1,
                sea: false,
                ..Detail::default()
            },
        ] {
            let refiner = refiner(solved, &params);
            for spacing_m in [100.0, 40.0, 11.0, 0.7] {
                let far = solved.frame().extent().max[0].min(40.0 * spacing_m);
                let rect = Rect { min: [0.0, 0.0], max: [far, far] };
                let window = solved.frame().part(&rect, [spacing_m, spacing_m]).unwrap().unwrap();
                let after = fine(solved, refiner.as_ref(), window);
                assert!(after.as_slice().iter().all(|v| v.is_finite()), "{params:?} at {spacing_m}");
            }
        }
    }
}

#[test]
fn a_loop_is_cut_alike_at_both_ends() {
    let size = 64.0 * CELL_M;
    let turn = std::f64::consts::TAU / size;
    let solved = land(&frame(65).looped(), |x, y| {
        500.0 + 200.0 * math::sin(turn * x) + 150.0 * math::cos(2.0 * turn * y) * math::sin(turn * (x + y))
    });
    let refiner = refiner(&solved, &Detail::default());
    let window = whole(solved.frame(), 10.0);
    let (after, before) = (fine(&solved, refiner.as_ref(), window), smooth(&solved, window));
    let before = before.get(HEIGHT).unwrap();
    let change = |c: usize, r: usize| after.row(r)[c] - before.row(r)[c];
    let last = window.cols() - 1;
    for i in 0..=last {
        assert!((change(0, i) - change(last, i)).abs() < 0.05, "{i}: {} {}", change(0, i), change(last, i));
        assert!((change(i, 0) - change(i, last)).abs() < 0.05, "{i}: {} {}", change(i, 0), change(i, last));
    }
}

/// Hard rock lies over soft rock; the boundary is a plane at a height.
fn bedded(mut terrain: Terrain, hard_above: bool, boundary_m: f64) -> Terrain {
    use crate::rock::{Strata, strata::Bed};
    let bed = |hardness: f64| Bed { thickness_m: 2000.0, hardness, talus_deg: 50.0, ..Bed::default() };
    let (above, below) = if hard_above { (0.97, 0.2) } else { (0.2, 0.97) };
    let strata = Strata {
        beds: vec![bed(above), bed(below)],
        top_m: boundary_m + 2000.0,
        repeats: false,
        uneven_m: 0.0,
        ..Strata::default()
    };
    terrain = strata.apply(terrain, &Ctx::new(Seed(1))).unwrap();
    terrain
}

#[test]
fn gullies_are_cut_into_soft_beds_and_hardly_into_hard_ones() {
    // The same slope, with the hard bed above its middle and below it.
    let slope = |_: f64, y: f64| 400.0 + 0.5 * y;
    let plain = land(&frame(41), slope);
    let window = whole(plain.frame(), 5.0);
    let middle = 400.0 + 0.5 * 800.0;
    let params = Detail::default();
    let smooth = smooth(&plain, window);
    let smooth = smooth.get(HEIGHT).unwrap();
    // How uneven the upper and the lower half of the slope come out.
    let halves = |terrain: &Terrain| {
        let fine = fine(terrain, refiner(terrain, &params).as_ref(), window);
        let (mut sums, mut counts) = ([0.0; 2], [0.0; 2]);
        for row in 20..window.rows() - 20 {
            let lower = usize::from(window.y_m(row) < 800.0);
            for col in 20..window.cols() - 20 {
                sums[lower] += f64::from((fine.row(row)[col] - smooth.row(row)[col]).abs());
                counts[lower] += 1.0;
            }
        }
        [sums[0] / counts[0], sums[1] / counts[1]]
    };
    let [up, _] = halves(&bedded(plain.clone(), true, middle));
    let [up_soft, down] = halves(&bedded(plain.clone(), false, middle));
    let [_, down_soft] = halves(&bedded(plain.clone(), true, middle));
    assert!(up_soft > 2.0 * up && down_soft > 2.0 * down, "{up} {up_soft} above, {down} {down_soft} below");
}

#[test]
fn middling_beds_change_nothing() {
    use crate::rock::{Strata, strata::Bed};
    let plain = land(&frame(33), hills);
    let params = Detail::default();
    let bed = Bed { thickness_m: 5000.0, hardness: 0.5, talus_deg: params.talus_deg, ..Bed::default() };
    let strata = Strata { beds: vec![bed], top_m: 4000.0, ..Strata::default() };
    let with = strata.apply(plain.clone(), &Ctx::new(Seed(1))).unwrap();
    let window = whole(plain.frame(), 10.0);
    let [a, b] = [&plain, &with].map(|land| fine(land, refiner(land, &params).as_ref(), window));
    let off = a.as_slice().iter().zip(b.as_slice()).map(|(a, b)| (a - b).abs()).fold(0.0f32, f32::max);
    assert!(off < 1e-3, "{off} m");
}
