//! Musgrave erosion: the classic of 1989, water handed from sample to sample with what it carries, then scree.

use orogen_core::param::{Fault, Field};
use orogen_core::{
    Cancelled, Coef, Ctx, D8, Frame, Layers, Op, OpError, Raster, Reach, Terrain, layer, math, work,
};
use rayon::prelude::*;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::thermal::{Thermal, check_work, thermal};
use crate::held_lines;
use crate::rock::beds::{Hardness, STRATA, Strata};

/// Erodes land by the classic method: samples hand water and ground to all lower neighbours, then what is too steep slides.
///
/// With altitude a, water w and carried ground s, a sample passes to its lower neighbours
///
/// ```text
/// Δw = min(w, Σ ω (drop of a + w))        shared as ω drop;  ω ∝ 1/distance², all eight together ½
/// Δw = 0:   a + K_d s,  s (1 − K_d)                                    still water drops its load
/// s ≥ c:    passes c,  a + K_d (s − c),  s ← (1 − K_d)(s − c)          c = capacity Δw
/// s < c:    passes s + K_s (c − s),  a − K_s (c − s),  s ← 0
/// wet:      passes min(ω drop of a, 2 ω laid down) of the bed          what was laid down evens out under water
/// K_s = (1 − hardness)(1 − e^(−cell/erode_m)),   K_d = 1 − e^(−cell/settle_m)
/// ```
///
/// Water crosses a cell a step, so a storm of `travel_m` metres takes `travel_m / cell` steps; rain falls in the first half,
/// and in the last quarter the flood wanes: what it can carry falls to nothing. What is left of it is laid down in the end,
/// and the land weathers as with `erode.thermal`. The layer `sediment` holds the depth of what was laid down and of what broke.
///
/// Where land has strata (`rock.strata`), rock is as hard as the bed that it has come down to: a middling bed is as hard as
/// `hardness` says.
///
/// **Guarantees** (1) water and ground are conserved to the unit of 1/65536 m while it works, and the manifest has the
/// volumes; (2) all samples act at once on the land as it was: neither the number of threads nor the visiting order
/// changes a bit, and land turned by 90 degrees gives the turned result; (3) level land stays level; (4) water at rest
/// lies level, and floors that it leaves are even; (5) a hole exchanges nothing and stays a hole; (6) what is held
/// keeps its height to the bit: what water carries passes over it, and what is left there in the end is carried off;
/// (7) with `sea`, land at or below 0 m takes the water and what it carries, fills up to 0 m at most, and no other land
/// becomes sea.
///
/// **Limits** Water has no momentum and spreads over all lower neighbours, so valleys are soft; `erode.pipes` is the physical
/// one. Water leaves over the edge where the land falls towards it. Streams are about a cell wide and as deep as a cell
/// lets through, so at another resolution large valleys agree and small gullies need not. The
/// time is cells × `travel_m` / cell.
///
/// **After** Musgrave, Kolb & Mace, SIGGRAPH 1989. They pass the whole difference to one neighbour after the other; a share
/// to all at once lets levels meet instead of swap. K_s and K_d follow from lengths, so that they hold at any sampling. Theirs
/// leaves floors of lumps a sample wide, as a sample that stands in the way of the water gets still more of its load; beds that
/// even out are ours.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Musgrave {
    /// Total depth of rain where the moisture is 1.
    #[schemars(range(min = 0.0, max = 1e3), extend("x-unit" = "m", "x-slider" = [0.0, 5.0]))]
    pub rain_m: f64,
    /// How much of the rain falls, from 0 to 1: a number, or a layer such as `moisture`.
    #[schemars(extend("minimum" = 0.0, "maximum" = 1.0))]
    pub moisture: Coef,
    /// How far water travels during the storm.
    #[schemars(range(min = 0.0, max = 1e6), extend("x-unit" = "m", "x-slider" = [500.0, 10000.0]))]
    pub travel_m: f64,
    /// Ground that water can carry, as a multiple of its volume; with more than 1, a storm does the work of ages.
    #[schemars(range(min = 0.0, max = 1e3), extend("x-slider" = [0.0, 50.0]))]
    pub capacity: f64,
    /// Distance over which water takes up two thirds of what it can still carry.
    #[schemars(range(min = 1.0, max = 1e6), extend("x-unit" = "m", "x-slider" = [50.0, 2000.0]))]
    pub erode_m: f64,
    /// Distance over which two thirds of the excess load settle.
    #[schemars(range(min = 1.0, max = 1e6), extend("x-unit" = "m", "x-slider" = [20.0, 1000.0]))]
    pub settle_m: f64,
    /// How hard the rock is, from 0 (as loose ground) to 1 (no water wears it): a number, or a layer.
    #[schemars(extend("minimum" = 0.0, "maximum" = 1.0))]
    pub hardness: Coef,
    /// Steepest slope at which loose ground stays put.
    #[schemars(range(min = 1.0, max = 80.0), extend("x-unit" = "deg", "x-slider" = [20.0, 45.0]))]
    pub talus_deg: f64,
    /// Steepest slope at which the hardest rock stands.
    #[schemars(range(min = 1.0, max = 89.0), extend("x-unit" = "deg", "x-slider" = [35.0, 80.0]))]
    pub rock_deg: f64,
    /// Distance over which slopes come to rest after the storm; 0 leaves them as they are.
    #[schemars(range(min = 0.0, max = 5e3), extend("x-unit" = "m", "x-slider" = [0.0, 100.0]))]
    pub slide_m: f64,
    /// Whether land at or below sea level (0 m) is sea.
    pub sea: bool,
}

