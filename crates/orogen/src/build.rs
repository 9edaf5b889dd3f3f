//! From a recipe to a terrain.

use std::collections::BTreeSet;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use orogen_core::{Cancel, Cancelled, Frame, LayerName, Part, Rect, Terrain, layer};
use orogen_io::png8::{self, Picture};
use orogen_io::{Existing, FolderFiles, MANIFEST, OutputFolder, Sidecar};
use orogen_ops::cover::scatter::PLANTS;
use orogen_recipe::{
    Cache, Checked, Faults, Limits, MAX_BYTES, Meter, Observer, Overrides, Plan, PlanError, Recipe,
    RunOptions, Session, SessionOptions, Set, StepReport, Stopwatch, Unobserved, run,
};

use crate::catalog;
use crate::error::BuildError;
use crate::export::{ExportChanges, ExportKind, ExportOptions, Exports, PartNames, export, hex, species_of};
use crate::manifest::{FileReport, Manifest, SavedManifest, realism};
use crate::plants;

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
    /// Whether every plant that stands in the window is made, as the instances `plants`, and written.
    pub plants: bool,
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
    /// What may happen to files that are in the output folder already.
    pub existing: Existing,
    /// Files that no output may replace, besides those the recipe names: the recipe itself.
    pub inputs: Vec<PathBuf>,
    /// Takes a picture of the finished land, which is written as `view.png`.
    pub view: Option<&'a dyn TakesView>,
}

/// Takes pictures of lands.
pub trait TakesView: Sync {
    /// A picture of a land from a good place; a sentence where none can be taken. `progress` hears which share of the work is done.
    ///
    /// # Errors
    /// When the work was cancelled.
    fn view(
        &self,
        land: &Terrain,
        cancel: &Cancel,
        progress: &(dyn Fn(f32) + Sync),
    ) -> Result<Result<Picture, String>, Cancelled>;
}

/// The file of the view.
const VIEW: &str = "view.png";

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
/// When the file cannot be read, is too large or is not a recipe.
pub fn read_recipe(path: &Path) -> Result<Recipe, BuildError> {
    let failed = |reason: String| BuildError::Read { path: path.to_path_buf(), reason };
    // Before it is opened: opening a pipe would wait for its other end.
    orogen_io::plain_file(path).map_err(failed)?;
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
    let files = files(options, options.limits.memory_bytes);
    // One kind of fault does not hide another: all are looked for before any is an error.
    let mut faults = Faults::new(recipe.name());
    let (exports, steps): (Vec<Set>, Vec<Set>) = (options.overrides.set.iter().cloned())
        .partition(|set| !recipe.has_step(&set.step) && ExportKind::parse(&set.step).is_ok());
    faults.note(recipe.apply(&Overrides { set: steps, ..options.overrides.clone() }, &catalog));
    faults.note(set_exports(&mut recipe, &exports));
    let checked = faults.note(recipe.check(&catalog, &options.limits));
    let exports = faults.note(Exports::of_recipe(&recipe));
    faults.note(recipe.check_files(&catalog, &|name| files.problem(name)));
    faults.into_result()?;
    let (Some(checked), Some(exports)) = (checked, exports) else {
        return Err(BuildError::Internal(String::from("a recipe has faults that are not listed")));
    };
    let mut exports = exports.changed(&options.exports);
    if options.plants {
        plants::refuse_bare(&checked)?;
        exports = exports.and_instances(LayerName::fixed(PLANTS));
    }
    let frame = window(&checked, options.window)?;
    Plan::new(&checked, frame)?;
    let (layers, vectors, instances) = (checked.layers(), checked.vectors(), instances(&checked, options));
    let species = plants::species(&checked);
    let parts = PartNames { layers: &layers, vectors: &vectors, instances: &instances, species: &species };
    match exports.refuses(&frame, &parts) {
        Some(why) => Err(BuildError::Call(format!("export: {why}"))),
        None => Ok((checked, exports)),
    }
}

/// Changes options of exports. A recipe that asks for no export still gives what it gave.
fn set_exports(recipe: &mut Recipe, changes: &[Set]) -> Result<(), Faults> {
    if !changes.is_empty() && recipe.exports().is_empty() {
        let unasked = ExportKind::ALL.iter().filter(|kind| kind.is_unasked());
        unasked.for_each(|kind| recipe.add_export(kind.name()));
    }
    let mut faults = Faults::new(recipe.name());
    for change in changes {
        faults.note(recipe.set_export(change));
    }
    faults.into_result()
}

