//! How land bends between a lattice and a finer one, so that rivers do not keep the eight directions of the coarser.

use orogen_core::Seed;

/// Length of a bend, in cells of the coarser lattice.
const LONG: f64 = 3.0;
/// How far land is moved at most, in cells. Small enough that it never folds: two thirds of a cell over three.
const FAR: f64 = 0.45;

/// A smooth displacement of places on a lattice, in cells; none at its edge.
#[derive(Clone, Copy, Debug)]
pub struct Bend {
    seed: Seed,
    cells: [f64; 2],
}

impl Bend {
    /// For a lattice of so many nodes.
    #[must_use]
    pub fn new(seed: Seed, cols: usize, rows: usize) -> Self {
        Self { seed, cells: [(cols - 1) as f64, (rows - 1) as f64] }
    }

    /// The place on the coarser lattice whose land comes to lie at a place.
    #[must_use]
    pub fn from(&self, [c, r]: [f64; 2]) -> [f64; 2] {
        let edge = |at: f64, cells: f64| (at.min(cells - at) / LONG).clamp(0.0, 1.0);
        let by = FAR * edge(c, self.cells[0]) * edge(r, self.cells[1]);
        if by <= 0.0 {
            return [c, r];
        }
        let (x, y) = (c / LONG, r / LONG);
        let smooth = |t: f64| t * t * (3.0 - 2.0 * t);
        let (u, v) = (smooth(x - x.floor()), smooth(y - y.floor()));
        let (x, y) = (x.floor() as i64, y.floor() as i64);
        let mut moved = [c, r];
        for (dx, dy, weight) in
            [(0, 0, (1.0 - u) * (1.0 - v)), (1, 0, u * (1.0 - v)), (0, 1, (1.0 - u) * v), (1, 1, u * v)]
        {
            let bits = Seed(self.seed.bits2(x + dx, y + dy));
            for (axis, moved) in moved.iter_mut().enumerate() {
                *moved += by * weight * (2.0 * bits.unit(axis as u64) - 1.0);
            }
        }
        moved
    }

    /// Where the land of a place on the coarser lattice comes to lie.
    #[must_use]
    pub fn to(&self, place: [f64; 2]) -> [f64; 2] {
        let mut to = place;
        // The displacement changes by less than half from place to place, so this closes in quickly.
        for _ in 0..4 {
            let from = self.from(to);
            to = [0, 1].map(|axis| to[axis] + place[axis] - from[axis]);
        }
        to
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_bent_is_found_again_and_the_edge_stays() {
        let bend = Bend::new(Seed(5), 100, 80);
        let mut most = 0.0f64;
        for i in 0..400 {
            let place = [Seed(1).unit(i) * 99.0, Seed(2).unit(i) * 79.0];
            let to = bend.to(place);
            let from = bend.from(to);
            for axis in 0..2 {
                assert!((from[axis] - place[axis]).abs() < 0.02, "{place:?} {from:?}");
                most = most.max((to[axis] - place[axis]).abs());
            }
        }
        assert!(most > 0.25 && most < 0.46, "{most}");
        assert_eq!(bend.from([0.0, 33.3]), [0.0, 33.3]);
        assert_eq!(bend.to([99.0, 79.0]), [99.0, 79.0]);
    }
}
