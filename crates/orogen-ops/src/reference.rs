//! The yardstick of the benchmarks: plain simplex noise, one thread, never to be made faster.
//!
//! Figures are given as multiples of this kernel's time on the same machine in the same run, so that they hold on
//! any machine. Nothing else may use it.

use orogen_core::{Raster, Seed};

const OCTAVES: u32 = 8;
/// Lattice cells across the grid in the first octave.
const CELLS: f64 = 4.0;

/// Eight octaves of simplex noise over a grid, about within -1 to 1. Moves 4 bytes and costs 8 lookups a sample.
#[must_use]
pub fn reference_fbm(cols: usize, rows: usize, seed: Seed) -> Raster<f32> {
    let permutation = permutation(seed);
    let mut raster = Raster::filled(cols, rows, 0.0);
    let scale = CELLS / cols.max(2).saturating_sub(1) as f64;
    for (i, out) in raster.as_mut_slice().iter_mut().enumerate() {
        let (x, y) = ((i % cols.max(1)) as f64 * scale, (i / cols.max(1)) as f64 * scale);
        let (mut sum, mut amplitude, mut frequency) = (0.0, 0.5, 1.0);
        for _ in 0..OCTAVES {
            sum += amplitude * simplex(&permutation, x * frequency, y * frequency);
            amplitude *= 0.5;
            frequency *= 2.0;
        }
        *out = sum as f32;
    }
    raster
}

/// The numbers 0 to 255 shuffled, twice over so that sums of two need no wrapping.
fn permutation(seed: Seed) -> [u8; 512] {
    let mut table: [u8; 512] = std::array::from_fn(|i| i as u8);
    let mut stream = seed.stream();
    for i in (1..256).rev() {
        table.swap(i, stream.below(i + 1));
    }
    for i in 0..256 {
        table[i + 256] = table[i];
    }
    table
}

/// Simplex noise in the plane, -1 to 1.
fn simplex(permutation: &[u8; 512], x: f64, y: f64) -> f64 {
    const SKEW: f64 = 0.366_025_403_784_438_6;
    const UNSKEW: f64 = 0.211_324_865_405_187_13;
    let s = (x + y) * SKEW;
    let (i, j) = ((x + s).floor(), (y + s).floor());
    let t = (i + j) * UNSKEW;
    let (x0, y0) = (x - (i - t), y - (j - t));
    let (di, dj) = if x0 > y0 { (1.0, 0.0) } else { (0.0, 1.0) };
    let corners = [
        (0.0, 0.0, x0, y0),
        (di, dj, x0 - di + UNSKEW, y0 - dj + UNSKEW),
        (1.0, 1.0, x0 - 1.0 + 2.0 * UNSKEW, y0 - 1.0 + 2.0 * UNSKEW),
    ];
    let mut sum = 0.0;
    for (di, dj, x, y) in corners {
        let near = 0.5 - x * x - y * y;
        if near > 0.0 {
            let column = permutation[(j + dj) as i64 as usize & 255] as usize;
            let hash = permutation[((i + di) as i64 as usize & 255) + column];
            let (u, v) = if hash & 4 == 0 { (x, y) } else { (y, x) };
            let dot = if hash & 1 == 0 { u } else { -u } + if hash & 2 == 0 { 2.0 * v } else { -2.0 * v };
            sum += near * near * near * near * dot;
        }
    }
    40.0 * sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_varies_and_stays_in_range() {
        let raster = reference_fbm(129, 65, Seed(3));
        let (low, high) = raster.range().unwrap();
        assert!((-1.2..-0.2).contains(&low) && (0.2..1.2).contains(&high), "{low} to {high}");
        assert_ne!(raster, reference_fbm(129, 65, Seed(4)));
    }
}
