//! Water of earlier steps that a step with `keep` leaves, on samples of another spacing.

use orogen_core::{Frame, OpError, Raster, Terrain, layer};

/// Less water than this, in metres, is what rounding left.
const NOTHING_M: f32 = 1e-3;

/// What a step added to the water of earlier ones: what is there without it, on finer samples, is theirs.
pub(super) struct Former {
    base: Frame,
    added: Raster<f32>,
}

impl Former {
    /// From the water before and after the step, on the recipe's frame.
    pub fn new(base: Frame, before: &Raster<f32>, after: &Raster<f32>) -> Self {
        let mut added = after.clone();
        added.par_rows(|row, out| out.iter_mut().zip(before.row(row)).for_each(|(a, old)| *a -= old));
        Self { base, added }
    }

    /// Brings the water of a window up to what there was before, where that was more.
    pub fn keep(&self, window: &Terrain, water: &mut Raster<f32>) -> Result<(), OpError> {
        let (cols, rows) = self.base.places_of(window.frame());
        let added = self.added.bicubic_grid(&cols, &rows);
        let sum: &Raster<f32> = window.get(layer::WATER)?;
        water.par_rows(|row, out| {
            for ((out, sum), added) in out.iter_mut().zip(sum.row(row)).zip(added.row(row)) {
                let old = sum - added;
                *out = if old > NOTHING_M && old > *out { old } else { *out };
            }
        });
        Ok(())
    }

    pub fn size_bytes(&self) -> usize {
        4 * self.added.as_slice().len()
    }
}
