//! Salt: spray that the wind carries inland.

use orogen_core::param::Fault;
use orogen_core::{
    Cancelled, Ctx, Frame, Layers, Op, OpError, Raster, Reach, Refiner, Solved, Terrain, layer, math,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::between::Between;
use super::lattice::{self, Lattice};
use super::sweep::Lines;
use super::winds::{self, Blowing};
use super::{horizon, keep_holes, north_deg};

/// Finds how much salt from sea spray reaches the ground, from 0 (none) to 1 (an open shore in the wind), and keeps it as the
/// layer `salt`.
///
/// ```text
/// over the sea   ds/dx = (1 − s) / 300 m          over land   ds/dx = −s / L,   L = reach_m · speed / 10 m/s
/// salt = Σ share · s · exp(−h / height_m) · (1 − shelter · smoothstep(0.05, 0.4, t))        over the winds
/// ```
///
/// `x` runs with the wind, in three directions 20 degrees apart for each, and `t` is the tangent of the horizon toward
/// it. The wind off the land brings no salt. What is below a hundredth is none.
///
/// **Guarantees** (1) 0 to 1; (2) none farther from the sea than five times `L`; (3) less behind hills, on high ground and
/// on shores that the wind leaves than on those that it meets; (4) the same bits for any number of threads.
///
/// **Limits** Land below 0 m is sea. Worked out on at most 1025 samples a side. A sea that lies at the edge of the map goes on
/// beyond it.
///
/// **After** the fall of salt with distance in Gustafsson & Franzén, Atmos. Environ. 30 (1996).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Salt {
    /// The winds of a year.
    #[schemars(length(min = 1, max = 16))]
    pub winds: Vec<Blowing>,
    /// Distance in which a wind of 10 m/s loses most of its salt over land: what is left is a third.
    #[schemars(range(min = 1.0, max = 1e5), extend("x-unit" = "m", "x-slider" = [100.0, 5000.0]))]
    pub reach_m: f64,
    /// Height at which a third of it is left.
    #[schemars(range(min = 1.0, max = 1e4), extend("x-unit" = "m", "x-slider" = [20.0, 500.0]))]
    pub height_m: f64,
    /// How much the lee of hills keeps off, from 0 to 1.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub shelter: f64,
}

impl Default for Salt {
    fn default() -> Self {
        Self { winds: vec![Blowing::default()], reach_m: 800.0, height_m: 120.0, shelter: 0.8 }
    }
}

impl Op for Salt {
    const ID: &'static str = "climate.salt";
    const VERSION: u32 = 2;

    fn layers(&self) -> Layers {
        Layers::none().reading([layer::HEIGHT.name()]).deriving([layer::SALT.name()], [layer::HEIGHT.name()])
    }

    fn reach(&self, _: &Frame) -> Reach {
        Reach::World
    }

    fn bytes_a_sample(&self, frame: &Frame) -> f64 {
        8.0 + 24.0 * Lattice::over(frame, lattice::MOST).share()
    }

    fn refiner(&self, solved: Solved<'_>, _: &Ctx<'_>) -> Result<Option<Box<dyn Refiner>>, OpError> {
        Between::of(layer::SALT, solved)
    }

    fn faults(&self) -> Vec<Fault> {
        winds::faults(&self.winds)
    }

    fn run(&self, mut terrain: Terrain, ctx: &Ctx<'_>) -> Result<Terrain, OpError> {
        let salt = salt(terrain.get(layer::HEIGHT)?, terrain.frame(), self, ctx)?;
        terrain.set(layer::SALT, salt);
        Ok(terrain)
    }
}

/// How far winds veer to either side.
const VEER_DEG: [f64; 3] = [-20.0, 0.0, 20.0];
/// Distance over the sea in which the air takes up its salt.
const FETCH_M: f64 = 300.0;

