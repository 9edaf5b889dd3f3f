//! Feature curves: ridges, valleys, cliffs and roads drawn as lines, and land that follows them.

mod rasterise;
pub mod solve;
mod spline;
#[cfg(test)]
mod tests;

use orogen_core::param::{Fault, Segment};
use orogen_core::{
    Cancelled, Ctx, Footprint, Frame, Layers, Op, OpError, Prepared, Raster, Reach, Rect, Seed, Terrain,
    layer, math,
};
use rayon::prelude::*;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::brush::changed;
use crate::held_lines::{HOLD, Held, hold};
use crate::noise::Noise;
use rasterise::{Asked, Group, rasterise};
use spline::{Bounds, Line, join};

/// How much more a slope counts than smoothness does: `1 / (1 - beta)`.
const STIFF: f64 = 1000.0;
/// Points of all curves together.
const MOST_POINTS: usize = 100_000;
/// Octaves of the noise along curves.
const OCTAVES: usize = 6;
/// Parts of the work that are counted for each group of curves.
const PARTS: usize = 16;

/// What the land becomes where curves leave it free.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// The curves make a smooth change on a flat map, which is added to the land: its own relief stays.
    #[default]
    Relative,
    /// The land itself is smoothed inside the envelope: its own relief goes.
    Bounded,
}

/// A point that a curve passes through. What a point does not state is taken linearly from the nearest points that do.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ControlPoint {
    /// Easting.
    #[schemars(range(min = -1e9, max = 1e9), extend("x-unit" = "m"))]
    pub x_m: f64,
    /// Northing.
    #[schemars(range(min = -1e9, max = 1e9), extend("x-unit" = "m"))]
    pub y_m: f64,
    /// Elevation that is held; left out, the elevation is free.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = -2e4, max = 2e4), extend("x-unit" = "m", "x-slider" = [-500.0, 3000.0]))]
    pub z_m: Option<f64>,
    /// Width of the flat top (or floor) of the curve; 0 if no point states it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.0, max = 1e5), extend("x-unit" = "m", "x-slider" = [0.0, 500.0]))]
    pub plateau_m: Option<f64>,
    /// Length of the slope left of the curve, seen along it; 0 if no point states it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.0, max = 1e5), extend("x-unit" = "m", "x-slider" = [0.0, 1000.0]))]
    pub slope_left_m: Option<f64>,
    /// Angle of the left slope: above 0 falls away from the curve, below 0 rises; 30 if no point states it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = -85.0, max = 85.0), extend("x-unit" = "deg", "x-slider" = [-60.0, 60.0]))]
    pub slope_left_deg: Option<f64>,
    /// Length of the slope right of the curve; 0 if no point states it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.0, max = 1e5), extend("x-unit" = "m", "x-slider" = [0.0, 1000.0]))]
    pub slope_right_m: Option<f64>,
    /// Angle of the right slope: above 0 falls away from the curve, below 0 rises; 30 if no point states it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = -85.0, max = 85.0), extend("x-unit" = "deg", "x-slider" = [-60.0, 60.0]))]
    pub slope_right_deg: Option<f64>,
    /// How far beyond the left slope the land may change; 300 if no point states it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.0, max = 1e5), extend("x-unit" = "m", "x-slider" = [0.0, 2000.0]))]
    pub envelope_left_m: Option<f64>,
    /// How far beyond the right slope the land may change; 300 if no point states it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.0, max = 1e5), extend("x-unit" = "m", "x-slider" = [0.0, 2000.0]))]
    pub envelope_right_m: Option<f64>,
    /// Largest height of noise along the curve, off its held plateau; 0 if no point states it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.0, max = 5e3), extend("x-unit" = "m", "x-slider" = [0.0, 200.0]))]
    pub noise_m: Option<f64>,
    /// How rough the noise is: each octave is `2^(roughness - 1)` of the one before; 0.5 if no point states it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.0, max = 1.0))]
    pub roughness: Option<f64>,
}

