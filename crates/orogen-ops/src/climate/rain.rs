//! Rain that mountains force from the air, and the dry land behind them.

use orogen_core::param::Fault;
use orogen_core::{
    Cancelled, Ctx, Frame, Layers, Loops, Op, OpError, Raster, Reach, Refiner, Solved, Terrain, layer,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::between::Between;
use super::fft::{LANES, Lane};
use super::lattice::{self, Lattice};
use super::spectrum::{Spectrum, Transfer};
use super::winds::{self, Blowing};
use super::{keep_holes, north_deg};

/// Finds how much rain falls in a year, in millimetres, and keeps it as the layer `rain`: moist air that a slope lifts
/// condenses, what condensed falls downwind, and air that comes down behind the crest dries.
///
/// ```text
/// P̂(k,l) = C iσ ĥ(k,l) / ((1 − i m H)(1 + iσ τc)(1 + iσ τf))        σ = u k + v l
/// m² = (N² − σ²) / σ² · (k² + l²),  with the sign of σ;  m = i|m| where σ² > N²
/// rain = steady · mean + Σ share · max(0, (1 − steady) · mean + wet_h · 3600 · P)        over the winds
/// ```
///
/// `P` is what hills add to the rain of a wind `(u, v)`, in mm/s. `C` is `vapour_kg_per_m3`, `H` is `vapour_m`, `N` is
/// `stability_per_s`, τc and τf are `conversion_s` and `fallout_s`. `h` is the land, with the sea at 0 m.
///
/// The layer follows from nothing: erosion that takes it as its rain leaves it as it was. Run the step again after the
/// steps that shape the land.
///
/// **Guarantees** (1) no rain is negative, and level land has `mean_mm_per_yr` everywhere; (2) hills move rain and add none
/// where no place falls dry: on land that loops the mean stays, to rounding; (3) for `vapour_m`, `conversion_s`
/// and `fallout_s` of 0 the added rain is that of the slope that the wind climbs, `C · wind · ∇h`; (4) the same bits on
/// every machine and for any number of threads.
///
/// **Limits** Linear theory: air that flows round a mountain instead of over it, and rain of thunderstorms, are not in it.
/// Solved on at most 1025 samples a side. Beyond the edge of the map the land passes smoothly into that of the opposite
/// edge. A hole counts as what lies around it and stays a hole.
///
/// **After** Smith & Barstad, J. Atmos. Sci. 61 (2004), without the turn of the Earth. We let short waves decay with
/// height where the air is too slow to swing, as they do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Rain {
    /// Rain over level land.
    #[schemars(range(min = 0.0, max = 20000.0), extend("x-unit" = "mm/yr", "x-slider" = [50.0, 4000.0]))]
    pub mean_mm_per_yr: f64,
    /// Part of that rain which falls wherever the wind comes from, from 0 to 1: the least there is behind mountains.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub steady: f64,
    /// The winds that bring rain.
    #[schemars(length(min = 1, max = 16))]
    pub winds: Vec<Blowing>,
    /// Hours a year in which moist air arrives.
    #[schemars(range(min = 0.0, max = 8766.0), extend("x-unit" = "h", "x-slider" = [100.0, 2000.0]))]
    pub wet_h: f64,
    /// Vapour in the air near the ground, as far as lifting sets it free: more in warm air.
    #[schemars(range(min = 0.0, max = 0.1), extend("x-unit" = "kg/m3", "x-slider" = [0.001, 0.02]))]
    pub vapour_kg_per_m3: f64,
    /// Height over which the vapour in the air falls off.
    #[schemars(range(min = 0.0, max = 20000.0), extend("x-unit" = "m", "x-slider" = [1000.0, 5000.0]))]
    pub vapour_m: f64,
    /// How fast moist air swings when it is lifted: its stability.
    #[schemars(range(min = 0.0, max = 0.1), extend("x-unit" = "1/s", "x-slider" = [0.0, 0.01]))]
    pub stability_per_s: f64,
    /// Time in which cloud turns to drops.
    #[schemars(range(min = 0.0, max = 20000.0), extend("x-unit" = "s", "x-slider" = [200.0, 2000.0]))]
    pub conversion_s: f64,
    /// Time in which drops fall to the ground.
    #[schemars(range(min = 0.0, max = 20000.0), extend("x-unit" = "s", "x-slider" = [200.0, 2000.0]))]
    pub fallout_s: f64,
    /// Whether land below 0 m is sea, whose surface the air flows over.
    pub sea: bool,
}

