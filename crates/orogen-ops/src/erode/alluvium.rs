//! Alluvium: flat valley floors, and fans where side streams come out.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use orogen_core::param::Fault;
use orogen_core::{Ctx, Frame, Layers, Op, OpError, Raster, Reach, Seed, Terrain, layer, math};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::stream_power::nodes;
use super::stream_power::slopes;
use crate::drainage::ways::step;
use crate::drainage::{NOWHERE, Ways, area, drainage, neighbours_of};
use crate::held_lines;
use crate::octaves::{OctaveBuffers, Octaves};
use crate::water::sea_level;

/// Fills valleys with what rivers carry: flat floors along the rivers, fans where side streams come out on them.
///
/// ```text
/// slope a stream needs to carry its load    s(A) = tan(fan_deg) (A / 1 km²)^−½
/// fill under a stream                       d(A) = depth_m ((A / 10 km²)^0.4 − (stream_m2 / 10 km²)^0.4)
/// bed                                       b ≥ downstream bed + s(A) · length,  b ≤ height + d(A)
/// ```
///
/// `A` is the area drained. From the mouths upwards a bed rises to the height of its fill, never less steeply than its
/// stream needs and never more than half as steeply again, so that the fill ends where the valley is steep. From the
/// bed the floor rises gently, by `cross_deg`, until it meets the valley's sides; streams that come down onto the floor
/// of a greater one spread a cone as steep as their bed. The layer `sediment` holds the depth of the fill. On a frame
/// of more than 513 samples the fill is laid on a lattice of 512 cells along the longer side of the world, and covers
/// whatever lies below its surface: floors are as high at every spacing.
///
/// **Guarantees** (1) no ground is lowered, and ground above the fill keeps its bits; (2) nothing that was laid is
/// steeper than 1.5 tan(fan_deg); (3) land that drains to no stream stays as it is; (4) sea, holes and held ground stay
/// as they are; (5) the result does not depend on the number of threads.
///
/// Where fill ends above open land it is cut back to fans that are looser here and there, as old channels leave them: on one exact
/// slope water would run straight for miles.
///
/// It never cuts rock: what it cuts back is its own fill, which is loose whatever lies below. So it asks no beds of `rock.strata`.
///
/// **Limits** The valley's shape decides how wide a floor is. The volume is reported, but what it was worn from is not
/// taken away anywhere: run it after erosion, whose rivers carried far more. Shallow hollows are left on wide floors. Streams
/// belong to a resolution, so previews of fewer than 513 samples differ at the heads of the fill. On finer frames land beyond
/// a divide narrower than a cell of the lattice may be covered too.
///
/// **After** the graded river of Mackin, GSA Bulletin 59 (1948); the way of laying floors and fans into a raster is ours.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Alluvium {
    /// How deep the fill is under a river that drains 10 km²; greater rivers have more.
    #[schemars(range(min = 0.0, max = 1e4), extend("x-unit" = "m", "x-slider" = [0.0, 200.0]))]
    pub depth_m: f64,
    /// Area from which a stream lays down ground.
    #[schemars(range(min = 1.0, max = 1e12), extend("x-unit" = "m2", "x-slider" = [1e4, 1e7]))]
    pub stream_m2: f64,
    /// Slope of what a stream that drains 1 km² lays down; greater rivers lie flatter.
    #[schemars(range(min = 0.01, max = 40.0), extend("x-unit" = "deg", "x-slider" = [0.5, 15.0]))]
    pub fan_deg: f64,
    /// Slope of a valley floor towards its river.
    #[schemars(range(min = 0.0, max = 40.0), extend("x-unit" = "deg", "x-slider" = [0.0, 5.0]))]
    pub cross_deg: f64,
    /// Distance over which floors and fans run together.
    #[schemars(range(min = 0.0, max = 1e4), extend("x-unit" = "m", "x-slider" = [0.0, 300.0]))]
    pub smooth_m: f64,
    /// Whether land at or below sea level (0 m) is sea, where rivers end.
    pub sea: bool,
}

