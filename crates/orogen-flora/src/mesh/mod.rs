//! The surface of a plant: stems as closed tubes that grow out of each other, leaves as cards.
//!
//! A [`Plan`] says what is drawn how finely: everything for [`mesh`], what a budget of triangles allows for [`crate::lod`].

mod card;
mod course;
mod light;
mod tint;
mod tube;
mod wind;

use crate::kinds::stone;
use crate::skeleton::Skeleton;
use crate::species::Species;

pub(crate) use card::{Bloom, Card, Crown, Quad, is_round, variant};
pub(crate) use course::{Courses, Point};
pub(crate) use tint::bark_gain;
pub(crate) use tube::{StemPlan, triangles as tube_triangles};

use light::Light;
use wind::Sway;

/// Triangles with what a renderer needs to know at their corners; z is up, metres.
///
/// A corner takes 41 bytes. In glTF, `light` times the tint is the colour of the corner and the other bytes of
/// `sway` an attribute `_SWAY` of four bytes, `branches` an attribute `_BRANCH` of 16 bits.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Mesh {
    /// Places of the corners.
    pub positions: Vec<[f32; 3]>,
    /// Which way the surface looks there; of length 1. Those of leaf cards lean to where the crown looks there.
    pub normals: Vec<[f32; 3]>,
    /// Places on the texture: bark repeats every [`BARK_M`], v runs along the stem; leaves lie in the cells of the atlas
    /// ([`crate::leaf_cell`]).
    pub uvs: Vec<[f32; 2]>,
    /// Corners of the triangles, counter-clockwise from outside.
    pub indices: Vec<u32>,
    /// What the wind and the light do there, or empty: stiffness, phase, flutter and light.
    ///
    /// * Stiffness: 255 where nothing gives (the foot of the trunk), less towards the ends of branches; the same where a branch
    ///   and its parent meet.
    /// * Phase: of the flutter; another for every card, the same for the bark of a branch.
    /// * Flutter: how far a leaf trembles: 0 at the stalk and on bark, 255 at the tip.
    /// * Light: share of the sky's light that comes through the leaves, 255 for all.
    pub sway: Vec<[u8; 4]>,
    /// The main branch that a corner swings with, or empty: 0 the trunk, then one number for each.
    pub branches: Vec<u16>,
    /// What the colour of bark is multiplied by there, after [`crate::Surface::bark_gain`], in linear light, or empty: 255 for 1.
    /// Twigs have another colour than trunks.
    pub tints: Vec<[u8; 3]>,
}

impl Mesh {
    /// How many triangles it has.
    #[must_use]
    pub fn triangles(&self) -> usize {
        self.indices.len() / 3
    }

    pub(crate) fn corner(
        &mut self,
        at: [f32; 3],
        normal: [f32; 3],
        uv: [f32; 2],
        sway: [u8; 4],
        branch: u16,
    ) -> u32 {
        self.positions.push(at);
        self.normals.push(normal);
        self.uvs.push(uv);
        self.sway.push(sway);
        self.branches.push(branch);
        self.positions.len() as u32 - 1
    }

    fn reserve(&mut self, corners: usize, triangles: usize) {
        self.positions.reserve_exact(corners);
        self.normals.reserve_exact(corners);
        self.uvs.reserve_exact(corners);
        self.sway.reserve_exact(corners);
        self.branches.reserve_exact(corners);
        self.tints.reserve_exact(corners);
        self.indices.reserve_exact(3 * triangles);
    }
}

/// The two parts of a plant, which have different materials.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PlantMesh {
    /// Trunks, branches and twigs.
    pub bark: Mesh,
    /// Leaves as cards; both sides are seen.
    pub leaves: Mesh,
}

impl PlantMesh {
    /// How many triangles it has.
    #[must_use]
    pub fn triangles(&self) -> usize {
        self.bark.triangles() + self.leaves.triangles()
    }
}

/// How fine a mesh is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Detail {
    /// Corners around a trunk of half a metre; others have fewer by the root of their radius.
    pub sides: f64,
    /// Fewest corners around a stem.
    pub fewest_sides: u32,
    /// Levels of stems that are made, from the trunk.
    pub levels: u8,
    /// Whether lobes are carved into trunks.
    pub lobes: bool,
}

impl Detail {
    /// Everything.
    pub const FULL: Self = Self { sides: 24.0, fewest_sides: 4, levels: 4, lobes: true };

    /// Corners around a stem.
    pub(crate) fn sides(&self, girth: f64, lobes: u32) -> u16 {
        let round = (self.sides * (2.0 * girth).sqrt()) as u32;
        round.max(self.fewest_sides).max(4 * lobes).clamp(3, 1000) as u16
    }
}

/// Metres of bark that a texture shows.
pub const BARK_M: f64 = 1.0;

/// Triangles of stones at their finest.
const STONES: usize = 60_000;

/// What is drawn of a plant.
pub(crate) struct Plan {
    /// One for each stem.
    pub stems: Vec<StemPlan>,
    /// Which points of the courses are drawn.
    pub keep: Vec<bool>,
    /// The leaves.
    pub cards: Vec<Card>,
    /// The flowers.
    pub flowers: Vec<Bloom>,
    /// Triangles of stones.
    pub stones: usize,
    /// How far normals of cards lean to where the crown looks: 0 not, 1 entirely.
    pub rounding: f64,
    /// Whether lobes are carved.
    pub lobes: bool,
}

/// The surface of a plant, with every stem and leaf.
#[must_use]
pub fn mesh(species: &Species, plant: &Skeleton, detail: &Detail) -> PlantMesh {
    let courses = Courses::new(species, plant);
    let stems = plant
        .stems
        .iter()
        .enumerate()
        .map(|(stem, made)| {
            if made.level >= detail.levels {
                return StemPlan::NONE;
            }
            let lobes = if detail.lobes { courses.lobes(species, made) } else { 0 };
            StemPlan { sides: detail.sides(courses.girth(stem), lobes), wider: 1.0 }
        })
        .collect();
    // Fewer leaves are larger, so that they cover as much.
    let grown = 1.0 / species.leaves.quality.sqrt();
    let crossed = is_round(species);
    let pieces = species.leaves.pieces() as u16;
    let cards = (0..plant.leaves.len() as u32)
        .map(|leaf| Card { pieces, ..Card::single(leaf, grown, crossed) })
        .collect();
    let flowers =
        (0..plant.flowers.len() as u32).map(|flower| Bloom { flower, grown: 1.0, near: true }).collect();
    let keep = vec![true; courses.points.len()];
    draw(
        species,
        plant,
        &courses,
        &Plan { stems, keep, cards, flowers, stones: STONES, rounding: 0.45, lobes: detail.lobes },
    )
}

/// Draws a plan.
pub(crate) fn draw(species: &Species, plant: &Skeleton, courses: &Courses, plan: &Plan) -> PlantMesh {
    let light = Light::new(species, plant);
    let sway = Sway::new(plant);
    let mut bark = tube::tubes(species, plant, courses, plan, &light, &sway);
    stone::append(&plant.stones, plan.stones, &mut bark);
    PlantMesh { bark, leaves: card::cards(species, plant, plan, &light, &sway) }
}
