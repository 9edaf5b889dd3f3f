//! The pipelines of plants, and what they draw.

use std::ops::Range;

use bytemuck::{Pod, Zeroable};

use super::Counts;
use super::choose::{Chosen, Instance};
use super::model::{FAR, Key, Models};
use crate::gpu::{DEPTH, Gpu, LIGHT, Layout, bind};

/// The shaders of plants by name; all begin with what is common to all passes and to plants.
pub(crate) const PLANT_SHADERS: [(&str, &str); 2] = [
    ("plants_mesh", include_str!("../passes/plants_mesh.wgsl")),
    ("plants_impostor", include_str!("../passes/plants_impostor.wgsl")),
];

const PLANTS: &str = include_str!("../passes/plants.wgsl");

/// The text of a shader of plants.
pub(crate) fn source(text: &str) -> String {
    format!("{}\n{PLANTS}\n{text}", crate::passes::COMMON)
}

/// `Kind` of `plants.wgsl`.
#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
pub struct Kind {
    pub middle: [f32; 4],
    pub reach: [f32; 4],
    pub body: [f32; 4],
}

/// `Now` of `plants.wgsl`.
#[repr(C)]
#[derive(Clone, Copy, Default, Pod, Zeroable)]
struct Now {
    clock: [f32; 4],
    wind: [f32; 4],
}

/// The golden ratio: thresholds of samples that are moved by it are spread evenly.
const GOLDEN: f32 = 0.618_034;

/// The plants of one model at one level.
struct Batch {
    key: Key,
    level: usize,
    bytes: Range<u64>,
    count: u32,
}

/// Pipelines and buffers.
pub struct Drawing {
    /// The layout of what belongs to a model.
    pub plant: wgpu::BindGroupLayout,
    mesh: wgpu::RenderPipeline,
    far: wgpu::RenderPipeline,
    now: wgpu::Buffer,
    now_bind: wgpu::BindGroup,
    focal_px: f32,
    instances: Option<wgpu::Buffer>,
    batches: Vec<Batch>,
}

impl Drawing {
    pub fn new(gpu: &Gpu, scene: &wgpu::BindGroupLayout) -> Self {
        use wgpu::TextureViewDimension::D2;
        let plant = (0..6)
            .fold(Layout::new().uniform(size_of::<Kind>()), |layout, _| layout.smooth(D2))
            .make(gpu, "plant");
        let now_layout = Layout::new().uniform(size_of::<Now>()).make(gpu, "now");
        let now = gpu.buffer("now", bytemuck::bytes_of(&Now::default()), wgpu::BufferUsages::UNIFORM);
        let now_bind = bind(gpu, "now", &now_layout, vec![now.as_entire_binding()]);
        let layouts = [scene, &plant, &now_layout];
        let [mesh, far] = PLANT_SHADERS.map(|(name, text)| {
            let shader = gpu.shader(name, source(text));
            pipeline(gpu, &shader, &layouts, name == "plants_mesh")
        });
        Self { plant, mesh, far, now, now_bind, focal_px: 1.0, instances: None, batches: Vec::new() }
    }

    /// Takes what is drawn to the device.
    pub fn upload(&mut self, gpu: &Gpu, chosen: &Chosen, models: &Models, focal_px: f64) -> Counts {
        self.focal_px = focal_px as f32;
        self.batches.clear();
        let mut counts = Counts::default();
        let mut all: Vec<Instance> = Vec::with_capacity(chosen.values().map(Vec::len).sum());
        for ((key, level), plants) in chosen {
            let Some(model) = models.get(*key) else { continue };
            let triangles = match model.meshes.get(*level) {
                Some(Some(mesh)) => mesh.count / 3,
                Some(None) => continue,
                None => 2,
            };
            let start = (all.len() * size_of::<Instance>()) as u64;
            all.extend_from_slice(plants);
            let end = (all.len() * size_of::<Instance>()) as u64;
            self.batches.push(Batch {
                key: *key,
                level: *level,
                bytes: start..end,
                count: plants.len() as u32,
            });
            counts.levels[*level] += plants.len();
            counts.triangles += plants.len() as u64 * u64::from(triangles);
        }
        let bytes: &[u8] = bytemuck::cast_slice(&all);
        match &self.instances {
            Some(buffer) if buffer.size() >= bytes.len() as u64 => {
                if !bytes.is_empty() {
                    gpu.queue.write_buffer(buffer, 0, bytes);
                }
            }
            _ => self.instances = Some(gpu.buffer("plants", bytes, wgpu::BufferUsages::VERTEX)),
        }
        counts.bytes = models.bytes() + self.instances.as_ref().map_or(0, wgpu::Buffer::size);
        counts
    }

    /// Draws nothing next.
    pub fn clear(&mut self) {
        self.batches.clear();
    }

