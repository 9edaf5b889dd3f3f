//! Geomorphons: ten forms of ground, recognised by what is seen in eight directions.

use orogen_core::{D8, Raster, math};
use rayon::prelude::*;
use serde::Serialize;

/// Cells looked over in each direction.
const LOOK: usize = 10;
/// Angles below this count as level, in degrees.
const LEVEL_DEG: f64 = 1.0;

/// Shares of the ten forms; they add up to 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Forms {
    /// Level ground.
    pub flat: f64,
    /// Higher than all round.
    pub peak: f64,
    /// A crest.
    pub ridge: f64,
    /// The edge of high flat ground.
    pub shoulder: f64,
    /// A rib on a slope.
    pub spur: f64,
    /// A plain slope.
    pub slope: f64,
    /// A dent in a slope.
    pub hollow: f64,
    /// Where a slope meets flat ground.
    pub footslope: f64,
    /// A valley.
    pub valley: f64,
    /// Lower than all round.
    pub pit: f64,
}

/// Forms by the number of directions in which the ground lies higher (first) and lower (second).
///
/// After Jasiewicz & Stepinski, Geomorphology 182 (2013), figure 4.
const TABLE: [[usize; 9]; 9] = {
    const FL: usize = 0;
    const PK: usize = 1;
    const RI: usize = 2;
    const SH: usize = 3;
    const SP: usize = 4;
    const SL: usize = 5;
    const HL: usize = 6;
    const FS: usize = 7;
    const VL: usize = 8;
    const PT: usize = 9;
    [
        [FL, FL, FL, SH, SH, RI, RI, RI, PK],
        [FL, FL, SH, SH, SH, RI, RI, RI, FL],
        [FL, FS, SL, SL, SP, SP, RI, FL, FL],
        [FS, FS, SL, SL, SL, SP, FL, FL, FL],
        [FS, FS, HL, SL, SL, FL, FL, FL, FL],
        [VL, VL, HL, HL, FL, FL, FL, FL, FL],
        [VL, VL, VL, FL, FL, FL, FL, FL, FL],
        [VL, VL, FL, FL, FL, FL, FL, FL, FL],
        [PT, FL, FL, FL, FL, FL, FL, FL, FL],
    ]
};

/// Measures the shares over all land that sees something in every direction.
pub fn measure(height: &Raster<f32>, spacing_m: [f64; 2], sea_m: f32) -> Forms {
    let level = math::tan(LEVEL_DEG.to_radians()) as f32;
    let per_m: [[f32; LOOK]; 8] = D8.map(|(dc, dr)| {
        let length = math::hypot(f64::from(dc) * spacing_m[0], f64::from(dr) * spacing_m[1]);
        std::array::from_fn(|i| (1.0 / ((i + 1) as f64 * length)) as f32)
    });
    let counts = (0..height.rows())
        .into_par_iter()
        .map(|row| {
            let mut counts = [0u64; 10];
            for col in 0..height.cols() {
                if height.row(row)[col] > sea_m
                    && let Some(form) = form(height, col, row, &per_m, level)
                {
                    counts[form] += 1;
                }
            }
            counts
        })
        .reduce(|| [0; 10], |a, b| std::array::from_fn(|i| a[i] + b[i]));
    let all = counts.iter().sum::<u64>().max(1) as f64;
    let [flat, peak, ridge, shoulder, spur, slope, hollow, footslope, valley, pit] =
        counts.map(|count| count as f64 / all);
    Forms { flat, peak, ridge, shoulder, spur, slope, hollow, footslope, valley, pit }
}

fn form(height: &Raster<f32>, col: usize, row: usize, per_m: &[[f32; LOOK]; 8], level: f32) -> Option<usize> {
    let here = height.row(row)[col];
    let (mut higher, mut lower) = (0, 0);
    for (k, &(dc, dr)) in D8.iter().enumerate() {
        // Tangents of the highest and lowest angle that are seen.
        let (mut up, mut down) = (f32::NEG_INFINITY, f32::INFINITY);
        for step in 1..=LOOK as isize {
            let (c, r) = (col as isize + step * dc as isize, row as isize + step * dr as isize);
            if c < 0 || r < 0 || c as usize >= height.cols() || r as usize >= height.rows() {
                break;
            }
            let tangent = (height.row(r as usize)[c as usize] - here) * per_m[k][step as usize - 1];
            // Holes are passed over.
            up = up.max(tangent);
            down = down.min(tangent);
        }
        if up == f32::NEG_INFINITY {
            return None;
        }
        // Whichever of the two is farther from level.
        let seen = if up > -down { up } else { down };
        higher += usize::from(seen > level);
        lower += usize::from(seen < -level);
    }
    Some(TABLE[higher][lower])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn simple_ground_has_its_form() {
        let flat = measure(&Raster::filled(40, 40, 3.0), [10.0, 10.0], f32::NEG_INFINITY);
        assert_eq!(flat.flat, 1.0);
        let roof = Raster::from_fn(81, 81, |col, _| -(col as f32 - 40.0).abs() * 5.0);
        let per_m = D8.map(|(dc, dr)| {
            std::array::from_fn(|i| {
                (0.1 / ((i + 1) as f64 * math::hypot(f64::from(dc), f64::from(dr)))) as f32
            })
        });
        assert_eq!(form(&roof, 40, 40, &per_m, 0.017), Some(2), "the top of a roof is a ridge");
        let trough = roof.map(|h| -h);
        assert_eq!(form(&trough, 40, 40, &per_m, 0.017), Some(8), "the bottom of a trough is a valley");
        assert_eq!(form(&roof, 20, 40, &per_m, 0.017), Some(5), "its side is a slope");
    }
}
