//! A lattice over a frame, coarser where the frame has many samples: where what travels far is worked out.

use orogen_core::{Frame, Raster};

/// Samples a side of a lattice, at most.
pub const MOST: usize = 1025;

/// At most so many samples a side over all of a frame, the outermost on its edges.
#[derive(Clone, Copy, Debug)]
pub struct Lattice {
    /// Samples of the frame, columns and rows.
    frame: [usize; 2],
    /// Samples of the lattice, columns and rows.
    pub count: [usize; 2],
    /// Distances between samples of the lattice, (x, y) in metres.
    pub spacing_m: [f64; 2],
    /// Samples of the frame from one of the lattice to the next.
    ratio: [f64; 2],
    loops: bool,
}

impl Lattice {
    /// Over a frame with edges.
    pub fn over(frame: &Frame, most: usize) -> Self {
        let samples = [frame.cols(), frame.rows()];
        let count = samples.map(|n| n.min(most));
        let ratio = [0, 1].map(|axis| (samples[axis] - 1) as f64 / (count[axis] - 1).max(1) as f64);
        let spacing_m = [0, 1].map(|axis| frame.spacing_m()[axis] * ratio[axis].max(1.0));
        Self { frame: samples, count, spacing_m, ratio: ratio.map(|r| r.max(1.0)), loops: false }
    }

    /// Over land whose first column and row lie beyond its last: a power of two of samples along each side.
    pub fn over_loop(frame: &Frame, most: usize) -> Self {
        let samples = [frame.cols(), frame.rows()];
        let largest = 1 << most.max(1).ilog2();
        let count = samples.map(|n| n.next_power_of_two().min(largest));
        let ratio = [0, 1].map(|axis| samples[axis] as f64 / count[axis] as f64);
        let spacing_m = [0, 1].map(|axis| frame.spacing_m()[axis] * ratio[axis]);
        Self { frame: samples, count, spacing_m, ratio, loops: true }
    }

    /// Whether it has the samples of the frame itself.
    pub fn is_frame(&self) -> bool {
        self.frame == self.count
    }

    /// Samples of the lattice for each of the frame.
    pub fn share(&self) -> f64 {
        (self.count[0] * self.count[1]) as f64 / (self.frame[0] * self.frame[1]) as f64
    }

    /// Means around the samples of the lattice, of values without holes; planes are kept.
    pub fn thin(&self, values: &Raster<f32>) -> Raster<f32> {
        if self.is_frame() {
            return values.clone();
        }
        let [across, down] = [0, 1].map(|axis| self.taps(axis));
        let narrow = {
            let mut out = Raster::filled(self.count[0], values.rows(), 0.0f32);
            out.par_rows(|row, out| {
                let from = values.row(row);
                for (out, taps) in out.iter_mut().zip(&across) {
                    *out = taps.iter().map(|&(at, weight)| from[at] * weight).sum();
                }
            });
            out
        };
        let mut out = Raster::filled(self.count[0], self.count[1], 0.0f32);
        out.par_rows(|row, out| {
            for &(at, weight) in &down[row] {
                for (out, from) in out.iter_mut().zip(narrow.row(at)) {
                    *out += from * weight;
                }
            }
        });
        out
    }

    /// Samples of the frame and their weights around each sample of the lattice: a tent as wide as the lattice is coarse,
    /// narrower beside an edge.
    fn taps(&self, axis: usize) -> Vec<Vec<(usize, f32)>> {
        let n = self.frame[axis];
        let last = (n - 1) as f64;
        let one = |i: usize| {
            let middle = i as f64 * self.ratio[axis];
            let edge = if self.loops { f64::INFINITY } else { middle.min(last - middle) };
            let half = self.ratio[axis].min(edge).max(1.0);
            let (low, high) = ((middle - half).ceil() as i64, (middle + half).floor() as i64);
            let weight = |at: i64| (1.0 - (at as f64 - middle).abs() / half).max(0.0);
            let inside = |at: &i64| self.loops || (0..n as i64).contains(at);
            let sum: f64 = (low..=high).filter(inside).map(weight).sum();
            let tap = |at: i64| (at.rem_euclid(n as i64) as usize, (weight(at) / sum) as f32);
            (low..=high).filter(inside).map(tap).collect()
        };
        (0..self.count[axis]).map(one).collect()
    }

    /// Values between the samples of the lattice, at those of the frame.
    pub fn back(&self, values: Raster<f32>) -> Raster<f32> {
        if self.is_frame() {
            return values;
        }
        let [cols, rows] = [0, 1].map(|axis| {
            let shift = if self.loops { 2.0 } else { 0.0 };
            (0..self.frame[axis]).map(|at| at as f64 / self.ratio[axis] + shift).collect::<Vec<f64>>()
        });
        if !self.loops {
            return values.bicubic_grid(&cols, &rows);
        }
        // Two more samples around, from the opposite side.
        let (wide, tall) = (values.cols(), values.rows());
        let around = Raster::from_fn(wide + 4, tall + 4, |c, r| {
            values.row((r + 2 * tall - 2) % tall)[(c + 2 * wide - 2) % wide]
        });
        around.bicubic_grid(&cols, &rows)
    }
}

/// Heights with holes filled from around them, and the sea level where the land is lower, if there is a sea.
pub fn surface(height: &Raster<f32>, sea: bool) -> Raster<f32> {
    let level = if sea { 0.0 } else { f32::NEG_INFINITY };
    let mut out = filled(height);
    out.par_rows(|_, values| values.iter_mut().for_each(|h| *h = h.max(level)));
    out
}

