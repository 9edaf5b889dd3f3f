//! Large sparse systems on a grid: conjugate gradients, each step preconditioned by one V-cycle of multigrid.
//!
//! A system couples every cell with its four neighbours by conductances and with fixed values by what its diagonal has
//! beyond them: a symmetric M-matrix. Coarse grids take every second cell. A fine cell between coarse ones takes the
//! value that its own equation gives it (Dendy, "Black box multigrid", J. Comput. Phys. 48, 1982), and the coarse
//! equations are the fine ones seen through that (Galerkin), so jumps of the conductance by a thousand and fixed cells
//! anywhere cost next to nothing. Smoothing is Jacobi with the two steps of a Chebyshev polynomial: neither order nor
//! thread count matters to a bit, and it is vector code.
//!
//! Memory: 64 bytes a cell. One step moves about 250 bytes a cell.

use orogen_core::Cancelled;
use rayon::prelude::*;

/// Rows that a thread takes at a time.
const BLOCK: usize = 16;
/// Systems of so many cells or fewer are solved directly.
const DIRECT: usize = 64;
/// Relaxation of the two Jacobi steps: the Chebyshev polynomial for the upper three quarters of the spectrum.
const RELAX: [f32; 2] = [0.561_8, 1.389_3];
/// A system that needs more steps than this is not going to be solved in single precision.
pub const MOST_STEPS: usize = 200;

/// Equations for the cells of a grid: `slack·u + Σ conductance·(u - neighbour's u) = right`.
///
/// All grids here have a border of one empty cell, so that no cell lacks a neighbour; a cell without slack and
/// conductances is not an unknown.
#[derive(Clone, Debug)]
pub struct System {
    /// Columns, without the border.
    pub cols: usize,
    /// Rows, without the border.
    pub rows: usize,
    /// Conductance to fixed values, whose product with them is part of the right side.
    pub slack: Vec<f32>,
    /// Conductance to the neighbour in the east.
    pub east: Vec<f32>,
    /// Conductance to the neighbour in the south.
    pub south: Vec<f32>,
    /// Right side.
    pub right: Vec<f32>,
}

impl System {
    /// A system without unknowns.
    #[must_use]
    pub fn empty(cols: usize, rows: usize) -> Self {
        let blank = || vec![0.0; (cols + 2) * (rows + 2)];
        Self { cols, rows, slack: blank(), east: blank(), south: blank(), right: blank() }
    }

    /// Index of a cell in any of its grids.
    #[inline]
    #[must_use]
    pub fn at(&self, col: usize, row: usize) -> usize {
        (row + 1) * (self.cols + 2) + col + 1
    }

    /// The largest change that one step of the plain iteration (Jacobi) would make: how far both sides of the
    /// equations are apart.
    #[must_use]
    pub fn residual(&self, values: &[f32]) -> f32 {
        let stride = self.cols + 2;
        (1..=self.rows)
            .into_par_iter()
            .map(|row| {
                let mut most = 0.0f32;
                for i in row * stride + 1..row * stride + 1 + self.cols {
                    let center = self.center(i, stride);
                    if center > 0.0 {
                        let lack = self.right[i] - self.slack[i] * values[i] - self.flow(values, i, stride);
                        most = most.max((lack / center).abs());
                    }
                }
                most
            })
            .reduce(|| 0.0, f32::max)
    }

    /// The diagonal: all conductances of a cell.
    #[inline]
    fn center(&self, i: usize, stride: usize) -> f32 {
        self.slack[i] + (self.east[i] + self.east[i - 1]) + (self.south[i] + self.south[i - stride])
    }

    /// What flows from a cell to its neighbours. By differences: they are exact where neighbours are alike.
    #[inline]
    fn flow(&self, values: &[f32], i: usize, stride: usize) -> f32 {
        let here = values[i];
        (self.east[i] * (here - values[i + 1]) + self.east[i - 1] * (here - values[i - 1]))
            + (self.south[i] * (here - values[i + stride])
                + self.south[i - stride] * (here - values[i - stride]))
    }
}

/// An answer and how it was found.
#[derive(Clone, Debug)]
pub struct Solution {
    /// The value of each cell, in a grid with a border.
    pub values: Vec<f32>,
    /// How many steps it took.
    pub steps: usize,
    /// Largest error left, as the last V-cycle estimates it.
    pub error: f32,
}

