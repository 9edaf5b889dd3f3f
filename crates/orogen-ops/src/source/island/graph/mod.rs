//! The centre / edge / corner graph of a Voronoi diagram of a rectangle.
//!
//! Every polygon has a *centre*, every polygon vertex is a *corner*, and an *edge* joins two corners
//! on one hand and separates two centres on the other:
//!
//! ```text
//!            v1
//!            |
//!     d0  ·  |  ·  d1        walking v0 → v1 keeps d0 on the left
//!            |
//!            v0
//! ```
//!
//! **Guarantees** (each has a test below, on random and on degenerate points)
//!
//! 1. The polygons tile the rectangle: border corners lie exactly on its sides and its four corners are
//!    graph corners, bit for bit. Centre `i` is the `i`-th point given.
//! 2. Polygons are convex and listed counter-clockwise; `center_edges(c)[k]` joins `center_corners(c)[k]`
//!    to the next one. Edges and centres round a corner are counter-clockwise too.
//! 3. `V − E + F = 1`, without the outer face.
//! 4. No edge is shorter than about 1e-10 of the rectangle's longer side: where four or more centres
//!    lie on one circle their corners are one corner, of degree four or more.
//! 5. The same points give the same bits: only `+ − × ÷ √` on `f64`, and no hash maps.
//!
//! **How** The points alone are triangulated, with no ghosts beyond the border. Only polygons that leave the
//! rectangle, or have merged corners, are traced one by one; all others are read off the triangulation.
//! A border corner is found on the bisector of its two centres, so a circumcentre a billion widths away
//! costs no digits. The triangulator decides "in circle" in plain `f64`, so points that are nearly, yet not
//! exactly, collinear can break it; the tracing notices (each piece of border must find exactly one owner)
//! and the diagram is then taken of points moved by 1e-11 to 1e-9.
//!
//! **Limits** Two points closer than 0.5e-8 of the longer side are refused rather than merged, so that
//! indices keep their meaning.

mod diagram;
mod locator;
mod sites;
#[cfg(test)]
mod tests;

use delaunator::{EMPTY, next_halfedge};

use diagram::{Diagram, INSIDE, Link};
pub use locator::Locator;
use sites::Frame;
pub(crate) use sites::{Flaw, steady};

/// In the frame where the longer side of the rectangle is 2: corners this close are one corner.
const TOL: f64 = 1e-10;
/// In the same frame: points closer than this are refused. Far above `TOL`, so that merging corners can
/// never swallow a polygon.
const MIN_SPACING: f64 = 1e-8;
/// Longest edge that rounding may have turned round; anything longer is not examined.
const SHORT: f64 = 1e-6;
/// Longer side over shorter side; a rectangle thinner than this is a line at our tolerances.
const MAX_ASPECT: f64 = 1e4;
/// Distance from the origin over half the longer side; farther off, floating-point numbers are too sparse.
const MAX_REACH: f64 = 1e4;
/// Half-edges and border pieces share a `u32`, so `6 n` must stay below `BORDER`.
const MAX_POINTS: usize = 1 << 28;

const NONE: u32 = u32::MAX;
/// Added to a ring index to name the piece of border that begins there.
const BORDER: u32 = 1 << 31;

/// Index of a polygon, and of the point it was grown from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CenterIx(pub u32);

/// Index of an edge.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EdgeIx(pub u32);

/// Index of a polygon vertex.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CornerIx(pub u32);

impl CenterIx {
    /// The same index, for arrays that run beside [`Graph::centers`].
    pub fn at(self) -> usize {
        self.0 as usize
    }
}

impl EdgeIx {
    /// The same index, for arrays that run beside [`Graph::edges`].
    pub fn at(self) -> usize {
        self.0 as usize
    }
}

impl CornerIx {
    /// The same index, for arrays that run beside [`Graph::corners`].
    pub fn at(self) -> usize {
        self.0 as usize
    }
}

/// An axis-parallel rectangle, border included.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rect {
    /// Least x and y.
    pub min: [f64; 2],
    /// Greatest x and y.
    pub max: [f64; 2],
}

impl Rect {
    /// `[-1, 1]²`, the square the island paper works in.
    pub const UNIT: Self = Self { min: [-1.0, -1.0], max: [1.0, 1.0] };

