//! Fractals: how octaves of noise add up to land.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::real::Real;

/// How octaves add up. `n` is the noise of an octave (zero mean, standard deviation 0.3), `w` its weight
/// `lacunarity^(−hurst·i)`, `t` and `s` are `translate` and `scale`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Fractal {
    /// One octave alone.
    None,
    /// The plain sum of w·n: fractional Brownian motion, equally rough everywhere.
    Fbm,
    /// a₀ = (n + t)·s, then aᵢ = aᵢ₋₁ + aᵢ₋₁·(n + t)·s·w: rough heights over smooth lowland.
    TranslateScale,
    /// The product of w·n + t: rough peaks, still plains.
    Multifractal,
    /// A sum whose octaves count by what the earlier ones reached: smooth valleys, rough heights.
    Hybrid,
    /// Sums (t − |n|·s)² with sharp crests, detail mostly near the crests: mountain ridges.
    Ridged,
    /// The sum of w·|n|: rounded humps between sharp creases.
    Billow,
}

/// The numbers of a fractal besides its weights.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Shape {
    /// What is added to the noise, and what it is multiplied by.
    pub translate: f32,
    pub scale: f32,
}

/// Sum so far and what the next octave counts.
type State<R> = (R, R);

impl Fractal {
    /// Whether it is a plain sum, whose mean and deviation follow from its octaves.
    pub(super) fn is_sum(self) -> bool {
        matches!(self, Self::None | Self::Fbm)
    }

    /// Whether it takes the size of the noise without its sign, and so shows where noise is weak.
    pub(super) fn takes_size(self) -> bool {
        matches!(self, Self::Ridged | Self::Billow)
    }

    /// Adds an octave to every sum of a row.
    #[inline(always)]
    pub(super) fn add_row(
        self,
        shape: Shape,
        first: bool,
        w: f32,
        sums: &mut [f32],
        counts: &mut [f32],
        noise: &[f32],
    ) {
        macro_rules! each {
            ($kind:expr) => {
                if first {
                    each(sums, counts, noise, |_, n| $kind.first(shape, n))
                } else {
                    each(sums, counts, noise, |state, n| $kind.next(shape, w, state, n))
                }
            };
        }
        // One loop for each kind, so that no loop asks which it is.
        match self {
            Self::None | Self::Fbm => each!(Self::Fbm),
            Self::TranslateScale => each!(Self::TranslateScale),
            Self::Multifractal => each!(Self::Multifractal),
            Self::Hybrid => each!(Self::Hybrid),
            Self::Ridged => each!(Self::Ridged),
            Self::Billow => each!(Self::Billow),
        }
    }

    /// The first octave, of weight 1.
    #[inline(always)]
    pub(super) fn first<R: Real>(self, shape: Shape, n: R) -> State<R> {
        let (t, s) = (R::of(shape.translate), R::of(shape.scale));
        let sum = match self {
            Self::None | Self::Fbm => n,
            Self::TranslateScale => (n + t) * s,
            Self::Multifractal => n * s + t,
            Self::Hybrid => n * s + t,
            Self::Ridged => crest(n, t, s),
            Self::Billow => n.abs(),
        };
        (sum, sum)
    }

    /// Every further octave.
    #[inline(always)]
    pub(super) fn next<R: Real>(self, shape: Shape, w: f32, (sum, count): State<R>, n: R) -> State<R> {
        let (t, s, w) = (R::of(shape.translate), R::of(shape.scale), R::of(w));
        match self {
            Self::None | Self::Fbm => (sum + n * w, count),
            Self::TranslateScale => (sum + sum * (n + t) * s * w, count),
            Self::Multifractal => (sum * (n * s * w + t), count),
            Self::Hybrid => {
                let count = count.min(R::of(1.0));
                let signal = (n * s + t) * w;
                (sum + count * signal, count * signal)
            }
            Self::Ridged => {
                let count = (count * R::of(2.0)).min(R::of(1.0)).max(R::of(0.0));
                let signal = crest(n, t, s) * count;
                (sum + signal * w, signal)
            }
            Self::Billow => (sum + n.abs() * w, count),
        }
    }
}

/// The square of how far the noise is from its limit: sharpest where the noise is zero.
#[inline(always)]
fn crest<R: Real>(n: R, t: R, s: R) -> R {
    let height = t - n.abs() * s;
    height * height
}

#[inline(always)]
fn each(sums: &mut [f32], counts: &mut [f32], noise: &[f32], f: impl Fn(State<f32>, f32) -> State<f32>) {
    for ((sum, count), &n) in sums.iter_mut().zip(counts).zip(noise) {
        (*sum, *count) = f((*sum, *count), n);
    }
}
