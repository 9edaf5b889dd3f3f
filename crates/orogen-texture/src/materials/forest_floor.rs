//! The floor of a mixed wood: leaves of last year over older ones, needles, twigs, humus.

use orogen_core::Seed;
use orogen_core::math::smoothstep;

use crate::canvas::{Canvas, Texel};
use crate::color::{Color, mix, scaled};
use crate::detail::Plan;
use crate::dice::{Dice, lattice_seed};
use crate::field::Field;
use crate::maps::{Finish, Made};
use crate::noise::{Noise, Octaves};
use crate::shapes::{Blade, Leaf, Stroke, strokes};

const SIZE_M: f32 = 2.0;

/// Browns of fallen leaves, from fresh to rotten.
const BROWNS: [Color; 6] = [
    [0.215, 0.130, 0.068],
    [0.165, 0.098, 0.052],
    [0.245, 0.165, 0.090],
    [0.125, 0.078, 0.045],
    [0.190, 0.135, 0.080],
    [0.100, 0.066, 0.040],
];

pub(crate) fn forest_floor(size: usize, seed: Seed) -> Made {
    let s = |name| lattice_seed(seed, name);
    let swell = Octaves::new(s("swell"), 5, 4, 0.55);
    let crumbs = Octaves::new(s("crumbs"), 60, 4, 0.85);
    let damp = Octaves::new(s("damp"), 6, 3, 0.6);
    let mut canvas = Canvas::from_fn(size, SIZE_M, |u, v| {
        let crumb = crumbs.at(u, v);
        let color = mix([0.050, 0.034, 0.022], [0.072, 0.050, 0.031], smoothstep(-0.3, 0.3, damp.at(u, v)));
        Texel {
            height_m: 0.020 * swell.at(u, v) + 0.004 * crumb,
            color: scaled(color, 1.0 + 0.6 * crumb),
            roughness: 0.95,
        }
    });
    let mut dice = Dice::new(seed, "litter");
    // In three falls, so that needles and twigs lie between leaves as well as on them.
    for (fall, (leaves, needles, twigs)) in
        [(1500, 1500, 30), (1000, 2600, 50), (420, 2200, 60)].into_iter().enumerate()
    {
        let ground = canvas.heights();
        canvas.lay(&self::leaves(&mut dice, &ground, leaves, fall));
        let ground = canvas.heights();
        canvas.lay(&self::needles(&mut dice, &ground, needles));
        canvas.lay(&self::twigs(&mut dice, &ground, twigs));
    }
    Made {
        canvas,
        finish: Finish { keep_color: 0.3, keep_height: 0.4, cavity: 0.5, occlusion_m: 0.08 },
        detail: Plan::Pattern {
            size_m: 31.0,
            period: [6, 6],
            tone: 0.11,
            tint: [0.02, 0.0, -0.01],
            joints: None,
        },
    }
}

fn height_at(ground: &Field, place: [f32; 2]) -> f32 {
    ground.sample(place[0] / SIZE_M, place[1] / SIZE_M)
}

/// Leaves of beech and oak; those that fell first are darker.
fn leaves(dice: &mut Dice, ground: &Field, count: usize, fall: usize) -> Vec<Leaf> {
    let fresh = [0.62, 0.85, 1.08][fall];
    (0..count)
        .map(|_| {
            let center = dice.place(SIZE_M);
            let oak = dice.chance(0.35);
            let brown = BROWNS[(dice.unit() * BROWNS.len() as f32) as usize % BROWNS.len()];
            let half_length_m = if oak { dice.between(0.032, 0.055) } else { dice.between(0.022, 0.040) };
            Leaf {
                center,
                direction: dice.direction(),
                half_length_m,
                aspect: if oak { dice.between(0.42, 0.56) } else { dice.between(0.40, 0.55) },
                height_m: height_at(ground, center) + dice.between(0.002, 0.008),
                curl_m: dice.between(-0.004, 0.009),
                lean: [dice.between(-0.22, 0.22), dice.between(-0.25, 0.25)],
                lobes: if oak { 6.0 } else { 0.0 },
                color: scaled(brown, fresh * dice.between(0.75, 1.2)),
                decay: dice.unit(),
            }
        })
        .collect()
}

/// Needles of pine and spruce.
fn needles(dice: &mut Dice, ground: &Field, count: usize) -> Vec<Stroke> {
    let mut all = Vec::with_capacity(count * 2);
    for _ in 0..count {
        let root = dice.place(SIZE_M);
        let base = height_at(ground, root) + dice.between(0.0005, 0.003);
        let color =
            scaled(mix([0.185, 0.105, 0.050], [0.120, 0.078, 0.044], dice.unit()), dice.between(0.7, 1.25));
        let blade = Blade {
            root,
            direction: dice.direction(),
            length_m: dice.between(0.018, 0.055),
            bend: dice.between(-0.12, 0.12),
            half_width_m: dice.between(0.0005, 0.0009),
            heights_m: [base, base + 0.0015, base],
            colors: [color, scaled(color, 0.9)],
            bulge: 1.0,
            taper: 0.5,
            roughness: 0.7,
        };
        all.extend(strokes(&blade, 2));
    }
    all
}

/// Twigs, with side shoots.
fn twigs(dice: &mut Dice, ground: &Field, count: usize) -> Vec<Stroke> {
    let mut all = Vec::new();
    for _ in 0..count {
        let root = dice.place(SIZE_M);
        let base = height_at(ground, root) + 0.004;
        let length = dice.between(0.05, 0.28);
        let thick = dice.between(0.0012, 0.0036);
        let color =
            scaled(mix([0.120, 0.095, 0.070], [0.070, 0.050, 0.036], dice.unit()), dice.between(0.8, 1.3));
        let direction = dice.direction();
        let twig = Blade {
            root,
            direction,
            length_m: length,
            bend: dice.between(-0.25, 0.25),
            half_width_m: thick,
            heights_m: [base, base + thick + 0.006, base + 0.002],
            colors: [color, scaled(color, 0.85)],
            bulge: 1.0,
            taper: 0.45,
            roughness: 0.85,
        };
        all.extend(strokes(&twig, 6));
        for _ in 0..(length * 12.0) as usize {
            let t = dice.between(0.15, 0.9);
            let side = if dice.chance(0.5) { 0.8 } else { -0.8 };
            let from = [root[0] + direction[0] * length * t, root[1] + direction[1] * length * t];
            let shoot = Blade {
                root: [
                    from[0] - direction[1] * length * twig.bend * t * t,
                    from[1] + direction[0] * length * twig.bend * t * t,
                ],
                direction: crate::dice::turned(direction, side * dice.between(0.6, 1.3)),
                length_m: length * dice.between(0.1, 0.3),
                half_width_m: thick * 0.55,
                ..twig
            };
            all.extend(strokes(&shoot, 3));
        }
    }
    all
}
