//! What follows a line: ridge, canyon; and across which profile, with that of rivers.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::fractal::{Fractal, Grain};
use super::peaks::mountain;
use super::round::{cubic, level_out, wandering};
use super::spline::{Near, Spline, Values};
use super::trace::Trace;
use super::{half, one};

/// A point of a ridge.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RidgePoint {
    /// Easting.
    #[schemars(range(min = -1e9, max = 1e9), extend("x-unit" = "m"))]
    pub x_m: f64,
    /// Northing.
    #[schemars(range(min = -1e9, max = 1e9), extend("x-unit" = "m"))]
    pub y_m: f64,
    /// How high the ridge stands above the land here; the height of the whole ridge when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = -20_000.0, max = 20_000.0), extend("x-unit" = "m"))]
    pub height_m: Option<f64>,
}

/// A ridge: a crest along a smooth line, with the profile of a mountain across.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Ridge {
    /// Its name, by which it can be changed later; also the seed of its shape.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 100))]
    pub name: Option<String>,
    /// Its crest.
    #[schemars(length(min = 2, max = 10_000))]
    pub points: Vec<RidgePoint>,
    /// How far from the crest its foot reaches.
    #[schemars(range(min = 1e-3, max = 1e6), extend("x-unit" = "m", "x-slider" = [50.0, 3000.0]))]
    pub radius_m: f64,
    /// How high it stands above the land, unless its points say otherwise.
    #[schemars(range(min = -20_000.0, max = 20_000.0), extend("x-unit" = "m", "x-slider" = [20.0, 2000.0]))]
    pub height_m: f64,
    /// From a rounded back (0) to an edge (1).
    #[serde(default = "half")]
    #[schemars(range(min = 0.0, max = 1.0))]
    pub peakiness: f64,
    /// How strong the fractal is: 0 is smooth.
    #[serde(default = "half")]
    #[schemars(range(min = 0.0, max = 1.0))]
    pub roughness: f64,
    /// How much of its effect is applied.
    #[serde(default = "one")]
    #[schemars(range(min = 0.0, max = 1.0))]
    pub strength: f64,
    /// Whether later steps keep it.
    #[serde(default)]
    pub hold: bool,
}

/// A point of a canyon.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CanyonPoint {
    /// Easting.
    #[schemars(range(min = -1e9, max = 1e9), extend("x-unit" = "m"))]
    pub x_m: f64,
    /// Northing.
    #[schemars(range(min = -1e9, max = 1e9), extend("x-unit" = "m"))]
    pub y_m: f64,
    /// How deep the canyon is here; the depth of the whole canyon when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.0, max = 20_000.0), extend("x-unit" = "m"))]
    pub depth_m: Option<f64>,
}

/// A canyon: a flat floor along a smooth line, and walls with ledges up to the land.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Canyon {
    /// Its name, by which it can be changed later; also the seed of its walls.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 100))]
    pub name: Option<String>,
    /// Its middle line.
    #[schemars(length(min = 2, max = 10_000))]
    pub points: Vec<CanyonPoint>,
    /// How far from the middle line its walls end.
    #[schemars(range(min = 1e-3, max = 1e6), extend("x-unit" = "m", "x-slider" = [20.0, 2000.0]))]
    pub radius_m: f64,
    /// How deep its floor is below the land, unless its points say otherwise.
    #[schemars(range(min = 0.0, max = 20_000.0), extend("x-unit" = "m", "x-slider" = [10.0, 1000.0]))]
    pub depth_m: f64,
    /// Width of its floor as a share of its whole width.
    #[serde(default = "quarter")]
    #[schemars(range(min = 0.0, max = 0.95))]
    pub floor: f64,
    /// Ledges in its walls; 0 for smooth ones.
    #[serde(default = "three")]
    #[schemars(range(min = 0, max = 50), extend("x-slider" = [0, 8]))]
    pub ledges: u32,
    /// How far its walls wander: 0 is smooth.
    #[serde(default = "half")]
    #[schemars(range(min = 0.0, max = 1.0))]
    pub roughness: f64,
    /// How much of its effect is applied.
    #[serde(default = "one")]
    #[schemars(range(min = 0.0, max = 1.0))]
    pub strength: f64,
    /// Whether later steps keep it.
    #[serde(default)]
    pub hold: bool,
}

fn quarter() -> f64 {
    0.25
}

fn three() -> u32 {
    3
}

impl Ridge {
    /// A ridge along points, of a size and height.
    #[must_use]
    pub fn new(points_m: &[[f64; 2]], radius_m: f64, height_m: f64) -> Self {
        let point = |p: &[f64; 2]| RidgePoint { x_m: p[0], y_m: p[1], height_m: None };
        Self {
            name: None,
            points: points_m.iter().map(point).collect(),
            radius_m,
            height_m,
            peakiness: half(),
            roughness: half(),
            strength: one(),
            hold: false,
        }
    }

