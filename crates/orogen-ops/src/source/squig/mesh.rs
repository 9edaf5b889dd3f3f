//! Triangles whose edges are entries, exits or neutral, cut into four again and again.

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
/// How far luck moves the middle of an edge at first, when that makes a triangle too slim, and at last.
const CAUTION: [f64; 3] = [1.0, 0.5, 0.0];
/// Waves that bend the lines of the first cuts: their length and how far they move a place, both in shorter sides of the
/// frame. Steep enough waves would fold the land; these do not.
const BENDS: [(f64, f64); 2] = [(0.5, 0.085), (0.17, 0.02)];

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
    /// A strip of triangles over a rectangle. Water runs along the strip to the outlet.
    pub fn over(rect: &Rect, params: &Squig, seed: Seed) -> Self {
        let size = rect.size();
        let (long, short) = if size[0] >= size[1] { (0, 1) } else { (1, 0) };
        let cells = (size[long] / size[short]).round().clamp(1.0, 64.0) as usize;
        let point = |i: usize, top: bool| {
            let mut p = rect.min;
            p[long] = rect.min[long] + size[long] * i as f64 / cells as f64;
            p[short] = if top { rect.max[short] } else { rect.min[short] };
            p
        };
        // Along the strip: bottom and top points in turn.
        let points: Vec<[f64; 2]> = (0..=cells).flat_map(|i| [point(i, false), point(i, true)]).collect();
        let (upright, diagonal, bottom, top) = (0, cells + 1, 2 * cells + 1, 3 * cells + 1);
        // On the strip, whichever way it lies.
        let place = |side: Side| match (side, long == 0) {
            (Side::West, true) | (Side::South, false) => Place::First,
            (Side::East, true) | (Side::North, false) => Place::Last,
            (Side::South, true) | (Side::West, false) => Place::Bottom,
            (Side::North, true) | (Side::East, false) => Place::Top,
        };
        let edge_at = |place: Place| match place {
            Place::First => upright,
            Place::Last => upright + cells,
            Place::Bottom => bottom + cells / 2,
            Place::Top => top + cells / 2,
        };
        let (from, to) = (place(params.inlet), place(params.outlet));
        // A diagonal from the corner that both sides share keeps them in two triangles, so that the river runs through both.
        let rising = match (from, to) {
            (Place::First, Place::Bottom)
            | (Place::Bottom, Place::First)
            | (Place::Last, Place::Top)
            | (Place::Top, Place::Last) => true,
            (Place::First, Place::Top)
            | (Place::Top, Place::First)
            | (Place::Last, Place::Bottom)
            | (Place::Bottom, Place::Last) => false,
            _ => seed.bits(0) & 1 == 0,
        };
        let mut edges = vec![Edge { ends: [0; 2], rank: NEUTRAL, border: true }; 4 * cells + 1];
        let mut triangles = Vec::with_capacity(2 * cells);
        for i in 0..=cells {
            edges[upright + i].ends = [2 * i as u32, 2 * i as u32 + 1];
            edges[upright + i].border = i == 0 || i == cells;
        }
        for i in 0..cells {
            let [a, d, b, c] = [0, 1, 2, 3].map(|k| 2 * i as u32 + k);
            edges[diagonal + i].ends = if rising { [a, c] } else { [b, d] };
            edges[diagonal + i].border = false;
            edges[bottom + i].ends = [a, b];
            edges[top + i].ends = [d, c];
            let [left, right, diagonal, bottom, top] =
                [upright + i, upright + i + 1, diagonal + i, bottom + i, top + i].map(|e| e as u32);
            if rising {
                triangles.push(Triangle { corners: [a, c, d], edges: [diagonal, top, left], exit: 0 });
                triangles.push(Triangle { corners: [a, b, c], edges: [bottom, right, diagonal], exit: 0 });
            } else {
                triangles.push(Triangle { corners: [a, b, d], edges: [bottom, diagonal, left], exit: 0 });
                triangles.push(Triangle { corners: [b, c, d], edges: [right, top, diagonal], exit: 0 });
            }
        }
        let (inlet, outlet) = (edge_at(from) as u32, edge_at(to) as u32);
        let with = |edge: u32, triangles: &[Triangle]| {
            triangles.iter().position(|t| t.edges.contains(&edge)).unwrap_or(0)
        };
        let (source, mouth) = (with(inlet, &triangles), with(outlet, &triangles));
        let between =
            |t: usize| (if t.is_multiple_of(2) { diagonal + t / 2 } else { upright + t / 2 + 1 }) as u32;
        for t in 0..triangles.len() {
            let exit = match t.cmp(&mouth) {
                std::cmp::Ordering::Less => between(t),
                std::cmp::Ordering::Equal => outlet,
                std::cmp::Ordering::Greater => between(t - 1),
            };
            let on_trunk = (source.min(mouth)..=source.max(mouth)).contains(&t);
            edges[exit as usize].rank = if on_trunk { TRUNK } else { 1 };
            triangles[t].exit = triangles[t].edges.iter().position(|&e| e == exit).unwrap_or(0) as u8;
        }
        edges[inlet as usize].rank = TRUNK;
        Self { points, edges, triangles, inlet, outlet }
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
        // The first cuts would send the river right across the land and back.
        let wander = params.wander * (f64::from(number - 1) / 4.0).min(1.0);
        let halves = self.halves(wander, seed.child("halves"));
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

    /// Where edges are cut: near their middles, moved by luck as far as no triangle gets too slim.
    fn middles(&self, seed: Seed) -> Vec<[f64; 2]> {
        let middle = |e: usize, by: f64| {
            let edge = &self.edges[e];
            let [a, b] = edge.ends.map(|p| self.points[p as usize]);
            let luck = |k: u64| by * (2.0 * seed.unit(2 * e as u64 + k) - 1.0);
            let along = 0.5 + JITTER[0] * luck(0);
            let across = if edge.border { 0.0 } else { JITTER[1] * luck(1) };
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

    /// Which half of each edge the water crosses. Luck decides, or the shorter way: round the corner that the triangles
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

/// Where a side of the rectangle lies on the strip.
#[derive(Clone, Copy)]
enum Place {
    First,
    Last,
    Bottom,
    Top,
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
