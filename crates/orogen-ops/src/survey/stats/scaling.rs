//! How roughness depends on scale: the spectrum, and differences of height over distances.

use orogen_core::{Raster, math};
use serde::Serialize;

use super::line;

/// Power by wavelength, `P(k) ∝ k^-beta` over two dimensions.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Spectrum {
    /// The exponent; 2H + 2 for fractal noise.
    pub beta: f64,
    /// Share of the variance of log power that the line explains.
    pub r2: f64,
}

/// Mean square difference by distance, `⟨dz²⟩ ∝ d^2H`.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Structure {
    /// The Hurst exponent `H`.
    pub hurst: f64,
    /// Share of the variance that the line explains.
    pub r2: f64,
}

/// The largest window of 2ⁿ samples a side that is looked at.
const WINDOW: usize = 1024;

/// The spectrum of a square window in the middle: plane removed, Hann window, mean over rings of equal wavenumber, line fitted
/// from six samples to a sixth of the window. None below 64 samples or with holes.
pub fn spectrum(height: &Raster<f32>, spacing_m: [f64; 2]) -> Option<Spectrum> {
    let mut n = WINDOW;
    while n > height.cols().min(height.rows()) {
        n /= 2;
    }
    if n < 64 {
        return None;
    }
    let (c0, r0) = ((height.cols() - n) / 2, (height.rows() - n) / 2);
    let mut real: Vec<f64> = (0..n * n).map(|i| f64::from(height.row(r0 + i / n)[c0 + i % n])).collect();
    if real.iter().any(|h| h.is_nan()) {
        return None;
    }
    remove_plane(&mut real, n);
    let hann: Vec<f64> =
        (0..n).map(|i| 0.5 - 0.5 * math::cos(std::f64::consts::TAU * (i as f64 + 0.5) / n as f64)).collect();
    for (i, value) in real.iter_mut().enumerate() {
        *value *= hann[i / n] * hann[i % n];
    }
    let mut imag = vec![0.0; n * n];
    let wheel = Wheel::new(n);
    for row in 0..n {
        wheel.transform(&mut real[row * n..][..n], &mut imag[row * n..][..n]);
    }
    transpose(&mut real, n);
    transpose(&mut imag, n);
    for row in 0..n {
        wheel.transform(&mut real[row * n..][..n], &mut imag[row * n..][..n]);
    }
    // Rings in cycles a metre, so that cells need not be square; after the turn rows are columns.
    let [dx, dy] = spacing_m;
    let step = 1.0 / (n as f64 * dx.max(dy));
    let mut rings = vec![[0.0f64; 2]; n];
    for i in 0..n * n {
        let wave = |k: usize| k.min(n - k) as f64;
        let k = math::hypot(wave(i / n) / (n as f64 * dx), wave(i % n) / (n as f64 * dy));
        let ring = (k / step).round() as usize;
        if (1..rings.len()).contains(&ring) {
            rings[ring][0] += real[i] * real[i] + imag[i] * imag[i];
            rings[ring][1] += 1.0;
        }
    }
    let points: Vec<[f64; 2]> = (6..=n / 6)
        .filter(|&ring| rings[ring][1] > 0.0 && rings[ring][0] > 0.0)
        .map(|ring| [math::ln(ring as f64), math::ln(rings[ring][0] / rings[ring][1])])
        .collect();
    let [slope, _, r2] = line(&points)?;
    Some(Spectrum { beta: -slope, r2 })
}

fn remove_plane(values: &mut [f64], n: usize) {
    let middle = (n - 1) as f64 / 2.0;
    let (mut mean, mut x, mut y, mut squares) = (0.0, 0.0, 0.0, 0.0);
    for (i, value) in values.iter().enumerate() {
        let (c, r) = ((i % n) as f64 - middle, (i / n) as f64 - middle);
        mean += value;
        x += c * value;
        y += r * value;
        squares += c * c;
    }
    let (mean, x, y) = (mean / (n * n) as f64, x / squares, y / squares);
    for (i, value) in values.iter_mut().enumerate() {
        let (c, r) = ((i % n) as f64 - middle, (i / n) as f64 - middle);
        *value -= mean + x * c + y * r;
    }
}

