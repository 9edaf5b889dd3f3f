//! Golden pictures of what the renderer draws, small, compared as the eye would; and a flight in which nothing jumps.
//!
//! Renew them with `cargo xtask goldens` after a change that was meant, and look at them. They are made by Mesa's driver, which
//! gives the same on every machine.
#![cfg(feature = "render")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on has failed")]

use std::path::{Path, PathBuf};
use std::sync::Arc;

use orogen::BuildOptions;
use orogen::core::{Cancel, Raster};
use orogen::io::png8::{self, Picture};
use orogen::io::sheet;
use orogen::prelude::Unobserved;
use orogen::recipe::Set;
use orogen_render::overlay::{Paint, Values};
use orogen_render::{
    Aim, Flight, Gpu, Height, Land, Materials, Moment, Options, Overlay, RecipeLand, RenderError, Stage, take,
};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The land of a preset with fewer samples, solved, with parameters changed as on the command line.
fn land(preset: &str, samples: usize, set: &[&str]) -> Arc<dyn Land> {
    let recipe = orogen::read_recipe(&root().join(format!("recipes/{preset}.toml"))).unwrap();
    let mut options = BuildOptions::default();
    options.overrides.samples = Some(samples);
    options.overrides.set = set.iter().map(|text| Set::parse(text).unwrap()).collect();
    let session = Arc::new(orogen::session(&recipe, &options, None).unwrap());
    session.solve(&Unobserved, &Cancel::new()).unwrap();
    let place = session.checked().place(&orogen::io::FolderFiles::new(root(), orogen::io::Limits::default()));
    let plants = orogen::has_plants(session.checked()).then(|| {
        let session = session.clone();
        let plants: Box<orogen_render::PlantsOf> = Box::new(move |rect, cancel| {
            orogen::plants(&session, &recipe, rect, cancel).map_err(|e| RenderError::Plants(e.to_string()))
        });
        plants
    });
    Arc::new(RecipeLand { session, place, plants })
}

fn stage(land: &Arc<dyn Land>) -> Stage {
    let gpu = Gpu::open(None).expect("a graphics adapter; cargo xtask test installs one");
    let materials = Arc::new(Materials::of_layers(&land.layers()));
    Stage::new(&gpu, land.clone(), materials, &Cancel::new()).unwrap()
}

/// A small picture at five in the afternoon.
fn small(aim: Aim) -> Options {
    Options { size: [240, 135], samples: 1, quality: 3.0, any_hour: false, aim, ..Options::default() }
}

fn at_hour(hour: f64, options: Options) -> Options {
    Options { moment: Moment { hour, ..options.moment }, ..options }
}

fn picture(stage: &mut Stage, options: &Options) -> Picture {
    take(stage, options, &Cancel::new(), &|_| {}).unwrap().picture
}

fn from(azimuth_deg: f64, distance_m: f64, height_m: f64) -> Aim {
    let height = Some(Height::Ground(height_m));
    Aim::From { target: None, azimuth_deg, distance_m: Some(distance_m), height }
}

/// Holds pictures side by side to the golden one of a name.
fn hold(name: &str, pictures: Vec<(&str, Picture)>) {
    let columns = (pictures.len() as f64).sqrt().ceil() as usize;
    let named: Vec<(String, Picture)> = pictures.into_iter().map(|(n, p)| (n.to_owned(), p)).collect();
    let png = png8::encode(&sheet::sheet(&named, columns));
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(format!("{name}.png"));
    if std::env::var_os("OROGEN_RENEW_GOLDENS").is_some() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, &png).unwrap();
    }
    if !std::fs::read(&path).is_ok_and(|expected| png8::looks_the_same(&expected, &png)) {
        let seen = std::env::temp_dir().join(format!("orogen-golden-{name}.png"));
        std::fs::write(&seen, &png).unwrap();
        panic!("{} differs; what came out is {}", path.display(), seen.display());
    }
}

#[test]
fn the_island_looks_as_it_did_from_three_cameras() {
    let mut stage = stage(&land("island", 257, &[]));
    let shots = [
        ("from the south", from(0.0, 24_000.0, 5000.0)),
        ("a ridge", from(60.0, 7000.0, 900.0)),
        ("a map", Aim::Parallel { target: None, azimuth_deg: 0.0, altitude_deg: 90.0, wide_m: None }),
    ];
    hold("island", shots.map(|(name, aim)| (name, picture(&mut stage, &small(aim)))).into());
}

#[test]
fn every_overlay_looks_as_it_did() {
    let land = land("island", 257, &[]);
    let mut stage = stage(&land);
    let words = [
        "height,contours",
        "slope",
        "biome",
        "material",
        "water",
        "temperature",
        "moisture",
        "flow",
        "canopy.cover",
        "wireframe",
        "tiles",
        "contours=200",
    ];
    let mut pictures = Vec::new();
    for word in words {
        let mut overlay = Overlay::default();
        for part in word.split(',') {
            overlay.add(part).unwrap();
        }
        let options =
            Options { size: [160, 90], plants: false, overlay, ..small(from(20.0, 16_000.0, 4000.0)) };
        pictures.push((word, picture(&mut stage, &options)));
    }
    hold("overlays", pictures);
}

