//! From a lattice of heights to the samples of a frame: smooth, separable, and the same bits for any window.

use orogen_core::{Cancelled, Ctx, Raster, math};

/// How heights between lattice points follow from those at them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Blend {
    /// Catmull-Rom cubic: meets every lattice point.
    Through,
    /// Cubic B-spline: no sum steeper or higher than the lattice itself, as its weights are never negative.
    Soft,
}

impl Blend {
    /// Weights of the four lattice points round a place a share `t` past the second.
    fn weights(self, t: f32) -> [f32; 4] {
        match self {
            Self::Through => math::catmull_rom(t),
            Self::Soft => {
                let (t2, t3) = (t * t, t * t * t);
                let s = 1.0 - t;
                [
                    s * s * s / 6.0,
                    (3.0 * t3 - 6.0 * t2 + 4.0) / 6.0,
                    (3.0 * (t + t2 - t3) + 1.0) / 6.0,
                    t3 / 6.0,
                ]
            }
        }
    }
}

/// Where the samples of a row or column lie on one axis of a lattice.
pub(super) struct Axis {
    /// The first lattice point that any sample needs.
    pub first: i64,
    /// How many lattice points are needed.
    pub count: usize,
    /// Per sample: place of the first of its four lattice points past `first`, and their weights.
    taps: Vec<(usize, [f32; 4])>,
}

impl Axis {
    /// The axis of samples at `places`, in lattice units.
    pub fn new(places: impl Iterator<Item = f64>, blend: Blend) -> Self {
        let split: Vec<(i64, f64)> = places.map(|u| (u.floor() as i64, u - u.floor())).collect();
        let low = split.iter().map(|s| s.0).min().unwrap_or(0) - 1;
        let high = split.iter().map(|s| s.0).max().unwrap_or(0) + 2;
        let taps =
            split.into_iter().map(|(cell, t)| ((cell - 1 - low) as usize, blend.weights(t as f32))).collect();
        Self { first: low, count: (high - low + 1) as usize, taps }
    }

    /// The axis of samples at `places`, in lattice units, on a lattice of only those points that samples need; and
    /// these points in their order. The four round a sample lie side by side among them, however far apart samples are.
    pub fn of_points(places: impl Iterator<Item = f64>, blend: Blend) -> (Self, Vec<i64>) {
        let split: Vec<(i64, f64)> = places.map(|u| (u.floor() as i64, u - u.floor())).collect();
        let mut points: Vec<i64> = split.iter().flat_map(|(cell, _)| cell - 1..=cell + 2).collect();
        points.sort_unstable();
        points.dedup();
        let taps = (split.into_iter())
            .map(|(cell, t)| (points.partition_point(|p| *p < cell - 1), blend.weights(t as f32)))
            .collect();
        (Self { first: 0, count: points.len(), taps }, points)
    }

    /// The same axis on a lattice that starts at point 0 rather than at the first point needed.
    pub fn rebased(mut self) -> Self {
        let first = self.first.max(0);
        self.taps.iter_mut().for_each(|tap| tap.0 += first as usize);
        Self { first: 0, count: self.count + first as usize, taps: self.taps }
    }
}

/// The heights at the samples, from those of a lattice that starts at the first point of both axes; the part `from`
/// to `upto` percent of a step. Moves 4 bytes a sample besides the lattice.
///
/// # Errors
/// When cancelled.
pub(super) fn interpolate(
    lattice: &Raster<f32>,
    cols: &Axis,
    rows: &Axis,
    (from, upto): (usize, usize),
    ctx: &Ctx<'_>,
) -> Result<Raster<f32>, Cancelled> {
    let mut out = Raster::filled(cols.taps.len(), rows.taps.len(), 0.0);
    let counter = Share { done: std::sync::atomic::AtomicUsize::new(0), rows: out.rows(), from, upto };
    out.try_par_rows(|row, values| {
        let (first, weights) = rows.taps[row];
        let mut line = vec![0.0f32; lattice.cols()];
        let sources: [&[f32]; 4] = std::array::from_fn(|k| lattice.row((first + k).min(lattice.rows() - 1)));
        for (i, v) in line.iter_mut().enumerate() {
            *v = weights[0] * sources[0][i]
                + weights[1] * sources[1][i]
                + weights[2] * sources[2][i]
                + weights[3] * sources[3][i];
        }
        for (value, (first, w)) in values.iter_mut().zip(&cols.taps) {
            let p = &line[*first..*first + 4];
            *value = w[0] * p[0] + w[1] * p[1] + w[2] * p[2] + w[3] * p[3];
        }
        counter.done(ctx)
    })?;
    Ok(out)
}

/// Progress of rows that are the part `from` to `upto` percent of a step.
pub(super) struct Share {
    done: std::sync::atomic::AtomicUsize,
    rows: usize,
    from: usize,
    upto: usize,
}

impl Share {
    /// Rows that make up a part of a step.
    pub fn new(rows: usize, from: usize, upto: usize) -> Self {
        Self { done: std::sync::atomic::AtomicUsize::new(0), rows, from, upto }
    }

    /// One more row is done.
    pub fn done(&self, ctx: &Ctx<'_>) -> Result<(), Cancelled> {
        let done = self.done.fetch_add(1, std::sync::atomic::Ordering::Relaxed) + 1;
        ctx.tick(self.from * self.rows + (self.upto - self.from) * done, 100 * self.rows)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use orogen_core::testkit::assert_close;

    #[test]
    fn planes_are_met_and_weights_sum_to_one() {
        let lattice = Raster::from_fn(20, 20, |c, r| 3.0 * c as f32 - 2.0 * r as f32);
        for blend in [Blend::Through, Blend::Soft] {
            let axis = Axis::new((0..50).map(|i| 5.0 + f64::from(i) * 0.2), blend);
            assert_eq!((axis.first, axis.count), (4, 13));
            let out = interpolate(&lattice, &axis, &axis, (0, 100), &Ctx::silent()).unwrap();
            // The lattice raster starts at the axis' first point here, so a plane in raster columns.
            assert_close!(out.row(7)[9], 3.0 * 2.8 - 2.0 * 2.4, abs = 1e-4);
        }
    }

    #[test]
    fn soft_weights_are_never_negative() {
        for i in 0..=100 {
            let w = Blend::Soft.weights(i as f32 / 100.0);
            assert!(w.iter().all(|&w| w >= 0.0));
            assert_close!(w.iter().sum::<f32>(), 1.0, abs = 1e-6);
        }
    }
}
