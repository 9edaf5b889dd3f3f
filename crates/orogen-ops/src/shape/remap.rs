//! Remap: every height through a curve.

use orogen_core::param::{Fault, Segment};
use orogen_core::{Ctx, Frame, LayerName, Layers, Op, OpError, Reach, Terrain, layer};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::combine::pair::change;

/// What happens beyond the first and the last point.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Beyond {
    /// The curve goes on straight.
    #[default]
    Straight,
    /// The value of the end point holds.
    Hold,
}

/// Sends every value of a layer through a curve given as points.
///
/// ```text
/// out = c(h)        c: the monotone cubic through the points (in, out)
/// ```
///
/// Between two points the curve is a Hermite cubic whose slopes are limited so that it never swings beyond the points.
///
/// **Guarantees** (1) the curve goes through every point; (2) between two points it stays between their values, so it
/// rises where the points rise and is level where they are level; (3) its slope has no jump between the first and the
/// last point; (4) points on a straight line give that line.
///
/// **Limits** The slope of the curve is not smooth itself.
///
/// **After** Fritsch & Carlson, SIAM J. Numer. Anal. 17 (1980), with the harmonic mean of Fritsch & Butland, SIAM J.
/// Sci. Stat. Comput. 5 (1984), for the slopes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Remap {
    /// Layer that is changed.
    pub layer: LayerName,
    /// Points of the curve, [in, out] each, in the unit of the layer and in rising order of `in`.
    #[schemars(length(min = 2, max = 1000), inner(inner(range(min = -1e9, max = 1e9))))]
    pub points: Vec<[f64; 2]>,
    /// What happens beyond the first and the last point.
    pub beyond: Beyond,
}

impl Default for Remap {
    fn default() -> Self {
        Self {
            layer: layer::HEIGHT.name(),
            points: vec![[0.0, 0.0], [200.0, 60.0], [500.0, 300.0], [1000.0, 1000.0]],
            beyond: Beyond::Straight,
        }
    }
}

impl Op for Remap {
    const ID: &'static str = "shape.remap";
    const VERSION: u32 = 1;

    fn layers(&self) -> Layers {
        Layers::none().updating([self.layer.clone()])
    }

    fn reach(&self, _: &Frame) -> Reach {
        Reach::Point
    }

    fn endless(&self) -> bool {
        true
    }

    fn faults(&self) -> Vec<Fault> {
        let pairs = self.points.windows(2).enumerate();
        pairs
            .filter(|(_, pair)| pair[0][0] >= pair[1][0])
            .map(|(i, pair)| Fault {
                path: vec![Segment::Key(String::from("points")), Segment::Index(i + 1), Segment::Index(0)],
                message: format!("{} is not above {}, that of the point before", pair[1][0], pair[0][0]),
            })
            .collect()
    }

    fn run(&self, mut terrain: Terrain, ctx: &Ctx<'_>) -> Result<Terrain, OpError> {
        let curve = Curve::new(&self.points, self.beyond);
        let changed = change(&terrain, &self.layer, ctx, |_, out, before| {
            for (out, &h) in out.iter_mut().zip(before) {
                *out = curve.at(h);
            }
        })?;
        terrain.set_named(self.layer.clone(), changed);
        Ok(terrain)
    }
}

/// A monotone cubic through points.
#[derive(Clone, Debug)]
pub struct Curve {
    /// Where pieces start, but the first, which has no start.
    starts: Vec<f32>,
    /// Of each piece: where it is counted from, and its cubic's coefficients.
    pieces: Vec<(f32, [f32; 4])>,
}

