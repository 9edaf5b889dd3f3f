//! How high land may be between contours: what no line separates belongs together and has the bounds of its lines.

use orogen_core::Cancelled;
use rayon::prelude::*;

use super::plate::Lattice;
use super::{Crossing, cell_of};

/// Land within one line stays within this share of an interval of it.
const CAP: f32 = 0.95;
/// Land between two lines may leave them by this share of what lies between.
const SLACK: f32 = 0.02;
/// Up to this share it is as the plate has it.
const FREE: f32 = 0.5;

/// Beyond a line, land goes on with this share of the slope that leads to it.
const ONWARD: f32 = 0.8;
/// At this share of the distance to the next line, half of that is left.
const FADING: f32 = 0.2;

/// Rounds of softening, which reach about as many lattice steps.
const SOFTENINGS: usize = 6;
/// But not further than this share of the interval on this side.
const MOST_ONWARD: f32 = 0.4;

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
        let cols = lattice.cols;
        let mut walls = vec![[false; 2]; lattice.nodes()];
        for crossing in crossings {
            walls[(crossing.side / 2) as usize][(crossing.side % 2) as usize] = true;
        }
        // Not beyond the world: lines end at its edge, and all land that meets it would be one patch.
        let mut forest = Forest::new(lattice.nodes());
        for row in 0..lattice.inside[1] {
            for col in 0..lattice.inside[0] {
                let node = row * cols + col;
                if col + 1 < lattice.inside[0] && !walls[node][0] {
                    forest.join(node, node + 1);
                }
                if row + 1 < lattice.inside[1] && !walls[node][1] {
                    forest.join(node, node + cols);
                }
            }
        }
        let (patch, count) = forest.numbered();
        let mut ranges = vec![[f32::INFINITY, f32::NEG_INFINITY]; count];
        for crossing in crossings {
            for (end, z) in crossing.ends(cols).into_iter().zip(crossing.seen) {
                let [low, high] = &mut ranges[patch[end] as usize];
                (*low, *high) = (low.min(z), high.max(z));
            }
        }
        let mut levels: Vec<f32> = crossings.iter().flat_map(|c| c.seen).collect();
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
    ///
    /// # Errors
    /// When `stop` says so.
    pub fn mark(
        &self,
        height: &[f32],
        lattice: &Lattice,
        widely: usize,
        marks: &mut [f32],
        stop: Stop<'_>,
    ) -> Result<bool, Cancelled> {
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
            return Ok(false);
        }
        for _ in 0..widely {
            stop()?;
            found = spread(&found, cols, f32::max);
        }
        // Fading: a sharp change of material would show as a crease.
        for _ in 0..4 {
            stop()?;
            found = spread(&found, cols, |a, b| 0.75 * a + 0.25 * b);
        }
        // A membrane within one line would lie flat at its height: there the plate stays.
        for ((mark, found), &patch) in marks.iter_mut().zip(found).zip(&self.patch) {
            if self.patches[patch as usize].above == 0.0 {
                *mark = mark.max(found);
            }
        }
        Ok(true)
    }

    /// Keeps what still leaves its bounds within them.
    pub fn hold(&self, height: &mut [f32]) {
        for (h, &patch) in height.iter_mut().zip(&self.patch) {
            *h = self.patches[patch as usize].held(*h);
        }
    }
}

/// Between which heights every node lies where land goes on rising and falling where it crosses a line.
pub(super) struct HeightBounds {
    pub low: Vec<f32>,
    pub high: Vec<f32>,
}

impl HeightBounds {
    /// Moves every node between its bounds.
    pub fn keep(&self, height: &mut [f32]) {
        for ((h, low), high) in height.iter_mut().zip(&self.low).zip(&self.high) {
            *h = h.max(*low).min(*high);
        }
    }
}

/// Tells whether to stop, as an error.
pub(super) type Stop<'a> = &'a (dyn Fn() -> Result<(), Cancelled> + Sync);

/// Nodes between two looks whether to stop.
const LOOK: usize = 1 << 16;

/// No crossing is known.
const NONE: u32 = u32::MAX;

