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
    let [dx, dy] = frame.spacing_m().map(|d| d as f32);
    let octaves = count(base, frame);
    let mut sum = Raster::filled(fine.cols(), fine.rows(), 0.0);
    for octave in 0..octaves {
        let step = 1isize << octave;
        // The last holds all that is longer.
        let rest = (octave + 1 < octaves).then(|| smoothed(&fine, step));
        let mut part = fine.clone();
        if let Some(rest) = &rest {
            part.par_rows(|row, out| out.iter_mut().zip(rest.row(row)).for_each(|(a, b)| *a -= b));
        }
        let mut slope2 = Raster::filled(part.cols(), part.rows(), 0.0);
        slope2.par_rows(|row, out| {
            let last = part.rows() - 1;
            let (north, south) = (part.row(row.saturating_sub(1)), part.row((row + 1).min(last)));
            let (here, cols) = (part.row(row), part.cols());
            for (col, value) in out.iter_mut().enumerate() {
                let east = here[(col + 1).min(cols - 1)] - here[col.saturating_sub(1)];
                let (x, y) = (east / (2.0 * dx), (north[col] - south[col]) / (2.0 * dy));
                *value = x * x + y * y;
            }
        });
        let slope2 = smoothed(&slope2, step);
        sum.par_rows(|row, out| {
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

/// Weighted 1, 2, 1 along rows and columns with samples `step` apart.
pub fn smoothed(raster: &Raster<f32>, step: isize) -> Raster<f32> {
    let (cols, rows) = (raster.cols(), raster.rows());
    let mut along = Raster::filled(cols, rows, 0.0);
    along.par_rows(|row, out| {
        let line = raster.row(row);
        let at = |col: isize| line[col.clamp(0, cols as isize - 1) as usize];
        for (col, value) in out.iter_mut().enumerate() {
            let col = col as isize;
            *value = 0.25 * (at(col - step) + at(col + step)) + 0.5 * at(col);
        }
    });
    let mut both = Raster::filled(cols, rows, 0.0);
    both.par_rows(|row, out| {
        let at = |row: isize| along.row(row.clamp(0, rows as isize - 1) as usize);
        let row = row as isize;
        let (north, here, south) = (at(row - step), at(row), at(row + step));
        for (col, value) in out.iter_mut().enumerate() {
            *value = 0.25 * (north[col] + south[col]) + 0.5 * here[col];
        }
    });
    both
}
