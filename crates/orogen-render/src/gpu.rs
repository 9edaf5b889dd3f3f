//! A graphics device without a window, and what every pass needs of it.

use std::num::NonZeroU64;

use crate::error::RenderError;

/// A device that makes pictures. It asks for no more than a browser with WebGL2 has, but for larger pictures where it can.
#[derive(Clone, Debug)]
pub struct Gpu {
    pub(crate) device: wgpu::Device,
    pub(crate) queue: wgpu::Queue,
    name: String,
    most: u32,
    layers: u32,
}

/// Layers of an array of textures that are asked for where an adapter has more than WebGL2 asks of it.
const MOST_LAYERS: u32 = 1024;

/// The light of a picture before it is toned.
pub(crate) const LIGHT: wgpu::TextureFormat = wgpu::TextureFormat::Rgba16Float;
/// Depth, the nearer the larger.
pub(crate) const DEPTH: wgpu::TextureFormat = wgpu::TextureFormat::Depth32Float;

impl Gpu {
    /// Opens the adapter that the system prefers, or the first whose name contains `wanted`.
    ///
    /// # Errors
    /// When there is none, or it cannot do what is needed.
    pub fn open(wanted: Option<&str>) -> Result<Self, RenderError> {
        pollster::block_on(Self::open_async(wanted))
    }

    async fn open_async(wanted: Option<&str>) -> Result<Self, RenderError> {
        let instance = wgpu::Instance::new(wgpu::InstanceDescriptor::new_without_display_handle());
        let adapter = match wanted {
            None => {
                let options = wgpu::RequestAdapterOptions {
                    power_preference: wgpu::PowerPreference::HighPerformance,
                    ..Default::default()
                };
                instance.request_adapter(&options).await.map_err(|_| RenderError::NoAdapter)?
            }
            Some(wanted) => {
                let all = instance.enumerate_adapters(wgpu::Backends::all()).await;
                if all.is_empty() {
                    return Err(RenderError::NoAdapter);
                }
                let names: Vec<String> = all.iter().map(|adapter| adapter.get_info().name).collect();
                let fits = |name: &String| name.to_lowercase().contains(&wanted.to_lowercase());
                let at = names.iter().position(fits).ok_or_else(|| RenderError::NoSuchAdapter {
                    wanted: wanted.to_owned(),
                    found: names.join(", "),
                })?;
                all.into_iter().nth(at).ok_or(RenderError::NoAdapter)?
            }
        };
        let name = adapter.get_info().name;
        let has = adapter.limits();
        let most = has.max_texture_dimension_2d.min(8192);
        let least = wgpu::Limits::downlevel_webgl2_defaults();
        let layers = has.max_texture_array_layers.min(MOST_LAYERS).max(least.max_texture_array_layers);
        let required_limits =
            wgpu::Limits { max_texture_dimension_2d: most, max_texture_array_layers: layers, ..least };
        if most < 2048 || !required_limits.check_limits(&has) {
            return Err(RenderError::Adapter {
                adapter: name,
                reason: String::from("it can do less than WebGL2 asks for"),
            });
        }
        let descriptor =
            wgpu::DeviceDescriptor { label: Some("orogen"), required_limits, ..Default::default() };
        let (device, queue) = adapter
            .request_device(&descriptor)
            .await
            .map_err(|e| RenderError::Adapter { adapter: name.clone(), reason: e.to_string() })?;
        Ok(Self { device, queue, name, most, layers })
    }

    /// A device that was opened by somebody else, such as a window.
    #[must_use]
    pub fn of(device: wgpu::Device, queue: wgpu::Queue, name: &str) -> Self {
        let limits = device.limits();
        let (most, layers) = (limits.max_texture_dimension_2d, limits.max_texture_array_layers);
        Self { device, queue, name: name.to_owned(), most, layers }
    }

    /// How many layers an array of textures may have.
    pub(crate) fn most_layers(&self) -> u32 {
        self.layers
    }

