//! Ground beyond the edge of a land that does not end in the sea: no picture ends in a void. It starts as the edge is, loses its
//! shape within a tenth of the land's size and becomes a plain that goes on to the horizon.

use orogen_core::math;

use crate::materials::Materials;
use crate::overview::Overview;
use crate::vec3::Vec3;

/// Points along the edge.
const AROUND: usize = 768;
/// How far out rings lie, in sizes of the land.
const RINGS: [f64; 13] = [-0.002, 0.0, 0.003, 0.008, 0.018, 0.035, 0.06, 0.1, 0.17, 0.3, 0.7, 2.0, 8.0];

/// One vertex: place relative to the eye, normal, colour.
pub type ApronVertex = [f32; 9];

/// The mesh, or nothing where the land ends in the sea all around.
#[must_use]
pub fn mesh(overview: &Overview, materials: &Materials, eye: Vec3) -> Option<(Vec<ApronVertex>, Vec<u16>)> {
    if overview.sea_at_edge() > 0.999 {
        return None;
    }
    let extent = overview.frame.extent();
    let size = extent.size();
    let wide = size[0].max(size[1]);
    let middle = [0, 1].map(|i| 0.5 * (extent.min[i] + extent.max[i]));
    // Around the rectangle by its length, from the north-west clockwise; `out` points away from it.
    let length = 2.0 * (size[0] + size[1]);
    let edge = |i: usize| -> [f64; 2] {
        let at = length * i as f64 / AROUND as f64;
        let [w, h] = size;
        if at < w {
            [extent.min[0] + at, extent.max[1]]
        } else if at < w + h {
            [extent.max[0], extent.max[1] - (at - w)]
        } else if at < 2.0 * w + h {
            [extent.max[0] - (at - w - h), extent.min[1]]
        } else {
            [extent.min[0], extent.min[1] + (at - 2.0 * w - h)]
        }
    };
    let places: Vec<[f64; 2]> = (0..AROUND).map(edge).collect();
    let heights: Vec<f64> = places.iter().map(|p| overview.height_at(p[0], p[1])).collect();
    let colors: Vec<[f64; 3]> = places.iter().map(|p| color(overview, materials, *p)).collect();
    let mut sorted = heights.clone();
    sorted.sort_by(f64::total_cmp);
    let plain = sorted[AROUND / 4];
    let mean = |of: &dyn Fn(usize) -> f64, i: usize, half: usize| {
        (0..=2 * half).map(|k| of((i + AROUND + k - half) % AROUND)).sum::<f64>() / (2 * half + 1) as f64
    };
    let row = AROUND;
    let mut grid: Vec<(Vec3, [f64; 3])> = Vec::with_capacity(RINGS.len() * row);
    for (ring, out) in RINGS.iter().enumerate() {
        // Farther out, what lies along the edge is more and more alike.
        let half = ((out.max(0.0) * 900.0) as usize).min(AROUND / 2 - 1);
        for i in 0..AROUND {
            let [x, y] = places[i];
            let by = 1.0 + 2.0 * out;
            let place = [middle[0] + (x - middle[0]) * by, middle[1] + (y - middle[1]) * by];
            let kept = math::exp(-(out / 0.09) * (out / 0.09));
            let own = mean(&|k| heights[k], i, half);
            let sunk = if ring < 2 { 0.0005 * wide * (1 - ring) as f64 + 0.3 } else { 0.0 };
            let z = plain + (own - plain) * kept - sunk;
            grid.push(([place[0], place[1], z], [0, 1, 2].map(|c| mean(&|k| colors[k][c], i, half.max(2)))));
        }
    }
    let at = |ring: usize, i: usize| grid[ring * row + (i + AROUND) % AROUND].0;
    let vertices = (0..grid.len()).map(|k| {
        let (ring, i) = (k / row, k % row);
        let along = crate::vec3::sub(at(ring, i + 1), at(ring, i + AROUND - 1));
        let outward = crate::vec3::sub(at((ring + 1).min(RINGS.len() - 1), i), at(ring.saturating_sub(1), i));
        let normal = crate::vec3::direction(crate::vec3::cross(outward, along), [0.0, 0.0, 1.0]);
        let normal = if normal[2] < 0.0 { normal.map(|x| -x) } else { normal };
        let (place, color) = grid[k];
        let place = crate::vec3::sub(place, eye);
        let mut vertex = [0f32; 9];
        for c in 0..3 {
            vertex[c] = place[c] as f32;
            vertex[3 + c] = normal[c] as f32;
            vertex[6 + c] = color[c] as f32;
        }
        vertex
    });
    let vertices = vertices.collect();
    let mut indices = Vec::new();
    for ring in 1..RINGS.len() {
        for i in 0..AROUND {
            let [a, b] = [(ring - 1) * row + i, (ring - 1) * row + (i + 1) % AROUND];
            let [c, d] = [a + row, b + row];
            indices.extend([a, b, c, c, b, d].map(|index| index as u16));
        }
    }
    Some((vertices, indices))
}

/// The mean colour of the ground at a place, crowns included.
fn color(overview: &Overview, materials: &Materials, [x, y]: [f64; 2]) -> [f64; 3] {
    let [col, row] = overview.frame.locate(x, y).map(|at| at.round() as isize);
    let mut sum = [0f64; 3];
    let mut all = 0.0;
    for (i, name) in overview.materials.iter().enumerate() {
        let weight = overview.weights(name).map_or(0.0, |w| f64::from(w.clamped(col, row).0));
        let mean = materials.mean(i);
        (0..3).for_each(|c| sum[c] += weight * f64::from(mean[c]));
        all += weight;
    }
    let ground = if all > 0.0 { sum.map(|c| c / all) } else { materials.mean(1).map(f64::from) };
    let value = |layer| overview.layer(layer).map_or(0.0, |raster| f64::from(raster.clamped(col, row)));
    let cover = value(orogen_core::layer::CANOPY_COVER).clamp(0.0, 1.0);
    let crowns = orogen_core::layer::CANOPY_COLOR.map(|layer| math::pow(value(layer).clamp(0.0, 1.0), 2.2));
    [0, 1, 2].map(|c| ground[c] + cover * (0.85 * crowns[c] - ground[c]))
}