impl Bounds {
    /// The bounds that lines set: beyond a line land goes on with [`ONWARD`] of the slope that leads to it on the other
    /// side, ever less so, up to [`ONWARD`] times [`FADING`] of the interval there.
    ///
    /// The smoothest surface knows no such thing: where a line of the same height comes back after a short way, as on
    /// crests and in valleys, it all but stays at that height, and the land gets terraces.
    ///
    /// # Errors
    /// When `stop` says so.
    pub fn height_bounds(
        &self,
        crossings: &[Crossing],
        lattice: &Lattice,
        stop: Stop<'_>,
    ) -> Result<HeightBounds, Cancelled> {
        let nearest =
            [self.nearest(crossings, lattice, false, stop)?, self.nearest(crossings, lattice, true, stop)?];
        let onward: Vec<[Option<[f32; 2]>; 2]> =
            crossings.iter().map(|crossing| self.slopes(crossing, crossings, &nearest, lattice)).collect();
        // Land within one line lies above it where the land outside lies below.
        let mut votes = vec![0i64; self.patches.len()];
        for crossing in crossings.iter().filter(|crossing| crossing.parts) {
            let [a, b] = crossing.ends(lattice.cols).map(|end| self.patch[end] as usize);
            for (here, there, seen) in [(a, b, crossing.seen[1]), (b, a, crossing.seen[0])] {
                let (within, outside) = (&self.patches[here], &self.patches[there]);
                if within.above > 0.0 && outside.is_between_lines() {
                    votes[here] += if outside.is_upper(seen) { 1 } else { -1 };
                }
            }
        }
        let mut bounds = HeightBounds {
            low: vec![f32::NEG_INFINITY; self.patch.len()],
            high: vec![f32::INFINITY; self.patch.len()],
        };
        for (node, &number) in self.patch.iter().enumerate() {
            if node % LOOK == 0 {
                stop()?;
            }
            let patch = &self.patches[number as usize];
            let away = |upper: usize| {
                let index = nearest[upper][node];
                let crossing = crossings.get(index as usize)?;
                let end = crossing.ends(lattice.cols).iter().position(|end| self.patch[*end] == number)?;
                let [far, interval] = onward[index as usize][end]?;
                let share = distance(crossing.place(lattice.cols), node, lattice.cols) / far;
                Some(ONWARD * interval * share / (1.0 + share / FADING))
            };
            if patch.above > 0.0 {
                let (vote, away) = (votes[number as usize], away(0).unwrap_or(0.0));
                if vote > 0 {
                    bounds.low[node] = patch.low + away.min(MOST_ONWARD * patch.above);
                } else if vote < 0 {
                    bounds.high[node] = patch.high - away.min(MOST_ONWARD * patch.below);
                }
            } else if patch.is_between_lines() {
                let most = MOST_ONWARD * (patch.high - patch.low);
                bounds.low[node] = away(0).map_or(f32::NEG_INFINITY, |away| patch.low + away.min(most));
                bounds.high[node] = away(1).map_or(f32::INFINITY, |away| patch.high - away.min(most));
            }
        }
        self.soften(&mut bounds.low, lattice.cols, f32::min, stop)?;
        self.soften(&mut bounds.high, lattice.cols, f32::max, stop)?;
        Ok(bounds)
    }

    /// Rounds the edges that limits have midway between lines: where the mean round about is wider, it counts.
    fn soften(
        &self,
        limits: &mut [f32],
        cols: usize,
        wider: fn(f32, f32) -> f32,
        stop: Stop<'_>,
    ) -> Result<(), Cancelled> {
        let mut mean = limits.to_vec();
        for _ in 0..SOFTENINGS {
            stop()?;
            let last = mean.clone();
            mean.par_iter_mut().with_min_len(1 << 14).enumerate().for_each(|(node, mean)| {
                let (mut sum, mut count) = (0.0, 0.0);
                let (west, east) = (node % cols > 0, (node + 1) % cols > 0);
                let around = [
                    Some(node),
                    west.then(|| node - 1),
                    east.then_some(node + 1),
                    node.checked_sub(cols),
                    Some(node + cols),
                ];
                for other in around.into_iter().flatten() {
                    let same = self.patch.get(other) == Some(&self.patch[node]);
                    if same && last[other].is_finite() {
                        (sum, count) = (sum + last[other], count + 1.0);
                    }
                }
                if count > 0.0 {
                    *mean = sum / count;
                }
            });
        }
        for (limit, mean) in limits.iter_mut().zip(mean) {
            *limit = wider(*limit, mean);
        }
        Ok(())
    }

