//! `orogen render` and `orogen fly`: what they write, and a sentence for what cannot be.
#![cfg(feature = "render")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on has failed")]

mod common;

use std::path::Path;

use common::{Bench, Run, SMALL};
use orogen::core::Raster;
use orogen::io::{Limits, image, png8};

const TINY: [&str; 6] = ["--size", "96x54", "--samples-per-pixel", "1", "--quality", "2"];

fn render(bench: &Bench, args: &[&str]) -> Run {
    bench.run(&[&["render"], args, &TINY].concat())
}

fn picture(path: &Path) -> Raster<[u8; 4]> {
    image::read_colors(path, &Limits::default()).unwrap()
}

/// The mean of a row of pixels.
fn mean(picture: &Raster<[u8; 4]>, row: usize) -> [f64; 4] {
    let sum = picture.row(row).iter().fold([0.0; 4], |sum, p| [0, 1, 2, 3].map(|c| sum[c] + f64::from(p[c])));
    sum.map(|x| x / picture.cols() as f64)
}

fn difference(a: &Raster<[u8; 4]>, b: &Raster<[u8; 4]>) -> f64 {
    let all = a.as_slice().iter().flatten().zip(b.as_slice().iter().flatten());
    all.map(|(a, b)| f64::from(a.abs_diff(*b))).sum::<f64>() / a.as_slice().len() as f64 / 3.0
}

#[test]
fn a_recipe_its_folder_and_its_heights_are_the_same_land() {
    let bench = Bench::new();
    bench.write("land.toml", SMALL);
    bench.run(&["build", "land.toml", "--out", "land"]).succeeds();
    let from = ["--azimuth", "20", "--time", "15:00"];
    for (file, out) in [("land.toml", "a.png"), ("land", "b.png"), ("land/height.tif", "c.png")] {
        let run = render(&bench, &[&[file, "-o", out], &from[..]].concat());
        assert!(run.succeeds().stderr.contains(out), "{}", run.stderr);
        assert!(run.stderr.contains("sun at") && run.stderr.contains("at 15:00"), "{}", run.stderr);
    }
    let [a, b, c] = ["a.png", "b.png", "c.png"].map(|name| picture(&bench.path(name)));
    assert_eq!((a.cols(), a.rows()), (96, 54));
    assert!(mean(&a, 2)[2] > mean(&a, 2)[0] + 10.0, "no sky: {:?}", mean(&a, 2));
    // Near the samples alone differ from what a recipe says between them.
    assert!(
        difference(&a, &b) < 12.0 && difference(&b, &c) < 25.0,
        "{} {}",
        difference(&a, &b),
        difference(&b, &c)
    );

    // Nothing is replaced unasked.
    render(&bench, &["land.toml", "-o", "a.png"]).fails(2, &["a.png", "already exists", "--force"]);
    render(&bench, &["land.toml", "-o", "a.png", "--force", "--quiet"]).succeeds();
}

