//! Draws plants and their levels of detail side by side, shaded, to look at them:
//! `cargo run -p orogen-flora --example levels -- FOLDER [near|bare] [SPECIES ...]`.

#![allow(clippy::print_stdout, reason = "an example may print")]

use std::error::Error;
use std::path::Path;

use orogen_core::{Seed, math};
use orogen_flora::{CATALOG, Growth, PlantMesh, Seen, Species, View, grow, lod, mesh};

/// The sun: from the left, behind the viewer, above.
const SUN: [f64; 3] = [-0.55, -0.5, 0.67];
const SKY: [f32; 3] = [0.66, 0.76, 0.9];

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args().skip(1).peekable();
    let folder = args.next().ok_or("which folder?")?;
    let is_near = args.next_if(|arg| arg == "near").is_some();
    let is_bare = args.next_if(|arg| arg == "bare").is_some();
    let wanted: Vec<String> = args.collect();
    std::fs::create_dir_all(&folder)?;
    for entry in
        CATALOG.iter().filter(|entry| wanted.is_empty() || wanted.iter().any(|name| name == entry.name))
    {
        let species = Species::from_toml(entry.text)?.at(&Growth::MATURE)?;
        let plant = grow(&species, Seed(3))?;
        let full = mesh(&species, &plant, &orogen_flora::Detail::FULL);
        let levels = [0, 1, 2, 3].map(|level| lod(&species, &plant, level));
        let counts =
            levels.each_ref().map(|made| format!("{}+{}", made.bark.triangles(), made.leaves.triangles()));
        println!(
            "{}: {} stems, {} leaves, full {}+{}, levels {}",
            entry.name,
            plant.stems.len(),
            plant.leaves.len(),
            full.bark.triangles(),
            full.leaves.triangles(),
            counts.join(" ")
        );
        let height = f64::from(plant.height_m()) * 1.12;
        let seen = |made: &PlantMesh| -> Vec<f64> {
            let ways = [[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.7, -0.7, 0.0], [0.0, 0.0, -1.0]];
            ways.iter()
                .map(|way| {
                    let view = View {
                        middle: [0.0, 0.0, 0.5 * height],
                        toward: *way,
                        width_m: 1.3 * height,
                        size: [500, 500],
                    };
                    let mut seen = Seen::new(view.size);
                    seen.draw(&made.bark, &view, false, |_| Some([0.0; 3]));
                    seen.draw(&made.leaves, &view, true, |uv| is_leaf(uv).then_some([0.0; 3]));
                    seen.depth.iter().filter(|depth| depth.is_finite()).count() as f64
                })
                .collect()
        };
        if is_bare {
            let (mut picture, mut joints) = (Picture::new(), Picture::new());
            for (number, made) in [&full, &levels[0], &levels[1], &levels[2]].into_iter().enumerate() {
                let made = PlantMesh { bark: made.bark.clone(), ..PlantMesh::default() };
                let view = |middle: f64, width: f64| View {
                    middle: [0.0, 0.0, middle],
                    toward: [0.35, 1.0, -0.1],
                    width_m: width,
                    size: [1400, 1400],
                };
                picture.add(&species, &made, &view(0.42 * height, 0.25 * height));
                if number == 1 {
                    picture.new_row();
                }
                // Where the thickest limbs begin.
                let mut limbs: Vec<_> = plant.stems.iter().filter(|stem| stem.level == 1).collect();
                limbs.sort_by(|a, b| b.radius_m.total_cmp(&a.radius_m));
                for limb in limbs.iter().skip(2).step_by(5).take(3).filter(|_| number < 2) {
                    let node = plant.nodes_of(limb)[0];
                    let width = 12.0 * f64::from(limb.radius_m);
                    let [x, y, _] = node.along.map(f64::from);
                    let toward = [-y - 0.1 * x, x - 0.1 * y, -0.1];
                    let at = node.at.map(f64::from);
                    let middle = [at[0] + 0.2 * width * x, at[1] + 0.2 * width * y, at[2]];
                    joints.add(&species, &made, &View { middle, toward, width_m: width, size: [800, 900] });
                }
                if number == 0 {
                    joints.new_row();
                }
            }
            picture.save(&Path::new(&folder).join(format!("{}_bare.png", entry.name)))?;
            joints.save(&Path::new(&folder).join(format!("{}_joints.png", entry.name)))?;
            continue;
        }
        let whole = seen(&full);
        for (level, made) in levels.iter().enumerate() {
            let shares: Vec<String> =
                seen(made).iter().zip(&whole).map(|(a, b)| format!("{:.2}", a / b)).collect();
            println!("  level {level}: silhouettes {}", shares.join(" "));
        }
        let mut picture = Picture::new();
        if is_near {
            let view = |middle: f64, width: f64| View {
                middle: [0.0, 0.0, middle],
                toward: [0.35, 1.0, -0.1],
                width_m: width,
                size: [1400, 1400],
            };
            for made in [&full, &levels[0]] {
                picture.add(&species, made, &view(0.12 * height, 0.3 * height));
                picture.add(&species, made, &view(0.55 * height, 0.35 * height));
                picture.new_row();
            }
        } else {
            let made = levels.iter().zip([1200usize, 600, 300, 120]);
            picture.add(&species, &full, &side(height, 1200));
            picture.add(&species, &levels[0], &side(height, 1200));
            picture.add(&species, &levels[1], &side(height, 1200));
            picture.new_row();
            picture.add(&species, &levels[2], &side(height, 1200));
            picture.add(&species, &levels[3], &side(height, 1200));
            for (made, size) in made.skip(1) {
                picture.add(&species, &levels[0], &side(height, size));
                picture.add(&species, made, &side(height, size));
            }
        }
        let end = if is_near { "_near" } else { "" };
        picture.save(&Path::new(&folder).join(format!("{}{end}.png", entry.name)))?;
    }
    Ok(())
}

