//! The discrete Fourier transform of a power of two of numbers, eight at a time.
//!
//! ```text
//! X(k) = Σ x(j) exp(−2πi jk/n)
//! ```
//!
//! Stockham's form: every stage reads one buffer and writes the other, so nothing has to be put in order afterwards. Stages
//! are of radix 4, the last of radix 2 where the length asks for it. Eight transforms lie side by side, which makes vector
//! code of every operation. Operations are those written here in their order, with sines and cosines of
//! [`orogen_core::math`], so the bits are the same on every machine.

use orogen_core::math;

use crate::simd::{Level, dispatch};

/// Transforms that are done side by side.
pub const LANES: usize = 8;

/// A number of each transform.
pub type Lane = [f64; LANES];

/// Real and imaginary parts of [`LANES`] sequences.
#[derive(Clone, Default)]
pub struct Batch {
    pub re: Vec<Lane>,
    pub im: Vec<Lane>,
}

impl Batch {
    /// Sequences of zeros.
    pub fn zeros(length: usize) -> Self {
        Self { re: vec![[0.0; LANES]; length], im: vec![[0.0; LANES]; length] }
    }
}

/// A transform of one length: its sines and cosines.
pub struct Fft {
    /// `exp(−2πi k/n)` for k below n.
    turns: Vec<(f64, f64)>,
    level: Level,
}

impl Fft {
    /// For sequences of at least so many numbers: the next power of two.
    pub fn for_at_least(length: usize) -> Self {
        let n = length.max(1).next_power_of_two();
        let turn = |k: usize| {
            let angle = std::f64::consts::TAU * k as f64 / n as f64;
            (math::cos(angle), -math::sin(angle))
        };
        Self { turns: (0..n).map(turn).collect(), level: Level::new() }
    }

    /// Numbers of a sequence.
    pub fn len(&self) -> usize {
        self.turns.len()
    }

    /// Transforms sequences in place; `scratch` is as long.
    pub fn forward(&self, data: &mut Batch, scratch: &mut Batch) {
        dispatch!(self.level, _simd => self.stages(&mut data.re, &mut data.im, &mut scratch.re, &mut scratch.im));
    }

    /// The way back, without the division by [`Fft::len`].
    pub fn backward(&self, data: &mut Batch, scratch: &mut Batch) {
        // Parts exchanged before and after turn the sign of the exponent round.
        dispatch!(self.level, _simd => self.stages(&mut data.im, &mut data.re, &mut scratch.im, &mut scratch.re));
    }

    #[inline(always)]
    fn stages(&self, re: &mut Vec<Lane>, im: &mut Vec<Lane>, to_re: &mut Vec<Lane>, to_im: &mut Vec<Lane>) {
        let n = self.len();
        assert!([re.len(), im.len(), to_re.len(), to_im.len()] == [n; 4], "sequences of this length");
        let (mut left, mut stride) = (n, 1);
        while left > 1 {
            if left % 4 == 0 {
                self.four(left, stride, re, im, to_re, to_im);
                (left, stride) = (left / 4, stride * 4);
            } else {
                self.two(stride, re, im, to_re, to_im);
                (left, stride) = (left / 2, stride * 2);
            }
            // The allocations change places, so the caller's buffers end with the result.
            std::mem::swap(re, to_re);
            std::mem::swap(im, to_im);
        }
    }

