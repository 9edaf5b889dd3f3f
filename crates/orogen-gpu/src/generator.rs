//! Batches of tiles on the device, and their way back.

use std::collections::BTreeMap;
use std::num::NonZeroU64;
use std::sync::{Mutex, PoisonError};

use bytemuck::{Pod, Zeroable};
use orogen_core::{Backend, Frame, Raster};

use crate::device::Device;
use crate::error::GpuError;
use crate::noise::{Kind as NoiseKind, Uniform};
use crate::numbers::Numbers;
use crate::passes;
use crate::plan::{Pass, Plan};

/// The format of heights, and of normals.
const HEIGHTS: wgpu::TextureFormat = wgpu::TextureFormat::R32Float;
/// How heights are bound to be looked at.
const HEIGHTS_BOUND: wgpu::BindingType = wgpu::BindingType::Texture {
    sample_type: wgpu::TextureSampleType::Float { filterable: false },
    view_dimension: wgpu::TextureViewDimension::D2,
    multisampled: false,
};
const NORMALS: wgpu::TextureFormat = wgpu::TextureFormat::Rgba16Float;

/// Makes tiles by the plans of recipes. Any thread may ask it.
pub struct Generator {
    device: Device,
    /// Numbers and heights; beside them a uniform block, or other heights.
    plain: wgpu::BindGroupLayout,
    with_uniform: wgpu::BindGroupLayout,
    with_second: wgpu::BindGroupLayout,
    shaders: BTreeMap<&'static str, wgpu::ShaderModule>,
    pipelines: Mutex<BTreeMap<Shader, wgpu::RenderPipeline>>,
}

/// What a pipeline is made for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Shader {
    Noise(NoiseKind),
    Features,
    Change(u32),
    Pair(u32),
    Normals,
}

/// Tiles on the device: side by side in one texture of heights and one of normals.
pub struct Batch {
    device: Device,
    /// The heights: `R32Float`, metres.
    pub heights: wgpu::Texture,
    /// The normals, as far as they were wanted: `Rgba16Float`, pointing east, north and up. Those of a tile's outermost
    /// samples are one-sided: a tile of which all normals are wanted has a border of one sample.
    pub normals: Option<wgpu::Texture>,
    /// The north-west corner of each tile in the textures.
    pub corners: Vec<[u32; 2]>,
    /// Columns and rows of a tile. Rows run from the north.
    pub size: [u32; 2],
}

/// What `tile.wgsl` takes for each tile of a pass.
#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
struct Instance {
    tile: [u32; 4],
    list: [u32; 2],
    target: [u32; 2],
}

/// What tiles look up in a pass: where it starts, and how many there are; and so for the passes of a second land.
struct Listed {
    tiles: Vec<[u32; 2]>,
    second: Vec<Listed>,
}

/// What the passes of a batch share.
struct Work<'a> {
    numbers: wgpu::TextureView,
    corners: &'a [[u32; 2]],
    size: [u32; 2],
    target: [u32; 2],
    /// Stands for heights where there are none yet.
    blank: wgpu::Texture,
    encoder: wgpu::CommandEncoder,
}

