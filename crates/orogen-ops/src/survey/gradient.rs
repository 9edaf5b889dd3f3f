//! The gradient of a raster from its 3 × 3 neighbourhoods: what slope, shade and slope masks are made of.
//!
//! ```text
//!   NW  N  NE      Horn                p = ((NE + 2E + SE) − (NW + 2W + SW)) / 8dx
//!   W   ·  E                           q = ((NW + 2N + NE) − (SW + 2S + SE)) / 8dy
//!   SW  S  SE      Zevenbergen-Thorne  p = (E − W) / 2dx,  q = (N − S) / 2dy
//! ```
//!
//! `p` rises to the east and `q` to the north. Beyond the edge of the grid, rows and columns are carried on straight
//! (`2a − b` from the outer two), as `gdaldem -compute_edges` does, so an edge gets a one-sided difference. A missing
//! neighbour inside the grid is mirrored through the middle, or taken as level where its opposite is missing too
//! (GDAL takes both as level). A plane therefore keeps its gradient to the edge, and beside a lone hole.

use orogen_core::{Cancelled, Ctx, Frame, Raster, Reach};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::simd::{Level, dispatch};

/// How a gradient is estimated from a 3 × 3 neighbourhood.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Method {
    /// Horn 1981: all eight neighbours; steady on rough land.
    #[default]
    Horn,
    /// Zevenbergen & Thorne 1987: the four nearest neighbours; sharper, for smooth land.
    ZevenbergenThorne,
}

/// The neighbourhood reaches one cell, whichever side of it is longer.
#[must_use]
pub fn reach(frame: &Frame) -> Reach {
    let [dx, dy] = frame.spacing_m();
    Reach::Within(dx.max(dy))
}

/// Columns worked on at a time: a fixed count, so that the inner loops become vector code.
pub const LANES: usize = 64;
/// The same with one more on either side.
const PADDED: usize = LANES + 2;

/// `f(p, q)` of every sample; a hole stays a hole.
///
/// Moves 8 bytes a cell (height in, result out), as the rows above and below are still in the cache. Rows are compiled for
/// the widest vectors of the machine as well as for any; no operation differs, so neither does a bit.
///
/// # Errors
/// When cancelled.
pub fn measure(
    height: &Raster<f32>,
    spacing_m: [f64; 2],
    method: Method,
    ctx: &Ctx<'_>,
    f: impl Fn(f32, f32) -> f32 + Sync,
) -> Result<Raster<f32>, Cancelled> {
    measure_as(height, spacing_m, method, ctx, f32::NAN, f)
}

/// As [`measure`], into values of any kind, of which one stands for a hole.
///
/// # Errors
/// When cancelled.
pub fn measure_as<T: Copy + Default + Send + Sync>(
    height: &Raster<f32>,
    spacing_m: [f64; 2],
    method: Method,
    ctx: &Ctx<'_>,
    hole: T,
    f: impl Fn(f32, f32) -> T + Sync,
) -> Result<Raster<T>, Cancelled> {
    measure_at(Level::new(), height, spacing_m, method, ctx, hole, f)
}

fn measure_at<T: Copy + Default + Send + Sync>(
    level: Level,
    height: &Raster<f32>,
    spacing_m: [f64; 2],
    method: Method,
    ctx: &Ctx<'_>,
    hole: T,
    f: impl Fn(f32, f32) -> T + Sync,
) -> Result<Raster<T>, Cancelled> {
    let gradient = Gradient::new(height, spacing_m, method);
    let counter = ctx.counter(height.rows());
    let mut out = Raster::filled(height.cols(), height.rows(), T::default());
    out.try_par_rows(|row, values| {
        dispatch!(level, _simd => gradient.measure_row(row, values, hole, &f));
        counter.done()
    })?;
    Ok(out)
}

/// The gradient of a raster at given samples: for loops that do more with it than [`measure`] does.
pub struct Gradient<'a> {
    height: &'a Raster<f32>,
    stencil: Stencil,
}