    /// True on the border too; false for NaN.
    pub fn contains(&self, p: [f64; 2]) -> bool {
        (self.min[0]..=self.max[0]).contains(&p[0]) && (self.min[1]..=self.max[1]).contains(&p[1])
    }

    /// Width times height.
    pub fn area(&self) -> f64 {
        (self.max[0] - self.min[0]) * (self.max[1] - self.min[1])
    }
}

/// Why no diagram could be made.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum GraphError {
    /// The rectangle is empty, endless, a sliver, or tiny for its distance from the origin.
    #[error(
        "the rectangle {0:?} must have finite sides, the longer at most {MAX_ASPECT} times the shorter, \
         and lie within {MAX_REACH} times its size of the origin"
    )]
    BadRect(Rect),
    /// A diagram needs something to be the diagram of.
    #[error("a Voronoi diagram needs at least one point")]
    NoPoints,
    /// Indices are 32 bits wide.
    #[error("{0} points are more than the {MAX_POINTS} a graph can index")]
    TooManyPoints(usize),
    /// Also raised for NaN.
    #[error("point {index} at {point:?} is not inside the rectangle {rect:?}")]
    Outside {
        /// Index of the point.
        index: usize,
        /// Where it is.
        point: [f64; 2],
        /// Where it should be.
        rect: Rect,
    },
    /// Duplicates, exact or all but.
    #[error("points {first} and {second} are the same, or nearer than 1e-8 of the rectangle's half side")]
    TooClose {
        /// The lower index.
        first: usize,
        /// The higher index.
        second: usize,
    },
    /// Never seen; the alternative would be a graph that breaks its promises.
    #[error("the points are too degenerate to triangulate, even after moving each a little")]
    Degenerate,
}

/// A piece of polygon boundary, with the two corners it joins and the centres it separates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Edge {
    /// The centre on the left when walking from `v0` to `v1`.
    pub d0: CenterIx,
    /// The centre on the right; `None` exactly on the border of the rectangle.
    pub d1: Option<CenterIx>,
    /// One end.
    pub v0: CornerIx,
    /// The other end.
    pub v1: CornerIx,
}

impl Edge {
    /// The centre beyond this edge, seen from `c`.
    pub fn across(&self, c: CenterIx) -> Option<CenterIx> {
        if self.d0 == c { self.d1 } else { Some(self.d0) }
    }

    /// The corner at the end that is not `q`.
    pub fn far_end(&self, q: CornerIx) -> CornerIx {
        if self.v0 == q { self.v1 } else { self.v0 }
    }

    /// The centre on the left when leaving `q` along this edge.
    fn left_of(&self, q: CornerIx) -> Option<CenterIx> {
        if self.v0 == q { Some(self.d0) } else { self.d1 }
    }

    /// The centre on the right when leaving `q` along this edge.
    fn right_of(&self, q: CornerIx) -> Option<CenterIx> {
        if self.v0 == q { self.d1 } else { Some(self.d0) }
    }
}

/// Centres, corners and edges, each knowing its neighbours. See the module for what is promised.
#[derive(Clone, Debug, PartialEq)]
pub struct Graph {
    rect: Rect,
    centers: Vec<[f64; 2]>,
    corners: Vec<[f64; 2]>,
    edges: Vec<Edge>,
    /// `start[c]..start[c + 1]` is the stretch of centre `c` in the next two.
    center_start: Vec<u32>,
    center_corners: Vec<CornerIx>,
    center_edges: Vec<EdgeIx>,
    corner_start: Vec<u32>,
    corner_edges: Vec<EdgeIx>,
    center_border: Vec<bool>,
    corner_border: Vec<bool>,
}

impl Graph {
    /// The Voronoi diagram of `points`, cut off at the border of `rect`.
    pub fn voronoi(points: &[[f64; 2]], rect: Rect) -> Result<Self, GraphError> {
        let frame = Frame::new(rect)?;
        let (sites, order) = frame.sites(points)?;
        steady(&sites, &order, frame.half, |sites, mesh| {
            Self::read_off(points, &order, &Diagram::new(sites, mesh, frame.half)?, &frame)
        })
    }

