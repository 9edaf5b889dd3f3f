//! The beds under the nodes of a lattice while the land rises.

use std::sync::Arc;

use orogen_core::{Cancelled, Ctx, Frame, Raster};

use super::nodes::Nodes;
use crate::rock::beds::{Places, Strata};

/// Beds under a lattice at the end of a step.
#[derive(Clone, Copy)]
pub struct Rock<'a> {
    pub places: &'a Places,
    /// Metres a year.
    pub uplift: &'a Raster<f32>,
    /// Years of uplift still to come: beds lie so much lower than they will in the end.
    pub left_yr: f64,
}

/// The structure at the nodes of a lattice over a frame.
pub fn under(strata: &Arc<Strata>, frame: &Frame, nodes: &Nodes, ctx: &Ctx<'_>) -> Result<Places, Cancelled> {
    let (west, north) = (frame.x_m(0), frame.y_m(0));
    let place = |col: usize, row: usize| {
        let [x, y] = nodes.place_m(col, row);
        [west + x, north - y]
    };
    strata.places_of_many(nodes.cols, nodes.rows, place, ctx)
}

impl Rock<'_> {
    /// How far the rock at a node has still to rise.
    #[inline]
    pub fn lift(&self, cell: usize) -> f32 {
        (f64::from(self.uplift.as_slice()[cell]) * self.left_yr) as f32
    }

    /// How steep each slope may be, over a cell, in the beds that it comes down through; `variety` is what rock differs by besides.
    pub fn grade(
        &self,
        height: &Raster<f32>,
        far_m: f64,
        variety: impl Fn(usize) -> f32 + Sync,
    ) -> Raster<f32> {
        let cols = height.cols();
        let mut grade = Raster::filled(cols, height.rows(), 0.0);
        grade.par_rows(|row, out| {
            for (col, (out, &h)) in out.iter_mut().zip(height.row(row)).enumerate() {
                let cell = row * cols + col;
                *out = variety(cell) * self.places.grade(cell, h + self.lift(cell), far_m as f32);
            }
        });
        grade
    }
}
