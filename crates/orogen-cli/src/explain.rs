//! `orogen explain`: why a place is as it is.

use std::path::Path;

use anyhow::Result;
use orogen::recipe::Unobserved;
use orogen::{BuildError, BuildOptions};

use crate::args::Explain;
use crate::build::{limits, overrides};
use crate::output;

pub fn run(args: &Explain) -> Result<()> {
    let options = BuildOptions {
        overrides: overrides(&args.changes)?,
        limits: limits(&args.changes),
        base: args.recipe.parent().map(Path::to_path_buf),
        ..BuildOptions::default()
    };
    let place = place(&args.place)?;
    let recipe = orogen::read_recipe(&args.recipe)?;
    let found = orogen::explain(&recipe, &options, place, &Unobserved)?;
    if args.json { output::print_json(&found) } else { output::print(&found.text()) }
}

/// Two numbers with a comma between them.
fn place(text: &str) -> Result<[f64; 2], BuildError> {
    let number = |text: &str| text.trim().parse::<f64>().ok().filter(|x| x.is_finite());
    let pair = text.split_once(',').and_then(|(x, y)| Some([number(x)?, number(y)?]));
    pair.ok_or_else(|| {
        BuildError::Call(format!("{text:?} is not a place; write metres east and north, as in 1200,3400"))
    })
}
