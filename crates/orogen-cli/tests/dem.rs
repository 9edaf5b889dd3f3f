//! `orogen dem`: every tool runs on any model, results lie where their source does, bad calls get a sentence.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on has failed")]

mod common;

use common::{Bench, Run};
use orogen::core::Raster;
use orogen::io::geotiff::Place;
use orogen::io::{About, Limits, elevation, geotiff};

const RASTER_TOOLS: [&str; 7] = ["hillshade", "slope", "aspect", "curvature", "ruggedness", "fill", "flow"];

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
            bench.run(&["dem", tool, "in.tif", "out.png"]).succeeds();
            assert_eq!(grey(&bench, "out.png").cols(), raster.cols());
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
fn packed_files_hold_the_same_and_are_smaller() {
    let bench = bench_with(&orogen_core::testkit::hills(200, 300.0));
    for tool in RASTER_TOOLS {
        bench.run(&["dem", tool, "in.tif", "plain.tif"]).succeeds();
        bench.run(&["dem", tool, "in.tif", "packed.tif", "--compress", "deflate"]).succeeds();
        let bits =
            |name: &str| read(&bench, name).0.as_slice().iter().map(|v| v.to_bits()).collect::<Vec<_>>();
        assert_eq!(bits("plain.tif"), bits("packed.tif"), "{tool}");
        let size = |name: &str| std::fs::metadata(bench.path(name)).unwrap().len();
        assert!(size("packed.tif") < size("plain.tif"), "{tool}");
    }
    bench.run(&["dem", "slope", "in.tif", "--compress", "zip"]).fails(2, &["zip", "none, deflate"]);
}

/// The numbers of a grey picture.
fn grey(bench: &Bench, name: &str) -> Raster<f32> {
    elevation::read(&bench.path(name), &Limits::default()).unwrap().height
}

#[test]
fn pictures_span_the_range_of_what_they_show() {
    let mut ground = orogen_core::testkit::hills(90, 300.0);
    for tool in RASTER_TOOLS.iter().filter(|tool| **tool != "hillshade") {
        let bench = bench_with(&ground);
        let run = bench.run(&["dem", tool, "in.tif", "p.png"]);
        let low = u32::from(run.succeeds().stderr.contains("holes black"));
        assert!(run.stderr.contains(&format!(" as grey {low} to 65535")), "{tool}: {}", run.stderr);
        bench.run(&["dem", tool, "in.tif", "p.tif"]).succeeds();
        let (values, picture) = (read(&bench, "p.tif").0, grey(&bench, "p.png"));
        let (min, max) = values.range().unwrap();
        for (value, found) in values.as_slice().iter().zip(picture.as_slice()) {
            let share = if value.is_nan() { f64::NAN } else { f64::from(value - min) / f64::from(max - min) };
            let expected = if share.is_nan() { 0.0 } else { f64::from(low) + share * f64::from(65535 - low) };
            assert!((f64::from(*found) - expected).abs() < 1.0, "{tool}: {found} for {value}");
        }
        assert_eq!(bench.files(), ["in.tif", "p.png", "p.tif"], "{tool}");
    }
    ground[orogen::core::Cell { col: 5, row: 5 }] = f32::NAN;
    let bench = bench_with(&ground);
    let found = numbers(&bench.run(&["dem", "slope", "in.tif", "p.png", "--json"]));
    assert_eq!(found["grey"], serde_json::json!([1, 65535]));
    assert_eq!(grey(&bench, "p.png").row(5)[5], 0.0);
    bench.run(&["dem", "hillshade", "in.tif", "h.png"]).succeeds();
    bench.run(&["dem", "hillshade", "in.tif", "h.tif"]).succeeds();
    let bytes = read(&bench, "h.tif").0.map(|v| if v.is_nan() { 0.0 } else { v });
    assert_eq!(bytes, grey(&bench, "h.png"));
}

#[test]
fn masks_and_maps_beside_other_results_are_pictures_too() {
    let bench = bench_with(&bowl());
    for call in [
        &["viewshed", "in.tif", "p.png", "--from", "520,3970"][..],
        &["watershed", "in.tif", "p.png", "--at", "520,3970"],
    ] {
        bench.run(&[&["dem"], call].concat()).succeeds();
        assert!(grey(&bench, "p.png").as_slice().iter().all(|v| [0.0, 128.0, 255.0].contains(v)), "{call:?}");
    }
    for call in [
        &["basins", "in.tif", "p.png", "--min-area", "0"][..],
        &["cutfill", "in.tif", "p.png", "--level", "5"],
        &["rivers", "in.tif", "p.png"],
    ] {
        let run = bench.run(&[&["dem"], call].concat());
        assert!(run.succeeds().stderr.contains(" as grey 0 to 65535"), "{call:?}: {}", run.stderr);
    }
}

