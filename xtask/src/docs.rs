//! Everything that is generated: the operator pages and pictures of the manual, its list of operators, Python stubs.
//!
//! Written by `cargo xtask docs`, compared by `cargo xtask docs --check`. Texts must match to the letter. Pictures are
//! compared as the eye would: they come out of floating-point work whose last bits no picture needs to show.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, bail};
use orogen::core::{Cancel, Frame, LandClass, LayerData, LayerName, Operator, Raster, Rect, layer, math};
use orogen::io::oblique::{self, View};
use orogen::io::png8::{Picture, looks_the_same};
use orogen::io::relief::{Coloring, ReliefStyle};
use orogen::io::{png8, preview, relief};
use orogen::prelude::{BuildOptions, Unobserved};
use serde_json::Value;

use crate::{plants, shell, stubs};

const SUMMARY: &str = "docs/src/SUMMARY.md";
const PAGES: &str = "docs/src/operators";
const EXAMPLES: &str = "docs/examples";
const PRESETS: &str = "docs/src/presets";
/// The line of the table of contents under which operators are listed, up to the end.
const LIST_HEAD: &str = "# Operators\n";
/// The same of the species.
const SPECIES_HEAD: &str = "# Species\n";
const README_PICTURE: &str = "docs/island.png";
/// One land by rules, by an image, and by both.
const SATELLITE_PICTURE: &str = "docs/src/tutorial/satellite.png";
/// One land in the colourings that know less of it than the usual one.
const COLORINGS_PICTURE: &str = "docs/src/colorings.png";
/// One land planted on a grid, at random and by survival.
const PLANS_PICTURE: &str = "docs/src/plans.png";
/// A page should load at once.
const MAX_PICTURE_BYTES: usize = 600 * 1024;

/// Writes what is generated, or fails when what is there differs.
pub fn run(check: bool) -> Result<()> {
    let mut stale = Vec::new();
    for (path, text) in texts()? {
        let path = shell::root().join(path);
        if fs::read_to_string(&path).is_ok_and(|there| there == text) {
            continue;
        }
        note(&path, check, text.as_bytes(), &mut stale)?;
    }
    let mut pictures = Vec::new();
    for preset in orogen::presets::PRESETS {
        pictures.extend(pictures_of(preset)?);
    }
    pictures.push((PathBuf::from(SATELLITE_PICTURE), three_ways()?));
    pictures.push((PathBuf::from(COLORINGS_PICTURE), colorings()?));
    pictures.push((PathBuf::from(PLANS_PICTURE), plans()?));
    for operator in orogen::catalog().operators() {
        let png = picture(operator).with_context(|| format!("the example of {}", operator.id))?;
        pictures.push((Path::new(PAGES).join(format!("{}.png", operator.id)), png));
    }
    pictures.extend(plants::pictures(None)?.into_iter().map(|(path, png)| (PathBuf::from(path), png)));
    for (path, png) in pictures {
        let path = shell::root().join(path);
        if png.len() > MAX_PICTURE_BYTES {
            bail!(
                "{}: {} bytes, more than the limit of {MAX_PICTURE_BYTES}; use fewer samples",
                path.display(),
                png.len()
            );
        }
        // A picture that looks the same is left alone, so that history holds no copies of it.
        if fs::read(&path).is_ok_and(|there| looks_the_same(&there, &png)) {
            continue;
        }
        note(&path, check, &png, &mut stale)?;
    }
    for path in leftovers()? {
        stale.push(format!("{}: belongs to no operator, preset or species", path.display()));
        if !check {
            fs::remove_file(&path)?;
        }
    }
    if check && !stale.is_empty() {
        bail!("out of date; run `cargo xtask docs` and commit:\n{}", stale.join("\n"));
    }
    println!("generated files: {}", if stale.is_empty() { "all up to date" } else { "written" });
    Ok(())
}

/// The pictures of a preset: all of it, and from near where it says a place.
fn pictures_of(preset: &orogen::presets::Preset) -> Result<Vec<(PathBuf, Vec<u8>)>> {
    let path = |end: &str| Path::new(PRESETS).join(format!("{}{end}.png", preset.name));
    let png = preset_picture(preset.name, 481).with_context(|| format!("the preset {}", preset.name))?;
    let mut pictures = vec![(path(""), png)];
    if preset.name == "island" {
        pictures.push((PathBuf::from(README_PICTURE), preset_picture(preset.name, 641)?));
    }
    if let Some(at_m) = preset.closer_m {
        let png =
            zooms(preset.name, at_m).with_context(|| format!("the preset {} from near", preset.name))?;
        pictures.push((path("-zooms"), png));
    }
    Ok(pictures)
}

