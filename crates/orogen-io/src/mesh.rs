//! Land as triangles: a vertex for each sample, moved by the displacement layers where there are any.
//!
//! ```text
//!   NW ─── NE     Two triangles a cell, counter-clockwise from above. The diagonal joins the two corners that are
//!   │    ╱ │      closer in height, so ridges and valleys are not notched; it depends on the cell alone, so the
//!   │  ╱   │      meshes of neighbouring tiles fit.
//!   SW ─── SE
//! ```
//!
//! Axes are those of glTF: x east, y up, z south (right-handed), in metres from the south-west sample. Everything is worked
//! out row by row when it is asked for: the mesh is never in memory as a whole.

use std::io::{self, Write};

use orogen_core::{Cancel, Frame, OpError, Raster, Terrain, layer};
use rayon::prelude::*;

use crate::watched::check;

/// Rows worked out at a time: bounds the memory, and is enough for any number of cores.
const BATCH: usize = 64;

/// The surface of a terrain.
#[derive(Clone, Debug)]
pub struct Surface<'a> {
    frame: Frame,
    height: &'a Raster<f32>,
    displace: Option<[&'a Raster<f32>; 3]>,
    /// Vertices before each row, and all of them at the end.
    first: Vec<usize>,
    triangles: usize,
    /// The least and the largest place along each axis.
    bounds: [[f32; 3]; 2],
}

/// Bounds of nothing.
const NOTHING: [[f32; 3]; 2] = [[f32::INFINITY; 3], [f32::NEG_INFINITY; 3]];

fn wider(a: [[f32; 3]; 2], b: [[f32; 3]; 2]) -> [[f32; 3]; 2] {
    [[0, 1, 2].map(|i| a[0][i].min(b[0][i])), [0, 1, 2].map(|i| a[1][i].max(b[1][i]))]
}

/// The corner of a texture or a triangle: column and row.
type Corner = (usize, usize);

impl<'a> Surface<'a> {
    /// The surface of a terrain: its heights, with the displacement layers when all three are there.
    ///
    /// # Errors
    /// When there is no height, or not a single triangle of it.
    pub fn of(terrain: &'a Terrain) -> Result<Self, OpError> {
        Self::unless_cancelled(terrain, &Cancel::new())
    }

    /// As [`Surface::of`], until the switch is thrown.
    ///
    /// # Errors
    /// As [`Surface::of`], and soon after the work is cancelled.
    pub fn unless_cancelled(terrain: &'a Terrain, cancel: &Cancel) -> Result<Self, OpError> {
        let height = terrain.get(layer::HEIGHT)?;
        let moved =
            [layer::DISPLACE_X, layer::DISPLACE_Y, layer::DISPLACE_Z].map(|layer| terrain.get(layer).ok());
        let displace = match moved {
            [Some(x), Some(y), Some(z)] => Some([x, y, z]),
            _ => None,
        };
        let mut surface = Self {
            frame: *terrain.frame(),
            height,
            displace,
            first: Vec::new(),
            triangles: 0,
            bounds: NOTHING,
        };
        let counts: Vec<([usize; 2], [[f32; 3]; 2])> = (0..height.rows())
            .into_par_iter()
            .map(|row| {
                if cancel.is_cancelled() {
                    return Err(OpError::Cancelled);
                }
                let ground = (0..height.cols()).filter(|&col| surface.is_ground(col, row));
                let (vertices, bounds) = ground.fold((0, NOTHING), |(count, bounds), col| {
                    let place = surface.place(col, row);
                    (count + 1, wider(bounds, [place; 2]))
                });
                Ok(([vertices, surface.row_triangles(row).count()], bounds))
            })
            .collect::<Result<_, _>>()?;
        let mut sum = 0;
        surface.first = std::iter::once(0)
            .chain(counts.iter().map(|([n, _], _)| {
                sum += n;
                sum
            }))
            .collect();
        surface.triangles = counts.iter().map(|([_, n], _)| n).sum();
        surface.bounds = counts.iter().fold(NOTHING, |all, &(_, bounds)| wider(all, bounds));
        if surface.triangles == 0 {
            return Err(OpError::Failed(String::from(
                "a mesh needs three neighbouring samples with heights, but there are none",
            )));
        }
        Ok(surface)
    }

    /// Vertices: samples that are not holes.
    #[must_use]
    pub fn vertices(&self) -> usize {
        self.first.last().copied().unwrap_or(0)
    }

    /// Triangles.
    #[must_use]
    pub fn triangles(&self) -> usize {
        self.triangles
    }

    /// Samples from west to east and from north to south.
    #[must_use]
    pub fn shape(&self) -> (usize, usize) {
        (self.height.cols(), self.height.rows())
    }

    /// Where the south-west sample lies in the world, (x, y) in metres.
    #[must_use]
    pub fn origin_m(&self) -> [f64; 2] {
        self.frame.extent().min
    }

    /// Whether a sample is a vertex: it has a height, and a displacement that is a number.
    #[inline]
    #[must_use]
    pub fn is_ground(&self, col: usize, row: usize) -> bool {
        let moved = |raster: &Raster<f32>| raster.row(row)[col].is_finite();
        self.height.row(row)[col].is_finite() && self.displace.is_none_or(|d| d.into_iter().all(moved))
    }

