//! A recipe made ready to answer for any window, from any thread.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use orogen_core::{Cancel, Files, Frame, LayerName, Layers, NoFiles, Part, Terrain};

use crate::cache::Cache;
use crate::check::Checked;
use crate::plan::{Plan, PlanError};
use crate::refine::Refinement;
use crate::run::{Observer, Operators, Run, RunError, RunOptions, Unobserved, run_with};

/// Memory that a session may keep between its answers, by default.
const DEFAULT_KEPT_BYTES: u64 = 2 << 30;

/// What a session owns besides its recipe.
pub struct SessionOptions {
    /// The files that parameters name.
    pub files: Arc<dyn Files + Send + Sync>,
    /// Where what steps that reach the whole world found is kept on disk.
    pub cache: Option<Arc<Cache>>,
    /// Bytes of what such steps found that may stay in memory; what was not used for longest goes first.
    pub kept_bytes: u64,
}

impl Default for SessionOptions {
    fn default() -> Self {
        Self { files: Arc::new(NoFiles), cache: None, kept_bytes: DEFAULT_KEPT_BYTES }
    }
}

/// A checked recipe whose operators are prepared once and whose `World` steps are solved once.
///
/// Every answer equals the same part of a build of the whole, to the bit.
pub struct Session {
    checked: Checked,
    files: Arc<dyn Files + Send + Sync>,
    cache: Option<Arc<Cache>>,
    operators: Operators,
    memory: Memory,
    /// Held while steps that reach the whole world are solved, so that no two threads do it.
    solving: Mutex<()>,
}

impl Session {
    /// A session over a recipe. Nothing is worked out yet.
    #[must_use]
    pub fn new(checked: Checked, options: SessionOptions) -> Self {
        Self {
            operators: Operators::of(&checked),
            checked,
            files: options.files,
            cache: options.cache,
            memory: Memory { max_bytes: options.kept_bytes, entries: Mutex::default() },
            solving: Mutex::default(),
        }
    }

    /// The recipe.
    #[must_use]
    pub fn checked(&self) -> &Checked {
        &self.checked
    }

    /// Bytes of solved steps that are in memory now.
    #[must_use]
    pub fn kept_bytes(&self) -> u64 {
        self.memory.entries().iter().map(|entry| entry.bytes).sum()
    }

    /// Some layers of a window of any spacing: only the steps that they need are worked out. No layers are all there are,
    /// vectors included.
    ///
    /// The first call solves the `World` steps that it needs; [`Session::solve`] does so with progress.
    ///
    /// # Errors
    /// When the window reaches beyond the land or there is no such layer, when a step fails, and when cancelled.
    pub fn tile(&self, window: Frame, layers: &[LayerName], cancel: &Cancel) -> Result<Terrain, TileError> {
        if layers.is_empty() {
            let plan = Plan::new(&self.checked, window)?;
            return Ok(self.answer(&plan, &Unobserved, cancel)?.terrain);
        }
        let wanted: BTreeSet<Part> = layers.iter().cloned().map(Part::Layer).collect();
        self.parts(window, &wanted, cancel)
    }

    /// As [`Session::tile`], for any kind of parts.
    ///
    /// # Errors
    /// As [`Session::tile`].
    pub fn parts(
        &self,
        window: Frame,
        parts: &BTreeSet<Part>,
        cancel: &Cancel,
    ) -> Result<Terrain, TileError> {
        let plan = Plan::parts(&self.checked, window, parts)?;
        let mut terrain = self.answer(&plan, &Unobserved, cancel)?.terrain;
        terrain.retain(|part| parts.contains(part));
        Ok(terrain)
    }

    /// Solves the steps that reach the whole world, so that windows need not wait for them.
    ///
    /// # Errors
    /// As [`Session::tile`].
    pub fn solve(&self, observer: &dyn Observer, cancel: &Cancel) -> Result<(), TileError> {
        let base = self.checked.frame();
        // A window of another lattice needs what each of them changed.
        let [dx, dy] = base.spacing_m();
        let (x, y) = (base.x_m(0), base.y_m(base.rows() - 1));
        let rect = orogen_core::Rect { min: [x, y], max: [x + dx, y + dy] };
        let fine = base.part(&rect, [dx / 2.0, dy / 2.0]).ok().flatten().unwrap_or(*base);
        self.answer(&Plan::new(&self.checked, fine)?, observer, cancel)?;
        Ok(())
    }

