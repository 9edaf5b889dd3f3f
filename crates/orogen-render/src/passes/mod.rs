//! The passes of a picture: sky and ground, water over them, tones. Each is a `.wgsl` file beside this one.

use bytemuck::{Pod, Zeroable};

use crate::cascades::CASCADES;
use crate::gpu::{DEPTH, Gpu, LIGHT, Layout};
use crate::materials::MOST;
use crate::pattern;
use crate::quadtree::QUADS;

pub(crate) const COMMON: &str = concat!(include_str!("common.wgsl"), include_str!("overlay.wgsl"));
const TILE: &str = include_str!("tile.wgsl");

/// What a shader shares with others.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shared {
    /// Nothing.
    Nothing,
    /// The eye, the sun, the air.
    Scene,
    /// That and the vertices of tiles.
    Tiles,
}

/// The shaders, by name.
pub(crate) const SHADERS: [(&str, &str, Shared); 6] = [
    ("ground", include_str!("ground.wgsl"), Shared::Tiles),
    ("sky", include_str!("sky.wgsl"), Shared::Scene),
    ("water", include_str!("water.wgsl"), Shared::Tiles),
    ("copy", include_str!("copy.wgsl"), Shared::Nothing),
    ("tone", include_str!("tone.wgsl"), Shared::Nothing),
    ("apron", include_str!("apron.wgsl"), Shared::Scene),
];

/// The text of a shader, with what it shares with others.
pub(crate) fn source(name: &str) -> String {
    let found = SHADERS.iter().find(|(known, ..)| *known == name);
    found.map_or_else(String::new, |(_, text, shared)| match shared {
        Shared::Nothing => (*text).to_owned(),
        Shared::Scene => format!("{COMMON}\n{text}"),
        Shared::Tiles => format!("{COMMON}\n{TILE}\n{text}"),
    })
}

/// `Scene` of `common.wgsl`.
#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
pub(crate) struct Scene {
    pub clip: [[f32; 4]; 4],
    pub rays: [[f32; 4]; 3],
    pub eye: [f32; 4],
    pub sun: [f32; 4],
    pub sun_light: [f32; 4],
    pub sky: [[f32; 4]; 4],
    pub bounce: [f32; 4],
    pub size: [f32; 4],
    pub shift: [f32; 4],
    pub counts: [f32; 4],
    pub squares: [[f32; 4]; 6],
    pub noise: [[f32; 4]; 3],
    pub waves: [[f32; 4]; 2],
    pub turns: [f32; 4],
    pub air: [f32; 4],
    pub mood: [f32; 4],
    pub fog: [f32; 4],
    pub clouds: [f32; 4],
    pub cascades: [[[f32; 4]; 4]; CASCADES],
    pub near: [f32; 4],
    pub materials: [[f32; 4]; 4 * MOST],
    /// Whether looks are parallel, how far they reach; whether the sky is left out; unused.
    pub view: [f32; 4],
    pub overlay: crate::overlay::Numbers,
}

/// `Tone` of `tone.wgsl`.
#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
pub(crate) struct Tone {
    pub values: [f32; 4],
}

/// What the vertices of a tile share.
#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
pub(crate) struct Instance {
    /// North-west corner relative to the eye, side of a quad, layer.
    pub tile: [f32; 4],
    pub palette: [u8; 8],
    /// How far it has changed over to the next coarser tile; the layer of that, and the place in it.
    pub morph: [f32; 4],
}

/// Pipelines and layouts; they serve every picture of a device.
pub(crate) struct Passes {
    pub scene: wgpu::BindGroupLayout,
    pub tiles: wgpu::BindGroupLayout,
    pub under: wgpu::BindGroupLayout,
    pub shapes: wgpu::BindGroupLayout,
    pub picture: wgpu::BindGroupLayout,
    pub tone: wgpu::BindGroupLayout,
    pub ground: wgpu::RenderPipeline,
    /// The depth of the ground alone.
    #[cfg(test)]
    pub depth: wgpu::RenderPipeline,
    /// The ground as the lamp sees it: its depth alone.
    pub cast: wgpu::RenderPipeline,
    pub sky: wgpu::RenderPipeline,
    pub apron: wgpu::RenderPipeline,
    pub sea: wgpu::RenderPipeline,
    pub lakes: wgpu::RenderPipeline,
    pub copy: wgpu::RenderPipeline,
    pub add: wgpu::RenderPipeline,
    pub write: wgpu::RenderPipeline,
    /// The indices of the sixteen patterns, one after another, and where each begins.
    pub indices: wgpu::Buffer,
    pub ranges: Vec<std::ops::Range<u32>>,
}

