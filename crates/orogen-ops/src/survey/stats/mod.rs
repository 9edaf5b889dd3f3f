//! The realism report: the statistics that distinguish real land from noise.
//!
//! Each is measured as on the real elevation models that ours are compared with, at the resolution of the raster;
//! compare land of similar spacing. [`realism`] does, and says of each statistic whether real land has similar values.

mod bands;
mod coarser;
mod drainage;
mod forms;
mod scaling;

pub use bands::{BANDS, Band, Finding, Verdict, verdicts};
pub use coarser::{BANDS_CELLS_M, coarser, comparable_cell_m};
pub use drainage::Drainage;
pub use forms::Forms;
pub use scaling::{Spectrum, Structure};

use orogen_core::{Ctx, OpError, Raster};
use serde::Serialize;

use super::gradient::Method;
use super::slope;

/// What was measured.
#[derive(Clone, Debug, Serialize)]
pub struct Stats {
    /// Samples that are land: neither holes nor sea.
    pub land_samples: u64,
    /// Lowest land, in metres.
    pub min_m: f64,
    /// Highest land.
    pub max_m: f64,
    /// Mean height of the land.
    pub mean_m: f64,
    /// Standard deviation of its height.
    pub std_m: f64,
    /// Steepness below which 5, 25, 50, 75 and 95 % of the land lie, in degrees.
    pub slope_percentiles_deg: [f64; 5],
    /// Mean steepness.
    pub slope_mean_deg: f64,
    /// (mean - min) / (max - min).
    pub hypsometric_integral: f64,
    /// Share of the land above 0, 5, ... 100 % of its relief.
    pub hypsometric_curve: Vec<f64>,
    /// How variance falls with wavelength; none on land too small or of many holes.
    pub spectrum: Option<Spectrum>,
    /// How differences of height grow with distance.
    pub structure: Option<Structure>,
    /// Rivers and pits.
    pub drainage: Drainage,
    /// Shares of the ten geomorphons.
    pub forms: Forms,
}

/// The realism report of a land.
#[derive(Clone, Debug, Serialize)]
pub struct Realism {
    /// The cell it was measured at, east and north, in metres: heights were averaged over it.
    pub cell_m: [f64; 2],
    /// Samples of that cell, from west to east and from north to south.
    pub samples: [usize; 2],
    /// For each statistic that distinguishes land from noise, whether real land has similar values.
    pub verdicts: Vec<Finding>,
    /// All that was measured.
    pub stats: Stats,
}

/// Measures land at about the given cell, its heights averaged; at its own where that is no finer.
///
/// # Errors
/// As [`stats`].
pub fn realism(
    height: &Raster<f32>,
    spacing_m: [f64; 2],
    sea_m: f32,
    cell_m: f64,
    ctx: &Ctx<'_>,
) -> Result<Realism, OpError> {
    let averaged = coarser(height, spacing_m, cell_m);
    let (land, cell_m) = averaged.as_ref().map_or((height, spacing_m), |(land, cell_m)| (land, *cell_m));
    let stats = stats(land, cell_m, sea_m, ctx)?;
    Ok(Realism { cell_m, samples: [land.cols(), land.rows()], verdicts: verdicts(&stats), stats })
}

/// Measures land; samples at or below `sea_m` are sea (none are, at minus infinity).
///
/// # Errors
/// When cancelled, when the raster has too many samples, or when there is no land.
pub fn stats(height: &Raster<f32>, spacing_m: [f64; 2], sea_m: f32, ctx: &Ctx<'_>) -> Result<Stats, OpError> {
    let inner = ctx.unwatched();
    let land: Vec<f32> = height.as_slice().iter().copied().filter(|&h| h > sea_m).collect();
    if land.is_empty() {
        return Err(OpError::Failed(String::from(
            "there is no land to measure: all samples are holes or sea",
        )));
    }
    let count = land.len() as f64;
    let (min, max) = land.iter().fold((f32::INFINITY, f32::NEG_INFINITY), |(a, b), &h| (a.min(h), b.max(h)));
    let (min, max) = (f64::from(min), f64::from(max));
    let mean = land.iter().map(|&h| f64::from(h)).sum::<f64>() / count;
    let std =
        (land.iter().map(|&h| (f64::from(h) - mean) * (f64::from(h) - mean)).sum::<f64>() / count).sqrt();
    ctx.tick(1, 6)?;
    let slopes = slope::slope(height, spacing_m, Method::Horn, &inner)?;
    let mut slopes: Vec<f32> = slopes
        .as_slice()
        .iter()
        .zip(height.as_slice())
        .filter(|&(_, &h)| h > sea_m)
        .map(|(&s, _)| s)
        .collect();
    slopes.sort_unstable_by(f32::total_cmp);
    let at = |share: f64| f64::from(slopes[((slopes.len() - 1) as f64 * share).round() as usize]);
    ctx.tick(2, 6)?;
    let relief = max - min;
    let above = |share: f64| {
        let level = min + share * relief;
        land.iter().filter(|&&h| f64::from(h) >= level).count() as f64 / count
    };
    let curve = (0..=20).map(|i| above(f64::from(i) / 20.0)).collect();
    let spectrum = scaling::spectrum(height, spacing_m);
    ctx.tick(3, 6)?;
    let structure = scaling::structure(height, spacing_m, sea_m);
    ctx.tick(4, 6)?;
    let drainage = drainage::measure(height, spacing_m, sea_m, &inner)?;
    ctx.tick(5, 6)?;
    let forms = forms::measure(height, spacing_m, sea_m);
    Ok(Stats {
        land_samples: land.len() as u64,
        min_m: min,
        max_m: max,
        mean_m: mean,
        std_m: std,
        slope_percentiles_deg: [0.05, 0.25, 0.5, 0.75, 0.95].map(at),
        slope_mean_deg: slopes.iter().map(|&s| f64::from(s)).sum::<f64>() / count,
        hypsometric_integral: if relief > 0.0 { (mean - min) / relief } else { 0.0 },
        hypsometric_curve: curve,
        spectrum,
        structure,
        drainage,
        forms,
    })
}

