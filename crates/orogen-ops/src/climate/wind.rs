//! Wind over the land: fast on crests and capes, slow in valleys and in the lee.

use orogen_core::param::Fault;
use orogen_core::{
    Cancelled, Ctx, Frame, Layers, Op, OpError, Raster, Reach, Refiner, Solved, Terrain, layer, math,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::between::Between;
use super::fft::{LANES, Lane};
use super::lattice::{self, Lattice};
use super::spectrum::{Spectrum, Transfer};
use super::sweep::Lines;
use super::winds::{self, Blowing};
use super::{horizon, keep_holes, north_deg};

/// Finds the mean speed of the wind over the ground, in metres a second, and keeps it as the layer `wind`.
///
/// ```text
/// wind = Σ share · speed · shore · squeeze · lee           over the winds
/// squeeze = 1 + δ / (1 + δ/1.5),  or 1 / (1 − δ) below 0   as 1 + δ for gentle hills; 2.5 at most
/// δ̂(k) = crests · (k·n)² / |k| · exp(−40 m |k|) · ĥ(k)     n: the way of the wind
/// lee = 1 − shelter · smoothstep(0.1, 0.6, t)              t: tangent of the horizon toward the wind
/// ```
///
/// Air that has to pass over a hill is squeezed and speeds up on the crest, and slows down in valleys and at the foot of
/// slopes. Behind steep crests the stream leaves the ground, and what lies in their shadow is sheltered. Over the sea the
/// wind is faster by `1 / (1 − friction)`, and the land slows it down within about `shore_m`: capes are windy.
///
/// **Guarantees** (1) level land without a sea has exactly the speed of the winds; (2) the crest of a ridge across the
/// wind has more and the lee behind it less than level land; (3) no speed is negative; (4) the same bits on every machine.
///
/// **Limits** Linear theory: air flows over mountains and not around them. Worked out on at most 1025 samples a side,
/// and hills much shorter than 250 m are not felt. Beyond the edge of the map the land passes smoothly into that of the opposite edge.
///
/// **After** Jackson & Hunt, Q. J. R. Meteorol. Soc. 101 (1975), in the outer layer; Winstral, Elder & Davis,
/// J. Hydrometeorol. 3 (2002), for shelter.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Wind {
    /// The winds of a year.
    #[schemars(length(min = 1, max = 16))]
    pub winds: Vec<Blowing>,
    /// How strongly hills squeeze the air: 1 as theory has it.
    #[schemars(range(min = 0.0, max = 4.0), extend("x-slider" = [0.0, 2.0]))]
    pub crests: f64,
    /// How much of the wind the deepest lee takes, from 0 to 1.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub shelter: f64,
    /// Part of the speed of a sea wind that the land takes.
    #[schemars(range(min = 0.0, max = 0.9))]
    pub friction: f64,
    /// Distance from the shore over which it does.
    #[schemars(range(min = 1.0, max = 1e5), extend("x-unit" = "m", "x-slider" = [200.0, 10000.0]))]
    pub shore_m: f64,
    /// Whether land below 0 m is sea.
    pub sea: bool,
}

impl Default for Wind {
    fn default() -> Self {
        Self {
            winds: vec![Blowing::default()],
            crests: 1.0,
            shelter: 0.75,
            friction: 0.3,
            shore_m: 2000.0,
            sea: true,
        }
    }
}

impl Op for Wind {
    const ID: &'static str = "climate.wind";
    const VERSION: u32 = 2;

    fn layers(&self) -> Layers {
        Layers::none().reading([layer::HEIGHT.name()]).deriving([layer::WIND.name()], [layer::HEIGHT.name()])
    }

    fn reach(&self, _: &Frame) -> Reach {
        Reach::World
    }

    fn bytes_a_sample(&self, frame: &Frame) -> f64 {
        8.0 + 44.0 * Lattice::over(frame, lattice::MOST).share()
    }

    fn refiner(&self, solved: Solved<'_>, _: &Ctx<'_>) -> Result<Option<Box<dyn Refiner>>, OpError> {
        Between::of(layer::WIND, solved)
    }

    fn faults(&self) -> Vec<Fault> {
        winds::faults(&self.winds)
    }

    fn run(&self, mut terrain: Terrain, ctx: &Ctx<'_>) -> Result<Terrain, OpError> {
        let wind = wind(terrain.get(layer::HEIGHT)?, terrain.frame(), self, ctx)?;
        terrain.set(layer::WIND, wind);
        Ok(terrain)
    }
}

