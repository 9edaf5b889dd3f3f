//! The layout of a cloud-optimised GeoTIFF: a program that wants a part of it, or a small picture of all, reads a few pieces.
//!
//! ```text
//! header │ layout note │ directory of the image │ of its half │ of its quarter … │ tiles of the smallest … │ tiles of the image
//! ```
//!
//! Tiles are written as they are packed, so only some are in memory at a time, and the directories, whose size is known before
//! their numbers are, are filled in last.

use std::io::{self, Seek, SeekFrom, Write};

use orogen_core::{Kind, Raster, Sample};
use rayon::prelude::*;

use super::container::{self, Chunk, Field};
use super::tag;
use crate::deflate::Packer;
use crate::watched::check;

/// Samples along the side of a tile, at most: 256 KiB of floats stay in the cache of a core.
const TILE: usize = 256;

/// Tiles that are packed before they are written.
const BATCH: usize = 64;

/// Deflate level: most of what higher levels gain on terrain is the predictor's doing already.
const LEVEL: u32 = 1;

/// What GDAL reads of a file's layout before anything else. Each tile is preceded by its length and followed by its last four
/// bytes again, so that it can be read whole without its directory. The space leaves room for "YES" in place of "NO".
const LAYOUT: &str = "LAYOUT=IFDS_BEFORE_DATA\nBLOCK_ORDER=ROW_MAJOR\nBLOCK_LEADER=SIZE_AS_UINT4\n\
                      BLOCK_TRAILER=LAST_4_BYTES_REPEATED\nKNOWN_INCOMPATIBLE_EDITION=NO\n ";

/// A row of a tile as it is packed: whole numbers as they are; floats as byte planes, most significant first, each byte as the
/// difference from the one before, the form that packs best.
fn fill<T: Sample>(row: &[T], hole: Option<T>, out: &mut [u8]) {
    if T::KIND != Kind::F32 {
        return lay_out(row, out);
    }
    let floats: &[f32] = bytemuck::cast_slice(row);
    let nodata = hole.map_or(f32::NAN, bytemuck::cast);
    let (cols, mut last) = (row.len(), 0u8);
    for plane in 0..4 {
        for (out, &value) in out[plane * cols..][..cols].iter_mut().zip(floats) {
            let value = if value.is_nan() { nodata } else { value };
            let byte = value.to_be_bytes()[plane];
            *out = byte.wrapping_sub(last);
            last = byte;
        }
    }
}

/// A row in the order of the file.
pub(super) fn lay_out<T: Sample>(row: &[T], out: &mut [u8]) {
    out.copy_from_slice(bytemuck::cast_slice(row));
    if cfg!(target_endian = "big") {
        out.chunks_mut(size_of::<T>()).for_each(<[u8]>::reverse);
    }
}

fn is_hole<T: Sample>(value: T, hole: Option<T>) -> bool {
    let number: f64 = value.into();
    number.is_nan() || Some(value) == hole
}

/// The mean of up to four neighbours, holes left out; of floats and weights, as there is none of ids.
fn mean<T: Sample>(block: &[T], hole: Option<T>) -> T {
    let (mut sum, mut count) = (0.0, 0u32);
    for &value in block.iter().filter(|v| !is_hole(**v, hole)) {
        let number: f64 = value.into();
        sum += number;
        count += 1;
    }
    let mean = sum / f64::from(count);
    match T::KIND {
        _ if count == 0 => block[0],
        Kind::F32 => bytemuck::cast(mean as f32),
        Kind::Weight => bytemuck::cast(mean.round() as u8),
        Kind::U8 | Kind::U16 | Kind::U32 => most_frequent(block, hole),
    }
}

/// The id that most of a block has, the first of those that are equally frequent; a hole only where all are.
fn most_frequent<T: Sample>(block: &[T], hole: Option<T>) -> T {
    let (mut best, mut votes) = (block[0], 0);
    for &value in block.iter().filter(|v| !is_hole(**v, hole)) {
        let count = block.iter().filter(|&&other| other == value).count();
        if count > votes {
            (best, votes) = (value, count);
        }
    }
    best
}

