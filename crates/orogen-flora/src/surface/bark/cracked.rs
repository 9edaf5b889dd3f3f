//! Bark that the growing trunk has torn: ridges, blocks and plates with cracks between them.

use orogen_core::Seed;
use orogen_core::math::{lerp, smoothstep};
use orogen_texture::color::{mix, scaled};
use orogen_texture::dice::{hash, lattice_seed, unit};
use orogen_texture::filter::slope;
use orogen_texture::noise::{Cells, Noise, Octaves, Warp};
use orogen_texture::{Canvas, Field, Texel};
use rayon::prelude::*;

use super::SIZE_M;

/// Plates and the cracks between them.
struct Cracks {
    /// Plates across and up a metre.
    plates: [u32; 2],
    /// How far their borders wander, and in waves of which part of a metre.
    wander_m: f32,
    waves: u32,
    /// Half the width of the widest crack, and how wide its sides are.
    open_m: f32,
    side_m: f32,
    depth_m: f32,
    /// Finer cracks: pieces across and up, half their width, their depth.
    fine: [u32; 2],
    fine_m: f32,
    fine_depth_m: f32,
    /// How many layers lie on a plate, and how thick they are in all.
    layers: f32,
    layers_m: f32,
    /// Waves of the grain, across and up.
    grain: [u32; 2],
    grain_m: f32,
    /// How plates, flanks and cracks differ from the mean colour.
    top: [f32; 3],
    flank: [f32; 3],
    crack: [f32; 3],
    /// How much plates differ from each other.
    vary: f32,
}

pub(super) fn furrowed(size: usize, seed: Seed) -> Canvas {
    let cracks = Cracks {
        plates: [15, 5],
        wander_m: 0.022,
        waves: 9,
        open_m: 0.005,
        side_m: 0.021,
        depth_m: 0.015,
        fine: [24, 17],
        fine_m: 0.0014,
        fine_depth_m: 0.004,
        layers: 0.0,
        layers_m: 0.0,
        grain: [34, 6],
        grain_m: 0.0028,
        top: [1.25, 1.24, 1.22],
        flank: [0.95, 0.9, 0.85],
        crack: [0.36, 0.31, 0.27],
        vary: 0.14,
    };
    torn(size, seed, &cracks)
}

pub(super) fn blocky(size: usize, seed: Seed) -> Canvas {
    let cracks = Cracks {
        plates: [22, 14],
        wander_m: 0.011,
        waves: 13,
        open_m: 0.0028,
        side_m: 0.011,
        depth_m: 0.010,
        fine: [40, 34],
        fine_m: 0.0010,
        fine_depth_m: 0.002,
        layers: 0.0,
        layers_m: 0.0,
        grain: [40, 16],
        grain_m: 0.0018,
        top: [1.2, 1.2, 1.2],
        flank: [0.88, 0.85, 0.83],
        crack: [0.34, 0.30, 0.28],
        vary: 0.18,
    };
    torn(size, seed, &cracks)
}

pub(super) fn ridged(size: usize, seed: Seed) -> Canvas {
    let cracks = Cracks {
        plates: [11, 2],
        wander_m: 0.034,
        waves: 5,
        open_m: 0.006,
        side_m: 0.034,
        depth_m: 0.020,
        fine: [22, 9],
        fine_m: 0.0012,
        fine_depth_m: 0.003,
        layers: 0.0,
        layers_m: 0.0,
        grain: [44, 4],
        grain_m: 0.0034,
        top: [1.26, 1.25, 1.22],
        flank: [0.98, 0.95, 0.9],
        crack: [0.40, 0.35, 0.30],
        vary: 0.1,
    };
    torn(size, seed, &cracks)
}

pub(super) fn plated(size: usize, seed: Seed) -> Canvas {
    let cracks = Cracks {
        plates: [9, 5],
        wander_m: 0.020,
        waves: 11,
        open_m: 0.007,
        side_m: 0.012,
        depth_m: 0.013,
        fine: [22, 20],
        fine_m: 0.0009,
        fine_depth_m: 0.0016,
        layers: 4.0,
        layers_m: 0.008,
        grain: [26, 12],
        grain_m: 0.0010,
        top: [1.16, 1.13, 1.1],
        flank: [1.02, 0.92, 0.82],
        crack: [0.30, 0.24, 0.22],
        vary: 0.2,
    };
    torn(size, seed, &cracks)
}

/// Where plates end, for every sample.
struct Borders {
    /// Metres to the nearest border.
    distance_m: Field,
    /// Random bits of the plate and of the one beyond the border.
    ids: Vec<[u32; 2]>,
}

impl Borders {
    fn new(size: usize, cells: &Cells, wander: &Warp) -> Self {
        let rows: Vec<Vec<(f32, [u32; 2])>> = (0..size)
            .into_par_iter()
            .map(|row| {
                let at = |i: usize| (i as f32 + 0.5) / size as f32;
                let near = |col| {
                    let (u, v) = wander.at(at(col), at(row));
                    let near = cells.nearest(u, v);
                    (near.edge, [near.id, near.neighbor])
                };
                (0..size).map(near).collect()
            })
            .collect();
        let edge = Field::from_cells(size, |col, row| rows[row][col].0);
        let [narrow, wide] = [cells.period[0].min(cells.period[1]), cells.period[0].max(cells.period[1])];
        // The lattice is stretched and bent, so what it says is divided by how quickly that changes. Beyond the middle of a
        // plate another border is the nearest and the slope says nothing; hence its bounds.
        let distance_m = Field::from_cells(size, |col, row| {
            let [x, y] = slope(&edge, col, row);
            let per_m = ((x * x + y * y).sqrt() / SIZE_M).clamp(0.7 * narrow as f32, 1.6 * wide as f32);
            edge.row(row)[col] / per_m
        });
        Self { distance_m, ids: rows.into_iter().flatten().map(|(_, ids)| ids).collect() }
    }

