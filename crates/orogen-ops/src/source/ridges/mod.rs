//! Ridges and rivers drawn by particles, and land filled in between.

mod fill;
mod particles;

use std::sync::Arc;

use orogen_core::vector::{Column, Shape, VectorLayer};
use orogen_core::{Ctx, Frame, Layers, Op, OpError, Prepared, Raster, Reach, Rect, Terrain, layer, math};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::lattice::{Axis, Blend, interpolate};
use fill::{Displace, Known, fill};
use particles::{COARSE, Crest, Field, Node, Pieces, bells, crosses, ridges, rivers};

/// Draws mountain ridges and the rivers between them with particles, then fills in the land: structure first.
///
/// ```text
/// ridge particles   two leave one place in opposite directions; fBm turns them; z = peak · exp(−s²/2σ²)
/// flanks            across every ridge a bell of its own, exp(−d²/2σₜ²)
/// river particles   v ← (v − g·∇h·t) / (1 + t/(friction·m^¼)),  x ← x + v·t      from both sides of the ridges
/// where two meet    m = m₁ + m₂,  v = (m₁v₁ + m₂v₂)/m; from there on the older runs again
/// fill              known heights up a pyramid of ever coarser grids; down again by midpoints, with displacement
/// ```
///
/// Beds fall from where a particle began to where it left the land, are cut deeper the more mass they carry, and leave
/// both banks higher than the water, so that land between two rivers stands up as a spur. Water that is caught in a
/// hollow finds the lowest way out, and the bed is cut through its lip. Only what the pre-fill does not know is
/// displaced, so displacements are small near ridges and beds and large far from them.
///
/// **Guarantees** (1) Every river falls all along, and no two cross: where they meet, one ends in the other. (2) Mass is
/// conserved: a river carries as much as the particles that it took up. (3) Land on a bed is as high as the bed, within
/// what a cell of the working grid resolves, and nearly all land beside it is higher. (4) All steps are in metres on a
/// grid of `cell_m`, so resolutions agree. (5) A height depends on the seed, the recipe's frame and its place: windows fit.
///
/// **Limits** Detail ends at `cell_m`, which grows with frames of more than 32 km unless it is given: there valleys
/// should be wider than the default too. Particles run in turn, so that part is not shared by threads. More than 4
/// million cells are refused. It cannot make endless land: every river depends on all ridges of the frame.
///
/// **Vectors** `rivers`: lines downstream with `width_m` and `mass` at every vertex, and the line each runs `into`, -1 for none.
///
/// **After** Belhadj & Audibert, "Modeling landscapes with ridges and rivers: bottom up approach", GRAPHITE 2005. There
/// velocities add up; ours keep momentum. Leaving hollows is ours, and so are valleys of a given width and evening out
/// the pre-fill, which removes its discontinuities.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Ridges {
    /// Number of ridges: pairs of ridge particles.
    #[schemars(range(min = 0, max = 500), extend("x-slider" = [1, 30]))]
    pub ridges: u32,
    /// Height of the highest ridge above the level.
    #[schemars(range(min = 0.0, max = 15_000.0), extend("x-unit" = "m", "x-slider" = [100.0, 3000.0]))]
    pub peak_m: f64,
    /// Length of ridges: where they have fallen to six tenths of their height, on either side.
    #[schemars(range(min = 1.0, max = 1e6), extend("x-unit" = "m", "x-slider" = [300.0, 8000.0]))]
    pub ridge_m: f64,
    /// Width of ridges: where their flanks have fallen to six tenths, on either side.
    #[schemars(range(min = 1.0, max = 1e6), extend("x-unit" = "m", "x-slider" = [100.0, 2000.0]))]
    pub width_m: f64,
    /// How far ridges turn off their direction.
    #[schemars(range(min = 0.0, max = 2.0), extend("x-slider" = [0.0, 1.0]))]
    pub wander: f64,
    /// Length of the longest bends of a ridge.
    #[schemars(range(min = 1.0, max = 1e6), extend("x-unit" = "m", "x-slider" = [200.0, 5000.0]))]
    pub bend_m: f64,
    /// Number of river particles.
    #[schemars(range(min = 0, max = 5000), extend("x-slider" = [0, 300]))]
    pub rivers: u32,
    /// Time in which friction brings water down to a third of its speed: longer makes wider swings.
    #[schemars(range(min = 0.01, max = 1000.0), extend("x-unit" = "s", "x-slider" = [1.0, 30.0]))]
    pub friction_s: f64,
    /// How deep the greatest river is cut into the land.
    #[schemars(range(min = 0.0, max = 5000.0), extend("x-unit" = "m", "x-slider" = [0.0, 400.0]))]
    pub depth_m: f64,
    /// Distance from a river over which land comes back up to where it would be without it.
    #[schemars(range(min = 1.0, max = 1e5), extend("x-unit" = "m", "x-slider" = [30.0, 400.0]))]
    pub valley_m: f64,
    /// Strength of the displacement of midpoints.
    #[schemars(range(min = 0.0, max = 5.0), extend("x-slider" = [0.0, 2.0]))]
    pub roughness: f64,
    /// How much smoother land is the closer one looks: r in d·2^-r.
    #[schemars(range(min = 0.1, max = 2.0), extend("x-slider" = [0.5, 1.3]))]
    pub smoothness: f64,
    /// Height of the plain far from all ridges.
    #[schemars(range(min = -12_000.0, max = 9000.0), extend("x-unit" = "m", "x-slider" = [-100.0, 1000.0]))]
    pub level_m: f64,
    /// Width of the greatest river.
    #[schemars(range(min = 0.0, max = 1e4), extend("x-unit" = "m", "x-slider" = [1.0, 100.0]))]
    pub river_width_m: f64,
    /// Cell of the working grid, and the step of all particles; 0 for 16 m, doubled until the frame has no more than 4
    /// million cells.
    #[schemars(range(min = 0.0, max = 1e5), extend("x-unit" = "m", "x-slider" = [4.0, 64.0]))]
    pub cell_m: f64,
}