impl Default for Musgrave {
    fn default() -> Self {
        Self {
            rain_m: 0.6,
            moisture: Coef::Const(1.0),
            travel_m: 3000.0,
            capacity: 25.0,
            erode_m: 150.0,
            settle_m: 60.0,
            hardness: Coef::Const(0.3),
            talus_deg: 33.0,
            rock_deg: 50.0,
            slide_m: 20.0,
            sea: true,
        }
    }
}

impl Op for Musgrave {
    const ID: &'static str = "erode.musgrave";
    const VERSION: u32 = 3;

    fn layers(&self) -> Layers {
        Layers::none()
            .updating([layer::HEIGHT.name()])
            .using_vectors([held_lines::HOLD, STRATA])
            .reading(self.moisture.layer())
            .reading(self.hardness.layer())
            .writing([layer::SEDIMENT.name()])
    }

    fn wears(&self) -> bool {
        true
    }

    fn reach(&self, _: &Frame) -> Reach {
        Reach::World
    }

    fn bytes_a_sample(&self, _: &Frame) -> f64 {
        80.0
    }

    fn faults(&self) -> Vec<Fault> {
        if self.rock_deg < self.talus_deg {
            let (rock, talus) = (self.rock_deg, self.talus_deg);
            let message = format!("{rock} is below talus_deg ({talus})");
            return vec![Fault::of("rock_deg", message)];
        }
        Vec::new()
    }

    fn run(&self, mut terrain: Terrain, ctx: &Ctx<'_>) -> Result<Terrain, OpError> {
        let spacing_m = terrain.frame().spacing_m();
        let cell_m = (spacing_m[0] * spacing_m[1]).sqrt();
        let advice = format!(
            "at this spacing the maximum is {}",
            work::at_most(work::MOST_NS_A_SAMPLE / NS_A_STEP * cell_m)
        );
        work::check("travel_m", self.travel_m, NS_A_STEP * self.travel_m / cell_m, &advice)?;
        check_work("slide_m", self.slide_m, spacing_m)?;
        let before = terrain.get(layer::HEIGHT)?;
        let places = Strata::under(&terrain, ctx)?;
        let hardness = Hardness::new(self.hardness.on(&terrain)?, places.as_ref());
        let moisture = self.moisture.on(&terrain)?;
        let held = held_lines::held_samples(&terrain);
        let storm = musgrave(before, spacing_m, moisture, hardness, held.as_ref(), self, ctx)?;
        let mut wet = before.clone();
        wet.par_rows(|row, out| {
            for (out, change) in out.iter_mut().zip(storm.change.row(row)) {
                *out += change;
            }
        });
        let laid_down = storm.change.map(|v| v.max(0.0));
        let slopes = Thermal {
            talus_deg: self.talus_deg,
            rock_deg: self.rock_deg,
            reach_m: self.slide_m,
            ..Thermal::default()
        };
        let loose = Field::Raster(&laid_down);
        let (after, sediment) = thermal(&wet, spacing_m, hardness, loose, held.as_ref(), &slopes, ctx)?;

        let area = spacing_m[0] * spacing_m[1];
        let total = |raster: &Raster<f32>, f: fn(f32) -> f32| {
            raster.map(|v| if v.is_nan() { 0.0 } else { f(v) }).sum_f64() * area
        };
        let lost = total(before, |v| v) - total(&after, |v| v);
        ctx.report("rain", storm.fallen_m * area, "m3");
        ctx.report("run_off", storm.run_off_m * area, "m3");
        ctx.report("eroded", total(&storm.change, |v| (-v).max(0.0)), "m3");
        ctx.report("deposited", total(&laid_down, |v| v), "m3");
        ctx.report("carried_off", storm.carried_off_m * area, "m3");
        ctx.report("unaccounted", lost - storm.carried_off_m * area, "m3");
        terrain.set(layer::HEIGHT, after);
        terrain.set(layer::SEDIMENT, sediment);
        Ok(terrain)
    }
}

