//! What a texture gives, and how it comes from a painted canvas.

use rayon::prelude::*;

use orogen_core::Seed;

use crate::canvas::Canvas;
use crate::color::{Color, to_srgb};
use crate::detail::{Detail, Plan};
use crate::field::Field;
use crate::filter::{broad, levelled};
use crate::normal::normals;
use crate::occlusion::occlusion;
use crate::texture::Texture;

/// The maps of a texture. Rows run from the top; opposite edges meet.
#[derive(Clone, Debug, PartialEq)]
pub struct Maps {
    /// What it shows.
    pub texture: Texture,
    /// Samples along a side.
    pub size: usize,
    /// The side of the square of ground, in metres.
    pub size_m: f32,
    /// Metres between the lowest and the highest point: height 0 and height 1.
    pub height_range_m: f32,
    /// Colour without light or shadow: sRGB.
    pub albedo: Vec<[u8; 3]>,
    /// Height, 0 to 1.
    pub height: Field,
    /// Unit normals: x to the right, y up the picture, z out of it.
    pub normal: Vec<[f32; 3]>,
    /// 0 a mirror, 1 chalk.
    pub roughness: Field,
    /// Share of the sky's light that reaches the surface.
    pub occlusion: Field,
    /// What is laid over it against visible repetition.
    pub detail: Detail,
}

/// A painted material and how to finish it.
#[derive(Clone, Debug)]
pub(crate) struct Made {
    pub canvas: Canvas,
    pub finish: Finish,
    pub detail: Plan,
}

/// How colours and heights are finished.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Finish {
    /// Share of broad differences of colour that stays; the rest would show as a lattice from afar.
    pub keep_color: f32,
    /// The same of heights.
    pub keep_height: f32,
    /// How much darker colours get in hollows, where dust and damp gather: 0 to 1.
    pub cavity: f32,
    /// How far the occlusion looks, in metres.
    pub occlusion_m: f32,
}

/// What is broader than this share of the side is levelled.
const BROAD: f32 = 0.09;

/// The maps of a canvas.
pub(crate) fn finish(texture: Texture, made: Made, seed: Seed) -> Maps {
    let Made { canvas, finish, detail } = made;
    let (size, size_m) = (canvas.size(), canvas.size_m());
    let heights = levelled(&canvas.heights(), BROAD, finish.keep_height);
    // Single spikes do not stretch the range.
    let (mean, deviation) = (heights.mean() as f32, heights.deviation() as f32);
    let (low, high) = heights.range();
    let low = low.max(mean - 4.0 * deviation);
    let high = high.min(mean + 4.0 * deviation).max(low + 1e-6);
    let height_range_m = high - low;
    let heights = heights.map(|h| h.clamp(low, high));
    let occlusion = occlusion(&heights, size_m, finish.occlusion_m);
    let albedo = albedo(&canvas, &occlusion, &finish, texture.mean_color());
    Maps {
        texture,
        size,
        size_m,
        height_range_m,
        albedo,
        normal: normals(&heights, size_m),
        height: heights.map(|h| (h - low) / height_range_m),
        roughness: canvas.field(|texel| texel.roughness.clamp(0.04, 1.0)),
        occlusion,
        detail: detail.make(seed),
    }
}

/// Colours levelled and brought to the mean of the table.
fn albedo(canvas: &Canvas, occlusion: &Field, finish: &Finish, target: Color) -> Vec<[u8; 3]> {
    let size = canvas.size();
    let open = occlusion.mean() as f32;
    let channels: [Field; 3] = std::array::from_fn(|channel| {
        let raw = Field::from_cells(size, |col, row| {
            let texel = &canvas.texels()[row * size + col];
            let hollow = 1.0 + finish.cavity * (occlusion.row(row)[col] - open);
            (texel.color[channel] * hollow).clamp(0.0, 4.0)
        });
        let around = broad(&raw, BROAD);
        let mean = raw.mean() as f32;
        let level = Field::from_cells(size, |col, row| {
            let broad = around.row(row)[col].max(0.2 * mean).max(1e-6);
            raw.row(row)[col] * (finish.keep_color + (1.0 - finish.keep_color) * mean / broad)
        });
        let gain = gain(&level, target[channel]);
        level.map(|c| c * gain)
    });
    (0..size * size).into_par_iter().map(|i| to_srgb([0, 1, 2].map(|c| channels[c].as_slice()[i]))).collect()
}

/// What brings the mean of a field, cut at 1, to a target.
fn gain(field: &Field, target: f32) -> f32 {
    let mut gain = 1.0;
    // Cutting takes some of the brightest away, which a few rounds give back.
    for _ in 0..6 {
        let factor = gain;
        let mean = field.clone().map(|c| (c * factor).min(1.0)).mean() as f32;
        gain *= target / mean.max(1e-6);
    }
    gain
}
