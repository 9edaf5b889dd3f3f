//! A cell of an atlas while things are painted on it, finer than it will be.

use orogen_core::math::f32::{cos, sin};
use orogen_core::math::{lerp, smoothstep};
use orogen_texture::color::{Color, mix, scaled};
use orogen_texture::normal::unit;

use super::outline::Form;

/// What covers a place.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Speck {
    pub color: Color,
    pub normal: [f32; 3],
    /// Share of the light that goes through.
    pub through: f32,
    pub covered: bool,
}

/// A cell: x from `-width / 2` to `width / 2`, y from 0 at the stalk to 1; both in lengths of the card.
pub(super) struct Sheet {
    size: usize,
    width: f32,
    pub specks: Vec<Speck>,
}

/// A leaf's blade.
#[derive(Clone, Copy, Debug)]
pub(super) struct Blade {
    pub foot: [f32; 2],
    /// From straight up, clockwise, in radians.
    pub turn: f32,
    pub length: f32,
    pub form: Form,
    pub color: Color,
    /// How it is turned about its midrib: it looks narrower and its light changes.
    pub roll: f32,
    /// How strongly its ribs stand out.
    pub veins: f32,
    pub through: f32,
    /// How brown its rim is, from 0 to 1.
    pub dry: f32,
    /// Where the browning is, of any value.
    pub dry_at: f32,
}

/// A round thing with a middle line: a twig, a stalk, a needle.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rod {
    pub ends: [[f32; 2]; 2],
    /// Half its width at each.
    pub half: [f32; 2],
    pub colors: [Color; 2],
    pub through: f32,
}

impl Sheet {
    pub fn new(size: usize, width: f32) -> Self {
        Self { size, width, specks: vec![Speck::default(); size * size] }
    }

    pub fn width(&self) -> f32 {
        self.width
    }

    /// The least width that can be seen: half a speck, in lengths of the card.
    pub fn least_half(&self) -> f32 {
        0.5 * self.width.min(1.0) / self.size as f32
    }

    /// Calls `f` for every speck near a place, with where it lies.
    fn each(&mut self, low: [f32; 2], high: [f32; 2], mut f: impl FnMut([f32; 2], &mut Speck)) {
        let n = self.size as f32;
        let index = |x: f32| (x.floor().max(0.0) as usize).min(self.size);
        let [col0, col1] = [low[0], high[0]].map(|x| (x / self.width + 0.5) * n);
        let (col0, col1) = (index(col0), index(col1 + 1.0));
        let (row0, row1) = (index(low[1] * n), index(high[1] * n + 1.0));
        for row in row0..row1 {
            let y = (row as f32 + 0.5) / n;
            for col in col0..col1 {
                let x = ((col as f32 + 0.5) / n - 0.5) * self.width;
                f([x, y], &mut self.specks[row * self.size + col]);
            }
        }
    }

    pub fn rod(&mut self, rod: &Rod) {
        let least = self.least_half();
        let [[x0, y0], [x1, y1]] = rod.ends;
        let reach = rod.half[0].max(rod.half[1]).max(least);
        let along = [x1 - x0, y1 - y0];
        let square = (along[0] * along[0] + along[1] * along[1]).max(1e-12);
        let length = square.sqrt();
        // To the right of the rod, as one looks along it.
        let aside = [along[1] / length, -along[0] / length];
        let low = [x0.min(x1) - reach, y0.min(y1) - reach];
        let high = [x0.max(x1) + reach, y0.max(y1) + reach];
        self.each(low, high, |[x, y], speck| {
            let to = [x - x0, y - y0];
            let t = ((to[0] * along[0] + to[1] * along[1]) / square).clamp(0.0, 1.0);
            let half = lerp(rod.half[0], rod.half[1], t).max(least);
            let off = [to[0] - along[0] * t, to[1] - along[1] * t];
            let distance = (off[0] * off[0] + off[1] * off[1]).sqrt();
            if distance > half {
                return;
            }
            let side = (off[0] * aside[0] + off[1] * aside[1]) / half * 0.8;
            let normal = unit([side * aside[0], side * aside[1], (1.0 - side * side).max(0.05).sqrt()]);
            // Rounder than it is lit: its sides are in their own shade.
            let color = scaled(mix(rod.colors[0], rod.colors[1], t), 1.06 - 0.22 * side * side);
            *speck = Speck { color, normal, through: rod.through, covered: true };
        });
    }

    /// Shade that a blade throws on what lies below it.
    pub fn shade(&mut self, blade: &Blade) {
        let reach = 0.012;
        let below = Blade { foot: [blade.foot[0] + 0.006, blade.foot[1] - reach], ..*blade };
        self.through_blade(&below, |_, _, _, _, speck| {
            speck.color = scaled(speck.color, 0.66);
        });
    }