/// A line that land follows.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Curve {
    /// The points that it passes through.
    #[schemars(length(min = 2, max = 10_000))]
    pub points: Vec<ControlPoint>,
    /// Whether it returns to its first point.
    #[serde(default)]
    pub closed: bool,
    /// Whether later steps, erosion above all, keep its elevations; marks it in the vector layer `hold`.
    #[serde(default)]
    pub hold: bool,
}

/// Makes land follow curves: elevations that are held, flat tops, slopes of a given angle, and a smooth change around.
///
/// Each cell asks for a mean of three things, which is solved for all of them at once:
///
/// ```text
/// H = alpha·E + beta·(neighbours + G) + gamma·(1 - alpha - beta)·(mean of the neighbours)
/// ```
///
/// with alpha = 1 on a held plateau (E its elevation), beta on slopes (G the asked rise from each neighbour, along the
/// normals that point away from the curve), gamma = 1 inside the envelope and 0 outside. Curves are cubic Hermite splines
/// with quadratic ends through their points; all other values are linear along them. They may be closed, cross each other
/// and run off the map. A `relative` change is solved on a flat map and added, a `bounded` one on the land itself.
///
/// **Guarantees** (1) a held plateau lies at its elevation to 1 cm; (2) slopes have their angle to 1°, and round the
/// ends of a curve one side passes smoothly into the other; they end at their length, between samples, whatever their
/// angle to the lattice; (3) land outside every envelope keeps its bits; (4) the order of the curves does not change a
/// bit; (5) no value is wrong by more than `tolerance` of the relief, as the last multigrid cycle finds, whatever the
/// number of samples; (6) away from held elevations and slopes the change has no peak or pit of its own; (7) a mirrored
/// drawing gives mirrored land, within the tolerance; (8) a window has the same bits as the whole.
///
/// **Limits** Where held elevations of two curves cross they meet half way; where curves bend more sharply than their
/// slopes are long, the slopes run into each other and their angle gives way. Noise is added last, and not on what is held. A hole
/// stays a hole, and nothing flows through it. Envelopes that overlap are solved together, on their bounding box: 75
/// bytes a cell of it, and a window that meets it needs all of it.
///
/// **After** Hnaidi, Guérin, Akkouche, Peytavie & Galin, "Feature based terrain generation using diffusion equation",
/// Computer Graphics Forum 29(7), 2010, with the envelope added in later student work on it. Both iterate a fixed number
/// of times, look at the neighbour towards the curve only, and weigh axes by squares of the normal; that bends slopes
/// to the axes and leaves curves of free elevation without an answer. Here a slope is asked of both neighbours on each
/// axis, a held line is a wall at its true place between cells, and the change eases out before the edge of the envelope.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Curves {
    /// The curves; their order does not matter.
    #[schemars(length(max = 2000))]
    pub curves: Vec<Curve>,
    /// What the land becomes where curves leave it free.
    pub mode: Mode,
    /// Outer share of the envelope over which the change eases out to nothing; 0 stops at the edge, with a crease.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub blend: f64,
    /// How firmly elevations are held: 1 exactly, less gives way to what lies around.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub stiffness: f64,
    /// Length of the longest waves of the noise along curves.
    #[schemars(range(min = 1.0, max = 1e5), extend("x-unit" = "m", "x-slider" = [50.0, 2000.0]))]
    pub wavelength_m: f64,
    /// Largest error of the solution, as a share of the relief around the curves.
    #[schemars(range(min = 1e-6, max = 1e-1))]
    pub tolerance: f64,
}

impl Default for Curves {
    fn default() -> Self {
        Self {
            curves: Vec::new(),
            mode: Mode::Relative,
            blend: 1.0,
            stiffness: 1.0,
            wavelength_m: 400.0,
            tolerance: 1e-4,
        }
    }
}

impl Op for Curves {
    const ID: &'static str = "shape.curves";
    const VERSION: u32 = 2;