/// Writes the page and picture of some operators, the pictures of some presets and species ("plants" is all of these), and the texts about all of them.
pub fn some(ids: &[&str]) -> Result<()> {
    let mut stale = Vec::new();
    for (path, text) in texts()? {
        note(&shell::root().join(path), false, text.as_bytes(), &mut stale)?;
    }
    let species: Vec<&str> = orogen::flora::names().collect();
    let (plants, others): (Vec<&str>, Vec<&str>) =
        ids.iter().partition(|id| **id == "plants" || species.contains(id));
    let all = plants.contains(&"plants");
    let wanted = if all { None } else { Some(plants.as_slice()) };
    for (path, png) in plants::pictures(wanted)? {
        note(&shell::root().join(path), false, &png, &mut stale)?;
    }
    for id in others {
        if let Some(preset) = orogen::presets::PRESETS.iter().find(|preset| preset.name == id) {
            for (path, png) in pictures_of(preset)? {
                note(&shell::root().join(path), false, &png, &mut stale)?;
            }
            continue;
        }
        if id == "plans" {
            note(&shell::root().join(PLANS_PICTURE), false, &plans()?, &mut stale)?;
            continue;
        }
        let catalog = orogen::catalog();
        let operator = catalog.get(id).ok_or_else(|| anyhow!("no operator, preset or species {id:?}"))?;
        let png = picture(operator).with_context(|| format!("the example of {id}"))?;
        note(&shell::root().join(PAGES).join(format!("{id}.png")), false, &png, &mut stale)?;
    }
    Ok(())
}

fn note(path: &Path, check: bool, bytes: &[u8], stale: &mut Vec<String>) -> Result<()> {
    stale.push(format!("{}: differs", path.display()));
    if check {
        return Ok(());
    }
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    fs::write(path, bytes).with_context(|| path.display().to_string())
}

/// Every generated text with its path.
fn texts() -> Result<Vec<(String, String)>> {
    let mut texts = vec![
        (String::from(SUMMARY), summary()?),
        (String::from("docs/src/operators.md"), index()),
        (String::from("docs/src/presets.md"), presets()),
        (String::from(stubs::PATH), stubs::text()),
    ];
    for operator in orogen::catalog().operators() {
        texts.push((format!("{PAGES}/{}.md", operator.id), page(operator)?));
    }
    texts.extend(plants::texts(generated)?);
    Ok(texts)
}

