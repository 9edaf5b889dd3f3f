//! The courses of all streams through the triangles, and how high they lie.

use orogen_core::{Cancelled, Ctx, Seed, math};
use rayon::prelude::*;

use super::Squig;
use super::land::Land;
use super::mesh::{Mesh, TRUNK, Triangle, signed};

/// Pieces that the way through a triangle is drawn in.
const PIECES: usize = 12;
/// How far along an edge, either way of its middle, water crosses it, in lengths of the edge.
const STRAY: f64 = 0.2;
/// The least fall of a stream.
pub(super) const LEAST_FALL: f64 = 4e-4;
/// The steepest bed, and the steepest way from one stream to another, as a share of the steepness of the hillsides.
const STEEPEST: f64 = 0.52;
/// Rounds in which streams give way to lower ones close by: while their fall is fitted, and at last.
const ROUNDS: [usize; 2] = [4, 300];
/// A stream that lies this much too high is low enough.
const SETTLED_M: f64 = 0.02;
/// Rounds of smoothing along a course.
const SMOOTHING: usize = 12;
/// Rounds in which the fall of streams is brought to the relief asked for.
const FITTING: usize = 4;

/// A place on a stream.
#[derive(Clone, Copy, Debug)]
pub(super) struct Node {
    pub at: [f64; 2],
    /// Height above the outlet, in metres.
    pub z: f64,
    /// The next place downstream, whose number is smaller; the outlet, number 0, has itself.
    pub down: usize,
    /// Metres to it.
    pub length: f64,
    /// Land that drains through here, in square metres.
    pub area: f64,
    pub trunk: bool,
}

/// All streams, downstream first.
#[derive(Debug)]
pub(super) struct Streams {
    pub nodes: Vec<Node>,
}

impl Streams {
    /// The streams of a mesh, in the plane.
    pub fn draw(mesh: &Mesh, inflow_m2: f64, seed: Seed) -> Self {
        let courses = Courses::new(mesh, inflow_m2, seed);
        let outlet = mesh.outlet as usize;
        let first = Node {
            at: courses.crossing[outlet],
            z: 0.0,
            down: 0,
            length: 0.0,
            area: courses.edge_area[outlet],
            trunk: true,
        };
        let mut streams = Self { nodes: vec![first] };
        let mut at_edge = vec![usize::MAX; mesh.edges.len()];
        at_edge[outlet] = 0;
        for &t in &courses.order {
            let triangle = &mesh.triangles[t];
            let exit = triangle.edges[usize::from(triangle.exit)] as usize;
            let end = at_edge[exit];
            let [main, side] = courses.entries[t];
            let Some(main) = main else {
                let spring = courses.spring(mesh, triangle);
                let curve = courses.curve(mesh, triangle, Start::Spring(spring), exit);
                streams.add(&curve, end, (0.1 * courses.own[t], courses.own[t]), false);
                continue;
            };
            let main = main as usize;
            let curve = courses.curve(mesh, triangle, Start::Edge(main), exit);
            let area = courses.edge_area[main];
            let first = streams.nodes.len();
            let trunk = mesh.edges[main].rank == TRUNK;
            at_edge[main] = streams.add(&curve, end, (area, area), trunk);
            let Some(side) = side else { continue };
            // The tributary comes straight to the nearest place on the way.
            let side = side as usize;
            let from = courses.crossing[side];
            let near = |&i: &usize| {
                let at = streams.nodes[i].at;
                math::hypot(at[0] - from[0], at[1] - from[1])
            };
            let joins = (first..first + PIECES - 1).min_by(|a, b| near(a).total_cmp(&near(b)));
            let joins = joins.unwrap_or(first);
            let curve = courses.joining(mesh, triangle, side, streams.nodes[joins].at);
            let area = courses.edge_area[side];
            at_edge[side] = streams.add(&curve, joins, (area, area), false);
        }
        // Water gathers on the way down.
        for i in (1..streams.nodes.len()).rev() {
            let (area, down) = (streams.nodes[i].area, streams.nodes[i].down);
            streams.nodes[down].area = streams.nodes[down].area.max(area);
        }
        streams
    }