#[test]
fn bad_calls_name_the_file_and_what_is_allowed() {
    let bench = bench_with(&plane(4, 4));
    bench.write("text.tif", "no picture");
    bench.write("bare.asc", "");
    bench.run(&["dem", "slope", "nowhere.tif"]).fails(2, &["nowhere.tif", "no such file"]);
    bench.run(&["dem", "slope", "text.tif"]).fails(2, &["text.tif", "not a valid GeoTIFF"]);
    bench.run(&["dem", "slope", "bare.asc"]).fails(2, &["bare.asc", "empty"]);
    bench.run(&["dem", "slope", "in.tif", "out.jpg"]).fails(2, &["out.jpg", "tif"]);
    bench.run(&["dem", "slope", "in.tif", "nowhere/"]).fails(2, &["nowhere"]);
    bench.run(&["dem", "hillshade", "in.tif", "--altitude", "91"]).fails(2, &["--altitude", "0 to 90"]);
    bench.run(&["dem", "hillshade", "in.tif", "--azimuth", "nan"]).fails(2, &["--azimuth", "0 to 360"]);
    bench.run(&["dem", "shade", "in.tif"]).fails(2, &["shade"]);
    assert_eq!(bench.files(), ["bare.asc", "in.tif", "text.tif"]);
}

#[test]
fn contours_as_geojson_and_as_a_map() {
    let bench = bench_with(&orogen_core::testkit::hills(60, 100.0));
    let found =
        numbers(&bench.run(&["dem", "contours", "in.tif", "c.geojson", "--interval", "20", "--json"]));
    let text: serde_json::Value =
        serde_json::from_slice(&std::fs::read(bench.path("c.geojson")).unwrap()).unwrap();
    let features = text["features"].as_array().unwrap();
    assert_eq!(features.len() as u64, found["lines"].as_u64().unwrap());
    for feature in features {
        let line = feature["geometry"]["coordinates"].as_array().unwrap();
        assert_eq!(feature["properties"]["closed"], line.first() == line.last());
        for place in line {
            // The model lies at 500, 4000 and has cells of 10 m.
            let [x, y] = [0, 1].map(|i: usize| place[i].as_f64().unwrap());
            assert!((500.0..=1090.0).contains(&x) && (3410.0..=4000.0).contains(&y), "{place}");
            assert_eq!(place[2].as_f64(), feature["properties"]["level_m"].as_f64());
        }
    }
    bench.run(&["dem", "contours", "in.tif", "c.svg", "--smooth"]).succeeds();
    let svg = std::fs::read_to_string(bench.path("c.svg")).unwrap();
    assert!(svg.starts_with("<svg") && svg.contains("<path d=\"M") && svg.ends_with("</svg>\n"));
    bench.run(&["dem", "contours", "in.tif", "--interval", "1e-3"]).fails(1, &["in.tif", "larger interval"]);
    bench.run(&["dem", "contours", "in.tif", "--interval", "0"]).fails(2, &["--interval"]);
}

#[test]
fn heights_at_places_and_along_lines() {
    let bench = bench_with(&plane(7, 5));
    let run = bench.run(&["dem", "sample", "in.tif", "--at", "525,3985", "--at", "1,1", "-q"]);
    assert_eq!(run.succeeds().stdout, "x,y,height_m,note\n525,3985,-5,\n1,1,,outside\n");
    let stepped = ["dem", "sample", "in.tif", "--at", "523,3987", "--between", "stepped", "-q"];
    assert_eq!(bench.run(&stepped).succeeds().stdout, "x,y,height_m,note\n523,3987,0,\n");
    bench.write("huts.csv", "x,y,name\n510,4000,a\n520;3990\n");
    let run = bench.run(&["dem", "sample", "in.tif", "h.csv", "--points", "huts.csv"]);
    run.succeeds();
    assert_eq!(
        std::fs::read_to_string(bench.path("h.csv")).unwrap(),
        "x,y,height_m,note\n510,4000,10,\n520,3990,0,\n"
    );
    bench.write("bad.csv", "x,y\n1,2\nhere,there\n");
    bench.run(&["dem", "sample", "in.tif", "--points", "bad.csv"]).fails(2, &["bad.csv", "line 3"]);
    bench.run(&["dem", "sample", "in.tif"]).fails(2, &["--at"]);

    let line = ["dem", "profile", "in.tif", "--at", "500,4000", "--at", "560,4000", "--step", "25", "-q"];
    let table = "distance_m,x,y,height_m\n0.000,500,4000,0\n25.000,525,4000,25\n50.000,550,4000,50\n60.000,560,4000,60\n";
    assert_eq!(bench.run(&line).succeeds().stdout, table);
    let geojson = r#"{"type":"LineString","coordinates":[[500,4000],[560,3960]]}"#;
    bench.write("road.geojson", geojson);
    bench.run(&["dem", "profile", "in.tif", "p.svg", "--line", "road.geojson"]).succeeds();
    assert!(std::fs::read_to_string(bench.path("p.svg")).unwrap().contains("distance in m"));
    bench.run(&["dem", "profile", "in.tif", "p.png", "--line", "road.geojson"]).succeeds();
    assert!(std::fs::read(bench.path("p.png")).unwrap().starts_with(b"\x89PNG"));
    bench.run(&["dem", "profile", "in.tif", "--at", "500,4000"]).fails(2, &["at least two places"]);
}

