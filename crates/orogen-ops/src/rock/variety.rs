//! Rock that differs from place to place without beds: how soft it is, by noise.

use orogen_core::{Frame, Raster, Seed, math};

use crate::octaves::{OctaveBuffers, Octaves};

/// How rock differs from place to place.
#[derive(Clone, Copy, Debug)]
pub struct Variety {
    /// How much, 0 not at all; 1 by a factor of about three either way.
    pub strength: f64,
    /// Size of the largest patches of like rock.
    pub wavelength_m: f64,
    /// Sizes of patches, each half as large as the one before.
    pub octaves: u32,
}

impl Variety {
    /// How soft the rock is at the samples of a frame, 1 in the middle; `seed` is that of the step.
    #[must_use]
    pub fn softness(&self, frame: &Frame, world: &Frame, seed: Seed) -> Raster<f32> {
        let noise = Octaves::over(world, seed.child("rock"), self.wavelength_m, self.octaves, 0.6);
        let by = self.strength / f64::from(noise.rms());
        let mut rock = Raster::filled(frame.cols(), frame.rows(), 1.0);
        if by > 0.0 {
            rock.par_rows(|row, out| {
                noise.row(frame, row, 0..frame.cols(), &mut OctaveBuffers::default(), out);
                out.iter_mut().for_each(|value| *value = math::exp(by * 0.5 * f64::from(*value)) as f32);
            });
        }
        rock
    }
}
