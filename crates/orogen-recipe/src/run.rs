//! Runs a plan: only what is neither cached nor needed by nothing, dropping every terrain at its last use.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, OnceLock};

use orogen_core::{
    Applying, Backend, Cancel, Ctx, Figure, Files, Frame, Kind, LayerData, LayerName, Moment, NoFiles,
    OpError, Part, Place, Progress, Provenance, Reach, Ready, Terrain, Watch,
};
use serde::Serialize;
use thiserror::Error;

use crate::cache::{Cache, Entry, Found, Key, KeyMaker};
use crate::check::{Checked, Step};
use crate::clock::Stopwatch;
use crate::mask::limit_to_mask;
use crate::plan::{Plan, Task, Use, Work, was_held};
use crate::refine::Refinement;
use crate::session::Memory;

/// Watches a run. Every method is optional.
pub trait Observer: Sync {
    /// The operator of a task starts; `index` of `count` tasks. Work around the tasks has a `count` of 0.
    fn step_started(&self, index: usize, count: usize, id: &str, op: &str) {
        let _ = (index, count, id, op);
    }
    /// A share of the current task, 0 to 1, is done. Called from any thread.
    fn progress(&self, share: f32) {
        let _ = share;
    }
    /// A task is done, or was not needed since its result or a later one is cached.
    fn step_finished(&self, report: &StepReport) {
        let _ = report;
    }
    /// A warning, in a sentence; warnings of steps come with the step's id and are in its report too.
    fn warning(&self, message: &str) {
        let _ = message;
    }
}

/// Sees nothing.
#[derive(Clone, Copy, Debug)]
pub struct Unobserved;

impl Observer for Unobserved {}

/// Knows the most memory that was in use.
pub trait Meter: Sync {
    /// Starts anew from what is in use now.
    fn reset(&self);
    /// The most bytes in use since the last reset.
    fn peak_bytes(&self) -> u64;
}

/// What surrounds a run.
#[derive(Clone, Copy)]
pub struct RunOptions<'a> {
    /// Where results are kept; `None` to keep and look for nothing.
    pub cache: Option<&'a Cache>,
    /// The files that parameters name.
    pub files: &'a dyn Files,
    /// Receives progress and warnings.
    pub observer: &'a dyn Observer,
    /// The switch that stops the run.
    pub cancel: &'a Cancel,
    /// What does the work.
    pub backend: Backend,
    /// Measures memory for the reports.
    pub meter: Option<&'a dyn Meter>,
}

impl Default for RunOptions<'_> {
    fn default() -> Self {
        static NEVER: Cancel = Cancel::new();
        Self {
            cache: None,
            files: &NoFiles,
            observer: &Unobserved,
            cancel: &NEVER,
            backend: Backend::Cpu,
            meter: None,
        }
    }
}

/// What a run gave.
#[derive(Debug)]
pub struct Finished {
    /// The terrain of the plan's window.
    pub terrain: Terrain,
    /// One report per task of the plan, in its order.
    pub steps: Vec<StepReport>,
}

/// How a task went.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StepReport {
    /// The step's id.
    pub id: String,
    /// Its operator.
    pub op: &'static str,
    /// Where it was worked out.
    pub frame: Frame,
    /// How long it took, loading included.
    pub seconds: f64,
    /// The most memory in use meanwhile, if it was measured.
    pub peak_bytes: Option<u64>,
    /// Whether its operator did not run, since its result or a later one is cached.
    pub cached: bool,
    /// Warnings of the operator; kept in the cache.
    pub warnings: Vec<String>,
    /// What the operator measured of its own work (before the step's mask, if it has one); kept in the cache.
    pub figures: Vec<Figure>,
}

/// Why a run gave nothing.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum RunError {
    /// The run was cancelled.
    #[error("cancelled")]
    Cancelled,
    /// An invariant of the engine does not hold: a bug, never caused by the recipe.
    #[error("internal error in Orogen, please report it: {0}")]
    Internal(String),
    /// A step failed.
    #[error("step {id:?} ({op}): {error}")]
    Step {
        /// The step's id.
        id: String,
        /// Its operator.
        op: &'static str,
        /// Why.
        error: OpError,
    },
}

