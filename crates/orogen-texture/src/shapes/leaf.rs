//! Fallen leaves: a pointed oval with a midrib, curled at its rim.

use orogen_core::math::smoothstep;

use super::coverage;
use crate::canvas::{Bounds, Shape, Spot, Texel};
use crate::color::{Color, scaled};

/// One leaf that lies on the ground.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Leaf {
    /// Its middle, in metres.
    pub center: [f32; 2],
    /// The way its tip points: a unit vector.
    pub direction: [f32; 2],
    /// Half its length.
    pub half_length_m: f32,
    /// Width against length.
    pub aspect: f32,
    /// How far it lies above the ground there.
    pub height_m: f32,
    /// How far its rim curls up (or down, if negative), in metres.
    pub curl_m: f32,
    /// How it leans: rise per metre along and across.
    pub lean: [f32; 2],
    /// Lobes along each side: 0 for a smooth rim, as of beech; 3 or 4 as of oak.
    pub lobes: f32,
    /// Its colour.
    pub color: Color,
    /// Share of it that decay has darkened, 0 to 1.
    pub decay: f32,
}

impl Shape for Leaf {
    fn bounds(&self) -> Bounds {
        Bounds { center: self.center, half: [self.half_length_m * 1.05; 2] }
    }

    fn draw(&self, spot: Spot, texel: &mut Texel) {
        let (dx, dy) = (spot.x - self.center[0], spot.y - self.center[1]);
        let [ax, ay] = self.direction;
        let (x, y) = ((dx * ax + dy * ay) / self.half_length_m, (dy * ax - dx * ay) / self.half_length_m);
        if x.abs() >= 1.0 {
            return;
        }
        // Widest before the middle, drawn out to the tip.
        let shoulder = (1.0 - x * x) * (1.0 - 0.25 * x);
        let lobes = if self.lobes > 0.0 {
            let wave = (x * self.lobes * 0.5 + 10.0).fract();
            0.68 + 0.32 * smoothstep(0.0, 0.5, 0.5 - (wave - 0.5).abs())
        } else {
            1.0
        };
        let half = self.aspect * shoulder * lobes;
        let share = coverage((half - y.abs()) * self.half_length_m, spot.width_m);
        if share <= 0.0 {
            return;
        }
        let across = y.abs() / half.max(1e-3);
        let rise = self.height_m
            + self.curl_m * across * across
            + (self.lean[0] * x + self.lean[1] * y) * self.half_length_m;
        // Limp: it lies on what is under it, softened.
        let height = texel.height_m.max(rise * 0.7 + texel.height_m * 0.3);
        if rise < texel.height_m - 0.004 {
            return;
        }
        // The midrib and side veins are paler, and stand out a little.
        let rib = 1.0 - smoothstep(0.0, 0.06, y.abs());
        let vein = ((x * 7.0 - across * 2.2).fract().abs() - 0.5).abs();
        let vein = smoothstep(0.36, 0.5, vein) * 0.5 * (1.0 - across);
        let rot = 1.0 - 0.45 * self.decay * smoothstep(0.2, 1.0, across * (0.6 + 0.4 * x));
        let color = scaled(self.color, (1.0 + 0.3 * rib + 0.18 * vein) * rot);
        let height_m = height + 0.0006 * rib;
        texel.cover(&Texel { height_m, color, roughness: 0.72 }, share);
    }
}
