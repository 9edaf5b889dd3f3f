//! Grass seen from above: tufts of bent blades over litter, drawn from the ground up.

use orogen_core::Seed;
use orogen_core::math::{lerp, smoothstep};

use crate::canvas::{Canvas, Texel};
use crate::color::{Color, mix, scaled};
use crate::dice::{Dice, lattice_seed, turned};
use crate::noise::{Noise, Octaves};
use crate::shapes::{Blade, Stroke, jittered, strokes};

/// What sets one meadow apart from another.
pub(super) struct Meadow {
    pub size_m: f32,
    /// Soil and litter below.
    pub ground: [Color; 2],
    /// Old blades that lie flat: how many, and their colours.
    pub thatch: usize,
    pub thatch_colors: [Color; 2],
    /// Tufts, and the fewest and most blades of each.
    pub tufts: usize,
    pub blades: [f32; 2],
    /// Length of blades as seen from above, least and most.
    pub length_m: [f32; 2],
    /// How high they stand.
    pub stand_m: f32,
    pub half_width_m: [f32; 2],
    /// Colours of whole tufts, which differ from tuft to tuft.
    pub greens: Vec<Color>,
    /// Colour that the tips tend to, and how far.
    pub tip: Color,
    pub tip_share: f32,
    /// Share of single blades that are dead.
    pub dead: f32,
    pub dead_color: Color,
    /// How far tufts lean the same way as their neighbours, 0 to 1.
    pub combed: f32,
}

impl Meadow {
    pub(super) fn paint(&self, size: usize, seed: Seed) -> Canvas {
        let s = |name| lattice_seed(seed, name);
        let crumbs = Octaves::new(s("crumbs"), 50, 4, 0.8);
        let swell = Octaves::new(s("swell"), 5, 3, 0.5);
        let [bare, litter] = self.ground;
        let mut canvas = Canvas::from_fn(size, self.size_m, |u, v| {
            let crumb = crumbs.at(u, v);
            let color = scaled(mix(bare, litter, smoothstep(-0.3, 0.3, swell.at(v, u))), 1.0 + 0.45 * crumb);
            Texel { height_m: 0.010 * swell.at(u, v) + 0.004 * crumb, color, roughness: 0.95 }
        });
        canvas.lay(&self.thatch(seed));
        canvas.lay(&self.tufts(seed));
        canvas
    }

    /// Old blades, flat on the ground.
    fn thatch(&self, seed: Seed) -> Vec<Stroke> {
        let mut dice = Dice::new(seed, "thatch");
        let mut all = Vec::with_capacity(self.thatch * 3);
        for i in 0..self.thatch {
            let color = mix(self.thatch_colors[0], self.thatch_colors[1], dice.unit());
            let color = scaled(color, dice.between(0.7, 1.2));
            // Later ones lie on earlier ones.
            let base = 0.012 * i as f32 / self.thatch as f32 + dice.between(0.004, 0.012);
            let blade = Blade {
                root: dice.place(self.size_m),
                direction: dice.direction(),
                length_m: dice.between(0.4, 1.0) * self.length_m[1],
                bend: dice.between(-0.5, 0.5),
                half_width_m: dice.between(self.half_width_m[0], self.half_width_m[1]) * 0.85,
                heights_m: [base, base + 0.006, base],
                colors: [color, scaled(color, 0.9)],
                bulge: 0.4,
                taper: 0.4,
                roughness: 0.85,
            };
            all.extend(strokes(&blade, 3));
        }
        all
    }

    /// Standing blades, the lower ones first.
    fn tufts(&self, seed: Seed) -> Vec<Stroke> {
        let mut dice = Dice::new(seed, "tufts");
        let wind = Octaves::new(lattice_seed(seed, "wind"), 3, 2, 0.5);
        let patches = Octaves::new(lattice_seed(seed, "patches"), 4, 3, 0.6);
        let mut blades: Vec<(f32, Blade)> = Vec::new();
        for center in jittered(&mut dice, self.size_m, self.tufts, 1.0) {
            let (u, v) = (center[0] / self.size_m, center[1] / self.size_m);
            let lush = smoothstep(-0.45, 0.45, patches.at(u, v));
            let count = lerp(self.blades[0], self.blades[1], dice.unit() * 0.6 + 0.4 * lush) as usize;
            let tall = lerp(0.7, 1.15, dice.unit() * 0.5 + 0.5 * lush);
            let green = self.green(&mut dice, patches.at(v, u));
            let lean = turned([1.0, 0.0], wind.at(u, v) * 6.0);
            let spread = dice.between(0.006, 0.022);
            for _ in 0..count {
                blades.push(self.blade(&mut dice, center, spread, tall, green, lean));
            }
        }
        blades.sort_by(|a, b| a.0.total_cmp(&b.0));
        blades.iter().flat_map(|(_, blade)| strokes(blade, 5)).collect()
    }

    /// The colour of a tuft: neighbours have similar ones.
    fn green(&self, dice: &mut Dice, patch: f32) -> Color {
        let last = self.greens.len() - 1;
        let pick = (0.5 + 0.7 * patch + dice.between(-0.4, 0.4)).clamp(0.0, 0.999) * last as f32;
        let first = pick as usize;
        let color = mix(self.greens[first], self.greens[(first + 1).min(last)], pick.fract());
        scaled(color, 1.0 + 0.14 * dice.normal().clamp(-2.0, 2.0))
    }

    /// A blade of a tuft and the height it is drawn at.
    fn blade(
        &self,
        dice: &mut Dice,
        center: [f32; 2],
        spread: f32,
        tall: f32,
        green: Color,
        lean: [f32; 2],
    ) -> (f32, Blade) {
        let way = dice.direction();
        let out = dice.unit();
        let mut direction = [way[0] + self.combed * lean[0], way[1] + self.combed * lean[1]];
        let norm = (direction[0] * direction[0] + direction[1] * direction[1]).sqrt().max(1e-3);
        direction = direction.map(|d| d / norm);
        let length =
            lerp(self.length_m[0], self.length_m[1], dice.unit() * dice.unit() * 0.6 + 0.4 * dice.unit())
                * tall;
        // What stands upright looks short from above.
        let upright = dice.unit();
        let seen = length * lerp(1.0, 0.45, upright * upright);
        let stand = self.stand_m * tall * lerp(0.45, 1.0, upright) * dice.between(0.7, 1.1);
        let dead = dice.chance(self.dead);
        let tone = dice.between(0.78, 1.22);
        let color = scaled(if dead { self.dead_color } else { green }, tone);
        let tip = mix(color, self.tip, self.tip_share * dice.unit());
        let blade = Blade {
            root: [center[0] + way[0] * out * spread, center[1] + way[1] * out * spread],
            direction,
            length_m: seen,
            bend: dice.between(-0.55, 0.55),
            half_width_m: dice.between(self.half_width_m[0], self.half_width_m[1]),
            heights_m: [0.012, stand, stand * dice.between(0.35, 1.0)],
            // Less light reaches the foot, and old sheaths there are darker.
            colors: [scaled(color, 0.55), scaled(tip, 1.12)],
            bulge: 0.9,
            taper: 0.12,
            roughness: if dead { 0.85 } else { 0.62 },
        };
        (stand, blade)
    }
}
