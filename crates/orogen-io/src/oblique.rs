//! A small view of the land from the side, for pictures of what a map cannot show: overhangs.
//!
//! A parallel view from the south and above, drawn triangle by triangle with a depth buffer on one thread, so that every
//! run gives the same picture. Meant for figures; a renderer proper is another crate.

use orogen_core::{OpError, Raster, Terrain, math};

use crate::color::{Display, Light, light_of, mix};
use crate::mesh::Surface;
use crate::png8::Picture;

/// How the land is looked at.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct View {
    /// Width of the picture; its height follows from the land.
    pub width_px: usize,
    /// Where the eye stands, clockwise from north.
    pub from_deg: f64,
    /// How far down it looks: 0 along the ground, 90 straight down.
    pub down_deg: f64,
}

impl Default for View {
    fn default() -> Self {
        Self { width_px: 720, from_deg: 205.0, down_deg: 15.0 }
    }
}

/// Drawn this much larger, then averaged.
const FINER: usize = 3;
const SKY: [[u8; 3]; 2] = [[148, 176, 203], [226, 229, 222]];
const EARTH: [u8; 3] = [104, 84, 66];
const GRASS: [u8; 3] = [116, 122, 78];
const ROCK: [[u8; 3]; 2] = [[150, 128, 104], [196, 178, 150]];

/// Draws a terrain, moved by its displacement layers where it has them.
///
/// # Errors
/// When there is no land to draw.
pub fn render(terrain: &Terrain, view: &View) -> Result<Picture, OpError> {
    let surface = Surface::of(terrain)?;
    let (cols, rows) = surface.shape();
    let (from, down) = (view.from_deg.to_radians(), view.down_deg.to_radians());
    let (sf, cf, sd, cd) = (math::sin(from), math::cos(from), math::sin(down), math::cos(down));
    // Right, up and towards the eye, in x east, y up, z south.
    let toward = [sf * cd, sd, -cf * cd];
    let right = [-cf, 0.0, -sf];
    let up = [-sf * sd, cd, cf * sd];
    let along = |axis: [f64; 3], p: [f32; 3]| (0..3).map(|i| axis[i] * f64::from(p[i])).sum::<f64>();
    let sun = unit([-0.55, 0.55, 0.62]);

    let see = |col: usize, row: usize| {
        let p = surface.place(col, row);
        [along(right, p), along(up, p), along(toward, p)]
    };
    let ground =
        || (0..rows).flat_map(|r| (0..cols).map(move |c| (c, r))).filter(|&(c, r)| surface.is_ground(c, r));
    // The land is the top of a block whose foot lies a little lower than all of it.
    let [least, most] = surface.bounds();
    let floor = least[1] - 0.03 * (most[0] - least[0]);
    let (mut low, mut high) = ([f64::INFINITY; 2], [f64::NEG_INFINITY; 2]);
    for (c, r) in ground() {
        let [x, y, z] = surface.place(c, r);
        for p in [[x, y, z], [x, floor, z]] {
            for (i, axis) in [right, up].into_iter().enumerate() {
                (low[i], high[i]) = (low[i].min(along(axis, p)), high[i].max(along(axis, p)));
            }
        }
    }
    let width = view.width_px.max(16) * FINER;
    let scale = width as f64 * 0.96 / (high[0] - low[0]).max(1e-9);
    let height =
        (((high[1] - low[1]) * scale + 0.04 * width as f64) as usize / FINER).clamp(16, 2000) * FINER;

    let display = Display::new();
    let (sky, grass, rock) = (SKY.map(light_of), light_of(GRASS), ROCK.map(light_of));
    let mut light: Raster<Light> =
        Raster::from_fn(width, height, |_, r| mix(sky[0], sky[1], r as f32 / height as f32));
    let mut depth = vec![f64::NEG_INFINITY; width * height];
    let shade = |col: usize, row: usize| -> Light {
        let n = surface.normal(col, row).map(f64::from);
        // Bands of rock by height; grass where it is not steep.
        let band = 0.5 + 0.5 * math::sin(f64::from(surface.place(col, row)[1]) * 0.35);
        let stone = mix(rock[0], rock[1], band as f32);
        let steep = ((0.86 - n[1]) / 0.16).clamp(0.0, 1.0) as f32;
        let direct = (0..3).map(|i| n[i] * sun[i]).sum::<f64>().max(0.0);
        // Sky from above; a little light from the ground for what faces down.
        let lit = 0.95 * direct + 0.30 * (0.5 + 0.5 * n[1]) + 0.05;
        mix(grass, stone, steep).map(|v| v * lit as f32)
    };
    let mut lines: [Vec<([f64; 3], Light)>; 2] = Default::default();
    let line = |row: usize| (0..cols).map(|c| (see(c, row), shade(c, row))).collect::<Vec<_>>();
    for row in 0..rows.saturating_sub(1) {
        lines = if row == 0 { [line(0), line(1)] } else { [std::mem::take(&mut lines[1]), line(row + 1)] };
        for triangle in surface.row_triangles(row) {
            let corners = triangle.map(|(c, r)| {
                let (p, light) = &lines[r - row][c];
                let x = (p[0] - low[0]) * scale + 0.02 * width as f64;
                let y = (high[1] - p[1]) * scale + 0.02 * width as f64;
                ([x, y, p[2]], *light)
            });
            fill(corners, width, height, &mut depth, &mut light);
        }
    }
    // The sides of the block that the land is cut from.
    let draw = |p: [f32; 3]| {
        let x = (along(right, p) - low[0]) * scale + 0.02 * width as f64;
        let y = (high[1] - along(up, p)) * scale + 0.02 * width as f64;
        [x, y, along(toward, p)]
    };
    let earth = light_of(EARTH);
    let (south, east) = (rows - 1, cols - 1);
    let rims = (1..cols).flat_map(|c| [((c - 1, south), (c, south)), ((c, 0), (c - 1, 0))]);
    let rims = rims.chain((1..rows).flat_map(|r| [((0, r - 1), (0, r)), ((east, r), (east, r - 1))]));
    for (a, b) in rims.filter(|&(a, b)| surface.is_ground(a.0, a.1) && surface.is_ground(b.0, b.1)) {
        let (a, b) = (surface.place(a.0, a.1), surface.place(b.0, b.1));
        let out = unit([f64::from(a[2] - b[2]), 0.0, f64::from(b[0] - a[0])]);
        let lit = 0.3 + 0.6 * (out[0] * sun[0] + out[2] * sun[2]).max(0.0);
        let light_here = earth.map(|v| v * lit as f32);
        let under = |p: [f32; 3]| [p[0], floor, p[2]];
        for corners in [[a, under(a), b], [b, under(a), under(b)]] {
            fill(corners.map(|p| (draw(p), light_here)), width, height, &mut depth, &mut light);
        }
    }
    let share = 1.0 / (FINER * FINER) as f32;
    Ok(Raster::from_fn(width / FINER, height / FINER, |col, row| {
        let mut sum = [0.0; 3];
        for i in 0..FINER * FINER {
            let pixel = light.row(row * FINER + i / FINER)[col * FINER + i % FINER];
            (0..3).for_each(|k| sum[k] += share * pixel[k]);
        }
        display.srgb(sum)
    }))
}

