//! A store in a folder.
//!
//! ```text
//! steps/<key>    which layers a result has: a checksum line, then JSON
//! blobs/<hash>   the bytes of a layer, named by their own hash, so that layers a step left alone are stored once
//! tmp/           files being written; they move into place when whole
//! bound          how many bytes the folder may take, as last set
//! ```
//!
//! Several programs may use one folder at once: names say the content, files appear whole, and a file that another program
//! has removed counts as never stored. The files are counted before the first is written, so a build that finds everything
//! here does not pay for the size of the folder; after that nothing is counted again until there is too much.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use orogen_core::Cancel;

use crate::store::{Name, Seen, Shelf, Store, Unread};

/// A file being written for longer than this was left behind by a program that died.
const STALE: Duration = Duration::from_secs(24 * 3600);
/// A file used no longer ago than this need not be marked again.
const FRESH: Duration = Duration::from_secs(10);
/// Nobody has counted yet.
const UNCOUNTED: u64 = u64::MAX;

/// A folder of results, bounded in size: the longest unused go first.
#[derive(Debug)]
pub struct Folder {
    dir: PathBuf,
    max_bytes: u64,
    /// About how many bytes there are: what was found at first and what was written since.
    total_bytes: AtomicU64,
}

impl Folder {
    /// Opens a folder, making it if need be. One that was left larger than `max_bytes` shrinks.
    ///
    /// # Errors
    /// When the folder cannot be made or this machine stores numbers the other way round.
    pub fn open(dir: impl Into<PathBuf>, max_bytes: u64) -> io::Result<Self> {
        if cfg!(target_endian = "big") {
            return Err(io::Error::new(
                io::ErrorKind::Unsupported,
                "the cache needs a little-endian machine",
            ));
        }
        let folder = Self { dir: dir.into(), max_bytes, total_bytes: AtomicU64::new(UNCOUNTED) };
        for part in ["steps", "blobs", "tmp"] {
            fs::create_dir_all(folder.dir.join(part))?;
        }
        for (modified, _, path) in folder.files("tmp") {
            if modified.elapsed().is_ok_and(|age| age > STALE) {
                let _ = fs::remove_file(path);
            }
        }
        let bound = folder.dir.join("bound");
        let last = read_small(&bound).and_then(|text| String::from_utf8(text).ok()?.parse::<u64>().ok());
        if last.is_none_or(|last| last > max_bytes) {
            folder.evict();
        }
        if last != Some(max_bytes) {
            // Only a hint: without it the files are counted next time.
            let _ = discard(&bound);
            let _ = fs::write(&bound, max_bytes.to_string());
        }
        Ok(folder)
    }

    fn path(&self, name: &Name) -> PathBuf {
        let part = match name.shelf {
            Shelf::Steps => "steps",
            Shelf::Blobs => "blobs",
        };
        self.dir.join(part).join(blake3::Hash::from_bytes(name.hash).to_hex().as_str())
    }

    /// Removes what was not used for longest until a tenth of the cache is free, once it is over full.
    fn evict(&self) {
        let mut files: Vec<_> = ["steps", "blobs"].iter().flat_map(|part| self.files(part)).collect();
        let mut total: u64 = files.iter().map(|(_, size, _)| size).sum();
        if total > self.max_bytes {
            files.sort();
            for (_, size, path) in files {
                if total <= self.max_bytes / 10 * 9 {
                    break;
                }
                // Another program may have removed it: the space is free either way.
                if fs::remove_file(&path).is_ok() || !path.exists() {
                    total -= size;
                }
            }
        }
        self.total_bytes.store(total, Ordering::Relaxed);
    }

    /// Files of a part with the time of their last use and their size.
    fn files(&self, part: &str) -> Vec<(SystemTime, u64, PathBuf)> {
        let Ok(entries) = fs::read_dir(self.dir.join(part)) else { return Vec::new() };
        entries
            .filter_map(|entry| {
                let entry = entry.ok()?;
                let meta = entry.metadata().ok().filter(fs::Metadata::is_file)?;
                Some((meta.modified().ok()?, meta.len(), entry.path()))
            })
            .collect()
    }
}

impl Store for Folder {
    fn look(&self, name: &Name) -> Seen {
        let path = self.path(name);
        match fs::symlink_metadata(&path) {
            Ok(meta) if meta.is_file() => {
                // Steps share layers, so a build looks at each of them many times.
                let age = meta.modified().ok().and_then(|at| at.elapsed().ok());
                if age.is_none_or(|age| age > FRESH) {
                    touch(&path);
                }
                Seen::Bytes(meta.len())
            }
            Ok(_) => Seen::Strange,
            Err(_) => Seen::Nothing,
        }
    }

    fn read(&self, name: &Name, into: &mut [u8]) -> Result<(), Unread> {
        let Ok(mut file) = open_plain(&self.path(name)) else { return Err(Unread::Missing) };
        let size = file.metadata().map_or(0, |meta| meta.len());
        if size != into.len() as u64 || file.read_exact(into).is_err() {
            return Err(Unread::Resized);
        }
        Ok(())
    }

