//! Cut and fill: how much ground lies above and below another.

use orogen_core::{Cancelled, Ctx, Raster};
use rayon::prelude::*;

/// What ground is measured against.
#[derive(Clone, Copy, Debug)]
pub enum Reference<'a> {
    /// A level in metres.
    Level(f64),
    /// Other ground on the same grid.
    Ground(&'a Raster<f32>),
}

/// How much ground lies above (to be cut) and below (to be filled).
#[derive(Clone, Debug, PartialEq)]
pub struct CutFill {
    /// Volume above the reference, in cubic metres.
    pub cut_m3: f64,
    /// Volume below it.
    pub fill_m3: f64,
    /// Area above the reference, in square metres.
    pub cut_m2: f64,
    /// Area below it.
    pub fill_m2: f64,
    /// Height above the reference, in metres; negative below. A hole where either ground has one.
    pub above_m: Raster<f32>,
}

/// Volumes and areas of ground above and below a reference.
///
/// Samples are corners. Each cell is cut into triangles along either diagonal in turn; the ground of a triangle is plane,
/// so what lies above and below is exact, and the two ways are averaged, which makes the result the same for turned ground.
///
/// **Guarantees** (1) exact for ground that is plane, or a pyramid with its edges on diagonals; (2) `cut − fill` is the
/// volume between the two grounds; (3) the same bits for any number of threads, as rows are summed in order.
///
/// **Limits** A triangle with a hole at a corner counts for nothing.
///
/// `None` when the other ground has another number of samples.
///
/// # Errors
/// When cancelled.
pub fn cut_fill(
    height: &Raster<f32>,
    reference: Reference<'_>,
    spacing_m: [f64; 2],
    ctx: &Ctx<'_>,
) -> Result<Option<CutFill>, Cancelled> {
    let (cols, rows) = (height.cols(), height.rows());
    if let Reference::Ground(other) = reference
        && (other.cols(), other.rows()) != (cols, rows)
    {
        return Ok(None);
    }
    let mut above_m = Raster::filled(cols, rows, 0.0f32);
    above_m.par_rows(|row, out| {
        let here = height.row(row);
        match reference {
            Reference::Level(level) => {
                out.iter_mut().zip(here).for_each(|(out, &z)| *out = (f64::from(z) - level) as f32);
            }
            Reference::Ground(other) => {
                out.iter_mut().zip(here.iter().zip(other.row(row))).for_each(|(out, (a, b))| *out = a - b);
            }
        }
    });
    let counter = ctx.counter(rows - 1);
    let sums: Vec<[f64; 4]> = (0..rows - 1)
        .into_par_iter()
        .map(|row| {
            let (north, south) = (above_m.row(row), above_m.row(row + 1));
            let mut sum = [0.0; 4];
            for col in 0..cols - 1 {
                let [nw, ne] = [north[col], north[col + 1]].map(f64::from);
                let [sw, se] = [south[col], south[col + 1]].map(f64::from);
                for corners in [[nw, ne, se], [nw, se, sw], [nw, ne, sw], [ne, se, sw]] {
                    let [volume, area] = above(corners);
                    let [volume_below, area_below] = above(corners.map(|z| -z));
                    for (sum, part) in sum.iter_mut().zip([volume, volume_below, area, area_below]) {
                        *sum += part;
                    }
                }
            }
            counter.done()?;
            Ok(sum)
        })
        .collect::<Result<_, Cancelled>>()?;
    // A triangle is half a cell, and each cell was counted twice.
    let quarter = 0.25 * spacing_m[0] * spacing_m[1];
    let total = |part: usize| quarter * sums.iter().map(|sum| sum[part]).sum::<f64>();
    Ok(Some(CutFill { cut_m3: total(0), fill_m3: total(1), cut_m2: total(2), fill_m2: total(3), above_m }))
}

