//! `orogen render`: pictures of a land.

mod build_view;
mod overlays;
mod source;

use std::io::{Seek as _, Write as _};
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context as _, Result};
use orogen::BuildError;
use orogen::core::{Cancel, Raster, math};
use orogen::io::{About, exr, png8, png16, sheet};
use orogen_render::overlay::{Paint, Values};
use orogen_render::{Aim, Gpu, Height, Moment, Options, RenderError, Rendered, Stage, find, take};

pub use self::build_view::BuildView;
pub use self::source::Source;

use crate::args::{Look, Render};
use crate::progress::Bars;
use crate::{output, signals};

type Picture = png8::Picture;

/// Samples of a pixel for a clean still.
const CLEAN: u32 = 64;

pub fn run(args: &Render) -> Result<()> {
    let start = Instant::now();
    check(args)?;
    let cancel = signals::cancel_on_signal()?;
    // Before the land is worked out: it may take minutes, and without a device it is for nothing.
    let gpu = open(&args.look)?;
    let bars = Bars::new(args.quiet);
    let studio = Studio { args, gpu: &gpu, bars: &bars, cancel: &cancel };
    let shots = shots(args);
    if args.sheet {
        let mut pictures = Vec::new();
        for file in &args.files {
            let source =
                Source::open(file, None, &args.changes, &bars, &cancel)?.heights_by(&args.look, &gpu)?;
            studio.each(&source, &shots, &mut pictures)?;
        }
        let columns = if args.files.len() > 1 { shots.len() } else { 0 };
        let columns = if columns > 1 { columns } else { (pictures.len() as f64).sqrt().ceil() as usize };
        output::write_file(&args.output, &png8::encode(&sheet::sheet(&pictures, columns)), args.force)?;
    } else {
        studio.one(&shots[0])?;
    }
    if !args.quiet {
        eprintln!("{}: {:.2} s", args.output.display(), start.elapsed().as_secs_f64());
    }
    Ok(())
}

/// Opens a device that can make pictures of the size that is asked for.
pub fn open(look: &Look) -> Result<Gpu> {
    let gpu = Gpu::open(look.device.as_deref())?;
    gpu.check_size(look.size)?;
    Ok(gpu)
}

/// Refuses what does not go together, before anything takes time.
fn check(args: &Render) -> Result<(), BuildError> {
    output::refuse_existing(&args.output, args.force)?;
    if let Some(depth) = &args.depth {
        output::refuse_existing(depth, args.force)?;
        let ending = depth.extension().map(|e| e.to_string_lossy().to_ascii_lowercase());
        if !matches!(ending.as_deref(), Some("exr" | "png")) {
            let text = format!("--depth {}: expected a name that ends in .exr or .png", depth.display());
            return Err(BuildError::Call(text));
        }
    }
    let several =
        [args.files.len(), args.camera.len(), args.azimuth.len(), args.time.len(), args.views.into()];
    if !args.sheet && several.into_iter().any(|n| n > 1) {
        let text =
            "there are several lands, cameras or times; --sheet makes one picture of them side by side";
        return Err(BuildError::Call(text.to_owned()));
    }
    if args.side_by_side && args.against.is_none() && args.without.is_none() {
        let text = "--side-by-side needs another state of the land: --against FILE or --without STEP";
        return Err(BuildError::Call(text.to_owned()));
    }
    Ok(())
}

/// One picture: where from, when, and its name on a sheet.
struct Shot {
    aim: Aim,
    hour: Option<f64>,
    name: String,
}

