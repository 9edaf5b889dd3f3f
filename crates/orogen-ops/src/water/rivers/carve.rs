//! Beds and banks: rivers cut into the land.

use orogen_core::{CellIx, Raster, math};
use rayon::prelude::*;

use super::course::Courses;
use super::grid::Place;
use super::lakes::{DRY, Lakes};
use super::profile::{Profiles, shown_share};
use super::{Land, Rivers};

/// Rows that are cut together.
const BAND: usize = 32;
/// Half the width that a river is cut at least, in cells: no sample beside its line stands in its way.
const LEAST_HALF: f64 = 0.3;

/// A straight piece of a river.
#[derive(Clone, Copy, Debug)]
struct Piece {
    /// Where it begins, in metres from the middle of the map, and where it goes.
    at: Place,
    along: Place,
    per_length2: f64,
    /// Height of the water, half the width and the depth shown, each at the beginning and what is added to the end.
    z: [f64; 2],
    half: [f64; 2],
    depth: [f64; 2],
}

impl Piece {
    fn reach_m(&self) -> f64 {
        self.half[0].max(self.half[0] + self.half[1])
    }

    /// Distance from the line, and how far along it, at a place.
    #[inline]
    fn off(&self, x: f64, y: f64) -> (f64, f64) {
        let (dx, dy) = (x - self.at[0], y - self.at[1]);
        let t = ((dx * self.along[0] + dy * self.along[1]) * self.per_length2).clamp(0.0, 1.0);
        let (ex, ey) = (dx - t * self.along[0], dy - t * self.along[1]);
        (math::hypot(ex, ey), t)
    }
}

/// Pieces by the bands of rows in which they can be felt. Each band has its own copies, in the order of the rivers: rivers
/// go all over the map, and a band looks at its pieces for every row.
struct Pieces {
    bands: Vec<Vec<Piece>>,
}

