//! Snow: what fell and has not melted, slid or blown away.

use orogen_core::param::{Fault, Field};
use orogen_core::{
    Cancelled, Coef, Ctx, Frame, Layers, Op, OpError, Raster, Reach, Refiner, Solved, Terrain, layer, math,
};
use rayon::prelude::*;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::between::{OnFrame, replace};
use super::ground::Ground;
use super::lattice::{self, Lattice};
use super::sweep::Lines;
use super::wind::{Squeezing, Wind};
use super::winds::{self, Blowing};
use super::{keep_holes, latitude_deg, north_deg};

/// Finds how deep snow lies, in metres, at a time of the year, and keeps it as the layer `snow`. The height stays as it is.
///
/// ```text
/// T(t) = T − seasons_c · cos 2πt                       t: the part of the year since its coldest day
/// falls = rain · dt · (1 − smoothstep(−1, 3, T(t)))    melts = 4 mm · days · (T(t) + √(T(t)² + 9)) / 2
/// ```
///
/// Three years are worked out, 24 times a year, so that snow of a year that outlasts the summer is there in the next,
/// up to `most_m`. The temperature knows of shade (see `climate.temperature`), so snow lies longer on shaded slopes. Then the winds carry
/// it from where they are fast, crests above all, to where they are slow: behind them and in hollows. Last, slopes steeper than
/// `holds_deg` shed a part, those over `sheds_deg` all of it, which slides down to where it can lie, 3 m deep at most,
/// or 12 m in hollows.
///
/// **Guarantees** (1) never negative, and none at sea, where the year has no frost, and on ground steeper than `sheds_deg`;
/// (2) colder is never less and wetter never less, before wind and slopes; (3) wind and slopes move snow and make none: on land of up to 1025
/// samples a side all of it is there afterwards, but what blew or slid into the sea, off the map, or into hollows so deep that it is ice, which is reported; (4)
/// the same bits for any number of threads; (5) windows of another spacing have the snow of their own temperature.
///
/// **Limits** Wind and slides are worked out on at most 1025 samples a side. Snow that turned to ice is `erode.glacier`'s.
/// A hole in the height, the rain or the temperature is a hole.
///
/// **After** the degree-day method, Hock, J. Hydrol. 282 (2003); Gruber, Water Resour. Res. 43 (2007), for slides from the top
/// down.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Snow {
    /// Yearly mean temperature of the ground: a number, or a layer.
    #[schemars(extend("minimum" = -200.0, "maximum" = 200.0, "x-unit" = "degC", "x-slider" = [-10.0, 30.0]))]
    pub temperature_c: Coef,
    /// Rain and snow of a year: a number, or a layer.
    #[schemars(extend("minimum" = 0.0, "maximum" = 50000.0, "x-unit" = "mm/yr", "x-slider" = [0.0, 3000.0]))]
    pub rain_mm_per_yr: Coef,
    /// Time of the year: 0 is its coldest day, 0.25 spring, 0.5 its warmest day, 0.75 autumn.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub season: f64,
    /// How much colder the coldest day is than the mean of the year; a fifth of a degree for each of latitude if not stated.
    #[schemars(range(min = 0.0, max = 60.0), extend("x-unit" = "degC", "x-slider" = [0.0, 25.0]))]
    pub seasons_c: Option<f64>,
    /// Latitude, north above 0; that of the recipe's place if not stated, else 45.
    #[schemars(range(min = -90.0, max = 90.0), extend("x-unit" = "deg"))]
    pub latitude_deg: Option<f64>,
    /// The winds of the winter.
    #[schemars(length(min = 1, max = 16))]
    pub winds: Vec<Blowing>,
    /// How much of its snow the windiest ground loses, from 0 to 1.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub drift: f64,
    /// Steepest slope that holds all of its snow.
    #[schemars(range(min = 0.0, max = 88.0), extend("x-unit" = "deg", "x-slider" = [20.0, 50.0]))]
    pub holds_deg: f64,
    /// Slope from which none stays.
    #[schemars(range(min = 1.0, max = 89.0), extend("x-unit" = "deg", "x-slider" = [40.0, 75.0]))]
    pub sheds_deg: f64,
    /// The most that lies from falling alone; what is older is ice.
    #[schemars(range(min = 0.0, max = 1000.0), extend("x-unit" = "m", "x-slider" = [1.0, 20.0]))]
    pub most_m: f64,
    /// Length over which slopes are measured.
    #[schemars(range(min = 1.0, max = 1e4), extend("x-unit" = "m", "x-slider" = [10.0, 200.0]))]
    pub over_m: f64,
    /// Whether land below 0 m is sea.
    pub sea: bool,
}