impl Default for Alluvium {
    fn default() -> Self {
        Self { depth_m: 60.0, stream_m2: 4e5, fan_deg: 3.0, cross_deg: 0.4, smooth_m: 60.0, sea: true }
    }
}

impl Op for Alluvium {
    const ID: &'static str = "erode.alluvium";
    const VERSION: u32 = 4;

    fn layers(&self) -> Layers {
        Layers::none()
            .updating([layer::HEIGHT.name()])
            .using_vectors([held_lines::HOLD])
            .writing([layer::SEDIMENT.name()])
    }

    fn wears(&self) -> bool {
        true
    }

    fn reach(&self, _: &Frame) -> Reach {
        Reach::World
    }

    fn bytes_a_sample(&self, frame: &Frame) -> f64 {
        match nodes::base(frame) {
            None => 44.0,
            // The work on the coarser lattice, or the two layers and what they are made of.
            Some(base) => {
                let cell_m2 = |[dx, dy]: [f64; 2]| dx * dy;
                (44.0 * cell_m2(frame.spacing_m()) / cell_m2(base.spacing_m)).max(13.0)
            }
        }
    }

    fn faults(&self) -> Vec<Fault> {
        if self.cross_deg > self.fan_deg {
            return vec![Fault::of(
                "cross_deg",
                format!("{} is above fan_deg ({})", self.cross_deg, self.fan_deg),
            )];
        }
        Vec::new()
    }

    fn run(&self, mut terrain: Terrain, ctx: &Ctx<'_>) -> Result<Terrain, OpError> {
        let frame = *terrain.frame();
        let [dx, dy] = frame.spacing_m();
        let before = terrain.get(layer::HEIGHT)?;
        let kept = held_lines::held_samples(&terrain);
        let loose = Looseness::new(self, &ctx.world(&terrain), ctx.seed());
        let after = match nodes::base(&frame) {
            None => lay(before, [dx, dy], kept.as_ref(), self, &loose, ctx)?,
            Some(base) => {
                let coarse = base.thin(before);
                let kept_there = kept.as_ref().map(|kept| base.thin_flags(kept));
                let laid = lay(&coarse, base.spacing_m, kept_there.as_ref(), self, &loose, ctx)?;
                let mut after = cover(before, &surface(&coarse, &laid));
                self.settle(&mut after, before, [dx, dy], kept.as_ref(), &loose);
                after
            }
        };
        let mut depth = Raster::filled(frame.cols(), frame.rows(), 0.0);
        depth.par_rows(|row, out| {
            for ((out, after), before) in out.iter_mut().zip(after.row(row)).zip(before.row(row)) {
                *out = after - before;
            }
        });
        let laid = depth.map(|d| if d.is_nan() { 0.0 } else { d }).sum_f64() * dx * dy;
        ctx.report("laid", laid, "m3");
        terrain.set(layer::HEIGHT, after);
        terrain.set(layer::SEDIMENT, depth);
        Ok(terrain)
    }
}

impl Alluvium {
    /// Takes away what was laid steeper than a fan, above other fill or above land that was left open, and all that was laid
    /// on sea, holes or kept ground.
    fn settle(
        &self,
        level: &mut Raster<f32>,
        before: &Raster<f32>,
        spacing_m: [f64; 2],
        kept: Option<&Raster<bool>>,
        loose: &Looseness,
    ) {
        let sea_m = sea_level(self.sea);
        let steepest = loose.slopes(level.cols(), level.rows(), spacing_m);
        slopes::give_way(level, spacing_m, (&steepest, 1.0), 0.0, sea_m, None);
        // Two sweeps hold to slopes that differ from place to place only about.
        let most = Raster::filled(level.cols(), level.rows(), loose.steepest);
        slopes::give_way(level, spacing_m, (&most, 1.0), 0.0, sea_m, None);
        level.par_rows(|row, out| {
            for (col, (level, &before)) in out.iter_mut().zip(before.row(row)).enumerate() {
                let is_kept = before <= sea_m || kept.is_some_and(|kept| kept.row(row)[col]);
                // A hole is no greater.
                let raised = *level > before && !is_kept;
                if !raised {
                    *level = before;
                }
            }
        });
    }
}

