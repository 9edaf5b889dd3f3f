//! Land at a coarser cell, so that statistics of unlike models can be compared.

use orogen_core::Raster;

/// The cells that the models had which the bands of real land were measured on, in metres.
pub const BANDS_CELLS_M: std::ops::RangeInclusive<f64> = 60.0..=100.0;
/// The cell that the bands of real land were measured at, about the middle of 60 to 100 m.
const BANDS_CELL_M: f64 = 80.0;
/// Samples a side that rivers need, to be rivers at all.
const FEWEST: f64 = 256.0;

/// The cell at which land is best compared with the bands: theirs, or one that leaves 256 samples to the shorter side.
#[must_use]
pub fn comparable_cell_m(samples: [usize; 2], spacing_m: [f64; 2]) -> f64 {
    let side_m = (samples[0] as f64 * spacing_m[0]).min(samples[1] as f64 * spacing_m[1]);
    BANDS_CELL_M.min(side_m / FEWEST)
}

/// Heights averaged over whole cells, so many that they come nearest to `cell_m`; none where that is one cell each way.
///
/// What is over at the eastern and southern edge is left out. A hole is left where more than half the samples are holes.
#[must_use]
pub fn coarser(height: &Raster<f32>, spacing_m: [f64; 2], cell_m: f64) -> Option<(Raster<f32>, [f64; 2])> {
    let times =
        |spacing_m: f64, samples: usize| ((cell_m / spacing_m).round() as usize).clamp(1, samples.max(1));
    let (across, down) = (times(spacing_m[0], height.cols()), times(spacing_m[1], height.rows()));
    if (across, down) == (1, 1) {
        return None;
    }
    let land = Raster::from_fn(height.cols() / across, height.rows() / down, |col, row| {
        let (mut sum, mut count) = (0.0, 0);
        for row in row * down..(row + 1) * down {
            for &h in &height.row(row)[col * across..(col + 1) * across] {
                if !h.is_nan() {
                    (sum, count) = (sum + f64::from(h), count + 1);
                }
            }
        }
        if 2 * count < across * down { f32::NAN } else { (sum / count as f64) as f32 }
    });
    Some((land, [spacing_m[0] * across as f64, spacing_m[1] * down as f64]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn means_over_cells_nearest_to_the_one_asked_for() {
        let height =
            Raster::from_fn(7, 5, |col, row| if col > 3 { f32::NAN } else { (col + 10 * row) as f32 });
        let (land, cell_m) = coarser(&height, [10.0, 20.0], 38.0).unwrap();
        assert_eq!((land.cols(), land.rows(), cell_m), (1, 2, [40.0, 40.0]));
        assert_eq!(land.as_slice(), &[6.5, 26.5]);
        let (land, _) = coarser(&height, [20.0, 20.0], 40.0).unwrap();
        assert!(land.row(0)[2].is_nan());
        assert!(coarser(&height, [10.0, 10.0], 14.0).is_none());
        // However large, one cell at least is left.
        assert_eq!(coarser(&height, [1.0, 1.0], 1e9).unwrap().0.as_slice().len(), 1);
    }

    #[test]
    fn a_small_land_is_compared_at_a_finer_cell() {
        assert_eq!(comparable_cell_m([2049, 2049], [20.0, 20.0]), 80.0);
        assert_eq!(comparable_cell_m([512, 2049], [4.0, 4.0]), 8.0);
    }
}
