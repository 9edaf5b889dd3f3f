//! What every tool does before and after its work: reads the model, watches, writes the result whole or not at all.

use std::fs::File;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use anyhow::Result;
use orogen::BuildError;
use orogen::core::{Cancel, Ctx, OpError, Raster, Watch};
use orogen::io::geotiff::Place;
use orogen::io::{Limits, OutputFolder, elevation};
use serde_json::{Map, Value, json};

use super::Common;
use super::parse::Spot;
use crate::progress::Bars;
use crate::{build, output};

/// An elevation model with its place.
pub struct Model {
    pub height: Raster<f32>,
    pub place: Place,
}

impl Model {
    /// Reads a model; `spacing_m` stands in where the file does not say how far apart its samples are.
    pub fn read(path: &Path, spacing_m: Option<f64>) -> Result<Self, BuildError> {
        let (model, place) = elevation::read_placed(path, &Limits::default())
            .map_err(|e| BuildError::Read { path: e.path, reason: e.reason })?;
        let rows = model.height.rows();
        let given = || spacing_m.map(|m| Place::local([0.0, (rows - 1) as f64 * m], [m, m]));
        let place = place.or_else(given).ok_or_else(|| {
            let text = "the file does not say how far apart its samples are; --spacing M gives it in metres";
            BuildError::Read { path: path.to_owned(), reason: text.to_owned() }
        })?;
        Ok(Self { height: model.height, place })
    }
}

impl Model {
    /// The sample nearest to a place, which the call gave by an option.
    pub fn nearest(&self, spot: Spot, option: &str) -> Result<[usize; 2], BuildError> {
        let [col, row] = self.place.cell_of(spot).map(f64::round);
        let (cols, rows) = (self.height.cols(), self.height.rows());
        if (0.0..cols as f64).contains(&col) && (0.0..rows as f64).contains(&row) {
            return Ok([col as usize, row as usize]);
        }
        let (a, b) = (self.place.at([0.0, (rows - 1) as f64]), self.place.at([(cols - 1) as f64, 0.0]));
        Err(BuildError::Call(format!(
            "{option} {},{} lies outside the model, which reaches from {},{} to {},{}",
            spot[0], spot[1], a[0], a[1], b[0], b[1]
        )))
    }
}

/// One run of a tool.
pub struct Job {
    tool: &'static str,
    common: Common,
    start: Instant,
    bars: Bars,
    cancel: Arc<Cancel>,
}

impl Watch for Job {
    fn progress(&self, share: f32) {
        self.bars.share(share);
    }

    fn is_cancelled(&self) -> bool {
        self.cancel.is_cancelled()
    }
}

impl Job {
    pub fn new(tool: &'static str, common: &Common) -> Result<Self> {
        let cancel = build::cancel_on_signal()?;
        Ok(Self {
            tool,
            common: common.clone(),
            start: Instant::now(),
            bars: Bars::new(common.quiet),
            cancel,
        })
    }

    /// The model that the call names.
    pub fn read(&self) -> Result<Model, BuildError> {
        Model::read(&self.common.input, self.common.spacing)
    }

