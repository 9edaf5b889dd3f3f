//! Outcrop: the rock that lies at the surface.

use orogen_core::{Cancelled, Ctx, Frame, Layers, Op, OpError, Raster, Reach, Terrain, layer};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::beds::{MIDDLING, STRATA, Strata};

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
        6.0
    }

    fn run(&self, mut terrain: Terrain, ctx: &Ctx<'_>) -> Result<Terrain, OpError> {
        let strata = Strata::of(&terrain);
        let (hardness, bed) = outcrop(terrain.get(layer::HEIGHT)?, terrain.frame(), strata.as_ref(), ctx)?;
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
    frame: &Frame,
    strata: Option<&Strata>,
    ctx: &Ctx<'_>,
) -> Result<(Raster<f32>, Raster<u16>), Cancelled> {
    let (cols, rows) = (height.cols(), height.rows());
    let counter = ctx.counter(rows);
    let mut bed = Raster::filled(cols, rows, 0u16);
    bed.try_par_rows(|row, out| {
        for (col, (out, &z_m)) in out.iter_mut().zip(height.row(row)).enumerate() {
            if let Some(strata) = strata.filter(|_| !z_m.is_nan()) {
                *out = strata.at(frame.x_m(col), frame.y_m(row), f64::from(z_m)).index;
            }
        }
        counter.done()
    })?;
    let mut hardness = height.clone();
    hardness.par_rows(|row, out| {
        for (out, &number) in out.iter_mut().zip(bed.row(row)) {
            if !out.is_nan() {
                *out = strata.map_or(MIDDLING, |strata| strata.rocks()[usize::from(number)].hardness);
            }
        }
    });
    Ok((hardness, bed))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rock;
    use orogen_core::Seed;

    #[test]
    fn bands_of_tilted_beds_lie_where_they_come_out() {
        let bed =
            |hardness: f64| rock::strata::Bed { thickness_m: 10.0, hardness, ..rock::strata::Bed::default() };
        // Beds go down to the east by one metre in ten, under level ground.
        let params = rock::Strata {
            beds: vec![bed(0.2), bed(0.8)],
            top_m: 0.0,
            dip_deg: orogen_core::math::atan(0.1).to_degrees(),
            dip_to_deg: 90.0,
            uneven_m: 0.0,
            ..rock::Strata::default()
        };
        let mut terrain = Terrain::new(Frame::square(2000.0, 201).unwrap());
        let mut height = Raster::filled(201, 201, -0.001);
        height.as_mut_slice()[7] = f32::NAN;
        terrain.set(layer::HEIGHT, height);
        let ctx = Ctx::new(Seed(1));
        let terrain = Outcrop::default().apply(params.apply(terrain, &ctx).unwrap(), &ctx).unwrap();
        let (hardness, bed) = (terrain.get(layer::HARDNESS).unwrap(), terrain.get(layer::BED).unwrap());
        // The top of the column is at 0 m in the middle: to the west of it the beds come out in turn, each 100 m wide.
        let bands = [(95, 0), (85, 1), (75, 0), (105, 1), (115, 0)];
        for (col, number) in bands {
            assert_eq!(bed.row(50)[col], number, "column {col}");
            assert_eq!(hardness.row(50)[col], if number == 0 { 0.2 } else { 0.8 });
        }
        assert!(hardness.as_slice()[7].is_nan());
        assert_eq!(bed.as_slice()[7], 0);
    }
}
