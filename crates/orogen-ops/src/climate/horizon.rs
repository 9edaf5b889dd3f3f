//! Horizons: how high the land stands around each place, by direction.
//!
//! A sweep toward the viewer keeps the upper hull of the land behind it; the horizon is the hull's tangent:
//!
//! ```text
//! tan elevation = max over all places behind (their height − own height) / distance
//! ```
//!
//! Each sample is handled a fixed number of times on average, so a direction costs as much as a blur. Between two lines
//! of a sweep horizons are interpolated; where sweeps follow an axis they are exact. The Earth's curve is left out.

use orogen_core::{Cancelled, Ctx, Raster, math};

use super::sweep::Lines;

/// Directions in which [`Horizons`] look.
pub const DIRECTIONS: usize = 16;

/// The tangent of the elevation of the horizon toward a direction, clockwise from the y axis; negative where all land
/// that way lies lower, and 0 at the edge of the map. Heights must have no holes.
///
/// # Errors
/// When cancelled.
pub fn toward(
    height: &Raster<f32>,
    spacing_m: [f64; 2],
    direction_deg: f64,
    ctx: &Ctx<'_>,
) -> Result<Raster<f32>, Cancelled> {
    let lines = Lines::toward(direction_deg + 180.0, [height.cols(), height.rows()], spacing_m);
    let step_m = lines.step_m as f32;
    lines.sweep([height], ctx, |[heights], out| hull(heights, step_m, out))
}

/// The horizon behind every place of a line.
fn hull(heights: &[f32], step_m: f32, out: &mut [f32]) {
    // Places of the upper hull behind, the nearest last.
    let mut kept: Vec<usize> = Vec::with_capacity(64);
    for (i, (&here, out)) in heights.iter().zip(out.iter_mut()).enumerate() {
        let rise = |place: usize| (heights[place] - here) / ((i - place) as f32 * step_m);
        while let [.., before, last] = kept[..] {
            if rise(before) < rise(last) {
                break;
            }
            kept.pop();
        }
        *out = kept.last().map_or(0.0, |&last| rise(last));
        kept.push(i);
    }
}

/// Horizons all around every sample of a map, in [`DIRECTIONS`] directions.
#[derive(Clone, Debug)]
pub struct Horizons {
    /// For each direction the sine of the elevation, in 1/255; level and lower are 0.
    sines: Vec<Raster<u8>>,
}

impl Horizons {
    /// Finds them; 16 bytes a sample, and 12 more on the way. Heights must have no holes.
    ///
    /// # Errors
    /// When cancelled.
    pub fn find(height: &Raster<f32>, spacing_m: [f64; 2], ctx: &Ctx<'_>) -> Result<Self, Cancelled> {
        let one = |direction: usize| {
            let tangents = toward(height, spacing_m, direction_deg(direction), ctx)?;
            Ok(tangents.map(|tan| {
                let tan = tan.max(0.0);
                (255.0 * tan / (1.0 + tan * tan).sqrt()).round() as u8
            }))
        };
        Ok(Self { sines: (0..DIRECTIONS).map(one).collect::<Result<_, _>>()? })
    }

    /// The sine of the elevation of the horizon seen from a place, in samples of the map, toward a direction clockwise
    /// from the y axis.
    #[must_use]
    pub fn sine(&self, [col, row]: [f64; 2], toward_deg: f64) -> f32 {
        let at = (toward_deg / 360.0).rem_euclid(1.0) * DIRECTIONS as f64;
        let (low, t) = (at.floor() as usize % DIRECTIONS, (at - at.floor()) as f32);
        let [here, next] = [low, (low + 1) % DIRECTIONS].map(|i| bilinear(&self.sines[i], col, row));
        math::lerp(here, next, t) / 255.0
    }

    /// Bytes that it keeps in memory.
    #[must_use]
    pub fn size_bytes(&self) -> usize {
        self.sines.iter().map(|raster| raster.as_slice().len()).sum()
    }
}

/// The direction of a number, clockwise from the y axis.
#[must_use]
pub fn direction_deg(number: usize) -> f64 {
    number as f64 * 360.0 / DIRECTIONS as f64
}

