//! Brush strokes: how far each sample lies from a line drawn by hand, and how strong the brush is there.

use std::ops::Range;

use orogen_core::math::smoothstep;
use orogen_core::{Frame, Rect};

/// A line drawn by hand that acts up to a distance from it.
pub(crate) struct Path {
    /// What positions are counted from: near the line, so that single precision is exact enough.
    origin: [f64; 2],
    segments: Vec<Segment>,
    radius: f32,
    min: [f64; 2],
    max: [f64; 2],
}

/// A straight piece, from a point and along a vector.
struct Segment {
    from: [f32; 2],
    along: [f32; 2],
    /// One over its squared length; 0 for a dot.
    per_length2: f32,
}

/// The entries of a list drawn by hand that an edit changed: those that went and those that came. Lists of one length
/// differ entry by entry; otherwise some were put in or taken out in one place.
pub(crate) fn changed<'a, T: PartialEq>(old: &'a [T], new: &'a [T]) -> Vec<&'a T> {
    if old.len() == new.len() {
        return old.iter().zip(new).filter(|(a, b)| a != b).flat_map(|(a, b)| [a, b]).collect();
    }
    let first = old.iter().zip(new).take_while(|(a, b)| a == b).count();
    let (old, new) = (&old[first..], &new[first..]);
    let last = old.iter().rev().zip(new.iter().rev()).take_while(|(a, b)| a == b).count();
    old[..old.len() - last].iter().chain(&new[..new.len() - last]).collect()
}

/// What is nearest to each sample of a part of a row.
#[derive(Default)]
pub(crate) struct Near {
    /// Squared distance to the line, infinite where it is certainly further than the radius.
    pub distance2: Vec<f32>,
    /// Metres from the sample to the nearest place of the line, to the east and north.
    pub offset: [Vec<f32>; 2],
    xs: Vec<f32>,
}

impl Path {
    /// A stroke through points; one point makes a dab. A closed one returns to its start.
    pub fn new(points: &[[f64; 2]], closed: bool, radius_m: f64) -> Self {
        let origin = points.first().copied().unwrap_or_default();
        let mut path = Self {
            origin,
            segments: Vec::new(),
            radius: radius_m as f32,
            min: [f64::INFINITY; 2],
            max: [f64::NEG_INFINITY; 2],
        };
        for point in points {
            for axis in 0..2 {
                path.min[axis] = path.min[axis].min(point[axis] - radius_m);
                path.max[axis] = path.max[axis].max(point[axis] + radius_m);
            }
        }
        let back = [points.last().copied().unwrap_or_default(), origin];
        let dab = [origin, origin];
        let pairs = points.windows(2).map(|pair| [pair[0], pair[1]]);
        path.segments = pairs
            .chain(closed.then_some(back))
            .chain((points.len() == 1 && !closed).then_some(dab))
            .map(|[a, b]| {
                let along = [(b[0] - a[0]) as f32, (b[1] - a[1]) as f32];
                let length2 = along[0] * along[0] + along[1] * along[1];
                Segment {
                    from: [(a[0] - origin[0]) as f32, (a[1] - origin[1]) as f32],
                    along,
                    per_length2: if length2 > 0.0 { 1.0 / length2 } else { 0.0 },
                }
            })
            .collect();
        path
    }

    /// South-west and north-east corner of what it can touch.
    pub fn bounds(&self) -> [[f64; 2]; 2] {
        [self.min, self.max]
    }

    /// What it can touch.
    pub fn extent(&self) -> Rect {
        Rect { min: self.min, max: self.max }
    }

    /// The columns and rows of a frame that it can touch; `None` when there are none.
    pub fn touches(&self, frame: &Frame) -> Option<(Range<usize>, Range<usize>)> {
        let [west, north] = frame.locate(self.min[0], self.max[1]);
        let [east, south] = frame.locate(self.max[0], self.min[1]);
        let (cols, rows) = (span(west, east, frame.cols()), span(north, south, frame.rows()));
        (!cols.is_empty() && !rows.is_empty()).then_some((cols, rows))
    }

    /// What is nearest to the samples `cols` of a row. Positions come from the frame alone, so every window agrees.
    ///
    /// Straight-line arithmetic over the columns that a segment can reach: vector code, 16 bytes a sample and segment,
    /// all in the cache.
    pub fn nearest(&self, frame: &Frame, row: usize, cols: Range<usize>, near: &mut Near) {
        near.xs.clear();
        near.xs.extend(cols.clone().map(|col| (frame.x_m(col) - self.origin[0]) as f32));
        near.distance2.clear();
        near.distance2.resize(cols.len(), f32::INFINITY);
        for offset in &mut near.offset {
            offset.clear();
            offset.resize(cols.len(), 0.0);
        }
        let y = (frame.y_m(row) - self.origin[1]) as f32;
        let reach = self.radius * 1.001;
        for segment in &self.segments {
            let [low, high] = segment.range(1, reach);
            if y < low || y > high {
                continue;
            }
            let [low, high] = segment.range(0, reach);
            let at = |x: f32| frame.locate(f64::from(x) + self.origin[0], 0.0)[0] - cols.start as f64;
            let part = span(at(low), at(high), cols.len());
            let [east, north] = &mut near.offset;
            let (xs, best) = (&near.xs[part.clone()], &mut near.distance2[part.clone()]);
            let (east, north) = (&mut east[part.clone()], &mut north[part.clone()]);
            let py = y - segment.from[1];
            let [ux, uy] = segment.along;
            for i in 0..xs.len() {
                let px = xs[i] - segment.from[0];
                let t = ((px * ux + py * uy) * segment.per_length2).clamp(0.0, 1.0);
                let (dx, dy) = (t * ux - px, t * uy - py);
                let distance2 = dx * dx + dy * dy;
                let nearer = distance2 < best[i];
                best[i] = if nearer { distance2 } else { best[i] };
                east[i] = if nearer { dx } else { east[i] };
                north[i] = if nearer { dy } else { north[i] };
            }
        }
    }

