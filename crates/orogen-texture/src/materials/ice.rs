//! Bare ice of a glacier: foliation of clear blue and bubbly white, healed cracks, holes where dust melts in.

use orogen_core::Seed;
use orogen_core::math::{lerp, smoothstep};

use crate::canvas::{Canvas, Texel};
use crate::color::{mix, scaled};
use crate::detail::Plan;
use crate::dice::{hash, lattice_seed, unit};
use crate::maps::{Finish, Made};
use crate::noise::{Cells, Noise, Octaves, Value, Warp};

const SIZE_M: f32 = 4.0;

pub(crate) fn ice(size: usize, seed: Seed) -> Made {
    let s = |name| lattice_seed(seed, name);
    let fold = Warp::new(s("fold"), 3, 4, 0.05);
    let foliation = Octaves::directional(s("foliation"), [3, 18], 4, 0.6);
    let swell = Octaves::new(s("swell"), 4, 4, 0.5);
    let crust = Octaves::new(s("crust"), 40, 4, 0.75);
    let grains = Cells { jitter: 1.0, ..Cells::new(s("grains"), 110) };
    let cracks = Cells { jitter: 1.0, period: [5, 3], ..Cells::new(s("cracks"), 5) };
    let wander = Warp::new(s("wander"), 9, 5, 0.014);
    let fine_cracks = Cells { jitter: 1.0, ..Cells::new(s("fine cracks"), 14) };
    let holes = Cells { jitter: 1.0, ..Cells::new(s("holes"), 34) };
    let dirt = Octaves::new(s("dirt"), 5, 4, 0.6);
    let dust = Value::new(s("dust"), 380);
    let canvas = Canvas::from_fn(size, SIZE_M, |u, v| {
        let (fu, fv) = fold.at(u, v);
        let band = foliation.at(fu, fv);
        let rough = crust.at(u, v);
        let clear = smoothstep(0.0, 0.4, band + 0.06 * rough);
        let grain = grains.nearest(u, v);
        // White weathering crust of loosened crystals; clear bands stay smooth and blue.
        let tone = lerp(0.88, 1.1, unit(grain.id));
        let white = scaled([0.60, 0.68, 0.71], tone * (1.0 + 0.12 * rough));
        let blue = scaled([0.27, 0.43, 0.52], 1.0 + 0.06 * rough);
        let mut color = mix(white, blue, 0.85 * clear);
        let mut height = 0.06 * swell.at(u, v) + 0.012 * band + 0.006 * rough * (1.0 - clear)
            - 0.0012 * (1.0 - clear) * (1.0 - smoothstep(0.0, 0.25, grain.edge));

        let (wu, wv) = wander.at(u, v);
        let crack = cracks.nearest(wu, wv);
        let width = 0.006 + 0.010 * unit(hash(crack.id ^ crack.neighbor, 1, 0));
        let healed = 1.0 - smoothstep(0.4 * width, width, crack.edge);
        let hair = fine_cracks.nearest(wu, wv);
        let some = smoothstep(0.5, 0.7, unit(hash(hair.id ^ hair.neighbor, 2, 0)));
        let hairline = some * (1.0 - smoothstep(0.008, 0.026, hair.edge)) * lerp(0.35, 1.0, clear);
        color = mix(color, [0.72, 0.78, 0.80], 0.55 * healed.max(0.65 * hairline));
        height -= 0.005 * healed + 0.002 * hairline;

        // Dust gathers heat and melts its way in.
        let (hole, distance) = holes.point_near(u, v);
        let dirty = smoothstep(-0.15, 0.5, dirt.at(u, v));
        let there = if unit(hash(hole, 1, 0)) < 0.10 + 0.35 * dirty { 1.0 } else { 0.0 };
        let radius = 0.04 + 0.16 * unit(hash(hole, 2, 0)) * unit(hash(hole, 3, 0));
        let pit = there * (1.0 - smoothstep(0.75 * radius, radius, distance + 0.012 * rough));
        height -= 0.03 * pit;
        color = mix(color, [0.10, 0.095, 0.085], 0.8 * pit);
        let speck = smoothstep(0.62, 0.95, dust.at(u, v) + 0.25 * dirty) * 0.5;
        color = mix(color, [0.19, 0.175, 0.15], speck * (1.0 - 0.6 * clear));
        Texel { height_m: height, color, roughness: lerp(0.55, 0.16, clear) + 0.2 * speck + 0.15 * pit }
    });
    Made {
        canvas,
        finish: Finish { keep_color: 0.3, keep_height: 0.4, cavity: 0.3, occlusion_m: 0.2 },
        detail: Plan::Pattern {
            size_m: 49.0,
            period: [4, 8],
            tone: 0.10,
            tint: [-0.035, -0.01, 0.01],
            joints: Some(([7, 5], -0.22)),
        },
    }
}
