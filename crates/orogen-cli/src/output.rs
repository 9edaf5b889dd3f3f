//! Writing data to standard output, where a reader may close the pipe.

use std::io::{ErrorKind, Write as _, stdout};

use anyhow::{Context as _, Result};

/// Prints data; a pipe that the reader closed is not an error.
pub fn print(text: &str) -> Result<()> {
    let mut out = stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(e) if e.kind() == ErrorKind::BrokenPipe => Ok(()),
        other => other.context("cannot write to standard output"),
    }
}

/// Copies a file to standard output; a pipe that the reader closed is not an error.
pub fn copy(file: &mut std::fs::File) -> Result<()> {
    let mut out = stdout().lock();
    match std::io::copy(file, &mut out).and_then(|_| out.flush()) {
        Err(e) if e.kind() == ErrorKind::BrokenPipe => Ok(()),
        other => other.context("cannot write to standard output"),
    }
}

/// Prints one JSON document.
pub fn print_json(value: &impl serde::Serialize) -> Result<()> {
    print(&format!("{}\n", serde_json::to_string_pretty(value)?))
}
