//! The lines that stems follow, with as many points as their shape needs.

use crate::frame::{Vec3, add, between, dot, scaled, sub, unit};
use crate::grow::{flare, tapered};
use crate::skeleton::{Skeleton, Stem};
use crate::species::Species;

/// A place along a stem.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    pub at: Vec3,
    pub radius: f64,
    pub from_foot: f64,
}

/// The points of all stems; those of a stem in a row.
pub struct Courses {
    pub points: Vec<Point>,
    /// First point of each stem, and one more for the end of the last.
    firsts: Vec<u32>,
}

/// Points closer than this are one, in metres.
const CLOSEST_M: f64 = 1e-3;
/// Thinnest that a stem is drawn, in metres.
const THINNEST_M: f64 = 3e-4;
/// From this number on, lobes are ribs of a skin, which branches have as well.
const RIBS: u32 = 8;
/// Where the foot of a trunk gets points of its own, as shares of its length: the flare lies within the first eighth.
const FLARE_AT: [f64; 4] = [0.012, 0.028, 0.05, 0.08];
/// Where a round end gets points of its own, in radii from its tip.
const ROUND_AT: [f64; 4] = [0.8, 0.45, 0.2, 0.05];

impl Courses {
    pub fn new(species: &Species, plant: &Skeleton) -> Self {
        let mut courses = Self {
            points: Vec::with_capacity(plant.nodes.len() + plant.nodes.len() / 8),
            firsts: Vec::with_capacity(plant.stems.len() + 1),
        };
        let last_level = species.levels.len().saturating_sub(1);
        for stem in &plant.stems {
            courses.firsts.push(courses.points.len() as u32);
            // Leaves stand on the straight pieces of the last level, which stays as it is.
            let is_smooth = stem.level < 2 && usize::from(stem.level) < last_level;
            courses.stem(species, plant, stem, is_smooth);
        }
        courses.firsts.push(courses.points.len() as u32);
        courses
    }

    pub fn range(&self, stem: usize) -> std::ops::Range<usize> {
        self.firsts[stem] as usize..self.firsts[stem + 1] as usize
    }

    pub fn of(&self, stem: usize) -> &[Point] {
        &self.points[self.range(stem)]
    }

    /// Radius of a stem above the flare of its foot.
    pub fn girth(&self, stem: usize) -> f64 {
        let points = self.of(stem);
        let Some(end) = points.last() else { return 0.0 };
        let above = points.iter().filter(|point| 8.0 * point.from_foot >= end.from_foot);
        above.map(|point| point.radius).fold(0.0, f64::max)
    }

    /// How many lobes a stem has.
    pub fn lobes(&self, species: &Species, stem: &Stem) -> u32 {
        let has_some = stem.level == 0 || species.lobes >= RIBS;
        if has_some && species.lobe_depth > 0.0 { species.lobes } else { 0 }
    }

    fn stem(&mut self, species: &Species, plant: &Skeleton, stem: &Stem, is_smooth: bool) {
        let first = self.points.len();
        let nodes = plant.nodes_of(stem);
        let length = f64::from(stem.length_m);
        let level = &species.levels[usize::from(stem.level).min(species.levels.len() - 1)];
        let place = |node: usize| nodes[node].at.map(f64::from);
        for (number, node) in nodes.iter().enumerate() {
            let at = place(number);
            let (radius, from_foot) = (f64::from(node.radius_m), f64::from(node.from_foot_m));
            if number > 0 {
                let before = Point {
                    at: place(number - 1),
                    radius: f64::from(nodes[number - 1].radius_m),
                    from_foot: f64::from(nodes[number - 1].from_foot_m),
                };
                let after = Point { at, radius, from_foot };
                if stem.level == 0 && !stem.is_clone && species.flare != 0.0 {
                    self.flared(species.flare, length, before, after);
                }
                if is_smooth && from_foot - before.from_foot > 4.0 * radius.max(0.02) {
                    let ahead = |node: usize| {
                        let [from, to] = [node.saturating_sub(1), (node + 1).min(nodes.len() - 1)];
                        unit(sub(place(to), place(from)))
                    };
                    let straight = between(before.at, after.at, 0.5);
                    let bulge = 0.125 * (from_foot - before.from_foot);
                    let at = add(straight, scaled(sub(ahead(number - 1), ahead(number)), bulge));
                    let middle = 0.5 * (before.from_foot + from_foot);
                    if 8.0 * middle > length || stem.level > 0 || species.flare == 0.0 {
                        self.push(
                            first,
                            Point { at, radius: 0.5 * (before.radius + radius), from_foot: middle },
                        );
                    }
                }
                if number + 1 == nodes.len() && level.taper > 1.0 && level.taper < 2.0 {
                    let thick =
                        f64::from(stem.radius_m) / if stem.level == 0 { 1.0 + species.flare } else { 1.0 };
                    self.rounded(level.taper, thick, length, before, after);
                }
            }
            self.push(first, Point { at, radius, from_foot });
        }
        // What is too short to be seen is not there.
        let points = &self.points[first..];
        let is_short = points.len() < 2 || {
            let across = sub(points[0].at, points[points.len() - 1].at);
            dot(across, across) < 4.0 * CLOSEST_M * CLOSEST_M
        };
        if is_short {
            self.points.truncate(first);
        }
    }

    /// Adds a point, unless it lies where the last does.
    fn push(&mut self, first: usize, mut point: Point) {
        point.radius = point.radius.max(0.0);
        let last = self.points[first..].last();
        if last.is_some_and(|last| point.from_foot - last.from_foot < CLOSEST_M) {
            return;
        }
        self.points.push(point);
    }

    /// Points between two that follow the flare of a trunk's foot.
    fn flared(&mut self, by: f64, length: f64, before: Point, after: Point) {
        let first = self.points.len() - 1;
        let plain = |point: Point| point.radius / flare(by, point.from_foot / length);
        for share in FLARE_AT {
            let from_foot = share * length;
            let t = (from_foot - before.from_foot) / (after.from_foot - before.from_foot);
            if t > 0.05 && t < 0.95 {
                let radius = (plain(before) + t * (plain(after) - plain(before))) * flare(by, share);
                self.push(first, Point { at: between(before.at, after.at, t), radius, from_foot });
            }
        }
    }

    /// Points between the last two that follow a round end.
    fn rounded(&mut self, taper: f64, thick: f64, length: f64, before: Point, after: Point) {
        let first = self.points.len() - 1;
        let wanted = tapered(taper, thick, length, before.from_foot / length);
        // The skeleton's radius may be scaled by what varies from trunk to trunk.
        let scale = if wanted > 0.0 { before.radius / wanted } else { 1.0 };
        let end = tapered(taper, thick, length, 1.0 - 1e-6 - thick / length);
        for radii in ROUND_AT {
            let from_foot = length - radii * end;
            let t = (from_foot - before.from_foot) / (after.from_foot - before.from_foot);
            if t > 0.02 && t < 0.98 {
                let radius = scale * tapered(taper, thick, length, from_foot / length);
                self.push(first, Point { at: between(before.at, after.at, t), radius, from_foot });
            }
        }
    }
}

/// A radius that can be drawn.
pub fn drawn(radius: f64) -> f64 {
    radius.max(THINNEST_M)
}
