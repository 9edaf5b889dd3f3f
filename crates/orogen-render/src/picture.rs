//! A picture, from the land to its pixels.

use orogen_core::{Cancel, Raster, math};
use rayon::prelude::*;

use crate::air::{Air, BLOCK, BLOCK_M, SKY};
use crate::apron;
use crate::camera::{Camera, EARTH_M, NEAR_M, curve_m};
use crate::error::RenderError;
use crate::gpu::{DEPTH, Gpu, LIGHT, Shape, bind, half};
use crate::land::Land;
use crate::materials::{MOST, Materials};
use crate::noises::{NOISE_M, WAVES_M, noises, waves};
use crate::overview::{Bounds, Overview};
use crate::passes::{Instance, Passes, Scene, Tone};
use crate::plants::{Counts, Footing, Plants, Sight, Spot};
use crate::quadtree::{Metric, Node, QUADS, Volume, split};
use crate::shade::{SIDE, SQUARES, Square, squares};
use crate::sun::{Moment, Sun, sun};
use crate::tile::{Rivers, TEXELS, Tile, VERTICES, join};
use crate::vec3::{Vec3, as_f32};
use crate::view;

/// Where the camera is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Aim {
    /// A view that a photographer would take.
    Found,
    /// By place and target: east, north, and metres above the sea; above the ground where nothing is said.
    Place {
        /// Where the eye is.
        eye: [f64; 2],
        /// How high.
        height: Height,
        /// What it looks at; the middle of the land where nothing is said.
        target: Option<[f64; 2]>,
    },
    /// From a direction and distance toward a place.
    From {
        /// What is looked at; the middle of the land where nothing is said.
        target: Option<[f64; 2]>,
        /// The direction in which the eye looks, clockwise from north.
        azimuth_deg: f64,
        /// How far away it is, in metres on the map; half the size of the land where nothing is said.
        distance_m: Option<f64>,
        /// How high; a fifth of the distance above the ground where nothing is said.
        height: Option<Height>,
    },
}

/// A height of the eye.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Height {
    /// Metres above the ground or the water.
    Ground(f64),
    /// Metres above the sea.
    Sea(f64),
}

/// How the picture is made.
#[derive(Clone, Debug)]
pub struct Options {
    /// Pixels, width and height.
    pub size: [u32; 2],
    /// Samples of each pixel, which are averaged.
    pub samples: u32,
    /// Where the camera is.
    pub aim: Aim,
    /// The angle from the left to the right edge.
    pub view_deg: f64,
    /// Day and hour; a good light for the view where nothing is said.
    pub moment: Moment,
    /// Whether the hour may be moved to where the light is good.
    pub any_hour: bool,
    /// How finely land is split: `T`.
    pub quality: f64,
    /// How hazy the air is: 1 on a clear day.
    pub haze: f64,
    /// Whether plants are drawn.
    pub plants: bool,
    /// Stops to brighten or darken by.
    pub exposure_ev: f64,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            size: [1280, 720],
            samples: 4,
            aim: Aim::Found,
            view_deg: 55.0,
            moment: Moment { year: 2026, month: 7, day: 10, hour: 17.0 },
            any_hour: true,
            quality: 6.0,
            haze: 1.0,
            plants: true,
            exposure_ev: 0.0,
        }
    }
}

impl Options {
    fn check(&self) -> Result<(), RenderError> {
        let inside = |what: &str, value: f64, low: f64, high: f64| {
            if (low..=high).contains(&value) {
                Ok(())
            } else {
                Err(RenderError::Call(format!("{what} of {value} is outside {low} to {high}")))
            }
        };
        inside("a number of samples", self.samples.into(), 1.0, 1024.0)?;
        inside("a quality", self.quality, 0.1, 100.0)?;
        inside("a haze", self.haze, 0.0, 100.0)?;
        inside("an exposure", self.exposure_ev, -20.0, 20.0)
    }
}

/// A finished picture, and how it was taken.
#[derive(Clone, Debug)]
pub struct Rendered {
    /// Red, green and blue in sRGB.
    pub picture: Raster<[u8; 3]>,
    /// From where.
    pub camera: Camera,
    /// When.
    pub moment: Moment,
    /// The sun then.
    pub sun: Sun,
    /// Tiles that were drawn.
    pub tiles: usize,
    /// Plants that were drawn.
    pub plants: Counts,
    /// Bytes of the textures of the land, about.
    pub bytes: u64,
}

/// What serves every picture of a device.
pub struct Renderer<'a> {
    gpu: &'a Gpu,
    passes: Passes,
    noises: wgpu::TextureView,
    waves: wgpu::TextureView,
}

/// Layers of an array of textures that a browser with WebGL2 has.
const MOST_TILES: usize = 256;

/// Makes one picture of a land.
///
/// # Errors
/// When what is asked for makes no picture, the land cannot be made, or the device fails.
pub fn render(
    gpu: &Gpu,
    land: &dyn Land,
    materials: &Materials,
    options: &Options,
    cancel: &Cancel,
    progress: &dyn Fn(&str),
) -> Result<Rendered, RenderError> {
    gpu.check_size(options.size)?;
    options.check()?;
    progress("the land");
    let overview = Overview::of(land, cancel)?;
    let renderer = Renderer::new(gpu);
    renderer.picture(land, &overview, materials, options, cancel, progress)
}

