//! Which step is worked out where, so that any window of a recipe comes out as if cut from the whole.
//!
//! The planner knows nothing of an operator but its [`Reach`]:
//!
//! - `Point`: worked out on the window.
//! - `Within(m)`: its input is worked out on the window and `m` metres around it (not beyond the recipe's frame),
//!   its result is cut back to the window.
//! - `World`: solved once on the recipe's own frame. A window on the same lattice is cut from that. A window of
//!   another spacing adds what the step changed, interpolated, to its own finer input. Where the step wears the land,
//!   some of that input around the window is needed too, to tell its octaves apart.
//!
//! Where the recipe's frame loops, a `Within` step at its edge needs what lies inside the opposite one.
//!
//! Steps are visited from the last to the first to learn where each is needed, and for which parts of its result; where
//! several want one step on one lattice it is worked out once, on the smallest frame that holds them all. A step that makes
//! nothing of what is wanted there is passed over.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use orogen_core::{Frame, Part, Reach, Rect, layer, looped};
use thiserror::Error;

use crate::check::{Checked, Step};
use crate::refine;

/// Why a window cannot be planned.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum PlanError {
    /// The window reaches beyond the recipe's frame, where a step has no land to give.
    #[error(
        "the window {} reaches beyond the recipe's frame {}, but step {step:?} ({op}) makes land only inside the frame",
        rect_text(.window),
        rect_text(.frame)
    )]
    Outside {
        /// The window, in world metres.
        window: Rect,
        /// The recipe's frame.
        frame: Rect,
        /// The first step that ends with the frame.
        step: String,
        /// Its operator.
        op: &'static str,
    },
    /// An invariant of the planner does not hold: a bug, never caused by the recipe.
    #[error("internal error in Orogen, please report it: {0}")]
    Internal(String),
    /// The result does not hold what is asked for.
    #[error("the recipe gives no {part}; there are {}", .there.join(", "))]
    NoSuchPart {
        /// What was asked for.
        part: Part,
        /// What there is.
        there: Vec<String>,
    },
    /// The window has too many samples.
    #[error("{cols} x {rows} samples {refusal}")]
    Memory {
        /// Columns of the largest grid.
        cols: usize,
        /// Rows of the largest grid.
        rows: usize,
        /// What it would need, what is allowed, what to do.
        refusal: String,
    },
}

/// A rectangle as users write it: west, south, east, north.
fn rect_text(rect: &Rect) -> String {
    format!("{},{},{},{}", rect.min[0], rect.min[1], rect.max[0], rect.max[1])
}

/// The work for one window, in order.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    tasks: Vec<Task>,
    window: Frame,
    /// Where the result comes from; `None` for a recipe without steps.
    output: Option<Use>,
}

/// One step on one frame.
#[derive(Clone, Debug, PartialEq)]
pub struct Task {
    /// Index in [`Checked::steps`].
    pub step: usize,
    /// Where its result lies.
    pub frame: Frame,
    /// What is done.
    pub work: Work,
    /// The parts of its result that are wanted; `None` for all of them.
    pub wanted: Option<Arc<BTreeSet<Part>>>,
}

/// What a task does.
#[derive(Clone, Debug, PartialEq)]
pub enum Work {
    /// Runs the operator on a frame at least as large as the task's, and cuts its result.
    Apply {
        /// Where the operator runs.
        on: Frame,
        /// The terrain it changes; `None` for an empty one.
        input: Option<Use>,
        /// The terrain it combines with.
        second: Option<Use>,
        /// Whether the step's mask is applied here.
        masked: bool,
    },
    /// Brings what a `World` step found on the recipe's frame to another lattice, or applies its mask.
    Place {
        /// The step's input on the task's frame, and around it where the step wears the land.
        input: Option<Use>,
        /// The step's input on the recipe's frame; not needed where only the mask is applied.
        base_input: Option<Use>,
        /// The step's result on the recipe's frame, without its mask.
        solved: Use,
        /// Whether the step's mask is applied here.
        masked: bool,
    },
}

/// The part of an earlier task's result that a task takes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Use {
    /// Index of the task.
    pub task: usize,
    /// Which part.
    pub frame: Frame,
}

impl Task {
    /// Where it works: a step that reaches round a loop, on more than the loop.
    fn works_on(&self, world: bool, base: &Frame) -> Frame {
        let frame = if let Work::Apply { on, .. } = &self.work { on } else { &self.frame };
        if world && frame == base { looped::unrolled(base) } else { *frame }
    }

