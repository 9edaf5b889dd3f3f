//! Replays the fuzzing corpus and some thousand mutations of it: no input may panic, and none may make a reader
//! reserve more memory than its limits and its own size account for.

#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stderr, reason = "a failing test may stop")]

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use orogen_core::Elevation;
use orogen_io::{FormatError, Limits, ascii_grid, geotiff, png16, raw};
use peak_alloc::PeakAlloc;

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

/// Tests share the counter, so one reader runs at a time.
static COUNTED: Mutex<()> = Mutex::new(());

/// The result of `f` and the most bytes that were in use beyond those before it.
fn with_peak<R>(f: impl FnOnce() -> R) -> (R, usize) {
    MEMORY.reset_peak_usage();
    let before = MEMORY.current_usage();
    let result = f();
    (result, MEMORY.peak_usage().saturating_sub(before))
}

/// Small enough for a reader that ignores it to be noticed.
const LIMITS: Limits = Limits { max_bytes_file: 1 << 20, max_samples: 1 << 16 };

/// What a reader may hold at once: the samples as floats and once more as raw bytes with padding, the tables of the
/// file, and room for the decompressor.
const MOST_BYTES: usize = 8 << 20;

fn corpus(target: &str) -> Vec<(PathBuf, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(target);
    let mut paths: Vec<PathBuf> =
        std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    assert!(paths.len() > 5, "{} has hardly any files", folder.display());
    paths.into_iter().map(|path| (path.clone(), std::fs::read(&path).unwrap())).collect()
}

/// A small counter-based generator: every run tries the same mutations.
struct Dice(u64);

impl Dice {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % n.max(1) as u64) as usize
    }
}

/// One to four edits: flipped bits, bytes, numbers that lengths go wrong with, cuts, repeats.
fn mutated(bytes: &[u8], dice: &mut Dice) -> Vec<u8> {
    const NUMBERS: [u64; 12] =
        [0, 1, 2, 3, 255, 256, 65535, 65536, 0x7fff_ffff, 0xffff_ffff, 1 << 40, u64::MAX];
    let mut out = bytes.to_vec();
    for _ in 0..=dice.below(4) {
        // Headers and directories are where sizes stand: half of the edits go to the first part of the file.
        let reach = if dice.below(2) == 0 { out.len().min(400) } else { out.len() };
        let at = dice.below(reach);
        match dice.below(6) {
            _ if out.is_empty() => break,
            0 => out[at] ^= 1 << dice.below(8),
            1 => out[at] = dice.below(256) as u8,
            2 => {
                let number = NUMBERS[dice.below(NUMBERS.len())].to_le_bytes();
                let size = [1, 2, 4, 8][dice.below(4)].min(out.len() - at);
                out[at..at + size].copy_from_slice(&number[..size]);
            }
            3 => {
                let number = NUMBERS[dice.below(NUMBERS.len())].to_be_bytes();
                let size = [2, 4][dice.below(2)].min(out.len() - at);
                out[at..at + size].copy_from_slice(&number[8 - size..]);
            }
            4 => out.truncate(at),
            _ => {
                let piece = out[at..(at + 16).min(out.len())].to_vec();
                out.splice(at..at, piece);
            }
        }
    }
    out
}

/// Runs a reader over the files and `rounds` mutations of each.
fn replay(
    files: &[(PathBuf, Vec<u8>)],
    rounds: usize,
    read: impl Fn(&[u8], &Limits) -> Result<Elevation, FormatError>,
) {
    let _alone = COUNTED.lock().unwrap_or_else(PoisonError::into_inner);
    let check = |name: &Path, bytes: &[u8]| {
        let (result, most) = with_peak(|| read(bytes, &LIMITS));
        assert!(most < MOST_BYTES, "{}: {most} bytes were in use", name.display());
        match result {
            Ok(model) => {
                let samples = model.height.cols() * model.height.rows();
                assert!(samples as u64 <= LIMITS.max_samples, "{}", name.display());
                assert!(!model.height.as_slice().iter().any(|h| h.is_infinite()), "{}", name.display());
                assert!(model.spacing_m.is_none_or(|s| s.iter().all(|v| *v > 0.0 && v.is_finite())));
            }
            Err(e) => assert!(e.to_string().len() > 10, "{}: {e}", name.display()),
        }
    };
    for (i, (name, bytes)) in files.iter().enumerate() {
        check(name, bytes);
        let mut dice = Dice(i as u64);
        for _ in 0..rounds {
            check(name, &mutated(bytes, &mut dice));
        }
    }
}

#[test]
fn geotiff_survives_anything() {
    let files = corpus("geotiff");
    replay(&files, 8000, geotiff::decode);
    // Cut at every length: the end of a file is where most damage happens.
    for (name, bytes) in files.iter().filter(|(name, _)| name.ends_with("f32_deflate_p3_strips.tif")) {
        for length in 0..bytes.len() {
            let cut = geotiff::decode(&bytes[..length], &LIMITS);
            assert!(cut.is_err() || length + 64 > bytes.len(), "{} cut at {length}", name.display());
        }
    }
}

#[test]
fn files_that_should_be_refused_are() {
    for (target, read) in
        [("geotiff", geotiff::decode as fn(&[u8], &Limits) -> _), ("ascii_grid", ascii_grid::decode)]
    {
        for (path, bytes) in corpus(target) {
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            let bad = name.starts_with("broken") || name.starts_with("refused");
            let result: Result<Elevation, FormatError> = read(&bytes, &LIMITS);
            assert_eq!(result.is_err(), bad, "{name}: {result:?}");
        }
    }
}

#[test]
fn ascii_grid_survives_anything() {
    replay(&corpus("ascii_grid"), 8000, ascii_grid::decode);
}

#[test]
fn png_and_raw_survive_anything() {
    use orogen_core::{Frame, Raster};
    let frame = Frame::new([0.0, 0.0], [90.0, 60.0], [10, 7]).unwrap();
    let raster = Raster::from_fn(10, 7, |c, r| (c * r) as f32);
    let about = orogen_io::About { layer: "height", unit: "m", seed: "1" };
    let png = png16::encode(&raster, &frame, &about);
    replay(&[(PathBuf::from("png16"), png.bytes)], 3000, |bytes, limits| {
        png16::decode(bytes, Some(&png.sidecar), limits)
    });
    let r16 = raw::encode(&raster, raw::Depth::R16, &frame, &about);
    replay(&[(PathBuf::from("sidecar"), r16.sidecar.to_json())], 3000, |bytes, limits| {
        raw::decode(&r16.bytes, raw::Depth::R16, &orogen_io::Sidecar::parse(bytes)?, limits)
    });
}
