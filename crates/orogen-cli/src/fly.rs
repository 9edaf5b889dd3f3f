//! `orogen fly`: a camera that flies over a land, frame by frame, or as a film.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use orogen::BuildError;
use orogen::core::{Cancel, Seed};
use orogen::io::png8;
use orogen_render::{Aim, Flight, Gpu, Options, RenderError, Stage, find, take};

use crate::args::Fly;
use crate::progress::Bars;
use crate::render::{self, Source};
use crate::{output, signals};

/// What the folder of a flight says of itself.
const ABOUT: &str = "flight.json";
/// More frames than any flight has.
const MOST_FRAMES: f64 = 100_000.0;

pub fn run(args: &Fly) -> Result<()> {
    let start = Instant::now();
    let count = frames(args)?;
    let film = Film::of(&args.output)?;
    if film.is_some() {
        output::refuse_existing(&args.output, args.force)?;
        if args.look.size.iter().any(|side| side % 2 != 0) {
            let text = format!(
                "a film has sides of even numbers of pixels, not {} x {}",
                args.look.size[0], args.look.size[1]
            );
            return Err(BuildError::Call(text).into());
        }
    }
    let folder = match &film {
        Some(_) => beside(&args.output, ".frames"),
        None => args.output.clone(),
    };
    let done = prepare(&folder, &about(args, count)?, args.force)?;
    let cancel = signals::cancel_on_signal()?;
    let gpu = render::open(&args.look)?;
    let bars = Bars::new(args.quiet);
    if !args.quiet && done > 0 {
        eprintln!("{}: {done} of {count} frames are there already", folder.display());
    }
    draw(args, count, &folder, &gpu, &bars, &cancel)?;
    if let Some(film) = film {
        bars.start(format!("film ({})", film.codec()));
        film.make(&args.output, &folder, args.look_fps(), &cancel)?;
        bars.finish("");
        fs::remove_dir_all(&folder).with_context(|| format!("cannot remove {}", folder.display()))?;
    }
    if !args.quiet {
        eprintln!("{}: {count} frames, {:.1} s", args.output.display(), start.elapsed().as_secs_f64());
    }
    Ok(())
}

impl Fly {
    fn look_fps(&self) -> u32 {
        self.fps
    }
}

/// How many frames there are.
fn frames(args: &Fly) -> Result<usize, BuildError> {
    let count = (args.seconds * f64::from(args.fps)).round();
    if (1.0..=MOST_FRAMES).contains(&count) {
        return Ok(count as usize);
    }
    let text = format!(
        "{} s at {} frames a second are {count} frames, outside 1 to {MOST_FRAMES}",
        args.seconds, args.fps
    );
    Err(BuildError::Call(text))
}

fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    PathBuf::from(name)
}

fn frame_name(number: usize) -> String {
    format!("frame_{:05}.png", number + 1)
}

/// What makes the frames what they are: those of the same text may be gone on with.
fn about(args: &Fly, count: usize) -> Result<String> {
    // The land itself, as far as one file tells.
    let file = if args.file.is_dir() { args.file.join(orogen::io::MANIFEST) } else { args.file.clone() };
    let is_text = file.extension().is_some_and(|e| e == "toml" || e == "json");
    let land = if is_text { fs::read_to_string(&file).unwrap_or_default() } else { String::new() };
    let size = fs::metadata(&file).map(|facts| facts.len()).unwrap_or(0);
    let call = format!(
        "{:?} {:?} {:?} {:?} {:?} {:?} {:?} {}",
        args.file, args.through, args.target, args.time, args.until, args.look, args.changes, args.seconds
    );
    let hash = Seed::from_text(&format!("{} {land} {size} {call}", orogen::VERSION)).0;
    let value = serde_json::json!({
        "orogen": orogen::VERSION,
        "frames": count,
        "frames_a_second": args.fps,
        "size": args.look.size,
        "call": format!("{hash:016x}"),
    });
    Ok(format!("{}\n", serde_json::to_string_pretty(&value)?))
}

/// Makes the folder of the frames ready; how many of them are there already.
fn prepare(folder: &Path, about: &str, force: bool) -> Result<usize> {
    let path = folder.join(ABOUT);
    let refused = |what: &str| BuildError::Call(format!("{}: {what}", folder.display()));
    if folder.exists() && !folder.is_dir() {
        return Err(refused("this is a file, not a folder for frames").into());
    }
    let before = fs::read_to_string(&path).ok();
    let is_ours = |name: &str| name.starts_with("frame_") && name.ends_with(".png");
    let entries = || fs::read_dir(folder).into_iter().flatten().flatten();
    if before.as_deref() == Some(about) {
        let names = entries().map(|entry| entry.file_name().to_string_lossy().into_owned());
        return Ok(names.filter(|name| is_ours(name)).count());
    }
    if entries().next().is_some() && !force {
        let what = match before {
            Some(_) => "frames of another flight are there; replace them with --force",
            None => "the folder is not empty; name another, or write into it with --force",
        };
        return Err(refused(what).into());
    }
    for entry in entries().filter(|entry| is_ours(&entry.file_name().to_string_lossy())) {
        fs::remove_file(entry.path()).with_context(|| format!("cannot remove {}", entry.path().display()))?;
    }
    fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    output::write_file(&path, about.as_bytes(), true)?;
    Ok(0)
}

