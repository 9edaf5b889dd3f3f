//! The middle lines of a painted shape: thin lines with its branches and its holes, and with nothing else.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use orogen_core::distance;

use super::lattice::{Component, Lattice};

/// Lines of cells between ends and junctions; lines that meet share their first or last cell. One cell alone is a line too.
pub(super) struct Skeleton {
    pub lines: Vec<Vec<usize>>,
    /// Distance of each cell of the lines to the outline, in cells.
    pub depths: Vec<Vec<f64>>,
}

/// A shape in a window of its own, with a border of one cell.
struct Shape {
    cols: usize,
    inside: Vec<bool>,
    depth: Vec<f64>,
    widest: f64,
}

/// Steps to the eight neighbours, one after the other around.
const RING: [(isize, isize); 8] = [(0, -1), (1, -1), (1, 0), (1, 1), (0, 1), (-1, 1), (-1, 0), (-1, -1)];

/// Branches that are taken at most.
const MOST_TIPS: usize = 66;

impl Skeleton {
    /// Thins a shape. A branch counts when it is longer than the shape is wide, an island when it is about as large.
    pub fn new(component: &Component, lattice: &Lattice) -> Self {
        let cell = |cell: usize| (cell % lattice.cols(), cell / lattice.cols());
        let (mut min, mut max) = ([usize::MAX; 2], [0; 2]);
        for (col, row) in component.cells.iter().map(|c| cell(*c)) {
            min = [min[0].min(col), min[1].min(row)];
            max = [max[0].max(col), max[1].max(row)];
        }
        if component.cells.is_empty() {
            return Self { lines: Vec::new(), depths: Vec::new() };
        }
        let (cols, rows) = (max[0] - min[0] + 3, max[1] - min[1] + 3);
        let mut inside = vec![false; cols * rows];
        for (col, row) in component.cells.iter().map(|c| cell(*c)) {
            inside[(row - min[1] + 1) * cols + col - min[0] + 1] = true;
        }
        let mut shape = Shape::new(cols, inside);
        shape.fill_specks();
        let tips = shape.tips();
        let thin = shape.thinned(&tips);
        let lines = shape.lines(&thin);
        let depths = lines.iter().map(|line| line.iter().map(|i| shape.depth[*i]).collect()).collect();
        let back = |i: usize| (i / cols + min[1] - 1) * lattice.cols() + i % cols + min[0] - 1;
        let lines = lines.into_iter().map(|line| line.into_iter().map(back).collect()).collect();
        Self { lines, depths }
    }
}

impl Shape {
    fn new(cols: usize, inside: Vec<bool>) -> Self {
        let outside: Vec<bool> = inside.iter().map(|inside| !inside).collect();
        let depth: Vec<f64> = distance::to_nearest(&outside, cols).into_iter().map(f64::from).collect();
        let widest = depth.iter().copied().fold(0.0, f64::max);
        Self { cols, inside, depth, widest }
    }

    fn at(&self, i: usize, (dx, dy): (isize, isize)) -> usize {
        i.wrapping_add_signed(dy * self.cols as isize + dx)
    }

    /// Holes too small to be islands are painted over.
    fn fill_specks(&mut self) {
        let least = (2.0 * self.widest * self.widest).max(12.0) as usize;
        let mut seen = self.inside.clone();
        let mut filled = false;
        for start in 0..seen.len() {
            if seen[start] {
                continue;
            }
            let (mut hole, mut next) = (vec![start], 0);
            seen[start] = true;
            while let Some(&i) = hole.get(next) {
                next += 1;
                let (col, row) = (i % self.cols, i / self.cols);
                for (dx, dy) in RING.into_iter().step_by(2) {
                    let (c, r) = (col.wrapping_add_signed(dx), row.wrapping_add_signed(dy));
                    let j = r.wrapping_mul(self.cols).wrapping_add(c);
                    if c < self.cols && j < seen.len() && !seen[j] {
                        seen[j] = true;
                        hole.push(j);
                    }
                }
            }
            // The first one found is all that lies around.
            if start > 0 && hole.len() < least {
                hole.iter().for_each(|i| self.inside[*i] = true);
                filled = true;
            }
        }
        if filled {
            *self = Self::new(self.cols, std::mem::take(&mut self.inside));
        }
    }