impl<'a> Renderer<'a> {
    /// Makes ready what all pictures share.
    #[must_use]
    pub fn new(gpu: &'a Gpu) -> Self {
        Self { gpu, passes: Passes::new(gpu), noises: noises(gpu), waves: waves(gpu) }
    }

    /// Makes a picture.
    ///
    /// # Errors
    /// As [`render`].
    pub fn picture(
        &self,
        land: &dyn Land,
        overview: &Overview,
        materials: &Materials,
        options: &Options,
        cancel: &Cancel,
        progress: &dyn Fn(&str),
    ) -> Result<Rendered, RenderError> {
        self.gpu.check_size(options.size)?;
        options.check()?;
        let aspect = f64::from(options.size[0]) / f64::from(options.size[1]);
        let place = land.place();
        let (latitude, longitude) = (place.latitude_deg.unwrap_or(45.0), place.longitude_deg.unwrap_or(0.0));
        let north = place.north_deg.unwrap_or(0.0);
        let sun_of = |moment: &Moment| sun(moment, latitude, longitude);
        let (camera, moment) = view::choose(overview, options, aspect, &|moment| {
            let sun = sun_of(moment);
            (sun.azimuth_deg + north, sun.altitude_deg)
        })?;
        camera.check()?;
        let camera = self.clear_of_ground(land, overview, camera, cancel)?;
        let sun = sun_of(&moment);
        progress("tiles");
        let rivers = Rivers::of(land.rivers(cancel)?.as_ref());
        let bounds = overview.bounds();
        let (tiles, seen) =
            tiles(land, overview, &bounds, &rivers, &camera, aspect, options.quality, cancel)?;
        progress("light");
        let forward = camera.axes()[2];
        let squares = squares(land, overview, camera.eye, forward, sun.azimuth_deg + north, cancel)?;
        let light = Light::of(&camera, aspect, &sun, north, options, materials.ground(overview));
        let mut plants = Plants::new(self.gpu, &self.passes.scene);
        if options.plants {
            progress("plants");
            let sight = Sight {
                camera: &camera,
                aspect,
                size: options.size,
                moment: &moment,
                latitude_deg: latitude,
            };
            let ground = Ground::new(overview, &tiles);
            plants.prepare(self.gpu, land, overview, &sight, &ground, cancel)?;
        }
        progress("picture");
        let work = Work {
            renderer: self,
            plants: &plants,
            overview,
            materials,
            options,
            camera: &camera,
            aspect,
            squares: &squares,
            light: &light,
        };
        let guard = self.gpu.device.push_error_scope(wgpu::ErrorFilter::OutOfMemory);
        let (bytes, size) = work.draw(&tiles, &seen, cancel)?;
        if let Some(error) = pollster::block_on(guard.pop()) {
            return Err(RenderError::Device(error.to_string()));
        }
        let [width, height] = options.size.map(|n| n as usize);
        let pixels = bytes.chunks_exact(4).map(|p| [p[0], p[1], p[2]]).collect();
        let picture = Raster::from_vec(width, height, pixels)
            .ok_or_else(|| RenderError::Device(String::from("the picture came back in another size")))?;
        let counts = plants.counts();
        let bytes = size + counts.bytes;
        Ok(Rendered { picture, camera, moment, sun, tiles: seen.len(), plants: counts, bytes })
    }

    /// Refuses a camera inside the ground or the water; lifts one that was found by itself out of small bumps.
    fn clear_of_ground(
        &self,
        land: &dyn Land,
        overview: &Overview,
        mut camera: Camera,
        cancel: &Cancel,
    ) -> Result<Camera, RenderError> {
        let [x, y, z] = camera.eye;
        let ground = view::ground_at(land, overview, x, y, cancel)?;
        if z < ground {
            return Err(RenderError::Call(format!(
                "the camera is under ground: at {x:.0},{y:.0} the ground is {ground:.1} m above the sea and the camera {z:.1} m"
            )));
        }
        camera.eye[2] = z.max(ground + 1.5);
        Ok(camera)
    }
}

/// Tiles, and which of them are drawn, nearest first.
type Chosen = (Vec<Tile>, Vec<(usize, usize)>);

/// All tiles of a view.
fn tiles(
    land: &dyn Land,
    overview: &Overview,
    bounds: &Bounds,
    rivers: &Rivers,
    camera: &Camera,
    aspect: f64,
    quality: f64,
    cancel: &Cancel,
) -> Result<Chosen, RenderError> {
    let finest_quad = land.finest_m().max(1e-3);
    let finest =
        (math::log2(overview.root.size_m / (QUADS as f64 * finest_quad)).floor()).clamp(0.0, 22.0) as u8;
    let mut quality = quality;
    loop {
        let metric = Metric {
            camera,
            aspect,
            quality,
            heights: &|node| bounds.heights(node),
            detail: &|node| bounds.detail(node),
            finest,
        };
        let all = split(&overview.root, &metric);
        let extent = overview.frame.extent();
        let mut seen: Vec<(f64, Node)> = all
            .keys()
            .filter(|node| {
                let rect = overview.root.rect(**node);
                rect.min[0] < extent.max[0] && rect.min[1] < extent.max[1]
            })
            .map(|&node| (Volume::of(&overview.root, &metric, node), node))
            .filter(|(volume, _)| volume.is_seen(&metric))
            .map(|(volume, node)| (volume.distance(), node))
            .collect();
        if seen.len() > MOST_TILES {
            // As fine as the device has room for.
            quality *= 0.93;
            continue;
        }
        seen.sort_by(|a, b| a.0.total_cmp(&b.0));
        let mut tiles: Vec<Tile> = seen
            .par_iter()
            .map(|(_, node)| {
                if cancel.is_cancelled() {
                    return Err(RenderError::Cancelled);
                }
                Tile::fill(*node, land, overview, rivers, cancel)
            })
            .collect::<Result<_, _>>()?;
        join(&mut tiles, &all);
        let seen = (0..tiles.len()).map(|i| (i, all.get(&tiles[i].node).copied().unwrap_or(0))).collect();
        return Ok((tiles, seen));
    }
}

