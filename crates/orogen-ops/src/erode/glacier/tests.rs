use std::f64::consts::PI;

use orogen_core::testkit::assert_close;
use orogen_core::{Coef, Frame, Raster};

use super::flow::{Flow, Law};
use super::land::{Land, Lattice};
use orogen_core::math;

use super::*;

/// Ice that does not slide, on cells of a size.
fn stiff(cell_m: f64) -> Law {
    Law::new(1.0, 0.0, [cell_m, cell_m], f32::NEG_INFINITY)
}

#[test]
fn a_sheet_on_level_ground_has_the_profile_of_vialov() {
    // Snow falls evenly within L of the middle; what flows farther is gone.
    let (cell, half, snow) = (1000.0, 40, 0.3);
    let law = stiff(cell);
    let cols = 2 * half + 11;
    let middle = cols / 2;
    // The last cell of the sheet ends half a cell beyond its node.
    let reach = (half as f64 + 0.5) * cell;
    let thickness = |x: f64| {
        let off = math::pow(reach, 4.0 / 3.0) - math::pow(x, 4.0 / 3.0);
        math::pow(2.0 * math::pow(snow / law.deformation, 1.0 / 3.0) * off.max(0.0), 3.0 / 8.0)
    };
    let mut ice = Raster::from_fn(cols, 5, |c, _| (0.9 * thickness(c.abs_diff(middle) as f64 * cell)) as f32);
    let bed = Raster::filled(cols, 5, 0.0);
    let mut flow = Flow::new(law, cols, 5);
    for _ in 0..3000 {
        for row in ice.as_mut_slice().chunks_mut(cols) {
            for (c, h) in row.iter_mut().enumerate() {
                *h = if c.abs_diff(middle) <= half { *h + (snow * 4.0) as f32 } else { 0.0 };
            }
        }
        flow.step(&mut ice, &bed, 4.0, &Ctx::silent()).unwrap();
    }
    let top = thickness(0.0);
    for off in 0..half - 2 {
        for c in [middle - off, middle + off] {
            let (found, right) = (f64::from(ice.row(2)[c]), thickness(off as f64 * cell));
            assert!((found - right).abs() < 0.03 * top, "{off} km from the middle: {found}, not {right}");
        }
    }
}

#[test]
fn a_dome_spreads_as_halfar_says() {
    let (samples, cell) = (101, 1000.0);
    let law = stiff(cell);
    let (top, reach) = (700.0f64, 35_000.0f64);
    let cube = |x: f64| x * x * x;
    let first =
        cube(7.0 / 4.0) * reach * cube(reach) / (18.0 * law.deformation * top * cube(top) * cube(top));
    let dome = |time: f64| {
        Raster::from_fn(samples, samples, |c, r| {
            let at = |i: usize| (i as f64 - 50.0) * cell;
            let shrunk = math::hypot(at(c), at(r)) / reach * math::pow(first / time, 1.0 / 18.0);
            let shape = math::pow((1.0 - math::pow(shrunk, 4.0 / 3.0)).max(0.0), 3.0 / 7.0);
            (top * math::pow(first / time, 1.0 / 9.0) * shape) as f32
        })
    };
    let mut ice = dome(first);
    let bed = Raster::filled(samples, samples, 0.0);
    let mut flow = Flow::new(law, samples, samples);
    let (steps, last) = (200, 4.0 * first);
    for _ in 0..steps {
        flow.step(&mut ice, &bed, (last - first) / f64::from(steps), &Ctx::silent()).unwrap();
    }
    let right = dome(last);
    assert_close!(ice.sum_f64(), dome(first).sum_f64(), rel = 1e-5);
    let off = ice.as_slice().iter().zip(right.as_slice()).map(|(a, b)| f64::from(a - b) * f64::from(a - b));
    let off = (off.sum::<f64>() / (PI * 40.0 * 40.0)).sqrt();
    assert!(off < 0.015 * top, "{off} m off");
    assert_close!(f64::from(ice.row(50)[50]), f64::from(right.row(50)[50]), rel = 0.01);
    // The same along the axes and the diagonals.
    assert_close!(f64::from(ice.row(50)[70]), f64::from(ice.row(64)[64]), rel = 0.02);
}

/// A valley that falls to the south, with a V-shaped section, below peaks of 2600 m.
fn valley(samples: usize) -> (Frame, Raster<f32>) {
    let frame = Frame::square(12_000.0, samples).unwrap();
    let spacing = frame.spacing_m()[0];
    let land = Raster::from_fn(samples, samples, |c, r| {
        let (x, y) = (c as f64 * spacing - 6000.0, r as f64 * spacing);
        let floor = 2100.0 - 0.09 * y;
        (floor + 0.45 * x.abs().min(3000.0) + 30.0 * math::sin(y / 900.0)) as f32
    });
    (frame, land)
}

fn run(op: &Glacier, frame: Frame, height: Raster<f32>) -> Terrain {
    let mut terrain = Terrain::new(frame);
    terrain.set(layer::HEIGHT, height);
    op.apply(terrain, &Ctx::silent()).unwrap()
}

