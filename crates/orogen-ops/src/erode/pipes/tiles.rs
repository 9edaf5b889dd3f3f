//! Several time steps at once while the numbers are in the cache.
//!
//! The grid is cut into strips of columns and bands of rows. A tile is a strip of a band with a halo of two cells for
//! every step; it is stepped alone, and what its neighbours would have said reaches no further than the halo. Its rows
//! stream through a ring of a few rows: each is loaded once, every step follows the one before it two rows behind, and
//! after the last step the row is stored. So memory is read and written once for all steps of a pass.
//!
//! ```text
//! row y + 1   heads from the old beds around and the old speeds of the pipes around
//! row y       pipes between rows y and y + 1: new speeds, what they move
//! row y       columns: water, load and ground after what the pipes of rows y - 1 and y moved
//! ```

use std::ops::{Deref, DerefMut};
use std::sync::{Mutex, PoisonError};

use fearless_simd::{Level, dispatch};
use rayon::prelude::*;

use super::laws::{Column, End, GRAVITY, Given, Laws, larger};
use super::weather::Weather;

/// Time steps a pass.
pub(super) const STEPS: usize = 8;
/// How far a step reaches, in cells.
const REACH: usize = 2;
/// Most columns of a tile without its halo: long rows are worth more than a small cache.
const WIDE: usize = 1100;
/// Rows of a band that are worth a halo of their own.
const TALL: usize = 600;
/// Rows that one step does before the next one has its turn.
const TURN: usize = 6;
/// Rows in flight: a turn, what later steps are behind, and the rows around.
const RING: usize = 32;
const _: () = assert!(TURN + REACH * STEPS + 4 <= RING);

/// Numbers in a line of the cache; also the margin of a row, so that its first cell starts a line.
const LINE: usize = 16;
const WEST: usize = LINE - 1;
const EAST: usize = LINE + 1;

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
    /// For a grid of a size and the threads at hand.
    pub fn of(cols: usize, rows: usize) -> Self {
        let threads = rayon::current_num_threads().max(1);
        let bands = threads * rows.div_ceil(threads * TALL);
        Self { wide: cols.div_ceil(cols.div_ceil(WIDE)), tall: rows.div_ceil(bands) }
    }
}

/// Buffers of threads, kept from pass to pass.
#[derive(Default)]
pub(super) struct Buffers(Mutex<Vec<Box<Tile>>>);

impl Buffers {
    fn take(&self) -> Box<Tile> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).pop().unwrap_or_default()
    }

    fn give(&self, tile: Box<Tile>) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(tile);
    }
}

