//! Greedy insertion into a Delaunay triangulation of samples.
//!
//! ```text
//!        c              Edge i of triangle t has the number 4t + i and runs from corner i to the next, counter-clockwise
//!      ╱   ╲            seen from above. Each edge knows its twin, the edge that runs the other way along it.
//!    a ───── b
//! ```
//!
//! Insertions jump about the land, so time goes by lines of memory touched: a triangle is one half of such a line with
//! all that is known of it, and corners are places rather than numbers of vertices, which would have to be looked up.

use orogen_core::{Ctx, OpError, Raster};

/// Twice the area of a triangle must fit 31 bits, and the test of the circle 63.
pub(super) const MOST_SIDE: usize = 20_000;

const NONE: u32 = u32::MAX;

/// A sample: its row in the upper half, its column in the lower.
type Place = u32;

#[inline]
fn xy(place: Place) -> [i32; 2] {
    [(place & 0xffff) as i32, (place >> 16) as i32]
}

#[derive(Clone, Copy)]
#[repr(align(32))]
struct Triangle {
    corners: [Place; 3],
    twins: [u32; 3],
    /// The sample that is furthest off.
    furthest: Place,
    /// How often it changed; odd while its samples have yet to be looked at.
    changes: u32,
}

/// Triangles as they grow.
struct Mesh<'a> {
    height: &'a Raster<f32>,
    deep: f32,
    triangles: Vec<Triangle>,
    /// Triangles whose samples have to be looked at again.
    touched: Vec<u32>,
    /// Edges that may have to be turned; kept for its memory.
    pending: Vec<u32>,
    queue: Queue,
}

/// Triangles by error, the worst first, in drawers that each hold errors within a quarter of one another. A drawer is emptied
/// along a curve through the land, so that what one insertion brought into the cache serves those that follow. Drawers of
/// 1.6 % save about 1 % of the triangles of surveyed models and take a quarter longer.
struct Queue {
    least: f32,
    first: u32,
    drawers: Vec<Vec<Entry>>,
    top: usize,
    /// The lowest drawer that has been put in order; what comes to it later lies beside what was just taken.
    sorted: usize,
}

#[derive(Clone, Copy)]
struct Entry {
    /// Where on the curve its furthest sample lies.
    key: u32,
    triangle: u32,
    change: u32,
}

impl Queue {
    /// Bits of a float that a drawer ignores: it leaves 2 of its 23 digits.
    const SHIFT: u32 = 21;

    fn new(least: f32) -> Self {
        Self { least, first: least.to_bits() >> Self::SHIFT, drawers: Vec::new(), top: 0, sorted: usize::MAX }
    }

    #[inline]
    fn push(&mut self, triangle: u32, change: u32, furthest: Place, error: f32) {
        let drawer = ((error.to_bits() >> Self::SHIFT) - self.first) as usize;
        if drawer >= self.drawers.len() {
            self.drawers.resize_with(drawer + 1, Vec::new);
        }
        self.top = self.top.max(drawer);
        self.drawers[drawer].push(Entry { key: along_curve(furthest), triangle, change });
    }

    /// Whether the worst error is not far above the largest allowed: before, hardly any edge is worth a try.
    fn nears_end(&self) -> bool {
        const NEAR: f32 = 4.0;
        self.top <= (((NEAR * self.least).to_bits() >> Self::SHIFT) - self.first) as usize
    }

    fn pop(&mut self) -> Option<Entry> {
        loop {
            let top = self.drawers.get_mut(self.top)?;
            if self.top < self.sorted {
                top.sort_unstable_by_key(|entry| (entry.key, entry.triangle, entry.change));
                self.sorted = self.top;
            }
            if let Some(found) = top.pop() {
                return Some(found);
            }
            // Its memory is free for those below.
            *top = Vec::new();
            self.top = self.top.checked_sub(1)?;
        }
    }
}