    /// The rectangle the polygons tile.
    pub fn rect(&self) -> Rect {
        self.rect
    }

    /// The points the polygons were grown from, in the order given.
    pub fn centers(&self) -> &[[f64; 2]] {
        &self.centers
    }

    /// Positions of all corners.
    pub fn corners(&self) -> &[[f64; 2]] {
        &self.corners
    }

    /// All edges.
    pub fn edges(&self) -> &[Edge] {
        &self.edges
    }

    /// Position of a centre.
    pub fn center(&self, c: CenterIx) -> [f64; 2] {
        self.centers[c.at()]
    }

    /// Position of a corner.
    pub fn corner(&self, q: CornerIx) -> [f64; 2] {
        self.corners[q.at()]
    }

    /// An edge.
    pub fn edge(&self, e: EdgeIx) -> Edge {
        self.edges[e.at()]
    }

    /// Every centre index, ascending.
    pub fn center_ixs(&self) -> impl ExactSizeIterator<Item = CenterIx> + use<> {
        (0..self.centers.len() as u32).map(CenterIx)
    }

    /// Every corner index, ascending.
    pub fn corner_ixs(&self) -> impl ExactSizeIterator<Item = CornerIx> + use<> {
        (0..self.corners.len() as u32).map(CornerIx)
    }

    /// Every edge index, ascending.
    pub fn edge_ixs(&self) -> impl ExactSizeIterator<Item = EdgeIx> + use<> {
        (0..self.edges.len() as u32).map(EdgeIx)
    }

    /// The polygon of `c`, counter-clockwise.
    pub fn center_corners(&self, c: CenterIx) -> &[CornerIx] {
        &self.center_corners[stretch(&self.center_start, c.at())]
    }

    /// The edges round `c`, counter-clockwise; the `k`-th leaves the `k`-th corner.
    pub fn center_edges(&self, c: CenterIx) -> &[EdgeIx] {
        &self.center_edges[stretch(&self.center_start, c.at())]
    }

