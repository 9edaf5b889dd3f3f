//! An island grown on a polygon map.

mod edit;
pub mod graph;
mod land;
mod map;
mod rivers;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use orogen_core::param::Fault;
use orogen_core::vector::{Column, Shape, VectorLayer};
use orogen_core::{Ctx, Frame, Layers, Op, OpError, Part, Prepared, Raster, Reach, Terrain, layer};
use rayon::prelude::*;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use edit::{Edit, Mode};

use land::{Land, Scratch};
use map::Map;

/// Grows an island with mountains, lakes, rivers, climate and biomes on a map of Voronoi polygons.
///
/// The map comes first: random points, evened out by `relax` rounds, become polygons. A polygon corner `(x, y)`, with
/// x and y from -1 to 1 across the frame, lies under water where
///
/// ```text
/// Σ(i=0..n) noise(x·o·s^i, y·o·s^i)·a·f^(-i)  <  offset + scale·(x² + y²)          (equations 1 and 2)
/// ```
///
/// A polygon is water when 30 % of its corners are; water that reaches the border is ocean, other water is lake.
/// Elevation rises from the coast inland and falls out to sea with each step over the graph, and rests along and
/// across lakes. Temperature falls with elevation. Rivers run from lakes and random springs down to the ocean and their water
/// spreads as moisture, which is `0.5 + 0.5·V/(V + 16)` at a river of volume V (so the smallest stream has 0.5 and the
/// greatest river nearly 1), 1 at lakes, and less with every step away from them; temperature and moisture make the
/// biome. Then the map becomes land:
///
/// ```text
/// h = sign(e)·|e|^1.5 + A·Σ(k=0..n) noise(r^k·x, r^k·y) / r^(k·(1-R))              (equations 3 and 4)
/// ```
///
/// where `e` is the elevation at a place moved by noise, and A and R, the height and roughness of hills, blend over
/// biome borders. In the end the highest place is `peak_m` and the deepest `-sea_depth_m`.
///
/// **Guarantees** (1) Every river reaches the sea and never rises on its way, and its volume never falls. (2) Lakes
/// are level. (3) Land polygons never lie below the sea, and with the frame's border unedited the sea surrounds the
/// land, whatever the other parameters: along the border hills stay below it. (4) There is land for every seed, given 9 polygons or more. (5) A sample depends on the parameters, the seed, the
/// frame of the recipe and its own position only, so any window at any spacing equals the whole; `peak_m` is met by
/// the land itself, not by its samples. (6) An edit changes heights near it and never rescales the rest. (7) Beach lies
/// no higher than `beach_m` and no further from the sea than `beach_width_m`. (8) More polygons make finer land, not
/// drier.
///
/// **Limits** Detail ends at the finest octave, `frame / (noise_frequency · 2^noise_octaves)` or so. Polygons are
/// reported where they were drawn, before the perturbation: they are the handle for edits. `height` of a lake is its
/// surface. The reach is `Point` although the map is one for the whole world: it is made again for each window, which
/// costs less than keeping its result at the finest spacing.
///
/// **After** Weiss, "Procedural Terrain", 2015, chapter IV, which follows Patel, "Polygonal map generation for
/// games", 2010. Ours differs: noise is 1 on average in equation 1 and its lattice spans the frame, so that the paper's
/// numbers make a good island for every seed; the sheet that triangles are drawn on is smooth; the sea has a shelf and a slope; every lake has an outlet, springs lie
/// below crests and snow, and courses wander. Steps vary in height
/// (`ruggedness`), rain falls on high ground (`rain`), hills have crests (`ridges`) and fade towards the shore
/// (`shore_m`), rivers lie in valleys (`valley_width_m`): 0 turns each off, and with `noise = 1` and `roughness = 1`
/// that is the paper's plain form.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Island {
    /// Number of polygons of the map.
    #[schemars(range(min = 1, max = 200_000), extend("x-slider" = [500, 20_000]))]
    pub polygons: u32,
    /// Rounds that even out the polygons.
    #[schemars(range(min = 0, max = 20), extend("x-slider" = [0, 5]))]
    pub relax: u32,
    /// Height of the highest mountain.
    #[schemars(range(min = 1.0, max = 20_000.0), extend("x-unit" = "m", "x-slider" = [50.0, 3000.0]))]
    pub peak_m: f64,
    /// Depth of the deepest sea.
    #[schemars(range(min = 1.0, max = 20_000.0), extend("x-unit" = "m", "x-slider" = [10.0, 1000.0]))]
    pub sea_depth_m: f64,
    /// Octaves added to the first in the noise of the coast: n of equation 1.
    #[schemars(range(min = 0, max = 12), extend("x-slider" = [0, 8]))]
    pub shape_octaves: u32,
    /// Lattice cells of the coast's first octave across the shorter side of the frame: the base octave.
    #[schemars(range(min = 0.1, max = 1000.0), extend("x-slider" = [1.0, 20.0]))]
    pub shape_frequency: f64,
    /// How much finer each octave of the coast is than the last: the octave scale.
    #[schemars(range(min = 1.0, max = 8.0), extend("x-slider" = [1.5, 3.0]))]
    pub shape_lacunarity: f64,
    /// Strength of the coast's first octave: the base amplitude.
    #[schemars(range(min = 0.0, max = 10.0), extend("x-slider" = [0.0, 1.5]))]
    pub shape_amplitude: f64,
    /// How much weaker each octave of the coast is than the last: the amplitude scale.
    #[schemars(range(min = 1.0, max = 100.0), extend("x-slider" = [1.5, 4.0]))]
    pub shape_falloff: f64,
    /// How strongly the distance from the middle makes sea: the scale of equation 2.
    #[schemars(range(min = 0.0, max = 100.0), extend("x-slider" = [1.0, 4.0]))]
    pub distance_scale: f64,
    /// Lower means a larger island: the offset of equation 2.
    #[schemars(range(min = -10.0, max = 10.0), extend("x-slider" = [-0.8, 0.4]))]
    pub size_offset: f64,
    /// Share of a polygon's corners under water from which it is water.
    #[schemars(range(min = 0.01, max = 1.0), extend("x-slider" = [0.1, 0.9]))]
    pub water_share: f64,
    /// How much the rise from the coast varies from place to place: 0 makes every step alike.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub ruggedness: f64,
    /// Yearly mean temperature at the coast.
    #[schemars(range(min = -90.0, max = 90.0), extend("x-unit" = "degC", "x-slider" = [-10.0, 35.0]))]
    pub coast_c: f64,
    /// Yearly mean temperature on the highest polygon.
    #[schemars(range(min = -90.0, max = 90.0), extend("x-unit" = "degC", "x-slider" = [-30.0, 20.0]))]
    pub summit_c: f64,
    /// Springs to look for; fewer are found where rivers stand as close as they may.
    #[schemars(range(min = 0, max = 100_000), extend("x-slider" = [0, 300]))]
    pub rivers: u32,
    /// Fewest steps, of that length or of a polygon if that is longer, between a spring and a river that is already there.
    #[schemars(range(min = 1, max = 64), extend("x-slider" = [1, 8]))]
    pub river_spacing: u32,
    /// Width of a river where it is one step long; it grows with the root of the volume, from nothing at the spring.
    #[schemars(range(min = 0.0, max = 1000.0), extend("x-unit" = "m", "x-slider" = [0.5, 10.0]))]
    pub river_width_m: f64,
    /// Width of the valley of a great river, foot to foot; 0 leaves rivers without valleys.
    #[schemars(range(min = 0.0, max = 1e5), extend("x-unit" = "m", "x-slider" = [0.0, 1500.0]))]
    pub valley_width_m: f64,
    /// Depth, about, of the valley of a great river.
    #[schemars(range(min = 0.0, max = 5000.0), extend("x-unit" = "m", "x-slider" = [0.0, 150.0]))]
    pub valley_depth_m: f64,
    /// Share of moisture that is left one step further from a river: a step as long as that of a map of 4000 polygons,
    /// 1/100 of a square frame, whatever their number.
    #[schemars(range(min = 0.0, max = 0.999), extend("x-slider" = [0.5, 0.95]))]
    pub moisture_spread: f64,
    /// Moisture that rain brings to the highest polygons, more in some parts than in others; 0 leaves it to rivers.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub rain: f64,
    /// Beach is no higher than this; polygons at the coast whose middle is higher have none.
    #[schemars(range(min = 0.0, max = 1000.0), extend("x-unit" = "m", "x-slider" = [0.0, 30.0]))]
    pub beach_m: f64,
    /// Beach is no further from the sea than this.
    #[schemars(range(min = 0.0, max = 1e5), extend("x-unit" = "m", "x-slider" = [0.0, 200.0]))]
    pub beach_width_m: f64,
    /// How far noise moves places before they are looked up on the map, in widths of a polygon.
    #[schemars(range(min = 0.0, max = 5.0), extend("x-slider" = [0.0, 1.5]))]
    pub perturb: f64,
    /// Exponent of equation 3: more makes flatter lowland and steeper mountains.
    #[schemars(range(min = 0.25, max = 8.0), extend("x-slider" = [0.7, 3.0]))]
    pub contrast: f64,
    /// Strength of the hills of equation 4; 1 is the strength of the biome table.
    #[schemars(range(min = 0.0, max = 10.0), extend("x-slider" = [0.0, 2.0]))]
    pub noise: f64,
    /// Roughness of the hills of equation 4: what R is multiplied by; 1 is the biome table as it stands.
    #[schemars(range(min = 0.0, max = 2.0), extend("x-slider" = [0.0, 1.0]))]
    pub roughness: f64,
    /// How much of the hills is sharp crests instead of round tops.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub ridges: f64,
    /// Octaves added to the first in the noise of the hills: n of equation 4.
    #[schemars(range(min = 0, max = 16), extend("x-slider" = [0, 8]))]
    pub noise_octaves: u32,
    /// Lattice cells of the hills' first octave across the shorter side of the frame.
    #[schemars(range(min = 0.1, max = 10_000.0), extend("x-slider" = [1.0, 40.0]))]
    pub noise_frequency: f64,
    /// How much finer each octave of the hills is than the last: r of equation 4.
    #[schemars(range(min = 1.0, max = 8.0), extend("x-slider" = [1.5, 3.0]))]
    pub noise_lacunarity: f64,
    /// Height above (or depth below) the sea at which hills reach their full strength; 0 lets them drown the coast.
    #[schemars(range(min = 0.0, max = 5000.0), extend("x-unit" = "m", "x-slider" = [0.0, 200.0]))]
    pub shore_m: f64,
    /// Changes made by hand to elevation, temperature or moisture, in turn.
    #[schemars(length(max = 10_000))]
    pub edits: Vec<Edit>,
}

