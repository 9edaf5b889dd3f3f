//! Deposition: particles that fall, roll and pile up into volcanoes.

use std::f64::consts::TAU;

use orogen_core::param::Fault;
use orogen_core::{
    Cancelled, Ctx, Frame, Layers, Op, OpError, Prepared, Raster, Reach, Rect, Seed, Terrain, layer, math,
    work,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::lattice::{Axis, Blend, interpolate};

/// Piles up particles that fall on vents, run down and come to rest: volcanic islands and chains, with calderas.
///
/// Particles fall one after the other onto a grid of their own, with cells of `grain_m`. Each
///
/// ```text
/// 1. falls near a vent;
/// 2. runs to the lowest neighbour, while one is lower, as far as run_out_m;
/// 3. rolls on while resting here would be steeper than slope_deg against any of 16 neighbours;
/// 4. rests: its cell is particle_m higher.
/// ```
///
/// so fluid lava (a long run-out) builds wide shields and stiff lava builds cones at the angle of rest. Ground holds
/// a little less than that angle here and there, which breaks the flanks up. A caldera sinks the top of a volcano:
/// what stands above its rim is mirrored below it, `h → 2·rim − h`, down to the floor it stands on and no further.
///
/// **Guarantees** (1) Particles are conserved: heights over the sea floor sum to their number, before calderas and
/// except those that roll out of the frame, which are lost. (2) No two cells within two grains are steeper than
/// `slope_deg`, calderas included. (3) Smoothing between cells makes nothing steeper. (4) A sample depends on the seed,
/// the recipe's frame and its own place.
///
/// **Limits** Detail ends at `grain_m`. Heaps are whole particles high, so cones come out square where a particle is more than about a
/// sixth of what the ground may rise over a grain. Particles fall in turn, so the work is not shared by threads. A frame of more
/// than 4 million grains is refused. Where a frame has fewer samples than grains, grains are joined four to one, with a
/// quarter of the particles, until it no longer has fewer (65,536 are always allowed), with a warning: heaps are as
/// large and as steep, but differ in detail.
///
/// **After** Shankel, "Fractal terrain generation: particle deposition", Game Programming Gems, 2000, and
/// Liarokapis, "Terrain generation", Masaryk University 2016. Ours differs in rule 3, which makes the slope a promise.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Deposition {
    /// Number of vents: places where particles fall.
    #[schemars(range(min = 1, max = 1000), extend("x-slider" = [1, 30]))]
    pub vents: u32,
    /// Number of particles for all vents together.
    #[schemars(range(min = 0, max = 20_000_000), extend("x-slider" = [1000, 500_000]))]
    pub particles: u32,
    /// Width of a particle: the cell of the grid it falls on.
    #[schemars(range(min = 0.01, max = 1e5), extend("x-unit" = "m", "x-slider" = [5.0, 100.0]))]
    pub grain_m: f64,
    /// Height of a particle.
    #[schemars(range(min = 0.001, max = 1000.0), extend("x-unit" = "m", "x-slider" = [0.5, 10.0]))]
    pub particle_m: f64,
    /// Steepest slope at which particles rest.
    #[schemars(range(min = 1.0, max = 80.0), extend("x-unit" = "deg", "x-slider" = [10.0, 45.0]))]
    pub slope_deg: f64,
    /// How far a particle runs down gentle ground before it sets.
    #[schemars(range(min = 0.0, max = 1e5), extend("x-unit" = "m", "x-slider" = [0.0, 2000.0]))]
    pub run_out_m: f64,
    /// How far from their vent particles fall, about.
    #[schemars(range(min = 0.0, max = 1e5), extend("x-unit" = "m", "x-slider" = [0.0, 1000.0]))]
    pub scatter_m: f64,
    /// How much the angle of rest varies from place to place: the share by which it may be lower.
    #[schemars(range(min = 0.0, max = 0.9), extend("x-slider" = [0.0, 0.6]))]
    pub ruggedness: f64,
    /// How strongly vents keep to a line: 0 scatters them over the frame, 1 makes a chain.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub chain: f64,
    /// Direction of the chain, clockwise from north.
    #[schemars(range(min = 0.0, max = 360.0), extend("x-unit" = "deg"))]
    pub trend_deg: f64,
    /// How far below a summit the rim of its caldera lies; 0 leaves summits whole.
    #[schemars(range(min = 0.0, max = 5000.0), extend("x-unit" = "m", "x-slider" = [0.0, 300.0]))]
    pub caldera_m: f64,
    /// Height of the sea floor that particles fall on.
    #[schemars(range(min = -12_000.0, max = 9000.0), extend("x-unit" = "m", "x-slider" = [-1000.0, 0.0]))]
    pub floor_m: f64,
}

