use orogen_core::Cell;
use orogen_core::testkit::hills;

use super::*;

const CELL_M: [f64; 2] = [10.0, 10.0];

fn found(height: &Raster<f32>, params: &Faults) -> Vec<Fault> {
    faults(height, CELL_M, params, &Ctx::silent()).unwrap()
}

fn of_kind(height: &Raster<f32>, kind: Kind) -> Vec<Fault> {
    let rivers = Faults { river_m2: 2e4, ..Faults::default() };
    found(height, &rivers).into_iter().filter(|fault| fault.kind == kind).collect()
}

/// A valley that falls to the south by 1 m a sample, 2 m up a sample to either side, with a wavy ground that is not a plane.
fn valley() -> Raster<f32> {
    Raster::from_fn(41, 60, |c, r| {
        let wave = ((c * c + 3 * r) % 5) as f32 * 0.02;
        100.0 - r as f32 + 2.0 * (c as f32 - 20.0).abs() + wave
    })
}

#[test]
fn a_clean_valley_has_no_faults() {
    assert_eq!(found(&valley(), &Faults { river_m2: 2e4, ..Faults::default() }), []);
}

#[test]
fn a_dam_across_a_valley_is_a_sink_and_a_rising_river_with_its_height() {
    let mut land = valley();
    for col in 0..41 {
        land[Cell { col, row: 40 }] = land[Cell { col, row: 40 }].max(90.0);
    }
    let sinks = of_kind(&land, Kind::Sink);
    assert_eq!(sinks.len(), 1, "{sinks:?}");
    assert_eq!(sinks[0].at, [20.0, 39.0]);
    assert!((sinks[0].size_m - 29.0).abs() < 0.2, "{sinks:?}");
    let rises = of_kind(&land, Kind::RisingRiver);
    assert_eq!(rises.len(), 1, "{rises:?}");
    assert_eq!((rises[0].at, rises[0].to[1]), ([20.0, 39.0], 40.0));
    assert!((rises[0].size_m - 29.0).abs() < 0.2, "{rises:?}");
    // What the report says mends it does.
    let drained = drainage(&land, CELL_M, f32::NEG_INFINITY, &Ctx::silent()).unwrap();
    drained.basins.fill(&mut land);
    assert_eq!(of_kind(&land, Kind::Sink).len() + of_kind(&land, Kind::RisingRiver).len(), 0);
}

/// A lake of 15 by 15 samples in rough ground, its surface falling by so much a sample to the east.
fn lake(fall_m: f32) -> Raster<f32> {
    let ground = hills(65, 40.0);
    Raster::from_fn(65, 65, |c, r| match (c, r) {
        (20..35, 20..35) => 50.0 - fall_m * (c - 20) as f32,
        _ => 60.0 + ground[Cell { col: c, row: r }].abs() + ((c * 7 + r * 3) % 11) as f32 * 0.3,
    })
}

#[test]
fn a_lake_that_slopes_is_named_with_its_ends_and_a_level_one_is_not() {
    assert_eq!(of_kind(&lake(0.0), Kind::SlopingLake), []);
    let lakes = of_kind(&lake(0.08), Kind::SlopingLake);
    assert_eq!(lakes.len(), 1, "{lakes:?}");
    // The shore itself is not smooth: 13 of 15 samples are judged.
    assert!((lakes[0].size_m - 12.0 * 0.08).abs() < 1e-3, "{lakes:?}");
    assert!(lakes[0].at[0] < lakes[0].to[0], "{lakes:?}");
    // A plane that slopes away is a plane, not a lake.
    let plane = Raster::from_fn(40, 40, |c, _| 50.0 - 0.05 * c as f32);
    assert_eq!(of_kind(&plane, Kind::SlopingLake), []);
}

