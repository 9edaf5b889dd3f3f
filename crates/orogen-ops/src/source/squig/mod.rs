//! Squig: mountains round a river that was there first.

mod land;
mod mesh;
mod streams;

use std::sync::Arc;

use orogen_core::param::Fault;
use orogen_core::vector::{Column, Shape, VectorLayer};
use orogen_core::{
    Cancelled, Ctx, Frame, Layers, Op, OpError, Prepared, Reach, Rect, Terrain, layer, math, work,
};
use rayon::prelude::*;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use land::Land;
use mesh::Mesh;
use streams::{LEAST_FALL, Streams};

/// A side of the recipe's frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Side {
    /// The upper side of the map.
    North,
    /// The right side of the map.
    East,
    /// The lower side of the map.
    South,
    /// The left side of the map.
    West,
}

/// Draws a winding river first and raises mountains round it: a squig curve, with tributaries down to every hollow.
///
/// The frame is a few triangles, with a tree of ways through them. Water enters a triangle by one edge and leaves it by
/// another; the third is neutral. Each is cut into four, at places near the middles of its edges, again and again,
/// until they are about `spacing_m` wide:
///
/// ```text
/// entry → entry + neutral,   exit → exit + neutral,   neutral → neutral + neutral
/// ```
///
/// and inside a triangle water goes from the corner it enters to the middle and on to the corner it leaves by, or
/// straight through where that is one corner. Corners left dry get a spring, whose stream feeds the middle, so in the
/// end every triangle drains, and all streams meet in the river. Streams fall by the land A that they drain, and land
/// rises from all of them:
///
/// ```text
/// bed     dz/ds = k · A^-concavity                                  k: so that the land has relief_m
/// land    h(p)  = min over streams of  z + tan(slope) · g · (u + b·L/(g + L)) / (1 − d²/R²),   g = √(d² + w²) − w
/// ```
///
/// with d the distance to the stream, w half its valley floor, R the reach of any stream. Unevenness is of two kinds:
/// spurs, u, belong to the place on the stream that is nearest, so gullies between them run straight down to it;
/// bumps, b, are noise that stops growing a short way L up the hillside. No stream is left so high above another close
/// by that the lower one would capture it.
///
/// **Guarantees** (1) The river enters the frame once, leaves it once, and never crosses itself; nor does any other
/// stream. (2) Every stream falls all the way to the outlet. (3) Land rises from the bed of every stream, and no bed is
/// a metre above the land: noise changes how steeply land rises, not where streams run. (4) Up to the default
/// `roughness` no hillside has a hollow: water from everywhere reaches a stream. (5) A height depends on the seed, the
/// recipe's frame and its place: windows fit.
///
/// **Limits** The border of the frame is a divide except at inlet and outlet: tiles of one recipe fit together, two
/// recipes side by side do not. Ridges lie where two hillsides meet, so they are sharp. Samples do not resolve the beds
/// of small streams: there a raster has hollows a sample wide. Triangles halve, so streams are apart by `spacing_m`
/// only within a factor of 1.5. More than 600 thousand triangles are refused, and more than one for
/// every eight samples (of 129 × 129, where there are fewer).
///
/// **Vectors** `rivers`: lines downstream, the main river first; with `width_m` and `discharge_m3s` at every vertex
/// and the line each runs `into`, -1 at the outlet.
///
/// **After** Prusinkiewicz & Hammel, "A fractal model of mountains with rivers", Graphics Interface 1993. They set the
/// river's triangles to one height and displace the rest, which leaves asymmetric valleys and creases; our land
/// follows from distances. Tributaries and falling beds are ours.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Squig {
    /// Side on which the river comes in.
    pub inlet: Side,
    /// Side on which it leaves; must differ from the inlet.
    pub outlet: Side,
    /// Distance between streams, about: the width of the smallest triangles.
    #[schemars(range(min = 0.1, max = 1e6), extend("x-unit" = "m", "x-slider" = [200.0, 3000.0]))]
    pub spacing_m: f64,
    /// How far the river winds: 0 takes the shorter way wherever there is one, 1 chooses at random.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub wander: f64,
    /// Height of the highest land above the outlet, about.
    #[schemars(range(min = 0.0, max = 15_000.0), extend("x-unit" = "m", "x-slider" = [100.0, 3000.0]))]
    pub relief_m: f64,
    /// Height of the river where it leaves.
    #[schemars(range(min = -12_000.0, max = 9000.0), extend("x-unit" = "m", "x-slider" = [0.0, 1000.0]))]
    pub level_m: f64,
    /// Steepness of hillsides, before unevenness; gentler where they alone would exceed the relief.
    #[schemars(range(min = 1.0, max = 80.0), extend("x-unit" = "deg", "x-slider" = [10.0, 45.0]))]
    pub slope_deg: f64,
    /// How much gentler streams get the more land they drain.
    #[schemars(range(min = 0.0, max = 1.0), extend("x-slider" = [0.2, 0.7]))]
    pub concavity: f64,
    /// Width of the valley floor where the river leaves; others are narrower by the root of the land they drain.
    #[schemars(range(min = 0.0, max = 1e5), extend("x-unit" = "m", "x-slider" = [0.0, 500.0]))]
    pub floor_m: f64,
    /// How uneven hillsides are.
    #[schemars(range(min = 0.0, max = 2.0), extend("x-slider" = [0.0, 1.0]))]
    pub roughness: f64,
    /// Land outside the frame that the river drains before it comes in.
    #[schemars(range(min = 0.0, max = 1e7), extend("x-unit" = "km2", "x-slider" = [0.0, 500.0]))]
    pub inflow_km2: f64,
    /// Land that a stream must drain to be listed among the rivers.
    #[schemars(range(min = 0.0, max = 1e7), extend("x-unit" = "km2", "x-slider" = [0.01, 5.0]))]
    pub river_km2: f64,
    /// Width of the river where it leaves.
    #[schemars(range(min = 0.0, max = 1e4), extend("x-unit" = "m", "x-slider" = [1.0, 100.0]))]
    pub river_width_m: f64,
}

