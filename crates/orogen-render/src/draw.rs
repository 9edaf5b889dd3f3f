//! The passes of a picture: ground and sky, water over them, tones, once for each sample of a pixel.

use orogen_core::{Cancel, Rect, math};

use crate::air::{BLOCK, BLOCK_M};
use crate::apron;
use crate::camera::{EARTH_M, NEAR_M, PARALLEL_M, curve_m};
use crate::cascades::{CASCADES, Cascade, SHADOW_SIDE, ShadowTargets};
use crate::error::RenderError;
use crate::fog;
use crate::gpu::{DEPTH, Gpu, LIGHT, bind};
use crate::light::Light;
use crate::materials::{MOST, Materials};
use crate::noises::{NOISE_M, WAVES_M};
use crate::overlay::Painted;
use crate::overview::Overview;
use crate::passes::{Instance, Passes, Scene, Tone};
use crate::plants::Plants;
use crate::shade::{SIDE, SQUARES};
use crate::slots::Slots;
use crate::stage::Shot;
use crate::sun::Sun;
use crate::tile::PALETTE;
use crate::vec3::{Vec3, add, as_f32, cross, direction, scale};

/// Strength of colours after toning.
const SATURATION: f32 = 1.25;

/// The golden ratio: thresholds of samples that are moved by it are spread evenly.
const GOLDEN: f32 = 0.618_034;

/// A tile that is drawn.
#[derive(Clone, Debug)]
pub(crate) struct Drawn {
    pub rect: Rect,
    /// The side of a quad.
    pub quad: f64,
    /// Where on the device it is.
    pub slot: u32,
    /// The sides on which its neighbour is coarser.
    pub coarser: usize,
    pub palette: [u8; PALETTE],
    pub has_water: bool,
    /// How far it has changed over to the next coarser tile.
    pub morph: f32,
}

/// Textures that passes of one size draw into.
pub(crate) struct Targets {
    pub size: [u32; 2],
    pub written: wgpu::Texture,
    /// Of the ground, and of water over it.
    pub depths: [wgpu::Texture; 2],
    views: [wgpu::TextureView; 6],
    under: wgpu::BindGroup,
    below: wgpu::BindGroup,
    toned: wgpu::BindGroup,
    finished: wgpu::BindGroup,
    tone: wgpu::Buffer,
    scene: wgpu::Buffer,
    shadows: ShadowTargets,
}

impl Targets {
    pub fn new(gpu: &Gpu, passes: &Passes, size: [u32; 2]) -> Self {
        let target = |label, format| gpu.target(label, size, format);
        let [first, second, sum] = ["ground", "water", "sum"].map(|label| target(label, LIGHT));
        let [first_depth, second_depth] = ["ground depth", "water depth"].map(|label| target(label, DEPTH));
        let written = target("picture", wgpu::TextureFormat::Rgba8Unorm);
        let view = |texture: &wgpu::Texture| texture.create_view(&wgpu::TextureViewDescriptor::default());
        let views = [&first, &second, &sum, &first_depth, &second_depth, &written].map(view);
        let depths = [first_depth, second_depth];
        let uniform = |label, bytes: usize| gpu.buffer(label, &vec![0; bytes], wgpu::BufferUsages::UNIFORM);
        let tone = uniform("tone", size_of::<Tone>());
        let scene = uniform("scene", size_of::<Scene>());
        let texture = wgpu::BindingResource::TextureView;
        let [first, second, sum, first_depth, ..] = &views;
        Self {
            size,
            under: bind(gpu, "under", &passes.under, vec![texture(first), texture(first_depth)]),
            below: bind(gpu, "copy", &passes.picture, vec![texture(first)]),
            toned: bind(gpu, "tone", &passes.tone, vec![texture(second), tone.as_entire_binding()]),
            finished: bind(gpu, "finish", &passes.tone, vec![texture(sum), tone.as_entire_binding()]),
            written,
            depths,
            views,
            tone,
            scene,
            shadows: ShadowTargets::new(gpu),
        }
    }
}

