//! `orogen dem rivers`

use std::path::PathBuf;

use anyhow::Result;
use orogen::core::{Coef, OpError};
use orogen::ops::water::rivers::{Rivers, rivers};
use serde_json::json;

use super::flow::Sea;
use super::job::Job;
use super::raster::{ENDINGS, Packing};
use super::{Common, parse};

/// `orogen dem rivers`
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Every reach has its `id`, the one it runs `into` (-1 for none), its `river`,
Strahler `order`, and `discharge_m3s`, `width_m` and `depth_m` at its lower
end and at each vertex; z is that of the water. A tif or png instead of lines
is the model with the rivers cut in.

Examples:
  orogen dem rivers alps.tif rivers.geojson --rain 1500
  orogen dem rivers island.tif --sea 0 --spring 0.02
  orogen dem rivers alps.tif carved.tif")]
pub struct Args {
    #[command(flatten)]
    pub common: Common,
    /// The file to write: geojson, tif or png [default: IN-rivers.geojson here]
    #[arg(value_name = "OUT")]
    pub out: Option<PathBuf>,
    #[command(flatten)]
    pub packing: Packing,
    /// Rain in millimetres a year.
    #[arg(long, value_name = "MM", default_value = "1000", value_parser = parse::number(0.0, 20000.0), allow_hyphen_values = true)]
    pub rain: f64,
    /// Share of the rain that runs off.
    #[arg(long, value_name = "SHARE", default_value = "0.5", value_parser = parse::number(0.0, 1.0), allow_hyphen_values = true)]
    pub runoff: f64,
    /// Least discharge of a river, in cubic metres a second.
    #[arg(long, value_name = "M3S", default_value = "0.05", value_parser = parse::number(0.0, 1e6), allow_hyphen_values = true)]
    pub spring: f64,
    /// Depth from which a depression stays as a lake, in metres.
    #[arg(long, value_name = "M", default_value = "4", value_parser = parse::number(0.0, 1e4), allow_hyphen_values = true)]
    pub lake_depth: f64,
    #[command(flatten)]
    pub sea: Sea,
}

pub fn run(args: &Args) -> Result<()> {
    let job = Job::new("rivers", &args.common)?;
    let ending = job.ending(args.out.as_deref(), &["geojson", "json", "tif", "tiff", "png"])?;
    let model = job.read()?;
    let params = Rivers {
        rain_mm_per_yr: Coef::Const(args.rain),
        runoff: args.runoff,
        spring_m3_per_s: args.spring,
        lake_depth_m: args.lake_depth,
        ..Rivers::default()
    };
    let spacing_m = model.place.spacing_m();
    let made = job.work(|ctx| -> Result<_, OpError> {
        rivers(&model.height, spacing_m, &params, |_, _| args.rain as f32, args.sea.level_m(), ctx)
    })?;
    if ENDINGS.contains(&ending) {
        return job.write_raster(args.out.as_deref(), args.packing, &model, &made.height, "m", "height");
    }
    let network = &made.network;
    let lines = network.vectors(|at| model.place.at(at));
    let highest = network.reaches.iter().map(|reach| reach.order).max();
    let facts = vec![
        ("reaches", json!(network.len())),
        ("order", json!(highest.unwrap_or(0))),
        ("length_m", json!(network.length_m(spacing_m))),
        ("largest_m3s", json!(network.largest_m3s())),
        ("lakes", json!(made.lakes.len())),
    ];
    let said = format!("{} reaches, {} lakes", network.len(), made.lakes.len());
    job.write_vectors(args.out.as_deref(), ending, &model, ("rivers", &lines), facts, &said)
}