/// How high the ground is that tiles show.
struct Ground<'a> {
    overview: &'a Overview,
    tiles: std::collections::BTreeMap<Node, &'a Tile>,
}

impl<'a> Ground<'a> {
    fn new(overview: &'a Overview, tiles: &'a [Tile]) -> Self {
        Self { overview, tiles: tiles.iter().map(|tile| (tile.node, tile)).collect() }
    }

    /// The tile of a place, and where it lies on that, 0 to 1 from the north-west corner.
    fn tile(&self, [x, y]: [f64; 2]) -> Option<(&'a Tile, [f64; 2])> {
        let root = &self.overview.root;
        let inside =
            [x, y].iter().zip(root.origin_m).all(|(at, from)| (0.0..root.size_m).contains(&(at - from)));
        if !inside {
            return None;
        }
        self.levels().find_map(|level| {
            let side = root.side_m(level);
            let at = [(x - root.origin_m[0]) / side, (y - root.origin_m[1]) / side];
            let node = Node { level, x: at[0] as u32, y: at[1] as u32 };
            Some((*self.tiles.get(&node)?, [at[0].fract(), 1.0 - at[1].fract()]))
        })
    }

    fn levels(&self) -> impl Iterator<Item = u8> {
        let first = self.tiles.keys().next().map_or(0, |node| node.level);
        let last = self.tiles.keys().next_back().map_or(0, |node| node.level);
        (first..=last).rev()
    }
}

impl Footing for Ground<'_> {
    fn height_at(&self, at: [f64; 2]) -> f64 {
        match self.tile(at) {
            Some((tile, at)) => tile.height_at(at),
            None => self.overview.height_at(at[0], at[1]),
        }
    }

    fn spot(&self, at: [f64; 2]) -> Option<Spot> {
        let (tile, on_tile) = self.tile(at)?;
        let mut spot = tile.spot(on_tile);
        spot.wet |= self.overview.is_sea(at[0], at[1]);
        Some(spot)
    }
}

/// The light of a moment.
struct Light {
    sun: Vec3,
    direct: [f32; 3],
    harmonics: [[f32; 3]; 4],
    bounce: [f32; 3],
    exposure: f32,
    sky: Vec<[f32; 3]>,
    block: Vec<[f32; 4]>,
}

impl Light {
    fn of(
        camera: &Camera,
        aspect: f64,
        sun: &Sun,
        north_deg: f64,
        options: &Options,
        ground: [f32; 3],
    ) -> Self {
        let air = Air::new(options.haze as f32);
        let way = sun.direction(north_deg);
        let low = as_f32(way);
        let height = (camera.eye[2].max(1.0) as f32).min(90_000.0);
        let direct = air.sunlight(height.min(2000.0), low[2]);
        let harmonics = air.harmonics(height.min(2000.0), low);
        let level = |direct: [f32; 3], harmonics: [[f32; 3]; 4], up: f32| {
            [0, 1, 2].map(|c| direct[c] * up.max(0.0) + harmonics[0][c] + harmonics[3][c])
        };
        let on_level = level(direct, harmonics, low[2]);
        let bounce = [0, 1, 2].map(|c| on_level[c] * ground[c]);
        // The eye adapts to the light of the hour, but not wholly: dusk stays darker than noon.
        let luminance = |c: [f32; 3]| 0.2126 * c[0] + 0.7152 * c[1] + 0.0722 * c[2];
        let day = as_f32(Sun { azimuth_deg: 180.0, altitude_deg: 45.0 }.direction(0.0));
        let at_day = luminance(level(air.sunlight(0.0, day[2]), air.harmonics(0.0, day), day[2]));
        let now = luminance(on_level).max(at_day * 3e-5);
        let adapted = math::pow(f64::from(at_day / now), 0.82) as f32;
        let exposure = KEY * std::f32::consts::PI / at_day * adapted * math::exp2(options.exposure_ev) as f32;
        Self {
            sun: way,
            direct,
            harmonics,
            bounce,
            exposure,
            sky: air.sky_table(height, low),
            block: air.block(camera, aspect, way),
        }
    }
}

/// How bright white paper in the sun of a good day is, before it is toned.
const KEY: f32 = 1.5;
/// Strength of colours after toning.
const SATURATION: f32 = 1.18;

