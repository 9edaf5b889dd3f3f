//! Colours of the biomes, softened over their borders.

use orogen_core::Raster;
use orogen_core::biome::BIOMES;

use super::coarse::{Coarse, soften};
use super::water::LAND;
use crate::color::{Light, light_of};

/// Blocks along the longer side: borders are soft over a few of them.
const LONGEST: usize = 400;

/// Biome colours as three coarse channels, softened over the borders of biomes but not into the water.
pub(super) fn tints(biomes: &Raster<u8>, kinds: &Raster<u8>, elsewhere: Light) -> (Coarse, [Raster<f32>; 3]) {
    let grid = Coarse::new(biomes.cols(), biomes.rows(), LONGEST);
    let colors = BIOMES.map(|info| light_of(info.color));
    let land = |col: usize, row: usize| kinds.row(row)[col] == LAND;
    let share = grid.means(biomes.cols(), biomes.rows(), |c, r| if land(c, r) { 1.0 } else { 0.0 });
    let soft_share = soften(&soften(&share));
    let channels = [0, 1, 2].map(|i| {
        let sum = grid.means(biomes.cols(), biomes.rows(), |c, r| {
            let id = usize::from(biomes.row(r)[c]);
            if land(c, r) { colors.get(id).map_or(elsewhere[i], |color| color[i]) } else { 0.0 }
        });
        let soft = soften(&soften(&sum));
        Raster::from_fn(grid.cols, grid.rows, |c, r| {
            let weight = soft_share.row(r)[c];
            if weight > 1e-3 { soft.row(r)[c] / weight } else { elsewhere[i] }
        })
    });
    (grid, channels)
}
