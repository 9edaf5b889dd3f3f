//! Bark that stays closed: smooth, dotted with pores, of paper, or peeling from a skin.

use orogen_core::Seed;
use orogen_core::math::{lerp, smoothstep};
use orogen_texture::color::{mix, scaled};
use orogen_texture::dice::{Dice, hash, lattice_seed, turned, unit};
use orogen_texture::noise::{Cells, Noise, Octaves, Value, Warp};
use orogen_texture::shapes::{coverage, jittered};
use orogen_texture::{Bounds, Canvas, Shape, Spot, Texel};

use super::SIZE_M;

/// A pore, a scar or a line across: an oval with a raised rim.
struct Mark {
    center: [f32; 2],
    half: [f32; 2],
    turn: f32,
    /// Height of its rim and depth of its middle.
    rim_m: f32,
    deep_m: f32,
    color: [f32; 3],
    strength: f32,
}

impl Shape for Mark {
    fn bounds(&self) -> Bounds {
        let reach = 1.8 * self.half[0].max(self.half[1]) + 0.004;
        Bounds { center: self.center, half: [reach; 2] }
    }

    fn draw(&self, spot: Spot, texel: &mut Texel) {
        let [x, y] = turned([spot.x - self.center[0], spot.y - self.center[1]], self.turn);
        // A lens: pointed at both ends, as pores across a trunk are.
        let t = (x / self.half[0]).abs();
        let half = self.half[1] * (1.0 - t * t).max(0.0);
        let inside = if t < 1.0 { half - y.abs() } else { -(t - 1.0) * self.half[0] - y.abs() };
        let share = coverage(inside, spot.width_m) * self.strength;
        let near = 1.0 - smoothstep(0.0, 0.5 * self.half[1] + 0.0025, inside.abs());
        texel.height_m += self.rim_m * near - self.deep_m * share;
        texel.color = mix(texel.color, self.color, share);
        texel.roughness = lerp(texel.roughness, 0.95, share);
    }
}

pub(super) fn smooth(size: usize, seed: Seed) -> Canvas {
    let s = |name| lattice_seed(seed, name);
    let swell = Octaves::new(s("swell"), 4, 3, 0.5);
    let wrinkles = Octaves::directional(s("wrinkles"), [6, 44], 4, 0.55);
    let bend = Warp::new(s("bend"), 6, 3, 0.018);
    let fine = Octaves::directional(s("fine"), [40, 70], 3, 0.6);
    let stain = Octaves::directional(s("stain"), [9, 4], 5, 0.6);
    let lichen = Cells { jitter: 1.0, ..Cells::new(s("lichen"), 11) };
    let ragged = Warp::new(s("ragged"), 28, 4, 0.014);
    let mut canvas = Canvas::from_fn(size, SIZE_M, |u, v| {
        let (bu, bv) = bend.at(u, v);
        let wrinkle = smoothstep(0.1, 0.6, wrinkles.at(bu, bv));
        let f = fine.at(u, v);
        let (lu, lv) = ragged.at(u, v);
        let (spot, distance) = lichen.point_near(lu, lv);
        let reach = 0.1 + 0.45 * unit(hash(spot, 4, 0)) * unit(hash(spot, 6, 0));
        let crust = 1.0 - smoothstep(0.75 * reach, reach, distance);
        let algae = smoothstep(-0.1, 0.7, stain.at(u, v));
        let mut color = scaled([1.0; 3], (1.0 + 0.07 * f) * (1.0 - 0.14 * wrinkle));
        color = mix(color, [0.82, 0.86, 0.72], 0.5 * algae);
        let pale = if unit(hash(spot, 2, 0)) < 0.55 { [1.4, 1.42, 1.36] } else { [0.72, 0.74, 0.66] };
        color = mix(color, pale, 0.55 * crust);
        Texel {
            height_m: 0.004 * swell.at(u, v) + 0.0011 * wrinkle + 0.0003 * f + 0.0003 * crust,
            color,
            roughness: 0.72 + 0.15 * crust,
        }
    });
    // Where branches once stood: an eye with brows above it.
    let mut dice = Dice::new(seed, "scars");
    let scars: Vec<Mark> = jittered(&mut dice, SIZE_M, 9, 0.9)
        .into_iter()
        .map(|center| Mark {
            center,
            half: [dice.between(0.012, 0.045), dice.between(0.002, 0.006)],
            turn: 0.12 * dice.normal(),
            rim_m: 0.0018,
            deep_m: 0.0012,
            color: [0.55, 0.53, 0.5],
            strength: dice.between(0.3, 0.8),
        })
        .collect();
    canvas.lay(&scars);
    canvas
}

pub(super) fn dotted(size: usize, seed: Seed) -> Canvas {
    let s = |name| lattice_seed(seed, name);
    let swell = Octaves::new(s("swell"), 5, 3, 0.5);
    let sheen = Octaves::directional(s("sheen"), [5, 60], 4, 0.55);
    let fine = Octaves::directional(s("fine"), [90, 30], 3, 0.6);
    let tone = Octaves::new(s("tone"), 4, 4, 0.6);
    let mut canvas = Canvas::from_fn(size, SIZE_M, |u, v| {
        let (bands, f) = (sheen.at(u, v), fine.at(u, v));
        Texel {
            height_m: 0.003 * swell.at(u, v) + 0.0004 * bands + 0.0004 * f,
            color: scaled([1.0; 3], 1.0 + 0.06 * bands + 0.08 * f + 0.14 * tone.at(u, v)),
            roughness: 0.5 + 0.1 * bands,
        }
    });
    let mut dice = Dice::new(seed, "pores");
    let pores: Vec<Mark> = jittered(&mut dice, SIZE_M, 900, 1.0)
        .into_iter()
        .map(|center| {
            let long = dice.between(0.003, 0.008) * if dice.chance(0.15) { 2.0 } else { 1.0 };
            Mark {
                center,
                half: [long, dice.between(0.0018, 0.0032)],
                turn: 0.08 * dice.normal(),
                rim_m: 0.0005,
                deep_m: 0.0003,
                color: [1.8, 1.75, 1.65],
                strength: dice.between(0.6, 1.0),
            }
        })
        .collect();
    canvas.lay(&pores);
    canvas
}