/// Nanoseconds that a sample takes in a step, about.
const NS_A_STEP: f64 = 60.0;

/// What a storm left; sums are depths over all samples together.
pub struct Storm {
    /// How far the ground rose, in metres; NaN in holes.
    pub change: Raster<f32>,
    /// Depth of the water that is left, in metres.
    pub water: Raster<f32>,
    /// Rain.
    pub fallen_m: f64,
    /// Water that left over the edge or into the sea.
    pub run_off_m: f64,
    /// Ground that left with it, found no room in the sea, or was left over held ground.
    pub carried_off_m: f64,
}

/// Whole numbers of this make a metre.
const UNIT: f64 = 65536.0;
/// Altitude and level of a sample without a height: far below all others, which keep within 10⁹ m.
const HOLE: i64 = i64::MIN / 4;
/// Weights of neighbours are whole numbers of this part.
const WHOLE: i64 = 1024;

/// A sample, in units.
#[derive(Clone, Copy, Default)]
struct Column {
    ground: i64,
    water: i64,
    load: i64,
}

/// A sample as its neighbours see it while all act at once.
#[derive(Clone, Copy, Default)]
struct Surface {
    /// Of the water.
    level: i64,
    /// The ground; [`HOLE`] where it exchanges nothing with other ground.
    bed: i64,
    /// What was laid down and lies under water.
    loose: i64,
}

/// Water and ground that a sample passes for each weighted unit of drop.
#[derive(Clone, Copy, Default)]
struct Passed {
    water: f64,
    load: f64,
}