    /// The centres across the edges of `c`, counter-clockwise, the border left out.
    pub fn center_neighbors(&self, c: CenterIx) -> impl Iterator<Item = CenterIx> + '_ {
        self.center_edges(c).iter().filter_map(move |e| self.edges[e.at()].across(c))
    }

    /// The edges that end in `q`, counter-clockwise; on the border, from border to border.
    pub fn corner_edges(&self, q: CornerIx) -> &[EdgeIx] {
        &self.corner_edges[stretch(&self.corner_start, q.at())]
    }

    /// The other end of each edge that ends in `q`, in the order of [`Graph::corner_edges`].
    pub fn corner_adjacent(&self, q: CornerIx) -> impl Iterator<Item = CornerIx> + '_ {
        self.corner_edges(q).iter().map(move |e| self.edges[e.at()].far_end(q))
    }

    /// The centres whose polygons meet in `q`, counter-clockwise.
    pub fn corner_touches(&self, q: CornerIx) -> impl Iterator<Item = CenterIx> + '_ {
        self.corner_edges(q).iter().filter_map(move |e| self.edges[e.at()].left_of(q))
    }

    /// Halfway between the two corners of `e`.
    pub fn edge_midpoint(&self, e: EdgeIx) -> [f64; 2] {
        let Edge { v0, v1, .. } = self.edge(e);
        let ([x0, y0], [x1, y1]) = (self.corner(v0), self.corner(v1));
        [0.5 * (x0 + x1), 0.5 * (y0 + y1)]
    }

    /// Whether the polygon of `c` reaches the border, be it in one corner.
    pub fn is_border_center(&self, c: CenterIx) -> bool {
        self.center_border[c.at()]
    }

    /// Whether `q` lies on the border.
    pub fn is_border_corner(&self, q: CornerIx) -> bool {
        self.corner_border[q.at()]
    }

    /// Whether `e` is a piece of the border.
    pub fn is_border_edge(&self, e: EdgeIx) -> bool {
        self.edges[e.at()].d1.is_none()
    }

    fn read_off(
        points: &[[f64; 2]],
        order: &[u32],
        diagram: &Diagram<'_>,
        frame: &Frame,
    ) -> Result<Self, Flaw> {
        let n = points.len();
        let mut graph = Self {
            rect: frame.rect,
            centers: points.to_vec(),
            corners: Vec::with_capacity(2 * n + 16),
            edges: Vec::with_capacity(3 * n + 16),
            center_start: Vec::new(),
            center_corners: Vec::new(),
            center_edges: Vec::new(),
            corner_start: Vec::new(),
            corner_edges: Vec::new(),
            center_border: vec![false; n],
            corner_border: Vec::new(),
        };
        let (corner_of, simple) = graph.number_corners(diagram, frame);
        let (links, border_edge) = graph.number_edges(order, diagram, &corner_of);
        if graph.corners.len() + n != graph.edges.len() + 1 {
            return Err(Flaw::Inconsistent);
        }
        graph.link_centers(order, diagram, &corner_of, &links, border_edge);
        graph.link_corners(&corner_of, simple, &links);
        Ok(graph)
    }

    /// Numbers the corners: those of one triangle in the order of the triangles, then merged ones, then the
    /// border. Returns the corner of each node, and how many are of the first kind.
    fn number_corners(&mut self, diagram: &Diagram<'_>, frame: &Frame) -> (Vec<u32>, usize) {
        let mut corner_of = Vec::with_capacity(diagram.vertex.len() + diagram.ring.len());
        let mut merged = diagram.merged.iter().peekable();
        for (t, &point) in diagram.vertex.iter().enumerate() {
            let is_merged = merged.next_if(|&&m| m as usize == t).is_some();
            corner_of.push(if is_merged || diagram.place[t] != INSIDE {
                NONE // not yet, out of sight, or in the ring
            } else {
                self.corners.push(frame.world(point));
                self.corners.len() as u32 - 1
            });
        }
        let simple = self.corners.len();
        for &t in &diagram.merged {
            let (t, root) = (t as usize, diagram.root[t as usize] as usize);
            if diagram.place[t] == INSIDE {
                if root == t {
                    corner_of[t] = self.corners.len() as u32;
                    self.corners.push(frame.world(diagram.vertex[t]));
                } else {
                    corner_of[t] = corner_of[root]; // lower than `t`, as a root always is
                }
            }
        }
        self.corner_border.resize(self.corners.len(), false);
        for node in &diagram.ring {
            corner_of.push(self.corners.len() as u32);
            self.corners.push(frame.world(node.point));
        }
        self.corner_border.resize(self.corners.len(), true);
        (corner_of, simple)
    }

    /// Numbers the edges in the order of the half-edges, border last; returns the links of the half-edges and
    /// the first border edge.
    fn number_edges(&mut self, order: &[u32], diagram: &Diagram<'_>, corner_of: &[u32]) -> (Vec<Link>, u32) {
        let mut links = vec![Link { twin: NONE, edge: NONE }; diagram.slots()];
        let mut cuts = diagram.cuts.iter().peekable();
        let pairs = diagram.line.len().saturating_sub(1);
        let slots = if diagram.line.is_empty() { links.len() } else { pairs };
        for e in 0..slots {
            let (a, b, twin) = if diagram.line.is_empty() {
                let twin = diagram.mesh.halfedges[e];
                if twin < e {
                    continue;
                }
                (diagram.mesh.triangles[e], diagram.mesh.triangles[next_halfedge(e)], twin)
            } else {
                (diagram.line[e] as usize, diagram.line[e + 1] as usize, EMPTY)
            };
            let ends = match cuts.next_if(|cut| cut.slot == e as u32) {
                Some(cut) => cut.ends.map(|(v0, v1)| (corner_of[v0 as usize], corner_of[v1 as usize])),
                None => Some((corner_of[e / 3], corner_of[twin / 3])).filter(|(v0, v1)| v0 != v1),
            };
            let mut edge = NONE;
            if let Some((v0, v1)) = ends {
                edge = self.edges.len() as u32;
                let (d0, d1) = (CenterIx(order[a]), Some(CenterIx(order[b])));
                self.edges.push(Edge { d0, d1, v0: CornerIx(v0), v1: CornerIx(v1) });
            }
            links[e] = Link { twin: twin as u32, edge };
            if twin != EMPTY {
                links[twin] = Link { twin: e as u32, edge };
            }
        }
        let border_edge = self.edges.len() as u32;
        let ring = &corner_of[diagram.vertex.len()..];
        for (k, &site) in diagram.owner.iter().enumerate() {
            let (v0, v1) = (CornerIx(ring[k]), CornerIx(ring[(k + 1) % ring.len()]));
            self.edges.push(Edge { d0: CenterIx(order[site as usize]), d1: None, v0, v1 });
        }
        (links, border_edge)
    }

    /// Lists the corners and edges of each polygon.
    ///
    /// Each step of a walk round a site waits for the one before and should find it in the cache, so the
    /// sites are taken in the order of the triangulation; that the lists go to scattered places costs less.
    fn link_centers(
        &mut self,
        order: &[u32],
        diagram: &Diagram<'_>,
        corner_of: &[u32],
        links: &[Link],
        border_edge: u32,
    ) {
        let mut start = vec![0u32; order.len() + 1];
        for (site, &c) in order.iter().enumerate() {
            start[c as usize + 1] = match diagram.traced_of[site] {
                NONE => diagram.fans[site].size,
                _ => diagram.traced(site).len() as u32,
            };
        }
        for c in 1..start.len() {
            start[c] += start[c - 1];
        }
        let total = start[order.len()] as usize;
        let mut corners = vec![CornerIx(0); total];
        let mut edges = vec![EdgeIx(0); total];
        for (site, &c) in order.iter().enumerate() {
            let here = stretch(&start, c as usize);
            let slots = corners[here.clone()].iter_mut().zip(&mut edges[here]);
            if diagram.traced_of[site] == NONE {
                // A polygon well inside: its corners are the circumcentres of the triangles round it.
                let mut e = diagram.fans[site].first as usize;
                for (corner, edge) in slots {
                    let link = links[e];
                    *corner = CornerIx(corner_of[e / 3]);
                    *edge = EdgeIx(link.edge);
                    e = next_halfedge(link.twin as usize);
                }
            } else {
                let border = &mut self.center_border[c as usize];
                for ((corner, edge), side) in slots.zip(diagram.traced(site)) {
                    *corner = CornerIx(corner_of[side.from as usize]);
                    *edge = EdgeIx(if side.slot >= BORDER {
                        side.slot - BORDER + border_edge
                    } else {
                        links[side.slot as usize].edge
                    });
                    *border |= side.from as usize >= diagram.vertex.len();
                }
            }
        }
        (self.center_start, self.center_corners, self.center_edges) = (start, corners, edges);
    }

    /// Lists the edges of each corner. Those of a simple corner cross the sides of its triangle. For the
    /// others the edges are gathered, then sorted counter-clockwise by following the polygons: the edge after
    /// `e` is the one with, on its right, the polygon that `e` has on its left.
    fn link_corners(&mut self, corner_of: &[u32], simple: usize, links: &[Link]) {
        let mut list = Vec::with_capacity(2 * self.edges.len());
        for (sides, &q) in links.as_chunks::<3>().0.iter().zip(corner_of) {
            if (q as usize) < simple {
                // Backwards, as the triangulator turns clockwise.
                list.extend([EdgeIx(sides[2].edge), EdgeIx(sides[1].edge), EdgeIx(sides[0].edge)]);
            }
        }
        let mut ends: Vec<(CornerIx, EdgeIx)> = Vec::new();
        for (e, edge) in self.edges.iter().enumerate() {
            for q in [edge.v0, edge.v1] {
                if q.at() >= simple {
                    ends.push((q, EdgeIx(e as u32)));
                }
            }
        }
        ends.sort_unstable();

        let mut start: Vec<u32> = (0..=simple as u32).map(|q| 3 * q).collect();
        for round in ends.chunk_by_mut(|a, b| a.0 == b.0) {
            let corner = round[0].0;
            let edge = |&(_, e): &(CornerIx, EdgeIx)| self.edges[e.at()];
            if let Some(k) = round.iter().position(|end| edge(end).right_of(corner).is_none()) {
                round.swap(0, k);
            }
            for k in 1..round.len() {
                let wanted = edge(&round[k - 1]).left_of(corner);
                if let Some(j) = (k..round.len()).find(|&j| edge(&round[j]).right_of(corner) == wanted) {
                    round.swap(k, j);
                }
            }
            list.extend(round.iter().map(|end| end.1));
            start.push(list.len() as u32);
        }
        (self.corner_start, self.corner_edges) = (start, list);
    }
}

