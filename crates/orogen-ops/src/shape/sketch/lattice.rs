//! The lattice a sketch is worked out on: cells of a size in metres, wherever the samples of the land are.

use orogen_core::{Frame, OpError, Raster, Rect};

/// Cells along the longer side of a world by default, and the most there may be.
const USUAL: f64 = 512.0;
const MOST: f64 = 1024.0;

/// A lattice of square cells over a world, anchored at zero so that every world has the same cells where they overlap.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lattice {
    pub frame: Frame,
    pub cell: f64,
    /// Number of the south-west cell, counted from zero of the world.
    first: [i64; 2],
}

impl Lattice {
    /// The lattice over a world with cells of a size; 0 for the usual one.
    pub fn new(world: &Rect, cell_m: f64) -> Result<Self, OpError> {
        let [width, depth] = world.size();
        let longer = width.max(depth).max(1e-3);
        let cell = if cell_m > 0.0 { cell_m.clamp(longer / MOST, longer / 16.0) } else { longer / USUAL };
        let first = world.min.map(|v| (v / cell + 1e-9).floor() as i64);
        let count =
            |k: usize| ((world.max[k] / cell - first[k] as f64 - 1e-9).ceil() as i64).max(1) as usize + 1;
        let (cols, rows) = (count(0), count(1));
        let frame = Frame::new(
            first.map(|v| v as f64 * cell),
            [(cols - 1) as f64 * cell, (rows - 1) as f64 * cell],
            [cols, rows],
        );
        let frame =
            frame.map_err(|e| OpError::Failed(format!("cannot lay the lattice of the sketch: {e}")))?;
        Ok(Self { frame, cell, first })
    }

    pub fn cols(&self) -> usize {
        self.frame.cols()
    }

    pub fn rows(&self) -> usize {
        self.frame.rows()
    }

    pub fn len(&self) -> usize {
        self.cols() * self.rows()
    }

    /// Where a cell lies.
    pub fn place(&self, cell: usize) -> [f64; 2] {
        [self.frame.x_m(cell % self.cols()), self.frame.y_m(cell / self.cols())]
    }

    /// Number of a cell on the lattice of all worlds.
    pub fn index(&self, cell: usize) -> (i64, i64) {
        let (col, row) = (cell % self.cols(), cell / self.cols());
        (self.first[0] + col as i64, self.first[1] + (self.rows() - 1 - row) as i64)
    }

    /// The cell nearest to a place, `None` outside.
    pub fn cell_at(&self, [x, y]: [f64; 2]) -> Option<usize> {
        let [col, row] = self.frame.locate(x, y).map(f64::round);
        let inside = col >= 0.0 && row >= 0.0 && col < self.cols() as f64 && row < self.rows() as f64;
        inside.then(|| row as usize * self.cols() + col as usize)
    }

    /// A value between cells.
    pub fn at(&self, values: &Raster<f32>, [x, y]: [f64; 2]) -> f64 {
        let [col, row] = self.frame.locate(x, y);
        f64::from(values.bilinear(col, row))
    }

    /// The eight cells around one that are inside, with their distance in cells.
    pub fn neighbours_of(&self, cell: usize) -> impl Iterator<Item = (usize, f64)> + use<> {
        let (cols, rows) = (self.cols() as isize, self.rows() as isize);
        let (col, row) = (cell as isize % cols, cell as isize / cols);
        const STEPS: [(isize, isize); 8] =
            [(0, -1), (1, 0), (0, 1), (-1, 0), (1, -1), (1, 1), (-1, 1), (-1, -1)];
        STEPS.into_iter().filter_map(move |(dx, dy)| {
            let (c, r) = (col + dx, row + dy);
            let inside = c >= 0 && r >= 0 && c < cols && r < rows;
            let far = if dx != 0 && dy != 0 { std::f64::consts::SQRT_2 } else { 1.0 };
            inside.then_some(((r * cols + c) as usize, far))
        })
    }
}

/// Cells that hang together, and which drawing most of them came from.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Component {
    pub cells: Vec<usize>,
    pub item: u32,
}