/// The algorithm alone.
///
/// # Errors
/// When cancelled.
pub fn salt(
    height: &Raster<f32>,
    frame: &Frame,
    params: &Salt,
    ctx: &Ctx<'_>,
) -> Result<Raster<f32>, Cancelled> {
    let winds = winds::shared_out(&params.winds);
    let parts = VEER_DEG.len() * winds.len() + 1;
    ctx.tick(0, parts)?;
    let lattice = Lattice::over(frame, lattice::MOST);
    let land = lattice.thin(&lattice::filled(height));
    let surface = land.map(|h| h.max(0.0));
    let mut sum = Raster::filled(lattice.count[0], lattice.count[1], 0.0f32);
    let shelter = params.shelter as f32;
    for (i, wind) in winds.iter().enumerate() {
        for (j, veer) in VEER_DEG.into_iter().enumerate() {
            let from_deg = wind.from_deg + veer + north_deg(ctx);
            let lines = Lines::toward(from_deg + 180.0, lattice.count, lattice.spacing_m);
            let over_land = (params.reach_m * wind.speed_m_per_s / 10.0).max(1e-3);
            let takes_up = math::exp(-lines.step_m / FETCH_M) as f32;
            let loses = math::exp(-lines.step_m / over_land) as f32;
            let carried = lines.sweep([&land], ctx, |[land], out| {
                let mut state: f32 = if land[0] < 0.0 { 1.0 } else { 0.0 };
                for (h, out) in land.iter().zip(out) {
                    state = if *h < 0.0 { 1.0 - (1.0 - state) * takes_up } else { state * loses };
                    *out = state;
                }
            })?;
            let ahead = horizon::toward(&surface, lattice.spacing_m, from_deg, ctx)?;
            let share = (wind.share / VEER_DEG.len() as f64) as f32;
            sum.par_rows(|row, out| {
                let places = out.iter_mut().zip(carried.row(row)).zip(ahead.row(row));
                for ((out, carried), t) in places {
                    *out += share * carried * (1.0 - shelter * math::smoothstep(0.05, 0.4, *t));
                }
            });
            ctx.tick(i * VEER_DEG.len() + j + 1, parts)?;
        }
    }
    let per_m = (1.0 / params.height_m) as f32;
    sum.par_rows(|row, out| {
        for (out, h) in out.iter_mut().zip(surface.row(row)) {
            let salt = *out * math::f32::exp(-h * per_m);
            *out = ((salt - 0.01) / 0.99).clamp(0.0, 1.0);
        }
    });
    let mut out = lattice.back(sum);
    out.par_rows(|_, out| out.iter_mut().for_each(|v| *v = v.clamp(0.0, 1.0)));
    keep_holes(&mut out, height);
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn blown<F: Fn(f64, f64) -> f64 + Sync>(op: &Salt, height: F) -> impl Fn(f64, f64) -> f32 + use<F> {
        let frame = Frame::square(20000.0, 401).unwrap();
        let land = Raster::from_fn(401, 401, |c, r| height(frame.x_m(c), frame.y_m(r)) as f32);
        let made = salt(&land, &frame, op, &Ctx::silent()).unwrap();
        assert!(made.as_slice().iter().all(|v| (0.0..=1.0).contains(v)));
        move |x, y| {
            let [col, row] = frame.locate(x, y);
            made.row(row.round() as usize)[col.round() as usize]
        }
    }

    fn west() -> Salt {
        Salt { winds: vec![Blowing { from_deg: 270.0, ..Blowing::default() }], ..Salt::default() }
    }

    #[test]
    fn salt_falls_off_inland_and_ends() {
        let at = blown(&west(), |x, _| if x < 4000.0 { -20.0 } else { 3.0 });
        assert!(at(2000.0, 1e4) > 0.95 && at(4100.0, 1e4) > 0.75, "{}", at(4100.0, 1e4));
        assert!((0.2..0.5).contains(&at(4800.0, 1e4)), "{}", at(4800.0, 1e4));
        assert_eq!(at(9000.0, 1e4), 0.0);
    }

    #[test]
    fn an_island_is_salty_where_the_wind_meets_it() {
        let island = |x: f64, y: f64| 60.0 - 0.02 * math::hypot(x - 1e4, y - 1e4);
        let at = blown(&west(), island);
        assert!(at(7200.0, 1e4) > 3.0 * at(12800.0, 1e4), "{} {}", at(7200.0, 1e4), at(12800.0, 1e4));
        assert!(at(1e4, 1e4) < 0.05);
    }

    #[test]
    fn hills_and_heights_keep_it_off() {
        let wall = |x: f64, _: f64| match x {
            x if x < 4000.0 => -20.0,
            x if (4200.0..4400.0).contains(&x) => 150.0,
            _ => 3.0,
        };
        let (open, behind) =
            (blown(&west(), |x, _| if x < 4000.0 { -20.0 } else { 3.0 }), blown(&west(), wall));
        assert!(behind(4600.0, 1e4) < 0.5 * open(4600.0, 1e4));
        assert!(behind(4300.0, 1e4) < 0.4 * open(4300.0, 1e4));
    }

    #[test]
    fn land_without_a_sea_has_none() {
        let at = blown(&Salt::default(), |x, _| 1.0 + x / 100.0);
        assert_eq!(at(0.0, 0.0), 0.0);
    }
}