/// Solves until no value is wrong by more than `tolerance`, as far as a V-cycle can tell; `tick` runs before each step.
///
/// # Errors
/// Those of `tick`.
pub fn solve(
    system: System,
    tolerance: f32,
    mut tick: impl FnMut() -> Result<(), Cancelled>,
) -> Result<Solution, Cancelled> {
    let stride = system.cols + 2;
    let mut center = vec![0.0; system.slack.len()];
    center[stride..stride * (system.rows + 1)].par_chunks_mut(stride).enumerate().for_each(|(row, out)| {
        for (col, out) in out.iter_mut().enumerate().skip(1).take(system.cols) {
            *out = system.center((row + 1) * stride + col, stride);
        }
    });
    let System { cols, rows, slack, east, south, mut right } = system;
    let mut levels = vec![Level::new(cols, rows, center, east, south)];
    levels[0].slack = slack;
    while let Some(coarse) = levels.last_mut().and_then(Level::coarser) {
        levels.push(coarse);
    }
    let direct = Direct::new(&levels[levels.len() - 1]);
    let blank = || vec![0.0f32; right.len()];
    let (mut values, mut way, mut bent) = (blank(), blank(), blank());
    let mut known = 0.0;
    // The smallest error so far, and when it was.
    let (mut error, mut best) = (f32::INFINITY, 0);
    for step in 0..MOST_STEPS {
        tick()?;
        levels[0].right.copy_from_slice(&right);
        cycle(&mut levels, &direct);
        let guess = &levels[0].values;
        // A V-cycle is close to the inverse, so what it finds is close to the error.
        let found = guess.par_chunks(stride).map(|row| row.iter().fold(0.0f32, |m, v| m.max(v.abs())));
        let found = found.reduce(|| 0.0, f32::max);
        // In single precision the end may come before the tolerance does.
        let stuck = step > best + 20;
        if found < error {
            (error, best) = (found, step);
        }
        if found <= tolerance || stuck || !found.is_finite() {
            if found <= tolerance {
                add(&mut values, guess, 1.0, stride);
            }
            return Ok(Solution { values, steps: step + 1, error });
        }
        let product = dot(&right, guess, stride);
        let keep = if step == 0 { 0.0 } else { (product / known) as f32 };
        known = product;
        way.par_chunks_mut(stride).zip(guess.par_chunks(stride)).for_each(|(way, guess)| {
            for (way, guess) in way.iter_mut().zip(guess) {
                *way = guess + keep * *way;
            }
        });
        levels[0].apply(&way, &mut bent);
        let length = dot(&way, &bent, stride);
        if length <= 0.0 {
            return Ok(Solution { values, steps: step + 1, error });
        }
        let far = (product / length) as f32;
        add(&mut values, &way, far, stride);
        add(&mut right, &bent, -far, stride);
    }
    Ok(Solution { values, steps: MOST_STEPS, error })
}

/// The plain iteration of the equations until both sides are closer than `residual` or `most` steps are done. It is
/// what [`solve`] is measured against; returns the values and the number of steps.
#[must_use]
pub fn jacobi(system: &System, residual: f32, most: usize) -> (Vec<f32>, usize) {
    let stride = system.cols + 2;
    let inner = stride + 1..(system.slack.len() - stride).saturating_sub(1);
    let inverse: Vec<f32> = (0..system.slack.len())
        .map(|i| if inner.contains(&i) { system.center(i, stride) } else { 0.0 })
        .map(|center| if center > 0.0 { 1.0 / center } else { 0.0 })
        .collect();
    let (mut now, mut next) = (vec![0.0f32; inverse.len()], vec![0.0f32; inverse.len()]);
    for step in 0..most {
        // Looking costs as much as a step does.
        if step.is_multiple_of(64) && system.residual(&now) <= residual {
            return (now, step);
        }
        next.par_chunks_mut(BLOCK * stride).enumerate().for_each(|(block, out)| {
            for (r, out) in out.chunks_mut(stride).enumerate() {
                let row = block * BLOCK + r;
                if (1..=system.rows).contains(&row) {
                    let from = row * stride;
                    for (col, out) in out.iter_mut().enumerate().take(stride - 1).skip(1) {
                        let i = from + col;
                        let lack = system.right[i] - system.slack[i] * now[i] - system.flow(&now, i, stride);
                        *out = now[i] + lack * inverse[i];
                    }
                }
            }
        });
        std::mem::swap(&mut now, &mut next);
    }
    (now, most)
}

