//! Creep: soil forms on rock, moves down slopes and slides where they are too steep.

use orogen_core::param::Field;
use orogen_core::{Coef, Ctx, Frame, Layers, Op, OpError, Raster, Reach, Terrain, layer, math, work};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::hillslope::{GROWTH, Ground, Law, NS_A_STAGE};
use super::soil::Soil;
use crate::held_lines;
use crate::rock::beds::{Places, STRATA, Strata};
use crate::water::sea_level;

/// Lets soil form on rock and move down slopes: round crests, straight slopes near their limit, filled hollows; steep rock
/// stays bare.
///
/// ```text
/// ∂h/∂t = −∇ · q                q = −D s ∇h / (1 − (|∇h| / tan talus)²)        s = 1 − exp(−H / soil_depth_m)
/// ∂H/∂t = P exp(−H / soil_depth_m) − ∇ · q
/// ```
///
/// `H` is the depth of soil, `D` how fast it creeps, `P` how fast bare rock turns to soil. On gentle ground soil moves in
/// proportion to the slope; near the talus angle small landslides move it ever faster, so that slopes come to rest a
/// little below. Bare rock does not creep, but what is steeper than the talus angle breaks and slides: `q = 120 D (|∇h| − tan talus)`.
/// The layer
/// `soil` holds the depth of soil in the end: deep in hollows and at the feet of slopes, none where rock is bare.
///
/// Where land has strata (`rock.strata`), the bed that the rock has come down to turns to soil so much faster or slower than
/// middling rock, `P (1 − hardness) / hardness`, and breaks beyond its own `talus_deg`, where that is steeper than the soil's.
///
/// **Guarantees** (1) under constant lowering a slope with deep soil comes to the closed form of Roering et al. within 1 % of
/// its relief; (2) what one sample loses another gains: volume is conserved to rounding, except for what comes to the sea, which
/// is lost there; (3) heights keep to the range of the land; (4) a cliff of bare rock comes to rest between 0.95 and
/// 1.03 of the talus slope and stays there while soil forms on it no faster than it slides off; (5) slopes are limited alike in all directions; (6) sea, holes and what is held keep their bits; (7) the
/// number of threads changes no bit.
///
/// **Limits** The edge of the world is closed; holes and held ground exchange nothing. Above 0.94 of the critical slope the flux
/// grows by no more than 120 times that of gentle ground for every bit of slope, where Roering's has no bound. Streams carry
/// nothing off here: `erode.stream_power` has the same creep with streams. The time is solved in goes of many stages; how
/// freely ground moves in one follows from the soil that is left at its end.
///
/// **After** Roering, Kirchner & Dietrich, Water Resour. Res. 35 (1999), for the flux; Heimsath, Dietrich, Nishiizumi & Finkel,
/// Nature 388 (1997), for soil production; Johnstone & Hilley, Geology 43 (2015), for thin soil; Meyer, Balsara & Aslam, J.
/// Comput. Phys. 257 (2014), for long explicit steps. We differ in the bound of the flux and in rock that breaks beyond the limit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Creep {
    /// How long it goes on.
    #[schemars(range(min = 0.0, max = 1e9), extend("x-unit" = "yr", "x-slider" = [0.0, 2e5]))]
    pub duration_yr: f64,
    /// How fast soil creeps: a number, or a layer.
    #[schemars(extend("minimum" = 0.0, "maximum" = 1e3, "x-unit" = "m2/yr", "x-slider" = [0.0, 0.1]))]
    pub creep_m2_per_yr: Coef,
    /// Slope at which soil no longer stays.
    #[schemars(range(min = 1.0, max = 80.0), extend("x-unit" = "deg", "x-slider" = [25.0, 50.0]))]
    pub talus_deg: f64,
    /// Depth of soil at the start: a number, or a layer such as `soil`.
    #[schemars(extend("minimum" = 0.0, "maximum" = 1e4, "x-unit" = "m", "x-slider" = [0.0, 5.0]))]
    pub soil_m: Coef,
    /// How fast bare rock turns to soil.
    #[schemars(range(min = 0.0, max = 100.0), extend("x-unit" = "mm/yr", "x-slider" = [0.0, 1.0]))]
    pub production_mm_per_yr: f64,
    /// Depth of soil under which rock turns to soil about a third as fast as bare rock, and above which soil moves freely.
    #[schemars(range(min = 0.01, max = 100.0), extend("x-unit" = "m", "x-slider" = [0.1, 2.0]))]
    pub soil_depth_m: f64,
    /// Whether land at or below sea level (0 m) is sea.
    pub sea: bool,
}

