//! Contours: lines of equal height.

use orogen_core::vector::{Column, Point, VectorLayer};
use orogen_core::{Cancelled, Ctx, Frame, Layers, Loops, Op, OpError, Raster, Reach, Terrain, layer};
use rayon::prelude::*;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

mod band;
mod join;
mod surface;
#[cfg(test)]
mod tests;

use surface::Surface;

/// Draws lines of equal height and keeps them as the vectors `contours`, each with its level and whether it is closed.
///
/// ```text
///  low ── N ── high      A line enters and leaves a cell where an edge has one end above the level and one not;
///   │      ╲     │       the place is straight in between. High ground lies to the left, so lines round a summit run
///   W        ╲── E       counter-clockwise. Where all four edges are crossed, the mean of the corners decides which
///  low ── S ── low       two belong together.
/// ```
///
/// With `smooth`, lines are drawn on the cubic B-spline surface of the samples, at four times their number: round,
/// without the corners of the cells. The surface stays between neighbouring heights.
///
/// **Guarantees** (1) a line ends at the edge of the land or at a hole, or it is closed and ends where it began; (2) all
/// vertices lie on the level within rounding; (3) lines do not cross, smoothed or not, as all lie on one surface; (4) a
/// sample exactly on a level counts as below it; (5) lines come by level from low to high.
///
/// **Limits** A cell with a hole at a corner has no lines. At most 100,000 levels and 134 million vertices; more are
/// refused before the work starts. Without `smooth` 4 bytes a cell are read; a vertex takes 16 bytes on the way, 32 more
/// while its band of 64 rows is traced, and 24 in the result.
///
/// **After** the marching squares of Lorensen & Cline, SIGGRAPH 1987, in two dimensions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Contours {
    /// Height between one level and the next.
    #[schemars(range(min = 1e-3, max = 1e5), extend("x-unit" = "m", "x-slider" = [5.0, 200.0]))]
    pub interval_m: f64,
    /// A level that all others are counted from.
    #[schemars(range(min = -1e5, max = 1e5), extend("x-unit" = "m", "x-slider" = [0.0, 100.0]))]
    pub base_m: f64,
    /// Whether lines are rounded.
    pub smooth: bool,
}

impl Default for Contours {
    fn default() -> Self {
        Self { interval_m: 50.0, base_m: 0.0, smooth: false }
    }
}

impl Op for Contours {
    const ID: &'static str = "survey.contours";
    const VERSION: u32 = 1;

    fn layers(&self) -> Layers {
        Layers::none().reading([layer::HEIGHT.name()]).deriving_vectors(["contours"], [layer::HEIGHT.name()])
    }

    fn reach(&self, _: &Frame) -> Reach {
        Reach::World
    }

    fn bytes_a_sample(&self, frame: &Frame) -> f64 {
        // On hills with slopes of one in five or so; four times the vertices where they are rounded.
        let vertices = if self.smooth { 4.0 } else { 1.0 } * 50.0 / self.interval_m;
        1500.0 * vertices / frame.cols().max(frame.rows()) as f64
    }

    fn loops(&self) -> Loops {
        Loops::AsIs
    }

    fn run(&self, mut terrain: Terrain, ctx: &Ctx<'_>) -> Result<Terrain, OpError> {
        let frame = *terrain.frame();
        let [dx, dy] = frame.spacing_m();
        let (west, north) = (frame.x_m(0), frame.y_m(0));
        let place = |[col, row]: [f64; 2], level_m| [west + col * dx, north - row * dy, level_m];
        let lines = contours(terrain.get(layer::HEIGHT)?, self, place, ctx)?;
        terrain.set_vector("contours", lines.into_vectors());
        Ok(terrain)
    }
}

/// Lines of equal height with vertices of some kind.
#[derive(Clone, Debug, PartialEq)]
pub struct Lines<P> {
    /// Level of each line, in metres.
    pub levels_m: Vec<f64>,
    /// Whether each line is closed; a closed line repeats its first vertex at its end.
    pub closed: Vec<bool>,
    /// Where each line ends in `vertices`; it starts where the one before ends.
    pub ends: Vec<usize>,
    /// All vertices of all lines.
    pub vertices: Vec<P>,
}

impl<P> Lines<P> {
    /// Number of lines.
    #[must_use]
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The vertices of a line.
    #[must_use]
    pub fn line(&self, index: usize) -> &[P] {
        let start = if index == 0 { 0 } else { self.ends[index - 1] };
        &self.vertices[start..self.ends[index]]
    }
}

