//! Noise on the world lattice.
//!
//! [`Noise`] is plain gradient noise, one value at a time or a row at once. [`Field`] is what `source.noise` makes:
//! several bases and fractals, vectorised, in metres, with derivatives.

mod basis;
mod field;
mod fractal;
mod parts;
mod real;
mod rows;

pub use basis::{Basis, Distance};
pub(crate) use field::{BlockRoom, Blocks};
pub use field::{Field, Look};
pub use fractal::Fractal;
pub use parts::{FieldParts, OctaveParts, WaveParts};
pub use real::Dual;

use std::f64::consts::TAU;
use std::sync::LazyLock;

use orogen_core::{Seed, math};

/// Directions a gradient may have: enough that none shows, few enough to stay in the first cache.
const DIRECTIONS: usize = 64;

/// Gradients of length √2, which makes the noise span -1 to 1.
static GRADIENTS: LazyLock<[[f32; 2]; DIRECTIONS]> = LazyLock::new(|| {
    std::array::from_fn(|i| {
        // Turned by a third of a step, so that none lies along an axis or a diagonal.
        let angle = (i as f64 + 1.0 / 3.0) * TAU / DIRECTIONS as f64;
        let length = std::f64::consts::SQRT_2;
        [(length * math::cos(angle)) as f32, (length * math::sin(angle)) as f32]
    })
});

/// Perlin's gradient noise in the plane: zero at lattice points, smooth to the second derivative in between,
/// within -1 to 1 and mostly within -0.6 to 0.6.
///
/// A position splits into a whole cell (64 bits) and a fraction, so the noise is as fine a million cells out as
/// it is at zero.
///
/// **How a row is fast** Along a row the fraction `v` in y is fixed, so the two gradients above and below a lattice
/// column blend into one straight line of x. A row needs two hashes for each column it meets, and each sample is
/// one blend of two lines:
///
/// ```text
/// line(c) = slope·x + level,    noise = line(c)(x) + fade(x) · (line(c+1)(x - 1) - line(c)(x))
/// ```
///
/// **After** Perlin, "Improving noise", SIGGRAPH 2002. Gradients are hashed from the seed, not from a table that
/// repeats.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Noise {
    seed: Seed,
    /// Lattice columns and rows after which it repeats; 0 for never.
    period: [i64; 2],
}

impl Noise {
    /// The noise of a seed.
    #[must_use]
    pub fn new(seed: Seed) -> Self {
        Self { seed, period: [0; 2] }
    }

    /// The noise of a seed that repeats after so many lattice columns and rows; 0 for never.
    #[must_use]
    pub fn repeating(seed: Seed, period: [u32; 2]) -> Self {
        Self { seed, period: period.map(i64::from) }
    }

    /// The noise at one place, in lattice units; the same bits as [`Noise::row`].
    #[must_use]
    pub fn at(&self, x: f64, y: f64) -> f32 {
        let (cell, t) = split(x);
        let (row, v) = split(y);
        let gradients = &*GRADIENTS;
        blend(self.line(gradients, cell, row, v), self.line(gradients, cell + 1, row, v), t)
    }

