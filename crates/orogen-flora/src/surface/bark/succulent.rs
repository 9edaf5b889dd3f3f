//! Green skins: the ribs of a cactus, the stalk of a herb.

use orogen_core::Seed;
use orogen_core::math::f32::{cos, sin};
use orogen_core::math::{lerp, smoothstep};
use orogen_texture::color::{mix, scaled};
use orogen_texture::dice::{Dice, lattice_seed};
use orogen_texture::noise::{Noise, Octaves};
use orogen_texture::shapes::{Stroke, coverage};
use orogen_texture::{Bounds, Canvas, Shape, Spot, Texel};

use super::SIZE_M;

/// Ribs in a metre around, and tufts of spines in a metre up. As many ribs as meshes carve into the trunk of the column
/// cactus for each repeat of the picture.
const RIBS: usize = 9;
const TUFTS: usize = 26;

/// A cushion of felt that spines grow from.
struct Areole([f32; 2]);

impl Shape for Areole {
    fn bounds(&self) -> Bounds {
        Bounds { center: self.0, half: [0.012; 2] }
    }

    fn draw(&self, spot: Spot, texel: &mut Texel) {
        let (dx, dy) = (spot.x - self.0[0], (spot.y - self.0[1]) * 0.8);
        let share = coverage(0.0055 - (dx * dx + dy * dy).sqrt(), spot.width_m);
        let felt = Texel { height_m: texel.height_m + 0.0015, color: [1.5, 1.15, 1.3], roughness: 0.95 };
        texel.cover(&felt, share);
    }
}

pub(super) fn ribbed(size: usize, seed: Seed) -> Canvas {
    let s = |name| lattice_seed(seed, name);
    let fine = Octaves::directional(s("fine"), [40, 60], 4, 0.6);
    let scars = Octaves::directional(s("scars"), [22, 9], 5, 0.62);
    let tone = Octaves::directional(s("tone"), [5, 3], 4, 0.6);
    let mut canvas = Canvas::from_fn(size, SIZE_M, |u, v| {
        // 1 on a rib, 0 between two.
        let rib = 0.5 + 0.5 * sin(std::f32::consts::TAU * u * RIBS as f32);
        let f = fine.at(u, v);
        let cork = smoothstep(0.62, 0.85, scars.at(u, v) + 0.25 * tone.at(u, v));
        // Wax makes the edges paler.
        let mut color = mix([0.72, 0.76, 0.74], [1.16, 1.12, 1.1], smoothstep(0.1, 0.95, rib));
        color = scaled(color, (1.0 + 0.07 * f) * (1.0 + 0.12 * tone.at(u, v)));
        color = mix(color, [1.5, 1.15, 1.15], 0.6 * cork);
        Texel {
            height_m: 0.016 * smoothstep(0.0, 1.0, rib) + 0.0004 * f + 0.0006 * cork,
            color,
            roughness: lerp(0.55, 0.85, cork),
        }
    });
    let mut dice = Dice::new(seed, "spines");
    let mut areoles = Vec::new();
    let mut spines = Vec::new();
    for rib in 0..RIBS {
        for tuft in 0..TUFTS {
            let x = (rib as f32 + 0.25) / RIBS as f32 * SIZE_M + 0.0012 * dice.normal();
            let shift = if rib % 2 == 0 { 0.0 } else { 0.5 };
            let y = (tuft as f32 + shift + 0.06 * dice.normal()) / TUFTS as f32 * SIZE_M;
            areoles.push(Areole([x, y]));
            let count = 9 + (dice.unit() * 5.0) as usize;
            for spine in 0..count {
                let angle = (spine as f32 + 0.4 * dice.normal()) / count as f32 * std::f32::consts::TAU;
                let long = dice.between(0.010, 0.022);
                let [dx, dy] = [cos(angle), sin(angle)];
                let tone = dice.between(0.75, 1.15);
                spines.push(Stroke {
                    ends: [[x, y], [x + dx * long, y + dy * long]],
                    half_width: [0.0008, 0.0003],
                    height_m: [0.019, 0.024],
                    colors: [scaled([1.5, 1.0, 1.0], tone), scaled([2.3, 1.85, 2.2], tone)],
                    bulge: 0.4,
                    roughness: 0.6,
                });
            }
        }
    }
    canvas.lay(&areoles);
    canvas.lay(&spines);
    canvas
}

pub(super) fn stalk(size: usize, seed: Seed) -> Canvas {
    let s = |name| lattice_seed(seed, name);
    let ribs = Octaves::directional(s("ribs"), [24, 1], 3, 0.5);
    let fine = Octaves::directional(s("fine"), [120, 6], 3, 0.6);
    let blush = Octaves::directional(s("blush"), [4, 3], 4, 0.6);
    Canvas::from_fn(size, SIZE_M, |u, v| {
        let (rib, f) = (ribs.at(u, v), fine.at(u, v));
        let color = scaled([1.0; 3], 1.0 + 0.16 * rib + 0.12 * f);
        Texel {
            height_m: 0.003 * rib + 0.0004 * f,
            color: mix(color, [1.3, 0.86, 0.9], 0.35 * smoothstep(0.1, 0.7, blush.at(u, v))),
            roughness: 0.6,
        }
    })
}
