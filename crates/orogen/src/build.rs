//! From a recipe to a terrain.

use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::time::Instant;

use etcetera::BaseStrategy as _;
use orogen_core::{Cancel, Frame, Rect, Terrain};
use orogen_io::FolderFiles;
use orogen_io::OutputFolder;
use orogen_recipe::{
    Cache, Checked, DEFAULT_MAX_BYTES, Limits, MAX_BYTES, Meter, Observer, Overrides, Plan, Recipe,
    RunOptions, StepReport, run,
};

use crate::catalog;
use crate::error::BuildError;
use crate::export::{ExportChanges, ExportOptions, Exports, export};
use crate::manifest::{Manifest, realism};

/// A part of the recipe's frame, at a spacing of its own. Land of `Point` steps that are endless may lie beyond the
/// frame; elsewhere a window that is only partly inside is refused.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Window {
    /// Which part, in world metres; `None` for all of it.
    pub rect: Option<Rect>,
    /// Distance between samples in metres; `None` for the recipe's own.
    pub spacing_m: Option<f64>,
}

/// How to build, apart from what the recipe says.
#[derive(Default)]
pub struct BuildOptions<'a> {
    /// Changes to the recipe.
    pub overrides: Overrides,
    /// Bounds on what a recipe may ask of the machine.
    pub limits: Limits,
    /// Threads to use; `None` for as many as there are.
    pub threads: Option<usize>,
    /// A part of the frame instead of all of it.
    pub window: Option<Window>,
    /// Changes to the files that the recipe asks for.
    pub exports: ExportChanges,
    /// Results of earlier builds.
    pub cache: Option<&'a Cache>,
    /// Folder that file names in the recipe start from; `None` for the working folder.
    pub base: Option<PathBuf>,
    /// A switch to stop the build.
    pub cancel: Option<&'a Cancel>,
    /// Measures memory.
    pub meter: Option<&'a dyn Meter>,
}

/// What a build gave.
#[derive(Debug)]
pub struct Built {
    /// The land.
    pub terrain: Terrain,
    /// What each step did.
    pub steps: Vec<StepReport>,
    /// The files the recipe asks for.
    pub exports: Exports,
    /// The recipe's name.
    pub recipe: String,
    /// The world seed.
    pub seed: String,
    /// What is odd about the recipe.
    pub warnings: Vec<String>,
    /// Wall time.
    pub seconds: f64,
}

/// Reads a recipe file, refusing one too large to be a recipe before reading it.
///
/// # Errors
/// When the file cannot be read, is too large or is no recipe.
pub fn read_recipe(path: &Path) -> Result<Recipe, BuildError> {
    let failed = |reason: String| BuildError::Read { path: path.to_path_buf(), reason };
    let file = std::fs::File::open(path).map_err(|e| failed(format!("cannot open the recipe: {e}")))?;
    let mut bytes = Vec::new();
    // One byte over the bound is enough for `parse` to refuse it, however long the file is.
    file.take(MAX_BYTES as u64 + 1)
        .read_to_end(&mut bytes)
        .map_err(|e| failed(format!("cannot read the recipe: {e}")))?;
    Ok(Recipe::parse(&path.to_string_lossy(), &bytes)?)
}

/// Finds every fault of a recipe; runs nothing.
///
/// # Errors
/// The faults.
pub fn check(recipe: &Recipe, options: &BuildOptions<'_>) -> Result<(Checked, Exports), BuildError> {
    let catalog = catalog();
    let mut recipe = recipe.clone();
    recipe.apply(&options.overrides, &catalog)?;
    match (recipe.check(&catalog, &options.limits), Exports::of_recipe(&recipe)) {
        (Ok(checked), Ok(exports)) => {
            let files = files(options);
            recipe.check_files(&checked, &|name| files.problem(name))?;
            let exports = exports.changed(&options.exports);
            let frame = window(checked.frame(), options.window)?;
            Plan::new(&checked, frame)?;
            match exports.refuses(&frame) {
                Some(why) => Err(BuildError::Call(format!("export: {why}"))),
                None => Ok((checked, exports)),
            }
        }
        (Err(mut faults), exports) => {
            if let Err(more) = exports {
                faults.extend(more);
            }
            Err(faults.into())
        }
        (Ok(_), Err(faults)) => Err(faults.into()),
    }
}

