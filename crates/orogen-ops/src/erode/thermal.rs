//! Thermal erosion: rock too steep to stand breaks, and what is loose slides until it lies at its talus angle.

use orogen_core::param::{Fault, Field};
use orogen_core::{
    Cancelled, Coef, Ctx, Frame, Layers, Op, OpError, Raster, Reach, Terrain, layer, math, work,
};
use rayon::prelude::*;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::held_lines;
use crate::rock::beds::{Hardness, STRATA, Strata};
use crate::simd::{Level, dispatch};

/// Breaks rock that is too steep and lets loose ground slide until it lies at its talus angle: crags above, scree below.
///
/// ```text
/// ∂h/∂t = ∇ · D k ∇h        k = max(0, 1 − tan θ / |∇h|),  θ of the rock or of what lies loose on it
/// D t = reach²              a slope relaxes over about the length `reach_m`
/// ```
///
/// Between two neighbours k is the mean of both: what the upper one loses the lower one gains. Loose ground slides beyond
/// `talus_deg` for as long as there is any; rock breaks beyond its own angle, which lies between `talus_deg` (hardness 0)
/// and `rock_deg` (hardness 1), and what broke is loose from then on. The layer `sediment` holds the depth of loose ground.
/// With `temperature_c` frost weakens rock where water in its cracks freezes and thaws: hardness times
/// `1 − 0.6 exp(−((T + 3) / 5)²)`, so that crags break most where the mean of the year lies a little below freezing.
///
/// Where land has strata (`rock.strata`), rock breaks beyond the `talus_deg` of the bed that it has come down to, and `hardness` is
/// not asked.
///
/// **Guarantees** (1) volume is conserved exactly while it works: heights are whole numbers of 1/65536 m, and what one
/// sample loses another gains; (2) in a sweep no sample rises above the highest or falls below the lowest of itself and
/// the four around it, so no peak grows, no pit gets deeper and heights keep to the range of the land (ground that
/// stands while what lies beside it slides away can be left as a knob, and ground between two heaps of scree as a
/// hollow); (3) ground that is not too steep keeps its bits; (4) left long enough, nothing is steeper than its angle,
/// measured over two cells, or over one beside the edge and holes; (5) the angle is the same in all directions: it is
/// held against the gradient, not against single neighbours; (6) neither the number of threads nor the visiting order
/// changes a bit, and land turned by 90 degrees gives the turned result; (7) what is held keeps its height to the bit.
///
/// **Limits** The edge of the world is closed; a hole and held ground exchange nothing. The number of sweeps is `8 (reach/cell)²`, so
/// the time grows with the fourth power of the resolution where slopes move; ground at rest costs nothing. More than
/// 100,000 sweeps are refused. A wave of
/// sliding crosses a cell a sweep, many times `reach_m` in all, so windows cannot be worked out alone: the step is solved on
/// the recipe's frame.
///
/// **After** Musgrave, Kolb & Mace, SIGGRAPH 1989, and the layers of Beneš & Forsbach, SCCG 2001. They hand a share of
/// each height difference to single neighbours, in visiting order; this is a flux between every two.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Thermal {
    /// Steepest slope at which loose ground stays put.
    #[schemars(range(min = 1.0, max = 80.0), extend("x-unit" = "deg", "x-slider" = [20.0, 45.0]))]
    pub talus_deg: f64,
    /// Steepest slope at which the hardest rock stands.
    #[schemars(range(min = 1.0, max = 89.0), extend("x-unit" = "deg", "x-slider" = [35.0, 80.0]))]
    pub rock_deg: f64,
    /// How hard the rock is, from 0 (stands no steeper than scree) to 1: a number, or a layer.
    #[schemars(extend("minimum" = 0.0, "maximum" = 1.0))]
    pub hardness: Coef,
    /// Yearly mean temperature, of which frost follows: a number, or a layer such as `temperature`; 30 has no frost.
    #[schemars(extend("minimum" = -200.0, "maximum" = 200.0, "x-unit" = "degC", "x-slider" = [-15.0, 25.0]))]
    pub temperature_c: Coef,
    /// Depth of loose ground at the start: a number, or a layer such as `sediment`.
    #[schemars(extend("minimum" = 0.0, "maximum" = 1e4, "x-unit" = "m", "x-slider" = [0.0, 50.0]))]
    pub loose_m: Coef,
    /// Distance over which slopes come to rest: how long it goes on.
    #[schemars(range(min = 0.0, max = 5e3), extend("x-unit" = "m", "x-slider" = [0.0, 300.0]))]
    pub reach_m: f64,
}

