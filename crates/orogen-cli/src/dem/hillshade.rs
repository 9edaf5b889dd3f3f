//! `orogen dem hillshade`

use std::path::PathBuf;

use anyhow::Result;
use orogen::core::Raster;
use orogen::io::About;
use orogen::io::geotiff;
use orogen::ops::survey::hillshade::{Hillshade, hillshade};
use serde_json::json;

use super::job::Job;
use super::slope::Gradient;
use super::{Common, parse};

/// `orogen dem hillshade`
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Written are bytes: 1 is dark, 255 fully lit, 0 a hole, as gdaldem writes them.

Examples:
  orogen dem hillshade alps.tif shade.tif
  orogen dem hillshade alps.tif --azimuth 225 --altitude 30 --exaggeration 2
  orogen dem hillshade alps.tif --multidirectional")]
pub struct Args {
    #[command(flatten)]
    pub common: Common,
    /// The GeoTIFF to write [default: IN-hillshade.tif here]
    #[arg(value_name = "OUT")]
    pub out: Option<PathBuf>,
    /// Bearing of the sun in degrees, clockwise from north.
    #[arg(long, value_name = "DEG", default_value = "315", value_parser = parse::number(0.0, 360.0), allow_hyphen_values = true)]
    pub azimuth: f64,
    /// Height of the sun above the horizon, in degrees.
    #[arg(long, value_name = "DEG", default_value = "45", value_parser = parse::number(0.0, 90.0), allow_hyphen_values = true)]
    pub altitude: f64,
    /// How many times higher the ground is taken than it is.
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
    job.ending(args.out.as_deref(), &["tif", "tiff"])?;
    let model = job.read()?;
    let params = Hillshade {
        azimuth_deg: args.azimuth,
        altitude_deg: args.altitude,
        exaggeration: args.exaggeration,
        multidirectional: args.multidirectional,
        method: args.gradient.into(),
    };
    let shade = job.work(|ctx| hillshade(&model.height, model.place.spacing_m(), &params, ctx))?;
    let bytes: Raster<u8> = shade.map(|s| if s.is_nan() { 0 } else { (1.0 + 254.0 * s).round() as u8 });
    let about = About { layer: "hillshade", unit: "", seed: "" };
    let file = geotiff::encode_u8_at(&bytes, &model.place, Some(0), &about);
    let (cols, rows) = (bytes.cols(), bytes.rows());
    let facts = vec![("cols", json!(cols)), ("rows", json!(rows))];
    job.write(args.out.as_deref(), "tif", &file, facts, &format!("{cols} x {rows} samples"))
}
