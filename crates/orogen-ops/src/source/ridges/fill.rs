//! Fills what lies between ridges and rivers: up a pyramid of grids from what is known, and down again by midpoints.

use orogen_core::{Cancelled, Ctx, Raster, Seed, math};

/// Sweeps that even out each grid on the way down.
const SWEEPS: usize = 6;

/// Known heights on a grid whose point (0, 0) has an index on the world's own lattice.
pub(super) struct Known {
    pub first: [i64; 2],
    /// How well each point is known, 0 to 1, and its height.
    pub share: Raster<f32>,
    pub value: Raster<f32>,
}

/// How unknown points are displaced.
pub(super) struct Displace<'a> {
    /// Largest displacement on the finest grid, and how much larger it is on each coarser one.
    pub finest_m: f64,
    pub growth: f64,
    /// Grids that are displaced: those finer than this number of doublings.
    pub levels: u32,
    pub seed: Seed,
    /// Land before it is filled, on the finest grid, and how high mountains are: they are rougher than plains.
    pub base: &'a Raster<f32>,
    pub high_m: f32,
}

/// Heights that meet all known ones, even in between, and displacements of the rest: two rasters.
pub(super) fn fill(
    known: Known,
    displace: &Displace<'_>,
    ctx: &Ctx<'_>,
) -> Result<(Raster<f32>, Raster<f32>), Cancelled> {
    // Up: what is known, ever coarser, until everything is.
    let mut levels = vec![known];
    while let Some(top) = levels.last() {
        if top.share.cols() < 5 || top.share.rows() < 5 {
            break;
        }
        let coarser = coarser(top);
        levels.push(coarser);
    }
    let mean = levels.last().map_or(0.0, |top| {
        let weight = top.share.sum_f64().max(1e-9);
        let pairs = top.share.as_slice().iter().zip(top.value.as_slice());
        (pairs.map(|(w, v)| f64::from(w * v)).sum::<f64>() / weight) as f32
    });
    // Down: points take the height of the middle between coarser ones, unless they are known.
    let mut even: Option<Grid> = None;
    let mut moved: Option<Grid> = None;
    let count = levels.len();
    for (level, known) in levels.iter().enumerate().rev() {
        ctx.tick(45 + 30 * (count - level) / count, 100)?;
        let (cols, rows) = (known.share.cols(), known.share.rows());
        let mut values = match &even {
            Some(above) => above.finer(known.first, cols, rows),
            None => Raster::filled(cols, rows, mean),
        };
        values.par_rows(|row, out| {
            let (share, value) = (known.share.row(row), known.value.row(row));
            for (v, (w, k)) in out.iter_mut().zip(share.iter().zip(value)) {
                *v += w * (k - *v);
            }
        });
        for _ in 0..SWEEPS {
            values = swept(&values, known);
        }
        even = Some(Grid { first: known.first, values });

        let mut offsets = match &moved {
            Some(above) => above.finer(known.first, cols, rows),
            None => Raster::filled(cols, rows, 0.0),
        };
        if (level as u32) < displace.levels {
            let reach = (displace.finest_m * math::pow(displace.growth, level as f64)) as f32;
            let own_seed = Seed(displace.seed.bits(level as u64));
            let base = displace.base;
            offsets.par_rows(|row, out| {
                let j = known.first[1] + row as i64;
                let line = Seed(own_seed.bits(j as u64));
                let from = base.row((row << level).min(base.rows() - 1));
                for (col, v) in out.iter_mut().enumerate() {
                    let i = known.first[0] + col as i64;
                    // Points of coarser grids have been displaced there.
                    let old =
                        level as u32 + 1 < displace.levels && i.rem_euclid(2) == 0 && j.rem_euclid(2) == 0;
                    let draw = (line.bits(i as u64) >> 40) as f32 / (1u32 << 23) as f32 - 1.0;
                    let here = from[(col << level).min(from.len() - 1)] / displace.high_m;
                    let here = (0.2 + 1.1 * here).clamp(0.1, 1.3);
                    *v += if old { 0.0 } else { reach * here * draw };
                    *v *= 1.0 - known.share.row(row)[col];
                }
            });
        }
        moved = Some(Grid { first: known.first, values: offsets });
    }
    let blank = || Raster::filled(1, 1, 0.0);
    Ok((even.map_or_else(blank, |g| g.values), moved.map_or_else(blank, |g| g.values)))
}

