//! A small rasteriser: meshes as pictures, without a graphics card and with the same bits on every machine.

use crate::frame::{Vec3, cross, dot, unit};
use crate::mesh::Mesh;

/// Where a picture is taken from: straight ahead, without perspective.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct View {
    /// What is in its middle, in metres.
    pub middle: [f64; 3],
    /// The way it looks; of any length.
    pub toward: [f64; 3],
    /// Metres from its left to its right edge.
    pub width_m: f64,
    /// Pixels.
    pub size: [usize; 2],
}

/// What was seen at each pixel.
#[derive(Clone, Debug, PartialEq)]
pub struct Seen {
    /// Pixels.
    pub size: [usize; 2],
    /// Metres from the middle's plane, away from the viewer; infinite where nothing was seen.
    pub depth: Vec<f32>,
    /// Which way the surface looks.
    pub normal: Vec<[f32; 3]>,
    /// Colour, in linear light.
    pub color: Vec<[f32; 3]>,
    /// Share of the sky's light that reaches the surface through the leaves.
    pub light: Vec<f32>,
}

impl Seen {
    /// An empty picture.
    #[must_use]
    pub fn new(size: [usize; 2]) -> Self {
        let pixels = size[0] * size[1];
        Self {
            size,
            depth: vec![f32::INFINITY; pixels],
            normal: vec![[0.0; 3]; pixels],
            color: vec![[0.0; 3]; pixels],
            light: vec![1.0; pixels],
        }
    }

    /// Draws a mesh; `color(u, v)` says its colour at a place of the texture, `None` where it is clear. With `both` its back is
    /// seen too.
    pub fn draw(
        &mut self,
        mesh: &Mesh,
        view: &View,
        both: bool,
        color: impl Fn([f32; 2]) -> Option<[f32; 3]>,
    ) {
        let ahead = unit(view.toward);
        let right =
            unit(if ahead[2].abs() > 0.999 { [1.0, 0.0, 0.0] } else { cross(ahead, [0.0, 0.0, 1.0]) });
        let up = cross(right, ahead);
        let per_m = self.size[0] as f64 / view.width_m;
        let [wide, tall] = self.size;
        let place = |at: [f32; 3]| -> Vec3 {
            let from = [0, 1, 2].map(|axis| f64::from(at[axis]) - view.middle[axis]);
            [
                0.5 * wide as f64 + dot(from, right) * per_m,
                0.5 * tall as f64 - dot(from, up) * per_m,
                dot(from, ahead),
            ]
        };
        for corners in mesh.indices.chunks_exact(3) {
            let ids = [corners[0] as usize, corners[1] as usize, corners[2] as usize];
            let [a, b, c] = ids.map(|id| place(mesh.positions[id]));
            let area = doubled_area(a, b, c);
            if area == 0.0 || (!both && area > 0.0) {
                continue;
            }
            scan([a, b, c], self.size, |pixel, depth, [p, q, r]| {
                if depth >= self.depth[pixel] {
                    return;
                }
                let mix = |v: [f32; 3]| p as f32 * v[0] + q as f32 * v[1] + r as f32 * v[2];
                let uv = [0, 1].map(|axis| mix(ids.map(|id| mesh.uvs[id][axis])));
                let Some(color) = color(uv) else { return };
                let normal = [0, 1, 2].map(|axis| f64::from(mix(ids.map(|id| mesh.normals[id][axis]))));
                // The back of a leaf has the opposite normal. Which side is seen its triangle says: normals lean to where the crown
                // looks, also beyond the edge.
                let facing = if both && area > 0.0 { -1.0 } else { 1.0 };
                self.depth[pixel] = depth;
                self.normal[pixel] = unit(normal).map(|v| (facing * v) as f32);
                self.color[pixel] = color;
                if !mesh.tints.is_empty() {
                    let tints = ids.map(|id| mesh.tints[id]);
                    self.color[pixel] =
                        [0, 1, 2].map(|k| color[k] * mix(tints.map(|tint| f32::from(tint[k]) / 255.0)));
                }
                if !mesh.sway.is_empty() {
                    let lights = ids.map(|id| f32::from(mesh.sway[id][3]) / 255.0);
                    self.light[pixel] = mix(lights);
                }
            });
        }
    }
}

/// Twice the area of a triangle on a picture; negative where its front is seen, as rows run down.
pub(crate) fn doubled_area(a: Vec3, b: Vec3, c: Vec3) -> f64 {
    (b[0] - a[0]) * (c[1] - a[1]) - (c[0] - a[0]) * (b[1] - a[1])
}

/// Goes over the pixels whose middles lie in a triangle of any area but none: hands out the pixel, its depth and the corners'
/// shares. Corners are column, row and depth.
#[inline]
pub(crate) fn scan(
    [a, b, c]: [Vec3; 3],
    [wide, tall]: [usize; 2],
    mut found: impl FnMut(usize, f32, [f64; 3]),
) {
    let area = doubled_area(a, b, c);
    let low = |axis: usize, most: usize| {
        (a[axis].min(b[axis]).min(c[axis]) - 0.5).ceil().clamp(0.0, most as f64) as usize
    };
    let high = |axis: usize, most: usize| {
        ((a[axis].max(b[axis]).max(c[axis]) - 0.5).floor() + 1.0).clamp(0.0, most as f64) as usize
    };
    let (left, right) = (low(0, wide), high(0, wide));
    // How the shares change from column to column.
    let steps = [(b[1] - c[1]) / area, (c[1] - a[1]) / area, (a[1] - b[1]) / area];
    for row in low(1, tall)..high(1, tall) {
        let y = row as f64 + 0.5;
        let shares = |x: f64| {
            let p = ((b[0] - x) * (c[1] - y) - (c[0] - x) * (b[1] - y)) / area;
            let q = ((c[0] - x) * (a[1] - y) - (a[0] - x) * (c[1] - y)) / area;
            [p, q, 1.0 - p - q]
        };
        // The part of the row that can lie inside, a column more at both ends.
        let start = shares(left as f64 + 0.5);
        let (mut from, mut to) = (0.0f64, right.saturating_sub(left) as f64);
        for (share, step) in start.into_iter().zip(steps) {
            let crossing = -share / step;
            if step > 0.0 {
                from = from.max(crossing - 1.0);
            } else if step < 0.0 {
                to = to.min(crossing + 2.0);
            }
        }
        let (from, to) = (from.max(0.0) as usize, to.max(0.0) as usize);
        for col in left + from..(left + to).min(right) {
            let [p, q, r] = shares(col as f64 + 0.5);
            if p >= 0.0 && q >= 0.0 && r >= 0.0 {
                found(row * wide + col, (p * a[2] + q * b[2] + r * c[2]) as f32, [p, q, r]);
            }
        }
    }
}
