//! Biomes from the land as it is: sea, lakes, beaches, and the climate everywhere else.

use orogen_core::biome::Biome;
use orogen_core::param::Field;
use orogen_core::{Coef, Ctx, Frame, Layers, Op, OpError, Raster, Reach, Terrain, layer};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Says which of the sixteen biomes covers each place, from the heights, the temperature and the moisture that are there
/// when the step runs.
///
/// Ground below 0 m is ocean, ground under a lake is lake, low ground beside the sea is beach. Everywhere else the climate
/// decides: four belts of temperature by six of moisture, after Whittaker's diagram as Patel adapted it ("Polygonal map
/// generation for games", 2010). The air grows colder with height by `lapse_c_per_km`.
///
/// Put it after the steps that shape the land: `biome` is dropped whenever the height, the water, the temperature or the
/// moisture changes.
///
/// **Guarantees** (1) ground below 0 m is ocean and no other ground is; (2) no beach lies higher than `beach_m` or further
/// than `beach_width_m` from the sea; (3) with no lapse, dry ground off the beach has exactly the biome of its temperature
/// and moisture; (4) a place depends on nothing further away than `beach_width_m`.
///
/// **Limits** A hole in the height, the temperature or the moisture is ocean.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Biomes {
    /// Yearly mean temperature at sea level: a number, or a layer.
    #[schemars(extend("minimum" = -80.0, "maximum" = 60.0, "x-unit" = "degC", "x-slider" = [-10.0, 30.0]))]
    pub temperature_c: Coef,
    /// How much colder the air is for each kilometre of height; 0 where the temperature is that of the ground already.
    #[schemars(range(min = 0.0, max = 50.0), extend("x-unit" = "degC/km", "x-slider" = [0.0, 10.0]))]
    pub lapse_c_per_km: f64,
    /// Moisture from 0 (dry) to 1 (wet): a number, or a layer.
    #[schemars(extend("minimum" = 0.0, "maximum" = 1.0))]
    pub moisture: Coef,
    /// Depth from which standing `water` makes a lake, where there is such a layer.
    #[schemars(range(min = 0.0, max = 1000.0), extend("x-unit" = "m", "x-slider" = [0.0, 5.0]))]
    pub lake_depth_m: f64,
    /// Height of the highest beach.
    #[schemars(range(min = 0.0, max = 100.0), extend("x-unit" = "m", "x-slider" = [0.0, 10.0]))]
    pub beach_m: f64,
    /// How far inland a beach reaches.
    #[schemars(range(min = 0.0, max = 2000.0), extend("x-unit" = "m", "x-slider" = [0.0, 200.0]))]
    pub beach_width_m: f64,
}

impl Default for Biomes {
    fn default() -> Self {
        Self {
            temperature_c: Coef::Layer(layer::TEMPERATURE.name()),
            lapse_c_per_km: 0.0,
            moisture: Coef::Layer(layer::MOISTURE.name()),
            lake_depth_m: 0.5,
            beach_m: 4.0,
            beach_width_m: 40.0,
        }
    }
}

impl Op for Biomes {
    const ID: &'static str = "cover.biomes";
    const VERSION: u32 = 1;

    fn layers(&self) -> Layers {
        let climate: Vec<_> =
            [&self.temperature_c, &self.moisture].into_iter().filter_map(Coef::layer).collect();
        let from = [layer::HEIGHT.name(), layer::WATER.name()].into_iter().chain(climate.clone());
        Layers::none()
            .reading([layer::HEIGHT.name()])
            .reading(climate)
            .using([layer::WATER.name()])
            .deriving([layer::BIOME.name()], from)
    }

    fn reach(&self, _: &Frame) -> Reach {
        Reach::Within(self.beach_width_m)
    }

    fn bytes_a_sample(&self, _: &Frame) -> f64 {
        1.0
    }

    fn run(&self, mut terrain: Terrain, ctx: &Ctx<'_>) -> Result<Terrain, OpError> {
        let biome = biomes(&terrain, self, ctx)?;
        terrain.set(layer::BIOME, biome);
        Ok(terrain)
    }
}

/// Reads 12 to 16 bytes a cell and writes one; beside the sea it looks around.
fn biomes(terrain: &Terrain, params: &Biomes, ctx: &Ctx<'_>) -> Result<Raster<u8>, OpError> {
    let height = terrain.get(layer::HEIGHT)?;
    let water = terrain.get(layer::WATER).ok();
    let (temperature, moisture) = (params.temperature_c.on(terrain)?, params.moisture.on(terrain)?);
    let around = Around::new(terrain.frame(), params.beach_width_m);
    let counter = ctx.counter(height.rows());
    let mut out = Raster::filled(height.cols(), height.rows(), 0u8);
    out.try_par_rows(|row, values| {
        for (col, value) in values.iter_mut().enumerate() {
            let h = height.row(row)[col];
            let depth = water.map_or(0.0, |water| water.row(row)[col]);
            *value = if h.is_nan() || h < 0.0 {
                Biome::Ocean
            } else if depth > 0.0 && f64::from(depth) >= params.lake_depth_m {
                Biome::Lake
            } else if f64::from(h) <= params.beach_m && around.has_sea(height, col, row) {
                Biome::Beach
            } else {
                climate(&temperature, &moisture, [col, row], f64::from(h) * params.lapse_c_per_km / 1000.0)
            }
            .id();
        }
        counter.done()
    })?;
    Ok(out)
}

