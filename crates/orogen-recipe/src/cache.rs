//! Results of steps, found by what they were made from.
//!
//! A result is a list of its parts under the key of its step, and the bytes of each part under their own hash, so that
//! layers a step left alone are stored once. Numbers are little-endian. Everything read is verified; what does not verify
//! is removed and made anew.

use std::any::Any;
use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex, Weak};

use blake3::Hash;
use orogen_core::instances::Instances;
use orogen_core::{Cancel, Figure, Frame, Kind, LayerData, LayerName, Parts, Provenance, Terrain, each_kind};
use rayon::prelude::*;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

#[cfg(feature = "native")]
use crate::folder::Folder;
use crate::store::{InMemory, Name, Seen, Shelf, Store, Unread};
use crate::vectors;

/// Raised when the files change their form.
const FORMAT: u32 = 4;
/// Size of the cache by default.
pub const DEFAULT_MAX_BYTES: u64 = 4 << 30;
/// A list of names that is larger than this is none of ours.
const MOST_LISTED: u64 = 16 << 20;

/// Results of steps in a [`Store`].
#[derive(Debug)]
pub struct Cache {
    store: Box<dyn Store>,
    keeps: Keeps,
    /// Blobs of what is in memory now. A weak reference keeps its content from being changed in place, and lets
    /// it go.
    known: Mutex<Vec<(Weak<dyn Any + Send + Sync>, Blob)>>,
}

/// Which results are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Keeps {
    Everything,
    Worthwhile,
}