impl Default for Snow {
    fn default() -> Self {
        Self {
            temperature_c: Coef::Layer(layer::TEMPERATURE.name()),
            rain_mm_per_yr: Coef::Layer(layer::RAIN.name()),
            season: 0.35,
            seasons_c: None,
            latitude_deg: None,
            winds: vec![Blowing::default()],
            drift: 0.6,
            holds_deg: 35.0,
            sheds_deg: 58.0,
            most_m: 6.0,
            over_m: 40.0,
            sea: true,
        }
    }
}

impl Op for Snow {
    const ID: &'static str = "climate.snow";
    const VERSION: u32 = 1;

    fn layers(&self) -> Layers {
        let given: Vec<_> =
            [&self.rain_mm_per_yr, &self.temperature_c].into_iter().filter_map(Coef::layer).collect();
        let from = [layer::HEIGHT.name()].into_iter().chain(given.clone());
        Layers::none().reading([layer::HEIGHT.name()]).reading(given).deriving([layer::SNOW.name()], from)
    }

    fn reach(&self, _: &Frame) -> Reach {
        Reach::World
    }

    fn bytes_a_sample(&self, frame: &Frame) -> f64 {
        12.0 + 56.0 * Lattice::over(frame, lattice::MOST).share()
    }

    fn faults(&self) -> Vec<Fault> {
        let mut faults = winds::faults(&self.winds);
        if self.sheds_deg <= self.holds_deg {
            let (sheds, holds) = (self.sheds_deg, self.holds_deg);
            faults.push(Fault::of("sheds_deg", format!("{sheds} is not above holds_deg ({holds})")));
        }
        faults
    }

    fn run(&self, mut terrain: Terrain, ctx: &Ctx<'_>) -> Result<Terrain, OpError> {
        ctx.tick(0, PARTS)?;
        let frame = *terrain.frame();
        let height = terrain.get(layer::HEIGHT)?;
        let years = self.years(ctx);
        let (warm, rain) = (self.temperature_c.on(&terrain)?, self.rain_mm_per_yr.on(&terrain)?);
        let surface = lattice::surface(height, self.sea);
        let mut fallen = self.fallen(&years, height, warm, rain, ctx)?;
        ctx.tick(1, PARTS)?;
        let holds = self.holds(&surface, frame.spacing_m());
        let lattice = Lattice::over(&frame, lattice::MOST);
        let moved = self.moved(&surface, &fallen, &holds, &lattice, ctx)?;
        drop(surface);
        let moved = lattice.back(moved);
        fallen.par_rows(|row, values| {
            let places = values.iter_mut().zip(moved.row(row)).zip(holds.row(row)).zip(height.row(row));
            for (((value, moved), holds), h) in places {
                *value = self.lies(*value, *moved, *holds, *h);
            }
        });
        keep_holes(&mut fallen, height);
        terrain.set(layer::SNOW, fallen);
        Ok(terrain)
    }

    fn refiner(&self, solved: Solved<'_>, ctx: &Ctx<'_>) -> Result<Option<Box<dyn Refiner>>, OpError> {
        let after = solved.after;
        let (height, snow) = (after.get(layer::HEIGHT)?, after.get(layer::SNOW)?);
        let years = self.years(ctx);
        let (warm, rain) = (self.temperature_c.on(after)?, self.rain_mm_per_yr.on(after)?);
        let holds = self.holds(&lattice::surface(height, self.sea), after.frame().spacing_m());
        // What wind and slides brought or took.
        let mut moved = self.fallen(&years, height, warm, rain, ctx)?;
        moved.par_rows(|row, values| {
            for ((value, holds), snow) in values.iter_mut().zip(holds.row(row)).zip(snow.row(row)) {
                *value = snow - *value * holds;
            }
        });
        let [moved, holds] = [&moved, &holds].map(|values| OnFrame::new(*after.frame(), values));
        Ok(Some(Box::new(Lying { op: self.clone(), years, moved, holds })))
    }
}

/// Parts of the work that progress is counted in.
const PARTS: usize = 6;