/// Even rock, without a sea.
fn plain() -> Glacier {
    Glacier { variety: 0.0, sea: false, equilibrium_m: 1900.0, steps: 20, ..Glacier::default() }
}

/// The land on the lattice after a run of so many steps.
fn worked(op: &Glacier, frame: Frame, height: Raster<f32>) -> Land {
    let mut terrain = Terrain::new(frame);
    terrain.set(layer::HEIGHT, height);
    let mut work = Working::new(op, terrain, &Ctx::silent()).unwrap();
    while work.advance(&Ctx::silent()).unwrap() == Progress::More {}
    work.land.unwrap()
}

#[test]
fn ice_and_rock_are_conserved() {
    let (frame, height) = valley(129);
    let inland = plain();
    let coastal = Glacier { sea: true, equilibrium_m: 300.0, ..plain() };
    for (op, lowered) in [(inland, 0.0), (coastal, 1300.0)] {
        let height = height.map(|h| h - lowered);
        let land = worked(&op, frame, height.clone());
        let b = land.balance;
        let there = land.ice.sum_f64() * land.cell_m2();
        assert!(b.snow_m3 > 0.0 && b.melted_m3 > 0.0 && there > 0.0);
        assert_eq!(op.sea, b.calved_m3 > 0.0);
        let rest = b.snow_m3 - b.melted_m3 - b.calved_m3 - b.left_m3 - there;
        assert!(rest.abs() < 3e-4 * b.snow_m3, "{rest} of {}", b.snow_m3);
        let c = land.carried;
        assert!(land.worn_m3 > 0.0 && c.laid_m3 > 0.0 && c.left_m3 > 0.0);
        assert_close!(land.worn_m3, c.laid_m3 + c.left_m3, rel = 1e-6);
        // What the ground has lost is what left, but for what interpolation between the two lattices adds.
        assert_close!(land.lost_m3(), c.left_m3, rel = 0.03);
    }
}

/// Width of the valley at a height over its floor, in the middle of the map, in samples.
fn width(land: &Raster<f32>, above_m: f32) -> usize {
    let row = land.row(land.rows() / 2);
    let floor = row.iter().copied().fold(f32::INFINITY, f32::min);
    row.iter().filter(|&&h| h < floor + above_m).count()
}

#[test]
fn a_v_becomes_a_u() {
    let (frame, height) = valley(201);
    let worn = run(&plain(), frame, height.clone());
    let worn = worn.get(layer::HEIGHT).unwrap();
    // A V is a third as wide at a third of the height; a parabola has a share of 0.58.
    let share = |land: &Raster<f32>| width(land, 150.0) as f64 / width(land, 450.0) as f64;
    assert_close!(share(&height), 1.0 / 3.0, abs = 0.03);
    assert!(share(worn) > 0.45, "{} before, {} after", share(&height), share(worn));
    // No slot along the middle: the floor is level over some hundred metres.
    assert!(width(worn, 20.0) >= 2 * width(&height, 20.0));
}

#[test]
fn land_turned_by_a_quarter_gives_the_turned_result() {
    let (frame, height) = valley(101);
    let turned = |raster: &Raster<f32>| Raster::from_fn(101, 101, |c, r| raster.row(c)[100 - r]);
    let op = Glacier { steps: 6, ..plain() };
    let [there, here] = [turned(&height), height].map(|height| run(&op, frame, height));
    let here = turned(here.get(layer::HEIGHT).unwrap());
    let off = there.get(layer::HEIGHT).unwrap().as_slice().iter().zip(here.as_slice());
    let most = off.map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
    assert!(most < 0.5, "{most} m");
}

#[test]
fn land_without_ice_and_holes_stay_to_the_bit() {
    let (frame, mut height) = valley(129);
    let op = Glacier { equilibrium_m: 5000.0, ..plain() };
    let still = run(&op, frame, height.clone());
    assert_eq!(still.get(layer::HEIGHT).unwrap(), &height);
    assert_eq!(still.get(layer::ICE).unwrap().sum_f64(), 0.0);
    for cell in [3000, 3001, 3002, 3131, 9000] {
        height.as_mut_slice()[cell] = f32::NAN;
    }
    let worn = run(&Glacier { melts: false, ..plain() }, frame, height.clone());
    for name in [layer::HEIGHT, layer::SEDIMENT, layer::ICE] {
        let made = worn.get(name).unwrap();
        assert!(made.as_slice().iter().zip(height.as_slice()).all(|(a, b)| a.is_nan() == b.is_nan()));
    }
    assert!(worn.get(layer::ICE).unwrap().range().unwrap().1 > 50.0);
}

#[test]
fn a_plain_under_ice_stays_a_plain() {
    let frame = Frame::square(20_000.0, 129).unwrap();
    let op = Glacier { equilibrium_m: -200.0, melts: false, ..plain() };
    let worn = run(&op, frame, Raster::filled(129, 129, 100.0));
    let (low, high) = worn.get(layer::HEIGHT).unwrap().range().unwrap();
    assert!(low > 0.0 && high < 120.0, "{low} to {high}");
    let (thin, thick) = worn.get(layer::ICE).unwrap().range().unwrap();
    assert!(thin >= 0.0 && thick > 20.0 && thick < 2000.0, "{thin} to {thick}");
}

