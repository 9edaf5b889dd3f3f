//! Contours: land from lines of equal height.

mod bounds;
mod plate;
mod trace;

use orogen_core::param::Fault;
use orogen_core::{
    Cancelled, Ctx, FeatureSet, Features, Frame, Layers, Op, OpError, Raster, Reach, Rect, Seed, Terrain,
    layer, work,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use self::bounds::{Bounds, Stop};
use self::plate::{Lattice, Pin, Stuff, Work};
use super::default_hills;
pub use super::user_heights::Placement;
use super::user_heights::{Heights, Map, covered};

/// Makes land from contour lines, as digitised from a map, without the terraces that triangles between lines leave.
///
/// The land is the thin plate that passes through every line,
///
/// ```text
/// minimise ∫ h_xx² + 2 h_xy² + h_yy²     subject to  h = z on the contours
/// ```
///
/// so slopes carry on across lines: summits and valley floors are rounded, and ridges and valleys keep going where
/// lines of one height face each other. Between lines of two heights the plate may swing beyond them; there it is
/// replaced, step by step, by a membrane (`∫ h_x² + h_y²`), which cannot. Where a line of the same height is near, the
/// plate would all but stay at that height, and crests and valleys become terraces; so beyond every line land goes on
/// rising or falling at the least as
///
/// ```text
/// |h − z| ≥ 0.8 i x / (1 + 5x),    x = distance from the line / distance of the next line on its other side, i apart
/// ```
///
/// Lines come inline, or from a GeoJSON file: lines and the outlines of polygons, their height a property or the third
/// coordinate. Points of the file are spot heights. Without either, contours of hills are generated from the seed.
///
/// **Guarantees** (1) Where lines lie two lattice steps or more apart, land on a line has its height within 5 % of the
/// interval between lines. (2) Between lines of two heights, land lies between them, give or take 2 % of what lies
/// between; a summit or pit within one line stays within one interval of it. (3) No height is more frequent for being that
/// of a contour: of three real models, at most 3 % of the samples came back within a hundredth of an interval of a line,
/// where 2 % is even and triangles leave 13 to 29 %. (4) The lattice depends on the world and the
/// parameters, not on the number of samples: any two samplings agree where they meet.
///
/// **Limits** What is smaller than `lattice_m` is lost; where several lines cross one lattice step, their mean counts.
/// Lines that end within the world leave a gap through which (2) does not look. Lines beyond the world are not used.
/// It is solved for the whole world at once, so its reach is `World`. Memory is some 50 bytes per lattice node, about
/// 14 MB with the default lattice, and as much as the lines again, and does not grow with the samples.
///
/// **After** Briggs, "Machine contouring using minimum curvature", Geophysics 39, 1974, and the tension of Smith &
/// Wessel, 1990. They move data to nodes and use one tension; here the cubic between nodes meets the lines where they
/// cross the lattice, and tension is added only where the plate would swing too far.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Contours {
    /// The lines.
    #[schemars(length(max = 100_000))]
    pub contours: Vec<Contour>,
    /// A GeoJSON file of lines instead, relative to the recipe.
    #[schemars(extend("x-kind" = "file", "maxLength" = 4096))]
    pub path: String,
    /// The property that holds the height; when empty, one that is named like a height, else the third coordinate.
    #[schemars(extend("maxLength" = 256))]
    pub property: String,
    /// How the lines are placed in the world.
    pub placement: Placement,
    /// Moves the placed lines east and north.
    #[schemars(inner(range(min = -1e9, max = 1e9)), extend("x-unit" = "m"))]
    pub shift_m: [f64; 2],
    /// Factor on the heights; 0.3048 for contours in feet.
    #[schemars(range(min = -1e4, max = 1e4), extend("x-slider" = [0.1, 3.0]))]
    pub scale: f64,
    /// Height added after scaling.
    #[schemars(range(min = -1e5, max = 1e5), extend("x-unit" = "m", "x-slider" = [-1000.0, 1000.0]))]
    pub offset_m: f64,
    /// Spacing of the lattice that the plate is found on; 1/512 of the world's longer side when left out.
    #[schemars(range(min = 1e-3, max = 1e6), extend("x-unit" = "m", "x-slider" = [1.0, 50.0]))]
    pub lattice_m: Option<f64>,
}

