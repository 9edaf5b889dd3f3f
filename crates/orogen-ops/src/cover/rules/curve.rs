//! The weight of a value: a shape over a range, and how it fades outside.

use super::{Curve, Rule, Shape, Span};
use crate::simd::{Level, dispatch};

/// A rule's weight as a function of its parameter. Straight-line arithmetic, so that rows become vector code.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Weigh {
    min: f32,
    max: f32,
    /// 1 / (max − min), 0 for a single value.
    per: f32,
    /// 1 / fade; the largest number where it does not fade.
    per_fade: f32,
    shape: Form,
    /// The weight is `least + scale · w`.
    least: f32,
    scale: f32,
}

#[derive(Clone, Debug, PartialEq)]
enum Form {
    Flat,
    Bell,
    Rise,
    Fall,
    /// Weight at the start; then where each straight piece starts, 1 / its width, and how much the weight changes over it.
    Points(f32, Vec<[f32; 3]>),
}

impl Weigh {
    pub fn new(rule: &Rule, Span([min, max]): Span) -> Self {
        let shape = match &rule.curve {
            Curve::Named(Shape::Flat) => Form::Flat,
            Curve::Named(Shape::Bell) => Form::Bell,
            Curve::Named(Shape::Rise) => Form::Rise,
            Curve::Named(Shape::Fall) => Form::Fall,
            Curve::Points(points) => {
                let piece = |pair: &[[f64; 2]]| {
                    [
                        pair[0][0] as f32,
                        (1.0 / (pair[1][0] - pair[0][0])) as f32,
                        (pair[1][1] - pair[0][1]) as f32,
                    ]
                };
                Form::Points(
                    points.first().map_or(0.0, |p| p[1] as f32),
                    points.windows(2).map(piece).collect(),
                )
            }
        };
        let (least, scale) = scaled(rule);
        Self {
            min: min as f32,
            max: max as f32,
            per: if max > min { (1.0 / (max - min)) as f32 } else { 0.0 },
            per_fade: ((1.0 / rule.fade) as f32).min(f32::MAX),
            shape,
            least,
            scale,
        }
    }

    /// The weight of a value, 0 to 1; 0 of a hole.
    #[inline]
    pub fn at(&self, x: f32) -> f32 {
        match &self.shape {
            Form::Flat => self.weigh(x, |_| 1.0),
            Form::Bell => self.weigh(x, bell),
            Form::Rise => self.weigh(x, smooth),
            Form::Fall => self.weigh(x, |t| 1.0 - smooth(t)),
            Form::Points(start, pieces) => self.weigh(x, |t| along(*start, pieces, t)),
        }
    }

    /// Multiplies weights by those of values, with the bits of [`Weigh::at`], and says whether any is left.
    pub fn times(&self, level: Level, values: &[f32], weights: &mut [f32]) -> bool {
        match &self.shape {
            Form::Flat => dispatch!(level, _simd => self.times_each(values, weights, |_| 1.0)),
            Form::Bell => dispatch!(level, _simd => self.times_each(values, weights, bell)),
            Form::Rise => dispatch!(level, _simd => self.times_each(values, weights, smooth)),
            Form::Fall => dispatch!(level, _simd => self.times_each(values, weights, |t| 1.0 - smooth(t))),
            Form::Points(start, pieces) => {
                dispatch!(level, _simd => self.times_each(values, weights, |t| along(*start, pieces, t)))
            }
        }
    }

    #[inline(always)]
    fn times_each(&self, values: &[f32], weights: &mut [f32], shape: impl Fn(f32) -> f32) -> bool {
        let mut bits = 0;
        for (weight, value) in weights.iter_mut().zip(values) {
            *weight *= self.weigh(*value, &shape);
            bits |= weight.to_bits();
        }
        // All but the sign.
        bits << 1 != 0
    }

    /// Every comparison is the one that vectors have: of two numbers the second where one is missing.
    #[inline(always)]
    fn weigh(&self, x: f32, shape: impl Fn(f32) -> f32) -> f32 {
        let t = (x - self.min) * self.per;
        let t = if t > 0.0 { t } else { 0.0 };
        let t = if t < 1.0 { t } else { 1.0 };
        let (below, above) = (self.min - x, x - self.max);
        let outside = if below > above { below } else { above };
        let outside = if 0.0 > outside { 0.0 } else { outside };
        // Without a fade the factor is so large that whatever is outside has faded. A hole has too.
        let faded = outside * self.per_fade;
        let faded = if faded < 1.0 { faded } else { 1.0 };
        let weight = self.least + self.scale * (shape(t) * (1.0 - smooth(faded)));
        if x.is_nan() { 0.0 } else { weight }
    }
}

/// Whether any weight is above 0.
pub(super) fn any(level: Level, weights: &[f32]) -> bool {
    #[inline(always)]
    fn bits(weights: &[f32]) -> u32 {
        weights.iter().fold(0, |bits, weight| bits | weight.to_bits())
    }
    dispatch!(level, _simd => bits(weights)) << 1 != 0
}

/// What `except` and `strength` make of a weight: the least it may be, and what the weight is multiplied by.
pub(super) fn scaled(rule: &Rule) -> (f32, f32) {
    let strength = rule.strength as f32;
    if rule.except { (1.0, -strength) } else { (1.0 - strength, strength) }
}

#[inline(always)]
fn smooth(t: f32) -> f32 {
    t * t * (3.0 - 2.0 * t)
}

#[inline(always)]
fn bell(t: f32) -> f32 {
    let u = t * (1.0 - t);
    16.0 * u * u
}

#[inline(always)]
fn along(start: f32, pieces: &[[f32; 3]], t: f32) -> f32 {
    let sum = pieces
        .iter()
        .fold(start, |sum, [from, per, change]| sum + change * ((t - from) * per).clamp(0.0, 1.0));
    // The changes may add up to a last bit too much.
    sum.clamp(0.0, 1.0)
}

/// The farthest distance at which the weight of a distance still changes, given that none is farther than `most`.
pub(super) fn farthest(rule: &Rule, Span([min, max]): Span, most: f64) -> f64 {
    // Where the weight changes: at both ends, within fades, and all over a range that is not flat.
    let mut changes = vec![[min - rule.fade, min], [max, max + rule.fade]];
    if rule.curve != Curve::default() {
        changes.push([min, max]);
    }
    let met = changes.into_iter().filter(|[from, to]| *to > -most && *from < most);
    met.flatten().fold(0.0, |far: f64, end| far.max(end.abs().min(most)))
}