impl<'a> Gradient<'a> {
    /// That of a raster whose samples lie so far apart across and up.
    #[must_use]
    pub fn new(height: &'a Raster<f32>, spacing_m: [f64; 2], method: Method) -> Self {
        Self { height, stencil: Stencil::new(spacing_m, method) }
    }

    /// `p` and `q` of [`LANES`] samples of a row from `start` on, or as many as there are; NaN in holes.
    #[must_use]
    pub fn part(&self, row: usize, start: usize) -> ([f32; LANES], [f32; LANES]) {
        let [north, here, south] = [-1, 0, 1].map(|by| line(self.height, row as isize + by, start));
        let (mut p, mut q) = self.stencil.gradient(&north, &here, &south);
        self.stencil.mend(&mut p, &mut q, &north, &here, &south);
        (p, q)
    }

    /// `f` of a row.
    #[inline(always)]
    fn measure_row<T: Copy>(&self, row: usize, values: &mut [T], hole: T, f: &impl Fn(f32, f32) -> T) {
        for (chunk, values) in values.chunks_mut(LANES).enumerate() {
            let start = chunk * LANES;
            let made;
            let [north, here, south] = match inner_lines(self.height, row, start) {
                Some(lines) => lines,
                None => {
                    made = [-1, 0, 1].map(|by| line(self.height, row as isize + by, start));
                    made.each_ref()
                }
            };
            let (mut p, mut q) = self.stencil.gradient(north, here, south);
            // A hole poisons the sums around it; the few stretches with one are put right.
            let holes = (0..LANES).fold(false, |bad, i| bad | (p[i] + q[i] + here[i + 1]).is_nan());
            if holes {
                self.stencil.mend(&mut p, &mut q, north, here, south);
            }
            // The one place that calls `f`: called from two it might not be compiled into the loop, and stay scalar.
            let mut result = [hole; LANES];
            for i in 0..LANES {
                result[i] = f(p[i], q[i]);
            }
            if holes {
                for i in 0..LANES {
                    result[i] = if p[i].is_nan() { hole } else { result[i] };
                }
            }
            values.copy_from_slice(&result[..values.len()]);
        }
    }
}

/// `f` of the 3 × 3 neighbourhood of every sample, rows from the north; a hole stays a hole.
///
/// Beyond edges and beside holes neighbours are extrapolated as for gradients, so `f` never sees a hole. 8 bytes a cell.
///
/// # Errors
/// When cancelled.
pub fn measure_windows(
    height: &Raster<f32>,
    ctx: &Ctx<'_>,
    f: impl Fn([[f32; 3]; 3]) -> f32 + Sync,
) -> Result<Raster<f32>, Cancelled> {
    let counter = ctx.counter(height.rows());
    let level = Level::new();
    let mut out = Raster::filled(height.cols(), height.rows(), 0.0);
    out.try_par_rows(|row, values| {
        dispatch!(level, _simd => windows_row(height, row, values, &f));
        counter.done()
    })?;
    Ok(out)
}

#[inline(always)]
fn windows_row(height: &Raster<f32>, row: usize, values: &mut [f32], f: &impl Fn([[f32; 3]; 3]) -> f32) {
    for (chunk, values) in values.chunks_mut(LANES).enumerate() {
        let start = chunk * LANES;
        let made;
        let lines = match inner_lines(height, row, start) {
            Some(lines) => lines,
            None => {
                made = [-1, 0, 1].map(|step| line(height, row as isize + step, start));
                made.each_ref()
            }
        };
        let mended;
        let row = |line| [part(line, 0), part(line, 1), part(line, 2)];
        let mut around = [row(lines[0]), row(lines[1]), row(lines[2])];
        let holes =
            (0..PADDED).fold(false, |bad, i| bad | (lines[0][i] + lines[1][i] + lines[2][i]).is_nan());
        if holes {
            mended = mended_parts(around);
            around = [mended[0].each_ref(), mended[1].each_ref(), mended[2].each_ref()];
        }
        // The one place that calls `f`: called from two it might not be compiled into the loop, and stay scalar.
        let mut result = [0.0; LANES];
        for i in 0..LANES {
            result[i] = f(window(&around, i));
        }
        if holes {
            for i in 0..LANES {
                result[i] = if lines[1][i + 1].is_nan() { f32::NAN } else { result[i] };
            }
        }
        values.copy_from_slice(&result[..values.len()]);
    }
}