    pub(super) fn ready(&self, grain: Grain) -> Box<Trace> {
        let points: Vec<[f64; 2]> = self.points.iter().map(|p| [p.x_m, p.y_m]).collect();
        let mut spline = Spline::new(&points, 1e-3 * self.radius_m);
        let values: Vec<Values> =
            self.points.iter().map(|p| [p.height_m.unwrap_or(self.height_m), 0.0, 0.0, 0.0]).collect();
        let floor = 0.007 * self.radius_m;
        spline.carry(&values, floor);
        let profile = Profile::Ridge { pointed: 0.7 * self.peakiness as f32 };
        let at = points.first().copied().unwrap_or_default();
        Box::new(Trace::new(spline, at, self.radius_m, floor, self.strength, self.roughness, grain, profile))
    }
}

impl Canyon {
    /// A canyon along points, of a size and depth.
    #[must_use]
    pub fn new(points_m: &[[f64; 2]], radius_m: f64, depth_m: f64) -> Self {
        let point = |p: &[f64; 2]| CanyonPoint { x_m: p[0], y_m: p[1], depth_m: None };
        Self {
            name: None,
            points: points_m.iter().map(point).collect(),
            radius_m,
            depth_m,
            floor: quarter(),
            ledges: three(),
            roughness: half(),
            strength: one(),
            hold: false,
        }
    }

    pub(super) fn ready(&self, grain: Grain) -> Box<Trace> {
        let points: Vec<[f64; 2]> = self.points.iter().map(|p| [p.x_m, p.y_m]).collect();
        let mut spline = Spline::new(&points, 1e-3 * self.radius_m);
        let values: Vec<Values> =
            self.points.iter().map(|p| [p.depth_m.unwrap_or(self.depth_m), 0.0, 0.0, 0.0]).collect();
        let floor = 0.007 * self.radius_m;
        spline.carry(&values, floor);
        let profile = Profile::Canyon { floor: self.floor as f32, ledges: self.ledges as f32 };
        let at = points.first().copied().unwrap_or_default();
        Box::new(Trace::new(spline, at, self.radius_m, floor, self.strength, self.roughness, grain, profile))
    }
}

/// What is done to the land across a line.
pub enum Profile {
    /// Adds height; the line carries it.
    Ridge {
        /// The share of the pointed cubic.
        pointed: f32,
    },
    /// Takes depth away; the line carries it.
    Canyon {
        /// Width of the floor as a share of the whole.
        floor: f32,
        /// Ledges in its walls.
        ledges: f32,
    },
    /// Brings the land to a level and carves a bed; the line carries level, bed, half the width and the bank.
    River,
}

impl Profile {
    pub(super) fn fractal(&self, grain: Grain, reach: f64) -> Fractal {
        match self {
            Self::Ridge { .. } => Fractal::ridged(grain, 0.9 * reach, 5),
            Self::Canyon { .. } => Fractal::soft(grain, 1.6 * reach, 5),
            Self::River => Fractal::soft(grain, 1.5 * reach, 3),
        }
    }

    /// The height that it makes of one. The bed of a river that acts fully is noted in `bed`, to be carved when all
    /// rivers that follow each other have made their banks: so no bank dams another river where they meet.
    #[inline]
    pub(super) fn apply(
        &self,
        strength: f32,
        near: Near,
        noise: f32,
        reach: f64,
        h: f32,
        bed: &mut f32,
    ) -> f32 {
        match *self {
            Self::Ridge { pointed } => {
                let t = (near.distance / reach) as f32;
                // The crest keeps its height; spurs and gullies grow down its sides.
                let side = t * (1.0 - t).max(0.0);
                let t = t - 0.4 * noise * side;
                h + strength * near.values[0] as f32 * (1.0 + 0.5 * noise * side) * mountain(t, pointed)
            }
            Self::Canyon { floor, ledges } => {
                let t = wandering((near.distance / reach) as f32, noise);
                let wall = ((t - floor) / (1.0 - floor)).clamp(0.0, 1.0);
                h - strength * near.values[0] as f32 * ledged(cubic(wall), ledges)
            }
            Self::River => {
                let [level, floor, half, bank] = near.values;
                // Widths that the mean has carried past an end may fall short of nothing.
                let (half, bank) = (half.max(1e-6), bank.max(1e-6) as f32);
                let (level, distance) = (level as f32, near.distance);
                let out = ((distance - half) as f32 / bank).clamp(0.0, 1.0);
                let out = wandering(out, noise);
                let land = level_out(h, level, strength * cubic(out));
                if distance >= half {
                    return land;
                }
                let depth = level - floor.min(near.values[0]) as f32;
                let carved = land - strength * depth * cubic((distance / half) as f32);
                if strength < 1.0 || h.is_nan() {
                    return carved;
                }
                *bed = bed.min(carved);
                land
            }
        }
    }
}

/// A height from 0 to 1 as steps with soft edges; both ends stay.
#[inline]
fn ledged(y: f32, ledges: f32) -> f32 {
    if ledges == 0.0 {
        return y;
    }
    let at = y * ledges;
    let step = at.floor();
    let rise = 1.0 - cubic((at - step - 0.2) / 0.6);
    // Half of the ledge is left as a slope, or water would stand on it.
    ((0.65 * (step + rise) + 0.35 * at) / ledges).clamp(0.0, 1.0)
}