/// How steep what was laid may be, here more and there less: cut back to one slope it would lie in exact planes, on which
/// water runs straight for miles.
struct Looseness {
    noise: Octaves,
    steepest: f32,
    /// Western and northern edge of the world.
    corner_m: [f64; 2],
}

impl Looseness {
    fn new(params: &Alluvium, world: &Frame, seed: Seed) -> Self {
        // Old channels lie closer than the streams that left them.
        let wavelength_m = 0.5 * params.stream_m2.sqrt();
        Self {
            noise: Octaves::over(world, seed.child("looseness"), wavelength_m, 3, 0.9),
            steepest: (1.5 * math::tan(params.fan_deg.to_radians())) as f32,
            corner_m: [world.x_m(0), world.y_m(0)],
        }
    }

    /// At the samples of a lattice over the world.
    fn slopes(&self, cols: usize, rows: usize, [dx, dy]: [f64; 2]) -> Raster<f32> {
        let [west, north] = self.corner_m;
        // Between a fifth and all of the steepest.
        let share = |noise: f32| (0.55 + 0.3 * noise / self.noise.rms()).clamp(0.2, 1.0);
        let mut slopes = Raster::filled(cols, rows, 0.0);
        slopes.par_rows(|row, out| {
            let xs = (0..cols).map(|col| west + col as f64 * dx);
            self.noise.row_at(xs, north - row as f64 * dy, |n| n, &mut OctaveBuffers::default(), out);
            out.iter_mut().for_each(|slope| *slope = self.steepest * share(*slope));
        });
        slopes
    }
}

/// How far round what was laid on a coarser lattice its surface is known, in cells: hollows that only the frame has are filled to it.
const ROUND: usize = 2;

/// The surface of what was laid on a coarser lattice and of its surroundings; holes elsewhere. It goes on level into slopes that
/// rise out of it, and falls to land that lies lower.
fn surface(coarse: &Raster<f32>, laid: &Raster<f32>) -> Raster<f32> {
    let (cols, rows) = (coarse.cols(), coarse.rows());
    let mut surface = Raster::from_fn(cols, rows, |col, row| {
        let (laid, open) = (laid.row(row)[col], coarse.row(row)[col]);
        if laid > open { laid } else { f32::NAN }
    });
    for _ in 0..ROUND {
        let known = surface.clone();
        surface.par_rows(|row, out| {
            for (col, level) in out.iter_mut().enumerate().filter(|(_, level)| level.is_nan()) {
                let (mut sum, mut count) = (0.0, 0.0);
                for r in row.saturating_sub(1)..(row + 2).min(rows) {
                    for c in col.saturating_sub(1)..(col + 2).min(cols) {
                        let (known, open) = (known.row(r)[c], coarse.row(r)[c]);
                        // Land that lies open hands nothing on.
                        if known < open || laid.row(r)[c] > open {
                            sum += known;
                            count += 1.0;
                        }
                    }
                }
                if count > 0.0 {
                    *level = (sum / count).min(coarse.row(row)[col]);
                }
            }
        });
    }
    surface
}

/// Covers all land that lies below a surface on a coarser lattice.
fn cover(height: &Raster<f32>, surface: &Raster<f32>) -> Raster<f32> {
    let per_col = (surface.cols() - 1) as f64 / (height.cols() - 1) as f64;
    let per_row = (surface.rows() - 1) as f64 / (height.rows() - 1) as f64;
    let mut level = height.clone();
    level.par_rows(|row, out| {
        for (col, level) in out.iter_mut().enumerate() {
            // Beside a hole there is no surface, and the comparison is false.
            let surface = surface.bilinear(col as f64 * per_col, row as f64 * per_row);
            *level = if surface > *level { surface } else { *level };
        }
    });
    level
}

