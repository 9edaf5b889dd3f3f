//! `orogen dem sample`

use std::fmt::Write as _;
use std::path::PathBuf;

use anyhow::Result;
use clap::ValueEnum;
use orogen::BuildError;
use orogen::ops::survey::sample::{Between, sample};
use serde_json::json;

use super::Common;
use super::job::Job;
use super::parse::{self, Spot};

/// `orogen dem sample`
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Written is a table: x, y, the height in metres, and a note where there is
none: `outside` the model, or at a `hole`.

Examples:
  orogen dem sample alps.tif --at 8.5,46.6 --at 8.6,46.5
  orogen dem sample alps.tif heights.csv --points huts.geojson
  orogen dem sample alps.tif --at 8.5,46.6 --between stepped")]
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
    /// How ground lies between samples.
    #[arg(long, value_name = "METHOD", default_value = "bilinear")]
    pub between: Method,
}

/// How ground lies between samples.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum Method {
    /// A place has the height of the nearest sample.
    Stepped,
    /// Heights change evenly from sample to sample.
    Bilinear,
}

impl From<Method> for Between {
    fn from(method: Method) -> Self {
        match method {
            Method::Stepped => Self::Stepped,
            Method::Bilinear => Self::Bilinear,
        }
    }
}

pub fn run(args: &Args) -> Result<()> {
    let job = Job::new("sample", &args.common)?.reading(&args.points);
    job.ending(args.out.as_deref(), &["csv"])?;
    let mut spots = args.at.clone();
    if let Some(path) = &args.points {
        spots.extend(parse::spots_of(path)?);
    }
    if spots.is_empty() {
        return Err(BuildError::Call(String::from(
            "no places given; name them with --at X,Y or --points FILE",
        ))
        .into());
    }
    let model = job.read()?;
    let heights: Vec<f32> = spots
        .iter()
        .map(|&spot| sample(&model.height, model.place.cell_of(spot), args.between.into()))
        .collect();
    let note = |spot: &Spot, z: &f32| match (z.is_nan(), model.covers(*spot)) {
        (false, _) => None,
        (true, true) => Some("hole"),
        (true, false) => Some("outside"),
    };
    let notes: Vec<Option<&str>> = spots.iter().zip(&heights).map(|(spot, z)| note(spot, z)).collect();
    let mut text = String::from("x,y,height_m,note\n");
    for (([x, y], z), note) in spots.iter().zip(&heights).zip(&notes) {
        // Writing to a string cannot fail.
        let _ = match note {
            Some(note) => writeln!(text, "{x},{y},,{note}"),
            None => writeln!(text, "{x},{y},{z},"),
        };
    }
    if let Some(warning) = model.warning_of_places_outside(&spots) {
        job.warn(&warning);
    }
    let known = heights.iter().filter(|z| !z.is_nan()).count();
    let facts = vec![
        ("places", json!(spots)),
        ("notes", json!(notes)),
        ("heights_m", json!(heights.iter().map(|z| (!z.is_nan()).then_some(*z)).collect::<Vec<_>>())),
    ];
    job.write_text(
        args.out.as_deref(),
        &text,
        facts,
        &format!("{known} of {} places have a height", spots.len()),
    )
}
