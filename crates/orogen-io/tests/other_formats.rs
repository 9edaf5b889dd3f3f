//! ASCII grids, height pictures, bare samples, and the files that recipes name.

#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stderr, reason = "a failing test may stop")]

use std::fs;
use std::path::Path;

use orogen_core::testkit::{assert_close, hills};
use orogen_core::{Cell, Elevation, Files, Frame, Raster};
use orogen_io::{About, FolderFiles, FormatError, Limits, Sidecar, ascii_grid, elevation, png16, raw};

const ABOUT: About<'static> = About { layer: "height", unit: "m", seed: "7" };

fn frame(cols: usize, rows: usize) -> Frame {
    Frame::new([100.0, -50.0], [4.0 * (cols - 1) as f64, 4.0 * (rows - 1) as f64], [cols, rows]).unwrap()
}

fn with_hole(mut raster: Raster<f32>) -> Raster<f32> {
    raster[Cell { col: 2, row: 1 }] = f32::NAN;
    raster
}

fn assert_same(a: &Raster<f32>, b: &Raster<f32>, tolerance: f32) {
    assert_eq!((a.cols(), a.rows()), (b.cols(), b.rows()));
    for (x, y) in a.as_slice().iter().zip(b.as_slice()) {
        assert!((x.is_nan() && y.is_nan()) || (x - y).abs() <= tolerance, "{x} is not {y}");
    }
}

fn assert_placed(model: &Elevation, frame: &Frame) {
    assert_eq!(model.spacing_m, Some(frame.spacing_m()));
    assert_eq!(model.north_west_m, Some([frame.x_m(0), frame.y_m(0)]));
}

#[test]
fn ascii_grids_come_back_bit_for_bit() {
    for (cols, rows) in [(5, 3), (3, 90)] {
        let raster = with_hole(Raster::from_fn(cols, rows, |c, r| (c as f32 * 0.1 - r as f32).sin_like()));
        let frame = frame(cols, rows);
        let model = ascii_grid::decode(&ascii_grid::encode(&raster, &frame), &Limits::default()).unwrap();
        assert_same(&model.height, &raster, 0.0);
        assert_placed(&model, &frame);
    }
    let oblong = Frame::new([0.0, 0.0], [10.0, 30.0], [5, 4]).unwrap();
    let raster = hills(5, 10.0).crop(0, 0, 5, 4);
    let model = ascii_grid::decode(&ascii_grid::encode(&raster, &oblong), &Limits::default()).unwrap();
    assert_placed(&model, &oblong);
}

/// Some unround numbers.
trait SinLike {
    fn sin_like(self) -> f32;
}

impl SinLike for f32 {
    fn sin_like(self) -> f32 {
        orogen_core::math::f32::sin(self) * 1234.5
    }
}

fn ascii(text: &str) -> Result<Elevation, String> {
    ascii_grid::decode(text.as_bytes(), &Limits::default()).map_err(|e| e.to_string())
}

#[test]
fn ascii_headers_in_every_form() {
    let corner = ascii(
        "NCOLS 2\r\nnrows 2\r\nXllCorner 100\r\nyllcorner 200\r\ncellsize 10\r\nnodata_value -1\r\n1 2\r\n-1 4\r\n",
    );
    let corner = corner.unwrap();
    assert_eq!(corner.north_west_m, Some([105.0, 215.0]));
    assert!(corner.height.row(1)[0].is_nan());
    let center = ascii("ncols 1 nrows 2 dx 2 dy 3 yllcenter 7 xllcenter 5 8 9").unwrap();
    assert_eq!((center.spacing_m, center.north_west_m), (Some([2.0, 3.0]), Some([5.0, 10.0])));
    assert_eq!(center.height.as_slice(), [8.0, 9.0]);
}

#[test]
fn bad_ascii_grids_get_a_sentence() {
    let head = "ncols 2\nnrows 2\ncellsize 1\n";
    for (text, part) in [
        (String::new(), "lacks ncols or nrows"),
        (String::from("ncols 2\nnrows 2\n1 2 3 4"), "lacks cellsize"),
        (String::from("ncols two\n"), "expected a number after \"ncols\", found \"two\""),
        (format!("{head}1 2 3"), "declares 2 x 2 numbers, but it holds 3"),
        (format!("{head}1 2 3 4 5"), "more numbers than the 2 x 2"),
        (format!("{head}1 2 three 4"), "expected number 3 of the grid, found \"three\""),
        (String::from("ncols 9000\nnrows 9000\ncellsize 1\n1 2 3"), "room for at most 4"),
        (
            String::from("ncols 5000000000\nnrows 5000000000\ncellsize 1\n1"),
            "5000000000 x 5000000000 samples is too large",
        ),
        (String::from("ncols 2\nnrows 2\ncellsize -1\n1 2 3 4"), "both must be positive"),
        (String::from("cols 2\n"), "\"cols\" is not a header keyword"),
    ] {
        let message = ascii(&text).unwrap_err();
        assert!(message.contains(part), "{message:?} does not say {part:?}");
    }
}

