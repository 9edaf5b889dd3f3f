//! Colours of the biomes, in the order of their numbers.

use orogen_core::Raster;

use super::coarse::{Coarse, soften};
use super::water::LAND;
use crate::color::{Light, light_of};

/// The numbers of the two biomes that are water.
pub(super) const LAKE: u8 = 14;
pub(super) const OCEAN: u8 = 15;

/// Colours of the sixteen biomes.
pub(super) const COLORS: [[u8; 3]; 16] = [
    [240, 243, 247], // snow
    [176, 178, 154], // tundra
    [156, 149, 138], // bare
    [112, 103, 96],  // scorched
    [124, 146, 118], // taiga
    [164, 166, 120], // shrubland
    [208, 198, 154], // temperate desert
    [84, 128, 92],   // temperate rain forest
    [112, 148, 92],  // deciduous forest
    [164, 180, 108], // grassland
    [62, 114, 78],   // tropical rain forest
    [98, 142, 78],   // tropical seasonal forest
    [220, 198, 150], // subtropical desert
    [228, 214, 176], // beach
    [108, 164, 192], // lake
    [67, 122, 163],  // ocean
];

/// Blocks along the longer side: borders are soft over a few of them.
const LONGEST: usize = 400;

/// Biome colours as three coarse channels, softened over the borders of biomes but not into the water.
pub(super) fn tints(biomes: &Raster<u8>, kinds: &Raster<u8>, elsewhere: Light) -> (Coarse, [Raster<f32>; 3]) {
    let grid = Coarse::new(biomes.cols(), biomes.rows(), LONGEST);
    let colors = COLORS.map(light_of);
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
