//! Levels of ever finer blocks, each solved from the level above and kept while there is room.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use orogen_core::{Cancelled, Ctx, Frame, OpError, Raster, Refiner, Seed, Spline, Terrain, layer};
use rayon::prelude::*;

use super::block::{self, Cutting, Ground};
use super::square::{APRON, CORE, COUNT, KEPT, MARGIN, PARENT, REACH, SIDE};
use crate::rock::beds::Strata;

/// Bytes of blocks that are kept.
const KEPT_BYTES: usize = 96 << 20;
/// Samples along the side of the part of a window that is finished at a time.
const PART: usize = 512;
/// A window takes the first level whose cells are no wider than this many of its own.
const WIDEST: f64 = 1.25;

/// The land that blocks are solved from, on the recipe's frame.
pub struct Coarse {
    pub base: Frame,
    /// The height.
    pub height: Spline,
    /// Drained area, in square metres.
    pub area: Raster<f32>,
    /// How much of the change is wanted, from 0; and the share of the window's own unevenness that goes.
    pub give: Raster<f32>,
    pub worn: Raster<f32>,
    pub strata: Option<Arc<Strata>>,
    pub channel_m2: f32,
    pub talus: f32,
    pub creep_m: f32,
    pub finest_m: f64,
    pub seed: Seed,
}

/// Brings solved land to finer windows.
pub struct Levels {
    coarse: Coarse,
    blocks: Mutex<Blocks>,
}

/// Which block: level, column, row.
type Place = (u32, i64, i64);

/// What a block changed up to its level, and the area drained there, on [`KEPT`] samples a side.
struct Block {
    change: Vec<f32>,
    area: Vec<f32>,
}

impl Block {
    const BYTES: usize = 8 * KEPT * KEPT;
}

/// A block that is solved or about to be.
type Slot = Arc<OnceLock<Block>>;

/// Blocks by place, with the time of their last use.
#[derive(Default)]
struct Blocks {
    found: BTreeMap<Place, (u64, Slot)>,
    by_use: BTreeMap<u64, Place>,
    now: u64,
}

impl Blocks {
    fn slot(&mut self, place: Place) -> Slot {
        self.now += 1;
        let (used, slot) = self.found.entry(place).or_default();
        let slot = slot.clone();
        self.by_use.remove(&std::mem::replace(used, self.now));
        self.by_use.insert(self.now, place);
        while self.found.len() * Block::BYTES > KEPT_BYTES {
            let Some((_, oldest)) = self.by_use.pop_first() else { break };
            self.found.remove(&oldest);
        }
        slot
    }

    fn is_solved(&self, place: Place) -> bool {
        self.found.get(&place).is_some_and(|(_, slot)| slot.get().is_some())
    }
}

/// Where blocks begin along one axis of a level.
#[derive(Clone, Copy)]
struct Axis {
    /// Cells of the level around a loop, and blocks among which they are shared out.
    period: Option<(i64, i64)>,
}

impl Axis {
    fn new(base: &Frame, samples: usize, level: u32) -> Self {
        let cells = (samples as i64 - 1) << level;
        let period = base.loops().then(|| (cells, (cells + CORE as i64 - 1) / CORE as i64));
        Self { period }
    }

    /// The first sample of a block's core.
    fn start(self, block: i64) -> i64 {
        match self.period {
            None => block * CORE as i64,
            Some((cells, blocks)) => {
                let (round, block) = (block.div_euclid(blocks), block.rem_euclid(blocks));
                round * cells + block * cells / blocks
            }
        }
    }

    /// The block whose core a sample lies in.
    fn block_of(self, at: i64) -> i64 {
        match self.period {
            None => at.div_euclid(CORE as i64),
            Some((cells, blocks)) => {
                let (round, at) = (at.div_euclid(cells), at.rem_euclid(cells));
                let guess = at * blocks / cells;
                let block = if (guess + 1) * cells / blocks <= at { guess + 1 } else { guess };
                round * blocks + block
            }
        }
    }

    /// The same block on the first round of a loop.
    fn rolled(self, block: i64) -> i64 {
        self.period.map_or(block, |(_, blocks)| block.rem_euclid(blocks))
    }

    /// The same sample on the first round of a loop.
    fn rolled_sample(self, at: i64) -> i64 {
        self.period.map_or(at, |(cells, _)| at.rem_euclid(cells))
    }

