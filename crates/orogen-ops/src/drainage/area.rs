//! How much drains through each cell.

use std::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, Ordering};

use orogen_core::{Coef, Raster};
use rayon::prelude::*;

use super::RasterPool;
use super::ways::Ways;

/// Cells that drain through each cell, itself included, given the ways and their [`Ways::donors`]. The ways must not go
/// round in circles.
///
/// Threads walk down from the springs and stop where other donors are still missing; the last to arrive goes on. Whole
/// numbers add up to the same in any order. Moves about 20 bytes a cell.
#[must_use]
pub fn cells(ways: &Ways, donors: &Raster<u8>) -> Raster<u32> {
    cells_in(ways, donors, &mut RasterPool::default())
}

/// As [`cells`], in rasters of a pool.
#[must_use]
pub fn cells_in(ways: &Ways, donors: &Raster<u8>, pool: &mut RasterPool) -> Raster<u32> {
    let (cols, rows) = (ways.0.cols(), ways.0.rows());
    // Collecting a vector as one of the same layout keeps its memory.
    let mut sums: Vec<AtomicU32> =
        pool.words(cols, rows).into_vec().into_iter().map(AtomicU32::new).collect();
    sums.par_chunks_mut(CHUNK).for_each(|sums| sums.iter_mut().for_each(|sum| *sum.get_mut() = 1));
    walk(ways, donors, pool, |from, to| {
        sums[to].fetch_add(sums[from].load(Ordering::Relaxed), Ordering::Relaxed);
    });
    let sums = sums.into_iter().map(AtomicU32::into_inner).collect();
    // As long as the ways are, by construction.
    Raster::from_vec(cols, rows, sums).unwrap_or_else(|| Raster::filled(cols, rows, 1))
}

/// Numbers of cells as areas, given that of one, in the memory of the numbers.
#[must_use]
pub fn areas(mut cells: Raster<u32>, cell_m2: f64) -> Raster<f32> {
    let (cols, rows) = (cells.cols(), cells.rows());
    cells.par_rows(|_, row| {
        row.iter_mut().for_each(|cells| *cells = ((f64::from(*cells) * cell_m2) as f32).to_bits());
    });
    let areas = cells.into_vec().into_iter().map(f32::from_bits).collect();
    // As long as the numbers are, by construction.
    Raster::from_vec(cols, rows, areas).unwrap_or_else(|| Raster::filled(cols, rows, 0.0))
}

/// As [`cells`], each cell counting as much as `own` says. Whole numbers, so that sums are the same in any order and what
/// comes in at a junction is what goes out.
#[must_use]
pub fn sums(ways: &Ways, donors: &Raster<u8>, own: impl Fn(usize) -> u64 + Sync) -> Raster<u64> {
    let (cols, rows) = (ways.0.cols(), ways.0.rows());
    let sums: Vec<AtomicU64> =
        (0..cols * rows).into_par_iter().with_min_len(CHUNK).map(|cell| AtomicU64::new(own(cell))).collect();
    walk(ways, donors, &mut RasterPool::default(), |from, to| {
        sums[to].fetch_add(sums[from].load(Ordering::Relaxed), Ordering::Relaxed);
    });
    let sums = sums.into_iter().map(AtomicU64::into_inner).collect();
    // As long as the ways are, by construction.
    Raster::from_vec(cols, rows, sums).unwrap_or_else(|| Raster::filled(cols, rows, 0))
}

/// Rain at which a cell counts as itself, in millimetres a year.
pub const USUAL_MM_PER_YR: f64 = 1000.0;

/// Parts that a cell counts for where the usual rain falls.
pub const PARTS: u64 = 1 << 20;

/// Whether every cell counts as itself.
#[must_use]
pub fn is_usual(rain_mm_per_yr: &Coef) -> bool {
    *rain_mm_per_yr == Coef::Const(USUAL_MM_PER_YR)
}