/// Runs a plan of a checked recipe, in the rayon pool of the caller.
///
/// # Errors
/// When cancelled, or when a step fails.
pub fn run(checked: &Checked, plan: &Plan, options: &RunOptions<'_>) -> Result<Finished, RunError> {
    let operators = Operators::of(checked);
    run_through(&RunContext { checked, plan, options: *options, operators: &operators, memory: None })
}

/// The operators of a recipe, each made ready when it is first needed.
#[derive(Debug)]
pub(crate) struct Operators(Vec<OnceLock<Arc<Ready>>>);

impl Operators {
    pub fn of(checked: &Checked) -> Self {
        Self(checked.steps().iter().map(|_| OnceLock::new()).collect())
    }

    /// Goes on with other steps: for each, the one that it was before if it still is ready.
    pub fn keep(&mut self, was: Vec<Option<usize>>) {
        let mut old: Vec<Option<OnceLock<Arc<Ready>>>> = self.0.drain(..).map(Some).collect();
        self.0 = was.into_iter().map(|was| was.and_then(|was| old[was].take()).unwrap_or_default()).collect();
    }

    pub fn get(&self, checked: &Checked, step: usize, ctx: &Ctx<'_>) -> Result<&Arc<Ready>, OpError> {
        if let Some(ready) = self.0[step].get() {
            return Ok(ready);
        }
        let ready = Arc::new(Ready::new(checked.steps()[step].op.clone(), checked.frame(), ctx)?);
        // Another thread may have been first: both are the same.
        Ok(self.0[step].get_or_init(|| ready))
    }
}

/// Does all pieces of a run, one after the other.
pub(crate) fn run_through(context: &RunContext<'_>) -> Result<Finished, RunError> {
    let mut state = State::start(context)?;
    while state.advance(context)? == Progress::More {}
    state.finish(context)
}

/// What happens to a task in a round.
enum Fate {
    /// Its result is here or nobody needs it.
    Skip,
    /// Its result comes from the cache.
    Load(Entry),
    /// Its operator runs.
    Run,
}

/// What a run needs at every piece of its work: operators that may be ready already. Where `memory` is given, what steps
/// that reach the whole world found is looked for and kept there, and nothing else is stored.
#[derive(Clone, Copy)]
pub(crate) struct RunContext<'a> {
    pub checked: &'a Checked,
    pub plan: &'a Plan,
    pub options: RunOptions<'a>,
    pub operators: &'a Operators,
    pub memory: Option<&'a Memory>,
}

/// How far a run has come. It owns all that it found.
pub(crate) struct State {
    /// Where on Earth the land lies.
    place: Place,
    /// What each task's result is stored under; none without a cache.
    keys: Vec<Key>,
    /// What tasks that bring a step to another lattice found in memory.
    refinements: Vec<Option<Arc<Refinement>>>,
    terrains: Vec<Option<Terrain>>,
    /// How often each result will still be taken.
    uses: Vec<usize>,
    /// Tasks whose cache entry turned out to be gone or damaged.
    not_cached: Vec<bool>,
    /// How long it took to make each result from what is stored.
    seconds: Vec<f64>,
    reports: Vec<Option<StepReport>>,
    /// Whether the user was warned that the cache cannot be written.
    complained: bool,
    /// What happens to each task, and the first that it has not happened to yet.
    fates: Vec<Fate>,
    next: usize,
    at_work: Option<AtWork>,
}

/// An operator that is at work for a task.
struct AtWork {
    task: usize,
    applying: Applying,
    second: Option<Terrain>,
    checks: Checks,
    seconds: f64,
    warnings: Vec<String>,
    figures: Vec<Figure>,
}