#[test]
fn a_sloping_lake_of_any_outline_is_found() {
    let ground = hills(121, 40.0);
    type Outline = fn(f32, f32) -> bool;
    let outlines: [(&str, Outline); 5] = [
        ("round", |x, y| x * x + y * y < 900.0),
        ("square", |x, y| x.abs().max(y.abs()) < 30.0),
        ("ellipse", |x, y| (x / 45.0) * (x / 45.0) + (y / 20.0) * (y / 20.0) < 1.0),
        ("diamond", |x, y| x.abs() + y.abs() < 35.0),
        ("long and bent", |x, y| (y - 0.02 * x * x).abs() < 7.0 && x.abs() < 40.0),
    ];
    for (name, outline) in outlines {
        for fall_m in [0.02f32, 0.08] {
            let land = Raster::from_fn(121, 121, |c, r| {
                let (x, y) = (c as f32 - 60.0, r as f32 - 60.0);
                let rough = ground[Cell { col: c, row: r }].abs() + ((c * 7 + r * 3) % 11) as f32 * 0.3;
                if outline(x, y) { 50.0 - fall_m * x } else { 60.0 + rough }
            });
            let lakes = of_kind(&land, Kind::SlopingLake);
            assert_eq!(lakes.len(), 1, "{name}, {fall_m}: {lakes:?}");
            let samples =
                (0..121 * 121).filter(|i| outline((i % 121) as f32 - 60.0, (i / 121) as f32 - 60.0));
            let share = lakes[0].area_m2 / (samples.count() as f64 * 100.0);
            assert!((0.9..=1.0).contains(&share), "{name}: {share} of the lake");
        }
    }
    // A plane with a wall along one side only runs out of the model on the others.
    let open =
        Raster::from_fn(40, 40, |c, r| if c < 3 { 80.0 + (r % 5) as f32 } else { 50.0 - 0.05 * c as f32 });
    assert_eq!(of_kind(&open, Kind::SlopingLake), []);
}

#[test]
fn a_seam_between_tiles_is_found_along_its_length_in_either_direction() {
    let ground = hills(97, 60.0);
    for turned in [false, true] {
        let land = Raster::from_fn(97, 97, |c, r| {
            let (line, along) = if turned { (r, c) } else { (c, r) };
            let lift = if line > 47 && along < 64 { 6.0 } else { 0.0 };
            ground[Cell { col: c, row: r }] + lift
        });
        let seams = of_kind(&land, Kind::Seam);
        // The other one is the end of the lifted ground.
        let long: Vec<_> = seams.iter().filter(|seam| seam.length_m > 400.0).collect();
        assert_eq!((seams.len(), long.len()), (2, 1), "{seams:?}");
        let (line, from, to) = if turned {
            (long[0].at[1], long[0].at[0], long[0].to[0])
        } else {
            (long[0].at[0], long[0].at[1], long[0].to[1])
        };
        assert_eq!((line, from, to), (47.5, 0.0, 63.0), "{seams:?}");
        assert!((long[0].size_m - 6.0).abs() < 0.5, "{seams:?}");
    }
    assert_eq!(of_kind(&hills(97, 60.0), Kind::Seam), []);
}

#[test]
fn heights_in_whole_steps_are_terraces() {
    let smooth = Raster::from_fn(80, 80, |c, r| 0.13 * c as f32 + 0.07 * r as f32);
    assert_eq!(of_kind(&smooth, Kind::Terraces), []);
    let stepped = smooth.map(|h| h.floor());
    let found = of_kind(&stepped, Kind::Terraces);
    assert_eq!((found.len(), found[0].size_m), (1, 1.0), "{found:?}");
    // Steep ground in whole metres does not show them, however much level sea lies before it.
    let coast = Raster::from_fn(80, 80, |c, _| (3.3 * (c as f32 - 60.0)).max(0.0).floor());
    assert_eq!(of_kind(&coast, Kind::Terraces), []);
}

#[test]
fn rises_along_a_line_are_found_from_either_end() {
    let line = [10.0, 8.0, 9.5, 7.0, f32::NAN, 7.2, 5.0, 6.0];
    assert_eq!(rises_along(&line, 0.5), [[1, 2], [6, 7]]);
    let back: Vec<f32> = line.iter().rev().copied().collect();
    assert_eq!(rises_along(&back, 0.5), [[6, 5], [1, 0]]);
    assert!(rises_along(&[], 0.5).is_empty() && rises_along(&[f32::NAN, 3.0], 0.5).is_empty());
}

#[test]
fn the_smallest_models_and_holes() {
    for (cols, rows) in [(1, 1), (2, 1), (3, 3), (40, 2)] {
        for value in [1.0, f32::NAN] {
            let found = found(&Raster::filled(cols, rows, value), &Faults::default());
            assert_eq!(found, [], "{cols} x {rows}");
        }
    }
}