fn climate(temperature: &Field<'_>, moisture: &Field<'_>, [col, row]: [usize; 2], colder_c: f64) -> Biome {
    let (warm, wet) = (f64::from(temperature.at(col, row)), f64::from(moisture.at(col, row)));
    if warm.is_nan() || wet.is_nan() { Biome::Ocean } else { Biome::of_climate(warm - colder_c, wet) }
}

/// The samples within a distance, by rows: how many columns to either side.
struct Around(Vec<(isize, isize)>);

impl Around {
    fn new(frame: &Frame, far_m: f64) -> Self {
        let [dx, dy] = frame.spacing_m();
        let rows = (far_m / dy).floor() as isize;
        let width = |row: isize| {
            let across = row as f64 * dy;
            ((far_m * far_m - across * across).max(0.0).sqrt() / dx).floor() as isize
        };
        let mut rows: Vec<(isize, isize)> = (-rows..=rows).map(|row| (row, width(row))).collect();
        // The nearest first: a shore is mostly found at once.
        rows.sort_by_key(|(row, _)| row.abs());
        Self(rows)
    }

    fn has_sea(&self, height: &Raster<f32>, col: usize, row: usize) -> bool {
        self.0.iter().any(|&(down, wide)| {
            let Some(row) = row.checked_add_signed(down).filter(|row| *row < height.rows()) else {
                return false;
            };
            let west = col.saturating_add_signed(-wide);
            let east = col.saturating_add_signed(wide).min(height.cols() - 1);
            height.row(row)[west..=east].iter().any(|h| *h < 0.0)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(op: &Biomes, height: impl Fn(usize, usize) -> f32 + Sync) -> Raster<u8> {
        let mut terrain = Terrain::new(Frame::square(640.0, 65).unwrap());
        terrain.set(layer::HEIGHT, Raster::from_fn(65, 65, height));
        terrain.set(layer::TEMPERATURE, Raster::from_fn(65, 65, |col, _| col as f32 - 30.0));
        terrain.set(layer::MOISTURE, Raster::from_fn(65, 65, |_, row| row as f32 / 64.0));
        Op::apply(op, terrain, &Ctx::silent()).unwrap().get(layer::BIOME).unwrap().clone()
    }

    #[test]
    fn dry_ground_has_the_biome_of_its_climate() {
        let biome = run(&Biomes::default(), |_, _| 100.0);
        for (col, row) in [(0, 0), (20, 40), (64, 64)] {
            let expected = Biome::of_climate(col as f64 - 30.0, row as f64 / 64.0);
            assert_eq!(biome.row(row)[col], expected.id());
        }
    }

    #[test]
    fn beaches_are_low_and_beside_the_sea() {
        let op = Biomes { beach_width_m: 30.0, ..Biomes::default() };
        // The sea lies west of column 20; the ground rises by 0.5 m a column.
        let biome = run(&op, |col, _| if col < 20 { -5.0 } else { (col - 20) as f32 * 0.5 });
        let row = biome.row(32);
        assert!(row[..20].iter().all(|b| *b == Biome::Ocean.id()));
        assert!(row[20..23].iter().all(|b| *b == Biome::Beach.id()));
        assert!(row[23..].iter().all(|b| *b != Biome::Beach.id() && *b != Biome::Ocean.id()));
    }

    #[test]
    fn high_ground_is_cold() {
        let op = Biomes { temperature_c: Coef::Const(20.0), lapse_c_per_km: 6.5, ..Biomes::default() };
        let low = run(&op, |_, _| 10.0);
        let high = run(&op, |_, _| 4000.0);
        assert_eq!(low.row(64)[0], Biome::TropicalRainForest.id());
        assert_eq!(high.row(64)[0], Biome::Snow.id());
    }

    #[test]
    fn biomes_go_when_the_land_changes() {
        let mut terrain = Terrain::new(Frame::square(640.0, 65).unwrap());
        terrain.set(layer::HEIGHT, Raster::filled(65, 65, 10.0));
        let op = Biomes { temperature_c: Coef::Const(20.0), moisture: Coef::Const(0.5), ..Biomes::default() };
        let mut terrain = Op::apply(&op, terrain, &Ctx::silent()).unwrap();
        assert!(terrain.get(layer::BIOME).is_ok());
        terrain.update::<f32>(&layer::HEIGHT.name(), |h| h.as_mut_slice()[0] = 5.0).unwrap();
        assert!(terrain.get(layer::BIOME).is_err());
    }
}
