//! Whole blocks of noise, as vectors as wide as the machine has.
//!
//! The loops are plain Rust over plain slices. They are compiled once for each instruction set
//! (`crate::simd`) and become vector code there. Rust never fuses or reorders floating-point operations, so every width
//! gives the bits of the scalar formula.

use super::basis::{
    Basis, Column, EvenValue, Formula, Line, MOST, Perlin, Simplex, Value, White, Worley, next, previous,
};
use crate::simd::{Level, dispatch};

/// Columns and rows worked on at a time: a block of sums and the numbers of three lines stay in the first cache.
pub(super) const WIDE: usize = 128;
pub(super) const TALL: usize = 32;

/// Where samples lie on the lattice of one octave along one axis.
#[derive(Clone, Debug, Default)]
pub(super) struct Axis {
    pub cell: Vec<u32>,
    pub t: Vec<f32>,
    pub period: u32,
}

/// What an octave needs besides positions.
#[derive(Clone, Copy, Debug)]
pub(super) struct Octave {
    pub seed: u32,
    pub counts: [f32; 2],
    /// Whether the noise is equally strong everywhere in a lattice cell.
    pub even: bool,
}

/// Calls a macro with the formula of a basis, even or not.
macro_rules! formula_of {
    ($basis:expr, $even:expr, $run:ident) => {
        match ($basis, $even) {
            (Basis::Value, false) => $run!(Value),
            (Basis::Value, true) => $run!(EvenValue),
            (Basis::Perlin, false) => $run!(Perlin<false>),
            (Basis::Perlin, true) => $run!(Perlin<true>),
            (Basis::Simplex, false) => $run!(Simplex<false>),
            (Basis::Simplex, true) => $run!(Simplex<true>),
            (Basis::Worley, _) => $run!(Worley),
            (Basis::White, _) => $run!(White),
        }
    };
}
pub(super) use formula_of;

/// What becomes of the noise: times a factor, it is added to what was there or to a number in its place.
///
/// Which of the two is decided by bits that are kept, so that one loop does for both.
#[derive(Clone, Copy, Debug)]
pub(super) struct Into {
    by: f32,
    kept: u32,
    set: u32,
}

impl Into {
    /// Noise is added, times a factor.
    pub fn add(by: f32) -> Self {
        Self { by, kept: u32::MAX, set: 0 }
    }

    /// Noise takes the place of what was there, times a factor, plus a shift.
    pub fn set(by: f32, plus: f32) -> Self {
        Self { by, kept: 0, set: plus.to_bits() }
    }

    #[inline(always)]
    fn put(self, out: &mut f32, noise: f32) {
        *out = f32::from_bits(out.to_bits() & self.kept | self.set) + self.by * noise;
    }
}

/// The numbers of up to three lines for a strip of columns.
pub(super) struct Strip([[[f32; WIDE]; MOST]; 3]);

impl Strip {
    pub fn new() -> Box<Self> {
        Box::new(Self([[[0.0; WIDE]; MOST]; 3]))
    }
}

/// One octave on the samples where some columns and rows cross. Rows of `out` start `stride` apart.
pub(super) fn block(
    level: Level,
    basis: Basis,
    octave: Octave,
    columns: (&[u32], &[f32], u32),
    rows: (&[u32], &[f32], u32),
    into: Into,
    strip: &mut Strip,
    out: &mut [f32],
    stride: usize,
) {
    macro_rules! run {
        ($formula:ty) => {
            dispatch!(level, _simd => scan::<$formula>(octave, columns, rows, strip, out, stride, into))
        };
    }
    formula_of!(basis, octave.even, run)
}