impl Materials {
    /// The mean colour of the ground of a land.
    fn ground(&self, overview: &Overview) -> [f32; 3] {
        let mut sum = [0f64; 3];
        let mut all = 0.0;
        for (i, name) in overview.materials.iter().enumerate() {
            let Some(weights) = overview.weights(name) else { continue };
            let weight: u64 = weights.as_slice().iter().step_by(7).map(|w| u64::from(w.0)).sum();
            let mean = self.mean(i);
            (0..3).for_each(|c| sum[c] += weight as f64 * f64::from(mean[c]));
            all += weight as f64;
        }
        if all > 0.0 { sum.map(|c| (c / all) as f32) } else { [0.18, 0.17, 0.12] }
    }
}

struct Work<'a> {
    renderer: &'a Renderer<'a>,
    plants: &'a Plants,
    overview: &'a Overview,
    materials: &'a Materials,
    options: &'a Options,
    camera: &'a Camera,
    aspect: f64,
    squares: &'a [Square],
    light: &'a Light,
}

impl Work<'_> {
    /// Draws all samples and reads the picture; also says how many bytes the tiles took.
    fn draw(
        &self,
        tiles: &[Tile],
        seen: &[(usize, usize)],
        cancel: &Cancel,
    ) -> Result<(Vec<u8>, u64), RenderError> {
        let gpu = self.renderer.gpu;
        let passes = &self.renderer.passes;
        let size = self.options.size;
        let scene_buffer =
            gpu.buffer("scene", bytemuck::bytes_of(&self.scene(0)), wgpu::BufferUsages::UNIFORM);
        let scene = self.bind_scene(&scene_buffer);
        let (ground, levels, bytes) = self.bind_tiles(tiles);
        let instances: Vec<Instance> = seen.iter().map(|&(i, _)| self.instance(&tiles[i], i)).collect();
        let instances = gpu.buffer("instances", bytemuck::cast_slice(&instances), wgpu::BufferUsages::VERTEX);
        let (sea_vertices, sea_indices) = sea_mesh(self.camera.eye[2]);
        let sea_count = sea_indices.len() as u32;
        let sea_vertices = gpu.buffer("sea", bytemuck::cast_slice(&sea_vertices), wgpu::BufferUsages::VERTEX);
        let sea_indices = gpu.buffer("sea", bytemuck::cast_slice(&sea_indices), wgpu::BufferUsages::INDEX);
        let apron = apron::mesh(self.overview, self.materials, self.camera.eye).map(|(vertices, indices)| {
            let count = indices.len() as u32;
            let buffer = |bytes: &[u8], usage| gpu.buffer("apron", bytes, usage);
            let vertices = buffer(bytemuck::cast_slice(&vertices), wgpu::BufferUsages::VERTEX);
            (vertices, buffer(bytemuck::cast_slice(&indices), wgpu::BufferUsages::INDEX), count)
        });
        let target = |label, format| gpu.target(label, size, format);
        let [first, second, sum] = ["ground", "water", "sum"].map(|label| target(label, LIGHT));
        let [first_depth, second_depth] = ["ground depth", "water depth"].map(|label| target(label, DEPTH));
        let written = target("picture", wgpu::TextureFormat::Rgba8Unorm);
        let view = |texture: &wgpu::Texture| texture.create_view(&wgpu::TextureViewDescriptor::default());
        let [first, second, sum_view, first_depth, second_depth, written_view] =
            [&first, &second, &sum, &first_depth, &second_depth, &written].map(view);
        let texture = wgpu::BindingResource::TextureView;
        let under = bind(gpu, "under", &passes.under, vec![texture(&first), texture(&first_depth)]);
        let below = bind(gpu, "copy", &passes.picture, vec![texture(&first)]);
        let share = 1.0 / self.options.samples as f32;
        let tone = Tone { values: [self.light.exposure, share, SATURATION, 0.0] };
        let tone = gpu.buffer("tone", bytemuck::bytes_of(&tone), wgpu::BufferUsages::UNIFORM);
        let toned = bind(gpu, "tone", &passes.tone, vec![texture(&second), tone.as_entire_binding()]);
        let finished = bind(gpu, "finish", &passes.tone, vec![texture(&sum_view), tone.as_entire_binding()]);
        for sample in 0..self.options.samples {
            if cancel.is_cancelled() {
                return Err(RenderError::Cancelled);
            }
            gpu.queue.write_buffer(&scene_buffer, 0, bytemuck::bytes_of(&self.scene(sample)));
            self.plants.begin(gpu, sample, self.options.samples, 0.0, 0.0);
            let mut encoder = gpu.device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
            {
                let mut pass = begin(&mut encoder, "ground", &first, true, Some(&first_depth));
                pass.set_bind_group(0, &scene, &[]);
                pass.set_bind_group(1, &ground, &[]);
                self.draw_ground(&mut pass, &instances, seen);
                if let Some((vertices, indices, count)) = &apron {
                    pass.set_pipeline(&passes.apron);
                    pass.set_vertex_buffer(0, vertices.slice(..));
                    pass.set_index_buffer(indices.slice(..), wgpu::IndexFormat::Uint16);
                    pass.draw_indexed(0..*count, 0, 0..1);
                }
                self.plants.draw(&mut pass);
                pass.set_pipeline(&passes.sky);
                pass.draw(0..3, 0..1);
            }
            {
                let mut pass = begin(&mut encoder, "water", &second, true, Some(&second_depth));
                pass.set_pipeline(&passes.copy);
                pass.set_bind_group(0, &below, &[]);
                pass.draw(0..3, 0..1);
                pass.set_bind_group(0, &scene, &[]);
                pass.set_bind_group(1, &under, &[]);
                pass.set_bind_group(2, &levels, &[]);
                pass.set_pipeline(&passes.lakes);
                pass.set_index_buffer(passes.indices.slice(..), wgpu::IndexFormat::Uint16);
                for (i, &(at, coarser)) in seen.iter().enumerate() {
                    if tiles[at].has_water {
                        pass.set_vertex_buffer(0, instances.slice(instance_bytes(i)));
                        pass.draw_indexed(passes.ranges[coarser].clone(), 0, 0..1);
                    }
                }
                if self.has_sea() {
                    pass.set_pipeline(&passes.sea);
                    pass.set_vertex_buffer(0, sea_vertices.slice(..));
                    pass.set_index_buffer(sea_indices.slice(..), wgpu::IndexFormat::Uint16);
                    pass.draw_indexed(0..sea_count, 0, 0..1);
                }
            }
            {
                let mut pass = begin(&mut encoder, "tone", &sum_view, sample == 0, None);
                pass.set_pipeline(&passes.add);
                pass.set_bind_group(0, &toned, &[]);
                pass.draw(0..3, 0..1);
            }
            gpu.queue.submit([encoder.finish()]);
            gpu.wait()?;
        }
        let mut encoder = gpu.device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
        {
            let mut pass = begin(&mut encoder, "write", &written_view, true, None);
            pass.set_pipeline(&passes.write);
            pass.set_bind_group(0, &finished, &[]);
            pass.draw(0..3, 0..1);
        }
        gpu.queue.submit([encoder.finish()]);
        Ok((gpu.read(&written)?, bytes))
    }

    fn draw_ground(
        &self,
        pass: &mut wgpu::RenderPass<'_>,
        instances: &wgpu::Buffer,
        seen: &[(usize, usize)],
    ) {
        let passes = &self.renderer.passes;
        pass.set_pipeline(&passes.ground);
        pass.set_index_buffer(passes.indices.slice(..), wgpu::IndexFormat::Uint16);
        for (i, &(_, coarser)) in seen.iter().enumerate() {
            pass.set_vertex_buffer(0, instances.slice(instance_bytes(i)));
            pass.draw_indexed(passes.ranges[coarser].clone(), 0, 0..1);
        }
    }

    fn has_sea(&self) -> bool {
        self.overview.sea.as_slice().contains(&1)
    }

    fn instance(&self, tile: &Tile, layer: usize) -> Instance {
        let rect = self.overview.root.rect(tile.node);
        let quad = self.overview.root.side_m(tile.node.level) / QUADS as f64;
        let eye = self.camera.eye;
        let corner = [rect.min[0] - eye[0], rect.max[1] - eye[1], quad].map(|x| x as f32);
        Instance { tile: [corner[0], corner[1], corner[2], layer as f32], palette: tile.palette }
    }

    fn scene(&self, sample: u32) -> Scene {
        let (camera, light, options) = (self.camera, self.light, self.options);
        let eye = camera.eye;
        // Halton's points, around the middle of the pixel.
        let shift = if options.samples == 1 {
            [0.0; 2]
        } else {
            [halton(sample + 1, 2) - 0.5, halton(sample + 1, 3) - 0.5]
        };
        let [width, height] = options.size.map(f64::from);
        let in_clip = [2.0 * shift[0] / width, -2.0 * shift[1] / height];
        let four = |[x, y, z]: [f32; 3], w: f32| [x, y, z, w];
        let at = |size: f64| [0, 1].map(|i| (eye[i] / size).rem_euclid(1.0) as f32);
        let mut boxes = [[0f32; 4]; SQUARES];
        for (to, square) in boxes.iter_mut().zip(self.squares) {
            let rect = &square.rect;
            *to = [
                (rect.min[0] - eye[0]) as f32,
                (rect.max[1] - eye[1]) as f32,
                (1.0 / rect.size()[0]) as f32,
                0.0,
            ];
        }
        let sun_flat = math::hypot(light.sun[0], light.sun[1]).max(1e-9);
        // The wind blows from the west-south-west.
        let wind = 0.4f64;
        let (wind_cos, wind_sin) = (math::cos(wind), math::sin(wind));
        let turned = [wind_cos * eye[0] - wind_sin * eye[1], wind_sin * eye[0] + wind_cos * eye[1]];
        let mut materials = [[0f32; 4]; 4 * MOST];
        materials.copy_from_slice(&self.materials.numbers(eye));
        let tan_sun = light.sun[2] / sun_flat;
        Scene {
            clip: camera.clip(self.aspect, in_clip),
            rays: camera.rays(self.aspect).map(|ray| four(ray, 0.0)),
            eye: [eye[2] as f32, (0.5 / EARTH_M) as f32, NEAR_M as f32, light.exposure],
            sun: four(as_f32(light.sun), tan_sun.clamp(-50.0, 50.0) as f32),
            sun_light: four(light.direct, (0.0047 * (1.0 + tan_sun * tan_sun)).min(2.0) as f32),
            sky: light.harmonics.map(|c| four(c, 0.0)),
            bounce: four(light.bounce, 0.0),
            size: [width, height, 1.0 / width, 1.0 / height].map(|x| x as f32),
            shift: [shift[0] as f32, shift[1] as f32, self.plants.far_m(), 0.0],
            counts: [self.squares.len() as f32, BLOCK[2] as f32, BLOCK_M, 1.0 / SIDE as f32],
            squares: boxes,
            noise: NOISE_M.map(|size| four([at(size)[0], at(size)[1], (1.0 / size) as f32], 0.0)),
            waves: WAVES_M.map(|(size, strength)| {
                let at = turned.map(|x| (x / size).rem_euclid(1.0) as f32);
                [at[0], at[1], (1.0 / size) as f32, strength]
            }),
            turns: [light.sun[0] / sun_flat, light.sun[1] / sun_flat, wind_cos, wind_sin].map(|x| x as f32),
            materials,
        }
    }

    fn bind_scene(&self, buffer: &wgpu::Buffer) -> wgpu::BindGroup {
        let gpu = self.renderer.gpu;
        let halves = |values: &mut dyn Iterator<Item = f32>| -> Vec<u8> {
            values.flat_map(|x| half(x).to_le_bytes()).collect()
        };
        let format = wgpu::TextureFormat::Rgba16Float;
        let sky = halves(&mut self.light.sky.iter().flat_map(|[r, g, b]| [*r, *g, *b, 1.0]));
        let shape =
            Shape { size: [SKY[0] as u32, SKY[1] as u32, 1], format, view: wgpu::TextureViewDimension::D2 };
        let sky = gpu.texture("sky", &shape, &[vec![&sky[..]]]);
        let block = halves(&mut self.light.block.iter().flatten().copied());
        let shape = Shape { size: BLOCK.map(|n| n as u32), format, view: wgpu::TextureViewDimension::D3 };
        let block = gpu.texture("air", &shape, &[vec![&block[..]]]);
        let shades: Vec<Vec<&[u8]>> =
            self.squares.iter().map(|square| vec![bytemuck::cast_slice(&square.texels)]).collect();
        let side = SIDE as u32;
        let shape = Shape {
            size: [side, side, shades.len() as u32],
            format,
            view: wgpu::TextureViewDimension::D2Array,
        };
        let shades = gpu.texture("shade", &shape, &shades);
        let clamped = gpu.sampler(wgpu::AddressMode::ClampToEdge, 1);
        let repeated = gpu.sampler(wgpu::AddressMode::Repeat, 1);
        let texture = wgpu::BindingResource::TextureView;
        let sampler = wgpu::BindingResource::Sampler;
        let Renderer { noises, waves, passes, .. } = self.renderer;
        bind(
            gpu,
            "scene",
            &passes.scene,
            vec![
                buffer.as_entire_binding(),
                sampler(&clamped),
                sampler(&repeated),
                texture(&sky),
                texture(&block),
                texture(&shades),
                texture(noises),
                texture(waves),
            ],
        )
    }

    /// The textures of the tiles for the ground, those for water, and their bytes.
    fn bind_tiles(&self, tiles: &[Tile]) -> (wgpu::BindGroup, wgpu::BindGroup, u64) {
        let gpu = self.renderer.gpu;
        let passes = &self.renderer.passes;
        let mut bytes = 0;
        let mut array = |label: &str, side: usize, format, of: &dyn Fn(&Tile) -> Vec<u8>| {
            let empty = vec![0u8; side * side * 8];
            let layers: Vec<Vec<u8>> = tiles.iter().map(of).collect();
            bytes += layers.iter().map(|layer| layer.len() as u64).sum::<u64>();
            let layers: Vec<Vec<&[u8]>> = if layers.is_empty() {
                vec![vec![&empty[..]]]
            } else {
                layers.iter().map(|layer| vec![layer.as_slice()]).collect()
            };
            let size = [side as u32, side as u32, layers.len() as u32];
            gpu.texture(label, &Shape { size, format, view: wgpu::TextureViewDimension::D2Array }, &layers)
        };
        use wgpu::TextureFormat::{R32Float, Rgba8Unorm, Rgba16Float};
        let heights =
            array("heights", VERTICES, R32Float, &|tile| bytemuck::cast_slice(&tile.heights).to_vec());
        let levels = array("levels", VERTICES, R32Float, &|tile| bytemuck::cast_slice(&tile.levels).to_vec());
        let slopes =
            array("slopes", TEXELS, Rgba16Float, &|tile| bytemuck::cast_slice(&tile.slopes).to_vec());
        let weights = array("weights", TEXELS, Rgba8Unorm, &|tile| tile.weights[0].as_flattened().to_vec());
        let more = array("more weights", TEXELS, Rgba8Unorm, &|tile| tile.weights[1].as_flattened().to_vec());
        let covers = array("cover", TEXELS, Rgba8Unorm, &|tile| tile.cover.as_flattened().to_vec());
        let [albedo, surface, patterns] = self.materials.upload(gpu);
        let texture = wgpu::BindingResource::TextureView;
        let all = [&heights, &slopes, &weights, &more, &covers, &albedo, &surface, &patterns];
        let ground = bind(gpu, "tiles", &passes.tiles, all.into_iter().map(texture).collect());
        (ground, bind(gpu, "levels", &passes.levels, vec![texture(&levels)]), bytes)
    }
}