/// The columns of a padded line that lie `by` from its start.
#[inline(always)]
fn part(line: &[f32; PADDED], by: usize) -> &[f32; LANES] {
    line[by..].first_chunk().expect("a line is padded by two columns")
}

/// The neighbourhood of one sample of a stretch.
#[inline(always)]
fn window([north, here, south]: &[[&[f32; LANES]; 3]; 3], i: usize) -> [[f32; 3]; 3] {
    [
        [north[0][i], north[1][i], north[2][i]],
        [here[0][i], here[1][i], here[2][i]],
        [south[0][i], south[1][i], south[2][i]],
    ]
}

/// The neighbourhoods of a stretch, each mended by itself: the neighbours to the north-west, to the north, and so on.
#[cold]
fn mended_parts(around: [[&[f32; LANES]; 3]; 3]) -> [[[f32; LANES]; 3]; 3] {
    let mut parts = [[[0.0; LANES]; 3]; 3];
    for i in 0..LANES {
        for (parts, line) in parts.iter_mut().zip(mended(window(&around, i))) {
            for (part, value) in parts.iter_mut().zip(line) {
                part[i] = value;
            }
        }
    }
    parts
}

/// A neighbourhood with its missing neighbours mirrored through the middle, or level with it.
fn mended(z: [[f32; 3]; 3]) -> [[f32; 3]; 3] {
    let middle = z[1][1];
    [0, 1, 2].map(|row: usize| {
        [0, 1, 2].map(|col: usize| {
            let (value, opposite) = (z[row][col], z[2 - row][2 - col]);
            match (value.is_nan(), opposite.is_nan()) {
                (false, _) => value,
                (true, false) => 2.0 * middle - opposite,
                (true, true) => middle,
            }
        })
    })
}

/// Weights of a method on cells of one size.
struct Stencil {
    method: Method,
    per_x: f32,
    per_y: f32,
}

impl Stencil {
    fn new([dx, dy]: [f64; 2], method: Method) -> Self {
        let weights = match method {
            Method::Horn => 8.0,
            Method::ZevenbergenThorne => 2.0,
        };
        Self { method, per_x: (1.0 / (weights * dx)) as f32, per_y: (1.0 / (weights * dy)) as f32 }
    }

    /// `p` and `q` of the middle samples of three padded lines; NaN beside a hole.
    #[inline(always)]
    fn gradient(
        &self,
        north: &[f32; PADDED],
        here: &[f32; PADDED],
        south: &[f32; PADDED],
    ) -> ([f32; LANES], [f32; LANES]) {
        let (mut p, mut q) = ([0.0; LANES], [0.0; LANES]);
        match self.method {
            Method::Horn => {
                for i in 0..LANES {
                    let west = north[i] + 2.0 * here[i] + south[i];
                    let east = north[i + 2] + 2.0 * here[i + 2] + south[i + 2];
                    p[i] = (east - west) * self.per_x;
                    let above = north[i] + 2.0 * north[i + 1] + north[i + 2];
                    let below = south[i] + 2.0 * south[i + 1] + south[i + 2];
                    q[i] = (above - below) * self.per_y;
                }
            }
            Method::ZevenbergenThorne => {
                for i in 0..LANES {
                    p[i] = (here[i + 2] - here[i]) * self.per_x;
                    q[i] = (north[i + 1] - south[i + 1]) * self.per_y;
                }
            }
        }
        (p, q)
    }

