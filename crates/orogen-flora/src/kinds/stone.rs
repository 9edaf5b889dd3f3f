//! Stones: spheres that planes have cut, pressed flat, worn and rough.

use std::f64::consts::TAU;

use orogen_core::{Seed, math};

use super::between;
use crate::frame::{Frame, Vec3, add, cross, dot, scaled, unit};
use crate::mesh::{BARK_M, Mesh};
use crate::skeleton::{Boulder, Skeleton};
use crate::species::{Species, Stone, StoneForm};

/// Half the length of a stone whose form is as high as it is long, against the height that its species says; flat ones are longer.
const HALF: f64 = 0.8;

/// Stones that lie together: the largest in the middle.
pub(crate) fn lie(species: &Species, stone: &Stone, seed: Seed) -> Skeleton {
    let [fewest, most] = stone.count;
    let count = fewest + (seed.child("count").bits(0) % u64::from(most - fewest + 1)) as u32;
    let height = species.height_m + species.height_vary_m * (2.0 * seed.child("height").unit(0) - 1.0);
    // What lies together broke from one rock.
    let form = &stone.forms[(seed.child("form").bits(0) % stone.forms.len() as u64) as usize];
    let stones = (0..count)
        .map(|number| {
            let own = Seed(seed.child("stone").bits(u64::from(number)));
            let size = if number == 0 { 1.0 } else { between(own, "size", [0.2, 0.6]) };
            let half = [0, 1, 2].map(|axis| {
                let vary = 1.0 + form.axes_vary * (2.0 * own.child("axes").unit(axis as u64) - 1.0);
                HALF * height / form.axes[2].sqrt() * size * form.axes[axis] * vary
            });
            let frame = Frame::UPRIGHT.rolled(360.0 * own.child("turn").unit(0)).bent(between(
                own,
                "lean",
                [-14.0, 14.0],
            ));
            let turn = TAU * own.child("place").unit(0);
            let far = if number == 0 { 0.0 } else { stone.apart_m * between(own, "far", [0.6, 1.2]) };
            let z = half[2] * (1.0 - 2.0 * stone.sunk);
            Boulder {
                at: [far * math::cos(turn), far * math::sin(turn), z].map(|v| v as f32),
                axes: [scaled(frame.x, half[0]), scaled(frame.y, half[1]), scaled(frame.z, half[2])]
                    .map(|axis| axis.map(|v| v as f32)),
                form: *form,
                seed: own,
            }
        })
        .collect();
    Skeleton { scale_m: height, stones, ..Skeleton::default() }
}

/// The surfaces of stones, closed, of so many triangles together, about. Each is a cube of grids that was inflated. Places on the
/// texture are in the metres of bark, so that its grain is as large on every stone.
pub(crate) fn append(stones: &[Boulder], triangles: usize, mesh: &mut Mesh) {
    let reach = |stone: &Boulder| {
        let axes = stone.axes.map(|axis| axis.map(f64::from));
        axes.iter().map(|axis| dot(*axis, *axis)).fold(0.0, f64::max).sqrt()
    };
    let largest = stones.iter().map(reach).fold(1e-6, f64::max);
    // Small ones need fewer, though not in step with their size.
    let shares: Vec<f64> = stones.iter().map(|stone| reach(stone) / largest).collect();
    let each = triangles as f64 / shares.iter().sum::<f64>().max(1e-6);
    for (stone, share) in stones.iter().zip(shares) {
        let cells = (share * each / 12.0).sqrt().round().clamp(2.0, 128.0) as u32;
        append_one(stone, cells, reach(stone), mesh);
    }
}

fn append_one(stone: &Boulder, cells: u32, reach: f64, mesh: &mut Mesh) {
    let surface = Surface::new(stone);
    for face in 0..6 {
        let first = mesh.positions.len() as u32;
        for row in 0..=cells {
            for col in 0..=cells {
                let toward = on_cube(face, [col, row], cells);
                let at = surface.at(toward);
                let normal = surface.normal(toward, 0.7 / f64::from(cells));
                let across = |k: u32| (1.6 * reach * (f64::from(k) / f64::from(cells) - 0.5) / BARK_M) as f32;
                // The ground shades what lies low and looks down.
                let open = 0.62 + 0.38 * normal[2];
                let sway = [255, 0, 0, (255.0 * open.clamp(0.25, 1.0)) as u8];
                mesh.corner(
                    at.map(|v| v as f32),
                    normal.map(|v| v as f32),
                    [across(col), across(row)],
                    sway,
                    0,
                );
                mesh.tints.push([255; 3]);
            }
        }
        let wide = cells + 1;
        for row in 0..cells {
            for col in 0..cells {
                let a = first + row * wide + col;
                let [b, c, d] = [a + 1, a + wide + 1, a + wide];
                // Along the shorter diagonal, so that edges of the stone stay sharp.
                let far = |p: u32, q: u32| {
                    let [p, q] = [p, q].map(|id| mesh.positions[id as usize]);
                    (0..3).map(|k| (p[k] - q[k]) * (p[k] - q[k])).sum::<f32>()
                };
                let quad = if far(a, c) <= far(b, d) { [a, b, c, a, c, d] } else { [a, b, d, b, c, d] };
                mesh.indices.extend(quad);
            }
        }
    }
}

