//! What noise consists of, in plain numbers: what a twin of it on another processor works with.

use super::basis::Basis;
use super::fractal::Fractal;

/// A field of noise as numbers. Places on its lattices are found here, in double precision; all else is single.
#[derive(Clone, Debug, PartialEq)]
pub struct FieldParts {
    /// Shape of one octave.
    pub basis: Basis,
    /// Whether that is equally strong everywhere in a lattice cell.
    pub even: bool,
    /// What the nearest and the second nearest distance of Worley noise count.
    pub counts: [f32; 2],
    /// How octaves add up.
    pub fractal: Fractal,
    /// What the fractal adds to the noise, and what it multiplies that by.
    pub shape: [f32; 2],
    /// What an octave's noise is multiplied by, and what is added then; plain sums have it in their weights.
    pub unit: [f32; 2],
    /// What the sum is multiplied by, and what is added then; plain sums take the second alone.
    pub last: [f32; 2],
    /// The octaves, the longest waves first.
    pub octaves: Vec<OctaveParts>,
    /// Turns and stretches places: rows of a matrix, one for each axis of the lattices.
    pub turn: [[f64; 2]; 2],
    /// After how many metres it repeats, to the east and to the north; 0 for never.
    pub period_m: [f64; 2],
    /// How far places are moved to the east and to the north before anything else.
    pub warp: Option<Box<[FieldParts; 2]>>,
}

/// An octave as numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OctaveParts {
    /// Where its random numbers come from.
    pub seed: u32,
    /// Lattice cells per metre, across and up.
    pub cells_per_m: [f64; 2],
    /// Where the lattice starts, in cells.
    pub start: [f64; 2],
    /// Cells after which it repeats, 0 for never.
    pub period: [u32; 2],
    /// What it counts.
    pub weight: f32,
}

impl FieldParts {
    /// Whether columns of samples keep their place along the first axis of the lattices, and rows along the second.
    #[must_use]
    pub fn is_straight(&self) -> bool {
        self.turn == [[1.0, 0.0], [0.0, 1.0]]
    }

    /// A place along an axis of the world within what repeats.
    #[must_use]
    pub fn within_period(&self, axis: usize, at_m: f64) -> f64 {
        super::field::wrap(at_m, self.period_m[axis])
    }

    /// Where a place along `of` (0 for east, 1 for north) lies along a lattice axis of an octave, as cell and share. The
    /// two add up, for lattices that are turned, and the first of them holds where the lattice starts.
    #[must_use]
    pub fn split(&self, octave: &OctaveParts, axis: usize, of: usize, at_m: f64) -> (u32, f32) {
        let start = if of == 0 || self.is_straight() { octave.start[axis] } else { 0.0 };
        let at = self.turn[axis][of] * at_m * octave.cells_per_m[axis] + start;
        super::rows::split_one(at, octave.period[axis])
    }
}

/// An octave of [`super::Noise`] around a place, as numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WaveParts {
    /// The noise, whose gradients are those of [`super::Noise::gradient`].
    pub noise: super::Noise,
    /// Waves per metre, to the east and to the north.
    pub per_m: [f64; 2],
    /// Where its lattice starts, in waves.
    pub shift: [f64; 2],
    /// What it counts.
    pub weight: f32,
}