    /// Puts the gradient beside holes right, and that of holes to NaN.
    #[cold]
    fn mend(
        &self,
        p: &mut [f32; LANES],
        q: &mut [f32; LANES],
        north: &[f32; PADDED],
        here: &[f32; PADDED],
        south: &[f32; PADDED],
    ) {
        for i in 0..LANES {
            if here[i + 1].is_nan() {
                (p[i], q[i]) = (f32::NAN, f32::NAN);
            } else if (p[i] + q[i]).is_nan() {
                (p[i], q[i]) = self.beside_hole([
                    [north[i], north[i + 1], north[i + 2]],
                    [here[i], here[i + 1], here[i + 2]],
                    [south[i], south[i + 1], south[i + 2]],
                ]);
            }
        }
    }

    /// The gradient of one neighbourhood with holes in it.
    fn beside_hole(&self, z: [[f32; 3]; 3]) -> (f32, f32) {
        let z = mended(z);
        let at = |col: usize, row: usize| z[row][col];
        let (p, q) = match self.method {
            Method::Horn => (
                at(2, 0) + 2.0 * at(2, 1) + at(2, 2) - (at(0, 0) + 2.0 * at(0, 1) + at(0, 2)),
                at(0, 0) + 2.0 * at(1, 0) + at(2, 0) - (at(0, 2) + 2.0 * at(1, 2) + at(2, 2)),
            ),
            Method::ZevenbergenThorne => (at(2, 1) - at(0, 1), at(1, 0) - at(1, 2)),
        };
        (p * self.per_x, q * self.per_y)
    }
}

/// The columns `start − 1 ..` of a row and of its neighbours, where all of them are inside the grid.
#[inline(always)]
fn inner_lines(height: &Raster<f32>, row: usize, start: usize) -> Option<[&[f32; PADDED]; 3]> {
    let (above, before) = (row.checked_sub(1)?, start.checked_sub(1)?);
    if row + 1 == height.rows() {
        return None;
    }
    let inner = |row: usize| height.row(row).get(before..)?.first_chunk();
    Some([inner(above)?, inner(row)?, inner(row + 1)?])
}

/// The columns `start − 1 ..` of a row, carried on straight beyond the edges.
fn line(height: &Raster<f32>, row: isize, start: usize) -> [f32; PADDED] {
    let last = height.rows() as isize - 1;
    if !(0..=last).contains(&row) {
        let (edge, inner) = if row < 0 { (0, 1.min(last)) } else { (last, (last - 1).max(0)) };
        let (mut outer, inner) = (line(height, edge, start), line(height, inner, start));
        for (a, b) in outer.iter_mut().zip(inner) {
            *a = 2.0 * *a - b;
        }
        return outer;
    }
    let values = height.row(row as usize);
    let count = (values.len() - start).min(LANES);
    let mut padded = [0.0; PADDED];
    padded[1..=count].copy_from_slice(&values[start..start + count]);
    padded[0] = match start {
        0 => 2.0 * values[0] - values[1.min(values.len() - 1)],
        _ => values[start - 1],
    };
    let next = start + count;
    padded[count + 1] = match values.get(next) {
        Some(&value) => value,
        None => 2.0 * values[next - 1] - values[next.saturating_sub(2)],
    };
    padded
}

#[cfg(test)]
mod tests {
    use super::*;
    use orogen_core::Cell;
    use orogen_core::testkit::{assert_close, hills};

    const SPACING_M: [f64; 2] = [10.0, 25.0];

    fn gradients(height: &Raster<f32>, method: Method) -> (Raster<f32>, Raster<f32>) {
        let part = |f: fn(f32, f32) -> f32| measure(height, SPACING_M, method, &Ctx::silent(), f).unwrap();
        (part(|p, _| p), part(|_, q| q))
    }

    /// Rises 0.5 to the east and 0.25 to the north, metre by metre.
    fn plane(cols: usize, rows: usize) -> Raster<f32> {
        Raster::from_fn(cols, rows, |c, r| 0.5 * 10.0 * c as f32 - 0.25 * 25.0 * r as f32)
    }

