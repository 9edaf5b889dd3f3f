//! The tutorial of the manual, run as a reader would: every `sh` block in turn, in one folder.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on has failed")]

mod common;

use std::path::Path;
use std::process::Command;

use common::{Bench, Run};

#[test]
fn the_first_tutorial_works() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/src/tutorial/first-island.md");
    let text = std::fs::read_to_string(page).unwrap();
    let blocks: Vec<&str> =
        text.split("```sh\n").skip(1).filter_map(|rest| rest.split("```").next()).collect();
    assert!(blocks.len() >= 6, "the tutorial has {} commands", blocks.len());

    let bench = Bench::new();
    let binary = Path::new(env!("CARGO_BIN_EXE_orogen"));
    let path =
        format!("{}:{}", binary.parent().unwrap().display(), std::env::var("PATH").unwrap_or_default());
    for block in blocks {
        let output = Command::new("sh")
            .args(["-e", "-c", block])
            .current_dir(bench.path(""))
            .env("PATH", &path)
            .env("OROGEN_CACHE_DIR", bench.path("cache"))
            .output()
            .unwrap();
        let run = Run::of(output);
        assert_eq!(run.code, Some(0), "{block}\n{}", run.stderr);
    }
    for file in ["first/relief.png", "high/height.tif", "cliffs/mask.tif", "corner/height.png"] {
        assert!(bench.path(file).exists(), "{file} is missing");
    }
    assert!(!bench.path("cliffs/rivers.geojson").exists(), "rivers of the old height must be gone");
}
