//! `orogen dem hillshade`

use std::path::PathBuf;

use anyhow::Result;
use orogen::ops::survey::hillshade::{Hillshade, hillshade_bytes};
use serde_json::json;

use super::job::Job;
use super::raster::{ENDINGS, Meaning, Packing};
use super::slope::Gradient;
use super::{Common, parse};

/// `orogen dem hillshade`
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Writes bytes: 1 is dark, 255 fully lit, 0 a hole, as gdaldem writes them; in a
png the same bytes are grey.

Examples:
  orogen dem hillshade alps.tif shade.tif
  orogen dem hillshade alps.tif shade.png
  orogen dem hillshade alps.tif --azimuth 225 --altitude 30 --exaggeration 2
  orogen dem hillshade alps.tif --multidirectional")]
pub struct Args {
    #[command(flatten)]
    pub common: Common,
    /// The tif or png to write [default: IN-hillshade.tif here]
    #[arg(value_name = "OUT")]
    pub out: Option<PathBuf>,
    #[command(flatten)]
    pub packing: Packing,
    /// Bearing of the sun in degrees, clockwise from north.
    #[arg(long, value_name = "DEG", default_value = "315", value_parser = parse::number(0.0, 360.0), allow_hyphen_values = true)]
    pub azimuth: f64,
    /// Height of the sun above the horizon, in degrees.
    #[arg(long, value_name = "DEG", default_value = "45", value_parser = parse::number(0.0, 90.0), allow_hyphen_values = true)]
    pub altitude: f64,
    /// Vertical exaggeration.
    #[arg(long, value_name = "N", default_value = "1", value_parser = parse::number(0.0, 1000.0), allow_hyphen_values = true)]
    pub exaggeration: f64,
    /// Light from four sides instead of one.
    #[arg(long)]
    pub multidirectional: bool,
    /// How the gradient is estimated.
    #[arg(long, value_name = "METHOD", default_value = "horn")]
    pub gradient: Gradient,
}

pub fn run(args: &Args) -> Result<()> {
    let job = Job::new("hillshade", &args.common)?;
    job.ending(args.out.as_deref(), ENDINGS)?;
    let model = job.read()?;
    let params = Hillshade {
        azimuth_deg: args.azimuth,
        altitude_deg: args.altitude,
        exaggeration: args.exaggeration,
        multidirectional: args.multidirectional,
        method: args.gradient.into(),
    };
    let shade = job.work(|ctx| hillshade_bytes(&model.height, model.place.spacing_m(), &params, ctx))?;
    let (cols, rows) = (shade.cols(), shade.rows());
    let facts = vec![("cols", json!(cols)), ("rows", json!(rows))];
    let said = format!("{cols} x {rows} samples");
    let meaning = Meaning { layer: "hillshade", hole: 0, grey: |byte| byte };
    job.write_bytes(args.out.as_deref(), args.packing, &model, &shade, &meaning, facts, &said)
}
