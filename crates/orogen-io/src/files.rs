//! The files that a recipe names, for operators.

use std::collections::BTreeMap;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use orogen_core::{Elevation, Features, Files, Georeference, OpError, Raster};

use crate::drawing;
use crate::elevation;
use crate::error::ReadError;
use crate::features;
use crate::image;
use crate::limits::Limits;
use crate::plain_file::{look_at, open, read_bytes};
use crate::sidecar::{MAX_SIDECAR_BYTES, Sidecar};

/// Files decoded once and kept; a recipe rarely names more.
const KEPT: usize = 4;

/// Files on disk, named relative to a folder (a recipe's own) or absolutely.
///
/// The last few decoded files are kept, as long as size and time of change of file and sidecar stay the same. All that are
/// kept and the one that is read fit into the memory of the limits together.
///
/// What is decoded has the fingerprint that was last given for it: a file that changes in between is an error, so that no
/// result is ever kept as that of other content.
#[derive(Debug)]
pub struct FolderFiles {
    base: PathBuf,
    limits: Limits,
    kept: Mutex<BTreeMap<(String, Kind), Kept>>,
    fingerprints: Mutex<BTreeMap<String, [u8; 32]>>,
}

#[derive(Debug)]
struct Kept {
    stamp: Stamp,
    /// Counts up with every use, so that the longest unused one can go.
    used: u64,
    decoded: Decoded,
}

/// As what a file was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    /// One of its bands.
    Elevation(Option<u32>),
    /// One of its bands, as the numbers are.
    Image(u32),
    Features,
    Drawing,
}

#[derive(Clone, Debug)]
enum Decoded {
    Elevation(Arc<Elevation>),
    Features(Arc<Features>),
    Drawing(Arc<Raster<u8>>),
}

impl Decoded {
    fn bytes(&self) -> u64 {
        let bytes = match self {
            Self::Elevation(model) => size_of_val(model.height.as_slice()),
            Self::Features(features) => {
                let Features { points, lines, polygons } = features.as_ref();
                [points, lines, polygons].map(|set| set.size_bytes()).iter().sum()
            }
            Self::Drawing(drawing) => drawing.as_slice().len(),
        };
        bytes as u64
    }
}

/// What changes when a file or its sidecar does.
type Stamp = [Option<(u64, Option<SystemTime>)>; 2];

impl FolderFiles {
    /// Files relative to `base`.
    #[must_use]
    pub fn new(base: impl Into<PathBuf>, limits: Limits) -> Self {
        Self { base: base.into(), limits, kept: Mutex::default(), fingerprints: Mutex::default() }
    }

