//! How much drains through each cell.

use std::sync::atomic::{AtomicU8, AtomicU32, Ordering};

use orogen_core::Raster;
use rayon::prelude::*;

use super::ways::{Ways, step};

/// Cells that drain through each cell, itself included. The ways must not go round in circles.
///
/// Threads walk down from the springs and stop where other donors are still missing; whoever comes last goes on. Whole
/// numbers add up to the same in any order. Moves about 20 bytes a cell.
#[must_use]
pub fn cells(ways: &Ways) -> Raster<u32> {
    let (cols, rows) = (ways.0.cols(), ways.0.rows());
    let donors = ways.donors();
    let missing: Vec<AtomicU8> = donors
        .as_slice()
        .par_iter()
        .with_min_len(1 << 14)
        .map(|bits| AtomicU8::new(bits.count_ones() as u8))
        .collect();
    let sums: Vec<AtomicU32> =
        (0..cols * rows).into_par_iter().with_min_len(1 << 14).map(|_| AtomicU32::new(1)).collect();
    walk(ways, &donors, &missing, |from, to| {
        sums[to].fetch_add(sums[from].load(Ordering::Relaxed), Ordering::Relaxed);
    });
    let sums = sums.into_par_iter().with_min_len(1 << 14).map(AtomicU32::into_inner).collect();
    // As long as the ways are, by construction.
    Raster::from_vec(cols, rows, sums).unwrap_or_else(|| Raster::filled(cols, rows, 1))
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

/// The sum of weights of all cells that drain through each cell, itself included, in the order of the ways, so that
/// rounding does not depend on threads.
#[must_use]
pub fn sums(ways: &Ways, weights: &Raster<f32>) -> Raster<f32> {
    let (cols, rows) = (ways.0.cols(), ways.0.rows());
    let donors = ways.donors();
    let missing: Vec<AtomicU8> = donors
        .as_slice()
        .par_iter()
        .with_min_len(1 << 14)
        .map(|bits| AtomicU8::new(bits.count_ones() as u8))
        .collect();
    let sums: Vec<AtomicU32> =
        weights.as_slice().par_iter().with_min_len(1 << 14).map(|w| AtomicU32::new(w.to_bits())).collect();
    let at = |cell: usize| f32::from_bits(sums[cell].load(Ordering::Relaxed));
    walk(ways, &donors, &missing, |from, _| {
        let bits = donors.as_slice()[from];
        let mut sum = f64::from(at(from));
        for way in (0..8).filter(|way| bits >> way & 1 == 1) {
            sum += f64::from(at(step(from, way, cols)));
        }
        sums[from].store((sum as f32).to_bits(), Ordering::Relaxed);
    });
    // Outlets hand nothing on: theirs is still to be added up.
    let mut out = Raster::from_fn(cols, rows, |col, row| at(row * cols + col));
    out.par_rows(|row, values| {
        for (col, value) in values.iter_mut().enumerate() {
            let cell = row * cols + col;
            if ways.next(cell).is_none() {
                let bits = donors.as_slice()[cell];
                let mut sum = f64::from(at(cell));
                for way in (0..8).filter(|way| bits >> way & 1 == 1) {
                    sum += f64::from(at(step(cell, way, cols)));
                }
                *value = sum as f32;
            }
        }
    });
    out
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
        let fast = cells(&ways);
        let wrong = (0..cols * rows).find(|&cell| fast.as_slice()[cell] != slow[cell]);
        assert_eq!(wrong.map(|cell| (cell, fast.as_slice()[cell], slow[cell])), None);
        let ones = sums(&ways, &Raster::filled(cols, rows, 1.0));
        assert!(ones.as_slice().iter().zip(&slow).all(|(a, &b)| *a == b as f32));
    }
}
