//! `orogen dem`: every tool runs on any model, results lie where their source does, bad calls get a sentence.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on has failed")]

mod common;

use common::{Bench, Run};
use orogen::core::Raster;
use orogen::io::geotiff::Place;
use orogen::io::{About, Limits, elevation, geotiff};

const RASTER_TOOLS: [&str; 5] = ["hillshade", "slope", "aspect", "curvature", "ruggedness"];

/// Ground that rises to the east by 1 and falls to the south by 2, metre by metre, on cells of 10 m.
fn plane(cols: usize, rows: usize) -> Raster<f32> {
    Raster::from_fn(cols, rows, |c, r| 10.0 * c as f32 - 20.0 * r as f32)
}

fn tif(raster: &Raster<f32>) -> Vec<u8> {
    let about = About { layer: "height", unit: "m", seed: "" };
    geotiff::encode_f32_at(raster, &Place::local([500.0, 4000.0], [10.0, 10.0]), &about)
}

fn bench_with(raster: &Raster<f32>) -> Bench {
    let bench = Bench::new();
    bench.write("in.tif", tif(raster));
    bench
}

fn read(bench: &Bench, name: &str) -> (Raster<f32>, Place) {
    let (model, place) = elevation::read_placed(&bench.path(name), &Limits::default()).unwrap();
    (model.height, place.unwrap())
}

fn numbers(run: &Run) -> serde_json::Value {
    serde_json::from_str(&run.succeeds().stdout).unwrap()
}

#[test]
fn results_lie_where_their_source_does() {
    let bench = bench_with(&plane(7, 5));
    let place = read(&bench, "in.tif").1;
    for tool in RASTER_TOOLS {
        bench.run(&["dem", tool, "in.tif"]).succeeds();
        let (raster, found) = read(&bench, &format!("in-{tool}.tif"));
        assert_eq!((raster.cols(), raster.rows()), (7, 5), "{tool}");
        assert_eq!(found, place, "{tool}");
    }
}

#[test]
fn a_plane_is_measured_as_one() {
    let bench = bench_with(&plane(6, 4));
    let found = numbers(&bench.run(&["dem", "slope", "in.tif", "s.tif", "--percent", "--json"]));
    assert!((found["min"].as_f64().unwrap() - 500f64.sqrt() * 10.0).abs() < 1e-2, "{found}");
    let found = numbers(&bench.run(&["dem", "aspect", "in.tif", "a.tif", "--json"]));
    assert!((found["max"].as_f64().unwrap() - 206.565).abs() < 1e-2, "{found}");
    let found = numbers(&bench.run(&["dem", "ruggedness", "in.tif", "r.tif", "--kind", "tpi", "--json"]));
    assert!(found["max"].as_f64().unwrap().abs() < 1e-4, "{found}");
}

#[test]
fn the_smallest_models_level_ground_and_nothing_but_holes() {
    for raster in [
        Raster::filled(1, 1, 5.0),
        Raster::filled(2, 2, 5.0),
        Raster::filled(9, 1, 5.0),
        Raster::filled(1, 9, 5.0),
        Raster::filled(9, 9, 5.0),
        Raster::filled(9, 9, f32::NAN),
    ] {
        let bench = bench_with(&raster);
        for tool in RASTER_TOOLS {
            bench.run(&["dem", tool, "in.tif", "out.tif"]).succeeds();
            assert_eq!(read(&bench, "out.tif").0.cols(), raster.cols());
        }
    }
}

#[test]
fn the_same_bytes_on_any_number_of_threads() {
    let bench = bench_with(&orogen_core::testkit::hills(200, 300.0));
    for tool in RASTER_TOOLS {
        let bytes = ["1", "3"].map(|threads| {
            bench.run(&["dem", tool, "in.tif", "out.tif", "--threads", threads]).succeeds();
            std::fs::read(bench.path("out.tif")).unwrap()
        });
        assert_eq!(bytes[0], bytes[1], "{tool}");
    }
}

#[test]
fn bad_calls_name_the_file_and_what_is_allowed() {
    let bench = bench_with(&plane(4, 4));
    bench.write("text.tif", "no picture");
    bench.write("bare.asc", "");
    bench.run(&["dem", "slope", "nowhere.tif"]).fails(2, &["nowhere.tif", "no such file"]);
    bench.run(&["dem", "slope", "text.tif"]).fails(2, &["text.tif", "no valid GeoTIFF"]);
    bench.run(&["dem", "slope", "bare.asc"]).fails(2, &["bare.asc", "empty"]);
    bench.run(&["dem", "slope", "in.tif", "out.jpg"]).fails(2, &["out.jpg", "tif"]);
    bench.run(&["dem", "slope", "in.tif", "nowhere/"]).fails(2, &["nowhere"]);
    bench.run(&["dem", "hillshade", "in.tif", "--altitude", "91"]).fails(2, &["--altitude", "0 to 90"]);
    bench.run(&["dem", "hillshade", "in.tif", "--azimuth", "nan"]).fails(2, &["--azimuth", "0 to 360"]);
    bench.run(&["dem", "shade", "in.tif"]).fails(2, &["shade"]);
    assert_eq!(bench.files(), ["bare.asc", "in.tif", "text.tif"]);
}