/// Whether a result is worth storing: making it again from what is stored takes longer than to write so many bytes and to
/// read and verify them next time.
///
/// Seconds are those of the step and of all before it whose results are not stored, so that what a chain of quick steps
/// takes together is never lost for long. What is stored changes with the machine and its load; results never do.
fn is_worthwhile(seconds: f64, bytes: u64) -> bool {
    /// Bytes that a disk takes and gives back again in a second, hashed both times.
    const BYTES_PER_SECOND: f64 = 250e6;
    /// What a result costs besides its bytes: some small files.
    const SECONDS: f64 = 2e-3;
    seconds > SECONDS + bytes as f64 / BYTES_PER_SECOND
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
    /// Whether its parts were not worth storing: only what it warned of and measured is kept.
    #[serde(default)]
    noted: bool,
    pub warnings: Vec<String>,
    #[serde(default)]
    pub figures: Vec<Figure>,
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Blob {
    /// The kind of number of a layer; vectors and instances have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    kind: Option<Kind>,
    bytes: u64,
    #[serde(serialize_with = "as_hex", deserialize_with = "from_hex")]
    hash: Hash,
}

impl Blob {
    fn name(&self) -> Name {
        Name { shelf: Shelf::Blobs, hash: *self.hash.as_bytes() }
    }
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

impl Cache {
    /// A cache in any store, which keeps every result.
    #[must_use]
    pub fn new(store: impl Store + 'static) -> Self {
        Self { store: Box::new(store), keeps: Keeps::Everything, known: Mutex::default() }
    }

    /// Opens a folder as cache, making it if need be.
    ///
    /// # Errors
    /// When the folder cannot be made or this machine stores numbers the other way round.
    #[cfg(feature = "native")]
    pub fn open(dir: impl Into<std::path::PathBuf>, max_bytes: u64) -> io::Result<Self> {
        Ok(Self::new(Folder::open(dir, max_bytes)?))
    }

    /// A cache that ends with the program.
    #[must_use]
    pub fn in_memory(max_bytes: u64) -> Self {
        Self::new(InMemory::new(max_bytes))
    }

    /// Leaves out what is sooner made again than written and read: the same builds, with less on disk.
    #[must_use]
    pub fn worthwhile(self) -> Self {
        Self { keeps: Keeps::Worthwhile, ..self }
    }

    /// Where it is, in words for a message: "in ...".
    #[must_use]
    pub fn place(&self) -> String {
        self.store.place()
    }

    /// Bytes it takes now.
    #[must_use]
    pub fn used_bytes(&self) -> u64 {
        self.store.used_bytes()
    }

    /// Removes everything it holds.
    ///
    /// # Errors
    /// When a file cannot be removed.
    pub fn clear(&self) -> io::Result<()> {
        self.store.clear()
    }

    /// The entry of a key, if all its parts seem to be there. Marks them as used.
    pub(crate) fn peek(&self, key: &Key) -> Found<Entry> {
        let entry = match self.entry(key) {
            Found::Hit(entry) if entry.noted => return Found::Miss,
            Found::Hit(entry) => entry,
            other => return other,
        };
        for blob in entry.blobs() {
            let reason = match self.store.look(&blob.name()) {
                Seen::Bytes(bytes) if bytes == blob.bytes => continue,
                Seen::Nothing => return Found::Miss,
                Seen::Bytes(bytes) => format!("a layer has {bytes} bytes instead of {}", blob.bytes),
                Seen::Strange => String::from("a layer is not a regular file"),
            };
            return self.damaged(key, Some(&entry), &reason);
        }
        Found::Hit(entry)
    }

    /// The list under a key.
    fn entry(&self, key: &Key) -> Found<Entry> {
        let name = step_name(key);
        let bytes = match self.store.look(&name) {
            Seen::Nothing => return Found::Miss,
            Seen::Bytes(bytes) if bytes <= MOST_LISTED => bytes,
            // A folder, say, where the list of layers should be.
            Seen::Bytes(_) | Seen::Strange => {
                return self.damaged(key, None, "its list of layers cannot be read");
            }
        };
        let mut text = vec![0; bytes as usize];
        match self.store.read(&name, &mut text) {
            Ok(()) => {}
            Err(Unread::Missing) => return Found::Miss,
            Err(Unread::Resized) => return self.damaged(key, None, "its list of layers cannot be read"),
        }
        let Some(entry) = parse_entry(&text) else {
            return self.damaged(key, None, "the checksum of its list of layers does not match");
        };
        if entry.key != key.to_hex().as_str() {
            return self.damaged(key, None, "it belongs to another step");
        }
        Found::Hit(entry)
    }

    /// The entry of a key that is not needed itself, as what follows from it is cached: marked as used all the
    /// same, since a change of the recipe may need it next.
    pub(crate) fn glance(&self, key: &Key) -> Option<Entry> {
        let Found::Hit(entry) = self.entry(key) else { return None };
        for blob in entry.blobs() {
            self.store.look(&blob.name());
        }
        Some(entry)
    }

    /// The terrain of an entry, verified.
    pub(crate) fn load(&self, key: &Key, entry: &Entry, frame: &Frame) -> Found<Terrain> {
        match self.read(entry, frame) {
            Ok(terrain) => Found::Hit(terrain),
            Err(None) => Found::Miss,
            Err(Some(reason)) => self.damaged(key, Some(entry), reason),
        }
    }

    /// What is missing is `None`, what is wrong is said.
    fn read(&self, entry: &Entry, frame: &Frame) -> Result<Terrain, Option<&'static str>> {
        let wrong = Some::<&'static str>;
        let (cols, rows) = (frame.cols(), frame.rows());
        if (entry.cols, entry.rows) != (cols, rows) {
            return Err(wrong("its layers do not match the frame"));
        }
        // Side by side: most of the time a cached build takes to begin goes into fresh memory for its layers.
        let layers: Vec<Result<(LayerName, LayerData), Option<&'static str>>> = (entry.layers.par_iter())
            .map(|(name, blob)| {
                let name = LayerName::parse(name).ok_or_else(|| wrong("a layer has an invalid name"))?;
                let kind = blob.kind.ok_or_else(|| wrong("a layer has no kind"))?;
                let mut data = kind.zeros(cols, rows);
                self.read_blob(blob, data.bytes_mut())?;
                let (address, weak) = handle(&data);
                self.remember(address, weak, *blob);
                Ok((name, data))
            })
            .collect();
        let layers: BTreeMap<_, _> = layers.into_iter().collect::<Result<_, _>>()?;
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

    fn read_blob(&self, blob: &Blob, into: &mut [u8]) -> Result<(), Option<&'static str>> {
        self.store.read(&blob.name(), into).map_err(|unread| match unread {
            Unread::Missing => None,
            Unread::Resized => Some("a layer has the wrong size"),
        })?;
        if hash_of(into) == blob.hash { Ok(()) } else { Err(Some("the checksum of a layer does not match")) }
    }

    /// Removes an entry and its blobs: which of them are sound is not worth finding out.
    fn damaged<T>(&self, key: &Key, entry: Option<&Entry>, reason: &str) -> Found<T> {
        self.store.discard(&step_name(key));
        for blob in entry.into_iter().flat_map(Entry::blobs) {
            self.store.discard(&blob.name());
        }
        let name = &key.to_hex()[..12];
        Found::Damaged(format!("cache entry {name} is damaged ({reason}); recomputing it"))
    }

    /// Stores a result that took so many seconds to make from what is stored, unless it is larger than a quarter of the
    /// cache or not worth it; then what it warned of and measured is kept all the same. Whether it was stored.
    ///
    /// # Errors
    /// When a file cannot be written; the cache is as before then, or holds parts that nothing refers to.
    pub(crate) fn store(
        &self,
        key: &Key,
        terrain: &Terrain,
        seconds: f64,
        (warnings, figures): (&[String], &[Figure]),
        cancel: &Cancel,
    ) -> io::Result<bool> {
        let layers = terrain.layers().values().map(|data| data.bytes().len());
        let vectors = terrain.vectors().values().map(|layer| layer.size_bytes());
        let instances = terrain.instances().values().map(|all| all.size_bytes());
        let size = layers.chain(vectors).chain(instances).sum::<usize>() as u64;
        if size > self.store.max_bytes() / 4 {
            return Ok(false);
        }
        let noted = self.keeps == Keeps::Worthwhile && !is_worthwhile(seconds, self.unstored_bytes(terrain));
        if noted && warnings.is_empty() && figures.is_empty() {
            return Ok(false);
        }
        let mut entry = Entry {
            key: key.to_hex().to_string(),
            cols: terrain.frame().cols(),
            rows: terrain.frame().rows(),
            layers: BTreeMap::new(),
            vectors: BTreeMap::new(),
            instances: BTreeMap::new(),
            provenance: terrain.provenance().clone(),
            noted,
            warnings: warnings.to_vec(),
            figures: figures.to_vec(),
        };
        if !noted {
            self.store_parts(terrain, &mut entry, cancel)?;
        }
        let json = serde_json::to_vec(&entry).map_err(io::Error::other)?;
        let mut bytes = blake3::hash(&json).to_hex().to_string().into_bytes();
        bytes.push(b'\n');
        bytes.extend(json);
        self.store.put(&step_name(key), &bytes, cancel)?;
        self.store.tidy();
        Ok(!noted)
    }

    /// About how many bytes storing a result would write: what is stored already is not written again.
    fn unstored_bytes(&self, terrain: &Terrain) -> u64 {
        let stored = |address| self.known(address).is_some_and(|blob| self.has_blob(&blob));
        let layers = terrain.layers().values().filter(|data| !stored(handle(data).0));
        let vectors = terrain.vectors().values().filter(|layer| !stored(Arc::as_ptr(layer).cast()));
        let instances = terrain.instances().values().filter(|all| !stored(Arc::as_ptr(all).cast()));
        (layers.map(|data| data.bytes().len()))
            .chain(vectors.map(|layer| size_of_val(layer.vertices())))
            .chain(instances.map(|all| all.size_bytes()))
            .sum::<usize>() as u64
    }

    fn store_parts(&self, terrain: &Terrain, entry: &mut Entry, cancel: &Cancel) -> io::Result<()> {
        for (name, data) in terrain.layers() {
            let (address, weak) = handle(data);
            let hash = self.known(address).map_or_else(|| hash_of(data.bytes()), |blob| blob.hash);
            let blob = self.store_blob(Some(data.kind()), data.bytes(), hash, cancel)?;
            self.remember(address, weak, blob);
            entry.layers.insert(name.as_str().to_owned(), blob);
        }
        for (name, layer) in terrain.vectors() {
            let blob = self.store_encoded(layer, vectors::encode, cancel)?;
            entry.vectors.insert(name.as_str().to_owned(), blob);
        }
        for (name, all) in terrain.instances() {
            let blob = self.store_encoded(all, Instances::to_bytes, cancel)?;
            entry.instances.insert(name.as_str().to_owned(), blob);
        }
        Ok(())
    }

    /// Stores what is not bytes in memory; what is stored already is not encoded again.
    fn store_encoded<T: Send + Sync + 'static>(
        &self,
        shared: &Arc<T>,
        encode: impl FnOnce(&T) -> Vec<u8>,
        cancel: &Cancel,
    ) -> io::Result<Blob> {
        let address = Arc::as_ptr(shared).cast();
        if let Some(blob) = self.known(address).filter(|blob| self.has_blob(blob)) {
            return Ok(blob);
        }
        let bytes = encode(shared);
        let blob = self.store_blob(None, &bytes, hash_of(&bytes), cancel)?;
        self.remember(address, weak(shared), blob);
        Ok(blob)
    }

    fn store_blob(&self, kind: Option<Kind>, bytes: &[u8], hash: Hash, cancel: &Cancel) -> io::Result<Blob> {
        let blob = Blob { kind, bytes: bytes.len() as u64, hash };
        if !self.has_blob(&blob) {
            self.store.put(&blob.name(), bytes, cancel)?;
        }
        Ok(blob)
    }

    /// Whether a blob seems to be there; marks it as used.
    fn has_blob(&self, blob: &Blob) -> bool {
        self.store.look(&blob.name()) == Seen::Bytes(blob.bytes)
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
    each_kind!(data, raster => (Arc::as_ptr(raster).cast(), weak(raster)))
}

fn weak<T: Send + Sync + 'static>(shared: &Arc<T>) -> Weak<dyn Any + Send + Sync> {
    Arc::downgrade(&(shared.clone() as Arc<dyn Any + Send + Sync>))
}