impl Default for Deposition {
    fn default() -> Self {
        Self {
            vents: 6,
            particles: 60_000,
            grain_m: 32.0,
            particle_m: 8.0,
            slope_deg: 30.0,
            run_out_m: 300.0,
            scatter_m: 150.0,
            ruggedness: 0.4,
            chain: 0.8,
            trend_deg: 60.0,
            caldera_m: 0.0,
            floor_m: -250.0,
        }
    }
}

impl Op for Deposition {
    const ID: &'static str = "source.deposition";
    const VERSION: u32 = 4;

    fn layers(&self) -> Layers {
        Layers::none().writing([layer::HEIGHT.name()])
    }

    fn reach(&self, _: &Frame) -> Reach {
        Reach::Point
    }

    fn faults(&self) -> Vec<Fault> {
        let most = math::tan(self.slope_deg.to_radians()) * self.grain_m;
        if self.particle_m > most {
            let message = format!(
                "{} is steeper than slope_deg; the maximum is grain_m · tan(slope_deg) = {most:.4}",
                self.particle_m
            );
            return vec![Fault::of("particle_m", message)];
        }
        Vec::new()
    }

    fn prepare(&self, world: &Frame, ctx: &Ctx<'_>) -> Result<Option<Box<dyn Prepared>>, OpError> {
        Ok(Some(Box::new(Piled::new(self, world, ctx)?)))
    }

    fn run(&self, terrain: Terrain, ctx: &Ctx<'_>) -> Result<Terrain, OpError> {
        Piled::new(self, &ctx.world(&terrain), ctx)?.run(terrain, ctx)
    }
}

/// The heap of all particles, which no window changes.
struct Piled {
    heap: Heap,
    grain_m: f64,
    /// The grains that were asked for, where these are coarser.
    asked_m: Option<f64>,
}

impl Piled {
    fn new(params: &Deposition, world: &Frame, ctx: &Ctx<'_>) -> Result<Self, OpError> {
        let coarse = params.for_samples(world);
        coarse.check_work(params.particles, world)?;
        let heap = pile(&coarse, &world.extent(), ctx)?;
        let asked_m = (coarse.grain_m > params.grain_m).then_some(params.grain_m);
        Ok(Self { heap, grain_m: coarse.grain_m, asked_m })
    }
}

impl Prepared for Piled {
    fn run(&self, mut terrain: Terrain, ctx: &Ctx<'_>) -> Result<Terrain, OpError> {
        if let Some(asked_m) = self.asked_m {
            ctx.warn(format!(
                "grain_m = {asked_m} makes more grains than this frame has samples; {} m is used, with fewer particles",
                self.grain_m
            ));
        }
        let (heap, frame) = (&self.heap, terrain.frame());
        let [last_col, last_row] = [heap.cells.cols(), heap.cells.rows()].map(|n| n as f64 - 3.0);
        let cols = (0..frame.cols())
            .map(|c| ((frame.x_m(c) - heap.corner_m[0]) / self.grain_m).clamp(1.0, last_col));
        let rows = (0..frame.rows())
            .map(|r| ((heap.corner_m[1] - frame.y_m(r)) / self.grain_m).clamp(1.0, last_row));
        let (cols, rows) = (Axis::new(cols, Blend::Soft), Axis::new(rows, Blend::Soft));
        let height = interpolate(&heap.cells, &cols.rebased(), &rows.rebased(), (80, 100), ctx)?;
        terrain.set(layer::HEIGHT, height);
        Ok(terrain)
    }
}

