//! `orogen dem cutfill`

use std::path::{Path, PathBuf};

use anyhow::Result;
use orogen::BuildError;
use orogen::core::Raster;
use orogen::io::About;
use orogen::ops::survey::cutfill::{Reference, cut_fill};
use orogen::ops::survey::sample::{Between, resampled};
use serde_json::json;

use super::job::{Job, Model};
use super::raster::{ENDINGS, Packing};
use super::{Common, parse};

/// `orogen dem cutfill`
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Cut is ground above the level or the other model, fill what is missing below
it. The map is the height above it in metres. Volumes are those of triangles
between the samples, exact where the ground is plane. The other model must lie
on the same samples, unless --resample interpolates it linearly at the samples
of IN; where it has no height, a hole remains.

Examples:
  orogen dem cutfill site.tif --level 412.5
  orogen dem cutfill after.tif difference.tif --against before.tif --json
  orogen dem cutfill lidar.tif difference.tif --against coarse.tif --resample")]
pub struct Args {
    #[command(flatten)]
    pub common: Common,
    /// The tif or png to write the map to [default: no map]
    #[arg(value_name = "OUT")]
    pub out: Option<PathBuf>,
    #[command(flatten)]
    pub packing: Packing,
    /// The level to measure against, in metres.
    #[arg(long, value_name = "M", value_parser = parse::number(-1e6, 1e6), allow_hyphen_values = true)]
    pub level: Option<f64>,
    /// The model to measure against, on the same samples.
    #[arg(long, value_name = "FILE", conflicts_with = "level")]
    pub against: Option<PathBuf>,
    /// Measure against a model on other samples of the same coordinate system.
    #[arg(long)]
    pub resample: bool,
}

pub fn run(args: &Args) -> Result<()> {
    let job = Job::new("cutfill", &args.common)?.reading(&args.against);
    let out = job.asked_file(args.out.as_deref());
    job.ending(out, ENDINGS)?;
    refuse_half_a_call(args)?;
    let model = job.read()?;
    let spacing_m = model.place.spacing_m();
    let other = match &args.against {
        Some(path) => Some(on_the_same_samples(args, path, &job, &model)?),
        None => None,
    };
    let reference = match &other {
        Some(other) => Reference::Ground(other),
        None => Reference::Level(args.level.unwrap_or(0.0)),
    };
    let found = job.work(|ctx| cut_fill(&model.height, reference, spacing_m, ctx))?.ok_or_else(|| {
        BuildError::Call(String::from("the two models do not have the same number of samples"))
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
    if out.is_some() || args.common.format.is_some() {
        let (map, about) = (&found.above_m, About { layer: "cutfill", unit: "m", seed: "" });
        return job.write_floats(out, args.packing, &model, map, map.range(), &about, facts, Some(said));
    }
    let table = format!(
        "cut_m3,fill_m3,net_m3,cut_m2,fill_m2\n{},{},{net_m3},{},{}\n",
        found.cut_m3, found.fill_m3, found.cut_m2, found.fill_m2
    );
    job.write_text(None, &table, facts, &said)
}

/// Refuses a call without anything to measure against, or with an option that only makes sense beside another model.
fn refuse_half_a_call(args: &Args) -> Result<(), BuildError> {
    let wrong = match (args.level, &args.against) {
        (None, None) => "name what to measure against: --level M or --against FILE",
        (_, None) if args.resample => "--resample needs --against FILE: a level has no samples",
        _ => return Ok(()),
    };
    Err(BuildError::Call(wrong.to_owned()))
}

/// The heights of the other model at the samples of this one.
fn on_the_same_samples(
    args: &Args,
    path: &Path,
    job: &Job,
    model: &Model,
) -> Result<Raster<f32>, BuildError> {
    let other = job.read_other(path)?;
    let shape = |model: &Model| [model.height.cols(), model.height.rows()];
    let ([cols, rows], [other_cols, other_rows]) = (shape(model), shape(&other));
    let difference = if [cols, rows] == [other_cols, other_rows] {
        model.place.difference(&other.place, [cols, rows])
    } else {
        Some(format!("have {cols} x {rows} and {other_cols} x {other_rows} samples"))
    };
    let Some(difference) = difference else { return Ok(other.height) };
    let (here, there) = (args.common.input.display(), path.display());
    let apart = model.place.is_in_another_system(&other.place);
    if apart || !args.resample {
        let way_out = if apart {
            "reproject one of them, for example with gdalwarp"
        } else {
            "resample the second at the samples of the first with --resample"
        };
        return Err(BuildError::Call(format!("{here} and {there} {difference}; {way_out}")));
    }
    let place = |at: [f64; 2]| other.place.cell_of(model.place.at(at));
    let ground = job.work(|ctx| resampled(&other.height, [cols, rows], place, Between::Bilinear, ctx))?;
    if ground.range().is_none() {
        return Err(BuildError::Call(format!(
            "{there} has no height where {here} lies: it {}, but {here} {}",
            other.reach(),
            model.reach()
        )));
    }
    Ok(ground)
}
