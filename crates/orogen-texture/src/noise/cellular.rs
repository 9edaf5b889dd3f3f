//! Cellular noise after Worley: each place belongs to its nearest point. Blocks, plates, columns, pebbles and cracks.

use super::{Noise, cell, shifts, wrapped};
use crate::dice::{hash, unit};

/// Points scattered one to a cell of a lattice.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cells {
    /// Which points.
    pub seed: u32,
    /// Cells across the tile, from left to right and from top to bottom.
    pub period: [u32; 2],
    /// How far a point may lie from the middle of its cell: 0 a lattice, 1 anywhere in it.
    pub jitter: f32,
    /// Whether every other row is shifted by half a cell, which gives hexagons where the jitter is small. Needs an even number
    /// of rows.
    pub staggered: bool,
}

/// What lies around a place; lengths in cells.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Nearest {
    /// Random bits of the nearest point.
    pub id: u32,
    /// From the nearest point to the place.
    pub offset: [f32; 2],
    /// Distance to the nearest point.
    pub distance: f32,
    /// Distance to the second nearest.
    pub second: f32,
    /// Distance to the border with the nearest neighbour.
    pub edge: f32,
    /// Random bits of the point beyond that border.
    pub neighbor: u32,
}

impl Cells {
    /// Points anywhere in their cells.
    #[must_use]
    pub fn new(seed: u32, period: u32) -> Self {
        Self { seed, period: [period.max(1); 2], jitter: 1.0, staggered: false }
    }

    /// Where the point of a cell lies, from that cell's corner, and its random bits.
    #[inline]
    fn point(&self, x: u32, y: u32) -> ([f32; 2], u32) {
        let bits = hash(self.seed, x, y);
        let other = hash(bits, 0x51ed_270b, 0);
        let shift = if self.staggered && y & 1 == 1 { 0.5 } else { 0.0 };
        let middle = (1.0 - self.jitter) * 0.5;
        ([middle + self.jitter * unit(bits) + shift, middle + self.jitter * unit(other)], bits)
    }

    /// The random bits of the nearest point and the distance to it, in cells: quicker than [`Cells::nearest`].
    #[must_use]
    pub fn point_near(&self, u: f32, v: f32) -> (u32, f32) {
        let [px, py] = self.period.map(|p| p.max(1));
        let [sx, sy] = shifts(self.seed);
        let ((x0, tx), (y0, ty)) = (cell(u, px, sx), cell(v, py, sy));
        let (mut id, mut best) = (0, f32::MAX);
        for j in -1i32..=1 {
            for i in -1i32..=1 {
                let ([ox, oy], bits) = self.point(wrapped(x0 as i32 + i, px), wrapped(y0 as i32 + j, py));
                let (dx, dy) = (i as f32 + ox - tx, j as f32 + oy - ty);
                let square = dx * dx + dy * dy;
                if square < best {
                    (id, best) = (bits, square);
                }
            }
        }
        (id, best.sqrt())
    }

    /// The nearest point and the border round it.
    #[must_use]
    pub fn nearest(&self, u: f32, v: f32) -> Nearest {
        let [px, py] = self.period.map(|p| p.max(1));
        let [sx, sy] = shifts(self.seed);
        let ((x0, tx), (y0, ty)) = (cell(u, px, sx), cell(v, py, sy));
        let mut points = [([0.0f32; 2], 0u32, f32::MAX); 25];
        let mut count = 0;
        let mut best = 0;
        let mut second = f32::MAX;
        for j in -2i32..=2 {
            for i in -2i32..=2 {
                // Corners two cells away hold nothing that could be nearest, or border on it.
                if i.abs() + j.abs() == 4 {
                    continue;
                }
                let ([ox, oy], bits) = self.point(wrapped(x0 as i32 + i, px), wrapped(y0 as i32 + j, py));
                let d = [i as f32 + ox - tx, j as f32 + oy - ty];
                let square = d[0] * d[0] + d[1] * d[1];
                points[count] = (d, bits, square);
                if square < points[best].2 {
                    second = points[best].2;
                    best = count;
                } else if square < second && count != best {
                    second = square;
                }
                count += 1;
            }
        }
        let (near, id, square) = points[best];
        let (mut edge, mut neighbor) = (f32::MAX, id);
        for (k, (d, bits, _)) in points[..count].iter().enumerate() {
            let across = [d[0] - near[0], d[1] - near[1]];
            let length = (across[0] * across[0] + across[1] * across[1]).sqrt();
            if k != best && length > 1e-6 {
                let middle = [(d[0] + near[0]) * 0.5, (d[1] + near[1]) * 0.5];
                let distance = (middle[0] * across[0] + middle[1] * across[1]) / length;
                if distance < edge {
                    (edge, neighbor) = (distance, *bits);
                }
            }
        }
        let offset = [-near[0], -near[1]];
        Nearest { id, offset, distance: square.sqrt(), second: second.sqrt(), edge: edge.max(0.0), neighbor }
    }
}

impl Noise for Cells {
    /// 1 at a point, falling to -1 a cell away.
    fn at(&self, u: f32, v: f32) -> f32 {
        1.0 - 2.0 * self.point_near(u, v).1.min(1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_border_lies_half_way_between_points() {
        let cells = Cells { jitter: 0.0, ..Cells::new(0, 4) };
        let near = cells.nearest(0.125, 0.125);
        assert!(near.distance < 1e-6 && (near.edge - 0.5).abs() < 1e-6, "{near:?}");
        let near = cells.nearest(0.24, 0.125);
        assert!((near.edge - 0.04).abs() < 1e-5, "{near:?}");
        assert!((near.second - 0.54).abs() < 1e-5, "{near:?}");
    }

    #[test]
    fn it_repeats() {
        let cells = Cells { staggered: true, ..Cells::new(9, 6) };
        for i in 0..500 {
            let (u, v) = ((i % 25) as f32 / 25.0, (i / 25) as f32 / 20.0);
            let (a, b) = (cells.nearest(u, v), cells.nearest(u + 1.0, v - 1.0));
            assert!((a.edge - b.edge).abs() < 1e-3 && (a.distance - b.distance).abs() < 1e-3, "{a:?} {b:?}");
        }
    }
}
