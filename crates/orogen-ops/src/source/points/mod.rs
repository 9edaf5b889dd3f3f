//! Points: land from heights measured here and there.

mod mesh;

use orogen_core::math::smoothstep;
use orogen_core::param::{Fault, Segment};
use orogen_core::{
    Cancelled, Ctx, Features, Frame, Layers, Op, OpError, Prepared, Raster, Reach, Rect, Seed, Terrain, layer,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use self::mesh::{Mesh, Query};
use super::default_hills;
pub use super::user_heights::Placement;
use super::user_heights::{Heights, MOST_M, Map, covered};

/// Makes land from scattered points of known height: a survey, a table, or points of a map.
///
/// The points are joined to triangles (Delaunay). Between them
///
/// ```text
/// linear    the plane through the three corners of a triangle
/// natural   h(p) = Σ λ_i z_i                     λ_i: the share of p's Voronoi polygon that was point i's before p came
/// smooth    h(p) = (α Σ λ_i z_i + β ξ) / (α + β)      ξ: the same mean of planes at the points, nearer ones more
///           α = Σ λ_i d_i / Σ λ_i/d_i,  β = Σ λ_i d_i²,  d_i: the distance of point i
/// ```
///
/// `linear` has a crease along every side of a triangle; `natural` is smooth everywhere except for a peak or pit at the
/// points themselves; `smooth` has a slope there, too, that of the plane that fits the neighbours best, or none where
/// a point is higher or lower than all of them.
///
/// Points come inline, or from a file: GeoJSON points, or a table of x, y and z (`.csv`, `.xyz`, `.txt`). Without
/// either, a survey of hills is generated from the seed.
///
/// **Guarantees** (1) Land has the height of each point exactly there. (2) A plane comes back as that plane, by all
/// methods. (3) `linear` and `natural` stay between the lowest and the highest neighbour. (4) The order of the points
/// changes nothing; points in one place (within 1e-8 of what they cover) count as one of their mean height. (5) A
/// sample depends on the points and its own place: `Point` reach, windows of any spacing agree to the bit.
///
/// **Limits** `smooth` may rise above and fall below all points by a little, as hills between surveyed places do.
/// Beyond the outline of the points nothing is known, and `outside` says what the land is there. Points that all lie on a
/// line have no inside. All points are triangulated, once for all windows: about 100 bytes and 2 µs a point.
///
/// **After** Sibson, "A brief description of natural neighbour interpolation", 1981; the areas are summed over the
/// triangles that p would remove, as in Bowyer and Watson, 1981.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Points {
    /// The points, (x, y, z) each.
    #[schemars(length(max = 1_000_000), inner(inner(range(min = -1e9, max = 1e9))), extend("x-unit" = "m"))]
    pub points_m: Vec<[f64; 3]>,
    /// A file of points instead, relative to the recipe: GeoJSON, or a table that ends in csv, xyz or txt.
    #[schemars(extend("x-kind" = "file", "maxLength" = 4096))]
    pub path: String,
    /// The property that holds the height; when empty, one that is named like a height, else the third coordinate.
    #[schemars(extend("maxLength" = 256))]
    pub property: String,
    /// How heights between points are found.
    pub method: Method,
    /// How the points are placed in the world.
    pub placement: Placement,
    /// Moves the placed points east and north.
    #[schemars(inner(range(min = -1e9, max = 1e9)), extend("x-unit" = "m"))]
    pub shift_m: [f64; 2],
    /// What lies beyond the outline of the points.
    pub outside: Outside,
    /// Height beyond the outline where `outside` is `"level"` or `"fade"`; 0 is the sea.
    #[schemars(range(min = -1e5, max = 1e5), extend("x-unit" = "m", "x-slider" = [-100.0, 100.0]))]
    pub outside_m: f64,
    /// Distance over which land goes over to `outside_m` where `outside` is `"fade"`.
    #[schemars(range(min = 0.0, max = 1e6), extend("x-unit" = "m", "x-slider" = [0.0, 2000.0]))]
    pub fade_m: f64,
    /// Factor on the heights; 0.3048 for points in feet.
    #[schemars(range(min = -1e4, max = 1e4), extend("x-slider" = [0.1, 3.0]))]
    pub scale: f64,
    /// Height added after scaling.
    #[schemars(range(min = -1e5, max = 1e5), extend("x-unit" = "m", "x-slider" = [-1000.0, 1000.0]))]
    pub offset_m: f64,
    /// Distance between the points of a generated survey, about; at least 1/256 of the world.
    #[schemars(range(min = 0.01, max = 1e6), extend("x-unit" = "m", "x-slider" = [20.0, 1000.0]))]
    pub survey_m: f64,
}