impl<'a> RunContext<'a> {
    fn step(&self, task: usize) -> &'a Step {
        &self.checked.steps()[self.plan.tasks()[task].step]
    }

    fn watch(&self) -> TaskWatch<'a> {
        TaskWatch { observer: self.options.observer, cancel: self.options.cancel }
    }

    /// What surrounds the operator of a task.
    fn ctx<'c>(
        &self,
        task: usize,
        place: Place,
        watch: &'c TaskWatch<'a>,
        second: Option<&'c Terrain>,
    ) -> Ctx<'c>
    where
        'a: 'c,
    {
        Ctx::new(self.step(task).seed)
            .in_world(*self.checked.frame())
            .at_place(place)
            .on(self.options.backend)
            .with_files(self.options.files)
            .watched_by(watch)
            .with_second(second)
            .wanting(self.plan.tasks()[task].wanted.as_deref())
    }

    /// An operator's error as the run's.
    fn failed(&self, task: usize, error: OpError) -> RunError {
        match error {
            OpError::Cancelled => RunError::Cancelled,
            error => RunError::Step { id: self.step(task).id.clone(), op: self.step(task).op.id(), error },
        }
    }

    fn stop_if_asked(&self) -> Result<(), RunError> {
        if self.options.cancel.is_cancelled() { Err(RunError::Cancelled) } else { Ok(()) }
    }

    /// Whether a task solves a step for the whole world.
    fn is_world(&self, task: &Task) -> bool {
        let base = self.checked.frame();
        task.frame == *base && self.checked.steps()[task.step].op.reach(base) == Reach::World
    }

    /// Whether a task makes a window of another lattice from nothing, the same wherever the window ends.
    fn is_source(&self, task: &Task, on: &Frame) -> bool {
        let (base, op) = (self.checked.frame(), &self.checked.steps()[task.step].op);
        let other = !on.same_lattice(base) && !base.loops();
        self.memory.is_some() && other && op.reach(on) == Reach::Point
    }

    /// Whether a result is looked for and put into the cache. With a memory, windows come and go, and are cheaper made
    /// than stored.
    fn is_stored(&self, i: usize) -> bool {
        self.memory.is_none() || self.is_world(&self.plan.tasks()[i])
    }
}

impl State {
    pub fn start(context: &RunContext<'_>) -> Result<Self, RunError> {
        let count = context.plan.tasks().len();
        let RunContext { checked, plan, options, .. } = context;
        let place = checked.place(options.files);
        let mut state = Self {
            place,
            keys: if options.cache.is_some() {
                keys(checked, plan, options.files, options.backend, place)?
            } else {
                Vec::new()
            },
            refinements: (0..count).map(|_| None).collect(),
            terrains: (0..count).map(|_| None).collect(),
            uses: vec![0; count],
            not_cached: vec![false; count],
            seconds: vec![0.0; count],
            reports: vec![None; count],
            complained: false,
            fates: Vec::new(),
            next: 0,
            at_work: None,
        };
        state.fates = state.decide(context);
        Ok(state)
    }

    /// Does a piece of the work: an operator's own piece, or a task that is not in pieces.
    pub fn advance(&mut self, context: &RunContext<'_>) -> Result<Progress, RunError> {
        context.stop_if_asked()?;
        let started = Stopwatch::start();
        if self.at_work.is_some() {
            self.advance_task(context, started)?;
            return Ok(self.progress());
        }
        while self.next < self.fates.len() {
            let i = self.next;
            self.next += 1;
            context.stop_if_asked()?;
            match std::mem::replace(&mut self.fates[i], Fate::Skip) {
                Fate::Skip => self.finish_cached(context, i, None, started),
                Fate::Load(entry) => {
                    self.load(context, i, entry, started);
                    break;
                }
                Fate::Run => {
                    self.start_task(context, i, started)?;
                    break;
                }
            }
        }
        Ok(self.progress())
    }

    fn progress(&self) -> Progress {
        let more = self.at_work.is_some() || self.next < self.fates.len();
        if more { Progress::More } else { Progress::Done }
    }

    /// The result, once all is done.
    pub fn finish(mut self, context: &RunContext<'_>) -> Result<Finished, RunError> {
        let mut terrain = match context.plan.output() {
            None => Terrain::new(*context.plan.window()),
            Some(output) => self.take(context, output)?,
        };
        terrain.set_place(self.place);
        Ok(Finished { terrain, steps: self.reports.into_iter().flatten().collect() })
    }

