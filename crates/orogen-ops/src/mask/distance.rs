//! Mask by distance: how far it is to a coast, a snow line, the edge of a biome.

use orogen_core::param::Fault;
use orogen_core::{
    Cancelled, Ctx, Frame, LayerData, LayerName, Layers, Op, OpError, Raster, Reach, Terrain, layer,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::band::{Band, order_fault};

/// On which side of the line ground is marked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Side {
    /// On both.
    #[default]
    Both,
    /// Where the layer is at or above the threshold.
    Above,
    /// Where the layer is below the threshold.
    Below,
}

/// What the result holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Output {
    /// A mask: 1 within the range of distances, fading out beyond it.
    #[default]
    Mask,
    /// The distance itself in metres, at most `max_m`.
    Metres,
}

/// Marks the ground within a distance of where a layer crosses a threshold: beaches, the reach of salt spray, borders.
///
/// ```text
/// d(x) = min over crossings c of |x − c|        mask = s((d − min + f)/f) · s((max + f − d)/f)
/// ```
///
/// A crossing lies on the line between two neighbouring samples, one at or above the threshold and one below, where the
/// straight line between their values meets it.
///
/// **Guarantees** (1) the distance is the Euclidean one to the nearest crossing, to single precision; (2) it is 0 at a
/// crossing and rises by no more than a metre a metre; (3) nothing further than `max_m + falloff_m` matters, so a
/// window needs no more than that around it; (4) on the wrong side of the line, and where there is no crossing within
/// reach, the mask is 0 and the distance `max_m`.
///
/// **Limits** A hole is on neither side: it makes no crossing, and has a mask of 0, inverted or not, and a distance of `max_m`.
/// Crossings are points about a cell apart, so between them distances are a little long: by at most a cell's diagonal
/// at the line and far less away from it. Time grows with `max_m`: four comparisons for every cell of it, vectorised,
/// fewer near the line.
///
/// **After** the separable distance transform (Felzenszwalb & Huttenlocher, Theory Comput. 8, 2012), by plain minima over
/// a limited distance instead of envelopes, which gives the same bits in every window.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Distance {
    /// Layer whose line is found.
    pub layer: LayerName,
    /// Value of the line, in the unit of the layer; 0 of the height is the coast.
    #[schemars(range(min = -1e9, max = 1e9))]
    pub threshold: f64,
    /// On which side of the line ground is marked.
    pub side: Side,
    /// Shortest distance that is fully inside.
    #[schemars(range(min = 0.0, max = 1e5), extend("x-unit" = "m", "x-slider" = [0.0, 500.0]))]
    pub min_m: f64,
    /// Longest distance that is fully inside, and the longest that is measured.
    #[schemars(range(min = 0.0, max = 1e5), extend("x-unit" = "m", "x-slider" = [0.0, 1000.0]))]
    pub max_m: f64,
    /// Distance over which the mask fades from 1 to 0 outside the range.
    #[schemars(range(min = 0.0, max = 1e5), extend("x-unit" = "m", "x-slider" = [0.0, 500.0]))]
    pub falloff_m: f64,
    /// Marks everything but the range (on the chosen side).
    pub invert: bool,
    /// What the result holds.
    pub output: Output,
    /// Layer that receives the result.
    pub to: LayerName,
}

impl Default for Distance {
    fn default() -> Self {
        Self {
            layer: layer::HEIGHT.name(),
            threshold: 0.0,
            side: Side::Both,
            min_m: 0.0,
            max_m: 100.0,
            falloff_m: 200.0,
            invert: false,
            output: Output::Mask,
            to: layer::MASK.name(),
        }
    }
}

impl Distance {
    fn limit_m(&self) -> f64 {
        match self.output {
            // A little more than matters, so that what lies beyond is outside.
            Output::Mask => 1.0001 * (self.max_m + self.falloff_m) + 0.01,
            Output::Metres => self.max_m,
        }
    }
}

impl Op for Distance {
    const ID: &'static str = "mask.distance";
    const VERSION: u32 = 1;

    fn layers(&self) -> Layers {
        Layers::none().reading([self.layer.clone()]).writing([self.to.clone()])
    }

    fn reach(&self, frame: &Frame) -> Reach {
        // A crossing needs the samples on both its sides.
        let [dx, dy] = frame.spacing_m();
        Reach::Within(self.limit_m() + 2.0 * dx.max(dy))
    }

    fn bytes_a_sample(&self, _: &Frame) -> f64 {
        12.0
    }

    fn faults(&self) -> Vec<Fault> {
        order_fault(("min_m", self.min_m), ("max_m", self.max_m))
    }

