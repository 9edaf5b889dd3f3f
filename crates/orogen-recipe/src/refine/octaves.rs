//! What finer samples show of the land before it was worn, held octave by octave to what worn land bears.

use orogen_core::{Frame, Raster};

/// Octaves below the spacing of the recipe's frame that a finer lattice has.
fn count(base: &Frame, frame: &Frame) -> u32 {
    let ([bx, by], [dx, dy]) = (base.spacing_m(), frame.spacing_m());
    let mut ratio = (bx / dx).max(by / dy);
    let mut octaves = 0;
    // Whole doublings, without logarithms: the same on every machine.
    while ratio > 1.0 + 1e-9 {
        ratio /= 2.0;
        octaves += 1;
    }
    octaves
}

/// How far around a window its own lattice must be known, in metres.
pub fn halo_m(base: &Frame, frame: &Frame) -> f64 {
    let octaves = count(base, frame);
    if octaves == 0 {
        return 0.0;
    }
    let [dx, dy] = frame.spacing_m();
    // Filters add up to less than the widest step, slopes to one sample, their means to the widest step again.
    f64::from(2u32 << (octaves - 1)) * dx.max(dy)
}

/// The parts of `fine` by octave, each where it is steeper than `most` (its slope in the mean of the neighbourhood) made
/// less steep, added up again.
///
/// Octaves are differences between ever smoother versions, by filters of three samples that lie ever further apart. At the
/// edge of the raster its last sample goes on.
pub fn held(mut fine: Raster<f32>, base: &Frame, frame: &Frame, most: &Raster<f32>) -> Raster<f32> {
    let octaves = count(base, frame);
    let mut sum = Raster::filled(fine.cols(), fine.rows(), 0.0);
    for octave in 0..octaves {
        let step = 1 << octave;
        // The last holds all that is longer.
        let rest = (octave + 1 < octaves).then(|| smoothed(&fine, step));
        let mut part = fine;
        if let Some(rest) = &rest {
            each_row(&mut part, |row, out| out.iter_mut().zip(rest.row(row)).for_each(|(a, b)| *a -= b));
        }
        let slope2 = smoothed(&slopes2(&part, frame.spacing_m()), step);
        each_row(&mut sum, |row, out| {
            let parts = part.row(row).iter().zip(slope2.row(row)).zip(most.row(row));
            for (sum, ((part, slope2), most)) in out.iter_mut().zip(parts) {
                let most2 = most * most;
                // Never steeper than `most`, and gently so.
                let share = if most2 > 0.0 { (most2 / (most2 + slope2)).sqrt() } else { 0.0 };
                *sum += share * part;
            }
        });
        match rest {
            Some(rest) => fine = rest,
            None => break,
        }
    }
    sum
}

/// The squared slope at each sample, over two cells.
fn slopes2(part: &Raster<f32>, spacing_m: [f64; 2]) -> Raster<f32> {
    let [dx, dy] = spacing_m.map(|d| d as f32);
    let (cols, last) = (part.cols(), part.rows() - 1);
    let mut out = Raster::filled(cols, part.rows(), 0.0);
    each_row(&mut out, |row, out| {
        let (north, south) = (part.row(row.saturating_sub(1)), part.row((row + 1).min(last)));
        let here = part.row(row);
        for (col, value) in out.iter_mut().enumerate() {
            *value = here[(col + 1).min(cols - 1)] - here[col.saturating_sub(1)];
        }
        for ((value, north), south) in out.iter_mut().zip(north).zip(south) {
            let (x, y) = (*value / (2.0 * dx), (north - south) / (2.0 * dy));
            *value = x * x + y * y;
        }
    });
    out
}

/// Weighted 1, 2, 1 along rows and columns with samples `step` apart.
pub fn smoothed(raster: &Raster<f32>, step: usize) -> Raster<f32> {
    let (cols, rows) = (raster.cols(), raster.rows());
    let mut along = Raster::filled(cols, rows, 0.0);
    each_row(&mut along, |row, out| {
        let line = raster.row(row);
        let clamped = |col: usize| {
            0.25 * (line[col.saturating_sub(step)] + line[(col + step).min(cols - 1)]) + 0.5 * line[col]
        };
        let inner = step.min(cols)..cols.saturating_sub(step).max(step.min(cols));
        (0..inner.start).chain(inner.end..cols).for_each(|col| out[col] = clamped(col));
        let beside = line.iter().zip(line.iter().skip(2 * step)).zip(&line[inner.start..]);
        for (out, ((west, east), here)) in out[inner].iter_mut().zip(beside) {
            *out = 0.25 * (west + east) + 0.5 * here;
        }
    });
    let mut both = Raster::filled(cols, rows, 0.0);
    each_row(&mut both, |row, out| {
        let (north, south) = (along.row(row.saturating_sub(step)), along.row((row + step).min(rows - 1)));
        for (out, ((north, south), here)) in out.iter_mut().zip(north.iter().zip(south).zip(along.row(row))) {
            *out = 0.25 * (north + south) + 0.5 * here;
        }
    });
    both
}

/// Values of a raster that is not worth sharing out: a tile's.
const SMALL: usize = 1 << 15;

/// Gives every row to `f(row number, values)`, by one thread where the raster is small.
pub fn each_row(raster: &mut Raster<f32>, f: impl Fn(usize, &mut [f32]) + Sync) {
    let (cols, count) = (raster.cols(), raster.as_slice().len());
    if count > SMALL {
        return raster.par_rows(f);
    }
    raster.as_mut_slice().chunks_mut(cols).enumerate().for_each(|(row, values)| f(row, values));
}
