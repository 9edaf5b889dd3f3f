//! `orogen dem aspect`

use std::path::PathBuf;

use anyhow::Result;
use orogen::ops::survey::aspect::aspect;

use super::Common;
use super::job::Job;
use super::raster::{ENDINGS, Packing};
use super::slope::Gradient;

/// `orogen dem aspect`
#[derive(Debug, clap::Args)]
#[command(after_help = "\
North is 0, east 90, south 180, west 270; level ground is a hole.

Examples:
  orogen dem aspect alps.tif aspect.tif
  orogen dem aspect alps.tif --gradient zevenbergen-thorne")]
pub struct Args {
    #[command(flatten)]
    pub common: Common,
    /// The tif or png to write [default: IN-aspect.tif here]
    #[arg(value_name = "OUT")]
    pub out: Option<PathBuf>,
    #[command(flatten)]
    pub packing: Packing,
    /// How the gradient is estimated.
    #[arg(long, value_name = "METHOD", default_value = "horn")]
    pub gradient: Gradient,
}

pub fn run(args: &Args) -> Result<()> {
    let job = Job::new("aspect", &args.common)?;
    job.ending(args.out.as_deref(), ENDINGS)?;
    let model = job.read()?;
    let faces = job.work(|ctx| aspect(&model.height, model.place.spacing_m(), args.gradient.into(), ctx))?;
    job.write_raster(args.out.as_deref(), args.packing, &model, &faces, "deg", "aspect")
}
