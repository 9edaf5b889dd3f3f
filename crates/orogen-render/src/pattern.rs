//! The triangles of a tile: sixteen patterns, one for each set of sides whose neighbour is one level coarser.
//!
//! ```text
//! a coarser neighbour in the north leaves out every other vertex of that side:
//!
//!   *-------*-------*          *---*---*---*---*
//!   | \   / | \   / |          | \ | / | \ | / |
//!   *---*---*---*---*          *---*---*---*---*
//! ```

/// Sides of a tile, as bits of a pattern's number.
pub const NORTH: usize = 1;
/// The eastern side.
pub const EAST: usize = 2;
/// The southern side.
pub const SOUTH: usize = 4;
/// The western side.
pub const WEST: usize = 8;

/// The indices of a tile of `n` by `n` quads, `n` even, whose vertices run row by row from the north-west. Triangles turn
/// counter-clockwise seen from above.
#[must_use]
pub fn indices(n: usize, coarser: usize) -> Vec<u16> {
    let vertex = |col: usize, row: usize| {
        // What the neighbour does not have falls onto the vertex before it.
        let on = |side: usize, at: bool| coarser & side != 0 && at;
        let col = if on(NORTH, row == 0) || on(SOUTH, row == n) { col & !1 } else { col };
        let row = if on(WEST, col == 0) || on(EAST, col == n) { row & !1 } else { row };
        (row * (n + 1) + col) as u16
    };
    let mut out = Vec::with_capacity(6 * n * n);
    for row in 0..n {
        for col in 0..n {
            let [nw, ne] = [vertex(col, row), vertex(col + 1, row)];
            let [sw, se] = [vertex(col, row + 1), vertex(col + 1, row + 1)];
            // The diagonal ends on the corner that coarser neighbours have too.
            let halves = if (row + col) % 2 == 0 {
                [[nw, sw, se], [nw, se, ne]]
            } else {
                [[nw, sw, ne], [ne, sw, se]]
            };
            for triangle in halves {
                let [a, b, c] = triangle;
                if a != b && b != c && c != a {
                    out.extend(triangle);
                }
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    const N: usize = 8;

    fn place(index: u16) -> [i64; 2] {
        [i64::from(index) % (N as i64 + 1), i64::from(index) / (N as i64 + 1)]
    }

    #[test]
    fn every_pattern_covers_the_tile_once_and_turns_one_way() {
        for coarser in 0..16 {
            let mut area = 0;
            for triangle in indices(N, coarser).chunks_exact(3) {
                let [a, b, c] = [0, 1, 2].map(|i| place(triangle[i]));
                let twice = (b[1] - a[1]) * (c[0] - a[0]) - (b[0] - a[0]) * (c[1] - a[1]);
                assert!(twice > 0, "{coarser}: {a:?} {b:?} {c:?}");
                area += twice;
            }
            assert_eq!(area, 2 * (N * N) as i64, "{coarser}");
        }
    }

    #[test]
    fn sides_have_exactly_the_vertices_that_both_neighbours_have() {
        for coarser in 0..16 {
            let mut edges: BTreeMap<(u16, u16), i32> = BTreeMap::new();
            for triangle in indices(N, coarser).chunks_exact(3) {
                for i in 0..3 {
                    let (a, b) = (triangle[i], triangle[(i + 1) % 3]);
                    // What two triangles share is passed once each way.
                    *edges.entry((a.min(b), a.max(b))).or_default() += if a < b { 1 } else { -1 };
                }
            }
            let outer: Vec<_> = edges.iter().filter(|(_, sum)| **sum != 0).map(|(edge, _)| edge).collect();
            for (side, axis, at) in [(NORTH, 1, 0), (SOUTH, 1, N as i64), (WEST, 0, 0), (EAST, 0, N as i64)] {
                let count =
                    outer.iter().filter(|(a, b)| place(*a)[axis] == at && place(*b)[axis] == at).count();
                let expected = if coarser & side == 0 { N } else { N / 2 };
                assert_eq!(count, expected, "pattern {coarser}, side {side}");
            }
            assert!(outer.iter().all(|(a, b)| (0..2).any(|axis| {
                let [a, b] = [place(*a)[axis], place(*b)[axis]];
                a == b && (a == 0 || a == N as i64)
            })));
        }
    }
}
