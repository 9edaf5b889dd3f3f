//! Features with an outline of their own: what they share, row by row; and the massif, which is one always.

use orogen_core::{Frame, Rect};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::flats::Flat;
use super::fractal::{Fractal, Grain};
use super::index::columns;
use super::peaks::below_top;
use super::round::cubic;
use super::sand::Sand;
use super::{half, one};
use crate::brush::{Near, Path};
use crate::mask::polygon;
use crate::octaves::OctaveBuffers;

/// Rings of corners around a middle, in radii.
pub(super) type Rings = Vec<Vec<[f64; 2]>>;

/// A massif: high ground of any outline, with crests and gullies, for mountains to stand on.
///
/// Along its outline it stands a tenth of its height above the land; its foot ends a quarter of `edge_m` further out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Massif {
    /// Its name, by which it can be changed later; also the seed of its shape.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 100))]
    pub name: Option<String>,
    /// Its middle, (x, y), from which the corners of its outline are counted.
    #[schemars(inner(range(min = -1e9, max = 1e9)), extend("x-unit" = "m"))]
    pub at_m: [f64; 2],
    /// What the corners of its outline are multiplied by.
    #[schemars(range(min = 1e-3, max = 1e6), extend("x-unit" = "m", "x-slider" = [100.0, 10000.0]))]
    pub radius_m: f64,
    /// How high it stands above the land.
    #[schemars(range(min = -20_000.0, max = 20_000.0), extend("x-unit" = "m", "x-slider" = [20.0, 2000.0]))]
    pub height_m: f64,
    /// Distance inside its outline over which it rises.
    #[schemars(range(min = 1e-3, max = 1e6), extend("x-unit" = "m", "x-slider" = [50.0, 3000.0]))]
    pub edge_m: f64,
    /// Its outline: rings of corners around the middle, (x, y) in radii; a ring inside a ring is a hole.
    #[schemars(length(min = 1, max = 1000), inner(length(min = 3, max = 20_000), inner(inner(range(min = -1e4, max = 1e4)))))]
    pub outline: Vec<Vec<[f64; 2]>>,
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

/// How far beyond its outline the foot of a massif reaches, as a share of `edge_m`.
const APRON: f64 = 0.25;

impl Massif {
    /// A massif of a place, size, height and outline.
    #[must_use]
    pub fn new(at_m: [f64; 2], radius_m: f64, height_m: f64, outline: Vec<Vec<[f64; 2]>>) -> Self {
        Self {
            name: None,
            at_m,
            radius_m,
            height_m,
            edge_m: 0.5 * radius_m,
            outline,
            roughness: half(),
            strength: one(),
            hold: false,
        }
    }

    pub(super) fn ready(&self, grain: Grain) -> Area {
        let slope = Slope {
            height: self.height_m as f32,
            apron: (APRON * self.edge_m) as f32,
            per_m: (1.0 / ((1.0 + APRON) * self.edge_m)) as f32,
            rough: self.roughness as f32,
            fractal: (self.roughness > 0.0).then(|| Fractal::ridged(grain, 1.1 * self.edge_m, 5)),
        };
        let reach = [self.edge_m, APRON * self.edge_m];
        Area::new(self.at_m, self.radius_m, &self.outline, reach, self.strength, Form::Slope(slope))
    }
}

/// A feature with an outline, ready to be laid on rows.
pub struct Area {
    /// Its middle.
    pub at: [f64; 2],
    rings: Vec<Path>,
    /// The edges of all its rings.
    pub edges: Vec<[[f64; 2]; 2]>,
    /// How much of its effect is applied.
    pub strength: f32,
    /// How far from the outline anything changes with the distance.
    pub reach: f64,
    bounds: Rect,
    /// What it does to the land.
    pub form: Form,
}

/// What it does to the land.
pub enum Form {
    /// Adds height.
    Slope(Slope),
    /// Brings the land to a level. The share of the radius is `shore` on the outline, and changes by so much a metre
    /// inside and outside.
    Flat {
        /// The level and its shore.
        flat: Flat,
        /// The share on the outline.
        shore: f32,
        /// How it changes a metre inside.
        inside: f32,
        /// How it changes a metre outside.
        outside: f32,
    },
    /// Adds dunes, which rise inside the outline by so much of their height a metre.
    Sand {
        /// The dunes.
        sand: Sand,
        /// How much of their height they rise a metre.
        per_m: f32,
    },
}

/// The flank of a massif.
pub struct Slope {
    /// How high it is.
    pub height: f32,
    /// How far outside the outline its foot is.
    pub apron: f32,
    /// One over the width of the flank.
    pub per_m: f32,
    /// How strong the fractal is.
    pub rough: f32,
    /// Its spurs and gullies.
    pub fractal: Option<Fractal>,
}

/// Buffers of one thread.
#[derive(Default)]
pub(super) struct AreaBuffers {
    near: Near,
    /// Metres inside the outline, negative outside, minus infinity where it does nothing.
    inside: Vec<f32>,
    within: Vec<f32>,
    east: Vec<f64>,
    noise: Vec<f32>,
    breaks: Vec<f32>,
    fractal: OctaveBuffers,
}

