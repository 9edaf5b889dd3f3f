//! Values as 16-bit whole numbers.

use orogen_core::Raster;
use rayon::prelude::*;

use crate::about::About;
use crate::sidecar::Sidecar;

/// Coarsest step of whole-number samples that passes without a warning.
const FINE_STEP: f64 = 0.01;

/// Values as 16-bit numbers over a range, as a function from value to number, and the sidecar's part of it.
///
/// Heights are not dithered: noise of half a step would stay under the eye but turn flat water into gravel once an
/// engine computes slopes. A step above 1 cm is reported instead.
#[derive(Clone, Debug, PartialEq)]
pub struct Levels {
    min: f64,
    max: f64,
    /// Whether 0 is kept for holes.
    holes: bool,
    /// What a range that was asked for does not hold.
    lost: Lost,
}

/// How many values do not fit a range.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Lost {
    below: u64,
    above: u64,
    holes: u64,
}

impl Levels {
    /// The range of the values themselves. Where there are holes, they become 0 and everything else starts at 1.
    #[must_use]
    pub fn of(raster: &Raster<f32>) -> Self {
        let holes = raster.as_slice().iter().any(|v| v.is_nan());
        let finite = |v: f32| f64::from(v.clamp(f32::MIN, f32::MAX));
        let (min, max) = raster.range().map_or((0.0, 0.0), |(min, max)| (finite(min), finite(max)));
        Self { min, max, holes, lost: Lost::default() }
    }

    /// A range that is given, the same for every tile and seed: `min` is 0 and `max` is 65535, whatever the values are. Those
    /// outside go to the nearer end, holes to the lower one, and [`Levels::warning`] says how many.
    #[must_use]
    pub fn between<T: Copy + Into<f64> + Sync>(min: f64, max: f64, raster: &Raster<T>) -> Self {
        let count = |values: &[T]| {
            let mut lost = Lost::default();
            for &value in values {
                let value: f64 = value.into();
                lost.below += u64::from(value < min);
                lost.above += u64::from(value > max);
                lost.holes += u64::from(value.is_nan());
            }
            lost
        };
        let sum = |a: Lost, b: Lost| Lost {
            below: a.below + b.below,
            above: a.above + b.above,
            holes: a.holes + b.holes,
        };
        let lost = raster.as_slice().par_chunks(1 << 16).map(count).reduce(Lost::default, sum);
        Self { min, max, holes: false, lost }
    }

    /// Ids as they are, from 0 to 65535.
    #[must_use]
    pub fn ids<T: Copy + Into<f64> + Sync>(raster: &Raster<T>) -> Self {
        Self::between(0.0, 65535.0, raster)
    }

    /// The number that stands for the lowest value.
    #[must_use]
    pub fn lowest(&self) -> u16 {
        u16::from(self.holes)
    }

    /// The number that stands for a value.
    #[inline]
    #[must_use]
    pub fn level(&self, value: f64) -> u16 {
        if value.is_nan() {
            return 0;
        }
        let lowest = f64::from(self.lowest());
        let range = self.max - self.min;
        let share = if range > 0.0 { (value - self.min) / range } else { 0.0 };
        (lowest + share * (65535.0 - lowest)).round().clamp(lowest, 65535.0) as u16
    }

    /// Tells a sidecar which number stands for which value.
    pub(crate) fn describe(&self, sidecar: &mut Sidecar) {
        sidecar.min = Some(self.min);
        sidecar.max = Some(self.max);
        sidecar.hole = self.holes.then_some(0);
        let has_sea = sidecar.layer == "height" && (self.min..=self.max).contains(&0.0);
        sidecar.sea_level_grey = has_sea.then(|| self.level(0.0).into());
    }

    /// What the numbers do not keep, for the user.
    #[must_use]
    pub fn warning(&self, about: &About<'_>) -> Option<String> {
        let unit = if about.unit.is_empty() { String::new() } else { format!(" {}", about.unit) };
        let Lost { below, above, holes } = self.lost;
        let mut said = Vec::new();
        if below + above > 0 {
            let sides = [(below, "below", self.min), (above, "above", self.max)];
            let sides = sides.iter().filter(|(count, ..)| *count > 0);
            let sides: Vec<String> =
                sides.map(|(count, side, end)| format!("{count} {side} {end}{unit}")).collect();
            said.push(format!("values outside the range are written as its ends: {}", sides.join(", ")));
        }
        if holes > 0 {
            said.push(format!("{holes} samples without a value are written as {}{unit}", self.min));
        }
        let step = (self.max - self.min) / 65535.0;
        if about.unit == "m" && step > FINE_STEP {
            said.push(format!(
                "16 bits keep {} in steps of {:.1} cm over its range of {:.0} m; use GeoTIFF or r32 if that is too coarse",
                about.layer,
                step * 100.0,
                self.max - self.min
            ));
        }
        (!said.is_empty()).then(|| said.join("; "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ABOUT: About<'_> = About { layer: "height", unit: "m", seed: "" };

    #[test]
    fn a_given_range_is_the_same_for_every_raster_and_counts_what_it_loses() {
        let raster = Raster::from_vec(5, 1, vec![-50.0, 0.0, 50.0, 100.5, f32::NAN]).unwrap();
        let levels = Levels::between(0.0, 100.0, &raster);
        let found: Vec<u16> = raster.as_slice().iter().map(|&v| levels.level(v.into())).collect();
        assert_eq!(found, [0, 0, 32768, 65535, 0]);
        assert_eq!(
            levels.warning(&ABOUT).unwrap(),
            "values outside the range are written as its ends: 1 below 0 m, 1 above 100 m; \
             1 samples without a value are written as 0 m"
        );
        let inside = Levels::between(0.0, 100.0, &Raster::filled(2, 2, 50.0f32));
        assert_eq!((inside.level(50.0), inside.warning(&ABOUT)), (32768, None));
        let ids = Levels::ids(&Raster::filled(2, 2, 7u8));
        assert_eq!((ids.level(7.0), ids.level(255.0)), (7, 255));
    }
}
