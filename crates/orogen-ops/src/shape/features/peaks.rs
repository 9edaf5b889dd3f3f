//! What stands up from the land or is blown into it: mountain, hill, volcano, crater.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::fractal::{Fractal, Grain};
use super::round::{Form, Round, cubic};
use super::{half, one};
use crate::octaves::OctaveBuffers;

/// A mountain: a wide cubic with a smaller, pointed one on top, times a fractal with sharp crests.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Mountain {
    /// Its name, by which it can be changed later; also the seed of its shape.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 100))]
    pub name: Option<String>,
    /// Where its summit is, (x, y).
    #[schemars(inner(range(min = -1e9, max = 1e9)), extend("x-unit" = "m"))]
    pub at_m: [f64; 2],
    /// How far its foot reaches.
    #[schemars(range(min = 1e-3, max = 1e6), extend("x-unit" = "m", "x-slider" = [100.0, 5000.0]))]
    pub radius_m: f64,
    /// How high it stands above the land.
    #[schemars(range(min = -20_000.0, max = 20_000.0), extend("x-unit" = "m", "x-slider" = [50.0, 3000.0]))]
    pub height_m: f64,
    /// From a broad dome (0) to a horn (1).
    #[serde(default = "half")]
    #[schemars(range(min = 0.0, max = 1.0))]
    pub peakiness: f64,
    /// How strong the fractal is: 0 is a smooth cone.
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

/// A hill: one cubic times a soft fractal.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Hill {
    /// Its name, by which it can be changed later; also the seed of its shape.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 100))]
    pub name: Option<String>,
    /// Where its top is, (x, y).
    #[schemars(inner(range(min = -1e9, max = 1e9)), extend("x-unit" = "m"))]
    pub at_m: [f64; 2],
    /// How far its foot reaches.
    #[schemars(range(min = 1e-3, max = 1e6), extend("x-unit" = "m", "x-slider" = [50.0, 2000.0]))]
    pub radius_m: f64,
    /// How high it stands above the land; negative for a hollow.
    #[schemars(range(min = -20_000.0, max = 20_000.0), extend("x-unit" = "m", "x-slider" = [5.0, 300.0]))]
    pub height_m: f64,
    /// How strong the fractal is: 0 is a smooth dome.
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

/// A volcano: flanks that steepen upwards to the rim of a crater.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Volcano {
    /// Its name, by which it can be changed later; also the seed of its shape.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 100))]
    pub name: Option<String>,
    /// Middle of its crater, (x, y).
    #[schemars(inner(range(min = -1e9, max = 1e9)), extend("x-unit" = "m"))]
    pub at_m: [f64; 2],
    /// How far its foot reaches.
    #[schemars(range(min = 1e-3, max = 1e6), extend("x-unit" = "m", "x-slider" = [200.0, 8000.0]))]
    pub radius_m: f64,
    /// How high the rim of its crater stands above the land.
    #[schemars(range(min = 0.0, max = 20_000.0), extend("x-unit" = "m", "x-slider" = [50.0, 4000.0]))]
    pub height_m: f64,
    /// How deep the crater is below its rim; its floor never lies below the land that the volcano stands on.
    #[serde(default = "hundred")]
    #[schemars(range(min = 0.0, max = 20_000.0), extend("x-unit" = "m", "x-slider" = [0.0, 500.0]))]
    pub crater_depth_m: f64,
    /// Radius of the crater as a share of the volcano's.
    #[serde(default = "eighth")]
    #[schemars(range(min = 0.01, max = 0.9), extend("x-slider" = [0.05, 0.4]))]
    pub crater: f64,
    /// How strong the fractal is: 0 is a smooth cone.
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

/// The crater of an impact: a bowl, its rim, and what was thrown out around it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Crater {
    /// Its name, by which it can be changed later; also the seed of its shape.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 100))]
    pub name: Option<String>,
    /// Its middle, (x, y).
    #[schemars(inner(range(min = -1e9, max = 1e9)), extend("x-unit" = "m"))]
    pub at_m: [f64; 2],
    /// How far what was thrown out reaches; the rim stands at 0.55 of it.
    #[schemars(range(min = 1e-3, max = 1e6), extend("x-unit" = "m", "x-slider" = [50.0, 3000.0]))]
    pub radius_m: f64,
    /// How deep its floor is below the land.
    #[schemars(range(min = 0.0, max = 20_000.0), extend("x-unit" = "m", "x-slider" = [5.0, 500.0]))]
    pub depth_m: f64,
    /// How high its rim stands above the land.
    #[serde(default = "ten")]
    #[schemars(range(min = 0.0, max = 20_000.0), extend("x-unit" = "m", "x-slider" = [0.0, 200.0]))]
    pub rim_m: f64,
    /// How high a peak in its middle stands above the floor; large craters have one.
    #[serde(default)]
    #[schemars(range(min = 0.0, max = 20_000.0), extend("x-unit" = "m", "x-slider" = [0.0, 300.0]))]
    pub peak_m: f64,
    /// How strong the fractal is: 0 is perfectly round.
    #[serde(default = "quarter")]
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

