//! `orogen dem stats`

use std::path::PathBuf;

use anyhow::Result;
use orogen::ops::survey::stats::{Stats, stats};
use serde_json::Value;

use super::Common;
use super::flow::Sea;
use super::job::Job;

/// `orogen dem stats`
#[derive(Debug, clap::Args)]
#[command(after_help = "\
What tells real land from noise: few depressions, a Hack exponent near 0.5, concave rivers, a Hurst exponent of 0.55 to 0.79.
All of it depends on the distance between samples: compare models of like spacing.

Examples:
  orogen dem stats alps.tif
  orogen dem stats island.tif --sea 0 --json")]
pub struct Args {
    #[command(flatten)]
    pub common: Common,
    /// The table to write [default: printed]
    #[arg(value_name = "OUT")]
    pub out: Option<PathBuf>,
    #[command(flatten)]
    pub sea: Sea,
}

pub fn run(args: &Args) -> Result<()> {
    let job = Job::new("stats", &args.common)?;
    job.ending(args.out.as_deref(), &["csv"])?;
    let model = job.read()?;
    let found = job.work(|ctx| stats(&model.height, model.place.spacing_m(), args.sea.level_m(), ctx))?;
    let facts = vec![("stats", serde_json::to_value(&found)?)];
    job.write_text(args.out.as_deref(), &table(&found)?, facts, "measured")
}

/// One line a number; what is nested is joined by dots, and what could not be measured is left empty.
fn table(found: &Stats) -> Result<String> {
    let mut text = String::from("statistic,value\n");
    rows(&mut text, "", &serde_json::to_value(found)?);
    Ok(text)
}

fn rows(text: &mut String, name: &str, value: &Value) {
    match value {
        Value::Object(fields) => {
            for (field, value) in fields {
                let name = if name.is_empty() { field.clone() } else { format!("{name}.{field}") };
                rows(text, &name, value);
            }
        }
        Value::Array(values) => {
            let values: Vec<String> = values.iter().map(plain).collect();
            text.push_str(&format!("{name},{}\n", values.join(" ")));
        }
        value => text.push_str(&format!("{name},{}\n", plain(value))),
    }
}

fn plain(value: &Value) -> String {
    match value.as_f64() {
        Some(number) if value.is_f64() => format!("{number:.4}"),
        Some(_) => value.to_string(),
        None => String::new(),
    }
}