impl Deposition {
    /// The same heaps of coarser grains, when there would be more of them than samples can show: grains twice as wide,
    /// a quarter of the particles, so the volume stays.
    fn for_samples(&self, world: &Frame) -> Self {
        let mut coarse = self.clone();
        let size = world.extent().size();
        let most = (GRAINS_A_SAMPLE * world.len() as f64).max(FEW_GRAINS);
        while size[0] / coarse.grain_m * (size[1] / coarse.grain_m) > most {
            coarse.grain_m *= 2.0;
            coarse.particles /= 4;
        }
        coarse
    }

    /// Refuses so many particles that they would take far too long; `asked` is how many of them the recipe names.
    fn check_work(&self, asked: u32, world: &Frame) -> Result<(), OpError> {
        let [width, depth] = world.extent().size();
        let across = (width + depth) / self.grain_m;
        // A particle runs out, and then down the flank of a cone of all that fell on its vent.
        let each_m3 =
            self.grain_m * self.grain_m * self.particle_m * f64::from(self.particles) / f64::from(self.vents);
        let tan = math::tan(self.slope_deg.to_radians());
        let cone_m = math::pow(3.0 * each_m3 / (std::f64::consts::PI * tan), 1.0 / 3.0);
        let moves = (self.run_out_m / self.grain_m).min(across) + (cone_m / self.grain_m).min(across) + 1.0;
        let ns_a_sample = NS_A_MOVE * f64::from(self.particles) * moves / world.len() as f64;
        let most = f64::from(asked) * work::MOST_NS_A_SAMPLE / ns_a_sample;
        let advice = format!("use about {} particles, or larger grains", work::at_most(most));
        work::check("particles", f64::from(asked), ns_a_sample, &advice)
    }
}

/// Nanoseconds that a particle takes to move by a grain, about.
const NS_A_MOVE: f64 = 25.0;
/// Most cells of the grid that particles fall on.
const MOST_GRAINS: f64 = 4e6;
/// Most grains for each sample of the world: with 5 bytes each they are less than one raster.
const GRAINS_A_SAMPLE: f64 = 0.75;
/// So many grains are a third of a megabyte and always allowed.
const FEW_GRAINS: f64 = 65_536.0;
/// Cells beyond the frame on every side, so that every sample has cells all round.
const MARGIN: i64 = 3;
/// Neighbours in turn: axes, diagonals, and the moves of a knight, which make heaps round.
const AROUND: [(i64, i64); 16] = [
    (1, 0),
    (2, 1),
    (1, 1),
    (1, 2),
    (0, 1),
    (-1, 2),
    (-1, 1),
    (-2, 1),
    (-1, 0),
    (-2, -1),
    (-1, -1),
    (-1, -2),
    (0, -1),
    (1, -2),
    (1, -1),
    (2, -1),
];

/// The grid that particles fell on.
struct Heap {
    /// Heights in metres.
    cells: Raster<f32>,
    /// Place of the north-west cell.
    corner_m: [f64; 2],
    /// Particles that left the grid.
    #[cfg_attr(not(test), expect(dead_code, reason = "for tests: particles are accounted for"))]
    lost: u32,
}

/// Where vents lie, in metres, and how many of a thousand particles each gets.
fn vents(params: &Deposition, extent: &Rect, seed: Seed) -> Vec<([f64; 2], f64)> {
    let size = extent.size();
    let middle = [0.5 * (extent.min[0] + extent.max[0]), 0.5 * (extent.min[1] + extent.max[1])];
    let trend = params.trend_deg.to_radians();
    let along = [math::sin(trend), math::cos(trend)];
    let own_seed = seed.child("vents");
    let vigour = |i: u64| {
        let vigour = own_seed.unit(4 * i + 2);
        0.35 + 0.65 * vigour * vigour
    };
    // Along the chain each vent has as much room as its cone is wide, beside the others: cones of one slope are as wide
    // as the cube root of what they are made of.
    let room = |i: u64| math::pow(vigour(i), 1.0 / 3.0);
    let rooms: f64 = (0..u64::from(params.vents)).map(room).sum();
    let mut before = 0.0;
    (0..u64::from(params.vents))
        .map(|i| {
            let u = |k: u64| own_seed.unit(4 * i + k) - 0.5;
            let loose = [0.7 * size[0] * u(0), 0.7 * size[1] * u(1)];
            // Near the middle of its room, and a little off the line.
            let reach = 0.38 * size[0].min(size[1]);
            let at = reach * (2.0 * (before + room(i) * (0.5 + 0.2 * u(0))) / rooms - 1.0);
            before += room(i);
            let off = 0.25 * reach * u(1);
            let strung = [at * along[0] + off * along[1], at * along[1] - off * along[0]];
            let c = params.chain;
            let place = [0, 1].map(|k| middle[k] + (1.0 - c) * loose[k] + c * strung[k]);
            (place, vigour(i))
        })
        .collect()
}

