//! Lakes whose surface is not level.

use orogen_core::Raster;

use super::{Fault, Faults, Kind, place};
use crate::drainage::{Bits, neighbours_of};

/// How far from a plane water may be, in metres: what rounding leaves of it.
const SMOOTH_M: f32 = 0.01;
/// The steepest that a surface may be to be taken for water that was meant to be level.
const STEEPEST: f64 = 0.01;
/// Samples of the smallest lake.
const FEWEST: usize = 25;
/// Share of the ground around a lake that is higher than it.
const SHUT_IN: f64 = 0.9;

/// Smooth surfaces shut in by higher ground that are not level.
pub fn find(height: &Raster<f32>, spacing_m: [f64; 2], params: &Faults) -> Vec<Fault> {
    let (cols, rows) = (height.cols(), height.rows());
    let heights = height.as_slice();
    let smooth = smooth(height, spacing_m, params.sea_m);
    let mut seen = Bits::of(heights.len(), |_| false);
    // The lake that each sample was last counted to.
    let mut in_lake = vec![0u32; heights.len()];
    let mut lakes = Vec::new();
    for first in 0..heights.len() {
        if smooth.as_slice()[first] == 0 || seen.has(first) {
            continue;
        }
        let number = first as u32 + 1;
        let mut cells = vec![first];
        seen.insert(first);
        let mut done = 0;
        while let Some(&cell) = cells.get(done) {
            done += 1;
            for next in neighbours_of(cell, cols, rows) {
                if smooth.as_slice()[next] > 0 && !seen.has(next) {
                    seen.insert(next);
                    cells.push(next);
                }
            }
        }
        if cells.len() < FEWEST {
            continue;
        }
        let (mut low, mut high) = (first, first);
        for &cell in &cells {
            low = if heights[cell] < heights[low] { cell } else { low };
            high = if heights[cell] > heights[high] { cell } else { high };
        }
        let size_m = f64::from(heights[high]) - f64::from(heights[low]);
        if size_m < params.least_m {
            continue;
        }
        // All eight samples around a smooth one lie on its plane, so they are water too: the outermost of these have the
        // shore beside them and are not smooth themselves.
        let mut water = Vec::with_capacity(cells.len());
        for &cell in &cells {
            for next in std::iter::once(cell).chain(neighbours_of(cell, cols, rows)) {
                if in_lake[next] != number {
                    in_lake[next] = number;
                    water.push(next);
                }
            }
        }
        // What lies beyond the edge of the model shuts nothing in.
        let (mut sides, mut higher) = (0usize, 0usize);
        for &cell in &water {
            sides += 8;
            for next in neighbours_of(cell, cols, rows) {
                sides -= usize::from(in_lake[next] == number);
                higher += usize::from(in_lake[next] != number && heights[next] > heights[cell] + SMOOTH_M);
            }
        }
        if sides > 0 && higher as f64 >= SHUT_IN * sides as f64 {
            lakes.push(Fault {
                kind: Kind::SlopingLake,
                at: place(high, cols),
                to: place(low, cols),
                size_m,
                length_m: 0.0,
                area_m2: water.len() as f64 * spacing_m[0] * spacing_m[1],
            });
        }
    }
    lakes
}

/// 1 where the ground around a sample is a plane that is all but level, else 0.
fn smooth(height: &Raster<f32>, [dx, dy]: [f64; 2], sea_m: f32) -> Raster<u8> {
    let (cols, rows) = (height.cols(), height.rows());
    let mut smooth = Raster::filled(cols, rows, 0u8);
    if cols < 3 || rows < 3 {
        return smooth;
    }
    smooth.par_rows(|row, out| {
        if row == 0 || row == rows - 1 {
            return;
        }
        let (north, here, south) = (height.row(row - 1), height.row(row), height.row(row + 1));
        for col in 1..cols - 1 {
            let h = here[col];
            let (east, up) = (0.5 * (here[col + 1] - here[col - 1]), 0.5 * (north[col] - south[col]));
            let (x, y) = (f64::from(east) / dx, f64::from(up) / dy);
            // A hole is neither: comparisons with it are false.
            let may_be_water = h > sea_m && x * x + y * y <= STEEPEST * STEEPEST;
            if !may_be_water {
                continue;
            }
            let is_near = |found: f32, wanted: f32| (found - wanted).abs() <= SMOOTH_M;
            let plane = is_near(here[col + 1], h + east)
                && is_near(here[col - 1], h - east)
                && is_near(north[col], h + up)
                && is_near(south[col], h - up)
                && is_near(north[col + 1], h + east + up)
                && is_near(north[col - 1], h - east + up)
                && is_near(south[col + 1], h + east - up)
                && is_near(south[col - 1], h - east - up);
            out[col] = u8::from(plane);
        }
    });
    smooth
}
