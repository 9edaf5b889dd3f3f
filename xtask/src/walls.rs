//! Walls between the crates that the compiler does not hold: who may depend on what.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::shell::cargo;

/// Crates that each of ours must not reach, directly or through others.
const WALLS: &[(&str, &[&str])] = &[
    (
        "orogen-core",
        &[
            "orogen-ops",
            "orogen-recipe",
            "orogen-io",
            "orogen",
            "clap",
            "wgpu",
            "egui",
            "tempfile",
            "tiff",
            "png",
        ],
    ),
    (
        "orogen-ops",
        &["orogen-recipe", "orogen-io", "orogen", "clap", "wgpu", "egui", "tempfile", "tiff", "png"],
    ),
    (
        "orogen-texture",
        &[
            "orogen-ops",
            "orogen-recipe",
            "orogen-io",
            "orogen",
            "clap",
            "wgpu",
            "egui",
            "tempfile",
            "tiff",
            "png",
        ],
    ),
    (
        "orogen-flora",
        &[
            "orogen-ops",
            "orogen-recipe",
            "orogen-io",
            "orogen",
            "clap",
            "wgpu",
            "egui",
            "tempfile",
            "tiff",
            "png",
        ],
    ),
    ("orogen-recipe", &["orogen-ops", "orogen-io", "orogen", "clap", "wgpu", "egui", "tiff", "png"]),
    ("orogen-io", &["orogen-ops", "orogen-recipe", "orogen", "clap", "wgpu", "egui"]),
    (
        "orogen-gpu",
        &[
            "orogen",
            "orogen-io",
            "orogen-flora",
            "orogen-texture",
            "orogen-render",
            "orogen-cli",
            "clap",
            "egui",
            "tiff",
            "png",
        ],
    ),
    ("orogen-render", &["orogen", "orogen-io", "orogen-cli", "clap", "egui", "tiff", "png"]),
    ("orogen", &["orogen-cli", "orogen-render", "orogen-memory", "clap", "wgpu", "egui"]),
];

/// Checks the walls over the whole dependency graph.
pub fn check() -> Result<()> {
    let output = cargo(&["metadata", "--format-version", "1", "--all-features"]).output()?;
    if !output.status.success() {
        bail!("cargo metadata failed: {}", String::from_utf8_lossy(&output.stderr));
    }
    let metadata: Value = serde_json::from_slice(&output.stdout)?;
    let packages = metadata["packages"].as_array().context("cargo metadata lists no packages")?;
    let names: BTreeMap<&str, &str> =
        packages.iter().filter_map(|p| Some((p["id"].as_str()?, p["name"].as_str()?))).collect();
    let mut graph: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for node in metadata["resolve"]["nodes"].as_array().into_iter().flatten() {
        let Some(&from) = node["id"].as_str().and_then(|id| names.get(id)) else { continue };
        for dep in node["deps"].as_array().into_iter().flatten() {
            // What only tests and build scripts use crosses no wall.
            let normal =
                dep["dep_kinds"].as_array().is_some_and(|kinds| kinds.iter().any(|k| k["kind"].is_null()));
            if let (true, Some(&to)) = (normal, dep["pkg"].as_str().and_then(|id| names.get(id))) {
                graph.entry(from).or_default().insert(to);
            }
        }
    }
    let mut broken = Vec::new();
    for (name, forbidden) in WALLS {
        let reached = reach(&graph, name);
        broken.extend(
            forbidden
                .iter()
                .filter(|f| reached.contains(*f))
                .map(|f| format!("{name} must not depend on {f}")),
        );
    }
    broken.extend(licences(packages)?);
    if !broken.is_empty() {
        bail!("{}", broken.join("\n"));
    }
    println!("walls: {} crates, {} packages, licences allowed", WALLS.len(), packages.len());
    Ok(())
}

fn reach<'a>(graph: &BTreeMap<&'a str, BTreeSet<&'a str>>, from: &'a str) -> BTreeSet<&'a str> {
    let mut seen = BTreeSet::new();
    let mut open = vec![from];
    while let Some(name) = open.pop() {
        for &next in graph.get(name).into_iter().flatten() {
            if seen.insert(next) {
                open.push(next);
            }
        }
    }
    seen
}

/// Packages none of whose licences is in the list of `deny.toml`.
fn licences(packages: &[Value]) -> Result<Vec<String>> {
    let deny: toml::Table = std::fs::read_to_string("deny.toml")?.parse()?;
    let allowed: BTreeSet<&str> = deny["licenses"]["allow"]
        .as_array()
        .context("deny.toml lists no licences")?
        .iter()
        .filter_map(|l| l.as_str())
        .collect();
    let fits = |expression: &str| {
        let plain = expression.replace('/', " OR ").replace(['(', ')'], "");
        plain.split(" OR ").any(|choice| choice.split(" AND ").all(|one| allowed.contains(one.trim())))
    };
    Ok(packages
        .iter()
        .filter_map(|p| {
            let licence = p["license"].as_str().unwrap_or("none named");
            (!fits(licence)).then(|| format!("licence of {}: {licence} is not in deny.toml", p["name"]))
        })
        .collect())
}
