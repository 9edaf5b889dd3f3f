//! The manual, followed as a reader would: every command of every page in turn, in one folder a page, and what it shows
//! compared with what happens.
//!
//! - A `console` block has commands (`$ ...`), each with what it prints below it. `...` stands for any text, alone on a line
//!   for any lines, and seconds may differ. A command without output below it has only to succeed, one that shows
//!   `error:` has to fail.
//! - An `sh` block has to succeed.
//! - A `toml` block whose first line is a file name in a comment (`# drawn.toml`) is saved under that name; any other must
//!   be TOML, and one that is a whole recipe must pass `orogen check`.
//!
//! `OROGEN_RENEW_MANUAL=1` writes what happens into the pages; look at the difference before you commit it.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on has failed")]
#![allow(clippy::print_stderr, reason = "a test says what it leaves out")]

mod common;

use std::path::{Path, PathBuf};
use std::process::Command;

use common::{Bench, Run};

/// What is not run: it needs the network, or takes minutes.
const NOT_RUN: &[&str] = &["cargo install", "cargo xtask", "pip install"];

#[test]
fn the_first_tutorial_shows_what_happens() {
    let bench = follow("docs/src/tutorial/first-island.md", 10);
    for file in ["first/relief.png", "high/height.tif", "cliffs/mask.tif", "close/height.png"] {
        assert!(bench.path(file).exists(), "{file} is missing");
    }
    assert!(!bench.path("cliffs/rivers.geojson").exists(), "rivers of the old height must be gone");
    let height = |folder: &str| -> (f64, f64) {
        let text = std::fs::read(bench.path(folder).join("manifest.json")).unwrap();
        let manifest: serde_json::Value = serde_json::from_slice(&text).unwrap();
        let files = manifest["files"].as_array().unwrap();
        let height = files.iter().find(|file| file["name"] == "height.tif").unwrap();
        (height["min"].as_f64().unwrap(), height["max"].as_f64().unwrap())
    };
    assert!(height("close").0 > 0.0, "the window of the tutorial shows land, not sea");
    assert!(height("high").1 > 1.2 * height("first").1, "slower rivers leave higher mountains");
}

#[test]
fn the_sketch_tutorial_shows_what_happens() {
    follow("docs/src/tutorial/sketch.md", 4);
}

#[test]
fn the_readme_shows_what_happens() {
    follow("README.md", 1);
}

#[test]
fn the_page_of_the_survey_tools_shows_what_happens() {
    follow("docs/src/dem.md", 3);
}

