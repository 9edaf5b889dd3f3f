//! Small pictures of known lands, compared with those that are kept: as they look from afar, not bit by bit, since drivers differ.
//!
//! `cargo xtask goldens` renews them; look at them before you commit them.
#![cfg(feature = "render")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on has failed")]

use std::path::PathBuf;
use std::sync::Arc;

use orogen::BuildOptions;
use orogen::core::{Cancel, Raster, Rect, Terrain, layer};
use orogen::io::{Limits, image, png8};
use orogen::recipe::{Overrides, Session, Set, Unobserved};
use orogen_render::overlay::{Drape, Drawing, Paint, Values};
use orogen_render::{
    Aim, Flight, Gpu, Height, Land, Materials, Options, Overlay, RecipeLand, Stage, render, take,
};

const SIZE: [u32; 2] = [192, 108];
/// Samples of the lands along a side.
const SAMPLES: usize = 129;
/// Bytes of a kept picture, at most.
const MOST_BYTES: usize = 64 << 10;
/// Pixels along a side of the squares whose means are compared, and by how much these may differ: on average, and the worst.
const SQUARE: usize = 6;
const MEAN_ALLOWED: f64 = 3.0;
const WORST_ALLOWED: f64 = 40.0;

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..")
}

struct Preset {
    session: Arc<Session>,
    stage: Stage,
    land: Arc<dyn Land>,
}

impl Preset {
    /// A preset on few samples; `changes` as `--set` takes them.
    fn open(gpu: &Gpu, name: &str, changes: &[&str]) -> Self {
        let recipe = orogen::read_recipe(&root().join(format!("recipes/{name}.toml"))).unwrap();
        let set = changes.iter().map(|text| Set::parse(text).unwrap()).collect();
        let overrides = Overrides { samples: Some(SAMPLES), set, ..Overrides::default() };
        let session =
            orogen::session(&recipe, &BuildOptions { overrides, ..BuildOptions::default() }, None).unwrap();
        session.solve(&Unobserved, &Cancel::new()).unwrap();
        let materials = Arc::new(Materials::of_layers(&session.checked().layers()));
        let files = orogen::io::FolderFiles::new(root(), Limits::default());
        let place = session.checked().place(&files);
        let session = Arc::new(session);
        let land: Arc<dyn Land> = Arc::new(RecipeLand { session: session.clone(), place });
        let stage = Stage::new(gpu, land.clone(), materials, &Cancel::new()).unwrap();
        Self { session, stage, land }
    }

    fn picture(&mut self, options: &Options) -> png8::Picture {
        take(&mut self.stage, options, &Cancel::new(), &|_| {}).unwrap().picture
    }
}

fn gpu() -> Gpu {
    Gpu::open(None).expect("a graphics adapter; cargo xtask test installs one")
}

fn options(aim: Aim, hour: f64) -> Options {
    let mut options =
        Options { size: SIZE, samples: 2, quality: 3.0, aim, any_hour: false, ..Options::default() };
    options.moment.hour = hour;
    options
}

fn from(azimuth_deg: f64, distance_m: f64, height: f64) -> Aim {
    Aim::From { target: None, azimuth_deg, distance_m: Some(distance_m), height: Some(Height::Sea(height)) }
}

/// The mean colours of squares.
fn squares(picture: &Raster<[u8; 4]>) -> Vec<f64> {
    let (cols, rows) = (picture.cols() / SQUARE, picture.rows() / SQUARE);
    let mean = |at: usize, channel: usize| {
        let (col, row) = (at % cols * SQUARE, at / cols * SQUARE);
        let pixels = (row..row + SQUARE).flat_map(|r| &picture.row(r)[col..col + SQUARE]);
        pixels.map(|p| f64::from(p[channel])).sum::<f64>() / (SQUARE * SQUARE) as f64
    };
    (0..cols * rows).flat_map(|at| [0, 1, 2].map(|channel| mean(at, channel))).collect()
}

/// Compares pictures with those that are kept, or keeps them; names all that differ.
fn compare(pictures: Vec<(String, png8::Picture)>) {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/pictures");
    let renew = std::env::var_os("OROGEN_RENEW_GOLDENS").is_some();
    let mut wrong = Vec::new();
    for (name, picture) in pictures {
        let path = folder.join(format!("{name}.png"));
        let bytes = png8::encode_small(&picture);
        assert!(bytes.len() < MOST_BYTES, "{name} has {} bytes", bytes.len());
        if renew {
            std::fs::create_dir_all(&folder).unwrap();
            std::fs::write(&path, &bytes).unwrap();
            continue;
        }
        let limits = Limits::default();
        let Ok(kept) = image::read_colors(&path, &limits) else {
            wrong.push(format!("{name}: there is no {}", path.display()));
            continue;
        };
        let (a, b) = (squares(&kept), squares(&image::decode_colors(&bytes, &limits).unwrap()));
        let off: Vec<f64> = a.iter().zip(&b).map(|(a, b)| (a - b).abs()).collect();
        let mean = off.iter().sum::<f64>() / off.len() as f64;
        let worst = off.iter().copied().fold(0.0, f64::max);
        if a.len() != b.len() || mean > MEAN_ALLOWED || worst > WORST_ALLOWED {
            let seen = std::env::temp_dir().join(format!("orogen_{name}.png"));
            std::fs::write(&seen, &bytes).unwrap();
            wrong.push(format!(
                "{name}: differs by {mean:.1}, at worst {worst:.0} of 255; see {}",
                seen.display()
            ));
        }
    }
    assert!(
        wrong.is_empty(),
        "{}\nwhere that was meant, renew them with `cargo xtask goldens` and look at them",
        wrong.join("\n")
    );
}

