//! Which polygon a point is in.

use super::{Buckets, CenterIx, Graph, Rect, stretch};

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

pub(super) fn squared(a: [f64; 2], b: [f64; 2]) -> f64 {
    let (dx, dy) = (b[0] - a[0], b[1] - a[1]);
    dx * dx + dy * dy
}