impl Default for Ridges {
    fn default() -> Self {
        Self {
            ridges: 7,
            peak_m: 1100.0,
            ridge_m: 1500.0,
            width_m: 420.0,
            wander: 0.6,
            bend_m: 1600.0,
            rivers: 200,
            friction_s: 6.0,
            depth_m: 350.0,
            valley_m: 90.0,
            roughness: 1.0,
            smoothness: 0.9,
            level_m: 60.0,
            river_width_m: 20.0,
            cell_m: 0.0,
        }
    }
}

/// Most cells of the working grid.
const MOST_CELLS: f64 = 4e6;
/// Cell of the working grid where none is given and the frame is not too large for it: a fifth of the usual valley.
const USUAL_CELL_M: f64 = 16.0;
/// The finest cell.
const LEAST_CELL_M: f64 = 0.01;
/// Cells beyond the frame on every side.
const MARGIN: i64 = 3;
/// The least fall of a bed.
const LEAST_FALL: f64 = 5e-4;
/// Rounds of smoothing along a bed, and along its way.
const SMOOTHING: [usize; 2] = [40, 6];
/// The steepest bed.
const STEEPEST: f64 = 0.7;
/// How deep the smallest river is cut, as a share of the greatest; and any of them in the plain, as a share of its depth.
const SMALL: f64 = 0.4;
const SHALLOW: f64 = 0.04;
/// Rounds in which land is cut where a river would rise, or lie above its banks.
const CUTS: usize = 12;
/// Cells from a bed in which land is bank, and how much higher than the bed it is at least, in metres.
const BANK: (f64, f64) = (1.0, 3.2);
const BANK_M: f32 = 0.2;
/// Tries to even out ways without a crossing.
const TRIES: usize = 8;

impl Op for Ridges {
    const ID: &'static str = "source.ridges";
    const VERSION: u32 = 3;

    fn layers(&self) -> Layers {
        Layers::none().writing([layer::HEIGHT.name()]).deriving_vectors(["rivers"], [layer::HEIGHT.name()])
    }

    fn reach(&self, _: &Frame) -> Reach {
        Reach::Point
    }

    fn bytes_a_sample(&self, frame: &Frame) -> f64 {
        // The working grid, or the land beside it.
        let [width, depth] = frame.extent().size();
        let Ok(Self { cell_m, .. }) = self.on(&frame.extent()) else { return 4.0 };
        let cells = (width / cell_m + 16.0) * (depth / cell_m + 16.0) / frame.len() as f64;
        (28.0 * cells).max(4.0 + 11.3 * cells)
    }

    fn prepare(&self, world: &Frame, ctx: &Ctx<'_>) -> Result<Option<Box<dyn Prepared>>, OpError> {
        Ok(Some(Box::new(Laid::new(self, world, ctx)?)))
    }

    fn run(&self, terrain: Terrain, ctx: &Ctx<'_>) -> Result<Terrain, OpError> {
        Laid::new(self, &ctx.world(&terrain), ctx)?.run(terrain, ctx)
    }
}