#[inline(always)]
fn scan<F: Formula>(
    octave: Octave,
    (cells, ts, across): (&[u32], &[f32], u32),
    (lines, vs, up): (&[u32], &[f32], u32),
    strip: &mut Strip,
    out: &mut [f32],
    stride: usize,
    into: Into,
) {
    let n = cells.len().min(WIDE);
    let (cells, ts) = (&cells[..n], &ts[..n]);
    // Which line each slot of the strip holds.
    let mut held = [None; 3];
    for (row, (&line, &v)) in lines.iter().zip(vs).enumerate() {
        let mut order = [0; 3];
        let needed = &lattice_rows::<F>(line, up)[..F::LINES];
        for (k, &wanted) in needed.iter().enumerate() {
            order[k] = match held[..F::LINES].iter().position(|h| *h == Some(wanted)) {
                Some(slot) => slot,
                None => {
                    // A slot that no line of this row needs.
                    let free = |slot: &usize| held[*slot].is_none_or(|h| !needed.contains(&h));
                    let slot = (0..F::LINES).find(free).unwrap_or(0);
                    fill::<F>(&mut strip.0[slot], cells, ts, across, Line::new(wanted, octave.seed));
                    held[slot] = Some(wanted);
                    slot
                }
            };
        }
        let [a, b, c] = order.map(|slot| &strip.0[slot]);
        let out = &mut out[row * stride..][..n];
        for i in 0..n {
            let mut lines = [[0.0; MOST]; 3];
            for k in 0..F::NUMBERS {
                lines[0][k] = a[k][i];
                if F::LINES > 1 {
                    lines[1][k] = b[k][i];
                }
                if F::LINES > 2 {
                    lines[2][k] = c[k][i];
                }
            }
            into.put(&mut out[i], F::mix(lines, v, octave.counts));
        }
    }
}

/// The lines of a sample: below it, and one or two above.
#[inline(always)]
fn lattice_rows<F: Formula>(line: u32, period: u32) -> [u32; 3] {
    let first = if F::BELOW == 1 { previous(line, period) } else { line };
    let second = next(first, period);
    [first, second, next(second, period)]
}

#[inline(always)]
fn fill<F: Formula>(numbers: &mut [[f32; WIDE]; MOST], cells: &[u32], ts: &[f32], period: u32, line: Line) {
    let n = cells.len().min(WIDE);
    let (cells, ts) = (&cells[..n], &ts[..n]);
    // Six slices by name: with a loop over them the loop over samples would not become vectors.
    let [a, b, c, d, e, f] = numbers;
    let (a, b, c) = (&mut a[..n], &mut b[..n], &mut c[..n]);
    let (d, e, f) = (&mut d[..n], &mut e[..n], &mut f[..n]);
    for i in 0..n {
        let found = F::line(Column { cell: cells[i], t: ts[i], period }, line);
        a[i] = found[0];
        if F::NUMBERS > 1 {
            b[i] = found[1];
        }
        if F::NUMBERS > 2 {
            c[i] = found[2];
            d[i] = found[3];
            e[i] = found[4];
            f[i] = found[5];
        }
    }
}

/// Places that lie anywhere, turned and stretched, in metres: as many as fit.
pub(super) struct Places {
    pub x: [f64; WIDE],
    pub y: [f64; WIDE],
}

impl Places {
    pub fn new() -> Box<Self> {
        Box::new(Self { x: [0.0; WIDE], y: [0.0; WIDE] })
    }

    /// Sets them from places in the world: columns of a row, moved by `bends` if there are any, turned by a matrix.
    pub fn set(
        &mut self,
        level: Level,
        xs: &[f64],
        y: f64,
        bends: Option<(&[f32], &[f32])>,
        turn: [[f64; 2]; 2],
    ) {
        let n = xs.len().min(WIDE);
        let (to_x, to_y) = (&mut self.x[..n], &mut self.y[..n]);
        match bends {
            None => dispatch!(level, _simd => turned(&xs[..n], y, turn, to_x, to_y)),
            Some((dx, dy)) => {
                dispatch!(level, _simd => bent(&xs[..n], y, (&dx[..n], &dy[..n]), turn, to_x, to_y))
            }
        }
    }
}

#[inline(always)]
fn turned(xs: &[f64], y: f64, [a, b]: [[f64; 2]; 2], to_x: &mut [f64], to_y: &mut [f64]) {
    for ((&x, to_x), to_y) in xs.iter().zip(to_x).zip(to_y) {
        *to_x = a[0] * x + a[1] * y;
        *to_y = b[0] * x + b[1] * y;
    }
}

#[inline(always)]
fn bent(
    xs: &[f64],
    y: f64,
    (dx, dy): (&[f32], &[f32]),
    [a, b]: [[f64; 2]; 2],
    to_x: &mut [f64],
    to_y: &mut [f64],
) {
    for ((((&x, &dx), &dy), to_x), to_y) in xs.iter().zip(dx).zip(dy).zip(to_x).zip(to_y) {
        let (x, y) = (x + f64::from(dx), y + f64::from(dy));
        *to_x = a[0] * x + a[1] * y;
        *to_y = b[0] * x + b[1] * y;
    }
}