#[test]
fn volumes_against_a_level_and_another_model() {
    let bench = bench_with(&plane(7, 5));
    // A plane 60 by 40 m whose middle lies at -10 m.
    let found = numbers(&bench.run(&["dem", "cutfill", "in.tif", "--level", "-110", "--json"]));
    assert!((found["cut_m3"].as_f64().unwrap() - 60.0 * 40.0 * 100.0).abs() < 1e-6, "{found}");
    assert_eq!(found["fill_m3"].as_f64(), Some(0.0));
    let found = numbers(&bench.run(&["dem", "cutfill", "in.tif", "d.tif", "--against", "in.tif", "--json"]));
    assert_eq!(found["net_m3"].as_f64(), Some(0.0));
    assert_eq!(read(&bench, "d.tif").0.range(), Some((0.0, 0.0)));
    bench.write("other.tif", tif(&plane(6, 5)));
    bench
        .run(&["dem", "cutfill", "in.tif", "--against", "other.tif"])
        .fails(2, &["other.tif", "7 x 5", "6 x 5"]);
    bench.run(&["dem", "cutfill", "in.tif"]).fails(2, &["--level M or --against FILE"]);
    bench
        .run(&["dem", "cutfill", "in.tif", "--level", "3", "--resample"])
        .fails(2, &["--resample needs --against FILE"]);
}

#[test]
fn what_is_seen() {
    let bench = bench_with(&orogen_core::testkit::hills(60, 100.0));
    let seen = numbers(&bench.run(&["dem", "viewshed", "in.tif", "v.tif", "--from", "800,3700", "--json"]));
    let raster = read(&bench, "v.tif").0;
    let count = raster.as_slice().iter().filter(|v| **v == 1.0).count() as u64;
    assert_eq!(seen["seen"].as_u64(), Some(count));
    assert!((10..3600).contains(&count));
    bench.run(&["dem", "viewshed", "in.tif", "e.tif", "--from", "800,3700", "--exact", "--flat"]).succeeds();
    bench.run(&["dem", "viewshed", "in.tif", "--from", "0,0"]).fails(2, &["0,0", "500", "1090"]);
    let run = bench.run(&["dem", "intervisibility", "in.tif", "--at", "500,4000", "--at", "510,4000", "-q"]);
    assert_eq!(run.succeeds().stdout, "from,\"500,4000\",\"510,4000\"\n\"500,4000\",1,1\n\"510,4000\",1,1\n");
    bench.run(&["dem", "intervisibility", "in.tif", "--at", "500,4000"]).fails(2, &["2 to"]);
}

#[test]
fn land_as_triangles() {
    let bench = bench_with(&orogen_core::testkit::hills(60, 100.0));
    let few = numbers(&bench.run(&["dem", "tin", "in.tif", "t.glb", "--max-error", "2", "--json"]));
    let more = ["dem", "tin", "in.tif", "t.obj", "--max-error", "2", "--method", "hierarchy", "--json"];
    let more = numbers(&bench.run(&more));
    assert!(few["triangles"].as_u64().unwrap() < more["triangles"].as_u64().unwrap());
    assert!(std::fs::read(bench.path("t.glb")).unwrap().starts_with(b"glTF"));
    bench.run(&["dem", "tin", "in.tif", "--max-error", "0"]).fails(2, &["--max-error"]);
    let bench = bench_with(&Raster::filled(1, 1, 0.0));
    bench.run(&["dem", "tin", "in.tif"]).fails(1, &["in.tif", "1 x 1"]);
}