fn add(to: &mut [f32], what: &[f32], times: f32, stride: usize) {
    to.par_chunks_mut(BLOCK * stride).zip(what.par_chunks(BLOCK * stride)).for_each(|(to, what)| {
        for (to, what) in to.iter_mut().zip(what) {
            *to += times * what;
        }
    });
}

/// Rows by themselves, then in order, whatever the thread count.
fn dot(a: &[f32], b: &[f32], stride: usize) -> f64 {
    let row = |(a, b): (&[f32], &[f32])| {
        // Eight sums side by side, so that they need not wait for each other.
        let mut sums = [0.0f64; 8];
        let (a8, b8) = (a.chunks_exact(8), b.chunks_exact(8));
        let rest: f64 = a8.remainder().iter().zip(b8.remainder()).map(|(a, b)| f64::from(a * b)).sum();
        for (a, b) in a8.zip(b8) {
            for k in 0..8 {
                sums[k] += f64::from(a[k] * b[k]);
            }
        }
        sums.iter().sum::<f64>() + rest
    };
    let rows: Vec<f64> = a.par_chunks(stride).zip(b.par_chunks(stride)).map(row).collect();
    rows.iter().sum()
}

/// One grid of the hierarchy.
struct Level {
    cols: usize,
    rows: usize,
    stride: usize,
    center: Vec<f32>,
    /// Conductance to fixed values; on the finest grid only.
    slack: Vec<f32>,
    inverse: Vec<f32>,
    east: Vec<f32>,
    south: Vec<f32>,
    /// Couplings to the south-east and south-west; empty on the finest grid, which has none.
    south_east: Vec<f32>,
    south_west: Vec<f32>,
    right: Vec<f32>,
    values: Vec<f32>,
    spare: Vec<f32>,
    /// How the fine cells round each cell of the next coarser grid take its values; empty on the coarsest.
    weights: Vec<Weights>,
}

/// What the fine cells east, south and south-east of a coarse cell take of the coarse cells round them.
#[derive(Clone, Copy, Default)]
struct Weights {
    /// The one in the east: of the west and the east.
    east: [f32; 2],
    /// The one in the south: of the north and the south.
    south: [f32; 2],
    /// The one between: of the north-west, north-east, south-west, south-east.
    between: [f32; 4],
}

impl Level {
    fn new(cols: usize, rows: usize, center: Vec<f32>, east: Vec<f32>, south: Vec<f32>) -> Self {
        let mut inverse = vec![0.0; center.len()];
        inverse.par_iter_mut().zip(&center).for_each(|(inverse, center)| {
            *inverse = if *center > 0.0 { 1.0 / center } else { 0.0 };
        });
        let blank = || vec![0.0; center.len()];
        Self {
            cols,
            rows,
            stride: cols + 2,
            right: blank(),
            values: blank(),
            spare: blank(),
            center,
            slack: Vec::new(),
            inverse,
            east,
            south,
            south_east: Vec::new(),
            south_west: Vec::new(),
            weights: Vec::new(),
        }
    }

    /// Couplings of a cell, from the north clockwise.
    #[inline]
    fn couplings(&self, i: usize) -> [f64; 8] {
        let up = i - self.stride;
        let (ne, se, sw, nw) = if self.south_east.is_empty() {
            (0.0, 0.0, 0.0, 0.0)
        } else {
            (self.south_west[up + 1], self.south_east[i], self.south_west[i], self.south_east[up - 1])
        };
        [self.south[up], ne, self.east[i], se, self.south[i], sw, self.east[i - 1], nw].map(f64::from)
    }

