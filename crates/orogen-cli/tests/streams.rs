//! Standard input and output may be pipes that never end, never send and are never read: no call hangs on one.
#![cfg(unix)]
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stderr,
    reason = "a test that cannot go on has failed"
)]

mod common;

use std::fs::File;
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Child, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use common::{Bench, Run};

/// Longer than anybody waits, and than a busy machine needs.
const PATIENCE: Duration = Duration::from_secs(60);

fn signal(child: &Child, name: &str) {
    let sent = std::process::Command::new("kill").args([name, &child.id().to_string()]).status();
    assert!(sent.unwrap().success());
}

/// Whether commands hear a signal here: those of a background job ignore Ctrl-C, and so does what they start.
fn is_heard(name: &str) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    let heard = name != "-INT" || mask >> 1 & 1 == 0;
    if !heard {
        eprintln!("not tested: SIGINT is ignored here");
    }
    heard
}

/// Waits until the command listens for signals and is stuck in its pipe.
fn settle() {
    std::thread::sleep(Duration::from_millis(1500));
}

#[track_caller]
fn ends(child: &mut Child) -> ExitStatus {
    let begin = Instant::now();
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return status;
        }
        if begin.elapsed() > PATIENCE {
            child.kill().unwrap();
            panic!("still running after {PATIENCE:?}");
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// A command whose standard input stays open and silent.
fn waiting(bench: &Bench) -> Child {
    let mut command = bench.command(&["dem", "slope", "-", "x.tif"]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

#[test]
fn an_endless_stream_that_is_not_a_model_is_refused_by_its_first_bytes() {
    let bench = Bench::new();
    for extra in [&[][..], &["--max-samples", "1e12"]] {
        let mut command = bench.command(&[&["dem", "slope", "-", "x.tif"], extra].concat());
        let zero = File::open("/dev/zero").unwrap();
        let mut child = command.stdin(zero).stderr(Stdio::piped()).spawn().unwrap();
        ends(&mut child);
        let run = Run::of(child.wait_with_output().unwrap());
        run.fails(2, &["standard input: not a valid elevation model", "does not start like a GeoTIFF"]);
    }
    // Nothing but empty lines, for ever.
    let mut lines = std::process::Command::new("yes").arg("").stdout(Stdio::piped()).spawn().unwrap();
    let mut command = bench.command(&["dem", "slope", "-", "x.tif"]);
    let mut child = command.stdin(lines.stdout.take().unwrap()).stderr(Stdio::piped()).spawn().unwrap();
    ends(&mut child);
    lines.kill().unwrap();
    lines.wait().unwrap();
    Run::of(child.wait_with_output().unwrap()).fails(2, &["does not start like a GeoTIFF"]);
    assert!(bench.files().is_empty(), "{:?}", bench.files());
}

#[test]
fn a_model_that_comes_slowly_is_read() {
    use std::io::Write as _;
    let bench = Bench::new();
    let mut child = waiting(&bench);
    let mut stdin = child.stdin.take().unwrap();
    for part in ["\n n", "col", "s 3\nnrows 2\ncellsize 10\n1 2 3\n", "4 5 6\n"] {
        stdin.write_all(part.as_bytes()).unwrap();
        stdin.flush().unwrap();
        std::thread::sleep(Duration::from_millis(30));
    }
    drop(stdin);
    Run::of(child.wait_with_output().unwrap()).succeeds();
    assert_eq!(bench.files(), ["x.tif"]);
}

#[test]
fn a_silent_pipe_as_input_hears_every_signal() {
    for name in ["-INT", "-TERM"].into_iter().filter(|name| is_heard(name)) {
        let bench = Bench::new();
        let mut child = waiting(&bench);
        settle();
        signal(&child, name);
        ends(&mut child);
        Run::of(child.wait_with_output().unwrap()).fails(1, &["cancelled; nothing was written"]);
        assert!(bench.files().is_empty(), "{:?}", bench.files());
    }
}

#[test]
fn a_second_signal_ends_the_program_at_once() {
    if !is_heard("-INT") {
        return;
    }
    let bench = Bench::new();
    let mut child = waiting(&bench);
    settle();
    // Both arrive together: there is no time to tidy up between them.
    ["-STOP", "-INT", "-TERM", "-CONT"].iter().for_each(|name| signal(&child, name));
    let status = ends(&mut child);
    assert!(matches!(status.signal(), Some(2 | 15)), "{status:?}");
}

#[test]
fn a_pipe_that_nobody_reads_hears_signals() {
    let bench = Bench::new();
    let mut grid = String::from("ncols 300\nnrows 300\ncellsize 10\n");
    grid.push_str(&"1 2 3 ".repeat(30_000));
    bench.write("in.asc", grid);
    bench.write("places.csv", "100,100\n".repeat(20_000));
    for args in [&["dem", "slope", "in.asc", "-"][..], &["dem", "sample", "in.asc", "--points", "places.csv"]]
    {
        let mut command = bench.command(args);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        settle();
        assert!(child.try_wait().unwrap().is_none(), "{args:?} had nothing to wait for");
        signal(&child, "-TERM");
        ends(&mut child);
        let run = child.wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&run.stderr);
        assert_eq!(run.status.code(), Some(1), "{said}");
        assert!(said.contains("cancelled; the output on standard output is incomplete"), "{said}");
    }
}
