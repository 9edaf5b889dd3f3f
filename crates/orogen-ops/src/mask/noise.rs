//! Mask by noise: patches.

use orogen_core::math::smoothstep;
use orogen_core::{Ctx, Frame, LayerData, LayerName, Layers, Op, OpError, Raster, Reach, Terrain, layer};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::octaves::{OctaveBuffers, Octaves};

/// Marks patches of a chosen size that cover a chosen share of the ground: clearings, snow, scree, cloud shadows.
///
/// ```text
/// mask = s((N − c + f/2) / f)        c: the level of the noise N that leaves `coverage` above it
/// ```
///
/// `N` is noise within -1 to 1 at `wavelength_m`, each octave twice as fine and `gain` times as strong as the one before.
///
/// **Guarantees** (1) every result lies in 0 to 1; (2) over much ground the mean of the mask is `coverage`, within 0.05
/// (0 and 1 are kept exactly); (3) without falloff the mask is 0 or 1; (4) the same place has the same value in every
/// window.
///
/// **Limits** It needs no layer and has no holes. A share is kept on average only: a single patch may cover a small
/// frame whole.
///
/// **After** Perlin's gradient noise; the level comes from the normal distribution, which a sum of octaves is close to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Noise {
    /// Share of the ground that is marked.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub coverage: f64,
    /// Size of the largest patches and gaps.
    #[schemars(range(min = 1.0, max = 1e7), extend("x-unit" = "m", "x-slider" = [50.0, 5000.0]))]
    pub wavelength_m: f64,
    /// Octaves of the noise: more make rougher edges.
    #[schemars(range(min = 1, max = 12))]
    pub octaves: u32,
    /// Strength of each octave, as a share of the one before.
    #[schemars(range(min = 0.0, max = 1.0), extend("x-slider" = [0.3, 0.8]))]
    pub gain: f64,
    /// Softness of the edges: difference of noise, whose whole range is 2, over which the mask rises from 0 to 1.
    #[schemars(range(min = 0.0, max = 2.0), extend("x-slider" = [0.0, 0.5]))]
    pub falloff: f64,
    /// Marks the gaps instead of the patches.
    pub invert: bool,
    /// Layer that receives the mask.
    pub to: LayerName,
}

impl Default for Noise {
    fn default() -> Self {
        Self {
            coverage: 0.4,
            wavelength_m: 800.0,
            octaves: 4,
            gain: 0.5,
            falloff: 0.15,
            invert: false,
            to: layer::MASK.name(),
        }
    }
}

impl Op for Noise {
    const ID: &'static str = "mask.noise";
    const VERSION: u32 = 1;

    fn layers(&self) -> Layers {
        Layers::none().writing([self.to.clone()])
    }

    fn reach(&self, _: &Frame) -> Reach {
        Reach::Point
    }

    fn endless(&self) -> bool {
        true
    }

    fn run(&self, mut terrain: Terrain, ctx: &Ctx<'_>) -> Result<Terrain, OpError> {
        let noise =
            Octaves::over(&ctx.world(&terrain), ctx.seed(), self.wavelength_m, self.octaves, self.gain);
        // A number beyond all noise where all or nothing is wanted.
        let level = match self.coverage {
            c if c <= 0.0 => 10.0,
            c if c >= 1.0 => -10.0,
            c => noise.rms() * normal_above(c) as f32,
        };
        let (from, to) = (level - 0.5 * self.falloff as f32, level + 0.5 * self.falloff as f32);
        let invert = self.invert;
        let frame = *terrain.frame();
        let counter = ctx.counter(frame.rows());
        let mut out = Raster::filled(frame.cols(), frame.rows(), 0.0);
        out.try_par_rows(|row, values| {
            noise.row(&frame, row, 0..values.len(), &mut OctaveBuffers::default(), values);
            for value in values {
                let inside = smoothstep(from, to, *value);
                *value = if invert { 1.0 - inside } else { inside };
            }
            counter.done()
        })?;
        terrain.set_named(self.to.clone(), LayerData::F32(out.into()));
        Ok(terrain)
    }
}

/// The level that a normal number exceeds with a probability; by bisection of the distribution's own integral.
fn normal_above(share: f64) -> f64 {
    let (mut low, mut high) = (-6.0, 6.0);
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        if above(middle) > share { low = middle } else { high = middle }
    }
    0.5 * (low + high)
}

/// Probability that a normal number exceeds a level: the integral of the bell by Simpson's rule.
fn above(level: f64) -> f64 {
    let bell = |x: f64| orogen_core::math::exp(-0.5 * x * x) / std::f64::consts::TAU.sqrt();
    let (count, step) = (200, level / 200.0);
    let mut sum = bell(0.0) + bell(level);
    for i in 1..count {
        sum += if i % 2 == 1 { 4.0 } else { 2.0 } * bell(f64::from(i) * step);
    }
    0.5 - sum * step / 3.0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mean(op: &Noise) -> f64 {
        let terrain = Terrain::new(Frame::square(40_000.0, 401).unwrap());
        let after = op.apply(terrain, &Ctx::silent()).unwrap();
        let mask = after.get(layer::MASK).unwrap();
        assert!(mask.as_slice().iter().all(|v| (0.0..=1.0).contains(v)));
        mask.sum_f64() / mask.as_slice().len() as f64
    }

    #[test]
    fn it_covers_the_share_that_was_asked_for() {
        for octaves in [1, 4] {
            for falloff in [0.0, 0.2] {
                for coverage in [0.0, 0.1, 0.3, 0.5, 0.8, 1.0] {
                    let op = Noise { coverage, octaves, falloff, ..Noise::default() };
                    let found = mean(&op);
                    let slack = if coverage == 0.0 || coverage == 1.0 { 0.0 } else { 0.05 };
                    assert!((found - coverage).abs() <= slack, "{found} for {coverage} of {octaves} octaves");
                    let rest = mean(&Noise { invert: true, ..op });
                    assert!((found + rest - 1.0).abs() < 1e-6);
                }
            }
        }
    }

    #[test]
    fn the_normal_level_is_the_one_of_the_tables() {
        assert!((normal_above(0.5)).abs() < 1e-9);
        assert!((normal_above(0.025) - 1.959_964).abs() < 1e-5);
    }
}
