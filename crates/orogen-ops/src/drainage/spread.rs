//! Drained area where water spreads over several neighbours.
//!
//! Each cell hands on whole numbers of parts of a cell, and what rounding leaves goes to its steepest neighbour: sums do not
//! depend on the order in which threads arrive, and no water is lost.

use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};

use orogen_core::{Cancelled, Ctx, D8, Raster, math};
use rayon::prelude::*;

use super::Drainage;
use super::area::PARTS;
use super::ways::{NOWHERE, back, step};

/// How a cell shares its water out among lower neighbours.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Sharing {
    /// Tarboton 1997: down the steepest of eight facets, between the two neighbours that span it.
    Facet,
    /// Freeman 1991, with the widths of Quinn et al. 1991: to all lower neighbours, by slope to a power.
    Slopes(f64),
}

/// Area that drains through each cell, in cells, itself included; a cell counts for as many [`PARTS`] as `own` says. On dry slopes water is shared out; through lakes and
/// over flats it follows the ways of the drainage.
///
/// # Errors
/// When cancelled.
pub fn cells(
    height: &Raster<f32>,
    drainage: &Drainage,
    spacing_m: [f64; 2],
    sharing: Sharing,
    own: impl Fn(usize) -> u64 + Sync,
    ctx: &Ctx<'_>,
) -> Result<Raster<f32>, Cancelled> {
    let (cols, rows) = (height.cols(), height.rows());
    let mut filled = height.clone();
    drainage.basins.fill(&mut filled);
    let slopes = Slopes { filled: &filled, ways: &drainage.ways.0, spacing_m, sharing };
    let receivers = Raster::from_fn(cols, rows, |col, row| {
        let shares = slopes.shares(col, row);
        (0..8).fold(0u8, |bits, k| bits | u8::from(shares[k] > 0.0) << k)
    });
    ctx.tick(3, 4)?;
    let missing: Vec<AtomicU8> = (0..cols * rows)
        .into_par_iter()
        .with_min_len(1 << 12)
        .map(|cell| AtomicU8::new(donors(&receivers, cell).count_ones() as u8))
        .collect();
    let springs: Vec<u32> = (0..cols * rows)
        .into_par_iter()
        .with_min_len(1 << 12)
        .filter(|&cell| missing[cell].load(Ordering::Relaxed) == 0)
        .map(|cell| cell as u32)
        .collect();
    let sums: Vec<AtomicU64> = (0..cols * rows)
        .into_par_iter()
        .with_min_len(1 << 12)
        .map(|cell| AtomicU64::new(own(cell)))
        .collect();
    springs.par_chunks(256).for_each(|springs| {
        let mut stack = Vec::new();
        for &spring in springs {
            stack.push(spring as usize);
            while let Some(cell) = stack.pop() {
                if receivers.as_slice()[cell] == 0 {
                    continue;
                }
                let sum = sums[cell].load(Ordering::Relaxed);
                let given = parts(sum, &slopes.shares(cell % cols, cell / cols));
                for (way, &part) in given.iter().enumerate() {
                    if receivers.as_slice()[cell] >> way & 1 == 0 {
                        continue;
                    }
                    let next = step(cell, way as u8, cols);
                    sums[next].fetch_add(part, Ordering::Relaxed);
                    // Acquire and release: the last donor sees what the others handed on.
                    if missing[next].fetch_sub(1, Ordering::AcqRel) == 1 {
                        stack.push(next);
                    }
                }
            }
        }
    });
    ctx.tick(4, 4)?;
    Ok(Raster::from_fn(cols, rows, |col, row| {
        (sums[row * cols + col].load(Ordering::Relaxed) as f64 / PARTS as f64) as f32
    }))
}

/// Whole parts of a sum by shares that add up to 1; the largest share takes what rounding leaves.
fn parts(sum: u64, shares: &[f32; 8]) -> [u64; 8] {
    let mut parts = shares.map(|share| (sum as f64 * f64::from(share)) as u64);
    let most = (0..8).fold(0, |most, k| if shares[k] > shares[most] { k } else { most });
    let others: u64 = (0..8).filter(|&k| k != most).map(|k| parts[k]).sum();
    parts[most] = sum.saturating_sub(others);
    parts
}

/// Which neighbours give to a cell.
fn donors(receivers: &Raster<u8>, cell: usize) -> u8 {
    let (cols, rows) = (receivers.cols(), receivers.rows());
    let (col, row) = (cell % cols, cell / cols);
    let mut bits = 0;
    for (k, &(dc, dr)) in D8.iter().enumerate() {
        let (col, row) = (col.wrapping_add_signed(dc as isize), row.wrapping_add_signed(dr as isize));
        if col < cols && row < rows {
            bits |= (receivers.row(row)[col] >> back(k as u8) & 1) << k;
        }
    }
    bits
}

struct Slopes<'a> {
    filled: &'a Raster<f32>,
    ways: &'a Raster<u8>,
    spacing_m: [f64; 2],
    sharing: Sharing,
}