    /// The next coarser grid, with the weights that lead to it; `None` when this one is small enough to solve.
    fn coarser(&mut self) -> Option<Self> {
        if self.cols * self.rows <= DIRECT {
            return None;
        }
        let (cols, rows) = (self.cols.div_ceil(2), self.rows.div_ceil(2));
        let stride = cols + 2;
        self.weigh(cols, rows);
        let blank = || vec![0.0f32; stride * (rows + 2)];
        let (mut center, mut east, mut south) = (blank(), blank(), blank());
        let (mut south_east, mut south_west) = (blank(), blank());
        let fine = &*self;
        center
            .par_chunks_mut(stride)
            .zip(east.par_chunks_mut(stride))
            .zip(south.par_chunks_mut(stride))
            .zip(south_east.par_chunks_mut(stride))
            .zip(south_west.par_chunks_mut(stride))
            .enumerate()
            .skip(1)
            .take(rows)
            .for_each(|(row, ((((center, east), south), south_east), south_west))| {
                for col in 1..=cols {
                    let seen = fine.seen(col, row, stride);
                    center[col] = seen[4].max(0.0) as f32;
                    if center[col] > 0.0 {
                        east[col] = -seen[5] as f32;
                        south_west[col] = -seen[6] as f32;
                        south[col] = -seen[7] as f32;
                        south_east[col] = -seen[8] as f32;
                    }
                }
            });
        let mut coarse = Self::new(cols, rows, center, east, south);
        coarse.south_east = south_east;
        coarse.south_west = south_west;
        Some(coarse)
    }

    /// Fine index of the coarse cell (col, row), both counted with the border.
    #[inline]
    fn under(&self, col: usize, row: usize) -> usize {
        (2 * row - 1) * self.stride + 2 * col - 1
    }

    /// Finds the weights: first of fine cells between two coarse ones, then of those between four.
    fn weigh(&mut self, cols: usize, rows: usize) {
        let stride = cols + 2;
        let mut weights = vec![Weights::default(); stride * (rows + 2)];
        let fine = &*self;
        let share = |i: usize, a: f64, b: f64, across: f64| -> [f32; 2] {
            // What couples across the line is taken to be like the cell itself.
            let whole = (f64::from(fine.center[i]) - across).max(a + b);
            if whole > 0.0 { [(a / whole) as f32, (b / whole) as f32] } else { [0.0, 0.0] }
        };
        weights.par_chunks_mut(stride).enumerate().skip(1).take(rows).for_each(|(row, out)| {
            for (col, out) in out.iter_mut().enumerate().skip(1).take(cols) {
                let i = fine.under(col, row);
                if 2 * col <= fine.cols {
                    let [n, ne, e, se, s, sw, w, nw] = fine.couplings(i + 1);
                    out.east = share(i + 1, w + nw + sw, e + ne + se, n + s);
                }
                if 2 * row <= fine.rows {
                    let [n, ne, e, se, s, sw, w, nw] = fine.couplings(i + fine.stride);
                    out.south = share(i + fine.stride, n + nw + ne, s + sw + se, w + e);
                }
            }
        });
        let edges: Vec<([f32; 2], [f32; 2])> = weights.par_iter().map(|w| (w.east, w.south)).collect();
        weights.par_chunks_mut(stride).enumerate().skip(1).take(rows).for_each(|(row, out)| {
            if 2 * row > fine.rows {
                return;
            }
            for (col, out) in out.iter_mut().enumerate().skip(1).take(cols) {
                let i = fine.under(col, row) + fine.stride + 1;
                if 2 * col > fine.cols || fine.center[i] <= 0.0 {
                    continue;
                }
                let [n, ne, e, se, s, sw, w, nw] = fine.couplings(i);
                let here = row * stride + col;
                let pair = |p: [f32; 2]| p.map(f64::from);
                let (north, west) = (pair(edges[here].0), pair(edges[here].1));
                let (south, east) = (pair(edges[here + stride].0), pair(edges[here + 1].1));
                let center = f64::from(fine.center[i]);
                out.between = [
                    nw + n * north[0] + w * west[0],
                    ne + n * north[1] + e * east[0],
                    sw + s * south[0] + w * west[1],
                    se + s * south[1] + e * east[1],
                ]
                .map(|sum| (sum / center) as f32);
            }
        });
        self.weights = weights;
    }

    /// What a fine cell, a place relative to a coarse one, takes of the nine coarse cells round that one, times a
    /// factor.
    #[inline]
    fn takes(&self, coarse: usize, stride: usize, dx: i32, dy: i32, times: f64, into: &mut [f64; 9]) {
        // The coarse cell that the fine one belongs to, and which of its four it is.
        let (cx, cy) = (dx.div_euclid(2), dy.div_euclid(2));
        let index = coarse.wrapping_add_signed(cy as isize * stride as isize + cx as isize);
        let first = (3 * (cy + 1) + cx + 1) as usize;
        let mut put = |at: usize, weight: f32| into[at] += times * f64::from(weight);
        match (dx.rem_euclid(2), dy.rem_euclid(2)) {
            (0, 0) => put(first, 1.0),
            (_, 0) => {
                let [west, east] = self.weights[index].east;
                put(first, west);
                put(first + 1, east);
            }
            (0, _) => {
                let [north, south] = self.weights[index].south;
                put(first, north);
                put(first + 3, south);
            }
            _ => {
                let [nw, ne, sw, se] = self.weights[index].between;
                put(first, nw);
                put(first + 1, ne);
                put(first + 3, sw);
                put(first + 4, se);
            }
        }
    }