    /// What the adapter is called.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether pictures of so many pixels can be made.
    ///
    /// # Errors
    /// When there are none, or too many.
    pub fn check_size(&self, [width, height]: [u32; 2]) -> Result<(), RenderError> {
        match [width, height].into_iter().find(|n| !(1..=self.most).contains(n)) {
            Some(n) => Err(RenderError::Call(format!("a side of {n} pixels is outside 1 to {}", self.most))),
            None => Ok(()),
        }
    }

    pub(crate) fn shader(&self, label: &str, source: String) -> wgpu::ShaderModule {
        let source = wgpu::ShaderSource::Wgsl(source.into());
        self.device.create_shader_module(wgpu::ShaderModuleDescriptor { label: Some(label), source })
    }

    pub(crate) fn buffer(&self, label: &str, bytes: &[u8], usage: wgpu::BufferUsages) -> wgpu::Buffer {
        let buffer = self.device.create_buffer(&wgpu::BufferDescriptor {
            label: Some(label),
            // Copies go by four bytes.
            size: (bytes.len() as u64).next_multiple_of(4).max(4),
            usage: usage | wgpu::BufferUsages::COPY_DST,
            mapped_at_creation: false,
        });
        let mut padded = bytes.to_vec();
        padded.resize(bytes.len().next_multiple_of(4), 0);
        if !padded.is_empty() {
            self.queue.write_buffer(&buffer, 0, &padded);
        }
        buffer
    }

    /// A texture of layers with their levels: `layers[layer][level]` are bytes, row by row.
    pub(crate) fn texture(&self, label: &str, shape: &Shape, layers: &[Vec<&[u8]>]) -> wgpu::TextureView {
        let levels = layers.first().map_or(1, Vec::len);
        let texture = self.device.create_texture(&wgpu::TextureDescriptor {
            label: Some(label),
            size: wgpu::Extent3d {
                width: shape.size[0],
                height: shape.size[1],
                depth_or_array_layers: shape.size[2],
            },
            mip_level_count: levels as u32,
            sample_count: 1,
            dimension: match shape.view {
                wgpu::TextureViewDimension::D3 => wgpu::TextureDimension::D3,
                _ => wgpu::TextureDimension::D2,
            },
            format: shape.format,
            usage: wgpu::TextureUsages::TEXTURE_BINDING | wgpu::TextureUsages::COPY_DST,
            view_formats: &[],
        });
        let deep = if shape.view == wgpu::TextureViewDimension::D3 { shape.size[2] } else { 1 };
        for (layer, levels) in layers.iter().enumerate() {
            for (level, bytes) in levels.iter().enumerate() {
                let [width, height] = [0, 1].map(|axis| (shape.size[axis] >> level).max(1));
                let origin = [0, 0, if deep > 1 { 0 } else { layer as u32 }];
                self.write_block(&texture, level as u32, origin, bytes, [width, height, deep]);
            }
        }
        let dimension = Some(shape.view);
        texture.create_view(&wgpu::TextureViewDescriptor { dimension, ..Default::default() })
    }

    /// Writes a part of a texture, row by row.
    pub(crate) fn write(&self, texture: &wgpu::Texture, origin: [u32; 3], bytes: &[u8], size: [u32; 2]) {
        self.write_block(texture, 0, origin, bytes, [size[0], size[1], 1]);
    }

    fn write_block(
        &self,
        texture: &wgpu::Texture,
        level: u32,
        [x, y, z]: [u32; 3],
        bytes: &[u8],
        [width, height, depth_or_array_layers]: [u32; 3],
    ) {
        let texel = texture.format().block_copy_size(None).unwrap_or(4);
        let to = wgpu::TexelCopyTextureInfo {
            texture,
            mip_level: level,
            origin: wgpu::Origin3d { x, y, z },
            aspect: wgpu::TextureAspect::All,
        };
        let layout = wgpu::TexelCopyBufferLayout {
            offset: 0,
            bytes_per_row: Some(width * texel),
            rows_per_image: Some(height),
        };
        self.queue.write_texture(to, bytes, layout, wgpu::Extent3d { width, height, depth_or_array_layers });
    }