/// Where a place lies on the curve that goes through a square quarter by quarter: the bits of both numbers in turn.
#[inline]
fn along_curve(place: Place) -> u32 {
    let spread = |mut bits: u32| {
        bits = (bits | bits << 8) & 0x00ff_00ff;
        bits = (bits | bits << 4) & 0x0f0f_0f0f;
        bits = (bits | bits << 2) & 0x3333_3333;
        (bits | bits << 1) & 0x5555_5555
    };
    spread(place & 0xffff) | spread(place >> 16) << 1
}

/// Columns and rows of vertices, and triangles of their numbers.
pub(super) type Parts = (Vec<[u32; 2]>, Vec<[u32; 3]>);

pub(super) fn triangulate(
    height: &Raster<f32>,
    deep: f32,
    max_error_m: f32,
    ctx: &Ctx<'_>,
) -> Result<Parts, OpError> {
    grown(height, deep, max_error_m, true, ctx)
}

/// The triangles, with or without turning edges towards the end.
fn grown(
    height: &Raster<f32>,
    deep: f32,
    max_error_m: f32,
    turns: bool,
    ctx: &Ctx<'_>,
) -> Result<Parts, OpError> {
    let queue = Queue::new(max_error_m);
    let mut mesh =
        Mesh { height, deep, triangles: Vec::new(), touched: Vec::new(), pending: Vec::new(), queue };
    let (east, south) = (height.cols() as u32 - 1, (height.rows() as u32 - 1) << 16);
    let first = mesh.put([south | east, 0, south], [NONE; 3], NONE);
    mesh.put([0, south | east, east], [first, NONE, NONE], NONE);
    mesh.look();
    let (cells, mut steps) = (height.as_slice().len(), 0usize);
    while let Some(Entry { triangle, change, .. }) = mesh.queue.pop() {
        if mesh.triangles[triangle as usize].changes == change {
            if !turns || !mesh.queue.nears_end() || !mesh.turn(triangle) {
                mesh.insert(triangle);
            }
            mesh.look();
            steps += 1;
            if steps.is_multiple_of(4096) {
                ctx.tick(steps, cells)?;
            }
        }
    }
    Ok(numbered(height, &mesh.triangles))
}

/// Gives each corner its number, in the order of first use.
fn numbered(height: &Raster<f32>, triangles: &[Triangle]) -> Parts {
    let mut numbers = vec![NONE; height.as_slice().len()];
    let mut vertices = Vec::with_capacity(triangles.len() / 2 + 3);
    let triangles = triangles.iter().map(|triangle| {
        triangle.corners.map(|corner| {
            let [col, row] = xy(corner).map(|part| part as usize);
            let number = &mut numbers[row * height.cols() + col];
            if *number == NONE {
                *number = vertices.len() as u32;
                vertices.push([col as u32, row as u32]);
            }
            *number
        })
    });
    let triangles = triangles.collect();
    (vertices, triangles)
}

/// The place of an edge in its triangle, and those of the next and the one after.
#[inline]
fn corner_order(edge: u32) -> [usize; 3] {
    match edge % 4 {
        0 => [0, 1, 2],
        1 => [1, 2, 0],
        _ => [2, 0, 1],
    }
}

/// Twice the area of a triangle, positive when it runs counter-clockwise seen from above (rows go south).
#[inline]
fn area([ax, ay]: [i32; 2], [bx, by]: [i32; 2], [px, py]: [i32; 2]) -> i32 {
    (by - ay) * (px - ax) - (bx - ax) * (py - ay)
}

/// Whether `p` lies inside the circle through three places in counter-clockwise order.
#[inline]
fn in_circle(a: Place, b: Place, c: Place, p: Place) -> bool {
    let p = xy(p);
    let from = |place: Place| {
        let [x, y] = xy(place);
        [i64::from(x - p[0]), i64::from(p[1] - y)]
    };
    let ([ax, ay], [bx, by], [cx, cy]) = (from(a), from(b), from(c));
    let (a2, b2, c2) = (ax * ax + ay * ay, bx * bx + by * by, cx * cx + cy * cy);
    a2 * (bx * cy - by * cx) + b2 * (cx * ay - cy * ax) + c2 * (ax * by - ay * bx) > 0
}

