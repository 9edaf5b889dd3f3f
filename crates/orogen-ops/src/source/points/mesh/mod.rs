//! A triangulation of scattered points, and heights between them.
//!
//! Points are moved to a frame where they cover -1 to 1. Which side of a line a place lies on, and whether it lies in a
//! circle, is decided exactly (Shewchuk's predicates), so the triangle of a place does not depend on where the search
//! for it began, and a window has the same bits as the whole.

use delaunator::{EMPTY, Point, Triangulation};
use orogen_core::Rect;
use robust::{Coord, incircle, orient2d};

use crate::source::island::graph::{Flaw, GraphError, steady};

/// In the frame: points closer than this are one point.
const SAME: f64 = 2e-8;
/// No triangle, or no twin.
const NONE: u32 = u32::MAX;
/// More neighbours than this round a place are those of a broken mesh.
const MOST_NEIGHBORS: usize = 1 << 16;

/// The triangulation, or the chain of points where all lie on a line.
pub(super) struct Mesh {
    middle: [f64; 2],
    scale: f64,
    sites: Vec<[f64; 2]>,
    heights: Vec<f64>,
    /// Three corners a triangle, counter-clockwise; none when all points lie on a line.
    corners: Vec<u32>,
    /// The same side of the neighbouring triangle.
    twins: Vec<u32>,
    /// The outline counter-clockwise, or the chain from end to end.
    hull: Vec<u32>,
    /// The direction of each point of the outline, seen from `center`; of a chain, how far along it is.
    angles: Vec<f64>,
    center: [f64; 2],
    /// Slopes at the sites; empty unless asked for.
    slopes: Vec<[f64; 2]>,
}

/// Where a place lies.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Spot {
    Site(u32),
    Triangle(u32),
    Outside,
}

/// A height, and how far from the outline it was taken: 0 inside.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Reading {
    pub height: f64,
    pub outside_m: f64,
}

/// State of the queries of one thread: where the last one ended, and buffers.
#[derive(Default)]
pub(super) struct Query {
    /// A triangle near the last place.
    near: u32,
    stack: Vec<(u32, [f64; 2])>,
    /// Natural neighbours of a place with their areas.
    weights: Vec<(u32, f64)>,
    /// Sides of the outline of the cavity: first corner, and the corner of the place's own polygon there.
    outline: Vec<(u32, [f64; 2])>,
}

impl Mesh {
    /// Triangulates points (x, y, z); those that lie in one place become one, of their mean height.
    ///
    /// # Errors
    /// When there is no point, or too many.
    pub fn new(points: &[[f64; 3]]) -> Result<Self, GraphError> {
        let covered = crate::source::user_heights::covered(points.iter().map(|p| [p[0], p[1]]));
        let Some(Rect { min, max }) = covered else { return Err(GraphError::NoPoints) };
        if points.len() > 1 << 28 {
            return Err(GraphError::TooManyPoints(points.len()));
        }
        let middle = [0.5 * (min[0] + max[0]), 0.5 * (min[1] + max[1])];
        let half = 0.5 * (max[0] - min[0]).max(max[1] - min[1]);
        let scale = if half > 0.0 { half } else { 1.0 };
        let (sites, heights) = merged(points, |p| [(p[0] - middle[0]) / scale, (p[1] - middle[1]) / scale]);

        // The triangulator lists corners clockwise, so it gets the plane upside down.
        let flipped: Vec<Point> = sites.iter().map(|s| Point { x: s[0], y: -s[1] }).collect();
        let order: Vec<u32> = (0..sites.len() as u32).collect();
        let mut mesh = steady(&flipped, &order, [1.0, 1.0], |moved, found| {
            let sites = moved.iter().map(|p| [p.x, -p.y]).collect();
            Self::checked(sites, heights.clone(), found)
        })?;
        (mesh.middle, mesh.scale) = (middle, scale);
        mesh.look_round();
        Ok(mesh)
    }

