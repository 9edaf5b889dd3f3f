//! Heads of basalt columns: polygons at different heights, dished, with gas bubbles and rubble in the joints.

use orogen_core::Seed;
use orogen_core::math::{lerp, smoothstep};

use crate::canvas::{Canvas, Texel};
use crate::color::{mix, scaled};
use crate::detail::Plan;
use crate::dice::{hash, lattice_seed, unit};
use crate::maps::{Finish, Made};
use crate::noise::{Cells, Noise, Octaves, Value, Warp};

const SIZE_M: f32 = 3.0;

pub(crate) fn basalt(size: usize, seed: Seed) -> Made {
    let s = |name| lattice_seed(seed, name);
    let columns = Cells { period: [8, 10], jitter: 0.62, staggered: true, ..Cells::new(s("columns"), 8) };
    let wobble = Warp::new(s("wobble"), 12, 4, 0.006);
    let tiers = Octaves::new(s("tiers"), 4, 2, 0.6);
    let rough = Octaves::new(s("rough"), 14, 6, 0.62);
    let fine = Octaves::new(s("fine"), 90, 3, 0.75);
    let bubbles = Cells { jitter: 1.0, ..Cells::new(s("bubbles"), 130) };
    let cracks = Cells { jitter: 1.0, ..Cells::new(s("cracks"), 17) };
    let ragged = Warp::new(s("ragged"), 30, 4, 0.012);
    let spots = Cells { jitter: 1.0, ..Cells::new(s("spots"), 30) };
    let stain = Octaves::new(s("stain"), 7, 4, 0.6);
    let speckle = Value::new(s("speckle"), 500);
    let canvas = Canvas::from_fn(size, SIZE_M, |u, v| {
        let (cu, cv) = wobble.at(u, v);
        let column = columns.nearest(cu, cv);
        let r = |k| unit(hash(column.id, k, 0));
        let (rough_here, fine_here) = (rough.at(u, v), fine.at(u, v));
        // Broken off at this joint or the next.
        let tier = lerp(-0.5, 0.5, r(1)) * 0.16 + 0.04 * tiers.at(u, v);
        let lean = (r(2) - 0.5) * column.offset[0] + (r(3) - 0.5) * column.offset[1];
        let dish = 0.035 * (column.distance * column.distance - 0.12) * lerp(-0.4, 1.0, r(4));
        let gap = 0.008 + 0.026 * unit(hash(column.id ^ column.neighbor, 9, 0));
        let worn = 1.0 - smoothstep(0.0, 0.10, column.edge + 0.02 * rough_here);
        let joint = 1.0 - smoothstep(0.35 * gap, gap, column.edge + 0.006 * fine_here);
        let mut height = tier + 0.09 * lean + dish + 0.016 * rough_here + 0.003 * fine_here
            - 0.022 * worn * worn
            - 0.10 * joint;

        let (ku, kv) = ragged.at(u, v);
        let crack = cracks.nearest(ku, kv);
        let some = smoothstep(0.55, 0.75, unit(hash(crack.id ^ crack.neighbor, 1, 0)));
        let split = some * (1.0 - smoothstep(0.01, 0.035, crack.edge));
        height -= 0.012 * split;

        let (bubble, distance) = bubbles.point_near(u, v);
        let radius = 0.10 + 0.26 * unit(hash(bubble, 1, 0));
        let there = if unit(hash(bubble, 2, 0)) < 0.16 + 0.3 * r(6) * r(6) { 1.0 } else { 0.0 };
        let hole = there * (1.0 - smoothstep(0.5 * radius, radius, distance));
        height -= 0.006 * hole;

        let tone = lerp(0.8, 1.25, r(7)) * (1.0 + 0.16 * rough_here + 0.10 * speckle.at(u, v));
        let rusty = smoothstep(0.1, 0.6, stain.at(u, v) + 0.5 * (r(8) - 0.5)) * 0.6 + 0.3 * worn;
        let mut color = scaled(mix([0.080, 0.079, 0.080], [0.108, 0.088, 0.070], rusty), tone);
        color = scaled(color, 1.0 + 0.35 * worn * (1.0 - joint));
        let (spot, distance) = spots.point_near(ku, kv);
        let size = 0.06 + 0.34 * unit(hash(spot, 5, 0)) * unit(hash(spot, 6, 0));
        let crust = (1.0 - smoothstep(0.72 * size, size, distance + 0.06 * fine_here)) * (1.0 - joint);
        let lichen = if unit(hash(spot, 7, 0)) < 0.8 { [0.20, 0.205, 0.18] } else { [0.19, 0.14, 0.07] };
        color = mix(color, lichen, 0.62 * crust);
        color = mix(color, [0.036, 0.033, 0.029], 0.8 * joint.max(0.75 * split));
        color = scaled(color, 1.0 - 0.45 * hole);
        Texel { height_m: height, color, roughness: 0.72 + 0.12 * crust + 0.05 * rusty }
    });
    Made {
        canvas,
        finish: Finish { keep_color: 0.4, keep_height: 0.8, cavity: 0.4, occlusion_m: 0.25 },
        detail: Plan::Pattern {
            size_m: 43.0,
            period: [5, 6],
            tone: 0.14,
            tint: [0.02, 0.004, -0.012],
            joints: Some(([11, 8], 0.30)),
        },
    }
}
