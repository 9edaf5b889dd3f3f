//! What the land itself takes of the light: the horizon toward the sun, and the share of the sky that is seen. Worked out on
//! squares of samples around the eye, each a third as wide as the one before, the first of them the whole land.

use orogen_core::distance::to_nearest;
use orogen_core::{Cancel, Ctx, Frame, Raster, Rect, layer};
use orogen_ops::climate::horizon;
use rayon::prelude::*;

use crate::error::RenderError;
use crate::gpu::half;
use crate::land::Land;
use crate::overview::Overview;
use crate::vec3::Vec3;

/// Samples along a side of a square.
pub const SIDE: usize = 512;
/// Squares, at most.
pub const SQUARES: usize = 6;
/// Each square is so many times smaller than the one before.
const NARROWER: f64 = 3.0;
/// A square moves by so many steps within its size.
const STEPS: f64 = 12.0;
/// Directions in which the sky is looked at.
const DIRECTIONS: usize = 8;
/// Farther out all is open sea.
const FAR_FROM_SHORE_M: f32 = 2000.0;

/// One square: what its samples say, rows from the north.
pub struct Square {
    /// The tangent of the horizon toward the sun, the share of the sky, whether there is sea, and metres from there to the shore.
    pub texels: Vec<[u16; 4]>,
}

/// Where the squares for an eye that looks a way lie. They move in steps, so that they serve many places of the eye.
#[must_use]
pub fn places(land: &dyn Land, overview: &Overview, eye: Vec3, forward: Vec3) -> Vec<Rect> {
    let mut rects = vec![Rect {
        min: overview.root.origin_m,
        max: overview.root.origin_m.map(|at| at + overview.root.size_m),
    }];
    let ground = overview.height_at(eye[0], eye[1]);
    let finest = (0.004 * (eye[2] - ground).max(2.0) * SIDE as f64).max(land.finest_m() * 4.0 * SIDE as f64);
    let flat = (forward[0] * forward[0] + forward[1] * forward[1]).sqrt().max(1e-6);
    while rects.len() < SQUARES {
        let size = rects[rects.len() - 1].size()[0] / NARROWER;
        if size < finest {
            break;
        }
        let last = rects[rects.len() - 1];
        let step = size / STEPS;
        let min = [0, 1].map(|i| {
            let middle = eye[i] + 0.38 * size * forward[i] / flat * flat.min(1.0);
            let stepped = ((middle - 0.5 * size - last.min[i]) / step).round() * step + last.min[i];
            stepped.clamp(last.min[i], (last.max[i] - size).max(last.min[i]))
        });
        rects.push(Rect { min, max: min.map(|at| at + size) });
    }
    rects
}

/// All squares, at their places, under a sun.
///
/// # Errors
/// When the land cannot be made.
pub fn squares(
    land: &dyn Land,
    overview: &Overview,
    rects: &[Rect],
    sun_azimuth_deg: f64,
    cancel: &Cancel,
) -> Result<Vec<Square>, RenderError> {
    let heights: Vec<Raster<f32>> =
        rects.par_iter().map(|rect| heights(land, overview, rect, cancel)).collect::<Result<_, _>>()?;
    let mut found: Vec<Shaded> = Vec::new();
    for (i, (rect, height)) in rects.iter().zip(&heights).enumerate() {
        let spacing = [rect.size()[0] / (SIDE - 1) as f64; 2];
        let outer = i.checked_sub(1).map(|i| (&rects[i], &found[i]));
        let made = shade(height, spacing, rect, outer, sun_azimuth_deg, cancel)?;
        found.push(made);
    }
    let squares = rects.iter().zip(found).zip(&heights).map(|((rect, (sun, sky)), height)| {
        let frame = lattice(rect);
        let is_sea = |i: usize| {
            let (c, r) = (i % SIDE, i / SIDE);
            frame.is_some_and(|frame| overview.is_sea(frame.x_m(c), frame.y_m(r)))
        };
        let sea: Vec<bool> = (0..SIDE * SIDE).into_par_iter().map(is_sea).collect();
        // Low ground that the overview has as land may be sea in finer samples: it is the nearer to the shore.
        let dry: Vec<bool> = sea.iter().zip(height.as_slice()).map(|(sea, h)| !sea || *h > 0.0).collect();
        let step = (rect.size()[0] / (SIDE - 1) as f64) as f32;
        let shore = to_nearest(&dry, SIDE);
        let texels = (0..SIDE * SIDE).into_par_iter().map(|i| {
            let at = |raster: &Raster<f32>| half(raster.as_slice()[i]);
            let metres = ((shore[i] - 0.5) * step).clamp(0.0, FAR_FROM_SHORE_M);
            [at(&sun), at(&sky), half(f32::from(u8::from(sea[i]))), half(metres)]
        });
        Square { texels: texels.collect() }
    });
    Ok(squares.collect())
}

