//! What every tool does before and after its work: reads the model, watches, writes the result whole or not at all.

use std::fs::File;
use std::io::{self, BufWriter, IsTerminal as _, Seek as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use anyhow::Result;
use orogen::BuildError;
use orogen::core::vector::VectorLayer;
use orogen::core::{Cancel, Ctx, OpError, Raster, Watch, layer, values};
use orogen::io::geojson::{self, System};
use orogen::io::geotiff::Place;
use orogen::io::{Limits, OutputFolder, Sidecar, Watched, elevation, refuse_replacing};
use serde_json::{Map, Value, json};

use super::parse::Spot;
use super::{Common, memory};
use crate::progress::Bars;
use crate::streams::{InputError, read_stdin};
use crate::{output, signals};

/// An elevation model with its place.
pub struct Model {
    pub height: Raster<f32>,
    pub place: Place,
    /// Whether the file itself says how far apart its samples are.
    has_spacing: bool,
}

impl Model {
    /// Reads a band of a model; `spacing_m` stands in where the file does not say how far apart its samples are.
    fn read(
        path: &Path,
        band: Option<u32>,
        spacing_m: Option<f64>,
        limits: &Limits,
        cancel: &Cancel,
    ) -> Result<Self, BuildError> {
        let (model, place) = if path == Path::new(STREAM) {
            let fail = |reason| BuildError::Read { path: PathBuf::from("standard input"), reason };
            let looks_right = |bytes: &[u8]| elevation::can_begin_with(bytes).map_err(|e| e.to_string());
            let bytes =
                read_stdin(memory::most_stream_bytes(), cancel, looks_right).map_err(|e| match e {
                    InputError::Cancelled => BuildError::Cancelled,
                    InputError::Refused(reason) => fail(reason),
                })?;
            elevation::decode(&bytes, band, limits).map_err(|e| fail(e.to_string()))?
        } else {
            elevation::read_band(path, band, limits)
                .map_err(|e| BuildError::Read { path: e.path, reason: e.reason })?
        };
        let (rows, has_spacing) = (model.height.rows(), place.is_some());
        let given = || spacing_m.map(|m| Place::local([0.0, (rows - 1) as f64 * m], [m, m]));
        let place = place.or_else(given).ok_or_else(|| {
            let text = "the file has no sample spacing; give it in metres with --spacing M";
            BuildError::Read { path: path.to_owned(), reason: text.to_owned() }
        })?;
        values::check(&layer::HEIGHT.name(), &model.height)
            .map_err(|e| BuildError::Read { path: path.to_owned(), reason: e.to_string() })?;
        Ok(Self { height: model.height, place, has_spacing })
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
        let reach = self.reach();
        Err(BuildError::Call(format!(
            "{option} {},{} lies outside the model, which {reach}",
            spot[0], spot[1]
        )))
    }

    /// Where the model lies, as the end of a sentence.
    pub fn reach(&self) -> String {
        let (cols, rows) = (self.height.cols(), self.height.rows());
        let (a, b) = (self.place.at([0.0, (rows - 1) as f64]), self.place.at([(cols - 1) as f64, 0.0]));
        format!("reaches from {},{} to {},{}", a[0], a[1], b[0], b[1])
    }

    /// Whether a place lies within the outermost samples.
    pub fn covers(&self, spot: Spot) -> bool {
        // A place on the edge itself may come out a rounding error beyond it.
        const SLACK: f64 = 1e-9;
        let [col, row] = self.place.cell_of(spot);
        let inside = |at: f64, count: usize| (-SLACK..=(count - 1) as f64 + SLACK).contains(&at);
        inside(col, self.height.cols()) && inside(row, self.height.rows())
    }

    /// What to warn of when places lie outside the model; nothing when none does.
    pub fn warning_of_places_outside(&self, spots: &[Spot]) -> Option<String> {
        /// More than a reader takes in.
        const NAMED: usize = 5;
        let outside: Vec<&Spot> = spots.iter().filter(|spot| !self.covers(**spot)).collect();
        if outside.is_empty() {
            return None;
        }
        let names: Vec<String> = outside.iter().take(NAMED).map(|[x, y]| format!("{x},{y}")).collect();
        let more = if outside.len() > NAMED { ", ..." } else { "" };
        Some(format!(
            "{} of {} places lie outside the model, which {}: {}{more}",
            outside.len(),
            spots.len(),
            self.reach(),
            names.join(" ")
        ))
    }
}

/// One run of a tool.
pub struct Job {
    tool: &'static str,
    common: Common,
    start: Instant,
    bars: Bars,
    cancel: Arc<Cancel>,
    /// What the tool reads, which no result may replace.
    inputs: Vec<PathBuf>,
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
        let cancel = signals::cancel_on_signal()?;
        Ok(Self {
            tool,
            common: common.clone(),
            start: Instant::now(),
            bars: Bars::new(common.quiet),
            cancel,
            inputs: Vec::new(),
        }
        .reading(&Some(common.input.clone())))
    }

    /// Names a file that the tool reads besides the model.
    pub fn reading(mut self, path: &Option<PathBuf>) -> Self {
        self.inputs.extend(path.iter().flat_map(|path| [path.clone(), Sidecar::path_of(path)]));
        self
    }

    /// The model that the call names.
    pub fn read(&self) -> Result<Model, BuildError> {
        let Common { input, band, spacing, .. } = &self.common;
        let model = Model::read(input, *band, *spacing, &self.limits(), &self.cancel)?;
        if spacing.is_some() && model.has_spacing {
            let [dx, dy] = model.place.spacing_m();
            self.warn(&format!(
                "--spacing is ignored: {} gives its own sample spacing, {dx} x {dy} m",
                input.display()
            ));
        }
        Ok(model)
    }

    /// Another model that the call names, in its first band.
    pub fn read_other(&self, path: &Path) -> Result<Model, BuildError> {
        if path == Path::new(STREAM) {
            return Err(BuildError::Call(String::from("only IN can be `-`, standard input")));
        }
        Model::read(path, None, self.common.spacing, &self.limits(), &self.cancel)
    }

    fn limits(&self) -> Limits {
        memory::limits(self.tool, self.common.max_samples.map(|n| n as u64))
    }

    /// Prints a warning.
    pub fn warn(&self, message: &str) {
        self.bars.warn(message);
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
                let mut name = self.common.stem_os();
                name.push(format!("-{}.{ending}", self.tool));
                PathBuf::from(name)
            },
            Path::to_path_buf,
        )
    }

    /// What is written: as `--format` says, or as OUT ends, which must be one of those allowed; the first when there is
    /// neither.
    pub fn ending(&self, out: Option<&Path>, allowed: &[&'static str]) -> Result<&'static str, BuildError> {
        if let Some(out) = out {
            refuse_replacing(out, &self.inputs)?;
        }
        let find = |found: &str, what: String| {
            allowed.iter().find(|ending| **ending == found).copied().ok_or_else(|| {
                let list = allowed.join(", ");
                BuildError::Call(format!("{what}; `orogen dem {}` writes {list}", self.tool))
            })
        };
        let ending = match (&self.common.format, out) {
            (Some(format), _) => {
                let format = format.trim_start_matches('.').to_ascii_lowercase();
                find(&format, format!("--format is {format:?}"))?
            }
            (None, Some(out)) if !is_stream(Some(out)) => {
                let found = out.extension().map(|e| e.to_string_lossy().to_ascii_lowercase());
                let found = found.unwrap_or_default();
                find(&found, format!("{}: unknown file type {found:?}", out.display()))?
            }
            _ => allowed[0],
        };
        if is_stream(out) {
            self.check_stdout(ending)?;
        }
        Ok(ending)
    }

    /// OUT, unless it is `-` and nothing says what to write there: a tool then writes what it writes without OUT.
    pub fn asked_file<'a>(&self, out: Option<&'a Path>) -> Option<&'a Path> {
        out.filter(|out| !is_stream(Some(out)) || self.common.format.is_some())
    }

    /// Whether a result can go to standard output.
    fn check_stdout(&self, ending: &str) -> Result<(), BuildError> {
        if self.common.json {
            let text = "cannot combine OUT `-` with --json: both write to standard output";
            return Err(BuildError::Call(text.to_owned()));
        }
        if ["tif", "tiff", "png", "glb"].contains(&ending) && io::stdout().is_terminal() {
            let text = format!(
                "refusing to write a {ending} to the terminal; redirect standard output to a file or a program"
            );
            return Err(BuildError::Call(text));
        }
        Ok(())
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
        f: impl FnOnce(&mut Watched<'_, &File>) -> io::Result<()>,
        facts: Vec<(&'static str, Value)>,
        said: &str,
    ) -> Result<()> {
        if self.cancel.is_cancelled() {
            return Err(BuildError::Cancelled.into());
        }
        if is_stream(out) {
            // Aside first: what fails half-way gives nothing, and the writer may want to seek.
            let mut file = tempfile::tempfile()?;
            f(&mut Watched::new(&file, &self.cancel)).map_err(|e| self.cancelled_or(e))?;
            file.rewind()?;
            output::copy(file, &self.cancel)?;
            return self.report(None, facts, said);
        }
        let target = self.target(out, ending);
        self.write_whole(&target, f)?;
        self.report(Some(&target), facts, said)
    }

    /// Where a second result goes that the call does not name: beside the first, under the same name with another ending.
    /// `None` beside standard output.
    pub fn beside(&self, out: Option<&Path>, ending: &str) -> Option<PathBuf> {
        (!is_stream(out)).then(|| self.target(out, ending).with_extension(ending))
    }

    /// Writes a second result.
    pub fn write_second(&self, target: &Path, bytes: &[u8]) -> Result<()> {
        if self.cancel.is_cancelled() {
            return Err(BuildError::Cancelled.into());
        }
        Ok(self.write_whole(target, |file| file.write_all(bytes))?)
    }

    /// Writes a table to a file, or to standard output when there is none.
    pub fn write_text(
        &self,
        out: Option<&Path>,
        text: &str,
        facts: Vec<(&'static str, Value)>,
        said: &str,
    ) -> Result<()> {
        if out.is_some() && !is_stream(out) {
            return self.write(out, "csv", text.as_bytes(), facts, said);
        }
        // One document on standard output: the table, or the same as JSON.
        if !self.common.json {
            output::print_watched(text.to_owned(), &self.cancel)?;
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
            output::print_json_watched(&document, &self.cancel)?;
        }
        if !self.common.quiet {
            let place = out.map_or(String::new(), |out| format!("{}: ", out.display()));
            eprintln!("{place}{said}, {:.2} s", self.start.elapsed().as_secs_f64());
        }
        Ok(())
    }

    /// A writer that failed because the work was cancelled says so.
    fn cancelled_or(&self, error: io::Error) -> anyhow::Error {
        if self.cancel.is_cancelled() { BuildError::Cancelled.into() } else { error.into() }
    }

    /// Writes a vector layer as GeoJSON.
    pub fn write_vectors(
        &self,
        out: Option<&Path>,
        ending: &str,
        model: &Model,
        (name, layer): (&str, &VectorLayer),
        facts: Vec<(&'static str, Value)>,
        said: &str,
    ) -> Result<()> {
        let system = System::of(&model.place);
        let write = |file: &mut Watched<'_, &File>| {
            let mut out = BufWriter::with_capacity(1 << 20, file);
            geojson::write_in(layer, name, &system, &mut out).and_then(|()| out.flush())
        };
        self.write_pieces(out, ending, write, facts, said)
    }

    /// Writes aside and renames.
    fn write_whole(
        &self,
        file: &Path,
        f: impl FnOnce(&mut Watched<'_, &File>) -> io::Result<()>,
    ) -> Result<(), BuildError> {
        let name = file
            .file_name()
            .ok_or_else(|| BuildError::Call(format!("{}: not a file name", file.display())))?;
        refuse_replacing(file, &self.inputs)?;
        let parent = file.parent().filter(|parent| !parent.as_os_str().is_empty());
        let folder = OutputFolder::new(parent.unwrap_or(Path::new(".")))?;
        folder.write_pieces(name, |file| f(&mut Watched::new(&*file, &self.cancel)))?;
        folder.commit()?;
        Ok(())
    }
}

/// The name that stands for standard input and output.
const STREAM: &str = "-";

/// Whether a result goes to standard output.
fn is_stream(out: Option<&Path>) -> bool {
    out == Some(Path::new(STREAM))
}
