//! Mud that dried, cracked into plates that curl up at their edges, and is still wet in the hollows.

use orogen_core::Seed;
use orogen_core::math::{lerp, smoothstep};

use crate::canvas::{Canvas, Texel};
use crate::color::{mix, scaled};
use crate::detail::Plan;
use crate::dice::{hash, lattice_seed, unit};
use crate::maps::{Finish, Made};
use crate::noise::{Cells, Noise, Octaves, Value, Warp};

const SIZE_M: f32 = 2.0;

pub(crate) fn mud(size: usize, seed: Seed) -> Made {
    let s = |name| lattice_seed(seed, name);
    let plates = Cells { jitter: 0.82, ..Cells::new(s("plates"), 13) };
    let pieces = Cells { jitter: 0.9, ..Cells::new(s("pieces"), 27) };
    let wander = Warp::new(s("wander"), 14, 4, 0.010);
    let swell = Octaves::new(s("swell"), 4, 4, 0.5);
    let damp = Octaves::new(s("damp"), 9, 3, 0.55);
    let silk = Octaves::new(s("silk"), 30, 5, 0.6);
    let grain = Value::new(s("grain"), 460);
    let bubbles = Cells { jitter: 1.0, ..Cells::new(s("bubbles"), 90) };
    let canvas = Canvas::from_fn(size, SIZE_M, |u, v| {
        let (pu, pv) = wander.at(u, v);
        let plate = plates.nearest(pu, pv);
        let piece = pieces.nearest(pu, pv);
        let low = swell.at(u, v);
        let soft = silk.at(u, v);
        let r = |k| unit(hash(plate.id, k, 0));
        // Whole plates are still damp; water stands in the hollows.
        let wet = smoothstep(0.12, 0.5, -damp.at(u, v) + 0.35 * (r(9) - 0.5) + 0.12 * soft);

        // The wetter, the more the cracks have closed.
        let dry = 1.0 - 0.85 * wet;
        let width = (0.035 + 0.045 * unit(hash(plate.id ^ plate.neighbor, 1, 0))) * dry;
        let crack = dry * (1.0 - smoothstep(0.35 * width, width + 0.004, plate.edge + 0.004 * soft));
        // Some plates have begun to break up.
        let some = if r(10) < 0.3 { unit(hash(piece.id ^ piece.neighbor, 2, 0)).sqrt() } else { 0.0 };
        let hair_width = 0.055 * some * dry;
        let hair = some * dry * (1.0 - smoothstep(0.3 * hair_width, hair_width + 0.004, piece.edge));
        let curl = dry * (1.0 - smoothstep(0.0, 0.24, plate.edge)) * (1.0 - crack);
        let lean = (r(3) - 0.5) * plate.offset[0] + (r(4) - 0.5) * plate.offset[1];
        let (bubble, distance) = bubbles.point_near(u, v);
        let pock = if unit(hash(bubble, 3, 0)) < 0.1 { 1.0 - smoothstep(0.1, 0.22, distance) } else { 0.0 };
        let height = 0.018 * low
            + dry * (0.006 * (r(5) - 0.5) + 0.010 * lean)
            + 0.0085 * curl * curl * lerp(0.4, 1.2, r(6))
            + 0.0016 * soft
            - 0.024 * crack
            - 0.004 * hair
            - 0.0012 * pock;

        let tone = lerp(0.9, 1.1, r(7));
        let crust = mix(
            [0.235, 0.188, 0.140],
            [0.205, 0.160, 0.115],
            smoothstep(-0.3, 0.4, soft + 0.4 * (r(8) - 0.5)),
        );
        let mut color = scaled(crust, tone * (1.0 + 0.06 * grain.at(u, v) + 0.10 * curl));
        color = mix(color, [0.105, 0.078, 0.054], 0.8 * wet);
        color = mix(color, [0.055, 0.041, 0.029], 0.88 * crack.max(0.6 * hair));
        color = scaled(color, 1.0 - 0.25 * pock);
        let roughness = lerp(0.86, 0.22, wet) + 0.06 * grain.at(v, u) * (1.0 - wet);
        Texel { height_m: height, color, roughness }
    });
    Made {
        canvas,
        finish: Finish { keep_color: 0.4, keep_height: 0.6, cavity: 0.3, occlusion_m: 0.08 },
        detail: Plan::Turned,
    }
}
