//! Files from outside: plain ones, of a bounded size. Pipes and devices never end, or wait for somebody.

use std::fs::{File, Metadata};
use std::io::Read;
use std::path::Path;

/// What is known of a regular file without opening it: opening a pipe would wait for its other end.
///
/// # Errors
/// When there is none or it is something else, in a sentence without the path.
pub fn plain_file(path: &Path) -> Result<Metadata, String> {
    let about = std::fs::metadata(path).map_err(cannot)?;
    if about.is_dir() {
        return Err(String::from("is a folder, not a file"));
    }
    if !about.is_file() {
        return Err(String::from("is not a regular file"));
    }
    Ok(about)
}

/// The bytes of a regular file that is neither empty nor larger than allowed.
///
/// # Errors
/// When it is not one, in a sentence without the path.
pub fn read_bytes(path: &Path, max_bytes: u64) -> Result<Vec<u8>, String> {
    let (file, length) = open(path, max_bytes)?;
    let mut bytes = Vec::with_capacity(usize::try_from(length).unwrap_or(0));
    file.take(max_bytes.saturating_add(1)).read_to_end(&mut bytes).map_err(cannot)?;
    if bytes.len() as u64 > max_bytes {
        return Err(too_large(bytes.len() as u64, max_bytes));
    }
    Ok(bytes)
}

/// How long a file is, or why it cannot be read, without opening it.
pub(crate) fn look_at(path: &Path, max_bytes: u64) -> Result<u64, String> {
    match plain_file(path)?.len() {
        0 => Err(String::from("the file is empty")),
        length if length > max_bytes => Err(too_large(length, max_bytes)),
        length => Ok(length),
    }
}

/// Opens a regular file that is neither empty nor larger than allowed, and gives its length.
pub(crate) fn open(path: &Path, max_bytes: u64) -> Result<(File, u64), String> {
    look_at(path, max_bytes)?;
    let file = File::open(path).map_err(cannot)?;
    // Another file may have come to this path since.
    let length = file.metadata().map_err(cannot)?.len();
    if length > max_bytes {
        return Err(too_large(length, max_bytes));
    }
    Ok((file, length))
}

fn cannot(e: std::io::Error) -> String {
    match e.kind() {
        std::io::ErrorKind::NotFound => String::from("no such file"),
        std::io::ErrorKind::PermissionDenied => String::from("permission denied"),
        _ => format!("cannot read it: {e}"),
    }
}

fn too_large(bytes: u64, max_bytes: u64) -> String {
    format!("the file has {bytes} bytes, more than the limit of {max_bytes}")
}
