//! Filters that run across the edges of a tile: blur, slopes, levelling, curvature.

use rayon::prelude::*;

use crate::field::Field;

/// Blurs by about a bell curve of this deviation, in shares of the tile's side: three box means along each direction.
#[must_use]
pub fn blur(field: &Field, deviation: f32) -> Field {
    let size = field.size();
    // Three boxes of 2 r + 1 samples have a variance of r (r + 1).
    let variance = (deviation * size as f32) * (deviation * size as f32);
    let radius = (((1.0 + 4.0 * variance).sqrt() - 1.0) * 0.5).round() as usize;
    let radius = radius.min(size / 2 - 1);
    if radius == 0 {
        return field.clone();
    }
    let mut blurred = field.clone();
    for _ in 0..2 {
        // Rows, then the same of the transposed field.
        for _ in 0..3 {
            blurred = box_rows(&blurred, radius);
        }
        blurred = transposed(&blurred);
    }
    blurred
}

/// The mean of each sample and `radius` ones to the left and right.
fn box_rows(field: &Field, radius: usize) -> Field {
    let size = field.size();
    let rows: Vec<Vec<f32>> = (0..size)
        .into_par_iter()
        .map(|row| {
            let values = field.row(row);
            let at = |i: usize| f64::from(values[i & (size - 1)]);
            // In double precision, so that what is added is taken away again exactly enough.
            let mut sum: f64 = (0..=2 * radius).map(|i| at(i + size - radius)).sum();
            let share = 1.0 / (2 * radius + 1) as f64;
            (0..size)
                .map(|col| {
                    let mean = (sum * share) as f32;
                    sum += at(col + radius + 1) - at(col + size - radius);
                    mean
                })
                .collect()
        })
        .collect();
    Field::from_cells(size, |col, row| rows[row][col])
}

fn transposed(field: &Field) -> Field {
    Field::from_cells(field.size(), |col, row| field.as_slice()[col * field.size() + row])
}

/// How a field rises to the right and downwards at a sample, per side of the tile.
#[inline]
#[must_use]
pub fn slope(field: &Field, col: usize, row: usize) -> [f32; 2] {
    let (c, r) = (col as isize, row as isize);
    let half = field.size() as f32 * 0.5;
    [(field.at(c + 1, r) - field.at(c - 1, r)) * half, (field.at(c, r + 1) - field.at(c, r - 1)) * half]
}

/// How far a sample stands above its surroundings: positive on edges and crests, negative in cracks and hollows.
#[must_use]
pub fn curvature(field: &Field, deviation: f32) -> Field {
    let around = blur(field, deviation);
    Field::from_cells(field.size(), |col, row| field.row(row)[col] - around.row(row)[col])
}

/// Takes away what varies over lengths of more than `deviation` of the side, but for a share `keep`: it would be seen
/// again in every tile, as a lattice of spots from afar.
#[must_use]
pub fn levelled(field: &Field, deviation: f32, keep: f32) -> Field {
    let around = broad(field, deviation);
    let mean = field.mean() as f32;
    Field::from_cells(field.size(), |col, row| {
        field.row(row)[col] - (around.row(row)[col] - mean) * (1.0 - keep)
    })
}

/// A blur over at least a few hundredths of the side, worked out on means of blocks: what is left is too smooth to tell.
#[must_use]
pub fn broad(field: &Field, deviation: f32) -> Field {
    let coarse = blur(&field.means(COARSE), deviation);
    if coarse.size() == field.size() {
        coarse
    } else {
        Field::from_fn(field.size(), |u, v| coarse.sample(u, v))
    }
}

/// Blocks along a side that a broad blur is worked out on.
const COARSE: usize = 128;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_blur_keeps_the_mean_and_wraps() {
        let spot = Field::from_cells(64, |col, row| if col == 0 && row == 0 { 1.0 } else { 0.0 });
        let blurred = blur(&spot, 0.05);
        assert!((blurred.mean() - spot.mean()).abs() < 1e-9);
        assert!((blurred.at(-3, 0) - blurred.at(3, 0)).abs() < 1e-6);
        assert!((blurred.at(0, -3) - blurred.at(3, 0)).abs() < 1e-6);
        assert!(blurred.at(0, 0) > blurred.at(2, 0) && blurred.at(2, 0) > blurred.at(6, 0));
        // The variance of the spot is as asked, within what whole samples allow.
        let variance: f64 = (-32..32)
            .flat_map(|y| (-32..32).map(move |x| (x, y)))
            .map(|(x, y)| f64::from(blurred.at(x, y)) * (x * x) as f64)
            .sum();
        assert!((variance.sqrt() / 3.2 - 1.0).abs() < 0.15, "{}", variance.sqrt());
    }

    #[test]
    fn slopes_are_those_of_a_wave() {
        let wave = Field::from_fn(128, |u, _| orogen_core::math::f32::sin(u * std::f32::consts::TAU));
        let [x, y] = slope(&wave, 0, 5);
        assert!((x / std::f32::consts::TAU - 1.0).abs() < 0.01 && y.abs() < 1e-5, "{x} {y}");
    }

    #[test]
    fn levelling_takes_the_broad_and_leaves_the_fine() {
        use std::f32::consts::TAU;
        let wave =
            |cycles: f32| Field::from_fn(128, move |u, _| orogen_core::math::f32::sin(u * TAU * cycles));
        assert!(levelled(&wave(1.0), 0.05, 0.0).deviation() < 0.1 * wave(1.0).deviation());
        assert!(levelled(&wave(16.0), 0.05, 0.0).deviation() > 0.95 * wave(16.0).deviation());
    }
}