    /// Does the work under a line of progress.
    pub fn work<T, E: Into<OpError>>(
        &self,
        f: impl FnOnce(&Ctx<'_>) -> Result<T, E>,
    ) -> Result<T, BuildError> {
        self.bars.start(self.tool.to_owned());
        let ctx = Ctx::silent().watched_by(self);
        let done = f(&ctx).map_err(|e| match e.into() {
            OpError::Failed(reason) => {
                BuildError::Write(format!("{}: {reason}", self.common.input.display()))
            }
            other => BuildError::from(other),
        });
        self.bars.finish("");
        ctx.take_warnings().iter().for_each(|warning| self.bars.warn(warning));
        done
    }

    /// Where a result goes: as the call says, or named after the model and the tool, in this folder.
    fn target(&self, out: Option<&Path>, ending: &str) -> PathBuf {
        out.map_or_else(
            || {
                let stem = self.common.input.file_stem().unwrap_or_default().to_string_lossy();
                PathBuf::from(format!("{stem}-{}.{ending}", self.tool))
            },
            Path::to_path_buf,
        )
    }

    /// The ending of OUT, which must be one of those allowed; the first when there is no OUT.
    pub fn ending(&self, out: Option<&Path>, allowed: &[&'static str]) -> Result<&'static str, BuildError> {
        let Some(out) = out else { return Ok(allowed[0]) };
        let found = out.extension().map(|e| e.to_string_lossy().to_ascii_lowercase()).unwrap_or_default();
        allowed.iter().find(|ending| **ending == found).copied().ok_or_else(|| {
            let list = allowed.join(", ");
            BuildError::Call(format!(
                "{}: its name ends in {found:?}; `orogen dem {}` writes {list}",
                out.display(),
                self.tool
            ))
        })
    }

    /// Writes a result whole or not at all and says what came of it.
    pub fn write(
        &self,
        out: Option<&Path>,
        ending: &str,
        bytes: &[u8],
        facts: Vec<(&'static str, Value)>,
        said: &str,
    ) -> Result<()> {
        self.write_pieces(out, ending, |file| file.write_all(bytes), facts, said)
    }

    /// As [`Job::write`], by a function that writes large pieces.
    pub fn write_pieces(
        &self,
        out: Option<&Path>,
        ending: &str,
        f: impl FnOnce(&mut File) -> io::Result<()>,
        facts: Vec<(&'static str, Value)>,
        said: &str,
    ) -> Result<()> {
        if self.cancel.is_cancelled() {
            return Err(BuildError::Cancelled.into());
        }
        let target = self.target(out, ending);
        write_whole(&target, f)?;
        self.report(Some(&target), facts, said)
    }

    /// Writes a second result beside the first, under the same name with another ending, and tells where.
    pub fn write_beside(&self, out: Option<&Path>, ending: &str, bytes: &[u8]) -> Result<PathBuf> {
        if self.cancel.is_cancelled() {
            return Err(BuildError::Cancelled.into());
        }
        let target = self.target(out, ending).with_extension(ending);
        write_whole(&target, |file| file.write_all(bytes))?;
        Ok(target)
    }

    /// Writes a table to a file, or to standard output when there is none.
    pub fn write_text(
        &self,
        out: Option<&Path>,
        text: &str,
        facts: Vec<(&'static str, Value)>,
        said: &str,
    ) -> Result<()> {
        if out.is_some() {
            return self.write(out, "csv", text.as_bytes(), facts, said);
        }
        // One document on standard output: the table, or the same as JSON.
        if !self.common.json {
            output::print(text)?;
        }
        self.report(None, facts, said)
    }

    /// Says what came of the work.
    pub fn report(&self, out: Option<&Path>, facts: Vec<(&'static str, Value)>, said: &str) -> Result<()> {
        if self.common.json {
            let mut document = Map::new();
            document.insert(String::from("tool"), json!(self.tool));
            document.insert(String::from("in"), json!(self.common.input.display().to_string()));
            if let Some(out) = out {
                document.insert(String::from("out"), json!(out.display().to_string()));
            }
            document.extend(facts.into_iter().map(|(name, value)| (name.to_owned(), value)));
            output::print_json(&document)?;
        }
        if !self.common.quiet {
            let place = out.map_or(String::new(), |out| format!("{}: ", out.display()));
            eprintln!("{place}{said}, {:.2} s", self.start.elapsed().as_secs_f64());
        }
        Ok(())
    }
}

/// Writes aside and renames.
fn write_whole(file: &Path, f: impl FnOnce(&mut File) -> io::Result<()>) -> Result<(), BuildError> {
    let name = file
        .file_name()
        .and_then(|name| name.to_str())
        .ok_or_else(|| BuildError::Call(format!("{}: this is no file name", file.display())))?;
    let parent = file.parent().filter(|parent| !parent.as_os_str().is_empty());
    let folder = OutputFolder::new(parent.unwrap_or(Path::new(".")))?;
    folder.write_pieces(name, f)?;
    folder.commit()?;
    Ok(())
}
