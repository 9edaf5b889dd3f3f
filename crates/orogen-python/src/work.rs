//! Long work: the interpreter goes on, Ctrl-C stops it, progress is reported.

use std::ffi::CString;
use std::sync::Mutex;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use orogen::core::{Cancel, Watch};
use orogen::recipe::{Observer, StepReport};
use pyo3::exceptions::PyUserWarning;
use pyo3::prelude::*;

/// How often signals are checked and progress is reported.
const PULSE: Duration = Duration::from_millis(50);

/// What the working thread tells the waiting one.
#[derive(Default)]
pub struct Progress {
    cancel: Cancel,
    at: Mutex<At>,
}

/// Name and share done of the work, and those that the waiting thread must hear of before: where a step starts and where
/// it ends, however quick it is.
#[derive(Default)]
struct At {
    now: (String, f32),
    before: Vec<(String, f32)>,
}

impl Progress {
    /// The switch that stops the work.
    pub fn cancel(&self) -> &Cancel {
        &self.cancel
    }

    /// Names the work.
    pub fn name(&self, label: &str) {
        self.set(Some(label.to_owned()), 0.0);
    }

    /// Says which share of it is done.
    pub fn share(&self, share: f32) {
        self.set(None, share);
    }

    fn set(&self, label: Option<String>, share: f32) {
        if let Ok(mut at) = self.at.lock() {
            let edge = label.is_some() || share >= 1.0;
            if let Some(label) = label {
                at.now.0 = label;
            }
            at.now.1 = share;
            if edge && at.before.last() != Some(&at.now) {
                let now = at.now.clone();
                at.before.push(now);
            }
        }
    }

    /// What to report: the starts and ends since the last time, and where the work is.
    fn take(&self) -> Vec<(String, f32)> {
        let Ok(mut at) = self.at.lock() else { return Vec::new() };
        let mut news = std::mem::take(&mut at.before);
        if news.last() != Some(&at.now) && !at.now.0.is_empty() {
            news.push(at.now.clone());
        }
        news
    }
}

impl Watch for Progress {
    fn progress(&self, share: f32) {
        self.set(None, share);
    }

    fn is_cancelled(&self) -> bool {
        self.cancel.is_cancelled()
    }
}

impl Observer for Progress {
    fn step_started(&self, index: usize, count: usize, id: &str, op: &str) {
        self.set(Some(format!("[{}/{count}] {id} ({op})", index + 1)), 0.0);
    }

    fn progress(&self, share: f32) {
        self.set(None, share);
    }

    fn step_finished(&self, report: &StepReport) {
        // Steps that come from the cache never started.
        self.set(report.cached.then(|| format!("{} ({}): cached", report.id, report.op)), 1.0);
    }

    fn warning(&self, _: &str) {}
}

/// Runs `f` on a thread of its own with the interpreter released, telling `tell(label, share)` how far it is.
///
/// # Errors
/// What a signal handler or `tell` raised; the work is cancelled then.
pub fn run<T: Send>(
    py: Python<'_>,
    tell: Option<&Bound<'_, PyAny>>,
    f: impl FnOnce(&Progress) -> T + Send,
) -> PyResult<T> {
    let progress = Progress::default();
    let (sender, receiver) = channel::<()>();
    let receiver = Mutex::new(receiver);
    std::thread::scope(|scope| {
        let worker = scope.spawn(|| {
            // Dropped when the work ends, however it ends: that wakes the waiting thread.
            let _done = sender;
            f(&progress)
        });
        let mut raised = None;
        loop {
            let waited = py.detach(|| receiver.lock().ok().map(|r| r.recv_timeout(PULSE)));
            if waited != Some(Err(RecvTimeoutError::Timeout)) {
                break;
            }
            if raised.is_none()
                && let Err(error) = pulse(py, tell, &progress)
            {
                progress.cancel.cancel();
                raised = Some(error);
            }
        }
        let result = py
            .detach(|| worker.join())
            .map_err(|_| crate::errors::error("internal error in Orogen; please report it"))?;
        match raised {
            Some(error) => Err(error),
            None => pulse(py, tell, &progress).map(|()| result),
        }
    })
}

fn pulse(py: Python<'_>, tell: Option<&Bound<'_, PyAny>>, progress: &Progress) -> PyResult<()> {
    py.check_signals()?;
    if let Some(tell) = tell {
        for at in progress.take() {
            tell.call1(at)?;
        }
    }
    Ok(())
}

/// Raises a Python warning.
pub fn warn(py: Python<'_>, message: &str) -> PyResult<()> {
    let short: String = py.import("orogen._errors")?.call_method1("cut", (message,))?.extract()?;
    let text = CString::new(short.replace('\0', " ")).map_err(crate::errors::error)?;
    PyErr::warn(py, &py.get_type::<PyUserWarning>(), &text, 2)
}