impl Default for Thermal {
    fn default() -> Self {
        Self {
            talus_deg: 33.0,
            rock_deg: 50.0,
            hardness: Coef::Const(0.4),
            temperature_c: Coef::Const(30.0),
            loose_m: Coef::Const(0.0),
            reach_m: 30.0,
        }
    }
}

impl Op for Thermal {
    const ID: &'static str = "erode.thermal";
    const VERSION: u32 = 3;

    fn layers(&self) -> Layers {
        Layers::none()
            .updating([layer::HEIGHT.name()])
            .using_vectors([held_lines::HOLD, STRATA])
            .reading(self.hardness.layer())
            .reading(self.temperature_c.layer())
            .reading(self.loose_m.layer())
            .writing([layer::SEDIMENT.name()])
    }

    fn wears(&self) -> bool {
        true
    }

    fn reach(&self, _: &Frame) -> Reach {
        Reach::World
    }

    fn bytes_a_sample(&self, _: &Frame) -> f64 {
        45.0
    }

    fn faults(&self) -> Vec<Fault> {
        if self.rock_deg < self.talus_deg {
            let (rock, talus) = (self.rock_deg, self.talus_deg);
            return vec![Fault::of("rock_deg", format!("{rock} is below talus_deg ({talus})"))];
        }
        Vec::new()
    }

    fn run(&self, mut terrain: Terrain, ctx: &Ctx<'_>) -> Result<Terrain, OpError> {
        let [dx, dy] = terrain.frame().spacing_m();
        check_work("reach_m", self.reach_m, [dx, dy])?;
        let before = terrain.get(layer::HEIGHT)?;
        let weakened = self.weakened(&terrain)?;
        let places = Strata::under(&terrain, ctx)?;
        let hardness = weakened.as_ref().map_or(self.hardness.on(&terrain)?, Field::Raster);
        let hardness = Hardness::new(hardness, places.as_ref());
        let loose = self.loose_m.on(&terrain)?;
        let held = held_lines::held_samples(&terrain);
        let (after, sediment) = thermal(before, [dx, dy], hardness, loose, held.as_ref(), self, ctx)?;
        let total = |raster: &Raster<f32>| raster.map(|v| if v.is_nan() { 0.0 } else { v }).sum_f64();
        let mut moved = Raster::filled(after.cols(), after.rows(), 0.0);
        moved.par_rows(|row, out| {
            for ((out, a), b) in out.iter_mut().zip(after.row(row)).zip(before.row(row)) {
                *out = a - b;
            }
        });
        ctx.report("moved", total(&moved.map(f32::abs)) / 2.0 * dx * dy, "m3");
        ctx.report("loose", total(&sediment) * dx * dy, "m3");
        ctx.report("gained", total(&moved) * dx * dy, "m3");
        terrain.set(layer::HEIGHT, after);
        terrain.set(layer::SEDIMENT, sediment);
        Ok(terrain)
    }
}

impl Thermal {
    /// Hardness with frost; none where there is no frost.
    fn weakened(&self, terrain: &Terrain) -> Result<Option<Raster<f32>>, OpError> {
        let (temperature, hardness) = (self.temperature_c.on(terrain)?, self.hardness.on(terrain)?);
        if matches!(temperature, Field::Const(warm) if frost(warm) == 1.0) {
            return Ok(None);
        }
        let (cols, rows) = (terrain.frame().cols(), terrain.frame().rows());
        Ok(Some(Raster::from_fn(cols, rows, |col, row| {
            hardness.at(col, row) * frost(temperature.at(col, row))
        })))
    }
}

