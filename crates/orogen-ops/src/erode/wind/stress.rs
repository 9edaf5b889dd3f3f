//! The drag of the wind on hills: a sum over scales.
//!
//! The wind over low hills is faster on crests: each wave `k` answers with `k∥² / |k|` along the wind and `k∥ k⊥ / |k|`
//! across it. To a bed of sand both together do the same as `|k|` along the wind alone (that is why dunes lie across the
//! wind), so `|k|` it is here: a convolution with the whole land. As `|k| = k² ∫ e^(−k²t) dt / √(πt)`, it is a sum of curvatures of
//! the land blurred by ever wider bells, each an octave wider than the one before: those of a pyramid. All blurs are B-splines,
//! so nothing of the grid shows.

use orogen_core::Raster;

use crate::simd::{Level, dispatch};

/// How much faster the wind is on crests, and how far before the crest it is fastest.
const CREST: f32 = 3.4;
const BEFORE: f32 = 1.9;

/// Room for the pyramid, and the drag that it gives.
pub(super) struct Stress {
    /// The surface that the wind flows along, in metres.
    pub surface: Raster<f32>,
    /// Drag as a share of that on level ground.
    pub drag: Raster<f32>,
    /// Land by levels, each half as wide as the one before, and the curvature from there up.
    levels: Vec<(Raster<f32>, Raster<f32>)>,
    swapped: bool,
}

impl Stress {
    pub fn new(cols: usize, rows: usize) -> Self {
        let empty = |cols, rows| Raster::filled(cols, rows, 0.0f32);
        let (mut w, mut h) = (cols, rows);
        let mut levels = vec![(empty(w, h), empty(w, h))];
        while w > 4 || h > 4 {
            (w, h) = (w.div_ceil(2), h.div_ceil(2));
            levels.push((empty(w, h), empty(w, h)));
        }
        Self { surface: empty(cols, rows), drag: empty(cols, rows), levels, swapped: false }
    }

    pub fn turn(&mut self, swapped: bool) {
        if self.swapped != swapped {
            self.swapped = swapped;
            self.surface = self.surface.transposed();
            self.drag = self.drag.transposed();
            for (land, bend) in &mut self.levels {
                (*land, *bend) = (land.transposed(), bend.transposed());
            }
        }
    }

    /// Works out the drag of a wind along a unit vector (columns, rows) over the surface.
    pub fn solve(&mut self, [dx, dy]: [f64; 2], way: [f64; 2]) {
        let level = Level::new();
        soften(&self.surface, &mut self.levels[0].0, level);
        for n in 1..self.levels.len() {
            let (fine, coarse) = self.levels.split_at_mut(n);
            halve(&fine[n - 1].0, &mut coarse[0].0, level);
        }
        let cell = (dx * dy).sqrt();
        for n in (0..self.levels.len()).rev() {
            let size = (1u64 << n) as f64;
            let weight = share(n) * cell;
            let stencil = [dx, dy].map(|d| (-weight / (size * size * d * d)) as f32);
            let (fine, coarse) = self.levels.split_at_mut(n + 1);
            let (land, bend) = &mut fine[n];
            bend.par_rows(|row, out| {
                let lines = three_rows(land, row);
                dispatch!(level, _simd => curve_row(lines, stencil, out));
                if let Some((_, wide)) = coarse.first() {
                    dispatch!(level, _simd => widen_row(wide, row, out));
                }
            });
        }
        let (land, bend) = &self.levels[0];
        let (x, y) = ((0.5 * way[0] / dx) as f32, (0.5 * way[1] / dy) as f32);
        self.drag.par_rows(|row, out| {
            let bend = bend.row(row);
            let lines = three_rows(land, row);
            dispatch!(level, _simd => drag_row(lines, bend, [x, y], out));
        });
    }
}

/// The part of `∫ dt / √(πt)` that a level stands for, in cells: from between it and the one below to between it and the
/// one above. A level's bell is blurred on the way down and again on the way up.
fn share(level: usize) -> f64 {
    // Half the variance of the bell, in cells.
    let age = |n: usize| ((2u64 << (2 * n)) - 1) as f64 / 6.0;
    let between = |n: usize| (age(n) * age(n + 1)).sqrt().sqrt();
    let from = if level == 0 { 0.0 } else { between(level - 1) };
    // Steps of two octaves take this much of the integral.
    const TAKEN: f64 = 0.91;
    2.0 * (between(level) - from) / std::f64::consts::PI.sqrt() / TAKEN
}