    /// The mesh, unless rounding spoilt the triangulation: all sites are in it, all triangles are the right way round,
    /// and their number is that of a disc.
    fn checked(sites: Vec<[f64; 2]>, heights: Vec<f64>, found: Triangulation) -> Result<Self, Flaw> {
        let narrow = |i: usize| if i == EMPTY { NONE } else { i as u32 };
        let mesh = Self {
            middle: [0.0; 2],
            scale: 1.0,
            corners: found.triangles.iter().map(|&i| i as u32).collect(),
            twins: found.halfedges.iter().map(|&i| narrow(i)).collect(),
            hull: found.hull.iter().map(|&i| i as u32).collect(),
            sites,
            heights,
            angles: Vec::new(),
            center: [0.0; 2],
            slopes: Vec::new(),
        };
        let mut seen = vec![false; mesh.sites.len()];
        for &site in mesh.corners.iter().chain(&mesh.hull) {
            seen[site as usize] = true;
        }
        let sound = |t: u32| {
            let [a, b, c] = mesh.triangle(t);
            orient2d(coord(a), coord(b), coord(c)) > 0.0
        };
        let count = mesh.corners.len() / 3;
        let disc = count == 0 || count + 2 + mesh.hull.len() == 2 * mesh.sites.len();
        if disc && seen.iter().all(|seen| *seen) && (0..count as u32).all(sound) {
            Ok(mesh)
        } else {
            Err(Flaw::Inconsistent)
        }
    }

    /// Finds the direction of each point of the outline from a place inside, or how far along the chain it lies.
    fn look_round(&mut self) {
        if self.corners.is_empty() {
            self.angles = self.hull.iter().map(|&i| self.along(self.sites[i as usize])).collect();
            return;
        }
        let [a, b, c] = self.triangle(0);
        self.center = [(a[0] + b[0] + c[0]) / 3.0, (a[1] + b[1] + c[1]) / 3.0];
        let area: f64 = (0..self.hull.len())
            .map(|i| {
                let (a, b) = (self.hull[i], self.hull[(i + 1) % self.hull.len()]);
                cross(self.sites[a as usize], self.sites[b as usize])
            })
            .sum();
        if area < 0.0 {
            self.hull.reverse();
        }
        let angle = |&i: &u32| turn(self.sites[i as usize], self.center);
        let first =
            (0..self.hull.len()).min_by(|&i, &j| angle(&self.hull[i]).total_cmp(&angle(&self.hull[j])));
        let first = first.unwrap_or(0);
        self.hull.rotate_left(first);
        let angles = self.hull.iter().map(|&i| turn(self.sites[i as usize], self.center)).collect();
        self.angles = angles;
    }

    /// How far along the chain a place lies.
    fn along(&self, p: [f64; 2]) -> f64 {
        match (self.hull.first(), self.hull.last()) {
            (Some(&first), Some(&last)) => {
                let (a, b) = (self.sites[first as usize], self.sites[last as usize]);
                let (u, v) = (minus(b, a), minus(p, a));
                u[0] * v[0] + u[1] * v[1]
            }
            _ => 0.0,
        }
    }

    /// Finds the slope at each point: that of the plane through it that fits its neighbours best, flattened until half
    /// way to every neighbour it lies between the lowest and highest of them. So a peak has no slope.
    pub fn find_slopes(&mut self) {
        // Sums of dx², dx dy, dy², dx dz, dy dz over the neighbours, each over the distance squared.
        let mut sums = vec![[0.0f64; 5]; self.sites.len()];
        let mut ranges: Vec<[f64; 2]> = self.heights.iter().map(|&h| [h, h]).collect();
        let sides: Vec<u32> = (0..self.corners.len() as u32)
            .filter(|&e| self.twins[e as usize] == NONE || e < self.twins[e as usize])
            .collect();
        let ends = |e: u32| (self.corners[e as usize] as usize, self.corners[next(e) as usize] as usize);
        for &e in &sides {
            let (a, b) = ends(e);
            let [dx, dy] = minus(self.sites[b], self.sites[a]);
            let dz = self.heights[b] - self.heights[a];
            let weight = 1.0 / (dx * dx + dy * dy);
            let terms = [dx * dx, dx * dy, dy * dy, dx * dz, dy * dz].map(|term| term * weight);
            for (end, other) in [(a, b), (b, a)] {
                sums[end].iter_mut().zip(terms).for_each(|(sum, term)| *sum += term);
                let [low, high] = &mut ranges[end];
                (*low, *high) = (low.min(self.heights[other]), high.max(self.heights[other]));
            }
        }
        // A hair of level ground keeps slopes across neighbours in one line at nothing.
        let solve = |[xx, xy, yy, xz, yz]: [f64; 5]| {
            let (xx, yy) = (xx + 1e-6, yy + 1e-6);
            let det = xx * yy - xy * xy;
            [(xz * yy - yz * xy) / det, (yz * xx - xz * xy) / det]
        };
        let mut slopes: Vec<[f64; 2]> = sums.into_iter().map(solve).collect();
        let mut kept = vec![1.0f64; slopes.len()];
        for &e in &sides {
            let (a, b) = ends(e);
            for (end, other) in [(a, b), (b, a)] {
                let way = minus(self.sites[other], self.sites[end]);
                let rise = 0.5 * (slopes[end][0] * way[0] + slopes[end][1] * way[1]);
                let [low, high] = ranges[end].map(|bound| bound - self.heights[end]);
                let room = if rise > 0.0 { high } else { low };
                // A hair more than the room, so that rounding does not flatten a plane.
                if rise.abs() > room.abs() * (1.0 + 1e-9) {
                    kept[end] = kept[end].min(room / rise);
                }
            }
        }
        slopes.iter_mut().zip(kept).for_each(|(slope, kept)| *slope = slope.map(|s| s * kept));
        self.slopes = slopes;
    }

