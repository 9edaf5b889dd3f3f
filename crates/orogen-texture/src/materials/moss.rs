//! Cushions of moss, each of many small stars of leaves.

use orogen_core::Seed;
use orogen_core::math::{lerp, smoothstep};

use crate::canvas::{Canvas, Texel};
use crate::color::{mix, scaled};
use crate::detail::Plan;
use crate::dice::{Dice, hash, lattice_seed, turned, unit};
use crate::maps::{Finish, Made};
use crate::noise::{Cells, Noise, Octaves, Warp};
use crate::shapes::{Stroke, jittered};

const SIZE_M: f32 = 1.5;

pub(crate) fn moss(size: usize, seed: Seed) -> Made {
    let s = |name| lattice_seed(seed, name);
    let cushions = Cells { jitter: 0.95, ..Cells::new(s("cushions"), 10) };
    let small = Cells { jitter: 1.0, ..Cells::new(s("small"), 27) };
    let bend = Warp::new(s("bend"), 9, 2, 0.010);
    let swell = Octaves::new(s("swell"), 4, 3, 0.5);
    let fine = Octaves::new(s("fine"), 80, 3, 0.8);
    let hue = Octaves::new(s("hue"), 5, 4, 0.6);
    let surface = |u: f32, v: f32| {
        let (bu, bv) = bend.at(u, v);
        let (cushion, bump) = (cushions.nearest(bu, bv), small.nearest(bu, bv));
        let dome = smoothstep(-0.12, 0.5, cushion.edge);
        let high = lerp(0.5, 1.15, unit(hash(cushion.id, 1, 0)));
        let height = 0.030 * dome * high + 0.008 * smoothstep(0.0, 0.5, bump.edge) + 0.014 * swell.at(u, v);
        (height, dome, cushion.id)
    };
    let mut canvas = Canvas::from_fn(size, SIZE_M, |u, v| {
        let (height, dome, id) = surface(u, v);
        let grain = fine.at(u, v);
        let green = mix([0.040, 0.055, 0.014], [0.062, 0.080, 0.020], dome * (0.6 + 0.4 * unit(id)));
        Texel { height_m: height + 0.0025 * grain, color: scaled(green, 1.0 + 0.5 * grain), roughness: 0.95 }
    });
    let mut dice = Dice::new(seed, "stars");
    let mut stars: Vec<Stroke> = Vec::new();
    for center in jittered(&mut dice, SIZE_M, 13_000, 1.0) {
        let (u, v) = (center[0] / SIZE_M, center[1] / SIZE_M);
        let (height, dome, id) = surface(u, v);
        let yellow = (0.45 + 0.9 * hue.at(u, v) + 0.5 * (unit(hash(id, 2, 0)) - 0.5)).clamp(0.0, 1.0);
        let green = mix([0.058, 0.090, 0.020], [0.125, 0.135, 0.030], yellow);
        let green = scaled(green, lerp(0.62, 1.0, dome) * dice.between(0.75, 1.25));
        let start = dice.between(0.0, 1.3);
        let leaves = 5 + (dice.unit() * 2.0) as usize;
        let reach = dice.between(0.0055, 0.0100);
        for leaf in 0..leaves {
            let way = turned([1.0, 0.0], start + leaf as f32 * std::f32::consts::TAU / leaves as f32);
            let length = reach * dice.between(0.8, 1.2);
            stars.push(Stroke {
                ends: [center, [center[0] + way[0] * length, center[1] + way[1] * length]],
                half_width: [0.0013, 0.0006],
                height_m: [height + 0.0045, height + 0.0015],
                colors: [scaled(green, 1.35), scaled(green, 0.85)],
                bulge: 0.5,
                roughness: 0.85,
            });
        }
    }
    canvas.lay(&stars);
    Made {
        canvas,
        finish: Finish { keep_color: 0.25, keep_height: 0.35, cavity: 0.5, occlusion_m: 0.06 },
        detail: Plan::Pattern {
            size_m: 23.0,
            period: [6, 6],
            tone: 0.12,
            tint: [0.05, 0.015, 0.0],
            joints: None,
        },
    }
}
