//! The structures that rise: belts, blocks, domes and chains.

use std::f64::consts::{PI, TAU};

use orogen_core::{Frame, Seed, math};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Structure, places};
use crate::rock::beds::wander;
use crate::rock::line::Line;
use crate::rock::strata::At;

/// A mountain belt along a line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Belt {
    /// The places that its crest runs through, joined smoothly; without any it lies across the world as the seed says.
    #[schemars(length(max = 1000))]
    pub points: Vec<At>,
    /// How wide it is in all.
    #[schemars(range(min = 1.0, max = 1e7), extend("x-unit" = "m", "x-slider" = [2000.0, 100000.0]))]
    pub width_m: f64,
    /// How fast its crest rises.
    #[schemars(range(min = -100.0, max = 100.0), extend("x-unit" = "mm/yr", "x-slider" = [0.0, 5.0]))]
    pub rate_mm_per_yr: f64,
    /// How much narrower and steeper the right side (the front), seen along the line, is than the left; below 0 the left is the
    /// front.
    #[schemars(range(min = -0.95, max = 0.95))]
    pub asymmetry: f64,
    /// How far the line bends into an arc where it is drawn from the seed, as a share of its length.
    #[schemars(range(min = 0.0, max = 0.5))]
    pub arc: f64,
    /// How much of the uplift is in folds, side by side along the belt; 0 for none.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub folds: f64,
    /// Distance between folds across the belt.
    #[schemars(range(min = 1.0, max = 1e6), extend("x-unit" = "m", "x-slider" = [500.0, 20000.0]))]
    pub fold_spacing_m: f64,
    /// Length of a fold.
    #[schemars(range(min = 1.0, max = 1e7), extend("x-unit" = "m", "x-slider" = [2000.0, 100000.0]))]
    pub fold_length_m: f64,
    /// Share of its length over which a fold rises from either end: 1 plunges all the way from its middle.
    #[schemars(range(min = 0.05, max = 1.0))]
    pub plunge: f64,
    /// How much folds are turned against the belt: each begins a little to the side of the last (en echelon).
    #[schemars(range(min = -45.0, max = 45.0), extend("x-unit" = "deg"))]
    pub echelon_deg: f64,
}

impl Default for Belt {
    fn default() -> Self {
        Self {
            points: Vec::new(),
            width_m: 20_000.0,
            rate_mm_per_yr: 1.0,
            asymmetry: 0.4,
            arc: 0.12,
            folds: 0.5,
            fold_spacing_m: 5000.0,
            fold_length_m: 18_000.0,
            plunge: 0.6,
            echelon_deg: 8.0,
        }
    }
}

/// Tilted blocks between parallel faults: basin and range.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Blocks {
    /// Direction of the faults, clockwise from north.
    #[schemars(range(min = 0.0, max = 360.0), extend("x-unit" = "deg"))]
    pub axis_deg: f64,
    /// Distance from range to range.
    #[schemars(range(min = 1.0, max = 1e7), extend("x-unit" = "m", "x-slider" = [3000.0, 50000.0]))]
    pub spacing_m: f64,
    /// Length of a fault; where one ends, the next begins beside it.
    #[schemars(range(min = 1.0, max = 1e7), extend("x-unit" = "m", "x-slider" = [5000.0, 100000.0]))]
    pub length_m: f64,
    /// How fast a block rises beside the middle of its fault.
    #[schemars(range(min = -100.0, max = 100.0), extend("x-unit" = "mm/yr", "x-slider" = [0.0, 3.0]))]
    pub rate_mm_per_yr: f64,
    /// How fast the basin on the other side of the fault sinks, as a share of that.
    #[schemars(range(min = 0.0, max = 2.0))]
    pub sinking: f64,
    /// Share of the faults that face the other way: two that face away from each other leave a horst between them.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub flipped: f64,
    /// How far a fault strays from its line, as a share of the spacing.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub wander: f64,
}

impl Default for Blocks {
    fn default() -> Self {
        Self {
            axis_deg: 10.0,
            spacing_m: 15_000.0,
            length_m: 40_000.0,
            rate_mm_per_yr: 0.5,
            sinking: 0.4,
            flipped: 0.15,
            wander: 0.25,
        }
    }
}

