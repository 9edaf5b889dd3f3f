//! Runs a plan: only what is neither cached nor needed by nothing, dropping every terrain at its last use.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use orogen_core::{
    Cancel, Ctx, Figure, Files, Frame, LayerData, LayerName, NoFiles, OpError, Part, Reach, Ready, Terrain,
    Watch,
};
use serde::Serialize;
use thiserror::Error;

use crate::cache::{Cache, Entry, Found, Key, KeyMaker};
use crate::check::{Checked, Step};
use crate::mask::limit_to_mask;
use crate::plan::{Plan, Task, Use, Work};
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
    /// Measures memory for the reports.
    pub meter: Option<&'a dyn Meter>,
}

impl Default for RunOptions<'_> {
    fn default() -> Self {
        static NEVER: Cancel = Cancel::new();
        Self { cache: None, files: &NoFiles, observer: &Unobserved, cancel: &NEVER, meter: None }
    }
}

/// What a run gave.
#[derive(Debug)]
pub struct Run {
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
pub fn run(checked: &Checked, plan: &Plan, options: &RunOptions<'_>) -> Result<Run, RunError> {
    run_with(checked, plan, options, &Operators::of(checked), None)
}

/// The operators of a recipe, each made ready when it is first needed.
#[derive(Debug)]
pub(crate) struct Operators(Vec<OnceLock<Ready>>);

impl Operators {
    pub fn of(checked: &Checked) -> Self {
        Self(checked.steps().iter().map(|_| OnceLock::new()).collect())
    }

    fn get(&self, checked: &Checked, step: usize, ctx: &Ctx<'_>) -> Result<&Ready, OpError> {
        if let Some(ready) = self.0[step].get() {
            return Ok(ready);
        }
        let ready = Ready::new(checked.steps()[step].op.clone(), checked.frame(), ctx)?;
        // Another thread may have been first: both are the same.
        Ok(self.0[step].get_or_init(|| ready))
    }
}

/// Runs a plan with operators that may be ready already. Where `memory` is given, what steps that reach the whole world
/// found is looked for and kept there, and nothing else is stored.
pub(crate) fn run_with(
    checked: &Checked,
    plan: &Plan,
    options: &RunOptions<'_>,
    operators: &Operators,
    memory: Option<&Memory>,
) -> Result<Run, RunError> {
    let Some(output) = plan.output() else {
        return Ok(Run { terrain: Terrain::new(*plan.window()), steps: Vec::new() });
    };
    let count = plan.tasks().len();
    let mut runner = Runner {
        checked,
        plan,
        options: *options,
        operators,
        memory,
        keys: if options.cache.is_some() { keys(checked, plan, options)? } else { Vec::new() },
        refinements: (0..count).map(|_| None).collect(),
        terrains: (0..count).map(|_| None).collect(),
        uses: vec![0; count],
        not_cached: vec![false; count],
        reports: vec![None; count],
        complained: false,
    };
    while !runner.round(output)? {}
    let terrain = runner.take(output)?;
    Ok(Run { terrain, steps: runner.reports.into_iter().flatten().collect() })
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

struct Runner<'a> {
    checked: &'a Checked,
    plan: &'a Plan,
    options: RunOptions<'a>,
    operators: &'a Operators,
    memory: Option<&'a Memory>,
    /// What each task's result is stored under; none without a cache.
    keys: Vec<Key>,
    /// What tasks that bring a step to another lattice found in memory.
    refinements: Vec<Option<Arc<Refinement>>>,
    terrains: Vec<Option<Terrain>>,
    /// How often each result will still be taken.
    uses: Vec<usize>,
    /// Tasks whose cache entry turned out to be gone or damaged.
    not_cached: Vec<bool>,
    reports: Vec<Option<StepReport>>,
    /// Whether the user was warned that the cache cannot be written.
    complained: bool,
}

impl Runner<'_> {
    /// Decides from the result backwards what is needed, then does it. `false` when an entry that was counted on
    /// turned out bad, so that more is needed than was decided.
    fn round(&mut self, output: Use) -> Result<bool, RunError> {
        let fates = self.decide(output);
        for (i, fate) in fates.into_iter().enumerate() {
            if self.options.cancel.is_cancelled() {
                return Err(RunError::Cancelled);
            }
            let started = Instant::now();
            match fate {
                Fate::Skip => self.finish_cached(i, None, started),
                Fate::Load(entry) => {
                    let Some(cache) = self.options.cache else { continue };
                    match cache.load(&self.keys[i], &entry, &self.plan.tasks()[i].frame) {
                        Found::Hit(terrain) => self.terrains[i] = Some(terrain),
                        Found::Miss => {
                            self.not_cached[i] = true;
                            return Ok(false);
                        }
                        Found::Damaged(message) => {
                            self.options.observer.warning(&message);
                            self.not_cached[i] = true;
                            return Ok(false);
                        }
                    }
                    self.finish_cached(i, Some(entry), started);
                }
                Fate::Run => self.run_task(i, started)?,
            }
        }
        Ok(true)
    }