    /// What is wrong with a file, as far as can be known without reading it.
    #[must_use]
    pub fn problem(&self, name: &str) -> Option<String> {
        look_at(&self.path(name), self.limits.max_bytes_file).err()
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

impl FolderFiles {
    /// The hash of a file and its sidecar as they are now.
    fn hash(&self, name: &str) -> Result<[u8; 32], OpError> {
        let path = self.path(name);
        let fail = |reason: String| OpError::File { path: name.to_owned(), reason };
        let mut hasher = blake3::Hasher::new();
        let (mut file, _) = open(&path, self.limits.max_bytes_file).map_err(fail)?;
        // Piece by piece: a model may be larger than what of it is kept in memory.
        let mut piece = vec![0; 8 << 20];
        loop {
            let count = file.read(&mut piece).map_err(|e| fail(format!("cannot read it: {e}")))?;
            if count == 0 {
                break;
            }
            hasher.update_rayon(&piece[..count]);
        }
        let sidecar = Sidecar::path_of(&path);
        if sidecar.exists() {
            let bytes = read_bytes(&sidecar, MAX_SIDECAR_BYTES).map_err(fail)?;
            // The lengths keep a file and its sidecar from standing for another pair with the same bytes in a row.
            hasher.update(&(bytes.len() as u64).to_le_bytes()).update(&bytes);
        }
        Ok(*hasher.finalize().as_bytes())
    }
}

impl Files for FolderFiles {
    fn fingerprint(&self, name: &str) -> Result<[u8; 32], OpError> {
        let hash = self.hash(name)?;
        let mut given = self.fingerprints.lock().unwrap_or_else(PoisonError::into_inner);
        given.insert(name.to_owned(), hash);
        Ok(hash)
    }

    fn elevation(&self, name: &str) -> Result<Arc<Elevation>, OpError> {
        self.elevation_band(name, None)
    }

    fn elevation_band(&self, name: &str, band: Option<u32>) -> Result<Arc<Elevation>, OpError> {
        let kept = self.decoded(name, Kind::Elevation(band), |path, limits| {
            elevation::read_band(path, band, limits).map(|(read, _)| Decoded::Elevation(Arc::new(read)))
        })?;
        match kept {
            Decoded::Elevation(elevation) => Ok(elevation),
            _ => Err(Self::mixed(name)),
        }
    }

    fn image_band(&self, name: &str, band: u32) -> Result<Arc<Elevation>, OpError> {
        let kept = self.decoded(name, Kind::Image(band), |path, limits| {
            image::read_band(path, band, limits).map(|read| Decoded::Elevation(Arc::new(read)))
        })?;
        match kept {
            Decoded::Elevation(elevation) => Ok(elevation),
            _ => Err(Self::mixed(name)),
        }
    }

    fn georeference(&self, name: &str) -> Result<Option<Georeference>, OpError> {
        elevation::georeference(&self.path(name), &self.limits)
            .map_err(|e| OpError::File { path: name.to_owned(), reason: e.reason })
    }

    fn features(&self, name: &str) -> Result<Arc<Features>, OpError> {
        let kept = self.decoded(name, Kind::Features, |path, limits| {
            features::read(path, limits).map(|read| Decoded::Features(Arc::new(read)))
        })?;
        match kept {
            Decoded::Features(features) => Ok(features),
            _ => Err(Self::mixed(name)),
        }
    }

    fn drawing(&self, name: &str) -> Result<Arc<Raster<u8>>, OpError> {
        let kept = self.decoded(name, Kind::Drawing, |path, limits| {
            drawing::read(path, limits).map(|read| Decoded::Drawing(Arc::new(read)))
        })?;
        match kept {
            Decoded::Drawing(drawing) => Ok(drawing),
            _ => Err(Self::mixed(name)),
        }
    }
}

impl FolderFiles {
    /// Cannot happen: what is kept is kept by kind.
    fn mixed(name: &str) -> OpError {
        OpError::File { path: name.to_owned(), reason: String::from("already read as another kind of file") }
    }

    fn decoded(
        &self,
        name: &str,
        kind: Kind,
        read: impl Fn(&Path, &Limits) -> Result<Decoded, ReadError>,
    ) -> Result<Decoded, OpError> {
        let path = self.path(name);
        let stamp = Self::stamp(&path);
        let key = (name.to_owned(), kind);
        let lock = || self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let next_use =
            |kept: &BTreeMap<(String, Kind), Kept>| kept.values().map(|k| k.used + 1).max().unwrap_or(0);
        {
            let mut kept = lock();
            let used = next_use(&kept);
            if let Some(found) = kept.get_mut(&key).filter(|found| found.stamp == stamp) {
                found.used = used;
                return Ok(found.decoded.clone());
            }
        }
        // Not under the lock: decoding runs on the thread pool, and a thread that waits there may take up another
        // task that asks for a file. At worst two threads decode one file and the results are the same.
        let kept_bytes = lock().values().map(|kept| kept.decoded.bytes()).sum();
        let read_here = match read(&path, &self.limits.beside(kept_bytes)) {
            // What is kept makes room.
            Err(error) if error.too_large && kept_bytes > 0 => {
                lock().clear();
                read(&path, &self.limits)
            }
            read => read,
        };
        let decoded = read_here.map_err(|e| OpError::File {
            path: name.to_owned(),
            reason: if e.path == path { e.reason } else { format!("its sidecar {e}") },
        })?;
        // The same before and after: that is what was read.
        let expected = self.fingerprints.lock().unwrap_or_else(PoisonError::into_inner).get(name).copied();
        if let Some(expected) = expected
            && self.hash(name)? != expected
        {
            let reason = String::from("the file changed during the build; build again");
            return Err(OpError::File { path: name.to_owned(), reason });
        }
        let mut kept = lock();
        let used = next_use(&kept);
        kept.insert(key, Kept { stamp, used, decoded: decoded.clone() });
        if kept.len() > KEPT {
            let oldest = kept.iter().min_by_key(|(_, k)| k.used).map(|(key, _)| key.clone());
            oldest.map(|key| kept.remove(&key));
        }
        Ok(decoded)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_changes_after_its_fingerprint_is_refused() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("a.asc");
        let grid = |height: u32| format!("ncols 2\nnrows 2\ncellsize 1\n1 1 1 {height}\n");
        std::fs::write(&path, grid(1)).unwrap();
        let files = FolderFiles::new(home.path(), Limits::default());
        let first = files.fingerprint("a.asc").unwrap();
        assert_eq!(files.elevation("a.asc").unwrap().height.as_slice()[3], 1.0);
        std::fs::write(&path, grid(22)).unwrap();
        let error = files.elevation("a.asc").unwrap_err().to_string();
        assert!(error.contains("changed during the build"), "{error}");
        // A build that begins now has the new content.
        assert_ne!(files.fingerprint("a.asc").unwrap(), first);
        assert_eq!(files.elevation("a.asc").unwrap().height.as_slice()[3], 22.0);
        // A sidecar that comes to be changes what a picture means.
        std::fs::write(home.path().join("a.asc.json"), "{}").unwrap();
        assert!(files.elevation("a.asc").is_err());
    }

    #[test]
    fn kept_files_make_room_for_the_next() {
        let home = tempfile::tempdir().unwrap();
        let grid =
            |height: u32| format!("ncols 20\nnrows 20\ncellsize 1\n{}", format!("{height} ").repeat(400));
        for name in ["a.asc", "b.asc"] {
            std::fs::write(home.path().join(name), grid(1)).unwrap();
        }
        // A grid takes 1600 bytes, and its text 800 while it is read.
        let kept = |bytes: u64| {
            let files =
                FolderFiles::new(home.path(), Limits { max_bytes_file: 1000, ..Limits::of_memory(bytes, 4) });
            files.elevation("a.asc").unwrap();
            files.elevation("b.asc").unwrap();
            let kept = files.kept.lock().unwrap();
            kept.keys().map(|(name, _)| name.clone()).collect::<Vec<_>>()
        };
        assert_eq!(kept(4200), ["a.asc", "b.asc"]);
        assert_eq!(kept(3000), ["b.asc"]);
        let files =
            FolderFiles::new(home.path(), Limits { max_bytes_file: 1000, ..Limits::of_memory(2000, 4) });
        assert!(files.elevation("a.asc").unwrap_err().to_string().contains("of memory"));
    }
}