    /// The task at work or done last, and how far it has come.
    pub fn moment(&self) -> (usize, Moment) {
        match &self.at_work {
            Some(work) => (work.task, work.applying.moment()),
            None if self.next == 0 => (0, Moment::START),
            None => (self.next - 1, Moment::END),
        }
    }

    /// Whether the operator at work shows the land on its way.
    pub fn is_stepped(&self) -> bool {
        self.at_work.as_ref().is_some_and(|work| work.applying.is_stepped())
    }

    /// The land as it is now: of the operator at work, or of the last task that left a result.
    pub fn view(&self, context: &RunContext<'_>) -> Result<Terrain, RunError> {
        let window = context.plan.window();
        let land = match &self.at_work {
            Some(AtWork { task, applying, checks, .. }) => {
                let land =
                    caught(|| applying.view()).and_then(|land| checks.masked(context.step(*task), land));
                Some(land.map_err(|error| context.failed(*task, error))?)
            }
            None => self.terrains[..self.next].iter().rev().find_map(Clone::clone),
        };
        let Some(land) = land else { return Ok(Terrain::new(*window)) };
        let mut land = land.crop(window).unwrap_or(land);
        land.set_place(self.place);
        Ok(land)
    }

    /// Takes a result from the cache. Where the entry turns out bad, more is needed than was decided.
    fn load(&mut self, context: &RunContext<'_>, i: usize, entry: Entry, started: Stopwatch) {
        let Some(cache) = context.options.cache else { return };
        let found = cache.load(&self.keys[i], &entry, &context.plan.tasks()[i].frame);
        if let Found::Hit(terrain) = found {
            self.terrains[i] = Some(terrain);
            return self.finish_cached(context, i, Some(entry), started);
        }
        if let Found::Damaged(message) = found {
            context.options.observer.warning(&message);
        }
        self.not_cached[i] = true;
        self.fates = self.decide(context);
        self.next = 0;
    }

    /// Decides from the result backwards what is needed.
    fn decide(&mut self, context: &RunContext<'_>) -> Vec<Fate> {
        let tasks = context.plan.tasks();
        let Some(output) = context.plan.output() else { return Vec::new() };
        self.uses.fill(0);
        self.uses[output.task] = 1;
        let mut fates: Vec<Fate> = Vec::with_capacity(tasks.len());
        for (i, task) in tasks.iter().enumerate().rev() {
            if self.uses[i] == 0 {
                self.terrains[i] = None;
                fates.push(Fate::Skip);
            } else if self.terrains[i].is_some() || self.remembered(context, i) {
                fates.push(Fate::Skip);
            } else if let Some(entry) = self.peek(context, i) {
                fates.push(Fate::Load(entry));
            } else {
                let refined = self.refinements[i].is_some();
                let needed = |used: &Use| match task.work {
                    Work::Place { base_input, solved, .. } if refined => {
                        *used != solved && Some(*used) != base_input
                    }
                    _ => true,
                };
                task.uses().filter(needed).for_each(|used| self.uses[used.task] += 1);
                fates.push(Fate::Run);
            }
        }
        fates.reverse();
        fates
    }

    /// Whether memory has a task's result, or (which only counts as a help) what brings it to the task's lattice.
    fn remembered(&mut self, context: &RunContext<'_>, i: usize) -> bool {
        let (Some(memory), task) = (context.memory, &context.plan.tasks()[i]) else { return false };
        match task.work {
            Work::Apply { masked, .. } if context.is_world(task) => {
                self.terrains[i] = memory.solved(task.step, masked);
            }
            Work::Place { solved, .. } if solved.frame != task.frame => {
                self.refinements[i] = memory.refinement(task.step);
            }
            _ => {}
        }
        self.terrains[i].is_some()
    }

    fn peek(&self, context: &RunContext<'_>, i: usize) -> Option<Entry> {
        let cache = context.options.cache.filter(|_| !self.not_cached[i])?;
        if !context.is_stored(i) {
            return None;
        }
        match cache.peek(&self.keys[i]) {
            Found::Hit(entry) => Some(entry),
            Found::Miss => None,
            Found::Damaged(message) => {
                context.options.observer.warning(&message);
                None
            }
        }
    }

