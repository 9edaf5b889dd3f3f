//! Temperature: colder with height and in the shade, and cold air that gathers in hollows.

use orogen_core::{
    Cancelled, Cause, Coef, Ctx, Frame, Layers, Op, OpError, Raster, Reach, Reason, Refiner, Solved, Terrain,
    layer, math,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::between::{OnFrame, replace};
use super::ground::Ground;
use super::horizon::{self, DIRECTIONS};
use super::lattice::{self, Lattice, mean_around};
use super::sun::{Slopes, Suns};
use super::{keep_holes, latitude_deg, north_deg};

/// Finds the yearly mean temperature of the ground, in degrees Celsius, and keeps it as the layer `temperature`.
///
/// ```text
/// T = T₀ − lapse · h + exposure_c · (light − 1) − cold + wish_c
/// cold = cold_air_c · land² · (1 − exp(−d / 120 m)) / (1 + (g / 0.3)²)
/// ```
///
/// T₀ belongs to sea level: `sea_level_c`, or what is usual at the latitude, `26.5 − 16.5 sin² φ − 33 sin⁴ φ`. The latitude
/// is that of the step, else of the recipe's `[place]`, else 45 degrees. `light` is the light of a year beside that of
/// open, level land: of the sun on a slope of this aspect, without the hours when the slope itself or other mountains hide
/// it, and of the part of the sky that is seen. `d` is how far the ground lies below its surroundings within `hollow_m`:
/// there cold air gathers in the nights, unless the slope `g` lets it drain; `land` is the share of land in them, as the sea
/// keeps its shores mild.
///
/// **Guarantees** (1) open, level land has exactly T₀ less the lapse, to 0.001 degrees; (2) north of the tropics slopes to
/// the north are colder than those to the south, south of the tropics the other way round, and on the equator they are
/// alike; (3) mountains around a place never make it warmer; (4) the slope is measured over `over_m`, so finer samples of the
/// same land give the same; (5) windows of another spacing have the lapse of their own heights.
///
/// **Limits** Shade is found in 16 directions on a lattice of at most 1025 samples a side. The sea has its temperature at
/// 0 m. A hole stays a hole.
///
/// **After** Dozier & Frew, IEEE Trans. Geosci. Remote Sens. 28 (1990), for horizons and the sky that is seen; zonal means
/// after Sellers, Physical Climatology (1965).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Temperature {
    /// Yearly mean temperature at sea level; what is usual at the latitude if not stated.
    #[schemars(range(min = -80.0, max = 60.0), extend("x-unit" = "degC", "x-slider" = [-10.0, 30.0]))]
    pub sea_level_c: Option<f64>,
    /// Latitude, north above 0; that of the recipe's place if not stated, else 45.
    #[schemars(range(min = -90.0, max = 90.0), extend("x-unit" = "deg"))]
    pub latitude_deg: Option<f64>,
    /// How much colder it is for each kilometre of height.
    #[schemars(range(min = 0.0, max = 50.0), extend("x-unit" = "degC/km", "x-slider" = [0.0, 10.0]))]
    pub lapse_c_per_km: f64,
    /// How much warmer ground would be with twice the light of level land.
    #[schemars(range(min = 0.0, max = 40.0), extend("x-unit" = "degC", "x-slider" = [0.0, 10.0]))]
    pub exposure_c: f64,
    /// How much colder the air is in the deepest hollows.
    #[schemars(range(min = 0.0, max = 40.0), extend("x-unit" = "degC", "x-slider" = [0.0, 8.0]))]
    pub cold_air_c: f64,
    /// How far around a place its surroundings reach, above which it is not a hollow.
    #[schemars(range(min = 1.0, max = 1e5), extend("x-unit" = "m", "x-slider" = [200.0, 3000.0]))]
    pub hollow_m: f64,
    /// Length over which slopes are measured.
    #[schemars(range(min = 1.0, max = 1e4), extend("x-unit" = "m", "x-slider" = [10.0, 200.0]))]
    pub over_m: f64,
    /// Added in the end: above 0 warmer, below colder; a number, or a layer such as a painted one.
    #[schemars(extend("minimum" = -100.0, "maximum" = 100.0, "x-unit" = "degC", "x-slider" = [-10.0, 10.0]))]
    pub wish_c: Coef,
    /// Whether land below 0 m is sea.
    pub sea: bool,
}