impl Default for Creep {
    fn default() -> Self {
        Self {
            duration_yr: 20_000.0,
            creep_m2_per_yr: Coef::Const(0.01),
            talus_deg: 38.0,
            soil_m: Coef::Const(0.5),
            production_mm_per_yr: 0.2,
            soil_depth_m: 0.5,
            sea: true,
        }
    }
}

impl Op for Creep {
    const ID: &'static str = "erode.creep";
    const VERSION: u32 = 3;

    fn layers(&self) -> Layers {
        Layers::none()
            .updating([layer::HEIGHT.name()])
            .using_vectors([held_lines::HOLD, STRATA])
            .reading(self.creep_m2_per_yr.layer())
            .reading(self.soil_m.layer())
            .deriving([layer::SOIL.name()], [layer::HEIGHT.name()])
    }

    fn wears(&self) -> bool {
        true
    }

    fn reach(&self, _: &Frame) -> Reach {
        Reach::World
    }

    fn bytes_a_sample(&self, _: &Frame) -> f64 {
        50.0
    }

    fn run(&self, mut terrain: Terrain, ctx: &Ctx<'_>) -> Result<Terrain, OpError> {
        let [dx, dy] = terrain.frame().spacing_m();
        let before = terrain.get(layer::HEIGHT)?;
        let (rate, soil) = (self.creep_m2_per_yr.on(&terrain)?, self.soil_m.on(&terrain)?);
        let held = held_lines::held_samples(&terrain);
        let beds = Strata::under(&terrain, ctx)?;
        let (after, soil) = creep(before, [dx, dy], rate, soil, held.as_ref(), beds.as_ref(), self, ctx)?;
        let total = |raster: &Raster<f32>| raster.map(|v| if v.is_nan() { 0.0 } else { v }).sum_f64();
        let mut moved = Raster::filled(after.cols(), after.rows(), 0.0);
        moved.par_rows(|row, out| {
            for ((out, a), b) in out.iter_mut().zip(after.row(row)).zip(before.row(row)) {
                *out = a - b;
            }
        });
        ctx.report("gained", total(&moved) * dx * dy, "m3");
        ctx.report("moved", total(&moved.map(f32::abs)) / 2.0 * dx * dy, "m3");
        drop(moved);
        ctx.report("soil", total(&soil) * dx * dy, "m3");
        terrain.set(layer::HEIGHT, after);
        terrain.set(layer::SOIL, soil);
        Ok(terrain)
    }
}

/// In how many goes the time is solved, at least and at most.
const GOES: [f64; 2] = [4.0, 64.0];
/// How far soil spreads in a go unless there are too many, as a share of the square of a cell.
const A_GO: f64 = 0.3;
/// Passes of stages in a go, unless it is a long one. Within a pass slopes swing beyond where they end, and rock that has broken
/// does not heal.
const PASSES: usize = 2;
/// Nanoseconds that a sample takes beside the stages in a go, about.
const NS_A_GO: f64 = 300.0;

