//! Runs a plan: only what is neither cached nor needed by nothing, dropping every terrain at its last use.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Instant;

use orogen_core::{
    Cancel, Ctx, Figure, Files, Frame, LayerData, LayerName, NoFiles, OpError, Raster, Terrain, Watch, layer,
    vector,
};
use serde::Serialize;
use thiserror::Error;

use crate::cache::{Cache, Entry, Found, Key, KeyMaker};
use crate::check::{Checked, Step};
use crate::plan::{Plan, Task, Use, Work};

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
    let Some(output) = plan.output() else {
        return Ok(Run { terrain: Terrain::new(*plan.window()), steps: Vec::new() });
    };
    let count = plan.tasks().len();
    let mut runner = Runner {
        checked,
        plan,
        options: *options,
        keys: keys(checked, plan, options)?,
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
    keys: Vec<Key>,
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
            } else if self.terrains[i].is_some() {
                fates.push(Fate::Skip);
            } else if let Some(entry) = self.peek(i) {
                fates.push(Fate::Load(entry));
            } else {
                task.uses().for_each(|used| self.uses[used.task] += 1);
                fates.push(Fate::Run);
            }
        }
        fates.reverse();
        fates
    }

    fn peek(&self, i: usize) -> Option<Entry> {
        let cache = self.options.cache.filter(|_| !self.not_cached[i])?;
        match cache.peek(&self.keys[i]) {
            Found::Hit(entry) => Some(entry),
            Found::Miss => None,
            Found::Damaged(message) => {
                self.options.observer.warning(&message);
                None
            }
        }
    }

    /// Reports a task whose operator did not run, once.
    fn finish_cached(&mut self, i: usize, entry: Option<Entry>, started: Instant) {
        if self.reports[i].is_some() {
            return;
        }
        // A result that nobody needs is not loaded, but what it warned of still holds.
        let entry = entry.or_else(|| self.options.cache?.glance(&self.keys[i]));
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
                let second = second.map(|used| self.take(used)).transpose()?;
                let ctx = ctx.with_second(second.as_ref());
                let input = self.take_or_empty(input, on)?;
                let result = apply(step, input, masked, &ctx).map_err(fail)?;
                (cut(result, &task.frame).map_err(fail)?, ctx.take_warnings(), ctx.take_figures())
            }
            Work::Place { input, base_input, solved, masked } => {
                let solved = self.take(solved)?;
                let base_input = base_input.map(|used| self.take(used)).transpose()?;
                let input = self.take_or_empty(input, task.frame)?;
                let before = masked.then(|| input.clone());
                let placed = if solved.frame() == &task.frame {
                    solved
                } else {
                    refine(step, input, base_input.as_ref(), &solved).map_err(fail)?
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
fn apply(step: &Step, input: Terrain, masked: bool, ctx: &Ctx<'_>) -> Result<Terrain, OpError> {
    let frame = *input.frame();
    let mask = step.mask.as_ref().filter(|_| masked);
    let before = mask.map(|_| input.clone());
    let untouchable = if cfg!(debug_assertions) { undeclared(step, &input) } else { Vec::new() };
    let result = catch_unwind(AssertUnwindSafe(|| step.op.apply(input, ctx))).unwrap_or_else(|panic| {
        let reason = panic
            .downcast_ref::<String>()
            .map(String::as_str)
            .or_else(|| panic.downcast_ref::<&str>().copied())
            .unwrap_or("no reason given");
        Err(OpError::Internal(reason.to_owned()))
    })?;
    if result.frame() != &frame {
        return Err(OpError::Internal(String::from("the operator changed the frame")));
    }
    for (name, data) in untouchable {
        let changed = match result.layers().get(&name) {
            Some(now) => !now.same_allocation(&data) && now.bytes() != data.bytes(),
            None => !step.layers.writes.iter().any(|from| layer::is_derived(&name, from)),
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

/// Limits a step to its mask: where the mask is 0 everything stays as before, where it is 1 the step has its way.
///
/// Measured values are mixed in proportion, ids switch at one half; a layer that was not there before counts as 0.
/// Holes of the mask count as 0. Vectors are the step's own: they have no samples to mix.
///
/// # Errors
/// When the terrain before the step has no such mask.
pub fn limit_to_mask(
    before: &Terrain,
    after: Terrain,
    mask: &LayerName,
    writes: &[LayerName],
) -> Result<Terrain, OpError> {
    let mask: &Raster<f32> = before.get_named(mask)?;
    let frame = *after.frame();
    let (mut layers, vectors) = after.into_parts();
    for name in writes {
        let Some(data) = layers.get_mut(name) else { continue };
        match (data, before.layers().get(name)) {
            (LayerData::F32(after), before) => {
                let before = match before {
                    Some(LayerData::F32(raster)) => Some(raster),
                    _ => None,
                };
                Arc::make_mut(after).par_rows(|row, out| {
                    for (col, value) in out.iter_mut().enumerate() {
                        let old = before.map_or(0.0, |raster| raster.row(row)[col]);
                        let share = mask.row(row)[col];
                        // The ends are taken as they are, so that rounding (or a hole) changes nothing there.
                        if share < 1.0 && share > 0.0 {
                            *value = old + (*value - old) * share;
                        } else if share.is_nan() || share <= 0.0 {
                            *value = old;
                        }
                    }
                });
            }
            (LayerData::U8(after), before) => {
                let before = match before {
                    Some(LayerData::U8(raster)) => Some(raster),
                    _ => None,
                };
                Arc::make_mut(after).par_rows(|row, out| {
                    for (col, value) in out.iter_mut().enumerate() {
                        if mask.row(row)[col] >= 0.5 {
                            continue;
                        }
                        *value = before.map_or(0, |raster| raster.row(row)[col]);
                    }
                });
            }
        }
    }
    Terrain::from_parts(frame, layers, vectors)
        .ok_or_else(|| OpError::Internal(String::from("a masked layer does not match the frame")))
}

/// What a `World` step makes of a window of another spacing: the window's own input and, interpolated, what the
/// step changed on the recipe's frame. Layers that the step made from nothing are interpolated themselves, kept to
/// their range; ids come from the nearest sample; vectors are those of the recipe's frame.
fn refine(
    step: &Step,
    input: Terrain,
    base_input: Option<&Terrain>,
    solved: &Terrain,
) -> Result<Terrain, OpError> {
    let frame = *input.frame();
    let base = *solved.frame();
    let (before, mut vectors) = input.into_parts();
    let writes = &step.layers.writes;
    let mut layers: BTreeMap<LayerName, LayerData> = before
        .iter()
        .filter(|(name, _)| !writes.iter().any(|from| layer::is_derived(name, from)))
        .map(|(name, data)| (name.clone(), data.clone()))
        .collect();
    vectors.retain(|name, _| !writes.iter().any(|from| vector::is_derived(name, from)));
    vectors.extend(solved.vectors().iter().map(|(name, layer)| (name.clone(), layer.clone())));
    for name in writes {
        let data = match (
            solved.layers().get(name),
            base_input.and_then(|t| t.layers().get(name)),
            before.get(name),
        ) {
            (Some(LayerData::F32(out)), Some(LayerData::F32(old)), Some(LayerData::F32(fine))) => {
                let change = difference(out, old);
                LayerData::F32(Arc::new(resampled(&frame, &base, |col, row, at| {
                    fine.row(row)[col] + change.bicubic(at[0], at[1])
                })))
            }
            (Some(LayerData::F32(out)), ..) => {
                let (low, high) = out.range().unwrap_or((f32::NEG_INFINITY, f32::INFINITY));
                LayerData::F32(Arc::new(resampled(&frame, &base, |_, _, at| {
                    out.bicubic(at[0], at[1]).clamp(low, high)
                })))
            }
            (Some(LayerData::U8(out)), ..) => {
                LayerData::U8(Arc::new(resampled(&frame, &base, |_, _, at| {
                    out.clamped(at[0].round() as isize, at[1].round() as isize)
                })))
            }
            (None, ..) => continue,
        };
        layers.insert(name.clone(), data);
    }
    Terrain::from_parts(frame, layers, vectors)
        .ok_or_else(|| OpError::Internal(String::from("a refined layer does not match the frame")))
}

fn difference(after: &Raster<f32>, before: &Raster<f32>) -> Raster<f32> {
    let mut out = Raster::filled(after.cols(), after.rows(), 0.0);
    out.par_rows(|row, values| {
        for ((value, a), b) in values.iter_mut().zip(after.row(row)).zip(before.row(row)) {
            *value = a - b;
        }
    });
    out
}

/// A raster whose values come from places of another frame, given as column and row there.
fn resampled<T: Copy + Default + Send + Sync>(
    frame: &Frame,
    base: &Frame,
    f: impl Fn(usize, usize, [f64; 2]) -> T + Sync,
) -> Raster<T> {
    Raster::from_fn(frame.cols(), frame.rows(), |col, row| {
        f(col, row, base.locate(frame.x_m(col), frame.y_m(row)))
    })
}