/// Slope and intercept of the straight line through points, by least squares, and the share of variance it explains.
pub(super) fn line(points: &[[f64; 2]]) -> Option<[f64; 3]> {
    let n = points.len() as f64;
    if points.len() < 3 {
        return None;
    }
    let mean = |axis: usize| points.iter().map(|p| p[axis]).sum::<f64>() / n;
    let (mx, my) = (mean(0), mean(1));
    let sum = |f: &dyn Fn(f64, f64) -> f64| points.iter().map(|p| f(p[0] - mx, p[1] - my)).sum::<f64>();
    let (xx, xy, yy) = (sum(&|x, _| x * x), sum(&|x, y| x * y), sum(&|_, y| y * y));
    if xx <= 0.0 || yy <= 0.0 {
        return None;
    }
    Some([xy / xx, my - xy / xx * mx, xy * xy / (xx * yy)])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise::{Basis, Fractal};
    use crate::source;
    use orogen_core::{Frame, Op, Seed, Terrain, layer};

    fn fbm(hurst: f64) -> (Raster<f32>, [f64; 2]) {
        let noise = source::Noise {
            basis: Basis::Simplex,
            fractal: Fractal::Fbm,
            hurst,
            octaves: 9,
            wavelength_m: 30_000.0,
            ..source::Noise::default()
        };
        let frame = Frame::square(51_200.0, 513).unwrap();
        let terrain = noise.apply(Terrain::new(frame), &Ctx::new(Seed(77))).unwrap();
        (terrain.get(layer::HEIGHT).unwrap().clone(), frame.spacing_m())
    }

    #[test]
    fn fractal_noise_has_its_hurst_exponent_and_no_rivers_to_speak_of() {
        let (height, spacing_m) = fbm(0.7);
        let found = stats(&height, spacing_m, f32::NEG_INFINITY, &Ctx::silent()).unwrap();
        let structure = found.structure.unwrap();
        assert!((structure.hurst - 0.7).abs() < 0.1, "{structure:?}");
        let spectrum = found.spectrum.unwrap();
        assert!((spectrum.beta - 3.4).abs() < 0.35, "{spectrum:?}");
        // What separates noise from land: many hollows, and rivers that wander from one to the next.
        assert!(found.drainage.depression_share > 0.1, "{:?}", found.drainage);
        let outside = |name: &str| {
            let found = verdicts(&found).into_iter().find(|f| f.statistic == name).unwrap();
            found.verdict == Verdict::Above
        };
        assert!(outside("drainage.depression_share") && outside("drainage.hack"), "{:?}", found.drainage);
    }

    #[test]
    fn land_without_depressions_is_inside_its_band() {
        // Every sample drains down a slope with valleys in it.
        let height = Raster::from_fn(129, 129, |col, row| {
            20.0 * row as f32 + (col as f32 - 64.0).abs() * (2.0 + 0.01 * row as f32)
        });
        let found = stats(&height, [80.0, 80.0], f32::NEG_INFINITY, &Ctx::silent()).unwrap();
        assert_eq!(found.drainage.depression_share, 0.0);
        let finding =
            verdicts(&found).into_iter().find(|f| f.statistic == "drainage.depression_share").unwrap();
        assert_eq!((finding.verdict, finding.low), (Verdict::Inside, 0.0));
    }

    #[test]
    fn a_plane_is_all_slope() {
        let height = Raster::from_fn(65, 65, |col, row| 2.0 * col as f32 + 0.5 * row as f32);
        let found = stats(&height, [10.0, 10.0], f32::NEG_INFINITY, &Ctx::silent()).unwrap();
        assert!(found.forms.slope > 0.99, "{:?}", found.forms);
        assert_eq!(found.drainage.pit_share, 0.0);
        assert!((found.hypsometric_integral - 0.5).abs() < 0.01);
    }

    #[test]
    fn rasters_of_a_few_samples_and_without_land_do_no_harm() {
        for (cols, rows) in [(1, 1), (2, 2), (1, 30), (30, 1), (5, 5)] {
            stats(&Raster::filled(cols, rows, 7.0), [1.0, 1.0], 0.0, &Ctx::silent()).unwrap();
            assert!(stats(&Raster::filled(cols, rows, f32::NAN), [1.0, 1.0], 0.0, &Ctx::silent()).is_err());
        }
    }
}