#[test]
fn height_pictures_keep_heights_to_a_step() {
    for raster in [hills(33, 500.0), with_hole(hills(33, 500.0))] {
        let frame = frame(33, 33);
        let file = png16::encode(&raster, &frame, &ABOUT);
        let sidecar = Sidecar::parse(&file.sidecar.to_json()).unwrap();
        let model = png16::decode(&file.bytes, Some(&sidecar), &Limits::default()).unwrap();
        let step = (1000.0 / 65534.0) * 0.51;
        assert_same(&model.height, &raster, step);
        assert_placed(&model, &frame);
        // About 1000 m over 65535 steps is 1.5 cm.
        assert!(file.sidecar.warning.unwrap().contains("steps of 1.5 cm"));
    }
    assert_eq!(png16::encode(&hills(33, 100.0), &frame(33, 33), &ABOUT).sidecar.warning, None);
}

#[test]
fn a_flat_picture_and_one_of_holes() {
    for value in [42.5, f32::NAN] {
        let flat = Raster::filled(3, 3, value);
        let file = png16::encode(&flat, &frame(3, 3), &ABOUT);
        let model = png16::decode(&file.bytes, Some(&file.sidecar), &Limits::default()).unwrap();
        assert_same(&model.height, &flat, 0.0);
    }
}

#[test]
fn a_picture_without_a_sidecar_is_its_own_numbers() {
    let file = png16::encode(&Raster::from_fn(4, 2, |c, _| c as f32), &frame(4, 2), &ABOUT);
    let model = png16::decode(&file.bytes, None, &Limits::default()).unwrap();
    assert_eq!(model.height.row(0), [0.0, 21845.0, 43690.0, 65535.0]);
    assert_eq!(model.spacing_m, None);
}

#[test]
fn a_sidecar_that_disagrees_is_refused() {
    let file = png16::encode(&hills(5, 10.0), &frame(5, 5), &ABOUT);
    let with = |change: fn(&mut Sidecar)| {
        let mut sidecar = file.sidecar.clone();
        change(&mut sidecar);
        png16::decode(&file.bytes, Some(&sidecar), &Limits::default()).unwrap_err().to_string()
    };
    assert_eq!(with(|s| s.rows = Some(4)), "sidecar: it declares 5 x 4 samples, but the picture has 5 x 5");
    assert!(with(|s| s.min = None).contains("min and max are missing"));
    assert!(with(|s| s.min = Some(1e9)).contains("is above max"));
    for bad in ["", "3", "{\"cols\": -1}", "{\"spacing_m\": [0, 1]}", "{\"cols\": 1e40}", "{\"bits\": \"x\"}"]
    {
        assert!(matches!(Sidecar::parse(bad.as_bytes()), Err(FormatError::Sidecar(_))), "{bad}");
    }
}

#[test]
fn pictures_of_other_kinds_are_refused() {
    let rgb = orogen_io::png8::encode(&Raster::filled(3, 2, [1, 2, 3]));
    let message = png16::decode(&rgb, None, &Limits::default()).unwrap_err().to_string();
    assert_eq!(message, "this PNG has Rgb pixels of 8 bits; supported: grey pixels of 8 or 16 bits");
    let whole = png16::encode(&hills(9, 10.0), &frame(9, 9), &ABOUT).bytes;
    for length in 0..whole.len() - 12 {
        assert!(png16::decode(&whole[..length], None, &Limits::default()).is_err(), "cut at {length}");
    }
    // A header that claims 30000 x 30000 pixels in 40 bytes of data.
    let mut huge = whole;
    huge[16..24].copy_from_slice(&[0, 0, 0x75, 0x30, 0, 0, 0x75, 0x30]);
    assert!(png16::decode(&huge, None, &Limits { max_samples: 1 << 40, ..Limits::default() }).is_err());
}

