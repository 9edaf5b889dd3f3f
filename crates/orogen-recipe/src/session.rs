//! A recipe made ready to answer for any window, from any thread.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use orogen_core::{Backend, Cancel, Files, Frame, LayerName, Layers, NoFiles, Part, Terrain};

use crate::cache::Cache;
use crate::check::Checked;
use crate::edit::{self, Identity, Slot};
use crate::plan::{Plan, PlanError};
use crate::refine::Refinement;
use crate::run::{Finished, Observer, Operators, RunContext, RunError, RunOptions, Unobserved, run_through};
use crate::windows::Windows;

/// Memory that a session may keep between its answers, by default.
const DEFAULT_KEPT_BYTES: u64 = 2 << 30;

/// What a session owns besides its recipe.
pub struct SessionOptions {
    /// The files that parameters name.
    pub files: Arc<dyn Files + Send + Sync>,
    /// Where what steps that reach the whole world found is kept on disk.
    pub cache: Option<Arc<Cache>>,
    /// Bytes of what such steps found that may stay in memory, where what was not used for longest goes first; and as many
    /// again of the whole results of steps (see [`Session::land`]), where what is made soonest goes first. What sources made
    /// for windows of late takes a sixteenth of it, and at most 48 MB.
    pub kept_bytes: u64,
    /// What does the work.
    pub backend: Backend,
}

impl Default for SessionOptions {
    fn default() -> Self {
        Self { files: Arc::new(NoFiles), cache: None, kept_bytes: DEFAULT_KEPT_BYTES, backend: Backend::Cpu }
    }
}

/// A checked recipe whose operators are prepared once and whose `World` steps are solved once.
///
/// Every answer equals the same part of a build of the whole, to the bit.
pub struct Session {
    pub(crate) checked: Checked,
    /// What each step is made from besides its input.
    pub(crate) identities: Vec<Option<Identity>>,
    pub(crate) files: Arc<dyn Files + Send + Sync>,
    pub(crate) cache: Option<Arc<Cache>>,
    pub(crate) operators: Operators,
    pub(crate) backend: Backend,
    pub(crate) memory: Memory,
    /// What each step gave on the whole frame.
    pub(crate) slots: Mutex<Vec<Slot>>,
    /// The session that previews come from, with the number of samples that they have.
    pub(crate) coarse: Mutex<Option<(usize, Box<Self>)>>,
    /// Held while steps that reach the whole world are solved, so that no two threads do it.
    solving: Mutex<()>,
}

impl Session {
    /// A session over a recipe. Nothing is worked out yet.
    #[must_use]
    pub fn new(checked: Checked, options: SessionOptions) -> Self {
        Self {
            operators: Operators::of(&checked),
            identities: Identity::all(&checked),
            slots: Mutex::new(checked.steps().iter().map(|_| Slot::default()).collect()),
            coarse: Mutex::default(),
            checked,
            files: options.files,
            cache: options.cache,
            backend: options.backend,
            memory: Memory {
                max_bytes: options.kept_bytes,
                entries: Mutex::default(),
                windows: Windows::default(),
            },
            solving: Mutex::default(),
        }
    }

    /// The recipe.
    #[must_use]
    pub fn checked(&self) -> &Checked {
        &self.checked
    }

    /// Bytes of solved steps, whole results and windows of late that are in memory now; what belongs to both counts twice.
    #[must_use]
    pub fn kept_bytes(&self) -> u64 {
        let solved: u64 = self.memory.entries().iter().map(|entry| entry.bytes).sum();
        solved + self.memory.windows.bytes() + edit::own_bytes(&self.slots()).iter().sum::<u64>()
    }

    pub(crate) fn slots(&self) -> MutexGuard<'_, Vec<Slot>> {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What the session of previews owns: nothing of it is worth a place on disk.
    pub(crate) fn coarse_options(&self) -> SessionOptions {
        SessionOptions {
            files: self.files.clone(),
            cache: None,
            kept_bytes: self.memory.max_bytes,
            backend: self.backend,
        }
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

    pub(crate) fn answer(
        &self,
        plan: &Plan,
        observer: &dyn Observer,
        cancel: &Cancel,
    ) -> Result<Finished, RunError> {
        let options = RunOptions { observer, cancel, ..self.run_options() };
        if self.memory.has_all(&self.checked, plan) {
            return run_through(&self.run_context(plan, RunOptions { cache: None, ..options }));
        }
        // A worker of a thread pool that waits here may hold up the very work that it waits for: it solves for itself.
        if rayon::current_thread_index().is_some() {
            let _solving = self.solving.try_lock();
            return run_through(&self.run_context(plan, options));
        }
        let _solving = self.solving.lock().unwrap_or_else(PoisonError::into_inner);
        run_through(&self.run_context(plan, options))
    }

    /// What surrounds a run that nobody watches.
    pub(crate) fn run_options(&self) -> RunOptions<'_> {
        RunOptions {
            cache: self.cache.as_deref(),
            files: self.files.as_ref(),
            backend: self.backend,
            ..RunOptions::default()
        }
    }

    pub(crate) fn run_context<'a>(&'a self, plan: &'a Plan, options: RunOptions<'a>) -> RunContext<'a> {
        let Self { checked, operators, memory, .. } = self;
        RunContext { checked, plan, options, operators, memory: Some(memory) }
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
    pub max_bytes: u64,
    entries: Mutex<Vec<Kept>>,
    /// What sources made for windows of late.
    pub windows: Windows,
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

    /// Keeps what belongs to the steps that have a new number, under that.
    pub fn keep_steps(&self, new_number: impl Fn(usize) -> Option<usize>) {
        self.windows.keep_steps(&new_number);
        self.entries().retain_mut(|kept| new_number(kept.step).map(|step| kept.step = step).is_some());
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