/// A dome.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Dome {
    /// Easting of its top; left out, it lies in the middle of the world.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = -1e9, max = 1e9), extend("x-unit" = "m"))]
    pub x_m: Option<f64>,
    /// Northing of its top; left out, it lies in the middle of the world.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = -1e9, max = 1e9), extend("x-unit" = "m"))]
    pub y_m: Option<f64>,
    /// How far it reaches.
    #[schemars(range(min = 1.0, max = 1e7), extend("x-unit" = "m", "x-slider" = [1000.0, 50000.0]))]
    pub radius_m: f64,
    /// How many times longer it is along its axis.
    #[schemars(range(min = 1.0, max = 20.0))]
    pub elongation: f64,
    /// Direction of its axis, clockwise from north.
    #[schemars(range(min = 0.0, max = 360.0), extend("x-unit" = "deg"))]
    pub axis_deg: f64,
    /// How fast its top rises.
    #[schemars(range(min = -100.0, max = 100.0), extend("x-unit" = "mm/yr", "x-slider" = [0.0, 3.0]))]
    pub rate_mm_per_yr: f64,
}

impl Default for Dome {
    fn default() -> Self {
        Self { x_m: None, y_m: None, radius_m: 12_000.0, elongation: 1.0, axis_deg: 0.0, rate_mm_per_yr: 0.5 }
    }
}

/// Volcanoes in a row over a hot spot.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Chain {
    /// The line from the youngest volcano to the oldest; without points it lies across the world as the seed says.
    #[schemars(length(max = 1000))]
    pub points: Vec<At>,
    /// Distance from volcano to volcano along the line.
    #[schemars(range(min = 1.0, max = 1e7), extend("x-unit" = "m", "x-slider" = [3000.0, 100000.0]))]
    pub spacing_m: f64,
    /// How far the flanks of a volcano reach.
    #[schemars(range(min = 1.0, max = 1e7), extend("x-unit" = "m", "x-slider" = [2000.0, 60000.0]))]
    pub radius_m: f64,
    /// How far to the side of the line volcanoes may lie.
    #[schemars(range(min = 0.0, max = 1e6), extend("x-unit" = "m", "x-slider" = [0.0, 20000.0]))]
    pub scatter_m: f64,
    /// How fast the youngest volcano grows.
    #[schemars(range(min = -100.0, max = 100.0), extend("x-unit" = "mm/yr", "x-slider" = [0.0, 10.0]))]
    pub rate_mm_per_yr: f64,
    /// Distance along the line over which the rate falls to a half: how fast the plate moves.
    #[schemars(range(min = 1.0, max = 1e8), extend("x-unit" = "m", "x-slider" = [5000.0, 200000.0]))]
    pub half_m: f64,
}

impl Default for Chain {
    fn default() -> Self {
        Self {
            points: Vec::new(),
            spacing_m: 11_000.0,
            radius_m: 11_000.0,
            scatter_m: 2500.0,
            rate_mm_per_yr: 3.0,
            half_m: 20_000.0,
        }
    }
}

/// A structure that has its place in a world.
pub(super) enum Placed {
    Belt(PlacedBelt),
    Blocks(PlacedBlocks),
    Dome { middle: [f64; 2], params: Dome },
    Chain { line: Line, volcanoes: Vec<Volcano> },
}

pub(super) struct PlacedBelt {
    line: Line,
    params: Belt,
    seed: Seed,
}

pub(super) struct PlacedBlocks {
    middle: [f64; 2],
    params: Blocks,
    seed: Seed,
}

pub(super) struct Volcano {
    at: [f64; 2],
    radius_m: f64,
    rate: f64,
    seed: Seed,
}

/// Gives a structure its place; what it leaves open is drawn from the seed.
pub(super) fn place(structure: &Structure, world: &Frame, seed: Seed) -> Placed {
    let extent = world.extent();
    let middle = [0, 1].map(|axis| 0.5 * (extent.min[axis] + extent.max[axis]));
    match structure {
        Structure::Belt(belt) => {
            let line = line(&belt.points).unwrap_or_else(|| drawn(world, seed.child("line"), belt.arc, 0.15));
            Placed::Belt(PlacedBelt { line, params: belt.clone(), seed })
        }
        Structure::Blocks(blocks) => Placed::Blocks(PlacedBlocks { middle, params: blocks.clone(), seed }),
        Structure::Dome(dome) => Placed::Dome {
            middle: [dome.x_m.unwrap_or(middle[0]), dome.y_m.unwrap_or(middle[1])],
            params: dome.clone(),
        },
        Structure::Chain(chain) => {
            let line = line(&chain.points).unwrap_or_else(|| drawn(world, seed.child("line"), 0.05, -0.18));
            let volcanoes = volcanoes(chain, &line, seed);
            Placed::Chain { line, volcanoes }
        }
    }
}

