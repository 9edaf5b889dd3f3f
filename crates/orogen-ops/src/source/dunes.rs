//! Dunes: crests across the wind that waver, begin and end.

use orogen_core::{Cancelled, Ctx, Frame, Layers, Op, OpError, Raster, Reach, Seed, Terrain, layer, math};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::noise::Noise;

/// Lays out sand dunes: a row of sharp crests across the wind, wavering by noise and gated by noise.
///
/// ```text
/// h = level + height · gate · (1 − |sin π·k(s/λ + w·φ)|)        s: metres along the wind
/// ```
///
/// The negative absolute sine has its sharp crests where the sine is 0. The phase noise φ bends them; the gate noise,
/// 0 to 1, lets dunes begin and end; and k makes the lee side the shorter, steeper one: it is `lee` of a dune long.
///
/// **Guarantees** (1) Heights lie between `level_m` and `level_m + height_m`. (2) Without wander and with full cover, crests are
/// exactly `spacing_m` apart along the wind. (3) A height depends on the seed and its place: tiles fit together.
///
/// **Limits** Sand is not simulated: crests may be steeper than sand rests; `erode` steps settle that. Dunes closer
/// together than two samples cannot be shown.
///
/// **After** Zaaijer, "GPU Based Generation and Real-Time Rendering of Semi-Procedural Terrain Using Features", section
/// 3.5, which offsets the phase of a sine by noise and multiplies by another noise. The leaning of the dunes is ours.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Dunes {
    /// Distance from crest to crest.
    #[schemars(range(min = 0.1, max = 1e5), extend("x-unit" = "m", "x-slider" = [50.0, 1000.0]))]
    pub spacing_m: f64,
    /// Height of a full dune.
    #[schemars(range(min = 0.0, max = 5000.0), extend("x-unit" = "m", "x-slider" = [5.0, 150.0]))]
    pub height_m: f64,
    /// Height of the ground between dunes.
    #[schemars(range(min = -20_000.0, max = 20_000.0), extend("x-unit" = "m", "x-slider" = [-100.0, 1000.0]))]
    pub level_m: f64,
    /// Direction that the wind blows to, clockwise from north.
    #[schemars(range(min = 0.0, max = 360.0), extend("x-unit" = "deg"))]
    pub wind_deg: f64,
    /// How far crests waver, in distances from crest to crest.
    #[schemars(range(min = 0.0, max = 10.0), extend("x-slider" = [0.0, 3.0]))]
    pub wander: f64,
    /// Length of the largest bends of a crest.
    #[schemars(range(min = 0.1, max = 1e6), extend("x-unit" = "m", "x-slider" = [200.0, 5000.0]))]
    pub bend_m: f64,
    /// Share of the land that dunes cover, about.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub cover: f64,
    /// Size of the fields in which dunes begin and end.
    #[schemars(range(min = 0.1, max = 1e6), extend("x-unit" = "m", "x-slider" = [200.0, 8000.0]))]
    pub field_m: f64,
    /// Length of the lee side as a share of a dune; 0.5 makes both sides alike.
    #[schemars(range(min = 0.05, max = 0.95), extend("x-slider" = [0.2, 0.5]))]
    pub lee: f64,
    /// Octaves of both noises: more make finer bends.
    #[schemars(range(min = 1, max = 12), extend("x-slider" = [1, 5]))]
    pub octaves: u32,
}

impl Default for Dunes {
    fn default() -> Self {
        Self {
            spacing_m: 300.0,
            height_m: 40.0,
            level_m: 20.0,
            wind_deg: 110.0,
            wander: 1.2,
            bend_m: 1500.0,
            cover: 0.75,
            field_m: 1400.0,
            lee: 0.3,
            octaves: 3,
        }
    }
}

impl Op for Dunes {
    const ID: &'static str = "source.dunes";
    const VERSION: u32 = 1;

    fn layers(&self) -> Layers {
        Layers::none().writing([layer::HEIGHT.name()])
    }

    fn reach(&self, _: &Frame) -> Reach {
        Reach::Point
    }

    fn endless(&self) -> bool {
        true
    }

    fn run(&self, mut terrain: Terrain, ctx: &Ctx<'_>) -> Result<Terrain, OpError> {
        let height = dunes(self, terrain.frame(), ctx)?;
        terrain.set(layer::HEIGHT, height);
        Ok(terrain)
    }
}

/// The algorithm alone: 4 bytes and one sine a sample.
///
/// # Errors
/// When cancelled.
pub fn dunes(params: &Dunes, frame: &Frame, ctx: &Ctx<'_>) -> Result<Raster<f32>, Cancelled> {
    let wind = params.wind_deg.to_radians();
    let way = [math::sin(wind) / params.spacing_m, math::cos(wind) / params.spacing_m];
    let counter = ctx.counter(frame.rows());
    let mut out = Raster::filled(frame.cols(), frame.rows(), 0.0f32);
    let closed = closed(params.cover);
    out.try_par_rows(|row, values| {
        let y = frame.y_m(row);
        let bends = octaves(params, ctx.seed().child("bends"), frame, y, params.bend_m);
        let gates = octaves(params, ctx.seed().child("gates"), frame, y, params.field_m);
        for (col, v) in values.iter_mut().enumerate() {
            let along = frame.x_m(col) * way[0] + y * way[1] + params.wander * f64::from(bends[col]);
            let gate = math::smoothstep(closed, closed + RISE, gates[col]);
            *v = (params.level_m + params.height_m * f64::from(gate) * crest(along, params.lee)) as f32;
        }
        counter.done()
    })?;
    Ok(out)
}

