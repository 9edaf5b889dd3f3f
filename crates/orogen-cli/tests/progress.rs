//! Progress as a terminal shows it, through the `script` of util-linux, which runs a command in a terminal of its own.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
#![allow(clippy::print_stderr, reason = "a test says what it leaves out")]
#![cfg(target_os = "linux")]

mod common;

use common::{Bench, SMALL};

/// What a terminal is sent by a shell command, or `None` where there is no `script`.
fn terminal(bench: &Bench, command: &str) -> Option<String> {
    let mut script = std::process::Command::new("script");
    script.args(["-q", "-e", "-c", command, "/dev/null"]).current_dir(bench.path(""));
    script.env("OROGEN_CACHE_DIR", bench.path("cache")).stdin(std::process::Stdio::null());
    // What it says of the land is enough.
    script.env("OROGEN_NO_VIEW", "1");
    match script.output() {
        Ok(output) => {
            let shown = String::from_utf8(output.stdout).unwrap();
            assert!(output.status.success(), "{shown}");
            Some(shown)
        }
        Err(error) => {
            eprintln!("not tried, as `script` is missing: {error}");
            None
        }
    }
}

/// The texts that are drawn over one another in one row each.
fn drawn(shown: &str) -> Vec<&str> {
    let texts = shown
        .split(['\r', '\n'])
        .flat_map(|text| text.split("\x1b[2K"))
        .flat_map(|text| text.split("\x1b[K"));
    texts.filter(|text| text.contains('%')).collect()
}

#[test]
fn a_resized_terminal_gets_lines_that_fit() {
    let bench = Bench::new();
    let recipe = format!("{SMALL}\n[[step]]\nid = \"rain\"\nop = \"erode.droplets\"\n");
    bench.write("small.toml", recipe);
    let orogen = env!("CARGO_BIN_EXE_orogen");
    let command = format!(
        "stty cols 100 rows 24; (sleep 1; stty -F /dev/tty cols 30) & {orogen} build small.toml --samples 1025"
    );
    let Some(shown) = terminal(&bench, &command) else { return };
    let drawn = drawn(&shown);
    assert!(drawn.iter().any(|text| text.chars().count() > 60), "wide at first: {drawn:?}");
    let narrow = drawn.iter().position(|text| text.chars().count() <= 24).unwrap_or(drawn.len());
    assert!(narrow < drawn.len(), "narrow after the resize: {drawn:?}");
    assert!(drawn[narrow..].iter().all(|text| text.chars().count() <= 24), "{:?}", &drawn[narrow..]);
    // One line a step, the export and the summary: progress itself goes to no new line.
    assert_eq!(shown.matches('\n').count(), 4, "{shown:?}");
}

#[test]
fn a_narrow_terminal_gets_one_line_a_step() {
    let bench = Bench::new();
    bench.write("small.toml", SMALL);
    let orogen = env!("CARGO_BIN_EXE_orogen");
    let Some(shown) =
        terminal(&bench, &format!("stty cols 20 rows 24; {orogen} build small.toml --samples 513"))
    else {
        return;
    };
    assert!(drawn(&shown).iter().all(|text| text.chars().count() <= 16), "{shown:?}");
    assert_eq!(shown.matches('\n').count(), 3, "{shown:?}");
}