    /// The equation of a coarse cell, seen through the weights: factors of the nine cells round it, row by row.
    fn seen(&self, col: usize, row: usize, stride: usize) -> [f64; 9] {
        const ROUND: [(i32, i32); 8] = [(0, -1), (1, -1), (1, 0), (1, 1), (0, 1), (-1, 1), (-1, 0), (-1, -1)];
        let coarse = row * stride + col;
        let mut seen = [0.0; 9];
        for dy in -1..=1i32 {
            for dx in -1..=1i32 {
                let (x, y) = (2 * col as i32 - 1 + dx, 2 * row as i32 - 1 + dy);
                if x < 1 || y < 1 || x > self.cols as i32 || y > self.rows as i32 {
                    continue;
                }
                let i = y as usize * self.stride + x as usize;
                if self.center[i] <= 0.0 {
                    continue;
                }
                let mut own = [0.0; 9];
                self.takes(coarse, stride, dx, dy, 1.0, &mut own);
                let share = own[4];
                if share == 0.0 {
                    continue;
                }
                let mut equation = own.map(|v| v * f64::from(self.center[i]));
                for (coupling, (ox, oy)) in self.couplings(i).into_iter().zip(ROUND) {
                    if coupling != 0.0 {
                        self.takes(coarse, stride, dx + ox, dy + oy, -coupling, &mut equation);
                    }
                }
                for (seen, part) in seen.iter_mut().zip(equation) {
                    *seen += share * part;
                }
            }
        }
        seen
    }

    /// The sum over the neighbours of each cell of a row, with what they are coupled by.
    #[inline]
    fn neighbour_sums(&self, values: &[f32], row: usize, out: &mut [f32]) {
        let (n, from) = (self.cols, row * self.stride);
        let part = |shift: isize| {
            let start = (from + 1).wrapping_add_signed(shift);
            start..start + n
        };
        let up = self.stride as isize;
        let (e, w) = (&self.east[part(0)], &self.east[part(-1)]);
        let (s, no) = (&self.south[part(0)], &self.south[part(-up)]);
        let (ve, vw) = (&values[part(1)], &values[part(-1)]);
        let (vs, vn) = (&values[part(up)], &values[part(-up)]);
        let out = &mut out[..n];
        for i in 0..n {
            out[i] = e[i] * ve[i] + w[i] * vw[i] + (s[i] * vs[i] + no[i] * vn[i]);
        }
        if !self.south_east.is_empty() {
            let (d, l) = (&self.south_east, &self.south_west);
            let (se, sw) = (&d[part(0)], &l[part(0)]);
            let (nw, ne) = (&d[part(-up - 1)], &l[part(-up + 1)]);
            let (vse, vsw) = (&values[part(up + 1)], &values[part(up - 1)]);
            let (vnw, vne) = (&values[part(-up - 1)], &values[part(-up + 1)]);
            for i in 0..n {
                out[i] += se[i] * vse[i] + sw[i] * vsw[i] + (nw[i] * vnw[i] + ne[i] * vne[i]);
            }
        }
    }

    /// Gives `f` each row of `out` (without border) with its number and the sums over the neighbours in `values`.
    fn rows(
        &self,
        values: &[f32],
        out: &mut [f32],
        f: impl Fn(std::ops::Range<usize>, &[f32], &mut [f32]) + Sync,
    ) {
        let (cols, stride) = (self.cols, self.stride);
        out[stride..stride * (self.rows + 1)].par_chunks_mut(BLOCK * stride).enumerate().for_each(
            |(block, out)| {
                let mut sums = vec![0.0; cols];
                for (r, out) in out.chunks_mut(stride).enumerate() {
                    let row = 1 + block * BLOCK + r;
                    self.neighbour_sums(values, row, &mut sums);
                    let from = row * stride + 1;
                    f(from..from + cols, &sums, &mut out[1..=cols]);
                }
            },
        );
    }