fn hundred() -> f64 {
    100.0
}

fn ten() -> f64 {
    10.0
}

fn eighth() -> f64 {
    0.125
}

fn quarter() -> f64 {
    0.25
}

impl Mountain {
    /// A mountain of a place, size and height.
    #[must_use]
    pub fn new(at_m: [f64; 2], radius_m: f64, height_m: f64) -> Self {
        Self {
            name: None,
            at_m,
            radius_m,
            height_m,
            peakiness: half(),
            roughness: half(),
            strength: one(),
            hold: false,
        }
    }

    pub(super) fn ready(&self, grain: Grain) -> Round {
        let shape = Shape::Mountain { height: self.height_m as f32, pointed: 0.7 * self.peakiness as f32 };
        let fractal = Fractal::ridged(grain, 0.75 * self.radius_m, 5);
        let peak = Peak::new(shape, fractal, 0.75 * self.roughness);
        Round::new(self.at_m, self.radius_m, self.strength, 0.45 * self.roughness, grain, Form::Peak(peak))
    }
}

impl Hill {
    /// A hill of a place, size and height.
    #[must_use]
    pub fn new(at_m: [f64; 2], radius_m: f64, height_m: f64) -> Self {
        Self { name: None, at_m, radius_m, height_m, roughness: half(), strength: one(), hold: false }
    }

    pub(super) fn ready(&self, grain: Grain) -> Round {
        let shape = Shape::Mountain { height: self.height_m as f32, pointed: 0.0 };
        let peak = Peak::new(shape, Fractal::soft(grain, 0.6 * self.radius_m, 4), self.roughness);
        Round::new(self.at_m, self.radius_m, self.strength, 0.45 * self.roughness, grain, Form::Peak(peak))
    }
}

impl Volcano {
    /// A volcano of a place, size and height of its rim.
    #[must_use]
    pub fn new(at_m: [f64; 2], radius_m: f64, height_m: f64) -> Self {
        Self {
            name: None,
            at_m,
            radius_m,
            height_m,
            crater_depth_m: hundred(),
            crater: eighth(),
            roughness: half(),
            strength: one(),
            hold: false,
        }
    }

    pub(super) fn ready(&self, grain: Grain) -> Round {
        let rim = self.crater as f32;
        let shape = Shape::Volcano {
            height: self.height_m as f32,
            // Down to the land it stands on at most.
            depth: self.crater_depth_m.min(self.height_m) as f32,
            rim,
            per_flank: 1.0 / flank(rim),
        };
        let peak = Peak::new(shape, Fractal::ridged(grain, 0.45 * self.radius_m, 5), 0.35 * self.roughness);
        Round::new(self.at_m, self.radius_m, self.strength, 0.45 * self.roughness, grain, Form::Peak(peak))
    }
}

impl Crater {
    /// A crater of a place, size and depth.
    #[must_use]
    pub fn new(at_m: [f64; 2], radius_m: f64, depth_m: f64) -> Self {
        Self {
            name: None,
            at_m,
            radius_m,
            depth_m,
            rim_m: ten(),
            peak_m: 0.0,
            roughness: quarter(),
            strength: one(),
            hold: false,
        }
    }

    pub(super) fn ready(&self, grain: Grain) -> Round {
        let shape =
            Shape::Crater { depth: self.depth_m as f32, rim: self.rim_m as f32, peak: self.peak_m as f32 };
        let peak = Peak::new(shape, Fractal::soft(grain, 0.4 * self.radius_m, 4), 0.5 * self.roughness);
        Round::new(self.at_m, self.radius_m, self.strength, 0.45 * self.roughness, grain, Form::Peak(peak))
    }
}

/// Height by distance, before noise.
#[derive(Clone, Copy, Debug)]
#[allow(
    missing_docs,
    reason = "they are named as the parameters of the kinds; `per_flank` is one over the flank at the rim"
)]
pub enum Shape {
    /// A mountain, or a hill, which is not pointed at all.
    Mountain { height: f32, pointed: f32 },
    /// A volcano.
    Volcano { height: f32, depth: f32, rim: f32, per_flank: f32 },
    /// A crater.
    Crater { depth: f32, rim: f32, peak: f32 },
}

/// A shape and its fractal.
pub struct Peak {
    /// Its shape.
    pub shape: Shape,
    /// How rough it is, and the fractal.
    pub fractal: Option<(f32, Fractal)>,
    /// The fractal at the middle, which is taken away there: the height in the middle is the given one.
    pub middle: f32,
}

