//! Angular rubble as it fell, coarse on fine.

use orogen_core::Seed;

use crate::canvas::{Canvas, Texel};
use crate::color::scaled;
use crate::detail::Plan;
use crate::dice::{Dice, lattice_seed};
use crate::maps::{Finish, Made};
use crate::noise::{Noise, Octaves};
use crate::shapes::{Grain, Stone, StoneKind, heap, power_sizes};

const SIZE_M: f32 = 3.0;

pub(crate) fn scree(size: usize, seed: Seed) -> Made {
    let swell = Octaves::new(lattice_seed(seed, "swell"), 4, 3, 0.5);
    let fines = Octaves::new(lattice_seed(seed, "fines"), 60, 4, 0.8);
    let mut canvas = Canvas::from_fn(size, SIZE_M, |u, v| {
        let fine = fines.at(u, v);
        Texel {
            height_m: 0.05 * swell.at(u, v) + 0.006 * fine,
            color: scaled([0.13, 0.118, 0.10], 1.0 + 0.4 * fine),
            roughness: 0.92,
        }
    });
    let kind = StoneKind {
        thickness: [0.45, 1.0],
        aspect: [0.5, 0.95],
        rounded: 0.06,
        sunk: 0.3,
        tones: vec![
            [0.26, 0.25, 0.235],
            [0.22, 0.215, 0.21],
            [0.30, 0.275, 0.245],
            [0.245, 0.245, 0.25],
            [0.28, 0.245, 0.20],
        ],
        contrast: 0.13,
        roughness: 0.85,
        dirt: [0.13, 0.118, 0.10],
    };
    let mut dice = Dice::new(seed, "stones");
    let stones = |dice: &mut Dice, count, sizes| -> Vec<Stone> {
        let sizes = power_sizes(dice, count, sizes, 1.9);
        sizes
            .into_iter()
            .map(|r| {
                let place = dice.place(SIZE_M);
                Stone::new(dice, &kind, place, r)
            })
            .collect()
    };
    // Twice: what falls later lies on what fell before, large and small.
    let mut all = stones(&mut dice, 9000, [0.012, 0.10]);
    all.extend(stones(&mut dice, 3000, [0.018, 0.15]));
    all.extend(stones(&mut dice, 5000, [0.010, 0.09]));
    let grain =
        Grain { noise: Octaves::new(lattice_seed(seed, "grain"), 40, 5, 0.7), relief_m: 0.004, tone: 0.22 };
    heap(&mut canvas, all, &kind, &grain);
    Made {
        canvas,
        finish: Finish { keep_color: 0.2, keep_height: 0.1, cavity: 0.45, occlusion_m: 0.2 },
        detail: Plan::Turned,
    }
}