/// A line of one height.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Contour {
    /// Its height.
    #[schemars(range(min = -1e5, max = 1e5), extend("x-unit" = "m"))]
    pub z_m: f64,
    /// Its vertices, (x, y) each.
    #[schemars(length(min = 2, max = 1_000_000), inner(inner(range(min = -1e9, max = 1e9))), extend("x-unit" = "m"))]
    pub points_m: Vec<[f64; 2]>,
    /// Whether the last vertex joins the first.
    #[serde(default)]
    pub closed: bool,
}

impl Default for Contours {
    fn default() -> Self {
        Self {
            contours: Vec::new(),
            path: String::new(),
            property: String::new(),
            placement: Placement::Own,
            shift_m: [0.0, 0.0],
            scale: 1.0,
            offset_m: 0.0,
            lattice_m: None,
        }
    }
}

impl Op for Contours {
    const ID: &'static str = "source.contours";
    const VERSION: u32 = 3;

    fn layers(&self) -> Layers {
        Layers::none().writing([layer::HEIGHT.name()])
    }

    fn reach(&self, _: &Frame) -> Reach {
        Reach::World
    }

    fn bytes_a_sample(&self, frame: &Frame) -> f64 {
        // The plate on its own lattice, or the land beside the lattice.
        let [width, depth] = frame.extent().size();
        let step = self.lattice_m.unwrap_or(width.max(depth) / 512.0);
        let nodes = (width / step + 1.0) * (depth / step + 1.0) / frame.len() as f64;
        (60.5 * nodes).max(4.0 + 9.5 * nodes)
    }

    fn files(&self) -> Vec<&str> {
        if self.path.is_empty() { Vec::new() } else { vec![&self.path] }
    }

    fn faults(&self) -> Vec<Fault> {
        if !self.path.is_empty() && !self.contours.is_empty() {
            let message = "cannot be combined with contours; give one of them";
            return vec![Fault::of("path", message)];
        }
        Vec::new()
    }

    fn run(&self, mut terrain: Terrain, ctx: &Ctx<'_>) -> Result<Terrain, OpError> {
        let world = ctx.world(&terrain).extent();
        let mut lines = if !self.path.is_empty() {
            read(&*ctx.files().features(&self.path)?, self)?
        } else if self.contours.is_empty() {
            Lines::of_hills(&world, ctx.seed())
        } else {
            Lines::given(&self.contours)
        };
        lines.place(self, &world);
        let height = contours_to_height(&lines, terrain.frame(), &world, self.lattice_m, ctx)?;
        terrain.set(layer::HEIGHT, height);
        Ok(terrain)
    }
}

/// Lines and spots, (x, y, z) each vertex.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Lines {
    /// Polylines, one after the other.
    vertices: Vec<[f64; 3]>,
    /// Where each ends.
    ends: Vec<usize>,
    /// Single heights.
    spots: Vec<[f64; 3]>,
}

impl Lines {
    fn push(&mut self, line: impl IntoIterator<Item = [f64; 3]>, closed: bool) {
        let start = self.vertices.len();
        self.vertices.extend(line);
        if closed && self.vertices.len() > start {
            self.vertices.push(self.vertices[start]);
        }
        self.ends.push(self.vertices.len());
    }

    fn given(contours: &[Contour]) -> Self {
        let mut lines = Self::default();
        for contour in contours {
            lines.push(contour.points_m.iter().map(|p| [p[0], p[1], contour.z_m]), contour.closed);
        }
        lines
    }

