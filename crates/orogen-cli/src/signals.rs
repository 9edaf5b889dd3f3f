//! Signals: which end the work tidily, and which are a matter of course.

use std::sync::Arc;

use anyhow::{Context as _, Result};
use orogen::core::Cancel;

/// A switch that Ctrl-C and the signals that end programs throw, so that they leave no half-made file behind. A second signal
/// ends the program at once, whatever it is busy with; the next run sweeps what is left then. Signals that the caller has us
/// ignore (`nohup`, a shell's background jobs) stay ignored.
#[cfg(unix)]
pub fn cancel_on_signal() -> Result<Arc<Cancel>> {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    use signal_hook::iterator::Signals;

    let cancel = Arc::new(Cancel::new());
    let heard: Vec<i32> =
        [SIGINT, SIGTERM, SIGHUP].into_iter().filter(|&signal| !is_ignored(signal)).collect();
    let mut signals = Signals::new(heard).context("cannot listen for Ctrl-C")?;
    let switch = Arc::clone(&cancel);
    std::thread::Builder::new()
        .name(String::from("signals"))
        .spawn(move || {
            for signal in signals.forever() {
                if switch.is_cancelled() {
                    // As if it were not caught: the shell sees 130 for Ctrl-C and 143 for SIGTERM.
                    let _ = signal_hook::low_level::emulate_default_handler(signal);
                }
                switch.cancel();
            }
        })
        .context("cannot listen for Ctrl-C")?;
    Ok(cancel)
}

/// A switch that Ctrl-C throws; a second Ctrl-C ends the program at once.
#[cfg(not(unix))]
pub fn cancel_on_signal() -> Result<Arc<Cancel>> {
    let cancel = Arc::new(Cancel::new());
    let switch = Arc::clone(&cancel);
    let on_signal = move || {
        if switch.is_cancelled() {
            std::process::exit(130);
        }
        switch.cancel();
    };
    ctrlc::set_handler(on_signal).context("cannot listen for Ctrl-C")?;
    Ok(cancel)
}

/// Makes a file that grows beyond what the caller allows (`ulimit -f`) an error of writing, with a sentence, instead of the
/// end of the program.
pub fn report_large_files() {
    #[cfg(unix)]
    {
        let heard = Arc::new(std::sync::atomic::AtomicBool::new(false));
        // Where it cannot be caught, things are as they were.
        let _ = signal_hook::flag::register(signal_hook::consts::SIGXFSZ, heard);
    }
}

/// Whether the caller has us ignore a signal.
#[cfg(target_os = "linux")]
fn is_ignored(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok())
        .is_some_and(|mask| mask >> (signal - 1) & 1 == 1)
}

/// Nothing tells here whether a hangup is ignored, so it is left as it is: ignored, or the end of the program.
#[cfg(all(unix, not(target_os = "linux")))]
fn is_ignored(signal: i32) -> bool {
    signal == signal_hook::consts::SIGHUP
}
