//! `orogen dem basins`

use std::path::PathBuf;

use anyhow::Result;
use orogen::core::OpError;
use orogen::ops::drainage::drainage;
use orogen::ops::water::basins::{BASINS, natural};
use serde_json::json;

use super::flow::Sea;
use super::job::Job;
use super::raster::{ENDINGS, Packing};
use super::{Common, parse};

/// `orogen dem basins`
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Basins are numbered from 1 in the order of their outlets, north to south and
then west to east; 0 is sea and smaller basins. Outlines have `basin`,
`area_m2` (of the outline), `basin_m2` (of the whole basin, which may have
several), `outlet_x` and `outlet_y`.

Examples:
  orogen dem basins alps.tif basins.tif
  orogen dem basins alps.tif basins.geojson --min-area 25e6
  orogen dem basins island.tif --sea 0")]
pub struct Args {
    #[command(flatten)]
    pub common: Common,
    /// The file to write: numbers (tif, png) or outlines (geojson) [default: IN-basins.tif here]
    #[arg(value_name = "OUT")]
    pub out: Option<PathBuf>,
    #[command(flatten)]
    pub packing: Packing,
    /// Smallest basin that gets a number, in square metres.
    #[arg(long, value_name = "M2", default_value = "1e6", value_parser = parse::number(0.0, 1e15), allow_hyphen_values = true)]
    pub min_area: f64,
    #[command(flatten)]
    pub sea: Sea,
}

pub fn run(args: &Args) -> Result<()> {
    let job = Job::new("basins", &args.common)?;
    let ending = job.ending(args.out.as_deref(), &["tif", "tiff", "png", "geojson", "json"])?;
    let model = job.read()?;
    let [dx, dy] = model.place.spacing_m();
    let sea_m = args.sea.level_m();
    let basins = job.work(|ctx| -> Result<_, OpError> {
        let found = drainage(&model.height, [dx, dy], sea_m, ctx)?;
        Ok(natural(&model.height, &found, sea_m, args.min_area / (dx * dy)))
    })?;
    let count = basins.outlets.len();
    let largest = basins.cells.iter().max().copied().unwrap_or(0) as f64 * dx * dy;
    let facts = vec![("basins", json!(count)), ("largest_m2", json!(largest))];
    let said = format!("{count} basins, the largest has {:.3} km2", largest / 1e6);
    let out = args.out.as_deref();
    if ENDINGS.contains(&ending) {
        return job.write_ids(out, args.packing, &model, &basins.labels, "basin", facts, &said);
    }
    let outlines = basins.vectors([dx, dy], |at| model.place.at(at));
    job.write_vectors(out, ending, &model, (BASINS, &outlines), facts, &said)
}