/// Tells the shapes of a layer apart: cells hang together over sides and corners, with `apart` those of one drawing only.
/// `layer` has 0 where nothing is drawn, else the number of a drawing, counted from 1. In the order of their first cells;
/// two passes, linear in cells.
pub(super) fn label(layer: &[u32], cols: usize, apart: bool) -> Vec<Component> {
    let mut parent: Vec<u32> = Vec::new();
    fn root(parent: &mut [u32], mut i: u32) -> u32 {
        while parent[i as usize] != i {
            parent[i as usize] = parent[parent[i as usize] as usize];
            i = parent[i as usize];
        }
        i
    }
    const NONE: u32 = u32::MAX;
    let mut labels = vec![NONE; layer.len()];
    for i in (0..layer.len()).filter(|i| layer[*i] != 0) {
        let (col, row) = (i % cols, i / cols);
        let before = [
            (col > 0).then(|| i - 1),
            (row > 0 && col > 0).then(|| i - cols - 1),
            (row > 0).then(|| i - cols),
            (row > 0 && col + 1 < cols).then(|| i - cols + 1),
        ];
        let mut mine = NONE;
        let joins = |k: &usize| labels[*k] != NONE && (!apart || layer[*k] == layer[i]);
        let before: [Option<u32>; 4] = before.map(|k| k.filter(joins).map(|k| labels[k]));
        for other in before.into_iter().flatten() {
            let other = root(&mut parent, other);
            if mine == NONE {
                mine = other;
            } else if other != mine {
                let (low, high) = (mine.min(other), mine.max(other));
                parent[high as usize] = low;
                mine = low;
            }
        }
        if mine == NONE {
            mine = parent.len() as u32;
            parent.push(mine);
        }
        labels[i] = mine;
    }
    let mut number = vec![NONE; parent.len()];
    let mut found: Vec<Component> = Vec::new();
    for (i, label) in labels.iter().enumerate().filter(|(_, label)| **label != NONE) {
        let root = root(&mut parent, *label) as usize;
        if number[root] == NONE {
            number[root] = found.len() as u32;
            found.push(Component { cells: Vec::new(), item: 0 });
        }
        found[number[root] as usize].cells.push(i);
    }
    for component in &mut found {
        let mut items: Vec<u32> = component.cells.iter().map(|i| layer[*i]).collect();
        items.sort_unstable();
        let runs = items.chunk_by(|a, b| a == b);
        // Of as many, the one drawn first.
        let most = runs.max_by(|a, b| a.len().cmp(&b.len()).then(b[0].cmp(&a[0])));
        component.item = most.map_or(0, |run| run[0]);
    }
    found
}

