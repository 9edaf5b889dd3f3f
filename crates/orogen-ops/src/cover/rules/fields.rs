//! The parameters of the land that rules measure, each worked out once for a terrain.

use orogen_core::{Cancelled, Ctx, Frame, LayerData, OpError, Raster, Terrain, Weight, layer, math};

use std::ops::Range;
use std::sync::Arc;

use super::ground::{self, Ground, Measure};
use super::needs::measured_m;
use super::quantity::Quantity;
use super::rivers::Banks;
use crate::mask::distance::distance;
use crate::octaves::{OctaveBuffers, Octaves};

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
    Made(Arc<Raster<f32>>),
    Banks(Arc<Banks>),
    Ground(Ground<'a>),
    Noise(Box<Octaves>),
}

/// Buffers of one thread.
#[derive(Default)]
pub(super) struct Room {
    pub waves: OctaveBuffers,
    pub lines: [Vec<f32>; 3],
}

/// Where values will be asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asked {
    /// Along rows, each once: slopes and curvatures are measured as they are needed.
    Rows,
    /// At places too, again and again: they are measured all over the land at first.
    Places,
}

/// Depth from which water on land is a lake.
const LAKE_M: f32 = 0.25;

impl<'a> Field<'a> {
    /// `None` when the terrain has not what it takes. Distances are measured as far as `farthest_m`.
    pub fn new(
        key: &Key,
        farthest_m: f64,
        asked: Asked,
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
            Quantity::River => {
                let banks = Banks::new(terrain.vector("rivers"), frame, limit_m, ctx)?;
                return Ok(Some(Self::Banks(Arc::new(banks))));
            }
            ground => {
                let Ok(height) = terrain.get(layer::HEIGHT) else { return Ok(None) };
                match ground {
                    Quantity::Slope | Quantity::Curvature => {
                        let measure = match ground {
                            Quantity::Slope => Measure::Slope,
                            _ => Measure::Curvature,
                        };
                        let found = Ground::new(measure, height, frame, key.length_m);
                        if asked == Asked::Rows && ground::is_near(frame, key.length_m) {
                            return Ok(Some(Self::Ground(found)));
                        }
                        found.raster(ctx)?
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
        Ok(Some(Self::Made(Arc::new(made))))
    }

    /// The values along a row, where they are there to be read.
    pub fn line(&self, row: usize) -> Option<&[f32]> {
        match self {
            Self::Layer(raster) => Some(raster.row(row)),
            Self::Made(raster) => Some(raster.row(row)),
            Self::Banks(banks) => Some(banks.raster.row(row)),
            _ => None,
        }
    }

    /// Whether a value found only says that nothing is as near as it is measured.
    pub fn is_far(&self, value: f32) -> bool {
        matches!(self, Self::Banks(banks) if banks.is_far(value))
    }

    /// The numbers along a row, where they are bytes.
    pub fn bytes(&self, row: usize) -> Option<&[u8]> {
        match self {
            Self::Bytes(raster) => Some(raster.row(row)),
            _ => None,
        }
    }

    /// The values of some columns of a row.
    pub fn block(&self, frame: &Frame, row: usize, cols: Range<usize>, room: &mut Room, out: &mut [f32]) {
        match self {
            Self::Layer(raster) => out.copy_from_slice(&raster.row(row)[cols]),
            Self::Made(raster) => out.copy_from_slice(&raster.row(row)[cols]),
            Self::Banks(banks) => out.copy_from_slice(&banks.raster.row(row)[cols]),
            Self::Shares(raster) => fill(out, &raster.row(row)[cols], |w| share(*w)),
            Self::Bytes(raster) => fill(out, &raster.row(row)[cols], |v| f32::from(*v)),
            Self::Shorts(raster) => fill(out, &raster.row(row)[cols], |v| f32::from(*v)),
            Self::Words(raster) => fill(out, &raster.row(row)[cols], |v| *v as f32),
            Self::Ground(ground) => ground.block(row, cols, &mut room.lines, out),
            Self::Noise(noise) => {
                noise.row(frame, row, cols, &mut room.waves, out);
                out.iter_mut().for_each(|v| *v = 0.5 + 0.5 * *v);
            }
        }
    }

    /// The value at a place: between samples where it is continuous, that of the nearest sample where it is a number of a thing
    /// or a hole lies beside it. The place is given in metres and in columns and rows.
    pub fn at(&self, [x, y]: [f64; 2], [col, row]: [f64; 2]) -> f32 {
        match self {
            Self::Layer(raster) => between(raster, col, row),
            Self::Made(raster) => between(raster, col, row),
            Self::Banks(banks) => banks.at([x, y]),
            Self::Ground(ground) => {
                let [col, row] = ground.within(col, row);
                let [left, top] = [col, row].map(f64::floor);
                let (mut corners, mut lines) = (Raster::filled(2, 2, 0.0), Default::default());
                for (i, value) in corners.as_mut_slice().iter_mut().enumerate() {
                    *value = ground.at(left as usize + i % 2, top as usize + i / 2, &mut lines);
                }
                between(&corners, col - left, row - top)
            }
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

/// ln(drained area of a metre of width / slope). The width is that of a sample, and what it drains the mean over `over_m`: on level
/// floors water gathers in lines a sample wide, and the ground beside them is as wet.
fn wetness(
    height: &Raster<f32>,
    flow: &Raster<f32>,
    frame: &Frame,
    over_m: f64,
    ctx: &Ctx<'_>,
) -> Result<Raster<f32>, Cancelled> {
    let [dx, dy] = frame.spacing_m();
    let width = (dx * dy).sqrt() as f32;
    let mut out = Ground::new(Measure::Rise, height, frame, over_m).raster(ctx)?;
    let far = [dx, dy].map(|cell| (over_m / 2.0 / cell) as usize);
    let spread = if far == [0, 0] { None } else { Some(mean(flow, far, ctx)?) };
    let drained = spread.as_ref().unwrap_or(flow);
    out.try_par_rows(|row, values| {
        for ((value, drained), flow) in values.iter_mut().zip(drained.row(row)).zip(flow.row(row)) {
            // Level ground has no slope to divide by, and every sample drains itself.
            let wet = drained.max(width * width) / width / value.max(1e-3);
            *value = if value.is_nan() || flow.is_nan() { f32::NAN } else { math::f32::ln(wet) };
        }
        if row % 16 == 0 { ctx.stop_if_asked() } else { Ok(()) }
    })?;
    Ok(out)
}

/// The most samples that a mean looks at along a side: where there are more it takes every second, third ... of them.
const MOST_TAPS: usize = 32;

/// The mean over so many samples to either side that have a value, added up in the same order everywhere, so that windows have the bits of
/// the whole.
fn mean(values: &Raster<f32>, far: [usize; 2], ctx: &Ctx<'_>) -> Result<Raster<f32>, Cancelled> {
    let taps = far.map(|far| {
        let step = far.div_ceil(MOST_TAPS).max(1) as isize;
        let count = far as isize / step;
        (-count..=count).map(move |i| i * step).collect::<Vec<isize>>()
    });
    let (cols, rows) = (values.cols(), values.rows());
    let inside = |at: usize, off: isize, count: usize| at.checked_add_signed(off).filter(|at| *at < count);
    // Along rows, then across them: sums, and how many samples they are of.
    let mut along = Raster::filled(cols, rows, [0.0f32; 2]);
    along.try_par_rows(|row, out| {
        let line = values.row(row);
        for (col, out) in out.iter_mut().enumerate() {
            let there = taps[0].iter().filter_map(|off| inside(col, *off, cols)).map(|col| line[col]);
            let there = there.filter(|value| !value.is_nan());
            *out = there.fold([0.0; 2], |[sum, count], value| [sum + value, count + 1.0]);
        }
        if row % 16 == 0 { ctx.stop_if_asked() } else { Ok(()) }
    })?;
    let mut out = Raster::filled(cols, rows, 0.0f32);
    out.try_par_rows(|row, out| {
        let lines: Vec<&[[f32; 2]]> =
            taps[1].iter().filter_map(|off| inside(row, *off, rows)).map(|row| along.row(row)).collect();
        for (col, out) in out.iter_mut().enumerate() {
            let [sum, count] = lines
                .iter()
                .fold([0.0; 2], |sums: [f32; 2], line| [sums[0] + line[col][0], sums[1] + line[col][1]]);
            *out = sum / count;
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
