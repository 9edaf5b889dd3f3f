//! Terraces: land in steps.

use orogen_core::math::smoothstep;
use orogen_core::{Coef, Ctx, Frame, LayerName, Layers, Op, OpError, Reach, Terrain, layer};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::combine::pair::change;
use crate::octaves::{OctaveBuffers, Octaves};

/// How the steps are laid on the land.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// The steps replace the land: level treads joined by risers.
    #[default]
    Direct,
    /// The lower of steps and land: benches cut into slopes that stay as they were in between.
    Min,
    /// The higher of steps and land: banks built out of slopes that stay as they were in between.
    Max,
}

/// Cuts land into steps: mesas, rice fields, canyon walls, ridges.
///
/// ```text
/// q(h) = o + s·(k + S(f))      k = ⌊(h − o)/s⌋, f = (h − o)/s − k
/// out  = h + t·(c(h) − h)      c = q, min(h, q) or max(h, q)
/// ```
///
/// `s` is the step, `o` the offset (with the wander added), `t` the strength; `S` rises smoothly from 0 to 1 over the
/// share `riser` in the middle of a step, so treads lie at whole steps.
///
/// **Guarantees** (1) no ground moves more than half a step; (2) higher ground ends no lower than lower ground at one
/// place; (3) with full strength, treads are level: their heights are `offset_m` plus whole steps where nothing
/// wanders; (4) as a minimum no ground rises, as a maximum none sinks; (5) at strength 0 the land stays.
///
/// **Limits** Risers narrower than a cell look jagged: `riser` times the horizontal length of a step should be some
/// cells. Where a coefficient is a layer with a hole, the ground stays.
///
/// **After** quantised terrain, used directly or as the operand of a minimum, among Musgrave's controls (Ebert et
/// al., *Texturing and Modeling*, 2003).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Terrace {
    /// Layer that is changed.
    pub layer: LayerName,
    /// Height of a step.
    #[schemars(range(min = 1e-3, max = 1e5), extend("x-unit" = "m", "x-slider" = [5.0, 300.0]))]
    pub step_m: f64,
    /// Height of one tread; the others follow in whole steps.
    #[schemars(range(min = -1e5, max = 1e5), extend("x-unit" = "m", "x-slider" = [-100.0, 100.0]))]
    pub offset_m: f64,
    /// Share of a step that rises; the rest is level tread. 0 makes cliffs, 1 soft waves.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub riser: f64,
    /// How much of the land turns into steps, from 0 to 1: a number, or a layer. Below 1 treads keep some slope.
    #[schemars(extend("minimum" = 0.0, "maximum" = 1.0))]
    pub strength: Coef,
    /// How the steps are laid on the land.
    pub mode: Mode,
    /// How far the levels of the treads rise and fall across the land.
    #[schemars(range(min = 0.0, max = 1e5), extend("x-unit" = "m", "x-slider" = [0.0, 100.0]))]
    pub wander_m: f64,
    /// Length of the longest waves of that wandering.
    #[schemars(range(min = 1.0, max = 1e7), extend("x-unit" = "m", "x-slider" = [200.0, 10_000.0]))]
    pub wavelength_m: f64,
}

impl Default for Terrace {
    fn default() -> Self {
        Self {
            layer: layer::HEIGHT.name(),
            step_m: 100.0,
            offset_m: 0.0,
            riser: 0.5,
            strength: Coef::Const(0.8),
            mode: Mode::Direct,
            wander_m: 0.0,
            wavelength_m: 2000.0,
        }
    }
}

impl Op for Terrace {
    const ID: &'static str = "shape.terrace";
    const VERSION: u32 = 1;

    fn layers(&self) -> Layers {
        Layers::none().updating([self.layer.clone()]).reading(self.strength.layer())
    }

    fn reach(&self, _: &Frame) -> Reach {
        Reach::Point
    }

    fn endless(&self) -> bool {
        true
    }

