//! Biomes from the land as it is: sea, lakes, beaches, and the climate everywhere else.

mod reasons;
mod table;
#[cfg(test)]
mod tests;

use orogen_core::biome::Biome;
use orogen_core::param::{Fault, Field, Segment};
use orogen_core::{Coef, Ctx, Frame, LayerName, Layers, Op, OpError, Raster, Reach, Reason, Terrain, layer};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use self::table::Table;
use super::rules::BiomeRef;
use crate::octaves::{OctaveBuffers, Octaves};

/// Says which biome covers each place, from the heights, the temperature and the moisture that are there when the step runs.
///
/// Ground below 0 m is ocean, ground under a lake is lake however deep its bed, low ground beside the sea is beach. Everywhere else the climate
/// decides: belts of temperature by belts of moisture, four by six if not stated otherwise, after Whittaker's diagram as Patel adapted it
/// ("Polygonal map generation for games", 2010). The air grows colder with height by `lapse_c_per_km`. What is painted goes first.
///
/// Belts of the climate would follow contour lines. Nature's interlock: what grows at a place is a matter of chance near the limit of
/// its climate, so temperature and moisture are taken as a little higher or lower, by noise in waves of `border_m` and shorter.
///
/// Put it after the steps that shape the land: `biome` is dropped whenever the height, the water, the temperature or the
/// moisture changes.
///
/// **Guarantees** (1) ground below 0 m is ocean and no other ground is, unless painted or under a lake that rises above 0 m; (2) no beach lies higher than `beach_m` or further
/// than `beach_width_m` from the sea; (3) with no lapse, dry ground off the beach has the biome of a temperature within
/// `border_c` and a moisture within `border_moisture` of its own; (4) a place depends on nothing further away than `beach_width_m`.
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
    /// Where belts of temperature meet, from cold to warm.
    #[schemars(length(max = 15), inner(range(min = -100.0, max = 100.0)), extend("x-unit" = "degC"))]
    pub belts_c: Vec<f64>,
    /// Where belts of moisture meet, from dry to wet.
    #[schemars(length(max = 15), inner(range(min = 0.0, max = 1.0)))]
    pub belts_moisture: Vec<f64>,
    /// The biome of each climate: a row for each belt of temperature, cold first, with an entry for each belt of moisture, dry first.
    #[schemars(length(min = 1, max = 16), inner(length(min = 1, max = 16)))]
    pub table: Vec<Vec<BiomeRef>>,
    /// Biomes of the recipe's own, which the table and what is painted may name.
    #[schemars(length(max = 200))]
    pub own: Vec<OwnBiome>,
    /// Height from which ground is snow, whatever its climate; nothing if not stated.
    #[schemars(range(min = -12000.0, max = 20000.0), extend("x-unit" = "m", "x-slider" = [0.0, 5000.0]))]
    pub snow_line_m: Option<f64>,
    /// Depth from which lying `snow` makes the biome snow, where there is such a layer; nothing if not stated.
    #[schemars(range(min = 0.0, max = 1000.0), extend("x-unit" = "m", "x-slider" = [0.1, 5.0]))]
    pub snow_depth_m: Option<f64>,
    /// What somebody has painted: later entries over earlier ones.
    #[schemars(length(max = 64))]
    pub painted: Vec<Painted>,
    /// Longest waves of the borders of biomes.
    #[schemars(range(min = 1.0, max = 1e5), extend("x-unit" = "m", "x-slider" = [50.0, 2000.0]))]
    pub border_m: f64,
    /// How far the temperature may be taken as higher or lower: 0 makes borders follow contour lines.
    #[schemars(range(min = 0.0, max = 20.0), extend("x-unit" = "degC", "x-slider" = [0.0, 3.0]))]
    pub border_c: f64,
    /// How far the moisture may be taken as higher or lower.
    #[schemars(range(min = 0.0, max = 1.0), extend("x-slider" = [0.0, 0.2]))]
    pub border_moisture: f64,
}

/// A biome of the recipe's own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct OwnBiome {
    /// Its name.
    #[schemars(length(max = 40))]
    pub name: String,
    /// Its number in the layer `biome`, 16 or more; rules of other steps name it by that.
    #[schemars(range(min = 16, max = 255))]
    pub id: u8,
}

