//! Everything CI checks, cheapest first.

use std::process::Command;
use std::time::Instant;

use anyhow::{Result, bail};

use crate::shell::{apt, cargo, has, root, run, target};
use crate::{docs, python, walls, wasm, words};

type Part = (&'static str, fn() -> Result<()>);

const PARTS: &[Part] = &[
    ("fmt", || run(&mut cargo(&["fmt", "--all", "--check"]))),
    ("walls", walls::check),
    ("words", words::check),
    ("clippy", || {
        run(&mut cargo(&["clippy", "--workspace", "--all-targets", "--quiet", "--", "-D", "warnings"]))
    }),
    ("rustdoc", rustdoc),
    ("rust", rust),
    ("docs", || docs::run(true)),
    ("book", book),
    ("python", python::test),
    ("wasm", wasm::test),
];

/// Every part in order.
pub fn all() -> Result<()> {
    let start = Instant::now();
    for (name, part) in PARTS {
        println!("\n== {name}");
        part()?;
    }
    println!("\nall parts passed in {:.0} s", start.elapsed().as_secs_f64());
    Ok(())
}

/// One part.
pub fn only(wanted: &str) -> Result<()> {
    match PARTS.iter().find(|(name, _)| *name == wanted) {
        Some((_, part)) => part(),
        None => {
            let names: Vec<&str> = PARTS.iter().map(|(name, _)| *name).collect();
            bail!("no such part {wanted:?}; available: {}", names.join(", "))
        }
    }
}

/// Makes sure that pictures can be made: where no driver for a graphics device is, Mesa's, which works without one.
fn graphics() -> Result<()> {
    let folders = ["/usr/share/vulkan/icd.d", "/etc/vulkan/icd.d"];
    let is_driver =
        |folder: &&str| std::fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_some());
    if cfg!(target_os = "linux") && !folders.iter().any(is_driver) {
        apt(&["--no-install-recommends", "mesa-vulkan-drivers", "libvulkan1"])?;
    }
    Ok(())
}

/// Unit, integration and documentation tests, by nextest where it is present.
fn rust() -> Result<()> {
    graphics()?;
    let data = root().join("../shared/data/dem");
    if !data.is_dir() {
        println!("missing test data: no {}, so nothing is compared with surveyed land", data.display());
    }
    let mut tests: Command = if has("cargo-nextest", &["--version"]) {
        cargo(&[
            "nextest",
            "run",
            "--workspace",
            "--no-fail-fast",
            "--status-level",
            "fail",
            "--hide-progress-bar",
        ])
    } else {
        cargo(&["test", "--workspace", "--quiet", "--no-fail-fast", "--lib", "--bins", "--tests"])
    };
    run(&mut tests)?;
    run(&mut cargo(&["test", "--workspace", "--quiet", "--doc"]))
}

/// The documentation of all crates, private items' links included, without a warning.
fn rustdoc() -> Result<()> {
    run(cargo(&["doc", "--workspace", "--no-deps", "--quiet"]).env("RUSTDOCFLAGS", "-D warnings"))
}

/// Builds the manual, with an mdBook of our own when there is none.
pub fn book() -> Result<()> {
    let own = target().join("tools");
    let mut mdbook = Command::new("mdbook");
    if !has("mdbook", &["--version"]) {
        let program = own.join("bin/mdbook");
        if !program.exists() {
            // Without its server and search index: the pages are all that is checked here.
            run(cargo(&[
                "install",
                "mdbook",
                "--version",
                "0.5.4",
                "--locked",
                "--no-default-features",
                "--debug",
                "--root",
            ])
            .arg(&own))?;
        }
        mdbook = Command::new(program);
    }
    run(mdbook.args(["build", "docs"]))
}