/// The algorithm alone.
///
/// # Errors
/// When cancelled.
pub fn wind(
    height: &Raster<f32>,
    frame: &Frame,
    params: &Wind,
    ctx: &Ctx<'_>,
) -> Result<Raster<f32>, Cancelled> {
    // Ground at the very level of the sea is land, and without any below it there is no sea.
    let sea = params.sea && height.range().is_some_and(|(lowest, _)| lowest < 0.0);
    let params = &Wind { sea, ..params.clone() };
    let winds = winds::shared_out(&params.winds);
    let parts = winds.len() + 2;
    ctx.tick(0, parts)?;
    let lattice = Lattice::over(frame, lattice::MOST);
    let land = lattice.thin(&lattice::surface(height, params.sea));
    let squeezing = Squeezing::of(&land, &lattice, ctx)?;
    ctx.tick(1, parts)?;
    let mut sum = Raster::filled(lattice.count[0], lattice.count[1], 0.0f32);
    for (i, wind) in winds.iter().enumerate() {
        let over = squeezing.under(wind, params, ctx)?;
        let speed = (wind.share * wind.speed_m_per_s) as f32;
        sum.par_rows(|row, out| {
            for (out, over) in out.iter_mut().zip(over.row(row)) {
                *out += speed * over;
            }
        });
        ctx.tick(i + 2, parts)?;
    }
    drop(squeezing);
    let mut out = lattice.back(sum);
    out.par_rows(|_, out| out.iter_mut().for_each(|v| *v = v.max(0.0)));
    keep_holes(&mut out, height);
    Ok(out)
}

/// Land on a lattice, ready for any wind.
pub(super) struct Squeezing<'a> {
    land: &'a Raster<f32>,
    lattice: &'a Lattice,
    waves: Spectrum,
}

impl<'a> Squeezing<'a> {
    /// Of the surface of land and sea, without holes.
    pub fn of(land: &'a Raster<f32>, lattice: &'a Lattice, ctx: &Ctx<'_>) -> Result<Self, Cancelled> {
        Ok(Self { land, lattice, waves: Spectrum::of(land, lattice.spacing_m, false, ctx)? })
    }

    /// The speed of a wind over each place, beside that over open, level land.
    pub fn under(&self, wind: &Blowing, params: &Wind, ctx: &Ctx<'_>) -> Result<Raster<f32>, Cancelled> {
        let from_deg = wind.from_deg + north_deg(ctx);
        let way = from_deg.to_radians();
        let crests = Crests { way: [math::sin(way), math::cos(way)], strength: params.crests };
        let mut over = self.waves.filtered(&crests, ctx)?;
        let spacing_m = self.lattice.spacing_m;
        let ahead = horizon::toward(self.land, spacing_m, from_deg, ctx)?;
        let shelter = params.shelter as f32;
        over.par_rows(|row, out| {
            for (out, t) in out.iter_mut().zip(ahead.row(row)) {
                let squeeze = if *out > 0.0 { 1.0 + *out / (1.0 + *out / 1.5) } else { 1.0 / (1.0 - *out) };
                *out = squeeze * (1.0 - shelter * math::smoothstep(0.1, 0.6, *t));
            }
        });
        drop(ahead);
        if params.sea && params.friction > 0.0 {
            let lines = Lines::toward(from_deg + 180.0, self.lattice.count, spacing_m);
            let lag = math::exp(-lines.step_m / params.shore_m) as f32;
            let at_sea = (1.0 / (1.0 - params.friction)) as f32;
            let shore = lines.sweep([self.land], ctx, |[land], out| {
                let open = |h: f32| if h <= 0.0 { at_sea } else { 1.0 };
                let mut state = open(land[0]);
                for (h, out) in land.iter().zip(out) {
                    let aim = open(*h);
                    state = aim + (state - aim) * lag;
                    *out = state;
                }
            })?;
            over.par_rows(|row, out| {
                for (out, shore) in out.iter_mut().zip(shore.row(row)) {
                    *out *= shore;
                }
            });
        }
        Ok(over)
    }
}

/// Air over the crests of waves of the land.
struct Crests {
    way: [f64; 2],
    strength: f64,
}

/// The height at which the wind is asked for: waves much shorter are not felt.
const ABOVE_M: f64 = 40.0;