    /// The crossing of the upper or lower line of its patch that is nearest to each node, or nearly: found by handing on
    /// from node to node within the patch.
    fn nearest(
        &self,
        crossings: &[Crossing],
        lattice: &Lattice,
        upper: bool,
        stop: Stop<'_>,
    ) -> Result<Vec<u32>, Cancelled> {
        let (cols, rows) = (lattice.cols, lattice.rows);
        let mut nearest = vec![NONE; lattice.nodes()];
        let closer = |nearest: &[u32], node: usize, index: u32| {
            let far = |index: u32| {
                crossings.get(index as usize).map_or(f32::INFINITY, |c| distance(c.place(cols), node, cols))
            };
            index != NONE && far(index) < far(nearest[node])
        };
        for (index, crossing) in crossings.iter().enumerate() {
            for (end, seen) in crossing.ends(cols).into_iter().zip(crossing.seen) {
                let patch = &self.patches[self.patch[end] as usize];
                let fits = !patch.is_between_lines() || patch.is_upper(seen) == upper;
                if fits && closer(&nearest, end, index as u32) {
                    nearest[end] = index as u32;
                }
            }
        }
        let mut hand_on = |to: usize, from: usize| {
            if self.patch[to] == self.patch[from] && closer(&nearest, to, nearest[from]) {
                nearest[to] = nearest[from];
            }
        };
        for _ in 0..2 {
            for row in 0..rows {
                stop()?;
                for col in 1..cols {
                    hand_on(row * cols + col, row * cols + col - 1);
                }
                for col in (1..cols).rev() {
                    hand_on(row * cols + col - 1, row * cols + col);
                }
                if row + 1 < rows {
                    (0..cols).for_each(|col| hand_on((row + 1) * cols + col, row * cols + col));
                }
            }
            for row in (1..rows).rev() {
                stop()?;
                for col in 1..cols {
                    hand_on(row * cols + col, row * cols + col - 1);
                }
                for col in (1..cols).rev() {
                    hand_on(row * cols + col - 1, row * cols + col);
                }
                (0..cols).for_each(|col| hand_on((row - 1) * cols + col, row * cols + col));
            }
        }
        Ok(nearest)
    }

    /// How land leads to a crossing, as seen from either end of its side: distance to the next line and the height in
    /// between, on the other side of the line, or on this one where that has no other line.
    fn slopes(
        &self,
        crossing: &Crossing,
        crossings: &[Crossing],
        nearest: &[Vec<u32>; 2],
        lattice: &Lattice,
    ) -> [Option<[f32; 2]>; 2] {
        let ends = crossing.ends(lattice.cols);
        let [a, b] = [0, 1].map(|k| {
            let patch = &self.patches[self.patch[ends[k]] as usize];
            if !patch.is_between_lines() {
                return None;
            }
            let upper = patch.is_upper(crossing.seen[k]);
            let other = crossings.get(nearest[usize::from(!upper)][ends[k]] as usize)?;
            let ([x, y], [u, v]) = (crossing.place(lattice.cols), other.place(lattice.cols));
            let far = ((x - u) * (x - u) + (y - v) * (y - v)).sqrt();
            Some([far.max(1.0), patch.high - patch.low])
        });
        if crossing.parts { [b.or(a), a.or(b)] } else { [None; 2] }
    }
}

/// Lattice steps from a place to a node.
fn distance([u, v]: [f32; 2], node: usize, cols: usize) -> f32 {
    let (x, y) = (u - (node % cols) as f32, v - (node / cols) as f32);
    (x * x + y * y).sqrt()
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

    fn is_between_lines(&self) -> bool {
        self.above == 0.0 && (self.high - self.low).is_finite()
    }

    /// Whether a line at its border is the upper one.
    fn is_upper(&self, z: f32) -> bool {
        z > 0.5 * (self.low + self.high)
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
    fn land_on_two_sides_of_a_line_does_not_meet_beyond_the_world() {
        // A line up the middle of 5 columns in the world; the lattice has 4 more columns and rows than that.
        let lattice = Lattice { origin_m: [0.0; 2], spacing_m: 1.0, cols: 9, rows: 9, inside: [5, 5] };
        let crossing =
            |row: u32| Crossing { side: 2 * (row * 9 + 2), t: 0.5, z: 10.0, seen: [10.0; 2], parts: true };
        let crossings: Vec<Crossing> = (0..5).map(crossing).collect();
        let bounds = Bounds::new(&crossings, &[], &lattice);
        assert_ne!(bounds.patch[2], bounds.patch[3]);
        assert_eq!((bounds.patch[0], bounds.patch[3]), (bounds.patch[38], bounds.patch[40]));
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
