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

use delaunator::{EMPTY, Point, Triangulation, next_halfedge, prev_halfedge};

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
        // `as` saturates, and sends NaN to 0: a rectangle nobody checked gives one bucket, not a crash.
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

/// The rectangle moved to the origin and scaled until its longer side is `[-1, 1]`, so that tolerances
/// are plain numbers and the triangulator never meets a tiny or far-off coordinate.
struct Frame {
    rect: Rect,
    middle: [f64; 2],
    scale: f64,
    /// Half the width and half the height, in the frame; the greater is 1.
    half: [f64; 2],
}

impl Frame {
    fn new(rect: Rect) -> Result<Self, GraphError> {
        let half = [0.5 * rect.max[0] - 0.5 * rect.min[0], 0.5 * rect.max[1] - 0.5 * rect.min[1]];
        let scale = half[0].max(half[1]);
        let shorter = half[0].min(half[1]);
        let ends = [rect.min[0], rect.min[1], rect.max[0], rect.max[1]];
        let reach = ends.iter().fold(0.0_f64, |reach, end| reach.max(end.abs()));
        let finite = ends.iter().all(|end| end.is_finite());
        if !finite || shorter <= 0.0 || scale > MAX_ASPECT * shorter || reach > MAX_REACH * scale {
            return Err(GraphError::BadRect(rect));
        }
        let middle = [0.5 * rect.min[0] + 0.5 * rect.max[0], 0.5 * rect.min[1] + 0.5 * rect.max[1]];
        Ok(Self { rect, middle, scale, half: [half[0] / scale, half[1] / scale] })
    }

    /// The points in the frame, sorted in rings round the middle, and where each came from.
    ///
    /// The triangulator grows its hull from the middle outwards: with sites, and hence triangles, stored in
    /// that order it runs a third faster than on points in random order, and so does all we do with its
    /// result.
    fn sites(&self, points: &[[f64; 2]]) -> Result<(Vec<Point>, Vec<u32>), GraphError> {
        if points.is_empty() {
            return Err(GraphError::NoPoints);
        }
        if points.len() > MAX_POINTS {
            return Err(GraphError::TooManyPoints(points.len()));
        }
        if let Some(index) = points.iter().position(|&p| !self.rect.contains(p)) {
            return Err(GraphError::Outside { index, point: points[index], rect: self.rect });
        }
        let rings = points.len() / 2 + 1;
        let widest2 = self.half[0] * self.half[0] + self.half[1] * self.half[1];
        let scale = rings as f64 / widest2; // rings of equal area
        let sites: Vec<Point> = points.iter().map(|&p| self.site(p)).collect();
        let order =
            bucket_order(&sites, rings, |p| ((scale * (p.x * p.x + p.y * p.y)) as usize).min(rings - 1));
        let sorted = order.iter().map(|&i| sites[i as usize].clone()).collect();
        Ok((sorted, order))
    }

    fn site(&self, p: [f64; 2]) -> Point {
        let [x, y] = [(p[0] - self.middle[0]) / self.scale, (p[1] - self.middle[1]) / self.scale];
        Point { x: x.clamp(-self.half[0], self.half[0]), y: y.clamp(-self.half[1], self.half[1]) }
    }

    /// Back to the rectangle; what lies on a side in the frame lies on it exactly.
    fn world(&self, p: [f64; 2]) -> [f64; 2] {
        std::array::from_fn(|k| {
            let (min, max) = (self.rect.min[k], self.rect.max[k]);
            if p[k] <= -self.half[k] {
                min
            } else if p[k] >= self.half[k] {
                max
            } else {
                (self.middle[k] + self.scale * p[k]).clamp(min, max)
            }
        })
    }
}

/// What stands between the sites and their diagram.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Flaw {
    TooClose(u32, u32),
    Inconsistent,
}

/// Runs `f` on the sites and their triangulation. If rounding spoilt that, runs it on the sites moved a
/// little: onto a line where they all but lie on one, else anyhow.
fn steady<T>(
    sites: &[Point],
    order: &[u32],
    half: [f64; 2],
    mut f: impl FnMut(&[Point], Triangulation) -> Result<T, Flaw>,
) -> Result<T, GraphError> {
    let too_close = |a: u32, b: u32| {
        let (a, b) = (order[a as usize] as usize, order[b as usize] as usize);
        GraphError::TooClose { first: a.min(b), second: a.max(b) }
    };
    for attempt in 0..5 {
        let done = match attempt {
            0 => f(sites, delaunator::triangulate(sites)),
            1 => match straighten(sites, half) {
                Some((line, mesh)) => f(&line, mesh),
                None => continue,
            },
            _ => {
                let moved = jiggle(sites, half, attempt);
                f(&moved, delaunator::triangulate(&moved))
            }
        };
        match done {
            Ok(done) => return Ok(done),
            Err(Flaw::TooClose(a, b)) => return Err(too_close(a, b)),
            Err(Flaw::Inconsistent) => {
                if let Some((a, b)) = close_pair(sites) {
                    return Err(too_close(a, b));
                }
            }
        }
    }
    Err(GraphError::Degenerate)
}

/// Sites that all but lie on a line, put onto it, with what the triangulator says of such: only their order.
///
/// It sorts by squared distance from its first circumcentre. For sites `s` apart and `h` off a line that is
/// `s²/8h` away, and its square has no digits left for `s²` once `h` is below about `2e-9 s`.
fn straighten(sites: &[Point], half: [f64; 2]) -> Option<(Vec<Point>, Triangulation)> {
    let farthest =
        |from: &Point| sites.iter().max_by(|a, b| distance2(from, a).total_cmp(&distance2(from, b)));
    let a = farthest(sites.first()?)?;
    let b = farthest(a)?;
    let length = distance2(a, b).sqrt();
    let (ux, uy) = ((b.x - a.x) / length, (b.y - a.y) / length);
    let off = |p: &Point| ((p.x - a.x) * uy - (p.y - a.y) * ux).abs();
    if !sites.iter().all(|p| off(p) <= 5e-9) {
        return None;
    }
    let along: Vec<f64> = sites.iter().map(|p| (p.x - a.x) * ux + (p.y - a.y) * uy).collect();
    let put = |&s: &f64| Point {
        x: (a.x + s * ux).clamp(-half[0], half[0]),
        y: (a.y + s * uy).clamp(-half[1], half[1]),
    };
    let mut hull: Vec<usize> = (0..sites.len()).collect();
    hull.sort_by(|&i, &j| along[i].total_cmp(&along[j]));
    let order_only = Triangulation { triangles: Vec::new(), halfedges: Vec::new(), hull };
    Some((along.iter().map(put).collect(), order_only))
}