    #[test]
    fn a_plane_has_one_gradient_up_to_its_corners_and_beside_a_hole() {
        for method in [Method::Horn, Method::ZevenbergenThorne] {
            let mut height = plane(131, 7);
            height[Cell { col: 70, row: 3 }] = f32::NAN;
            let (p, q) = gradients(&height, method);
            for row in 0..7 {
                for col in 0..131 {
                    let cell = Cell { col, row };
                    assert_eq!(p[cell].is_nan(), height[cell].is_nan());
                    if !p[cell].is_nan() {
                        assert_close!(p[cell], 0.5, abs = 1e-5);
                        assert_close!(q[cell], 0.25, abs = 1e-5);
                    }
                }
            }
        }
    }

    #[test]
    fn vector_lanes_agree_with_the_formula_cell_by_cell() {
        let height = hills(150, 300.0);
        let (p, q) = gradients(&height, Method::Horn);
        for (col, row) in [(1, 1), (63, 70), (64, 71), (65, 2), (127, 140), (148, 148)] {
            let z = |dc: isize, dr: isize| height.clamped(col + dc, row + dr);
            let east = z(1, -1) + 2.0 * z(1, 0) + z(1, 1);
            let west = z(-1, -1) + 2.0 * z(-1, 0) + z(-1, 1);
            let north = z(-1, -1) + 2.0 * z(0, -1) + z(1, -1);
            let south = z(-1, 1) + 2.0 * z(0, 1) + z(1, 1);
            let cell = Cell { col: col as usize, row: row as usize };
            assert_close!(p[cell], (east - west) / 80.0, abs = 1e-6);
            assert_close!(q[cell], (north - south) / 200.0, abs = 1e-6);
        }
    }

    #[test]
    fn vectors_of_any_width_give_the_same_bits() {
        let mut height = hills(200, 300.0);
        height[Cell { col: 70, row: 90 }] = f32::NAN;
        let find = |level| {
            let f = crate::survey::slope::degrees;
            measure_at(level, &height, [10.0, 25.0], Method::Horn, &Ctx::silent(), f32::NAN, f).unwrap()
        };
        let (plain, wide) = (find(Level::baseline()), find(Level::new()));
        for (a, b) in plain.as_slice().iter().zip(wide.as_slice()) {
            assert_eq!(a.to_bits(), b.to_bits());
        }
    }

    #[test]
    fn stretches_of_windows_agree_with_one_neighbourhood_at_a_time() {
        let mut height = hills(150, 300.0);
        for (col, row) in [(70, 90), (71, 91), (0, 0), (149, 64), (64, 149), (63, 20)] {
            height[Cell { col, row }] = f32::NAN;
        }
        let f = |z: [[f32; 3]; 3]| z.iter().flatten().fold(0.0, |sum: f32, v| 0.75 * sum + v);
        let found = measure_windows(&height, &Ctx::silent(), f).unwrap();
        for row in 0..150 {
            for col in 0..150 {
                let lines = [-1, 0, 1].map(|by| line(&height, row as isize + by, col - col % LANES));
                let at = col % LANES;
                let z = mended(lines.map(|line| [line[at], line[at + 1], line[at + 2]]));
                let cell = Cell { col, row };
                let expected = if height[cell].is_nan() { f32::NAN } else { f(z) };
                assert_eq!(found[cell].to_bits(), expected.to_bits(), "{cell:?}");
            }
        }
    }

    #[test]
    fn a_single_sample_is_level_and_a_single_row_still_slopes_along_itself() {
        let (p, q) = gradients(&plane(1, 1), Method::Horn);
        assert_eq!((p.as_slice(), q.as_slice()), (&[0.0][..], &[0.0][..]));
        let (p, q) = gradients(&plane(5, 1), Method::Horn);
        assert_close!(p.as_slice()[2], 0.5, abs = 1e-6);
        assert_eq!(q.as_slice()[2], 0.0);
    }
}