/// No stream's bed lies under a sample.
const NONE: u32 = u32::MAX;

/// The surface while it is laid.
struct Floor<'a> {
    height: &'a Raster<f32>,
    spacing_m: [f64; 2],
    /// The surface: land where nothing is laid yet.
    level: Raster<f32>,
    /// The sample of a stream's bed from which each sample was covered; its own where it is a bed.
    source: Raster<u32>,
}

impl Floor<'_> {
    fn distance_m(&self, a: usize, b: usize) -> f64 {
        let cols = self.height.cols();
        let [dx, dy] = self.spacing_m;
        let x = ((a % cols) as f64 - (b % cols) as f64) * dx;
        let y = ((a / cols) as f64 - (b / cols) as f64) * dy;
        (x * x + y * y).sqrt()
    }

    /// Height over a sample of the plane that rises from a bed.
    fn plane(&self, cell: usize, bed: usize, cross: f64) -> f64 {
        f64::from(self.level.as_slice()[bed]) + cross * self.distance_m(cell, bed)
    }

    fn neighbours_of(&self, cell: usize) -> impl Iterator<Item = usize> + use<> {
        neighbours_of(cell, self.height.cols(), self.height.rows())
    }
}

/// The algorithm alone: the land with its valleys filled. `kept` marks the samples that must stay.
///
/// # Errors
/// When cancelled, or when the map has too many samples.
fn lay(
    height: &Raster<f32>,
    spacing_m: [f64; 2],
    kept: Option<&Raster<bool>>,
    params: &Alluvium,
    loose: &Looseness,
    ctx: &Ctx<'_>,
) -> Result<Raster<f32>, OpError> {
    let sea_m = sea_level(params.sea);
    let ways = drainage(height, spacing_m, sea_m, &ctx.unwatched())?.ways;
    ctx.tick(1, 5)?;
    let donors = ways.donors();
    let area = area::cells(&ways, &donors);
    ctx.tick(2, 5)?;
    let cell_km2 = spacing_m[0] * spacing_m[1] * 1e-6;
    let streams = Streams {
        ways,
        donors,
        area,
        height,
        kept,
        sea_m,
        cell_km2,
        least_km2: params.stream_m2 * 1e-6,
        fan: math::tan(params.fan_deg.to_radians()),
        depth_m: params.depth_m,
    };
    let source = Raster::filled(height.cols(), height.rows(), NONE);
    let mut floor = Floor { height, spacing_m, level: height.clone(), source };
    let beds = streams.lay_beds(&mut floor);
    ctx.tick(3, 5)?;
    floor.lay_planes(&streams, &beds, math::tan(params.cross_deg.to_radians()), ctx)?;
    ctx.tick(4, 5)?;
    floor.lay_fans(&streams, beds);
    let mut level = floor.softened(params.smooth_m, ctx)?;
    params.settle(&mut level, height, spacing_m, kept, loose);
    Ok(level)
}

/// The streams of the land, and what they carry.
struct Streams<'a> {
    ways: Ways,
    donors: Raster<u8>,
    /// Samples that drain through each, itself included.
    area: Raster<u32>,
    height: &'a Raster<f32>,
    kept: Option<&'a Raster<bool>>,
    sea_m: f32,
    cell_km2: f64,
    /// Area from which water is a stream.
    least_km2: f64,
    /// Slope of a fan of 1 km².
    fan: f64,
    /// Depth of the fill at 10 km².
    depth_m: f64,
}

