//! Gullies: branching valleys down the slopes, without running any water.

use orogen_core::{Cancelled, Coef, Ctx, Frame, Layers, Op, OpError, Raster, Reach, Seed, Terrain, layer};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::blur::{self, Blur};
use crate::survey::gradient::{Gradient, LANES, Method};

/// Cuts branching gullies and ribs into slopes: the look of erosion at the cost of noise, anywhere in an endless world.
///
/// ```text
/// s_0     = slope of the land, softened over smooth_m
/// c_i     ∝ Σ w(v_k) cos φ_k,              φ_k = 2π v_k·n_i / l_i        n_i: across s_i, l_i: wavelength / 2^i
/// height += a_i (c_i − carve),             a_i = depth |s_i| l_i / 2π     v_k: from the k-th cell's middle
/// s_(i+1) = s_i + a_i ∇c_i
/// ```
///
/// In each cell of a jittered lattice waves run straight down the slope, so that their troughs are gullies; cells run
/// smoothly into each other, where gullies fork and meet. Each octave follows the slopes that the octaves before it
/// made, so small gullies join large ones at an angle, as they do in nature. `depth` is how steep a gully's walls are,
/// as a share of the slope it runs down.
///
/// **Guarantees** (1) level ground stays as it is, to the bit; (2) with `carve = 1` no ground is raised; (3) a depth of 0
/// changes nothing; (4) gullies run down the slope: on a plane the land varies across the slope more than along it.
///
/// **Limits** No water is followed: gullies may end on a slope, and what flows down them is not gathered. Octaves finer
/// than two cells are left out. A hole stays a hole.
///
/// **After** the idea of slope-aligned waves in cells, as in procedural phasor noise (Tricard et al., SIGGRAPH 2019)
/// and the erosion filters that shader writers made of it. We differ in that amplitudes are metres that follow from the
/// slope.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Gullies {
    /// Distance between the largest gullies.
    #[schemars(range(min = 1.0, max = 1e6), extend("x-unit" = "m", "x-slider" = [50.0, 5000.0]))]
    pub wavelength_m: f64,
    /// How many times gullies branch into ones half as wide.
    #[schemars(range(min = 1, max = 12))]
    pub octaves: u32,
    /// Steepness of a gully's walls as a share of the slope it runs down, from 0 to 3: a number, or a layer.
    #[schemars(extend("minimum" = 0.0, "maximum" = 3.0))]
    pub depth: Coef,
    /// How much weaker each octave is than the one before, walls compared with walls; 1 is as steep.
    #[schemars(range(min = 0.1, max = 1.5))]
    pub gain: f64,
    /// Where the level of the old land lies: 1 at the ribs, so that gullies only cut; 0 halfway.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub carve: f64,
    /// How far land is softened to find the slopes that the largest gullies follow.
    #[schemars(range(min = 0.0, max = 1e5), extend("x-unit" = "m", "x-slider" = [0.0, 2000.0]))]
    pub smooth_m: f64,
}

impl Default for Gullies {
    fn default() -> Self {
        Self {
            wavelength_m: 600.0,
            octaves: 5,
            depth: Coef::Const(0.8),
            gain: 0.7,
            carve: 0.5,
            smooth_m: 300.0,
        }
    }
}

impl Gullies {
    fn softening(&self) -> Blur {
        Blur { radius_m: self.smooth_m, ..Blur::default() }
    }
}

impl Op for Gullies {
    const ID: &'static str = "shape.gullies";
    const VERSION: u32 = 2;

    fn layers(&self) -> Layers {
        Layers::none().updating([layer::HEIGHT.name()]).reading(self.depth.layer())
    }

    fn reach(&self, frame: &Frame) -> Reach {
        let [dx, dy] = frame.spacing_m();
        match self.softening().reach(frame) {
            Reach::Within(far) => Reach::Within(far + dx.max(dy)),
            other => other,
        }
    }

    fn bytes_a_sample(&self, _: &Frame) -> f64 {
        8.0
    }

    fn run(&self, mut terrain: Terrain, ctx: &Ctx<'_>) -> Result<Terrain, OpError> {
        let depth = self.depth.on(&terrain)?;
        let frame = *terrain.frame();
        let world = ctx.world(&terrain);
        let depth = |col: usize, row: usize| depth.at(col, row);
        let height = gullies(terrain.get(layer::HEIGHT)?, &frame, &world, self, &depth, ctx)?;
        terrain.set(layer::HEIGHT, height);
        Ok(terrain)
    }
}