/// Draws the frames that are not there yet.
fn draw(args: &Fly, count: usize, folder: &Path, gpu: &Gpu, bars: &Bars, cancel: &Cancel) -> Result<()> {
    let missing: Vec<usize> = (0..count).filter(|i| !folder.join(frame_name(*i)).exists()).collect();
    if missing.is_empty() {
        return Ok(());
    }
    let source = Source::open(&args.file, None, &args.changes, bars, cancel)?.heights_by(&args.look, gpu)?;
    // It lasts over the frames: most tiles of one serve the next.
    let mut stage = Stage::new(gpu, source.land.clone(), source.materials.clone(), cancel)?;
    let overview = stage.overview();
    let aim = match args.target {
        Some(_) => Aim::From { target: args.target, azimuth_deg: 0.0, distance_m: None, height: None },
        None => Aim::Found,
    };
    let mut options = render::options(&args.look, aim, args.time);
    let flight = if args.through.is_empty() {
        let (camera, moment) = find(source.land.as_ref(), overview, &options)?;
        options.moment = moment;
        Flight::around(overview, &camera)
    } else {
        let flight = Flight::through(overview, &args.through, args.target, args.look.view)?;
        // Light that suits the middle of the way.
        options.aim = Aim::Exact(flight.at(0.5));
        options.moment = find(source.land.as_ref(), overview, &options)?.1;
        flight
    };
    options.any_hour = false;
    let first = options.moment.hour;
    bars.start(format!("{count} frames"));
    for (i, &number) in missing.iter().enumerate() {
        let share = if count > 1 { number as f64 / (count - 1) as f64 } else { 0.5 };
        let mut now = Options { aim: Aim::Exact(flight.at(share)), ..options.clone() };
        now.moment.hour = first + share * (args.until.unwrap_or(first) - first);
        let taken = take(&mut stage, &now, cancel, &|_| {})?;
        output::write_file(&folder.join(frame_name(number)), &png8::encode(&taken.picture), true)?;
        bars.share((i + 1) as f32 / missing.len() as f32);
    }
    bars.finish(&format!("{:.0} m", flight.length_m()));
    Ok(())
}

/// A kind of film.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Film {
    Mp4,
    WebM,
}

impl Film {
    /// The kind that a name asks for; frames only for other names.
    fn of(path: &Path) -> Result<Option<Self>> {
        let ending = path.extension().map(|e| e.to_string_lossy().to_ascii_lowercase());
        let film = match ending.as_deref() {
            Some("mp4") => Self::Mp4,
            Some("webm") => Self::WebM,
            Some(other @ ("avi" | "mov" | "mkv" | "gif" | "png" | "jpg")) => {
                let text = format!(
                    "{}: a flight is a folder of frames, a .mp4 or a .webm, not a .{other}",
                    path.display()
                );
                return Err(BuildError::Call(text).into());
            }
            _ => return Ok(None),
        };
        let there =
            Command::new("ffmpeg").arg("-version").stdout(Stdio::null()).stderr(Stdio::null()).status();
        if !there.is_ok_and(|status| status.success()) {
            let text = "films are made by ffmpeg, which is not installed (on Debian and Ubuntu: apt install ffmpeg); a folder with -o gets the frames";
            return Err(BuildError::Call(text.to_owned()).into());
        }
        Ok(Some(film))
    }

    fn codec(self) -> &'static str {
        match self {
            Self::Mp4 => "H.264",
            Self::WebM => "VP9",
        }
    }

    /// Makes the film, whole or not at all.
    fn make(self, film: &Path, folder: &Path, fps: u32, cancel: &Cancel) -> Result<()> {
        let part = match self {
            Self::Mp4 => beside(film, ".part.mp4"),
            Self::WebM => beside(film, ".part.webm"),
        };
        let mut ffmpeg = Command::new("ffmpeg");
        ffmpeg.args(["-nostdin", "-y", "-loglevel", "error", "-framerate", &fps.to_string(), "-i"]);
        ffmpeg.arg(folder.join("frame_%05d.png"));
        match self {
            Self::Mp4 => ffmpeg.args([
                "-c:v",
                "libx264",
                "-crf",
                "18",
                "-pix_fmt",
                "yuv420p",
                "-movflags",
                "+faststart",
            ]),
            Self::WebM => {
                ffmpeg.args(["-c:v", "libvpx-vp9", "-crf", "28", "-b:v", "0", "-pix_fmt", "yuv420p"])
            }
        };
        let mut child = ffmpeg.arg(&part).stdin(Stdio::null()).spawn().context("cannot start ffmpeg")?;
        let status = loop {
            if let Some(status) = child.try_wait().context("cannot wait for ffmpeg")? {
                break status;
            }
            if cancel.is_cancelled() {
                // It may have ended meanwhile; what it wrote goes either way.
                let _ = child.kill();
                let _ = child.wait();
                let _ = fs::remove_file(&part);
                return Err(RenderError::Cancelled.into());
            }
            std::thread::sleep(Duration::from_millis(50));
        };
        if !status.success() {
            let _ = fs::remove_file(&part);
            anyhow::bail!("ffmpeg could not make {}; the frames are in {}", film.display(), folder.display());
        }
        fs::rename(&part, film).with_context(|| format!("cannot write {}", film.display()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_of_the_same_flight_are_kept_and_others_are_not_replaced_unasked() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("flight");
        assert_eq!(prepare(&folder, "one", false).unwrap(), 0);
        fs::write(folder.join(frame_name(0)), "png").unwrap();
        assert_eq!(prepare(&folder, "one", false).unwrap(), 1);
        assert!(prepare(&folder, "two", false).is_err_and(|e| e.to_string().contains("another flight")));
        fs::write(folder.join("mine.txt"), "mine").unwrap();
        assert_eq!(prepare(&folder, "two", true).unwrap(), 0);
        assert!(!folder.join(frame_name(0)).exists() && folder.join("mine.txt").exists());
        let file = dir.path().join("file");
        fs::write(&file, "x").unwrap();
        assert!(prepare(&file, "one", true).is_err());
        assert!(prepare(dir.path(), "one", false).is_err_and(|e| e.to_string().contains("not empty")));
    }
}