struct Draw<'a> {
    shader: &'a wgpu::ShaderModule,
    vertex: &'a str,
    /// Empty where depth alone is drawn.
    fragment: &'a str,
    layouts: &'a [&'a wgpu::BindGroupLayout],
    buffers: &'a [Option<wgpu::VertexBufferLayout<'a>>],
    format: wgpu::TextureFormat,
    depth: Option<(bool, wgpu::CompareFunction)>,
    cull: bool,
    add: bool,
}

impl Passes {
    pub fn new(gpu: &Gpu) -> Self {
        use wgpu::TextureViewDimension::{D2, D2Array, D3};
        let scene = Layout::new()
            .uniform(size_of::<Scene>())
            .sampler()
            .sampler()
            .smooth(D2)
            .smooth(D3)
            .smooth(D2Array)
            .smooth(D2)
            .smooth(D2)
            .smooth(D2)
            .depths()
            .compared()
            .smooth(D2Array)
            .make(gpu, "scene");
        // Crowns raise far vertices: by the first, the slopes with the heights of crowns, and the fourth, the cover.
        let of_vertices = |k: u32| k == 0 || k == 3;
        let tiles = (0..7).fold(Layout::of_pixels(), |layout, k| {
            let layout = layout.smooth(D2Array);
            if of_vertices(k) { layout.for_vertices_too() } else { layout }
        });
        let tiles = tiles.make(gpu, "tiles");
        let under = Layout::new().plain(D2).depth().make(gpu, "under");
        let shapes = Layout::of_vertices().plain(D2Array).plain(D2Array).plain(D2).make(gpu, "shapes");
        let picture = Layout::new().plain(D2).make(gpu, "picture");
        let tone = Layout::new().plain(D2).uniform(size_of::<Tone>()).make(gpu, "tone");
        let [ground_shader, sky_shader, water_shader, copy_shader, tone_shader, apron_shader] =
            SHADERS.map(|(name, ..)| gpu.shader(name, source(name)));
        let attributes = wgpu::vertex_attr_array![0 => Float32x4, 1 => Uint8x4, 2 => Uint8x4, 3 => Float32x4];
        let tile = [Some(wgpu::VertexBufferLayout {
            array_stride: size_of::<Instance>() as u64,
            step_mode: wgpu::VertexStepMode::Instance,
            attributes: &attributes,
        })];
        let corner = wgpu::vertex_attr_array![0 => Float32x2];
        let sea_vertices = [Some(wgpu::VertexBufferLayout {
            array_stride: 8,
            step_mode: wgpu::VertexStepMode::Vertex,
            attributes: &corner,
        })];
        use wgpu::CompareFunction::{Greater, GreaterEqual};
        let water = |vertex, buffers, layouts| {
            pipeline(
                gpu,
                &Draw {
                    shader: &water_shader,
                    vertex,
                    fragment: "fragment",
                    layouts,
                    buffers,
                    format: LIGHT,
                    depth: Some((true, Greater)),
                    cull: false,
                    add: false,
                },
            )
        };
        let full = |shader, fragment, layout, format, add| {
            pipeline(
                gpu,
                &Draw {
                    shader,
                    vertex: "vertex",
                    fragment,
                    layouts: &[layout],
                    buffers: &[],
                    format,
                    depth: None,
                    cull: false,
                    add,
                },
            )
        };
        let apron_attributes = wgpu::vertex_attr_array![0 => Float32x3, 1 => Float32x3, 2 => Float32x3];
        let apron_vertices = [Some(wgpu::VertexBufferLayout {
            array_stride: 36,
            step_mode: wgpu::VertexStepMode::Vertex,
            attributes: &apron_attributes,
        })];
        let mut all: Vec<u16> = Vec::new();
        let ranges = (0..16).map(|coarser| {
            let start = all.len() as u32;
            all.extend(pattern::indices(QUADS, coarser));
            start..all.len() as u32
        });
        let ranges = ranges.collect();
        Self {
            ground: pipeline(
                gpu,
                &Draw {
                    shader: &ground_shader,
                    vertex: "vertex",
                    fragment: "fragment",
                    layouts: &[&scene, &tiles, &shapes],
                    buffers: &tile,
                    format: LIGHT,
                    depth: Some((true, Greater)),
                    cull: true,
                    add: false,
                },
            ),
            #[cfg(test)]
            depth: pipeline(
                gpu,
                &Draw {
                    shader: &ground_shader,
                    vertex: "vertex",
                    fragment: "",
                    layouts: &[&scene, &tiles, &shapes],
                    buffers: &tile,
                    format: LIGHT,
                    depth: Some((true, Greater)),
                    cull: true,
                    add: false,
                },
            ),
            cast: caster(gpu, &ground_shader, "vertex", None, &[&scene, &tiles, &shapes], &tile),
            apron: pipeline(
                gpu,
                &Draw {
                    shader: &apron_shader,
                    vertex: "vertex",
                    fragment: "fragment",
                    layouts: &[&scene],
                    buffers: &apron_vertices,
                    format: LIGHT,
                    depth: Some((true, Greater)),
                    cull: false,
                    add: false,
                },
            ),
            sky: pipeline(
                gpu,
                &Draw {
                    shader: &sky_shader,
                    vertex: "vertex",
                    fragment: "fragment",
                    layouts: &[&scene],
                    buffers: &[],
                    format: LIGHT,
                    depth: Some((false, GreaterEqual)),
                    cull: false,
                    add: false,
                },
            ),
            sea: water("sea_vertex", &sea_vertices, &[&scene, &under]),
            lakes: water("lake_vertex", &tile, &[&scene, &under, &shapes]),
            copy: pipeline(
                gpu,
                &Draw {
                    shader: &copy_shader,
                    vertex: "vertex",
                    fragment: "fragment",
                    layouts: &[&picture],
                    buffers: &[],
                    format: LIGHT,
                    depth: Some((false, wgpu::CompareFunction::Always)),
                    cull: false,
                    add: false,
                },
            ),
            add: full(&tone_shader, "add", &tone, LIGHT, true),
            write: full(&tone_shader, "write", &tone, wgpu::TextureFormat::Rgba8Unorm, false),
            indices: gpu.buffer("indices", bytemuck::cast_slice(&all), wgpu::BufferUsages::INDEX),
            ranges,
            scene,
            tiles,
            under,
            shapes,
            picture,
            tone,
        }
    }
}