impl Default for Squig {
    fn default() -> Self {
        Self {
            inlet: Side::North,
            outlet: Side::South,
            spacing_m: 1000.0,
            wander: 0.4,
            relief_m: 1400.0,
            level_m: 40.0,
            slope_deg: 38.0,
            concavity: 0.45,
            floor_m: 120.0,
            roughness: 0.8,
            inflow_km2: 30.0,
            river_km2: 0.25,
            river_width_m: 25.0,
        }
    }
}

/// Most triangles.
const MOST_TRIANGLES: f64 = 6e5;
/// Water that a square kilometre yields, in a temperate climate.
const RUNOFF_M3S_PER_KM2: f64 = 0.03;

impl Op for Squig {
    const ID: &'static str = "source.squig";
    const VERSION: u32 = 1;

    fn layers(&self) -> Layers {
        Layers::none().writing([layer::HEIGHT.name()]).deriving_vectors(["rivers"], [layer::HEIGHT.name()])
    }

    fn reach(&self, _: &Frame) -> Reach {
        Reach::Point
    }

    fn faults(&self) -> Vec<Fault> {
        if self.inlet == self.outlet {
            return vec![Fault::of("outlet", "must be another side than the inlet")];
        }
        Vec::new()
    }

    fn prepare(&self, world: &Frame, ctx: &Ctx<'_>) -> Result<Option<Box<dyn Prepared>>, OpError> {
        Ok(Some(Box::new(Laid::new(self, world, ctx)?)))
    }

    fn run(&self, terrain: Terrain, ctx: &Ctx<'_>) -> Result<Terrain, OpError> {
        Laid::new(self, &ctx.world(&terrain), ctx)?.run(terrain, ctx)
    }
}

/// The land between the streams, which no window changes.
struct Laid {
    land: Land,
    rivers: Arc<VectorLayer>,
}

impl Laid {
    fn new(params: &Squig, world: &Frame, ctx: &Ctx<'_>) -> Result<Self, OpError> {
        let rect = world.extent();
        let mesh = triangles(params, &rect, ctx)?;
        params.check_work(mesh.triangles.len(), world.len())?;
        let country = Country::new(params, &mesh, &rect, ctx)?;
        let rivers = Arc::new(country.rivers(params, ctx)?);
        Ok(Self { land: country.land, rivers })
    }
}

impl Prepared for Laid {
    fn run(&self, mut terrain: Terrain, ctx: &Ctx<'_>) -> Result<Terrain, OpError> {
        let height = self.land.raster(terrain.frame(), ctx)?;
        terrain.set(layer::HEIGHT, height);
        terrain.set_vector("rivers", self.rivers.clone());
        Ok(terrain)
    }
}

/// Work on the streams of one triangle, in nanoseconds of one processor: some 20 places, brought to rest in up to 316 rounds.
const NS_A_TRIANGLE: f64 = 8e6;
/// A preview of fewer samples may take as long as one of so many.
const LEAST_SAMPLES: usize = 129 * 129;

impl Squig {
    /// Refuses more triangles than are in proportion to so many samples: streams are laid however few samples show them.
    fn check_work(&self, triangles: usize, samples: usize) -> Result<(), OpError> {
        let ns_a_sample = NS_A_TRIANGLE * triangles as f64 / samples.max(LEAST_SAMPLES) as f64;
        // Triangles halve, so the distance doubles.
        let halvings = (0.5 * math::log2(ns_a_sample / work::MOST_NS_A_SAMPLE)).ceil().max(0.0);
        let advice =
            format!("use {:.0} or more, or more samples", (self.spacing_m * math::exp2(halvings)).ceil());
        work::check("spacing_m", self.spacing_m, ns_a_sample, &advice)
    }

    /// Steepness of hillsides: as given, or less where they alone would exceed the relief.
    fn hillside(&self, spacing_m: f64) -> f64 {
        math::tan(self.slope_deg.to_radians()).min(1.3 * self.relief_m / spacing_m)
    }

    /// Half the valley floor of a stream that drains a share of the land.
    fn floor(&self, share: f64) -> f64 {
        0.5 * self.floor_m * share.max(0.0).sqrt()
    }
}