/// What a pass looks at beside numbers and the heights before.
enum Beside<'a> {
    Nothing,
    Uniform(&'a wgpu::Buffer),
    Heights(&'a wgpu::Texture),
}

impl Generator {
    /// What does the work: never the reference, so that its results have no place in files and caches.
    pub const BACKEND: Backend = Backend::Gpu;

    /// A generator on a device.
    #[must_use]
    pub fn new(device: &Device) -> Self {
        let shader = |name: &'static str| {
            let source = wgpu::ShaderSource::Wgsl(passes::source(name).into());
            let descriptor = wgpu::ShaderModuleDescriptor { label: Some(name), source };
            (name, device.device.create_shader_module(descriptor))
        };
        Self {
            plain: layout(device, None),
            with_uniform: layout(
                device,
                Some(wgpu::BindingType::Buffer {
                    ty: wgpu::BufferBindingType::Uniform,
                    has_dynamic_offset: false,
                    min_binding_size: NonZeroU64::new(size_of::<Uniform>() as u64),
                }),
            ),
            with_second: layout(device, Some(HEIGHTS_BOUND)),
            shaders: passes::SHADERS.iter().map(|(name, _)| shader(name)).collect(),
            pipelines: Mutex::default(),
            device: device.clone(),
        }
    }

    /// The device.
    #[must_use]
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// How many tiles of a size a batch may have.
    #[must_use]
    pub fn most_tiles(&self, size: [usize; 2]) -> usize {
        size.iter().map(|side| self.device.most() as usize / side.max(&1)).product()
    }

    /// Heights of tiles of any sizes, read back.
    ///
    /// # Errors
    /// When a tile does not fit into a texture, or the device fails.
    pub fn heights(&self, plan: &Plan, frames: &[Frame]) -> Result<Vec<Raster<f32>>, GpuError> {
        let mut out = Vec::with_capacity(frames.len());
        for alike in frames.chunk_by(|a, b| a.cols() == b.cols() && a.rows() == b.rows()) {
            let most = self.most_tiles([alike[0].cols(), alike[0].rows()]).max(1);
            for part in alike.chunks(most) {
                self.heights_of(plan, part, &mut out)?;
            }
        }
        Ok(out)
    }

    /// Halves a batch whose numbers are too many for one texture.
    fn heights_of(&self, plan: &Plan, frames: &[Frame], out: &mut Vec<Raster<f32>>) -> Result<(), GpuError> {
        match self.run(plan, frames, false) {
            Ok(batch) => out.extend(batch.read_heights()?),
            Err(GpuError::Tiles(_)) if frames.len() > 1 => {
                let (first, second) = frames.split_at(frames.len() / 2);
                self.heights_of(plan, first, out)?;
                self.heights_of(plan, second, out)?;
            }
            Err(e) => return Err(e),
        }
        Ok(())
    }

    /// Makes tiles of one size, which stay on the device. The work is under way when this returns.
    ///
    /// # Errors
    /// When the tiles differ in size, there are none or too many, or too many features meet in them.
    pub fn run(&self, plan: &Plan, frames: &[Frame], normals: bool) -> Result<Batch, GpuError> {
        let most = self.device.most();
        let Some(size) = frames.first().map(|frame| [frame.cols(), frame.rows()]) else {
            return Err(GpuError::Tiles(String::from("a batch needs a tile")));
        };
        if frames.iter().any(|frame| [frame.cols(), frame.rows()] != size) {
            return Err(GpuError::Tiles(String::from("the tiles of a batch must have one size")));
        }
        if size.iter().any(|side| *side > most as usize) || frames.len() > self.most_tiles(size) {
            let [cols, rows] = size;
            let count = frames.len();
            return Err(GpuError::Tiles(format!(
                "{count} tiles of {cols} x {rows} samples do not fit into a texture of {most} x {most}"
            )));
        }
        let size = size.map(|side| side as u32);
        let across = (most / size[0]).min(frames.len() as u32);
        let target = [across * size[0], (frames.len() as u32).div_ceil(across) * size[1]];
        let corners: Vec<[u32; 2]> =
            (0..frames.len() as u32).map(|i| [i % across * size[0], i / across * size[1]]).collect();
        let mut numbers = Numbers::new();
        let listed = listed(&plan.passes, frames, &mut numbers);
        let per_m: Vec<[u32; 2]> = (frames.iter())
            .map(|frame| {
                let first = numbers.next();
                numbers.push_floats(frame.spacing_m().map(|m| (1.0 / m) as f32));
                [first, 0]
            })
            .collect();
        let mut work = Work {
            numbers: numbers.texture(&self.device)?,
            corners: &corners,
            size,
            target,
            blank: self.target([1, 1], HEIGHTS),
            encoder: self.device.device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default()),
        };
        let heights = self.passes(&plan.passes, &listed, &mut work);
        let normals = normals.then(|| {
            let to = self.target(target, NORMALS);
            self.draw(&mut work, Shader::Normals, &heights, Beside::Nothing, &per_m, &to);
            to
        });
        self.device.queue.submit([work.encoder.finish()]);
        Ok(Batch { device: self.device.clone(), heights, normals, corners, size })
    }

    /// Draws passes, each on the heights of the one before; the last of those.
    fn passes(&self, passes: &[Pass], listed: &[Listed], work: &mut Work<'_>) -> wgpu::Texture {
        let mut made = work.blank.clone();
        let mut spare = None;
        for (pass, listed) in passes.iter().zip(listed) {
            let to = spare.take().unwrap_or_else(|| self.target(work.target, HEIGHTS));
            let second;
            let uniform;
            let (shader, beside) = match pass {
                Pass::Noise(noise) => {
                    let bytes = bytemuck::bytes_of(&noise.uniform);
                    uniform = self.buffer(bytes, wgpu::BufferUsages::UNIFORM);
                    (Shader::Noise(noise.kind), Beside::Uniform(&uniform))
                }
                Pass::Features(_) => (Shader::Features, Beside::Nothing),
                Pass::Change(change) => (Shader::Change(change.kind as u32), Beside::Nothing),
                Pass::Pair(change, passes) => {
                    second = self.passes(passes, &listed.second, work);
                    (Shader::Pair(change.kind as u32), Beside::Heights(&second))
                }
            };
            self.draw(work, shader, &made, beside, &listed.tiles, &to);
            // What the first pass looked at is too small to draw into.
            let before = std::mem::replace(&mut made, to);
            spare = (before.width() == work.target[0] && before.height() == work.target[1]).then_some(before);
        }
        made
    }

    /// Draws all tiles of a pass, which looks at the heights before.
    fn draw(
        &self,
        work: &mut Work<'_>,
        shader: Shader,
        before: &wgpu::Texture,
        beside: Beside<'_>,
        lists: &[[u32; 2]],
        to: &wgpu::Texture,
    ) {
        let view = |texture: &wgpu::Texture| texture.create_view(&wgpu::TextureViewDescriptor::default());
        let (before, target) = (view(before), view(to));
        let second;
        let (layout, more) = match beside {
            Beside::Nothing => (&self.plain, None),
            Beside::Uniform(uniform) => (&self.with_uniform, Some(uniform.as_entire_binding())),
            Beside::Heights(heights) => {
                second = view(heights);
                (&self.with_second, Some(wgpu::BindingResource::TextureView(&second)))
            }
        };
        let textures = [&work.numbers, &before].map(wgpu::BindingResource::TextureView);
        let entries: Vec<wgpu::BindGroupEntry<'_>> = (0..)
            .zip(textures.into_iter().chain(more))
            .map(|(binding, resource)| wgpu::BindGroupEntry { binding, resource })
            .collect();
        let bind = self.device.device.create_bind_group(&wgpu::BindGroupDescriptor {
            label: None,
            layout,
            entries: &entries,
        });
        let [cols, rows] = work.size;
        let one = |(&[x, y], &list): (&[u32; 2], &[u32; 2])| Instance {
            tile: [x, y, cols, rows],
            list,
            target: work.target,
        };
        let all: Vec<Instance> = work.corners.iter().zip(lists).map(one).collect();
        let instances = self.buffer(bytemuck::cast_slice(&all), wgpu::BufferUsages::VERTEX);
        let attachment = wgpu::RenderPassColorAttachment {
            view: &target,
            depth_slice: None,
            resolve_target: None,
            ops: wgpu::Operations {
                load: wgpu::LoadOp::Clear(wgpu::Color::TRANSPARENT),
                store: wgpu::StoreOp::Store,
            },
        };
        let mut pass = work.encoder.begin_render_pass(&wgpu::RenderPassDescriptor {
            label: Some("tiles"),
            color_attachments: &[Some(attachment)],
            ..Default::default()
        });
        pass.set_pipeline(&self.pipeline(shader));
        pass.set_bind_group(0, &bind, &[]);
        pass.set_vertex_buffer(0, instances.slice(..));
        pass.draw(0..4, 0..all.len() as u32);
    }

    /// The pipeline of a pass, which is made when it is first needed.
    fn pipeline(&self, shader: Shader) -> wgpu::RenderPipeline {
        let mut known = self.pipelines.lock().unwrap_or_else(PoisonError::into_inner);
        known.entry(shader).or_insert_with(|| self.new_pipeline(shader)).clone()
    }

    fn new_pipeline(&self, shader: Shader) -> wgpu::RenderPipeline {
        let flag = |set: bool| f64::from(u8::from(set));
        let (name, layout, format, constants) = match shader {
            Shader::Noise(kind) => {
                let constants = vec![
                    ("BASIS", f64::from(kind.basis)),
                    ("EVEN", flag(kind.even)),
                    ("FRACTAL", f64::from(kind.fractal)),
                    ("SLANTED", flag(kind.slanted)),
                    ("WARPED", flag(kind.warped)),
                ];
                ("noise", &self.with_uniform, HEIGHTS, constants)
            }
            Shader::Features => ("features", &self.plain, HEIGHTS, Vec::new()),
            Shader::Change(kind) => ("change", &self.plain, HEIGHTS, vec![("KIND", f64::from(kind))]),
            Shader::Pair(kind) => ("pair", &self.with_second, HEIGHTS, vec![("KIND", f64::from(kind))]),
            Shader::Normals => ("normals", &self.plain, NORMALS, Vec::new()),
        };
        let device = &self.device.device;
        let module = &self.shaders[name];
        let layout = device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
            label: None,
            bind_group_layouts: &[Some(layout)],
            immediate_size: 0,
        });
        let attributes = wgpu::vertex_attr_array![0 => Uint32x4, 1 => Uint32x4];
        let instances = wgpu::VertexBufferLayout {
            array_stride: size_of::<Instance>() as u64,
            step_mode: wgpu::VertexStepMode::Instance,
            attributes: &attributes,
        };
        device.create_render_pipeline(&wgpu::RenderPipelineDescriptor {
            label: Some(name),
            layout: Some(&layout),
            vertex: wgpu::VertexState {
                module,
                entry_point: Some("vertex"),
                compilation_options: wgpu::PipelineCompilationOptions::default(),
                buffers: &[Some(instances)],
            },
            primitive: wgpu::PrimitiveState {
                topology: wgpu::PrimitiveTopology::TriangleStrip,
                ..Default::default()
            },
            depth_stencil: None,
            multisample: wgpu::MultisampleState::default(),
            fragment: Some(wgpu::FragmentState {
                module,
                entry_point: Some("fragment"),
                compilation_options: wgpu::PipelineCompilationOptions {
                    constants: &constants,
                    ..Default::default()
                },
                targets: &[Some(wgpu::ColorTargetState {
                    format,
                    blend: None,
                    write_mask: wgpu::ColorWrites::ALL,
                })],
            }),
            multiview_mask: None,
            cache: None,
        })
    }

    fn target(&self, size: [u32; 2], format: wgpu::TextureFormat) -> wgpu::Texture {
        self.device.device.create_texture(&wgpu::TextureDescriptor {
            label: Some("tiles"),
            size: wgpu::Extent3d { width: size[0], height: size[1], depth_or_array_layers: 1 },
            mip_level_count: 1,
            sample_count: 1,
            dimension: wgpu::TextureDimension::D2,
            format,
            usage: wgpu::TextureUsages::RENDER_ATTACHMENT
                | wgpu::TextureUsages::TEXTURE_BINDING
                | wgpu::TextureUsages::COPY_SRC,
            view_formats: &[],
        })
    }

    fn buffer(&self, bytes: &[u8], usage: wgpu::BufferUsages) -> wgpu::Buffer {
        let buffer = self.device.device.create_buffer(&wgpu::BufferDescriptor {
            label: None,
            size: bytes.len() as u64,
            usage: usage | wgpu::BufferUsages::COPY_DST,
            mapped_at_creation: false,
        });
        self.device.queue.write_buffer(&buffer, 0, bytes);
        buffer
    }
}

