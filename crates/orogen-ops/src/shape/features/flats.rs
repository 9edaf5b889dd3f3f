//! What brings the land to a level: plateau, lake.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::area::{self, Area};
use super::fractal::Grain;
use super::round::{Form, Round, cubic, level_out, widest};
use super::{Ready, half, one};

/// A plateau: flat at its level, with a slope down (or up) to the land around.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Plateau {
    /// Its name, by which it can be changed later; also the seed of its outline.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 100))]
    pub name: Option<String>,
    /// Its middle, (x, y).
    #[schemars(inner(range(min = -1e9, max = 1e9)), extend("x-unit" = "m"))]
    pub at_m: [f64; 2],
    /// How far the foot of its slope reaches.
    #[schemars(range(min = 1e-3, max = 1e6), extend("x-unit" = "m", "x-slider" = [100.0, 5000.0]))]
    pub radius_m: f64,
    /// Height of its top above sea level.
    #[schemars(range(min = -20_000.0, max = 20_000.0), extend("x-unit" = "m", "x-slider" = [0.0, 3000.0]))]
    pub level_m: f64,
    /// Outer share of the radius that the slope takes.
    #[serde(default = "third")]
    #[schemars(range(min = 0.001, max = 1.0))]
    pub edge: f64,
    /// Its outline, if it is not round: rings of corners around the middle, (x, y) in radii; a ring inside a ring is a
    /// hole. An outline does not wander.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 1000), inner(length(min = 3, max = 20_000), inner(inner(range(min = -1e4, max = 1e4)))))]
    pub outline: Vec<Vec<[f64; 2]>>,
    /// How far the outline wanders: 0 is a circle.
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

/// A lake: ground that lies at the lake's level along its shore and is a bowl inside, with a rim that holds the water.
/// With a depth it also fills the layer `water`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Lake {
    /// Its name, by which it can be changed later; also the seed of its outline.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 100))]
    pub name: Option<String>,
    /// Its middle, (x, y).
    #[schemars(inner(range(min = -1e9, max = 1e9)), extend("x-unit" = "m"))]
    pub at_m: [f64; 2],
    /// How far its shore is from the middle.
    #[schemars(range(min = 1e-3, max = 1e6), extend("x-unit" = "m", "x-slider" = [20.0, 3000.0]))]
    pub radius_m: f64,
    /// Height of the water above sea level.
    #[schemars(range(min = -20_000.0, max = 20_000.0), extend("x-unit" = "m", "x-slider" = [0.0, 3000.0]))]
    pub level_m: f64,
    /// Depth in the middle; 0 makes flat ground at the level, without water.
    #[serde(default = "ten")]
    #[schemars(range(min = 0.0, max = 20_000.0), extend("x-unit" = "m", "x-slider" = [0.0, 100.0]))]
    pub depth_m: f64,
    /// Width of the ring around the shore over which the land is brought to the level.
    #[serde(default = "hundred")]
    #[schemars(range(min = 1e-3, max = 1e6), extend("x-unit" = "m", "x-slider" = [10.0, 1000.0]))]
    pub rim_m: f64,
    /// How high the rim stands above the water at most.
    #[serde(default = "two")]
    #[schemars(range(min = 0.0, max = 1000.0), extend("x-unit" = "m", "x-slider" = [0.0, 20.0]))]
    pub rim_height_m: f64,
    /// Its outline, if it is not round: rings of corners around the middle, (x, y) in radii; a ring inside a ring is a
    /// hole. An outline does not wander.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 1000), inner(length(min = 3, max = 20_000), inner(inner(range(min = -1e4, max = 1e4)))))]
    pub outline: Vec<Vec<[f64; 2]>>,
    /// How far the shore wanders: 0 is a circle.
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

fn third() -> f64 {
    0.35
}

fn two() -> f64 {
    2.0
}

fn ten() -> f64 {
    10.0
}

fn hundred() -> f64 {
    100.0
}

/// How far from the shore a lake with an outline has its full depth, as a share of its radius.
const DEEP: f64 = 0.5;

