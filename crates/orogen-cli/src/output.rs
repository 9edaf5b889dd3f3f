//! Writing data to standard output, where a reader may close the pipe, or never read.

use std::fs::File;
use std::io::{self, ErrorKind, Write as _, stdout};

use anyhow::{Context as _, Result};
use orogen::core::Cancel;

use crate::streams::until_cancelled;

/// Prints data; a pipe that the reader closed is not an error.
pub fn print(text: &str) -> Result<()> {
    written(put(text.as_bytes()))
}

/// As [`fn@print`], until the work is cancelled: a pipe that nobody reads would hold the program for ever.
pub fn print_watched(text: String, cancel: &Cancel) -> Result<()> {
    until_cancelled(cancel, move || put(text.as_bytes())).map_or_else(cut_off, written)
}

/// Copies a file to standard output, until the work is cancelled; a pipe that the reader closed is not an error.
pub fn copy(mut file: File, cancel: &Cancel) -> Result<()> {
    let copied = until_cancelled(cancel, move || {
        let mut out = stdout().lock();
        io::copy(&mut file, &mut out).and_then(|_| out.flush())
    });
    copied.map_or_else(cut_off, written)
}

/// Prints one JSON document.
pub fn print_json(value: &impl serde::Serialize) -> Result<()> {
    print(&document(value)?)
}

/// As [`print_json`], until the work is cancelled.
pub fn print_json_watched(value: &impl serde::Serialize, cancel: &Cancel) -> Result<()> {
    print_watched(document(value)?, cancel)
}

fn document(value: &impl serde::Serialize) -> Result<String> {
    Ok(format!("{}\n", serde_json::to_string_pretty(value)?))
}

fn put(bytes: &[u8]) -> io::Result<()> {
    let mut out = stdout().lock();
    out.write_all(bytes).and_then(|()| out.flush())
}

fn written(done: io::Result<()>) -> Result<()> {
    match done {
        Err(e) if e.kind() == ErrorKind::BrokenPipe => Ok(()),
        other => other.context("cannot write to standard output"),
    }
}

fn cut_off() -> Result<()> {
    Err(anyhow::anyhow!("cancelled; the output on standard output is incomplete"))
}