    /// Distance from a border, the plate, the plate beyond.
    fn at(&self, u: f32, v: f32) -> (f32, u32, u32) {
        let size = self.distance_m.size();
        let index = |x: f32| ((x * size as f32) as usize).min(size - 1);
        let i = index(v) * size + index(u);
        let [id, beyond] = self.ids[i];
        (self.distance_m.as_slice()[i], id, beyond)
    }
}

fn torn(size: usize, seed: Seed, cracks: &Cracks) -> Canvas {
    let s = |name| lattice_seed(seed, name);
    let plates = Cells { staggered: cracks.plates[1].is_multiple_of(2), ..Cells::new(s("plates"), 1) };
    let plates = Cells { period: cracks.plates, jitter: 0.9, ..plates };
    let pieces = Cells { period: cracks.fine, ..Cells::new(s("pieces"), 1) };
    let wander = Warp::new(s("wander"), cracks.waves, 4, cracks.wander_m / SIZE_M);
    let plates = Borders::new(size, &plates, &wander);
    let fine_wander = Warp::new(s("fine wander"), 2 * cracks.waves, 3, 0.55 * cracks.wander_m / SIZE_M);
    let pieces = Borders::new(size, &pieces, &fine_wander);
    let opening = Octaves::new(s("opening"), 7, 3, 0.5);
    let grain = Octaves::directional(s("grain"), cracks.grain, 4, 0.62);
    let layering = Octaves::directional(s("layers"), [7, 6], 5, 0.55);
    let stain = Octaves::new(s("stain"), 4, 4, 0.6);
    let lichen = Octaves::new(s("lichen"), 13, 4, 0.6);
    Canvas::from_fn(size, SIZE_M, |u, v| {
        let (border, id, beyond) = plates.at(u, v);
        let open = cracks.open_m * lerp(0.45, 1.25, smoothstep(-0.4, 0.5, opening.at(u, v)));
        // Some cracks have hardly begun.
        let strength = lerp(0.55, 1.0, smoothstep(0.1, 0.5, unit(hash(id ^ beyond, 11, 0))));
        let rise = smoothstep(0.25 * open, open + cracks.side_m, border);
        let crack = (1.0 - smoothstep(0.5 * open, 1.6 * open, border)) * strength;
        let fibre = grain.at(u, v);
        let (fine_border, piece, other) = pieces.at(u, v);
        let fine_there =
            smoothstep(0.35, 1.0, unit(hash(piece ^ other, 5, 0))) * smoothstep(-0.3, 0.4, fibre);
        let fine = fine_there * (1.0 - smoothstep(0.3 * cracks.fine_m, 1.8 * cracks.fine_m, fine_border));
        let mut height = cracks.depth_m * (rise.sqrt() - 1.0) * lerp(0.6, 1.0, strength)
            + cracks.grain_m * fibre
            - cracks.fine_depth_m * fine * rise;
        let mut color = mix(cracks.flank, cracks.top, smoothstep(0.5, 0.95, rise));
        if cracks.layers > 0.0 {
            // Sheets that have come off in part: steps with sharp edges, each a little lighter where it is fresh.
            let level = (layering.at(u, v) * 0.9 + 0.5 + 0.35 * (unit(hash(id, 3, 0)) - 0.5)) * cracks.layers;
            let step = level.floor() + smoothstep(0.82, 1.0, level - level.floor());
            height += cracks.layers_m * (step / cracks.layers - 0.5) * rise;
            let fresh = unit(hash(id, (step.max(0.0)) as u32, 9));
            color = mix(color, [1.22, 1.0, 0.84], 0.45 * fresh * smoothstep(0.0, 0.1, level - level.floor()));
            color = scaled(color, 1.0 - 0.35 * smoothstep(0.9, 0.97, level - level.floor()));
        }
        let tone = 1.0 + cracks.vary * (unit(id) - 0.5) * 2.0 + 0.5 * cracks.vary * (unit(piece) - 0.5) * 2.0;
        color = scaled(color, tone * (1.0 + 0.22 * fibre) * (1.0 + 0.12 * stain.at(u, v)));
        color = mix(color, scaled(cracks.crack, 1.4), 0.75 * fine);
        color = mix(color, cracks.crack, crack.max(1.0 - smoothstep(0.0, 0.45, rise)));
        // A breath of algae and lichen on what stands out.
        let crust = smoothstep(0.25, 0.75, lichen.at(u, v)) * smoothstep(0.7, 1.0, rise) * 0.35;
        color = mix(color, [1.35, 1.42, 1.25], crust);
        Texel { height_m: height, color, roughness: 0.93 }
    })
}
