//! Several time steps at once while the numbers are in the cache.
//!
//! The grid is cut into strips of columns and bands of rows. A tile is a strip of a band with a halo of two cells for
//! every step; it is stepped alone, and what its neighbours would have said reaches no further than the halo. Its rows
//! stream through a ring of a few rows: each is loaded once, every step follows the one before it two rows behind, and
//! after the last step the row is stored where it came from. So memory is read and written once for all steps of a pass. A
//! step goes along its rows by short stretches whose numbers fit the first cache. What a tile needs of its neighbours as it
//! was before the pass is kept aside: rows beside a band, columns beside a strip.
//!
//! ```text
//! row y + 1   heads from the old beds around and the old speeds of the pipes around
//! row y       pipes between rows y and y + 1: new speeds, what they move
//! row y       columns: water, load and ground after what the pipes of rows y - 1 and y moved
//! ```

use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use rayon::prelude::*;

use super::laws::{CellInput, Column, End, GRAVITY, Laws, larger};
use super::weather::Weather;
use crate::simd::{Level, dispatch};

/// Time steps a pass.
pub(super) const STEPS: usize = 8;
/// How far a step reaches, in cells.
const REACH: usize = 2;
/// Rows of a band that are worth a halo of their own.
const TALL: usize = 600;
/// Rows that one step does before the next one has its turn.
const TURN: usize = 5;
/// Rows in flight: a turn, what later steps are behind, and the rows around.
const RING: usize = 25;
const _: () = assert!(TURN + REACH * STEPS + 4 <= RING);

/// Numbers in a line of the cache; also the margin of a row, so that its first cell starts a line.
const LINE: usize = 16;
const WEST: usize = LINE - 1;
const EAST: usize = LINE + 1;
/// Cells of a row that are worked on together.
const STRETCH: usize = 16;
/// Stretches of a strip.
const STRIP: usize = 8;
/// Cells of a row with its margins. Not a power of two, so that rows above one another differ in their places in the cache.
const COLS: usize = 1072 + 2 * LINE;
/// Widest halo of a tile, in cells.
const HALO: usize = REACH * STEPS;
/// Most columns of a tile without its halo.
const WIDE: usize = COLS - 2 * LINE - 2 * HALO;

/// Most stretches of a row.
const MOST: usize = (COLS - 2 * LINE) / STRETCH;

/// A row in flight. Its margin on both sides is never alive. Vectors that straddle lines of the cache cost twice.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct Row([f32; COLS]);

/// A stretch of a row.
type Stretch = [f32; STRETCH];

impl Row {
    const EMPTY: Self = Self([0.0; COLS]);

    /// The stretch from a cell on; the first is that of the margin.
    #[inline(always)]
    fn at(&self, cell: usize) -> &Stretch {
        self.0[cell..].first_chunk().expect("no tile is wider than a row")
    }

    #[inline(always)]
    fn at_mut(&mut self, cell: usize) -> &mut Stretch {
        self.0[cell..].first_chunk_mut().expect("no tile is wider than a row")
    }
}

/// Planes of the state: rock, loose, water, load, and the speeds of four pipes.
pub(super) const PLANES: usize = 8;

/// The state on a grid with a ring of one cell around the land.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct State {
    pub cols: usize,
    pub rows: usize,
    pub planes: [Vec<f32>; PLANES],
}

impl State {
    pub fn new(cols: usize, rows: usize) -> Self {
        Self { cols, rows, planes: std::array::from_fn(|_| vec![0.0; cols * rows]) }
    }
}

/// What does not change: first height of the rock, whether a cell is land, and the cells that keep their ground, in order.
#[derive(Clone, Debug)]
pub(super) struct Fixed {
    pub base: Vec<f32>,
    pub live: Vec<u8>,
    pub held: Vec<usize>,
}

impl Fixed {
    /// The cells of a row that keep their ground, out of rows of `cols`.
    pub fn held_in(&self, row: usize, cols: usize) -> &[usize] {
        let first = |row: usize| self.held.partition_point(|&i| i < row * cols);
        &self.held[first(row)..first(row + 1)]
    }

    pub fn is_held(&self, cell: usize) -> bool {
        self.held.binary_search(&cell).is_ok()
    }
}

