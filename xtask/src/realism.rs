//! The page of the manual that puts our land beside real land, number by number.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, bail};
use orogen::core::{Cancel, Ctx, layer};
use orogen::io::{Limits, elevation};
use orogen::ops::survey::stats::{BANDS, Realism, Verdict, realism};
use orogen::prelude::{BuildOptions, Unobserved};

use crate::shell;

const PAGE: &str = "docs/src/realism.md";
/// Presets that stand for natural land.
const PRESETS: [&str; 9] = [
    "island",
    "alps",
    "canyon",
    "badlands",
    "karst",
    "volcanic-chain",
    "appalachia",
    "basin-and-range",
    "fjords",
];
const SAMPLES: [usize; 2] = [513, 2049];
/// Surveyed models, and whether heights at or below 0 are sea in them.
const MODELS: [(&str, bool); 10] = [
    ("alps_gotthard", false),
    ("tablelands_nsw", false),
    ("white_mtns_nh", false),
    ("riviera_nice", true),
    ("reunion_island", true),
    ("big_tujunga", false),
    ("jacksboro_fault", false),
    ("st_helens", false),
    ("ecuador_rainforest", false),
    ("hawaii_topobathy", false),
];
/// The heads of the page's tables.
const COMPARABLE: &str = "## Presets at a comparable cell\n";
const OWN: &str = "## Presets at their own cell\n";
const SURVEYED: &str = "## Surveyed models\n";

/// Measures everything and writes the page; with names, measures those presets and prints them only.
pub fn run(only: &[&str]) -> Result<()> {
    if let Some(name) = only.iter().find(|name| !PRESETS.contains(name)) {
        bail!("no such natural preset {name:?}; available: {}", PRESETS.join(", "));
    }
    let (mut comparable, mut own) = (table(), table());
    println!("{}", comparable.trim_end());
    let mut outside = Vec::new();
    for preset in PRESETS.iter().filter(|name| only.is_empty() || only.contains(name)) {
        for samples in SAMPLES {
            let (found, at_own) =
                measure(preset, samples).with_context(|| format!("{preset} at {samples}"))?;
            let line = row(preset, Some(samples), &found);
            print!("{line}");
            comparable.push_str(&line);
            own.push_str(&row(preset, Some(samples), &at_own));
            for finding in found.verdicts.iter().filter(|f| f.verdict != Verdict::Inside) {
                let Some(value) = finding.value else {
                    outside.push(format!("{preset} at {samples}: {} cannot be measured", finding.statistic));
                    continue;
                };
                outside.push(format!(
                    "{preset} at {samples}: {} is {value:.3}, {} the band of {} to {}",
                    finding.statistic,
                    finding.verdict.name(),
                    finding.low,
                    finding.high
                ));
            }
        }
    }
    println!("\n{}", if outside.is_empty() { String::from("all inside") } else { outside.join("\n") });
    if !only.is_empty() {
        return Ok(());
    }
    let path = shell::root().join(PAGE);
    let surveyed = match surveyed()? {
        Some(text) => text,
        None => {
            println!("no surveyed models found (set OROGEN_DATA to their folder); keeping their numbers");
            let page = fs::read_to_string(&path).context(PAGE)?;
            let (_, kept) =
                page.split_once(SURVEYED).ok_or_else(|| anyhow!("{PAGE}: no head {:?}", SURVEYED.trim()))?;
            kept.to_owned()
        }
    };
    let text = format!("{}{COMPARABLE}\n{comparable}\n{OWN}\n{own}\n{SURVEYED}{surveyed}", head());
    fs::write(&path, text).context(PAGE)?;
    println!("{PAGE}: written");
    Ok(())
}

/// A preset at a comparable cell and at its own.
fn measure(preset: &str, samples: usize) -> Result<(Realism, Realism)> {
    let folder = shell::root().join("recipes");
    let recipe = orogen::read_recipe(&folder.join(format!("{preset}.toml")))?;
    let mut options = BuildOptions { base: Some(folder), ..BuildOptions::default() };
    options.overrides.samples = Some(samples);
    let built = orogen::build(&recipe, &options, &Unobserved)?;
    let found =
        orogen::realism(&built.terrain, &Cancel::new())?.ok_or_else(|| anyhow!("there is no land"))?;
    let height = built.terrain.get(layer::HEIGHT)?;
    let at_own = realism(height, built.terrain.frame().spacing_m(), 0.0, 0.0, &Ctx::silent())?;
    Ok((found, at_own))
}

