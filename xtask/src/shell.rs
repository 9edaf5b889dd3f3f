//! Running commands, and saying which.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, bail};

/// The root of the repository.
pub fn root() -> PathBuf {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR"));
    manifest.parent().unwrap_or(manifest).to_path_buf()
}

/// Where cargo puts what it builds.
pub fn target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from)
}

/// Runs a command, showing it and its time; fails when it fails.
pub fn run(command: &mut Command) -> Result<()> {
    let text = text(command);
    println!("$ {text}");
    let start = Instant::now();
    let status = command.status().with_context(|| format!("cannot start: {text}"))?;
    if !status.success() {
        bail!("failed ({status}): {text}");
    }
    println!("  done in {:.1} s", start.elapsed().as_secs_f64());
    Ok(())
}

/// Whether a program can be started.
pub fn has(program: &str, args: &[&str]) -> bool {
    Command::new(program)
        .args(args)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

/// `cargo` with arguments, the same cargo that runs this.
pub fn cargo(args: &[&str]) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(args);
    command
}

/// `rustc` with arguments, the one that the same cargo uses.
pub fn rustc(args: &[&str]) -> Command {
    let mut command = Command::new(std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()));
    command.args(args);
    command
}

/// Installs a Debian package, as root or through sudo.
pub fn apt(packages: &[&str]) -> Result<()> {
    let apt = |args: &[&str]| {
        let root = Command::new("id").arg("-u").output().is_ok_and(|o| o.stdout.starts_with(b"0"));
        let mut command = if root { Command::new("apt-get") } else { Command::new("sudo") };
        if !root {
            command.arg("apt-get");
        }
        command.args(args).env("DEBIAN_FRONTEND", "noninteractive");
        command
    };
    run(&mut apt(&["update", "-q"]))?;
    run(apt(&["install", "-q", "-y"]).args(packages))
}

fn text(command: &Command) -> String {
    let program = Path::new(command.get_program()).file_name().unwrap_or(command.get_program());
    let mut text = program.to_string_lossy().into_owned();
    for argument in command.get_args() {
        text.push(' ');
        text.push_str(&argument.to_string_lossy());
    }
    text
}