/// What tiles look up, pass by pass.
fn listed(passes: &[Pass], frames: &[Frame], numbers: &mut Numbers) -> Vec<Listed> {
    let one = |pass: &Pass| {
        let mut second = Vec::new();
        let tiles = match pass {
            Pass::Noise(noise) => frames.iter().map(|frame| [noise.list(frame, numbers), 0]).collect(),
            Pass::Features(features) => frames.iter().map(|frame| features.list(frame, numbers)).collect(),
            Pass::Change(change) => vec![change.list(numbers); frames.len()],
            Pass::Pair(change, passes) => {
                second = listed(passes, frames, numbers);
                vec![change.list(numbers); frames.len()]
            }
        };
        Listed { tiles, second }
    };
    passes.iter().map(one).collect()
}

/// Numbers, heights, and what else a pass looks at.
fn layout(device: &Device, more: Option<wgpu::BindingType>) -> wgpu::BindGroupLayout {
    let numbers = wgpu::BindingType::Texture {
        sample_type: wgpu::TextureSampleType::Uint,
        view_dimension: wgpu::TextureViewDimension::D2,
        multisampled: false,
    };
    let entries: Vec<wgpu::BindGroupLayoutEntry> = (0..)
        .zip([numbers, HEIGHTS_BOUND].into_iter().chain(more))
        .map(|(binding, ty)| wgpu::BindGroupLayoutEntry {
            binding,
            visibility: wgpu::ShaderStages::FRAGMENT,
            ty,
            count: None,
        })
        .collect();
    let descriptor = wgpu::BindGroupLayoutDescriptor { label: None, entries: &entries };
    device.device.create_bind_group_layout(&descriptor)
}

