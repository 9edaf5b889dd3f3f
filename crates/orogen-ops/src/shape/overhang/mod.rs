//! Overhangs: a vector height field in which steep slopes lean over.

use orogen_core::math::{self, smoothstep};
use orogen_core::param::Fault;
use orogen_core::{Cancelled, Coef, Ctx, Frame, Layers, Op, OpError, Raster, Reach, Terrain, layer};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::blur::{self, Blur};
use crate::octaves::{OctaveBuffers, Octaves};
use crate::survey::gradient::{self, Method};
use crate::survey::slope::degrees;

#[cfg(test)]
mod tests;

/// Makes cliffs lean over: a vector height field that moves steep ground sideways as well as down.
///
/// Height stays. Three layers say how far each sample is moved to the east, north and up: `displace.x`, `displace.y`
/// and `displace.z`, in metres. The exports `exr` and `mesh` use them; any step that sets `height` afterwards drops
/// them.
///
/// ```text
/// (x, y, h)  ─▶  (x, y, P) + n·(−d·sin φ, cos φ)         n = h − P: height over the pivot P
///
/// P = B + (2·undercut − 1)·E      B: the mean of h within radius_m, E: twice the mean of |h − B|
/// d = ∇B / √(|∇B|² + 0.2²)        uphill; −d points to where the cliff leans
/// tan φ = strength · mean of (least limit · steepest band · noise) within radius_m
/// limit = min(tan lean_deg, lean_m / N, 0.8 / (N·(δ + 1.06/radius_m) + |2·undercut − 1|·|∇E|))
/// ```
///
/// What stands above the pivot swings outwards and down like a wall that tilts, what lies below it swings inwards. `N` is
/// the largest |n| that the heights within `lean_m` can have, δ how fast the directions of neighbouring places close in on
/// each other where they lean to (the compressing eigenvalue of ∇d): into a hollow, but not out from a spur. A wall that was vertical leans by φ beyond the vertical; any
/// slope leans over that rises by more than `1 / tan φ` a metre beyond the slope of B. Limit and band are taken from all
/// ground within `radius_m` before the mean, so that φ is whole on the cliff itself and changes slowly around it.
///
/// **Guarantees** (1) nothing moves sideways further than `lean_m`; (2) what moves does not cross itself: of the part
/// of space at one height, no two places come closer than 0.2 times their distance, along the line between them. The
/// shift at a height z is `U = −(z − P)·tan φ·d`; where it compresses, it does so by at most
/// `N·(|∇(tan φ)| + tan φ·δ) + tan φ·|∇(P − B)|`, which the limit keeps under 0.8, and the rest, `tan φ·d⊗∇B`, only stretches; (3) with a
/// strength of 0, and on ground gentler than `from_deg` all around, all three layers are 0; (4) a wall keeps its
/// length: the offset from the pivot is turned, not stretched.
///
/// **Limits** Guarantee 2 is about the land as a smooth surface, whose gradients are measured between samples; a mesh of
/// triangles follows it to within the bend inside a cell, and the tests hold the meshes of cliffs, terraces and rough
/// mountains to it triangle by triangle. A mask on the step scales the layers afterwards, which that guarantee does not
/// cover: give the mask to `strength` instead. Land in a cave's roof that does not hang on a cliff, arches and caves are
/// beyond any displacement of one surface. Nothing within `radius_m` of a hole leans. Slope belongs to a resolution: where
/// features are as small as a cell, a coarser preview sees gentler slopes and leans less.
///
/// **After** the vector height field of Halo Wars (a vector for each vertex instead of a height); Gamito & Musgrave,
/// "Procedural landscapes with overhangs", 2001, who warp space along a flow that cannot fold. Theirs is integrated along
/// paths; ours is one shear whose limit is known beforehand.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Overhang {
    /// How far beyond the vertical a vertical wall leans, at most.
    #[schemars(range(min = 0.0, max = 75.0), extend("x-unit" = "deg", "x-slider" = [0.0, 60.0]))]
    pub lean_deg: f64,
    /// Furthest that anything moves sideways.
    #[schemars(range(min = 0.0, max = 1e4), extend("x-unit" = "m", "x-slider" = [0.0, 200.0]))]
    pub lean_m: f64,
    /// Slope below which nothing leans.
    #[schemars(range(min = 0.0, max = 90.0), extend("x-unit" = "deg"))]
    pub from_deg: f64,
    /// Slope from which ground leans fully.
    #[schemars(range(min = 0.0, max = 90.0), extend("x-unit" = "deg"))]
    pub full_deg: f64,
    /// Size of the cliffs: the distance over which the mean separates top from foot, and over which the lean fades.
    #[schemars(range(min = 1e-1, max = 1e4), extend("x-unit" = "m", "x-slider" = [20.0, 500.0]))]
    pub radius_m: f64,
    /// What of a cliff moves: at 0 the foot stays and the top leans out, at 1 the top stays and the foot is undercut.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub undercut: f64,
    /// Share of the lean, from 0 to 1: a number, or a layer.
    #[schemars(extend("minimum" = 0.0, "maximum" = 1.0))]
    pub strength: Coef,
    /// How much of the lean noise takes away in places, from 0 (nowhere) to 1 (here and there all of it).
    #[schemars(range(min = 0.0, max = 1.0))]
    pub variety: f64,
    /// Length of the waves of that noise.
    #[schemars(range(min = 1.0, max = 1e7), extend("x-unit" = "m", "x-slider" = [50.0, 2000.0]))]
    pub wavelength_m: f64,
}

