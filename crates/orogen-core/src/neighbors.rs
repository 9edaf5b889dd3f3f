//! The eight neighbours of a cell, in one fixed order.

use crate::raster::Cell;

/// Steps to the eight neighbours as (column, row), clockwise from north.
pub const D8: [(i32, i32); 8] = [(0, -1), (1, -1), (1, 0), (1, 1), (0, 1), (-1, 1), (-1, 0), (-1, -1)];

/// A neighbour that lies inside the grid.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Neighbor {
    /// Where it is.
    pub cell: Cell,
    /// Distance in cell widths: 1 or the root of 2.
    pub dist: f32,
}

/// The neighbours of `cell` that lie inside a grid of `cols` by `rows`, in the order of [`D8`].
pub(crate) fn neighbors8(cell: Cell, cols: usize, rows: usize) -> impl Iterator<Item = Neighbor> {
    D8.into_iter().filter_map(move |(dc, dr)| {
        let col = cell.col.checked_add_signed(dc as isize)?;
        let row = cell.row.checked_add_signed(dr as isize)?;
        let dist = if dc != 0 && dr != 0 { std::f32::consts::SQRT_2 } else { 1.0 };
        (col < cols && row < rows).then_some(Neighbor { cell: Cell { col, row }, dist })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn corners_have_three_and_the_middle_has_eight() {
        assert_eq!(neighbors8(Cell { col: 0, row: 0 }, 3, 3).count(), 3);
        assert_eq!(neighbors8(Cell { col: 1, row: 1 }, 3, 3).count(), 8);
        assert_eq!(neighbors8(Cell { col: 0, row: 0 }, 1, 1).count(), 0);
    }
}
