//! How high land may be between contours: what no line separates belongs together and has the bounds of its lines.

use rayon::prelude::*;

use super::plate::Lattice;
use super::{Crossing, cell_of};

/// Land within one line stays within this share of an interval of it.
const CAP: f32 = 0.95;
/// Land between two lines may leave them by this share of what lies between.
const SLACK: f32 = 0.02;
/// Up to this share it is as the plate has it.
const FREE: f32 = 0.5;

/// The bounds of every node.
pub(super) struct Bounds {
    /// The patch of each node.
    patch: Vec<u32>,
    patches: Vec<Patch>,
}

/// Nodes that no line separates.
#[derive(Clone, Copy, Debug)]
struct Patch {
    low: f32,
    high: f32,
    /// Within one line, land may leave its height so far down and up; 0 where two lines bound it.
    below: f32,
    above: f32,
}

impl Bounds {
    pub fn new(crossings: &[Crossing], spots: &[[f64; 3]], lattice: &Lattice) -> Self {
        let (cols, rows) = (lattice.cols, lattice.rows);
        let mut walls = vec![[false; 2]; lattice.nodes()];
        for crossing in crossings {
            walls[(crossing.side / 2) as usize][(crossing.side % 2) as usize] = true;
        }
        let mut forest = Forest::new(lattice.nodes());
        for row in 0..rows {
            for col in 0..cols {
                let node = row * cols + col;
                if col + 1 < cols && !walls[node][0] {
                    forest.join(node, node + 1);
                }
                if row + 1 < rows && !walls[node][1] {
                    forest.join(node, node + cols);
                }
            }
        }
        let (patch, count) = forest.numbered();
        let mut ranges = vec![[f32::INFINITY, f32::NEG_INFINITY]; count];
        for crossing in crossings {
            let z = crossing.z as f32;
            for end in crossing.ends(cols) {
                let [low, high] = &mut ranges[patch[end] as usize];
                (*low, *high) = (low.min(z), high.max(z));
            }
        }
        let mut levels: Vec<f32> = crossings.iter().map(|c| c.z as f32).collect();
        levels.sort_by(f32::total_cmp);
        let span = levels.last().unwrap_or(&0.0) - levels.first().unwrap_or(&0.0);
        // Lines of one height differ by rounding, and vertices of sloping lines by less than an interval.
        let same = 1e-4 * span.max(1e-3);
        levels.dedup_by(|b, a| *b - *a < same);
        let mut patches: Vec<Patch> =
            ranges.iter().map(|&[low, high]| Patch::between(low, high, &levels, same)).collect();
        for spot in spots {
            if let Some(node) = cell_of(lattice, lattice.locate([spot[0], spot[1]])) {
                patches[patch[node] as usize].reach(spot[2] as f32);
            }
        }
        Self { patch, patches }
    }

    /// Marks land that is out of bounds, and `widely` nodes round about; whether there was any.
    pub fn mark(&self, height: &[f32], lattice: &Lattice, widely: usize, marks: &mut [f32]) -> bool {
        let cols = lattice.cols;
        let mut found: Vec<f32> = height
            .iter()
            .zip(&self.patch)
            .map(|(&h, &patch)| {
                let Patch { low, high, above, .. } = self.patches[patch as usize];
                let slack = SLACK * (high - low);
                let out = above == 0.0 && high > low && (h < low - slack || h > high + slack);
                f32::from(u8::from(out))
            })
            .collect();
        if found.iter().all(|mark| *mark == 0.0) {
            return false;
        }
        for _ in 0..widely {
            found = spread(&found, cols, f32::max);
        }
        // Fading: a sharp change of material would show as a crease.
        for _ in 0..4 {
            found = spread(&found, cols, |a, b| 0.75 * a + 0.25 * b);
        }
        // A membrane within one line would lie flat at its height: there the plate stays.
        for ((mark, found), &patch) in marks.iter_mut().zip(found).zip(&self.patch) {
            if self.patches[patch as usize].above == 0.0 {
                *mark = mark.max(found);
            }
        }
        true
    }

    /// Keeps what still leaves its bounds within them.
    pub fn hold(&self, height: &mut [f32]) {
        for (h, &patch) in height.iter_mut().zip(&self.patch) {
            *h = self.patches[patch as usize].held(*h);
        }
    }
}

/// Each node with the mean of itself and its neighbours west, east, south and north in turn, as `f` mixes them.
fn spread(marks: &[f32], cols: usize, f: impl Fn(f32, f32) -> f32 + Sync) -> Vec<f32> {
    let rows = marks.len() / cols;
    (0..marks.len())
        .into_par_iter()
        .with_min_len(1 << 14)
        .map(|i| {
            let (col, row) = (i % cols, i / cols);
            let at = |inside: bool, j: usize| if inside { marks[j] } else { marks[i] };
            let around = [
                at(col > 0, i.wrapping_sub(1)),
                at(col + 1 < cols, i + 1),
                at(row > 0, i.wrapping_sub(cols)),
                at(row + 1 < rows, i + cols),
            ];
            around.into_iter().fold(marks[i], &f)
        })
        .collect()
}

