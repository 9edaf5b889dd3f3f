//! Which depressions are lakes.

use orogen_core::Raster;

use crate::drainage::{Bits, Drainage, neighbours_of};

/// A lake.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Lake {
    /// Height of its water.
    pub surface: f32,
    /// Its lowest cell; the first of several.
    pub lowest: usize,
    /// How many cells it has.
    pub cells: usize,
    /// Depths of all cells, added up.
    pub volume_m: f64,
    /// Whether it spills over its brim.
    pub overflows: bool,
    /// Where it spills to, if it does: the first cell below its last one.
    pub outlet: usize,
    /// The lake that its water comes to next; none where it leaves the map first.
    pub downstream: Option<usize>,
}

/// All lakes of a map.
#[derive(Debug)]
pub(super) struct Found {
    /// The lake of each cell, numbered from 1; 0 where it is dry.
    pub labels: Raster<u32>,
    /// The lakes; the first is number 1.
    pub lakes: Vec<Lake>,
}

impl Found {
    /// The lake at a cell.
    #[inline]
    pub fn lake_at(&self, cell: usize) -> Option<&Lake> {
        let label = self.labels.as_slice()[cell] as usize;
        (label > 0).then(|| &self.lakes[label - 1])
    }

    /// Depressions at least so deep and of so many cells, full to the brim; numbered in the order of their first cells.
    pub fn of(height: &Raster<f32>, drained: &Drainage, least_m: f32, least_cells: f64) -> Self {
        let (cols, rows) = (height.cols(), height.rows());
        let h = height.as_slice();
        // A hole compares as false: it is never wet.
        let mut fresh = Bits::of(h.len(), |cell| h[cell] < drained.basins.level(cell));
        let mut found = Self { labels: Raster::filled(cols, rows, 0), lakes: Vec::new() };
        let mut pool = Vec::new();
        let mut from = 0;
        while let Some(start) = fresh.first(from) {
            from = start;
            fresh.remove(start);
            pool.clear();
            pool.push(start);
            let mut next = 0;
            // Neighbours that are both wet have one level: the higher water would run into the lower.
            while next < pool.len() {
                pool.extend(neighbours_of(pool[next], cols, rows).filter(|&other| fresh.remove(other)));
                next += 1;
            }
            let surface = drained.basins.level(start);
            let lowest = pool.iter().copied().fold(start, |low, cell| {
                if h[cell] < h[low] || (h[cell] == h[low] && cell < low) { cell } else { low }
            });
            if surface - h[lowest] < least_m || (pool.len() as f64) < least_cells {
                continue;
            }
            let volume_m = pool.iter().map(|&cell| f64::from(surface) - f64::from(h[cell])).sum();
            found.lakes.push(Lake {
                surface,
                lowest,
                cells: pool.len(),
                volume_m,
                overflows: true,
                outlet: lowest,
                downstream: None,
            });
            let number = found.lakes.len() as u32;
            pool.iter().for_each(|&cell| found.labels.as_mut_slice()[cell] = number);
        }
        found.follow(drained);
        found
    }

    /// Follows the water of each lake to its outlet and on to the next lake.
    fn follow(&mut self, drained: &Drainage) {
        for index in 0..self.lakes.len() {
            let own = index as u32 + 1;
            let mut at = self.lakes[index].lowest;
            let mut outlet = at;
            let downstream = loop {
                let Some(next) = drained.ways.next(at) else { break None };
                let (here, there) = (self.labels.as_slice()[at], self.labels.as_slice()[next]);
                if here == own && there != own {
                    outlet = next;
                }
                if there != 0 && there != own {
                    break Some(there as usize - 1);
                }
                at = next;
            };
            self.lakes[index].outlet = outlet;
            self.lakes[index].downstream = downstream;
        }
    }
}
