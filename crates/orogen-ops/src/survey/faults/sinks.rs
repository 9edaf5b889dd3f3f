//! Ground without a way down.

use orogen_core::Raster;

use super::{Fault, Faults, Kind, place};
use crate::drainage::{Basins, Bits, neighbours_of};

/// Every connected piece of ground below the level at which water would stand on it.
pub fn find(height: &Raster<f32>, [dx, dy]: [f64; 2], basins: &Basins, params: &Faults) -> Vec<Fault> {
    let (cols, rows) = (height.cols(), height.rows());
    let heights = height.as_slice();
    // A hole has no level above it: the comparison is false.
    let is_under = |cell: usize| heights[cell] < basins.level(cell);
    let mut seen = Bits::of(heights.len(), |_| false);
    let mut sinks = Vec::new();
    let mut stack = Vec::new();
    for first in 0..heights.len() {
        if !is_under(first) || seen.has(first) {
            continue;
        }
        seen.insert(first);
        stack.push(first);
        let (mut lowest, mut cells, mut depth_m) = (first, 0usize, 0.0);
        while let Some(cell) = stack.pop() {
            cells += 1;
            let here = (heights[cell], cell);
            if here.0 < heights[lowest] || here.0 == heights[lowest] && cell < lowest {
                lowest = cell;
            }
            depth_m = f64::max(depth_m, f64::from(basins.level(cell)) - f64::from(heights[cell]));
            for next in neighbours_of(cell, cols, rows) {
                if is_under(next) && !seen.has(next) {
                    seen.insert(next);
                    stack.push(next);
                }
            }
        }
        if depth_m >= params.least_m {
            let at = place(lowest, cols);
            let area_m2 = cells as f64 * dx * dy;
            sinks.push(Fault { kind: Kind::Sink, at, to: at, size_m: depth_m, length_m: 0.0, area_m2 });
        }
    }
    sinks
}