    pub fn begin(&self, gpu: &Gpu, sample: u32, samples: u32, time_s: f32, wind: f32) {
        let shift = if samples > 1 { (sample as f32 * GOLDEN).fract() } else { 0.0 };
        // From the west-south-west, as the waves.
        let now = Now { clock: [shift, time_s, wind, self.focal_px], wind: [0.921, -0.389, 0.0, 0.0] };
        gpu.queue.write_buffer(&self.now, 0, bytemuck::bytes_of(&now));
    }

    pub fn draw(&self, pass: &mut wgpu::RenderPass<'_>, models: &Models) {
        let Some(instances) = &self.instances else { return };
        if self.batches.is_empty() {
            return;
        }
        pass.set_bind_group(2, &self.now_bind, &[]);
        // Near ones first: they hide what is behind them.
        for far in [false, true] {
            pass.set_pipeline(if far { &self.far } else { &self.mesh });
            for batch in self.batches.iter().filter(|batch| (batch.level == FAR) == far) {
                let Some(model) = models.get(batch.key) else { continue };
                pass.set_bind_group(1, &model.bind, &[]);
                pass.set_vertex_buffer(0, instances.slice(batch.bytes.clone()));
                if far {
                    pass.draw(0..4, 0..batch.count);
                } else if let Some(Some(mesh)) = model.meshes.get(batch.level) {
                    pass.set_vertex_buffer(1, mesh.corners.slice(..));
                    pass.set_index_buffer(mesh.indices.slice(..), wgpu::IndexFormat::Uint32);
                    pass.draw_indexed(0..mesh.count, 0, 0..batch.count);
                }
            }
        }
    }
}

fn pipeline(
    gpu: &Gpu,
    shader: &wgpu::ShaderModule,
    layouts: &[&wgpu::BindGroupLayout],
    mesh: bool,
) -> wgpu::RenderPipeline {
    let layouts: Vec<_> = layouts.iter().map(|layout| Some(*layout)).collect();
    let layout = gpu.device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
        label: Some("plants"),
        bind_group_layouts: &layouts,
        immediate_size: 0,
    });
    let of_plant = wgpu::vertex_attr_array![0 => Float32x4, 1 => Snorm16x4, 2 => Unorm8x4, 3 => Unorm8x4];
    let of_corner = wgpu::vertex_attr_array![4 => Float32x3, 5 => Snorm8x4, 6 => Float32x2, 7 => Unorm8x4];
    let buffers = [
        Some(wgpu::VertexBufferLayout {
            array_stride: size_of::<Instance>() as u64,
            step_mode: wgpu::VertexStepMode::Instance,
            attributes: &of_plant,
        }),
        Some(wgpu::VertexBufferLayout {
            array_stride: super::model::CORNER_BYTES,
            step_mode: wgpu::VertexStepMode::Vertex,
            attributes: &of_corner,
        }),
    ];
    let topology =
        if mesh { wgpu::PrimitiveTopology::TriangleList } else { wgpu::PrimitiveTopology::TriangleStrip };
    gpu.device.create_render_pipeline(&wgpu::RenderPipelineDescriptor {
        label: Some("plants"),
        layout: Some(&layout),
        vertex: wgpu::VertexState {
            module: shader,
            entry_point: Some("vertex"),
            compilation_options: wgpu::PipelineCompilationOptions::default(),
            buffers: if mesh { &buffers } else { &buffers[..1] },
        },
        primitive: wgpu::PrimitiveState { topology, ..Default::default() },
        depth_stencil: Some(wgpu::DepthStencilState {
            format: DEPTH,
            depth_write_enabled: Some(true),
            depth_compare: Some(wgpu::CompareFunction::Greater),
            stencil: wgpu::StencilState::default(),
            bias: wgpu::DepthBiasState::default(),
        }),
        multisample: wgpu::MultisampleState::default(),
        fragment: Some(wgpu::FragmentState {
            module: shader,
            entry_point: Some("fragment"),
            compilation_options: wgpu::PipelineCompilationOptions::default(),
            targets: &[Some(wgpu::ColorTargetState {
                format: LIGHT,
                blend: None,
                write_mask: wgpu::ColorWrites::ALL,
            })],
        }),
        multiview_mask: None,
        cache: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shaders_of_plants_are_valid_and_ask_for_no_more_than_webgl2() {
        for (name, text) in PLANT_SHADERS {
            let text = source(text);
            let module = naga::front::wgsl::parse_str(&text)
                .unwrap_or_else(|e| panic!("{name}: {}", e.emit_to_string(&text)));
            let mut validator = naga::valid::Validator::new(
                naga::valid::ValidationFlags::all(),
                naga::valid::Capabilities::empty(),
            );
            validator.validate(&module).unwrap_or_else(|e| panic!("{name}: {}", e.emit_to_string(&text)));
            for word in ["@compute", "var<storage", "texture_storage", "enable "] {
                assert!(!text.contains(word), "{name}: {word}");
            }
        }
    }
}