/// How heights between points are found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Method {
    /// Straight, triangle by triangle; quick, with visible edges.
    Linear,
    /// By natural neighbours; never above or below them.
    Natural,
    /// By natural neighbours and their slopes: no tip at any point.
    #[default]
    Smooth,
}

/// What lies beyond the outline of the points.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Outside {
    /// The height at the nearest place of the outline.
    #[default]
    Edge,
    /// From that height to `outside_m` over `fade_m`.
    Fade,
    /// One height, `outside_m`.
    Level,
    /// Nothing: holes.
    Hole,
}

impl Default for Points {
    fn default() -> Self {
        Self {
            points_m: Vec::new(),
            path: String::new(),
            property: String::new(),
            method: Method::Smooth,
            placement: Placement::Own,
            shift_m: [0.0, 0.0],
            outside: Outside::Edge,
            outside_m: 0.0,
            fade_m: 500.0,
            scale: 1.0,
            offset_m: 0.0,
            survey_m: 160.0,
        }
    }
}

impl Op for Points {
    const ID: &'static str = "source.points";
    const VERSION: u32 = 1;

    fn layers(&self) -> Layers {
        Layers::none().writing([layer::HEIGHT.name()])
    }

    fn reach(&self, _: &Frame) -> Reach {
        Reach::Point
    }

    fn makes_holes(&self) -> bool {
        self.outside == Outside::Hole
    }

    fn files(&self) -> Vec<&str> {
        if self.path.is_empty() { Vec::new() } else { vec![&self.path] }
    }

    fn faults(&self) -> Vec<Fault> {
        if !self.path.is_empty() && !self.points_m.is_empty() {
            let message = "cannot be combined with points_m; give one of them";
            return vec![Fault::of("path", message)];
        }
        let high = self.points_m.iter().enumerate().filter(|(_, point)| point[2].abs() > MOST_M).take(100);
        high.map(|(i, point)| Fault {
            path: vec![Segment::Key(String::from("points_m")), Segment::Index(i), Segment::Index(2)],
            message: format!("{} is outside {} to {MOST_M} m", point[2], -MOST_M),
        })
        .collect()
    }

    fn prepare(&self, world: &Frame, ctx: &Ctx<'_>) -> Result<Option<Box<dyn Prepared>>, OpError> {
        Ok(Some(Box::new(Triangulated::new(self, world, ctx)?)))
    }

    fn run(&self, terrain: Terrain, ctx: &Ctx<'_>) -> Result<Terrain, OpError> {
        Triangulated::new(self, &ctx.world(&terrain), ctx)?.run(terrain, ctx)
    }
}

/// The mesh of the points, which no window changes.
struct Triangulated {
    mesh: Mesh,
    params: Points,
}

impl Triangulated {
    fn new(params: &Points, world: &Frame, ctx: &Ctx<'_>) -> Result<Self, OpError> {
        let world = world.extent();
        let given = if !params.path.is_empty() {
            read(&*ctx.files().features(&params.path)?, params)?
        } else if params.points_m.is_empty() {
            survey(params.survey_m, &world, ctx.seed())
        } else {
            params.points_m.clone()
        };
        let points = placed(given, params, &world);
        ctx.tick(1, 20)?;
        // The points are in the mesh.
        let params = Points { points_m: Vec::new(), ..params.clone() };
        Ok(Self { mesh: mesh(&points, &params)?, params })
    }
}

impl Prepared for Triangulated {
    fn run(&self, mut terrain: Terrain, ctx: &Ctx<'_>) -> Result<Terrain, OpError> {
        let height = heights(&self.mesh, terrain.frame(), &self.params, ctx)?;
        terrain.set(layer::HEIGHT, height);
        Ok(terrain)
    }
}

