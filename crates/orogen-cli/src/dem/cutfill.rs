//! `orogen dem cutfill`

use std::path::PathBuf;

use anyhow::Result;
use orogen::BuildError;
use orogen::io::About;
use orogen::ops::survey::cutfill::{Reference, cut_fill};
use serde_json::json;

use super::job::{Job, Model};
use super::raster::{ENDINGS, Packing};
use super::{Common, parse};

/// `orogen dem cutfill`
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Cut is ground above the level or the other model, fill what is missing below it. The map is the height above it in metres.
Volumes are those of triangles between the samples, exact where the ground is plane.

Examples:
  orogen dem cutfill site.tif --level 412.5
  orogen dem cutfill after.tif difference.tif --against before.tif --json")]
pub struct Args {
    #[command(flatten)]
    pub common: Common,
    /// The tif or png to write the map to [default: no map]
    #[arg(value_name = "OUT")]
    pub out: Option<PathBuf>,
    #[command(flatten)]
    pub packing: Packing,
    /// The level to measure against, in metres.
    #[arg(long, value_name = "M", value_parser = parse::number(-1e6, 1e6), allow_hyphen_values = true, required_unless_present = "against")]
    pub level: Option<f64>,
    /// The model to measure against, with as many samples.
    #[arg(long, value_name = "FILE", conflicts_with = "level")]
    pub against: Option<PathBuf>,
}

pub fn run(args: &Args) -> Result<()> {
    let job = Job::new("cutfill", &args.common)?;
    job.ending(args.out.as_deref(), ENDINGS)?;
    let model = job.read()?;
    let other = args.against.as_ref().map(|path| Model::read(path, args.common.spacing)).transpose()?;
    let reference = match &other {
        Some(other) => Reference::Ground(&other.height),
        None => Reference::Level(args.level.unwrap_or(0.0)),
    };
    let spacing_m = model.place.spacing_m();
    let found = job.work(|ctx| cut_fill(&model.height, reference, spacing_m, ctx))?.ok_or_else(|| {
        let shape = |model: &Model| format!("{} x {}", model.height.cols(), model.height.rows());
        BuildError::Call(format!(
            "{} has {} samples and {} has {}: they must have as many",
            args.common.input.display(),
            shape(&model),
            args.against.as_deref().unwrap_or(&args.common.input).display(),
            other.as_ref().map(shape).unwrap_or_default()
        ))
    })?;
    let net_m3 = found.cut_m3 - found.fill_m3;
    let facts = vec![
        ("cut_m3", json!(found.cut_m3)),
        ("fill_m3", json!(found.fill_m3)),
        ("net_m3", json!(net_m3)),
        ("cut_m2", json!(found.cut_m2)),
        ("fill_m2", json!(found.fill_m2)),
    ];
    let said = format!(
        "cut {:.3} m3 on {:.1} m2, fill {:.3} m3 on {:.1} m2, net {net_m3:.3} m3",
        found.cut_m3, found.cut_m2, found.fill_m3, found.fill_m2
    );
    match args.out.as_deref() {
        Some(out) => {
            let (map, about) = (&found.above_m, About { layer: "cutfill", unit: "m", seed: "" });
            job.write_floats(Some(out), args.packing, &model, map, map.range(), &about, facts, Some(said))
        }
        None if args.common.json => job.report(None, facts, &said),
        None => {
            crate::output::print(&format!(
                "cut_m3,fill_m3,net_m3,cut_m2,fill_m2\n{},{},{net_m3},{},{}\n",
                found.cut_m3, found.fill_m3, found.cut_m2, found.fill_m2
            ))?;
            job.report(None, facts, &said)
        }
    }
}