/// Pieces between two points of a line.
const PIECES: usize = 12;

/// A smooth line through points; `None` where fewer than two are apart.
pub(super) fn line(points: &[At]) -> Option<Line> {
    let rough = Line::new(places(points))?;
    let points = rough.points();
    let at = |i: isize| points[i.clamp(0, points.len() as isize - 1) as usize];
    let mut smooth = Vec::with_capacity(points.len() * PIECES);
    for i in 0..points.len() as isize - 1 {
        let [a, b, c, d] = [at(i - 1), at(i), at(i + 1), at(i + 2)];
        let pieces = if points.len() == 2 { 1 } else { PIECES };
        for k in 0..pieces {
            let t = k as f64 / pieces as f64;
            smooth.push([0, 1].map(|axis| {
                let (start, end) = (0.5 * (c[axis] - a[axis]), 0.5 * (d[axis] - b[axis]));
                math::hermite([b[axis], c[axis]], [start, end], t)
            }));
        }
    }
    smooth.extend(points.last());
    Line::new(smooth)
}

/// A line through the middle of a world, in a direction, with a bend and by so much beyond its edges as the seed says.
fn drawn(world: &Frame, seed: Seed, arc: f64, beyond: f64) -> Line {
    let extent = world.extent();
    let [width, depth] = extent.size();
    let angle = TAU * seed.unit(0);
    let (along, side) = ([math::sin(angle), math::cos(angle)], [math::cos(angle), -math::sin(angle)]);
    // As far as the edge in that direction, and further.
    let half =
        (1.0 + 2.0 * beyond) * 0.5 * (width / along[0].abs().max(1e-9)).min(depth / along[1].abs().max(1e-9));
    let bend = (0.5 + seed.unit(1)) * arc * 2.0 * half;
    let off = (seed.unit(2) - 0.5) * 0.15 * width.min(depth);
    let places = (0..=4 * PIECES).map(|i| {
        let t = 2.0 * i as f64 / (4 * PIECES) as f64 - 1.0;
        let right = bend * (0.4 - t * t) + off;
        [0, 1].map(|k| 0.5 * (extent.min[k] + extent.max[k]) + half * t * along[k] + right * side[k])
    });
    // Ends of a world smaller than a millimetre are not apart; any line does there.
    Line::new(places).unwrap_or_else(Line::to_the_east)
}

/// The volcanoes along a line, from the youngest.
fn volcanoes(chain: &Chain, line: &Line, seed: Seed) -> Vec<Volcano> {
    const MOST: f64 = 500.0;
    let length = line.length_m();
    let spacing = chain.spacing_m.max(length / MOST);
    let count = (length / spacing).floor().clamp(0.0, MOST) as usize + 1;
    (0..count)
        .map(|i| {
            let own = Seed(seed.child("volcanoes").bits(i as u64));
            let along = (i as f64 + if i == 0 { 0.0 } else { 0.5 * (own.unit(0) - 0.5) }) * spacing;
            // To one side and the other in turn, as the rows of Hawaii are.
            let sign = if i % 2 == 0 { 1.0 } else { -1.0 };
            let right = sign * chain.scatter_m * own.unit(1);
            let size = 0.75 + 0.5 * own.unit(2);
            let age = math::exp2(-along / chain.half_m);
            Volcano {
                at: line.at(along.min(length), right),
                radius_m: chain.radius_m * size,
                rate: chain.rate_mm_per_yr * age * size,
                seed: own,
            }
        })
        .collect()
}

/// A bump that is 1 in the middle, 0 from 1 on, and smooth.
fn bump(far2: f64) -> f64 {
    let left = (1.0 - far2).max(0.0);
    left * left
}

