//! Breaching: outlets cut through whatever dams water up.

use orogen_core::{Ctx, Frame, Layers, Op, OpError, Reach, Refiner, Solved, Terrain, layer};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::fill::Levelled;
use super::sea_level;
use crate::drainage::breach::{Breached, Breaching, breach};

/// Cuts a channel from every pit to lower ground, where the least rock has to go; so hollows drain and stay hollow.
///
/// ```text
/// volume of a channel = Σ max(0, height(c) − height(pit)) · area of a cell      over its cells c
/// ```
///
/// Pits are taken from the lowest up. Of all channels from a pit to ground that is lower, to the edge of the map, to a hole or
/// into the sea, the one of the least volume is cut, and the shortest of those; its floor is level with the pit. A pit
/// whose channel would be too deep or too long is filled to where it spills, or left.
///
/// **Guarantees** (1) from every sample a way leads off the map that never rises, unless pits are left; (2) nothing is
/// cut below the pit that it drains, nor deeper than `max_depth_m`; (3) without limits nothing is raised, and every channel is
/// the cheapest on the land as the channels before it left it; (4) breaching again changes nothing; (5) a quarter turn of the
/// land turns the result, where no two heights are equal and nothing is filled.
///
/// **Limits** A channel is one sample wide; windows of a finer spacing interpolate channels, while ground that was filled is level there too. Each sample keeps only its cheapest way during a search, so that with a
/// `max_length_m` a dearer but shorter channel may be missed, and the pit is then filled. One thread searches; the time
/// grows with the size of the depressions that are drained or filled.
///
/// **After** Lindsay & Dhun, Int. J. Geogr. Inf. Sci. 29 (2015), who let channels slope and search up to a fixed length.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Breach {
    /// Deepest cut; pits behind higher dams are left to `rest`.
    #[schemars(range(min = 0.0, max = 1e5), extend("x-unit" = "m", "x-slider" = [0.0, 100.0]))]
    pub max_depth_m: f64,
    /// How far a channel may lead from the level ground of its pit, as the crow flies.
    #[schemars(range(min = 0.0, max = 1e6), extend("x-unit" = "m", "x-slider" = [100.0, 5000.0]))]
    pub max_length_m: f64,
    /// What becomes of pits that no channel within these limits drains.
    pub rest: Rest,
    /// Whether land at or below sea level (0 m) is sea, where water leaves.
    pub sea: bool,
}

/// What becomes of pits that are not breached.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Rest {
    /// They are filled to where they spill.
    #[default]
    Fill,
    /// They stay.
    Leave,
}

impl Default for Breach {
    fn default() -> Self {
        Self { max_depth_m: 50.0, max_length_m: 2000.0, rest: Rest::Fill, sea: true }
    }
}

impl Op for Breach {
    const ID: &'static str = "water.breach";
    const VERSION: u32 = 2;

    fn layers(&self) -> Layers {
        Layers::none().updating([layer::HEIGHT.name()])
    }

    fn reach(&self, _: &Frame) -> Reach {
        Reach::World
    }

    fn bytes_a_sample(&self, _: &Frame) -> f64 {
        14.0
    }

    fn run(&self, mut terrain: Terrain, ctx: &Ctx<'_>) -> Result<Terrain, OpError> {
        let spacing_m = terrain.frame().spacing_m();
        let how = Breaching {
            spacing_m,
            sea_m: sea_level(self.sea),
            depth_m: self.max_depth_m as f32,
            length_m: self.max_length_m,
            fill: self.rest == Rest::Fill,
            floors: None,
        };
        let mut outcome = Ok(Breached::default());
        terrain.update(&layer::HEIGHT.name(), |height| outcome = breach(height, &how, ctx))?;
        report(&outcome?, spacing_m, ctx);
        Ok(terrain)
    }

    fn refiner(&self, solved: Solved<'_>, _: &Ctx<'_>) -> Result<Option<Box<dyn Refiner>>, OpError> {
        Levelled::refiner(solved)
    }
}

/// Puts what was done into the manifest.
pub(super) fn report(done: &Breached, [dx, dy]: [f64; 2], ctx: &Ctx<'_>) {
    ctx.report("channels", done.channels as f64, "");
    ctx.report("cut", done.cut_m * dx * dy, "m3");
    ctx.report("depressions_filled", done.filled as f64, "");
    ctx.report("filled", done.filled_m * dx * dy, "m3");
    ctx.report("depressions_left", done.left as f64, "");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_support;
    use orogen_core::Raster;

    fn breached(op: &Breach, height: Raster<f32>) -> (Raster<f32>, Vec<f64>) {
        let frame = Frame::new([0.0, 0.0], [900.0, 600.0], [height.cols(), height.rows()]).unwrap();
        let mut terrain = Terrain::new(frame);
        terrain.set(layer::HEIGHT, height);
        let ctx = Ctx::silent();
        let terrain = op.apply(terrain, &ctx).unwrap();
        let figures = ctx.take_figures().iter().map(|figure| figure.value).collect();
        (terrain.get(layer::HEIGHT).unwrap().clone(), figures)
    }

    /// A bowl at 3 m in ground at 10 m, with a notch at 7 m to the west.
    fn bowl() -> Raster<f32> {
        Raster::from_fn(9, 7, |col, row| match (col, row) {
            (2..=6, 2..=4) => 3.0,
            (0..=1, 3) => 7.0,
            _ => 10.0,
        })
    }

    #[test]
    fn a_bowl_drains_through_its_notch_and_the_volume_is_reported() {
        let (out, figures) = breached(&Breach::default(), bowl());
        let changed: Vec<usize> =
            (0..63).filter(|&cell| out.as_slice()[cell] != bowl().as_slice()[cell]).collect();
        assert_eq!(changed, [27, 28]);
        assert_eq!(&out.row(3)[..8], &[3.0, 3.0, 3.0, 3.0, 3.0, 3.0, 3.0, 10.0]);
        // Two cells of 900/8 by 600/6 m, 4 m each.
        assert_eq!(figures, [1.0, 8.0 * 112.5 * 100.0, 0.0, 0.0, 0.0]);
    }

    #[test]
    fn behind_too_high_a_dam_it_is_filled_or_left() {
        let fill = Breach { max_depth_m: 3.0, ..Breach::default() };
        let (out, figures) = breached(&fill, bowl());
        assert_eq!(out.row(3), &[7.0, 7.0, 7.0, 7.0, 7.0, 7.0, 7.0, 10.0, 10.0]);
        assert_eq!(figures, [0.0, 0.0, 1.0, 15.0 * 4.0 * 112.5 * 100.0, 0.0]);
        let (out, figures) = breached(&Breach { rest: Rest::Leave, ..fill }, bowl());
        assert!(out == bowl());
        assert_eq!(figures[4], 1.0);
        // The dam is two samples wide: over 200 m from the last level sample.
        let short = Breach { max_length_m: 200.0, ..Breach::default() };
        assert_eq!(breached(&short, bowl()).0.row(3)[0], 7.0);
    }

    #[test]
    fn breaching_again_changes_nothing() {
        let op = Breach { max_depth_m: 8.0, sea: false, ..Breach::default() };
        let once = breached(&op, test_support::rough(90, 61)).0;
        let (twice, figures) = breached(&op, once.clone());
        assert!(twice == once);
        assert_eq!(figures, [0.0; 5]);
    }
}