impl Default for Rain {
    fn default() -> Self {
        Self {
            mean_mm_per_yr: 900.0,
            steady: 0.3,
            winds: vec![Blowing::default()],
            wet_h: 300.0,
            vapour_kg_per_m3: 0.008,
            vapour_m: 2500.0,
            stability_per_s: 0.005,
            conversion_s: 1000.0,
            fallout_s: 1000.0,
            sea: true,
        }
    }
}

impl Op for Rain {
    const ID: &'static str = "climate.rain";
    const VERSION: u32 = 2;

    fn layers(&self) -> Layers {
        // Kept when the land changes: erosion takes it as it is.
        Layers::none().reading([layer::HEIGHT.name()]).writing([layer::RAIN.name()])
    }

    fn reach(&self, _: &Frame) -> Reach {
        Reach::World
    }

    fn loops(&self) -> Loops {
        Loops::Itself
    }

    fn bytes_a_sample(&self, frame: &Frame) -> f64 {
        4.0 + 40.0 * Lattice::over(frame, lattice::MOST).share()
    }

    fn refiner(&self, solved: Solved<'_>, _: &Ctx<'_>) -> Result<Option<Box<dyn Refiner>>, OpError> {
        Between::of(layer::RAIN, solved)
    }

    fn faults(&self) -> Vec<Fault> {
        winds::faults(&self.winds)
    }

    fn run(&self, mut terrain: Terrain, ctx: &Ctx<'_>) -> Result<Terrain, OpError> {
        let loops = ctx.world(&terrain).loops();
        let rain = rain(terrain.get(layer::HEIGHT)?, terrain.frame(), loops, self, ctx)?;
        terrain.set(layer::RAIN, rain);
        Ok(terrain)
    }
}

/// The most rain of a year, as much as other steps accept; twice what has been measured anywhere.
const MOST_MM: f32 = 50_000.0;

/// The algorithm alone, on land whose first column and row lie beyond the last if it `loops`.
///
/// # Errors
/// When cancelled.
pub fn rain(
    height: &Raster<f32>,
    frame: &Frame,
    loops: bool,
    params: &Rain,
    ctx: &Ctx<'_>,
) -> Result<Raster<f32>, Cancelled> {
    let winds = winds::shared_out(&params.winds);
    let parts = winds.len() + 2;
    ctx.tick(0, parts)?;
    let lattice =
        if loops { Lattice::over_loop(frame, lattice::MOST) } else { Lattice::over(frame, lattice::MOST) };
    let land = lattice.thin(&lattice::surface(height, params.sea));
    let waves = Spectrum::of(&land, lattice.spacing_m, loops, ctx)?;
    drop(land);
    ctx.tick(1, parts)?;
    let steady = (params.steady * params.mean_mm_per_yr) as f32;
    let other = ((1.0 - params.steady) * params.mean_mm_per_yr) as f32;
    let mut sum: Option<Raster<f32>> = None;
    for (i, wind) in winds.iter().enumerate() {
        let mut added = waves.filtered(&Lifting::new(params, wind.vector(north_deg(ctx))), ctx)?;
        let (scale, share) = ((params.wet_h * 3600.0) as f32, wind.share as f32);
        added.par_rows(|row, out| {
            let before = sum.as_ref().map(|sum| sum.row(row));
            for (col, out) in out.iter_mut().enumerate() {
                *out = before.map_or(0.0, |before| before[col]) + share * (other + scale * *out).max(0.0);
            }
        });
        sum = Some(added);
        ctx.tick(i + 2, parts)?;
    }
    let sum = sum.unwrap_or_else(|| Raster::filled(lattice.count[0], lattice.count[1], other));
    drop(waves);
    let mut out = lattice.back(sum);
    out.par_rows(|_, out| out.iter_mut().for_each(|value| *value = (steady + value.max(0.0)).min(MOST_MM)));
    keep_holes(&mut out, height);
    Ok(out)
}

/// What a wind makes of waves of the land: rain in kg/(m² s), which is mm/s.
struct Lifting {
    vapour: f64,
    scale_m: f64,
    stability2: f64,
    delays_s: [f64; 2],
    wind: [f64; 2],
}

impl Lifting {
    fn new(params: &Rain, wind: [f64; 2]) -> Self {
        Self {
            vapour: params.vapour_kg_per_m3,
            scale_m: params.vapour_m,
            stability2: params.stability_per_s * params.stability_per_s,
            delays_s: [params.conversion_s, params.fallout_s],
            wind,
        }
    }
}

