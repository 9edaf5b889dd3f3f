//! Pebbles of a river bed, rounded and of many rocks, with sand between them.

use orogen_core::Seed;

use crate::canvas::{Canvas, Texel};
use crate::color::scaled;
use crate::detail::Plan;
use crate::dice::{Dice, lattice_seed};
use crate::maps::{Finish, Made};
use crate::noise::{Noise, Octaves};
use crate::shapes::{Grain, Stone, StoneKind, heap, power_sizes};

const SIZE_M: f32 = 2.0;

pub(crate) fn gravel(size: usize, seed: Seed) -> Made {
    let swell = Octaves::new(lattice_seed(seed, "swell"), 5, 3, 0.5);
    let fines = Octaves::new(lattice_seed(seed, "fines"), 120, 3, 0.9);
    let mut canvas = Canvas::from_fn(size, SIZE_M, |u, v| {
        let fine = fines.at(u, v);
        Texel {
            height_m: 0.012 * swell.at(u, v) + 0.0025 * fine,
            color: scaled([0.185, 0.15, 0.11], 1.0 + 0.5 * fine),
            roughness: 0.9,
        }
    });
    let kind = StoneKind {
        thickness: [0.45, 0.85],
        aspect: [0.55, 0.95],
        rounded: 0.85,
        sunk: 0.3,
        tones: vec![
            [0.26, 0.25, 0.235],
            [0.19, 0.185, 0.18],
            [0.33, 0.30, 0.26],
            [0.245, 0.20, 0.16],
            [0.29, 0.27, 0.235],
            [0.42, 0.40, 0.365],
            [0.22, 0.205, 0.18],
            [0.25, 0.17, 0.13],
        ],
        contrast: 0.12,
        roughness: 0.66,
        dirt: [0.17, 0.138, 0.10],
    };
    let mut dice = Dice::new(seed, "pebbles");
    let pebbles = |dice: &mut Dice, count, sizes| -> Vec<Stone> {
        let sizes = power_sizes(dice, count, sizes, 1.8);
        sizes
            .into_iter()
            .map(|r| {
                let place = dice.place(SIZE_M);
                Stone::new(dice, &kind, place, r)
            })
            .collect()
    };
    let mut all = pebbles(&mut dice, 8000, [0.008, 0.04]);
    all.extend(pebbles(&mut dice, 4200, [0.010, 0.06]));
    all.extend(pebbles(&mut dice, 4500, [0.006, 0.035]));
    let grain =
        Grain { noise: Octaves::new(lattice_seed(seed, "grain"), 60, 4, 0.75), relief_m: 0.0006, tone: 0.28 };
    heap(&mut canvas, all, &kind, &grain);
    Made {
        canvas,
        finish: Finish { keep_color: 0.2, keep_height: 0.35, cavity: 0.4, occlusion_m: 0.08 },
        detail: Plan::Turned,
    }
}