fn instance_bytes(i: usize) -> std::ops::Range<u64> {
    let size = size_of::<Instance>() as u64;
    i as u64 * size..(i as u64 + 1) * size
}

fn begin<'e>(
    encoder: &'e mut wgpu::CommandEncoder,
    label: &str,
    view: &wgpu::TextureView,
    clear: bool,
    depth: Option<&wgpu::TextureView>,
) -> wgpu::RenderPass<'e> {
    let load = if clear { wgpu::LoadOp::Clear(wgpu::Color::TRANSPARENT) } else { wgpu::LoadOp::Load };
    encoder.begin_render_pass(&wgpu::RenderPassDescriptor {
        label: Some(label),
        color_attachments: &[Some(wgpu::RenderPassColorAttachment {
            view,
            depth_slice: None,
            resolve_target: None,
            ops: wgpu::Operations { load, store: wgpu::StoreOp::Store },
        })],
        depth_stencil_attachment: depth.map(|view| wgpu::RenderPassDepthStencilAttachment {
            view,
            depth_ops: Some(wgpu::Operations { load: wgpu::LoadOp::Clear(0.0), store: wgpu::StoreOp::Store }),
            stencil_ops: None,
        }),
        timestamp_writes: None,
        occlusion_query_set: None,
        multiview_mask: None,
    })
}