/// The points of a file with their heights.
fn read(features: &Features, params: &Points) -> Result<Vec<[f64; 3]>, OpError> {
    let set = &features.points;
    let vectors = set.vectors();
    let heights = Heights::of(set, &params.property);
    let mut points = Vec::with_capacity(vectors.vertices().len());
    for feature in 0..vectors.len() {
        for part in vectors.parts(feature) {
            for &[x, y, z] in &vectors.vertices()[part] {
                points.push([x, y, heights.at(set, feature, z, &params.path)?]);
            }
        }
    }
    if points.is_empty() {
        let reason = String::from("it has no points; for lines of equal height use source.contours");
        return Err(OpError::File { path: params.path.clone(), reason });
    }
    Ok(points)
}

/// Points in the cells of a lattice, each anywhere in its cell, with the heights of generated hills.
fn survey(spacing_m: f64, world: &Rect, seed: Seed) -> Vec<[f64; 3]> {
    let [width, depth] = world.size();
    let step = spacing_m.max(width.max(depth) / 256.0);
    let land = default_hills::land(seed, world);
    let (east, north) = (seed.child("east"), seed.child("north"));
    let cells = |k: usize| {
        let first = (world.min[k] / step).floor() as i64 - 1;
        first..=(world.max[k] / step).ceil() as i64
    };
    cells(1)
        .flat_map(|j| cells(0).map(move |i| (i, j)))
        .map(|(i, j)| {
            let x = (i as f64 + 0.1 + 0.8 * east.unit2(i, j)) * step;
            let y = (j as f64 + 0.1 + 0.8 * north.unit2(i, j)) * step;
            [x, y, f64::from(land.at(x, y))]
        })
        .collect()
}

/// The points where they lie in the world, at their final height.
fn placed(mut points: Vec<[f64; 3]>, params: &Points, world: &Rect) -> Vec<[f64; 3]> {
    let Some(covered) = covered(points.iter().map(|p| [p[0], p[1]])) else { return points };
    let map = Map::new(params.placement, &covered, world, params.shift_m);
    for point in &mut points {
        let [x, y] = map.place([point[0], point[1]]);
        *point = [x, y, params.scale * point[2] + params.offset_m];
    }
    points
}

/// The algorithm alone: heights on a frame from points (x, y, z) in the world. 4 bytes a sample beside the mesh.
///
/// # Errors
/// When cancelled, and when there are no points or more than 2^28.
pub fn points_to_height(
    points: &[[f64; 3]],
    frame: &Frame,
    params: &Points,
    ctx: &Ctx<'_>,
) -> Result<Raster<f32>, OpError> {
    heights(&mesh(points, params)?, frame, params, ctx)
}

/// The triangles between points, with slopes where the method has use for them.
fn mesh(points: &[[f64; 3]], params: &Points) -> Result<Mesh, OpError> {
    let mut mesh = Mesh::new(points).map_err(|e| OpError::Failed(e.to_string()))?;
    if params.method == Method::Smooth {
        mesh.find_slopes();
    }
    Ok(mesh)
}

fn heights(mesh: &Mesh, frame: &Frame, params: &Points, ctx: &Ctx<'_>) -> Result<Raster<f32>, OpError> {
    if mesh.is_line() {
        ctx.warn("all points lie on one line, so all land is outside of them");
    }
    let natural = params.method != Method::Linear;
    let counter = ctx.counter(frame.rows());
    let mut out = Raster::filled(frame.cols(), frame.rows(), 0.0f32);
    out.try_par_rows(|row, values| {
        let mut query = Query::default();
        let y = frame.y_m(row);
        for (col, value) in values.iter_mut().enumerate() {
            let reading = mesh.read([frame.x_m(col), y], natural, &mut query);
            *value = if reading.outside_m > 0.0 {
                beyond(reading.height, reading.outside_m, params)
            } else {
                reading.height as f32
            };
        }
        counter.done()?;
        Ok::<(), Cancelled>(())
    })?;
    Ok(out)
}

/// The height so far from the outline, given the height of the outline.
fn beyond(edge_m: f64, distance_m: f64, params: &Points) -> f32 {
    match params.outside {
        Outside::Edge => edge_m as f32,
        Outside::Level => params.outside_m as f32,
        Outside::Hole => f32::NAN,
        Outside::Fade => {
            let share = f64::from(smoothstep(0.0, params.fade_m.max(1e-9) as f32, distance_m as f32));
            (edge_m + share * (params.outside_m - edge_m)) as f32
        }
    }
}

#[cfg(test)]
mod tests;
