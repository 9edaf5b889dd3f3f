//! Which idea the colours of land follow.

use orogen_core::{Raster, Seed, Terrain, math};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::palette::Colors;
use crate::color::{Light, mix};

/// What the colours of land follow from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Coloring {
    /// What is known of the land: its materials, else its biomes, else its height with rock on steep ground.
    #[default]
    Natural,
    /// Height alone: a strip of colours from low to high.
    Altitude,
    /// Height in stripes, light and dark by turns.
    Stripes,
    /// A pattern laid over the map, which knows nothing of the land.
    Pattern,
    /// Height and slope: meadows and snow lie where it is gentle, rock shows where it is steep.
    AltitudeAndSlope,
}

/// Stripes from the lowest land to the highest.
const STRIPES: f32 = 16.0;

impl Coloring {
    /// The colour of ground at a share of the height and with a slope, for all that need nothing else.
    #[inline]
    pub(super) fn color(self, colors: &Colors, top: f32, t: f32, steep: f32, pattern: f32) -> Light {
        match self {
            Self::Natural => {
                let bare = math::smoothstep(colors.bare[0], colors.bare[1], steep);
                mix(colors.ramp.at(t * top), colors.rock, colors.bareness * bare)
            }
            Self::Altitude => colors.ramp.at(t * top),
            Self::Stripes => {
                let stripe = (t * STRIPES).floor().min(STRIPES - 1.0);
                let dark = if stripe as i32 % 2 == 0 { 1.0 } else { 0.62 };
                colors.ramp.at((stripe + 0.5) / STRIPES * top).map(|v| v * dark)
            }
            Self::Pattern => colors.ramp.at(pattern),
            Self::AltitudeAndSlope => {
                // The higher, the gentler ground has to be to hold soil.
                let holds = math::lerp(0.8, 0.4, t);
                mix(colors.ramp.at(t * top), colors.rock, math::smoothstep(holds, 1.6 * holds, steep))
            }
        }
    }
}

/// Waves of the pattern along the longer side of the world.
const WAVES: f64 = 12.0;

/// A pattern over the map from 0 to 1: four octaves of values at the points of a lattice, smooth in between.
pub(super) fn pattern(terrain: &Terrain, coloring: Coloring) -> Option<Raster<f32>> {
    if coloring != Coloring::Pattern {
        return None;
    }
    let frame = terrain.frame();
    let per_m = WAVES / frame.size_m()[0].max(frame.size_m()[1]);
    let octave = |seed: Seed, x: f64, y: f64| {
        let (i, j) = (x.floor(), y.floor());
        let [fx, fy] = [x - i, y - j].map(|f| f * f * (3.0 - 2.0 * f));
        let at = |di: i64, dj: i64| seed.unit2(i as i64 + di, j as i64 + dj);
        let along = |dj: i64| at(0, dj) + (at(1, dj) - at(0, dj)) * fx;
        along(0) + (along(1) - along(0)) * fy
    };
    Some(Raster::from_fn(frame.cols(), frame.rows(), |col, row| {
        let (x, y) = (frame.x_m(col) * per_m, frame.y_m(row) * per_m);
        let octaves = (0..4u32).map(|k| {
            let fine = f64::from(1 << k);
            octave(Seed(u64::from(k)), x * fine, y * fine) / fine
        });
        (octaves.sum::<f64>() / 1.875) as f32
    }))
}
