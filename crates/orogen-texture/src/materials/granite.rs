//! Weathered granite: coarse grains, exfoliation joints, patches of lichen.

use orogen_core::Seed;
use orogen_core::math::{lerp, smoothstep};

use crate::canvas::{Canvas, Texel};
use crate::color::{mix, scaled};
use crate::detail::Plan;
use crate::dice::{hash, lattice_seed, unit};
use crate::maps::{Finish, Made};
use crate::noise::{Cells, Noise, Octaves, Value, Warp};

const SIZE_M: f32 = 3.0;

pub(crate) fn granite(size: usize, seed: Seed) -> Made {
    let s = |name| lattice_seed(seed, name);
    let crystals = Cells::new(s("crystals"), 300);
    let bend = Warp::new(s("bend"), 150, 2, 0.0016);
    let swell = Octaves::new(s("swell"), 3, 6, 0.55);
    let fine = Octaves::new(s("fine"), 26, 5, 0.66);
    let joints = Cells { jitter: 1.0, ..Cells::new(s("joints"), 7) };
    let wander = Warp::new(s("wander"), 9, 5, 0.022);
    let open = Octaves::new(s("open"), 14, 3, 0.5);
    let stain = Octaves::new(s("stain"), 5, 5, 0.6);
    let spots = Cells { jitter: 1.0, ..Cells::new(s("spots"), 22) };
    let ragged = Warp::new(s("ragged"), 40, 4, 0.010);
    let speckle = Value::new(s("speckle"), 420);
    let canvas = Canvas::from_fn(size, SIZE_M, |u, v| {
        let (cu, cv) = bend.at(u, v);
        let (crystal, _) = crystals.point_near(cu, cv);
        let kind = unit(crystal);
        let tone = 0.85 + 0.3 * unit(hash(crystal, 1, 0));
        // Feldspar, quartz, white plagioclase, black mica.
        let (mineral, proud) = if kind < 0.46 {
            ([0.36, 0.315, 0.275], 0.6)
        } else if kind < 0.74 {
            ([0.27, 0.262, 0.25], 1.0)
        } else if kind < 0.86 {
            ([0.47, 0.45, 0.42], 0.5)
        } else {
            ([0.075, 0.07, 0.066], -0.6)
        };
        let grain = fine.at(u, v);
        let mut color = scaled(mineral, tone * (1.0 + 0.10 * speckle.at(u, v)));
        let mut height = 0.07 * swell.at(u, v) + 0.009 * grain + 0.0009 * proud;
        // A skin of weathering hides part of the grains.
        let skin = smoothstep(-0.35, 0.5, stain.at(u, v) + 0.35 * grain);
        color = mix(color, [0.245, 0.225, 0.20], 0.25 + 0.35 * skin);

        let (ju, jv) = wander.at(u, v);
        let joint = joints.nearest(ju, jv);
        let pair = unit(hash(joint.id ^ joint.neighbor, 3, 0));
        // Few borders have opened, and none evenly.
        let apart = smoothstep(0.45, 0.85, pair) * (0.25 + 0.75 * smoothstep(-0.3, 0.3, open.at(u, v)));
        let width = 0.022 * apart;
        let deep = apart.sqrt() * (1.0 - smoothstep(0.25 * width, width + 0.004, joint.edge));
        let shoulder = apart * (1.0 - smoothstep(0.0, 0.16, joint.edge));
        let side = apart * lerp(-0.02, 0.02, unit(joint.id)) * (1.0 - smoothstep(0.0, 0.3, joint.edge));
        height += side - 0.012 * shoulder * shoulder - 0.025 * deep;
        color = mix(color, [0.105, 0.092, 0.075], 0.8 * deep);

        let (lu, lv) = ragged.at(u, v);
        let (spot, distance) = spots.point_near(lu, lv);
        let size = 0.08 + 0.42 * unit(hash(spot, 5, 0)) * unit(hash(spot, 6, 0));
        let patch = (1.0 - smoothstep(0.8 * size, size, distance)) * (1.0 - deep);
        let crust = patch * (0.55 + 0.45 * smoothstep(0.0, 0.3, speckle.at(v, u)));
        let lichen = if unit(hash(spot, 7, 0)) < 0.45 {
            [0.105, 0.105, 0.098]
        } else if unit(hash(spot, 8, 0)) < 0.85 {
            [0.34, 0.35, 0.29]
        } else {
            [0.29, 0.265, 0.13]
        };
        color = mix(color, lichen, 0.75 * crust);
        height += 0.0012 * crust;
        Texel {
            height_m: height,
            color,
            roughness: 0.78 + 0.1 * skin - if kind < 0.74 && kind > 0.46 { 0.12 } else { 0.0 },
        }
    });
    Made {
        canvas,
        finish: Finish { keep_color: 0.35, keep_height: 0.35, cavity: 0.5, occlusion_m: 0.25 },
        detail: Plan::Pattern {
            size_m: 41.0,
            period: [5, 7],
            tone: 0.12,
            tint: [0.014, 0.0, -0.012],
            joints: Some(([13, 9], 0.30)),
        },
    }
}
