//! `orogen dem slope`

use std::path::PathBuf;

use anyhow::Result;
use clap::ValueEnum;
use orogen::ops::survey::gradient::Method;
use orogen::ops::survey::slope::slope;

use super::Common;
use super::job::Job;
use super::raster::{ENDINGS, Packing};

/// `orogen dem slope`
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  orogen dem slope alps.tif slope.tif
  orogen dem slope alps.tif --percent")]
pub struct Args {
    #[command(flatten)]
    pub common: Common,
    /// The tif or png to write [default: IN-slope.tif here]
    #[arg(value_name = "OUT")]
    pub out: Option<PathBuf>,
    #[command(flatten)]
    pub packing: Packing,
    /// Percent of rise instead of degrees: 100 is 45 degrees.
    #[arg(long)]
    pub percent: bool,
    /// How the gradient is estimated.
    #[arg(long, value_name = "METHOD", default_value = "horn")]
    pub gradient: Gradient,
}

/// How a gradient is estimated.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum Gradient {
    /// All eight neighbours; steady on rough land.
    Horn,
    /// The four nearest neighbours; sharper, for smooth land.
    ZevenbergenThorne,
}

impl From<Gradient> for Method {
    fn from(gradient: Gradient) -> Self {
        match gradient {
            Gradient::Horn => Self::Horn,
            Gradient::ZevenbergenThorne => Self::ZevenbergenThorne,
        }
    }
}

pub fn run(args: &Args) -> Result<()> {
    let job = Job::new("slope", &args.common)?;
    job.ending(args.out.as_deref(), ENDINGS)?;
    let model = job.read()?;
    let (spacing_m, method) = (model.place.spacing_m(), args.gradient.into());
    let (unit, steep) = if args.percent {
        let rise = |p: f32, q: f32| 100.0 * (p * p + q * q).sqrt();
        (
            "%",
            job.work(|ctx| {
                orogen::ops::survey::gradient::measure(&model.height, spacing_m, method, ctx, rise)
            })?,
        )
    } else {
        ("deg", job.work(|ctx| slope(&model.height, spacing_m, method, ctx))?)
    };
    job.write_raster(args.out.as_deref(), args.packing, &model, &steep, unit, "slope")
}
