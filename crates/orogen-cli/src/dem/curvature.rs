//! `orogen dem curvature`

use std::path::PathBuf;

use anyhow::Result;
use clap::ValueEnum;
use orogen::ops::survey::curvature::{self, curvature};

use super::Common;
use super::job::Job;
use super::raster::{ENDINGS, Packing};

/// `orogen dem curvature`
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Convex ground is positive; 0.01 bends like a circle of 100 m radius.

Examples:
  orogen dem curvature alps.tif curvature.tif
  orogen dem curvature alps.tif gullies.tif --kind plan")]
pub struct Args {
    #[command(flatten)]
    pub common: Common,
    /// The tif or png to write [default: IN-curvature.tif here]
    #[arg(value_name = "OUT")]
    pub out: Option<PathBuf>,
    #[command(flatten)]
    pub packing: Packing,
    /// Which curvature.
    #[arg(long, value_name = "KIND", default_value = "mean")]
    pub kind: Kind,
}

/// Which curvature.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum Kind {
    /// The mean of all directions: ridges and peaks positive, valleys and pits negative.
    Mean,
    /// Down the slope: shoulders positive, feet of slopes negative.
    Profile,
    /// Along the contour: spurs positive, gullies negative.
    Plan,
}

pub fn run(args: &Args) -> Result<()> {
    let job = Job::new("curvature", &args.common)?;
    job.ending(args.out.as_deref(), ENDINGS)?;
    let model = job.read()?;
    let kind = match args.kind {
        Kind::Mean => curvature::Kind::Mean,
        Kind::Profile => curvature::Kind::Profile,
        Kind::Plan => curvature::Kind::Plan,
    };
    let bends = job.work(|ctx| curvature(&model.height, model.place.spacing_m(), kind, ctx))?;
    job.write_raster(args.out.as_deref(), args.packing, &model, &bends, "1/m", "curvature")
}
