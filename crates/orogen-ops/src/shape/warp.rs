//! Warp: land moved sideways by noise.

use orogen_core::param::{Fault, Segment};
use orogen_core::{
    Cancelled, Coef, Ctx, Frame, LayerData, LayerName, Layers, Op, OpError, Raster, Reach, Terrain,
    each_kind, layer,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::between::{self, Method};
use crate::octaves::{OctaveBuffers, Octaves};

/// Moves land sideways by noise, so that straight and round shapes become natural ones; any layers move along.
///
/// ```text
/// out(x, y) = in(x + a·N₁(x/w, y/w), y + a·N₂(x/w, y/w))        a: amplitude_m · strength, w: wavelength_m
/// ```
///
/// `N₁` and `N₂` are two noises within -1 to 1, so nothing moves further than `amplitude_m` to the east or north.
///
/// **Guarantees** (1) nothing moves further than `amplitude_m` along either axis; (2) a level layer stays level, and
/// with linear values no result lies outside the range of the layer; (3) with an amplitude of 0 everything stays bit
/// for bit; (4) layers move together: each sample of all of them comes from one place.
///
/// **Limits** At the edge of the world the outermost samples are carried on. Where a hole is in the way, the nearest
/// sample is taken. Layers of ids take the nearest sample. Beyond an amplitude of about half the wavelength the land
/// folds over itself.
///
/// **After** Perlin, "An image synthesizer", SIGGRAPH 1985; domain distortion in Ebert et al., *Texturing and
/// Modeling*, 2003.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Warp {
    /// Layers that are moved.
    #[schemars(length(min = 1, max = 100))]
    pub layers: Vec<LayerName>,
    /// Furthest that anything moves along either axis.
    #[schemars(range(min = 0.0, max = 1e5), extend("x-unit" = "m", "x-slider" = [0.0, 1000.0]))]
    pub amplitude_m: f64,
    /// Length of the longest waves.
    #[schemars(range(min = 1.0, max = 1e7), extend("x-unit" = "m", "x-slider" = [100.0, 10_000.0]))]
    pub wavelength_m: f64,
    /// Octaves of the noise; each is twice as fine and half as strong as the one before.
    #[schemars(range(min = 1, max = 12))]
    pub octaves: u32,
    /// Share of the movement, from 0 to 1: a number, or a layer.
    #[schemars(extend("minimum" = 0.0, "maximum" = 1.0))]
    pub strength: Coef,
    /// How values between samples are found.
    pub method: Method,
}

impl Default for Warp {
    fn default() -> Self {
        Self {
            layers: vec![layer::HEIGHT.name()],
            amplitude_m: 150.0,
            wavelength_m: 1000.0,
            octaves: 3,
            strength: Coef::Const(1.0),
            method: Method::Cubic,
        }
    }
}

impl Op for Warp {
    const ID: &'static str = "shape.warp";
    const VERSION: u32 = 1;

    fn layers(&self) -> Layers {
        Layers::none().updating(self.layers.clone()).reading(self.strength.layer())
    }

    fn reach(&self, frame: &Frame) -> Reach {
        let [dx, dy] = frame.spacing_m();
        // The cubic needs two samples beyond the place.
        Reach::Within(self.amplitude_m + 2.0 * dx.max(dy))
    }

    fn bytes_a_sample(&self, _: &Frame) -> f64 {
        4.0 * Op::layers(self).writes.len() as f64 + 8.0
    }

    fn faults(&self) -> Vec<Fault> {
        let twice = |i: &usize| self.layers[..*i].contains(&self.layers[*i]);
        (0..self.layers.len())
            .filter(twice)
            .map(|i| Fault {
                path: vec![Segment::Key(String::from("layers")), Segment::Index(i)],
                message: format!("{:?} is listed twice", self.layers[i].as_str()),
            })
            .collect()
    }

    fn run(&self, mut terrain: Terrain, ctx: &Ctx<'_>) -> Result<Terrain, OpError> {
        let offsets = offsets(&terrain, self, ctx)?;
        let mut moved = Vec::new();
        for name in &self.layers {
            let data = match terrain.layers().get(name) {
                None | Some(LayerData::F32(_)) => {
                    let before: &Raster<f32> = terrain.get_named(name)?;
                    let at = |c, r, offset| between::value(before, [c, r], offset, self.method);
                    warped(&offsets, ctx, at)?.into()
                }
                Some(ids) => each_kind!(ids, before => {
                    let at = |c, r, offset| between::nearest(before, [c, r], offset);
                    warped(&offsets, ctx, at)?.into()
                }),
            };
            moved.push((name.clone(), data));
        }
        for (name, data) in moved {
            terrain.set_named(name, data);
        }
        Ok(terrain)
    }
}

