//! Ways of the water over a block: where it goes, how much there is, what it cuts and what it lays down.

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
/// Width of the way to each neighbour, against a straight one.
const WIDTHS: [f32; 8] = [1.0, 0.7, 1.0, 0.7, 1.0, 0.7, 1.0, 0.7];
/// Share of a sample's water below which it takes no way of its own.
const TRICKLE: f32 = 0.02;
const NONE: u32 = u32::MAX;

/// Ways of the water over a block, out over its edge.
pub struct Flow {
    /// Samples from the outlets upward.
    order: Vec<u32>,
    /// Ways of all samples, from the highest down, so that they are read one after the other.
    ways: Vec<Way>,
    /// The first way of each sample of `order` in turn, from the last; and the end.
    first: Vec<u32>,
    /// Area drained, in square metres.
    pub area: Vec<f32>,
}

/// Where some of a sample's water goes.
#[derive(Clone, Copy)]
struct Way {
    to: u32,
    share: f32,
    /// One over the distance.
    per_m: f32,
}

/// Whether a sample lies on the rim of the square.
fn is_edge(cell: usize) -> bool {
    let (col, row) = (cell % SIDE, cell / SIDE);
    col == 0 || row == 0 || col == SIDE - 1 || row == SIDE - 1
}

/// Samples by height, the lowest first: on shelves so narrow that what lies on one may come in any order, here the first
/// first.
struct Sorted {
    cells: Vec<u32>,
    /// Where each sample stands among them.
    place: Vec<u32>,
}

impl Sorted {
    const SHELVES: usize = 1 << 14;

    fn new(height: &[f32]) -> Self {
        let (lowest, highest) =
            height.iter().fold((f32::INFINITY, f32::NEG_INFINITY), |(a, b), &h| (a.min(h), b.max(h)));
        let per_m = (Self::SHELVES - 1) as f32 / (highest - lowest).max(1e-3);
        let shelves: Vec<u16> = height.iter().map(|&h| ((h - lowest) * per_m) as u16).collect();
        let mut next = vec![0u32; Self::SHELVES + 1];
        shelves.iter().for_each(|&shelf| next[usize::from(shelf).min(Self::SHELVES - 1) + 1] += 1);
        for shelf in 0..Self::SHELVES {
            next[shelf + 1] += next[shelf];
        }
        let (mut cells, mut place) = (vec![0; COUNT], vec![0; COUNT]);
        for (cell, &shelf) in shelves.iter().enumerate() {
            let at = &mut next[usize::from(shelf).min(Self::SHELVES - 1)];
            cells[*at as usize] = cell as u32;
            place[cell] = *at;
            *at += 1;
        }
        Self { cells, place }
    }
}

#[inline(always)]
fn beside(cell: usize, way: usize) -> usize {
    cell.wrapping_add_signed(OFFSETS[way])
}

impl Flow {
    /// The ways over heights. `inflow` is the area that drains through samples of the rim from beyond.
    pub fn over(height: &[f32], inflow: &[f32], [dx, dy]: [f32; 2]) -> Self {
        // Reached from the edge or from a sample that came before: then its rank is at first 0.
        let mut rank = vec![NONE; COUNT];
        let mut area = vec![dx * dy; COUNT];
        for cell in (0..COUNT).filter(|&cell| is_edge(cell)) {
            rank[cell] = 0;
            area[cell] = inflow[cell].max(dx * dy);
        }
        let sorted = Sorted::new(height);
        let mut order = Vec::with_capacity(COUNT);
        let mut sill = vec![NONE; COUNT];
        // Lower ground behind a sill is done as soon as it is reached, before anything higher.
        let mut behind: Vec<u32> = Vec::new();
        for (place, &cell) in sorted.cells.iter().enumerate() {
            if rank[cell as usize] == NONE {
                continue;
            }
            behind.push(cell);
            let mut next = 0;
            while let Some(&cell) = behind.get(next) {
                next += 1;
                let cell = cell as usize;
                rank[cell] = order.len() as u32;
                order.push(cell as u32);
                let edge = is_edge(cell);
                for way in 0..8 {
                    if edge && !is_inside(cell, way) {
                        continue;
                    }
                    let there = beside(cell, way);
                    if rank[there] == NONE {
                        rank[there] = 0;
                        sill[there] = cell as u32;
                        if (sorted.place[there] as usize) < place {
                            behind.push(there as u32);
                        }
                    }
                }
            }
            behind.clear();
        }
        let per_m = per_metre([dx, dy]);
        let shares = shares(height, &rank, per_m);
        let mut ways = Vec::with_capacity(3 * COUNT);
        let mut first = Vec::with_capacity(COUNT + 1);
        for &cell in order.iter().rev() {
            first.push(ways.len() as u32);
            let cell = cell as usize;
            let drained = area[cell];
            let Shares { share, mut ways_mask } = shares[cell];
            if ways_mask == 0 && sill[cell] != NONE {
                ways.push(Way { to: sill[cell], share: 1.0, per_m: per_m[0] });
                area[sill[cell] as usize] += drained;
            }
            while ways_mask != 0 {
                let way = ways_mask.trailing_zeros() as usize % 8;
                ways_mask &= ways_mask - 1;
                let (to, share) = (beside(cell, way), share[way]);
                ways.push(Way { to: to as u32, share, per_m: per_m[way] });
                area[to] += drained * share;
            }
        }
        first.push(ways.len() as u32);
        Self { order, ways, first, area }
    }

