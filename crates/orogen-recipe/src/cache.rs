//! Results of steps on disk, found by what they were made from.
//!
//! ```text
//! steps/<key>    which layers a result has: a checksum line, then JSON
//! blobs/<hash>   the bytes of a layer, named by their own hash, so that layers a step left alone are stored once
//! tmp/           files being written; they move into place when whole
//! ```
//!
//! Numbers are little-endian. Everything read is verified; what does not verify is removed and made anew. Several
//! programs may use one cache at once: names say the content, files appear whole, and a file that another program
//! has removed counts as never stored.

use std::any::Any;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::time::{Duration, SystemTime};

use blake3::Hash;
use orogen_core::instances::Instances;
use orogen_core::{Cancel, Figure, Frame, LayerData, LayerName, Parts, Provenance, Raster, Terrain};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::vectors;

/// Raised when the files change their form.
const FORMAT: u32 = 2;
/// Size of the cache by default.
pub const DEFAULT_MAX_BYTES: u64 = 4 << 30;
/// A file being written for longer than this was left behind by a program that died.
const STALE: Duration = Duration::from_secs(24 * 3600);

/// A folder of results, bounded in size: the longest unused go first.
#[derive(Debug)]
pub struct Cache {
    dir: PathBuf,
    max_bytes: u64,
    /// Blobs of what is in memory now. A weak reference keeps its content from being changed in place, and lets
    /// it go.
    known: Mutex<Vec<(Weak<dyn Any + Send + Sync>, Blob)>>,
    /// About how many bytes there are: what was found at first and what was written since.
    total_bytes: AtomicU64,
}

/// What a step was made from.
pub(crate) type Key = Hash;

/// What was found under a key.
#[derive(Debug)]
pub(crate) enum Found<T> {
    Hit(T),
    Miss,
    /// Removed; the sentence says what was wrong.
    Damaged(String),
}

/// A stored result without its bytes.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Entry {
    /// What it was stored under, so that a file under a wrong name is found out.
    key: String,
    cols: usize,
    rows: usize,
    layers: BTreeMap<String, Blob>,
    vectors: BTreeMap<String, Blob>,
    #[serde(default)]
    instances: BTreeMap<String, Blob>,
    #[serde(default)]
    provenance: Provenance,
    pub warnings: Vec<String>,
    #[serde(default)]
    pub figures: Vec<Figure>,
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Blob {
    kind: Kind,
    bytes: u64,
    #[serde(serialize_with = "as_hex", deserialize_with = "from_hex")]
    hash: Hash,
}

impl Entry {
    fn blobs(&self) -> impl Iterator<Item = &Blob> {
        self.layers.values().chain(self.vectors.values()).chain(self.instances.values())
    }
}

fn as_hex<S: Serializer>(hash: &Hash, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(hash.to_hex().as_str())
}