impl Default for Temperature {
    fn default() -> Self {
        Self {
            sea_level_c: None,
            latitude_deg: None,
            lapse_c_per_km: 6.0,
            exposure_c: 4.0,
            cold_air_c: 3.0,
            hollow_m: 1000.0,
            over_m: 60.0,
            wish_c: Coef::Const(0.0),
            sea: true,
        }
    }
}

impl Op for Temperature {
    const ID: &'static str = "climate.temperature";
    const VERSION: u32 = 1;

    fn layers(&self) -> Layers {
        let from = [layer::HEIGHT.name()].into_iter().chain(self.wish_c.layer());
        Layers::none()
            .reading([layer::HEIGHT.name()])
            .reading(self.wish_c.layer())
            .deriving([layer::TEMPERATURE.name()], from)
    }

    fn reach(&self, _: &Frame) -> Reach {
        Reach::World
    }

    fn bytes_a_sample(&self, frame: &Frame) -> f64 {
        12.0 + 24.0 * Lattice::over(frame, lattice::MOST).share()
    }

    fn run(&self, mut terrain: Terrain, ctx: &Ctx<'_>) -> Result<Terrain, OpError> {
        let height = terrain.get(layer::HEIGHT)?;
        let mut made = temperature(height, terrain.frame(), self, ctx)?;
        let wish = self.wish_c.on(&terrain)?;
        made.par_rows(|row, values| {
            for (col, value) in values.iter_mut().enumerate() {
                *value += wish.at(col, row);
            }
        });
        keep_holes(&mut made, height);
        terrain.set(layer::TEMPERATURE, made);
        Ok(terrain)
    }

    fn explain(&self, land: &Terrain, place: [f64; 2], ctx: &Ctx<'_>) -> Result<Vec<Reason>, OpError> {
        let Ok(found) = land.get(layer::TEMPERATURE) else { return Ok(Vec::new()) };
        let height = land.get(layer::HEIGHT)?;
        let [col, row] = land.frame().locate(place[0], place[1]);
        let at = |raster: &Raster<f32>| f64::from(raster.bilinear(col, row));
        // The same land without what gathers in hollows tells both apart.
        let open = temperature(height, land.frame(), &Self { cold_air_c: 0.0, ..self.clone() }, ctx)?;
        let all = temperature(height, land.frame(), self, ctx)?;
        let at_sea = self.sea_level_c.unwrap_or_else(|| usual_c(latitude_deg(self.latitude_deg, ctx)));
        let by_height = -self.lapse_c_per_km / 1000.0 * f64::from(self.level(at(height) as f32));
        let says = format!("{} degC for each of its kilometres", -self.lapse_c_per_km);
        let because = vec![
            Cause::value("at sea level", at_sea, "degC", ""),
            Cause::value("by height", by_height, "degC", &says),
            Cause::value(
                "by sun and shade",
                at(&open) - at_sea - by_height,
                "degC",
                "beside level, open land",
            ),
            Cause::value("by cold air in hollows", at(&all) - at(&open), "degC", ""),
            Cause::value("by what was wished", at(found) - at(&all), "degC", "wish_c"),
        ];
        Ok(vec![Reason { of: String::from("temperature"), found: format!("{:.2} degC", at(found)), because }])
    }

    fn refiner(&self, solved: Solved<'_>, _: &Ctx<'_>) -> Result<Option<Box<dyn Refiner>>, OpError> {
        let (height, made) = (solved.after.get(layer::HEIGHT)?, solved.after.get(layer::TEMPERATURE)?);
        let lapse = self.lapse();
        // As warm as it would be at sea level: without what hangs on the height of each sample.
        let mut level = made.clone();
        level.par_rows(|row, values| {
            for (value, h) in values.iter_mut().zip(height.row(row)) {
                *value += lapse * self.level(*h);
            }
        });
        let lapsing = Lapsing { op: self.clone(), level: OnFrame::new(*solved.after.frame(), &level) };
        Ok(Some(Box::new(lapsing)))
    }
}