#[test]
fn all_other_pages_show_what_happens() {
    let own = ["first-island.md", "sketch.md", "dem.md"];
    let mut pages = Vec::new();
    for folder in ["docs/src", "docs/src/concepts", "docs/src/tutorial"] {
        for entry in std::fs::read_dir(root().join(folder)).unwrap() {
            let name = entry.unwrap().file_name().to_string_lossy().into_owned();
            if name.ends_with(".md") && !own.contains(&name.as_str()) {
                pages.push(format!("{folder}/{name}"));
            }
        }
    }
    pages.sort();
    assert!(pages.len() >= 12, "only these pages were found: {pages:?}");
    for page in pages {
        follow(&page, 0);
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// Follows a page that has at least so many commands; gives the folder it worked in.
fn follow(page: &str, least: usize) -> Bench {
    let path = root().join(page);
    let text = std::fs::read_to_string(&path).unwrap();
    let bench = Bench::new();
    #[cfg(unix)]
    std::os::unix::fs::symlink(root().join("recipes"), bench.path("recipes")).unwrap();
    let (mut faults, mut renewed, mut count) = (Vec::new(), Vec::new(), 0);
    for block in blocks(&text) {
        match block {
            Block::Recipe(content) => faults.extend(recipe(&bench, &content)),
            Block::Call(call) => {
                count += 1;
                if let Some(output) = run(&bench, &call, &mut faults)
                    && !call.shown.is_empty()
                    && !matches(&call.shown, &output)
                {
                    faults.push(format!(
                        "$ {}\n--- shown\n{}\n--- happened\n{}",
                        call.text,
                        call.shown.join("\n"),
                        output.join("\n")
                    ));
                    renewed.push((call.line, call.shown.len(), output));
                }
            }
        }
    }
    assert!(count >= least, "{page} has {count} commands, {least} are expected");
    if std::env::var_os("OROGEN_RENEW_MANUAL").is_some() {
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        for (line, shown, output) in renewed.into_iter().rev() {
            lines.splice(line..line + shown, output);
        }
        std::fs::write(&path, lines.join("\n") + "\n").unwrap();
    } else {
        assert!(faults.is_empty(), "{page} does not show what happens:\n\n{}", faults.join("\n\n"));
    }
    bench
}

/// A part of a page that can be tried.
enum Block {
    Recipe(String),
    Call(Call),
}

/// A command, what is shown below it, and the number of the line where that begins, from 0.
struct Call {
    text: String,
    shown: Vec<String>,
    line: usize,
}

fn blocks(page: &str) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut lines = page.lines().enumerate();
    while let Some((_, line)) = lines.next() {
        let Some(language) = line.strip_prefix("```") else { continue };
        let content: Vec<(usize, &str)> = lines.by_ref().take_while(|(_, line)| *line != "```").collect();
        let all = || content.iter().map(|(_, line)| *line).collect::<Vec<_>>().join("\n") + "\n";
        match language {
            "sh" => blocks.push(Block::Call(Call { text: all(), shown: Vec::new(), line: 0 })),
            "toml" => blocks.push(Block::Recipe(all())),
            "console" => {
                let start = content.first().map_or("", |(_, line)| line);
                assert!(start.starts_with("$ "), "a console block starts with {start:?}, not with a command");
                for (number, line) in &content {
                    match (line.strip_prefix("$ "), blocks.last_mut()) {
                        (Some(text), _) => blocks.push(Block::Call(Call {
                            text: text.to_owned(),
                            shown: Vec::new(),
                            line: number + 1,
                        })),
                        (None, Some(Block::Call(call))) => call.shown.push((*line).to_owned()),
                        (None, _) => (),
                    }
                }
            }
            _ => (),
        }
    }
    blocks
}

/// Saves a file that names itself, and checks what is TOML or a recipe; the fault, if there is one.
fn recipe(bench: &Bench, content: &str) -> Option<String> {
    let first = content.lines().next().unwrap_or_default();
    if let Some(name) =
        first.strip_prefix("# ").filter(|name| name.ends_with(".toml") && !name.contains([' ', '/']))
    {
        bench.write(name, content);
        return None;
    }
    // Dots stand for more of the same.
    let whole = content.replace(", ... }", " }");
    if let Err(fault) = toml::from_str::<toml::Table>(&whole) {
        let listed = format!("list = [\n{whole}\n]");
        return toml::from_str::<toml::Table>(&listed).err().map(|_| format!("no TOML: {fault}\n{content}"));
    }
    if whole.contains("[[step]]") && whole.contains("frame") {
        bench.write("checked.toml", &whole);
        let checked = bench.run(&["check", "checked.toml"]);
        return (checked.code != Some(0)).then(|| format!("{}\n{content}", checked.stderr));
    }
    None
}

/// Runs a command; its output line by line, or `None` for one that is not run.
fn run(bench: &Bench, call: &Call, faults: &mut Vec<String>) -> Option<Vec<String>> {
    if NOT_RUN.iter().any(|start| call.text.starts_with(start)) {
        eprintln!("not run: {}", call.text.trim_end());
        return None;
    }
    // The program is here already; a preview of the land is enough.
    let text = match call.text.strip_prefix("cargo run --release -- ") {
        Some(args) if args.starts_with("build ") => format!("orogen {} --samples 129", args.trim_end()),
        Some(args) => format!("orogen {args}"),
        None => call.text.clone(),
    };
    let binary = Path::new(env!("CARGO_BIN_EXE_orogen"));
    let path =
        format!("{}:{}", binary.parent().unwrap().display(), std::env::var("PATH").unwrap_or_default());
    let output = Command::new("sh")
        .args(["-e", "-c", &format!("exec 2>&1\n{text}")])
        .current_dir(bench.path(""))
        .env("PATH", &path)
        .env("OROGEN_CACHE_DIR", bench.path("cache"))
        // A picture of every land would take longer than the land; what is shown is what a machine without a driver gives.
        .env("OROGEN_NO_VIEW", "1")
        .output()
        .unwrap();
    let run = Run::of(output);
    let fails = call.shown.iter().any(|line| line.starts_with("error:"));
    if fails != (run.code != Some(0)) {
        faults.push(format!("$ {}\nexit code {:?}\n{}", call.text, run.code, run.stdout));
    }
    Some(run.stdout.lines().map(|line| line.trim_end().to_owned()).collect())
}

/// Whether lines are as shown; `...` alone stands for any number of them.
fn matches(shown: &[String], lines: &[String]) -> bool {
    match shown.split_first() {
        None => lines.is_empty(),
        Some((dots, rest)) if dots.trim() == "..." => {
            (0..=lines.len()).any(|skip| matches(rest, &lines[skip..]))
        }
        Some((first, rest)) => {
            lines.split_first().is_some_and(|(line, lines)| line_matches(first, line) && matches(rest, lines))
        }
    }
}

/// Whether a line is as shown; `...` stands for any text, and seconds may differ.
fn line_matches(shown: &str, line: &str) -> bool {
    let (shown, line) = (without_seconds(shown), without_seconds(line));
    let mut parts = shown.split("...");
    let Some(mut rest) = parts.next().and_then(|start| line.strip_prefix(start)) else { return false };
    let mut parts = parts.peekable();
    if parts.peek().is_none() {
        return rest.is_empty();
    }
    while let Some(part) = parts.next() {
        if parts.peek().is_none() {
            return rest.ends_with(part);
        }
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
    }
    true
}

/// The line with every number of seconds (`1.84 s`) replaced by the same word.
fn without_seconds(line: &str) -> String {
    let mut words: Vec<&str> = line.trim_end().split(' ').collect();
    for i in 1..words.len() {
        if matches!(words[i], "s" | "s," | "s;") && words[i - 1].parse::<f64>().is_ok() {
            words[i - 1] = "some";
        }
    }
    words.join(" ")
}

#[test]
fn what_is_shown_is_separated_from_what_is_not() {
    let lines = |text: &str| text.lines().map(str::to_owned).collect::<Vec<_>>();
    let as_shown = |shown: &str, happened: &str| matches(&lines(shown), &lines(happened));
    assert!(as_shown("first: 14 files, 1.84 s", "first: 14 files, 0.2 s"));
    assert!(!as_shown("first: 14 files, 1.84 s", "first: 13 files, 1.84 s"));
    assert!(as_shown("a\n...\nd", "a\nb\nc\nd"));
    assert!(!as_shown("a\n...\nd", "a\nb\nc"));
    assert!(as_shown("height ... to 12 m", "height 3 to 12 m"));
    assert!(!as_shown("height ... to 12 m", "height 3 to 13 m"));
    assert!(!as_shown("a", "a\nb"));
    assert!(!as_shown("a\nb", "a"));
}