fn from_hex<'de, D: Deserializer<'de>>(from: D) -> Result<Hash, D::Error> {
    Hash::from_hex(String::deserialize(from)?).map_err(serde::de::Error::custom)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Kind {
    F32,
    U8,
    Vectors,
    Instances,
}

/// Why a blob gave nothing.
enum Unread {
    Missing,
    Damaged(&'static str),
}

impl Cache {
    /// Opens a folder as cache, making it if need be.
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
        let cache =
            Self { dir: dir.into(), max_bytes, known: Mutex::default(), total_bytes: AtomicU64::new(0) };
        for part in ["steps", "blobs", "tmp"] {
            fs::create_dir_all(cache.dir.join(part))?;
        }
        for (modified, _, path) in cache.files("tmp") {
            if modified.elapsed().is_ok_and(|age| age > STALE) {
                let _ = fs::remove_file(path);
            }
        }
        cache.evict();
        Ok(cache)
    }

    /// Where it lies.
    #[must_use]
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Bytes it takes now.
    #[must_use]
    pub fn used_bytes(&self) -> u64 {
        ["steps", "blobs"].iter().flat_map(|part| self.files(part)).map(|(_, size, _)| size).sum()
    }

    /// Removes everything it holds.
    ///
    /// # Errors
    /// When a file cannot be removed.
    pub fn clear(&self) -> io::Result<()> {
        for part in ["steps", "blobs"] {
            for entry in fs::read_dir(self.dir.join(part))? {
                discard(&entry?.path())?;
            }
        }
        Ok(())
    }

    /// The entry of a key, if all its parts seem to be there. Marks them as used.
    pub(crate) fn peek(&self, key: &Key) -> Found<Entry> {
        let path = self.step_path(key);
        let bytes = match read_bounded(&path) {
            Ok(bytes) => bytes,
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Found::Miss,
            // A folder, say, where the list of layers should be.
            Err(_) => return self.damaged(key, None, "its list of layers cannot be read"),
        };
        let Some(entry) = parse_entry(&bytes) else {
            return self.damaged(key, None, "the checksum of its list of layers does not match");
        };
        if entry.key != key.to_hex().as_str() {
            return self.damaged(key, None, "it belongs to another step");
        }
        touch(&path);
        for blob in entry.blobs() {
            let path = self.blob_path(blob);
            match fs::symlink_metadata(&path) {
                Ok(meta) if meta.is_file() && meta.len() == blob.bytes => touch(&path),
                Ok(meta) => {
                    let reason = if meta.is_file() {
                        format!("a layer has {} bytes instead of {}", meta.len(), blob.bytes)
                    } else {
                        String::from("a layer is not a regular file")
                    };
                    return self.damaged(key, Some(&entry), &reason);
                }
                Err(_) => return Found::Miss,
            }
        }
        Found::Hit(entry)
    }

    /// The entry of a key that is not needed itself, as what follows from it is cached: marked as used all the
    /// same, since a change of the recipe may need it next.
    pub(crate) fn glance(&self, key: &Key) -> Option<Entry> {
        let path = self.step_path(key);
        let entry = parse_entry(&read_bounded(&path).ok()?)?;
        if entry.key != key.to_hex().as_str() {
            return None;
        }
        touch(&path);
        entry.blobs().for_each(|blob| touch(&self.blob_path(blob)));
        Some(entry)
    }

    /// The terrain of an entry, verified.
    pub(crate) fn load(&self, key: &Key, entry: &Entry, frame: &Frame) -> Found<Terrain> {
        match self.read(entry, frame) {
            Ok(terrain) => Found::Hit(terrain),
            Err(Unread::Missing) => Found::Miss,
            Err(Unread::Damaged(reason)) => self.damaged(key, Some(entry), reason),
        }
    }

    fn read(&self, entry: &Entry, frame: &Frame) -> Result<Terrain, Unread> {
        let wrong = Unread::Damaged;
        let (cols, rows) = (frame.cols(), frame.rows());
        if (entry.cols, entry.rows) != (cols, rows) {
            return Err(wrong("its layers do not match the frame"));
        }
        let mut layers = BTreeMap::new();
        for (name, blob) in &entry.layers {
            let name = LayerName::parse(name).ok_or_else(|| wrong("a layer has an invalid name"))?;
            let data = match blob.kind {
                Kind::F32 => {
                    let mut values = vec![0f32; frame.len()];
                    self.read_blob(blob, bytemuck::cast_slice_mut(&mut values))?;
                    Raster::from_vec(cols, rows, values).map(|r| LayerData::F32(Arc::new(r)))
                }
                Kind::U8 => {
                    let mut values = vec![0u8; frame.len()];
                    self.read_blob(blob, &mut values)?;
                    Raster::from_vec(cols, rows, values).map(|r| LayerData::U8(Arc::new(r)))
                }
                Kind::Vectors | Kind::Instances => None,
            };
            let data = data.ok_or_else(|| wrong("a layer does not match the frame"))?;
            let (address, weak) = handle(&data);
            self.remember(address, weak, *blob);
            layers.insert(name, data);
        }
        let mut all_vectors = BTreeMap::new();
        for (name, blob) in &entry.vectors {
            let size = usize::try_from(blob.bytes).map_err(|_| wrong("a layer is too large"))?;
            let mut bytes = vec![0; size];
            self.read_blob(blob, &mut bytes)?;
            let layer = vectors::decode(&bytes).ok_or_else(|| wrong("its vectors cannot be read"))?;
            let name = LayerName::parse(name).ok_or_else(|| wrong("it has vectors without a proper name"))?;
            let layer = Arc::new(layer);
            self.remember(Arc::as_ptr(&layer).cast(), weak(&layer), *blob);
            all_vectors.insert(name, layer);
        }
        let mut instances = BTreeMap::new();
        for (name, blob) in &entry.instances {
            let size = usize::try_from(blob.bytes).map_err(|_| wrong("its instances are too large"))?;
            let mut bytes = vec![0; size];
            self.read_blob(blob, &mut bytes)?;
            let name =
                LayerName::parse(name).ok_or_else(|| wrong("it has instances without a proper name"))?;
            let all = Instances::from_bytes(&bytes).map_err(|_| wrong("its instances cannot be read"))?;
            instances.insert(name, Arc::new(all));
        }
        let provenance = entry.provenance.clone();
        let parts = Parts { layers, vectors: all_vectors, instances, provenance };
        Terrain::from_parts(*frame, parts).ok_or_else(|| wrong("a layer does not match the frame"))
    }

    fn read_blob(&self, blob: &Blob, into: &mut [u8]) -> Result<(), Unread> {
        let Ok(mut file) = open_plain(&self.blob_path(blob)) else { return Err(Unread::Missing) };
        if file.metadata().map_or(0, |meta| meta.len()) != into.len() as u64 || file.read_exact(into).is_err()
        {
            return Err(Unread::Damaged("a layer has the wrong size"));
        }
        if hash_of(into) != blob.hash {
            return Err(Unread::Damaged("the checksum of a layer does not match"));
        }
        Ok(())
    }

    /// Removes an entry and its blobs: which of them are sound is not worth finding out.
    fn damaged<T>(&self, key: &Key, entry: Option<&Entry>, reason: &str) -> Found<T> {
        let _ = discard(&self.step_path(key));
        for blob in entry.into_iter().flat_map(Entry::blobs) {
            let _ = discard(&self.blob_path(blob));
        }
        let name = &key.to_hex()[..12];
        Found::Damaged(format!("cache entry {name} is damaged ({reason}); recomputing it"))
    }

    /// Stores a result, unless it is larger than a quarter of the cache.
    ///
    /// # Errors
    /// When a file cannot be written; the cache is as before then, or holds parts that nothing refers to.
    pub(crate) fn store(
        &self,
        key: &Key,
        terrain: &Terrain,
        warnings: &[String],
        figures: &[Figure],
        cancel: &Cancel,
    ) -> io::Result<()> {
        let layers = terrain.layers().values().map(|data| data.bytes().len());
        let vectors = terrain.vectors().values().map(|layer| size_of_val(layer.vertices()));
        let instances = terrain.instances().values().map(|all| all.size_bytes());
        let size = layers.chain(vectors).chain(instances).sum::<usize>() as u64;
        if size > self.max_bytes / 4 {
            return Ok(());
        }
        let mut entry = Entry {
            key: key.to_hex().to_string(),
            cols: terrain.frame().cols(),
            rows: terrain.frame().rows(),
            layers: BTreeMap::new(),
            vectors: BTreeMap::new(),
            instances: BTreeMap::new(),
            provenance: terrain.provenance().clone(),
            warnings: warnings.to_vec(),
            figures: figures.to_vec(),
        };
        for (name, data) in terrain.layers() {
            let kind = match data {
                LayerData::F32(_) => Kind::F32,
                LayerData::U8(_) => Kind::U8,
            };
            let (address, weak) = handle(data);
            let hash = self.known(address).map_or_else(|| hash_of(data.bytes()), |blob| blob.hash);
            let blob = self.store_blob(kind, data.bytes(), hash, cancel)?;
            self.remember(address, weak, blob);
            entry.layers.insert(name.as_str().to_owned(), blob);
        }
        for (name, layer) in terrain.vectors() {
            let blob = self.store_encoded(Kind::Vectors, layer, vectors::encode, cancel)?;
            entry.vectors.insert(name.as_str().to_owned(), blob);
        }
        for (name, all) in terrain.instances() {
            let blob = self.store_encoded(Kind::Instances, all, Instances::to_bytes, cancel)?;
            entry.instances.insert(name.as_str().to_owned(), blob);
        }
        let json = serde_json::to_vec(&entry).map_err(io::Error::other)?;
        let mut bytes = blake3::hash(&json).to_hex().to_string().into_bytes();
        bytes.push(b'\n');
        bytes.extend(json);
        self.write_aside(&self.step_path(key), &bytes, cancel)?;
        if self.total_bytes.load(Ordering::Relaxed) > self.max_bytes {
            self.evict();
        }
        Ok(())
    }

    /// Stores what is not bytes in memory; what is stored already is not encoded again.
    fn store_encoded<T: Send + Sync + 'static>(
        &self,
        kind: Kind,
        shared: &Arc<T>,
        encode: impl FnOnce(&T) -> Vec<u8>,
        cancel: &Cancel,
    ) -> io::Result<Blob> {
        let address = Arc::as_ptr(shared).cast();
        if let Some(blob) = self.known(address).filter(|blob| self.has_blob(blob)) {
            return Ok(blob);
        }
        let bytes = encode(shared);
        let blob = self.store_blob(kind, &bytes, hash_of(&bytes), cancel)?;
        self.remember(address, weak(shared), blob);
        Ok(blob)
    }

    fn store_blob(&self, kind: Kind, bytes: &[u8], hash: Hash, cancel: &Cancel) -> io::Result<Blob> {
        let blob = Blob { kind, bytes: bytes.len() as u64, hash };
        if !self.has_blob(&blob) {
            self.write_aside(&self.blob_path(&blob), bytes, cancel)?;
        }
        Ok(blob)
    }

    /// Whether a blob seems to be there; marks it as used.
    fn has_blob(&self, blob: &Blob) -> bool {
        let path = self.blob_path(blob);
        let there = fs::symlink_metadata(&path).is_ok_and(|meta| meta.is_file() && meta.len() == blob.bytes);
        if there {
            touch(&path);
        }
        there
    }

    /// Writes a file under another name and moves it into place when it is whole.
    fn write_aside(&self, path: &Path, bytes: &[u8], cancel: &Cancel) -> io::Result<()> {
        let mut file = tempfile::NamedTempFile::new_in(self.dir.join("tmp"))?;
        for part in bytes.chunks(8 << 20) {
            if cancel.is_cancelled() {
                return Err(io::ErrorKind::Interrupted.into());
            }
            file.write_all(part)?;
        }
        if fs::symlink_metadata(path).is_ok_and(|meta| meta.is_dir()) {
            // No file can be moved over a folder.
            discard(path)?;
        }
        file.persist(path).map_err(|error| error.error)?;
        self.total_bytes.fetch_add(bytes.len() as u64, Ordering::Relaxed);
        Ok(())
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

    fn step_path(&self, key: &Key) -> PathBuf {
        self.dir.join("steps").join(key.to_hex().as_str())
    }

    fn blob_path(&self, blob: &Blob) -> PathBuf {
        self.dir.join("blobs").join(blob.hash.to_hex().as_str())
    }

    fn known(&self, address: *const ()) -> Option<Blob> {
        let known = self.known.lock().ok()?;
        known.iter().find(|(weak, _)| weak.strong_count() > 0 && weak.as_ptr().cast() == address).map(|k| k.1)
    }

    fn remember(&self, address: *const (), weak: Weak<dyn Any + Send + Sync>, blob: Blob) {
        let Ok(mut known) = self.known.lock() else { return };
        known.retain(|(weak, _)| weak.strong_count() > 0 && weak.as_ptr().cast() != address);
        known.push((weak, blob));
    }
}

/// Where a layer lies in memory, and a reference that does not keep it.
fn handle(data: &LayerData) -> (*const (), Weak<dyn Any + Send + Sync>) {
    match data {
        LayerData::F32(raster) => (Arc::as_ptr(raster).cast(), weak(raster)),
        LayerData::U8(raster) => (Arc::as_ptr(raster).cast(), weak(raster)),
    }
}

fn weak<T: Send + Sync + 'static>(shared: &Arc<T>) -> Weak<dyn Any + Send + Sync> {
    Arc::downgrade(&(shared.clone() as Arc<dyn Any + Send + Sync>))
}

