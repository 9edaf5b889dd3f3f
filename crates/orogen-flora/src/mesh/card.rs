//! Leaves as cards.

use std::f64::consts::FRAC_PI_2;

use orogen_core::{Seed, math};

use super::light::Light;
use super::wind::Sway;
use super::{Mesh, Plan};
use crate::atlas::{CELLS, FLOWER_CELL, leaf_cell};
use crate::frame::{Vec3, add, between, cross, dot, scaled, sub, unit};
use crate::kinds;
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
    /// In how many pieces it bends.
    pub pieces: u16,
    /// Where its middle is, if it shows many leaves: among those that it stands for.
    pub middle: [f32; 3],
}

/// A flower that is drawn.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bloom {
    pub flower: u32,
    /// How much larger it is than it grew.
    pub grown: f64,
    /// Whether it is a cup or a cross, or one card.
    pub near: bool,
}

impl Card {
    /// A card that shows its leaf only.
    pub fn single(leaf: u32, grown: f64, crossed: bool) -> Self {
        Self { leaf, grown, cells: [1, 1], crossed, pieces: 1, middle: [0.0; 3] }
    }

    /// Whether it is cut from a plane of many leaves.
    fn is_bunch(&self) -> bool {
        self.cells[0].max(self.cells[1]) > 2
    }
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

    /// Which way the surface of an ellipsoid through a place looks.
    pub fn outward(&self, at: Vec3) -> Vec3 {
        let away = sub(at, self.middle);
        unit([0, 1, 2].map(|axis| away[axis] / (self.reach[axis] * self.reach[axis])))
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
        let branch = sway.branch(leaf.stem);
        let phase = (hash(card.leaf) >> 48) as u8;
        if species.leaves.droop_deg != 0.0 {
            let sheet = kinds::cards::leaf(&species.leaves, leaf, card.grown, u32::from(card.pieces));
            let place = Place { give, branch, phase, cell: leaf_cell(variant(species, card.leaf)) };
            place.draw(&sheet, light, &mut mesh);
            continue;
        }
        for turned in 0..1 + usize::from(card.crossed) {
            let quad = Quad::new(species, leaf, card, &crown, turned == 1);
            let middle = scaled(add(quad.corners[0], quad.corners[2]), 0.5);
            let first = mesh.positions.len() as u32;
            for (number, corner) in quad.corners.into_iter().enumerate() {
                let outward = crown.outward(corner);
                let normal = between(quad.facing, outward, plan.rounding);
                let normal = if dot(normal, normal) > 1e-4 { unit(normal) } else { quad.facing };
                // A card of many leaves is as light as what it stands for, which does not reach as far.
                let lit = if quad.is_bunch { between(middle, corner, 0.4) } else { corner };
                let light = light.at(lit.map(|v| v as f32));
                let flutter = (255.0 * quad.places[number][1].clamp(0.0, 1.0)) as u8;
                let sway = [255 - give, phase, flutter, light];
                mesh.corner(
                    corner.map(|v| v as f32),
                    normal.map(|v| v as f32),
                    quad.uvs[number],
                    sway,
                    branch,
                );
            }
            mesh.indices.extend([first, first + 1, first + 2, first, first + 2, first + 3]);
        }
    }
    for bloom in &plan.flowers {
        let flower = &plant.flowers[bloom.flower as usize];
        let give = sway.give_at(plant, flower.stem, flower.at.map(f64::from));
        let phase = (hash(bloom.flower) >> 40) as u8;
        let place = Place { give, branch: sway.branch(flower.stem), phase, cell: leaf_cell(FLOWER_CELL) };
        place.draw(
            &kinds::cards::flower(&species.flowers, flower, bloom.grown, bloom.near),
            light,
            &mut mesh,
        );
    }
    mesh
}

/// What all corners of a card share.
struct Place {
    give: u8,
    branch: u16,
    phase: u8,
    cell: [f32; 4],
}

impl Place {
    fn draw(&self, sheet: &kinds::cards::Sheet, light: &Light, mesh: &mut Mesh) {
        let first = mesh.positions.len() as u32;
        let [u0, v0, u1, v1] = self.cell;
        for (at, normal, place) in &sheet.corners {
            let at = at.map(|v| v as f32);
            let flutter = (255.0 * place[1].clamp(0.0, 1.0)) as u8;
            let sway = [255 - self.give, self.phase, flutter, light.at(at)];
            let [x, y] = place.map(|v| v as f32);
            let uv = [u0 + x * (u1 - u0), v0 + y * (v1 - v0)];
            mesh.corner(at, normal.map(|v| v as f32), uv, sway, self.branch);
        }
        mesh.indices.extend(sheet.triangles.iter().flatten().map(|corner| first + corner));
    }
}

/// Which picture of the atlas a leaf shows: one of four, of three where the last shows the flower.
pub fn variant(species: &Species, leaf: u32) -> u32 {
    let hash = hash(leaf);
    if species.flowers.share > 0.0 { (hash % u64::from(FLOWER_CELL)) as u32 } else { (hash & 3) as u32 }
}

