//! Creep: soil forms on rock, moves down slopes and slides where they are too steep.

use orogen_core::param::Field;
use orogen_core::{Coef, Ctx, Frame, Layers, Op, OpError, Raster, Reach, Terrain, layer, math, work};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::hillslope::{GROWTH, Ground, Law, NS_A_STAGE, produced};
use crate::held_lines;
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
/// **Guarantees** (1) under constant lowering a slope with deep soil comes to the closed form of Roering et al. within 1 % of
/// its relief; (2) what one sample loses another gains: volume is conserved to rounding, except for what comes to the sea, which
/// is lost there; (3) heights keep to the range of the land; (4) a cliff comes to rest between 0.8 and 1.05 of the
/// talus slope, before the soil on it creeps further; (5) slopes are limited alike in all directions; (6) sea, holes and what is held keep their bits; (7) the
/// number of threads changes no bit.
///
/// **Limits** The edge of the world is closed; holes and held ground exchange nothing. Above 0.94 of the critical slope the flux
/// grows by no more than 120 times that of gentle ground for every bit of slope, where Roering's has no bound. Streams carry
/// nothing off here: `erode.stream_power` has the same creep with streams. The time is solved in goes of many stages; what moves
/// in one follows the soil that there was before it.
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
    const VERSION: u32 = 2;

    fn layers(&self) -> Layers {
        Layers::none()
            .updating([layer::HEIGHT.name()])
            .using_vectors([held_lines::HOLD])
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
        37.0
    }

    fn run(&self, mut terrain: Terrain, ctx: &Ctx<'_>) -> Result<Terrain, OpError> {
        let [dx, dy] = terrain.frame().spacing_m();
        let before = terrain.get(layer::HEIGHT)?;
        let (rate, soil) = (self.creep_m2_per_yr.on(&terrain)?, self.soil_m.on(&terrain)?);
        let held = held_lines::held_samples(&terrain);
        let (after, soil) = creep(before, [dx, dy], rate, soil, held.as_ref(), self, ctx)?;
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
const A_GO: f64 = 0.6;
/// Nanoseconds that a sample takes beside the stages in a go, about.
const NS_A_GO: f64 = 100.0;

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
    let goes = goes(total_m2, spacing_m);
    let a_go_m2 = total_m2 / goes;
    check_work(params, spacing_m, goes, a_go_m2)?;
    let made_m = 1e-3 * params.production_mm_per_yr * params.duration_yr / goes;

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
    let critical = math::tan(params.talus_deg.to_radians());
    let per_grade2 = Raster::filled(cols, rows, (1.0 / (critical * critical)) as f32);
    let [mut as_soil, mut as_rock] = [(); 2].map(|()| Raster::filled(cols, rows, 0.0));
    for go in 0..goes as usize {
        ctx.tick(go, goes as usize)?;
        form(&now, &mut depth, made_m, params.soil_depth_m, sea_m);
        ctx.stop_if_asked()?;
        shares(&depth, &rate, fastest, params.soil_depth_m, [&mut as_soil, &mut as_rock]);
        ctx.stop_if_asked()?;
        let ground = Ground {
            spacing_m,
            law: Law::new(GROWTH),
            per_grade2: &per_grade2,
            shares: Some([&as_soil, &as_rock]),
            stays: None,
            sea_m,
        };
        let stages = Ground::stages(spacing_m, a_go_m2, ground.growth(&now));
        let change = ground.change(&mut now, a_go_m2, stages, ctx)?;
        depth.par_rows(|row, out| {
            for (depth, change) in out.iter_mut().zip(change.row(row)) {
                let new = *depth + change;
                // Where more has moved than there was soil, rock has broken.
                *depth = if new < 0.0 { 0.0 } else { new };
            }
        });
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

/// In how many goes soil moves on by `metres2 = D t`.
fn goes(metres2: f64, [dx, dy]: [f64; 2]) -> f64 {
    (metres2 / (A_GO * dx.min(dy) * dx.min(dy))).ceil().clamp(GOES[0], GOES[1])
}

/// Refuses a time that would take far too long.
fn check_work(params: &Creep, spacing_m: [f64; 2], goes: f64, a_go_m2: f64) -> Result<(), OpError> {
    let work_ns = goes * (NS_A_GO + NS_A_STAGE * Ground::stages(spacing_m, a_go_m2, GROWTH));
    // Stages grow with the root of the time.
    let share = work::MOST_NS_A_SAMPLE / work_ns;
    let advice = format!(
        "at this spacing and creep_m2_per_yr the maximum is {:.0}",
        (0.95 * params.duration_yr * share * share).max(1.0)
    );
    work::check("duration_yr", params.duration_yr, work_ns, &advice)
}

/// Rock turns to soil, as much as makes `made_m` of it where the rock is bare.
fn form(height: &Raster<f32>, depth: &mut Raster<f32>, made_m: f64, soil_depth_m: f64, sea_m: f32) {
    depth.par_rows(|row, out| {
        for (depth, &h) in out.iter_mut().zip(height.row(row)) {
            if h > sea_m {
                *depth = produced(f64::from(*depth), made_m, soil_depth_m) as f32;
            }
        }
    });
}

/// How freely ground moves as soil, and as rock, in shares of what the fastest deep soil does.
fn shares(
    depth: &Raster<f32>,
    rate: &Field<'_>,
    fastest: f64,
    soil_depth_m: f64,
    [as_soil, as_rock]: [&mut Raster<f32>; 2],
) {
    let per_fastest = if fastest > 0.0 { (1.0 / fastest) as f32 } else { 0.0 };
    let rate = |col: usize, row: usize| {
        let rate = rate.at(col, row) * per_fastest;
        if rate.is_nan() { 0.0 } else { rate.clamp(0.0, 1.0) }
    };
    as_soil.par_rows(|row, out| {
        for (col, (soil, &depth)) in out.iter_mut().zip(depth.row(row)).enumerate() {
            let deep = f64::from(depth) / soil_depth_m;
            let moves = match deep {
                // In a hole nothing moves.
                deep if deep.is_nan() => 0.0,
                deep if deep > 20.0 => 1.0,
                deep => 1.0 - math::exp(-deep),
            };
            *soil = rate(col, row) * moves as f32;
        }
    });
    as_rock.par_rows(|row, out| {
        for (col, (rock, &soil)) in out.iter_mut().zip(as_soil.row(row)).enumerate() {
            *rock = rate(col, row) - soil;
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
        creep(height, [CELL_M, CELL_M], rate, soil, None, params, &Ctx::silent()).unwrap()
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
        // Long enough for rock to break, too short for the soil that forms on it to creep far.
        let params = Creep { duration_yr: 3e3, soil_m: Coef::Const(0.0), sea: false, ..Creep::default() };
        let before = cliff(65, 60.0);
        let (after, soil) = run(&before, &params);
        let row = after.row(32);
        let grade = |w: &[f32]| f64::from((w[0] - w[1]).abs()) / CELL_M;
        let steepest = row.windows(2).map(grade).fold(0.0, f64::max) / math::tan(38f64.to_radians());
        assert!((0.8..1.05).contains(&steepest), "{steepest} of the limit");
        let (mut least, mut most) = (f32::MAX, 0.0f32);
        for col in 8..57 {
            let up = (after.row(32)[col] - before.row(32)[col]).signum();
            if up < 0.0 { least = least.min(soil.row(32)[col]) } else { most = most.max(soil.row(32)[col]) }
        }
        assert!(least < 0.3 && most > 5.0, "{least} and {most}");
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
            creep(&before, [CELL_M, CELL_M], rate, soil, Some(&held), &params, &Ctx::silent()).unwrap();
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
        let refused = creep(&land, [0.01, 0.01], rate, soil, None, &params, &Ctx::silent()).unwrap_err();
        assert!(refused.to_string().contains("duration_yr"), "{refused}");
        let (level, _) = run(&land, &Creep { duration_yr: 5e3, creep_m2_per_yr: Coef::Const(1e3), ..deep() });
        let (low, high) = level.range().unwrap();
        assert!(high - low < 0.5, "{low} to {high}");
    }
}
