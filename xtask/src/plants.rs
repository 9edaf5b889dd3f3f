//! The pages and pictures of the species.

use anyhow::{Result, anyhow};
use orogen::flora::{Growth, Outlook, Season, height_m, outlooks, plant, portrait, species_named};
use orogen::io::{png8, sheet};

/// Where they are.
pub const FOLDER: &str = "docs/src/plants";
/// Pixels along a side of each plant.
const SIZE_PX: usize = 300;
const SEED: &str = "orogen";

/// A plant on a page: what is said of it, its seed, then age, vigour and season.
type Shown = (String, String, Growth);

/// What a page shows: a plant through its life and the year. Stones and dead wood have neither, but many forms.
fn shown(species: &Outlook) -> Result<Vec<Shown>> {
    let known = species_named(species.name).map_err(|e| anyhow!("{}: {e}", species.name))?;
    if known.stone.is_some() || known.dead_wood.is_some() {
        let form = |seed: u32| (format!("seed {seed}"), seed.to_string(), Growth::MATURE);
        return Ok((1..=5).map(form).collect());
    }
    let mut all = vec![("young", Growth::SAPLING), ("summer", Growth::MATURE)];
    if !species.evergreen {
        all.push(("autumn", Growth { season: Season::Autumn, ..Growth::MATURE }));
        all.push(("winter", Growth { season: Season::Winter, ..Growth::MATURE }));
    }
    all.push(("dead", Growth::DEAD));
    Ok(all.into_iter().map(|(what, growth)| (what.to_owned(), SEED.to_owned(), growth)).collect())
}

/// The texts with their paths: the list, then a page for each.
pub fn texts(generated: impl Fn(&str) -> String) -> Result<Vec<(String, String)>> {
    let all = outlooks()?;
    let mut index = format!(
        "# All species\n\n{}\n\n`orogen plants NAME` grows one; see [Plants](plants.md).\n\n| species | height | what it looks like |\n\
         | --- | --- | --- |\n",
        generated("the species of `orogen-flora`")
    );
    let mut texts = Vec::new();
    for species in &all {
        let name = species.name;
        let [low, high] = species.height_range_m;
        index
            .push_str(&format!("| [`{name}`](plants/{name}.md) | {low} to {high} m | {} |\n", species.about));
        texts.push((format!("{FOLDER}/{name}.md"), page(species, &generated)?));
    }
    texts.insert(0, (String::from("docs/src/species.md"), index));
    Ok(texts)
}

fn page(species: &Outlook, generated: impl Fn(&str) -> String) -> Result<String> {
    let name = species.name;
    let [low, high] = species.height_range_m;
    let shown: Vec<String> = shown(species)?.into_iter().map(|(what, ..)| what).collect();
    let leaves = species.leaves.map_or(String::from("none"), |outline| format!("`{outline}`"));
    let green = if species.evergreen { "all year" } else { "until autumn" };
    Ok(format!(
        "# {name}\n\n{}\n\n{}\n\n![{name}: {}]({name}.png)\n\n*From the left: {}.*\n\n| | |\n| --- | --- |\n\
         | height of grown plants | {low} to {high} m |\n| leaves | {leaves}, {green} |\n| bark | `{}` |\n\n\
         As a file:\n\n\
         ```text\norogen plants {name} --seed 7 -o {name}.glb\n```\n",
        generated(&format!("`crates/orogen-flora/species/{name}.toml`")),
        species.about,
        shown.join(", "),
        shown.join(", "),
        species.bark,
    ))
}

/// Lines of the table of contents.
pub fn contents() -> Result<String> {
    let mut text = String::from("- [All species](species.md)\n");
    for species in outlooks()? {
        text.push_str(&format!("  - [{0}](plants/{0}.md)\n", species.name));
    }
    Ok(text)
}

/// The pictures of all species, or of these, with their paths.
pub fn pictures(wanted: Option<&[&str]>) -> Result<Vec<(String, Vec<u8>)>> {
    let is_wanted = |species: &Outlook| wanted.is_none_or(|names| names.contains(&species.name));
    let mut all = outlooks()?;
    all.retain(is_wanted);
    all.iter().map(picture).collect()
}

fn picture(species: &Outlook) -> Result<(String, Vec<u8>)> {
    let mut drawn = Vec::new();
    for (what, seed, growth) in shown(species)? {
        let grown = plant(species.name, &seed, growth).map_err(|e| anyhow!("{}: {e}", species.name))?;
        let height = height_m(&grown);
        let digits = if height < 1.0 { 2 } else { 1 };
        drawn.push((format!("{what}, {height:.digits$} m"), portrait(&grown, SIZE_PX)));
    }
    let sheet = sheet::sheet(&drawn, drawn.len());
    Ok((format!("{FOLDER}/{}.png", species.name), png8::encode_small(&sheet)))
}
