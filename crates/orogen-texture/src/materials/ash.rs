//! Ash: grey powder that settled in clots, with charred bits in it.

use orogen_core::Seed;
use orogen_core::math::smoothstep;

use crate::canvas::{Canvas, Texel};
use crate::color::{mix, scaled};
use crate::detail::Plan;
use crate::dice::{Dice, lattice_seed};
use crate::maps::{Finish, Made};
use crate::noise::{Noise, Octaves, Value, Warp};
use crate::shapes::{Blade, Grain, Stone, StoneKind, Stroke, heap, power_sizes, strokes};

const SIZE_M: f32 = 2.0;

pub(crate) fn ash(size: usize, seed: Seed) -> Made {
    let s = |name| lattice_seed(seed, name);
    let swell = Octaves::new(s("swell"), 5, 4, 0.5);
    let clots = Octaves::new(s("clots"), 22, 5, 0.6);
    let drift = Warp::new(s("drift"), 6, 4, 0.03);
    let pale = Octaves::new(s("pale"), 11, 5, 0.66);
    let powder = Value::new(s("powder"), 500);
    let mut canvas = Canvas::from_fn(size, SIZE_M, |u, v| {
        let (du, dv) = drift.at(u, v);
        let clot = clots.billow(du, dv);
        let light = smoothstep(-0.25, 0.45, pale.at(du, dv) + 0.25 * clot);
        let color = mix([0.092, 0.088, 0.085], [0.165, 0.160, 0.155], light);
        Texel {
            height_m: 0.020 * swell.at(u, v) + 0.010 * clot + 0.0008 * powder.at(u, v),
            color: scaled(color, 1.0 + 0.12 * powder.at(u, v) + 0.25 * (clot - 0.3)),
            roughness: 0.97,
        }
    });
    let mut dice = Dice::new(seed, "cinders");
    let cinder = StoneKind {
        thickness: [0.4, 0.8],
        aspect: [0.45, 0.95],
        rounded: 0.35,
        sunk: 0.35,
        tones: vec![
            [0.060, 0.057, 0.055],
            [0.115, 0.110, 0.106],
            [0.040, 0.038, 0.037],
            [0.150, 0.142, 0.135],
        ],
        contrast: 0.12,
        roughness: 0.9,
        dirt: [0.12, 0.116, 0.112],
    };
    let cinders = power_sizes(&mut dice, 5200, [0.0022, 0.022], 2.2);
    let cinders = cinders
        .into_iter()
        .map(|r| {
            let place = dice.place(SIZE_M);
            Stone::new(&mut dice, &cinder, place, r)
        })
        .collect();
    let grain = Grain { noise: Octaves::new(s("grain"), 90, 3, 0.8), relief_m: 0.0014, tone: 0.3 };
    heap(&mut canvas, cinders, &cinder, &grain);
    canvas.lay(&charcoal(&canvas, &mut dice));
    Made {
        canvas,
        finish: Finish { keep_color: 0.25, keep_height: 0.4, cavity: 0.4, occlusion_m: 0.08 },
        detail: Plan::Turned,
    }
}

/// Charred sticks.
fn charcoal(canvas: &Canvas, dice: &mut Dice) -> Vec<Stroke> {
    let ground = canvas.heights();
    let mut all = Vec::new();
    for _ in 0..190 {
        let root = dice.place(SIZE_M);
        let base = ground.sample(root[0] / SIZE_M, root[1] / SIZE_M);
        let thick = dice.between(0.0008, 0.0034);
        let color = scaled([0.030, 0.028, 0.027], dice.between(0.7, 1.8));
        let blade = Blade {
            root,
            direction: dice.direction(),
            length_m: thick * dice.between(8.0, 34.0),
            bend: dice.between(-0.15, 0.15),
            half_width_m: thick,
            heights_m: [base + 0.001, base + thick + 0.002, base + 0.001],
            colors: [color, scaled(color, 1.5)],
            bulge: 1.0,
            taper: 0.35,
            roughness: 0.75,
        };
        all.extend(strokes(&blade, 4));
    }
    all
}