    /// Whether all points lie on one line (or there is only one).
    pub fn is_line(&self) -> bool {
        self.corners.is_empty()
    }

    fn triangle(&self, t: u32) -> [[f64; 2]; 3] {
        [0, 1, 2].map(|k| self.sites[self.corners[3 * t as usize + k] as usize])
    }

    /// The height at a place in the world.
    pub fn read(&self, place: [f64; 2], natural: bool, query: &mut Query) -> Reading {
        let p = [(place[0] - self.middle[0]) / self.scale, (place[1] - self.middle[1]) / self.scale];
        let height = match self.locate(p, &mut query.near) {
            Spot::Site(site) => self.heights[site as usize],
            Spot::Triangle(t) if natural => self.natural(p, t, query).unwrap_or_else(|| self.linear(p, t)),
            Spot::Triangle(t) => self.linear(p, t),
            Spot::Outside => {
                let (height, distance) = self.at_outline(p);
                return Reading { height, outside_m: distance * self.scale };
            }
        };
        Reading { height, outside_m: 0.0 }
    }

    /// Walks from triangle to triangle until one holds the place. On a side of two triangles the lower one has it.
    fn locate(&self, p: [f64; 2], near: &mut u32) -> Spot {
        let count = (self.corners.len() / 3) as u32;
        let mut t = (*near).min(count.saturating_sub(1));
        if count == 0 {
            return Spot::Outside;
        }
        // A walk over a Delaunay mesh never comes back; turning the order of sides makes sure of any other.
        for step in 0..3 * count {
            let mut on = [false; 3];
            let mut beyond = None;
            for k in 0..3 {
                let e = 3 * t + (k + step) % 3;
                let (a, b) = (self.corners[e as usize], self.corners[next(e) as usize]);
                let side = orient2d(coord(self.sites[a as usize]), coord(self.sites[b as usize]), coord(p));
                if side < 0.0 {
                    beyond = Some(e);
                    break;
                }
                on[(e % 3) as usize] = side == 0.0;
            }
            if let Some(e) = beyond {
                match self.twins[e as usize] {
                    NONE => return Spot::Outside,
                    twin => t = twin / 3,
                }
                continue;
            }
            *near = t;
            let twin = |k: u32| self.twins[(3 * t + k) as usize];
            return match on {
                [true, _, true] => Spot::Site(self.corners[3 * t as usize]),
                [true, true, _] => Spot::Site(self.corners[3 * t as usize + 1]),
                [_, true, true] => Spot::Site(self.corners[3 * t as usize + 2]),
                [true, _, _] => Spot::Triangle(t.min(twin(0) / 3)),
                [_, true, _] => Spot::Triangle(t.min(twin(1) / 3)),
                [_, _, true] => Spot::Triangle(t.min(twin(2) / 3)),
                _ => Spot::Triangle(t),
            };
        }
        Spot::Outside
    }

    /// On the plane through the corners of a triangle.
    fn linear(&self, p: [f64; 2], t: u32) -> f64 {
        let [a, b, c] = self.triangle(t).map(|q| minus(q, p));
        let weights = [cross(b, c), cross(c, a), cross(a, b)];
        let whole: f64 = weights.iter().sum();
        let sum: f64 =
            (0..3).map(|k| weights[k] * self.heights[self.corners[3 * t as usize + k] as usize]).sum();
        sum / whole
    }

