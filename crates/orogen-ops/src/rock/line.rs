//! A line on the map, and where a place lies beside it.

use orogen_core::math;

/// A line of at least two points, no two neighbours at one place.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Line {
    points: Vec<[f64; 2]>,
    /// Length up to each point.
    lengths: Vec<f64>,
}

/// Where a place lies beside a line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Beside {
    /// Distance, positive to the right, seen along the line.
    pub right_m: f64,
    /// Length of the line up to the nearest point of it; below 0 and over its length where it was drawn out.
    pub along_m: f64,
}

impl Line {
    /// A line through points; `None` where fewer than two are apart.
    pub fn new(points: impl IntoIterator<Item = [f64; 2]>) -> Option<Self> {
        let mut line = Self { points: Vec::new(), lengths: Vec::new() };
        for [x, y] in points {
            let length = match (line.points.last(), line.lengths.last()) {
                (Some(&[px, py]), Some(&length)) => {
                    let far = math::hypot(x - px, y - py);
                    if far.is_nan() || far < 1e-3 {
                        continue;
                    }
                    length + far
                }
                _ if x.is_finite() && y.is_finite() => 0.0,
                _ => continue,
            };
            line.points.push([x, y]);
            line.lengths.push(length);
        }
        (line.points.len() >= 2).then_some(line)
    }

    /// A metre to the east.
    pub fn to_the_east() -> Self {
        Self { points: vec![[0.0, 0.0], [1.0, 0.0]], lengths: vec![0.0, 1.0] }
    }

    /// The points.
    pub fn points(&self) -> &[[f64; 2]] {
        &self.points
    }

    /// Its length.
    pub fn length_m(&self) -> f64 {
        self.lengths.last().copied().unwrap_or(0.0)
    }

    /// The place so far along the line and to the right of it.
    pub fn at(&self, along_m: f64, right_m: f64) -> [f64; 2] {
        let i = self.lengths.partition_point(|&length| length <= along_m).clamp(1, self.points.len() - 1) - 1;
        let ([ax, ay], [dx, dy], _) = self.piece(i);
        let t = along_m - self.lengths[i];
        [ax + t * dx + right_m * dy, ay + t * dy - right_m * dx]
    }

    /// Where a place lies beside the line; with `drawn_out` both ends go on straight for ever.
    pub fn beside(&self, [x, y]: [f64; 2], drawn_out: bool) -> Beside {
        let last = self.points.len() - 2;
        let mut best = (f64::INFINITY, Beside { right_m: f64::INFINITY, along_m: 0.0 });
        for i in 0..=last {
            let ([ax, ay], [dx, dy], long) = self.piece(i);
            let t = (x - ax) * dx + (y - ay) * dy;
            let low = if drawn_out && i == 0 { f64::NEG_INFINITY } else { 0.0 };
            let high = if drawn_out && i == last { f64::INFINITY } else { long };
            let t = t.clamp(low, high);
            let (px, py) = (x - ax - t * dx, y - ay - t * dy);
            let far2 = px * px + py * py;
            if far2 < best.0 {
                // At a corner the side is that of the mean direction: each piece alone would be wrong on one side of it.
                let other = if t <= 0.0 && i > 0 {
                    Some(i - 1)
                } else if t >= long && i < last {
                    Some(i + 1)
                } else {
                    None
                };
                let [mx, my] = other.map_or([dx, dy], |other| {
                    let [ox, oy] = self.piece(other).1;
                    [dx + ox, dy + oy]
                });
                let right = px * my - py * mx;
                let far = far2.sqrt();
                let along_m = self.lengths[i] + t;
                best = (far2, Beside { right_m: if right < 0.0 { -far } else { far }, along_m });
            }
        }
        best.1
    }

    /// Start, direction and length of a piece.
    fn piece(&self, i: usize) -> ([f64; 2], [f64; 2], f64) {
        let ([ax, ay], [bx, by]) = (self.points[i], self.points[i + 1]);
        let long = self.lengths[i + 1] - self.lengths[i];
        ([ax, ay], [(bx - ax) / long, (by - ay) / long], long)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use orogen_core::testkit::assert_close;

    #[test]
    fn sides_and_distances_are_right_at_corners_too() {
        let line = Line::new([[0.0, 0.0], [0.0, 100.0], [0.0, 100.0], [-100.0, 100.0]]).unwrap();
        assert_close!(line.length_m(), 200.0, abs = 1e-9);
        let at = |x, y| line.beside([x, y], false);
        assert_eq!(at(10.0, 40.0), Beside { right_m: 10.0, along_m: 40.0 });
        assert_eq!(at(-7.0, 40.0), Beside { right_m: -7.0, along_m: 40.0 });
        // Outside the corner all is right of the line, inside all is left.
        assert!(
            at(30.0, 101.0).right_m > 0.0 && at(1.0, 130.0).right_m > 0.0 && at(-5.0, 90.0).right_m < 0.0
        );
        assert_eq!(at(0.0, -30.0).along_m, 0.0);
        assert_eq!(line.beside([5.0, -30.0], true), Beside { right_m: 5.0, along_m: -30.0 });
        assert_eq!(line.beside([-180.0, 98.0], true), Beside { right_m: -2.0, along_m: 280.0 });
    }

    #[test]
    fn one_place_is_no_line() {
        assert!(Line::new([[1.0, 1.0], [1.0, 1.0]]).is_none());
        assert!(Line::new([[f64::NAN, 1.0], [1.0, 1.0]]).is_none());
    }
}
