//! The points as the triangulator needs them, and what is done when rounding spoils its work.

use delaunator::{Point, Triangulation};

use super::{GraphError, MAX_ASPECT, MAX_POINTS, MAX_REACH, MIN_SPACING, Rect, bucket_order};

/// The rectangle moved to the origin and scaled until its longer side is `[-1, 1]`, so that tolerances
/// are plain numbers and the triangulator never meets a tiny or far-off coordinate.
pub(super) struct Frame {
    pub(super) rect: Rect,
    middle: [f64; 2],
    scale: f64,
    /// Half the width and half the height, in the frame; the greater is 1.
    pub(super) half: [f64; 2],
}

impl Frame {
    pub(super) fn new(rect: Rect) -> Result<Self, GraphError> {
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
    pub(super) fn sites(&self, points: &[[f64; 2]]) -> Result<(Vec<Point>, Vec<u32>), GraphError> {
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
    pub(super) fn world(&self, p: [f64; 2]) -> [f64; 2] {
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
pub(crate) enum Flaw {
    /// Two sites, by index.
    TooClose(u32, u32),
    /// The triangulation is not valid.
    Inconsistent,
}

/// Runs `f` on the sites and their triangulation. If rounding spoilt that, runs it on the sites moved a
/// little: onto a line where they all but lie on one, else anyhow.
pub(crate) fn steady<T>(
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
pub(super) fn straighten(sites: &[Point], half: [f64; 2]) -> Option<(Vec<Point>, Triangulation)> {
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
pub(super) fn jiggle(sites: &[Point], half: [f64; 2], attempt: u64) -> Vec<Point> {
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
pub(super) fn close_pair(sites: &[Point]) -> Option<(u32, u32)> {
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

pub(super) fn distance2(a: &Point, b: &Point) -> f64 {
    let (dx, dy) = (b.x - a.x, b.y - a.y);
    dx * dx + dy * dy
}