/// How far cards of several leaves are turned about their length at most, in radians.
const MOST_ROLL: f64 = 0.7;

fn hash(leaf: u32) -> u64 {
    Seed(u64::from(leaf)).bits(2)
}

/// The whole of a card.
const WHOLE: [[f64; 2]; 4] = [[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]];

/// A card in space.
pub struct Quad {
    pub corners: [Vec3; 4],
    /// Where the corners are on the picture of the card: across, and from the stalk.
    places: [[f64; 2]; 4],
    /// Their places in the atlas.
    pub uvs: [[f32; 2]; 4],
    facing: Vec3,
    is_bunch: bool,
}

impl Quad {
    pub fn new(species: &Species, leaf: &Leaf, card: &Card, crown: &Crown, turned: bool) -> Self {
        let leaves = &species.leaves;
        let hash = hash(card.leaf);
        let (along, mut up) = (leaf.along.map(f64::from), leaf.up.map(f64::from));
        let mut side = cross(along, up);
        if card.cells != [1, 1] {
            // Leaves that a card stands for do not all lie in a plane: seen along it there is something too.
            let roll = MOST_ROLL * (2.0 * ((hash >> 58) & 63) as f64 / 63.0 - 1.0);
            let (sin, cos) = (math::sin(roll), math::cos(roll));
            (up, side) = (add(scaled(up, cos), scaled(side, sin)), sub(scaled(side, cos), scaled(up, sin)));
        }
        let (mut aside, mut facing) = if turned { (up, scaled(side, -1.0)) } else { (side, up) };
        let [cols, rows] = card.cells.map(f64::from);
        let natural = leaves.length_m * f64::from(leaf.size);
        let leaf_m = natural * card.grown;
        let (long, wide) = (rows * leaf_m, cols * leaf_m * leaves.width_share);
        let at = leaf.at.map(f64::from);
        // A card of few leaves stands where its leaf does. One of many lies among those that it stands for.
        let is_bunch = card.is_bunch();
        let foot = if is_bunch {
            sub(card.middle.map(f64::from), scaled(along, 0.5 * long))
        } else {
            add(at, scaled(along, leaves.stalk_share * natural))
        };
        let outward = crown.outward(at);
        // The side that looks out of the crown is the front: renderers turn the normals of what they see from behind.
        if dot(facing, outward) < 0.0 && (is_bunch || turned) {
            (aside, facing) = (scaled(aside, -1.0), scaled(facing, -1.0));
        }
        let places = if is_bunch { outline(hash) } else { WHOLE };
        let corners =
            places.map(|[x, y]| add(add(foot, scaled(along, y * long)), scaled(aside, (x - 0.5) * wide)));
        let [u0, v0, _, _] = leaf_cell(variant(species, card.leaf));
        // Rows of one leaf show on cards that all lie alike: each of many leaves is turned, and one in two mirrored.
        let (turn, mirrored) = if is_bunch { turned_pattern(hash) } else { (0.0, 1.0) };
        let (sin, cos) = (math::sin(turn), math::cos(turn));
        let uvs = places.map(|[x, y]| {
            // In lengths of a leaf, in which the pattern turns as it is.
            let (x, y) = (x * cols * leaves.width_share, y * rows);
            let across = mirrored * (cos * x - sin * y) / leaves.width_share;
            let along = sin * x + cos * y;
            [u0 + across as f32 / CELLS as f32, v0 + along as f32 / CELLS as f32]
        });
        Self { corners, places, uvs, facing, is_bunch }
    }
}

/// How far the pattern of a card of many leaves is turned at most, in radians.
const MOST_TURN: f64 = 0.8;

/// How far the pattern of such a card is turned, and 1, or -1 where it is mirrored.
fn turned_pattern(hash: u64) -> (f64, f64) {
    let share = ((hash >> 50) & 0xff) as f64 / 255.0;
    let mirrored = if hash >> 49 & 1 == 0 { 1.0 } else { -1.0 };
    (MOST_TURN * (2.0 * share - 1.0), mirrored)
}

/// Corners of a card that is cut from a plane of leaves, as large as a square with sides of 1: no two are alike, so that crowns
/// show no squares.
fn outline(hash: u64) -> [[f64; 2]; 4] {
    let share = |k: u32| ((hash >> (2 + 6 * k)) & 63) as f64 / 63.0;
    let start = share(0) * FRAC_PI_2;
    let corners = [0, 1, 2, 3].map(|k| {
        let turn = start + FRAC_PI_2 * (f64::from(k) + 0.3 * (share(k + 1) - 0.5));
        let far = 0.8 + 0.4 * share(k + 5);
        [far * math::cos(turn), far * math::sin(turn)]
    });
    let area: f64 = (0..4)
        .map(|k| {
            let [a, b] = [corners[k], corners[(k + 1) % 4]];
            0.5 * (a[0] * b[1] - a[1] * b[0])
        })
        .sum();
    let size = 1.0 / area.sqrt();
    corners.map(|corner| corner.map(|v| 0.5 + size * v))
}