/// Evens out the polygons: each round moves every point to the average of its polygon's corners.
///
/// After the paper's section IV A, which finds two or three rounds enough. (Lloyd's method proper would take
/// the centroid; the average is cheaper and, after two rounds, hardly differs to the eye.) The points keep
/// their order.
pub fn relax(points: &[[f64; 2]], rect: Rect, rounds: u32) -> Result<Vec<[f64; 2]>, GraphError> {
    let frame = Frame::new(rect)?;
    let (mut sites, order) = frame.sites(points)?;
    if rounds == 0 {
        return Ok(points.to_vec());
    }
    for _ in 0..rounds {
        sites = steady(&sites, &order, frame.half, |sites, mesh| {
            Ok(Diagram::new(sites, mesh, frame.half)?.averages())
        })?;
    }
    let mut relaxed = points.to_vec();
    for (site, &input) in sites.iter().zip(&order) {
        relaxed[input as usize] = frame.world([site.x, site.y]);
    }
    Ok(relaxed)
}

/// Sorts points into rows of small squares, so that neighbours in the plane are neighbours in memory.
///
/// Worth doing once to random points: everything that later walks the graph misses the cache less often.
/// Points outside the rectangle go to the nearest square.
pub fn sort_in_rows(points: &mut [[f64; 2]], rect: Rect) {
    let grid = Buckets::new(rect, points.len() / 2 + 1);
    let order = bucket_order(points, grid.len(), |&p| grid.at(p));
    let sorted: Vec<_> = order.iter().map(|&i| points[i as usize]).collect();
    points.copy_from_slice(&sorted);
}