    fn decide(&mut self, output: Use) -> Vec<Fate> {
        let tasks = self.plan.tasks();
        self.uses.fill(0);
        self.uses[output.task] = 1;
        let mut fates: Vec<Fate> = Vec::with_capacity(tasks.len());
        for (i, task) in tasks.iter().enumerate().rev() {
            if self.uses[i] == 0 {
                self.terrains[i] = None;
                fates.push(Fate::Skip);
            } else if self.terrains[i].is_some() || self.remembered(i) {
                fates.push(Fate::Skip);
            } else if let Some(entry) = self.peek(i) {
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
    fn remembered(&mut self, i: usize) -> bool {
        let (Some(memory), task) = (self.memory, &self.plan.tasks()[i]) else { return false };
        match task.work {
            Work::Apply { masked, .. } if self.is_world(task) => {
                self.terrains[i] = memory.solved(task.step, masked);
            }
            Work::Place { solved, .. } if solved.frame != task.frame => {
                self.refinements[i] = memory.refinement(task.step);
            }
            _ => {}
        }
        self.terrains[i].is_some()
    }

    /// Whether a task solves a step for the whole world.
    fn is_world(&self, task: &Task) -> bool {
        let base = self.checked.frame();
        task.frame == *base && self.checked.steps()[task.step].op.reach(base) == Reach::World
    }

    fn peek(&self, i: usize) -> Option<Entry> {
        let cache = self.options.cache.filter(|_| !self.not_cached[i])?;
        if !self.is_stored(i) {
            return None;
        }
        match cache.peek(&self.keys[i]) {
            Found::Hit(entry) => Some(entry),
            Found::Miss => None,
            Found::Damaged(message) => {
                self.options.observer.warning(&message);
                None
            }
        }
    }

    /// Whether a result is looked for and put into the cache. With a memory, windows come and go, and are cheaper made
    /// than stored.
    fn is_stored(&self, i: usize) -> bool {
        self.memory.is_none() || self.is_world(&self.plan.tasks()[i])
    }

    /// Reports a task whose operator did not run, once.
    fn finish_cached(&mut self, i: usize, entry: Option<Entry>, started: Instant) {
        if self.reports[i].is_some() {
            return;
        }
        // A result that nobody needs is not loaded, but what it warned of still holds.
        let entry = entry.or_else(|| self.options.cache.filter(|_| self.is_stored(i))?.glance(&self.keys[i]));
        let (warnings, figures) = entry.map(|entry| (entry.warnings, entry.figures)).unwrap_or_default();
        let report = StepReport {
            seconds: started.elapsed().as_secs_f64(),
            cached: true,
            warnings,
            figures,
            ..self.blank_report(i)
        };
        self.finish(i, report);
    }

    fn blank_report(&self, i: usize) -> StepReport {
        let task = &self.plan.tasks()[i];
        let step = &self.checked.steps()[task.step];
        StepReport {
            id: step.id.clone(),
            op: step.op.id(),
            frame: task.frame,
            seconds: 0.0,
            peak_bytes: None,
            cached: false,
            warnings: Vec::new(),
            figures: Vec::new(),
        }
    }

    fn finish(&mut self, i: usize, report: StepReport) {
        for warning in &report.warnings {
            self.options.observer.warning(&format!("step {:?}: {warning}", report.id));
        }
        self.options.observer.step_finished(&report);
        self.reports[i] = Some(report);
    }

    fn run_task(&mut self, i: usize, started: Instant) -> Result<(), RunError> {
        let task = &self.plan.tasks()[i];
        let step = &self.checked.steps()[task.step];
        let options = self.options;
        options.observer.step_started(i, self.plan.tasks().len(), &step.id, step.op.id());
        if let Some(meter) = options.meter {
            meter.reset();
        }
        let watch = TaskWatch { observer: options.observer, cancel: options.cancel };
        let ctx =
            Ctx::new(step.seed).in_world(*self.checked.frame()).with_files(options.files).watched_by(&watch);
        let fail = |error: OpError| match error {
            OpError::Cancelled => RunError::Cancelled,
            error => RunError::Step { id: step.id.clone(), op: step.op.id(), error },
        };
        // What an operator may change comes last: by then nobody else holds it.
        let (terrain, warnings, figures) = match task.work {
            Work::Apply { on, input, second, masked } => {
                let ready = caught(|| self.operators.get(self.checked, task.step, &ctx)).map_err(fail)?;
                let second = second.map(|used| self.take(used)).transpose()?;
                let ctx = ctx.with_second(second.as_ref());
                let input = self.take_or_empty(input, on)?;
                let result = apply(step, ready, input, masked, &ctx).map_err(fail)?;
                let result = cut(result, &task.frame).map_err(fail)?;
                if let Some(memory) = self.memory.filter(|_| self.is_world(task)) {
                    memory.keep_solved(task.step, masked, &result, &step.layers);
                }
                (result, ctx.take_warnings(), ctx.take_figures())
            }
            Work::Place { input, base_input, solved, masked } => {
                let refinement = match (self.refinements[i].take(), base_input) {
                    (Some(known), _) => Some(known),
                    (None, _) if solved.frame == task.frame => None,
                    (None, base_input) => {
                        let solved = self.take(solved)?;
                        let base_input = base_input.map(|used| self.take(used)).transpose()?;
                        let made = Arc::new(Refinement::new(&step.layers, base_input.as_ref(), &solved));
                        if let Some(memory) = self.memory {
                            memory.keep_refinement(task.step, &made);
                        }
                        Some(made)
                    }
                };
                let placed = if refinement.is_none() { Some(self.take(solved)?) } else { None };
                let input = self.take_or_empty(input, task.frame)?;
                let before = masked.then(|| input.clone());
                let placed = match (placed, refinement) {
                    (Some(placed), _) => placed,
                    (None, Some(refinement)) => refinement.apply(input).map_err(fail)?,
                    (None, None) => input,
                };
                let result = match (&before, &step.mask) {
                    (Some(before), Some(mask)) => {
                        limit_to_mask(before, placed, mask, &step.layers.writes).map_err(fail)?
                    }
                    _ => placed,
                };
                (result, Vec::new(), Vec::new())
            }
        };
        if options.cancel.is_cancelled() {
            return Err(RunError::Cancelled);
        }
        if let Some(cache) = options.cache
            && self.is_stored(i)
            && let Err(error) = cache.store(&self.keys[i], &terrain, &warnings, &figures, options.cancel)
        {
            if options.cancel.is_cancelled() {
                return Err(RunError::Cancelled);
            }
            if !self.complained {
                self.complained = true;
                options.observer.warning(&format!(
                    "cannot write to the cache in {:?} ({error}); continuing without it",
                    cache.dir()
                ));
            }
        }
        self.terrains[i] = Some(terrain);
        let report = StepReport {
            seconds: started.elapsed().as_secs_f64(),
            peak_bytes: options.meter.map(Meter::peak_bytes),
            warnings,
            figures,
            ..self.blank_report(i)
        };
        self.finish(i, report);
        Ok(())
    }

    /// A result for one of its users: shared with those still to come, handed over to the last.
    fn take(&mut self, used: Use) -> Result<Terrain, RunError> {
        let id = || &self.checked.steps()[self.plan.tasks()[used.task].step].id;
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

    fn take_or_empty(&mut self, used: Option<Use>, frame: Frame) -> Result<Terrain, RunError> {
        used.map_or_else(|| Ok(Terrain::new(frame)), |used| self.take(used))
    }
}

struct TaskWatch<'a> {
    observer: &'a dyn Observer,
    cancel: &'a Cancel,
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
fn keys(checked: &Checked, plan: &Plan, options: &RunOptions<'_>) -> Result<Vec<Key>, RunError> {
    let mut keys: Vec<Key> = Vec::with_capacity(plan.tasks().len());
    // Once for each file: steps that read it in one run read the same.
    let mut fingerprints = BTreeMap::new();
    for task in plan.tasks() {
        let step = &checked.steps()[task.step];
        keys.push(
            key(checked, task, step, &keys, options.files, &mut fingerprints)
                .map_err(|error| RunError::Step { id: step.id.clone(), op: step.op.id(), error })?,
        );
    }
    Ok(keys)
}

fn key<'a>(
    checked: &Checked,
    task: &Task,
    step: &'a Step,
    keys: &[Key],
    files: &dyn Files,
    fingerprints: &mut BTreeMap<&'a str, [u8; 32]>,
) -> Result<Key, OpError> {
    let (kind, masked) = match task.work {
        Work::Apply { masked, .. } => ("apply", masked),
        Work::Place { masked, .. } => ("place", masked),
    };
    let mut maker = KeyMaker::new(kind);
    maker.text(step.op.id());
    maker.number(u64::from(step.op.version()));
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
fn apply(
    step: &Step,
    ready: &Ready,
    input: Terrain,
    masked: bool,
    ctx: &Ctx<'_>,
) -> Result<Terrain, OpError> {
    let frame = *input.frame();
    let mask = step.mask.as_ref().filter(|_| masked);
    let before = mask.map(|_| input.clone());
    let untouchable = if cfg!(debug_assertions) { undeclared(step, &input) } else { Vec::new() };
    let provenance = input.provenance().clone();
    let result = caught(|| ready.apply(input, ctx))?;
    if result.frame() != &frame {
        return Err(OpError::Internal(String::from("the operator changed the frame")));
    }
    for (name, data) in untouchable {
        let changed = match result.layers().get(&name) {
            Some(now) => !now.same_allocation(&data) && now.bytes() != data.bytes(),
            None => {
                let part = Part::Layer(name.clone());
                !step.layers.outputs().any(|from| provenance.follows(&part, &from))
            }
        };
        if changed {
            return Err(OpError::Internal(format!(
                "the operator changed the layer {name:?} without declaring it"
            )));
        }
    }
    match (&before, mask) {
        (Some(before), Some(mask)) => limit_to_mask(before, result, mask, &step.layers.writes),
        _ => Ok(result),
    }
}

/// Does work of an operator, turning its panic into a sentence.
fn caught<T>(work: impl FnOnce() -> Result<T, OpError>) -> Result<T, OpError> {
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

fn cut(terrain: Terrain, frame: &Frame) -> Result<Terrain, OpError> {
    if terrain.frame() == frame {
        return Ok(terrain);
    }
    terrain.crop(frame).ok_or_else(|| OpError::Internal(String::from("a window lies outside its halo")))
}