    /// Some fourteen contours of generated hills.
    fn of_hills(world: &Rect, seed: Seed) -> Self {
        const CELLS: f64 = 160.0;
        let [width, depth] = world.size();
        let step = width.max(depth) / CELLS;
        let (cols, rows) = ((width / step).round() as usize + 1, (depth / step).round() as usize + 1);
        let (cols, rows) = (cols.max(2), rows.max(2));
        let (dx, dy) = (width / (cols - 1) as f64, depth / (rows - 1) as f64);
        let land = default_hills::land(seed, world);
        let place = |at: [f64; 2]| [world.min[0] + at[0] * dx, world.min[1] + at[1] * dy];
        let heights = Raster::from_fn(cols, rows, |col, row| {
            let [x, y] = place([col as f64, row as f64]);
            land.at(x, y)
        });
        let (low, high) = heights.range().unwrap_or((0.0, 1.0));
        let interval = f64::from(high - low).max(1e-6) / 14.0;
        let mut lines = Self::default();
        for k in 0..14 {
            let level = f64::from(low) + (f64::from(k) + 0.5) * interval;
            let height = |col: usize, row: usize| f64::from(heights.row(row)[col]);
            for piece in trace::pieces(&height, cols, rows, level) {
                lines.push(
                    piece.map(|at| {
                        let [x, y] = place(at);
                        [x, y, level]
                    }),
                    false,
                );
            }
        }
        lines
    }

    fn place(&mut self, params: &Contours, world: &Rect) {
        let all = self.vertices.iter().chain(&self.spots).map(|p| [p[0], p[1]]);
        let Some(covered) = covered(all) else { return };
        let map = Map::new(params.placement, &covered, world, params.shift_m);
        for point in self.vertices.iter_mut().chain(&mut self.spots) {
            let [x, y] = map.place([point[0], point[1]]);
            *point = [x, y, params.scale * point[2] + params.offset_m];
        }
    }

    /// Where the lines cross the sides of a lattice, in the order of the sides; several on one side become one.
    fn crossings(&self, lattice: &Lattice) -> Vec<Crossing> {
        // Counted first: a list that grows by doubling would need thrice the room.
        let mut count = 0;
        self.each_crossing(lattice, |_| count += 1);
        let mut found = Vec::with_capacity(count);
        self.each_crossing(lattice, |crossing| found.push(crossing));
        found
            .sort_unstable_by(|p, q| p.side.cmp(&q.side).then(p.t.total_cmp(&q.t)).then(p.z.total_cmp(&q.z)));
        // Where one piece of a line ends on a side, the next begins.
        found.dedup_by(|q, p| p.side == q.side && q.t - p.t < 1e-6 && p.z == q.z);
        let (mut kept, mut start) = (0, 0);
        while start < found.len() {
            let side = found[start].side;
            let count = found[start..].iter().take_while(|crossing| crossing.side == side).count();
            found[kept] = Crossing::mean(&found[start..start + count]);
            (kept, start) = (kept + 1, start + count);
        }
        found.truncate(kept);
        found.shrink_to_fit();
        found
    }

    fn each_crossing(&self, lattice: &Lattice, mut found: impl FnMut(Crossing)) {
        let mut start = 0;
        for &end in &self.ends {
            for pair in self.vertices[start..end].windows(2) {
                let place = |p: [f64; 3]| {
                    let at = lattice.locate([p[0], p[1]]);
                    // What lies on the edge of the lattice or beyond stays there.
                    let last = [lattice.cols, lattice.rows].map(|count| (count - 1) as f64);
                    [0, 1].map(|k| match at[k] {
                        edge if edge <= 0.0 || edge >= last[k] => edge,
                        inside => (inside + OFF_NODES[k]).min(last[k]),
                    })
                };
                let (a, b) = (place(pair[0]), place(pair[1]));
                let z = [pair[0][2], pair[1][2]];
                for axis in 0..2 {
                    cross(a, b, z, axis, lattice, &mut found);
                }
            }
            start = end;
        }
    }

    /// The pins of a lattice: its crossings and the spots.
    fn pins(&self, lattice: &Lattice) -> Vec<Pin> {
        let lines = self.crossings(lattice).into_iter().map(|crossing| crossing.pin(lattice));
        let spots = self.spots.iter().filter_map(|spot| {
            let [u, v] = lattice.locate([spot[0], spot[1]]);
            let node = cell_of(lattice, [u, v])?;
            let (s, t) =
                ((u - (node % lattice.cols) as f64) as f32, (v - (node / lattice.cols) as f64) as f32);
            let n = node as u32;
            Some(Pin {
                nodes: [n, n + 1, n + lattice.cols as u32, n + lattice.cols as u32 + 1],
                weights: [(1.0 - s) * (1.0 - t), s * (1.0 - t), (1.0 - s) * t, s * t],
                z: spot[2] as f32,
            })
        });
        lines.chain(spots).collect()
    }
}