impl Streams<'_> {
    fn km2(&self, cell: usize) -> f64 {
        f64::from(self.area.as_slice()[cell]) * self.cell_km2
    }

    fn is_stream(&self, cell: usize) -> bool {
        self.km2(cell) >= self.least_km2
    }

    fn slope(&self, cell: usize) -> f64 {
        self.fan / self.km2(cell).max(self.cell_km2).sqrt().max(1e-9)
    }

    fn depth(&self, cell: usize) -> f64 {
        let onset = math::pow(self.least_km2 / 10.0, 0.4);
        self.depth_m * (math::pow(self.km2(cell) / 10.0, 0.4) - onset).max(0.0)
    }

    /// Whether a sample must stay: a hole, the sea, held ground.
    fn fixed(&self, cell: usize) -> bool {
        let h = self.height.as_slice()[cell];
        h.is_nan() || h <= self.sea_m || self.kept.is_some_and(|kept| kept.as_slice()[cell])
    }

    fn upstream(&self, cell: usize) -> impl Iterator<Item = usize> + '_ {
        (0..8u8)
            .filter(move |way| self.donors.as_slice()[cell] >> way & 1 == 1)
            .map(move |way| step(cell, way, self.height.cols()))
    }

    /// Fills beds, from the mouths upwards, and lists them: every stream comes before those that flow into it.
    fn lay_beds(&self, floor: &mut Floor<'_>) -> Vec<usize> {
        let mut beds = Vec::new();
        for mouth in 0..self.area.as_slice().len() {
            if self.ways.0.as_slice()[mouth] == NOWHERE && self.is_stream(mouth) {
                // A river that leaves the map is as full of ground beyond it.
                if !self.fixed(mouth) {
                    floor.level.as_mut_slice()[mouth] += self.depth(mouth) as f32;
                }
                floor.source.as_mut_slice()[mouth] = mouth as u32;
                beds.push(mouth);
            }
        }
        let mut next = 0;
        while let Some(&at) = beds.get(next) {
            next += 1;
            let below = f64::from(floor.level.as_slice()[at]);
            for bed in self.upstream(at).filter(|&bed| self.is_stream(bed)) {
                if !self.fixed(bed) {
                    let here = f64::from(self.height.as_slice()[bed]);
                    let rise = self.slope(bed) * floor.distance_m(bed, at);
                    let level = (here + self.depth(bed)).clamp(below + rise, below + 1.5 * rise).max(here);
                    floor.level.as_mut_slice()[bed] = level as f32;
                }
                floor.source.as_mut_slice()[bed] = bed as u32;
                beds.push(bed);
            }
        }
        beds
    }
}