fn shots(args: &Render) -> Vec<Shot> {
    let height = match (args.height, args.altitude) {
        (_, Some(altitude)) => Some(Height::Sea(altitude)),
        (Some(height), None) => Some(Height::Ground(height)),
        (None, None) => None,
    };
    let parallel = |azimuth_deg: f64, altitude_deg: f64| Aim::Parallel {
        target: args.target,
        azimuth_deg,
        altitude_deg,
        wide_m: args.across,
    };
    let named = |azimuth: f64| format!("azimuth {azimuth}");
    let azimuths = if args.azimuth.is_empty() { &[0.0][..] } else { &args.azimuth[..] };
    let has_place =
        !args.azimuth.is_empty() || args.distance.is_some() || args.target.is_some() || height.is_some();
    let aims: Vec<(Aim, String)> = if args.map {
        vec![(parallel(0.0, 90.0), String::new())]
    } else if args.ortho {
        azimuths.iter().map(|&azimuth| (parallel(azimuth, args.steep), named(azimuth))).collect()
    } else if !args.camera.is_empty() {
        let place = |eye: &[f64; 2]| Aim::Place {
            eye: *eye,
            height: height.unwrap_or(Height::Ground(60.0)),
            target: args.target,
        };
        args.camera.iter().map(|eye| (place(eye), format!("from {},{}", eye[0], eye[1]))).collect()
    } else if has_place {
        let from = |&azimuth_deg: &f64| Aim::From {
            target: args.target,
            azimuth_deg,
            distance_m: args.distance,
            height,
        };
        azimuths.iter().map(|azimuth| (from(azimuth), named(*azimuth))).collect()
    } else if args.views > 1 {
        (0..usize::from(args.views)).map(|i| (Aim::FoundNext(i), format!("view {}", i + 1))).collect()
    } else {
        vec![(Aim::Found, String::new())]
    };
    let hours: Vec<Option<f64>> =
        if args.time.is_empty() { vec![None] } else { args.time.iter().map(|hour| Some(*hour)).collect() };
    let mut shots = Vec::new();
    for (aim, name) in &aims {
        for hour in &hours {
            let clock = hour.filter(|_| hours.len() > 1).map(clock);
            let words: Vec<String> =
                [(aims.len() > 1).then(|| name.clone()), clock].into_iter().flatten().collect();
            shots.push(Shot { aim: *aim, hour: *hour, name: words.join(", ") });
        }
    }
    shots
}

/// An hour as a clock shows it.
fn clock(hour: f64) -> String {
    let minutes = (hour * 60.0).round() as u32;
    format!("{:02}:{:02}", minutes / 60, minutes % 60)
}

/// How pictures are taken, but for where from.
pub fn options(look: &Look, aim: Aim, hour: Option<f64>) -> Options {
    let (year, month, day) = look.date;
    let samples = if look.accumulate { look.samples_per_pixel.max(CLEAN) } else { look.samples_per_pixel };
    Options {
        size: look.size,
        samples,
        aim,
        view_deg: look.view,
        moment: Moment { year, month, day, hour: hour.unwrap_or(17.0) },
        any_hour: hour.is_none(),
        quality: look.quality,
        haze: look.haze,
        clouds: look.clouds,
        fog: look.fog,
        plain: look.plain,
        exposure_ev: look.exposure,
        soft_sun: look.accumulate,
        ..Options::default()
    }
}

/// What pictures are taken with.
struct Studio<'a> {
    args: &'a Render,
    gpu: &'a Gpu,
    bars: &'a Bars,
    cancel: &'a Cancel,
}

impl Studio<'_> {
    fn options(&self, shot: &Shot) -> Options {
        Options {
            clear_sky: self.args.clear_sky,
            depth: self.args.depth.is_some(),
            ..options(&self.args.look, shot.aim, shot.hour)
        }
    }

    fn stage(&self, source: &Source) -> Result<Stage, RenderError> {
        Stage::new(self.gpu, source.land.clone(), source.materials.clone(), self.cancel)
    }

    fn take(&self, stage: &mut Stage, options: &Options) -> Result<Rendered, RenderError> {
        take(stage, options, self.cancel, &|_| {})
    }

    /// A picture for each shot, with its name.
    fn each(&self, source: &Source, shots: &[Shot], out: &mut Vec<(String, Picture)>) -> Result<()> {
        let mut stage = self.stage(source)?;
        let overlay = overlays::overlay(self.args, source.offset_m)?;
        for shot in shots {
            let options = Options { overlay: overlay.clone(), ..self.options(shot) };
            let done = self.take(&mut stage, &options)?;
            let mut picture = done.picture;
            if !self.args.no_legend {
                overlays::draw_legend(&mut picture, &done.legend);
            }
            let land = (self.args.files.len() > 1 || shot.name.is_empty()).then_some(source.name.as_str());
            let words: Vec<&str> =
                land.into_iter().chain([shot.name.as_str()]).filter(|word| !word.is_empty()).collect();
            out.push((words.join(", "), picture));
        }
        Ok(())
    }

    fn one(&self, shot: &Shot) -> Result<()> {
        let args = self.args;
        let file = &args.files[0];
        let open = |file: &Path, without: Option<&str>| {
            Source::open(file, without, &args.changes, self.bars, self.cancel)?
                .heights_by(&args.look, self.gpu)
        };
        let source = open(file, None)?;
        let solved = Instant::now();
        let mut stage = self.stage(&source)?;
        let mut options =
            Options { overlay: overlays::overlay(args, source.offset_m)?, ..self.options(shot) };
        let earlier = match (&args.against, &args.without) {
            (Some(other), _) => Some(open(other, None)?),
            (None, Some(step)) => Some(open(file, Some(step))?),
            (None, None) => None,
        };
        let mut before = None;
        if let Some(earlier) = &earlier {
            if args.side_by_side {
                // Both from the same place, which the later land decides.
                let (camera, moment) = find(source.land.as_ref(), stage.overview(), &options)?;
                (options.aim, options.moment, options.any_hour) = (Aim::Exact(camera), moment, false);
                before = Some(self.take(&mut self.stage(earlier)?, &options)?.picture);
            } else {
                let values = Values::difference(&*source.land, &*earlier.land, self.cancel)?;
                options.overlay.paint = Paint::Values(Arc::new(values));
            }
        }
        let done = self.take(&mut stage, &options)?;
        if !args.quiet {
            say(&done, self.gpu, &solved);
        }
        let mut picture = done.picture;
        if !args.no_legend {
            overlays::draw_legend(&mut picture, &done.legend);
        }
        if let Some(before) = before {
            let both = [(String::from("before"), before), (String::from("after"), picture)];
            picture = sheet::sheet(&both, 2);
        }
        let bytes = match done.cover.filter(|_| !args.side_by_side) {
            Some(cover) => with_alpha(&picture, &cover)?,
            None => png8::encode(&picture),
        };
        if let (Some(file), Some(depth)) = (&args.depth, &done.depth) {
            output::write_file(file, &depth_file(file, depth)?, args.force)?;
        }
        output::write_file(&args.output, &bytes, args.force)?;
        Ok(())
    }
}