    /// Left side of the equations on the finest grid. By differences: they are exact where neighbours are alike.
    fn apply(&self, values: &[f32], out: &mut [f32]) {
        let (n, up) = (self.cols, self.stride);
        out[up..up * (self.rows + 1)].par_chunks_mut(BLOCK * up).enumerate().for_each(|(block, out)| {
            for (r, out) in out.chunks_mut(up).enumerate() {
                let from = (1 + block * BLOCK + r) * up + 1;
                let (e, w) = (&self.east[from..from + n], &self.east[from - 1..from - 1 + n]);
                let (s, no) = (&self.south[from..from + n], &self.south[from - up..from - up + n]);
                let (v, slack) = (&values[from..from + n], &self.slack[from..from + n]);
                let (ve, vw) = (&values[from + 1..from + 1 + n], &values[from - 1..from - 1 + n]);
                let (vs, vn) = (&values[from + up..from + up + n], &values[from - up..from - up + n]);
                let out = &mut out[1..=n];
                for i in 0..n {
                    let across = e[i] * (v[i] - ve[i]) + w[i] * (v[i] - vw[i]);
                    out[i] = slack[i] * v[i] + (across + (s[i] * (v[i] - vs[i]) + no[i] * (v[i] - vn[i])));
                }
            }
        });
    }

    /// One Jacobi step from `values` to `spare`; they change places.
    fn relax(&mut self, times: f32) {
        let mut out = std::mem::take(&mut self.spare);
        self.rows(&self.values, &mut out, |part, sums, out| {
            let (inverse, right) = (&self.inverse[part.clone()], &self.right[part.clone()]);
            let values = &self.values[part];
            for i in 0..out.len() {
                out[i] = values[i] + times * ((right[i] + sums[i]) * inverse[i] - values[i]);
            }
        });
        self.spare = std::mem::replace(&mut self.values, out);
    }

    /// Both steps of the smoother from nothing.
    fn start(&mut self) {
        let (right, inverse, size) = (&self.right, &self.inverse, BLOCK * self.stride);
        self.values.par_chunks_mut(size).enumerate().for_each(|(block, values)| {
            let from = block * size;
            let (right, inverse) = (&right[from..][..values.len()], &inverse[from..][..values.len()]);
            for i in 0..values.len() {
                values[i] = RELAX[0] * right[i] * inverse[i];
            }
        });
        self.relax(RELAX[1]);
    }

    /// What the equations lack, as the next coarser grid sees it.
    fn restrict(&mut self, coarse: &mut Self) {
        let mut lack = std::mem::take(&mut self.spare);
        self.rows(&self.values, &mut lack, |part, sums, out| {
            let (center, right) = (&self.center[part.clone()], &self.right[part.clone()]);
            let values = &self.values[part];
            for i in 0..out.len() {
                out[i] = right[i] - center[i] * values[i] + sums[i];
            }
        });
        let (stride, cols, rows) = (coarse.stride, coarse.cols, coarse.rows);
        let fine = &*self;
        coarse.right[stride..stride * (rows + 1)].par_chunks_mut(BLOCK * stride).enumerate().for_each(
            |(block, out)| {
                for (r, out) in out.chunks_mut(stride).enumerate() {
                    let row = 1 + block * BLOCK + r;
                    for (col, out) in out.iter_mut().enumerate().skip(1).take(cols) {
                        let (here, i) = (row * stride + col, fine.under(col, row));
                        let (s, w) = (fine.stride, &fine.weights);
                        let (a, b) = (&w[here], &w[here - 1]);
                        let (c, d) = (&w[here - stride], &w[here - stride - 1]);
                        // The border has no weights, and none reach beyond the last fine cell.
                        let east = if 2 * col <= fine.cols { 1 } else { 0 };
                        let south = if 2 * row <= fine.rows { s } else { 0 };
                        let middle = lack[i] + (a.east[0] * lack[i + east] + b.east[1] * lack[i - 1]);
                        let upright = a.south[0] * lack[i + south] + c.south[1] * lack[i - s];
                        let upper = c.between[2] * lack[i - s + east] + d.between[3] * lack[i - s - 1];
                        let lower =
                            a.between[0] * lack[i + south + east] + b.between[1] * lack[i + south - 1];
                        *out = middle + upright + (upper + lower);
                    }
                }
            },
        );
        self.spare = lack;
    }