pub(super) fn papery(size: usize, seed: Seed) -> Canvas {
    let s = |name| lattice_seed(seed, name);
    let swell = Octaves::new(s("swell"), 4, 3, 0.5);
    let bands = Octaves::directional(s("bands"), [2, 26], 4, 0.55);
    let fine = Octaves::directional(s("fine"), [14, 120], 3, 0.6);
    let sheets = Octaves::directional(s("sheets"), [3, 7], 4, 0.55);
    let rough = Octaves::directional(s("rough"), [14, 18], 5, 0.65);
    let scars = Cells { period: [4, 4], ..Cells::new(s("scars"), 1) };
    let ragged = Warp::new(s("ragged"), 22, 5, 0.022);
    let mut canvas = Canvas::from_fn(size, SIZE_M, |u, v| {
        let (band, f) = (bands.at(u, v), fine.at(u, v));
        // The rims of sheets curl up and show the tan side.
        let level = sheets.at(u, v) * 1.1 + 4.3;
        let part = level - level.floor();
        let torn = smoothstep(-0.1, 0.35, rough.at(v, u));
        let curl = smoothstep(0.93, 0.99, part) * torn;
        let mut color = scaled([1.04, 1.02, 1.0], 1.0 + 0.09 * band + 0.07 * f);
        color = mix(color, [0.86, 0.68, 0.54], 0.6 * curl);
        color = mix(color, [0.93, 0.83, 0.74], 0.6 * smoothstep(0.0, 0.6, band) * (1.0 - part));
        let mut height = 0.004 * swell.at(u, v) + 0.0002 * f + 0.0004 * band + 0.0012 * curl;
        // Old bark breaks into black diamonds, wider than high.
        let (ru, rv) = ragged.at(u, v);
        let near = scars.nearest(ru, rv);
        let size = 0.04 + 0.62 * unit(hash(near.id, 8, 0)) * unit(hash(near.id, 9, 0));
        let diamond =
            1.0 - smoothstep(0.7 * size, size, near.offset[0].abs() * 0.8 + near.offset[1].abs() * 1.6);
        let r = rough.at(u, v);
        color = mix(color, scaled([0.12, 0.105, 0.095], 1.0 + 0.8 * r), diamond);
        height += diamond * (0.003 * r - 0.001);
        Texel { height_m: height, color, roughness: lerp(0.55, 0.95, diamond) }
    });
    let mut dice = Dice::new(seed, "pores");
    let pores: Vec<Mark> = jittered(&mut dice, SIZE_M, 520, 1.0)
        .into_iter()
        .map(|center| {
            let long = 0.006 + 0.075 * dice.unit() * dice.unit() * dice.unit();
            Mark {
                center,
                half: [long, dice.between(0.0012, 0.003)],
                turn: 0.035 * dice.normal(),
                rim_m: 0.0004,
                deep_m: 0.0006,
                color: [0.25, 0.21, 0.18],
                strength: dice.between(0.45, 0.95),
            }
        })
        .collect();
    canvas.lay(&pores);
    canvas
}

pub(super) fn peeling(size: usize, seed: Seed) -> Canvas {
    let s = |name| lattice_seed(seed, name);
    let sheets = Octaves::directional(s("sheets"), [9, 3], 5, 0.55);
    let bend = Warp::new(s("bend"), 9, 4, 0.025);
    let swell = Octaves::new(s("swell"), 4, 3, 0.5);
    let fine = Octaves::directional(s("fine"), [46, 12], 4, 0.6);
    let speckle = Value::new(s("speckle"), 220);
    Canvas::from_fn(size, SIZE_M, |u, v| {
        let (bu, bv) = bend.at(u, v);
        let level = sheets.at(bu, bv) * 1.7 + 2.0;
        let (sheet, part) = (level.floor().clamp(0.0, 4.0), level - level.floor());
        let f = fine.at(u, v);
        // Below the sheets the skin is smooth, from greenish over orange to dark red.
        let tones =
            [[0.98, 1.06, 0.82], [1.2, 0.94, 0.72], [1.08, 0.86, 0.74], [0.82, 0.8, 0.8], [0.7, 0.72, 0.74]];
        let mut color = tones[sheet as usize];
        let old = sheet / 4.0;
        // A rim that has come off and rolled up, pale at its edge and with a shade beside it.
        let rim = smoothstep(0.0, 0.02, part) * (1.0 - smoothstep(0.06, 0.16, part));
        let shade = smoothstep(0.9, 1.0, part);
        color = scaled(color, (1.0 + lerp(0.05, 0.26, old) * f) * (1.0 + 0.04 * speckle.at(u, v)));
        color = mix(color, [1.45, 1.2, 1.0], 0.6 * rim);
        color = scaled(color, 1.0 - 0.4 * shade);
        Texel {
            height_m: 0.003 * swell.at(u, v) + 0.0016 * sheet + 0.0022 * rim + lerp(0.0002, 0.0014, old) * f,
            color,
            roughness: lerp(0.45, 0.9, old),
        }
    })
}