    fn layers(&self) -> Layers {
        let layers = Layers::none().updating([layer::HEIGHT.name()]);
        if self.curves.iter().any(marks) {
            layers.writing_vectors([HOLD]).using_vectors([HOLD])
        } else {
            layers
        }
    }

    fn reach(&self, frame: &Frame) -> Reach {
        if self.curves.is_empty() {
            return Reach::Point;
        }
        let [dx, dy] = frame.spacing_m();
        let lines = self.lines();
        let sides = groups(&lines).into_iter().map(|group| {
            let [min, max] = bounds(&lines, &group);
            (max[0] - min[0]).max(max[1] - min[1])
        });
        Reach::Within(sides.fold(0.0, f64::max) + 4.0 * dx.max(dy))
    }

    fn faults(&self) -> Vec<Fault> {
        let mut faults = Vec::new();
        let total: usize = self.curves.iter().map(|curve| curve.points.len()).sum();
        if total > MOST_POINTS {
            faults.push(Fault::of(
                "curves",
                format!("expected at most {MOST_POINTS} points in all curves, found {total}"),
            ));
        }
        for (i, curve) in self.curves.iter().enumerate() {
            let at = |j: usize| {
                ["curves", "points"]
                    .into_iter()
                    .zip([i, j])
                    .flat_map(|(key, index)| [Segment::Key(key.to_owned()), Segment::Index(index)])
                    .collect()
            };
            let n = curve.points.len();
            if curve.closed && n < 3 {
                let path = vec![Segment::Key(String::from("curves")), Segment::Index(i)];
                let message = format!("a closed curve needs at least 3 points, found {n}");
                faults.push(Fault { path, message });
                continue;
            }
            let pairs = if curve.closed { n } else { n.saturating_sub(1) };
            let same = |j: &usize| {
                let (a, b) = (&curve.points[*j], &curve.points[(j + 1) % n]);
                math::hypot(b.x_m - a.x_m, b.y_m - a.y_m) < 1e-3
            };
            if let Some(j) = (0..pairs).find(same) {
                let message = if (j + 1) % n == 0 {
                    String::from("repeats the first point; a closed curve returns to it by itself")
                } else {
                    format!("is less than 1 mm away from point {}", j + 1)
                };
                faults.push(Fault { path: at(j), message });
            }
            if faults.len() > 20 {
                break;
            }
        }
        faults
    }

    fn footprint(&self, old: &Self, frame: &Frame) -> Footprint {
        if *self != (Self { curves: self.curves.clone(), ..old.clone() }) {
            return Footprint::Everything;
        }
        let edited = changed(&old.curves, &self.curves).into_iter().cloned().collect();
        let edited: Vec<Rect> = (Self { curves: edited, ..self.clone() }.lines().iter())
            .map(|line| rect(line.bounds, frame.spacing_m()))
            .collect();
        // Envelopes that overlap are solved together.
        let touched = |curves: &Self| {
            let lines = curves.lines();
            let parts =
                groups(&lines).into_iter().map(|group| rect(bounds(&lines, &group), frame.spacing_m()));
            let meets = |part: &Rect| edited.iter().any(|edited| part.intersection(edited).is_some());
            Footprint::of(parts.filter(meets))
        };
        touched(self).union(touched(old))
    }

    fn prepare(&self, _: &Frame, _: &Ctx<'_>) -> Result<Option<Box<dyn Prepared>>, OpError> {
        Ok(Some(Box::new(Drawn::new(self))))
    }

    fn run(&self, terrain: Terrain, ctx: &Ctx<'_>) -> Result<Terrain, OpError> {
        Drawn::new(self).run(terrain, ctx)
    }
}

/// The curves as lines, and which of them meet: no window changes that.
struct Drawn {
    params: Curves,
    lines: Vec<Line>,
    groups: Vec<Vec<usize>>,
    held: Vec<Held>,
}

impl Drawn {
    fn new(params: &Curves) -> Self {
        let lines = params.lines();
        Self { groups: groups(&lines), lines, held: params.held(), params: params.clone() }
    }
}

