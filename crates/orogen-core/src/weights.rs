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

/// Weights of a family from all members of a row at once: `shares(row, lines)` sets what each counts along it.
///
/// For work where rounding must not cost more than finding the shares: each member gets what the sum up to it has more than the
/// sum before, both rounded, which is within one of its part and sums to [`WHOLE`] all the same. All are 0 where no share is above 0.
///
/// # Errors
/// The failure of a row.
pub fn from_rows<E: Send>(
    cols: usize,
    rows: usize,
    members: usize,
    shares: impl Fn(usize, &mut [Vec<f32>]) -> Result<(), E> + Sync,
) -> Result<Vec<Raster<Weight>>, E> {
    let mut made = vec![Raster::filled(cols, rows, Weight(0)); members];
    let start = || (vec![vec![0.0; cols]; members], Summing::default());
    lines_of(&mut made).into_par_iter().with_min_len(8).enumerate().try_for_each_init(
        start,
        |(lines, summing), (row, mut out)| {
            shares(row, lines)?;
            summing.round(lines, &mut out);
            Ok(())
        },
    )?;
    Ok(made)
}

/// The rows of several rasters: of each row its line in every raster.
fn lines_of(rasters: &mut [Raster<Weight>]) -> Vec<Vec<&mut [Weight]>> {
    let (cols, rows) = rasters.first().map_or((1, 0), |raster| (raster.cols(), raster.rows()));
    let mut lines: Vec<_> = rasters.iter_mut().map(|raster| raster.as_mut_slice().chunks_mut(cols)).collect();
    (0..rows).map(|_| lines.iter_mut().filter_map(Iterator::next).collect()).collect()
}

/// Buffers of one thread: sums along a row.
#[derive(Default)]
struct Summing {
    scale: Vec<f32>,
    sum: Vec<f32>,
    before: Vec<i32>,
}

impl Summing {
    /// Rounds a row: straight-line arithmetic along it, so that it becomes vector code.
    fn round(&mut self, lines: &[Vec<f32>], out: &mut [&mut [Weight]]) {
        let cols = lines.first().map_or(0, Vec::len);
        let counts = |share: f32| if share > 0.0 { share } else { 0.0 };
        self.scale.clear();
        self.scale.resize(cols, 0.0);
        for line in lines {
            self.scale.iter_mut().zip(line).for_each(|(sum, &share)| *sum += counts(share));
        }
        // An infinite sum has a scale of 0, and infinity times 0 counts as 0 below.
        let whole = WHOLE as f32;
        self.scale.iter_mut().for_each(|sum| *sum = if *sum > 0.0 { whole / *sum } else { 0.0 });
        self.sum.clear();
        self.sum.resize(cols, 0.0);
        self.before.clear();
        self.before.resize(cols, 0);
        for (line, out) in lines.iter().zip(out) {
            let sums = self.sum.iter_mut().zip(&self.scale).zip(&mut self.before);
            for ((out, &share), ((sum, &scale), before)) in out.iter_mut().zip(line).zip(sums) {
                *sum += counts(share);
                // The last sum is the whole one, in the same order: a last bit more or less than 255 rounds to 255.
                let upto = (*sum * scale + 0.5) as i32;
                *out = Weight((upto - *before) as u8);
                *before = upto;
            }
        }
    }
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
    fn rows_are_rounded_within_one_and_sum_to_255() {
        let (cols, members) = (301, 17);
        let share = |member: usize, col: usize| match col {
            0 => 0.0,
            1 => f32::NAN,
            2 if member == 3 => 1e-30,
            2 => -1.0,
            _ => crate::math::pow(Seed(member as u64).unit2(col as i64, 5), 6.0) as f32,
        };
        let made = from_rows(cols, 2, members, |_, lines| {
            for (member, line) in lines.iter_mut().enumerate() {
                line.iter_mut().enumerate().for_each(|(col, out)| *out = share(member, col));
            }
            Ok::<(), ()>(())
        })
        .unwrap();
        for col in 0..cols {
            let here: Vec<u8> = made.iter().map(|raster| raster.row(1)[col].0).collect();
            let sum: f32 = (0..members).map(|m| share(m, col).max(0.0)).sum();
            let whole: u32 = here.iter().map(|w| u32::from(*w)).sum();
            assert_eq!(whole, if sum > 0.0 { WHOLE } else { 0 }, "column {col}: {here:?}");
            for (member, weight) in here.iter().enumerate().filter(|_| sum > 0.0) {
                let part = share(member, col).max(0.0) * 255.0 / sum;
                assert!((f32::from(*weight) - part).abs() < 1.001, "{weight} for {part}");
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