impl Area {
    /// An area of rings in radii around a middle that acts so far inside its outline, and outside.
    pub(super) fn new(
        at: [f64; 2],
        radius: f64,
        outline: &Rings,
        [inside, outside]: [f64; 2],
        strength: f64,
        form: Form,
    ) -> Self {
        let place = |p: &[f64; 2]| [at[0] + radius * p[0], at[1] + radius * p[1]];
        let rings: Vec<Vec<[f64; 2]>> = outline.iter().map(|ring| ring.iter().map(place).collect()).collect();
        let edges = (rings.iter())
            .flat_map(|ring| (0..ring.len()).map(|i| [ring[i], ring[(i + 1) % ring.len()]]))
            .collect();
        let mut bounds = Rect { min: [f64::INFINITY; 2], max: [f64::NEG_INFINITY; 2] };
        for (corner, k) in rings.iter().flatten().flat_map(|corner| [(corner, 0), (corner, 1)]) {
            bounds.min[k] = bounds.min[k].min(corner[k] - outside);
            bounds.max[k] = bounds.max[k].max(corner[k] + outside);
        }
        let rings = rings.iter().map(|ring| Path::new(ring, true, inside.max(outside))).collect();
        Self { at, rings, edges, strength: strength as f32, reach: inside.max(outside), bounds, form }
    }

    /// What it can touch.
    pub fn bounds(&self) -> Rect {
        self.bounds
    }

    /// Metres inside the outline for a part of a row; the first column of the part, or `None` when it touches none.
    fn inside(&self, frame: &Frame, row: usize, xs: &[f64], buffers: &mut AreaBuffers) -> Option<usize> {
        let y = frame.y_m(row);
        if y < self.bounds.min[1] || y > self.bounds.max[1] {
            return None;
        }
        let cols = columns(frame, self.bounds.min[0], self.bounds.max[0]);
        if cols.is_empty() {
            return None;
        }
        buffers.inside.clear();
        buffers.inside.resize(cols.len(), f32::INFINITY);
        for ring in &self.rings {
            let [min, max] = ring.bounds();
            if y < min[1] || y > max[1] {
                continue;
            }
            ring.nearest(frame, row, cols.clone(), &mut buffers.near);
            buffers.inside.iter_mut().zip(&buffers.near.distance2).for_each(|(d, d2)| *d = d.min(*d2));
        }
        buffers.within.clear();
        buffers.within.resize(frame.cols(), 0.0);
        polygon::fill(&self.edges, frame, row, &mut buffers.within);
        let start = cols.start;
        for (d, within) in buffers.inside.iter_mut().zip(&buffers.within[cols.clone()]) {
            *d = if *within > 0.0 { d.sqrt() } else { -d.sqrt() };
        }
        buffers.east.clear();
        buffers.east.extend(xs[cols].iter().map(|x| x - self.at[0]));
        Some(start)
    }

    /// Lays it on a row whose samples lie at `xs`.
    pub(super) fn row(
        &self,
        frame: &Frame,
        row: usize,
        xs: &[f64],
        heights: &mut [f32],
        buffers: &mut AreaBuffers,
    ) {
        let Some(start) = self.inside(frame, row, xs, buffers) else { return };
        let heights = &mut heights[start..start + buffers.east.len()];
        match &self.form {
            Form::Slope(slope) => {
                match &slope.fractal {
                    Some(fractal) => {
                        fractal.row(
                            &buffers.east,
                            frame.y_m(row) - self.at[1],
                            &mut buffers.fractal,
                            &mut buffers.noise,
                        );
                    }
                    None => {
                        buffers.noise.clear();
                        buffers.noise.resize(buffers.east.len(), 0.0);
                    }
                }
                for ((h, inside), noise) in heights.iter_mut().zip(&buffers.inside).zip(&buffers.noise) {
                    let share = ((inside + slope.apron) * slope.per_m).min(1.0);
                    if share > 0.0 {
                        *h += self.strength * slope.at(share, *noise);
                    }
                }
            }
            Form::Sand { sand, per_m } => {
                let north = frame.y_m(row) - self.at[1];
                sand.noise(
                    &buffers.east,
                    north,
                    &mut buffers.fractal,
                    &mut buffers.noise,
                    &mut buffers.breaks,
                );
                for (i, h) in heights.iter_mut().enumerate().filter(|(i, _)| buffers.inside[*i] > 0.0) {
                    let t = (1.0 - buffers.inside[i] * per_m).max(0.0);
                    *h += self.strength
                        * sand.height(buffers.east[i], north, t, buffers.noise[i], buffers.breaks[i]);
                }
            }
            Form::Flat { flat, shore, inside, outside } => {
                for (h, d) in heights.iter_mut().zip(&buffers.inside) {
                    let t = share(*d, *shore, *inside, *outside);
                    if t < 1.0 {
                        *h = flat.apply(self.strength, t, *h);
                    }
                }
            }
        }
    }

    /// Fills a row of `water` with the depth of a lake over the ground it has made.
    pub(super) fn water_row(
        &self,
        frame: &Frame,
        row: usize,
        xs: &[f64],
        heights: &[f32],
        water: &mut [f32],
        buffers: &mut AreaBuffers,
    ) {
        let Form::Flat { flat, shore, inside, outside } = &self.form else { return };
        let Some(start) = self.inside(frame, row, xs, buffers) else { return };
        for (i, d) in buffers.inside.iter().enumerate() {
            let depth = flat.water(share(*d, *shore, *inside, *outside), heights[start + i]);
            water[start + i] = water[start + i].max(depth);
        }
    }
}

impl Slope {
    /// The height at a share of the way up, 0 at the foot and 1 on top.
    #[inline]
    fn at(&self, share: f32, noise: f32) -> f32 {
        // Spurs and gullies: noise moves the flank in and out, least at its foot and its top.
        let share = share + 0.9 * self.rough * noise * share * (1.0 - share) * share;
        let up = 1.0 - cubic(share);
        self.height * below_top(up, 0.8 * self.rough * noise * up, 0.05)
    }
}

/// The share of the radius so many metres inside an outline.
#[inline]
fn share(d: f32, shore: f32, inside: f32, outside: f32) -> f32 {
    if d >= 0.0 { (shore - d * inside).max(0.0) } else { shore - d * outside }
}
