//! A folder of outputs that appear whole or not at all.

mod commit;
mod hashed;
mod lock;
mod ours;

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Component, Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use orogen_core::Cancel;
use sha2::{Digest as _, Sha256};
use thiserror::Error;

pub use hashed::Hashed;
use lock::Lock;
pub use ours::MANIFEST;
use ours::{FOLDER, Found, NOT_PLAIN, Ours};

use crate::same_file::same_file;
use crate::watched::{Watched, was_cancelled};

/// Why outputs could not be written; the sentence names the path.
#[derive(Debug, Error)]
pub enum FolderError {
    /// The folder or a file could not be made.
    #[error("cannot {doing} {}: {}", .path.display(), why(.source))]
    Io {
        /// What was tried.
        doing: &'static str,
        /// With what.
        path: PathBuf,
        /// Why it failed.
        source: io::Error,
    },
    /// Something else is where the folder should be.
    #[error("cannot write into {}: it is a file, not a folder", .0.display())]
    NotAFolder(PathBuf),
    /// A folder is where an output should be.
    #[error("cannot replace {}: it is a folder, not a file", .0.display())]
    NotAFile(PathBuf),
    /// A pipe or a device is where an output should be.
    #[error("cannot replace {}: it is not a regular file", .0.display())]
    NotPlain(PathBuf),
    /// Files are where outputs should be that no build wrote, or that have changed since.
    #[error("cannot write into {}: {}; nothing was changed", .folder.display(), in_the_way(.files))]
    InTheWay {
        /// The folder.
        folder: PathBuf,
        /// Their names, and what they are.
        files: Vec<(PathBuf, &'static str)>,
    },
    /// An output would replace a file that it is made from.
    #[error("cannot write {}: it is the same file as the input {}", .output.display(), .input.display())]
    ReplacesInput {
        /// The output.
        output: PathBuf,
        /// What is read.
        input: PathBuf,
    },
    /// A name leads out of the folder.
    #[error(
        "{0:?} is not a valid name for an output: it must be a relative path inside the output folder, without \"..\""
    )]
    BadName(String),
    /// Two outputs have one name.
    #[error("two outputs are named {0:?}")]
    Twice(String),
    /// The work was cancelled while an output was written.
    #[error("cancelled")]
    Cancelled,
}

impl FolderError {
    /// Whether the place was chosen badly, rather than the writing having failed.
    #[must_use]
    pub fn is_callers_fault(&self) -> bool {
        !matches!(self, Self::Io { .. } | Self::Twice(_) | Self::Cancelled)
    }
}

