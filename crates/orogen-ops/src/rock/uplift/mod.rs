//! Uplift: where and how fast the ground rises, and the grain that this gives the land.

mod structures;
#[cfg(test)]
mod tests;

use orogen_core::param::{self, Segment};
use orogen_core::{
    Cancelled, Ctx, Frame, Layers, Op, OpError, Prepared, Raster, Reach, Seed, Terrain, layer,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use self::structures::Grain;
pub use self::structures::{Belt, Blocks, Chain, Dome};
use super::beds::wander;
use super::strata::At;
use crate::erode::stream_power::{INCISION_MM_PER_YR, UPLIFT_MM_PER_YR};

/// Says how fast the ground rises: mountain belts with their folds, tilted fault blocks, domes, and chains of volcanoes over
/// a hot spot. The layer `uplift` is made for `uplift_mm_per_yr` of `erode.stream_power`.
///
/// ```text
/// U = base + Σ structures · (1 + variation · n)        n: noise, `stretch` times as long along the grain as across
/// incision = middle · e^(grain · n')                   on request: streams cut soft bands faster
/// ```
///
/// What a belt or a set of blocks lies along is the grain of the land: ranges and valleys follow it. With `grain` above 0 the
/// layer `incision` tells bands of hard and soft rock along the first structure, for `incision_mm_per_yr` of
/// `erode.stream_power`. Without `structures` a belt lies across the world, where and how the seed says. Lines that are left
/// out are drawn from the seed too.
///
/// Rates end at what `erode.stream_power` allows: 100 mm a year of uplift either way, and 1000 mm a year of incision.
///
/// **Guarantees** (1) a value depends on its place, the parameters, the seed and the world's extent: windows and other
/// resolutions agree to the bit; (2) without variation the crest of a belt without folds and the top of a dome rise exactly
/// as fast as said, and nothing rises beyond their width; (3) along a fault of blocks one side rises while the other sinks,
/// most in the middle of the fault and not at all at its ends.
///
/// **Limits** Rates do not change with time. Inside the bend of a belt that is narrower than the belt is wide, folds of
/// both arms meet at a seam. Grain and folds do not repeat over land that loops.
///
/// **After** Peacock & Sanderson, J. Struct. Geol. 13 (1991), for faults that step over and the ramps between them; Burbank &
/// Anderson, *Tectonic Geomorphology* (2011), for forms and rates.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Uplift {
    /// What rises; all of them add up.
    #[schemars(length(max = 100))]
    pub structures: Vec<Structure>,
    /// How fast all the land rises besides; below 0 it sinks.
    #[schemars(range(min = -100.0, max = 100.0), extend("x-unit" = "mm/yr", "x-slider" = [-1.0, 1.0]))]
    pub base_mm_per_yr: f64,
    /// How much the rates of structures vary from place to place.
    #[schemars(range(min = 0.0, max = 2.0), extend("x-slider" = [0.0, 1.0]))]
    pub variation: f64,
    /// Size of the largest of these variations, and of the largest bands of `grain`, across the grain.
    #[schemars(range(min = 1.0, max = 1e7), extend("x-unit" = "m", "x-slider" = [500.0, 20000.0]))]
    pub wavelength_m: f64,
    /// How many times longer they are along the grain.
    #[schemars(range(min = 1.0, max = 100.0), extend("x-slider" = [1.0, 10.0]))]
    pub stretch: f64,
    /// How much bands of rock along the grain differ: above 0 the layer `incision` is written, at 1 bands differ by a factor of about
    /// three either way.
    #[schemars(range(min = 0.0, max = 4.0), extend("x-slider" = [0.0, 2.0]))]
    pub grain: f64,
    /// The middle of the layer `incision`: how fast a stream that drains 1 km² cuts down at slope 1.
    #[schemars(range(min = 0.0, max = 1000.0), extend("x-unit" = "mm/yr", "x-slider" = [0.5, 20.0]))]
    pub incision_mm_per_yr: f64,
}

/// Something that rises.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Structure {
    /// A mountain belt along a line, with folds if wanted.
    Belt(Belt),
    /// Tilted blocks between parallel faults: basin and range.
    Blocks(Blocks),
    /// A dome.
    Dome(Dome),
    /// Volcanoes in a row over a hot spot, the older the weaker.
    Chain(Chain),
}

impl Default for Uplift {
    fn default() -> Self {
        Self {
            structures: Vec::new(),
            base_mm_per_yr: 0.0,
            variation: 0.35,
            wavelength_m: 5000.0,
            stretch: 4.0,
            grain: 0.0,
            incision_mm_per_yr: 3.0,
        }
    }
}

impl Op for Uplift {
    const ID: &'static str = "rock.uplift";
    const VERSION: u32 = 2;