/// Where each sample comes from, in columns to the right and rows down, as (whole and share of) cells.
fn offsets(terrain: &Terrain, params: &Warp, ctx: &Ctx<'_>) -> Result<Raster<[f32; 2]>, OpError> {
    let frame = *terrain.frame();
    let [dx, dy] = frame.spacing_m().map(|spacing| (params.amplitude_m / spacing) as f32);
    let world = ctx.world(terrain);
    let [east, north] = ["east", "north"]
        .map(|way| Octaves::over(&world, ctx.seed().child(way), params.wavelength_m, params.octaves, 0.5));
    let strength = params.strength.on(terrain)?;
    let counter = ctx.counter(frame.rows());
    let mut offsets = Raster::filled(frame.cols(), frame.rows(), [0.0; 2]);
    offsets.try_par_rows(|row, out| {
        let (mut u, mut v) = (vec![0.0; out.len()], vec![0.0; out.len()]);
        let mut buffers = OctaveBuffers::default();
        east.row(&frame, row, 0..out.len(), &mut buffers, &mut u);
        north.row(&frame, row, 0..out.len(), &mut buffers, &mut v);
        for (col, out) in out.iter_mut().enumerate() {
            let strength = strength.at(col, row);
            let share = if strength.is_nan() { 0.0 } else { strength.clamp(0.0, 1.0) };
            *out = [share * dx * u[col].clamp(-1.0, 1.0), -share * dy * v[col].clamp(-1.0, 1.0)];
        }
        counter.done()
    })?;
    Ok(offsets)
}

/// A raster whose samples come from where the offsets say.
fn warped<T: Copy + Default + Send + Sync>(
    offsets: &Raster<[f32; 2]>,
    ctx: &Ctx<'_>,
    at: impl Fn(usize, usize, [f64; 2]) -> T + Sync,
) -> Result<Raster<T>, Cancelled> {
    let counter = ctx.counter(offsets.rows());
    let mut out = Raster::filled(offsets.cols(), offsets.rows(), T::default());
    out.try_par_rows(|row, values| {
        for (col, (value, offset)) in values.iter_mut().zip(offsets.row(row)).enumerate() {
            *value = at(col, row, offset.map(f64::from));
        }
        counter.done()
    })?;
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_support;
    use orogen_core::testkit::ramp;

    fn apply(op: &Warp, height: Raster<f32>) -> Raster<f32> {
        let mut terrain = Terrain::new(Frame::square(1280.0, height.cols()).unwrap());
        terrain.set(layer::HEIGHT, height);
        op.apply(terrain, &Ctx::silent()).unwrap().get(layer::HEIGHT).unwrap().clone()
    }

    #[test]
    fn nothing_moves_further_than_the_amplitude() {
        let op = Warp { amplitude_m: 60.0, wavelength_m: 300.0, method: Method::Linear, ..Warp::default() };
        // On a ramp of grade 1 a height tells where it came from.
        let (before, after) = (ramp(129, 10.0, 1.0), apply(&op, ramp(129, 10.0, 1.0)));
        let moved = before.as_slice().iter().zip(after.as_slice()).map(|(a, b)| (a - b).abs());
        let furthest = moved.fold(0.0, f32::max);
        assert!((15.0..=60.001).contains(&furthest), "{furthest}");
    }

    #[test]
    fn without_amplitude_all_stays() {
        let op = Warp { amplitude_m: 0.0, ..Warp::default() };
        assert_eq!(apply(&op, ramp(65, 10.0, 0.3)), ramp(65, 10.0, 0.3));
    }

    #[test]
    fn layers_move_together_and_derived_ones_survive() {
        let names = ["slope", "height", "biome"].map(|n| LayerName::parse(n).unwrap());
        let op = Warp { layers: names.to_vec(), amplitude_m: 80.0, wavelength_m: 400.0, ..Warp::default() };
        let frame = Frame::square(1280.0, 65).unwrap();
        let mut terrain = Terrain::new(frame);
        terrain.set(layer::HEIGHT, ramp(65, 20.0, 1.0));
        terrain.set(layer::SLOPE, ramp(65, 20.0, 2.0));
        terrain.set(layer::BIOME, Raster::from_fn(65, 65, |c, _| (c / 5) as u8));
        let after = op.apply(terrain, &Ctx::silent()).unwrap();
        let height = after.get(layer::HEIGHT).unwrap();
        let slope = after.get(layer::SLOPE).unwrap();
        for (h, s) in height.as_slice().iter().zip(slope.as_slice()) {
            assert!((2.0 * h - s).abs() < 1e-2, "{h} and {s}");
        }
        assert!(after.get(layer::BIOME).is_ok());
    }

    #[test]
    fn windows_equal_the_whole() {
        for method in [Method::Cubic, Method::Linear] {
            test_support::assert_windows(&Warp {
                amplitude_m: 333.3,
                wavelength_m: 200.0,
                method,
                ..Warp::default()
            });
        }
    }

    #[test]
    fn a_layer_named_twice_is_refused() {
        let op = Warp { layers: vec![layer::HEIGHT.name(), layer::HEIGHT.name()], ..Warp::default() };
        assert_eq!(op.faults()[0].to_string(), "layers[1]: \"height\" is listed twice");
    }
}
