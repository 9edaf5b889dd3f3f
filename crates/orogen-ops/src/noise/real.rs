//! Numbers that noise is computed with: plain ones, and ones that carry their slope.

use std::ops::{Add, Mul, Sub};

/// What the noise formulas ask of a number.
///
/// They are written once: with `f32` they are the values, with [`Dual`] the values and their derivatives.
pub(super) trait Real: Copy + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self> {
    /// A constant.
    fn of(value: f32) -> Self;
    /// The number alone.
    fn value(self) -> f32;
    /// Its square root; 0 has slope 0 here.
    fn sqrt(self) -> Self;
    /// Itself over the root of another, which is above 0.
    fn over_root(self, square: Self) -> Self;
    /// `a` where the condition holds, else `b`; becomes a blend in vector code.
    #[inline(always)]
    fn pick(condition: bool, a: Self, b: Self) -> Self {
        if condition { a } else { b }
    }
    /// The distance from zero.
    #[inline(always)]
    fn abs(self) -> Self {
        Self::pick(self.value() < 0.0, Self::of(0.0) - self, self)
    }
    /// The smaller of two.
    #[inline(always)]
    fn min(self, other: Self) -> Self {
        Self::pick(self.value() < other.value(), self, other)
    }
    /// The larger of two.
    #[inline(always)]
    fn max(self, other: Self) -> Self {
        Self::pick(self.value() > other.value(), self, other)
    }
}

impl Real for f32 {
    #[inline(always)]
    fn of(value: f32) -> Self {
        value
    }
    #[inline(always)]
    fn value(self) -> f32 {
        self
    }
    #[inline(always)]
    fn sqrt(self) -> Self {
        Self::sqrt(self)
    }
    #[inline(always)]
    fn over_root(self, square: Self) -> Self {
        self / Self::sqrt(square)
    }
    #[inline(always)]
    fn abs(self) -> Self {
        Self::abs(self)
    }
}

/// A value and how it grows to the east and to the north.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Dual {
    /// The value.
    pub value: f32,
    /// Its derivative by x and by y.
    pub slope: [f32; 2],
}

impl Add for Dual {
    type Output = Self;
    #[inline(always)]
    fn add(self, b: Self) -> Self {
        Self { value: self.value + b.value, slope: [self.slope[0] + b.slope[0], self.slope[1] + b.slope[1]] }
    }
}

impl Sub for Dual {
    type Output = Self;
    #[inline(always)]
    fn sub(self, b: Self) -> Self {
        Self { value: self.value - b.value, slope: [self.slope[0] - b.slope[0], self.slope[1] - b.slope[1]] }
    }
}

impl Mul for Dual {
    type Output = Self;
    #[inline(always)]
    #[allow(clippy::suspicious_arithmetic_impl, reason = "the rule for the slope of a product is a sum")]
    fn mul(self, b: Self) -> Self {
        let slope = |i: usize| self.slope[i] * b.value + self.value * b.slope[i];
        Self { value: self.value * b.value, slope: [slope(0), slope(1)] }
    }
}

impl Real for Dual {
    fn of(value: f32) -> Self {
        Self { value, slope: [0.0; 2] }
    }
    fn value(self) -> f32 {
        self.value
    }
    fn sqrt(self) -> Self {
        let root = self.value.sqrt();
        let by = if root > 0.0 { 0.5 / root } else { 0.0 };
        Self { value: root, slope: [self.slope[0] * by, self.slope[1] * by] }
    }
    fn over_root(self, square: Self) -> Self {
        let root = square.value.sqrt();
        let value = self.value / root;
        let slope = |i: usize| self.slope[i] / root - 0.5 * value * square.slope[i] / square.value;
        Self { value, slope: [slope(0), slope(1)] }
    }
}
