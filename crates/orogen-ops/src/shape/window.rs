//! Window: a mountain range limited by a bell.

use orogen_core::{Coef, Ctx, Frame, LayerName, Layers, Op, OpError, Reach, Terrain, layer, math};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::bell::exp_neg;
use crate::combine::pair::change;

/// Limits a mountain range to where it should stand: fades the land towards a level under a Gaussian bell.
///
/// ```text
/// out = b + (h − b) · g        g = exp(−½ · ((u/σu)² + (v/σv)²)^n)
/// ```
///
/// `u` and `v` are the distances from the centre along and across the bearing, `σ` the two sizes, `b` the base and `n`
/// the order: 1 is the Gaussian itself, more make a flat middle with steeper sides. Inverted, `1 - g` sinks the middle
/// instead and leaves the land around.
///
/// **Guarantees** (1) every result lies between the land and the base, both included; (2) at the centre the land is
/// kept bit for bit; (3) one size away along either axis the bell is `exp(-1/2)`, 61 %, whatever the order.
///
/// **Limits** Where `base_m` is a layer with a hole, the ground stays. The bell is 0 where its value would be under
/// 1e-37.
///
/// **After** the Gaussian filter that limits a range among Musgrave's terrain controls (Ebert et al., *Texturing and
/// Modeling*, 2003).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Window {
    /// Layer that is changed.
    pub layer: LayerName,
    /// Centre of the bell, (x, y); the middle of the world when left out.
    #[schemars(inner(range(min = -1e9, max = 1e9)), extend("x-unit" = "m"))]
    pub center_m: Option<[f64; 2]>,
    /// Standard deviation of the bell along its bearing.
    #[schemars(range(min = 1e-2, max = 1e8), extend("x-unit" = "m", "x-slider" = [200.0, 10_000.0]))]
    pub length_m: f64,
    /// Standard deviation of the bell across its bearing.
    #[schemars(range(min = 1e-2, max = 1e8), extend("x-unit" = "m", "x-slider" = [200.0, 10_000.0]))]
    pub width_m: f64,
    /// Direction of its length, clockwise from north.
    #[schemars(range(min = -360.0, max = 360.0), extend("x-unit" = "deg", "x-slider" = [0.0, 180.0]))]
    pub bearing_deg: f64,
    /// Level that the land fades to: a number, or a layer.
    #[schemars(extend("minimum" = -1e5, "maximum" = 1e5, "x-unit" = "m", "x-slider" = [-500.0, 500.0]))]
    pub base_m: Coef,
    /// Order of the bell: 1 is Gaussian; more make a flat middle and steep sides.
    #[schemars(range(min = 1, max = 8))]
    pub order: u32,
    /// Sinks the middle and leaves the land around.
    pub invert: bool,
}

impl Default for Window {
    fn default() -> Self {
        Self {
            layer: layer::HEIGHT.name(),
            center_m: None,
            length_m: 1500.0,
            width_m: 1000.0,
            bearing_deg: 0.0,
            base_m: Coef::Const(0.0),
            order: 1,
            invert: false,
        }
    }
}

impl Op for Window {
    const ID: &'static str = "shape.window";
    const VERSION: u32 = 1;

    fn layers(&self) -> Layers {
        Layers::none().updating([self.layer.clone()]).reading(self.base_m.layer())
    }

    fn reach(&self, _: &Frame) -> Reach {
        Reach::Point
    }

    fn run(&self, mut terrain: Terrain, ctx: &Ctx<'_>) -> Result<Terrain, OpError> {
        let world = ctx.world(&terrain).extent();
        let [cx, cy] = self.center_m.unwrap_or([0, 1].map(|i| 0.5 * (world.min[i] + world.max[i])));
        let bearing = self.bearing_deg.to_radians();
        let (east, north) = (math::sin(bearing), math::cos(bearing));
        let along = [(east / self.length_m) as f32, (north / self.length_m) as f32];
        let across = [(north / self.width_m) as f32, (-east / self.width_m) as f32];
        let base = self.base_m.on(&terrain)?;
        let frame = *terrain.frame();
        let (order, invert) = (self.order, self.invert);
        let changed = change(&terrain, &self.layer, ctx, |row, out, before| {
            let dy = (frame.y_m(row) - cy) as f32;
            let mut bell = vec![0.0; before.len()];
            for (col, bell) in bell.iter_mut().enumerate() {
                let dx = (frame.x_m(col) - cx) as f32;
                let (u, v) = (along[0] * dx + along[1] * dy, across[0] * dx + across[1] * dy);
                let square = u * u + v * v;
                let mut power = square;
                for _ in 1..order {
                    power *= square;
                }
                let g = exp_neg(0.5 * power);
                *bell = if invert { 1.0 - g } else { g };
            }
            for (col, (out, (&h, &g))) in out.iter_mut().zip(before.iter().zip(&bell)).enumerate() {
                let base = base.at(col, row);
                // Written so that a bell of 1 gives back the land to the bit.
                let faded = h - (h - base) * (1.0 - g);
                *out = if base.is_nan() { h } else { faded };
            }
        })?;
        terrain.set_named(self.layer.clone(), changed);
        Ok(terrain)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use orogen_core::testkit::assert_close;
    use orogen_core::{Cell, Raster};

    fn apply(op: &Window) -> Raster<f32> {
        let mut terrain = Terrain::new(Frame::square(4000.0, 41).unwrap());
        terrain.set(layer::HEIGHT, Raster::filled(41, 41, 500.0));
        op.apply(terrain, &Ctx::silent()).unwrap().get(layer::HEIGHT).unwrap().clone()
    }

    #[test]
    fn the_bell_has_its_size_along_and_across() {
        for order in [1, 3] {
            let op = Window {
                length_m: 1000.0,
                width_m: 500.0,
                bearing_deg: 90.0,
                base_m: Coef::Const(100.0),
                order,
                ..Window::default()
            };
            let height = apply(&op);
            assert_eq!(height[Cell { col: 20, row: 20 }], 500.0);
            let one_size = 100.0 + 400.0 * 0.606_530_66;
            assert_close!(height[Cell { col: 30, row: 20 }], one_size, abs = 1e-3);
            assert_close!(height[Cell { col: 20, row: 15 }], one_size, abs = 1e-3);
            assert!(height.as_slice().iter().all(|h| (100.0..=500.0).contains(h)));
        }
    }

    #[test]
    fn inverted_it_sinks_the_middle() {
        let height = apply(&Window { invert: true, ..Window::default() });
        assert_eq!(height[Cell { col: 20, row: 20 }], 0.0);
        assert!(height[Cell { col: 0, row: 0 }] > 300.0);
    }
}