/// All that a picture is drawn from.
pub(crate) struct Draw<'a> {
    pub gpu: &'a Gpu,
    pub passes: &'a Passes,
    pub overview: &'a Overview,
    pub materials: &'a Materials,
    pub noises: &'a wgpu::TextureView,
    pub waves: &'a wgpu::TextureView,
    pub shot: &'a Shot,
    /// Width over height.
    pub aspect: f64,
    pub light: &'a Light,
    /// The squares near the eye as the lamp sees them.
    pub near: Option<[Cascade; CASCADES]>,
    pub sun: Sun,
    pub shades: &'a wgpu::TextureView,
    /// Where fog lies.
    pub fogs: &'a wgpu::TextureView,
    /// Where the squares of shade lie.
    pub squares: &'a [Rect],
    pub slots: &'a Slots,
    /// What is painted over the ground, and its maps on the device.
    pub painted: &'a Painted,
    pub maps: &'a wgpu::TextureView,
    /// Nearest first.
    pub tiles: &'a [Drawn],
    pub plants: &'a Plants,
}

impl Draw<'_> {
    /// Draws all samples into the picture of the targets.
    pub fn picture(
        &self,
        targets: &Targets,
        cancel: &Cancel,
        progress: &dyn Fn(f32),
    ) -> Result<(), RenderError> {
        let Self { gpu, passes, shot, .. } = *self;
        let scene = self.bind_scene(&targets.scene, targets, &targets.shadows.all);
        let instances = self.instances();
        self.plants.begin(gpu, 0.0, 0.0);
        self.cast(targets, &instances);
        let eye = shot.camera.eye;
        let (sea_vertices, sea_indices) = sea_mesh(eye[2]);
        let sea_count = sea_indices.len() as u32;
        let sea_vertices = gpu.buffer("sea", bytemuck::cast_slice(&sea_vertices), wgpu::BufferUsages::VERTEX);
        let sea_indices = gpu.buffer("sea", bytemuck::cast_slice(&sea_indices), wgpu::BufferUsages::INDEX);
        let apron = apron::mesh(self.overview, self.materials, eye).map(|(vertices, indices)| {
            let count = indices.len() as u32;
            let buffer = |bytes: &[u8], usage| gpu.buffer("apron", bytes, usage);
            let vertices = buffer(bytemuck::cast_slice(&vertices), wgpu::BufferUsages::VERTEX);
            (vertices, buffer(bytemuck::cast_slice(&indices), wgpu::BufferUsages::INDEX), count)
        });
        let [first, second, sum, first_depth, second_depth, written] = &targets.views;
        let share = 1.0 / shot.samples as f32;
        let tone = Tone { values: [self.light.exposure, share, SATURATION, self.light.night] };
        gpu.queue.write_buffer(&targets.tone, 0, bytemuck::bytes_of(&tone));
        for sample in 0..shot.samples {
            if cancel.is_cancelled() {
                return Err(RenderError::Cancelled);
            }
            gpu.queue.write_buffer(&targets.scene, 0, bytemuck::bytes_of(&self.scene(sample)));
            let mut encoder = gpu.device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
            {
                let mut pass = begin(&mut encoder, "ground", first, true, Some(first_depth));
                pass.set_bind_group(0, &scene, &[]);
                self.draw_tiles(&mut pass, &passes.ground, &instances);
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
                let mut pass = begin(&mut encoder, "water", second, true, Some(second_depth));
                pass.set_pipeline(&passes.copy);
                pass.set_bind_group(0, &targets.below, &[]);
                pass.draw(0..3, 0..1);
                pass.set_bind_group(0, &scene, &[]);
                pass.set_bind_group(1, &targets.under, &[]);
                pass.set_bind_group(2, &self.slots.shapes, &[]);
                pass.set_pipeline(&passes.lakes);
                pass.set_index_buffer(passes.indices.slice(..), wgpu::IndexFormat::Uint16);
                for (i, tile) in self.tiles.iter().enumerate().filter(|(_, tile)| tile.has_water) {
                    pass.set_vertex_buffer(0, instances.slice(instance_bytes(i)));
                    pass.draw_indexed(passes.ranges[tile.coarser].clone(), 0, 0..1);
                }
                if self.has_sea() {
                    pass.set_pipeline(&passes.sea);
                    pass.set_vertex_buffer(0, sea_vertices.slice(..));
                    pass.set_index_buffer(sea_indices.slice(..), wgpu::IndexFormat::Uint16);
                    pass.draw_indexed(0..sea_count, 0, 0..1);
                }
            }
            {
                let mut pass = begin(&mut encoder, "tone", sum, sample == 0, None);
                pass.set_pipeline(&passes.add);
                pass.set_bind_group(0, &targets.toned, &[]);
                pass.draw(0..3, 0..1);
            }
            gpu.queue.submit([encoder.finish()]);
            if shot.samples > 1 {
                // One sample is drawn at a time, so that somebody may stop it.
                gpu.wait()?;
                progress((sample + 1) as f32 / shot.samples as f32);
            }
        }
        let mut encoder = gpu.device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
        {
            let mut pass = begin(&mut encoder, "write", written, true, None);
            pass.set_pipeline(&passes.write);
            pass.set_bind_group(0, &targets.finished, &[]);
            pass.draw(0..3, 0..1);
        }
        gpu.queue.submit([encoder.finish()]);
        Ok(())
    }

    /// Draws the ground alone: what tests look at is its depth.
    #[cfg(test)]
    pub fn ground_alone(&self, targets: &Targets) {
        let gpu = self.gpu;
        gpu.queue.write_buffer(&targets.scene, 0, bytemuck::bytes_of(&self.scene(0)));
        let scene = self.bind_scene(&targets.scene, targets, &targets.shadows.all);
        let instances = self.instances();
        let mut encoder = gpu.device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
        {
            let mut pass = encoder.begin_render_pass(&wgpu::RenderPassDescriptor {
                label: Some("depth"),
                color_attachments: &[],
                depth_stencil_attachment: Some(cleared(&targets.views[3])),
                timestamp_writes: None,
                occlusion_query_set: None,
                multiview_mask: None,
            });
            pass.set_bind_group(0, &scene, &[]);
            self.draw_tiles(&mut pass, &self.passes.depth, &instances);
        }
        gpu.queue.submit([encoder.finish()]);
    }

    /// Draws what throws shadows near the eye.
    fn cast(&self, targets: &Targets, instances: &wgpu::Buffer) {
        let Some(squares) = self.near else { return };
        let (gpu, passes, shadows) = (self.gpu, self.passes, &targets.shadows);
        let eye = self.shot.camera.eye;
        let mut encoder = gpu.device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
        for (i, square) in squares.iter().enumerate() {
            let side = SHADOW_SIDE as f32;
            let size = [side, side, 1.0 / side, 1.0 / side];
            let seen = Scene { clip: square.clip, size, ..self.scene(0) };
            gpu.queue.write_buffer(&shadows.scenes[i], 0, bytemuck::bytes_of(&seen));
            let scene = self.bind_scene(&shadows.scenes[i], targets, &shadows.none);
            let mut pass = encoder.begin_render_pass(&wgpu::RenderPassDescriptor {
                label: Some("shadows"),
                depth_stencil_attachment: Some(wgpu::RenderPassDepthStencilAttachment {
                    view: &shadows.each[i],
                    depth_ops: Some(wgpu::Operations {
                        load: wgpu::LoadOp::Clear(0.0),
                        store: wgpu::StoreOp::Store,
                    }),
                    stencil_ops: None,
                }),
                ..Default::default()
            });
            pass.set_bind_group(0, &scene, &[]);
            if i + 1 < CASCADES {
                // Farther away the horizon shades land as finely.
                pass.set_pipeline(&passes.cast);
                pass.set_bind_group(1, &self.slots.ground, &[]);
                pass.set_bind_group(2, &self.slots.shapes, &[]);
                pass.set_index_buffer(passes.indices.slice(..), wgpu::IndexFormat::Uint16);
                for (k, tile) in self.tiles.iter().enumerate() {
                    let size = tile.rect.size();
                    let middle = [0, 1].map(|axis| 0.5 * (tile.rect.min[axis] + tile.rect.max[axis]));
                    let height = self.overview.height_at(middle[0], middle[1]);
                    let middle = [middle[0] - eye[0], middle[1] - eye[1], height - eye[2]];
                    if square.may_see(middle, size[0] + size[1]) {
                        pass.set_vertex_buffer(0, instances.slice(instance_bytes(k)));
                        pass.draw_indexed(passes.ranges[tile.coarser].clone(), 0, 0..1);
                    }
                }
            }
            self.plants.cast(&mut pass, i);
        }
        gpu.queue.submit([encoder.finish()]);
    }

    fn draw_tiles(
        &self,
        pass: &mut wgpu::RenderPass<'_>,
        pipeline: &wgpu::RenderPipeline,
        instances: &wgpu::Buffer,
    ) {
        let passes = self.passes;
        pass.set_bind_group(1, &self.slots.ground, &[]);
        pass.set_bind_group(2, &self.slots.shapes, &[]);
        pass.set_pipeline(pipeline);
        pass.set_index_buffer(passes.indices.slice(..), wgpu::IndexFormat::Uint16);
        for (i, tile) in self.tiles.iter().enumerate() {
            pass.set_vertex_buffer(0, instances.slice(instance_bytes(i)));
            pass.draw_indexed(passes.ranges[tile.coarser].clone(), 0, 0..1);
        }
    }

    fn has_sea(&self) -> bool {
        self.overview.sea.as_slice().contains(&1)
    }

    fn instances(&self) -> wgpu::Buffer {
        let eye = self.shot.camera.eye;
        let instance = |tile: &Drawn| {
            let corner = [tile.rect.min[0] - eye[0], tile.rect.max[1] - eye[1], tile.quad].map(|x| x as f32);
            Instance {
                tile: [corner[0], corner[1], corner[2], tile.slot as f32],
                palette: tile.palette,
                morph: [tile.morph, 0.0, 0.0, 0.0],
            }
        };
        let all: Vec<Instance> = self.tiles.iter().map(instance).collect();
        self.gpu.buffer("instances", bytemuck::cast_slice(&all), wgpu::BufferUsages::VERTEX)
    }

    fn scene(&self, sample: u32) -> Scene {
        let (camera, light, shot) = (&self.shot.camera, self.light, self.shot);
        let eye = camera.eye;
        // Halton's points, around the middle of the pixel.
        let shift = if shot.samples == 1 {
            [0.0; 2]
        } else {
            [halton(sample + 1, 2) - 0.5, halton(sample + 1, 3) - 0.5]
        };
        let turn = if shot.samples == 1 { 0.0 } else { (sample as f32 * GOLDEN).fract() };
        let [width, height] = shot.size.map(f64::from);
        let in_clip = [2.0 * shift[0] / width, -2.0 * shift[1] / height];
        let four = |[x, y, z]: [f32; 3], w: f32| [x, y, z, w];
        let at = |size: f64| [0, 1].map(|i| (eye[i] / size).rem_euclid(1.0) as f32);
        let mut boxes = [[0f32; 4]; SQUARES];
        for (to, rect) in boxes.iter_mut().zip(self.squares) {
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
        let sun = if shot.soft_sun { within_disk(light.sun, sample) } else { light.sun };
        let sun_flat = if shot.soft_sun { math::hypot(sun[0], sun[1]).max(1e-9) } else { sun_flat };
        let tan_sun = sun[2] / sun_flat;
        let parallel = camera.wide_m.is_some();
        // A plan lies on a plane.
        let curve = if parallel { 0.0 } else { 0.5 / EARTH_M };
        let flag = |x: bool| f32::from(u8::from(x));
        let near = self.near.map_or([0.0; 4], |squares| {
            let [a, b, c] = squares.map(|square| square.texel_m() as f32);
            [a, b, c, 1.0]
        });
        let fog = shot.fog.unwrap_or_else(|| fog::of_hour(&shot.moment, &self.sun));
        Scene {
            clip: camera.clip(self.aspect, in_clip),
            rays: camera.rays(self.aspect).map(|ray| four(ray, 0.0)),
            eye: [eye[2] as f32, curve as f32, NEAR_M as f32, light.exposure],
            sun: four(as_f32(sun), tan_sun.clamp(-50.0, 50.0) as f32),
            sun_light: four(light.direct, (0.0047 * (1.0 + tan_sun * tan_sun)).min(2.0) as f32),
            sky: light.harmonics.map(|c| four(c, 0.0)),
            bounce: four(light.bounce, 0.0),
            size: [width, height, 1.0 / width, 1.0 / height].map(|x| x as f32),
            shift: [shift[0] as f32, shift[1] as f32, self.plants.far_m(), turn],
            counts: [self.squares.len() as f32, BLOCK[2] as f32, BLOCK_M, 1.0 / SIDE as f32],
            squares: boxes,
            noise: NOISE_M.map(|size| four([at(size)[0], at(size)[1], (1.0 / size) as f32], 0.0)),
            waves: WAVES_M.map(|(size, strength)| {
                let at = turned.map(|x| (x / size).rem_euclid(1.0) as f32);
                [at[0], at[1], (1.0 / size) as f32, strength]
            }),
            air: four(light.tint, 0.0),
            mood: [light.night, shot.clouds as f32, 0.0, f32::from(u8::from(shot.plain))],
            fog: fog::numbers(self.overview, fog),
            clouds: four(eye.map(|x| (x * 0.001) as f32), 0.0),
            cascades: self
                .near
                .map_or([[[0.0; 4]; 4]; CASCADES], |squares| squares.map(|square| square.clip)),
            near,
            turns: [sun[0] / sun_flat, sun[1] / sun_flat, wind_cos, wind_sin].map(|x| x as f32),
            materials,
            view: [flag(parallel), PARALLEL_M as f32, flag(shot.clear_sky), 0.0],
            overlay: self.painted.numbers(eye),
        }
    }

    fn bind_scene(
        &self,
        buffer: &wgpu::Buffer,
        targets: &Targets,
        shadows: &wgpu::TextureView,
    ) -> wgpu::BindGroup {
        let gpu = self.gpu;
        let clamped = gpu.sampler(wgpu::AddressMode::ClampToEdge, 1);
        let repeated = gpu.sampler(wgpu::AddressMode::Repeat, 1);
        let texture = wgpu::BindingResource::TextureView;
        let sampler = wgpu::BindingResource::Sampler;
        bind(
            gpu,
            "scene",
            &self.passes.scene,
            vec![
                buffer.as_entire_binding(),
                sampler(&clamped),
                sampler(&repeated),
                texture(&self.light.sky),
                texture(&self.light.block),
                texture(self.shades),
                texture(self.noises),
                texture(self.waves),
                texture(self.fogs),
                texture(shadows),
                sampler(&targets.shadows.compared),
                texture(self.maps),
            ],
        )
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
        depth_stencil_attachment: depth.map(cleared),
        timestamp_writes: None,
        occlusion_query_set: None,
        multiview_mask: None,
    })
}

fn cleared(view: &wgpu::TextureView) -> wgpu::RenderPassDepthStencilAttachment<'_> {
    wgpu::RenderPassDepthStencilAttachment {
        view,
        depth_ops: Some(wgpu::Operations { load: wgpu::LoadOp::Clear(0.0), store: wgpu::StoreOp::Store }),
        stencil_ops: None,
    }
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

/// A direction within the disk of the sun, another for each sample.
fn within_disk(sun: Vec3, sample: u32) -> Vec3 {
    /// Half the angle that the sun fills.
    const HALF_DEG: f64 = 0.2666;
    let far = math::tan(HALF_DEG.to_radians()) * halton(sample + 1, 5).sqrt();
    let turn = std::f64::consts::TAU * halton(sample + 1, 7);
    let aside = direction(cross(sun, [0.0, 0.0, 1.0]), [1.0, 0.0, 0.0]);
    let up = cross(aside, sun);
    let off = add(scale(aside, far * math::cos(turn)), scale(up, far * math::sin(turn)));
    direction(add(sun, off), sun)
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
