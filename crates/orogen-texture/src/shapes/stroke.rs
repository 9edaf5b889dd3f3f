//! Long thin things: blades of grass, needles, twigs, stalks.

use orogen_core::math::lerp;

use super::coverage;
use crate::canvas::{Bounds, Shape, Spot, Texel};
use crate::color::{Color, mix};

/// A straight piece of something long and thin.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stroke {
    /// Its ends, in metres.
    pub ends: [[f32; 2]; 2],
    /// Half its width at each.
    pub half_width: [f32; 2],
    /// Height of its middle line at each.
    pub height_m: [f32; 2],
    /// Colour at each.
    pub colors: [Color; 2],
    /// How far the middle line stands above the sides, as a share of half the width.
    pub bulge: f32,
    /// How rough its surface is to light.
    pub roughness: f32,
}

impl Shape for Stroke {
    fn bounds(&self) -> Bounds {
        let [[x0, y0], [x1, y1]] = self.ends;
        let width = self.half_width[0].max(self.half_width[1]);
        Bounds {
            center: [(x0 + x1) * 0.5, (y0 + y1) * 0.5],
            half: [(x1 - x0).abs() * 0.5 + width, (y1 - y0).abs() * 0.5 + width],
        }
    }

    fn draw(&self, spot: Spot, texel: &mut Texel) {
        let [[x0, y0], [x1, y1]] = self.ends;
        let (along, to) = ([x1 - x0, y1 - y0], [spot.x - x0, spot.y - y0]);
        let square = (along[0] * along[0] + along[1] * along[1]).max(1e-12);
        let t = ((to[0] * along[0] + to[1] * along[1]) / square).clamp(0.0, 1.0);
        let (dx, dy) = (to[0] - along[0] * t, to[1] - along[1] * t);
        let distance = (dx * dx + dy * dy).sqrt();
        let half = lerp(self.half_width[0], self.half_width[1], t);
        // What is thinner than a sample covers only a part of it.
        let thin = (2.0 * half / spot.width_m).min(1.0);
        let share = coverage(half.max(0.5 * spot.width_m) - distance, spot.width_m) * thin;
        if share <= 0.0 {
            return;
        }
        let side = (distance / half.max(0.5 * spot.width_m)).min(1.0);
        let height = lerp(self.height_m[0], self.height_m[1], t) + self.bulge * half * (1.0 - side * side);
        if height < texel.height_m {
            return;
        }
        let color = mix(self.colors[0], self.colors[1], t);
        texel.cover(&Texel { height_m: height, color, roughness: self.roughness }, share);
    }
}

/// A bent thing that tapers: a blade of grass, a twig.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Blade {
    /// Where it grows, in metres.
    pub root: [f32; 2],
    /// The way it points at its root: a unit vector.
    pub direction: [f32; 2],
    /// Its length as seen from above.
    pub length_m: f32,
    /// How far its tip is bent aside, as a share of the length.
    pub bend: f32,
    /// Half its width at the root.
    pub half_width_m: f32,
    /// Height of its root, of its highest point and of its tip.
    pub heights_m: [f32; 3],
    /// Colour of root and tip.
    pub colors: [Color; 2],
    /// As in [`Stroke`].
    pub bulge: f32,
    /// Half-width at the tip as a share of that at the root.
    pub taper: f32,
    /// As in [`Stroke`].
    pub roughness: f32,
}

/// The pieces of a blade, root first.
pub fn strokes(blade: &Blade, pieces: usize) -> impl Iterator<Item = Stroke> + use<> {
    let blade = *blade;
    let [dx, dy] = blade.direction;
    let point = move |t: f32| {
        let (along, aside) = (blade.length_m * t, blade.length_m * blade.bend * t * t);
        [blade.root[0] + dx * along - dy * aside, blade.root[1] + dy * along + dx * aside]
    };
    // A parabola through root, highest point (half-way) and tip.
    let height = move |t: f32| {
        let [root, top, tip] = blade.heights_m;
        root * (1.0 - t) * (1.0 - 2.0 * t) + 4.0 * top * t * (1.0 - t) + tip * t * (2.0 * t - 1.0)
    };
    // Full width up to the middle, then to a point.
    let width = move |t: f32| {
        let taper = if t < 0.45 { 1.0 } else { 1.0 - (t - 0.45) / 0.55 };
        blade.half_width_m * lerp(blade.taper, 1.0, taper)
    };
    (0..pieces.max(1)).map(move |i| {
        let [t0, t1] = [i, i + 1].map(|k| k as f32 / pieces.max(1) as f32);
        Stroke {
            ends: [point(t0), point(t1)],
            half_width: [width(t0), width(t1)],
            height_m: [height(t0), height(t1)],
            colors: [t0, t1].map(|t| mix(blade.colors[0], blade.colors[1], t)),
            bulge: blade.bulge,
            roughness: blade.roughness,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pieces_of_a_blade_join_and_end_at_its_tip() {
        let blade = Blade {
            root: [0.5, 0.5],
            direction: [1.0, 0.0],
            length_m: 0.2,
            bend: 0.5,
            half_width_m: 0.002,
            heights_m: [0.0, 0.08, 0.05],
            colors: [[0.0; 3], [1.0; 3]],
            bulge: 0.0,
            taper: 0.1,
            roughness: 0.7,
        };
        let pieces: Vec<Stroke> = strokes(&blade, 5).collect();
        for pair in pieces.windows(2) {
            assert_eq!(pair[0].ends[1], pair[1].ends[0]);
            assert_eq!(pair[0].height_m[1], pair[1].height_m[0]);
        }
        let last = pieces[4];
        assert!((last.ends[1][0] - 0.7).abs() < 1e-6 && (last.ends[1][1] - 0.6).abs() < 1e-6);
        assert!((last.height_m[1] - 0.05).abs() < 1e-6);
    }
}