fn bilinear(raster: &Raster<u8>, col: f64, row: f64) -> f32 {
    let (col, row) = (col.clamp(0.0, (raster.cols() - 1) as f64), row.clamp(0.0, (raster.rows() - 1) as f64));
    let (c, r) = (col.floor() as isize, row.floor() as isize);
    let (tc, tr) = ((col - col.floor()) as f32, (row - row.floor()) as f32);
    let at = |c: isize, r: isize| f32::from(raster.clamped(c, r));
    let (north, south) =
        (math::lerp(at(c, r), at(c + 1, r), tc), math::lerp(at(c, r + 1), at(c + 1, r + 1), tc));
    math::lerp(north, south, tr)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_support;

    /// Looks along a ray, a tenth of a sample at a time.
    fn by_looking(height: &Raster<f32>, [col, row]: [usize; 2], spacing_m: [f64; 2], toward_deg: f64) -> f64 {
        let toward = toward_deg.to_radians();
        let (east, north) = (math::sin(toward), math::cos(toward));
        let step_m = 0.1 * spacing_m[0].min(spacing_m[1]);
        let here = f64::from(height.row(row)[col]);
        let mut best = f64::NEG_INFINITY;
        for i in 10.. {
            let far = f64::from(i) * step_m;
            let (c, r) = (col as f64 + far * east / spacing_m[0], row as f64 - far * north / spacing_m[1]);
            if c < 0.0 || r < 0.0 || c > (height.cols() - 1) as f64 || r > (height.rows() - 1) as f64 {
                break;
            }
            best = best.max((f64::from(height.bilinear(c, r)) - here) / far);
        }
        best
    }

    fn hills() -> Raster<f32> {
        Raster::from_fn(90, 70, |c, r| {
            let (x, y) = (c as f64 / 9.0, r as f64 / 7.0);
            (120.0 * math::sin(x) * math::cos(1.3 * y) + 60.0 * math::sin(0.7 * x + y)) as f32
        })
    }

    #[test]
    fn horizons_are_those_that_looking_around_finds() {
        let (height, spacing_m) = (hills(), [20.0, 25.0]);
        for toward_deg in [0.0, 22.5, 45.0, 67.5, 90.0, 157.5, 180.0, 247.5, 270.0, 337.5] {
            let found = toward(&height, spacing_m, toward_deg, &Ctx::silent()).unwrap();
            let (mut sum, mut count) = (0.0, 0.0);
            for (col, row) in (5..85).step_by(8).flat_map(|c| (5..65).step_by(6).map(move |r| (c, r))) {
                let far = (f64::from(found.row(row)[col])
                    - by_looking(&height, [col, row], spacing_m, toward_deg))
                .abs();
                assert!(far < 0.12, "{toward_deg} at {col}, {row}: wrong by {far}");
                sum += far;
                count += 1.0;
            }
            assert!(sum / count < 0.012, "{toward_deg}: wrong by {} in the mean", sum / count);
        }
    }

    #[test]
    fn along_an_axis_every_line_is_exact() {
        let height = test_support::rough(60, 40);
        let found = toward(&height, [10.0, 10.0], 90.0, &Ctx::silent()).unwrap();
        for row in 0..40 {
            for col in 0..59 {
                let rise =
                    |to: usize| (height.row(row)[to] - height.row(row)[col]) / ((to - col) as f32 * 10.0);
                let best = (col + 1..60).map(rise).fold(f32::NEG_INFINITY, f32::max);
                assert!((found.row(row)[col] - best).abs() <= 1e-5 * best.abs().max(1.0), "{col}, {row}");
            }
        }
    }

    #[test]
    fn a_wall_shades_by_its_angle() {
        let height = Raster::from_fn(101, 101, |c, _| if c == 80 { 200.0 } else { 0.0 });
        let all = Horizons::find(&height, [10.0, 10.0], &Ctx::silent()).unwrap();
        // 40 samples of 10 m from a wall of 200 m: tan 0.5.
        assert!((all.sine([40.0, 50.0], 90.0) - 0.447).abs() < 0.003);
        assert_eq!(all.sine([40.0, 50.0], 270.0), 0.0);
        assert!((all.sine([40.0, 50.0], 450.0) - 0.447).abs() < 0.003);
        assert_eq!(all.size_bytes(), 16 * 101 * 101);
    }
}