impl Prepared for Drawn {
    fn run(&self, mut terrain: Terrain, ctx: &Ctx<'_>) -> Result<Terrain, OpError> {
        let Self { params, lines, groups, held } = self;
        let frame = *terrain.frame();
        let world = ctx.world(&terrain).extent();
        let before = terrain.get(layer::HEIGHT)?;
        // All samples of the world on this lattice, of which the frame may be a window.
        let lattice = frame.resampled(&world, frame.spacing_m()).unwrap_or(frame);
        let jobs: Vec<(Vec<&Line>, Frame, [usize; 2])> = groups
            .iter()
            .filter_map(|group| {
                let part = lattice.clipped(&rect(bounds(lines, group), frame.spacing_m()))?;
                // A group that is not wholly here cannot touch what this window was cut for.
                let (col, row) = frame.offset_of(&part)?;
                let touches = params.wanted(&frame, &world, &part.extent());
                touches.then(|| (group.iter().map(|&i| &lines[i]).collect(), part, [col, row]))
            })
            .collect();
        let counter = ctx.counter(frame.rows() + PARTS * jobs.len());
        let mut height = Raster::filled(frame.cols(), frame.rows(), 0.0);
        height.try_par_rows(|row, out| {
            out.copy_from_slice(before.row(row));
            counter.done()
        })?;
        let solved: Vec<Solved> = jobs
            .into_par_iter()
            .map(|(lines, part, place)| {
                let land = before.crop(place[0], place[1], part.cols(), part.rows());
                params.solve(lines, part, place, &land, ctx.seed().child("noise"), &|| counter.done())
            })
            .collect::<Result<_, OpError>>()?;
        for group in &solved {
            group.place(&mut height);
        }
        if let Some(error) = solved.iter().filter_map(|group| group.missed).reduce(f32::max) {
            ctx.warn(format!(
                "the curves were solved to {error} m only; a tolerance of {} is beyond single precision",
                params.tolerance
            ));
        }
        terrain.set(layer::HEIGHT, height);
        hold(&mut terrain, held.clone());
        Ok(terrain)
    }
}

/// Whether a curve leaves a mark: it is to be held, and has an elevation somewhere.
fn marks(curve: &Curve) -> bool {
    curve.hold && curve.points.iter().any(|p| p.z_m.is_some())
}

impl Curves {
    /// The curves as lines, in an order that does not depend on that in the recipe.
    fn lines(&self) -> Vec<Line> {
        let key = |curve: &Curve| -> Vec<f64> {
            let point = |p: &ControlPoint| {
                [
                    Some(p.x_m),
                    Some(p.y_m),
                    p.z_m,
                    p.plateau_m,
                    p.slope_left_m,
                    p.slope_left_deg,
                    p.slope_right_m,
                    p.slope_right_deg,
                    p.envelope_left_m,
                    p.envelope_right_m,
                    p.noise_m,
                    p.roughness,
                ]
                .map(|value| value.unwrap_or(f64::NEG_INFINITY))
            };
            let flag = f64::from(u8::from(curve.closed));
            curve.points.iter().flat_map(point).chain([flag]).collect()
        };
        let mut keyed: Vec<(Vec<f64>, &Curve)> =
            self.curves.iter().map(|curve| (key(curve), curve)).collect();
        keyed.sort_by(|(a, _), (b, _)| {
            let differ = a.iter().zip(b).map(|(a, b)| a.total_cmp(b)).find(|order| order.is_ne());
            differ.unwrap_or_else(|| a.len().cmp(&b.len()))
        });
        keyed.into_iter().map(|(_, curve)| Line::new(curve)).collect()
    }