/// What a pass found.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Found {
    /// Depth of rain that fell on all cells together.
    pub rain: f64,
    /// Deepest water, in metres, and fastest flow, in m/s.
    pub deepest: f32,
    pub fastest: f32,
}

impl Found {
    /// Fastest that anything travels, in m/s: a wave on the fastest flow.
    pub fn speed(&self) -> f64 {
        (GRAVITY * f64::from(self.deepest)).sqrt() + f64::from(self.fastest)
    }
}

/// How the grid is cut. Nothing but the time depends on it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cut {
    pub wide: usize,
    pub tall: usize,
}

impl Cut {
    /// For a grid of a size and the available threads.
    pub fn of(cols: usize, rows: usize) -> Self {
        let threads = rayon::current_num_threads().max(1);
        let bands = threads * rows.div_ceil(threads * TALL);
        Self { wide: cols.div_ceil(cols.div_ceil(WIDE)), tall: rows.div_ceil(bands) }
    }
}

/// Buffers of threads, kept from pass to pass.
#[derive(Default)]
pub(super) struct Buffers(Mutex<Vec<Tile>>);

impl Buffers {
    fn take(&self) -> Tile {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).pop().unwrap_or_default()
    }

    fn give(&self, tile: Tile) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(tile);
    }
}

/// Rows beside a band as they were before the pass, those above it first.
struct Beside {
    above: usize,
    rows: [Vec<f32>; PLANES],
}

impl Beside {
    /// Rows within `halo` of a band of `tall` rows.
    fn of(state: &State, first: usize, tall: usize, halo: usize) -> Self {
        let [top, bottom] = [first.saturating_sub(halo), (first + tall + halo).min(state.rows)];
        let cells = |rows: Range<usize>| rows.start * state.cols..rows.end * state.cols;
        let rows = state
            .planes
            .each_ref()
            .map(|plane| [&plane[cells(top..first)], &plane[cells(first + tall..bottom)]].concat());
        Self { above: first - top, rows }
    }
}

/// Advances `state` by `steps` steps, at most [`STEPS`].
pub(super) fn pass(
    laws: &Laws,
    fixed: &Fixed,
    weather: &Weather<'_>,
    advect: bool,
    steps: usize,
    cut: Cut,
    buffers: &Buffers,
    stop: &(dyn Fn() -> bool + Sync),
    state: &mut State,
) -> Found {
    let (cols, rows) = (state.cols, state.rows);
    let level = Level::new();
    // Only the strip before is kept for the halo of a strip.
    let wide = cut.wide.clamp(HALO, WIDE);
    let bands = rows.div_ceil(cut.tall);
    let tall = |band: usize| cut.tall.min(rows - band * cut.tall);
    let beside = |band: usize| Beside::of(state, band * cut.tall, tall(band), REACH * steps);
    let beside: Vec<Beside> = (0..bands).into_par_iter().map(beside).collect();
    let mut parts = state.planes.each_mut().map(|plane| plane.chunks_mut(cols * cut.tall));
    let bands: Vec<([&mut [f32]; PLANES], Beside)> = beside
        .into_iter()
        .map(|beside| (parts.each_mut().map(|part| part.next().unwrap_or_default()), beside))
        .collect();
    // Rain is summed row by row, so that bands of any height give the same sum.
    let found: Vec<(Found, Vec<f64>)> = bands
        .into_par_iter()
        .enumerate()
        .map(|(band, (mut state, beside))| {
            let (mut found, first) = (Found::default(), band * cut.tall);
            let tall = tall(band);
            let mut rain = vec![0.0; tall];
            if stop() {
                return (found, rain);
            }
            let mut tile = buffers.take();
            for col in (0..cols).step_by(wide) {
                let core = [col, first, wide.min(cols - col), tall];
                let job =
                    Job { laws: *laws, fixed, weather, beside: &beside, grid: [cols, rows], core, steps };
                if advect {
                    dispatch!(level, _simd => tile.run::<true>(&job, &mut state, &mut rain, &mut found));
                } else {
                    dispatch!(level, _simd => tile.run::<false>(&job, &mut state, &mut rain, &mut found));
                }
            }
            buffers.give(tile);
            (found, rain)
        })
        .collect();
    let mut all = Found::default();
    for (one, rain) in found {
        all.rain = rain.iter().fold(all.rain, |sum, row| sum + row);
        all.deepest = larger(all.deepest, one.deepest);
        all.fastest = larger(all.fastest, one.fastest);
    }
    all.rain *= steps as f64;
    all
}

