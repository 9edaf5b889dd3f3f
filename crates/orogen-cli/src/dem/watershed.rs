//! `orogen dem watershed`

use std::io::Read as _;
use std::path::{Path, PathBuf};

use anyhow::Result;
use orogen::BuildError;
use orogen::core::{OpError, Raster};
use orogen::io::geojson::{self, System};
use orogen::ops::drainage::drainage;
use orogen::ops::survey::viewshed::HOLE;
use orogen::ops::water::basins::of_places;
use serde_json::json;

use super::Common;
use super::flow::Sea;
use super::job::Job;
use super::parse::{self, Spot};
use super::raster::{ENDINGS, Meaning, Packing, mask_grey};

/// `orogen dem watershed`
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Written are bytes: 1 drains through the place, 0 does not, 255 a hole (in a
png white, black and grey); and beside them the outline as GeoJSON, under the
same name. The place moves to the sample of the most flow within --snap.

Examples:
  orogen dem watershed alps.tif ticino.tif --at 8.86,46.19
  orogen dem watershed alps.tif ticino.tif --at 8.86,46.19 --snap 500 --json")]
pub struct Args {
    #[command(flatten)]
    pub common: Common,
    /// The tif or png to write [default: IN-watershed.tif here]
    #[arg(value_name = "OUT")]
    pub out: Option<PathBuf>,
    #[command(flatten)]
    pub packing: Packing,
    /// The place to find the watershed of, in the file's own coordinates.
    #[arg(long, value_name = "X,Y", value_parser = parse::spot, allow_hyphen_values = true)]
    pub at: Spot,
    /// How far the place may move to the sample of the most flow, in metres.
    #[arg(long, value_name = "M", default_value = "100", value_parser = parse::number(0.0, 1e5), allow_hyphen_values = true)]
    pub snap: f64,
    /// The geojson to write the outline to [default: beside OUT, under the same name]
    #[arg(long, value_name = "FILE")]
    pub outline: Option<PathBuf>,
    #[command(flatten)]
    pub sea: Sea,
}

pub fn run(args: &Args) -> Result<()> {
    let job = Job::new("watershed", &args.common)?;
    let out = args.out.as_deref();
    job.ending(out, ENDINGS)?;
    let outline_file = outline_file(args, &job)?;
    let model = job.read()?;
    let place = model.nearest(args.at, "--at")?;
    let [dx, dy] = model.place.spacing_m();
    let sea_m = args.sea.level_m();
    let basin = job.work(|ctx| -> Result<_, OpError> {
        let found = drainage(&model.height, [dx, dy], sea_m, ctx)?;
        Ok(of_places(&model.height, &found, sea_m, [dx, dy], &[place], args.snap))
    })?;
    let (cols, rows) = (model.height.cols(), model.height.rows());
    let mask = Raster::from_fn(cols, rows, |col, row| {
        let hole = model.height.row(row)[col].is_nan();
        if hole { HOLE } else { basin.labels.row(row)[col] as u8 }
    });
    let (outlet, cells) = (basin.outlets[0], basin.cells[0]);
    let [x, y] = model.place.at([(outlet % cols) as f64, (outlet / cols) as f64]);
    let area_m2 = cells as f64 * dx * dy;
    let outline = basin.vectors([dx, dy], |at| model.place.at(at));
    let outline = geojson::encode_in(&outline, NAME, &System::of(&model.place));
    if let Some(file) = &outline_file {
        job.write_second(file, &outline)?;
    }
    let facts = vec![
        ("outline", json!(outline_file.map(|file| file.display().to_string()))),
        ("outlet", json!([x, y])),
        ("samples", json!(cells)),
        ("area_m2", json!(area_m2)),
    ];
    let said = format!("{:.3} km2 drain through {x},{y}", area_m2 / 1e6);
    let meaning = Meaning { layer: "watershed", hole: HOLE, grey: mask_grey };
    job.write_bytes(out, args.packing, &model, &mask, &meaning, facts, &said)
}

/// The name of the outline within its file.
const NAME: &str = "watershed";

/// Where the outline goes. One that the call names replaces what is there; otherwise only an outline of an earlier run may be
/// replaced, as the call does not say that there will be a second file.
fn outline_file(args: &Args, job: &Job) -> Result<Option<PathBuf>, BuildError> {
    if let Some(named) = &args.outline {
        let is_geojson = named
            .extension()
            .is_some_and(|e| e.eq_ignore_ascii_case("geojson") || e.eq_ignore_ascii_case("json"));
        if !is_geojson {
            return Err(BuildError::Call(format!(
                "--outline {}: the outline is written as geojson or json",
                named.display()
            )));
        }
        return Ok(Some(named.clone()));
    }
    let beside = job.beside(args.out.as_deref(), "geojson");
    match &beside {
        Some(file) if file.symlink_metadata().is_ok() && !is_outline(file) => Err(BuildError::Call(format!(
            "{} already exists, and the outline would replace it; write the outline elsewhere with --outline FILE",
            file.display()
        ))),
        _ => Ok(beside),
    }
}

/// Whether a file begins as the outlines of this tool do.
fn is_outline(file: &Path) -> bool {
    let head = format!("{{\"type\":\"FeatureCollection\",\"name\":\"{NAME}\",\"crs\":");
    let mut found = vec![0; head.len()];
    orogen::io::plain_file(file).is_ok()
        && std::fs::File::open(file).and_then(|mut file| file.read_exact(&mut found)).is_ok()
        && found == head.as_bytes()
}
