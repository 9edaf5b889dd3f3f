//! A golden picture of the whole main job: small, and compared as the eye would.
//!
//! Renew it with `cargo xtask goldens` after a change that was meant, and look at it.

use std::path::{Path, PathBuf};

use orogen::io::{png8, relief};
use orogen::prelude::*;

fn golden(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name)
}

#[test]
fn the_island_looks_as_it_did() {
    let recipe =
        Recipe::parse("island.toml", orogen::presets::preset("island").unwrap().text.as_bytes()).unwrap();
    let mut options = BuildOptions::default();
    options.overrides.samples = Some(257);
    let built = orogen::build(&recipe, &options, &Unobserved).unwrap();
    let picture = relief::render(&built.terrain, &built.exports.relief).unwrap();
    let png = png8::encode(&picture);

    let path = golden("island.png");
    if std::env::var_os("OROGEN_RENEW_GOLDENS").is_some() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, &png).unwrap();
    }
    let expected = std::fs::read(&path).expect("the golden picture is there");
    if !png8::looks_the_same(&expected, &png) {
        let seen = std::env::temp_dir().join("orogen-golden-island.png");
        std::fs::write(&seen, &png).unwrap();
        panic!("the island differs from its golden picture; what came out is {}", seen.display());
    }
}