/// A raster of half as many columns and rows, rounded up.
fn halved<T: Sample>(raster: &Raster<T>, hole: Option<T>, measured: bool) -> Raster<T> {
    let (cols, rows) = (raster.cols(), raster.rows());
    let mut values = vec![raster.as_slice()[0]; cols.div_ceil(2) * rows.div_ceil(2)];
    values.par_chunks_mut(cols.div_ceil(2)).enumerate().for_each(|(row, out)| {
        let (north, south) = (raster.row(2 * row), raster.row((2 * row + 1).min(rows - 1)));
        let both = 2 * row + 1 < rows;
        for (col, out) in out.iter_mut().enumerate() {
            let (west, east) = (2 * col, (2 * col + 2).min(cols));
            let mut block = [north[west]; 4];
            let width = east - west;
            block[..width].copy_from_slice(&north[west..east]);
            let mut count = width;
            if both {
                block[width..2 * width].copy_from_slice(&south[west..east]);
                count += width;
            }
            let block = &block[..count];
            *out = if measured { mean(block, hole) } else { most_frequent(block, hole) };
        }
    });
    // As many values as the shape has, and a raster is never empty.
    Raster::from_vec(cols.div_ceil(2), rows.div_ceil(2), values).unwrap_or_else(|| raster.clone())
}

/// Columns and rows of the tiles of an image, and how many there are across and down: as few samples as can be lie beyond its
/// edge, which matters for sides of 2^n + 1 samples.
#[derive(Clone, Copy)]
struct Tiling {
    size: [usize; 2],
    count: [usize; 2],
}

impl Tiling {
    fn of<T>(raster: &Raster<T>) -> Self {
        let shape = [raster.cols(), raster.rows()];
        // The format wants multiples of 16.
        let size = shape.map(|n| n.div_ceil(n.div_ceil(TILE)).next_multiple_of(16));
        Self { size, count: [0, 1].map(|axis| shape[axis].div_ceil(size[axis])) }
    }

    fn tiles(&self) -> usize {
        self.count[0] * self.count[1]
    }
}

/// What the tags say of the samples of every image of the file.
pub(super) struct Samples<'a, T> {
    /// What stands for a hole.
    pub hole: Option<T>,
    /// Whether they are measured, so that a mean can be taken; of ids the most frequent is.
    pub measured: bool,
    /// Fields of the image itself besides those of its size and tiles.
    pub of_image: &'a dyn Fn() -> Vec<(u16, Field)>,
    /// The same for its smaller copies.
    pub of_copies: &'a dyn Fn() -> Vec<(u16, Field)>,
}

/// Writes a raster, and smaller copies of it down to one tile.
pub(super) fn write<T: Sample>(
    out: &mut (impl Write + Seek),
    raster: &Raster<T>,
    samples: &Samples<'_, T>,
) -> io::Result<()> {
    check(out)?;
    let mut copies: Vec<Raster<T>> = Vec::new();
    loop {
        let last = copies.last().unwrap_or(raster);
        if last.cols().max(last.rows()) <= TILE {
            break;
        }
        let next = halved(last, samples.hole, samples.measured);
        copies.push(next);
        check(out)?;
    }
    let images: Vec<&Raster<T>> = std::iter::once(raster).chain(&copies).collect();
    let tilings: Vec<Tiling> = images.iter().map(|image| Tiling::of(image)).collect();
    let mut chunks: Vec<Vec<Chunk>> =
        tilings.iter().map(|tiling| vec![Chunk::default(); tiling.tiles()]).collect();
    // What cannot be packed grows by a few bytes in some thousand.
    let most: u64 =
        tilings.iter().map(|t| (t.tiles() * (t.size[0] * t.size[1] * size_of::<T>() + 1024)) as u64).sum();
    let big = container::needs_wide_offsets(most + most / 256);
    let head = |chunks: &[Vec<Chunk>]| {
        let directories: Vec<container::Image<'_>> = images
            .iter()
            .zip(&tilings)
            .zip(chunks)
            .enumerate()
            .map(|(i, ((image, tiling), chunks))| (fields(image, *tiling, i > 0, samples), &chunks[..]))
            .collect();
        container::head(big, &layout_note(), &directories)
    };
    let start = out.stream_position()?;
    let room = head(&chunks);
    let mut at = room.len() as u64;
    out.write_all(&room)?;
    let hole = samples.hole;
    for (image, (tiling, chunks)) in images.iter().zip(tilings.iter().zip(&mut chunks)).rev() {
        for (batch, chunks) in chunks.chunks_mut(BATCH).enumerate() {
            check(out)?;
            let packed: Vec<Vec<u8>> = (0..chunks.len())
                .into_par_iter()
                .map_init(
                    || (Packer::new(LEVEL), Vec::new(), Vec::new()),
                    |(packer, row, raw), i| {
                        lay_out_tile(image, *tiling, batch * BATCH + i, hole, row, raw);
                        packer.zlib(raw)
                    },
                )
                .collect();
            for (chunk, tile) in chunks.iter_mut().zip(&packed) {
                let length = u32::try_from(tile.len()).map_err(io::Error::other)?;
                out.write_all(&length.to_le_bytes())?;
                out.write_all(tile)?;
                // A zlib stream is never shorter than its header and its checksum.
                out.write_all(&tile[tile.len() - 4..])?;
                *chunk = Chunk { at: at + 4, length: length.into() };
                at += u64::from(length) + 8;
            }
        }
    }
    out.seek(SeekFrom::Start(start))?;
    out.write_all(&head(&chunks))?;
    out.seek(SeekFrom::Start(start + at))?;
    Ok(())
}