/// The way to a corner of the grid on a side of a cube; those on edges are the same from either side, to the bit.
fn on_cube(face: usize, [col, row]: [u32; 2], cells: u32) -> Vec3 {
    let spread = |k: u32| {
        let at = 2.0 * f64::from(k) / f64::from(cells) - 1.0;
        // Even on the sphere; exactly one at the edges.
        if k == 0 || k == cells { at } else { math::tan(std::f64::consts::FRAC_PI_4 * at) }
    };
    let (a, b) = (spread(col), spread(row));
    let flipped = spread(cells - col);
    unit(match face {
        0 => [1.0, a, b],
        1 => [-1.0, flipped, b],
        2 => [flipped, 1.0, b],
        3 => [a, -1.0, b],
        4 => [a, b, 1.0],
        _ => [flipped, b, -1.0],
    })
}

/// A stone as a distance in every direction.
struct Surface {
    at: Vec3,
    axes: [Vec3; 3],
    form: StoneForm,
    /// Planes that cut it: which way they look and how far out they are.
    cuts: Vec<(Vec3, f64)>,
    /// Seeds of its noises.
    noises: [Seed; 6],
}

impl Surface {
    fn new(stone: &Boulder) -> Self {
        let (form, seed) = (stone.form, stone.seed);
        let cuts = (0..form.cuts)
            .map(|number| {
                let own = Seed(seed.child("cut").bits(u64::from(number)));
                let z = 2.0 * own.unit(0) - 1.0;
                let turn = TAU * own.unit(1);
                let flat = (1.0 - z * z).max(0.0).sqrt();
                let normal = [flat * math::cos(turn), flat * math::sin(turn), z];
                (normal, 1.0 - form.cut_depth * (0.25 + 0.75 * own.unit(2)))
            })
            .collect();
        let axes = stone.axes.map(|axis| axis.map(f64::from));
        let noises = ["broad", "middle", "small", "fine", "dip", "beds"].map(|what| seed.child(what));
        Self { at: stone.at.map(f64::from), axes, form, cuts, noises }
    }

    /// Where the surface is in a direction of the sphere.
    fn at(&self, toward: Vec3) -> Vec3 {
        let form = &self.form;
        let mut radius = 1.0;
        let worn = 0.02 + 0.5 * form.worn;
        for (normal, far) in &self.cuts {
            let facing = dot(*normal, toward);
            if facing > 0.05 {
                radius = smooth_min(radius, far / facing, worn);
            }
        }
        let [broad, middle, small, fine_grain, dip, beds] = self.noises;
        let grain = |size: f64, seed: Seed| noise(seed, scaled(toward, size));
        // Worn stones keep broad bumps, fresh ones have sharp small ones as well.
        let fine = 1.0 - form.worn;
        let bumps = 0.6 * grain(1.7, broad)
            + 0.3 * grain(3.9, middle)
            + fine * (0.3 * grain(8.3, small) + 0.16 * grain(17.0, fine_grain));
        radius *= 1.0 + form.rough * bumps;
        let mut out = scaled(toward, radius);
        if form.beds > 0.0 {
            // Hard and soft beds stand out and back.
            let height = 3.4 * out[2] + 0.25 * grain(1.3, dip);
            let bed = noise(beds, [0.37, 0.61, 1.9 * height]);
            let step = (3.0 * bed).clamp(-1.0, 1.0);
            let by = 1.0 + form.beds * step;
            (out[0], out[1]) = (out[0] * by, out[1] * by);
        }
        let [x, y, z] = out;
        let [a, b, c] = self.axes;
        add(self.at, add(add(scaled(a, x), scaled(b, y)), scaled(c, z)))
    }

    /// Which way the surface looks in a direction: from points around, so that it is the same however coarse the mesh is.
    fn normal(&self, toward: Vec3, step: f64) -> Vec3 {
        let step = step.clamp(0.01, 0.06);
        let aside =
            unit(cross(toward, if toward[0].abs() < 0.8 { [1.0, 0.0, 0.0] } else { [0.0, 1.0, 0.0] }));
        let other = cross(toward, aside);
        let across = |way: Vec3| {
            let [p, q] = [step, -step].map(|by| self.at(unit(add(toward, scaled(way, by)))));
            [0, 1, 2].map(|k| p[k] - q[k])
        };
        unit(cross(across(aside), across(other)))
    }
}

/// The smaller of two, rounded over a width.
fn smooth_min(a: f64, b: f64, width: f64) -> f64 {
    let near = (width - (a - b).abs()).max(0.0) / width;
    a.min(b) - 0.25 * near * near * width
}

/// Smooth noise in space, from -1 to 1, with cells of size one.
fn noise(seed: Seed, at: Vec3) -> f64 {
    let cell = at.map(f64::floor);
    let part = [0, 1, 2].map(|k| at[k] - cell[k]);
    let ease = part.map(|t| t * t * t * (t * (6.0 * t - 15.0) + 10.0));
    let low = cell.map(|v| v as i64);
    let mut sum = 0.0;
    for corner in 0..8_i64 {
        let side = [corner & 1, corner >> 1 & 1, corner >> 2];
        let weight: f64 = (0..3).map(|k| if side[k] == 1 { ease[k] } else { 1.0 - ease[k] }).product();
        // The lattice is small: directions are not longer than one, times the grain.
        let [x, y, z] = [0, 1, 2].map(|k| low[k] + side[k]);
        sum += weight * (2.0 * seed.unit2(x, y << 20 | (z & 0xf_ffff)) - 1.0);
    }
    sum
}