fn transpose(values: &mut [f64], n: usize) {
    for row in 0..n {
        for col in row + 1..n {
            values.swap(row * n + col, col * n + row);
        }
    }
}

/// A fast Fourier transform of 2ⁿ values in place. By hand, since results must not depend on the machine's vectors as
/// those of the crates do.
struct Wheel {
    cos: Vec<f64>,
    sin: Vec<f64>,
}

impl Wheel {
    fn new(n: usize) -> Self {
        let angle = |i: usize| std::f64::consts::TAU * i as f64 / n as f64;
        Self {
            cos: (0..n / 2).map(|i| math::cos(angle(i))).collect(),
            sin: (0..n / 2).map(|i| -math::sin(angle(i))).collect(),
        }
    }

    fn transform(&self, real: &mut [f64], imag: &mut [f64]) {
        let n = real.len();
        let bits = n.trailing_zeros();
        for i in 0..n {
            let j = i.reverse_bits() >> (usize::BITS - bits);
            if i < j {
                real.swap(i, j);
                imag.swap(i, j);
            }
        }
        let mut half = 1;
        while half < n {
            let stride = n / (2 * half);
            for start in (0..n).step_by(2 * half) {
                for k in 0..half {
                    let (c, s) = (self.cos[k * stride], self.sin[k * stride]);
                    let (a, b) = (start + k, start + k + half);
                    let (re, im) = (real[b] * c - imag[b] * s, real[b] * s + imag[b] * c);
                    (real[b], imag[b]) = (real[a] - re, imag[a] - im);
                    (real[a], imag[a]) = (real[a] + re, imag[a] + im);
                }
            }
            half *= 2;
        }
    }
}

/// Differences along rows and columns over 2 to 32 samples, at most an eighth of the side.
pub fn structure(height: &Raster<f32>, spacing_m: [f64; 2], sea_m: f32) -> Option<Structure> {
    let (cols, rows) = (height.cols(), height.rows());
    let most = 32.min(cols.min(rows) / 8);
    let mut points = Vec::new();
    for lag in [2, 3, 4, 6, 8, 11, 16, 23, 32] {
        if lag > most {
            break;
        }
        for (along_row, spacing) in [(true, spacing_m[0]), (false, spacing_m[1])] {
            let (mut sum, mut count) = (0.0, 0u64);
            for row in 0..if along_row { rows } else { rows - lag } {
                let here = height.row(row);
                let there = if along_row { &here[lag..] } else { height.row(row + lag) };
                for (&a, &b) in here.iter().zip(there) {
                    if a > sea_m && b > sea_m {
                        sum += f64::from(a - b) * f64::from(a - b);
                        count += 1;
                    }
                }
            }
            if count > 0 && sum > 0.0 {
                points.push([math::ln(lag as f64 * spacing), math::ln(sum / count as f64)]);
            }
        }
    }
    let [slope, _, r2] = line(&points)?;
    Some(Structure { hurst: slope / 2.0, r2 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_transform_is_that_of_the_sum() {
        let n = 16;
        let values: Vec<f64> = (0..n).map(|i| ((i * i * 7 + 3 * i) % 11) as f64).collect();
        let (mut real, mut imag) = (values.clone(), vec![0.0; n]);
        Wheel::new(n).transform(&mut real, &mut imag);
        for k in 0..n {
            let (mut re, mut im) = (0.0, 0.0);
            for (i, value) in values.iter().enumerate() {
                let angle = -std::f64::consts::TAU * (i * k) as f64 / n as f64;
                re += value * math::cos(angle);
                im += value * math::sin(angle);
            }
            assert!((re - real[k]).abs() < 1e-9 && (im - imag[k]).abs() < 1e-9, "{k}");
        }
    }
}