/// How an octave's lattice lies along one axis: cells per metre, where it starts and when it repeats.
pub(super) type Lie = (f64, f64, u32);

/// One octave at any places.
pub(super) fn places(
    level: Level,
    basis: Basis,
    octave: Octave,
    places: &Places,
    lies: [Lie; 2],
    into: Into,
    out: &mut [f32],
) {
    macro_rules! run {
        ($formula:ty) => {
            dispatch!(level, _simd => scatter::<$formula>(octave, places, lies, out, into))
        };
    }
    formula_of!(basis, octave.even, run)
}

#[inline(always)]
fn scatter<F: Formula>(octave: Octave, places: &Places, [x, y]: [Lie; 2], out: &mut [f32], into: Into) {
    let n = out.len().min(WIDE);
    let (mut cells, mut ts) = ([0; WIDE], [0.0; WIDE]);
    let (mut lines, mut vs) = ([0; WIDE], [0.0; WIDE]);
    split_places(&places.x[..n], x, &mut cells[..n], &mut ts[..n]);
    split_places(&places.y[..n], y, &mut lines[..n], &mut vs[..n]);
    let out = &mut out[..n];
    for i in 0..n {
        let noise = one::<F, f32>(octave, (cells[i], ts[i], x.2), (lines[i], vs[i], y.2));
        into.put(&mut out[i], noise);
    }
}

/// One octave along a row that crosses lattice lines at a slant and runs along one column: `column` is its cell and share.
///
/// What the lines contribute to that column is worked out once for the row, and between two lines it stays the same, so
/// that hashing is shared by the samples in between.
pub(super) fn slant(
    level: Level,
    basis: Basis,
    octave: Octave,
    column: (u32, f32),
    places: &Places,
    lie: Lie,
    into: Into,
    strip: &mut Strip,
    out: &mut [f32],
) {
    macro_rules! run {
        ($formula:ty) => {
            dispatch!(level, _simd => cross::<$formula>(octave, column, places, lie, strip, out, into))
        };
    }
    formula_of!(basis, octave.even, run)
}

/// Samples worked on at once between two lines; what is too much belongs to the next lines and is done again there.
const CHUNK: usize = 8;

#[inline(always)]
fn cross<F: Formula>(
    octave: Octave,
    (cell, t): (u32, f32),
    places: &Places,
    lie: Lie,
    strip: &mut Strip,
    out: &mut [f32],
    into: Into,
) {
    let n = out.len().min(WIDE);
    let out = &mut out[..n];
    let (mut lines, mut vs) = ([0; WIDE], [0.0; WIDE + CHUNK]);
    split_places(&places.y[..n], lie, &mut lines[..n], &mut vs[..n]);
    let first = lines[0].wrapping_sub(F::BELOW);
    let count = lines[n - 1].wrapping_sub(first) as usize + F::LINES;
    // Cells that the row crosses, in double precision: line numbers may go round in 32 bits.
    let crossed = (places.y[n - 1] - places.y[0]) * lie.0;
    if crossed.max(count as f64) > (n / 2) as f64 {
        // Hardly two samples share a line.
        for i in 0..n {
            into.put(&mut out[i], one::<F, f32>(octave, (cell, t, 0), (lines[i], vs[i], 0)));
        }
        return;
    }
    let numbers = &mut strip.0[0];
    fill_lines::<F>(numbers, count, Column { cell, t, period: 0 }, first, octave.seed);
    let mut noise = [0.0; WIDE + CHUNK];
    // Samples from one line to the next, about.
    let apart = (n - 1) as f64 / crossed;
    let mut from = 0;
    while from < n {
        let line = lines[from];
        let k = line.wrapping_sub(F::BELOW).wrapping_sub(first) as usize;
        let mut around = [[0.0; MOST]; 3];
        for (i, around) in around.iter_mut().enumerate().take(F::LINES) {
            for (number, all) in around.iter_mut().zip(numbers.iter()).take(F::NUMBERS) {
                *number = all[k + i];
            }
        }
        // The first sample past the next line: guessed, then put right.
        let mut to = (from + (f64::from(1.0 - vs[from]) * apart) as usize + 1).min(n);
        while lines[to - 1] != line {
            to -= 1;
        }
        while to < n && lines[to] == line {
            to += 1;
        }
        while from < to {
            let (noise, vs) = (&mut noise[from..from + CHUNK], &vs[from..from + CHUNK]);
            for i in 0..CHUNK {
                noise[i] = F::mix(around, vs[i], octave.counts);
            }
            from += CHUNK;
        }
        from = to;
    }
    for (out, noise) in out.iter_mut().zip(&noise) {
        into.put(out, *noise);
    }
}

