//! Which tiles to draw: a square of land, split into four where it is near.
//!
//! ```text
//! longest side of a quad  s_max = sqrt(d) / (T · F)
//! ```
//!
//! with `d` the distance of the tile in metres, `T` the quality and `F` what the land around needs (after S. Zaaijer's thesis on
//! endless terrain). Neighbours differ by one level at most.

use std::collections::{BTreeMap, BTreeSet};

use orogen_core::Rect;

use crate::camera::{Camera, EARTH_M, curve_m};
use crate::pattern::{EAST, NORTH, SOUTH, WEST};
use crate::vec3::{Vec3, dot};

/// Quads along a side of a tile.
pub const QUADS: usize = 64;

/// A square of the land: its level, 0 for all of it, and its column from the west and row from the south.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Node {
    /// How many times the whole was split.
    pub level: u8,
    /// From the west.
    pub x: u32,
    /// From the south.
    pub y: u32,
}

impl Node {
    /// All of the land.
    pub(crate) const WHOLE: Self = Self { level: 0, x: 0, y: 0 };

    /// The square that was split into this one and three others.
    pub(crate) fn parent(self) -> Option<Self> {
        (self.level > 0).then(|| self.ancestor(self.level - 1))
    }

    pub(crate) fn children(self) -> [Self; 4] {
        [(0, 0), (1, 0), (0, 1), (1, 1)].map(|(x, y)| Self {
            level: self.level + 1,
            x: 2 * self.x + x,
            y: 2 * self.y + y,
        })
    }

    /// The square of a level that holds this one.
    pub(crate) fn ancestor(self, level: u8) -> Self {
        let by = self.level - level;
        Self { level, x: self.x >> by, y: self.y >> by }
    }

    /// The square of the same size next to it; `None` beyond the whole.
    #[must_use]
    pub fn beside(self, dx: i64, dy: i64) -> Option<Self> {
        let side = 1i64 << self.level;
        let (x, y) = (i64::from(self.x) + dx, i64::from(self.y) + dy);
        ((0..side).contains(&x) && (0..side).contains(&y)).then_some(Self {
            x: x as u32,
            y: y as u32,
            ..self
        })
    }
}

/// The square that is split.
#[derive(Clone, Copy, Debug)]
pub struct Root {
    /// Its south-west corner.
    pub origin_m: [f64; 2],
    /// Its side.
    pub size_m: f64,
}

impl Root {
    /// The side of a node.
    #[must_use]
    pub fn side_m(&self, level: u8) -> f64 {
        self.size_m / f64::from(1u32 << level)
    }

    /// Where a node lies.
    #[must_use]
    pub fn rect(&self, node: Node) -> Rect {
        let side = self.side_m(node.level);
        // Edges come from whole numbers, so that neighbours agree on them to the bit.
        let edge = |axis: usize, at: u32| self.origin_m[axis] + f64::from(at) * side;
        Rect { min: [edge(0, node.x), edge(1, node.y)], max: [edge(0, node.x + 1), edge(1, node.y + 1)] }
    }
}

/// What is known of the land of a node.
pub trait Known {
    /// The lowest and highest land, in metres.
    fn heights(&self, node: Node) -> [f64; 2];
    /// How finely it must be split: `F`.
    fn detail(&self, node: Node) -> f64;
    /// How far overhangs move the ground, at most.
    fn moved(&self) -> f64;
    /// Nothing is lower, the sea included.
    fn floor(&self) -> f64;
}

/// What decides how finely land is split.
pub struct Metric<'a> {
    /// The eye.
    pub camera: &'a Camera,
    /// Width over height of the picture.
    pub aspect: f64,
    /// The quality `T`.
    pub quality: f64,
    /// What is known of the land.
    pub known: &'a dyn Known,
    /// The finest level that there may be.
    pub finest: u8,
}

/// Tiles that cover the whole square, by node, with the sides on which their neighbour is coarser.
pub type Tiles = BTreeMap<Node, usize>;

/// Splits the land as finely as the metric asks, then as neighbours need it.
#[must_use]
pub fn split(root: &Root, metric: &Metric<'_>) -> Tiles {
    let mut leaves = BTreeSet::new();
    let mut open = vec![Node { level: 0, x: 0, y: 0 }];
    while let Some(node) = open.pop() {
        if node.level < metric.finest && wants_split(root, metric, node) {
            open.extend(node.children());
        } else {
            leaves.insert(node);
        }
    }
    balance(&mut leaves);
    leaves.iter().map(|&node| (node, coarser_sides(&leaves, node))).collect()
}