impl Snow {
    fn years(&self, ctx: &Ctx<'_>) -> Years {
        let latitude_deg = latitude_deg(self.latitude_deg, ctx);
        Years::new(self.season, self.seasons_c.unwrap_or(0.2 * latitude_deg.abs()), self.most_m)
    }

    /// Depth before winds and slides.
    fn fallen(
        &self,
        years: &Years,
        height: &Raster<f32>,
        warm: Field<'_>,
        rain: Field<'_>,
        ctx: &Ctx<'_>,
    ) -> Result<Raster<f32>, Cancelled> {
        let mut out = Raster::filled(height.cols(), height.rows(), 0.0f32);
        out.try_par_rows(|row, values| {
            for (col, value) in values.iter_mut().enumerate() {
                if !self.is_sea(height.row(row)[col]) {
                    *value = years.depth(warm.at(col, row), rain.at(col, row));
                }
            }
            if row % 16 == 0 { ctx.stop_if_asked() } else { Ok(()) }
        })?;
        Ok(out)
    }

    fn is_sea(&self, height: f32) -> bool {
        self.sea && height <= 0.0
    }

    /// What lies in the end, of what fell and of what came or went.
    fn lies(&self, fallen: f32, moved: f32, holds: f32, height: f32) -> f32 {
        if holds <= 0.0 || self.is_sea(height) {
            return 0.0;
        }
        // Interpolation may take a little more than there is; a hole stays one.
        let lies = fallen * holds + moved;
        if lies < 0.0 { 0.0 } else { lies }
    }

    /// The share of snow that the ground holds, by its slope.
    fn holds(&self, surface: &Raster<f32>, spacing_m: [f64; 2]) -> Raster<f32> {
        let ground = Ground::over(surface, spacing_m, self.over_m);
        let [holds, sheds] = [self.holds_deg, self.sheds_deg].map(|deg| math::tan(deg.to_radians()) as f32);
        Raster::from_fn(surface.cols(), surface.rows(), |col, row| {
            let (p, q) = ground.gradient(col, row);
            1.0 - math::smoothstep(holds, sheds, (p * p + q * q).sqrt())
        })
    }

    /// What winds and slides bring or take, on the lattice: what lies in the end less what fell and was held.
    fn moved(
        &self,
        surface: &Raster<f32>,
        fallen: &Raster<f32>,
        holds: &Raster<f32>,
        lattice: &Lattice,
        ctx: &Ctx<'_>,
    ) -> Result<Raster<f32>, Cancelled> {
        let land = lattice.thin(surface);
        // Holes in what fell move nothing.
        let mut lies = lattice.thin(&fallen.map(|depth| if depth.is_nan() { 0.0 } else { depth }));
        let holds = lattice.thin(holds);
        let mut before = lies.clone();
        before.par_rows(|row, values| {
            for (value, holds) in values.iter_mut().zip(holds.row(row)) {
                *value *= holds;
            }
        });
        if lies.range().is_none_or(|(_, most)| most <= 0.0) {
            return Ok(Raster::filled(lies.cols(), lies.rows(), 0.0));
        }
        let cell_m2 = lattice.spacing_m[0] * lattice.spacing_m[1];
        let mut gone = 0.0;
        if self.drift > 0.0 {
            let squeezing = Squeezing::of(&land, lattice, ctx)?;
            let over_sea = Wind { sea: false, ..Wind::default() };
            let winds = winds::shared_out(&self.winds);
            ctx.tick(2, PARTS)?;
            for wind in &winds {
                let speed = squeezing.under(wind, &over_sea, ctx)?;
                gone += self.blow(&mut lies, &land, &speed, wind, lattice, ctx)?;
            }
        }
        ctx.tick(3, PARTS)?;
        let slid = self.slide(&mut lies, &land, &holds, lattice.spacing_m, ctx)?;
        ctx.tick(5, PARTS)?;
        ctx.report("blown_away", gone * cell_m2, "m3");
        ctx.report("slid_away", slid * cell_m2, "m3");
        lies.par_rows(|row, values| {
            for (value, before) in values.iter_mut().zip(before.row(row)) {
                *value -= before;
            }
        });
        Ok(lies)
    }