impl Curve {
    /// The curve through two or more points in rising order.
    #[must_use]
    pub fn new(points: &[[f64; 2]], beyond: Beyond) -> Self {
        let count = points.len();
        let widths: Vec<f64> = points.windows(2).map(|p| p[1][0] - p[0][0]).collect();
        let grades: Vec<f64> = points.windows(2).map(|p| (p[1][1] - p[0][1]) / (p[1][0] - p[0][0])).collect();
        let slopes: Vec<f64> = (0..count)
            .map(|i| match i {
                0 => grades[0],
                i if i == count - 1 => grades[i - 1],
                i if grades[i - 1] * grades[i] <= 0.0 => 0.0,
                i => {
                    let (a, b) = (2.0 * widths[i] + widths[i - 1], widths[i] + 2.0 * widths[i - 1]);
                    (a + b) / (a / grades[i - 1] + b / grades[i])
                }
            })
            .collect();
        let (first, last) = (points[0], points[count - 1]);
        let outside = |slope: f64| if beyond == Beyond::Hold { 0.0 } else { slope as f32 };
        let mut pieces = vec![(first[0] as f32, [first[1] as f32, outside(slopes[0]), 0.0, 0.0])];
        for i in 0..count - 1 {
            let (w, g, a, b) = (widths[i], grades[i], slopes[i], slopes[i + 1]);
            let cubic = [points[i][1], a, (3.0 * g - 2.0 * a - b) / w, (a + b - 2.0 * g) / (w * w)];
            pieces.push((points[i][0] as f32, cubic.map(|c| c as f32)));
        }
        pieces.push((last[0] as f32, [last[1] as f32, outside(slopes[count - 1]), 0.0, 0.0]));
        Self { starts: points.iter().map(|p| p[0] as f32).collect(), pieces }
    }

    /// Its pieces: where each starts, where it is counted from, and the coefficients of its cubic from the constant on.
    pub fn pieces(&self) -> impl Iterator<Item = (f32, f32, [f32; 4])> + '_ {
        let starts = std::iter::once(f32::NEG_INFINITY).chain(self.starts.iter().copied());
        starts.zip(&self.pieces).map(|(start, (from, cubic))| (start, *from, *cubic))
    }

    /// Its value; a hole stays a hole.
    #[inline]
    #[must_use]
    pub fn at(&self, x: f32) -> f32 {
        let (from, [a, b, c, d]) = self.pieces[self.starts.partition_point(|start| *start <= x)];
        let t = x - from;
        a + t * (b + t * (c + t * d))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use orogen_core::testkit::assert_close;

    const POINTS: [[f64; 2]; 6] =
        [[-100.0, -50.0], [0.0, 0.0], [10.0, 80.0], [200.0, 90.0], [300.0, 90.0], [400.0, 400.0]];

    #[test]
    fn it_meets_every_point_and_never_swings_beyond_them() {
        let curve = Curve::new(&POINTS, Beyond::Straight);
        for [x, y] in POINTS {
            assert_close!(curve.at(x as f32), y, abs = 1e-3);
        }
        for pair in POINTS.windows(2) {
            for i in 0..=1000 {
                let x = pair[0][0] + (pair[1][0] - pair[0][0]) * f64::from(i) / 1000.0;
                let y = f64::from(curve.at(x as f32));
                assert!((pair[0][1] - 1e-3..=pair[1][1] + 1e-3).contains(&y), "{y} at {x}");
            }
        }
    }

    #[test]
    fn its_slope_has_no_jump_at_the_points() {
        let curve = Curve::new(&POINTS, Beyond::Straight);
        for [x, _] in POINTS {
            let slope = |from: f64| {
                (f64::from(curve.at((x + from + 0.02) as f32)) - f64::from(curve.at((x + from) as f32)))
                    / 0.02
            };
            assert!((slope(-0.02) - slope(0.0)).abs() < 0.15, "{} and {} at {x}", slope(-0.02), slope(0.0));
        }
    }

    #[test]
    fn a_straight_line_stays_one_and_ends_hold_when_asked() {
        let line = [[0.0, 10.0], [5.0, 20.0], [50.0, 110.0]];
        let straight = Curve::new(&line, Beyond::Straight);
        for x in [-20.0, 2.5, 30.0, 90.0] {
            assert_close!(straight.at(x), 10.0 + 2.0 * x, abs = 1e-4);
        }
        let held = Curve::new(&line, Beyond::Hold);
        assert_eq!((held.at(-20.0), held.at(90.0)), (10.0, 110.0));
        assert!(held.at(f32::NAN).is_nan());
    }

    #[test]
    fn points_out_of_order_are_refused() {
        let op = Remap { points: vec![[0.0, 0.0], [5.0, 1.0], [5.0, 2.0]], ..Remap::default() };
        assert_eq!(op.faults()[0].to_string(), "points[2][0]: 5 is not above 5, that of the point before");
    }
}
