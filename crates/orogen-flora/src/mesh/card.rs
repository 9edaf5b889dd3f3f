//! Leaves as cards.

use orogen_core::Seed;

use super::light::Light;
use super::wind::Sway;
use super::{Mesh, Plan};
use crate::atlas::{CELLS, leaf_cell};
use crate::frame::{Vec3, add, between, cross, dot, scaled, sub, unit};
use crate::skeleton::{Leaf, Skeleton};
use crate::species::Species;

/// A card that stands for a leaf, or for several around it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Card {
    pub leaf: u32,
    /// How much larger the leaves on it are than they grew.
    pub grown: f64,
    /// How many leaves it shows, across and along.
    pub cells: [u16; 2],
    /// Whether another card stands across it.
    pub crossed: bool,
}

/// Whether leaves of a species stand around a shoot, as needles do: they have no flat side.
pub fn is_round(species: &Species) -> bool {
    matches!(species.leaves.form.as_str(), "tuft")
}

/// Where the leaves of a plant are.
pub struct Crown {
    pub middle: Vec3,
    /// How far they reach, about, along each axis.
    pub reach: Vec3,
}

impl Crown {
    pub fn new(plant: &Skeleton) -> Self {
        let count = plant.leaves.len().max(1) as f64;
        let (mut sum, mut squares) = ([0.0; 3], [0.0; 3]);
        for leaf in &plant.leaves {
            for axis in 0..3 {
                let at = f64::from(leaf.at[axis]);
                sum[axis] += at;
                squares[axis] += at * at;
            }
        }
        let middle = scaled(sum, 1.0 / count);
        // In a ball, places vary by the root of a fifth of its radius along each axis.
        let reach = [0, 1, 2].map(|axis| {
            let vary = (squares[axis] / count - middle[axis] * middle[axis]).max(0.0);
            (5.0 * vary).sqrt().max(0.1)
        });
        Self { middle, reach }
    }

    /// Which way the surface of an ellipsoid through a place looks, and how far out the place is: 1 at the edge.
    pub fn outward(&self, at: Vec3) -> (Vec3, f64) {
        let away = sub(at, self.middle);
        let scaled = [0, 1, 2].map(|axis| away[axis] / self.reach[axis]);
        let far = dot(scaled, scaled).sqrt();
        (unit([0, 1, 2].map(|axis| scaled[axis] / self.reach[axis])), far)
    }
}

/// The leaves of a plant.
pub fn cards(species: &Species, plant: &Skeleton, plan: &Plan, light: &Light, sway: &Sway) -> Mesh {
    let crown = Crown::new(plant);
    let mut mesh = Mesh::default();
    let quads: usize = plan.cards.iter().map(|card| 1 + usize::from(card.crossed)).sum();
    mesh.reserve(4 * quads, 2 * quads);
    for card in &plan.cards {
        let leaf = &plant.leaves[card.leaf as usize];
        let give = sway.give_at(plant, leaf.stem, leaf.at.map(f64::from));
        let hash = Seed(u64::from(card.leaf)).bits(2);
        let quad = Quad { species, leaf, card, crown: &crown, rounding: plan.rounding, hash };
        for turned in 0..1 + usize::from(card.crossed) {
            quad.draw(turned == 1, &mut mesh, |at, tip| {
                let flutter = if tip { 255 } else { 0 };
                ([255 - give, (hash >> 48) as u8, flutter, light.at(at)], sway.branch(leaf.stem))
            });
        }
    }
    mesh
}

struct Quad<'a> {
    species: &'a Species,
    leaf: &'a Leaf,
    card: &'a Card,
    crown: &'a Crown,
    rounding: f64,
    hash: u64,
}

impl Quad<'_> {
    fn draw(&self, turned: bool, mesh: &mut Mesh, sway: impl Fn([f32; 3], bool) -> ([u8; 4], u16)) {
        let leaves = &self.species.leaves;
        let (along, up) = (self.leaf.along.map(f64::from), self.leaf.up.map(f64::from));
        let side = cross(along, up);
        let (mut aside, mut facing) = if turned { (up, scaled(side, -1.0)) } else { (side, up) };
        let [cols, rows] = self.card.cells.map(f64::from);
        let leaf_m = leaves.length_m * self.card.grown;
        let (long, wide) = (rows * leaf_m, cols * leaf_m * leaves.width_share);
        let at = self.leaf.at.map(f64::from);
        let stalk = add(at, scaled(along, leaves.stalk_share * leaves.length_m));
        // A card of few leaves stands where its leaf does. One of many lies around it, and no further out than it.
        let is_bunch = rows > 2.0;
        let foot = if is_bunch { sub(at, scaled(along, 0.5 * long)) } else { stalk };
        let middle = add(foot, scaled(along, 0.5 * long));
        let (outward, far) = self.crown.outward(middle);
        let foot = if is_bunch {
            sub(foot, scaled(outward, 0.3 * long.min(wide) * far.min(1.0)))
        } else {
            foot
        };
        // The side that looks out of the crown is the front, so that renderers that turn the normals of backs turn few.
        if dot(facing, outward) < 0.0 && (self.rounding > 0.5 || turned) {
            (aside, facing) = (scaled(aside, -1.0), scaled(facing, -1.0));
        }
        let half = scaled(aside, 0.5 * wide);
        let [u0, v0, u1, v1] = self.cell();
        let first = mesh.positions.len() as u32;
        for (far, sign, uv) in [(0.0, -1.0, [u0, v0]), (0.0, 1.0, [u1, v0]), (1.0, 1.0, [u1, v1]), (1.0, -1.0, [u0, v1])] {
            let at = add(add(foot, scaled(along, far * long)), scaled(half, sign));
            let (outward, _) = self.crown.outward(at);
            let normal = between(facing, outward, self.rounding);
            let normal = if dot(normal, normal) > 1e-4 { unit(normal) } else { facing };
            let at = at.map(|v| v as f32);
            let (sway, branch) = sway(at, far > 0.5);
            mesh.corner(at, normal.map(|v| v as f32), uv, sway, branch);
        }
        mesh.indices.extend([first, first + 1, first + 2, first, first + 2, first + 3]);
    }

    /// The part of the atlas on it.
    fn cell(&self) -> [f32; 4] {
        let which = (self.hash & 3) as u32;
        let [u0, v0, u1, v1] = leaf_cell(which);
        let [cols, rows] = self.card.cells.map(|count| f32::from(count) / CELLS as f32);
        if self.card.cells == [1, 1] { [u0, v0, u1, v1] } else { [u0, v0, u0 + cols, v0 + rows] }
    }
}
