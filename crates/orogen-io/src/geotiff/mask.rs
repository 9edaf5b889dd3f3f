//! The mask that GDAL keeps inside a GeoTIFF: a second image of one bit (or one byte) a sample, 0 where a sample is a hole.

use std::collections::BTreeSet;

use super::container::Directory;
use super::decode::{Image, Samples, unsupported};
use super::tag;
use crate::error::FormatError;
use crate::limits::Limits;

/// Directories that are looked through; files have one for each smaller copy of the image and its mask.
const MOST_DIRECTORIES: usize = 256;

/// Bits of [`tag::SUBFILE`]: a smaller copy of another image, and a mask.
const REDUCED: u64 = 1;
const MASK: u64 = 4;

/// Makes holes of the samples that the mask of an image leaves out, where it has one.
pub(super) fn apply(
    image: &Directory<'_>,
    [cols, rows]: [usize; 2],
    limits: &Limits,
    heights: &mut [f32],
) -> Result<(), FormatError> {
    let Some(directory) = find(image, [cols, rows]) else { return Ok(()) };
    let bits = directory.whole_number(tag::BITS, Some(1))?;
    let bands = directory.whole_number(tag::SAMPLES_PER_PIXEL, Some(1))?;
    let planar = directory.whole_number(tag::PLANAR, Some(1))? == 2;
    let per_byte = match bits {
        1 if bands == 1 || planar => 8,
        8 => 1,
        _ => {
            let found = format!("a mask of {bands} interleaved bands of {bits} bits");
            return Err(unsupported(found, "masks of one band of 1 or 8 bits"));
        }
    };
    let samples = Samples::of_mask(bands as usize, planar, per_byte);
    let mask = Image::lay_out(&directory, &samples, limits)?.heights()?;
    let bytes_across = cols.div_ceil(per_byte);
    for (heights, mask) in heights.chunks_exact_mut(cols).zip(mask.chunks_exact(bytes_across)) {
        for (col, height) in heights.iter_mut().enumerate() {
            let byte = mask[col / per_byte] as u8;
            let is_ground = if per_byte == 1 { byte > 0 } else { byte >> (7 - col % 8) & 1 == 1 };
            if !is_ground {
                *height = f32::NAN;
            }
        }
    }
    Ok(())
}

/// The mask of an image of this size, among the directories after its own.
fn find<'a>(image: &Directory<'a>, shape: [usize; 2]) -> Option<Directory<'a>> {
    let mut seen = BTreeSet::new();
    let mut next = image.next();
    while let Some(directory) =
        next.filter(|found| seen.insert(found.start) && seen.len() <= MOST_DIRECTORIES)
    {
        let number = |tag| directory.whole_number(tag, Some(0)).unwrap_or(0);
        let is_mask = number(tag::SUBFILE) & (MASK | REDUCED) == MASK;
        if is_mask && [number(tag::WIDTH), number(tag::HEIGHT)] == shape.map(|n| n as u64) {
            return Some(directory);
        }
        next = directory.next();
    }
    None
}