    /// Reports a task whose operator did not run, once.
    fn finish_cached(
        &mut self,
        context: &RunContext<'_>,
        i: usize,
        entry: Option<Entry>,
        started: Stopwatch,
    ) {
        if self.reports[i].is_some() {
            return;
        }
        // A result that nobody needs is not loaded, but what it warned of still holds.
        let entry =
            entry.or_else(|| context.options.cache.filter(|_| context.is_stored(i))?.glance(&self.keys[i]));
        let (warnings, figures) = entry.map(|entry| (entry.warnings, entry.figures)).unwrap_or_default();
        let report = StepReport {
            seconds: started.seconds(),
            cached: true,
            warnings,
            figures,
            ..blank_report(context, i)
        };
        self.finish_task(context, i, report);
    }

    fn finish_task(&mut self, context: &RunContext<'_>, i: usize, report: StepReport) {
        for warning in &report.warnings {
            context.options.observer.warning(&format!("step {:?}: {warning}", report.id));
        }
        context.options.observer.step_finished(&report);
        self.reports[i] = Some(report);
    }

    /// Begins a task; one that is not in pieces is done at once.
    fn start_task(&mut self, context: &RunContext<'_>, i: usize, started: Stopwatch) -> Result<(), RunError> {
        let (task, step, options) = (&context.plan.tasks()[i], context.step(i), &context.options);
        options.observer.step_started(i, context.plan.tasks().len(), &step.id, step.op.id());
        if let Some(meter) = options.meter {
            meter.reset();
        }
        let watch = context.watch();
        let fail = |error| context.failed(i, error);
        // What an operator may change comes last: by then nobody else holds it.
        match task.work {
            Work::Apply { on, input: None, second: None, masked: false } if context.is_source(task, &on) => {
                let ctx = context.ctx(i, self.place, &watch, None);
                let ready =
                    caught(|| context.operators.get(context.checked, task.step, &ctx)).map_err(fail)?;
                let make = |part| apply(step, ready, Terrain::new(part), false, &ctx);
                let land = match context.memory {
                    Some(Memory { windows, max_bytes, .. }) => {
                        windows.made(task.step, task.wanted.as_ref(), &on, *max_bytes, make)
                    }
                    None => make(on),
                };
                let result = land.and_then(|land| cut(land, &task.frame)).map_err(fail)?;
                let (warnings, figures) = (ctx.take_warnings(), ctx.take_figures());
                let report =
                    StepReport { seconds: started.seconds(), warnings, figures, ..blank_report(context, i) };
                self.keep(context, i, result, report, Stopwatch::start())
            }
            Work::Apply { on, input, second, masked } => {
                let ctx = context.ctx(i, self.place, &watch, None);
                let ready =
                    caught(|| context.operators.get(context.checked, task.step, &ctx)).map_err(fail)?;
                let second = second.map(|used| self.take(context, used)).transpose()?;
                let ctx = ctx.with_second(second.as_ref());
                let input = self.take_or_empty(context, input, on)?;
                let checks = Checks::new(step, &input, masked);
                let applying = caught(|| ready.start(input, &ctx)).map_err(fail)?;
                let (warnings, figures) = (ctx.take_warnings(), ctx.take_figures());
                let seconds = started.seconds();
                self.at_work = Some(AtWork { task: i, applying, second, checks, seconds, warnings, figures });
                Ok(())
            }
            Work::Place { input, base_input, solved, masked } => {
                let refinement = match (self.refinements[i].take(), base_input) {
                    (Some(known), _) => Some(known),
                    (None, _) if solved.frame == task.frame => None,
                    (None, base_input) => {
                        let solved = self.take(context, solved)?;
                        let base_input = base_input.map(|used| self.take(context, used)).transpose()?;
                        let ctx = context.ctx(i, self.place, &watch, None);
                        let held = was_held(context.checked.steps(), task.step);
                        let made = caught(|| Refinement::new(step, held, base_input.as_ref(), &solved, &ctx));
                        let made = Arc::new(made.map_err(fail)?);
                        if let Some(memory) = context.memory {
                            memory.keep_refinement(task.step, &made);
                        }
                        Some(made)
                    }
                };
                let placed = if refinement.is_none() { Some(self.take(context, solved)?) } else { None };
                let input = self.take_or_empty(context, input, task.frame)?;
                let before = masked.then(|| cut(input.clone(), &task.frame)).transpose().map_err(fail)?;
                let placed = match (placed, refinement) {
                    (Some(placed), _) => placed,
                    (None, Some(refinement)) => {
                        let ctx = context.ctx(i, self.place, &watch, None);
                        caught(|| refinement.apply(input, &task.frame, &ctx)).map_err(fail)?
                    }
                    (None, None) => input,
                };
                let result = match (&before, &step.mask) {
                    (Some(before), Some(mask)) => {
                        limit_to_mask(before, placed, mask, &step.layers.writes).map_err(fail)?
                    }
                    _ => placed,
                };
                let report = StepReport { seconds: started.seconds(), ..blank_report(context, i) };
                self.keep(context, i, result, report, Stopwatch::start())
            }
        }
    }