impl Plateau {
    /// A plateau of a place, size and level.
    #[must_use]
    pub fn new(at_m: [f64; 2], radius_m: f64, level_m: f64) -> Self {
        Self {
            name: None,
            at_m,
            radius_m,
            level_m,
            edge: third(),
            outline: Vec::new(),
            roughness: half(),
            strength: one(),
            hold: false,
        }
    }

    pub(super) fn ready(&self, grain: Grain) -> Ready {
        let flat =
            Flat { level: self.level_m as f32, depth: 0.0, rim_height: 0.0, shore: (1.0 - self.edge) as f32 };
        if self.outline.is_empty() {
            let form = Form::Flat(flat);
            return Round::new(self.at_m, self.radius_m, self.strength, self.roughness, grain, form).into();
        }
        let form = area::Form::Flat { flat, shore: 1.0, inside: (1.0 / self.radius_m) as f32, outside: 1.0 };
        let reach = [self.edge * self.radius_m, 0.0];
        Area::new(self.at_m, self.radius_m, &self.outline, reach, self.strength, form).into()
    }

    /// How far from the middle it is flat, wherever the outline wanders.
    pub(super) fn flat_m(&self) -> f64 {
        self.radius_m * (1.0 - self.edge) / widest(self.roughness)
    }
}

impl Lake {
    /// A lake of a place, size and level.
    #[must_use]
    pub fn new(at_m: [f64; 2], radius_m: f64, level_m: f64) -> Self {
        Self {
            name: None,
            at_m,
            radius_m,
            level_m,
            depth_m: ten(),
            rim_m: hundred(),
            rim_height_m: two(),
            outline: Vec::new(),
            roughness: half(),
            strength: one(),
            hold: false,
        }
    }

    pub(super) fn ready(&self, grain: Grain) -> Ready {
        let whole = self.radius_m + self.rim_m;
        let flat = Flat {
            level: self.level_m as f32,
            depth: self.depth_m as f32,
            rim_height: self.rim_height_m as f32,
            shore: (self.radius_m / whole) as f32,
        };
        if self.outline.is_empty() {
            return Round::new(self.at_m, whole, self.strength, self.roughness, grain, Form::Flat(flat))
                .into();
        }
        let shore = flat.shore;
        let deep = DEEP * self.radius_m;
        let inside = (f64::from(shore) / deep) as f32;
        let form =
            area::Form::Flat { flat, shore, inside, outside: ((1.0 - f64::from(shore)) / self.rim_m) as f32 };
        let reach = [deep, self.rim_m];
        Area::new(self.at_m, self.radius_m, &self.outline, reach, self.strength, form).into()
    }

    /// How far from the middle its ground lies at the level.
    pub(super) fn flat_m(&self) -> f64 {
        if self.depth_m > 0.0 { 0.0 } else { self.radius_m / widest(self.roughness) }
    }
}

/// Ground at a level up to the shore, from where it goes over into the land.
pub struct Flat {
    /// The level, in metres.
    pub level: f32,
    /// How deep the bowl inside the shore is.
    pub depth: f32,
    /// How high the rim around it stands above the level.
    pub rim_height: f32,
    /// Where the shore is, as a share of the radius.
    pub shore: f32,
}

impl Flat {
    #[inline]
    pub(super) fn apply(&self, strength: f32, t: f32, h: f32) -> f32 {
        if t <= self.shore {
            let bed =
                if self.depth > 0.0 { self.level - self.depth * cubic(t / self.shore) } else { self.level };
            return level_out(h, bed, strength);
        }
        let out = ((t - self.shore) / (1.0 - self.shore)).min(1.0);
        // The rim rises from the shore and falls again within half the ring.
        let rim =
            if out < 0.5 { 16.0 * out * out * (1.0 - 2.0 * out) * (1.0 - 2.0 * out) * 4.0 } else { 0.0 };
        level_out(h, self.level + self.rim_height * rim, strength * cubic(out))
    }

    /// Depth of the water over ground inside the shore.
    #[inline]
    pub(super) fn water(&self, t: f32, h: f32) -> f32 {
        if t < self.shore { (self.level - h).max(0.0) } else { 0.0 }
    }
}