    /// The two blocks that a sample is made of, and the share of the second.
    fn blend(self, at: i64) -> (i64, i64, f32) {
        let block = self.block_of(at);
        let (behind, ahead) = (at - self.start(block), self.start(block + 1) - at);
        let ramp = |past: i64| {
            let t = (past + APRON as i64) as f32 / (2 * APRON) as f32;
            t * t * (3.0 - 2.0 * t)
        };
        if behind < APRON as i64 && behind <= ahead {
            (block - 1, block, ramp(behind))
        } else if ahead < APRON as i64 {
            (block, block + 1, ramp(-ahead))
        } else {
            (block, block, 0.0)
        }
    }
}

/// A rectangle of samples of a level: first column and row, columns, rows.
#[derive(Clone, Copy)]
struct Part {
    level: u32,
    col: i64,
    row: i64,
    cols: usize,
    rows: usize,
}

impl Levels {
    pub fn new(coarse: Coarse) -> Self {
        Self { coarse, blocks: Mutex::default() }
    }

    /// The level that a window of a spacing is taken from; 0 where the recipe's own lattice is fine enough.
    fn level_for(&self, spacing_m: [f64; 2]) -> u32 {
        let base = self.coarse.base.spacing_m();
        let mut level = 0;
        let mut cell = base;
        // 2⁻²⁴ of a cell is less than heights of 32 bits can tell.
        while level < 24
            && (cell[0] > WIDEST * spacing_m[0] || cell[1] > WIDEST * spacing_m[1])
            && cell[0].min(cell[1]) >= 2.0 * self.coarse.finest_m
        {
            cell = cell.map(|d| d / 2.0);
            level += 1;
        }
        level
    }

    fn axes(&self, level: u32) -> [Axis; 2] {
        let base = &self.coarse.base;
        [Axis::new(base, base.cols(), level), Axis::new(base, base.rows(), level)]
    }

    /// The same block on the first round of a loop.
    fn rolled(&self, (level, x, y): Place) -> Place {
        let [across, down] = self.axes(level);
        (level, across.rolled(x), down.rolled(y))
    }

