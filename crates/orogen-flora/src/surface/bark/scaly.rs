//! Bark of thin scales that come off from their rims.

use orogen_core::Seed;
use orogen_core::math::{lerp, smoothstep};
use orogen_texture::color::{mix, scaled};
use orogen_texture::dice::{Dice, lattice_seed, turned};
use orogen_texture::noise::{Noise, Octaves};
use orogen_texture::shapes::{coverage, jittered};
use orogen_texture::{Bounds, Canvas, Shape, Spot, Texel};

use super::SIZE_M;

/// One scale: a rounded plate whose lower rim stands off.
struct Scale {
    center: [f32; 2],
    half: [f32; 2],
    turn: f32,
    height_m: f32,
    lift_m: f32,
    tone: f32,
    warm: f32,
    /// Waves of its rim.
    rim: [f32; 3],
}

impl Shape for Scale {
    fn bounds(&self) -> Bounds {
        let reach = 1.3 * self.half[0].max(self.half[1]);
        Bounds { center: self.center, half: [reach; 2] }
    }

    fn draw(&self, spot: Spot, texel: &mut Texel) {
        let [x, y] = turned([spot.x - self.center[0], spot.y - self.center[1]], self.turn);
        let (x, y) = (x / self.half[0], y / self.half[1]);
        let angle = orogen_core::math::atan2(f64::from(y), f64::from(x)) as f32;
        let wave = |k: f32, phase: f32| orogen_core::math::f32::sin(k * angle + phase);
        let rim = 1.0
            + 0.10 * wave(3.0, self.rim[0])
            + 0.07 * wave(5.0, self.rim[1])
            + 0.04 * wave(9.0, self.rim[2]);
        // A squarish outline.
        let radius = (x * x * x * x + y * y * y * y).sqrt().sqrt();
        let share = coverage((rim - radius) * self.half[0].min(self.half[1]), spot.width_m);
        if share <= 0.0 {
            return;
        }
        let to_rim = smoothstep(0.55, 1.0, radius / rim);
        let height_m = self.height_m + self.lift_m * (to_rim * lerp(1.0, 0.35, 0.5 + 0.5 * y) - 0.2 * radius);
        let color = mix([1.02, 1.0, 0.98], [1.2, 1.05, 0.9], self.warm);
        // The rim is bleached, and what lies under it is in its shade.
        let color = scaled(color, self.tone * (1.0 + 0.22 * to_rim));
        texel.cover(&Texel { height_m, color, roughness: 0.9 }, share);
    }
}

pub(super) fn flaky(size: usize, seed: Seed) -> Canvas {
    let s = |name| lattice_seed(seed, name);
    let under = Octaves::directional(s("under"), [22, 9], 5, 0.6);
    let grain = Octaves::directional(s("grain"), [60, 24], 3, 0.6);
    let fade = Octaves::new(s("fade"), 9, 3, 0.5);
    let mut canvas = Canvas::from_fn(size, SIZE_M, |u, v| {
        let deep = under.at(u, v);
        Texel {
            height_m: -0.004 + 0.002 * deep,
            color: scaled([0.62, 0.55, 0.5], 1.0 + 0.3 * deep),
            roughness: 0.95,
        }
    });
    let mut dice = Dice::new(seed, "scales");
    for (count, half, height) in [(500, 0.026, 0.0), (900, 0.021, 0.002), (620, 0.017, 0.004)] {
        let scales: Vec<Scale> = jittered(&mut dice, SIZE_M, count, 1.0)
            .into_iter()
            .map(|center| {
                let size = half * dice.between(0.6, 1.15);
                Scale {
                    center,
                    half: [size * dice.between(0.8, 1.0), size * dice.between(1.0, 1.45)],
                    turn: 0.25 * dice.normal(),
                    height_m: height + 0.0012 * dice.normal(),
                    lift_m: dice.between(0.0008, 0.0036),
                    tone: 1.0 + 0.13 * dice.normal(),
                    warm: dice.unit(),
                    rim: [0, 1, 2].map(|_| dice.between(0.0, std::f32::consts::TAU)),
                }
            })
            .collect();
        canvas.lay(&scales);
    }
    canvas.each(|u, v, texel| {
        let g = grain.at(u, v);
        texel.height_m += 0.0005 * g;
        texel.color = scaled(texel.color, (1.0 + 0.16 * g) * (1.0 + 0.16 * fade.at(u, v)));
    });
    canvas
}