/// A counting sort by bucket; points within a bucket stay in order.
fn bucket_order<P>(points: &[P], buckets: usize, bucket: impl Fn(&P) -> usize) -> Vec<u32> {
    let mut start = vec![0u32; buckets + 1];
    let bucket_of: Vec<u32> = points.iter().map(|p| bucket(p) as u32).collect();
    for &b in &bucket_of {
        start[b as usize + 1] += 1;
    }
    for b in 1..start.len() {
        start[b] += start[b - 1];
    }
    let mut order = vec![0; points.len()];
    for (i, &b) in bucket_of.iter().enumerate() {
        order[start[b as usize] as usize] = i as u32;
        start[b as usize] += 1;
    }
    order
}

/// Equal squares, or nearly, over a rectangle.
#[derive(Clone, Debug)]
struct Buckets {
    rect: Rect,
    cols: usize,
    rows: usize,
    scale: [f64; 2],
}

impl Buckets {
    fn new(rect: Rect, count: usize) -> Self {
        let [w, h] = [rect.max[0] - rect.min[0], rect.max[1] - rect.min[1]];
        let side = (w * h / count as f64).sqrt();
        // `as` saturates, and sends NaN to 0: an unchecked rectangle gives one bucket, not a crash.
        let cols = ((w / side) as usize).clamp(1, count);
        let rows = ((h / side) as usize).clamp(1, 2 * count / cols);
        Self { rect, cols, rows, scale: [cols as f64 / w, rows as f64 / h] }
    }

    fn len(&self) -> usize {
        self.cols * self.rows
    }

    fn at(&self, p: [f64; 2]) -> usize {
        let col = (((p[0] - self.rect.min[0]) * self.scale[0]) as usize).min(self.cols - 1);
        let row = (((p[1] - self.rect.min[1]) * self.scale[1]) as usize).min(self.rows - 1);
        row * self.cols + col
    }

    fn middle(&self, col: usize, row: usize) -> [f64; 2] {
        [
            self.rect.min[0] + (col as f64 + 0.5) / self.scale[0],
            self.rect.min[1] + (row as f64 + 0.5) / self.scale[1],
        ]
    }
}

fn stretch(start: &[u32], i: usize) -> std::ops::Range<usize> {
    start[i] as usize..start[i + 1] as usize
}