fn pile(params: &Deposition, extent: &Rect, ctx: &Ctx<'_>) -> Result<Heap, OpError> {
    let grain = params.grain_m;
    let size = extent.size();
    if (size[0] / grain + 8.0) * (size[1] / grain + 8.0) > MOST_GRAINS {
        return Err(OpError::Failed(format!(
            "grain_m: {grain} makes more than 4 million grains on a frame of {} m × {} m; use {:.3} or more",
            size[0],
            size[1],
            (size[0] * size[1] / MOST_GRAINS).sqrt() * 1.1
        )));
    }
    // Cells lie on the world's own grid of grains.
    let first =
        [(extent.min[0] / grain).floor() as i64 - MARGIN, (-extent.max[1] / grain).floor() as i64 - MARGIN];
    let last =
        [(extent.max[0] / grain).ceil() as i64 + MARGIN, (-extent.min[1] / grain).ceil() as i64 + MARGIN];
    let (cols, rows) = ((last[0] - first[0] + 1) as usize, (last[1] - first[1] + 1) as usize);
    let corner_m = [first[0] as f64 * grain, -(first[1] as f64) * grain];
    let mut heap = Pile::new(params, cols, rows, first, ctx.seed());
    let vents = vents(params, extent, ctx.seed());
    let own_seed = ctx.seed().child("particles");
    let total: f64 = vents.iter().map(|v| v.1).sum();
    let moves = (params.run_out_m / grain).round() as u32;
    let mut lost = 0;
    for i in 0..u64::from(params.particles) {
        if i % 1024 == 0 {
            ctx.tick(80 * i as usize, 100 * params.particles as usize)?;
        }
        let mut pick = total * own_seed.unit(4 * i);
        let vent = vents.iter().find(|v| {
            pick -= v.1;
            pick < 0.0
        });
        let place = vent.or(vents.last()).map_or([0.0; 2], |v| v.0);
        let away = params.scatter_m * (-math::ln(1.0 - own_seed.unit(4 * i + 1))).sqrt();
        let way = TAU * own_seed.unit(4 * i + 2);
        let col = ((place[0] + away * math::cos(way) - corner_m[0]) / grain).round() as i64;
        let row = ((corner_m[1] - place[1] - away * math::sin(way)) / grain).round() as i64;
        if !heap.fall(col, row, moves, own_seed.bits(4 * i + 3)) {
            lost += 1;
        }
    }
    ctx.tick(80, 100)?;
    let step = params.particle_m as f32;
    let Pile { grains: mut cells, hold, .. } = heap;
    drop(hold);
    cells.par_rows(|_, row| row.iter_mut().for_each(|h| *h *= step));
    if params.caldera_m > 0.0 {
        let centres = vents.iter().map(|(place, _)| {
            [(place[0] - corner_m[0]) / grain, (corner_m[1] - place[1]) / grain].map(|v| v.round() as i64)
        });
        collapse(&mut cells, centres.collect(), params, ctx)?;
    }
    let floor = params.floor_m as f32;
    cells.par_rows(|_, row| row.iter_mut().for_each(|h| *h += floor));
    Ok(Heap { cells, corner_m, lost })
}

/// Particles on a grid.
struct Pile {
    cols: i64,
    rows: i64,
    /// Particles on each cell: whole numbers, which `f32` holds up to 16 million, more than a heap is ever high.
    grains: Raster<f32>,
    /// Weakness of the ground of each cell, 0 to 255.
    hold: Vec<u8>,
    /// Particles by which a cell may be higher than a neighbour one grain away, by weakness.
    holds: [f32; 256],
}