/// Noise over which a gate opens.
const RISE: f32 = 0.2;

/// Noise at which a gate begins to open. The noise is spread about like a logistic curve, and a gate is half open at
/// the share of it that is to be covered; the ends are a gate that never opens and one that never closes.
fn closed(cover: f64) -> f32 {
    (-0.2 * math::ln(cover / (1.0 - cover))) as f32 - 0.5 * RISE
}

/// Height of a dune, 0 to 1, by the place along the wind in dunes: crests at whole numbers.
fn crest(along: f64, lee: f64) -> f64 {
    let t = along - along.floor();
    let leaning = if t < lee { 0.5 * t / lee } else { 0.5 + 0.5 * (t - lee) / (1.0 - lee) };
    1.0 - math::sin(std::f64::consts::PI * leaning).abs()
}

/// Noise summed over octaves along a row, about -1 to 1.
fn octaves(params: &Dunes, seed: Seed, frame: &Frame, y: f64, size_m: f64) -> Vec<f32> {
    let mut sum = vec![0.0f32; frame.cols()];
    let (mut lines, mut line) = (Vec::new(), vec![0.0f32; frame.cols()]);
    let mut weight = 1.0f32;
    for octave in 0..params.octaves {
        let scale = math::exp2(f64::from(octave)) / size_m;
        let xs: Vec<f64> = (0..frame.cols()).map(|c| frame.x_m(c) * scale).collect();
        Noise::new(Seed(seed.bits(u64::from(octave)))).row(&xs, y * scale, &mut lines, &mut line);
        sum.iter_mut().zip(&line).for_each(|(s, v)| *s += weight * v);
        weight *= 0.4;
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    fn land(params: &Dunes, frame: &Frame) -> Raster<f32> {
        dunes(params, frame, &Ctx::new(Seed(6))).unwrap()
    }

    #[test]
    fn crests_are_as_far_apart_as_said() {
        let params = Dunes { wander: 0.0, cover: 1.0, wind_deg: 90.0, spacing_m: 200.0, ..Dunes::default() };
        let height = land(&params, &Frame::square(2000.0, 201).unwrap());
        let row = height.row(50);
        let crests: Vec<usize> = (1..200).filter(|&c| row[c] > row[c - 1] && row[c] >= row[c + 1]).collect();
        assert_eq!(crests, [20, 40, 60, 80, 100, 120, 140, 160, 180]);
        assert!((row[20] - 60.0).abs() < 1e-3);
        // The wind blows east: the lee, east of a crest, is the shorter side.
        let trough = (20..40).min_by(|&a, &b| row[a].total_cmp(&row[b])).unwrap();
        assert_eq!(trough, 26);
    }

    #[test]
    fn heights_stay_between_ground_and_crest() {
        let params = Dunes { wander: 3.0, ..Dunes::default() };
        let (low, high) = land(&params, &Frame::square(9000.0, 301).unwrap()).range().unwrap();
        assert!(low >= 20.0 && high <= 60.0 && high > 55.0, "{low} to {high}");
    }

    #[test]
    fn cover_is_the_share_of_land_where_gates_are_open() {
        let frame = Frame::square(60_000.0, 401).unwrap();
        let noise: Vec<f32> = (0..401)
            .flat_map(|r| octaves(&Dunes::default(), Seed(6), &frame, frame.y_m(r), 1400.0))
            .collect();
        for cover in [0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 1.0] {
            let half_open = closed(cover) + 0.5 * RISE;
            let open = noise.iter().filter(|n| **n > half_open).count() as f64 / noise.len() as f64;
            assert!((open - cover).abs() < 0.03, "{open} of the land for a cover of {cover}");
        }
    }

    #[test]
    fn full_cover_leaves_nothing_but_troughs_and_none_leaves_nothing() {
        let frame = Frame::square(40_000.0, 401).unwrap();
        let share = |cover: f64| {
            let height = land(&Dunes { cover, ..Dunes::default() }, &frame);
            height.as_slice().iter().filter(|h| **h > 20.5).count() as f64 / height.as_slice().len() as f64
        };
        assert_eq!(share(0.0), 0.0);
        // Half a metre of 40: 1 − |sin| is less than 1/80 on that share of a wave.
        let trough = 2.0 / std::f64::consts::PI * math::acos(1.0 - 0.5 / 40.0);
        assert!((share(1.0) - (1.0 - trough)).abs() < 0.004, "{} and {}", share(1.0), 1.0 - trough);
    }
}
