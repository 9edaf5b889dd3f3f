//! How much of a picture a plant covers.

use crate::atlas::{FLOWER_CELL, leaf_cell};
use crate::frame::{Vec3, dot, sub};
use crate::kinds::cards::{self as sheets, Sheet};
use crate::mesh::{Bloom, Card, Courses, Crown, Quad, StemPlan, variant};
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
            .chain(&plant.flowers)
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

    /// Where the leaves are.
    pub fn crown(&self) -> &Crown {
        &self.crown
    }

    /// Pixels that the leaves on cards cover beside what is seen already, in each view.
    pub fn of(&self, cards: &[Card], before: &Seen) -> [f64; 4] {
        let mut seen = before.clone();
        for card in cards {
            let leaf = &self.plant.leaves[card.leaf as usize];
            if self.species.leaves.droop_deg != 0.0 {
                let sheet = sheets::leaf(&self.species.leaves, leaf, card.grown, u32::from(card.pieces));
                self.sheet(&sheet, leaf_cell(variant(self.species, card.leaf)), &mut seen);
                continue;
            }
            for turned in 0..1 + usize::from(card.crossed) {
                let quad = Quad::new(self.species, leaf, card, &self.crown, turned == 1);
                let corner = |k: usize| (quad.corners[k], quad.uvs[k]);
                self.triangle([corner(0), corner(1), corner(2)], &mut seen);
                self.triangle([corner(0), corner(2), corner(3)], &mut seen);
            }
        }
        [0, 1, 2, 3].map(|view| seen.iter().filter(|views| *views >> view & 1 == 1).count() as f64)
    }

    /// Adds what flowers cover.
    pub fn flowers(&self, blooms: &[Bloom], seen: &mut Seen) {
        for bloom in blooms {
            let flower = &self.plant.flowers[bloom.flower as usize];
            let sheet = sheets::flower(&self.species.flowers, flower, bloom.grown, bloom.near);
            self.sheet(&sheet, leaf_cell(FLOWER_CELL), seen);
        }
    }

    fn sheet(&self, sheet: &Sheet, [u0, v0, u1, v1]: [f32; 4], seen: &mut Seen) {
        for corners in &sheet.triangles {
            let corner = |corner: u32| {
                let (at, _, [x, y]) = sheet.corners[corner as usize];
                (at, [u0 + x as f32 * (u1 - u0), v0 + y as f32 * (v1 - v0)])
            };
            self.triangle(corners.map(corner), seen);
        }
    }

    /// Adds what the leaves on a triangle cover, given its corners and their places in the atlas.
    fn triangle(&self, corners: [(Vec3, [f32; 2]); 3], seen: &mut Seen) {
        let Some(mask) = &self.mask else { return };
        let uvs = corners.map(|(_, uv)| uv.map(f64::from));
        for (number, view) in VIEWS.iter().enumerate() {
            let flat = corners.map(|(at, _)| self.flat(at, view));
            fill(flat, seen, 1 << number, |shares| {
                mask.is_leaf([0, 1].map(|axis| (0..3).map(|k| shares[k] * uvs[k][axis]).sum()))
            });
        }
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
                        let [p, q] = [edge(a, before.radius, -1.0), edge(b, point.radius, -1.0)];
                        let [r, s] = [edge(b, point.radius, 1.0), edge(a, before.radius, 1.0)];
                        for triangle in [[p, q, r], [p, r, s]] {
                            fill(triangle, &mut seen, 1 << number, |_| true);
                        }
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

/// Marks the pixels whose middles lie in a triangle, where `is_filled` says so of its corners' shares.
fn fill([p, q, r]: [[f64; 2]; 3], seen: &mut Seen, bit: u8, is_filled: impl Fn([f64; 3]) -> bool) {
    let area = (q[0] - p[0]) * (r[1] - p[1]) - (r[0] - p[0]) * (q[1] - p[1]);
    if area.abs() < 1e-12 {
        return;
    }
    let end = |axis: usize| {
        let low = p[axis].min(q[axis]).min(r[axis]);
        let high = p[axis].max(q[axis]).max(r[axis]);
        let low = (low - 0.5).ceil().clamp(0.0, SIZE as f64) as usize;
        (low, ((high - 0.5).floor() + 1.0).clamp(low as f64, SIZE as f64) as usize)
    };
    let ((left, right), (low, high)) = (end(0), end(1));
    for row in low..high {
        for col in left..right {
            let (x, y) = (col as f64 + 0.5, row as f64 + 0.5);
            let s = ((q[0] - x) * (r[1] - y) - (r[0] - x) * (q[1] - y)) / area;
            let t = ((r[0] - x) * (p[1] - y) - (p[0] - x) * (r[1] - y)) / area;
            let u = 1.0 - s - t;
            if s >= 0.0 && t >= 0.0 && u >= 0.0 && is_filled([s, t, u]) {
                seen[row * SIZE + col] |= bit;
            }
        }
    }
}
