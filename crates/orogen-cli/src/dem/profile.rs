//! `orogen dem profile`

use std::fmt::Write as _;
use std::path::PathBuf;

use anyhow::Result;
use orogen::BuildError;
use orogen::io::{plot, png8, svg};
use orogen::ops::survey::sample::profile;
use serde_json::json;

use super::Common;
use super::job::Job;
use super::parse::{self, Spot};
use super::sample::Method;

/// `orogen dem profile`
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Written is a table (csv: distance, x, y and height) or a plot (svg or png).

Examples:
  orogen dem profile alps.tif --at 8.2,46.5 --at 8.8,46.5 > profile.csv
  orogen dem profile alps.tif profile.svg --at 8.2,46.5 --at 8.5,46.7
  orogen dem profile alps.tif profile.png --line road.geojson --step 25")]
pub struct Args {
    #[command(flatten)]
    pub common: Common,
    /// The file to write, csv, svg or png [default: a table on standard output]
    #[arg(value_name = "OUT")]
    pub out: Option<PathBuf>,
    /// A corner of the line, in the file's own coordinates; give it at least twice.
    #[arg(long, value_name = "X,Y", value_parser = parse::spot, allow_hyphen_values = true)]
    pub at: Vec<Spot>,
    /// A GeoJSON file with one line, instead of --at.
    #[arg(long, value_name = "FILE", conflicts_with = "at")]
    pub line: Option<PathBuf>,
    /// Distance between stations in metres [default: the shorter side of a cell]
    #[arg(long, value_name = "M", value_parser = parse::number(1e-3, 1e6), allow_hyphen_values = true)]
    pub step: Option<f64>,
    /// How ground lies between samples.
    #[arg(long, value_name = "METHOD", default_value = "bilinear")]
    pub between: Method,
}

pub fn run(args: &Args) -> Result<()> {
    let job = Job::new("profile", &args.common)?.reading(&args.line);
    let ending = job.ending(args.out.as_deref(), &["csv", "svg", "png"])?;
    let spots = match &args.line {
        Some(path) => parse::line_of(path)?,
        None => args.at.clone(),
    };
    if spots.len() < 2 {
        let text =
            format!("a profile needs at least two places, found {}; add them with --at X,Y", spots.len());
        return Err(BuildError::Call(text).into());
    }
    let model = job.read()?;
    let spacing_m = model.place.spacing_m();
    let line: Vec<Spot> = spots.iter().map(|&spot| model.place.cell_of(spot)).collect();
    let step_m = args.step.unwrap_or(spacing_m[0].min(spacing_m[1]));
    let found = job.work(|_| profile(&model.height, spacing_m, &line, step_m, args.between.into()))?;
    if let Some(warning) = model.warning_of_places_outside(&spots) {
        job.warn(&warning);
    }
    let known = found.heights_m.iter().filter(|z| !z.is_nan()).count();
    let length_m = found.distances_m.last().copied().unwrap_or(0.0);
    let facts = vec![
        ("length_m", json!(length_m)),
        ("stations", json!(found.distances_m.len())),
        ("with_height", json!(known)),
    ];
    let said = format!("{} stations along {length_m:.1} m", found.distances_m.len());
    let name = args.common.stem();
    let picture = match ending {
        "svg" => Some(svg::profile_plot(&name, &found.distances_m, &found.heights_m).into_bytes()),
        "png" => Some(png8::encode(&plot::profile(&name, &found.distances_m, &found.heights_m))),
        _ => None,
    };
    if let Some(picture) = picture {
        return job.write(args.out.as_deref(), ending, &picture, facts, &said);
    }
    let mut text = String::from("distance_m,x,y,height_m\n");
    for ((distance, &place), z) in found.distances_m.iter().zip(&found.places).zip(&found.heights_m) {
        let [x, y] = model.place.at(place);
        // Writing to a string cannot fail.
        let _ = write!(text, "{distance:.3},{x},{y},");
        let _ = if z.is_nan() { writeln!(text) } else { writeln!(text, "{z}") };
    }
    job.write_text(args.out.as_deref(), &text, facts, &said)
}
