//! Atlases of leaves: two by two twigs of a species, each on a cell that a card shows.

mod outline;
mod paint;
mod twigs;

use orogen_core::Seed;
use orogen_texture::color::{Color, from_srgb, to_srgb};
use orogen_texture::normal::unit;
use rayon::prelude::*;

pub use outline::Outline;
use paint::Sheet;
use twigs::{Tones, paint};

use crate::growth::Season;
use crate::species::Species;

/// Cells along a side of an atlas.
pub(crate) const CELLS: usize = crate::atlas::CELLS as usize;
/// The cell with the flower.
const FLOWER_CELL: usize = crate::atlas::FLOWER_CELL as usize;
/// Specks along a side of a cell while it is painted, about.
const FINEST: usize = 768;
/// Specks along a side of a mask.
const MASK: usize = 512;
/// Samples at the rim of a cell that stay clear, so that its neighbour never shows.
const MARGIN: usize = 1;

/// The maps of an atlas. Row 0 is at v = 0, where the stalks are; u runs to the right.
#[derive(Clone, Debug, PartialEq)]
pub struct LeafMaps {
    /// Samples along a side.
    pub size: usize,
    /// Colour without light (sRGB) and coverage. Clear samples have the colour of the leaf beside them.
    pub albedo: Vec<[u8; 4]>,
    /// Unit normals of the upper side: x to the right, y towards the first row, z out of it.
    pub normal: Vec<[f32; 3]>,
    /// Share of the light that goes through, as bytes.
    pub translucency: Vec<u8>,
    /// How rough it is: 0 a mirror, 1 chalk.
    pub roughness: f32,
}

/// Paints the atlas of a species in a season, `size` samples along a side (a power of two).
#[must_use]
pub fn leaf_maps(species: &Species, season: Season, size: usize, seed: Seed) -> LeafMaps {
    let cell = size / CELLS;
    let fine = (FINEST / cell).clamp(1, 4);
    let mut made = Gathered::new(size);
    for (which, sheet) in sheets(species, season, cell * fine, seed).iter().enumerate() {
        let corner = [which % CELLS * cell, which / CELLS * cell];
        made.take(sheet, corner, cell, fine);
    }
    let has_flower = as_leaf(species, season).is_some();
    let gloss = species.leaves.outline().plan().gloss;
    made.finish(Tones::of(species, season).mean, has_flower, 0.85 - 0.45 * gloss)
}

/// The cells of an atlas, with so many specks along a side.
fn sheets(species: &Species, season: Season, specks: usize, seed: Seed) -> Vec<Sheet> {
    let plan = species.leaves.outline().plan();
    let tones = Tones::of(species, season);
    let flower = as_leaf(species, season);
    (0..CELLS * CELLS)
        .into_par_iter()
        .map(|which| {
            let seed = seed.child(&which.to_string());
            let flower = flower.as_ref().filter(|_| which == FLOWER_CELL);
            let mut sheet = Sheet::new(specks, flower.unwrap_or(species).leaves.width_share as f32);
            match flower {
                Some(flower) => {
                    let plan = flower.leaves.outline().plan();
                    paint(&mut sheet, &plan, flower, &Tones::of(flower, Season::Summer), seed);
                }
                None => paint(&mut sheet, &plan, species, &tones, seed),
            }
            sheet
        })
        .collect()
}

/// Where the leaves of an atlas are.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct LeafMask {
    /// Specks along a side.
    size: usize,
    covered: Vec<bool>,
}

impl LeafMask {
    /// Whether a place of the atlas, which repeats, shows a leaf.
    pub(crate) fn is_leaf(&self, uv: [f64; 2]) -> bool {
        let [col, row] = uv.map(|x| ((x - x.floor()) * self.size as f64) as usize);
        self.covered[row.min(self.size - 1) * self.size + col.min(self.size - 1)]
    }
}

/// What the atlas of a species covers, without its colours: the same twigs as those of [`leaf_maps`].
pub(crate) fn leaf_mask(species: &Species, seed: Seed) -> LeafMask {
    let cell = MASK / CELLS;
    let mut mask = LeafMask { size: MASK, covered: vec![false; MASK * MASK] };
    let season = species.flowers.seasons.first().copied().unwrap_or_default();
    for (which, sheet) in sheets(species, season, cell, seed).iter().enumerate() {
        let [left, top] = [which % CELLS * cell, which / CELLS * cell];
        for (number, speck) in sheet.specks.iter().enumerate() {
            mask.covered[(top + number / cell) * MASK + left + number % cell] = speck.covered;
        }
    }
    mask
}

/// Sums over the samples of an atlas.
struct Gathered {
    size: usize,
    /// Times coverage: colour, normal, translucency; and coverage.
    color: Vec<Color>,
    normal: Vec<[f32; 3]>,
    through: Vec<f32>,
    cover: Vec<f32>,
}

impl Gathered {
    fn new(size: usize) -> Self {
        let n = size * size;
        Self {
            size,
            color: vec![[0.0; 3]; n],
            normal: vec![[0.0; 3]; n],
            through: vec![0.0; n],
            cover: vec![0.0; n],
        }
    }

    /// Means of a cell's specks.
    fn take(&mut self, sheet: &Sheet, [left, top]: [usize; 2], cell: usize, fine: usize) {
        let share = 1.0 / (fine * fine) as f32;
        for row in 0..cell {
            for col in MARGIN..cell - MARGIN {
                let to = (top + row) * self.size + left + col;
                if row >= cell - MARGIN {
                    continue;
                }
                for k in 0..fine * fine {
                    let from = (row * fine + k / fine) * cell * fine + col * fine + k % fine;
                    let speck = &sheet.specks[from];
                    if !speck.covered {
                        continue;
                    }
                    for axis in 0..3 {
                        self.color[to][axis] += share * speck.color[axis];
                        self.normal[to][axis] += share * speck.normal[axis];
                    }
                    self.through[to] += share * speck.through;
                    self.cover[to] += share;
                }
            }
        }
    }