/// Advances `now` by `steps` steps, at most [`STEPS`], into `next`.
pub(super) fn pass(
    laws: &Laws,
    fixed: &Fixed,
    weather: &Weather<'_>,
    advect: bool,
    steps: usize,
    cut: Cut,
    buffers: &Buffers,
    now: &State,
    next: &mut State,
) -> Found {
    let (cols, rows) = (now.cols, now.rows);
    let level = Level::new();
    let bands = rows.div_ceil(cut.tall);
    let mut parts = next.planes.each_mut().map(|plane| plane.chunks_mut(cols * cut.tall));
    let bands: Vec<[&mut [f32]; PLANES]> =
        (0..bands).map(|_| parts.each_mut().map(|part| part.next().unwrap_or_default())).collect();
    // Rain is summed row by row, so that bands of any height give the same sum.
    let found: Vec<(Found, Vec<f64>)> = bands
        .into_par_iter()
        .enumerate()
        .map(|(band, mut out)| {
            let (mut found, first) = (Found::default(), band * cut.tall);
            let tall = cut.tall.min(rows - first);
            let mut rain = vec![0.0; tall];
            let mut tile = buffers.take();
            for col in (0..cols).step_by(cut.wide) {
                let core = [col, first, cut.wide.min(cols - col), tall];
                let job = Job { laws: *laws, fixed, weather, now, core, steps };
                if advect {
                    dispatch!(level, _simd => tile.run::<true>(&job, &mut out, &mut rain, &mut found));
                } else {
                    dispatch!(level, _simd => tile.run::<false>(&job, &mut out, &mut rain, &mut found));
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
    now: &'a State,
    /// First column and row of the core in the grid, its columns and rows.
    core: [usize; 4],
    steps: usize,
}

/// Numbers that start at the beginning of a line of the cache: vectors that straddle lines cost twice.
#[derive(Default)]
struct Rows {
    start: usize,
    data: Vec<f32>,
}

impl Rows {
    /// So many zeros.
    fn clear(&mut self, n: usize) {
        self.data.clear();
        self.data.resize(n + LINE, 0.0);
        self.start = self.data.as_ptr().align_offset(4 * LINE).min(LINE);
    }
}

impl Deref for Rows {
    type Target = [f32];

    #[inline(always)]
    fn deref(&self) -> &[f32] {
        &self.data[self.start..]
    }
}

impl DerefMut for Rows {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut [f32] {
        &mut self.data[self.start..]
    }
}

/// The rows in flight. Rows have a margin on both sides that is never alive.
#[derive(Default)]
struct Tile {
    cells: usize,
    stride: usize,
    state: [Rows; PLANES],
    base: Rows,
    bed: Rows,
    surface: Rows,
    live: Rows,
    rain: Rows,
    soft: Rows,
    sinks: Rows,
    stays: Rows,
    /// What lies between two rows of a step, for every step.
    between: [Between; STEPS],
}

#[derive(Default)]
struct Between {
    heads: [Heads; 3],
    moves: [Moves; 2],
}

/// A row of heads, and the load as it was.
#[derive(Default)]
struct Heads {
    energy: Rows,
    keeps: Rows,
    load: Rows,
    able: Rows,
    yields: Rows,
    before: Rows,
}

/// What a row of pipes moved.
#[derive(Default)]
struct Moves {
    water: [Rows; 4],
    ground: [Rows; 4],
}

impl Heads {
    fn rows(&mut self) -> [&mut Rows; 6] {
        [
            &mut self.energy,
            &mut self.keeps,
            &mut self.load,
            &mut self.able,
            &mut self.yields,
            &mut self.before,
        ]
    }
}

/// The slot of a row in the ring; -1 is the row above the tile.
#[inline(always)]
fn slot(row: usize) -> usize {
    (row + 1) % RING
}

impl Tile {
    /// Makes room for rows of `n` cells; what lies around the tile is empty.
    fn clear(&mut self, n: usize) {
        if n == self.cells {
            // The row above the first; margins are never written.
            let above = 0..self.stride;
            for plane in self.state.iter_mut().chain([&mut self.bed, &mut self.surface, &mut self.live]) {
                plane[above.clone()].fill(0.0);
            }
            for between in &mut self.between {
                between.heads[2].before.fill(0.0);
                let moves = &mut between.moves[1];
                moves.water.iter_mut().chain(&mut moves.ground).for_each(|row| row.fill(0.0));
            }
            return;
        }
        self.cells = n;
        self.stride = n.next_multiple_of(LINE) + 2 * LINE;
        let (line, all) = (self.stride, RING * self.stride);
        for plane in self.state.iter_mut().chain([
            &mut self.base,
            &mut self.bed,
            &mut self.surface,
            &mut self.live,
            &mut self.rain,
            &mut self.soft,
            &mut self.sinks,
            &mut self.stays,
        ]) {
            plane.clear(all);
        }
        for between in &mut self.between {
            for heads in &mut between.heads {
                heads.rows().into_iter().for_each(|row| row.clear(line));
            }
            for moves in &mut between.moves {
                moves.water.iter_mut().chain(&mut moves.ground).for_each(|row| row.clear(line));
            }
        }
    }

    /// All steps of a pass on a tile.
    #[inline(always)]
    fn run<const ADVECT: bool>(
        &mut self,
        job: &Job<'_>,
        out: &mut [&mut [f32]; PLANES],
        rain: &mut [f64],
        found: &mut Found,
    ) {
        let (now, halo) = (job.now, REACH * job.steps);
        let [col, row, wide, tall] = job.core;
        let from = [col.saturating_sub(halo), row.saturating_sub(halo)];
        let to = [(col + wide + halo).min(now.cols), (row + tall + halo).min(now.rows)];
        let (n, rows) = (to[0] - from[0], to[1] - from[1]);
        let (left, top) = (col - from[0], row - from[1]);
        self.clear(n);
        // Whole vectors: cells beyond the tile are empty and stay so.
        let whole = n.next_multiple_of(LINE);
        let (mut loaded, mut stored, mut end) = (0, 0, 0);
        let mut reached = [0; STEPS];
        while stored < rows {
            end += TURN;
            while loaded < rows + 2 && loaded < end + 2 {
                self.load(job, from, n, loaded, rows);
                if loaded >= top && loaded < top + tall {
                    let at = slot(loaded) * self.stride + LINE + left;
                    rain[loaded - top] += f64::from(sum(&self.rain[at..at + wide]));
                }
                loaded += 1;
            }
            for step in 0..job.steps {
                let until = end.saturating_sub(REACH * step).min(rows);
                for row in reached[step]..until {
                    self.step::<ADVECT>(&job.laws, step, row, whole);
                }
                reached[step] = until.max(reached[step]);
            }
            for row in stored..reached[job.steps - 1] {
                if row >= top && row < top + tall {
                    self.store(slot(row), row - top, now.cols, [left, col, wide], out, found);
                }
            }
            stored = reached[job.steps - 1];
        }
    }

    /// Loads a row of the tile; those below the last are empty.
    #[inline(always)]
    fn load(&mut self, job: &Job<'_>, from: [usize; 2], n: usize, row: usize, rows: usize) {
        let at = slot(row) * self.stride + LINE;
        let to = at..at + n;
        if row >= rows {
            for plane in self.state.iter_mut().chain([&mut self.bed, &mut self.surface, &mut self.live]) {
                plane[to.clone()].fill(0.0);
            }
            return;
        }
        let source = (from[1] + row) * job.now.cols + from[0];
        let source = source..source + n;
        for (plane, whole) in self.state.iter_mut().zip(&job.now.planes) {
            plane[to.clone()].copy_from_slice(&whole[source.clone()]);
        }
        self.base[to.clone()].copy_from_slice(&job.fixed.base[source.clone()]);
        for (live, &flag) in self.live[to.clone()].iter_mut().zip(&job.fixed.live[source]) {
            *live = f32::from(flag);
        }
        let [rock, loose, water, ..] = &self.state;
        let (rock, loose, live) = (&rock[to.clone()], &loose[to.clone()], &self.live[to.clone()]);
        job.weather.fill(
            from[1] + row,
            from[0],
            live,
            rock,
            loose,
            &mut self.rain[to.clone()],
            &mut self.soft[to.clone()],
            &mut self.sinks[to.clone()],
            &mut self.stays[to.clone()],
        );
        let (base, water) = (&self.base[to.clone()], &water[to.clone()]);
        raise(base, live, rock, loose, water, &mut self.bed[to.clone()], &mut self.surface[to]);
    }

    /// Stores a row of the core, and says how deep the water is there and how fast it flows.
    #[inline(always)]
    fn store(
        &self,
        slot: usize,
        row: usize,
        cols: usize,
        [left, col, wide]: [usize; 3],
        out: &mut [&mut [f32]; PLANES],
        found: &mut Found,
    ) {
        let (from, to) = (slot * self.stride + LINE + left, row * cols + col);
        for (plane, whole) in self.state.iter().zip(out.iter_mut()) {
            whole[to..to + wide].copy_from_slice(&plane[from..from + wide]);
        }
        let (water, live) = (&self.state[2][from..from + wide], &self.live[from..from + wide]);
        found.deepest = larger(found.deepest, greatest(water, |i, d| d * live[i]));
        for plane in &self.state[4..] {
            found.fastest = larger(found.fastest, greatest(&plane[from..from + wide], |_, v| v.abs()));
        }
    }

    /// One step on a row of the tile.
    #[inline(always)]
    fn step<const ADVECT: bool>(&mut self, laws: &Laws, step: usize, row: usize, n: usize) {
        if row == 0 {
            self.head_row(laws, step, 0, n);
        }
        self.head_row(laws, step, row + 1, n);
        self.pipe_row(laws, step, row, n);
        if ADVECT {
            self.trace_row(laws, step, row, n);
        }
        self.column_row::<ADVECT>(laws, step, row, n);
    }

    #[inline(always)]
    fn head_row(&mut self, laws: &Laws, step: usize, row: usize, n: usize) {
        let stride = self.stride;
        // The slot above row 0 is that of row -1.
        let [north, here, south] = [(row + RING) % RING, slot(row), slot(row + 1)].map(|s| s * stride);
        let heads = &mut self.between[step].heads[row % 3];
        let bed = |line: usize, shift: usize| &self.bed[line + shift..][..n];
        let own = |plane: usize| &self.state[plane][here + LINE..][..n];
        head_loop(
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
            &self.surface[here + LINE..][..n],
            &self.live[here + LINE..][..n],
            own(2),
            own(3),
            [own(4), own(5), own(6), own(7)],
            [
                &self.state[4][here + WEST..][..n],
                &self.state[5][north + LINE..][..n],
                &self.state[6][north + WEST..][..n],
                &self.state[7][north + EAST..][..n],
            ],
            &mut heads.energy[LINE..][..n],
            &mut heads.keeps[LINE..][..n],
            &mut heads.load[LINE..][..n],
            &mut heads.able[LINE..][..n],
            &mut heads.yields[LINE..][..n],
            &mut heads.before[LINE..][..n],
        );
    }

    /// Pipes that the cells of a row own.
    #[inline(always)]
    fn pipe_row(&mut self, laws: &Laws, step: usize, row: usize, n: usize) {
        let [here, south] = [slot(row), slot(row + 1)].map(|s| s * self.stride);
        let Between { heads, moves } = &mut self.between[step];
        let (now, below) = (&heads[row % 3], &heads[(row + 1) % 3]);
        let moves = &mut moves[row % 2];
        for k in 0..4 {
            let (other, line, shift) =
                [(now, here, EAST), (below, south, LINE), (below, south, EAST), (below, south, WEST)][k];
            pipe_loop(
                *laws,
                k,
                &self.bed[here + LINE..][..n],
                &self.surface[here + LINE..][..n],
                &now.energy[LINE..][..n],
                &now.keeps[LINE..][..n],
                &now.load[LINE..][..n],
                &self.bed[line + shift..][..n],
                &self.surface[line + shift..][..n],
                &other.energy[shift..][..n],
                &other.keeps[shift..][..n],
                &other.load[shift..][..n],
                &mut self.state[4 + k][here + LINE..][..n],
                &mut moves.water[k][LINE..][..n],
                &mut moves.ground[k][LINE..][..n],
            );
        }
    }

    /// The load of a row traced back along the speed.
    #[inline(always)]
    fn trace_row(&mut self, laws: &Laws, step: usize, row: usize, n: usize) {
        let [north, here] = [(row + RING) % RING, slot(row)].map(|s| s * self.stride);
        let heads = &self.between[step].heads;
        let [up, line, low] = [row + 2, row, row + 1].map(|r| &heads[r % 3].before);
        let [_, _, _, load, e, s, se, sw] = &mut self.state;
        trace_loop(
            *laws,
            [&up[WEST..], &up[LINE..], &up[EAST..]],
            [&line[WEST..], &line[LINE..], &line[EAST..]],
            [&low[WEST..], &low[LINE..], &low[EAST..]],
            [
                &e[here + LINE..][..n],
                &s[here + LINE..][..n],
                &se[here + LINE..][..n],
                &sw[here + LINE..][..n],
            ],
            [
                &e[here + WEST..][..n],
                &s[north + LINE..][..n],
                &se[north + WEST..][..n],
                &sw[north + EAST..][..n],
            ],
            &mut load[here + LINE..][..n],
        );
    }

    /// Water, load and ground of a row after its pipes and those of the row above.
    #[inline(always)]
    fn column_row<const ADVECT: bool>(&mut self, laws: &Laws, step: usize, row: usize, n: usize) {
        let here = slot(row) * self.stride + LINE;
        let Between { heads, moves } = &self.between[step];
        let (head, own, above) = (&heads[row % 3], &moves[row % 2], &moves[(row + 1) % 2]);
        let [rock, loose, water, load, ..] = &mut self.state;
        column_loop::<ADVECT>(
            *laws,
            &self.base[here..][..n],
            [
                &self.live[here..],
                &self.rain[here..],
                &self.soft[here..],
                &self.sinks[here..],
                &self.stays[here..],
            ],
            [&head.able[LINE..], &head.yields[LINE..]],
            [&own.water[0][LINE..], &own.water[1][LINE..], &own.water[2][LINE..], &own.water[3][LINE..]],
            [
                &own.water[0][WEST..],
                &above.water[1][LINE..],
                &above.water[2][WEST..],
                &above.water[3][EAST..],
            ],
            [&own.ground[0][LINE..], &own.ground[1][LINE..], &own.ground[2][LINE..], &own.ground[3][LINE..]],
            [
                &own.ground[0][WEST..],
                &above.ground[1][LINE..],
                &above.ground[2][WEST..],
                &above.ground[3][EAST..],
            ],
            &mut rock[here..][..n],
            &mut loose[here..][..n],
            &mut water[here..][..n],
            &mut load[here..][..n],
            &mut self.bed[here..][..n],
            &mut self.surface[here..][..n],
        );
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

// What a loop writes is a parameter of its own: that tells the compiler that nothing else overlaps it, without which it
// would not make vector code of the loop.

/// The same rows, all of one length as the compiler sees.
#[inline(always)]
fn cut4([a, b, c, d]: [&[f32]; 4], n: usize) -> [&[f32]; 4] {
    [&a[..n], &b[..n], &c[..n], &d[..n]]
}

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
fn head_loop(
    laws: Laws,
    bed: &[f32],
    beds: [&[f32]; 8],
    level: &[f32],
    live: &[f32],
    water: &[f32],
    load: &[f32],
    out: [&[f32]; 4],
    into: [&[f32]; 4],
    energy: &mut [f32],
    keeps: &mut [f32],
    carried: &mut [f32],
    able: &mut [f32],
    yields: &mut [f32],
    before: &mut [f32],
) {
    let n = bed.len();
    let [bw, be, bn, bs, bnw, bne, bsw, bse] = beds;
    let beds = [&bw[..n], &be[..n], &bn[..n], &bs[..n], &bnw[..n], &bne[..n], &bsw[..n], &bse[..n]];
    let (level, live, water, load) = (&level[..n], &live[..n], &water[..n], &load[..n]);
    let (out, into) = (cut4(out, n), cut4(into, n));
    let (energy, keeps, carried) = (&mut energy[..n], &mut keeps[..n], &mut carried[..n]);
    let (able, yields, before) = (&mut able[..n], &mut yields[..n], &mut before[..n]);
    for i in 0..n {
        let head = laws.head(
            bed[i],
            [beds[0][i], beds[1][i], beds[2][i], beds[3][i], beds[4][i], beds[5][i], beds[6][i], beds[7][i]],
            level[i],
            live[i],
            water[i],
            load[i],
            [out[0][i], out[1][i], out[2][i], out[3][i]],
            [into[0][i], into[1][i], into[2][i], into[3][i]],
        );
        energy[i] = head.energy;
        keeps[i] = head.keeps;
        carried[i] = head.load;
        able[i] = head.able;
        yields[i] = head.yields;
        before[i] = load[i];
    }
}

#[inline(always)]
fn pipe_loop(
    laws: Laws,
    k: usize,
    bed: &[f32],
    surface: &[f32],
    energy: &[f32],
    keeps: &[f32],
    load: &[f32],
    bed_z: &[f32],
    surface_z: &[f32],
    energy_z: &[f32],
    keeps_z: &[f32],
    load_z: &[f32],
    speed: &mut [f32],
    water: &mut [f32],
    ground: &mut [f32],
) {
    let n = bed.len();
    let (surface, energy, keeps, load) = (&surface[..n], &energy[..n], &keeps[..n], &load[..n]);
    let (bed_z, surface_z, energy_z) = (&bed_z[..n], &surface_z[..n], &energy_z[..n]);
    let (keeps_z, load_z) = (&keeps_z[..n], &load_z[..n]);
    let (speed, water, ground) = (&mut speed[..n], &mut water[..n], &mut ground[..n]);
    for i in 0..n {
        let a = End { bed: bed[i], surface: surface[i], energy: energy[i], keeps: keeps[i], load: load[i] };
        let z = End {
            bed: bed_z[i],
            surface: surface_z[i],
            energy: energy_z[i],
            keeps: keeps_z[i],
            load: load_z[i],
        };
        let moved = laws.pipe(k, speed[i], a, z);
        speed[i] = moved.speed;
        water[i] = moved.water;
        ground[i] = moved.ground;
    }
}

/// Rows with their left and right neighbours: above, the row itself, below.
#[inline(always)]
fn trace_loop(
    laws: Laws,
    up: [&[f32]; 3],
    line: [&[f32]; 3],
    low: [&[f32]; 3],
    out: [&[f32]; 4],
    into: [&[f32]; 4],
    load: &mut [f32],
) {
    let n = load.len();
    let [up, line, low] = [up, line, low].map(|[a, b, c]| [&a[..n], &b[..n], &c[..n]]);
    let (out, into) = (cut4(out, n), cut4(into, n));
    for i in 0..n {
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
    base: &[f32],
    given: [&[f32]; 5],
    head: [&[f32]; 2],
    out: [&[f32]; 4],
    into: [&[f32]; 4],
    gone: [&[f32]; 4],
    come: [&[f32]; 4],
    rock: &mut [f32],
    loose: &mut [f32],
    water: &mut [f32],
    load: &mut [f32],
    bed: &mut [f32],
    surface: &mut [f32],
) {
    let n = base.len();
    let [live, rain, soft, sinks, stays] = given;
    let (live, rain, soft, sinks, stays) = (&live[..n], &rain[..n], &soft[..n], &sinks[..n], &stays[..n]);
    let (able, yields) = (&head[0][..n], &head[1][..n]);
    let (out, into) = (cut4(out, n), cut4(into, n));
    let (gone, come) = (cut4(gone, n), cut4(come, n));
    let (rock, loose, water) = (&mut rock[..n], &mut loose[..n], &mut water[..n]);
    let (load, bed, surface) = (&mut load[..n], &mut bed[..n], &mut surface[..n]);
    // First what flows, then what becomes of the ground: two short loops need fewer registers than a long one.
    for i in 0..n {
        bed[i] = Laws::leaves(
            [out[0][i], out[1][i], out[2][i], out[3][i]],
            [into[0][i], into[1][i], into[2][i], into[3][i]],
        );
    }
    if !ADVECT {
        for i in 0..n {
            load[i] -= Laws::leaves(
                [gone[0][i], gone[1][i], gone[2][i], gone[3][i]],
                [come[0][i], come[1][i], come[2][i], come[3][i]],
            );
        }
    }
    for i in 0..n {
        let was = Column { rock: rock[i], loose: loose[i], water: water[i], load: load[i] };
        let given = Given { live: live[i], rain: rain[i], soft: soft[i], sinks: sinks[i], stays: stays[i] };
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
