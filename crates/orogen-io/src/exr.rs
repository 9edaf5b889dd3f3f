//! OpenEXR: pictures of 32-bit floats in real units, for heights and vector displacement.
//!
//! Written by hand, as what is needed is small (scan lines, three channels, ZIP) and the packer is here already; the `exr`
//! crate reads the files back in tests. Three channels even where one would do: Godot refuses grey ones.

use std::io::{self, Seek, SeekFrom, Write};

use orogen_core::{Frame, Raster};
use rayon::prelude::*;

use crate::about::{About, SOFTWARE};
use crate::deflate::zlib;
use crate::folder::Written;
use crate::sidecar::Sidecar;
use crate::watched::check;

/// Lines that ZIP compression packs together.
const LINES: usize = 16;
/// Blocks packed at a time: bounds the memory, and is enough for any number of cores.
const BATCH: usize = 64;
/// Effort of packing; above it files of land get hardly smaller.
const LEVEL: u32 = 4;
/// Channels as the file orders them, by name.
const CHANNELS: [(&[u8], usize); 3] = [(b"B", 2), (b"G", 1), (b"R", 0)];

/// Writes rasters of one shape as the red, green and blue of a picture; row 0 is north. Holes become `hole`, as the programs
/// that read heights know none.
///
/// Holds a batch of packed blocks in memory, never the whole file.
///
/// # Errors
/// When writing fails, or a side is longer than the format allows (2³⁰ samples).
pub fn write(
    channels: [&Raster<f32>; 3],
    hole: f32,
    about: &About<'_>,
    out: &mut (impl Write + Seek),
) -> io::Result<()> {
    let (cols, rows) = (channels[0].cols(), channels[0].rows());
    if cols.max(rows) > 1 << 30 {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            format!("{cols} x {rows} samples are too many for an EXR"),
        ));
    }
    let start = out.stream_position()?;
    out.write_all(&header(cols, rows, about))?;
    let table = out.stream_position()?;
    let blocks = rows.div_ceil(LINES);
    let mut offsets: Vec<u64> = Vec::with_capacity(blocks);
    io::copy(&mut io::Read::take(io::repeat(0), 8 * blocks as u64), out)?;
    let mut at = table + 8 * blocks as u64 - start;
    for batch in (0..blocks).collect::<Vec<_>>().chunks(BATCH) {
        check(out)?;
        let packed: Vec<Vec<u8>> = batch.par_iter().map(|&block| pack(&raw(channels, block, hole))).collect();
        for (block, data) in batch.iter().zip(packed) {
            offsets.push(at);
            out.write_all(&((block * LINES) as i32).to_le_bytes())?;
            out.write_all(&(data.len() as i32).to_le_bytes())?;
            out.write_all(&data)?;
            at += 8 + data.len() as u64;
        }
    }
    out.seek(SeekFrom::Start(table))?;
    for offset in offsets {
        out.write_all(&offset.to_le_bytes())?;
    }
    out.seek(SeekFrom::Start(start + at))?;
    Ok(())
}

/// What stands beside a file: where it lies, and what its numbers mean.
#[must_use]
pub fn sidecar(frame: &Frame, about: &About<'_>, range: Option<(f64, f64)>, written: &Written) -> Sidecar {
    Sidecar {
        min: range.map(|(min, _)| min),
        max: range.map(|(_, max)| max),
        ..Sidecar::about(frame, about, 32, &written.sha256)
    }
}

fn header(cols: usize, rows: usize, about: &About<'_>) -> Vec<u8> {
    let mut out = Vec::new();
    out.extend(20_000_630u32.to_le_bytes());
    out.extend(2u32.to_le_bytes());
    let mut attribute = |name: &str, kind: &str, value: &[u8]| {
        out.extend([name.as_bytes(), b"\0", kind.as_bytes(), b"\0"].concat());
        out.extend((value.len() as u32).to_le_bytes());
        out.extend(value);
    };
    let ints = |values: &[i32]| values.iter().flat_map(|v| v.to_le_bytes()).collect::<Vec<u8>>();
    let mut list = Vec::new();
    for (name, _) in CHANNELS {
        // 32-bit float, not perceptual, every sample stored.
        list.extend([name, b"\0", &ints(&[2, 0, 1, 1])].concat());
    }
    list.push(0);
    let window = ints(&[0, 0, cols as i32 - 1, rows as i32 - 1]);
    attribute("channels", "chlist", &list);
    attribute("comments", "string", comment(about).as_bytes());
    attribute("compression", "compression", &[3]);
    attribute("dataWindow", "box2i", &window);
    attribute("displayWindow", "box2i", &window);
    attribute("lineOrder", "lineOrder", &[0]);
    attribute("pixelAspectRatio", "float", &1f32.to_le_bytes());
    attribute("screenWindowCenter", "v2f", &[0; 8]);
    attribute("screenWindowWidth", "float", &1f32.to_le_bytes());
    attribute("software", "string", SOFTWARE.as_bytes());
    out.push(0);
    out
}

fn comment(about: &About<'_>) -> String {
    let unit = if about.unit.is_empty() { "plain numbers" } else { about.unit };
    let seed = if about.seed.is_empty() { String::new() } else { format!(", seed {:?}", about.seed) };
    format!("{} in {unit}, row 0 north{seed}", about.layer)
}

/// The lines of a block, each channel by channel.
fn raw(channels: [&Raster<f32>; 3], block: usize, hole: f32) -> Vec<u8> {
    let rows = block * LINES..((block + 1) * LINES).min(channels[0].rows());
    let mut bytes = Vec::with_capacity(rows.len() * channels[0].cols() * 12);
    for row in rows {
        for (_, channel) in CHANNELS {
            let values = channels[channel].row(row).iter();
            bytes.extend(values.flat_map(|v| if v.is_finite() { *v } else { hole }.to_le_bytes()));
        }
    }
    bytes
}

/// Packs a block as the format wants it: bytes at even places first, then those at odd ones, then differences.
fn pack(raw: &[u8]) -> Vec<u8> {
    let mut bytes: Vec<u8> = raw.iter().step_by(2).chain(raw.iter().skip(1).step_by(2)).copied().collect();
    let mut last = bytes.first().copied().unwrap_or(0);
    for byte in bytes.iter_mut().skip(1) {
        let here = *byte;
        *byte = here.wrapping_sub(last).wrapping_add(128);
        last = here;
    }
    let packed = zlib(&bytes, LEVEL);
    // A block that would grow is stored as it is; readers tell by its size.
    if packed.len() < raw.len() { packed } else { raw.to_vec() }
}
