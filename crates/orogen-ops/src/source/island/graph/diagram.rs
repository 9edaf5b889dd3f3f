//! The diagram as the dual of the triangulation, cut off at the border.

use delaunator::{EMPTY, Point, Triangulation, next_halfedge, prev_halfedge};

use super::sites::{Flaw, distance2};
use super::{BORDER, MIN_SPACING, NONE, SHORT, TOL, stretch};

// Where a Delaunay triangle's circumcentre lies: `INSIDE`, `OUTSIDE`, or on the sides in this bit set.
pub(super) const INSIDE: u8 = 0;
pub(super) const BOTTOM: u8 = 1;
pub(super) const RIGHT: u8 = 2;
pub(super) const TOP: u8 = 4;
pub(super) const LEFT: u8 = 8;
pub(super) const OUTSIDE: u8 = 16;

pub(super) fn place_of(p: [f64; 2], half: [f64; 2]) -> u8 {
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
pub(super) fn join_places(a: u8, b: u8) -> u8 {
    let sides = (a | b) & !OUTSIDE;
    if sides != INSIDE { sides } else { a.min(b) }
}

pub(super) fn snap(p: [f64; 2], sides: u8, half: [f64; 2]) -> [f64; 2] {
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
pub(super) struct Link {
    pub(super) twin: u32,
    pub(super) edge: u32,
}

/// One side of a traced polygon.
#[derive(Clone, Copy)]
pub(super) struct Side {
    /// Node at which it begins, counter-clockwise; it ends where the next side begins.
    pub(super) from: u32,
    /// Names the edge: the lower of its two half-edges, or `BORDER` plus a ring index.
    pub(super) slot: u32,
}

/// The triangles round a site.
#[derive(Clone, Copy)]
pub(super) struct Fan {
    /// A half-edge leaving the site: the clockwise-most on the hull, any elsewhere.
    pub(super) first: u32,
    pub(super) size: u32,
    /// Of their circumcentres; gathered here as the cache line is loaded.
    sum: [f64; 2],
}

/// An edge that meets the border, or is out of sight.
pub(super) struct Cut {
    pub(super) slot: u32,
    /// First and last node as seen from the site the half-edge starts at; `None` when nothing is left.
    pub(super) ends: Option<(u32, u32)>,
}

/// A node on the border, by its distance along it from the lower left corner, counter-clockwise.
pub(super) struct RingNode {
    along: f64,
    pub(super) point: [f64; 2],
}

/// The diagram as the triangulation's dual. A *node* is a triangle (its circumcentre) or, from
/// `vertex.len()` on, a place in the ring of border nodes.
pub(super) struct Diagram<'a> {
    sites: &'a [Point],
    pub(super) mesh: Triangulation,
    /// Of collinear sites there are no triangles, only this order along their line.
    pub(super) line: Vec<u32>,
    pub(super) vertex: Vec<[f64; 2]>,
    pub(super) place: Vec<u8>,
    /// The triangle that stands for all whose circumcentres coincide.
    pub(super) root: Vec<u32>,
    /// All triangles whose circumcentres were united with another, ascending.
    pub(super) merged: Vec<u32>,
    pub(super) fans: Vec<Fan>,
    pub(super) cuts: Vec<Cut>,
    pub(super) ring: Vec<RingNode>,
    /// The site whose polygon has the border from each ring node to the next.
    pub(super) owner: Vec<u32>,
    /// Index into `traced_start` of sites whose polygons needed tracing.
    pub(super) traced_of: Vec<u32>,
    traced_start: Vec<u32>,
    traced_sides: Vec<Side>,
}

impl<'a> Diagram<'a> {
    pub(super) fn new(sites: &'a [Point], mut mesh: Triangulation, half: [f64; 2]) -> Result<Self, Flaw> {
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

    pub(super) fn slots(&self) -> usize {
        self.mesh.triangles.len().max(self.line.len())
    }

    fn node(&self, node: usize) -> [f64; 2] {
        if node < self.vertex.len() { self.vertex[node] } else { self.ring[node - self.vertex.len()].point }
    }

    pub(super) fn traced(&self, site: usize) -> &[Side] {
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
    pub(super) fn averages(&self) -> Vec<Point> {
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
pub(super) struct Survey {
    /// Triangles whose circumcentre is not well inside.
    odd: Vec<u32>,
    /// Half-edges whose edge is short enough to be looked at twice.
    short: Vec<u32>,
    /// Half-edges on the hull.
    hull: Vec<u32>,
}

/// Where an edge ends: at a circumcentre, or cut by the border.
pub(super) enum CutEnd {
    Triangle(u32),
    Border([f64; 2]),
}