    fn answer(&self, plan: &Plan, observer: &dyn Observer, cancel: &Cancel) -> Result<Run, RunError> {
        let options = |cache| RunOptions { cache, files: self.files.as_ref(), observer, cancel, meter: None };
        if self.memory.has_all(&self.checked, plan) {
            return run_with(&self.checked, plan, &options(None), &self.operators, Some(&self.memory));
        }
        let run = || {
            let options = options(self.cache.as_deref());
            run_with(&self.checked, plan, &options, &self.operators, Some(&self.memory))
        };
        // A worker of a thread pool that waits here may hold up the very work that it waits for: it solves for itself.
        if rayon::current_thread_index().is_some() {
            let _solving = self.solving.try_lock();
            return run();
        }
        let _solving = self.solving.lock().unwrap_or_else(PoisonError::into_inner);
        run()
    }
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Session({:?})", self.checked.name())
    }
}

/// Why a session gave nothing.
#[derive(Clone, Debug, thiserror::Error, PartialEq)]
pub enum TileError {
    /// The window cannot be had.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// The work failed.
    #[error(transparent)]
    Run(#[from] RunError),
}

/// What steps that reach the whole world found, the least lately used first, bounded in bytes.
pub(crate) struct Memory {
    max_bytes: u64,
    entries: Mutex<Vec<Kept>>,
}

struct Kept {
    step: usize,
    what: Solved,
    bytes: u64,
}

enum Solved {
    /// A result on the recipe's frame; whether the step's mask was applied.
    Land(Terrain, bool),
    /// What brings it to other lattices.
    Change(Arc<Refinement>),
}

impl Memory {
    fn entries(&self) -> MutexGuard<'_, Vec<Kept>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn solved(&self, step: usize, masked: bool) -> Option<Terrain> {
        self.find(step, |what| match what {
            Solved::Land(land, with_mask) if *with_mask == masked => Some(land.clone()),
            _ => None,
        })
    }

    pub fn refinement(&self, step: usize) -> Option<Arc<Refinement>> {
        self.find(step, |what| match what {
            Solved::Change(change) => Some(change.clone()),
            Solved::Land(..) => None,
        })
    }

    pub fn keep_solved(&self, step: usize, masked: bool, land: &Terrain, layers: &Layers) {
        // Layers that the step left alone are shared with the step that made them.
        let own = layers.writes.iter().filter_map(|name| land.layers().get(name));
        let bytes = own.map(|data| data.bytes().len() as u64).sum();
        self.keep(Kept { step, what: Solved::Land(land.clone(), masked), bytes });
    }

    pub fn keep_refinement(&self, step: usize, change: &Arc<Refinement>) {
        self.keep(Kept { step, what: Solved::Change(change.clone()), bytes: change.bytes() });
    }

    /// Whether a plan finds everything here that reaches the whole world.
    fn has_all(&self, checked: &Checked, plan: &Plan) -> bool {
        let entries = self.entries();
        plan.world_steps(checked).all(|(step, masked)| {
            entries.iter().any(|kept| match (&kept.what, masked) {
                (Solved::Change(_), None) => kept.step == step,
                (Solved::Land(_, with_mask), Some(masked)) => kept.step == step && *with_mask == masked,
                _ => false,
            })
        })
    }

    fn find<T>(&self, step: usize, get: impl Fn(&Solved) -> Option<T>) -> Option<T> {
        let mut entries = self.entries();
        let (at, found) = (entries.iter().enumerate())
            .find_map(|(at, kept)| Some((at, get(&kept.what).filter(|_| kept.step == step)?)))?;
        let used = entries.remove(at);
        entries.push(used);
        Some(found)
    }

    fn keep(&self, kept: Kept) {
        let mut entries = self.entries();
        let same = |old: &Kept| {
            old.step == kept.step
                && match (&old.what, &kept.what) {
                    (Solved::Land(_, a), Solved::Land(_, b)) => a == b,
                    (Solved::Change(_), Solved::Change(_)) => true,
                    _ => false,
                }
        };
        entries.retain(|old| !same(old));
        let mut total: u64 = entries.iter().map(|kept| kept.bytes).sum::<u64>() + kept.bytes;
        while total > self.max_bytes && !entries.is_empty() {
            total -= entries.remove(0).bytes;
        }
        if total <= self.max_bytes {
            entries.push(kept);
        }
    }
}