/// The south-west node of the cell that a place lies in; `None` beyond the lattice.
fn cell_of(lattice: &Lattice, [u, v]: [f64; 2]) -> Option<usize> {
    let inside =
        (0.0..=(lattice.cols - 1) as f64).contains(&u) && (0.0..=(lattice.rows - 1) as f64).contains(&v);
    let (col, row) = ((u as usize).min(lattice.cols - 2), (v as usize).min(lattice.rows - 2));
    inside.then_some(row * lattice.cols + col)
}

/// A line crosses a side of the lattice.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Crossing {
    /// Twice the node that the side begins at, and 1 more for a side to the north.
    side: u32,
    /// Share of the way along.
    t: f32,
    z: f32,
    /// The heights of the lines nearest to either end of the side: of one line both are its height.
    seen: [f32; 2],
    /// Whether the ends lie on different sides of the line; not where it comes back across the same side.
    parts: bool,
}

impl Crossing {
    fn mean(of: &[Self]) -> Self {
        let mean = |value: fn(&Self) -> f32| {
            (of.iter().map(|c| f64::from(value(c))).sum::<f64>() / of.len() as f64) as f32
        };
        let seen = [of[0].z, of[of.len() - 1].z];
        let parts = of.len() % 2 == 1 || seen[0] != seen[1];
        Self { side: of[0].side, t: mean(|c| c.t), z: mean(|c| c.z), seen, parts }
    }

    /// Both ends of the side.
    fn ends(&self, cols: usize) -> [usize; 2] {
        let node = (self.side / 2) as usize;
        [node, if self.side.is_multiple_of(2) { node + 1 } else { node + cols }]
    }

    /// Column and row.
    fn place(&self, cols: usize) -> [f32; 2] {
        let node = (self.side / 2) as usize;
        let (col, row) = ((node % cols) as f32, (node / cols) as f32);
        let t = self.t;
        if self.side.is_multiple_of(2) { [col + t, row] } else { [col, row + t] }
    }

    /// By the cubic through four nodes in a row, as samples are read; beyond an edge the last node stands again.
    fn pin(&self, lattice: &Lattice) -> Pin {
        let node = (self.side / 2) as usize;
        let east = self.side.is_multiple_of(2);
        let (at, count, stride) = if east {
            (node % lattice.cols, lattice.cols, 1)
        } else {
            (node / lattice.cols, lattice.rows, lattice.cols)
        };
        let t = self.t;
        let (t2, t3) = (t * t, t * t * t);
        let cubic = [
            0.5 * (2.0 * t2 - t - t3),
            0.5 * (3.0 * t3 - 5.0 * t2 + 2.0),
            0.5 * (4.0 * t2 - 3.0 * t3 + t),
            0.5 * (t3 - t2),
        ];
        // The four nodes, moved inside; a lattice has at least four a side.
        let first = at.saturating_sub(1).min(count - 4);
        let mut weights = [0.0; 4];
        for (k, weight) in cubic.into_iter().enumerate() {
            let place = (at + k).saturating_sub(1).min(count - 1);
            weights[place - first] += weight;
        }
        let origin = node - at * stride;
        Pin { nodes: [0, 1, 2, 3].map(|k| (origin + (first + k) * stride) as u32), weights, z: self.z }
    }
}