/// The hydraulic part alone. `held` marks the samples that must stay.
///
/// # Errors
/// When cancelled.
pub fn musgrave<'h>(
    height: &Raster<f32>,
    spacing_m: [f64; 2],
    moisture: Field<'_>,
    hardness: impl Into<Hardness<'h>>,
    held: Option<&Raster<bool>>,
    params: &Musgrave,
    ctx: &Ctx<'_>,
) -> Result<Storm, Cancelled> {
    let (cols, rows) = (height.cols(), height.rows());
    let hardness: Hardness<'_> = hardness.into();
    let mut law = Law::new(params, spacing_m);
    let share = |v: f32| f64::from(v.clamp(0.0, 1.0).max(0.0));
    let stays = |col: usize, row: usize| held.is_some_and(|held| held.row(row)[col]);
    let start = height.map(|h| match h.is_finite() {
        true => (f64::from(h).clamp(-1e9, 1e9) * UNIT).round() as i64,
        false => HOLE,
    });
    let rain = Raster::from_fn(cols, rows, |col, row| {
        let ground = start.row(row)[col];
        let wet = ground != HOLE && !law.is_sea(ground);
        if wet { (params.rain_m * share(moisture.at(col, row)) * UNIT).round() as i64 } else { 0 }
    });
    let mut columns = start.map(|ground| Column { ground, ..Column::default() });
    let mut surface = start.map(|_| Surface::default());
    let mut passed = Raster::filled(cols, rows, Passed::default());
    let mut off = [0i64; 2];

    let steps = (params.travel_m / (spacing_m[0] * spacing_m[1]).sqrt()).ceil() as usize;
    let wet = steps.div_ceil(2);
    for step in 0..steps {
        ctx.tick(step, steps)?;
        law.capacity = params.capacity * (4.0 * (steps - step) as f64 / steps as f64).min(1.0);
        if step < wet {
            // Parts that add up to the whole, however many there are.
            let until = |all: i64, step: usize| all * step as i64 / wet as i64;
            columns.par_rows(|row, out| {
                for (out, &all) in out.iter_mut().zip(rain.row(row)) {
                    out.water += until(all, step + 1) - until(all, step);
                }
            });
        }
        surface.par_rows(|row, out| {
            for (col, (out, column)) in out.iter_mut().zip(columns.row(row)).enumerate() {
                let Column { ground, water, .. } = *column;
                let laid = if water > 0 { (ground - start.row(row)[col]).max(0) } else { 0 };
                *out = match law.is_sea(ground) {
                    true => Surface { level: 0, bed: HOLE, loose: 0 },
                    false if stays(col, row) => Surface { level: ground + water, bed: HOLE, loose: 0 },
                    false => Surface { level: ground + water, bed: ground, loose: laid },
                };
            }
        });
        let lines =
            columns.as_mut_slice().par_chunks_mut(cols).zip(passed.as_mut_slice().par_chunks_mut(cols));
        let gone = lines.enumerate().map(|(row, (columns, passed))| {
            ctx.stop_if_asked()?;
            let mut gone = [0; 2];
            for (col, (column, passed)) in columns.iter_mut().zip(passed).enumerate() {
                let ground_m = (column.ground as f64 / UNIT) as f32;
                let bed = match stays(col, row) {
                    true => Bed::Held,
                    false => Bed::Soft(1.0 - share(hardness.at(col, row, ground_m))),
                };
                *passed = law.give(column, &surface, [col, row], bed, &mut gone);
            }
            Ok::<_, Cancelled>(gone)
        });
        let gone = gone.try_reduce(|| [0; 2], |a, b| Ok([a[0] + b[0], a[1] + b[1]]))?;
        off = [off[0] + gone[0], off[1] + gone[1]];
        columns.try_par_rows(|row, out| {
            ctx.stop_if_asked()?;
            for (col, out) in out.iter_mut().enumerate() {
                law.take(out, &surface, &passed, [col, row]);
            }
            Ok::<_, Cancelled>(())
        })?;
    }

    for (i, column) in columns.as_mut_slice().iter_mut().enumerate() {
        if held.is_some_and(|held| held.as_slice()[i]) {
            off[1] += std::mem::take(&mut column.load);
        }
        if law.is_sea(column.ground) {
            swallow(column, &mut off);
        }
    }
    let metres = |units: i64| units as f64 / UNIT;
    let (mut change, mut water) = (height.clone(), height.clone());
    change.par_rows(|row, out| {
        for ((out, column), &start) in out.iter_mut().zip(columns.row(row)).zip(start.row(row)) {
            *out = if start == HOLE { f32::NAN } else { metres(column.ground + column.load - start) as f32 };
        }
    });
    water.par_rows(|row, out| {
        for (out, column) in out.iter_mut().zip(columns.row(row)) {
            *out = if column.ground == HOLE { f32::NAN } else { metres(column.water) as f32 };
        }
    });
    let fallen = if steps == 0 { 0 } else { rain.as_slice().iter().sum() };
    Ok(Storm {
        change,
        water,
        fallen_m: metres(fallen),
        run_off_m: metres(off[0]),
        carried_off_m: metres(off[1]),
    })
}

/// The ground under the water.
#[derive(Clone, Copy)]
enum Bed {
    /// How easily it is worn, 0 to 1.
    Soft(f64),
    /// It stays: all that is carried goes on.
    Held,
}

/// What samples obey.
struct Law {
    /// Of the neighbours, in parts of [`WHOLE`].
    weights: [i64; 8],
    capacity: f64,
    takes: f64,
    settles: f64,
    sea: bool,
}

impl Law {
    fn new(params: &Musgrave, [dx, dy]: [f64; 2]) -> Self {
        let near = D8.map(|(dc, dr)| 1.0 / (f64::from(dc * dc) * dx * dx + f64::from(dr * dr) * dy * dy));
        // In pairs, so that turned cells have the same sum.
        let all = 2.0 * ((near[0] + near[2]) + 2.0 * near[1]);
        let cell = (dx * dy).sqrt();
        let within = |length: f64| 1.0 - math::exp(-cell / length);
        Self {
            // Rounded down, so that none gives more than it has.
            weights: near.map(|w| (0.5 * w / all * WHOLE as f64) as i64),
            capacity: params.capacity,
            takes: within(params.erode_m),
            settles: within(params.settle_m),
            sea: params.sea,
        }
    }

