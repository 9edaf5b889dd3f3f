//! Cutting outlets: the cheapest channel from each pit to lower ground.
//!
//! After Lindsay & Dhun (2015): a search from the pit over the whole land, cheapest ground first, until lower ground or a
//! place where water leaves is reached. Channels here are level, at the height of their pit, so that what a channel costs
//! does not depend on how it is reached and the search is exact.

use std::collections::BinaryHeap;

use orogen_core::{CellIx, Ctx, D8, OpError, Raster};
use rayon::prelude::*;

use super::basins::{Edge, OUTSIDE, is_outlet};
use super::lowest::Lowest;
use super::merging::Merging;
use super::ways::Ways;
use super::{check_size, neighbours_of};

/// How outlets are cut.
#[derive(Clone, Copy, Debug)]
pub struct Breaching<'a> {
    /// Distance between cells, (x, y).
    pub spacing_m: [f64; 2],
    /// Land at or below this is sea.
    pub sea_m: f32,
    /// Deepest cut.
    pub depth_m: f32,
    /// How far a channel may lead from the level ground of its pit, as the crow flies.
    pub length_m: f64,
    /// Whether pits beyond these limits are filled; otherwise they stay.
    pub fill: bool,
    /// Heights below which single cells may not be cut.
    pub floors: Option<&'a Raster<f32>>,
}

/// What was done. Volumes are sums of heights, to be multiplied by the area of a cell.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Breached {
    /// Channels cut.
    pub channels: usize,
    /// Depressions filled because no channel kept to the limits.
    pub filled: usize,
    /// Depressions left for the same reason.
    pub left: usize,
    /// Heights cut, added up.
    pub cut_m: f64,
    /// Heights filled, added up.
    pub filled_m: f64,
}

/// Cuts a channel out of every pit, the lowest pit first; of several the one of the least volume, then the shortest.
///
/// Takes time by the ground that the searches look at: about the depressions themselves.
///
/// # Errors
/// When cancelled, or when the map has too many cells.
pub fn breach(height: &mut Raster<f32>, how: &Breaching<'_>, ctx: &Ctx<'_>) -> Result<Breached, OpError> {
    check_size(height)?;
    let ways = Ways::steepest(height, how.spacing_m, how.sea_m);
    let tree = Merging::find(height, &ways, how.sea_m, ctx)?;
    drop(ways);
    resolve_all(height, how, tree, ctx)
}

fn resolve_all(
    height: &mut Raster<f32>,
    how: &Breaching<'_>,
    tree: Merging,
    ctx: &Ctx<'_>,
) -> Result<Breached, OpError> {
    let mut order: Vec<(f32, CellIx, u32)> = (1..tree.pits.len())
        .map(|basin| (CellIx(tree.pits[basin]), basin as u32))
        .map(|(pit, basin)| (height.as_slice()[pit.at()], pit, basin))
        .collect();
    order.par_sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    ctx.tick(1, 9)?;

    let cells = height.as_slice().len();
    let mut work = Work {
        height,
        how,
        slots: vec![0; cells],
        drained: vec![Drained::Unknown; cells],
        nodes: Vec::new(),
        cut_through: vec![false; tree.pits.len()],
        tree,
    };
    let mut done = Breached::default();
    for (i, &(level, pit, basin)) in order.iter().enumerate() {
        if i % 1024 == 0 {
            ctx.tick(order.len() + 8 * i, 9 * order.len())?;
        }
        let cell = pit.at();
        // Another channel or a filling may have come this way.
        if work.drained[cell] == Drained::Unknown && work.height.as_slice()[cell] == level {
            work.resolve(pit, basin, level, &mut done, ctx)?;
        }
    }
    Ok(done)
}

/// Whether a cell has a way that never rises to lower ground or off the map.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Drained {
    Unknown,
    Yes,
    /// It belongs to a depression that stays.
    Left,
}

/// A cell that a search has reached.
#[derive(Clone, Copy)]
struct Node {
    cell: CellIx,
    /// The node it was reached from; its own number for the first.
    from: u32,
    /// Where the channel left level ground.
    origin: CellIx,
    settled: bool,
    cost: f64,
    length: f64,
}

struct Work<'a> {
    height: &'a mut Raster<f32>,
    how: &'a Breaching<'a>,
    /// Where the node of a cell is, if that node says so too: nothing to clear between searches.
    slots: Vec<u32>,
    drained: Vec<Drained>,
    nodes: Vec<Node>,
    tree: Merging,
    /// Whether a channel touches a basin or one that met it: its dams may be lower than the tree says.
    cut_through: Vec<bool>,
}

