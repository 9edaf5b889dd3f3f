//! Bare karst: rain has cut runnels with sharp crests, dissolved pans and widened the joints.

use orogen_core::Seed;
use orogen_core::math::smoothstep;

use crate::canvas::{Canvas, Texel};
use crate::color::{mix, scaled};
use crate::detail::Plan;
use crate::dice::{hash, lattice_seed, unit};
use crate::maps::{Finish, Made};
use crate::noise::{Cells, Gradient, Noise, Octaves, Value, Warp};

const SIZE_M: f32 = 4.0;

pub(crate) fn limestone(size: usize, seed: Seed) -> Made {
    let s = |name| lattice_seed(seed, name);
    let swell = Octaves::new(s("swell"), 3, 5, 0.5);
    let fine = Octaves::new(s("fine"), 40, 5, 0.68);
    let flow = Warp::new(s("flow"), 4, 4, 0.045);
    let runnels = Gradient::directional(s("runnels"), [44, 5]);
    let small = Gradient::directional(s("small"), [110, 16]);
    let cut = Octaves::new(s("cut"), 7, 3, 0.5);
    let wander = Warp::new(s("wander"), 5, 5, 0.04);
    let joints = Cells { period: [5, 6], jitter: 0.95, ..Cells::new(s("joints"), 4) };
    let pits = Cells { jitter: 1.0, ..Cells::new(s("pits"), 26) };
    let round = Warp::new(s("round"), 30, 3, 0.006);
    let stain = Octaves::new(s("stain"), 6, 5, 0.6);
    let streak = Octaves::directional(s("streak"), [36, 4], 3, 0.6);
    let speckle = Value::new(s("speckle"), 480);
    let canvas = Canvas::from_fn(size, SIZE_M, |u, v| {
        let (fu, fv) = flow.at(u, v);
        // Rounded troughs with sharp crests between them.
        let depth = smoothstep(-0.35, 0.35, cut.at(u, v));
        let trough = runnels.at(fu, fv).abs();
        let little = small.at(fu, fv).abs();
        let grain = fine.at(u, v);
        let mut height = 0.11 * swell.at(u, v) - 0.085 * depth * trough - 0.018 * little + 0.007 * grain;

        let (ju, jv) = wander.at(u, v);
        let joint = joints.nearest(ju, jv);
        // Some joints are open clefts, others barely show; all come and go.
        let open = smoothstep(0.3, 0.8, unit(hash(joint.id ^ joint.neighbor, 3, 0)))
            * smoothstep(-0.5, 0.3, cut.at(v, u));
        let width = 0.012 + 0.05 * open;
        let cleft =
            (0.25 + 0.75 * open) * (1.0 - smoothstep(0.25 * width, width, joint.edge + 0.004 * grain));
        let rim = (0.3 + 0.7 * open) * (1.0 - smoothstep(0.0, 0.2, joint.edge));
        height += 0.03 * (unit(joint.id) - 0.5) - 0.03 * rim * rim - 0.12 * cleft;

        let (pu, pv) = round.at(u, v);
        let (pit, distance) = pits.point_near(pu, pv);
        let radius = 0.12 + 0.3 * unit(hash(pit, 5, 0));
        let here = if unit(hash(pit, 6, 0)) < 0.42 { 1.0 } else { 0.0 };
        let hole = here * (1.0 - smoothstep(0.45 * radius, radius, distance));
        height -= 0.03 * hole * radius / 0.42;

        let weathered = smoothstep(-0.4, 0.5, stain.at(u, v) + 0.3 * grain);
        let mut color = mix([0.50, 0.48, 0.43], [0.37, 0.365, 0.345], weathered);
        let damp = smoothstep(0.1, 0.6, streak.at(fu, fv) + 0.3 * depth * trough);
        color = mix(color, [0.215, 0.215, 0.205], 0.5 * damp);
        color = mix(color, [0.19, 0.18, 0.155], 0.65 * hole);
        color = mix(color, [0.56, 0.545, 0.50], 0.35 * smoothstep(0.12, 0.0, trough) * depth);
        color = mix(color, [0.15, 0.135, 0.105], 0.8 * cleft);
        color = scaled(color, 1.0 + 0.09 * speckle.at(u, v) + 0.12 * grain);
        Texel { height_m: height, color, roughness: 0.82 - 0.08 * damp }
    });
    Made {
        canvas,
        finish: Finish { keep_color: 0.25, keep_height: 0.35, cavity: 0.55, occlusion_m: 0.35 },
        detail: Plan::Pattern {
            size_m: 47.0,
            period: [6, 5],
            tone: 0.11,
            tint: [0.012, 0.002, -0.012],
            joints: Some(([17, 13], 0.45)),
        },
    }
}