    /// Adds the places of a curve, which runs downstream and ends at the node `end`; the number of its first.
    fn add(&mut self, curve: &[[f64; 2]], end: usize, area: (f64, f64), trunk: bool) -> usize {
        let mut down = end;
        let count = curve.len() as f64;
        for (i, &at) in curve.iter().enumerate().rev() {
            let next = self.nodes[down].at;
            let share = i as f64 / count;
            self.nodes.push(Node {
                at,
                z: 0.0,
                down,
                length: math::hypot(at[0] - next[0], at[1] - next[1]).max(1e-6),
                area: area.0 + share * (area.1 - area.0),
                trunk,
            });
            down = self.nodes.len() - 1;
        }
        down
    }

    /// Lays the streams into the land: falls by the water they carry, brought to the relief asked for, with no stream
    /// so far above another close by that the land between could not hold it.
    pub fn lay(
        &mut self,
        params: &Squig,
        land: &mut Land,
        spacing_m: f64,
        corners: &[[f64; 2]],
        ctx: &Ctx<'_>,
    ) -> Result<(), Cancelled> {
        let steepest = STEEPEST * params.hillside(spacing_m);
        let falls: Vec<f64> =
            self.nodes.iter().map(|n| math::pow(n.area.max(1.0) / 1e6, -params.concavity)).collect();
        let mut fall = 0.05;
        for _ in 0..FITTING {
            for i in 1..self.nodes.len() {
                let node = self.nodes[i];
                let slope = (fall * falls[i]).min(steepest) + LEAST_FALL;
                self.nodes[i].z = self.nodes[node.down].z + slope * node.length;
            }
            self.settle(land, ROUNDS[0], ctx)?;
            // What streams may add to the hillsides above them.
            let stream = self.nodes.iter().map(|n| n.z).fold(0.0, f64::max);
            let highest = highest(land, corners);
            let target = (params.relief_m - (highest - stream).max(0.0)).max(0.1 * params.relief_m);
            fall *= (target / stream.max(1e-9)).clamp(0.1, 10.0);
        }
        let up = self.mains();
        for _ in 0..SMOOTHING {
            let old: Vec<f64> = self.nodes.iter().map(|n| n.z).collect();
            for (i, node) in self.nodes.iter_mut().enumerate().skip(1) {
                if let Some(up) = up[i] {
                    node.z = 0.5 * old[i] + 0.25 * (old[up] + old[node.down]);
                }
            }
        }
        self.settle(land, ROUNDS[1], ctx)
    }

    /// Lowers streams until none lies above the hillsides of another, and all fall.
    fn settle(&mut self, land: &mut Land, rounds: usize, ctx: &Ctx<'_>) -> Result<(), Cancelled> {
        let mut changed: Option<Vec<bool>> = None;
        for _ in 0..rounds {
            ctx.tick(2, 100)?;
            land.lay(self);
            let lowest: Vec<f64> = self
                .nodes
                .par_iter()
                .map(|n| {
                    let look = changed.as_ref().is_none_or(|cells| land.touched(n.at, cells));
                    if look {
                        n.z.min(f64::from(land.lowest(n.at, STEEPEST as f32, n.z as f32)))
                    } else {
                        n.z
                    }
                })
                .collect();
            let before: Vec<f64> = self.nodes.iter().map(|n| n.z).collect();
            self.nodes.iter_mut().zip(lowest).for_each(|(node, lowest)| node.z = lowest);
            self.descend();
            let lower = self.nodes.iter().zip(&before).filter(|(n, z)| *z - n.z > SETTLED_M);
            let cells = land.cells_of(lower.map(|(n, _)| &n.at));
            if !cells.contains(&true) {
                break;
            }
            changed = Some(cells);
        }
        self.level();
        land.lay(self);
        Ok(())
    }

    /// Tells heights from the outlet.
    pub fn level(&mut self) {
        let outlet = self.nodes[0].z;
        self.nodes.iter_mut().for_each(|n| n.z -= outlet);
    }

    /// Lowers what lies downstream of anything lower.
    pub fn descend(&mut self) {
        for i in (1..self.nodes.len()).rev() {
            let node = self.nodes[i];
            let most = node.z - LEAST_FALL * node.length;
            let down = &mut self.nodes[node.down].z;
            *down = down.min(most);
        }
    }