impl Default for Overhang {
    fn default() -> Self {
        Self {
            lean_deg: 50.0,
            lean_m: 40.0,
            from_deg: 45.0,
            full_deg: 60.0,
            radius_m: 150.0,
            undercut: 0.5,
            strength: Coef::Const(1.0),
            variety: 0.4,
            wavelength_m: 400.0,
        }
    }
}

impl Op for Overhang {
    const ID: &'static str = "shape.overhang";
    const VERSION: u32 = 2;
    const PREVIEW_RMSE: f64 = 0.08;

    fn layers(&self) -> Layers {
        Layers::none().reading([layer::HEIGHT.name()]).reading(self.strength.layer()).deriving(
            [layer::DISPLACE_X.name(), layer::DISPLACE_Y.name(), layer::DISPLACE_Z.name()],
            [layer::HEIGHT.name()],
        )
    }

    fn reach(&self, frame: &Frame) -> Reach {
        let [dx, dy] = frame.spacing_m();
        // Two means for the pivot, its extremes within the lean, then the extremes and the mean of the limit; each may
        // round up to whole cells, and gradients look one cell further.
        Reach::Within(4.0 * self.radius_m + self.lean_m + 8.0 * dx.max(dy))
    }

    fn bytes_a_sample(&self, _: &Frame) -> f64 {
        68.0
    }

    fn faults(&self) -> Vec<Fault> {
        if self.from_deg <= self.full_deg {
            return Vec::new();
        }
        let message = format!("{} is above full_deg ({})", self.from_deg, self.full_deg);
        vec![Fault::of("from_deg", message)]
    }

    fn run(&self, mut terrain: Terrain, ctx: &Ctx<'_>) -> Result<Terrain, OpError> {
        let [x, y, z] = displacement(&terrain, self, ctx)?;
        terrain.set(layer::DISPLACE_X, x);
        terrain.set(layer::DISPLACE_Y, y);
        terrain.set(layer::DISPLACE_Z, z);
        Ok(terrain)
    }
}

/// How much places of one height may come closer to each other, as a share of their distance.
const CLOSER: f32 = 0.8;
/// Slope under which the mean surface counts as gentle: the gentler it is, the less of a direction it gives.
const LEVEL: f32 = 0.2;