/// Values with holes filled from around them: means of ever larger squares. 0 where there is nothing but holes.
pub fn filled(values: &Raster<f32>) -> Raster<f32> {
    let mut out = values.clone();
    if values.as_slice().iter().any(|v| v.is_nan()) {
        fill(&mut out);
    }
    out
}

fn fill(values: &mut Raster<f32>) {
    let (cols, rows) = (values.cols(), values.rows());
    if cols * rows == 1 {
        let value = &mut values.as_mut_slice()[0];
        *value = if value.is_nan() { 0.0 } else { *value };
        return;
    }
    let mut coarse = Raster::from_fn(cols.div_ceil(2), rows.div_ceil(2), |c, r| {
        let cells = [(0, 0), (1, 0), (0, 1), (1, 1)].map(|(i, j)| (2 * c + i, 2 * r + j));
        let known = cells.into_iter().filter(|(c, r)| *c < cols && *r < rows);
        let known = known.map(|(c, r)| values.row(r)[c]).filter(|v| !v.is_nan());
        let (sum, count) = known.fold((0.0, 0.0), |(sum, count), v| (sum + v, count + 1.0));
        if count > 0.0 { sum / count } else { f32::NAN }
    });
    if coarse.as_slice().iter().any(|v| v.is_nan()) {
        fill(&mut coarse);
    }
    values.par_rows(|row, values| {
        for (col, value) in values.iter_mut().enumerate() {
            if value.is_nan() {
                *value = coarse.bilinear(col as f64 / 2.0 - 0.25, row as f64 / 2.0 - 0.25);
            }
        }
    });
}

/// Means over about so many metres to every side (three boxes), edges mirrored.
pub fn mean_around(values: &Raster<f32>, spacing_m: [f64; 2], radius_m: f64) -> Raster<f32> {
    let along = |raster: &Raster<f32>, spacing_m: f64| {
        // Three boxes of half width w have the spread of a disc of radius r where w is about r / 2.
        let half = radius_m / spacing_m / 2.0;
        let mut out = raster.clone();
        out.par_rows(|_, row| {
            let mut sums = Vec::with_capacity(row.len() + 1);
            for _ in 0..3 {
                box_mean(row, half, &mut sums);
            }
        });
        out
    };
    let across = along(values, spacing_m[0]);
    along(&across.transposed(), spacing_m[1]).transposed()
}

/// Each value becomes the mean of what lies within `half` steps, the outermost by their shares.
fn box_mean(row: &mut [f32], half: f64, sums: &mut Vec<f64>) {
    let n = row.len();
    let half = half.min((n - 1) as f64);
    sums.clear();
    sums.push(0.0);
    let mut sum = 0.0;
    for value in row.iter() {
        sum += f64::from(*value);
        sums.push(sum);
    }
    // The integral from the first edge, each sample as wide as one step; mirrored beyond both edges.
    let inside = |at: f64| {
        let cell = (at.floor().max(0.0) as usize).min(n - 1);
        sums[cell] + (at - cell as f64) * (sums[cell + 1] - sums[cell])
    };
    let all = n as f64;
    let integral = |at: f64| {
        if at < 0.0 {
            -inside((-at).min(all))
        } else if at > all {
            2.0 * inside(all) - inside((2.0 * all - at).max(0.0))
        } else {
            inside(at)
        }
    };
    let width = 2.0 * half + 1.0;
    for (i, value) in row.iter_mut().enumerate() {
        let middle = i as f64 + 0.5;
        *value = ((integral(middle + width / 2.0) - integral(middle - width / 2.0)) / width) as f32;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plane_goes_there_and_back() {
        let frame = Frame::new([0.0, 0.0], [3000.0, 1000.0], [301, 121]).unwrap();
        let plane = Raster::from_fn(301, 121, |c, r| 3.0 * c as f32 - 2.0 * r as f32);
        for most in [40, 101, 1025] {
            let lattice = Lattice::over(&frame, most);
            let again = lattice.back(lattice.thin(&plane));
            let far = plane.as_slice().iter().zip(again.as_slice()).map(|(a, b)| (a - b).abs());
            // Cubics bend a little in the outermost cells.
            assert!(far.fold(0.0, f32::max) < 4.0, "{most}");
            assert!((plane.row(60)[150] - again.row(60)[150]).abs() < 1e-3);
        }
    }

    #[test]
    fn holes_are_filled_from_around_them() {
        let mut plane = Raster::from_fn(50, 40, |c, r| c as f32 + r as f32);
        for (c, r) in [(0, 0), (20, 20), (21, 20), (20, 21), (49, 39)] {
            plane.as_mut_slice()[r * 50 + c] = f32::NAN;
        }
        let made = filled(&plane);
        assert!((made.row(20)[20] - 40.0).abs() < 2.0 && made.row(0)[0].abs() < 3.0);
        assert_eq!(filled(&Raster::filled(7, 5, f32::NAN)), Raster::filled(7, 5, 0.0));
    }

    #[test]
    fn means_keep_what_there_is_of_it() {
        let mut one = Raster::filled(60, 60, 0.0);
        one.as_mut_slice()[30 * 60 + 30] = 1.0;
        for radius_m in [0.0, 35.0, 90.0, 1e6] {
            let made = mean_around(&one, [10.0, 10.0], radius_m);
            assert!((made.sum_f64() - 1.0).abs() < 1e-4, "{radius_m}: {}", made.sum_f64());
        }
    }
}