    /// How strong the brush is at a squared distance: 1 on the line, fading to 0 over the outer share `falloff` of the
    /// radius, 0 from the radius on.
    #[inline]
    pub fn weight(&self, distance2: f32, falloff: f32) -> f32 {
        1.0 - smoothstep(1.0 - falloff, 1.0, distance2.sqrt() / self.radius)
    }
}

impl Segment {
    /// What it can reach along an axis.
    fn range(&self, axis: usize, reach: f32) -> [f32; 2] {
        let (a, b) = (self.from[axis], self.from[axis] + self.along[axis]);
        [a.min(b) - reach, a.max(b) + reach]
    }
}

/// Whole indices from one place to another with one more cell on both sides, inside `0..count`.
pub(crate) fn span(from: f64, to: f64, count: usize) -> Range<usize> {
    let clamp = |at: f64| at.clamp(0.0, count as f64) as usize;
    let range = clamp(from.floor() - 1.0)..clamp(to.ceil() + 2.0);
    if range.start < range.end { range } else { 0..0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use orogen_core::testkit::assert_close;

    #[test]
    fn distances_are_those_to_the_nearest_place_of_the_line() {
        let frame = Frame::square(1000.0, 101).unwrap();
        let path = Path::new(&[[300.0, 300.0], [600.0, 300.0], [600.0, 700.0]], false, 200.0);
        let mut near = Near::default();
        let at = |x: usize, y: usize, near: &mut Near| {
            path.nearest(&frame, 100 - y, 0..101, near);
            (near.distance2[x].sqrt(), near.offset[0][x], near.offset[1][x])
        };
        let (distance, east, north) = at(40, 38, &mut near);
        assert_close!(distance, 80.0, abs = 1e-3);
        assert_close!(east, 0.0, abs = 1e-3);
        assert_close!(north, -80.0, abs = 1e-3);
        assert_close!(at(26, 27, &mut near).0, 50.0, abs = 1e-3);
        assert_close!(at(70, 72, &mut near).0, (100.0f32 * 100.0 + 20.0 * 20.0).sqrt(), abs = 1e-3);
        assert_eq!(at(30, 90, &mut near).0, f32::INFINITY);
    }

    #[test]
    fn an_edit_of_a_list_is_found_wherever_it_is() {
        assert_eq!(changed(&[1, 2, 3], &[1, 5, 3]), [&2, &5]);
        assert_eq!(changed(&[1, 2, 3], &[1, 3]), [&2]);
        assert_eq!(changed(&[1, 2], &[1, 7, 8, 2]), [&7, &8]);
        assert_eq!(changed(&[2, 2], &[2, 2, 2]), [&2]);
        assert_eq!(changed(&[1, 2, 3], &[4, 3]), [&1, &2, &4]);
        assert!(changed(&[1, 2], &[1, 2]).is_empty());
    }

    #[test]
    fn the_brush_fades_over_its_outer_share() {
        let path = Path::new(&[[0.0, 0.0]], false, 10.0);
        let weight = |distance: f32, falloff| path.weight(distance * distance, falloff);
        assert_eq!((weight(0.0, 1.0), weight(5.0, 1.0), weight(10.0, 1.0)), (1.0, 0.5, 0.0));
        assert_eq!(
            (weight(4.9, 0.5), weight(7.5, 0.5), weight(9.9, 0.0), weight(10.0, 0.0)),
            (1.0, 0.5, 1.0, 0.0)
        );
        assert_eq!(path.weight(f32::INFINITY, 1.0), 0.0);
    }

    #[test]
    fn a_closed_path_returns_to_its_start() {
        let frame = Frame::square(100.0, 11).unwrap();
        let corners = [[10.0, 10.0], [90.0, 10.0], [90.0, 90.0], [10.0, 90.0]];
        let mut near = Near::default();
        for (closed, distance) in [(false, f32::INFINITY), (true, 0.0)] {
            Path::new(&corners, closed, 20.0).nearest(&frame, 5, 0..11, &mut near);
            assert_eq!(near.distance2[1], distance);
        }
    }
}
