//! Runs the `orogen` binary in a folder of its own.
#![allow(dead_code, reason = "each test program uses its own part of this")]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tempfile::TempDir;

/// A folder that is gone after the test, with a cache of its own.
pub struct Bench {
    dir: TempDir,
}

/// What a run gave.
pub struct Run {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl Bench {
    pub fn new() -> Self {
        Self { dir: tempfile::tempdir().unwrap() }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        std::fs::write(&path, content).unwrap();
        path
    }

    /// A command in this folder, not yet run.
    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_orogen"));
        command.args(args).current_dir(self.dir.path()).env("OROGEN_CACHE_DIR", self.path("cache"));
        // A picture of every small land would take longer than the land.
        command.env("OROGEN_NO_VIEW", "1");
        command
    }

    pub fn run(&self, args: &[&str]) -> Run {
        Run::of(self.command(args).output().unwrap())
    }

    /// Everything in the folder and below, the cache left out.
    pub fn files(&self) -> Vec<String> {
        let mut names = Vec::new();
        walk(self.dir.path(), self.dir.path(), &mut names);
        names.retain(|name| !name.starts_with("cache"));
        names.sort();
        names
    }
}

fn walk(root: &Path, at: &Path, names: &mut Vec<String>) {
    for entry in std::fs::read_dir(at).unwrap() {
        let path = entry.unwrap().path();
        names.push(path.strip_prefix(root).unwrap().to_string_lossy().into_owned());
        if path.is_dir() {
            walk(root, &path, names);
        }
    }
}

impl Run {
    pub fn of(output: Output) -> Self {
        Self {
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// Asserts the exit code and that the message says all of these.
    #[track_caller]
    pub fn fails(&self, code: i32, says: &[&str]) {
        assert_eq!(self.code, Some(code), "stderr: {}", self.stderr);
        assert!(!self.stderr.contains("panicked"), "{}", self.stderr);
        for text in says {
            assert!(self.stderr.contains(text), "expected {text:?} in: {}", self.stderr);
        }
    }

    #[track_caller]
    pub fn succeeds(&self) -> &Self {
        assert_eq!(self.code, Some(0), "stderr: {}", self.stderr);
        self
    }
}

/// A recipe small enough to build in a moment.
pub const SMALL: &str = r#"
seed = "test"
frame = { size_m = 4096.0, samples = 65 }

[[step]]
id = "island"
op = "source.island"
params = { polygons = 300 }
"#;
