//! Progress on standard error: one line a step, percent and time left; nothing when standard error is not a terminal.
//!
//! The line that moves is always the last of the screen and never reaches its edge, so that neither a narrow terminal nor
//! one that is resized breaks it. What is finished is left above it as plain text.

mod line;
mod screen;

use std::io::IsTerminal as _;
use std::sync::Mutex;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};
use orogen::recipe::{Observer, StepReport};

use crate::message;
use line::line;
use screen::Screen;

const PARTS: u64 = 1000;

/// Columns of the name of a step, where there is room.
const NAME: usize = 40;

/// Shows steps as they run.
pub struct Bars {
    quiet: bool,
    bar: Mutex<Option<ProgressBar>>,
}

impl Bars {
    /// Shows nothing when `quiet`, and no bars when standard error is not a terminal.
    pub fn new(quiet: bool) -> Self {
        Self { quiet, bar: Mutex::new(None) }
    }

    /// Begins a line.
    pub fn start(&self, label: String) {
        if self.quiet {
            return;
        }
        let bar = ProgressBar::with_draw_target(Some(PARTS), target());
        let name = label.clone();
        let draw = move |state: &ProgressState, out: &mut dyn std::fmt::Write| {
            let text = line(&name, state.fraction(), state.eta(), Screen::columns());
            // A line that cannot be composed is not shown.
            let _ = out.write_str(&text);
        };
        if let Ok(style) = ProgressStyle::with_template("{line}") {
            bar.set_style(style.with_key("line", draw));
        }
        bar.set_message(label);
        bar.enable_steady_tick(Duration::from_millis(200));
        if let Ok(mut current) = self.bar.lock() {
            *current = Some(bar);
        }
    }

    /// Sets how far the current line is.
    pub fn share(&self, share: f32) {
        if let Ok(bar) = self.bar.lock()
            && let Some(bar) = bar.as_ref()
        {
            bar.set_position((f64::from(share.clamp(0.0, 1.0)) * PARTS as f64) as u64);
        }
    }

    /// Ends the current line, leaving what is said about it.
    pub fn finish(&self, note: &str) {
        if let Ok(mut current) = self.bar.lock()
            && let Some(bar) = current.take()
        {
            bar.finish_and_clear();
            if !bar.is_hidden() {
                // Without a gap where that would fold the line.
                let name = NAME.min(Screen::columns().saturating_sub(note.len() + 2));
                let said = format!("{:<name$} {note}", bar.message());
                eprintln!("{}", said.trim_end());
            }
        }
    }

    /// Says something the user should read.
    pub fn warn(&self, message: &str) {
        if self.quiet {
            return;
        }
        let line = message::cut(&format!("warning: {message}"));
        match self.bar.lock() {
            Ok(bar) => match bar.as_ref() {
                Some(bar) => bar.suspend(|| eprintln!("{line}")),
                None => eprintln!("{line}"),
            },
            Err(_) => eprintln!("{line}"),
        }
    }
}

/// Where lines go: a terminal, or nowhere.
fn target() -> ProgressDrawTarget {
    if std::io::stderr().is_terminal() {
        ProgressDrawTarget::term_like_with_hz(Box::new(Screen::new()), 10)
    } else {
        ProgressDrawTarget::hidden()
    }
}

impl Observer for Bars {
    fn step_started(&self, index: usize, count: usize, id: &str, op: &str) {
        let number = if count > 0 { format!("[{}/{count}] ", index + 1) } else { String::new() };
        self.start(format!("{number}{id} ({op})"));
    }

    fn progress(&self, share: f32) {
        self.share(share);
    }

    fn step_finished(&self, report: &StepReport) {
        let note =
            if report.cached { String::from("from the cache") } else { format!("{:.2} s", report.seconds) };
        self.finish(&note);
    }

    fn warning(&self, message: &str) {
        self.warn(message);
    }
}
