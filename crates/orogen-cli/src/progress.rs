//! Progress on standard error: one line a step, percent and time left; nothing where that is no terminal.

use std::sync::Mutex;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use orogen::recipe::{Observer, StepReport};

const PARTS: u64 = 1000;

/// Shows steps as they run.
pub struct Bars {
    quiet: bool,
    bar: Mutex<Option<ProgressBar>>,
}

impl Bars {
    /// Shows nothing when `quiet`, and no bars where standard error is no terminal.
    pub fn new(quiet: bool) -> Self {
        Self { quiet, bar: Mutex::new(None) }
    }

    /// Begins a line.
    pub fn start(&self, label: String) {
        if self.quiet {
            return;
        }
        // indicatif draws nothing by itself where standard error is no terminal.
        let bar = ProgressBar::with_draw_target(Some(PARTS), ProgressDrawTarget::stderr_with_hz(10));
        if let Ok(style) = ProgressStyle::with_template("{msg:<40} {bar:24} {percent:>3} %  {eta:>4} left") {
            bar.set_style(style.progress_chars("=> "));
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
            if let Ok(style) = ProgressStyle::with_template("{msg}") {
                bar.set_style(style);
            }
            bar.finish_with_message(format!("{:<40} {note}", bar.message()));
        }
    }

    /// Says something the user should read.
    pub fn warn(&self, message: &str) {
        if self.quiet {
            return;
        }
        let line = format!("warning: {message}");
        match self.bar.lock() {
            Ok(bar) => match bar.as_ref().filter(|bar| !bar.is_hidden()) {
                Some(bar) => bar.println(line),
                None => eprintln!("{line}"),
            },
            Err(_) => eprintln!("{line}"),
        }
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
