//! Bare samples: `r16` (unsigned 16-bit, little-endian) and `r32` (32-bit floats, little-endian), each with a sidecar.

use std::io::{self, Write};

use orogen_core::{Elevation, Frame, Raster};
use sha2::{Digest as _, Sha256};

use crate::about::About;
use crate::error::FormatError;
use crate::levels::Levels;
use crate::limits::Limits;
use crate::png8::{by_rows, in_memory};
use crate::sidecar::{Sidecar, WithSidecar};

const FORMAT: &str = "raw height file";

/// What the samples are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Depth {
    /// Whole numbers from 0 to 65535 over the sidecar's range.
    R16,
    /// Floats: the values themselves.
    R32,
}

impl Depth {
    fn bytes(self) -> u64 {
        match self {
            Self::R16 => 2,
            Self::R32 => 4,
        }
    }

    /// The depth that a sidecar gives in `bits`.
    ///
    /// # Errors
    /// When it gives none or another.
    pub fn of(sidecar: &Sidecar) -> Result<Self, FormatError> {
        match sidecar.bits {
            Some(16) => Ok(Self::R16),
            Some(32) => Ok(Self::R32),
            Some(other) => Err(FormatError::Sidecar(format!("bits is {other}; must be 16 or 32"))),
            None => Err(FormatError::Sidecar(String::from("bits is missing; a .raw file needs 16 or 32"))),
        }
    }
}

/// Heights from bare samples and what the sidecar says of them; floats that are not finite are holes.
///
/// # Errors
/// When the sidecar lacks size or range, or they do not fit the number of bytes.
pub fn decode(
    bytes: &[u8],
    depth: Depth,
    sidecar: &Sidecar,
    limits: &Limits,
) -> Result<Elevation, FormatError> {
    let (Some(cols), Some(rows)) = (sidecar.cols, sidecar.rows) else {
        return Err(FormatError::Sidecar(String::from("cols or rows is missing")));
    };
    let samples = limits.samples(FORMAT, cols, rows)?;
    let wanted = samples as u64 * depth.bytes();
    if bytes.len() as u64 != wanted {
        return Err(FormatError::Sidecar(format!(
            "{cols} x {rows} samples of {} bits take {wanted} bytes, but the file has {}",
            8 * depth.bytes(),
            bytes.len()
        )));
    }
    limits.memory(samples, wanted)?;
    let heights: Vec<f32> = match depth {
        Depth::R16 => {
            sidecar.range()?;
            bytes.chunks_exact(2).map(|b| sidecar.value(u16::from_le_bytes([b[0], b[1]]), u16::MAX)).collect()
        }
        Depth::R32 => bytes
            .chunks_exact(4)
            .map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]]))
            .map(|v| if v.is_finite() { v } else { f32::NAN })
            .collect(),
    };
    let height = Raster::from_vec(cols as usize, rows as usize, heights)
        .ok_or_else(|| FormatError::broken(FORMAT, "its grid is empty"))?;
    Ok(Elevation { height, spacing_m: sidecar.spacing_m, north_west_m: sidecar.north_west_m })
}

/// Bare samples of a layer. Holes are NaN in `r32`; in `r16` they become 0, and everything else then starts at 1.
#[must_use]
pub fn encode(raster: &Raster<f32>, depth: Depth, frame: &Frame, about: &About<'_>) -> WithSidecar {
    let levels = Levels::of(raster);
    let bytes = in_memory(|out| match depth {
        Depth::R16 => write_r16(raster, &levels, out),
        Depth::R32 => write_r32(raster, out),
    });
    let sidecar = sidecar(frame, about, depth, &levels, &Sha256::digest(&bytes).into());
    WithSidecar { bytes, sidecar }
}

/// Writes bare 16-bit samples, many rows at a time.
///
/// # Errors
/// When `out` takes no more.
pub fn write_r16<T: Copy + Into<f64> + Sync>(
    raster: &Raster<T>,
    levels: &Levels,
    out: &mut impl Write,
) -> io::Result<()> {
    let fill = |row: &[T], bytes: &mut [u8]| {
        for (out, &value) in bytes.as_chunks_mut::<2>().0.iter_mut().zip(row) {
            *out = levels.level(value.into()).to_le_bytes();
        }
    };
    by_rows(raster, 2, fill, |piece| out.write_all(piece))
}

/// Writes bare floats, many rows at a time.
///
/// # Errors
/// When `out` takes no more.
pub fn write_r32(raster: &Raster<f32>, out: &mut impl Write) -> io::Result<()> {
    let fill = |row: &[f32], bytes: &mut [u8]| {
        for (out, value) in bytes.as_chunks_mut::<4>().0.iter_mut().zip(row) {
            *out = value.to_le_bytes();
        }
    };
    by_rows(raster, 4, fill, |piece| out.write_all(piece))
}

/// What stands beside a file that was written so.
#[must_use]
pub fn sidecar(
    frame: &Frame,
    about: &About<'_>,
    depth: Depth,
    levels: &Levels,
    sha256: &[u8; 32],
) -> Sidecar {
    let mut sidecar = Sidecar::about(frame, about, 8 * depth.bytes() as u32, sha256);
    levels.describe(&mut sidecar);
    sidecar.byte_order = String::from("little endian");
    match depth {
        Depth::R16 => sidecar.warning = levels.warning(about),
        // Floats are the heights themselves.
        Depth::R32 => (sidecar.hole, sidecar.sea_level_grey) = (None, None),
    }
    sidecar
}
