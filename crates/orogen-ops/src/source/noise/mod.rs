//! Noise: land from hashed lattices, octave upon octave.

use orogen_core::param::Fault;
use orogen_core::{Coef, Ctx, Frame, Layers, Op, OpError, Raster, Reach, Terrain, layer};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::noise::{Basis, Distance, Field, Fractal, Look};

/// Makes land of noise: hills, ridges, cells or steps, octave upon octave, anywhere in an endless world.
///
/// ```text
/// n_i = basis((place + warp) · turned, stretched · lacunarity^i / wavelength),    w_i = lacunarity^(−hurst·i)
/// height = offset + amplitude · (F(n_0, n_1, …) − mean of F) / deviation of F
///
/// fbm              F = Σ w_i n_i                          billow        F = Σ w_i |n_i|
/// translate_scale  a_0 = (n_0 + t) s,                     multifractal  F = Π (s w_i n_i + t)
///                  a_i = a_(i−1) + a_(i−1) (n_i + t) s w_i
/// hybrid           F = Σ min(c_i, 1) w_i (s n_i + t), c: the product of the terms before
/// ridged           F = Σ w_i c_i (t − s |n_i|)²,       c: twice the term before, clamped to 0..1
/// ```
///
/// `amplitude_m` is the standard deviation of the land and `offset_m` its mean, whatever the basis and the fractal:
/// about two thirds of the land lie within one amplitude of the mean, hardly any beyond three. In an fBm the spectral
/// density falls with the (2·hurst + 2)th power of the wave number between the first and the last octave.
///
/// **Guarantees** (1) mean and standard deviation are as stated, over many wavelengths; (2) the spectral slope of an
/// fBm is 2·hurst + 2 within 0.15; (3) for value, Perlin and simplex noise all directions have the same spectrum within
/// 10 % in every fractal, and so has white noise for waves of two cells and longer; (4) value, Perlin and simplex land
/// is continuous in height and slope across lattice cells and tiles, and Worley distances are continuous; (5) with a
/// period, places one period apart have the same bits; (6) every vector width gives the bits of the scalar formula; (7)
/// lattice cells are found in double precision, so land 10,000 km from the origin is as fine as at the origin.
///
/// **Limits** The height that was there is replaced; where `amplitude_m` is a layer with a hole, the land has one. The
/// steps of white noise are squares, and look it. Worley's points lie one in each square, which shows: its directions
/// differ by up to 65 %. Octaves finer than two samples are not resolved and look like grit: use fewer octaves. A
/// lattice repeats after 2^32 cells. With `period_m` the wavelengths are moved to the nearest ones of which the period
/// holds whole lattice cells (with a warning when by over 2 %), and `rotation_deg` must be 0; cells of simplex noise are
/// 1.075 wavelengths wide, those of all others one. Mean and deviation of the nonlinear fractals
/// are measured on 4096 places, so they are true to about 3 %. Writes 4 bytes a sample; hashing is shared by the
/// samples of a column that lie between two lattice lines, less so where a stretch is turned, and not at all with a
/// warp.
///
/// **After** Perlin, SIGGRAPH 1985 and 2002 (simplex: 2001); Worley, SIGGRAPH 1996; Musgrave, Kolb & Mace, SIGGRAPH
/// 1989 (translate and scale); Musgrave in "Texturing and Modeling" (multifractals). We differ in that every octave
/// starts its lattice elsewhere, slopes are hashed to any direction, points of square lattices weigh in by a rounder curve
/// than Perlin's, and simplex triangles have a side along x. Ridged and billow land shows the size of the noise; so that this
/// does not vary with the place in a lattice cell, lattice points have random heights as well as slopes there.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Noise {
    /// Shape of one octave.
    pub basis: Basis,
    /// Which distance the basis `worley` takes.
    pub distance: Distance,
    /// How octaves add up.
    pub fractal: Fractal,
    /// How many octaves; `none` takes one.
    #[schemars(range(min = 1, max = 24), extend("x-slider" = [1, 12]))]
    pub octaves: u32,
    /// Hurst exponent: 0 is as rough small as large, 1 is smooth.
    #[schemars(range(min = 0.0, max = 2.0), extend("x-slider" = [0.2, 1.2]))]
    pub hurst: f64,
    /// How many times smaller each octave is than the one before.
    #[schemars(range(min = 1.1, max = 8.0), extend("x-slider" = [1.7, 2.5]))]
    pub lacunarity: f64,
    /// Distance between lattice points of the first octave: the size of the largest hills.
    #[schemars(range(min = 0.01, max = 1e8), extend("x-unit" = "m", "x-slider" = [100.0, 10000.0]))]
    pub wavelength_m: f64,
    /// Standard deviation of the height: a number, or a layer.
    #[schemars(extend("minimum" = 0.0, "maximum" = 1e5, "x-unit" = "m", "x-slider" = [0.0, 1000.0]))]
    pub amplitude_m: Coef,
    /// Mean of the height.
    #[schemars(range(min = -1e5, max = 1e5), extend("x-unit" = "m", "x-slider" = [-500.0, 1000.0]))]
    pub offset_m: f64,
    /// What nonlinear fractals add to the noise (t above).
    #[schemars(range(min = -4.0, max = 4.0), extend("x-slider" = [0.0, 2.0]))]
    pub translate: f64,
    /// What nonlinear fractals multiply the noise by (s above).
    #[schemars(range(min = 0.0, max = 4.0), extend("x-slider" = [0.2, 3.0]))]
    pub scale: f64,
    /// How far places are displaced before the noise is taken (standard deviation); 0 turns it off.
    #[schemars(range(min = 0.0, max = 1e6), extend("x-unit" = "m", "x-slider" = [0.0, 1000.0]))]
    pub warp_m: f64,
    /// Wavelength of the displacement.
    #[schemars(range(min = 0.01, max = 1e8), extend("x-unit" = "m", "x-slider" = [100.0, 10000.0]))]
    pub warp_wavelength_m: f64,
    /// Octaves of the displacement.
    #[schemars(range(min = 1, max = 16), extend("x-slider" = [1, 6]))]
    pub warp_octaves: u32,
    /// How many times longer than wide features are: rolling hills.
    #[schemars(range(min = 0.01, max = 100.0), extend("x-slider" = [1.0, 8.0]))]
    pub stretch: f64,
    /// Where the long side points, counter-clockwise from east; without a stretch it has no effect.
    #[schemars(range(min = -360.0, max = 360.0), extend("x-unit" = "deg", "x-slider" = [-90.0, 90.0]))]
    pub rotation_deg: f64,
    /// Distance after which the land repeats in x and y, for maps that loop; 0 for never.
    #[schemars(range(min = 0.0, max = 1e9), extend("x-unit" = "m", "x-slider" = [0.0, 16384.0]))]
    pub period_m: f64,
}

