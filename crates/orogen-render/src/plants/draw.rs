//! The pipelines of plants, and what they draw.

use std::ops::Range;

use bytemuck::{Pod, Zeroable};

use super::Counts;
use super::choose::{Batches, Chosen, Instance};
use super::model::{FAR, Key, Models};
use crate::cascades::CASCADES;
use crate::gpu::{DEPTH, Gpu, LIGHT, Layout, bind};
use crate::passes::caster;

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
    /// Meshes, then impostors: in the picture, and as the lamp sees them.
    shown: [wgpu::RenderPipeline; 2],
    cast: [wgpu::RenderPipeline; 2],
    now: wgpu::Buffer,
    now_bind: wgpu::BindGroup,
    focal_px: f32,
    instances: Option<wgpu::Buffer>,
    seen: Vec<Batch>,
    /// What throws shadows into each square near the eye.
    shadows: [Vec<Batch>; CASCADES],
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
        let shaders = PLANT_SHADERS.map(|(name, text)| gpu.shader(name, source(text)));
        let of_plant = wgpu::vertex_attr_array![0 => Float32x4, 1 => Snorm16x4, 2 => Unorm8x4, 3 => Unorm8x4];
        let of_corner =
            wgpu::vertex_attr_array![4 => Float32x3, 5 => Snorm8x4, 6 => Float32x2, 7 => Unorm8x4];
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
        let of = |far: usize| &buffers[..2 - far];
        let shown = [0, 1].map(|far| pipeline(gpu, &shaders[far], &layouts, of(far)));
        let cast = [0, 1]
            .map(|far| caster(gpu, &shaders[far], "cast_vertex", Some("cast_fragment"), &layouts, of(far)));
        Self {
            plant,
            shown,
            cast,
            now,
            now_bind,
            focal_px: 1.0,
            instances: None,
            seen: Vec::new(),
            shadows: Default::default(),
        }
    }

    /// Takes what is drawn to the device.
    pub fn upload(&mut self, gpu: &Gpu, chosen: &Chosen, models: &Models, focal_px: f64) -> Counts {
        self.focal_px = focal_px as f32;
        let mut counts = Counts::default();
        let mut all: Vec<Instance> = Vec::new();
        self.seen = batches(&chosen.seen, models, &mut all, |level, plants, triangles| {
            counts.levels[level] += plants;
            counts.triangles += plants as u64 * u64::from(triangles);
        });
        self.shadows = [0, 1, 2].map(|i| batches(&chosen.cast[i], models, &mut all, |_, _, _| {}));
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
        self.seen.clear();
        self.shadows.iter_mut().for_each(Vec::clear);
    }

    pub fn begin(&self, gpu: &Gpu, time_s: f32, wind: f32) {
        // From the west-south-west, as the waves.
        let now = Now { clock: [time_s, wind, self.focal_px, 0.0], wind: [0.921, -0.389, 0.0, 0.0] };
        gpu.queue.write_buffer(&self.now, 0, bytemuck::bytes_of(&now));
    }

    pub fn draw(&self, pass: &mut wgpu::RenderPass<'_>, models: &Models) {
        self.draw_with(pass, models, &self.shown, &self.seen);
    }

    /// Draws what throws shadows into a square.
    pub fn cast(&self, pass: &mut wgpu::RenderPass<'_>, models: &Models, square: usize) {
        self.draw_with(pass, models, &self.cast, &self.shadows[square]);
    }

    fn draw_with(
        &self,
        pass: &mut wgpu::RenderPass<'_>,
        models: &Models,
        pipelines: &[wgpu::RenderPipeline; 2],
        batches: &[Batch],
    ) {
        let Some(instances) = &self.instances else { return };
        if batches.is_empty() {
            return;
        }
        pass.set_bind_group(2, &self.now_bind, &[]);
        // Near ones first: they hide what is behind them.
        for (pipeline, far) in pipelines.iter().zip([false, true]) {
            pass.set_pipeline(pipeline);
            for batch in batches.iter().filter(|batch| (batch.level == FAR) == far) {
                let Some(model) = models.get(batch.key) else { continue };
                pass.set_bind_group(1, &model.bind, &[]);
                pass.set_vertex_buffer(0, instances.slice(batch.bytes.clone()));
                if far {
                    pass.draw(0..6, 0..batch.count);
                } else if let Some(Some(mesh)) = model.meshes.get(batch.level) {
                    pass.set_vertex_buffer(1, mesh.corners.slice(..));
                    pass.set_index_buffer(mesh.indices.slice(..), wgpu::IndexFormat::Uint32);
                    pass.draw_indexed(0..mesh.count, 0, 0..batch.count);
                }
            }
        }
    }
}

/// What is drawn of models that are there; the plants are added to `all`, and counted.
fn batches(
    chosen: &Batches,
    models: &Models,
    all: &mut Vec<Instance>,
    mut count: impl FnMut(usize, usize, u32),
) -> Vec<Batch> {
    let mut out = Vec::with_capacity(chosen.len());
    for (&(key, level), plants) in chosen {
        let Some(model) = models.get(key) else { continue };
        let triangles = match model.meshes.get(level) {
            Some(Some(mesh)) => mesh.count / 3,
            Some(None) => continue,
            None => 2,
        };
        let start = size_of_val(all.as_slice()) as u64;
        all.extend_from_slice(plants);
        let end = size_of_val(all.as_slice()) as u64;
        out.push(Batch { key, level, bytes: start..end, count: plants.len() as u32 });
        count(level, plants.len(), triangles);
    }
    out
}

fn pipeline(
    gpu: &Gpu,
    shader: &wgpu::ShaderModule,
    layouts: &[&wgpu::BindGroupLayout],
    buffers: &[Option<wgpu::VertexBufferLayout<'_>>],
) -> wgpu::RenderPipeline {
    let layouts: Vec<_> = layouts.iter().map(|layout| Some(*layout)).collect();
    let layout = gpu.device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
        label: Some("plants"),
        bind_group_layouts: &layouts,
        immediate_size: 0,
    });
    gpu.device.create_render_pipeline(&wgpu::RenderPipelineDescriptor {
        label: Some("plants"),
        layout: Some(&layout),
        vertex: wgpu::VertexState {
            module: shader,
            entry_point: Some("vertex"),
            compilation_options: wgpu::PipelineCompilationOptions::default(),
            buffers,
        },
        primitive: wgpu::PrimitiveState::default(),
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