    /// Writes a file under another name and moves it into place when it is whole.
    fn put(&self, name: &Name, bytes: &[u8], cancel: &Cancel) -> io::Result<()> {
        if self.total_bytes.load(Ordering::Relaxed) == UNCOUNTED {
            self.evict();
        }
        let path = self.path(name);
        let mut file = tempfile::NamedTempFile::new_in(self.dir.join("tmp"))?;
        for part in bytes.chunks(8 << 20) {
            if cancel.is_cancelled() {
                return Err(io::ErrorKind::Interrupted.into());
            }
            file.write_all(part)?;
        }
        if fs::symlink_metadata(&path).is_ok_and(|meta| meta.is_dir()) {
            // No file can be moved over a folder.
            discard(&path)?;
        }
        file.persist(&path).map_err(|error| error.error)?;
        self.total_bytes.fetch_add(bytes.len() as u64, Ordering::Relaxed);
        Ok(())
    }

    fn discard(&self, name: &Name) {
        let _ = discard(&self.path(name));
    }

    fn tidy(&self) {
        if self.total_bytes.load(Ordering::Relaxed) > self.max_bytes {
            self.evict();
        }
    }

    fn clear(&self) -> io::Result<()> {
        for part in ["steps", "blobs"] {
            for entry in fs::read_dir(self.dir.join(part))? {
                discard(&entry?.path())?;
            }
        }
        Ok(())
    }

    fn used_bytes(&self) -> u64 {
        ["steps", "blobs"].iter().flat_map(|part| self.files(part)).map(|(_, size, _)| size).sum()
    }

    fn max_bytes(&self) -> u64 {
        self.max_bytes
    }

    fn place(&self) -> String {
        format!("in {:?}", self.dir)
    }
}

/// A small file, if it is one.
fn read_small(path: &Path) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    open_plain(path).ok()?.take(100).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

/// Opens a file of ours; a pipe in its place would be waited for without end.
fn open_plain(path: &Path) -> io::Result<File> {
    if !fs::symlink_metadata(path)?.is_file() {
        return Err(io::Error::other("not a regular file"));
    }
    File::open(path)
}

/// Removes whatever has come to be in the place of one of our files.
fn discard(path: &Path) -> io::Result<()> {
    let removed = match fs::symlink_metadata(path) {
        Ok(meta) if meta.is_dir() => fs::remove_dir_all(path),
        Ok(_) => fs::remove_file(path),
        Err(error) => Err(error),
    };
    match removed {
        // Another program may have removed it.
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}

/// Marks a plain file as used just now; a cache that cannot be written still serves.
fn touch(path: &Path) {
    let _ = File::options().write(true).open(path).and_then(|file| file.set_modified(SystemTime::now()));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fill(folder: &Folder, ids: std::ops::Range<u8>) {
        for id in ids {
            let name = Name { shelf: Shelf::Blobs, hash: [id; 32] };
            folder.put(&name, &[id; 1000], &Cancel::new()).unwrap();
        }
    }

    #[test]
    fn files_are_counted_when_the_first_is_written_or_the_bound_falls() {
        let dir = tempfile::tempdir().unwrap();
        fill(&Folder::open(dir.path(), 10_000).unwrap(), 0..8);
        // Opened under the same bound nothing is counted, and nothing is lost.
        let same = Folder::open(dir.path(), 10_000).unwrap();
        assert_eq!(same.total_bytes.load(Ordering::Relaxed), UNCOUNTED);
        fill(&same, 8..12);
        assert_eq!(same.total_bytes.load(Ordering::Relaxed), 12_000);
        same.tidy();
        assert!(same.used_bytes() <= 10_000 && same.used_bytes() > 8000);
        assert!(Folder::open(dir.path(), 5000).unwrap().used_bytes() <= 5000);
        // A bound that cannot be read is none.
        fill(&Folder::open(dir.path(), 10_000).unwrap(), 20..28);
        fs::write(dir.path().join("bound"), "many").unwrap();
        assert_eq!(Folder::open(dir.path(), 6000).unwrap().used_bytes(), 5000);
    }

    #[test]
    fn files_left_by_a_program_that_died_go_after_a_day() {
        let dir = tempfile::tempdir().unwrap();
        let folder = Folder::open(dir.path(), 1 << 20).unwrap();
        let (old, new) = (dir.path().join("tmp/old"), dir.path().join("tmp/new"));
        fs::write(&old, "x").unwrap();
        fs::write(&new, "x").unwrap();
        let file = File::options().write(true).open(&old).unwrap();
        file.set_modified(SystemTime::now() - 2 * STALE).unwrap();
        drop(folder);
        Folder::open(dir.path(), 1 << 20).unwrap();
        assert!(!old.exists() && new.exists());
    }
}
