//! Values between samples, counted from a sample: the same bits whichever window the sample is seen in.

use orogen_core::Raster;
use orogen_core::math::catmull_rom;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How values between samples are found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Method {
    /// The Catmull-Rom cubic: keeps detail, may overshoot a little at cliffs.
    #[default]
    Cubic,
    /// Bilinear: never overshoots, softens detail.
    Linear,
}

/// The value `right` columns and `down` rows from a sample; places outside are clamped to the edge.
///
/// Where a hole is in the way, the value of the nearest sample, which may be the hole.
#[inline]
pub(super) fn value(
    raster: &Raster<f32>,
    [col, row]: [usize; 2],
    [right, down]: [f64; 2],
    method: Method,
) -> f32 {
    // Whole cells and a share of one: adding the sample's own index first would round by where the window starts.
    let (dc, dr) = (right.floor(), down.floor());
    let (fc, fr) = ((right - dc) as f32, (down - dr) as f32);
    let (c, r) = (col as isize + dc as isize, row as isize + dr as isize);
    let found = match method {
        Method::Linear => {
            let line = |r: isize| {
                let (a, b) = (raster.clamped(c, r), raster.clamped(c + 1, r));
                a + (b - a) * fc
            };
            let (a, b) = (line(r), line(r + 1));
            a + (b - a) * fr
        }
        Method::Cubic => {
            let (wc, wr) = (catmull_rom(fc), catmull_rom(fr));
            let mut sum = 0.0;
            // Away from the edges nothing has to be clamped.
            let (cols, rows) = (raster.cols() as isize, raster.rows() as isize);
            let inside = c >= 1 && r >= 1 && c + 2 < cols && r + 2 < rows;
            for (j, wr) in wr.iter().enumerate() {
                let at = r + j as isize - 1;
                let four: [f32; 4] = if inside {
                    let line = &raster.row(at as usize)[c as usize - 1..][..4];
                    [line[0], line[1], line[2], line[3]]
                } else {
                    std::array::from_fn(|i| raster.clamped(c + i as isize - 1, at))
                };
                let mut line = 0.0;
                for (wc, value) in wc.iter().zip(four) {
                    line += wc * value;
                }
                sum += wr * line;
            }
            sum
        }
    };
    if found.is_nan() { nearest(raster, [col, row], [right, down]) } else { found }
}

/// The value of the sample nearest to a place.
#[inline]
pub(super) fn nearest<T: Copy + Send + Sync>(
    raster: &Raster<T>,
    [col, row]: [usize; 2],
    [right, down]: [f64; 2],
) -> T {
    let near = |cells: f64| (cells + 0.5).floor() as isize;
    raster.clamped(col as isize + near(right), row as isize + near(down))
}

#[cfg(test)]
mod tests {
    use super::*;
    use orogen_core::Cell;
    use orogen_core::testkit::assert_close;

    #[test]
    fn a_plane_is_met_exactly_and_a_hole_gives_the_nearest_sample() {
        let mut plane = Raster::from_fn(9, 7, |c, r| 2.0 * c as f32 - 3.0 * r as f32);
        for method in [Method::Cubic, Method::Linear] {
            assert_close!(value(&plane, [4, 3], [-1.5, 0.25], method), 5.0 - 9.75, abs = 1e-5);
            assert_eq!(value(&plane, [4, 3], [0.0, 0.0], method), -1.0);
        }
        plane[Cell { col: 5, row: 3 }] = f32::NAN;
        assert_eq!(value(&plane, [4, 3], [0.4, 0.0], Method::Linear), -1.0);
        assert!(value(&plane, [4, 3], [0.6, 0.0], Method::Linear).is_nan());
    }
}