    /// Calls `f(along, across from -1 to 1, half width, place aside, speck)` for every speck in a blade.
    fn through_blade(&mut self, blade: &Blade, mut f: impl FnMut(f32, f32, f32, f32, &mut Speck)) {
        let (s, c) = (sin(blade.turn), cos(blade.turn));
        let narrow = cos(blade.roll).abs().max(0.25);
        let reach = blade.length * (0.5 * blade.form.width + 0.02);
        let tip = [blade.foot[0] + s * blade.length, blade.foot[1] + c * blade.length];
        let low = [0, 1].map(|k| blade.foot[k].min(tip[k]) - reach);
        let high = [0, 1].map(|k| blade.foot[k].max(tip[k]) + reach);
        // The outline as a table, as fine as can be seen.
        let steps = ((blade.length * self.size as f32 * 0.5) as usize).clamp(8, 256);
        let table: Vec<f32> =
            (0..=steps + 1).map(|i| blade.form.plain((i as f32 / steps as f32).min(1.0))).collect();
        self.each(low, high, |[x, y], speck| {
            let (dx, dy) = (x - blade.foot[0], y - blade.foot[1]);
            let along = (dx * s + dy * c) / blade.length;
            let aside = (dx * c - dy * s) / blade.length / narrow;
            if !(0.0..=1.0).contains(&along) || aside.abs() > 0.5 * blade.form.width {
                return;
            }
            let place = along * steps as f32;
            let plain = lerp(table[place as usize], table[place as usize + 1], place.fract());
            let half = blade.form.half_width(plain, along, aside);
            if half > 0.0 && aside.abs() <= half {
                f(along, aside / half, half, aside, speck);
            }
        });
    }

    pub fn blade(&mut self, blade: &Blade) {
        let (s, c) = (sin(blade.turn), cos(blade.turn));
        let form = blade.form;
        let lean = form.lean;
        self.through_blade(blade, |along, across, half, aside, speck| {
            let side = across.abs();
            // The midrib narrows to the tip; side veins leave it and bend forward.
            let rib = 1.0 - smoothstep(0.4, 1.0, aside.abs() / (0.012 * (1.15 - along) + 0.25 * half * 0.05));
            let (vein, bulge) = if form.veins > 0.0 {
                let phase = ((along - lean * aside.abs() * (1.0 + 0.25 * side)) * form.veins).rem_euclid(1.0);
                let from = phase.min(1.0 - phase);
                let width = 0.11 * (1.0 - 0.65 * side) * smoothstep(0.0, 0.12, along);
                (1.0 - smoothstep(0.3 * width, width, from), sin(std::f32::consts::TAU * phase))
            } else {
                let phase = across * 7.0;
                let from = (phase - phase.round()).abs();
                (0.4 * (1.0 - smoothstep(0.06, 0.24, from)), 0.3 * sin(std::f32::consts::TAU * phase))
            };
            let vein = vein * (1.0 - smoothstep(0.75, 1.0, side)) * 0.7;
            // Cells between the veins, as a faint mottle.
            let mottle = sin(along * 61.0 + aside * 83.0 + blade.dry_at) * sin(along * 37.0 - aside * 97.0);
            let mut color =
                scaled(blade.color, 1.0 + 0.045 * mottle - 0.10 * side * side + 0.05 * (along - 0.5));
            color = mix(
                color,
                [1.35 * blade.color[0] + 0.02, 1.3 * blade.color[1] + 0.02, 1.15 * blade.color[2]],
                blade.veins * rib.max(0.62 * vein),
            );
            if blade.dry > 0.0 {
                let patch =
                    0.5 + 0.5 * sin(along * 7.0 + blade.dry_at) * sin(across * 4.0 + 2.0 * blade.dry_at);
                let brown =
                    smoothstep(1.15 - blade.dry, 1.35 - 0.6 * blade.dry, side.max(along) + 0.4 * patch);
                color = mix(color, [0.13, 0.075, 0.032], 0.75 * brown);
            }
            // A trough along the midrib, swellings between the veins.
            let trough =
                across.signum() * -0.26 * smoothstep(0.0, 0.15, side) + 0.14 * across + blade.roll * 0.8;
            let up = 0.16 * blade.veins * bulge * (1.0 - 0.6 * side) + 0.15 * (along - 0.4);
            let normal = unit([trough * c + up * s, -trough * s + up * c, 1.0]);
            let through = blade.through * (1.0 - 0.55 * rib.max(0.6 * vein));
            *speck = Speck { color, normal, through, covered: true };
        });
    }

    /// A disk of small bumps: the middle of a flower.
    pub fn disk(&mut self, middle: [f32; 2], radius: f32, color: Color) {
        let low = middle.map(|m| m - radius);
        let high = middle.map(|m| m + radius);
        self.each(low, high, |[x, y], speck| {
            let (dx, dy) = ((x - middle[0]) / radius, (y - middle[1]) / radius);
            let square = dx * dx + dy * dy;
            if square > 1.0 {
                return;
            }
            let bump = sin(dx * 31.0 + 3.0 * dy) * sin(dy * 29.0 - 5.0 * dx);
            let normal = unit([0.5 * dx + 0.3 * bump, 0.5 * dy - 0.3 * bump, 1.0]);
            let color = scaled(color, 1.0 + 0.3 * bump - 0.3 * square);
            *speck = Speck { color, normal, through: 0.1, covered: true };
        });
    }
}
