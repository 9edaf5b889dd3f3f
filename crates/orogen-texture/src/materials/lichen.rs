//! Heath of the tundra: pale cushions of reindeer lichen among dwarf shrubs, moss and old leaves.

use orogen_core::Seed;
use orogen_core::math::{lerp, smoothstep};

use crate::canvas::{Canvas, Texel};
use crate::color::{mix, scaled};
use crate::detail::Plan;
use crate::dice::{Dice, lattice_seed, turned};
use crate::field::Field;
use crate::maps::{Finish, Made};
use crate::noise::{Noise, Octaves};
use crate::shapes::{Blade, Leaf, Stroke, jittered, strokes};

const SIZE_M: f32 = 2.0;

pub(crate) fn lichen(size: usize, seed: Seed) -> Made {
    let s = |name| lattice_seed(seed, name);
    let swell = Octaves::new(s("swell"), 5, 4, 0.55);
    let crumbs = Octaves::new(s("crumbs"), 60, 4, 0.85);
    let patches = Octaves::new(s("patches"), 15, 3, 0.6);
    let mut canvas = Canvas::from_fn(size, SIZE_M, |u, v| {
        let crumb = crumbs.at(u, v);
        let color = mix([0.085, 0.064, 0.042], [0.078, 0.080, 0.036], smoothstep(-0.2, 0.3, swell.at(v, u)));
        Texel {
            height_m: 0.018 * swell.at(u, v) + 0.004 * crumb,
            color: scaled(color, 1.0 + 0.6 * crumb),
            roughness: 0.95,
        }
    });
    let ground = canvas.heights();
    let mut dice = Dice::new(seed, "heath");
    canvas.lay(&shrubs(&mut dice, &ground, &patches));
    canvas.lay(&cushions(&mut dice, &ground, &patches));
    let ground = canvas.heights();
    canvas.lay(&small_leaves(&mut dice, &ground, &patches));
    Made {
        canvas,
        finish: Finish { keep_color: 0.2, keep_height: 0.5, cavity: 0.5, occlusion_m: 0.08 },
        detail: Plan::Pattern {
            size_m: 29.0,
            period: [6, 6],
            tone: 0.13,
            tint: [0.03, 0.01, -0.02],
            joints: None,
        },
    }
}

/// Cushions of lichen: branches that fork and fork again, outwards and up.
fn cushions(dice: &mut Dice, ground: &Field, patches: &Octaves) -> Vec<Stroke> {
    let mut all: Vec<(f32, Stroke)> = Vec::new();
    for center in jittered(dice, SIZE_M, 2200, 1.0) {
        let (u, v) = (center[0] / SIZE_M, center[1] / SIZE_M);
        let lush = patches.at(u, v);
        if lush + dice.between(-0.35, 0.35) < -0.08 {
            continue;
        }
        let base = ground.sample(u, v);
        let radius = dice.between(0.018, 0.045);
        let pale = mix([0.335, 0.330, 0.225], [0.250, 0.258, 0.185], dice.unit());
        let pale = scaled(pale, dice.between(0.82, 1.15));
        for _ in 0..(radius * 1500.0) as usize {
            let (way, out) = (dice.direction(), dice.unit().sqrt());
            let root = [center[0] + way[0] * out * radius, center[1] + way[1] * out * radius];
            let dome = (1.0 - out * out).max(0.0).sqrt();
            let height = base + 0.008 + 0.5 * radius * dome;
            let tone = scaled(pale, lerp(0.7, 1.0, dome) * dice.between(0.8, 1.2));
            let (mut from, mut direction) = (root, turned(way, dice.between(-1.0, 1.0)));
            for fork in 0..2 {
                let length = [0.0055, 0.0038][fork] * dice.between(0.7, 1.4);
                for side in [0.55, -0.55] {
                    let to = turned(direction, side * dice.between(0.6, 1.3));
                    let end = [from[0] + to[0] * length, from[1] + to[1] * length];
                    all.push((
                        height,
                        Stroke {
                            ends: [from, end],
                            half_width: [0.0012, 0.0008],
                            height_m: [height, height + 0.0025],
                            colors: [scaled(tone, 0.75), scaled(tone, 1.12)],
                            bulge: 0.9,
                            roughness: 0.92,
                        },
                    ));
                }
                let step = turned(direction, dice.between(-0.5, 0.5));
                from = [from[0] + step[0] * length, from[1] + step[1] * length];
                direction = step;
            }
        }
    }
    all.sort_by(|a, b| a.0.total_cmp(&b.0));
    all.into_iter().map(|(_, stroke)| stroke).collect()
}