    /// The greatest stream that comes in at each place; the main river at all places on it.
    pub fn mains(&self) -> Vec<Option<usize>> {
        let mut up: Vec<Option<usize>> = vec![None; self.nodes.len()];
        let rank = |i: usize| (self.nodes[i].trunk, self.nodes[i].area);
        for i in 1..self.nodes.len() {
            let best = &mut up[self.nodes[i].down];
            if best.is_none_or(|b| rank(i).partial_cmp(&rank(b)) == Some(std::cmp::Ordering::Greater)) {
                *best = Some(i);
            }
        }
        up
    }
}

/// Height of the highest land above the outlet: it lies where triangles meet.
fn highest(land: &Land, corners: &[[f64; 2]]) -> f64 {
    let heights: Vec<f32> = corners.par_iter().map(|&at| land.lowest(at, 1.0, f32::INFINITY)).collect();
    f64::from(heights.into_iter().fold(0.0, f32::max))
}

/// What is known about the way of the water before it is drawn.
struct Courses {
    /// Where water crosses each edge.
    crossing: Vec<[f64; 2]>,
    /// The triangle that drains by each edge.
    source: Vec<u32>,
    /// Land that drains through each edge, in square metres.
    edge_area: Vec<f64>,
    /// Area of each triangle.
    own: Vec<f64>,
    /// Edges by which the greater and the lesser stream come into each triangle.
    entries: Vec<[Option<u32>; 2]>,
    /// Triangles, downstream first.
    order: Vec<usize>,
    /// Which way the water goes at each edge.
    way: Vec<[f64; 2]>,
}

enum Start {
    Edge(usize),
    Spring([f64; 2]),
}

impl Courses {
    fn new(mesh: &Mesh, inflow_m2: f64, seed: Seed) -> Self {
        const NONE: u32 = u32::MAX;
        let crossing: Vec<[f64; 2]> = mesh
            .edges
            .iter()
            .enumerate()
            .map(|(e, edge)| {
                let [a, b] = edge.ends.map(|p| mesh.points[p as usize]);
                let t = 0.5 + STRAY * (2.0 * seed.unit(e as u64) - 1.0);
                [a[0] + t * (b[0] - a[0]), a[1] + t * (b[1] - a[1])]
            })
            .collect();
        let mut source = vec![NONE; mesh.edges.len()];
        for (t, triangle) in mesh.triangles.iter().enumerate() {
            source[triangle.edges[usize::from(triangle.exit)] as usize] = t as u32;
        }
        let mut order = vec![source[mesh.outlet as usize] as usize];
        let mut next = 0;
        while let Some(&t) = order.get(next) {
            let triangle = &mesh.triangles[t];
            let above = mesh.entries(triangle).map(|k| source[triangle.edges[k] as usize]);
            order.extend(above.filter(|&t| t != NONE).map(|t| t as usize));
            next += 1;
        }
        let own: Vec<f64> = mesh.triangles.iter().map(|t| 0.5 * signed(mesh.corners(t)).abs()).collect();
        let mut edge_area = vec![0.0; mesh.edges.len()];
        edge_area[mesh.inlet as usize] = inflow_m2;
        let mut entries = vec![[None; 2]; mesh.triangles.len()];
        for &t in order.iter().rev() {
            let triangle = &mesh.triangles[t];
            let mut ways: Vec<u32> = mesh.entries(triangle).map(|k| triangle.edges[k]).collect();
            // The main river stays the main river, however small it is.
            let rank = |e: u32| (mesh.edges[e as usize].rank == TRUNK, edge_area[e as usize]);
            ways.sort_by(|&a, &b| rank(b).partial_cmp(&rank(a)).unwrap_or(std::cmp::Ordering::Equal));
            entries[t] = [ways.first().copied(), ways.get(1).copied()];
            let area = own[t] + ways.iter().map(|&e| edge_area[e as usize]).sum::<f64>();
            edge_area[triangle.edges[usize::from(triangle.exit)] as usize] = area;
        }
        let mut courses =
            Self { crossing, source, edge_area, own, entries, order, way: vec![[0.0; 2]; mesh.edges.len()] };
        courses.find_ways(mesh);
        courses
    }