impl Pile {
    fn new(params: &Deposition, cols: usize, rows: usize, first: [i64; 2], seed: Seed) -> Self {
        let steepest = math::tan(params.slope_deg.to_radians()) * params.grain_m / params.particle_m;
        let noise = crate::noise::Noise::new(seed.child("ground"));
        let hold = Raster::from_fn(cols, rows, |c, r| {
            let (x, y) = ((first[0] + c as i64) as f64, (first[1] + r as i64) as f64);
            let rough = 0.5 * (noise.at(x / 7.3, y / 7.3) + 0.6 * noise.at(x / 3.1, y / 3.1 + 100.0));
            (255.0 * (0.5 + rough).clamp(0.0, 1.0)).round() as u8
        });
        let holds = std::array::from_fn(|weak| {
            let weak = weak as f32 / 255.0 * params.ruggedness as f32;
            (steepest as f32 * (1.0 - weak)).max(1.0)
        });
        let grains = Raster::filled(cols, rows, 0.0);
        Self { cols: cols as i64, rows: rows as i64, grains, hold: hold.into_vec(), holds }
    }

    /// Whether a particle came to rest inside.
    fn fall(&mut self, mut col: i64, mut row: i64, mut moves: u32, bits: u64) -> bool {
        let mut turn = bits;
        loop {
            if col < 2 || row < 2 || col >= self.cols - 2 || row >= self.rows - 2 {
                return false;
            }
            let here = (row * self.cols + col) as usize;
            let grains = self.grains.as_mut_slice();
            let height = grains[here];
            let hold = self.holds[usize::from(self.hold[here])];
            // The way of the steepest fall; ties go to whichever comes first from a random start.
            let start = (turn & 15) as usize;
            turn = turn.rotate_right(5);
            let (mut best, mut fall, mut too_steep) = (here, 0.0f32, false);
            for k in 0..16 {
                let (dc, dr) = AROUND[(start + k) & 15];
                let there = ((row + dr) * self.cols + col + dc) as usize;
                let far = [0.0, 1.0, std::f32::consts::SQRT_2, 0.0, 0.0, 2.236_068]
                    [(dc * dc + dr * dr) as usize % 6];
                let drop = height - grains[there];
                too_steep |= drop + 1.0 > hold * far;
                if drop / far > fall {
                    (best, fall) = (there, drop / far);
                }
            }
            if best == here || (moves == 0 && !too_steep) {
                // The lowest of all around holds any particle: nothing near is below it.
                grains[here] += 1.0;
                return true;
            }
            moves = moves.saturating_sub(1);
            (col, row) = (best as i64 % self.cols, best as i64 / self.cols);
        }
    }
}

const UNTOUCHED: u8 = 0;
const SEEN: u8 = 1;
const SUNK: u8 = 2;

