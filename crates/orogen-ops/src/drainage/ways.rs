//! The way down from each cell: to the neighbour at the end of the steepest slope.

use orogen_core::{D8, Raster, Seed};

use super::RasterPool;
use crate::simd::{Level, dispatch};

/// No way: a pit, a hole, or a place where water leaves the map.
pub const NOWHERE: u8 = 8;

/// Columns worked on at a time: a fixed count, so that the inner loops become vector code.
const LANES: usize = 64;
/// The same with one more on either side.
const PADDED: usize = LANES + 2;

/// The way from each cell, as an index into [`D8`] or [`NOWHERE`].
#[derive(Clone, Debug, PartialEq)]
pub struct Ways(pub Raster<u8>);

/// How near the neighbours are: one over the distance, for each way.
#[derive(Clone, Debug)]
pub enum Spans {
    /// On an even grid.
    Even([f32; 8]),
    /// Cell by cell, where nodes are moved off the grid.
    Each(Vec<[f32; 8]>),
}

impl Spans {
    /// Those of a grid.
    #[must_use]
    pub fn even([dx, dy]: [f64; 2]) -> Self {
        Self::Even(D8.map(|(dc, dr)| {
            let (x, y) = (f64::from(dc) * dx, f64::from(dr) * dy);
            (1.0 / (x * x + y * y).sqrt()) as f32
        }))
    }

    /// One over the distance from a cell along a way.
    #[inline]
    #[must_use]
    pub fn per_m(&self, cell: usize, way: usize) -> f32 {
        match self {
            Self::Even(spans) => spans[way],
            Self::Each(spans) => spans[cell][way],
        }
    }
}

/// How water strays from the steepest way: every slope counts for up to so much more or less, by a random number of its own
/// that stays the same.
#[derive(Clone, Copy, Debug)]
pub struct Wander {
    seed: u32,
    by: f32,
}

impl Wander {
    /// Slopes count for up to `by` (a share) more or less.
    #[must_use]
    pub fn new(seed: Seed, by: f64) -> Self {
        Self { seed: seed.bits(0) as u32, by: by as f32 }
    }

    /// 32 random bits for a cell, four for each way.
    #[inline(always)]
    fn bits(self, col: u32, row: u32) -> u32 {
        let mut x = self.seed ^ col.wrapping_mul(0x9e37_79b1) ^ row.wrapping_mul(0x85eb_ca77);
        x = (x ^ (x >> 16)).wrapping_mul(0x7feb_352d);
        x = (x ^ (x >> 15)).wrapping_mul(0x846c_a68b);
        x ^ (x >> 16)
    }

    /// What the slope along the way `k` counts for, given the bits of its cell.
    #[inline(always)]
    fn factor(self, bits: u32, k: usize) -> f32 {
        let draw = ((bits >> (4 * k)) & 15) as i32 as f32;
        1.0 + self.by * (draw * (2.0 / 15.0) - 1.0)
    }

    fn factors(self, col: u32, row: u32) -> [f32; 8] {
        let bits = self.bits(col, row);
        std::array::from_fn(|k| self.factor(bits, k))
    }
}

impl Ways {
    /// Down the steepest slope on an even grid; sea, holes and pits lead nowhere. 5 bytes a cell.
    #[must_use]
    pub fn steepest(height: &Raster<f32>, spacing_m: [f64; 2], sea_m: f32) -> Self {
        Self::along(height, &Spans::even(spacing_m), sea_m)
    }

    /// Down the steepest slope between neighbours at given distances.
    #[must_use]
    pub fn along(height: &Raster<f32>, spans: &Spans, sea_m: f32) -> Self {
        Self::along_in(height, spans, sea_m, Raster::filled(height.cols(), height.rows(), NOWHERE))
    }

    /// Downhill, though not always by the steepest of the eight ways.
    ///
    /// On smooth slopes water would run in straight lines along the lattice; this takes it down the slope in the mean, as a
    /// random walk does. Where ground is hollow it still gathers.
    #[must_use]
    pub fn wandering(height: &Raster<f32>, spans: &Spans, sea_m: f32, wander: Wander) -> Self {
        let mut ways = Raster::filled(height.cols(), height.rows(), NOWHERE);
        let (cols, level) = (height.cols(), Level::new());
        ways.par_rows(|row, out| match spans {
            Spans::Even(spans) => {
                dispatch!(level, _simd => wandering_row(height, row, spans, sea_m, wander, out));
            }
            Spans::Each(spans) => {
                for (col, way) in out.iter_mut().enumerate() {
                    let factors = wander.factors(col as u32, row as u32);
                    let spans = std::array::from_fn(|k| spans[row * cols + col][k] * factors[k]);
                    *way = steepest_cell(height, col, row, &spans, sea_m);
                }
            }
        });
        Self(ways)
    }

