//! The command line of Orogen: arguments in, the library does the work, sentences out.
//!
//! Data goes to standard output, progress and messages to standard error. Exit codes: 0 done, 1 the work failed,
//! 2 the call or the recipe is wrong.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command line talks to its user")]

mod args;
mod build;
mod check;
mod dem;
mod explain;
#[cfg(feature = "render")]
mod fly;
mod message;
mod new;
mod operators;
mod output;
mod plants;
mod progress;
#[cfg(feature = "render")]
mod render;
mod signals;
mod streams;
mod textures;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;

use clap::Parser as _;
use orogen::BuildError;
use orogen_memory::Memory;

use crate::args::{Args, Command};

/// Counts bytes, so that the manifest can say what each step needed.
#[global_allocator]
static MEMORY: Memory = Memory;

fn main() -> ExitCode {
    #[cfg(all(feature = "render", target_os = "linux"))]
    quiet_drivers();
    signals::report_large_files();
    if std::env::var_os("RUST_BACKTRACE").is_none() {
        // A panic is caught and said in a sentence, below or where a file is decoded or a step is run.
        std::panic::set_hook(Box::new(|_| {}));
    }
    // Wrong arguments, `--help` and `--version` end here, with exit code 2 or 0.
    let args = Args::try_parse().unwrap_or_else(|error| refuse(&error));
    // A panic is a bug: reported as one, without its location, which only developers can use.
    let done = catch_unwind(AssertUnwindSafe(|| run(args))).unwrap_or_else(|panic| {
        let reason = panic.downcast_ref::<String>().map(String::as_str);
        let reason = reason.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no reason given");
        Err(anyhow::anyhow!("internal error in Orogen, please report it: {reason}"))
    });
    let Err(error) = done else { return ExitCode::SUCCESS };
    eprintln!("error: {}", message::of(&error));
    let callers = error.downcast_ref::<BuildError>().is_some_and(BuildError::is_callers_fault);
    #[cfg(feature = "render")]
    let callers = callers
        || error
            .downcast_ref::<orogen_render::RenderError>()
            .is_some_and(orogen_render::RenderError::is_callers_fault);
    ExitCode::from(if callers { 2 } else { 1 })
}

/// Starts the program anew with a word to Mesa's drivers, where a part of them would complain on standard error that there is no
/// desktop (as in a container). It takes a new start, since changing one's own environment is not safe.
#[cfg(all(feature = "render", target_os = "linux"))]
fn quiet_drivers() {
    use std::os::unix::process::CommandExt as _;
    const QUIET: &str = "NODEVICE_SELECT";
    let has = |name: &str| std::env::var_os(name).is_some();
    let draws =
        std::env::args_os().nth(1).is_some_and(|word| ["build", "render", "fly"].iter().any(|w| word == *w));
    if !draws || has("XDG_RUNTIME_DIR") || has(QUIET) {
        return;
    }
    let Ok(program) = std::env::current_exe() else { return };
    // It returns only where it fails; then the drivers complain.
    let _ = std::process::Command::new(program).args(std::env::args_os().skip(1)).env(QUIET, "1").exec();
}

/// Ends the program as wrong arguments do; what is long in them is cut.
fn refuse(error: &clap::Error) -> ! {
    let text = error.render().to_string();
    let short = message::cut(&text);
    if !error.use_stderr() || short.len() >= text.trim_end().len() {
        error.exit();
    }
    eprintln!("{short}");
    std::process::exit(error.exit_code());
}

fn run(args: Args) -> anyhow::Result<()> {
    match args.command {
        Command::New(args) => new::run(&args),
        Command::Build(args) => build::run(&args),
        Command::Check(args) => check::run(&args),
        Command::Explain(args) => explain::run(&args),
        Command::Dem(args) => dem::run(&args),
        Command::Ops(args) => operators::list(&args),
        Command::Schema => operators::schema(),
        #[cfg(feature = "render")]
        Command::Render(args) => render::run(&args),
        #[cfg(feature = "render")]
        Command::Fly(args) => fly::run(&args),
        Command::Textures(args) => textures::run(&args),
        Command::Plants(args) => plants::run(&args),
    }
}