/// Rows of the surveyed models, where they are.
fn surveyed() -> Result<Option<String>> {
    let data =
        std::env::var_os("OROGEN_DATA").map_or_else(|| shell::root().join("../shared/data"), PathBuf::from);
    let folder = data.join("dem");
    if !folder.is_dir() {
        return Ok(None);
    }
    let mut text = format!("\n{}", table());
    for (name, sea) in MODELS {
        let found = model(&folder.join(format!("{name}.tif")), sea).with_context(|| name.to_owned())?;
        let line = row(name, None, &found);
        print!("{line}");
        text.push_str(&line);
    }
    Ok(Some(text))
}

fn model(path: &Path, sea: bool) -> Result<Realism> {
    let (model, place) = elevation::read_placed(path, &Limits::default()).map_err(|e| anyhow!(e.reason))?;
    let place = place.ok_or_else(|| anyhow!("it does not say how far apart its samples are"))?;
    let sea_m = if sea { 0.0 } else { f32::NEG_INFINITY };
    Ok(realism(&model.height, place.spacing_m(), sea_m, 0.0, &Ctx::silent())?)
}

fn table() -> String {
    let mut text = String::from("| land | samples | cell (m) |");
    let mut band = String::from("| *real land* | | 60-100 |");
    for b in BANDS {
        let name = match b.statistic {
            "drainage.depression_share" => "depressions",
            "drainage.hack" => "Hack exponent",
            "drainage.concavity" => "concavity",
            "structure.hurst" => "Hurst exponent",
            "spectrum.beta" => "spectral slope",
            "hypsometric_integral" => "hypsometric integral",
            "drainage.bifurcation_ratio" => "bifurcation ratio",
            other => other,
        };
        text.push_str(&format!(" {name} |"));
        let [low, high] = [b.low, b.high].map(|end| number(b.statistic, end));
        band.push_str(&if b.low > 0.0 { format!(" *{low}-{high}* |") } else { format!(" *up to {high}* |") });
    }
    format!("{text}\n|{}\n{band}\n", " --- |".repeat(3 + BANDS.len()))
}

fn row(name: &str, samples: Option<usize>, found: &Realism) -> String {
    let [east, north] = found.cell_m;
    let cell =
        if (east - north).abs() < 0.5 { format!("{east:.1}") } else { format!("{east:.1} x {north:.1}") };
    let samples =
        samples.map_or_else(|| format!("{} x {}", found.samples[0], found.samples[1]), |n| n.to_string());
    let mut text = format!("| {name} | {samples} | {cell} |");
    for finding in &found.verdicts {
        let value = finding.value.map_or_else(|| String::from("-"), |v| number(finding.statistic, v));
        let cell = if finding.verdict == Verdict::Inside { value } else { format!("**{value}**") };
        text.push_str(&format!(" {cell} |"));
    }
    text.push('\n');
    text
}

fn number(statistic: &str, value: f64) -> String {
    match statistic {
        "drainage.depression_share" => format!("{:.1} %", 100.0 * value),
        "spectrum.beta" | "drainage.bifurcation_ratio" => format!("{value:.2}"),
        _ => format!("{value:.3}"),
    }
}

fn head() -> String {
    String::from(
        "# Real land and ours

<!-- Generated by `cargo xtask realism` from recipes/ and surveyed models. Do not edit. -->

Noise looks like land until it is measured. Real land drains: few of its samples lie in depressions, the length of its rivers
grows with the square root of the land they drain (Hack's law), and rivers grow gentle downstream (concavity). It lies
mostly in valleys (hypsometric integral below one half), and it is rough at small scales as well as large (Hurst exponent,
spectral slope). `orogen dem stats` measures all of this on any model, and every build does so for its own land: see `realism` in
`manifest.json`.

The row of real land gives the band that 17 surveyed models fall into. A number outside it is in **bold**. Depressions have
an upper end only: land without any is as good.

| statistic | how it is measured |
| --- | --- |
| depressions | share of land samples that filling to the brim raises |
| Hack exponent | longest stream against drained area, at all confluences of channels that drain 100 samples and more |
| concavity | slope over ten samples down a channel against the geometric mean of the areas drained there, means over fifths of a decade |
| Hurst exponent | mean square difference of heights against distance, over 2 to 32 samples along rows and columns |
| spectral slope | power against wavenumber, mean over rings, from 6 samples to a sixth of the window |
| hypsometric integral | (mean - min) / (max - min) |
| bifurcation ratio | how many times fewer streams there are of each next Strahler order |

Numbers depend on the cell, so our land is averaged to cells of about 80 m first, or to finer ones where that would leave fewer than
256 samples a side, and lakes are measured by their surface, as surveys see them. What it gives at its own, finer cell
stands below.

",
    )
}
