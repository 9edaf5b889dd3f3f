//! Shares of materials to bytes that sum to 255, a block of a row at a time.

use orogen_core::Weight;

use super::super::rules::BLOCK;
use crate::simd::{Level, dispatch};

/// What rounding goes by.
pub(super) struct Rounding {
    /// The one that lies where none has a share.
    pub fallback: usize,
    pub level: Level,
}

impl Rounding {
    /// Rounds shares, [`BLOCK`] a member, to the weights of the columns from `from` on. Returns how many samples got the fallback, and
    /// how many are land.
    ///
    /// Each member gets what the sum up to it has more than the sum before, both rounded: within one of its part, and all sum to 255.
    /// In a hole all are 0.
    pub fn round(
        &self,
        shares: &mut [f32],
        height: &[f32],
        from: usize,
        out: &mut [&mut [Weight]],
    ) -> [u64; 2] {
        let mut scale = [0.0; BLOCK];
        let scale = &mut scale[..height.len()];
        for line in shares.chunks(BLOCK) {
            dispatch!(self.level, _simd => scale.iter_mut().zip(line).for_each(|(sum, share)| *sum += share));
        }
        let (mut bare, mut land) = (0, 0);
        for (h, (sum, share)) in height.iter().zip(scale.iter_mut().zip(&mut shares[self.fallback * BLOCK..]))
        {
            let here = !h.is_nan();
            let none = here && *sum <= 0.0;
            (land, bare) = (land + u64::from(here), bare + u64::from(none));
            *share = if none { 1.0 } else { *share };
            *sum = if none { 1.0 } else { *sum };
            *sum = if here { 255.0 / *sum } else { 0.0 };
        }
        let count = height.len();
        dispatch!(self.level, _simd => parts(shares, scale, from, count, out));
        [bare, land]
    }
}

/// The differences of rounded sums.
#[inline(always)]
fn parts(shares: &[f32], scale: &[f32], from: usize, count: usize, out: &mut [&mut [Weight]]) {
    /// Added to a number below 2^22, leaves it rounded in the lowest bits.
    const ROUND: f32 = 8_388_608.0;
    let (mut sums, mut before) = ([0.0f32; BLOCK], [0u8; BLOCK]);
    let (sums, before, scale) = (&mut sums[..count], &mut before[..count], &scale[..count]);
    for (line, out) in shares.chunks(BLOCK).zip(out) {
        let (line, out) = (&line[..count], &mut out[from..][..count]);
        for i in 0..count {
            sums[i] += line[i];
            let upto = (sums[i] * scale[i] + ROUND).to_bits() as u8;
            out[i] = Weight(upto.wrapping_sub(before[i]));
            before[i] = upto;
        }
    }
}

#[cfg(test)]
mod tests {
    use orogen_core::{Seed, math, weights::WHOLE};

    use super::*;

    #[test]
    fn bytes_are_within_one_of_their_part_and_sum_to_255() {
        let (cols, members) = (201, 17);
        let share = |member: usize, col: usize| match col {
            0 => 0.0,
            1 if member == 3 => 1e-30,
            1 => 0.0,
            _ => math::pow(Seed(member as u64).unit2(col as i64, 5), 6.0) as f32,
        };
        let height: Vec<f32> = (0..cols).map(|col| if col == 2 { f32::NAN } else { 1.0 }).collect();
        let made = |level: Level| {
            let mut shares = vec![0.0; members * BLOCK];
            for (member, line) in shares.chunks_mut(BLOCK).enumerate() {
                line[..cols].iter_mut().enumerate().for_each(|(col, out)| *out = share(member, col));
            }
            let mut lines = vec![vec![Weight(9); cols + 40]; members];
            let mut out: Vec<&mut [Weight]> = lines.iter_mut().map(Vec::as_mut_slice).collect();
            let counts = Rounding { fallback: 4, level }.round(&mut shares, &height, 30, &mut out);
            assert_eq!(counts, [1, 200], "one has no share, one is a hole");
            lines
        };
        let lines = made(Level::new());
        assert_eq!(lines, made(Level::baseline()), "on every instruction set");
        for col in 0..cols {
            let here: Vec<u8> = lines.iter().map(|line| line[30 + col].0).collect();
            let whole: u32 = here.iter().map(|w| u32::from(*w)).sum();
            assert_eq!(whole, if col == 2 { 0 } else { WHOLE }, "column {col}: {here:?}");
            let sum: f32 = (0..members).map(|m| share(m, col)).sum();
            for (member, weight) in here.iter().enumerate().filter(|_| col > 2) {
                let part = share(member, col) * 255.0 / sum;
                assert!((f32::from(*weight) - part).abs() < 1.001, "{weight} for {part}");
            }
        }
        assert_eq!(lines[4][30], Weight(255), "the fallback");
        assert!(lines.iter().all(|line| line[29] == Weight(9) && line[30 + cols] == Weight(9)));
    }
}