/// A list that a message can hold.
fn in_the_way(files: &[(PathBuf, &'static str)]) -> String {
    const MOST: usize = 10;
    let shown: Vec<String> =
        files.iter().take(MOST).map(|(name, what)| format!("{} ({what})", name.display())).collect();
    let more = files.len().saturating_sub(MOST);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let verb = if files.len() == 1 { "is" } else { "are" };
    format!("{}{more} {verb} in the way", shown.join(", "))
}

/// Refuses an output that is one of the files it is made from, by whatever way the paths lead there.
///
/// # Errors
/// When it is.
pub fn refuse_replacing(output: &Path, inputs: &[PathBuf]) -> Result<(), FolderError> {
    match inputs.iter().find(|input| same_file(output, input)) {
        Some(input) => Err(FolderError::ReplacesInput { output: output.to_owned(), input: (*input).clone() }),
        None => Ok(()),
    }
}

/// The reason in plain words, for those that users meet.
fn why(e: &io::Error) -> String {
    match e.kind() {
        io::ErrorKind::PermissionDenied => String::from("permission denied"),
        io::ErrorKind::ReadOnlyFilesystem => String::from("it lies on a read-only file system"),
        io::ErrorKind::StorageFull => String::from("no space is left on the disk"),
        io::ErrorKind::QuotaExceeded => String::from("the disk quota is used up"),
        _ => e.to_string(),
    }
}

/// What the names of our temporary files start with.
const PREFIX: &str = ".orogen-";
/// What the folder beside the lock file ends with.
const FOLDER_SUFFIX: &str = ".part";

/// Collects outputs aside and moves them into a folder together.
///
/// Files are written into a hidden folder inside the target (so that they lie on the same file system) and are on disk
/// before [`OutputFolder::commit`] renames them into place; until then files of earlier runs stay as they are. Dropping
/// it without a commit, also while a cancelled build unwinds, removes every trace, including folders that it made.
///
/// A folder with a manifest ([`OutputFolder::with_manifest`]) replaces and removes only what its manifest says was
/// written there and has not changed since. Its commit can be killed at any moment: as long as [`MANIFEST`] is there, the
/// files that it lists are whole; while they are being exchanged there is none, and a journal in its place says which
/// files are ours, so that the next build finishes the work.
///
/// A run that is killed leaves its hidden folder behind. Each run holds a lock on a file beside its own, so the next
/// run can tell folders that are in use from folders that nobody will come back for, and removes the latter.
#[derive(Debug)]
pub struct OutputFolder {
    target: PathBuf,
    /// Folders that did not exist before, innermost last.
    made: Vec<PathBuf>,
    aside: PathBuf,
    /// Locked as long as this run lives; removed when dropped. `None` only while dropping.
    lock: Option<Lock>,
    outputs: Mutex<Vec<(PathBuf, Written)>>,
    /// What outputs may do to files that are there.
    existing: Existing,
    /// Files that the outputs are made from.
    inputs: Vec<PathBuf>,
    /// Whether files of an earlier run go that this one does not make.
    sweeps: bool,
}

/// What outputs may do to files that are there already.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Existing {
    /// Replace only those that an earlier run wrote and nobody changed since.
    #[default]
    Keep,
    /// Replace every regular file.
    Replace,
}

impl OutputFolder {
    /// Prepares a folder for files whose user named each of them, making it if need be. They replace what is there.
    ///
    /// # Errors
    /// When it is a file or cannot be written to.
    pub fn new(target: impl Into<PathBuf>) -> Result<Self, FolderError> {
        let target = target.into();
        let made = make_folders(&target)?;
        let lock = Lock::new(&target, PREFIX).map_err(|source| io_error("write into", &target, source));
        let prepared = lock.and_then(|lock| {
            remove_abandoned(&target);
            let aside = with_suffix(lock.path(), FOLDER_SUFFIX);
            fs::create_dir(&aside).map_err(|source| io_error("write into", &target, source))?;
            Ok((lock, aside))
        });
        match prepared {
            Ok((lock, aside)) => Ok(Self {
                target,
                made,
                aside,
                lock: Some(lock),
                outputs: Mutex::default(),
                existing: Existing::Replace,
                inputs: Vec::new(),
                sweeps: false,
            }),
            Err(e) => {
                remove_folders(&made);
                Err(e)
            }
        }
    }

    /// Prepares a folder whose outputs are listed in a [`MANIFEST`], the last of them. `expected` are their names, as far
    /// as they are known: what is in their way is found before any work is done.
    ///
    /// # Errors
    /// As [`OutputFolder::new`], and when a file is in the way.
    pub fn with_manifest(
        target: impl Into<PathBuf>,
        existing: Existing,
        inputs: Vec<PathBuf>,
        expected: &[String],
    ) -> Result<Self, FolderError> {
        let target = target.into();
        // Before anything is made: a refused build leaves no trace.
        if target.is_dir() {
            refuse_what_is_in_the_way(&target, &Ours::read(&target), existing, &inputs, expected)?;
        }
        let mut folder = Self::new(target)?;
        (folder.existing, folder.inputs) = (existing, inputs);
        Ok(folder)
    }

    /// Where the outputs will be.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.target
    }

    /// Writes one output aside. Several threads may write at once.
    ///
    /// # Errors
    /// When the name leads out of the folder or was given before, or the file cannot be written.
    pub fn write(&self, name: impl AsRef<Path>, bytes: &[u8]) -> Result<Written, FolderError> {
        self.create(name.as_ref(), |file| {
            file.write_all(bytes)?;
            Ok(Written { sha256: Sha256::digest(bytes).into(), bytes: bytes.len() as u64 })
        })
    }

    /// Writes one output aside by a function that writes large pieces.
    ///
    /// # Errors
    /// As [`OutputFolder::write`], and when `f` fails.
    pub fn write_pieces(
        &self,
        name: impl AsRef<Path>,
        f: impl FnOnce(&mut File) -> io::Result<()>,
    ) -> Result<(), FolderError> {
        // Nobody asks for the hash of a file that no manifest lists.
        self.create(name.as_ref(), |file| f(file).map(|()| Written::default())).map(|_| ())
    }

    /// Writes one output aside piece by piece, for files that are too large to hold or to wait for, and returns its size and
    /// hash.
    ///
    /// # Errors
    /// As [`OutputFolder::write`], when `f` fails, and soon after the work is cancelled.
    pub fn write_with(
        &self,
        name: impl AsRef<Path>,
        cancel: &Cancel,
        f: impl FnOnce(&mut Watched<'_, BufWriter<Hashed<'_, File>>>) -> io::Result<()>,
    ) -> Result<Written, FolderError> {
        self.create(name.as_ref(), |file| {
            let mut out = Watched::new(BufWriter::with_capacity(1 << 20, Hashed::new(&*file)), cancel);
            f(&mut out)?;
            out.flush()?;
            let hashed = out.into_inner().into_inner().map_err(io::IntoInnerError::into_error)?;
            hashed.finish(cancel)
        })
    }

    fn create(
        &self,
        name: &Path,
        f: impl FnOnce(&mut File) -> io::Result<Written>,
    ) -> Result<Written, FolderError> {
        checked_name(name)?;
        let outputs = || self.outputs.lock().unwrap_or_else(PoisonError::into_inner);
        {
            let mut outputs = outputs();
            if outputs.iter().any(|(known, _)| known == name) {
                return Err(FolderError::Twice(name.to_string_lossy().into_owned()));
            }
            outputs.push((name.to_owned(), Written::default()));
        }
        let path = self.aside.join(name);
        let write = || -> io::Result<Written> {
            if let Some(parent) = path.parent() {
                fs::create_dir_all(parent)?;
            }
            let mut file = File::options().read(true).write(true).create_new(true).open(&path)?;
            let written = f(&mut file)?;
            file.sync_all()?;
            Ok(written)
        };
        let written = write().map_err(|source| io_error("write", &self.target.join(name), source))?;
        if let Some((_, entry)) = outputs().iter_mut().find(|(known, _)| known == name) {
            *entry = written;
        }
        Ok(written)
    }

    /// Lets files of an earlier run go, once all outputs are in place, that are unchanged and that this run does not make,
    /// and folders that get empty by it.
    #[must_use]
    pub fn sweeping(mut self) -> Self {
        self.sweeps = true;
        self
    }

    /// The entries of the earlier manifest for files that are as it says and that no output replaces.
    #[must_use]
    pub fn kept_entries(&self) -> Vec<serde_json::Value> {
        let ours = Ours::read(&self.target);
        let mut entries = ours.entries.clone();
        let outputs = self.outputs.lock().unwrap_or_else(PoisonError::into_inner);
        let listed: Vec<String> = ours.entries.keys().cloned().collect();
        let kept = ours.look_at(&self.target, &listed).into_iter().filter(|(name, found)| {
            matches!(found, Found::Ours(_)) && !outputs.iter().any(|(output, _)| output == name)
        });
        let kept: Vec<&str> = kept.filter_map(|(name, _)| name.to_str()).collect();
        kept.into_iter().filter_map(|name| entries.remove(name)).collect()
    }
}