/// The volume and area above zero of a plane triangle of area 1; nothing where a corner is a hole.
fn above(corners: [f64; 3]) -> [f64; 2] {
    let mut sorted = corners;
    sorted.sort_by(f64::total_cmp);
    let [low, middle, high] = sorted;
    if corners.iter().any(|z| z.is_nan()) || high <= 0.0 {
        [0.0, 0.0]
    } else if low >= 0.0 {
        [(low + middle + high) / 3.0, 1.0]
    } else if middle <= 0.0 {
        // A smaller triangle at the highest corner.
        let share = high * high / ((high - low) * (high - middle));
        [share * high / 3.0, share]
    } else {
        // All but a smaller triangle at the lowest one.
        let share = low * low / ((middle - low) * (high - low));
        [(low + middle + high) / 3.0 - share * low / 3.0, 1.0 - share]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use orogen_core::Cell;
    use orogen_core::testkit::{assert_close, hills};

    fn against(height: &Raster<f32>, level: f64, spacing_m: [f64; 2]) -> CutFill {
        cut_fill(height, Reference::Level(level), spacing_m, &Ctx::silent()).unwrap().unwrap()
    }

    #[test]
    fn a_ramp_is_cut_into_two_wedges() {
        // From 0 to 40 m over 40 m, 30 m wide, at a level of 10 m: wedges of 30 and 10 m.
        let ramp = Raster::from_fn(5, 4, |c, _| 10.0 * c as f32);
        let found = against(&ramp, 10.0, [10.0, 10.0]);
        assert_close!(found.cut_m3, 30.0 * 30.0 / 2.0 * 30.0, abs = 1e-9);
        assert_close!(found.fill_m3, 10.0 * 10.0 / 2.0 * 30.0, abs = 1e-9);
        assert_close!(found.cut_m2, 900.0, abs = 1e-9);
        assert_close!(found.fill_m2, 300.0, abs = 1e-9);
        // Also where the level meets the ground between samples.
        let found = against(&ramp, 17.0, [10.0, 10.0]);
        assert_close!(found.cut_m3, 23.0 * 23.0 / 2.0 * 30.0, abs = 1e-9);
        assert_close!(found.fill_m3, 17.0 * 17.0 / 2.0 * 30.0, abs = 1e-9);
    }

    #[test]
    fn a_pyramid_has_a_third_of_its_box() {
        let pyramid = Raster::from_fn(21, 21, |c, r| {
            (10.0 - (c as f32 - 10.0).abs().max((r as f32 - 10.0).abs())).max(0.0)
        });
        let found = against(&pyramid, 0.0, [1.0, 2.0]);
        assert_close!(found.cut_m3, 20.0 * 40.0 * 10.0 / 3.0, rel = 0.003);
        assert_eq!(found.fill_m3, 0.0);
        assert_eq!(found.fill_m2, 0.0);
    }

    #[test]
    fn against_other_ground_and_turned_about() {
        let (a, b) = (hills(50, 30.0), Raster::filled(50, 50, 31.0));
        let forth = cut_fill(&a, Reference::Ground(&b), [3.0, 3.0], &Ctx::silent()).unwrap().unwrap();
        let back = cut_fill(&b, Reference::Ground(&a), [3.0, 3.0], &Ctx::silent()).unwrap().unwrap();
        assert_eq!(forth.cut_m3, back.fill_m3);
        assert_eq!(forth.fill_m2, back.cut_m2);
        let level = against(&a, 31.0, [3.0, 3.0]);
        assert_close!(level.cut_m3, forth.cut_m3, rel = 1e-6);
        let turned = Raster::from_fn(50, 50, |c, r| a[Cell { col: r, row: 49 - c }]);
        assert_close!(against(&turned, 31.0, [3.0, 3.0]).cut_m3, level.cut_m3, rel = 1e-12);
        assert_eq!(cut_fill(&a, Reference::Ground(&hills(49, 1.0)), [1.0, 1.0], &Ctx::silent()), Ok(None));
    }

    #[test]
    fn holes_and_the_smallest_grids_count_for_nothing() {
        let mut ground = Raster::filled(3, 3, 2.0);
        ground[Cell { col: 0, row: 0 }] = f32::NAN;
        let found = against(&ground, 0.0, [1.0, 1.0]);
        // Three whole cells, and of the fourth the one triangle without the hole, which is one of two ways.
        assert_close!(found.cut_m3, 2.0 * 3.25, abs = 1e-12);
        assert!(found.above_m[Cell { col: 0, row: 0 }].is_nan());
        for (cols, rows) in [(1, 1), (5, 1), (1, 5)] {
            assert_eq!(against(&Raster::filled(cols, rows, 2.0), 0.0, [1.0, 1.0]).cut_m3, 0.0);
        }
    }
}