/// What a tile is to do.
struct Job<'a> {
    laws: Laws,
    fixed: &'a Fixed,
    weather: &'a Weather<'a>,
    beside: &'a Beside,
    /// Columns and rows of the grid.
    grid: [usize; 2],
    /// First column and row of the core in the grid, its columns and rows.
    core: [usize; 4],
    steps: usize,
}

/// Planes of a tile: those of the state, then base, bed, surface, live, rain, soft, sinks and stays.
const ALL: usize = PLANES + 8;
const BED: usize = 9;
const SURFACE: usize = 10;
const LIVE: usize = 11;
const RAIN: usize = 12;

impl Job<'_> {
    /// A row of the grid as it was before the pass, but for the strips that are done. `band`: the rows of the core.
    #[inline(always)]
    fn line<'a>(&'a self, band: &'a [&mut [f32]; PLANES], row: usize) -> [&'a [f32]; PLANES] {
        let ([cols, _], [_, first, _, tall]) = (self.grid, self.core);
        let Beside { above, rows } = self.beside;
        let line = |rows: &'a [f32], row: usize| &rows[row * cols..][..cols];
        if row < first {
            rows.each_ref().map(|rows| line(rows, row + above - first))
        } else if row < first + tall {
            band.each_ref().map(|rows| line(rows, row - first))
        } else {
            rows.each_ref().map(|rows| line(rows, row - first - tall + above))
        }
    }
}

/// The rows in flight.
struct Tile {
    cells: usize,
    /// The last columns of the strip before as they were before the pass, row by row.
    before: Vec<[[f32; HALO]; PLANES]>,
    planes: Box<[[Row; RING]; ALL]>,
    /// What lies between two rows of a step, for every step.
    between: Box<[Between; STEPS]>,
}

#[derive(Clone, Copy)]
struct Between {
    heads: [Heads; 3],
    moves: [Moves; 2],
    /// The load as it was; one row more, since the cells beside a strip see those of three.
    before: [Row; 4],
}

/// A row of cells as their pipes see them.
#[derive(Clone, Copy)]
struct Heads {
    energy: Row,
    /// Share of a speed that friction leaves.
    keeps: Row,
    /// Ground carried by each metre of water.
    load: Row,
    able: Row,
    yields: Row,
}

/// What a row of pipes moved.
#[derive(Clone, Copy)]
struct Moves {
    water: [Row; 4],
    ground: [Row; 4],
}

impl Between {
    const EMPTY: Self = Self {
        heads: [Heads {
            energy: Row::EMPTY,
            keeps: Row::EMPTY,
            load: Row::EMPTY,
            able: Row::EMPTY,
            yields: Row::EMPTY,
        }; 3],
        moves: [Moves { water: [Row::EMPTY; 4], ground: [Row::EMPTY; 4] }; 2],
        before: [Row::EMPTY; 4],
    };
}

impl Default for Tile {
    fn default() -> Self {
        let Ok(planes) = vec![[Row::EMPTY; RING]; ALL].try_into() else { unreachable!("so many") };
        let Ok(between) = vec![Between::EMPTY; STEPS].try_into() else { unreachable!("so many") };
        Self { cells: 0, before: Vec::new(), planes, between }
    }
}

/// The slot of a row in the ring; -1 is the row above the tile.
#[inline(always)]
fn slot(row: usize) -> usize {
    (row + 1) % RING
}

impl Tile {
    /// Makes ready for rows of `n` cells; what lies around the tile is empty.
    fn clear(&mut self, n: usize) {
        if n != self.cells {
            self.cells = n;
            self.planes.fill([Row::EMPTY; RING]);
            self.between.fill(Between::EMPTY);
            return;
        }
        // The row above the first; margins are never written.
        self.planes.iter_mut().for_each(|plane| plane[0] = Row::EMPTY);
        for between in self.between.iter_mut() {
            between.before[3] = Row::EMPTY;
            between.moves[1] = Between::EMPTY.moves[1];
        }
    }

