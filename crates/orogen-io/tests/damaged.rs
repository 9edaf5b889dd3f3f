//! Files of every format, damaged at random thousands of times: a reader gives land or a sentence, never a panic, and takes
//! no more memory than it may.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on has failed")]

use std::panic::{AssertUnwindSafe, catch_unwind};

use orogen_core::{Frame, Raster, Seed};
use orogen_io::{
    About, Limits, Sidecar, ascii_grid, drawing, geojson, geotiff, png8, png16, raw, raw::Depth, xyz,
};

/// Damaged files of each kind; `OROGEN_DAMAGES` asks for more.
const DAMAGES: u64 = 1500;
const ABOUT: About<'static> = About { layer: "height", unit: "m", seed: "7" };

fn damages() -> u64 {
    std::env::var("OROGEN_DAMAGES").ok().and_then(|n| n.parse().ok()).unwrap_or(DAMAGES)
}

fn limits() -> Limits {
    Limits { max_samples: 1 << 16, max_vertices: 1 << 14, ..Limits::default() }
}

fn land() -> (Raster<f32>, Frame) {
    let raster =
        Raster::from_fn(24, 17, |c, r| if (c, r) == (3, 4) { f32::NAN } else { (c * r) as f32 * 1.5 });
    (raster, Frame::new([0.0, 0.0], [230.0, 160.0], [24, 17]).unwrap())
}

/// A file with some of its bytes changed, doubled, taken out or cut off.
fn damaged(file: &[u8], seed: Seed) -> Vec<u8> {
    let mut bytes = file.to_vec();
    let draw = |i: u64, below: usize| (seed.unit(i) * below.max(1) as f64) as usize;
    for round in 0..=draw(0, 6) as u64 {
        let i = 1 + round * 8;
        if bytes.is_empty() {
            break;
        }
        // Headers come first, and they lie best.
        let reach = if draw(i, 2) == 0 { bytes.len() } else { bytes.len().min(200) };
        let at = draw(i + 1, reach);
        let end = (at + 1 + draw(i + 2, 12)).min(bytes.len());
        match draw(i + 3, 7) {
            0 => bytes[at] ^= 1 << draw(i + 4, 8),
            1 => bytes[at] = [0, 1, 0x7f, 0x80, 0xff, b'-', b'9', b'e'][draw(i + 4, 8)],
            2 => bytes.truncate(at),
            3 => drop(bytes.drain(at..end)),
            4 => {
                let again = bytes[at..end].to_vec();
                bytes.splice(at..at, again);
            }
            5 => bytes[at..end].fill([0, 0xff][draw(i + 4, 2)]),
            _ => {
                let from = draw(i + 5, bytes.len() - (end - at) + 1);
                let part = bytes[from..from + (end - at)].to_vec();
                bytes[at..end].copy_from_slice(&part);
            }
        }
    }
    bytes
}

/// The same PNG with right checksums and lengths of what is left: damage gets past the door.
fn resealed(png: &[u8]) -> Vec<u8> {
    let mut out = png.get(..8).unwrap_or(png).to_vec();
    let mut at = 8;
    while at + 12 <= png.len() {
        let said = u32::from_be_bytes([png[at], png[at + 1], png[at + 2], png[at + 3]]) as usize;
        let length = said.min(png.len() - at - 12);
        let body = &png[at + 4..at + 8 + length];
        let mut crc = flate2::Crc::new();
        crc.update(body);
        out.extend((length as u32).to_be_bytes());
        out.extend(body);
        out.extend(crc.sum().to_be_bytes());
        at += 12 + length;
    }
    out
}

/// Damages a file, and sees that reading it ends well; how often it still gave something.
fn survive<T>(kind: &str, file: &[u8], reseal: bool, read: impl Fn(&[u8]) -> Option<T>) {
    assert!(read(file).is_some(), "{kind}: the whole file is not read");
    let mut read_well = 0;
    for number in 0..damages() {
        let mut bytes = damaged(file, Seed::from_text(&format!("{kind} {number}")));
        if reseal && number % 4 != 0 {
            bytes = resealed(&bytes);
        }
        match catch_unwind(AssertUnwindSafe(|| read(&bytes).is_some())) {
            Ok(well) => read_well += u64::from(well),
            Err(_) => panic!("{kind}: damage {number} makes the reader panic: {bytes:02x?}"),
        }
    }
    // A check that cannot fail: where nothing is ever refused or nothing ever read, damage does not reach the reader.
    assert!(read_well < damages(), "{kind}: no damage was noticed");
}