fn lattice(rect: &Rect) -> Option<Frame> {
    Frame::new(rect.min, rect.size(), [SIDE, SIDE]).ok()
}

/// The ground of a square, and the surface of the sea.
fn heights(
    land: &dyn Land,
    overview: &Overview,
    rect: &Rect,
    cancel: &Cancel,
) -> Result<Raster<f32>, RenderError> {
    let spacing = rect.size()[0] / (SIDE - 1) as f64;
    let own = overview.frame.spacing_m();
    let place = |c: usize, r: usize| (rect.min[0] + c as f64 * spacing, rect.max[1] - r as f64 * spacing);
    if spacing >= 0.7 * own[0].min(own[1]) {
        return Ok(Raster::from_fn(SIDE, SIDE, |c, r| {
            let (x, y) = place(c, r);
            overview.height_at(x, y).max(0.0) as f32
        }));
    }
    let around = rect.grown([spacing, spacing]);
    let inside = around.intersection(&overview.frame.extent()).unwrap_or(around);
    let Some(frame) = land.frame().part(&inside, [spacing, spacing]).ok().flatten() else {
        return Ok(Raster::filled(SIDE, SIDE, 0.0));
    };
    let made = land.window(frame, &[layer::HEIGHT.name()], cancel)?;
    let height = made.get(layer::HEIGHT)?;
    Ok(Raster::from_fn(SIDE, SIDE, |c, r| {
        let (x, y) = place(c, r);
        let [col, row] = frame.locate(x, y);
        let col = col.clamp(0.0, (frame.cols() - 1) as f64);
        let row = row.clamp(0.0, (frame.rows() - 1) as f64);
        // A hole or the sea counts as its surface.
        height.bilinear(col, row).max(0.0)
    }))
}

/// The horizon toward the sun, as a tangent, and the share of the sky that is seen.
type Shaded = (Raster<f32>, Raster<f32>);

/// That of a square inside another.
fn shade(
    height: &Raster<f32>,
    spacing: [f64; 2],
    rect: &Rect,
    outer: Option<(&Rect, &Shaded)>,
    sun_azimuth_deg: f64,
    cancel: &Cancel,
) -> Result<Shaded, RenderError> {
    let ctx = Ctx::silent();
    let mut sun = horizon::toward(height, spacing, sun_azimuth_deg, &ctx)?;
    if cancel.is_cancelled() {
        return Err(RenderError::Cancelled);
    }
    let ways: Vec<Raster<f32>> = (0..DIRECTIONS)
        .into_par_iter()
        .map(|i| horizon::toward(height, spacing, (i as f64 + 0.5) * 360.0 / DIRECTIONS as f64, &ctx))
        .collect::<Result<_, _>>()?;
    let mut sky = Raster::from_fn(SIDE, SIDE, |c, r| {
        // Light from a sky that is bright all over: cos² of the horizon.
        let seen = |way: &Raster<f32>| {
            let tan = way.row(r)[c].max(0.0);
            1.0 / (1.0 + tan * tan)
        };
        ways.iter().map(seen).sum::<f32>() / DIRECTIONS as f32
    });
    if let Some((around, (outer_sun, outer_sky))) = outer {
        let step = around.size()[0] / (SIDE - 1) as f64;
        let place = |c: usize, r: usize| {
            let (x, y) = (rect.min[0] + c as f64 * spacing[0], rect.max[1] - r as f64 * spacing[1]);
            let inside = |x: f64| x.clamp(0.0, (SIDE - 1) as f64);
            (inside((x - around.min[0]) / step), inside((around.max[1] - y) / step))
        };
        // What stands beyond the square is known from the one around it.
        let merged = |own: &Raster<f32>, outer: &Raster<f32>, pick: fn(f32, f32) -> f32| {
            Raster::from_fn(SIDE, SIDE, |c, r| {
                let (col, row) = place(c, r);
                pick(own.row(r)[c], outer.bilinear(col, row))
            })
        };
        sun = merged(&sun, outer_sun, f32::max);
        sky = merged(&sky, outer_sky, f32::min);
    }
    Ok((sun, sky))
}