    /// All steps of a pass on a tile.
    #[inline(always)]
    fn run<const ADVECT: bool>(
        &mut self,
        job: &Job<'_>,
        band: &mut [&mut [f32]; PLANES],
        rain: &mut [f64],
        found: &mut Found,
    ) {
        let ([cols, rows], halo) = (job.grid, REACH * job.steps);
        let [col, row, wide, tall] = job.core;
        let from = [col.saturating_sub(halo), row.saturating_sub(halo)];
        let to = [(col + wide + halo).min(cols), (row + tall + halo).min(rows)];
        let (n, rows) = (to[0] - from[0], to[1] - from[1]);
        let (left, top) = (col - from[0], row - from[1]);
        self.clear(n);
        self.before.resize(rows, [[0.0; HALO]; PLANES]);
        // Whole stretches: cells beyond the tile are empty and stay so.
        let stretches = n.div_ceil(STRETCH);
        let (mut loaded, mut stored, mut end) = (0, 0, 0);
        let mut reached = [0; STEPS];
        while stored < rows {
            end += TURN;
            while loaded < rows + 2 && loaded < end + 2 {
                self.load(job, band, from, n, loaded, rows);
                if loaded >= top && loaded < top + tall {
                    let fallen = &self.planes[RAIN][slot(loaded)].0[LINE + left..][..wide];
                    rain[loaded - top] += f64::from(sum(fallen));
                }
                loaded += 1;
            }
            for step in 0..job.steps {
                let until = end.saturating_sub(REACH * step).min(rows);
                let until = until.max(reached[step]);
                self.turn::<ADVECT>(&job.laws, step, reached[step]..until, stretches);
                reached[step] = until;
            }
            for row in stored..reached[job.steps - 1] {
                if row >= top && row < top + tall {
                    self.store(slot(row), row - top, cols, [left, col, wide], band, found);
                }
            }
            stored = reached[job.steps - 1];
        }
    }

    /// Loads a row of the tile; those below the last are empty.
    #[inline(always)]
    fn load(
        &mut self,
        job: &Job<'_>,
        band: &[&mut [f32]; PLANES],
        from: [usize; 2],
        n: usize,
        row: usize,
        rows: usize,
    ) {
        let slot = slot(row);
        if row >= rows {
            self.planes.iter_mut().for_each(|plane| plane[slot] = Row::EMPTY);
            return;
        }
        let ([cols, _], [col, _, wide, _]) = (job.grid, job.core);
        let line = job.line(band, from[1] + row);
        let [a, b, c, d, e, f, g, h, ..] = &mut *self.planes;
        let mut rings = [a, b, c, d, e, f, g, h].map(|plane| &mut plane[slot].0[LINE..LINE + n]);
        copy_rows(line.map(|line| &line[from[0]..][..n]), &mut rings);
        // The strip before has changed its columns already, and this one will change those that the next one sees.
        let (left, halo) = (col - from[0], REACH * job.steps);
        for (ring, before) in rings.iter_mut().zip(&mut self.before[row]) {
            ring[..left].copy_from_slice(&before[..left]);
            if col + wide < cols {
                before[..halo].copy_from_slice(&ring[left + wide - halo..][..halo]);
            }
        }
        let source = (from[1] + row) * cols + from[0];
        let source = source..source + n;
        let [rock, loose, water, _, _, _, _, _, base, bed, surface, live, rain, soft, sinks, stays] =
            self.planes.each_mut().map(|plane| &mut plane[slot].0[LINE..LINE + n]);
        base.copy_from_slice(&job.fixed.base[source.clone()]);
        for (live, &flag) in live.iter_mut().zip(&job.fixed.live[source]) {
            *live = f32::from(flag);
        }
        job.weather.fill(from[1] + row, from[0], live, rock, loose, rain, soft, sinks, stays);
        raise(base, live, rock, loose, water, bed, surface);
    }

    /// Stores a row of the core, and says how deep the water is there and how fast it flows.
    #[inline(always)]
    fn store(
        &self,
        slot: usize,
        row: usize,
        cols: usize,
        [left, col, wide]: [usize; 3],
        band: &mut [&mut [f32]; PLANES],
        found: &mut Found,
    ) {
        let core = |plane: usize| &self.planes[plane][slot].0[LINE + left..][..wide];
        let to = row * cols + col;
        let mut into = band.each_mut().map(|rows| &mut rows[to..to + wide]);
        copy_rows(std::array::from_fn(core), &mut into);
        let live = core(LIVE);
        found.deepest = larger(found.deepest, greatest(core(2), |i, d| d * live[i]));
        for plane in 4..PLANES {
            found.fastest = larger(found.fastest, greatest(core(plane), |_, v| v.abs()));
        }
    }