/// Pages and pictures of operators and presets that no longer exist.
fn leftovers() -> Result<Vec<PathBuf>> {
    let pages = orogen::catalog()
        .operators()
        .iter()
        .flat_map(|operator| [format!("{}.md", operator.id), format!("{}.png", operator.id)])
        .collect();
    let presets = (orogen::presets::PRESETS.iter())
        .flat_map(|preset| {
            let zooms = preset.closer_m.map(|_| format!("{}-zooms.png", preset.name));
            [Some(format!("{}.png", preset.name)), zooms].into_iter().flatten()
        })
        .collect();
    let species =
        orogen::flora::names().flat_map(|name| [format!("{name}.md"), format!("{name}.png")]).collect();
    let mut found = Vec::new();
    for (folder, known) in [(PAGES, pages), (PRESETS, presets), (plants::FOLDER, species)] {
        let known: BTreeSet<String> = known;
        for entry in fs::read_dir(shell::root().join(folder)).with_context(|| folder.to_owned())? {
            let path = entry?.path();
            if path.file_name().is_none_or(|name| !known.contains(&*name.to_string_lossy())) {
                found.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}

/// The page of the presets.
fn presets() -> String {
    let mut text = format!("# Presets\n\n{}\n\n", generated("`recipes/`"));
    text.push_str(
        "Landscapes to start from. `orogen new --preset alps my.toml` writes one as a commented recipe, `--seed` gives it \
         another seed, and every number in it is yours to change.\n",
    );
    for preset in orogen::presets::PRESETS {
        let (name, about) = (preset.name, preset.about);
        text.push_str(&format!(
            "\n## {name}\n\n`{name}`: {about}.\n\n![The preset {name}](presets/{name}.png)\n"
        ));
        if let Some([x, y]) = preset.closer_m {
            text.push_str(&format!(
                "\n![{name} from near](presets/{name}-zooms.png)\n\n*Around {x}, {y}: samples 40 m, 10 m, 4 m and 1 m apart.*\n"
            ));
        }
    }
    text
}

/// The table of contents: the part by hand, then every operator.
fn summary() -> Result<String> {
    let text = fs::read_to_string(shell::root().join(SUMMARY)).context(SUMMARY)?;
    let (by_hand, _) =
        text.split_once(LIST_HEAD).ok_or_else(|| anyhow!("{SUMMARY}: no line {:?}", LIST_HEAD.trim()))?;
    // Species are listed above the operators.
    let (by_hand, _) = by_hand
        .split_once(SPECIES_HEAD)
        .ok_or_else(|| anyhow!("{SUMMARY}: no line {:?}", SPECIES_HEAD.trim()))?;
    let species = plants::contents()?;
    let mut text =
        format!("{by_hand}{SPECIES_HEAD}\n{species}\n{LIST_HEAD}\n- [All operators](operators.md)\n");
    for operator in orogen::catalog().operators() {
        text.push_str(&format!("  - [{0}](operators/{0}.md)\n", operator.id));
    }
    Ok(text)
}

/// All operators by family, with a line about each.
fn index() -> String {
    let mut text = format!("# All operators\n\n{}\n", generated("the parameter structs of the operators"));
    let mut last = "";
    for operator in orogen::catalog().operators() {
        let family = operator.id.split('.').next().unwrap_or_default();
        if family != last {
            text.push_str(&format!("\n## {family}\n\n| operator | what it does |\n| --- | --- |\n"));
            last = family;
        }
        text.push_str(&format!(
            "| [`{0}`](operators/{0}.md) | {1} |\n",
            operator.id,
            cell(&orogen::summary(operator))
        ));
    }
    text
}

/// The page of an operator.
fn page(operator: &Operator) -> Result<String> {
    let id = operator.id;
    let schema = operator.schema();
    let about = schema["description"].as_str().unwrap_or_default();
    let example = fs::read_to_string(shell::root().join(EXAMPLES).join(format!("{id}.toml")))
        .with_context(|| format!("{EXAMPLES}/{id}.toml: every operator has an example"))?;
    let mut text = format!(
        "# {id}\n\n{}\n\n{about}\n\n![What the example below makes]({id}.png)\n\n## What it touches\n\n{}",
        generated(&source(id)),
        touches(operator)
    );
    text.push_str(&format!("\n## Parameters\n\n{}", parameters(operator, schema)));
    text.push_str(&format!(
        "\n## Example\n\n`{EXAMPLES}/{id}.toml` made the picture above:\n\n```toml\n{example}```\n"
    ));
    Ok(text)
}

fn generated(source: &str) -> String {
    format!("<!-- Generated by `cargo xtask docs` from {source}. Do not edit. -->")
}

/// The file of an operator.
fn source(id: &str) -> String {
    let path = format!("crates/orogen-ops/src/{}", id.replace('.', "/"));
    let file = format!("{path}.rs");
    if shell::root().join(&file).exists() { file } else { format!("{path}/mod.rs") }
}

fn touches(operator: &Operator) -> String {
    let op = operator.default_op();
    let layers = op.layers();
    let list = |names: Vec<String>| {
        if names.is_empty() { String::from("nothing") } else { names.join(", ") }
    };
    let coded = |names: &[LayerName]| {
        list(
            names
                .iter()
                .map(|name| match layer::unit(name) {
                    "" => format!("`{name}`"),
                    unit => format!("`{name}` ({unit})"),
                })
                .collect(),
        )
    };
    let mut rows = vec![("reads", coded(&layers.reads))];
    if !layers.reads_second.is_empty() {
        rows.push(("reads of the second land (`with`)", coded(&layers.reads_second)));
    }
    rows.push(("writes", coded(&layers.writes)));
    if !layers.writes_vectors.is_empty() {
        rows.push((
            "writes vectors",
            list(layers.writes_vectors.iter().map(|name| format!("`{name}`")).collect()),
        ));
    }
    if !op.files().is_empty() {
        rows.push(("reads files", String::from("yes")));
    }
    rows.push(("[reach](../concepts/reach.md)", orogen::reach_text(operator)));
    rows.push(("memory", format!("{} bytes a sample beside its input", orogen::bytes_a_sample(operator))));
    rows.push((
        "a preview of 513 samples differs by",
        format!("at most {} % of the range", percent(operator.preview_rmse)),
    ));
    let mut text = String::from("With its default parameters:\n\n| | |\n| --- | --- |\n");
    for (what, value) in rows {
        text.push_str(&format!("| {what} | {} |\n", cell(&value)));
    }
    text
}

fn percent(share: f64) -> f64 {
    (share * 1e4).round() / 100.0
}

fn parameters(operator: &Operator, schema: &Value) -> String {
    let parameters = orogen::parameters(operator);
    if parameters.is_empty() {
        return String::from("None.\n");
    }
    let mut text = String::from("| name | type | unit | default | range | what it does |\n|");
    text.push_str(&" --- |".repeat(6));
    text.push('\n');
    let mut choices = String::new();
    for p in parameters {
        let property = &schema["properties"][&p.name];
        let words = words(schema, property);
        let kind = if words.is_empty() { p.kind.clone() } else { String::from("one of the words below") };
        let default = match p.default {
            None => String::from("unset"),
            Some(default) => orogen::short_default(&default)
                .map_or_else(|| String::from("as listed below"), |default| format!("`{default}`")),
        };
        // The unit has a column of its own.
        let range = p.range.strip_suffix(&format!(" {}", p.unit)).unwrap_or(&p.range).to_owned();
        let cells = [format!("`{}`", p.name), kind, p.unit.clone(), default, range, p.about];
        text.push_str(&format!("| {} |\n", cells.map(|c| cell(&c)).join(" | ")));
        if !words.is_empty() {
            choices.push_str(&format!("\n`{}` is one of\n\n", p.name));
            for (word, about) in words {
                choices.push_str(&format!("- `{word}`: {about}\n"));
            }
        }
    }
    text += &choices;
    for entry in orogen::entries(operator) {
        text.push_str(&format!("\n### A {}\n\n{}\n\n", entry.name, entry.about));
        text.push_str("| key | type | unit | default | range | what it does |\n|");
        text.push_str(&" --- |".repeat(6));
        text.push('\n');
        for key in entry.keys {
            let default = key.default.map_or(String::from("unset"), |d| format!("`{d}`"));
            let range = key.range.strip_suffix(&format!(" {}", key.unit)).unwrap_or(&key.range).to_owned();
            let cells = [format!("`{}`", key.name), key.kind, key.unit.clone(), default, range, key.about];
            text.push_str(&format!("| {} |\n", cells.map(|c| cell(&c)).join(" | ")));
        }
    }
    for (name, default) in orogen::long_defaults(operator) {
        text.push_str(&format!("\n### `{name}`, if not stated\n\n```text\n{default}```\n"));
    }
    text
}

/// The words a parameter chooses from, each with what it means.
fn words<'a>(schema: &'a Value, property: &'a Value) -> Vec<(String, &'a str)> {
    let definition = property["$ref"]
        .as_str()
        .and_then(|target| schema.pointer(target.strip_prefix('#')?))
        .unwrap_or(property);
    let word = |form: &'a Value| {
        Some((form.get("const")?.to_string(), form["description"].as_str().unwrap_or_default()))
    };
    definition["oneOf"].as_array().into_iter().flatten().filter_map(word).collect()
}

/// Text inside a table: one line, no bars.
fn cell(text: &str) -> String {
    text.replace('\n', " ").replace('|', "\\|")
}

/// The picture of an operator's example: a map if it makes height, or basins, which maps show; else the first layer it makes.
fn picture(operator: &Operator) -> Result<Vec<u8>> {
    let folder = shell::root().join(EXAMPLES);
    let recipe = orogen::read_recipe(&folder.join(format!("{}.toml", operator.id)))?;
    let options = BuildOptions { base: Some(folder), ..BuildOptions::default() };
    let built = orogen::build(&recipe, &options, &Unobserved)?;
    if built.steps.last().is_none_or(|step| step.op != operator.id) {
        bail!("its last step is not {}", operator.id);
    }
    let layers = operator.default_op().layers();
    let writes = layers.writes;
    let kept = layers.writes_instances.first().and_then(|name| built.terrain.instances().get(name));
    let picture = match writes.first() {
        // Where every plant stands.
        _ if kept.is_some() => {
            let plants = kept.context("plants that were kept")?;
            orogen::export::plan(&built.terrain, plants, PLAN_PX)
        }
        // A map from above shows no overhang.
        Some(name) if *name == layer::DISPLACE_X.name() => oblique::render(&built.terrain, &View::default())?,
        Some(name) if *name == layer::SATELLITE.name() => built
            .terrain
            .get(layer::SATELLITE)?
            .map(|class| LandClass::from_id(class).map_or([235, 235, 232], LandClass::color)),
        Some(name) if ["material", "density"].contains(&name.family()) => {
            relief::render(&built.terrain, &style(&built.exports))?
        }
        Some(name) if *name == layer::BASIN.name() => relief::render(&built.terrain, &style(&built.exports))?,
        Some(name) if !writes.contains(&layer::HEIGHT.name()) => match built.terrain.layers().get(name) {
            // From springs to rivers areas grow a million times.
            Some(LayerData::F32(raster)) if *name == layer::FLOW.name() => {
                let powers = raster.map(|m2| math::log10(f64::from(m2.max(1.0))) as f32);
                preview::render(&powers, preview::Palette::of(name), None)
            }
            Some(LayerData::F32(raster)) => preview::render(raster, preview::Palette::of(name), None),
            Some(LayerData::U8(raster)) => preview::render_biomes(raster),
            Some(data) => bail!("there is no picture of a layer of {}", data.kind()),
            None => bail!("it makes no layer {name:?}"),
        },
        _ => relief::render(&built.terrain, &style(&built.exports))?,
    };
    Ok(png8::encode(&picture))
}

/// Width of the pictures of plants from above.
const PLAN_PX: usize = 720;

/// How a recipe wants its picture drawn.
fn style(exports: &orogen::Exports) -> relief::ReliefStyle {
    exports.get::<orogen::export::Relief>().cloned().unwrap_or_default().0
}

/// What a preset makes, as it comes.
fn preset_picture(name: &str, samples: usize) -> Result<Vec<u8>> {
    let recipe = orogen::read_recipe(&shell::root().join(format!("recipes/{name}.toml")))?;
    let mut options = BuildOptions::default();
    options.overrides.samples = Some(samples);
    let built = orogen::build(&recipe, &options, &Unobserved)?;
    Ok(png8::encode(&relief::render(&built.terrain, &style(&built.exports))?))
}

/// Metres between the samples of the pictures from near, and how many samples each has along its side.
const ZOOMS_M: [f64; 4] = [40.0, 10.0, 4.0, 1.0];
const ZOOM_SAMPLES: usize = 220;

/// Windows of a preset around one place, ever closer, side by side.
fn zooms(name: &str, at_m: [f64; 2]) -> Result<Vec<u8>> {
    let recipe = orogen::read_recipe(&shell::root().join(format!("recipes/{name}.toml")))?;
    let (_, exports) = orogen::check(&recipe, &BuildOptions::default())?;
    let session = orogen::session(&recipe, &BuildOptions::default(), None)?;
    let style = relief::ReliefStyle { contours: false, ..style(&exports) };
    let pictures = (ZOOMS_M.into_iter())
        .map(|spacing_m| {
            let window = around(session.checked().frame(), at_m, spacing_m)?;
            let land = orogen::tile(&session, &recipe, window, &[], &Cancel::new())?;
            Ok(relief::render(&land, &style)?)
        })
        .collect::<Result<Vec<_>>>()?;
    Ok(png8::encode(&beside(&pictures, ZOOM_SAMPLES)))
}

/// The recipes of the page about images side by side.
fn three_ways() -> Result<Vec<u8>> {
    let folder = shell::root().join(EXAMPLES).join("satellite");
    let picture = |name: &str| -> Result<Picture> {
        let recipe = orogen::read_recipe(&folder.join(format!("{name}.toml")))?;
        let mut options = BuildOptions { base: Some(folder.clone()), ..BuildOptions::default() };
        options.overrides.samples = Some(WAY_SAMPLES);
        let built = orogen::build(&recipe, &options, &Unobserved)?;
        Ok(relief::render(&built.terrain, &style(&built.exports))?)
    };
    let pictures = ["rules", "image", "coast"].map(picture).into_iter().collect::<Result<Vec<_>>>()?;
    Ok(png8::encode(&beside(&pictures, WAY_SAMPLES)))
}

/// The Alps by altitude, in stripes, by a pattern, by altitude and slope.
fn colorings() -> Result<Vec<u8>> {
    const SAMPLES: usize = 257;
    let recipe = orogen::read_recipe(&shell::root().join("recipes/alps.toml"))?;
    let mut options = BuildOptions::default();
    options.overrides.samples = Some(SAMPLES);
    let built = orogen::build(&recipe, &options, &Unobserved)?;
    let all = [Coloring::Altitude, Coloring::Stripes, Coloring::Pattern, Coloring::AltitudeAndSlope];
    let draw = |coloring| relief::render(&built.terrain, &ReliefStyle { coloring, ..style(&built.exports) });
    let pictures = all.map(draw).into_iter().collect::<Result<Vec<_>, _>>()?;
    Ok(png8::encode(&beside(&pictures, SAMPLES)))
}

/// Three ways to plant one land with three species, from above: on a grid, at random, and by survival.
fn plans() -> Result<Vec<u8>> {
    const WIDE_PX: usize = 400;
    let species = |spread: &str| {
        let one = |name: &str, per_ha: u32| {
            format!(
                "{{ name = \"{name}\", density_per_ha = {per_ha}, {spread} rules = [{{ height_m = [0, 100] }}] }}"
            )
        };
        [one("oak", 45), one("birch", 130), one("hazel", 160)].join(", ")
    };
    let even = species("spread = 0.0,");
    let ways = [
        format!(
            "op = \"cover.scatter\"\nparams = {{ method = \"grid\", cell_m = 5.0, plants = true, species = [{even}] }}"
        ),
        format!(
            "op = \"cover.scatter\"\nparams = {{ method = \"random\", plants = true, species = [{even}] }}"
        ),
        format!(
            "op = \"cover.survival\"\nparams = {{ years_yr = 400.0, first_per_ha = 60.0, species = [{even}] }}"
        ),
    ];
    let draw = |way: &String| -> Result<Picture> {
        let text = format!(
            "seed = \"plans\"\nframe = {{ size_m = 160.0, samples = 33 }}\n\
             [[step]]\nid = \"level\"\nop = \"source.noise\"\nparams = {{ amplitude_m = 0.1, offset_m = 20.0 }}\n\
             [[step]]\nid = \"trees\"\n{way}\n"
        );
        let recipe = orogen::prelude::Recipe::parse("plans", text.as_bytes())?;
        let built = orogen::build(&recipe, &BuildOptions::default(), &Unobserved)?;
        let plants = built.terrain.instances().values().next().context("the land has no plants")?;
        Ok(orogen::export::plan(&built.terrain, plants, WIDE_PX))
    };
    let pictures = ways.iter().map(draw).collect::<Result<Vec<_>>>()?;
    Ok(png8::encode(&beside(&pictures, WIDE_PX)))
}

/// Samples along the side of each of its pictures.
const WAY_SAMPLES: usize = 385;

/// Pictures of so many samples a side, one beside the other.
fn beside(pictures: &[Picture], samples: usize) -> Picture {
    const GAP: usize = 4;
    let side = samples + GAP;
    Raster::from_fn(side * pictures.len() - GAP, samples, |col, row| {
        let picture = &pictures[col / side];
        if col % side < picture.cols() && col % side < samples && row < picture.rows() {
            picture.row(row)[col % side]
        } else {
            [255; 3]
        }
    })
}

/// The window of [`ZOOM_SAMPLES`] samples around a place, moved so that it lies in the world, or all of a smaller world.
fn around(world: &Frame, at_m: [f64; 2], spacing_m: f64) -> Result<Frame> {
    let (extent, side) = (world.extent(), spacing_m * ZOOM_SAMPLES as f64);
    let corner = |axis: usize| (at_m[axis] - side / 2.0).min(extent.max[axis] - side).max(extent.min[axis]);
    let min = [corner(0), corner(1)];
    let max = [0, 1].map(|axis| (min[axis] + side).min(extent.max[axis]));
    Ok(world.resampled(&Rect { min, max }, [spacing_m; 2])?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_stay_in_their_table() {
        assert_eq!(cell("a | b\nc"), "a \\| b c");
    }
}