impl Transfer for Crests {
    #[inline(always)]
    fn apply(&self, k: &Lane, l: f64, re: &mut Lane, im: &mut Lane) {
        for i in 0..LANES {
            let along = self.way[0] * k[i] + self.way[1] * l;
            let length = (k[i] * k[i] + l * l).sqrt();
            // 1 / (1 + x + x²/2 + x³/6) instead of exp(−x): as good, and vector code.
            let x = ABOVE_M * length;
            let fades = 1.0 + x * (1.0 + x * (0.5 + x / 6.0));
            let by = if length > 0.0 { self.strength * along * along / (length * fades) } else { 0.0 };
            re[i] *= by;
            im[i] *= by;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn blown(op: &Wind, height: impl Fn(f64, f64) -> f64 + Sync) -> (Frame, Raster<f32>) {
        let frame = Frame::square(20000.0, 257).unwrap();
        let land = Raster::from_fn(257, 257, |c, r| height(frame.x_m(c), frame.y_m(r)) as f32);
        let made = wind(&land, &frame, op, &Ctx::silent()).unwrap();
        (frame, made)
    }

    fn from(from_deg: f64) -> Wind {
        Wind { winds: vec![Blowing { from_deg, ..Blowing::default() }], ..Wind::default() }
    }

    #[test]
    fn level_land_has_the_wind_itself() {
        let (_, made) = blown(&from(30.0), |_, _| 240.0);
        assert!(made.as_slice().iter().all(|v| (v - 10.0).abs() < 1e-4));
    }

    #[test]
    fn a_ridge_is_windy_and_shelters_what_lies_behind_it() {
        let ridge =
            |x: f64, _: f64| 50.0 + 600.0 * math::exp(-((x - 10000.0) / 900.0) * ((x - 10000.0) / 900.0));
        let (frame, made) = blown(&from(270.0), ridge);
        let at = |x: f64| f64::from(made.bilinear(frame.locate(x, 10000.0)[0], 128.0));
        let (crest, lee, windward, far) = (at(10000.0), at(11200.0), at(8800.0), at(2000.0));
        assert!(crest > 13.0 && crest < 20.0, "{crest}");
        assert!(lee < 6.0 && lee < 0.7 * windward && windward < 10.0, "lee {lee}, windward {windward}");
        assert!((far - 10.0).abs() < 1.0, "{far}");
        // The wind along the ridge is not squeezed.
        let (_, along) = blown(&from(0.0), ridge);
        assert!((f64::from(along.row(128)[128]) - 10.0).abs() < 0.5, "{}", along.row(128)[128]);
    }

    #[test]
    fn the_sea_wind_dies_down_inland() {
        let (frame, made) = blown(&from(270.0), |x, _| if x < 5000.0 { -10.0 } else { 5.0 });
        let at = |x: f64| f64::from(made.bilinear(frame.locate(x, 10000.0)[0], 128.0));
        assert!((at(3000.0) - 14.3).abs() < 0.3 && at(5300.0) > 12.5 && (at(16000.0) - 10.0).abs() < 0.3);
        let (frame, made) = blown(&from(90.0), |x, _| if x < 5000.0 { -10.0 } else { 5.0 });
        let at = |x: f64| f64::from(made.bilinear(frame.locate(x, 10000.0)[0], 128.0));
        assert!((at(5300.0) - 10.0).abs() < 0.3, "a land wind: {}", at(5300.0));
    }

    #[test]
    fn a_rose_is_the_mean_of_its_winds() {
        let land = |x: f64, y: f64| 300.0 * math::sin(x / 1500.0) * math::cos(y / 1100.0) + 350.0;
        let (_, west) = blown(&from(270.0), land);
        let (_, south) = blown(&from(180.0), land);
        let mut both = from(270.0);
        both.winds[0].share = 3.0;
        both.winds.push(Blowing { from_deg: 180.0, ..Blowing::default() });
        let (_, both) = blown(&both, land);
        for i in [1000, 20000, 40000] {
            let [a, b, c] = [&west, &south, &both].map(|map| map.as_slice()[i]);
            assert!((0.75 * a + 0.25 * b - c).abs() < 1e-4);
        }
    }

    #[test]
    fn holes_stay_holes_and_harm_nothing_else() {
        let frame = Frame::square(3000.0, 65).unwrap();
        let mut land = Raster::filled(65, 65, 100.0);
        land.as_mut_slice()[700] = f32::NAN;
        let made = wind(&land, &frame, &Wind::default(), &Ctx::silent()).unwrap();
        assert_eq!(made.as_slice().iter().filter(|v| v.is_nan()).count(), 1);
        assert!((made.as_slice()[701] - 10.0).abs() < 1e-3);
    }
}