    /// A texture to draw into and to read from afterwards.
    pub(crate) fn target(&self, label: &str, size: [u32; 2], format: wgpu::TextureFormat) -> wgpu::Texture {
        self.device.create_texture(&wgpu::TextureDescriptor {
            label: Some(label),
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

    pub(crate) fn sampler(&self, mode: wgpu::AddressMode, anisotropy: u16) -> wgpu::Sampler {
        self.device.create_sampler(&wgpu::SamplerDescriptor {
            address_mode_u: mode,
            address_mode_v: mode,
            address_mode_w: mode,
            mag_filter: wgpu::FilterMode::Linear,
            min_filter: wgpu::FilterMode::Linear,
            mipmap_filter: wgpu::MipmapFilterMode::Linear,
            anisotropy_clamp: anisotropy,
            ..Default::default()
        })
    }

    /// The bytes of a texture of four bytes a texel.
    pub(crate) fn read(&self, texture: &wgpu::Texture) -> Result<Vec<u8>, RenderError> {
        let (width, height) = (texture.width(), texture.height());
        let row = (width * 4).next_multiple_of(wgpu::COPY_BYTES_PER_ROW_ALIGNMENT);
        let buffer = self.device.create_buffer(&wgpu::BufferDescriptor {
            label: Some("picture"),
            size: u64::from(row) * u64::from(height),
            usage: wgpu::BufferUsages::COPY_DST | wgpu::BufferUsages::MAP_READ,
            mapped_at_creation: false,
        });
        let mut encoder = self.device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
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
        self.queue.submit([encoder.finish()]);
        buffer.map_async(wgpu::MapMode::Read, .., |_| {});
        self.wait()?;
        let mapped = buffer.get_mapped_range(..).map_err(|e| RenderError::Device(e.to_string()))?;
        let mut bytes = Vec::with_capacity((width * height * 4) as usize);
        for line in mapped.chunks_exact(row as usize) {
            bytes.extend_from_slice(&line[..(width * 4) as usize]);
        }
        Ok(bytes)
    }

    /// Waits until all work is done.
    pub(crate) fn wait(&self) -> Result<(), RenderError> {
        let polled = self.device.poll(wgpu::PollType::wait_indefinitely());
        polled.map(|_| ()).map_err(|e| RenderError::Device(e.to_string()))
    }
}

/// What a texture is like.
pub(crate) struct Shape {
    /// Width, height, and layers or depth.
    pub size: [u32; 3],
    pub format: wgpu::TextureFormat,
    pub view: wgpu::TextureViewDimension,
}

/// A bind group layout, entry by entry.
pub(crate) struct Layout(Vec<wgpu::BindGroupLayoutEntry>, wgpu::ShaderStages);

impl Layout {
    pub fn new() -> Self {
        Self(Vec::new(), wgpu::ShaderStages::VERTEX_FRAGMENT)
    }

    /// What only vertices look at: it does not count among the few textures that pixels may look at.
    pub fn of_vertices() -> Self {
        Self(Vec::new(), wgpu::ShaderStages::VERTEX)
    }

    /// What only pixels look at.
    pub fn of_pixels() -> Self {
        Self(Vec::new(), wgpu::ShaderStages::FRAGMENT)
    }

    /// Lets vertices look at the last of them too.
    pub fn for_vertices_too(mut self) -> Self {
        if let Some(last) = self.0.last_mut() {
            last.visibility = wgpu::ShaderStages::VERTEX_FRAGMENT;
        }
        self
    }

    fn and(mut self, ty: wgpu::BindingType) -> Self {
        let binding = self.0.len() as u32;
        let visibility = self.1;
        self.0.push(wgpu::BindGroupLayoutEntry { binding, visibility, ty, count: None });
        self
    }

    pub fn uniform(self, bytes: usize) -> Self {
        self.and(wgpu::BindingType::Buffer {
            ty: wgpu::BufferBindingType::Uniform,
            has_dynamic_offset: false,
            min_binding_size: NonZeroU64::new(bytes as u64),
        })
    }

    /// A texture that is filtered.
    pub fn smooth(self, view: wgpu::TextureViewDimension) -> Self {
        self.texture(wgpu::TextureSampleType::Float { filterable: true }, view)
    }

    /// A texture that is only loaded from.
    pub fn plain(self, view: wgpu::TextureViewDimension) -> Self {
        self.texture(wgpu::TextureSampleType::Float { filterable: false }, view)
    }

    pub fn depth(self) -> Self {
        self.texture(wgpu::TextureSampleType::Depth, wgpu::TextureViewDimension::D2)
    }

    /// Depths that are compared with, one on another.
    pub fn depths(self) -> Self {
        self.texture(wgpu::TextureSampleType::Depth, wgpu::TextureViewDimension::D2Array)
    }

    /// What compares with depths.
    pub fn compared(self) -> Self {
        self.and(wgpu::BindingType::Sampler(wgpu::SamplerBindingType::Comparison))
    }

    fn texture(
        self,
        sample_type: wgpu::TextureSampleType,
        view_dimension: wgpu::TextureViewDimension,
    ) -> Self {
        self.and(wgpu::BindingType::Texture { sample_type, view_dimension, multisampled: false })
    }

    pub fn sampler(self) -> Self {
        self.and(wgpu::BindingType::Sampler(wgpu::SamplerBindingType::Filtering))
    }

    pub fn make(self, gpu: &Gpu, label: &str) -> wgpu::BindGroupLayout {
        gpu.device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor {
            label: Some(label),
            entries: &self.0,
        })
    }
}

/// Binds resources in the order of a layout.
pub(crate) fn bind(
    gpu: &Gpu,
    label: &str,
    layout: &wgpu::BindGroupLayout,
    resources: Vec<wgpu::BindingResource<'_>>,
) -> wgpu::BindGroup {
    let entries: Vec<_> =
        (0..).zip(resources).map(|(binding, resource)| wgpu::BindGroupEntry { binding, resource }).collect();
    gpu.device.create_bind_group(&wgpu::BindGroupDescriptor { label: Some(label), layout, entries: &entries })
}

/// A number in half precision, to the nearest; too large ones are cut.
pub(crate) fn half(x: f32) -> u16 {
    let bits = x.clamp(-65504.0, 65504.0).to_bits();
    let sign = ((bits >> 16) & 0x8000) as u16;
    let magnitude = f32::from_bits(bits & 0x7fff_ffff);
    if magnitude.is_nan() {
        return 0;
    }
    // Below the smallest normal number steps are all alike.
    const LEAST_NORMAL: f32 = 6.103_515_6e-5;
    const STEP: f32 = 5.960_464_5e-8;
    if magnitude < LEAST_NORMAL {
        return sign | (magnitude / STEP).round() as u16;
    }
    let rounded = magnitude.to_bits() + 0x0fff + ((magnitude.to_bits() >> 13) & 1);
    sign | ((rounded - (112 << 23)) >> 13) as u16
}

/// The number that is written in half precision.
pub(crate) fn full(bits: u16) -> f32 {
    let sign = u32::from(bits & 0x8000) << 16;
    let (exponent, part) = (u32::from(bits >> 10) & 31, u32::from(bits & 0x3ff));
    let magnitude = match exponent {
        0 => return f32::from_bits(sign | (part as f32 * 5.960_464_5e-8).to_bits()),
        31 => 0x7f80_0000 | (part << 13),
        _ => ((exponent + 112) << 23) | (part << 13),
    };
    f32::from_bits(sign | magnitude)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_are_the_nearest() {
        let known = [
            (0.0, 0),
            (1.0, 0x3c00),
            (-2.0, 0xc000),
            (65504.0, 0x7bff),
            (1e9, 0x7bff),
            (0.333_333_34, 0x3555),
            (5.960_464_5e-8, 1),
            (6.103_515_6e-5, 0x0400),
        ];
        for (x, bits) in known {
            assert_eq!(half(x), bits, "{x}");
        }
        assert_eq!(half(f32::NAN), 0);
        for bits in (0..=0xffffu16).filter(|bits| bits & 0x7c00 != 0x7c00) {
            assert_eq!(half(full(bits)), bits, "{bits:#x}");
        }
    }
}