    fn run(&self, mut terrain: Terrain, ctx: &Ctx<'_>) -> Result<Terrain, OpError> {
        let (step, offset) = (self.step_m as f32, self.offset_m as f32);
        let wander = self.wander_m as f32;
        let riser = self.riser as f32;
        let noise = Octaves::over(&ctx.world(&terrain), ctx.seed(), self.wavelength_m, 3, 0.5);
        let strength = self.strength.on(&terrain)?;
        let frame = *terrain.frame();
        let mode = self.mode;
        let changed = change(&terrain, &self.layer, ctx, |row, out, before| {
            let mut level = vec![0.0; before.len()];
            if wander > 0.0 {
                noise.row(&frame, row, 0..before.len(), &mut OctaveBuffers::default(), &mut level);
            }
            for (col, (out, (&h, &noise))) in out.iter_mut().zip(before.iter().zip(&level)).enumerate() {
                let steps = stairs(h, step, offset + wander * noise, riser);
                let cut = match mode {
                    Mode::Direct => steps,
                    Mode::Min => {
                        if steps < h {
                            steps
                        } else {
                            h
                        }
                    }
                    Mode::Max => {
                        if steps > h {
                            steps
                        } else {
                            h
                        }
                    }
                };
                let strength = strength.at(col, row);
                *out = if strength.is_nan() { h } else { h + strength.clamp(0.0, 1.0) * (cut - h) };
            }
        })?;
        terrain.set_named(self.layer.clone(), changed);
        Ok(terrain)
    }
}

/// The height of the stairs over `h`: treads at `offset` and whole steps from it.
#[inline]
#[must_use]
pub fn stairs(h: f32, step: f32, offset: f32, riser: f32) -> f32 {
    let u = (h - offset) / step;
    let whole = u.floor();
    let rise = smoothstep(0.5 - 0.5 * riser, 0.5 + 0.5 * riser, u - whole);
    offset + step * (whole + rise)
}

#[cfg(test)]
mod tests {
    use super::*;
    use orogen_core::Raster;

    fn apply(op: &Terrace, height: &Raster<f32>) -> Raster<f32> {
        let mut terrain = Terrain::new(Frame::square(8000.0, height.cols()).unwrap());
        terrain.set(layer::HEIGHT, height.clone());
        op.apply(terrain, &Ctx::silent()).unwrap().get(layer::HEIGHT).unwrap().clone()
    }

    fn full(mode: Mode) -> Terrace {
        Terrace { strength: Coef::Const(1.0), mode, offset_m: 7.0, ..Terrace::default() }
    }

    /// Rises from -300 to 300 along each row.
    fn slope() -> Raster<f32> {
        Raster::from_fn(601, 601, |c, _| c as f32 - 300.0)
    }

    #[test]
    fn nothing_moves_over_half_a_step_and_order_stays() {
        for riser in [0.0, 0.3, 1.0] {
            let op = Terrace { riser, wander_m: 40.0, ..full(Mode::Direct) };
            let (before, after) = (slope(), apply(&op, &slope()));
            for (old, new) in before.as_slice().iter().zip(after.as_slice()) {
                assert!((old - new).abs() <= 50.001, "{old} became {new}");
            }
            let op = Terrace { wander_m: 0.0, ..op };
            let after = apply(&op, &slope());
            assert!(after.row(5).windows(2).all(|w| w[0] <= w[1] + 1e-4));
        }
    }

    #[test]
    fn treads_are_level_at_whole_steps() {
        let after = apply(&full(Mode::Direct), &slope());
        let treads = after.row(0).iter().filter(|h| ((**h - 7.0) / 100.0).fract().abs() < 1e-6).count();
        assert!((290..=320).contains(&treads), "{treads} of 601 samples lie on treads");
    }

    #[test]
    fn the_minimum_raises_nothing_and_the_maximum_sinks_nothing() {
        let before = slope();
        for (mode, sign) in [(Mode::Min, -1.0), (Mode::Max, 1.0)] {
            let after = apply(&full(mode), &before);
            let moved = |(old, new): (&f32, &f32)| (new - old) * sign;
            assert!(before.as_slice().iter().zip(after.as_slice()).map(moved).all(|d| d >= 0.0));
            let same = before.as_slice().iter().zip(after.as_slice()).filter(|(a, b)| a == b).count();
            assert!(same * 3 > before.as_slice().len(), "{same} samples stay");
        }
    }

    #[test]
    fn without_strength_the_land_stays() {
        let op = Terrace { strength: Coef::Const(0.0), ..Terrace::default() };
        assert_eq!(apply(&op, &slope()), slope());
    }
}
