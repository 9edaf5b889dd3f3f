//! `orogen new`: a commented recipe to start from.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::Result;
use orogen::BuildError;
use orogen::presets::{PRESETS, preset};

use crate::args::New;
use crate::output;

pub fn run(args: &New) -> Result<()> {
    if args.list {
        let lines: Vec<String> = PRESETS.iter().map(|p| format!("{:<12} {}\n", p.name, p.about)).collect();
        return output::print(&lines.concat());
    }
    let preset = preset(&args.preset).map_err(BuildError::Call)?;
    let text = match &args.seed {
        Some(seed) => preset.with_seed(seed),
        None => preset.text.to_owned(),
    };
    let file = args.file.clone().unwrap_or_else(|| PathBuf::from(format!("{}.toml", preset.name)));
    if file == Path::new("-") {
        return output::print(&text);
    }
    write(&file, &text, args.force)?;
    eprintln!("wrote {}; now: orogen build {}", file.display(), file.display());
    Ok(())
}

fn write(file: &Path, text: &str, force: bool) -> Result<(), BuildError> {
    let mut options = OpenOptions::new();
    options.write(true);
    if force {
        options.create(true).truncate(true)
    } else {
        options.create_new(true)
    };
    let failed = |e: std::io::Error| {
        let hint = if e.kind() == std::io::ErrorKind::AlreadyExists { "; --force replaces it" } else { "" };
        BuildError::Read { path: file.to_path_buf(), reason: format!("cannot write: {e}{hint}") }
    };
    options.open(file).map_err(failed)?.write_all(text.as_bytes()).map_err(failed)
}
