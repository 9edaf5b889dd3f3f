//! Replays the fuzzing corpus and some thousand mutations of it: no input may panic, and none may make a reader
//! reserve more memory than its limits and its own size account for.

#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stderr, reason = "a failing test may stop")]

use std::path::{Path, PathBuf};

use orogen_core::{Elevation, Features};
use orogen_io::{FormatError, Limits, ascii_grid, geojson, geotiff, png16, raw, xyz};

#[path = "../../../fuzz/replay.rs"]
mod replay;

use replay::{Dice, alone, corpus, mutated, with_peak};

/// Small enough for a reader that ignores it to be noticed.
const LIMITS: Limits = Limits {
    max_bytes_file: 1 << 20,
    max_samples: 1 << 16,
    max_bytes_memory: 1 << 30,
    max_vertices: 1 << 16,
    advice: "",
};

/// What a reader may hold at once: the samples as floats and once more as raw bytes with padding, the tables of the
/// file, and room for the decompressor.
const MOST_BYTES: usize = 8 << 20;

/// Runs a reader over the files and `rounds` mutations of each.
fn survives(
    files: &[(PathBuf, Vec<u8>)],
    rounds: usize,
    read: impl Fn(&[u8], &Limits) -> Result<Elevation, FormatError>,
) {
    let _alone = alone();
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
        let mut dice = Dice::new(i as u64);
        for _ in 0..rounds {
            check(name, &mutated(bytes, &mut dice));
        }
    }
}

/// The kept files of a target, read while no other test counts its memory.
fn kept(target: &str) -> Vec<(PathBuf, Vec<u8>)> {
    let _alone = alone();
    corpus(target)
}

#[test]
fn geotiff_survives_anything() {
    let files = kept("geotiff");
    survives(&files, 8000, geotiff::decode);
    // Cut at every length: the end of a file is where most damage happens.
    let _alone = alone();
    for (name, bytes) in files.iter().filter(|(name, _)| name.ends_with("f32_deflate_p3_strips.tif")) {
        for length in 0..bytes.len() {
            let cut = geotiff::decode(&bytes[..length], &LIMITS);
            assert!(cut.is_err() || length + 64 > bytes.len(), "{} cut at {length}", name.display());
        }
    }
}

#[test]
fn geotiff_on_disk_survives_anything() {
    let place = tempfile::NamedTempFile::new().unwrap();
    survives(&kept("geotiff"), 300, |bytes, limits| {
        std::fs::write(place.path(), bytes).unwrap();
        let file = std::fs::File::open(place.path()).unwrap();
        let on_disk = geotiff::decode_file(&file, limits).map(|(model, _)| model);
        assert_eq!(on_disk.is_ok(), geotiff::decode(bytes, limits).is_ok());
        on_disk
    });
}

#[test]
fn a_damaged_lerc_chunk_reserves_no_memory_for_the_size_it_claims() {
    let files = kept("geotiff");
    let _alone = alone();
    let damaged = files.iter().filter(|(path, _)| path.to_string_lossy().contains("broken_lerc"));
    for (path, bytes) in damaged.clone() {
        let (result, most) = with_peak(|| geotiff::decode(bytes, &Limits::default()));
        assert!(result.unwrap_err().to_string().contains("cannot hold 16000"), "{}", path.display());
        assert!(most < MOST_BYTES, "{}: {most} bytes were in use", path.display());
    }
    assert_eq!(damaged.count(), 2);
}

#[test]
fn files_that_should_be_refused_are() {
    let _alone = alone();
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
    survives(&kept("ascii_grid"), 8000, ascii_grid::decode);
}

#[test]
fn png_and_raw_survive_anything() {
    use orogen_core::{Frame, Raster};
    let frame = Frame::new([0.0, 0.0], [90.0, 60.0], [10, 7]).unwrap();
    let raster = Raster::from_fn(10, 7, |c, r| (c * r) as f32);
    let about = orogen_io::About { layer: "height", unit: "m", seed: "1" };
    let png = {
        let _alone = alone();
        png16::encode(&raster, &frame, &about)
    };
    survives(&[(PathBuf::from("png16"), png.bytes)], 3000, |bytes, limits| {
        png16::decode(bytes, Some(&png.sidecar), limits)
    });
    let r16 = raw::encode(&raster, raw::Depth::R16, &frame, &about);
    survives(&[(PathBuf::from("sidecar"), r16.sidecar.to_json())], 3000, |bytes, limits| {
        raw::decode(&r16.bytes, raw::Depth::R16, &orogen_io::Sidecar::parse(bytes)?, limits)
    });
}

/// Runs a reader of features over its corpus and `rounds` mutations of each file.
fn features_survive(
    target: &str,
    rounds: usize,
    read: impl Fn(&[u8], &Limits) -> Result<Features, FormatError>,
) {
    let _alone = alone();
    let check = |name: &Path, bytes: &[u8]| {
        let (result, most) = with_peak(|| read(bytes, &LIMITS));
        // A vertex takes five letters at least and 24 bytes, a list that grows twice that; so do properties.
        let allowed = (64 * bytes.len() + (1 << 16)).min(MOST_BYTES);
        assert!(most < allowed, "{}: {most} bytes were in use for {}", name.display(), bytes.len());
        match result {
            Ok(features) => {
                for set in [&features.points, &features.lines, &features.polygons] {
                    let vertices = set.vectors().vertices();
                    assert!(vertices.len() as u64 <= LIMITS.max_vertices, "{}", name.display());
                    assert!(
                        vertices.iter().all(|p| p[0].is_finite() && p[1].is_finite()),
                        "{}",
                        name.display()
                    );
                }
            }
            Err(e) => assert!(e.to_string().len() > 10, "{}: {e}", name.display()),
        }
    };
    for (i, (path, bytes)) in corpus(target).iter().enumerate() {
        check(path, bytes);
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let result = read(bytes, &Limits { max_vertices: 1 << 10, ..LIMITS });
        assert_eq!(result.is_err(), name.starts_with("broken"), "{name}: {:?}", result.err());
        let mut dice = Dice::new(i as u64);
        for _ in 0..rounds {
            check(path, &mutated(bytes, &mut dice));
        }
    }
}

#[test]
fn geojson_survives_anything() {
    features_survive("geojson", 4000, geojson::decode);
}

#[test]
fn point_tables_survive_anything() {
    features_survive("xyz", 8000, xyz::decode);
}
