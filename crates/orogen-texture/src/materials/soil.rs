//! Bare soil: crumbs and clods of one earth, a few pebbles, straws and root fibres.

use orogen_core::Seed;
use orogen_core::math::smoothstep;

use crate::canvas::{Canvas, Texel};
use crate::color::{mix, scaled};
use crate::detail::Plan;
use crate::dice::{Dice, lattice_seed};
use crate::maps::{Finish, Made};
use crate::noise::{Cells, Noise, Octaves, Warp};
use crate::shapes::{Blade, Grain, Stone, StoneKind, Stroke, heap, power_sizes, strokes};

const SIZE_M: f32 = 2.0;

pub(crate) fn soil(size: usize, seed: Seed) -> Made {
    let s = |name| lattice_seed(seed, name);
    let swell = Octaves::new(s("swell"), 5, 4, 0.55);
    let crumbs = Cells::new(s("crumbs"), 90);
    let grit = Cells::new(s("grit"), 230);
    let push = Warp::new(s("push"), 40, 3, 0.005);
    let damp = Octaves::new(s("damp"), 7, 4, 0.6);
    let mut canvas = Canvas::from_fn(size, SIZE_M, |u, v| {
        let (pu, pv) = push.at(u, v);
        let crumb = 0.5 + 0.30 * crumbs.at(pu, pv) + 0.2 * grit.at(pu, pv);
        let wet = smoothstep(-0.4, 0.5, damp.at(u, v));
        let color = mix([0.125, 0.090, 0.060], [0.090, 0.060, 0.038], wet);
        Texel {
            height_m: 0.022 * swell.at(u, v) + 0.013 * crumb,
            color: scaled(color, 0.72 + 0.6 * crumb),
            roughness: 0.95,
        }
    });
    let kind = StoneKind {
        thickness: [0.5, 0.95],
        aspect: [0.6, 1.0],
        rounded: 0.6,
        sunk: 0.38,
        tones: vec![
            [0.118, 0.082, 0.053],
            [0.100, 0.069, 0.044],
            [0.138, 0.097, 0.063],
            [0.112, 0.080, 0.054],
        ],
        contrast: 0.10,
        roughness: 0.95,
        dirt: [0.085, 0.058, 0.037],
    };
    let mut dice = Dice::new(seed, "clods");
    let clods = power_sizes(&mut dice, 16_000, [0.0035, 0.036], 1.9);
    let clods = clods
        .into_iter()
        .map(|r| {
            let place = dice.place(SIZE_M);
            Stone::new(&mut dice, &kind, place, r)
        })
        .collect();
    let grain = Grain { noise: Octaves::new(s("grain"), 54, 4, 0.7), relief_m: 0.0022, tone: 0.35 };
    heap(&mut canvas, clods, &kind, &grain);

    let pebble = StoneKind {
        rounded: 0.5,
        tones: vec![[0.21, 0.19, 0.165], [0.16, 0.14, 0.115], [0.25, 0.215, 0.17]],
        contrast: 0.15,
        roughness: 0.8,
        dirt: [0.105, 0.073, 0.047],
        sunk: 0.5,
        ..kind
    };
    let pebbles = power_sizes(&mut dice, 420, [0.004, 0.022], 2.0);
    let pebbles = pebbles
        .into_iter()
        .map(|r| {
            let place = dice.place(SIZE_M);
            Stone::new(&mut dice, &pebble, place, r)
        })
        .collect();
    heap(&mut canvas, pebbles, &pebble, &Grain { relief_m: 0.0005, tone: 0.2, ..grain });
    canvas.lay(&straws(&canvas, &mut dice));
    Made {
        canvas,
        finish: Finish { keep_color: 0.3, keep_height: 0.4, cavity: 0.5, occlusion_m: 0.1 },
        detail: Plan::Turned,
    }
}

/// Bits of straw and root that lie on the clods.
fn straws(canvas: &Canvas, dice: &mut Dice) -> Vec<Stroke> {
    let ground = canvas.heights();
    let mut all = Vec::new();
    for _ in 0..260 {
        let root = dice.place(SIZE_M);
        let base = ground.sample(root[0] / SIZE_M, root[1] / SIZE_M);
        let tone = dice.between(0.6, 1.15);
        let color = scaled([0.235, 0.185, 0.115], tone);
        let blade = Blade {
            root,
            direction: dice.direction(),
            length_m: dice.between(0.012, 0.07),
            bend: dice.between(-0.35, 0.35),
            half_width_m: dice.between(0.0006, 0.0016),
            heights_m: [base + 0.003, base + 0.007, base + 0.003],
            colors: [color, scaled(color, 0.85)],
            bulge: 0.8,
            taper: 0.6,
            roughness: 0.8,
        };
        all.extend(strokes(&blade, 4));
    }
    all
}