impl Placed {
    /// How fast a place rises, in millimetres a year.
    pub fn rate(&self, at: [f64; 2]) -> f64 {
        match self {
            Self::Belt(belt) => belt.rate(at),
            Self::Blocks(blocks) => blocks.rate(at),
            Self::Dome { middle, params } => {
                let [along, across] = turned([at[0] - middle[0], at[1] - middle[1]], params.axis_deg);
                let far = [along / (params.radius_m * params.elongation), across / params.radius_m];
                params.rate_mm_per_yr * bump(far[0] * far[0] + far[1] * far[1])
            }
            Self::Chain { volcanoes, .. } => {
                // Where flanks meet, the stronger goes on: two cones, not one of twice the height.
                volcanoes.iter().map(|volcano| volcano.rate(at)).fold(0.0, stronger)
            }
        }
    }
}

/// Of two rates the one that is further from 0.
fn stronger(a: f64, b: f64) -> f64 {
    if b.abs() > a.abs() { b } else { a }
}

impl Volcano {
    /// Concave flanks: steep at the top, gentle at the foot; and two or three rift zones along which it is longer.
    fn rate(&self, at: [f64; 2]) -> f64 {
        let (x, y) = ((at[0] - self.at[0]) / self.radius_m, (at[1] - self.at[1]) / self.radius_m);
        let far = math::hypot(x, y);
        if far >= 1.5 {
            return 0.0;
        }
        let rifts = if self.seed.unit(5) < 0.6 { 3.0 } else { 2.0 };
        let way = math::atan2(y, x) - TAU * self.seed.unit(6);
        let longer = 1.0 + 0.18 * math::cos(rifts * way) * far.min(1.0);
        let uneven = 1.0 + 0.2 * wander(self.seed.child("flanks"), [1.3 * x, 1.3 * y]);
        let far = far / (longer * uneven);
        let left = (1.0 - far).max(0.0);
        self.rate * left * (0.35 + 0.65 * left)
    }
}

/// A place along and across a direction, clockwise from north; across is to the right.
fn turned([x, y]: [f64; 2], axis_deg: f64) -> [f64; 2] {
    let axis = axis_deg.to_radians();
    let (sin, cos) = (math::sin(axis), math::cos(axis));
    [x * sin + y * cos, x * cos - y * sin]
}

impl PlacedBelt {
    fn rate(&self, at: [f64; 2]) -> f64 {
        let params = &self.params;
        let beside = self.line.beside(at, false);
        let half = 0.5 * params.width_m;
        let (right, left) = (half * (1.0 - params.asymmetry), half * (1.0 + params.asymmetry));
        let far = beside.right_m / if beside.right_m > 0.0 { right } else { left };
        let profile = bump(far * far);
        if profile == 0.0 {
            return 0.0;
        }
        let folds = if params.folds > 0.0 {
            // Folds add nothing to the mean: about four tenths of the belt lie on one.
            1.0 - params.folds + params.folds * 1.9 * self.folds([beside.along_m, beside.right_m])
        } else {
            1.0
        };
        params.rate_mm_per_yr * profile * folds
    }

    /// Folds at a place along and right of the belt: bricks in rows, each an elongated dome that plunges at both ends. A brick is
    /// four fifths of a fold long, so that the end of one overlaps the beginning of the next.
    fn folds(&self, [along, right]: [f64; 2]) -> f64 {
        let params = &self.params;
        let turn = params.echelon_deg.to_radians();
        let (sin, cos) = (math::sin(turn), math::cos(turn));
        let along_m = along * cos + right * sin;
        let across_m = right * cos - along * sin;
        // Crests are not straight.
        let bend = wander(
            self.seed.child("bends"),
            [along_m / (0.7 * params.fold_length_m), across_m / (3.0 * params.fold_spacing_m)],
        );
        let across = across_m / params.fold_spacing_m + 0.35 * bend;
        let brick_m = 0.8 * params.fold_length_m;
        let row = across.round();
        let mut sum = 0.0;
        for row in [row - 1.0, row, row + 1.0] {
            let own_row = Seed(self.seed.child("folds").bits(row as i64 as u64));
            let x = along_m / brick_m + own_row.unit(0);
            let brick = x.floor();
            for brick in [brick - 1.0, brick, brick + 1.0] {
                let own = Seed(own_row.bits2(brick as i64, 1));
                let off = across - row - 0.5 * (own.unit(0) - 0.5);
                let wide = 0.48 + 0.2 * own.unit(1);
                let x = x - brick - 0.5 - 0.3 * (own.unit(2) - 0.5);
                let long = 0.5 / 0.8 * (0.75 + 0.5 * own.unit(3));
                let from_end = (1.0 - x.abs() / long) / params.plunge;
                if from_end > 0.0 {
                    let end = from_end.min(1.0);
                    let end = end * end * (3.0 - 2.0 * end);
                    sum += (0.6 + 0.6 * own.unit(4)) * end * bump(off * off / (wide * wide));
                }
            }
        }
        sum
    }
}

