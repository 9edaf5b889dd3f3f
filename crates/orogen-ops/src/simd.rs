//! Loops compiled for the vectors of newer processors beside those that every machine of the target has.
//!
//! x86-64 promises SSE2 only, so `dispatch!` compiles what it is given three times: for AVX-512, for AVX2 and as the rest
//! of the program is. On other targets once is enough. Every copy costs time to build, so SSE4.2 has none: hardly a
//! machine has that and not AVX2. Rust never fuses or reorders floating-point operations: all copies give the same bits.

pub(crate) use fearless_simd::Level;

/// `dispatch!(level, _simd => loop)` runs a loop for `level` or the widest vectors below it.
///
/// Functions that it calls become part of a copy only if they are `#[inline(always)]`.
macro_rules! dispatch {
    ($level:expr, _simd => $body:expr) => {{
        let level: $crate::simd::Level = $level;
        #[cfg(target_arch = "x86_64")]
        {
            if let Some(avx512) = level.as_avx512() {
                fearless_simd::Simd::vectorize(
                    avx512,
                    #[inline(always)]
                    || $body,
                )
            } else if let Some(avx2) = level.as_avx2() {
                fearless_simd::Simd::vectorize(
                    avx2,
                    #[inline(always)]
                    || $body,
                )
            } else {
                $body
            }
        }
        #[cfg(not(target_arch = "x86_64"))]
        {
            let _ = level;
            $body
        }
    }};
}
pub(crate) use dispatch;
