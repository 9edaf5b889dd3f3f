//! `orogen dem fill`

use std::path::PathBuf;

use anyhow::Result;
use orogen::core::OpError;
use orogen::ops::drainage::drainage;

use super::Common;
use super::flow::Sea;
use super::job::Job;
use super::raster::{ENDINGS, Packing};

/// `orogen dem fill`
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Every depression is raised to the level at which water would spill over the
edge of the model, beside a hole or into the sea.

Examples:
  orogen dem fill alps.tif filled.tif
  orogen dem fill island.tif --sea 0")]
pub struct Args {
    #[command(flatten)]
    pub common: Common,
    /// The tif or png to write [default: IN-fill.tif here]
    #[arg(value_name = "OUT")]
    pub out: Option<PathBuf>,
    #[command(flatten)]
    pub packing: Packing,
    #[command(flatten)]
    pub sea: Sea,
}

pub fn run(args: &Args) -> Result<()> {
    let job = Job::new("fill", &args.common)?;
    job.ending(args.out.as_deref(), ENDINGS)?;
    let model = job.read()?;
    let filled = job.work(|ctx| -> Result<_, OpError> {
        let found = drainage(&model.height, model.place.spacing_m(), args.sea.level_m(), ctx)?;
        let mut filled = model.height.clone();
        found.basins.fill(&mut filled);
        Ok(filled)
    })?;
    job.write_raster(args.out.as_deref(), args.packing, &model, &filled, "m", "height")
}