/// The algorithm alone; over a world that loops the cells of its lattice do too.
///
/// # Errors
/// When cancelled.
pub fn gullies(
    height: &Raster<f32>,
    frame: &Frame,
    world: &Frame,
    params: &Gullies,
    depth: &(dyn Fn(usize, usize) -> f32 + Sync),
    ctx: &Ctx<'_>,
) -> Result<Raster<f32>, Cancelled> {
    let spacing_m = frame.spacing_m();
    let soft = blur::blur(height, spacing_m, &params.softening(), ctx)?;
    let gradient = Gradient::new(&soft, spacing_m, Method::Horn);
    let octaves = octaves(params, spacing_m, world, ctx.seed());
    let counter = ctx.counter(frame.rows());
    let mut out = height.clone();
    out.try_par_rows(|row, heights| {
        let y = frame.y_m(row);
        for (part, heights) in heights.chunks_mut(LANES).enumerate() {
            let start = part * LANES;
            let (east, north) = gradient.part(row, start);
            for (i, height) in heights.iter_mut().enumerate() {
                let depth = depth(start + i, row);
                let slope = [east[i], north[i]];
                // Holes of either layer fail the comparison: nothing changes there.
                if depth > 0.0 && slope[0] * slope[0] + slope[1] * slope[1] > 0.0 {
                    let place = [frame.x_m(start + i), y];
                    *height += carved(place, slope, depth.min(3.0), params.carve as f32, &octaves);
                }
            }
        }
        counter.done()
    })?;
    Ok(out)
}

/// One octave of gullies.
struct Octave {
    seed: Seed,
    wavelength: f64,
    /// Width and height of its cells, and how many of them the world has, if that loops.
    cell_m: [f64; 2],
    cells: Option<[i64; 2]>,
    /// Steepness of the walls, as a share of the first octave's.
    gain: f32,
}

fn octaves(params: &Gullies, spacing_m: [f64; 2], world: &Frame, seed: Seed) -> Vec<Octave> {
    let finest = 2.0 * spacing_m[0].max(spacing_m[1]);
    let mut gain = 1.0;
    (0..params.octaves)
        .map(|i| {
            let wavelength = params.wavelength_m / f64::from(1u32 << i);
            let size_m = world.size_m();
            let cells = world.loops().then(|| size_m.map(|size| (size / wavelength).round().max(1.0) as i64));
            let cell_m = |axis: usize| cells.map_or(wavelength, |cells| size_m[axis] / cells[axis] as f64);
            let octave = Octave {
                seed: seed.child(&format!("octave {i}")),
                wavelength,
                cell_m: [cell_m(0), cell_m(1)],
                cells,
                gain: gain as f32,
            };
            gain *= params.gain;
            octave
        })
        .filter(|octave| octave.wavelength >= finest)
        .collect()
}

/// How much higher the land becomes at a place with a slope.
fn carved(place: [f64; 2], mut slope: [f32; 2], depth: f32, carve: f32, octaves: &[Octave]) -> f32 {
    let mut change = 0.0;
    for octave in octaves {
        let steep = (slope[0] * slope[0] + slope[1] * slope[1]).sqrt();
        if steep <= 0.0 {
            break;
        }
        let across = [-slope[1] / steep, slope[0] / steep];
        let (cos, sin) = waves(place, across, octave);
        let walls = depth * octave.gain * steep;
        change += walls * (octave.wavelength as f32 / TURN) * (cos - carve);
        slope = [slope[0] - walls * sin * across[0], slope[1] - walls * sin * across[1]];
    }
    change
}

/// Furthest from a cell's middle, in cells, that its waves are seen: no cell outside 3 × 3 comes nearer than this.
const SEEN: f32 = 1.15;
/// How far the middles of cells are moved, in cells.
const JITTER: f32 = 0.35;

/// Length of blended waves from which they are raised to full height.
const CLEAR: f32 = 0.4;

/// Cosine and sine of the waves at a place, blended over the cells around.
fn waves(place: [f64; 2], across: [f32; 2], octave: &Octave) -> (f32, f32) {
    let cell = [0, 1].map(|k| (place[k] / octave.cell_m[k]).floor());
    let inside = [0, 1].map(|k| (place[k] / octave.cell_m[k] - cell[k]) as f32);
    let (mut cos, mut sin, mut weight) = (0.0, 0.0, 0.0);
    for j in -1..=1i64 {
        for i in -1..=1i64 {
            let at = [cell[0] as i64 + i, cell[1] as i64 + j];
            let [x, y] = octave.cells.map_or(at, |n| [at[0].rem_euclid(n[0]), at[1].rem_euclid(n[1])]);
            let bits = octave.seed.bits2(x, y);
            let jitter = |bits: u64| (bits as u32 as f32 * (2.0 / 4_294_967_296.0) - 1.0) * JITTER;
            let v = [
                inside[0] - (i as f32 + 0.5 + jitter(bits)),
                inside[1] - (j as f32 + 0.5 + jitter(bits >> 32)),
            ];
            let near = 1.0 - (v[0] * v[0] + v[1] * v[1]) / (SEEN * SEEN);
            if near <= 0.0 {
                continue;
            }
            let w = near * near * near;
            let (c, s) = turn(v[0] * across[0] + v[1] * across[1]);
            cos += w * c;
            sin += w * s;
            weight += w;
        }
    }
    if weight <= 0.0 {
        return (0.0, 0.0);
    }
    // Where cells disagree their waves cancel; what is left is raised again, so that gullies fork rather than fade.
    let clear = (cos * cos + sin * sin).sqrt() / weight;
    let lift = 1.0 / (weight * clear.max(CLEAR));
    (cos * lift, sin * lift)
}

