//! A step limited to where a mask is set.

use std::sync::Arc;

use orogen_core::{LayerData, LayerName, OpError, Raster, Terrain};

/// Limits a step to its mask: where the mask is 0 everything stays as before, where it is 1 the step has its way.
///
/// Measured values are mixed in proportion, ids switch at one half; a layer that was not there before counts as 0.
/// Holes of the mask count as 0. Vectors are the step's own: they have no samples to mix.
///
/// # Errors
/// When the terrain before the step has no such mask.
pub fn limit_to_mask(
    before: &Terrain,
    after: Terrain,
    mask: &LayerName,
    writes: &[LayerName],
) -> Result<Terrain, OpError> {
    let mask: &Raster<f32> = before.get_named(mask)?;
    let frame = *after.frame();
    let mut parts = after.into_parts();
    for name in writes {
        let Some(data) = parts.layers.get_mut(name) else { continue };
        match (data, before.layers().get(name)) {
            (LayerData::F32(after), before) => {
                let before = match before {
                    Some(LayerData::F32(raster)) => Some(raster),
                    _ => None,
                };
                Arc::make_mut(after).par_rows(|row, out| {
                    for (col, value) in out.iter_mut().enumerate() {
                        let old = before.map_or(0.0, |raster| raster.row(row)[col]);
                        let share = mask.row(row)[col];
                        // The ends are taken as they are, so that rounding (or a hole) changes nothing there.
                        if share < 1.0 && share > 0.0 {
                            *value = old + (*value - old) * share;
                        } else if share.is_nan() || share <= 0.0 {
                            *value = old;
                        }
                    }
                });
            }
            (LayerData::U8(after), before) => {
                let before = match before {
                    Some(LayerData::U8(raster)) => Some(raster),
                    _ => None,
                };
                Arc::make_mut(after).par_rows(|row, out| {
                    for (col, value) in out.iter_mut().enumerate() {
                        if mask.row(row)[col] >= 0.5 {
                            continue;
                        }
                        *value = before.map_or(0, |raster| raster.row(row)[col]);
                    }
                });
            }
        }
    }
    Terrain::from_parts(frame, parts)
        .ok_or_else(|| OpError::Internal(String::from("a masked layer does not match the frame")))
}
