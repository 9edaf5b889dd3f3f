//! Snow and melt: how much ice a year brings and takes at a height, and what avalanches move.

use orogen_core::{Raster, math};

use super::Glacier;

/// Slopes (rise over distance) on which all snow stays, and on which none does.
const HOLDS: [f32; 2] = [0.65, 1.1];
/// How the air cools with height, in degrees Celsius a metre.
const LAPSE: f32 = 0.0065;

/// How much falls and melts, by height over the equilibrium line.
#[derive(Clone, Copy, Debug)]
pub struct Climate {
    snow_m_per_yr: f32,
    full_snow_m: f32,
    melt_m_per_yr: f32,
    full_melt_m: f32,
}

impl Climate {
    pub fn of(params: &Glacier) -> Self {
        Self {
            snow_m_per_yr: params.snow_m_per_yr as f32,
            full_snow_m: params.full_snow_m as f32,
            melt_m_per_yr: params.melt_m_per_yr as f32,
            full_melt_m: params.full_melt_m as f32,
        }
    }

    /// Ice that a year brings, so far above the line.
    #[inline]
    pub fn gain(&self, above_m: f32) -> f32 {
        self.snow_m_per_yr * (above_m / self.full_snow_m).clamp(0.0, 1.0)
    }

    /// Ice that a year takes, so far below the line.
    #[inline]
    pub fn loss(&self, below_m: f32) -> f32 {
        self.melt_m_per_yr * (below_m / self.full_melt_m).clamp(0.0, 1.0)
    }
}

/// Where the equilibrium line lies at every place in the coldest time, from the yearly mean temperature on the ground: where
/// it would be `line_c`. Holes of the temperature take the line `line_m`.
pub fn line_by_temperature(
    ground: &Raster<f32>,
    temperature: &Raster<f32>,
    line_c: f64,
    line_m: f64,
) -> Raster<f32> {
    Raster::from_fn(ground.cols(), ground.rows(), |col, row| {
        let line = ground.row(row)[col] + (temperature.row(row)[col] - line_c as f32) / LAPSE;
        if line.is_nan() { line_m as f32 } else { line }
    })
}

/// How far above its lowest the equilibrium line lies after a share of the time, as a share of `warm_rise_m`: high at the
/// beginning, between ice ages and at the end, and low for most of the time.
pub fn warmth(share: f64, ice_ages: u32) -> f64 {
    let wave = math::cos(std::f64::consts::PI * share * f64::from(ice_ages));
    let square = wave * wave;
    square * square
}

/// Snow that stays in a year, in metres of ice: what falls, less what slides off steep slopes, and that where it comes to
/// rest. `order` lists the cells from the highest surface down; holes get nothing.
pub fn snow(
    surface: &Raster<f32>,
    ground: &Raster<f32>,
    line: impl Fn(usize) -> f32 + Sync,
    order: &[u32],
    spacing_m: [f64; 2],
    climate: Climate,
) -> Raster<f32> {
    let (cols, rows) = (surface.cols(), surface.rows());
    let s = surface.as_slice();
    let mut snow = Raster::from_fn(cols, rows, |col, row| {
        let cell = row * cols + col;
        if ground.as_slice()[cell].is_nan() { 0.0 } else { climate.gain(s[cell] - line(cell)) }
    });
    let snow_at = snow.as_mut_slice();
    for &cell in order {
        let cell = cell as usize;
        let (col, row) = (cell % cols, cell / cols);
        if snow_at[cell] <= 0.0 || ground.as_slice()[cell].is_nan() {
            continue;
        }
        let mut drops = [(0usize, 0.0f32); 8];
        let (mut count, mut sum, mut steepest) = (0, 0.0, 0.0f32);
        for_neighbours(col, row, cols, rows, spacing_m, |there, far_m| {
            let drop = (s[cell] - s[there]) / far_m;
            if drop > 0.0 && !ground.as_slice()[there].is_nan() {
                drops[count] = (there, drop);
                count += 1;
                sum += drop;
                steepest = steepest.max(drop);
            }
        });
        let slides = snow_at[cell] * math::smoothstep(HOLDS[0], HOLDS[1], steepest);
        if slides > 0.0 {
            snow_at[cell] -= slides;
            for &(there, drop) in &drops[..count] {
                snow_at[there] += slides * drop / sum;
            }
        }
    }
    snow
}

/// The neighbours of a cell, with their distance in metres.
pub fn for_neighbours(
    col: usize,
    row: usize,
    cols: usize,
    rows: usize,
    [dx, dy]: [f64; 2],
    mut visit: impl FnMut(usize, f32),
) {
    let diagonal = (dx * dx + dy * dy).sqrt() as f32;
    for r in row.saturating_sub(1)..(row + 2).min(rows) {
        for c in col.saturating_sub(1)..(col + 2).min(cols) {
            let far_m = match (c != col, r != row) {
                (false, false) => continue,
                (true, false) => dx as f32,
                (false, true) => dy as f32,
                (true, true) => diagonal,
            };
            visit(r * cols + c, far_m);
        }
    }
}

/// Cells from the highest down; equal heights by their number.
pub fn from_the_top(surface: &Raster<f32>) -> Vec<u32> {
    let s = surface.as_slice();
    let mut order: Vec<u32> = (0..s.len() as u32).collect();
    order.sort_unstable_by(|&a, &b| s[b as usize].total_cmp(&s[a as usize]).then(a.cmp(&b)));
    order
}