fn side(height: f64, size: usize) -> View {
    View { middle: [0.0, 0.0, 0.46 * height], toward: [0.3, 1.0, -0.12], width_m: height, size: [size, size] }
}

/// A simple leaf in each cell of the atlas.
fn is_leaf([u, v]: [f32; 2]) -> bool {
    let [x, y] = [u, v].map(|v| (2.0 * f64::from(v)).rem_euclid(1.0));
    (x - 0.5).abs() < 0.5 * math::sin(std::f64::consts::PI * math::pow(y, 0.8))
}

/// Views beside each other.
struct Picture {
    size: [usize; 2],
    /// Where each begins, how wide it is, and its pixels.
    views: Vec<([usize; 2], usize, Vec<[f32; 3]>)>,
    row: [usize; 2],
}

impl Picture {
    fn new() -> Self {
        Self { size: [0, 0], views: Vec::new(), row: [0, 0] }
    }

    fn add(&mut self, species: &Species, made: &PlantMesh, view: &View) {
        let mut seen = Seen::new(view.size);
        let linear = |color: [u8; 3]| color.map(|v| math::pow(f64::from(v) / 255.0, 2.2) as f32);
        let [bark, leaf] = [linear(species.colors.bark), linear(species.colors.summer)];
        seen.draw(&made.bark, view, false, |[u, v]| {
            // A grain that shows how the texture lies.
            let wave = math::sin(f64::from(u) * 62.83) * math::sin(f64::from(v) * 31.42);
            Some(bark.map(|c| c * (1.0 + 0.25 * wave as f32)))
        });
        seen.draw(&made.leaves, view, true, |[u, v]| {
            let [x, y] = [u, v].map(|v| 2.0 * f64::from(v));
            let tint = 0.9 + 0.2 * ((x.floor() + 2.0 * y.floor()).rem_euclid(4.0) / 3.0) as f32;
            is_leaf([u, v]).then(|| leaf.map(|c| c * tint))
        });
        let [wide, tall] = view.size;
        let shaded: Vec<[f32; 3]> = (0..wide * tall)
            .map(|pixel| {
                if seen.depth[pixel].is_infinite() {
                    return SKY;
                }
                let normal = seen.normal[pixel];
                let sun: f64 = (0..3).map(|k| f64::from(normal[k]) * SUN[k]).sum();
                let light = seen.light[pixel];
                let above = 0.5 + 0.5 * normal[2];
                let sun = sun.max(0.0) as f32 * (0.15 + 0.85 * light);
                [0, 1, 2].map(|k| {
                    seen.color[pixel][k] * (2.6 * sun + (0.3 + 0.6 * above) * light * SKY[k] * 1.3 + 0.05)
                })
            })
            .collect();
        // Half the size, four pixels to one.
        let [wide, tall] = [wide / 2, tall / 2];
        let small = (0..wide * tall).map(|pixel| {
            let (x, y) = (2 * (pixel % wide), 2 * (pixel / wide));
            let four = [(0, 0), (1, 0), (0, 1), (1, 1)].map(|(i, j)| shaded[(y + j) * 2 * wide + x + i]);
            [0, 1, 2].map(|k| 0.25 * four.iter().map(|c| c[k]).sum::<f32>())
        });
        self.views.push((self.row, wide, small.collect()));
        self.row[0] += wide;
        self.size = [self.size[0].max(self.row[0]), self.size[1].max(self.row[1] + tall)];
    }

    fn new_row(&mut self) {
        self.row = [0, self.size[1]];
    }

    fn save(&self, path: &Path) -> Result<(), Box<dyn Error>> {
        let [wide, tall] = self.size;
        let mut bytes = vec![225u8; wide * tall * 3];
        for (from, width, pixels) in &self.views {
            for (number, pixel) in pixels.iter().enumerate() {
                let (x, y) = (from[0] + number % width, from[1] + number / width);
                for k in 0..3 {
                    let v = math::pow(f64::from(pixel[k].clamp(0.0, 1.0)), 1.0 / 2.2);
                    bytes[3 * (y * wide + x) + k] = (255.0 * v + 0.5) as u8;
                }
            }
        }
        let mut encoder = png::Encoder::new(std::fs::File::create(path)?, wide as u32, tall as u32);
        encoder.set_color(png::ColorType::Rgb);
        encoder.set_depth(png::BitDepth::Eight);
        encoder.write_header()?.write_image_data(&bytes)?;
        Ok(())
    }
}
