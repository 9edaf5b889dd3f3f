//! Bark and wood of long fibres: strips, rings of leaf scars, mats of dead leaves, bare wood.

use orogen_core::Seed;
use orogen_core::math::{lerp, smoothstep};
use orogen_texture::color::{mix, scaled};
use orogen_texture::dice::{Dice, hash, lattice_seed, turned, unit};
use orogen_texture::noise::{Noise, Octaves, Warp};
use orogen_texture::shapes::{Blade, jittered, strokes};
use orogen_texture::{Canvas, Texel};

use super::SIZE_M;

pub(super) fn stringy(size: usize, seed: Seed) -> Canvas {
    let s = |name| lattice_seed(seed, name);
    let strips = Octaves::directional(s("strips"), [13, 2], 4, 0.6);
    let sway = Warp::new(s("sway"), 3, 3, 0.024);
    let fibre = Octaves::directional(s("fibre"), [70, 5], 4, 0.7);
    let stain = Octaves::directional(s("stain"), [10, 3], 4, 0.6);
    let mut canvas = Canvas::from_fn(size, SIZE_M, |u, v| {
        let (su, sv) = sway.at(u, v);
        let strip = strips.at(su, sv);
        let valley = 1.0 - smoothstep(0.0, 0.22, strip.abs());
        let f = fibre.at(su, sv);
        let color = scaled([1.05, 1.0, 0.96], (1.0 + 0.26 * f) * (1.0 + 0.16 * stain.at(u, v)));
        Texel {
            height_m: 0.006 * strip - 0.007 * valley + 0.0022 * f,
            color: mix(color, [0.42, 0.34, 0.28], 0.8 * valley),
            roughness: 0.93,
        }
    });
    // Strips that have come loose and hang.
    let mut dice = Dice::new(seed, "loose");
    let loose: Vec<_> = jittered(&mut dice, SIZE_M, 460, 1.0)
        .into_iter()
        .flat_map(|root| {
            let tone = 1.15 + 0.2 * dice.normal();
            let up = if dice.chance(0.5) { 1.0 } else { -1.0 };
            let blade = Blade {
                root,
                direction: turned([0.0, up], 0.07 * dice.normal()),
                length_m: dice.between(0.08, 0.34),
                bend: 0.05 * dice.normal(),
                half_width_m: dice.between(0.0012, 0.0045),
                heights_m: [0.001, dice.between(0.002, 0.009), dice.between(0.0, 0.006)],
                colors: [scaled([1.04, 0.98, 0.92], tone), scaled([1.2, 1.12, 1.04], tone)],
                bulge: 0.3,
                taper: 0.2,
                roughness: 0.93,
            };
            strokes(&blade, 7)
        })
        .collect();
    canvas.lay(&loose);
    canvas.each(|u, v, texel| texel.color = scaled(texel.color, 1.0 + 0.12 * fibre.at(u, v)));
    canvas
}

/// Rings of a palm in a metre of its stem.
const RINGS: f32 = 9.0;

pub(super) fn ringed(size: usize, seed: Seed) -> Canvas {
    let s = |name| lattice_seed(seed, name);
    let ring_seed = s("ring");
    let sway = Octaves::new(s("sway"), 5, 4, 0.55);
    let cracks = Octaves::directional(s("cracks"), [34, 6], 4, 0.6);
    let fine = Octaves::directional(s("fine"), [90, 16], 3, 0.65);
    let bands = Octaves::directional(s("bands"), [3, 60], 3, 0.6);
    let stain = Octaves::directional(s("stain"), [8, 3], 4, 0.6);
    let lichen = Octaves::new(s("lichen"), 10, 4, 0.6);
    Canvas::from_fn(size, SIZE_M, |u, v| {
        let up = v * RINGS + 0.16 * sway.at(u, v);
        let (ring, part) = (up.floor(), up - up.floor());
        let of_ring = unit(hash(ring_seed, ring.rem_euclid(RINGS) as u32, 0));
        // A scar: a narrow groove with a raised lower lip, above it a plain length of stem.
        let groove = 1.0 - smoothstep(0.0, 0.09, part.min(1.0 - part));
        let lip = smoothstep(0.72, 0.93, part) * (1.0 - smoothstep(0.93, 1.0, part));
        let c = cracks.at(u, v);
        // Short upright cracks.
        let crack = smoothstep(0.28, 0.55, c) * smoothstep(-0.2, 0.5, stain.at(v, u) + 0.3);
        let f = fine.at(u, v);
        let mut color = scaled([1.05, 1.03, 1.0], (1.0 + 0.14 * f) * (0.9 + 0.22 * of_ring));
        color = scaled(color, 1.0 + 0.07 * bands.at(u, v) + 0.14 * stain.at(u, v));
        color = mix(color, [1.24, 1.2, 1.12], 0.5 * lip);
        color = mix(color, [0.5, 0.45, 0.4], 0.8 * groove);
        color = mix(color, [0.52, 0.46, 0.4], 0.6 * crack * (1.0 - groove));
        color = mix(color, [1.32, 1.34, 1.24], 0.4 * smoothstep(0.3, 0.8, lichen.at(u, v)));
        Texel {
            height_m: 0.004 * lip - 0.005 * groove - 0.003 * crack + 0.0009 * f + 0.002 * part,
            color,
            roughness: 0.9,
        }
    })
}

