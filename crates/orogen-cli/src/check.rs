//! `orogen check`: all faults of a recipe.

use anyhow::Result;
use orogen::{BuildError, BuildOptions};
use serde_json::json;

use crate::args::Check;
use crate::build::{limits, overrides};
use crate::output;

pub fn run(args: &Check) -> Result<()> {
    let options = BuildOptions {
        overrides: overrides(&args.changes)?,
        limits: limits(&args.changes),
        ..BuildOptions::default()
    };
    let checked = orogen::read_recipe(&args.recipe).and_then(|recipe| orogen::check(&recipe, &options));
    match checked {
        Ok((checked, _)) => {
            let steps = checked.steps().len();
            if args.json {
                output::print_json(&json!({ "faults": [], "steps": steps }))?;
            } else {
                eprintln!("{}: no faults, {steps} steps", args.recipe.display());
            }
            Ok(())
        }
        Err(BuildError::Recipe(faults)) => {
            if args.json {
                output::print_json(
                    &json!({ "faults": faults.list.iter().map(|fault| fault.text(&faults.recipe)).collect::<Vec<_>>() }),
                )?;
            }
            Err(BuildError::Recipe(faults).into())
        }
        Err(other) => Err(other.into()),
    }
}
