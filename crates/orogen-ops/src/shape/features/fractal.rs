//! The fractal of a feature: octaves of noise that move with it.

use orogen_core::Seed;

use crate::noise::WaveParts;
use crate::octaves::{OctaveBuffers, Octaves};

/// What the noises of a feature come from.
#[derive(Clone, Copy, Debug)]
pub(super) struct Grain {
    /// Where its random numbers come from.
    pub seed: Seed,
    /// Waves shorter than this cannot be shown by the samples and are left out.
    pub finest_m: f64,
}

impl Grain {
    /// The grain of a part.
    pub fn child(self, name: &str) -> Self {
        Self { seed: self.seed.child(name), ..self }
    }
}

/// Octaves of noise around the place of a feature, each twice as fine and half as strong as the one before.
#[derive(Clone, Debug)]
pub struct Fractal {
    /// Those that are long enough to be shown.
    octaves: Octaves,
    /// Whether its crests are sharp: noise n counts as 0.55 - 2.2 |n|.
    pub ridged: bool,
}

impl Fractal {
    /// Soft noise, within -1 to 1 and mostly within -0.5 to 0.5.
    pub(super) fn soft(grain: Grain, wavelength_m: f64, octaves: u32) -> Self {
        let shown = shown(grain, wavelength_m, octaves);
        Self { octaves: Octaves::new(grain.seed, wavelength_m, octaves, 0.5).truncated(shown), ridged: false }
    }

    /// Noise with sharp crests: within -1.7 to 0.6, about 0 in the mean.
    pub(super) fn ridged(grain: Grain, wavelength_m: f64, octaves: u32) -> Self {
        Self { ridged: true, ..Self::soft(grain, wavelength_m, octaves) }
    }

    /// Its octaves, in plain numbers.
    pub fn waves(&self) -> Vec<WaveParts> {
        self.octaves.parts()
    }

    /// The noise at offsets from the feature along a row, into `out`.
    pub(super) fn row(&self, east: &[f64], north: f64, buffers: &mut OctaveBuffers, out: &mut Vec<f32>) {
        out.resize(east.len(), 0.0);
        let east = east.iter().copied();
        if self.ridged {
            self.octaves.row_at(east, north, |noise| 0.55 - 2.2 * noise.abs(), buffers, out);
        } else {
            self.octaves.row_at(east, north, |noise| noise, buffers, out);
        }
    }

    /// The noise at the feature itself.
    pub(super) fn at_center(&self) -> f32 {
        let mut out = Vec::with_capacity(1);
        self.row(&[0.0], 0.0, &mut OctaveBuffers::default(), &mut out);
        out[0]
    }
}

/// How many octaves have waves that samples can show.
fn shown(grain: Grain, wavelength_m: f64, octaves: u32) -> usize {
    let long = |octave: &u32| wavelength_m >= grain.finest_m * (1u64 << octave) as f64;
    (0..octaves).take_while(long).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn noise_stays_in_range_and_parts_of_a_row_have_its_bits() {
        let east: Vec<f64> = (0..500).map(|i| -900.0 + 3.7 * f64::from(i)).collect();
        let mut buffers = OctaveBuffers::default();
        let grain = Grain { seed: Seed(4), finest_m: 1.0 };
        for fractal in [Fractal::soft(grain, 300.0, 3), Fractal::ridged(grain, 300.0, 5)] {
            let (mut all, mut part) = (Vec::new(), Vec::new());
            fractal.row(&east, 12.5, &mut buffers, &mut all);
            fractal.row(&east[200..230], 12.5, &mut buffers, &mut part);
            assert_eq!(all[200..230], part);
            let (low, high) = all.iter().fold((0.0f32, 0.0f32), |(a, b), v| (a.min(*v), b.max(*v)));
            assert!(low >= -1.7 && high <= 1.0 && high - low > 0.3, "{low} to {high}");
            fractal.row(&[-900.0, 0.0], 0.0, &mut buffers, &mut part);
            assert_eq!(part[1], fractal.at_center());
        }
    }

    #[test]
    fn waves_that_samples_cannot_show_are_left_out() {
        let grain = |finest_m| Grain { seed: Seed(4), finest_m };
        let shown = |finest_m| shown(grain(finest_m), 300.0, 5);
        assert_eq!([shown(1.0), shown(75.0), shown(80.0), shown(301.0)], [5, 3, 2, 0]);
    }
}
