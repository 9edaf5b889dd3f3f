//! Leaves that bend and flowers, as cards.

use std::f64::consts::{PI, TAU};

use orogen_core::math;

use crate::frame::{Vec3, add, cross, scaled, unit};
use crate::skeleton::Leaf;
use crate::species::{Flowers, Leaves};

/// Where a corner is, which way the card looks there, its place on the picture (across, and from the stalk).
pub(crate) type Corner = (Vec3, Vec3, [f64; 2]);

/// Corners and triangles of a card.
#[derive(Default)]
pub(crate) struct Sheet {
    pub corners: Vec<Corner>,
    pub triangles: Vec<[u32; 3]>,
}

/// A leaf from its stalk to its tip, in as many quads as it bends in.
pub(crate) fn leaf(leaves: &Leaves, leaf: &Leaf, grown: f64, pieces: u32) -> Sheet {
    let natural = leaves.length_m * f64::from(leaf.size);
    // What stands for several is wider, and no longer: a tussock stays as high as it is. Fewer pieces are chords of longer arcs.
    let chord = |pieces: u32| {
        let half = 0.5 * leaves.droop_deg.to_radians() / f64::from(pieces.max(1));
        if half.abs() > 1e-6 { math::sin(half) / half } else { 1.0 }
    };
    let length = natural * chord(pieces) / chord(leaves.pieces());
    let (along, up) = (leaf.along.map(f64::from), leaf.up.map(f64::from));
    let foot = add(leaf.at.map(f64::from), scaled(along, leaves.stalk_share * natural));
    let mut sheet = Sheet::default();
    sheet.strip(
        foot,
        [along, up],
        [length, natural * leaves.width_share * grown * grown],
        leaves.droop_deg,
        pieces,
    );
    sheet
}

/// Corners of the rim of a flat flower, seen from near.
const RIM: u32 = 8;

/// Triangles of a flower from near and from far.
pub(crate) fn flower_triangles(flowers: &Flowers, near: bool) -> usize {
    match (flowers.flat, near) {
        (true, true) => RIM as usize,
        (false, true) => 4,
        (_, false) => 2,
    }
}

/// A flower: flat ones are a shallow cone that has its middle where the stem ends, others two cards through its end that go on.
/// From far both are one card.
pub(crate) fn flower(flowers: &Flowers, flower: &Leaf, grown: f64, near: bool) -> Sheet {
    let length = flowers.length_m * f64::from(flower.size) * grown;
    let wide = length * flowers.width_share;
    let (at, along, up) = (flower.at.map(f64::from), flower.along.map(f64::from), flower.up.map(f64::from));
    let aside = cross(along, up);
    let mut sheet = Sheet::default();
    match (flowers.flat, near) {
        (true, true) => sheet.cone(at, [aside, along, up], [wide, length], flowers.cup),
        (true, false) => {
            let low = add(at, scaled(along, -0.5 * length));
            sheet.strip(
                add(low, scaled(up, 0.25 * length * flowers.cup)),
                [along, up],
                [length, wide],
                0.0,
                1,
            );
        }
        (false, _) => {
            sheet.strip(at, [along, up], [length, wide], 0.0, 1);
            if near {
                sheet.strip(at, [along, aside], [length, wide], 0.0, 1);
            }
        }
    }
    sheet
}

impl Sheet {
    /// Quads in a row that bend away from their upper side, more and more: weight pulls most on what lies far out.
    fn strip(
        &mut self,
        foot: Vec3,
        [along, up]: [Vec3; 2],
        [length, width]: [f64; 2],
        droop_deg: f64,
        pieces: u32,
    ) {
        let pieces = pieces.max(1);
        let aside = scaled(unit(cross(along, up)), 0.5 * width);
        let first = self.corners.len() as u32;
        let mut at = foot;
        for row in 0..=pieces {
            let share = f64::from(row) / f64::from(pieces);
            let lean = (droop_deg * share).to_radians();
            let normal = unit(add(scaled(up, math::cos(lean)), scaled(along, math::sin(lean))));
            for (sign, u) in [(-1.0, 0.0), (1.0, 1.0)] {
                self.corners.push((add(at, scaled(aside, sign)), normal, [u, share]));
            }
            let next = (droop_deg * (share + 0.5 / f64::from(pieces))).to_radians();
            let way = add(scaled(along, math::cos(next)), scaled(up, -math::sin(next)));
            at = add(at, scaled(way, length / f64::from(pieces)));
        }
        for row in 0..pieces {
            let [a, b] = [first + 2 * row, first + 2 * row + 2];
            self.triangles.extend([[a, a + 1, b + 1], [a, b + 1, b]]);
        }
    }

    /// A round picture whose rim stands up, or hangs.
    fn cone(&mut self, at: Vec3, [aside, along, up]: [Vec3; 3], [wide, length]: [f64; 2], cup: f64) {
        // Corners lie on the circle around the rim's sides, so that the picture is not cut; what lies beyond it is clear.
        let reach = 1.0 / math::cos(PI / f64::from(RIM));
        self.corners.push((at, up, [0.5, 0.5]));
        for ray in 0..RIM {
            let turn = TAU * (f64::from(ray) + 0.5) / f64::from(RIM);
            let (x, y) = (reach * math::cos(turn), reach * math::sin(turn));
            let out = add(scaled(aside, 0.5 * wide * x), scaled(along, 0.5 * length * y));
            let rim = add(at, add(out, scaled(up, 0.5 * length * cup)));
            let normal = unit(add(up, scaled(out, -cup / (0.5 * length))));
            let place = [0.5 + 0.5 * x, 0.5 + 0.5 * y].map(|v: f64| v.clamp(0.0, 1.0));
            self.corners.push((rim, normal, place));
        }
        for ray in 0..RIM {
            self.triangles.push([0, 1 + ray, 1 + (ray + 1) % RIM]);
        }
    }
}
