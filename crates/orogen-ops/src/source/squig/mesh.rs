//! Triangles whose edges are entries, exits or neutral, cut into four again and again.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use orogen_core::{Rect, Seed, math};

use super::{Side, Squig};
use crate::noise::Noise;

/// The rank of an edge that no water crosses.
pub(super) const NEUTRAL: u8 = u8::MAX;
/// The rank of edges that the main river crosses; tributaries have the number of the cut that they were born in.
pub(super) const TRUNK: u8 = 0;
/// How far the middle of an edge is moved along it and across it, in lengths of the edge.
const JITTER: [f64; 2] = [0.15, 0.2];
/// Twice the area of a triangle against the square of its longest edge: no cut makes a slimmer one. It is 0.87 with
/// three equal edges and 0.5 in half a square.
const SLIMMEST: f64 = 0.25;
/// How far an edge's middle is moved at random: at first, when that makes a triangle too slim, and at last.
const CAUTION: [f64; 3] = [1.0, 0.5, 0.0];
/// Waves that bend the lines of the first cuts: their length and how far they move a place, both in shorter sides of the
/// frame. Steep enough waves would fold the land; these do not.
const BENDS: [(f64, f64); 2] = [(0.5, 0.04), (0.17, 0.012)];
/// Most rows of triangles before the first cut.
const ROWS: f64 = 4.0;

#[derive(Clone, Copy, Debug)]
pub(super) struct Edge {
    pub ends: [u32; 2],
    pub rank: u8,
    pub border: bool,
}

/// Edge `k` joins corners `k` and `k + 1`. Water leaves by one edge and enters by the others that are not neutral.
#[derive(Clone, Copy, Debug)]
pub(super) struct Triangle {
    pub corners: [u32; 3],
    pub edges: [u32; 3],
    pub exit: u8,
}

#[derive(Clone, Debug)]
pub(super) struct Mesh {
    pub points: Vec<[f64; 2]>,
    pub edges: Vec<Edge>,
    pub triangles: Vec<Triangle>,
    pub inlet: u32,
    pub outlet: u32,
}

impl Mesh {
    /// Triangles about as wide as high over a rectangle, and a tree of ways through them all to the outlet: the
    /// cheapest, where crossing an edge costs a random amount.
    pub fn over(rect: &Rect, params: &Squig, seed: Seed) -> Self {
        let (points, corners) = lattice(rect, params.spacing_m);
        let mut number = BTreeMap::new();
        let mut edges: Vec<Edge> = Vec::new();
        let mut beside: Vec<[usize; 2]> = Vec::new();
        let mut triangles = Vec::with_capacity(corners.len());
        for (t, corners) in corners.into_iter().enumerate() {
            let sides = [0, 1, 2].map(|k| {
                let ends = [corners[k], corners[(k + 1) % 3]];
                let e = *number.entry([ends[0].min(ends[1]), ends[0].max(ends[1])]).or_insert(edges.len());
                if e == edges.len() {
                    edges.push(Edge { ends, rank: NEUTRAL, border: true });
                    beside.push([t, t]);
                } else {
                    edges[e].border = false;
                    beside[e][1] = t;
                }
                e as u32
            });
            triangles.push(Triangle { corners, edges: sides, exit: 0 });
        }
        // Near the middles of the sides, and never in one triangle.
        let crossing = |side: Side, not: Option<usize>, draw: f64| {
            let (axis, high) = match side {
                Side::North => (1, true),
                Side::East => (0, true),
                Side::South => (1, false),
                Side::West => (0, false),
            };
            let on = if high { rect.max[axis] } else { rect.min[axis] };
            let along = 1 - axis;
            let wanted = rect.min[along] + rect.size()[along] * (0.5 + 0.3 * (draw - 0.5));
            let off = |e: usize| {
                let [a, b] = edges[e].ends.map(|p| points[p as usize][along]);
                (0.5 * (a + b) - wanted).abs()
            };
            (0..edges.len())
                .filter(|&e| edges[e].ends.iter().all(|&p| points[p as usize][axis] == on))
                .filter(|&e| not.is_none_or(|t| beside[e][0] != t))
                .min_by(|&a, &b| off(a).total_cmp(&off(b)))
                .unwrap_or(0)
        };
        let outlet = crossing(params.outlet, None, seed.unit(0));
        let inlet = crossing(params.inlet, Some(beside[outlet][0]), seed.unit(1));
        let own_seed = seed.child("ways");
        let cost = |e: usize| (1e6 * (0.5 + (0.5 + params.wander) * own_seed.unit(e as u64))) as u64;
        let mut exits = vec![usize::MAX; triangles.len()];
        let mut heap = BinaryHeap::from([Reverse((0u64, outlet, beside[outlet][0]))]);
        while let Some(Reverse((far, exit, t))) = heap.pop() {
            if exits[t] != usize::MAX {
                continue;
            }
            exits[t] = exit;
            for e in triangles[t].edges.map(|e| e as usize) {
                if !edges[e].border && e != exit {
                    let next = beside[e][usize::from(beside[e][0] == t)];
                    heap.push(Reverse((far + cost(e), e, next)));
                }
            }
        }
        for (triangle, &exit) in triangles.iter_mut().zip(&exits) {
            edges[exit].rank = 1;
            triangle.exit = triangle.edges.iter().position(|&e| e as usize == exit).unwrap_or(0) as u8;
        }
        edges[inlet].rank = TRUNK;
        let mut here = beside[inlet][0];
        loop {
            edges[exits[here]].rank = TRUNK;
            if exits[here] == outlet {
                break;
            }
            here = beside[exits[here]][usize::from(beside[exits[here]][0] == here)];
        }
        Self { points, edges, triangles, inlet: inlet as u32, outlet: outlet as u32 }
    }