    /// Length of the way to each cell from some; along the middle of the shape ways count less when `middle`.
    fn spread(&self, from: &[usize], middle: bool) -> (Vec<f64>, Vec<usize>) {
        let mut cost = vec![f64::INFINITY; self.inside.len()];
        let mut before = vec![usize::MAX; self.inside.len()];
        let mut heap = BinaryHeap::new();
        for cell in from {
            cost[*cell] = 0.0;
            heap.push(Reverse((0u64, *cell)));
        }
        while let Some(Reverse((bits, cell))) = heap.pop() {
            if bits > cost[cell].to_bits() {
                continue;
            }
            for step in RING {
                let next = self.at(cell, step);
                if !self.inside[next] {
                    continue;
                }
                let far = if step.0 != 0 && step.1 != 0 { std::f64::consts::SQRT_2 } else { 1.0 };
                let dear = if middle { (self.widest / self.depth[next]).min(8.0) } else { 1.0 };
                let new = cost[cell] + far * dear;
                if new < cost[next] {
                    cost[next] = new;
                    before[next] = cell;
                    heap.push(Reverse((new.to_bits(), next)));
                }
            }
        }
        (cost, before)
    }

    /// The two ends furthest apart, and the ends of branches.
    fn tips(&self) -> Vec<usize> {
        let furthest = |cost: &[f64]| {
            let all = (0..cost.len()).filter(|i| cost[*i].is_finite());
            all.max_by(|a, b| cost[*a].total_cmp(&cost[*b]).then(b.cmp(a)))
        };
        let Some(first) = self.inside.iter().position(|v| *v) else { return Vec::new() };
        let start = furthest(&self.spread(&[first], false).0).unwrap_or(first);
        let end = furthest(&self.spread(&[start], false).0).unwrap_or(start);
        let mut tips = vec![start, end];
        let mut all = vec![start];
        let mut tip = end;
        while tips.len() < MOST_TIPS {
            let (_, before) = self.spread(&all, true);
            while before[tip] != usize::MAX {
                all.push(tip);
                tip = before[tip];
            }
            let (far, _) = self.spread(&all, false);
            match furthest(&far).filter(|cell| far[*cell] > self.least()) {
                Some(found) => tip = found,
                None => break,
            }
            tips.push(tip);
        }
        tips
    }

    /// Length from which on a branch is one.
    fn least(&self) -> f64 {
        (3.0 * self.widest).max(6.0)
    }

    /// Takes cells away from the outside inwards as long as what is left hangs together in the same way: around the
    /// same holes, and to the same tips.
    fn thinned(&self, tips: &[usize]) -> Vec<bool> {
        let mut thin = self.inside.clone();
        let mut order: Vec<usize> = (0..thin.len()).filter(|i| thin[*i]).collect();
        order.sort_by(|a, b| self.depth[*a].total_cmp(&self.depth[*b]).then(a.cmp(b)));
        let mut is_tip = vec![false; thin.len()];
        tips.iter().for_each(|tip| is_tip[*tip] = true);
        // One pass takes nearly all; what became free behind it goes in the next ones.
        loop {
            let before = order.len();
            order.retain(|i| {
                let goes = !is_tip[*i] && self.is_simple(&thin, *i);
                thin[*i] = !goes;
                !goes
            });
            if order.len() == before {
                return thin;
            }
        }
    }

