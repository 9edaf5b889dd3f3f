//! `orogen dem viewshed`

use std::path::PathBuf;

use anyhow::Result;
use orogen::BuildError;
use orogen::ops::survey::viewshed::{self, HOLE, SEEN, Sight};
use serde_json::json;

use super::Common;
use super::job::Job;
use super::parse::{self, Spot};
use super::raster::{ENDINGS, Meaning, Packing, mask_grey};

/// The observer, the target and the air between them.
#[derive(Debug, clap::Args)]
pub struct SightArgs {
    /// Height of the eye above its ground, in metres.
    #[arg(long, value_name = "M", default_value = "2", value_parser = parse::number(0.0, 1e5), allow_hyphen_values = true)]
    pub observer_height: f64,
    /// Height of what is looked for above its ground, in metres.
    #[arg(long, value_name = "M", default_value = "0", value_parser = parse::number(0.0, 1e5), allow_hyphen_values = true)]
    pub target_height: f64,
    /// How strongly air bends sight lines: 0 not at all, 0.143 as usual, 1 as strongly as the Earth is round.
    #[arg(long, value_name = "K", default_value = "0.142857", value_parser = parse::number(0.0, 1.0), allow_hyphen_values = true)]
    pub refraction: f64,
    /// Treat the Earth as flat.
    #[arg(long)]
    pub flat: bool,
    /// How far the eye can see, in metres [default: to the end of the model]
    #[arg(long, value_name = "M", value_parser = parse::number(0.0, 1e9), allow_hyphen_values = true)]
    pub range: Option<f64>,
}

impl SightArgs {
    pub fn sight(&self) -> Sight {
        Sight {
            observer_m: self.observer_height,
            target_m: self.target_height,
            curvature: if self.flat { 0.0 } else { 1.0 - self.refraction },
            range_m: self.range.unwrap_or(f64::INFINITY),
        }
    }
}

/// `orogen dem viewshed`
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Written are bytes: 1 seen, 0 hidden, 255 a hole; in a png white, black and
grey. The eye stands at the sample nearest to --from.

Examples:
  orogen dem viewshed alps.tif seen.tif --from 8.57,46.63
  orogen dem viewshed alps.tif seen.tif --from 8.57,46.63 \\
      --observer-height 30 --target-height 1.7 --range 20000
  orogen dem viewshed alps.tif seen.tif --from 8.57,46.63 --exact")]
pub struct Args {
    #[command(flatten)]
    pub common: Common,
    /// The tif or png to write [default: IN-viewshed.tif here]
    #[arg(value_name = "OUT")]
    pub out: Option<PathBuf>,
    #[command(flatten)]
    pub packing: Packing,
    /// Where the eye stands, in the file's own coordinates.
    #[arg(long, value_name = "X,Y", value_parser = parse::spot, allow_hyphen_values = true)]
    pub from: Spot,
    #[command(flatten)]
    pub sight: SightArgs,
    /// Follow the sight line to every sample: exact, and slow on large models.
    #[arg(long)]
    pub exact: bool,
}

pub fn run(args: &Args) -> Result<()> {
    let job = Job::new("viewshed", &args.common)?;
    job.ending(args.out.as_deref(), ENDINGS)?;
    let model = job.read()?;
    let eye = model.nearest(args.from, "--from")?;
    if model.height.row(eye[1])[eye[0]].is_nan() {
        let [x, y] = args.from;
        return Err(BuildError::Call(format!("--from {x},{y} lies in a hole of the model")).into());
    }
    let (spacing_m, sight) = (model.place.spacing_m(), args.sight.sight());
    let seen = job.work(|ctx| {
        let look = if args.exact { viewshed::exact } else { viewshed::viewshed };
        look(&model.height, spacing_m, eye, &sight, ctx)
    })?;
    let count = |wanted: u8| seen.as_slice().iter().filter(|&&value| value == wanted).count();
    let (visible, ground) = (count(SEEN), seen.as_slice().len() - count(HOLE));
    let area_km2 = visible as f64 * spacing_m[0] * spacing_m[1] / 1e6;
    let facts = vec![("seen", json!(visible)), ("samples", json!(ground)), ("seen_km2", json!(area_km2))];
    let said = format!("{visible} of {ground} samples are seen, {area_km2:.3} km2");
    let meaning = Meaning { layer: "viewshed", hole: HOLE, grey: mask_grey };
    job.write_bytes(args.out.as_deref(), args.packing, &model, &seen, &meaning, facts, &said)
}