impl Mesh<'_> {
    /// Puts a triangle in place of another, or behind all; `twins` of its three edges. Its first edge.
    #[inline]
    fn put(&mut self, corners: [Place; 3], twins: [u32; 3], place: u32) -> u32 {
        let index = if place == NONE {
            self.triangles.push(Triangle { corners, twins, furthest: 0, changes: 0 });
            self.triangles.len() as u32 - 1
        } else {
            let triangle = &mut self.triangles[place as usize];
            (triangle.corners, triangle.twins) = (corners, twins);
            place
        };
        for (i, twin) in twins.into_iter().enumerate() {
            if twin != NONE {
                self.join(twin, 4 * index + i as u32);
            }
        }
        let triangle = &mut self.triangles[index as usize];
        if triangle.changes.is_multiple_of(2) {
            triangle.changes += 1;
            self.touched.push(index);
        }
        4 * index
    }

    #[inline]
    fn join(&mut self, edge: u32, twin: u32) {
        self.triangles[(edge / 4) as usize].twins[(edge % 4) as usize] = twin;
    }

    /// Makes the furthest sample of a triangle a vertex.
    fn insert(&mut self, index: u32) {
        let Triangle { corners: [p0, p1, p2], twins: [h0, h1, h2], furthest: new, .. } =
            self.triangles[index as usize];
        let [a, b, c, place] = [p0, p1, p2, new].map(xy);
        for (i, (from, to)) in [(a, b), (b, c), (c, a)].into_iter().enumerate() {
            if area(from, to, place) == 0 {
                return self.split(new, 4 * index + i as u32);
            }
        }
        let t0 = self.put([p0, p1, new], [h0, NONE, NONE], index);
        let t1 = self.put([p1, p2, new], [h1, NONE, t0 + 1], NONE);
        let t2 = self.put([p2, p0, new], [h2, t0 + 2, t1 + 1], NONE);
        for edge in [t0, t1, t2] {
            self.mend(edge);
        }
    }

    /// Puts a new vertex on an edge: each triangle beside it becomes two.
    fn split(&mut self, new: Place, edge: u32) {
        let triangle = self.triangles[(edge / 4) as usize];
        let [here, after, before] = corner_order(edge);
        let [right, left, apex] = [here, after, before].map(|i| triangle.corners[i]);
        let [h_left, h_right] = [after, before].map(|i| triangle.twins[i]);
        let twin = triangle.twins[here];
        if twin == NONE {
            let t0 = self.put([apex, right, new], [h_right, NONE, NONE], edge / 4);
            let t1 = self.put([left, apex, new], [h_left, t0 + 2, NONE], NONE);
            self.mend(t0);
            self.mend(t1);
            return;
        }
        let other = self.triangles[(twin / 4) as usize];
        let [_, after, before] = corner_order(twin);
        let foot = other.corners[before];
        let [h_foot_right, h_foot_left] = [after, before].map(|i| other.twins[i]);
        let t0 = self.put([apex, right, new], [h_right, NONE, NONE], edge / 4);
        let t1 = self.put([right, foot, new], [h_foot_right, NONE, t0 + 1], twin / 4);
        let t2 = self.put([foot, left, new], [h_foot_left, NONE, t1 + 1], NONE);
        let t3 = self.put([left, apex, new], [h_left, t0 + 2, t2 + 1], NONE);
        for edge in [t0, t1, t2, t3] {
            self.mend(edge);
        }
    }

    /// Turns an edge of a triangle if that alone brings its samples, and those of the triangle beyond, within the largest
    /// error: it spares a vertex. The shape of the triangles counts for nothing here.
    fn turn(&mut self, index: u32) -> bool {
        for edge in 4 * index..4 * index + 3 {
            let Some([right, left, apex, foot]) = self.sides(edge) else { continue };
            let corners = [right, left, apex, foot].map(xy);
            // Beside a hole ground could be lost to it.
            if corners.iter().any(|&[col, row]| !self.height.row(row as usize)[col as usize].is_finite()) {
                continue;
            }
            let [r, l, a, f] = corners;
            let turns = [[apex, foot, left], [foot, apex, right]];
            if area(a, f, l) > 0
                && area(f, a, r) > 0
                && turns.iter().all(|&corners| self.furthest_of(corners).1 <= self.queue.least)
            {
                self.flip(edge);
                return true;
            }
        }
        false
    }

    /// Turns an edge, and those that follow from it, until no vertex lies inside the circle of a neighbour.
    fn mend(&mut self, edge: u32) {
        let mut pending = std::mem::take(&mut self.pending);
        let mut next = Some(edge);
        while let Some(a) = next.or_else(|| pending.pop()) {
            next = None;
            let Some([right, left, apex, foot]) = self.sides(a) else { continue };
            if !in_circle(right, left, apex, foot) {
                continue;
            }
            let [t0, t1] = self.flip(a);
            next = Some(t0 + 1);
            pending.push(t1 + 2);
        }
        self.pending = pending;
    }

    /// Start and end of an edge, and the corners across on either side; nothing on the rim.
    #[inline]
    fn sides(&self, edge: u32) -> Option<[Place; 4]> {
        let here = &self.triangles[(edge / 4) as usize];
        let [at, after, before] = corner_order(edge);
        let twin = here.twins[at];
        if twin == NONE {
            return None;
        }
        let foot = self.triangles[(twin / 4) as usize].corners[corner_order(twin)[2]];
        Some([here.corners[at], here.corners[after], here.corners[before], foot])
    }

    /// Makes an inner edge join the corners across instead. The first edges of both triangles.
    #[inline]
    fn flip(&mut self, a: u32) -> [u32; 2] {
        let here = self.triangles[(a / 4) as usize];
        let [at, after, before] = corner_order(a);
        let b = here.twins[at];
        let there = self.triangles[(b / 4) as usize];
        let [_, b_after, b_before] = corner_order(b);
        let [right, left, apex] = [at, after, before].map(|i| here.corners[i]);
        let foot = there.corners[b_before];
        let [h_left, h_right] = [after, before].map(|i| here.twins[i]);
        let [h_foot_right, h_foot_left] = [b_after, b_before].map(|i| there.twins[i]);
        let t0 = self.put([apex, foot, left], [NONE, h_foot_left, h_left], a / 4);
        let t1 = self.put([foot, apex, right], [t0, h_right, h_foot_right], b / 4);
        [t0, t1]
    }

    /// Finds the furthest sample of every touched triangle.
    fn look(&mut self) {
        while let Some(index) = self.touched.pop() {
            let (furthest, error) = self.furthest_of(self.triangles[index as usize].corners);
            let triangle = &mut self.triangles[index as usize];
            triangle.changes += 1;
            triangle.furthest = furthest;
            if error > self.queue.least {
                self.queue.push(index, triangle.changes, furthest, error);
            }
        }
    }

    /// The sample of a triangle, its edges included, that lies furthest above or below it.
    fn furthest_of(&self, corners: [Place; 3]) -> (Place, f32) {
        /// Up to this width every column of a row is tried; beyond, the first and the last are worked out.
        const NARROW: i32 = 12;
        let [a, b, c] = corners.map(xy);
        let whole = area(a, b, c);
        if whole == 1 {
            return (0, 0.0); // the smallest triangle: no sample but its corners
        }
        let ground = |z: f32| f64::from(if z.is_finite() { z } else { self.deep });
        let z = |[col, row]: [i32; 2]| ground(self.height.row(row as usize)[col as usize]);
        let (za, zb, zc) = (z(a), z(b), z(c));
        // Edge functions are areas: not negative inside, and their shares are the weights of the corners.
        let west = a[0].min(b[0]).min(c[0]);
        let width = a[0].max(b[0]).max(c[0]) - west;
        let north = a[1].min(b[1]).min(c[1]);
        let south = a[1].max(b[1]).max(c[1]);
        let step_x = [c[1] - b[1], a[1] - c[1], b[1] - a[1]];
        let step_y = [b[0] - c[0], c[0] - a[0], a[0] - b[0]];
        let first = [west, north];
        let mut edges = [area(b, c, first), area(c, a, first), area(a, b, first)];
        let share = 1.0 / f64::from(whole);
        let (zb, zc) = (zb - za, zc - za);
        let plane = |w: [i32; 3]| (f64::from(w[1]) * zb + f64::from(w[2]) * zc) * share;
        let (slope_x, slope_y) = (plane(step_x), plane(step_y));
        let mut level = za + plane(edges);
        let (mut worst, mut found) = (0.0f64, 0);
        for row in north..=south {
            let line = &self.height.row(row as usize)[west as usize..=(west + width) as usize];
            let mut take = |col: i32, z: f32, level: f64| {
                let error = (ground(z) - level).abs();
                if error > worst {
                    (worst, found) = (error, (row as u32) << 16 | (west + col) as u32);
                }
            };
            if width <= NARROW {
                let mut inside = edges;
                for (col, &z) in line.iter().enumerate() {
                    if inside[0] | inside[1] | inside[2] >= 0 {
                        take(col as i32, z, level + col as f64 * slope_x);
                    }
                    inside.iter_mut().zip(step_x).for_each(|(edge, step)| *edge += step);
                }
            } else {
                let (mut from, mut to) = (0, width);
                for (&value, step) in edges.iter().zip(step_x) {
                    if step > 0 && value < 0 {
                        from = from.max((-value + step - 1) / step);
                    } else if step < 0 {
                        to = to.min(if value < 0 { -1 } else { value / -step });
                    } else if value < 0 {
                        to = -1;
                    }
                }
                for col in from..=to {
                    take(col, line[col as usize], level + f64::from(col) * slope_x);
                }
            }
            edges.iter_mut().zip(step_y).for_each(|(edge, step)| *edge += step);
            level += slope_y;
        }
        (found, worst as f32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use orogen_core::Seed;
    use orogen_core::testkit::hills;

    #[test]
    fn samples_are_taken_in_the_order_of_their_error_within_a_quarter() {
        let error = |i: u32| 0.011 * orogen_core::math::exp2(13.0 * Seed(3).unit(u64::from(i))) as f32;
        let mut queue = Queue::new(0.01);
        for i in 0..4000 {
            queue.push(i, 0, i * 7919, error(i));
        }
        let taken: Vec<f32> = std::iter::from_fn(|| queue.pop()).map(|entry| error(entry.triangle)).collect();
        assert_eq!(taken.len(), 4000);
        let (mut worst_left, mut furthest) = (0.0f32, 1.0f32);
        for &taken in taken.iter().rev() {
            worst_left = worst_left.max(taken);
            furthest = furthest.max(worst_left / taken);
        }
        assert!(furthest <= 1.25, "a sample is taken before one with {furthest} times its error");
    }

    #[test]
    fn turning_edges_spares_triangles() {
        let (ground, deep) = (hills(257, 300.0), -1e6);
        for max_error_m in [0.3, 1.0, 3.0] {
            let count = |turns: bool| {
                grown(&ground, deep, max_error_m, turns, &Ctx::silent()).unwrap().1.len() as f64
            };
            let share = count(true) / count(false);
            assert!((0.75..0.89).contains(&share), "{share} of the triangles within {max_error_m} m");
        }
    }
}