impl PlacedBlocks {
    /// Faults in rows, end beside end. Beside a fault its footwall rises and its hanging wall sinks, less and less away from it and
    /// towards its ends; between two that overlap the ground passes from the one to the other as a ramp.
    fn rate(&self, at: [f64; 2]) -> f64 {
        let params = &self.params;
        let [along_m, across_m] = turned([at[0] - self.middle[0], at[1] - self.middle[1]], params.axis_deg);
        let bends = wander(
            self.seed.child("bends"),
            [along_m / (0.5 * params.length_m), across_m / (4.0 * params.spacing_m)],
        );
        let across = across_m / params.spacing_m + params.wander * bends;
        let row = across.round();
        let mut sum = 0.0;
        for row in [row - 2.0, row - 1.0, row, row + 1.0, row + 2.0] {
            let own_row = Seed(self.seed.child("faults").bits(row as i64 as u64));
            let x = along_m / params.length_m + own_row.unit(0);
            let piece = x.floor();
            for piece in [piece - 1.0, piece, piece + 1.0] {
                let own = Seed(own_row.bits2(piece as i64, 1));
                let off = across - row - 0.5 * (own.unit(0) - 0.5);
                let from_middle = (x - piece - 0.5) / (0.6 + 0.2 * own.unit(1));
                let left = 1.0 - from_middle * from_middle;
                if left <= 0.0 {
                    continue;
                }
                let off = if own.unit(2) < params.flipped { -off } else { off };
                let strength = (0.7 + 0.6 * own.unit(3)) * left.sqrt();
                sum += strength * tilted(off, params.sinking);
            }
        }
        params.rate_mm_per_yr * sum
    }
}

/// A block from its fault on, in spacings: it rises at 0 and to the right, less and less; to the left it sinks. The fault is a zone
/// a fiftieth of a spacing wide.
fn tilted(off: f64, sinking: f64) -> f64 {
    let fade = |far: f64| {
        let left = (1.0 - far).max(0.0);
        left * (0.6 + 0.4 * left)
    };
    let rises = fade(off.max(0.0) / 0.85);
    let sinks = -sinking * fade((-off).max(0.0) / 0.85);
    let t = (0.5 + off / 0.02).clamp(0.0, 1.0);
    sinks + t * t * (3.0 - 2.0 * t) * (rises - sinks)
}

/// The direction of the land's grain.
pub(super) enum Grain {
    /// Along a line, which goes on at both ends.
    Line(Line),
    /// The same everywhere, clockwise from north.
    Direction(f64),
}

impl Grain {
    /// A place along and across the grain, in metres.
    pub fn at(&self, at: [f64; 2]) -> [f64; 2] {
        match self {
            Self::Line(line) => {
                let beside = line.beside(at, true);
                [beside.along_m, beside.right_m]
            }
            Self::Direction(axis_deg) => turned(at, *axis_deg),
        }
    }
}

/// The grain that a structure gives.
pub(super) fn grain(structure: &Placed, seed: Seed) -> Grain {
    match structure {
        Placed::Belt(belt) => Grain::Line(belt.line.clone()),
        Placed::Chain { line, .. } => Grain::Line(line.clone()),
        Placed::Blocks(blocks) => Grain::Direction(blocks.params.axis_deg),
        Placed::Dome { params, .. } if params.elongation > 1.0 => Grain::Direction(params.axis_deg),
        Placed::Dome { .. } => Grain::Direction((PI * seed.unit(7)).to_degrees()),
    }
}
