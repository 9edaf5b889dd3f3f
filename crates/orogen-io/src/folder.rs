//! A folder of outputs that appear whole or not at all.

use std::fs::{self, File};
use std::io::{self, BufWriter, Read, Seek, Write};
use std::path::{Component, Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use sha2::{Digest, Sha256};
use tempfile::NamedTempFile;
use thiserror::Error;

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
    /// A name leads out of the folder.
    #[error(
        "{0:?} is no name for an output: it must be a relative path inside the output folder, without \"..\""
    )]
    BadName(String),
    /// Two outputs have one name.
    #[error("two outputs are named {0:?}")]
    Twice(String),
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
/// A run that is killed leaves its hidden folder behind. Each run holds a lock on a file beside its own, so the next
/// run can tell folders that are in use from folders that nobody will come back for, and removes the latter.
#[derive(Debug)]
pub struct OutputFolder {
    target: PathBuf,
    /// Folders that did not exist before, innermost last.
    made: Vec<PathBuf>,
    aside: PathBuf,
    /// Locked as long as this run lives; removed when dropped. `None` only while dropping.
    lock: Option<NamedTempFile>,
    names: Mutex<Vec<String>>,
    /// Files of an earlier run that go when this one's are in place.
    stale: Vec<String>,
}

impl OutputFolder {
    /// Prepares a folder, making it if need be.
    ///
    /// # Errors
    /// When it is a file or cannot be written to.
    pub fn new(target: impl Into<PathBuf>) -> Result<Self, FolderError> {
        let target = target.into();
        let made = make_folders(&target)?;
        let prepared = lock_file(&target).and_then(|lock| {
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
                names: Mutex::new(Vec::new()),
                stale: Vec::new(),
            }),
            Err(e) => {
                remove_folders(&made);
                Err(e)
            }
        }
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
    pub fn write(&self, name: &str, bytes: &[u8]) -> Result<(), FolderError> {
        self.create(name, |file| file.write_all(bytes))
    }

    /// Writes one output aside by a function that writes large pieces.
    ///
    /// # Errors
    /// As [`OutputFolder::write`], and when `f` fails.
    pub fn write_pieces(
        &self,
        name: &str,
        f: impl FnOnce(&mut File) -> io::Result<()>,
    ) -> Result<(), FolderError> {
        self.create(name, f)
    }

    /// Writes one output aside piece by piece, for files that are too large to hold, and tells what came of it.
    ///
    /// # Errors
    /// As [`OutputFolder::write`], and when `f` fails.
    pub fn write_with(
        &self,
        name: &str,
        f: impl FnOnce(&mut BufWriter<&File>) -> io::Result<()>,
    ) -> Result<Written, FolderError> {
        let mut written = Written::default();
        self.create(name, |file| {
            let mut out = BufWriter::with_capacity(1 << 20, &*file);
            f(&mut out)?;
            out.flush()?;
            drop(out);
            // Formats fill in their tables last, so the bytes are known only now.
            file.rewind()?;
            let (mut hash, mut buffer) = (Sha256::new(), vec![0; 1 << 20]);
            loop {
                let count = file.read(&mut buffer)?;
                if count == 0 {
                    break;
                }
                hash.update(&buffer[..count]);
                written.bytes += count as u64;
            }
            written.sha256 = hash.finalize().into();
            Ok(())
        })?;
        Ok(written)
    }

    fn create(&self, name: &str, f: impl FnOnce(&mut File) -> io::Result<()>) -> Result<(), FolderError> {
        let relative = checked_name(name)?;
        {
            let mut names = self.names.lock().unwrap_or_else(PoisonError::into_inner);
            if names.iter().any(|known| known == name) {
                return Err(FolderError::Twice(name.to_owned()));
            }
            names.push(name.to_owned());
        }
        let path = self.aside.join(relative);
        let write = || -> io::Result<()> {
            if let Some(parent) = path.parent() {
                fs::create_dir_all(parent)?;
            }
            let mut file = File::options().read(true).write(true).create_new(true).open(&path)?;
            f(&mut file)?;
            file.sync_all()
        };
        write().map_err(|source| io_error("write", &self.target.join(relative), source))
    }

    /// Removes these files of an earlier run once all outputs are in place, and folders that get empty by it. Names that lead
    /// out of the folder, also through a link, and whatever is no plain file, are left alone.
    #[must_use]
    pub fn replacing(mut self, stale: Vec<String>) -> Self {
        self.stale = stale;
        self
    }

    fn remove_stale(&self) {
        let Ok(home) = self.target.canonicalize() else { return };
        for name in &self.stale {
            let Ok(relative) = checked_name(name) else { continue };
            let path = home.join(relative);
            // The folder that it lies in, with every link on the way followed.
            let inside =
                path.parent().and_then(|p| p.canonicalize().ok()).is_some_and(|p| path.parent() == Some(&p));
            let plain = fs::symlink_metadata(&path).is_ok_and(|about| about.is_file());
            if !inside || !plain || fs::remove_file(&path).is_err() {
                continue;
            }
            for folder in path.ancestors().skip(1).take_while(|folder| *folder != home) {
                if fs::remove_dir(folder).is_err() {
                    break;
                }
            }
        }
    }

