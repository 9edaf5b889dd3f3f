//! What a build made, file by file and step by step, as `manifest.json`.

use orogen_core::{Figure, Frame, Rect};
use orogen_recipe::StepReport;
use serde::Serialize;

use crate::build::Built;

/// One written file.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FileReport {
    /// Name inside the output folder.
    pub name: String,
    /// Export kind that made it.
    pub kind: &'static str,
    /// SHA-256 of its bytes, in hexadecimal.
    pub sha256: String,
    /// Its size.
    pub bytes: u64,
    /// The layer or vectors it holds.
    pub layer: Option<String>,
    /// Unit of its values.
    pub unit: Option<&'static str>,
    /// Smallest value of the layer.
    pub min: Option<f64>,
    /// Largest value of the layer.
    pub max: Option<f64>,
}

/// The whole report of a build.
#[derive(Clone, Debug, Serialize)]
pub struct Manifest {
    /// Version of Orogen that made this.
    pub orogen: &'static str,
    /// The recipe's name.
    pub recipe: String,
    /// The world seed.
    pub seed: String,
    /// Where the land lies.
    pub frame: FrameReport,
    /// What was done.
    pub steps: Vec<StepEntry>,
    /// What was written, this file left out.
    pub files: Vec<FileReport>,
    /// Everything the user should read.
    pub warnings: Vec<String>,
    /// Wall time of the build up to here.
    pub seconds: f64,
    /// Highest memory use of the whole build, where the program measures it.
    pub peak_memory_bytes: Option<u64>,
}

/// Where a terrain lies, in a form for other programs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FrameReport {
    /// Samples from west to east and from north to south.
    pub samples: [usize; 2],
    /// Distance between samples, in metres.
    pub spacing_m: [f64; 2],
    /// Extent between the outermost samples, in metres.
    pub extent_m: Rect,
}

impl From<&Frame> for FrameReport {
    fn from(frame: &Frame) -> Self {
        Self { samples: [frame.cols(), frame.rows()], spacing_m: frame.spacing_m(), extent_m: frame.extent() }
    }
}

/// One step in the manifest.
#[derive(Clone, Debug, Serialize)]
pub struct StepEntry {
    /// The step's id.
    pub id: String,
    /// Its operator.
    pub op: &'static str,
    /// Wall time.
    pub seconds: f64,
    /// Highest memory use while it ran, where the program measures it.
    pub peak_memory_bytes: Option<u64>,
    /// Whether the result came from the cache.
    pub cached: bool,
    /// What the user should read.
    pub warnings: Vec<String>,
    /// What the operator measured of its own work: a mass balance, say.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub figures: Vec<Figure>,
}

impl From<&StepReport> for StepEntry {
    fn from(step: &StepReport) -> Self {
        Self {
            id: step.id.clone(),
            op: step.op,
            seconds: step.seconds,
            peak_memory_bytes: step.peak_bytes,
            cached: step.cached,
            warnings: step.warnings.clone(),
            figures: step.figures.clone(),
        }
    }
}

impl Manifest {
    /// The report of a build without files yet.
    #[must_use]
    pub fn of(built: &Built) -> Self {
        Self {
            orogen: crate::VERSION,
            recipe: built.recipe.clone(),
            seed: built.seed.clone(),
            frame: built.terrain.frame().into(),
            steps: built.steps.iter().map(StepEntry::from).collect(),
            files: Vec::new(),
            warnings: built.warnings.clone(),
            seconds: built.seconds,
            peak_memory_bytes: None,
        }
    }
}