    /// By the areas that the place, were it a site, would take from the Voronoi polygons of its neighbours; `None`
    /// on the outline, where those areas have no end.
    ///
    /// All triangles whose circle holds the place are walked, depth first and counter-clockwise. The piece taken from a
    /// site is a polygon round their circumcentres: each side between two of them, or between one and a corner of the
    /// place's own polygon, adds a term to the areas at both its ends.
    fn natural(&self, p: [f64; 2], t: u32, query: &mut Query) -> Option<f64> {
        let Query { stack, weights, outline, .. } = query;
        stack.clear();
        weights.clear();
        outline.clear();
        let mut add = |site: u32, area: f64| match weights.iter_mut().find(|(known, _)| *known == site) {
            Some((_, sum)) => *sum += area,
            None => weights.push((site, area)),
        };
        let own = self.circumcenter(t, p)?;
        stack.extend([(3 * t + 2, own), (3 * t + 1, own), (3 * t, own)]);
        while let Some((e, center)) = stack.pop() {
            let (a, b) = (self.corners[e as usize], self.corners[next(e) as usize]);
            let twin = self.twins[e as usize];
            let other = if twin != NONE && self.circle_holds(twin / 3, p) {
                let other = self.circumcenter(twin / 3, p)?;
                let first = next(twin);
                stack.extend([(next(first), other), (first, other)]);
                other
            } else {
                let corner = circumcenter(
                    [0.0, 0.0],
                    minus(self.sites[a as usize], p),
                    minus(self.sites[b as usize], p),
                )?;
                outline.push((a, corner));
                if outline.len() > MOST_NEIGHBORS {
                    return None;
                }
                corner
            };
            let area = cross(center, other);
            add(a, area);
            add(b, -area);
        }
        for (k, (site, corner)) in outline.iter().enumerate() {
            let before = outline[(k + outline.len() - 1) % outline.len()].1;
            add(*site, cross(*corner, before));
        }
        self.blend(p, weights)
    }

    /// The mean of the neighbours' heights by their areas; with slopes, Sibson's blend that keeps them at the sites.
    fn blend(&self, p: [f64; 2], weights: &[(u32, f64)]) -> Option<f64> {
        let (mut whole, mut sum) = (0.0, 0.0);
        for &(site, area) in weights {
            whole += area;
            sum += area * self.heights[site as usize];
        }
        let plain = sum / whole;
        if !plain.is_finite() || whole == 0.0 {
            return None;
        }
        if self.slopes.is_empty() {
            return Some(plain);
        }
        let (mut over, mut times, mut squares, mut planes) = (0.0, 0.0, 0.0, 0.0);
        for &(site, area) in weights {
            let share = area / whole;
            let q = self.sites[site as usize];
            let (dx, dy) = (p[0] - q[0], p[1] - q[1]);
            let distance = (dx * dx + dy * dy).sqrt();
            let slope = self.slopes[site as usize];
            over += share / distance;
            times += share * distance;
            squares += share * distance * distance;
            planes += share / distance * (self.heights[site as usize] + slope[0] * dx + slope[1] * dy);
        }
        let alpha = times / over;
        let smooth = (alpha * plain + squares * (planes / over)) / (alpha + squares);
        Some(if smooth.is_finite() { smooth } else { plain })
    }

    fn circle_holds(&self, t: u32, p: [f64; 2]) -> bool {
        let [a, b, c] = self.triangle(t);
        incircle(coord(a), coord(b), coord(c), coord(p)) > 0.0
    }

    /// Seen from `p`.
    fn circumcenter(&self, t: u32, p: [f64; 2]) -> Option<[f64; 2]> {
        let [a, b, c] = self.triangle(t).map(|q| minus(q, p));
        circumcenter(a, b, c)
    }