/// The instances that a build gives.
fn instances(checked: &Checked, options: &BuildOptions<'_>) -> Vec<LayerName> {
    let mut names = checked.instances();
    let plants = LayerName::fixed(PLANTS);
    if options.plants && !names.contains(&plants) {
        names.push(plants);
    }
    names
}

/// The files that a recipe may name. Together they may take so many bytes of memory.
pub(crate) fn files(options: &BuildOptions<'_>, bytes: u64) -> FolderFiles {
    // A model is read, and resampled onto the frame.
    const BYTES_PER_SAMPLE: u64 = 8;
    // Small ones always fit beside the program.
    const LEAST: u64 = 16 << 20;
    let memory = options.limits.memory_bytes;
    let limits = orogen_io::Limits {
        max_bytes_file: memory,
        advice: " beside the land; allow more memory to read it",
        ..orogen_io::Limits::of_memory(bytes.clamp(LEAST.min(memory), memory), BYTES_PER_SAMPLE)
    };
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
    let start = Stopwatch::start();
    let (checked, exports) = check(recipe, options)?;
    checked.warnings().iter().for_each(|warning| observer.warning(warning));
    let plan = Plan::new(&checked, window(&checked, options.window)?)?;
    let never = Cancel::new();
    let files = files(options, checked.bytes_beside(&plan));
    let run_options = RunOptions {
        cache: options.cache,
        files: &files,
        observer,
        cancel: options.cancel.unwrap_or(&never),
        meter: options.meter,
        ..RunOptions::default()
    };
    let done = with_threads(options.threads, || run(&checked, &plan, &run_options))?
        .map_err(|error| BuildError::of_run(error, recipe))?;
    let mut terrain = done.terrain;
    if options.plants {
        let quiet = RunOptions { observer: &Unobserved, meter: None, ..run_options };
        let made = with_threads(options.threads, || add_plants(&checked, &mut terrain, recipe, &quiet))?;
        made?;
    }
    Ok(Built {
        terrain,
        steps: done.steps,
        exports,
        recipe: checked.name().to_owned(),
        seed: checked.seed().to_owned(),
        warnings: checked.warnings().to_vec(),
        seconds: start.seconds(),
    })
}

/// Makes the plants of a land, which stand on the ground that it has.
fn add_plants(
    checked: &Checked,
    terrain: &mut Terrain,
    recipe: &Recipe,
    options: &RunOptions<'_>,
) -> Result<(), BuildError> {
    let frame = *terrain.frame();
    let whole = (frame == *checked.frame()).then(|| terrain.clone());
    let land = |samples: Frame, parts: &BTreeSet<Part>| match &whole {
        Some(land) if samples == frame => Ok(land.clone()),
        Some(land) => land
            .crop(&samples)
            .ok_or_else(|| BuildError::Internal(String::from("plants asked for samples beyond the land"))),
        None => {
            let plan = Plan::parts(checked, samples, parts)?;
            let done = run(checked, &plan, options).map_err(|error| BuildError::of_run(error, recipe))?;
            Ok(done.terrain)
        }
    };
    let mut made = plants::plants_of(checked, &frame.extent(), options.cancel, land)?;
    if let Ok(height) = terrain.get(layer::HEIGHT) {
        made.set_ground(&frame, height);
    }
    terrain.set_instances(PLANTS, made);
    Ok(())
}

/// Writes `view.png`; what the manifest says of it.
fn write_view(picture: &Picture, output: &OutputFolder) -> Result<FileReport, BuildError> {
    let bytes = png8::encode(picture);
    let written = output.write(VIEW, &bytes)?;
    Ok(FileReport {
        name: String::from(VIEW),
        kind: "view",
        sha256: hex(&written.sha256),
        bytes: bytes.len() as u64,
        layer: None,
        unit: None,
        min: None,
        max: None,
    })
}