    /// The results it takes, the one it may change in place last.
    pub fn uses(&self) -> impl Iterator<Item = Use> {
        match self.work {
            Work::Apply { input, second, .. } => [second, None, input],
            Work::Place { input, base_input, solved, .. } => [Some(solved), base_input, input],
        }
        .into_iter()
        .flatten()
    }
}

impl Plan {
    /// Plans the whole recipe.
    ///
    /// # Errors
    /// As [`Plan::new`].
    pub fn whole(checked: &Checked) -> Result<Self, PlanError> {
        Self::new(checked, *checked.frame())
    }

    /// Plans a window of the recipe's frame, of any spacing. Where every step that it needs is `Point` and endless, the
    /// window may lie anywhere.
    ///
    /// # Errors
    /// When a part of the window lies outside the frame of a step that ends there, or it needs more memory than allowed.
    pub fn new(checked: &Checked, window: Frame) -> Result<Self, PlanError> {
        Self::up_to(checked, checked.steps().len().wrapping_sub(1), window)
    }

    /// Plans the result of a step other than the last.
    ///
    /// # Errors
    /// As [`Plan::new`].
    pub fn up_to(checked: &Checked, step: usize, window: Frame) -> Result<Self, PlanError> {
        Self::wanting(checked, step, window, Wanted::All)
    }

    /// Plans some parts of the result only.
    ///
    /// # Errors
    /// As [`Plan::new`], and when the result has no such part.
    pub fn parts(checked: &Checked, window: Frame, parts: &BTreeSet<Part>) -> Result<Self, PlanError> {
        let last = checked.steps().len().checked_sub(1);
        let there = checked.parts_after(last);
        if let Some(part) = parts.difference(&there).next() {
            let there = there.iter().map(ToString::to_string).collect();
            return Err(PlanError::NoSuchPart { part: part.clone(), there });
        }
        Self::wanting(checked, last.unwrap_or_default(), window, Wanted::Only(parts.clone()))
    }

    fn wanting(checked: &Checked, step: usize, window: Frame, wanted: Wanted) -> Result<Self, PlanError> {
        let base = *checked.frame();
        refuse_large(checked, &window)?;
        let needs = needs(checked, step, Need { frame: window, wanted });
        if window.clipped(&base.extent()) != Some(window) {
            refuse_outside(checked, &needs, &window)?;
        }
        let mut planner = Planner {
            base,
            steps: checked.steps(),
            needs: &needs,
            tasks: Vec::new(),
            results: vec![Vec::new(); needs.len()],
        };
        for (i, needs) in needs.iter().enumerate() {
            let step = &checked.steps()[i];
            let frames: Vec<Frame> =
                needs.iter().filter(|need| need.wanted.makes(step)).map(|need| need.frame).collect();
            if !frames.is_empty() {
                planner.plan_step(i, step, &frames)?;
            }
        }
        for task in &planner.tasks {
            let world = checked.steps()[task.step].op.reach(&base) == Reach::World;
            refuse_large(checked, &task.works_on(world, &base))?;
        }
        let output = if checked.steps().is_empty() { None } else { planner.result(Some(step), window)? };
        Ok(Self { tasks: planner.tasks, window, output })
    }

    /// The tasks in order: each takes results of earlier ones only.
    #[must_use]
    pub fn tasks(&self) -> &[Task] {
        &self.tasks
    }

    /// The samples of the largest frame that any task works on.
    pub(crate) fn most_samples(&self, base: &Frame) -> f64 {
        let frames = self.tasks.iter().map(|task| task.works_on(true, base));
        frames.chain([self.window]).map(|frame| frame.cols() as f64 * frame.rows() as f64).fold(0.0, f64::max)
    }

    /// Where the result lies.
    #[must_use]
    pub fn window(&self) -> &Frame {
        &self.window
    }

    /// Where the result comes from; `None` when it is an empty terrain.
    #[must_use]
    pub fn output(&self) -> Option<Use> {
        self.output
    }

    /// What this plan takes from the whole world where nothing has to be solved: steps with what is asked of them,
    /// their result (with or without their mask) or what they changed (`None`).
    pub(crate) fn world_steps(&self, checked: &Checked) -> impl Iterator<Item = (usize, Option<bool>)> {
        let base = checked.frame();
        let world =
            |task: &Task| task.frame == *base && checked.steps()[task.step].op.reach(base) == Reach::World;
        // From the result backwards: what a solved step was made from is not asked for.
        let mut asked = vec![false; self.tasks.len()];
        if let Some(output) = self.output {
            asked[output.task] = true;
        }
        let mut found = Vec::new();
        for i in (0..self.tasks.len()).rev() {
            if !asked[i] {
                continue;
            }
            let task = &self.tasks[i];
            match task.work {
                Work::Apply { masked, .. } if world(task) => found.push((task.step, Some(masked))),
                Work::Place { input, solved, .. } if solved.frame != task.frame => {
                    found.push((task.step, None));
                    input.iter().for_each(|used| asked[used.task] = true);
                }
                _ => task.uses().for_each(|used| asked[used.task] = true),
            }
        }
        found.into_iter()
    }