/// The files that a recipe may name.
fn files(options: &BuildOptions<'_>) -> FolderFiles {
    // A model is read, and resampled onto the frame.
    const BYTES_PER_SAMPLE: u64 = 8;
    let limits = orogen_io::Limits::of_memory(options.limits.memory_bytes, BYTES_PER_SAMPLE);
    FolderFiles::new(options.base.clone().unwrap_or_default(), limits)
}

/// Evaluates a recipe.
///
/// # Errors
/// When the recipe is wrong, a step fails or the build is cancelled.
pub fn build(
    recipe: &Recipe,
    options: &BuildOptions<'_>,
    observer: &dyn Observer,
) -> Result<Built, BuildError> {
    let start = Instant::now();
    let (checked, exports) = check(recipe, options)?;
    checked.warnings().iter().for_each(|warning| observer.warning(warning));
    let plan = Plan::new(&checked, window(checked.frame(), options.window)?)?;
    let never = Cancel::new();
    let files = files(options);
    let run_options = RunOptions {
        cache: options.cache,
        files: &files,
        observer,
        cancel: options.cancel.unwrap_or(&never),
        meter: options.meter,
    };
    let done = with_threads(options.threads, || run(&checked, &plan, &run_options))?
        .map_err(|error| BuildError::of_run(error, recipe))?;
    Ok(Built {
        terrain: done.terrain,
        steps: done.steps,
        exports,
        recipe: checked.name().to_owned(),
        seed: checked.seed().to_owned(),
        warnings: checked.warnings().to_vec(),
        seconds: start.elapsed().as_secs_f64(),
    })
}

/// Evaluates a recipe and writes its files and `manifest.json`: all of them, or none. Files that the `manifest.json` of an
/// earlier build lists and this build does not make are removed.
///
/// # Errors
/// As [`build`], and when a file cannot be written.
pub fn build_to_folder(
    recipe: &Recipe,
    options: &BuildOptions<'_>,
    observer: &dyn Observer,
    folder: &Path,
) -> Result<(Built, Manifest), BuildError> {
    let start = Instant::now();
    check(recipe, options)?;
    // Before the work, so that a folder that cannot be written to costs no wait.
    let output = OutputFolder::new(folder)?;
    let built = build(recipe, options, observer)?;
    let mut manifest = Manifest::of(&built);
    let never = Cancel::new();
    let cancel = options.cancel.unwrap_or(&never);
    manifest.realism = with_threads(options.threads, || realism(&built.terrain, cancel))??;
    observer.step_started(0, 0, "files", "export");
    let export_start = Instant::now();
    if let Some(meter) = options.meter {
        meter.reset();
    }
    let export_options = ExportOptions {
        exports: &built.exports,
        seed: &built.seed,
        place: None,
        cancel,
        progress: &|share| observer.progress(share),
    };
    let exported = with_threads(options.threads, || export(&built.terrain, &export_options, &output))??;
    // Nobody asked for the files that come unasked, and the GeoTIFF beside them keeps everything: what they lose is
    // told in the manifest and the sidecar only.
    if !recipe.exports().is_empty() || !options.exports.kinds.is_empty() {
        exported.warnings.iter().for_each(|warning| observer.warning(warning));
    }
    let export_peak = options.meter.map(Meter::peak_bytes);
    observer.step_finished(&StepReport {
        id: String::from("files"),
        op: "export",
        frame: *built.terrain.frame(),
        seconds: export_start.elapsed().as_secs_f64(),
        peak_bytes: export_peak,
        cached: false,
        warnings: exported.warnings.clone(),
        figures: Vec::new(),
    });
    manifest.files = exported.files;
    manifest.warnings.extend(exported.warnings);
    manifest.seconds = start.elapsed().as_secs_f64();
    manifest.peak_memory_bytes =
        manifest.steps.iter().map(|s| s.peak_memory_bytes).chain([export_peak]).max().flatten();
    let text = serde_json::to_vec_pretty(&manifest).map_err(|e| BuildError::Write(e.to_string()))?;
    output.write("manifest.json", &text)?;
    if cancel.is_cancelled() {
        return Err(BuildError::Cancelled);
    }
    let stale = stale_files(folder, &manifest);
    output.replacing(stale).commit()?;
    Ok((built, manifest))
}