    /// One step on a few rows of the tile, strip by strip, so that a row finds in the first cache what the row above left.
    ///
    /// Heads are a stretch ahead of the pipes, which look a cell ahead. A strip leans to the west by a stretch with every row: so
    /// what it changes is nothing that the next strip has to see as it was.
    #[inline(always)]
    fn turn<const ADVECT: bool>(&mut self, laws: &Laws, step: usize, rows: Range<usize>, stretches: usize) {
        // Copied, so that the compiler sees that no row overlaps the laws; and no more stretches than a row has, so that it
        // checks no place in a row again.
        let (laws, stretches) = (&{ *laws }, stretches.min(MOST));
        if rows.start == 0 && !rows.is_empty() {
            for stretch in 0..stretches {
                self.rush::<ADVECT>(laws, step, 0, stretch * STRETCH);
                self.rub(laws, step, 0, stretch * STRETCH);
            }
        }
        let last = stretches + rows.len();
        for first in (0..last).step_by(STRIP) {
            for (lean, row) in rows.clone().enumerate() {
                let start = first.saturating_sub(lean).min(stretches);
                let end = (first + STRIP).saturating_sub(lean).min(stretches);
                for stretch in start..end {
                    self.rush::<ADVECT>(laws, step, row + 1, stretch * STRETCH);
                }
                for stretch in start..end {
                    self.rub(laws, step, row + 1, stretch * STRETCH);
                }
                // Pipes look a cell ahead.
                let start = first.saturating_sub(lean + 1).min(stretches);
                let end = (first + STRIP).saturating_sub(lean + 1).min(stretches);
                for stretch in start..end {
                    self.pipes(laws, step, row, stretch * STRETCH);
                }
                for stretch in start..end {
                    if ADVECT {
                        self.trace(laws, step, row, stretch * STRETCH);
                    }
                    self.columns::<ADVECT>(laws, step, row, stretch * STRETCH);
                }
            }
        }
    }

    /// Speeds and slopes; they stand where later what flows is able to carry and what friction leaves.
    #[inline(always)]
    fn rush<const ADVECT: bool>(&mut self, laws: &Laws, step: usize, row: usize, at: usize) {
        // The slot above row 0 is that of row -1.
        let [north, here, south] = [row % RING, slot(row), slot(row + 1)];
        let Between { heads, before, .. } = &mut self.between[step];
        let heads = &mut heads[row % 3];
        let planes = &*self.planes;
        let bed = |slot: usize, shift: usize| planes[BED][slot].at(at + shift);
        let own = |plane: usize| planes[plane][here].at(at + LINE);
        rush_loop(
            *laws,
            bed(here, LINE),
            [
                bed(here, WEST),
                bed(here, EAST),
                bed(north, LINE),
                bed(south, LINE),
                bed(north, WEST),
                bed(north, EAST),
                bed(south, WEST),
                bed(south, EAST),
            ],
            own(SURFACE),
            own(LIVE),
            [own(4), own(5), own(6), own(7)],
            [
                planes[4][here].at(at + WEST),
                planes[5][north].at(at + LINE),
                planes[6][north].at(at + WEST),
                planes[7][north].at(at + EAST),
            ],
            heads.energy.at_mut(at + LINE),
            heads.able.at_mut(at + LINE),
            heads.keeps.at_mut(at + LINE),
            heads.yields.at_mut(at + LINE),
        );
        if ADVECT {
            *before[row % 4].at_mut(at + LINE) = *own(3);
        }
    }

    /// What friction leaves, the load a metre and what could be carried.
    #[inline(always)]
    fn rub(&mut self, laws: &Laws, step: usize, row: usize, at: usize) {
        let here = slot(row);
        let heads = &mut self.between[step].heads[row % 3];
        let planes = &*self.planes;
        rub_loop(
            *laws,
            planes[2][here].at(at + LINE),
            planes[3][here].at(at + LINE),
            heads.able.at_mut(at + LINE),
            heads.keeps.at_mut(at + LINE),
            heads.load.at_mut(at + LINE),
        );
    }

