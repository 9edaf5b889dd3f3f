//! Which pit each cell drains to, how pits spill into each other, and the way out of all of them.
//!
//! After Barnes, Lehman & Mulla (2014) for the flood and Cordonnier, Bovy & Braun (2019) for working on the graph of
//! basins, which is far smaller than the map.

use std::collections::BinaryHeap;

use orogen_core::{Cancelled, Ctx, D8, Raster};
use rayon::prelude::*;

use super::lowest::Lowest;
use super::ways::{NOWHERE, Ways, back, step};
use super::{RasterPool, strip_rows};

/// The basin of everything that leaves the map.
pub const OUTSIDE: u32 = 0;
/// No cell.
pub const NO_CELL: u32 = u32::MAX;

/// The basins of a map: one for each pit, and the outside.
#[derive(Clone, Debug)]
pub struct Basins {
    /// Basin of each cell; [`OUTSIDE`] for what leaves the map without a stop, for sea, and for holes.
    pub labels: Raster<u32>,
    /// The pit of each basin; the outside has none.
    pub pits: Vec<u32>,
    /// Level that water in each basin rises to before it finds its way out of the map.
    pub levels: Vec<f32>,
    /// Where each basin spills: its own cell and the one beyond ([`NO_CELL`] beyond the map).
    spills: Vec<[u32; 2]>,
}

/// Where water leaves a map besides sea and holes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Edge {
    /// Along the whole edge.
    #[default]
    Open,
    /// At one cell.
    Only(u32),
}

impl Edge {
    #[inline]
    fn lets_out(self, cell: usize) -> bool {
        match self {
            Self::Open => true,
            Self::Only(outlet) => outlet as usize == cell,
        }
    }
}

/// A way over the brim between two basins.
#[derive(Clone, Copy)]
pub(super) struct Pass {
    /// The two basins, the lower number first, as one key.
    pub(super) pair: u64,
    pub(super) level: f32,
    /// The cells on either side, in the order of the pair.
    cells: [u32; 2],
}

impl Pass {
    pub(super) fn basins(&self) -> [u32; 2] {
        [(self.pair >> 32) as u32, self.pair as u32]
    }
}

impl Basins {
    /// Finds basins and their spill levels. The ways are those of [`Ways::along`], not yet drained.
    ///
    /// # Errors
    /// When cancelled.
    pub fn find(
        height: &Raster<f32>,
        ways: &Ways,
        sea_m: f32,
        edge: Edge,
        ctx: &Ctx<'_>,
    ) -> Result<Self, Cancelled> {
        Self::find_in(height, ways, sea_m, edge, ctx, &mut RasterPool::default())
    }

    /// The same in rasters of a pool.
    pub(super) fn find_in(
        height: &Raster<f32>,
        ways: &Ways,
        sea_m: f32,
        edge: Edge,
        ctx: &Ctx<'_>,
        pool: &mut RasterPool,
    ) -> Result<Self, Cancelled> {
        let zeros = pool.zeros(height.cols(), height.rows());
        let (labels, pits) = labels(height, &ways.0, sea_m, edge, zeros);
        ctx.tick(2, 4)?;
        let passes = passes(height, &labels, pits.len(), edge);
        ctx.tick(3, 4)?;
        let (levels, spills) = flood(pits.len(), &passes);
        Ok(Self { labels, pits, levels, spills })
    }

    /// How many pits there are.
    #[must_use]
    pub fn count(&self) -> usize {
        self.pits.len() - 1
    }

    /// Level of standing water at a cell: land above it is dry.
    #[inline]
    #[must_use]
    pub fn level(&self, cell: usize) -> f32 {
        self.levels[self.labels.as_slice()[cell] as usize]
    }

    /// Fills the land to the brim of every basin: no pit is left, and nothing else is changed. 12 bytes a cell.
    pub fn fill(&self, height: &mut Raster<f32>) {
        let labels = &self.labels;
        height.par_rows(|row, out| {
            for (h, &label) in out.iter_mut().zip(labels.row(row)) {
                // A hole stays: the comparison is false.
                let level = self.levels[label as usize];
                *h = if *h < level { level } else { *h };
            }
        });
    }