/// A bowl of 3 m in ground at 10 m, with a notch at 7 m to the west.
fn bowl() -> Raster<f32> {
    Raster::from_fn(9, 7, |c, r| match (c, r) {
        (2..=6, 2..=4) => 3.0,
        (0..=1, 3) => 7.0,
        _ => 10.0,
    })
}

#[test]
fn a_bowl_fills_to_its_notch_and_drains_through_it() {
    let bench = bench_with(&bowl());
    bench.run(&["dem", "fill", "in.tif", "filled.tif"]).succeeds();
    let (filled, _) = read(&bench, "filled.tif");
    assert_eq!(&filled.row(3)[..8], &[7.0, 7.0, 7.0, 7.0, 7.0, 7.0, 7.0, 10.0]);
    for method in ["d8", "dinf", "mfd"] {
        bench.run(&["dem", "flow", "in.tif", "flow.tif", "--method", method]).succeeds();
        let (flow, _) = read(&bench, "flow.tif");
        // At least the bowl and its notch, of 100 m² each.
        assert!(flow.row(3)[0] >= 1700.0, "{method}: {}", flow.row(3)[0]);
    }
}

#[test]
fn basins_and_the_watershed_of_a_place() {
    // A ridge along the middle column: half drains west, half east.
    let ridge = Raster::from_fn(9, 7, |c, r| 50.0 - 4.0 * (c as f32 - 4.2).abs() - 0.01 * r as f32);
    let bench = bench_with(&ridge);
    let found = numbers(&bench.run(&["dem", "basins", "in.tif", "b.tif", "--min-area", "0", "--json"]));
    let (basins, _) = read(&bench, "b.tif");
    assert_eq!(basins.range().map(|(_, high)| f64::from(high)), found["basins"].as_f64());
    assert_ne!(basins.row(3)[0], basins.row(3)[8]);
    bench.run(&["dem", "basins", "in.tif", "b.geojson", "--min-area", "500"]).succeeds();
    let text = std::fs::read_to_string(bench.path("b.geojson")).unwrap();
    assert!(text.contains("\"Polygon\"") && text.contains("\"area_m2\""), "{text}");

    let bench = bench_with(&bowl());
    let args = ["dem", "watershed", "in.tif", "w.tif", "--at", "520,3970", "--snap", "25", "--json"];
    let found = numbers(&bench.run(&args));
    // The place moves west along the notch, to the edge of the map.
    assert_eq!(found["outlet"], serde_json::json!([500.0, 3970.0]));
    let (mask, _) = read(&bench, "w.tif");
    let count = mask.as_slice().iter().filter(|v| **v == 1.0).count();
    assert!(count >= 17, "{count}");
    assert_eq!(found["samples"].as_u64(), Some(count as u64));
    assert_eq!(found["area_m2"].as_f64(), Some(count as f64 * 100.0));
    assert!(std::fs::read_to_string(bench.path("w.geojson")).unwrap().contains("\"Polygon\""));
    bench.run(&["dem", "watershed", "in.tif", "--at", "0,0"]).fails(2, &["--at", "0,0", "500"]);
    bench.run(&["dem", "watershed", "in.tif", "w.jpg", "--at", "520,3970"]).fails(2, &["jpg", "tif"]);
}

#[test]
fn stats_are_printed_as_a_table_and_as_json() {
    let bench = bench_with(&bowl());
    let text = bench.run(&["dem", "stats", "in.tif"]).succeeds().stdout.clone();
    assert!(text.contains("land_samples,63,,,\n"), "{text}");
    assert!(text.contains("\ndrainage.depression_share,0.2381,0,0.049,above\n"), "{text}");
    let found = numbers(&bench.run(&["dem", "stats", "in.tif", "--sea", "5", "--json"]));
    assert_eq!(found["stats"]["land_samples"], 48);
    assert_eq!(
        found["verdicts"][0]["verdict"], "inside",
        "the bowl is sea, and land without depressions is land"
    );
    assert_eq!(found["verdicts"][1]["verdict"], "unknown");
}

#[test]
fn stats_at_a_coarser_cell_and_on_the_surface_of_lakes() {
    let bench = bench_with(&bowl());
    let found = numbers(&bench.run(&["dem", "stats", "in.tif", "--cell-m", "20", "--json"]));
    assert_eq!(found["cell_m"], serde_json::json!([20.0, 20.0]));
    assert_eq!(found["samples"], serde_json::json!([4, 3]));
    // Filled to its brim, the bowl is a lake and no hollow.
    bench.run(&["dem", "fill", "in.tif", "brim.tif"]).succeeds();
    let (ground, brim) = (read(&bench, "in.tif").0, read(&bench, "brim.tif").0);
    let depth = Raster::from_fn(ground.cols(), ground.rows(), |c, r| brim.row(r)[c] - ground.row(r)[c]);
    bench.write("water.tif", tif(&depth));
    let found = numbers(&bench.run(&["dem", "stats", "in.tif", "--water", "water.tif", "--json"]));
    assert_eq!(found["stats"]["drainage"]["depression_share"], 0.0);
    bench.write("small.tif", tif(&Raster::filled(3, 3, 0.0)));
    let run = bench.run(&["dem", "stats", "in.tif", "--water", "small.tif"]);
    run.fails(2, &["3 x 3 samples of water do not match the 9 x 7 samples of the model"]);
}