impl Peak {
    fn new(shape: Shape, fractal: Fractal, roughness: f64) -> Self {
        let fractal = (roughness > 0.0).then_some((roughness as f32, fractal));
        let middle = fractal.as_ref().map_or(0.0, |(_, fractal)| fractal.at_center());
        Self { shape, fractal, middle }
    }

    /// The fractal along a row; `false` when there is none.
    pub(super) fn noise(
        &self,
        east: &[f64],
        north: f64,
        buffers: &mut OctaveBuffers,
        out: &mut Vec<f32>,
    ) -> bool {
        match &self.fractal {
            None => false,
            Some((_, fractal)) => {
                fractal.row(east, north, buffers, out);
                true
            }
        }
    }

    /// Adds it to a row: `plain` distances, `shares` with the outline's noise, and the fractal.
    pub(super) fn row(
        &self,
        strength: f32,
        plain: &[f32],
        shares: &[f32],
        noise: &[f32],
        heights: &mut [f32],
    ) {
        let rough = self.fractal.as_ref().map_or(0.0, |(rough, _)| *rough);
        let middle = self.middle;
        let by = |t: f32, noise: f32| rough * (noise - middle * cubic(t));
        match self.shape {
            Shape::Mountain { height, pointed } => {
                each(plain, shares, noise, heights, |t, noise| {
                    strength * height * below_top(mountain(t, pointed), by(t, noise), 0.0)
                });
            }
            Shape::Volcano { height, depth, rim, per_flank } => {
                each(plain, shares, noise, heights, |t, noise| {
                    let inside = (t / rim).min(1.0);
                    let cone = flank(t.max(rim)) * per_flank;
                    // The crater is smoother the further in.
                    let noise = middle + inside * inside * (noise - middle);
                    let bowl = depth * (1.0 - inside * inside);
                    // The rim is rough too, about its height.
                    strength * (height * below_top(cone, by(t, noise), 0.03) - bowl)
                });
            }
            Shape::Crater { depth, rim, peak } => {
                each(plain, shares, noise, heights, |t, noise| {
                    strength * (1.0 + by(t, noise)) * crater(t, depth, rim, peak)
                });
            }
        }
    }
}

/// Adds `f(share, noise)` wherever the plain distance is inside.
#[inline(always)]
fn each(plain: &[f32], shares: &[f32], noise: &[f32], heights: &mut [f32], f: impl Fn(f32, f32) -> f32) {
    let n = heights.len();
    let (plain, shares, noise) = (&plain[..n], &shares[..n], &noise[..n]);
    for i in 0..n {
        let added = heights[i] + f(shares[i], noise[i]);
        heights[i] = if plain[i] < 1.0 { added } else { heights[i] };
    }
}

/// A share of the height, 1 at the top, times noise that may lower it by any amount but raise it only as long as it
/// stays below the top: the given height is the highest. On the top itself noise may add `spare`.
#[inline]
pub(super) fn below_top(share: f32, noise: f32, spare: f32) -> f32 {
    if noise <= 0.0 {
        return share * (1.0 + noise);
    }
    // Goes as `share * noise` at first and never reaches `room`.
    let (more, room) = (share * noise, 0.6 * (1.0 - share) + spare * share);
    share + more * room / (more + room).max(f32::MIN_POSITIVE)
}

/// A wide cubic and, by its share, a pointed one of three quarters its width: 1 in the middle, 0 at the edge.
#[inline]
pub(super) fn mountain(t: f32, pointed: f32) -> f32 {
    // Moving the distance away from zero leaves out the rounded top of the cubic.
    const MOVED: f32 = 0.35;
    const WIDTH: f32 = 0.75;
    const TOP: f32 = {
        let t = MOVED / (1.0 + MOVED);
        1.0 - t * t * (3.0 - 2.0 * t)
    };
    let tip = cubic((t / WIDTH + MOVED) / (1.0 + MOVED)) / TOP;
    (1.0 - pointed) * cubic(t) + pointed * tip
}

/// The flank of a volcano, steeper the higher: 1 in the middle, 0 and level at the edge.
#[inline]
fn flank(t: f32) -> f32 {
    let left = (1.0 - t).max(0.0);
    left * left * (0.7 + 0.3 * left)
}

/// Where the rim of a crater stands, as a share of its radius.
const RIM: f32 = 0.55;

#[inline]
fn crater(t: f32, depth: f32, rim: f32, peak: f32) -> f32 {
    if t >= RIM {
        let out = (1.0 - (t - RIM) / (1.0 - RIM)).max(0.0);
        return rim * out * out * out;
    }
    let x = t / RIM;
    let x2 = x * x;
    // A flat floor and walls that steepen to the rim.
    (depth + rim) * x2 * (0.35 + 0.65 * x2) - depth + peak * cubic(x / 0.35)
}
