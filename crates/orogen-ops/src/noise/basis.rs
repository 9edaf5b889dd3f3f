//! The bases: one octave of noise, written so that rows and single places share every operation.
//!
//! Land is scanned in rows, and along a row the position between two lattice lines is fixed. So each formula has two
//! halves. `line` is what one lattice line contributes to a column: all hashing, all gradients, a handful of numbers.
//! `mix` joins the lines next to a sample. A row kernel keeps the numbers of the lines while it scans the rows between
//! them, so that hashing is paid once per lattice line and not once per sample. A single place calls both halves:
//! the same operations in the same order, so the same bits.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::real::Real;

/// The shape of one octave.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Basis {
    /// Random heights at the points of a square lattice, joined smoothly: soft bumps and hollows.
    Value,
    /// Random slopes at the points of a square lattice: Perlin's noise.
    Perlin,
    /// Random slopes at the points of a triangular lattice: rounder than Perlin's.
    Simplex,
    /// Distance to scattered points, one in each cell: cells, cobbles, cracks.
    Worley,
    /// One random height for each cell, unjoined: steps.
    White,
}

/// Which distance Worley noise takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Distance {
    /// To the nearest point: round pits.
    F1,
    /// To the second nearest point.
    F2,
    /// The difference of the two: 0 on the borders between cells.
    F2MinusF1,
}

impl Distance {
    /// What the nearest and the second nearest distance count.
    pub(super) fn counts(self) -> [f32; 2] {
        match self {
            Self::F1 => [1.0, 0.0],
            Self::F2 => [0.0, 1.0],
            Self::F2MinusF1 => [-1.0, 1.0],
        }
    }
}

impl Basis {
    /// Mean and standard deviation over the plane: those of Worley noise were measured on 2^24 places, the others follow from
    /// the formulas. A test holds them to it.
    pub(super) fn moments(self, distance: Distance, even: bool) -> [f64; 2] {
        match (self, even, distance) {
            (Self::Value, false, _) => [0.0, 0.365_483],
            (Self::Perlin, false, _) => [0.0, 0.164_940],
            (Self::Simplex, false, _) => [0.0, 0.005_611_6],
            (Self::Value, true, _) => [0.0, 1.0],
            (Self::Perlin, true, _) => [0.0, 0.200_105],
            (Self::Simplex, true, _) => [0.0, 0.016_834_7],
            (Self::White, _, _) => [0.0, 0.577_350_27],
            (Self::Worley, _, Distance::F1) => [0.4149, 0.17666],
            (Self::Worley, _, Distance::F2) => [0.6998, 0.15803],
            (Self::Worley, _, Distance::F2MinusF1) => [0.2850, 0.20515],
        }
    }

    /// Size of a lattice cell in wavelengths, across and up: one lattice point per square wavelength for all.
    pub(super) fn cell(self) -> [f64; 2] {
        match self {
            // Sides √(2/√3) long: triangles of area one half.
            Self::Simplex => [1.074_569_931_823_542, 0.930_604_859_102_099_6],
            _ => [1.0, 1.0],
        }
    }
}

/// A lattice line: its hash, and whether every point on it is moved by half a cell (triangular lattices).
#[derive(Clone, Copy, Debug)]
pub(super) struct Line {
    pub hash: u32,
    pub odd: u32,
}

impl Line {
    /// A line of a lattice.
    #[inline(always)]
    pub fn new(line: u32, seed: u32) -> Self {
        Self { hash: scramble(line.wrapping_mul(0x9e37_79b9) ^ seed), odd: line & 1 }
    }
}

/// Where a sample lies across lattice columns: the column left of it and the share of the way to the next.
#[derive(Clone, Copy, Debug)]
pub(super) struct Column<R> {
    pub cell: u32,
    pub t: R,
    /// Columns after which the lattice repeats; 0 for never.
    pub period: u32,
}

/// The lattice index after one, wrapped. With a period of 0 it is the plain neighbour: `u32::MAX` + 1 is 0 anyway.
#[inline(always)]
pub(super) fn next(index: u32, period: u32) -> u32 {
    let next = index.wrapping_add(1);
    if next == period { 0 } else { next }
}

/// The lattice index before one, wrapped likewise.
#[inline(always)]
pub(super) fn previous(index: u32, period: u32) -> u32 {
    let last = period.wrapping_sub(1);
    if index == 0 { last } else { index.wrapping_sub(1) }
}

