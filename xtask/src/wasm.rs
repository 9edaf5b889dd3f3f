//! Orogen in WebAssembly: the module is built, runs in node, and every hash of what it makes is that of this machine.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail, ensure};

use crate::shell::{self, apt, cargo, has, root, run, target};

const TARGET: &str = "wasm32-unknown-unknown";

/// A recipe to build on both machines, with samples along its longer side.
type Job = (String, PathBuf, usize);

/// Builds the module and compares it with this machine, and both with the hashes of the catalogue tests.
pub fn test() -> Result<()> {
    // Without a clock, threads and folders, on any machine.
    run(&mut cargo(&["check", "-p", "orogen", "--no-default-features", "--quiet"]))?;
    let module = module()?;
    let jobs = jobs()?;
    let there = in_node(&module, &jobs)?;
    let here = on_this_machine(&jobs)?;
    compare(&there, &here)?;
    compare_with_golden(&there)?;
    println!("wasm: {} hashes of {} recipes and {} operators agree", here.len(), jobs.len(), operators());
    Ok(())
}

/// Every preset and every example, small; the island as large as the web page shows it; and a recipe that is all brackets.
fn jobs() -> Result<Vec<Job>> {
    const SAMPLES: usize = 97;
    let mut jobs = vec![(String::from("island at 257"), root().join("recipes/island.toml"), 257)];
    for folder in ["recipes", "docs/examples"] {
        for entry in std::fs::read_dir(root().join(folder))? {
            let path = entry?.path();
            if path.extension().is_some_and(|ending| ending == "toml") {
                let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
                jobs.push((name, path, SAMPLES));
            }
        }
    }
    let deep = target().join("deep.toml");
    std::fs::write(&deep, deep_recipe())?;
    jobs.push((String::from(DEEP), deep, SAMPLES));
    jobs.sort();
    Ok(jobs)
}

/// The one recipe that is refused.
const DEEP: &str = "deep";

/// Tables inside each other, as deep as the TOML parser lets them be: reading it must not run out of stack.
fn deep_recipe() -> String {
    let key = vec!["a"; 60].join(".");
    format!("x = {}1{}\n", format!("{{ {key} = ").repeat(60), " }".repeat(60))
}

/// Answers by name, each a line of its own.
type Answers = BTreeMap<String, String>;

fn on_this_machine(jobs: &[Job]) -> Result<Answers> {
    let mut answers = Answers::new();
    for (name, path, samples) in jobs {
        let text = std::fs::read_to_string(path)?;
        let found = orogen_wasm::recipe_hashes(name, &text, *samples);
        note(&mut answers, name, &found.unwrap_or_else(|sentence| format!("error: {sentence}\n")))?;
    }
    for index in 0..orogen_wasm::operators() {
        note(&mut answers, "operators", &orogen_wasm::operator_hash(index).unwrap_or_default())?;
    }
    Ok(answers)
}

fn operators() -> usize {
    orogen_wasm::operators()
}

/// Lines `<name> <hash>`; an error is an answer only for the recipe that must be refused.
fn note(answers: &mut Answers, job: &str, text: &str) -> Result<()> {
    if let Some(sentence) = text.strip_prefix("error: ") {
        ensure!(job == DEEP, "{job}: {}", sentence.trim());
        answers.insert(job.to_owned(), sentence.to_owned());
        return Ok(());
    }
    for line in text.lines() {
        let (name, hash) = line.rsplit_once(' ').with_context(|| format!("{job}: not a hash: {line}"))?;
        answers.insert(name.to_owned(), hash.to_owned());
    }
    Ok(())
}

fn compare(there: &Answers, here: &Answers) -> Result<()> {
    let mut differ: Vec<&str> = Vec::new();
    for name in here.keys().chain(there.keys()) {
        if here.get(name) != there.get(name) && !differ.contains(&name.as_str()) {
            differ.push(name);
        }
    }
    ensure!(
        differ.is_empty(),
        "{} of {} results in WebAssembly are not those of this machine:\n  {}",
        differ.len(),
        here.len(),
        differ.join("\n  ")
    );
    Ok(())
}

