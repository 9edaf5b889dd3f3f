//! Rivers that would have to climb.

use orogen_core::{Ctx, OpError, Raster};

use super::{Fault, Faults, Kind, distance_m, place};
use crate::drainage::area::cells;
use crate::drainage::{Bits, Ways, neighbours_of};

/// Where the ways of rivers over the model climb, on their way out of a depression. The ways lead off the map.
pub fn find(
    height: &Raster<f32>,
    spacing_m: [f64; 2],
    ways: &Ways,
    params: &Faults,
    ctx: &Ctx<'_>,
) -> Result<Vec<Fault>, OpError> {
    let (cols, rows) = (height.cols(), height.rows());
    let heights = height.as_slice();
    let drained = cells(ways, &ways.donors());
    let enough = params.river_m2 / (spacing_m[0] * spacing_m[1]);
    let is_river = |cell: usize| f64::from(drained.as_slice()[cell]) >= enough;
    let climbs = |cell: usize| ways.next(cell).is_some_and(|next| heights[next] > heights[cell]);
    // Where a river starts to climb: nothing climbs into it.
    let mut starts: Vec<usize> = (0..heights.len())
        .filter(|&cell| is_river(cell) && climbs(cell))
        .filter(|&cell| {
            let mut donors = neighbours_of(cell, cols, rows).filter(|&from| ways.next(from) == Some(cell));
            !donors.any(|from| is_river(from) && climbs(from))
        })
        .collect();
    // The lowest first, so that a climb within a greater one is passed over.
    starts.sort_by(|&a, &b| heights[a].total_cmp(&heights[b]).then(a.cmp(&b)));
    let mut covered = Bits::of(heights.len(), |_| false);
    let mut found = Vec::new();
    for start in starts {
        ctx.tick(1, 2)?;
        if covered.has(start) {
            continue;
        }
        let (mut top, mut length_m, mut top_length_m) = (start, 0.0, 0.0);
        let mut cell = start;
        while let Some(next) = ways.next(cell) {
            length_m += distance_m(place(cell, cols), place(next, cols), spacing_m);
            // At a hole or the sea the water is gone.
            let still_above = heights[next] > heights[start];
            if !still_above {
                break;
            }
            if heights[next] > heights[top] {
                (top, top_length_m) = (next, length_m);
            }
            covered.insert(next);
            cell = next;
        }
        let size_m = f64::from(heights[top]) - f64::from(heights[start]);
        if size_m >= params.least_m {
            found.push(Fault {
                kind: Kind::RisingRiver,
                at: place(start, cols),
                to: place(top, cols),
                size_m,
                length_m: top_length_m,
                area_m2: 0.0,
            });
        }
    }
    Ok(found)
}

/// Where heights along a river climb by at least so much, as pairs of indices: the low before it and the top. A river runs
/// from its higher end to its lower one; NaN is passed over.
#[must_use]
pub fn rises_along(heights_m: &[f32], least_m: f64) -> Vec<[usize; 2]> {
    let known: Vec<usize> = (0..heights_m.len()).filter(|&i| !heights_m[i].is_nan()).collect();
    let upside_down = match known[..] {
        [first, .., last] => heights_m[last] > heights_m[first],
        _ => return Vec::new(),
    };
    let order: Vec<usize> = if upside_down { known.into_iter().rev().collect() } else { known };
    let mut rises = Vec::new();
    let (mut low, mut top) = (order[0], order[0]);
    let mut keep = |low: usize, top: usize| {
        if f64::from(heights_m[top]) - f64::from(heights_m[low]) >= least_m {
            rises.push([low, top]);
        }
    };
    for i in order {
        if heights_m[i] <= heights_m[low] {
            keep(low, top);
            (low, top) = (i, i);
        } else if heights_m[i] > heights_m[top] {
            top = i;
        }
    }
    keep(low, top);
    rises
}