    /// Does a piece of the operator at work, and ends its task when that was the last.
    fn advance_task(&mut self, context: &RunContext<'_>, started: Stopwatch) -> Result<(), RunError> {
        let Some(mut work) = self.at_work.take() else { return Ok(()) };
        let i = work.task;
        let fail = |error| context.failed(i, error);
        let watch = context.watch();
        let ctx = context.ctx(i, self.place, &watch, work.second.as_ref());
        let progress = caught(|| work.applying.advance(&ctx)).map_err(fail)?;
        work.warnings.extend(ctx.take_warnings());
        work.figures.extend(ctx.take_figures());
        if progress == Progress::More {
            work.seconds += started.seconds();
            self.at_work = Some(work);
            return Ok(());
        }
        let (task, step) = (&context.plan.tasks()[i], context.step(i));
        let AtWork { applying, second, checks, seconds, warnings, figures, .. } = work;
        drop(second);
        let result = applying.into_result().and_then(|result| checks.checked(step, result)).map_err(fail)?;
        let result = cut(result, &task.frame).map_err(fail)?;
        if let (Some(memory), Work::Apply { masked, .. }) = (context.memory, &task.work)
            && context.is_world(task)
        {
            memory.keep_solved(task.step, *masked, &result, &step.layers);
        }
        let report = StepReport { seconds, warnings, figures, ..blank_report(context, i) };
        self.keep(context, i, result, report, started)
    }

    /// Keeps the result of a task, in the cache too, and reports it.
    fn keep(
        &mut self,
        context: &RunContext<'_>,
        i: usize,
        terrain: Terrain,
        mut report: StepReport,
        started: Stopwatch,
    ) -> Result<(), RunError> {
        let options = &context.options;
        context.stop_if_asked()?;
        let made_in = report.seconds + started.seconds();
        let uses = context.plan.tasks()[i].uses();
        self.seconds[i] =
            uses.map(|used| self.seconds[used.task]).fold(made_in, |all, seconds| all + seconds);
        if let Some(cache) = options.cache.filter(|_| context.is_stored(i)) {
            let notes = (report.warnings.as_slice(), report.figures.as_slice());
            match cache.store(&self.keys[i], &terrain, self.seconds[i], notes, options.cancel) {
                Ok(true) => self.seconds[i] = 0.0,
                Ok(false) => {}
                Err(_) if options.cancel.is_cancelled() => return Err(RunError::Cancelled),
                Err(_) if self.complained => {}
                Err(error) => {
                    self.complained = true;
                    let place = cache.place();
                    options.observer.warning(&format!(
                        "cannot write to the cache {place} ({error}); continuing without it"
                    ));
                }
            }
        }
        self.terrains[i] = Some(terrain);
        report.seconds += started.seconds();
        report.peak_bytes = options.meter.map(Meter::peak_bytes);
        self.finish_task(context, i, report);
        Ok(())
    }