    fn blocks(&self) -> MutexGuard<'_, Blocks> {
        self.blocks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A block, from what is kept or solved.
    ///
    /// Nobody waits for another thread: one that solves a block may be given other work of the thread pool meanwhile, which may want
    /// the very block. Two that want it at once solve it twice, with the same result.
    fn solved<'a>(&self, place: Place, slot: &'a Slot) -> &'a Block {
        if let Some(block) = slot.get() {
            return block;
        }
        let block = self.solve(self.rolled(place));
        slot.get_or_init(|| block)
    }

    /// What the levels up to the part's changed and the area drained, on a part of a level.
    fn gather(&self, part: Part) -> (Vec<f32>, Vec<f32>) {
        let Part { level, col, row, cols, rows } = part;
        let count = cols * rows;
        if level == 0 {
            let area = &self.coarse.area;
            let [across, down] = self.axes(0);
            let mut out = Vec::with_capacity(count);
            for r in row..row + rows as i64 {
                for c in col..col + cols as i64 {
                    let (c, r) = (across.rolled_sample(c), down.rolled_sample(r));
                    out.push(area.clamped(c as isize, r as isize));
                }
            }
            return (vec![0.0; count], out);
        }
        let [across, down] = self.axes(level);
        let blends = |axis: Axis, from: i64, count: usize| -> Vec<(i64, i64, f32)> {
            (from..from + count as i64).map(|at| axis.blend(at)).collect()
        };
        let (blend_cols, blend_rows) = (blends(across, col, cols), blends(down, row, rows));
        let span = |blends: &[(i64, i64, f32)]| {
            let low = blends.iter().map(|b| b.0).min().unwrap_or(0);
            (low, blends.iter().map(|b| b.1).max().unwrap_or(0) - low + 1)
        };
        let ((west, wide), (north, tall)) = (span(&blend_cols), span(&blend_rows));
        let places: Vec<Place> =
            (0..wide * tall).map(|i| (level, west + i % wide, north + i / wide)).collect();
        let slots: Vec<Slot> = places.iter().map(|&place| self.blocks().slot(self.rolled(place))).collect();
        let blocks: Vec<&Block> =
            places.iter().zip(&slots).map(|(&place, slot)| self.solved(place, slot)).collect();
        let (mut change, mut drained) = (Vec::with_capacity(count), Vec::with_capacity(count));
        let apron = APRON as i64;
        for (r, &(above, below, down_share)) in (row..).zip(&blend_rows) {
            for (c, &(left, right, across_share)) in (col..).zip(&blend_cols) {
                let value = |x: i64, y: i64| {
                    let block = blocks[((y - north) * wide + x - west) as usize];
                    let (c, r) = (c - across.start(x) + apron, r - down.start(y) + apron);
                    let at = r as usize * KEPT + c as usize;
                    [block.change[at], block.area[at]]
                };
                let mix = |a: [f32; 2], b: [f32; 2], t: f32| [0, 1].map(|k| a[k] + t * (b[k] - a[k]));
                let line = |y: i64| {
                    let first = value(left, y);
                    if right == left { first } else { mix(first, value(right, y), across_share) }
                };
                let first = line(above);
                let [c, a] = if below == above { first } else { mix(first, line(below), down_share) };
                change.push(c);
                drained.push(a);
            }
        }
        (change, drained)
    }

    fn solve(&self, (level, x, y): Place) -> Block {
        let coarse = &self.coarse;
        let [across, down] = self.axes(level);
        let margin = MARGIN as i64;
        let (col, row) = (across.start(x) - margin, down.start(y) - margin);
        let reach = REACH as i64;
        let (change, area) = self.gather(Part {
            level: level - 1,
            col: col.div_euclid(2) - reach,
            row: row.div_euclid(2) - reach,
            cols: PARENT,
            rows: PARENT,
        });
        let scale = 1.0 / (1u64 << level) as f64;
        let places =
            |from: i64| -> Vec<f64> { (from..from + SIDE as i64).map(|at| at as f64 * scale).collect() };
        let (cols, rows) = (places(col), places(row));
        let smooth = self.heights(&cols, &rows);
        let give = coarse.give.smooth_grid(&self.inside(0, &cols), &self.inside(1, &rows));
        // At the samples of the block itself, so that beds thinner than a cell of the recipe's come out.
        let beds = coarse.strata.as_ref().map(|strata| {
            let ([dx, dy], base) = (coarse.base.spacing_m(), &coarse.base);
            let (cols, rows) = (self.inside(0, &cols), self.inside(1, &rows));
            strata.places(SIDE, SIDE, |c, r| [base.x_m(0) + cols[c] * dx, base.y_m(0) - rows[r] * dy])
        });
        let indices = |axis: Axis, from: i64| -> Vec<i64> {
            (from..from + SIDE as i64).map(|at| axis.rolled_sample(at)).collect()
        };
        let spacing_m = coarse.base.spacing_m().map(|d| (d * scale) as f32);
        let ground = Ground {
            smooth: &smooth,
            change: &change,
            area: &area,
            odd: [col.rem_euclid(2) == 1, row.rem_euclid(2) == 1],
            give: give.as_slice(),
            beds: beds.as_ref(),
            cols: &indices(across, col),
            rows: &indices(down, row),
        };
        let cutting = Cutting {
            channel_m2: coarse.channel_m2,
            talus: coarse.talus,
            creep_m: coarse.creep_m,
            spacing_m,
            seed: Seed(coarse.seed.bits(u64::from(level))),
        };
        let (change, area) = block::solve(&ground, &cutting);
        let kept = |values: Vec<f32>| -> Vec<f32> {
            let from = MARGIN - APRON;
            let rows = (from..from + KEPT).map(|row| &values[row * SIDE + from..][..KEPT]);
            rows.flatten().copied().collect()
        };
        Block { change: kept(change), area: kept(area) }
    }

    /// Places on the recipe's frame, rolled up where it loops.
    fn inside(&self, axis: usize, at: &[f64]) -> Vec<f64> {
        let base = &self.coarse.base;
        let last = ([base.cols(), base.rows()][axis] - 1) as f64;
        at.iter().map(|at| if base.loops() { at.rem_euclid(last) } else { *at }).collect()
    }

    /// The coarse height at crossings of columns and rows; beyond the edge of the world it goes on as its mirror image, upside
    /// down, so that slopes go on.
    fn heights(&self, cols: &[f64], rows: &[f64]) -> Vec<f32> {
        let base = &self.coarse.base;
        let fold = |axis: usize, at: &[f64]| -> Vec<f64> {
            let last = ([base.cols(), base.rows()][axis] - 1) as f64;
            let folded = self.inside(axis, at).into_iter().map(|at| {
                if at < 0.0 {
                    (-at).min(last)
                } else if at > last {
                    (2.0 * last - at).max(0.0)
                } else {
                    at
                }
            });
            folded.chain([0.0, last]).collect()
        };
        let grid = self.coarse.height.grid(&fold(0, cols), &fold(1, rows));
        let beyond = |axis: usize, at: f64| {
            let last = ([base.cols(), base.rows()][axis] - 1) as f64;
            match at {
                _ if base.loops() => None,
                at if at < 0.0 => Some(0),
                at if at > last => Some(1),
                _ => None,
            }
        };
        let line = |row: usize| -> Vec<f32> {
            let values = grid.row(row);
            let edges = &values[cols.len()..];
            (cols.iter().zip(values))
                .map(|(&at, value)| beyond(0, at).map_or(*value, |edge| 2.0 * edges[edge] - value))
                .collect()
        };
        let edges = [line(rows.len()), line(rows.len() + 1)];
        let mut out = Vec::with_capacity(COUNT);
        for (row, &at) in rows.iter().enumerate() {
            let values = line(row);
            match beyond(1, at) {
                None => out.extend(values),
                Some(edge) => out.extend(values.iter().zip(&edges[edge]).map(|(v, e)| 2.0 * e - v)),
            }
        }
        out
    }

    /// Solves in parallel what a part of a level needs and is not kept, from the coarsest level on.
    fn ensure(&self, part: Part, ctx: &Ctx<'_>) -> Result<(), Cancelled> {
        let apron = APRON as i64;
        let range = |axis: Axis, from: i64, count: usize| {
            axis.block_of(from - apron)..=axis.block_of(from + count as i64 - 1 + apron)
        };
        let [across, down] = self.axes(part.level);
        let mut finest = Vec::new();
        for y in range(down, part.row, part.rows) {
            finest.extend(range(across, part.col, part.cols).map(|x| (part.level, x, y)));
        }
        // From the finest level, what each asks of the level above.
        let mut places: Vec<Vec<Place>> = vec![finest];
        for level in (1..part.level).rev() {
            let finer = places.last().cloned().unwrap_or_default();
            let ([fine_x, fine_y], [across, down]) = (self.axes(level + 1), self.axes(level));
            let range = |fine: Axis, axis: Axis, block: i64| {
                range(axis, (fine.start(block) - MARGIN as i64).div_euclid(2) - REACH as i64, PARENT)
            };
            let mut coarser: Vec<Place> = Vec::new();
            for (_, x, y) in finer {
                for y in range(fine_y, down, y) {
                    coarser.extend(range(fine_x, across, x).map(|x| (level, x, y)));
                }
            }
            coarser.sort_unstable();
            coarser.dedup();
            places.push(coarser);
        }
        for places in places.iter().rev() {
            let missing: Vec<Place> = {
                let blocks = self.blocks();
                places.iter().copied().filter(|&place| !blocks.is_solved(self.rolled(place))).collect()
            };
            missing.into_par_iter().try_for_each(|place| {
                ctx.stop_if_asked()?;
                let slot = self.blocks().slot(self.rolled(place));
                self.solved(place, &slot);
                Ok(())
            })?;
        }
        Ok(())
    }
}

