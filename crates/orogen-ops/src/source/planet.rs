//! A small planet: continents from great-circle faults and noise on a sphere, as a map.

use std::f64::consts::{PI, TAU};

use orogen_core::{
    Cancelled, Ctx, Frame, Layers, Op, OpError, Raster, Reach, Rect, Seed, Terrain, layer, math,
};
use rayon::prelude::*;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Makes the height map of a small planet: 360 degrees of longitude and 180 of latitude over the frame.
///
/// Each fault cuts the globe by a plane and lifts one side, the other sinks; solid noise adds mountains and coasts:
///
/// ```text
/// h(p) = A/√n · Σ sgn(nᵢ·p − cᵢ) · sᵢ + B · Σ noise₃(f·2^k·p) / 2^(H·k) − sea        |p| = 1
/// ```
///
/// With `off_centre = 0` all planes run through the middle and cut along great circles. The sea level is set so that
/// `sea_share` of the globe (not of the map, which stretches the poles) lies under water.
///
/// **Guarantees** (1) The first and the last column are the same meridian, equal to the bit. (2) Each pole has one
/// height, along its whole row. (3) Faults balance: the two halves of a great circle get the same, up or down.
/// (4) A sample depends on the seed and its place in the recipe's frame.
///
/// **Limits** The map is equirectangular: use a frame twice as wide as it is high. Great circles alone make the
/// far side the negative of the near side; noise and `off_centre` hide it.
///
/// **After** the fault algorithm on spheres as in Liarokapis, "Terrain generation", Masaryk University 2016, and Voss,
/// "Random fractal forgeries", 1985.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Planet {
    /// Number of faults.
    #[schemars(range(min = 0, max = 100_000), extend("x-slider" = [10, 3000]))]
    pub faults: u32,
    /// Standard deviation, about, of heights by faults.
    #[schemars(range(min = 0.0, max = 20_000.0), extend("x-unit" = "m", "x-slider" = [100.0, 4000.0]))]
    pub fault_m: f64,
    /// How far from the middle planes may cut, in radii; 0 makes great circles.
    #[schemars(range(min = 0.0, max = 0.95), extend("x-slider" = [0.0, 0.8]))]
    pub off_centre: f64,
    /// Height of the noise.
    #[schemars(range(min = 0.0, max = 20_000.0), extend("x-unit" = "m", "x-slider" = [100.0, 4000.0]))]
    pub noise_m: f64,
    /// Cells of the noise along a radius, in its first octave.
    #[schemars(range(min = 0.1, max = 1000.0), extend("x-slider" = [1.0, 8.0]))]
    pub frequency: f64,
    /// Octaves of the noise.
    #[schemars(range(min = 1, max = 16), extend("x-slider" = [1, 10]))]
    pub octaves: u32,
    /// Smoothness of the noise: H.
    #[schemars(range(min = 0.0, max = 2.0), extend("x-slider" = [0.3, 1.2]))]
    pub hurst: f64,
    /// Share of the globe under the sea.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub sea_share: f64,
}

impl Default for Planet {
    fn default() -> Self {
        Self {
            faults: 600,
            fault_m: 1400.0,
            off_centre: 0.4,
            noise_m: 3000.0,
            frequency: 1.6,
            octaves: 7,
            hurst: 0.9,
            sea_share: 0.65,
        }
    }
}

impl Op for Planet {
    const ID: &'static str = "source.planet";
    const VERSION: u32 = 1;

    fn layers(&self) -> Layers {
        Layers::none().writing([layer::HEIGHT.name()])
    }

    fn reach(&self, _: &Frame) -> Reach {
        Reach::Point
    }

    fn run(&self, mut terrain: Terrain, ctx: &Ctx<'_>) -> Result<Terrain, OpError> {
        let height = planet(self, terrain.frame(), &ctx.world(&terrain).extent(), ctx)?;
        terrain.set(layer::HEIGHT, height);
        Ok(terrain)
    }
}

