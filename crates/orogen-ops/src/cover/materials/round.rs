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