/// The hashes of operators are those that the catalogue's tests know.
fn compare_with_golden(there: &Answers) -> Result<()> {
    let golden = std::fs::read_to_string(root().join("crates/orogen/tests/golden/versions.toml"))?;
    let golden: toml::Table = golden.parse()?;
    for (id, known) in &golden {
        let known = known.get("hash").and_then(toml::Value::as_str);
        ensure!(there.get(id).map(String::as_str) == known, "{id} is not what versions.toml knows of it");
    }
    Ok(())
}

/// All answers of the module in node.
fn in_node(module: &Path, jobs: &[Job]) -> Result<Answers> {
    if !has("node", &["--version"]) {
        apt(&["nodejs"])?;
    }
    let mut node = Command::new("node");
    node.arg(root().join("xtask/src/wasm.mjs")).arg(module);
    for (name, path, samples) in jobs {
        node.arg(name).arg(path).arg(samples.to_string());
    }
    println!("$ node xtask/src/wasm.mjs (for {} recipes)", jobs.len());
    let start = std::time::Instant::now();
    let output = node.output().context("cannot start node")?;
    ensure!(output.status.success(), "node failed: {}", String::from_utf8_lossy(&output.stderr));
    println!("  done in {:.1} s", start.elapsed().as_secs_f64());
    let mut answers = Answers::new();
    // Each job's answer ends with a line of its own.
    let mut text = String::new();
    for line in String::from_utf8(output.stdout)?.lines() {
        match line.strip_prefix("== ") {
            Some(job) => {
                note(&mut answers, job, &text)?;
                text.clear();
            }
            None => text.extend([line, "\n"]),
        }
    }
    Ok(answers)
}

/// The module, built by the toolchain in use if it has the target or rustup can add it, else by Debian's.
fn module() -> Result<PathBuf> {
    // Optimised, since it builds 70 landscapes. A recipe is read on the one thread there is, which takes a large stack.
    let build = ["build", "--profile", "wasm", "-p", "orogen-wasm", "--target", TARGET, "--quiet"];
    let flags = "-C link-arg=-zstack-size=67108864 -C target-feature=+simd128";
    let dir = target().join("wasm");
    let mut command = cargo(&build);
    // Asks for nothing where rustup does not manage the compiler.
    if !has_target() && has("rustup", &["--version"]) {
        let _ = run(Command::new("rustup").args(["target", "add", TARGET]));
    }
    if !has_target() {
        if ["rustc", "cargo", "wasm-ld"].iter().any(|tool| !Path::new("/usr/bin").join(tool).exists()) {
            apt(&["--no-install-recommends", "rustc-web", "cargo-web", "rust-web-src", "lld"])?;
        }
        // Its standard library is built along with the module, which the compiler allows on request.
        command = Command::new("/usr/bin/cargo");
        command.args(build).arg("-Zbuild-std=std,panic_abort");
        for name in ["RUSTUP_TOOLCHAIN", "CARGO", "RUSTC_WRAPPER"] {
            command.env_remove(name);
        }
        command
            .env("PATH", "/usr/bin:/bin")
            .env("RUSTC", "/usr/bin/rustc")
            .env("RUSTC_BOOTSTRAP", "1")
            .env("CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER", "/usr/bin/wasm-ld");
    }
    run(command.env("RUSTFLAGS", flags).env("CARGO_TARGET_DIR", &dir))?;
    let module = dir.join(TARGET).join("wasm/orogen_wasm.wasm");
    match module.exists() {
        true => Ok(module),
        false => bail!("the build made no {}", module.display()),
    }
}

/// Whether the compiler in use has a standard library for the target.
fn has_target() -> bool {
    let output =
        shell::rustc(&["--print", "target-libdir", "--target", TARGET]).output().map(|output| output.stdout);
    output.is_ok_and(|path| Path::new(String::from_utf8_lossy(&path).trim()).is_dir())
}