    /// Adds what the next coarser grid found.
    fn prolong(&mut self, coarse: &Self) {
        let (stride, fine, cols) = (coarse.stride, self.stride, self.cols);
        let (weights, found, inverse) = (&self.weights, &coarse.values, &self.inverse);
        let rows = self.rows;
        self.values[fine..fine * (rows + 1)].par_chunks_mut(BLOCK * fine).enumerate().for_each(
            |(block, out)| {
                for (r, out) in out.chunks_mut(fine).enumerate() {
                    // Row 1 lies on row 1 of the coarse grid, row 2 between that and row 2, ...
                    let row = block * BLOCK + r;
                    let from = (row / 2 + 1) * stride;
                    for (pair, out) in out[1..=cols].chunks_mut(2).enumerate() {
                        let i = from + pair + 1;
                        let w = &weights[i];
                        if row.is_multiple_of(2) {
                            // A coarse cell may stand for its neighbours where there is none below it.
                            if inverse[(row + 1) * fine + 2 * pair + 1] > 0.0 {
                                out[0] += found[i];
                            }
                            if let Some(out) = out.get_mut(1) {
                                *out += w.east[0] * found[i] + w.east[1] * found[i + 1];
                            }
                        } else {
                            let (n, s) = (found[i], found[i + stride]);
                            out[0] += w.south[0] * n + w.south[1] * s;
                            if let Some(out) = out.get_mut(1) {
                                let (ne, se) = (found[i + 1], found[i + stride + 1]);
                                let [a, b, c, d] = w.between;
                                *out += (a * n + b * ne) + (c * s + d * se);
                            }
                        }
                    }
                }
            },
        );
    }
}

/// One V-cycle: from `right` of the first level to its `values`.
fn cycle(levels: &mut [Level], direct: &Direct) {
    let [fine, rest @ ..] = levels else { return };
    let Some(coarse) = rest.first_mut() else {
        return direct.solve(fine);
    };
    fine.start();
    fine.restrict(coarse);
    cycle(rest, direct);
    fine.prolong(&rest[0]);
    fine.relax(RELAX[1]);
    fine.relax(RELAX[0]);
}

/// The coarsest system in triangles (Cholesky).
struct Direct {
    /// Which cells are unknowns.
    cells: Vec<usize>,
    /// Lower triangle, row by row.
    lower: Vec<f64>,
}

impl Direct {
    fn new(level: &Level) -> Self {
        let cells: Vec<usize> = (0..level.center.len()).filter(|&i| level.center[i] > 0.0).collect();
        let n = cells.len();
        let mut lower = vec![0.0; n * n];
        for (a, &i) in cells.iter().enumerate() {
            let up = level.stride;
            let round = [i - up, i - up + 1, i + 1, i + up + 1, i + up, i + up - 1, i - 1, i - up - 1];
            lower[a * n + a] = f64::from(level.center[i]);
            for (coupling, j) in level.couplings(i).into_iter().zip(round) {
                if let Ok(b) = cells.binary_search(&j) {
                    lower[a * n + b] = -coupling;
                }
            }
        }
        for a in 0..n {
            for b in 0..=a {
                let sum: f64 = (0..b).map(|k| lower[a * n + k] * lower[b * n + k]).sum();
                let left = lower[a * n + b] - sum;
                lower[a * n + b] = if a != b {
                    left * lower[b * n + b]
                } else if left > 1e-7 * lower[a * n + a] {
                    // The diagonal holds one over the root.
                    1.0 / left.sqrt()
                } else {
                    // Nothing fixes this part: it stays where it is.
                    0.0
                };
            }
        }
        Self { cells, lower }
    }

    fn solve(&self, level: &mut Level) {
        let n = self.cells.len();
        let mut x: Vec<f64> = self.cells.iter().map(|&i| f64::from(level.right[i])).collect();
        for a in 0..n {
            let sum: f64 = (0..a).map(|k| self.lower[a * n + k] * x[k]).sum();
            x[a] = (x[a] - sum) * self.lower[a * n + a];
        }
        for a in (0..n).rev() {
            let sum: f64 = (a + 1..n).map(|k| self.lower[k * n + a] * x[k]).sum();
            x[a] = (x[a] - sum) * self.lower[a * n + a];
        }
        for (value, &i) in x.iter().zip(&self.cells) {
            level.values[i] = *value as f32;
        }
    }
}
