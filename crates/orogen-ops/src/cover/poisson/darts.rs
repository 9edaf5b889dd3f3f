//! A round of darts into one row of cells.

use orogen_core::rng::Seed;

use super::{EMPTY, Neighbour, Turn};
use crate::simd::{Level, dispatch};

/// Cells worked on together: what they need stays in the nearest cache.
const BLOCK: usize = 256;

/// Darts whose distances are worked out together.
const LANES: usize = 8;

impl Turn<'_> {
    /// Throws a dart into each empty cell of a row; those that are far enough from all points stay.
    pub(super) fn throw(
        &self,
        row: usize,
        x: &mut [f32],
        y: &mut [f32],
        allowed: &(impl Fn([f64; 2]) -> bool + Sync),
    ) {
        let around: Vec<Row<'_>> = self.around().map(|near| Row::new(self, &near, row)).collect();
        let level = Level::new();
        let mut darts = Block { x: [0.0; BLOCK], y: [0.0; BLOCK], nearest: [EMPTY; BLOCK] };
        for start in (0..x.len()).step_by(BLOCK) {
            let count = BLOCK.min(x.len() - start);
            self.draw(level, row, start, &x[start..start + count], &mut darts);
            dispatch!(level, _simd => darts.measure(&around, start, count));
            for i in (0..count).filter(|&i| darts.nearest[i] >= 1.0) {
                let at = start + i;
                let dart = [darts.x[i], darts.y[i]];
                let place = self.place(self.cell(at + 1, row), dart);
                if self.has_room(place) && allowed(place) {
                    [x[at], y[at]] = dart;
                }
            }
        }
    }

    /// Darts for a block of cells. One that is not to be thrown, as the cell is taken or sits out this round, lies on top of
    /// a point that is not there.
    fn draw(&self, level: Level, row: usize, start: usize, taken: &[f32], darts: &mut Block) {
        let [step_x, step_y] = self.side().map(|side| side / 4096.0);
        // A draw of 64 bits is two darts of 12, 12 and 8 bits.
        let (draw, half) = ((self.round / 2) as u64, (self.round % 2) as u32 * 32);
        let [first, y] = self.cell(start + 1, row);
        let spacing = &self.plan.spacing;
        let seed = Seed(Seed(self.plan.seed.bits(draw)).bits(spacing.wrapped([0, y])[1] as u64));
        let mut cols = [0; BLOCK];
        let cols = &mut cols[..taken.len()];
        for (i, col) in cols.iter_mut().enumerate() {
            let index = first + 3 * i as i64;
            *col = spacing.period.map_or(index, |period| index.rem_euclid(period[0])) as u64;
        }
        let share = self.share;
        let (x, y, nearest) = (&mut darts.x, &mut darts.y, &mut darts.nearest);
        dispatch!(level, _simd => {
            for (i, (taken, col)) in taken.iter().zip(&*cols).enumerate() {
                let bits = (seed.bits(*col) >> half) as u32;
                x[i] = (bits & 0xfff) as f32 * step_x;
                y[i] = (bits >> 12 & 0xfff) as f32 * step_y;
                let thrown = *taken >= EMPTY && bits >> 24 < share;
                nearest[i] = if thrown { EMPTY } else { 0.0 };
            }
        });
    }
}

/// A block of darts, in distances from the corners of their cells, with their squared distances to the nearest point.
struct Block {
    x: [f32; BLOCK],
    y: [f32; BLOCK],
    nearest: [f32; BLOCK],
}

/// The cells at one offset from those of a row.
struct Row<'a> {
    x: &'a [f32],
    y: &'a [f32],
    offset: [f32; 2],
}

impl<'a> Row<'a> {
    fn new(turn: &Turn<'a>, near: &Neighbour, row: usize) -> Self {
        let cols = turn.disks.cols;
        let first = row.wrapping_add_signed(near.rows) * cols + 1usize.wrapping_add_signed(near.cols);
        let plane = &turn.disks.planes[near.plane];
        // The padding of the row after it is empty too, so whole blocks of lanes may be read.
        let end = (first + cols - 2 + LANES).min(plane.x.len());
        Self { x: &plane.x[first..end], y: &plane.y[first..end], offset: near.offset }
    }
}

impl Block {
    #[inline(always)]
    fn measure(&mut self, around: &[Row<'_>], start: usize, count: usize) {
        for i in (0..count).step_by(LANES) {
            let lanes = LANES.min(count - i);
            let (mut x, mut y, mut least) = ([0.0f32; LANES], [0.0f32; LANES], [0.0f32; LANES]);
            x.copy_from_slice(&self.x[i..i + LANES]);
            y.copy_from_slice(&self.y[i..i + LANES]);
            least.copy_from_slice(&self.nearest[i..i + LANES]);
            for row in around {
                let at = start + i;
                if let (Some(other_x), Some(other_y)) =
                    (row.x[at..].first_chunk::<LANES>(), row.y[at..].first_chunk::<LANES>())
                {
                    for l in 0..LANES {
                        least[l] = lower(
                            least[l],
                            other_x[l] + row.offset[0] - x[l],
                            other_y[l] + row.offset[1] - y[l],
                        );
                    }
                } else {
                    for l in 0..lanes {
                        let (other_x, other_y) = (row.x[at + l], row.y[at + l]);
                        least[l] =
                            lower(least[l], other_x + row.offset[0] - x[l], other_y + row.offset[1] - y[l]);
                    }
                }
            }
            self.nearest[i..i + LANES].copy_from_slice(&least);
        }
    }
}

#[inline(always)]
fn lower(least: f32, dx: f32, dy: f32) -> f32 {
    let square = dx * dx + dy * dy;
    if square < least { square } else { least }
}
