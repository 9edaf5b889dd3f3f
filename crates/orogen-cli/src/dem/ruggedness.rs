//! `orogen dem ruggedness`

use std::path::PathBuf;

use anyhow::Result;
use clap::ValueEnum;
use orogen::ops::survey::ruggedness::{self, ruggedness};

use super::Common;
use super::job::Job;
use super::raster::{ENDINGS, Packing};

/// `orogen dem ruggedness`
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  orogen dem ruggedness alps.tif tri.tif
  orogen dem ruggedness alps.tif tpi.tif --kind tpi")]
pub struct Args {
    #[command(flatten)]
    pub common: Common,
    /// The tif or png to write [default: IN-ruggedness.tif here]
    #[arg(value_name = "OUT")]
    pub out: Option<PathBuf>,
    #[command(flatten)]
    pub packing: Packing,
    /// Which measure.
    #[arg(long, value_name = "KIND", default_value = "tri")]
    pub kind: Kind,
}

/// Which measure of ruggedness.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum Kind {
    /// Terrain ruggedness index of Riley: the root of the summed squared differences to the eight neighbours.
    Tri,
    /// Terrain ruggedness index of Wilson: the mean absolute difference to them.
    TriWilson,
    /// Topographic position index: how far a sample stands above their mean.
    Tpi,
    /// From the lowest to the highest of the nine.
    Roughness,
}

pub fn run(args: &Args) -> Result<()> {
    let job = Job::new("ruggedness", &args.common)?;
    job.ending(args.out.as_deref(), ENDINGS)?;
    let model = job.read()?;
    let kind = match args.kind {
        Kind::Tri => ruggedness::Kind::Tri,
        Kind::TriWilson => ruggedness::Kind::TriWilson,
        Kind::Tpi => ruggedness::Kind::Tpi,
        Kind::Roughness => ruggedness::Kind::Roughness,
    };
    let rugged = job.work(|ctx| ruggedness(&model.height, kind, ctx))?;
    job.write_raster(args.out.as_deref(), args.packing, &model, &rugged, "m", "ruggedness")
}