    /// The noise along a row: at (`xs[i]`, `y`), in lattice units, into `out[i]`. `lines` is a buffer.
    ///
    /// Moves 12 bytes a sample; the cost of hashing is shared by the samples between two lattice points.
    pub fn row(&self, xs: &[f64], y: f64, lines: &mut Vec<[f32; 2]>, out: &mut [f32]) {
        let (row, v) = split(y);
        let gradients = &*GRADIENTS;
        let (low, high) =
            xs.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), &x| (a.min(x), b.max(x)));
        let (first, last) = (split(low).0, split(high).0);
        let columns = last.abs_diff(first);
        if columns > 2 * xs.len() as u64 {
            // More lattice points than samples: no table pays.
            for (out, &x) in out.iter_mut().zip(xs) {
                *out = self.at(x, y);
            }
            return;
        }
        lines.clear();
        lines.extend((first..=last + 1).map(|cell| self.line(gradients, cell, row, v)));
        for (out, &x) in out.iter_mut().zip(xs) {
            let (cell, t) = split(x);
            let at = (cell - first) as usize;
            *out = blend(lines[at], lines[at + 1], t);
        }
    }

    /// The gradient at a lattice point.
    #[must_use]
    pub fn gradient(&self, column: i64, row: i64) -> [f32; 2] {
        let [column, row] = [(column, self.period[0]), (row, self.period[1])]
            .map(|(at, period)| if period == 0 { at } else { at.rem_euclid(period) });
        GRADIENTS[self.seed.bits2(column, row) as usize % DIRECTIONS]
    }

    /// Whole cell and share of a position along either axis.
    #[must_use]
    pub fn split(at: f64) -> (i64, f32) {
        split(at)
    }

    /// What a lattice column is worth along a row: slope and level of a straight line.
    #[inline]
    fn line(&self, gradients: &[[f32; 2]; DIRECTIONS], cell: i64, row: i64, v: f32) -> [f32; 2] {
        let round = |at: i64, period: i64| if period == 0 { at } else { at.rem_euclid(period) };
        let cell = round(cell, self.period[0]);
        let gradient =
            |row: i64| gradients[self.seed.bits2(cell, round(row, self.period[1])) as usize % DIRECTIONS];
        let ([ax, ay], [bx, by]) = (gradient(row), gradient(row + 1));
        let f = fade(v);
        let (below, above) = (ay * v, by * (v - 1.0));
        [ax + f * (bx - ax), below + f * (above - below)]
    }
}

/// Whole cell and fraction. A cast and a correction, as `floor` is a call on plain x86-64.
#[inline]
fn split(x: f64) -> (i64, f32) {
    let cast = x as i64;
    let cell = cast - i64::from((cast as f64) > x);
    (cell, (x - cell as f64) as f32)
}

#[inline]
fn blend(left: [f32; 2], right: [f32; 2], t: f32) -> f32 {
    let a = left[0] * t + left[1];
    let b = right[0] * (t - 1.0) + right[1];
    a + fade(t) * (b - a)
}

#[inline]
fn fade(t: f32) -> f32 {
    t * t * t * (t * (t * 6.0 - 15.0) + 10.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_has_the_bits_of_single_values() {
        let noise = Noise::new(Seed(9));
        let mut lines = Vec::new();
        for step in [0.013, 0.7, 31.7] {
            for start in [-40.25, 1e9 + 0.3] {
                let xs: Vec<f64> = (0..500).map(|i| start + f64::from(i) * step).collect();
                let mut out = vec![0.0; xs.len()];
                noise.row(&xs, -3.37, &mut lines, &mut out);
                for (x, value) in xs.iter().zip(&out) {
                    assert_eq!(value.to_bits(), noise.at(*x, -3.37).to_bits(), "at {x}");
                }
            }
        }
    }

    #[test]
    fn it_is_zero_on_the_lattice_and_within_its_range() {
        let noise = Noise::new(Seed(1));
        let (mut low, mut high, mut squares) = (0.0f32, 0.0f32, 0.0);
        for i in 0..400 {
            for j in 0..400 {
                let value = noise.at(f64::from(i) * 0.13, f64::from(j) * 0.17);
                (low, high) = (low.min(value), high.max(value));
                squares += f64::from(value) * f64::from(value);
            }
        }
        assert!((-1.0..-0.6).contains(&low) && (0.6..1.0).contains(&high), "{low} to {high}");
        let rms = (squares / 160_000.0).sqrt();
        assert!((0.25..0.4).contains(&rms), "root mean square {rms}");
        assert_eq!(noise.at(17.0, -4.0), 0.0);
    }

    #[test]
    fn it_is_smooth_across_cells_far_out() {
        // 10,000 km out with cells of a metre: a step across a cell border is no larger than one inside.
        let noise = Noise::new(Seed(4));
        let x = 1e7;
        let across = noise.at(x + 1e-4, 0.4) - noise.at(x - 1e-4, 0.4);
        let inside = noise.at(x + 3e-4, 0.4) - noise.at(x + 1e-4, 0.4);
        assert!((across - inside).abs() < 1e-6, "{across} and {inside}");
    }
}
