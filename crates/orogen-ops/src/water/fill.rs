//! Filling: land without pits.

use orogen_core::{Ctx, Frame, Layers, Op, OpError, Reach, Terrain, layer};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::sea_level;
use crate::drainage::{RasterPool, depressions};

/// Raises the land in every depression to the level at which water would spill, so that no pit is left.
///
/// ```text
/// height' = max(height, spill level of its basin)
/// ```
///
/// The spill level is the lowest height over which water in a basin can leave the map: at its edge, at a hole or into
/// the sea. The land comes out level where it was raised; `water.flow` still finds the way over such flats, and
/// `water.breach` cuts outlets instead of filling.
///
/// **Guarantees** (1) nothing is lowered, and land that drains is not touched; (2) from every sample a way leads off
/// the map that never rises; (3) filling again changes nothing, to the bit; (4) the result is that of a priority flood, which is
/// unique.
///
/// **Limits** A hole stays a hole. Cost is linear in the samples except for a sort of the passes between basins.
///
/// **After** Barnes, Lehman & Mulla, Comput. Geosci. 62 (2014) for what filling means; the method is a flood over the
/// graph of basins, as in Cordonnier, Bovy & Braun, Earth Surf. Dyn. 7 (2019).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Fill {
    /// Whether land at or below sea level (0 m) is sea, where water leaves; otherwise it is filled like any other.
    pub sea: bool,
}

impl Default for Fill {
    fn default() -> Self {
        Self { sea: true }
    }
}

impl Op for Fill {
    const ID: &'static str = "water.fill";
    const VERSION: u32 = 1;

    fn layers(&self) -> Layers {
        Layers::none().updating([layer::HEIGHT.name()])
    }

    fn reach(&self, _: &Frame) -> Reach {
        Reach::World
    }

    fn bytes_a_sample(&self, _: &Frame) -> f64 {
        8.0
    }

    fn run(&self, mut terrain: Terrain, ctx: &Ctx<'_>) -> Result<Terrain, OpError> {
        let spacing_m = terrain.frame().spacing_m();
        let height = terrain.get(layer::HEIGHT)?;
        let basins =
            depressions(height, spacing_m, sea_level(self.sea), ctx, &mut RasterPool::default())?.basins;
        terrain.update(&layer::HEIGHT.name(), |height| basins.fill(height))?;
        Ok(terrain)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_support;
    use orogen_core::Raster;

    fn filled(height: Raster<f32>) -> Raster<f32> {
        let frame = Frame::new([0.0, 0.0], [900.0, 600.0], [height.cols(), height.rows()]).unwrap();
        let mut terrain = Terrain::new(frame);
        terrain.set(layer::HEIGHT, height);
        let terrain = Fill { sea: false }.apply(terrain, &Ctx::silent()).unwrap();
        terrain.get(layer::HEIGHT).unwrap().clone()
    }

    #[test]
    fn filling_again_changes_nothing_and_nothing_is_lowered() {
        let rough = test_support::rough(90, 61);
        let once = filled(rough.clone());
        assert!(once.as_slice().iter().zip(rough.as_slice()).all(|(a, b)| a >= b));
        assert_ne!(once, rough);
        assert_eq!(filled(once.clone()), once);
    }

    #[test]
    fn a_bowl_is_filled_to_its_notch() {
        let mut height = Raster::filled(9, 7, 10.0);
        for row in 2..5 {
            for col in 2..7 {
                height.as_mut_slice()[row * 9 + col] = 3.0;
            }
        }
        for col in 0..2 {
            height.as_mut_slice()[3 * 9 + col] = 7.0;
        }
        let filled = filled(height);
        assert_eq!(filled.row(3), &[7.0, 7.0, 7.0, 7.0, 7.0, 7.0, 7.0, 10.0, 10.0]);
    }
}
