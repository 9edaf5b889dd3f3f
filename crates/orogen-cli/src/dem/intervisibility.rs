//! `orogen dem intervisibility`

use std::path::PathBuf;

use anyhow::Result;
use orogen::BuildError;
use orogen::ops::survey::sample::{Between, sample};
use orogen::ops::survey::viewshed::intervisibility;
use serde_json::json;

use super::Common;
use super::job::Job;
use super::parse::{self, Spot};
use super::viewshed::SightArgs;

/// `orogen dem intervisibility`
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Writes a table with a row for each observer and a column for each target: 1
seen, 0 hidden. Sight lines are followed exactly, between samples too.

Examples:
  orogen dem intervisibility alps.tif --at 8.50,46.60 --at 8.57,46.63
  orogen dem intervisibility alps.tif masts.csv --points masts.geojson \\
      --observer-height 30 --target-height 30")]
pub struct Args {
    #[command(flatten)]
    pub common: Common,
    /// The csv file to write [default: standard output]
    #[arg(value_name = "OUT")]
    pub out: Option<PathBuf>,
    /// A place in the file's own coordinates; may be given several times.
    #[arg(long, value_name = "X,Y", value_parser = parse::spot, allow_hyphen_values = true)]
    pub at: Vec<Spot>,
    /// A file of places: geojson, or csv, xyz or txt with x and y first.
    #[arg(long, value_name = "FILE")]
    pub points: Option<PathBuf>,
    #[command(flatten)]
    pub sight: SightArgs,
}

/// More make a table that nobody reads.
const MOST_PLACES: usize = 10_000;

pub fn run(args: &Args) -> Result<()> {
    let job = Job::new("intervisibility", &args.common)?.reading(&args.points);
    job.ending(args.out.as_deref(), &["csv"])?;
    let mut spots = args.at.clone();
    if let Some(path) = &args.points {
        spots.extend(parse::spots_of(path)?);
    }
    if !(2..=MOST_PLACES).contains(&spots.len()) {
        let text = format!(
            "expected 2 to {MOST_PLACES} places, found {}; name them with --at X,Y or --points FILE",
            spots.len()
        );
        return Err(BuildError::Call(text).into());
    }
    let model = job.read()?;
    // Nothing stands outside, so nothing can be said of what is seen from there.
    if let Some(text) = model.warning_of_places_outside(&spots) {
        return Err(BuildError::Call(text).into());
    }
    let places: Vec<Spot> = spots.iter().map(|&spot| model.place.cell_of(spot)).collect();
    let in_hole = places.iter().position(|&place| sample(&model.height, place, Between::Bilinear).is_nan());
    if let Some([x, y]) = in_hole.map(|i| spots[i]) {
        return Err(BuildError::Call(format!("{x},{y} lies in or beside a hole of the model")).into());
    }
    let (spacing_m, sight) = (model.place.spacing_m(), args.sight.sight());
    let matrix = job.work(|ctx| intervisibility(&model.height, spacing_m, &places, &sight, ctx))?;
    let names: Vec<String> = spots.iter().map(|[x, y]| format!("\"{x},{y}\"")).collect();
    let mut text = format!("from,{}\n", names.join(","));
    for (name, row) in names.iter().zip(&matrix) {
        let row: Vec<&str> = row.iter().map(|&seen| if seen { "1" } else { "0" }).collect();
        text.push_str(&format!("{name},{}\n", row.join(",")));
    }
    let seen = matrix.iter().flatten().filter(|seen| **seen).count() - spots.len();
    let pairs = spots.len() * (spots.len() - 1);
    let facts = vec![("places", json!(spots)), ("sees", json!(matrix))];
    job.write_text(args.out.as_deref(), &text, facts, &format!("{seen} of {pairs} sight lines are free"))
}
