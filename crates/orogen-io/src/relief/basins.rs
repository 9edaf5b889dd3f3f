//! Drainage basins in colours of their own, with the divides between them.

use orogen_core::{Raster, math};

use crate::color::{Light, light_of_oklab};

/// Colours, one after the other round the circle of hues by the golden angle: basins with near numbers, which mostly are
/// neighbours, differ, and so do the same basins on every tile of a map.
const COLORS: usize = 64;
const GOLDEN: f64 = 0.381_966_011_250_105_2;
const LIGHTNESS: [f64; 3] = [0.70, 0.78, 0.74];
const CHROMA: f64 = 0.085;

pub(super) struct Basins<'a> {
    numbers: &'a Raster<u32>,
    colors: Vec<Light>,
}

impl<'a> Basins<'a> {
    pub fn new(numbers: &'a Raster<u32>) -> Self {
        let color = |i: usize| {
            let hue = std::f64::consts::TAU * (i as f64 * GOLDEN).fract();
            light_of_oklab([LIGHTNESS[i % 3], CHROMA * math::cos(hue), CHROMA * math::sin(hue)])
        };
        Self { numbers, colors: (0..COLORS).map(color).collect() }
    }

    /// The colour at a sample with soft borders, how much of the ground is in a basin at all, and how near a divide it is:
    /// 1 on it.
    #[inline]
    pub fn at(&self, col: usize, row: usize) -> (Light, f32, f32) {
        let (cols, rows) = (self.numbers.cols(), self.numbers.rows());
        let here = self.numbers.row(row)[col];
        let (mut color, mut share, mut alike) = ([0.0; 3], 0.0, 0.0);
        for (row, down) in [(row.saturating_sub(1), 1.0), (row, 2.0), ((row + 1).min(rows - 1), 1.0)] {
            for (col, across) in [(col.saturating_sub(1), 1.0), (col, 2.0), ((col + 1).min(cols - 1), 1.0)] {
                let (number, weight) = (self.numbers.row(row)[col], down * across / 16.0);
                if number == here {
                    alike += weight;
                }
                if number >= 1 {
                    let own = self.colors[number as usize % COLORS];
                    color = [0, 1, 2].map(|i| color[i] + weight * own[i]);
                    share += weight;
                }
            }
        }
        if share == 0.0 {
            return (color, 0.0, 0.0);
        }
        // Against what lies in other basins, not against the sea.
        let alike = if here >= 1 { alike / share } else { 1.0 };
        (color.map(|v| v / share), share, 4.0 * alike * (1.0 - alike))
    }
}