impl Floor<'_> {
    /// Land that lies below the plane of the bed that it drains to, and nothing else, may be covered.
    fn low_land(&self, streams: &Streams<'_>, beds: &[usize], cross: f64) -> Vec<bool> {
        let mut low = vec![false; self.height.as_slice().len()];
        let mut ahead: Vec<(usize, usize)> = beds.iter().map(|&bed| (bed, bed)).collect();
        while let Some((at, bed)) = ahead.pop() {
            for cell in streams.upstream(at).filter(|&cell| self.source.as_slice()[cell] == NONE) {
                let here = f64::from(self.height.as_slice()[cell]);
                low[cell] = !streams.fixed(cell) && self.plane(cell, bed, cross) > here;
                ahead.push((cell, bed));
            }
        }
        low
    }

    /// Floors: planes from the nearest bed, over low land.
    fn lay_planes(
        &mut self,
        streams: &Streams<'_>,
        beds: &[usize],
        cross: f64,
        ctx: &Ctx<'_>,
    ) -> Result<(), OpError> {
        let low = self.low_land(streams, beds, cross);
        let mut ahead: BinaryHeap<Reverse<(u64, usize, usize)>> =
            beds.iter().map(|&bed| Reverse((0, bed, bed))).collect();
        let mut popped = 0;
        while let Some(Reverse((_, at, bed))) = ahead.pop() {
            popped += 1;
            if popped % 4096 == 0 {
                ctx.stop_if_asked()?;
            }
            if at != bed {
                if self.source.as_slice()[at] != NONE {
                    continue;
                }
                self.source.as_mut_slice()[at] = bed as u32;
                let plane = self.plane(at, bed, cross) as f32;
                self.level.as_mut_slice()[at] = plane.max(self.height.as_slice()[at]);
            }
            for cell in self.neighbours_of(at) {
                if low[cell] && self.source.as_slice()[cell] == NONE {
                    // Distances are positive, so that their bits are in order.
                    ahead.push(Reverse((self.distance_m(cell, bed).to_bits(), cell, bed)));
                }
            }
        }
        Ok(())
    }

    /// Fans: cones below the beds, on what is already covered.
    fn lay_fans(&mut self, streams: &Streams<'_>, beds: Vec<usize>) {
        let mut ahead: VecDeque<usize> = beds.into();
        let mut apex = self.source.clone();
        while let Some(at) = ahead.pop_front() {
            let source = apex.as_slice()[at] as usize;
            let (top, slope) = (f64::from(self.level.as_slice()[source]), streams.slope(source));
            for cell in self.neighbours_of(at) {
                let covered = self.source.as_slice()[cell];
                if covered == NONE || covered as usize == cell || streams.fixed(cell) {
                    continue;
                }
                let cone = (top - slope * self.distance_m(cell, source)) as f32;
                if cone > self.level.as_slice()[cell] + 0.01 {
                    self.level.as_mut_slice()[cell] = cone;
                    apex.as_mut_slice()[cell] = source as u32;
                    ahead.push_back(cell);
                }
            }
        }
    }

    /// The level, where what beds of different height laid side by side has run together; the land beyond takes no part.
    fn softened(self, smooth_m: f64, ctx: &Ctx<'_>) -> Result<Raster<f32>, OpError> {
        let mut soft = self.level.clone();
        soft.par_rows(|row, out| {
            for (level, &source) in out.iter_mut().zip(self.source.row(row)) {
                if source == NONE {
                    *level = f32::NAN;
                }
            }
        });
        slopes::creep(&mut soft, self.spacing_m, smooth_m * smooth_m / 2.0, f32::NEG_INFINITY, ctx)?;
        let mut level = self.level;
        level.par_rows(|row, out| {
            for ((level, &soft), &before) in out.iter_mut().zip(soft.row(row)).zip(self.height.row(row)) {
                // A hole is no greater.
                if soft > before {
                    *level = soft;
                } else if !soft.is_nan() {
                    *level = before;
                }
            }
        });
        Ok(level)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::held_lines::Held;
    use crate::test_support;
    use orogen_core::testkit::assert_close;

    /// A valley that falls to the south between slopes of one in two, with a steep side valley from the east.
    fn valley(frame: &Frame) -> Raster<f32> {
        Raster::from_fn(frame.cols(), frame.rows(), |col, row| {
            let (x, y) = (frame.x_m(col) - 2000.0, frame.y_m(row));
            let trunk = 0.5 * x.abs();
            let side = 0.5 * (y - 2500.0).abs() + 0.3 * x;
            let rough = 0.01 * Seed(5).unit2(col as i64, row as i64);
            (100.0 + 0.01 * y + if x > 0.0 { trunk.min(side) } else { trunk } + rough) as f32
        })
    }

    fn run(op: &Alluvium, frame: Frame, height: Raster<f32>, held: Vec<Held>) -> Raster<f32> {
        let mut terrain = Terrain::new(frame);
        terrain.set(layer::HEIGHT, height);
        held_lines::hold(&mut terrain, held);
        op.apply(terrain, &Ctx::silent()).unwrap().get(layer::HEIGHT).unwrap().clone()
    }

    #[test]
    fn floors_are_as_high_on_a_finer_frame() {
        // Ground that is rough between the samples of the coarser frame.
        let laid = |samples: usize| {
            let frame = Frame::new([0.0, 0.0], [4000.0, 1000.0], [samples, (samples - 1) / 4 + 1]).unwrap();
            let rough = |x: f64, y: f64| 4.0 * math::sin(x / 3.1) * math::sin(y / 2.3 + x / 5.0);
            let height = Raster::from_fn(frame.cols(), frame.rows(), |col, row| {
                let (x, y) = (frame.x_m(col), frame.y_m(row));
                (100.0 + 0.01 * y + 0.5 * (x - 2000.0).abs() + rough(x, y)) as f32
            });
            let after =
                run(&Alluvium { sea: false, ..Alluvium::default() }, frame, height.clone(), Vec::new());
            (height, after)
        };
        let ((open, coarse), (_, fine)) = (laid(513), laid(2049));
        let (mut squares, mut covered, mut deepest) = (0.0, 0.0, 0.0f32);
        for row in 0..coarse.rows() {
            for col in 0..coarse.cols() {
                let depth = coarse.row(row)[col] - open.row(row)[col];
                if depth > 0.0 {
                    let off = f64::from(coarse.row(row)[col] - fine.row(4 * row)[4 * col]);
                    squares += off * off;
                    covered += 1.0;
                    deepest = deepest.max(depth);
                }
            }
        }
        assert!(covered > 1000.0 && deepest > 10.0, "{covered} samples covered, {deepest} m at most");
        let off = (squares / covered).sqrt();
        assert!(off < 0.05 * f64::from(deepest), "floors {off} m apart, {deepest} m deep");
    }

    #[test]
    fn a_sharp_valley_gets_a_flat_floor_and_a_fan() {
        let frame = Frame::new([0.0, 0.0], [4000.0, 5000.0], [201, 251]).unwrap();
        let before = valley(&frame);
        let op = Alluvium { sea: false, stream_m2: 2e5, ..Alluvium::default() };
        let after = run(&op, frame, before.clone(), Vec::new());
        // Across the valley, far from the fan: as wide as the fill is deep, and as level as asked.
        let (row, bed) = (200, after.row(200)[100]);
        let depth = bed - before.row(row)[100];
        assert!(depth > 10.0, "filled by {depth} m");
        let wide = (0..201).filter(|&col| after.row(row)[col] > before.row(row)[col]).count() as f32 * 20.0;
        assert_close!(wide, 4.0 * depth, rel = 0.2);
        let off = f64::from(after.row(row)[100 + (depth / 20.0) as usize] - bed);
        assert!(off >= 0.0 && off < 2.0 * depth as f64 * math::tan(0.4f64.to_radians()) + 0.5, "{off}");
        // The fan stands above the floor at the mouth of the side valley, and is lower away from it.
        let mouth = 125;
        let on_fan = |row: usize| after.row(row)[103] - after.row(row)[97];
        assert!(on_fan(mouth) > on_fan(mouth + 10) + 1.0, "{} {}", on_fan(mouth), on_fan(mouth + 10));
    }

    #[test]
    fn nothing_sinks_and_nothing_laid_is_steep() {
        let frame = Frame::square(8000.0, 161).unwrap();
        let before = test_support::rough(161, 161);
        for op in [
            Alluvium::default(),
            Alluvium { sea: false, depth_m: 300.0, fan_deg: 2.0, ..Alluvium::default() },
        ] {
            let after = run(&op, frame, before.clone(), Vec::new());
            let found = drainage(&before, [50.0, 50.0], sea_level(op.sea), &Ctx::silent()).unwrap();
            let area = area::cells(&found.ways, &found.ways.donors());
            let steepest = (1.5 * math::tan(op.fan_deg.to_radians())) as f32;
            let mut raised = 0;
            for cell in 0..161 * 161 {
                let (b, a) = (before.as_slice()[cell], after.as_slice()[cell]);
                assert!(a >= b);
                if a == b {
                    continue;
                }
                raised += 1;
                let mut at = cell;
                while let Some(next) = found.ways.next(at) {
                    at = next;
                }
                assert!(f64::from(area.as_slice()[at]) * 2500.0 >= op.stream_m2, "drains to no stream");
                for near in after.neighbors8(orogen_core::Cell { col: cell % 161, row: cell / 161 }) {
                    let there = after.row(near.cell.row)[near.cell.col];
                    let length = 50.0
                        * if near.cell.col == cell % 161 || near.cell.row == cell / 161 {
                            1.0
                        } else {
                            2f32.sqrt()
                        };
                    assert!(a <= there + steepest * length + 1e-3);
                }
            }
            assert!(raised > 1000, "{raised}");
        }
    }

    #[test]
    fn sea_holes_and_held_ground_stay() {
        let frame = Frame::new([0.0, 0.0], [4000.0, 5000.0], [201, 251]).unwrap();
        let mut before = valley(&frame);
        before.as_mut_slice().iter_mut().for_each(|h| *h -= 120.0);
        for row in 60..70 {
            before.as_mut_slice()[row * 201 + 95] = f32::NAN;
        }
        let z = f64::from(before.row(150)[100]);
        let mark = Held {
            kind: "river".into(),
            points: vec![[2000.0, 2000.0, z], [2000.0, 1900.0, z]],
            radius_m: 10.0,
        };
        let op = Alluvium { stream_m2: 2e5, ..Alluvium::default() };
        let after = run(&op, frame, before.clone(), vec![mark]);
        for (b, a) in before.as_slice().iter().zip(after.as_slice()) {
            assert!(a.to_bits() == b.to_bits() || *b > 0.0);
        }
        for row in 150..=155 {
            assert_eq!(after.row(row)[100], before.row(row)[100]);
        }
        assert!((0..201 * 251).any(|cell| after.as_slice()[cell] > before.as_slice()[cell]));
    }

    #[test]
    fn odd_land_is_no_trouble() {
        for (cols, rows) in [(1, 1), (2, 2), (40, 1), (1, 40), (20, 20)] {
            for height in [5.0, -5.0, f32::NAN] {
                let before = Raster::filled(cols, rows, height);
                let op = Alluvium { stream_m2: 1.0, ..Alluvium::default() };
                let loose = Looseness::new(&op, &Frame::square(1000.0, 21).unwrap(), Seed(0));
                let after = lay(&before, [50.0, 50.0], None, &op, &loose, &Ctx::silent()).unwrap();
                let same = |h: &f32| h.to_bits() == height.to_bits() || *h >= height;
                assert!(after.as_slice().iter().all(same), "{cols} x {rows} at {height}");
            }
        }
    }

    #[test]
    fn water_on_fill_that_was_cut_back_does_not_run_straight() {
        // Deep fill everywhere, cut back above one open place.
        let (n, cell_m) = (129usize, 40.0);
        let frame = Frame::square(cell_m * (n - 1) as f64, n).unwrap();
        let before = Raster::filled(n, n, 0.0);
        for seed in 0..5 {
            let op = Alluvium { sea: false, ..Alluvium::default() };
            let mut level = Raster::filled(n, n, 1e4);
            level.as_mut_slice()[n / 2 * n + n / 2] = 0.0;
            op.settle(&mut level, &before, [cell_m; 2], None, &Looseness::new(&op, &frame, Seed(seed)));
            let ways = drainage(&level, [cell_m; 2], 0.0, &Ctx::silent()).unwrap().ways;
            // From a place due east of it, along what would be one straight line.
            let (mut at, mut last, mut run, mut longest, mut length) = (n / 2 * n + n - 9, 9, 0, 0, 0);
            while level.as_slice()[at] > 0.0 && length < 10 * n {
                let way = ways.0.as_slice()[at];
                run = if way == last { run + 1 } else { 1 };
                (last, longest, length) = (way, longest.max(run), length + 1);
                at = step(at, way, n);
            }
            assert!(longest * 2 < length, "seed {seed}: {longest} of {length} steps one way");
            let steepest = 1.5 * math::tan(op.fan_deg.to_radians()) * cell_m;
            let rises = level.as_slice().windows(2).enumerate().filter(|(i, _)| i % n != n - 1);
            rises.for_each(|(_, pair)| assert!(f64::from((pair[0] - pair[1]).abs()) <= steepest * 1.001));
        }
    }
}
