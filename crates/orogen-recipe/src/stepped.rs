//! A run that is stepped: the caller says how much is done at a time, looks at the land between, and drops it to stop.
//!
//! No thread and no clock takes part, and it owns all that it needs. Its pieces are those of the operators, so however they
//! are shared out over calls, the result has the same bits.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use orogen_core::{Cancel, Frame, Moment, Part, Progress, Terrain};

use crate::plan::Plan;
use crate::run::{Finished, Observer, RunContext, RunError, RunOptions, State, Unobserved};
use crate::session::{Session, TileError};

/// What a stepped run owns besides its session.
#[derive(Clone)]
pub struct StartOptions {
    /// Receives progress and warnings.
    pub observer: Arc<dyn Observer + Send + Sync>,
    /// A switch that stops the run in the middle of a piece.
    pub cancel: Arc<Cancel>,
    /// How many snapshots are kept of each step that works in pieces, evenly spaced over its work; the last is its end.
    pub snapshots: usize,
}

impl Default for StartOptions {
    fn default() -> Self {
        Self { observer: Arc::new(Unobserved), cancel: Arc::new(Cancel::new()), snapshots: 0 }
    }
}

/// The land at a moment of a run. Layers that did not change are shared with others.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// The step at work.
    pub id: String,
    /// Its operator.
    pub op: &'static str,
    /// How far the step had come.
    pub moment: Moment,
    /// The land.
    pub terrain: Terrain,
}

/// How far a run has come.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RunMoment<'a> {
    /// The step at work, or done last.
    pub id: &'a str,
    /// Its operator.
    pub op: &'static str,
    /// Which of the tasks that is, from 0.
    pub task: usize,
    /// How many tasks there are.
    pub tasks: usize,
    /// How far the step has come.
    pub moment: Moment,
}

/// A run over a window of a session's recipe, on its way.
pub struct Run {
    session: Arc<Session>,
    plan: Plan,
    /// The parts of the result that are wanted; all of them where there are none.
    parts: BTreeSet<Part>,
    options: StartOptions,
    state: State,
    snapshots: Vec<Snapshot>,
    /// The last task that was looked at for snapshots, and how many it gave.
    shot: (usize, usize),
}

impl Session {
    /// Begins to work out a window, as [`Session::parts`] does at once; no parts are all there are.
    ///
    /// What the run solves is kept in the session. Two runs that need the same step at the same time both solve it.
    ///
    /// # Errors
    /// As [`Session::parts`].
    pub fn start(
        self: &Arc<Self>,
        window: Frame,
        parts: BTreeSet<Part>,
        options: StartOptions,
    ) -> Result<Run, TileError> {
        let plan = match parts.is_empty() {
            true => Plan::new(self.checked(), window)?,
            false => Plan::parts(self.checked(), window, &parts)?,
        };
        let state = State::start(&run_context(self, &plan, &options))?;
        let session = self.clone();
        Ok(Run { session, plan, parts, options, state, snapshots: Vec::new(), shot: (0, 0) })
    }
}

fn run_context<'a>(session: &'a Session, plan: &'a Plan, options: &'a StartOptions) -> RunContext<'a> {
    let StartOptions { observer, cancel, .. } = options;
    session.run_context(plan, RunOptions { observer: observer.as_ref(), cancel, ..session.run_options() })
}

impl Run {
    fn run_context(&self) -> RunContext<'_> {
        run_context(&self.session, &self.plan, &self.options)
    }

    /// Does so many pieces of the work, at least one, or all that are left. A piece is about one pass of an operator over the land at
    /// most, or all of an operator that does not work in pieces. Not to be called again after an error.
    ///
    /// # Errors
    /// When cancelled, or when a step fails.
    pub fn advance(&mut self, pieces: usize) -> Result<Progress, RunError> {
        let mut left = pieces;
        self.advance_until(&mut || {
            left = left.saturating_sub(1);
            left == 0
        })
    }

    /// Does pieces of the work, at least one, until `enough` says so (that a clock has run out, say) or all is done.
    ///
    /// # Errors
    /// As [`Run::advance`].
    pub fn advance_until(&mut self, enough: &mut dyn FnMut() -> bool) -> Result<Progress, RunError> {
        loop {
            let context = run_context(&self.session, &self.plan, &self.options);
            let progress = self.state.advance(&context)?;
            self.take_snapshot()?;
            if progress == Progress::Done || enough() {
                return Ok(progress);
            }
        }
    }

    /// Keeps the land as it is now, where it is time for that.
    fn take_snapshot(&mut self) -> Result<(), RunError> {
        let most = self.options.snapshots;
        if most == 0 || !self.state.is_stepped() {
            return Ok(());
        }
        let (task, moment) = self.state.moment();
        if self.shot.0 != task {
            self.shot = (task, 0);
        }
        let due = ((moment.share * most as f64) as usize).min(most);
        if due <= self.shot.1 {
            return Ok(());
        }
        self.shot.1 = due;
        let RunMoment { id, op, .. } = self.moment();
        let (id, terrain) = (id.to_owned(), self.view()?);
        self.snapshots.push(Snapshot { id, op, moment, terrain });
        Ok(())
    }

    /// How far it has come.
    #[must_use]
    pub fn moment(&self) -> RunMoment<'_> {
        let (task, moment) = self.state.moment();
        let tasks = self.plan.tasks();
        let step = tasks.get(task).map(|task| &self.session.checked().steps()[task.step]);
        RunMoment {
            id: step.map_or("", |step| &step.id),
            op: step.map_or("", |step| step.op.id()),
            task,
            tasks: tasks.len(),
            moment,
        }
    }

    /// The land as it is now: that of the operator at work where it works in pieces, else the last whole state. It lies on
    /// the window, unless the step at work needs another lattice or less land than that.
    ///
    /// # Errors
    /// When the work has failed.
    pub fn view(&self) -> Result<Terrain, RunError> {
        self.state.view(&self.run_context())
    }

    /// The snapshots so far, the oldest first.
    #[must_use]
    pub fn snapshots(&self) -> &[Snapshot] {
        &self.snapshots
    }

    /// Hands over the snapshots so far, leaving none.
    pub fn take_snapshots(&mut self) -> Vec<Snapshot> {
        std::mem::take(&mut self.snapshots)
    }

    /// Does what is left, and gives the result.
    ///
    /// # Errors
    /// As [`Run::advance`].
    pub fn finish(mut self) -> Result<Finished, RunError> {
        self.advance_until(&mut || false)?;
        let Self { session, plan, options, state, parts, .. } = self;
        let mut finished = state.finish(&run_context(&session, &plan, &options))?;
        if !parts.is_empty() {
            finished.terrain.retain(|part| parts.contains(part));
        }
        Ok(finished)
    }
}

impl fmt::Debug for Run {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Run({:?}, {:?})", self.session, self.moment())
    }
}
