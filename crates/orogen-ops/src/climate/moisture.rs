//! Moisture: what rain leaves after the sun has had its share, and what rivers and lakes give to the ground beside them.

use orogen_core::{
    Cancelled, Coef, Ctx, Frame, Layers, Op, OpError, Raster, Reach, Refiner, Solved, Terrain, layer, math,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::between::Between;
use super::ground::Ground;
use super::keep_holes;
use super::lattice::{self, Lattice};
use crate::drainage::{area, drainage};
use crate::water::sea_level;

/// Finds how moist the ground is, from 0 (dry) to 1 (wet), and keeps it as the layer `moisture`.
///
/// ```text
/// moisture = 1 − (1 − climate · (1 − drain · g / (g + 0.6)))(1 − bank) + wish
/// climate  = 1 − exp(−rain / E)              E = max(60, 300 + 25 T + 0.05 T³) mm/yr;  g: slope as a tangent
/// bank     = max over rivers and lakes  w · exp(−distance / spread_m − climb / climb_m)
/// ```
///
/// `E` is what would evaporate in a year at temperature `T`. Rain runs off and gathers: a river of discharge Q moistens its
/// banks by `w = Q / (Q + river_m3_per_s)`, a lake (the layer `water`, where it is there) by 1. From there moisture spreads
/// over the land, weaker with every step, as ground water does: far over valley floors, and hardly up slopes.
///
/// **Guarantees** (1) 0 to 1; (2) more rain is never drier, more warmth above freezing never wetter; (3) far from water and
/// on level ground it is that of the climate; (4) beside a river it is as moist as the river makes it, and falls off by
/// the distance; (5) the same bits for any number of threads.
///
/// **Limits** Rivers are found on a lattice of at most 1025 samples a side. Where there is no layer `water`, lakes are not
/// known. A hole in the height, the rain or the temperature is a hole. Finer resolution finds more of the smallest streams;
/// away from banks two resolutions agree within 1 %.
///
/// **After** the breadth-first spreading from rivers, a factor for each step, in Weiss, "Procedural Terrain", 2015,
/// chapter IV-E, by metres instead of steps; evaporation after Turc, Ann. Agron. 5 (1954).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Moisture {
    /// Rain of a year: a number, or a layer.
    #[schemars(extend("minimum" = 0.0, "maximum" = 50000.0, "x-unit" = "mm/yr", "x-slider" = [0.0, 3000.0]))]
    pub rain_mm_per_yr: Coef,
    /// Yearly mean temperature of the ground: a number, or a layer.
    #[schemars(extend("minimum" = -200.0, "maximum" = 200.0, "x-unit" = "degC", "x-slider" = [-10.0, 30.0]))]
    pub temperature_c: Coef,
    /// How much of its moisture the steepest ground loses, from 0 to 1.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub drain: f64,
    /// Discharge of a river that moistens its banks by half.
    #[schemars(range(min = 1e-4, max = 1e5), extend("x-unit" = "m3/s", "x-slider" = [0.05, 10.0]))]
    pub river_m3_per_s: f64,
    /// Distance over which the moisture of rivers and lakes falls to a third on level ground.
    #[schemars(range(min = 1.0, max = 1e5), extend("x-unit" = "m", "x-slider" = [50.0, 2000.0]))]
    pub spread_m: f64,
    /// Climb over which it falls to a third.
    #[schemars(range(min = 0.1, max = 1e4), extend("x-unit" = "m", "x-slider" = [2.0, 100.0]))]
    pub climb_m: f64,
    /// Added in the end: above 0 wetter, below drier; a number, or a layer such as a painted one.
    #[schemars(extend("minimum" = -1.0, "maximum" = 1.0))]
    pub wish: Coef,
    /// Whether land below 0 m is sea, where rivers end.
    pub sea: bool,
}

impl Default for Moisture {
    fn default() -> Self {
        Self {
            rain_mm_per_yr: Coef::Layer(layer::RAIN.name()),
            temperature_c: Coef::Layer(layer::TEMPERATURE.name()),
            drain: 0.5,
            river_m3_per_s: 0.5,
            spread_m: 300.0,
            climb_m: 15.0,
            wish: Coef::Const(0.0),
            sea: true,
        }
    }
}

impl Op for Moisture {
    const ID: &'static str = "climate.moisture";
    const VERSION: u32 = 1;
    const PREVIEW_RMSE: f64 = 0.04;