/// A plane that cuts the globe: the side of its normal goes up or down by one.
struct Cut {
    normal: [f64; 3],
    off: f64,
    up: i32,
    /// Longitude of the normal, in turns, and its distance from the axis.
    turn: f64,
    wide: f64,
}

struct Globe<'a> {
    params: &'a Planet,
    cuts: Vec<Cut>,
    /// Metres of one fault.
    step_m: f64,
    noise: Seed,
    sea_m: f64,
}

/// Places on the globe that the sea level is taken from.
const SOUNDINGS: u32 = 4096;

/// The algorithm alone. Moves 4 bytes a sample; faults cost a few steps a row each.
///
/// # Errors
/// When cancelled.
pub fn planet(params: &Planet, frame: &Frame, world: &Rect, ctx: &Ctx<'_>) -> Result<Raster<f32>, Cancelled> {
    let globe = Globe::new(params, ctx.seed());
    ctx.tick(1, 100)?;
    let size = world.size().map(|side| side.max(1e-9));
    // Shares of the map; the far edge of the map is the near one again.
    let turns: Vec<f64> =
        (0..frame.cols()).map(|c| folded((frame.x_m(c) - world.min[0]) / size[0])).collect();
    let meridians: Vec<[f64; 2]> =
        turns.iter().map(|u| [math::cos(TAU * (u - 0.5)), math::sin(TAU * (u - 0.5))]).collect();
    let counter = ctx.counter(frame.rows());
    let mut out = Raster::filled(frame.cols(), frame.rows(), 0.0f32);
    out.try_par_rows(|row, values| {
        let [round, up] = parallel((frame.y_m(row) - world.min[1]) / size[1]);
        let lifts = globe.lifts(&turns, round, up);
        for ((v, [cos, sin]), lift) in values.iter_mut().zip(&meridians).zip(lifts) {
            *v = globe.height(lift, [round * cos, round * sin, up]) as f32;
        }
        counter.done()
    })?;
    Ok(out)
}

/// A longitude in turns from the western edge, 0 to 1 without 1.
fn folded(u: f64) -> f64 {
    let t = u - u.floor();
    if (1e-9..=1.0 - 1e-9).contains(&t) { t } else { 0.0 }
}

/// Radius and height of a parallel of the globe, by the share of the map from the south; poles are points.
fn parallel(v: f64) -> [f64; 2] {
    let v = v.clamp(0.0, 1.0);
    if v < 1e-9 {
        return [0.0, -1.0];
    }
    if v > 1.0 - 1e-9 {
        return [0.0, 1.0];
    }
    [math::sin(PI * v), -math::cos(PI * v)]
}

impl<'a> Globe<'a> {
    fn new(params: &'a Planet, seed: Seed) -> Self {
        let own_seed = seed.child("faults");
        let cuts = (0..u64::from(params.faults))
            .map(|i| {
                let z = 2.0 * own_seed.unit(4 * i) - 1.0;
                let wide = (1.0 - z * z).max(0.0).sqrt();
                let turn = own_seed.unit(4 * i + 1);
                let angle = TAU * (turn - 0.5);
                Cut {
                    normal: [wide * math::cos(angle), wide * math::sin(angle), z],
                    off: params.off_centre * (2.0 * own_seed.unit(4 * i + 2) - 1.0),
                    up: if own_seed.bits(4 * i + 3) & 1 == 0 { 1 } else { -1 },
                    turn,
                    wide,
                }
            })
            .collect();
        let step_m = params.fault_m / f64::from(params.faults.max(1)).sqrt();
        let mut globe = Self { params, cuts, step_m, noise: seed.child("noise"), sea_m: 0.0 };
        // Places evenly over the globe, on a spiral.
        let mut depths: Vec<f64> = (0..SOUNDINGS)
            .into_par_iter()
            .map(|k| {
                let z = 1.0 - (2.0 * f64::from(k) + 1.0) / f64::from(SOUNDINGS);
                let angle = f64::from(k) * PI * (3.0 - 5f64.sqrt());
                let wide = (1.0 - z * z).sqrt();
                let p = [wide * math::cos(angle), wide * math::sin(angle), z];
                let side = |c: &Cut| c.normal[0] * p[0] + c.normal[1] * p[1] + c.normal[2] * p[2] >= c.off;
                let lift = globe.cuts.iter().map(|c| if side(c) { c.up } else { -c.up }).sum();
                globe.height(lift, p)
            })
            .collect();
        depths.sort_by(f64::total_cmp);
        let at = (params.sea_share * f64::from(SOUNDINGS - 1)) as usize;
        globe.sea_m = depths[at];
        globe
    }