    fn is_sea(&self, ground: i64) -> bool {
        self.sea && ground <= 0 && ground != HOLE
    }

    /// Takes from a sample what it passes to its neighbours, and wears it or lays down on it.
    #[inline]
    fn give(
        &self,
        column: &mut Column,
        surface: &Raster<Surface>,
        at: [usize; 2],
        bed: Bed,
        off: &mut [i64; 2],
    ) -> Passed {
        let Column { ground, water, load } = *column;
        if ground == HOLE {
            return Passed::default();
        }
        if self.is_sea(ground) {
            if let Bed::Held = bed {
                off[1] += std::mem::take(&mut column.load);
            }
            swallow(column, off);
            return Passed::default();
        }
        if water == 0 && load == 0 {
            return Passed::default(); // nor has it anything loose under water
        }
        let here = surface.row(at[1])[at[0]];
        let inside = D8.map(|(dc, dr)| beside(surface, at, dc, dr));
        let mut drops = [0; 8];
        for (k, &(dc, dr)) in D8.iter().enumerate() {
            drops[k] = match inside[k] {
                Some(Surface { level: HOLE, .. }) => 0,
                Some(there) => (here.level - there.level).max(0),
                // Beyond the edge the land goes on as it falls.
                None => match beside(surface, at, -dc, -dr) {
                    Some(Surface { level: HOLE, .. }) | None => 0,
                    Some(behind) => (behind.level - here.level).max(0),
                },
            };
            column.ground -= inside[k].map_or(0, |there| self.evens(here, there, k));
        }
        let deepest = drops.into_iter().max().unwrap_or(0);
        let parts: [i64; 8] = std::array::from_fn(|k| drops[k] * self.weights[k]);
        let all: i64 = parts.iter().sum();
        let moves = water.min(all / WHOLE);
        let able = match bed {
            Bed::Held => load,
            Bed::Soft(_) => (self.capacity * moves as f64) as i64,
        };
        if load >= able {
            let settles = (self.settles * (load - able) as f64) as i64;
            column.ground += settles;
            column.load -= settles;
        } else if let Bed::Soft(soft) = bed {
            let wears = (soft * self.takes * (able - load) as f64) as i64;
            let most = if self.sea { column.ground - 1 } else { i64::MAX };
            let wears = wears.min(deepest / 4).min(most);
            column.ground -= wears;
            column.load += wears;
        }
        if moves == 0 {
            return Passed::default();
        }
        let passed =
            Passed { water: moves as f64 / all as f64, load: able.min(column.load) as f64 / all as f64 };
        for k in 0..8 {
            // The neighbour computes the same numbers, so nothing is lost on the way.
            let (water, load) = passed.part(parts[k]);
            column.water -= water;
            column.load -= load;
            if inside[k].is_none() {
                *off = [off[0] + water, off[1] + load];
            }
        }
        passed
    }

    /// Adds to a sample what its neighbours pass to it.
    #[inline]
    fn take(&self, column: &mut Column, surface: &Raster<Surface>, passed: &Raster<Passed>, at: [usize; 2]) {
        if column.ground == HOLE {
            return;
        }
        let here = surface.row(at[1])[at[0]];
        for (k, &(dc, dr)) in D8.iter().enumerate() {
            let Some(there) = beside(surface, at, dc, dr) else { continue };
            column.ground += self.evens(there, here, k);
            if there.level > here.level
                && let Some(passed) = beside(passed, at, dc, dr)
            {
                let (water, load) = passed.part((there.level - here.level) * self.weights[k]);
                column.water += water;
                column.load += load;
            }
        }
    }

    /// What was laid down on one bed and goes to another beside it: a share of the drop between them, as with water, and no
    /// more than there is.
    #[inline]
    fn evens(&self, from: Surface, to: Surface, k: usize) -> i64 {
        if from.loose == 0 || to.bed == HOLE || to.bed >= from.bed {
            return 0;
        }
        // All weights together are a half.
        (from.bed - to.bed).min(2 * from.loose) * self.weights[k] / WHOLE
    }
}

impl Passed {
    /// What goes to a neighbour.
    #[inline]
    fn part(self, part: i64) -> (i64, i64) {
        ((self.water * part as f64) as i64, (self.load * part as f64) as i64)
    }
}