    /// The cell that water comes to when it runs over the brim of a basin; [`NO_CELL`] beyond the map.
    #[must_use]
    pub fn beyond(&self, basin: u32) -> u32 {
        self.spills[basin as usize][1]
    }

    /// Turns the ways round from each pit to where its basin spills, so that every cell drains off the map.
    pub fn drain(&self, ways: &mut Ways) {
        let cols = ways.0.cols();
        let ways = ways.0.as_mut_slice();
        for &[inner, outer] in &self.spills[1..] {
            if inner == NO_CELL {
                continue;
            }
            let mut at = inner as usize;
            // Beyond the map there is nothing to point to: the cell at the edge becomes the outlet.
            let mut turned = if outer == NO_CELL { NOWHERE } else { way_to(at, outer as usize, cols) };
            loop {
                let way = std::mem::replace(&mut ways[at], turned);
                if way == NOWHERE {
                    break;
                }
                at = step(at, way, cols);
                turned = back(way);
            }
        }
    }
}

/// The way from a cell to a neighbour.
fn way_to(from: usize, to: usize, cols: usize) -> u8 {
    (0..8).find(|&way| step(from, way, cols) == to).unwrap_or(NOWHERE)
}

/// Whether water leaves the map from a cell of no way: in the sea, at the edge, in or beside a hole.
pub(super) fn is_outlet(height: &Raster<f32>, sea_m: f32, edge: Edge, cell: usize) -> bool {
    let here = height.as_slice()[cell];
    // First, as it needs no division and much of a map may be sea.
    if here <= sea_m || here.is_nan() {
        return true;
    }
    let (cols, rows) = (height.cols(), height.rows());
    let (col, row) = (cell % cols, cell / cols);
    if col == 0 || row == 0 || col + 1 == cols || row + 1 == rows {
        return edge.lets_out(cell);
    }
    D8.iter().any(|&(dc, dr)| {
        height.row(row.wrapping_add_signed(dr as isize))[col.wrapping_add_signed(dc as isize)].is_nan()
    })
}

/// Where a number that a strip gave out leads.
#[derive(Clone, Copy)]
enum End {
    Outside,
    Pit(u32),
    /// A cell of another strip.
    Beyond(u32),
}

/// No label yet: all are zero at first.
const FRESH: u32 = 0;

/// Labels by following every cell down. Strips of rows are followed on their own, then joined.
pub(super) fn labels(
    height: &Raster<f32>,
    ways: &Raster<u8>,
    sea_m: f32,
    edge: Edge,
    mut labels: Raster<u32>,
) -> (Raster<u32>, Vec<u32>) {
    let (cols, rows) = (ways.cols(), ways.rows());
    let cells_per_strip = cols * strip_rows(rows);
    let strips: Vec<Vec<End>> = labels
        .as_mut_slice()
        .par_chunks_mut(cells_per_strip)
        .enumerate()
        .map(|(s, part)| follow(height, ways, sea_m, edge, s * cells_per_strip, part))
        .collect();

    // Pits are numbered in the order of their strips; then every end is followed on until it meets one.
    const OPEN: u32 = u32::MAX;
    let mut pits = vec![NO_CELL];
    let mut tables: Vec<Vec<u32>> = Vec::with_capacity(strips.len());
    for ends in &strips {
        let number = |end: &End| match end {
            End::Outside => OUTSIDE,
            End::Pit(cell) => {
                pits.push(*cell);
                pits.len() as u32 - 1
            }
            End::Beyond(_) => OPEN,
        };
        tables.push(ends.iter().map(number).collect());
    }
    let mut chain = Vec::new();
    for start in 0..strips.len() {
        for number in 0..strips[start].len() {
            let (mut s, mut number) = (start, number);
            let basin = loop {
                let End::Beyond(cell) = strips[s][number] else { break tables[s][number] };
                if tables[s][number] != OPEN {
                    break tables[s][number];
                }
                chain.push((s, number));
                s = cell as usize / cells_per_strip;
                number = labels.as_slice()[cell as usize] as usize;
            };
            for (s, number) in chain.drain(..) {
                tables[s][number] = basin;
            }
        }
    }
    labels.as_mut_slice().par_chunks_mut(cells_per_strip).zip(&tables).for_each(|(part, table)| {
        part.iter_mut().for_each(|label| *label = table[*label as usize]);
    });
    (labels, pits)
}

