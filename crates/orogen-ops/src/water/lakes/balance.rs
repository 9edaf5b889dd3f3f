//! Where lakes stand when as much water is lost as comes in.

use std::collections::BinaryHeap;

use orogen_core::Raster;
use orogen_core::param::Field;

use super::find::Found;
use crate::drainage::catchment::catchments;
use crate::drainage::lowest::Lowest;
use crate::drainage::{Drainage, neighbours_of};

/// A year's water.
pub(super) struct Climate<'a> {
    /// Rain in millimetres.
    pub rain: Field<'a>,
    /// Evaporation of open water in millimetres.
    pub loss: Field<'a>,
    /// Share of the rain on land that reaches a lake.
    pub runoff: f64,
}

impl Climate<'_> {
    /// What a dry cell gives, and what the same cell gives under water, in millimetres a year; a layer's hole gives nothing.
    fn gains(&self, cell: usize, cols: usize) -> [f64; 2] {
        let (col, row) = (cell % cols, cell / cols);
        let whole = |value: f32| if value.is_finite() { f64::from(value.max(0.0)) } else { 0.0 };
        let (rain, loss) = (whole(self.rain.at(col, row)), whole(self.loss.at(col, row)));
        [self.runoff * rain, rain - loss]
    }
}

/// Lowers every lake that would lose more than it gets.
pub(super) fn settle(found: &mut Found, height: &Raster<f32>, drained: &Drainage, climate: &Climate<'_>) {
    let cols = height.cols();
    let labels = &found.labels;
    let first = catchments(&drained.ways, |cell| Some(labels.as_slice()[cell]).filter(|label| *label > 0));
    let mut inflow = vec![0.0; found.lakes.len() + 1];
    for (cell, &label) in first.as_slice().iter().enumerate() {
        if !height.as_slice()[cell].is_nan() {
            inflow[label as usize] += climate.gains(cell, cols)[0];
        }
    }
    drop(first);
    // From high lakes to low ones, so that what runs over is known below.
    let mut order: Vec<usize> = (0..found.lakes.len()).collect();
    order.sort_by(|&a, &b| found.lakes[b].surface.total_cmp(&found.lakes[a].surface).then(a.cmp(&b)));
    let mut rank = vec![0; order.len()];
    order.iter().enumerate().for_each(|(i, &lake)| rank[lake] = i);
    for &lake in &order {
        let left = lower(found, lake, inflow[lake + 1], height, climate);
        if let Some(below) = found.lakes[lake].downstream.filter(|&below| rank[below] > rank[lake]) {
            inflow[below + 1] += left;
        }
    }
}

/// Labels of cells that the rising water has not come to, and of those that it comes to next.
const WAITING: u32 = u32::MAX;
const QUEUED: u32 = u32::MAX - 1;

/// Lets a lake rise from its lowest cell while it keeps its water, and returns what runs over.
fn lower(found: &mut Found, index: usize, inflow: f64, height: &Raster<f32>, climate: &Climate<'_>) -> f64 {
    let (cols, rows) = (height.cols(), height.rows());
    let h = height.as_slice();
    let own = index as u32 + 1;
    let lake = found.lakes[index].clone();
    let mut left = inflow;
    let wait = |cell: usize| Lowest { level: h[cell], number: cell as u32, with: () };
    let mut queue = BinaryHeap::from([wait(lake.lowest)]);
    // Dry until the water is known to stay: all cells out first, then back in as they are reached.
    let mut all = vec![lake.lowest];
    found.labels.as_mut_slice()[lake.lowest] = WAITING;
    let mut next = 0;
    while next < all.len() {
        for other in neighbours_of(all[next], cols, rows) {
            let label = &mut found.labels.as_mut_slice()[other];
            if *label == own {
                *label = WAITING;
                all.push(other);
            }
        }
        next += 1;
    }
    let mut pool: Vec<usize> = Vec::new();
    found.labels.as_mut_slice()[lake.lowest] = QUEUED;
    let mut level = h[lake.lowest];
    let mut surface = lake.surface;
    let mut overflows = true;
    while let Some(first) = queue.peek() {
        // All cells that the water covers as it rises past one height, with the hollows it runs down into.
        level = level.max(first.level);
        let from = pool.len();
        let mut gain = 0.0;
        while queue.peek().is_some_and(|next| next.level <= level) {
            let Some(Lowest { number, .. }) = queue.pop() else { break };
            let cell = number as usize;
            let [dry, wet] = climate.gains(cell, cols);
            gain += wet - dry;
            pool.push(cell);
            for other in neighbours_of(cell, cols, rows) {
                let label = &mut found.labels.as_mut_slice()[other];
                if *label == WAITING {
                    *label = QUEUED;
                    queue.push(wait(other));
                }
            }
        }
        if left + gain < 0.0 && from > 0 {
            pool.truncate(from);
            surface = level;
            overflows = false;
            break;
        }
        left += gain;
        if left < 0.0 {
            // The lowest cells alone lose more than comes in.
            surface = queue.peek().map_or(lake.surface, |next| next.level.max(level));
            overflows = false;
            break;
        }
    }
    all.iter().for_each(|&cell| found.labels.as_mut_slice()[cell] = 0);
    pool.iter().for_each(|&cell| found.labels.as_mut_slice()[cell] = own);
    let lake = &mut found.lakes[index];
    lake.surface = surface;
    lake.cells = pool.len();
    lake.volume_m = pool.iter().map(|&cell| f64::from(surface) - f64::from(h[cell])).sum();
    lake.overflows = overflows;
    if overflows { left.max(0.0) } else { 0.0 }
}