    /// Lets a wind carry snow along its lines; gives what it carried off, in metres times samples.
    fn blow(
        &self,
        lies: &mut Raster<f32>,
        land: &Raster<f32>,
        speed: &Raster<f32>,
        wind: &Blowing,
        lattice: &Lattice,
        ctx: &Ctx<'_>,
    ) -> Result<f64, Cancelled> {
        let toward_deg = wind.from_deg + north_deg(ctx) + 180.0;
        // Weak winds lift little.
        let strength = self.drift * (wind.speed_m_per_s / 8.0).min(1.0);
        let mut gone = 0.0;
        for veer in [-15.0, 0.0, 15.0] {
            ctx.stop_if_asked()?;
            let lines = Lines::toward(toward_deg + veer, lattice.count, lattice.spacing_m);
            let share = strength * wind.share / 3.0;
            let step_m = lines.step_m as f32;
            let lifts: Raster<f32> = speed.map(|over| {
                // A third of the wind's work each, so that three together lift what one would.
                let fast = (over - 1.0).max(0.0);
                (share as f32) * (1.0 - 1.0 / (1.0 + 4.0 * fast))
            });
            let drops: Raster<f32> = speed.map(|over| {
                let far = if over > 1.0 {
                    FAR_M
                } else {
                    NEAR_M + (FAR_M - NEAR_M) * math::smoothstep(0.6, 1.0, over)
                };
                step_m / (step_m + far)
            });
            let depth = lies.as_mut_slice();
            lines.samples(|line| {
                let mut carried = 0.0f32;
                for &sample in line {
                    if self.is_sea(land.as_slice()[sample]) {
                        gone += f64::from(carried);
                        carried = 0.0;
                        continue;
                    }
                    let lifted = depth[sample] * lifts.as_slice()[sample];
                    let dropped = carried * drops.as_slice()[sample];
                    depth[sample] += dropped - lifted;
                    carried += lifted - dropped;
                }
                gone += f64::from(carried);
            });
        }
        Ok(gone)
    }

    /// Lets slopes shed what they cannot hold, from the top down; gives what slid into the sea or became ice, in metres times samples.
    fn slide(
        &self,
        lies: &mut Raster<f32>,
        land: &Raster<f32>,
        holds: &Raster<f32>,
        [dx, dy]: [f64; 2],
        ctx: &Ctx<'_>,
    ) -> Result<f64, Cancelled> {
        let (cols, rows) = (land.cols(), land.rows());
        let own = lies.as_slice().to_vec();
        let (heights, holds, depth) = (land.as_slice(), holds.as_slice(), lies.as_mut_slice());
        let mut order: Vec<u32> = (0..heights.len() as u32).collect();
        order.par_sort_unstable_by(|&a, &b| {
            heights[b as usize].total_cmp(&heights[a as usize]).then(a.cmp(&b))
        });
        let diagonal = math::hypot(dx, dy);
        let mut slid = 0.0;
        for (i, &cell) in order.iter().enumerate() {
            if i % (1 << 16) == 0 {
                ctx.stop_if_asked()?;
            }
            let cell = cell as usize;
            let (all, held) = (depth[cell], holds[cell]);
            if self.is_sea(heights[cell]) {
                slid += f64::from(all);
                depth[cell] = 0.0;
                continue;
            }
            // What slid comes to rest a few metres deep at most; more goes on.
            let stays = (all * held).min(own[cell] + DEBRIS_M);
            if all <= stays {
                continue;
            }
            let (col, row) = (cell % cols, cell / cols);
            let mut falls = [(0usize, 0.0f32); 8];
            let (mut count, mut sum) = (0, 0.0f32);
            for (i, j) in [(0i64, -1i64), (1, -1), (1, 0), (1, 1), (0, 1), (-1, 1), (-1, 0), (-1, -1)] {
                let (x, y) = (col as i64 + i, row as i64 + j);
                if x < 0 || y < 0 || x >= cols as i64 || y >= rows as i64 {
                    continue;
                }
                let other = y as usize * cols + x as usize;
                let way = if i == 0 {
                    dy
                } else if j == 0 {
                    dx
                } else {
                    diagonal
                };
                let fall = (heights[cell] - heights[other]) / way as f32;
                if fall > 0.0 {
                    falls[count] = (other, fall);
                    (count, sum) = (count + 1, sum + fall);
                }
            }
            if count == 0 {
                // A hollow without a way on: what is too deep is ice.
                let most = own[cell] + 4.0 * DEBRIS_M;
                slid += f64::from((all - most).max(0.0));
                depth[cell] = all.min(most);
                continue;
            }
            let leaves = all - stays;
            depth[cell] = stays;
            for (other, fall) in &falls[..count] {
                depth[*other] += leaves * (fall / sum);
            }
        }
        Ok(slid)
    }
}