    /// Cuts every triangle into four: three at its corners and one in the middle.
    ///
    /// Each half of an entry or exit is one again or neutral. In a triangle the water of the corner with the exit
    /// comes from the middle, and all water of the other corners goes there:
    ///
    /// ```text
    ///        exit ▲                 the river comes in on the left and leaves on the right;
    ///      ______/____              the lower right corner is neutral on the outside,
    ///      \  c /\   /              and its spring feeds the middle
    ///       \  /←·\ /
    ///  in →  \/ → ←/ spring
    ///         \  /
    ///          \/
    /// ```
    pub fn cut(&self, number: u8, params: &Squig, seed: Seed) -> Self {
        let middles = self.middles(seed.child("middles"));
        let halves = self.halves(params.wander, seed.child("halves"));
        let (count, edge_count) = (self.points.len() as u32, self.edges.len() as u32);
        let mut points = self.points.clone();
        points.extend(middles);
        let mut edges = Vec::with_capacity(2 * self.edges.len() + 3 * self.triangles.len());
        for (e, edge) in self.edges.iter().enumerate() {
            for half in 0..2 {
                let mut ends = [count + e as u32; 2];
                ends[half] = edge.ends[half];
                let rank = if half == usize::from(halves[e]) { edge.rank } else { NEUTRAL };
                edges.push(Edge { ends, rank, border: edge.border });
            }
        }
        let mut triangles = Vec::with_capacity(4 * self.triangles.len());
        for (t, triangle) in self.triangles.iter().enumerate() {
            let exit = usize::from(triangle.exit);
            // The corner at which water crosses an edge.
            let corner = |k: usize| {
                let e = triangle.edges[k] as usize;
                let end = self.edges[e].ends[usize::from(halves[e])];
                if end == triangle.corners[k] { k } else { (k + 1) % 3 }
            };
            let half = |k: usize, at: u32| {
                let e = triangle.edges[k];
                2 * e + u32::from(self.edges[e as usize].ends[0] != at)
            };
            let middle = |k: usize| count + triangle.edges[k];
            let inner = |k: usize| 2 * edge_count + 3 * t as u32 + k as u32;
            let mouth = corner(exit);
            let mut ranks = [number; 3];
            for k in 0..3 {
                let rank = self.edges[triangle.edges[k] as usize].rank;
                if k != exit && rank != NEUTRAL {
                    let at = corner(k);
                    ranks[at] = ranks[at].min(rank);
                }
            }
            ranks[mouth] = ranks[(mouth + 1) % 3].min(ranks[(mouth + 2) % 3]);
            for k in 0..3 {
                let before = (k + 2) % 3;
                edges.push(Edge { ends: [middle(k), middle(before)], rank: ranks[k], border: false });
                let at = triangle.corners[k];
                // From the corner: along its edge, across to the edge before, and back.
                let exit = if k != mouth {
                    1
                } else if exit == k {
                    0
                } else {
                    2
                };
                triangles.push(Triangle {
                    corners: [at, middle(k), middle(before)],
                    edges: [half(k, at), inner(k), half(before, at)],
                    exit,
                });
            }
            triangles.push(Triangle {
                corners: [middle(0), middle(1), middle(2)],
                edges: [inner(1), inner(2), inner(0)],
                exit: ((mouth + 2) % 3) as u8,
            });
        }
        let wet = |edge: u32| 2 * edge + u32::from(halves[edge as usize]);
        Self { points, edges, triangles, inlet: wet(self.inlet), outlet: wet(self.outlet) }
    }