    /// Pipes that the cells of a row own.
    #[inline(always)]
    fn pipes(&mut self, laws: &Laws, step: usize, row: usize, at: usize) {
        let [here, south] = [slot(row), slot(row + 1)];
        let Between { heads, moves, .. } = &mut self.between[step];
        let (now, below) = (&heads[row % 3], &heads[(row + 1) % 3]);
        let moves = &mut moves[row % 2];
        let [_, _, _, _, e, s, se, sw, _, bed, surface, ..] = &mut *self.planes;
        let (bed, surface) = (&*bed, &*surface);
        let ends = |heads, line: usize, shift: usize| ends(&bed[line], &surface[line], heads, at + shift);
        let Moves { water: [w0, w1, w2, w3], ground: [g0, g1, g2, g3] } = moves;
        pipe_loop(
            *laws,
            ends(now, here, LINE),
            [
                ends(now, here, EAST),
                ends(below, south, LINE),
                ends(below, south, EAST),
                ends(below, south, WEST),
            ],
            e[here].at_mut(at + LINE),
            s[here].at_mut(at + LINE),
            se[here].at_mut(at + LINE),
            sw[here].at_mut(at + LINE),
            w0.at_mut(at + LINE),
            w1.at_mut(at + LINE),
            w2.at_mut(at + LINE),
            w3.at_mut(at + LINE),
            g0.at_mut(at + LINE),
            g1.at_mut(at + LINE),
            g2.at_mut(at + LINE),
            g3.at_mut(at + LINE),
        );
    }

    /// The load traced back along the speed.
    #[inline(always)]
    fn trace(&mut self, laws: &Laws, step: usize, row: usize, at: usize) {
        let [north, here] = [row % RING, slot(row)];
        let before = &self.between[step].before;
        let [up, line, low] = [&before[(row + 3) % 4], &before[row % 4], &before[(row + 1) % 4]];
        let [_, _, _, load, e, s, se, sw, ..] = &mut *self.planes;
        trace_loop(
            *laws,
            [
                [up.at(at + WEST), up.at(at + LINE), up.at(at + EAST)],
                [line.at(at + WEST), line.at(at + LINE), line.at(at + EAST)],
                [low.at(at + WEST), low.at(at + LINE), low.at(at + EAST)],
            ],
            [e[here].at(at + LINE), s[here].at(at + LINE), se[here].at(at + LINE), sw[here].at(at + LINE)],
            [e[here].at(at + WEST), s[north].at(at + LINE), se[north].at(at + WEST), sw[north].at(at + EAST)],
            load[here].at_mut(at + LINE),
        );
    }

    /// Water, load and ground of a row after its pipes and those of the row above.
    #[inline(always)]
    fn columns<const ADVECT: bool>(&mut self, laws: &Laws, step: usize, row: usize, at: usize) {
        let here = slot(row);
        let Between { heads, moves, .. } = &self.between[step];
        let (head, own, above) = (&heads[row % 3], &moves[row % 2], &moves[(row + 1) % 2]);
        let [rock, loose, water, load, _, _, _, _, base, bed, surface, live, rain, soft, sinks, stays] =
            &mut *self.planes;
        column_loop::<ADVECT>(
            *laws,
            base[here].at(at + LINE),
            [
                live[here].at(at + LINE),
                rain[here].at(at + LINE),
                soft[here].at(at + LINE),
                sinks[here].at(at + LINE),
                stays[here].at(at + LINE),
            ],
            [head.able.at(at + LINE), head.yields.at(at + LINE)],
            [
                own.water[0].at(at + LINE),
                own.water[1].at(at + LINE),
                own.water[2].at(at + LINE),
                own.water[3].at(at + LINE),
            ],
            [
                own.water[0].at(at + WEST),
                above.water[1].at(at + LINE),
                above.water[2].at(at + WEST),
                above.water[3].at(at + EAST),
            ],
            [
                own.ground[0].at(at + LINE),
                own.ground[1].at(at + LINE),
                own.ground[2].at(at + LINE),
                own.ground[3].at(at + LINE),
            ],
            [
                own.ground[0].at(at + WEST),
                above.ground[1].at(at + LINE),
                above.ground[2].at(at + WEST),
                above.ground[3].at(at + EAST),
            ],
            rock[here].at_mut(at + LINE),
            loose[here].at_mut(at + LINE),
            water[here].at_mut(at + LINE),
            load[here].at_mut(at + LINE),
            bed[here].at_mut(at + LINE),
            surface[here].at_mut(at + LINE),
        );
    }
}