impl Work<'_> {
    fn node_of(&self, cell: usize) -> Option<usize> {
        let slot = self.slots[cell] as usize;
        self.nodes.get(slot).is_some_and(|node| node.cell.at() == cell).then_some(slot)
    }

    fn resolve(
        &mut self,
        pit: CellIx,
        basin: u32,
        level: f32,
        done: &mut Breached,
        ctx: &Ctx<'_>,
    ) -> Result<(), OpError> {
        let deepest = if self.is_behind_too_high_a_dam(basin, level) { 0.0 } else { self.how.depth_m };
        let end = self.search(pit, level, deepest, ctx)?;
        let drained = match end {
            Some(end) => {
                let cut = self.cut(end, level);
                done.channels += usize::from(cut > 0.0);
                done.cut_m += cut;
                Drained::Yes
            }
            None if self.how.fill => {
                done.filled += 1;
                done.filled_m += self.flood(pit);
                return Ok(());
            }
            None => {
                done.left += 1;
                Drained::Left
            }
        };
        // The level ground round the pit shares its fate.
        for node in self.nodes.iter().filter(|node| node.cost == 0.0) {
            let cell = node.cell.at();
            if self.height.as_slice()[cell] == level {
                self.drained[cell] = drained;
            }
        }
        Ok(())
    }

    /// Whether every way to lower ground rises by more than may be cut, so that only the level ground round the pit need
    /// be searched. Fillings only raise ground, so this stays true until a channel comes near.
    fn is_behind_too_high_a_dam(&self, basin: u32, level: f32) -> bool {
        !self.cut_through[basin as usize] && self.tree.at[basin as usize] - level > self.how.depth_m
    }

    /// Notes that ground at and round a cell is no longer as the tree knows it.
    fn note_cut(&mut self, cell: usize) {
        let (cols, rows) = (self.height.cols(), self.height.rows());
        for near in neighbours_of(cell, cols, rows).chain([cell]) {
            let mut basin = self.tree.labels.as_slice()[near];
            while basin != OUTSIDE && !self.cut_through[basin as usize] {
                self.cut_through[basin as usize] = true;
                basin = self.tree.into[basin as usize];
            }
        }
    }

    /// The node of the nearest end, by volume to be cut and then by length, if no cut need be deeper than `deepest`.
    fn search(
        &mut self,
        pit: CellIx,
        level: f32,
        deepest: f32,
        ctx: &Ctx<'_>,
    ) -> Result<Option<usize>, OpError> {
        let (cols, rows) = (self.height.cols(), self.height.rows());
        let [dx, dy] = self.how.spacing_m;
        let slanted = (dx * dx + dy * dy).sqrt();
        let mut queue = BinaryHeap::new();
        self.nodes.clear();
        self.slots[pit.at()] = 0;
        self.nodes.push(Node { cell: pit, from: 0, origin: pit, settled: false, cost: 0.0, length: 0.0 });
        queue.push(Lowest { level: [0.0, 0.0], number: pit.0, with: 0 });
        let mut settled = 0usize;
        while let Some(next) = queue.pop() {
            let number = next.with as usize;
            if self.nodes[number].settled {
                continue;
            }
            self.nodes[number].settled = true;
            settled += 1;
            if settled.is_multiple_of(1 << 16) {
                // Only to stop: how much is left to search is not known.
                ctx.tick(1, 2)?;
            }
            let Node { cell, origin, cost, length, .. } = self.nodes[number];
            if number != 0 && self.is_end(cell.at(), level) {
                return Ok(Some(number));
            }
            let (col, row) = (cell.at() % cols, cell.at() / cols);
            for &(dc, dr) in &D8 {
                let (col, row) = (col.wrapping_add_signed(dc as isize), row.wrapping_add_signed(dr as isize));
                if col >= cols || row >= rows {
                    continue;
                }
                let other = row * cols + col;
                let here = self.height.as_slice()[other];
                let cut = here - level;
                // A hole compares as false both times: not level, and not to be cut.
                let level_ground = cut <= 0.0;
                let may_cut = cut <= deepest && self.may_cut(other, level);
                if !level_ground && !may_cut {
                    continue;
                }
                let origin = if level_ground { CellIx::new(other) } else { origin };
                if !level_ground && self.apart_m(origin.at(), other) > self.how.length_m {
                    continue;
                }
                let cost = cost + f64::from(cut.max(0.0));
                let length = length
                    + match (dc, dr) {
                        (0, _) => dy,
                        (_, 0) => dx,
                        _ => slanted,
                    };
                let node = Node {
                    cell: CellIx::new(other),
                    from: number as u32,
                    origin,
                    settled: false,
                    cost,
                    length,
                };
                let slot = match self.node_of(other) {
                    Some(slot) => {
                        let known = &mut self.nodes[slot];
                        if known.settled || (known.cost, known.length) <= (cost, length) {
                            continue;
                        }
                        *known = node;
                        slot
                    }
                    None => {
                        self.nodes.push(node);
                        self.slots[other] = self.nodes.len() as u32 - 1;
                        self.nodes.len() - 1
                    }
                };
                queue.push(Lowest { level: [cost, length], number: other as u32, with: slot as u32 });
            }
        }
        Ok(None)
    }

    fn is_end(&self, cell: usize, level: f32) -> bool {
        let here = self.height.as_slice()[cell];
        here < level
            || (here == level && self.drained[cell] == Drained::Yes)
            || is_outlet(self.height, self.how.sea_m, Edge::Open, cell)
    }

    fn may_cut(&self, cell: usize, level: f32) -> bool {
        self.how.floors.is_none_or(|floors| level >= floors.as_slice()[cell])
    }

    fn apart_m(&self, a: usize, b: usize) -> f64 {
        let cols = self.height.cols();
        let x = (a % cols).abs_diff(b % cols) as f64 * self.how.spacing_m[0];
        let y = (a / cols).abs_diff(b / cols) as f64 * self.how.spacing_m[1];
        (x * x + y * y).sqrt()
    }

    /// Cuts the way back from an end to the pit, and returns how much.
    fn cut(&mut self, end: usize, level: f32) -> f64 {
        let sum = self.nodes[end].cost;
        let mut number = end;
        loop {
            let Node { cell, from, .. } = self.nodes[number];
            let here = self.height.as_slice()[cell.at()];
            if here >= level {
                self.height.as_mut_slice()[cell.at()] = level;
                self.drained[cell.at()] = Drained::Yes;
            }
            if here > level {
                self.note_cut(cell.at());
            }
            if from as usize == number {
                return sum;
            }
            number = from as usize;
        }
    }

    /// Fills the depression of a pit to where it spills, and returns how much.
    fn flood(&mut self, pit: CellIx) -> f64 {
        let (cols, rows) = (self.height.cols(), self.height.rows());
        let mut queue = BinaryHeap::new();
        let mut level = f32::NEG_INFINITY;
        self.nodes.clear();
        let reach = |work: &mut Self, cell: usize, queue: &mut BinaryHeap<Lowest<f32, u32>>| {
            let here = work.height.as_slice()[cell];
            if here.is_nan() || work.node_of(cell).is_some() {
                return;
            }
            work.slots[cell] = work.nodes.len() as u32;
            let node = work.nodes.len() as u32;
            work.nodes.push(Node {
                cell: CellIx::new(cell),
                from: node,
                origin: pit,
                settled: false,
                cost: 0.0,
                length: 0.0,
            });
            queue.push(Lowest { level: here, number: cell as u32, with: node });
        };
        reach(self, pit.at(), &mut queue);
        while let Some(next) = queue.pop() {
            let cell = next.number as usize;
            let here = self.height.as_slice()[cell];
            if here < level {
                break;
            }
            level = level.max(here);
            self.nodes[next.with as usize].settled = true;
            if is_outlet(self.height, self.how.sea_m, Edge::Open, cell) {
                break;
            }
            for &(dc, dr) in &D8 {
                let col = (cell % cols).wrapping_add_signed(dc as isize);
                let row = (cell / cols).wrapping_add_signed(dr as isize);
                if col < cols && row < rows {
                    reach(self, row * cols + col, &mut queue);
                }
            }
        }
        let mut sum = 0.0;
        for node in self.nodes.iter().filter(|node| node.settled) {
            let here = &mut self.height.as_mut_slice()[node.cell.at()];
            sum += f64::from(level) - f64::from(*here);
            *here = level;
            self.drained[node.cell.at()] = Drained::Yes;
        }
        sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drainage::drainage;
    use crate::test_support;

    const NO_SEA: f32 = f32::NEG_INFINITY;

    #[test]
    fn pits_behind_too_high_dams_need_no_search() {
        let (land, ctx) = (test_support::rough(90, 70), Ctx::silent());
        for (depth_m, fill) in [(1.0, true), (4.0, true), (4.0, false), (15.0, true)] {
            let how = Breaching { depth_m, fill, ..free() };
            let (mut with, mut without) = (land.clone(), land.clone());
            let done = breach(&mut with, &how, &ctx).unwrap();
            assert!(done.channels > 3 && done.filled + done.left > 3, "{done:?}");
            let ways = Ways::steepest(&land, how.spacing_m, how.sea_m);
            let mut tree = Merging::find(&land, &ways, how.sea_m, &ctx).unwrap();
            tree.at.fill(f32::NEG_INFINITY);
            assert_eq!(resolve_all(&mut without, &how, tree, &ctx).unwrap(), done);
            assert!(with == without);
        }
    }

    fn free() -> Breaching<'static> {
        Breaching {
            spacing_m: [10.0, 10.0],
            sea_m: NO_SEA,
            depth_m: f32::INFINITY,
            length_m: f64::INFINITY,
            fill: true,
            floors: None,
        }
    }

    fn breached(height: &Raster<f32>, how: &Breaching<'_>) -> (Raster<f32>, Breached) {
        let mut out = height.clone();
        let done = breach(&mut out, how, &Ctx::silent()).unwrap();
        (out, done)
    }

    fn pits(height: &Raster<f32>, sea_m: f32) -> usize {
        let mut filled = height.clone();
        drainage(height, [10.0, 10.0], sea_m, &Ctx::silent()).unwrap().basins.fill(&mut filled);
        filled.as_slice().iter().zip(height.as_slice()).filter(|(a, b)| a > b).count()
    }

    /// The same by other means: every round looks for the lowest level ground without an exit, relaxes all cells until
    /// nothing changes, and cuts back from the best end.
    fn slow(height: &Raster<f32>) -> Raster<f32> {
        let (cols, rows) = (height.cols(), height.rows());
        let neighbours_of = |cell: usize| {
            D8.iter().filter_map(move |&(dc, dr)| {
                let col = (cell % cols).wrapping_add_signed(dc as isize);
                let row = (cell / cols).wrapping_add_signed(dr as isize);
                let length = 10.0 * (f64::from(dc * dc + dr * dr)).sqrt();
                (col < cols && row < rows).then_some((row * cols + col, length))
            })
        };
        let edge = |cell: usize| {
            let (col, row) = (cell % cols, cell / cols);
            col == 0 || row == 0 || col + 1 == cols || row + 1 == rows
        };
        let mut h: Vec<f32> = height.as_slice().to_vec();
        loop {
            let stuck = |start: usize| {
                let (mut flat, mut i) = (vec![start], 0);
                while i < flat.len() {
                    if edge(flat[i]) || neighbours_of(flat[i]).any(|(n, _)| h[n] < h[start]) {
                        return false;
                    }
                    for (n, _) in neighbours_of(flat[i]) {
                        if h[n] == h[start] && !flat.contains(&n) {
                            flat.push(n);
                        }
                    }
                    i += 1;
                }
                true
            };
            let pit = (0..cols * rows).filter(|&c| stuck(c)).min_by(|&a, &b| h[a].total_cmp(&h[b]));
            let Some(pit) = pit else { break };
            let level = h[pit];
            let mut best = vec![(f64::INFINITY, f64::INFINITY); cols * rows];
            let mut from = vec![usize::MAX; cols * rows];
            best[pit] = (0.0, 0.0);
            let mut changed = true;
            while changed {
                changed = false;
                for cell in 0..cols * rows {
                    if best[cell].0.is_infinite() || h[cell] < level || edge(cell) {
                        continue;
                    }
                    for (n, length) in neighbours_of(cell) {
                        let new = (best[cell].0 + f64::from((h[n] - level).max(0.0)), best[cell].1 + length);
                        if new < best[n] {
                            best[n] = new;
                            from[n] = cell;
                            changed = true;
                        }
                    }
                }
            }
            let ends = (0..cols * rows).filter(|&c| h[c] < level || edge(c));
            let mut at = ends.min_by(|&a, &b| best[a].partial_cmp(&best[b]).unwrap()).unwrap();
            loop {
                h[at] = h[at].min(level);
                if at == pit {
                    break;
                }
                at = from[at];
            }
        }
        Raster::from_vec(cols, rows, h).unwrap()
    }

    #[test]
    fn channels_are_those_found_by_looking_at_everything() {
        for (cols, rows) in [(17, 13), (5, 5), (3, 9), (24, 24)] {
            let height = test_support::rough(cols, rows);
            let (fast, done) = breached(&height, &free());
            assert!(fast == slow(&height), "{cols} × {rows}");
            assert_eq!((done.filled, done.left), (0, 0));
            let cut: f64 = height.as_slice().iter().zip(fast.as_slice()).map(|(a, b)| f64::from(a - b)).sum();
            assert!((done.cut_m - cut).abs() < 1e-3 * cut.max(1.0), "{} and {cut}", done.cut_m);
        }
    }

    #[test]
    fn no_pit_is_left_whatever_the_limits() {
        let mut height = test_support::rough(130, 97);
        for cell in [700, 701, 5000] {
            height.as_mut_slice()[cell] = f32::NAN;
        }
        assert!(pits(&height, NO_SEA) > 1000);
        for (depth_m, length_m) in
            [(f32::INFINITY, f64::INFINITY), (5.0, 1e9), (1e9, 15.0), (0.0, 0.0), (3.0, 40.0)]
        {
            for sea_m in [NO_SEA, 30.0] {
                let how = Breaching { depth_m, length_m, sea_m, ..free() };
                let (out, done) = breached(&height, &how);
                assert_eq!(pits(&out, sea_m), 0, "{how:?}");
                let deepest = height.as_slice().iter().zip(out.as_slice()).map(|(a, b)| a - b);
                assert!(deepest.fold(0.0f32, |m, d| if d > m { d } else { m }) <= depth_m);
                assert!(depth_m > 100.0 || done.filled > 0, "{how:?}");
            }
        }
    }

    #[test]
    fn on_steps_of_whole_metres_too() {
        let height = test_support::rough(130, 97).map(|h| (h / 10.0).floor() * 10.0);
        for depth_m in [f32::INFINITY, 10.0] {
            let (out, _) = breached(&height, &Breaching { depth_m, ..free() });
            assert_eq!(pits(&out, NO_SEA), 0);
        }
    }

    #[test]
    fn what_is_left_is_counted_and_not_touched() {
        let height = test_support::rough(60, 60);
        let how = Breaching { depth_m: 4.0, fill: false, ..free() };
        let (out, done) = breached(&height, &how);
        assert!(done.left > 0 && done.filled_m == 0.0, "{done:?}");
        assert!(out.as_slice().iter().zip(height.as_slice()).all(|(a, b)| a <= b && b - a <= 4.0));
        assert!(pits(&out, NO_SEA) > 0 && pits(&out, NO_SEA) < pits(&height, NO_SEA));
    }

    #[test]
    fn floors_are_kept() {
        let height = test_support::rough(60, 60);
        let floors = Raster::from_fn(60, 60, |col, _| if col == 30 { 60.0 } else { f32::NEG_INFINITY });
        let (out, _) = breached(&height, &Breaching { floors: Some(&floors), ..free() });
        for (cell, floor) in floors.as_slice().iter().enumerate() {
            assert!(out.as_slice()[cell] >= height.as_slice()[cell].min(*floor));
        }
        assert_eq!(pits(&out, NO_SEA), 0);
    }

    #[test]
    fn a_quarter_turn_turns_the_channels() {
        let n = 70;
        let turn = |raster: &Raster<f32>| Raster::from_fn(n, n, |col, row| raster.row(n - 1 - col)[row]);
        let height = test_support::rough(n, n);
        // Filling would make level ground, over which several ways are equally cheap.
        for how in [free(), Breaching { depth_m: 12.0, length_m: 80.0, fill: false, ..free() }] {
            let (a, b) = (breached(&turn(&height), &how).0, turn(&breached(&height, &how).0));
            let differ = a.as_slice().iter().zip(b.as_slice()).position(|(a, b)| a != b);
            assert_eq!(differ, None, "{how:?}");
        }
    }

    #[test]
    fn odd_land_stays_as_it_is() {
        for (cols, rows) in [(1, 1), (2, 2), (1, 30), (30, 1), (12, 9)] {
            for value in [5.0, f32::NAN] {
                let height = Raster::filled(cols, rows, value);
                let (out, done) = breached(&height, &free());
                assert_eq!(done, Breached::default());
                assert!(out.as_slice().iter().all(|h| h.to_bits() == value.to_bits()));
            }
        }
    }
}