    /// Bends all lines, but leaves the border where it is.
    pub fn bend(&mut self, rect: &Rect, seed: Seed) {
        let size = rect.size();
        let side = size[0].min(size[1]);
        for (number, (length, reach)) in BENDS.iter().enumerate() {
            let waves = [0, 1].map(|k| Noise::new(Seed(seed.bits(2 * number as u64 + k))));
            for p in &mut self.points {
                let at = [0, 1].map(|k| (p[k] - rect.min[k]) / (length * side) + 0.37);
                for (k, wave) in waves.iter().enumerate() {
                    // Along the border places may move, but not off it.
                    let share = (p[k] - rect.min[k]) / size[k];
                    let free = 4.0 * share * (1.0 - share);
                    p[k] += free * reach * side * f64::from(wave.at(at[0], at[1]));
                }
            }
        }
    }

    /// Where edges are cut: near their middles, moved at random as far as no triangle gets too slim.
    fn middles(&self, seed: Seed) -> Vec<[f64; 2]> {
        let middle = |e: usize, by: f64| {
            let edge = &self.edges[e];
            let [a, b] = edge.ends.map(|p| self.points[p as usize]);
            let draw = |k: u64| by * (2.0 * seed.unit(2 * e as u64 + k) - 1.0);
            let along = 0.5 + JITTER[0] * draw(0);
            let across = if edge.border { 0.0 } else { JITTER[1] * draw(1) };
            let way = [b[0] - a[0], b[1] - a[1]];
            [a[0] + along * way[0] - across * way[1], a[1] + along * way[1] + across * way[0]]
        };
        let mut middles: Vec<_> = (0..self.edges.len()).map(|e| middle(e, 1.0)).collect();
        // Cuts in the very middle make four triangles of the shape of the one, so this ends.
        let mut caution = vec![0; self.edges.len()];
        loop {
            let mut changed = false;
            for triangle in &self.triangles {
                let corners = triangle.corners.map(|p| self.points[p as usize]);
                let m = triangle.edges.map(|e| middles[e as usize]);
                let least = SLIMMEST.min(fullness(corners));
                let parts = [
                    [corners[0], m[0], m[2]],
                    [corners[1], m[1], m[0]],
                    [corners[2], m[2], m[1]],
                    [m[0], m[1], m[2]],
                ];
                let way = signed(corners).signum();
                if parts.iter().all(|p| way * signed(*p) > 0.0 && fullness(*p) >= least * (1.0 - 1e-9)) {
                    continue;
                }
                for e in triangle.edges.map(|e| e as usize) {
                    if caution[e] + 1 < CAUTION.len() {
                        caution[e] += 1;
                        middles[e] = middle(e, CAUTION[caution[e]]);
                        changed = true;
                    }
                }
            }
            if !changed {
                return middles;
            }
        }
    }

    /// Which half of each edge the water crosses. Drawn at random, or the shorter way: round the corner that the triangles
    /// on both sides are passed round.
    fn halves(&self, wander: f64, seed: Seed) -> Vec<u8> {
        let mut votes = vec![[0u8; 2]; self.edges.len()];
        for triangle in &self.triangles {
            let Some(entry) = self.entry(triangle) else { continue };
            let [entry, exit] = [triangle.edges[entry], triangle.edges[usize::from(triangle.exit)]];
            let [a, b] = [entry, exit].map(|e| self.edges[e as usize].ends);
            for (end, vote) in a.iter().zip(&mut votes[entry as usize]) {
                *vote += u8::from(b.contains(end));
            }
            for (end, vote) in b.iter().zip(&mut votes[exit as usize]) {
                *vote += u8::from(a.contains(end));
            }
        }
        let half = |(e, votes): (usize, &[u8; 2])| {
            let [pick, stray] = [0, 1].map(|k| seed.unit(2 * e as u64 + k));
            if votes[0] != votes[1] && stray >= wander {
                u8::from(votes[1] > votes[0])
            } else {
                u8::from(pick < 0.5)
            }
        };
        votes.iter().enumerate().map(half).collect()
    }

