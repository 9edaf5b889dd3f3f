//! Heights between samples: stepped or bilinear, at places and along lines.

use orogen_core::{Cancelled, Ctx, OpError, Raster, math};
use serde::{Deserialize, Serialize};

/// How ground lies between samples.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Between {
    /// A place has the height of the nearest sample.
    Stepped,
    /// Heights change evenly from sample to sample, bilinear inside a cell.
    #[default]
    Bilinear,
}

/// The height at a place given as column and row with fractions; NaN outside the outermost samples and at holes.
///
/// **Guarantees** (1) a sample has its own height, whichever way; (2) a hole poisons no place that does not lie in a cell
/// beside it; (3) bilinear heights lie between those of the four corners.
///
/// **Limits** A place in the half cell beyond the outermost samples is outside.
#[must_use]
pub fn sample(height: &Raster<f32>, [col, row]: [f64; 2], between: Between) -> f32 {
    // A place on the edge itself may come out a rounding error beyond it.
    const SLACK: f64 = 1e-9;
    let (east, south) = ((height.cols() - 1) as f64, (height.rows() - 1) as f64);
    if !(-SLACK..=east + SLACK).contains(&col) || !(-SLACK..=south + SLACK).contains(&row) {
        return f32::NAN;
    }
    let (col, row) = (col.clamp(0.0, east), row.clamp(0.0, south));
    match between {
        Between::Stepped => height.row(row.round() as usize)[col.round() as usize],
        Between::Bilinear => {
            let (c, r) = (col.floor() as usize, row.floor() as usize);
            let (fc, fr) = (col - c as f64, row - r as f64);
            // A corner without weight may be a hole.
            let along = |row: usize| {
                let values = height.row(row);
                let a = f64::from(values[c]);
                if fc > 0.0 { a + (f64::from(values[c + 1]) - a) * fc } else { a }
            };
            let a = along(r);
            (if fr > 0.0 { a + (along(r + 1) - a) * fr } else { a }) as f32
        }
    }
}

/// The heights of a model at the samples of another grid: `place` gives the column and row in the model, with fractions, of a
/// sample of the grid. NaN outside the model and at its holes.
///
/// # Errors
/// When cancelled.
pub fn resampled(
    height: &Raster<f32>,
    [cols, rows]: [usize; 2],
    place: impl Fn([f64; 2]) -> [f64; 2] + Sync,
    between: Between,
    ctx: &Ctx<'_>,
) -> Result<Raster<f32>, Cancelled> {
    let counter = ctx.counter(rows);
    let mut out = Raster::filled(cols, rows, f32::NAN);
    out.try_par_rows(|row, values| {
        for (col, value) in values.iter_mut().enumerate() {
            *value = sample(height, place([col as f64, row as f64]), between);
        }
        counter.done()
    })?;
    Ok(out)
}

/// Heights along a line.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Profile {
    /// Distance from the start, in metres on the ground plan.
    pub distances_m: Vec<f64>,
    /// Column and row of each station.
    pub places: Vec<[f64; 2]>,
    /// Height of each station; NaN outside and at holes.
    pub heights_m: Vec<f32>,
}

/// Largest number of stations of a profile.
const MOST_STATIONS: f64 = 1e7;

/// The profile along a line of places (columns and rows with fractions): a station at every vertex of the line and at
/// every multiple of `step_m` from its start.
///
/// **Guarantees** (1) the first and the last station are the ends of the line; (2) distances are true on cells that are not
/// square; (3) no two stations fall together.
///
/// # Errors
/// When the line has fewer than two vertices, is not finite, or would have too many stations.
pub fn profile(
    height: &Raster<f32>,
    spacing_m: [f64; 2],
    line: &[[f64; 2]],
    step_m: f64,
    between: Between,
) -> Result<Profile, OpError> {
    if line.len() < 2 || line.iter().flatten().any(|v| !v.is_finite()) {
        return Err(OpError::Failed(String::from("a profile needs a line of at least two points")));
    }
    let leg = |pair: &[[f64; 2]]| {
        math::hypot((pair[1][0] - pair[0][0]) * spacing_m[0], (pair[1][1] - pair[0][1]) * spacing_m[1])
    };
    let length: f64 = line.windows(2).map(leg).sum();
    if length / step_m > MOST_STATIONS {
        return Err(OpError::Failed(format!(
            "a line of {length:.0} m with a station every {step_m} m has more than {MOST_STATIONS} stations; use a longer step"
        )));
    }
    let mut profile = Profile::default();
    let mut put = |distance: f64, place: [f64; 2]| {
        // Stations nearer than a millionth of a step are one: a vertex that lies on a multiple.
        if profile.distances_m.last().is_none_or(|last| distance - last > 1e-6 * step_m) {
            profile.distances_m.push(distance);
            profile.places.push(place);
            profile.heights_m.push(sample(height, place, between));
        }
    };
    put(0.0, line[0]);
    let mut start = 0.0;
    for pair in line.windows(2) {
        let length = leg(pair);
        let mut number = (start / step_m).floor() + 1.0;
        while number * step_m < start + length * (1.0 - 1e-12) {
            let t = (number * step_m - start) / length;
            let place = [0, 1].map(|axis: usize| pair[0][axis] + t * (pair[1][axis] - pair[0][axis]));
            put(number * step_m, place);
            number += 1.0;
        }
        start += length;
        put(start, pair[1]);
    }
    Ok(profile)
}