#[test]
fn the_island_from_three_cameras_and_with_every_overlay() {
    let gpu = gpu();
    let mut island = Preset::open(&gpu, "island", &[]);
    let mut out = Vec::new();
    let mut add = |name: &str, options: &Options| {
        out.push((format!("island_{name}"), island.picture(options)));
    };
    add("far", &options(from(30.0, 26_000.0, 5000.0), 10.0));
    add("near", &options(from(200.0, 9000.0, 1900.0), 16.0));
    add("evening", &options(from(300.0, 18_000.0, 2500.0), 18.5));
    let plan = Aim::Parallel { target: None, azimuth_deg: 30.0, altitude_deg: 45.0, wide_m: None };
    for word in [
        "height",
        "slope",
        "biome",
        "material",
        "water",
        "moisture",
        "temperature",
        "flow",
        "rain",
        "contours",
        "wireframe",
        "tiles",
    ] {
        let mut overlay = Overlay::default();
        overlay.add(word).unwrap();
        add(&format!("overlay_{word}"), &Options { overlay, ..options(plan, 11.0) });
    }
    let map = Aim::Parallel { target: None, azimuth_deg: 0.0, altitude_deg: 90.0, wide_m: None };
    let colors =
        Raster::from_fn(16, 16, |c, r| [(c * 16) as u8, (r * 16) as u8, 90, if c == r { 0 } else { 255 }]);
    let rect = Rect { min: [12_000.0, 12_000.0], max: [26_000.0, 26_000.0] };
    let mut lines = orogen::core::vector::VectorLayer::new(orogen::core::vector::Shape::Lines);
    lines.push([[6000.0, 8000.0, 0.0], [20_000.0, 30_000.0, 0.0], [34_000.0, 12_000.0, 0.0]]);
    let overlay = Overlay {
        drapes: vec![Drape::on(colors, &rect, 1.0).unwrap()],
        drawings: vec![Drawing { vectors: lines, color: [230, 57, 40], width_m: Some(500.0) }],
        ..Overlay::default()
    };
    add("drapes", &Options { overlay, ..options(map, 12.0) });
    compare(out);
}

#[test]
fn the_desert_the_alps_at_dusk_and_what_an_erosion_did() {
    let gpu = gpu();
    let mut desert = Preset::open(&gpu, "desert", &[]);
    let mut out = vec![(String::from("desert"), desert.picture(&options(from(60.0, 7000.0, 1500.0), 17.0)))];
    let mut alps = Preset::open(&gpu, "alps", &[]);
    out.push((String::from("alps_dusk"), alps.picture(&options(from(120.0, 16_000.0, 5200.0), 20.0))));
    // What a land looks like that rose here and fell there.
    let known = |shift: &(dyn Fn(usize, usize) -> f32 + Sync)| {
        let frame = *desert.session.checked().frame();
        let height = desert.session.tile(frame, &[layer::HEIGHT.name()], &Cancel::new()).unwrap();
        let height = height.get(layer::HEIGHT).unwrap();
        let mut land = Terrain::new(frame);
        let moved = Raster::from_fn(height.cols(), height.rows(), |c, r| height.row(r)[c] + shift(c, r));
        land.set(layer::HEIGHT, moved);
        land
    };
    let before = known(&|_, _| 0.0);
    let after = known(&|c, r| {
        let (x, y) = (c as f32 / 64.0 - 1.0, r as f32 / 64.0 - 1.0);
        if x * x + y * y < 0.5 { -12.0 * (x - y) } else { 0.0 }
    });
    let values = Values::difference(&after, &before, &Cancel::new()).unwrap();
    let overlay = Overlay { paint: Paint::Values(Arc::new(values)), ..Overlay::default() };
    let plan = Aim::Parallel { target: None, azimuth_deg: 20.0, altitude_deg: 50.0, wide_m: None };
    let options = Options { overlay, ..options(plan, 10.0) };
    let after: Arc<dyn Land> = Arc::new(after);
    let materials = Arc::new(Materials::of_layers(&[]));
    let done = render(&gpu, &after, &materials, &options, &Cancel::new(), &|_| {}).unwrap();
    out.push((String::from("erosion_difference"), done.picture));
    compare(out);
}

#[test]
fn a_flight_over_the_mediterranean_changes_little_from_frame_to_frame() {
    // Low shrubs hide nothing, so whatever pops would be seen.
    const FRAMES: usize = 10;
    let gpu = gpu();
    let mut land = Preset::open(&gpu, "mediterranean", &[]);
    let found =
        orogen_render::find(&*land.land, land.stage.overview(), &options(Aim::Found, 16.0)).unwrap().0;
    let flight = Flight::around(land.stage.overview(), &found);
    let frames: Vec<Raster<[u8; 4]>> = (0..FRAMES)
        .map(|i| {
            // A second of the ten that it takes.
            let camera = flight.at(0.4 + 0.1 * i as f64 / 24.0);
            let picture = land.picture(&options(Aim::Exact(camera), 16.0));
            picture.map(|[r, g, b]| [r, g, b, 255])
        })
        .collect();
    let changes: Vec<f64> = frames
        .windows(2)
        .map(|pair| {
            let (a, b) = (squares(&pair[0]), squares(&pair[1]));
            a.iter().zip(&b).map(|(a, b)| (a - b).abs()).sum::<f64>() / a.len() as f64
        })
        .collect();
    let mean = changes.iter().sum::<f64>() / changes.len() as f64;
    let worst = changes.iter().copied().fold(0.0, f64::max);
    assert!(mean < 2.5 && worst < 4.0 && worst < 3.0 * mean + 0.3, "{changes:?}");
}