/// How far the wind carries snow where it is slow, and where it is fast.
const NEAR_M: f32 = 60.0;
const FAR_M: f32 = 1500.0;
/// The deepest that slides leave on ground with a way down.
const DEBRIS_M: f32 = 3.0;

/// The snow of some years, by temperature and rain.
#[derive(Clone)]
struct Years {
    /// Depths in metres, by rows of temperature and columns of rain.
    table: Raster<f32>,
}

impl Years {
    const COLDEST: f32 = -40.0;
    const STEPS_A_DEGREE: f32 = 4.0;
    const WARM: usize = 321;
    const WET: usize = 97;
    /// Rain of the last column, in mm; columns are even in its square root.
    const WETTEST: f32 = 20000.0;

    fn new(season: f64, seasons_c: f64, most_m: f64) -> Self {
        const STEPS: usize = 24;
        const YEARS: usize = 3;
        /// Of water in snow.
        const DENSITY: f64 = 0.3;
        const MELTS_MM: f64 = 4.0;
        let days = 365.25 / STEPS as f64;
        let depth = |warm: f64, rain: f64| {
            let mut water = 0.0;
            // From the season before, to the season asked for.
            for step in 0..STEPS * YEARS {
                let t = season + (step + 1) as f64 / STEPS as f64;
                let now = warm - seasons_c * math::cos(std::f64::consts::TAU * t);
                let falls = rain / STEPS as f64 * f64::from(1.0 - math::smoothstep(-1.0, 3.0, now as f32));
                let melts = MELTS_MM * days * 0.5 * (now + (now * now + 9.0).sqrt());
                water = (water + falls - melts).clamp(0.0, most_m * 1000.0 * DENSITY);
            }
            (water / 1000.0 / DENSITY) as f32
        };
        let table = Raster::from_fn(Self::WET, Self::WARM, |col, row| {
            let root = col as f64 / (Self::WET - 1) as f64;
            let warm = f64::from(Self::COLDEST + row as f32 / Self::STEPS_A_DEGREE);
            depth(warm, root * root * f64::from(Self::WETTEST))
        });
        Self { table }
    }

    /// Depth in metres; NaN where either is.
    fn depth(&self, warm: f32, rain: f32) -> f32 {
        if warm.is_nan() || rain.is_nan() {
            return f32::NAN;
        }
        let col = (rain / Self::WETTEST).clamp(0.0, 1.0).sqrt() * (Self::WET - 1) as f32;
        let row = ((warm - Self::COLDEST) * Self::STEPS_A_DEGREE).clamp(0.0, (Self::WARM - 1) as f32);
        self.table.bilinear(f64::from(col), f64::from(row))
    }
}

/// Windows of other spacings: the snow of their own temperature and rain.
struct Lying {
    op: Snow,
    years: Years,
    moved: OnFrame,
    holds: OnFrame,
}

impl Refiner for Lying {
    fn refine(&self, mut window: Terrain, ctx: &Ctx<'_>) -> Result<Terrain, OpError> {
        let (moved, holds) = (self.moved.on(window.frame()), self.holds.on(window.frame()));
        let height = window.get(layer::HEIGHT)?;
        let (warm, rain) = (self.op.temperature_c.on(&window)?, self.op.rain_mm_per_yr.on(&window)?);
        let mut made = self.op.fallen(&self.years, height, warm, rain, ctx)?;
        made.par_rows(|row, values| {
            let places = values.iter_mut().zip(moved.row(row)).zip(holds.row(row)).zip(height.row(row));
            for (((value, moved), holds), h) in places {
                *value = self.op.lies(*value, *moved, holds.clamp(0.0, 1.0), *h);
            }
        });
        keep_holes(&mut made, height);
        replace(&mut window, layer::SNOW, made);
        Ok(window)
    }

