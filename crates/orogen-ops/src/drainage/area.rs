//! How much drains through each cell.

use std::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, Ordering};

use orogen_core::Raster;
use rayon::prelude::*;

use super::ways::Ways;

/// Cells that drain through each cell, itself included, given the ways and their [`Ways::donors`]. The ways must not go
/// round in circles.
///
/// Threads walk down from the springs and stop where other donors are still missing; whoever comes last goes on. Whole
/// numbers add up to the same in any order. Moves about 20 bytes a cell.
#[must_use]
pub fn cells(ways: &Ways, donors: &Raster<u8>) -> Raster<u32> {
    let (cols, rows) = (ways.0.cols(), ways.0.rows());
    let missing: Vec<AtomicU8> = donors
        .as_slice()
        .par_iter()
        .with_min_len(1 << 14)
        .map(|bits| AtomicU8::new(bits.count_ones() as u8))
        .collect();
    let sums: Vec<AtomicU32> =
        (0..cols * rows).into_par_iter().with_min_len(1 << 14).map(|_| AtomicU32::new(1)).collect();
    walk(ways, donors, &missing, |from, to| {
        sums[to].fetch_add(sums[from].load(Ordering::Relaxed), Ordering::Relaxed);
    });
    let sums = sums.into_par_iter().with_min_len(1 << 14).map(AtomicU32::into_inner).collect();
    // As long as the ways are, by construction.
    Raster::from_vec(cols, rows, sums).unwrap_or_else(|| Raster::filled(cols, rows, 1))
}

/// As [`cells`], each cell counting as much as `own` says. Whole numbers, so that sums are the same in any order and what
/// comes in at a junction is what goes out.
#[must_use]
pub fn sums(ways: &Ways, donors: &Raster<u8>, own: impl Fn(usize) -> u64 + Sync) -> Raster<u64> {
    let (cols, rows) = (ways.0.cols(), ways.0.rows());
    let missing: Vec<AtomicU8> = donors
        .as_slice()
        .par_iter()
        .with_min_len(1 << 14)
        .map(|bits| AtomicU8::new(bits.count_ones() as u8))
        .collect();
    let sums: Vec<AtomicU64> = (0..cols * rows)
        .into_par_iter()
        .with_min_len(1 << 14)
        .map(|cell| AtomicU64::new(own(cell)))
        .collect();
    walk(ways, donors, &missing, |from, to| {
        sums[to].fetch_add(sums[from].load(Ordering::Relaxed), Ordering::Relaxed);
    });
    let sums = sums.into_par_iter().with_min_len(1 << 14).map(AtomicU64::into_inner).collect();
    // As long as the ways are, by construction.
    Raster::from_vec(cols, rows, sums).unwrap_or_else(|| Raster::filled(cols, rows, 0))
}

/// Calls `hand_on(cell, next)` for every cell that drains to another, after all that drain to the cell were handed on.
fn walk(ways: &Ways, donors: &Raster<u8>, missing: &[AtomicU8], hand_on: impl Fn(usize, usize) + Sync) {
    let cols = ways.0.cols();
    donors.as_slice().par_chunks(cols * 8).enumerate().for_each(|(block, bits)| {
        for (i, &bits) in bits.iter().enumerate() {
            if bits != 0 {
                continue;
            }
            let mut at = block * cols * 8 + i;
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
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drainage::drainage;
    use crate::trial;
    use orogen_core::Ctx;

    #[test]
    fn areas_are_those_counted_one_cell_at_a_time() {
        let (cols, rows) = (93, 120);
        let ways = drainage(&trial::rough(cols, rows), [5.0, 5.0], 12.0, &Ctx::silent()).unwrap().ways;
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