impl Default for Island {
    fn default() -> Self {
        Self {
            polygons: 4000,
            relax: 2,
            peak_m: 700.0,
            sea_depth_m: 200.0,
            shape_octaves: 4,
            shape_frequency: 6.0,
            shape_lacunarity: 2.0,
            shape_amplitude: 0.5,
            shape_falloff: 2.5,
            distance_scale: 2.2,
            size_offset: -0.2,
            water_share: 0.3,
            ruggedness: 0.6,
            coast_c: 24.0,
            summit_c: -12.0,
            rivers: 60,
            river_spacing: 2,
            river_width_m: 2.0,
            valley_width_m: 300.0,
            valley_depth_m: 30.0,
            moisture_spread: 0.8,
            rain: 0.9,
            beach_m: 4.0,
            beach_width_m: 40.0,
            perturb: 1.0,
            contrast: 1.5,
            noise: 0.4,
            roughness: 0.5,
            ridges: 0.5,
            noise_octaves: 5,
            noise_frequency: 8.0,
            noise_lacunarity: 2.0,
            shore_m: 120.0,
            edits: Vec::new(),
        }
    }
}

impl Op for Island {
    const ID: &'static str = "source.island";
    const VERSION: u32 = 4;

    fn layers(&self) -> Layers {
        Layers::none()
            .writing([layer::HEIGHT.name(), layer::TEMPERATURE.name(), layer::MOISTURE.name()])
            .deriving(
                [layer::BIOME.name()],
                [layer::HEIGHT.name(), layer::TEMPERATURE.name(), layer::MOISTURE.name()],
            )
            .writing_vectors(["polygons"])
            .deriving_vectors(["rivers"], [layer::HEIGHT.name()])
    }