    /// The same in a raster of the same size.
    pub(super) fn along_in(height: &Raster<f32>, spans: &Spans, sea_m: f32, mut ways: Raster<u8>) -> Self {
        let cols = height.cols();
        let level = Level::new();
        ways.par_rows(|row, out| match spans {
            Spans::Even(spans) => {
                dispatch!(level, _simd => steepest_row(height, row, spans, sea_m, out));
            }
            Spans::Each(spans) => {
                for (col, way) in out.iter_mut().enumerate() {
                    *way = steepest_cell(height, col, row, &spans[row * cols + col], sea_m);
                }
            }
        });
        Self(ways)
    }

    /// The cell that a cell drains to, if any.
    #[inline]
    #[must_use]
    pub fn next(&self, cell: usize) -> Option<usize> {
        let way = self.0.as_slice()[cell];
        (way != NOWHERE).then(|| step(cell, way, self.0.cols()))
    }

    /// Which neighbours drain to each cell: bit `k` for the one along [`D8`]`[k]`. 2 bytes a cell.
    #[must_use]
    pub fn donors(&self) -> Raster<u8> {
        self.donors_in(&mut RasterPool::default())
    }

    /// The same in a raster of a pool.
    #[must_use]
    pub fn donors_in(&self, pool: &mut RasterPool) -> Raster<u8> {
        let mut donors = pool.bytes(self.0.cols(), self.0.rows());
        let level = Level::new();
        donors.par_rows(|row, out| dispatch!(level, _simd => donors_row(&self.0, row, out)));
        donors
    }
}

/// The cell that a way leads to.
#[inline]
#[must_use]
pub fn step(cell: usize, way: u8, cols: usize) -> usize {
    let (dc, dr) = D8[way as usize & 7];
    cell.wrapping_add_signed(dr as isize * cols as isize + dc as isize)
}

/// The way back.
#[inline]
#[must_use]
pub fn back(way: u8) -> u8 {
    (way + 4) & 7
}

#[inline(always)]
fn steepest_row(height: &Raster<f32>, row: usize, spans: &[f32; 8], sea_m: f32, out: &mut [u8]) {
    for (chunk, out) in out.chunks_mut(LANES).enumerate() {
        let start = chunk * LANES;
        let lines = [
            line(height, row.wrapping_sub(1), start, f32::NAN),
            line(height, row, start, f32::NAN),
            line(height, row + 1, start, f32::NAN),
        ];
        let here: &[f32; PADDED] = &lines[1];
        let mut best = [0f32; LANES];
        let mut way = [u32::from(NOWHERE); LANES];
        for (k, &(dc, dr)) in D8.iter().enumerate() {
            let other = &lines[(dr + 1) as usize];
            let at = (dc + 1) as usize;
            for i in 0..LANES {
                // Comparisons with a hole are false: nothing flows into one.
                let grade = (here[i + 1] - other[i + at]) * spans[k];
                let better = grade > best[i];
                best[i] = if better { grade } else { best[i] };
                way[i] = if better { k as u32 } else { way[i] };
            }
        }
        for i in 0..LANES {
            way[i] = if here[i + 1] <= sea_m { u32::from(NOWHERE) } else { way[i] };
        }
        for (out, way) in out.iter_mut().zip(&way) {
            *out = *way as u8;
        }
    }
}

/// As [`steepest_row`], with slopes that count for more or less.
#[inline(always)]
fn wandering_row(
    height: &Raster<f32>,
    row: usize,
    spans: &[f32; 8],
    sea_m: f32,
    wander: Wander,
    out: &mut [u8],
) {
    for (chunk, out) in out.chunks_mut(LANES).enumerate() {
        let start = chunk * LANES;
        let lines = [
            line(height, row.wrapping_sub(1), start, f32::NAN),
            line(height, row, start, f32::NAN),
            line(height, row + 1, start, f32::NAN),
        ];
        let here: &[f32; PADDED] = &lines[1];
        let mut bits = [0u32; LANES];
        for (i, bits) in bits.iter_mut().enumerate() {
            *bits = wander.bits((start + i) as u32, row as u32);
        }
        let mut best = [0f32; LANES];
        let mut way = [u32::from(NOWHERE); LANES];
        for (k, &(dc, dr)) in D8.iter().enumerate() {
            let other = &lines[(dr + 1) as usize];
            let at = (dc + 1) as usize;
            for i in 0..LANES {
                let grade = (here[i + 1] - other[i + at]) * (spans[k] * wander.factor(bits[i], k));
                let better = grade > best[i];
                best[i] = if better { grade } else { best[i] };
                way[i] = if better { k as u32 } else { way[i] };
            }
        }
        for (i, out) in out.iter_mut().enumerate() {
            *out = if here[i + 1] <= sea_m { NOWHERE } else { way[i] as u8 };
        }
    }
}

