//! Leaves that bend and flowers, as cards.

use orogen_core::math;

use crate::frame::{Vec3, add, cross, scaled, unit};
use crate::mesh::Mesh;
use crate::skeleton::Leaf;
use crate::species::{Flowers, Leaves};

/// A leaf from its stalk to its tip, in as many quads as it bends in; `cell` is its part of the texture: u and v of the stalk's
/// side, u and v of the tip's.
pub(crate) fn leaf(leaves: &Leaves, leaf: &Leaf, pieces: u32, cell: [f32; 4], mesh: &mut Mesh) {
    // Fewer leaves are larger, so that they cover as much.
    let length = leaves.length_m / leaves.quality.sqrt() * f64::from(leaf.size);
    let (along, up) = (leaf.along.map(f64::from), leaf.up.map(f64::from));
    let foot = add(leaf.at.map(f64::from), scaled(along, leaves.stalk_share * length));
    strip(foot, [along, up], [length, length * leaves.width_share], leaves.droop_deg, pieces, cell, mesh);
}

/// Corners of the rim of a flat flower.
const RIM: u32 = 8;

/// A flower: flat ones are a shallow cone that has its middle where the stem ends, others two cards through its end that go on.
pub(crate) fn flower(flowers: &Flowers, flower: &Leaf, cell: [f32; 4], mesh: &mut Mesh) {
    let length = flowers.length_m * f64::from(flower.size);
    let wide = length * flowers.width_share;
    let (at, along, up) = (flower.at.map(f64::from), flower.along.map(f64::from), flower.up.map(f64::from));
    let aside = cross(along, up);
    if !flowers.flat {
        strip(at, [along, up], [length, wide], 0.0, 1, cell, mesh);
        return strip(at, [along, aside], [length, wide], 0.0, 1, cell, mesh);
    }
    let [u0, v0, u1, v1] = cell;
    let first = mesh.positions.len() as u32;
    let mut corner = |place: Vec3, normal: Vec3, [x, y]: [f64; 2]| {
        mesh.positions.push(place.map(|v| v as f32));
        mesh.normals.push(normal.map(|v| v as f32));
        let part = |from: f32, to: f32, share: f64| from + (to - from) * (0.5 + 0.5 * share) as f32;
        mesh.uvs.push([part(u0, u1, x), part(v0, v1, y)]);
    };
    // Rays lie on the circle around the square's eight sides, so that the round picture is not cut.
    let reach = 1.0 / math::cos(std::f64::consts::PI / f64::from(RIM));
    corner(at, up, [0.0, 0.0]);
    for ray in 0..RIM {
        let turn = std::f64::consts::TAU * f64::from(ray) / f64::from(RIM);
        let (x, y) = (math::cos(turn), math::sin(turn));
        let out = add(scaled(aside, 0.5 * wide * x), scaled(along, 0.5 * length * y));
        let rim = add(at, add(scaled(out, reach), scaled(up, 0.5 * length * flowers.cup)));
        let normal = unit(add(up, scaled(out, -flowers.cup / (0.5 * length))));
        corner(rim, normal, [x * reach, y * reach]);
    }
    for ray in 0..RIM {
        mesh.indices.extend([first, first + 1 + ray, first + 1 + (ray + 1) % RIM]);
    }
}

/// Quads in a row that bend away from their upper side.
fn strip(
    foot: Vec3,
    [along, up]: [Vec3; 2],
    [length, width]: [f64; 2],
    droop_deg: f64,
    pieces: u32,
    [u0, v0, u1, v1]: [f32; 4],
    mesh: &mut Mesh,
) {
    let pieces = if droop_deg == 0.0 { 1 } else { pieces.max(1) };
    let aside = scaled(unit(cross(along, up)), 0.5 * width);
    let first = mesh.positions.len() as u32;
    let mut at = foot;
    for row in 0..=pieces {
        let share = f64::from(row) / f64::from(pieces);
        let lean = (droop_deg * share).to_radians();
        // Bends more and more: gravity pulls on what lies further out.
        let (sin, cos) = (math::sin(lean), math::cos(lean));
        let normal = unit(add(scaled(up, cos), scaled(along, sin)));
        for (sign, u) in [(-1.0, u0), (1.0, u1)] {
            mesh.positions.push(add(at, scaled(aside, sign)).map(|v| v as f32));
            mesh.normals.push(normal.map(|v| v as f32));
            mesh.uvs.push([u, v0 + (v1 - v0) * share as f32]);
        }
        let next = (droop_deg * (share + 0.5 / f64::from(pieces))).to_radians();
        let way = add(scaled(along, math::cos(next)), scaled(up, -math::sin(next)));
        at = add(at, scaled(way, length / f64::from(pieces)));
    }
    for row in 0..pieces {
        let [a, b] = [first + 2 * row, first + 2 * row + 2];
        mesh.indices.extend([a, a + 1, b + 1, a, b + 1, b]);
    }
}