    fn layers(&self) -> Layers {
        let given: Vec<_> = [&self.rain_mm_per_yr, &self.temperature_c, &self.wish]
            .into_iter()
            .filter_map(Coef::layer)
            .collect();
        let from = [layer::HEIGHT.name(), layer::WATER.name()].into_iter().chain(given.clone());
        Layers::none()
            .reading([layer::HEIGHT.name()])
            .reading(given)
            .using([layer::WATER.name()])
            .deriving([layer::MOISTURE.name()], from)
    }

    fn reach(&self, _: &Frame) -> Reach {
        Reach::World
    }

    fn bytes_a_sample(&self, frame: &Frame) -> f64 {
        8.0 + 24.0 * Lattice::over(frame, lattice::MOST).share()
    }

    fn refiner(&self, solved: Solved<'_>, _: &Ctx<'_>) -> Result<Option<Box<dyn Refiner>>, OpError> {
        Between::of(layer::MOISTURE, solved)
    }

    fn run(&self, mut terrain: Terrain, ctx: &Ctx<'_>) -> Result<Terrain, OpError> {
        const PARTS: usize = 10;
        ctx.tick(0, PARTS)?;
        let frame = *terrain.frame();
        let height = terrain.get(layer::HEIGHT)?;
        let (rain, warm) = (self.rain_mm_per_yr.on(&terrain)?, self.temperature_c.on(&terrain)?);
        let wish = self.wish.on(&terrain)?;
        let lattice = Lattice::over(&frame, lattice::MOST);
        let ground = lattice::filled(height);
        let bank = {
            let land = lattice.thin(&ground);
            let rain = match &self.rain_mm_per_yr {
                Coef::Const(rain) => Raster::filled(land.cols(), land.rows(), *rain as f32),
                Coef::Layer(name) => lattice.thin(&lattice::filled(terrain.get_named(name)?)),
            };
            let water = terrain.get(layer::WATER).ok().map(|water| lattice.thin(&lattice::filled(water)));
            let cost = self.sources(&land, &rain, water.as_ref(), &lattice, ctx)?;
            drop((rain, water));
            ctx.tick(3, PARTS)?;
            spread(&land, cost, lattice.spacing_m, self, ctx)?.map(|cost| math::f32::exp(-cost))
        };
        ctx.tick(8, PARTS)?;
        let mut out = lattice.back(bank);
        let ground = Ground::over(&ground, frame.spacing_m(), SLOPE_M);
        let drain = self.drain as f32;
        out.try_par_rows(|row, values| {
            for (col, value) in values.iter_mut().enumerate() {
                let bank = value.clamp(0.0, 1.0);
                let (p, q) = ground.gradient(col, row);
                let steep = (p * p + q * q).sqrt();
                let held = 1.0 - drain * (steep / (steep + 0.6));
                let climate = of_climate(rain.at(col, row), warm.at(col, row));
                let moist = 1.0 - (1.0 - climate * held) * (1.0 - bank) + wish.at(col, row);
                // A hole stays one: clamping keeps NaN.
                *value = moist.clamp(0.0, 1.0);
            }
            if row % 16 == 0 { ctx.stop_if_asked() } else { Ok(()) }
        })?;
        keep_holes(&mut out, height);
        terrain.set(layer::MOISTURE, out);
        Ok(terrain)
    }
}

/// Length over which slopes are measured.
const SLOPE_M: f64 = 60.0;

/// Moisture of level ground away from water, of rain in mm and temperature in degrees.
fn of_climate(rain: f32, warm: f32) -> f32 {
    let evaporates = (300.0 + 25.0 * warm + 0.05 * warm * warm * warm).max(60.0);
    // Below freezing the cubic turns; nothing evaporates there either way.
    let evaporates = if warm < -8.0 { 60.0 } else { evaporates };
    1.0 - math::f32::exp(-rain.max(0.0) / evaporates)
}

impl Moisture {
    /// How dry each place of the lattice is by its own water: −ln w.
    fn sources(
        &self,
        land: &Raster<f32>,
        rain: &Raster<f32>,
        water: Option<&Raster<f32>>,
        lattice: &Lattice,
        ctx: &Ctx<'_>,
    ) -> Result<Raster<f32>, OpError> {
        /// Millionths of a cubic metre a second count as whole numbers, so that no order of adding matters.
        const WHOLE: f64 = 1e6;
        const YEAR_S: f64 = 3.155_692_6e7;
        let found = drainage(land, lattice.spacing_m, sea_level(self.sea), ctx)?;
        let cell_m2 = lattice.spacing_m[0] * lattice.spacing_m[1];
        let per_mm = cell_m2 / 1000.0 / YEAR_S * WHOLE;
        let own = |cell: usize| (f64::from(rain.as_slice()[cell].max(0.0)) * per_mm).round() as u64;
        let flow = area::sums(&found.ways, &found.ways.donors(), own);
        let half = self.river_m3_per_s * WHOLE;
        Ok(Raster::from_fn(land.cols(), land.rows(), |col, row| {
            let (flow, h) = (flow.row(row)[col] as f64, land.row(row)[col]);
            if self.sea && h <= 0.0 {
                return f32::INFINITY;
            }
            let lake = water.is_some_and(|water| water.row(row)[col] > 0.25);
            if lake { 0.0 } else { -math::f32::ln((flow / (flow + half)) as f32) }
        }))
    }
}

