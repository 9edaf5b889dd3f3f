//! The command line of Orogen: arguments in, the library does the work, sentences out.
//!
//! Data goes to standard output, progress and messages to standard error. Exit codes: 0 done, 1 the work failed,
//! 2 the call or the recipe is wrong.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command line talks to its user")]

mod args;
mod build;
mod check;
mod dem;
mod new;
mod operators;
mod output;
mod progress;

use std::process::ExitCode;

use clap::Parser as _;
use orogen::BuildError;
use orogen_memory::Memory;

use crate::args::{Args, Command};

/// Rasters on huge pages; counts bytes, so that the manifest can say what each step needed.
#[global_allocator]
static MEMORY: Memory = Memory::new();

fn main() -> ExitCode {
    // Wrong arguments, `--help` and `--version` end here, with exit code 2 or 0.
    let args = Args::parse();
    let done = match args.command {
        Command::New(args) => new::run(&args),
        Command::Build(args) => build::run(&args),
        Command::Check(args) => check::run(&args),
        Command::Dem(args) => dem::run(&args),
        Command::Ops(args) => operators::list(&args),
        Command::Schema => operators::schema(),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => match error.downcast_ref::<BuildError>() {
            Some(error) => {
                eprintln!("error: {error}");
                ExitCode::from(if error.is_callers_fault() { 2 } else { 1 })
            }
            None => {
                eprintln!("error: {error:#}");
                ExitCode::from(1)
            }
        },
    }
}