/// Files that the manifest of an earlier build into a folder lists and this one does not make.
fn stale_files(folder: &Path, manifest: &Manifest) -> Vec<String> {
    /// Longer than any manifest.
    const MOST_BYTES: u64 = 64 << 20;
    #[derive(serde::Deserialize)]
    struct Earlier {
        files: Vec<Named>,
    }
    #[derive(serde::Deserialize)]
    struct Named {
        name: String,
    }
    let mut text = Vec::new();
    let read = std::fs::File::open(folder.join("manifest.json"))
        .and_then(|file| file.take(MOST_BYTES).read_to_end(&mut text));
    // One that is not there or not ours lists nothing.
    let earlier = read.ok().and_then(|_| serde_json::from_slice::<Earlier>(&text).ok());
    let made: std::collections::BTreeSet<&str> =
        manifest.files.iter().map(|file| file.name.as_str()).chain(["manifest.json"]).collect();
    let listed = earlier.map_or_else(Vec::new, |earlier| earlier.files);
    listed.into_iter().map(|file| file.name).filter(|name| !made.contains(name.as_str())).collect()
}

/// Writes a terrain without a recipe behind it.
///
/// # Errors
/// When a file cannot be written, or when cancelled.
pub fn save(
    terrain: &Terrain,
    options: &ExportOptions<'_>,
    folder: &Path,
) -> Result<Vec<PathBuf>, BuildError> {
    let output = OutputFolder::new(folder)?;
    export(terrain, options, &output)?;
    if options.cancel.is_cancelled() {
        return Err(BuildError::Cancelled);
    }
    Ok(output.commit()?)
}

/// Runs `f` on so many threads; `None` for those of the pool that the call runs in.
///
/// # Errors
/// When the machine has no such number of threads to give.
pub fn with_threads<T: Send>(threads: Option<usize>, f: impl FnOnce() -> T + Send) -> Result<T, BuildError> {
    let Some(threads) = threads else { return Ok(f()) };
    rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .build()
        .map(|pool| pool.install(f))
        .map_err(|e| BuildError::Call(format!("cannot start {threads} threads: {e}")))
}

fn window(frame: &Frame, window: Option<Window>) -> Result<Frame, BuildError> {
    let Some(Window { rect, spacing_m }) = window else { return Ok(*frame) };
    let spacing = spacing_m.map_or(frame.spacing_m(), |s| [s, s]);
    let Some(rect) = rect else { return Ok(frame.resampled(&frame.extent(), spacing)?) };
    // Whether there is land beyond the frame depends on the steps: the planner decides.
    frame.part(&rect, spacing)?.ok_or_else(|| {
        let [x, y] = spacing;
        let [west, south, east, north] = [rect.min[0], rect.min[1], rect.max[0], rect.max[1]];
        BuildError::Call(format!(
            "the window {west},{south},{east},{north} lies between two samples, which are {x} x {y} m apart"
        ))
    })
}

/// The cache of this user: in `OROGEN_CACHE_DIR`, else where the system keeps caches.
///
/// # Errors
/// When there is no such folder or it cannot be made.
pub fn open_cache() -> Result<Cache, String> {
    // An empty variable is an unset one: the working folder is no place for a cache.
    let dir = match std::env::var_os("OROGEN_CACHE_DIR").filter(|dir| !dir.is_empty()) {
        Some(dir) => PathBuf::from(dir),
        None => etcetera::choose_base_strategy().map_err(|e| e.to_string())?.cache_dir().join("orogen"),
    };
    Cache::open(&dir, DEFAULT_MAX_BYTES).map_err(|e| format!("{}: {e}", dir.display()))
}