    /// A result for one of its users: shared with those still to come, handed over to the last.
    fn take(&mut self, context: &RunContext<'_>, used: Use) -> Result<Terrain, RunError> {
        let id = || &context.step(used.task).id;
        let missing = || RunError::Internal(format!("the result of step {:?} is missing", id()));
        let outside = || RunError::Internal(format!("step {:?} was computed on too small a frame", id()));
        let left = self.uses[used.task].checked_sub(1).ok_or_else(missing)?;
        let terrain = match left {
            0 => self.terrains[used.task].take(),
            _ => self.terrains[used.task].clone(),
        };
        let terrain = terrain.ok_or_else(missing)?;
        let terrain = if terrain.frame() == &used.frame {
            terrain
        } else {
            terrain.crop(&used.frame).ok_or_else(outside)?
        };
        self.uses[used.task] = left;
        Ok(terrain)
    }

    fn take_or_empty(
        &mut self,
        context: &RunContext<'_>,
        used: Option<Use>,
        frame: Frame,
    ) -> Result<Terrain, RunError> {
        used.map_or_else(|| Ok(Terrain::new(frame)), |used| self.take(context, used))
    }
}

fn blank_report(context: &RunContext<'_>, i: usize) -> StepReport {
    let step = context.step(i);
    StepReport {
        id: step.id.clone(),
        op: step.op.id(),
        frame: context.plan.tasks()[i].frame,
        seconds: 0.0,
        peak_bytes: None,
        cached: false,
        warnings: Vec::new(),
        figures: Vec::new(),
    }
}

pub(crate) struct TaskWatch<'a> {
    pub observer: &'a dyn Observer,
    pub cancel: &'a Cancel,
}

impl Watch for TaskWatch<'_> {
    fn progress(&self, share: f32) {
        self.observer.progress(share);
    }

    fn is_cancelled(&self) -> bool {
        self.cancel.is_cancelled()
    }
}

/// What each task's result is made from.
pub(crate) fn keys(
    checked: &Checked,
    plan: &Plan,
    files: &dyn Files,
    backend: Backend,
    place: Place,
) -> Result<Vec<Key>, RunError> {
    let mut keys: Vec<Key> = Vec::with_capacity(plan.tasks().len());
    // Once for each file: steps that read it in one run read the same.
    let mut fingerprints = BTreeMap::new();
    // What operators see beside their input: every number reads back to the bit.
    let surroundings = format!("{} {place:?}", backend.name());
    for task in plan.tasks() {
        let step = &checked.steps()[task.step];
        keys.push(
            key(checked, task, step, &surroundings, &keys, files, &mut fingerprints)
                .map_err(|error| RunError::Step { id: step.id.clone(), op: step.op.id(), error })?,
        );
    }
    Ok(keys)
}

fn key<'a>(
    checked: &Checked,
    task: &Task,
    step: &'a Step,
    surroundings: &str,
    keys: &[Key],
    files: &dyn Files,
    fingerprints: &mut BTreeMap<&'a str, [u8; 32]>,
) -> Result<Key, OpError> {
    let (kind, masked) = match task.work {
        Work::Apply { masked, .. } => ("apply", masked),
        Work::Place { masked, .. } => ("place 2", masked),
    };
    let mut maker = KeyMaker::new(kind);
    maker.text(step.op.id());
    maker.number(u64::from(step.op.version()));
    maker.text(surroundings);
    maker.table(&step.op.params()?);
    maker.number(step.seed.0);
    maker.text(step.mask.as_ref().filter(|_| masked).map_or("", LayerName::as_str));
    maker.frame(&task.frame);
    maker.frame(checked.frame());
    let uses = match task.work {
        Work::Apply { input, second, .. } => [input, second, None],
        Work::Place { input, base_input, solved, .. } => [input, base_input, Some(solved)],
    };
    for used in uses {
        match used {
            Some(used) => {
                maker.hash(keys[used.task].as_bytes());
                maker.frame(&used.frame);
            }
            None => maker.text(""),
        }
    }
    // A result with some parts only is not the whole one.
    for part in task.wanted.iter().flat_map(|parts| parts.iter()) {
        maker.text(&part.to_string());
    }
    for path in step.op.files() {
        maker.text(path);
        let fingerprint = match fingerprints.get(path) {
            Some(known) => *known,
            None => *fingerprints.entry(path).or_insert(files.fingerprint(path)?),
        };
        maker.hash(&fingerprint);
    }
    Ok(maker.finish())
}