/// Heather and crowberry: brown stems with short dark leaves on both sides.
fn shrubs(dice: &mut Dice, ground: &Field, patches: &Octaves) -> Vec<Stroke> {
    let mut all = Vec::new();
    for root in jittered(dice, SIZE_M, 5200, 1.0) {
        let (u, v) = (root[0] / SIZE_M, root[1] / SIZE_M);
        if patches.at(u, v) + dice.between(-0.3, 0.3) > 0.4 {
            continue;
        }
        let base = ground.sample(u, v);
        let direction = dice.direction();
        let length = dice.between(0.035, 0.09);
        let lift = dice.between(0.008, 0.026);
        let bend = dice.between(-0.5, 0.5);
        let stem = mix([0.095, 0.058, 0.036], [0.070, 0.050, 0.036], dice.unit());
        let green = mix([0.060, 0.068, 0.026], [0.120, 0.072, 0.038], dice.unit() * dice.unit());
        let green = scaled(green, dice.between(0.8, 1.3));
        let twig = Blade {
            root,
            direction,
            length_m: length,
            bend,
            half_width_m: 0.0012,
            heights_m: [base, base + lift, base + lift],
            colors: [stem, scaled(stem, 1.2)],
            bulge: 1.0,
            taper: 0.5,
            roughness: 0.85,
        };
        all.extend(strokes(&twig, 4));
        for k in 0..(length * 420.0) as usize {
            let t = dice.between(0.25, 1.0);
            let side = if k % 2 == 0 { 1.0 } else { -1.0 };
            let aside = length * bend * t * t;
            let from = [
                root[0] + direction[0] * length * t - direction[1] * aside,
                root[1] + direction[1] * length * t + direction[0] * aside,
            ];
            let to = turned(direction, side * dice.between(0.5, 1.1));
            let leaf = dice.between(0.004, 0.0075);
            let tone = scaled(green, dice.between(0.75, 1.3));
            all.push(Stroke {
                ends: [from, [from[0] + to[0] * leaf, from[1] + to[1] * leaf]],
                half_width: [0.0013, 0.0009],
                height_m: [base + lift * t + 0.003; 2],
                colors: [scaled(tone, 0.8), scaled(tone, 1.2)],
                bulge: 0.6,
                roughness: 0.75,
            });
        }
    }
    all
}

/// Leaves of bearberry and dwarf birch, green to red.
fn small_leaves(dice: &mut Dice, ground: &Field, patches: &Octaves) -> Vec<Leaf> {
    let mut all = Vec::new();
    for _ in 0..1500 {
        let center = dice.place(SIZE_M);
        let (u, v) = (center[0] / SIZE_M, center[1] / SIZE_M);
        if patches.at(v, u) + dice.between(-0.2, 0.2) < 0.12 {
            continue;
        }
        let red = dice.unit();
        let color = mix([0.085, 0.100, 0.030], [0.190, 0.068, 0.032], red * red);
        all.push(Leaf {
            center,
            direction: dice.direction(),
            half_length_m: dice.between(0.006, 0.011),
            aspect: dice.between(0.5, 0.7),
            height_m: ground.sample(u, v) + dice.between(0.001, 0.004),
            curl_m: dice.between(0.0, 0.002),
            lean: [dice.between(-0.3, 0.3), dice.between(-0.3, 0.3)],
            lobes: 0.0,
            color: scaled(color, dice.between(0.75, 1.3)),
            decay: 0.3 * dice.unit(),
        });
    }
    all
}