impl Lines<Point> {
    /// As vectors with the attributes `level_m` and `closed`.
    #[must_use]
    pub fn into_vectors(self) -> VectorLayer {
        let mut layer = VectorLayer::lines(self.vertices, &self.ends);
        // One entry for each line, so both fit.
        let _ = layer.set_feature_attribute("level_m", Column::Number(self.levels_m));
        let _ = layer.set_feature_attribute("closed", Column::Flag(self.closed));
        layer
    }
}

/// Largest number of levels between the lowest and the highest ground.
const MOST_LEVELS: f64 = 1e5;
/// Largest number of vertices.
const MOST_VERTICES: u64 = 1 << 27;

/// The levels that a surface may meet, numbered from 0.
#[derive(Clone, Copy, Debug)]
struct Levels {
    base_m: f64,
    interval_m: f64,
    /// Number of the first one, counted from the base.
    first: f64,
}

impl Levels {
    #[inline]
    fn height_m(&self, number: i32) -> f64 {
        self.base_m + (self.first + f64::from(number)) * self.interval_m
    }
}

/// The algorithm alone: all contours of a raster of heights. `place` makes a vertex of a column and a row, both with
/// fractions, and a level.
///
/// # Errors
/// When cancelled, or when there would be too many levels or vertices, or no memory for them.
pub fn contours<P: Copy + Default + Send>(
    height: &Raster<f32>,
    params: &Contours,
    place: impl Fn([f64; 2], f64) -> P + Sync,
    ctx: &Ctx<'_>,
) -> Result<Lines<P>, OpError> {
    let Some((low, high)) = height.range().filter(|(low, high)| low.is_finite() && high.is_finite()) else {
        return Ok(Lines {
            levels_m: Vec::new(),
            closed: Vec::new(),
            ends: Vec::new(),
            vertices: Vec::new(),
        });
    };
    let (low, high) = (f64::from(low), f64::from(high));
    if (high - low) / params.interval_m > MOST_LEVELS {
        return Err(OpError::Failed(format!(
            "heights from {low} to {high} m with {} m between contours make more than {MOST_LEVELS} levels; use a larger interval",
            params.interval_m
        )));
    }
    let first = ((low - params.base_m) / params.interval_m).floor() - 1.0;
    let levels = Levels { base_m: params.base_m, interval_m: params.interval_m, first };
    let surface = Surface::new(height, params.smooth);
    // Refused here, before the work starts; what is counted on the way is exact.
    let expected = surface.refinement() as f64 * variation_m(height, ctx)? / params.interval_m;
    if expected > 1.1 * MOST_VERTICES as f64 {
        return Err(too_many(params.interval_m));
    }
    let bands = band::all(&surface, &levels, ctx)?;
    let scale = 1.0 / surface.refinement() as f64;
    join::join(&bands, &levels, |[col, row], level_m| place([col * scale, row * scale], level_m), ctx)
}

/// How far heights go up and down along all rows and columns, in metres. Divided by the interval: about the number of
/// places where a level crosses an edge.
fn variation_m(height: &Raster<f32>, ctx: &Ctx<'_>) -> Result<f64, Cancelled> {
    let counter = ctx.counter(height.rows());
    let along = |row: usize| {
        let (here, south) = (height.row(row), height.row((row + 1).min(height.rows() - 1)));
        let step = |(a, b): (&f32, &f32)| {
            let step = f64::from((a - b).abs());
            if step.is_nan() { 0.0 } else { step }
        };
        let sum = here.iter().zip(&here[1..]).map(step).sum::<f64>();
        counter.done().map(|()| sum + here.iter().zip(south).map(step).sum::<f64>())
    };
    (0..height.rows()).into_par_iter().map(along).sum()
}

/// More vertices than there may be.
fn too_many(interval_m: f64) -> OpError {
    OpError::Failed(format!(
        "contours every {interval_m} m have more than {MOST_VERTICES} vertices here; use a larger interval"
    ))
}

/// Memory for more entries, or a sentence: contours may be larger than all the land.
fn room_for<T>(list: &mut Vec<T>, more: usize) -> Result<(), OpError> {
    list.try_reserve(more).map_err(|_| {
        let total = list.len() + more;
        OpError::Failed(format!("not enough memory for contours of {total} vertices; use a larger interval"))
    })
}