    fn finish(mut self, mean: Color, has_flower: bool, roughness: f32) -> LeafMaps {
        // Leaves are brought to the colour of the species.
        let (size, cell) = (self.size, self.size / CELLS);
        let is_leaf = |i: usize| !has_flower || i / size / cell * CELLS + i % size / cell != FLOWER_CELL;
        let leaves = || (0..size * size).filter(|i| is_leaf(*i));
        let covered: f64 = leaves().map(|i| f64::from(self.cover[i])).sum();
        let gains: Color = std::array::from_fn(|channel| {
            let sum: f64 = leaves().map(|i| f64::from(self.color[i][channel])).sum();
            (f64::from(mean[channel]) * covered / sum.max(1e-9)) as f32
        });
        for (_, color) in self.color.iter_mut().enumerate().filter(|(i, _)| is_leaf(*i)) {
            *color = [0, 1, 2].map(|channel| color[channel] * gains[channel]);
        }
        let alpha: Vec<u8> = self.cover.iter().map(|c| (c * 255.0).round().min(255.0) as u8).collect();
        self.spread();
        let byte = |x: f32| (x * 255.0).round().clamp(0.0, 255.0) as u8;
        let albedo = self.color.iter().zip(&alpha).map(|(&color, &alpha)| {
            let [r, g, b] = to_srgb(color);
            [r, g, b, alpha]
        });
        LeafMaps {
            size: self.size,
            albedo: albedo.collect(),
            // Rows run to the tip, so what leans to it leans away from the first row.
            normal: self.normal.iter().map(|&[x, y, z]| unit([x, -y, z])).collect(),
            translucency: self.through.iter().map(|&t| byte(t)).collect(),
            roughness,
        }
    }

    /// Gives clear samples what their neighbours have, so that no edge has a dark fringe: means of ever larger blocks, the
    /// smallest that has something. What is covered in part gets its own full colour.
    fn spread(&mut self) {
        let mut levels: Vec<Vec<Sum>> = vec![
            (0..self.size * self.size)
                .map(|i| Sum {
                    color: self.color[i],
                    normal: self.normal[i],
                    through: self.through[i],
                    cover: self.cover[i],
                })
                .collect(),
        ];
        let mut size = self.size;
        while size > 1 {
            let finer = &levels[levels.len() - 1];
            let half = size / 2;
            let coarser = (0..half * half).map(|i| {
                let (row, col) = (2 * (i / half), 2 * (i % half));
                [0, 1, size, size + 1]
                    .iter()
                    .fold(Sum::default(), |sum, step| sum.with(&finer[row * size + col + step]))
            });
            levels.push(coarser.collect());
            size = half;
        }
        for i in 0..self.size * self.size {
            let (mut row, mut col) = (i / self.size, i % self.size);
            let mut size = self.size;
            for level in &levels {
                let sum = &level[row * size + col];
                if sum.cover > 0.02 {
                    let share = 1.0 / sum.cover;
                    self.color[i] = sum.color.map(|c| c * share);
                    self.normal[i] = sum.normal.map(|c| c * share);
                    self.through[i] = sum.through * share;
                    break;
                }
                (row, col, size) = (row / 2, col / 2, size / 2);
            }
        }
    }
}

#[derive(Clone, Copy, Default)]
struct Sum {
    color: Color,
    normal: [f32; 3],
    through: f32,
    cover: f32,
}

impl Sum {
    fn with(self, other: &Self) -> Self {
        Self {
            color: [0, 1, 2].map(|k| self.color[k] + other.color[k]),
            normal: [0, 1, 2].map(|k| self.normal[k] + other.normal[k]),
            through: self.through + other.through,
            cover: self.cover + other.cover,
        }
    }
}

/// A species whose leaves are the flowers of another, where it has any in a season.
fn as_leaf(species: &Species, season: Season) -> Option<Species> {
    let flowers = &species.flowers;
    if flowers.share == 0.0 || !flowers.seasons.contains(&season) {
        return None;
    }
    let mut made = species.clone();
    made.leaves.form.clone_from(&flowers.form);
    made.leaves.outline = flowers.outline;
    made.leaves.length_m = flowers.length_m;
    made.leaves.width_share = flowers.width_share;
    [made.colors.spring, made.colors.summer, made.colors.autumn] = [flowers.color; 3];
    Some(made)
}

/// The colour of a species' leaves in a season, as light.
fn leaf_light(species: &Species, season: Season) -> Color {
    from_srgb(species.leaf_color(season))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masks_cover_what_pictures_do() {
        for name in ["oak", "larch", "spruce", "poppy"] {
            let species = crate::species(name).unwrap().unwrap();
            let seed = Seed::from_text(&species.name).child("leaves");
            let season = species.flowers.seasons[0];
            let maps = leaf_maps(&species, season, 512, seed);
            let seen = maps.albedo.iter().filter(|p| p[3] >= 128).count() as f64 / (512.0 * 512.0);
            let mask = leaf_mask(&species, seed);
            let masked = mask.covered.iter().filter(|c| **c).count() as f64 / (MASK * MASK) as f64;
            assert!((masked / seen - 1.0).abs() < 0.03, "{name}: {masked}, not {seen}");
        }
    }
}