#[test]
fn bare_samples_there_and_back() {
    let raster = with_hole(hills(17, 300.0).crop(0, 0, 17, 11));
    let frame = frame(17, 11);
    let r32 = raw::encode(&raster, raw::Depth::R32, &frame, &ABOUT);
    assert_eq!(r32.bytes.len(), 17 * 11 * 4);
    let model = raw::decode(&r32.bytes, raw::Depth::R32, &r32.sidecar, &Limits::default()).unwrap();
    assert_same(&model.height, &raster, 0.0);
    assert_placed(&model, &frame);
    let r16 = raw::encode(&raster, raw::Depth::R16, &frame, &ABOUT);
    let model = raw::decode(&r16.bytes, raw::Depth::R16, &r16.sidecar, &Limits::default()).unwrap();
    assert_same(&model.height, &raster, 600.0 / 65534.0);
    let short = raw::decode(&r16.bytes[1..], raw::Depth::R16, &r16.sidecar, &Limits::default()).unwrap_err();
    assert_eq!(short.to_string(), "sidecar: 17 x 11 samples of 16 bits take 374 bytes, but the file has 373");
    let mut vast = r16.sidecar;
    (vast.cols, vast.rows) = (Some(u64::MAX), Some(3));
    let vast = raw::decode(&r16.bytes, raw::Depth::R16, &vast, &Limits::default()).unwrap_err();
    assert!(matches!(vast, FormatError::TooLarge { .. }));
}

#[test]
fn paths_that_give_nothing_get_a_sentence() {
    let home = tempfile::tempdir().unwrap();
    let at = |name: &str| home.path().join(name);
    fs::write(at("empty.tif"), "").unwrap();
    fs::create_dir(at("folder.tif")).unwrap();
    fs::write(at("notes.txt"), "x").unwrap();
    fs::write(at("bare.r16"), [0u8; 8]).unwrap();
    fs::write(at("long.asc"), vec![b' '; 5000]).unwrap();
    let limits = Limits { max_bytes_file: 4096, ..Limits::default() };
    for (name, part) in [
        ("missing.tif", "no such file"),
        ("empty.tif", "the file is empty"),
        ("folder.tif", "is a folder, not a file"),
        ("notes.txt", "unknown file type \"txt\""),
        ("bare.r16", "sidecar: raw samples need one beside them"),
        ("long.asc", "the file has 5000 bytes, more than the limit of 4096"),
    ] {
        let message = elevation::read(&at(name), &limits).unwrap_err().to_string();
        assert!(message.contains(part) && message.contains(name), "{message}");
    }
    #[cfg(target_os = "linux")]
    {
        std::os::unix::fs::symlink("/dev/zero", at("endless.asc")).unwrap();
        assert!(
            elevation::read(&at("endless.asc"), &limits).unwrap_err().reason.contains("not a regular file")
        );
    }
}

#[test]
fn a_recipes_files_follow_their_content() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("height.r32");
    let write = |raster: &Raster<f32>| {
        let file = raw::encode(raster, raw::Depth::R32, &frame(9, 9), &ABOUT);
        fs::write(&path, file.bytes).unwrap();
        fs::write(Sidecar::path_of(&path), file.sidecar.to_json()).unwrap();
    };
    write(&hills(9, 10.0));
    let files = FolderFiles::new(home.path(), Limits::default());
    let first = files.elevation("height.r32").unwrap();
    assert!(std::sync::Arc::ptr_eq(&first, &files.elevation("height.r32").unwrap()), "read twice");
    assert_eq!(*first, *files.elevation(path.to_str().unwrap()).unwrap());
    let print = files.fingerprint("height.r32").unwrap();
    assert_eq!(print, files.fingerprint("height.r32").unwrap());
    // The sidecar belongs to the content: here it changes the spacing and the number of rows.
    let other = Sidecar { cols: Some(27), rows: Some(3), ..Sidecar::default() };
    fs::write(Sidecar::path_of(&path), other.to_json()).unwrap();
    assert_ne!(print, files.fingerprint("height.r32").unwrap());
    assert_eq!(files.elevation("height.r32").unwrap().height.cols(), 27);
    assert_close!(
        first.height.as_slice()[0],
        files.elevation("height.r32").unwrap().height.as_slice()[0],
        abs = 0.0
    );
    let message = files.elevation("nothing.tif").unwrap_err().to_string();
    assert_eq!(message, "file \"nothing.tif\": no such file");
    fs::write(Sidecar::path_of(Path::new(&path)), "{").unwrap();
    assert!(files.elevation("height.r32").unwrap_err().to_string().contains("its sidecar"));
}
