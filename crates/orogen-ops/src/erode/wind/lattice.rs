//! The lattice that the wind blows over, and the way to it and back from the samples of a map.

use orogen_core::Raster;

/// Nodes at a distance of their own, from edge to edge of a map.
pub(super) struct Lattice {
    cols: usize,
    rows: usize,
    pub spacing_m: [f64; 2],
    /// Nodes a sample.
    per_sample: [f64; 2],
    /// Samples to either side that a node is the mean of.
    around: [usize; 2],
}

/// The most nodes along the side of a square map.
const MOST: f64 = 2048.0;

impl Lattice {
    /// Over a map of so many samples, with cells about `cell_m` wide.
    pub fn over(cols: usize, rows: usize, spacing_m: [f64; 2], cell_m: f64) -> Self {
        let size = [(cols - 1) as f64 * spacing_m[0], (rows - 1) as f64 * spacing_m[1]];
        let cell = cell_m.max((size[0] * size[1]).sqrt() / MOST).max(size[0].max(size[1]) / (16.0 * MOST));
        let cells = size.map(|size| (size / cell).round().max(1.0));
        let side = |axis: usize, samples: usize| {
            if samples > 1 { (cells[axis], size[axis] / cells[axis]) } else { (0.0, cell) }
        };
        let (x, y) = (side(0, cols), side(1, rows));
        let ratio =
            |axis: usize, samples: usize| if samples > 1 { cells[axis] / (samples - 1) as f64 } else { 1.0 };
        Self {
            cols: x.0 as usize + 1,
            rows: y.0 as usize + 1,
            spacing_m: [x.1, y.1],
            per_sample: [ratio(0, cols), ratio(1, rows)],
            around: [x.1 / spacing_m[0], y.1 / spacing_m[1]].map(|samples| (samples / 4.0) as usize),
        }
    }

    /// Its nodes.
    pub fn len(&self) -> usize {
        self.cols * self.rows
    }

    pub fn cell_m(&self) -> f64 {
        self.spacing_m[0].min(self.spacing_m[1])
    }

    /// The values of a layer at the nodes; holes where there is nothing around.
    pub fn sample(&self, layer: &Raster<f32>) -> Raster<f32> {
        let [wide, tall] = self.around;
        let soft;
        let layer = if wide + tall > 0 {
            soft = mean(layer, wide, tall);
            &soft
        } else {
            layer
        };
        Raster::from_fn(self.cols, self.rows, |col, row| {
            between(layer, col as f64 / self.per_sample[0], row as f64 / self.per_sample[1])
        })
    }

    /// The nodes that have to do with some samples of a map: each node with such a sample beside it, and those around one.
    pub fn touched(&self, samples: &Raster<bool>) -> Raster<bool> {
        let around = |at: f64, count: usize| at.floor() as usize..(at.ceil() as usize + 1).min(count);
        let (cols, rows) = (samples.cols(), samples.rows());
        let mut nodes = Raster::from_fn(self.cols, self.rows, |col, row| {
            let [x, y] = [col as f64 / self.per_sample[0], row as f64 / self.per_sample[1]];
            around(y, rows).any(|r| around(x, cols).any(|c| samples.row(r)[c]))
        });
        for (i, _) in samples.as_slice().iter().enumerate().filter(|(_, touched)| **touched) {
            let [x, y] = [(i % cols) as f64 * self.per_sample[0], (i / cols) as f64 * self.per_sample[1]];
            for row in around(y, self.rows) {
                for col in around(x, self.cols) {
                    nodes.as_mut_slice()[row * self.cols + col] = true;
                }
            }
        }
        nodes
    }

    /// The depth of sand at the samples of a map: what sticks out of the ground between the nodes sticks out of the sand,
    /// and deep sand buries it.
    pub fn lay(&self, height: &Raster<f32>, ground: &Raster<f32>, depth: &Raster<f32>) -> Raster<f32> {
        Raster::from_fn(height.cols(), height.rows(), |col, row| {
            let here = height.row(row)[col];
            if here.is_nan() {
                return 0.0;
            }
            let at = [col as f64 * self.per_sample[0], row as f64 * self.per_sample[1]];
            let deep = depth.bicubic(at[0], at[1]).max(0.0);
            let stub = here - between(ground, at[0], at[1]);
            if deep <= 0.0 || stub.is_nan() || stub == 0.0 {
                return deep;
            }
            deep * (1.0 - stub / (deep + stub.abs()))
        })
    }

    /// Values of the nodes, none below 0, at the samples of a map; 0 in its holes.
    pub fn spread(&self, nodes: &Raster<f32>, like: &Raster<f32>) -> Raster<f32> {
        Raster::from_fn(like.cols(), like.rows(), |col, row| {
            let at = [col as f64 * self.per_sample[0], row as f64 * self.per_sample[1]];
            if like.row(row)[col].is_nan() { 0.0 } else { nodes.bilinear(at[0], at[1]).max(0.0) }
        })
    }
}

/// The value between samples, smooth where nothing is missing around.
fn between(layer: &Raster<f32>, col: f64, row: f64) -> f32 {
    let smooth = layer.bicubic(col, row);
    if !smooth.is_nan() {
        return smooth;
    }
    let (c, r) = (col.floor(), row.floor());
    let (mut sum, mut weights) = (0.0, 0.0);
    for (i, j) in [(0, 0), (1, 0), (0, 1), (1, 1)] {
        let value = layer.clamped(c as isize + i, r as isize + j);
        let along = |t: f64, side: isize| if side == 0 { 1.0 - t } else { t };
        let weight = (along(col - c, i) * along(row - r, j)) as f32;
        if !value.is_nan() {
            sum += weight * value;
            weights += weight;
        }
    }
    if weights > 0.49 { sum / weights } else { f32::NAN }
}

/// The mean of the samples around, holes passed over; a hole stays a hole.
fn mean(layer: &Raster<f32>, wide: usize, tall: usize) -> Raster<f32> {
    let (cols, rows) = (layer.cols(), layer.rows());
    Raster::from_fn(cols, rows, |col, row| {
        if layer.row(row)[col].is_nan() {
            return f32::NAN;
        }
        let (mut sum, mut count) = (0.0f64, 0.0f64);
        for r in row.saturating_sub(tall)..(row + tall + 1).min(rows) {
            for v in &layer.row(r)[col.saturating_sub(wide)..(col + wide + 1).min(cols)] {
                if !v.is_nan() {
                    sum += f64::from(*v);
                    count += 1.0;
                }
            }
        }
        (sum / count) as f32
    })
}