/// What frost leaves of the hardness of rock, by the yearly mean temperature; all of it where that is not known.
fn frost(temperature_c: f32) -> f32 {
    let off = (temperature_c + 3.0) / 5.0;
    if off.is_nan() { 1.0 } else { 1.0 - 0.6 * math::f32::exp(-off * off) }
}

/// Nanoseconds that a sample takes in a sweep, about.
const NS_A_SWEEP: f64 = 10.0;

/// Refuses a reach that would take far too many sweeps.
pub(super) fn check_work(parameter: &str, reach_m: f64, spacing_m: [f64; 2]) -> Result<(), OpError> {
    let most_m = (work::MOST_NS_A_SAMPLE / NS_A_SWEEP / sweeps(1.0, spacing_m)).sqrt();
    let advice = format!("at this spacing the maximum is {}", work::at_most(most_m));
    work::check(parameter, reach_m, NS_A_SWEEP * sweeps(reach_m, spacing_m), &advice)
}

/// A sweep spreads over D dt = 1 / (4/dx² + 4/dy²): half of what makes no new extremum, so that odd and even samples do
/// not part.
fn sweeps(reach_m: f64, [dx, dy]: [f64; 2]) -> f64 {
    reach_m * reach_m * 4.0 * (1.0 / (dx * dx) + 1.0 / (dy * dy))
}

/// Sweeps after which it is asked which beds the surface has come down to.
const LOOK: usize = 16;
/// A sample that exchanges nothing: it has no height, or has to keep it.
const HOLE: i32 = i32::MIN;
/// Rows and columns of a block that rests as one.
const TALL: usize = 16;
const WIDE: usize = 128;

/// The algorithm alone: heights afterwards, and the loose part of them. `held` marks the samples that must stay.
///
/// # Errors
/// When cancelled.
pub fn thermal<'h>(
    height: &Raster<f32>,
    spacing_m: [f64; 2],
    hardness: impl Into<Hardness<'h>>,
    loose_m: Field<'_>,
    held: Option<&Raster<bool>>,
    params: &Thermal,
    ctx: &Ctx<'_>,
) -> Result<(Raster<f32>, Raster<f32>), Cancelled> {
    let hardness: Hardness<'_> = hardness.into();
    let (cols, rows) = (height.cols(), height.rows());
    let (low, high) = height.range().unwrap_or((0.0, 0.0));
    // Differences must fit as well, so heights keep below 2^30 of these units.
    let largest = f64::from(low.abs().max(high.abs())).max(1.0);
    let unit = math::exp2((30.0 - math::log2(largest) - 1e-3).floor().clamp(-100.0, 16.0));

    // A ring of holes lies around the land, so that every sample has four neighbours.
    let (wide, tall) = (cols + 2, rows + 2);
    let ground = |col: usize, row: usize| {
        let inside = (1..=cols).contains(&col) && (1..=rows).contains(&row);
        inside.then(|| height.row(row - 1)[col - 1]).filter(|h| h.is_finite())
    };
    let mut now = State {
        height: Raster::from_fn(wide, tall, |col, row| {
            let stays = |held: &Raster<bool>| held.row(row - 1)[col - 1];
            match ground(col, row) {
                Some(h) if !held.is_some_and(stays) => (f64::from(h) * unit).round() as i32,
                _ => HOLE,
            }
        }),
        loose: Raster::from_fn(wide, tall, |col, row| match ground(col, row) {
            Some(_) => {
                let depth = f64::from(loose_m.at(col - 1, row - 1).max(0.0)) * unit;
                depth.min(f64::from(1 << 30)).round() as i32
            }
            None => 0,
        }),
    };
    let law = Law::new(params, spacing_m, unit);
    let angles = |now: &State| {
        Raster::from_fn(wide, tall, |col, row| {
            if ground(col, row).is_none() {
                return 0.0;
            }
            let (height, loose) = (now.height.row(row)[col], now.loose.row(row)[col]);
            let rock_m = (f64::from(height.saturating_sub(loose)) / unit) as f32;
            match hardness.bed(col - 1, row - 1, rock_m) {
                Some(bed) => bed.grade.max(law.talus),
                None => law.rock_angle(hardness.at(col - 1, row - 1, rock_m)),
            }
        })
    };
    let mut angle = angles(&now);
    let start = now.height.clone();
    let mut next = now.clone();
    let mut parts: [Raster<f32>; 3] = std::array::from_fn(|_| Raster::filled(wide, tall, 0.0));
    let sweeps = sweeps(params.reach_m, spacing_m).ceil() as usize;

    let (across, down) = (wide.div_ceil(WIDE), tall.div_ceil(TALL));
    let mut moved = vec![true; across * down];
    for sweep in 0..sweeps {
        ctx.tick(sweep, sweeps)?;
        if hardness.has_beds() && sweep > 0 && sweep.is_multiple_of(LOOK) {
            angle = angles(&now);
        }
        let active = dilated(&moved, across, down);
        law.parts(&now, &angle, &active, &mut parts);
        law.slide(&now, &parts, &active, &mut next, &mut moved);
        std::mem::swap(&mut now, &mut next);
        if !moved.contains(&true) {
            break;
        }
    }

    let mut after = height.clone();
    after.par_rows(|row, out| {
        let changes = now.height.row(row + 1)[1..].iter().zip(&start.row(row + 1)[1..]);
        for (out, (&now, &start)) in out.iter_mut().zip(changes) {
            if now != start {
                *out = (f64::from(*out) + f64::from(now - start) / unit) as f32;
            }
        }
    });
    let sediment = Raster::from_fn(cols, rows, |col, row| {
        if height.row(row)[col].is_nan() {
            return f32::NAN;
        }
        (f64::from(now.loose.row(row + 1)[col + 1]) / unit) as f32
    });
    Ok((after, sediment))
}