    /// Whether the neighbours of a cell hang together without it, and it is beside the outside: taking it away parts
    /// nothing and opens no hole.
    fn is_simple(&self, thin: &[bool], i: usize) -> bool {
        let around = RING.map(|step| thin[self.at(i, step)]);
        let mut parts = 0;
        for k in (0..8).step_by(2) {
            // Runs of outside cells over sides: each begins at a side that is outside.
            let (side, corner, next) = (around[k], around[(k + 1) % 8], around[(k + 2) % 8]);
            parts += usize::from(!side && (corner || next));
        }
        parts == 1
    }

    /// The lines between ends and junctions, without branches that are too short to be ones.
    fn lines(&self, thin: &[bool]) -> Vec<Vec<usize>> {
        let mut left = thin.to_vec();
        let mut lines = self.traced(&left);
        // Where the ways round an island were met halfway, a false tip may have left a stub.
        loop {
            let ends = |line: &[usize], cell: usize| {
                lines.iter().filter(|l| l.first() == Some(&cell) || l.last() == Some(&cell)).count()
                    - usize::from(line.first() == Some(&cell) && line.last() == Some(&cell) && line.len() > 1)
            };
            let stub = lines.iter().find(|line| {
                let (Some(a), Some(b)) = (line.first(), line.last()) else { return false };
                let (a, b) = (ends(line, *a), ends(line, *b));
                (line.len() as f64) < self.least() && (a == 1) != (b == 1)
            });
            let Some(stub) = stub else { return lines };
            let keep = |cell: &usize| ends(stub, *cell) > 1;
            stub.iter().filter(|cell| !keep(cell)).for_each(|cell| left[*cell] = false);
            let fewer = self.traced(&left);
            if fewer.len() >= lines.len() {
                return lines;
            }
            lines = fewer;
        }
    }