/// Moves each site by a hash of its index: at most 1e-11, 3e-11, 1e-10 at attempts 2, 3, 4.
fn jiggle(sites: &[Point], half: [f64; 2], attempt: u64) -> Vec<Point> {
    let reach = [1e-11, 3e-11, 1e-10][(attempt as usize).clamp(2, 4) - 2];
    let push = |i: usize, axis: u64| {
        let mut z = (i as u64 * 8 + attempt * 2 + axis).wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        reach * (((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 52) as f64 - 1.0)
    };
    let moved = |(i, p): (usize, &Point)| Point {
        x: (p.x + push(i, 0)).clamp(-half[0], half[0]),
        y: (p.y + push(i, 1)).clamp(-half[1], half[1]),
    };
    sites.iter().enumerate().map(moved).collect()
}

/// Some two sites nearer than [`MIN_SPACING`], by a sweep along x.
fn close_pair(sites: &[Point]) -> Option<(u32, u32)> {
    let mut by_x: Vec<u32> = (0..sites.len() as u32).collect();
    let at = |i: u32| &sites[i as usize];
    by_x.sort_by(|&a, &b| at(a).x.total_cmp(&at(b).x).then(at(a).y.total_cmp(&at(b).y)).then(a.cmp(&b)));
    for (k, &a) in by_x.iter().enumerate() {
        let near = by_x[k + 1..].iter().take_while(|&&b| at(b).x - at(a).x < MIN_SPACING);
        for &b in near {
            if distance2(at(a), at(b)) < MIN_SPACING * MIN_SPACING {
                return Some((a, b));
            }
        }
    }
    None
}

fn distance2(a: &Point, b: &Point) -> f64 {
    let (dx, dy) = (b.x - a.x, b.y - a.y);
    dx * dx + dy * dy
}

// Where a Delaunay triangle's circumcentre lies: `INSIDE`, `OUTSIDE`, or on the sides in this bit set.
const INSIDE: u8 = 0;
const BOTTOM: u8 = 1;
const RIGHT: u8 = 2;
const TOP: u8 = 4;
const LEFT: u8 = 8;
const OUTSIDE: u8 = 16;

fn place_of(p: [f64; 2], half: [f64; 2]) -> u8 {
    let [x, y] = p;
    if x.abs() < half[0] - TOL && y.abs() < half[1] - TOL {
        return INSIDE;
    }
    if !(x.abs() <= half[0] + TOL && y.abs() <= half[1] + TOL) {
        return OUTSIDE; // NaN too
    }
    let mut sides = INSIDE;
    for (near, side) in [
        (y + half[1] <= TOL, BOTTOM),
        (half[0] - x <= TOL, RIGHT),
        (half[1] - y <= TOL, TOP),
        (x + half[0] <= TOL, LEFT),
    ] {
        if near {
            sides |= side;
        }
    }
    sides
}

/// The place of two corners made one: the border attracts, and a corner that can be seen wins.
fn join_places(a: u8, b: u8) -> u8 {
    let sides = (a | b) & !OUTSIDE;
    if sides != INSIDE { sides } else { a.min(b) }
}

fn snap(p: [f64; 2], sides: u8, half: [f64; 2]) -> [f64; 2] {
    let pick = |low: u8, high: u8, value: f64, half: f64| {
        if sides & low != 0 {
            -half
        } else if sides & high != 0 {
            half
        } else {
            value
        }
    };
    [pick(LEFT, RIGHT, p[0], half[0]), pick(BOTTOM, TOP, p[1], half[1])]
}

/// What a walk round a site reads of each half-edge, in one cache line's visit.
#[derive(Clone, Copy)]
struct Link {
    twin: u32,
    edge: u32,
}

/// One side of a traced polygon.
#[derive(Clone, Copy)]
struct Side {
    /// Node at which it begins, counter-clockwise; it ends where the next side begins.
    from: u32,
    /// Names the edge: the lower of its two half-edges, or `BORDER` plus a ring index.
    slot: u32,
}

/// The triangles round a site.
#[derive(Clone, Copy)]
struct Fan {
    /// A half-edge leaving the site: the clockwise-most on the hull, any elsewhere.
    first: u32,
    size: u32,
    /// Of their circumcentres; gathered here as the cache line is at hand.
    sum: [f64; 2],
}

/// An edge that meets the border, or is out of sight.
struct Cut {
    slot: u32,
    /// First and last node as seen from the site the half-edge starts at; `None` when nothing is left.
    ends: Option<(u32, u32)>,
}

/// A node on the border, by its distance along it from the lower left corner, counter-clockwise.
struct RingNode {
    along: f64,
    point: [f64; 2],
}

/// The diagram as the triangulation's dual. A *node* is a triangle (its circumcentre) or, from
/// `vertex.len()` on, a place in the ring of border nodes.
struct Diagram<'a> {
    sites: &'a [Point],
    mesh: Triangulation,
    /// Of collinear sites there are no triangles, only this order along their line.
    line: Vec<u32>,
    vertex: Vec<[f64; 2]>,
    place: Vec<u8>,
    /// The triangle that stands for all whose circumcentres coincide.
    root: Vec<u32>,
    /// All triangles whose circumcentres were united with another, ascending.
    merged: Vec<u32>,
    fans: Vec<Fan>,
    cuts: Vec<Cut>,
    ring: Vec<RingNode>,
    /// The site whose polygon has the border from each ring node to the next.
    owner: Vec<u32>,
    /// Index into `traced_start` of sites whose polygons needed tracing.
    traced_of: Vec<u32>,
    traced_start: Vec<u32>,
    traced_sides: Vec<Side>,
}

impl<'a> Diagram<'a> {
    fn new(sites: &'a [Point], mut mesh: Triangulation, half: [f64; 2]) -> Result<Self, Flaw> {
        let n = sites.len();
        let line = if mesh.triangles.is_empty() {
            std::mem::take(&mut mesh.hull).into_iter().map(|i| i as u32).collect()
        } else {
            Vec::new()
        };
        let count = mesh.triangles.len() / 3;
        let mut diagram = Self {
            line,
            vertex: Vec::with_capacity(count),
            place: Vec::with_capacity(count),
            root: (0..count as u32).collect(),
            merged: Vec::new(),
            fans: vec![Fan { first: NONE, size: 0, sum: [0.0; 2] }; n],
            cuts: Vec::new(),
            ring: Vec::new(),
            owner: Vec::new(),
            traced_of: vec![NONE; n],
            traced_start: vec![0],
            traced_sides: Vec::new(),
            mesh,
            sites,
        };
        let mut to_trace = Vec::new();
        if count == 0 {
            if diagram.line.len() < n {
                return Err(Flaw::Inconsistent);
            }
            for pair in diagram.line.windows(2) {
                let [a, b] = [pair[0], pair[1]];
                if distance2(&diagram.sites[a as usize], &diagram.sites[b as usize])
                    < MIN_SPACING * MIN_SPACING
                {
                    return Err(Flaw::TooClose(a, b));
                }
            }
            to_trace.extend(0..n as u32);
            diagram.cut_edges((0..n as u32 - 1).collect(), Vec::new(), half);
        } else {
            let Survey { mut odd, short, hull } = diagram.survey(half)?;
            diagram.merge_corners(&short, &mut odd, half);
            let mut slots = Vec::new();
            for &t in &odd {
                for e in 3 * t as usize..3 * t as usize + 3 {
                    let twin = diagram.mesh.halfedges[e];
                    to_trace.push(diagram.mesh.triangles[e] as u32);
                    if diagram.place[t as usize] != INSIDE {
                        slots.push(e.min(twin) as u32);
                    }
                }
            }
            for &e in &hull {
                slots.push(e);
                let next = next_halfedge(e as usize);
                to_trace
                    .extend([diagram.mesh.triangles[e as usize] as u32, diagram.mesh.triangles[next] as u32]);
                // The hull runs clockwise past `e`, so the next half-edge opens the fan of its far end.
                diagram.fans[diagram.mesh.triangles[next]].first = next as u32;
            }
            slots.sort_unstable();
            slots.dedup();
            diagram.cut_edges(slots, odd, half);
            to_trace.sort_unstable();
            to_trace.dedup();
        }
        diagram.trace(&to_trace)?;
        Ok(diagram)
    }

    fn slots(&self) -> usize {
        self.mesh.triangles.len().max(self.line.len())
    }

    fn node(&self, node: usize) -> [f64; 2] {
        if node < self.vertex.len() { self.vertex[node] } else { self.ring[node - self.vertex.len()].point }
    }