/// Heights and the loose part of them, in whole units.
#[derive(Clone)]
struct State {
    height: Raster<i32>,
    loose: Raster<i32>,
}

/// Blocks where something moved, and those around them: only there can anything move next.
fn dilated(moved: &[bool], across: usize, down: usize) -> Vec<bool> {
    let at = |x: usize, y: usize| {
        let (xs, ys) = (x.saturating_sub(1)..(x + 2).min(across), y.saturating_sub(1)..(y + 2).min(down));
        ys.flat_map(|y| xs.clone().map(move |x| (x, y))).any(|(x, y)| moved[y * across + x])
    };
    (0..across * down).map(|i| at(i % across, i / across)).collect()
}

/// What the slopes obey, in units of height a cell.
struct Law {
    /// Shares of a height difference that a sweep moves along x and along y at most.
    weight: [f32; 2],
    /// Grade per unit of difference along x and along y.
    grade: [f32; 2],
    talus: f32,
    rock: f32,
    level: Level,
}

impl Law {
    fn new(params: &Thermal, [dx, dy]: [f64; 2], unit: f64) -> Self {
        let (wx, wy) = (1.0 / (dx * dx), 1.0 / (dy * dy));
        let all = 4.0 * (wx + wy);
        Self {
            weight: [(wx / all) as f32, (wy / all) as f32],
            grade: [(1.0 / (dx * unit)) as f32, (1.0 / (dy * unit)) as f32],
            talus: math::tan(params.talus_deg.to_radians()) as f32,
            rock: math::tan(params.rock_deg.to_radians()) as f32,
            level: Level::new(),
        }
    }

    fn rock_angle(&self, hardness: f32) -> f32 {
        let stands = if hardness.is_nan() { 0.0 } else { hardness.clamp(0.0, 1.0) };
        self.talus + stands * (self.rock - self.talus)
    }