/// Copies rows line by line, a line of each in turn: so all of them come from memory at once.
#[inline(always)]
fn copy_rows(from: [&[f32]; PLANES], to: &mut [&mut [f32]; PLANES]) {
    let n = from[0].len();
    let whole = n - n % LINE;
    for at in (0..whole).step_by(LINE) {
        for plane in 0..PLANES {
            to[plane][at..at + LINE].copy_from_slice(&from[plane][at..at + LINE]);
        }
    }
    for plane in 0..PLANES {
        to[plane][whole..].copy_from_slice(&from[plane][whole..]);
    }
}

/// Sum of a few values in a fixed order.
#[inline(always)]
fn sum(values: &[f32]) -> f32 {
    let (parts, rest) = values.as_chunks::<16>();
    let mut sums = [0.0f32; 16];
    for part in parts {
        for i in 0..16 {
            sums[i] += part[i];
        }
    }
    sums.iter().chain(rest).sum()
}

/// The greatest of values that are made of a slice, at least 0.
#[inline(always)]
fn greatest(values: &[f32], f: impl Fn(usize, f32) -> f32) -> f32 {
    let (parts, rest) = values.as_chunks::<16>();
    let mut most = [0.0f32; 16];
    for (at, part) in parts.iter().enumerate() {
        for i in 0..16 {
            most[i] = larger(f(at * 16 + i, part[i]), most[i]);
        }
    }
    for (i, &v) in rest.iter().enumerate() {
        most[0] = larger(f(parts.len() * 16 + i, v), most[0]);
    }
    most.into_iter().fold(0.0, larger)
}

/// What pipes see of the cells from one on.
#[inline(always)]
fn ends<'a>(bed: &'a Row, surface: &'a Row, heads: &'a Heads, cell: usize) -> [&'a Stretch; 5] {
    [bed.at(cell), surface.at(cell), heads.energy.at(cell), heads.keeps.at(cell), heads.load.at(cell)]
}

// What a loop writes is a parameter of its own: that tells the compiler that nothing else overlaps it, without which it
// would not make vector code of the loop.

#[inline(always)]
fn raise(
    base: &[f32],
    live: &[f32],
    rock: &[f32],
    loose: &[f32],
    water: &[f32],
    bed: &mut [f32],
    surface: &mut [f32],
) {
    let n = base.len();
    let (live, rock, loose, water) = (&live[..n], &rock[..n], &loose[..n], &water[..n]);
    let (bed, surface) = (&mut bed[..n], &mut surface[..n]);
    for i in 0..n {
        let ground = base[i] + (rock[i] + loose[i]);
        bed[i] = ground;
        surface[i] = ground + live[i] * water[i];
    }
}

#[inline(always)]
fn rush_loop(
    laws: Laws,
    bed: &Stretch,
    beds: [&Stretch; 8],
    level: &Stretch,
    live: &Stretch,
    out: [&Stretch; 4],
    into: [&Stretch; 4],
    energy: &mut Stretch,
    speed: &mut Stretch,
    steep: &mut Stretch,
    yields: &mut Stretch,
) {
    for i in 0..STRETCH {
        let square = laws.square(
            [out[0][i], out[1][i], out[2][i], out[3][i]],
            [into[0][i], into[1][i], into[2][i], into[3][i]],
        );
        energy[i] = laws.energy(level[i], live[i], square);
        speed[i] = square.sqrt();
        let beds =
            [beds[0][i], beds[1][i], beds[2][i], beds[3][i], beds[4][i], beds[5][i], beds[6][i], beds[7][i]];
        (steep[i], yields[i]) = laws.steep(bed[i], beds);
    }
}

#[inline(always)]
fn rub_loop(
    laws: Laws,
    water: &Stretch,
    load: &Stretch,
    able: &mut Stretch,
    keeps: &mut Stretch,
    carried: &mut Stretch,
) {
    for i in 0..STRETCH {
        let (speed, steep) = (able[i], keeps[i]);
        let sum = laws.rubbed(water[i], speed, steep);
        able[i] = laws.able(speed, steep);
        (keeps[i], carried[i]) = Laws::left(water[i], load[i], sum);
    }
}

