//! Features around a point: what they share, row by row.

use orogen_core::{Frame, Rect};

use super::flats::Flat;
use super::fractal::{Fractal, Grain};
use super::index::columns;
use super::peaks::Peak;
use super::sand::Sand;
use crate::octaves::OctaveBuffers;

/// How far the outline of a rough feature wanders.
pub(super) const OUTLINE: f64 = 2.2;

/// A distance, as a share of the radius, moved by noise: the middle and the edge stay where they are.
#[inline]
pub(super) fn wandering(t: f32, noise: f32) -> f32 {
    // Noise goes up to OUTLINE, and this up to 0.95: no place goes past the middle.
    let by = noise / (1.0 + 0.6 * noise.abs());
    t * (1.0 + by * (1.0 - t).max(0.0))
}

/// The most that a share grows by noise.
pub(super) fn widest(roughness: f64) -> f64 {
    1.0 + OUTLINE * roughness / (1.0 + 0.6 * OUTLINE * roughness)
}

/// Falls smoothly from 1 at 0 to 0 at 1: `2t³ − 3t² + 1`.
#[inline]
pub(super) fn cubic(t: f32) -> f32 {
    let t = t.clamp(0.0, 1.0);
    1.0 - t * t * (3.0 - 2.0 * t)
}

/// Brings a height towards a level; a full weight gives the level itself, a hole stays a hole.
#[inline]
pub(super) fn level_out(h: f32, level: f32, weight: f32) -> f32 {
    if weight >= 1.0 && !h.is_nan() { level } else { h + weight * (level - h) }
}

/// A feature around a point, ready to be laid on rows.
pub struct Round {
    /// Its middle.
    pub at: [f64; 2],
    /// How far it acts.
    pub radius: f64,
    /// How much of its effect is applied.
    pub strength: f32,
    /// How far the outline wanders, and the noise it does so by.
    pub outline: Option<(f32, Fractal)>,
    /// What it does to the land.
    pub form: Form,
}

/// What it does to the land.
pub enum Form {
    /// Adds or takes away height.
    Peak(Peak),
    /// Brings the land to a level.
    Flat(Flat),
    /// Adds dunes.
    Sand(Sand),
}

/// Buffers of one thread.
#[derive(Default)]
pub(super) struct RoundBuffers {
    pub fractal: OctaveBuffers,
    pub east: Vec<f64>,
    /// Distance as a share of the radius: plain, and with the outline's noise.
    plain: Vec<f32>,
    share: Vec<f32>,
    noise: Vec<f32>,
    breaks: Vec<f32>,
}

impl Round {
    pub(super) fn new(
        at: [f64; 2],
        radius: f64,
        strength: f64,
        roughness: f64,
        grain: Grain,
        form: Form,
    ) -> Self {
        // What is rough all over needs no fine outline.
        let octaves = if matches!(form, Form::Flat(_)) { 4 } else { 2 };
        let outline = (roughness > 0.0).then(|| {
            ((roughness * OUTLINE) as f32, Fractal::soft(grain.child("outline"), 1.1 * radius, octaves))
        });
        Self { at, radius, strength: strength as f32, outline, form }
    }

    /// What it can touch.
    pub fn bounds(&self) -> Rect {
        Rect {
            min: [self.at[0] - self.radius, self.at[1] - self.radius],
            max: [self.at[0] + self.radius, self.at[1] + self.radius],
        }
    }

    /// Distances of the samples of a row that it may touch, in shares of the radius; `None` when it touches none.
    fn shares(&self, frame: &Frame, row: usize, xs: &[f64], buffers: &mut RoundBuffers) -> Option<usize> {
        let north = frame.y_m(row) - self.at[1];
        let half2 = self.radius * self.radius - north * north;
        if half2 <= 0.0 {
            return None;
        }
        let half = half2.sqrt();
        let cols = columns(frame, self.at[0] - half, self.at[0] + half);
        if cols.is_empty() {
            return None;
        }
        let start = cols.start;
        buffers.east.clear();
        buffers.east.extend(xs[cols].iter().map(|x| x - self.at[0]));
        let (y2, by) = ((north * north) as f32, (1.0 / self.radius) as f32);
        buffers.plain.clear();
        buffers.plain.extend(buffers.east.iter().map(|x| {
            let x = *x as f32;
            (x * x + y2).sqrt() * by
        }));
        buffers.share.clear();
        match &self.outline {
            None => buffers.share.extend_from_slice(&buffers.plain),
            Some((wander, fractal)) => {
                fractal.row(&buffers.east, north, &mut buffers.fractal, &mut buffers.noise);
                buffers
                    .share
                    .extend(buffers.plain.iter().zip(&buffers.noise).map(|(t, n)| wandering(*t, wander * n)));
            }
        }
        Some(start)
    }

    /// Lays it on a row whose samples lie at `xs`.
    pub(super) fn row(
        &self,
        frame: &Frame,
        row: usize,
        xs: &[f64],
        heights: &mut [f32],
        buffers: &mut RoundBuffers,
    ) {
        let Some(start) = self.shares(frame, row, xs, buffers) else { return };
        let heights = &mut heights[start..start + buffers.east.len()];
        let north = frame.y_m(row) - self.at[1];
        let strength = self.strength;
        match &self.form {
            Form::Peak(peak) => {
                let rough = peak.noise(&buffers.east, north, &mut buffers.fractal, &mut buffers.noise);
                if !rough {
                    buffers.noise.clear();
                    buffers.noise.resize(buffers.east.len(), 0.0);
                }
                peak.row(strength, &buffers.plain, &buffers.share, &buffers.noise, heights);
            }
            Form::Flat(flat) => {
                for ((h, plain), t) in heights.iter_mut().zip(&buffers.plain).zip(&buffers.share) {
                    if *plain < 1.0 {
                        *h = flat.apply(strength, *t, *h);
                    }
                }
            }
            Form::Sand(sand) => {
                sand.noise(
                    &buffers.east,
                    north,
                    &mut buffers.fractal,
                    &mut buffers.noise,
                    &mut buffers.breaks,
                );
                for (i, h) in heights.iter_mut().enumerate() {
                    if buffers.plain[i] < 1.0 {
                        let (noise, breaks) = (buffers.noise[i], buffers.breaks[i]);
                        *h += strength * sand.height(buffers.east[i], north, buffers.share[i], noise, breaks);
                    }
                }
            }
        }
    }

    /// Fills a row of `water` with the depth of a lake over the ground it has made.
    pub(super) fn water_row(
        &self,
        frame: &Frame,
        row: usize,
        xs: &[f64],
        heights: &[f32],
        water: &mut [f32],
        buffers: &mut RoundBuffers,
    ) {
        let Form::Flat(flat) = &self.form else { return };
        let Some(start) = self.shares(frame, row, xs, buffers) else { return };
        for (i, t) in buffers.share.iter().enumerate() {
            if buffers.plain[i] < 1.0 {
                let depth = flat.water(*t, heights[start + i]);
                water[start + i] = water[start + i].max(depth);
            }
        }
    }
}