    /// Height at the nearest place of the outline, and the distance there. The search starts on the side that a ray
    /// from the middle to the place crosses and goes where it is nearer: an outline is convex, so that is the nearest.
    fn at_outline(&self, p: [f64; 2]) -> (f64, f64) {
        let n = self.hull.len();
        let closed = !self.is_line();
        let sides = if closed { n } else { n.saturating_sub(1) };
        if sides == 0 {
            let distance2 = squared(minus(self.sites[0], p));
            return (self.heights[0], distance2.sqrt());
        }
        let side = |i: usize| {
            let (a, b) = (self.hull[i] as usize, self.hull[(i + 1) % n] as usize);
            let (u, v) = (minus(self.sites[b], self.sites[a]), minus(p, self.sites[a]));
            let t = ((u[0] * v[0] + u[1] * v[1]) / squared(u)).clamp(0.0, 1.0);
            let gap = [v[0] - t * u[0], v[1] - t * u[1]];
            let height = self.heights[a] + t * (self.heights[b] - self.heights[a]);
            (squared(gap), if t == 1.0 { self.heights[b] } else { height })
        };
        let mut at = if closed {
            let turn = turn(p, self.center);
            (self.angles.partition_point(|angle| *angle <= turn) + n - 1) % n
        } else {
            let along = self.along(p);
            self.angles.partition_point(|place| *place <= along).saturating_sub(1).min(sides - 1)
        };
        let mut best = side(at);
        for _ in 0..sides {
            let after = if at + 1 < sides {
                at + 1
            } else if closed {
                0
            } else {
                at
            };
            let before = if at > 0 {
                at - 1
            } else if closed {
                sides - 1
            } else {
                at
            };
            let (ahead, behind) = (side(after), side(before));
            if ahead.0 < best.0 {
                (at, best) = (after, ahead);
            } else if behind.0 < best.0 {
                (at, best) = (before, behind);
            } else {
                break;
            }
        }
        (best.1, best.0.sqrt())
    }
}

/// Sites and heights; points that lie in one place are one, of the mean height, whatever order they came in.
fn merged(points: &[[f64; 3]], put: impl Fn(&[f64; 3]) -> [f64; 2]) -> (Vec<[f64; 2]>, Vec<f64>) {
    let mut sorted: Vec<([f64; 2], f64)> = points.iter().map(|p| (put(p), p[2])).collect();
    sorted
        .sort_by(|a, b| a.0[0].total_cmp(&b.0[0]).then(a.0[1].total_cmp(&b.0[1])).then(a.1.total_cmp(&b.1)));
    let mut taken = vec![false; sorted.len()];
    let mut groups: Vec<([f64; 2], f64)> = Vec::with_capacity(sorted.len());
    for i in 0..sorted.len() {
        if taken[i] {
            continue;
        }
        let (site, first) = sorted[i];
        let (mut sum, mut count) = (first, 1.0);
        for j in i + 1..sorted.len() {
            if sorted[j].0[0] - site[0] >= SAME {
                break;
            }
            if !taken[j] && squared(minus(sorted[j].0, site)) < SAME * SAME {
                taken[j] = true;
                sum += sorted[j].1;
                count += 1.0;
            }
        }
        groups.push((site, sum / count));
    }
    // From the middle outwards, in rings of equal area: the triangulator grows its hull that way and stays in the cache.
    let rings = groups.len() / 2 + 1;
    let ring = |site: [f64; 2]| (0.5 * squared(site) * rings as f64) as u64;
    groups.sort_by_key(|(site, _)| ring(*site)); // stable: within a ring from west to east
    groups.into_iter().unzip()
}

/// The next side of the same triangle.
fn next(e: u32) -> u32 {
    if e % 3 == 2 { e - 2 } else { e + 1 }
}

fn coord(p: [f64; 2]) -> Coord<f64> {
    Coord { x: p[0], y: p[1] }
}

fn minus(a: [f64; 2], b: [f64; 2]) -> [f64; 2] {
    [a[0] - b[0], a[1] - b[1]]
}

fn cross(a: [f64; 2], b: [f64; 2]) -> f64 {
    a[0] * b[1] - a[1] * b[0]
}

fn squared(a: [f64; 2]) -> f64 {
    a[0] * a[0] + a[1] * a[1]
}

/// Where three corners are equally near; `None` when they lie on a line or the wrong way round.
fn circumcenter(a: [f64; 2], b: [f64; 2], c: [f64; 2]) -> Option<[f64; 2]> {
    let (u, v) = (minus(b, a), minus(c, a));
    let doubled = 2.0 * cross(u, v);
    let (uu, vv) = (squared(u), squared(v));
    if doubled <= 1e-13 * uu.max(vv) {
        return None;
    }
    Some([a[0] + (v[1] * uu - u[1] * vv) / doubled, a[1] + (u[0] * vv - v[0] * uu) / doubled])
}

/// A number that grows with the direction of `p` from `center`, 0 to 4, counter-clockwise from east.
fn turn(p: [f64; 2], center: [f64; 2]) -> f64 {
    let [x, y] = minus(p, center);
    let along = x / (x.abs() + y.abs()).max(f64::MIN_POSITIVE);
    if y < 0.0 { 3.0 + along } else { 1.0 - along }
}

#[cfg(test)]
mod tests;
