//! The surface of a plant: stems as closed tubes, leaves as cards.

use std::f64::consts::TAU;

use orogen_core::math;

use crate::frame::{Vec3, add, cross, dot, scaled, unit};
use crate::kinds::{cards, stone};
use crate::skeleton::{Node, Skeleton, Stem};
use crate::species::Species;

/// Triangles with what a renderer needs to know at their corners; z is up, metres.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Mesh {
    /// Places of the corners.
    pub positions: Vec<[f32; 3]>,
    /// Which way the surface looks there; of length 1.
    pub normals: Vec<[f32; 3]>,
    /// Places on the texture: bark repeats, leaves lie in 0 to 1, upright.
    pub uvs: Vec<[f32; 2]>,
    /// Corners of the triangles, counter-clockwise from outside.
    pub indices: Vec<u32>,
}

/// The two parts of a plant, which have different materials.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PlantMesh {
    /// Trunks, branches and twigs.
    pub bark: Mesh,
    /// Leaves, one quad each; both sides are seen.
    pub leaves: Mesh,
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
}

/// Metres of bark that a texture shows.
pub const BARK_M: f64 = 1.0;

/// The surface of a plant.
#[must_use]
pub fn mesh(species: &Species, plant: &Skeleton, detail: &Detail) -> PlantMesh {
    let mut made = PlantMesh::default();
    for stem in plant.stems.iter().filter(|stem| stem.level < detail.levels) {
        tube(species, plant, stem, detail, &mut made.bark);
    }
    for leaf in &plant.leaves {
        let leaves = &species.leaves;
        cards::leaf(leaves, leaf, leaves.pieces, [0.0, 0.0, 1.0, 1.0], &mut made.leaves);
    }
    for flower in &plant.flowers {
        cards::flower(&species.flowers, flower, [0.0, 0.0, 1.0, 1.0], &mut made.leaves);
    }
    for stone in &plant.stones {
        stone::append(stone, 2 * detail.sides as u32, &mut made.bark);
    }
    made
}

/// A stem as a tube with closed ends.
fn tube(species: &Species, plant: &Skeleton, stem: &Stem, detail: &Detail, mesh: &mut Mesh) {
    let nodes = plant.nodes_of(stem);
    let widest = f64::from(nodes[0].radius_m);
    let lobes = if detail.lobes && stem.level == 0 { species.lobes } else { 0 };
    let round = (detail.sides * (widest / 0.5).sqrt()) as u32;
    let sides = round.max(detail.fewest_sides).max(4 * lobes);
    // As many repeats around as keep the grain of the bark its size, and at least one.
    let repeats = (TAU * widest / BARK_M).round().max(1.0);
    let first = mesh.positions.len() as u32;
    let mut across = any_across(nodes[0].along.map(f64::from));
    for node in nodes {
        let along = node.along.map(f64::from);
        // What was across, without what now goes along: the ring does not twist.
        across = unit(add(across, scaled(along, -dot(across, along))));
        ring(node, along, across, sides, repeats, [f64::from(lobes), species.lobe_depth], mesh);
    }
    let wide = sides + 1;
    for piece in 0..nodes.len() as u32 - 1 {
        for side in 0..sides {
            let [a, b] = [first + piece * wide + side, first + (piece + 1) * wide + side];
            mesh.indices.extend([a, a + 1, b + 1, a, b + 1, b]);
        }
    }
    let last = nodes.len() as u32 - 1;
    cap(&nodes[0], first, sides, true, mesh);
    cap(&nodes[last as usize], first + last * wide, sides, false, mesh);
}

/// Corners around a node, the first twice: once at either end of the texture.
fn ring(
    node: &Node,
    along: Vec3,
    across: Vec3,
    sides: u32,
    repeats: f64,
    [lobes, depth]: [f64; 2],
    mesh: &mut Mesh,
) {
    let other = cross(along, across);
    let radius = f64::from(node.radius_m).max(1e-5);
    for side in 0..=sides {
        let turn = TAU * f64::from(side % sides) / f64::from(sides);
        let out = add(scaled(across, math::cos(turn)), scaled(other, math::sin(turn)));
        let lobed = radius * (1.0 + depth * math::sin(lobes * turn));
        mesh.positions.push(add(node.at.map(f64::from), scaled(out, lobed)).map(|v| v as f32));
        mesh.normals.push(out.map(|v| v as f32));
        let u = repeats * f64::from(side) / f64::from(sides);
        mesh.uvs.push([u as f32, (f64::from(node.from_foot_m) / BARK_M) as f32]);
    }
}

/// A lid on a ring.
fn cap(node: &Node, ring: u32, sides: u32, is_foot: bool, mesh: &mut Mesh) {
    let middle = mesh.positions.len() as u32;
    let sign = if is_foot { -1.0 } else { 1.0 };
    mesh.positions.push(node.at);
    mesh.normals.push(node.along.map(|v| sign * v));
    mesh.uvs.push([0.5, node.from_foot_m / BARK_M as f32]);
    for side in 0..sides {
        let [a, b] = [ring + side, ring + side + 1];
        mesh.indices.extend(if is_foot { [middle, b, a] } else { [middle, a, b] });
    }
}

/// A direction at right angles to another.
fn any_across(along: Vec3) -> Vec3 {
    let axis = if along[0].abs() < 0.9 { [1.0, 0.0, 0.0] } else { [0.0, 1.0, 0.0] };
    unit(add(axis, scaled(along, -dot(axis, along))))
}