impl Refiner for Levels {
    fn refine(&self, mut window: Terrain, ctx: &Ctx<'_>) -> Result<Terrain, OpError> {
        let frame = *window.frame();
        let level = self.level_for(frame.spacing_m());
        if level == 0 {
            return Ok(window);
        }
        let base = &self.coarse.base;
        let cols: Vec<f64> = (0..frame.cols()).map(|col| base.locate(frame.x_m(col), 0.0)[0]).collect();
        let rows: Vec<f64> = (0..frame.rows()).map(|row| base.locate(0.0, frame.y_m(row))[1]).collect();
        // On samples of the level its own values; between them smoother ones, as those would alternate with the place between.
        let cell = base.spacing_m().map(|d| d / (1u64 << level) as f64);
        let same = (0..2).all(|k| (cell[k] - frame.spacing_m()[k]).abs() < 1e-9 * cell[k]);
        let weights: Weights = if same { catmull_rom } else { b_spline };
        let fine = window.get(layer::HEIGHT)?;
        let mut height = fine.clone();
        let (wide, tall) = (frame.cols().div_ceil(PART), frame.rows().div_ceil(PART));
        for (i, (y, x)) in (0..tall).flat_map(|y| (0..wide).map(move |x| (y, x))).enumerate() {
            ctx.tick(i, wide * tall)?;
            let part_cols = x * PART..((x + 1) * PART).min(frame.cols());
            let part_rows = y * PART..((y + 1) * PART).min(frame.rows());
            let finished =
                self.finish((level, weights), &cols[part_cols.clone()], &rows[part_rows.clone()], ctx)?;
            for (i, row) in part_rows.clone().enumerate() {
                let Finished { change, coarse, worn } = &finished;
                let (change, coarse, worn) = (change.row(i), coarse.row(i), worn.row(i));
                let own = &fine.row(row)[part_cols.clone()];
                let out = &mut height.as_mut_slice()[row * frame.cols()..][part_cols.clone()];
                for i in 0..out.len() {
                    out[i] = own[i] - worn[i] * (own[i] - coarse[i]) + change[i];
                }
            }
        }
        window.set(layer::HEIGHT, height);
        Ok(window)
    }

