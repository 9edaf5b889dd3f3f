//! Sand in ripples as the wind makes them: a gentle side and a steep one, forking here and there.

use orogen_core::Seed;
use orogen_core::math::f32::sin;
use orogen_core::math::{lerp, smoothstep};
use std::f32::consts::TAU;

use crate::canvas::{Canvas, Texel};
use crate::color::{mix, scaled};
use crate::detail::Plan;
use crate::dice::{Dice, lattice_seed};
use crate::maps::{Finish, Made};
use crate::noise::{Noise, Octaves, Value};
use crate::shapes::{Grain, Stone, StoneKind, heap, power_sizes};

const SIZE_M: f32 = 2.5;

pub(crate) fn sand(size: usize, seed: Seed) -> Made {
    let s = |name| lattice_seed(seed, name);
    let bend = Octaves::new(s("bend"), 3, 3, 0.5);
    let second_bend = Octaves::new(s("second bend"), 3, 3, 0.5);
    let forks = Octaves::directional(s("forks"), [5, 4], 2, 0.5);
    let strength = Octaves::new(s("strength"), 5, 2, 0.5);
    let swell = Octaves::new(s("swell"), 3, 3, 0.5);
    let fine = Octaves::new(s("fine"), 120, 3, 0.9);
    let speckle = Value::new(s("speckle"), 640);
    let dark = Value::new(s("dark"), 560);
    // Waves across the tile; two trains that differ by a few waves fork where one takes over from the other.
    let ripple = |phase: f32| {
        let wave = sin(phase * TAU + 0.75 * sin(phase * TAU));
        0.5 + 0.5 * wave
    };
    let mut canvas = Canvas::from_fn(size, SIZE_M, |u, v| {
        let first = ripple(27.0 * v + 2.0 * u + 1.1 * bend.at(u, v));
        let other = ripple(25.0 * v + 3.0 * u + 1.1 * second_bend.at(u, v));
        let blend = smoothstep(-0.05, 0.05, forks.at(u, v));
        let crest = lerp(first, other, blend);
        let strong = lerp(0.7, 1.0, smoothstep(-0.4, 0.3, strength.at(u, v)));
        let grain = fine.at(u, v);
        let height = 0.014 * strong * crest + 0.02 * swell.at(u, v) + 0.0007 * grain;
        // Coarse pale grains gather on the crests, heavy dark ones in the troughs.
        let trough = (1.0 - crest) * strong;
        let mut color = mix([0.445, 0.36, 0.245], [0.375, 0.29, 0.19], 0.8 * trough);
        let heavy = smoothstep(0.45, 0.9, dark.at(u, v) + 0.35 * trough);
        color = mix(color, [0.14, 0.11, 0.085], 0.55 * heavy);
        color = scaled(color, 1.0 + 0.15 * speckle.at(u, v) + 0.08 * grain);
        Texel { height_m: height, color, roughness: 0.9 }
    });
    let kind = StoneKind {
        thickness: [0.4, 0.8],
        aspect: [0.6, 1.0],
        rounded: 0.8,
        sunk: 0.45,
        tones: vec![[0.30, 0.25, 0.19], [0.46, 0.42, 0.36], [0.24, 0.20, 0.16]],
        contrast: 0.15,
        roughness: 0.75,
        dirt: [0.38, 0.30, 0.20],
    };
    let mut dice = Dice::new(seed, "grit");
    let grit = power_sizes(&mut dice, 500, [0.0018, 0.008], 2.6);
    let grit = grit
        .into_iter()
        .map(|r| {
            let place = dice.place(SIZE_M);
            Stone::new(&mut dice, &kind, place, r)
        })
        .collect();
    heap(
        &mut canvas,
        grit,
        &kind,
        &Grain { noise: Octaves::new(s("grain"), 80, 2, 0.7), relief_m: 0.0002, tone: 0.2 },
    );
    Made {
        canvas,
        finish: Finish { keep_color: 0.4, keep_height: 0.4, cavity: 0.25, occlusion_m: 0.12 },
        detail: Plan::Turned,
    }
}