impl Transfer for Lifting {
    #[inline(always)]
    fn apply(&self, k: &Lane, l: f64, re: &mut Lane, im: &mut Lane) {
        let [tc, tf] = self.delays_s;
        for i in 0..LANES {
            let sigma = self.wind[0] * k[i] + self.wind[1] * l;
            let (size, way) = (sigma.abs(), if sigma < 0.0 { -1.0 } else { 1.0 });
            let gap = self.stability2 - sigma * sigma;
            // Numerator and denominator times |σ|, so that a wave along the wind, σ = 0, divides nothing by zero.
            let tilt = self.scale_m * (gap.abs() * (k[i] * k[i] + l * l)).sqrt();
            let swings = gap > 0.0;
            let below = size + if swings { 0.0 } else { tilt };
            let beside = if swings { -way * tilt } else { 0.0 };
            // (below + i beside)(1 + iσ tc)(1 + iσ tf)
            let (both, twist) = (1.0 - sigma * sigma * tc * tf, sigma * (tc + tf));
            let (dr, di) = (below * both - beside * twist, below * twist + beside * both);
            let square = dr * dr + di * di;
            // C iσ|σ| / (dr + i di); a mean and waves of no effect give 0.
            let up = if square > 1e-300 { self.vapour * sigma * size / square } else { 0.0 };
            let (tr, ti) = (up * di, up * dr);
            (re[i], im[i]) = (re[i] * tr - im[i] * ti, re[i] * ti + im[i] * tr);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use orogen_core::math;
    use orogen_core::testkit::assert_close;

    /// So wet that no place falls dry: what hills add is what lies above the mean.
    fn west(speed_m_per_s: f64) -> Rain {
        Rain {
            mean_mm_per_yr: 20000.0,
            steady: 0.0,
            winds: vec![Blowing { from_deg: 270.0, speed_m_per_s, share: 1.0 }],
            wet_h: 100.0,
            ..Rain::default()
        }
    }

    fn fallen(op: &Rain, frame: &Frame, height: impl Fn(f64, f64) -> f64 + Sync) -> Raster<f32> {
        let land =
            Raster::from_fn(frame.cols(), frame.rows(), |c, r| height(frame.x_m(c), frame.y_m(r)) as f32);
        rain(&land, frame, false, op, &Ctx::silent()).unwrap()
    }

    #[test]
    fn without_delay_and_depth_rain_follows_the_climb() {
        let op = Rain { vapour_m: 0.0, conversion_s: 0.0, fallout_s: 0.0, ..west(10.0) };
        let frame = Frame::new([0.0, 0.0], [60000.0, 40000.0], [301, 201]).unwrap();
        let hill = |x: f64, y: f64| {
            let (x, y) = ((x - 30000.0) / 5000.0, (y - 20000.0) / 4000.0);
            100.0 * math::exp(-x * x - y * y)
        };
        let made = fallen(&op, &frame, hill);
        for (col, row) in [(130, 100), (140, 90), (150, 100), (165, 110), (50, 50)] {
            let (x, y) = (frame.x_m(col), frame.y_m(row));
            let climb = -2.0 * (x - 30000.0) / (5000.0 * 5000.0) * hill(x, y);
            let expected = 20000.0 + 100.0 * 3600.0 * op.vapour_kg_per_m3 * 10.0 * climb;
            assert_close!(made.row(row)[col], expected, abs = 3.0);
        }
    }

    /// What a bell-shaped ridge, `h a² / (x² + a²)`, adds at a place: the integral over its waves, `h a exp(−ka)` each.
    fn over_a_bell(op: &Rain, speed: f64, high_m: f64, wide_m: f64, x_m: f64) -> f64 {
        let (steps, most) = (40_000, 40.0 / wide_m);
        let dk = most / f64::from(steps);
        let one = |i: i32| {
            let k = (f64::from(i) + 0.5) * dk;
            let sigma = speed * k;
            // By complex numbers written out: C iσ / ((1 − i m H)(1 + iσ tc)(1 + iσ tf)).
            let gap = op.stability_per_s * op.stability_per_s - sigma * sigma;
            let m = (gap.abs() / (sigma * sigma)).sqrt() * k * op.vapour_m;
            let below = if gap > 0.0 { [1.0, -m] } else { [1.0 + m, 0.0] };
            let times = |[a, b]: [f64; 2], [c, d]: [f64; 2]| [a * c - b * d, a * d + b * c];
            let below = times(times(below, [1.0, sigma * op.conversion_s]), [1.0, sigma * op.fallout_s]);
            let square = below[0] * below[0] + below[1] * below[1];
            let up = times([0.0, op.vapour_kg_per_m3 * sigma], [below[0] / square, -below[1] / square]);
            let wave = times(up, [math::cos(k * x_m), math::sin(k * x_m)]);
            high_m * wide_m * math::exp(-k * wide_m) * wave[0] * dk
        };
        (0..steps).map(one).sum()
    }

    #[test]
    fn over_a_bell_shaped_ridge_it_is_the_analytic_solution() {
        // Wide ridges swing, narrow ones do not: both sides of the formula.
        for (speed, wide_m) in [(15.0, 15000.0), (10.0, 6000.0), (20.0, 3000.0)] {
            let op = west(speed);
            let side = 160.0 * wide_m;
            let frame = Frame::new([0.0, 0.0], [side, side / 50.0], [1025, 17]).unwrap();
            let bell = |x: f64, _: f64| {
                500.0 * wide_m * wide_m / ((x - side / 2.0) * (x - side / 2.0) + wide_m * wide_m)
            };
            let made = fallen(&op, &frame, bell);
            let scale = 100.0 * 3600.0;
            let peak = (0..1025).map(|c| (made.row(8)[c] - 20000.0).abs()).fold(0.0, f32::max);
            for by in [-40, -12, -4, 0, 5, 15, 60] {
                let col = 512 + by;
                let x = f64::from(by) * side / 1024.0;
                let expected = scale * over_a_bell(&op, speed, 500.0, wide_m, x);
                let found = f64::from(made.row(8)[col as usize]) - 20000.0;
                assert_close!(found, expected, abs = 0.012 * f64::from(peak));
            }
        }
    }

    #[test]
    fn rain_falls_before_the_crest_and_not_behind_it() {
        let op = Rain { mean_mm_per_yr: 800.0, winds: west(10.0).winds, ..Rain::default() };
        let frame = Frame::square(60000.0, 301).unwrap();
        let ridge = |x: f64, _: f64| 1500.0 * math::exp(-((x - 30000.0) / 6000.0) * ((x - 30000.0) / 6000.0));
        let made = fallen(&op, &frame, ridge);
        let at = |x: f64| made.row(150)[frame.locate(x, 0.0)[0].round() as usize];
        assert!(at(28000.0) > 1500.0, "{}", at(28000.0));
        assert!(at(40000.0) < 300.0 && at(40000.0) >= 0.3 * 800.0 - 0.1, "{}", at(40000.0));
        assert!(made.as_slice().iter().all(|v| *v >= 0.0));
        // From the other side the other way round.
        let mut east = op.clone();
        east.winds[0].from_deg = 90.0;
        let other = fallen(&east, &frame, ridge);
        assert_close!(other.row(150)[160], made.row(150)[140], rel = 0.02);
    }

    #[test]
    fn level_land_has_the_mean_and_a_loop_keeps_it() {
        let op = Rain { mean_mm_per_yr: 700.0, ..Rain::default() };
        let frame = Frame::square(10000.0, 100).unwrap();
        let flat = fallen(&op, &frame, |_, _| 300.0);
        assert!(flat.as_slice().iter().all(|v| (v - 700.0).abs() < 0.01));
        // A loop of 96 samples, which is not a power of two.
        let op = Rain { mean_mm_per_yr: 20000.0, steady: 0.0, ..Rain::default() };
        let frame = Frame::square(95.0 * 500.0, 96).unwrap();
        let wave = |i: usize, times: f64| math::sin(std::f64::consts::TAU * times * i as f64 / 96.0);
        let land = Raster::from_fn(96, 96, |c, r| (300.0 + 150.0 * wave(c, 2.0) * wave(r + 11, 3.0)) as f32);
        let made = rain(&land, &frame, true, &op, &Ctx::silent()).unwrap();
        let (low, high) = made.range().unwrap();
        assert!(low > 0.0 && high > 20100.0, "{low} {high}");
        assert_close!(made.sum_f64() / (96.0 * 96.0), 20000.0, rel = 1e-5);
    }

    #[test]
    fn rain_stays_when_the_land_changes() {
        let mut terrain = Terrain::new(Frame::square(1000.0, 33).unwrap());
        terrain.set(layer::HEIGHT, Raster::filled(33, 33, 10.0));
        let mut terrain = Rain::default().apply(terrain, &Ctx::silent()).unwrap();
        terrain.update::<f32>(&layer::HEIGHT.name(), |h| h.as_mut_slice()[0] = 5.0).unwrap();
        assert!(terrain.get(layer::RAIN).is_ok());
    }

    #[test]
    fn holes_stay_holes() {
        let frame = Frame::square(5000.0, 50).unwrap();
        let made =
            fallen(&Rain::default(), &frame, |x, y| if x < 150.0 && y < 150.0 { f64::NAN } else { 200.0 });
        assert_eq!(made.as_slice().iter().filter(|v| v.is_nan()).count(), 4);
        assert!((made.row(20)[20] - 900.0).abs() < 0.1);
        let none = fallen(&Rain::default(), &frame, |_, _| f64::NAN);
        assert!(none.as_slice().iter().all(|v| v.is_nan()));
    }
}