/// The height and the depth of soil afterwards, on cells `spacing_m` wide.
///
/// # Errors
/// When cancelled, and when it would take far too long.
pub fn creep(
    height: &Raster<f32>,
    spacing_m: [f64; 2],
    rate: Field<'_>,
    soil: Field<'_>,
    held: Option<&Raster<bool>>,
    beds: Option<&Places>,
    params: &Creep,
    ctx: &Ctx<'_>,
) -> Result<(Raster<f32>, Raster<f32>), OpError> {
    let (cols, rows) = (height.cols(), height.rows());
    let sea_m = sea_level(params.sea);
    let fastest = match &rate {
        Field::Const(rate) => f64::from(*rate),
        Field::Raster(rates) => rates.range().map_or(0.0, |(_, most)| f64::from(most)),
    };
    let total_m2 = fastest.clamp(0.0, 1e3) * params.duration_yr;
    let plan = Plan::new(total_m2, [cols, rows], spacing_m);
    check_work(params, fastest.clamp(0.0, 1e3), [cols, rows], spacing_m)?;
    let Plan { goes, a_go_m2, passes, .. } = plan;
    let made_m = 1e-3 * params.production_mm_per_yr * params.duration_yr / goes as f64;

    let mut depth = Raster::filled(cols, rows, 0.0);
    depth.par_rows(|row, out| {
        for (col, (depth, &h)) in out.iter_mut().zip(height.row(row)).enumerate() {
            *depth = match h {
                h if h.is_nan() => h,
                h if h <= sea_m => 0.0,
                _ => soil.at(col, row).max(0.0),
            };
        }
    });
    let mut now = height.clone();
    // What is held is a hole meanwhile.
    if let Some(held) = held {
        now.par_rows(|row, out| {
            for (h, &held) in out.iter_mut().zip(held.row(row)) {
                *h = if held { f32::NAN } else { *h };
            }
        });
    }
    let critical = math::tan(params.talus_deg.to_radians()) as f32;
    let per_grade2 = Raster::filled(cols, rows, 1.0 / (critical * critical));
    let per_fastest = if fastest > 0.0 { (1.0 / fastest) as f32 } else { 0.0 };
    let share_of_fastest = |cell: usize| {
        let rate = rate.at(cell % cols, cell / cols) * per_fastest;
        if rate.is_nan() { 0.0 } else { rate.clamp(0.0, 1.0) }
    };
    let [mut as_soil, mut as_rock, mut made] = [(); 3].map(|()| Raster::filled(cols, rows, 0.0));
    let mut breaks = beds.map(|_| per_grade2.clone());
    for go in 0..goes {
        ctx.tick(go, goes)?;
        form(&now, &depth, made_m as f32, beds, sea_m, &mut made);
        if let (Some(beds), Some(breaks)) = (beds, &mut breaks) {
            stand(&now, &depth, critical, beds, breaks);
        }
        ctx.stop_if_asked()?;
        let soil = Soil {
            depth: &depth,
            made: &|cell| f64::from(made.as_slice()[cell]),
            rate: &share_of_fastest,
            free_m: params.soil_depth_m,
        };
        let ground = Ground {
            spacing_m,
            law: Law::new(GROWTH),
            per_grade2: &per_grade2,
            rock_per_grade2: breaks.as_ref(),
            shares: None,
            stays: None,
            sea_m,
        };
        soil.shares(&ground, &now, a_go_m2, [&mut as_soil, &mut as_rock], ctx)?;
        ctx.stop_if_asked()?;
        let ground = Ground { shares: Some([&as_soil, &as_rock]), ..ground };
        let a_pass_m2 = a_go_m2 / passes as f64;
        let mut pass = || {
            if go < plan.restless {
                ground.pass(&mut now, a_pass_m2, ctx)
            } else {
                ground.pass_at_once(&mut now, a_pass_m2, ctx)
            }
        };
        let mut change = pass()?;
        for _ in 1..passes {
            let more = pass()?;
            change
                .par_rows(|row, out| out.iter_mut().zip(more.row(row)).for_each(|(all, more)| *all += more));
        }
        change.par_rows(|row, out| {
            for (col, change) in out.iter_mut().enumerate() {
                *change = soil.after(row * cols + col, *change);
            }
        });
        depth = change;
    }
    if let Some(held) = held {
        now.par_rows(|row, out| {
            for (col, h) in out.iter_mut().enumerate() {
                *h = if held.row(row)[col] { height.row(row)[col] } else { *h };
            }
        });
    }
    Ok((now, depth))
}

/// How a time is solved.
struct Plan {
    /// In how many goes.
    goes: usize,
    /// How far soil spreads in each, `D t`.
    a_go_m2: f64,
    /// In how many passes of stages each go is solved. Where there are as many goes as may be, soil has long come to rest.
    passes: usize,
    /// How many goes it takes at most until soil has spread over the whole land. From then on what moves freely lies level, and
    /// a pass needs no parts.
    restless: usize,
}