/// The sea takes the water, and lays down what finds room below its level.
fn swallow(column: &mut Column, off: &mut [i64; 2]) {
    // A unit is left, as heights need not be whole.
    let stays = column.load.min((-column.ground - 1).max(0));
    *off = [off[0] + column.water, off[1] + column.load - stays];
    *column = Column { ground: column.ground + stays, ..Column::default() };
}

/// The value of a neighbour; none beyond the edge.
#[inline]
fn beside<T: Copy>(raster: &Raster<T>, [col, row]: [usize; 2], dc: i32, dr: i32) -> Option<T> {
    let (col, row) = (col.wrapping_add_signed(dc as isize), row.wrapping_add_signed(dr as isize));
    (col < raster.cols() && row < raster.rows()).then(|| raster.row(row)[col])
}

#[cfg(test)]
mod tests {
    use super::*;
    use orogen_core::Seed;
    use orogen_core::testkit::hills;

    const CELL_M: f64 = 10.0;

    fn quick() -> Musgrave {
        Musgrave { travel_m: 1000.0, sea: false, ..Musgrave::default() }
    }

    fn storm(height: &Raster<f32>, params: &Musgrave) -> Storm {
        let fields = (Field::Const(1.0), Field::Const(0.3));
        musgrave(height, [CELL_M, CELL_M], fields.0, fields.1, None, params, &Ctx::silent()).unwrap()
    }

    /// Heights and sediment after the whole operator.
    fn apply(height: &Raster<f32>, params: &Musgrave) -> [Raster<f32>; 2] {
        let whole = Frame::new([0.0, 0.0], [1000.0, 1000.0], [101, 101]).unwrap();
        let mut terrain = Terrain::new(whole.window(0, 0, height.cols(), height.rows()));
        terrain.set(layer::HEIGHT, height.clone());
        let after = params.run(terrain, &Ctx::new(Seed(5))).unwrap();
        [layer::HEIGHT, layer::SEDIMENT].map(|layer| after.get(layer).unwrap().clone())
    }

    fn sum(raster: &Raster<f32>) -> f64 {
        raster.map(|v| if v.is_nan() { 0.0 } else { v }).sum_f64()
    }

    #[test]
    fn water_and_ground_are_conserved() {
        for (sea, dent) in [(false, 0.0), (true, 150.0)] {
            let mut height = hills(81, 300.0).map(|h| h - dent);
            height.as_mut_slice()[40 * 81 + 50] = f32::NAN;
            let found = storm(&height, &Musgrave { sea, ..quick() });
            let worn = sum(&found.change.map(|v| (-v).max(0.0)));
            assert!(worn > 100.0 && found.carried_off_m > 1.0 && found.run_off_m > 1.0);
            assert!((sum(&found.change) + found.carried_off_m).abs() < 1e-6 * worn);
            let left = sum(&found.water) + found.run_off_m;
            assert!((left - found.fallen_m).abs() < 1e-6 * found.fallen_m, "{left} of {}", found.fallen_m);
            assert_eq!(found.change.as_slice().iter().filter(|v| v.is_nan()).count(), 1);
        }
    }

    #[test]
    fn level_land_stays_level_and_hard_rock_is_not_worn() {
        let flat = Raster::filled(40, 30, 12.5);
        assert_eq!(apply(&flat, &quick())[0], flat);
        let hills = hills(60, 200.0);
        let hard = Musgrave { hardness: Coef::Const(1.0), slide_m: 0.0, ..quick() };
        assert_eq!(apply(&hills, &hard)[0], hills);
    }

    #[test]
    fn water_at_rest_lies_level() {
        let bowl = Raster::from_fn(31, 31, |c, r| {
            let (x, y) = (c as f32 - 15.0, r as f32 - 15.0);
            100.0 + 0.05 * (x * x + y * y)
        });
        // The rim is open only where the land falls towards it, which it does nowhere here.
        let found = storm(&bowl, &Musgrave { capacity: 0.0, travel_m: 30_000.0, ..quick() });
        assert!(found.run_off_m == 0.0);
        let level = |c: usize| bowl.row(15)[c] + found.water.row(15)[c];
        assert!(found.water.row(15)[15] > 2.0);
        for c in 11..20 {
            assert!((level(c) - level(15)).abs() < 0.01, "at {c}: {} and {}", level(c), level(15));
        }
    }