/// The surface of the sea around the eye, as far as the horizon: rings, each wider than the one before.
fn sea_mesh(eye_m: f64) -> (Vec<[f32; 2]>, Vec<u16>) {
    const AROUND: usize = 128;
    const RINGS: usize = 96;
    let horizon = (2.0 * EARTH_M * eye_m.max(2.0)).sqrt() * 1.3 + 2000.0;
    debug_assert!(curve_m(horizon) > eye_m);
    let first = 2.0f64;
    let mut vertices = vec![[0f32; 2]];
    for ring in 0..RINGS {
        let far = first * math::exp(math::ln(horizon / first) * ring as f64 / (RINGS - 1) as f64);
        for i in 0..AROUND {
            let turn = std::f64::consts::TAU * i as f64 / AROUND as f64;
            vertices.push([far * math::cos(turn), far * math::sin(turn)].map(|x| x as f32));
        }
    }
    let at = |ring: usize, i: usize| (1 + ring * AROUND + i % AROUND) as u16;
    let mut indices = Vec::new();
    for i in 0..AROUND {
        indices.extend([0, at(0, i), at(0, i + 1)]);
        for ring in 1..RINGS {
            indices.extend([at(ring - 1, i), at(ring, i), at(ring, i + 1)]);
            indices.extend([at(ring - 1, i), at(ring, i + 1), at(ring - 1, i + 1)]);
        }
    }
    (vertices, indices)
}

