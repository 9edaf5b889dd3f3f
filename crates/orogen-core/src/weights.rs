//! Families of weights: layers of one first word (`material.rock`, `material.sand`) whose bytes sum to 255 at every sample.
//!
//! Where nothing is known (a hole, say) all of a family are 0. Whatever mixes or interpolates weights works on shares,
//! which any non-negative numbers are, and rounds them here: each gets the whole part of its 255 and what is left goes to
//! the largest remainders, the first in the order of names where some are equal.

use std::collections::BTreeMap;
use std::sync::Arc;

use rayon::prelude::*;

use crate::kinds::{LayerData, Sample, Weight};
use crate::layer::LayerName;
use crate::raster::Raster;

/// What the weights of a family sum to.
pub const WHOLE: u32 = 255;

/// The weights among some layers, by family, each in the order of names.
#[must_use]
pub fn families(
    layers: &BTreeMap<LayerName, LayerData>,
) -> BTreeMap<&str, Vec<(&LayerName, &Raster<Weight>)>> {
    let mut found: BTreeMap<&str, Vec<_>> = BTreeMap::new();
    for (name, data) in layers {
        if let Some(raster) = Weight::view(data) {
            found.entry(name.family()).or_default().push((name, raster.as_ref()));
        }
    }
    found
}

/// Rounds shares to weights that sum to [`WHOLE`]; all are 0 where no share is above 0. Shares below 0 and NaN count as 0.
pub fn round(shares: &[f32], weights: &mut [Weight]) {
    round_with(shares, weights, &mut Vec::new());
}

/// As [`round`], with room for the members that count: where they lie, and what their weight lacks of its share.
fn round_with(shares: &[f32], weights: &mut [Weight], room: &mut Vec<(usize, f64)>) {
    weights.fill(Weight(0));
    room.clear();
    let counting = shares.iter().enumerate().filter(|(_, share)| **share > 0.0);
    room.extend(counting.map(|(i, &share)| (i, f64::from(share))));
    let sum: f64 = room.iter().map(|(_, share)| share).sum();
    if sum <= 0.0 || !sum.is_finite() {
        return;
    }
    // Weights that sum to 255 already come out as they are: a whole number times 255 over 255 is exact.
    let mut left = WHOLE;
    for (i, share) in room.iter_mut() {
        let quota = *share * f64::from(WHOLE) / sum;
        let whole = (quota as u32).min(left);
        weights[*i] = Weight(whole as u8);
        left -= whole;
        *share = quota - f64::from(whole);
    }
    // One each: fewer are left than there are members.
    while left > 0 {
        let largest = |best: usize, k: usize| if room[k].1 > room[best].1 { k } else { best };
        let first = (1..room.len()).fold(0, largest);
        weights[room[first].0].0 += 1;
        room[first].1 -= 1.0;
        left -= 1;
    }
}

/// The weights of a family on a grid. `shares(member, row, out)` says what a member counts along a row; the members are in
/// the order of their names.
pub fn from_shares(
    cols: usize,
    rows: usize,
    members: usize,
    shares: impl Fn(usize, usize, &mut [f32]) + Sync,
) -> Vec<Raster<Weight>> {
    let mut made = vec![Raster::filled(cols, rows, Weight(0)); members];
    lines_of(&mut made).into_par_iter().with_min_len(8).enumerate().for_each(|(row, mut out)| {
        let mut lines = vec![vec![0.0; cols]; members];
        lines.iter_mut().enumerate().for_each(|(member, line)| shares(member, row, line));
        let (mut here, mut rounded) = (vec![0.0; members], vec![Weight(0); members]);
        let mut room = Vec::with_capacity(members);
        for col in 0..cols {
            here.iter_mut().zip(&lines).for_each(|(share, line)| *share = line[col]);
            round_with(&here, &mut rounded, &mut room);
            out.iter_mut().zip(&rounded).for_each(|(out, weight)| out[col] = *weight);
        }
    });
    made
}

/// The rows of several rasters of one shape: of each row its line in every raster.
pub fn lines_of<T: Copy + Send + Sync>(rasters: &mut [Raster<T>]) -> Vec<Vec<&mut [T]>> {
    let (cols, rows) = rasters.first().map_or((1, 0), |raster| (raster.cols(), raster.rows()));
    let mut lines: Vec<_> = rasters.iter_mut().map(|raster| raster.as_mut_slice().chunks_mut(cols)).collect();
    (0..rows).map(|_| lines.iter_mut().filter_map(Iterator::next).collect()).collect()
}

