//! The climate of the land as it became: warmth, wind, rain, moisture, salt and snow.
//!
//! What travels far (air, shade, water) is worked out on a lattice of at most 1025 samples a side and
//! interpolated; what hangs on the place alone (how high, how steep) is worked out at every sample.

mod between;
mod fft;
mod ground;
pub mod horizon;
mod lattice;
pub mod moisture;
pub mod rain;
pub mod salt;
pub mod snow;
mod spectrum;
mod sun;
mod sweep;
pub mod temperature;
pub mod wind;
mod winds;

pub use moisture::Moisture;
pub use rain::Rain;
pub use salt::Salt;
pub use snow::Snow;
pub use temperature::Temperature;
pub use wind::Wind;
pub use winds::Blowing;

use orogen_core::{Ctx, Raster};

/// The latitude that is taken where neither the step nor the recipe's `[place]` says one.
const LATITUDE_DEG: f64 = 45.0;

/// Degrees north of the equator: what the step says, else what the world says, else 45.
fn latitude_deg(said: Option<f64>, ctx: &Ctx<'_>) -> f64 {
    said.or(ctx.place().latitude_deg).unwrap_or(LATITUDE_DEG).clamp(-90.0, 90.0)
}

/// Where true north lies, in degrees clockwise from the frame's y axis.
pub(crate) fn north_deg(ctx: &Ctx<'_>) -> f64 {
    ctx.place().north_deg.filter(|deg| deg.is_finite()).unwrap_or(0.0)
}

/// Makes holes of a layer where the land has them.
fn keep_holes(layer: &mut Raster<f32>, height: &Raster<f32>) {
    layer.par_rows(|row, values| {
        for (value, height) in values.iter_mut().zip(height.row(row)) {
            *value = if height.is_nan() { f32::NAN } else { *value };
        }
    });
}
