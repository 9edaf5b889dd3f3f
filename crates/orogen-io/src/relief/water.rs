//! What is land and what is water, and how far out at sea a sample lies.

use orogen_core::biome::Biome;
use orogen_core::{Raster, Terrain, distance, layer};

use super::coarse::{Coarse, soften};

/// Blocks along the longer side for distances.
const LONGEST: usize = 640;

/// What a sample is.
pub(super) const LAND: u8 = 0;
pub(super) const SEA: u8 = 1;
pub(super) const LAKE: u8 = 2;
pub(super) const HOLE: u8 = 3;

/// Depth of standing water from which the ground counts as a lake, in metres.
const LAKE_DEPTH_M: f32 = 0.05;

/// Sorts samples into land, sea, lake and hole. Where there are biomes they say what is lake and what is ocean;
/// elsewhere sea is what does not rise above zero.
pub(super) fn kinds(terrain: &Terrain, height: &Raster<f32>) -> Raster<u8> {
    let biomes = terrain.get(layer::BIOME).ok();
    let water = terrain.get(layer::WATER).ok();
    Raster::from_fn(height.cols(), height.rows(), |col, row| {
        let h = height.row(row)[col];
        let biome = biomes.map(|b| Biome::from_id(b.row(row)[col]));
        let depth = water.map_or(0.0, |w| w.row(row)[col]);
        let wet = depth > LAKE_DEPTH_M;
        match biome {
            _ if h.is_nan() => HOLE,
            Some(Some(Biome::Lake)) => LAKE,
            Some(Some(Biome::Ocean)) => SEA,
            // The bed of a deep lake may lie below the sea.
            None if h <= 0.0 && h + depth <= LAKE_DEPTH_M => SEA,
            _ if wet => LAKE,
            _ => LAND,
        }
    })
}

/// How far sea samples lie from the land, in fine samples, on a coarse grid.
pub(super) struct Offshore {
    pub grid: Coarse,
    pub distance: Raster<f32>,
}

impl Offshore {
    pub fn new(kinds: &Raster<u8>) -> Self {
        let grid = Coarse::new(kinds.cols(), kinds.rows(), LONGEST);
        let share =
            grid.means(kinds.cols(), kinds.rows(), |c, r| if kinds.row(r)[c] == SEA { 0.0 } else { 1.0 });
        let land: Vec<bool> = share.as_slice().iter().map(|share| *share >= 0.5).collect();
        let cells = distance::to_nearest(&land, grid.cols);
        // Without any land everything is far out, but not infinitely.
        let far = (grid.cols + grid.rows) as f32;
        let cells = Raster::from_fn(grid.cols, grid.rows, |c, r| cells[r * grid.cols + c].min(far));
        let factor = grid.factor as f32;
        // Half a block: the shore runs between the outermost land block and the sea.
        let distance = soften(&soften(&cells.map(|d| (d - 0.5).max(0.0) * factor)));
        Self { grid, distance }
    }
}