/// The most numbers a line has for a column.
pub(super) const MOST: usize = 6;

/// The formula of a basis, in its two halves.
pub(super) trait Formula {
    /// How many numbers a line has for a column.
    const NUMBERS: usize;
    /// How many lines a sample lies between, and how many of them beyond the one right below it.
    const LINES: usize;
    const BELOW: u32;
    /// What a line contributes to a column.
    fn line<R: Real>(at: Column<R>, line: Line) -> [R; MOST];
    /// The noise a share `v` of the way from the line below to the line above.
    fn mix<R: Real>(lines: [[R; MOST]; 3], v: R, counts: [f32; 2]) -> R;
}

/// A bijective scramble of 32 bits.
#[inline(always)]
fn scramble(mut h: u32) -> u32 {
    h = (h ^ (h >> 16)).wrapping_mul(0x7feb_352d);
    h = (h ^ (h >> 15)).wrapping_mul(0x846c_a68b);
    h ^ (h >> 16)
}

/// 32 random bits of a lattice point.
#[inline(always)]
fn bits(cell: u32, line: Line) -> u32 {
    scramble(cell.wrapping_mul(0x85eb_ca6b) ^ line.hash)
}

/// A number in -1..1 from random bits.
#[inline(always)]
fn signed(bits: u32) -> f32 {
    (bits as i32) as f32 * (1.0 / 2_147_483_648.0)
}

/// A slope of any direction, 1 to 1.06 long: two parabolas stand in for sine and cosine of a random angle.
///
/// Its components have equal variance and no correlation, which is all that the spectrum of the noise sees.
#[inline(always)]
fn slope(bits: u32) -> [f32; 2] {
    let parabola = |t: f32| t * (4.0 - 4.0 * t.abs());
    [parabola(signed(bits)), parabola(signed(bits.wrapping_add(1 << 30)))]
}

/// The height of a point of an even lattice, -1 to 1, beside its slope.
///
/// Fractals that take the size of the noise (ridged, billow) show where noise is strong and where it is weak. Noise of
/// slopes alone is 0 at every lattice point, and that of heights is strongest there: the lattice shows. The right mixture of
/// both is equally strong everywhere.
#[inline(always)]
fn level(bits: u32) -> f32 {
    signed(bits.wrapping_mul(0x9e37_79b1))
}

/// What a point of a square lattice counts a share `t` of a cell away along one axis: 1 there, 0 a cell away.
///
/// ```text
/// (1 − t²)³ (1 − t² + 5/2 t⁴)
/// ```
///
/// First and second derivative are 0 at both ends. Noise on squares looks alike in all directions as far as this curve
/// is a bell curve, whose product over two axes is round. Of the curves of this degree it is the one that is nearly
/// round without being so narrow that the points stand alone: directions differ by at most 3.5 % for Perlin noise and
/// 8 % for value noise, where Perlin's own curve of fifth degree gives 21 % and 8 %, and more for single lengths of wave.
#[inline(always)]
fn weight<R: Real>(t: R) -> R {
    let square = t * t;
    let rest = R::of(1.0) - square;
    rest * rest * rest * (rest + R::of(2.5) * square * square)
}

#[inline(always)]
fn numbers<R: Real>(a: R, b: R) -> [R; MOST] {
    let none = R::of(0.0);
    [a, b, none, none, none, none]
}

pub(super) struct Value;

impl Formula for Value {
    const NUMBERS: usize = 1;
    const LINES: usize = 2;
    const BELOW: u32 = 0;

    #[inline(always)]
    fn line<R: Real>(at: Column<R>, line: Line) -> [R; MOST] {
        let (left, right) = (signed(bits(at.cell, line)), signed(bits(next(at.cell, at.period), line)));
        numbers(R::of(left) * weight(at.t) + R::of(right) * weight(at.t - R::of(1.0)), R::of(0.0))
    }

    #[inline(always)]
    fn mix<R: Real>([[a, ..], [b, ..], _]: [[R; MOST]; 3], v: R, _: [f32; 2]) -> R {
        a * weight(v) + b * weight(v - R::of(1.0))
    }
}

pub(super) struct White;

impl Formula for White {
    const NUMBERS: usize = 1;
    const LINES: usize = 1;
    const BELOW: u32 = 0;

    #[inline(always)]
    fn line<R: Real>(at: Column<R>, line: Line) -> [R; MOST] {
        numbers(R::of(signed(bits(at.cell, line))), R::of(0.0))
    }