    /// The entry of the lowest rank.
    pub fn entry(&self, triangle: &Triangle) -> Option<usize> {
        self.entries(triangle).min_by_key(|&k| self.edges[triangle.edges[k] as usize].rank)
    }

    /// All entries, 0 to 2.
    pub fn entries<'a>(&'a self, triangle: &'a Triangle) -> impl Iterator<Item = usize> + 'a {
        (0..3).filter(|&k| {
            k != usize::from(triangle.exit) && self.edges[triangle.edges[k] as usize].rank != NEUTRAL
        })
    }

    /// The corners of a triangle.
    pub fn corners(&self, triangle: &Triangle) -> [[f64; 2]; 3] {
        triangle.corners.map(|p| self.points[p as usize])
    }

    /// Length of the longest edge.
    pub fn longest(&self) -> f64 {
        let length = |edge: &Edge| {
            let [a, b] = edge.ends.map(|p| self.points[p as usize]);
            math::hypot(a[0] - b[0], a[1] - b[1])
        };
        self.edges.iter().map(length).fold(0.0, f64::max)
    }
}

/// Points and corners of the first triangles: rows along the longer side, every other one moved by half a triangle.
fn lattice(rect: &Rect, spacing_m: f64) -> (Vec<[f64; 2]>, Vec<[u32; 3]>) {
    let size = rect.size();
    let (long, short) = if size[0] >= size[1] { (0, 1) } else { (1, 0) };
    let (wide, rows) = first(rect, spacing_m);
    let count = (size[long] / wide).round().clamp(2.0, 300.0) as u32;
    let mut points = Vec::new();
    let mut starts = Vec::new();
    for line in 0..=rows {
        starts.push(points.len() as u32);
        let odd = line % 2 == 1;
        for i in 0..=count + u32::from(odd) {
            let along = f64::from(i) - if odd { 0.5 } else { 0.0 };
            let mut p = rect.min;
            p[long] = (rect.min[long] + size[long] * (along / f64::from(count)).clamp(0.0, 1.0))
                .min(rect.max[long]);
            p[short] = rect.min[short] + size[short] * f64::from(line) / f64::from(rows);
            if along >= f64::from(count) {
                p[long] = rect.max[long];
            }
            if line == rows {
                p[short] = rect.max[short];
            }
            points.push(p);
        }
    }
    let mut corners = Vec::new();
    for line in 0..rows as usize {
        let (low, high) = (starts[line], starts[line + 1]);
        if line % 2 == 0 {
            corners.extend((0..=count).map(|i| [low + i, high + i + 1, high + i]));
            corners.extend((0..count).map(|i| [low + i, low + i + 1, high + i + 1]));
        } else {
            corners.extend((0..=count).map(|i| [low + i, low + i + 1, high + i]));
            corners.extend((0..count).map(|i| [low + i + 1, high + i + 1, high + i]));
        }
    }
    (points, corners)
}

/// Width of the first triangles and their rows across the shorter side of the frame: no more than leave triangles
/// as wide as streams are apart.
pub(super) fn first(rect: &Rect, spacing_m: f64) -> (f64, u32) {
    let size = rect.size();
    let (side, high) = (size[0].min(size[1]), 0.75f64.sqrt());
    let rows = (side / (2.0 * high * spacing_m)).round().clamp(1.0, ROWS);
    (side / (rows * high), rows as u32)
}

/// Twice the area, positive counter-clockwise.
pub(super) fn signed([a, b, c]: [[f64; 2]; 3]) -> f64 {
    (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])
}

fn fullness(corners: [[f64; 2]; 3]) -> f64 {
    let square = |a: [f64; 2], b: [f64; 2]| (a[0] - b[0]) * (a[0] - b[0]) + (a[1] - b[1]) * (a[1] - b[1]);
    let [a, b, c] = corners;
    signed(corners).abs() / square(a, b).max(square(b, c)).max(square(c, a))
}