/// Mirrors the top of each volcano at its rim, the highest first; tops that would meet an older caldera stay.
fn collapse(
    cells: &mut Raster<f32>,
    centres: Vec<[i64; 2]>,
    params: &Deposition,
    ctx: &Ctx<'_>,
) -> Result<(), Cancelled> {
    let (cols, rows) = (cells.cols() as i64, cells.rows() as i64);
    let near = (2.0 * params.scatter_m / params.grain_m).ceil() as i64 + 2;
    // The summit of a vent: the highest cell near it.
    let summit = |centre: &[i64; 2]| {
        let lines = (centre[1] - near).max(0)..=(centre[1] + near).min(rows - 1);
        let places = lines.flat_map(|row| {
            let line = (centre[0] - near).max(0)..=(centre[0] + near).min(cols - 1);
            line.map(move |col| (row * cols + col) as usize)
        });
        places.max_by(|&a, &b| cells.as_slice()[a].total_cmp(&cells.as_slice()[b]).then(b.cmp(&a)))
    };
    let mut summits: Vec<usize> = centres.iter().filter_map(summit).collect();
    summits.sort_by(|&a, &b| cells.as_slice()[b].total_cmp(&cells.as_slice()[a]).then(a.cmp(&b)));
    // What happened to each cell: nothing, looked at for this summit, or sunk.
    let mut state = vec![UNTOUCHED; (cols * rows) as usize];
    for summit in summits {
        ctx.tick(80, 100)?;
        let rim = cells.as_slice()[summit] - params.caldera_m as f32;
        if state[summit] == SUNK || rim <= 0.0 {
            continue;
        }
        // All that stands above the rim and hangs together with the summit.
        let mut edge = vec![summit];
        let mut top = Vec::new();
        let mut meets_older = false;
        state[summit] = SEEN;
        while let Some(at) = edge.pop() {
            top.push(at);
            let (col, row) = (at as i64 % cols, at as i64 / cols);
            for (dc, dr) in AROUND {
                let (c, r) = (col + dc, row + dr);
                if c < 0 || r < 0 || c >= cols || r >= rows {
                    continue;
                }
                let next = (r * cols + c) as usize;
                if state[next] != SEEN && cells.as_slice()[next] > rim {
                    meets_older |= state[next] == SUNK;
                    if state[next] == UNTOUCHED {
                        state[next] = SEEN;
                        edge.push(next);
                    }
                }
            }
        }
        if meets_older {
            top.iter().for_each(|&at| state[at] = UNTOUCHED);
            continue;
        }
        for at in top {
            state[at] = SUNK;
            let h = &mut cells.as_mut_slice()[at];
            *h = (2.0 * rim - *h).max(0.0);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use orogen_core::testkit::assert_close;

    fn extent() -> Rect {
        Rect { min: [-500.0, 300.0], max: [3500.0, 4300.0] }
    }

    fn heap(params: &Deposition) -> Heap {
        pile(params, &extent(), &Ctx::new(Seed(8))).unwrap()
    }

    #[test]
    fn a_caldera_never_cuts_below_the_floor_it_stands_on() {
        let whole = heap(&Deposition { caldera_m: 0.0, floor_m: -50.0, ..Deposition::default() });
        let top = f64::from(whole.cells.range().unwrap().1) + 50.0;
        for share in [0.3, 0.6, 0.9] {
            let params = Deposition { caldera_m: share * top, floor_m: -50.0, ..Deposition::default() };
            let (low, high) = heap(&params).cells.range().unwrap();
            assert!(low >= -50.0, "{low} below a floor of -50");
            assert!(f64::from(high) < top - 50.0);
        }
    }

    /// The steepest slope between a cell and its 16 neighbours, in degrees.
    fn steepest(heap: &Heap, grain_m: f64) -> f64 {
        let (cols, rows) = (heap.cells.cols() as i64, heap.cells.rows() as i64);
        let mut most = 0.0f64;
        for row in 2..rows - 2 {
            for col in 2..cols - 2 {
                for (dc, dr) in AROUND {
                    let h = |c: i64, r: i64| f64::from(heap.cells.row(r as usize)[c as usize]);
                    let far = math::hypot(dc as f64, dr as f64) * grain_m;
                    most = most.max((h(col, row) - h(col + dc, row + dr)).abs() / far);
                }
            }
        }
        math::atan(most).to_degrees()
    }

    #[test]
    fn great_cones_of_a_chain_keep_further_apart_than_small_ones() {
        let params = Deposition { vents: 6, chain: 1.0, trend_deg: 90.0, ..Deposition::default() };
        for seed in 0..50 {
            let vents = vents(&params, &extent(), Seed(seed));
            // Distances of neighbours over the sum of how wide their cones are: alike, whatever the cones.
            let gaps = vents.windows(2).map(|pair| {
                let [(a, strong), (b, weak)] = [pair[0], pair[1]];
                let width = [strong, weak].map(|v| math::pow(v, 1.0 / 3.0));
                (b[0] - a[0]) / (width[0] + width[1])
            });
            let (least, most) = gaps.fold((f64::INFINITY, 0.0f64), |(a, b), v| (a.min(v), b.max(v)));
            assert!(least > 0.65 * most, "seed {seed}: {least} to {most}");
        }
    }

    #[test]
    fn particles_are_conserved() {
        for run_out_m in [0.0, 1e3, 1e5] {
            let params = Deposition { run_out_m, particles: 20_000, floor_m: 0.0, ..Deposition::default() };
            let heap = heap(&params);
            let resting = heap.cells.sum_f64() / params.particle_m;
            assert_close!(resting + f64::from(heap.lost), 20_000.0, abs = 0.01);
        }
    }

    #[test]
    fn no_slope_is_steeper_than_it_may_be() {
        for (slope_deg, caldera_m) in [(30.0, 0.0), (42.0, 0.0), (30.0, 120.0), (20.0, 60.0)] {
            let fine = Deposition { particles: 150_000, particle_m: 2.5, ..Deposition::default() };
            let params = Deposition { slope_deg, caldera_m, run_out_m: 0.0, ..fine };
            let found = steepest(&heap(&params), params.grain_m);
            assert!(found <= slope_deg + 1e-3, "{found} degrees, at most {slope_deg} are right");
            assert!(found > 0.8 * slope_deg, "{found} degrees: the heap is too flat for {slope_deg}");
        }
    }

    #[test]
    fn smoothing_makes_nothing_steeper() {
        let params = Deposition { run_out_m: 0.0, ..Deposition::default() };
        let frame = Frame::new([-500.0, 300.0], [4000.0, 4000.0], [401, 401]).unwrap();
        let terrain = params.apply(Terrain::new(frame), &Ctx::new(Seed(8))).unwrap();
        let height = terrain.get(layer::HEIGHT).unwrap();
        let found = f64::from(orogen_core::testkit::max_slope(height, 10.0));
        // Between the 16 directions a slope may be 3 % steeper than along them.
        assert!(math::atan(found / 1.03).to_degrees() <= params.slope_deg, "grade {found}");
    }

    #[test]
    fn fluid_lava_builds_wider_and_lower() {
        let of = |run_out_m: f64| heap(&Deposition { run_out_m, vents: 1, ..Deposition::default() });
        let (stiff, fluid) = (of(0.0), of(3000.0));
        let top = |heap: &Heap| heap.cells.range().unwrap().1;
        assert!(top(&fluid) < 0.7 * (top(&stiff) + 250.0) - 250.0, "{} and {}", top(&fluid), top(&stiff));
    }

    #[test]
    fn a_caldera_sinks_the_summit_to_its_depth() {
        let whole = heap(&Deposition { vents: 1, run_out_m: 0.0, ..Deposition::default() });
        let sunk = heap(&Deposition { vents: 1, run_out_m: 0.0, caldera_m: 100.0, ..Deposition::default() });
        let top = |heap: &Heap| heap.cells.range().unwrap().1;
        assert!(top(&sunk) <= top(&whole) - 100.0 + 1e-3);
        let at = whole.cells.as_slice().iter().position(|h| *h == top(&whole)).unwrap();
        assert_close!(sunk.cells.as_slice()[at], top(&whole) - 200.0, abs = 1e-2);
    }

    #[test]
    fn grains_that_samples_cannot_show_are_joined_and_the_volume_stays() {
        let fine = Deposition { grain_m: 8.0, particle_m: 2.0, particles: 400_000, ..Deposition::default() };
        let coarse = fine.for_samples(&Frame::square(4096.0, 257).unwrap());
        assert_eq!((coarse.grain_m, coarse.particles), (16.0, 100_000));
        assert_eq!(fine.for_samples(&Frame::square(4096.0, 1025).unwrap()), fine);
        let ctx = Ctx::new(Seed(8));
        let terrain = fine.apply(Terrain::new(Frame::square(4096.0, 257).unwrap()), &ctx).unwrap();
        assert!(ctx.take_warnings()[0].contains("16 m is used"));
        let volume = |t: &Terrain| {
            t.get(layer::HEIGHT).unwrap().as_slice().iter().map(|h| f64::from(*h) + 250.0).sum::<f64>()
        };
        let whole = fine.apply(Terrain::new(Frame::square(4096.0, 1025).unwrap()), &ctx).unwrap();
        assert_close!(16.0 * volume(&terrain), volume(&whole), rel = 0.02);
    }

    #[test]
    fn too_many_grains_are_refused_with_a_sentence() {
        let op = Deposition { grain_m: 0.5, ..Deposition::default() };
        let Err(error) = pile(&op, &extent(), &Ctx::silent()) else { panic!("64 million grains are taken") };
        assert!(error.to_string().contains("grain_m"), "{error}");
    }
}