/// Rings around where a field is above 0, in cells; anything outside the field is below. Above lies to the left.
pub(super) fn rings(field: &[f32], cols: usize) -> Vec<Vec<[f64; 2]>> {
    let rows = field.len() / cols.max(1);
    let (wide, tall) = (cols + 2, rows + 2);
    let value = |x: usize, y: usize| -> f32 {
        if x == 0 || y == 0 || x > cols || y > rows { -1.0 } else { field[(y - 1) * cols + x - 1] }
    };
    const NONE: u32 = u32::MAX;
    // Sides: 2i from a corner to the right, 2i + 1 from it downwards.
    let mut next = vec![NONE; 2 * wide * tall];
    for y in 0..tall - 1 {
        for x in 0..wide - 1 {
            let corners = [value(x, y), value(x + 1, y), value(x + 1, y + 1), value(x, y + 1)];
            let code = corners.iter().enumerate().map(|(i, v)| u32::from(*v > 0.0) << i).sum::<u32>();
            let top = 2 * (y * wide + x);
            let (left, right, bottom) = (top + 1, 2 * (y * wide + x + 1) + 1, 2 * ((y + 1) * wide + x));
            let centre = corners.iter().sum::<f32>() > 0.0;
            let pairs: &[(usize, usize)] = &match (code, centre) {
                (1, _) => [(left, top)].to_vec(),
                (2, _) => [(top, right)].to_vec(),
                (4, _) => [(right, bottom)].to_vec(),
                (8, _) => [(bottom, left)].to_vec(),
                (3, _) => [(left, right)].to_vec(),
                (6, _) => [(top, bottom)].to_vec(),
                (12, _) => [(right, left)].to_vec(),
                (9, _) => [(bottom, top)].to_vec(),
                (7, _) => [(left, bottom)].to_vec(),
                (11, _) => [(bottom, right)].to_vec(),
                (13, _) => [(right, top)].to_vec(),
                (14, _) => [(top, left)].to_vec(),
                (5, true) => [(right, top), (left, bottom)].to_vec(),
                (5, false) => [(left, top), (right, bottom)].to_vec(),
                (10, true) => [(top, left), (bottom, right)].to_vec(),
                (10, false) => [(top, right), (bottom, left)].to_vec(),
                _ => continue,
            };
            for (from, to) in pairs {
                next[*from] = *to as u32;
            }
        }
    }
    let point = |side: usize| -> [f64; 2] {
        let (i, down) = (side / 2, side % 2 == 1);
        let (x, y) = (i % wide, i / wide);
        let (a, b) = (value(x, y), if down { value(x, y + 1) } else { value(x + 1, y) });
        let t = f64::from(a / (a - b)).clamp(0.02, 0.98);
        // Back from the padded field.
        let (x, y) = (x as f64 - 1.0, y as f64 - 1.0);
        if down { [x, y + t] } else { [x + t, y] }
    };
    let mut found = Vec::new();
    for start in 0..next.len() {
        let mut ring = Vec::new();
        let mut side = start;
        while next[side] != NONE {
            let onwards = next[side] as usize;
            next[side] = NONE;
            ring.push(point(side));
            side = onwards;
        }
        if ring.len() >= 3 {
            found.push(ring);
        }
    }
    found
}

/// Area inside a ring; negative when it runs the other way round.
pub(super) fn area(ring: &[[f64; 2]]) -> f64 {
    let pairs = (0..ring.len()).map(|i| (ring[i], ring[(i + 1) % ring.len()]));
    0.5 * pairs.map(|(a, b)| a[0] * b[1] - a[1] * b[0]).sum::<f64>()
}

/// Smooths the steps of cells out of a line or ring.
pub(super) fn soften(line: &mut [[f64; 2]], closed: bool, times: usize) {
    let n = line.len();
    if n < 8 {
        return;
    }
    for _ in 0..times {
        let before = line.to_vec();
        for i in 0..n {
            if !closed && (i == 0 || i == n - 1) {
                continue;
            }
            let (a, b) = (before[(i + n - 1) % n], before[(i + 1) % n]);
            for k in 0..2 {
                line[i][k] = 0.5 * before[i][k] + 0.25 * (a[k] + b[k]);
            }
        }
    }
}

/// Numbers of the points of an open line that keep it within a tolerance, ends included.
pub(super) fn simplify(line: &[[f64; 2]], tolerance: f64) -> Vec<usize> {
    let n = line.len();
    if n < 3 {
        return (0..n).collect();
    }
    let mut keep = vec![false; n];
    keep[0] = true;
    keep[n - 1] = true;
    let mut spans = vec![(0, n - 1)];
    while let Some((a, b)) = spans.pop() {
        let (p, q) = (line[a], line[b]);
        let along = [q[0] - p[0], q[1] - p[1]];
        let length2 = along[0] * along[0] + along[1] * along[1];
        let off = |i: usize| {
            let d = [line[i][0] - p[0], line[i][1] - p[1]];
            let t = if length2 > 0.0 {
                ((d[0] * along[0] + d[1] * along[1]) / length2).clamp(0.0, 1.0)
            } else {
                0.0
            };
            let (x, y) = (d[0] - t * along[0], d[1] - t * along[1]);
            x * x + y * y
        };
        let far = (a + 1..b).map(|i| (i, off(i))).max_by(|x, y| x.1.total_cmp(&y.1));
        if let Some((i, _)) = far.filter(|(_, d2)| *d2 > tolerance * tolerance) {
            keep[i] = true;
            spans.extend([(a, i), (i, b)]);
        }
    }
    (0..n).filter(|i| keep[*i]).collect()
}

