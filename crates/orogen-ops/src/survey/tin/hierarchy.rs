//! The hierarchy of right triangles: errors from the smallest triangles up, then triangles from the largest down.
//!
//! ```text
//!   s: half a side            A right triangle is halved at the middle of its longest edge. Along the axes an edge of
//!   ┌───a───┐                 length 2s has its middle at a, and its halves have theirs at the middles b' of squares half as
//!   │ ╲   ╱ │                 large; the diagonal of a square has its middle at b, and its halves theirs at the four a.
//!   a   b   a                 A middle has the error of all samples of the triangles it halves, or the largest of those it
//!   │ ╱   ╲ │                 needs, so a coarse triangle is never kept where a fine one must be split.
//!   └───a───┘
//! ```

use orogen_core::{Ctx, OpError, Raster};
use rayon::prelude::*;

use super::greedy::Parts;

pub(super) const MOST_SIDE: usize = (1 << 14) + 1;

const SIGN: u32 = 1 << 31;

pub(super) fn triangulate(
    height: &Raster<f32>,
    deep: f32,
    max_error_m: f32,
    ctx: &Ctx<'_>,
) -> Result<Parts, OpError> {
    let side = (height.cols().max(height.rows()) - 1).next_power_of_two() + 1;
    let ground = Ground::new(height, deep, side);
    let errors = errors(&ground, max_error_m, ctx)?;
    let stride = ground.stride;
    drop(ground);
    let mut walk = Walk {
        stride,
        errors,
        max_error_m,
        cols: height.cols(),
        rows: height.rows(),
        vertices: Vec::new(),
        triangles: Vec::new(),
    };
    let last = side as i32 - 1;
    // Counter-clockwise seen from above, the longest edge first.
    walk.down([0, 0], [last, last], [last, 0]);
    walk.down([last, last], [0, 0], [0, last]);
    Ok((walk.vertices, walk.triangles))
}

/// Heights of a square of 2^n + 1 samples; beyond the model and at holes, deep.
struct Ground {
    side: usize,
    /// Numbers of a row: whole lines of the cache, one more than a power of two, so that samples above one another lie in
    /// different places of it.
    stride: usize,
    z: Vec<f32>,
}

impl Ground {
    fn new(height: &Raster<f32>, deep: f32, side: usize) -> Self {
        let stride = side.next_multiple_of(16);
        let mut z = vec![deep; side * stride];
        z.par_chunks_mut(stride).zip(0..height.rows()).for_each(|(out, row)| {
            for (out, &z) in out.iter_mut().zip(height.row(row)) {
                *out = if z.is_finite() { z } else { deep };
            }
        });
        Self { side, stride, z }
    }
}

/// The error of the triangles that each sample would halve: how far off their samples are, and all that they need. One
/// beyond `max_error_m` is only known to be: on rough land that spares nearly all looks at larger triangles.
fn errors(ground: &Ground, max_error_m: f32, ctx: &Ctx<'_>) -> Result<Vec<f32>, OpError> {
    let Ground { side, stride, .. } = *ground;
    let mut errors = vec![0.0f32; side * stride];
    let mut half = 1;
    while 2 * half < side {
        ctx.tick(half, side)?;
        let h = half as i32;
        // Middles of edges along the axes: on every other row of the grid of `half` the odd columns, else the even ones.
        let first = |line: usize| Some(if line.is_multiple_of(2) { half } else { 0 });
        set(&mut errors, [side, stride], half, first, |errors, x, y| {
            let across = y & h == 0;
            let (ends, tips) = if across {
                ([[x - h, y], [x + h, y]], [[x, y - h], [x, y + h]])
            } else {
                ([[x, y - h], [x, y + h]], [[x - h, y], [x + h, y]])
            };
            let q = h / 2;
            let needs = [[x - q, y - q], [x + q, y - q], [x - q, y + q], [x + q, y + q]];
            ground.worst(errors, max_error_m, half, ends, tips, if half > 1 { &needs } else { &[] })
        });
        // Middles of squares: odd columns of odd rows.
        let first = |line: usize| (!line.is_multiple_of(2)).then_some(half);
        set(&mut errors, [side, stride], half, first, |errors, x, y| {
            let (falling, rising) = ([[x - h, y - h], [x + h, y + h]], [[x + h, y - h], [x - h, y + h]]);
            // Diagonals meet in the middle of the next larger square.
            let falls = (x ^ y) & (2 * h) == 0;
            let (ends, tips) = if falls { (falling, rising) } else { (rising, falling) };
            ground.worst(
                errors,
                max_error_m,
                half,
                ends,
                tips,
                &[[x - h, y], [x + h, y], [x, y - h], [x, y + h]],
            )
        });
        half *= 2;
    }
    Ok(errors)
}

impl Ground {
    fn is_inside(&self, place: [i32; 2]) -> bool {
        place.iter().all(|&part| (0..self.side as i32).contains(&part))
    }

    fn at(&self, [col, row]: [i32; 2]) -> f32 {
        self.z[row as usize * self.stride + col as usize]
    }