/// Halton's sequence: points that fill a square evenly.
fn halton(mut index: u32, base: u32) -> f64 {
    let (mut out, mut share) = (0.0, 1.0);
    while index > 0 {
        share /= f64::from(base);
        out += share * f64::from(index % base);
        index /= base;
    }
    out
}

#[cfg(test)]
mod tests {
    use orogen_core::{Frame, Seed, Terrain, layer};

    use super::*;

    fn hills() -> Terrain {
        let frame = Frame::square(8000.0, 129).unwrap();
        let mut land = Terrain::new(frame);
        let height = Raster::from_fn(129, 129, |c, r| {
            let (x, y) = (c as f64 / 9.0, r as f64 / 7.0);
            (400.0 + 300.0 * math::sin(x) * math::cos(1.3 * y) + 60.0 * math::sin(2.7 * x + y)) as f32
        });
        land.set(layer::HEIGHT, height);
        land
    }

    /// A device, which every machine that runs the tests has: `cargo xtask test` installs Mesa's.
    fn gpu() -> Gpu {
        Gpu::open(None).expect("a graphics adapter; cargo xtask test installs one")
    }

    fn small() -> Options {
        Options { size: [96, 54], samples: 1, quality: 2.0, plants: false, ..Options::default() }
    }

    fn picture(options: &Options) -> Result<Rendered, RenderError> {
        let land = hills();
        render(&gpu(), &land, &Materials::of_layers(&[]), options, &Cancel::new(), &|_| {})
    }

