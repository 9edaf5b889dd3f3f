//! What tiles look up on the device: pairs of words, one list after the other, in a texture.

use crate::device::Device;
use crate::error::GpuError;

/// Pairs in a row of the texture, as `tile.wgsl` has it.
const WIDE: usize = 2048;

/// Pairs of words.
pub(crate) struct Numbers(Vec<[u32; 2]>);

impl Numbers {
    /// The first pair is nobody's, so that 0 can stand for what is not there.
    pub fn new() -> Self {
        Self(vec![[0; 2]])
    }

    /// Where the next pair will be.
    pub fn next(&self) -> u32 {
        self.0.len() as u32
    }

    pub fn push(&mut self, pair: [u32; 2]) {
        self.0.push(pair);
    }

    /// Two floats.
    pub fn push_floats(&mut self, pair: [f32; 2]) {
        self.0.push(pair.map(f32::to_bits));
    }

    /// A cell and the share of the way across it.
    pub fn push_place(&mut self, (cell, share): (u32, f32)) {
        self.0.push([cell, share.to_bits()]);
    }

    /// Whether a device can hold them in one texture.
    pub fn fit(&self, device: &Device) -> bool {
        self.0.len().div_ceil(WIDE) <= device.most() as usize
    }

    /// Brings them to the device.
    pub fn texture(mut self, device: &Device) -> Result<wgpu::TextureView, GpuError> {
        if !self.fit(device) {
            return Err(GpuError::Tiles(String::from(
                "so many features meet in one tile that their numbers do not fit; use smaller tiles",
            )));
        }
        self.0.resize(self.0.len().next_multiple_of(WIDE).max(WIDE), [0; 2]);
        let size = wgpu::Extent3d {
            width: WIDE as u32,
            height: (self.0.len() / WIDE) as u32,
            depth_or_array_layers: 1,
        };
        let texture = device.device.create_texture(&wgpu::TextureDescriptor {
            label: Some("numbers"),
            size,
            mip_level_count: 1,
            sample_count: 1,
            dimension: wgpu::TextureDimension::D2,
            format: wgpu::TextureFormat::Rg32Uint,
            usage: wgpu::TextureUsages::TEXTURE_BINDING | wgpu::TextureUsages::COPY_DST,
            view_formats: &[],
        });
        let layout = wgpu::TexelCopyBufferLayout {
            offset: 0,
            bytes_per_row: Some(8 * size.width),
            rows_per_image: Some(size.height),
        };
        device.queue.write_texture(texture.as_image_copy(), bytemuck::cast_slice(&self.0), layout, size);
        Ok(texture.create_view(&wgpu::TextureViewDescriptor::default()))
    }
}