/// Refuses outputs whose place is taken by what they may not replace.
fn refuse_what_is_in_the_way<N: AsRef<Path> + Sync>(
    folder: &Path,
    ours: &Ours,
    existing: Existing,
    inputs: &[PathBuf],
    names: &[N],
) -> Result<(), FolderError> {
    for name in names {
        refuse_replacing(&folder.join(name.as_ref()), inputs)?;
    }
    // Where everything may be replaced, whose it is does not matter.
    let nobodys = Ours::default();
    let found = if existing == Existing::Replace { &nobodys } else { ours }.look_at(folder, names);
    let others = found.iter().filter_map(|(name, found)| match found {
        Found::Other(what) => Some((*name, *what)),
        _ => None,
    });
    let mut files = Vec::new();
    for (name, what) in others {
        match what {
            FOLDER => return Err(FolderError::NotAFile(folder.join(name))),
            NOT_PLAIN => return Err(FolderError::NotPlain(folder.join(name))),
            _ => files.push((name.to_owned(), what)),
        }
    }
    if existing == Existing::Replace || files.is_empty() {
        return Ok(());
    }
    Err(FolderError::InTheWay { folder: folder.to_owned(), files })
}

impl Drop for OutputFolder {
    fn drop(&mut self) {
        // Nothing can be reported from here, and the next run sweeps what stays: it finds the folder by the lock file beside
        // it, which therefore stays as long as the folder does.
        let removed = remove_aside(&self.aside);
        if let Some(lock) = self.lock.take().filter(|_| !removed) {
            lock.keep();
        }
        remove_folders(&self.made);
    }
}