#[cfg(test)]
mod tests {
    use super::*;
    use orogen_core::Cell;
    use orogen_core::testkit::assert_close;

    fn plane() -> Raster<f32> {
        Raster::from_fn(6, 5, |c, r| 2.0 * c as f32 - 3.0 * r as f32)
    }

    #[test]
    fn samples_have_their_height_and_planes_are_exact_between() {
        let plane = plane();
        for between in [Between::Stepped, Between::Bilinear] {
            assert_eq!(sample(&plane, [5.0, 4.0], between), -2.0);
            assert_eq!(sample(&plane, [0.0, 0.0], between), 0.0);
            assert!(sample(&plane, [5.1, 0.0], between).is_nan());
            assert!(sample(&plane, [0.0, f64::NAN], between).is_nan());
        }
        assert_eq!(sample(&plane, [2.6, 1.2], Between::Stepped), 3.0);
        assert_close!(sample(&plane, [2.6, 1.2], Between::Bilinear), 5.2 - 3.6, abs = 1e-6);
        assert_eq!(sample(&Raster::filled(1, 1, 7.0), [0.0, 0.0], Between::Bilinear), 7.0);
    }

    #[test]
    fn a_hole_poisons_its_own_cells_only() {
        let mut plane = plane();
        plane[Cell { col: 3, row: 2 }] = f32::NAN;
        assert!(sample(&plane, [2.5, 1.5], Between::Bilinear).is_nan());
        assert!(!sample(&plane, [2.0, 2.0], Between::Bilinear).is_nan());
        assert!(!sample(&plane, [2.0, 1.5], Between::Bilinear).is_nan());
        assert!(!sample(&plane, [2.4, 1.6], Between::Stepped).is_nan());
    }

    #[test]
    fn a_profile_has_its_ends_its_corners_and_even_steps() {
        // 30 m east, then 40 m south over cells of 10 by 20 m.
        let line = [[0.0, 0.0], [3.0, 0.0], [3.0, 2.0]];
        let found = profile(&plane(), [10.0, 20.0], &line, 12.0, Between::Bilinear).unwrap();
        assert_eq!(found.distances_m, [0.0, 12.0, 24.0, 30.0, 36.0, 48.0, 60.0, 70.0]);
        assert_eq!(found.places[3], [3.0, 0.0]);
        assert_close!(found.heights_m[1], 2.4, abs = 1e-6);
        assert_close!(found.heights_m[5], 6.0 - 3.0 * 0.9, abs = 1e-6);
        let found = profile(&plane(), [10.0, 20.0], &line, 10.0, Between::Stepped).unwrap();
        assert_eq!(found.distances_m.len(), 8);
        assert_eq!(*found.heights_m.last().unwrap(), 0.0);
    }

    #[test]
    fn bad_lines_are_refused() {
        for line in [&[][..], &[[0.0, 0.0]][..], &[[0.0, 0.0], [f64::NAN, 1.0]][..]] {
            assert!(profile(&plane(), [1.0, 1.0], line, 1.0, Between::Bilinear).is_err());
        }
        assert!(profile(&plane(), [1.0, 1.0], &[[0.0, 0.0], [5.0, 0.0]], 1e-9, Between::Bilinear).is_err());
    }
}