    #[test]
    fn no_pixel_of_the_ground_is_left_out_between_tiles() {
        let (gpu, land) = (gpu(), hills());
        let overview = Overview::of(&land, &Cancel::new()).unwrap();
        let renderer = Renderer::new(&gpu);
        let materials = Materials::of_layers(&[]);
        let bounds = overview.bounds();
        let (aspect, size) = (16.0 / 9.0, [256, 144]);
        let seed = Seed::from_text("cracks");
        for i in 0..60 {
            let random = |j: u64| seed.unit(i * 8 + j);
            let eye = [2500.0 + 3000.0 * random(0), 2500.0 + 3000.0 * random(1), 800.0 + 900.0 * random(2)];
            // Down into the land, so that every look ends on it.
            let turn = std::f64::consts::TAU * random(3);
            let target =
                [eye[0] + 900.0 * math::sin(turn), eye[1] + 900.0 * math::cos(turn), eye[2] - 1500.0];
            let camera = Camera { eye, target, view_deg: 50.0 };
            let quality = 1.0 + 4.0 * random(4);
            let (tiles, seen) =
                tiles(&land, &overview, &bounds, &Rivers::of(None), &camera, aspect, quality, &Cancel::new())
                    .unwrap();
            let options = Options { size, samples: 1, ..Options::default() };
            let sun = Sun { azimuth_deg: 120.0, altitude_deg: 40.0 };
            let light = Light::of(&camera, aspect, &sun, 0.0, &options, [0.2; 3]);
            let squares =
                squares(&land, &overview, camera.eye, camera.axes()[2], 120.0, &Cancel::new()).unwrap();
            let plants = Plants::new(&gpu, &renderer.passes.scene);
            let work = Work {
                renderer: &renderer,
                plants: &plants,
                overview: &overview,
                materials: &materials,
                options: &options,
                camera: &camera,
                aspect,
                squares: &squares,
                light: &light,
            };
            let depths = work.ground_depths(&tiles, &seen).unwrap();
            let open = depths.iter().filter(|depth| **depth <= 0.0).count();
            assert_eq!(open, 0, "camera {i}: {camera:?}, quality {quality}");
        }
    }

    impl Work<'_> {
        /// Depths of the ground alone, row by row.
        fn ground_depths(&self, tiles: &[Tile], seen: &[(usize, usize)]) -> Result<Vec<f32>, RenderError> {
            let gpu = self.renderer.gpu;
            let buffer = gpu.buffer("scene", bytemuck::bytes_of(&self.scene(0)), wgpu::BufferUsages::UNIFORM);
            let scene = self.bind_scene(&buffer);
            let (ground, ..) = self.bind_tiles(tiles);
            let instances: Vec<Instance> = seen.iter().map(|&(i, _)| self.instance(&tiles[i], i)).collect();
            let instances =
                gpu.buffer("instances", bytemuck::cast_slice(&instances), wgpu::BufferUsages::VERTEX);
            let [light, depth] = [LIGHT, DEPTH].map(|format| gpu.target("test", self.options.size, format));
            let [light_view, depth_view] =
                [&light, &depth].map(|t| t.create_view(&wgpu::TextureViewDescriptor::default()));
            let mut encoder = gpu.device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
            {
                let mut pass = begin(&mut encoder, "ground", &light_view, true, Some(&depth_view));
                pass.set_bind_group(0, &scene, &[]);
                pass.set_bind_group(1, &ground, &[]);
                self.draw_ground(&mut pass, &instances, seen);
            }
            gpu.queue.submit([encoder.finish()]);
            let bytes = gpu.read(&depth)?;
            Ok(bytes.chunks_exact(4).map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect())
        }
    }

    #[test]
    fn a_picture_has_sky_above_and_lit_ground_below_and_is_the_same_twice() {
        let found = picture(&small()).unwrap();
        assert_eq!((found.picture.cols(), found.picture.rows()), (96, 54));
        let mean = |row: usize| {
            found
                .picture
                .row(row)
                .iter()
                .map(|p| p.map(f64::from))
                .fold([0.0; 3], |a, b| [0, 1, 2].map(|c| a[c] + b[c] / 96.0))
        };
        let (top, bottom) = (mean(1), mean(50));
        assert!(top[2] > top[0] + 20.0, "{top:?}");
        assert!(bottom[1] > 20.0 && bottom[2] < bottom[1], "{bottom:?}");
        assert_eq!(picture(&small()).unwrap().picture, found.picture);
    }

    #[test]
    fn night_is_darker_than_day() {
        let mean = |hour: f64| {
            let options =
                Options { any_hour: false, moment: Moment { hour, ..Options::default().moment }, ..small() };
            let picture = picture(&options).unwrap().picture;
            picture.as_slice().as_flattened().iter().map(|b| f64::from(*b)).sum::<f64>() / (96.0 * 54.0 * 3.0)
        };
        let (day, dusk, night) = (mean(12.0), mean(20.0), mean(0.0));
        assert!(day > dusk + 5.0 && dusk > night + 5.0 && night < 40.0, "{day} {dusk} {night}");
    }

    #[test]
    fn what_makes_no_picture_gets_a_sentence() {
        let of = |options: Options| picture(&options).unwrap_err().to_string();
        assert!(of(Options { size: [0, 54], ..small() }).contains("0 pixels is outside 1 to"));
        assert!(of(Options { samples: 0, ..small() }).contains("samples"));
        let at = |eye: [f64; 2], height| Aim::Place { eye, height, target: None };
        assert!(
            of(Options { aim: at([4000.0, 3000.0], Height::Sea(-5000.0)), ..small() })
                .contains("under ground")
        );
        assert!(of(Options { aim: at([1e9, 0.0], Height::Ground(10.0)), ..small() }).contains("outside"));
        assert!(of(Options { aim: at([0.0, 0.0], Height::Sea(1e9)), ..small() }).contains("outside"));
        let refused = Gpu::open(Some("no such card")).map(|_| ());
        assert!(refused.is_err_and(|e| e.to_string().contains("no such card") && e.is_callers_fault()));
    }
}
