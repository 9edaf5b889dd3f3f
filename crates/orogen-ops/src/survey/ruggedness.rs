//! Ruggedness: how much the ground differs from the ground beside it.

use orogen_core::{Cancelled, Ctx, Raster};
use serde::{Deserialize, Serialize};

use super::gradient;

/// Which measure of ruggedness; all are metres, over a sample and its eight neighbours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Terrain ruggedness index of Riley, DeGloria & Elliot 1999: the root of the summed squared differences.
    #[default]
    Tri,
    /// Terrain ruggedness index of Wilson et al. 2007: the mean absolute difference.
    TriWilson,
    /// Topographic position index: how far the sample stands above the mean of its neighbours.
    Tpi,
    /// From the lowest to the highest of the nine.
    Roughness,
}

/// Ruggedness of every sample, in metres.
///
/// **Guarantees** (1) level ground has 0; (2) a plane has a position index of 0 everywhere; (3) results agree with
/// `gdaldem TRI`, `TPI` and `roughness -compute_edges` away from holes and the four corners, to the last bits of single
/// precision.
///
/// **Limits** A hole stays a hole; beyond edges and beside holes neighbours are carried on straight. Differences between
/// neighbours belong to a resolution. 8 bytes a cell.
///
/// # Errors
/// When cancelled.
pub fn ruggedness(height: &Raster<f32>, kind: Kind, ctx: &Ctx<'_>) -> Result<Raster<f32>, Cancelled> {
    match kind {
        Kind::Tri => gradient::measure_windows(height, ctx, |z| {
            let m = z[1][1];
            neighbours(z).iter().fold(0.0, |sum, v| sum + (v - m) * (v - m)).sqrt()
        }),
        Kind::TriWilson => gradient::measure_windows(height, ctx, |z| {
            let m = z[1][1];
            neighbours(z).iter().fold(0.0, |sum, v| sum + (v - m).abs()) * 0.125
        }),
        Kind::Tpi => gradient::measure_windows(height, ctx, |z| {
            let m = z[1][1];
            neighbours(z).iter().fold(0.0, |sum, v| sum + (m - v)) * 0.125
        }),
        Kind::Roughness => gradient::measure_windows(height, ctx, |z| {
            let m = z[1][1];
            let pick = |best: f32, v: f32, take: bool| if take { v } else { best };
            let low = neighbours(z).iter().fold(m, |low, &v| pick(low, v, v < low));
            let high = neighbours(z).iter().fold(m, |high, &v| pick(high, v, v > high));
            high - low
        }),
    }
}

#[inline]
fn neighbours([[nw, n, ne], [w, _, e], [sw, s, se]]: [[f32; 3]; 3]) -> [f32; 8] {
    [nw, n, ne, w, e, sw, s, se]
}

#[cfg(test)]
mod tests {
    use super::*;
    use orogen_core::Cell;
    use orogen_core::testkit::assert_close;

    const KINDS: [Kind; 4] = [Kind::Tri, Kind::TriWilson, Kind::Tpi, Kind::Roughness];

    fn survey(height: &Raster<f32>, kind: Kind) -> Raster<f32> {
        ruggedness(height, kind, &Ctx::silent()).unwrap()
    }

    #[test]
    fn a_lone_post_stands_out_by_its_height() {
        let mut ground = Raster::filled(5, 5, 10.0);
        ground[Cell { col: 2, row: 2 }] = 18.0;
        let at = |kind, col, row| survey(&ground, kind)[Cell { col, row }];
        assert_close!(at(Kind::Tri, 2, 2), 512f64.sqrt(), abs = 1e-4);
        assert_close!(at(Kind::TriWilson, 2, 2), 8.0, abs = 1e-5);
        assert_close!(at(Kind::Tpi, 2, 2), 8.0, abs = 1e-5);
        assert_close!(at(Kind::Roughness, 2, 2), 8.0, abs = 1e-5);
        assert_close!(at(Kind::Tri, 1, 1), 8.0, abs = 1e-5);
        assert_close!(at(Kind::TriWilson, 1, 1), 1.0, abs = 1e-5);
        assert_close!(at(Kind::Tpi, 1, 1), -1.0, abs = 1e-5);
        assert_close!(at(Kind::Roughness, 3, 2), 8.0, abs = 1e-5);
    }

    #[test]
    fn a_plane_has_no_position_of_its_own_even_beside_a_hole() {
        let mut plane = Raster::from_fn(80, 4, |c, r| 2.0 * c as f32 + 3.0 * r as f32);
        plane[Cell { col: 70, row: 2 }] = f32::NAN;
        for (value, z) in survey(&plane, Kind::Tpi).as_slice().iter().zip(plane.as_slice()) {
            assert_eq!(value.is_nan(), z.is_nan());
            assert!(value.is_nan() || value.abs() < 1e-4, "{value}");
        }
    }

    #[test]
    fn level_ground_and_the_smallest_grids_are_smooth() {
        for (cols, rows) in [(1, 1), (2, 2), (1, 7), (7, 1), (70, 3)] {
            for kind in KINDS {
                assert!(survey(&Raster::filled(cols, rows, 5.0), kind).as_slice().iter().all(|&v| v == 0.0));
            }
        }
        for kind in KINDS {
            assert!(survey(&Raster::filled(3, 3, f32::NAN), kind).as_slice().iter().all(|v| v.is_nan()));
        }
    }
}