/// The land on the working grid, which no window changes.
struct Laid {
    country: Country,
    rivers: Arc<VectorLayer>,
}

impl Laid {
    fn new(params: &Ridges, world: &Frame, ctx: &Ctx<'_>) -> Result<Self, OpError> {
        let world = world.extent();
        let country = Country::new(&params.on(&world)?, &world, ctx)?;
        let rivers = Arc::new(country.lines(params));
        Ok(Self { country, rivers })
    }
}

impl Prepared for Laid {
    fn run(&self, mut terrain: Terrain, ctx: &Ctx<'_>) -> Result<Terrain, OpError> {
        let height = self.country.raster(terrain.frame(), ctx)?;
        terrain.set(layer::HEIGHT, height);
        terrain.set_vector("rivers", self.rivers.clone());
        Ok(terrain)
    }
}

impl Ridges {
    /// The same with the cell that a frame of this extent is worked on with.
    fn on(&self, rect: &Rect) -> Result<Self, OpError> {
        let size = rect.size();
        let fits = |cell_m: f64| (size[0] / cell_m + 16.0) * (size[1] / cell_m + 16.0) <= MOST_CELLS;
        let mut cell_m = self.cell_m;
        if cell_m == 0.0 {
            cell_m = USUAL_CELL_M;
            while !fits(cell_m) {
                cell_m *= 2.0;
            }
        }
        if cell_m >= LEAST_CELL_M && fits(cell_m) {
            return Ok(Self { cell_m, ..self.clone() });
        }
        let least =
            1.1 * (size[0] * size[1] / MOST_CELLS).sqrt().max(size[0].max(size[1]) * 16.0 / MOST_CELLS);
        Err(OpError::Failed(format!(
            "cell_m: {cell_m} makes more than 4 million cells on a frame of {} m × {} m, or is below {LEAST_CELL_M}; use {:.3} or more, or 0 for a suitable size",
            size[0],
            size[1],
            least.max(LEAST_CELL_M)
        )))
    }
}

/// The land on the working grid, and its rivers.
struct Country {
    /// Heights; row 0 is in the south.
    land: Field,
    nodes: Vec<Node>,
}

impl Country {
    /// The parameters are those of [`Ridges::on`].
    fn new(params: &Ridges, rect: &Rect, ctx: &Ctx<'_>) -> Result<Self, OpError> {
        let cell_m = params.cell_m;
        let coarse = blank(rect, cell_m * COARSE as f64);
        let seed = ctx.seed();
        let ridges = ridges(params, rect, seed.child("ridges"));
        let bells = bells(params, &ridges, coarse, seed.child("bells"));
        let mut nodes = rivers(params, rect, &ridges, &bells, seed.child("rivers"), ctx)?;
        ctx.tick(40, 100)?;
        lay(params, &mut nodes, &bells, rect);

        // What is known is how far land is off the bells: cut in along beds, and not at all on ridges.
        let mut land = blank(rect, cell_m);
        let first = land.first;
        land.values.par_rows(|row, out| {
            for (c, v) in out.iter_mut().enumerate() {
                let at = [(first[0] + c as i64) as f64 * cell_m, (first[1] + row as i64) as f64 * cell_m];
                *v = bells.at(at) as f32;
            }
        });
        let known = known(params, &land, &ridges, &nodes);
        let growth = math::exp2(params.smoothness);
        let levels = math::log2(params.width_m / cell_m).round().clamp(0.0, 20.0) as u32;
        let coarsest_m = 0.11 * params.roughness * params.peak_m;
        let displace = Displace {
            finest_m: coarsest_m / math::pow(growth, f64::from(levels)),
            growth,
            levels: levels + 1,
            seed: seed.child("midpoints"),
            base: &land.values,
            high_m: params.peak_m.max(1.0) as f32,
        };
        let (even, moved) = fill(known, &displace, ctx)?;
        let level = params.level_m as f32;
        land.values.par_rows(|row, out| {
            let (even, moved) = (even.row(row), moved.row(row));
            for (c, v) in out.iter_mut().enumerate() {
                *v = level + *v + even[c] + moved[c];
            }
        });
        let mut country = Self { land, nodes };
        country.cut(rect);
        Ok(country)
    }

