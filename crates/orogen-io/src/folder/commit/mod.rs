//! Moves outputs into place so that a kill at any moment leaves a state that can be recognised and repaired.
//!
//! ```text
//! 1  the journal goes in        which files are ours, with their hashes before and after
//! 2  the old manifest goes out  from here on the folder is not whole, and says so
//! 3  outputs go in, stale files go out, one by one
//! 4  the new manifest goes in   from here on the folder is whole again
//! 5  the journal goes out       unless files are left that it alone knows
//! ```
//!
//! Each of these is on disk before the next begins. An error on the way undoes what was done, in reverse.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::PoisonError;

use super::ours::{Change, Found, JOURNAL, MANIFEST, Ours, journal};
use super::{FolderError, OutputFolder, Written, checked_name, io_error, refuse_what_is_in_the_way};
use crate::same_file::same_file;

/// Where files that are replaced wait, beside the new ones: no output is named so.
const OLD: &str = ".orogen-old";

impl OutputFolder {
    /// Moves all outputs into place and gives their paths, in the order in which they were written.
    ///
    /// # Errors
    /// When something is in the way or a file cannot be moved; everything is put back as it was.
    pub fn commit(self) -> Result<Vec<PathBuf>, FolderError> {
        let outputs = std::mem::take(&mut *self.outputs.lock().unwrap_or_else(PoisonError::into_inner));
        let names: Vec<PathBuf> = outputs.iter().map(|(name, _)| name.clone()).collect();
        // Two runs that end at once go one after the other; where folders cannot be locked, they take their chance.
        let folder = File::open(&self.target).ok();
        let _ = folder.as_ref().map(File::lock);
        // Anew, as it is now: a build may have taken hours.
        let ours = Ours::read(&self.target);
        refuse_what_is_in_the_way(&self.target, &ours, self.existing, &self.inputs, &names)?;
        let mut moves = Moves { home: &self.target, aside: &self.aside, done: Vec::new() };
        let done = if names.iter().any(|name| name == Path::new(MANIFEST)) {
            self.exchange(&mut moves, &ours, &outputs, &names)
        } else {
            names.iter().try_for_each(|name| moves.bring_in(name))
        };
        if let Err(error) = done {
            moves.undo();
            return Err(error);
        }
        sync(&self.target);
        Ok(names.iter().map(|name| self.target.join(name)).collect())
    }

    /// The steps above.
    fn exchange(
        &self,
        moves: &mut Moves<'_>,
        ours: &Ours,
        outputs: &[(PathBuf, Written)],
        names: &[PathBuf],
    ) -> Result<(), FolderError> {
        let manifest = Path::new(MANIFEST);
        let known: Vec<PathBuf> = ours
            .names()
            .map(PathBuf::from)
            .filter(|name| checked_name(name).is_ok() && name != manifest && !names.contains(name))
            .collect();
        let others = ours.look_at(&self.target, &known);
        let stale: Vec<&Path> = others
            .iter()
            .filter(|(name, found)| {
                // A file that this run has read stays, also where it is ours.
                let read = || self.inputs.iter().any(|input| same_file(&self.target.join(name), input));
                self.sweeps && matches!(found, Found::Ours(_)) && inside(&self.target, name) && !read()
            })
            .map(|(name, _)| *name)
            .collect();
        let mut changes = Vec::new();
        for ((name, found), (_, written)) in ours.look_at(&self.target, names).iter().zip(outputs) {
            if *name != manifest {
                changes.push(Change::new(name, of(found), Some(written.sha256)));
            }
        }
        for (name, found) in &others {
            let old = of(found);
            if old.is_some() {
                changes.push(Change::new(name, old, old.filter(|_| !stale.contains(name))));
            }
        }
        moves.write_journal(changes, ours)?;
        moves.take_out(manifest)?;
        sync(&self.target);
        for name in names.iter().filter(|name| *name != manifest) {
            moves.bring_in(name)?;
        }
        for name in stale {
            moves.take_out(name)?;
        }
        moves.sync_all();
        moves.bring_in(manifest)?;
        sync(&self.target);
        // A commit that sweeps nothing leaves what a killed one mixed up: the journal goes on saying that it is ours.
        let listed = || Ours::read(&self.target).entries;
        let kept = |listed: &BTreeMap<String, _>| {
            others.iter().any(|(name, found)| {
                of(found).is_some() && !name.to_str().is_some_and(|name| listed.contains_key(name))
            })
        };
        if self.sweeps || !kept(&listed()) {
            // The folder is whole: a journal that cannot be removed misleads nobody.
            let _ = fs::remove_file(self.target.join(JOURNAL));
        }
        step_done();
        moves.remove_empty_folders();
        Ok(())
    }
}

fn of(found: &Found) -> Option<[u8; 32]> {
    if let Found::Ours(hash) = found { Some(*hash) } else { None }
}

/// Whether no link on the way to a file leads out of the folder.
fn inside(home: &Path, name: &Path) -> bool {
    home.canonicalize().is_ok_and(|home| {
        let path = home.join(name);
        path.parent().is_some_and(|parent| parent.canonicalize().is_ok_and(|real| real == parent))
    })
}

/// Puts the names in a folder on disk; where folders cannot be synced there is nothing to do about it.
fn sync(folder: &Path) {
    if let Ok(folder) = File::open(folder) {
        let _ = folder.sync_all();
    }
}

