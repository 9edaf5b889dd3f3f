//! `orogen build`: the main job.

use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::Result;
use orogen::io::Existing;
use orogen::recipe::{Cache, Limits, Meter, Overrides, Set};
use orogen::{BuildError, BuildOptions, ExportChanges, Window};

use crate::args::{Build, Changes};
use crate::progress::Bars;
use crate::{MEMORY, output, signals};

pub fn run(args: &Build) -> Result<()> {
    let start = Instant::now();
    let bars = Bars::new(args.quiet);
    let out = args.out.clone().unwrap_or_else(|| default_out(&args.recipe));
    let recipe = orogen::read_recipe(&args.recipe)?;
    let cancel = signals::cancel_on_signal()?;
    let cache = if args.no_cache { None } else { open_cache(&bars) };
    #[cfg(feature = "render")]
    let view = crate::render::BuildView;
    let window = (args.window.is_some() || args.spacing.is_some())
        .then_some(Window { rect: args.window, spacing_m: args.spacing });
    let options = BuildOptions {
        overrides: overrides(&args.changes)?,
        limits: limits(&args.changes),
        threads: args.threads.map(usize::from),
        window,
        plants: args.plants,
        exports: ExportChanges { kinds: args.kinds.clone(), no_sea_floor: args.no_sea_floor },
        cache: cache.as_ref(),
        base: args.recipe.parent().map(Path::to_path_buf),
        cancel: Some(&cancel),
        meter: Some(&AllocatorMeter),
        existing: if args.force { Existing::Replace } else { Existing::Keep },
        inputs: vec![args.recipe.clone()],
        #[cfg(feature = "render")]
        view: takes_view(args).then_some(&view),
        #[cfg(not(feature = "render"))]
        view: None,
    };
    let (built, manifest) = orogen::build_to_folder(&recipe, &options, &bars, &out)?;
    if args.json {
        output::print_json_watched(&manifest, &cancel)?;
    }
    if !args.quiet {
        let frame = built.terrain.frame();
        eprintln!(
            "{}: {} files, {} x {} samples, {:.2} s",
            out.display(),
            manifest.files.len() + 1,
            frame.cols(),
            frame.rows(),
            start.elapsed().as_secs_f64()
        );
    }
    Ok(())
}

/// Whether a picture of the land is asked for: unless it is said not, or only other kinds of files are.
#[cfg(feature = "render")]
fn takes_view(args: &Build) -> bool {
    let is_off = std::env::var_os("OROGEN_NO_VIEW").is_some_and(|value| !value.is_empty());
    !args.no_view && !is_off && args.kinds.is_empty()
}

/// The changes to the recipe that the options make.
pub fn overrides(changes: &Changes) -> Result<Overrides, BuildError> {
    let mut overrides =
        Overrides { seed: changes.seed.clone(), samples: changes.samples, ..Overrides::default() };
    overrides.set = changes
        .set
        .iter()
        .map(|text| Set::parse(text).map_err(|error| BuildError::Call(format!("--set {error}"))))
        .collect::<Result<_, _>>()?;
    Ok(overrides)
}

/// The limits that the options set.
pub fn limits(changes: &Changes) -> Limits {
    Limits { memory_bytes: changes.memory }
}

fn default_out(recipe: &Path) -> PathBuf {
    Path::new("out").join(recipe.file_stem().unwrap_or_else(|| "terrain".as_ref()))
}

fn open_cache(bars: &Bars) -> Option<Cache> {
    match orogen::open_cache() {
        Ok(cache) => Some(cache),
        Err(reason) => {
            bars.warn(&format!("no cache: {reason}"));
            None
        }
    }
}

/// Measures memory through the allocator that counts.
struct AllocatorMeter;

impl Meter for AllocatorMeter {
    fn reset(&self) {
        MEMORY.reset_peak();
    }

    fn peak_bytes(&self) -> u64 {
        MEMORY.peak_bytes() as u64
    }
}