impl Slopes<'_> {
    /// The share of each neighbour; none where water leaves the map.
    fn shares(&self, col: usize, row: usize) -> [f32; 8] {
        let mut shares = [0.0; 8];
        let way = self.ways.row(row)[col];
        if way == NOWHERE {
            return shares;
        }
        let here = f64::from(self.filled.row(row)[col]);
        // How far each neighbour lies below; holes and what is beyond the map count as level.
        let drops = D8.map(|(dc, dr)| {
            let (col, row) = (col.wrapping_add_signed(dc as isize), row.wrapping_add_signed(dr as isize));
            if col >= self.filled.cols() || row >= self.filled.rows() {
                return 0.0;
            }
            let drop = here - f64::from(self.filled.row(row)[col]);
            if drop.is_nan() { 0.0 } else { drop }
        });
        let weights = match self.sharing {
            Sharing::Facet => self.facet(&drops),
            Sharing::Slopes(power) => self.slopes(&drops, power),
        };
        let sum: f64 = weights.iter().sum();
        if sum > 0.0 {
            return std::array::from_fn(|k| (weights[k] / sum) as f32);
        }
        shares[way as usize] = 1.0;
        shares
    }

    fn slopes(&self, drops: &[f64; 8], power: f64) -> [f64; 8] {
        let [dx, dy] = self.spacing_m;
        std::array::from_fn(|k| {
            let (dc, dr) = D8[k];
            let length = math::hypot(f64::from(dc) * dx, f64::from(dr) * dy);
            // Half the side for a neighbour across it, the slanted quarter for one across a corner.
            let width = match (dc, dr) {
                (0, _) => dx / 2.0,
                (_, 0) => dy / 2.0,
                _ => math::hypot(dx, dy) / 4.0,
            };
            if drops[k] > 0.0 { width * math::pow(drops[k] / length, power) } else { 0.0 }
        })
    }

    fn facet(&self, drops: &[f64; 8]) -> [f64; 8] {
        let [dx, dy] = self.spacing_m;
        let (mut best, mut weights) = (0.0, [0.0; 8]);
        for straight in [0usize, 2, 4, 6] {
            let (along, across) = if straight % 4 == 0 { (dy, dx) } else { (dx, dy) };
            for slanted in [(straight + 1) % 8, (straight + 7) % 8] {
                // Slopes along the straight side and from its end to the corner.
                let s1 = drops[straight] / along;
                let s2 = (drops[slanted] - drops[straight]) / across;
                let corner = math::atan2(across, along);
                let angle = math::atan2(s2, s1);
                let (slope, angle) = if angle <= 0.0 {
                    (s1, 0.0)
                } else if angle >= corner {
                    (drops[slanted] / math::hypot(along, across), corner)
                } else {
                    (math::hypot(s1, s2), angle)
                };
                if slope > best {
                    best = slope;
                    weights = [0.0; 8];
                    // Only what lies lower takes water: a facet can slope down past a neighbour that does not.
                    let to_corner = if drops[slanted] > 0.0 { angle / corner } else { 0.0 };
                    let to_side = if drops[straight] > 0.0 { 1.0 - angle / corner } else { 0.0 };
                    (weights[straight], weights[slanted]) = (to_side, to_corner);
                }
            }
        }
        weights
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drainage::drainage;
    use crate::test_support;

    fn out(height: &Raster<f32>, sharing: Sharing) -> f64 {
        let drained = drainage(height, [10.0, 10.0], 20.0, &Ctx::silent()).unwrap();
        let area = cells(height, &drained, [10.0, 10.0], sharing, |_| PARTS, &Ctx::silent()).unwrap();
        let ends = drained.ways.0.as_slice().iter().zip(area.as_slice());
        ends.filter(|(way, _)| **way == NOWHERE).map(|(_, area)| f64::from(*area)).sum()
    }

    #[test]
    fn all_water_leaves_the_map() {
        let mut height = test_support::rough(120, 77);
        height.as_mut_slice()[4000] = f32::NAN;
        for sharing in [Sharing::Facet, Sharing::Slopes(1.1)] {
            let out = out(&height, sharing);
            assert!((out - 120.0 * 77.0).abs() < 0.5, "{sharing:?}: {out}");
        }
    }

    #[test]
    fn on_a_tilted_plane_facets_follow_the_slope_whatever_its_direction() {
        // From a cone's top water spreads evenly: the area drained across a circle is the same in all directions.
        let n = 201;
        let height = Raster::from_fn(n, n, |col, row| {
            let (x, y) = (col as f64 - 100.0, row as f64 - 100.0);
            -((x * x + y * y).sqrt()) as f32
        });
        let drained = drainage(&height, [1.0, 1.0], f32::NEG_INFINITY, &Ctx::silent()).unwrap();
        let mean = |sharing| {
            let area = cells(&height, &drained, [1.0, 1.0], sharing, |_| PARTS, &Ctx::silent()).unwrap();
            // Mean over a ring's eighths, which D8 would make differ by far.
            let mut sums = [0.0f64; 16];
            let mut counts = [0.0f64; 16];
            for row in 0..n {
                for col in 0..n {
                    let (x, y) = (col as f64 - 100.0, row as f64 - 100.0);
                    let r = (x * x + y * y).sqrt();
                    if (60.0..80.0).contains(&r) {
                        let sector = ((math::atan2(y, x) / std::f64::consts::TAU + 0.5) * 15.999) as usize;
                        sums[sector] += f64::from(area.row(row)[col]);
                        counts[sector] += 1.0;
                    }
                }
            }
            let means: Vec<f64> = sums.iter().zip(&counts).map(|(s, c)| s / c).collect();
            means.iter().fold(0f64, |a, &b| a.max(b)) / means.iter().fold(f64::MAX, |a, &b| a.min(b))
        };
        assert!(mean(Sharing::Facet) < 1.1, "{}", mean(Sharing::Facet));
        assert!(mean(Sharing::Slopes(1.1)) < 1.1, "{}", mean(Sharing::Slopes(1.1)));
    }
}
