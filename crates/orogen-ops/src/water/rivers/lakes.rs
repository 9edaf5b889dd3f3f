//! Depressions that stay: lakes.

use orogen_core::{CellIx, Raster};

use super::Land;
use crate::drainage::{Basins, Bits, neighbours_of};

/// No lake.
pub(super) const DRY: u32 = u32::MAX;

/// The lakes of a map.
pub(super) struct Lakes {
    /// Which cells are wet: most ask no more.
    wet: Bits,
    /// The lake of each wet cell. Memory where no lake lies is never touched, so it costs nothing.
    of: Vec<u32>,
    /// Height of the water of each lake.
    pub levels: Vec<f32>,
    /// The cells of each lake.
    pub cells: Vec<Vec<CellIx>>,
    /// Whether a river runs through it.
    pub on_river: Vec<bool>,
}

impl Lakes {
    /// Depressions that are deep and large enough. Neighbouring cells under water always have one level.
    pub fn find(land: &Land<'_>, basins: &Basins, least_depth_m: f64, least_cells: f64) -> Self {
        let height = land.height;
        let (cols, rows) = (height.cols(), height.rows());
        let mut lakes = Self {
            wet: Bits::default(),
            of: Vec::new(),
            levels: Vec::new(),
            cells: Vec::new(),
            on_river: Vec::new(),
        };
        if basins.count() == 0 {
            return lakes;
        }
        let heights = height.as_slice();
        let mut fresh = Bits::of(heights.len(), |cell| heights[cell] < basins.level(cell));
        let mut stack = Vec::new();
        let mut from = 0;
        while let Some(start) = fresh.first(from) {
            from = start;
            let level = basins.level(start);
            let (mut found, mut deepest) = (Vec::new(), 0f32);
            fresh.remove(start);
            stack.push(start);
            while let Some(cell) = stack.pop() {
                found.push(CellIx::new(cell));
                deepest = deepest.max(level - heights[cell]);
                stack.extend(neighbours_of(cell, cols, rows).filter(|&next| fresh.remove(next)));
            }
            if f64::from(deepest) >= least_depth_m && found.len() as f64 >= least_cells {
                lakes.levels.push(level);
                lakes.cells.push(found);
            }
        }
        lakes.on_river = vec![false; lakes.levels.len()];
        if lakes.levels.is_empty() {
            return lakes;
        }
        // Nothing is left in the set by now.
        lakes.wet = fresh;
        lakes.of = vec![0; heights.len()];
        for (lake, cells) in lakes.cells.iter().enumerate() {
            for &cell in cells {
                lakes.wet.insert(cell.at());
                lakes.of[cell.at()] = lake as u32;
            }
        }
        lakes
    }

    /// The lake of a cell, or [`DRY`].
    #[inline]
    pub fn of(&self, cell: usize) -> u32 {
        if self.wet.has(cell) { self.of[cell] } else { DRY }
    }

    /// Height of the water at a cell, if it lies in a lake.
    #[inline]
    pub fn level(&self, cell: usize) -> Option<f32> {
        self.levels.get(self.of(cell) as usize).copied()
    }

    /// Makes a cell part of a lake.
    pub fn take(&mut self, cell: usize, lake: u32) {
        match self.of(cell) {
            DRY => {
                self.wet.insert(cell);
                self.of[cell] = lake;
                self.cells[lake as usize].push(CellIx::new(cell));
            }
            other if other != lake => self.merge(other, lake),
            _ => {}
        }
    }

    /// Makes one lake of two, at the higher of their levels.
    fn merge(&mut self, from: u32, into: u32) {
        let cells = std::mem::take(&mut self.cells[from as usize]);
        cells.iter().for_each(|&cell| self.of[cell.at()] = into);
        self.cells[into as usize].extend(cells);
        let level = self.levels[from as usize].max(self.levels[into as usize]);
        self.levels[into as usize] = level;
        self.on_river[into as usize] |= self.on_river[from as usize];
    }

    /// Keeps the land along shores from being cut below the water.
    pub fn guard(&self, before: &Raster<f32>, height: &mut Raster<f32>, is_river: impl Fn(usize) -> bool) {
        let (cols, rows) = (before.cols(), before.rows());
        for (lake, cells) in self.cells.iter().enumerate() {
            let level = self.levels[lake];
            for &cell in cells {
                for next in neighbours_of(cell.at(), cols, rows) {
                    if self.of(next) == DRY && !is_river(next) {
                        let least = before.as_slice()[next].min(level);
                        let height = &mut height.as_mut_slice()[next];
                        // A hole stays: the comparison is false.
                        *height = if *height < least { least } else { *height };
                    }
                }
            }
        }
    }
}
