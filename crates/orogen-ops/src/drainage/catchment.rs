//! Which outlet each cell drains to.

use orogen_core::Raster;

use super::ways::Ways;

/// Not yet followed.
const FRESH: u32 = u32::MAX;

/// The number of the first numbered cell on the way down from each cell, its own included; 0 when there is none. The ways
/// must not go round in circles. 8 bytes a cell.
#[must_use]
pub fn catchments(ways: &Ways, number: impl Fn(usize) -> Option<u32>) -> Raster<u32> {
    let (cols, rows) = (ways.0.cols(), ways.0.rows());
    let mut labels = Raster::filled(cols, rows, FRESH);
    let cells = labels.as_mut_slice();
    let mut path = Vec::new();
    for start in 0..cells.len() {
        let mut at = start;
        let label = loop {
            if cells[at] != FRESH {
                break cells[at];
            }
            path.push(at as u32);
            if let Some(label) = number(at) {
                break label;
            }
            match ways.next(at) {
                Some(next) => at = next,
                None => break 0,
            }
        };
        for cell in path.drain(..) {
            cells[cell as usize] = label;
        }
    }
    labels
}

/// The cell of the most drained area within a distance of a place; of several the nearest, then the first. Only cells that `may`
/// are taken; the cell at the place itself is, if no other is.
#[must_use]
pub fn snap(
    area: &Raster<u32>,
    spacing_m: [f64; 2],
    [col, row]: [usize; 2],
    radius_m: f64,
    may: impl Fn(usize) -> bool,
) -> usize {
    let (cols, rows) = (area.cols(), area.rows());
    let reach = |spacing: f64, most: usize| (radius_m / spacing).floor().clamp(0.0, most as f64) as usize;
    let (across, down) = (reach(spacing_m[0], cols), reach(spacing_m[1], rows));
    let mut best = (0u32, f64::INFINITY, row * cols + col);
    for r in row.saturating_sub(down)..=(row + down).min(rows - 1) {
        for c in col.saturating_sub(across)..=(col + across).min(cols - 1) {
            let (x, y) = (c.abs_diff(col) as f64 * spacing_m[0], r.abs_diff(row) as f64 * spacing_m[1]);
            let (cell, apart) = (r * cols + c, (x * x + y * y).sqrt());
            let drained = area.as_slice()[cell];
            let better = drained > best.0 || (drained == best.0 && apart < best.1);
            if apart <= radius_m && better && may(cell) {
                best = (drained, apart, cell);
            }
        }
    }
    best.2
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drainage::{area, drainage};
    use crate::test_support;
    use orogen_core::Ctx;

    #[test]
    fn a_catchment_has_as_many_cells_as_drain_through_its_outlet() {
        let found =
            drainage(&test_support::rough(80, 60), [10.0, 10.0], f32::NEG_INFINITY, &Ctx::silent()).unwrap();
        let area = area::cells(&found.ways, &found.ways.donors());
        for outlet in [1234, 40 * 80 + 40, 79] {
            let labels = catchments(&found.ways, |cell| (cell == outlet).then_some(1));
            let count: u32 = labels.as_slice().iter().sum();
            assert_eq!(count, area.as_slice()[outlet]);
        }
    }

    #[test]
    fn places_move_to_the_largest_river_near_them() {
        let area = Raster::from_fn(9, 9, |col, row| match (col, row) {
            (6, 4) => 90,
            (2, 4) => 90,
            (0, 0) => 500,
            _ => 1,
        });
        let all = |_: usize| true;
        assert_eq!(snap(&area, [10.0, 10.0], [4, 4], 25.0, all), 4 * 9 + 2);
        assert_eq!(snap(&area, [10.0, 10.0], [5, 4], 25.0, all), 4 * 9 + 6);
        assert_eq!(snap(&area, [10.0, 10.0], [4, 4], 0.0, all), 4 * 9 + 4);
        assert_eq!(snap(&area, [10.0, 10.0], [4, 4], 1e9, all), 0);
        assert_eq!(snap(&area, [10.0, 10.0], [4, 4], 1e9, |_| false), 4 * 9 + 4);
    }
}
