//! Dune fields.

use orogen_core::math;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::area::{self, Area};
use super::fractal::{Fractal, Grain};
use super::round::{Form, Round, cubic};
use super::{Ready, half, one};
use crate::octaves::OctaveBuffers;

/// A field of dunes: sharp crests across the wind that waver, begin and end, and fade towards the edge of the field.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DuneField {
    /// Its name, by which it can be changed later; also the seed of its shape.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 100))]
    pub name: Option<String>,
    /// Its middle, (x, y): a crest passes through it.
    #[schemars(inner(range(min = -1e9, max = 1e9)), extend("x-unit" = "m"))]
    pub at_m: [f64; 2],
    /// How far the field reaches.
    #[schemars(range(min = 1e-3, max = 1e6), extend("x-unit" = "m", "x-slider" = [100.0, 5000.0]))]
    pub radius_m: f64,
    /// Height of a dune.
    #[schemars(range(min = 0.0, max = 5000.0), extend("x-unit" = "m", "x-slider" = [2.0, 150.0]))]
    pub height_m: f64,
    /// Distance from crest to crest.
    #[serde(default = "spacing")]
    #[schemars(range(min = 1e-3, max = 1e5), extend("x-unit" = "m", "x-slider" = [20.0, 1000.0]))]
    pub spacing_m: f64,
    /// Direction that the wind blows to, clockwise from north.
    #[serde(default = "wind")]
    #[schemars(range(min = 0.0, max = 360.0), extend("x-unit" = "deg"))]
    pub wind_deg: f64,
    /// How far crests waver, in distances from crest to crest.
    #[serde(default = "one")]
    #[schemars(range(min = 0.0, max = 10.0), extend("x-slider" = [0.0, 3.0]))]
    pub wander: f64,
    /// How far dunes begin and end: 0 lets every crest run through the whole field, 1 leaves bare ground between dunes.
    #[serde(default = "half")]
    #[schemars(range(min = 0.0, max = 1.0))]
    pub breaks: f64,
    /// Its outline, if it is not round: rings of corners around the middle, (x, y) in radii; a ring inside a ring is a
    /// hole. An outline does not wander.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 1000), inner(length(min = 3, max = 20_000), inner(inner(range(min = -1e4, max = 1e4)))))]
    pub outline: Vec<Vec<[f64; 2]>>,
    /// Distance inside the outline over which dunes rise to their height; a field without an outline does not use it.
    #[serde(default = "hundred")]
    #[schemars(range(min = 1e-3, max = 1e6), extend("x-unit" = "m", "x-slider" = [10.0, 2000.0]))]
    pub edge_m: f64,
    /// How much of its effect is applied.
    #[serde(default = "one")]
    #[schemars(range(min = 0.0, max = 1.0))]
    pub strength: f64,
    /// Whether later steps keep it.
    #[serde(default)]
    pub hold: bool,
}

fn spacing() -> f64 {
    150.0
}

fn wind() -> f64 {
    110.0
}

fn hundred() -> f64 {
    100.0
}

impl DuneField {
    /// A field of a place, size and height of its dunes.
    #[must_use]
    pub fn new(at_m: [f64; 2], radius_m: f64, height_m: f64) -> Self {
        Self {
            name: None,
            at_m,
            radius_m,
            height_m,
            spacing_m: spacing(),
            wind_deg: wind(),
            wander: one(),
            breaks: half(),
            outline: Vec::new(),
            edge_m: hundred(),
            strength: one(),
            hold: false,
        }
    }

    pub(super) fn ready(&self, grain: Grain) -> Ready {
        let wind = self.wind_deg.to_radians();
        let fractal = Fractal::soft(grain, 6.0 * self.spacing_m, 3);
        let sand = Sand {
            way: [math::sin(wind) / self.spacing_m, math::cos(wind) / self.spacing_m],
            height: self.height_m as f32,
            wander: self.wander as f32,
            middle: fractal.at_center(),
            fractal,
            breaks: (self.breaks > 0.0)
                .then(|| (self.breaks as f32, Fractal::soft(grain.child("breaks"), 3.5 * self.spacing_m, 3))),
            per_m: (1.0 / self.radius_m) as f32,
        };
        if !self.outline.is_empty() {
            let form = area::Form::Sand { sand, per_m: (1.0 / self.edge_m) as f32 };
            let reach = [self.edge_m, 0.0];
            return Area::new(self.at_m, self.radius_m, &self.outline, reach, self.strength, form).into();
        }
        let roughness = 0.6 * self.wander.min(1.0);
        Round::new(self.at_m, self.radius_m, self.strength, roughness, grain, Form::Sand(sand)).into()
    }
}

/// Share of a dune that its lee side takes.
const LEE: f32 = 0.3;
/// Share of the radius up to which dunes have their full height.
const FULL: f32 = 0.4;

/// Dunes across the wind.
pub struct Sand {
    /// Dunes a metre, to the east and north.
    pub way: [f64; 2],
    /// Height of a dune.
    pub height: f32,
    /// How far crests waver, in distances from crest to crest.
    pub wander: f32,
    /// The noise they waver by.
    pub fractal: Fractal,
    /// The noise at the middle, which is taken away so that a crest passes through it.
    pub middle: f32,
    /// How far dunes begin and end, and the noise by which they do.
    pub breaks: Option<(f32, Fractal)>,
    /// One over the radius.
    pub per_m: f32,
}

/// Noise below and above which there is no dune, and a whole one.
const BARE: f32 = -0.05;
const WHOLE: f32 = 0.15;

impl Sand {
    /// Noise along a row: that which crests waver by, and that by which dunes begin and end.
    pub(super) fn noise(
        &self,
        east: &[f64],
        north: f64,
        buffers: &mut OctaveBuffers,
        out: &mut Vec<f32>,
        breaks: &mut Vec<f32>,
    ) {
        if self.wander > 0.0 {
            self.fractal.row(east, north, buffers, out);
        } else {
            out.clear();
            out.resize(east.len(), self.middle);
        }
        match &self.breaks {
            Some((_, fractal)) => fractal.row(east, north, buffers, breaks),
            None => {
                breaks.clear();
                breaks.resize(east.len(), 1.0);
            }
        }
    }

    /// What dunes add at a share of the way to the edge: 0 in the troughs.
    #[inline]
    pub(super) fn height(&self, east: f64, north: f64, t: f32, noise: f32, breaks: f32) -> f32 {
        // Counted in dunes from the middle: small numbers, but of f64 until the whole ones are gone.
        let along =
            east * self.way[0] + north * self.way[1] + f64::from(3.0 * self.wander * (noise - self.middle));
        let t_along = (along - along.floor()) as f32;
        let leaning =
            if t_along < LEE { 0.5 * t_along / LEE } else { 0.5 + 0.5 * (t_along - LEE) / (1.0 - LEE) };
        let crest = 1.0 - 4.0 * leaning * (1.0 - leaning);
        // The dune in the middle is whole.
        let far = math::hypot(east, north) as f32 * self.per_m;
        let breaks = breaks + (1.0 - breaks) * cubic(3.0 * far);
        let share = self.breaks.as_ref().map_or(0.0, |(share, _)| *share);
        let whole = 1.0 - share * cubic((breaks - BARE) / (WHOLE - BARE));
        self.height * crest * whole * cubic((t - FULL) / (1.0 - FULL))
    }
}