fn unit(v: [f64; 3]) -> [f64; 3] {
    let length = v.iter().map(|x| x * x).sum::<f64>().sqrt();
    v.map(|x| x / length)
}

/// Draws a triangle where nothing nearer is drawn yet.
fn fill(
    corners: [([f64; 3], Light); 3],
    width: usize,
    height: usize,
    depth: &mut [f64],
    light: &mut Raster<Light>,
) {
    let [a, b, c] = corners.map(|(p, _)| p);
    let area = (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]);
    if area.abs() < 1e-12 {
        return;
    }
    let span = |axis: usize, size: usize| {
        let (low, high) = (a[axis].min(b[axis]).min(c[axis]), a[axis].max(b[axis]).max(c[axis]));
        (low - 0.5).ceil().max(0.0) as usize..((high - 0.5).floor().max(-1.0) + 1.0).min(size as f64) as usize
    };
    for y in span(1, height) {
        for x in span(0, width) {
            let (px, py) = (x as f64 + 0.5, y as f64 + 0.5);
            let v = ((px - a[0]) * (c[1] - a[1]) - (py - a[1]) * (c[0] - a[0])) / area;
            let w = ((b[0] - a[0]) * (py - a[1]) - (b[1] - a[1]) * (px - a[0])) / area;
            let u = 1.0 - v - w;
            if u < 0.0 || v < 0.0 || w < 0.0 {
                continue;
            }
            let near = u * a[2] + v * b[2] + w * c[2];
            let place = &mut depth[y * width + x];
            if near > *place {
                *place = near;
                let [la, lb, lc] = corners.map(|(_, light)| light);
                let weights = [u as f32, v as f32, w as f32];
                light.as_mut_slice()[y * width + x] =
                    [0, 1, 2].map(|k| weights[0] * la[k] + weights[1] * lb[k] + weights[2] * lc[k]);
            }
        }
    }
}