/// Numbers the cells of one strip by where their ways end; number 1 is the outside.
fn follow(
    height: &Raster<f32>,
    ways: &Raster<u8>,
    sea_m: f32,
    edge: Edge,
    first: usize,
    part: &mut [u32],
) -> Vec<End> {
    let (cols, ways) = (ways.cols(), ways.as_slice());
    let mut ends = vec![End::Outside, End::Outside];
    let mut path = Vec::new();
    for start in 0..part.len() {
        if part[start] != FRESH {
            continue;
        }
        let mut at = start;
        let label = loop {
            path.push(at as u32);
            let cell = first + at;
            let way = ways[cell];
            if way == NOWHERE {
                if is_outlet(height, sea_m, edge, cell) {
                    break 1;
                }
                ends.push(End::Pit(cell as u32));
                break ends.len() as u32 - 1;
            }
            let next = step(cell, way, cols).wrapping_sub(first);
            if next >= part.len() {
                ends.push(End::Beyond((first.wrapping_add(next)) as u32));
                break ends.len() as u32 - 1;
            }
            if part[next] != FRESH {
                break part[next];
            }
            at = next;
        };
        for at in path.drain(..) {
            part[at as usize] = label;
        }
    }
    ends
}

/// The lowest pass between every two neighbouring basins, in the order of their pairs.
pub(super) fn passes(height: &Raster<f32>, labels: &Raster<u32>, count: usize, edge: Edge) -> Vec<Pass> {
    if count == 1 {
        return Vec::new();
    }
    let rows = height.rows();
    let per_strip = strip_rows(rows);
    let mut passes: Vec<Pass> = (0..rows.div_ceil(per_strip))
        .into_par_iter()
        .flat_map_iter(|s| {
            let mut found = Found::new();
            for row in s * per_strip..((s + 1) * per_strip).min(rows) {
                passes_of_row(height, labels, row, edge, &mut found);
            }
            found.passes
        })
        .collect();
    passes.par_sort_unstable_by(|a, b| {
        a.pair.cmp(&b.pair).then(a.level.total_cmp(&b.level)).then(a.cells.cmp(&b.cells))
    });
    passes.dedup_by_key(|pass| pass.pair);
    passes
}

fn passes_of_row(height: &Raster<f32>, labels: &Raster<u32>, row: usize, edge: Edge, found: &mut Found) {
    let (cols, rows) = (height.cols(), height.rows());
    let (h, l) = (height.row(row), labels.row(row));
    let below = if row + 1 < rows { row + 1 } else { row };
    let (h2, l2) = (height.row(below), labels.row(below));
    let edge_row = row == 0 || row + 1 == rows;
    for col in 0..cols {
        let cell = (row * cols + col) as u32;
        let label = l[col];
        let east = if col + 1 < cols { col + 1 } else { col };
        let west = col.saturating_sub(1);
        if l[east] == label && l2[col] == label && l2[east] == label && l2[west] == label {
            // Within one basin, and most cells are.
        } else {
            let here = h[col];
            let mut meet = |other: f32, label2: u32, cell2: u32| {
                // A hole is outside: water that reaches it is gone.
                match (label2 == label, here.is_nan(), other.is_nan()) {
                    (true, _, _) | (_, true, true) => {}
                    (_, true, false) => found.add(OUTSIDE, label2, other, NO_CELL, cell2),
                    (_, false, true) => found.add(OUTSIDE, label, here, NO_CELL, cell),
                    (_, false, false) => found.add(label, label2, here.max(other), cell, cell2),
                }
            };
            let number = |row: usize, col: usize| (row * cols + col) as u32;
            meet(h[east], l[east], number(row, east));
            if below != row {
                meet(h2[west], l2[west], number(below, west));
                meet(h2[col], l2[col], number(below, col));
                meet(h2[east], l2[east], number(below, east));
            }
        }
        if (edge_row || col == 0 || col + 1 == cols) && label != OUTSIDE && edge.lets_out(cell as usize) {
            found.add(OUTSIDE, label, h[col], NO_CELL, cell);
        }
    }
}