#[inline(always)]
fn pipe_loop(
    laws: Laws,
    a: [&Stretch; 5],
    z: [[&Stretch; 5]; 4],
    e: &mut Stretch,
    s: &mut Stretch,
    se: &mut Stretch,
    sw: &mut Stretch,
    w0: &mut Stretch,
    w1: &mut Stretch,
    w2: &mut Stretch,
    w3: &mut Stretch,
    g0: &mut Stretch,
    g1: &mut Stretch,
    g2: &mut Stretch,
    g3: &mut Stretch,
) {
    for i in 0..STRETCH {
        let end = |rows: [&Stretch; 5]| End {
            bed: rows[0][i],
            surface: rows[1][i],
            energy: rows[2][i],
            keeps: rows[3][i],
            load: rows[4][i],
        };
        let a = end(a);
        let moved = [
            laws.pipe(0, e[i], a, end(z[0])),
            laws.pipe(1, s[i], a, end(z[1])),
            laws.pipe(2, se[i], a, end(z[2])),
            laws.pipe(3, sw[i], a, end(z[3])),
        ];
        (e[i], s[i], se[i], sw[i]) = (moved[0].speed, moved[1].speed, moved[2].speed, moved[3].speed);
        (w0[i], w1[i], w2[i], w3[i]) = (moved[0].water, moved[1].water, moved[2].water, moved[3].water);
        (g0[i], g1[i], g2[i], g3[i]) = (moved[0].ground, moved[1].ground, moved[2].ground, moved[3].ground);
    }
}

/// Rows with their left and right neighbours: above, the row itself, below.
#[inline(always)]
fn trace_loop(
    laws: Laws,
    [up, line, low]: [[&Stretch; 3]; 3],
    out: [&Stretch; 4],
    into: [&Stretch; 4],
    load: &mut Stretch,
) {
    for i in 0..STRETCH {
        let [x, y] = laws.comes_from(
            [out[0][i], out[1][i], out[2][i], out[3][i]],
            [into[0][i], into[1][i], into[2][i], into[3][i]],
        );
        load[i] = Laws::traced(
            x,
            y,
            [up[0][i], up[1][i], up[2][i]],
            [line[0][i], line[1][i], line[2][i]],
            [low[0][i], low[1][i], low[2][i]],
        );
    }
}

#[inline(always)]
fn column_loop<const ADVECT: bool>(
    laws: Laws,
    base: &Stretch,
    [live, rain, soft, sinks, stays]: [&Stretch; 5],
    [able, yields]: [&Stretch; 2],
    out: [&Stretch; 4],
    into: [&Stretch; 4],
    gone: [&Stretch; 4],
    come: [&Stretch; 4],
    rock: &mut Stretch,
    loose: &mut Stretch,
    water: &mut Stretch,
    load: &mut Stretch,
    bed: &mut Stretch,
    surface: &mut Stretch,
) {
    // First what flows, then what becomes of the ground: two short loops need fewer registers than a long one.
    for i in 0..STRETCH {
        bed[i] = Laws::leaves(
            [out[0][i], out[1][i], out[2][i], out[3][i]],
            [into[0][i], into[1][i], into[2][i], into[3][i]],
        );
    }
    if !ADVECT {
        for i in 0..STRETCH {
            load[i] -= Laws::leaves(
                [gone[0][i], gone[1][i], gone[2][i], gone[3][i]],
                [come[0][i], come[1][i], come[2][i], come[3][i]],
            );
        }
    }
    for i in 0..STRETCH {
        let was = Column { rock: rock[i], loose: loose[i], water: water[i], load: load[i] };
        let given =
            CellInput { live: live[i], rain: rain[i], soft: soft[i], sinks: sinks[i], stays: stays[i] };
        let is = laws.column(was, given, bed[i], was.load, able[i], yields[i]);
        rock[i] = is.rock;
        loose[i] = is.loose;
        water[i] = is.water;
        load[i] = is.load;
        let ground = base[i] + (is.rock + is.loose);
        bed[i] = ground;
        surface[i] = ground + live[i] * is.water;
    }
}
