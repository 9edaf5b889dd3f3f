//! Biomes from the land as it is: sea, lakes, beaches, and the climate everywhere else.

mod reasons;
mod table;
#[cfg(test)]
mod tests;

use orogen_core::biome::Biome;
use std::ops::Range;

use orogen_core::param::{self, Fault, Segment};
use orogen_core::{
    Coef, Ctx, Frame, LayerName, Layers, Op, OpError, Raster, Reach, Reason, Terrain, layer, math,
};
use rayon::prelude::*;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use self::table::Table;
use super::rules::BiomeRef;
use crate::noise::{Basis, BlockRoom, Blocks, Distance, Field, Fractal, Look};
use crate::simd::{Level, dispatch};

/// Says which biome covers each place, from the heights, the temperature and the moisture that are there when the step runs.
///
/// Ground below 0 m is ocean, ground under a lake is lake however deep its bed, low and gentle ground beside the sea is beach. Everywhere else the
/// climate decides: belts of temperature by belts of moisture, four by six if not stated otherwise, after Whittaker's diagram as Patel adapted it
/// ("Polygonal map generation for games", 2010). The air grows colder with height by `lapse_c_per_km`. What is painted goes first.
///
/// Where the layer `snow` is there, it says where snow lies: there the biome is snow, and nowhere else. What the table calls snow and has none is the
/// next drier biome of its belt, which is tundra if not stated otherwise, or bare where the year is colder than -4 degrees.
///
/// Belts of the climate would follow contour lines. Nature's interlock: what grows at a place is a matter of chance near the limit of
/// its climate, so temperature and moisture are taken as a little higher or lower, by noise in waves of `border_m` and shorter.
///
/// Put it after the steps that shape the land and its climate: `biome` is dropped whenever the height, the water, the temperature, the
/// moisture or the snow changes.
///
/// **Guarantees** (1) ground below 0 m is ocean and no other ground is, unless painted or under a lake that rises above 0 m; (2) no beach lies higher than `beach_m` or further
/// than `beach_width_m` from the sea, whose edge lies between samples where the ground crosses 0 m, nor on ground steeper than `beach_deg`; (3) with no lapse, dry ground off the beach without snow has the biome of a temperature within
/// `border_c` and a moisture within `border_moisture` of its own; (4) a place depends on nothing further away than `beach_width_m`,
/// 40 m or the next sample.
///
/// **Limits** A hole in the height, the temperature or the moisture is ocean. Samples further apart than 40 m see gentler shores.
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
    /// Slope of the steepest beach, measured over 80 m.
    #[schemars(range(min = 0.0, max = 90.0), extend("x-unit" = "deg", "x-slider" = [2.0, 20.0]))]
    pub beach_deg: f64,
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
    /// Height from which ground is snow, whatever its climate and whatever lies there; nothing if not stated. The line interlocks as borders do: it wanders by
    /// up to 154 m for each degree of `border_c`.
    #[schemars(range(min = -12000.0, max = 20000.0), extend("x-unit" = "m", "x-slider" = [0.0, 5000.0]))]
    pub snow_line_m: Option<f64>,
    /// Depth from which lying `snow` makes the biome snow, where there is such a layer: 0.25 m if not stated, as for ground materials; 0 leaves
    /// snow to the climate.
    #[schemars(range(min = 0.0, max = 1000.0), extend("x-unit" = "m", "x-slider" = [0.1, 5.0]))]
    pub snow_depth_m: f64,
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
            beach_deg: 9.0,
            belts_c,
            belts_moisture,
            table,
            own: Vec::new(),
            snow_line_m: None,
            snow_depth_m: 0.25,
            painted: Vec::new(),
            border_m: 600.0,
            border_c: 1.0,
            border_moisture: 0.06,
        }
    }
}

impl Op for Biomes {
    const ID: &'static str = "cover.biomes";
    const VERSION: u32 = 6;