    /// Whether a part of a frame may lie in what the frame was cut for: it is that and the reach around it, unless the
    /// world ends there.
    fn wanted(&self, frame: &Frame, world: &Rect, part: &Rect) -> bool {
        let (extent, spacing_m) = (frame.extent(), frame.spacing_m());
        let Reach::Within(reach_m) = self.reach(frame) else { return true };
        (0..2).all(|axis| {
            let halo = reach_m - spacing_m[axis];
            let ends = |a: f64, b: f64| (a - b).abs() < 0.5 * spacing_m[axis];
            let low = if ends(extent.min[axis], world.min[axis]) { 0.0 } else { halo };
            let high = if ends(extent.max[axis], world.max[axis]) { 0.0 } else { halo };
            part.max[axis] >= extent.min[axis] + low && part.min[axis] <= extent.max[axis] - high
        })
    }

    /// What one group of curves changes on its own part of the world.
    fn solve(
        &self,
        lines: Vec<&Line>,
        part: Frame,
        place: [usize; 2],
        land: &Raster<f32>,
        seed: Seed,
        done: &dyn Fn() -> Result<(), Cancelled>,
    ) -> Result<Solved, OpError> {
        let noisy = lines.iter().any(|line| line.samples.iter().any(|s| s.values.noise > 0.0));
        let group = Group {
            lines,
            mode: self.mode,
            blend: self.blend,
            stiffness: self.stiffness,
            wavelength_m: noisy.then_some(self.wavelength_m),
        };
        let Asked { system, fixed, touched, noise, relief } = rasterise(&group, &part, land);
        let tolerance = self.tolerance as f32 * relief;
        let mut left = PARTS;
        let solution = solve::solve(system, tolerance, || {
            if left > 1 {
                left -= 1;
                done()?;
            }
            Ok(())
        })?;
        for _ in 0..left {
            done()?;
        }
        let mut change = solution.values;
        for (change, fixed) in change.iter_mut().zip(&fixed) {
            *change += fixed;
        }
        if noisy {
            roughen(&mut change, &noise, &part, self.wavelength_m, seed);
        }
        let missed = (solution.error > tolerance).then_some(solution.error);
        Ok(Solved { place, cols: part.cols(), change, touched, missed })
    }

    /// The marks of the held curves.
    fn held(&self) -> Vec<Held> {
        let mut marks_made = Vec::new();
        for curve in self.curves.iter().filter(|curve| marks(curve)) {
            let line = Line::new(curve);
            let radius_m = line.samples.iter().map(|s| s.values.plateau).fold(0.0, f64::max);
            // Stretches of the curve whose elevation is held wholly.
            for run in line.samples.split(|s| s.values.pin < 1.0).filter(|run| !run.is_empty()) {
                let points = run.iter().map(|s| [s.at[0], s.at[1], s.values.z]).collect();
                marks_made.push(Held { kind: String::from("curve"), points, radius_m });
            }
        }
        marks_made
    }
}

/// What a group of curves changes.
struct Solved {
    /// Column and row of its first cell.
    place: [usize; 2],
    cols: usize,
    /// What is added, in a grid with a border of one cell.
    change: Vec<f32>,
    touched: Vec<bool>,
    /// The error, where it is above the tolerance.
    missed: Option<f32>,
}

impl Solved {
    fn place(&self, height: &mut Raster<f32>) {
        let ([left, top], stride) = (self.place, self.cols + 2);
        let rows = self.change.len() / stride - 2;
        height.par_rows(|row, out| {
            if row < top || row >= top + rows {
                return;
            }
            let from = (row - top + 1) * stride + 1;
            let (change, touched) = (&self.change[from..][..self.cols], &self.touched[from..][..self.cols]);
            for ((out, change), touched) in out[left..][..self.cols].iter_mut().zip(change).zip(touched) {
                if *touched {
                    *out += change;
                }
            }
        });
    }
}