    fn reach(&self, _: &Frame) -> Reach {
        Reach::Point
    }

    fn bytes_a_sample(&self, frame: &Frame) -> f64 {
        // The map has a fixed number of polygons.
        13.0 + 1400.0 * f64::from(self.polygons) / frame.len() as f64
    }

    fn faults(&self) -> Vec<Fault> {
        let mut faults = Vec::new();
        if self.summit_c > self.coast_c {
            let message = format!("{} is above coast_c ({})", self.summit_c, self.coast_c);
            faults.push(Fault::of("summit_c", message));
        }
        for (i, edit) in self.edits.iter().enumerate() {
            faults.extend(edit.faults(i, self.polygons));
        }
        faults
    }

    fn prepare(&self, world: &Frame, ctx: &Ctx<'_>) -> Result<Option<Box<dyn Prepared>>, OpError> {
        Ok(Some(Box::new(Grown::new(self, world, ctx)?)))
    }

    fn run(&self, terrain: Terrain, ctx: &Ctx<'_>) -> Result<Terrain, OpError> {
        Grown::new(self, &ctx.world(&terrain), ctx)?.run(terrain, ctx)
    }
}

/// The map and the land on it, which no window changes.
struct Grown {
    place: Place,
    map: Map,
    land: Land,
    polygons: Arc<VectorLayer>,
    rivers: Arc<VectorLayer>,
}