impl Batch {
    /// The heights of all tiles.
    ///
    /// # Errors
    /// When the device fails.
    pub fn read_heights(&self) -> Result<Vec<Raster<f32>>, GpuError> {
        let (bytes, row) = self.read(&self.heights, 4)?;
        let [cols, rows] = self.size.map(|side| side as usize);
        let tile = |&[x, y]: &[u32; 2]| {
            let mut raster = Raster::filled(cols, rows, 0.0);
            for (r, line) in raster.as_mut_slice().chunks_exact_mut(cols).enumerate() {
                let start = (y as usize + r) * row + 4 * x as usize;
                bytemuck::cast_slice_mut(line).copy_from_slice(&bytes[start..start + 4 * cols]);
            }
            raster
        };
        Ok(self.corners.iter().map(tile).collect())
    }

    /// The normals of all tiles, row by row, in half precision; empty where they were not wanted.
    ///
    /// # Errors
    /// When the device fails.
    pub fn read_normals(&self) -> Result<Vec<Vec<[u16; 4]>>, GpuError> {
        let Some(normals) = &self.normals else { return Ok(Vec::new()) };
        let (bytes, row) = self.read(normals, 8)?;
        let [cols, rows] = self.size.map(|side| side as usize);
        let tile = |&[x, y]: &[u32; 2]| {
            let mut out = vec![[0u16; 4]; cols * rows];
            for (r, line) in out.chunks_exact_mut(cols).enumerate() {
                let start = (y as usize + r) * row + 8 * x as usize;
                bytemuck::cast_slice_mut(line).copy_from_slice(&bytes[start..start + 8 * cols]);
            }
            out
        };
        Ok(self.corners.iter().map(tile).collect())
    }