impl Default for Noise {
    fn default() -> Self {
        Self {
            basis: Basis::Simplex,
            distance: Distance::F1,
            fractal: Fractal::Fbm,
            octaves: 8,
            hurst: 0.9,
            lacunarity: 2.0,
            wavelength_m: 3000.0,
            amplitude_m: Coef::Const(150.0),
            offset_m: 200.0,
            translate: 1.0,
            scale: 1.0,
            warp_m: 0.0,
            warp_wavelength_m: 3000.0,
            warp_octaves: 3,
            stretch: 1.0,
            rotation_deg: 0.0,
            period_m: 0.0,
        }
    }
}

impl Op for Noise {
    const ID: &'static str = "source.noise";
    const VERSION: u32 = 3;

    fn layers(&self) -> Layers {
        Layers::none().reading(self.amplitude_m.layer()).writing([layer::HEIGHT.name()])
    }

    fn reach(&self, _: &Frame) -> Reach {
        Reach::Point
    }

    fn endless(&self) -> bool {
        true
    }

    fn faults(&self) -> Vec<Fault> {
        if self.period_m > 0.0 && self.rotation_deg != 0.0 {
            let message = format!("must be 0 when period_m is set, found {}", self.rotation_deg);
            return vec![Fault::of("rotation_deg", message)];
        }
        if self.period_m > 0.0 && self.period_m < self.wavelength_m * self.stretch.max(1.0) {
            let message = format!(
                "{} is below one wavelength ({}) and not 0",
                self.period_m,
                self.wavelength_m * self.stretch.max(1.0)
            );
            return vec![Fault::of("period_m", message)];
        }
        Vec::new()
    }

    fn run(&self, mut terrain: Terrain, ctx: &Ctx<'_>) -> Result<Terrain, OpError> {
        let look = self.look();
        let field = Field::new(&look, ctx.seed());
        if let Some(used_m) = field.snapped_wavelength_m(&look) {
            ctx.warn(self.snapped(used_m));
        }
        let frame = *terrain.frame();
        let mut height = Raster::filled(frame.cols(), frame.rows(), 0.0);
        field.fill(&frame, height.as_mut_slice(), ctx)?;
        if let Coef::Layer(name) = &self.amplitude_m {
            let (amplitude, offset) = (terrain.get_named::<f32>(name)?, self.offset_m as f32);
            height.par_rows(|row, values| {
                for (value, by) in values.iter_mut().zip(amplitude.row(row)) {
                    *value = *value * by + offset;
                }
            });
        }
        terrain.set(layer::HEIGHT, height);
        Ok(terrain)
    }
}

impl Noise {
    /// Says which wavelengths are used, across and up, as those asked for do not fit the period.
    fn snapped(&self, [across_m, up_m]: [f64; 2]) -> String {
        let why = if self.basis == Basis::Simplex {
            // Whole triangles along the lines of the lattice, and an even number of lines.
            format!(
                "period_m = {} does not hold a whole number of the triangles of simplex noise, which are 1.075 times \
                 wavelength_m = {} wide and 0.931 times as high",
                self.period_m, self.wavelength_m
            )
        } else {
            format!("wavelength_m = {} does not divide period_m = {}", self.wavelength_m, self.period_m)
        };
        if (across_m - up_m).abs() < 0.05 {
            format!("{why}; {across_m:.1} m is used")
        } else {
            format!("{why}; {across_m:.1} m is used from west to east and {up_m:.1} m from south to north")
        }
    }

    /// The field of noise that these parameters ask for. Where the amplitude is a layer, it is the field that the layer is
    /// multiplied with: of amplitude 1, about 0.
    #[must_use]
    pub fn look(&self) -> Look {
        let (amplitude_m, offset_m) = match self.amplitude_m {
            Coef::Const(amplitude_m) => (amplitude_m, self.offset_m),
            Coef::Layer(_) => (1.0, 0.0),
        };
        Look {
            basis: self.basis,
            distance: self.distance,
            fractal: self.fractal,
            octaves: self.octaves,
            hurst: self.hurst,
            lacunarity: self.lacunarity,
            wavelength_m: self.wavelength_m,
            amplitude_m,
            offset_m,
            translate: self.translate,
            scale: self.scale,
            stretch: self.stretch,
            rotation_deg: self.rotation_deg,
            period_m: self.period_m,
            warp_m: self.warp_m,
            warp_wavelength_m: self.warp_wavelength_m,
            warp_octaves: self.warp_octaves,
        }
    }
}

#[cfg(test)]
mod tests;
