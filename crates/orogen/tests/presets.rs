//! Presets show what their names promise, for every seed.

#![allow(clippy::unwrap_used, reason = "a failing test may stop")]

use orogen::prelude::*;

/// The height of a preset at few samples.
fn height(name: &str, seed: &str) -> Raster<f32> {
    let preset = orogen::presets::preset(name).unwrap();
    let recipe = Recipe::parse(preset.name, preset.with_seed(seed).as_bytes()).unwrap();
    let mut options = BuildOptions::default();
    options.overrides.samples = Some(129);
    let built = orogen::build(&recipe, &options, &Unobserved).unwrap();
    built.terrain.get(layer::HEIGHT).unwrap().clone()
}

/// Samples of each piece of land, by its four neighbours.
fn islands(height: &Raster<f32>) -> Vec<usize> {
    let (cols, rows) = (height.cols(), height.rows());
    let mut seen: Vec<bool> = height.as_slice().iter().map(|h| *h <= 0.0).collect();
    let mut sizes = Vec::new();
    for start in 0..seen.len() {
        let (mut size, mut front) = (0, vec![start]);
        while let Some(cell) = front.pop() {
            if !std::mem::replace(&mut seen[cell], true) {
                size += 1;
                let (col, row) = (cell % cols, cell / cols);
                front.extend((col > 0).then(|| cell - 1));
                front.extend((col + 1 < cols).then(|| cell + 1));
                front.extend((row > 0).then(|| cell - cols));
                front.extend((row + 1 < rows).then(|| cell + cols));
            }
        }
        sizes.push(size);
    }
    sizes
}

/// Of seven seeds two had one island: five vents stood close, and the greatest cone took in its neighbours.
#[test]
fn a_volcanic_chain_has_several_islands_whatever_its_seed() {
    for seed in ["merapi", "1", "2", "3", "4", "5", "6", "hello"] {
        let sizes = islands(&height("volcanic-chain", seed));
        // Of a square kilometre or more, so rocks off the shore do not count.
        let large = sizes.iter().filter(|&&size| size > 10).count();
        assert!(large >= 3, "seed {seed}: {large} islands");
    }
}

/// What a preset's land knows of itself, by name.
fn layers(text: &str, options: &BuildOptions<'_>) -> Vec<String> {
    let recipe = Recipe::parse("preset", text.as_bytes()).unwrap();
    let (checked, _) = orogen::check(&recipe, options).unwrap();
    checked.layers().iter().map(|name| name.as_str().to_owned()).collect()
}

#[test]
fn every_preset_has_climate_materials_and_plants() {
    for preset in orogen::presets::PRESETS {
        let layers = layers(preset.text, &BuildOptions::default());
        let has = |family: &str| layers.iter().any(|name| name.split('.').next() == Some(family));
        for family in ["temperature", "moisture", "biome", "material", "density", "canopy"] {
            assert!(has(family), "{} has no {family}", preset.name);
        }
    }
}

/// An option of an export is set by the name of its kind, whether the recipe lists exports or not.
#[test]
fn exports_are_changed_as_steps_are() {
    use orogen::export::Relief;
    use orogen::io::relief::Coloring;
    use orogen::recipe::Set;
    for name in ["island", "alps"] {
        let preset = orogen::presets::preset(name).unwrap();
        let recipe = Recipe::parse(preset.name, preset.text.as_bytes()).unwrap();
        let set = |text: &str| {
            let mut options = BuildOptions::default();
            options.overrides.set = vec![Set::parse(text).unwrap()];
            orogen::check(&recipe, &options).map(|(_, exports)| exports)
        };
        let plain = orogen::check(&recipe, &BuildOptions::default()).unwrap().1;
        let changed = set("relief.coloring=stripes").unwrap();
        let coloring = |exports: &orogen::Exports| exports.get::<Relief>().unwrap().0.coloring;
        assert_eq!((coloring(&plain), coloring(&changed)), (Coloring::Natural, Coloring::Stripes), "{name}");
        let palette = |exports: &orogen::Exports| exports.get::<Relief>().unwrap().0.palette;
        assert_eq!(palette(&plain), palette(&changed), "{name}: what the recipe says stays");
        let kinds = |exports: &orogen::Exports| exports.get::<orogen::export::Geotiff>().is_some();
        assert_eq!(kinds(&plain), kinds(&changed), "{name}: the other kinds stay");
        let wrong = set("relief.coloring=plaid").unwrap_err().to_string();
        assert!(wrong.contains("coloring"), "{wrong}");
        assert!(set("reliev.coloring=stripes").unwrap_err().to_string().contains("no step"));
    }
}

/// Why plants stand in one place and none in another.
#[test]
fn plants_are_explained() {
    let text = r#"
        seed = "why"
        frame = { size_m = 2000.0, samples = 33 }
        [[step]]
        id = "land"
        op = "source.noise"
        params = { amplitude_m = 20.0, offset_m = 100.0 }
        [[step]]
        id = "trees"
        op = "cover.scatter"
        params = { species = [
          { name = "pine", spread = 0.0, rules = [{ height_m = [0, 500] }] },
          { name = "oak", spread = 0.0, rules = [{ height_m = [700, 900], fade = 10 }] },
        ] }
    "#;
    let why = |text: &str| {
        let recipe = Recipe::parse("why", text.as_bytes()).unwrap();
        orogen::explain(&recipe, &BuildOptions::default(), [1000.0, 1000.0], &Unobserved).unwrap()
    };
    let found = why(text);
    let pine = found.reasons.iter().find(|reason| reason.of == "pine").unwrap();
    assert!(pine.found.ends_with("a hectare"), "{}", pine.found);
    assert!(pine.because.iter().all(|cause| cause.weight.is_none_or(|weight| weight > 0.0)));
    assert!(pine.because.iter().any(|cause| cause.name == "height"));
    assert!(found.reasons.iter().all(|reason| reason.of != "oak"));
    let found = why(&text.replace("[0, 500]", "[600, 700]"));
    let none = found.reasons.iter().find(|reason| reason.of == "plants").unwrap();
    assert_eq!((none.found.as_str(), none.because.len()), ("none", 2));
    assert!(none.because.iter().all(|cause| cause.weight == Some(0.0)), "{none:?}");
}