/// A family between its samples, at all crossings of given columns and rows: bilinear, then rounded.
#[must_use]
pub fn between(family: &[Arc<Raster<Weight>>], cols: &[f64], rows: &[f64]) -> Vec<Raster<Weight>> {
    let split = |at: f64, count: usize| {
        let at = at.clamp(0.0, (count - 1) as f64);
        let first = at.floor() as usize;
        (first, (first + 1).min(count - 1), (at - at.floor()) as f32)
    };
    from_shares(cols.len(), rows.len(), family.len(), |member, row, out| {
        let raster = &family[member];
        let (north, south, down) = split(rows[row], raster.rows());
        let (north, south) = (raster.row(north), raster.row(south));
        for (out, &col) in out.iter_mut().zip(cols) {
            let (west, east, across) = split(col, raster.cols());
            let along = |line: &[Weight]| {
                let [a, b] = [west, east].map(|col| f32::from(line[col].0));
                a + (b - a) * across
            };
            let (a, b) = (along(north), along(south));
            *out = a + (b - a) * down;
        }
    })
}

/// Where the weights of a family sum to neither [`WHOLE`] nor 0, and to what.
#[must_use]
pub fn unsound(family: &[(&LayerName, &Raster<Weight>)]) -> Option<(usize, u32)> {
    let first = family.first()?.1;
    let sum = |at: usize| family.iter().map(|(_, raster)| u32::from(raster.as_slice()[at].0)).sum::<u32>();
    let wrong = |&at: &usize| !matches!(sum(at), 0 | WHOLE);
    (0..first.as_slice().len())
        .into_par_iter()
        .with_min_len(1 << 14)
        .find_first(wrong)
        .map(|at| (at, sum(at)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Seed;

    fn rounded(shares: &[f32]) -> Vec<u8> {
        let mut weights = vec![Weight(0); shares.len()];
        round(shares, &mut weights);
        weights.iter().map(|weight| weight.0).collect()
    }

    #[test]
    fn shares_become_bytes_that_sum_to_255() {
        assert_eq!(rounded(&[1.0, 1.0]), [128, 127]);
        assert_eq!(rounded(&[1.0, 1.0, 1.0, 1.0]), [64, 64, 64, 63]);
        assert_eq!(rounded(&[0.0, 0.0, 1e-30]), [0, 0, 255]);
        assert_eq!(rounded(&[f32::NAN, -3.0, 2.0]), [0, 0, 255]);
        assert_eq!(rounded(&[0.0, f32::NAN]), [0, 0]);
        assert_eq!(rounded(&[f32::INFINITY, 1.0]), [0, 0]);
        assert_eq!(rounded(&[17.0, 200.0, 38.0]), [17, 200, 38]);
        for i in 0..2000 {
            let shares: Vec<f32> =
                (0..1 + i % 40).map(|k| crate::math::pow(Seed(i).unit(k), 4.0) as f32).collect();
            let weights = rounded(&shares);
            assert_eq!(weights.iter().map(|w| u32::from(*w)).sum::<u32>(), WHOLE, "{shares:?}");
            let sum: f32 = shares.iter().sum();
            let far = |(w, s): (&u8, &f32)| (f32::from(*w) - s * 255.0 / sum).abs();
            assert!(weights.iter().zip(&shares).map(far).fold(0.0, f32::max) <= 1.0001);
        }
    }

    #[test]
    fn a_family_between_samples_sums_to_255_and_is_itself_at_them() {
        let family: Vec<_> = from_shares(9, 7, 5, |member, row, out| {
            for (col, share) in out.iter_mut().enumerate() {
                *share = Seed(member as u64).unit2(col as i64, row as i64) as f32;
            }
        });
        let family: Vec<_> = family.into_iter().map(Arc::new).collect();
        let places = |count: usize, step: f64| -> Vec<f64> {
            (0..40).map(|i| -1.0 + step * f64::from(i)).filter(|at| *at < count as f64 + 1.0).collect()
        };
        for step in [1.0, 0.5, 1.0 / 3.0, 0.37] {
            let (cols, rows) = (places(9, step), places(7, step));
            let fine = between(&family, &cols, &rows);
            for (i, &row) in rows.iter().enumerate() {
                for (j, &col) in cols.iter().enumerate() {
                    let here: Vec<u8> = fine.iter().map(|raster| raster.row(i)[j].0).collect();
                    assert_eq!(here.iter().map(|w| u32::from(*w)).sum::<u32>(), WHOLE);
                    if row.fract() == 0.0 && col.fract() == 0.0 {
                        let coarse = family.iter().map(|r| r.clamped(col as isize, row as isize).0);
                        assert_eq!(here, coarse.collect::<Vec<_>>());
                    }
                }
            }
        }
    }

    #[test]
    fn a_broken_sum_is_found() {
        let names = ["material.a", "material.b"].map(LayerName::from);
        let a = Raster::filled(3, 1, Weight(100));
        let mut b = Raster::filled(3, 1, Weight(155));
        assert_eq!(unsound(&[(&names[0], &a), (&names[1], &b)]), None);
        b.as_mut_slice()[2] = Weight(154);
        assert_eq!(unsound(&[(&names[0], &a), (&names[1], &b)]), Some((2, 254)));
    }
}