    /// The largest error of the one or two triangles over an edge, and of the middles that halving them needs.
    #[inline]
    fn worst(
        &self,
        errors: &[f32],
        max_error_m: f32,
        half: usize,
        ends: [[i32; 2]; 2],
        tips: [[i32; 2]; 2],
        needs: &[[i32; 2]],
    ) -> f32 {
        let mut worst = 0.0f32;
        for &need in needs.iter().filter(|need| self.is_inside(**need)) {
            worst = worst.max(errors[need[1] as usize * self.stride + need[0] as usize]);
        }
        let [a, b] = ends;
        // The smallest ones have no samples but their corners and the middles of their edges.
        if half == 1 {
            let middle = [(a[0] + b[0]) / 2, (a[1] + b[1]) / 2];
            return worst.max((self.at(middle) - 0.5 * (self.at(a) + self.at(b))).abs());
        }
        for tip in tips.into_iter().filter(|tip| self.is_inside(*tip)) {
            if worst > max_error_m {
                break;
            }
            worst = worst.max(self.off(a, b, tip));
        }
        worst
    }

    /// How far the sample that is furthest off lies above or below a triangle whose edges run along axes and diagonals.
    fn off(&self, a: [i32; 2], b: [i32; 2], c: [i32; 2]) -> f32 {
        let [za, zb, zc] = [a, b, c].map(|place| f64::from(self.at(place)));
        let whole = f64::from((b[1] - a[1]) * (c[0] - a[0]) - (b[0] - a[0]) * (c[1] - a[1]));
        // Rise by column and by row of the plane through the three corners.
        let (zb, zc) = (zb - za, zc - za);
        let by_col = (zc * f64::from(b[1] - a[1]) - zb * f64::from(c[1] - a[1])) / whole;
        let by_row = (zb * f64::from(c[0] - a[0]) - zc * f64::from(b[0] - a[0])) / whole;
        let north = a[1].min(b[1]).min(c[1]);
        let south = a[1].max(b[1]).max(c[1]);
        // Edges that are not level lean by one column a row at most.
        let sides = [(a, b), (b, c), (c, a)].map(|(p, q)| {
            let lean = (q[0] - p[0]).signum() * (q[1] - p[1]).signum();
            let (low, high) = if p[1] == q[1] { (1, 0) } else { (p[1].min(q[1]), p[1].max(q[1])) };
            (p[0], p[1], lean, low, high)
        });
        let mut worst = 0.0f32;
        for row in north..=south {
            let (mut from, mut to) = (i32::MAX, i32::MIN);
            for &(col, at, lean, low, high) in &sides {
                if (low..=high).contains(&row) {
                    let col = col + lean * (row - at);
                    (from, to) = (from.min(col), to.max(col));
                }
            }
            let start = row as usize * self.stride;
            let level = za + by_row * f64::from(row - a[1]) + by_col * f64::from(from - a[0]);
            for (i, &z) in self.z[start + from as usize..=start + to as usize].iter().enumerate() {
                let off = (f64::from(z) - (level + by_col * i as f64)).abs() as f32;
                worst = if off > worst { off } else { worst };
            }
        }
        worst
    }
}

/// Sets the errors of every other sample on the lines of a grid of `half`, from the `first` column of each; `f` may look at
/// all that were there before.
fn set(
    errors: &mut [f32],
    [side, stride]: [usize; 2],
    half: usize,
    first: impl Fn(usize) -> Option<usize> + Sync,
    f: impl Fn(&[f32], i32, i32) -> f32 + Sync,
) {
    let old: &[f32] = errors;
    let new: Vec<Vec<f32>> = (0..side.div_ceil(half))
        .into_par_iter()
        .map(|line| {
            let Some(first) = first(line) else { return Vec::new() };
            let row = (line * half) as i32;
            (first..side).step_by(2 * half).map(|col| f(old, col as i32, row)).collect()
        })
        .collect();
    errors.par_chunks_mut(half * stride).zip(new).enumerate().for_each(|(line, (rows, values))| {
        if let Some(first) = first(line) {
            rows[first..side].iter_mut().step_by(2 * half).zip(values).for_each(|(out, value)| *out = value);
        }
    });
}

struct Walk {
    stride: usize,
    /// The errors, and in their place the numbers of samples that are vertices, with a sign. No error is asked for there but
    /// whether it is too large, and it is: a vertex is a corner of the square or has halved a triangle.
    errors: Vec<f32>,
    max_error_m: f32,
    cols: usize,
    rows: usize,
    vertices: Vec<[u32; 2]>,
    triangles: Vec<[u32; 3]>,
}

impl Walk {
    /// Halves a triangle, longest edge first from `a` to `b`, or keeps it. Goes no deeper than twice the digits of the side.
    fn down(&mut self, a: [i32; 2], b: [i32; 2], c: [i32; 2]) {
        // Wholly beyond the model.
        let beyond = |axis: usize, most: usize| [a, b, c].iter().all(|v| v[axis] >= most as i32);
        if beyond(0, self.cols) || beyond(1, self.rows) {
            return;
        }
        let middle = [(a[0] + b[0]) / 2, (a[1] + b[1]) / 2];
        let apart = (a[0] - c[0]).abs() + (a[1] - c[1]).abs();
        let error = self.errors[middle[1] as usize * self.stride + middle[0] as usize];
        if apart > 1 && (error > self.max_error_m || error.is_sign_negative()) {
            self.down(c, a, middle);
            self.down(b, c, middle);
        } else {
            let corners = [a, b, c].map(|[col, row]| {
                let error = &mut self.errors[row as usize * self.stride + col as usize];
                if error.is_sign_positive() {
                    *error = f32::from_bits(SIGN | self.vertices.len() as u32);
                    self.vertices.push([col as u32, row as u32]);
                }
                error.to_bits() & !SIGN
            });
            self.triangles.push(corners);
        }
    }
}