#[test]
fn till_lies_no_deeper_than_said() {
    let (frame, height) = valley(129);
    for till_m in [0.0, 3.0] {
        let worn = run(&Glacier { till_m, ..plain() }, frame, height.clone());
        let (least, most) = worn.get(layer::SEDIMENT).unwrap().range().unwrap();
        assert!(least >= 0.0 && most <= till_m as f32, "{least} to {most} m of {till_m} m");
        // There is as much to lay down as that.
        assert!(most >= 0.99 * till_m as f32);
    }
}

#[test]
fn a_few_samples_and_absurd_land_do_not_matter() {
    for (cols, rows) in [(2, 2), (2, 40), (40, 2), (3, 3), (5, 300)] {
        let frame = Frame::new([0.0, 0.0], [1000.0, 1000.0], [cols, rows]).unwrap();
        let spiky = Raster::from_fn(cols, rows, |c, r| if (c + r) % 3 == 0 { 9000.0 } else { -3000.0 });
        for height in [Raster::filled(cols, rows, 5000.0), spiky, Raster::filled(cols, rows, f32::NAN)] {
            for snow_m_per_yr in [0.5, 50.0] {
                let op = Glacier { snow_m_per_yr, melts: false, steps: 3, ..Glacier::default() };
                let worn = run(&op, frame, height.clone());
                for name in [layer::HEIGHT, layer::SEDIMENT, layer::ICE] {
                    let made = worn.get(name).unwrap();
                    let fine = |(a, b): (&f32, &f32)| a.is_finite() || (a.is_nan() && b.is_nan());
                    assert!(made.as_slice().iter().zip(height.as_slice()).all(fine), "{cols} x {rows}");
                }
            }
        }
    }
}

#[test]
fn the_line_follows_the_temperature_and_rises_between_ice_ages() {
    let (frame, height) = valley(65);
    let op = Glacier { by_temperature: true, equilibrium_c: 3.0, melts: false, steps: 4, ..plain() };
    let ice = |warmer: f32| {
        let mut terrain = Terrain::new(frame);
        terrain.set(layer::TEMPERATURE, height.map(|h| 15.0 - 0.0065 * h + warmer));
        terrain.set(layer::HEIGHT, height.clone());
        op.apply(terrain, &Ctx::silent()).unwrap().get(layer::ICE).unwrap().sum_f64()
    };
    // 3 degrees at 1846 m, and nowhere.
    assert!(ice(0.0) > 0.0);
    assert_eq!(ice(30.0), 0.0);
    assert_close!(climate::warmth(0.0, 2), 1.0, abs = 1e-9);
    assert_close!(climate::warmth(0.25, 2), 0.0, abs = 1e-9);
    assert_close!(climate::warmth(0.5, 2), 1.0, abs = 1e-9);
}

#[test]
fn harder_rock_is_worn_less_and_what_is_held_stays() {
    let (frame, height) = valley(101);
    let lowered = |wear: f64| {
        let op = Glacier { wear_mm_per_yr: Coef::Const(wear), frost_mm_per_yr: 0.0, steps: 8, ..plain() };
        height.sum_f64() - run(&op, frame, height.clone()).get(layer::HEIGHT).unwrap().sum_f64()
    };
    assert_close!(lowered(0.0), 0.0, abs = 1.0);
    assert!(lowered(4.0) > 1.5 * lowered(2.0) && lowered(2.0) > 0.0);
}

/// Mean square of what differs at shared samples, as a share of the relief.
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
fn a_finer_frame_has_the_same_valleys() {
    let made = |samples: usize| {
        let frame = Frame::new([0.0, 0.0], [30_000.0, 7500.0], [samples, (samples - 1) / 4 + 1]).unwrap();
        let noise = crate::octaves::Octaves::new(orogen_core::Seed(8), 6000.0, 8, 0.5);
        let mut height = Raster::filled(frame.cols(), frame.rows(), 0.0);
        height.par_rows(|row, out| {
            let mut buffers = crate::octaves::OctaveBuffers::default();
            noise.row(&frame, row, 0..frame.cols(), &mut buffers, out);
            out.iter_mut().for_each(|h| *h = 1500.0 + 900.0 * *h);
        });
        run(&Glacier { sea: false, ..Glacier::default() }, frame, height).get(layer::HEIGHT).unwrap().clone()
    };
    let off = preview_error(&made(513), &made(2049));
    assert!(off < 0.03, "{off} of the relief");
}

#[test]
fn the_lattice_has_at_most_256_cells_of_60_m_or_more() {
    let nodes =
        |size_m: f64, samples: usize| Lattice::over(&Frame::square(size_m, samples).unwrap(), 1.0).len();
    assert_eq!(nodes(40_000.0, 2049), 257 * 257);
    assert_eq!(nodes(6000.0, 2049), 101 * 101);
    assert_eq!(nodes(40_000.0, 129), 129 * 129);
}
