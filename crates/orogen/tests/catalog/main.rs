//! Every operator of the catalogue keeps every promise. There is no exclusion list.
//!
//! What takes time is one test an operator (see [`operators`]), so that they run side by side.

mod cancel;
mod ends;
mod held;
mod loops;
mod memory;
mod operators;
mod versions;
mod windows;

use std::fs;
use std::path::{Path, PathBuf};

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Runs a check on every operator and shows everything that is wrong at once.
fn for_each(check: impl Fn(&orogen_core::Operator) -> Vec<String>) {
    let catalog = orogen::catalog();
    assert!(!catalog.operators().is_empty());
    let wrong: Vec<String> = catalog.operators().iter().flat_map(check).collect();
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

/// Runs a check on one operator and shows everything that is wrong at once.
fn hold_to(id: &str, check: impl Fn(&orogen_core::Operator) -> Vec<String>) {
    let catalog = orogen::catalog();
    let operator = catalog.get(id).expect("operators.rs lists operators of the catalogue only");
    let wrong = check(operator);
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn every_operator_has_its_file() {
    for_each(|operator| {
        let path = operator.id.replace('.', "/");
        let sources = repository().join("crates/orogen-ops/src");
        let found = [format!("{path}.rs"), format!("{path}/mod.rs")].iter().any(|file| {
            fs::read_to_string(sources.join(file))
                .is_ok_and(|text| text.contains(&format!("\"{}\"", operator.id)))
        });
        if found { Vec::new() } else { vec![format!("{} is not in {path}.rs or {path}/mod.rs", operator.id)] }
    });
}

#[test]
fn every_operator_has_an_example_and_a_page_with_its_picture() {
    let docs = repository().join("docs");
    for_each(|operator| {
        ["examples/ID.toml", "src/operators/ID.md", "src/operators/ID.png"]
            .map(|path| path.replace("ID", operator.id))
            .into_iter()
            .filter(|path| !docs.join(path).is_file())
            .map(|path| format!("docs/{path} is missing: write the example, then run `cargo xtask docs`"))
            .collect()
    });
}

/// An operator that somebody wrote and forgot to list would be tested by nothing.
#[test]
fn every_operator_in_the_sources_is_in_the_catalogue() {
    let mut folders = vec![repository().join("crates/orogen-ops/src")];
    let mut declared = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|e| e == "rs") {
                let text = fs::read_to_string(&path).unwrap();
                let id = |line: &str| {
                    Some(
                        line.trim()
                            .strip_prefix("const ID: &'static str = \"")?
                            .strip_suffix("\";")?
                            .to_owned(),
                    )
                };
                declared.extend(text.lines().filter_map(id));
            }
        }
    }
    declared.sort();
    let catalog = orogen::catalog();
    let listed: Vec<&str> = catalog.operators().iter().map(|operator| operator.id).collect();
    assert_eq!(declared, listed, "the sources declare the left ones, the catalogue lists the right ones");
}
