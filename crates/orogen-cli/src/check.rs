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
    if args.json {
        output::print_json(&match &checked {
            Ok((checked, _)) => {
                json!({ "faults": [], "warnings": checked.warnings(), "steps": checked.steps().len() })
            }
            Err(BuildError::Recipe(faults)) => {
                let list: Vec<String> = faults.list.iter().map(|fault| fault.text(&faults.recipe)).collect();
                json!({ "faults": list, "more": faults.more })
            }
            Err(other) => json!({ "faults": [other.to_string()] }),
        })?;
    }
    let (checked, _) = checked?;
    if !args.json {
        checked.warnings().iter().for_each(|warning| eprintln!("warning: {warning}"));
        let steps = checked.steps().len();
        let plural = if steps == 1 { "" } else { "s" };
        eprintln!("{}: no faults, {steps} step{plural}", args.recipe.display());
    }
    Ok(())
}
