//! The exact fill: finds what the disks around an empty cell leave of it, and puts a point there.
//!
//! The cell is cut into 4 x 4 squares; those that lie wholly in one disk are gone. A dart is thrown into each that is left,
//! in random order; where none finds a free place, the squares are cut further, to 1/16384 of a cell. Near the free part of
//! a cell some square is always left, and where nothing is free all squares are soon gone, as circles cross at an angle.

use orogen_core::rng::Seed;

use super::{EMPTY, FULL, Turn};

/// How often a square is cut into 4 x 4.
const CUTS: u32 = 7;

/// Free places that the land refused, after which a cell is given up.
const REFUSALS: u32 = 12;

/// A disk that no point may lie in, in distances from the corner of the cell.
struct Disk {
    centre: [f32; 2],
    square: f32,
}

/// A square part of a cell.
#[derive(Clone, Copy)]
struct Part {
    corner: [f32; 2],
    side: [f32; 2],
}

impl Turn<'_> {
    /// Puts a point into each empty cell of a row that has room for one.
    pub(super) fn fill(
        &self,
        row: usize,
        x: &mut [f32],
        y: &mut [f32],
        allowed: &(impl Fn([f64; 2]) -> bool + Sync),
    ) {
        let mut disks = Vec::new();
        let around: Vec<_> = self.around().collect();
        let cell = Part { corner: [0.0; 2], side: self.side() };
        for i in 0..x.len() {
            if !(EMPTY..FULL).contains(&x[i]) {
                continue;
            }
            let here = self.cell(i + 1, row);
            let [wrapped_x, wrapped_y] = self.plan.spacing.wrapped(here);
            let seed = Seed(Seed(self.plan.seed.bits(u64::MAX)).bits2(wrapped_y, wrapped_x));
            if seed.bits(0) as u32 & 255 >= self.share {
                continue;
            }
            disks.clear();
            for near in &around {
                let at = row.wrapping_add_signed(near.rows) * self.disks.cols
                    + (i + 1).wrapping_add_signed(near.cols);
                let plane = &self.disks.planes[near.plane];
                if plane.x[at] < EMPTY {
                    let centre = [plane.x[at] + near.offset[0], plane.y[at] + near.offset[1]];
                    disks.push(Disk { centre, square: 1.0 });
                }
            }
            self.add_larger(here, &mut disks);
            let land = |within: [f32; 2]| allowed(self.place(here, within));
            let mut search = Search { disks: &disks, seed, allowed: &land, draws: 0, refusals: 0 };
            match search.find(cell, 0) {
                Some(point) => [x[i], y[i]] = point,
                None => x[i] = FULL,
            }
        }
    }

    /// The disks of larger classes that may touch a cell.
    fn add_larger(&self, cell: [i64; 2], disks: &mut Vec<Disk>) {
        let own = self.plan.spacing.distance_m;
        let corner = self.place(cell, [0.0; 2]);
        let middle = self.place(cell, self.side().map(|side| side / 2.0));
        for class in self.larger {
            let least = 0.5 * (class.spacing.distance_m + own);
            let square = ((least / own) as f32) * ((least / own) as f32);
            class.all_near(middle, least + own, |other| {
                let centre = [0, 1].map(|axis| ((other[axis] - corner[axis]) / own) as f32);
                disks.push(Disk { centre, square });
                true
            });
        }
    }
}

struct Search<'a, F> {
    disks: &'a [Disk],
    seed: Seed,
    allowed: &'a F,
    draws: u64,
    refusals: u32,
}

impl<F: Fn([f32; 2]) -> bool> Search<'_, F> {
    /// A free place in a part of the cell.
    fn find(&mut self, part: Part, cuts: u32) -> Option<[f32; 2]> {
        let mut left = uncovered(part, self.disks);
        let side = part.side.map(|side| side / 4.0);
        let turn = (self.bits() & 15) as u32;
        let squares = |left: u16| {
            (0..16).map(move |i| (i + turn) & 15).filter(move |i| left >> i & 1 == 1).map(move |i| Part {
                corner: [
                    part.corner[0] + (i & 3) as f32 * side[0],
                    part.corner[1] + (i >> 2) as f32 * side[1],
                ],
                side,
            })
        };
        for square in squares(left) {
            let bits = self.bits();
            let unit = |bits: u64| (bits & 0xffff) as f32 / 65536.0;
            let dart = [
                square.corner[0] + unit(bits >> 16) * square.side[0],
                square.corner[1] + unit(bits >> 32) * square.side[1],
            ];
            if self.disks.iter().all(|disk| squared(disk.centre, dart) >= disk.square) {
                if (self.allowed)(dart) {
                    return Some(dart);
                }
                self.refusals += 1;
                if self.refusals >= REFUSALS {
                    return None;
                }
            }
        }
        if cuts + 1 == CUTS {
            return None;
        }
        while left != 0 {
            let square = squares(left).next()?;
            let found = self.find(square, cuts + 1);
            if found.is_some() || self.refusals >= REFUSALS {
                return found;
            }
            // The next in the same order.
            let i = (0..16).map(|i| (i + turn) & 15).find(|i| left >> i & 1 == 1)?;
            left &= !(1 << i);
        }
        None
    }

    fn bits(&mut self) -> u64 {
        self.draws += 1;
        self.seed.bits(self.draws)
    }
}

fn squared(a: [f32; 2], b: [f32; 2]) -> f32 {
    let (dx, dy) = (a[0] - b[0], a[1] - b[1]);
    dx * dx + dy * dy
}

/// Which of the 4 x 4 squares of a part lie in no disk wholly, as bits.
#[inline]
fn uncovered(part: Part, disks: &[Disk]) -> u16 {
    let [step_x, step_y] = part.side.map(|side| side / 4.0);
    // By how much the farthest corner lies inside some disk.
    let mut inside = [[-1.0f32; 4]; 4];
    for disk in disks {
        let from = [disk.centre[0] - part.corner[0], disk.centre[1] - part.corner[1]];
        let (mut far_x, mut far_y) = ([0.0f32; 4], [0.0f32; 4]);
        for i in 0..4 {
            let low = i as f32;
            let [x, y] = [
                (from[0] - low * step_x).abs().max((from[0] - (low + 1.0) * step_x).abs()),
                (from[1] - low * step_y).abs().max((from[1] - (low + 1.0) * step_y).abs()),
            ];
            [far_x[i], far_y[i]] = [x * x, y * y];
        }
        for (row, far_y) in inside.iter_mut().zip(far_y) {
            for (depth, far_x) in row.iter_mut().zip(far_x) {
                let here = disk.square - far_y - far_x;
                *depth = if here > *depth { here } else { *depth };
            }
        }
    }
    let mut left = 0u16;
    for (i, depth) in inside.iter().flatten().enumerate() {
        left |= u16::from(*depth <= 0.0) << i;
    }
    left
}