    /// Rivers have the heights of the land, which is cut where they would rise or lie above their banks.
    fn cut(&mut self, rect: &Rect) {
        let banks = self.banks(rect);
        for round in 0..=CUTS {
            for node in &mut self.nodes {
                node.z = self.land.below(node.at);
            }
            if round < CUTS {
                for &(cell, node) in &banks {
                    let bank = f64::from(self.land.values.as_slice()[cell as usize] - BANK_M);
                    let z = &mut self.nodes[node as usize].z;
                    *z = z.min(bank);
                }
            }
            descend(&mut self.nodes);
            if round == CUTS {
                return;
            }
            let cols = self.land.values.cols();
            let mut lower = vec![0.0f32; cols * self.land.values.rows()];
            for node in &self.nodes {
                let deep = (self.land.below(node.at) - node.z) as f32;
                let [c, r] = self.land.locate(node.at);
                // Most where the node is, less the farther off.
                let (c0, r0) = (c.floor() as i64, r.floor() as i64);
                for (row, col) in (r0 - 1..=r0 + 2).flat_map(|r| (c0 - 1..=c0 + 2).map(move |c| (r, c))) {
                    let share = (1.3 - 0.6 * math::hypot(col as f64 - c, row as f64 - r)).clamp(0.0, 1.0);
                    if let Some(cell) = self.land.index(col, row) {
                        lower[cell] = lower[cell].max(deep * share as f32);
                    }
                }
            }
            for (v, low) in self.land.values.as_mut_slice().iter_mut().zip(lower) {
                *v -= low;
            }
        }
    }

    /// The cells of the banks, and the vertex whose bank each is: the nearest.
    fn banks(&self, rect: &Rect) -> Vec<(u32, u32)> {
        let land = &self.land;
        let mut nearest = vec![(f32::INFINITY, 0u32); land.values.as_slice().len()];
        for (i, node) in self.nodes.iter().enumerate() {
            let [c, r] = land.locate(node.at);
            let range = |v: f64| (v - BANK.1).ceil() as i64..=(v + BANK.1).floor() as i64;
            for (row, col) in range(r).flat_map(|row| range(c).map(move |col| (row, col))) {
                let far = math::hypot(col as f64 - c, row as f64 - r) as f32;
                if let Some(cell) = land.index(col, row).filter(|&cell| far < nearest[cell].0) {
                    nearest[cell] = (far, i as u32);
                }
            }
        }
        let banks = nearest.iter().enumerate().filter(|(cell, (far, _))| {
            let at = land.place(*cell);
            let inside = (0..2).all(|k| at[k] >= rect.min[k] && at[k] <= rect.max[k]);
            inside && (BANK.0..=BANK.1).contains(&f64::from(*far))
        });
        banks.map(|(cell, (_, node))| (cell as u32, *node)).collect()
    }

    fn raster(&self, frame: &Frame, ctx: &Ctx<'_>) -> Result<Raster<f32>, OpError> {
        let land = &self.land;
        let [last_col, last_row] = [land.values.cols(), land.values.rows()].map(|n| n as f64 - 3.0);
        let place = |v: f64, axis: usize| v / land.cell_m - land.first[axis] as f64;
        let cols = (0..frame.cols()).map(|c| place(frame.x_m(c), 0).clamp(1.0, last_col));
        let rows = (0..frame.rows()).map(|r| place(frame.y_m(r), 1).clamp(1.0, last_row));
        let (cols, rows) = (Axis::new(cols, Blend::Through), Axis::new(rows, Blend::Through));
        let part = land.values.crop(cols.first as usize, rows.first as usize, cols.count, rows.count);
        Ok(interpolate(&part, &cols, &rows, (80, 100), ctx)?)
    }