    /// One line per task: which step is worked out on how many samples, with which halo.
    #[must_use]
    pub fn describe(&self, checked: &Checked) -> String {
        self.tasks.iter().map(|task| format!("{}\n", Line { task, checked })).collect()
    }
}

struct Line<'a> {
    task: &'a Task,
    checked: &'a Checked,
}

impl fmt::Display for Line<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let frame = &self.task.frame;
        let id = self.checked.steps().get(self.task.step).map_or("?", |step| step.id.as_str());
        write!(f, "{id}: {} x {} samples", frame.cols(), frame.rows())?;
        match &self.task.work {
            Work::Apply { on, .. } if on != frame => {
                let Some((west, north)) = on.offset_of(frame) else {
                    return f.write_str(" outside the frame it is cut from");
                };
                let east = on.cols() - frame.cols() - west;
                let south = on.rows() - frame.rows() - north;
                write!(f, " with a halo of {west} west, {east} east, {north} north, {south} south")
            }
            Work::Apply { .. } => Ok(()),
            Work::Place { .. } => f.write_str(" from the recipe's frame"),
        }
    }
}

/// The part of the result that changes when a step's own result changes on `edited`; `None` when the result does
/// not depend on the step. Both on the lattice of `edited`.
#[must_use]
pub fn dirty(checked: &Checked, step: usize, edited: Frame) -> Option<Frame> {
    let extent = checked.frame().extent();
    let steps = checked.steps();
    let cover = cover(&edited, checked.frame());
    let mut dirty: Vec<Option<Frame>> = vec![None; steps.len()];
    *dirty.get_mut(step)? = edited.clipped(&extent);
    for i in step + 1..steps.len() {
        let reached = [steps[i].input, steps[i].second].into_iter().flatten().filter_map(|j| dirty[j]);
        dirty[i] = reached
            .filter_map(|frame| match steps[i].op.reach(&cover) {
                Reach::Point => Some(frame),
                Reach::Within(m) => within(&frame, m, checked.frame()),
                Reach::World => Some(cover),
            })
            .reduce(|a, b| a.union(&b).unwrap_or(cover));
    }
    dirty.pop()?
}

/// All samples of a frame's lattice that lie in the recipe's frame. Reach is asked for on it, so that every window
/// of a lattice gets the same answer.
fn cover(frame: &Frame, base: &Frame) -> Frame {
    if frame.same_lattice(base) {
        return *base;
    }
    let [width, height] = base.size_m();
    frame.expanded(width.max(height)).clipped(&base.extent()).unwrap_or(*frame)
}

/// What is wanted of a step's result.
#[derive(Clone, Debug, PartialEq)]
enum Wanted {
    All,
    Only(BTreeSet<Part>),
}

impl Wanted {
    /// Whether a step makes any of it.
    fn makes(&self, step: &Step) -> bool {
        let mut made = step.layers.outputs().chain(step.layers.keeps.iter().cloned());
        match self {
            Self::All => true,
            Self::Only(parts) => made.any(|part| parts.contains(&part)),
        }
    }

    /// What a step that is worked out needs of its input.
    fn before(&self, step: &Step, world: bool) -> Self {
        let Self::Only(parts) = self else { return Self::All };
        // What it writes is mixed with, or added to, what was there: by its mask, or where it reaches the whole world.
        let mixed = world || step.mask.is_some();
        let written: BTreeSet<Part> = step.layers.outputs().collect();
        let read: BTreeSet<Part> =
            step.layers.inputs().chain(step.mask.iter().cloned().map(Part::Layer)).collect();
        let mut before: BTreeSet<Part> = parts.difference(&written).cloned().collect();
        before.extend(step.there.iter().filter(|part| mixed || read.contains(part)).cloned());
        Self::Only(before)
    }

    fn and(&mut self, other: &Self) {
        match (&mut *self, other) {
            (Self::Only(parts), Self::Only(more)) => parts.extend(more.iter().cloned()),
            _ => *self = Self::All,
        }
    }
}

/// Where a step's result is needed, and what of it.
#[derive(Clone, Debug, PartialEq)]
struct Need {
    frame: Frame,
    wanted: Wanted,
}