/// What came of an output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Written {
    /// SHA-256 of its bytes.
    pub sha256: [u8; 32],
    /// Its size.
    pub bytes: u64,
}

fn io_error(doing: &'static str, path: &Path, source: io::Error) -> FolderError {
    if was_cancelled(&source) {
        return FolderError::Cancelled;
    }
    FolderError::Io { doing, path: path.to_owned(), source }
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

/// Refuses a name that leads out of the folder or clashes with our own temporary files.
fn checked_name(name: &Path) -> Result<(), FolderError> {
    let plain = name.components().all(|part| matches!(part, Component::Normal(_)));
    let text = name.to_string_lossy();
    // A backslash separates folders on some systems only: refused on all, so that a recipe means the same everywhere.
    let odd = text.is_empty()
        || text.ends_with('/')
        || text.contains(['\\', '\0', ':'])
        || text.starts_with(PREFIX);
    if plain && !odd { Ok(()) } else { Err(FolderError::BadName(text.into_owned())) }
}

/// Makes a folder with all above it and gives those that were not there, outermost first.
fn make_folders(target: &Path) -> Result<Vec<PathBuf>, FolderError> {
    let mut missing = Vec::new();
    for path in target.ancestors().filter(|path| !path.as_os_str().is_empty()) {
        if path.is_dir() {
            break;
        }
        if path.exists() {
            return Err(FolderError::NotAFolder(path.to_owned()));
        }
        missing.push(path.to_owned());
    }
    missing.reverse();
    for (i, path) in missing.iter().enumerate() {
        match fs::create_dir(path) {
            Ok(()) => {}
            // Another run was quicker.
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists && path.is_dir() => {}
            Err(source) => {
                remove_folders(&missing[..i]);
                return Err(io_error("make the folder", path, source));
            }
        }
    }
    Ok(missing)
}

/// Removes folders that are empty, innermost first.
fn remove_folders(made: &[PathBuf]) {
    for path in made.iter().rev() {
        if fs::remove_dir(path).is_err() {
            break;
        }
    }
}

/// Removes what killed runs left: lock files that nobody holds, and the folders beside them.
fn remove_abandoned(target: &Path) {
    let Ok(entries) = fs::read_dir(target) else { return };
    for path in entries.flatten().map(|entry| entry.path()) {
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        if !name.starts_with(PREFIX) || !name.ends_with(".lock") {
            continue;
        }
        let Ok(file) = File::open(&path) else { continue };
        if file.try_lock().is_ok() {
            // The folder first: as long as it is there, so is the file that says whose it is.
            if remove_aside(&with_suffix(&path, FOLDER_SUFFIX)) {
                let _ = fs::remove_file(&path);
            }
        }
    }
}

/// Removes the hidden folder of a run; whether it is gone.
fn remove_aside(path: &Path) -> bool {
    fs::remove_dir_all(path).is_ok() || fs::symlink_metadata(path).is_err()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a folder holds, sorted.
    pub(super) fn listing(path: &Path) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(path)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn outputs_appear_at_commit_and_old_files_stay_until_then() {
        let home = tempfile::tempdir().unwrap();
        let target = home.path().join("a/out");
        fs::create_dir_all(&target).unwrap();
        fs::write(target.join("height.tif"), "old").unwrap();
        let folder = OutputFolder::new(&target).unwrap();
        folder.write("height.tif", b"new").unwrap();
        folder.write("tiles/0/1.png", b"tile").unwrap();
        assert_eq!(fs::read_to_string(target.join("height.tif")).unwrap(), "old");
        assert!(!target.join("tiles").exists());
        let paths = folder.commit().unwrap();
        assert_eq!(paths, [target.join("height.tif"), target.join("tiles/0/1.png")]);
        assert_eq!(fs::read_to_string(target.join("height.tif")).unwrap(), "new");
        assert_eq!(listing(&target), ["height.tif", "tiles"]);
    }

    #[test]
    fn dropping_leaves_no_trace() {
        let home = tempfile::tempdir().unwrap();
        let folder = OutputFolder::new(home.path().join("deep/er/out")).unwrap();
        folder.write("height.tif", b"half a build").unwrap();
        drop(folder);
        assert!(listing(home.path()).is_empty());
    }

    #[test]
    fn a_folder_that_was_there_stays_when_a_build_is_dropped() {
        let home = tempfile::tempdir().unwrap();
        fs::write(home.path().join("notes.txt"), "mine").unwrap();
        drop(OutputFolder::new(home.path()).unwrap());
        assert_eq!(listing(home.path()), ["notes.txt"]);
    }

    /// What a build into a folder with these outputs leaves there.
    pub(super) fn build(
        target: &Path,
        existing: Existing,
        outputs: &[(&str, &str)],
    ) -> Result<(), FolderError> {
        let names: Vec<String> =
            outputs.iter().map(|(name, _)| (*name).to_owned()).chain([MANIFEST.to_owned()]).collect();
        let folder = OutputFolder::with_manifest(target, existing, Vec::new(), &names)?.sweeping();
        let mut files = Vec::new();
        for (name, content) in outputs {
            let written = folder.write(name, content.as_bytes())?;
            files.push(serde_json::json!({ "name": name, "sha256": crate::sidecar::hex(&written.sha256) }));
        }
        let manifest = serde_json::json!({ "orogen": "0", "files": files });
        folder.write(MANIFEST, manifest.to_string().as_bytes())?;
        folder.commit().map(|_| ())
    }

    #[test]
    fn stale_files_go_with_their_folders_and_nothing_else_does() {
        let home = tempfile::tempdir().unwrap();
        let target = home.path().join("out");
        build(&target, Existing::Keep, &[("old.png", "x"), ("tiles/0/1.png", "x"), ("edited.png", "x")])
            .unwrap();
        for name in ["mine.txt", "edited.png", "../outside.txt"] {
            fs::write(target.join(name), "mine").unwrap();
        }
        // A manifest that lists more than was written there: what leads out, and what is another file.
        let mut manifest: serde_json::Value =
            serde_json::from_slice(&fs::read(target.join(MANIFEST)).unwrap()).unwrap();
        let hash = crate::sidecar::hex(&Sha256::digest(b"mine"));
        let absolute = home.path().join("outside.txt").to_string_lossy().into_owned();
        for name in ["../outside.txt", &absolute, "link/a.png", "never.png", "."] {
            let entry = serde_json::json!({ "name": name, "sha256": hash });
            manifest["files"].as_array_mut().unwrap().push(entry);
        }
        manifest["files"].as_array_mut().unwrap().push(serde_json::json!({ "name": "mine.txt" }));
        fs::write(target.join(MANIFEST), manifest.to_string()).unwrap();
        #[cfg(unix)]
        {
            fs::create_dir(home.path().join("elsewhere")).unwrap();
            fs::write(home.path().join("elsewhere/a.png"), "mine").unwrap();
            std::os::unix::fs::symlink(home.path().join("elsewhere"), target.join("link")).unwrap();
        }
        build(&target, Existing::Keep, &[("new.png", "new")]).unwrap();
        let mut left = vec!["edited.png", "link", MANIFEST, "mine.txt", "new.png"];
        left.retain(|name| cfg!(unix) || *name != "link");
        assert_eq!(listing(&target), left);
        assert!(home.path().join("outside.txt").exists());
        assert!(cfg!(not(unix)) || home.path().join("elsewhere/a.png").exists());
    }

    #[test]
    fn a_foreign_manifest_costs_nobody_a_file() {
        let home = tempfile::tempdir().unwrap();
        let foreign = r#"{ "name": "my web app", "files": [{ "name": "app.js" }, { "name": "notes.txt" }] }"#;
        for (name, content) in [(MANIFEST, foreign), ("app.js", "code"), ("notes.txt", "notes")] {
            fs::write(home.path().join(name), content).unwrap();
        }
        let error = build(home.path(), Existing::Keep, &[("height.tif", "new")]).unwrap_err();
        let folder = home.path().display();
        assert_eq!(
            error.to_string(),
            format!(
                "cannot write into {folder}: manifest.json (not written by Orogen) is in the way; nothing was changed"
            )
        );
        assert!(error.is_callers_fault());
        assert_eq!(listing(home.path()), ["app.js", MANIFEST, "notes.txt"]);
        assert_eq!(fs::read_to_string(home.path().join(MANIFEST)).unwrap(), foreign);
        // Asked to replace it, a build replaces it and leaves what it lists alone.
        build(home.path(), Existing::Replace, &[("height.tif", "new")]).unwrap();
        assert_eq!(listing(home.path()), ["app.js", "height.tif", MANIFEST, "notes.txt"]);
    }

    #[test]
    fn only_unchanged_files_of_an_earlier_build_are_replaced() {
        let home = tempfile::tempdir().unwrap();
        let height = home.path().join("height.tif");
        fs::write(&height, "a survey of years").unwrap();
        let error = build(home.path(), Existing::Keep, &[("height.tif", "new")]).unwrap_err();
        assert!(error.to_string().contains("height.tif (not written by Orogen) is in the way"), "{error}");
        assert_eq!(listing(home.path()), ["height.tif"]);
        fs::remove_file(&height).unwrap();
        build(home.path(), Existing::Keep, &[("height.tif", "one")]).unwrap();
        build(home.path(), Existing::Keep, &[("height.tif", "two")]).unwrap();
        assert_eq!(fs::read_to_string(&height).unwrap(), "two");
        fs::write(&height, "two, retouched").unwrap();
        let error = build(home.path(), Existing::Keep, &[("height.tif", "three")]).unwrap_err();
        assert!(error.to_string().contains("height.tif (changed since Orogen wrote it)"), "{error}");
        assert_eq!(fs::read_to_string(&height).unwrap(), "two, retouched");
        build(home.path(), Existing::Replace, &[("height.tif", "three")]).unwrap();
        assert_eq!(fs::read_to_string(&height).unwrap(), "three");
    }

    #[test]
    fn a_file_that_appears_during_a_build_stays() {
        let home = tempfile::tempdir().unwrap();
        let expected = ["a.txt", MANIFEST].map(String::from);
        let folder = OutputFolder::with_manifest(home.path(), Existing::Keep, Vec::new(), &expected).unwrap();
        folder.write("a.txt", b"new").unwrap();
        folder.write(MANIFEST, b"{}").unwrap();
        fs::write(home.path().join("a.txt"), "mine").unwrap();
        assert!(matches!(folder.commit(), Err(FolderError::InTheWay { .. })));
        assert_eq!(listing(home.path()), ["a.txt"]);
        assert_eq!(fs::read_to_string(home.path().join("a.txt")).unwrap(), "mine");
    }

    #[test]
    fn no_output_replaces_an_input_and_no_sweep_removes_one() {
        let home = tempfile::tempdir().unwrap();
        build(home.path(), Existing::Keep, &[("height.tif", "one"), ("old.tif", "two")]).unwrap();
        for existing in [Existing::Keep, Existing::Replace] {
            let inputs = vec![home.path().join("./height.tif")];
            let expected = [String::from("height.tif")];
            let error = OutputFolder::with_manifest(home.path(), existing, inputs, &expected)
                .unwrap_err()
                .to_string();
            assert!(error.contains("it is the same file as the input"), "{error}");
        }
        let inputs = vec![home.path().join("old.tif")];
        let folder =
            OutputFolder::with_manifest(home.path(), Existing::Keep, inputs, &[]).unwrap().sweeping();
        folder.write(MANIFEST, br#"{"orogen":"0","files":[]}"#).unwrap();
        folder.commit().unwrap();
        assert_eq!(listing(home.path()), [MANIFEST, "old.tif"]);
    }

    #[cfg(unix)]
    #[test]
    fn a_pipe_in_the_place_of_an_output_is_named() {
        let home = tempfile::tempdir().unwrap();
        let pipe = home.path().join("height.tif");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let folder = OutputFolder::new(home.path()).unwrap();
        folder.write("height.tif", b"new").unwrap();
        let message = folder.commit().unwrap_err().to_string();
        assert!(message.ends_with("height.tif: it is not a regular file"), "{message}");
    }

    #[test]
    fn a_dropped_build_keeps_stale_files() {
        let home = tempfile::tempdir().unwrap();
        build(home.path(), Existing::Keep, &[("old.png", "x")]).unwrap();
        let next = OutputFolder::with_manifest(home.path(), Existing::Keep, Vec::new(), &[]).unwrap();
        drop(next.sweeping());
        assert_eq!(listing(home.path()), [MANIFEST, "old.png"]);
    }

    #[test]
    fn a_failed_exchange_puts_everything_back() {
        let home = tempfile::tempdir().unwrap();
        build(home.path(), Existing::Keep, &[("a.txt", "old a"), ("b.txt", "old b")]).unwrap();
        let manifest = fs::read(home.path().join(MANIFEST)).unwrap();
        fs::write(home.path().join("tiles"), "in the way").unwrap();
        let outputs = [("a.txt", "new a"), ("new.txt", "new"), ("tiles/c.txt", "new c")];
        assert!(build(home.path(), Existing::Keep, &outputs).is_err());
        assert_eq!(listing(home.path()), ["a.txt", "b.txt", MANIFEST, "tiles"]);
        assert_eq!(fs::read_to_string(home.path().join("a.txt")).unwrap(), "old a");
        assert_eq!(fs::read(home.path().join(MANIFEST)).unwrap(), manifest);
    }

    #[test]
    fn a_failed_commit_puts_everything_back() {
        let home = tempfile::tempdir().unwrap();
        fs::write(home.path().join("a.txt"), "old a").unwrap();
        // A file where the second output needs a folder makes its move fail.
        fs::write(home.path().join("tiles"), "in the way").unwrap();
        let folder = OutputFolder::new(home.path()).unwrap();
        folder.write("a.txt", b"new a").unwrap();
        folder.write("b.txt", b"new b").unwrap();
        folder.write("tiles/c.txt", b"new c").unwrap();
        let message = folder.commit().unwrap_err().to_string();
        assert!(message.contains("tiles"), "{message}");
        assert_eq!(listing(home.path()), ["a.txt", "tiles"]);
        assert_eq!(fs::read_to_string(home.path().join("a.txt")).unwrap(), "old a");
    }

    #[test]
    fn a_folder_in_the_place_of_an_output_is_named() {
        let home = tempfile::tempdir().unwrap();
        fs::create_dir(home.path().join("height.tif")).unwrap();
        let folder = OutputFolder::new(home.path()).unwrap();
        folder.write("height.tif", b"new").unwrap();
        let message = folder.commit().unwrap_err().to_string();
        assert!(
            message.contains("height.tif") && message.ends_with("it is a folder, not a file"),
            "{message}"
        );
    }

    #[test]
    fn a_file_in_the_place_of_the_folder_is_named() {
        let home = tempfile::tempdir().unwrap();
        let file = home.path().join("out");
        fs::write(&file, "a file").unwrap();
        for target in [file.clone(), file.join("deeper")] {
            let message = OutputFolder::new(&target).unwrap_err().to_string();
            assert_eq!(message, format!("cannot write into {}: it is a file, not a folder", file.display()));
        }
    }

    #[test]
    fn no_name_leads_out_of_the_folder() {
        let home = tempfile::tempdir().unwrap();
        let folder = OutputFolder::new(home.path().join("out")).unwrap();
        for bad in
            ["", ".", "..", "../x", "/etc/x", "a/../../x", "a/", "a\\..\\x", "C:x", ".orogen-x", "nul\0"]
        {
            assert!(matches!(folder.write(bad, b""), Err(FolderError::BadName(_))), "{bad:?}");
        }
        folder.write("a", b"").unwrap();
        assert!(matches!(folder.write("a", b""), Err(FolderError::Twice(_))));
    }

    #[test]
    fn what_a_killed_run_left_is_swept_and_a_living_run_is_left_alone() {
        let home = tempfile::tempdir().unwrap();
        let alive = OutputFolder::new(home.path()).unwrap();
        alive.write("height.tif", b"still being made").unwrap();
        fs::write(home.path().join(".orogen-dead.lock"), "").unwrap();
        fs::create_dir(home.path().join(".orogen-dead.lock.part")).unwrap();
        fs::write(home.path().join(".orogen-dead.lock.part/height.tif"), "half").unwrap();
        let next = OutputFolder::new(home.path()).unwrap();
        assert!(!listing(home.path()).iter().any(|name| name.contains("dead")), "{:?}", listing(home.path()));
        drop(next);
        alive.commit().unwrap();
        assert_eq!(listing(home.path()), ["height.tif"]);
    }

    #[test]
    fn a_cancelled_write_stops_and_leaves_nothing() {
        let home = tempfile::tempdir().unwrap();
        let (folder, cancel) = (OutputFolder::new(home.path().join("out")).unwrap(), Cancel::new());
        let written = folder.write_with("a.bin", &cancel, |out| out.write_all(b"abc")).unwrap();
        assert_eq!(written, Written { sha256: Sha256::digest(b"abc").into(), bytes: 3 });
        let stopped = folder.write_with("b.bin", &cancel, |out| {
            out.write_all(b"abc")?;
            cancel.cancel();
            loop {
                out.write_all(&[0; 1 << 16])?;
            }
        });
        assert!(matches!(stopped, Err(FolderError::Cancelled)), "{stopped:?}");
        drop(folder);
        assert_eq!(listing(home.path()), Vec::<String>::new());
    }

    #[cfg(unix)]
    #[test]
    fn a_hidden_folder_that_cannot_be_removed_keeps_its_lock_file_for_the_next_run() {
        use std::os::unix::fs::PermissionsExt as _;
        let home = tempfile::tempdir().unwrap();
        let folder = OutputFolder::new(home.path()).unwrap();
        let aside = folder.aside.clone();
        let stuck = aside.join("stuck");
        fs::create_dir(&stuck).unwrap();
        fs::write(stuck.join("a.txt"), "x").unwrap();
        fs::set_permissions(&stuck, fs::Permissions::from_mode(0o500)).unwrap();
        drop(folder);
        // A user who may remove everything has nothing to test here.
        if aside.exists() {
            let names = listing(home.path());
            assert!(names.iter().any(|name| name.ends_with(".lock")), "{names:?}");
            drop(OutputFolder::new(home.path()).unwrap());
            assert_eq!(listing(home.path()), names, "what cannot be removed yet stays recognisable");
            fs::set_permissions(&stuck, fs::Permissions::from_mode(0o700)).unwrap();
        }
        drop(OutputFolder::new(home.path()).unwrap());
        assert_eq!(listing(home.path()), Vec::<String>::new());
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_full_disk_is_a_sentence() {
        let error = io_error("write", Path::new("out/height.tif"), io::Error::from_raw_os_error(28));
        assert_eq!(error.to_string(), "cannot write out/height.tif: no space is left on the disk");
    }
}