/// Passes found so far, most of them once only: a table of the latest ones catches repetitions along a border.
struct Found {
    passes: Vec<Pass>,
    latest: Vec<u32>,
}

impl Found {
    const BITS: u32 = 12;

    fn new() -> Self {
        Self { passes: Vec::new(), latest: vec![u32::MAX; 1 << Self::BITS] }
    }

    #[inline]
    fn add(&mut self, a: u32, b: u32, level: f32, cell_a: u32, cell_b: u32) {
        let (low, high, cells) = if a < b { (a, b, [cell_a, cell_b]) } else { (b, a, [cell_b, cell_a]) };
        let pair = u64::from(low) << 32 | u64::from(high);
        let slot = (pair.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (64 - Self::BITS)) as usize;
        if let Some(known) = self.passes.get_mut(self.latest[slot] as usize)
            && known.pair == pair
        {
            if level < known.level || (level == known.level && cells < known.cells) {
                known.level = level;
                known.cells = cells;
            }
            return;
        }
        self.latest[slot] = self.passes.len() as u32;
        self.passes.push(Pass { pair, level, cells });
    }
}

/// Floods basins from the outside inwards, always over the lowest pass: their levels, and where they spill.
fn flood(count: usize, passes: &[Pass]) -> (Vec<f32>, Vec<[u32; 2]>) {
    let ends = |pass: &Pass| pass.basins().map(|basin| basin as usize);
    let mut starts = vec![0u32; count + 1];
    for pass in passes {
        ends(pass).iter().for_each(|&end| starts[end + 1] += 1);
    }
    for i in 1..starts.len() {
        starts[i] += starts[i - 1];
    }
    let mut fill = starts.clone();
    let mut around = vec![0u32; 2 * passes.len()];
    for (i, pass) in passes.iter().enumerate() {
        for end in ends(pass) {
            around[fill[end] as usize] = i as u32;
            fill[end] += 1;
        }
    }
    let mut levels = vec![f32::NEG_INFINITY; count];
    let mut spills = vec![[NO_CELL; 2]; count];
    let mut done = vec![false; count];
    let mut queue = BinaryHeap::new();
    let mut basin = OUTSIDE as usize;
    done[basin] = true;
    loop {
        for &i in &around[starts[basin] as usize..starts[basin + 1] as usize] {
            let pass = &passes[i as usize];
            let [a, b] = ends(pass);
            let other = if a == basin { b } else { a };
            if !done[other] {
                queue.push(Lowest { level: pass.level.max(levels[basin]), number: i, with: other as u32 });
            }
        }
        let next = loop {
            match queue.pop() {
                Some(next) if done[next.with as usize] => {}
                other => break other,
            }
        };
        let Some(next) = next else { break };
        basin = next.with as usize;
        done[basin] = true;
        levels[basin] = next.level;
        let pass = &passes[next.number as usize];
        let [a, b] = pass.cells;
        spills[basin] = if ends(pass)[0] == basin { [a, b] } else { [b, a] };
    }
    (levels, spills)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drainage::area;
    use crate::test_support;

    /// The textbook way: a queue of cells from the edge inwards, lowest first.
    fn priority_flood(height: &Raster<f32>, sea_m: f32) -> Raster<f32> {
        let (cols, rows) = (height.cols(), height.rows());
        let mut filled = height.clone();
        let mut seen = vec![false; cols * rows];
        let mut queue = BinaryHeap::new();
        for cell in 0..cols * rows {
            let at = height.as_slice()[cell];
            if at <= sea_m || at.is_nan() || is_outlet(height, sea_m, Edge::Open, cell) {
                seen[cell] = true;
                if !at.is_nan() {
                    queue.push(Lowest { level: at, number: cell as u32, with: () });
                }
            }
        }
        while let Some(next) = queue.pop() {
            let cell = next.number as usize;
            for &(dc, dr) in &D8 {
                let (col, row) = (
                    (cell % cols).wrapping_add_signed(dc as isize),
                    (cell / cols).wrapping_add_signed(dr as isize),
                );
                if col >= cols || row >= rows || seen[row * cols + col] {
                    continue;
                }
                let other = row * cols + col;
                seen[other] = true;
                let level = height.as_slice()[other].max(next.level);
                filled.as_mut_slice()[other] = level;
                queue.push(Lowest { level, number: other as u32, with: () });
            }
        }
        filled
    }

    fn same(a: &Raster<f32>, b: &Raster<f32>) -> bool {
        a.as_slice().iter().zip(b.as_slice()).all(|(a, b)| a == b || (a.is_nan() && b.is_nan()))
    }

    fn holed(cols: usize, rows: usize) -> Raster<f32> {
        let mut height = test_support::rough(cols, rows);
        for (col, row) in [(5, 5), (40, 33), (41, 33), (0, 20), (80, 60)] {
            if col < cols && row < rows {
                height.as_mut_slice()[row * cols + col] = f32::NAN;
            }
        }
        height
    }

    #[test]
    fn filled_land_is_that_of_a_priority_flood() {
        for (cols, rows) in [(130, 171), (1, 1), (2, 2), (1, 40), (40, 1), (3, 3)] {
            for sea_m in [f32::NEG_INFINITY, 35.0] {
                for steps in [0.0, 10.0] {
                    // Steps of ten metres make flats and ties.
                    let height =
                        holed(cols, rows).map(|h| if steps > 0.0 { (h / steps).floor() * steps } else { h });
                    let ctx = Ctx::silent();
                    let found = crate::drainage::drainage(&height, [10.0, 10.0], sea_m, &ctx).unwrap();
                    let mut filled = height.clone();
                    found.basins.fill(&mut filled);
                    assert!(
                        same(&filled, &priority_flood(&height, sea_m)),
                        "{cols} × {rows}, sea {sea_m}, steps {steps}"
                    );
                }
            }
        }
    }

    #[test]
    fn every_cell_drains_off_the_map() {
        let height = holed(130, 171);
        let found =
            crate::drainage::drainage(&height, [10.0, 10.0], f32::NEG_INFINITY, &Ctx::silent()).unwrap();
        assert!(found.basins.count() > 500);
        let area = area::cells(&found.ways, &found.ways.donors());
        let out: u64 = (0..130 * 171)
            .filter(|&cell| found.ways.next(cell).is_none())
            .map(|cell| u64::from(area.as_slice()[cell]))
            .sum();
        assert_eq!(out, 130 * 171);
        for cell in 0..130 * 171 {
            let mut at = cell;
            for _ in 0..130 * 171 {
                match found.ways.next(at) {
                    Some(next) => at = next,
                    None => break,
                }
            }
            assert!(found.ways.next(at).is_none(), "cell {cell} goes round in circles");
            assert!(is_outlet(&height, f32::NEG_INFINITY, Edge::Open, at), "cell {cell} ends inland");
        }
    }

    #[test]
    fn water_never_climbs_above_the_level_of_its_basin() {
        let height = holed(130, 171);
        let found = crate::drainage::drainage(&height, [10.0, 10.0], 20.0, &Ctx::silent()).unwrap();
        let mut filled = height.clone();
        found.basins.fill(&mut filled);
        for cell in 0..130 * 171 {
            if let Some(next) = found.ways.next(cell) {
                assert!(filled.as_slice()[next] <= filled.as_slice()[cell], "from {cell} to {next}");
            }
        }
    }

    #[test]
    fn with_one_outlet_everything_leaves_there() {
        let height = test_support::rough(90, 70);
        let outlet = 35 * 90 + 89;
        let mut ways = Ways::steepest(&height, [10.0, 10.0], f32::NEG_INFINITY);
        let basins =
            Basins::find(&height, &ways, f32::NEG_INFINITY, Edge::Only(outlet), &Ctx::silent()).unwrap();
        basins.drain(&mut ways);
        assert_eq!(area::cells(&ways, &ways.donors()).as_slice()[outlet as usize], 90 * 70);
    }
}