    #[inline(always)]
    fn four(
        &self,
        left: usize,
        stride: usize,
        re: &[Lane],
        im: &[Lane],
        to_re: &mut [Lane],
        to_im: &mut [Lane],
    ) {
        let quarter = left / 4 * stride;
        for p in 0..left / 4 {
            let [w1, w2, w3] = [1, 2, 3].map(|times| self.turns[times * p * stride]);
            let at = p * stride;
            let [ar, br, cr, dr] = [0, 1, 2, 3].map(|by| &re[at + by * quarter..][..stride]);
            let [ai, bi, ci, di] = [0, 1, 2, 3].map(|by| &im[at + by * quarter..][..stride]);
            let out_re = &mut to_re[4 * at..][..4 * stride];
            let out_im = &mut to_im[4 * at..][..4 * stride];
            let (r01, r23) = out_re.split_at_mut(2 * stride);
            let (i01, i23) = out_im.split_at_mut(2 * stride);
            let (r0, r1) = r01.split_at_mut(stride);
            let (r2, r3) = r23.split_at_mut(stride);
            let (i0, i1) = i01.split_at_mut(stride);
            let (i2, i3) = i23.split_at_mut(stride);
            for q in 0..stride {
                for l in 0..LANES {
                    let (sum_r, sum_i) = (ar[q][l] + cr[q][l], ai[q][l] + ci[q][l]);
                    let (gap_r, gap_i) = (ar[q][l] - cr[q][l], ai[q][l] - ci[q][l]);
                    let (odd_r, odd_i) = (br[q][l] + dr[q][l], bi[q][l] + di[q][l]);
                    // i (b − d)
                    let (turn_r, turn_i) = (di[q][l] - bi[q][l], br[q][l] - dr[q][l]);
                    r0[q][l] = sum_r + odd_r;
                    i0[q][l] = sum_i + odd_i;
                    let (x, y) = (gap_r - turn_r, gap_i - turn_i);
                    r1[q][l] = x * w1.0 - y * w1.1;
                    i1[q][l] = x * w1.1 + y * w1.0;
                    let (x, y) = (sum_r - odd_r, sum_i - odd_i);
                    r2[q][l] = x * w2.0 - y * w2.1;
                    i2[q][l] = x * w2.1 + y * w2.0;
                    let (x, y) = (gap_r + turn_r, gap_i + turn_i);
                    r3[q][l] = x * w3.0 - y * w3.1;
                    i3[q][l] = x * w3.1 + y * w3.0;
                }
            }
        }
    }

    /// The last stage of a length that is not a power of four: pairs half the sequence apart.
    #[inline(always)]
    fn two(&self, stride: usize, re: &[Lane], im: &[Lane], to_re: &mut [Lane], to_im: &mut [Lane]) {
        for (from, to) in [(re, to_re), (im, to_im)] {
            let (a, b) = from.split_at(stride);
            let (sum, gap) = to.split_at_mut(stride);
            for q in 0..stride {
                for l in 0..LANES {
                    sum[q][l] = a[q][l] + b[q][l];
                    gap[q][l] = a[q][l] - b[q][l];
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use orogen_core::Seed;

    fn noise(length: usize) -> Batch {
        let mut random = Seed(7).stream();
        let mut lane = || std::array::from_fn(|_| random.unit() - 0.5);
        Batch { re: (0..length).map(|_| lane()).collect(), im: (0..length).map(|_| lane()).collect() }
    }

    #[test]
    fn it_is_the_transform_that_its_definition_says() {
        for n in [1, 2, 4, 8, 16, 32, 128] {
            let (fft, before) = (Fft::for_at_least(n), noise(n));
            let mut after = before.clone();
            fft.forward(&mut after, &mut Batch::zeros(n));
            for k in 0..n {
                for lane in [0, 5] {
                    let (mut re, mut im) = (0.0, 0.0);
                    for j in 0..n {
                        let angle = -std::f64::consts::TAU * ((j * k) % n) as f64 / n as f64;
                        let (c, s) = (math::cos(angle), math::sin(angle));
                        re += before.re[j][lane] * c - before.im[j][lane] * s;
                        im += before.re[j][lane] * s + before.im[j][lane] * c;
                    }
                    let (dr, di) = (after.re[k][lane] - re, after.im[k][lane] - im);
                    assert!(dr.abs() < 1e-13 * n as f64 && di.abs() < 1e-13 * n as f64, "{n}: {k}");
                }
            }
        }
    }

    #[test]
    fn there_and_back_is_where_it_began() {
        for n in [8, 512, 2048] {
            let (fft, before) = (Fft::for_at_least(n), noise(n));
            let (mut data, mut scratch) = (before.clone(), Batch::zeros(n));
            fft.forward(&mut data, &mut scratch);
            fft.backward(&mut data, &mut scratch);
            let far = |a: &[Lane], b: &[Lane]| {
                let pairs = a.iter().flatten().zip(b.iter().flatten());
                pairs.map(|(a, b)| (a / n as f64 - b).abs()).fold(0.0, f64::max)
            };
            assert!(far(&data.re, &before.re) < 1e-14 && far(&data.im, &before.im) < 1e-14, "{n}");
        }
    }

    #[test]
    fn vectors_of_any_width_give_the_same_bits() {
        let (n, before) = (256, noise(256));
        let mut fft = Fft::for_at_least(n);
        let mut made = [Level::new(), Level::baseline()].map(|level| {
            fft.level = level;
            let mut data = before.clone();
            fft.forward(&mut data, &mut Batch::zeros(n));
            data.re.into_iter().flatten().map(f64::to_bits).collect::<Vec<_>>()
        });
        let last = made[1].split_off(0);
        assert_eq!(made[0], last);
    }
}
