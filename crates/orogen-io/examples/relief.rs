//! Draws the relief map of an elevation model: `cargo run --release -p orogen-io --example relief -- IN.tif OUT.png`.

use std::path::PathBuf;

use orogen_core::{Frame, Terrain, layer};
use orogen_io::relief::{self, ReliefStyle};
use orogen_io::{Limits, elevation, png8};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut paths = std::env::args_os().skip(1).map(PathBuf::from);
    let (Some(input), Some(output)) = (paths.next(), paths.next()) else {
        return Err("two paths are needed: an elevation model and the picture to write".into());
    };
    let model = elevation::read(&input, &Limits::default())?;
    let samples = [model.height.cols(), model.height.rows()];
    let [dx, dy] = model.spacing_m.unwrap_or([30.0, 30.0]);
    let size_m = [dx * (samples[0] - 1) as f64, dy * (samples[1] - 1) as f64];
    let mut terrain = Terrain::new(Frame::new([0.0, 0.0], size_m, samples)?);
    terrain.set(layer::HEIGHT, model.height);
    std::fs::write(output, png8::encode(&relief::render(&terrain, &ReliefStyle::default())?))?;
    Ok(())
}
