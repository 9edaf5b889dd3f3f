//! `orogen dem flow`

use std::path::PathBuf;

use anyhow::Result;
use clap::ValueEnum;
use orogen::core::OpError;
use orogen::ops::water::flow::{Flow, Method, flow};

use super::job::Job;
use super::raster::{ENDINGS, Packing};
use super::{Common, parse};

/// `orogen dem flow`
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Depressions are drained over their lowest passes; the model itself is not
changed.

Examples:
  orogen dem flow alps.tif area.tif
  orogen dem flow alps.tif area.tif --method dinf")]
pub struct Args {
    #[command(flatten)]
    pub common: Common,
    /// The tif or png to write, in square metres [default: IN-flow.tif here]
    #[arg(value_name = "OUT")]
    pub out: Option<PathBuf>,
    #[command(flatten)]
    pub packing: Packing,
    /// How water is shared out among lower neighbours.
    #[arg(long, value_name = "METHOD", default_value = "d8")]
    pub method: How,
    #[command(flatten)]
    pub sea: Sea,
}

/// Where the sea is, for tools that follow water.
#[derive(Clone, Debug, clap::Args)]
pub struct Sea {
    /// Ground at or below this height is sea, where water leaves [default: no sea]
    #[arg(long, value_name = "M", value_parser = parse::number(-1e6, 1e6), allow_hyphen_values = true)]
    pub sea: Option<f64>,
}

impl Sea {
    /// Its level; below everything where there is none.
    pub fn level_m(&self) -> f32 {
        self.sea.map_or(f32::NEG_INFINITY, |m| m as f32)
    }
}

/// How water is shared out.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum How {
    /// All to the steepest of eight neighbours.
    D8,
    /// To the two neighbours beside the steepest direction.
    Dinf,
    /// To all lower neighbours by their slopes.
    Mfd,
}

impl From<How> for Method {
    fn from(how: How) -> Self {
        match how {
            How::D8 => Self::D8,
            How::Dinf => Self::Dinf,
            How::Mfd => Self::Mfd,
        }
    }
}

pub fn run(args: &Args) -> Result<()> {
    let job = Job::new("flow", &args.common)?;
    job.ending(args.out.as_deref(), ENDINGS)?;
    let model = job.read()?;
    let params = Flow { method: args.method.into(), ..Flow::default() };
    let area = job.work(|ctx| -> Result<_, OpError> {
        flow(&model.height, model.place.spacing_m(), &params, args.sea.level_m(), ctx)
    })?;
    job.write_raster(args.out.as_deref(), args.packing, &model, &area, "m2", "flow")
}