    fn size_bytes(&self) -> usize {
        KEPT_BYTES + 12 * self.coarse.base.len() + self.coarse.height.size_bytes()
    }
}

/// Changes, coarse heights, and shares of the window's own unevenness that go.
struct Finished {
    change: Raster<f32>,
    coarse: Raster<f32>,
    worn: Raster<f32>,
}

impl Levels {
    /// What a part of a window is made from, whose columns and rows lie at these places of the recipe's frame.
    fn finish(
        &self,
        (level, weights): (u32, Weights),
        cols: &[f64],
        rows: &[f64],
        ctx: &Ctx<'_>,
    ) -> Result<Finished, OpError> {
        let scale = (1u64 << level) as f64;
        // Whole samples and what is left are separated before anything depends on where the window begins.
        let split = |at: &[f64]| -> Vec<(i64, [f32; 4])> {
            let split = |at: f64| (at.floor() as i64, weights((at - at.floor()) as f32));
            at.iter().map(|at| split(at * scale)).collect()
        };
        let (at_cols, at_rows) = (split(cols), split(rows));
        let span = |at: &[(i64, [f32; 4])]| {
            let low = at.iter().map(|at| at.0).min().unwrap_or(0) - 1;
            (low, (at.iter().map(|at| at.0).max().unwrap_or(0) + 2 - low + 1) as usize)
        };
        let ((col, wide), (row, tall)) = (span(&at_cols), span(&at_rows));
        let part = Part { level, col, row, cols: wide, rows: tall };
        self.ensure(part, ctx)?;
        let (change, _) = self.gather(part);
        let coarse = self.coarse.height.grid(cols, rows);
        let worn = self.coarse.worn.smooth_grid(&self.inside(0, cols), &self.inside(1, rows));
        // Along the columns once for all rows that need a line of the level.
        let mut along = Raster::filled(at_cols.len(), tall, 0.0);
        along.par_rows(|line, out| {
            let line = &change[line * wide..][..wide];
            for (out, (at_col, w)) in out.iter_mut().zip(&at_cols) {
                let v = &line[(at_col - col - 1) as usize..][..4];
                *out = w[0] * v[0] + w[1] * v[1] + w[2] * v[2] + w[3] * v[3];
            }
        });
        let mut change = Raster::filled(at_cols.len(), at_rows.len(), 0.0);
        change.par_rows(|r, out| {
            let (at_row, w) = &at_rows[r];
            let [a, b, c, d] = [0, 1, 2, 3].map(|k| along.row((at_row - row - 1) as usize + k));
            for (i, out) in out.iter_mut().enumerate() {
                *out = w[0] * a[i] + w[1] * b[i] + w[2] * c[i] + w[3] * d[i];
            }
        });
        Ok(Finished { change, coarse, worn })
    }
}

/// Weights of four samples in a row for a place between the second and third.
type Weights = fn(f32) -> [f32; 4];

fn b_spline(t: f32) -> [f32; 4] {
    let (t2, t3) = (t * t, t * t * t);
    let u = 1.0 - t;
    [
        u * u * u / 6.0,
        (3.0 * t3 - 6.0 * t2 + 4.0) / 6.0,
        (-3.0 * t3 + 3.0 * t2 + 3.0 * t + 1.0) / 6.0,
        t3 / 6.0,
    ]
}

fn catmull_rom(t: f32) -> [f32; 4] {
    let (t2, t3) = (t * t, t * t * t);
    [
        0.5 * (-t + 2.0 * t2 - t3),
        0.5 * (2.0 - 5.0 * t2 + 3.0 * t3),
        0.5 * (t + 4.0 * t2 - 3.0 * t3),
        0.5 * (-t2 + t3),
    ]
}