impl Temperature {
    /// Degrees for each metre of height.
    fn lapse(&self) -> f32 {
        (self.lapse_c_per_km / 1000.0) as f32
    }

    /// The height that the air lies on.
    fn level(&self, height: f32) -> f32 {
        if self.sea { height.max(0.0) } else { height }
    }
}

/// What is usual at sea level, at a latitude in degrees.
#[must_use]
pub fn usual_c(latitude_deg: f64) -> f64 {
    let sin2 = {
        let sin = math::sin(latitude_deg.to_radians());
        sin * sin
    };
    26.5 - 16.5 * sin2 - 33.0 * sin2 * sin2
}

/// How far below its surroundings ground lies that is half as cold as the deepest hollow, over ln 2, in metres.
const HOLLOW_DEPTH_M: f32 = 120.0;
/// Slope, as a tangent, from which half of the cold air drains off, and the length over which it is measured.
const DRAINS: f32 = 0.3;
const FLOOR_M: f64 = 200.0;

/// The algorithm alone, without wishes; holes are filled from around them.
///
/// # Errors
/// When cancelled.
pub fn temperature(
    height: &Raster<f32>,
    frame: &Frame,
    params: &Temperature,
    ctx: &Ctx<'_>,
) -> Result<Raster<f32>, Cancelled> {
    const PARTS: usize = DIRECTIONS + 4;
    ctx.tick(0, PARTS)?;
    let latitude_deg = latitude_deg(params.latitude_deg, ctx);
    let suns = Suns::of_year(latitude_deg, north_deg(ctx));
    let slopes = Slopes::under(&suns);
    let surface = lattice::surface(height, params.sea);
    let lattice = Lattice::over(frame, lattice::MOST);
    let coarse = lattice.thin(&surface);
    // What is left of the light of an open slope, on the lattice.
    let shade = {
        let mut horizons = Vec::with_capacity(DIRECTIONS);
        for direction in 0..DIRECTIONS {
            let tangents =
                horizon::toward(&coarse, lattice.spacing_m, horizon::direction_deg(direction), ctx)?;
            horizons.push(tangents.map(to_byte));
            ctx.tick(direction + 1, PARTS)?;
        }
        let ground = Ground::over(&coarse, lattice.spacing_m, params.over_m);
        let mut shade = Raster::filled(coarse.cols(), coarse.rows(), 0.0f32);
        shade.try_par_rows(|row, values| {
            for (col, value) in values.iter_mut().enumerate() {
                let (p, q) = ground.gradient(col, row);
                let seen = suns.light(p, q, |direction| of_byte(horizons[direction].row(row)[col]));
                let open = slopes.light(p, q);
                *value = if open > 0.0 { (seen / open).min(1.0) } else { 1.0 };
            }
            if row % 16 == 0 { ctx.stop_if_asked() } else { Ok(()) }
        })?;
        shade
    };
    ctx.tick(DIRECTIONS + 2, PARTS)?;
    let cold = cold_air(&coarse, &lattice, params, ctx)?;
    ctx.stop_if_asked()?;
    let shade = lattice.back(shade);
    ctx.stop_if_asked()?;
    let cold = lattice.back(cold);
    ctx.tick(DIRECTIONS + 3, PARTS)?;
    let at_sea = params.sea_level_c.unwrap_or_else(|| usual_c(latitude_deg)) as f32;
    let (lapse, exposure) = (params.lapse(), params.exposure_c as f32);
    let ground = Ground::over(&surface, frame.spacing_m(), params.over_m);
    let mut out = cold;
    out.try_par_rows(|row, values| {
        for (col, value) in values.iter_mut().enumerate() {
            let (p, q) = ground.gradient(col, row);
            let light = slopes.light(p, q) * shade.row(row)[col].clamp(0.0, 1.0);
            *value = at_sea - lapse * surface.row(row)[col] + exposure * (light - 1.0) - value.max(0.0);
        }
        if row % 16 == 0 { ctx.stop_if_asked() } else { Ok(()) }
    })?;
    Ok(out)
}

