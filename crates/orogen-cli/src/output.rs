//! Writing data to standard output, where a reader may close the pipe, or never read.

use std::fs::File;
use std::io::{self, ErrorKind, Write as _, stdout};
use std::path::Path;

use anyhow::{Context as _, Result};
use orogen::BuildError;
use orogen::core::Cancel;
use orogen::io::OutputFolder;

use crate::streams::until_cancelled;

/// Prints data; a pipe that the reader closed is not an error.
pub fn print(text: &str) -> Result<()> {
    written(put(text.as_bytes()))
}

/// Prints bytes; a pipe that the reader closed is not an error.
pub fn print_bytes(bytes: &[u8]) -> Result<()> {
    written(put(bytes))
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

/// Refuses to replace a file that nobody said may go; asked before the work as well, which would be for nothing.
pub fn refuse_existing(file: &Path, force: bool) -> Result<(), BuildError> {
    if file != Path::new("-") && file.is_dir() {
        let what = "is a folder, not a file; name the file in it";
        return Err(BuildError::Call(format!("{} {what}", file.display())));
    }
    // Also a link that leads nowhere is somebody's.
    if file != Path::new("-") && file.symlink_metadata().is_ok() && !force {
        let what = "the file already exists; replace it with --force";
        return Err(BuildError::Call(format!("{}: {what}", file.display())));
    }
    Ok(())
}

/// Writes a file aside and renames it, so that a full disk costs nobody what was there.
pub fn write_file(file: &Path, bytes: &[u8], force: bool) -> Result<(), BuildError> {
    let wrong = |what: &str| BuildError::Call(format!("{}: {what}", file.display()));
    let name = file.file_name().ok_or_else(|| wrong("not a file name"))?;
    refuse_existing(file, force)?;
    let parent = file.parent().filter(|parent| !parent.as_os_str().is_empty());
    let folder = OutputFolder::new(parent.unwrap_or(Path::new(".")))?;
    folder.write(name, bytes)?;
    folder.commit()?;
    Ok(())
}

/// The name of a JSON file without its end, by which the files beside it are called.
///
/// # Errors
/// When it is not the name of a JSON file.
pub fn json_stem(file: &Path) -> Result<String, BuildError> {
    let stem = file.file_stem().and_then(|stem| stem.to_str());
    match (stem, file.extension()) {
        (Some(stem), Some(end)) if end == "json" => Ok(stem.to_owned()),
        _ => Err(BuildError::Call(format!("{}: expected the name of a .json file", file.display()))),
    }
}

/// Writes several files into the folder of one of them, all or none.
///
/// # Errors
/// When one is there already and may not be replaced, or cannot be written.
pub fn write_beside(file: &Path, files: &[(String, Vec<u8>)], force: bool) -> Result<(), BuildError> {
    let parent = file.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    for (name, _) in files {
        refuse_existing(&parent.join(name), force)?;
    }
    let folder = OutputFolder::new(parent)?;
    for (name, bytes) in files {
        folder.write(std::ffi::OsStr::new(name), bytes)?;
    }
    folder.commit()?;
    Ok(())
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
