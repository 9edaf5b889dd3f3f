//! Whether water obeys gravity: one check for many lands.

use orogen_core::Raster;

use super::Made;
use super::grid::Grid;
use super::network::Vertex;
use crate::drainage::neighbours_of;

impl Made {
    /// What is wrong with the rivers and the land round them, if anything: a river that rises, a reach that does not end
    /// where the next begins, water lost at a junction, a pit outside lakes, a lake that leaks.
    #[must_use]
    pub fn violation(&self, sea_m: f32) -> Option<String> {
        let surface = self.surface();
        self.rising(&surface).or_else(|| self.lost()).or_else(|| self.pit(&surface, sea_m))
    }

    /// The land with its lakes full.
    fn surface(&self) -> Raster<f32> {
        let mut surface = self.height.clone();
        for lake in &self.lakes {
            for &cell in &lake.cells {
                surface.as_mut_slice()[cell.at()] = lake.level_m;
            }
        }
        surface
    }

    fn rising(&self, surface: &Raster<f32>) -> Option<String> {
        let is_lake = self.is_lake();
        let grid = Grid::of(surface, [1.0, 1.0]);
        let cell = |v: &Vertex| grid.cell(grid.place_at(v.at));
        for (number, reach) in self.network.reaches.iter().enumerate() {
            for pair in reach.vertices.windows(2) {
                let [a, b] = [cell(&pair[0]), cell(&pair[1])];
                let [from, to] = [a, b].map(|cell| surface.as_slice()[cell]);
                let level = is_lake[a] && is_lake[b];
                let falls = if level { pair[1].z_m <= pair[0].z_m } else { pair[1].z_m < pair[0].z_m };
                if !falls {
                    return Some(format!(
                        "reach {number} goes from {} m to {} m at {:?}",
                        pair[0].z_m, pair[1].z_m, pair[1].at
                    ));
                }
                if to > from || (to == from && !level) {
                    return Some(format!(
                        "the ground under reach {number} goes from {from} m to {to} m at {:?}",
                        pair[1].at
                    ));
                }
            }
            if let Some(into) = reach.into {
                let (end, start) = (reach.vertices.last(), self.network.reaches[into].vertices.first());
                let same = end.zip(start).is_some_and(|(a, b)| a.at == b.at && a.z_m == b.z_m);
                if !same {
                    return Some(format!("reach {number} ends elsewhere than reach {into} begins"));
                }
            }
        }
        None
    }

    /// What comes in at a junction goes out; at a spring the land round it adds to what comes in.
    fn lost(&self) -> Option<String> {
        let mut coming = vec![0.0; self.network.len()];
        let mut is_spring = vec![true; self.network.len()];
        for reach in &self.network.reaches {
            if let (Some(into), Some(end)) = (reach.into, reach.vertices.last()) {
                coming[into] += end.discharge_m3s;
                is_spring[into] &= self.network.reaches[into].river != reach.river;
            }
        }
        let first = |i: usize| self.network.reaches[i].vertices.first().map_or(0.0, |v| v.discharge_m3s);
        let is_lost = |i: usize| {
            let more = first(i) - coming[i];
            more < -1e-9 * first(i) || (!is_spring[i] && more > 1e-9 * first(i))
        };
        (0..coming.len()).find(|&i| is_lost(i)).map(|i| {
            format!("{} m³/s come in where reach {i} begins, and {} m³/s go out", coming[i], first(i))
        })
    }

    fn is_lake(&self) -> Vec<bool> {
        let mut is_lake = vec![false; self.height.as_slice().len()];
        self.lakes.iter().flat_map(|lake| &lake.cells).for_each(|&cell| is_lake[cell.at()] = true);
        is_lake
    }

    fn pit(&self, surface: &Raster<f32>, sea_m: f32) -> Option<String> {
        let (cols, rows) = (surface.cols(), surface.rows());
        let heights = surface.as_slice();
        let is_lake = self.is_lake();
        let is_end = |cell: usize| {
            let (col, row) = (cell % cols, cell / cols);
            let edge = col == 0 || row == 0 || col + 1 == cols || row + 1 == rows;
            edge || neighbours_of(cell, cols, rows).any(|next| heights[next].is_nan())
        };
        for (cell, &h) in heights.iter().enumerate() {
            // The comparison is false for holes.
            let is_land = h > sea_m && !is_lake[cell];
            if is_land && !is_end(cell) && !neighbours_of(cell, cols, rows).any(|next| heights[next] < h) {
                return Some(format!("a pit at column {}, row {}, {h} m", cell % cols, cell / cols));
            }
        }
        for lake in &self.lakes {
            let outlet = lake.cells.iter().any(|&cell| {
                let cell = cell.at();
                is_end(cell)
                    || neighbours_of(cell, cols, rows)
                        .any(|next| !is_lake[next] && heights[next] <= lake.level_m)
            });
            if !outlet {
                return Some(format!("a lake at {} m has no outlet", lake.level_m));
            }
        }
        None
    }
}