impl Grown {
    fn new(params: &Island, world: &Frame, ctx: &Ctx<'_>) -> Result<Self, OpError> {
        let place = Place::of(world);
        let mut map = Map::grow(params, &place, ctx)?;
        let mut land = Land::new(params, &map, &place, ctx)?;
        if !params.edits.is_empty() {
            map.edit(params, &place, &land.scale, ctx)?;
            land = land.reshaped(params, &map, &place, ctx)?;
        }
        let polygons = Arc::new(polygon_layer(&map, &land, &place));
        let rivers = Arc::new(river_layer(params, &land, &place));
        Ok(Self { place, map, land, polygons, rivers })
    }
}

impl Prepared for Grown {
    fn run(&self, mut terrain: Terrain, ctx: &Ctx<'_>) -> Result<Terrain, OpError> {
        let layers = paint(&self.land, &self.map, &self.place, terrain.frame(), ctx)?;
        terrain.set(layer::HEIGHT, layers.height);
        if let Some(climate) = layers.climate {
            terrain.set(layer::TEMPERATURE, climate.temperature);
            terrain.set(layer::MOISTURE, climate.moisture);
        }
        if let Some(biome) = layers.biome {
            terrain.set(layer::BIOME, biome);
        }
        terrain.set_vector("polygons", self.polygons.clone());
        terrain.set_vector("rivers", self.rivers.clone());
        Ok(terrain)
    }
}

/// Where the map's own coordinates lie in the world: the middle of the frame is 0, half its shorter side is 1.
struct Place {
    middle_m: [f64; 2],
    unit_m: f64,
    /// Half the sides, in map units; the lesser is 1.
    half: [f64; 2],
}

impl Place {
    fn of(world: &Frame) -> Self {
        let extent = world.extent();
        let size = extent.size();
        let unit_m = 0.5 * size[0].min(size[1]).max(1e-6);
        Self {
            middle_m: [0.5 * (extent.min[0] + extent.max[0]), 0.5 * (extent.min[1] + extent.max[1])],
            unit_m,
            half: [0.5 * size[0] / unit_m, 0.5 * size[1] / unit_m],
        }
    }

    fn to_map(&self, p_m: [f64; 2]) -> [f64; 2] {
        [(p_m[0] - self.middle_m[0]) / self.unit_m, (p_m[1] - self.middle_m[1]) / self.unit_m]
    }

    fn to_world(&self, p: [f64; 2]) -> [f64; 2] {
        [p[0] * self.unit_m + self.middle_m[0], p[1] * self.unit_m + self.middle_m[1]]
    }
}

/// The layers of a frame, as far as they are wanted.
struct Painted {
    height: Raster<f32>,
    climate: Option<Climate>,
    biome: Option<Raster<u8>>,
}

struct Climate {
    temperature: Raster<f32>,
    moisture: Raster<f32>,
}

/// Share of the progress that the map takes, in percent.
const MAP_PERCENT: usize = 25;
const ROWS_PER_BLOCK: usize = 8;

