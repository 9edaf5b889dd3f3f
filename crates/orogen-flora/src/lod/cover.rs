//! How much of a picture a plant covers.

use crate::frame::{Vec3, dot, sub};
use crate::mesh::{Card, Courses, Crown, Quad, StemPlan};
use crate::skeleton::Skeleton;
use crate::species::Species;
use crate::surface::{LeafMask, leaf_mask};

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

/// What is covered: for each pixel a bit for each view.
pub type Seen = Vec<u8>;

/// Views of a crown.
pub struct Cover<'a> {
    species: &'a Species,
    plant: &'a Skeleton,
    crown: Crown,
    /// What the pictures on cards leave clear.
    mask: Option<LeafMask>,
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
        let mask = leaf_mask(species);
        Self { species, plant, crown, mask, pixel_m: (wide / SIZE as f64).max(1e-6) }
    }

    /// Pixels that the leaves on cards cover beside what is seen already, in each view.
    pub fn of(&self, cards: &[Card], stems: &Seen) -> [f64; 4] {
        let mut seen = stems.clone();
        for card in cards {
            let leaf = &self.plant.leaves[card.leaf as usize];
            for turned in 0..1 + usize::from(card.crossed) {
                let quad = Quad::new(self.species, leaf, card, &self.crown, turned == 1);
                let uvs = quad.uvs().map(|uv| uv.map(f64::from));
                for (number, view) in VIEWS.iter().enumerate() {
                    let flat = quad.corners.map(|corner| self.flat(corner, view));
                    fill(&flat, &mut seen, 1 << number, |a, b, c, [s, t, u]| {
                        let Some(mask) = &self.mask else { return false };
                        mask.is_leaf([0, 1].map(|k| s * uvs[a][k] + t * uvs[b][k] + u * uvs[c][k]))
                    });
                }
            }
        }
        [0, 1, 2, 3].map(|view| seen.iter().filter(|views| *views >> view & 1 == 1).count() as f64)
    }

    /// What stems cover.
    pub fn stems(
        &self,
        courses: &Courses,
        plan: impl Fn(usize) -> StemPlan,
        keep: impl Fn(usize) -> bool,
    ) -> Seen {
        let mut seen = vec![0; SIZE * SIZE];
        for stem in 0..self.plant.stems.len() {
            let plan = plan(stem);
            if plan.sides == 0 {
                continue;
            }
            let mut before = None;
            for point in courses.range(stem).filter(|point| keep(*point)) {
                let point = courses.points[point];
                if let Some(before) = before.replace(point) {
                    for (number, view) in VIEWS.iter().enumerate() {
                        let [a, b] = [before, point].map(|end| self.flat(end.at, view));
                        let way = [b[0] - a[0], b[1] - a[1]];
                        let length = (way[0] * way[0] + way[1] * way[1]).sqrt().max(1e-9);
                        let aside = [-way[1] / length, way[0] / length];
                        let edge = |at: [f64; 2], radius: f64, sign: f64| {
                            let by = sign * radius * f64::from(plan.wider) / self.pixel_m;
                            [at[0] + by * aside[0], at[1] + by * aside[1]]
                        };
                        let flat = [
                            edge(a, before.radius, -1.0),
                            edge(b, point.radius, -1.0),
                            edge(b, point.radius, 1.0),
                            edge(a, before.radius, 1.0),
                        ];
                        fill(&flat, &mut seen, 1 << number, |_, _, _, _| true);
                    }
                }
            }
        }
        seen
    }

    /// Place on a view.
    fn flat(&self, at: Vec3, view: &[Vec3; 2]) -> [f64; 2] {
        let away = sub(at, self.crown.middle);
        view.map(|axis| 0.5 * SIZE as f64 + dot(away, axis) / self.pixel_m)
    }
}

/// Marks the pixels whose middles lie in a quad, where `is_filled` says so of the triangle's corners and their shares.
fn fill(
    flat: &[[f64; 2]; 4],
    seen: &mut Seen,
    bit: u8,
    is_filled: impl Fn(usize, usize, usize, [f64; 3]) -> bool,
) {
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
                if s >= 0.0 && t >= 0.0 && u >= 0.0 && is_filled(a, b, c, [s, t, u]) {
                    seen[row * SIZE + col] |= bit;
                }
            }
        }
    }
}