fn layout_note() -> Vec<u8> {
    format!("GDAL_STRUCTURAL_METADATA_SIZE={:06} bytes\n{LAYOUT}", LAYOUT.len()).into_bytes()
}

/// The fields of one image, in the order of their tags.
fn fields<T: Sample>(
    image: &Raster<T>,
    tiling: Tiling,
    is_copy: bool,
    samples: &Samples<'_, T>,
) -> Vec<(u16, Field)> {
    /// A smaller copy of another image.
    const REDUCED: u64 = 1;
    let [width, height] = tiling.size.map(|n| Field::Words(vec![n as u64]));
    let mut fields = if is_copy { (samples.of_copies)() } else { (samples.of_image)() };
    fields.extend([
        (tag::SUBFILE, Field::Words(vec![if is_copy { REDUCED } else { 0 }])),
        (tag::WIDTH, Field::Words(vec![image.cols() as u64])),
        (tag::HEIGHT, Field::Words(vec![image.rows() as u64])),
        (tag::TILE_WIDTH, width),
        (tag::TILE_HEIGHT, height),
        (tag::TILE_OFFSETS, Field::ChunkOffsets),
        (tag::TILE_BYTES, Field::ChunkLengths),
    ]);
    fields.sort_by_key(|(tag, _)| *tag);
    fields
}

/// The bytes of a tile; beyond the edge of the image its last samples go on.
fn lay_out_tile<T: Sample>(
    image: &Raster<T>,
    tiling: Tiling,
    tile: usize,
    hole: Option<T>,
    row: &mut Vec<T>,
    raw: &mut Vec<u8>,
) {
    let [cols, rows] = tiling.size;
    let (left, top) = (tile % tiling.count[0] * cols, tile / tiling.count[0] * rows);
    raw.resize(cols * rows * size_of::<T>(), 0);
    for (i, out) in raw.chunks_exact_mut(cols * size_of::<T>()).enumerate() {
        let line = image.row((top + i).min(image.rows() - 1));
        let part = &line[left..(left + cols).min(line.len())];
        if part.len() == cols {
            fill(part, hole, out);
        } else {
            row.clear();
            row.extend_from_slice(part);
            row.resize(cols, line[line.len() - 1]);
            fill(row, hole, out);
        }
    }
}

#[cfg(test)]
mod tests {
    use orogen_core::Weight;

    use super::*;

    #[test]
    fn measured_values_are_averaged_and_ids_are_not() {
        let nan = f32::NAN;
        let heights = Raster::from_vec(3, 3, vec![1.0, 3.0, 5.0, 4.0, nan, nan, 9.0, 10.0, nan]).unwrap();
        let half = halved(&heights, Some(-9999.0), true);
        assert_eq!(half.as_slice()[..3], [8.0 / 3.0, 5.0, 9.5]);
        assert!(half.as_slice()[3].is_nan());
        let ids = Raster::from_vec(3, 2, vec![7u8, 9, 2, 9, 0, 0]).unwrap();
        assert_eq!(halved(&ids, None, false).as_slice(), [9, 2]);
        assert_eq!(halved(&ids, Some(0), false).as_slice(), [9, 2]);
        let basins = Raster::from_vec(2, 2, vec![70_000u32, 80_000, 80_000, 0]).unwrap();
        assert_eq!(halved(&basins, None, false).as_slice(), [80_000]);
        let weights = Raster::from_vec(2, 2, [0, 10, 255, 6].map(Weight).to_vec()).unwrap();
        assert_eq!(halved(&weights, None, true).as_slice(), [Weight(68)]);
    }

    #[test]
    fn tiles_of_usual_sides_hold_little_beyond_the_edge() {
        for side in [129, 257, 513, 1025, 2049, 4097, 8193] {
            let tiling = Tiling::of(&Raster::filled(side, 1, 0u8));
            let [across, _] = tiling.count;
            assert!(tiling.size[0].is_multiple_of(16) && tiling.size[0] <= TILE + 16, "{side}");
            assert!(across * tiling.size[0] >= side && (across - 1) * tiling.size[0] < side, "{side}");
            assert!((across * tiling.size[0]) as f64 <= 1.13 * side as f64, "{side}");
        }
    }
}
