//! What a build made, file by file and step by step, as `manifest.json`.

use orogen_core::{Cancel, Ctx, Figure, Frame, OpError, Place, Rect, Terrain, Watch, layer};
use orogen_ops::survey::stats::{self, Realism};
use orogen_recipe::StepReport;
use serde::Serialize;

use crate::build::Built;
use crate::export::Exported;

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
    /// Where on Earth its world lies, as far as that is known.
    #[serde(skip_serializing_if = "Place::is_unknown")]
    pub place: Place,
    /// What was done.
    pub steps: Vec<StepEntry>,
    /// How the land compares with real land; none where there is too little of it to tell.
    pub realism: Option<Realism>,
    /// What was written, this file left out.
    pub files: Vec<FileReport>,
    /// Everything the user should read.
    pub warnings: Vec<String>,
    /// Wall time of the build up to here.
    pub seconds: f64,
    /// Highest memory use of the whole build, where the program measures it.
    pub peak_memory_bytes: Option<u64>,
}

/// What a save made; files of earlier saves into the same folder stay listed.
#[derive(Serialize)]
pub(crate) struct SavedManifest<'a> {
    orogen: &'static str,
    seed: &'a str,
    frame: FrameReport,
    #[serde(skip_serializing_if = "Place::is_unknown")]
    place: Place,
    files: Vec<serde_json::Value>,
    warnings: &'a [String],
}

impl<'a> SavedManifest<'a> {
    /// The text of it; `kept` are the entries of files that stay as they are.
    pub(crate) fn of(
        terrain: &Terrain,
        seed: &'a str,
        exported: &'a Exported,
        kept: Vec<serde_json::Value>,
    ) -> Result<Vec<u8>, serde_json::Error> {
        let mut files = kept;
        for file in &exported.files {
            files.push(serde_json::to_value(file)?);
        }
        let frame = terrain.frame().into();
        serde_json::to_vec_pretty(&Self {
            orogen: crate::VERSION,
            seed,
            frame,
            place: terrain.place(),
            files,
            warnings: &exported.warnings,
        })
    }
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
            place: built.terrain.place(),
            steps: built.steps.iter().map(StepEntry::from).collect(),
            realism: None,
            files: Vec::new(),
            warnings: built.warnings.clone(),
            seconds: built.seconds,
            peak_memory_bytes: None,
        }
    }
}

/// Samples a side below which land is too small to tell its rivers from noise.
const FEWEST: usize = 128;

/// Measures a land as a surveyor of real land would: at a comparable cell, and the surface of its water where it has any.
///
/// Heights are averaged to some 256 samples a side first, so it takes about as long as reading them once or twice: under 1 % of a
/// build of 1025 samples. `None` for land of less than 128 samples a side and where all is sea.
///
/// # Errors
/// When cancelled.
pub fn realism(terrain: &Terrain, cancel: &Cancel) -> Result<Option<Realism>, OpError> {
    struct Stop<'a>(&'a Cancel);
    impl Watch for Stop<'_> {
        fn progress(&self, _: f32) {}
        fn is_cancelled(&self) -> bool {
            self.0.is_cancelled()
        }
    }
    /// Heights are above sea level.
    const SEA_M: f32 = 0.0;
    let frame = terrain.frame();
    let samples = [frame.cols(), frame.rows()];
    let Ok(ground) = terrain.get(layer::HEIGHT) else { return Ok(None) };
    if samples.into_iter().min() < Some(FEWEST) || !ground.as_slice().iter().any(|&h| h > SEA_M) {
        return Ok(None);
    }
    let surface = terrain.get(layer::WATER).ok().map(|water| {
        let mut surface = ground.clone();
        surface.par_rows(|row, heights| {
            for (height, &depth) in heights.iter_mut().zip(water.row(row)) {
                if *height > SEA_M && depth > 0.0 {
                    *height += depth;
                }
            }
        });
        surface
    });
    let cell_m = stats::comparable_cell_m(samples, frame.spacing_m());
    let stop = Stop(cancel);
    let ctx = Ctx::silent().watched_by(&stop);
    match stats::realism(surface.as_ref().unwrap_or(ground), frame.spacing_m(), SEA_M, cell_m, &ctx) {
        Ok(found) => Ok(Some(found)),
        // Land that a coarser cell drowns.
        Err(OpError::Failed(_)) => Ok(None),
        Err(other) => Err(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use orogen_core::{Op as _, Raster, Seed};
    use orogen_ops::source::Noise;

    fn noise(samples: usize) -> Terrain {
        let frame = Frame::square(20_000.0, samples).unwrap();
        Noise::default().apply(Terrain::new(frame), &Ctx::new(Seed(4))).unwrap()
    }

    fn measure(terrain: &Terrain) -> Option<Realism> {
        realism(terrain, &Cancel::new()).unwrap()
    }

    #[test]
    fn land_is_measured_at_a_comparable_cell_and_small_land_not_at_all() {
        let found = measure(&noise(513)).unwrap();
        assert_eq!(found.samples, [256, 256]);
        assert!((found.cell_m[0] - 20_000.0 / 256.0).abs() < 1e-9, "{:?}", found.cell_m);
        assert!(found.verdicts.iter().any(|f| f.verdict != stats::Verdict::Inside), "noise is not like land");
        assert!(measure(&noise(127)).is_none());
    }

    #[test]
    fn sea_is_no_land_and_lakes_are_level() {
        let mut terrain = noise(257);
        let size = (257, 257);
        terrain.set(layer::HEIGHT, Raster::filled(size.0, size.1, -3.0));
        assert!(measure(&terrain).is_none());
        // A bowl of 60 m, full to its brim: a hollow dry, a lake with its water.
        let bowl = Raster::from_fn(size.0, size.1, |col, row| {
            let inner = (60..200).contains(&col) && (60..200).contains(&row);
            if inner { 40.0 } else { 100.0 }
        });
        terrain.set(layer::HEIGHT, bowl.clone());
        assert!(measure(&terrain).unwrap().stats.drainage.depression_share > 0.2);
        terrain.set(layer::WATER, bowl.map(|h| 100.0 - h));
        assert_eq!(measure(&terrain).unwrap().stats.drainage.depression_share, 0.0);
    }
}