impl Patch {
    fn between(low: f32, high: f32, levels: &[f32], same: f32) -> Self {
        if low > high {
            // No line at all: nothing is known.
            return Self { low: f32::NEG_INFINITY, high: f32::INFINITY, below: 0.0, above: 0.0 };
        }
        if high - low > same {
            return Self { low, high, below: 0.0, above: 0.0 };
        }
        let next = levels.iter().find(|level| **level > high + 0.5 * same).map(|level| level - high);
        let last = levels.iter().rev().find(|level| **level < low - 0.5 * same).map(|level| low - level);
        let (above, below) = (next.or(last), last.or(next));
        let far = f32::INFINITY;
        Self { low, high, below: below.unwrap_or(far), above: above.unwrap_or(far) }
    }

    /// Lets the patch be as high or low as a spot in it.
    fn reach(&mut self, z: f32) {
        if self.above > 0.0 {
            self.above = self.above.max((z - self.high) / FREE);
            self.below = self.below.max((self.low - z) / FREE);
        } else {
            (self.low, self.high) = (self.low.min(z), self.high.max(z));
        }
    }

    fn held(&self, h: f32) -> f32 {
        if self.above == 0.0 {
            // Held at the line itself, all that swings beyond it by a little would lie flat at its height.
            let slack = SLACK * (self.high - self.low).min(f32::MAX);
            return h.clamp(self.low - slack, self.high + slack);
        }
        if h > self.high {
            self.high + capped(h - self.high, self.above)
        } else if h < self.low {
            self.low - capped(self.low - h, self.below)
        } else {
            h
        }
    }
}

/// As it is up to `FREE` of the most, then ever slower towards `CAP` of it: no flat top, and no crease where it begins.
fn capped(rise: f32, most: f32) -> f32 {
    let share = rise / most;
    if share <= FREE || most.is_infinite() {
        return rise;
    }
    let room = CAP - FREE;
    let beyond = share - FREE;
    most * (FREE + room * beyond / (room + beyond))
}

/// Sets that grow together.
struct Forest {
    root: Vec<u32>,
}

impl Forest {
    fn new(n: usize) -> Self {
        Self { root: (0..n as u32).collect() }
    }

    fn find(&mut self, mut i: u32) -> u32 {
        while self.root[i as usize] != i {
            let above = self.root[self.root[i as usize] as usize];
            self.root[i as usize] = above;
            i = above;
        }
        i
    }

    fn join(&mut self, a: usize, b: usize) {
        let (a, b) = (self.find(a as u32), self.find(b as u32));
        // The lower one stays: what comes out does not depend on the order of joining.
        self.root[a.max(b) as usize] = a.min(b);
    }

    /// The set of each, numbered in order, and how many there are.
    fn numbered(mut self) -> (Vec<u32>, usize) {
        let mut count = 0;
        let mut number = vec![0; self.root.len()];
        for i in 0..self.root.len() as u32 {
            let root = self.find(i);
            number[i as usize] = if root == i {
                count += 1;
                count - 1
            } else {
                number[root as usize]
            };
        }
        (number, count as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn caps_keep_order_and_never_reach_the_next_line() {
        let mut before = 0.0;
        for i in 1..2000 {
            let now = capped(i as f32, 100.0);
            assert!(now > before && now < 95.0, "{i}: {now}");
            before = now;
        }
        assert_eq!(capped(40.0, 100.0), 40.0);
        assert!((capped(51.0, 100.0) - 51.0).abs() < 0.05);
    }

    #[test]
    fn patches_have_the_bounds_of_their_lines() {
        let levels = [10.0, 20.0, 40.0];
        let two = Patch::between(10.0, 20.0, &levels, 1e-3);
        assert_eq!([two.held(5.0), two.held(15.0), two.held(99.0)], [9.8, 15.0, 20.2]);
        let top = Patch::between(40.0, 40.0, &levels, 1e-3);
        assert!((top.held(1e6) - (40.0 + 0.95 * 20.0)).abs() < 0.1);
        let between = Patch::between(20.0, 20.0, &levels, 1e-3);
        assert_eq!((between.below, between.above), (10.0, 20.0));
        let nothing = Patch::between(f32::INFINITY, f32::NEG_INFINITY, &levels, 1e-3);
        assert_eq!(nothing.held(1e4), 1e4);
    }
}
