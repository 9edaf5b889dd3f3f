//! `orogen ops` and `orogen schema`: what operators there are and what they take.

use anyhow::Result;
use orogen::{BuildError, catalog, catalog_json, operator_json, operator_text};

use crate::args::Ops;
use crate::output;

pub fn list(args: &Ops) -> Result<()> {
    let catalog = catalog();
    let Some(name) = &args.name else {
        if args.json {
            return output::print_json(&catalog_json());
        }
        let lines: Vec<String> =
            catalog.operators().iter().map(|op| format!("{:<20} {}\n", op.id, orogen::summary(op))).collect();
        return output::print(&lines.concat());
    };
    let operator = catalog.get(name).ok_or_else(|| {
        let hint = catalog.nearest(name).map_or(String::new(), |n| format!("; did you mean {n:?}?"));
        BuildError::Call(format!("no such operator {name:?}{hint}\nhelp: `orogen ops` lists all operators"))
    })?;
    if args.json {
        return output::print_json(&operator_json(operator));
    }
    output::print(&operator_text(operator))
}

pub fn schema() -> Result<()> {
    output::print_json(&orogen::recipe_schema())
}