impl Default for OwnBiome {
    fn default() -> Self {
        Self { name: String::new(), id: FIRST_OWN }
    }
}

/// The first number that no known biome has.
const FIRST_OWN: u8 = 16;

/// A biome that is painted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Painted {
    /// The biome.
    pub biome: BiomeRef,
    /// A layer from 0 to 1: the biome covers where it is a half and more.
    pub mask: LayerName,
}

impl Default for Painted {
    fn default() -> Self {
        Self { biome: "grassland".into(), mask: layer::MASK.name() }
    }
}

impl Default for Biomes {
    fn default() -> Self {
        let (belts_c, belts_moisture, table) = table::whittaker();
        Self {
            temperature_c: Coef::Layer(layer::TEMPERATURE.name()),
            lapse_c_per_km: 0.0,
            moisture: Coef::Layer(layer::MOISTURE.name()),
            lake_depth_m: 0.5,
            beach_m: 4.0,
            beach_width_m: 40.0,
            belts_c,
            belts_moisture,
            table,
            own: Vec::new(),
            snow_line_m: None,
            snow_depth_m: None,
            painted: Vec::new(),
            border_m: 600.0,
            border_c: 1.0,
            border_moisture: 0.06,
        }
    }
}

impl Op for Biomes {
    const ID: &'static str = "cover.biomes";
    const VERSION: u32 = 3;

    fn layers(&self) -> Layers {
        let climate: Vec<_> =
            [&self.temperature_c, &self.moisture].into_iter().filter_map(Coef::layer).collect();
        let mut masks: Vec<LayerName> = self.painted.iter().map(|painted| painted.mask.clone()).collect();
        masks.sort();
        masks.dedup();
        masks.retain(|mask| !climate.contains(mask) && *mask != layer::HEIGHT.name());
        let mut used = vec![layer::WATER.name()];
        if self.snow_depth_m.is_some() {
            used.push(layer::SNOW.name());
        }
        let from = [layer::HEIGHT.name()]
            .into_iter()
            .chain(used.clone())
            .chain(climate.clone())
            .chain(masks.clone());
        Layers::none()
            .reading([layer::HEIGHT.name()])
            .reading(climate)
            .reading(masks)
            .deriving([layer::BIOME.name()], from)
            .using(used)
    }

    fn reach(&self, _: &Frame) -> Reach {
        Reach::Within(self.beach_width_m)
    }

    fn bytes_a_sample(&self, _: &Frame) -> f64 {
        1.0
    }

    fn faults(&self) -> Vec<Fault> {
        let mut found = table::faults(self);
        for (i, painted) in self.painted.iter().enumerate() {
            if let Err(message) = table::number(&painted.biome, &self.own) {
                let path =
                    vec![Segment::Key("painted".into()), Segment::Index(i), Segment::Key("biome".into())];
                found.push(Fault { path, message });
            }
        }
        found
    }

    fn explain(&self, land: &Terrain, place: [f64; 2], ctx: &Ctx<'_>) -> Result<Vec<Reason>, OpError> {
        reasons::of(self, land, place, ctx)
    }

    fn run(&self, mut terrain: Terrain, ctx: &Ctx<'_>) -> Result<Terrain, OpError> {
        let biome = biomes(&terrain, self, ctx)?;
        terrain.set(layer::BIOME, biome);
        Ok(terrain)
    }
}

/// Octaves of the borders.
const OCTAVES: u32 = 4;

/// How far the climate is taken as another than it is.
struct Borders {
    noise: [Octaves; 2],
    most: [f32; 2],
}

impl Borders {
    fn new(params: &Biomes, terrain: &Terrain, ctx: &Ctx<'_>) -> Self {
        let noise = ["warm", "wet"].map(|name| {
            Octaves::over(&ctx.world(terrain), ctx.seed().child(name), params.border_m, OCTAVES, 0.6)
        });
        Self { noise, most: [params.border_c as f32, params.border_moisture as f32] }
    }

