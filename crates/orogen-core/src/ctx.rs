//! What surrounds an operator while it runs.

use std::collections::BTreeSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use serde::{Deserialize, Serialize};

use crate::error::{Cancelled, OpError};
use crate::files::{Files, NoFiles};
use crate::frame::Frame;
use crate::place::Place;
use crate::provenance::Part;
use crate::rng::Seed;
use crate::terrain::Terrain;

/// A switch that stops work; clones of the reference may be thrown from any thread.
#[derive(Debug, Default)]
pub struct Cancel(AtomicBool);

impl Cancel {
    /// A switch not yet thrown.
    #[must_use]
    pub const fn new() -> Self {
        Self(AtomicBool::new(false))
    }

    /// Asks for the work to stop.
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether it was cancelled.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// Watches a step: sees its progress and may stop it.
pub trait Watch: Sync {
    /// A share of the step, 0 to 1, is done. Called from any thread.
    fn progress(&self, share: f32);
    /// Whether the step should stop.
    fn is_cancelled(&self) -> bool;
}

/// Watches nothing and stops nothing.
#[derive(Clone, Copy, Debug)]
pub struct Silent;

impl Watch for Silent {
    fn progress(&self, _: f32) {}
    fn is_cancelled(&self) -> bool {
        false
    }
}

/// A number that an operator measured of its own work (rock worn away, say): it stands in the manifest.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Figure {
    /// What was measured, in a word or a few joined by underscores.
    pub name: String,
    /// How much.
    pub value: f64,
    /// Its unit; empty for plain numbers.
    pub unit: String,
}

/// What does the work. Results of one are never taken for those of another: they differ in their last bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Backend {
    /// The processor: the reference.
    #[default]
    Cpu,
    /// The graphics card, for operators that have a twin there.
    Gpu,
}

impl Backend {
    /// Its name in cache keys and reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Cpu => "cpu",
            Self::Gpu => "gpu",
        }
    }
}

/// What surrounds an operator while it runs: its seed, the world it lies in, progress and cancellation, warnings.
///
/// Threads are those of the rayon pool the call runs in.
pub struct Ctx<'a> {
    seed: Seed,
    world: Option<Frame>,
    place: Place,
    backend: Backend,
    second: Option<&'a Terrain>,
    files: &'a dyn Files,
    watch: &'a dyn Watch,
    /// The parts of the result that are wanted; all of them where nothing is said.
    wanted: Option<&'a BTreeSet<Part>>,
    /// Whether progress is for the caller alone to tell.
    quiet: bool,
    warnings: Mutex<Vec<String>>,
    figures: Mutex<Vec<Figure>>,
}

impl<'a> Ctx<'a> {
    /// A surrounding with a seed and nothing else: no files, nobody watching, the terrain is its own world.
    #[must_use]
    pub fn new(seed: Seed) -> Self {
        Self {
            seed,
            world: None,
            place: Place::default(),
            backend: Backend::Cpu,
            second: None,
            files: &NoFiles,
            watch: &Silent,
            wanted: None,
            quiet: false,
            warnings: Mutex::default(),
            figures: Mutex::default(),
        }
    }

    /// For tests and small tools.
    #[must_use]
    pub fn silent() -> Self {
        Self::new(Seed(0))
    }

    /// The recipe's own frame, of which the current terrain may be a window.
    #[must_use]
    pub fn in_world(mut self, world: Frame) -> Self {
        self.world = Some(world);
        self
    }

    /// Where on Earth the world lies.
    #[must_use]
    pub fn at_place(mut self, place: Place) -> Self {
        self.place = place;
        self
    }

    /// What does the work.
    #[must_use]
    pub fn on(mut self, backend: Backend) -> Self {
        self.backend = backend;
        self
    }

    /// A second terrain for operators that combine two.
    #[must_use]
    pub fn with_second(mut self, second: Option<&'a Terrain>) -> Self {
        self.second = second;
        self
    }

    /// Where files come from.
    #[must_use]
    pub fn with_files(mut self, files: &'a dyn Files) -> Self {
        self.files = files;
        self
    }

    /// Who watches.
    #[must_use]
    pub fn watched_by(mut self, watch: &'a dyn Watch) -> Self {
        self.watch = watch;
        self
    }

    /// Which parts of the result are wanted; `None` for all of them.
    #[must_use]
    pub fn wanting(mut self, parts: Option<&'a BTreeSet<Part>>) -> Self {
        self.wanted = parts;
        self
    }

    /// Whether a part of the result is wanted. An operator may leave out those that are not.
    #[must_use]
    pub fn wants(&self, part: &Part) -> bool {
        self.wanted.is_none_or(|wanted| wanted.contains(part))
    }

