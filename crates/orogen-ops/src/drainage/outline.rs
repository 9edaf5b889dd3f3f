//! Outlines of numbered regions, along the edges between cells.

use orogen_core::Raster;

/// A piece of a region whose cells join along their sides.
#[derive(Clone, Debug, PartialEq)]
pub struct Piece {
    /// The number of its region.
    pub label: u32,
    /// How many cells it has.
    pub cells: usize,
    /// Its outer ring, counter-clockwise, then its holes, clockwise; corners as columns and rows, half-way between cells.
    pub rings: Vec<Vec<[f64; 2]>>,
}

/// Sides of a cell in the order in which an outline runs round it: along the south to the east, and so on.
const SOUTH: usize = 0;
/// Column and row of the step along a side.
const ALONG: [(isize, isize); 4] = [(1, 0), (0, -1), (-1, 0), (0, 1)];
/// Column and row of the step out over a side, which is to the right.
const OUT: [(isize, isize); 4] = [(0, 1), (1, 0), (0, -1), (-1, 0)];

/// The pieces of all regions but number 0, in the order of their first cells. Cells that meet at a corner only are different
/// pieces, so that rings never touch themselves. 10 bytes a cell.
#[must_use]
pub fn outlines(labels: &Raster<u32>) -> Vec<Piece> {
    let (cols, rows) = (labels.cols(), labels.rows());
    let (piece_of, mut pieces) = pieces(labels);
    let inside =
        |col: usize, row: usize, piece: u32| col < cols && row < rows && piece_of[row * cols + col] == piece;
    let mut walked = vec![0u8; cols * rows];
    for row in 0..rows {
        for col in 0..cols {
            let piece = piece_of[row * cols + col];
            if piece == NONE {
                continue;
            }
            for side in SOUTH..4 {
                let (dc, dr) = OUT[side];
                let border = !inside(col.wrapping_add_signed(dc), row.wrapping_add_signed(dr), piece);
                if border && walked[row * cols + col] >> side & 1 == 0 {
                    let ring = walk([col, row], side, cols, |c, r| inside(c, r, piece), &mut walked);
                    let rings = &mut pieces[piece as usize].rings;
                    // The outer ring is the one that runs counter-clockwise.
                    if turns_left(&ring) { rings.insert(0, ring) } else { rings.push(ring) }
                }
            }
        }
    }
    pieces
}

/// Follows an outline with its region on the left, from a side of a cell until it comes back.
fn walk(
    start: [usize; 2],
    first: usize,
    cols: usize,
    inside: impl Fn(usize, usize) -> bool,
    walked: &mut [u8],
) -> Vec<[f64; 2]> {
    let mut ring = Vec::new();
    let ([mut col, mut row], mut side) = (start, first);
    loop {
        walked[row * cols + col] |= 1 << side;
        let ((ac, ar), (oc, or)) = (ALONG[side], OUT[side]);
        let ahead = (col.wrapping_add_signed(ac), row.wrapping_add_signed(ar));
        let beside = (ahead.0.wrapping_add_signed(oc), ahead.1.wrapping_add_signed(or));
        let corner = [col as f64 + 0.5 * (ac + oc) as f64, row as f64 + 0.5 * (ar + or) as f64];
        if !inside(ahead.0, ahead.1) {
            ring.push(corner);
            side = (side + 1) % 4;
        } else if inside(beside.0, beside.1) {
            ring.push(corner);
            (col, row) = beside;
            side = (side + 3) % 4;
        } else {
            (col, row) = ahead;
        }
        if ([col, row], side) == (start, first) {
            return ring;
        }
    }
}

/// Whether a ring runs counter-clockwise, rows counting southwards.
fn turns_left(ring: &[[f64; 2]]) -> bool {
    let doubled: f64 = (0..ring.len())
        .map(|i| {
            let ([x0, y0], [x1, y1]) = (ring[i], ring[(i + 1) % ring.len()]);
            x1 * y0 - x0 * y1
        })
        .sum();
    doubled > 0.0
}

const NONE: u32 = u32::MAX;

/// The piece of each cell, and the pieces without their rings.
fn pieces(labels: &Raster<u32>) -> (Vec<u32>, Vec<Piece>) {
    let (cols, rows) = (labels.cols(), labels.rows());
    let mut piece_of = vec![NONE; cols * rows];
    let mut pieces: Vec<Piece> = Vec::new();
    let mut stack = Vec::new();
    for start in 0..cols * rows {
        let label = labels.as_slice()[start];
        if label == 0 || piece_of[start] != NONE {
            continue;
        }
        let number = pieces.len() as u32;
        let mut cells = 0;
        piece_of[start] = number;
        stack.push(start);
        while let Some(cell) = stack.pop() {
            cells += 1;
            let (col, row) = (cell % cols, cell / cols);
            for (dc, dr) in OUT {
                let (col, row) = (col.wrapping_add_signed(dc), row.wrapping_add_signed(dr));
                if col >= cols || row >= rows {
                    continue;
                }
                let other = row * cols + col;
                if labels.as_slice()[other] == label && piece_of[other] == NONE {
                    piece_of[other] = number;
                    stack.push(other);
                }
            }
        }
        pieces.push(Piece { label, cells, rings: Vec::new() });
    }
    (piece_of, pieces)
}

#[cfg(test)]
mod tests {
    use super::*;
    use orogen_core::Seed;

    fn area(ring: &[[f64; 2]]) -> f64 {
        let doubled: f64 = (0..ring.len())
            .map(|i| {
                let ([x0, y0], [x1, y1]) = (ring[i], ring[(i + 1) % ring.len()]);
                x1 * y0 - x0 * y1
            })
            .sum();
        0.5 * doubled
    }

    #[test]
    fn a_frame_with_a_hole_and_an_island_in_it() {
        let labels = Raster::from_fn(7, 5, |col, row| match (col, row) {
            (3, 2) => 1,
            (2..=4, 1..=3) => 0,
            (1..=5, _) => 1,
            _ => 0,
        });
        let pieces = outlines(&labels);
        assert_eq!(pieces.len(), 2);
        assert_eq!((pieces[0].cells, pieces[0].rings.len()), (16, 2));
        assert_eq!(pieces[0].rings[0], [[0.5, -0.5], [0.5, 4.5], [5.5, 4.5], [5.5, -0.5]]);
        assert_eq!(area(&pieces[0].rings[0]), 25.0);
        assert_eq!(area(&pieces[0].rings[1]), -9.0);
        assert_eq!(pieces[1].rings, [[[3.5, 2.5], [3.5, 1.5], [2.5, 1.5], [2.5, 2.5]]]);
    }

    #[test]
    fn rings_enclose_as_many_cells_as_there_are() {
        let labels = Raster::from_fn(60, 45, |col, row| (3.0 * Seed(4).unit2(col as i64, row as i64)) as u32);
        let pieces = outlines(&labels);
        for piece in &pieces {
            assert!(area(&piece.rings[0]) > 0.0 && piece.rings[1..].iter().all(|ring| area(ring) < 0.0));
            assert_eq!(piece.rings.iter().map(|ring| area(ring)).sum::<f64>(), piece.cells as f64);
        }
        let cells: usize = pieces.iter().map(|piece| piece.cells).sum();
        assert_eq!(cells, labels.as_slice().iter().filter(|label| **label > 0).count());
        assert!(outlines(&Raster::filled(1, 1, 0)).is_empty());
    }
}
