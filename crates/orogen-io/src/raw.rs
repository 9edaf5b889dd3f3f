//! Bare samples: `r16` (unsigned 16-bit, little-endian) and `r32` (32-bit floats, little-endian), each with a sidecar.

use orogen_core::{Elevation, Frame, Raster};

use crate::about::About;
use crate::error::FormatError;
use crate::limits::Limits;
use crate::sidecar::{Levels, Sidecar, WithSidecar};

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
    let bytes: Vec<u8> = match depth {
        Depth::R16 => raster.as_slice().iter().flat_map(|&v| levels.level(v).to_le_bytes()).collect(),
        Depth::R32 => raster.as_slice().iter().flat_map(|v| v.to_le_bytes()).collect(),
    };
    let mut sidecar = Sidecar::about(raster, frame, about, 8 * depth.bytes() as u32, &bytes);
    levels.describe(&mut sidecar);
    sidecar.byte_order = String::from("little endian");
    match depth {
        Depth::R16 => sidecar.warning = levels.warning(about),
        // Floats are the heights themselves.
        Depth::R32 => (sidecar.hole, sidecar.sea_level_grey) = (None, None),
    }
    WithSidecar { bytes, sidecar }
}