    fn run(&self, mut terrain: Terrain, ctx: &Ctx<'_>) -> Result<Terrain, OpError> {
        let values: &Raster<f32> = terrain.get_named(&self.layer)?;
        let threshold = self.threshold as f32;
        let limit = self.limit_m() as f32;
        let mut out = distance(values, terrain.frame().spacing_m(), threshold, limit, ctx)?;
        let band = Band {
            min: self.min_m as f32,
            max: self.max_m as f32,
            falloff: self.falloff_m as f32,
            invert: self.invert,
        };
        let (side, output) = (self.side, self.output);
        out.par_rows(|row, out| {
            for (out, value) in out.iter_mut().zip(values.row(row)) {
                let outside = value.is_nan()
                    || match side {
                        Side::Both => false,
                        Side::Above => *value < threshold,
                        Side::Below => *value >= threshold,
                    };
                *out = match output {
                    Output::Mask => {
                        if outside {
                            0.0
                        } else {
                            band.at(*out)
                        }
                    }
                    Output::Metres => {
                        if outside {
                            limit
                        } else {
                            *out
                        }
                    }
                };
            }
        });
        terrain.set_named(self.to.clone(), LayerData::F32(out.into()));
        Ok(terrain)
    }
}

/// Metres from each sample to the nearest crossing of a threshold, at most `limit`.
///
/// Crossings on lines from west to east lie in a row: the nearest in each row first, then the best of the rows above and
/// below. Those on lines from north to south the other way round.
///
/// # Errors
/// When cancelled.
pub fn distance(
    values: &Raster<f32>,
    spacing_m: [f64; 2],
    threshold: f32,
    limit: f32,
    ctx: &Ctx<'_>,
) -> Result<Raster<f32>, Cancelled> {
    let (cols, rows) = (values.cols(), values.rows());
    let [dx, dy] = spacing_m.map(|spacing| spacing as f32);
    let counter = ctx.counter(2 * rows + cols);
    let far = limit * limit;

    // Squared distance along the row to crossings in it.
    let mut in_row = Raster::filled(cols, rows, far);
    in_row.try_par_rows(|row, out| {
        let line = values.row(row);
        nearest_in_line(
            cols,
            |i| crossing(line[i], line[i + 1], threshold),
            dx,
            limit,
            |i, d| {
                out[i] = d * d;
            },
        );
        counter.done()
    })?;

    // The same along columns, a column to a row.
    let mut in_col = Raster::filled(rows, cols, far);
    in_col.try_par_rows(|col, out| {
        let at = |i: usize| crossing(values.row(i)[col], values.row(i + 1)[col], threshold);
        nearest_in_line(rows, at, dy, limit, |i, d| out[i] = d * d);
        counter.done()
    })?;

    let mut out = Raster::filled(cols, rows, far);
    out.try_par_rows(|row, out| {
        // Rows further and further away, while they can still be nearer.
        for k in 0.. {
            let step = k as f32 * dy;
            let worst = out.iter().fold(0.0f32, |m, v| m.max(*v));
            if step * step >= worst || (k > row && row + k >= rows) {
                break;
            }
            let lines = [row.checked_sub(k), (row + k < rows && k > 0).then_some(row + k)];
            for line in lines.into_iter().flatten() {
                for (out, d2) in out.iter_mut().zip(in_row.row(line)) {
                    let d2 = d2 + step * step;
                    *out = if d2 < *out { d2 } else { *out };
                }
            }
        }
        // Columns further and further away.
        let line: Vec<f32> = (0..cols).map(|col| in_col.row(col)[row]).collect();
        for k in 0..cols {
            let step = k as f32 * dx;
            let worst = out.iter().fold(0.0f32, |m, v| m.max(*v));
            if step * step >= worst {
                break;
            }
            for (out, d2) in out[k..].iter_mut().zip(&line) {
                let d2 = d2 + step * step;
                *out = if d2 < *out { d2 } else { *out };
            }
            for (out, d2) in out.iter_mut().zip(&line[k..]) {
                let d2 = d2 + step * step;
                *out = if d2 < *out { d2 } else { *out };
            }
        }
        out.iter_mut().for_each(|d2| *d2 = d2.sqrt().min(limit));
        counter.done()
    })?;
    Ok(out)
}

/// Share of the way from one sample to the next at which the threshold is met, if it is.
#[inline]
fn crossing(a: f32, b: f32, threshold: f32) -> Option<f32> {
    if a.is_nan() || b.is_nan() || (a >= threshold) == (b >= threshold) {
        return None;
    }
    Some(((threshold - a) / (b - a)).clamp(0.0, 1.0))
}

