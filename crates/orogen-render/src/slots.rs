//! Tiles on the device: arrays of textures with a place for each, which are used again.

use crate::gpu::{Gpu, bind};
use crate::passes::Passes;
use crate::rim::{RIM, Vertex};
use crate::tile::{TEXELS, Tile, VERTICES};

/// Arrays of textures, one layer for each tile.
pub(crate) struct Slots {
    arrays: [wgpu::Texture; 6],
    rims: wgpu::Texture,
    free: Vec<u32>,
    capacity: u32,
    /// Slopes, weights and cover of all tiles, with the textures of the materials.
    pub ground: wgpu::BindGroup,
    /// Vertices and outlines of all tiles.
    pub shapes: wgpu::BindGroup,
}

use wgpu::TextureFormat::{Rgba8Unorm, Rgba16Float, Rgba32Float};
const ARRAYS: [(&str, usize, wgpu::TextureFormat); 6] = [
    ("vertices", VERTICES, Rgba32Float),
    ("coarser vertices", VERTICES, Rgba32Float),
    ("slopes", TEXELS, Rgba16Float),
    ("weights", TEXELS, Rgba8Unorm),
    ("more weights", TEXELS, Rgba8Unorm),
    ("cover", TEXELS, Rgba8Unorm),
];

impl Slots {
    /// Room for some tiles.
    pub fn new(gpu: &Gpu, passes: &Passes, materials: &[wgpu::TextureView; 3], capacity: u32) -> Self {
        let capacity = capacity.max(1);
        let usage = wgpu::TextureUsages::TEXTURE_BINDING
            | wgpu::TextureUsages::COPY_DST
            | wgpu::TextureUsages::COPY_SRC;
        let make = |label, size: [u32; 3], format| {
            gpu.device.create_texture(&wgpu::TextureDescriptor {
                label: Some(label),
                size: wgpu::Extent3d { width: size[0], height: size[1], depth_or_array_layers: size[2] },
                mip_level_count: 1,
                sample_count: 1,
                dimension: wgpu::TextureDimension::D2,
                format,
                usage,
                view_formats: &[],
            })
        };
        let arrays =
            ARRAYS.map(|(label, side, format)| make(label, [side as u32, side as u32, capacity], format));
        let rims = make("outlines", [RIM as u32, capacity, 1], Rgba32Float);
        let view = |texture: &wgpu::Texture, dimension| {
            texture.create_view(&wgpu::TextureViewDescriptor {
                dimension: Some(dimension),
                ..Default::default()
            })
        };
        let [own, coarse, slopes, weights, more, cover] =
            arrays.each_ref().map(|texture| view(texture, wgpu::TextureViewDimension::D2Array));
        let outlines = view(&rims, wgpu::TextureViewDimension::D2);
        let texture = wgpu::BindingResource::TextureView;
        let [albedo, surface, patterns] = materials;
        let all = [&slopes, &weights, &more, &cover, albedo, surface, patterns];
        let ground = bind(gpu, "tiles", &passes.tiles, all.into_iter().map(texture).collect());
        let shapes =
            bind(gpu, "shapes", &passes.shapes, vec![texture(&own), texture(&coarse), texture(&outlines)]);
        Self { arrays, rims, free: (0..capacity).rev().collect(), capacity, ground, shapes }
    }

    /// How many tiles there is room for.
    pub fn capacity(&self) -> u32 {
        self.capacity
    }

    /// Bytes of the device's memory.
    pub fn bytes(&self) -> u64 {
        let texels = |(_, side, format): &(&str, usize, wgpu::TextureFormat)| {
            (side * side) as u64 * u64::from(format.block_copy_size(None).unwrap_or(4))
        };
        u64::from(self.capacity) * (ARRAYS.iter().map(texels).sum::<u64>() + RIM as u64 * 16)
    }

    /// As these, with more room.
    pub fn grown(
        &self,
        gpu: &Gpu,
        passes: &Passes,
        materials: &[wgpu::TextureView; 3],
        capacity: u32,
    ) -> Self {
        let mut out = Self::new(gpu, passes, materials, capacity);
        let mut encoder = gpu.device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
        for (from, to) in self.arrays.iter().zip(&out.arrays) {
            encoder.copy_texture_to_texture(from.as_image_copy(), to.as_image_copy(), from.size());
        }
        gpu.queue.submit([encoder.finish()]);
        out.free = (self.capacity..out.capacity).rev().chain(self.free.iter().copied()).collect();
        out
    }

    /// A free place.
    pub fn take(&mut self) -> Option<u32> {
        self.free.pop()
    }

    /// Gives a place back.
    pub fn release(&mut self, slot: u32) {
        self.free.push(slot);
    }

    /// Brings a tile to the device, without its outline.
    pub fn write(&self, gpu: &Gpu, slot: u32, tile: &Tile) {
        let parts: [(usize, &[u8]); 5] = [
            (0, bytemuck::cast_slice(&tile.vertices)),
            (2, bytemuck::cast_slice(&tile.slopes)),
            (3, tile.weights[0].as_flattened()),
            (4, tile.weights[1].as_flattened()),
            (5, tile.cover.as_flattened()),
        ];
        for (array, bytes) in parts {
            self.write_layer(gpu, array, slot, bytes);
        }
    }

    /// Brings the surface of the next coarser tile to the device.
    pub fn write_coarse(&self, gpu: &Gpu, slot: u32, vertices: &[Vertex]) {
        self.write_layer(gpu, 1, slot, bytemuck::cast_slice(vertices));
    }

    fn write_layer(&self, gpu: &Gpu, array: usize, slot: u32, bytes: &[u8]) {
        let side = ARRAYS[array].1 as u32;
        gpu.write(&self.arrays[array], [0, 0, slot], bytes, [side, side]);
    }

    /// Brings outlines to the device: those of all places, one after another.
    pub fn write_rims(&self, gpu: &Gpu, rims: &[Vertex]) {
        let rows = (rims.len() / RIM) as u32;
        if rows > 0 {
            gpu.write(&self.rims, [0, 0, 0], bytemuck::cast_slice(rims), [RIM as u32, rows]);
        }
    }
}