    fn layers(&self) -> Layers {
        let incision = (self.grain > 0.0).then(|| layer::INCISION.name());
        Layers::none().writing([layer::UPLIFT.name()]).writing(incision)
    }

    fn reach(&self, _: &Frame) -> Reach {
        Reach::Point
    }

    fn faults(&self) -> Vec<param::Fault> {
        let lines = self.structures.iter().enumerate().filter_map(|(i, structure)| match structure {
            Structure::Belt(Belt { points, .. }) | Structure::Chain(Chain { points, .. }) => {
                Some((i, points))
            }
            _ => None,
        });
        lines
            .filter(|(_, points)| !points.is_empty() && structures::line(points).is_none())
            .take(20)
            .map(|(i, _)| param::Fault {
                path: vec![
                    Segment::Key(String::from("structures")),
                    Segment::Index(i),
                    Segment::Key(String::from("points")),
                ],
                message: String::from("a line needs two points that are apart, or none at all"),
            })
            .collect()
    }

    fn prepare(&self, world: &Frame, ctx: &Ctx<'_>) -> Result<Option<Box<dyn Prepared>>, OpError> {
        Ok(Some(Box::new(Rates::new(self, world, ctx.seed()))))
    }

    fn run(&self, terrain: Terrain, ctx: &Ctx<'_>) -> Result<Terrain, OpError> {
        let world = ctx.world(&terrain);
        Prepared::run(&Rates::new(self, &world, ctx.seed()), terrain, ctx)
    }
}

/// All structures of a world.
struct Rates {
    params: Uplift,
    structures: Vec<structures::Placed>,
    grain: Grain,
    seed: Seed,
}

impl Rates {
    fn new(params: &Uplift, world: &Frame, seed: Seed) -> Self {
        let default = [Structure::Belt(Belt::default())];
        let listed = if params.structures.is_empty() { &default[..] } else { &params.structures[..] };
        let structures: Vec<_> = listed
            .iter()
            .enumerate()
            .map(|(i, structure)| structures::place(structure, world, Seed(seed.bits(i as u64))))
            .collect();
        let grain = structures::grain(&structures[0], seed);
        Self { params: params.clone(), structures, grain, seed }
    }

    /// Uplift at a place.
    fn uplift(&self, at: [f64; 2]) -> f64 {
        let params = &self.params;
        let mut sum = self.structures.iter().map(|structure| structure.rate(at)).sum::<f64>();
        if params.variation > 0.0 && sum != 0.0 {
            let noise = wander(self.seed.child("variation"), self.along_grain(at, params.stretch));
            sum *= (1.0 + 2.0 * params.variation * noise).max(0.0);
        }
        let [least, most] = UPLIFT_MM_PER_YR;
        (params.base_mm_per_yr + sum).clamp(least, most)
    }

    /// Incision at a place.
    fn incision(&self, at: [f64; 2]) -> f64 {
        let noise = wander(self.seed.child("grain"), self.along_grain(at, 1.7 * self.params.stretch));
        let [least, most] = INCISION_MM_PER_YR;
        let rate = self.params.incision_mm_per_yr * orogen_core::math::exp(2.5 * self.params.grain * noise);
        rate.clamp(least, most)
    }

    /// A place along and across the grain, in waves.
    fn along_grain(&self, at: [f64; 2], stretch: f64) -> [f64; 2] {
        let [along, across] = self.grain.at(at);
        [along / (stretch * self.params.wavelength_m), across / self.params.wavelength_m]
    }

    fn raster(
        &self,
        frame: &Frame,
        ctx: &Ctx<'_>,
        value: impl Fn([f64; 2]) -> f64 + Sync,
    ) -> Result<Raster<f32>, Cancelled> {
        let counter = ctx.counter(frame.rows());
        let mut out = Raster::filled(frame.cols(), frame.rows(), 0.0f32);
        out.try_par_rows(|row, values| {
            let y = frame.y_m(row);
            values.iter_mut().enumerate().for_each(|(col, v)| *v = value([frame.x_m(col), y]) as f32);
            counter.done()
        })?;
        Ok(out)
    }
}

impl Prepared for Rates {
    fn run(&self, mut terrain: Terrain, ctx: &Ctx<'_>) -> Result<Terrain, OpError> {
        let frame = *terrain.frame();
        let uplift = self.raster(&frame, ctx, |at| self.uplift(at))?;
        terrain.set(layer::UPLIFT, uplift);
        if self.params.grain > 0.0 {
            let incision = self.raster(&frame, ctx, |at| self.incision(at))?;
            terrain.set(layer::INCISION, incision);
        }
        Ok(terrain)
    }
}

/// Points as places.
fn places(points: &[At]) -> impl Iterator<Item = [f64; 2]> + '_ {
    points.iter().map(|at| [at.x_m, at.y_m])
}
