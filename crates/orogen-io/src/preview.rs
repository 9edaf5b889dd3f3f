//! A single layer as a picture, for manuals and quick looks.

use orogen_core::{LayerName, Raster};

use crate::color::{Display, Ramp};
use crate::png8::Picture;
use crate::relief;

/// Colours over a range of values; lightness rises or falls evenly, so that a grey print still reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Palette {
    /// Black to white.
    Grey,
    /// Night blue over teal to pale yellow: for any quantity.
    Depth,
    /// Cold blue over pale to warm red: for temperatures and differences.
    Warmth,
    /// Dry ochre to wet blue-green.
    Wetness,
}

impl Palette {
    /// The palette that suits a layer.
    #[must_use]
    pub fn of(layer: &LayerName) -> Self {
        match layer.as_str().split('.').next().unwrap_or_default() {
            "hillshade" | "mask" | "material" => Self::Grey,
            "temperature" => Self::Warmth,
            "moisture" | "water" => Self::Wetness,
            _ => Self::Depth,
        }
    }

    fn ramp(self) -> Ramp {
        Ramp::new(match self {
            Self::Grey => &[(0.0, [0, 0, 0]), (1.0, [255, 255, 255])],
            Self::Depth => &[
                (0.0, [24, 22, 58]),
                (0.25, [48, 66, 122]),
                (0.5, [38, 130, 142]),
                (0.75, [112, 190, 110]),
                (1.0, [248, 238, 150]),
            ],
            Self::Warmth => &[
                (0.0, [34, 62, 128]),
                (0.25, [96, 150, 200]),
                (0.5, [240, 238, 226]),
                (0.75, [224, 144, 92]),
                (1.0, [140, 34, 42]),
            ],
            Self::Wetness => &[
                (0.0, [240, 226, 188]),
                (0.35, [204, 204, 140]),
                (0.65, [96, 166, 148]),
                (1.0, [22, 70, 112]),
            ],
        })
    }
}

/// What a hole looks like.
const HOLE: [u8; 3] = [238, 232, 218];

/// A layer in colours over `range`, or over its own range when `None`; holes are paper-coloured.
#[must_use]
pub fn render(raster: &Raster<f32>, palette: Palette, range: Option<(f32, f32)>) -> Picture {
    let (low, high) = range.or_else(|| raster.range()).unwrap_or((0.0, 1.0));
    let scale = if high > low { 1.0 / (high - low) } else { 0.0 };
    let (ramp, display) = (palette.ramp(), Display::new());
    raster.map(|v| if v.is_nan() { HOLE } else { display.srgb(ramp.at((v - low) * scale)) })
}

/// A layer of biome numbers in the colours of the relief map.
#[must_use]
pub fn render_biomes(raster: &Raster<u8>) -> Picture {
    raster.map(|id| relief::biome_color(id).unwrap_or(HOLE))
}