#[test]
fn rivers_are_lines_that_fall_with_their_numbers() {
    // A valley to the south.
    let valley = Raster::from_fn(121, 160, |c, r| {
        let off = c as f32 - 60.0;
        400.0 - 1.5 * r as f32 + 0.03 * off * off
    });
    let bench = bench_with(&valley);
    let call = ["dem", "rivers", "in.tif", "r.geojson", "--spring", "0.002", "--json"];
    let found = numbers(&bench.run(&call));
    assert!(found["reaches"].as_u64().unwrap() >= 1, "{found}");
    let text = std::fs::read_to_string(bench.path("r.geojson")).unwrap();
    let file: serde_json::Value = serde_json::from_str(&text).unwrap();
    let features = file["features"].as_array().unwrap();
    assert_eq!(features.len() as u64, found["reaches"].as_u64().unwrap());
    for feature in features {
        let line = feature["geometry"]["coordinates"].as_array().unwrap();
        let z: Vec<f64> = line.iter().map(|p| p[2].as_f64().unwrap()).collect();
        assert!(z.windows(2).all(|pair| pair[1] <= pair[0]), "{z:?}");
        let properties = &feature["properties"];
        for name in ["id", "into", "river", "order", "discharge_m3s", "width_m", "depth_m"] {
            assert!(properties[name].is_number(), "{name}: {properties}");
        }
        assert_eq!(properties["width_m_of_vertices"].as_array().unwrap().len(), line.len());
    }
    bench.run(&["dem", "rivers", "in.tif", "cut.tif"]).succeeds();
    assert_eq!(read(&bench, "cut.tif").0.cols(), 121);
    bench.run(&["dem", "rivers", "in.tif", "--runoff", "2"]).fails(2, &["--runoff", "0 to 1"]);
    bench.run(&["dem", "rivers", "in.tif", "r.shp"]).fails(2, &["r.shp", "geojson"]);
    for raster in [Raster::filled(1, 1, 5.0), Raster::filled(9, 9, f32::NAN), Raster::filled(9, 1, 5.0)] {
        bench_with(&raster).run(&["dem", "rivers", "in.tif"]).succeeds();
    }
}

fn write_at(bench: &Bench, name: &str, raster: &Raster<f32>, first: [f64; 2], cell_m: f64) {
    let about = About { layer: "height", unit: "m", seed: "" };
    bench.write(name, geotiff::encode_f32_at(raster, &Place::local(first, [cell_m, cell_m]), &about));
}

#[test]
fn models_come_from_standard_input_and_results_go_to_standard_output() {
    use std::io::Write as _;
    use std::process::Stdio;
    let bench = bench_with(&plane(7, 5));
    bench.run(&["dem", "slope", "in.tif", "wanted.tif"]).succeeds();
    let piped = |args: &[&str], input: &[u8]| {
        let mut command = bench.command(args);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        // A program that refuses its arguments reads nothing.
        let _ = child.stdin.take().unwrap().write_all(input);
        child.wait_with_output().unwrap()
    };
    let tif = std::fs::read(bench.path("in.tif")).unwrap();
    let done = piped(&["dem", "slope", "-", "-"], &tif);
    assert_eq!(done.status.code(), Some(0), "{}", String::from_utf8_lossy(&done.stderr));
    assert!(done.stdout == std::fs::read(bench.path("wanted.tif")).unwrap());
    let done = piped(&["dem", "slope", "-", "-", "--format", "png"], &tif);
    assert!(done.stdout.starts_with(b"\x89PNG"));
    let done = piped(&["dem", "contours", "-", "-", "--interval", "5"], &tif);
    assert!(done.stdout.starts_with(b"{\"type\":\"FeatureCollection\""));
    // Without OUT the result is named after what it is made from.
    piped(&["dem", "slope", "-"], &tif);
    assert!(bench.path("stdin-slope.tif").exists());
    let wrong = |args: &[&str], input: &[u8], says: &[&str]| Run::of(piped(args, input)).fails(2, says);
    wrong(
        &["dem", "slope", "-", "-"],
        b"neither",
        &["standard input: ", "does not start like a GeoTIFF, an ASCII grid or a PNG"],
    );
    wrong(&["dem", "slope", "-", "-"], b"", &["standard input: "]);
    wrong(&["dem", "slope", "in.tif", "-", "--json"], b"", &["both write to standard output"]);
    wrong(
        &["dem", "slope", "in.tif", "-", "--format", "csv"],
        b"",
        &["--format is \"csv\"", "writes tif, tiff, png"],
    );
    let asc = b"ncols 3\nnrows 3\nxllcorner 0\nyllcorner 0\ncellsize 10\n1 2 3\n2 3 4\n3 4 5\n";
    assert_eq!(piped(&["dem", "slope", "-", "a.tif"], asc).status.code(), Some(0));
}

