//! Ways of the water over a block: where it goes, how much there is, what it cuts and what it lays down.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::square::{COUNT, SIDE};

/// Steps to the eight neighbours, clockwise from north: columns, rows.
const STEPS: [(isize, isize); 8] = [(0, -1), (1, -1), (1, 0), (1, 1), (0, 1), (-1, 1), (-1, 0), (-1, -1)];
/// The same as offsets of samples.
const OFFSETS: [isize; 8] = {
    let mut out = [0; 8];
    let mut way = 0;
    while way < 8 {
        out[way] = STEPS[way].1 * SIDE as isize + STEPS[way].0;
        way += 1;
    }
    out
};
const NONE: u32 = u32::MAX;

/// Ways of the water over a block, out over its edge.
pub struct Flow {
    /// Samples from the outlets upward.
    order: Vec<u32>,
    /// Where water goes that finds no lower neighbour.
    sill: Vec<u32>,
    /// Shares of the water that go to each neighbour; all zero where it goes to the sill.
    shares: Vec<[f32; 8]>,
    /// Area drained, in square metres.
    pub area: Vec<f32>,
    per_m: [f32; 8],
}

/// Whether a sample lies on the rim of the square.
fn is_edge(cell: usize) -> bool {
    let (col, row) = (cell % SIDE, cell / SIDE);
    col == 0 || row == 0 || col == SIDE - 1 || row == SIDE - 1
}

/// Bits that are in the order of numbers.
fn key(value: f32) -> u64 {
    let bits = value.to_bits();
    u64::from(if bits >> 31 == 0 { bits | 0x8000_0000 } else { !bits })
}

#[inline(always)]
fn beside(cell: usize, way: usize) -> usize {
    cell.wrapping_add_signed(OFFSETS[way])
}

impl Flow {
    /// The ways over heights. `inflow` is the area that drains through samples of the rim from beyond.
    pub fn over(height: &[f32], inflow: &[f32], [dx, dy]: [f32; 2]) -> Self {
        let mut heap = BinaryHeap::with_capacity(COUNT);
        let mut rank = vec![NONE; COUNT];
        let mut area = vec![dx * dy; COUNT];
        // Of equal heights the one nearest the first corner comes first.
        for cell in (0..COUNT).filter(|&cell| is_edge(cell)) {
            heap.push(Reverse(key(height[cell]) << 32 | cell as u64));
            rank[cell] = 0;
            area[cell] = inflow[cell].max(dx * dy);
        }
        let mut order = Vec::with_capacity(COUNT);
        let mut sill = vec![NONE; COUNT];
        while let Some(Reverse(entry)) = heap.pop() {
            let (level, cell) = (entry >> 32, (entry & 0xffff_ffff) as usize);
            rank[cell] = order.len() as u32;
            order.push(cell as u32);
            let edge = is_edge(cell);
            for way in 0..8 {
                let next = beside(cell, way);
                if edge && !is_inside(cell, way) || rank[next] != NONE {
                    continue;
                }
                rank[next] = 0;
                sill[next] = cell as u32;
                heap.push(Reverse(key(height[next]).max(level) << 32 | next as u64));
            }
        }
        let per_m = per_metre([dx, dy]);
        let mut shares = vec![[0.0_f32; 8]; COUNT];
        for &cell in order.iter().rev() {
            let cell = cell as usize;
            let (edge, own) = (is_edge(cell), rank[cell]);
            let mut share = [0.0_f32; 8];
            for way in 0..8 {
                if edge && !is_inside(cell, way) {
                    continue;
                }
                let next = beside(cell, way);
                let drop = (height[cell] - height[next]) * per_m[way];
                if drop > 0.0 && rank[next] < own {
                    let drop = (drop * drop) * (drop * drop);
                    share[way] = if way % 2 == 1 { 0.7 * drop } else { drop };
                }
            }
            let sum: f32 = share.iter().sum();
            if sum > 0.0 {
                let scale = 1.0 / sum;
                for way in 0..8 {
                    if share[way] > 0.0 {
                        share[way] *= scale;
                        area[beside(cell, way)] += area[cell] * share[way];
                    }
                }
                shares[cell] = share;
            } else if sill[cell] != NONE {
                area[sill[cell] as usize] += area[cell];
            }
        }
        Self { order, sill, shares, area, per_m }
    }

    /// Gives `f` each way that water takes from a sample, with its share.
    #[inline(always)]
    fn for_ways(&self, cell: usize, mut f: impl FnMut(usize, f32, f32)) {
        let shares = &self.shares[cell];
        let mut spread = false;
        for way in 0..8 {
            if shares[way] > 0.0 {
                spread = true;
                f(beside(cell, way), shares[way], self.per_m[way]);
            }
        }
        if !spread && self.sill[cell] != NONE {
            f(self.sill[cell] as usize, 1.0, self.per_m[0]);
        }
    }

    /// Cuts down to where the water goes, implicitly: from the outlets upward. The rim stays. `drive` is how many metres
    /// further down the way the height is taken from, at most; `lift` is added. Pits no deeper than `shallow_m` are filled.
    pub fn cut(&self, height: &mut [f32], drive: &[f32], lift: &[f32], shallow_m: f32) {
        for &cell in &self.order {
            let cell = cell as usize;
            if is_edge(cell) {
                continue;
            }
            let here = height[cell];
            let (mut sum, mut weight) = (here + lift[cell], 1.0);
            let mut lowest = f32::INFINITY;
            self.for_ways(cell, |next, share, per_m| {
                lowest = lowest.min(height[next]);
                if height[next] < here {
                    let pull = drive[cell] * share * per_m;
                    sum += pull * height[next];
                    weight += pull;
                }
            });
            let cut = sum / weight;
            height[cell] = if cut < lowest && lowest - cut < shallow_m { lowest } else { cut };
        }
    }

    /// Lays what `loose` (metres of ground at each sample) comes down with the water where it gets too flat to carry it: below
    /// `bearing`, the slope that the water of a sample needs. No sample rises above one that gives to it.
    pub fn lay(&self, height: &mut [f32], mut loose: Vec<f32>, bearing: &[f32]) {
        let mut lowest_above = vec![f32::INFINITY; COUNT];
        for &cell in self.order.iter().rev() {
            let cell = cell as usize;
            let edge = is_edge(cell);
            let mut room = f32::INFINITY;
            if !edge && loose[cell] > 0.0 {
                self.for_ways(cell, |next, _, per_m| {
                    let needed = height[next] + bearing[cell] / per_m;
                    room = room.min(needed - height[cell]);
                });
                room = room.min(0.9 * (lowest_above[cell] - height[cell])).max(0.0);
                let laid = loose[cell].min(room);
                height[cell] += laid;
                loose[cell] -= laid;
            }
            let (here, left) = (height[cell], loose[cell]);
            self.for_ways(cell, |next, share, _| {
                loose[next] += share * left;
                lowest_above[next] = lowest_above[next].min(here);
            });
        }
    }
}

/// Whether the neighbour of a sample on the rim lies on the square.
fn is_inside(cell: usize, way: usize) -> bool {
    let (col, row) = ((cell % SIDE) as isize + STEPS[way].0, (cell / SIDE) as isize + STEPS[way].1);
    (0..SIDE as isize).contains(&col) && (0..SIDE as isize).contains(&row)
}

/// One over the distance to each neighbour.
fn per_metre([dx, dy]: [f32; 2]) -> [f32; 8] {
    STEPS.map(|(x, y)| {
        let (x, y) = (x as f32 * dx, y as f32 * dy);
        1.0 / (x * x + y * y).sqrt()
    })
}