/// Runs an operator, turning its panic into a sentence: a fault of ours must not take the program down.
pub(crate) fn apply(
    step: &Step,
    ready: &Ready,
    input: Terrain,
    masked: bool,
    ctx: &Ctx<'_>,
) -> Result<Terrain, OpError> {
    let checks = Checks::new(step, &input, masked);
    let result = caught(|| ready.apply(input, ctx))?;
    checks.checked(step, result)
}

/// What is known of a step's input, to hold its result to.
struct Checks {
    frame: Frame,
    /// The input, where the step is limited to a mask.
    before: Option<Terrain>,
    /// Layers that the step must leave alone, and what the input's parts follow from; looked at in debug builds only.
    untouchable: Vec<(LayerName, LayerData)>,
    provenance: Provenance,
}

impl Checks {
    fn new(step: &Step, input: &Terrain, masked: bool) -> Self {
        let debug = cfg!(debug_assertions);
        Self {
            frame: *input.frame(),
            before: step.mask.as_ref().filter(|_| masked).map(|_| input.clone()),
            untouchable: if debug { undeclared(step, input) } else { Vec::new() },
            provenance: if debug { input.provenance().clone() } else { Provenance::default() },
        }
    }

    /// The result of the step, held to what the operator declares and limited to the step's mask.
    fn checked(&self, step: &Step, result: Terrain) -> Result<Terrain, OpError> {
        if result.frame() != &self.frame {
            return Err(OpError::Internal(String::from("the operator changed the frame")));
        }
        for (name, data) in &self.untouchable {
            let changed = match result.layers().get(name) {
                Some(now) => !now.same_allocation(data) && now.bytes() != data.bytes(),
                None => {
                    let part = Part::Layer(name.clone());
                    // A family of weights is replaced as a whole.
                    let replaced = data.kind() == Kind::Weight
                        && step.layers.writes.iter().any(|w| w.family() == name.family());
                    !replaced && !step.layers.outputs().any(|from| self.provenance.follows(&part, &from))
                }
            };
            if changed {
                return Err(OpError::Internal(format!(
                    "the operator changed the layer {name:?} without declaring it"
                )));
            }
        }
        self.masked(step, result)
    }

    /// What the step made, limited to its mask.
    fn masked(&self, step: &Step, made: Terrain) -> Result<Terrain, OpError> {
        match (&self.before, &step.mask) {
            (Some(before), Some(mask)) => limit_to_mask(before, made, mask, &step.layers.writes),
            _ => Ok(made),
        }
    }
}

/// Does work of an operator, turning its panic into a sentence.
pub(crate) fn caught<T>(work: impl FnOnce() -> Result<T, OpError>) -> Result<T, OpError> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| {
        let reason = panic
            .downcast_ref::<String>()
            .map(String::as_str)
            .or_else(|| panic.downcast_ref::<&str>().copied())
            .unwrap_or("no reason given");
        Err(OpError::Internal(reason.to_owned()))
    })
}

/// The layers of a terrain that a step must leave alone.
fn undeclared(step: &Step, terrain: &Terrain) -> Vec<(LayerName, LayerData)> {
    let layers = terrain.layers().iter().filter(|(name, _)| !step.layers.writes.contains(name));
    layers.map(|(name, data)| (name.clone(), data.clone())).collect()
}

pub(crate) fn cut(terrain: Terrain, frame: &Frame) -> Result<Terrain, OpError> {
    if terrain.frame() == frame {
        return Ok(terrain);
    }
    terrain.crop(frame).ok_or_else(|| OpError::Internal(String::from("a window lies outside its halo")))
}
