//! `orogen render`: a picture of a land.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context as _, Result};
use orogen::core::{Cancel, Frame, Place, Terrain, layer};
use orogen::io::{FolderFiles, png8};
use orogen::recipe::{Recipe, Session};
use orogen::{BuildError, BuildOptions};
use orogen_render::{Aim, Gpu, Height, Land, Materials, Moment, Options, PlantsOf, RecipeLand, RenderError};

use crate::args::Render;
use crate::build::{limits, overrides};
use crate::progress::Bars;
use crate::signals;

pub fn run(args: &Render) -> Result<()> {
    let start = Instant::now();
    let options = options(args)?;
    if !args.force && args.output.exists() {
        let text = format!(
            "{} exists; name another file with -o, or replace it with --force",
            args.output.display()
        );
        return Err(BuildError::Call(text).into());
    }
    let cancel = signals::cancel_on_signal()?;
    // Before the land is worked out: it may take minutes, and without a device it is for nothing.
    let gpu = Gpu::open(args.device.as_deref())?;
    gpu.check_size(options.size)?;
    let bars = Bars::new(args.quiet);
    let is_recipe = args.file.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("toml"));
    let picture = if is_recipe {
        of_recipe(args, &options, &gpu, &bars, &cancel)
    } else {
        let land = elevation_model(args)?;
        let materials = Arc::new(Materials::of_layers(&land.layers().keys().cloned().collect::<Vec<_>>()));
        let land: Arc<dyn Land> = Arc::new(land);
        taken(&gpu, &land, &materials, &options, &cancel, args, start)
    }?;
    write(&args.output, &png8::encode(&picture))?;
    if !args.quiet {
        eprintln!("{}: {:.2} s", args.output.display(), start.elapsed().as_secs_f64());
    }
    Ok(())
}

type Picture = png8::Picture;

fn of_recipe(args: &Render, options: &Options, gpu: &Gpu, bars: &Bars, cancel: &Cancel) -> Result<Picture> {
    let build = BuildOptions {
        overrides: overrides(&args.changes)?,
        limits: limits(&args.changes),
        base: args.file.parent().map(Path::to_path_buf),
        ..BuildOptions::default()
    };
    let recipe = orogen::read_recipe(&args.file)?;
    let cache = orogen::open_cache().ok().map(Arc::new);
    let session = Arc::new(orogen::session(&recipe, &build, cache)?);
    // Textures are made while the land is.
    let layers = session.checked().layers();
    let textures = std::thread::spawn(move || Materials::of_layers(&layers));
    session.solve(bars, cancel).map_err(RenderError::from)?;
    let materials =
        textures.join().map_err(|_| anyhow::anyhow!("the textures of the ground could not be made"))?;
    let files = FolderFiles::new(
        build.base.unwrap_or_default(),
        orogen::io::Limits::of_memory(args.changes.memory, 8),
    );
    let place = session.checked().place(&files);
    let plants = orogen::has_plants(session.checked()).then(|| plants_of(Arc::clone(&session), recipe));
    let land: Arc<dyn Land> = Arc::new(RecipeLand { session, place, plants });
    taken(gpu, &land, &Arc::new(materials), options, cancel, args, Instant::now())
}

/// Makes the plants of a recipe's land.
fn plants_of(session: Arc<Session>, recipe: Recipe) -> Box<PlantsOf> {
    Box::new(move |rect, cancel| {
        orogen::plants(&session, &recipe, rect, cancel).map_err(|e| match e {
            BuildError::Cancelled => RenderError::Cancelled,
            other => RenderError::Plants(other.to_string()),
        })
    })
}