    #[inline(always)]
    fn mix<R: Real>(lines: [[R; MOST]; 3], _: R, _: [f32; 2]) -> R {
        lines[0][0]
    }
}

/// Heights and some slope at the points of a square lattice, divided by the deviation that this has at a place.
pub(super) struct EvenValue;

impl EvenValue {
    /// Variance of either part of a slope, and of a height.
    const SLOPE: f32 = 8.0 / 15.0;
    const LEVEL: f32 = 0.6 * 0.6 / 3.0;

    #[inline(always)]
    fn weight<R: Real>(t: R) -> R {
        let rest = R::of(1.0) - t * t;
        rest * rest
    }

    /// Sums of the squared weights of two points, and of these times the squared distance.
    #[inline(always)]
    fn sums<R: Real>(t: R) -> [R; 2] {
        let past = t - R::of(1.0);
        let (left, right) = (Self::weight(t), Self::weight(past));
        let (left, right) = (left * left, right * right);
        [left + right, left * (t * t) + right * (past * past)]
    }
}

impl Formula for EvenValue {
    const NUMBERS: usize = 6;
    const LINES: usize = 2;
    const BELOW: u32 = 0;

    #[inline(always)]
    fn line<R: Real>(at: Column<R>, line: Line) -> [R; MOST] {
        let (l, r) = (bits(at.cell, line), bits(next(at.cell, at.period), line));
        let ([lx, ly], [rx, ry]) = (slope(l), slope(r));
        let past = at.t - R::of(1.0);
        let (left, right) = (Self::weight(at.t), Self::weight(past));
        let along = left * (R::of(lx) * at.t + R::of(0.6 * level(l)))
            + right * (R::of(rx) * past + R::of(0.6 * level(r)));
        let [all, far] = Self::sums(at.t);
        let none = R::of(0.0);
        [
            along,
            R::of(ly) * left + R::of(ry) * right,
            R::of(Self::LEVEL) * all + R::of(Self::SLOPE) * far,
            R::of(Self::SLOPE) * all,
            none,
            none,
        ]
    }

    #[inline(always)]
    fn mix<R: Real>([a, b, _]: [[R; MOST]; 3], v: R, _: [f32; 2]) -> R {
        let past = v - R::of(1.0);
        let (below, above) = (Self::weight(v), Self::weight(past));
        let noise = (a[0] * below + a[1] * (below * v)) + (b[0] * above + b[1] * (above * past));
        // The last two numbers belong to the column and are those of either line.
        let [all, far] = Self::sums(v);
        noise.over_root(a[2] * all + a[3] * far)
    }
}

/// A line gives the part that stays and the part that grows with the distance from it. `EVEN` adds heights to the slopes.
pub(super) struct Perlin<const EVEN: bool>;

impl<const EVEN: bool> Formula for Perlin<EVEN> {
    const NUMBERS: usize = 2;
    const LINES: usize = 2;
    const BELOW: u32 = 0;

    #[inline(always)]
    fn line<R: Real>(at: Column<R>, line: Line) -> [R; MOST] {
        let (l, r) = (bits(at.cell, line), bits(next(at.cell, at.period), line));
        let ([lx, ly], [rx, ry]) = (slope(l), slope(r));
        let past = at.t - R::of(1.0);
        let (left, right) = (weight(at.t), weight(past));
        let mut along = R::of(lx) * (left * at.t) + R::of(rx) * (right * past);
        if EVEN {
            along = along + (R::of(0.31 * level(l)) * left + R::of(0.31 * level(r)) * right);
        }
        numbers(along, R::of(ly) * left + R::of(ry) * right)
    }

    #[inline(always)]
    fn mix<R: Real>([[a, da, ..], [b, db, ..], _]: [[R; MOST]; 3], v: R, _: [f32; 2]) -> R {
        // Four factors that are the same for a whole row.
        let past = v - R::of(1.0);
        let (below, above) = (weight(v), weight(past));
        (a * below + da * (below * v)) + (b * above + db * (above * past))
    }
}

/// Simplex noise on triangles with one side along the lines.
///
/// Of the two points left and right on the line below and the two on the line above, three are the corners of the
/// triangle a sample lies in; the fourth is too far away to count, so no cases need to be distinguished. `EVEN` adds
/// heights to the slopes, and lets points count further out.
pub(super) struct Simplex<const EVEN: bool>;

