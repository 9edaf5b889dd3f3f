//! Which files of a folder an earlier build wrote there: those of its manifest and of its journal, with their hashes.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::about::SOFTWARE;
use crate::sidecar::hex;

/// The report of a whole build: as long as it is there, every file that it lists is as it says.
pub const MANIFEST: &str = "manifest.json";
/// What a commit leaves when it is killed: which files are ours, with the hashes before and after.
pub(super) const JOURNAL: &str = ".orogen-journal.json";
/// Longer than any manifest.
const MOST_BYTES: u64 = 64 << 20;

/// What no file may replace, also when everything else may be.
pub(super) const FOLDER: &str = "a folder";
pub(super) const NOT_PLAIN: &str = "not a regular file";

/// SHA-256 of a file's bytes.
pub(super) type Hash = [u8; 32];

/// What lies at the place of an output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Found {
    Nothing,
    /// A file that we wrote there, unchanged.
    Ours(Hash),
    /// Anything else, in words.
    Other(&'static str),
}

/// The files of a folder that are ours.
#[derive(Debug, Default)]
pub(super) struct Ours {
    /// By name: what a build of ours wrote there. Several where a commit was killed half-way.
    hashes: BTreeMap<String, BTreeSet<Hash>>,
    /// The entries of the manifest as they stand, by name.
    pub entries: BTreeMap<String, serde_json::Value>,
    /// Whether there is a manifest of ours.
    pub manifest: bool,
    /// Whether there is a journal of ours.
    pub journal: bool,
}

/// The part of a manifest that counts here.
#[derive(Deserialize)]
struct Manifest {
    /// The version that wrote it; manifests of other programs have no such member.
    #[serde(rename = "orogen")]
    _orogen: String,
    files: Vec<serde_json::Value>,
}

/// What a commit is about to do.
#[derive(Serialize, Deserialize)]
struct Journal {
    /// The program and version that wrote it.
    software: String,
    /// What it is, for people who open it.
    about: String,
    files: Vec<Change>,
}

/// A file before and after a commit; no hash where there is no file.
#[derive(Serialize, Deserialize)]
pub(super) struct Change {
    pub name: String,
    pub old: Option<String>,
    pub new: Option<String>,
}

impl Change {
    pub fn new(name: &Path, old: Option<Hash>, new: Option<Hash>) -> Self {
        // Names that are not text are in no manifest either: nothing but the call that gave them knows them.
        Self {
            name: name.to_string_lossy().into_owned(),
            old: old.map(|h| hex(&h)),
            new: new.map(|h| hex(&h)),
        }
    }
}

/// The text of a journal.
pub(super) fn journal(files: Vec<Change>) -> io::Result<Vec<u8>> {
    let about = "a build was stopped while it moved its files into this folder; build again to repair it";
    let journal = Journal { software: SOFTWARE.to_owned(), about: about.to_owned(), files };
    serde_json::to_vec_pretty(&journal).map_err(io::Error::other)
}

impl Ours {
    /// Reads what earlier builds left; a manifest or journal that is not ours counts as none.
    pub fn read(folder: &Path) -> Self {
        let mut ours = Self::default();
        if let Some(manifest) = parse::<Manifest>(&folder.join(MANIFEST)) {
            ours.manifest = true;
            for entry in manifest.files {
                let text = |key| entry.get(key).and_then(serde_json::Value::as_str);
                if let (Some(name), Some(hash)) = (text("name"), text("sha256").and_then(from_hex)) {
                    ours.hashes.entry(name.to_owned()).or_default().insert(hash);
                    ours.entries.insert(name.to_owned(), entry);
                }
            }
        }
        if let Some(journal) = parse::<Journal>(&folder.join(JOURNAL)) {
            ours.journal = true;
            for change in journal.files {
                let hashes = [change.old, change.new].into_iter().flatten().filter_map(|h| from_hex(&h));
                ours.hashes.entry(change.name).or_default().extend(hashes);
            }
        }
        ours
    }

    /// The names of files that are or were ours.
    pub fn names(&self) -> impl Iterator<Item = &String> {
        self.hashes.keys()
    }

    /// What lies at each of these places.
    pub fn look_at<'a, N: AsRef<Path> + Sync>(
        &self,
        folder: &Path,
        names: &'a [N],
    ) -> Vec<(&'a Path, Found)> {
        names.par_iter().map(|name| (name.as_ref(), self.found(folder, name.as_ref()))).collect()
    }

    fn found(&self, folder: &Path, name: &Path) -> Found {
        const FOREIGN: Found = Found::Other("not written by Orogen");
        let path = folder.join(name);
        let about = match fs::symlink_metadata(&path) {
            Ok(about) => about,
            // Not there. A file where a folder should be is found when the output is moved.
            Err(_) => return Found::Nothing,
        };
        if about.is_dir() {
            return Found::Other(FOLDER);
        }
        if !about.is_file() {
            return Found::Other(if about.is_symlink() { "a link" } else { NOT_PLAIN });
        }
        let hash = || hash_of(&path).map_err(|_| Found::Other("not readable"));
        if name == Path::new(MANIFEST) {
            // It lists the others; its own hash is recorded nowhere.
            return if self.manifest { hash().map_or_else(|other| other, Found::Ours) } else { FOREIGN };
        }
        let Some(known) = name.to_str().and_then(|name| self.hashes.get(name)) else { return FOREIGN };
        match hash() {
            Ok(hash) if known.contains(&hash) => Found::Ours(hash),
            Ok(_) => Found::Other("changed since Orogen wrote it"),
            Err(other) => other,
        }
    }
}

fn parse<T: serde::de::DeserializeOwned>(path: &Path) -> Option<T> {
    // Opening a pipe would wait for its other end.
    fs::symlink_metadata(path).ok().filter(|about| about.is_file() && about.len() <= MOST_BYTES)?;
    let mut text = Vec::new();
    File::open(path).ok()?.take(MOST_BYTES).read_to_end(&mut text).ok()?;
    serde_json::from_slice(&text).ok()
}

fn from_hex(text: &str) -> Option<Hash> {
    let mut hash = [0; 32];
    let digits = text.as_bytes();
    if digits.len() != 64 {
        return None;
    }
    for (byte, pair) in hash.iter_mut().zip(digits.chunks_exact(2)) {
        let digit = |d: u8| char::from(d).to_digit(16);
        *byte = (digit(pair[0])? * 16 + digit(pair[1])?) as u8;
    }
    Some(hash)
}

/// SHA-256 of what is left to read.
pub(super) fn hash_rest(file: &mut File) -> io::Result<(Hash, u64)> {
    let (mut hash, mut buffer, mut bytes) = (Sha256::new(), vec![0; 1 << 20], 0);
    loop {
        let count = file.read(&mut buffer)?;
        if count == 0 {
            return Ok((hash.finalize().into(), bytes));
        }
        hash.update(&buffer[..count]);
        bytes += count as u64;
    }
}

fn hash_of(path: &Path) -> io::Result<Hash> {
    hash_rest(&mut File::open(path)?).map(|(hash, _)| hash)
}