/// Evaluates a recipe and writes its files and `manifest.json`: all of them, or none.
///
/// Files that the `manifest.json` of an earlier build lists and that are as that build wrote them are replaced, or removed
/// where this build does not make them. Any other file in the place of an output is an error before the work starts,
/// unless [`BuildOptions::existing`] says otherwise.
///
/// # Errors
/// As [`build`], when a file is in the way and when one cannot be written.
pub fn build_to_folder(
    recipe: &Recipe,
    options: &BuildOptions<'_>,
    observer: &dyn Observer,
    folder: &Path,
) -> Result<(Built, Manifest), BuildError> {
    let start = Stopwatch::start();
    let (checked, exports) = check(recipe, options)?;
    // Before the work, so that a folder that cannot be written to costs no wait.
    let (layers, vectors, instances) = (checked.layers(), checked.vectors(), instances(&checked, options));
    let species = plants::species(&checked);
    let parts = PartNames { layers: &layers, vectors: &vectors, instances: &instances, species: &species };
    let mut expected = exports.file_names(&parts);
    expected.push(String::from(MANIFEST));
    if options.view.is_some() {
        expected.push(String::from(VIEW));
    }
    let inputs = inputs(&checked, options);
    let output = OutputFolder::with_manifest(folder, options.existing, inputs, &expected)?.sweeping();
    let built = build(recipe, options, observer)?;
    let mut manifest = Manifest::of(&built);
    let never = Cancel::new();
    let cancel = options.cancel.unwrap_or(&never);
    manifest.realism = with_threads(options.threads, || realism(&built.terrain, cancel))??;
    observer.step_started(0, 0, "files", "export");
    let export_start = Stopwatch::start();
    if let Some(meter) = options.meter {
        meter.reset();
    }
    // Nothing is worked out before an export asks for a window of its own; most do not.
    let files = files(options, checked.bytes_beside(&Plan::new(&checked, *built.terrain.frame())?));
    let session_options = SessionOptions { files: Arc::new(files), ..SessionOptions::default() };
    let session = Session::new(checked, session_options);
    let export_options = ExportOptions {
        exports: &built.exports,
        seed: &built.seed,
        place: None,
        windows: Some(&session),
        cancel,
        progress: &|share| observer.progress(share),
    };
    let exported = with_threads(options.threads, || export(&built.terrain, &export_options, &output))??;
    // Nobody asked for the files that come unasked, and the GeoTIFF beside them keeps everything: what they lose is
    // noted in the manifest and the sidecar only.
    if !recipe.exports().is_empty() || !options.exports.kinds.is_empty() {
        exported.warnings.iter().for_each(|warning| observer.warning(warning));
    }
    let export_peak = options.meter.map(Meter::peak_bytes);
    observer.step_finished(&StepReport {
        id: String::from("files"),
        op: "export",
        frame: *built.terrain.frame(),
        seconds: export_start.seconds(),
        peak_bytes: export_peak,
        cached: false,
        warnings: exported.warnings.clone(),
        figures: Vec::new(),
    });
    manifest.files = exported.files;
    manifest.warnings.extend(exported.warnings);
    if let Some(viewer) = options.view {
        observer.step_started(0, 0, "view", "picture");
        let view_start = Stopwatch::start();
        let progress = |share| observer.progress(share);
        let taken = with_threads(options.threads, || viewer.view(&built.terrain, cancel, &progress))?;
        let view = taken.map_err(|_| BuildError::Cancelled)?;
        let warnings = match view {
            Ok(picture) => {
                manifest.files.push(write_view(&picture, &output)?);
                Vec::new()
            }
            Err(sentence) => {
                observer.warning(&sentence);
                vec![sentence]
            }
        };
        manifest.warnings.extend(warnings.iter().cloned());
        observer.step_finished(&StepReport {
            id: String::from("view"),
            op: "picture",
            frame: *built.terrain.frame(),
            seconds: view_start.seconds(),
            peak_bytes: None,
            cached: false,
            warnings,
            figures: Vec::new(),
        });
    }
    manifest.seconds = start.seconds();
    manifest.peak_memory_bytes =
        manifest.steps.iter().map(|s| s.peak_memory_bytes).chain([export_peak]).max().flatten();
    let text = serde_json::to_vec_pretty(&manifest).map_err(|e| BuildError::Write(e.to_string()))?;
    output.write(MANIFEST, &text)?;
    if cancel.is_cancelled() {
        return Err(BuildError::Cancelled);
    }
    output.commit()?;
    Ok((built, manifest))
}

/// The files that a build reads, with their sidecars.
fn inputs(checked: &Checked, options: &BuildOptions<'_>) -> Vec<PathBuf> {
    let base = options.base.clone().unwrap_or_default();
    let named = checked.steps().iter().flat_map(|step| step.op.files()).map(|name| base.join(name));
    named.flat_map(|path| [Sidecar::path_of(&path), path]).chain(options.inputs.iter().cloned()).collect()
}

/// Writes a terrain without a recipe behind it, and `manifest.json`, which lists the files; their paths are given.
///
/// Only files that an earlier build or save wrote there, and that nobody changed since, are replaced; no file is removed.
///
/// # Errors
/// When a file is in the way or cannot be written, or when cancelled.
pub fn save(
    terrain: &Terrain,
    options: &ExportOptions<'_>,
    folder: &Path,
) -> Result<Vec<PathBuf>, BuildError> {
    save_over(terrain, options, folder, Existing::Keep)
}