/// The least cost of reaching each place from any other: what lies there, and what the way adds. Sweeps from the four
/// corners, as often as anything changes, eight times at most.
fn spread(
    land: &Raster<f32>,
    mut cost: Raster<f32>,
    [dx, dy]: [f64; 2],
    params: &Moisture,
    ctx: &Ctx<'_>,
) -> Result<Raster<f32>, Cancelled> {
    let (cols, rows) = (land.cols(), land.rows());
    let per_m = 1.0 / params.spread_m;
    let ways = [dx * per_m, dy * per_m, math::hypot(dx, dy) * per_m].map(|way| way as f32);
    let per_climb = (1.0 / params.climb_m) as f32;
    let heights = land.as_slice();
    for round in 0..8 {
        let mut changed = false;
        for (south, east) in [(true, true), (true, false), (false, true), (false, false)] {
            ctx.stop_if_asked()?;
            let values = cost.as_mut_slice();
            for r in 0..rows {
                let row = if south { r } else { rows - 1 - r };
                for c in 0..cols {
                    let col = if east { c } else { cols - 1 - c };
                    let here = row * cols + col;
                    let (own, h) = (values[here], heights[here]);
                    let mut best = own;
                    let mut from = |other: usize, way: f32| {
                        let climb = (h - heights[other]).max(0.0) * per_climb;
                        let through = values[other] + way + climb;
                        best = if through < best { through } else { best };
                    };
                    // The three neighbours behind, and the one across.
                    let beside = if east { col.checked_sub(1) } else { Some(col + 1).filter(|c| *c < cols) };
                    let before = if south { row.checked_sub(1) } else { Some(row + 1).filter(|r| *r < rows) };
                    let across = if east { Some(col + 1).filter(|c| *c < cols) } else { col.checked_sub(1) };
                    if let Some(beside) = beside {
                        from(row * cols + beside, ways[0]);
                    }
                    if let Some(before) = before {
                        from(before * cols + col, ways[1]);
                        [beside, across]
                            .into_iter()
                            .flatten()
                            .for_each(|col| from(before * cols + col, ways[2]));
                    }
                    if best < own {
                        values[here] = best;
                        changed = true;
                    }
                }
            }
        }
        if !changed {
            break;
        }
        ctx.tick(3 + (round + 1).min(5), 10)?;
    }
    Ok(cost)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_support;
    use std::collections::BinaryHeap;

    fn made<F: Fn(f64, f64) -> f64 + Sync>(op: &Moisture, height: F) -> impl Fn(f64, f64) -> f32 + use<F> {
        let frame = Frame::square(8000.0, 161).unwrap();
        let mut terrain = Terrain::new(frame);
        terrain
            .set(layer::HEIGHT, Raster::from_fn(161, 161, |c, r| height(frame.x_m(c), frame.y_m(r)) as f32));
        let made = op.apply(terrain, &Ctx::silent()).unwrap().get(layer::MOISTURE).unwrap().clone();
        assert!(made.as_slice().iter().all(|v| (0.0..=1.0).contains(v)));
        move |x, y| {
            let [col, row] = frame.locate(x, y);
            made.row(row.round() as usize)[col.round() as usize]
        }
    }

    fn steady(rain: f64, warm: f64) -> Moisture {
        Moisture {
            rain_mm_per_yr: Coef::Const(rain),
            temperature_c: Coef::Const(warm),
            ..Moisture::default()
        }
    }

    #[test]
    fn climates_are_as_moist_as_their_forests() {
        // Desert, savanna, temperate forest, taiga, rain forest.
        for (rain, warm, expected) in [
            (100.0, 25.0, 0.05),
            (900.0, 25.0, 0.4),
            (900.0, 10.0, 0.8),
            (500.0, 0.0, 0.8),
            (3000.0, 26.0, 0.8),
        ] {
            let found = of_climate(rain, warm);
            assert!((found - expected).abs() < 0.07, "{rain} mm at {warm}: {found}");
        }
        let mut last = 1.0;
        for warm in -30..40 {
            let now = of_climate(400.0, warm as f32);
            assert!(now <= last + 1e-6, "at {warm}: {now} after {last}");
            last = now;
        }
    }

    #[test]
    fn a_valley_is_moist_along_its_river() {
        // A valley to the south, with walls of 30 m a kilometre and a floor that falls by 10 m a kilometre.
        let valley = |x: f64, y: f64| 100.0 + 0.03 * (x - 4000.0).abs() + 0.01 * y;
        let at = made(&steady(600.0, 25.0), valley);
        let dry = of_climate(600.0, 25.0);
        assert!(at(4000.0, 500.0) > dry + 0.25, "{}", at(4000.0, 500.0));
        assert!(at(4000.0, 500.0) > at(4000.0, 6000.0), "rivers grow downstream");
        assert!(at(4300.0, 1000.0) < at(4100.0, 1000.0) && at(4600.0, 1000.0) < at(4300.0, 1000.0));
        assert!((at(7000.0, 4000.0) - dry).abs() < 0.06, "{} {dry}", at(7000.0, 4000.0));
    }

    #[test]
    fn steep_ground_is_drier_and_a_wish_is_granted() {
        let [gentle, steep] =
            [0.05, 1.0].map(|grade| made(&steady(300.0, 10.0), move |x, _| 10.0 + grade * x)(6000.0, 4000.0));
        assert!(steep < gentle - 0.05, "{steep} {gentle}");
        let wet = Moisture { wish: Coef::Const(0.2), ..steady(300.0, 10.0) };
        let wet = made(&wet, |x, _| 10.0 + 0.05 * x)(6000.0, 4000.0);
        assert!((wet - gentle - 0.2).abs() < 1e-5);
    }

    #[test]
    fn lakes_moisten_their_shores() {
        let frame = Frame::square(8000.0, 161).unwrap();
        let mut terrain = Terrain::new(frame);
        terrain.set(layer::HEIGHT, Raster::filled(161, 161, 300.0));
        terrain.set(layer::WATER, Raster::from_fn(161, 161, |c, _| if c < 40 { 3.0 } else { 0.0 }));
        let made = steady(100.0, 25.0).apply(terrain, &Ctx::silent()).unwrap();
        let row = made.get(layer::MOISTURE).unwrap().row(80);
        let share = |col: usize| (row[col] - row[120]) / (1.0 - row[120]);
        // Ten samples are 500 m; the lake's last sample is 39.
        assert!((share(49) - math::f32::exp(-500.0 / 300.0)).abs() < 0.02, "{}", share(49));
        assert!(row[20] > 0.99);
    }

    /// Least costs by the book.
    fn dijkstra(land: &Raster<f32>, cost: &Raster<f32>, spacing_m: f64, params: &Moisture) -> Vec<f32> {
        let (cols, rows) = (land.cols(), land.rows());
        let mut best = cost.as_slice().to_vec();
        let key = |cost: f32| std::cmp::Reverse((f64::from(cost) * 1e9) as u64);
        let mut heap: BinaryHeap<_> = best.iter().enumerate().map(|(i, c)| (key(*c), i)).collect();
        while let Some((at, cell)) = heap.pop() {
            if at < key(best[cell]) {
                continue;
            }
            let (c, r) = ((cell % cols) as isize, (cell / cols) as isize);
            for (i, j) in (-1..=1).flat_map(|i| (-1..=1).map(move |j| (i, j))) {
                let (x, y) = (c + i, r + j);
                if x < 0 || y < 0 || x >= cols as isize || y >= rows as isize || (i, j) == (0, 0) {
                    continue;
                }
                let other = y as usize * cols + x as usize;
                let way = math::hypot(i as f64, j as f64) * spacing_m / params.spread_m;
                let climb = (land.as_slice()[other] - land.as_slice()[cell]).max(0.0) / params.climb_m as f32;
                let through = best[cell] + way as f32 + climb;
                if through < best[other] {
                    best[other] = through;
                    heap.push((key(through), other));
                }
            }
        }
        best
    }

    #[test]
    fn spreading_takes_the_best_way() {
        let land = test_support::rough(60, 50);
        let params = Moisture::default();
        let cost = Raster::from_fn(60, 50, |c, r| if (c * 7 + r * 13) % 97 == 0 { 0.1 } else { 5.0 });
        let found = spread(&land, cost.clone(), [40.0, 40.0], &params, &Ctx::silent()).unwrap();
        let expected = dijkstra(&land, &cost, 40.0, &params);
        for (a, b) in found.as_slice().iter().zip(expected) {
            assert!((a - b).abs() < 1e-3, "{a} {b}");
        }
    }
}