/// Side and height of a triangle when a point reaches √½ far: just across the triangles it is a corner of.
const SIDE: f32 = 0.816_496_6;
const HEIGHT: f32 = std::f32::consts::FRAC_1_SQRT_2;
const REACH_SQUARED: f32 = 0.5;

impl<const EVEN: bool> Formula for Simplex<EVEN> {
    const NUMBERS: usize = 6;
    const LINES: usize = 2;
    const BELOW: u32 = 0;

    #[inline(always)]
    fn line<R: Real>(at: Column<R>, line: Line) -> [R; MOST] {
        // Points of odd lines lie half a cell further right.
        let half = 0.5 * line.odd as f32;
        let shifted = at.t - R::of(half);
        let before = shifted.value() < 0.0;
        let t = shifted + R::of(f32::from(u8::from(before)));
        let stepped = at.cell.wrapping_sub(u32::from(before));
        let left = if stepped == u32::MAX { at.period.wrapping_sub(1) } else { stepped };
        let right = next(left, at.period);
        let (l, r) = (bits(left, line), bits(right, line));
        let ([lx, ly], [rx, ry]) = (slope(l), slope(r));
        let (dl, dr) = (t * R::of(SIDE), (t - R::of(1.0)) * R::of(SIDE));
        let (mut along_l, mut along_r) = (R::of(lx) * dl, R::of(rx) * dr);
        if EVEN {
            along_l = along_l + R::of(0.2 * level(l));
            along_r = along_r + R::of(0.2 * level(r));
        }
        [dl * dl, along_l, R::of(ly), dr * dr, along_r, R::of(ry)]
    }

    #[inline(always)]
    fn mix<R: Real>([a, b, _]: [[R; MOST]; 3], v: R, _: [f32; 2]) -> R {
        let part = |reach: R, dy: R, squared: R, along: R, up: R| {
            let left = (reach - squared).max(R::of(0.0));
            let weight = left * left;
            (if EVEN { weight * left } else { weight * weight }) * (along + up * dy)
        };
        let (below, above) = (v * R::of(HEIGHT), (v - R::of(1.0)) * R::of(HEIGHT));
        let (reach_a, reach_b) = (R::of(REACH_SQUARED) - below * below, R::of(REACH_SQUARED) - above * above);
        let on_a = part(reach_a, below, a[0], a[1], a[2]) + part(reach_a, below, a[3], a[4], a[5]);
        let on_b = part(reach_b, above, b[0], b[1], b[2]) + part(reach_b, above, b[3], b[4], b[5]);
        on_a + on_b
    }
}

/// Points stay this far inside their cell, so that one beyond the neighbouring cells is over 1 + INSET away.
const INSET: f32 = 0.1;

pub(super) struct Worley;

impl Formula for Worley {
    const NUMBERS: usize = 6;
    const LINES: usize = 3;
    const BELOW: u32 = 1;

    #[inline(always)]
    fn line<R: Real>(at: Column<R>, line: Line) -> [R; MOST] {
        let inside = |bits: u32| INSET + (1.0 - 2.0 * INSET) / 65536.0 * bits as i32 as f32;
        let point = |cell: u32, column: f32| {
            let bits = bits(cell, line);
            let dx = R::of(inside(bits >> 16) + column) - at.t;
            [dx * dx, R::of(inside(bits & 0xffff))]
        };
        let [a, b, c] = [
            point(previous(at.cell, at.period), -1.0),
            point(at.cell, 0.0),
            point(next(at.cell, at.period), 1.0),
        ];
        [a[0], a[1], b[0], b[1], c[0], c[1]]
    }

    #[inline(always)]
    fn mix<R: Real>(lines: [[R; MOST]; 3], v: R, [one, two]: [f32; 2]) -> R {
        // No further than what cannot be seen from here: beyond it the distance would jump at cell borders.
        let most = R::of((1.0 + INSET) * (1.0 + INSET));
        let (mut first, mut second) = (most, most);
        for (i, line) in lines.iter().enumerate() {
            for k in [0, 2, 4] {
                let dy = line[k + 1] + R::of(i as f32 - 1.0) - v;
                let squared = line[k] + dy * dy;
                second = second.min(first.max(squared));
                first = first.min(squared);
            }
        }
        R::of(one) * first.sqrt() + R::of(two) * second.sqrt()
    }
}
