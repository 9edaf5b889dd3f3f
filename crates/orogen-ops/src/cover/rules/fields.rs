//! The parameters of the land that rules measure, each worked out once for a terrain.

use orogen_core::{Cancelled, Ctx, Frame, LayerData, OpError, Raster, Terrain, Weight, layer, math};

use super::needs::measured_m;
use super::quantity::Quantity;
use super::rivers;
use crate::mask::curvature::{self, Steps, between_rows, east, opposite, west};
use crate::mask::distance::distance;
use crate::octaves::{OctaveBuffers, Octaves};
use crate::simd::{Level, dispatch};
use crate::survey::slope::degrees;

/// What is measured, and how: one field serves all rules that agree on it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Key {
    pub quantity: Quantity,
    /// Length of slopes, or of the waves of noise; 0 where it means nothing.
    pub length_m: f64,
    /// The pattern of noise.
    pub pattern: u32,
}

/// Values of a parameter on a terrain.
pub(super) enum Field<'a> {
    Layer(&'a Raster<f32>),
    Shares(&'a Raster<Weight>),
    Bytes(&'a Raster<u8>),
    Shorts(&'a Raster<u16>),
    Words(&'a Raster<u32>),
    Made(Raster<f32>),
    Noise(Box<Octaves>),
}

/// Depth from which water on land is a lake.
const LAKE_M: f32 = 0.25;

impl<'a> Field<'a> {
    /// `None` when the terrain has not what it takes. Distances are measured as far as `farthest_m`.
    pub fn new(
        key: &Key,
        farthest_m: f64,
        terrain: &'a Terrain,
        ctx: &Ctx<'_>,
    ) -> Result<Option<Self>, OpError> {
        let frame = terrain.frame();
        if let Quantity::Layer(name) = &key.quantity {
            return Ok(terrain.layers().get(name).map(|data| match data {
                LayerData::F32(raster) => Self::Layer(raster),
                LayerData::U8(raster) => Self::Bytes(raster),
                LayerData::U16(raster) => Self::Shorts(raster),
                LayerData::U32(raster) => Self::Words(raster),
                LayerData::Weight(raster) => Self::Shares(raster),
            }));
        }
        let limit_m = measured_m(farthest_m);
        let made = match &key.quantity {
            Quantity::Noise => {
                let seed = ctx.seed().child("rules").child(&key.pattern.to_string());
                let noise = Octaves::over(&ctx.world(terrain), seed, key.length_m, 4, 0.5);
                return Ok(Some(Self::Noise(Box::new(noise))));
            }
            Quantity::River => rivers::distance(terrain.vector("rivers"), frame, limit_m, ctx)?,
            ground => {
                let Ok(height) = terrain.get(layer::HEIGHT) else { return Ok(None) };
                match ground {
                    Quantity::Slope => slope(height, frame, key.length_m, ctx)?,
                    Quantity::Curvature => {
                        let over = half_m(frame, key.length_m);
                        curvature::curvature(height, frame.spacing_m(), curvature::Kind::Mean, over, ctx)?
                    }
                    Quantity::Coast => signed(height, height, 0.0, frame, limit_m, ctx)?,
                    Quantity::Lake => match terrain.get(layer::WATER) {
                        Ok(water) => lake(height, water, frame, limit_m, ctx)?,
                        Err(_) => Raster::filled(frame.cols(), frame.rows(), limit_m as f32),
                    },
                    _ => {
                        let Ok(flow) = terrain.get(layer::FLOW) else { return Ok(None) };
                        wetness(height, flow, frame, key.length_m, ctx)?
                    }
                }
            }
        };
        Ok(Some(Self::Made(made)))
    }

    /// The values along a row: those that are there, or written to the buffer.
    pub fn row<'b>(
        &'b self,
        frame: &Frame,
        row: usize,
        waves: &mut OctaveBuffers,
        out: &'b mut Vec<f32>,
    ) -> &'b [f32] {
        out.resize(frame.cols(), 0.0);
        match self {
            Self::Layer(raster) => return raster.row(row),
            Self::Made(raster) => return raster.row(row),
            Self::Shares(raster) => fill(out, raster.row(row), |w| share(*w)),
            Self::Bytes(raster) => fill(out, raster.row(row), |v| f32::from(*v)),
            Self::Shorts(raster) => fill(out, raster.row(row), |v| f32::from(*v)),
            Self::Words(raster) => fill(out, raster.row(row), |v| *v as f32),
            Self::Noise(noise) => {
                noise.row(frame, row, 0..frame.cols(), waves, out);
                out.iter_mut().for_each(|v| *v = 0.5 + 0.5 * *v);
            }
        }
        out
    }

    /// The value at a place: between samples where it is continuous, that of the nearest sample where it is a number of a thing
    /// or a hole lies beside it.
    pub fn at(&self, frame: &Frame, [x, y]: [f64; 2]) -> f32 {
        let [col, row] = frame.locate(x, y);
        match self {
            Self::Layer(raster) => between(raster, col, row),
            Self::Made(raster) => between(raster, col, row),
            Self::Shares(raster) => {
                // Weights are bytes: the four round the place, then as any other values.
                let [left, top] = [col, row].map(f64::floor);
                let corner = |i: usize, j: usize| {
                    raster.clamped(left as isize + i as isize, top as isize + j as isize)
                };
                between(&Raster::from_fn(2, 2, |i, j| share(corner(i, j))), col - left, row - top)
            }
            Self::Bytes(raster) => f32::from(nearest(raster, col, row)),
            Self::Shorts(raster) => f32::from(nearest(raster, col, row)),
            Self::Words(raster) => nearest(raster, col, row) as f32,
            Self::Noise(noise) => {
                let mut value = [0.0];
                noise.row_at(std::iter::once(x), y, |v| v, &mut OctaveBuffers::default(), &mut value);
                0.5 + 0.5 * value[0]
            }
        }
    }
}

fn fill<T>(out: &mut [f32], from: &[T], f: impl Fn(&T) -> f32) {
    out.iter_mut().zip(from).for_each(|(out, value)| *out = f(value));
}

fn share(weight: Weight) -> f32 {
    f32::from(weight.0) / 255.0
}

fn between(raster: &Raster<f32>, col: f64, row: f64) -> f32 {
    let value = raster.bilinear(col, row);
    if value.is_nan() { nearest(raster, col, row) } else { value }
}

pub(super) fn nearest<T: Copy + Send + Sync>(raster: &Raster<T>, col: f64, row: f64) -> T {
    raster.clamped((col + 0.5).floor() as isize, (row + 0.5).floor() as isize)
}

/// Half the length over which the ground is measured: a sample at least, as less would measure the same cells.
fn half_m(frame: &Frame, over_m: f64) -> f64 {
    let [dx, dy] = frame.spacing_m();
    (over_m / 2.0).max(dx.max(dy))
}

/// Slope in degrees over a length: differences between both ends of it, twice along the own row and column and once along
/// those half the length away.
fn slope(height: &Raster<f32>, frame: &Frame, over_m: f64, ctx: &Ctx<'_>) -> Result<Raster<f32>, Cancelled> {
    gradients(height, frame, over_m, ctx, degrees)
}

/// What `f` makes of the rise to the east and to the north over a length.
fn gradients(
    height: &Raster<f32>,
    frame: &Frame,
    over_m: f64,
    ctx: &Ctx<'_>,
    f: impl Fn(f32, f32) -> f32 + Sync,
) -> Result<Raster<f32>, Cancelled> {
    let half = half_m(frame, over_m);
    let [x, y] = frame.spacing_m().map(|spacing| Steps::new(half, spacing));
    let (per, level) = ((1.0 / (8.0 * half)) as f32, Level::new());
    let mut out = Raster::filled(height.cols(), height.rows(), 0.0);
    out.try_par_rows(|row, values| {
        let here = height.row(row);
        let (row, whole) = (row as isize, y.whole as isize);
        let north = between_rows(height, row - whole, row - whole - 1, y.share);
        let south = between_rows(height, row + whole, row + whole + 1, y.share);
        let [nw, w, sw] = [&north[..], here, &south[..]].map(|line| west(line, &x));
        let [ne, e, se] = [&north[..], here, &south[..]].map(|line| east(line, &x));
        let around = [&nw, &north, &ne, &w, &e, &sw, &south, &se].map(|line| &line[..]);
        dispatch!(level, _simd => rises(here, around, per, &f, values));
        if row % 16 == 0 { ctx.stop_if_asked() } else { Ok(()) }
    })?;
    Ok(out)
}

/// What `f` makes of the rises along a row, from the lines of its eight neighbours, north-west first.
#[inline(always)]
fn rises(here: &[f32], around: [&[f32]; 8], per: f32, f: impl Fn(f32, f32) -> f32, values: &mut [f32]) {
    let count = values.len();
    let here = &here[..count];
    // Of one length all, so that the loop has no checks and becomes vector code.
    let [nw, north, ne, west, east, sw, south, se] = around.map(|line| &line[..count]);
    for i in 0..count {
        let z = here[i];
        let (w, e) = opposite(z, west[i], east[i]);
        let (s, n) = opposite(z, south[i], north[i]);
        let (nw, se) = opposite(z, nw[i], se[i]);
        let (ne, sw) = opposite(z, ne[i], sw[i]);
        let p = ((ne - nw) + 2.0 * (e - w) + (se - sw)) * per;
        let q = ((nw - sw) + 2.0 * (n - s) + (ne - se)) * per;
        let value = f(p, q);
        values[i] = if z.is_nan() { z } else { value };
    }
}

/// ln(drained area of a metre of width / slope). The width is that of a sample.
fn wetness(
    height: &Raster<f32>,
    flow: &Raster<f32>,
    frame: &Frame,
    over_m: f64,
    ctx: &Ctx<'_>,
) -> Result<Raster<f32>, Cancelled> {
    let [dx, dy] = frame.spacing_m();
    let width = (dx * dy).sqrt() as f32;
    let mut out = gradients(height, frame, over_m, ctx, |p, q| (p * p + q * q).sqrt())?;
    out.try_par_rows(|row, values| {
        for (value, flow) in values.iter_mut().zip(flow.row(row)) {
            // Level ground has no slope to divide by, and every sample drains itself.
            let wet = flow.max(width * width) / width / value.max(1e-3);
            *value = if value.is_nan() || flow.is_nan() { f32::NAN } else { math::f32::ln(wet) };
        }
        if row % 16 == 0 { ctx.stop_if_asked() } else { Ok(()) }
    })?;
    Ok(out)
}

/// Distance from where `values` cross a threshold, below 0 where `side` lies below it.
fn signed(
    values: &Raster<f32>,
    side: &Raster<f32>,
    threshold: f32,
    frame: &Frame,
    limit_m: f64,
    ctx: &Ctx<'_>,
) -> Result<Raster<f32>, Cancelled> {
    let mut out = distance(values, frame.spacing_m(), threshold, limit_m as f32, ctx)?;
    out.par_rows(|row, out| {
        for (out, value) in out.iter_mut().zip(side.row(row)) {
            *out = if *value < threshold { -*out } else { *out };
            *out = if value.is_nan() { f32::NAN } else { *out };
        }
    });
    Ok(out)
}

/// Distance from lakes: above 0 on land and at sea, below 0 on a lake.
fn lake(
    height: &Raster<f32>,
    water: &Raster<f32>,
    frame: &Frame,
    limit_m: f64,
    ctx: &Ctx<'_>,
) -> Result<Raster<f32>, Cancelled> {
    let mut dry = Raster::filled(height.cols(), height.rows(), 0.0f32);
    dry.par_rows(|row, values| {
        for ((value, h), water) in values.iter_mut().zip(height.row(row)).zip(water.row(row)) {
            // The sea is none, and neither is a hole in the water.
            let depth = if *h < 0.0 || water.is_nan() { 0.0 } else { *water };
            *value = if h.is_nan() { f32::NAN } else { LAKE_M - depth };
        }
    });
    signed(&dry, &dry, 0.0, frame, limit_m, ctx)
}