    fn traced(&self, site: usize) -> &[Side] {
        &self.traced_sides[stretch(&self.traced_start, self.traced_of[site] as usize)]
    }

    /// Finds every circumcentre, in the one pass over the whole mesh.
    fn survey(&mut self, half: [f64; 2]) -> Result<Survey, Flaw> {
        let mut survey = Survey { odd: Vec::new(), short: Vec::new(), hull: Vec::new() };
        let mut close = None;
        let (triangles, _) = self.mesh.triangles.as_chunks::<3>();
        let (halfedges, _) = self.mesh.halfedges.as_chunks::<3>();
        for (t, (&[a, b, c], twins)) in triangles.iter().zip(halfedges).enumerate() {
            let (p, q, r) = (&self.sites[a], &self.sites[b], &self.sites[c]);
            let (bx, by, cx, cy) = (q.x - p.x, q.y - p.y, r.x - p.x, r.y - p.y);
            let (b2, c2) = (bx * bx + by * by, cx * cx + cy * cy);
            // The triangulator turns clockwise where y points up, so a sound triangle has a negative area.
            let area2 = bx * cy - by * cx;
            let scale = 0.5 / area2;
            let center = [p.x + (cy * b2 - by * c2) * scale, p.y + (bx * c2 - cx * b2) * scale];
            let place = if area2 < 0.0 { place_of(center, half) } else { OUTSIDE };
            if place != INSIDE {
                survey.odd.push(t as u32);
            }
            self.vertex.push(center);
            self.place.push(place);
            for (k, site) in [a, b, c].into_iter().enumerate() {
                let e = 3 * t + k;
                let fan = &mut self.fans[site];
                *fan = Fan {
                    first: e as u32,
                    size: fan.size + 1,
                    sum: [fan.sum[0] + center[0], fan.sum[1] + center[1]],
                };
                let twin = twins[k];
                if twin < e {
                    let [x, y] = self.vertex[twin / 3];
                    if (center[0] - x).abs() + (center[1] - y).abs() < SHORT {
                        survey.short.push(e as u32);
                    }
                } else if twin == EMPTY {
                    survey.hull.push(e as u32);
                }
            }
            // The nearest neighbour of a site is always joined to it, so no close pair can hide.
            let limit = MIN_SPACING * MIN_SPACING;
            if b2 < limit {
                close = Some((a, b));
            } else if c2 < limit {
                close = Some((a, c));
            } else if distance2(q, r) < limit {
                close = Some((b, c));
            }
        }
        if let Some((a, b)) = close {
            return Err(Flaw::TooClose(a as u32, b as u32));
        }
        if self.fans.iter().any(|fan| fan.size == 0) {
            return Err(Flaw::Inconsistent);
        }
        Ok(survey)
    }

    /// Unites circumcentres that coincide; `odd` gains the triangles concerned.
    fn merge_corners(&mut self, short: &[u32], odd: &mut Vec<u32>, half: [f64; 2]) {
        let mut merged = Vec::new();
        // Uniting moves a corner to its root, a little, and so may spoil the next edge: until nothing
        // changes.
        let mut settled = false;
        while !settled {
            settled = true;
            for &e in short {
                let (e, twin) = (e as usize, self.mesh.halfedges[e as usize]);
                let (t, u) = (self.find(e / 3), self.find(twin / 3));
                if t != u && self.is_empty_edge(e, t, u) {
                    self.unite(t, u);
                    merged.extend([(e / 3) as u32, (twin / 3) as u32]);
                    settled = false;
                }
            }
        }
        // An edge from a side to the same side has no room for the polygon beyond it.
        let mut grazing = Vec::new();
        for &t in odd.iter() {
            for e in 3 * t as usize..3 * t as usize + 3 {
                let twin = self.mesh.halfedges[e];
                if twin != EMPTY && self.place[t as usize] & self.place[twin / 3] & !OUTSIDE != 0 {
                    grazing.push((t as usize, twin / 3));
                }
            }
        }
        for (t, u) in grazing {
            self.unite(t, u);
            merged.extend([t as u32, u as u32]);
        }
        merged.sort_unstable();
        merged.dedup();
        odd.extend(&merged);
        odd.sort_unstable();
        odd.dedup();
        for &t in odd.iter() {
            let root = self.find(t as usize);
            self.root[t as usize] = root as u32;
            self.place[t as usize] = self.place[root];
            if root == t as usize && self.place[root] & OUTSIDE == 0 {
                self.vertex[root] = snap(self.vertex[root], self.place[root], half);
            }
        }
        self.merged = merged;
    }

    /// Whether rounding is all there is to the edge dual to `e`, from corner `t` to corner `u`.
    ///
    /// It should point along `n`, with the site `e` leaves on the left. On cocircular points it has no
    /// length, or a negative one where the triangulator chose the wrong diagonal, or it points anywhere.
    fn is_empty_edge(&self, e: usize, t: usize, u: usize) -> bool {
        let ([x0, y0], [x1, y1]) = (self.vertex[t], self.vertex[u]);
        let (dx, dy) = (x1 - x0, y1 - y0);
        let (a, b) =
            (&self.sites[self.mesh.triangles[e]], &self.sites[self.mesh.triangles[next_halfedge(e)]]);
        let (nx, ny) = (a.y - b.y, b.x - a.x);
        let both_outside = self.place[t] & self.place[u] & OUTSIDE != 0;
        let astray = (dx * ny - dy * nx).abs();
        !both_outside && dx * nx + dy * ny <= TOL * (nx * nx + ny * ny).sqrt() + 64.0 * astray
    }

    fn find(&mut self, mut t: usize) -> usize {
        while self.root[t] as usize != t {
            let up = self.root[t] as usize;
            self.root[t] = self.root[up];
            t = up;
        }
        t
    }

    fn unite(&mut self, t: usize, u: usize) {
        let (t, u) = (self.find(t), self.find(u));
        let (low, high) = (t.min(u), t.max(u));
        self.root[high] = low as u32;
        self.place[low] = join_places(self.place[low], self.place[high]);
    }

    /// Cuts the edges in `slots` (sorted) at the border and strings all border nodes on the ring.
    fn cut_edges(&mut self, slots: Vec<u32>, odd: Vec<u32>, half: [f64; 2]) {
        let [hx, hy] = half;
        // Ring candidates, by number: the rectangle's corners, then circumcentres on the border, then cuts.
        let mut candidates: Vec<[f64; 2]> = vec![[-hx, -hy], [hx, -hy], [hx, hy], [-hx, hy]];
        let mut on_border: Vec<(u32, u32)> = Vec::new();
        for t in odd {
            let place = self.place[t as usize];
            if self.root[t as usize] == t && place != INSIDE && place & OUTSIDE == 0 {
                on_border.push((t, candidates.len() as u32));
                candidates.push(self.vertex[t as usize]);
            }
        }
        let count = self.vertex.len() as u32;
        // Until the ring is sorted, `count + k` means candidate `k`.
        for slot in slots {
            let ends = self.cut(slot as usize, half).map(|ends| {
                let mut node = |end: CutEnd| match end {
                    CutEnd::Triangle(t) => {
                        on_border.binary_search_by_key(&t, |&(t, _)| t).map_or(t, |k| count + on_border[k].1)
                    }
                    CutEnd::Border(p) => {
                        candidates.push(p);
                        count + candidates.len() as u32 - 1
                    }
                };
                (node(ends.0), node(ends.1))
            });
            self.cuts.push(Cut { slot, ends });
        }
        let ring_of = self.string_ring(&candidates, half);
        let settle = |node: u32| if node < count { node } else { count + ring_of[(node - count) as usize] };
        for cut in &mut self.cuts {
            cut.ends = cut.ends.map(|(a, b)| (settle(a), settle(b))).filter(|(a, b)| a != b);
        }
    }