/// A pipeline that draws what throws shadows, as the lamp sees it. Without a fragment shader all of it does.
pub(crate) fn caster(
    gpu: &Gpu,
    shader: &wgpu::ShaderModule,
    vertex: &str,
    fragment: Option<&str>,
    layouts: &[&wgpu::BindGroupLayout],
    buffers: &[Option<wgpu::VertexBufferLayout<'_>>],
) -> wgpu::RenderPipeline {
    let layouts: Vec<_> = layouts.iter().map(|layout| Some(*layout)).collect();
    let layout = gpu.device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
        label: None,
        bind_group_layouts: &layouts,
        immediate_size: 0,
    });
    gpu.device.create_render_pipeline(&wgpu::RenderPipelineDescriptor {
        label: Some("shadow"),
        layout: Some(&layout),
        vertex: wgpu::VertexState {
            module: shader,
            entry_point: Some(vertex),
            compilation_options: wgpu::PipelineCompilationOptions::default(),
            buffers,
        },
        primitive: wgpu::PrimitiveState::default(),
        depth_stencil: Some(wgpu::DepthStencilState {
            format: DEPTH,
            depth_write_enabled: Some(true),
            depth_compare: Some(wgpu::CompareFunction::Greater),
            stencil: wgpu::StencilState::default(),
            // Away from the lamp, the more the steeper, so that a surface does not shade itself.
            bias: wgpu::DepthBiasState { constant: 0, slope_scale: -1.5, clamp: 0.0 },
        }),
        multisample: wgpu::MultisampleState::default(),
        fragment: fragment.map(|entry| wgpu::FragmentState {
            module: shader,
            entry_point: Some(entry),
            compilation_options: wgpu::PipelineCompilationOptions::default(),
            targets: &[],
        }),
        multiview_mask: None,
        cache: None,
    })
}

