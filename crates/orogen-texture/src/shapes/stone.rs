//! Stones: bodies with facets, each with its own tone, that lie upon each other as they fell.

use orogen_core::math::{lerp, smoothstep};

use super::coverage;
use crate::canvas::{Bounds, Canvas, Shape, Spot, Texel};
use crate::color::{Color, mix, scaled};
use crate::dice::{Dice, turned};
use crate::field::Field;
use crate::noise::{Noise, Octaves};

/// Sides of a stone.
const SIDES: usize = 7;

/// What stones of a kind have in common.
#[derive(Clone, Debug, PartialEq)]
pub struct StoneKind {
    /// Height as a share of the radius, least and most.
    pub thickness: [f32; 2],
    /// Width against length, least and most.
    pub aspect: [f32; 2],
    /// 0: sharp edges, as rock breaks. 1: as a river rounds it.
    pub rounded: f32,
    /// Share of its height that lies in the ground.
    pub sunk: f32,
    /// Tones, of which each stone has a mix of two neighbours.
    pub tones: Vec<Color>,
    /// How much single stones are brighter or darker, as a deviation.
    pub contrast: f32,
    /// How rough its surface is to light.
    pub roughness: f32,
    /// Colour of what lies between the stones and stains their feet.
    pub dirt: Color,
}

/// One stone.
#[derive(Clone, Debug, PartialEq)]
pub struct Stone {
    center: [f32; 2],
    radius: f32,
    axis: [f32; 2],
    aspect: f32,
    height_m: f32,
    base_m: f32,
    tilt: [f32; 2],
    /// Direction, distance in radii and steepness of each side.
    sides: [([f32; 2], f32, f32); SIDES],
    rounded: f32,
    tone: Color,
    roughness: f32,
    dirt: Color,
    /// Where in the pattern of its rock this stone was cut.
    shift: [f32; 2],
    grain: f32,
}

impl Stone {
    /// A stone of a kind at a place, of a radius.
    #[must_use]
    pub fn new(dice: &mut Dice, kind: &StoneKind, center: [f32; 2], radius: f32) -> Self {
        let mut sides = [([0.0; 2], 0.0, 0.0); SIDES];
        let start = dice.between(0.0, std::f32::consts::TAU);
        for (i, side) in sides.iter_mut().enumerate() {
            let angle = start + (i as f32 + dice.between(-0.35, 0.35)) * std::f32::consts::TAU / SIDES as f32;
            *side = (turned([1.0, 0.0], angle), dice.between(0.72, 1.0), dice.between(1.0, 3.2));
        }
        let pick = dice.unit() * (kind.tones.len() as f32 - 1.0).max(0.0);
        let first = (pick as usize).min(kind.tones.len().saturating_sub(1));
        let tone = match (kind.tones.get(first), kind.tones.get(first + 1)) {
            (Some(&a), Some(&b)) => mix(a, b, pick.fract()),
            (Some(&a), None) => a,
            _ => [0.3; 3],
        };
        let lean = 0.35 * (1.0 - 0.5 * kind.rounded);
        Self {
            center,
            radius,
            axis: dice.direction(),
            aspect: dice.between(kind.aspect[0], kind.aspect[1]),
            height_m: radius * dice.between(kind.thickness[0], kind.thickness[1]),
            base_m: 0.0,
            tilt: [dice.between(-lean, lean), dice.between(-lean, lean)],
            sides,
            rounded: kind.rounded,
            tone: scaled(tone, (1.0 + kind.contrast * dice.normal()).max(0.35)),
            roughness: kind.roughness + dice.between(-0.06, 0.06),
            dirt: kind.dirt,
            shift: [dice.unit(), dice.unit()],
            grain: dice.between(0.5, 1.0),
        }
    }

    /// The height of its surface above its base at an offset from its middle; negative beyond its outline.
    #[inline]
    fn surface(&self, dx: f32, dy: f32) -> f32 {
        let [ax, ay] = self.axis;
        // In radii, with the narrow side stretched to the same.
        let x = (dx * ax + dy * ay) / self.radius;
        let y = (dy * ax - dx * ay) / (self.radius * self.aspect);
        let top = 1.0 + self.tilt[0] * x + self.tilt[1] * y;
        let mut low = top;
        for &([nx, ny], distance, steepness) in &self.sides {
            low = low.min((distance - nx * x - ny * y) * steepness);
        }
        let square = x * x + y * y;
        let dome = if square < 1.0 { top * (1.0 - square).sqrt() } else { 1.0 - square };
        self.height_m * lerp(low, dome.min(low * 1.6 + 0.15), self.rounded)
    }
}

