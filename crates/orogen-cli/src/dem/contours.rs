//! `orogen dem contours`

use std::path::PathBuf;

use anyhow::Result;
use orogen::io::svg::{self, Contour};
use orogen::ops::survey::contours::{Contours, Lines, contours};
use serde_json::{Value, json};

use super::job::{Job, Model};
use super::{Common, parse};

/// `orogen dem contours`
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Lines have their level as `level_m`, `closed` where they end where they began,
and high ground on their left. On the map every fifth one is bold and
labelled.

Examples:
  orogen dem contours alps.tif lines.geojson --interval 20
  orogen dem contours alps.tif map.svg --interval 50 --smooth")]
pub struct Args {
    #[command(flatten)]
    pub common: Common,
    /// The file to write, geojson or svg [default: IN-contours.geojson here]
    #[arg(value_name = "OUT")]
    pub out: Option<PathBuf>,
    /// Height between one level and the next, in metres.
    #[arg(long, value_name = "M", default_value = "50", value_parser = parse::number(1e-3, 1e5), allow_hyphen_values = true)]
    pub interval: f64,
    /// A level that all others are counted from, in metres.
    #[arg(long, value_name = "M", default_value = "0", value_parser = parse::number(-1e5, 1e5), allow_hyphen_values = true)]
    pub base: f64,
    /// Round lines, drawn on a smooth surface through the ground.
    #[arg(long)]
    pub smooth: bool,
}

pub fn run(args: &Args) -> Result<()> {
    let job = Job::new("contours", &args.common)?;
    let ending = job.ending(args.out.as_deref(), &["geojson", "json", "svg"])?;
    let model = job.read()?;
    let params = Contours { interval_m: args.interval, base_m: args.base, smooth: args.smooth };
    let out = args.out.as_deref();
    if ending == "svg" {
        let lines = job.work(|ctx| contours(&model.height, &params, |at, _| at, ctx))?;
        let (facts, said) = facts(&lines);
        return job.write(out, ending, map(&lines, &model, &params).as_bytes(), facts, &said);
    }
    let place = |at: [f64; 2], level_m| {
        let [x, y] = model.place.at(at);
        [x, y, level_m]
    };
    let lines = job.work(|ctx| contours(&model.height, &params, place, ctx))?;
    let (facts, said) = facts(&lines);
    job.write_vectors(out, ending, &model, ("contours", &lines.into_vectors()), facts, &said)
}

/// What is said about lines, for programs and for people.
fn facts<P>(lines: &Lines<P>) -> (Vec<(&'static str, Value)>, String) {
    let closed = lines.closed.iter().filter(|closed| **closed).count();
    let facts = vec![
        ("lines", json!(lines.len())),
        ("closed", json!(closed)),
        ("vertices", json!(lines.vertices.len())),
        ("min_level_m", json!(lines.levels_m.first())),
        ("max_level_m", json!(lines.levels_m.last())),
    ];
    (facts, format!("{} lines, {closed} of them closed", lines.len()))
}

fn map(lines: &Lines<[f64; 2]>, model: &Model, params: &Contours) -> String {
    const BOLD_EVERY: f64 = 5.0;
    let list: Vec<Contour<'_>> = (0..lines.len())
        .map(|i| {
            let level_m = lines.levels_m[i];
            let number = ((level_m - params.base_m) / params.interval_m).round();
            let bold = number.rem_euclid(BOLD_EVERY) == 0.0;
            Contour { level_m, bold, closed: lines.closed[i], line: lines.line(i) }
        })
        .collect();
    let cell_m = model.place.spacing_m();
    let (cols, rows) = (model.height.cols() - 1, model.height.rows() - 1);
    svg::contour_map([cols as f64 * cell_m[0], rows as f64 * cell_m[1]], cell_m, &list)
}