    /// Sorts the candidates along the border, making one node of those within [`TOL`]; returns the ring index
    /// of each.
    fn string_ring(&mut self, candidates: &[[f64; 2]], [hx, hy]: [f64; 2]) -> Vec<u32> {
        let along = |[x, y]: [f64; 2]| {
            if y <= -hy {
                x + hx
            } else if x >= hx {
                2.0 * hx + (y + hy)
            } else if y >= hy {
                2.0 * hx + 2.0 * hy + (hx - x)
            } else {
                4.0 * hx + 2.0 * hy + (hy - y)
            }
        };
        let round = 4.0 * (hx + hy);
        let mut sorted: Vec<(f64, u32)> =
            candidates.iter().enumerate().map(|(k, &p)| (along(p), k as u32)).collect();
        sorted.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        let mut ring_of = vec![0; candidates.len()];
        for (along, k) in sorted {
            let point = candidates[k as usize];
            if along >= round - TOL {
                ring_of[k as usize] = 0; // past the last side, back at the first corner
                continue;
            }
            match self.ring.last_mut() {
                Some(last) if along - last.along <= TOL => {
                    if k < 4 {
                        *last = RingNode { along, point };
                    }
                }
                _ => self.ring.push(RingNode { along, point }),
            }
            ring_of[k as usize] = self.ring.len() as u32 - 1;
        }
        ring_of
    }

    /// What the rectangle leaves of one edge.
    ///
    /// The edge lies on the bisector `m + s·d` of its sites `a` and `b`, with `a` on the left. As `m` is
    /// always in the rectangle, the bisector crosses it for `s` in some `low ≤ 0 ≤ high`.
    fn cut(&self, slot: usize, half: [f64; 2]) -> Option<(CutEnd, CutEnd)> {
        let triangles = &self.mesh.triangles;
        let (a, b, right, left) = if triangles.is_empty() {
            (self.line[slot] as usize, self.line[slot + 1] as usize, None, None)
        } else {
            let (a, b) = (triangles[slot], triangles[next_halfedge(slot)]);
            let twin = self.mesh.halfedges[slot];
            (a, b, Some(slot), (twin != EMPTY).then_some(twin))
        };
        let (a, b) = (&self.sites[a], &self.sites[b]);
        let m = [0.5 * (a.x + b.x), 0.5 * (a.y + b.y)];
        let d = [a.y - b.y, b.x - a.x];
        let length2 = d[0] * d[0] + d[1] * d[1];

        // Where an end is, along the bisector, and the corner there if it can be seen.
        let end = |halfedge: Option<usize>, sign: f64| {
            let Some(e) = halfedge else {
                return (sign * f64::INFINITY, None);
            };
            let t = self.root[e / 3] as usize;
            if self.place[t] & OUTSIDE == 0 {
                let [x, y] = self.vertex[t];
                return (((x - m[0]) * d[0] + (y - m[1]) * d[1]) / length2, Some(t));
            }
            // Half the cotangent of the angle opposite: good even where the circumcentre is not.
            let o = &self.sites[triangles[prev_halfedge(e)]];
            let dot = (a.x - o.x) * (b.x - o.x) + (a.y - o.y) * (b.y - o.y);
            let cross = (b.x - a.x) * (o.y - a.y) - (b.y - a.y) * (o.x - a.x);
            (sign * dot / (2.0 * (sign * cross).max(1e-300)), None)
        };
        let (s0, t0) = end(right, -1.0);
        let (s1, t1) = end(left, 1.0);

        let (mut low, mut high) = ((f64::NEG_INFINITY, 0, 0.0), (f64::INFINITY, 0, 0.0));
        for axis in 0..2 {
            for side in [-half[axis], half[axis]] {
                let s = (side - m[axis]) / d[axis];
                if d[axis] == 0.0 {
                    continue;
                } else if (side < 0.0) == (d[axis] > 0.0) {
                    if s > low.0 {
                        low = (s, axis, side);
                    }
                } else if s < high.0 {
                    high = (s, axis, side);
                }
            }
        }
        let border = |(s, axis, side): (f64, usize, f64)| {
            let other = 1 - axis;
            let mut p = [side; 2];
            p[other] = (m[other] + s * d[other]).clamp(-half[other], half[other]);
            p
        };
        let begin = if t0.is_some() { s0 } else { s0.max(low.0) };
        let finish = if t1.is_some() { s1 } else { s1.min(high.0) };
        let inside = |t: Option<usize>| t.is_some_and(|t| self.place[t] == INSIDE);
        if !(inside(t0) || inside(t1)) && (finish - begin) * length2.sqrt() <= TOL {
            return None;
        }
        let side_bit = |(_, axis, side): (f64, usize, f64)| match (axis, side < 0.0) {
            (0, true) => LEFT,
            (0, false) => RIGHT,
            (_, true) => BOTTOM,
            (_, false) => TOP,
        };
        match (t0, t1) {
            (Some(t), Some(u)) => Some((CutEnd::Triangle(t as u32), CutEnd::Triangle(u as u32))),
            (Some(t), None) if self.place[t] & side_bit(high) != 0 => None,
            (None, Some(u)) if self.place[u] & side_bit(low) != 0 => None,
            (Some(t), None) => Some((CutEnd::Triangle(t as u32), CutEnd::Border(border(high)))),
            (None, Some(u)) => Some((CutEnd::Border(border(low)), CutEnd::Triangle(u as u32))),
            (None, None) => Some((CutEnd::Border(border(low)), CutEnd::Border(border(high)))),
        }
    }

    /// First and last node of an edge, seen from the site its lower half-edge starts at.
    fn ends(&self, slot: u32) -> Option<(u32, u32)> {
        if let Ok(k) = self.cuts.binary_search_by_key(&slot, |cut| cut.slot) {
            return self.cuts[k].ends;
        }
        let twin = self.mesh.halfedges[slot as usize];
        let ends = (self.root[slot as usize / 3], self.root[twin / 3]);
        (ends.0 != ends.1).then_some(ends)
    }

    /// Walks round each of `to_trace`, filling the gaps in its boundary with border.
    ///
    /// Every piece of border must find exactly one owner; on a spoilt triangulation it would not.
    fn trace(&mut self, to_trace: &[u32]) -> Result<(), Flaw> {
        let count = self.vertex.len() as u32;
        let ring = self.ring.len() as u32;
        let mut owner = vec![NONE; self.ring.len()];
        let mut position = vec![0; self.line.len()];
        for (k, &site) in self.line.iter().enumerate() {
            position[site as usize] = k as u32;
        }
        let mut pieces: Vec<(Side, u32)> = Vec::new();
        let mut sides: Vec<Side> = Vec::new();
        for &site in to_trace {
            pieces.clear();
            self.pieces_of(site, &position, &mut pieces);
            let before = sides.len();
            if pieces.is_empty() {
                if self.sites.len() > 1 {
                    return Err(Flaw::Inconsistent);
                }
                sides.extend((0..ring).map(|k| Side { from: count + k, slot: BORDER + k }));
                owner.fill(site);
            }
            for (k, &(side, end)) in pieces.iter().enumerate() {
                sides.push(side);
                let next = pieces[(k + 1) % pieces.len()].0.from;
                let mut at = end;
                while at != next {
                    if at < count || next < count || owner[(at - count) as usize] != NONE {
                        return Err(Flaw::Inconsistent);
                    }
                    owner[(at - count) as usize] = site;
                    sides.push(Side { from: at, slot: BORDER + (at - count) });
                    at = count + (at - count + 1) % ring;
                }
            }
            if sides.len() < before + 3 {
                return Err(Flaw::Inconsistent);
            }
            self.traced_of[site as usize] = self.traced_start.len() as u32 - 1;
            self.traced_start.push(sides.len() as u32);
        }
        if owner.contains(&NONE) {
            return Err(Flaw::Inconsistent);
        }
        (self.traced_sides, self.owner) = (sides, owner);
        Ok(())
    }