    fn traced(&self, thin: &[bool]) -> Vec<Vec<usize>> {
        let cells: Vec<usize> = (0..thin.len()).filter(|i| thin[*i]).collect();
        let near = |i: usize| RING.into_iter().map(move |step| self.at(i, step)).filter(|j| thin[*j]);
        let branches = |i: usize| near(i).count();
        // Junctions are heaps of cells with more than two neighbours; one cell stands for each.
        let mut heap_of = vec![usize::MAX; thin.len()];
        for &start in &cells {
            if heap_of[start] != usize::MAX || branches(start) < 3 {
                continue;
            }
            let (mut heap, mut next) = (vec![start], 0);
            heap_of[start] = start;
            while let Some(&i) = heap.get(next) {
                next += 1;
                for j in near(i) {
                    if heap_of[j] == usize::MAX && branches(j) >= 3 {
                        heap_of[j] = start;
                        heap.push(j);
                    }
                }
            }
            let middle = [0, 1].map(|k| {
                let place = |i: &usize| if k == 0 { i % self.cols } else { i / self.cols };
                heap.iter().map(place).sum::<usize>() as f64 / heap.len() as f64
            });
            let off = |i: &usize| {
                let (dx, dy) = ((i % self.cols) as f64 - middle[0], (i / self.cols) as f64 - middle[1]);
                dx * dx + dy * dy
            };
            let best = heap.iter().copied().min_by(|a, b| off(a).total_cmp(&off(b)).then(a.cmp(b)));
            heap.iter().for_each(|i| heap_of[*i] = best.unwrap_or(start));
        }
        let mut lines = Vec::new();
        let mut walked = vec![false; thin.len()];
        let walk = |from: usize, first: usize, walked: &mut [bool]| {
            let mut line = vec![from, first];
            walked[first] = true;
            let (mut before, mut at) = (usize::MAX, first);
            loop {
                // On to a junction where there is one, but not straight back to the one it came from.
                let heap = |j: &usize| heap_of[*j] != usize::MAX && (heap_of[*j] != from || line.len() > 3);
                if let Some(j) = near(at).find(|j| heap(j)) {
                    line.push(heap_of[j]);
                    return line;
                }
                let on = |j: &usize| *j != before && !walked[*j] && heap_of[*j] == usize::MAX;
                let Some(j) = near(at).find(|j| on(j)) else { return line };
                walked[j] = true;
                line.push(j);
                (before, at) = (at, j);
            }
        };
        for &i in cells.iter().filter(|i| heap_of[**i] != usize::MAX) {
            let starts: Vec<usize> = near(i).filter(|j| heap_of[*j] == usize::MAX).collect();
            for first in starts {
                if !walked[first] {
                    lines.push(walk(heap_of[i], first, &mut walked));
                }
            }
        }
        for &i in cells.iter().filter(|i| heap_of[**i] == usize::MAX) {
            if walked[i] || branches(i) > 1 {
                continue;
            }
            walked[i] = true;
            match near(i).find(|j| !walked[*j]) {
                Some(first) => lines.push(walk(i, first, &mut walked)),
                None => lines.push(vec![i]),
            }
        }
        // What is left are rings.
        for &i in cells.iter().filter(|i| heap_of[**i] == usize::MAX) {
            if !walked[i] {
                walked[i] = true;
                if let Some(first) = near(i).find(|j| !walked[*j]) {
                    let mut ring = walk(i, first, &mut walked);
                    ring.push(i);
                    lines.push(ring);
                }
            }
        }
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use orogen_core::Rect;

    fn lines(picture: &[&str]) -> Vec<usize> {
        let (cols, rows) = (picture[0].len(), picture.len());
        let world = Rect { min: [0.0; 2], max: [40.0, 40.0] };
        let lattice = Lattice::new(&world, 1.0).unwrap();
        let mut cells = Vec::new();
        for (row, line) in picture.iter().enumerate().take(rows) {
            let marks = line.bytes().enumerate().take(cols).filter(|(_, c)| *c == b'#');
            cells.extend(marks.map(|(col, _)| (row + 1) * lattice.cols() + col + 1));
        }
        let mut lengths: Vec<usize> =
            Skeleton::new(&Component { cells, item: 1 }, &lattice).lines.iter().map(Vec::len).collect();
        lengths.sort_unstable();
        lengths
    }

    #[test]
    fn branches_crossings_and_islands_are_told_from_the_line() {
        assert_eq!(lines(&["#"]), [1]);
        assert_eq!(lines(&["##########"]), [10]);
        // A fork has three lines, a crossing four.
        let fork = [
            "#.......................#",
            ".#.....................#.",
            "..#...................#..",
            "...#.................#...",
            "....#...............#....",
            ".....#.............#.....",
            "......#...........#......",
            ".......#.........#.......",
            "........#.......#........",
            ".........#.....#.........",
            "..........#...#..........",
            "...........#.#...........",
            "............#............",
            "............#............",
            "............#............",
            "............#............",
            "............#............",
            "............#............",
            "............#............",
            "............#............",
            "............#............",
        ];
        assert_eq!(lines(&fork).len(), 3);
        let mut cross: Vec<String> = vec![String::from("..........##.........."); 20];
        cross[10] = "#".repeat(22);
        cross[9] = "#".repeat(22);
        assert_eq!(lines(&cross.iter().map(String::as_str).collect::<Vec<_>>()).len(), 4);
        // A river round an island: above, two channels, below; a speck of one cell is not an island.
        let mut island: Vec<String> = vec![String::from("........##........"); 8];
        for width in [2, 4, 6, 8, 8, 8, 6, 4, 2] {
            let side = 8 - width;
            let bank = ".".repeat(side);
            island.push(format!("{bank}##{}##{bank}", ".".repeat(2 * width - 2)));
        }
        island.extend(vec![String::from("........##........"); 8]);
        let found = lines(&island.iter().map(String::as_str).collect::<Vec<_>>());
        assert_eq!(found.len(), 4, "{found:?}");
        let mut speck: Vec<String> = vec![String::from(".....#####....."); 20];
        speck[9] = String::from(".....##.##.....");
        assert_eq!(lines(&speck.iter().map(String::as_str).collect::<Vec<_>>()).len(), 1);
    }
}
