//! Fog in valleys: where it lies, from the shape of the land.

use orogen_core::{Raster, math};

use crate::gpu::{Gpu, Shape, half};
use crate::overview::Overview;
use crate::sun::{Moment, Sun};

/// Samples along a side of the map of fog.
pub const FOG_SIDE: usize = 128;

/// How far around the lowest ground is looked for, as a share of the land's width, and in metres at most.
const AROUND: f64 = 0.05;
const AROUND_M: f64 = 2500.0;

/// A map of fog over the whole land, rows from the north: the level of the floor of the valley there, and how much of a valley it
/// is, from 0 on plains, crests and the sea to 1.
#[must_use]
pub fn map(overview: &Overview) -> Vec<[f32; 2]> {
    let rect = (overview.root.origin_m, overview.root.size_m);
    let step = rect.1 / FOG_SIDE as f64;
    let middle = |c: usize, r: usize| {
        [rect.0[0] + (c as f64 + 0.5) * step, rect.0[1] + rect.1 - (r as f64 + 0.5) * step]
    };
    // The lowest and the mean of each cell.
    let of_cell = |c: usize, r: usize| {
        let [x, y] = middle(c, r);
        let (mut low, mut sum) = (f64::INFINITY, 0.0);
        for i in 0..16 {
            let (dx, dy) = ((i % 4) as f64 - 1.5, (i / 4) as f64 - 1.5);
            let h = overview.height_at(x + 0.25 * step * dx, y + 0.25 * step * dy).max(0.0);
            low = low.min(h);
            sum += h / 16.0;
        }
        [low as f32, sum as f32]
    };
    let cells = Raster::from_fn(FOG_SIDE, FOG_SIDE, of_cell);
    let reach = ((AROUND * rect.1).min(AROUND_M) / step).ceil().max(1.0) as isize;
    let around = |c: usize, r: usize| {
        let (mut low, mut mean, mut all) = (f32::INFINITY, 0.0, 0.0);
        for dr in -reach..=reach {
            for dc in -reach..=reach {
                if dr * dr + dc * dc > reach * reach {
                    continue;
                }
                let cell = cells.clamped(c as isize + dc, r as isize + dr);
                low = low.min(cell[0]);
                mean += cell[1];
                all += 1.0f32;
            }
        }
        [low, mean / all.max(1.0)]
    };
    let lowest = Raster::from_fn(FOG_SIDE, FOG_SIDE, around);
    let relief = (overview.range[1] - overview.range[0].max(0.0)).max(1.0) as f32;
    // Blurred, so that the fog's surface has no steps.
    (0..FOG_SIDE * FOG_SIDE)
        .map(|i| {
            let (c, r) = ((i % FOG_SIDE) as isize, (i / FOG_SIDE) as isize);
            let (mut floor, mut valley, mut all) = (0.0, 0.0, 0.0);
            for dr in -reach..=reach {
                for dc in -reach..=reach {
                    let away = (dr * dr + dc * dc) as f32 / (reach * reach) as f32;
                    let weight = (1.0 - away).max(0.0);
                    let [low, mean] = lowest.clamped(c + dc, r + dr);
                    // A valley lies well below the land around it, as that land goes.
                    let deep = math::smoothstep(0.02 * relief, 0.10 * relief, mean - low);
                    floor += weight * low;
                    valley += weight * deep;
                    all += weight;
                }
            }
            let dry = math::smoothstep(0.5, 4.0, floor / all);
            [floor / all, valley / all * dry]
        })
        .collect()
}

/// The map on the device.
pub(crate) fn upload(gpu: &Gpu, overview: &Overview) -> wgpu::TextureView {
    let texels: Vec<u16> =
        map(overview).iter().flat_map(|&[floor, share]| [half(floor), half(share)]).collect();
    let side = FOG_SIDE as u32;
    let shape = Shape {
        size: [side, side, 1],
        format: wgpu::TextureFormat::Rg16Float,
        view: wgpu::TextureViewDimension::D2,
    };
    gpu.texture("fog", &shape, &[vec![bytemuck::cast_slice(&texels)]])
}

/// How thick fog is at a moment, where nothing is said: it gathers toward morning and the sun drives it away.
#[must_use]
pub fn of_hour(moment: &Moment, sun: &Sun) -> f64 {
    if moment.hour > 12.0 || sun.altitude_deg < -12.0 {
        return 0.0;
    }
    let up = sun.altitude_deg as f32;
    f64::from(0.6 * math::smoothstep(-12.0, -2.0, up) * (1.0 - math::smoothstep(6.0, 16.0, up)))
}

/// What the shaders know of fog of some thickness: its density, 1 / its height, how far it is looked for.
#[must_use]
pub fn numbers(overview: &Overview, thickness: f64) -> [f32; 4] {
    let relief = (overview.range[1] - overview.range[0].max(0.0)).max(1.0);
    // A tenth of the land's relief, as far as fog rises at all.
    let height = (0.13 * relief).clamp(15.0, 220.0);
    // So dense that what stands in its midst is lost after some times its height.
    let density = thickness * 1.2 / (6.0 * height);
    [density as f32, (1.0 / height) as f32, 40_000.0, 0.0]
}