    fn layers(&self) -> Layers {
        let climate: Vec<_> =
            [&self.temperature_c, &self.moisture].into_iter().filter_map(Coef::layer).collect();
        let mut masks: Vec<LayerName> = self.painted.iter().map(|painted| painted.mask.clone()).collect();
        masks.sort();
        masks.dedup();
        masks.retain(|mask| !climate.contains(mask) && *mask != layer::HEIGHT.name());
        let mut used = vec![layer::WATER.name()];
        if self.snow_depth_m > 0.0 {
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

    fn reach(&self, frame: &Frame) -> Reach {
        let [dx, dy] = frame.spacing_m();
        let around = self.beach_width_m.max(SHORE_M).max(dx.max(dy));
        Reach::Within(if self.beach_width_m > 0.0 { around } else { 0.0 })
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

/// How far the climate is taken as another than it is.
struct Borders {
    noise: [Field; 2],
    most: [f32; 2],
}

impl Borders {
    fn new(params: &Biomes, terrain: &Terrain, ctx: &Ctx<'_>) -> Self {
        let look = Look {
            basis: Basis::Perlin,
            distance: Distance::F1,
            fractal: Fractal::Fbm,
            octaves: 4,
            hurst: 0.75,
            lacunarity: 2.0,
            wavelength_m: params.border_m,
            // Noise is mostly weak: so strong and held to its ends it is felt along the whole border.
            amplitude_m: 0.35,
            offset_m: 0.0,
            translate: 0.0,
            scale: 1.0,
            stretch: 1.0,
            rotation_deg: 0.0,
            period_m: 0.0,
            warp_m: 0.0,
            warp_wavelength_m: 1.0,
            warp_octaves: 1,
        };
        let noise =
            ["warm", "wet"].map(|name| Field::over(&ctx.world(terrain), &look, ctx.seed().child(name)));
        Self { noise, most: [params.border_c as f32, params.border_moisture as f32] }
    }

    /// What is added to the temperature and to the moisture at a place.
    fn at(&self, [x, y]: [f64; 2]) -> [f32; 2] {
        [0, 1].map(|i| if self.most[i] > 0.0 { shift(self.noise[i].at(x, y), self.most[i]) } else { 0.0 })
    }
}

#[inline(always)]
fn shift(noise: f32, most: f32) -> f32 {
    let noise = if noise > -1.0 { noise } else { -1.0 };
    most * if noise < 1.0 { noise } else { 1.0 }
}

/// The climate as it is taken along a part of a row: what is there, moved by the noise, less what height takes.
#[inline(always)]
fn climate(noise: &mut [f32], most: f32, there: &Given<'_>, heights: &[f32], lapse: f32) {
    let count = noise.len();
    let heights = &heights[..count];
    match there {
        Given::Const(value) => {
            for i in 0..count {
                noise[i] = shift(noise[i], most) + value - heights[i] * lapse;
            }
        }
        Given::Row(row) => {
            let row = &row[..count];
            for i in 0..count {
                noise[i] = shift(noise[i], most) + row[i] - heights[i] * lapse;
            }
        }
    }
}

/// A number or a part of a row of a layer.
enum Given<'a> {
    Const(f32),
    Row(&'a [f32]),
}

impl<'a> Given<'a> {
    fn of(value: &param::Field<'a>, row: usize, cols: &Range<usize>) -> Self {
        match value {
            param::Field::Const(value) => Self::Const(*value),
            param::Field::Raster(raster) => Self::Row(&raster.row(row)[cols.clone()]),
        }
    }
}

/// `value` becomes a biome wherever a comparison holds.
#[inline(always)]
fn mark(values: &mut [u8], biome: Biome, numbers: &[f32], holds: impl Fn(f32) -> bool) {
    let id = biome.id();
    for (value, number) in values.iter_mut().zip(numbers) {
        *value = if holds(*number) { id } else { *value };
    }
}

/// Water of some depth is a lake. The bed of a deep one may lie below the sea; its surface does not.
#[inline(always)]
fn mark_lakes(values: &mut [u8], heights: &[f32], depths: &[f32], lake_m: f32) {
    let id = Biome::Lake.id();
    for ((value, h), depth) in values.iter_mut().zip(heights).zip(depths) {
        let is_lake = (*depth > 0.0) & (*depth >= lake_m) & (*h + *depth >= lake_m);
        *value = if is_lake { id } else { *value };
    }
}

#[inline(always)]
fn is_any(numbers: &[f32], holds: impl Fn(f32) -> bool) -> bool {
    numbers.iter().fold(0u32, |any, number| any | u32::from(holds(*number))) != 0
}

/// Reads 12 to 16 bytes a cell and writes one; beside the sea it looks around. Works on blocks that stay in the nearest cache.
fn biomes(terrain: &Terrain, params: &Biomes, ctx: &Ctx<'_>) -> Result<Raster<u8>, OpError> {
    let height = terrain.get(layer::HEIGHT)?;
    let (cols, rows) = (height.cols(), height.rows());
    let water = terrain.get(layer::WATER).ok();
    let snow = if params.snow_depth_m > 0.0 { terrain.get(layer::SNOW).ok() } else { None };
    let snow = snow.map(|snow| (snow, params.snow_depth_m as f32));
    let there = [params.temperature_c.on(terrain)?, params.moisture.on(terrain)?];
    let around = Around::new(terrain.frame(), params.beach_width_m, params.beach_deg);
    let table = if snow.is_some() { Table::thawed(params) } else { Table::new(params) };
    let borders = Borders::new(params, terrain, ctx);
    let mut painted: Vec<(u8, &Raster<f32>)> = Vec::new();
    for Painted { biome, mask } in &params.painted {
        painted.push((table::number(biome, &params.own).unwrap_or(0), terrain.get_named(mask)?));
    }
    let snow_line = params.snow_line_m.map(|m| m as f32);
    // A degree is worth so many metres at the snow line: what the air loses with height.
    let metres_a_degree = 1000.0 / 6.5;
    let lapse = [(params.lapse_c_per_km / 1000.0) as f32, 0.0];
    let (beach_m, lake_m) = (params.beach_m as f32, params.lake_depth_m as f32);
    let noise = borders.noise.each_ref().map(|noise| noise.blocks(terrain.frame()));
    let level = Level::new();
    let counter = ctx.counter(rows.div_ceil(Blocks::TALL));
    let mut out = Raster::zeroed(cols, rows);
    let start = || ([(); 2].map(|()| vec![0.0; Blocks::TALL * Blocks::WIDE]), BlockRoom::new());
    out.as_mut_slice().par_chunks_mut(cols * Blocks::TALL).enumerate().try_for_each_init(
        start,
        |(shifts, room), (band, out)| {
            let first = band * Blocks::TALL;
            let here = first..first + out.len() / cols;
            let lines = noise.each_ref().map(|noise| noise.rows(here.clone()));
            for from in (0..cols).step_by(Blocks::WIDE) {
                let block = from..cols.min(from + Blocks::WIDE);
                for i in (0..2).filter(|i| borders.most[*i] > 0.0) {
                    noise[i].fill(&lines[i], room, block.clone(), &mut shifts[i]);
                }
                for row in here.clone() {
                    let values = &mut out[(row - first) * cols..][block.clone()];
                    let heights = &height.row(row)[block.clone()];
                    let [warm, wet] = shifts
                        .each_mut()
                        .map(|shift| &mut shift[(row - first) * Blocks::WIDE..][..block.len()]);
                    if let Some(line) = snow_line {
                        // Above the line nothing is warm enough for anything else.
                        let above =
                            |h: f32, noise: f32| h + shift(noise, borders.most[0]) * metres_a_degree >= line;
                        let each = values.iter_mut().zip(heights).zip(warm.iter());
                        each.for_each(|((v, h), w)| *v = u8::from(above(*h, *w)));
                    }
                    let [by_warm, by_wet] = there.each_ref().map(|there| Given::of(there, row, &block));
                    dispatch!(level, _simd => {
                        climate(warm, borders.most[0], &by_warm, heights, lapse[0]);
                        climate(wet, borders.most[1], &by_wet, heights, lapse[1]);
                    });
                    table.row(level, warm, wet, snow_line.is_some(), values);
                    if let Some((snow, least)) = snow {
                        let depth = &snow.row(row)[block.clone()];
                        dispatch!(level, _simd => mark(values, Biome::Snow, depth, |depth| depth >= least));
                    }
                    let low = |h: f32| h >= 0.0 && h <= beach_m;
                    if dispatch!(level, _simd => is_any(heights, low)) {
                        for (i, value) in values.iter_mut().enumerate().filter(|(i, _)| low(heights[*i])) {
                            let col = from + i;
                            if around.has_sea(height, col, row) && around.is_gentle(height, col, row) {
                                *value = Biome::Beach.id();
                            }
                        }
                    }
                    dispatch!(level, _simd => mark(values, Biome::Ocean, heights, |h| h.is_nan() || h < 0.0));
                    if let Some(water) = water {
                        let depth = &water.row(row)[block.clone()];
                        dispatch!(level, _simd => mark_lakes(values, heights, depth, lake_m));
                    }
                    for (biome, mask) in &painted {
                        for (value, mask) in values.iter_mut().zip(&mask.row(row)[block.clone()]) {
                            *value = if *mask >= 0.5 { *biome } else { *value };
                        }
                    }
                }
            }
            counter.done()
        },
    )?;
    Ok(out)
}

/// Length to either side over which the slope of shores is measured.
const SHORE_M: f64 = 40.0;

/// Where the sea is near.
struct Around {
    /// The samples within the distance, by rows: how many columns to either side.
    rows: Vec<(isize, isize)>,
    far_m: f64,
    spacing_m: [f64; 2],
    /// Tangent of the steepest beach.
    steepest: f64,
    /// Samples to either side over which the slope of shores is measured.
    over: [isize; 2],
}

impl Around {
    fn new(frame: &Frame, far_m: f64, steepest_deg: f64) -> Self {
        let [dx, dy] = frame.spacing_m();
        let rows = (far_m / dy).floor() as isize;
        let width = |row: isize| {
            let across = row as f64 * dy;
            ((far_m * far_m - across * across).max(0.0).sqrt() / dx).floor() as isize
        };
        let mut rows: Vec<(isize, isize)> = (-rows..=rows).map(|row| (row, width(row))).collect();
        // The nearest first: a shore is mostly found at once.
        rows.sort_by_key(|(row, _)| row.abs());
        let steepest = if steepest_deg < 90.0 { math::tan(steepest_deg.to_radians()) } else { f64::INFINITY };
        let over = [dx, dy].map(|cell| (SHORE_M / cell).floor().max(1.0) as isize);
        Self { rows, far_m, spacing_m: [dx, dy], steepest, over }
    }

    /// Whether the ground is gentle enough for sand and shingle to lie on it.
    fn is_gentle(&self, height: &Raster<f32>, col: usize, row: usize) -> bool {
        let own = height.row(row)[col];
        let (cols, rows) = (height.cols(), height.rows());
        let moved = |at: usize, by: isize, count: usize| at.saturating_add_signed(by).min(count - 1);
        let rise = |[low, high]: [[usize; 2]; 2], apart_m: f64| {
            let [low, high] = [low, high].map(|[col, row]| {
                let there = height.row(row)[col];
                f64::from(if there.is_nan() { own } else { there })
            });
            if apart_m > 0.0 { (high - low) / apart_m } else { 0.0 }
        };
        let ends = |at: usize, axis: usize, count: usize| {
            let [low, high] = [-self.over[axis], self.over[axis]].map(|by| moved(at, by, count));
            ([low, high], (high - low) as f64 * self.spacing_m[axis])
        };
        let ([west, east], across_m) = ends(col, 0, cols);
        let ([north, south], down_m) = ends(row, 1, rows);
        let along = rise([[west, row], [east, row]], across_m);
        let down = rise([[col, north], [col, south]], down_m);
        along * along + down * down <= self.steepest * self.steepest
    }

    fn has_sea(&self, height: &Raster<f32>, col: usize, row: usize) -> bool {
        self.far_m > 0.0 && (self.has_wet_sample(height, col, row) || self.has_shore(height, col, row))
    }

    /// Whether the ground falls below the sea within the distance on its way to a neighbour further away: samples of a preview
    /// may lie further apart than a beach is wide.
    fn has_shore(&self, height: &Raster<f32>, col: usize, row: usize) -> bool {
        let own = f64::from(height.row(row)[col]);
        let crosses = |(right, down): (isize, isize)| {
            let (Some(col), Some(row)) = (col.checked_add_signed(right), row.checked_add_signed(down)) else {
                return false;
            };
            if col >= height.cols() || row >= height.rows() {
                return false;
            }
            let (there, apart_m) = (f64::from(height.row(row)[col]), self.spacing_m[usize::from(down != 0)]);
            there < 0.0 && apart_m * own / (own - there) <= self.far_m
        };
        [(1, 0), (-1, 0), (0, 1), (0, -1)].into_iter().any(crosses)
    }

    fn has_wet_sample(&self, height: &Raster<f32>, col: usize, row: usize) -> bool {
        self.rows.iter().any(|&(down, wide)| {
            let Some(row) = row.checked_add_signed(down).filter(|row| *row < height.rows()) else {
                return false;
            };
            let west = col.saturating_add_signed(-wide);
            let east = col.saturating_add_signed(wide).min(height.cols() - 1);
            height.row(row)[west..=east].iter().any(|h| *h < 0.0)
        })
    }
}
