//! How much of a picture leaves cover.

use crate::frame::{Vec3, dot, sub};
use crate::mesh::{Card, Crown, Quad};
use crate::skeleton::Skeleton;
use crate::species::Species;

/// Pixels across the views.
const SIZE: usize = 160;
const DIAGONAL: f64 = std::f64::consts::FRAC_1_SQRT_2;

/// Ways that the crown is looked at, as two axes of the picture: from two sides, a corner and above.
const VIEWS: [[Vec3; 2]; 4] = [
    [[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]],
    [[0.0, 1.0, 0.0], [0.0, 0.0, 1.0]],
    [[DIAGONAL, DIAGONAL, 0.0], [0.0, 0.0, 1.0]],
    [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]],
];

/// Views of a crown.
pub struct Cover<'a> {
    species: &'a Species,
    plant: &'a Skeleton,
    crown: Crown,
    pixel_m: f64,
}

impl<'a> Cover<'a> {
    pub fn new(species: &'a Species, plant: &'a Skeleton) -> Self {
        let crown = Crown::new(plant);
        let farthest = plant
            .leaves
            .iter()
            .map(|leaf| {
                let away = sub(leaf.at.map(f64::from), crown.middle);
                away.into_iter().map(f64::abs).fold(0.0, f64::max)
            })
            .fold(0.0, f64::max);
        // Room for what leaves reach beyond their places, and for corners of cards.
        let wide = 2.0 * (1.25 * farthest + 2.0 * species.leaves.length_m);
        Self { species, plant, crown, pixel_m: (wide / SIZE as f64).max(1e-6) }
    }

    /// Pixels that cards cover, over all views. Leaves are taken for ovals.
    pub fn of(&self, cards: &[Card]) -> usize {
        let mut seen = vec![0u8; SIZE * SIZE];
        for card in cards {
            let leaf = &self.plant.leaves[card.leaf as usize];
            for turned in 0..1 + usize::from(card.crossed) {
                let quad = Quad::new(self.species, leaf, card, &self.crown, turned == 1);
                for (number, view) in VIEWS.iter().enumerate() {
                    self.fill(&quad, card.cells, view, 1 << number, &mut seen);
                }
            }
        }
        seen.iter().map(|views| views.count_ones() as usize).sum()
    }

    fn fill(&self, quad: &Quad, cells: [u16; 2], view: &[Vec3; 2], bit: u8, seen: &mut [u8]) {
        let middle = 0.5 * SIZE as f64;
        let flat = quad.corners.map(|corner| {
            let away = sub(corner, self.crown.middle);
            [middle + dot(away, view[0]) / self.pixel_m, middle + dot(away, view[1]) / self.pixel_m]
        });
        let end = |axis: usize| {
            let [low, high] = flat.iter().fold([f64::MAX, f64::MIN], |[low, high], corner| {
                [low.min(corner[axis]), high.max(corner[axis])]
            });
            let low = (low - 0.5).ceil().clamp(0.0, SIZE as f64) as usize;
            (low, ((high - 0.5).floor() + 1.0).clamp(low as f64, SIZE as f64) as usize)
        };
        let ((left, right), (low, high)) = (end(0), end(1));
        if left == right || low == high {
            return;
        }
        for [a, b, c] in [[0, 1, 2], [0, 2, 3]] {
            let [p, q, r] = [flat[a], flat[b], flat[c]];
            let area = (q[0] - p[0]) * (r[1] - p[1]) - (r[0] - p[0]) * (q[1] - p[1]);
            if area.abs() < 1e-12 {
                continue;
            }
            for row in low..high {
                for col in left..right {
                    let (x, y) = (col as f64 + 0.5, row as f64 + 0.5);
                    let s = ((q[0] - x) * (r[1] - y) - (r[0] - x) * (q[1] - y)) / area;
                    let t = ((r[0] - x) * (p[1] - y) - (p[0] - x) * (r[1] - y)) / area;
                    let u = 1.0 - s - t;
                    if s < 0.0 || t < 0.0 || u < 0.0 {
                        continue;
                    }
                    let within = |axis: usize| {
                        let place =
                            s * quad.places[a][axis] + t * quad.places[b][axis] + u * quad.places[c][axis];
                        let place = place * f64::from(cells[axis]);
                        2.0 * (place - place.floor()) - 1.0
                    };
                    let [x, y] = [within(0), within(1)];
                    if x * x + y * y < 1.0 {
                        seen[row * SIZE + col] |= bit;
                    }
                }
            }
        }
    }
}