/// What is needed of each step, one entry per lattice.
fn needs(checked: &Checked, output: usize, result: Need) -> Vec<Vec<Need>> {
    let base = *checked.frame();
    let steps = checked.steps();
    let mut needs: Vec<Vec<Need>> = vec![Vec::new(); steps.len()];
    if let Some(needs) = needs.get_mut(output) {
        needs.push(result);
    }
    for (i, step) in steps.iter().enumerate().rev() {
        for Need { frame, wanted } in std::mem::take(&mut needs[i]) {
            if !wanted.makes(step) {
                if let Some(input) = step.input {
                    add(&mut needs[input], Need { frame, wanted: wanted.clone() });
                }
                needs[i].push(Need { frame, wanted });
                continue;
            }
            // A step whose answer is the whole world anyway is wanted whole: cutting is left to those who use it.
            let world = step.op.reach(&cover(&frame, &base)) == Reach::World;
            let whole = world && frame.same_lattice(&base);
            let need = if whole { Need { frame: base, wanted: Wanted::All } } else { Need { frame, wanted } };
            let before = need.wanted.before(step, world);
            add(&mut needs[i], need.clone());
            for input in [step.input, step.second].into_iter().flatten() {
                // What the whole world is worked out from is kept for all windows, so all of it is wanted.
                add(
                    &mut needs[input],
                    match world {
                        true => Need { frame: base, wanted: Wanted::All },
                        false if step.second == Some(input) && step.input != Some(input) => {
                            let parts = step.layers.reads_second.iter().cloned().map(Part::Layer).collect();
                            Need { frame: halo(step, &need.frame, &base), wanted: Wanted::Only(parts) }
                        }
                        false => Need { frame: halo(step, &need.frame, &base), wanted: before.clone() },
                    },
                );
            }
            // What a world step changed is added to the input on the window's own lattice.
            if let (true, Some(input)) = (world, step.input) {
                add(&mut needs[input], Need { frame: placing(steps, i, &need.frame, &base), wanted: before });
            }
        }
    }
    needs
}

/// Adds a need to those of one step, joined with one on the same lattice.
fn add(needs: &mut Vec<Need>, need: Need) {
    let joined = needs.iter_mut().find_map(|old| old.frame.union(&need.frame).map(|both| (old, both)));
    match joined {
        Some((old, both)) => {
            old.frame = both;
            old.wanted.and(&need.wanted);
        }
        None => needs.push(need),
    }
}

/// Where a local step needs its input to give a result on a frame.
pub(crate) fn halo(step: &Step, frame: &Frame, base: &Frame) -> Frame {
    match step.op.reach(&cover(frame, base)) {
        Reach::Within(m) => within(frame, m, base).unwrap_or(*frame),
        Reach::Point | Reach::World => *frame,
    }
}

/// Where a step that reaches the world needs its input to be brought to a frame of another lattice.
fn placing(steps: &[Step], step: usize, frame: &Frame, base: &Frame) -> Frame {
    if frame.same_lattice(base) || !wears_height(&steps[step]) || was_held(steps, step) {
        return *frame;
    }
    match refine::halo_m(base, frame) {
        0.0 => *frame,
        m => within(frame, m, base).unwrap_or(*frame),
    }
}

fn wears_height(step: &Step) -> bool {
    step.op.wears() && step.layers.updates(&Part::Layer(layer::HEIGHT.name()))
}

/// Whether what finer samples show of a step's input was already held by a step before to the slope of its land.
pub(crate) fn was_held(steps: &[Step], step: usize) -> bool {
    let mut before = steps[step].input;
    while let Some(i) = before {
        if steps[i].layers.writes.contains(&layer::HEIGHT.name()) {
            return wears_height(&steps[i]) && steps[i].mask.is_none();
        }
        before = steps[i].input;
    }
    false
}

/// The part of the recipe's frame within `m` metres of a frame. Where the land loops, what lies beyond an edge lies inside
/// the opposite one: then all of that axis.
pub(crate) fn within(frame: &Frame, m: f64, base: &Frame) -> Option<Frame> {
    let wide = frame.expanded(m);
    let inside = wide.clipped(&base.extent())?;
    if !base.loops() || inside == wide {
        return Some(inside);
    }
    let (whole, (west, north)) = (cover(frame, base), inside.lattice(0, 0));
    let (first_col, first_row) = whole.lattice(0, 0);
    let (col, row) = (west - first_col, first_row - north);
    let (col, cols) = if inside.cols() < wide.cols() { (0, whole.cols()) } else { (col, inside.cols()) };
    let (row, rows) = if inside.rows() < wide.rows() { (0, whole.rows()) } else { (row, inside.rows()) };
    Some(whole.window(col, row, cols, rows))
}