/// A row with those to its north and south, those at the edge twice.
fn three_rows(land: &Raster<f32>, row: usize) -> [&[f32]; 3] {
    [land.row(row.saturating_sub(1)), land.row(row), land.row((row + 1).min(land.rows() - 1))]
}

/// All nodes of a row but the last two, but the outer two, and but the first two.
#[inline(always)]
fn thirds<T>(row: &[T]) -> [&[T]; 3] {
    let m = row.len().max(2) - 2;
    if row.len() < 3 { [&row[..0]; 3] } else { [&row[..m], &row[1..=m], &row[2..]] }
}

/// The nodes at both ends with their neighbours, those beyond the edge being the edge.
fn ends(n: usize) -> [[usize; 3]; 2] {
    [0, n - 1].map(|i| [i.max(1) - 1, i, (i + 1).min(n - 1)])
}

#[inline(always)]
fn curve_row([up, here, down]: [&[f32]; 3], stencil: [f32; 2], out: &mut [f32]) {
    let n = out.len();
    let (up, here, down) = (&up[..n], &here[..n], &down[..n]);
    let ([_, ui, _], [hw, hi, he], [_, di, _]) = (thirds(up), thirds(here), thirds(down));
    for (i, out) in out.iter_mut().skip(1).take(hi.len()).enumerate() {
        *out = curve(ui[i], [hw[i], hi[i], he[i]], di[i], stencil);
    }
    for at in ends(n) {
        out[at[1]] = curve(up[at[1]], at.map(|i| here[i]), down[at[1]], stencil);
    }
}

#[inline(always)]
fn curve(up: f32, here: [f32; 3], down: f32, [x, y]: [f32; 2]) -> f32 {
    x * (here[0] + here[2] - 2.0 * here[1]) + y * (up + down - 2.0 * here[1])
}

#[inline(always)]
fn drag_row([up, here, down]: [&[f32]; 3], bend: &[f32], way: [f32; 2], out: &mut [f32]) {
    let n = out.len();
    let (up, here, down, bend) = (&up[..n], &here[..n], &down[..n], &bend[..n]);
    let ([_, up_i, _], [west, _, east], [_, down_i, _], [_, bend_i, _]) =
        (thirds(up), thirds(here), thirds(down), thirds(bend));
    for (i, out) in out.iter_mut().skip(1).take(west.len()).enumerate() {
        *out = drag(east[i] - west[i], down_i[i] - up_i[i], bend_i[i], way);
    }
    for [w, i, e] in ends(n) {
        out[i] = drag(here[e] - here[w], down[i] - up[i], bend[i], way);
    }
}

#[inline(always)]
fn drag(east: f32, south: f32, bend: f32, [x, y]: [f32; 2]) -> f32 {
    1.0 + CREST * bend + BEFORE * (x * east + y * south)
}

/// Blurs by (1 4 1)/6 along both axes.
fn soften(land: &Raster<f32>, out: &mut Raster<f32>, level: Level) {
    out.par_rows(|row, out| {
        let lines = three_rows(land, row);
        dispatch!(level, _simd => soften_row(lines, out));
    });
}

#[inline(always)]
fn soften_row([up, here, down]: [&[f32]; 3], out: &mut [f32]) {
    let n = out.len();
    let (up, here, down) = (&up[..n], &here[..n], &down[..n]);
    let ([uw, ui, ue], [hw, hi, he], [dw, di, de]) = (thirds(up), thirds(here), thirds(down));
    for (i, out) in out.iter_mut().skip(1).take(hi.len()).enumerate() {
        *out = bell([uw[i], ui[i], ue[i]], [hw[i], hi[i], he[i]], [dw[i], di[i], de[i]]);
    }
    for at in ends(n) {
        out[at[1]] = bell(at.map(|i| up[i]), at.map(|i| here[i]), at.map(|i| down[i]));
    }
}

#[inline(always)]
fn bell(up: [f32; 3], here: [f32; 3], down: [f32; 3]) -> f32 {
    let tall = |i: usize| up[i] + 4.0 * here[i] + down[i];
    (tall(0) + 4.0 * tall(1) + tall(2)) * (1.0 / 36.0)
}