    /// Waits until the tiles are made.
    ///
    /// # Errors
    /// When the device fails.
    pub fn wait(&self) -> Result<(), GpuError> {
        self.device.wait()
    }

    /// The bytes of a texture, and how many a row has.
    fn read(&self, texture: &wgpu::Texture, texel: u32) -> Result<(Vec<u8>, usize), GpuError> {
        let (width, height) = (texture.width(), texture.height());
        let row = (width * texel).next_multiple_of(wgpu::COPY_BYTES_PER_ROW_ALIGNMENT);
        let device = &self.device.device;
        let buffer = device.create_buffer(&wgpu::BufferDescriptor {
            label: Some("tiles"),
            size: u64::from(row) * u64::from(height),
            usage: wgpu::BufferUsages::COPY_DST | wgpu::BufferUsages::MAP_READ,
            mapped_at_creation: false,
        });
        let mut encoder = device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
        encoder.copy_texture_to_buffer(
            texture.as_image_copy(),
            wgpu::TexelCopyBufferInfo {
                buffer: &buffer,
                layout: wgpu::TexelCopyBufferLayout {
                    offset: 0,
                    bytes_per_row: Some(row),
                    rows_per_image: Some(height),
                },
            },
            wgpu::Extent3d { width, height, depth_or_array_layers: 1 },
        );
        self.device.queue.submit([encoder.finish()]);
        buffer.map_async(wgpu::MapMode::Read, .., |_| {});
        self.device.wait()?;
        let mapped = buffer.get_mapped_range(..).map_err(|e| GpuError::Device(e.to_string()))?;
        Ok((mapped.to_vec(), row as usize))
    }
}