/// Adds noise of the given amplitudes and roughnesses.
fn roughen(change: &mut [f32], noise: &[[f32; 2]], part: &Frame, wavelength_m: f64, seed: Seed) {
    let (cols, rows) = (part.cols(), part.rows());
    let stride = cols + 2;
    let waves: Vec<(Noise, [f64; 2])> = (0..OCTAVES as u64)
        .map(|octave| {
            let own_seed = Seed(seed.bits(octave));
            (Noise::new(own_seed), [own_seed.unit(1), own_seed.unit(2)])
        })
        .collect();
    let inner = stride..stride * (rows + 1);
    change[inner.clone()]
        .par_chunks_mut(stride)
        .zip(noise[inner].par_chunks(stride))
        .enumerate()
        .for_each_init(
            || (Vec::new(), Vec::new(), vec![0.0; cols], vec![[0.0f32; 4]; cols]),
            |(xs, lines, wave, state), (row, (out, noise))| {
                let noise = &noise[1..=cols];
                if noise.iter().all(|[amplitude, _]| *amplitude <= 0.0) {
                    return;
                }
                // Sum, weight of the octave, sum of weights, gain.
                for (state, [_, roughness]) in state.iter_mut().zip(noise) {
                    *state = [0.0, 1.0, 0.0, math::f32::exp2(roughness - 1.0)];
                }
                for (octave, (basis, shift)) in waves.iter().enumerate() {
                    let per_m = (1u64 << octave) as f64 / wavelength_m;
                    xs.clear();
                    xs.extend((0..cols).map(|col| part.x_m(col) * per_m + shift[0]));
                    basis.row(xs, part.y_m(row) * per_m + shift[1], lines, wave);
                    for ([sum, weight, whole, gain], value) in state.iter_mut().zip(wave.iter()) {
                        *sum += *weight * value;
                        *whole += *weight;
                        *weight *= *gain;
                    }
                }
                for ((out, [sum, _, whole, _]), [amplitude, _]) in
                    out[1..=cols].iter_mut().zip(state).zip(noise)
                {
                    *out += amplitude * *sum / *whole;
                }
            },
        );
}

/// Curves whose envelopes overlap, directly or through others, by index.
fn groups(lines: &[Line]) -> Vec<Vec<usize>> {
    let mut group: Vec<usize> = (0..lines.len()).collect();
    for a in 0..lines.len() {
        for b in 0..a {
            if group[a] != group[b] && lines[a].meets(&lines[b]) {
                let (keep, gone) = (group[a].min(group[b]), group[a].max(group[b]));
                group.iter_mut().filter(|g| **g == gone).for_each(|g| *g = keep);
            }
        }
    }
    let mut groups: Vec<Vec<usize>> = vec![Vec::new(); lines.len()];
    for (line, group) in group.into_iter().enumerate() {
        groups[group].push(line);
    }
    groups.retain(|group| !group.is_empty());
    groups
}

fn bounds(lines: &[Line], group: &[usize]) -> Bounds {
    let start = lines[group[0]].bounds;
    group.iter().map(|&i| lines[i].bounds).fold(start, join)
}

/// Bounds with a sample to spare on each side, as links have two ends.
fn rect([min, max]: Bounds, [dx, dy]: [f64; 2]) -> Rect {
    Rect { min: [min[0] - 1.5 * dx, min[1] - 1.5 * dy], max: [max[0] + 1.5 * dx, max[1] + 1.5 * dy] }
}

/// The equations that curves set on a terrain, group by group, with the relief of each: for measuring solvers.
///
/// # Errors
/// When the terrain has no height.
pub fn equations(curves: &Curves, terrain: &Terrain) -> Result<Vec<(solve::System, f32)>, OpError> {
    let (frame, land) = (*terrain.frame(), terrain.get(layer::HEIGHT)?);
    let lines = curves.lines();
    let parts = groups(&lines).into_iter().filter_map(|group| {
        let part = frame.clipped(&rect(bounds(&lines, &group), frame.spacing_m()))?;
        let (col, row) = frame.offset_of(&part)?;
        let asked = Group {
            lines: group.iter().map(|&i| &lines[i]).collect(),
            mode: curves.mode,
            blend: curves.blend,
            stiffness: curves.stiffness,
            wavelength_m: None,
        };
        let asked = rasterise(&asked, &part, &land.crop(col, row, part.cols(), part.rows()));
        Some((asked.system, asked.relief))
    });
    Ok(parts.collect())
}