    /// At each edge, from the place before to the place after.
    fn find_ways(&mut self, mesh: &Mesh) {
        let exit = |t: &Triangle| t.edges[usize::from(t.exit)] as usize;
        let mut after: Vec<Option<[f64; 2]>> = vec![None; mesh.edges.len()];
        for (t, triangle) in mesh.triangles.iter().enumerate() {
            for entry in self.entries[t].iter().flatten() {
                after[*entry as usize] = Some(self.crossing[exit(triangle)]);
            }
        }
        for e in 0..mesh.edges.len() {
            let here = self.crossing[e];
            let before = mesh.triangles.get(self.source[e] as usize).map(|t| {
                match self.entries[self.source[e] as usize][0] {
                    Some(entry) => self.crossing[entry as usize],
                    None => self.spring(mesh, t),
                }
            });
            let (from, to) = (before.unwrap_or(here), after[e].unwrap_or(here));
            self.way[e] = [to[0] - from[0], to[1] - from[1]];
        }
    }

    /// Where the stream of a triangle without entries begins: towards the corner farthest from its exit.
    fn spring(&self, mesh: &Mesh, triangle: &Triangle) -> [f64; 2] {
        let corners = mesh.corners(triangle);
        let far = corners[(usize::from(triangle.exit) + 2) % 3];
        let exit = self.crossing[triangle.edges[usize::from(triangle.exit)] as usize];
        [0, 1].map(|k| exit[k] + 0.62 * (far[k] - exit[k]))
    }

    /// A smooth way through a triangle, without its end. It stays inside, as all that bends it does, so it meets no
    /// other way but at edges.
    fn curve(&self, mesh: &Mesh, triangle: &Triangle, start: Start, exit: usize) -> Vec<[f64; 2]> {
        let corners = mesh.corners(triangle);
        let (from, to) = match start {
            Start::Edge(e) => (self.crossing[e], self.crossing[exit]),
            Start::Spring(at) => (at, self.crossing[exit]),
        };
        let chord = math::hypot(to[0] - from[0], to[1] - from[1]);
        let first = match start {
            Start::Edge(e) => pulled(corners, from, self.way[e], chord),
            Start::Spring(_) => [0, 1].map(|k| from[k] + 0.3 * (to[k] - from[k])),
        };
        let last = pulled(corners, to, self.way[exit].map(|v| -v), chord);
        (0..PIECES).map(|i| bezier([from, first, last, to], i as f64 / PIECES as f64)).collect()
    }

    /// The way of a tributary from its edge to where it joins, without its end.
    fn joining(&self, mesh: &Mesh, triangle: &Triangle, side: usize, to: [f64; 2]) -> Vec<[f64; 2]> {
        let from = self.crossing[side];
        let chord = math::hypot(to[0] - from[0], to[1] - from[1]);
        let first = pulled(mesh.corners(triangle), from, self.way[side], 0.6 * chord);
        let last = [0, 1].map(|k| to[k] - 0.4 * (to[k] - from[k]));
        (0..PIECES - 1).map(|i| bezier([from, first, last, to], i as f64 / (PIECES - 1) as f64)).collect()
    }
}

/// What bends a curve at its end `at`: a third of the chord along the way, but inside the triangle.
fn pulled(corners: [[f64; 2]; 3], at: [f64; 2], way: [f64; 2], chord: f64) -> [f64; 2] {
    let sign = signed(corners).signum();
    let size = signed(corners).abs();
    let length = math::hypot(way[0], way[1]).max(1e-9);
    let mut most = chord / (3.0 * length);
    for k in 0..3 {
        let (a, b) = (corners[k], corners[(k + 1) % 3]);
        let inside = sign * signed([a, b, at]);
        let gain = sign * ((b[0] - a[0]) * way[1] - (b[1] - a[1]) * way[0]);
        if gain < 0.0 {
            // On its own edge, rounding aside, a way that leads out goes nowhere.
            let room = if inside > 1e-9 * size { 0.8 * inside / -gain } else { 0.0 };
            most = most.min(room);
        }
    }
    [at[0] + most * way[0], at[1] + most * way[1]]
}

fn bezier([a, b, c, d]: [[f64; 2]; 4], t: f64) -> [f64; 2] {
    let s = 1.0 - t;
    [0, 1].map(|k| s * s * s * a[k] + 3.0 * s * t * (s * b[k] + t * c[k]) + t * t * t * d[k])
}