fn wants_split(root: &Root, metric: &Metric<'_>, node: Node) -> bool {
    let volume = Volume::of(root, metric, node);
    if !volume.is_seen(metric) {
        return false;
    }
    metric.needed_at(root, node, volume.distance()) > 1.0
}

impl Metric<'_> {
    /// How many times longer the quads of a node are than they may be.
    pub(crate) fn needed(&self, root: &Root, node: Node) -> f64 {
        self.needed_at(root, node, Volume::of(root, self, node).distance())
    }

    fn needed_at(&self, root: &Root, node: Node, distance: f64) -> f64 {
        let longest = self.camera.longest_quad_m(distance.max(1e-3), self.quality * self.known.detail(node));
        root.side_m(node.level) / QUADS as f64 / longest
    }
}

/// The box around a tile's land, seen from the eye.
pub(crate) struct Volume {
    min: Vec3,
    max: Vec3,
    /// Whether the Earth itself stands before it.
    sunk: bool,
}

impl Volume {
    pub(crate) fn of(root: &Root, metric: &Metric<'_>, node: Node) -> Self {
        let (rect, [low, high]) = (root.rect(node), metric.known.heights(node));
        let (moved, floor) = (metric.known.moved(), metric.known.floor());
        let (rect, low, high) = (rect.grown([moved, moved]), low - moved, high + moved);
        let eye = metric.camera.eye;
        // The nearest and the farthest of it sink differently.
        let [near, far] = distances(&rect, eye);
        let horizon = (2.0 * EARTH_M * (eye[2] - floor).max(0.0)).sqrt();
        // A plan lies on a plane.
        let round = metric.camera.wide_m.is_none();
        let sinks = |distance: f64| if round { curve_m(distance) } else { 0.0 };
        Self {
            min: [rect.min[0] - eye[0], rect.min[1] - eye[1], low - sinks(far) - eye[2]],
            max: [rect.max[0] - eye[0], rect.max[1] - eye[1], high - sinks(near) - eye[2]],
            sunk: round && near > horizon && high - floor < curve_m(near - horizon),
        }
    }

    pub(crate) fn distance(&self) -> f64 {
        let out = [0, 1, 2].map(|i| self.min[i].max(-self.max[i]).max(0.0));
        dot(out, out).sqrt()
    }

    pub(crate) fn is_seen(&self, metric: &Metric<'_>) -> bool {
        !self.sunk && metric.camera.sees(metric.aspect, self.min, self.max)
    }
}

/// The least and the greatest distance on the map from a place to a rectangle.
fn distances(rect: &Rect, eye: Vec3) -> [f64; 2] {
    let near = [0, 1].map(|i| (rect.min[i] - eye[i]).max(eye[i] - rect.max[i]).max(0.0));
    let far = [0, 1].map(|i| (rect.min[i] - eye[i]).abs().max((rect.max[i] - eye[i]).abs()));
    [near, far].map(|[x, y]| (x * x + y * y).sqrt())
}

pub(crate) const SIDES: [(usize, i64, i64); 4] = [(NORTH, 0, 1), (EAST, 1, 0), (SOUTH, 0, -1), (WEST, -1, 0)];

/// The leaf that holds a node, if it is as coarse as that or coarser.
pub(crate) fn leaf_over<V>(find: impl Fn(Node) -> Option<V>, node: Node) -> Option<(Node, V)> {
    (0..=node.level).rev().map(|level| node.ancestor(level)).find_map(|n| Some((n, find(n)?)))
}

/// Splits leaves until neighbours differ by one level at most.
fn balance(leaves: &mut BTreeSet<Node>) {
    let mut open: Vec<Node> = leaves.iter().copied().collect();
    while let Some(node) = open.pop() {
        if !leaves.contains(&node) || node.level < 2 {
            continue;
        }
        for (_, dx, dy) in SIDES {
            let Some(beside) = node.beside(dx, dy) else { continue };
            let over = leaf_over(|n| leaves.contains(&n).then_some(()), beside);
            if let Some((coarse, ())) = over.filter(|(coarse, ())| coarse.level + 1 < node.level) {
                leaves.remove(&coarse);
                leaves.extend(coarse.children());
                open.extend(coarse.children());
                // It may need more than one split.
                open.push(node);
            }
        }
    }
}

pub(crate) fn coarser_sides(leaves: &BTreeSet<Node>, node: Node) -> usize {
    let is_coarser = |(_, dx, dy): &(usize, i64, i64)| {
        let over = node.beside(*dx, *dy).and_then(|n| leaf_over(|n| leaves.contains(&n).then_some(()), n));
        over.is_some_and(|(n, ())| n.level < node.level)
    };
    SIDES.iter().filter(|side| is_coarser(side)).map(|(side, ..)| side).sum()
}