pub(super) fn thatched(size: usize, seed: Seed) -> Canvas {
    let s = |name| lattice_seed(seed, name);
    let under = Octaves::directional(s("under"), [30, 8], 4, 0.6);
    let fibre = Octaves::directional(s("fibre"), [110, 12], 3, 0.6);
    let mut canvas = Canvas::from_fn(size, SIZE_M, |u, v| Texel {
        height_m: -0.012 + 0.004 * under.at(u, v),
        color: scaled([0.42, 0.36, 0.3], 1.0 + 0.3 * under.at(u, v)),
        roughness: 0.95,
    });
    // Blades hang down, the upper over the lower ones.
    let mut dice = Dice::new(seed, "blades");
    let mut roots = jittered(&mut dice, SIZE_M, 760, 1.0);
    roots.sort_by(|a, b| a[1].total_cmp(&b[1]));
    let blades: Vec<_> = roots
        .into_iter()
        .flat_map(|root| {
            let tone = (1.0 + 0.2 * dice.normal()).max(0.4);
            let grey = dice.unit();
            let blade = Blade {
                root,
                direction: turned([0.0, -1.0], 0.2 * dice.normal()),
                length_m: dice.between(0.16, 0.3),
                bend: 0.14 * dice.normal(),
                half_width_m: dice.between(0.0035, 0.0075),
                heights_m: [-0.006, dice.between(0.0, 0.010), dice.between(0.002, 0.014)],
                colors: [
                    scaled(mix([0.86, 0.78, 0.66], [0.8, 0.78, 0.74], grey), tone),
                    scaled(mix([1.3, 1.16, 0.94], [1.1, 1.08, 1.02], grey), tone),
                ],
                bulge: 0.5,
                taper: 0.12,
                roughness: 0.85,
            };
            strokes(&blade, 8)
        })
        .collect();
    canvas.lay(&blades);
    canvas.each(|u, v, texel| texel.color = scaled(texel.color, 1.0 + 0.2 * fibre.at(u, v)));
    canvas
}

pub(super) fn bare(size: usize, seed: Seed) -> Canvas {
    let s = |name| lattice_seed(seed, name);
    let sway = Warp::new(s("sway"), 3, 2, 0.02);
    let fibre = Octaves::directional(s("fibre"), [60, 3], 5, 0.68);
    let split = Octaves::directional(s("split"), [11, 2], 4, 0.6);
    let there = Octaves::directional(s("there"), [8, 4], 3, 0.5);
    let stain = Octaves::directional(s("stain"), [7, 2], 4, 0.6);
    Canvas::from_fn(size, SIZE_M, |u, v| {
        let (su, sv) = sway.at(u, v);
        let f = fibre.at(su, sv);
        let crack =
            (1.0 - smoothstep(0.0, 0.055, split.at(su, sv).abs())) * smoothstep(-0.05, 0.35, there.at(u, v));
        let color = scaled([1.0, 0.99, 0.97], (1.0 + 0.26 * f) * lerp(0.8, 1.15, 0.5 + stain.at(u, v)));
        Texel {
            height_m: 0.0016 * f - 0.007 * crack,
            color: mix(color, [0.24, 0.22, 0.2], 0.85 * crack),
            roughness: 0.88,
        }
    })
}