#[test]
fn the_call_bounds_the_size_of_a_model() {
    let bench = bench_with(&plane(7, 5));
    bench.run(&["dem", "slope", "in.tif", "s.tif", "--max-samples", "35"]).succeeds();
    let refused = bench.run(&["dem", "slope", "in.tif", "s.tif", "--max-samples", "34"]);
    refused
        .fails(2, &["in.tif: the grid of 7 x 5 samples is too large; at most 34 samples", "--max-samples"]);
}

#[test]
fn a_band_is_chosen_by_its_number() {
    let corpus = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/geotiff");
    let bench = Bench::new();
    std::fs::copy(corpus.join("three_bands_pixels_p3.tif"), bench.path("bands.tif")).unwrap();
    for (band, wanted) in [("1", "0"), ("2", "1000"), ("3", "2000")] {
        let run = bench.run(&["dem", "sample", "bands.tif", "--at", "1015,4985", "--band", band]);
        assert_eq!(run.succeeds().stdout, format!("x,y,height_m,note\n1015,4985,{wanted},\n"));
    }
    bench
        .run(&["dem", "slope", "bands.tif", "--band", "4"])
        .fails(2, &["no band 4; the file has bands 1 to 3"]);
}

#[test]
fn places_outside_the_model_are_named_and_are_not_holes() {
    let mut land = plane(7, 5);
    land.as_mut_slice()[0] = f32::NAN;
    let bench = bench_with(&land);
    let run = bench.run(&["dem", "sample", "in.tif", "--at", "500,4000", "--at", "520,3990", "--at", "0,0"]);
    assert_eq!(run.succeeds().stdout, "x,y,height_m,note\n500,4000,,hole\n520,3990,0,\n0,0,,outside\n");
    let says = "warning: 1 of 3 places lie outside the model, which reaches from 500,3960 to 560,4000: 0,0";
    assert!(run.stderr.contains(says), "{}", run.stderr);
    let found = numbers(&bench.run(&["dem", "sample", "in.tif", "--at", "0,0", "--json"]));
    assert_eq!(found["notes"], serde_json::json!(["outside"]));
    let run = bench.run(&["dem", "profile", "in.tif", "--at", "510,3990", "--at", "900,3990"]);
    assert!(run.succeeds().stderr.contains("1 of 2 places lie outside the model"), "{}", run.stderr);
}

#[test]
fn volumes_against_a_model_elsewhere_are_refused_or_resampled() {
    let bench = bench_with(&plane(7, 5));
    let lower = plane(7, 5).map(|h| h - 2.0);
    write_at(&bench, "same.tif", &lower, [500.0, 4000.0], 10.0);
    write_at(&bench, "elsewhere.tif", &lower, [510.0, 4000.0], 10.0);
    write_at(&bench, "coarser.tif", &lower, [500.0, 4000.0], 20.0);
    write_at(&bench, "far.tif", &lower, [5000.0, 4000.0], 10.0);
    // The same plane on twice as many samples.
    let finer = Raster::from_fn(13, 9, |c, r| 5.0 * c as f32 - 10.0 * r as f32 - 2.0);
    write_at(&bench, "finer.tif", &finer, [500.0, 4000.0], 5.0);
    let call = |other: &str, more: &[&str]| {
        bench.run(&[&["dem", "cutfill", "in.tif", "--against", other, "--json"], more].concat())
    };
    assert_eq!(numbers(&call("same.tif", &[]))["net_m3"], 2.0 * 60.0 * 40.0);
    let says = "in.tif and elsewhere.tif have their north-west sample at 500,4000 and at 510,4000";
    call("elsewhere.tif", &[]).fails(2, &[says, "--resample"]);
    call("coarser.tif", &[]).fails(2, &["have samples 10 x 10 and 20 x 20 apart", "--resample"]);
    call("finer.tif", &[]).fails(2, &["have 7 x 5 and 13 x 9 samples", "--resample"]);
    let found = numbers(&call("finer.tif", &["--resample"]));
    assert!((found["net_m3"].as_f64().unwrap() - 4800.0).abs() < 0.1, "{found}");
    // A column less is covered.
    let found = numbers(&call("elsewhere.tif", &["--resample"]));
    assert!((found["cut_m2"].as_f64().unwrap() - 2000.0).abs() < 1e-6, "{found}");
    call("far.tif", &["--resample"]).fails(2, &["far.tif has no height where in.tif lies"]);
}