/// As [`save`], and says what may happen to files that are there already.
///
/// # Errors
/// As [`save`].
pub fn save_over(
    terrain: &Terrain,
    options: &ExportOptions<'_>,
    folder: &Path,
    existing: Existing,
) -> Result<Vec<PathBuf>, BuildError> {
    let layers: Vec<_> = terrain.layers().keys().cloned().collect();
    let vectors: Vec<_> = terrain.vectors().keys().cloned().collect();
    let instances: Vec<_> = terrain.instances().keys().cloned().collect();
    let species = species_of(terrain);
    let parts = PartNames { layers: &layers, vectors: &vectors, instances: &instances, species: &species };
    if let Some(why) = options.exports.refuses(terrain.frame(), &parts) {
        return Err(BuildError::Call(format!("export: {why}")));
    }
    let mut expected = options.exports.file_names(&parts);
    expected.push(String::from(MANIFEST));
    let output = OutputFolder::with_manifest(folder, existing, Vec::new(), &expected)?;
    let exported = export(terrain, options, &output)?;
    let manifest = SavedManifest::of(terrain, options.seed, &exported, output.kept_entries())
        .map_err(|e| BuildError::Write(e.to_string()))?;
    output.write(MANIFEST, &manifest)?;
    if options.cancel.is_cancelled() {
        return Err(BuildError::Cancelled);
    }
    let mut paths = output.commit()?;
    paths.retain(|path| path.file_name() != Some(MANIFEST.as_ref()));
    Ok(paths)
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

/// The samples to build: all of the frame, or those of a window.
pub(crate) fn window(checked: &Checked, window: Option<Window>) -> Result<Frame, BuildError> {
    let frame = checked.frame();
    let Some(Window { rect, spacing_m }) = window else { return Ok(*frame) };
    let spacing = spacing_m.map_or(frame.spacing_m(), |s| [s, s]);
    let Some(rect) = rect else { return Ok(frame.resampled(&frame.extent(), spacing)?) };
    refuse_window_beyond(checked, &rect, spacing)?;
    frame.part(&rect, spacing)?.ok_or_else(|| {
        let [x, y] = spacing;
        let [west, south, east, north] = [rect.min[0], rect.min[1], rect.max[0], rect.max[1]];
        BuildError::Call(format!(
            "the window {west},{south},{east},{north} lies between two samples, which are {x} x {y} m apart"
        ))
    })
}

/// Refuses a window that reaches beyond the frame unless the steps make land there. Only the planner knows whether they do,
/// but it sees samples, and where they are far apart those of the window may all lie inside.
fn refuse_window_beyond(checked: &Checked, rect: &Rect, spacing: [f64; 2]) -> Result<(), BuildError> {
    /// Share of a step by which an edge may lie beyond that of the frame: numbers typed from its description are rounded.
    const SLACK: f64 = 1e-6;
    let (frame, extent) = (checked.frame(), checked.frame().extent());
    let mut beyond = *rect;
    for axis in 0..2 {
        // One more step there, and a sample lies outside.
        if rect.min[axis] < extent.min[axis] - SLACK * spacing[axis] {
            beyond.min[axis] -= spacing[axis];
        }
        if rect.max[axis] > extent.max[axis] + SLACK * spacing[axis] {
            beyond.max[axis] += spacing[axis];
        }
    }
    if beyond == *rect {
        return Ok(());
    }
    let Some(beyond) = frame.part(&beyond, spacing)? else { return Ok(()) };
    match Plan::new(checked, beyond) {
        Err(PlanError::Outside { frame, step, op, .. }) => {
            Err(PlanError::Outside { window: *rect, frame, step, op }.into())
        }
        // Whatever else is wrong, is wrong with the window itself too, or only with the step beyond it.
        _ => Ok(()),
    }
}

/// The cache of this user: in `OROGEN_CACHE_DIR`, else where the system keeps caches. It leaves out what is sooner made
/// again than read.
///
/// # Errors
/// When there is no such folder or it cannot be made.
#[cfg(feature = "native")]
pub fn open_cache() -> Result<Cache, String> {
    use etcetera::BaseStrategy as _;

    // An empty variable is an unset one: the working folder is not a place for a cache.
    let dir = match std::env::var_os("OROGEN_CACHE_DIR").filter(|dir| !dir.is_empty()) {
        Some(dir) => PathBuf::from(dir),
        None => etcetera::choose_base_strategy().map_err(|e| e.to_string())?.cache_dir().join("orogen"),
    };
    let cache = Cache::open(&dir, orogen_recipe::DEFAULT_MAX_BYTES).map(Cache::worthwhile);
    cache.map_err(|e| format!("{}: {e}", dir.display()))
}