/// How many parts a cell counts for, by its rain; a hole has none.
#[inline]
#[must_use]
pub fn parts(rain_mm_per_yr: f32) -> u64 {
    (f64::from(rain_mm_per_yr).clamp(0.0, 1e6) * PARTS as f64 / USUAL_MM_PER_YR) as u64
}

/// As [`cells`], by rain: how many cells of the usual rain bring as much water.
#[must_use]
pub fn water(ways: &Ways, donors: &Raster<u8>, parts: impl Fn(usize) -> u64 + Sync) -> Raster<f32> {
    sums(ways, donors, parts).map(|sum| (sum as f64 / PARTS as f64) as f32)
}

/// Cells that a thread takes at a time where each stands for itself.
const CHUNK: usize = 1 << 14;
/// Rows and columns of the tiles whose springs are followed one after the other: what is near each other stays in the cache.
const TALL: usize = 32;
const WIDE: usize = 256;

/// Calls `hand_on(cell, next)` for every cell that drains to another, after all that drain to the cell were handed on.
fn walk(ways: &Ways, donors: &Raster<u8>, pool: &mut RasterPool, hand_on: impl Fn(usize, usize) + Sync) {
    let (cols, rows) = (ways.0.cols(), ways.0.rows());
    let mut missing: Vec<AtomicU8> =
        pool.bytes(cols, rows).into_vec().into_iter().map(AtomicU8::new).collect();
    missing.par_chunks_mut(CHUNK).zip(donors.as_slice().par_chunks(CHUNK)).for_each(|(missing, donors)| {
        for (missing, donors) in missing.iter_mut().zip(donors) {
            *missing.get_mut() = donors.count_ones() as u8;
        }
    });
    let follow = |spring: usize| {
        let mut at = spring;
        while let Some(next) = ways.next(at) {
            hand_on(at, next);
            // A cell of one donor needs no talk between threads.
            let lone = donors.as_slice()[next].is_power_of_two();
            // Acquire and release: the last donor sees what the others handed on.
            if !lone && missing[next].fetch_sub(1, Ordering::AcqRel) != 1 {
                break;
            }
            at = next;
        }
    };
    (0..rows.div_ceil(TALL)).into_par_iter().for_each(|band| {
        for from in (0..cols).step_by(WIDE) {
            for row in band * TALL..((band + 1) * TALL).min(rows) {
                let bits = &donors.row(row)[from..(from + WIDE).min(cols)];
                let springs = bits.iter().enumerate().filter(|(_, bits)| **bits == 0);
                springs.for_each(|(i, _)| follow(row * cols + from + i));
            }
        }
    });
    let missing = missing.into_iter().map(AtomicU8::into_inner).collect();
    if let Some(missing) = Raster::from_vec(cols, rows, missing) {
        pool.take_bytes(missing);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drainage::drainage;
    use crate::test_support;
    use orogen_core::Ctx;

    #[test]
    fn areas_are_those_counted_one_cell_at_a_time() {
        let (cols, rows) = (93, 120);
        let ways = drainage(&test_support::rough(cols, rows), [5.0, 5.0], 12.0, &Ctx::silent()).unwrap().ways;
        let mut slow = vec![0u32; cols * rows];
        for cell in 0..cols * rows {
            let mut at = cell;
            slow[at] += 1;
            while let Some(next) = ways.next(at) {
                at = next;
                slow[at] += 1;
            }
        }
        let fast = cells(&ways, &ways.donors());
        let wrong = (0..cols * rows).find(|&cell| fast.as_slice()[cell] != slow[cell]);
        assert_eq!(wrong.map(|cell| (cell, fast.as_slice()[cell], slow[cell])), None);
        let thrice = sums(&ways, &ways.donors(), |_| 3);
        assert!(thrice.as_slice().iter().zip(&slow).all(|(sum, cells)| *sum == 3 * u64::from(*cells)));
    }
}