#[cfg(test)]
mod tests {
    use orogen_core::Seed;

    use super::*;

    struct Even {
        heights: [f64; 2],
        uneven: f64,
    }

    impl Known for Even {
        fn heights(&self, _: Node) -> [f64; 2] {
            self.heights
        }

        fn detail(&self, node: Node) -> f64 {
            1.0 + self.uneven * f64::from(node.x % 3)
        }

        fn moved(&self) -> f64 {
            0.0
        }

        fn floor(&self) -> f64 {
            self.heights[0]
        }
    }

    #[test]
    fn neighbours_differ_by_one_level_at_most_and_nothing_is_left_out() {
        let root = Root { origin_m: [-500.0, 200.0], size_m: 40_000.0 };
        let seed = Seed::from_text("cameras");
        for i in 0..200 {
            let random = |j: u64| seed.unit(i * 8 + j);
            let eye = [
                random(0) * 50_000.0 - 5000.0,
                random(1) * 50_000.0 - 5000.0,
                random(2) * random(3) * 9000.0,
            ];
            let target = [random(4) * 40_000.0, random(5) * 40_000.0, random(6) * 1000.0];
            let camera = Camera { eye, target, view_deg: 30.0 + 60.0 * random(7), wide_m: None };
            let metric = Metric {
                camera: &camera,
                aspect: 1.5,
                quality: 3.0,
                known: &Even { heights: [-100.0, 2000.0], uneven: 1.0 },
                finest: 12,
            };
            let tiles = split(&root, &metric);
            // In units of the finest tiles, all areas together are the whole.
            let area: u64 = tiles.keys().map(|n| 1u64 << (2 * (12 - n.level))).sum();
            assert_eq!(area, 1 << 24, "camera {i}: {camera:?}");
            for (&node, &coarser) in &tiles {
                for (side, dx, dy) in SIDES {
                    let Some(beside) = node.beside(dx, dy) else { continue };
                    if let Some((over, _)) = leaf_over(|n| tiles.get(&n), beside) {
                        assert!(over.level + 1 >= node.level, "camera {i}: {node:?} beside {over:?}");
                        assert_eq!(coarser & side != 0, over.level < node.level);
                    } else {
                        // Finer ones; they see to it themselves.
                        assert_eq!(coarser & side, 0);
                    }
                }
            }
        }
    }

    #[test]
    fn near_tiles_are_fine_and_unseen_ones_are_coarse() {
        let root = Root { origin_m: [0.0, 0.0], size_m: 32_768.0 };
        let camera = Camera {
            eye: [16_000.0, 16_000.0, 50.0],
            target: [16_000.0, 30_000.0, 0.0],
            view_deg: 60.0,
            wide_m: None,
        };
        let metric = Metric {
            camera: &camera,
            aspect: 1.5,
            quality: 4.0,
            known: &Even { heights: [0.0, 40.0], uneven: 0.0 },
            finest: 14,
        };
        let tiles = split(&root, &metric);
        let at = |x: f64, y: f64| {
            let holds = |n: &&Node| {
                let rect = root.rect(**n);
                (rect.min[0]..rect.max[0]).contains(&x) && (rect.min[1]..rect.max[1]).contains(&y)
            };
            tiles.keys().find(holds).map_or(0, |n| n.level)
        };
        for distance in [100.0f64, 400.0, 1600.0, 6400.0] {
            let quad = root.side_m(at(16_010.0, 16_000.0 + distance)) / QUADS as f64;
            assert!(quad <= distance.sqrt() / 4.0 + 1e-9, "{quad} at {distance}");
        }
        assert!(at(16_010.0, 16_100.0) > at(16_010.0, 22_000.0));
        assert!(at(16_010.0, 4000.0) <= 3);
    }

    #[test]
    fn what_lies_beyond_the_horizon_is_not_seen_unless_it_is_high() {
        let root = Root { origin_m: [0.0, 0.0], size_m: 400_000.0 };
        let camera = Camera {
            eye: [1000.0, 1000.0, 20.0],
            target: [2000.0, 2000.0, 20.0],
            view_deg: 60.0,
            wide_m: None,
        };
        let seen = |high: f64| {
            let known = Even { heights: [0.0, high], uneven: 0.0 };
            let metric = Metric { camera: &camera, aspect: 1.5, quality: 1.0, known: &known, finest: 10 };
            // The horizon of an eye at 20 m is 16 km away; at 283 km a mountain needs 5600 m to look over it.
            Volume::of(&root, &metric, Node { level: 3, x: 4, y: 4 }).is_seen(&metric)
        };
        assert!(!seen(100.0) && !seen(5000.0) && seen(6200.0));
    }
}
