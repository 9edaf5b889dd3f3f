//! `source.noise` on the device.

use bytemuck::{Pod, Zeroable};
use orogen_core::{Coef, Frame, Seed};
use orogen_ops::noise::{Basis, Field, FieldParts, Fractal, OctaveParts};
use orogen_ops::source::Noise;

use crate::numbers::Numbers;

/// Octaves that a field may have, and its displacement.
const MOST_OCTAVES: usize = 24;
const MOST_BENDS: usize = 16;

/// `Octave` of `basis.wgsl`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
struct Octave {
    seed: u32,
    weight: f32,
    period: [u32; 2],
}

/// `Field` of `field.wgsl`.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
pub(crate) struct Uniform {
    counts: [f32; 2],
    shape: [f32; 2],
    unit: [f32; 2],
    last: [f32; 2],
    turn: [[f32; 2]; 2],
    bend_last: [f32; 4],
    sizes: [u32; 4],
    octaves: [Octave; MOST_OCTAVES],
    cells_per_m: [[f32; 4]; MOST_OCTAVES],
    bends: [[Octave; MOST_BENDS]; 2],
}

/// What the shader is made for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Kind {
    pub basis: u32,
    pub fractal: u32,
    pub even: bool,
    pub slanted: bool,
    pub warped: bool,
}

/// A field of noise that takes the place of what was there.
#[derive(Clone, Debug)]
pub(crate) struct NoiseStep {
    parts: FieldParts,
    pub kind: Kind,
    pub uniform: Uniform,
    /// How high its land is.
    pub amplitude_m: f64,
}

impl NoiseStep {
    /// The step of these parameters, or why it cannot be had.
    pub fn of(op: &Noise, seed: Seed) -> Result<Self, String> {
        let Coef::Const(amplitude_m) = op.amplitude_m else {
            return Err(String::from("its amplitude is a layer"));
        };
        let parts = Field::new(&op.look(), seed).parts();
        // Where a place is moved, it may come to lie on either side of a step.
        if parts.basis == Basis::White && !(parts.is_straight() && parts.warp.is_none()) {
            return Err(String::from("the steps of white noise are turned or warped"));
        }
        let finest = parts.octaves.iter().map(|octave| octave.cells_per_m[0].max(octave.cells_per_m[1]));
        if op.warp_m * finest.fold(0.0, f64::max) > 4096.0 {
            return Err(String::from("it is warped by thousands of its shortest waves"));
        }
        let kind = Kind {
            basis: match parts.basis {
                Basis::Value => 0,
                Basis::Perlin => 1,
                Basis::Simplex => 2,
                Basis::Worley => 3,
                Basis::White => 4,
            },
            fractal: match parts.fractal {
                Fractal::None | Fractal::Fbm => 0,
                Fractal::TranslateScale => 1,
                Fractal::Multifractal => 2,
                Fractal::Hybrid => 3,
                Fractal::Ridged => 4,
                Fractal::Billow => 5,
            },
            even: parts.even,
            slanted: !parts.is_straight(),
            warped: parts.warp.is_some(),
        };
        Ok(Self { kind, uniform: uniform(&parts)?, parts, amplitude_m })
    }

    /// Where the samples of a tile lie on the lattices; where that starts among the numbers.
    pub fn list(&self, frame: &Frame, numbers: &mut Numbers) -> u32 {
        let first = numbers.next();
        for bend in self.parts.warp.iter().flat_map(|warp| warp.iter()) {
            places(bend, frame, numbers);
        }
        places(&self.parts, frame, numbers);
        first
    }
}

/// Where columns and rows lie on the lattices of a field, octave by octave.
fn places(parts: &FieldParts, frame: &Frame, numbers: &mut Numbers) {
    let xs: Vec<f64> = (0..frame.cols()).map(|col| parts.within_period(0, frame.x_m(col))).collect();
    let ys: Vec<f64> = (0..frame.rows()).map(|row| parts.within_period(1, frame.y_m(row))).collect();
    for octave in &parts.octaves {
        let mut along = |axis: usize, of: usize, places: &[f64]| {
            places.iter().for_each(|at| numbers.push_place(parts.split(octave, axis, of, *at)));
        };
        if parts.is_straight() {
            along(0, 0, &xs);
            along(1, 1, &ys);
        } else {
            // `place_of` adds what columns and rows give for one axis: two after the columns, two after the rows.
            for axis in [0, 1] {
                along(axis, 0, &xs);
                along(axis, 1, &ys);
            }
        }
    }
}

fn uniform(parts: &FieldParts) -> Result<Uniform, String> {
    let octave =
        |octave: &OctaveParts| Octave { seed: octave.seed, weight: octave.weight, period: octave.period };
    let bends: Vec<&FieldParts> = parts.warp.iter().flat_map(|warp| warp.iter()).collect();
    if parts.octaves.len() > MOST_OCTAVES || bends.iter().any(|bend| bend.octaves.len() > MOST_BENDS) {
        return Err(format!("it has more than {MOST_OCTAVES} octaves"));
    }
    let mut uniform = Uniform {
        counts: parts.counts,
        shape: parts.shape,
        unit: parts.unit,
        last: parts.last,
        turn: parts.turn.map(|row| row.map(|x| x as f32)),
        sizes: [parts.octaves.len() as u32, bends.first().map_or(0, |bend| bend.octaves.len() as u32), 0, 0],
        ..Uniform::zeroed()
    };
    for (i, part) in parts.octaves.iter().enumerate() {
        uniform.octaves[i] = octave(part);
        let [across, up] = part.cells_per_m.map(|x| x as f32);
        uniform.cells_per_m[i] = [across, up, 0.0, 0.0];
    }
    for (k, bend) in bends.iter().enumerate() {
        uniform.bend_last[k] = bend.last[1];
        bend.octaves.iter().enumerate().for_each(|(i, part)| uniform.bends[k][i] = octave(part));
    }
    Ok(uniform)
}