#[test]
fn plans_sheets_overlays_and_comparisons_are_written() {
    let bench = Bench::new();
    bench.write("land.toml", SMALL);
    bench.write("flat.toml", SMALL.replace("polygons = 300", "polygons = 300, peak_m = 200"));
    let paths = r#"{"type":"FeatureCollection","features":[
        {"type":"Feature","properties":{},"geometry":{"type":"LineString","coordinates":[[500,500],[3500,3500]]}},
        {"type":"Feature","properties":{},"geometry":{"type":"Point","coordinates":[2000,2000]}},
        {"type":"Feature","properties":{},"geometry":{"type":"Polygon","coordinates":[[[900,2600],[1900,2600],[1900,3600],[900,2600]]]}}]}"#;
    bench.write("paths.geojson", paths);
    bench.write("photo.png", png8::encode(&Raster::filled(8, 8, [255, 0, 255])));
    render(&bench, &["land.toml", "--map", "-o", "map.png"]).succeeds();
    render(
        &bench,
        &["land.toml", "--map", "--drape", "photo.png@0,0,4096,4096", "--no-legend", "-o", "photo_map.png"],
    )
    .succeeds();
    render(&bench, &["land.toml", "--map", "--draw", "paths.geojson", "-o", "drawn.png"]).succeeds();
    render(&bench, &["land.toml", "--ortho", "--overlay", "height,contours=50", "-o", "height.png"])
        .succeeds();
    render(&bench, &["land.toml", "--map", "--against", "flat.toml", "-o", "difference.png"]).succeeds();
    render(&bench, &["land.toml", "--against", "flat.toml", "--side-by-side", "-o", "both.png"]).succeeds();
    render(
        &bench,
        &["land.toml", "--sheet", "--time", "7:00,12:00,19:30", "--azimuth", "0,90", "-o", "sheet.png"],
    )
    .succeeds();
    let plain = picture(&bench.path("map.png"));
    let read = |name: &str| picture(&bench.path(name));
    let photo = read("photo_map.png");
    let magenta =
        photo.as_slice().iter().filter(|p| p[0] > p[1].saturating_add(60) && p[2] > p[1].saturating_add(60));
    assert!(magenta.count() > 300, "the image does not lie on the ground");
    assert!(difference(&plain, &read("drawn.png")) > 0.5, "nothing is drawn");
    assert!(difference(&plain, &read("difference.png")) > 3.0, "no difference is shown");
    assert!(read("both.png").cols() > 190 && read("sheet.png").rows() > 108);
}

#[test]
fn distances_and_clear_skies_are_for_montages() {
    let bench = Bench::new();
    bench.write("land.toml", SMALL);
    let run =
        render(&bench, &["land.toml", "--clear-sky", "--depth", "far.exr", "--azimuth", "40", "-o", "a.png"]);
    run.succeeds();
    let a = picture(&bench.path("a.png"));
    assert!(mean(&a, 0)[3] < 5.0 && mean(&a, 53)[3] > 250.0, "{:?} {:?}", mean(&a, 0), mean(&a, 53));
    assert!(std::fs::read(bench.path("far.exr")).unwrap().starts_with(&[0x76, 0x2f, 0x31, 0x01]));
    render(&bench, &["land.toml", "--depth", "far.png", "-o", "b.png"]).succeeds();
    assert!(bench.path("far.png").exists());
    render(&bench, &["land.toml", "--depth", "far.jpg", "-o", "c.png"])
        .fails(2, &["far.jpg", ".exr or .png"]);
    assert!(!bench.path("c.png").exists());
}

#[test]
fn heights_of_the_device_make_the_same_picture() {
    let bench = Bench::new();
    bench.write(
        "hills.toml",
        "seed = \"d\"\nframe = { size_m = 4000, samples = 129 }\n[[step]]\nid = \"n\"\nop = \"source.noise\"\n\
         [[step]]\nid = \"f\"\nop = \"shape.features\"\nparams.features = [\n\
         { kind = \"mountain\", at_m = [2000, 2600], radius_m = 1200, height_m = 500 },\n\
         { kind = \"ridge\", points = [{ x_m = 500, y_m = 500 }, { x_m = 3000, y_m = 1500 }], radius_m = 500, height_m = 200 }]\n",
    );
    let from = ["hills.toml", "--azimuth", "20", "--time", "15:00"];
    render(&bench, &[&from[..], &["-o", "a.png"]].concat()).succeeds();
    render(&bench, &[&from[..], &["--device-land", "-o", "b.png"]].concat()).succeeds();
    let [a, b] = ["a.png", "b.png"].map(|name| picture(&bench.path(name)));
    assert!(difference(&a, &b) < 0.2, "{}", difference(&a, &b));
}