/// How much cold air takes from each place.
fn cold_air(
    surface: &Raster<f32>,
    lattice: &Lattice,
    params: &Temperature,
    ctx: &Ctx<'_>,
) -> Result<Raster<f32>, Cancelled> {
    let mean = mean_around(surface, lattice.spacing_m, params.hollow_m);
    ctx.stop_if_asked()?;
    let dry = |h: f32| if params.sea && h <= 0.0 { 0.0 } else { 1.0 };
    let land = mean_around(&surface.map(dry), lattice.spacing_m, params.hollow_m);
    ctx.stop_if_asked()?;
    let most = params.cold_air_c as f32;
    let ground = Ground::over(surface, lattice.spacing_m, FLOOR_M);
    Ok(Raster::from_fn(surface.cols(), surface.rows(), |col, row| {
        let here = surface.row(row)[col];
        let depth = (mean.row(row)[col] - here).max(0.0);
        let land = land.row(row)[col].clamp(0.0, 1.0) * dry(here);
        let (p, q) = ground.gradient(col, row);
        let drains = 1.0 + (p * p + q * q) / (DRAINS * DRAINS);
        most * land * land * (1.0 - math::f32::exp(-depth / HOLLOW_DEPTH_M)) / drains
    }))
}

/// A horizon in a byte: the square root of its share of a right angle's tangent, so that low ones are kept apart best.
fn to_byte(tangent: f32) -> u8 {
    let tangent = tangent.max(0.0);
    (255.0 * (tangent / (1.0 + tangent)).sqrt()).round() as u8
}

fn of_byte(byte: u8) -> f32 {
    let root = f32::from(byte) / 255.0;
    let share = (root * root).min(0.999);
    share / (1.0 - share)
}

/// Windows of other spacings: what hangs on the height is that of their own.
struct Lapsing {
    op: Temperature,
    level: OnFrame,
}

impl Refiner for Lapsing {
    fn refine(&self, mut window: Terrain, _: &Ctx<'_>) -> Result<Terrain, OpError> {
        let mut made = self.level.on(window.frame());
        let height = window.get(layer::HEIGHT)?;
        let lapse = self.op.lapse();
        made.par_rows(|row, values| {
            for (value, h) in values.iter_mut().zip(height.row(row)) {
                *value -= lapse * self.op.level(*h);
            }
        });
        keep_holes(&mut made, height);
        replace(&mut window, layer::TEMPERATURE, made);
        Ok(window)
    }