    /// What all faults lift along a parallel, at longitudes in turns.
    fn lifts(&self, turns: &[f64], round: f64, up: f64) -> Vec<i32> {
        let mut steps = vec![0i32; turns.len() + 1];
        // Stretches on which longitudes rise.
        let mut runs = vec![0];
        runs.extend((1..turns.len()).filter(|&k| turns[k] < turns[k - 1]));
        runs.push(turns.len());
        let mut all = 0;
        for cut in &self.cuts {
            let (reach, need) = (cut.wide * round, cut.off - cut.normal[2] * up);
            if need <= -reach {
                all += cut.up;
                continue;
            }
            if need > reach {
                all -= cut.up;
                continue;
            }
            // Up between two longitudes: a circle is cut at most twice by a plane.
            let half = math::acos((need / reach).clamp(-1.0, 1.0)) / TAU;
            let wrap = |t: f64| t - t.floor();
            let (from, upto) = (wrap(cut.turn - half), wrap(cut.turn + half));
            all += if from <= upto { -cut.up } else { cut.up };
            for run in runs.windows(2) {
                let part = &turns[run[0]..run[1]];
                let first = |edge: f64| run[0] + part.partition_point(|t| *t < edge);
                // Past `from` it is up, past `upto` it is down again.
                steps[first(from)] += 2 * cut.up;
                steps[run[1]] -= 2 * cut.up;
                steps[first(upto)] -= 2 * cut.up;
                steps[run[1]] += 2 * cut.up;
            }
        }
        let mut sum = all;
        steps.truncate(turns.len());
        for s in &mut steps {
            sum += *s;
            *s = sum;
        }
        steps
    }

    fn height(&self, lift: i32, p: [f64; 3]) -> f64 {
        let (mut sum, mut weight, mut f) = (0.0, 1.0, self.params.frequency);
        let fall = math::exp2(-self.params.hurst);
        for octave in 0..self.params.octaves {
            let seed = Seed(self.noise.bits(u64::from(octave)));
            sum += weight * solid(seed, p.map(|c| c * f));
            weight *= fall;
            f *= 2.0;
        }
        self.step_m * f64::from(lift) + self.params.noise_m * sum - self.sea_m
    }
}

/// Gradient noise in space, about -1 to 1.
fn solid(seed: Seed, p: [f64; 3]) -> f64 {
    let cell = p.map(f64::floor);
    let t: [f64; 3] = std::array::from_fn(|k| p[k] - cell[k]);
    let fade = t.map(|t| t * t * t * (t * (t * 6.0 - 15.0) + 10.0));
    let mut sum = 0.0;
    for corner in 0..8u32 {
        let at: [f64; 3] = std::array::from_fn(|k| f64::from((corner >> k) & 1));
        let bits = Seed(seed.bits2((cell[0] + at[0]) as i64, (cell[1] + at[1]) as i64))
            .bits((cell[2] + at[2]) as i64 as u64);
        let mut weight = 1.0;
        let mut slope = 0.0;
        for k in 0..3 {
            let g = ((bits >> (21 * k)) & 0x1f_ffff) as f64 * (2.0 / 2_097_151.0) - 1.0;
            slope += g * (t[k] - at[k]);
            weight *= if at[k] == 0.0 { 1.0 - fade[k] } else { fade[k] };
        }
        sum += weight * slope;
    }
    1.5 * sum
}

