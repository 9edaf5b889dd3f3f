//! Banks that slide: what water has undercut falls in, so that gullies become valleys.

use orogen_core::math;
use rayon::prelude::*;

use super::laws::{larger, smaller};
use super::tiles::{Fixed, State};
use crate::simd::{Level, dispatch};

/// Share of the excess over a bank's steepest slope that slides at a time, over each of eight pairs.
const SHARE: f32 = 1.0 / 16.0;

/// The most that stands between two neighbours, in metres, along x, y and the diagonals.
#[derive(Clone, Copy, Debug)]
pub(super) struct Banks {
    most: [f32; 3],
}

/// A row as its neighbours see it.
#[derive(Clone, Default)]
struct Line {
    bed: Vec<f32>,
    /// How deep it was cut below its first height, at least 0.
    cut: Vec<f32>,
    live: Vec<f32>,
}

impl Line {
    #[inline(always)]
    fn load(&mut self, fixed: &Fixed, now: &State, row: usize) {
        let line = row * now.cols..(row + 1) * now.cols;
        for v in [&mut self.bed, &mut self.cut, &mut self.live] {
            v.resize(now.cols, 0.0);
        }
        let (rock, loose) = (&now.planes[0][line.clone()], &now.planes[1][line.clone()]);
        let (base, live) = (&fixed.base[line.clone()], &fixed.live[line]);
        for (i, (bed, cut)) in self.bed.iter_mut().zip(&mut self.cut).enumerate() {
            let above = rock[i] + loose[i];
            *bed = base[i] + above;
            *cut = larger(-above, 0.0);
        }
        for (to, &live) in self.live.iter_mut().zip(live) {
            *to = f32::from(live);
        }
        // Held ground takes part in nothing.
        for &i in fixed.held_in(row, now.cols) {
            self.live[i - row * now.cols] = 0.0;
        }
    }
}

impl Banks {
    pub fn new(bank_deg: f64, [dx, dy]: [f64; 2]) -> Self {
        let tan = math::tan(bank_deg.to_radians());
        Self { most: [dx, dy, math::hypot(dx, dy)].map(|l| (l * tan) as f32) }
    }

    /// Rock and loose ground after one slide. What leaves a cell is loose ground first, and arrives as loose ground.
    pub fn slide(&self, fixed: &Fixed, now: &State, rock: &mut [f32], loose: &mut [f32]) {
        let (cols, rows) = (now.cols, now.rows);
        let level = Level::new();
        rock.par_chunks_mut(cols).zip(loose.par_chunks_mut(cols)).enumerate().for_each_init(
            || [Line::default(), Line::default(), Line::default()],
            |lines, (row, (rock, loose))| {
                let line = row * cols..(row + 1) * cols;
                rock.copy_from_slice(&now.planes[0][line.clone()]);
                loose.copy_from_slice(&now.planes[1][line]);
                if row > 0 && row + 1 < rows {
                    dispatch!(level, _simd => self.row(fixed, now, row, lines, rock, loose));
                }
            },
        );
    }

    #[inline(always)]
    fn row(
        &self,
        fixed: &Fixed,
        now: &State,
        row: usize,
        lines: &mut [Line; 3],
        rock: &mut [f32],
        loose: &mut [f32],
    ) {
        let n = now.cols - 2;
        lines[0].load(fixed, now, row - 1);
        lines[1].load(fixed, now, row);
        lines[2].load(fixed, now, row + 1);
        let [up, here, low] = &*lines;
        slide_loop(
            self.most,
            [&up.bed, &up.cut, &up.live],
            [&here.bed, &here.cut, &here.live],
            [&low.bed, &low.cut, &low.live],
            &mut rock[1..][..n],
            &mut loose[1..][..n],
        );
    }
}

/// Cells of a row but its first and last; rows are given as bed, cut and life.
#[inline(always)]
fn slide_loop(
    most: [f32; 3],
    up: [&[f32]; 3],
    here: [&[f32]; 3],
    low: [&[f32]; 3],
    rock: &mut [f32],
    loose: &mut [f32],
) {
    let n = rock.len();
    let loose = &mut loose[..n];
    let (up, here, low) = (shifts(up, n), shifts(here, n), shifts(low, n));
    for i in 0..n {
        let own = [here[1][0][i], here[1][1][i], here[1][2][i]];
        // What comes from a neighbour and what goes there. Both cells of a pair find the same numbers.
        let comes = |line: &[[&[f32]; 3]; 3], shift: usize, most: f32| {
            let drop = line[shift][0][i] - own[0];
            let cut = if drop > 0.0 { own[1] } else { line[shift][1][i] };
            let moves = SHARE * smaller(larger(drop.abs() - most, 0.0), cut) * line[shift][2][i];
            [if drop > 0.0 { moves } else { 0.0 }, if drop > 0.0 { 0.0 } else { moves }]
        };
        let (w, e) = (comes(&here, 0, most[0]), comes(&here, 2, most[0]));
        let (n, s) = (comes(&up, 1, most[1]), comes(&low, 1, most[1]));
        let (nw, se) = (comes(&up, 0, most[2]), comes(&low, 2, most[2]));
        let (ne, sw) = (comes(&up, 2, most[2]), comes(&low, 0, most[2]));
        let gains = ((w[0] + e[0]) + (n[0] + s[0])) + ((nw[0] + se[0]) + (ne[0] + sw[0]));
        let loses = ((w[1] + e[1]) + (n[1] + s[1])) + ((nw[1] + se[1]) + (ne[1] + sw[1]));
        let slips = smaller(loses, loose[i]);
        loose[i] += own[2] * (gains - slips);
        rock[i] -= own[2] * (loses - slips);
    }
}

/// A row shifted to the west, as it is, and to the east, all of one length as the compiler sees.
#[inline(always)]
fn shifts(row: [&[f32]; 3], n: usize) -> [[&[f32]; 3]; 3] {
    let [a, b, c] = row;
    [
        [&a[..n], &b[..n], &c[..n]],
        [&a[1..][..n], &b[1..][..n], &c[1..][..n]],
        [&a[2..][..n], &b[2..][..n], &c[2..][..n]],
    ]
}