/// Cuts the rivers into a copy of the land; the second raster is the depth of their water.
pub(super) fn carve(
    land: &Land<'_>,
    courses: &Courses,
    profiles: &Profiles,
    lakes: &Lakes,
    params: &Rivers,
    per_part: f64,
) -> (Raster<f32>, Raster<f32>) {
    let grid = &land.grid;
    let (cols, rows) = (grid.cols, grid.rows);
    let mut height = land.height.clone();
    let mut water = Raster::filled(cols, rows, 0f32);
    let least_half = LEAST_HALF * grid.spacing_m[0].max(grid.spacing_m[1]);
    let pieces = |stride: &dyn Fn(f64) -> usize, least_half: f64, reach_m: f64, wet_only: bool| {
        Pieces::new(land, courses, profiles, params, per_part, stride, least_half, reach_m, wet_only)
    };
    // Pieces as long as they are felt far: every sample looks at a few of them, however fine the map.
    let stride = |half: f64| (0.25 * (half + params.bank_m) / grid.cell_m()).floor().max(1.0) as usize;
    let banks = pieces(&stride, least_half, params.bank_m, false);
    let beds = pieces(&|half| (0.5 * half / grid.cell_m()).floor().max(1.0) as usize, 0.0, 0.0, true);

    let before = land.height;
    let cut = |row: usize, height: &mut [f32], water: &mut [f32]| {
        let y = grid.metres(grid.place(row * cols))[1];
        let x_of = |col: usize| grid.metres(grid.place(col))[0];
        let is_land = |col: usize| before.row(row)[col] > land.sea_m && lakes.of(row * cols + col) == DRY;
        banks.each(row, grid, params.bank_m, |piece, first, last| {
            for col in first..=last {
                let (off, t) = piece.off(x_of(col), y);
                let out = off - (piece.half[0] + t * piece.half[1]);
                if out >= params.bank_m || !is_land(col) {
                    continue;
                }
                let (h, z) = (f64::from(before.row(row)[col]), piece.z[0] + t * piece.z[1]);
                let share = (out / params.bank_m).max(0.0);
                let share = share * share * (3.0 - 2.0 * share);
                let cut = (z + (h - z) * share) as f32;
                height[col] = if cut < height[col] { cut } else { height[col] };
            }
        });
        if beds.bands[row / BAND].is_empty() {
            return;
        }
        // The nearest piece counts; of two as near, the lower.
        let mut nearest: Vec<(f64, f64, f64)> = vec![(f64::INFINITY, 0.0, 0.0); cols];
        beds.each(row, grid, 0.0, |piece, first, last| {
            for (col, nearest) in nearest.iter_mut().enumerate().take(last + 1).skip(first) {
                let (off, t) = piece.off(x_of(col), y);
                let half = piece.half[0] + t * piece.half[1];
                let z = piece.z[0] + t * piece.z[1];
                if off < half && (off < nearest.0 || (off == nearest.0 && z < nearest.1)) {
                    let across = off / half;
                    let depth = (piece.depth[0] + t * piece.depth[1]) * (1.0 - across * across);
                    *nearest = (off, z, depth);
                }
            }
        });
        for (col, &(off, z, depth)) in nearest.iter().enumerate() {
            if off.is_finite() && is_land(col) {
                let bed = super::profile::bed(z as f32, depth, land.sea_m) as f32;
                height[col] = if bed < height[col] { bed } else { height[col] };
                water[col] = (z as f32 - height[col]).max(0.0);
            }
        }
    };
    let blocks = height.as_mut_slice().par_chunks_mut(cols * 8);
    blocks.zip(water.as_mut_slice().par_chunks_mut(cols * 8)).enumerate().for_each(|(block, (h, w))| {
        for (i, (h, w)) in h.chunks_mut(cols).zip(w.chunks_mut(cols)).enumerate() {
            cut(block * 8 + i, h, w);
        }
    });
    debug_assert_eq!((height.cols(), height.rows()), (cols, rows));

    // The cells of the lines themselves fall from each to the next.
    for (line, reaches) in courses.lines.iter().zip(profiles) {
        for (vertex, reach) in line.vertices.iter().zip(reaches) {
            let cell = vertex.cell.at();
            if land.height.as_slice()[cell] > land.sea_m && reach.lake == DRY {
                height.as_mut_slice()[cell] = reach.bed;
                water.as_mut_slice()[cell] = reach.z - reach.bed;
            }
        }
    }
    // So do the cells that lines cross at a corner, between one cell and the next.
    for number in 0..courses.lines.len() {
        for ((from, to, next), reach) in courses.steps(number).zip(&profiles[number]) {
            let Some(cell) = grid.corner(from.at, next.at) else { continue };
            let below = &profiles[to.0][to.1];
            let is_land = before.as_slice()[cell] > land.sea_m && lakes.of(cell) == DRY;
            if !is_land {
                continue;
            }
            let height = &mut height.as_mut_slice()[cell];
            match courses.owner.get(&CellIx::new(cell)) {
                None => *height = height.min(reach.bed).max(below.bed.next_up()),
                // A tributary that ends here is no higher than the river it comes to.
                Some(&(other, at)) => {
                    let line = &courses.lines[other as usize];
                    if line.join == Some(to) && at as usize + 1 == line.vertices.len() {
                        *height = height.min(reach.bed).max(below.bed.next_up());
                    }
                }
            }
        }
    }
    lakes.guard(before, &mut height, |cell| courses.owner.contains_key(&CellIx::new(cell)));
    for (lake, cells) in lakes.cells.iter().enumerate() {
        for &cell in cells {
            let height = &mut height.as_mut_slice()[cell.at()];
            *height = height.min(lakes.levels[lake]);
        }
    }
    (height, water)
}