    /// The place of a vertex: x east, y up, z south, in metres from the south-west sample.
    #[inline]
    #[must_use]
    pub fn place(&self, col: usize, row: usize) -> [f32; 3] {
        let [dx, dy] = self.frame.spacing_m();
        let [x, y, z] = self.displace.map_or([0.0; 3], |d| d.map(|raster| f64::from(raster.row(row)[col])));
        let (east, north) = (col as f64 * dx + x, (self.height.rows() - 1 - row) as f64 * dy + y);
        [east as f32, (f64::from(self.height.row(row)[col]) + z) as f32, -north as f32]
    }

    /// The place on a texture whose first row is north: from 0 to 1, to the east and to the south.
    #[must_use]
    pub fn uv(&self, col: usize, row: usize) -> [f32; 2] {
        let (cols, rows) = self.shape();
        [col as f32 / (cols - 1).max(1) as f32, row as f32 / (rows - 1).max(1) as f32]
    }

    /// The normal of a vertex: the mean of the triangles around it by their size.
    #[must_use]
    pub fn normal(&self, col: usize, row: usize) -> [f32; 3] {
        let mut sum = [0f64; 3];
        for r in row.saturating_sub(1)..=row {
            for c in col.saturating_sub(1)..=col {
                for triangle in self.cell(c, r).filter(|corners| corners.contains(&(col, row))) {
                    let [a, b, c] = triangle.map(|(col, row)| self.place(col, row).map(f64::from));
                    let (u, v) = ([0, 1, 2].map(|i| b[i] - a[i]), [0, 1, 2].map(|i| c[i] - a[i]));
                    for i in 0..3 {
                        let (j, k) = ((i + 1) % 3, (i + 2) % 3);
                        sum[i] += u[j] * v[k] - u[k] * v[j];
                    }
                }
            }
        }
        let length = sum.iter().map(|v| v * v).sum::<f64>().sqrt();
        if length > 0.0 { sum.map(|v| (v / length) as f32) } else { [0.0, 1.0, 0.0] }
    }

    /// The triangles of a cell, named by its north-west sample; fewer beside holes, none beyond the grid.
    fn cell(&self, col: usize, row: usize) -> impl Iterator<Item = [Corner; 3]> + use<'_> {
        let inside = col + 1 < self.height.cols() && row + 1 < self.height.rows();
        let corners = if inside {
            let (nw, ne, sw, se) = ((col, row), (col + 1, row), (col, row + 1), (col + 1, row + 1));
            let apart = |a: Corner, b: Corner| (self.height.row(a.1)[a.0] - self.height.row(b.1)[b.0]).abs();
            // A hole at one end of a diagonal makes the other the one that gives a triangle.
            let falling = if self.is_ground(nw.0, nw.1) && self.is_ground(se.0, se.1) {
                apart(nw, se) <= apart(ne, sw) || !self.is_ground(ne.0, ne.1) || !self.is_ground(sw.0, sw.1)
            } else {
                false
            };
            if falling { [[nw, sw, se], [nw, se, ne]] } else { [[nw, sw, ne], [ne, sw, se]] }
        } else {
            [[(0, 0); 3]; 2]
        };
        corners.into_iter().filter(move |three| inside && three.iter().all(|&(c, r)| self.is_ground(c, r)))
    }

    /// The triangles of the cells under a row.
    pub fn row_triangles(&self, row: usize) -> impl Iterator<Item = [Corner; 3]> + use<'_> {
        (0..self.height.cols()).flat_map(move |col| self.cell(col, row))
    }

    /// The least and the largest place along each axis.
    #[must_use]
    pub fn bounds(&self) -> [[f32; 3]; 2] {
        self.bounds
    }

    /// Writes something of every vertex, in their order.
    pub(crate) fn each_vertex(
        &self,
        out: &mut impl Write,
        f: impl Fn(usize, usize, &mut Vec<u8>) + Sync,
    ) -> io::Result<()> {
        self.rows(out, |row, bytes| {
            for col in (0..self.height.cols()).filter(|&col| self.is_ground(col, row)) {
                f(col, row, bytes);
            }
        })
    }

    /// Writes something of every triangle, given the numbers of its corners.
    pub(crate) fn each_triangle(
        &self,
        out: &mut impl Write,
        f: impl Fn([usize; 3], &mut Vec<u8>) + Sync,
    ) -> io::Result<()> {
        self.rows(out, |row, bytes| {
            let numbers = |row: usize| {
                let mut next = self.first[row];
                let number = |col: usize| {
                    let this = next;
                    next += usize::from(self.is_ground(col, row));
                    this
                };
                (0..self.height.cols()).map(number).collect::<Vec<usize>>()
            };
            if row + 1 == self.height.rows() {
                return;
            }
            let lines = [numbers(row), numbers(row + 1)];
            for triangle in self.row_triangles(row) {
                f(triangle.map(|(c, r)| lines[r - row][c]), bytes);
            }
        })
    }

    /// Works out rows on all threads and writes them in order.
    fn rows(&self, out: &mut impl Write, f: impl Fn(usize, &mut Vec<u8>) + Sync) -> io::Result<()> {
        for start in (0..self.height.rows()).step_by(BATCH) {
            check(out)?;
            let rows: Vec<Vec<u8>> = (start..(start + BATCH).min(self.height.rows()))
                .into_par_iter()
                .map(|row| {
                    let mut bytes = Vec::new();
                    f(row, &mut bytes);
                    bytes
                })
                .collect();
            rows.iter().try_for_each(|bytes| out.write_all(bytes))?;
        }
        Ok(())
    }
}
