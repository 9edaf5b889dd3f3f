//! What is land and what is water, and how far out at sea a sample lies.

use orogen_core::{Raster, Terrain, layer};

use super::biome;
use super::coarse::{Coarse, soften};

/// Blocks along the longer side for distances.
const LONGEST: usize = 640;

/// What a sample is.
pub(super) const LAND: u8 = 0;
pub(super) const SEA: u8 = 1;
pub(super) const LAKE: u8 = 2;
pub(super) const HOLE: u8 = 3;

/// Depth of standing water from which the ground counts as a lake, in metres.
const LAKE_DEPTH_M: f32 = 0.05;

/// Sorts samples into land, sea, lake and hole. Where there are biomes they say what is lake and what is ocean;
/// elsewhere sea is what does not rise above zero.
pub(super) fn kinds(terrain: &Terrain, height: &Raster<f32>) -> Raster<u8> {
    let biomes = terrain.get(layer::BIOME).ok();
    let water = terrain.get(layer::WATER).ok();
    Raster::from_fn(height.cols(), height.rows(), |col, row| {
        let h = height.row(row)[col];
        let biome = biomes.map(|b| b.row(row)[col]);
        let wet = water.is_some_and(|w| w.row(row)[col] > LAKE_DEPTH_M);
        match biome {
            _ if h.is_nan() => HOLE,
            Some(biome::LAKE) => LAKE,
            Some(biome::OCEAN) => SEA,
            None if h <= 0.0 => SEA,
            _ if wet => LAKE,
            _ => LAND,
        }
    })
}

/// How far sea samples lie from the land, in fine samples, on a coarse grid.
pub(super) struct Offshore {
    pub grid: Coarse,
    pub distance: Raster<f32>,
}

impl Offshore {
    pub fn new(kinds: &Raster<u8>) -> Self {
        let grid = Coarse::new(kinds.cols(), kinds.rows(), LONGEST);
        let share =
            grid.means(kinds.cols(), kinds.rows(), |c, r| if kinds.row(r)[c] == SEA { 0.0 } else { 1.0 });
        let cells = distance_to(&share.map(|s| s >= 0.5));
        let factor = grid.factor as f32;
        // Half a block: the shore runs between the outermost land block and the sea.
        let distance = soften(&soften(&cells.map(|d| (d - 0.5).max(0.0) * factor)));
        Self { grid, distance }
    }
}

/// Euclidean distance of every cell to the nearest marked one, after Felzenszwalb and Huttenlocher: first down the
/// columns, then the lower envelope of parabolas along each row. Without any mark it is large everywhere.
fn distance_to(marked: &Raster<bool>) -> Raster<f32> {
    let (cols, rows) = (marked.cols(), marked.rows());
    let far = (cols + rows) as f32;
    let mut down = Raster::filled(cols, rows, far);
    for pass in 0..2 {
        for i in 0..rows {
            let row = if pass == 0 { i } else { rows - 1 - i };
            for col in 0..cols {
                let here = row * cols + col;
                let before = match (pass, i) {
                    (_, 0) => far,
                    (0, _) => down.as_slice()[here - cols],
                    _ => down.as_slice()[here + cols],
                };
                let step = if marked.as_slice()[here] { 0.0 } else { before + 1.0 };
                let value = &mut down.as_mut_slice()[here];
                *value = value.min(step);
            }
        }
    }
    let mut out = Raster::filled(cols, rows, 0.0);
    out.par_rows(|row, out| {
        let line = down.row(row);
        let square = |q: usize| line[q] * line[q];
        // The columns whose parabolas are lowest somewhere, and where each begins to be.
        let mut lowest: Vec<(usize, f32)> = vec![(0, f32::NEG_INFINITY)];
        for q in 1..cols {
            loop {
                let (p, from) = lowest[lowest.len() - 1];
                let (qf, pf) = (q as f32, p as f32);
                let meet = ((square(q) + qf * qf) - (square(p) + pf * pf)) / (2.0 * (qf - pf));
                if meet > from || lowest.len() == 1 {
                    lowest.push((q, meet));
                    break;
                }
                lowest.pop();
            }
        }
        let mut k = 0;
        for (q, out) in out.iter_mut().enumerate() {
            while k + 1 < lowest.len() && lowest[k + 1].1 < q as f32 {
                k += 1;
            }
            let p = lowest[k].0;
            let across = q as f32 - p as f32;
            *out = (across * across + square(p)).sqrt();
        }
    });
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_agree_with_looking_at_every_mark() {
        let (cols, rows) = (23, 17);
        let marks = [(3usize, 2usize), (20, 16), (11, 9), (0, 15)];
        let marked = Raster::from_fn(cols, rows, |c, r| marks.contains(&(c, r)));
        let found = distance_to(&marked);
        for row in 0..rows {
            for col in 0..cols {
                let nearest = marks
                    .iter()
                    .map(|&(c, r)| {
                        let (x, y) = (c as f32 - col as f32, r as f32 - row as f32);
                        (x * x + y * y).sqrt()
                    })
                    .fold(f32::INFINITY, f32::min);
                assert!((found.row(row)[col] - nearest).abs() < 1e-4, "({col}, {row})");
            }
        }
    }
}