    /// The ways from the sample of a rank.
    #[inline(always)]
    fn ways_of(&self, rank: usize) -> &[Way] {
        let at = COUNT - 1 - rank;
        &self.ways[self.first[at] as usize..self.first[at + 1] as usize]
    }

    /// Cuts down to where the water goes, implicitly: from the outlets upward. The rim stays. `drive` is how many metres
    /// further down the way the height is taken from, at most; `lift` is added. Pits no deeper than `shallow_m` are filled.
    pub fn cut(&self, height: &mut [f32], drive: &[f32], lift: &[f32], shallow_m: f32) {
        for (rank, &cell) in self.order.iter().enumerate() {
            let cell = cell as usize;
            if is_edge(cell) {
                continue;
            }
            let here = height[cell];
            let (mut sum, mut weight) = (here + lift[cell], 1.0);
            let mut lowest = f32::INFINITY;
            for way in self.ways_of(rank) {
                let there = height[way.to as usize];
                lowest = lowest.min(there);
                let pull = if there < here { drive[cell] * way.share * way.per_m } else { 0.0 };
                sum += pull * there;
                weight += pull;
            }
            let cut = sum / weight;
            height[cell] = if cut < lowest && lowest - cut < shallow_m { lowest } else { cut };
        }
    }

    /// Lays what `loose` (metres of ground at each sample) comes down with the water where it gets too flat to carry it: below
    /// `bearing`, the slope that the water of a sample needs. No sample rises above one that gives to it.
    pub fn lay(&self, height: &mut [f32], mut loose: Vec<f32>, bearing: &[f32]) {
        let mut lowest_above = vec![f32::INFINITY; COUNT];
        for (rank, &cell) in self.order.iter().enumerate().rev() {
            let cell = cell as usize;
            let ways = self.ways_of(rank);
            if !is_edge(cell) && loose[cell] > 0.0 {
                let mut room = 0.9 * (lowest_above[cell] - height[cell]);
                for way in ways {
                    room = room.min(height[way.to as usize] + bearing[cell] / way.per_m - height[cell]);
                }
                let laid = loose[cell].min(room.max(0.0));
                height[cell] += laid;
                loose[cell] -= laid;
            }
            let (here, left) = (height[cell], loose[cell]);
            for way in ways {
                let to = way.to as usize;
                loose[to] += way.share * left;
                lowest_above[to] = lowest_above[to].min(here);
            }
        }
    }
}

/// How a sample's water is shared out among its neighbours, and a bit for each that gets some.
#[derive(Clone, Copy, Default)]
struct Shares {
    share: [f32; 8],
    ways_mask: u32,
}

/// Where the water of each sample goes: down, to neighbours that came before it (`rank`).
///
/// Row by row, so that it becomes vector code: along the order of samples it would wait for memory.
fn shares(height: &[f32], rank: &[u32], per_m: [f32; 8]) -> Vec<Shares> {
    let mut out = vec![Shares::default(); COUNT];
    let mut lines = [[0.0f32; SIDE]; 8];
    for (row, out) in out.chunks_exact_mut(SIDE).enumerate() {
        let start = row * SIDE;
        for (way, line) in lines.iter_mut().enumerate() {
            line.fill(0.0);
            let there = row as isize + STEPS[way].1;
            if !(0..SIDE as isize).contains(&there) {
                continue;
            }
            // Columns whose neighbour lies on the square.
            let (from, to) = (usize::from(STEPS[way].0 < 0), SIDE - usize::from(STEPS[way].0 > 0));
            let (here, own) = (&height[start + from..start + to], &rank[start + from..start + to]);
            let next = beside(start + from, way);
            let (low, other) = (&height[next..next + to - from], &rank[next..next + to - from]);
            let pairs = here.iter().zip(low).zip(own.iter().zip(other));
            for (share, ((here, low), (own, other))) in line[from..to].iter_mut().zip(pairs) {
                let drop = ((here - low) * per_m[way]).max(0.0);
                let weight = (drop * drop) * (drop * drop) * WIDTHS[way];
                *share = if other < own { weight } else { 0.0 };
            }
        }
        let mut sum = [0.0f32; SIDE];
        lines.iter().for_each(|line| sum.iter_mut().zip(line).for_each(|(sum, share)| *sum += share));
        // What would be a trickle goes with the rest.
        let mut kept = [0.0f32; SIDE];
        for line in &mut lines {
            for ((share, sum), kept) in line.iter_mut().zip(&sum).zip(&mut kept) {
                *share = if *share > TRICKLE * sum { *share } else { 0.0 };
                *kept += *share;
            }
        }
        for (col, out) in out.iter_mut().enumerate() {
            if kept[col] > 0.0 {
                for (way, line) in lines.iter().enumerate() {
                    out.share[way] = line[col] / kept[col];
                    out.ways_mask |= u32::from(line[col] > 0.0) << way;
                }
            }
        }
    }
    out
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