    /// How each sample takes part in the next sweep, as shares of the drops beside it: what is too steep for loose ground,
    /// what is too steep for the rock, and the loose ground there is to give.
    fn parts(&self, now: &State, angle: &Raster<f32>, active: &[bool], parts: &mut [Raster<f32>; 3]) {
        let wide = now.height.cols();
        let [slides, breaks, there] = parts.each_mut().map(|p| p.as_mut_slice().par_chunks_mut(wide * TALL));
        slides.zip(breaks).zip(there).enumerate().for_each(|(block, ((slides, breaks), there))| {
            for_runs(active, block, &now.height, |row, from, to| {
                let at = (row - block * TALL) * wide;
                let out = [
                    &mut slides[at + from..at + to],
                    &mut breaks[at + from..at + to],
                    &mut there[at + from..at + to],
                ];
                let (loose, angle) = (&now.loose.row(row)[from..to], &angle.row(row)[from..to]);
                let beside = Beside::new(&now.height, row, from, to);
                dispatch!(self.level, _simd => self.part_row(&beside, loose, angle, out));
            });
        });
    }

    #[inline(always)]
    fn part_row(&self, beside: &Beside<'_, i32>, loose: &[i32], angle: &[f32], out: [&mut [f32]; 3]) {
        let n = loose.len();
        let Beside { here, sides: [west, east, north, south] } = beside;
        let (here, angle) = (&here[..n], &angle[..n]);
        let (west, east, north, south) = (&west[..n], &east[..n], &north[..n], &south[..n]);
        let [slides, breaks, there] = out.map(|o| &mut o[..n]);
        for i in 0..n {
            let drop = |side: i32| fall(here[i], side) as f32;
            // Beside a hole and at the edge of the world only one side tells how steep it is.
            let mean = |a: i32, b: i32| if a == HOLE || b == HOLE { 1.0 } else { 0.5 };
            let (along, down) = (mean(west[i], east[i]), mean(north[i], south[i]));
            let (west, east, north, south) = (drop(west[i]), drop(east[i]), drop(north[i]), drop(south[i]));
            // The mean square of both sides, which sees a ridge of one sample as well as a plane.
            let x = along * (west * west + east * east) * (self.grade[0] * self.grade[0]);
            let y = down * (north * north + south * south) * (self.grade[1] * self.grade[1]);
            let steep = (x + y).sqrt();
            let beyond = |angle: f32| if steep > angle { 1.0 - angle / steep } else { 0.0 };
            let down = |drop: f32| if drop > 0.0 { drop } else { 0.0 };
            let all =
                self.weight[0] * (down(west) + down(east)) + self.weight[1] * (down(north) + down(south));
            slides[i] = beyond(self.talus);
            breaks[i] = beyond(angle[i]);
            there[i] = if all > 0.0 { loose[i] as f32 / all } else { 0.0 };
        }
    }

    /// One sweep: what every sample has afterwards; marks the blocks where anything changed.
    fn slide(
        &self,
        now: &State,
        parts: &[Raster<f32>; 3],
        active: &[bool],
        next: &mut State,
        moved: &mut [bool],
    ) {
        let wide = now.height.cols();
        let across = wide.div_ceil(WIDE);
        let heights = next.height.as_mut_slice().par_chunks_mut(wide * TALL);
        let depths = next.loose.as_mut_slice().par_chunks_mut(wide * TALL);
        let blocks = heights.zip(depths).zip(moved.par_chunks_mut(across)).enumerate();
        blocks.for_each(|(block, ((heights, depths), moved))| {
            moved.fill(false);
            for_runs(active, block, &now.height, |row, from, to| {
                let at = (row - block * TALL) * wide;
                let (height, depth) = (&mut heights[at + from..at + to], &mut depths[at + from..at + to]);
                let loose = &now.loose.row(row)[from..to];
                let beside = Beside::new(&now.height, row, from, to);
                let parts = parts.each_ref().map(|part| Beside::new(part, row, from, to));
                let changed =
                    dispatch!(self.level, _simd => self.slide_row(&beside, &parts, loose, height, depth));
                moved[from / WIDE] |= changed;
            });
        });
    }