    /// The edges round a site that are left of it, counter-clockwise, each with its last node.
    fn pieces_of(&self, site: u32, position: &[u32], pieces: &mut Vec<(Side, u32)>) {
        let mut push = |slot: u32, reversed: bool| {
            if let Some((a, b)) = self.ends(slot) {
                let (from, to) = if reversed { (b, a) } else { (a, b) };
                pieces.push((Side { from, slot }, to));
            }
        };
        if self.mesh.triangles.is_empty() {
            let k = position[site as usize];
            if k > 0 {
                push(k - 1, true);
            }
            if k as usize + 1 < self.line.len() {
                push(k, false);
            }
            return;
        }
        let halfedges = &self.mesh.halfedges;
        let first = self.fans[site as usize].first as usize;
        let lead = prev_halfedge(first);
        if halfedges[lead] == EMPTY {
            push(lead as u32, true);
        }
        let mut e = first;
        loop {
            let twin = halfedges[e];
            push(e.min(twin) as u32, twin < e);
            if twin == EMPTY {
                break;
            }
            e = next_halfedge(twin);
            if e == first {
                break;
            }
        }
    }

    /// The average of the corners of each polygon.
    fn averages(&self) -> Vec<Point> {
        let average = |(site, fan): (usize, &Fan)| {
            let (mut sum, mut size) = (fan.sum, fan.size as f64);
            if self.traced_of[site] != NONE {
                let sides = self.traced(site);
                (sum, size) = ([0.0; 2], sides.len() as f64);
                for side in sides {
                    let [x, y] = self.node(side.from as usize);
                    sum = [sum[0] + x, sum[1] + y];
                }
            }
            Point { x: sum[0] / size, y: sum[1] / size }
        };
        self.fans.iter().enumerate().map(average).collect()
    }
}

/// What [`Diagram::survey`] came across.
struct Survey {
    /// Triangles whose circumcentre is not well inside.
    odd: Vec<u32>,
    /// Half-edges whose edge is short enough to be looked at twice.
    short: Vec<u32>,
    /// Half-edges on the hull.
    hull: Vec<u32>,
}

/// Where an edge ends: at a circumcentre, or cut by the border.
enum CutEnd {
    Triangle(u32),
    Border([f64; 2]),
}

/// Finds the polygon a point is in, that is its nearest centre.
///
/// A walk goes from polygon to polygon, each nearer to the point, and cannot get stuck: the diagram is a
/// Voronoi diagram. Ties go to the lowest index, so the answer never depends on where the walk began, and a
/// raster may be filled in any order or on any number of threads.
#[derive(Clone, Debug)]
pub struct Locator {
    centers: Vec<[f64; 2]>,
    start: Vec<u32>,
    /// Polygons that share an edge, or a corner of degree four or more.
    neighbors: Vec<u32>,
    /// Square of half the distance to the nearest centre: within it there is nothing to look for.
    safe2: Vec<f64>,
    buckets: Buckets,
    /// The polygon at the middle of each bucket.
    bucket_center: Vec<u32>,
}

impl Locator {
    /// Prepares lookups in `graph`.
    pub fn new(graph: &Graph) -> Self {
        let n = graph.centers.len();
        let buckets = Buckets::new(graph.rect, n);
        let mut locator = Self {
            centers: graph.centers.clone(),
            start: Vec::with_capacity(n + 1),
            neighbors: Vec::with_capacity(6 * n),
            safe2: Vec::with_capacity(n),
            bucket_center: vec![0; buckets.len()],
            buckets,
        };
        locator.start.push(0);
        for c in graph.center_ixs() {
            let first = locator.neighbors.len();
            locator.neighbors.extend(graph.center_neighbors(c).map(|d| d.0));
            for &q in graph.center_corners(c) {
                if graph.corner_edges(q).len() > 3 {
                    for d in graph.corner_touches(q) {
                        if d != c && !locator.neighbors[first..].contains(&d.0) {
                            locator.neighbors.push(d.0);
                        }
                    }
                }
            }
            let near2 = |&d: &u32| squared(graph.center(c), graph.center(CenterIx(d)));
            let nearest2 = locator.neighbors[first..].iter().map(near2).fold(f64::INFINITY, f64::min);
            // A hair less than a quarter, so that rounding cannot make a tie look safe.
            locator.safe2.push(0.249_999 * nearest2);
            locator.start.push(locator.neighbors.len() as u32);
        }
        let mut near = CenterIx(0);
        for row in 0..locator.buckets.rows {
            for step in 0..locator.buckets.cols {
                // To and fro, so that each bucket is next to the one before.
                let col = if row % 2 == 0 { step } else { locator.buckets.cols - 1 - step };
                near = locator.locate_from(locator.buckets.middle(col, row), near);
                locator.bucket_center[row * locator.buckets.cols + col] = near.0;
            }
        }
        locator
    }

    /// The polygon that contains `p`; for a point outside the rectangle, the one nearest to its nearest
    /// border point.
    pub fn locate(&self, p: [f64; 2]) -> CenterIx {
        let p = self.clamped(p);
        self.walk(p, self.bucket_center[self.buckets.at(p)] as usize)
    }

    /// The same polygon as [`Locator::locate`], sooner if `hint` is near: in a scan, pass the last answer.
    #[inline]
    pub fn locate_from(&self, p: [f64; 2], hint: CenterIx) -> CenterIx {
        let p = self.clamped(p);
        if hint.at() < self.centers.len() { self.walk(p, hint.at()) } else { self.locate(p) }
    }

    #[inline]
    fn clamped(&self, p: [f64; 2]) -> [f64; 2] {
        let Rect { min, max } = self.buckets.rect;
        [p[0].clamp(min[0], max[0]), p[1].clamp(min[1], max[1])]
    }

    #[inline]
    fn walk(&self, p: [f64; 2], mut at: usize) -> CenterIx {
        let mut nearest = squared(p, self.centers[at]);
        while nearest >= self.safe2[at] {
            let mut best = at;
            for &c in &self.neighbors[stretch(&self.start, at)] {
                let c = c as usize;
                let d = squared(p, self.centers[c]);
                if d < nearest || (d == nearest && c < best) {
                    (nearest, best) = (d, c);
                }
            }
            if best == at {
                break;
            }
            at = best;
        }
        CenterIx(at as u32)
    }
}

