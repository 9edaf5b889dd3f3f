//! Orogen as a WebAssembly module: what runs in a browser has the bits of what runs anywhere else.
//!
//! The same functions answer natively and, through [`calls`], in WebAssembly; `cargo xtask test wasm` compares them.

pub mod calls;

use std::fmt::Write as _;

use orogen::core::testkit::bits;
use orogen::core::testkit::standard::AnyFile;
use orogen::core::{Cancel, Terrain};
use orogen::recipe::{Limits, Overrides, Plan, Recipe, RunOptions, Unobserved, run};
use orogen::{BuildOptions, build, catalog};
use sha2::{Digest as _, Sha256};

/// A line `<name> <part> <hash>` for each part of the land that a recipe makes.
///
/// Files that the recipe names are stood in for by [`AnyFile`].
///
/// # Errors
/// Why there is no land, in a sentence.
pub fn recipe_hashes(name: &str, text: &str, samples: usize) -> Result<String, String> {
    let recipe = Recipe::parse(name, text.as_bytes()).map_err(|e| e.to_string())?;
    let overrides = Overrides { samples: Some(samples), ..Overrides::default() };
    Ok(lines(name, &land(&recipe, overrides)?))
}

/// The land of a recipe: by the library's own call, or step by step where files must be stood in for.
fn land(recipe: &Recipe, overrides: Overrides) -> Result<Terrain, String> {
    let catalog = catalog();
    let mut changed = recipe.clone();
    changed.apply(&overrides, &catalog).map_err(|e| e.to_string())?;
    let checked = changed.check(&catalog, &Limits::default()).map_err(|e| e.to_string())?;
    if checked.steps().iter().all(|step| step.op.files().is_empty()) {
        let options = BuildOptions { overrides, ..BuildOptions::default() };
        return build(recipe, &options, &Unobserved).map(|built| built.terrain).map_err(|e| e.to_string());
    }
    let plan = Plan::new(&checked, *checked.frame()).map_err(|e| e.to_string())?;
    let (files, never) = (AnyFile::default(), Cancel::new());
    let options = RunOptions { files: &files, cancel: &never, ..RunOptions::default() };
    run(&checked, &plan, &options).map(|run| run.terrain).map_err(|e| e.to_string())
}

fn lines(name: &str, land: &Terrain) -> String {
    let mut text = String::new();
    for (part, data) in land.layers() {
        let mut hash = Sha256::new();
        bits::of_layer(data, &mut |bytes| hash.update(bytes));
        let _ = writeln!(text, "{name} {part} {}", short(hash));
    }
    for (part, vectors) in land.vectors() {
        let mut hash = Sha256::new();
        bits::of_vectors(vectors, &mut |bytes| hash.update(bytes));
        let _ = writeln!(text, "{name} {part} {}", short(hash));
    }
    text
}

/// How many operators there are.
#[must_use]
pub fn operators() -> usize {
    catalog().operators().len()
}

/// A line `<id> <hash>` for an operator, as `crates/orogen/tests/golden/versions.toml` has it; `None` past the last.
#[must_use]
pub fn operator_hash(index: usize) -> Option<String> {
    let catalog = catalog();
    let operator = catalog.operators().get(index)?;
    let mut hash = Sha256::new();
    bits::of_operator(operator, &mut |bytes| hash.update(bytes));
    Some(format!("{} {}\n", operator.id, short(hash)))
}

fn short(hash: Sha256) -> String {
    hash.finalize().iter().take(16).map(|byte| format!("{byte:02x}")).collect()
}