fn pipeline(gpu: &Gpu, draw: &Draw<'_>) -> wgpu::RenderPipeline {
    let layouts: Vec<_> = draw.layouts.iter().map(|layout| Some(*layout)).collect();
    let layout = gpu.device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
        label: None,
        bind_group_layouts: &layouts,
        immediate_size: 0,
    });
    let one = wgpu::BlendComponent {
        src_factor: wgpu::BlendFactor::One,
        dst_factor: wgpu::BlendFactor::One,
        operation: wgpu::BlendOperation::Add,
    };
    gpu.device.create_render_pipeline(&wgpu::RenderPipelineDescriptor {
        label: Some(draw.vertex),
        layout: Some(&layout),
        vertex: wgpu::VertexState {
            module: draw.shader,
            entry_point: Some(draw.vertex),
            compilation_options: wgpu::PipelineCompilationOptions::default(),
            buffers: draw.buffers,
        },
        primitive: wgpu::PrimitiveState {
            cull_mode: draw.cull.then_some(wgpu::Face::Back),
            ..Default::default()
        },
        depth_stencil: draw.depth.map(|(write, compare)| wgpu::DepthStencilState {
            format: DEPTH,
            depth_write_enabled: Some(write),
            depth_compare: Some(compare),
            stencil: wgpu::StencilState::default(),
            bias: wgpu::DepthBiasState::default(),
        }),
        multisample: wgpu::MultisampleState::default(),
        fragment: (!draw.fragment.is_empty()).then_some(wgpu::FragmentState {
            module: draw.shader,
            entry_point: Some(draw.fragment),
            compilation_options: wgpu::PipelineCompilationOptions::default(),
            targets: &[Some(wgpu::ColorTargetState {
                format: draw.format,
                blend: draw.add.then_some(wgpu::BlendState { color: one, alpha: one }),
                write_mask: wgpu::ColorWrites::ALL,
            })],
        }),
        multiview_mask: None,
        cache: None,
    })
}

/// A pipeline for one triangle over a texture, from a shader that looks at nothing.
#[cfg(test)]
pub(crate) fn test_pipeline(
    gpu: &Gpu,
    shader: &wgpu::ShaderModule,
    format: wgpu::TextureFormat,
) -> wgpu::RenderPipeline {
    let draw = Draw {
        shader,
        vertex: "vertex",
        fragment: "fragment",
        layouts: &[],
        buffers: &[],
        format,
        depth: None,
        cull: false,
        add: false,
    };
    pipeline(gpu, &draw)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shader_is_valid_without_a_device() {
        for (name, ..) in SHADERS {
            let text = source(name);
            let module = naga::front::wgsl::parse_str(&text)
                .unwrap_or_else(|e| panic!("{name}: {}", e.emit_to_string(&text)));
            let mut validator = naga::valid::Validator::new(
                naga::valid::ValidationFlags::all(),
                naga::valid::Capabilities::empty(),
            );
            validator.validate(&module).unwrap_or_else(|e| panic!("{name}: {}", e.emit_to_string(&text)));
        }
    }

    #[test]
    fn no_shader_asks_for_more_than_a_browser_with_webgl2_has() {
        for (name, ..) in SHADERS {
            let text = source(name);
            for word in ["@compute", "var<storage", "texture_storage", "enable "] {
                assert!(!text.contains(word), "{name}: {word}");
            }
        }
    }
}