/// How far each sample is moved to the east, north and up.
fn displacement(terrain: &Terrain, params: &Overhang, ctx: &Ctx<'_>) -> Result<[Raster<f32>; 3], OpError> {
    let height = terrain.get(layer::HEIGHT)?;
    let spacing_m = terrain.frame().spacing_m();
    let (cols, rows) = (height.cols(), height.rows());
    let mean = |values: &Raster<f32>| {
        blur::blur(values, spacing_m, &Blur { radius_m: params.radius_m, ..Blur::default() }, ctx)
    };
    let measure = |values: &Raster<f32>, f: &(dyn Fn(f32, f32) -> f32 + Sync)| {
        gradient::measure(values, spacing_m, Method::ZevenbergenThorne, ctx, f)
    };

    // The pivot, and which way is uphill on its surface.
    let base = mean(height)?;
    let uphill = |p: f32, q: f32| 1.0 / (p * p + q * q + LEVEL * LEVEL).sqrt();
    let east = measure(&base, &|p, q| p * uphill(p, q))?;
    let north = measure(&base, &|p, q| q * uphill(p, q))?;
    let shifted = (2.0 * params.undercut - 1.0) as f32;
    let (pivot, tilt) = if shifted == 0.0 {
        (base, Raster::filled(cols, rows, 0.0))
    } else {
        let mut off = base.clone();
        off.par_rows(|row, out| {
            for (value, h) in out.iter_mut().zip(height.row(row)) {
                *value = 2.0 * shifted * (*h - *value).abs();
            }
        });
        let mut off = mean(&off)?;
        let tilt = measure(&off, &|p, q| (p * p + q * q).sqrt())?;
        off.par_rows(|row, out| {
            out.iter_mut().zip(base.row(row)).for_each(|(value, base)| *value += base);
        });
        (off, tilt)
    };

    let lean = lean(terrain, params, ctx, &pivot, &tilt, [&east, &north])?;

    // Turn what stands above the pivot. A hole moves nowhere.
    let (mut x, mut y, mut z) = (east, north, pivot);
    for way in [&mut x, &mut y] {
        way.par_rows(|row, out| {
            for (col, value) in out.iter_mut().enumerate() {
                let tan = lean.row(row)[col];
                let sin = tan / (1.0 + tan * tan).sqrt();
                let aside = (z.row(row)[col] - height.row(row)[col]) * sin * *value;
                *value = if aside.is_nan() { 0.0 } else { aside };
            }
        });
    }
    z.par_rows(|row, out| {
        for (col, value) in out.iter_mut().enumerate() {
            let tan = lean.row(row)[col];
            let cos = 1.0 / (1.0 + tan * tan).sqrt();
            let down = (height.row(row)[col] - *value) * (cos - 1.0);
            *value = if down.is_nan() { 0.0 } else { down };
        }
    });
    Ok([x, y, z])
}