    /// What is added to the temperature and to the moisture along a row.
    fn row(&self, frame: &Frame, row: usize, buffers: &mut OctaveBuffers, out: &mut [Vec<f32>; 2]) {
        for ((noise, most), out) in self.noise.iter().zip(self.most).zip(out) {
            out.resize(frame.cols(), 0.0);
            if most > 0.0 {
                noise.row(frame, row, 0..frame.cols(), buffers, out);
                // Noise is mostly weak: twice as strong and held to its ends it is felt along the whole border.
                out.iter_mut().for_each(|v| *v = most * (2.0 * *v).clamp(-1.0, 1.0));
            }
        }
    }
}

/// A number or a layer, by rows.
struct Values<'a>(Field<'a>);

impl Values<'_> {
    /// Adds the values of a row.
    fn add_row(&self, row: usize, out: &mut [f32]) {
        match &self.0 {
            Field::Const(value) => out.iter_mut().for_each(|out| *out += value),
            Field::Raster(raster) => {
                out.iter_mut().zip(raster.row(row)).for_each(|(out, value)| *out += value)
            }
        }
    }
}

/// Reads 12 to 16 bytes a cell and writes one; beside the sea it looks around.
fn biomes(terrain: &Terrain, params: &Biomes, ctx: &Ctx<'_>) -> Result<Raster<u8>, OpError> {
    let height = terrain.get(layer::HEIGHT)?;
    let water = terrain.get(layer::WATER).ok();
    let snow = params.snow_depth_m.and_then(|depth| Some((terrain.get(layer::SNOW).ok()?, depth as f32)));
    let (temperature, moisture) =
        (Values(params.temperature_c.on(terrain)?), Values(params.moisture.on(terrain)?));
    let around = Around::new(terrain.frame(), params.beach_width_m);
    let table = Table::new(params);
    let borders = Borders::new(params, terrain, ctx);
    let mut painted: Vec<(u8, &Raster<f32>)> = Vec::new();
    for Painted { biome, mask } in &params.painted {
        painted.push((table::number(biome, &params.own).unwrap_or(0), terrain.get_named(mask)?));
    }
    let snow_line = params.snow_line_m.map(|m| m as f32);
    // A degree is worth so many metres at the snow line: what the air loses with height.
    let metres_a_degree = 1000.0 / 6.5;
    let lapse = (params.lapse_c_per_km / 1000.0) as f32;
    let (beach_m, lake_m) = (params.beach_m as f32, params.lake_depth_m as f32);
    let counter = ctx.counter(height.rows());
    let mut out = Raster::filled(height.cols(), height.rows(), 0u8);
    out.try_par_rows(|row, values| {
        let (mut buffers, mut shift) = (OctaveBuffers::default(), [Vec::new(), Vec::new()]);
        borders.row(terrain.frame(), row, &mut buffers, &mut shift);
        let [warm, wet] = &mut shift;
        let heights = height.row(row);
        if let Some(line) = snow_line {
            // Above the line nothing is warm enough for anything else.
            let above = |h: f32, warmer: f32| h + warmer * metres_a_degree >= line;
            values
                .iter_mut()
                .zip(heights)
                .zip(warm.iter())
                .for_each(|((v, h), w)| *v = u8::from(above(*h, *w)));
        }
        temperature.add_row(row, warm);
        moisture.add_row(row, wet);
        warm.iter_mut().zip(heights).for_each(|(warm, h)| *warm -= h * lapse);
        table.row(warm, wet, snow_line.is_some(), values);
        for (col, (value, h)) in values.iter_mut().zip(heights).enumerate() {
            let depth = water.map_or(0.0, |water| water.row(row)[col]);
            if let Some((snow, least)) = snow
                && snow.row(row)[col] >= least
            {
                *value = Biome::Snow.id();
            }
            if *h >= 0.0 && *h <= beach_m && around.has_sea(height, col, row) {
                *value = Biome::Beach.id();
            }
            if h.is_nan() || *h < 0.0 {
                *value = Biome::Ocean.id();
            }
            // The bed of a deep lake may lie below the sea; its surface does not.
            if depth > 0.0 && depth >= lake_m && *h + depth >= lake_m {
                *value = Biome::Lake.id();
            }
        }
        for (biome, mask) in &painted {
            for (value, mask) in values.iter_mut().zip(mask.row(row)) {
                *value = if *mask >= 0.5 { *biome } else { *value };
            }
        }
        counter.done()
    })?;
    Ok(out)
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