    #[test]
    fn valleys_are_cut_and_the_plain_below_them_rises() {
        // A valley runs east down a slope of 1 in 4 to a plain.
        let land = Raster::from_fn(101, 41, |c, r| {
            let slope = (60.0 - c as f32).max(0.0) * 2.5;
            100.0 + slope + (r as f32 - 20.0).abs() * slope * 0.01 + 0.01 * (101.0 - c as f32)
        });
        let change = storm(&land, &Musgrave { travel_m: 2000.0, ..quick() }).change;
        let mean = |cols: std::ops::Range<usize>, row: usize| {
            change.row(row)[cols.clone()].iter().sum::<f32>() / cols.len() as f32
        };
        assert!(mean(20..50, 20) < 1.2 * mean(20..50, 10), "{} {}", mean(20..50, 20), mean(20..50, 10));
        assert!(mean(62..75, 20) > 0.1, "{}", mean(62..75, 20));
    }

    #[test]
    fn floors_are_even() {
        // Noise of a metre on a slope of 1 in 4 above a plain, which gets what the gullies bring.
        let rough = Seed(8);
        let land = Raster::from_fn(101, 81, |c, r| {
            let slope = (50.0 - c as f64).max(0.0) * 2.5;
            let gully = rough.unit2(c as i64, r as i64) * (slope / 25.0).min(1.0);
            (100.0 + slope + gully + 0.02 * (101.0 - c as f64)) as f32
        });
        let change = storm(&land, &Musgrave { travel_m: 2000.0, ..quick() }).change;
        let (mut laid, mut lumps) = (0.0, 0.0);
        for row in 10..71 {
            for col in 53..65 {
                let around = (change.row(row)[col - 1] + change.row(row)[col + 1]) / 4.0
                    + (change.row(row - 1)[col] + change.row(row + 1)[col]) / 4.0;
                laid += f64::from(change.row(row)[col]);
                lumps += f64::from((change.row(row)[col] - around).abs());
            }
        }
        assert!(laid > 100.0 && lumps < 0.004 * laid, "lumps of {lumps} m in all on {laid} m");
    }

    #[test]
    fn the_sea_fills_to_its_level_at_most_and_no_land_drowns() {
        let land = hills(81, 300.0).map(|h| h - 150.0);
        let [after, _] = apply(&land, &Musgrave { slide_m: 0.0, travel_m: 2000.0, ..Musgrave::default() });
        let mut filled = false;
        for (before, after) in land.as_slice().iter().zip(after.as_slice()) {
            assert_eq!(*before <= 0.0, *after <= 0.0, "{before} {after}");
            filled |= *before < -0.1 && *after > before + 0.05;
        }
        assert!(filled);
    }

    #[test]
    fn without_rain_it_is_thermal_weathering() {
        let land = hills(60, 900.0);
        let dry = Musgrave { rain_m: 0.0, slide_m: 30.0, ..quick() };
        let field = (Field::Const(0.3), Field::Const(0.0));
        let (expected, loose) =
            thermal(&land, [CELL_M, CELL_M], field.0, field.1, None, &Thermal::default(), &Ctx::silent())
                .unwrap();
        assert!(expected != land);
        assert_eq!(apply(&land, &dry), [expected, loose]);
    }

    #[test]
    fn turned_land_gives_the_turned_result_to_the_bit() {
        let n = 60;
        let turned = |r: &Raster<f32>| Raster::from_fn(n, n, |col, row| r.row(col)[n - 1 - row]);
        let before = hills(n, 300.0).map(|h| h - 60.0);
        let params = Musgrave { sea: true, ..quick() };
        let [after, loose] = apply(&before, &params);
        assert!(after != before);
        assert_eq!(apply(&turned(&before), &params), [turned(&after), turned(&loose)]);
    }

    #[test]
    fn the_smallest_grids_and_land_of_holes_do_no_harm() {
        for (cols, rows) in [(1, 1), (2, 2), (9, 1), (1, 9), (5, 5)] {
            let flat = Raster::filled(cols, rows, 7.0);
            assert_eq!(apply(&flat, &quick())[0], flat);
            let none = Raster::filled(cols, rows, f32::NAN);
            assert!(apply(&none, &quick())[0].as_slice().iter().all(|v| v.is_nan()));
            let steep = Raster::from_fn(cols, rows, |c, r| (c * 50 + r * 90) as f32 - 1e8);
            assert!(apply(&steep, &quick())[0].as_slice().iter().all(|v| v.is_finite()));
        }
    }
}