/// Tangent of the angle by which ground leans, everywhere.
fn lean(
    terrain: &Terrain,
    params: &Overhang,
    ctx: &Ctx<'_>,
    pivot: &Raster<f32>,
    tilt: &Raster<f32>,
    uphill: [&Raster<f32>; 2],
) -> Result<Raster<f32>, OpError> {
    let (frame, height) = (*terrain.frame(), terrain.get(layer::HEIGHT)?);
    let spacing_m = frame.spacing_m();
    let around = spacing_m.map(|spacing| (params.radius_m / spacing) as usize);
    let within = spacing_m.map(|spacing| (params.lean_m / spacing).ceil() as usize);

    // The largest height over or depth under the pivot that ground so near can have.
    let (mut limit, mut low) = (height.clone(), height.clone());
    limit.par_rows(|row, out| merge(out, pivot.row(row), f32::max));
    low.par_rows(|row, out| merge(out, pivot.row(row), f32::min));
    let (mut limit, low) = (extreme(&limit, within, f32::max, ctx)?, extreme(&low, within, f32::min, ctx)?);

    // How fast places draw together, or apart, that move uphill.
    let part = |way: usize, f: fn(f32, f32) -> f32| {
        gradient::measure(uphill[way], spacing_m, Method::ZevenbergenThorne, ctx, f)
    };
    let (xx, xy) = (part(0, |p, _| p)?, part(0, |_, q| q)?);
    let (yx, yy) = (part(1, |p, _| p)?, part(1, |_, q| q)?);
    let most = math::tan(params.lean_deg.to_radians()) as f32;
    let (lean_m, fade) = (params.lean_m as f32, (1.06 / params.radius_m) as f32);
    limit.par_rows(|row, out| {
        for (col, value) in out.iter_mut().enumerate() {
            let at = |raster: &Raster<f32>| raster.row(row)[col];
            let (over, under) = (*value - at(pivot), at(pivot) - at(&low));
            let (middle, half) = (0.5 * (at(&xx) + at(&yy)), 0.5 * (at(&xx) - at(&yy)));
            let cross = 0.5 * (at(&xy) + at(&yx));
            let spread = (half * half + cross * cross).sqrt();
            let (apart, together) = ((middle + spread).max(0.0), (spread - middle).max(0.0));
            // What stands over the pivot moves downhill, where what goes apart uphill comes together.
            let closing = (over * (apart + fade)).max(under * (together + fade)) + at(tilt);
            let limit = most.min(lean_m / over.max(under)).min(CLOSER / closing);
            // Beside a hole something is not known. A level pivot with nothing around has no limit but the first.
            let known = (over + under + spread + middle + closing + at(height)).is_finite();
            *value = if known { limit } else { 0.0 };
        }
    });
    let limit = extreme(&limit, around, f32::min, ctx)?;

    let (from, full) = (params.from_deg as f32, params.full_deg as f32);
    let mut steep = gradient::measure(height, spacing_m, Method::Horn, ctx, |p, q| {
        smoothstep(from, full, degrees(p, q))
    })?;
    steep.par_rows(|_, out| out.iter_mut().for_each(|value| *value = value.max(0.0)));
    let mut raw = extreme(&steep, around, f32::max, ctx)?;
    let strength = params.strength.on(terrain)?;
    let octaves =
        Octaves::over(&ctx.world(terrain), ctx.seed().child("variety"), params.wavelength_m, 2, 0.5);
    let variety = params.variety as f32;
    let counter = ctx.counter(frame.rows());
    raw.try_par_rows(|row, out| {
        let (mut buffers, mut noise) = (OctaveBuffers::default(), vec![0.0; out.len()]);
        octaves.row(&frame, row, 0..out.len(), &mut buffers, &mut noise);
        for (col, value) in out.iter_mut().enumerate() {
            let strength = strength.at(col, row);
            let share = if strength.is_nan() { 0.0 } else { strength.clamp(0.0, 1.0) };
            let varied = 1.0 - variety * smoothstep(-0.35, 0.35, noise[col]);
            *value *= share * varied * limit.row(row)[col];
        }
        counter.done()
    })?;
    let x = bump(params.radius_m, spacing_m[0], raw.cols());
    let y = bump(params.radius_m, spacing_m[1], raw.rows());
    Ok(blur::convolve(&raw, &x, &y, ctx)?)
}

/// Weights `1 − (d/r)²` of the samples within a radius: of all kernels with a peak so low, one without corners. The mean
/// of values from 0 to c changes along an axis by at most `0.75·c/r` a metre, so by `1.06·c/r` in any direction.
fn bump(radius_m: f64, spacing: f64, count: usize) -> Vec<f32> {
    blur::folded((radius_m / spacing) as i64, count, |i| {
        let d = i * spacing / radius_m;
        // Without neighbours inside, the sample itself.
        if i == 0.0 { 1.0 } else { (1.0 - d * d).max(0.0) }
    })
}

/// The least or largest value within so many columns and rows; what lies outside the grid does not count, nor do holes.
fn extreme(
    values: &Raster<f32>,
    within: [usize; 2],
    pick: impl Fn(f32, f32) -> f32 + Copy + Sync,
    ctx: &Ctx<'_>,
) -> Result<Raster<f32>, Cancelled> {
    let (cols, rows) = (values.cols(), values.rows());
    let counter = ctx.counter(2 * rows);
    let mut across = values.clone();
    across.try_par_rows(|row, out| {
        let line = values.row(row);
        for by in 1..=within[0].min(cols - 1) {
            merge(&mut out[by..], &line[..cols - by], pick);
            merge(&mut out[..cols - by], &line[by..], pick);
        }
        counter.done()
    })?;
    let mut both = across.clone();
    both.try_par_rows(|row, out| {
        for source in row.saturating_sub(within[1])..=(row + within[1]).min(rows - 1) {
            merge(out, across.row(source), pick);
        }
        counter.done()
    })?;
    Ok(both)
}

#[inline]
fn merge(into: &mut [f32], from: &[f32], pick: impl Fn(f32, f32) -> f32) {
    into.iter_mut().zip(from).for_each(|(into, from)| *into = pick(*into, *from));
}