    /// The same surrounding for a part of the work whose own progress nobody sees. It can be stopped like the whole.
    #[must_use]
    pub fn unwatched(&self) -> Ctx<'_> {
        Ctx {
            seed: self.seed,
            world: self.world,
            place: self.place,
            backend: self.backend,
            second: self.second,
            files: self.files,
            watch: self.watch,
            wanted: self.wanted,
            quiet: true,
            warnings: Mutex::default(),
            figures: Mutex::default(),
        }
    }

    /// The same surrounding for the whole work on land that was unrolled from a world that loops.
    pub(crate) fn on_loop<'b>(&'b self, world: Frame, second: Option<&'b Terrain>) -> Ctx<'b> {
        Ctx { world: Some(world), second, watch: self.watch, ..self.unwatched() }
    }

    /// Hands warnings and figures on to another surrounding, of areas and volumes a share only.
    pub(crate) fn hand_on(&self, to: &Ctx<'_>, share: f64) {
        self.take_warnings().into_iter().for_each(|warning| to.warn(warning));
        for Figure { name, value, unit } in self.take_figures() {
            let measured = matches!(unit.as_str(), "m2" | "m3");
            to.report(&name, if measured { value * share } else { value }, &unit);
        }
    }

    /// The seed of this step.
    #[must_use]
    pub fn seed(&self) -> Seed {
        self.seed
    }

    /// The frame of the whole world that `terrain` is a window of.
    #[must_use]
    pub fn world(&self, terrain: &Terrain) -> Frame {
        self.world.unwrap_or(*terrain.frame())
    }

    /// Where on Earth the world lies, as far as that is known.
    #[must_use]
    pub fn place(&self) -> Place {
        self.place
    }

    /// What does the work.
    #[must_use]
    pub fn backend(&self) -> Backend {
        self.backend
    }

    /// The second terrain, where the step names one.
    #[must_use]
    pub fn second(&self) -> Option<&'a Terrain> {
        self.second
    }

    /// The files this step may read.
    #[must_use]
    pub fn files(&self) -> &'a dyn Files {
        self.files
    }

    /// Reports `done` of `total` and stops here if cancelled.
    ///
    /// # Errors
    /// When the work was cancelled.
    pub fn tick(&self, done: usize, total: usize) -> Result<(), Cancelled> {
        if self.watch.is_cancelled() {
            return Err(Cancelled);
        }
        if !self.quiet {
            self.watch.progress(done as f32 / total.max(1) as f32);
        }
        Ok(())
    }

    /// Stops here if cancelled; for loops of unknown length.
    ///
    /// # Errors
    /// When the work was cancelled.
    pub fn stop_if_asked(&self) -> Result<(), Cancelled> {
        if self.watch.is_cancelled() { Err(Cancelled) } else { Ok(()) }
    }

    /// A counter for work of `total` parts that several threads share.
    #[must_use]
    pub fn counter(&self, total: usize) -> Counter<'_> {
        Counter { watch: self.watch, quiet: self.quiet, done: AtomicU64::new(0), total }
    }

    /// Notes something odd that the user should read; the work goes on.
    pub fn warn(&self, message: impl Into<String>) {
        if let Ok(mut warnings) = self.warnings.lock() {
            warnings.push(message.into());
        }
    }

    /// What was noted so far, leaving nothing.
    pub fn take_warnings(&self) -> Vec<String> {
        self.warnings.lock().map(|mut w| std::mem::take(&mut *w)).unwrap_or_default()
    }

    /// Reports a measured number; it ends in the step's entry of the manifest, in the order of reporting.
    pub fn report(&self, name: &str, value: f64, unit: &str) {
        if let Ok(mut figures) = self.figures.lock() {
            figures.push(Figure { name: name.to_owned(), value, unit: unit.to_owned() });
        }
    }

    /// What was reported so far, leaving nothing.
    pub fn take_figures(&self) -> Vec<Figure> {
        self.figures.lock().map(|mut f| std::mem::take(&mut *f)).unwrap_or_default()
    }

    /// The second terrain, or the sentence that says how to name one.
    ///
    /// # Errors
    /// When the step names none.
    pub fn need_second(&self, op: &'static str) -> Result<&'a Terrain, OpError> {
        self.second.ok_or(OpError::NoSecond(op))
    }
}

/// Counts parts done by several threads.
pub struct Counter<'a> {
    watch: &'a dyn Watch,
    quiet: bool,
    done: AtomicU64,
    total: usize,
}

impl Counter<'_> {
    /// One more part is done; stops here if cancelled.
    ///
    /// # Errors
    /// When the work was cancelled.
    pub fn done(&self) -> Result<(), Cancelled> {
        if self.watch.is_cancelled() {
            return Err(Cancelled);
        }
        let done = self.done.fetch_add(1, Ordering::Relaxed) + 1;
        if !self.quiet {
            self.watch.progress(done as f32 / self.total.max(1) as f32);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Stopping(AtomicU64);

    impl Watch for Stopping {
        fn progress(&self, _: f32) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
        fn is_cancelled(&self) -> bool {
            true
        }
    }

    #[test]
    fn a_part_whose_progress_nobody_sees_can_be_stopped() {
        let watch = Stopping(AtomicU64::new(0));
        let ctx = Ctx::silent().watched_by(&watch);
        let part = ctx.unwatched();
        assert!(part.tick(1, 2).is_err());
        assert!(part.counter(2).done().is_err());
        assert!(part.stop_if_asked().is_err());
        assert_eq!(watch.0.load(Ordering::Relaxed), 0);
    }
}
