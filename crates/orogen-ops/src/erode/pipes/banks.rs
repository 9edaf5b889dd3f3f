//! Banks that slide: what water has undercut falls in, so that gullies become valleys.

use orogen_core::math;
use rayon::prelude::*;

use super::laws::{WALL, larger, smaller};
use super::tiles::{Fixed, State};

/// Share of the excess over a bank's steepest slope that slides at a time, over each of eight pairs.
const SHARE: f32 = 1.0 / 16.0;

/// The most that stands between two neighbours, in metres, along x, y and the diagonals.
#[derive(Clone, Copy, Debug)]
pub(super) struct Banks {
    most: [f32; 3],
}

impl Banks {
    pub fn new(bank_deg: f64, [dx, dy]: [f64; 2]) -> Self {
        let tan = math::tan(bank_deg.to_radians());
        Self { most: [dx, dy, math::hypot(dx, dy)].map(|l| (l * tan) as f32) }
    }

    /// Rock and loose ground after one slide. What leaves a cell is loose ground first, and arrives as loose ground.
    pub fn slide(&self, fixed: &Fixed, now: &State, rock: &mut [f32], loose: &mut [f32]) {
        let (cols, rows) = (now.cols, now.rows);
        rock.par_chunks_mut(cols).zip(loose.par_chunks_mut(cols)).enumerate().for_each(
            |(row, (rock, loose))| {
                let line = row * cols..(row + 1) * cols;
                rock.copy_from_slice(&now.planes[0][line.clone()]);
                loose.copy_from_slice(&now.planes[1][line]);
                if row == 0 || row + 1 == rows {
                    return;
                }
                for col in 1..cols - 1 {
                    let i = row * cols + col;
                    if fixed.live[i] == 1 {
                        self.cell(fixed, now, i, &mut rock[col], &mut loose[col]);
                    }
                }
            },
        );
    }

    fn cell(&self, fixed: &Fixed, now: &State, i: usize, rock: &mut f32, loose: &mut f32) {
        let cols = now.cols;
        let above = |i: usize| now.planes[0][i] + now.planes[1][i];
        let bed = |i: usize| fixed.base[i] + above(i);
        let (here, cut_here) = (bed(i), above(i));
        // What comes from `j`, negative if it goes there. Both cells of a pair find the same number.
        let comes = |j: usize, most: f32| {
            let other = bed(j);
            if fixed.live[j] == 0 || other >= 0.5 * WALL {
                return 0.0;
            }
            let drop = other - here;
            let cut = larger(-if drop > 0.0 { cut_here } else { above(j) }, 0.0);
            let moves = SHARE * smaller(larger(drop.abs() - most, 0.0), cut);
            if drop > 0.0 { moves } else { -moves }
        };
        let pair = |a: usize, b: usize, most: f32| {
            let (a, b) = (comes(a, most), comes(b, most));
            [larger(a, 0.0) + larger(b, 0.0), larger(-a, 0.0) + larger(-b, 0.0)]
        };
        let pairs = [
            pair(i - 1, i + 1, self.most[0]),
            pair(i - cols, i + cols, self.most[1]),
            pair(i - cols - 1, i + cols + 1, self.most[2]),
            pair(i - cols + 1, i + cols - 1, self.most[2]),
        ];
        let sum = |k: usize| (pairs[0][k] + pairs[1][k]) + (pairs[2][k] + pairs[3][k]);
        let (gains, loses) = (sum(0), sum(1));
        let slips = smaller(loses, *loose);
        *loose = (*loose - slips) + gains;
        *rock -= loses - slips;
    }
}