impl Pieces {
    #[expect(clippy::too_many_arguments, reason = "a constructor of private data, called from one closure")]
    fn new(
        land: &Land<'_>,
        courses: &Courses,
        profiles: &Profiles,
        params: &Rivers,
        per_part: f64,
        stride: &dyn Fn(f64) -> usize,
        least_half: f64,
        reach_m: f64,
        wet_only: bool,
    ) -> Self {
        let grid = &land.grid;
        let mut bands = vec![Vec::new(); grid.rows.div_ceil(BAND)];
        for (line, reaches) in courses.lines.iter().zip(profiles) {
            let node = |i: usize| {
                let discharge = reaches[i].water as f64 * per_part;
                let width = params.width_of(discharge);
                let depth = params.depth_of(discharge) * shown_share(width / grid.cell_m());
                (grid.metres(line.vertices[i].at), f64::from(reaches[i].z), 0.5 * width, depth)
            };
            let mut push = |a: (Place, f64, f64, f64), b: (Place, f64, f64, f64)| {
                if wet_only && a.3.max(b.3) <= 0.0 {
                    return;
                }
                let along = [b.0[0] - a.0[0], b.0[1] - a.0[1]];
                let length2 = along[0] * along[0] + along[1] * along[1];
                let (half_a, half_b) = (a.2.max(least_half), b.2.max(least_half));
                let piece = Piece {
                    at: a.0,
                    along,
                    per_length2: if length2 > 0.0 { 1.0 / length2 } else { 0.0 },
                    z: [a.1, b.1 - a.1],
                    half: [half_a, half_b - half_a],
                    depth: [a.3, b.3 - a.3],
                };
                if let Some((first, last)) = span(&piece, 1, grid.rows, grid.spacing_m[1], reach_m) {
                    bands[first / BAND..=last / BAND].iter_mut().for_each(|band| band.push(piece));
                }
            };
            let count = line.vertices.len();
            let mut i = 0;
            while i + 1 < count {
                if reaches[i].lake != DRY && reaches[i + 1].lake != DRY {
                    i += 1;
                    continue;
                }
                // Not across a shore, where water lies level on one side.
                let step = stride(node(i).2);
                let next = (i + 1..=(i + step).min(count - 1))
                    .find(|&k| reaches[k].lake != DRY || k == (i + step).min(count - 1))
                    .unwrap_or(i + 1);
                push(node(i), node(next));
                i = next;
            }
            if let (Some((river, at)), true) = (line.join, count > 0)
                && (reaches[count - 1].lake == DRY || profiles[river][at].lake == DRY)
            {
                let (_, _, half, depth) = node(count - 1);
                let end =
                    (grid.metres(courses.lines[river].vertices[at].at), f64::from(profiles[river][at].z));
                push(node(count - 1), (end.0, end.1, half, depth));
            }
        }
        Self { bands }
    }

    /// Gives every piece that can be felt in a row, with the columns where.
    fn each(
        &self,
        row: usize,
        grid: &super::grid::Grid,
        reach_m: f64,
        mut f: impl FnMut(&Piece, usize, usize),
    ) {
        for piece in &self.bands[row / BAND] {
            let rows = span(piece, 1, grid.rows, grid.spacing_m[1], reach_m);
            if rows.is_some_and(|(first, last)| (first..=last).contains(&row))
                && let Some((first, last)) = span(piece, 0, grid.cols, grid.spacing_m[0], reach_m)
            {
                f(piece, first, last);
            }
        }
    }
}

/// Columns or rows in which a piece can be felt.
fn span(piece: &Piece, axis: usize, count: usize, spacing_m: f64, reach_m: f64) -> Option<(usize, usize)> {
    let reach = piece.reach_m() + reach_m;
    let (a, b) = (piece.at[axis], piece.at[axis] + piece.along[axis]);
    let half = (count - 1) as f64 * 0.5;
    let first = ((a.min(b) - reach) / spacing_m + half).floor().max(0.0);
    let last = ((a.max(b) + reach) / spacing_m + half).ceil().min((count - 1) as f64);
    (first <= last).then_some((first as usize, last as usize))
}
