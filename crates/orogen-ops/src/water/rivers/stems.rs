//! The rivers of a map as the drainage has them: each from its spring, along its greatest tributary, to where it ends.

use std::collections::HashMap;

use orogen_core::{CellIx, D8, Raster, math};
use rayon::prelude::*;

use super::Land;
use super::grid::Grid;
use crate::drainage::Ways;
use crate::drainage::ways::step;

/// A river from cell to cell.
#[derive(Clone, Debug)]
pub(super) struct Stem {
    /// Its own cells from the spring downstream.
    pub cells: Vec<CellIx>,
    /// The cell it goes on to: one of another river, or of the sea; none where it leaves the map.
    pub next: Option<CellIx>,
    /// The river it drains to and the number of the cell there, counted from that river's spring.
    pub parent: Option<(usize, usize)>,
}

/// How much drains through each cell.
pub(super) struct Drained<'a> {
    pub ways: &'a Ways,
    pub donors: &'a Raster<u8>,
    pub cells: &'a Raster<u32>,
    /// Water, in whole parts.
    pub water: &'a (dyn Fn(usize) -> u64 + Sync),
}

/// All rivers that carry enough, those that drain most first; so a river comes before all its tributaries.
pub(super) fn stems(
    land: &Land<'_>,
    drained: &Drained<'_>,
    is_enough: impl Fn(usize) -> bool + Sync,
    shortest_m: f64,
) -> Vec<Stem> {
    let heights = land.height.as_slice();
    let cols = land.grid.cols;
    // The comparison is false for holes.
    let is_river = |cell: usize| heights[cell] > land.sea_m && is_enough(cell);
    let ends: Vec<CellIx> = (0..heights.len())
        .into_par_iter()
        .with_min_len(1 << 14)
        .filter(|&cell| is_river(cell) && drained.ways.next(cell).is_none_or(|next| !is_river(next)))
        .map(CellIx::new)
        .collect();
    let mut stems: Vec<Stem> = Vec::new();
    let mut open = ends;
    while let Some(end) = open.pop() {
        let mut cells = vec![end];
        let mut at = end.at();
        loop {
            let mut best: Option<usize> = None;
            let donors = drained.donors.as_slice()[at];
            for way in (0..8u8).filter(|way| donors >> way & 1 == 1) {
                let donor = step(at, way, cols);
                if !is_river(donor) {
                    continue;
                }
                let key = |cell: usize| ((drained.water)(cell), drained.cells.as_slice()[cell]);
                let better = best.is_none_or(|best| {
                    key(donor) > key(best) || (key(donor) == key(best) && heights[donor] < heights[best])
                });
                if let Some(other) = if better { best.replace(donor) } else { Some(donor) } {
                    open.push(CellIx::new(other));
                }
            }
            let Some(best) = best else { break };
            cells.push(CellIx::new(best));
            at = best;
        }
        cells.reverse();
        let next = drained.ways.next(end.at()).map(CellIx::new);
        stems.push(Stem { cells, next, parent: None });
    }
    let end = |stem: &Stem| stem.cells[stem.cells.len() - 1].at();
    stems.par_sort_unstable_by(|a, b| {
        let (a, b) = (end(a), end(b));
        let key = |cell: usize| (drained.cells.as_slice()[cell], (drained.water)(cell));
        key(b).cmp(&key(a)).then(heights[a].total_cmp(&heights[b])).then(a.cmp(&b))
    });
    without_short(stems, &land.grid, shortest_m)
}

/// Leaves out rivers that are short and that no other joins; notes which river each of the others drains into.
fn without_short(stems: Vec<Stem>, grid: &Grid, shortest_m: f64) -> Vec<Stem> {
    let lengths =
        D8.map(|(dc, dr)| math::hypot(f64::from(dc) * grid.spacing_m[0], f64::from(dr) * grid.spacing_m[1]));
    let length = |from: usize, to: usize| {
        (0..8u8).find(|&way| step(from, way, grid.cols) == to).map_or(0.0, |way| lengths[way as usize])
    };
    // Which river has each cell that another may run into.
    let mut owner: HashMap<CellIx, (usize, usize)> = HashMap::new();
    let wanted: std::collections::HashSet<CellIx> = stems.iter().filter_map(|stem| stem.next).collect();
    for (number, stem) in stems.iter().enumerate() {
        for (i, cell) in stem.cells.iter().enumerate().filter(|(_, cell)| wanted.contains(cell)) {
            owner.insert(*cell, (number, i));
        }
    }
    let parents: Vec<Option<(usize, usize)>> =
        stems.iter().map(|stem| stem.next.and_then(|next| owner.get(&next).copied())).collect();
    let mut kept = vec![false; stems.len()];
    let mut joined = vec![false; stems.len()];
    for (number, stem) in stems.iter().enumerate().rev() {
        let along = stem.cells.windows(2).map(|pair| length(pair[0].at(), pair[1].at())).sum::<f64>();
        kept[number] = joined[number] || along >= shortest_m;
        if let (true, Some((parent, _))) = (kept[number], parents[number]) {
            joined[parent] = true;
        }
    }
    let mut numbers = vec![0usize; stems.len()];
    let mut count = 0;
    for (number, kept) in kept.iter().enumerate() {
        numbers[number] = count;
        count += usize::from(*kept);
    }
    let mut out = Vec::with_capacity(count);
    for (number, stem) in stems.into_iter().enumerate().filter(|(number, _)| kept[*number]) {
        let parent = parents[number].map(|(parent, at)| (numbers[parent], at));
        out.push(Stem { parent, ..stem });
    }
    out
}