fn steepest_cell(height: &Raster<f32>, col: usize, row: usize, spans: &[f32; 8], sea_m: f32) -> u8 {
    let here = height.row(row)[col];
    let (mut best, mut way) = (0.0, NOWHERE);
    if here <= sea_m {
        return NOWHERE;
    }
    for (k, &(dc, dr)) in D8.iter().enumerate() {
        let (col, row) = (col.wrapping_add_signed(dc as isize), row.wrapping_add_signed(dr as isize));
        if col < height.cols() && row < height.rows() {
            let grade = (here - height.row(row)[col]) * spans[k];
            if grade > best {
                (best, way) = (grade, k as u8);
            }
        }
    }
    way
}

#[inline(always)]
fn donors_row(ways: &Raster<u8>, row: usize, out: &mut [u8]) {
    for (chunk, out) in out.chunks_mut(LANES).enumerate() {
        let start = chunk * LANES;
        let lines = [
            line(ways, row.wrapping_sub(1), start, NOWHERE),
            line(ways, row, start, NOWHERE),
            line(ways, row + 1, start, NOWHERE),
        ];
        let mut bits = [0u8; LANES];
        for (k, &(dc, dr)) in D8.iter().enumerate() {
            let other: &[u8; PADDED] = &lines[(dr + 1) as usize];
            let at = (dc + 1) as usize;
            for i in 0..LANES {
                bits[i] |= if other[i + at] == back(k as u8) { 1 << k } else { 0 };
            }
        }
        out.copy_from_slice(&bits[..out.len()]);
    }
}

/// A stretch of a row with one more sample at either end; `beyond` off the map (rows before the first wrap round to
/// numbers far beyond the last).
#[inline(always)]
fn line<T: Copy + Send + Sync>(raster: &Raster<T>, row: usize, start: usize, beyond: T) -> [T; PADDED] {
    let mut line = [beyond; PADDED];
    if row >= raster.rows() {
        return line;
    }
    let values = raster.row(row);
    if start > 0 && start + LANES < values.len() {
        line.copy_from_slice(&values[start - 1..=start + LANES]);
        return line;
    }
    let from = start.saturating_sub(1);
    let to = (start + LANES + 1).min(values.len());
    let skip = usize::from(start == 0);
    line[skip..skip + to - from].copy_from_slice(&values[from..to]);
    line
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_support;
    use orogen_core::math;

    #[test]
    fn vector_code_gives_the_bits_of_one_cell_at_a_time() {
        let mut height = test_support::rough(131, 97);
        height.as_mut_slice()[700] = f32::NAN;
        let spans = Spans::even([10.0, 13.0]);
        let fast = Ways::along(&height, &spans, 5.0);
        let Spans::Even(each) = spans else { unreachable!() };
        let slow = Ways::along(&height, &Spans::Each(vec![each; 131 * 97]), 5.0);
        assert_eq!(fast, slow);
    }

    #[test]
    fn donors_are_those_who_point_here() {
        let ways = Ways::steepest(&test_support::rough(150, 61), [1.0, 1.0], f32::NEG_INFINITY);
        let donors = ways.donors();
        let mut found = vec![0u8; 150 * 61];
        for cell in 0..found.len() {
            if let Some(next) = ways.next(cell) {
                found[next] |= 1 << back(ways.0.as_slice()[cell]);
            }
        }
        assert_eq!(donors.as_slice(), found);
    }

    #[test]
    fn water_wanders_down_the_slope_in_the_mean_and_vector_code_gives_the_same() {
        let wander = Wander::new(Seed(4), 0.8);
        let n = 131;
        let spans = Spans::even([10.0, 10.0]);
        let Spans::Even(even) = &spans else { panic!() };
        let each = Spans::Each(vec![*even; n * n]);
        for angle in [0.0f64, 22.5, 45.0, 71.0] {
            let (x, y) = (math::cos(angle.to_radians()), math::sin(angle.to_radians()));
            let plane = Raster::from_fn(n, n, |c, r| (5e3 - 10.0 * (x * c as f64 + y * r as f64)) as f32);
            let ways = Ways::wandering(&plane, &spans, 0.0, wander);
            assert_eq!(ways, Ways::wandering(&plane, &each, 0.0, wander));
            // Every way leads down; together they lead where the slope does.
            let mut sum = [0.0f64; 2];
            for row in 1..n - 1 {
                for col in 1..n - 1 {
                    let (dc, dr) = D8[ways.0.row(row)[col] as usize];
                    assert!(x * f64::from(dc) + y * f64::from(dr) > 0.0);
                    sum[0] += f64::from(dc);
                    sum[1] += f64::from(dr);
                }
            }
            let off = math::atan2(sum[1], sum[0]).to_degrees() - angle;
            assert!(off.abs() < 4.0, "{angle}: off by {off}");
        }
    }
}
