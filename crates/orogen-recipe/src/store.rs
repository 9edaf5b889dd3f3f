//! Where results of steps lie: bytes under names. A [folder](crate::Folder) outlives the program, [memory](InMemory) does
//! not; no store at all is a build without a cache.
//!
//! A store knows nothing of what it holds. [`crate::Cache`] verifies everything that it reads, so a store may lose or
//! spoil what it was given and no build is the worse for it.

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use orogen_core::Cancel;

/// What something is stored under.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Name {
    /// What kind of thing it is.
    pub shelf: Shelf,
    /// Of a list what it was made from, of layers their content.
    pub hash: [u8; 32],
}

/// The kinds of things that are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Shelf {
    /// Lists of what a result holds.
    Steps,
    /// The bytes of a layer.
    Blobs,
}

/// What lies under a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seen {
    /// Nothing.
    Nothing,
    /// So many bytes.
    Bytes(u64),
    /// Something that no store has put there.
    Strange,
}

/// Why nothing could be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unread {
    /// It is not there, or no longer.
    Missing,
    /// It has another size.
    Resized,
}

/// Keeps bytes under names, bounded in size: what was not used for longest goes first.
pub trait Store: fmt::Debug + Send + Sync {
    /// What lies under a name. Marks it as used.
    fn look(&self, name: &Name) -> Seen;
    /// Reads all that lies under a name, which must have this size.
    ///
    /// # Errors
    /// When it is not there or has another size.
    fn read(&self, name: &Name, into: &mut [u8]) -> Result<(), Unread>;
    /// Puts bytes under a name, in place of what was there. They appear whole or not at all.
    ///
    /// # Errors
    /// When they cannot be written, or when cancelled.
    fn put(&self, name: &Name, bytes: &[u8], cancel: &Cancel) -> io::Result<()>;
    /// Removes whatever lies under a name.
    fn discard(&self, name: &Name);
    /// Makes room if there is too much; called when a result is stored whole.
    fn tidy(&self);
    /// Removes everything.
    ///
    /// # Errors
    /// When something cannot be removed.
    fn clear(&self) -> io::Result<()>;
    /// Bytes it takes now.
    fn used_bytes(&self) -> u64;
    /// Bytes it may take.
    fn max_bytes(&self) -> u64;
    /// Where it is, in words for a message: "in ...".
    fn place(&self) -> String;
}

/// A store that ends with the program.
#[derive(Debug)]
pub struct InMemory {
    max_bytes: u64,
    held: Mutex<Held>,
}

#[derive(Debug, Default)]
struct Held {
    /// The bytes, and when they were last used.
    all: BTreeMap<Name, (Arc<[u8]>, u64)>,
    bytes: u64,
    uses: u64,
}

impl Held {
    fn remove(&mut self, name: &Name) {
        if let Some((bytes, _)) = self.all.remove(name) {
            self.bytes -= bytes.len() as u64;
        }
    }
}

impl InMemory {
    /// An empty one.
    #[must_use]
    pub fn new(max_bytes: u64) -> Self {
        Self { max_bytes, held: Mutex::default() }
    }

    fn held(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn get(&self, name: &Name) -> Option<Arc<[u8]>> {
        let mut held = self.held();
        held.uses += 1;
        let now = held.uses;
        let (bytes, used) = held.all.get_mut(name)?;
        *used = now;
        Some(bytes.clone())
    }
}

impl Store for InMemory {
    fn look(&self, name: &Name) -> Seen {
        self.get(name).map_or(Seen::Nothing, |bytes| Seen::Bytes(bytes.len() as u64))
    }

    fn read(&self, name: &Name, into: &mut [u8]) -> Result<(), Unread> {
        let bytes = self.get(name).ok_or(Unread::Missing)?;
        if bytes.len() != into.len() {
            return Err(Unread::Resized);
        }
        into.copy_from_slice(&bytes);
        Ok(())
    }

    fn put(&self, name: &Name, bytes: &[u8], cancel: &Cancel) -> io::Result<()> {
        if cancel.is_cancelled() {
            return Err(io::ErrorKind::Interrupted.into());
        }
        let bytes: Arc<[u8]> = bytes.into();
        let mut held = self.held();
        held.remove(name);
        held.uses += 1;
        held.bytes += bytes.len() as u64;
        let now = held.uses;
        held.all.insert(*name, (bytes, now));
        Ok(())
    }

    fn discard(&self, name: &Name) {
        self.held().remove(name);
    }

    fn tidy(&self) {
        let mut held = self.held();
        if held.bytes <= self.max_bytes {
            return;
        }
        let mut oldest: Vec<(u64, Name)> = held.all.iter().map(|(name, (_, used))| (*used, *name)).collect();
        oldest.sort_unstable();
        for (_, name) in oldest {
            if held.bytes <= self.max_bytes / 10 * 9 {
                break;
            }
            held.remove(&name);
        }
    }

    fn clear(&self) -> io::Result<()> {
        *self.held() = Held::default();
        Ok(())
    }

    fn used_bytes(&self) -> u64 {
        self.held().bytes
    }

    fn max_bytes(&self) -> u64 {
        self.max_bytes
    }

    fn place(&self) -> String {
        String::from("in memory")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(id: u8) -> Name {
        Name { shelf: Shelf::Blobs, hash: [id; 32] }
    }

    #[test]
    fn memory_holds_what_it_was_given_until_there_is_too_much() {
        let (store, cancel) = (InMemory::new(100), Cancel::new());
        for id in 0..5 {
            store.put(&name(id), &[id; 20], &cancel).unwrap();
        }
        store.tidy();
        assert_eq!(store.used_bytes(), 100);
        let mut bytes = [9; 20];
        assert_eq!(store.read(&name(0), &mut bytes), Ok(()));
        assert_eq!(bytes, [0; 20]);
        assert_eq!(store.read(&name(0), &mut [0; 19]), Err(Unread::Resized));
        store.put(&name(5), &[5; 1], &cancel).unwrap();
        store.tidy();
        // The first was used after the second.
        assert_eq!((store.look(&name(0)), store.look(&name(1))), (Seen::Bytes(20), Seen::Nothing));
        assert_eq!(store.read(&name(1), &mut bytes), Err(Unread::Missing));
        store.put(&name(0), &[1; 3], &cancel).unwrap();
        assert_eq!(store.look(&name(0)), Seen::Bytes(3));
        store.discard(&name(0));
        store.clear().unwrap();
        assert_eq!(store.used_bytes(), 0);
        cancel.cancel();
        assert!(store.put(&name(0), &[1], &cancel).is_err());
    }
}