fn hash_of(bytes: &[u8]) -> Hash {
    blake3::Hasher::new().update_rayon(bytes).finalize()
}

/// A small file: entries list names, so a large one is none of ours.
fn read_bounded(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open_plain(path)?.take(16 << 20).read_to_end(&mut bytes)?;
    Ok(bytes)
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

fn parse_entry(bytes: &[u8]) -> Option<Entry> {
    let (check, json) = bytes.split_at_checked(65)?;
    let check = Hash::from_hex(check.strip_suffix(b"\n")?).ok()?;
    (blake3::hash(json) == check).then(|| serde_json::from_slice(json).ok())?
}

/// Marks a file as used just now; a cache that cannot be written still serves.
fn touch(path: &Path) {
    if !fs::symlink_metadata(path).is_ok_and(|meta| meta.is_file()) {
        return;
    }
    let _ = File::options().write(true).open(path).and_then(|file| file.set_modified(SystemTime::now()));
}

/// Gathers what a result is made from. Every part is preceded by its length, so no two lists give the same bytes.
pub(crate) struct KeyMaker(blake3::Hasher);

impl KeyMaker {
    pub fn new(kind: &str) -> Self {
        let mut maker = Self(blake3::Hasher::new());
        maker.number(u64::from(FORMAT));
        // What operators share (noise, say) has no version of its own.
        maker.text(env!("CARGO_PKG_VERSION"));
        maker.text(kind);
        maker
    }

    pub fn number(&mut self, n: u64) {
        self.0.update(&n.to_le_bytes());
    }

    pub fn text(&mut self, text: &str) {
        self.number(text.len() as u64);
        self.0.update(text.as_bytes());
    }

    pub fn hash(&mut self, hash: &[u8; 32]) {
        self.0.update(hash);
    }

    pub fn frame(&mut self, frame: &Frame) {
        // This shows every number so that it reads back to the bit, and the fields in their order.
        self.text(&format!("{frame:?}"));
    }

    pub fn table(&mut self, table: &toml::Table) {
        let mut entries: Vec<_> = table.iter().collect();
        entries.sort_by_key(|(key, _)| key.as_str());
        self.number(entries.len() as u64);
        for (key, value) in entries {
            self.text(key);
            self.value(value);
        }
    }

    fn value(&mut self, value: &toml::Value) {
        self.text(value.type_str());
        match value {
            toml::Value::String(text) => self.text(text),
            toml::Value::Integer(i) => self.number(*i as u64),
            toml::Value::Float(x) => self.number(x.to_bits()),
            toml::Value::Boolean(b) => self.number(u64::from(*b)),
            toml::Value::Datetime(d) => self.text(&d.to_string()),
            toml::Value::Array(items) => {
                self.number(items.len() as u64);
                items.iter().for_each(|item| self.value(item));
            }
            toml::Value::Table(table) => self.table(table),
        }
    }

    pub fn finish(self) -> Key {
        self.0.finalize()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use orogen_core::layer::{HEIGHT, SLOPE};

    fn terrain() -> Terrain {
        let mut terrain = Terrain::new(Frame::square(100.0, 9).unwrap());
        terrain.set(HEIGHT, Raster::from_fn(9, 9, |col, row| (col * row) as f32));
        terrain.set(SLOPE, Raster::filled(9, 9, -0.0));
        terrain
    }

    #[test]
    fn what_is_stored_comes_back_whole() {
        let dir = tempfile::tempdir().unwrap();
        let cache = Cache::open(dir.path(), 1 << 20).unwrap();
        let (key, terrain) = (KeyMaker::new("test").finish(), terrain());
        cache.store(&key, &terrain, &[], &[], &Cancel::new()).unwrap();
        let Found::Hit(entry) = cache.peek(&key) else { panic!("it was just stored") };
        // The slope follows from the height: setting layers one by one would have dropped it.
        let Found::Hit(back) = cache.load(&key, &entry, terrain.frame()) else {
            panic!("it was just stored")
        };
        assert_eq!(back, terrain);
        // Another shape under the same key is a miss.
        let other = Frame::square(100.0, 10).unwrap();
        assert!(matches!(cache.load(&key, &entry, &other), Found::Damaged(_)));
    }

    #[test]
    fn a_part_replaced_by_anything_else_heals() {
        type Replace = fn(&Path);
        let folder: Replace = |path| {
            fs::remove_file(path).unwrap();
            fs::create_dir(path).unwrap();
            fs::write(path.join("inside"), "x").unwrap();
        };
        #[cfg(unix)]
        let pipe: Replace = |path| {
            fs::remove_file(path).unwrap();
            assert!(std::process::Command::new("mkfifo").arg(path).status().unwrap().success());
        };
        #[cfg(unix)]
        let link: Replace = |path| {
            fs::remove_file(path).unwrap();
            std::os::unix::fs::symlink("/dev/zero", path).unwrap();
        };
        #[cfg(not(unix))]
        let (pipe, link) = (folder, folder);
        for replace in [folder, pipe, link] {
            for part in ["steps", "blobs"] {
                let dir = tempfile::tempdir().unwrap();
                let cache = Cache::open(dir.path(), 1 << 20).unwrap();
                let (key, terrain) = (KeyMaker::new("test").finish(), terrain());
                cache.store(&key, &terrain, &[], &[], &Cancel::new()).unwrap();
                let (_, _, path) = cache.files(part).remove(0);
                replace(&path);
                assert!(matches!(cache.peek(&key), Found::Damaged(_)), "{part}");
                cache.store(&key, &terrain, &[], &[], &Cancel::new()).unwrap();
                let Found::Hit(entry) = cache.peek(&key) else { panic!("{part} did not heal") };
                assert!(matches!(cache.load(&key, &entry, terrain.frame()), Found::Hit(_)), "{part}");
                // Also where nobody looked at it before it is stored again.
                replace(&path);
                cache.store(&key, &terrain, &[], &[], &Cancel::new()).unwrap();
                assert!(matches!(cache.peek(&key), Found::Hit(_)), "{part}");
                replace(&path);
                cache.clear().unwrap();
                assert_eq!(fs::read_dir(dir.path().join(part)).unwrap().count(), 0);
            }
        }
    }

    #[test]
    fn a_cancelled_store_leaves_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let cache = Cache::open(dir.path(), 1 << 20).unwrap();
        let (key, cancel) = (KeyMaker::new("test").finish(), Cancel::new());
        cancel.cancel();
        assert!(cache.store(&key, &terrain(), &[], &[], &cancel).is_err());
        assert_eq!(cache.used_bytes(), 0);
        assert!(cache.files("tmp").is_empty());
    }

    #[test]
    fn a_remembered_hash_never_outlives_its_content() {
        let dir = tempfile::tempdir().unwrap();
        let cache = Cache::open(dir.path(), 1 << 20).unwrap();
        let mut terrain = terrain();
        let hash = |terrain: &Terrain| {
            cache.known(handle(&terrain.layers()[&HEIGHT.name()]).0).map(|blob| blob.hash)
        };
        cache.store(&KeyMaker::new("one").finish(), &terrain, &[], &[], &Cancel::new()).unwrap();
        assert_eq!(hash(&terrain), Some(hash_of(terrain.layers()[&HEIGHT.name()].bytes())));
        terrain.update::<f32>(&HEIGHT.name(), |height| height.as_mut_slice()[3] = 7.0).unwrap();
        assert_eq!(hash(&terrain), None);
    }

    #[test]
    fn files_left_by_a_program_that_died_go_after_a_day() {
        let dir = tempfile::tempdir().unwrap();
        let cache = Cache::open(dir.path(), 1 << 20).unwrap();
        let (old, new) = (dir.path().join("tmp/old"), dir.path().join("tmp/new"));
        fs::write(&old, "x").unwrap();
        fs::write(&new, "x").unwrap();
        let file = File::options().write(true).open(&old).unwrap();
        file.set_modified(SystemTime::now() - 2 * STALE).unwrap();
        drop(cache);
        Cache::open(dir.path(), 1 << 20).unwrap();
        assert!(!old.exists() && new.exists());
    }

    #[test]
    fn keys_tell_similar_lists_apart() {
        let key = |a: &str, b: &str| {
            let mut maker = KeyMaker::new("test");
            maker.text(a);
            maker.text(b);
            maker.finish()
        };
        assert_ne!(key("ab", "c"), key("a", "bc"));
        let of = |text: &str| {
            let mut maker = KeyMaker::new("test");
            maker.table(&text.parse::<toml::Table>().unwrap());
            maker.finish()
        };
        assert_eq!(of("a = 1\nb = 2"), of("b = 2\na = 1"));
        assert_ne!(of("a = 1"), of("a = 1.0"));
        assert_ne!(of("a = [[1], [2]]"), of("a = [[1, 2], []]"));
        assert_ne!(of("a = 0.0"), of("a = -0.0"));
    }
}
