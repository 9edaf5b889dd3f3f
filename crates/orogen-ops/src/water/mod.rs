//! Operators on water: where it stands, where it runs.

pub mod basins;
pub mod breach;
pub mod fill;
pub mod flow;
mod former;
pub mod lakes;
pub mod rivers;
pub mod sea;
mod shores;

pub use basins::Basins;
pub use breach::Breach;
pub use fill::Fill;
pub use flow::Flow;
pub use lakes::Lakes;
pub use rivers::Rivers;
pub use sea::Sea;

use orogen_core::Raster;

/// The level at which water is gone: that of the sea, or none.
#[must_use]
pub fn sea_level(sea: bool) -> f32 {
    if sea { 0.0 } else { f32::NEG_INFINITY }
}

/// Makes holes of a layer where the land has them.
fn keep_holes(layer: &mut Raster<f32>, height: &Raster<f32>) {
    layer.par_rows(|row, values| {
        for (value, height) in values.iter_mut().zip(height.row(row)) {
            *value = if height.is_nan() { f32::NAN } else { *value };
        }
    });
}