#[test]
fn volumes_between_coordinate_systems_are_refused() {
    let corpus = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/geotiff");
    let bench = Bench::new();
    std::fs::copy(corpus.join("feet_band_unit.tif"), bench.path("a.tif")).unwrap();
    std::fs::copy(corpus.join("feet_vertical_key.tif"), bench.path("b.tif")).unwrap();
    let run = bench.run(&["dem", "cutfill", "a.tif", "--against", "b.tif", "--resample"]);
    run.fails(2, &["a.tif and b.tif have coordinates in EPSG:32632 and in EPSG:26910"]);
}

#[test]
fn stats_warn_outside_the_cells_that_their_bands_were_measured_at() {
    let land = Raster::from_fn(40, 40, |c, r| ((c * 7 + r * 13) % 31) as f32 + c as f32);
    let bench = bench_with(&land);
    let run = bench.run(&["dem", "stats", "in.tif"]);
    let says = "warning: the ranges of real land apply to cells of 60 to 100 m, but these are 10.0 x 10.0 m";
    assert!(run.succeeds().stderr.contains(says), "{}", run.stderr);
    write_at(&bench, "fits.tif", &land, [0.0, 0.0], 80.0);
    let run = bench.run(&["dem", "stats", "fits.tif", "--json"]);
    assert!(!run.succeeds().stderr.contains("warning"), "{}", run.stderr);
    assert_eq!(numbers(&run)["comparable"], true);
}

#[test]
fn a_bowl_is_breached_through_its_notch() {
    let bench = bench_with(&bowl());
    let found = numbers(&bench.run(&["dem", "breach", "in.tif", "out.tif", "--json"]));
    assert_eq!(found["channels"], 1, "{found}");
    assert_eq!(found["depressions_left"], 0, "{found}");
    let (out, _) = read(&bench, "out.tif");
    assert!(out.as_slice().iter().zip(bowl().as_slice()).all(|(a, b)| a <= b));
    bench.write("drained.tif", tif(&out));
    let found = numbers(&bench.run(&["dem", "faults", "drained.tif", "--json"]));
    assert_eq!(found["faults"]["sinks"], 0, "{found}");
    let found = numbers(&bench.run(&[
        "dem",
        "breach",
        "in.tif",
        "out.tif",
        "--max-depth",
        "0",
        "--rest",
        "leave",
        "--json",
    ]));
    assert_eq!(found["depressions_left"], 1, "{found}");
}

#[test]
fn faults_are_listed_with_their_place_size_and_repair() {
    let bench = bench_with(&bowl());
    let run = bench.run(&["dem", "faults", "in.tif"]);
    for says in ["sinks: 1\n", "m deep on", "to repair: `orogen dem breach IN OUT`"] {
        assert!(run.succeeds().stdout.contains(says), "{says:?} in {}", run.stdout);
    }
    assert!(run.stderr.contains("1 fault: 1 sink"), "{}", run.stderr);
    let found = numbers(&bench.run(&["dem", "faults", "in.tif", "--json"]));
    assert_eq!(found["places"][0]["kind"], "sink");
    let written = numbers(&bench.run(&["dem", "faults", "in.tif", "faults.geojson", "--json"]));
    assert_eq!(written["faults"]["sinks"], 1);
    let text = std::fs::read_to_string(bench.path("faults.geojson")).unwrap();
    let document: serde_json::Value = serde_json::from_str(&text).unwrap();
    let feature = &document["features"][0];
    assert_eq!(feature["geometry"]["type"], "Point");
    assert_eq!(feature["properties"]["kind"], "sink");
    assert!(feature["properties"]["mend"].as_str().unwrap().contains("orogen dem breach"));
    let at = |value: &serde_json::Value| [value[0].as_f64(), value[1].as_f64()];
    assert_eq!(at(&feature["geometry"]["coordinates"]), at(&found["places"][0]["at"]));
    // A drawn river that climbs, by its own heights.
    bench.write(
        "river.geojson",
        r#"{"type":"LineString","coordinates":[[500,4000,30],[520,3990,10],[540,3980,14],[550,3970,5]]}"#,
    );
    let found = numbers(&bench.run(&["dem", "faults", "in.tif", "--rivers", "river.geojson", "--json"]));
    assert_eq!(found["faults"]["rising_rivers"], 1, "{found}");
    assert_eq!(found["places"][1]["size_m"], 4.0, "{found}");
}