impl Plan {
    fn new(metres2: f64, [cols, rows]: [usize; 2], [dx, dy]: [f64; 2]) -> Self {
        let goes = (metres2 / (A_GO * dx.min(dy) * dx.min(dy))).ceil().clamp(GOES[0], GOES[1]);
        let a_go_m2 = metres2 / goes;
        let side_m = (cols as f64 * dx).max(rows as f64 * dy);
        let restless = (side_m * side_m / a_go_m2).ceil().clamp(0.0, goes);
        let passes = if goes < GOES[1] { PASSES } else { 1 };
        Self { goes: goes as usize, a_go_m2, passes, restless: restless as usize }
    }

    /// Nanoseconds that a sample takes at most.
    fn work_ns(&self, spacing_m: [f64; 2]) -> f64 {
        let a_pass_m2 = self.a_go_m2 / self.passes as f64;
        let a_go = |stages: f64| NS_A_GO + NS_A_STAGE * stages * self.passes as f64;
        let restless = a_go(Ground::stages_of_all_parts(spacing_m, a_pass_m2, GROWTH));
        let resting = a_go(Ground::stages(spacing_m, a_pass_m2, GROWTH));
        self.restless as f64 * restless + (self.goes - self.restless) as f64 * resting
    }
}

/// Refuses a time that would take far too long.
fn check_work(
    params: &Creep,
    fastest_m2_per_yr: f64,
    samples: [usize; 2],
    spacing_m: [f64; 2],
) -> Result<(), OpError> {
    let needed = |years: f64| Plan::new(fastest_m2_per_yr * years, samples, spacing_m).work_ns(spacing_m);
    let work_ns = needed(params.duration_yr);
    // Found by halving, and only where it is needed.
    let (mut most, mut over) = (0.0, params.duration_yr);
    for _ in 0..if work_ns > work::MOST_NS_A_SAMPLE { 40 } else { 0 } {
        let middle = 0.5 * (most + over);
        if needed(middle) > work::MOST_NS_A_SAMPLE { over = middle } else { most = middle }
    }
    let advice = format!("at this spacing and creep_m2_per_yr the maximum is {}", work::at_most(0.95 * most));
    work::check("duration_yr", params.duration_yr, work_ns, &advice)
}

/// How much soil bare rock makes of itself in a go: `made_m` of middling rock, more of softer beds and less of harder ones.
fn form(
    height: &Raster<f32>,
    depth: &Raster<f32>,
    made_m: f32,
    beds: Option<&Places>,
    sea_m: f32,
    made: &mut Raster<f32>,
) {
    let cols = height.cols();
    made.par_rows(|row, out| {
        for (col, (made, &h)) in out.iter_mut().zip(height.row(row)).enumerate() {
            let soft = |beds: &Places| beds.rock(row * cols + col, h - depth.row(row)[col]).softness();
            // False for holes too.
            *made = if h > sea_m { made_m * beds.map_or(1.0, soft) } else { 0.0 };
        }
    });
}