/// The next coarser grid: each point knows what those around it did.
fn coarser(fine: &Known) -> Known {
    let first = fine.first.map(|i| i.div_euclid(2));
    let count = |n: usize, axis: usize| {
        let last = fine.first[axis] + n as i64 - 1;
        ((last + 1).div_euclid(2) - first[axis] + 1) as usize
    };
    let (cols, rows) = (count(fine.share.cols(), 0), count(fine.share.rows(), 1));
    let each = |c: usize, r: usize| {
        let (mut weight, mut sum) = (0.0f32, 0.0f32);
        for (dy, wy) in [(-1, 0.5f32), (0, 1.0), (1, 0.5)] {
            for (dx, wx) in [(-1, 0.5f32), (0, 1.0), (1, 0.5)] {
                let x = 2 * (first[0] + c as i64) + dx - fine.first[0];
                let y = 2 * (first[1] + r as i64) + dy - fine.first[1];
                if x >= 0 && y >= 0 && (x as usize) < fine.share.cols() && (y as usize) < fine.share.rows() {
                    let share = wx * wy * fine.share.row(y as usize)[x as usize];
                    weight += share;
                    sum += share * fine.value.row(y as usize)[x as usize];
                }
            }
        }
        (weight.min(1.0), if weight > 0.0 { sum / weight } else { 0.0 })
    };
    let mut share = Raster::filled(cols, rows, 0.0f32);
    let mut value = Raster::filled(cols, rows, 0.0f32);
    share.par_rows(|r, out| out.iter_mut().enumerate().for_each(|(c, v)| *v = each(c, r).0));
    value.par_rows(|r, out| out.iter_mut().enumerate().for_each(|(c, v)| *v = each(c, r).1));
    Known { first, share, value }
}

struct Grid {
    first: [i64; 2],
    values: Raster<f32>,
}

impl Grid {
    /// The grid twice as fine: points between take a smooth middle of the four in line with them.
    fn finer(&self, first: [i64; 2], cols: usize, rows: usize) -> Raster<f32> {
        let split = |i: i64, axis: usize| (i.div_euclid(2) - self.first[axis], i.rem_euclid(2) == 1);
        let tall = self.values.rows();
        let wide = self.values.cols();
        let clamp = |v: i64, n: usize| v.clamp(0, n as i64 - 1) as usize;
        let mut out = Raster::filled(cols, rows, 0.0f32);
        out.par_rows(|row, out| {
            let (r, between) = split(first[1] + row as i64, 1);
            let line: Vec<f32> = if between {
                let [a, b, c, d] = [-1, 0, 1, 2].map(|k| self.values.row(clamp(r + k, tall)));
                (0..wide).map(|i| middle(a[i], b[i], c[i], d[i])).collect()
            } else {
                self.values.row(clamp(r, tall)).to_vec()
            };
            for (col, v) in out.iter_mut().enumerate() {
                let (c, between) = split(first[0] + col as i64, 0);
                let at = |k: i64| line[clamp(c + k, wide)];
                *v = if between { middle(at(-1), at(0), at(1), at(2)) } else { at(0) };
            }
        });
        out
    }
}

/// The middle between `b` and `c` on a smooth line through all four.
#[inline]
fn middle(a: f32, b: f32, c: f32, d: f32) -> f32 {
    0.5625 * (b + c) - 0.0625 * (a + d)
}

/// Every unknown point moved towards the mean of those around it; borders lean on nothing.
fn swept(from: &Raster<f32>, known: &Known) -> Raster<f32> {
    let mut out = Raster::filled(from.cols(), from.rows(), 0.0f32);
    let (cols, rows) = (from.cols(), from.rows());
    out.par_rows(|row, out| {
        let [north, here, south] = [row.saturating_sub(1), row, (row + 1).min(rows - 1)].map(|r| from.row(r));
        let share = known.share.row(row);
        for (c, v) in out.iter_mut().enumerate() {
            let (w, e) = (c.saturating_sub(1), (c + 1).min(cols - 1));
            let mean = 0.25 * (north[c] + south[c] + here[w] + here[e]);
            *v = here[c] + 0.9 * (1.0 - share[c]) * (mean - here[c]);
        }
    });
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(
        known: impl Fn(usize, usize) -> Option<f32> + Sync,
        finest_m: f64,
    ) -> (Raster<f32>, Raster<f32>) {
        let share = Raster::from_fn(65, 65, |c, r| f32::from(u8::from(known(c, r).is_some())));
        let value = Raster::from_fn(65, 65, |c, r| known(c, r).unwrap_or(0.0));
        let base = Raster::filled(65, 65, 1.0);
        let displace = Displace { finest_m, growth: 1.8, levels: 4, seed: Seed(3), base: &base, high_m: 1.0 };
        fill(Known { first: [7, -13], share, value }, &displace, &Ctx::silent()).unwrap()
    }

    #[test]
    fn known_points_stay_and_others_lie_between() {
        let known = |c: usize, r: usize| match (c, r) {
            (20, _) => Some(100.0),
            (50, 10..55) => Some(-20.0),
            _ => None,
        };
        let (even, moved) = filled(known, 5.0);
        for r in 0..65 {
            for c in 0..65 {
                let v = even.row(r)[c];
                assert!((-20.0..=100.0).contains(&v), "{v}");
                if let Some(k) = known(c, r) {
                    assert_eq!(v, k);
                    assert_eq!(moved.row(r)[c], 0.0);
                }
            }
        }
        assert!(moved.as_slice().iter().any(|v| v.abs() > 5.0));
        // About straight in between, 40; the line that ends leaves a little more to the other one.
        assert!((40.0..46.5).contains(&even.row(32)[35]), "{}", even.row(32)[35]);
    }

    #[test]
    fn nothing_known_is_level_land() {
        assert_eq!(filled(|_, _| None, 0.0).0.range(), Some((0.0, 0.0)));
    }
}
