//! Golden pictures of the whole main job, one for each preset: small, and compared as the eye would.
//!
//! Renew them with `cargo xtask goldens` after a change that was meant, and look at them.

use std::path::{Path, PathBuf};

use orogen::io::{png8, relief};
use orogen::prelude::*;

fn golden(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name)
}

#[test]
fn every_preset_looks_as_it_did() {
    let mut changed = Vec::new();
    for preset in orogen::presets::PRESETS {
        let recipe = Recipe::parse(preset.name, preset.text.as_bytes()).unwrap();
        let mut options = BuildOptions::default();
        options.overrides.samples = Some(257);
        let built = orogen::build(&recipe, &options, &Unobserved).unwrap();
        let style = built.exports.get::<orogen::export::Relief>().cloned().unwrap_or_default().0;
        let png = png8::encode(&relief::render(&built.terrain, &style).unwrap());

        let path = golden(&format!("{}.png", preset.name));
        if std::env::var_os("OROGEN_RENEW_GOLDENS").is_some() {
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(&path, &png).unwrap();
        }
        let same = std::fs::read(&path).is_ok_and(|expected| png8::looks_the_same(&expected, &png));
        if !same {
            let seen = std::env::temp_dir().join(format!("orogen-golden-{}.png", preset.name));
            std::fs::write(&seen, &png).unwrap();
            changed.push(format!("{}: what came out is {}", preset.name, seen.display()));
        }
    }
    assert!(changed.is_empty(), "presets differ from their golden pictures:\n{}", changed.join("\n"));
}