/// Gives each of `count` samples its distance to the nearest crossing of a line: `crossing(i)` lies between `i` and `i + 1`.
///
/// Distances are whole cells and a share of one, counted from the sample: the same bits in every window.
fn nearest_in_line(
    count: usize,
    crossing: impl Fn(usize) -> Option<f32>,
    spacing: f32,
    limit: f32,
    mut set: impl FnMut(usize, f32),
) {
    let mut found: Vec<f32> = vec![limit; count];
    let mut last: Option<(usize, f32)> = None;
    for i in 0..count {
        if let Some((at, share)) = last {
            found[i] = found[i].min(((i - at) as f32 - share) * spacing);
        }
        if i + 1 < count
            && let Some(share) = crossing(i)
        {
            last = Some((i, share));
        }
    }
    last = None;
    for i in (0..count).rev() {
        if i + 1 < count
            && let Some(share) = crossing(i)
        {
            last = Some((i, share));
        }
        if let Some((at, share)) = last {
            found[i] = found[i].min(((at - i) as f32 + share) * spacing);
        }
    }
    for (i, d) in found.into_iter().enumerate() {
        set(i, d);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_support::assert_windows;
    use orogen_core::math;
    use orogen_core::testkit::{assert_close, ramp};

    fn measure(values: &Raster<f32>, limit: f32) -> Raster<f32> {
        distance(values, [10.0, 12.0], 0.0, limit, &Ctx::silent()).unwrap()
    }

    #[test]
    fn a_straight_coast_is_met_between_samples() {
        let slope = Raster::from_fn(41, 41, |c, _| 10.0 * c as f32 - 203.0);
        for (col, value) in measure(&slope, 100.0).row(20).iter().enumerate() {
            assert_close!(*value, (10.0 * col as f32 - 203.0).abs().min(100.0), abs = 1e-3);
        }
    }

    #[test]
    fn distances_to_a_round_coast_are_euclidean_on_both_sides() {
        let radius = 150.0;
        let from_middle =
            |c: usize, r: usize| math::hypot((c as f64 - 40.0) * 10.0, (r as f64 - 40.0) * 12.0);
        let cone = Raster::from_fn(81, 81, |c, r| (radius - from_middle(c, r)) as f32);
        let found = measure(&cone, 90.0);
        for row in 0..81 {
            for col in 0..81 {
                let exact = (from_middle(col, row) - radius).abs().min(90.0);
                let d = f64::from(found.row(row)[col]);
                // Crossings are points on a grid of lines: between two of them a place lies a little further away.
                assert!(d >= exact - 0.5 && d <= exact + 6.0, "{d} for {exact}");
                if exact > 40.0 {
                    assert!(d <= exact + 1.0, "{d} for {exact}");
                }
            }
        }
    }

    #[test]
    fn it_is_the_distance_to_the_nearest_of_all_crossings() {
        let values = Raster::from_fn(23, 19, |c, r| ((c * 7919 + r * 104_729) % 97) as f32 - 90.0);
        let mut points = Vec::new();
        for r in 0..19 {
            for c in 0..23 {
                let here = values.row(r)[c];
                if c + 1 < 23
                    && let Some(t) = crossing(here, values.row(r)[c + 1], 0.0)
                {
                    points.push(((c as f64 + f64::from(t)) * 10.0, r as f64 * 12.0));
                }
                if r + 1 < 19
                    && let Some(t) = crossing(here, values.row(r + 1)[c], 0.0)
                {
                    points.push((c as f64 * 10.0, (r as f64 + f64::from(t)) * 12.0));
                }
            }
        }
        let found = measure(&values, 300.0);
        for r in 0..19 {
            for c in 0..23 {
                let near = points.iter().map(|(x, y)| math::hypot(x - c as f64 * 10.0, y - r as f64 * 12.0));
                assert_close!(found.row(r)[c], near.fold(300.0, f64::min), abs = 1e-3);
            }
        }
    }

    #[test]
    fn one_side_may_be_marked_alone_and_beyond_the_range_there_is_nothing() {
        let mut terrain = Terrain::new(Frame::square(1000.0, 101).unwrap());
        terrain.set(layer::HEIGHT, ramp(101, 10.0, 1.0).map(|h| h - 500.5));
        for (side, west, east) in [(Side::Both, 1.0, 1.0), (Side::Above, 0.0, 1.0), (Side::Below, 1.0, 0.0)] {
            let op = Distance { side, falloff_m: 0.0, ..Distance::default() };
            let after = op.apply(terrain.clone(), &Ctx::silent()).unwrap();
            let row = after.get(layer::MASK).unwrap().row(50).to_vec();
            assert_eq!((row[45], row[55], row[30], row[70]), (west, east, 0.0, 0.0), "{side:?}");
        }
    }

    #[test]
    fn windows_equal_the_whole() {
        for output in [Output::Mask, Output::Metres] {
            for side in [Side::Both, Side::Below] {
                assert_windows(&Distance {
                    threshold: 250.0,
                    max_m: 170.0,
                    output,
                    side,
                    ..Distance::default()
                });
            }
        }
    }
}