/// Says where a picture was taken.
fn say(done: &Rendered, gpu: &Gpu, solved: &Instant) {
    let (camera, sun) = (done.camera, done.sun);
    let [x, y, z] = camera.eye;
    match camera.wide_m {
        Some(wide) => eprintln!("{wide:.0} m across, around {:.0},{:.0}", camera.target[0], camera.target[1]),
        None => eprintln!(
            "camera {x:.0},{y:.0}, {z:.0} m above the sea, toward {:.0},{:.0}",
            camera.target[0], camera.target[1]
        ),
    }
    eprintln!(
        "sun at {:.0}°, {:.0}° high, at {}",
        sun.azimuth_deg,
        sun.altitude_deg,
        clock(done.moment.hour)
    );
    eprintln!(
        "{} tiles on {}, {:.2} s from solved land",
        done.tiles,
        gpu.name(),
        solved.elapsed().as_secs_f64()
    );
}

/// A picture that is clear where the sky was.
fn with_alpha(picture: &Picture, cover: &Raster<u8>) -> Result<Vec<u8>> {
    let four = Raster::from_fn(picture.cols(), picture.rows(), |c, r| {
        let [red, green, blue] = picture.row(r)[c];
        [red, green, blue, cover.row(r)[c]]
    });
    let mut bytes = Vec::new();
    png8::write_four(&four, &mut bytes).context("cannot write the picture")?;
    Ok(bytes)
}

/// Distances as a file: metres in an EXR, where the sky is infinitely far; in a PNG from 0 (the sky) and 65535 (nearest) to 1.
fn depth_file(file: &Path, depth: &Raster<f32>) -> Result<Vec<u8>> {
    let is_exr = file.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("exr"));
    if is_exr {
        let far = depth.map(|metres| if metres.is_finite() { metres } else { f32::INFINITY });
        let mut bytes = std::io::Cursor::new(Vec::new());
        let about = About { layer: "depth", unit: "m", seed: "" };
        exr::write([&far; 3], f32::INFINITY, &about, &mut bytes).context("cannot write the distances")?;
        bytes.flush()?;
        bytes.rewind()?;
        return Ok(bytes.into_inner());
    }
    let (near, far) = depth.range().unwrap_or((0.0, 1.0));
    // By the logarithm: what is near matters more.
    let (low, high) = (f64::from(near.max(0.01)), f64::from(far.max(near + 0.01)));
    let share = |metres: f32| {
        if !metres.is_finite() {
            return f32::NAN;
        }
        let along = math::ln(f64::from(metres.max(0.01)) / low) / math::ln(high / low).max(1e-9);
        (1.0 - along.clamp(0.0, 1.0)) as f32
    };
    Ok(png16::picture(&depth.map(share)).0)
}