/// What was moved, so that it can be moved back.
struct Moves<'a> {
    home: &'a Path,
    aside: &'a Path,
    done: Vec<Move>,
}

enum Move {
    /// The journal went in where there was none, or an older one.
    Journal { keep: bool },
    /// An output went in; `replaced` when there was a file, which is kept aside.
    In { name: PathBuf, replaced: bool },
    /// A file went out.
    Out { name: PathBuf },
}

impl Moves<'_> {
    fn old(&self, name: &Path) -> PathBuf {
        self.aside.join(OLD).join(name)
    }

    fn failed(&self, name: &Path) -> impl FnOnce(io::Error) -> FolderError {
        let path = self.home.join(name);
        move |source| io_error("write", &path, source)
    }

    fn write_journal(&mut self, changes: Vec<Change>, ours: &Ours) -> Result<(), FolderError> {
        let path = self.home.join(JOURNAL);
        let write = || -> io::Result<()> {
            let aside = self.aside.join(JOURNAL);
            fs::write(&aside, journal(changes)?)?;
            File::open(&aside)?.sync_all()?;
            fs::rename(&aside, &path)
        };
        write().map_err(self.failed(Path::new(JOURNAL)))?;
        // Undone, a folder that had a journal still needs one to say which files are ours; this one says more.
        self.done.push(Move::Journal { keep: ours.journal });
        step_done();
        sync(self.home);
        Ok(())
    }

    /// Puts a new file in place.
    fn bring_in(&mut self, name: &Path) -> Result<(), FolderError> {
        let (new, target) = (self.aside.join(name), self.home.join(name));
        let move_in = || -> io::Result<bool> {
            if let Some(parent) = target.parent() {
                fs::create_dir_all(parent)?;
            }
            let replaced = self.keep_aside(name, &target)?;
            step_done();
            if replaced {
                fs::rename(&new, &target)?;
                return Ok(true);
            }
            // A link fails where a file has come to be since we looked; a rename would replace it.
            match fs::hard_link(&new, &target) {
                Err(e) if e.kind() == io::ErrorKind::AlreadyExists => Err(e),
                // No hard links here.
                Err(_) => fs::rename(&new, &target).map(|()| false),
                Ok(()) => Ok(false),
            }
        };
        let replaced = move_in().map_err(self.failed(name))?;
        self.done.push(Move::In { name: name.to_owned(), replaced });
        step_done();
        Ok(())
    }

    /// Keeps a second link to a file that is about to be replaced; whether there is one.
    fn keep_aside(&self, name: &Path, target: &Path) -> io::Result<bool> {
        if fs::symlink_metadata(target).is_err_and(|e| e.kind() == io::ErrorKind::NotFound) {
            return Ok(false);
        }
        let old = self.old(name);
        old.parent().map_or(Ok(()), fs::create_dir_all)?;
        match fs::hard_link(target, &old) {
            Ok(()) => {}
            // No hard links here: a copy does as well.
            Err(_) => fs::copy(target, &old).map(|_| ())?,
        }
        Ok(true)
    }

    /// Moves a file of an earlier run aside, if it is there.
    fn take_out(&mut self, name: &Path) -> Result<(), FolderError> {
        let (target, old) = (self.home.join(name), self.old(name));
        if fs::symlink_metadata(&target).is_err() {
            return Ok(());
        }
        let moved = old.parent().map_or(Ok(()), fs::create_dir_all).and_then(|()| fs::rename(&target, &old));
        moved.map_err(|source| io_error("remove", &target, source))?;
        self.done.push(Move::Out { name: name.to_owned() });
        step_done();
        Ok(())
    }

    /// Puts back what was moved. An error is being reported already: one more helps nobody.
    fn undo(&mut self) {
        while let Some(done) = self.done.pop() {
            let _ = match &done {
                Move::Journal { keep: true } => Ok(()),
                Move::Journal { keep: false } => fs::remove_file(self.home.join(JOURNAL)),
                Move::In { name, replaced: false } => fs::remove_file(self.home.join(name)),
                Move::In { name, replaced: true } | Move::Out { name } => {
                    fs::rename(self.old(name), self.home.join(name))
                }
            };
        }
        sync(self.home);
    }

    /// Puts the names in every folder that a file was moved into or out of on disk.
    fn sync_all(&self) {
        let folders: std::collections::BTreeSet<PathBuf> = self
            .done
            .iter()
            .filter_map(|done| match done {
                Move::In { name, .. } | Move::Out { name } => {
                    self.home.join(name).parent().map(Path::to_owned)
                }
                Move::Journal { .. } => None,
            })
            .chain([self.home.to_owned()])
            .collect();
        folders.iter().for_each(|folder| sync(folder));
    }

    /// Removes folders that are empty since their files went out.
    fn remove_empty_folders(&self) {
        for done in &self.done {
            let Move::Out { name } = done else { continue };
            for folder in self.home.join(name).ancestors().skip(1).take_while(|folder| *folder != self.home) {
                if fs::remove_dir(folder).is_err() {
                    break;
                }
            }
        }
    }
}

/// A moment at which a test may end the program.
#[cfg(not(test))]
fn step_done() {}

#[cfg(test)]
fn step_done() {
    kills::count();
}

#[cfg(test)]
mod kills;