/// Where a piece of line crosses lattice lines of whole `axis` coordinate.
fn cross(
    a: [f64; 2],
    b: [f64; 2],
    z: [f64; 2],
    axis: usize,
    lattice: &Lattice,
    found: &mut impl FnMut(Crossing),
) {
    let counts = [lattice.cols, lattice.rows];
    let other = 1 - axis;
    let (low, high) = (a[axis].min(b[axis]), a[axis].max(b[axis]));
    if low == high {
        return; // along a lattice line: the other axis sees it
    }
    let first = low.ceil().max(0.0);
    let last = high.floor().min((counts[axis] - 1) as f64);
    let most = (counts[other] - 1) as f64;
    let mut at = first;
    while at <= last {
        let share = (at - a[axis]) / (b[axis] - a[axis]);
        let across = a[other] + share * (b[other] - a[other]);
        if (0.0..=most).contains(&across) {
            let cell = across.floor().min(most - 1.0);
            let (col, row) = if axis == 0 { (at, cell) } else { (cell, at) };
            let node = row as u32 * lattice.cols as u32 + col as u32;
            // A line of whole column is crossed on a side to the north.
            let side = 2 * node + u32::from(axis == 0);
            let z = (z[0] + share * (z[1] - z[0])) as f32;
            found(Crossing { side, t: (across - cell) as f32, z, seen: [z; 2], parts: true });
        }
        at += 1.0;
    }
}

/// The lines of a file, with the outlines of polygons, and its points as spots.
fn read(features: &Features, params: &Contours) -> Result<Lines, OpError> {
    let mut lines = Lines::default();
    let height = |set: &FeatureSet, feature: usize, p: &[f64; 3]| {
        let z = Heights::of(set, &params.property).at(set, feature, p[2], &params.path)?;
        Ok::<_, OpError>([p[0], p[1], z])
    };
    for (set, closed) in [(&features.lines, false), (&features.polygons, true)] {
        for feature in 0..set.vectors().len() {
            for part in set.vectors().parts(feature) {
                let vertices: Result<Vec<_>, _> =
                    set.vectors().vertices()[part].iter().map(|p| height(set, feature, p)).collect();
                lines.push(vertices?, closed);
            }
        }
    }
    if lines.ends.is_empty() {
        let reason =
            String::from("it has no lines or polygons; for points of known height use source.points");
        return Err(OpError::File { path: params.path.clone(), reason });
    }
    let spots = &features.points;
    for feature in 0..spots.vectors().len() {
        for part in spots.vectors().parts(feature) {
            for p in &spots.vectors().vertices()[part] {
                lines.spots.push(height(spots, feature, p)?);
            }
        }
    }
    Ok(lines)
}

/// Lines are taken to lie so many lattice steps further east and north. A line through a node exactly would cross none
/// of the sides beside it for certain, and land on both sides of the line would count as one patch.
const OFF_NODES: [f64; 2] = [1.37e-4, 2.29e-4];

/// Steps on the finest lattice, each time.
const ROUNDS: usize = 100;
/// How often tension is added at most.
const TENSIONS: usize = 4;
/// Most lattice cells a side.
const MOST_CELLS: f64 = 4096.0;

/// The algorithm alone: heights on a frame that is a part of a world.
///
/// # Errors
/// When cancelled, or no line crosses the world.
pub fn contours_to_height(
    lines: &Lines,
    frame: &Frame,
    world: &Rect,
    lattice_m: Option<f64>,
    ctx: &Ctx<'_>,
) -> Result<Raster<f32>, OpError> {
    let lattice = lattice_of(world, lattice_m);
    if lattice_m.is_some_and(|asked| lattice.spacing_m > 1.001 * asked) {
        ctx.warn(format!(
            "lattice_m gives more than {MOST_CELLS} cells a side; {:.3} m is used",
            lattice.spacing_m
        ));
    }
    check_work(&lattice, lattice_m, frame.len())?;
    let (mut sum, mut count) = (0.0, 0.0);
    lines.each_crossing(&lattice, |crossing| (sum, count) = (sum + f64::from(crossing.z), count + 1.0));
    if count == 0.0 {
        let message = "no contour crosses the world; check that the coordinates are metres of the world, or set `placement` to \"fit\"";
        return Err(OpError::Failed(message.to_owned()));
    }
    let counter = ctx.counter(((TENSIONS + 1) * (40 * ROUNDS + plate::COARSEST) + ROUNDS) / plate::TICK);
    let tick = || counter.done();
    // Heights from the mean of the lines on: more digits are left for what matters.
    let base = sum / count;
    let mut lines = lines.clone();
    lines.vertices.iter_mut().chain(&mut lines.spots).for_each(|p| p[2] -= base);
    let height = plate_through(&lines, &lattice, &tick, &|| ctx.stop_if_asked())?;
    let solved = Raster::from_vec(lattice.cols, lattice.rows, height)
        .ok_or_else(|| OpError::Failed(String::from("the lattice is empty")))?;
    let mut out = Raster::filled(frame.cols(), frame.rows(), 0.0f32);
    out.try_par_rows(|row, values| {
        let y = frame.y_m(row);
        for (col, value) in values.iter_mut().enumerate() {
            let [u, v] = lattice.locate([frame.x_m(col), y]);
            *value = (base + f64::from(solved.bicubic(u, v))) as f32;
        }
        ctx.tick(1, 1)?;
        Ok::<(), Cancelled>(())
    })?;
    Ok(out)
}