#[test]
fn what_makes_no_picture_gets_a_sentence_and_leaves_nothing() {
    let bench = Bench::new();
    bench.write("land.toml", SMALL);
    bench.write("wrong.toml", SMALL.replace("polygons = 300", "polygons = \"many\""));
    bench.write("none.geojson", r#"{"type":"FeatureCollection","features":[]}"#);
    bench.write("photo.png", png8::encode(&Raster::filled(8, 8, [255, 0, 255])));
    std::fs::create_dir(bench.path("empty")).unwrap();
    let before = bench.files();
    let cases: &[(&[&str], &[&str])] = &[
        (&["land.toml", "--camera", "here"], &["two numbers in metres"]),
        (&["land.toml", "--camera", "1e9,0"], &["1000000000 m is outside"]),
        (&["land.toml", "--camera", "2000,2000", "--altitude", "1e9"], &["outside"]),
        (&["land.toml", "--camera", "2000,2000", "--altitude", "-500"], &["under ground"]),
        (&["land.toml", "--view", "0"], &["0° is outside 1° to 150°"]),
        (&["land.toml", "--quality", "0"], &["a quality of 0 is outside"]),
        (&["land.toml", "--time", "25:00"], &["outside 0:00 to 24:00"]),
        (&["land.toml", "--date", "2026-02-30"], &["day 30 is outside 1 to 28"]),
        (&["land.toml", "--ortho", "--steep", "91"], &["altitude of 91°"]),
        (&["land.toml", "--device", "no such card"], &["no such card"]),
        (&["land.toml", "--device-land"], &["land: --device-land: step", "the graphics device has no"]),
        (&["land.toml", "--overlay", "temperatur"], &["no layer \"temperatur\"", "height"]),
        (&["land.toml", "--overlay", "contours=x"], &["metres between contours"]),
        (&["land.toml", "--opacity", "2"], &["2 is outside 0 to 1"]),
        (&["land.toml", "--drape", "photo.png"], &["does not say where it lies", "IMAGE@"]),
        (&["land.toml", "--drape", "photo.png@1,2,3"], &["four edges or four corners"]),
        (&["land.toml", "--drape", "photo.png@5,5,1,1"], &["photo.png@5,5,1,1"]),
        (&["land.toml", "--draw", "none.geojson"], &["nothing to draw"]),
        (&["land.toml", "--without", "rivers"], &["rivers"]),
        (&["land.toml", "--side-by-side"], &["--against FILE or --without STEP"]),
        (&["land.toml", "--time", "7:00,8:00"], &["--sheet"]),
        (&["land.toml", "land.toml"], &["--sheet"]),
        (&["wrong.toml"], &["wrong.toml", "polygons"]),
        (&["missing.toml"], &["missing.toml"]),
        (&["empty"], &["empty", "manifest.json"]),
        (&["photo.png"], &["photo.png"]),
    ];
    for (args, says) in cases {
        render(&bench, &[args, &["-o", "x.png"][..]].concat()).fails(2, says);
    }
    for (size, says) in
        [("0x5", "0 is outside 1 to 8192"), ("5", "pixels such as"), ("9000x9000", "outside 1 to 8192")]
    {
        bench.run(&["render", "land.toml", "--size", size]).fails(2, &[says]);
    }
    assert_eq!(bench.files(), before);
}

#[test]
fn without_a_driver_a_sentence_names_the_line_that_installs_one_and_a_build_goes_on() {
    let bench = Bench::new();
    bench.write("land.toml", SMALL);
    let without = |args: &[&str]| {
        let mut command = bench.command(args);
        for name in ["VK_DRIVER_FILES", "VK_ICD_FILENAMES"] {
            command.env(name, "/dev/null");
        }
        command.env_remove("OROGEN_NO_VIEW").env("LIBGL_DRIVERS_PATH", "/dev/null");
        Run::of(command.output().unwrap())
    };
    let run = without(&["render", "land.toml", "-o", "x.png"]);
    // A machine may have another way to a device.
    if run.code == Some(0) {
        return;
    }
    run.fails(2, &["no graphics adapter", "apt install mesa-vulkan-drivers"]);
    let built = without(&["build", "land.toml", "--out", "land"]);
    built.succeeds();
    assert!(built.stderr.contains("no view.png") && built.stderr.contains("--no-view"), "{}", built.stderr);
    assert!(!bench.path("land/view.png").exists() && bench.path("land/relief.png").exists());
    let quiet = without(&["build", "land.toml", "--out", "land", "--no-view"]);
    assert!(!quiet.stderr.contains("view.png"), "{}", quiet.stderr);
}

#[test]
fn a_build_takes_a_picture_and_lists_it() {
    let bench = Bench::new();
    bench.write("land.toml", SMALL);
    let build = |more: &[&str]| {
        let mut command = bench.command(&[&["build", "land.toml", "--out", "land"], more].concat());
        Run::of(command.env_remove("OROGEN_NO_VIEW").output().unwrap())
    };
    build(&[]).succeeds();
    let view = picture(&bench.path("land/view.png"));
    assert_eq!((view.cols(), view.rows()), (960, 540));
    let manifest = || -> serde_json::Value {
        serde_json::from_slice(&std::fs::read(bench.path("land/manifest.json")).unwrap()).unwrap()
    };
    let listed = |manifest: &serde_json::Value| {
        manifest["files"]
            .as_array()
            .unwrap()
            .iter()
            .any(|file| file["name"] == "view.png" && file["kind"] == "view")
    };
    assert!(listed(&manifest()));
    // A build without it takes the old one away, as any file that is no longer made.
    build(&["--no-view"]).succeeds();
    assert!(!listed(&manifest()) && !bench.path("land/view.png").exists());
}

#[test]
fn a_flight_is_frames_that_are_gone_on_with() {
    let bench = Bench::new();
    bench.write("land.toml", SMALL);
    let fly = |more: &[&str]| {
        let call = ["fly", "land.toml", "-o", "flight", "--seconds", "0.5", "--fps", "6"];
        bench.run(&[&call, &TINY[..], more].concat())
    };
    fly(&[]).succeeds();
    let frames = || bench.files().into_iter().filter(|name| name.ends_with(".png")).collect::<Vec<_>>();
    assert_eq!(frames().len(), 3, "{:?}", frames());
    let read = |i: usize| std::fs::read(bench.path(&format!("flight/frame_0000{i}.png"))).unwrap();
    let all = [1, 2, 3].map(read);
    assert!(all[0] != all[1] && all[1] != all[2], "nothing moves");
    // One that is missing is made again, the same.
    std::fs::remove_file(bench.path("flight/frame_00002.png")).unwrap();
    let again = fly(&[]);
    assert!(again.succeeds().stderr.contains("2 of 3 frames are there already"), "{}", again.stderr);
    assert!(read(2) == all[1]);
    fly(&["--time", "9:00"]).fails(2, &["another flight", "--force"]);
    let through = ["--through", "500,500,200", "--through", "3000,3500,300"];
    fly(&[&through[..], &["--force", "--quiet"]].concat()).succeeds();
    assert!(read(1) != all[0] && frames().len() == 3);
}

#[test]
fn flights_that_cannot_be_get_a_sentence() {
    let bench = Bench::new();
    bench.write("land.toml", SMALL);
    let fly = |args: &[&str]| bench.run(&[&["fly", "land.toml"], args].concat());
    fly(&["--seconds", "0"]).fails(2, &["0 frames, outside 1 to 100000"]);
    fly(&["--seconds", "1e9"]).fails(2, &["outside 1 to 100000"]);
    fly(&["--through", "1,2"]).fails(2, &["three numbers in metres"]);
    fly(&["--through", "1,2,-5"]).fails(2, &["under ground"]);
    fly(&["--through", "1,2,50"]).fails(2, &["two places or more"]);
    fly(&["-o", "film.avi"]).fails(2, &["film.avi", ".mp4 or a .webm"]);
    let mut lonely = bench.command(&["fly", "land.toml", "-o", "film.mp4"]);
    let run = Run::of(lonely.env("PATH", "/nonexistent").output().unwrap());
    run.fails(2, &["ffmpeg, which is not installed", "apt install ffmpeg"]);
    assert!(!bench.path("film.mp4").exists() && !bench.path("film.mp4.frames").exists());
}