    fn size_bytes(&self) -> usize {
        self.moved.size_bytes() + self.holds.size_bytes() + 4 * self.years.table.as_slice().len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn still() -> Snow {
        Snow {
            temperature_c: Coef::Const(-2.0),
            rain_mm_per_yr: Coef::Const(1200.0),
            drift: 0.0,
            ..Snow::default()
        }
    }

    fn laid(op: &Snow, cell_m: f64, land: Raster<f32>) -> (Raster<f32>, Vec<f64>) {
        let size = [(land.cols() - 1) as f64 * cell_m, (land.rows() - 1) as f64 * cell_m];
        let mut terrain = Terrain::new(Frame::new([0.0, 0.0], size, [land.cols(), land.rows()]).unwrap());
        terrain.set(layer::HEIGHT, land);
        let ctx = Ctx::silent();
        let made = op.apply(terrain, &ctx).unwrap().get(layer::SNOW).unwrap().clone();
        (made, ctx.take_figures().iter().map(|figure| figure.value).collect())
    }

    #[test]
    fn warm_land_has_none_and_cold_land_more() {
        let years = Years::new(0.2, 9.0, 6.0);
        assert_eq!(years.depth(25.0, 3000.0), 0.0);
        let mut last = f32::INFINITY;
        for warm in -30..30 {
            let depth = years.depth(warm as f32, 1000.0);
            assert!(depth <= last, "{warm}: {depth} after {last}");
            assert!(years.depth(warm as f32, 2000.0) >= depth);
            last = depth;
        }
        assert!(years.depth(f32::NAN, 10.0).is_nan() && years.depth(-500.0, 1e9) <= 6.0);
        // In high summer only what outlasts it is left: the snow line lies where the mean is well below freezing.
        let summer = Years::new(0.55, 9.0, 6.0);
        assert!(summer.depth(0.0, 1500.0) == 0.0 && summer.depth(-9.0, 1500.0) > 1.0);
        let winter = Years::new(0.0, 9.0, 6.0);
        assert!(winter.depth(3.0, 1500.0) > 0.2, "{}", winter.depth(3.0, 1500.0));
    }

    #[test]
    fn cliffs_hold_none_and_what_slid_lies_below_them() {
        // A wall of 70 degrees between two flats.
        let land = Raster::from_fn(81, 41, |c, _| 100.0 + 27.0 * (c.clamp(35, 45) - 35) as f32);
        let (made, figures) = laid(&still(), 10.0, land);
        let row = made.row(20);
        assert!(row[38..43].iter().all(|v| *v == 0.0), "{:?}", &row[30..50]);
        let level = row[5];
        assert!(row[28..37].iter().any(|v| *v > 1.3 * level), "{:?}", &row[25..40]);
        assert_eq!(figures, [0.0, 0.0]);
        let fell = f64::from(level) * 81.0 * 41.0;
        assert!((made.sum_f64() / fell - 1.0).abs() < 1e-4, "{} of {fell}", made.sum_f64());
    }

    #[test]
    fn wind_moves_snow_from_the_crest_to_the_lee_and_loses_none() {
        let ridge =
            |c: usize| 200.0 + 150.0 * math::exp(-((c as f64 - 80.0) / 14.0) * ((c as f64 - 80.0) / 14.0));
        let land = Raster::from_fn(201, 61, |c, _| ridge(c) as f32);
        let windy = Snow {
            drift: 0.8,
            winds: vec![Blowing { from_deg: 270.0, speed_m_per_s: 12.0, share: 1.0 }],
            ..still()
        };
        let (calm, _) = laid(&still(), 20.0, land.clone());
        let (made, figures) = laid(&windy, 20.0, land);
        let row = made.row(30);
        let lee = row[85..110].iter().copied().fold(0.0, f32::max);
        let windward = row[50..75].iter().copied().fold(0.0, f32::max);
        assert!(row[80] < 0.8 * calm.row(30)[80], "crest {} of {}", row[80], calm.row(30)[80]);
        assert!(lee > 1.15 * calm.row(30)[80] && lee > 1.1 * windward, "lee {lee}, windward {windward}");
        let all = made.sum_f64() + (figures[0] + figures[1]) / 400.0;
        assert!((all / calm.sum_f64() - 1.0).abs() < 1e-4, "{all} of {}", calm.sum_f64());
    }

    #[test]
    fn holes_and_the_sea_have_none() {
        let mut land = Raster::from_fn(65, 65, |c, _| c as f32 * 10.0 - 200.0);
        land.as_mut_slice()[65 * 30 + 50] = f32::NAN;
        let (made, _) = laid(&Snow { drift: 0.6, ..still() }, 30.0, land);
        assert!(made.row(10)[..21].iter().all(|v| *v == 0.0) && made.row(10)[40] > 0.0);
        assert_eq!(made.as_slice().iter().filter(|v| v.is_nan()).count(), 1);
    }
}
