//! Draws meshes and their impostors side by side, and a small forest of each, to look at them:
//! `cargo run -p orogen-flora --example impostors -- FOLDER [SPECIES ...]`.

#![allow(clippy::print_stdout, reason = "an example may print")]

use std::error::Error;
use std::path::Path;
use std::time::Instant;

use orogen_core::{Seed, math};
use orogen_flora::{
    Form, Growth, IMPOSTOR_LEVEL, Impostor, Light, PlantMesh, Rgba, Season, Surface, View, grow, impostor,
    lod, mesh_pictures, species, surface,
};
use orogen_texture::color::to_srgb;

const SKY: [f32; 3] = [0.55, 0.68, 0.85];
const GRASS: [f32; 3] = [0.20, 0.22, 0.09];

struct Made {
    mesh: PlantMesh,
    surface: Surface,
    impostor: Impostor,
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args().skip(1);
    let folder = args.next().ok_or("which folder?")?;
    let folder = Path::new(&folder);
    std::fs::create_dir_all(folder)?;
    let mut wanted: Vec<String> = args.collect();
    if wanted.is_empty() {
        wanted = ["oak", "spruce", "birch", "stone_pine"].map(String::from).to_vec();
    }
    let light = Light::day([-0.6, -0.5, 0.6]);
    let mut all = Vec::new();
    for name in &wanted {
        let species = species(name).ok_or("no such species")??.at(&Growth::MATURE)?;
        let plant = grow(&species, Seed(3))?;
        let mesh = lod(&species, &plant, IMPOSTOR_LEVEL);
        let surface = surface(&species, Season::Summer, 256);
        let start = Instant::now();
        let drawn = impostor(&mesh, &surface, Form::Octahedral, 128)?;
        println!("{name}: {:.2} s", start.elapsed().as_secs_f64());
        let quads = impostor(&mesh, &surface, Form::Quads, 128)?;
        let atlas = (0..1024 * 1024).map(|i| {
            let [r, g, b, a] = drawn.color[i];
            if a > 127 { [r, g, b] } else { [240, 240, 240] }
        });
        save(&folder.join(format!("{name}_atlas.png")), [1024, 1024], &atlas.collect::<Vec<_>>())?;
        let mut sheet = Sheet::new([1500, 1200]);
        for (col, (up, turn)) in
            [(0.02, 0.3f64), (0.15, 1.1), (0.35, 2.3), (0.65, 4.0), (0.97, 5.0)].into_iter().enumerate()
        {
            let level = f64::sqrt(1.0 - up * up);
            let back = [level * math::cos(turn), level * math::sin(turn), up];
            let width_m = 2.0 * drawn.half_m[0];
            // Twice as near as where it takes over, where it does, and from twice as far.
            for (row, px) in [(0, 280), (1, 128), (2, 64)] {
                let view = View { middle: drawn.middle, toward: back.map(|v| -v), width_m, size: [px, px] };
                let meshes = mesh_pictures(&mesh, &surface, &view, &[light])?;
                let at = |k: usize| [col * 300 + 10, [0, 840, 1100][row] + k * [280, 0, 0][row]];
                let aside = |k: usize| {
                    if row == 0 { at(k) } else { [at(0)[0] + k * (px + 4) * usize::from(k < 2), at(0)[1]] }
                };
                sheet.add(aside(0), &meshes[0]);
                sheet.add(aside(1), &drawn.pictures(&view, &[light])[0]);
                if row == 0 {
                    sheet.add(at(2), &quads.pictures(&view, &[light])[0]);
                }
            }
        }
        save(&folder.join(format!("{name}_sides.png")), sheet.size, &sheet.bytes())?;
        all.push(Made { mesh, surface, impostor: drawn });
    }
    let (mut meshes, mut stand_ins) = (Sheet::new([1400, 560]), Sheet::new([1400, 560]));
    // Back to front, on a plain that the viewer looks down on a little.
    for row in 0..14 {
        for col in 0..40usize {
            let hash = Seed(9).unit((row * 100 + col) as u64);
            let other = Seed(10).unit((row * 100 + col) as u64);
            let away = 420.0 - 22.0 * (row as f64 + 0.6 * hash);
            let made = &all[(hash * 977.0) as usize % all.len()];
            let per_m = 900.0 / away;
            let x = 700.0 + (col as f64 - 20.0 + other) * 16.0 * per_m;
            let y = 130.0 + 30.0 * per_m;
            let half = made.impostor.half_m[0];
            let px = (2.0 * half * per_m) as usize;
            let turn = std::f64::consts::TAU * other;
            let up = 30.0 / away;
            let view = View {
                middle: made.impostor.middle,
                toward: [-math::cos(turn), -math::sin(turn), -up],
                width_m: 2.0 * half,
                size: [px, px],
            };
            let (sin, cos) = (math::sin(turn), math::cos(turn));
            // The same sun for all, turned as the tree is.
            let (sx, sy) = (0.7, 0.5);
            let light = Light::day([cos * sy - sin * sx, sin * sy + cos * sx, 0.5]);
            let corner = [x - 0.5 * px as f64, y - (half + made.impostor.middle[2]) * per_m];
            if corner[0] < -200.0 || corner[0] > 1400.0 {
                continue;
            }
            meshes.add_at(corner, &mesh_pictures(&made.mesh, &made.surface, &view, &[light])?[0]);
            stand_ins.add_at(corner, &made.impostor.pictures(&view, &[light])[0]);
        }
    }
    let mut both = meshes.bytes();
    both.extend(stand_ins.bytes());
    save(&folder.join("forest.png"), [1400, 1120], &both)
}

struct Sheet {
    size: [usize; 2],
    pixels: Vec<[f32; 3]>,
}

impl Sheet {
    fn new(size: [usize; 2]) -> Self {
        let ground = |i: usize| if i / size[0] > size[1] / 4 && size[1] < 1000 { GRASS } else { SKY };
        Self { size, pixels: (0..size[0] * size[1]).map(ground).collect() }
    }

    fn add(&mut self, [left, top]: [usize; 2], picture: &Rgba) {
        self.add_at([left as f64, top as f64], picture);
    }

    fn add_at(&mut self, corner: [f64; 2], picture: &Rgba) {
        for (i, pixel) in picture.pixels.iter().enumerate() {
            let x = corner[0] as i64 + (i % picture.size[0]) as i64;
            let y = corner[1] as i64 + (i / picture.size[0]) as i64;
            if x < 0 || y < 0 || x >= self.size[0] as i64 || y >= self.size[1] as i64 {
                continue;
            }
            let under = &mut self.pixels[y as usize * self.size[0] + x as usize];
            *under = [0, 1, 2].map(|k| pixel[k] + (1.0 - pixel[3]) * under[k]);
        }
    }

    fn bytes(&self) -> Vec<[u8; 3]> {
        self.pixels.iter().map(|color| to_srgb(*color)).collect()
    }
}

fn save(path: &Path, size: [usize; 2], pixels: &[[u8; 3]]) -> Result<(), Box<dyn Error>> {
    let mut encoder = png::Encoder::new(std::fs::File::create(path)?, size[0] as u32, size[1] as u32);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_depth(png::BitDepth::Eight);
    encoder.write_header()?.write_image_data(pixels.as_flattened())?;
    Ok(())
}