/// The streams and the land between them.
struct Country {
    streams: Streams,
    land: Land,
}

impl Country {
    fn new(params: &Squig, mesh: &Mesh, rect: &Rect, ctx: &Ctx<'_>) -> Result<Self, OpError> {
        // The legs of half a square, which triangles are about.
        let size = rect.size();
        let spacing_m = (2.0 * size[0] * size[1] / mesh.triangles.len() as f64).sqrt();
        let mut streams = Streams::draw(mesh, 1e6 * params.inflow_km2, ctx.seed().child("crossings"));
        // Every triangle has a stream, so no place is farther from one than this.
        let reach_m = 1.02 * mesh.longest();
        let mut land = Land::new(params, &streams, rect, reach_m, spacing_m, ctx);
        streams.lay(params, &mut land, spacing_m, &mesh.points, ctx)?;
        Ok(Self { streams, land })
    }

    /// The streams that are rivers, with the heights that the land has there.
    fn rivers(&self, params: &Squig, ctx: &Ctx<'_>) -> Result<VectorLayer, Cancelled> {
        let nodes = &self.streams.nodes;
        let is_river = |i: usize| nodes[i].trunk || nodes[i].area >= 1e6 * params.river_km2;
        let bed =
            |i: usize| if is_river(i) { f64::from(self.land.height(nodes[i].at)) } else { f64::INFINITY };
        ctx.tick(1, 1)?;
        let mut beds: Vec<f64> = (0..nodes.len()).into_par_iter().map(bed).collect();
        for i in (1..nodes.len()).rev() {
            let most = beds[i] - LEAST_FALL * nodes[i].length;
            beds[nodes[i].down] = beds[nodes[i].down].min(most);
        }
        let up = self.streams.mains();
        // Each line begins where no river comes in and ends where another is the greater; the main river is first.
        let mut starts: Vec<usize> =
            (0..nodes.len()).filter(|&i| is_river(i) && up[i].is_none_or(|up| !is_river(up))).collect();
        starts.sort_by_key(|&i| (!nodes[i].trunk, i));
        let mut lines: Vec<Vec<usize>> = Vec::new();
        let mut line_of = vec![0usize; nodes.len()];
        for (number, &start) in starts.iter().enumerate() {
            let mut line = vec![start];
            let mut here = start;
            line_of[here] = number;
            while here != 0 {
                let down = nodes[here].down;
                line.push(down);
                if up[down] != Some(here) {
                    break;
                }
                line_of[down] = number;
                here = down;
            }
            lines.push(line);
        }
        let mut layer = VectorLayer::new(Shape::Lines);
        let (mut into, mut areas) = (Vec::new(), Vec::new());
        for line in &lines {
            layer.push(line.iter().map(|&i| [nodes[i].at[0], nodes[i].at[1], beds[i]]));
            let (&start, &last) = line.first().zip(line.last()).unwrap_or((&0, &0));
            let joins = line_of[last] != line_of[start];
            into.push(if joins { line_of[last] as i64 } else { -1 });
            // At its end a tributary still has its own water.
            let own = if joins { line[line.len() - 2] } else { last };
            areas.extend(line.iter().map(|&i| nodes[if i == last { own } else { i }].area));
        }
        let most = nodes[0].area.max(1.0);
        let width = areas.iter().map(|a| params.river_width_m * (a / most).sqrt()).collect();
        let discharge = areas.iter().map(|a| RUNOFF_M3S_PER_KM2 * a / 1e6).collect();
        let fits = layer.set_feature_attribute("into", Column::Integer(into))
            && layer.set_vertex_attribute("width_m", Column::Number(width))
            && layer.set_vertex_attribute("discharge_m3s", Column::Number(discharge));
        debug_assert!(fits, "one entry a line or vertex");
        Ok(layer)
    }
}

/// The triangles of the frame, cut until they are as wide as streams are apart.
fn triangles(params: &Squig, rect: &Rect, ctx: &Ctx<'_>) -> Result<Mesh, OpError> {
    let seed = ctx.seed().child("triangles");
    let mut mesh = Mesh::over(rect, params, seed);
    let size = rect.size();
    let (side, _) = mesh::first(rect, params.spacing_m);
    let cuts = math::log2(side / params.spacing_m).round().clamp(0.0, 40.0);
    if mesh.triangles.len() as f64 * math::exp2(2.0 * cuts) > MOST_TRIANGLES {
        let most = (0.5 * math::log2(MOST_TRIANGLES / mesh.triangles.len() as f64)).floor();
        return Err(OpError::Failed(format!(
            "spacing_m: {} makes more than 600 thousand triangles on a frame of {} m × {} m; use {:.3} or more",
            params.spacing_m,
            size[0],
            size[1],
            side / math::exp2(most + 0.49)
        )));
    }
    for number in 1..=cuts as u8 {
        mesh = mesh.cut(number + 1, params, orogen_core::Seed(seed.bits(u64::from(number))));
    }
    mesh.bend(rect, seed.child("bends"));
    ctx.tick(1, 100)?;
    Ok(mesh)
}

#[cfg(test)]
mod tests;