    /// The rivers: each particle's way is a line, the greatest first.
    fn lines(&self, params: &Ridges) -> VectorLayer {
        let nodes = &self.nodes;
        let count = nodes.iter().map(|n| n.line + 1).max().unwrap_or(0);
        let mut ways: Vec<Vec<usize>> = vec![Vec::new(); count];
        for (i, node) in nodes.iter().enumerate().rev() {
            ways[node.line].push(i);
        }
        let mut order: Vec<usize> = (0..count).filter(|&w| !ways[w].is_empty()).collect();
        let mass = |w: usize| ways[w].last().map_or(0.0, |&i| nodes[i].mass);
        order.sort_by(|&a, &b| mass(b).total_cmp(&mass(a)).then(a.cmp(&b)));
        let mut number = vec![-1i64; count];
        let mut layer = VectorLayer::new(Shape::Lines);
        let (mut into, mut masses) = (Vec::new(), Vec::new());
        let joins = |w: usize| ways[w].last().map(|&i| nodes[i].down).filter(|&down| nodes[down].line != w);
        let long = |w: usize| ways[w].len() + usize::from(joins(w).is_some()) > 1;
        order.retain(|&w| long(w));
        for (i, &w) in order.iter().enumerate() {
            number[w] = i as i64;
        }
        for &w in &order {
            let end = joins(w);
            layer.push(
                ways[w].iter().copied().chain(end).map(|i| [nodes[i].at[0], nodes[i].at[1], nodes[i].z]),
            );
            into.push(end.map_or(-1, |i| number[nodes[i].line]));
            masses.extend(ways[w].iter().map(|&i| nodes[i].mass));
            // At its end it still has its own water.
            masses.extend(end.map(|_| mass(w)));
        }
        let most = masses.iter().copied().fold(1.0, f64::max);
        let width = masses.iter().map(|m| params.river_width_m * (m / most).sqrt()).collect();
        let fits = layer.set_feature_attribute("into", Column::Integer(into))
            && layer.set_vertex_attribute("width_m", Column::Number(width))
            && layer.set_vertex_attribute("mass", Column::Number(masses));
        debug_assert!(fits, "one entry a line or vertex");
        layer
    }
}

/// A grid over the frame on the world's own lattice, and a few cells more.
fn blank(rect: &Rect, cell_m: f64) -> Field {
    let first = rect.min.map(|v| (v / cell_m).floor() as i64 - MARGIN);
    let last = rect.max.map(|v| (v / cell_m).ceil() as i64 + MARGIN);
    let [cols, rows] = [0, 1].map(|k| (last[k] - first[k] + 1) as usize);
    Field { first, cell_m, values: Raster::filled(cols, rows, 0.0) }
}

/// Lays rivers into the land: even ways, beds that fall, and the deeper the more they carry.
fn lay(params: &Ridges, nodes: &mut [Node], bells: &Field, rect: &Rect) {
    let most = nodes.iter().map(|n| n.mass).fold(1.0, f64::max);
    let mut up: Vec<Option<usize>> = vec![None; nodes.len()];
    for i in 0..nodes.len() {
        let down = nodes[i].down;
        if down != i && nodes[i].line == nodes[down].line {
            up[down] = Some(i);
        }
    }
    // Whether another river ends here: such places stay, so that rivers still meet.
    let mut meets = vec![false; nodes.len()];
    for node in nodes.iter() {
        meets[node.down] |= nodes[node.down].line != node.line;
    }
    smooth(nodes, &up, meets, rect);
    for i in 0..nodes.len() {
        let next = nodes[nodes[i].down].at;
        let node = &mut nodes[i];
        node.length = math::hypot(next[0] - node.at[0], next[1] - node.at[1]).max(1e-3);
        let way = [next[0] - node.at[0], next[1] - node.at[1]];
        let banks = [-4.0, -2.0, 0.0, 2.0, 4.0].map(|off| {
            let off = off * params.cell_m / node.length;
            bells.at([node.at[0] - off * way[1], node.at[1] + off * way[0]])
        });
        let bell = banks.into_iter().fold(f64::INFINITY, f64::min);
        let depth = params.depth_m * (SMALL + (1.0 - SMALL) * (node.mass / most).sqrt());
        // Deep where there is room for it, shallow where the land is low.
        node.z = bell - depth * (bell.max(0.0) / (bell.max(0.0) + depth)).max(SHALLOW);
    }
    descend(nodes);
    // No river hangs above the one that it runs into.
    for i in 0..nodes.len() {
        if nodes[i].down != i {
            let most = nodes[nodes[i].down].z + STEEPEST * nodes[i].length;
            nodes[i].z = nodes[i].z.min(most);
        }
    }
    for _ in 0..SMOOTHING[0] {
        let old: Vec<f64> = nodes.iter().map(|n| n.z).collect();
        for (i, node) in nodes.iter_mut().enumerate() {
            if let Some(up) = up[i].filter(|_| node.down != i) {
                node.z = 0.5 * old[i] + 0.25 * (old[up] + old[node.down]);
            }
        }
    }
    descend(nodes);
}

