//! Beds of sandstone in a cliff. Upwards in the picture is upwards in the rock.

use orogen_core::Seed;
use orogen_core::math::f32::sin;
use orogen_core::math::{lerp, smoothstep};
use std::f32::consts::TAU;

use crate::canvas::{Canvas, Texel};
use crate::color::{mix, scaled};
use crate::detail::Plan;
use crate::dice::{Dice, hash, lattice_seed, unit};
use crate::maps::{Finish, Made};
use crate::noise::{Cells, Gradient, Noise, Octaves, Value, Warp};

const SIZE_M: f32 = 4.0;
/// Across which the noise of joints is taken to rise, and how steep it is as a rule, in tiles.
const STEP: f32 = 1.0 / 1024.0;
const STEEP: f32 = 6.0;

/// One bed, from its upper edge on.
#[derive(Clone, Copy)]
struct Bed {
    /// Where it begins, 0 to 1 from the top.
    top: f32,
    thickness: f32,
    /// How far it stands out, in metres.
    proud: f32,
    tone: f32,
    red: f32,
    id: u32,
}

/// Beds of all thicknesses, thin ones in packets, that fill the height of the tile.
fn beds(seed: Seed) -> Vec<Bed> {
    let mut dice = Dice::new(seed, "beds");
    let mut beds: Vec<Bed> = Vec::new();
    let mut top = 0.0;
    while top < 1.0 && beds.len() < 60 {
        let thick = dice.chance(0.4);
        let thickness = if thick { dice.between(0.045, 0.15) } else { dice.between(0.008, 0.035) };
        let proud = if thick { dice.between(0.3, 1.0) } else { dice.between(-0.9, 0.5) };
        beds.push(Bed {
            top,
            thickness,
            proud: 0.045 * proud,
            tone: dice.between(0.82, 1.16),
            red: dice.unit(),
            id: dice.bits(),
        });
        top += thickness;
    }
    for bed in &mut beds {
        bed.top /= top;
        bed.thickness /= top;
    }
    beds
}

pub(crate) fn sandstone(size: usize, seed: Seed) -> Made {
    let s = |name| lattice_seed(seed, name);
    let beds = beds(seed);
    let sag = Octaves::directional(s("sag"), [2, 3], 4, 0.45);
    let ragged = Octaves::new(s("ragged"), 24, 5, 0.62);
    let rough = Octaves::new(s("rough"), 7, 6, 0.58);
    let fine = Octaves::new(s("fine"), 100, 3, 0.8);
    let laminae = Gradient::directional(s("laminae"), [3, 190]);
    let bands = Octaves::directional(s("bands"), [2, 26], 3, 0.6);
    let joints = Gradient::directional(s("joints"), [5, 2]);
    let shift = Warp::new(s("shift"), 8, 4, 0.012);
    let pits = Cells { period: [44, 60], ..Cells::new(s("pits"), 44) };
    let rotten = Octaves::new(s("rotten"), 5, 3, 0.5);
    let stain = Octaves::directional(s("stain"), [22, 3], 4, 0.6);
    let speckle = Value::new(s("speckle"), 512);
    let canvas = Canvas::from_fn(size, SIZE_M, |u, v| {
        let (rag, fine_here, rough_here) = (ragged.at(u, v), fine.at(u, v), rough.at(u, v));
        let level = v + 0.020 * sag.at(u, v) + 0.003 * rag;
        let level = level - level.floor();
        let index = beds.partition_point(|bed| bed.top <= level).max(1) - 1;
        let bed = beds[index];
        let depth = (level - bed.top) / bed.thickness;
        let edge_m = depth.min(1.0 - depth) * bed.thickness * SIZE_M;
        let r = |k| unit(hash(bed.id, k, 0));

        // The parting between two beds is cut back; edges are rounded.
        let faint = if depth < 0.5 { r(1) } else { unit(hash(beds[(index + 1) % beds.len()].id, 1, 0)) };
        let parting =
            lerp(0.3, 1.0, faint) * (1.0 - smoothstep(0.001, 0.006 + 0.012 * faint, edge_m + 0.005 * rag));
        let round = 1.0 - smoothstep(0.0, 0.05, edge_m);
        // Laminae sag in the thicker beds: the troughs of sand waves of long ago.
        let trough = sin(TAU * (((r(2) * 3.0) as u32 + 1) as f32 * u + r(6)));
        let lamina = laminae.at(u, level + 0.35 * bed.thickness * trough * depth);
        let mut height = bed.proud + 0.05 * rough_here + 0.006 * rag + 0.0022 * fine_here + 0.0035 * lamina
            - 0.028 * round * round
            - 0.05 * parting;

        // Joints break the thick beds, shifted from bed to bed.
        let (ju, jv) = shift.at(u + r(3), v);
        let near = |du: f32, dv: f32| joints.at(ju + du, jv + r(4) + dv);
        // As far away as the noise falls to zero: where it is flat there would be a blot instead of a line.
        let grade = [near(STEP, 0.0) - near(-STEP, 0.0), near(0.0, STEP) - near(0.0, -STEP)];
        let grade = (grade[0] * grade[0] + grade[1] * grade[1]).sqrt() / (2.0 * STEP);
        let line = near(0.0, 0.0) * STEEP / grade.max(0.7 * STEEP);
        let broken = smoothstep(0.3 * STEEP, 0.5 * STEEP, grade)
            * smoothstep(0.02, 0.045, bed.thickness)
            * smoothstep(-0.1, 0.25, rotten.at(v, u + r(7)));
        let joint = broken * (1.0 - smoothstep(0.003 + 0.006 * r(8), 0.020, line.abs()));
        height -= 0.05 * joint;

        // Honeycomb weathering, here and there.
        let pit = pits.nearest(u + 0.004 * rag, v);
        let comb = smoothstep(0.15, 0.5, rotten.at(u, v) + 0.3 * (r(5) - 0.5));
        let hole = comb * smoothstep(0.08, 0.4, pit.edge);
        height -= 0.022 * hole;

        let band = bands.at(u, level);
        let red = (0.55 * bed.red + 0.35 + 0.5 * band).clamp(0.0, 1.0);
        let mut color = mix([0.46, 0.36, 0.245], [0.335, 0.195, 0.115], red);
        let grain = 0.07 * lamina + 0.13 * fine_here + 0.1 * rough_here + 0.2 * speckle.at(u, v);
        color = scaled(color, bed.tone * (1.0 + grain));
        let dark = smoothstep(0.25, 0.75, stain.at(u, v) + 0.2 * rag);
        color = mix(color, [0.13, 0.10, 0.08], 0.38 * dark);
        color = mix(color, [0.16, 0.105, 0.068], 0.55 * hole);
        color = mix(color, [0.085, 0.060, 0.042], 0.8 * parting.max(0.85 * joint));
        Texel { height_m: height, color, roughness: 0.88 - 0.1 * dark + 0.05 * fine_here }
    });
    Made {
        canvas,
        finish: Finish { keep_color: 0.35, keep_height: 0.7, cavity: 0.5, occlusion_m: 0.3 },
        detail: Plan::Pattern {
            size_m: 37.0,
            period: [4, 9],
            tone: 0.11,
            tint: [0.03, 0.0, -0.025],
            joints: None,
        },
    }
}