/// One over the square of the slope at which the rock of each bed breaks; none breaks where loose ground still lies.
fn stand(height: &Raster<f32>, depth: &Raster<f32>, critical: f32, beds: &Places, breaks: &mut Raster<f32>) {
    let cols = height.cols();
    breaks.par_rows(|row, out| {
        for (col, (breaks, &h)) in out.iter_mut().zip(height.row(row)).enumerate() {
            let grade = beds.rock(row * cols + col, h - depth.row(row)[col]).grade.max(critical);
            *breaks = 1.0 / (grade * grade);
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use orogen_core::testkit::{assert_close, cliff};

    const CELL_M: f64 = 5.0;

    fn run(height: &Raster<f32>, params: &Creep) -> (Raster<f32>, Raster<f32>) {
        let (Coef::Const(rate), Coef::Const(soil)) = (&params.creep_m2_per_yr, &params.soil_m) else {
            panic!()
        };
        let (rate, soil) = (Field::Const(*rate as f32), Field::Const(*soil as f32));
        creep(height, [CELL_M, CELL_M], rate, soil, None, None, params, &Ctx::silent()).unwrap()
    }

    fn deep() -> Creep {
        Creep { soil_m: Coef::Const(1e3), sea: false, ..Creep::default() }
    }

    fn hills(n: usize) -> Raster<f32> {
        Raster::from_fn(n, n, |c, r| {
            (300.0 + 25.0 * math::sin(c as f64 / 4.0) * math::cos(r as f64 / 5.0)) as f32
        })
    }

    #[test]
    fn volume_is_conserved_with_thin_soil_too() {
        for params in [deep(), Creep { sea: false, ..Creep::default() }] {
            let before = hills(65);
            let (after, soil) = run(&before, &params);
            assert_ne!(before, after);
            assert_close!(after.sum_f64() / before.sum_f64(), 1.0, abs = 1e-6);
            let (a, b) = (before.range().unwrap(), after.range().unwrap());
            assert!(b.0 >= a.0 && b.1 <= a.1, "{a:?} {b:?}");
            assert!(soil.range().unwrap().0 >= 0.0);
        }
    }

    #[test]
    fn holes_do_not_spread_through_thin_soil() {
        let mut before = hills(33);
        for cell in [0, 500, 501, 534, 33 * 33 - 1] {
            before.as_mut_slice()[cell] = f32::NAN;
        }
        let (after, soil) = run(&before, &Creep { sea: false, ..Creep::default() });
        for ((a, b), soil) in after.as_slice().iter().zip(before.as_slice()).zip(soil.as_slice()) {
            assert_eq!((a.is_nan(), soil.is_nan()), (b.is_nan(), b.is_nan()));
        }
        let sum = |r: &Raster<f32>| r.map(|v| if v.is_nan() { 0.0 } else { v }).sum_f64();
        assert_close!(sum(&after) / sum(&before), 1.0, abs = 1e-6);
    }

    #[test]
    fn rough_land_is_level_after_a_very_long_time() {
        // Hundreds of stages in a go: what is rough must fade, not swing up again.
        let seed = orogen_core::Seed::from_text("rough");
        let before = Raster::from_fn(49, 49, |c, r| 500.0 + 300.0 * seed.unit2(c as i64, r as i64) as f32);
        for soil_m in [0.5, 1e4] {
            let params = Creep { duration_yr: 2e7, soil_m: Coef::Const(soil_m), ..deep() };
            let (after, _) = run(&before, &params);
            let (low, high) = after.range().unwrap();
            assert!(high - low < 5.0, "{low} to {high} with {soil_m} m of soil");
            assert_close!(after.sum_f64() / before.sum_f64(), 1.0, abs = 1e-5);
        }
    }

    #[test]
    fn land_creeps_down_to_the_sea_and_not_to_its_floor() {
        let before = Raster::from_fn(49, 49, |c, _| if c < 20 { -400.0 } else { c as f32 - 15.0 });
        let (after, _) = run(&before, &Creep { duration_yr: 1e5, ..Creep::default() });
        for (new, old) in after.as_slice().iter().zip(before.as_slice()) {
            assert!(
                if *old > 0.0 { *new > 0.0 } else { new.to_bits() == old.to_bits() },
                "{old} became {new}"
            );
        }
        assert!(after.row(24)[21] < 0.9 * before.row(24)[21]);
    }

    #[test]
    fn bare_rock_breaks_alike_along_all_edges() {
        // A cone whose steep flanks cross all edges of the world.
        let n = 49;
        let before = Raster::from_fn(n, n, |c, r| {
            (900.0 - 10.0 * math::hypot(c as f64 - 24.0, r as f64 - 24.0)) as f32
        });
        let (after, _) = run(&before, &Creep { soil_m: Coef::Const(0.0), sea: false, ..Creep::default() });
        for (col, row) in (0..n).flat_map(|row| (0..n).map(move |col| (col, row))) {
            assert_close!(after.row(row)[col], after.row(col)[row], abs = 0.02);
        }
    }

    #[test]
    fn deep_soil_creeps_by_the_diffusion_equation() {
        // Low waves, where the flux is linear: they fade at the rate of the heat equation.
        let n = 65;
        let k = std::f64::consts::PI / (CELL_M * n as f64);
        let wave = |col: usize| math::cos(k * CELL_M * (col as f64 + 0.5));
        let before = Raster::from_fn(n, 9, |col, _| (100.0 + wave(col)) as f32);
        let params = Creep { duration_yr: 1e6, ..deep() };
        let (after, _) = run(&before, &params);
        let left = math::exp(-k * k * 0.01 * 1e6);
        assert_close!(f64::from(after.row(4)[3] - 100.0), left * wave(3), abs = 0.01);
    }

    #[test]
    fn crests_are_thin_and_hollows_deep() {
        let before = hills(65);
        let (_, soil) = run(&before, &Creep { sea: false, duration_yr: 1e5, ..Creep::default() });
        let extreme = |sign: f32| {
            let inner = (8..57).flat_map(|r| (8..57).map(move |c| (c, r)));
            inner
                .max_by(|a, b| f32::total_cmp(&(sign * before.row(a.1)[a.0]), &(sign * before.row(b.1)[b.0])))
        };
        let at = |place: Option<(usize, usize)>| place.map(|(c, r)| soil.row(r)[c]).unwrap();
        let (crest, hollow) = (at(extreme(1.0)), at(extreme(-1.0)));
        assert!(hollow > 2.0 * crest && crest > 0.05, "{crest} and {hollow}");
    }

    #[test]
    fn soil_on_level_ground_follows_from_production_alone() {
        let flat = Raster::filled(9, 9, 50.0);
        let params = Creep { soil_m: Coef::Const(0.0), ..Creep::default() };
        let (after, soil) = run(&flat, &params);
        assert_eq!(after, flat);
        // h ln(1 + P t / h)
        assert_close!(f64::from(soil.row(4)[4]), 0.5 * math::ln(1.0 + 4.0 / 0.5), rel = 1e-4);
    }

    #[test]
    fn a_cliff_comes_to_rest_near_the_limit_bare_above_and_covered_below() {
        let params = Creep { duration_yr: 2e4, soil_m: Coef::Const(0.0), sea: false, ..Creep::default() };
        let before = cliff(65, 60.0);
        let (after, soil) = run(&before, &params);
        let row = after.row(32);
        let grade = |w: &[f32]| f64::from((w[0] - w[1]).abs()) / CELL_M;
        let steepest = row.windows(2).map(grade).fold(0.0, f64::max) / math::tan(38f64.to_radians());
        assert!((0.95..1.03).contains(&steepest), "{steepest} of the limit");
        let (mut least, mut most) = (f32::MAX, 0.0f32);
        for col in 8..57 {
            let up = (after.row(32)[col] - before.row(32)[col]).signum();
            if up < 0.0 { least = least.min(soil.row(32)[col]) } else { most = most.max(soil.row(32)[col]) }
        }
        assert!(least < 0.3 && most > 5.0, "{least} and {most}");
    }

    #[test]
    fn a_hard_bed_stands_over_a_soft_one_and_soil_forms_by_bed() {
        use crate::rock::{Strata as Column, strata::Bed};
        // A scarp of 60 m: the upper half hard and steep, the lower soft.
        let frame = Frame::square(64.0 * CELL_M, 65).unwrap();
        let mut terrain = Terrain::new(frame);
        terrain.set(layer::HEIGHT, cliff(65, 60.0));
        let params = Creep { soil_m: Coef::Const(0.0), sea: false, ..Creep::default() };
        let run = |beds: &[(f64, f64)]| {
            let bed = |&(hardness, talus_deg): &(f64, f64)| Bed {
                thickness_m: 1000.0,
                hardness,
                talus_deg,
                ..Bed::default()
            };
            let top_m = if beds.len() > 1 { 1030.0 } else { 500.0 };
            let beds = beds.iter().map(bed).collect();
            let strata = Column { beds, top_m, repeats: false, uneven_m: 0.0, ..Column::default() };
            let land = strata.apply(terrain.clone(), &Ctx::silent()).unwrap();
            let after = params.apply(land, &Ctx::silent()).unwrap();
            (after.get(layer::HEIGHT).unwrap().clone(), after.get(layer::SOIL).unwrap().clone())
        };
        let (mixed, soil) = run(&[(0.95, 75.0), (0.2, 38.0)]);
        // Slope of the highest and of the lowest stretch of the scarp.
        let row = mixed.row(32);
        let grades: Vec<(f32, f32)> = row.windows(2).map(|w| (w[1], (w[1] - w[0]) / CELL_M as f32)).collect();
        // What breaks between two samples is up to the higher one.
        let steepest = |high: bool| {
            let part = grades.iter().filter(|(upper, _)| (*upper > 30.0) == high && *upper > 2.0);
            part.map(|(_, grade)| *grade).fold(0.0f32, f32::max)
        };
        let limit = math::tan(38f64.to_radians()) as f32;
        assert!(steepest(true) > 1.8 * limit, "{} in the hard bed", steepest(true) / limit);
        assert!(steepest(false) < 1.3 * limit, "{} in the soft bed", steepest(false) / limit);
        // Far from the scarp soil forms by the bed alone: h ln(1 + P t s / h).
        let formed = |hardness: f64| 0.5 * math::ln(1.0 + 4.0 * (1.0 - hardness) / hardness / 0.5);
        assert_close!(f64::from(soil.row(32)[62]), formed(0.95), rel = 0.01);
        assert_close!(f64::from(soil.row(32)[2]), formed(0.2), rel = 0.01);
        // Middling beds at the talus of the soil change nothing.
        let plain = params.apply(terrain.clone(), &Ctx::silent()).unwrap();
        let off = |a: &Raster<f32>, b: &Raster<f32>| {
            a.as_slice().iter().zip(b.as_slice()).map(|(a, b)| (a - b).abs()).fold(0.0f32, f32::max)
        };
        let (same, _) = run(&[(0.5, 38.0)]);
        assert!(off(&same, plain.get(layer::HEIGHT).unwrap()) < 0.01);
    }

    #[test]
    fn bare_rock_below_the_limit_stays() {
        let before = hills(33);
        let params = Creep {
            soil_m: Coef::Const(0.0),
            production_mm_per_yr: 0.0,
            talus_deg: 80.0,
            sea: false,
            ..Creep::default()
        };
        let (after, soil) = run(&before, &params);
        assert_eq!(after, before);
        assert!(soil.as_slice().iter().all(|&depth| depth == 0.0));
    }

    #[test]
    fn sea_holes_and_held_ground_keep_their_bits() {
        let mut before = cliff(33, 60.0);
        before.as_mut_slice()[300] = f32::NAN;
        let held = Raster::from_fn(33, 33, |c, r| c == 17 && r > 20);
        let params = Creep::default();
        let (rate, soil) = (Field::Const(0.01), Field::Const(2.0));
        let (after, soil) =
            creep(&before, [CELL_M, CELL_M], rate, soil, Some(&held), None, &params, &Ctx::silent()).unwrap();
        for (i, (a, b)) in after.as_slice().iter().zip(before.as_slice()).enumerate() {
            let stays = *b <= 0.0 || b.is_nan() || held.as_slice()[i];
            assert!(!stays || a.to_bits() == b.to_bits());
            assert_eq!(soil.as_slice()[i].is_nan(), b.is_nan());
            if *b <= 0.0 {
                assert_eq!(soil.as_slice()[i], 0.0);
            }
        }
    }

    #[test]
    fn absurd_times_are_refused_in_a_sentence_and_absurd_creep_gives_sound_land() {
        let land = hills(17);
        let params = Creep { duration_yr: 1e9, creep_m2_per_yr: Coef::Const(1e3), ..deep() };
        let (rate, soil) = (Field::Const(1e3), Field::Const(1.0));
        let refused =
            creep(&land, [0.01, 0.01], rate, soil, None, None, &params, &Ctx::silent()).unwrap_err();
        assert!(refused.to_string().contains("duration_yr"), "{refused}");
        let (level, _) =
            run(&land, &Creep { duration_yr: 5000.0, creep_m2_per_yr: Coef::Const(1e3), ..deep() });
        let (low, high) = level.range().unwrap();
        assert!(high - low < 0.5, "{low} to {high}");
    }
}
