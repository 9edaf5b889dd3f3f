//! Outcrop: the rock that lies at the surface.

use orogen_core::{Cancelled, Ctx, Frame, Layers, Op, OpError, Raster, Reach, Terrain, layer};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::beds::{MIDDLING, Places, STRATA, Strata};

/// Maps the rock at the surface: the layer `hardness`, and the number of the bed as the layer `bed`.
///
/// Beds count from 0 at the top of the column down, then plutons, then dykes; the vector layer `strata` has their names and
/// colours in the same order. Both layers follow from the height: erosion makes them stale, and this step after it gives them
/// anew. `hardness` goes from 0 (as loose ground) over 0.5 (middling) to 1, which is what `hardness` of the `erode`
/// operators takes.
///
/// **Guarantees** (1) each sample says the bed just below its height, as `rock.strata` describes it; (2) windows and other
/// resolutions say the same at the same place and height. In holes the hardness is a hole and the number 0.
///
/// **Limits** Loose ground (`sediment`) is not looked through: what lies under it is mapped.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Outcrop {}

impl Op for Outcrop {
    const ID: &'static str = "rock.outcrop";
    const VERSION: u32 = 1;
    /// Beds crop out in bands of any width, so single samples may differ in kind.
    const PREVIEW_RMSE: f64 = 0.03;

    fn layers(&self) -> Layers {
        Layers::none()
            .reading([layer::HEIGHT.name()])
            .reading_vectors([STRATA])
            .deriving([layer::HARDNESS.name(), layer::BED.name()], [layer::HEIGHT.name()])
    }

    fn reach(&self, _: &Frame) -> Reach {
        Reach::Point
    }

    fn endless(&self) -> bool {
        true
    }

    fn bytes_a_sample(&self, _: &Frame) -> f64 {
        10.0
    }

    fn run(&self, mut terrain: Terrain, ctx: &Ctx<'_>) -> Result<Terrain, OpError> {
        let (hardness, bed) = outcrop(terrain.get(layer::HEIGHT)?, Strata::under(&terrain).as_ref(), ctx)?;
        terrain.set(layer::HARDNESS, hardness);
        terrain.set(layer::BED, bed);
        Ok(terrain)
    }
}

/// The algorithm alone: hardness and number of the rock just below each height; without strata all rock is middling.
///
/// # Errors
/// When cancelled.
pub fn outcrop(
    height: &Raster<f32>,
    places: Option<&Places>,
    ctx: &Ctx<'_>,
) -> Result<(Raster<f32>, Raster<u16>), Cancelled> {
    let (cols, rows) = (height.cols(), height.rows());
    let rock = |col: usize, row: usize| {
        let z_m = height.row(row)[col];
        match places {
            _ if z_m.is_nan() => (f32::NAN, 0),
            None => (MIDDLING, 0),
            Some(places) => {
                let bed = places.rock(row * cols + col, z_m);
                (bed.hardness, bed.index)
            }
        }
    };
    let counter = ctx.counter(rows);
    let (mut hardness, mut bed) = (Raster::filled(cols, rows, 0.0), Raster::filled(cols, rows, 0));
    hardness.try_par_rows(|row, out| {
        out.iter_mut().enumerate().for_each(|(col, out)| *out = rock(col, row).0);
        counter.done()
    })?;
    bed.par_rows(|row, out| out.iter_mut().enumerate().for_each(|(col, out)| *out = rock(col, row).1));
    Ok((hardness, bed))
}