#[test]
fn desert_and_alps_at_dusk_look_as_they_did() {
    let mut desert = stage(&land("desert", 257, &[]));
    let mut alps = stage(&land("alps", 257, &[]));
    let shots = [
        ("desert", picture(&mut desert, &small(from(40.0, 3000.0, 300.0)))),
        ("alps at dusk", picture(&mut alps, &at_hour(20.2, small(from(200.0, 9000.0, 1500.0))))),
        ("alps at night", picture(&mut alps, &at_hour(1.0, small(from(200.0, 9000.0, 1500.0))))),
    ];
    hold("desert_and_alps", shots.into());
}

#[test]
fn a_forest_looks_as_it_did_from_near_and_far() {
    let mut stage = stage(&land("taiga", 257, &[]));
    let from_near = from(30.0, 220.0, 55.0);
    let shots = [
        ("near", small(from_near)),
        ("without plants", Options { plants: false, ..small(from_near) }),
        ("far", small(from(30.0, 9000.0, 1800.0))),
    ];
    hold("forest", shots.map(|(name, options)| (name, picture(&mut stage, &options))).into());
}

#[test]
fn what_an_erosion_took_and_left_looks_as_it_did() {
    let (after, before) = (land("badlands", 257, &[]), land("badlands", 257, &["ribs.enabled=false"]));
    let values = Values::difference(&*after, &*before, &Cancel::new()).unwrap();
    let overlay = Overlay { paint: Paint::Values(Arc::new(values)), ..Overlay::default() };
    let options = Options { overlay, plants: false, ..small(from(120.0, 4000.0, 1500.0)) };
    hold("difference", vec![("what erosion did", picture(&mut stage(&after), &options))]);
}

/// How much two pictures differ: the mean of all pixels, and of the sixteenth that differs most.
fn change(a: &Picture, b: &Picture) -> [f64; 2] {
    const SIDE: usize = 4;
    let blocks = Raster::from_fn(SIDE, SIDE, |c, r| {
        let (mut sum, mut count) = (0.0, 0.0);
        for row in r * a.rows() / SIDE..(r + 1) * a.rows() / SIDE {
            for col in c * a.cols() / SIDE..(c + 1) * a.cols() / SIDE {
                for k in 0..3 {
                    sum += f64::from(a.row(row)[col][k].abs_diff(b.row(row)[col][k]));
                    count += 1.0;
                }
            }
        }
        (sum / count) as f32
    });
    let worst = blocks.as_slice().iter().copied().fold(0.0, f32::max);
    [blocks.as_slice().iter().map(|x| f64::from(*x)).sum::<f64>() / (SIDE * SIDE) as f64, f64::from(worst)]
}

/// Low shrubs hide nothing of the ground here, so that tiles which jump from one level to another would be seen.
#[test]
fn nothing_jumps_in_a_flight_over_low_shrubs() {
    let land = land("mediterranean", 257, &[]);
    let mut stage = stage(&land);
    let extent = land.frame().extent();
    let place = |x: f64, y: f64, h: f64| {
        let at = [x, y];
        let [x, y] = [0, 1].map(|i| extent.min[i] + at[i] * (extent.max[i] - extent.min[i]));
        [x, y, h]
    };
    let places = [place(0.35, 0.35, 180.0), place(0.5, 0.5, 150.0), place(0.65, 0.55, 180.0)];
    let flight = Flight::through(stage.overview(), &places, None, 55.0).unwrap();
    // Frames of a thirtieth of a second at 60 m/s, in the middle of the way.
    let step = 2.0 / flight.length_m();
    let mut before: Option<Picture> = None;
    let mut changes = Vec::new();
    for i in 0..24 {
        let aim = Aim::Exact(flight.at(0.45 + step * f64::from(i)));
        let options = Options { size: [160, 90], in_flight: true, ..small(aim) };
        let now = picture(&mut stage, &options);
        if let Some(before) = &before {
            changes.push(change(before, &now));
        }
        before = Some(now);
    }
    let sorted = |k: usize| {
        let mut all: Vec<f64> = changes.iter().map(|change| change[k]).collect();
        all.sort_by(f64::total_cmp);
        all
    };
    let (mean, worst) = (sorted(0), sorted(1));
    let (middle, last) = (changes.len() / 2, changes.len() - 1);
    // Whatever moves changes pixels; what jumps changes more of them in one frame than in those around.
    assert!(mean[last] < 2.0 * mean[middle] + 0.5, "{changes:?}");
    assert!(worst[last] < 2.5 * worst[middle] + 1.0, "{changes:?}");
}