    /// Moves all outputs into place, in the order in which they were written, and gives their paths.
    ///
    /// # Errors
    /// When one cannot be moved; those moved before it are put back as they were.
    pub fn commit(self) -> Result<Vec<PathBuf>, FolderError> {
        let names = std::mem::take(&mut *self.names.lock().unwrap_or_else(PoisonError::into_inner));
        let targets: Vec<PathBuf> = names.iter().map(|name| self.target.join(name)).collect();
        if let Some(folder) = targets.iter().find(|path| path.is_dir()) {
            return Err(FolderError::NotAFile(folder.clone()));
        }
        let mut done = Vec::new();
        for (name, target) in names.iter().zip(&targets) {
            let step =
                Move { new: self.aside.join(name), old: self.aside.join(format!("{name}.old")), target };
            match step.forward() {
                Ok(replaced) => done.push((step, replaced)),
                Err(source) => {
                    done.iter().rev().for_each(|(step, replaced)| step.back(*replaced));
                    return Err(io_error("write", target, source));
                }
            }
        }
        self.remove_stale();
        // The names themselves must be on disk too; where folders cannot be synced there is nothing to do about it.
        if let Ok(folder) = File::open(&self.target) {
            let _ = folder.sync_all();
        }
        Ok(targets)
    }
}

impl Drop for OutputFolder {
    fn drop(&mut self) {
        // Nothing can be reported from here, and the next run sweeps what stays.
        let _ = fs::remove_dir_all(&self.aside);
        self.lock.take();
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

/// One output on its way into place.
struct Move<'a> {
    new: PathBuf,
    old: PathBuf,
    target: &'a Path,
}

impl Move<'_> {
    /// Puts the new file in place; whether there was an old one, which is kept aside.
    fn forward(&self) -> io::Result<bool> {
        if let Some(parent) = self.target.parent() {
            fs::create_dir_all(parent)?;
        }
        let replaced = match fs::hard_link(self.target, &self.old) {
            Ok(()) => true,
            Err(e) if e.kind() == io::ErrorKind::NotFound => false,
            // No hard links here: a copy does as well.
            Err(_) => fs::copy(self.target, &self.old).map(|_| true)?,
        };
        fs::rename(&self.new, self.target)?;
        Ok(replaced)
    }

    fn back(&self, replaced: bool) {
        // An error is being reported already; the old file is more important than a second one.
        let _ = if replaced { fs::rename(&self.old, self.target) } else { fs::remove_file(self.target) };
    }
}

fn io_error(doing: &'static str, path: &Path, source: io::Error) -> FolderError {
    FolderError::Io { doing, path: path.to_owned(), source }
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

/// The name as a path, when it stays inside and does not clash with our own temporary files.
fn checked_name(name: &str) -> Result<&Path, FolderError> {
    let path = Path::new(name);
    let plain = path.components().all(|part| matches!(part, Component::Normal(_)));
    // A backslash separates folders on some systems only: refused on all, so that a recipe means the same everywhere.
    let odd = name.is_empty()
        || name.ends_with('/')
        || name.contains(['\\', '\0', ':'])
        || name.starts_with(PREFIX);
    if plain && !odd { Ok(path) } else { Err(FolderError::BadName(name.to_owned())) }
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

/// A new file in the folder that this run holds a lock on.
fn lock_file(target: &Path) -> Result<NamedTempFile, FolderError> {
    loop {
        let file = tempfile::Builder::new()
            .prefix(PREFIX)
            .suffix(".lock")
            .tempfile_in(target)
            .map_err(|source| io_error("write into", target, source))?;
        match file.as_file().try_lock() {
            // Another run may have taken the file for an abandoned one before it was locked, and removed it.
            Ok(()) if file.path().exists() => return Ok(file),
            Ok(()) | Err(fs::TryLockError::WouldBlock) => {}
            // A file system without locks: runs then never take one another's folders for abandoned ones.
            Err(fs::TryLockError::Error(_)) => return Ok(file),
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
            let _ = fs::remove_dir_all(with_suffix(&path, FOLDER_SUFFIX));
            let _ = fs::remove_file(&path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listing(path: &Path) -> Vec<String> {
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

    #[test]
    fn stale_files_go_with_their_folders_and_nothing_else_does() {
        let home = tempfile::tempdir().unwrap();
        let target = home.path().join("out");
        fs::create_dir_all(target.join("tiles/0")).unwrap();
        for name in ["old.png", "mine.txt", "tiles/0/1.png", "../outside.txt"] {
            fs::write(target.join(name), "x").unwrap();
        }
        #[cfg(unix)]
        {
            fs::create_dir(home.path().join("elsewhere")).unwrap();
            fs::write(home.path().join("elsewhere/a.png"), "x").unwrap();
            std::os::unix::fs::symlink(home.path().join("elsewhere"), target.join("link")).unwrap();
        }
        let folder = OutputFolder::new(&target).unwrap();
        folder.write("new.png", b"new").unwrap();
        let absolute = home.path().join("outside.txt").to_string_lossy().into_owned();
        let names = ["old.png", "tiles/0/1.png", "../outside.txt", &absolute, "link/a.png", "never.png", "."];
        folder.replacing(names.map(String::from).to_vec()).commit().unwrap();
        let left = if cfg!(unix) { vec!["link", "mine.txt", "new.png"] } else { vec!["mine.txt", "new.png"] };
        assert_eq!(listing(&target), left);
        assert!(home.path().join("outside.txt").exists());
        assert!(cfg!(not(unix)) || home.path().join("elsewhere/a.png").exists());
    }

    #[test]
    fn a_dropped_build_keeps_stale_files() {
        let home = tempfile::tempdir().unwrap();
        fs::write(home.path().join("old.png"), "x").unwrap();
        drop(OutputFolder::new(home.path()).unwrap().replacing(vec![String::from("old.png")]));
        assert_eq!(listing(home.path()), ["old.png"]);
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

    #[cfg(target_os = "linux")]
    #[test]
    fn a_full_disk_is_a_sentence() {
        let error = io_error("write", Path::new("out/height.tif"), io::Error::from_raw_os_error(28));
        assert_eq!(error.to_string(), "cannot write out/height.tif: no space is left on the disk");
    }
}