    fn size_bytes(&self) -> usize {
        self.level.size_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use orogen_core::Place;
    use orogen_core::testkit::assert_close;

    fn made(op: &Temperature, latitude_deg: f64, height: &Raster<f32>, cell_m: f64) -> Raster<f32> {
        let size = [(height.cols() - 1) as f64 * cell_m, (height.rows() - 1) as f64 * cell_m];
        let mut terrain = Terrain::new(Frame::new([0.0, 0.0], size, [height.cols(), height.rows()]).unwrap());
        terrain.set(layer::HEIGHT, height.clone());
        let place = Place { latitude_deg: Some(latitude_deg), ..Place::default() };
        let ctx = Ctx::silent().at_place(place);
        op.apply(terrain, &ctx).unwrap().get(layer::TEMPERATURE).unwrap().clone()
    }

    #[test]
    fn level_land_has_the_lapse_exactly() {
        for (latitude_deg, h) in [(0.0, 0.0), (46.0, 1000.0), (-20.0, 3000.0)] {
            let found = made(&Temperature::default(), latitude_deg, &Raster::filled(40, 30, h), 50.0);
            let expected = usual_c(latitude_deg) - 6.0 * f64::from(h) / 1000.0;
            for value in found.as_slice() {
                assert_close!(*value, expected, abs = 1e-3);
            }
        }
        let known = Temperature { sea_level_c: Some(12.5), ..Temperature::default() };
        assert_close!(
            made(&known, 46.0, &Raster::filled(9, 9, -300.0), 50.0).as_slice()[40],
            12.5,
            abs = 1e-3
        );
    }

    #[test]
    fn the_usual_temperatures_are_those_of_the_earth() {
        for (latitude_deg, expected) in [(0.0, 26.5), (30.0, 20.0), (45.0, 10.0), (60.0, -3.0), (90.0, -23.0)]
        {
            assert_close!(usual_c(latitude_deg), expected, abs = 1.5);
            assert_eq!(usual_c(latitude_deg), usual_c(-latitude_deg));
        }
    }

    /// Slopes of 30 degrees to the north and to the south of a ridge, at the same height.
    fn sides(latitude_deg: f64) -> [f64; 2] {
        let ridge = Raster::from_fn(81, 81, |_, r| 1000.0 - 11.5 * (r as f32 - 40.0).abs());
        let found = made(&Temperature::default(), latitude_deg, &ridge, 20.0);
        [found.row(20)[40], found.row(60)[40]].map(f64::from)
    }

    #[test]
    fn slopes_away_from_the_sun_are_colder() {
        let [north, south] = sides(46.0);
        assert!(south - north > 1.5 && south - north < 6.0, "{north} {south}");
        let [north_of_south, south_of_south] = sides(-46.0);
        assert_close!(north_of_south, south, abs = 0.05);
        assert_close!(south_of_south, north, abs = 0.05);
        let [north, south] = sides(0.0);
        assert_close!(north, south, abs = 0.05);
    }

    #[test]
    fn a_deep_valley_is_shaded_and_gathers_cold_air() {
        // A trough between two walls of 600 m, from west to east.
        let trough = |depth: f32| {
            Raster::from_fn(161, 161, move |_, r| {
                900.0 - depth * (1.0 - ((r as f32 - 80.0).abs() / 20.0).min(1.0))
            })
        };
        let dry = Temperature { cold_air_c: 0.0, ..Temperature::default() };
        let level = |op: &Temperature, depth: f32| {
            let lapse = 6.0 * f64::from(900.0 - depth) / 1000.0;
            f64::from(made(op, 46.0, &trough(depth), 25.0).row(80)[80]) + lapse
        };
        let open = usual_c(46.0);
        let (shaded, cold) = (level(&dry, 600.0), level(&Temperature::default(), 600.0));
        assert!(shaded < open - 0.5, "{shaded} of {open}");
        assert!(cold < shaded - 1.5, "{cold} of {shaded}");
        assert!(level(&dry, 100.0) > shaded);
        // High ground gathers none.
        let found = |op: &Temperature| f64::from(made(op, 46.0, &trough(600.0), 25.0).row(10)[80]);
        assert_close!(found(&dry), found(&Temperature::default()), abs = 0.02);
    }

    #[test]
    fn wishes_are_added_and_holes_stay() {
        let mut land = Raster::filled(30, 30, 100.0);
        land.as_mut_slice()[95] = f32::NAN;
        let plain = made(&Temperature::default(), 46.0, &land, 50.0);
        let wished = Temperature { wish_c: Coef::Const(3.0), ..Temperature::default() };
        let wished = made(&wished, 46.0, &land, 50.0);
        for (i, (a, b)) in plain.as_slice().iter().zip(wished.as_slice()).enumerate() {
            assert_eq!(a.is_nan(), i == 95);
            assert!(i == 95 || (a + 3.0 - b).abs() < 1e-5);
        }
    }

    #[test]
    fn shade_in_bytes_is_shade() {
        for tangent in [0.0f32, 0.02, 0.3, 1.0, 4.0] {
            assert!((of_byte(to_byte(tangent)) - tangent).abs() <= 0.012 * (1.0 + tangent) * (1.0 + tangent));
        }
        assert!(of_byte(to_byte(f32::MAX)).is_finite());
    }
}