    #[inline(always)]
    fn slide_row(
        &self,
        beside: &Beside<'_, i32>,
        [slides, breaks, there]: &[Beside<'_, f32>; 3],
        loose: &[i32],
        height: &mut [i32],
        depth: &mut [i32],
    ) -> bool {
        let n = loose.len();
        let (height, depth, here) = (&mut height[..n], &mut depth[..n], &beside.here[..n]);
        let mut changed = 0;
        // First what is gained and lost by one side after the other, then what that makes of the sample.
        height.fill(0);
        depth.fill(0);
        for k in 0..4 {
            let weight = self.weight[k / 2];
            let side = &beside.sides[k][..n];
            let (slide, slide_z) = (&slides.here[..n], &slides.sides[k][..n]);
            let (break_, break_z) = (&breaks.here[..n], &breaks.sides[k][..n]);
            let (own, own_z) = (&there.here[..n], &there.sides[k][..n]);
            for i in 0..n {
                // Both sides of a pair compute the same number, so what one loses the other gains.
                let drop = fall(here[i], side[i]);
                let there = if drop > 0 { own[i] } else { own_z[i] };
                let mean = 0.5 * (slide[i] + slide_z[i]);
                let slides = if mean < there { mean } else { there };
                let breaks = 0.5 * (break_[i] + break_z[i]);
                let share = if slides > breaks { slides } else { breaks };
                let flux = (share * (weight * drop as f32)) as i32;
                height[i] += flux.max(0);
                depth[i] -= flux.min(0);
            }
        }
        for i in 0..n {
            let (lost, gained) = (height[i], depth[i]);
            changed |= lost | gained;
            height[i] = here[i].wrapping_sub(lost).wrapping_add(gained);
            depth[i] = (loose[i] - lost).max(0) + gained;
        }
        changed != 0
    }
}

/// How far it is down from a sample to another; 0 to and from a hole.
#[inline(always)]
fn fall(here: i32, there: i32) -> i32 {
    if here == HOLE || there == HOLE { 0 } else { here.wrapping_sub(there) }
}

/// Gives `f` the row and columns of every stretch of a row of blocks where something may move, the ring apart.
fn for_runs(active: &[bool], block: usize, like: &Raster<i32>, mut f: impl FnMut(usize, usize, usize)) {
    let (wide, tall) = (like.cols(), like.rows());
    let across = wide.div_ceil(WIDE);
    let rows = (block * TALL).max(1)..((block + 1) * TALL).min(tall - 1);
    for row in rows {
        for x in (0..across).filter(|x| active[block * across + x]) {
            let (from, to) = ((x * WIDE).max(1), ((x + 1) * WIDE).min(wide - 1));
            if from < to {
                f(row, from, to);
            }
        }
    }
}

/// A stretch of a row, and the samples to the west, east, north and south of it.
struct Beside<'a, T> {
    here: &'a [T],
    sides: [&'a [T]; 4],
}

impl<'a, T: Copy> Beside<'a, T> {
    fn new(raster: &'a Raster<T>, row: usize, from: usize, to: usize) -> Self {
        let line = raster.row(row);
        Self {
            here: &line[from..to],
            sides: [
                &line[from - 1..to - 1],
                &line[from + 1..to + 1],
                &raster.row(row - 1)[from..to],
                &raster.row(row + 1)[from..to],
            ],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use orogen_core::testkit::{assert_close, cliff, ramp};

    const CELL_M: f64 = 10.0;

    fn loose() -> Thermal {
        Thermal { loose_m: Coef::Const(1e4), reach_m: 300.0, ..Thermal::default() }
    }

    fn run(height: &Raster<f32>, spacing_m: [f64; 2], params: &Thermal) -> (Raster<f32>, Raster<f32>) {
        let (Coef::Const(hardness), Coef::Const(depth)) = (&params.hardness, &params.loose_m) else {
            panic!()
        };
        let fields = (Field::Const(*hardness as f32), Field::Const(*depth as f32));
        thermal(height, spacing_m, fields.0, fields.1, None, params, &Ctx::silent()).unwrap()
    }

    /// Steepest gradient, in the direction it has.
    fn steepest(height: &Raster<f32>, cell_m: f64) -> f64 {
        let mut most = 0.0f64;
        for row in 1..height.rows() - 1 {
            for col in 1..height.cols() - 1 {
                let x = f64::from(height.row(row)[col + 1] - height.row(row)[col - 1]);
                let y = f64::from(height.row(row + 1)[col] - height.row(row - 1)[col]);
                most = most.max(math::hypot(x, y) / (2.0 * cell_m));
            }
        }
        most
    }

    fn rough(samples: usize) -> Raster<f32> {
        let seed = orogen_core::Seed::from_text("rubble");
        Raster::from_fn(samples, samples, |c, r| 400.0 + 60.0 * seed.unit2(c as i64, r as i64) as f32)
    }

    #[test]
    fn volume_is_conserved_and_no_extremum_is_new() {
        for params in [loose(), Thermal::default()] {
            let before = rough(65);
            let (after, sediment) = run(&before, [CELL_M, 8.0], &params);
            let cells = 65.0 * 65.0;
            // Only rounding back to 32-bit floats is left: a half of 2^-15 m a cell at most.
            assert!((after.sum_f64() - before.sum_f64()).abs() < cells * 1e-5);
            let (a, b) = (before.range().unwrap(), after.range().unwrap());
            assert!(b.0 >= a.0 && b.1 <= a.1, "{a:?} {b:?}");
            assert!(sediment.range().unwrap().0 >= 0.0);
        }
    }

    #[test]
    fn no_peak_grows_and_no_pit_gets_deeper() {
        for params in [loose(), Thermal::default()] {
            let mut land = rough(65);
            // One sweep at a time: that many metres of reach.
            let sweep = Thermal { reach_m: 0.999 * CELL_M / 8f64.sqrt(), ..params };
            for _ in 0..30 {
                let (after, _) = run(&land, [CELL_M, CELL_M], &sweep);
                assert_ne!(after, land);
                for (i, &h) in after.as_slice().iter().enumerate() {
                    let (c, r) = ((i % 65) as isize, (i / 65) as isize);
                    let around =
                        [(0, 0), (-1, 0), (1, 0), (0, -1), (0, 1)].map(|(x, y)| land.clamped(c + x, r + y));
                    let (low, high) =
                        around.iter().fold((f32::MAX, f32::MIN), |(a, b), &v| (a.min(v), b.max(v)));
                    assert!((low - 1e-4..=high + 1e-4).contains(&h), "{h} at {c}, {r} among {around:?}");
                }
                land = after;
            }
        }
    }

    #[test]
    fn ground_comes_to_rest_at_the_edge_and_beside_holes_too() {
        let mut land = cliff(33, 90.0);
        // Sand piled up along the west and the north edge, and round a hole.
        for i in 0..33 {
            land.as_mut_slice()[33 * i] += 60.0;
            land.as_mut_slice()[i] += 60.0;
        }
        land.as_mut_slice()[20 * 33 + 10] = f32::NAN;
        let (after, _) = run(&land, [CELL_M, CELL_M], &loose());
        let talus = math::tan(33f64.to_radians());
        let grade = |a: (usize, usize), b: (usize, usize)| {
            f64::from((after.row(a.1)[a.0] - after.row(b.1)[b.0]).abs()) / CELL_M
        };
        for i in 1..32 {
            let (west, north) = (grade((0, i), (1, i)), grade((i, 0), (i, 1)));
            assert!(west <= 1.05 * talus && north <= 1.05 * talus, "{west} and {north} at {i}");
        }
    }

    #[test]
    fn a_cliff_of_sand_comes_to_rest_at_the_talus_angle() {
        let (after, _) = run(&cliff(33, 90.0), [CELL_M, CELL_M], &loose());
        let ratio = steepest(&after, CELL_M) / math::tan(33f64.to_radians());
        assert!((0.97..=1.01).contains(&ratio), "slope is {ratio} of tan(talus)");
    }

    #[test]
    fn bare_rock_stands_at_its_own_angle_with_scree_below() {
        let params = Thermal { reach_m: 250.0, ..Thermal::default() };
        let before = cliff(33, 80.0);
        let (after, sediment) = run(&before, [CELL_M, CELL_M], &params);
        let talus = math::tan(33f64.to_radians());
        let rock = talus + 0.4 * (math::tan(50f64.to_radians()) - talus);
        let row = (after.row(16), sediment.row(16));
        for col in 1..32 {
            let grade = f64::from((row.0[col + 1] - row.0[col - 1]).abs()) / (2.0 * CELL_M);
            let scree = row.1[col - 1..=col + 1].iter().all(|&depth| depth > 1.0);
            let angle = if scree { talus } else { rock };
            assert!(grade <= angle * 1.06, "at {col}: {grade}, allowed {angle}");
        }
        assert!(row.1.iter().any(|&depth| depth > 2.0));
        assert!(row.1.contains(&0.0));
    }

    #[test]
    fn frost_breaks_rock_where_it_freezes_and_thaws() {
        let broken = |temperature_c: f64| {
            let mut terrain = Terrain::new(Frame::square(32.0 * CELL_M, 33).unwrap());
            terrain.set(layer::HEIGHT, cliff(33, 80.0));
            let op = Thermal { temperature_c: Coef::Const(temperature_c), ..Thermal::default() };
            op.apply(terrain, &Ctx::silent()).unwrap().get(layer::SEDIMENT).unwrap().sum_f64()
        };
        let none = broken(30.0);
        assert_close!(broken(25.0), none, rel = 1e-3);
        assert_close!(broken(-40.0), none, rel = 1e-3);
        assert!(broken(-3.0) > 1.05 * none, "{} {none}", broken(-3.0));
    }

    #[test]
    fn stable_ground_is_left_bit_for_bit() {
        let gentle = ramp(33, 10.0, 0.5);
        let (after, _) = run(&gentle, [CELL_M, CELL_M], &loose());
        assert_eq!(after, gentle);
    }

    #[test]
    fn a_heap_is_as_steep_in_all_directions() {
        let n = 97;
        let heap = Raster::from_fn(n, n, |c, r| {
            let (x, y) = (c as f64 - 48.0, r as f64 - 48.0);
            (450.0 - 12.0 * math::hypot(x, y)).max(0.0) as f32
        });
        let (after, _) = run(&heap, [CELL_M, CELL_M], &Thermal { reach_m: 300.0, ..loose() });
        let grade = |angle: f64| {
            let at = |d: f64| {
                let (x, y) = (d * math::cos(angle.to_radians()), d * math::sin(angle.to_radians()));
                f64::from(after.bilinear(48.0 + x, 48.0 + y))
            };
            (at(15.0) - at(35.0)) / (20.0 * CELL_M)
        };
        for angle in [22.5, 45.0, 67.5, 101.0] {
            assert_close!(grade(angle), grade(0.0), rel = 0.01);
        }
        assert_close!(grade(0.0), math::tan(33f64.to_radians()), rel = 0.04);
    }

    #[test]
    fn turned_land_gives_the_turned_result_to_the_bit() {
        let n = 40;
        let before = rough(n);
        let turned = |r: &Raster<f32>| Raster::from_fn(n, n, |col, row| r.row(col)[n - 1 - row]);
        let params = Thermal { reach_m: 50.0, ..Thermal::default() };
        let (after, _) = run(&before, [CELL_M, CELL_M], &params);
        let (other, _) = run(&turned(&before), [CELL_M, CELL_M], &params);
        assert_eq!(turned(&after), other);
    }

    #[test]
    fn holes_and_the_smallest_grids_do_no_harm() {
        let mut land = cliff(33, 90.0);
        land.as_mut_slice()[16 * 33 + 17] = f32::NAN;
        let (after, _) = run(&land, [CELL_M, CELL_M], &loose());
        assert_eq!(after.as_slice().iter().filter(|v| v.is_nan()).count(), 1);
        for (cols, rows) in [(1, 1), (2, 2), (9, 1), (1, 9)] {
            let flat = Raster::filled(cols, rows, 7.0);
            assert_eq!(run(&flat, [CELL_M, CELL_M], &loose()).0, flat);
            let none = Raster::filled(cols, rows, f32::NAN);
            assert!(run(&none, [CELL_M, CELL_M], &loose()).0.as_slice().iter().all(|v| v.is_nan()));
        }
    }
}
