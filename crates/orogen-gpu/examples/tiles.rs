//! How fast tiles are made, by the processor and by the device: 4096 m with details of 0.2 m, noise with features.
//!
//! `cargo run --release -p orogen-gpu --example tiles [NAME OF AN ADAPTER]`
#![allow(clippy::print_stdout, reason = "it prints what it measured")]

use std::error::Error;
use std::time::Instant;

use orogen_core::{Cancel, Catalog, Frame, Operator, Rect, Seed, layer};
use orogen_gpu::{Device, Generator, Plan};
use orogen_ops::{shape, source};
use orogen_recipe::{Checked, Limits, Recipe, Session, SessionOptions};
use rayon::prelude::*;

const SIZE_M: f64 = 4096.0;
/// Vertices of a tile along a side, with a border of one for its normals.
const SIDE: usize = 67;

fn main() -> Result<(), Box<dyn Error>> {
    let wanted = std::env::args().nth(1);
    let generator = match Device::open(wanted.as_deref()) {
        Ok(device) => Some(Generator::new(&device)),
        Err(e) => {
            println!("{e}");
            None
        }
    };
    for (name, count) in [("noise", 0), ("noise and 40 features", 40)] {
        let land = land(count)?;
        let plan = Plan::of(&land)?;
        let frames = tiles(&land)?;
        println!("{name}: {} tiles of {SIDE} x {SIDE} vertices, 32 m to 0.125 m apart", frames.len());
        let session = Session::new(land, SessionOptions::default());
        let height = [layer::HEIGHT.name()];
        for threads in [1, 2] {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build()?;
            let seconds = best(3, || {
                let one = |frame: &Frame| session.tile(*frame, &height, &Cancel::new()).map(drop);
                Ok(pool.install(|| frames.par_iter().try_for_each(one))?)
            })?;
            say(&format!("processor, {threads} thread(s)"), frames.len(), seconds);
        }
        let Some(generator) = &generator else { continue };
        let name = generator.device().name();
        let most = generator.most_tiles([SIDE, SIDE]);
        let seconds = best(3, || {
            for part in frames.chunks(most) {
                generator.run(&plan, part, true)?.wait()?;
            }
            Ok(())
        })?;
        say(&format!("{}, heights and normals left there", name), frames.len(), seconds);
        let seconds = best(3, || {
            generator.heights(&plan, &frames)?;
            Ok(())
        })?;
        say(&format!("{}, heights read back", name), frames.len(), seconds);
    }
    Ok(())
}

fn say(what: &str, tiles: usize, seconds: f64) {
    let vertices = (tiles * SIDE * SIDE) as f64;
    println!("  {what}: {:.1} M vertices/s", vertices / seconds / 1e6);
}

/// The shortest of a few runs, after one that does not count.
fn best(runs: usize, mut run: impl FnMut() -> Result<(), Box<dyn Error>>) -> Result<f64, Box<dyn Error>> {
    run()?;
    let mut best = f64::INFINITY;
    for _ in 0..runs {
        let start = Instant::now();
        run()?;
        best = best.min(start.elapsed().as_secs_f64());
    }
    Ok(best)
}

/// Tiles of every level around one place, as a quadtree has them for an eye there.
fn tiles(land: &Checked) -> Result<Vec<Frame>, Box<dyn Error>> {
    let mut frames = Vec::new();
    for level in 0..9 {
        let spacing = 32.0 / f64::from(1 << level);
        let side = 64.0 * spacing;
        for i in 0..36 {
            let corner = [f64::from(i % 6), f64::from(i / 6)].map(|k| 0.4 * SIZE_M + (k - 3.0) * side);
            let min = corner.map(|at| (at / side).floor() * side - spacing);
            let rect = Rect { min, max: min.map(|at| at + side + 2.0 * spacing) };
            frames.extend(land.frame().part(&rect, [spacing; 2])?);
        }
    }
    Ok(frames)
}

fn land(features: u64) -> Result<Checked, Box<dyn Error>> {
    let mut text = String::from(
        "seed = \"thesis\"\nframe = { size_m = 4096, samples = 513 }\n[[step]]\nid = \"noise\"\nop = \"source.noise\"\n\
         params = { octaves = 14, wavelength_m = 2000 }\n[[step]]\nid = \"features\"\nop = \"shape.features\"\n\
         params.features = [\n",
    );
    let seed = Seed(3);
    for i in 0..features {
        let unit = |k: u64| seed.unit(16 * i + k);
        let [x, y] = [SIZE_M * unit(0), SIZE_M * unit(1)];
        text += &match i % 5 {
            0 => {
                let point = |k: u64| {
                    let (east, north) = (x + 200.0 * k as f64, y + 400.0 * unit(4 + k));
                    format!("{{ x_m = {east}, y_m = {north}, z_m = {} }}", 200 - 2 * k)
                };
                let points: Vec<String> = (0..5).map(point).collect();
                format!("{{ kind = \"river\", points = [{}] }},\n", points.join(", "))
            }
            kind => {
                let kind = ["mountain", "hill", "plateau", "lake"][kind as usize - 1];
                let radius = 150.0 + 350.0 * unit(2);
                let height = if matches!(kind, "plateau" | "lake") { "level_m" } else { "height_m" };
                let metres = 40.0 + 150.0 * unit(3);
                format!(
                    "{{ kind = {kind:?}, at_m = [{x}, {y}], radius_m = {radius}, {height} = {metres} }},\n"
                )
            }
        };
    }
    text += "]\n";
    let catalog = Catalog::new([Operator::of::<source::Noise>(), Operator::of::<shape::Features>()]);
    Ok(Recipe::parse("tiles", text.as_bytes())?.check(&catalog, &Limits::default())?)
}