/// The land on a frame. Writes 13 bytes a cell and reads the map, which stays in the cache.
fn paint(land: &Land, map: &Map, place: &Place, frame: &Frame, ctx: &Ctx<'_>) -> Result<Painted, OpError> {
    let (cols, rows) = (frame.cols(), frame.rows());
    let mut height = Raster::filled(cols, rows, 0.0f32);
    let mut temperature = Raster::filled(cols, rows, 0.0f32);
    let mut moisture = Raster::filled(cols, rows, 0.0f32);
    let mut biome = Raster::filled(cols, rows, 0u8);
    // Biomes cost as much as the land along coasts, where their borders fray.
    let wants = |name| ctx.wants(&Part::Layer(name));
    let wants_biome = wants(layer::BIOME.name());
    let wants_climate = wants(layer::TEMPERATURE.name()) || wants(layer::MOISTURE.name());
    let height_only = !wants_biome && !wants_climate;
    let xs: Vec<f64> = (0..cols).map(|col| place.to_map([frame.x_m(col), 0.0])[0]).collect();
    let blocks = rows.div_ceil(ROWS_PER_BLOCK);
    let done = AtomicUsize::new(0);
    let block = cols * ROWS_PER_BLOCK;
    (height.as_mut_slice().par_chunks_mut(block))
        .zip(temperature.as_mut_slice().par_chunks_mut(block))
        .zip(moisture.as_mut_slice().par_chunks_mut(block))
        .zip(biome.as_mut_slice().par_chunks_mut(block))
        .enumerate()
        .try_for_each_init(
            || if height_only { Scratch::for_height(cols) } else { Scratch::new(cols) },
            |scratch, (block, (((height, temperature), moisture), biome))| {
                let rows = (height.chunks_mut(cols).zip(temperature.chunks_mut(cols)))
                    .zip(moisture.chunks_mut(cols).zip(biome.chunks_mut(cols)));
                for (i, ((height, temperature), (moisture, biome))) in rows.enumerate() {
                    let y = place.to_map([0.0, frame.y_m(block * ROWS_PER_BLOCK + i)])[1];
                    land.row(&xs, y, scratch);
                    if wants_biome {
                        land.biome_row(map, &xs, y, scratch, biome);
                    }
                    for (out, &unit) in height.iter_mut().zip(&scratch.height) {
                        *out = land.scale.to_m_f32(unit);
                    }
                    temperature.copy_from_slice(&scratch.temperature);
                    moisture.copy_from_slice(&scratch.moisture);
                }
                let done = done.fetch_add(1, Ordering::Relaxed) + 1;
                ctx.tick(MAP_PERCENT * blocks + (100 - MAP_PERCENT) * done, 100 * blocks)
            },
        )?;
    let climate = wants_climate.then_some(Climate { temperature, moisture });
    Ok(Painted { height, climate, biome: wants_biome.then_some(biome) })
}

/// The polygons where they were drawn, with all that the map knows about each.
fn polygon_layer(map: &Map, land: &Land, place: &Place) -> VectorLayer {
    let graph = &map.graph;
    let count = graph.centers().len();
    let mut layer = VectorLayer::new(Shape::Polygons);
    for c in graph.center_ixs() {
        layer.push(graph.center_corners(c).iter().map(|&q| {
            let [x, y] = place.to_world(graph.corner(q));
            [x, y, land.scale.to_m(land.contrast(map.corner.elevation[q.at()]))]
        }));
    }
    let each = |f: &dyn Fn(usize) -> bool| Column::Flag((0..count).map(f).collect());
    let numbers = |values: &[f64]| Column::Number(values.to_vec());
    let elevation = map.center.elevation.iter().map(|&e| land.scale.to_m(land.contrast(e))).collect();
    let columns = [
        ("index", Column::Integer((0..count as i64).collect())),
        ("elevation_m", Column::Number(elevation)),
        ("temperature_c", numbers(&map.center.temperature)),
        ("moisture", numbers(&map.center.moisture)),
        ("biome", Column::Integer(map.biome.iter().map(|b| i64::from(b.id())).collect())),
        ("biome_name", Column::Text(map.biome.iter().map(|b| b.info().name.to_owned()).collect())),
        ("water", each(&|c| map.is_water(c))),
        ("ocean", each(&|c| map.ocean[c])),
        ("coast", each(&|c| map.coast[c])),
        ("border", each(&|c| graph.is_border_center(graph::CenterIx(c as u32)))),
    ];
    for (name, column) in columns {
        let fits = layer.set_feature_attribute(name, column);
        debug_assert!(fits, "{name} has one entry a polygon");
    }
    layer
}

/// The rivers on the land. A line ends in the sea, or where it joins the line numbered `into` (-1 for the sea).
fn river_layer(params: &Island, land: &Land, place: &Place) -> VectorLayer {
    let mut layer = VectorLayer::new(Shape::Lines);
    let (mut into, mut volume) = (Vec::new(), Vec::new());
    for line in &land.rivers.lines {
        layer.push(line.points.iter().map(|point| {
            let [x, y] = place.to_world(point.at);
            [x, y, land.scale.to_m(point.z)]
        }));
        into.push(line.into.map_or(-1, |i| i as i64));
        volume.extend(line.points.iter().map(|point| point.volume));
    }
    let width = volume.iter().map(|v: &f64| params.river_width_m * v.sqrt()).collect();
    let fits = layer.set_feature_attribute("into", Column::Integer(into))
        && layer.set_vertex_attribute("width_m", Column::Number(width))
        && layer.set_vertex_attribute("volume", Column::Number(volume));
    debug_assert!(fits, "one entry a line or vertex");
    layer
}

#[cfg(test)]
mod tests;