/// A full turn, in radians.
const TURN: f32 = std::f32::consts::TAU;

/// Cosine and sine of an angle in turns, to 1e-4: waves of land need no more, and this is plain arithmetic.
fn turn(turns: f32) -> (f32, f32) {
    // A quarter less of a turn is the sine; both are an odd polynomial within half a turn.
    let wave = |t: f32| {
        let x = t - (t + 0.5).floor();
        // Folded into a quarter turn either side, where five terms are enough.
        let x = if x > 0.25 {
            0.5 - x
        } else if x < -0.25 {
            -0.5 - x
        } else {
            x
        };
        let z = x * x;
        x * (TURN + z * (-41.341_7 + z * (81.605_2 + z * (-76.705_9 + z * 42.0))))
    };
    (wave(turns + 0.25), wave(turns))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_support;
    use orogen_core::testkit::ramp;

    fn apply(op: &Gullies, height: Raster<f32>) -> Raster<f32> {
        let mut terrain = Terrain::new(Frame::square(2560.0, height.cols()).unwrap());
        terrain.set(layer::HEIGHT, height);
        op.apply(terrain, &Ctx::silent()).unwrap().get(layer::HEIGHT).unwrap().clone()
    }

    #[test]
    fn level_ground_and_no_depth_stay_to_the_bit() {
        let level = Raster::filled(65, 65, 120.0);
        assert_eq!(apply(&Gullies::default(), level.clone()), level);
        let none = Gullies { depth: Coef::Const(0.0), ..Gullies::default() };
        assert_eq!(apply(&none, ramp(65, 40.0, 0.5)), ramp(65, 40.0, 0.5));
    }

    #[test]
    fn full_carving_raises_nothing() {
        let (before, op) = (ramp(129, 20.0, 0.6), Gullies { carve: 1.0, ..Gullies::default() });
        let after = apply(&op, before.clone());
        let pairs = || before.as_slice().iter().zip(after.as_slice());
        assert!(pairs().all(|(b, a)| a <= b));
        assert!(pairs().any(|(b, a)| b - a > 10.0));
    }

    #[test]
    fn gullies_run_down_the_slope() {
        // The ramp rises to the east, so gullies run along x, and the land varies along y.
        let (before, op) = (ramp(257, 10.0, 0.5), Gullies { octaves: 1, ..Gullies::default() });
        let after = apply(&op, before.clone());
        let change = |col: usize, row: usize| f64::from(after.row(row)[col] - before.row(row)[col]);
        let (mut along, mut across) = (0.0, 0.0);
        for row in 20..236 {
            for col in 20..236 {
                along += (change(col + 1, row) - change(col, row)).abs();
                across += (change(col, row + 1) - change(col, row)).abs();
            }
        }
        assert!(across > 2.0 * along, "{across} across, {along} along");
    }

    #[test]
    fn walls_are_as_steep_as_asked() {
        let grade = 0.5f64;
        let op = Gullies { octaves: 1, depth: Coef::Const(1.0), ..Gullies::default() };
        let after = apply(&op, ramp(513, 5.0, grade as f32));
        let steepest = (20..492)
            .flat_map(|row| (20..492).map(move |col| (col, row)))
            .map(|(col, row)| f64::from((after.row(row + 1)[col] - after.row(row)[col]).abs()) / 5.0)
            .fold(0.0, f64::max);
        // Waves that were raised where cells disagree are a little steeper.
        assert!((0.9 * grade..2.5 * grade).contains(&steepest), "{steepest}");
    }

    #[test]
    fn waves_are_true() {
        for i in -2000..2000 {
            let t = i as f32 / 777.0;
            let (cos, sin) = turn(t);
            let angle = std::f64::consts::TAU * f64::from(t);
            assert!((f64::from(cos) - orogen_core::math::cos(angle)).abs() < 1e-4, "{t}: {cos}");
            assert!((f64::from(sin) - orogen_core::math::sin(angle)).abs() < 1e-4, "{t}: {sin}");
        }
    }

    #[test]
    fn windows_equal_the_whole() {
        test_support::assert_windows(&Gullies::default());
    }
}
