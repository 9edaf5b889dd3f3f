//! `orogen check`: all faults of a recipe.

use std::path::Path;

use anyhow::Result;
use orogen::recipe::{Fault, Place};
use orogen::{BuildError, BuildOptions};
use serde_json::{Value, json};

use crate::args::Check;
use crate::build::{limits, overrides};
use crate::{message, output};

pub fn run(args: &Check) -> Result<()> {
    let options = BuildOptions {
        overrides: overrides(&args.changes)?,
        limits: limits(&args.changes),
        base: args.recipe.parent().map(Path::to_path_buf),
        ..BuildOptions::default()
    };
    let checked = orogen::read_recipe(&args.recipe).and_then(|recipe| orogen::check(&recipe, &options));
    if args.json {
        output::print_json(&match &checked {
            Ok((checked, _)) => {
                json!({ "faults": [], "warnings": checked.warnings(), "steps": checked.steps().len() })
            }
            Err(BuildError::Recipe(faults)) => {
                let list: Vec<Value> = faults
                    .list
                    .iter()
                    .map(|fault| fields(Some(fault), &faults.recipe, &fault.message))
                    .collect();
                json!({ "faults": list, "more": faults.more })
            }
            Err(other) => {
                let file = args.recipe.to_string_lossy();
                let fault = fields(None, &file, &message::cut(&other.to_string()));
                json!({ "faults": [fault], "more": 0 })
            }
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

/// A fault for programs: what is not known is `null`, and lines and columns count from 1.
fn fields(fault: Option<&Fault>, recipe: &str, message: &str) -> Value {
    let (line, column) = match fault.map(|fault| &fault.place) {
        Some(Place::Text { line, column }) => (Some(line), Some(column)),
        _ => (None, None),
    };
    json!({
        "file": recipe,
        "line": line,
        "column": column,
        "option": fault.and_then(|fault| message::option(&fault.place)),
        "step": fault.and_then(|fault| fault.step.as_ref()),
        "parameter": fault.and_then(|fault| fault.parameter.as_ref()),
        "message": message,
    })
}