fn taken(
    gpu: &Gpu,
    land: &Arc<dyn Land>,
    materials: &Arc<Materials>,
    options: &Options,
    cancel: &Cancel,
    args: &Render,
    start: Instant,
) -> Result<Picture> {
    let done = orogen_render::render(gpu, land, materials, options, cancel, &|_| {})?;
    if !args.quiet {
        let (camera, sun) = (done.camera, done.sun);
        let [x, y, z] = camera.eye;
        eprintln!(
            "camera {x:.0},{y:.0}, {z:.0} m above the sea, toward {:.0},{:.0}",
            camera.target[0], camera.target[1]
        );
        let hour = done.moment.hour;
        let (hours, minutes) = (hour.floor(), ((hour - hour.floor()) * 60.0).round());
        eprintln!(
            "sun at {:.0}°, {:.0}° high, at {hours:02}:{minutes:02}",
            sun.azimuth_deg, sun.altitude_deg
        );
        eprintln!(
            "{} tiles and {} plants on {}, {:.2} s from solved land",
            done.tiles,
            done.plants.levels.iter().sum::<usize>(),
            gpu.name(),
            start.elapsed().as_secs_f64()
        );
    }
    Ok(done.picture)
}

fn options(args: &Render) -> Result<Options> {
    let height = match (args.height, args.altitude) {
        (_, Some(altitude)) => Some(Height::Sea(altitude)),
        (Some(height), None) => Some(Height::Ground(height)),
        (None, None) => None,
    };
    let aim = if let Some(eye) = args.camera {
        Aim::Place { eye, height: height.unwrap_or(Height::Ground(60.0)), target: args.target }
    } else if args.azimuth.is_some() || args.distance.is_some() || args.target.is_some() || height.is_some() {
        Aim::From {
            target: args.target,
            azimuth_deg: args.azimuth.unwrap_or(0.0),
            distance_m: args.distance,
            height,
        }
    } else {
        Aim::Found
    };
    let (year, month, day) = args.date;
    Ok(Options {
        size: args.size,
        samples: args.samples_per_pixel,
        aim,
        view_deg: args.view,
        moment: Moment { year, month, day, hour: args.time.unwrap_or(17.0) },
        any_hour: args.time.is_none(),
        quality: args.quality,
        haze: args.haze,
        clouds: args.clouds,
        fog: args.fog,
        plain: args.plain,
        exposure_ev: args.exposure,
        plants: true,
    })
}

/// A file of heights as a land of its own.
fn elevation_model(args: &Render) -> Result<Terrain> {
    let refused = |why: String| BuildError::Call(format!("{}: {why}", args.file.display()));
    let limits = orogen::io::Limits::of_memory(args.changes.memory, 8);
    let model = orogen::io::elevation::read(&args.file, &limits).map_err(|e| refused(e.to_string()))?;
    let spacing = model
        .spacing_m
        .ok_or_else(|| refused(String::from("it does not say how far apart its samples are")))?;
    let (cols, rows) = (model.height.cols(), model.height.rows());
    let size = [spacing[0] * (cols.saturating_sub(1)) as f64, spacing[1] * (rows.saturating_sub(1)) as f64];
    let frame = Frame::new([0.0, 0.0], size, [cols, rows]).map_err(|e| refused(e.to_string()))?;
    let mut land = Terrain::new(frame);
    let place =
        orogen::io::elevation::georeference(&args.file, &limits).ok().flatten().and_then(|g| g.middle_deg);
    if let Some([longitude, latitude]) = place {
        land.set_place(Place {
            latitude_deg: Some(latitude),
            longitude_deg: Some(longitude),
            ..Place::default()
        });
    }
    land.accept(layer::HEIGHT.name(), model.height.into()).map_err(|e| refused(e.to_string()))?;
    Ok(land)
}

/// Whole or not at all: written aside, then renamed.
fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    use std::io::Write as _;
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let cannot = || format!("cannot write {}", path.display());
    let mut file = tempfile::NamedTempFile::new_in(folder).with_context(cannot)?;
    file.write_all(bytes).with_context(cannot)?;
    file.persist(path).map_err(|e| e.error).with_context(cannot)?;
    Ok(())
}