#[test]
fn a_dash_as_out_is_what_a_tool_writes_without_out() {
    let pit =
        Raster::from_fn(
            9,
            9,
            |c, r| if (c, r) == (4, 4) { -500.0 } else { 10.0 * c as f32 - 20.0 * r as f32 },
        );
    let bench = bench_with(&pit);
    for args in [&["faults", "in.tif"][..], &["cutfill", "in.tif", "--level", "3"]] {
        let without = bench.run(&[&["dem"], args].concat()).succeeds().stdout.clone();
        let dash = bench.run(&[&["dem"], args, &["-"]].concat()).succeeds().stdout.clone();
        assert_eq!(dash, without, "{args:?}");
        assert!(!without.is_empty() && !without.starts_with('{'), "{without}");
    }
    let json = bench.run(&["dem", "faults", "in.tif", "-", "--format", "geojson"]).succeeds().stdout.clone();
    assert!(json.starts_with("{\"type\":\"FeatureCollection\""), "{json}");
    let output =
        bench.command(&["dem", "cutfill", "in.tif", "-", "--level", "3", "--format", "tif"]).output();
    assert!(output.unwrap().stdout.starts_with(b"II"));
    assert_eq!(bench.files(), ["in.tif"]);
}

#[test]
fn a_watershed_leaves_a_geojson_that_the_call_does_not_name() {
    let bench = bench_with(&plane(7, 5));
    bench.write("keep.geojson", "mine");
    let at = |rest: &[&str]| {
        bench.run(&[&["dem", "watershed", "in.tif", "keep.tif", "--at", "520,3970"], rest].concat())
    };
    at(&[]).fails(2, &["keep.geojson already exists", "--outline FILE"]);
    assert_eq!(bench.files(), ["in.tif", "keep.geojson"]);
    at(&["--outline", "line.tif"]).fails(2, &["--outline line.tif", "geojson"]);
    at(&["--outline", "line.geojson"]).succeeds();
    assert_eq!(std::fs::read_to_string(bench.path("keep.geojson")).unwrap(), "mine");
    assert_eq!(bench.files(), ["in.tif", "keep.geojson", "keep.tif", "line.geojson"]);
    // Named, or written by an earlier run, it is replaced.
    at(&["--outline", "keep.geojson"]).succeeds();
    at(&["--snap", "0"]).succeeds();
}

#[test]
fn places_outside_the_model_or_in_holes_have_no_sight() {
    let mut ground = plane(7, 5);
    ground.as_mut_slice()[2 * 7 + 3] = f32::NAN;
    let bench = bench_with(&ground);
    let run = bench.run(&["dem", "intervisibility", "in.tif", "--at", "0,0", "--at", "510,4000"]);
    run.fails(2, &["1 of 2 places lie outside the model", "0,0"]);
    assert!(!run.stderr.contains("column"), "{}", run.stderr);
    let run = bench.run(&["dem", "intervisibility", "in.tif", "--at", "530,3980", "--at", "510,4000"]);
    run.fails(2, &["530,3980 lies in or beside a hole"]);
    bench
        .run(&["dem", "viewshed", "in.tif", "--from", "530,3980"])
        .fails(2, &["--from 530,3980 lies in a hole"]);
}

#[test]
fn a_spacing_that_the_file_gives_itself_is_not_ignored_silently() {
    let bench = bench_with(&plane(7, 5));
    let run = bench.run(&["dem", "slope", "in.tif", "--spacing", "30"]);
    assert!(run.succeeds().stderr.contains("--spacing is ignored: in.tif gives its own"), "{}", run.stderr);
    let run = bench.run(&["dem", "slope", "in.tif"]);
    assert!(!run.succeeds().stderr.contains("--spacing"), "{}", run.stderr);
}

#[cfg(unix)]
#[test]
fn a_folder_or_a_device_as_model_is_named_as_one() {
    let bench = Bench::new();
    bench.run(&["dem", "slope", "."]).fails(2, &[".: is a folder, not a file"]);
    bench.run(&["dem", "slope", "/dev/zero", "x.tif"]).fails(2, &["/dev/zero: is not a regular file"]);
    bench.run(&["dem", "slope", "nowhere"]).fails(2, &["nowhere: no such file"]);
}
