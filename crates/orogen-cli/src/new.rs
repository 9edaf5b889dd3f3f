//! `orogen new`: a commented recipe to start from.

use std::path::{Path, PathBuf};

use anyhow::Result;
use orogen::BuildError;
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
    output::write_file(&file, text.as_bytes(), args.force)?;
    eprintln!("wrote {}; now: orogen build {}", file.display(), file.display());
    Ok(())
}