fn hash_of(bytes: &[u8]) -> Hash {
    blake3::Hasher::new().update_rayon(bytes).finalize()
}

fn step_name(key: &Key) -> Name {
    Name { shelf: Shelf::Steps, hash: *key.as_bytes() }
}

fn parse_entry(bytes: &[u8]) -> Option<Entry> {
    let (check, json) = bytes.split_at_checked(65)?;
    let check = Hash::from_hex(check.strip_suffix(b"\n")?).ok()?;
    (blake3::hash(json) == check).then(|| serde_json::from_slice(json).ok())?
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
    use std::fs;
    use std::path::Path;

    use super::*;
    use orogen_core::Raster;
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
        cache.store(&key, &terrain, 0.0, (&[], &[]), &Cancel::new()).unwrap();
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
                cache.store(&key, &terrain, 0.0, (&[], &[]), &Cancel::new()).unwrap();
                let path = fs::read_dir(dir.path().join(part)).unwrap().next().unwrap().unwrap().path();
                replace(&path);
                assert!(matches!(cache.peek(&key), Found::Damaged(_)), "{part}");
                cache.store(&key, &terrain, 0.0, (&[], &[]), &Cancel::new()).unwrap();
                let Found::Hit(entry) = cache.peek(&key) else { panic!("{part} did not heal") };
                assert!(matches!(cache.load(&key, &entry, terrain.frame()), Found::Hit(_)), "{part}");
                // Also where nobody looked at it before it is stored again.
                replace(&path);
                cache.store(&key, &terrain, 0.0, (&[], &[]), &Cancel::new()).unwrap();
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
        assert!(cache.store(&key, &terrain(), 0.0, (&[], &[]), &cancel).is_err());
        assert_eq!(cache.used_bytes(), 0);
        assert_eq!(fs::read_dir(dir.path().join("tmp")).unwrap().count(), 0);
    }

    #[test]
    fn a_remembered_hash_never_outlives_its_content() {
        let dir = tempfile::tempdir().unwrap();
        let cache = Cache::open(dir.path(), 1 << 20).unwrap();
        let mut terrain = terrain();
        let hash = |terrain: &Terrain| {
            cache.known(handle(&terrain.layers()[&HEIGHT.name()]).0).map(|blob| blob.hash)
        };
        cache.store(&KeyMaker::new("one").finish(), &terrain, 0.0, (&[], &[]), &Cancel::new()).unwrap();
        assert_eq!(hash(&terrain), Some(hash_of(terrain.layers()[&HEIGHT.name()].bytes())));
        terrain.update::<f32>(&HEIGHT.name(), |height| height.as_mut_slice()[3] = 7.0).unwrap();
        assert_eq!(hash(&terrain), None);
    }

    #[test]
    fn what_is_sooner_made_than_read_is_not_stored_but_its_warnings_are() {
        let cache = Cache::in_memory(1 << 20).worthwhile();
        let (key, terrain, cancel) = (KeyMaker::new("test").finish(), terrain(), Cancel::new());
        let warnings = [String::from("the sea is high today")];
        assert!(!cache.store(&key, &terrain, 1e-3, (&[], &[]), &cancel).unwrap());
        assert_eq!(cache.used_bytes(), 0);
        assert!(!cache.store(&key, &terrain, 1e-3, (&warnings, &[]), &cancel).unwrap());
        assert!(matches!(cache.peek(&key), Found::Miss));
        assert_eq!(cache.glance(&key).unwrap().warnings, warnings);
        assert!(cache.store(&key, &terrain, 1.0, (&warnings, &[]), &cancel).unwrap());
        let Found::Hit(entry) = cache.peek(&key) else { panic!("it was just stored") };
        assert!(matches!(cache.load(&key, &entry, terrain.frame()), Found::Hit(_)));
        // Two layers of 324 bytes are stored now: another list of them costs no more than a small file.
        assert_eq!(cache.unstored_bytes(&terrain), 0);
        assert!(is_worthwhile(0.02, 4 << 20) && !is_worthwhile(0.01, 4 << 20));
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