#[test]
fn geotiffs() {
    let (raster, frame) = land();
    let read = |bytes: &[u8]| geotiff::decode(bytes, &limits()).ok();
    survive("geotiff f32", &geotiff::encode_f32(&raster, &frame, &ABOUT), false, read);
    let bytes = raster.map(|v| if v.is_nan() { 255 } else { v as u8 });
    survive("geotiff u8", &geotiff::encode_u8(&bytes, &frame, &ABOUT), false, read);
}

#[test]
fn ascii_grids() {
    let (raster, frame) = land();
    let file = ascii_grid::encode(&raster, &frame);
    survive("ascii", &file, false, |bytes| ascii_grid::decode(bytes, &limits()).ok());
}

#[test]
fn grey_pngs_and_their_sidecars() {
    let (raster, frame) = land();
    let file = png16::encode(&raster, &frame, &ABOUT);
    survive("png16", &file.bytes, true, |bytes| png16::decode(bytes, Some(&file.sidecar), &limits()).ok());
    survive("sidecar of png16", &file.sidecar.to_json(), false, |json| {
        png16::decode(&file.bytes, Some(&Sidecar::parse(json).ok()?), &limits()).ok()
    });
}

#[test]
fn bare_samples_and_their_sidecars() {
    let (raster, frame) = land();
    for depth in [Depth::R16, Depth::R32] {
        let file = raw::encode(&raster, depth, &frame, &ABOUT);
        survive("raw", &file.bytes, false, |bytes| raw::decode(bytes, depth, &file.sidecar, &limits()).ok());
        survive("sidecar of raw", &file.sidecar.to_json(), false, |json| {
            raw::decode(&file.bytes, depth, &Sidecar::parse(json).ok()?, &limits()).ok()
        });
    }
}

#[test]
fn drawings_of_every_colour() {
    use png::{BitDepth, ColorType};
    for (color, depth) in [
        (ColorType::Grayscale, BitDepth::One),
        (ColorType::Grayscale, BitDepth::Sixteen),
        (ColorType::GrayscaleAlpha, BitDepth::Eight),
        (ColorType::Rgb, BitDepth::Eight),
        (ColorType::Rgba, BitDepth::Sixteen),
        (ColorType::Indexed, BitDepth::Two),
        (ColorType::Indexed, BitDepth::Four),
        (ColorType::Indexed, BitDepth::Eight),
    ] {
        let mut file = Vec::new();
        let mut encoder = png::Encoder::new(&mut file, 9, 7);
        encoder.set_color(color);
        encoder.set_depth(depth);
        if color == ColorType::Indexed {
            encoder.set_palette((0..12).collect::<Vec<u8>>());
            encoder.set_trns(vec![0, 128, 255]);
        }
        let mut writer = encoder.write_header().unwrap();
        let line = (9 * color.samples() * depth as usize).div_ceil(8);
        let pixels: Vec<u8> =
            (0..line * 7).map(|i| if depth as u8 >= 8 { (i % 4) as u8 } else { 0x1b }).collect();
        writer.write_image_data(&pixels).unwrap();
        writer.finish().unwrap();
        survive(&format!("{color:?} {depth:?}"), &file, true, |bytes| drawing::decode(bytes, &limits()).ok());
    }
    let (raster, _) = land();
    let file = png8::encode(&raster.map(|v| [v as u8; 3]));
    survive("relief", &file, true, |bytes| drawing::decode(bytes, &limits()).ok());
}

#[test]
fn features() {
    let text = br#"{"type":"FeatureCollection","features":[
        {"type":"Feature","properties":{"name":"a \u00e9","ele":12.5,"wet":true,"none":null,"tags":[1,{"a":2}]},
         "geometry":{"type":"MultiPolygon","coordinates":[[[[0,0],[9,0],[9,9],[0,0]],[[1,1],[2,1],[2,2],[1,1]]],[[[5,5],[6,5],[6,6]]]]}},
        {"type":"Feature","properties":{"ele":"7"},"geometry":{"type":"GeometryCollection","geometries":[
         {"type":"Point","coordinates":[1,2,3]},{"type":"LineString","coordinates":[[0,0],[1e3,-1.5]]}]}}]}"#;
    survive("geojson", text, false, |bytes| geojson::decode(bytes, &limits()).ok());
    let text = b"id;Easting;Northing;Ele;kind\n7;1.5;2e3;-4;\"peak\"\n8;0;0;;\n# note\n9;1;2;3;x;y;z\n";
    survive("table", text, false, |bytes| xyz::decode(bytes, &limits()).ok());
}
