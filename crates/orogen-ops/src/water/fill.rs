//! Filling: land without pits.

use orogen_core::{Ctx, Frame, Layers, Op, OpError, Raster, Reach, Refiner, Solved, Terrain, layer};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::sea_level;
use super::shores::{Shores, replaced};
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
/// In windows of a finer spacing what was filled is as level, up to where the finer ground
/// rises out of it.
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
    const VERSION: u32 = 2;

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

    fn refiner(&self, solved: Solved<'_>, _: &Ctx<'_>) -> Result<Option<Box<dyn Refiner>>, OpError> {
        Levelled::refiner(solved)
    }
}

/// Filled ground on samples of another spacing: level up to where the finer ground rises out of it.
pub(super) struct Levelled(Shores);

impl Levelled {
    /// None where nothing was filled.
    pub fn refiner(solved: Solved<'_>) -> Result<Option<Box<dyn Refiner>>, OpError> {
        let Some(before) = solved.before else { return Ok(None) };
        let (before, after) = (before.get(layer::HEIGHT)?, solved.after.get(layer::HEIGHT)?);
        let (cols, rows) = (after.cols(), after.rows());
        // Cut ground is what the fill lies on.
        let ground = Raster::from_fn(cols, rows, |c, r| before.row(r)[c].min(after.row(r)[c]));
        let depth = Raster::from_fn(cols, rows, |c, r| (after.row(r)[c] - ground.row(r)[c]).max(0.0));
        if !depth.as_slice().iter().any(|depth| *depth > 0.0) {
            return Ok(None);
        }
        let shores = Shores::on(*solved.after.frame(), ground.clone()).with_lakes(&ground, &depth, 0.0, 0.0);
        Ok(Some(Box::new(Self(shores))))
    }
}

impl Refiner for Levelled {
    fn refine(&self, window: Terrain, ctx: &Ctx<'_>) -> Result<Terrain, OpError> {
        let frame = *window.frame();
        let mut height = window.get(layer::HEIGHT)?.clone();
        let levels = self.0.flood(&frame, &mut height);
        ctx.tick(1, 2)?;
        height.par_rows(|row, out| {
            out.iter_mut()
                .zip(levels.row(row))
                .for_each(|(h, level)| *h = if *h < *level { *level } else { *h });
        });
        replaced(window, [(layer::HEIGHT.name(), height)])
    }

    fn size_bytes(&self) -> usize {
        self.0.size_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_support;
    use orogen_core::{Raster, math};

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

    #[test]
    fn filled_ground_is_level_in_finer_windows() {
        let ground =
            |x: f64, y: f64| (0.05 * x + 20.0 * (math::sin(x / 170.0) * math::cos(y / 210.0))) as f32 + 50.0;
        let land = |frame: Frame| {
            let mut land = Terrain::new(frame);
            let height =
                Raster::from_fn(frame.cols(), frame.rows(), |c, r| ground(frame.x_m(c), frame.y_m(r)));
            land.set(layer::HEIGHT, height);
            land
        };
        let base = Frame::square(2400.0, 61).unwrap();
        let (op, before) = (Fill::default(), land(base));
        let after = op.apply(before.clone(), &Ctx::silent()).unwrap();
        let refiner =
            op.refiner(Solved { before: Some(&before), after: &after }, &Ctx::silent()).unwrap().unwrap();
        // As a window comes: its own finer ground, and what was filled, interpolated.
        let fine = Frame::square(2400.0, 481).unwrap();
        let (a, b) = (after.get(layer::HEIGHT).unwrap(), before.get(layer::HEIGHT).unwrap());
        let change = Raster::from_fn(61, 61, |c, r| a.row(r)[c] - b.row(r)[c]);
        let mut window = land(fine);
        let own = window.get(layer::HEIGHT).unwrap();
        let at = |i: usize| i as f64 / 8.0;
        let raised = Raster::from_fn(481, 481, |c, r| own.row(r)[c] + change.bilinear(at(c), at(r)));
        window.set(layer::HEIGHT, raised.clone());
        let level = refiner.refine(window, &Ctx::silent()).unwrap();
        let level = level.get(layer::HEIGHT).unwrap();
        // Around each sample that was filled deep, all of the finer land is level; interpolation alone is not.
        let (mut deep, mut uneven) = (0, 0.0f32);
        for (row, col) in (1..60).flat_map(|row| (1..60).map(move |col| (row, col))) {
            let is_deep = |c: usize, r: usize| change.row(r)[c] > 2.0 && a.row(r)[c] == a.row(row)[col];
            if !(row - 1..=row + 1).all(|r| (col - 1..=col + 1).all(|c| is_deep(c, r))) {
                continue;
            }
            deep += 1;
            for (r, c) in
                (8 * row - 4..=8 * row + 4).flat_map(|r| (8 * col - 4..=8 * col + 4).map(move |c| (r, c)))
            {
                assert!((level.row(r)[c] - a.row(row)[col]).abs() < 1e-3, "{} at {c} {r}", level.row(r)[c]);
                uneven = uneven.max((raised.row(r)[c] - a.row(row)[col]).abs());
            }
        }
        assert!(deep > 20 && uneven > 0.02, "{deep} deep, {uneven} m uneven before");
    }
}