/// What lines from `first` on contribute to one column.
#[inline(always)]
fn fill_lines<F: Formula>(
    numbers: &mut [[f32; WIDE]; MOST],
    count: usize,
    at: Column<f32>,
    first: u32,
    seed: u32,
) {
    let count = count.min(WIDE);
    let [a, b, c, d, e, f] = numbers;
    let (a, b, c) = (&mut a[..count], &mut b[..count], &mut c[..count]);
    let (d, e, f) = (&mut d[..count], &mut e[..count], &mut f[..count]);
    for i in 0..count {
        let found = F::line(at, Line::new(first.wrapping_add(i as u32), seed));
        a[i] = found[0];
        if F::NUMBERS > 1 {
            b[i] = found[1];
        }
        if F::NUMBERS > 2 {
            c[i] = found[2];
            d[i] = found[3];
            e[i] = found[4];
            f[i] = found[5];
        }
    }
}

#[inline(always)]
fn split_places(positions: &[f64], (per_m, start, period): Lie, cells: &mut [u32], ts: &mut [f32]) {
    // Two loops, so that the one without a period has no division.
    if period == 0 {
        for ((&x, cell), t) in positions.iter().zip(cells).zip(ts) {
            (*cell, *t) = split_one(x * per_m + start, 0);
        }
    } else {
        for ((&x, cell), t) in positions.iter().zip(cells).zip(ts) {
            (*cell, *t) = split_one(x * per_m + start, period);
        }
    }
}

/// One octave at one place: what every kernel above must give, to the bit.
#[inline(always)]
pub(super) fn one<F: Formula, R: super::real::Real>(
    octave: Octave,
    (cell, t, across): (u32, R, u32),
    (line, v, up): (u32, R, u32),
) -> R {
    let numbers = |line: u32| F::line(Column { cell, t, period: across }, Line::new(line, octave.seed));
    let first = if F::BELOW == 1 { previous(line, up) } else { line };
    // Written out, since a loop over lines would stand in the way of the loop over samples.
    let none = [R::of(0.0); MOST];
    let a = numbers(first);
    let b = if F::LINES > 1 { numbers(next(first, up)) } else { none };
    let c = if F::LINES > 2 { numbers(next(next(first, up), up)) } else { none };
    F::mix([a, b, c], v, octave.counts)
}

/// Splits positions into cells and shares, wrapped at `period` cells.
pub(super) fn split(level: Level, positions: &[f64], period: u32, axis: &mut Axis) {
    axis.cell.resize(positions.len(), 0);
    axis.t.resize(positions.len(), 0.0);
    axis.period = period;
    let (cell, t) = (&mut axis.cell[..], &mut axis.t[..]);
    dispatch!(level, _simd => split_all(positions, period, cell, t));
}

#[inline(always)]
fn split_all(positions: &[f64], period: u32, cells: &mut [u32], ts: &mut [f32]) {
    for ((&x, cell), t) in positions.iter().zip(cells).zip(ts) {
        (*cell, *t) = split_one(x, period);
    }
}

/// Cell and share of one position: whole numbers in f64, which holds them to 2^51, and only then 32 bits.
#[inline(always)]
pub(super) fn split_one(x: f64, period: u32) -> (u32, f32) {
    let whole = x.floor();
    // A share that rounds up to 1 is the next cell's 0 as far as any formula can tell.
    let t = (x - whole) as f32;
    let cell = if period == 0 {
        whole
    } else {
        let period = f64::from(period);
        whole - period * (whole / period).floor()
    };
    ((cell + ROUND).to_bits() as u32, t)
}

/// Adding it leaves a whole number in the low bits of a double.
const ROUND: f64 = 6_755_399_441_055_744.0;