/// Nanoseconds that a node of the lattice takes, about.
const NS_A_NODE: f64 = 4000.0;

/// Refuses a lattice so much finer than the samples that it would take far too long.
fn check_work(lattice: &Lattice, lattice_m: Option<f64>, samples: usize) -> Result<(), OpError> {
    // The lattice that comes by itself is small enough for any land.
    let Some(asked_m) = lattice_m else { return Ok(()) };
    let nodes = (lattice.cols * lattice.rows) as f64;
    let ns_a_sample = NS_A_NODE * nodes / samples as f64;
    let least_m = lattice.spacing_m * (ns_a_sample / work::MOST_NS_A_SAMPLE).sqrt();
    let advice = format!("with so few samples the minimum is {}", (1e3 * least_m).ceil() / 1e3);
    work::check("lattice_m", asked_m, ns_a_sample, &advice)
}

/// The lattice of a world: square cells, so many that they can be halved down to a few.
fn lattice_of(world: &Rect, lattice_m: Option<f64>) -> Lattice {
    let [width, depth] = world.size();
    let (longer, shorter) = (width.max(depth), width.min(depth));
    let spacing_m = lattice_m.unwrap_or(longer / 512.0).min(shorter / 8.0).max(longer / MOST_CELLS);
    let cells = [width, depth].map(|side| ((side / spacing_m - 1e-6).ceil() as usize).max(4));
    let halvings = (cells[0].min(cells[1]) / 8).max(1).ilog2();
    let [cols, rows] = cells.map(|n| n.next_multiple_of(1 << halvings) + 1);
    let inside = [width, depth].map(|side| (side / spacing_m + 1e-6) as usize + 1);
    Lattice { origin_m: world.min, spacing_m, cols, rows, inside: [inside[0].min(cols), inside[1].min(rows)] }
}

/// The plate through the lines, with tension wherever it would leave its bounds.
fn plate_through(
    lines: &Lines,
    lattice: &Lattice,
    tick: &dyn Fn() -> Result<(), Cancelled>,
    stop: Stop<'_>,
) -> Result<Vec<f32>, Cancelled> {
    let pins = |lattice: &Lattice| lines.pins(lattice);
    let work = Work { pins: &pins, rounds: ROUNDS, tick };
    let crossings = lines.crossings(lattice);
    let bounds = Bounds::new(&crossings, &lines.spots, lattice);
    let mut marks = vec![0.0; lattice.nodes()];
    let mut height = plate::solve(lattice, 0, &marks, &work)?;
    for round in 0..TENSIONS {
        if !bounds.mark(&height, lattice, 8 << round, &mut marks, stop)? {
            break;
        }
        height = plate::solve(lattice, 0, &marks, &work)?;
    }
    let heights = bounds.height_bounds(&crossings, lattice, stop)?;
    height =
        plate::relaxed(height, lattice, &pins(lattice), &Stuff::of(&marks, 0), Some(&heights), ROUNDS, tick)?;
    bounds.hold(&mut height);
    Ok(height)
}

#[cfg(test)]
mod tests;
