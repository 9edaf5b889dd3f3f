//! Mask by layer: where any layer lies between two values.

use orogen_core::param::Fault;
use orogen_core::{
    Ctx, Frame, LayerData, LayerName, Layers, Op, OpError, Raster, Reach, Terrain, each_kind, layer,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::band::{Band, order_fault};

/// Marks where a layer lies between two values: wet ground, warm ground, one biome, deep sediment.
///
/// ```text
/// mask = s((v − min + f) / f) · s((max + f − v) / f)        s(t) = t²(3 − 2t), t clamped to 0..1
/// ```
///
/// **Guarantees** (1) every result lies in 0 to 1; (2) values from `min` to `max`, both included, have exactly 1, and
/// values further than `falloff` outside have exactly 0; (3) without falloff the mask is 0 or 1; (4) layers of ids
/// (biomes, basins) are taken by their number, exactly.
///
/// **Limits** A hole in the layer has 0, inverted or not.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Layer {
    /// Layer to mark by.
    pub layer: LayerName,
    /// Smallest value that is fully inside, in the unit of the layer.
    #[schemars(range(min = -1e12, max = 1e12))]
    pub min: f64,
    /// Largest value that is fully inside.
    #[schemars(range(min = -1e12, max = 1e12))]
    pub max: f64,
    /// Difference over which the mask fades from 1 to 0 outside the range.
    #[schemars(range(min = 0.0, max = 1e12))]
    pub falloff: f64,
    /// Marks everything but the range.
    pub invert: bool,
    /// Layer that receives the mask.
    pub to: LayerName,
}

impl Default for Layer {
    fn default() -> Self {
        Self {
            layer: layer::MOISTURE.name(),
            min: 0.5,
            max: 1.0,
            falloff: 0.2,
            invert: false,
            to: layer::MASK.name(),
        }
    }
}

impl Op for Layer {
    const ID: &'static str = "mask.layer";
    const VERSION: u32 = 2;

    fn layers(&self) -> Layers {
        Layers::none().reading([self.layer.clone()]).writing([self.to.clone()])
    }

    fn reach(&self, _: &Frame) -> Reach {
        Reach::Point
    }

    fn endless(&self) -> bool {
        true
    }

    fn faults(&self) -> Vec<Fault> {
        order_fault(("min", self.min), ("max", self.max))
    }

    fn run(&self, mut terrain: Terrain, ctx: &Ctx<'_>) -> Result<Terrain, OpError> {
        let band = Band {
            min: self.min as f32,
            max: self.max as f32,
            falloff: self.falloff as f32,
            invert: self.invert,
        };
        let (cols, rows) = (terrain.frame().cols(), terrain.frame().rows());
        let counter = ctx.counter(rows);
        let mut out = Raster::filled(cols, rows, 0.0);
        let layer = terrain.layers().get(&self.layer).ok_or_else(|| terrain.missing(&self.layer))?;
        if let LayerData::U32(layer) = layer {
            // An f32 holds whole numbers up to 2^24 only, so ids are compared before they are rounded.
            let outside = Band { min: 0.0, max: 0.0, ..band };
            out.try_par_rows(|row, values| {
                for (value, &v) in values.iter_mut().zip(layer.row(row)) {
                    let v = f64::from(v);
                    *value = outside.at((self.min - v).max(v - self.max).max(0.0) as f32);
                }
                counter.done()
            })?;
        } else {
            each_kind!(layer, layer => out.try_par_rows(|row, values| {
                for (value, &v) in values.iter_mut().zip(layer.row(row)) {
                    *value = band.at(f64::from(v) as f32);
                }
                counter.done()
            }))?;
        }
        terrain.set_named(self.to.clone(), out.into());
        Ok(terrain)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mask_of(name: &str, data: LayerData, op: &Layer) -> Vec<f32> {
        let mut terrain = Terrain::new(Frame::new([0.0, 0.0], [30.0, 10.0], [4, 2]).unwrap());
        let name = LayerName::parse(name).unwrap();
        terrain.set_named(name.clone(), data);
        let op = Layer { layer: name, ..op.clone() };
        op.apply(terrain, &Ctx::silent()).unwrap().get(layer::MASK).unwrap().row(0).to_vec()
    }

    #[test]
    fn marks_the_range_of_measured_values() {
        let values = [0.0, 0.4, 1.0, f32::NAN];
        let data = LayerData::F32(Raster::from_fn(4, 2, |c, _| values[c]).into());
        let mask = mask_of("moisture", data, &Layer::default());
        assert_eq!((mask[0], mask[2], mask[3]), (0.0, 1.0, 0.0));
        assert!((mask[1] - 0.5).abs() < 1e-5);
    }

    #[test]
    fn marks_ids_by_number() {
        let op = Layer { min: 2.0, max: 3.0, falloff: 0.0, ..Layer::default() };
        let data = LayerData::U8(Raster::from_fn(4, 2, |c, _| 1 + c as u8).into());
        assert_eq!(mask_of("biome", data, &op), [0.0, 1.0, 1.0, 0.0]);
    }

    #[test]
    fn neighbouring_ids_above_2_to_the_24_are_told_apart() {
        let id = 20_000_001.0;
        let op = Layer { min: id, max: id, falloff: 0.0, ..Layer::default() };
        let ids = || LayerData::U32(Raster::from_fn(4, 2, |c, _| 20_000_000 + c as u32).into());
        assert_eq!(mask_of("basin", ids(), &op), [0.0, 1.0, 0.0, 0.0]);
        assert_eq!(mask_of("basin", ids(), &Layer { invert: true, ..op.clone() }), [1.0, 0.0, 1.0, 1.0]);
        assert_eq!(mask_of("basin", ids(), &Layer { falloff: 2.0, ..op })[..3], [0.5, 1.0, 0.5]);
    }

    #[test]
    fn a_range_that_ends_before_it_starts_is_refused() {
        let faults = Layer { min: 2.0, max: 1.0, ..Layer::default() }.faults();
        assert_eq!(faults[0].to_string(), "min: 2 is above max (1)");
    }
}
