//! The files that a recipe names, for operators.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use orogen_core::{Elevation, Files, OpError};

use crate::elevation::{self, read_bytes};
use crate::limits::Limits;
use crate::sidecar::{MAX_SIDECAR_BYTES, Sidecar};

/// Files decoded once and kept; a recipe rarely names more.
const KEPT: usize = 4;

/// Files on disk, named relative to a folder (a recipe's own) or absolutely.
///
/// The last few decoded models are kept, as long as size and time of change of file and sidecar stay the same.
#[derive(Debug)]
pub struct FolderFiles {
    base: PathBuf,
    limits: Limits,
    kept: Mutex<BTreeMap<String, Kept>>,
}

#[derive(Debug)]
struct Kept {
    stamp: Stamp,
    /// Counts up with every use, so that the longest unused one can go.
    used: u64,
    elevation: Arc<Elevation>,
}

/// What changes when a file or its sidecar does.
type Stamp = [Option<(u64, Option<SystemTime>)>; 2];

impl FolderFiles {
    /// Files relative to `base`.
    #[must_use]
    pub fn new(base: impl Into<PathBuf>, limits: Limits) -> Self {
        Self { base: base.into(), limits, kept: Mutex::new(BTreeMap::new()) }
    }

    fn path(&self, name: &str) -> PathBuf {
        // Joining an absolute path gives that path.
        self.base.join(name)
    }

    fn stamp(path: &Path) -> Stamp {
        [path, &Sidecar::path_of(path)]
            .map(|path| std::fs::metadata(path).ok().map(|about| (about.len(), about.modified().ok())))
    }
}

impl Files for FolderFiles {
    fn fingerprint(&self, name: &str) -> Result<[u8; 32], OpError> {
        let path = self.path(name);
        let fail = |reason: String| OpError::File { path: name.to_owned(), reason };
        let mut hasher = blake3::Hasher::new();
        let bytes = read_bytes(&path, self.limits.max_bytes_file).map_err(fail)?;
        hasher.update_rayon(&bytes);
        let sidecar = Sidecar::path_of(&path);
        if sidecar.exists() {
            let bytes = read_bytes(&sidecar, MAX_SIDECAR_BYTES).map_err(fail)?;
            // The lengths keep a file and its sidecar from standing for another pair with the same bytes in a row.
            hasher.update(&(bytes.len() as u64).to_le_bytes()).update(&bytes);
        }
        Ok(*hasher.finalize().as_bytes())
    }

    fn elevation(&self, name: &str) -> Result<Arc<Elevation>, OpError> {
        let path = self.path(name);
        let stamp = Self::stamp(&path);
        let lock = || self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let next_use = |kept: &BTreeMap<String, Kept>| kept.values().map(|k| k.used + 1).max().unwrap_or(0);
        {
            let mut kept = lock();
            let used = next_use(&kept);
            if let Some(found) = kept.get_mut(name).filter(|found| found.stamp == stamp) {
                found.used = used;
                return Ok(found.elevation.clone());
            }
        }
        // Not under the lock: decoding runs on the thread pool, and a thread that waits there may take up another
        // task that asks for a file. At worst two threads decode one file and the results are the same.
        let read = elevation::read(&path, &self.limits).map_err(|e| OpError::File {
            path: name.to_owned(),
            reason: if e.path == path { e.reason } else { format!("its sidecar {e}") },
        });
        let elevation = Arc::new(read?);
        let mut kept = lock();
        let used = next_use(&kept);
        kept.insert(name.to_owned(), Kept { stamp, used, elevation: elevation.clone() });
        if kept.len() > KEPT {
            let oldest = kept.iter().min_by_key(|(_, k)| k.used).map(|(name, _)| name.clone());
            oldest.map(|name| kept.remove(&name));
        }
        Ok(elevation)
    }
}
