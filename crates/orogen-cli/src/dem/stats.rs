//! `orogen dem stats`

use std::path::{Path, PathBuf};

use anyhow::Result;
use orogen::BuildError;
use orogen::ops::survey::stats::{BANDS_CELLS_M, Finding, Realism, Verdict, realism};
use serde_json::{Value, json};

use super::flow::Sea;
use super::job::{Job, Model};
use super::{Common, parse};

/// `orogen dem stats`
#[derive(Debug, clap::Args)]
#[command(after_help = "\
What tells real land from noise: few depressions, a Hack exponent near 0.5,
concave rivers, a Hurst exponent of 0.55 to 0.79. Beside these stands the band
that 17 surveyed models fall into, and whether this one does. All of it
depends on the distance between samples, and the bands hold at cells of 60 to
100 m: --cell-m 80 averages a finer model to that first.

Examples:
  orogen dem stats alps.tif
  orogen dem stats island.tif --sea 0 --cell-m 80 --json
  orogen dem stats out/alps/height.tif --water out/alps/water.tif \\
      --sea 0 --cell-m 80")]
pub struct Args {
    #[command(flatten)]
    pub common: Common,
    /// The table to write [default: printed]
    #[arg(value_name = "OUT")]
    pub out: Option<PathBuf>,
    #[command(flatten)]
    pub sea: Sea,
    /// Average heights to about this cell in metres first [default: the model's own]
    #[arg(long, value_name = "M", value_parser = parse::number(1e-6, 1e9), allow_hyphen_values = true)]
    pub cell_m: Option<f64>,
    /// Depths of water to add, so that lakes are measured as surveys see them, by their surface.
    #[arg(long, value_name = "FILE")]
    pub water: Option<PathBuf>,
}

pub fn run(args: &Args) -> Result<()> {
    let job = Job::new("stats", &args.common)?.reading(&args.water);
    job.ending(args.out.as_deref(), &["csv"])?;
    let mut model = job.read()?;
    let sea_m = args.sea.level_m();
    if let Some(path) = &args.water {
        add_water(&mut model, path, &job, sea_m)?;
    }
    let found = job.work(|ctx| {
        realism(&model.height, model.place.spacing_m(), sea_m, args.cell_m.unwrap_or(0.0), ctx)
    })?;
    let outside: Vec<&str> =
        found.verdicts.iter().filter(|f| f.verdict != Verdict::Inside).map(|f| f.statistic).collect();
    let [east, north] = found.cell_m;
    let is_comparable = found.cell_m.iter().all(|cell_m| BANDS_CELLS_M.contains(cell_m));
    if !is_comparable {
        let way_out = if east.min(north) < *BANDS_CELLS_M.start() {
            "average the model with --cell-m 80"
        } else {
            "use a finer model to compare it"
        };
        job.warn(&format!(
            "the ranges of real land apply to cells of {} to {} m, but these are {east:.1} x {north:.1} m; {way_out}",
            BANDS_CELLS_M.start(),
            BANDS_CELLS_M.end()
        ));
    }
    let said = match outside.as_slice() {
        [] => format!("measured at {east:.1} x {north:.1} m: everything within the range of real land"),
        names => {
            format!(
                "measured at {east:.1} x {north:.1} m: outside the range of real land: {}",
                names.join(", ")
            )
        }
    };
    let facts = vec![
        ("cell_m", json!(found.cell_m)),
        ("samples", json!(found.samples)),
        ("comparable", json!(is_comparable)),
        ("verdicts", serde_json::to_value(&found.verdicts)?),
        ("stats", serde_json::to_value(&found.stats)?),
    ];
    job.write_text(args.out.as_deref(), &table(&found)?, facts, &said)
}

/// Raises land by the water on it.
fn add_water(model: &mut Model, path: &Path, job: &Job, sea_m: f32) -> Result<(), BuildError> {
    let Model { height: water, place, .. } = job.read_other(path)?;
    let (cols, rows) = (model.height.cols(), model.height.rows());
    if (water.cols(), water.rows()) != (cols, rows) {
        let reason = format!(
            "{} x {} samples of water do not match the {cols} x {rows} samples of the model",
            water.cols(),
            water.rows()
        );
        return Err(BuildError::Read { path: path.to_owned(), reason });
    }
    if let Some(difference) = model.place.difference(&place, [cols, rows]) {
        let reason = format!("the model and this file {difference}");
        return Err(BuildError::Read { path: path.to_owned(), reason });
    }
    for (height, &depth) in model.height.as_mut_slice().iter_mut().zip(water.as_slice()) {
        if *height > sea_m && depth > 0.0 {
            *height += depth;
        }
    }
    Ok(())
}

/// One line a number; what is nested is joined by dots, and what could not be measured is left empty. Behind some stand the
/// bounds that real land keeps, and how the number lies to them.
fn table(found: &Realism) -> Result<String> {
    let mut text = String::from("statistic,value,low,high,verdict\n");
    let cell = json!({ "cell_m": found.cell_m, "samples": found.samples });
    rows(&mut text, "", &cell, &found.verdicts);
    rows(&mut text, "", &serde_json::to_value(&found.stats)?, &found.verdicts);
    Ok(text)
}

fn rows(text: &mut String, name: &str, value: &Value, verdicts: &[Finding]) {
    let values = match value {
        Value::Object(fields) => {
            for (field, value) in fields {
                let name = if name.is_empty() { field.clone() } else { format!("{name}.{field}") };
                rows(text, &name, value, verdicts);
            }
            return;
        }
        Value::Array(values) => values.iter().map(plain).collect::<Vec<_>>().join(" "),
        value => plain(value),
    };
    let beside = verdicts.iter().find(|found| found.statistic == name).map_or_else(
        || String::from(",,,"),
        |found| format!(",{},{},{}", found.low, found.high, found.verdict.name()),
    );
    text.push_str(&format!("{name},{values}{beside}\n"));
}

fn plain(value: &Value) -> String {
    match value.as_f64() {
        Some(number) if value.is_f64() => format!("{number:.4}"),
        Some(_) => value.to_string(),
        None => String::new(),
    }
}