#[cfg(test)]
mod tests {
    use super::*;
    use orogen_core::testkit::assert_close;

    fn map(params: &Planet, cols: usize, rows: usize) -> (Frame, Raster<f32>) {
        let frame = Frame::new([1234.5, -99.0], [36_000.0, 18_000.0], [cols, rows]).unwrap();
        let height = planet(params, &frame, &frame.extent(), &Ctx::new(Seed(77))).unwrap();
        (frame, height)
    }

    #[test]
    fn the_map_is_seamless_at_the_date_line_and_the_poles() {
        let (_, height) = map(&Planet::default(), 145, 73);
        for row in 0..73 {
            assert_eq!(height.row(row)[0].to_bits(), height.row(row)[144].to_bits(), "row {row}");
        }
        for row in [0, 72] {
            assert!(height.row(row).iter().all(|h| h.to_bits() == height.row(row)[0].to_bits()));
        }
    }

    #[test]
    fn land_goes_on_across_the_seam() {
        // Noise alone is continuous: the step over the seam is no larger than steps elsewhere.
        let params = Planet { faults: 0, octaves: 3, ..Planet::default() };
        let (_, height) = map(&params, 721, 361);
        let step = |row: &[f32], a: usize, b: usize| (row[a] - row[b]).abs();
        let row = height.row(180);
        let most = (1..720).map(|c| step(row, c, c - 1)).fold(0.0f32, f32::max);
        assert!(step(row, 719, 0) <= most && step(row, 1, 719) <= 2.0 * most);
    }

    #[test]
    fn faults_by_rows_are_faults_by_samples() {
        let params = Planet { faults: 200, noise_m: 0.0, ..Planet::default() };
        let globe = Globe::new(&params, Seed(77));
        let (_, height) = map(&params, 145, 73);
        let mut wrong = 0;
        for row in 0..73 {
            let [round, up] = parallel(1.0 - row as f64 / 72.0);
            for col in 0..144 {
                let angle = TAU * (col as f64 / 144.0 - 0.5);
                let p = [round * math::cos(angle), round * math::sin(angle), up];
                let lift: i32 = globe
                    .cuts
                    .iter()
                    .map(|c| {
                        let side = c.normal[0] * p[0] + c.normal[1] * p[1] + c.normal[2] * p[2] >= c.off;
                        if side { c.up } else { -c.up }
                    })
                    .sum();
                // A sample on a fault may fall to either side by rounding.
                wrong += usize::from((globe.height(lift, p) - f64::from(height.row(row)[col])).abs() > 0.1);
            }
        }
        assert!(wrong < 3, "{wrong} samples differ");
    }

    #[test]
    fn the_sea_covers_its_share_of_the_globe() {
        for sea_share in [0.3, 0.7] {
            let (_, height) = map(&Planet { sea_share, ..Planet::default() }, 289, 145);
            let (mut wet, mut all) = (0.0, 0.0);
            for row in 0..145 {
                let weight = parallel(row as f64 / 144.0)[0];
                wet += weight * height.row(row).iter().filter(|h| **h < 0.0).count() as f64;
                all += weight * 289.0;
            }
            assert_close!(wet / all, sea_share, abs = 0.03);
        }
    }

    #[test]
    fn great_circles_balance() {
        // Without noise the far side is the negative of the near one.
        let params = Planet { off_centre: 0.0, noise_m: 0.0, sea_share: 0.5, ..Planet::default() };
        let globe = Globe::new(&params, Seed(5));
        let turns: Vec<f64> = (0..64).map(|k| (f64::from(k) + 0.31) / 64.0).collect();
        let (a, b) = (globe.lifts(&turns, 0.8, 0.6), globe.lifts(&turns, 0.8, -0.6));
        for k in 0..64 {
            assert_eq!(a[k], -b[(k + 32) % 64]);
        }
    }
}