fn squared(a: [f64; 2], b: [f64; 2]) -> f64 {
    let (dx, dy) = (b[0] - a[0], b[1] - a[1]);
    dx * dx + dy * dy
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hash01(i: u64) -> f64 {
        let mut z = i.wrapping_mul(0x9E37_79B9_7F4A_7C15);
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    }

    fn random(n: usize, seed: u64, rect: Rect) -> Vec<[f64; 2]> {
        let coordinate = |i: u64, k: usize| {
            let along = hash01(seed * 1_000_003 + 2 * i + k as u64 + 1);
            (rect.min[k] + along * (rect.max[k] - rect.min[k])).min(rect.max[k])
        };
        (0..n as u64).map(|i| [coordinate(i, 0), coordinate(i, 1)]).collect()
    }

    const OBLONG: Rect = Rect { min: [300.0, -70.0], max: [1000.0, 110.0] };

    /// Every awkward set of points we could think of, and some easy ones.
    fn fixtures() -> Vec<(&'static str, Vec<[f64; 2]>, Rect)> {
        let unit = Rect::UNIT;
        let grid = |n: i32, f: &dyn Fn(f64, f64) -> [f64; 2]| -> Vec<[f64; 2]> {
            let step = 2.0 / n as f64;
            let at = |i: i32| (i as f64 + 0.5) * step - 1.0;
            (0..n * n).map(|i| f(at(i % n), at(i / n))).collect()
        };
        let circle = |n: usize, r: f64| -> Vec<[f64; 2]> {
            // Rational points of the circle need no sine.
            let on = |t: f64| [r * (1.0 - t * t) / (1.0 + t * t), r * 2.0 * t / (1.0 + t * t)];
            (0..n).map(|i| on(4.0 * i as f64 / n as f64 - 2.0)).collect()
        };
        let line = |f: &dyn Fn(f64) -> [f64; 2]| -> Vec<[f64; 2]> {
            (0..100).map(|i| f((i as f64 + 0.5) / 50.0 - 1.0)).collect()
        };
        let mut with_hub = circle(64, 0.5);
        with_hub.push([0.0, 0.0]);
        let mut crowded = random(500, 9, unit);
        crowded.extend(random(500, 10, Rect { min: [0.99, 0.99], max: [1.0, 1.0] }));
        crowded.extend(random(500, 11, Rect { min: [-1e-4, -1e-4], max: [1e-4, 1e-4] }));
        let border = line(&|t| [t, -1.0]).into_iter().chain(line(&|t| [1.0, t])).chain(line(&|t| [-1.0, t]));
        vec![
            ("one", vec![[0.25, -0.5]], unit),
            ("one in the corner", vec![[-1.0, 1.0]], unit),
            ("two", random(2, 1, unit), unit),
            ("two, symmetric", vec![[-0.5, 0.0], [0.5, 0.0]], unit),
            ("two, diagonal", vec![[-0.5, -0.5], [0.5, 0.5]], unit),
            ("three", random(3, 2, unit), unit),
            ("three in a row", vec![[0.0, 0.0], [0.5, 0.0], [-0.25, 0.0]], unit),
            ("three meeting on a side", vec![[-0.5, -0.75], [0.5, -0.75], [0.0, 0.11803398874989485]], unit),
            ("four cocircular", grid(2, &|x, y| [x, y]), unit),
            ("rectangle's corners", vec![[-1.0, -1.0], [1.0, -1.0], [1.0, 1.0], [-1.0, 1.0]], unit),
            (
                "corners and middle",
                vec![[-1.0, -1.0], [1.0, -1.0], [1.0, 1.0], [-1.0, 1.0], [0.0, 0.0]],
                unit,
            ),
            ("diamond", vec![[0.0, -1.0], [1.0, 0.0], [0.0, 1.0], [-1.0, 0.0]], unit),
            ("binary grid", grid(16, &|x, y| [x, y]), unit),
            ("decimal grid", grid(50, &|x, y| [x, y]), unit),
            ("rotated grid", grid(100, &|x, y| [0.7 * (0.8 * x - 0.6 * y), 0.7 * (0.6 * x + 0.8 * y)]), unit),
            ("diagonal grid", grid(30, &|x, y| [0.5 * (x - y), 0.5 * (x + y)]), unit),
            ("sheared grid", grid(40, &|x, y| [0.6 * x + 0.3 * y, y]), unit),
            (
                "hexagons",
                grid(31, &|x, y| [x + if (y * 15.5).abs() as i32 % 2 == 0 { 0.0 } else { 1.0 / 31.0 }, y]),
                unit,
            ),
            ("circle", circle(1000, 0.9), unit),
            ("circle with hub", with_hub, unit),
            ("half circle", circle(401, 0.99).into_iter().take(200).collect(), unit),
            ("level line", line(&|t| [t, 0.25]), unit),
            ("upright line", line(&|t| [0.1, t]), unit),
            ("slanted line", line(&|t| [0.9 * t, 0.3 * t + 0.1]), unit),
            ("diagonal", line(&|t| [t, t]), unit),
            ("wavering line", line(&|t| [t, 0.25 + 1e-12 * (t * 50.0 % 3.0)]), unit),
            ("border", border.collect(), unit),
            ("crowded", crowded, unit),
            ("random", random(3000, 3, unit), unit),
            ("random oblong", random(2000, 4, OBLONG), OBLONG),
            (
                "oblong grid",
                (0..70 * 18)
                    .map(|i| [305.0 + 10.0 * (i % 70) as f64, -65.0 + 10.0 * (i / 70) as f64])
                    .collect(),
                OBLONG,
            ),
            (
                "tiny rectangle",
                random(500, 5, Rect { min: [0.0; 2], max: [1e-12, 2e-12] }),
                Rect { min: [0.0; 2], max: [1e-12, 2e-12] },
            ),
            (
                "thin rectangle",
                random(500, 6, Rect { min: [0.0; 2], max: [1.0, 1e-3] }),
                Rect { min: [0.0; 2], max: [1.0, 1e-3] },
            ),
        ]
    }

    fn polygon(graph: &Graph, c: CenterIx) -> Vec<[f64; 2]> {
        graph.center_corners(c).iter().map(|&q| graph.corner(q)).collect()
    }

    fn cross(o: [f64; 2], a: [f64; 2], b: [f64; 2]) -> f64 {
        (a[0] - o[0]) * (b[1] - o[1]) - (a[1] - o[1]) * (b[0] - o[0])
    }

    fn area(polygon: &[[f64; 2]]) -> f64 {
        polygon.windows(2).map(|w| 0.5 * cross(polygon[0], w[0], w[1])).sum()
    }

    /// All that the module promises of any graph.
    fn check(name: &str, graph: &Graph, points: &[[f64; 2]]) {
        let rect = graph.rect();
        let size = (rect.max[0] - rect.min[0]).max(rect.max[1] - rect.min[1]);
        let tol = 1e-8 * size;
        assert_eq!(graph.centers(), points, "{name}");
        let [v, e, f] = [graph.corners().len(), graph.edges().len(), graph.centers().len()];
        assert_eq!(v + f, e + 1, "{name}: Euler, with {v} corners, {e} edges, {f} polygons");

        for ix in graph.edge_ixs() {
            let edge = graph.edge(ix);
            assert_ne!(edge.v0, edge.v1, "{name}: {ix:?}");
            assert_ne!(Some(edge.d0), edge.d1, "{name}: {ix:?}");
            let (a, b) = (graph.corner(edge.v0), graph.corner(edge.v1));
            assert!(squared(a, b).sqrt() > 0.4e-10 * size, "{name}: {ix:?} is too short");
            let on_side = |k: usize| a[k] == b[k] && (a[k] == rect.min[k] || a[k] == rect.max[k]);
            assert_eq!(graph.is_border_edge(ix), on_side(0) || on_side(1), "{name}: {ix:?} {a:?} {b:?}");
            let m = graph.edge_midpoint(ix);
            assert_eq!(m, [0.5 * (a[0] + b[0]), 0.5 * (a[1] + b[1])]);
            if let Some(d1) = edge.d1 {
                let [m0, m1] = [edge.d0, d1].map(|c| squared(graph.center(c), m).sqrt());
                assert!((m0 - m1).abs() <= tol, "{name}: {ix:?} is no bisector: {m0} {m1}");
            }
        }
        for x in [rect.min[0], rect.max[0]] {
            for y in [rect.min[1], rect.max[1]] {
                let found = graph.corners().iter().filter(|&&q| q == [x, y]).count();
                assert_eq!(found, 1, "{name}: corner {x} {y}");
            }
        }

        let mut whole = 0.0;
        for c in graph.center_ixs() {
            let (corners, edges) = (graph.center_corners(c), graph.center_edges(c));
            let polygon = polygon(graph, c);
            let n = polygon.len();
            assert!(n >= 3 && edges.len() == n, "{name}: {c:?} has {n} corners");
            for k in 0..n {
                let [a, b, after] = [polygon[k], polygon[(k + 1) % n], polygon[(k + 2) % n]];
                let length = squared(a, b).sqrt();
                assert!(
                    cross(a, b, after) >= -tol * squared(a, after).sqrt(),
                    "{name}: {c:?} is not convex at {b:?}"
                );
                assert!(cross(a, b, graph.center(c)) >= -tol * length, "{name}: {c:?} is not in its polygon");
                let edge = graph.edge(edges[k]);
                let (v0, v1) = (corners[k], corners[(k + 1) % n]);
                let forward = (edge.d0, edge.v0, edge.v1) == (c, v0, v1);
                let backward = (edge.d1, edge.v1, edge.v0) == (Some(c), v0, v1);
                assert!(forward || backward, "{name}: {c:?} side {k}");
                assert!(graph.corner_touches(v0).any(|d| d == c), "{name}: {v0:?} does not touch {c:?}");
            }
            assert_eq!(graph.is_border_center(c), corners.iter().any(|&q| graph.is_border_corner(q)));
            for d in graph.center_neighbors(c) {
                assert!(graph.center_neighbors(d).any(|back| back == c), "{name}: {c:?} {d:?}");
            }
            let own = area(&polygon);
            assert!(own > 0.0, "{name}: {c:?} has area {own}");
            whole += own;
        }
        assert!((whole / rect.area() - 1.0).abs() < 1e-9, "{name}: areas add up to {whole}");

        for q in graph.corner_ixs() {
            let p = graph.corner(q);
            assert!(rect.contains(p), "{name}: {q:?} at {p:?}");
            let on_side = (0..2).any(|k| p[k] == rect.min[k] || p[k] == rect.max[k]);
            assert_eq!(graph.is_border_corner(q), on_side, "{name}: {q:?} at {p:?}");
            let edges = graph.corner_edges(q);
            let touches: Vec<_> = graph.corner_touches(q).collect();
            assert_eq!(touches.len() + usize::from(on_side), edges.len(), "{name}: {q:?}");
            assert!(edges.len() >= if on_side { 2 } else { 3 }, "{name}: {q:?} has degree {}", edges.len());
            for (k, &c) in touches.iter().enumerate() {
                assert!(!touches[..k].contains(&c), "{name}: {q:?} lists {c:?} twice");
                assert!(graph.center_corners(c).contains(&q), "{name}: {c:?} lacks {q:?}");
                let next = graph.edge(edges[(k + 1) % edges.len()]);
                assert_eq!(next.right_of(q), Some(c), "{name}: edges round {q:?} are out of order");
            }
            for (&e, far) in edges.iter().zip(graph.corner_adjacent(q)) {
                let edge = graph.edge(e);
                assert!((edge.v0, edge.v1) == (q, far) || (edge.v1, edge.v0) == (q, far), "{name}: {q:?}");
            }
        }
    }

    fn brute(points: &[[f64; 2]], p: [f64; 2]) -> CenterIx {
        let mut best = 0;
        for c in 1..points.len() {
            if squared(p, points[c]) < squared(p, points[best]) {
                best = c;
            }
        }
        CenterIx(best as u32)
    }

    #[test]
    fn promises_hold_on_every_fixture() {
        for (name, points, rect) in fixtures() {
            let graph = Graph::voronoi(&points, rect).unwrap_or_else(|e| panic!("{name}: {e}"));
            check(name, &graph, &points);
        }
    }

    #[test]
    fn promises_hold_after_relaxing_every_fixture() {
        for (name, points, rect) in fixtures() {
            let relaxed = relax(&points, rect, 3).unwrap_or_else(|e| panic!("{name}: {e}"));
            let graph = Graph::voronoi(&relaxed, rect).unwrap_or_else(|e| panic!("{name}: {e}"));
            check(name, &graph, &relaxed);
        }
    }

    #[test]
    fn promises_hold_on_many_small_sets() {
        for seed in 0..3000 {
            // Coordinates on a coarse lattice: duplicates, lines and circles abound.
            let lattice = 3 + seed % 7;
            let mut points: Vec<[f64; 2]> = random(2 + (seed % 23) as usize, 77 + seed, Rect::UNIT)
                .into_iter()
                .map(|p| p.map(|x| (x * lattice as f64).round() / lattice as f64 + 0.0)) // no negative zero
                .collect();
            points.sort_by(|a, b| a[0].total_cmp(&b[0]).then(a[1].total_cmp(&b[1])));
            points.dedup();
            let name = format!("set {seed}");
            let graph = Graph::voronoi(&points, Rect::UNIT).unwrap_or_else(|e| panic!("{name}: {e}"));
            check(&name, &graph, &points);
        }
    }

    #[test]
    fn promises_hold_on_lattices_blurred_by_rounding() {
        for seed in 0..500 {
            // Rows and circles that are straight and round to within 1e-6 … 1e-17, at any angle.
            let pick = |k: u64| hash01(seed * 8 + k + 1);
            let (cols, rows) = (1 + (pick(0) * 12.0) as usize, 2 + (pick(1) * 12.0) as usize);
            let blur = (0..6 + (pick(2) * 12.0) as u32).fold(1.0, |blur, _| blur * 0.1);
            let (x, y) = (0.1 + pick(3), pick(4));
            let r = 0.6 / (x * x + y * y).sqrt();
            let (c, s, squeeze) = (r * x, r * y, if seed % 2 == 0 { 1.0 } else { pick(5) });
            let noise = random(cols * rows, 500 + seed, Rect::UNIT);
            let points: Vec<[f64; 2]> = (0..cols * rows)
                .map(|i| {
                    let u = 2.0 * ((i % cols) as f64 + 0.5) / cols as f64 - 1.0;
                    let v = squeeze * (2.0 * ((i / cols) as f64 + 0.5) / rows as f64 - 1.0);
                    [c * u - s * v + blur * noise[i][0], s * u + c * v + blur * noise[i][1]]
                })
                .collect();
            let name = format!("lattice {seed}: {cols} × {rows}, blur {blur:e}");
            let graph = Graph::voronoi(&points, Rect::UNIT).unwrap_or_else(|e| panic!("{name}: {e}"));
            check(&name, &graph, &points);
        }
    }

    #[test]
    fn a_square_grid_has_square_polygons_and_corners_of_degree_four() {
        let points: Vec<_> =
            (0..64).map(|i| [(i % 8) as f64 / 4.0 - 0.875, (i / 8) as f64 / 4.0 - 0.875]).collect();
        let graph = Graph::voronoi(&points, Rect::UNIT).unwrap();
        assert_eq!(graph.corners().len(), 81);
        assert!(graph.corner_ixs().all(|q| graph.is_border_corner(q) || graph.corner_edges(q).len() == 4));
        // Squares are already as even as can be.
        assert_eq!(relax(&points, Rect::UNIT, 2).unwrap(), points);
    }

    #[test]
    fn the_center_of_a_polygon_is_the_nearest_to_points_in_it() {
        let points = random(400, 21, OBLONG);
        let graph = Graph::voronoi(&points, OBLONG).unwrap();
        for c in graph.center_ixs() {
            let polygon = polygon(&graph, c);
            for sample in 0..20 {
                let weights: Vec<f64> = (0..polygon.len())
                    .map(|k| 1e-3 + hash01((c.0 as u64 * 20 + sample) * 64 + k as u64))
                    .collect();
                let total: f64 = weights.iter().sum();
                let at = |k: usize| polygon.iter().zip(&weights).map(|(p, w)| p[k] * w).sum::<f64>() / total;
                assert_eq!(brute(&points, [at(0), at(1)]), c);
            }
        }
    }

    #[test]
    fn relaxing_is_averaging_the_corners() {
        for (name, points, rect) in fixtures() {
            let graph = Graph::voronoi(&points, rect).unwrap();
            let relaxed = relax(&points, rect, 1).unwrap();
            let size = (rect.max[0] - rect.min[0]).max(rect.max[1] - rect.min[1]);
            for c in graph.center_ixs() {
                let polygon = polygon(&graph, c);
                for k in 0..2 {
                    let average = polygon.iter().map(|p| p[k]).sum::<f64>() / polygon.len() as f64;
                    assert!(
                        (average - relaxed[c.at()][k]).abs() <= 1e-13 * size.max(average.abs()),
                        "{name}: {c:?}"
                    );
                }
            }
        }
    }

    #[test]
    fn relaxing_evens_out_the_areas() {
        let variance = |points: &[[f64; 2]]| {
            let graph = Graph::voronoi(points, Rect::UNIT).unwrap();
            let mean = 4.0 / points.len() as f64;
            graph.center_ixs().map(|c| area(&polygon(&graph, c)) / mean - 1.0).map(|d| d * d).sum::<f64>()
                / points.len() as f64
        };
        let points = random(2000, 31, Rect::UNIT);
        let steps: Vec<f64> = (0..4).map(|k| variance(&relax(&points, Rect::UNIT, k).unwrap())).collect();
        assert!(steps.windows(2).all(|w| w[1] < w[0]) && steps[2] < 0.5 * steps[0], "{steps:?}");
    }

    #[test]
    fn bad_input_is_refused_with_a_sentence() {
        let refuse = |points: &[[f64; 2]], rect: Rect| {
            let error = Graph::voronoi(points, rect).unwrap_err();
            assert_eq!(relax(points, rect, 1).unwrap_err().to_string(), error.to_string());
            error
        };
        assert_eq!(refuse(&[], Rect::UNIT), GraphError::NoPoints);
        assert_eq!(
            refuse(&[[0.0, 0.0], [0.5, 1.5]], Rect::UNIT).to_string(),
            "point 1 at [0.5, 1.5] is not inside the rectangle Rect { min: [-1.0, -1.0], max: [1.0, 1.0] }"
        );
        assert!(matches!(refuse(&[[f64::NAN, 0.0]], Rect::UNIT), GraphError::Outside { index: 0, .. }));
        for (min, max) in [
            ([0.0, 0.0], [0.0, 1.0]),
            ([0.0, 0.0], [f64::NAN, 1.0]),
            ([0.0, 0.0], [f64::INFINITY, 1.0]),
            ([1.0, 1.0], [0.0, 0.0]),
            ([0.0, 0.0], [1e5, 1.0]),
            ([1e6, 0.0], [1e6 + 1.0, 1.0]),
        ] {
            assert!(matches!(refuse(&[[0.0, 0.0]], Rect { min, max }), GraphError::BadRect(_)));
        }
    }

    #[test]
    fn duplicates_are_refused_wherever_they_are() {
        for near in [0.0, 1e-16, 1e-13, 1e-11, 0.9e-8] {
            for (name, points, rect) in fixtures().into_iter().filter(|f| f.1.len() >= 2 && f.2 == Rect::UNIT)
            {
                let mut points = points;
                let [x, y] = points[points.len() / 3];
                points.push([if x > 0.0 { x - near } else { x + near }, y]);
                let expected = GraphError::TooClose { first: points.len() / 3, second: points.len() - 1 };
                assert!(
                    matches!(Graph::voronoi(&points, rect), Err(GraphError::TooClose { .. })),
                    "{name} {near}"
                );
                if name == "random" {
                    assert_eq!(Graph::voronoi(&points, rect), Err(expected));
                }
            }
        }
        assert_eq!(
            Graph::voronoi(&[[0.5, 0.5]; 9], Rect::UNIT).unwrap_err(),
            GraphError::TooClose { first: 0, second: 1 }
        );
    }

    #[test]
    fn the_same_points_give_the_same_bits() {
        for (_, points, rect) in fixtures() {
            let make = || Graph::voronoi(&relax(&points, rect, 2).unwrap(), rect).unwrap();
            let (a, b) = (make(), make());
            let bits = |g: &Graph| g.corners().iter().flatten().map(|x| x.to_bits()).collect::<Vec<_>>();
            assert_eq!(bits(&a), bits(&b));
            assert_eq!(a, b);
        }
    }

    #[test]
    fn sorting_in_rows_loses_nothing() {
        let points = random(1000, 41, OBLONG);
        let mut sorted = points.clone();
        sort_in_rows(&mut sorted, OBLONG);
        let ordered = |mut p: Vec<[f64; 2]>| {
            p.sort_by(|a, b| a[0].total_cmp(&b[0]).then(a[1].total_cmp(&b[1])));
            p
        };
        assert_ne!(sorted, points);
        assert_eq!(ordered(sorted), ordered(points));
    }

    #[test]
    fn the_locator_agrees_with_brute_force() {
        for (name, points, rect) in fixtures() {
            let locator = Locator::new(&Graph::voronoi(&points, rect).unwrap());
            let mut last = CenterIx(0);
            for p in random(500, 51, rect) {
                let expected = brute(&points, p);
                assert_eq!(locator.locate(p), expected, "{name} {p:?}");
                last = locator.locate_from(p, last);
                assert_eq!(last, expected, "{name} {p:?}");
            }
            assert_eq!(locator.locate_from(points[0], CenterIx(u32::MAX)), brute(&points, points[0]));
        }
    }

    #[test]
    fn ties_go_to_the_lowest_index_from_any_hint() {
        // 8 × 8 squares, numbered at random; the samples lie on their sides and corners.
        let mut points: Vec<_> =
            (0..64).map(|i| [(i % 8) as f64 / 4.0 - 0.875, (i / 8) as f64 / 4.0 - 0.875]).collect();
        for i in (1..64).rev() {
            points.swap(i, (hash01(i as u64) * (i + 1) as f64) as usize);
        }
        let locator = Locator::new(&Graph::voronoi(&points, Rect::UNIT).unwrap());
        for sample in 0..17 * 17 {
            let p = [(sample % 17) as f64 / 8.0 - 1.0, (sample / 17) as f64 / 8.0 - 1.0];
            for hint in 0..64 {
                assert_eq!(locator.locate_from(p, CenterIx(hint)), brute(&points, p), "{p:?} from {hint}");
            }
        }
    }

    #[test]
    fn points_outside_are_looked_up_at_the_border() {
        let points = random(300, 61, Rect::UNIT);
        let locator = Locator::new(&Graph::voronoi(&points, Rect::UNIT).unwrap());
        assert_eq!(locator.locate([5.0, 0.3]), brute(&points, [1.0, 0.3]));
        assert_eq!(locator.locate([f64::NEG_INFINITY, 9.0]), brute(&points, [-1.0, 1.0]));
        assert!(
            locator.locate([f64::NAN, 0.0]).at() < 300,
            "NaN finds some polygon, it does not matter which"
        );
    }
}
