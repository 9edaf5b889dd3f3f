//! `orogen new`: a commented recipe to start from.

use std::path::{Path, PathBuf};

use anyhow::Result;
use orogen::BuildError;
use orogen::io::OutputFolder;
use orogen::presets::{PRESETS, preset};

use crate::args::New;
use crate::output;

pub fn run(args: &New) -> Result<()> {
    if args.list {
        let width = PRESETS.iter().map(|p| p.name.len()).max().unwrap_or(0);
        let lines: Vec<String> =
            PRESETS.iter().map(|p| format!("{:<width$}  {}\n", p.name, p.about)).collect();
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

/// Writes aside and renames, so that a full disk costs nobody the recipe that was there.
fn write(file: &Path, text: &str, force: bool) -> Result<(), BuildError> {
    let wrong = |what: &str| BuildError::Call(format!("{}: {what}", file.display()));
    let name = file.file_name().ok_or_else(|| wrong("not a file name"))?;
    // Also a link that leads nowhere is somebody's.
    if file.symlink_metadata().is_ok() && !force {
        return Err(wrong("the file already exists; replace it with --force"));
    }
    let parent = file.parent().filter(|parent| !parent.as_os_str().is_empty());
    let folder = OutputFolder::new(parent.unwrap_or(Path::new(".")))?;
    folder.write(name, text.as_bytes())?;
    folder.commit()?;
    Ok(())
}