/// Blurs by (1 4 6 4 1)/16 along both axes and keeps every second node.
fn halve(fine: &Raster<f32>, out: &mut Raster<f32>, level: Level) {
    let (cols, rows) = (fine.cols(), fine.rows());
    out.par_rows(|row, out| {
        let at = |d: isize| fine.row((2 * row as isize + d).clamp(0, rows as isize - 1) as usize);
        let lines = [at(-2), at(-1), at(0), at(1), at(2)];
        let mut tall = vec![0.0f32; cols];
        dispatch!(level, _simd => five_row(lines, &mut tall));
        let side = |i: usize, d: isize| tall[(2 * i as isize + d).clamp(0, cols as isize - 1) as usize];
        for (i, v) in out.iter_mut().enumerate() {
            *v = (side(i, -2) + side(i, 2) + 4.0 * (side(i, -1) + side(i, 1)) + 6.0 * side(i, 0))
                * (1.0 / 256.0);
        }
    });
}

#[inline(always)]
fn five_row([a, b, c, d, e]: [&[f32]; 5], out: &mut [f32]) {
    let n = out.len();
    let (a, b, c, d, e) = (&a[..n], &b[..n], &c[..n], &d[..n], &e[..n]);
    for i in 0..n {
        out[i] = a[i] + e[i] + 4.0 * (b[i] + d[i]) + 6.0 * c[i];
    }
}

/// Adds a coarser level to a row: cubic B-splines between its nodes.
#[inline(always)]
fn widen_row(wide: &Raster<f32>, row: usize, out: &mut [f32]) {
    let (cols, half) = (wide.cols(), row / 2);
    let line = |r: usize| wide.row(r.min(wide.rows() - 1));
    let (a, b, c) = (line(half.saturating_sub(1)), line(half), line(half + 1));
    let (a, b, c) = (&a[..cols], &b[..cols], &c[..cols]);
    let tall = |i: usize| if row.is_multiple_of(2) { a[i] + 6.0 * b[i] + c[i] } else { 4.0 * (b[i] + c[i]) };
    let n = out.len();
    let (mut west, mut here) = (tall(0), tall(0));
    for i in 0..cols {
        let east = tall((i + 1).min(cols - 1));
        if 2 * i < n {
            out[2 * i] += (west + 6.0 * here + east) * (1.0 / 64.0);
        }
        if 2 * i + 1 < n {
            out[2 * i + 1] += 4.0 * (here + east) * (1.0 / 64.0);
        }
        (west, here) = (here, east);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use orogen_core::math;

    /// Waves of one length and direction: the sum over scales gives what the transform gives.
    #[test]
    fn waves_are_answered_like_by_a_fourier_transform() {
        let n = 257;
        for (length, wave_deg, wind_deg) in
            [(16.0, 0.0, 0.0), (22.0, 30.0, 30.0), (40.0, 45.0, 10.0), (64.0, 90.0, 60.0)]
        {
            let turn = |deg: f64| [math::cos(f64::to_radians(deg)), math::sin(f64::to_radians(deg))];
            let (k, way) = (turn(wave_deg).map(|v| v * std::f64::consts::TAU / length), turn(wind_deg));
            let mut stress = Stress::new(n, n);
            stress.surface =
                Raster::from_fn(n, n, |c, r| math::cos(k[0] * c as f64 + k[1] * r as f64) as f32);
            stress.solve([1.0, 1.0], way);
            let along = k[0] * way[0] + k[1] * way[1];
            let wanted = [f64::from(CREST) * math::hypot(k[0], k[1]), f64::from(BEFORE) * along];
            // The part in step with the wave, and the part a quarter before it.
            let (mut sums, mut count) = ([0.0; 2], 0.0);
            for row in 80..177 {
                for col in 80..177 {
                    let phase = k[0] * col as f64 + k[1] * row as f64;
                    let drag = f64::from(stress.drag.row(row)[col]) - 1.0;
                    sums[0] += 2.0 * drag * math::cos(phase);
                    sums[1] -= 2.0 * drag * math::sin(phase);
                    count += 1.0;
                }
            }
            let most = wanted[0].max(wanted[1]);
            for (sum, wanted) in sums.iter().zip(wanted) {
                assert!(
                    (sum / count - wanted).abs() < 0.08 * most,
                    "length {length}: {} for {wanted}",
                    sum / count
                );
            }
        }
    }
}