/// Evens out all ways; where two would cross by that, they stay as they were drawn.
fn smooth(nodes: &mut [Node], up: &[Option<usize>], mut stays: Vec<bool>, rect: &Rect) {
    let drawn: Vec<[f64; 2]> = nodes.iter().map(|n| n.at).collect();
    for _ in 0..TRIES {
        for _ in 0..SMOOTHING[1] {
            let old: Vec<[f64; 2]> = nodes.iter().map(|n| n.at).collect();
            for (i, node) in nodes.iter_mut().enumerate() {
                if let Some(up) = up[i].filter(|_| node.down != i && !stays[i]) {
                    node.at = [0, 1].map(|k| 0.5 * old[i][k] + 0.25 * (old[up][k] + old[node.down][k]));
                }
            }
        }
        let piece = |i: usize| [nodes[i].at, nodes[nodes[i].down].at];
        let longest = (0..nodes.len()).map(|i| {
            let [a, b] = piece(i);
            math::hypot(b[0] - a[0], b[1] - a[1])
        });
        let mut pieces = Pieces::new(rect, 2.0 * longest.fold(1.0, f64::max));
        let mut crossing = Vec::new();
        for i in 0..nodes.len() {
            let [a, b] = piece(i);
            crossing.extend(
                pieces.near(a, b, 0.0).filter(|&j: &usize| crosses([a, b], piece(j))).flat_map(|j| [i, j]),
            );
            pieces.add(i, a, b);
        }
        if crossing.is_empty() {
            return;
        }
        // These, and two more either way.
        for i in crossing {
            let mut here = i;
            for _ in 0..3 {
                stays[here] = true;
                here = nodes[here].down;
                stays[here] = true;
            }
            here = i;
            for _ in 0..2 {
                here = up[here].unwrap_or(here);
                stays[here] = true;
            }
        }
        nodes.iter_mut().zip(&drawn).for_each(|(n, at)| n.at = *at);
    }
}

/// Lowers what lies downstream of anything lower.
fn descend(nodes: &mut [Node]) {
    for i in (0..nodes.len()).rev() {
        let node = nodes[i];
        if node.down != i {
            let down = &mut nodes[node.down].z;
            *down = down.min(node.z - LEAST_FALL * node.length);
        }
    }
}

/// How far from the bells, which `land` has as yet, it is known to be: for certain on the points round ridges and beds, hardly elsewhere.
fn known(params: &Ridges, land: &Field, ridges: &[Vec<Crest>], nodes: &[Node]) -> Known {
    let (cols, rows) = (land.values.cols(), land.values.rows());
    let mut near = vec![0.0f32; cols * rows];
    let mut weight = vec![0.0f32; cols * rows];
    let mut sum = vec![0.0f32; cols * rows];
    let mut add = |at: [f64; 2], value: f32, by: f32| {
        let [c, r] = land.locate(at);
        let (c0, r0) = (c.floor(), r.floor());
        for (dc, wc) in [(0, 1.0 - (c - c0)), (1, c - c0)] {
            for (dr, wr) in [(0, 1.0 - (r - r0)), (1, r - r0)] {
                let (x, y) = (c0 as i64 + dc, r0 as i64 + dr);
                if x >= 0 && y >= 0 && (x as usize) < cols && (y as usize) < rows {
                    let (cell, share) = (y as usize * cols + x as usize, (wc * wr) as f32);
                    near[cell] += share;
                    weight[cell] += by * share;
                    sum[cell] += by * share * value;
                }
            }
        }
    };
    // A bed counts far more than a ridge that it breaks through.
    for crest in ridges.iter().flatten() {
        let [c, r] = land.locate(crest.at);
        add(crest.at, (crest.z as f32).max(land.values.bilinear(c, r)), 0.02);
    }
    for node in nodes {
        let next = &nodes[node.down];
        for t in [0.0, 0.5] {
            let at = [0, 1].map(|k| node.at[k] + t * (next.at[k] - node.at[k]));
            let z = node.z + t * (next.z - node.z);
            add(at, z as f32, 1.0);
        }
    }
    let off = |(s, (w, h)): (&f32, (&f32, &f32))| if *w > 0.0 { s / w - h } else { 0.0 };
    let value = sum.iter().zip(weight.iter().zip(land.values.as_slice())).map(off).collect();
    // Of all other land a little is known: it is not far off the bells. A little of many points is much on coarse grids.
    let little = land.cell_m / params.valley_m;
    let little = (little * little).min(0.5) as f32;
    let share = near.iter().map(|w| (3.0 * w).clamp(little, 1.0)).collect();
    // The lengths are those of the grid.
    let raster = |data: Vec<f32>| {
        Raster::from_vec(cols, rows, data).unwrap_or_else(|| Raster::filled(cols, rows, 0.0))
    };
    Known { first: land.first, share: raster(share), value: raster(value) }
}

#[cfg(test)]
mod tests;