/// Samples along a side of the coarse heights that tell how stones come to rest.
const REST: usize = 256;

/// Lets stones fall on a canvas one after the other, each to rest on what lies there, and lays them. `grain` is the surface of
/// each of them.
pub fn heap(canvas: &mut Canvas, mut stones: Vec<Stone>, kind: &StoneKind, grain: &Grain) {
    let ground = canvas.heights();
    let mut resting: Vec<f32> = Field::from_fn(REST, |u, v| ground.sample(u, v)).as_slice().to_vec();
    let spacing = canvas.size_m() / REST as f32;
    let at = |x: f32, y: f32| {
        let index = |a: f32| (a / spacing).floor() as isize as usize & (REST - 1);
        index(y) * REST + index(x)
    };
    for stone in &mut stones {
        let [cx, cy] = stone.center;
        let mut highest = f32::MIN;
        let mut sum = 0.0;
        let around =
            [[0.0, 0.0], [0.6, 0.0], [-0.6, 0.0], [0.0, 0.6], [0.0, -0.6], [0.42, 0.42], [-0.42, -0.42]];
        for [ox, oy] in around {
            let height = resting[at(cx + ox * stone.radius, cy + oy * stone.radius)];
            highest = highest.max(height);
            sum += height;
        }
        let mean = sum / around.len() as f32;
        stone.base_m = lerp(mean, highest, 0.35) - kind.sunk * stone.height_m;
        let reach = (stone.radius * 1.2 / spacing).ceil() as isize;
        for j in -reach..=reach {
            for i in -reach..=reach {
                let (dx, dy) = (i as f32 * spacing, j as f32 * spacing);
                let above = stone.surface(dx, dy);
                if above > 0.0 {
                    let height = &mut resting[at(cx + dx, cy + dy)];
                    *height = height.max(stone.base_m + above);
                }
            }
        }
    }
    let size_m = canvas.size_m();
    let grained: Vec<Grained<'_>> = stones.iter().map(|stone| Grained { stone, grain, size_m }).collect();
    canvas.lay(&grained);
}

/// The surface of stones.
#[derive(Clone, Debug, PartialEq)]
pub struct Grain {
    /// Its pattern, over the tile.
    pub noise: Octaves,
    /// How high it stands, in metres.
    pub relief_m: f32,
    /// How much brighter it makes what stands out.
    pub tone: f32,
}

/// A stone whose surface has the grain of its rock.
struct Grained<'a> {
    stone: &'a Stone,
    grain: &'a Grain,
    size_m: f32,
}

impl Shape for Grained<'_> {
    fn bounds(&self) -> Bounds {
        Bounds { center: self.stone.center, half: [self.stone.radius * 1.45; 2] }
    }

    fn draw(&self, spot: Spot, texel: &mut Texel) {
        let stone = self.stone;
        let (dx, dy) = (spot.x - stone.center[0], spot.y - stone.center[1]);
        let above = stone.surface(dx, dy);
        if above <= -0.3 * stone.height_m {
            return;
        }
        let [u, v] = turned([dx, dy], stone.shift[0] * 6.0).map(|d| d / self.size_m);
        let grain = self.grain.noise.at(u + stone.shift[0], v + stone.shift[1]) * stone.grain;
        let top = stone.base_m + above + grain * self.grain.relief_m;
        let rise = top - texel.height_m;
        let share = coverage(rise, spot.width_m * 1.6);
        if share <= 0.0 {
            return;
        }
        let clean = smoothstep(0.0, 0.4 * stone.height_m, above);
        let tone = scaled(stone.tone, (1.0 + grain * self.grain.tone).max(0.3));
        let color = mix(mix(tone, stone.dirt, 0.45), tone, clean);
        texel.cover(&Texel { height_m: texel.height_m.max(top), color, roughness: stone.roughness }, share);
    }
}
