//! Features along a line: what they share, row by row.

use orogen_core::{Frame, Rect};

use super::fractal::{Fractal, Grain};
use super::index::{Part, columns};
use super::lines::Profile;
use super::round::OUTLINE;
use super::spline::{self, Spline};
use crate::octaves::OctaveBuffers;

/// Columns for which the arcs nearby are picked out together.
const CHUNK: usize = 32;

/// A feature along a line, ready to be laid on rows.
pub struct Trace {
    /// Its line.
    pub spline: Spline,
    /// Where its noise starts.
    pub at: [f64; 2],
    /// How far from its line it acts.
    pub reach: f64,
    /// How far on the line itself branches that meet are blended.
    pub floor: f64,
    /// How much of its effect is applied.
    pub strength: f32,
    /// How far it wanders, and the noise it does so by.
    pub wander: Option<(f32, Fractal)>,
    /// What is done across it.
    pub profile: Profile,
}

/// Buffers of one thread.
#[derive(Default)]
pub(super) struct TraceBuffers {
    fractal: OctaveBuffers,
    spline: spline::NearestBuffers,
    /// Arcs that come near the row, and of those the ones near a chunk of columns.
    row: Vec<u32>,
    chunk: Vec<u32>,
    east: Vec<f64>,
    noise: Vec<f32>,
}

impl Trace {
    pub(super) fn new(
        spline: Spline,
        at: [f64; 2],
        reach: f64,
        floor: f64,
        strength: f64,
        roughness: f64,
        grain: Grain,
        profile: Profile,
    ) -> Self {
        let wander = (roughness > 0.0).then(|| ((roughness * OUTLINE) as f32, profile.fractal(grain, reach)));
        Self { spline, at, reach, floor, strength: strength as f32, wander, profile }
    }

    /// What each arc can touch.
    pub(super) fn parts(&self, feature: u32) -> impl Iterator<Item = (Part, Rect)> + '_ {
        (0..self.spline.len()).map(move |arc| {
            let Rect { min, max } = self.spline.bounds(arc);
            let rect = Rect {
                min: [min[0] - self.reach, min[1] - self.reach],
                max: [max[0] + self.reach, max[1] + self.reach],
            };
            (Part { feature, arc: arc as u32 }, rect)
        })
    }

    /// Whether it is a river.
    pub fn is_river(&self) -> bool {
        matches!(self.profile, Profile::River)
    }

    /// Lays it on a row whose samples lie at `xs`, given its arcs that may touch the row. `beds` notes the beds of rivers.
    pub(super) fn row(
        &self,
        parts: &[Part],
        frame: &Frame,
        row: usize,
        xs: &[f64],
        heights: &mut [f32],
        beds: &mut [f32],
        buffers: &mut TraceBuffers,
    ) {
        let y = frame.y_m(row);
        let reach = self.reach;
        buffers.row.clear();
        let (mut west, mut east) = (f64::INFINITY, f64::NEG_INFINITY);
        for part in parts {
            let Rect { min, max } = self.spline.bounds(part.arc as usize);
            if y >= min[1] - reach && y <= max[1] + reach {
                buffers.row.push(part.arc);
                (west, east) = (west.min(min[0] - reach), east.max(max[0] + reach));
            }
        }
        if buffers.row.is_empty() {
            return;
        }
        let cols = columns(frame, west, east);
        for start in cols.clone().step_by(CHUNK) {
            let end = cols.end.min(start + CHUNK);
            let (west, east) = (xs[start] - reach, xs[end - 1] + reach);
            buffers.chunk.clear();
            buffers.chunk.extend(buffers.row.iter().copied().filter(|arc| {
                let Rect { min, max } = self.spline.bounds(*arc as usize);
                max[0] >= west && min[0] <= east
            }));
            if buffers.chunk.is_empty() {
                continue;
            }
            match &self.wander {
                None => {
                    buffers.noise.clear();
                    buffers.noise.resize(end - start, 0.0);
                }
                Some((wander, fractal)) => {
                    buffers.east.clear();
                    buffers.east.extend(xs[start..end].iter().map(|x| x - self.at[0]));
                    fractal.row(&buffers.east, y - self.at[1], &mut buffers.fractal, &mut buffers.noise);
                    buffers.noise.iter_mut().for_each(|n| *n *= wander);
                }
            }
            for col in start..end {
                let near =
                    self.spline.near([xs[col], y], &buffers.chunk, reach, self.floor, &mut buffers.spline);
                if let Some(near) = near {
                    let noise = buffers.noise[col - start];
                    let (h, bed) = (heights[col], &mut beds[col]);
                    heights[col] = self.profile.apply(self.strength, near, noise, reach, h, bed);
                }
            }
        }
    }
}