/// Refuses a window beyond the recipe's frame when a step that it needs ends with the frame.
fn refuse_outside(checked: &Checked, needs: &[Vec<Need>], window: &Frame) -> Result<(), PlanError> {
    let base = checked.frame();
    // Land that loops is the same again beyond its edge, and has no beyond.
    let ends = |step: &&Step| {
        base.loops() || step.op.reach(&cover(window, base)) != Reach::Point || !step.op.endless()
    };
    let needed = (checked.steps().iter().zip(needs))
        .filter(|(step, needs)| needs.iter().any(|need| need.wanted.makes(step)));
    match needed.map(|(step, _)| step).find(ends) {
        None => Ok(()),
        Some(step) => Err(PlanError::Outside {
            window: window.extent(),
            frame: base.extent(),
            step: step.id.clone(),
            op: step.op.id(),
        }),
    }
}

fn refuse_large(checked: &Checked, frame: &Frame) -> Result<(), PlanError> {
    let (cols, rows) = (frame.cols(), frame.rows());
    match checked.limits().refuse(cols as f64 * rows as f64, checked.bytes_a_sample()) {
        Some(refusal) => Err(PlanError::Memory { cols, rows, refusal }),
        None => Ok(()),
    }
}

struct Planner<'a> {
    base: Frame,
    steps: &'a [Step],
    needs: &'a [Vec<Need>],
    tasks: Vec<Task>,
    /// The tasks that give each step's result.
    results: Vec<Vec<usize>>,
}

impl Planner<'_> {
    fn plan_step(&mut self, i: usize, step: &Step, frames: &[Frame]) -> Result<(), PlanError> {
        let base = self.base;
        let masked = step.mask.is_some();
        let (world, local): (Vec<&Frame>, Vec<&Frame>) =
            frames.iter().partition(|frame| step.op.reach(&cover(frame, &base)) == Reach::World);
        for frame in local {
            let on = halo(step, frame, &base);
            let (input, second) = (self.result(step.input, on)?, self.result(step.second, on)?);
            self.push(i, *frame, Work::Apply { on, input, second, masked }, true);
        }
        if world.is_empty() {
            return Ok(());
        }
        // The mask of another lattice is applied there, so the result on the base is kept without it.
        let elsewhere = world.iter().any(|frame| **frame != base);
        let here = world.iter().any(|frame| **frame == base);
        let (input, second) = (self.result(step.input, base)?, self.result(step.second, base)?);
        let work = Work::Apply { on: base, input, second, masked: masked && !elsewhere };
        let solved = Use { task: self.tasks.len(), frame: base };
        self.push(i, base, work, here && !(masked && elsewhere));
        for frame in world {
            if *frame != base {
                let input_here = self.result(step.input, placing(self.steps, i, frame, &base))?;
                let work = Work::Place { input: input_here, base_input: input, solved, masked };
                self.push(i, *frame, work, true);
            } else if masked && elsewhere {
                self.push(i, base, Work::Place { input, base_input: None, solved, masked }, true);
            }
        }
        Ok(())
    }

    fn push(&mut self, step: usize, frame: Frame, work: Work, is_result: bool) {
        if is_result {
            self.results[step].push(self.tasks.len());
        }
        let need = self.needs[step].iter().find(|need| need.frame == frame);
        let wanted = match need.map(|need| &need.wanted) {
            Some(Wanted::Only(parts)) => Some(Arc::new(parts.clone())),
            Some(Wanted::All) | None => None,
        };
        self.tasks.push(Task { step, frame, work, wanted });
    }

    /// The task that gives a step's result on a frame, or that of the step before where it makes nothing of what is
    /// wanted there; `None` where no step is left.
    fn result(&self, mut step: Option<usize>, frame: Frame) -> Result<Option<Use>, PlanError> {
        while let Some(i) = step {
            let tasks = self.results.get(i).into_iter().flatten().copied();
            let task = tasks.into_iter().find(|&t| self.tasks[t].frame.offset_of(&frame).is_some());
            if let Some(task) = task {
                return Ok(Some(Use { task, frame }));
            }
            let passed =
                |need: &&Need| !need.wanted.makes(&self.steps[i]) && need.frame.offset_of(&frame).is_some();
            if !self.needs.get(i).is_some_and(|needs| needs.iter().any(|need| passed(&need))) {
                let number = i + 1;
                return Err(PlanError::Internal(format!(
                    "step number {number} has no result where it is needed"
                )));
            }
            step = self.steps[i].input;
        }
        Ok(None)
    }
}