/// A ring with fewer corners, within a tolerance; three at least.
pub(super) fn simplify_ring(ring: &[[f64; 2]], tolerance: f64) -> Vec<[f64; 2]> {
    let far = |from: [f64; 2]| {
        let d2 = |p: [f64; 2]| (p[0] - from[0]) * (p[0] - from[0]) + (p[1] - from[1]) * (p[1] - from[1]);
        (0..ring.len()).max_by(|a, b| d2(ring[*a]).total_cmp(&d2(ring[*b]))).unwrap_or(0)
    };
    let Some(first) = ring.first() else { return Vec::new() };
    let a = far(*first);
    let turned: Vec<[f64; 2]> = (0..=ring.len()).map(|i| ring[(a + i) % ring.len()]).collect();
    let kept = simplify(&turned, tolerance);
    let mut corners: Vec<[f64; 2]> = kept[..kept.len() - 1].iter().map(|i| turned[*i]).collect();
    if corners.len() < 3 {
        corners = ring.to_vec();
    }
    corners
}

#[cfg(test)]
mod tests {
    use super::*;
    use orogen_core::testkit::assert_close;

    #[test]
    fn shapes_hang_together_over_corners_and_keep_their_drawing() {
        #[rustfmt::skip]
        let layer = [
            1, 0, 0, 2, 2,
            0, 1, 0, 2, 0,
            0, 0, 0, 3, 0,
            4, 0, 4, 0, 0,
            4, 4, 4, 0, 5,
        ];
        let found = label(&layer, 5, false);
        let cells: Vec<usize> = found.iter().map(|c| c.cells.len()).collect();
        assert_eq!(cells, [2, 9, 1]);
        assert_eq!(found.iter().map(|c| c.item).collect::<Vec<_>>(), [1, 4, 5]);
        let found = label(&layer, 5, true);
        assert_eq!(found.iter().map(|c| c.item).collect::<Vec<_>>(), [1, 2, 3, 4, 5]);
        assert!(label(&[0; 25], 5, true).is_empty());
        assert_eq!(label(&[7; 25], 5, true).len(), 1);
    }

    #[test]
    fn rings_go_round_the_field_and_its_holes() {
        let (cols, rows) = (60, 50);
        let field: Vec<f32> = (0..cols * rows)
            .map(|i| {
                let (x, y) = ((i % cols) as f64 - 30.0, (i / cols) as f64 - 25.0);
                let r = (x * x + y * y).sqrt();
                (18.0 - r).min(r - 7.0) as f32
            })
            .collect();
        let found = rings(&field, cols);
        assert_eq!(found.len(), 2);
        let whole: f64 = found.iter().map(|ring| area(ring)).sum();
        assert_close!(whole.abs(), std::f64::consts::PI * (18.0 * 18.0 - 49.0), rel = 0.01);
        // A field that reaches the border is closed there; one cell makes a ring, none makes none.
        assert_eq!(rings(&[1.0; 12], 4).len(), 1);
        assert_eq!(rings(&[-1.0; 12], 4).len(), 0);
        let one: Vec<f32> = (0..25).map(|i| if i == 12 { 0.5 } else { -0.5 }).collect();
        assert_eq!(rings(&one, 5).len(), 1);
        let ring = simplify_ring(&found[0], 0.2);
        assert!(ring.len() > 8 && ring.len() < found[0].len() / 2, "{} corners", ring.len());
    }

    #[test]
    fn lattices_share_their_cells_and_are_bounded() {
        let world = Rect { min: [1000.0, -500.0], max: [9000.0, 3500.0] };
        let usual = Lattice::new(&world, 0.0).unwrap();
        assert_eq!(usual.cell, 15.625);
        let small = Lattice::new(&world, 1e-3).unwrap();
        assert!(small.len() <= 1026 * 1026);
        let east = Lattice::new(&Rect { max: [20_000.0, 3500.0], ..world }, 20.0).unwrap();
        let west = Lattice::new(&world, 20.0).unwrap();
        let at = [3333.0, 777.0];
        let index = |l: &Lattice| l.cell_at(at).map(|cell| l.index(cell));
        assert_eq!(index(&east), index(&west));
        assert!(west.cell_at([0.0, 0.0]).is_none());
    }
}
