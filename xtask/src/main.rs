//! Chores of the repository. What CI runs is what you run: `cargo xtask test`.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command line tool talks to its user")]

mod bench;
mod docs;
mod gallery;
mod peers;
mod plants;
mod python;
mod realism;
mod shell;
mod stubs;
mod test;
mod walls;
mod wasm;
mod words;

use anyhow::{Result, bail};

const HELP: &str = "\
cargo xtask test              everything CI checks; installs what it needs
cargo xtask test PART         one part of it: fmt, walls, words, clippy, rustdoc, rust, docs, book, python, wasm
cargo xtask docs [--check]    writes (or checks) the generated pages, pictures and Python stubs
cargo xtask docs NAME..       writes the pages of all operators, and the pictures of these, of presets and of species (`plants`: all)
cargo xtask stubs             writes the Python stubs alone
cargo xtask book              builds the manual into docs/book
cargo xtask bench             benchmarks as multiples of the reference kernel
cargo xtask bench --peers [FIGURE..]
                              our speed beside that of other libraries, for all figures or those with FIGURE in their name
cargo xtask realism [PRESET..] measures the natural presets at 513 and 2049 samples beside real land; without names it
                              writes docs/src/realism.md
cargo xtask gallery [NAME..]  takes the pictures of the gallery of the manual, or these; minutes each (--page: none)
cargo xtask goldens           renews the golden pictures, and the hashes of operators whose VERSION was raised, after an
                              intended change";

/// Renews the golden pictures and the hashes of operators' results.
fn goldens() -> Result<()> {
    let tests = [&["orogen", "--test", "golden"][..], &["orogen", "--test", "catalog", "versions::"]];
    for test in tests.into_iter().chain([&["orogen-cli", "--test", "pictures"][..]]) {
        let mut cargo = shell::cargo(&["test", "-p"]);
        shell::run(cargo.args(test).env("OROGEN_RENEW_GOLDENS", "1"))?;
    }
    Ok(())
}

fn main() -> std::process::ExitCode {
    match chore() {
        Ok(()) => std::process::ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            std::process::ExitCode::FAILURE
        }
    }
}

fn chore() -> Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    std::env::set_current_dir(shell::root())?;
    match args.as_slice() {
        ["test"] => test::all(),
        ["test", part] | ["test", "--only", part] => test::only(part),
        ["docs"] => docs::run(false),
        ["docs", "--check"] => docs::run(true),
        ["docs", ids @ ..] => docs::some(ids),
        ["stubs"] => Ok(std::fs::write(stubs::PATH, stubs::text())?),
        ["book"] => test::book(),
        ["bench"] => bench::run_all(),
        ["bench", "--peers", only @ ..] => peers::compare(only),
        ["realism", only @ ..] => realism::run(only),
        ["gallery", names @ ..] => gallery::run_all(names),
        ["goldens"] => goldens(),
        [] | ["help" | "--help" | "-h"] => {
            println!("{HELP}");
            Ok(())
        }
        _ => bail!("no such command: {}\n\n{HELP}", args.join(" ")),
    }
}
